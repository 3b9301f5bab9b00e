//! Stations that change their access point: those that are without one, those that go back and forth
//! or are sent so, those that stay at a weak one or do not go when asked, and joins that take long or
//! fail.

use super::{Finding, Kind, ms, percent};
use lasthop_trace::{RoamSummary, RoamingSummary, RunDocument, StaySummary};

/// Time without data in a join that speech does not bridge: what 802.11r is to stay below, and what a
/// jitter buffer holds.
const LONG_JOIN_MS: f64 = 50.0;

/// Share of the time without an access point from which it is a fault.
const WITHOUT: f64 = 0.005;

/// NetworkManager's threshold of frequent scans in a network of several access points.
const USUAL_DBM: f64 = -65.0;

/// A station that is back within this time went in vain: twice wpa_supplicant's short interval of
/// scans in NetworkManager.
const BACK_S: f64 = 60.0;

/// Returns the fault of the station with the most time without an access point.
pub(super) fn roaming(run: &RunDocument) -> Option<Finding> {
    let counted_ms = 1e3 * (run.duration_s - run.warmup_s);
    let of_node = |(name, node): (&String, &lasthop_trace::NodeSummary)| {
        let roaming = node.roaming.as_ref()?;
        fault(name, roaming, counted_ms)
    };
    run.nodes.iter().filter_map(of_node).max_by(|a, b| a.weight.total_cmp(&b.weight))
}

fn fault(name: &str, roaming: &RoamingSummary, counted_ms: f64) -> Option<Finding> {
    let RoamingSummary {
        access_points_lost, roams, stays, policy, threshold_dbm, steering, ..
    } = roaming;
    let (lost, steering) = (*access_points_lost, *steering);
    let stay = stays.iter().max_by(|a, b| a.duration_s.total_cmp(&b.duration_s));
    let without: f64 = roams.iter().filter_map(|roam| roam.without_ms).sum();
    let share = without / counted_ms;
    let failed = roams.iter().filter(|roam| roam.without_ms.is_none()).count();
    let joined: Vec<&RoamSummary> = roams.iter().filter(|roam| roam.without_ms.is_some()).collect();
    let back = joined.windows(2).filter(|pair| is_back(pair[0], pair[1])).count();
    let is_undone = |pair: &&[&RoamSummary]| {
        is_back(pair[0], pair[1]) && pair.iter().any(|roam| roam.steered_by.is_some())
    };
    let undone = joined.windows(2).filter(is_undone).count();
    let asked = steering.unwrap_or_default();
    let ignored = asked.requests.saturating_sub(asked.accepted + asked.refused);
    let longest = joined.iter().filter_map(|roam| roam.without_ms).fold(0.0, f64::max);
    let times = |count: usize| match count {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        many => format!("{many} times"),
    };
    let (sentence, remedy, device): (String, Vec<String>, &'static str) = if lost > 0 {
        let sentence = format!(
            "{name} loses its access point {}, and is without one for {} in all, {} of the time: it \
             notices after seven missed beacons at the next whole second, and then searches",
            times(lost as usize),
            ms(without),
            percent(share),
        );
        (sentence, Vec::new(), "Let cells overlap, so that a better access point is heard before")
    } else if undone > 0 {
        let sentence = format!(
            "{name} is moved by its network and goes back within a minute, or the other way round, {}: \
             they disagree, and each change costs up to {} without data",
            times(undone),
            ms(longest),
        );
        let device = "Let the access points ask less often, or reduce the power of the one that the \
                      station prefers";
        (sentence, Vec::new(), device)
    } else if back >= 2 {
        let sentence = format!(
            "{name} goes back {} to the access point that it left less than a minute before; each \
             change costs up to {} without data",
            times(back),
            ms(longest),
        );
        let remedy = vec![format!("node.{name}.roaming.short_interval=off")];
        (sentence, remedy, "Reduce the power of one of the two, or raise the threshold of roaming")
    } else if failed > 0 {
        let sentence = format!(
            "{name} fails {} to join an access point that it hears: it does not hear the station, or \
             does not answer",
            times(failed),
        );
        (sentence, Vec::new(), "Reduce the power of that access point to the stations' own")
    } else if ignored >= 2 || ignored == 1 && asked.requests == 1 {
        let sentence = format!(
            "{name} does not answer {} of {} that its access point sent it to move (802.11v){}",
            ignored,
            requests(asked.requests),
            removed(asked.removed),
        );
        (sentence, Vec::new(), "Enable BSS transition management in the station")
    } else if asked.removed > 0 || asked.refused >= 2 {
        let sentence = format!(
            "{name} refuses {} of {} that its access point sent it to move, because it hears no other \
             one loud enough{}",
            asked.refused,
            requests(asked.requests),
            removed(asked.removed),
        );
        (sentence, Vec::new(), "Let cells overlap, or ask stations to move at a lower level only")
    } else if let Some(stay) = stay {
        let StaySummary { access_point, stronger, duration_s, level_dbm, stronger_dbm, .. } = stay;
        let sentence = format!(
            "{name} stays at {access_point} for {duration_s:.0} s, at the end with {level_dbm:.0} dBm, \
             while {stronger} of the same network arrives with {stronger_dbm:.0} dBm"
        );
        let key = |key: String| format!("node.{name}.roaming.{key}");
        let mut remedy = match threshold_dbm {
            Some(threshold) if *threshold < USUAL_DBM => {
                vec![key(format!("threshold={USUAL_DBM}dBm"))]
            }
            Some(_) => Vec::new(),
            None => vec![key("short_interval=30s".to_owned())],
        };
        // Scans of all channels cost more than the better access point gives.
        if !remedy.is_empty() && policy.as_deref().is_none_or(|policy| policy == "simple") {
            remedy.push(key("policy=learn".to_owned()));
        }
        let device = "A higher threshold of roaming, requests of the network to change (802.11v), or \
                      less power at the access points";
        (sentence, remedy, device)
    } else if longest > LONG_JOIN_MS {
        let sentence = format!(
            "{name} is without data for {} while it joins an access point, more than speech bridges",
            ms(longest),
        );
        let remedy = vec![format!("node.{name}.roaming.security=ft-wpa2")];
        (sentence, remedy, "Fast transitions (802.11r) at all access points of the network")
    } else {
        return None;
    };
    let is_fault = lost == 0 || share >= WITHOUT;
    let weight = (10.0 * share).clamp(0.1, 1.0);
    let device = Some(device);
    is_fault.then_some(Finding { kind: Kind::Roaming, sentence, weight, remedy, device })
}

fn requests(number: u64) -> String {
    if number == 1 { "1 request".to_owned() } else { format!("{number} requests") }
}

/// A clause about removals, if there were some.
fn removed(number: u64) -> String {
    match number {
        0 => String::new(),
        1 => ", and is removed once".to_owned(),
        many => format!(", and is removed {many} times"),
    }
}

/// Whether the second roam undoes the first soon.
fn is_back(first: &RoamSummary, second: &RoamSummary) -> bool {
    second.joins == first.leaves && second.at_s - first.at_s < BACK_S
}

#[cfg(test)]
mod tests {
    use super::*;
    use lasthop_trace::{SteeredBy, SteeringSummary};

    fn roam(from: &str, to: &str, at_s: f64, without_ms: Option<f64>) -> RoamSummary {
        RoamSummary {
            leaves: from.to_owned(),
            joins: to.to_owned(),
            at_s,
            steered_by: None,
            scan_ms: 1_000.0,
            listed_channels: None,
            authentication_ms: None,
            association_ms: None,
            handshake_ms: None,
            without_ms,
        }
    }

    fn roaming(lost: u64, roams: &[RoamSummary], stays: &[StaySummary]) -> RoamingSummary {
        RoamingSummary {
            policy: Some("phone".to_owned()),
            threshold_dbm: Some(-75.0),
            access_points_lost: lost,
            neighbor_reports: None,
            neighbor_reports_missed: None,
            steering: None,
            roams: roams.into(),
            stays: stays.into(),
        }
    }

    #[test]
    fn each_fault_has_its_words() {
        let minute = 60_000.0;
        let says = |access_points_lost, roams: &[RoamSummary]| {
            let roaming = roaming(access_points_lost, roams, &[]);
            fault("phone", &roaming, minute).map(|finding| finding.sentence)
        };
        assert_eq!(says(0, &[roam("a", "b", 1.0, Some(9.0))]), None);
        let lost = says(1, &[roam("a", "b", 1.0, Some(3_000.0))]).expect("it is one");
        assert!(lost.starts_with("phone loses its access point once"), "{lost}");
        assert!(lost.contains("3000 ms in all, 5 % of the time"), "{lost}");
        let back: Vec<_> = [("a", "b", 1.0), ("b", "a", 20.0), ("a", "b", 40.0)]
            .map(|(from, to, at_s)| roam(from, to, at_s, Some(9.0)))
            .into();
        let back = says(0, &back).expect("it is one");
        assert!(back.starts_with("phone goes back twice"), "{back}");
        let slow = [("a", "b", 1.0), ("b", "a", 70.0), ("a", "b", 140.0)]
            .map(|(from, to, at_s)| roam(from, to, at_s, Some(9.0)));
        assert_eq!(says(0, &slow), None, "who walks to and fro does so, too");
        let mut steered = [roam("a", "b", 1.0, Some(9.0)), roam("b", "a", 20.0, Some(9.0))];
        assert_eq!(says(0, &steered), None, "once is no fault");
        steered[0].steered_by = Some(SteeredBy::Stations);
        let steered = says(0, &steered).expect("it is one");
        assert!(steered.starts_with("phone is moved by its network and goes back"), "{steered}");
        let asks = |requests, accepted, refused, removed| {
            let steering = Some(SteeringSummary { requests, accepted, refused, removed });
            let roams = [roam("a", "b", 1.0, Some(9.0))];
            let roaming = RoamingSummary { steering, ..roaming(0, &roams, &[]) };
            fault("phone", &roaming, minute).map(|finding| finding.sentence)
        };
        assert_eq!(asks(3, 2, 1, 0), None);
        assert_eq!(asks(3, 2, 0, 0), None, "the last answer may be under way");
        let ignored = asks(2, 0, 0, 1).expect("it is one");
        assert!(ignored.contains("does not answer 2 of 2 requests"), "{ignored}");
        assert!(ignored.ends_with("(802.11v), and is removed once"), "{ignored}");
        let refused = asks(3, 1, 2, 0).expect("it is one");
        assert!(refused.contains("refuses 2 of 3 requests"), "{refused}");
        let failed = says(0, &[roam("a", "b", 1.0, None)]).expect("it is one");
        assert!(failed.starts_with("phone fails once to join"), "{failed}");
        let long = says(0, &[roam("a", "b", 1.0, Some(120.0))]).expect("it is one");
        assert!(long.contains("without data for 120 ms"), "{long}");
        let stay = StaySummary {
            access_point: "a".to_owned(),
            stronger: "b".to_owned(),
            at_s: 4.0,
            duration_s: 42.0,
            level_dbm: -80.0,
            stronger_dbm: -52.0,
        };
        let sticky = fault("phone", &roaming(0, &[], &[stay]), minute).expect("it is one");
        assert_eq!(sticky.remedy, ["node.phone.roaming.threshold=-65dBm"]);
        let sticky = sticky.sentence;
        assert!(
            sticky.starts_with("phone stays at a for 42 s, at the end with -80 dBm"),
            "{sticky}"
        );
    }
}

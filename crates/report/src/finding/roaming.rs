//! Stations that change their access point: those that are without one, those that go back and forth,
//! and joins that take long or fail.

use super::{Finding, Kind, ms, percent};
use lasthop_trace::{RoamSummary, RunDocument};

/// Time without data in a join that speech does not bridge: what 802.11r is to stay below, and what a
/// jitter buffer holds.
const LONG_JOIN_MS: f64 = 50.0;

/// Share of the time without an access point from which it is a fault.
const WITHOUT: f64 = 0.005;

/// A station that is back within this time went in vain: twice wpa_supplicant's short interval of
/// scans in NetworkManager.
const BACK_S: f64 = 60.0;

/// Returns the fault of the station with the most time without an access point.
pub(super) fn roaming(run: &RunDocument) -> Option<Finding> {
    let counted_ms = 1e3 * (run.duration_s - run.warmup_s);
    let of_node = |(name, node): (&String, &lasthop_trace::NodeSummary)| {
        let roaming = node.roaming.as_ref()?;
        let lost = roaming.access_points_lost;
        let finding = fault(name, lost, &roaming.roams, counted_ms)?;
        Some(finding)
    };
    run.nodes.iter().filter_map(of_node).max_by(|a, b| a.weight.total_cmp(&b.weight))
}

fn fault(name: &str, lost: u64, roams: &[RoamSummary], counted_ms: f64) -> Option<Finding> {
    let without: f64 = roams.iter().filter_map(|roam| roam.without_ms).sum();
    let share = without / counted_ms;
    let failed = roams.iter().filter(|roam| roam.without_ms.is_none()).count();
    let joined: Vec<&RoamSummary> = roams.iter().filter(|roam| roam.without_ms.is_some()).collect();
    let back = joined.windows(2).filter(|pair| is_back(pair[0], pair[1])).count();
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

/// Whether the second roam undoes the first soon.
fn is_back(first: &RoamSummary, second: &RoamSummary) -> bool {
    second.joins == first.leaves && second.at_s - first.at_s < BACK_S
}

#[cfg(test)]
mod tests {
    use super::*;

    fn roam(from: &str, to: &str, at_s: f64, without_ms: Option<f64>) -> RoamSummary {
        RoamSummary {
            leaves: from.to_owned(),
            joins: to.to_owned(),
            at_s,
            scan_ms: 1_000.0,
            listed_channels: None,
            authentication_ms: None,
            association_ms: None,
            handshake_ms: None,
            without_ms,
        }
    }

    #[test]
    fn each_fault_has_its_words() {
        let minute = 60_000.0;
        let says = |lost, roams: &[RoamSummary]| {
            fault("phone", lost, roams, minute).map(|finding| finding.sentence)
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
        let failed = says(0, &[roam("a", "b", 1.0, None)]).expect("it is one");
        assert!(failed.starts_with("phone fails once to join"), "{failed}");
        let long = says(0, &[roam("a", "b", 1.0, Some(120.0))]).expect("it is one");
        assert!(long.contains("without data for 120 ms"), "{long}");
    }
}

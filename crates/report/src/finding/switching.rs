//! Moves of access points to other channels: time without data, and stations that did not follow.

use super::{Finding, Kind, ms};
use lasthop_trace::{ChannelSwitchSummary, RunDocument};

/// Time without data from which a move is a fault: what a jitter buffer does not bridge, as with roams.
const LONG_MS: f64 = 50.0;

/// The remedy of radar: channels of 5 GHz where no rule asks for its detection.
const WITHOUT_RADAR: &str = "A channel without radar (36 to 48, 149 to 165)";

/// Returns the fault of the move that cost most.
pub(super) fn moves(run: &RunDocument) -> Option<Finding> {
    let counted_ms = 1e3 * (run.duration_s - run.warmup_s);
    let of_node = |(name, node): (&String, &lasthop_trace::NodeSummary)| {
        let moves = node.channel_switches.iter();
        moves.filter_map(|one| fault(name, one, counted_ms)).max_by(by_weight)
    };
    run.nodes.iter().filter_map(of_node).max_by(by_weight)
}

fn by_weight(one: &Finding, other: &Finding) -> core::cmp::Ordering {
    one.weight.total_cmp(&other.weight)
}

fn fault(name: &str, one: &ChannelSwitchSummary, counted_ms: f64) -> Option<Finding> {
    let left = one.stations.saturating_sub(one.followed);
    let check = one.check_ms.unwrap_or(0.0);
    let longest = one.without_ms.unwrap_or(0.0);
    if left == 0 && longest <= LONG_MS {
        return None;
    }
    let cause = if one.radar { " because of radar" } else { "" };
    let moved =
        format!("{name} moves from channel {} to {}{cause}", one.from_channel, one.to_channel);
    let lost = match (left, one.stations) {
        (0, _) => String::new(),
        (_, 1) => "its station loses it, and searches".to_owned(),
        (left, all) if left == all => format!("its {all} stations lose it, and search"),
        (left, all) => format!("{left} of its {all} stations lose it, and search"),
    };
    let (sentence, device) = if check > 0.0 || one.checking {
        let time =
            if one.checking { "until the end".to_owned() } else { format!("for {}", ms(check)) };
        let sentence = format!("{moved}, and listens for radar {time} there: {lost}");
        (sentence, WITHOUT_RADAR)
    } else if left > 0 {
        let sentence = format!("{moved}, and {lost}: they heard no announcement");
        (sentence, "Announce moves in more beacons, so that each station hears one")
    } else {
        let time = if one.quiet { "from the first announcement" } else { "before the move" };
        let sentence =
            format!("{moved}: {time} until the first beacon there, {} without data", ms(longest));
        let device = if one.radar {
            WITHOUT_RADAR
        } else {
            "Move when nobody calls or plays, or choose the channel once"
        };
        (sentence, device)
    };
    let share = check.max(longest) / counted_ms;
    let many = f64::from(left) / f64::from(one.stations.max(1));
    let weight = (10.0 * share).max(0.5 * many).clamp(0.1, 1.0);
    let device = Some(device);
    Some(Finding { kind: Kind::ChannelSwitch, sentence, weight, remedy: Vec::new(), device })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(followed: u16, check_ms: Option<f64>, without_ms: f64) -> ChannelSwitchSummary {
        ChannelSwitchSummary {
            from_channel: 52,
            to_channel: 36,
            radar: check_ms.is_none(),
            quiet: true,
            at_s: 10.0,
            announced_ms: Some(500.0),
            check_ms,
            checking: false,
            stations: 3,
            followed,
            without_ms: (followed > 0).then_some(without_ms),
        }
    }

    #[test]
    fn each_cost_has_its_words() {
        let says = |one| fault("ap", &one, 60_000.0).map(|finding| finding.sentence);
        assert_eq!(says(one(3, None, 20.0)), None);
        let quiet = says(one(3, None, 410.0)).expect("it is one");
        assert!(quiet.starts_with("ap moves from channel 52 to 36 because of radar"), "{quiet}");
        assert!(quiet.ends_with("until the first beacon there, 410 ms without data"), "{quiet}");
        let some = says(one(1, None, 410.0)).expect("it is one");
        assert!(some.contains("2 of its 3 stations lose it, and search: they heard no"), "{some}");
        let check = says(one(0, Some(60_000.0), 0.0)).expect("it is one");
        assert!(
            check.contains("listens for radar for 60000 ms there: its 3 stations lose it"),
            "{check}"
        );
        let checking = ChannelSwitchSummary { checking: true, ..one(0, None, 0.0) };
        let checking = says(checking).expect("it is one");
        assert!(checking.contains("listens for radar until the end there"), "{checking}");
    }
}

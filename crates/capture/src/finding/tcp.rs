//! Findings about TCP: queues and losses.

use super::heard::Share;
use super::{Finding, Kind, at, ms, percent};
use crate::analysis::InterfaceView;
use crate::transport::{Direction, FlowKey};

/// Minimum number of segments for a finding.
const SEGMENTS_MIN: u64 = 200;
/// Minimum excess of the mean time to an acknowledgement over the shortest one for bufferbloat, in
/// ns.
const WAITS_NS: u64 = 50_000_000;
/// Minimum ratio of the mean to the shortest time.
const WAITS_TIMES: u64 = 3;
/// Minimum share of retransmitted segments for a finding.
const LOSSES_MIN: f64 = 0.005;

pub(super) fn find(view: &InterfaceView<'_>, found: &mut Vec<Finding>) {
    for (key, flow) in view.flows.iter() {
        // Times and losses are unknown without most segments and acknowledgements.
        let links = flow.directions.iter().flat_map(|it| view.links_of(it));
        if !links.map(|link| Share::from_counts(&link.counts)).all(Share::is_enough) {
            continue;
        }
        for (index, direction) in flow.directions.iter().enumerate() {
            // Acknowledgements that came while the receiver was on another channel lengthen the
            // times.
            let hops = view.air.channels.is_hopping() && direction.space.is_some();
            if !hops {
                found.extend(bufferbloat(view, key, index, direction));
            }
            found.extend(losses(view, key, index, direction));
        }
    }
}

fn name(key: &FlowKey, index: usize) -> String {
    let [from, to] = [key.ends[index], key.ends[1 - index]];
    format!("{from} to {to}")
}

fn of_flow(view: &InterfaceView<'_>, kind: Kind, direction: &Direction) -> Finding {
    let (first, last) = direction.times.unwrap_or_default();
    Finding {
        kind,
        sentence: String::new(),
        frames: [direction.frames.0, direction.frames.1],
        from_s: at(view, first),
        to_s: at(view, last),
        harm: 0.0,
        check: String::new(),
        station: None,
    }
}

fn bufferbloat(
    view: &InterfaceView<'_>,
    key: &FlowKey,
    index: usize,
    direction: &Direction,
) -> Option<Finding> {
    let tcp = direction.tcp.as_deref()?;
    let (least, sum, greatest, number) = tcp.rtt?;
    let mean = sum / number.max(1);
    if tcp.segments < SEGMENTS_MIN || mean < least + WAITS_NS || mean < WAITS_TIMES * least {
        return None;
    }
    let flow = name(key, index);
    Some(Finding {
        sentence: format!(
            "TCP segments from {flow} are acknowledged after {} in the mean and {} at most, with a \
             least time of {}: they or their acknowledgements wait in a queue between the monitor \
             and the receiver, with up to {} KiB in flight",
            ms(mean),
            ms(greatest),
            ms(least),
            tcp.flight_bytes_max >> 10
        ),
        harm: (1.0 - least as f64 / mean as f64).clamp(0.0, 1.0),
        check:
            "Ping along the same path with and without this flow. lasthop apq shows where the queue \
                is; fq_codel or CAKE there, or a limit at the sender, shortens it"
                .to_owned(),
        ..of_flow(view, Kind::Bufferbloat, direction)
    })
}

fn losses(
    view: &InterfaceView<'_>,
    key: &FlowKey,
    index: usize,
    direction: &Direction,
) -> Option<Finding> {
    let tcp = direction.tcp.as_deref()?;
    let share = tcp.retransmissions as f64 / tcp.segments.max(1) as f64;
    if tcp.segments < SEGMENTS_MIN || share < LOSSES_MIN {
        return None;
    }
    let [air, behind, unknown] = tcp.fates;
    let mut fates = Vec::new();
    for (number, what) in [
        (air, "were not acknowledged on the air"),
        (behind, "crossed the air, and were lost or delayed behind it"),
        (unknown, "have an unknown fate"),
    ] {
        if number > 0 {
            fates.push(format!("{number} {what}"));
        }
    }
    Some(Finding {
        sentence: format!(
            "TCP from {} retransmits {} of {} segments ({}); of the previous copies, {}{}",
            name(key, index),
            tcp.retransmissions,
            tcp.segments,
            percent(share),
            fates.join(", "),
            match tcp.out_of_order {
                0 => String::new(),
                number => format!("; {number} other segments were only overtaken"),
            }
        ),
        harm: (10.0 * share).min(0.9),
        check: "Filter tcp.view.retransmission and look at the earlier copy: its MPDU's retries, \
                and the Block Ack after it"
            .to_owned(),
        ..of_flow(view, Kind::TcpLoss, direction)
    })
}

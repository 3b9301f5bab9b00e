//! The effect of a measured queue on its users: round trips with empty and with full queues, their
//! effect on calls and games, recommended queue lengths, and the next step.
//!
//! A call has up to 150 ms one way before people notice, and is no conversation above 400 ms
//! (ITU-T G.114, 05/2003); what the devices at both ends add is not counted here. A game seen
//! through its player's eyes suffers from 100 ms of latency on, one seen from behind from 500 ms,
//! one seen from above from 1 s on (Claypool and Claypool, "Latency and Player Actions in Online
//! Games", CACM 49(11), 2006).

use crate::table;
use lasthop_trace::{ApqDirection, ApqDiscipline, ApqDocument, ApqSize, ApqWay};
use lasthop_units::Bitrate;
use std::fmt::Write;

/// One-way delays in ms: noticed in a call, and the limit of conversation.
const CALL_MS: [f64; 2] = [150.0, 400.0];
/// Round trips in ms from which games suffer: first-person, third-person, and seen from above.
const GAME_MS: [f64; 3] = [100.0, 500.0, 1_000.0];
/// Delay in ms below which users do not notice a queue.
const SHORT_MS: f64 = 20.0;
/// Recommended queue lengths (paper `apq`, section V), and the reason.
const GUIDELINES: &str = "Guidelines (paper apq): 300 packets fill an 802.11g link over 200 ms, \
                          60 are enough for windows of 64 KiB, 30 where hundreds of flows share it.";

/// Formats a rate in Mb/s.
pub fn rate(rate: Bitrate) -> String {
    format!("{} Mb/s", table::alone(rate.as_mbps_f64()))
}

/// Returns the size with the longest packets that has a delay, and that delay.
fn measured(direction: &ApqDirection) -> Option<(&ApqSize, f64)> {
    let with_delay = |size: &'_ ApqSize| size.queueing_delay_ms.map(|delay| delay.mean);
    let sizes = direction.sizes.iter().filter_map(|size| Some((size, with_delay(size)?)));
    sizes.max_by_key(|(size, _)| size.packet_bytes)
}

/// Describes the effect of all directions in some lines; empty if none has a delay.
pub fn told(document: &ApqDocument) -> String {
    let mut out = String::new();
    for direction in &document.directions {
        if let Some((size, queueing)) = measured(direction) {
            out.push_str(&of_direction(document, direction, size, queueing));
        }
    }
    out
}

fn of_direction(
    document: &ApqDocument,
    direction: &ApqDirection,
    size: &ApqSize,
    queueing: f64,
) -> String {
    let way = match direction.direction {
        ApqWay::Down => "down",
        ApqWay::Up => "up",
    };
    let mut out = String::new();
    let _ = match document.idle_rtt_ms {
        Some(idle) => writeln!(
            out,
            "\nWhile the queue {way} is full, a round trip takes {:.0} ms; with empty queues {:.0} ms.",
            idle + queueing,
            idle
        ),
        None => writeln!(
            out,
            "\nWhile the queue {way} is full, round trips take {queueing:.0} ms longer (--direction \
             both tells how long they are with empty queues)."
        ),
    };
    let idle = document.idle_rtt_ms.unwrap_or(0.0);
    let least = if document.idle_rtt_ms.is_some() { "" } else { "at least " };
    let one_way = idle / 2.0 + queueing;
    let call = match one_way {
        ms if ms < CALL_MS[0] => "fine",
        ms if ms < CALL_MS[1] => "noticed: people talk at the same time",
        _ => "no conversation any more",
    };
    let game = match idle + queueing {
        ms if ms < GAME_MS[0] => "fine",
        ms if ms < GAME_MS[1] => "first-person ones suffer",
        ms if ms < GAME_MS[2] => "those seen from behind suffer, too",
        _ => "any suffers",
    };
    let _ = writeln!(out, "  A call then ({least}{one_way:.0} ms one way): {call}.");
    let _ = writeln!(out, "  A game then ({least}{:.0} ms round trip): {game}.", idle + queueing);
    if let Some(packets) = size.capacity_packets {
        let _ = writeln!(out, "  It holds {:.0} packets. {GUIDELINES}", packets.mean);
    }
    let _ = writeln!(out, "  Next: {}", next(direction, size, queueing));
    out
}

/// Returns advice for a direction.
fn next(direction: &ApqDirection, size: &ApqSize, queueing: f64) -> String {
    if !direction.trusted {
        return "measure again without other traffic on the link: the result has the doubts above."
            .into();
    }
    if queueing < SHORT_MS {
        return "nothing: this queue is short enough.".into();
    }
    let managed = direction.discipline.map(|judged| judged.verdict);
    if matches!(managed, Some(ApqDiscipline::CoDel | ApqDiscipline::FqCoDel)) {
        return "the queue is managed, yet long: another one behind it may be the one that is \
                full, such as a driver's; its firmware or driver may have a bound for it."
            .into();
    }
    let shaped = size.throughput_mbps.map(|mbps| {
        let shaped = Bitrate::from_bps((mbps.mean * 0.9e6) as u64);
        format!(", shaped to {} so that the queue builds up there", rate(shaped))
    });
    let where_it_is = match direction.direction {
        ApqWay::Down => "at the access point, or in front of it",
        ApqWay::Up => "in this machine (`tc qdisc show`), or in front of its access point",
    };
    format!(
        "a queue whose delay is managed (FQ-CoDel, CAKE) {where_it_is}{}. What that brings, in \
         virtual time: lasthop simulate upload --set node.laptop.queue.kind=fq-codel",
        shaped.unwrap_or_default()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use lasthop_trace::{ApqDiscipline, ApqDisciplineJudgement, ApqEstimate, ApqMethod};

    fn document(idle_rtt_ms: Option<f64>, queueing: f64, trusted: bool) -> ApqDocument {
        let estimate = |mean| Some(ApqEstimate { mean, ci95: None, values: 1 });
        let size = |packet_bytes, queueing| ApqSize {
            packet_bytes,
            capacity_packets: estimate(50.25),
            capacity_bytes: None,
            equation_1_packets: None,
            throughput_mbps: estimate(10.0),
            queueing_delay_ms: estimate(queueing),
            saturation_pps: None,
            search: Vec::new(),
            sessions: Vec::new(),
        };
        ApqDocument {
            host: "server".into(),
            method: ApqMethod::Fast,
            wall_s: 31.0,
            idle_rtt_ms,
            version: "0".into(),
            directions: vec![ApqDirection {
                direction: ApqWay::Down,
                trusted,
                doubts: Vec::new(),
                sizes: vec![size(1_500, queueing), size(750, 1.0)],
                unit: None,
                discipline: Some(ApqDisciplineJudgement {
                    verdict: ApqDiscipline::DropTail,
                    confidence: 0.9,
                }),
                driver_queue_packets: None,
                measured_s: 29.5,
            }],
        }
    }

    #[test]
    fn a_full_queue_is_told_as_people_have_it() {
        insta::assert_snapshot!(told(&document(Some(12.4), 88.1, true)));
    }

    #[test]
    fn thresholds_are_where_the_sources_have_them() {
        let lines = |idle, queueing| told(&document(Some(idle), queueing, true));
        assert!(lines(20.0, 139.0).contains("A call then (149 ms one way): fine"));
        assert!(lines(20.0, 140.0).contains("A call then (150 ms one way): noticed"));
        assert!(lines(20.0, 390.0).contains("no conversation"));
        assert!(lines(20.0, 79.0).contains("A game then (99 ms round trip): fine"));
        assert!(lines(20.0, 80.0).contains("first-person ones"));
        assert!(lines(20.0, 480.0).contains("from behind suffer"));
        assert!(lines(20.0, 980.0).contains("any suffers"));
        assert!(lines(20.0, 19.0).contains("Next: nothing"));
        let alone = told(&document(None, 88.0, true));
        assert!(alone.contains("88 ms longer") && alone.contains("at least 88 ms"), "{alone}");
        assert!(told(&document(None, 88.0, false)).contains("Next: measure again"));
    }
}

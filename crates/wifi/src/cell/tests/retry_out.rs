//! Pseudo retry-out at the receiver and at the sender: packets end once and in order, and only the
//! intended ones are given up early.

use super::*;
use crate::event::Frame;
use crate::mac::originator::LowRateRetry;
use crate::mac::retry_out::RateTable;
use alloc::collections::{BTreeMap, BTreeSet};
use lasthop_packet::Transport;

const STATION: StationId = StationId(1);
/// Longest time that a packet waits in a reorder buffer.
const REORDERED: Duration = Duration::from_millis(150);

/// Results for packets that a station sent to the access point.
#[derive(Default)]
struct Outcome {
    delivered: Vec<u64>,
    dropped: BTreeMap<DropReason, u64>,
    /// Packets that the access point marked as lost.
    given_up: BTreeSet<u64>,
    /// Highest number of transmissions of a packet, by transport.
    transmissions: BTreeMap<Transport, u64>,
    stats: StationStats,
}

/// An uplink at `rate` that loses `loss` of all MPDUs; every third packet is not TCP.
fn lossy(rate: u8, loss: f64) -> CellConfig {
    let width = ChannelWidth::Mhz20;
    let mut config = cell(1, mcs(rate, width, GuardInterval::Long), width, 65_535);
    config.record_events = true;
    config.change_links(|pair| {
        pair.link.loss = Probability::new(loss);
    });
    config
}

fn run(config: &CellConfig, millis: u64) -> Outcome {
    let mut cell = Cell::new(config, Seed::new(5, 0)).expect("a sound cell");
    let transport =
        |tag: u64| if tag.is_multiple_of(3) { Transport::Other } else { Transport::Tcp };
    let end = Instant::ZERO + Duration::from_millis(millis);
    let mut outcome = Outcome::default();
    let mut numbers = BTreeMap::new();
    let mut sent = BTreeMap::new();
    let (mut tag, mut now, mut busy) = (0, Instant::ZERO, Instant::ZERO);
    loop {
        while now < end && cell.held_packets(STATION) < 100 {
            let packet = Packet { transport: transport(tag), ..Packet::new(tag, 1500, now) };
            cell.handle_packet(now, STATION, Address::Station(AP), packet);
            tag += 1;
        }
        while let Some(output) = cell.poll_output() {
            match output {
                Output::Delivered { packet, .. } => outcome.delivered.push(packet.tag),
                Output::Dropped { reason, .. } => *outcome.dropped.entry(reason).or_default() += 1,
                Output::GroupSent { .. } | Output::Overheard { .. } | Output::Attached { .. } => {
                    unreachable!("nothing is for all")
                }
            }
        }
        while let Some(event) = cell.poll_event() {
            match event {
                Event::Ppdu(ppdu) if ppdu.transmitter == STATION => {
                    for Frame { sequence, packets, .. } in ppdu.frames() {
                        for packet in packets {
                            numbers.insert(sequence.as_u16(), packet.tag);
                            *sent.entry(packet.tag).or_insert(0) += 1;
                        }
                    }
                }
                Event::PseudoRetryOut { station, peer, sequence, .. } => {
                    assert_eq!((station, peer), (AP, STATION));
                    assert!(outcome.given_up.insert(numbers[&sequence.as_u16()]), "marked once");
                }
                _ => {}
            }
        }
        let (at, _) = cell.poll_timeout().expect("there are beacons");
        if now < end || cell.held_packets(STATION) > 0 {
            busy = now;
        } else if at > busy + REORDERED {
            break;
        }
        now = at;
        cell.handle_timeout(now);
    }
    for (tag, times) in sent {
        let most = outcome.transmissions.entry(transport(tag)).or_default();
        *most = times.max(*most);
    }
    outcome.stats = cell.station_stats(now, AP).clone();
    let ended = outcome.delivered.len() as u64 + outcome.dropped.values().sum::<u64>();
    assert_eq!(ended, tag, "every packet ends, once");
    assert!(outcome.delivered.is_sorted(), "in order");
    outcome
}

#[test]
fn what_the_receiver_gave_up_is_never_delivered() {
    let mut config = lossy(0, 0.5);
    config.stations[AP.index()].pseudo_retry_out = Some(RateTable::PAPER);
    for station in &mut config.stations {
        station.retry_limit = 11;
    }
    let outcome = run(&config, 20_000);
    let given_up = outcome.given_up.len() as u64;
    // Two retransmissions fail one time in eight; a third of all is not TCP.
    let share = given_up as f64 / outcome.stats.pseudo_retry_outs.max(1) as f64;
    assert_eq!(share, 1.0);
    let all = outcome.delivered.len() as f64 + outcome.dropped.values().sum::<u64>() as f64;
    let expected = all * 2.0 / 3.0 / 8.0;
    assert!((given_up as f64 / expected - 1.0).abs() < 0.15, "{given_up}, not {expected}");
    assert!(outcome.given_up.iter().all(|tag| tag % 3 != 0), "TCP only");
    assert!(!outcome.delivered.iter().any(|tag| outcome.given_up.contains(tag)));
    // Those that the sender gave up as well did not come.
    let ignored = outcome.dropped[&DropReason::PseudoRetryOut];
    assert_eq!(ignored, outcome.stats.pseudo_retry_outs_ignored);
    assert!(ignored <= given_up && ignored as f64 > 0.9 * given_up as f64, "{ignored}");
}

#[test]
fn high_rates_and_the_other_direction_are_left_alone() {
    let mut fast = lossy(15, 0.4);
    fast.stations[AP.index()].pseudo_retry_out = Some(RateTable::PAPER);
    let mut down = lossy(0, 0.4);
    down.stations[STATION.index()].pseudo_retry_out = Some(RateTable::PAPER);
    for config in [fast, down] {
        let outcome = run(&config, 2_000);
        assert!(outcome.given_up.is_empty());
        assert!(!outcome.dropped.contains_key(&DropReason::PseudoRetryOut));
    }
}

#[test]
fn single_mpdus_are_given_up_as_well() {
    let mut config = lossy(0, 0.5);
    config.stations[AP.index()].pseudo_retry_out = Some(RateTable::PAPER);
    // One takes 1.9 ms.
    config.stations[STATION.index()].aggregation.ampdu_duration_max = Duration::from_millis(3);
    let outcome = run(&config, 20_000);
    assert!(outcome.given_up.len() > 100, "{}", outcome.given_up.len());
}

#[test]
fn the_sender_gives_tcp_up_early_at_a_low_rate() {
    // Retransmissions by Table I: attempts are one more. One packet in 165 needs eleven, and
    // each run has a few hundred that may take them.
    for (rate, attempts, millis) in [(0, 3, 40_000), (3, 6, 16_000), (7, 9, 8_000), (15, 11, 4_000)]
    {
        let mut config = lossy(rate, 0.6);
        let sender = &mut config.stations[STATION.index()];
        sender.retry_limit = 11;
        sender.low_rate_retry = Some(LowRateRetry { table: RateTable::PAPER, all_traffic: false });
        let outcome = run(&config, millis);
        assert_eq!(outcome.transmissions[&Transport::Tcp], attempts, "MCS {rate}");
        assert_eq!(outcome.transmissions[&Transport::Other], 11, "MCS {rate}");
    }
    let mut config = lossy(0, 0.6);
    config.stations[STATION.index()].low_rate_retry =
        Some(LowRateRetry { table: RateTable::PAPER, all_traffic: true });
    let outcome = run(&config, 2_000);
    assert_eq!(outcome.transmissions[&Transport::Other], 3);
}

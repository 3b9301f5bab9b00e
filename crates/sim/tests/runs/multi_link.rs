//! Devices of several links: the link of each packet, and its wait for the other link, against the
//! PPDUs of the run and against runs with one of the links alone.

use lasthop_hosts::Sink;
use lasthop_net::network::NetworkStats;
use lasthop_packet::FlowId;
use lasthop_scenario::Scenario;
use lasthop_sim::{go_on, simulate};
use lasthop_units::{Duration, Instant, Seed};
use lasthop_wifi::event::{Event, FrameKind, Ppdu};
use lasthop_wifi::{Address, StationId};
use std::collections::{BTreeMap, BTreeSet};

/// The events of a run.
#[derive(Debug, Default)]
struct Events(Vec<Event>);

impl Sink for Events {
    fn wants_events(&self) -> bool {
        true
    }

    fn event(&mut self, event: &Event, _frames: &dyn Fn(u64) -> Option<Vec<u8>>) {
        self.0.push(event.clone());
    }
}

impl Events {
    fn ppdus(&self) -> impl Iterator<Item = &Ppdu> {
        self.0.iter().filter_map(|event| match event {
            Event::Ppdu(ppdu) => Some(ppdu),
            _ => None,
        })
    }
}

const HOUSE: &str = "duration = \"4s\"\n[channel]\nstandard = \"802.11be\"\nband = \"5GHz\"\n\
    width = \"80MHz\"\n[[channel.link]]\nband = \"6GHz\"\nwidth = \"160MHz\"\n\
    [[node]]\nname = \"ap\"\nrole = \"access-point\"\n\
    [[node]]\nname = \"laptop\"\nrole = \"station\"\nposition = [\"9m\", \"0m\"]\n";
const BUSY: &str = "[[neighbour]]\nname = \"next\"\nlevel = \"-70dBm\"\nbusy = 0.6\n";
const DOWN: &str = "[[flow]]\nname = \"down\"\nfrom = \"ap\"\nto = \"laptop\"\nkind = \"udp\"\n\
    rate = \"saturated\"\n";
const SPARSE: &str = "[[flow]]\nname = \"up\"\nfrom = \"laptop\"\nto = \"ap\"\nkind = \"udp\"\n\
    rate = \"80kb/s\"\npacket_bytes = 200\n";

fn scenario(parts: &[&str], sets: &[&str]) -> Scenario {
    crate::common::scenario(&parts.concat(), sets)
}

fn go(scenario: &Scenario, seed: u64) -> (Events, NetworkStats) {
    let mut events = Events::default();
    let seed = Seed::new(seed, 0);
    let stats = simulate(scenario, seed, &mut events, &mut go_on).expect("it is sound");
    (events, stats)
}

/// The PPDU in which a delivered packet was received first is to the station of its link, also if it
/// waited for a packet of the other link.
#[test]
fn a_delivered_packet_has_the_link_that_brought_it() {
    let (mut waited_for_the_other, mut reorders) = (0, Vec::new());
    for (seed, mode) in [(3, "str"), (4, "nstr"), (5, "emlsr")] {
        let set = format!("node.laptop.multi_link={mode}");
        let (events, stats) = go(&scenario(&[HOUSE, BUSY, DOWN], &[&set]), seed);
        let mut brought: BTreeMap<u64, StationId> = BTreeMap::new();
        for psdu in events.ppdus().flat_map(|ppdu| &ppdu.psdus) {
            let Address::Station(receiver) = psdu.receiver else { continue };
            for packet in psdu.frames.iter().filter(|it| it.received).flat_map(|it| &it.packets) {
                if packet.flow == FlowId(0) {
                    brought.entry(packet.tag).or_insert(receiver);
                }
            }
        }
        let mut last = StationId(0);
        let mut delivered = 0;
        for event in &events.0 {
            if let Event::Delivered { station, packet, .. } = event
                && packet.flow == FlowId(0)
            {
                // Some arrive before a PPDU that the end of the run cuts off.
                let by = brought.get(&packet.tag);
                assert!(by.is_none_or(|by| by == station), "{mode}: {packet:?}");
                waited_for_the_other +=
                    u64::from(!packet.parts.reorder.is_zero() && *station != last);
                (last, delivered) = (*station, delivered + 1);
            }
        }
        let counted: u64 = stats.flow_links.iter().map(|(.., it)| it.packets).sum();
        assert_eq!(counted, delivered, "{mode}");
        assert!(stats.flow_links.iter().all(|(.., it)| it.packets > 100), "{mode}: both links");
        let reorder: Duration = stats.flow_links.iter().map(|(.., it)| it.reorder).sum();
        reorders.push(reorder);
    }
    // Two links send at once with "str" only.
    let [both, one, alone] = reorders[..] else { panic!("three modes") };
    assert!(one < both / 10 && alone < both / 10, "{reorders:?}");
    assert!(waited_for_the_other > 100, "links take turns: {waited_for_the_other}");
}

/// A sender that always has packets sends on the other link as soon as that gains its channel, unless
/// the window is full.
#[test]
fn the_wait_for_the_other_link_ends_when_that_sends() {
    let (events, _) = go(&scenario(&[HOUSE, BUSY, DOWN], &[]), 7);
    let is_of_data = |ppdu: &&Ppdu| {
        ppdu.frames().any(|it| matches!(it.kind, FrameKind::QosData { .. } | FrameKind::Rts))
    };
    let starts: BTreeSet<(StationId, Instant)> =
        events.ppdus().filter(is_of_data).map(|ppdu| (ppdu.transmitter, ppdu.start)).collect();
    let mut taken: BTreeMap<u64, (Instant, Duration)> = BTreeMap::new();
    let (mut others, mut at_once) = (0, 0);
    for event in &events.0 {
        let Event::Link(choice) = event else { continue };
        if choice.is_taken {
            assert!(taken.insert(choice.tag, (choice.at, choice.waited)).is_none(), "once");
            continue;
        }
        let (at, waited) = taken[&choice.tag];
        assert_eq!(at, choice.at);
        let gains = at + (choice.waited - waited);
        let sends = starts.range((choice.station, at)..(choice.station, Instant::MAX)).next();
        let Some((_, sends)) = sends else { continue };
        assert!(*sends >= gains, "{choice:?} {sends:?}");
        others += 1;
        at_once += usize::from(*sends == gains);
    }
    assert!(others > taken.len() * 9 / 10 && others > 10_000, "{others} of {}", taken.len());
    assert!(at_once > others * 8 / 10, "{at_once} of {others}");
}

/// The wait for a link, over all packets, whether it took them or not, is that of a run in which the
/// device has this link alone.
#[test]
fn the_wait_for_a_link_is_that_of_the_link_alone() {
    const SEEDS: u64 = 6;
    let mean = |sum: Duration, packets: u64| sum.as_millis_f64() / packets as f64;
    let (mut with, mut alone) = (Vec::new(), Vec::new());
    for seed in 0..SEEDS {
        let twenty = "duration=20s";
        let (_, stats) = go(&scenario(&[HOUSE, BUSY, SPARSE], &[twenty]), seed);
        let (mut sum, mut packets) = (Duration::ZERO, 0);
        for (.., it) in &stats.flow_links {
            // The first link, at 5 GHz.
            let other = it.elsewhere[usize::from(it.link == 0)];
            sum += if it.link == 0 { other.here } else { other.there };
            packets += other.packets;
        }
        assert!(packets > 950, "of 1 000: {packets}");
        with.push(mean(sum, packets));
        let off = "node.laptop.multi_link=off";
        let mut one = scenario(&[HOUSE, BUSY, SPARSE], &[twenty, off]);
        one.seed = seed;
        let document = crate::common::run(&one);
        let parts = document.flows["up"].delay_parts_ms.expect("they arrive");
        alone.push(parts.contention + parts.queue);
    }
    let of = |values: &[f64]| {
        let mean = values.iter().sum::<f64>() / SEEDS as f64;
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
        (mean, variance / (SEEDS * (SEEDS - 1)) as f64)
    };
    let ((with, one), (alone, two)) = (of(&with), of(&alone));
    let error = (one + two).sqrt();
    assert!((with - alone).abs() < 3.0 * error, "{with} against {alone} +- {error}");
    assert!(error < 0.1 * alone, "{error}");
}

/// Requests of a device with one radio last from the RTS to the data behind its CTS.
#[test]
fn requests_of_one_radio_last_until_the_data() {
    let sets = ["node.laptop.multi_link=emlsr", "node.laptop.emlsr.padding=64us"];
    let (events, stats) = go(&scenario(&[HOUSE, DOWN], &sets), 9);
    let (mut requests, mut time) = (0, Duration::ZERO);
    let mut asked: BTreeMap<StationId, Instant> = BTreeMap::new();
    for ppdu in events.ppdus() {
        let kind = ppdu.frames().next().map(|frame| frame.kind);
        match kind {
            Some(FrameKind::Rts | FrameKind::MuRts { .. }) => {
                asked.insert(ppdu.transmitter, ppdu.start);
            }
            Some(FrameKind::Beacon { .. } | FrameKind::Cts | FrameKind::BlockAck { .. }) => {}
            _ => {
                if let Some(start) = asked.remove(&ppdu.transmitter) {
                    (requests, time) = (requests + 1, time + (ppdu.start - start));
                }
            }
        }
    }
    let [(_, ap), (_, laptop)] = &stats.devices[..] else { panic!("two devices") };
    let switching = &laptop.switching;
    assert!(requests > 500 && asked.len() <= 1, "{requests}");
    let answered = switching.requests - switching.unanswered;
    assert!(answered.abs_diff(requests) <= 1, "{switching:?} {requests}");
    let difference = switching.requesting.as_micros().abs_diff(time.as_micros());
    assert!(difference <= 5_500, "{switching:?} {time:?}");
    assert_eq!(switching.padding, Duration::from_micros(64) * switching.requests);
    assert_eq!(ap.switching.requests, 0);
    // The links of the access point are idle while the laptop is on the other one, or returns.
    let turned = switching.engaged + switching.transition;
    for idle in &ap.idle {
        assert!(idle.engaged > turned / 10 && idle.engaged <= turned, "{idle:?} {turned:?}");
    }
}

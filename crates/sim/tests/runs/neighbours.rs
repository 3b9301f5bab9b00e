//! Neighbours on the channel (`[[neighbour]]`) against closed forms and an account of frames: the
//! busy share of one alone, the share left to a saturated link that hears it, losses at a receiver
//! whose sender does not hear it, and no effect of an unheard one.

use crate::common::{run, scenario};
use lasthop_hosts::Sink;
use lasthop_hosts::sink::Frames;
use lasthop_packet::{DropReason, FlowId, NodeId, Packet};
use lasthop_scenario::Scenario;
use lasthop_sim::{go_on, simulate};
use lasthop_units::{Instant, Seed};
use lasthop_wifi::StationId;
use lasthop_wifi::event::{Event, Ppdu};

/// One idle cell, of which only its beacons are heard, and a neighbour.
const ALONE: &str = r#"
duration = "100s"
warmup = "1s"
[[node]]
name = "ap"
role = "access-point"
[[neighbour]]
name = "flat"
level = "-60dBm"
busy = 0.3
uplink = 0.0
"#;

/// The share of the time that the neighbour is on the air, and that it should be; the number
/// of its exchanges in a run says how far chance may have it off.
fn busy(sets: &[&str]) -> (f64, f64, f64) {
    let scenario = scenario(ALONE, sets);
    let run = run(&scenario);
    let neighbour = run.neighbours["flat"];
    let cell = scenario.network.cell.as_ref().expect("there is a cell");
    let rate = match cell.stations[1].rate_control {
        lasthop_wifi::mac::rate::RateControlConfig::Fixed { rate } => rate,
        ref other => panic!("{other:?}"),
    };
    let bytes = match scenario.neighbours[0].flows[0].kind {
        lasthop_hosts::FlowKind::Udp(lasthop_hosts::SourceConfig::Bursts { bytes, .. }) => bytes,
        ref other => panic!("{other:?}"),
    };
    // The aggregation is bounded by what was chosen: any longer PPDU gives the same.
    let longest = lasthop_units::Duration::from_secs(1);
    let exchange = cell.steady_exchange(StationId(1), rate, bytes, longest);
    let exchanges = neighbour.airtime_fraction * 99.0 / exchange.airtime().as_secs_f64();
    (neighbour.airtime_fraction, neighbour.busy, exchanges)
}

/// The share agrees with `busy` within 2 %, over generations, rates, lengths of packets and of
/// PPDUs, plus three standard deviations of a Poisson process.
#[test]
fn alone_a_neighbour_is_as_busy_as_it_says() {
    let mcs = |mcs: u8| format!("neighbour.flat.mcs={mcs}");
    let rate = |mbps: &str| format!("neighbour.flat.rate={mbps}Mb/s");
    let standard = |standard: &str| format!("channel.standard=802.11{standard}");
    let grid: [(&[String], &[&str], &[f64]); 8] = [
        (&[standard("n"), mcs(0)], &["1500", "2ms"], &[0.1, 0.5]),
        (&[standard("n"), mcs(7)], &["1500", "2ms"], &[0.1, 0.3, 0.5, 0.7, 0.9]),
        (&[standard("n"), mcs(15)], &["300", "1ms"], &[0.1, 0.5, 0.8]),
        (&[standard("ac"), mcs(8)], &["1500", "5.4ms"], &[0.3, 0.9]),
        (&[standard("ax"), mcs(11)], &["1500", "2ms"], &[0.1, 0.5, 0.9]),
        (&[standard("a"), rate("54")], &["1500", "2ms"], &[0.1, 0.6]),
        (&[standard("g"), rate("6")], &["800", "2ms"], &[0.3, 0.8]),
        (&[standard("b"), rate("11")], &["1500", "2ms"], &[0.1, 0.6]),
    ];
    let mut worst: f64 = 0.0;
    for (sets, [bytes, duration], shares) in
        grid.iter().map(|(sets, sizes, shares)| (sets, [sizes[0], sizes[1]], shares))
    {
        for share in *shares {
            let mut all: Vec<String> = sets.to_vec();
            all.push(format!("neighbour.flat.packet_bytes={bytes}"));
            all.push(format!("neighbour.flat.ppdu_duration={duration}"));
            all.push(format!("neighbour.flat.busy={share}"));
            let all: Vec<&str> = all.iter().map(String::as_str).collect();
            let (measured, asked, exchanges) = busy(&all);
            assert_eq!(asked, *share);
            let off = measured / asked - 1.0;
            println!("{all:?}: {measured:.4}, {:+.2} %, {exchanges:.0} exchanges", 100.0 * off);
            worst = worst.max(off.abs());
            assert!(off.abs() < 0.02 + 3.0 / exchanges.sqrt(), "{all:?}: {measured}");
        }
    }
    println!("worst: {:.2} %", 100.0 * worst);
}

/// Stations that send, too, collide now and then: the more, the busier they are.
#[test]
fn stations_of_a_neighbour_that_send_add_collisions() {
    for (uplink, stations, share) in [
        ("0.2", "1", 0.1),
        ("0.2", "1", 0.3),
        ("0.2", "1", 0.5),
        ("0.2", "1", 0.7),
        ("0.2", "3", 0.5),
        ("0.5", "3", 0.3),
        ("0.5", "3", 0.5),
        ("1.0", "1", 0.9),
    ] {
        let sets = [
            format!("neighbour.flat.uplink={uplink}"),
            format!("neighbour.flat.stations={stations}"),
            format!("neighbour.flat.busy={share}"),
        ];
        let sets: Vec<&str> = sets.iter().map(String::as_str).collect();
        let (measured, asked, exchanges) = busy(&sets);
        let off = measured / asked - 1.0;
        println!("{sets:?}: {measured:.4}, {:+.2} %", 100.0 * off);
        assert!(off.abs() < 0.03 + 3.0 / exchanges.sqrt(), "{sets:?}: {measured}");
    }
}

/// A cell with everything that draws random numbers: fading, losses, rate control, TCP.
const DRAWS: &str = r#"
duration = "3s"
[channel]
fading = { kind = "rayleigh", doppler = "20Hz" }
path_loss = { shadowing = "4dB" }
[[node]]
name = "ap"
role = "access-point"
[[node]]
name = "laptop"
role = "station"
position = ["20m", "0m"]
[[node]]
name = "phone"
role = "station"
power_save = {}
[[node]]
name = "tv"
role = "station"
[[node]]
name = "server"
role = "host"
[[wire]]
between = ["server", "ap"]
delay = "5ms"
jitter = "2ms"
loss = 0.01
[[link]]
between = ["tv", "ap"]
loss = 0.2
[[flow]]
name = "download"
from = "server"
to = "laptop"
kind = "tcp"
[[flow]]
name = "calls"
from = "*"
to = "server"
kind = "udp"
rate = "1Mb/s"
pattern = "poisson"
[[flow]]
name = "film"
from = "server"
to = "tv"
kind = "video"
[[neighbour]]
name = "flat"
level = "-60dBm"
busy = 0.4
stations = 3
"#;

/// Events of a cell, except those of its neighbours.
#[derive(Default)]
struct Log {
    own: Vec<StationId>,
    lines: Vec<String>,
    ppdus: Vec<Ppdu>,
}

impl Log {
    fn record(scenario: &Scenario) -> Self {
        let own = scenario.own_nodes().iter().filter(|node| node.role.is_wifi()).count();
        let own = (0..own as u16).map(StationId).collect();
        let mut log = Self { own, ..Self::default() };
        simulate(scenario, Seed::new(scenario.seed, 0), &mut log, &mut go_on).expect("it runs");
        log
    }

    fn packet(&mut self, what: &str, now: Instant, packet: &Packet) {
        if packet.flow != FlowId::BACKGROUND {
            self.lines.push(format!("{what} {now:?} {packet:?}"));
        }
    }
}

impl Sink for Log {
    fn wants_events(&self) -> bool {
        true
    }

    fn sent(&mut self, now: Instant, packet: &Packet) {
        self.packet("sent", now, packet);
    }

    fn arrived(&mut self, now: Instant, _: NodeId, packet: &Packet) {
        self.packet("arrived", now, packet);
    }

    fn dropped(&mut self, now: Instant, _: NodeId, packet: &Packet, reason: DropReason) {
        self.packet(&format!("{reason:?}"), now, packet);
    }

    fn event(&mut self, event: &Event, _: Frames<'_>) {
        if let Event::Ppdu(ppdu) = event {
            if self.own.contains(&ppdu.transmitter) {
                self.lines.push(format!("{ppdu:?}"));
            }
            self.ppdus.push(ppdu.clone());
        }
    }
}

/// Neither one that is off, nor one that is far below the noise, moves a random stream.
#[test]
fn who_is_not_heard_changes_nothing() {
    let without = Log::record(&scenario(DRAWS, &["neighbour=[]"]));
    assert!(without.lines.len() > 5_000, "{}", without.lines.len());
    for set in ["neighbour.flat.busy=0", "neighbour.flat.level=-160dBm"] {
        let with = scenario(DRAWS, &[set]);
        let log = Log::record(&with);
        let theirs = log.ppdus.len() > without.ppdus.len();
        assert_eq!(theirs, set.contains("level"), "{set}");
        for (number, (line, expected)) in log.lines.iter().zip(&without.lines).enumerate() {
            assert_eq!(line, expected, "{set}: line {number}");
        }
        assert_eq!(log.lines.len(), without.lines.len(), "{set}");
    }
    // One that is heard does.
    assert!(Log::record(&scenario(DRAWS, &[])).lines != without.lines);
}

/// A saturated link whose exchanges are all alike, and a neighbour below saturation that both
/// ends hear.
const SHARED: &str = r#"
duration = "61s"
warmup = "1s"
[channel]
beacon_interval = "off"
[node_defaults]
rate_control = { kind = "fixed", mcs = 7 }
queue = { kind = "drop-tail", packets = 200 }
aggregation = { ampdu_duration_max = "2ms" }
[[node]]
name = "ap"
role = "access-point"
[[node]]
name = "laptop"
role = "station"
[[flow]]
name = "up"
from = "laptop"
to = "ap"
kind = "udp"
rate = "saturated"
[[neighbour]]
name = "flat"
level = "-60dBm"
busy = 0.3
uplink = 0.0
mcs = 7
"#;

/// Contention windows of the first attempts.
const WINDOWS: [usize; 5] = [15, 31, 63, 127, 255];

/// Mean number of collisions with a saturated sender until a packet that found the medium busy is
/// sent. Both draw a backoff. The one with fewer slots goes first; the saturated one then draws
/// anew from its first window, while the other keeps its remaining slots. Equal slots collide, and
/// both draw from windows of twice the size.
fn collisions() -> f64 {
    // By attempts of the one and of the saturated one before: both draw now.
    let attempts = WINDOWS.len();
    let mut table = vec![vec![0.0; attempts + 1]; attempts + 1];
    for attempt in (0..attempts).rev() {
        let window = WINDOWS[attempt];
        // With so many slots left while the saturated one draws from its first window. It may
        // draw none, and then all is as before.
        let first = WINDOWS[0] as f64;
        let after = 1.0 + table[attempt + 1][1];
        let mut fresh = vec![after / (first + 1.0)];
        for left in 1..=window {
            let nearer: f64 = (1..left.min(WINDOWS[0] + 1)).map(|drawn| fresh[left - drawn]).sum();
            let equal = if left <= WINDOWS[0] { after } else { 0.0 };
            fresh.push((nearer + equal) / first);
        }
        for own in (0..attempts).rev() {
            let after = 1.0 + table[attempt + 1][own + 1];
            let from = |slots: usize| {
                let nearer = (0..slots.min(WINDOWS[own] + 1)).map(|drawn| fresh[slots - drawn]);
                let equal = if slots <= WINDOWS[own] { after } else { 0.0 };
                (nearer.sum::<f64>() + equal) / (WINDOWS[own] + 1) as f64
            };
            table[attempt][own] = (0..=window).map(from).sum::<f64>() / (window + 1) as f64;
        }
    }
    table[0][0]
}

/// The closed form of two contenders of which one is below saturation. Per second there are
/// `b` bursts of the neighbour, each with an exchange of `T` and the SIFS in it, after an AIFS;
/// the link's exchanges fill the rest, each with its backoff. A burst that finds the medium busy
/// draws a backoff, and collides as often as above until it gets across. A collision takes the
/// data PPDUs, a response that does not come, and the backoffs of the link before and, from a
/// window of twice the size, after.
#[test]
fn a_saturated_link_gets_what_a_neighbour_leaves() {
    let collisions = collisions();
    println!("{collisions:.4} collisions of a burst that finds the medium busy");
    for share in ["0.1", "0.2", "0.3", "0.4"] {
        let set = format!("neighbour.flat.busy={share}");
        let scenario = scenario(SHARED, &[&set]);
        let run = run(&scenario);
        let cell = scenario.network.cell.as_ref().expect("there is a cell");
        let lasthop_wifi::mac::rate::RateControlConfig::Fixed { rate } =
            cell.stations[1].rate_control
        else {
            panic!("its rate is fixed");
        };
        let longest = lasthop_units::Duration::from_millis(2);
        let own = cell.steady_exchange(StationId(1), rate, 1_500, longest);
        let (slot, sifs) = (9e-6, 16e-6);
        let aifs = sifs + 3.0 * slot;
        let airtime = own.airtime().as_secs_f64();
        let bursts_per_s = scenario.neighbours[0].busy.as_f64() / airtime;
        let own_cycle = airtime + own.gap.as_secs_f64();
        let rest = 1.0 - bursts_per_s * (airtime + sifs + aifs);
        let busy = bursts_per_s * airtime + rest * airtime / own_cycle;
        let collisions_per_s = bursts_per_s * busy * collisions;
        let per_collision = own.data.as_secs_f64() + sifs + slot + aifs + (7.5 + 8.0) * slot;
        let exchanges_per_s = (rest - collisions_per_s * per_collision) / own_cycle;
        let expected = exchanges_per_s * f64::from(own.packets) * 1_472.0 * 8.0 / 1e6;
        let goodput = run.flows["up"].goodput_mbps.expect("it is measured");
        let ratio = goodput / expected;
        let theirs = run.neighbours["flat"].airtime_fraction;
        let again =
            bursts_per_s * own.airtime().as_secs_f64() + collisions_per_s * own.data.as_secs_f64();
        println!(
            "{share}: {goodput:.2} Mb/s, {expected:.2} expected, {ratio:.3}; neighbour \
             {theirs:.4}, {again:.4} expected, {:.3}",
            theirs / again
        );
        assert!((ratio - 1.0).abs() < 0.02, "{share}: {goodput} and {expected}");
        let by_chance = 3.0 / (60.0 * bursts_per_s).sqrt();
        assert!((theirs / again - 1.0).abs() < 0.02 + by_chance, "{share}: {theirs}, {again}");
    }
}

/// A neighbour that is busier than its half of the channel shares it evenly with the link.
#[test]
fn beyond_saturation_both_have_the_same() {
    let run = run(&scenario(SHARED, &["neighbour.flat.busy=0.8", "duration=31s"]));
    let [own, theirs] =
        [run.links["laptop->ap"].airtime_fraction, run.neighbours["flat"].airtime_fraction];
    // Of the neighbour's are its Block Acks, too: 32 us to data PPDUs of 1.97 ms.
    let ratio = own * (1.0 + 32.0 / 1_970.0) / theirs;
    println!("{own:.4} and {theirs:.4}: {ratio:.3}");
    assert!((ratio - 1.0).abs() < 0.02, "{own} and {theirs}");
}

/// The access point does not hear the neighbour, and the laptop does, so neither sender waits. The
/// neighbour is 10 dB weaker than the access point, at which no MPDU of 64-QAM 5/6 arrives.
const HIDDEN: &str = r#"
duration = "10s"
[channel]
beacon_interval = "off"
capture_margin = "off"
[node_defaults]
rate_control = { kind = "fixed", mcs = 7 }
queue = { kind = "drop-tail", packets = 200 }
aggregation = { ampdu_duration_max = "2ms" }
[[node]]
name = "ap"
role = "access-point"
[[node]]
name = "laptop"
role = "station"
[[link]]
between = ["ap", "laptop"]
path_loss = "70dB"
[[flow]]
name = "down"
from = "ap"
to = "laptop"
kind = "udp"
rate = "saturated"
[[neighbour]]
name = "flat"
level = "-60dBm"
levels = [{ node = "ap", level = "-130dBm" }]
busy = 0.2
uplink = 0.0
mcs = 7
"#;

/// Frame by frame: the laptop gets nothing of a PPDU that finds it receiving the neighbour's.
/// Of the others it gets the header, which 10 dB are enough for, and each MPDU that nothing of
/// the neighbour's overlaps.
#[test]
fn a_hidden_neighbour_spoils_what_it_overlaps() {
    let scenario = scenario(HIDDEN, &[]);
    let log = Log::record(&scenario);
    let [ap, laptop] = [StationId(0), StationId(1)];
    let theirs: Vec<&Ppdu> = log.ppdus.iter().filter(|it| it.transmitter > laptop).collect();
    let (mut clean, mut missed, mut partly, mut mpdus_lost) = (0, 0, 0, 0);
    for ppdu in log.ppdus.iter().filter(|it| it.transmitter == ap && it.psdus[0].aggregated) {
        let begin = ppdu.start;
        let overlaps = |from: Instant, until: Instant| {
            theirs.iter().any(|other| other.start < until && other.end > from)
        };
        let psdu = &ppdu.psdus[0];
        let header = begin + psdu.rate.preamble_and_header(lasthop_wifi::phy::Band::Ghz5);
        let received: Vec<bool> = psdu.frames.iter().map(|frame| frame.received).collect();
        if !overlaps(begin, ppdu.end) {
            clean += 1;
            assert!(received.iter().all(|it| *it), "{ppdu:?}");
        } else if overlaps(begin, begin + lasthop_units::Duration::from_nanos(1)) {
            missed += 1;
            assert!(received.iter().all(|it| !it), "{ppdu:?}");
        } else {
            partly += 1;
            let bits_per_s = f64::from(psdu.bytes * 8) / (ppdu.end - header).as_secs_f64();
            let mut bytes = 0;
            for (frame, received) in psdu.frames.iter().zip(received) {
                let at = |bytes: u32| {
                    let seconds = f64::from(bytes * 8) / bits_per_s;
                    header + lasthop_units::Duration::from_nanos((seconds * 1e9) as u64)
                };
                let (from, until) = (at(bytes), at(bytes + u32::from(frame.bytes)));
                bytes += (u32::from(frame.bytes) + 4).next_multiple_of(4);
                // A microsecond for what the last symbol is filled up with.
                let slack = lasthop_units::Duration::from_micros(12);
                if !overlaps(from.saturating_sub(slack), until + slack) {
                    assert!(received, "{frame:?} from {from:?} of {ppdu:?}");
                } else if overlaps(from + slack, until - slack) {
                    assert!(!received, "{frame:?} from {from:?} of {ppdu:?}");
                    mpdus_lost += 1;
                }
            }
        }
    }
    println!("{clean} clean, {missed} missed, {partly} in part, {mpdus_lost} MPDUs in these");
    assert!(clean > 1_000 && missed > 100 && partly > 100 && mpdus_lost > 1_000);
}

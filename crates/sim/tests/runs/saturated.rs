//! Saturated flows that start at one node. Each keeps a separate queue filled, so access categories
//! get the shares of EDCA, and stations those of the queue discipline.

use lasthop_hosts::Sink;
use lasthop_net::network::NetworkStats;
use lasthop_packet::Packet;
use lasthop_scenario::{Scenario, parse};
use lasthop_sim::{go_on, simulate};
use lasthop_units::{Duration, Instant, Seed};

/// Number of packets that arrived, by flow.
#[derive(Debug, Default)]
struct Arrivals(Vec<u64>);

impl Sink for Arrivals {
    fn arrived(&mut self, _now: Instant, _node: lasthop_packet::NodeId, packet: &Packet) {
        let flow = usize::from(packet.flow.0);
        self.0.resize(self.0.len().max(flow + 1), 0);
        self.0[flow] += 1;
    }
}

fn go(scenario: &Scenario) -> (Vec<u64>, NetworkStats) {
    let mut arrivals = Arrivals::default();
    let stats =
        simulate(scenario, Seed::new(1, 0), &mut arrivals, &mut go_on).expect("it is sound");
    (arrivals.0, stats)
}

/// Slots of 9 us, SIFS of 16 us, and a response timeout of SIFS + slot + 20 us (IEEE
/// 802.11-2020, 10.3.2.11; the Ack is an OFDM PPDU).
const SLOT_US: u64 = 9;
const SIFS_US: u64 = 16;
const ACK_TIMEOUT_US: u64 = 45;
/// Any value: shares do not depend on it.
const DATA_US: u64 = 300;
const ACK_US: u64 = 28;

/// Name, AIFSN, CWmin, CWmax (IEEE 802.11-2020, table 9-155, OFDM).
const CATEGORIES: [(&str, u64, u64, u64); 4] = [
    ("background", 7, 15, 1_023),
    ("best-effort", 3, 15, 1_023),
    ("video", 2, 7, 15),
    ("voice", 2, 3, 7),
];
const RETRY_LIMIT: u32 = 7;

/// Simulates EDCA slot by slot (10.23.2), with one frame per opportunity, for
/// contenders given as (station, category); returns how many frames of each get
/// through. Among the categories of a station, the later contender wins an internal
/// collision.
fn edca(contenders: &[(usize, usize)], frames: u64) -> Vec<u64> {
    struct Contender {
        station: usize,
        aifs_us: u64,
        window: [u64; 2],
        current: u64,
        failures: u32,
        slots: u64,
        idle_since_us: u64,
        through: u64,
    }
    let mut random = Seed::new(99, 0).stream("reference");
    let mut all: Vec<Contender> = contenders
        .iter()
        .map(|&(station, category)| {
            let (_, aifsn, low, high) = CATEGORIES[category];
            let slots = u64::from(random.up_to(low as u32));
            Contender {
                station,
                aifs_us: SIFS_US + aifsn * SLOT_US,
                window: [low, high],
                current: low,
                failures: 0,
                slots,
                idle_since_us: 0,
                through: 0,
            }
        })
        .collect();
    for _ in 0..frames {
        let starts: Vec<u64> =
            all.iter().map(|c| c.idle_since_us + c.aifs_us + c.slots * SLOT_US).collect();
        let now = *starts.iter().min().expect("somebody contends");
        let wins = |index: usize| starts[index] == now;
        let is_beaten = |index: usize| {
            (index + 1..all.len()).any(|i| wins(i) && all[i].station == all[index].station)
        };
        let beaten: Vec<bool> = (0..all.len()).map(|i| wins(i) && is_beaten(i)).collect();
        let senders = (0..all.len()).filter(|&i| wins(i) && !beaten[i]).count();
        let sending: Vec<usize> =
            (0..all.len()).filter(|&i| wins(i)).map(|i| all[i].station).collect();
        for (index, contender) in all.iter_mut().enumerate() {
            let counts_from = contender.idle_since_us + contender.aifs_us;
            contender.idle_since_us = now + DATA_US;
            if senders == 1 {
                contender.idle_since_us += SIFS_US + ACK_US;
            } else if sending.contains(&contender.station) {
                contender.idle_since_us += ACK_TIMEOUT_US;
            }
            if starts[index] != now {
                if now >= counts_from {
                    contender.slots -= (now - counts_from) / SLOT_US + 1;
                }
                continue;
            }
            let [low, high] = contender.window;
            if senders == 1 && !beaten[index] {
                contender.through += 1;
                (contender.failures, contender.current) = (0, low);
            } else {
                contender.failures += 1;
                contender.current = (2 * contender.current + 1).min(high);
                if contender.failures >= RETRY_LIMIT {
                    (contender.failures, contender.current) = (0, low);
                }
            }
            contender.slots = u64::from(random.up_to(contender.current as u32));
        }
    }
    all.iter().map(|contender| contender.through).collect()
}

/// Saturated flows to the access point, each of a station and a category, in a cell
/// where all stations hear each other equally well.
fn uplink(contenders: &[(usize, usize)]) -> Scenario {
    let mut text = String::from(
        "duration = \"20s\"\n[channel]\nbeacon_interval = \"off\"\n[node_defaults]\n\
         rate_control = { kind = \"fixed\", mcs = 7 }\naggregation = { ampdu_bytes_max = 0 }\n\
         queue = { kind = \"drop-tail\", packets = 100 }\n\
         edca = { video = { txop_limit = \"0s\" }, voice = { txop_limit = \"0s\" } }\n\
         [[node]]\nname = \"ap\"\nrole = \"access-point\"\n\
         [[link]]\nbetween = [\"*\", \"*\"]\nsnr = \"40dB\"\n",
    );
    let stations = contenders.iter().map(|(station, _)| station + 1).max().unwrap_or(0);
    for station in 0..stations {
        text += &format!("[[node]]\nname = \"s{station}\"\nrole = \"station\"\n");
    }
    for (station, category) in contenders {
        let category = CATEGORIES[*category].0;
        text += &format!(
            "[[flow]]\nname = \"{category}{station}\"\nfrom = \"s{station}\"\nto = \"ap\"\n\
             kind = \"udp\"\nrate = \"saturated\"\naccess_category = \"{category}\"\n"
        );
    }
    parse("test.toml", &text, &[]).unwrap_or_else(|why| panic!("{why}"))
}

fn shares(counts: &[u64]) -> Vec<f64> {
    let all: u64 = counts.iter().sum();
    counts.iter().map(|&count| count as f64 / all as f64).collect()
}

#[test]
fn categories_get_the_shares_of_edca() {
    let one_station = [(0, 0), (0, 1), (0, 2), (0, 3)];
    let four_stations = [(0, 0), (1, 1), (2, 2), (3, 3)];
    let two_stations = [(0, 0), (0, 2), (1, 1), (1, 3)];
    let without_voice = [(0, 0), (0, 1), (0, 2)];
    for contenders in [&one_station[..], &four_stations, &two_stations, &without_voice] {
        let ours = shares(&go(&uplink(contenders)).0);
        let theirs = shares(&edca(contenders, 400_000));
        for (our, their) in ours.iter().zip(&theirs) {
            let error = (our - their).abs();
            assert!(
                error <= 0.03 * their + 0.002,
                "{contenders:?}: {ours:.4?}, and slot by slot {theirs:.4?}"
            );
        }
    }
}

/// The access point fills the queues of a fast and of a slow station, at rates with
/// almost no losses, because retransmissions would let others go first. Returns the
/// share of the fast station in the air time and in the packets of both.
fn fast_and_slow(queue: &str, ampdu_bytes: u32) -> (f64, f64) {
    let text = format!(
        "duration = \"20s\"\n[channel]\nbeacon_interval = \"off\"\n[node_defaults]\n\
         rate_control = {{ kind = \"ideal\", per_max = 0.001 }}\naggregation = {{ ampdu_bytes_max = {ampdu_bytes} }}\n\
         queue = {queue}\n\
         [[node]]\nname = \"ap\"\nrole = \"access-point\"\n\
         [[node]]\nname = \"fast\"\nrole = \"station\"\n\
         [[node]]\nname = \"slow\"\nrole = \"station\"\n\
         [[link]]\nbetween = [\"ap\", \"fast\"]\nsnr = \"40dB\"\n\
         [[link]]\nbetween = [\"ap\", \"slow\"]\nsnr = \"7dB\"\n\
         [[flow]]\nname = \"to-fast\"\nfrom = \"ap\"\nto = \"fast\"\nkind = \"udp\"\nrate = \"saturated\"\n\
         [[flow]]\nname = \"to-slow\"\nfrom = \"ap\"\nto = \"slow\"\nkind = \"udp\"\nrate = \"saturated\"\n"
    );
    let scenario = parse("test.toml", &text, &[]).unwrap_or_else(|why| panic!("{why}"));
    let (packets, stats) = go(&scenario);
    let airtime = |name: &str| {
        let station = scenario.node(name).expect("it is there");
        let link = stats.links.iter().find(|(_, to, _)| *to == station);
        link.map_or(Duration::ZERO, |(.., link)| link.data_airtime).as_secs_f64()
    };
    let (fast, slow) = (airtime("fast"), airtime("slow"));
    assert!(slow > 1.0 && fast > 0.1, "{fast} s and {slow} s");
    (fast / (fast + slow), packets[0] as f64 / (packets[0] + packets[1]) as f64)
}

#[test]
fn a_fast_station_gets_what_the_queue_gives_it() {
    let [by_airtime, by_bytes, in_order] = [
        "{ kind = \"fq-codel\", airtime_fairness = true }",
        "{ kind = \"fq-codel\", airtime_fairness = false }",
        "{ kind = \"drop-tail\", packets = 500 }",
    ];
    for ampdu_bytes_max in [0, 65_535] {
        let (airtime, _) = fast_and_slow(by_airtime, ampdu_bytes_max);
        assert!((airtime - 0.5).abs() < 0.02, "{ampdu_bytes_max}: {airtime:.3} of the air");
    }
    // One packet each in turn: a small share of the air.
    for queue in [by_bytes, in_order] {
        let (airtime, packets) = fast_and_slow(queue, 0);
        assert!((packets - 0.5).abs() < 0.02, "{queue}: {packets:.3} of the packets");
        assert!(airtime < 0.25, "{queue}: {airtime:.3} of the air");
    }
    // One A-MPDU each in turn: 42 packets are 65 535 bytes, and 5 last 5.484 ms at MCS
    // 8.
    for queue in [by_bytes, in_order] {
        let (_, packets) = fast_and_slow(queue, 65_535);
        assert!((packets - 42.0 / 47.0).abs() < 0.02, "{queue}: {packets:.3} of the packets");
    }
}

/// A flow that starts later takes its share of a full queue, and the others get it back
/// when it ends.
#[test]
fn a_late_flow_gets_its_share_of_a_full_queue() {
    let text = "duration = \"3s\"\n[node_defaults]\nrate_control = { kind = \"fixed\", mcs = 7 }\n\
         queue = { kind = \"drop-tail\", packets = 50 }\n\
         [[node]]\nname = \"ap\"\nrole = \"access-point\"\n\
         [[node]]\nname = \"one\"\nrole = \"station\"\n[[node]]\nname = \"two\"\nrole = \"station\"\n\
         [[flow]]\nname = \"early\"\nfrom = \"ap\"\nto = \"one\"\nkind = \"udp\"\nrate = \"saturated\"\n\
         [[flow]]\nname = \"late\"\nfrom = \"ap\"\nto = \"two\"\nkind = \"udp\"\nrate = \"saturated\"\n\
         start = \"1s\"\nstop = \"2s\"\n";
    let scenario = parse("test.toml", text, &[]).unwrap_or_else(|why| panic!("{why}"));
    let (packets, stats) = go(&scenario);
    let ratio = packets[0] as f64 / packets[1] as f64;
    assert!((4.8..5.2).contains(&ratio), "{packets:?}");
    assert_eq!(stats.stations[0].1.queue_drops, 0);
}

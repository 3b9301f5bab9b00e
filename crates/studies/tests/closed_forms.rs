//! The model against arithmetic. One station: every HT rate of one and two streams,
//! with lengths and aggregation, calculated here from the clauses of IEEE 802.11-2020
//! (17.4.3, 19.4.3, 9.7.1, 10.23.2) without code of the model. With a contention window
//! of zero nothing is random: PPDUs follow each other after AIFS + data + SIFS +
//! response, to the nanosecond. Several stations: against closed forms.

use lasthop_hosts::sink::Sink;
use lasthop_net::CableConfig;
use lasthop_net::network::WiredLink;
use lasthop_packet::{NodeId, Packet};
use lasthop_scenario::Scenario;
use lasthop_studies::validate::chapters::predicted_mbps;
use lasthop_studies::validate::closed_forms::Counting;
use lasthop_studies::validate::setting::{Direction, Place, Setting};
use lasthop_units::{Db, Duration, Instant, Seed};
use lasthop_wifi::BssId;
use lasthop_wifi::cell::Role;
use lasthop_wifi::phy::{
    Band, ChannelWidth, DsssRate, ErrorModel, GuardInterval, OfdmRate, Preamble, Rate, Standard,
};
use std::collections::BTreeMap;

const LENGTHS: [u16; 5] = [100, 500, 1000, 1472, 2000];
const SIFS_NS: u64 = 16_000;
const AIFS_NS: u64 = SIFS_NS + 3 * 9_000;

/// A sink that collects the PPDUs whose packets arrived.
#[derive(Default)]
struct Arrivals(Vec<Ppdu>);

/// The start of a PPDU, the arrival of its last packet, and the number that arrived.
#[derive(Clone, Copy)]
struct Ppdu {
    begin: Instant,
    end: Instant,
    packets: u64,
}

impl Sink for Arrivals {
    fn arrived(&mut self, now: Instant, _node: NodeId, packet: &Packet) {
        let begin = Instant::ZERO + (now - Instant::ZERO - packet.parts.air);
        match self.0.last_mut() {
            Some(ppdu) if ppdu.begin == begin => (ppdu.end, ppdu.packets) = (now, ppdu.packets + 1),
            _ => self.0.push(Ppdu { begin, end: now, packets: 1 }),
        }
    }
}

/// Returns the last four PPDUs of a run without backoff and beacons, except for the
/// very last, which the end of the run may have cut short.
fn last_arrivals(setting: Setting, time: Duration) -> Vec<Ppdu> {
    let setting = Setting { contention_windows: Some((0, 0)), beacons: false, ..setting };
    let scenario = setting.scenario(Duration::ZERO, time);
    let mut arrivals = Arrivals::default();
    lasthop_sim::simulate(&scenario, Seed::new(1, 0), &mut arrivals, &mut lasthop_sim::go_on)
        .expect("a sound scenario");
    arrivals.0.pop();
    arrivals.0.split_off(arrivals.0.len() - 4)
}

fn ht(mcs: u8, wide: bool, short: bool) -> Rate {
    let width = if wide { ChannelWidth::Mhz40 } else { ChannelWidth::Mhz20 };
    let guard_interval = if short { GuardInterval::Short } else { GuardInterval::Long };
    Rate::Ht { mcs, width, guard_interval }
}

/// Duration of an OFDM PPDU of `bytes` (17.4.3): 20 us of preamble and SIGNAL, 4 us per
/// symbol.
fn ofdm_ns(bytes: u64, bits_per_symbol: u64) -> u64 {
    20_000 + (16 + 8 * bytes + 6).div_ceil(bits_per_symbol) * 4_000
}

/// Coded bits per subcarrier, and code rate, of MCS 0 to 7 (19.5).
const HT: [(u64, u64, u64); 8] =
    [(1, 1, 2), (2, 1, 2), (2, 3, 4), (4, 1, 2), (4, 3, 4), (6, 2, 3), (6, 3, 4), (6, 5, 6)];

/// Duration of an HT-mixed PPDU (19.4.3): 20 us of legacy preamble, 8 us of HT-SIG,
/// 4 us of HT-STF, an HT-LTF of 4 us per stream; the data part is a multiple of 4 us.
fn ht_ns(bytes: u64, mcs: u8, wide: bool, short: bool) -> u64 {
    let streams = u64::from(mcs / 8) + 1;
    let (bits, over, under) = HT[usize::from(mcs % 8)];
    let per_symbol = streams * if wide { 108 } else { 52 } * bits * over / under;
    let symbols = (16 + 8 * bytes + 6).div_ceil(per_symbol);
    let data: u64 = symbols * if short { 3_600 } else { 4_000 };
    32_000 + 4_000 * streams + data.next_multiple_of(4_000)
}

/// Data bits per symbol of the response, whose rate is the highest of 6, 12 and 24 Mb/s
/// that is not faster than 20 MHz OFDM with the same modulation and code rate
/// (10.6.6.5.2).
fn response_bits(mcs: u8) -> u64 {
    [24, 48, 48, 96, 96, 96, 96, 96][usize::from(mcs % 8)]
}

#[test]
fn one_station_takes_what_arithmetic_says() {
    for mcs in 0..16 {
        for (wide, short) in [(false, false), (false, true), (true, false), (true, true)] {
            for payload in LENGTHS {
                for ampdu in [0, 8_191, 32_767, 65_535] {
                    one_station(mcs, wide, short, payload, ampdu);
                }
            }
        }
    }
}

fn one_station(mcs: u8, wide: bool, short: bool, payload: u16, ampdu: u32) {
    // UDP and IP, LLC and SNAP, QoS header, FCS.
    let mpdu = u64::from(payload) + 28 + 8 + 26 + 4;
    // Subframes have delimiters of four bytes; all but the last are padded.
    let aggregate = |count: u64| (count - 1) * (4 + mpdu).next_multiple_of(4) + 4 + mpdu;
    let fits = |count: &u64| {
        let bytes = aggregate(*count);
        bytes <= u64::from(ampdu) && ht_ns(bytes, mcs, wide, short) <= 5_484_000
    };
    let count = (1..=64).take_while(fits).last().unwrap_or(1);
    let (psdu, response) = if count > 1 { (aggregate(count), 32) } else { (mpdu, 14) };
    let period =
        AIFS_NS + ht_ns(psdu, mcs, wide, short) + SIFS_NS + ofdm_ns(response, response_bits(mcs));

    let setting = Setting {
        payload_bytes: payload,
        ampdu_bytes_max: ampdu,
        ..Setting::new(ht(mcs, wide, short))
    };
    // The Block Ack agreement is established first, for which a millisecond is enough.
    let time = Duration::from_millis(1) + Duration::from_nanos(period) * 7;
    let case = format!("MCS {mcs}, wide {wide}, short {short}, {payload} B, A-MPDU {ampdu}");
    for pair in last_arrivals(setting, time).windows(2) {
        assert_eq!(pair[1].packets, count, "{case}");
        assert_eq!((pair[1].end - pair[0].end).as_nanos(), period, "{case}");
    }
}

#[test]
fn one_station_without_ht_takes_what_arithmetic_says() {
    let bits = [24, 36, 48, 72, 96, 144, 192, 216];
    for (index, (rate, bits)) in OfdmRate::ALL.into_iter().zip(bits).enumerate() {
        for payload in LENGTHS {
            let data = ofdm_ns(u64::from(payload) + 28 + 8 + 24 + 4, bits);
            let response = ofdm_ns(14, [24, 24, 48, 48, 96, 96, 96, 96][index]);
            let of = |rate| Setting { payload_bytes: payload, ..Setting::new(rate) };
            // 802.11a: DIFS 34 us, SIFS 16; 802.11g: 28 and 10, and 6 us of signal
            // extension after each PPDU (18.3.2.4).
            steady(of(Rate::Ofdm(rate)), 34_000 + data + 16_000 + response);
            steady(of(Rate::ErpOfdm(rate)), 28_000 + data + 16_000 + response + 6_000);
        }
    }
    for (rate, kbps) in DsssRate::ALL.into_iter().zip([1_000, 2_000, 5_500, 11_000]) {
        for payload in LENGTHS {
            let mpdu = u64::from(payload) + 28 + 8 + 24 + 4;
            // Long preamble and header take 192 us; the body a whole number of
            // microseconds (16.3.4).
            let long = |bytes: u64, kbps: u64| 192_000 + (8_000 * bytes).div_ceil(kbps) * 1_000;
            let exchange = long(mpdu, kbps) + 10_000 + long(14, kbps.min(2_000));
            let rate = Rate::Dsss { rate, preamble: Preamble::Long };
            let setting = Setting { payload_bytes: payload, ..Setting::new(rate) };
            // 802.11b: DIFS 50 us; 802.11g with short slots: 28 us.
            steady(Setting { standard: Standard::Dot11g, ..setting.clone() }, 28_000 + exchange);
            steady(setting, 50_000 + exchange);
        }
    }
}

/// Asserts that packets arrive every `period_ns` without backoff.
fn steady(setting: Setting, period_ns: u64) {
    let case = format!("{} {} {}", setting.standard, setting.rate, setting.payload_bytes);
    for pair in last_arrivals(setting, Duration::from_nanos(period_ns) * 7).windows(2) {
        assert_eq!((pair[1].end - pair[0].end).as_nanos(), period_ns, "{case}");
    }
}

#[test]
fn backoff_takes_seven_and_a_half_slots() {
    const PACKETS: u32 = 3_000;
    for mcs in [0, 3, 7, 15] {
        for (band, sifs, extension) in [(Band::Ghz5, 16_000, 0), (Band::Ghz2_4, 10_000, 6_000)] {
            let setting = Setting { band, beacons: false, ..Setting::new(ht(mcs, false, false)) };
            let data = ht_ns(1472 + 28 + 8 + 26 + 4, mcs, false, false) + extension;
            let ack = ofdm_ns(14, response_bits(mcs)) + extension;
            let period = sifs + 3 * 9_000 + 67_500 + data + sifs + ack;
            let time = Duration::from_nanos(period) * u64::from(PACKETS);
            let ours = setting.run(Seed::new(1, 0), Duration::from_millis(10), time).packets;
            // Four standard errors: a backoff of 0 to 15 slots of 9 us has a deviation
            // of 41.5 us.
            let n = f64::from(PACKETS);
            let tolerance = 4.0 * 41_500.0 / n.sqrt() / period as f64 + 1.0 / n;
            let off = (ours as f64 / n - 1.0).abs();
            assert!(off < tolerance, "MCS {mcs} {band}: {ours} packets for {PACKETS}");
        }
    }
}

/// A frame has seven attempts, with windows of 15 to 1023 slots; a failed attempt takes
/// the response timeout instead of the response.
#[test]
fn losses_cost_what_arithmetic_says() {
    let rate = ht(7, false, false);
    let model = ErrorModel::nist();
    for snr in [Db(23.0), Db(23.4), Db(24.0)] {
        let setting = Setting { place: Place::Equal(snr), beacons: false, ..Setting::new(rate) };
        let mpdu = 1472 + 28 + 8 + 26 + 4;
        let error = 1.0 - model.success(rate, snr, mpdu).as_f64();
        let data = ht_ns(u64::from(mpdu), 7, false, false) as f64;
        let success = SIFS_NS as f64 + ofdm_ns(14, 96) as f64;
        // SIFS, slot and aRxPHYStartDelay of OFDM (10.3.2.11, table 17-21).
        let timeout = 16_000.0 + 9_000.0 + 20_000.0;
        let (mut period, mut reached) = (0.0, 1.0);
        for attempt in 0..7 {
            let slots = f64::from((16_u32 << attempt) - 1) / 2.0;
            period += reached * (AIFS_NS as f64 + slots * 9_000.0 + data);
            period += reached * (error * timeout + (1.0 - error) * success);
            reached *= error;
        }
        // A frame is given up after the seventh attempt.
        let expected = (1.0 - reached) / period * 1e9 * 1472.0 * 8.0 / 1e6;
        let time = Duration::from_secs(10);
        let ours = setting.run(Seed::new(1, 0), Duration::from_millis(100), time);
        let ratio = ours.goodput_mbps / expected;
        assert!((ratio - 1.0).abs() < 0.02, "{snr}: PER {error}, ratio {ratio}");
        assert!((ours.mpdu_error_rate - error).abs() < 0.02, "{snr}: {}", ours.mpdu_error_rate);
    }
}

#[test]
fn contention_is_that_of_the_closed_forms() {
    let dcf = (Rate::Ofdm(OfdmRate::Mbps54), Counting::IdleSlots);
    for (rate, counting) in [dcf, (ht(7, false, false), Counting::BusySlotsToo)] {
        for rts in [false, true] {
            for stations in [2, 10, 25] {
                let setting = Setting {
                    stations,
                    direction: Direction::Uplink,
                    place: Place::Equal(Db(50.0)),
                    rts,
                    beacons: false,
                    ..Setting::new(rate)
                };
                let (warmup, time) = (Duration::from_secs(1), Duration::from_secs(3));
                let ours = setting.run(Seed::new(1, 0), warmup, time).goodput_mbps;
                let ratio = ours / predicted_mbps(&setting, counting);
                assert!((ratio - 1.0).abs() < 0.02, "{rate} RTS {rts} {stations}: {ratio}");
            }
        }
    }
}

/// Returns the scenario with two sets: the first of the second half of its stations is the access
/// point of the others, behind an idle wire.
fn in_two_sets(mut scenario: Scenario) -> Scenario {
    let cell = scenario.network.cell.as_mut().expect("it has a cell");
    let half = cell.stations.len() / 2;
    cell.stations[half].role = Role::AccessPoint;
    cell.stations[half..].iter_mut().for_each(|station| station.bss = BssId(1));
    cell.stations[half].beacon_offset = Duration::from_millis(60);
    let other = NodeId(half as u16);
    let direction = CableConfig::default();
    let directions = [direction.clone(), direction];
    scenario.network.wires.push(WiredLink { ends: [NodeId(0), other], directions });
    scenario.flows.retain(|flow| flow.from != other);
    for flow in scenario.flows.iter_mut().filter(|flow| flow.from > other) {
        flow.to = other;
    }
    scenario
}

/// Packets that arrived after a second, by node.
#[derive(Default)]
struct AtNodes(BTreeMap<NodeId, u64>);

impl Sink for AtNodes {
    fn arrived(&mut self, now: Instant, node: NodeId, _: &Packet) {
        if now >= Instant::ZERO + Duration::from_secs(1) {
            *self.0.entry(node).or_default() += 1;
        }
    }
}

/// Stations of two basic service sets that hear each other contend as those of one: together
/// what the closed form says of their sum, a half each.
#[test]
fn two_sets_share_as_the_closed_forms_say() {
    let dcf = (Rate::Ofdm(OfdmRate::Mbps54), Counting::IdleSlots);
    for (rate, counting) in [dcf, (ht(7, false, false), Counting::BusySlotsToo)] {
        for stations in [1, 5, 12] {
            let of = |stations| Setting {
                stations,
                direction: Direction::Uplink,
                place: Place::Equal(Db(50.0)),
                beacons: false,
                ..Setting::new(rate)
            };
            let seconds = 4;
            let (warmup, time) = (Duration::from_secs(1), Duration::from_secs(seconds));
            // One of them becomes the second access point.
            let scenario = in_two_sets(of(2 * stations + 1).scenario(warmup, time));
            let mut at = AtNodes::default();
            lasthop_sim::simulate(&scenario, Seed::new(1, 0), &mut at, &mut lasthop_sim::go_on)
                .expect("it runs");
            let packets: Vec<u64> = at.0.into_values().collect();
            let [one, other] = packets[..] else { panic!("two nodes receive: {packets:?}") };
            let bits = (one + other) as f64 * 1472.0 * 8.0;
            let expected = predicted_mbps(&of(2 * stations), counting);
            let ratio = bits / seconds as f64 / 1e6 / expected;
            assert!((ratio - 1.0).abs() < 0.02, "{rate}, {stations} in each: {ratio}");
            let share = one as f64 / (one + other) as f64;
            assert!((share - 0.5).abs() < 0.03, "{rate}, {stations} in each: {share}");
        }
    }
}

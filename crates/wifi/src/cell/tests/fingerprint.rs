//! Trajectory fingerprints: short runs of every mechanism, each reduced to one integer over all
//! outputs of the cell, the counters and the PPDUs. A change without effect on results alters none
//! of them; the commit message of any other change explains the difference.

use super::*;
use AccessCategory::{BestEffort, Video, Voice};
use lasthop_packet::AccessCategory;

/// Packets that every sender keeps queued.
const KEPT: u32 = 120;

/// FNV-1a over 64-bit words.
struct Hash(u64);

impl Hash {
    fn eat(&mut self, word: u64) {
        for byte in word.to_le_bytes() {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }

    fn all<const N: usize>(&mut self, words: [u64; N]) {
        words.into_iter().for_each(|word| self.eat(word));
    }

    fn output(&mut self, output: &Output) {
        let (kind, at, station, packet) = match output {
            Output::Delivered { at, station, packet } => (0, at, station, packet),
            Output::Dropped { at, station, packet, reason } => {
                (1 + *reason as u64, at, station, packet)
            }
            Output::GroupSent { at, station, packet } => (100, at, station, packet),
            Output::Overheard { .. } | Output::Attached { .. } => {
                unreachable!("nobody is promiscuous, or roams")
            }
        };
        let parts = packet.parts;
        self.eat(kind << 32 | u64::from(station.0));
        self.eat(at.as_nanos());
        self.eat(packet.tag << 1 | u64::from(packet.ecn_marked));
        self.eat(packet.arrived.as_nanos());
        let waits = [parts.queue, parts.contention, parts.retries, parts.air, parts.reorder];
        self.all(waits.map(Duration::as_nanos));
    }

    fn event(&mut self, event: &Event) {
        let Event::Ppdu(ppdu) = event else { return self.eat(7) };
        self.eat(ppdu.start.as_nanos());
        self.eat(ppdu.end.as_nanos());
        self.eat(u64::from(ppdu.transmitter.0) << 1 | u64::from(ppdu.psdus[0].collided));
        self.eat(u64::from(ppdu.psdus[0].bytes));
        for frame in ppdu.frames() {
            let flags = u64::from(frame.retry) << 1 | u64::from(frame.received);
            self.eat(u64::from(frame.sequence.as_u16()) << 2 | flags);
            self.eat(u64::from(frame.duration_us));
        }
    }

    fn counters(&mut self, cell: &mut Cell, now: Instant) {
        for station in (0..cell.stations() as u16).map(StationId) {
            let stats = cell.station_stats(now, station);
            self.eat(stats.queue_packets.total());
            self.eat(stats.queue_packets.mean().unwrap_or(0.0).to_bits());
            self.eat(u64::from(stats.queue_packets.quantile(0.9).unwrap_or(0)));
            self.all([stats.queue_drops, stats.airtime.as_nanos(), stats.beacons]);
            for peer in (0..cell.stations() as u16).map(StationId) {
                let Some(link) = cell.link_stats(station, Address::Station(peer)) else { continue };
                self.all([link.ppdus, link.mpdus, link.mpdu_retries, link.mpdus_acked]);
                self.all([link.mpdus_failed, link.mpdus_lost, link.collisions]);
                self.all([link.rts, link.block_ack_requests]);
                self.eat(link.data_airtime.as_nanos());
                self.eat(link.mpdus_per_ppdu.mean().unwrap_or(0.0).to_bits());
                link.ppdus_by_rate.iter().for_each(|(_, n)| self.eat(*n));
            }
        }
    }
}

type Flow = (StationId, Address, AccessCategory);

/// Runs 100 ms with and 200 ms without events; `flows` of one station take turns.
pub(super) fn fingerprint(mut config: CellConfig, flows: &[Flow], bytes: u16) -> u64 {
    let mut hash = Hash(0xcbf2_9ce4_8422_2325);
    for (record, millis) in [(true, 100), (false, 200)] {
        config.record_events = record;
        let mut cell = Cell::new(&config, Seed::new(11, millis)).expect("a sound cell");
        let mut tag = 0;
        let mut refill = |cell: &mut Cell, now, station| {
            let mine = flows.iter().filter(|(from, ..)| *from == station).cycle();
            for &(from, to, access_category) in mine {
                if cell.held_packets(from) >= KEPT {
                    break;
                }
                let length = bytes - (tag % 7) as u16 * 20;
                let packet = Packet::new(tag, length, now);
                let packet = Packet { access_category, flow_hash: tag as u32 % 5, ..packet };
                cell.handle_packet(now, from, to, packet);
                tag += 1;
            }
        };
        for station in 0..cell.stations() as u16 {
            refill(&mut cell, Instant::ZERO, StationId(station));
        }
        let mut now = Instant::ZERO;
        while let Some((at, _)) = cell.poll_timeout()
            && at <= Instant::ZERO + Duration::from_millis(millis)
        {
            now = at;
            cell.handle_timeout(now);
            while let Some(output) = cell.poll_output() {
                hash.output(&output);
            }
            while let Some(event) = cell.poll_event() {
                hash.event(&event);
            }
            while let Some(station) = cell.poll_space() {
                refill(&mut cell, now, station);
            }
        }
        hash.counters(&mut cell, now);
    }
    hash.0
}

fn fast() -> Rate {
    mcs(15, ChannelWidth::Mhz40, GuardInterval::Short)
}

fn slow() -> Rate {
    mcs(7, ChannelWidth::Mhz20, GuardInterval::Long)
}

fn narrow(stations: usize, ampdu: u32) -> CellConfig {
    cell(stations, slow(), ChannelWidth::Mhz20, ampdu)
}

fn uplink(stations: u16) -> Vec<Flow> {
    (1..=stations).map(|s| (StationId(s), Address::Station(AP), BestEffort)).collect()
}

fn downlink(stations: u16) -> Vec<Flow> {
    (1..=stations).map(|s| (AP, Address::Station(StationId(s)), BestEffort)).collect()
}

fn lossy(mut config: CellConfig, loss: f64) -> CellConfig {
    config.change_links(|pair| pair.link.loss = Probability::new(loss));
    config
}

#[test]
fn one_station() {
    let config = |ampdu| cell(1, fast(), ChannelWidth::Mhz40, ampdu);
    assert_eq!(fingerprint(config(65_535), &downlink(1), 1500), 0x0c17_3cd8_7600_27f1);
    assert_eq!(fingerprint(config(0), &downlink(1), 1500), 0x4304_8fa7_c0f0_6ee0);
    assert_eq!(
        fingerprint(config(65_535), &[uplink(1), downlink(1)].concat(), 700),
        0x397b_2091_581c_eb7c
    );
}

#[test]
fn contention() {
    assert_eq!(fingerprint(narrow(10, 65_535), &uplink(10), 1500), 0xe095_0f96_86c0_3ff8);
    assert_eq!(fingerprint(narrow(10, 0), &uplink(10), 1500), 0xab6c_b0c1_2272_a768);
    assert_eq!(fingerprint(narrow(40, 0), &uplink(40), 1500), 0xe4da_105b_6d8a_ea47);
    let flows = [uplink(6), downlink(6)].concat();
    assert_eq!(fingerprint(narrow(6, 65_535), &flows, 1000), 0x55e9_f3df_2acd_eacd);
}

#[test]
fn losses_retries_and_reordering() {
    let flows = [uplink(3), downlink(3)].concat();
    assert_eq!(fingerprint(lossy(narrow(3, 65_535), 0.3), &flows, 1200), 0xc660_1a58_b728_79fb);
    assert_eq!(fingerprint(lossy(narrow(3, 0), 0.3), &flows, 1200), 0xe25b_4f96_98b5_6066);
    let mut config = lossy(narrow(2, 65_535), 0.5);
    for station in &mut config.stations {
        station.retry_limit = 3;
        station.aggregation.amsdu_bytes_max = 3_839;
        station.block_ack.reorder_timeout = Duration::from_millis(2);
        station.block_ack.request = BlockAckRequestPolicy::AfterDrop;
    }
    assert_eq!(fingerprint(config, &[uplink(2), downlink(2)].concat(), 600), 0x5371_d9b5_30f9_70f5);
}

#[test]
fn signal_levels() {
    // Far apart, so that errors, capture and EIFS follow from the levels.
    let mut config = narrow(6, 65_535);
    config.change_links(|pair| {
        let step = f64::from(pair.from.0.max(pair.to.0));
        pair.link.snr = Db(29.0 - 2.5 * step);
        pair.link.fading = crate::phy::Fading::Rayleigh { doppler_hz: 30.0 };
    });
    assert_eq!(fingerprint(config.clone(), &uplink(6), 1500), 0x6083_2a06_1270_8dc3);
    for station in &mut config.stations {
        station.capabilities.rates =
            Rate::all_ht(ChannelWidth::Mhz20, GuardInterval::Long, 2).collect::<Vec<_>>();
        station.rate_control = RateControlConfig::minstrel_ht();
    }
    assert_eq!(
        fingerprint(config, &[uplink(6), downlink(6)].concat(), 1500),
        0xe6bd_49d4_f559_d8d7
    );
}

#[test]
fn request_to_send() {
    let mut config = lossy(narrow(8, 0), 0.1);
    config.stations.iter_mut().for_each(|station| station.rts_threshold = Some(1_450));
    assert_eq!(fingerprint(config.clone(), &uplink(8), 1500), 0xb645_a14c_069d_365f);
    config.stations.iter_mut().for_each(|s| s.aggregation.ampdu_bytes_max = 16_000);
    assert_eq!(fingerprint(config, &uplink(8), 1500), 0xa2ea_d8f9_b24c_083f);
}

#[test]
fn hidden_stations() {
    for (rts_threshold, expected) in
        [(None, 0xb17e_91d4_8d1b_59e7), (Some(500), 0x6980_ecf2_a143_fc26)]
    {
        let mut config = narrow(4, 16_000);
        config.change_links(|pair| {
            if pair.from != AP && pair.to != AP && (pair.from.0 + pair.to.0) % 2 == 1 {
                pair.link.snr = Db(-20.0);
            }
        });
        config.stations.iter_mut().for_each(|station| station.rts_threshold = rts_threshold);
        assert_eq!(fingerprint(config, &uplink(4), 1500), expected);
    }
}

#[test]
fn group_frames() {
    let mut flows = [uplink(3), downlink(3)].concat();
    flows.push((AP, Address::Group, BestEffort));
    assert_eq!(fingerprint(narrow(3, 65_535), &flows, 1000), 0x4eaa_55a8_0c5b_462e);
    assert_eq!(fingerprint(lossy(narrow(3, 0), 0.2), &flows, 1000), 0xe36a_4b52_77f6_209a);
}

#[test]
fn categories_and_opportunities() {
    let mut config = narrow(4, 16_000);
    for station in &mut config.stations {
        for (category, aifsn, cw_min, micros) in [(2, 2, 7, 3_008), (3, 2, 3, 1_504)] {
            station.access[category] = EdcaParameters {
                aifsn,
                cw_min,
                cw_max: 2 * cw_min + 1,
                txop_limit: Duration::from_micros(micros),
            };
        }
    }
    let mut flows = [uplink(4), downlink(4)].concat();
    for station in 1..=4 {
        flows.push((StationId(station), Address::Station(AP), Voice));
        flows.push((AP, Address::Station(StationId(station)), Video));
    }
    assert_eq!(fingerprint(config, &flows, 800), 0x04da_010e_3688_f659);
}

#[test]
fn queues() {
    let all = [
        (QueueConfig::MAC80211, DriverLimit::None, 0xf216_e832_9bb7_5b99),
        (
            QueueConfig::MAC80211,
            DriverLimit::Airtime(Duration::from_millis(5)),
            0xe228_b1ed_ff3e_61a3,
        ),
        (QueueConfig::RFC_8290, DriverLimit::Packets(64), 0x337e_484c_a433_162a),
        (QueueConfig::RFC_8289, DriverLimit::None, 0x7697_ca1b_ce6d_e769),
        (
            QueueConfig::DropTail { limit: Limit::Packets(500) },
            DriverLimit::Packets(16),
            0xd086_407b_f6c0_f09d,
        ),
    ];
    for (queue, driver_queue, expected) in all {
        let mut config = lossy(narrow(3, 32_000), 0.05);
        for station in &mut config.stations {
            station.queue = queue;
            station.driver_queue = driver_queue;
            station.msdu_lifetime = Some(Duration::from_millis(80));
        }
        let flows = [uplink(3), downlink(3)].concat();
        assert_eq!(fingerprint(config, &flows, 1400), expected, "{queue:?} {driver_queue:?}");
    }
}

#[test]
fn plain_dcf() {
    let rate = Rate::Ofdm(crate::phy::OfdmRate::Mbps54);
    let mut config = cell(5, rate, ChannelWidth::Mhz20, 0);
    config.standard = Standard::Dot11a;
    assert_eq!(fingerprint(config, &uplink(5), 1500), 0xabc5_9d37_a20d_2c9e);
}

/// Five stations, some far away, each way to acknowledge, both ways to receive.
#[test]
fn several_stations_at_once() {
    use super::ofdma::ofdma;
    use crate::cell::OfdmaAcknowledgement::{Aggregated, BlockAckRequest, MuBlockAckRequest};
    let all = [
        (BlockAckRequest, 0x26db_84e4_e88f_a36d),
        (MuBlockAckRequest, 0xeebe_2f49_f58f_6d25),
        (Aggregated, 0x10e1_5a15_36f1_2d15),
    ];
    let fingerprints = all.map(|(acknowledgement, expected)| {
        let mut config = ofdma(5, 7, 32, acknowledgement);
        config.change_links(|pair| {
            let far = pair.from.0.max(pair.to.0);
            pair.link.snr = Db(24.0 + f64::from(far));
        });
        config.stations[2].rx_interrupt = RxInterrupt::Mpdu;
        (fingerprint(config, &[downlink(5), uplink(1)].concat(), 1400), expected)
    });
    assert!(fingerprints.iter().all(|(found, expected)| found == expected), "{fingerprints:#x?}");
}

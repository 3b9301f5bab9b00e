//! Mean SNRs that change during the run.

use super::fingerprint::fingerprint;
use super::*;
use crate::air::{Air, Carried, Flight, Overlaps, Reduction};
use crate::phy::{Fading, SnrChange};
use lasthop_packet::AccessCategory;
use proptest::prelude::*;

const STATION: StationId = StationId(1);

fn change(millis: u64, snr: f64) -> SnrChange {
    SnrChange { at: Instant::ZERO + Duration::from_millis(millis), snr: Db(snr) }
}

/// An access point and a station, 30 dB apart, whose link has these changes.
fn two(changes: &[SnrChange]) -> CellConfig {
    let width = ChannelWidth::Mhz20;
    let mut config = cell(1, mcs(7, width, GuardInterval::Long), width, 65_535);
    config.change_links(|pair| {
        pair.link.snr = Db(30.0);
        pair.snr_changes = changes.to_vec();
    });
    config
}

/// Bytes that the access point delivers in each of `seconds`, saturated.
fn by_second(config: &CellConfig, seconds: u64) -> Vec<u64> {
    let mut cell = Cell::new(config, Seed::new(5, 0)).expect("a sound cell");
    let mut delivered = vec![0; seconds as usize];
    let mut now = Instant::ZERO;
    loop {
        while let Some(output) = cell.poll_output() {
            if let Output::Delivered { at, packet, .. } = output {
                let second = (at - Instant::ZERO) / Duration::from_secs(1);
                delivered[second as usize] += u64::from(packet.bytes);
            }
        }
        while cell.held_packets(AP) < 100 {
            let packet = Packet::new(0, 1500, now);
            cell.handle_packet(now, AP, Address::Station(STATION), packet);
        }
        now = cell.poll_timeout().expect("it is never idle").0;
        if now >= Instant::ZERO + Duration::from_secs(seconds) {
            return delivered;
        }
        cell.handle_timeout(now);
    }
}

#[test]
fn a_fixed_rate_fails_while_the_ratio_is_low() {
    let delivered = by_second(&two(&[change(1_000, 14.0), change(2_000, 30.0)]), 3);
    // 64-QAM 5/6 needs more than 20 dB, 14 dB carry nothing of it.
    assert!(delivered[0] > 5_000_000, "{delivered:?}");
    assert!(delivered[1] < 50_000, "{delivered:?}");
    assert!(delivered[2] > 5_000_000, "{delivered:?}");
}

#[test]
fn rate_control_follows_down_and_up() {
    let mut config = two(&[change(2_000, 14.0), change(4_000, 30.0)]);
    for rate_control in [RateControlConfig::minstrel_ht(), RateControlConfig::ideal()] {
        for station in &mut config.stations {
            station.capabilities.rates =
                Rate::all_ht(ChannelWidth::Mhz20, GuardInterval::Long, 1).collect::<Vec<_>>();
            station.rate_control = rate_control.clone();
        }
        let delivered = by_second(&config, 6);
        // MCS 3 or 4 of 7 bear 14 dB: 26 or 39 Mb/s, and 65.
        assert!((2_000_000..5_000_000).contains(&delivered[3]), "{delivered:?}");
        assert!(delivered[1] > 6_000_000 && delivered[5] > 6_000_000, "{delivered:?}");
    }
}

#[test]
fn levels_follow_when_the_next_ppdu_begins() {
    let config = two(&[change(10, 20.0)]);
    let mut air = Air::new(&config, Seed::new(1, 0)).expect("a sound cell");
    let noise = config.links.link(AP, StationId(1)).expect("a link").noise;
    let mut power_at = |millis: u64| {
        let start = Instant::ZERO + Duration::from_millis(millis);
        let flight = Flight {
            transmitter: AP,
            receiver: Address::Station(STATION),
            start,
            end: start + Duration::from_millis(1),
            rate: mcs(0, ChannelWidth::Mhz20, GuardInterval::Long),
            psdu_bytes: 100,
            reserves_until: start,
            carried: Carried::Ack,
            overlaps: Overlaps::NONE,
            reduction: Reduction::NONE,
        };
        air.begin(flight.clone());
        assert_eq!(air.snr(&flight, STATION), if millis < 10 { Db(30.0) } else { Db(20.0) });
        air.mean_power(&flight, STATION).expect("two stations")
    };
    assert!((power_at(9) - (noise + Db(30.0))).0.abs() < 1e-9);
    assert!((power_at(10) - (noise + Db(20.0))).0.abs() < 1e-9);
}

/// Below the level of carrier sense a PPDU makes the medium busy for nobody, and a change that
/// crosses it applies to whole PPDUs.
#[test]
fn carrier_sense_changes_with_the_next_ppdu() {
    // -94 dBm of noise and 11 dB are below -82 dBm.
    let config = two(&[change(10, 20.0), change(20, 11.0), change(30, 13.0)]);
    assert!(config.varies() && !two(&[change(10, 20.0)]).varies());
    let mut air = Air::new(&config, Seed::new(1, 0)).expect("a sound cell");
    for (millis, is_new, is_sensed) in
        [(9, false, true), (10, true, true), (19, false, true), (20, true, false), (30, true, true)]
    {
        let now = Instant::ZERO + Duration::from_millis(millis);
        assert_eq!(air.refresh_listeners(AP, now), is_new, "{millis} ms");
        assert_eq!(air.listeners(AP) == [STATION], is_sensed, "{millis} ms");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]
    #[test]
    fn the_same_ratio_again_changes_nothing(
        at in proptest::collection::btree_set(0_u64..250_000_000, 1..5),
        doppler_hz in prop::option::of(1.0..50.0),
        minstrel in any::<bool>(),
    ) {
        let width = ChannelWidth::Mhz20;
        let mut config = cell(3, mcs(2, width, GuardInterval::Long), width, 65_535);
        if minstrel {
            for station in &mut config.stations {
                station.capabilities.rates = Rate::all_ht(width, GuardInterval::Long, 1).collect::<Vec<_>>();
                station.rate_control = RateControlConfig::minstrel_ht();
            }
        }
        config.change_links(|pair| {
            pair.link.snr = Db(22.0 - 3.0 * f64::from(pair.from.0.max(pair.to.0)));
            pair.link.fading =
                doppler_hz.map_or(Fading::None, |doppler_hz| Fading::Rayleigh { doppler_hz });
        });
        let best_effort = AccessCategory::BestEffort;
        let mut flows = Vec::new();
        for station in (1..=3).map(StationId) {
            flows.push((station, Address::Station(AP), best_effort));
            flows.push((AP, Address::Station(station), best_effort));
        }
        let steady = fingerprint(config.clone(), &flows, 1500);
        config.change_links(|pair| {
            let snr = pair.link.snr;
            let same = |&nanos: &u64| SnrChange { at: Instant::from_nanos(nanos), snr };
            pair.snr_changes = at.iter().map(same).collect();
        });
        prop_assert_eq!(fingerprint(config, &flows, 1500), steady);
    }
}

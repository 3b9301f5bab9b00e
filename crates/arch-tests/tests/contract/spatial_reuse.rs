//! [`Cell`] with two or three basic service sets of 802.11ax that reuse the air: colours, OBSS-PD
//! levels and powers at random, so that wake-ups at the end of HE-SIG-A are among all others; the
//! sets are on one channel of 80 MHz or on several that overlap.
//! Every packet is delivered or dropped, once, and not before its time.

use crate::{one_in, pause};
use lasthop_arch_tests::contract::Driver;
use lasthop_packet::Packet;
use lasthop_units::{Db, Dbm, Duration, Identity, Instant, Meters, Seed};
use lasthop_wifi::cell::{
    BandwidthAccess, Cell, CellConfig, ObssPd, OperatingChannel, Output, PairConfig, Role,
    StationConfig,
};
use lasthop_wifi::phy::{
    Band, ChannelWidth, HeGuardInterval, LinkConfig, Propagation, Rate, Standard, Subchannel,
};
use lasthop_wifi::{Address, BssId, StationId};
use proptest::prelude::*;
use std::collections::BTreeSet;

/// Sets of an access point and a station.
fn config(
    sets: u16,
    snrs: &[f64],
    levels: &[Option<f64>],
    colours: &[u8],
    (channels, rts): (&[(u8, bool)], bool),
) -> CellConfig {
    let rate = Rate::he(3, 1, ChannelWidth::Mhz80, HeGuardInterval::Ns800Ltf2x, false);
    let rate = rate.expect("a rate");
    let propagation = Propagation::in_band(Band::Ghz5, ChannelWidth::Mhz80);
    let usual = propagation.link(Dbm(20.0), Meters(2.0), Db(0.0));
    let stations = (0..2 * sets).map(|number| {
        let role = if number % 2 == 0 { Role::AccessPoint } else { Role::Station };
        let identity = Identity::numbered(number.into());
        let mut station = StationConfig::fixed(role, identity, rate);
        station.bss = BssId(number / 2);
        station.beacon_offset = Duration::from_millis(u64::from(number / 2 * 17 % 100));
        station.rts_threshold = rts.then_some(500);
        let level = levels[usize::from(number) % levels.len()];
        station.obss_pd = level.map(|level| ObssPd {
            level: Dbm(level),
            tx_power: Dbm(20.0),
            tx_power_reference: ObssPd::tx_power_reference(role, 1),
        });
        station
    });
    let mut pairs = Vec::new();
    for (from, to) in (0..2 * sets).flat_map(|from| (0..2 * sets).map(move |to| (from, to))) {
        let place = usize::from(from.min(to) * 6 + from.max(to));
        let snr = Db(snrs[place % snrs.len()]);
        let link = if from / 2 == to / 2 { usual } else { LinkConfig { snr, ..usual } };
        if from != to {
            pairs.push(PairConfig::steady(StationId(from), StationId(to), link));
        }
    }
    let mut config = CellConfig::new(Standard::Dot11ax, Band::Ghz5, stations.collect(), pairs);
    config.colours = colours.to_vec();
    let channel = |&(place, waits): &(u8, bool)| OperatingChannel {
        primary: Subchannel::from_number(Band::Ghz5, 36 + 4 * place).expect("it exists"),
        access: if waits { BandwidthAccess::Static } else { BandwidthAccess::Dynamic },
        ..OperatingChannel::default()
    };
    config.channels = channels.iter().map(channel).collect();
    config
}

proptest! {
    #![proptest_config(one_in(16))]
    #[test]
    fn keeps_the_contract(
        sets in 2..4u16,
        snrs in prop::collection::vec(-30.0..45.0f64, 36),
        levels in prop::collection::vec(prop::option::weighted(0.8, -82.0..-62.0f64), 6),
        colours in prop::collection::vec(0..4u8, 3),
        channels in prop_oneof![
            Just(Vec::new()),
            prop::collection::vec((0..8u8, any::<bool>()), 3),
        ],
        rts in any::<bool>(),
        work in prop::collection::vec(
            (pause(Duration::from_millis(10)), 0..6u16, 40..1_500u16, 1..12), 1..60),
    ) {
        let config = config(sets, &snrs, &levels, &colours, (&channels, rts));
        let mut driver = Driver::new(Cell::new(&config, Seed::new(1, 0)).expect("a sound cell"));
        let (mut ended, mut sent) = (BTreeSet::new(), 0);
        let mut drain = |now: Instant, cell: &mut Cell| {
            while let Some(output) = cell.poll_output() {
                let (Output::Delivered { at, packet, .. } | Output::Dropped { at, packet, .. }) =
                    output
                else {
                    panic!("not for a group: {output:?}")
                };
                assert!(at <= now, "it came before its time: {output:?}");
                assert!(ended.insert(packet.tag), "it ended before: {output:?}");
            }
            while cell.poll_space().is_some() {}
        };
        for (pause, from, bytes, packets) in work {
            pause.pass(&mut driver, &mut drain);
            let (now, from) = (driver.now(), from % (2 * sets));
            for _ in 0..packets {
                let to = Address::Station(StationId(from ^ 1));
                let packet = Packet::new(sent, bytes, now);
                driver.machine.handle_packet(now, StationId(from), to, packet);
                sent += 1;
            }
        }
        driver.pause(Duration::from_secs(10), &mut drain);
        prop_assert_eq!(ended.len() as u64, sent, "every packet comes to an end");
    }
}

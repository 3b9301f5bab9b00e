//! Punctured channels: rates and durations by hand, neighbours on what a set leaves out, RUs beside
//! it, and the widths that dynamic access has left. The judges are closed forms, and runs in which
//! the neighbour is silent.

use super::bandwidth::{NEIGHBOUR, is_data, ppdus, sets, width};
use super::bss::{DEAF, trajectory, uplink};
use super::ofdma::{ALL, add_up, any_cell, downlink, ofdma};
use super::ofdma_eht::{instants, mixed, of_be, symbols};
use super::*;
use crate::air::{Air, Carried, Flight, Overlaps, Reduction};
use crate::event::Ppdu;
use crate::phy::{HeGuardInterval, Puncturing, RuSize, Subchannel};
use alloc::vec::Vec;
use proptest::prelude::*;

const GI: HeGuardInterval = HeGuardInterval::Ns800Ltf2x;

fn eht(mcs: u8, width: ChannelWidth) -> Rate {
    Rate::eht(mcs, 1, width, GI).expect("a rate")
}

/// Lets the first set, of this width, leave these channels out, by their places from the lowest.
fn puncture(config: &mut CellConfig, places: u16, width: ChannelWidth) {
    if config.channels.is_empty() {
        config.channels = alloc::vec![OperatingChannel::default()];
    }
    config.channels[0].puncturing =
        Puncturing::of_subchannels(places, width).expect("the standard has it");
    config.puncture();
}

/// Two sets of 802.11be, the first around channel 36, the second on this one, all as loud as can be.
fn two(first: ChannelWidth, number: u8, second: ChannelWidth) -> CellConfig {
    let mut config = sets(&[(36, eht(5, first)), (number, eht(5, second))], Dbm(-40.0), 16_000);
    config.standard = Standard::Dot11be;
    config.record_events = false;
    config
}

/// A set on what another leaves out has the trajectory that it has alone, and so has the other;
/// beside that they share the channel.
#[test]
fn a_neighbour_on_a_punctured_channel_is_none() {
    use ChannelWidth::{Mhz20, Mhz40, Mhz80, Mhz160, Mhz320};
    for (first, places, other, is_apart) in [
        (Mhz80, 0b1000, (48, Mhz20), true),
        (Mhz80, 0b0010, (40, Mhz20), true),
        (Mhz80, 0b1000, (44, Mhz20), false),
        (Mhz80, 0b1000, (48, Mhz40), false),
        (Mhz160, 0b0011_0000, (52, Mhz40), true),
        (Mhz160, 0b0011_0000, (56, Mhz20), true),
        (Mhz160, 0b1000_0000, (60, Mhz40), false),
        (Mhz160, 0b0000_0010, (40, Mhz20), true),
    ] {
        assert_ne!(first, Mhz320);
        let mut both = two(first, other.0, other.1);
        puncture(&mut both, places, first);
        let mut alone = both.clone();
        alone.change_links(|pair| {
            if pair.from.0 / 2 != pair.to.0 / 2 {
                pair.link.snr = DEAF;
            }
        });
        let senders = uplink(&both);
        let expected = trajectory(&alone, &senders);
        assert!(expected.len() > 500, "only {} packets", expected.len());
        let found = trajectory(&both, &senders) == expected;
        assert_eq!(found, is_apart, "{first} {places:b} {other:?}");
    }
}

/// The data subcarriers of what is left, the preamble of EHT, and the SNR of all power on fewer
/// channels; interference as far as it falls on them.
#[test]
fn rates_and_levels_by_hand() {
    let width = ChannelWidth::Mhz80;
    let mut config = two(width, 44, ChannelWidth::Mhz20);
    config.record_events = true;
    puncture(&mut config, 0b1000, width);
    let rate = config.stations[0].capabilities.rates[0];
    // 468 + 234 subcarriers; MCS 5 has 4 bits of 6 on each.
    assert_eq!(rate.data_bits_per_symbol(), 702 * 4);
    let sent = ppdus(&config, &[(Instant::ZERO + Duration::from_millis(1), AP)]);
    let data = sent.iter().find(|ppdu| is_data(ppdu)).expect("it is sent");
    // Up to U-SIG, a symbol of EHT-SIG, EHT-STF, EHT-LTF; one subframe of 1 542 bytes.
    let expected = 32_000 + 4_000 + 4_000 + 7_200 + 13_600 * symbols(702, 4, 4 + 1_538);
    assert_eq!((data.end - data.start).as_nanos(), expected);
    let mut air = Air::new(&config, Seed::new(1, 0)).expect("a sound cell");
    let flight = |transmitter, rate| Flight {
        transmitter,
        receiver: Address::Group,
        start: Instant::ZERO,
        end: Instant::ZERO + Duration::from_millis(1),
        rate,
        psdu_bytes: 100,
        reserves_until: Instant::ZERO,
        carried: Carried::Payload,
        overlaps: Overlaps::NONE,
        reduction: Reduction::NONE,
    };
    let own = flight(AP, rate);
    let gain = air.snr(&own, StationId(1)) - Db(45.0);
    assert!((gain.as_linear() - 4.0 / 3.0).abs() < 1e-9, "{gain}");
    let narrow = air.snr(&flight(NEIGHBOUR, eht(5, ChannelWidth::Mhz20)), StationId(3));
    assert!(((narrow - Db(45.0)).as_linear() - 4.0).abs() < 1e-9);
}

/// Stations, RUs with data subcarriers (the largest first), and symbols of EHT-SIG.
type Shares = (usize, &'static [(RuSize, u8, u64)], u64);

/// 60 of 80 MHz are 40 and 20 MHz, for two stations; for more the largest is halved. Of 320 MHz less
/// 40 MHz, two have 160 and 80 MHz.
#[test]
fn rus_lie_beside_what_is_punctured() {
    use RuSize::{Tones2x996, Tones106, Tones242, Tones484, Tones996};
    let of_80: [Shares; 3] = [
        // 17 + 18 + 10 + 32: one in each content channel.
        (2, &[(Tones484, 1, 468), (Tones242, 3, 234)], 1),
        // 17 + 18 + 10 + 54.
        (3, &[(Tones242, 1, 234), (Tones242, 2, 234), (Tones242, 3, 234)], 1),
        (
            4,
            &[(Tones242, 2, 234), (Tones242, 3, 234), (Tones106, 1, 102), (Tones106, 2, 102)],
            // Three in one: 17 + 18 + 10 + 54 + 32.
            2,
        ),
    ];
    let of_320: [Shares; 2] = [
        // 17 + 72 + 20 + 32.
        (2, &[(Tones2x996, 2, 1960), (Tones996, 2, 980)], 2),
        (3, &[(Tones2x996, 2, 1960), (Tones996, 2, 980), (Tones484, 2, 468)], 2),
    ];
    for (width, places, shares) in
        [(ChannelWidth::Mhz80, 0b1000, &of_80[..]), (ChannelWidth::Mhz320, 0b11, &of_320[..])]
    {
        for &(stations, rus, of_signal) in shares {
            for acknowledgement in ALL {
                let mut config = of_be(ofdma(stations, 7, 3, acknowledgement), 7, width);
                let own = if width == ChannelWidth::Mhz80 { 1 } else { 61 };
                let primary = Subchannel::from_number(Band::Ghz6, own).expect("it exists");
                config.channels =
                    alloc::vec![OperatingChannel { primary, ..OperatingChannel::default() }];
                puncture(&mut config, places, width);
                let (ppdus, _) = downlink(&config, 20, 1_500, Duration::from_millis(50));
                let mut together = 0;
                for (index, ppdu) in ppdus.iter().enumerate() {
                    if ppdu.psdus.len() < stations {
                        continue;
                    }
                    let mut longest = 0;
                    for (psdu, &(size, place, subcarriers)) in ppdu.psdus.iter().zip(rus) {
                        let ru = psdu.ru.expect("an RU");
                        assert_eq!((ru.size(), ru.index()), (size, place));
                        longest = longest.max(symbols(subcarriers, 5, psdu.bytes.into()));
                    }
                    let expected = 32_000 + 4_000 * of_signal + 4_000 + 7_200 + 13_600 * longest;
                    let found = instants(&ppdus, index, 1).expect("it is there")[0].1;
                    assert_eq!(found, expected, "{stations} stations of {width}");
                    together += 1;
                }
                assert!(together > 10, "{stations} stations of {width}: {together}");
            }
        }
    }
}

/// 160 MHz without 44 and 48 have no PPDU of 80 MHz: beside a neighbour on 52, 40 MHz remain.
#[test]
fn widths_without_such_a_ppdu_are_passed_over() {
    let (width_of_set, other) = (ChannelWidth::Mhz160, (52, ChannelWidth::Mhz20));
    let mut config = two(width_of_set, other.0, other.1);
    config.record_events = true;
    puncture(&mut config, 0b1100, width_of_set);
    let at = |us: u64| Instant::ZERO + Duration::from_micros(us);
    let packets: Vec<_> = (0..400)
        .flat_map(|n| [(at(1_000 + 311 * n), AP), (at(1_100 + 733 * n), NEIGHBOUR)])
        .collect();
    let sent = ppdus(&config, &packets);
    let own: Vec<&Ppdu> =
        sent.iter().filter(|ppdu| ppdu.transmitter == AP && is_data(ppdu)).collect();
    let count = |of| own.iter().filter(|ppdu| width(ppdu) == of).count();
    let counts = ChannelWidth::ALL_EHT.map(count);
    let [mhz20, mhz40, mhz80, mhz160, mhz320] = counts;
    assert_eq!((mhz20, mhz80, mhz320), (0, 0, 0), "{counts:?}");
    assert!(mhz40 > 20 && mhz160 > 20, "{counts:?}");
    let is_right = |ppdu: &&Ppdu| match ppdu.psdus[0].rate {
        Rate::Eht { puncturing, width, .. } => {
            puncturing.is_none() == (width == ChannelWidth::Mhz40)
        }
        _ => false,
    };
    assert!(own.iter().all(is_right));
}

/// Older stations have what is whole around the primary channel; what covers a punctured channel is
/// no configuration.
#[test]
fn what_is_left_for_whom() {
    let config = mixed(ofdma(4, 7, 3, ALL[0]), ChannelWidth::Mhz160);
    let at = |place: u16| {
        let mut config = config.clone();
        puncture(&mut config, 1 << place, ChannelWidth::Mhz160);
        Cell::new(&config, Seed::new(1, 0)).expect("a sound cell");
        [1, 2].map(|station: usize| config.stations[station].capabilities.width())
    };
    // The primary channel is the lowest.
    for (place, older) in
        [(7, ChannelWidth::Mhz80), (3, ChannelWidth::Mhz40), (1, ChannelWidth::Mhz20)]
    {
        assert_eq!(at(place), [ChannelWidth::Mhz160, older]);
    }
    let mut config = config;
    config.channels = alloc::vec![OperatingChannel::default()];
    config.channels[0].puncturing =
        Puncturing::of_subchannels(0b10, ChannelWidth::Mhz160).expect("a pattern");
    assert_eq!(Cell::new(&config, Seed::new(1, 0)).err(), Some(CellError::Punctured(0)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Every packet is delivered once or lost with a reason, whatever is left out, with stations of
    /// all generations.
    #[test]
    fn packets_and_mpdus_add_up(
        config in any_cell(),
        value in 1u8..=24,
        solicits in any::<bool>(),
        packets in proptest::collection::vec((0u64..20_000, 0u16..9, 40u16..1_500, any::<bool>()), 1..200),
    ) {
        for width in [ChannelWidth::Mhz80, ChannelWidth::Mhz160, ChannelWidth::Mhz320] {
            let Some(puncturing) = Puncturing::new(value, width) else { continue };
            let ofdma = config.stations[AP.index()].ofdma;
            let mut config = mixed(config.clone(), width);
            let uplink = solicits.then(|| super::uplink::silent(None));
            config.stations[AP.index()].ofdma = ofdma.map(|it| OfdmaConfig { uplink, ..it });
            let bits = puncturing.subchannels(width);
            let free = (0..16).find(|place| bits >> place & 1 == 0).expect("some are left");
            let lowest = Subchannel::from_number(Band::Ghz6, 1).expect("it exists");
            let primary = lowest.at_place(free, width);
            config.channels =
                alloc::vec![OperatingChannel { primary, ..OperatingChannel::default() }];
            puncture(&mut config, bits, width);
            add_up(&config, &packets)?;
        }
    }
}

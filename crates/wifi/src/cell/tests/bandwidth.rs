//! Sets on different channels: their effect on each other, and the width of PPDUs that begin while
//! a secondary channel is busy. The judges are accounts to the nanosecond, closed forms, and a
//! second analysis of the events of random cells.

use super::bss::{DEAF, trajectory, uplink};
use super::ofdma::{ALL, he, ofdm_24, symbols};
use super::*;
use crate::cell::{BandwidthAccess, OperatingChannel};
use crate::event::{Event, FrameKind, Ppdu};
use crate::phy::Subchannel;
use crate::station::BssId;
use proptest::prelude::*;

pub(super) const NEIGHBOUR: StationId = StationId(2);
const SECOND: Duration = Duration::from_secs(1);

pub(super) fn vht(mcs: u8, width: ChannelWidth) -> Rate {
    Rate::vht(mcs, 1, width, GuardInterval::Long).expect("it exists")
}

pub(super) fn at_channel(number: u8, access: BandwidthAccess) -> OperatingChannel {
    let primary = Subchannel::from_number(Band::Ghz5, number).expect("it exists");
    OperatingChannel { primary, access, ..OperatingChannel::default() }
}

pub(super) fn dynamic(numbers: &[u8]) -> Vec<OperatingChannel> {
    numbers.iter().map(|&number| at_channel(number, BandwidthAccess::Dynamic)).collect()
}

/// Sets of an access point and a station each, on these channels at these rates. Links within a set
/// have 45 dB; all others arrive at this level, with the noise of 80 MHz.
pub(super) fn sets(of: &[(u8, Rate)], level: Dbm, ampdu: u32) -> CellConfig {
    let mut config = cell(2 * of.len() - 1, of[0].1, ChannelWidth::Mhz80, ampdu);
    config.standard = Standard::Dot11ac;
    config.beacon_interval = None;
    config.record_events = true;
    config.channels = dynamic(&of.iter().map(|(number, _)| *number).collect::<Vec<_>>());
    for (index, (station, number)) in config.stations.iter_mut().zip(0..).enumerate() {
        let role = if index % 2 == 0 { Role::AccessPoint } else { Role::Station };
        *station = super::station(role, of[index / 2].1, ampdu);
        station.bss = BssId(number / 2);
        station.identity = Identity::numbered(number.into());
    }
    config.change_links(|pair| {
        let is_inside = pair.from.0 / 2 == pair.to.0 / 2;
        pair.link.snr = if is_inside { Db(45.0) } else { level - pair.link.noise };
    });
    config
}

/// Packets of 1 500 bytes: the instant, and the access point that sends to its station.
pub(super) fn ppdus(config: &CellConfig, packets: &[(Instant, StationId)]) -> Vec<Ppdu> {
    let mut cell = Cell::new(config, Seed::new(1, 0)).expect("a sound cell");
    let mut packets = packets.to_vec();
    packets.sort_unstable_by_key(|(at, _)| *at);
    let mut events = Vec::new();
    let mut packets = packets.into_iter().peekable();
    loop {
        let due = cell.due();
        match packets.next_if(|(at, _)| *at <= due) {
            Some((at, from)) => {
                cell.handle_timeout(at);
                let to = Address::Station(StationId(from.0 + 1));
                cell.handle_packet(at, from, to, Packet::new(0, 1_500, at));
            }
            None if due < Instant::MAX => cell.handle_timeout(due),
            None => break,
        }
        while let Some(event) = cell.poll_event() {
            if let Event::Ppdu(ppdu) = event {
                events.push(ppdu);
            }
        }
    }
    events
}

pub(super) fn is_data(ppdu: &Ppdu) -> bool {
    matches!(ppdu.psdus[0].frames[..], [ref first, ..] if matches!(first.kind, FrameKind::QosData { .. }))
}

pub(super) fn width(ppdu: &Ppdu) -> ChannelWidth {
    ppdu.psdus[0].rate.width()
}

pub(super) fn us(us: u64) -> Duration {
    Duration::from_micros(us)
}

pub(super) const NS: Duration = Duration::from_nanos(1);

/// A packet of 1 500 bytes is 12 358 bits with SERVICE and tail at VHT-MCS 7 of one stream (1 170,
/// 540 and 260 bits a symbol of 4 us, behind 40 us): 84, 132 and 232 us. The neighbour's exchange
/// ends with an Ack of 28 us; a TXOP has the secondary channels that were idle for PIFS, 25 us.
#[test]
fn a_secondary_channel_is_idle_for_pifs_to_the_nanosecond() {
    use ChannelWidth::{Mhz20, Mhz40, Mhz80};
    let begin = Instant::ZERO + us(1_000);
    for (neighbour, narrow, narrow_us) in [(40, Mhz20, 232), (44, Mhz40, 132), (48, Mhz40, 132)] {
        let config = sets(&[(36, vht(7, Mhz80)), (neighbour, vht(7, Mhz20))], Dbm(-72.0), 0);
        let end = begin + us(232 + 16 + 28);
        let whole = (Mhz80, 84);
        let narrow = (narrow, narrow_us);
        for (at, expected) in [
            // Whoever begins at the same instant is not sensed.
            (begin, whole),
            (begin + NS, narrow),
            (begin + us(240), narrow),
            (end, narrow),
            (end + us(25) - NS, narrow),
            (end + us(25), whole),
        ] {
            let all = ppdus(&config, &[(begin, NEIGHBOUR), (at, AP)]);
            let own = all.iter().find(|ppdu| ppdu.transmitter == AP).expect("it sends");
            assert_eq!(own.start, at, "{neighbour}");
            let duration = own.end - own.start;
            assert_eq!((width(own), duration), (expected.0, us(expected.1)), "{neighbour} {at:?}");
            let answer = all.iter().find(|ppdu| ppdu.transmitter == NEIGHBOUR);
            assert_eq!(answer.map(|it| it.start), Some(begin));
        }
    }
}

/// The levels are -72 dBm for 20 and 40 MHz, -69 dBm for 80 MHz, and -62 dBm for a station of
/// 802.11n.
#[test]
fn a_secondary_channel_is_busy_from_its_level_on() {
    use ChannelWidth::{Mhz20, Mhz40, Mhz80, Mhz160};
    let ht = |width| mcs(7, width, GuardInterval::Long);
    let begin = Instant::ZERO + us(1_000);
    for (own, (number, theirs), level, narrow) in [
        (vht(7, Mhz80), (40, vht(7, Mhz20)), -72.0, Mhz20),
        (vht(7, Mhz80), (48, vht(7, Mhz40)), -72.0, Mhz40),
        (vht(7, Mhz160), (52, vht(7, Mhz80)), -69.0, Mhz80),
        (vht(7, Mhz160), (60, vht(7, Mhz40)), -72.0, Mhz80),
        (ht(Mhz40), (40, ht(Mhz20)), -62.0, Mhz20),
    ] {
        for (above, expected) in [(0.0, narrow), (-0.001, own.width())] {
            let config = sets(&[(36, own), (number, theirs)], Dbm(level + above), 0);
            let all = ppdus(&config, &[(begin, NEIGHBOUR), (begin + us(60), AP)]);
            let sent = all.iter().find(|ppdu| ppdu.transmitter == AP).expect("it sends");
            assert_eq!(width(sent), expected, "{own} {theirs} {above}");
        }
    }
}

/// Static access begins a new backoff of 0 to 15 slots at the next slot boundary, with an unchanged
/// window, until the whole channel is idle; frames of 20 MHz do not wait.
#[test]
fn static_access_backs_off_until_the_whole_channel_is_idle() {
    use ChannelWidth::{Mhz20, Mhz80};
    let begin = Instant::ZERO + us(1_000);
    let mut config = sets(&[(36, vht(7, Mhz80)), (44, vht(7, Mhz20))], Dbm(-60.0), 0);
    config.channels[0] = at_channel(36, BandwidthAccess::Static);
    let idle = begin + us(232 + 16 + 28 + 25);
    let mut slots_seen = alloc::collections::BTreeSet::new();
    for early in 1..200u64 {
        let at = idle - us(early);
        let all = ppdus(&config, &[(begin, NEIGHBOUR), (at, AP)]);
        let own = all.iter().find(|ppdu| ppdu.transmitter == AP).expect("it sends");
        let waited = own.start - at;
        assert_eq!(width(own), Mhz80);
        assert!(own.start >= idle, "{early}");
        assert_eq!(waited.as_nanos() % 9_000, 0, "{waited:?}");
        let slots = waited.as_nanos() / 9_000;
        // Each further backoff takes a slot at least and 16 at most.
        assert!((1..=early.div_ceil(9) + 16).contains(&slots), "{early} {slots}");
        slots_seen.insert(slots - early.div_ceil(9));
    }
    assert!(slots_seen.len() > 3, "{slots_seen:?}");
    let fixed = config.stations[0].clone();
    config.stations[0].rate_control = RateControlConfig::Fixed { rate: vht(7, Mhz20) };
    let all = ppdus(&config, &[(begin, NEIGHBOUR), (begin + us(10), AP)]);
    // The first one is not known to need less.
    let own = all.iter().find(|ppdu| ppdu.transmitter == AP).expect("it sends");
    assert_eq!(width(own), Mhz20);
    assert_ne!(fixed, config.stations[0]);
}

/// A neighbour sends all the time and senses no other set. The cycle has data (232 us), SIFS, Ack
/// (28 us), AIFS (43 us) and 7.5 slots on average. A packet of another set at a random time finds
/// its channel idle for PIFS in 43 + 67.5 - 25 us.
#[test]
fn the_share_of_widths_is_that_of_the_idle_time() {
    use ChannelWidth::{Mhz20, Mhz40, Mhz80};
    for (number, narrow) in [(40, Mhz20), (44, Mhz40)] {
        let mut config = sets(&[(36, vht(7, Mhz80)), (number, vht(7, Mhz20))], Dbm(-60.0), 0);
        config.record_events = false;
        config.change_links(|pair| {
            let is_heard = pair.from.0 / 2 == pair.to.0 / 2 || pair.from.0 >= 2 && pair.to == AP;
            if !is_heard {
                pair.link.snr = DEAF;
            }
        });
        let mut cell = Cell::new(&config, Seed::new(1, 3)).expect("a sound cell");
        let packets = 12_000;
        let mut now = Instant::ZERO;
        for tag in 0..packets {
            // Each exchange is long over, and the neighbour has been through three cycles.
            let next = Instant::ZERO + Duration::from_nanos(1_173_259) * tag;
            while cell.due() < next {
                while cell.held_packets(NEIGHBOUR) < 20 {
                    let packet = Packet::new(0, 1_500, now);
                    cell.handle_packet(now, NEIGHBOUR, Address::Station(StationId(3)), packet);
                }
                now = cell.due();
                cell.handle_timeout(now);
                while cell.poll_output().is_some() {}
            }
            now = next;
            let to = Address::Station(StationId(1));
            cell.handle_packet(now, AP, to, Packet::new(tag, 1_500, now));
        }
        let stats = cell.link_stats(AP, Address::Station(StationId(1))).expect("it sent");
        let of = |width| {
            let rates = stats.ppdus_by_rate.iter().filter(|(rate, _)| rate.width() == width);
            rates.map(|(_, count)| *count as f64).sum::<f64>()
        };
        let share = of(Mhz80) / stats.ppdus as f64;
        let expected = (43.0 + 67.5 - 25.0) / (232.0 + 16.0 + 28.0 + 43.0 + 67.5);
        assert!((share - expected).abs() < 0.012, "{number}: {share}, expected {expected}");
        assert_eq!(of(Mhz80) + of(narrow), stats.ppdus as f64);
        assert_eq!(stats.mpdu_retries, 0, "responses are received on the primary channel");
    }
}

/// Channels without overlap: each set has the trajectory that it has alone, however strong the
/// other one is.
#[test]
fn sets_apart_do_not_know_of_each_other() {
    use ChannelWidth::{Mhz20, Mhz40, Mhz80};
    for (own, other) in [
        ((36, Mhz20), (40, Mhz20)),
        ((36, Mhz40), (44, Mhz40)),
        ((36, Mhz80), (52, Mhz80)),
        ((44, Mhz20), (36, Mhz40)),
        ((149, Mhz80), (36, Mhz80)),
    ] {
        let of = |set: (u8, ChannelWidth)| (set.0, vht(5, set.1));
        let mut both = sets(&[of(own), of(other)], Dbm(-40.0), 16_000);
        both.record_events = false;
        let mut alone = both.clone();
        alone.change_links(|pair| {
            if pair.from.0 / 2 != pair.to.0 / 2 {
                pair.link.snr = DEAF;
            }
        });
        alone.channels.clear();
        let senders = uplink(&both);
        let expected = trajectory(&alone, &senders);
        assert!(expected.len() > 500, "only {} packets", expected.len());
        assert!(trajectory(&both, &senders) == expected, "{own:?} {other:?}");
        let mut same = both.clone();
        same.channels = dynamic(&[44, 44]);
        assert!(trajectory(&same, &senders) != expected, "on the same channel they share it");
    }
}

/// If all sets are on one channel, its number and the kind of access do not matter.
#[test]
fn one_channel_is_as_any_other() {
    let rate = vht(5, ChannelWidth::Mhz80);
    let mut config = sets(&[(36, rate), (36, rate)], Dbm(-70.0), 16_000);
    config.channels.clear();
    let events = |config: &CellConfig| {
        let mut cell = Cell::new(config, Seed::new(1, 0)).expect("a sound cell");
        saturate_up_to(60, &mut cell, &uplink(config), SECOND, 1_000);
        core::iter::from_fn(move || cell.poll_event()).collect::<Vec<_>>()
    };
    let expected = events(&config);
    for number in [36, 48, 157] {
        for access in [BandwidthAccess::Dynamic, BandwidthAccess::Static] {
            config.channels = vec![at_channel(number, access); 2];
            assert!(events(&config) == expected, "{number} {access:?}");
        }
    }
}

/// Interference from a hidden neighbour falls on its part of the channel: PPDUs of 80 MHz are lost
/// to it, those of the 40 MHz beside it are not.
#[test]
fn interference_falls_on_what_it_covers() {
    use ChannelWidth::{Mhz20, Mhz40, Mhz80};
    for (width, is_hit) in [(Mhz20, false), (Mhz40, false), (Mhz80, true)] {
        let mut config = sets(&[(36, vht(4, width)), (48, vht(7, Mhz20))], Dbm(-50.0), 0);
        config.record_events = false;
        config.change_links(|pair| {
            let is_heard = pair.from.0 / 2 == pair.to.0 / 2
                || pair.from == NEIGHBOUR && pair.to == StationId(1);
            if !is_heard {
                pair.link.snr = DEAF;
            }
        });
        let mut cell = Cell::new(&config, Seed::new(1, 0)).expect("a sound cell");
        let peers =
            [(AP, Address::Station(StationId(1))), (NEIGHBOUR, Address::Station(StationId(3)))];
        saturate_up_to(20, &mut cell, &peers, SECOND, 1_500);
        let stats = cell.link_stats(AP, peers[0].1).expect("it sent");
        let lost = stats.mpdu_retries as f64 / stats.mpdus as f64;
        assert_eq!(lost > 0.5, is_hit, "{width}: {lost}");
        assert_eq!(lost == 0.0, !is_hit, "{width}: {lost}");
    }
}

/// The station hears a neighbour that its access point does not. The CTS and the data are as wide
/// as the channel that was idle for PIFS before the RTS, to the nanosecond; with static access a
/// narrower CTS is not sent. An RTS and a CTS take 28 us at 24 Mb/s.
#[test]
fn a_cts_says_what_is_idle_at_the_receiver() {
    use ChannelWidth::{Mhz20, Mhz40, Mhz80};
    let begin = Instant::ZERO + us(1_000);
    let mut config = sets(&[(36, vht(7, Mhz80)), (44, vht(7, Mhz20))], Dbm(-60.0), 0);
    config.stations[0].rts_threshold = Some(1);
    config.change_links(|pair| {
        if (pair.from, pair.to) == (NEIGHBOUR, AP) || (pair.from, pair.to) == (StationId(3), AP) {
            pair.link.snr = DEAF;
        }
    });
    let end = begin + us(232 + 16 + 28);
    for (at, expected) in
        [(begin, Mhz80), (begin + NS, Mhz40), (end + us(25) - NS, Mhz40), (end + us(25), Mhz80)]
    {
        let all = ppdus(&config, &[(begin, NEIGHBOUR), (at, AP)]);
        let own: Vec<_> = all.iter().filter(|it| it.transmitter == AP && is_data(it)).collect();
        assert_eq!(width(own[0]), expected, "{at:?}");
        // Whoever begins together with the RTS is sensed by nobody.
        assert_eq!(own.len(), if at == begin { 2 } else { 1 });
        assert_eq!(own[0].start, at + us(28 + 16 + 28 + 16));
        let duration = if expected == Mhz80 { 84 } else { 132 };
        assert_eq!(own[0].end - own[0].start, us(duration));
    }
    config.channels[0] = at_channel(36, BandwidthAccess::Static);
    let all = ppdus(&config, &[(begin, NEIGHBOUR), (begin + us(40), AP)]);
    let own: Vec<_> = all.iter().filter(|ppdu| ppdu.transmitter.0 < 2).collect();
    let is_rts = |ppdu: &&&Ppdu| ppdu.psdus[0].frames[0].kind == FrameKind::Rts;
    let tries = own.iter().take_while(is_rts).count();
    assert!(tries > 1, "{tries}");
    assert!(own[tries - 1].start >= end + us(25) && own[tries - 2].start < end + us(25));
    assert_eq!((own.len(), width(own[tries + 1])), (tries + 3, Mhz80));
}

/// With RTS and CTS a hidden neighbour destroys almost no frame, and narrowed A-MPDUs last no
/// longer than the RTS announced.
#[test]
fn rts_and_cts_protect_from_what_only_the_receiver_hears() {
    use ChannelWidth::{Mhz20, Mhz40, Mhz80};
    let mut config = sets(&[(36, vht(4, Mhz80)), (48, vht(7, Mhz20))], Dbm(-50.0), 20_000);
    for access in &mut config.stations[2].access {
        access.cw_min = 1;
    }
    config.change_links(|pair| {
        if pair.from.0 >= 2 && pair.to == AP {
            pair.link.snr = DEAF;
        }
    });
    let [without, with] = [None, Some(1)].map(|threshold| {
        config.stations[0].rts_threshold = threshold;
        let mut cell = Cell::new(&config, Seed::new(1, 0)).expect("a sound cell");
        let peers =
            [(AP, Address::Station(StationId(1))), (NEIGHBOUR, Address::Station(StationId(3)))];
        saturate_up_to(60, &mut cell, &peers, SECOND, 1_500);
        let stats = cell.link_stats(AP, peers[0].1).expect("it sent").clone();
        let mut all: Vec<Ppdu> = Vec::new();
        while let Some(event) = cell.poll_event() {
            if let Event::Ppdu(ppdu) = event
                && ppdu.transmitter.0 < 2
            {
                all.push(ppdu);
            }
        }
        all.sort_unstable_by_key(|ppdu| ppdu.start);
        for pair in all.windows(3) {
            let [rts, cts, data] = pair else { unreachable!("they are three") };
            if rts.psdus[0].frames[0].kind != FrameKind::Rts || !is_data(data) {
                continue;
            }
            assert_eq!(cts.start, rts.end + us(16));
            let said = rts.psdus[0].frames[0].duration_us;
            let last = data.end + us(16 + 32) - rts.end;
            assert!(
                last <= us(u64::from(said)) || data.psdus[0].frames.len() == 1,
                "{said} {last:?}"
            );
        }
        stats
    });
    let lost = |stats: &crate::stats::LinkStats| stats.mpdu_retries as f64 / stats.mpdus as f64;
    assert!(lost(&without) > 0.3, "{}", lost(&without));
    assert!(lost(&with) < 0.02, "{}", lost(&with));
    let narrow: u64 = with
        .ppdus_by_rate
        .iter()
        .filter(|(rate, _)| rate.width() == Mhz40)
        .map(|(_, ppdus)| *ppdus)
        .sum();
    assert!(narrow * 2 > with.ppdus, "{narrow} of {}", with.ppdus);
    assert!(with.ppdus_by_rate.iter().all(|(rate, _)| rate.width() != Mhz20));
}

/// Later PPDUs of a TXOP are no wider than its first, although the neighbour has stopped sending.
#[test]
fn the_width_does_not_grow_in_a_txop() {
    use ChannelWidth::{Mhz20, Mhz40, Mhz80};
    let begin = Instant::ZERO + us(1_000);
    let mut config = sets(&[(36, vht(7, Mhz80)), (44, vht(7, Mhz20))], Dbm(-60.0), 0);
    for access in &mut config.stations[0].access {
        access.txop_limit = us(3_008);
    }
    let at = begin + us(250);
    let packets: Vec<_> = (0..30).map(|_| (at, AP)).chain([(begin, NEIGHBOUR)]).collect();
    let all = ppdus(&config, &packets);
    let own: Vec<_> = all.iter().filter(|ppdu| ppdu.transmitter == AP && is_data(ppdu)).collect();
    // Data, SIFS, an Ack of 28 us and SIFS until the next: 192 us.
    let gap = |pair: &[&Ppdu]| pair[1].start - pair[0].end;
    let last = own.windows(2).position(|pair| gap(pair) > us(16 + 28 + 16));
    let last = last.expect("a second TXOP") + 1;
    assert_eq!((last, own.len()), (15, 30));
    assert!(own[..last].iter().all(|ppdu| width(ppdu) == Mhz40));
    assert!(own[last..].iter().all(|ppdu| width(ppdu) == Mhz80));
}

/// Sets like those of [`sets`], of 802.11ax, whose access points send to two stations at once: 0, 1
/// and 4 are one set, 2, 3 and 5 the other.
pub(super) fn pairs(
    of: [(u8, ChannelWidth); 2],
    level: Dbm,
    how: OfdmaAcknowledgement,
) -> CellConfig {
    let [one, other] = of.map(|(number, width)| (number, he(7, width)));
    let mut config = sets(&[one, other, one], level, 1_600);
    config.standard = Standard::Dot11ax;
    config.channels.truncate(2);
    config.stations[4].role = Role::Station;
    config.stations[4].bss = BssId(0);
    let identity = config.stations[5].identity;
    config.stations[5] = StationConfig { identity, bss: BssId(1), ..config.stations[3].clone() };
    let set = |station: StationId| [0, 0, 1, 1, 0, 1][station.index()];
    config.change_links(|pair| {
        let is_inside = set(pair.from) == set(pair.to);
        pair.link.snr = if is_inside { Db(45.0) } else { level - pair.link.noise };
    });
    for access_point in [0, 2] {
        config.stations[access_point].ofdma = Some(OfdmaConfig {
            stations_max: 2,
            acknowledgement: how,
            guard_interval: crate::phy::HeGuardInterval::Ns800Ltf2x,
            uplink: None,
        });
    }
    config
}

/// HE MU PPDUs, and the PPDUs after them, are as wide as the idle channel. Each of two stations
/// gets one MPDU of 1 538 bytes with its delimiter, on RUs of 484, 242 and 106 tones in 80, 40 and
/// 20 MHz.
#[test]
fn a_ppdu_to_several_takes_what_is_idle() {
    use ChannelWidth::{Mhz20, Mhz40, Mhz80};
    let at = |us_: u64| Instant::ZERO + us(us_);
    for (how, (neighbour, idle, subcarriers)) in ALL.into_iter().flat_map(|how| {
        [(40, Mhz20, 102), (44, Mhz40, 234), (48, Mhz40, 234), (52, Mhz80, 468)].map(|it| (how, it))
    }) {
        let config = pairs([(36, Mhz80), (neighbour, Mhz20)], Dbm(-60.0), how);
        let mut cell = Cell::new(&config, Seed::new(1, 0)).expect("a sound cell");
        // First the agreements; then the neighbour begins, alone to one station.
        let begin = at(30_000);
        let packets = [
            (at(1_000), AP, 1),
            (at(3_000), AP, 4),
            (at(5_000), NEIGHBOUR, 3),
            (begin, NEIGHBOUR, 3),
            (begin + us(50), AP, 1),
            (begin + us(50), AP, 4),
        ];
        let mut all: Vec<Ppdu> = Vec::new();
        let mut packets = packets.into_iter().peekable();
        loop {
            let due = cell.due();
            match packets.next_if(|(at, ..)| *at <= due) {
                Some((at, from, to)) => {
                    // Two that come at once are there before anything is sent.
                    if cell.due() < at {
                        cell.handle_timeout(at);
                    }
                    let packet = Packet::new(0, 1_500, at);
                    cell.handle_packet(at, from, Address::Station(StationId(to)), packet);
                }
                None if due < Instant::MAX => cell.handle_timeout(due),
                None => break,
            }
            while let Some(event) = cell.poll_event() {
                if let Event::Ppdu(ppdu) = event {
                    all.push(ppdu);
                }
            }
        }
        let first = all.iter().position(|ppdu| ppdu.transmitter == AP && ppdu.start >= begin);
        let sent = &all[first.expect("it sends")];
        assert_eq!((sent.start, sent.psdus.len()), (begin + us(50), 2), "{neighbour} {how:?}");
        // With a Trigger frame of 37 bytes in each PSDU: padding and another delimiter.
        let psdu = match how {
            OfdmaAcknowledgement::Aggregated => 4 + 1_538 + 2 + 4 + 37,
            _ => 4 + 1_538,
        };
        let header = 32_000 + 4_000 + 4_000 + 7_200;
        let expected = Duration::from_nanos(header + 13_600 * symbols(subcarriers, 5, psdu));
        assert_eq!(sent.end - sent.start, expected, "{neighbour} {how:?}");
        assert!(sent.psdus.iter().all(|psdu| psdu.rate.width() == idle));
        let behind: Vec<_> = all
            .iter()
            .filter(|ppdu| ppdu.start >= sent.end && ![2, 3, 5].contains(&ppdu.transmitter.0))
            .collect();
        let (answers, asked) = match how {
            OfdmaAcknowledgement::BlockAckRequest => (&behind[..0], sent.end),
            OfdmaAcknowledgement::MuBlockAckRequest => {
                let trigger = behind[0];
                let kind = trigger.psdus[0].frames[0].kind;
                assert!(
                    matches!(kind, FrameKind::MuBlockAckRequest { width, .. } if width == idle),
                    "{kind:?}"
                );
                assert_eq!(trigger.start, sent.end + us(16));
                // Of two users, 28 + 2 * 9 bytes.
                assert_eq!(trigger.end, trigger.start + us(ofdm_24(46)));
                (&behind[1..3], trigger.end)
            }
            OfdmaAcknowledgement::Aggregated => (&behind[..2], sent.end),
        };
        for answer in answers {
            assert_eq!((answer.start, width(answer)), (asked + us(16), idle));
            assert!(answer.psdus[0].ru.is_some());
        }
        let delivered = |to: u16| {
            let link = cell.link_stats(AP, Address::Station(StationId(to))).expect("it sent");
            (link.mpdus_acked, link.mpdu_retries)
        };
        assert_eq!([1, 4].map(delivered), [(2, 0); 2]);
    }
}

/// Channels as bits, by the numbers of annex E.
pub(super) fn bits(number: u8, width: ChannelWidth) -> u8 {
    let place = (number - 36) / 4;
    match width {
        ChannelWidth::Mhz20 => 1 << place,
        ChannelWidth::Mhz40 => 0b11 << (place & !1),
        ChannelWidth::Mhz80 => 0b1111 << (place & !3),
        ChannelWidth::Mhz160 | ChannelWidth::Mhz320 => 0xff,
    }
}

/// A PPDU of a set: the set of its transmitter, its span, and its channels.
struct Seen {
    set: usize,
    start: Instant,
    end: Instant,
    bits: u8,
    is_data: bool,
}

/// Packets that each sender delivered in a short time, and the number of PPDUs.
fn acked(config: &CellConfig, seed: u64, senders: &[(StationId, Address)]) -> Vec<(u64, u64)> {
    let mut cell = Cell::new(config, Seed::new(1, seed)).expect("a sound cell");
    saturate_up_to(30, &mut cell, senders, Duration::from_millis(60), 1_200);
    let of = |&(from, to): &(StationId, Address)| {
        cell.link_stats(from, to).map_or((0, 0), |link| (link.mpdus_acked, link.ppdus))
    };
    senders.iter().map(of).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// A data PPDU covers no channel that its transmitter sensed busy within PIFS, and all those
    /// that it sensed idle; a permutation of sets and stations changes no result.
    #[test]
    fn no_ppdu_covers_what_was_busy(
        of in proptest::collection::vec((0u8..8, 0usize..3, any::<bool>()), 2..5),
        level in -80.0..-50.0f64,
        seed in 0u64..1_000,
        rts in any::<bool>(),
    ) {
        use ChannelWidth::{Mhz20, Mhz40, Mhz80};
        let rates: Vec<(u8, Rate)> = of
            .iter()
            .map(|&(place, width, _)| (36 + 4 * place, vht(4, [Mhz20, Mhz40, Mhz80][width])))
            .collect();
        let mut config = sets(&rates, Dbm(level), 8_000);
        config.capture_margin = None;
        config.carrier_sense = Dbm(-82.0);
        for (set, &(place, _, is_static)) in of.iter().enumerate() {
            let access =
                if is_static { BandwidthAccess::Static } else { BandwidthAccess::Dynamic };
            config.channels[set] = at_channel(36 + 4 * place, access);
        }
        if rts {
            config.stations.iter_mut().for_each(|station| station.rts_threshold = Some(1_000));
        }
        let senders = uplink(&config);
        let mut cell = Cell::new(&config, Seed::new(1, seed)).expect("a sound cell");
        saturate_up_to(30, &mut cell, &senders, Duration::from_millis(60), 1_200);
        let mut seen: Vec<Seen> = Vec::new();
        while let Some(event) = cell.poll_event() {
            let Event::Ppdu(ppdu) = event else { continue };
            let set = usize::from(ppdu.transmitter.0 / 2);
            let own = width(&ppdu);
            // A control frame is as wide as the PPDU of its exchange.
            let is_control = matches!(
                ppdu.psdus[0].frames[0].kind,
                FrameKind::Rts | FrameKind::Cts | FrameKind::Ack | FrameKind::BlockAck { .. }
            );
            seen.push(Seen {
                set,
                start: ppdu.start,
                end: ppdu.end,
                bits: if is_control { 0 } else { bits(rates[set].0, own) },
                is_data: is_data(&ppdu),
            });
        }
        seen.sort_unstable_by_key(|it| (it.set, it.start));
        for index in 0..seen.len() {
            if seen[index].bits != 0 {
                continue;
            }
            let set = seen[index].set;
            // What it answers, or what follows an RTS and a CTS.
            let is_of = |other: &&Seen| other.set == set && other.bits != 0;
            let before = index.checked_sub(1).map(|before| &seen[before]).filter(is_of);
            let is_answer = before.is_some_and(|it| seen[index].start == it.end + us(16));
            let after = seen[index + 1..].iter().take(2).find(is_of);
            seen[index].bits = match (is_answer, before, after) {
                (true, Some(before), _) => before.bits,
                (_, _, Some(after)) => after.bits,
                _ => bits(rates[set].0, Mhz20),
            };
        }
        let mut checked = 0;
        // What is still on the air at the end is not among the events: it may be 5.5 ms old.
        let known = Instant::ZERO + us(54_000);
        for own in seen.iter().filter(|it| it.is_data && !rts && it.start < known) {
            let (number, rate) = rates[own.set];
            let primary = bits(number, Mhz20);
            let busy = seen.iter().filter(|other| {
                other.set != own.set
                    && other.bits & primary == 0
                    && other.start < own.start
                    && other.end + us(25) > own.start
                    && level >= -72.0
            });
            let busy = busy.fold(0, |all, other| all | other.bits);
            prop_assert_eq!(own.bits & busy, 0, "{:?}", rates);
            let widest = [Mhz80, Mhz40, Mhz20].into_iter().filter(|width| *width <= rate.width());
            let mut widest = widest.map(|width| bits(number, width));
            prop_assert_eq!(widest.find(|it| it & busy == 0), Some(own.bits));
            checked += 1;
        }
        prop_assert!(checked > 0 || rts || seen.is_empty(), "{} PPDUs", seen.len());

        // The same cell, its sets and their nodes in the opposite order.
        let last = config.stations.len() as u16 - 1;
        let turned = |id: StationId| StationId(last - id.0);
        let mut reversed = config.clone();
        reversed.stations.reverse();
        for station in &mut reversed.stations {
            station.bss = BssId(of.len() as u16 - 1 - station.bss.0);
        }
        reversed.channels.reverse();
        let links = config.links.iter().map(|pair| PairConfig {
            from: turned(pair.from),
            to: turned(pair.to),
            ..pair
        });
        reversed.links = alloc::sync::Arc::new(Links::new(config.stations.len(), links));
        let back: Vec<_> = senders
            .iter()
            .map(|&(from, to)| match to {
                Address::Station(to) => (turned(from), Address::Station(turned(to))),
                Address::Group => unreachable!("they send to their access points"),
            })
            .collect();
        prop_assert_eq!(acked(&config, seed, &senders), acked(&reversed, seed, &back));
    }

    /// The same for PPDUs to several stations and for later PPDUs of their TXOPs: no data of a set
    /// overlaps a channel on which it sensed data within PIFS.
    #[test]
    fn no_ppdu_to_several_covers_what_was_busy(
        (one, other) in (0u8..4, 0u8..4),
        (how, txop) in (0usize..3, any::<bool>()),
        seed in 0u64..1_000,
        narrow in any::<bool>(),
    ) {
        use ChannelWidth::{Mhz20, Mhz80};
        let widths = [Mhz80, if narrow { Mhz20 } else { Mhz80 }];
        let of = [(36 + 4 * one, widths[0]), (36 + 4 * other, widths[1])];
        let mut config = pairs(of, Dbm(-60.0), ALL[how]);
        if txop {
            for access in &mut config.stations[0].access {
                access.txop_limit = us(4_096);
            }
        }
        let mut cell = Cell::new(&config, Seed::new(1, seed)).expect("a sound cell");
        let mut seen = Vec::new();
        let mut tag = 0;
        let mut now = Instant::ZERO;
        while now < Instant::ZERO + us(80_000) {
            for (from, both) in [(0, [1, 4]), (2, [3, 5])] {
                let from = StationId(from);
                if cell.held_packets(from) < 12 {
                    for to in both.map(|to| Address::Station(StationId(to))) {
                        cell.handle_packet(now, from, to, Packet::new(tag, 1_500, now));
                        tag += 1;
                    }
                }
            }
            while cell.poll_output().is_some() {}
            while let Some(event) = cell.poll_event() {
                if let Event::Ppdu(ppdu) = event {
                    seen.push(ppdu);
                }
            }
            now = cell.due();
            cell.handle_timeout(now);
        }
        // Two stations are sent to at once, also while they share their 80 MHz with others.
        let is_mu = |ppdu: &&Ppdu| ppdu.psdus.len() == 2;
        prop_assert!(seen.iter().filter(is_mu).count() > 20, "{} PPDUs", seen.len());
        let set = |ppdu: &Ppdu| usize::from(ppdu.transmitter == NEIGHBOUR);
        let data: Vec<&Ppdu> = seen.iter().filter(|ppdu| is_data(ppdu)).collect();
        for own in &data {
            let (number, _) = of[set(own)];
            let primary = bits(number, Mhz20);
            let busy = data.iter().filter(|other| {
                set(other) != set(own)
                    && bits(of[set(other)].0, width(other)) & primary == 0
                    && other.start < own.start
                    && other.end + us(25) > own.start
            });
            let busy = busy.fold(0, |all, other| all | bits(of[set(other)].0, width(other)));
            prop_assert_eq!(bits(number, width(own)) & busy, 0, "{:?}", own.start);
        }
    }
}

//! [`Medium`] with two to four radios, some of which do not hear each other, and with any
//! frames, series, refusals and withdrawals: every frame is settled once unless it is withdrawn,
//! tried no more often than its series says, and received only while it is not settled.

use crate::pause;
use lasthop_arch_tests::contract::Driver;
use lasthop_packet::AccessCategory;
use lasthop_units::{Db, Duration, Identity, Instant, Probability, Seed, SeqNo12};
use lasthop_wifi::cell::{CellConfig, EdcaParameters, PairConfig, Role, StationConfig};
use lasthop_wifi::medium::{
    Channel, FrameAgreement, Medium, MediumOutput, Response, STAGES, Series, Stage, TxFrame,
};
use lasthop_wifi::phy::{
    Band, ChannelWidth, Fading, GuardInterval, OfdmRate, Propagation, Rate, Standard,
};
use lasthop_wifi::{Address, StationId};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// An action of a driver.
#[derive(Clone, Debug)]
enum Work {
    Send {
        from: u16,
        to: u16,
        bytes: u32,
        category: usize,
        covered: bool,
        series: Series,
    },
    Withdraw {
        which: usize,
    },
    /// Makes `radio` refuse received frames, or accept them again.
    Listen {
        radio: u16,
        takes: bool,
    },
}

fn rate() -> impl Strategy<Value = Rate> {
    let (width, guard_interval) = (ChannelWidth::Mhz20, GuardInterval::Short);
    prop_oneof![
        Just(Rate::Ofdm(OfdmRate::Mbps6)),
        (0..16u8).prop_map(move |mcs| Rate::Ht { mcs, width, guard_interval }),
    ]
}

fn series() -> impl Strategy<Value = Series> {
    prop::collection::vec((rate(), 1..5u8, any::<bool>()), 1..=STAGES).prop_map(|stages| {
        let mut series = Series::default();
        for (slot, (rate, tries, rts)) in series.iter_mut().zip(stages) {
            *slot = Some(Stage { rate, tries, rts });
        }
        series
    })
}

fn work() -> impl Strategy<Value = Work> {
    // Receiver 4 is the group, 5 nobody.
    let send = (0..4u16, 0..6u16, 14..4_000u32, 0..5usize, any::<bool>(), series());
    prop_oneof![
        12 => send.prop_map(|(from, to, bytes, category, covered, series)| {
            Work::Send { from, to, bytes, category, covered, series }
        }),
        1 => (0..50usize).prop_map(|which| Work::Withdraw { which }),
        1 => (0..4u16, any::<bool>()).prop_map(|(radio, takes)| Work::Listen { radio, takes }),
    ]
}

fn config(radios: u16, hidden: bool, loss: Option<f64>, promiscuous: bool) -> CellConfig {
    let propagation = Propagation::in_band(Band::Ghz5, ChannelWidth::Mhz20);
    let mut links = Vec::new();
    for from in 0..radios {
        for to in (0..radios).filter(|to| *to != from) {
            let is_hidden = hidden && from > 0 && to > 0;
            let mut link = match loss {
                Some(loss) if !is_hidden => {
                    propagation.link_with_loss(Probability::new(loss).expect("in range"))
                }
                _ => propagation.link_with_snr(Db(if is_hidden { -30.0 } else { 22.0 })),
            };
            if loss.is_none() {
                link.fading = Fading::Rayleigh { doppler_hz: 20.0 };
            }
            links.push(PairConfig::steady(StationId(from), StationId(to), link));
        }
    }
    let voice =
        EdcaParameters { aifsn: 2, cw_min: 3, cw_max: 7, txop_limit: Duration::from_micros(1_504) };
    let stations = (0..radios).map(|number| {
        let role = if number == 0 { Role::AccessPoint } else { Role::Station };
        let identity = Identity::numbered(number.into());
        let rate =
            Rate::Ht { mcs: 15, width: ChannelWidth::Mhz20, guard_interval: GuardInterval::Short };
        let mut station = StationConfig::fixed(role, identity, rate);
        station.access[AccessCategory::Voice.index()] = voice;
        station.promiscuous = promiscuous && number == 1;
        station
    });
    CellConfig::new(Standard::Dot11n, Band::Ghz5, stations.collect(), links)
}

proptest! {
    #[test]
    fn medium(
        radios in 2..5u16,
        (hidden, promiscuous) in any::<(bool, bool)>(),
        loss in prop::option::of(0.0..0.9f64),
        script in prop::collection::vec((work(), pause(Duration::from_millis(20))), 1..60),
    ) {
        let channel = Channel { band: Band::Ghz5, mhz: 5_180 };
        let config = config(radios, hidden, loss, promiscuous);
        let medium = Medium::new(&config, channel, Seed::new(1, 0)).expect("a sound setting");
        let mut driver = Driver::new(medium);
        let mut open: BTreeMap<u64, (StationId, TxFrame)> = BTreeMap::new();
        let mut takes = [true; 4];
        let mut sequences: BTreeMap<(u16, u16, u8), u16> = BTreeMap::new();
        let mut next_tag = 0u64;
        let end = Work::Listen { radio: 0, takes: true };
        // Long enough for the longest series of all frames, one after the other.
        let rest = crate::Pause { length: Duration::from_secs(60), late: false };
        for (work, pause) in script.into_iter().chain([(end, rest)]) {
            match work {
                Work::Send { from, to, bytes, category, covered, series } => {
                    let from = from % radios;
                    let to = match to {
                        4 => Some(Address::Group),
                        5 => None,
                        to if to % radios == from => continue,
                        to => Some(Address::Station(StationId(to % radios))),
                    };
                    let tid = category.min(3) as u8;
                    let agreement = match to {
                        Some(Address::Station(to)) if covered => {
                            let next = sequences.entry((from, to.0, tid)).or_insert(4_090);
                            let sequence = SeqNo12::new(*next % 4_096);
                            *next += 1;
                            Some(FrameAgreement { tid, sequence })
                        }
                        _ => None,
                    };
                    let frame = TxFrame {
                        tag: next_tag,
                        to,
                        bytes,
                        category: AccessCategory::ALL.get(category).copied(),
                        response: (to != Some(Address::Group)).then_some(Response::Ack),
                        agreement,
                        series,
                    };
                    next_tag += 1;
                    let now = driver.now();
                    open.insert(frame.tag, (StationId(from), frame));
                    driver.machine.handle_frame(now, StationId(from), frame);
                }
                Work::Withdraw { which } => {
                    if let Some((&tag, &(from, _))) = open.iter().nth(which) {
                        let now = driver.now();
                        driver.machine.handle_withdrawal(now, from, tag);
                        // What is on the air may still be received, but is not settled.
                        open.remove(&tag);
                    }
                }
                Work::Listen { radio, takes: listens } => takes[usize::from(radio)] = listens,
            }
            let mut last = Instant::ZERO;
            pause.pass(&mut driver, |now, medium| {
                while let Some(output) = medium.poll_output() {
                    match output {
                        MediumOutput::Received { at, from, tag, station, addressed, .. } => {
                            assert!(last <= at && at <= now, "{at} at {now}");
                            last = at;
                            assert_ne!(from, station);
                            if let Some((_, frame)) = open.get(&tag) {
                                let is_for_it = match frame.to {
                                    Some(Address::Station(to)) => to == station,
                                    Some(Address::Group) => true,
                                    None => false,
                                };
                                assert_eq!(addressed, is_for_it);
                            }
                            if !takes[station.index()] {
                                medium.handle_refusal(from, tag);
                            }
                        }
                        MediumOutput::Settled { at, from, tag, acknowledged, tries, .. } => {
                            assert!(last <= at && at <= now);
                            let (owner, frame) = open.remove(&tag).expect("settled once");
                            assert_eq!(owner, from);
                            for (stage, tries) in frame.series.iter().zip(tries) {
                                let most = stage.map_or(0, |stage| stage.tries);
                                assert!(tries <= most, "{tries} of {most}");
                                if !acknowledged {
                                    assert_eq!(tries, most, "it was given up early");
                                }
                            }
                            assert!(!acknowledged || frame.to.is_some());
                        }
                    }
                }
            });
        }
        prop_assert!(open.is_empty(), "never settled: {open:?}");
    }
}

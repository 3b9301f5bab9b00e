//! Findings for captures that are made here, byte by byte: each kind has a capture that shows it,
//! and similar ones that must not show it.

use lasthop_capture::analysis::Analysis;
use lasthop_capture::document::CaptureDocument;
use lasthop_capture::file::Capture;
use lasthop_capture::finding::Kind;
use std::io::Cursor;

/// Address of station `number`.
fn address(number: u8) -> [u8; 6] {
    [2, 0, 0, 0, 0, number]
}

/// Metadata of a frame: channel, level, and its rate in 500 kb/s or MCS.
#[derive(Clone, Copy)]
struct Heard {
    mhz: u16,
    dbm: i8,
    rate: Rate,
}

#[derive(Clone, Copy)]
enum Rate {
    Legacy(u8),
    Ht(u8),
}

const AT_2_4: Heard = Heard { mhz: 2_412, dbm: -50, rate: Rate::Legacy(2) };
const AT_5: Heard = Heard { mhz: 5_180, dbm: -50, rate: Rate::Legacy(12) };

impl Heard {
    fn radiotap(self) -> Vec<u8> {
        let Self { mhz, dbm, rate } = self;
        let [m0, m1] = mhz.to_le_bytes();
        let dbm = dbm.cast_unsigned();
        match rate {
            // Rate, channel, level.
            Rate::Legacy(rate) => {
                vec![0, 0, 15, 0, 0x2c, 0, 0, 0, rate, 0, m0, m1, 0, 0, dbm]
            }
            // Channel, level, MCS: width, index and guard interval are known.
            Rate::Ht(mcs) => {
                vec![0, 0, 16, 0, 0x28, 0, 8, 0, m0, m1, 0, 0, dbm, 0x07, 0, mcs]
            }
        }
    }
}

/// A capture that is being made: frames and times in us.
#[derive(Default)]
struct Made {
    packets: Vec<(u64, Vec<u8>)>,
}

impl Made {
    fn push(&mut self, at_us: u64, heard: Heard, frame: &[u8]) {
        self.packets.push((at_us, [&heard.radiotap(), frame].concat()));
    }

    /// As a pcap file of this link type.
    fn file(&self, link: u32) -> Vec<u8> {
        let mut file = Vec::new();
        for word in [0xa1b2_c3d4, 0x0004_0002, 0, 0, 65_535, link] {
            file.extend(u32::to_le_bytes(word));
        }
        for (at_us, bytes) in &self.packets {
            let length = bytes.len() as u64;
            for word in [1_000 + at_us / 1_000_000, at_us % 1_000_000, length, length] {
                file.extend((word as u32).to_le_bytes());
            }
            file.extend(bytes);
        }
        file
    }

    fn analysis(&self) -> Analysis {
        analysed(self.file(127))
    }

    fn document(&self) -> CaptureDocument {
        CaptureDocument::new("made", &self.analysis())
    }

    fn kinds(&self) -> Vec<Kind> {
        self.document().findings.iter().map(|finding| finding.kind).collect()
    }
}

fn analysed(file: Vec<u8>) -> Analysis {
    let mut capture = Capture::open(Cursor::new(file)).expect("it is a capture");
    let mut analysis = Analysis::default();
    while let Some(packet) = capture.next_packet().expect("it is whole") {
        analysis.handle_packet(&packet);
    }
    analysis.finish();
    analysis
}

/// Frame control of these two octets, duration, and addresses.
fn header(control: [u8; 2], duration: u16, addresses: &[u8]) -> Vec<u8> {
    let mut frame = control.to_vec();
    frame.extend(duration.to_le_bytes());
    addresses.iter().for_each(|number| frame.extend(address(*number)));
    frame
}

const RETRY: u8 = 8;

/// QoS Data of a station to access point 0, with 100 bytes of body.
fn data(from: u8, sequence: u16, retry: bool) -> Vec<u8> {
    let flags = 1 | if retry { RETRY } else { 0 };
    let mut frame = header([0x88, flags], 44, &[0, from, 0]);
    frame.extend((sequence << 4).to_le_bytes());
    frame.extend([0, 0]);
    frame.extend([0; 100]);
    frame
}

fn null(from: u8, sequence: u16, retry: bool) -> Vec<u8> {
    let mut frame = header([0x48, 1 | if retry { RETRY } else { 0 }], 44, &[0, from, 0]);
    frame.extend((sequence << 4).to_le_bytes());
    frame
}

fn ack(to: u8) -> Vec<u8> {
    header([0xd4, 0], 0, &[to])
}

fn cts(to: u8, duration: u16) -> Vec<u8> {
    header([0xc4, 0], duration, &[to])
}

fn rts(to: u8, from: u8) -> Vec<u8> {
    header([0xb4, 0], 400, &[to, from])
}

/// A compressed Block Ack of TID 0.
fn block_ack(to: u8, from: u8, start: u16, bitmap: u64) -> Vec<u8> {
    let mut frame = header([0x94, 0], 0, &[to, from]);
    frame.extend([0x04, 0]);
    frame.extend((start << 4).to_le_bytes());
    frame.extend(bitmap.to_le_bytes());
    frame
}

fn block_ack_request(to: u8, from: u8, start: u16) -> Vec<u8> {
    let mut frame = header([0x84, 0], 0, &[to, from]);
    frame.extend([0x04, 0]);
    frame.extend((start << 4).to_le_bytes());
    frame
}

/// A beacon: its timestamp, the channel that it names, and whether its ERP element asks for
/// protection.
fn beacon(from: u8, timestamp_us: u64, channel: u8, protection: bool) -> Vec<u8> {
    let mut frame = header([0x80, 0], 0, &[0xff, from, from]);
    frame[4..10].fill(0xff);
    frame.extend([0, 0]);
    frame.extend(timestamp_us.to_le_bytes());
    frame.extend([100, 0, 1, 0, 0, 4]);
    frame.extend(b"home");
    frame.extend([3, 1, channel, 42, 1, if protection { 3 } else { 0 }]);
    frame
}

const INTERVAL_US: u64 = 102_400;

/// Only the Block Acks of an agreement are captured, whose window advances by eight MPDUs each
/// time: the monitor cannot decode the data. The numbers of the first one may be older than the
/// capture.
#[test]
fn block_acks_prove_what_the_monitor_misses() {
    let mut made = Made::default();
    for n in 0..1_169u64 {
        let start = (8 * n % 4_096) as u16;
        made.push(2_000 * n, AT_5, &block_ack(1, 0, start, u64::MAX));
    }
    let analysis = made.analysis();
    let link = analysis.main.air.links.values().next().expect("there is one");
    assert_eq!((link.counts.acknowledged, link.counts.unheard), (64 + 8 * 1_168, 8 * 1_168));
    let document = made.document();
    let first = &document.findings[0];
    assert_eq!((first.kind, first.harm), (Kind::MonitorMisses, 1.0));
    assert!(first.sentence.contains("(9344 of 9344)"), "{}", first.sentence);
    assert!(document.unknown.iter().any(|it| it.starts_with("No data")), "{:?}", document.unknown);
    // Who the access point is shows its beacon: then the link has a place among its stations.
    made.push(2_400_000, AT_5, &beacon(0, 0, 36, false));
    made.push(2_401_000, AT_5, &block_ack(1, 0, 8 * 1_169 % 4_096, u64::MAX));
    let document = made.document();
    let network = &document.networks["02:00:00:00:00:00"];
    let up = network.stations["02:00:00:00:00:01"].up.as_ref().expect("it sends");
    assert_eq!((up.mpdus, up.mpdus_missed, up.captured), (0, 8 * 1_169, 0.0));
    assert_eq!((up.mpdus_acknowledged, up.mpdus_estimated), (64 + 8 * 1_169, 8 * 1_169));
}

/// A complete capture that begins during a transfer: the window of the first Block Ack has earlier
/// MPDUs.
#[test]
fn what_was_before_was_not_missed() {
    let mut made = Made::default();
    for n in 0..200u16 {
        let at_us = 2_000 * u64::from(n);
        let heard = Heard { rate: Rate::Ht(7), ..AT_5 };
        for (index, mpdu) in [2 * n, 2 * n + 1].into_iter().enumerate() {
            made.push(at_us + 20 * index as u64, heard, &data(1, 500 + mpdu, false));
        }
        made.push(at_us + 100, AT_5, &block_ack(1, 0, 500 + 2 * n + 1 - 63, u64::MAX));
    }
    let analysis = made.analysis();
    let link = analysis.main.air.links.values().next().expect("there is one");
    assert_eq!((link.counts.mpdus, link.missed(), link.counts.captured_share()), (400, 0, 1.0));
    assert_eq!(made.kinds(), []);
}

/// A Block Ack Request is the last MPDU of an A-MPDU: data that follows at once is counted.
#[test]
fn a_request_hides_no_data() {
    let mut made = Made::default();
    let heard = Heard { rate: Rate::Ht(7), ..AT_5 };
    for n in 0..50u16 {
        let at_us = 3_000 * u64::from(n);
        made.push(at_us, heard, &block_ack_request(0, 1, n));
        made.push(at_us + 20, heard, &data(1, n, false));
        made.push(at_us + 100, AT_5, &block_ack(1, 0, n, 1));
    }
    let analysis = made.analysis();
    let link = analysis.main.air.links.values().next().expect("there is one");
    assert_eq!((link.counts.ppdus, link.counts.mpdus, link.missed()), (50, 50, 0));
}

/// Before 802.11n nothing is aggregated, however close frames are.
#[test]
fn rates_of_802_11b_and_g_have_no_ampdus() {
    for (rate, ampdus) in [(Rate::Legacy(22), 0), (Rate::Legacy(108), 0), (Rate::Ht(7), 20)] {
        let mut made = Made::default();
        for n in 0..20u16 {
            for index in 0..3 {
                let at_us = 5_000 * u64::from(n) + 20 * u64::from(index);
                made.push(at_us, Heard { rate, ..AT_2_4 }, &data(1, 3 * n + index, false));
            }
        }
        let analysis = made.analysis();
        let counts = &analysis.main.air.links.values().next().expect("there is one").counts;
        let ppdus = if ampdus > 0 { 20 } else { 60 };
        assert_eq!((counts.ppdus, counts.ampdus, counts.mpdus), (ppdus, ampdus, 60));
    }
}

/// CTS with different next frames: a CTS-to-self is one whose receiver sends next, at a rate that
/// 802.11b does not understand.
#[test]
fn protection_is_what_its_sender_uses() {
    let fast = Rate::Ht(7);
    let far = -70;
    // Channel and rate of the CTS; rate and level of the data; an RTS is heard each so many.
    let cases = [
        ("to itself", AT_2_4, Some((fast, -50)), 0, true),
        ("at 5 GHz", AT_5, Some((fast, -50)), 0, false),
        (
            "at a rate of OFDM",
            Heard { rate: Rate::Legacy(12), ..AT_2_4 },
            Some((fast, -50)),
            0,
            false,
        ),
        ("before data at 1 Mb/s", AT_2_4, Some((Rate::Legacy(2), -50)), 0, false),
        ("by another station", AT_2_4, Some((fast, far)), 0, false),
        ("before nothing", AT_2_4, None, 0, false),
        ("answers to RTS, of which few are heard", AT_2_4, Some((fast, -50)), 20, false),
        ("answers to RTS", AT_2_4, Some((fast, -50)), 1, false),
    ];
    for (name, heard, follows, every, expected) in cases {
        let mut made = Made::default();
        for n in 0..300u16 {
            let at_us = 10_000 * u64::from(n);
            if every > 0 && n % every == 0 {
                made.push(at_us, heard, &rts(0, 1));
            }
            made.push(at_us + 400, heard, &cts(1, 300));
            if let Some((rate, dbm)) = follows {
                made.push(at_us + 600, Heard { rate, dbm, ..heard }, &data(1, n, false));
                made.push(at_us + 700, heard, &ack(1));
            }
        }
        let is_found = made.kinds().contains(&Kind::LegacyProtection);
        assert_eq!(is_found, expected, "{name}: {:?}", made.document().findings);
    }
}

/// A share of busy time is unknown if the monitor missed most of it.
#[test]
fn protection_is_no_share_of_a_time_that_was_missed() {
    let mut made = Made::default();
    for n in 0..300u16 {
        let at_us = 10_000 * u64::from(n);
        let number = n * 13 % 4_096;
        made.push(at_us, AT_2_4, &cts(1, 300));
        made.push(at_us + 200, Heard { rate: Rate::Ht(7), ..AT_2_4 }, &data(1, number, false));
        made.push(at_us + 300, AT_2_4, &block_ack(1, 0, number, 0x1fff));
    }
    assert_eq!(made.kinds(), [Kind::MonitorMisses], "{:?}", made.document().findings);
}

/// RTS at 1 Mb/s protect from 802.11b where beacons say so; otherwise they are RTS.
#[test]
fn rts_protect_where_beacons_ask_for_it() {
    for protection in [true, false] {
        let mut made = Made::default();
        for n in 0..300u16 {
            let at_us = 10_000 * u64::from(n);
            if n % 10 == 0 {
                made.push(at_us, AT_2_4, &beacon(0, at_us, 1, protection));
            }
            made.push(at_us + 2_000, AT_2_4, &rts(0, 1));
            made.push(at_us + 2_400, AT_2_4, &cts(1, 300));
            made.push(at_us + 2_600, Heard { rate: Rate::Ht(7), ..AT_2_4 }, &data(1, n, false));
            made.push(at_us + 2_700, AT_2_4, &ack(1));
        }
        assert_eq!(made.kinds().contains(&Kind::LegacyProtection), protection);
    }
}

/// Beacons of one access point for 20 s, of which every second one is heard.
#[test]
fn beacons_are_missing_of_near_access_points_on_this_channel() {
    for (name, dbm, channel, expected) in [
        ("near", -50, 1, true),
        ("far away", -78, 1, false),
        ("on the next channel", -50, 2, false),
    ] {
        let mut made = Made::default();
        for n in (0..200).step_by(2) {
            let heard = Heard { dbm, ..AT_2_4 };
            made.push(INTERVAL_US * n, heard, &beacon(0, INTERVAL_US * n, channel, false));
        }
        let document = made.document();
        let loss = document.networks["02:00:00:00:00:00"].beacon_loss;
        assert_eq!(loss.is_some(), channel == 1, "{name}");
        assert!(loss.is_none_or(|loss| (loss - 0.5).abs() < 0.01), "{name}: {loss:?}");
        let kinds: Vec<_> = document.findings.iter().map(|finding| finding.kind).collect();
        assert_eq!(kinds.contains(&Kind::BeaconLoss), expected, "{name}");
    }
}

/// A monitor that misses half of an access point's data misses half of its beacons, too.
#[test]
fn beacons_are_missed_like_other_frames() {
    for (missed, expected) in [(false, Some(Kind::BeaconLoss)), (true, Some(Kind::MonitorMisses))] {
        let mut made = Made::default();
        for n in 0..200u16 {
            let at_us = INTERVAL_US * u64::from(n);
            let step = if missed { 2 } else { 1 };
            if n % 2 == 0 {
                made.push(at_us, AT_2_4, &beacon(0, at_us, 1, false));
            }
            let mut down = data(1, n * step, false);
            down[1] = 2;
            (down[9], down[15], down[21]) = (1, 0, 0);
            made.push(at_us + 50_000, AT_2_4, &down);
        }
        let kinds = made.kinds();
        assert_eq!(kinds.first().copied(), expected, "{kinds:?}");
        assert_eq!(kinds.len(), 1, "{kinds:?}");
    }
}

/// A link that is proved by Acks and by Block Acks: an MPDU that both name was missed once.
#[test]
fn an_mpdu_is_missed_once() {
    let mut made = Made::default();
    let mut number = 0u16;
    for n in 0..100u64 {
        let at_us = 10_000 * n;
        // One in ten is heard; each is acknowledged.
        for single in 0..10 {
            let at_us = at_us + 500 * single;
            if single == 0 {
                made.push(at_us, AT_5, &data(1, number, false));
            }
            made.push(at_us + 100, AT_5, &ack(1));
            number += 1;
        }
        // A PPDU that is missed, and a bitmap for it and for what was before it.
        number += 10;
        made.push(at_us + 6_000, AT_5, &block_ack(1, 0, (number - 20) % 4_096, (1 << 20) - 1));
    }
    let analysis = made.analysis();
    let counts = &analysis.main.air.links.values().next().expect("there is one").counts;
    assert_eq!(counts.mpdus, 100);
    let (captured, missed) = counts.judged();
    assert!(captured == 100 && missed.abs_diff(1_900) < 20, "{captured} and {missed} of 2 000");
}

/// Four networks of one radio share a clock and a finding; another access point has a separate one.
/// These findings come last.
#[test]
fn networks_of_one_radio_are_one_line() {
    let mut made = Made::default();
    for n in (0..200).step_by(2) {
        for network in 0..4u8 {
            let at_us = INTERVAL_US * n + 500 * u64::from(network);
            made.push(at_us, AT_2_4, &beacon(network, at_us + 7_000_000, 1, false));
        }
        let at_us = INTERVAL_US * n + 40_000;
        made.push(at_us, AT_2_4, &beacon(9, at_us + 123_456_789, 1, false));
        // Frames of another station, of which nearly all are retries.
        for again in 0..6 {
            let at_us = at_us + 10_000 + 1_000 * again;
            made.push(at_us, AT_2_4, &data(8, n as u16, again > 0));
        }
    }
    let findings = made.document().findings;
    let lost: Vec<_> = findings.iter().filter(|it| it.kind == Kind::BeaconLoss).collect();
    assert_eq!(lost.len(), 2, "{findings:?}");
    let names = |text: &str| lost.iter().filter(|it| it.sentence.contains(text)).count();
    assert_eq!((names("4 networks of one radio"), names("02:00:00:00:00:09")), (1, 1));
    let places: Vec<_> = findings.iter().map(|it| it.kind == Kind::BeaconLoss).collect();
    assert!(places.len() > 2 && places.is_sorted(), "they are last: {findings:?}");
}

/// A receiver alternates between two channels, 300 ms each: no beacon counts as missing, and one
/// channel is busy half of its time.
#[test]
fn a_receiver_that_hops_is_recognised() {
    let mut made = Made::default();
    for at_us in (0..60_000_000u64).step_by(5_000) {
        let is_first = at_us / 300_000 % 2 == 0;
        let heard = if is_first { AT_2_4 } else { Heard { mhz: 2_437, ..AT_2_4 } };
        // 100 bytes at 1 Mb/s, 2.4 and 1.2 ms of 5.
        if is_first {
            made.push(at_us, heard, &[data(1, 0, false), vec![0; 146]].concat());
        } else {
            made.push(at_us, heard, &data(2, 0, false));
        }
        let beacons = at_us.div_ceil(INTERVAL_US) * INTERVAL_US;
        if is_first && beacons < at_us + 5_000 {
            made.push(at_us + 4_000, heard, &beacon(0, beacons, 1, false));
        }
    }
    let document = made.document();
    let first = &document.findings[0];
    assert_eq!(first.kind, Kind::ChannelHopping);
    assert!(first.sentence.contains("2 channels"), "{}", first.sentence);
    assert!(!made.kinds().contains(&Kind::BeaconLoss), "{:?}", document.findings);
    let network = &document.networks["02:00:00:00:00:00"];
    assert!(network.beacons > 250 && network.beacon_loss == Some(0.0), "{network:?}");
    let air = document.airtime.expect("there is");
    let busy = |mhz: &str| air.channels[mhz].utilisation.expect("rates are known");
    assert!((0.4..0.6).contains(&busy("2412")), "{:?}", air.channels);
    assert!((0.2..0.3).contains(&busy("2437")), "{:?}", air.channels);
    let all = air.utilisation.expect("rates are known");
    assert!((all - (busy("2412") + busy("2437")) / 2.0).abs() < 0.01, "{all}");
    let station = network.stations["02:00:00:00:00:01"].airtime.expect("rates are known");
    assert!((station - busy("2412")).abs() < 0.05, "{station}");
}

/// Of 242 MPDUs nine in ten are retries, and each is acknowledged at last: few frames suffice for
/// so clear a share. The same holds for Null frames.
#[test]
fn few_frames_may_show_many_retries() {
    for is_null in [false, true] {
        let mut made = Made::default();
        let mut sent = 0;
        for number in 0.. {
            for again in 0..10 {
                let frame = if is_null { null } else { data }(1, number, again > 0);
                made.push(9_000 * sent, AT_2_4, &frame);
                sent += 1;
            }
            made.push(9_000 * sent - 8_500, AT_2_4, &ack(1));
            if sent >= 242 {
                break;
            }
        }
        let document = made.document();
        let kinds: Vec<_> = document.findings.iter().map(|finding| finding.kind).collect();
        assert_eq!(kinds, [Kind::HighRetry], "{is_null}");
        let first = &document.findings[0];
        assert!(first.sentence.starts_with("90 %"), "{}", first.sentence);
        assert!(!first.check.contains("lower rate"), "there is none: {}", first.check);
        assert!(first.harm > 0.2 && first.harm < 0.9);
    }
}

/// One frame that is repeated thirty times is no evidence about the link. A dozen frames at the
/// slowest rate without any answer show that the station is away.
#[test]
fn frames_that_nobody_answers_are_to_a_station_that_is_away() {
    for (frames, expected) in [(1, None), (12, Some(Kind::Unanswered))] {
        for is_null in [false, true] {
            let mut made = Made::default();
            for n in 0..30 * frames {
                let number = (n / 30) as u16;
                let frame = if is_null { null } else { data }(1, number, n % 30 > 0);
                made.push(4_000 * n, AT_5, &frame);
            }
            // Another station is answered.
            for n in 0..500 {
                let at_us = 2_000_000 + 2_000 * n;
                made.push(at_us, AT_5, &data(2, n as u16, false));
                made.push(at_us + 100, AT_5, &ack(2));
            }
            let findings = made.document().findings;
            let first = findings.first();
            assert_eq!(first.map(|it| it.kind), expected, "{findings:?}");
            assert!(first.is_none_or(|it| it.check.contains("A lower rate does not exist")));
        }
    }
}

/// Captured retries are a share of all sent frames: the monitor decodes only the slowest rate, at
/// which few frames are retransmitted.
#[test]
fn retries_are_shares_of_what_was_sent() {
    let mut made = Made::default();
    for n in 0..1_000u16 {
        let at_us = 2_000 * u64::from(n);
        if n % 20 == 0 {
            for again in 0..4 {
                made.push(at_us + 200 * again, AT_5, &data(1, 8 * n % 4_096, again > 0));
            }
        }
        made.push(at_us + 1_000, AT_5, &block_ack(1, 0, 8 * n % 4_096, 0xff));
    }
    let document = made.document();
    let kinds: Vec<_> = document.findings.iter().map(|finding| finding.kind).collect();
    assert_eq!(kinds, [Kind::MonitorMisses], "{:?}", document.findings);
    let analysis = made.analysis();
    let counts = &analysis.main.air.links.values().next().expect("there is one").counts;
    assert_eq!((counts.mpdus, counts.retries), (200, 150));
    assert!(counts.captured_share() < 0.05, "{:?}", counts.proved);
    assert!(counts.retries_estimated() < 0.06 * counts.mpdus_estimated());
}

/// Few frames, and headers without metadata: shares are absent, and limits are reported.
#[test]
fn what_is_not_known_is_said() {
    let mut single = Made::default();
    single.push(0, AT_5, &null(1, 7, false));
    let document = single.document();
    assert_eq!(document.findings, []);
    assert!(document.unknown[0].starts_with("1 packet in 0 s"), "{:?}", document.unknown);
    let air = document.airtime.as_ref().expect("a PPDU was heard");
    assert_eq!((air.utilisation, air.busiest_second, air.answers), (None, None, None));
    let network = document.networks.values().next().expect("there is one");
    assert_eq!(network.stations.values().next().expect("there is one").airtime, None);
    assert!(!document.to_json().contains("null,"), "absent, not null");

    // The same frames for minutes without radiotap.
    let mut made = Made::default();
    for n in 0..500u16 {
        made.packets.push((100_000 * u64::from(n), data(1, n, false)));
        made.packets.push((100_000 * u64::from(n) + 200, ack(1)));
    }
    let document = CaptureDocument::new("made", &analysed(made.file(105)));
    let unknown = document.unknown.join("\n");
    assert!(unknown.contains("no rate of 1000 of 1000 PPDUs"), "{unknown}");
    assert!(unknown.contains("no levels"), "{unknown}");
    assert_eq!(document.airtime.expect("PPDUs were heard").utilisation, None);

    // Of a wire nothing of the air is known.
    let mut made = Made::default();
    for n in 0..500u64 {
        made.packets.push((10_000 * n, [&[0; 12][..], &[0x88, 0xb5], &[0; 50]].concat()));
    }
    let document = CaptureDocument::new("made", &analysed(made.file(1)));
    assert!(document.airtime.is_none() && document.findings.is_empty());
    assert_eq!(document.unknown.len(), 1, "{:?}", document.unknown);
    assert!(document.unknown[0].contains("no frame of 802.11"), "{:?}", document.unknown);
}

/// A capture of a link where nothing is missing has nothing unknown.
#[test]
fn what_is_whole_has_nothing_unknown() {
    let mut made = Made::default();
    for n in 0..500u16 {
        let at_us = 4_000 * u64::from(n);
        made.push(at_us, Heard { rate: Rate::Ht(7), ..AT_5 }, &data(1, n, false));
        made.push(at_us + 200, AT_5, &ack(1));
    }
    let document = made.document();
    assert_eq!((document.unknown, document.findings), (vec![], vec![]));
}

/// Packets without a time before the first that has one, as simple packets of pcapng, make no
/// duration of decades; nor do their flows.
#[test]
fn packets_without_a_time_are_in_no_duration() {
    let mut packet = vec![0x45, 0, 0, 28, 0, 0, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
    packet.extend([0, 9, 0, 9, 0, 8, 0, 0]);
    let block = |kind: u32, body: &[u8]| {
        let padded = body.len().next_multiple_of(4);
        let length = (12 + padded) as u32;
        let mut block = [kind.to_le_bytes(), length.to_le_bytes()].concat();
        block.extend(body);
        block.resize(8 + padded, 0);
        block.extend(length.to_le_bytes());
        block
    };
    let words = |words: &[u32]| words.iter().flat_map(|it| it.to_le_bytes()).collect::<Vec<_>>();
    let length = packet.len() as u32;
    let simple = block(3, &[words(&[length]), packet.clone()].concat());
    let enhanced = |at_us: u64| {
        let head = words(&[0, (at_us >> 32) as u32, at_us as u32, length, length]);
        block(6, &[head, packet.clone()].concat())
    };
    let begin = 1_340_954_905_000_000;
    let file = [
        block(0x0a0d_0d0a, &words(&[0x1a2b_3c4d, 1, u32::MAX, u32::MAX])),
        block(1, &words(&[101, 0])),
        simple.clone(),
        enhanced(begin),
        simple,
        enhanced(begin + 2_000_000),
    ]
    .concat();
    let document = CaptureDocument::new("made", &analysed(file));
    assert_eq!((document.frames, document.unused.without_time), (4, 2));
    assert_eq!((document.duration_s, document.begin_unix_s), (2.0, Some(begin as f64 / 1e6)));
    let flow = &document.flows["udp 10.0.0.1:9 - 10.0.0.2:9"].from["10.0.0.1:9"];
    assert_eq!((flow.packets, flow.from_s, flow.to_s), (4, 0.0, 2.0));
}

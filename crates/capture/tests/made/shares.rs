//! Findings that are shares of a link: captures with the problem, similar ones without it, and ones
//! of which the monitor misses most of the link, so that the share is unknown.

use crate::feed::{AP, Feed, MS, SECOND, STATION, US, beacon, frame, of_kind, radiotap};
use lasthop_capture::document::CaptureDocument;
use lasthop_capture::finding::Kind;
use lasthop_capture::link::LinkType;

/// Address of another station.
const OTHER: [u8; 6] = [2, 0, 0, 0, 0, 3];

/// Rate in radiotap: in units of 500 kb/s, or the MCS of 802.11n.
#[derive(Clone, Copy)]
enum Rate {
    Legacy(u8),
    Ht(u8),
}

/// A frame behind radiotap with its rate.
fn at(rate: Rate, frame: &[u8]) -> Vec<u8> {
    let mut bytes = match rate {
        Rate::Legacy(rate) => vec![0, 0, 9, 0, 4, 0, 0, 0, rate],
        Rate::Ht(mcs) => vec![0, 0, 11, 0, 0, 0, 8, 0, 0x07, 0, mcs],
    };
    bytes.extend(frame);
    bytes
}

/// A Block Ack of TID 0 for 64 numbers from `start` on.
fn block_ack(to: [u8; 6], from: [u8; 6], start: u16) -> Vec<u8> {
    let mut frame = vec![0x94, 0, 0, 0];
    frame.extend([to, from].concat());
    frame.extend([4, 0]);
    frame.extend((start << 4).to_le_bytes());
    frame.extend([0xff; 8]);
    frame
}

fn ack(to: [u8; 6]) -> Vec<u8> {
    [&[0xd4, 0, 0, 0][..], &to].concat()
}

fn up(from: [u8; 6], number: u16, bytes: usize) -> Vec<u8> {
    frame([0x88, 1], AP, from, number % 4_096, &vec![0; bytes])
}

/// Frames of the air in their order.
fn heard(mut frames: Vec<(u64, Vec<u8>)>) -> CaptureDocument {
    frames.sort_by_key(|(at_ns, _)| *at_ns);
    let mut feed = Feed::new(LinkType::Radiotap);
    frames.iter().for_each(|(at_ns, bytes)| feed.packet(*at_ns, bytes));
    feed.document()
}

fn kinds(document: &CaptureDocument) -> Vec<Kind> {
    document.findings.iter().map(|finding| finding.kind).collect()
}

/// Direction in which the monitor misses data of a station.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Misses {
    Nothing,
    /// Most of the data from the access point, or to it; Block Acks prove it.
    Down,
    Up,
}

/// A station pings, and dozes for half a second, each second. Meanwhile the access point sends
/// data; with `asks`, after a PS-Poll.
fn doze(misses: Misses, asks: bool) -> CaptureDocument {
    let slow = |frame: Vec<u8>| at(Rate::Legacy(12), &frame);
    let mut frames = Vec::new();
    for second in 0..40u16 {
        let begin = u64::from(second) * SECOND;
        let nulls = 2 * second;
        let up_number = if misses == Misses::Up { 70 * second } else { second };
        let down_number = if misses == Misses::Down { 70 * second } else { 2 * second };
        frames.push((begin, slow(up(STATION, up_number, 60))));
        let down = |n| slow(frame([0x88, 2], STATION, AP, down_number + n, &[0; 60]));
        frames.push((begin + 10 * MS, slow(frame([0x48, 0x11], AP, STATION, nulls, &[]))));
        if asks {
            let poll = [&[0xa4, 0x10, 1, 0xc0][..], &AP, &STATION].concat();
            frames.push((begin + 150 * MS, slow(poll)));
        }
        frames.push((begin + 200 * MS, down(0)));
        frames.push((begin + 210 * MS, down(1)));
        frames.push((begin + 600 * MS, slow(frame([0x48, 1], AP, STATION, nulls + 1, &[]))));
        match misses {
            Misses::Nothing => {}
            Misses::Down => {
                frames.push((begin + 700 * MS, slow(block_ack(AP, STATION, down_number + 2))));
            }
            Misses::Up => {
                frames.push((begin + 700 * MS, slow(block_ack(STATION, AP, up_number + 1))));
            }
        }
    }
    heard(frames)
}

/// Data to an absent station, and the length of absences, are known if the station's frames are
/// captured.
#[test]
fn dozing_and_sending_to_who_dozes() {
    let document = doze(Misses::Nothing, false);
    let [vain] = &of_kind(&document, Kind::SentInVain)[..] else {
        panic!("{:?}", document.findings)
    };
    assert!(vain.sentence.contains("80 of 80 data frames"), "{}", vain.sentence);
    assert!(kinds(&document).contains(&Kind::PowerSave), "{:?}", document.findings);
    assert_eq!(kinds(&doze(Misses::Nothing, true)), [Kind::PowerSave], "it has asked for them");
    for misses in [Misses::Down, Misses::Up] {
        let document = doze(misses, false);
        assert_eq!(kinds(&document), [Kind::MonitorMisses], "{misses:?}: {:?}", document.findings);
    }
}

/// The monitor misses each frame that ends an absence. Data that the station acknowledges shows that
/// it is back.
#[test]
fn data_that_is_acknowledged_was_not_sent_in_vain() {
    for answers in [false, true] {
        let slow = |frame: Vec<u8>| at(Rate::Legacy(12), &frame);
        let mut frames = Vec::new();
        for second in 0..40u16 {
            let begin = u64::from(second) * SECOND;
            frames.push((begin, slow(up(STATION, second, 60))));
            let null = frame([0x48, 0x11], AP, STATION, 2 * second, &[]);
            frames.push((begin + 10 * MS, slow(null)));
            for n in 0..2 {
                let at_ns = begin + (500 + 100 * u64::from(n)) * MS;
                let data = frame([0x88, 2], STATION, AP, 2 * second + n, &[0; 60]);
                frames.push((at_ns, slow(data)));
                if answers {
                    frames.push((at_ns + 60 * US, slow(ack(AP))));
                }
            }
        }
        let document = heard(frames);
        assert_eq!(kinds(&document).contains(&Kind::SentInVain), !answers);
        let station = &document.networks["02:00:00:00:00:01"].stations["02:00:00:00:00:02"];
        let away = station.away.as_ref().expect("it is away");
        assert!((39..=40).contains(&away.absences), "{}", away.absences);
        let expected = if answers { 490.0 } else { 990.0 };
        assert!((away.asleep_ms - expected).abs() < 1.0, "{} ms", away.asleep_ms);
    }
}

/// A receiver that is on another channel half of the time misses ends of absences: no absence lasts
/// from one stay to the next.
#[test]
fn a_receiver_that_hops_knows_no_long_absences() {
    let mut feed = Feed::new(LinkType::Radiotap);
    let mut push =
        |at_ns: u64, mhz, frame: &[u8]| feed.packet(at_ns, &radiotap(0, Some(mhz), frame));
    let mut n = 0;
    for at_ms in (0..60_000u64).step_by(20) {
        let at_ns = at_ms * MS;
        if at_ms / 500 % 2 == 1 {
            push(at_ns, 2_462, &beacon(at_ms as u16 / 20, at_ms * 1_000, b"other"));
            continue;
        }
        n += 1;
        push(at_ns, 2_437, &up(STATION, n, 60));
        // It dozes for 30 ms with the last frame before the receiver goes, and with others.
        if at_ms % 100 == 80 {
            push(at_ns + 2 * MS, 2_437, &frame([0x48, 0x11], AP, STATION, 2 * n, &[]));
            let back = at_ns + 12 * MS;
            if (back / (500 * MS)).is_multiple_of(2) && at_ms % 500 != 480 {
                push(back, 2_437, &frame([0x48, 1], AP, STATION, 2 * n + 1, &[]));
            }
        }
    }
    let document = feed.document();
    let station = &document.networks["02:00:00:00:00:01"].stations["02:00:00:00:00:02"];
    let away = station.away.as_ref().expect("it is away");
    assert_eq!(away.absences, 60 * 4, "of each stay's five the last has no end");
    assert!(away.list.iter().all(|absence| absence.to_s - absence.from_s < 0.02));
}

/// The finding names its evidence: answers, or gaps in the numbers.
#[test]
fn misses_have_their_evidence() {
    let document = doze(Misses::Down, false);
    let sentence = &document.findings[0].sentence;
    assert!(sentence.contains("by Acks and Block Acks 100 %"), "{sentence}");
    assert!(!sentence.contains("sequence numbers"), "{sentence}");
    let slow = |n: u16| (u64::from(n) * MS, at(Rate::Legacy(12), &up(STATION, 8 * n, 60)));
    let document = heard((0..500).map(slow).collect());
    assert_eq!(kinds(&document), [Kind::MonitorMisses]);
    let sentence = &document.findings[0].sentence;
    assert!(sentence.contains("by gaps in the sequence numbers 87 % of the MPDUs"), "{sentence}");
    assert!(!sentence.contains("Acks"), "{sentence}");
}

/// A station changes between power save and none, 20 times a second or once in two seconds.
#[test]
fn power_management_that_flutters() {
    let flutter = |every_ms: u64| {
        let slow = |frame: Vec<u8>| at(Rate::Legacy(12), &frame);
        let frames = (0..200u16).flat_map(|n| {
            let at_ns = u64::from(n) * every_ms * MS;
            [
                (at_ns, slow(up(STATION, n, 60))),
                (at_ns + 20 * MS, slow(frame([0x48, 0x11], AP, STATION, 2 * n, &[]))),
                (at_ns + 25 * MS, slow(frame([0x48, 1], AP, STATION, 2 * n + 1, &[]))),
            ]
        });
        heard(frames.collect())
    };
    assert!(kinds(&flutter(50)).contains(&Kind::PmOscillation));
    assert!(!kinds(&flutter(2_000)).contains(&Kind::PmOscillation));
}

/// Two stations send in turn for ten seconds, 400 frames the first, 1 600 the second.
fn two(first: Rate, second: Rate, misses: bool) -> CaptureDocument {
    let mut frames = Vec::new();
    for n in 0..400u16 {
        let at_ns = u64::from(n) * 25 * MS;
        frames.push((at_ns, at(first, &up(STATION, n, 1_000))));
        for again in 0..4 {
            let number = if misses { n * 66 } else { n * 4 } + again;
            let at_ns = at_ns + (10 + 3 * u64::from(again)) * MS;
            frames.push((at_ns, at(second, &up(OTHER, number, 1_000))));
        }
        if misses {
            let start = (n * 66 + 4) % 4_096;
            frames.push((at_ns + 20 * MS, at(Rate::Legacy(12), &block_ack(OTHER, AP, start))));
        }
    }
    heard(frames)
}

/// A station at 1 Mb/s beside one at 65 Mb/s takes the air; not beside one that is as slow, nor
/// beside one of which the monitor misses most.
#[test]
fn a_slow_station_takes_the_air_of_faster_ones() {
    let (slow, fast) = (Rate::Legacy(2), Rate::Ht(7));
    let document = two(slow, fast, false);
    let [finding] = &of_kind(&document, Kind::SlowStation)[..] else { panic!("one") };
    assert!(finding.sentence.starts_with("02:00:00:00:00:02"), "{}", finding.sentence);
    for (first, second) in [(slow, slow), (fast, fast)] {
        assert!(!kinds(&two(first, second, false)).contains(&Kind::SlowStation));
    }
    let document = two(slow, fast, true);
    assert_eq!(kinds(&document), [Kind::MonitorMisses], "{:?}", document.findings);
}

/// Single MPDUs at 65 Mb/s, one each 400 us; the same as A-MPDUs; and one each 10 ms.
#[test]
fn few_mpdus_in_a_ppdu_on_a_busy_channel() {
    let sent = |in_each: u16, every_us: u64| {
        let mut frames = Vec::new();
        for n in 0..2_000u16 {
            let at_ns = u64::from(n) * every_us * US;
            for index in 0..in_each {
                let bytes = at(Rate::Ht(7), &up(STATION, n * in_each + index, 1_500));
                frames.push((at_ns + u64::from(index) * 185 * US, bytes));
            }
            let behind = at_ns + u64::from(in_each) * 185 * US + 20 * US;
            frames.push((behind, at(Rate::Legacy(48), &ack(STATION))));
        }
        heard(frames)
    };
    let document = sent(1, 400);
    let [finding] = &of_kind(&document, Kind::LowAggregation)[..] else { panic!("one") };
    assert!(finding.sentence.contains("1.0 MPDUs in a PPDU"), "{}", finding.sentence);
    for (in_each, every_us) in [(8, 2_400), (1, 10_000)] {
        let document = sent(in_each, every_us);
        assert_eq!(kinds(&document), [], "{in_each}: {:?}", document.findings);
    }
}

/// A packet of TCP between 10.0.0.1 and 10.0.0.2: segment `n` with 1 000 bytes, or an
/// acknowledgement of it.
fn tcp(n: u32, id: u16, acknowledges: bool) -> Vec<u8> {
    let (from, to, length) = if acknowledges { (2, 1, 40u16) } else { (1, 2, 1_040) };
    let mut packet = vec![0x45, 0];
    packet.extend(length.to_be_bytes());
    packet.extend(id.to_be_bytes());
    packet.extend([0x40, 0, 64, 6, 0, 0, 10, 0, 0, from, 10, 0, 0, to]);
    let (own, other) = ([0x13, 0x88], [0xc0, 0]);
    packet.extend(if acknowledges { [other, own] } else { [own, other] }.concat());
    let numbers = if acknowledges { [1, 1 + (n + 1) * 1_000] } else { [1 + n * 1_000, 1] };
    numbers.iter().for_each(|number| packet.extend(number.to_be_bytes()));
    packet.extend([0x50, 0x10, 0xff, 0xff, 0, 0, 0, 0]);
    packet.resize(usize::from(length), 0);
    packet
}

/// 600 segments, 10 ms apart, acknowledged after 20 ms plus a delay; every twentieth is
/// retransmitted, or none.
fn transfer(later_ms: u64, again: bool) -> Vec<(u64, Vec<u8>, bool)> {
    let (mut packets, mut id) = (Vec::new(), 0u16);
    for n in 0..600u32 {
        let at_ns = u64::from(n) * 10 * MS;
        id += 1;
        packets.push((at_ns, tcp(n, id, false), false));
        if again && n % 20 == 19 {
            id += 1;
            packets.push((at_ns + 5 * MS, tcp(n, id, false), false));
        }
        let wait = 20 * MS + if n < 50 { 0 } else { later_ms * MS };
        packets.push((at_ns + wait, tcp(n, n as u16, true), true));
    }
    packets.sort_by_key(|(at_ns, ..)| *at_ns);
    packets
}

fn on_a_wire(packets: &[(u64, Vec<u8>, bool)]) -> CaptureDocument {
    let mut feed = Feed::new(LinkType::Ip);
    packets.iter().for_each(|(at_ns, bytes, _)| feed.packet(*at_ns, bytes));
    feed.document()
}

/// The same, from an access point to a station, of which the monitor misses 64 MPDUs for each that
/// it hears, or none.
fn on_the_air(packets: &[(u64, Vec<u8>, bool)], misses: bool) -> CaptureDocument {
    let mut frames = vec![(0, at(Rate::Legacy(12), &beacon(0, 0, b"home")))];
    let mut numbers = [0u16; 2];
    for (at_ns, packet, is_up) in packets {
        let number = &mut numbers[usize::from(*is_up)];
        let body = [&[0, 0, 0xaa, 0xaa, 3, 0, 0, 0, 8, 0][..], packet].concat();
        let (control, to, from) =
            if *is_up { ([0x88, 1], AP, STATION) } else { ([0x88, 2], STATION, AP) };
        let bytes = frame(control, to, from, *number % 4_096, &body);
        frames.push((*at_ns, at(Rate::Ht(7), &bytes)));
        *number += 1;
        if misses && !*is_up {
            let answer = block_ack(AP, STATION, *number % 4_096);
            frames.push((*at_ns + 2 * MS, at(Rate::Legacy(12), &answer)));
            *number += 64;
        }
    }
    heard(frames)
}

/// A queue makes acknowledgements late; a long way does, too, and so do 30 ms, which is no queue.
#[test]
fn queues_are_not_long_ways() {
    assert_eq!(kinds(&on_a_wire(&transfer(150, false))), [Kind::Bufferbloat]);
    for later_ms in [0, 30] {
        assert_eq!(kinds(&on_a_wire(&transfer(later_ms, false))), []);
    }
    let far: Vec<_> = transfer(0, false)
        .into_iter()
        .map(|(at_ns, packet, is_up)| (at_ns + u64::from(is_up) * 200 * MS, packet, is_up))
        .collect();
    assert_eq!(kinds(&on_a_wire(&far)), []);
}

/// Delays and losses of TCP are findings only if the frames of its link were captured.
#[test]
fn what_is_said_of_tcp_was_heard() {
    let packets = transfer(150, true);
    for document in [on_a_wire(&packets), on_the_air(&packets, false)] {
        for kind in [Kind::Bufferbloat, Kind::TcpLoss] {
            assert_eq!(of_kind(&document, kind).len(), 1, "{:?}", document.findings);
        }
    }
    let document = on_the_air(&packets, true);
    assert_eq!(kinds(&document), [Kind::MonitorMisses], "{:?}", document.findings);
}

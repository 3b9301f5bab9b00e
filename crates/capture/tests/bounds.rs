//! Bounds of memory and of the document: flows, absences and seconds, with packets at any times.

#![allow(clippy::unwrap_used, reason = "a test that unwraps fails, which is its job")]

use lasthop_capture::air::schedule::{Cause, Schedule};
use lasthop_capture::analysis::Analysis;
use lasthop_capture::document::CaptureDocument;
use lasthop_capture::file::Packet;
use lasthop_capture::finding::Kind;
use lasthop_capture::link::LinkType;
use lasthop_capture::live::Meter;
use lasthop_units::Duration;

/// Feeds packets of one link type.
struct Feed {
    analysis: Analysis,
    link: LinkType,
    number: u64,
}

impl Feed {
    fn new(link: LinkType) -> Self {
        Self { analysis: Analysis::default(), link, number: 0 }
    }

    fn packet(&mut self, at_ns: u64, bytes: &[u8]) {
        self.number += 1;
        self.analysis.handle_packet(&Packet {
            number: self.number,
            offset: 0,
            interface: 0,
            link: self.link,
            at_ns: Some(at_ns),
            bytes,
            length: bytes.len() as u32,
            fcs_bytes: None,
        });
    }

    fn document(mut self) -> CaptureDocument {
        self.analysis.finish();
        CaptureDocument::new("-", &self.analysis)
    }
}

const SECOND: u64 = 1_000_000_000;
const BEGIN: u64 = 1_700_000_000 * SECOND;

/// A UDP packet of a separate flow.
fn udp(flow: u16) -> Vec<u8> {
    let mut packet = vec![0x45, 0, 0, 30, 0, 0, 0, 0, 64, 17, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2];
    packet.extend(flow.to_be_bytes());
    packet.extend([0, 53, 0, 10, 0, 0, 1, 2]);
    packet
}

/// A frame to the access point (Null, QoS Null: with a control field, or QoS data with 20 bytes).
fn frame(kind: u8, power_management: bool, sequence: u16) -> Vec<u8> {
    let flags = 0x01 | u8::from(power_management) << 4;
    let mut frame = vec![kind, flags, 0, 0];
    frame.extend([2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1]);
    frame.extend((sequence << 4).to_le_bytes());
    if kind == 0x88 {
        frame.extend([0; 22]);
    }
    frame
}

const NULL: u8 = 0x48;
const QOS_DATA: u8 = 0x88;

/// Of 5 000 flows in 100 s, 4 096 are followed at a time. Idle flows with the fewest packets are
/// dropped for new ones.
#[test]
fn idle_flows_make_place() {
    let mut feed = Feed::new(LinkType::Ip);
    feed.packet(BEGIN, &udp(7));
    feed.packet(BEGIN, &udp(7));
    for flow in 0..5_000u16 {
        feed.packet(BEGIN + u64::from(flow) * SECOND / 50, &udp(flow + 1_000));
    }
    let document = feed.document();
    assert_eq!(document.flows.len() as u64 + document.flows_left_out, 5_001);
    assert!(document.flows.len() <= 4_096 && document.flows_left_out == 1_024);
    let has = |port: &str| document.flows.keys().any(|flow| flow.contains(port));
    assert!(has(":5999 ") && has(":7 ") && !has(":1000 "));
    // Of a flow that comes back only what came then is known, and nothing fails.
    let mut feed = Feed::new(LinkType::Ip);
    for round in 0..3 {
        for flow in 0..6_000u16 {
            let at = BEGIN + (round * 6_000 + u64::from(flow)) * SECOND / 50;
            feed.packet(at, &udp(flow + 1_000));
            if flow % 60 == 0 {
                feed.packet(at, &udp(flow + 1_000));
            }
        }
    }
    let document = feed.document();
    let packets: u64 =
        document.flows.values().flat_map(|flow| flow.from.values()).map(|from| from.packets).sum();
    assert!(document.flows.len() <= 4_096 && document.flows_left_out > 10_000);
    assert!(packets < document.frames, "{packets}");
    // Those with two packets a round outlive those with one: they have all three rounds.
    let outlived =
        document.flows.values().filter(|flow| flow.from.values().any(|f| f.packets == 6));
    assert_eq!(outlived.count(), 100);
}

/// A reading of a wired capture has the flows with packets since the previous reading.
#[test]
fn a_wire_has_flows() {
    let mut feed = Feed::new(LinkType::Ip);
    let mut meter = Meter::default();
    let second = Duration::from_secs(1);
    feed.packet(BEGIN, &udp(1_000));
    feed.packet(BEGIN + 1, &udp(1_001));
    assert_eq!(meter.read(&feed.analysis, second).flows.len(), 2);
    (2..6).for_each(|n| feed.packet(BEGIN + n, &udp(1_001)));
    let reading = meter.read(&feed.analysis, second * 2);
    let [flow] = &reading.flows[..] else { panic!("{:?}", reading.flows) };
    assert_eq!(flow.name, "udp 192.0.2.1:1001 > 192.0.2.2:53");
    // Four packets with two bytes each in two seconds.
    assert_eq!((flow.packets_per_s, flow.throughput_mbps), (2.0, 32e-6));
    assert!(meter.read(&feed.analysis, second).flows.is_empty());
    assert_eq!(reading.busy, None);
}

/// A station that dozes 10 000 times: the latest thousands are kept, all are counted, and the
/// finding is that of all.
#[test]
fn all_absences_are_counted_and_the_latest_kept() {
    let mut feed = Feed::new(LinkType::Ieee80211);
    for n in 0..10_000u64 {
        let at = BEGIN + n * SECOND;
        feed.packet(at, &frame(QOS_DATA, false, n as u16));
        feed.packet(at + 300_000_000, &frame(NULL, true, n as u16 * 3 + 1));
        feed.packet(at + 900_000_000, &frame(NULL, false, n as u16 * 3 + 2));
    }
    let (id, absences) = feed.analysis.main.air.absences.first_key_value().unwrap();
    let kept = absences.so_far();
    // The last one may still be repeated.
    assert_eq!(absences.totals().absences, 9_999);
    assert!((2_048..=4_096).contains(&kept.len()));
    assert_eq!(kept.last().unwrap().from_ns, BEGIN + 9_998 * SECOND + 300_000_000);
    assert_eq!(
        Schedule::from_absences(&feed.analysis.main.air, *id, usize::MAX).unwrap().cause,
        Cause::PowerSave
    );
    let document = feed.document();
    let finding = document.findings.iter().find(|found| found.kind == Kind::PowerSave).unwrap();
    let expected = "it dozes 10000 times, 60 % of the time, for 600 ms in the median";
    assert!(finding.sentence.contains(expected), "{}", finding.sentence);
}

/// A scan of mac80211 as captured from Linux 6.1 in a virtual machine (tests/vm): 20 channels on
/// which it asks, 64 ms each, 15 on which it listens, 112 ms, 204 ms between them. Absences of
/// any length are none, be they many or four.
#[test]
fn a_scan_that_asks_and_listens_is_a_scan() {
    assert_eq!(cause_of(105, |n| if n % 35 < 20 { 64 } else { 112 }), Cause::Scan);
    // 20 to 580 ms, each as often: as long as traffic lets it.
    assert_eq!(cause_of(105, |n| 20 + n * 37 % 561), Cause::Unknown);
    assert_eq!(cause_of(4, |n| 50 << n), Cause::Unknown);
}

/// The cause of absences of these lengths in ms, each between frames of data.
fn cause_of(absences: u64, length_ms: impl Fn(u64) -> u64) -> Cause {
    let mut feed = Feed::new(LinkType::Ieee80211);
    let mut at = BEGIN;
    for n in 0..absences {
        feed.packet(at, &frame(QOS_DATA, false, n as u16 * 3));
        feed.packet(at + 2_000_000, &frame(NULL, true, n as u16 * 3 + 1));
        at += 2_000_000 + length_ms(n) * 1_000_000;
        feed.packet(at, &frame(NULL, false, n as u16 * 3 + 2));
        at += 202_000_000;
    }
    let (id, _) = feed.analysis.main.air.absences.first_key_value().unwrap();
    Schedule::from_absences(&feed.analysis.main.air, *id, usize::MAX).unwrap().cause
}

/// Times that are a century off, there and back: counted, and nothing else.
#[test]
fn any_times_are_read() {
    let century = 3_155_760_000 * SECOND;
    let mut feed = Feed::new(LinkType::Ieee80211);
    for (n, at) in [0, century, 1, 2 * century, u64::MAX, 5, century + 7].into_iter().enumerate() {
        feed.packet(at, &frame(QOS_DATA, false, n as u16));
    }
    let document = feed.document();
    assert_eq!((document.frames, document.unused.clock_backwards), (7, 2));
    let mut feed = Feed::new(LinkType::Ip);
    for at in [century, 0, u64::MAX, 5] {
        feed.packet(at, &udp(9));
    }
    assert_eq!(feed.document().flows.len(), 1);
}

/// Pages that this process has in memory, in MiB.
fn resident_mib() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages = text.split(' ').nth(1).unwrap();
    pages.parse::<u64>().unwrap() * 4 / 1_024
}

/// A test that measures memory runs alone.
static MEASURES: std::sync::Mutex<()> = std::sync::Mutex::new(());

/// Frames with forged addresses, each with a TCP segment: a sender takes some kilobytes, and the
/// time for a frame does not grow with their number.
#[test]
fn made_up_senders_take_little() {
    let _alone = MEASURES.lock();
    let mut feed = Feed::new(LinkType::Ieee80211);
    let before = resident_mib();
    for n in 0..100_000u32 {
        let mut frame = frame(QOS_DATA, false, n as u16);
        let [a, b, c, d] = n.to_be_bytes();
        frame[10..16].copy_from_slice(&[2, 9, a, b, c, d]);
        frame[4..10].copy_from_slice(&[2, 8, a, b, c, d]);
        frame.truncate(26);
        frame.extend([0xaa, 0xaa, 3, 0, 0, 0, 8, 0, 0x45, 0, 0, 40, 0, 0, 0, 0, 64, 6, 0, 0]);
        frame.extend([10, b, c, d, 10, 0, 0, 1, 1, 0, 1, 1]);
        frame.extend([d; 12]);
        feed.packet(BEGIN + u64::from(n) * 100_000, &frame);
    }
    let taken = resident_mib().saturating_sub(before);
    assert!(taken < 250, "{taken} MiB");
    let air = &feed.analysis.main.air;
    assert_eq!((air.stations.count(), air.links.len()), (65_536, 16_384));
    assert!(air.links_left_out.1 > 10_000);
    assert_eq!(feed.document().flows.len(), 4_096);
}

/// 2 048 stations send one frame a second each, with 40 sequence numbers: memory grows with the
/// numbers in use, not with all numbers.
#[test]
fn senders_of_few_numbers_take_little() {
    let _alone = MEASURES.lock();
    let mut feed = Feed::new(LinkType::Ieee80211);
    let before = resident_mib();
    for round in 0..40u64 {
        for station in 0..2_048u64 {
            let mut frame = frame(QOS_DATA, false, round as u16);
            frame[14..16].copy_from_slice(&(station as u16).to_be_bytes());
            feed.packet(BEGIN + round * SECOND + station * 100_000, &frame);
        }
    }
    let taken = resident_mib().saturating_sub(before);
    assert!(taken < 60, "{taken} MiB");
    let links = &feed.analysis.main.air.links;
    assert_eq!(links.len(), 2_048);
    assert!(links.values().all(|link| link.counts.mpdus >= 39));
}

/// 512 stations doze 400 times each: absences of all together are bounded, in memory and in the
/// document, all are counted, and findings of one kind are a list that one can read.
#[test]
fn many_stations_that_doze_take_little() {
    let _alone = MEASURES.lock();
    let mut feed = Feed::new(LinkType::Ieee80211);
    let before = resident_mib();
    for round in 0..400u64 {
        for station in 0..512u64 {
            let at = BEGIN + round * SECOND + station * 100_000;
            for (kind, saves, later) in
                [(QOS_DATA, false, 0), (NULL, true, 300), (NULL, false, 900)]
            {
                let mut frame = frame(kind, saves, round as u16);
                frame[14..16].copy_from_slice(&(station as u16).to_be_bytes());
                feed.packet(at + later * 1_000_000, &frame);
            }
        }
    }
    let air = &feed.analysis.main.air;
    let kept: usize = air.absences.values().map(|absences| absences.kept()).sum();
    assert!((65_536..=131_072).contains(&kept), "{kept}");
    assert!(air.absences.values().all(|absences| absences.totals().absences == 399));
    let taken = resident_mib().saturating_sub(before);
    assert!(taken < 150, "{taken} MiB");
    let document = feed.document();
    let stations = document.networks.values().flat_map(|network| network.stations.values());
    let away: Vec<_> = stations.filter_map(|station| station.away.as_ref()).collect();
    assert!(away.iter().all(|away| away.absences == 400 && away.list.len() == 32));
    assert!(document.to_json().len() < 32 << 20, "{}", document.to_json().len());
    let of_sleep = document.findings.iter().filter(|it| it.kind == Kind::PowerSave).count();
    assert_eq!((of_sleep, document.findings_left_out), (50, 512 - 50));
}

/// Of a day, a link has the last hours by second, and the sums of all.
#[test]
fn sums_outlive_seconds() {
    let mut feed = Feed::new(LinkType::Ieee80211);
    for n in 0..86_400u64 {
        feed.packet(BEGIN + n * SECOND, &frame(QOS_DATA, false, n as u16));
    }
    feed.analysis.finish();
    let link = feed.analysis.main.air.links.values().next().unwrap();
    assert_eq!((link.seconds.iter().count(), link.seconds.end()), (4 * 3_600, 86_400));
    assert_eq!(link.counts.mpdus, 86_400);
    // A link that comes once an hour rests in between, and loses nothing.
    let mut feed = Feed::new(LinkType::Ieee80211);
    for n in 0..3_000u64 {
        feed.packet(BEGIN + n * 3_600 * SECOND, &frame(QOS_DATA, false, n as u16));
    }
    let document = feed.document();
    let network = document.networks.values().next().unwrap();
    let up = network.stations.values().next().unwrap().up.as_ref().unwrap();
    assert_eq!((up.mpdus, up.chains, up.attempts.clone()), (3_000, 3_000, vec![3_000]));
    assert_eq!(up.payload_bytes, 60_000);
}

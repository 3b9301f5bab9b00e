//! Stations that change their access point: phases, failures, ping-pong, stations that stay; and
//! storms of Probe Requests. Times of frames are given, so that every duration is known.

use crate::feed::{Feed, GROUP, MS, SECOND, STATION, US, of_kind};
use crate::scene::{NEW, OLD, Phases, Scene, access_point, walk};
use lasthop_capture::document::{CaptureDocument, RoamSummary};
use lasthop_capture::finding::Kind;
use lasthop_capture::link::LinkType;
use proptest::prelude::*;

const OLD_NAME: &str = "02:00:00:00:00:0a";
const NEW_NAME: &str = "02:00:00:00:00:0b";

/// Two access points of a network, and data with the old one each 10 ms until 2 s.
fn network() -> Scene {
    let mut scene = Scene::default();
    scene.beacons(OLD, b"home", 10, None);
    scene.beacons(NEW, b"home", 10, None);
    (0..=200).for_each(|n| scene.data(n * 10_000, n % 2 == 0, OLD));
    scene
}

fn roam(document: &CaptureDocument) -> &RoamSummary {
    let [roam] = &document.roams[..] else { panic!("one: {:?}", document.roams) };
    roam
}

/// Every phase lasts as long as the frames say.
#[test]
fn a_roam_has_phases() {
    let mut scene = network();
    for n in 0..3 {
        scene.frame(2_100_000 + n * 100_000, [0x40, 0], [GROUP, STATION, GROUP], &[0, 0]);
    }
    scene.roam(2_500_000, NEW, OLD);
    let document = scene.document();
    let it = roam(&document);
    assert_eq!((&it.from[..], &it.to[..], &it.result[..]), (OLD_NAME, NEW_NAME, "done"));
    assert_eq!((it.ssid.as_deref(), it.authentication.as_deref()), (Some("home"), Some("open")));
    assert!(it.reassociation && !it.asked && it.removed.is_none());
    assert_eq!((it.probe_requests, it.messages), (3, Some([1; 4])));
    // Data counts at its Ack, 40 us later.
    assert_eq!(it.without_data_ms, Some(519.96));
    assert_eq!(it.joining_ms, Some(11.0));
    let phases = &it.phases;
    assert_eq!(phases.search_ms, Some(499.96));
    assert_eq!((phases.authentication_ms, phases.association_ms), (Some(3.0), Some(2.0)));
    assert_eq!((phases.keys_ms, phases.data_ms), (Some(6.0), Some(9.0)));
    let [finding] = of_kind(&document, Kind::SlowRoam)[..] else { panic!("one") };
    for words in [
        "02:00:00:00:00:02 roams slowly in home, from 02:00:00:00:00:0a to 02:00:00:00:00:0b",
        "520 ms pass from its last data there to its first here",
        "500 ms until it authenticates, with 3 Probe Requests",
        "6.0 ms keys",
    ] {
        assert!(finding.sentence.contains(words), "no \"{words}\" in {}", finding.sentence);
    }
}

/// A fast roam, and one in a pause of the data, are no problem. A change between networks is none
/// of one network.
#[test]
fn what_is_no_slow_roam() {
    let mut scene = network();
    scene.roam(2_010_000, NEW, OLD);
    let document = scene.document();
    assert_eq!(roam(&document).without_data_ms, Some(29.96));
    assert!(document.findings.is_empty(), "{:?}", document.findings);
    // Data each second: 500 ms without data are usual.
    let mut scene = Scene::default();
    scene.beacons(OLD, b"home", 30, None);
    scene.beacons(NEW, b"home", 30, None);
    (0..=20).for_each(|n| scene.data(n * 1_000_000, true, OLD));
    scene.roam(20_500_000, NEW, OLD);
    let document = scene.document();
    assert_eq!(roam(&document).without_data_ms, Some(519.96));
    assert!(of_kind(&document, Kind::SlowRoam).is_empty(), "{:?}", document.findings);
    let mut scene = Scene::default();
    scene.beacons(OLD, b"home", 10, None);
    scene.beacons(NEW, b"else", 10, None);
    (0..=200).for_each(|n| scene.data(n * 10_000, true, OLD));
    scene.roam(2_500_000, NEW, OLD);
    assert!(scene.document().roams.is_empty());
}

/// Fast transitions need no handshake: over the air, and over the distribution system while data
/// goes on.
#[test]
fn fast_transitions() {
    let mut scene = network();
    scene.authenticate(2_010_000, true, NEW, [2, 0, 1, 0, 0, 0]);
    scene.authenticate(2_012_000, false, NEW, [2, 0, 2, 0, 0, 0]);
    scene.reassociate(2_014_000, NEW, OLD);
    scene.associated(2_016_000, NEW, 0);
    let document = scene.document();
    let it = roam(&document);
    assert_eq!((&it.result[..], it.authentication.as_deref()), ("done", Some("FT")));
    assert_eq!((it.joining_ms, it.without_data_ms, it.phases.keys_ms), (Some(6.0), None, None));
    let mut scene = network();
    let ft = |action: u8, rest: &[u8]| [&[6, action][..], &STATION, &NEW, rest].concat();
    scene.manage(1_950_000, 0xd0, true, OLD, &ft(1, &[]));
    scene.manage(1_952_000, 0xd0, false, OLD, &ft(2, &[0, 0]));
    scene.reassociate(2_014_000, NEW, OLD);
    scene.associated(2_016_000, NEW, 0);
    scene.data(2_020_000, true, NEW);
    let document = scene.document();
    let it = roam(&document);
    assert_eq!((&it.result[..], it.authentication.as_deref()), ("done", Some("FT over the DS")));
    assert_eq!((it.without_data_ms, it.phases.search_ms), (Some(19.96), Some(0.0)));
}

/// A late copy of a Reassociation Request, after data with the new access point, is no roam.
#[test]
fn a_repeated_request_is_no_roam() {
    let mut scene = network();
    scene.roam(2_010_000, NEW, OLD);
    for n in 0..12 {
        scene.reassociate(3_000_000 + n * 100_000, NEW, OLD);
        scene.associated(3_004_000 + n * 100_000, NEW, 0);
        scene.data(3_050_000 + n * 100_000, true, NEW);
    }
    assert_eq!(scene.document().roams.len(), 1);
}

/// The station names the old access point, which the monitor does not hear, or says nothing and
/// sends data.
#[test]
fn a_monitor_hears_a_part() {
    let mut scene = Scene::default();
    scene.beacons(NEW, b"home", 10, None);
    scene.roam(2_000_000, NEW, OLD);
    let document = scene.document();
    let it = roam(&document);
    assert_eq!((&it.from[..], it.without_data_ms, it.joining_ms), (OLD_NAME, None, Some(11.0)));
    let mut scene = network();
    (0..10).for_each(|n| scene.data(2_300_000 + n * 10_000, true, NEW));
    let document = scene.document();
    let it = roam(&document);
    assert_eq!((it.without_data_ms, it.joining_ms), (Some(299.96), None));
    // Two frames may be damaged ones; data to the station may be sent in vain.
    let mut scene = network();
    (0..2).for_each(|n| scene.data(2_300_000 + n * 10_000, true, NEW));
    (0..20).for_each(|n| scene.data(2_500_000 + n * 10_000, false, NEW));
    assert!(scene.document().roams.is_empty());
}

#[test]
fn roams_that_fail() {
    let fails = |scene: Scene, words: &[&str]| {
        let document = scene.document();
        let [finding] = of_kind(&document, Kind::RoamFailed)[..] else {
            panic!("one: {:?}", document.findings)
        };
        for words in words {
            assert!(finding.sentence.contains(words), "no \"{words}\" in {}", finding.sentence);
        }
        // Each failure is told once.
        let others = [Kind::JoinRefused, Kind::HandshakeFailed, Kind::JoinUnanswered];
        assert!(others.iter().all(|kind| of_kind(&document, *kind).is_empty()));
        assert_eq!(roam(&document).result, "failed");
    };
    let from_to = "fails once to change from 02:00:00:00:00:0a to 02:00:00:00:00:0b of home";
    // Refused: an unknown PMKID in a fast transition; too many stations. It stays where it is.
    let mut scene = network();
    scene.authenticate(2_010_000, true, NEW, [2, 0, 1, 0, 0, 0]);
    scene.authenticate(2_012_000, false, NEW, [2, 0, 2, 0, 53, 0]);
    scene.data(2_100_000, true, OLD);
    fails(scene, &[from_to, "refuses its fast transition (status 53, invalid PMKID)"]);
    let mut scene = network();
    scene.authenticate(2_010_000, true, NEW, [0, 0, 1, 0, 0, 0]);
    scene.authenticate(2_012_000, false, NEW, [0, 0, 2, 0, 0, 0]);
    scene.reassociate(2_014_000, NEW, OLD);
    scene.associated(2_016_000, NEW, 17);
    fails(scene, &[from_to, "refuses its association (status 17, too many stations"]);
    // Not answered.
    let mut scene = network();
    for n in 0..3 {
        scene.authenticate(2_010_000 + n * 200_000, true, NEW, [0, 0, 1, 0, 0, 0]);
    }
    scene.data(3_000_000, true, OLD);
    fails(scene, &[from_to, "the access point does not answer its authentication"]);
    // Another passphrase: message 2 is answered by message 1 again, then by a deauthentication.
    let mut scene = network();
    scene.authenticate(2_010_000, true, NEW, [0, 0, 1, 0, 0, 0]);
    scene.authenticate(2_012_000, false, NEW, [0, 0, 2, 0, 0, 0]);
    scene.reassociate(2_014_000, NEW, OLD);
    scene.associated(2_016_000, NEW, 0);
    (0..4).for_each(|n| scene.handshake(2_020_000 + n * 1_000_000, NEW, &[1, 2]));
    scene.manage(6_100_000, 0xc0, false, NEW, &[15, 0]);
    let end = "the access point ends the attempt during the handshake for keys (reason 15, 4-way \
               handshake timeout), after message 1 came 4 times, message 2 4, message 3 0";
    fails(scene, &[from_to, end]);
}

/// Data with the old access point goes on beside an attempt that fails.
#[test]
fn data_beside_an_attempt() {
    let mut scene = network();
    for n in 0..3 {
        scene.authenticate(1_002_000 + n * 200_000, true, NEW, [0, 0, 1, 0, 0, 0]);
    }
    let document = scene.document();
    let it = roam(&document);
    assert_eq!((&it.result[..], it.phases.search_ms, it.without_data_ms), ("failed", None, None));
    assert!((it.to_s - it.from_s - 0.4).abs() < 1e-5, "{it:?}");
}

/// The next roam is told with the failure.
#[test]
fn what_follows_a_failure() {
    let mut scene = network();
    scene.authenticate(2_010_000, true, NEW, [0, 0, 1, 0, 0, 0]);
    scene.authenticate(2_012_000, false, NEW, [0, 0, 2, 0, 17, 0]);
    let other = [2, 0, 0, 0, 0, 0x0c];
    scene.beacons(other, b"home", 10, None);
    scene.roam(3_000_000, other, OLD);
    let document = scene.document();
    assert_eq!(document.roams.len(), 2);
    let sentence = &of_kind(&document, Kind::RoamFailed)[0].sentence;
    assert!(sentence.ends_with("it joins 02:00:00:00:00:0c 1.0 s later"), "{sentence}");
    // Its data stops with the old access point, and goes on with the third.
    assert_eq!(document.roams[1].without_data_ms, Some(1_019.96));
}

#[test]
fn requests_and_removals_before_a_roam() {
    let mut scene = network();
    scene.manage(1_990_500, 0xd0, false, OLD, &[10, 7, 1, 5, 0, 0, 255]);
    scene.manage(2_005_000, 0xa0, false, OLD, &[12, 0]);
    scene.roam(2_010_000, NEW, OLD);
    let document = scene.document();
    let it = roam(&document);
    assert!(it.asked);
    assert_eq!(it.removed.as_deref(), Some("by the access point: reason 12, BSS transition"));
    let removals = document.networks[OLD_NAME].removals.as_ref().unwrap();
    assert_eq!((removals.disassociations, removals.by_access_point), (1, 1));
    assert_eq!(removals.reasons["reason 12, BSS transition"], 1);
}

#[test]
fn there_and_back_again() {
    let changes = |apart_us: u64| {
        let mut scene = network();
        let places = [OLD, NEW];
        for n in 0..5usize {
            let at_us = 2_010_000 + n as u64 * apart_us;
            scene.roam(at_us, places[(n + 1) % 2], places[n % 2]);
        }
        scene.document()
    };
    let document = changes(5_000_000);
    assert_eq!(document.roams.len(), 5);
    let [finding] = of_kind(&document, Kind::PingPong)[..] else { panic!("one") };
    let words = "changes from 02:00:00:00:00:0a to 02:00:00:00:00:0b of home and goes back 4 times, \
                 after 5.0 s at the least";
    assert!(finding.sentence.contains(words), "{}", finding.sentence);
    let document = changes(40_000_000);
    assert_eq!(document.roams.len(), 5);
    assert!(of_kind(&document, Kind::PingPong).is_empty(), "{:?}", document.findings);
}

/// The monitor is beside the station, or elsewhere; the other access point is much stronger, or not.
#[test]
fn a_station_that_stays() {
    let stay = |station: i8, old: i8, new: i8| {
        let mut scene = Scene::default();
        scene.beacons(OLD, b"home", 90, Some(old));
        scene.beacons(NEW, b"home", 90, Some(new));
        for n in 0..600u64 {
            scene.data(n * 150_000 + 50_000, true, OLD);
            let count = scene.frames.len();
            scene.frames[count - 2].1 = Some(station);
        }
        scene.document()
    };
    let document = stay(-45, -82, -55);
    let [finding] = of_kind(&document, Kind::StickyStation)[..] else {
        panic!("one: {:?}", document.findings)
    };
    for words in [
        "02:00:00:00:00:02 stays at 02:00:00:00:00:0a for 8",
        "at -82 dBm",
        "0b of the same",
        "-55 dBm",
    ] {
        assert!(finding.sentence.contains(words), "no \"{words}\" in {}", finding.sentence);
    }
    for (station, old, new) in [(-70, -82, -55), (-45, -60, -40), (-45, -82, -75)] {
        assert!(of_kind(&stay(station, old, new), Kind::StickyStation).is_empty());
    }
}

#[test]
fn a_storm_of_probe_requests() {
    let probes = |a_second: u64, stations: u8| {
        let mut feed = Feed::new(LinkType::Ieee80211);
        for n in 0..a_second * 20 {
            let station = [2, 0, 0, 0, 2, (n % u64::from(stations)) as u8];
            let mut frame = vec![0x40, 0, 0, 0];
            frame.extend([GROUP, station, GROUP].concat());
            frame.extend(((n as u16) << 4).to_le_bytes());
            frame.extend([0, 4, b'h', b'o', b'm', b'e']);
            feed.packet(n * SECOND / a_second, &frame);
        }
        feed.document()
    };
    let document = probes(50, 1);
    let sentence = &of_kind(&document, Kind::ProbeStorm)[0].sentence;
    assert!(
        sentence
            .contains("02:00:00:00:02:00 sends 500 Probe Requests in ten seconds (1000 in all)"),
        "{sentence}"
    );
    let document = probes(200, 50);
    let sentence = &of_kind(&document, Kind::ProbeStorm)[0].sentence;
    assert!(sentence.contains("2000 in ten seconds, 4000 in all"), "{sentence}");
    // Fifty devices that scan, each a request a second on this channel.
    assert!(of_kind(&probes(50, 50), Kind::ProbeStorm).is_empty());
}

/// A rate whose level is far too low, beside the receiver; and the same where the level suffices.
#[test]
fn a_signal_that_is_too_low_for_its_rate() {
    let hear = |station: i8, receiver: i8| {
        let mut feed = Feed::new(LinkType::Radiotap);
        let mut at_ns = 0;
        for n in 0..400u64 {
            // 54 Mb/s: four of five attempts have no Ack.
            let number = (n / 5) as u16;
            let mut data = vec![0x88, if n % 5 == 0 { 1 } else { 9 }, 0, 0];
            data.extend([OLD, STATION, OLD].concat());
            data.extend((number << 4).to_le_bytes());
            data.extend([0; 100]);
            let head = [0, 0, 10, 0, 0x24, 0, 0, 0, 108, station.cast_unsigned()];
            at_ns += MS;
            feed.packet(at_ns, &[&head[..], &data].concat());
            if n % 5 == 4 {
                let ack = [&[0xd4, 0, 0, 0][..], &STATION].concat();
                let head = [0, 0, 10, 0, 0x24, 0, 0, 0, 48, receiver.cast_unsigned()];
                feed.packet(at_ns + 60 * US, &[&head[..], &ack].concat());
            }
            let mut body = (n * 1_000).to_le_bytes().to_vec();
            body.extend([100, 0, 1, 0, 0, 4, b'h', b'o', b'm', b'e']);
            let mut beacon = vec![0x80, 0, 0, 0];
            beacon.extend([GROUP, OLD, OLD].concat());
            beacon.extend(((n as u16) << 4).to_le_bytes());
            beacon.extend(body);
            let head = [0, 0, 10, 0, 0x24, 0, 0, 0, 12, receiver.cast_unsigned()];
            feed.packet(at_ns + 500 * US, &[&head[..], &beacon].concat());
        }
        feed.document()
    };
    let document = hear(-80, -40);
    let [finding] = of_kind(&document, Kind::SignalTooLow)[..] else {
        panic!("one: {:?}", document.findings)
    };
    for words in
        ["80 % of the frames", "at OFDM 54 Mb/s they are heard at -80 dBm", "at most -65 dBm"]
    {
        assert!(finding.sentence.contains(words), "no \"{words}\" in {}", finding.sentence);
    }
    for (station, receiver) in [(-60, -40), (-80, -75)] {
        let document = hear(station, receiver);
        assert!(of_kind(&document, Kind::SignalTooLow).is_empty());
        assert_eq!(of_kind(&document, Kind::HighRetry).len(), 1, "{:?}", document.findings);
    }
}

fn steps() -> impl Strategy<Value = Vec<(usize, Phases)>> {
    let times = (1..2_000u64, 1..50u64, 1..50u64, prop_oneof![Just(0), 4..200u64], 1..300u64);
    prop::collection::vec((0..4usize, times.prop_map(|(a, b, c, d, e)| [a, b, c, d, e])), 0..12)
}

fn any_frame() -> impl Strategy<Value = (u8, usize, bool, u8, usize)> {
    (0..10u8, 0..4usize, any::<bool>(), 0..3u8, 0..4usize)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Each roam is found, with the length of each phase.
    #[test]
    fn walks_have_their_roams(steps in steps()) {
        let (scene, expected) = walk(&steps);
        let document = scene.document();
        prop_assert_eq!(document.roams.len(), expected.len());
        for (roam, (from, to, times)) in document.roams.iter().zip(&expected) {
            let name = |ap: usize| format!("02:00:00:00:00:{:02x}", 0x0a + ap);
            prop_assert_eq!((&roam.from, &roam.to), (&name(*from), &name(*to)));
            prop_assert_eq!(&roam.result[..], "done");
            let [search, authentication, association, keys, data] = times.map(|ms| ms as f64);
            let phases = &roam.phases;
            // The last data before is acknowledged after 40 us.
            prop_assert_eq!(phases.search_ms, Some(search - 0.04));
            prop_assert_eq!(phases.authentication_ms, Some(authentication));
            prop_assert_eq!(phases.association_ms, Some(association));
            prop_assert_eq!(phases.keys_ms, (keys > 0.0).then_some(keys));
            prop_assert_eq!(phases.data_ms, Some(data));
            let all = search + authentication + association + keys + data - 0.04;
            prop_assert!((roam.without_data_ms.unwrap() - all).abs() < 1e-3);
        }
    }

    /// A monitor that misses frames finds no failure and not more roams than there are.
    #[test]
    fn missed_frames_make_no_roams(steps in steps(), missed in prop::collection::vec(any::<u8>(), 400)) {
        let (mut scene, expected) = walk(&steps);
        let mut draw = missed.iter().cycle();
        scene.frames.retain(|_| draw.next().is_some_and(|draw| *draw >= 64));
        let document = scene.document();
        prop_assert!(document.roams.len() <= expected.len(), "{:?}", document.roams);
        prop_assert!(document.roams.iter().all(|roam| roam.result != "failed"));
        for kind in [Kind::RoamFailed, Kind::JoinRefused, Kind::HandshakeFailed, Kind::JoinUnanswered] {
            prop_assert!(of_kind(&document, kind).is_empty());
        }
    }

    /// Any frames of joining, in any order: nothing fails, and phases are no longer than the roam.
    #[test]
    fn any_frames(frames in prop::collection::vec(any_frame(), 0..80)) {
        let mut scene = Scene::default();
        for (n, (kind, ap, is_up, status, other)) in (0u64..).zip(frames) {
            let (at_us, ap) = (n * 20_000, access_point(ap));
            match kind {
                0 | 1 => scene.authenticate(at_us, is_up, ap, [kind * 2, 0, 1 + u8::from(!is_up), 0, status, 0]),
                2 => scene.reassociate(at_us, ap, access_point(other)),
                3 => scene.associated(at_us, ap, status),
                4 => scene.handshake(at_us, ap, &[1 + status, 2]),
                5 => scene.manage(at_us, 0xc0, is_up, ap, &[status, 0]),
                6 => {
                    let body = [&[6, 1 + status][..], &STATION, &access_point(other), &[status, 0]];
                    scene.manage(at_us, 0xd0, is_up, ap, &body.concat());
                }
                7 => scene.manage(at_us, 0xd0, false, ap, &[10, 7]),
                _ => scene.data(at_us, is_up, ap),
            }
        }
        scene.beacons(OLD, b"home", 2, None);
        scene.beacons(NEW, b"home", 2, None);
        let document = scene.document();
        for roam in &document.roams {
            prop_assert!(roam.from != roam.to && roam.from_s <= roam.to_s);
            prop_assert!(roam.frames[0] <= roam.frames[1]);
            let phases = &roam.phases;
            let sum: f64 = [phases.search_ms, phases.authentication_ms, phases.association_ms, phases.keys_ms, phases.data_ms]
                .iter().flatten().sum();
            prop_assert!(sum <= (roam.to_s - roam.from_s) * 1e3 + 0.01, "{sum} {roam:?}");
            prop_assert_eq!(roam.failed.is_some(), roam.result == "failed");
        }
    }
}

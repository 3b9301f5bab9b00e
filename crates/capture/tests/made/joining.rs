//! Stations that are thrown out, refused, or do not agree on keys; and stations that are far away.

use crate::feed::{AP, Feed, GROUP, MS, SECOND, STATION, beacon, frame, of_kind};
use lasthop_capture::document::CaptureDocument;
use lasthop_capture::finding::Kind;
use lasthop_capture::link::LinkType;

/// A network with its beacons, and other frames at times in ms.
fn network(frames: Vec<(u64, Vec<u8>)>) -> CaptureDocument {
    let mut all: Vec<_> = (0..600u64)
        .map(|n| (n * 102, beacon(n as u16, n * 102_400, b"home")))
        .chain(frames)
        .collect();
    all.sort_by_key(|(at_ms, _)| *at_ms);
    let mut feed = Feed::new(LinkType::Ieee80211);
    all.iter().for_each(|(at_ms, bytes)| feed.packet(at_ms * MS, bytes));
    feed.document()
}

const DEAUTHENTICATION: u8 = 0xc0;
const DISASSOCIATION: u8 = 0xa0;

fn removal(kind: u8, to: [u8; 6], from: [u8; 6], number: u16, reason: u16) -> Vec<u8> {
    frame([kind, 0], to, from, number, &reason.to_le_bytes())
}

#[test]
fn a_flood_is_told_with_reason_and_rate() {
    let flood = (0..640u64).map(|n| {
        let (to, from) = if n % 2 == 0 { (STATION, AP) } else { (AP, STATION) };
        (5_000 + n / 64 * 1_000 + n % 64, removal(DEAUTHENTICATION, to, from, n as u16, 7))
    });
    let document = network(flood.collect());
    let [finding] = of_kind(&document, Kind::Deauthentication)[..] else { panic!("one") };
    for words in [
        "640 deauthentications",
        "52 % of all frames",
        "up to 64 a second",
        "02:00:00:00:00:02",
        "reason 7, class 3 frame from a station that is not associated",
        "forged",
    ] {
        assert!(finding.sentence.contains(words), "no \"{words}\" in {}", finding.sentence);
    }
    assert_eq!(document.findings[0].kind, Kind::Deauthentication);
    // To all, by disassociations.
    let flood = (0..200u64).map(|n| (n * 20, removal(DISASSOCIATION, GROUP, AP, n as u16, 8)));
    let document = network(flood.collect());
    let sentence = &of_kind(&document, Kind::Deauthentication)[0].sentence;
    assert!(
        sentence.contains("200 disassociations") && sentence.contains("all stations"),
        "{sentence}"
    );
}

#[test]
fn who_is_thrown_out_again_and_again() {
    let removals = |times: u64| -> Vec<_> {
        (0..times)
            .map(|n| (n * 9_000, removal(DEAUTHENTICATION, STATION, AP, n as u16, 4)))
            .collect()
    };
    let document = network(removals(6));
    let sentence = &of_kind(&document, Kind::Deauthentication)[0].sentence;
    assert!(sentence.contains("6 times (6 deauthentications; reason 4, inactivity)"), "{sentence}");
    // Twice in a minute, or one removal that is repeated, is nothing.
    assert!(of_kind(&network(removals(2)), Kind::Deauthentication).is_empty());
    let mut repeated = removal(DEAUTHENTICATION, STATION, AP, 1, 3);
    let mut frames = vec![(1_000, repeated.clone())];
    repeated[1] |= 8;
    frames.extend((1..40).map(|n| (1_000 + n, repeated.clone())));
    assert!(of_kind(&network(frames), Kind::Deauthentication).is_empty());
    // An access point that goes, and throws twenty stations out.
    let goes = (0..20u8).map(|n| (1_000, removal(DEAUTHENTICATION, [2, 0, 0, 0, 1, n], AP, 1, 3)));
    assert!(of_kind(&network(goes.collect()), Kind::Deauthentication).is_empty());
}

#[test]
fn refusals_have_their_status_in_words() {
    let authentication =
        |status: u16| frame([0xb0, 0], STATION, AP, 1, &[0, 0, 2, 0, status as u8, 0]);
    let association =
        |status: u16| frame([0x10, 0], STATION, AP, 2, &[1, 0, status as u8, 0, 0, 0]);
    let document =
        network(vec![(100, authentication(13)), (200, association(17)), (300, association(17))]);
    let sentences: Vec<_> =
        of_kind(&document, Kind::JoinRefused).iter().map(|it| &it.sentence[..]).collect();
    let has = |words: &str| sentences.iter().any(|sentence| sentence.contains(words));
    assert!(
        has(
            "authentication of 02:00:00:00:00:02 once (status 13, authentication algorithm not supported)"
        ),
        "{sentences:?}"
    );
    assert!(
        has("association of 02:00:00:00:00:02 2 times (status 17, too many stations"),
        "{sentences:?}"
    );
    // Success, and SAE that asks for another first message or has its password element by hashing.
    for status in [0, 76, 77, 126] {
        let document = network(vec![(100, authentication(status)), (200, association(0))]);
        assert!(of_kind(&document, Kind::JoinRefused).is_empty(), "{status}");
    }
}

/// A message of the 4-way handshake: key information, and length of its key data.
fn message(number: u16, information: u16, data: u16) -> Vec<u8> {
    let mut body = vec![0xaa, 0xaa, 3, 0, 0, 0, 0x88, 0x8e, 2, 3];
    body.extend((95 + data).to_be_bytes());
    body.push(2);
    body.extend(information.to_be_bytes());
    body.extend([0; 90]);
    body.extend(data.to_be_bytes());
    body.resize(body.len() + usize::from(data), 0);
    if information & 0x80 != 0 {
        frame([0x08, 2], STATION, AP, number, &body)
    } else {
        frame([0x08, 1], AP, STATION, number, &body)
    }
}

#[test]
fn handshakes_that_fail() {
    let [first, second, third, fourth] = [(0x008a, 0), (0x010a, 22), (0x13ca, 56), (0x030a, 0)];
    let say = |messages: &[(u16, u16)]| -> Vec<_> {
        let frames = messages.iter().zip(1u16..);
        frames
            .map(|((information, data), n)| (u64::from(n) * 500, message(n, *information, *data)))
            .collect()
    };
    let mut wrong = say(&[first, second, first, second, first, second, first, second]);
    wrong.push((5_000, removal(DEAUTHENTICATION, STATION, AP, 99, 15)));
    let document = network(wrong);
    let [finding] = of_kind(&document, Kind::HandshakeFailed)[..] else { panic!("one") };
    for words in [
        "fails once",
        "message 1 came 4 times, message 2 4, message 3 0",
        "reason 15, 4-way handshake timeout",
        "another passphrase",
    ] {
        assert!(finding.sentence.contains(words), "no \"{words}\" in {}", finding.sentence);
    }
    let document = network(say(&[first, first, first, first]));
    assert!(of_kind(&document, Kind::HandshakeFailed)[0].sentence.contains("does not answer"));
    // Whole; message 4 missed; and encrypted data behind messages of which most were missed.
    let mut missed = say(&[first, first, first]);
    missed.push((3_000, frame([0x08, 0x41], AP, STATION, 9, &[0; 40])));
    for frames in [say(&[first, second, third, fourth]), say(&[first, second, third]), missed] {
        assert!(of_kind(&network(frames), Kind::HandshakeFailed).is_empty());
    }
}

/// Levels in radiotap: a station that is far from the access point beside which the monitor is;
/// a monitor that is far from both.
#[test]
fn a_weak_signal_is_one_beside_a_strong_one() {
    // Each `step`th number is heard: others are missed.
    let hear_some = |station_dbm: i8, access_point_dbm: i8, rate: u8, step: u16| {
        let mut feed = Feed::new(LinkType::Radiotap);
        for n in 0..300u64 {
            let number = n as u16 * step % 4_096;
            let up = frame([0x88, 1], AP, STATION, number, &[0; 90]);
            let down = beacon(n as u16, n * 102_400, b"home");
            for (bytes, dbm, rate) in [(up, station_dbm, rate), (down, access_point_dbm, 2)] {
                let head = [0, 0, 10, 0, 0x24, 0, 0, 0, rate, dbm as u8];
                feed.packet(n * SECOND / 10 + u64::from(rate), &[&head[..], &bytes].concat());
            }
        }
        feed.document()
    };
    let hear = |station, access_point, rate| hear_some(station, access_point, rate, 1);
    let document = hear(-83, -45, 12);
    let sentence = &of_kind(&document, Kind::WeakSignal)[0].sentence;
    assert!(sentence.contains("02:00:00:00:00:02 is heard at -83 dBm"), "{sentence}");
    // At a high rate; both far away; both near.
    for (station, access_point, rate) in [(-83, -45, 108), (-83, -80, 12), (-50, -45, 12)] {
        assert!(of_kind(&hear(station, access_point, rate), Kind::WeakSignal).is_empty());
    }
    // The monitor hears the slow ones only.
    let document = hear_some(-83, -45, 12, 10);
    assert!(of_kind(&document, Kind::WeakSignal).is_empty(), "{:?}", document.findings);
}

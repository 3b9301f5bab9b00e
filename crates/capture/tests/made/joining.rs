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
        "320 in the name of the access point to one station, 320 in the names of stations",
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
    let words = "6 times (6 deauthentications; reason 4, inactivity), sent by the access point";
    assert!(sentence.contains(words), "{sentence}");
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

/// Deauthentications in the names of a hundred networks, as tools with random addresses send them.
#[test]
fn a_flood_with_forged_addresses() {
    let forged = |networks: u64| -> Vec<_> {
        (0..200u64)
            .map(|n| {
                let from = [2, 0, 0, 0, 9, (n % networks) as u8];
                let mut frame = removal(DEAUTHENTICATION, GROUP, from, n as u16, 1);
                frame[16..22].copy_from_slice(&from);
                (n * 20, frame)
            })
            .collect()
    };
    let document = network(forged(100));
    let [finding] = of_kind(&document, Kind::Deauthentication)[..] else { panic!("one") };
    assert!(
        finding.sentence.contains("of 100 networks, up to 50 a second"),
        "{}",
        finding.sentence
    );
    // A few of many access points.
    let document = network(forged(100).into_iter().step_by(10).collect());
    assert!(of_kind(&document, Kind::Deauthentication).is_empty());
}

/// Frames in the name of the access point that are heard much stronger than its beacons.
#[test]
fn another_radio_sends_them() {
    let mut feed = Feed::new(LinkType::Radiotap);
    let heard = |dbm: i8, frame: &[u8]| {
        [&[0, 0, 9, 0, 0x20, 0, 0, 0, dbm.cast_unsigned()][..], frame].concat()
    };
    for n in 0..200u64 {
        feed.packet(n * 20 * MS, &heard(-70, &beacon(n as u16, n * 20_480, b"home")));
        let forged = removal(DEAUTHENTICATION, STATION, AP, n as u16, 7);
        feed.packet(n * 20 * MS + MS, &heard(-40, &forged));
    }
    let document = feed.document();
    let sentence = &of_kind(&document, Kind::Deauthentication)[0].sentence;
    let words = "they are heard at -40 dBm, and its beacons at -70 dBm, so that another radio";
    assert!(sentence.contains(words), "{sentence}");
}

/// SAE says which of its messages is refused, and requests without an answer are told.
#[test]
fn authentication_by_what() {
    let sae = |transaction: u8, status: u8| {
        let body = [3, 0, transaction, 0, status, 0];
        frame([0xb0, 0], STATION, AP, 1, &body)
    };
    let document = network(vec![(100, sae(2, 15)), (200, sae(1, 1))]);
    let sentences: Vec<_> =
        of_kind(&document, Kind::JoinRefused).iter().map(|it| &it.sentence[..]).collect();
    for words in ["the SAE confirm of 02:00:00:00:00:02 once (status 15", "the SAE commit of"] {
        assert!(sentences.iter().any(|it| it.contains(words)), "{sentences:?}");
    }
    let ask = |times: u64| -> Vec<_> {
        let request = |n: u64| frame([0xb0, 0], AP, STATION, n as u16, &[0, 0, 1, 0, 0, 0]);
        (0..times).map(|n| (1_000 + n * 200, request(n))).collect()
    };
    let document = network(ask(3));
    let [finding] = of_kind(&document, Kind::JoinUnanswered)[..] else { panic!("one") };
    assert!(
        finding
            .sentence
            .contains("does not answer 02:00:00:00:00:02, which asks 3 times for authentication"),
        "{}",
        finding.sentence
    );
    let mut answered = ask(3);
    answered.push((1_250, frame([0xb0, 0], STATION, AP, 1, &[0, 0, 2, 0, 0, 0])));
    assert!(of_kind(&network(answered), Kind::JoinUnanswered).is_empty());
    // Data shows that the answer was missed. An answer that is heard after three requests was late.
    let mut missed = ask(3);
    missed.push((2_000, frame([0x08, 0x41], AP, STATION, 9, &[0; 40])));
    assert!(of_kind(&network(missed), Kind::JoinUnanswered).is_empty());
    let mut late = ask(3);
    late.push((2_000, frame([0xb0, 0], STATION, AP, 1, &[0, 0, 2, 0, 0, 0])));
    assert_eq!(of_kind(&network(late), Kind::JoinUnanswered).len(), 1);
    assert!(of_kind(&network(ask(2)), Kind::JoinUnanswered).is_empty());
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
    let mut once = say(&[first]);
    once.push((5_000, removal(DEAUTHENTICATION, STATION, AP, 99, 15)));
    let document = network(once);
    let sentence = &of_kind(&document, Kind::HandshakeFailed)[0].sentence;
    assert!(sentence.contains("(message 1 came once, message 2 0, message 3 0"), "{sentence}");
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

//! WPA2-PSK opened: a capture of Linux' mac80211 with hostapd and wpa_supplicant, compared packet
//! by packet with what tshark opens of it (skipped where there is none) and with numbers that
//! tshark gave; the same with messages left out, cut, or in another order; and frames of every
//! shape that are made here (`scene`), whose judge is tshark, too.

#![allow(clippy::unwrap_used, reason = "a test that unwraps fails, which is its job")]

mod air;
mod scene;

use air::{Air, Bodies};
use lasthop_capture::decrypt::{DecryptCounts, PAIRS_MAX};
use lasthop_capture::document::CaptureDocument;
use scene::{ACCESS_POINT, GTK, STATION, Scene, Shape, datagram, shapes};
use std::collections::BTreeMap;

const HOME: &str = "lasthop home:correct horse battery";
const OFFICE: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
const FOURTH: &str = "fourth:known but of no use";
/// The same as tshark has them.
const TSHARK: [&str; 3] = [
    "\"wpa-pwd\",\"correct horse battery:lasthop home\"",
    "\"wpa-psk\",\"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\"",
    "\"wpa-pwd\",\"known but of no use:fourth\"",
];
const SCENE: &str = "scene:correct horse";
const TSHARK_SCENE: [&str; 1] = ["\"wpa-pwd\",\"correct horse:scene\""];

/// Frame Control of a packet.
fn control(air: &Air, number: u64) -> [u8; 2] {
    let packet = &air.packets[number as usize - 1].bytes;
    let radiotap = usize::from(u16::from_le_bytes([packet[2], packet[3]]));
    [packet[radiotap], packet[radiotap + 1]]
}

/// Both opened the same, but that tshark (4.0) does not open frames with four addresses.
fn assert_same(air: &Air, ours: &Bodies, theirs: &Bodies) {
    for (number, body) in theirs {
        assert_eq!(ours.get(number), Some(body), "packet {number}");
    }
    for (number, body) in ours.iter().filter(|(number, _)| !theirs.contains_key(number)) {
        assert_eq!(control(air, *number)[1] & 3, 3, "packet {number}: not opened by tshark");
        assert_eq!(body[..6], [0xaa, 0xaa, 3, 0, 0, 0], "packet {number}");
    }
}

/// tshark 4.0.17 opens 249 frames, and none of the 22 with four addresses.
#[test]
fn a_real_capture_is_opened_as_tshark_opens_it() {
    let air = Air::real();
    let (ours, counts) = air.open(&[HOME, OFFICE, FOURTH]);
    if let Some(theirs) = air.tshark(&TSHARK) {
        assert!(theirs.len() >= 249);
        assert_same(&air, &ours, &theirs);
    }
    let expected = DecryptCounts {
        opened: 249 + 22,
        unsupported: BTreeMap::from([("SAE", 27), ("TKIP", 10)]),
        not_data: 4,
        // Those of five stations, and two rekeyings of two of them.
        handshakes: 9,
        ..DecryptCounts::default()
    };
    assert_eq!(counts, expected);
    let analysis = air.analyse(&[HOME, OFFICE, FOURTH]);
    assert_eq!(analysis.decryption().unwrap().counts(), &expected);
    assert_eq!(analysis.file.counts.protected, expected.protected());
    assert_eq!(analysis.file.errors, []);
}

/// The analysis of opened frames equals that of the same frames sent in the clear.
#[test]
fn flows_are_those_of_the_same_frames_in_the_clear() {
    let air = Air::real();
    let psks = [HOME, OFFICE, FOURTH];
    let (bodies, _) = air.open(&psks);
    let mut clear = air.clone();
    for (number, body) in &bodies {
        let [low, high] = control(&air, *number);
        let packet = &mut clear.packets[*number as usize - 1];
        let radiotap = usize::from(u16::from_le_bytes([packet.bytes[2], packet.bytes[3]]));
        let mut header = 24;
        header += if high & 3 == 3 { 6 } else { 0 };
        header += if low & 0x80 != 0 { 2 } else { 0 };
        packet.bytes.truncate(radiotap + header);
        packet.bytes[radiotap + 1] &= !0x40;
        packet.bytes.extend(body);
        packet.length = packet.bytes.len() as u32;
    }
    let document = |air: &Air, psks: &[&str]| CaptureDocument::new("air", &air.analyse(psks));
    let (opened, expected) = (document(&air, &psks), document(&clear, &[]));
    assert_eq!(opened.flows, expected.flows);
    assert_eq!(opened.counts.tcp, expected.counts.tcp);
    // tshark of the real capture: 38 segments, of which the client sent 20, with 16 000 bytes.
    assert_eq!(opened.counts.tcp, 38);
    let flow = opened.flows.values().find(|flow| flow.protocol == "tcp").unwrap();
    let sent: Vec<_> = flow.from.values().map(|from| (from.packets, from.payload_bytes)).collect();
    assert!(sent.contains(&(20, 16_000)), "{sent:?}");
    let without = document(&air, &[]);
    assert_eq!((without.flows.len(), without.decryption.is_none()), (0, true));
    assert_eq!(opened.unused.protected + 271, without.unused.protected);
}

/// A passphrase alone is for every network that is heard; each for one network is for that.
#[test]
fn passphrases_are_for_one_network_or_for_all() {
    let air = Air::real();
    let (all, _) = air.open(&[HOME, OFFICE, FOURTH]);
    let (anywhere, counts) = air.open(&["correct horse battery", "known but of no use", OFFICE]);
    assert_eq!((all, counts.handshakes), (anywhere, 9));
    let (_, counts) = air.open(&["lasthop:correct horse battery", OFFICE]);
    // The access points of the first and the fourth network; that of the third is not read.
    assert!(counts.wrong_passphrase > 100 && counts.no_handshake == 0, "{counts:?}");
    assert_eq!((counts.handshakes, counts.unsupported["SAE"]), (2, 27));
    let analysis = air.analyse(&["wrong horse battery"]);
    let refused: Vec<_> = analysis.decryption().unwrap().refused().into_iter().collect();
    let refused: Vec<_> = refused.iter().map(|(at, stations)| (at.0[4], *stations)).collect();
    assert_eq!(refused, [(0, 2), (3, 2), (7, 1)]);
    assert_eq!(analysis.decryption().unwrap().counts().opened, 0);
}

/// The names of networks are in beacons, probe responses and association requests; a hidden
/// network has the last two.
#[test]
fn a_name_may_be_heard_late_or_never() {
    let air = Air::real();
    // Management frames: 00 association request, 50 probe response, 80 beacon.
    let naming = |kinds: &[u8]| -> Vec<u64> {
        let numbers = 1..=air.packets.len() as u64;
        numbers.filter(|number| kinds.contains(&control(&air, *number)[0])).collect()
    };
    let psks = ["correct horse battery", OFFICE, "known but of no use"];
    let (_, whole) = air.open(&psks);
    for kinds in [&[0x50, 0x80][..], &[0x00, 0x80], &[0x00, 0x50]] {
        let (_, counts) = air.clone().without(&naming(kinds)).open(&psks);
        assert_eq!(counts.opened, whole.opened, "without {kinds:?}");
    }
    let nameless = air.clone().without(&naming(&[0x00, 0x50, 0x80]));
    let (bodies, counts) = nameless.open(&psks);
    assert!(counts.ssid_unknown > 100, "{counts:?}");
    assert!(!bodies.is_empty(), "the office has a key, which needs no name");
    let named = nameless.open(&[HOME, OFFICE, FOURTH]).1;
    assert_eq!(named.opened, whole.opened);
    // A probe response behind the handshakes: what comes after it is opened.
    let mut late = nameless.clone();
    let response = *naming(&[0x50]).first().unwrap();
    late.packets.insert(200, air.packets[response as usize - 1].clone());
    let (bodies, _) = late.open(&["correct horse battery"]);
    let (all, _) = nameless.open(&[HOME]);
    let behind: Bodies = all.into_iter().filter(|(number, _)| *number > 200).collect();
    assert!(behind.len() > 100);
    let shifted: Bodies = bodies.into_iter().map(|(number, body)| (number - 1, body)).collect();
    assert_eq!(shifted, behind);
}

/// Numbers of the messages of the first handshake of 02:..:01 with its access point (tshark).
const MESSAGES: [u64; 4] = [26, 28, 30, 32];

/// Two messages of a handshake are enough, if one has a MIC and they have both nonces.
#[test]
fn parts_of_a_handshake() {
    let air = Air::real();
    let psks = [HOME, OFFICE, FOURTH];
    let (_, whole) = air.open(&psks);
    let left = |kept: &[usize]| -> DecryptCounts {
        let dropped: Vec<u64> =
            (0..4).filter(|at| !kept.contains(at)).map(|at| MESSAGES[at]).collect();
        air.clone().without(&dropped).open(&psks).1
    };
    for kept in [&[0, 1, 2, 3][..], &[1, 2, 3], &[1, 2], &[0, 1, 2]] {
        assert_eq!(left(kept), whole, "with {kept:?}");
    }
    // The group key is in message 3 of the first station; that of the second has it, too.
    assert_eq!((left(&[0, 1]).handshakes, left(&[0, 1]).mic_wrong), (9, 0));
    for kept in [&[][..], &[0], &[1], &[2], &[3], &[0, 2], &[0, 3], &[1, 3], &[2, 3]] {
        let counts = left(kept);
        assert_eq!(counts.wrong_passphrase + counts.mic_wrong, 0, "with {kept:?}: {counts:?}");
        assert!(counts.no_handshake > 0 && counts.handshakes == 6, "with {kept:?}: {counts:?}");
    }
    // In another order: message 3 before message 2, or all from the last to the first.
    for order in [[0, 2, 1, 3], [2, 1, 0, 3], [3, 2, 1, 0]] {
        let mut changed = air.clone();
        for (place, from) in order.into_iter().enumerate() {
            changed.packets[MESSAGES[place] as usize - 1] =
                air.packets[MESSAGES[from] as usize - 1].clone();
        }
        assert_eq!(changed.open(&psks).1, whole, "in the order {order:?}");
    }
}

/// Frames of an attacker, or damaged ones, do not open or close any frame.
#[test]
fn forged_messages_change_nothing() {
    let air = Air::real();
    let psks = [HOME, OFFICE, FOURTH];
    let (bodies, _) = air.open(&psks);
    let mut forged = air.clone();
    let mut at = 0;
    for (index, packet) in air.packets.iter().enumerate() {
        let number = index as u64 + 1;
        forged.packets[index + at] = packet.clone();
        if MESSAGES.contains(&number) {
            // The same with another nonce, and the same with another MIC, behind it.
            for octet in [17, 82] {
                let mut other = packet.clone();
                let body = other.bytes.len() - eapol_len(&packet.bytes);
                other.bytes[body + octet] ^= 1;
                at += 1;
                forged.packets.insert(index + at, other);
            }
        }
    }
    assert_eq!(forged.packets.len(), air.packets.len() + 8);
    let (with, counts) = forged.open(&psks);
    assert_eq!(with.into_values().collect::<Vec<_>>(), bodies.into_values().collect::<Vec<_>>());
    assert_eq!((counts.handshakes, counts.wrong_passphrase), (9, 0));
}

/// Length of the EAPOL frame at the end of a packet without FCS.
fn eapol_len(packet: &[u8]) -> usize {
    let llc = [0xaa, 0xaa, 3, 0, 0, 0, 0x88, 0x8e];
    let at = packet.windows(8).position(|window| window == llc).unwrap();
    packet.len() - at - 8
}

/// Captured parts of cut frames are opened. tshark does not open these.
#[test]
fn cut_frames_are_opened_as_far_as_they_go() {
    let air = Air::real();
    let psks = [HOME, OFFICE, FOURTH];
    let (whole, _) = air.open(&psks);
    let mut flows = Vec::new();
    for snap in [70, 100, 124, 150] {
        let mut cut = air.clone();
        for (index, packet) in cut.packets.iter_mut().enumerate() {
            let number = index as u64 + 1;
            let is_message = whole.get(&number).is_some_and(|body| body[6..8] == [0x88, 0x8e]);
            if control(&air, number)[1] & 0x40 != 0 && !is_message {
                packet.bytes.truncate(snap);
            }
        }
        let (bodies, counts) = cut.open(&psks);
        assert_eq!(counts.opened + counts.opened_cut + counts.cut, 271, "at {snap}: {counts:?}");
        assert!(counts.opened_cut > 50 && counts.mic_wrong == 0, "at {snap}: {counts:?}");
        for (number, body) in bodies {
            assert!(whole[&number].starts_with(&body), "packet {number} at {snap}");
        }
        flows.push(CaptureDocument::new("air", &cut.analyse(&psks)).flows.len());
    }
    // With 124 bytes all TCP headers of a radiotap header of 22 bytes are there.
    assert!(flows[2] > 0 && flows[2] == flows[3], "{flows:?}");
    assert!(air.clone().cut(100).open(&psks).1.handshakes == 0, "handshakes are cut, too");
}

/// Frames of every shape, in the clear and encrypted: tshark opens those that it supports with the
/// same result, and their flows are equal.
#[test]
fn every_shape_of_frame_is_opened() {
    let (mut scene, mut clear) = (Scene::new(), Scene::new());
    for number in 1..=4 {
        scene.message(number);
        clear.message(number);
    }
    let first = scene.air.packets.len() as u64 + 1;
    for (_, shape, key_id, body) in shapes() {
        let twin = scene.protected(&shape, key_id, &body);
        clear.push(twin);
    }
    let (ours, counts) = scene.air.open(&[SCENE]);
    for (number, (name, _, _, body)) in (first..).zip(shapes()) {
        assert_eq!(ours.get(&number), Some(&body), "{name}");
    }
    assert_eq!((counts.opened, counts.handshakes), (shapes().len() as u64, 1));
    if let Some(theirs) = scene.air.tshark(&TSHARK_SCENE) {
        for (number, (name, ..)) in (first..).zip(shapes()) {
            // What tshark 4.0 does not open.
            if !matches!(name, "SPP A-MSDU" | "four addresses") {
                assert_eq!(theirs.get(&number), ours.get(&number), "{name}");
            }
        }
    }
    let flows = |air: &Air, psks: &[&str]| CaptureDocument::new("air", &air.analyse(psks)).flows;
    let (opened, expected) = (flows(&scene.air, &[SCENE]), flows(&clear.air, &[]));
    // One datagram in each, four in two A-MSDUs.
    assert_eq!((opened.len(), &opened), (shapes().len() + 2, &expected));
}

/// Every protected frame is counted by the reason why it was not opened.
#[test]
fn what_is_not_opened_is_counted_by_its_reason() {
    let mut scene = Scene::new();
    let counts = |scene: &Scene, psks: &[&str]| {
        let analysis = scene.air.analyse(psks);
        let counts = analysis.decryption().unwrap().counts().clone();
        assert_eq!(analysis.file.counts.protected, counts.protected());
        counts
    };
    scene.protected(&Shape::up(), 0, &datagram(1, 10));
    scene.message(1);
    scene.protected(&Shape::up(), 0, &datagram(1, 10));
    assert_eq!(counts(&scene, &[SCENE]).no_handshake, 2);
    scene.message(2);
    scene.protected(&Shape::down([0xff; 6]), 1, &datagram(1, 10));
    let one = counts(&scene, &[SCENE]);
    assert_eq!((one.no_handshake, one.handshakes), (3, 1), "the group's key is in message 3");
    assert_eq!(counts(&scene, &["scene:wrong horse"]).wrong_passphrase, 1);
    scene.message(3);
    // A MIC that is wrong, a group key with another number, WEP, nothing behind the header.
    scene.protected(&Shape::up(), 0, &datagram(1, 10));
    *scene.air.packets.last_mut().unwrap().bytes.last_mut().unwrap() ^= 1;
    scene.protected(&Shape::down([0xff; 6]), 2, &datagram(1, 10));
    let start = scene.air.packets.len();
    scene.protected(&Shape::up(), 0, &datagram(1, 10));
    scene.air.packets[start].bytes[8 + 26 + 3] &= !0x20;
    scene.protected(&Shape::up(), 0, &datagram(1, 10));
    scene.air.packets[start + 1].bytes.truncate(8 + 26 + 15);
    scene.air.packets[start + 1].length = 8 + 26 + 15;
    let two = counts(&scene, &[SCENE]);
    assert_eq!((two.mic_wrong, two.no_handshake, two.unsupported["WEP"]), (2, 4, 1));
    // A management frame, and a frame whose check sequence was wrong.
    let mut action = vec![0xd0, 0x40, 0, 0];
    action.extend([ACCESS_POINT, STATION, ACCESS_POINT].as_flattened());
    action.extend([0; 30]);
    scene.push(action);
    scene.protected(&Shape::up(), 0, &datagram(1, 10));
    let mut bad = scene.air.packets.pop().unwrap();
    bad.bytes.splice(..8, [0, 0, 9, 0, 2, 0, 0, 0, 0x50]);
    bad.bytes.extend([0; 4]);
    bad.length = bad.bytes.len() as u32;
    scene.air.packets.push(bad);
    let three = counts(&scene, &[SCENE]);
    assert_eq!((three.not_data, three.bad_fcs), (1, 1));
    assert_eq!(three.opened, 0);
    assert!(!format!("{:?}", scene.air.analyse(&[SCENE])).contains(&format!("{GTK:?}")));
}

/// A message 2 that answers a message 1 which was missed does not fit an earlier one. This says
/// nothing of the passphrase; message 3 brings the nonce.
#[test]
fn an_earlier_attempt_is_no_wrong_passphrase() {
    for psk in [SCENE, "scene:wrong horse"] {
        let mut scene = Scene::new();
        scene.message(1);
        scene.begin(0xa2);
        scene.miss_message_1();
        scene.message(2);
        scene.protected(&Shape::up(), 0, &datagram(1, 10));
        let (_, counts) = scene.air.open(&[psk]);
        assert_eq!((counts.no_handshake, counts.wrong_passphrase), (1, 0));
        scene.message(3);
        scene.protected(&Shape::up(), 0, &datagram(1, 10));
        let (_, counts) = scene.air.open(&[psk]);
        let right = psk == SCENE;
        assert_eq!(counts.opened, u64::from(right));
        assert_eq!(counts.wrong_passphrase, u64::from(!right));
    }
}

/// Addresses that are made up do not take memory without end.
#[test]
fn pairs_are_bounded() {
    let mut scene = Scene::new();
    scene.message(1);
    let first = scene.air.packets.pop().unwrap();
    for index in 0..PAIRS_MAX as u32 + 2 {
        let mut packet = first.clone();
        // Behind the radiotap header: Frame Control, Duration, Address 1.
        packet.bytes[8 + 6..8 + 10].copy_from_slice(&index.to_le_bytes());
        scene.air.packets.push(packet);
    }
    assert_eq!(scene.air.open(&[SCENE]).1.left_out, 2);
}

/// A message that is malformed is listed with its place.
#[test]
fn a_malformed_message_is_listed() {
    let mut scene = Scene::new();
    scene.message(2);
    let packet = scene.air.packets.last_mut().unwrap();
    packet.bytes.pop();
    packet.length -= 1;
    let analysis = scene.air.analyse(&[SCENE]);
    let [error] = &analysis.file.errors[..] else { panic!("{:?}", analysis.file.errors) };
    assert_eq!((error.frame, error.offset), (Some(2), Some(8 + 26 + 8 + 99)));
    assert!(error.message.starts_with("EAPOL-Key: key data at offset"), "{}", error.message);
    assert_eq!(scene.air.analyse(&[]).file.errors, []);
}

//! Causes of absences: the same traffic with absences of many lengths and rhythms.

use crate::feed::{AP, Feed, GROUP, MS, STATION, US, beacon, frame, of_kind, radiotap};
use lasthop_capture::document::CaptureDocument;
use lasthop_capture::finding::Kind;
use lasthop_capture::link::LinkType;

/// Kinds of findings about the cause of absences.
const KINDS: [Kind; 6] = [
    Kind::Scan,
    Kind::PowerSave,
    Kind::TimeSharing,
    Kind::Coexistence,
    Kind::Absence,
    Kind::PmOscillation,
];

/// A station on a channel, with its frames and those of its access point.
struct Life {
    frames: Vec<(u64, Vec<u8>)>,
    mhz: u16,
    /// Numbers of frames that are no QoS data, and of data up and down.
    numbers: [u16; 3],
}

impl Life {
    /// With beacons for some seconds.
    fn new(mhz: u16, seconds: u64) -> Self {
        let mut life = Self { frames: Vec::new(), mhz, numbers: [70, 0, 0] };
        for n in 0..seconds * 1_000_000 / 102_400 {
            let at_us = 31_000 + n * 102_400;
            life.frames.push((at_us * US, beacon(n as u16, at_us, b"home")));
        }
        life
    }

    fn number(&mut self, counter: usize) -> u16 {
        self.numbers[counter] = (self.numbers[counter] + 1) % 4_096;
        self.numbers[counter]
    }

    /// Data of the station and the answer, 3 ms later.
    fn ping(&mut self, at_ns: u64) {
        let (up, down) = (self.number(1), self.number(2));
        self.frames.push((at_ns, frame([0x88, 1], AP, STATION, up, &[0; 60])));
        self.frames.push((at_ns + 3 * MS, frame([0x88, 2], STATION, AP, down, &[0; 60])));
    }

    fn null(&mut self, at_ns: u64, saves: bool) {
        let number = self.number(0);
        let control = [0x48, 1 | u8::from(saves) << 4];
        self.frames.push((at_ns, frame(control, AP, STATION, number, &[])));
    }

    /// Leaves at a time, and sends `elsewhere` frames that are not captured.
    fn away(&mut self, from_ns: u64, length_ns: u64, elsewhere: u16) {
        self.null(from_ns, true);
        self.numbers[0] += elsewhere;
        self.null(from_ns + length_ns, false);
    }

    fn document(mut self) -> CaptureDocument {
        self.frames.sort_by_key(|(at_ns, _)| *at_ns);
        let mut feed = Feed::new(LinkType::Radiotap);
        for (at_ns, bytes) in &self.frames {
            feed.packet(*at_ns, &radiotap(0, Some(self.mhz), bytes));
        }
        feed.document()
    }
}

/// A station that pings all the time and is absent by a timer, in ms: its packets wait for its
/// return.
fn timer(
    mhz: u16,
    seconds: u64,
    ping_ms: u64,
    away: &[(u64, u64)],
    elsewhere: u16,
) -> CaptureDocument {
    let mut life = Life::new(mhz, seconds);
    for (from, length) in away {
        life.away(from * MS, length * MS, elsewhere);
    }
    for n in 1..seconds * 1_000 / ping_ms {
        // Not quite in step with anything.
        let at = n * ping_ms * MS + n * 7 % 5 * 100 * US;
        let gone = away
            .iter()
            .find(|(from, length)| at + 4 * MS > from * MS && at < (from + length) * MS + 500 * US);
        life.ping(
            gone.map_or(at, |(from, length)| (from + length) * MS + n % 40 * 100 * US + 500 * US),
        );
    }
    life.document()
}

/// Absences of one length, one each cycle, in ms.
fn every(cycle: u64, length: u64, seconds: u64) -> Vec<(u64, u64)> {
    (0..(seconds * 1_000 - 900) / cycle).map(|n| (900 + n * cycle, length)).collect()
}

/// That kind alone is found, with these words.
fn only(document: &CaptureDocument, kind: Kind, words: &[&str]) {
    let sentences: Vec<_> = document.findings.iter().map(|it| (it.kind, &it.sentence)).collect();
    for other in KINDS {
        let count = usize::from(other == kind);
        assert_eq!(
            of_kind(document, other).len(),
            count,
            "{kind:?} {words:?}: {other:?} in {sentences:?}"
        );
    }
    let sentence = &of_kind(document, kind)[0].sentence;
    for word in words {
        assert!(sentence.contains(word), "{kind:?}: no \"{word}\" in {sentence}");
    }
}

#[test]
fn channels_in_turn() {
    for (cycle, length, ping, seconds, words) in [
        (500, 90, 10, 60, ["90 ms every 500 ms (2.0 times a second)", "18 % of the time"]),
        (500, 90, 10, 20, ["90 ms every 500 ms", "AWDL"]),
        (524, 65, 100, 40, ["65 ms every 524 ms", "channels 6, 44 and 149"]),
        (1_049, 260, 20, 60, ["260 ms every 1.0 s", "Wi-Fi Direct"]),
    ] {
        let document = timer(5_180, seconds, ping, &every(cycle, length, seconds), 0);
        only(&document, Kind::TimeSharing, &words);
    }
    // Bluetooth is in the band at 2.4 GHz only.
    only(
        &timer(2_437, 20, 10, &every(100, 40, 20), 0),
        Kind::Coexistence,
        &["40 ms every 100 ms", "Bluetooth"],
    );
    only(&timer(5_180, 20, 10, &every(100, 40, 20), 0), Kind::TimeSharing, &["40 ms every 100 ms"]);
}

#[test]
fn timers_of_which_nothing_else_is_known() {
    for (cycle, length, ping, seconds, words) in [
        (33_000, 250, 20, 300, ["250 ms every 33 s", "0.8 % of the time", "up to 250 ms"]),
        (60_000, 120, 20, 400, ["120 ms every 60 s", "0.2 % of the time", "up to 120 ms"]),
        (35_000, 6_000, 500, 300, ["6000 ms every 35 s", "17 % of the time", "many channels"]),
        (4_000, 100, 40, 60, ["100 ms every 4.0 s", "2.5 % of the time", "up to 100 ms"]),
    ] {
        let document = timer(5_180, seconds, ping, &every(cycle, length, seconds), 0);
        only(&document, Kind::Absence, &words);
    }
}

/// A timer that starts anew when something else lets it: one length, and about one rhythm.
#[test]
fn a_rhythm_may_be_rough() {
    let away = [3, 29, 66, 95, 133, 160, 199, 231, 262].map(|from| (from * 1_000, 250));
    only(
        &timer(5_180, 300, 20, &away, 0),
        Kind::Absence,
        &["250 ms about every 31 s", "up to 250 ms"],
    );
    // In the 2.4 GHz band a slow rhythm may be either's.
    let document = timer(2_437, 30, 20, &every(400, 60, 30), 0);
    only(
        &document,
        Kind::TimeSharing,
        &["60 ms every 400 ms", "or shares its antenna with Bluetooth"],
    );
}

/// A monitor misses half of the frames of a station that saves power: these numbers were not used
/// on other channels.
#[test]
fn what_is_missed_is_not_elsewhere() {
    let mut life = Life::new(2_437, 120);
    for n in 1..110 {
        let at = n * 1_000 * MS;
        life.null(at - MS, false);
        life.ping(at);
        life.null(at + 103 * MS, true);
    }
    let (mut n, mut draw) = (0u64, 1u64);
    life.frames.sort_by_key(|(at_ns, _)| *at_ns);
    life.frames.retain(|_| {
        n += 1;
        draw = draw.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(n);
        draw >> 63 == 0
    });
    only(&life.document(), Kind::PowerSave, &["saves power"]);
}

/// Runs of absences, one for each channel, independent of the traffic; a scan in the middle of a
/// capture; and one with Probe Requests on other channels, as gaps in the numbers show.
#[test]
fn scans() {
    let runs = |channels: u64, begins: &[u64]| -> Vec<(u64, u64)> {
        let run = |begin: &u64| (0..channels).map(|n| (begin + n * 430, 110)).collect::<Vec<_>>();
        begins.iter().flat_map(run).collect()
    };
    for ping in [5, 40, 250, 1_000] {
        let document = timer(2_437, 100, ping, &runs(11, &[5_000, 35_000, 65_000]), 0);
        only(&document, Kind::Scan, &["11 times every 30 s", "likely scans"]);
    }
    let document = timer(5_180, 60, 20, &runs(30, &[20_000]), 0);
    only(&document, Kind::Scan, &["30 times in the capture"]);
    // Three channels at a time, as phones do.
    let document = timer(5_180, 120, 20, &runs(3, &[5_000, 30_000, 55_000, 80_000, 105_000]), 0);
    only(&document, Kind::Scan, &["3 times every 25 s"]);
    // Absences that follow each other at once, under little traffic: 6 numbers are used in each.
    let asks: Vec<_> = (0..7).map(|n| (2_000 + n * 130, 129)).collect();
    only(&timer(2_412, 5, 900, &asks, 6), Kind::Scan, &["6 frames elsewhere"]);
}

/// Captured Probe Requests in absences have the same meaning.
#[test]
fn probes_are_a_scan() {
    let mut life = Life::new(2_412, 10);
    for n in 0..6 {
        let at = (2_000 + n * 300) * MS;
        life.null(at, true);
        life.numbers[0] += 1;
        let (number, body) = (life.numbers[0], [0, 0, 1, 2, 2, 4]);
        life.frames.push((at + 20 * MS, frame([0x40, 0], GROUP, STATION, number, &body)));
        life.null(at + (60 + n * 31) * MS, false);
    }
    only(&life.document(), Kind::Scan, &["6 Probe Requests"]);
}

/// Power save, with traffic of the station's own, which is regular, or of the access point's,
/// which waits for a beacon.
/// Announcements of which the first transmission was missed count by their repetition, others once
/// however often they are repeated: a public capture has 97 Null frames with the Power Management bit
/// that are no retries, and two of which only the retry was captured, so its station dozes 99 times.
#[test]
fn announcements_that_are_repeated() {
    let mut life = Life::new(2_437, 22);
    let (mut whole, mut missed) = (0, 0);
    for n in 1..201 {
        let at = n * 100 * MS;
        life.null(at, true);
        let (_, leaves) = life.frames.last().expect("it was sent").clone();
        let repeated = (at + MS, [&leaves[..1], &[leaves[1] | 8], &leaves[2..]].concat());
        match n % 20 {
            0 => (_, missed) = (life.frames.pop(), missed + 1),
            _ => whole += 1,
        }
        if n % 10 == 0 {
            life.frames.push(repeated);
        }
        life.ping(at + 90 * MS);
        life.null(at + 90 * MS - US, false);
    }
    assert_eq!((whole, missed), (190, 10));
    only(&life.document(), Kind::PowerSave, &["it dozes 200 times"]);
}

#[test]
fn power_save() {
    for (ping_ms, idle_ms) in [(1_000, 100), (40, 10), (300, 200), (5_000, 100)] {
        let seconds = 20 * ping_ms / 1_000 + 5;
        let mut life = Life::new(2_437, seconds);
        for n in 1..seconds * 1_000 / ping_ms {
            let at = n * ping_ms * MS;
            life.null(at - MS, false);
            life.ping(at);
            life.null(at + (3 + idle_ms) * MS, true);
        }
        only(&life.document(), Kind::PowerSave, &["saves power"]);
    }
    // Datagrams at any time: the station wakes up for the second or third beacon behind one, for
    // it sleeps through some of them, and stays for 25 ms.
    let mut life = Life::new(2_437, 60);
    let (mut at_us, mut n) = (0, 0u64);
    life.null(0, true);
    while at_us < 58_000_000 {
        n += 1;
        at_us += 90_000 + n * 7_919 % 1_000 * 700;
        let beacon_us = 31_000 + ((at_us - 31_000) / 102_400 + 1 + n % 3) * 102_400;
        life.null((beacon_us + 1_500) * US, false);
        let number = life.number(2);
        let data = frame([0x88, 2], STATION, AP, number, &[0; 60]);
        life.frames.push(((beacon_us + 3_000) * US, data));
        life.null((beacon_us + 28_000) * US, true);
        at_us = at_us.max(beacon_us + 30_000);
    }
    let document = life.document();
    only(&document, Kind::PowerSave, &["saves power"]);
    let check = &of_kind(&document, Kind::PowerSave)[0].check;
    assert!(check.contains("beacon intervals of 102 ms as its listen interval"), "{check}");
}

/// A listen interval that was announced is said.
#[test]
fn listen_intervals_are_said() {
    let mut life = Life::new(2_437, 10);
    let mut body = vec![1, 0, 10, 0];
    body.extend([0, 4, b'h', b'o', b'm', b'e']);
    life.frames.push((MS, frame([0, 0], AP, STATION, 1, &body)));
    for n in 1..9 {
        life.ping(n * 1_000 * MS);
        life.null((n * 1_000 + 200) * MS, true);
        life.null((n * 1_000 + 900) * MS, false);
    }
    only(&life.document(), Kind::PowerSave, &["listen interval of 10"]);
}

//! Frames of a station and its access points, with times that are given; and walks past several
//! access points, with the length of every phase of every roam.

use crate::feed::{Feed, GROUP, STATION, US};
use lasthop_capture::document::CaptureDocument;
use lasthop_capture::link::LinkType;

pub const OLD: [u8; 6] = [2, 0, 0, 0, 0, 0x0a];
pub const NEW: [u8; 6] = [2, 0, 0, 0, 0, 0x0b];

/// Frames with their times in us, and their levels in dBm.
#[derive(Default)]
pub struct Scene {
    pub frames: Vec<(u64, Option<i8>, Vec<u8>)>,
    number: u16,
}

impl Scene {
    pub fn frame(&mut self, at_us: u64, control: [u8; 2], addresses: [[u8; 6]; 3], body: &[u8]) {
        let mut frame = control.to_vec();
        frame.extend([0, 0]);
        frame.extend(addresses.concat());
        self.number += 1;
        frame.extend((self.number << 4).to_le_bytes());
        frame.extend(body);
        self.frames.push((at_us, None, frame));
    }

    /// A management frame, from the station or from an access point.
    pub fn manage(&mut self, at_us: u64, kind: u8, is_up: bool, ap: [u8; 6], body: &[u8]) {
        let addresses = if is_up { [ap, STATION, ap] } else { [STATION, ap, ap] };
        self.frame(at_us, [kind, 0], addresses, body);
    }

    pub fn beacons(&mut self, ap: [u8; 6], name: &[u8], seconds: u64, dbm: Option<i8>) {
        for n in 0..seconds * 10 {
            let mut body = (n * 102_400).to_le_bytes().to_vec();
            body.extend([100, 0, 0x11, 0, 0, name.len() as u8]);
            body.extend(name);
            self.frame(n * 100_000 + 5_700 + u64::from(ap[5]), [0x80, 0], [GROUP, ap, ap], &body);
            if let Some(frame) = self.frames.last_mut() {
                frame.1 = dbm;
            }
        }
    }

    /// Encrypted data, and its Ack.
    pub fn data(&mut self, at_us: u64, is_up: bool, ap: [u8; 6]) {
        let (flags, addresses) =
            if is_up { (0x41, [ap, STATION, GROUP]) } else { (0x42, [STATION, ap, ap]) };
        self.frame(at_us, [0x08, flags], addresses, &[0; 60]);
        let to = if is_up { STATION } else { ap };
        self.frames.push((at_us + 40, None, [&[0xd4, 0, 0, 0][..], &to].concat()));
    }

    pub fn authenticate(&mut self, at_us: u64, is_up: bool, ap: [u8; 6], fields: [u8; 6]) {
        self.manage(at_us, 0xb0, is_up, ap, &fields);
    }

    pub fn reassociate(&mut self, at_us: u64, ap: [u8; 6], from: [u8; 6]) {
        let body = [&[0x11, 0, 10, 0][..], &from, &[0, 4], b"home"].concat();
        self.manage(at_us, 0x20, true, ap, &body);
    }

    pub fn associated(&mut self, at_us: u64, ap: [u8; 6], status: u8) {
        self.manage(at_us, 0x30, false, ap, &[0x11, 0, status, 0, 1, 0xc0]);
    }

    /// Messages 1 to 4 of the handshake that begins at a time, a millisecond apart.
    pub fn handshake(&mut self, at_us: u64, ap: [u8; 6], messages: &[u8]) {
        for (n, message) in (0u64..).zip(messages) {
            let (information, data): (u16, u16) = match message {
                1 => (0x008a, 0),
                2 => (0x010a, 22),
                3 => (0x13ca, 56),
                _ => (0x030a, 0),
            };
            let mut body = vec![0xaa, 0xaa, 3, 0, 0, 0, 0x88, 0x8e, 2, 3];
            body.extend((95 + data).to_be_bytes());
            body.push(2);
            body.extend(information.to_be_bytes());
            body.extend([0; 90]);
            body.extend(data.to_be_bytes());
            body.resize(body.len() + usize::from(data), 0);
            let is_up = message % 2 == 0;
            let (flags, addresses) =
                if is_up { (1, [ap, STATION, ap]) } else { (2, [STATION, ap, ap]) };
            self.frame(at_us + n * 1_000, [0x08, flags], addresses, &body);
        }
    }

    /// A roam that begins at a time: authentication, reassociation, handshake, data.
    pub fn roam(&mut self, at_us: u64, to: [u8; 6], from: [u8; 6]) {
        self.authenticate(at_us, true, to, [0, 0, 1, 0, 0, 0]);
        self.authenticate(at_us + 1_000, false, to, [0, 0, 2, 0, 0, 0]);
        self.reassociate(at_us + 3_000, to, from);
        self.associated(at_us + 5_000, to, 0);
        self.handshake(at_us + 8_000, to, &[1, 2, 3, 4]);
        self.data(at_us + 20_000, true, to);
    }

    /// Returns the frames as a pcap file (link type 127).
    pub fn file(&self) -> Vec<u8> {
        let mut frames: Vec<_> = self.frames.iter().collect();
        frames.sort_by_key(|(at_us, ..)| *at_us);
        let mut file = Vec::new();
        for word in [0xa1b2_c3d4, 0x0004_0002, 0, 0, 65_535, 127] {
            file.extend(u32::to_le_bytes(word));
        }
        for (at_us, _, bytes) in frames {
            let length = bytes.len() as u64 + 8;
            for word in [1_000 + at_us / 1_000_000, at_us % 1_000_000, length, length] {
                file.extend((word as u32).to_le_bytes());
            }
            file.extend([0, 0, 8, 0, 0, 0, 0, 0]);
            file.extend(bytes);
        }
        file
    }

    pub fn document(mut self) -> CaptureDocument {
        self.frames.sort_by_key(|(at_us, ..)| *at_us);
        let mut feed = Feed::new(LinkType::Radiotap);
        for (at_us, dbm, bytes) in &self.frames {
            let head = match dbm {
                None => vec![0, 0, 8, 0, 0, 0, 0, 0],
                Some(dbm) => vec![0, 0, 9, 0, 0x20, 0, 0, 0, dbm.cast_unsigned()],
            };
            feed.packet(at_us * US, &[&head[..], bytes].concat());
        }
        feed.document()
    }
}

/// Access point `number` of a network of four.
pub fn access_point(number: usize) -> [u8; 6] {
    [2, 0, 0, 0, 0, 0x0a + number as u8]
}

/// Lengths of phases in ms: search, authentication, association, keys (0: a fast transition), and
/// until the first data.
pub type Phases = [u64; 5];

/// A walk: access points, and the phases of each roam. Returns the scene, and the roams in it: from,
/// to, and phases.
pub fn walk(steps: &[(usize, Phases)]) -> (Scene, Vec<(usize, usize, Phases)>) {
    let mut scene = Scene::default();
    let mut roams = Vec::new();
    let (mut at_us, mut here) = (0, 0);
    let stay = |scene: &mut Scene, at_us: &mut u64, ap| {
        for n in 0..20 {
            scene.data(*at_us, n % 2 == 0, access_point(ap));
            *at_us += 10_000;
        }
        *at_us -= 10_000;
    };
    stay(&mut scene, &mut at_us, here);
    for (to, times) in steps.iter().filter(|(_, times)| times[0] > 0) {
        let (to, [search, authentication, association, keys, data]) = (*to, *times);
        let ap = access_point(to);
        let algorithm = if keys == 0 { 2 } else { 0 };
        at_us += search * 1_000;
        scene.authenticate(at_us, true, ap, [algorithm, 0, 1, 0, 0, 0]);
        scene.authenticate(at_us + 500, false, ap, [algorithm, 0, 2, 0, 0, 0]);
        at_us += authentication * 1_000;
        scene.reassociate(at_us, ap, access_point(here));
        at_us += association * 1_000;
        scene.associated(at_us, ap, 0);
        if keys > 0 {
            at_us += keys * 1_000;
            scene.handshake(at_us - 3_000, ap, &[1, 2, 3, 4]);
        }
        at_us += data * 1_000;
        if to != here {
            roams.push((here, to, *times));
        }
        here = to;
        stay(&mut scene, &mut at_us, here);
    }
    // The time before the first beacon.
    for ap in 0..4 {
        scene.beacons(access_point(ap), b"home", 1, None);
    }
    (scene, roams)
}

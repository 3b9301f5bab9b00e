//! A network of an access point and a station, made here frame by frame: its handshake, and data
//! frames of every shape, encrypted by the rules of IEEE 802.11-2020, 12.5.3 and 12.7. That the
//! rules are followed, tshark judges, which opens them.

use crate::air::{Air, Packet};
use aes::Aes128;
use aes_kw::KwAes128;
use ccm::aead::AeadInOut;
use ccm::consts::{U8, U13};
use hmac::{Hmac, KeyInit, Mac};
use sha1::Sha1;

pub const ACCESS_POINT: [u8; 6] = [2, 0, 0, 0, 0, 0xa];
pub const STATION: [u8; 6] = [2, 0, 0, 0, 0, 0xb];
const HOST: [u8; 6] = [2, 0, 0, 0, 0, 0xc];
const GROUP: [u8; 6] = [1, 0, 0x5e, 0, 0, 1];
const SSID: &[u8] = b"scene";
const PASSPHRASE: &[u8] = b"correct horse";
pub const GTK: [u8; 16] = [0x47; 16];

/// A network whose frames are written one after the other.
pub struct Scene {
    pub air: Air,
    pub ptk: [u8; 48],
    a_nonce: [u8; 32],
    s_nonce: [u8; 32],
    replay_counter: u8,
    pn: u8,
    sequence: u16,
}

/// Properties of a data frame.
#[derive(Clone)]
pub struct Shape {
    /// Octets of Frame Control; Protected is set by encryption.
    pub control: [u8; 2],
    /// Address 1 to 3, and 4.
    pub addresses: Vec<[u8; 6]>,
    pub fragment: u8,
    pub qos: Option<[u8; 2]>,
    pub ht_control: bool,
    /// A-MSDU Present is authenticated (SPP A-MSDU).
    pub spp: bool,
}

impl Shape {
    /// A QoS Data frame of the station.
    pub fn up() -> Self {
        Self {
            control: [0x88, 0x01],
            addresses: vec![ACCESS_POINT, STATION, HOST],
            fragment: 0,
            qos: Some([0, 0]),
            ht_control: false,
            spp: false,
        }
    }

    /// A Data frame of the access point.
    pub fn down(to: [u8; 6]) -> Self {
        Self {
            control: [0x08, 0x02],
            addresses: vec![to, ACCESS_POINT, HOST],
            qos: None,
            ..Self::up()
        }
    }
}

/// The LLC frame of a UDP datagram from a port.
pub fn datagram(port: u16, payload: usize) -> Vec<u8> {
    let mut msdu = vec![0xaa, 0xaa, 3, 0, 0, 0, 8, 0];
    msdu.extend([0x45, 0]);
    msdu.extend((28 + payload as u16).to_be_bytes());
    msdu.extend([0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    msdu.extend(port.to_be_bytes());
    msdu.extend([0, 7]);
    msdu.extend((8 + payload as u16).to_be_bytes());
    msdu.extend([0, 0]);
    msdu.extend(std::iter::repeat_n(0x55, payload));
    msdu
}

/// An A-MSDU of MSDUs.
pub fn amsdu(msdus: &[Vec<u8>]) -> Vec<u8> {
    let mut body = Vec::new();
    for msdu in msdus {
        body.resize(body.len().next_multiple_of(4), 0);
        body.extend(HOST);
        body.extend(STATION);
        body.extend((msdu.len() as u16).to_be_bytes());
        body.extend(msdu);
    }
    body
}

impl Scene {
    /// A network whose beacon was heard.
    pub fn new() -> Self {
        let air = Air { packets: Vec::new() };
        let (ptk, a_nonce, s_nonce) = ([0; 48], [0; 32], [0x51; 32]);
        let mut scene = Self { air, ptk, a_nonce, s_nonce, replay_counter: 0, pn: 0, sequence: 0 };
        scene.begin(0xa1);
        let mut beacon = header([0x80, 0], &[[0xff; 6], ACCESS_POINT, ACCESS_POINT], 0);
        beacon.extend([0; 8]);
        beacon.extend([100, 0, 0x11, 0, 0, SSID.len() as u8]);
        beacon.extend(SSID);
        scene.push(beacon);
        scene
    }

    /// The access point begins a handshake with another nonce, greater than that of the station.
    pub fn begin(&mut self, a_nonce: u8) {
        let mut pmk = [0; 32];
        pbkdf2::pbkdf2_hmac::<Sha1>(PASSPHRASE, SSID, 4_096, &mut pmk);
        self.a_nonce = [a_nonce; 32];
        let mut context = b"Pairwise key expansion\0".to_vec();
        for part in [&ACCESS_POINT[..], &STATION, &self.s_nonce, &self.a_nonce, &[0]] {
            context.extend(part);
        }
        for (index, chunk) in (0_u8..).zip(self.ptk.chunks_mut(20)) {
            *context.last_mut().unwrap() = index;
            chunk.copy_from_slice(&code(&pmk, &context)[..chunk.len()]);
        }
    }

    /// A message 1 that the monitor misses.
    pub fn miss_message_1(&mut self) {
        self.replay_counter += 1;
    }

    /// Message 1 to 4 of the 4-way handshake.
    pub fn message(&mut self, number: u8) {
        self.replay_counter += number & 1;
        let (a_nonce, s_nonce) = (self.a_nonce, self.s_nonce);
        let rsn = [48, 20, 1, 0, 0, 15, 172, 4, 1, 0, 0, 15, 172, 4, 1, 0, 0, 15, 172, 2, 0, 0];
        let eapol = match number {
            1 => self.eapol(0x008a, a_nonce, &[]),
            2 => self.eapol(0x010a, s_nonce, &rsn),
            3 => {
                let mut data = rsn.to_vec();
                data.extend([0xdd, 22, 0, 15, 172, 1, 1, 0]);
                data.extend(GTK);
                data.extend([0xdd, 0]);
                let kek: [u8; 16] = self.ptk[16..32].try_into().unwrap();
                let mut wrapped = vec![0; data.len() + 8];
                KwAes128::new(&kek.into()).wrap_key(&data, &mut wrapped).unwrap();
                self.eapol(0x13ca, a_nonce, &wrapped)
            }
            _ => self.eapol(0x030a, [0; 32], &[]),
        };
        let mut msdu = vec![0xaa, 0xaa, 3, 0, 0, 0, 0x88, 0x8e];
        msdu.extend(eapol);
        let shape = if number & 1 == 1 {
            Shape { addresses: vec![STATION, ACCESS_POINT, ACCESS_POINT], ..Shape::down(STATION) }
        } else {
            Shape { addresses: vec![ACCESS_POINT, STATION, ACCESS_POINT], ..Shape::up() }
        };
        self.plain(&shape, &msdu);
    }

    /// An EAPOL-Key frame of PSK and CCMP; with bit 8, with its MIC.
    fn eapol(&self, information: u16, nonce: [u8; 32], key_data: &[u8]) -> Vec<u8> {
        let mut frame = vec![2, 3];
        frame.extend((95 + key_data.len() as u16).to_be_bytes());
        frame.push(2);
        frame.extend(information.to_be_bytes());
        frame.extend([0, 16, 0, 0, 0, 0, 0, 0, 0, self.replay_counter]);
        frame.extend(nonce);
        frame.extend([0; 16 + 8 + 8 + 16]);
        frame.extend((key_data.len() as u16).to_be_bytes());
        frame.extend(key_data);
        if information & 0x100 != 0 {
            let mic = code(&self.ptk[..16], &frame);
            frame[81..97].copy_from_slice(&mic[..16]);
        }
        frame
    }

    /// A data frame that is not encrypted.
    pub fn plain(&mut self, shape: &Shape, body: &[u8]) {
        let mut frame = self.header(shape);
        frame.extend(body);
        self.push(frame);
    }

    /// A data frame that is encrypted; returns its plain twin.
    pub fn protected(&mut self, shape: &Shape, key_id: u8, body: &[u8]) -> Vec<u8> {
        let mut frame = self.header(shape);
        let mut twin = frame.clone();
        twin.extend(body);
        frame[1] |= 0x40;
        self.pn += 1;
        frame.extend([self.pn, 0, 0, 0x20 | key_id << 6, 0, 0, 0, 0]);
        let tid = shape.qos.map_or(0, |qos| qos[0] & 15);
        let mut nonce = [0; 13];
        nonce[0] = tid;
        nonce[1..7].copy_from_slice(&shape.addresses[1]);
        nonce[12] = self.pn;
        let mut aad = vec![frame[0] & 0x8f, frame[1] & 0xc7];
        if shape.qos.is_some() {
            aad[1] &= 0x7f;
        }
        for address in &shape.addresses[..3] {
            aad.extend(address);
        }
        aad.extend([shape.fragment, 0]);
        for address in &shape.addresses[3..] {
            aad.extend(address);
        }
        if let Some(qos) = shape.qos {
            aad.extend([tid | if shape.spp { qos[0] & 0x80 } else { 0 }, 0]);
        }
        let key: [u8; 16] = if key_id == 0 { self.ptk[32..].try_into().unwrap() } else { GTK };
        let cipher = ccm::Ccm::<Aes128, U8, U13>::new(&key.into());
        let mut data = body.to_vec();
        let buffer = data.as_mut_slice().into();
        let mic = cipher.encrypt_inout_detached(&nonce.into(), &aad, buffer).unwrap();
        frame.extend(data);
        frame.extend(mic);
        self.push(frame);
        twin
    }

    /// An MPDU without FCS.
    pub fn push(&mut self, mpdu: Vec<u8>) {
        let mut bytes = vec![0, 0, 8, 0, 0, 0, 0, 0];
        bytes.extend(mpdu);
        let mut time = [0; 8];
        time[4..].copy_from_slice(&(1_000 * self.air.packets.len() as u32).to_le_bytes());
        let length = bytes.len() as u32;
        self.air.packets.push(Packet { time, bytes, length });
    }

    fn header(&mut self, shape: &Shape) -> Vec<u8> {
        self.sequence += 1;
        let mut frame =
            header(shape.control, &shape.addresses, self.sequence << 4 | u16::from(shape.fragment));
        frame.extend(shape.qos.into_iter().flatten());
        if shape.ht_control {
            frame.extend([0; 4]);
        }
        frame
    }
}

fn header(control: [u8; 2], addresses: &[[u8; 6]], sequence_control: u16) -> Vec<u8> {
    let mut header = vec![control[0], control[1], 0, 0];
    header.extend(addresses[..3].iter().flatten());
    header.extend(sequence_control.to_le_bytes());
    header.extend(addresses[3..].iter().flatten());
    header
}

fn code(key: &[u8], message: &[u8]) -> [u8; 20] {
    let mut mac = <Hmac<Sha1> as KeyInit>::new_from_slice(key).unwrap();
    mac.update(message);
    mac.finalize().into_bytes().into()
}

/// One frame of each shape, with its name; the key is 0 for the pair, 1 for the group.
pub fn shapes() -> Vec<(&'static str, Shape, u8, Vec<u8>)> {
    let bits = |shape: Shape, bits: u8| {
        let control = [shape.control[0], shape.control[1] | bits];
        Shape { control, ..shape }
    };
    let qos = |shape: Shape, octets: [u8; 2]| Shape { qos: Some(octets), ..shape };
    let relayed = Shape {
        control: [0x88, 0x03],
        addresses: vec![ACCESS_POINT, STATION, HOST, STATION],
        ..Shape::up()
    };
    let pair = amsdu(&[datagram(20, 30), datagram(21, 41)]);
    let order = Shape { ht_control: true, ..bits(Shape::up(), 0x80) };
    let spp = Shape { spp: true, ..qos(Shape::up(), [0x80, 0]) };
    vec![
        ("data", Shape::down(STATION), 0, datagram(1, 100)),
        ("QoS data", Shape::up(), 0, datagram(2, 0)),
        ("retry", bits(Shape::up(), 0x08), 0, datagram(3, 8)),
        ("power management", bits(Shape::up(), 0x10), 0, datagram(4, 16)),
        ("more data", bits(Shape::down(STATION), 0x20), 0, datagram(5, 17)),
        ("all three bits", bits(Shape::down(STATION), 0x38), 0, datagram(6, 1_400)),
        ("TID and QoS bits", qos(Shape::up(), [0x75, 0xff]), 0, datagram(7, 5)),
        ("TID above 7", qos(Shape::up(), [0x0f, 0]), 0, datagram(8, 5)),
        ("HT Control", order, 0, datagram(9, 5)),
        ("A-MSDU", qos(Shape::up(), [0x80, 0]), 0, pair),
        ("SPP A-MSDU", spp, 0, amsdu(&[datagram(22, 30), datagram(23, 41)])),
        ("four addresses", relayed, 0, datagram(10, 5)),
        ("group", Shape::down(GROUP), 1, datagram(11, 5)),
        ("broadcast", Shape::down([0xff; 6]), 1, datagram(12, 5)),
    ]
}

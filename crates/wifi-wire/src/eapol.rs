//! EAPOL-Key frames (IEEE 802.1X-2020, 11; IEEE 802.11-2020, 12.7.2), with which an access point
//! and a station agree on keys: the payload of LLC frames of EtherType [`ETHERTYPE`]. Numbers are
//! big-endian.
//!
//! [`Key`] reads a frame in place, [`Repr`] has all fields and writes them. The MIC has 16 octets, as
//! with every AKM except FILS and those with SHA-384, which have descriptor version 0
//! (`AKM_DEFINED`). Encrypted Key Data is neither decrypted nor encrypted here; [`Kdes`] reads plain
//! or decrypted Key Data.

mod repr;

pub use repr::{Kde, Repr};

use super::elements::{Elements, id};
use super::reader::Reader;
use super::{Error, Reason};

/// EtherType of EAPOL.
pub const ETHERTYPE: u16 = 0x888e;
/// Offset of the MIC in the frame, in octets.
pub const MIC_OFFSET: usize = 81;
/// Length of the MIC in octets.
pub const MIC_LEN: usize = 16;

const LAYER: &str = "EAPOL-Key";
/// Packet type of EAPOL-Key.
const PACKET_TYPE_KEY: u8 = 3;
/// Length of the EAPOL header: version, packet type, length.
const HEADER_LEN: usize = 4;

/// An EAPOL-Key frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key<'a> {
    /// Type of the descriptor: [`Key::RSN`] or [`Key::WPA`].
    pub descriptor: u8,
    /// Purpose of the frame.
    pub information: Information,
    /// Length of the pairwise key in octets; not used by RSN in message 2 and 4.
    pub key_length: u16,
    /// Counter of the access point's frames; a station repeats the value that it answers.
    pub replay_counter: u64,
    /// ANonce of the access point, or SNonce of the station; zero in messages without.
    pub nonce: [u8; 32],
    /// Message integrity code; zero if there is none.
    pub mic: [u8; MIC_LEN],
    /// Key Data field, encrypted or not.
    pub key_data: &'a [u8],
    /// The whole frame, from the EAPOL header to the end of the Key Data: the input of the MIC,
    /// with zeros in place of the MIC.
    pub frame: &'a [u8],
}

/// The Key Information field (12.7.2, figure 12-35).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Information(pub u16);

impl Information {
    /// Bits of the messages 1 to 4 of the 4-way handshake (12.7.6.2 to 12.7.6.5), without the Key
    /// Descriptor Version.
    const MESSAGES: [u16; 4] = [
        PAIRWISE | ACK,
        PAIRWISE | MIC,
        PAIRWISE | INSTALL | ACK | MIC | SECURE | ENCRYPTED,
        PAIRWISE | MIC | SECURE,
    ];

    /// Returns the field of a message of the 4-way handshake of RSN, 1 to 4; `None` for other
    /// numbers. `version` is the Key Descriptor Version, 0 to 7.
    pub const fn of_message(message: u8, version: u8) -> Option<Self> {
        match message {
            1..=4 => Some(Self(Self::MESSAGES[message as usize - 1] | (version & 7) as u16)),
            _ => None,
        }
    }

    /// Key Descriptor Version, which selects MIC and encryption of the Key Data: 0 defined by the
    /// AKM, 1 HMAC-MD5 and ARC4, 2 HMAC-SHA-1 and AES, 3 AES-CMAC and AES.
    pub const fn version(self) -> u8 {
        (self.0 & 7) as u8
    }

    /// Whether the frame concerns the key of two stations, not of a group.
    pub const fn is_pairwise(self) -> bool {
        self.0 & PAIRWISE != 0
    }

    /// Whether the receiver installs the key, as after message 3.
    pub const fn has_install(self) -> bool {
        self.0 & INSTALL != 0
    }

    /// Whether both have the key: in messages 3 and 4 of RSN, and after them.
    pub const fn is_secure(self) -> bool {
        self.0 & SECURE != 0
    }

    /// Whether an answer is required: the access point sends such frames.
    pub const fn has_ack(self) -> bool {
        self.0 & ACK != 0
    }

    /// Whether the frame has a MIC.
    pub const fn has_mic(self) -> bool {
        self.0 & MIC != 0
    }

    /// Whether a station requests a new key, or reports an error.
    pub const fn is_request(self) -> bool {
        self.0 & 1 << 11 != 0
    }

    /// Whether the Key Data is encrypted.
    pub const fn is_encrypted(self) -> bool {
        self.0 & ENCRYPTED != 0
    }

    /// Whether the key is for a link between stations (SMK): bit 13, no longer used.
    pub const fn is_smk(self) -> bool {
        self.0 & 1 << 13 != 0
    }
}

/// Bits of the Key Information field.
const PAIRWISE: u16 = 1 << 3;
const INSTALL: u16 = 1 << 6;
const ACK: u16 = 1 << 7;
const MIC: u16 = 1 << 8;
const SECURE: u16 = 1 << 9;
const ENCRYPTED: u16 = 1 << 12;

impl<'a> Key<'a> {
    /// Descriptor type of RSN (WPA2 and later).
    pub const RSN: u8 = 2;
    /// Descriptor type of WPA.
    pub const WPA: u8 = 254;

    /// Reads an EAPOL frame; `None` for another packet type (EAP, Start, Logoff).
    ///
    /// # Errors
    /// Returns an error for a frame shorter than its fields, its length field, or its Key Data;
    /// offsets count from the EAPOL header.
    pub fn parse(eapol: &'a [u8]) -> Result<Option<Self>, Error> {
        let mut reader = Reader::new(LAYER, eapol);
        reader.u8("protocol version")?;
        if reader.u8("packet type")? != PACKET_TYPE_KEY {
            return Ok(None);
        }
        let length = usize::from(u16::from_be_bytes(reader.array("body length")?));
        // Bytes behind it are padding, or the MIC of a cipher.
        let end = (HEADER_LEN + length).min(eapol.len());
        let mut reader = Reader::at(LAYER, eapol.get(..end).unwrap_or_default(), HEADER_LEN);
        let descriptor = reader.u8("descriptor type")?;
        let information = Information(u16::from_be_bytes(reader.array("key information")?));
        let key_length = u16::from_be_bytes(reader.array("key length")?);
        let replay_counter = u64::from_be_bytes(reader.array("replay counter")?);
        let nonce = reader.array("nonce")?;
        reader.take("IV", 16)?;
        reader.take("receive sequence counter", 8)?;
        reader.take("reserved field", 8)?;
        let mic = reader.array("MIC")?;
        let count = usize::from(u16::from_be_bytes(reader.array("key data length")?));
        let key_data = reader.take("key data", count)?;
        let left = eapol.len() - HEADER_LEN;
        if length > left {
            let reason = Reason::Short { needs: length, left };
            return Err(Error { layer: LAYER, field: "body", offset: HEADER_LEN, reason });
        }
        let frame = eapol.get(..end).unwrap_or_default();
        Ok(Some(Self {
            descriptor,
            information,
            key_length,
            replay_counter,
            nonce,
            mic,
            key_data,
            frame,
        }))
    }

    /// Returns the Key Information of an EAPOL-Key frame, even if the rest cannot be read.
    pub fn peek(eapol: &[u8]) -> Option<Information> {
        match eapol {
            [_, PACKET_TYPE_KEY, _, _, _, a, b, ..] => {
                Some(Information(u16::from_be_bytes([*a, *b])))
            }
            _ => None,
        }
    }
}

/// Elements and key data encapsulations (KDEs, 12.7.2, table 12-9) in a Key Data field that is
/// not encrypted.
#[derive(Clone, Copy, Debug)]
pub struct Kdes<'a>(Elements<'a>);

/// A group key in a KDE.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Gtk<'a> {
    /// Number of the key in its network, 0 to 3.
    pub id: u8,
    /// Bytes of the key.
    pub key: &'a [u8],
}

impl<'a> Kdes<'a> {
    /// Returns the KDEs of these bytes; bytes after the last complete one are padding.
    pub const fn new(key_data: &'a [u8]) -> Self {
        Self(Elements::new(key_data))
    }

    /// The elements in the Key Data, such as RSN.
    pub const fn elements(&self) -> Elements<'a> {
        self.0
    }

    /// Iterates over the KDEs that are known here, in order.
    pub fn iter(&self) -> impl Iterator<Item = Kde<'a>> + use<'a> {
        let vendor = self.0.iter().map_while(Result::ok).filter(|it| it.id == id::VENDOR_SPECIFIC);
        vendor.filter_map(|kde| Kde::parse(kde.data))
    }

    /// The group key.
    pub fn gtk(&self) -> Option<Gtk<'a>> {
        self.iter().find_map(|kde| match kde {
            Kde::Gtk { id, key } => Some(Gtk { id, key }),
            _ => None,
        })
    }
}

/// OUI of the KDEs of IEEE 802.11.
const KDE_OUI: [u8; 3] = [0x00, 0x0f, 0xac];

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    /// Message 1 of a handshake, field by field from figures 11-1 and 12-34.
    fn message_1() -> Vec<u8> {
        let mut frame = Vec::from([2, 3, 0, 117, 2, 0x00, 0x8a, 0, 16]);
        frame.extend([0, 0, 0, 0, 0, 0, 1, 2]);
        frame.extend(1..=32);
        frame.extend([0; 16 + 8 + 8 + 16]);
        frame.extend([0, 22, 0xdd, 20, 0x00, 0x0f, 0xac, 4]);
        frame.extend([7; 16]);
        frame
    }

    #[test]
    fn fields_are_where_the_standard_has_them() {
        let mut padded = message_1();
        assert_eq!(padded.len(), 121);
        padded.extend([9; 3]);
        let key = Key::parse(&padded).unwrap().unwrap();
        assert_eq!((key.descriptor, key.key_length, key.replay_counter), (Key::RSN, 16, 0x102));
        let information = key.information;
        assert_eq!(information.version(), 2);
        assert!(information.is_pairwise() && information.has_ack() && !information.has_mic());
        assert_eq!((key.nonce[0], key.nonce[31], key.key_data.len()), (1, 32, 22));
        assert_eq!(key.frame, &padded[..121]);
        assert_eq!(Key::peek(&padded), Some(information));
    }

    /// The bits of figure 12-35, one by one.
    #[test]
    fn key_information_has_its_bits() {
        type Read = fn(Information) -> bool;
        let bits: [(u16, Read); 8] = [
            (3, Information::is_pairwise),
            (6, Information::has_install),
            (7, Information::has_ack),
            (8, Information::has_mic),
            (9, Information::is_secure),
            (11, Information::is_request),
            (12, Information::is_encrypted),
            (13, Information::is_smk),
        ];
        for (bit, is_set) in bits {
            assert!(is_set(Information(1 << bit)) && is_set(Information(u16::MAX)));
            assert!(!is_set(Information(!(1 << bit))) && !is_set(Information(0)));
        }
        for version in 0..8 {
            assert_eq!(Information(version).version(), version as u8);
            assert_eq!(Information(0xfff8 | version).version(), version as u8);
        }
    }

    #[test]
    fn a_frame_that_is_cut_says_where() {
        let whole = message_1();
        for length in 0..whole.len() {
            let error = Key::parse(&whole[..length]).unwrap_err();
            assert!(error.offset <= length, "{error}");
            assert!(matches!(error.reason, Reason::Short { .. }));
        }
        let mut long = whole;
        long[98] = 23;
        let error = Key::parse(&long).unwrap_err();
        assert_eq!((error.field, error.offset), ("key data", 99));
        assert_eq!(Key::parse(&[2, 0, 0, 0]), Ok(None));
    }

    /// Table 12-9: a GTK with its padding of 0xdd and zeros, as in message 3.
    #[test]
    fn the_group_key_is_found_between_elements_and_padding() {
        let mut data = Vec::from([48, 2, 1, 0, 0xdd, 22, 0x00, 0x0f, 0xac, 1, 2 | 1 << 2, 0]);
        data.extend(1..=16);
        data.extend([0xdd, 0, 0, 0, 0, 0]);
        let kdes = Kdes::new(&data);
        let gtk = kdes.gtk().unwrap();
        assert_eq!((gtk.id, gtk.key.len(), gtk.key[15]), (2, 16, 16));
        assert_eq!(kdes.elements().rsn().unwrap().unwrap().version, 1);
        assert!(Kdes::new(&[0xdd, 0, 0, 0, 0]).gtk().is_none());
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            if let Err(error) = Key::parse(&bytes) {
                prop_assert!(error.offset <= bytes.len());
            }
            let _ = Kdes::new(&bytes).gtk().map(|gtk| gtk.id);
        }
    }
}

//! The RSN element (IEEE 802.11-2020, 9.4.2.24): ciphers and authentication methods that a network
//! offers or a station chose. The values suffice to distinguish WPA2-PSK, WPA3-SAE and OWE.
//!
//! The element is read on demand, so that a broken RSN element does not invalidate its beacon. The
//! element may end after any field; a count beyond its end is an error.

use super::{Element, HEADER_LEN, LAYER, emit_within, id};
use crate::Error;
use crate::reader::Reader;
use alloc::vec::Vec;

/// An RSN element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rsn<'a> {
    /// Version of the element, 1.
    pub version: u16,
    /// Cipher of group-addressed data frames; CCMP-128 if absent.
    pub group: Option<Suite>,
    /// Ciphers of frames to one station; CCMP-128 if absent.
    pub pairwise: Option<Suites<'a>>,
    /// Authentication and key management suites; IEEE 802.1X if absent.
    pub akms: Option<Suites<'a>>,
    /// RSN Capabilities (9.4.2.24.4).
    pub capabilities: Option<u16>,
    /// PMKIDs of 16 octets each.
    pub pmkids: &'a [u8],
    /// Cipher of group-addressed management frames; if absent and they are protected, BIP-CMAC-128.
    pub group_management: Option<Suite>,
}

impl<'a> Rsn<'a> {
    /// The version that the standard defines.
    pub const VERSION: u16 = 1;
    /// RSN Capabilities, bit 6: protection of management frames is required.
    pub const MANAGEMENT_PROTECTION_REQUIRED: u16 = 1 << 6;
    /// RSN Capabilities, bit 7: protection of management frames is supported.
    pub const MANAGEMENT_PROTECTION_CAPABLE: u16 = 1 << 7;

    /// Reads the information of an element.
    ///
    /// # Errors
    /// Returns an error for fewer octets than a count announces, or a truncated field; the offset
    /// is relative to the same start as [`Element::offset`].
    pub fn parse(element: &Element<'a>) -> Result<Self, Error> {
        let mut reader = Reader::new(LAYER, element.data);
        Self::read(&mut reader).map_err(|error| error.shifted(element.offset + HEADER_LEN))
    }

    fn read(reader: &mut Reader<'a>) -> Result<Self, Error> {
        let version = reader.u16("RSN version")?;
        let group = there(reader, |reader| Suite::read(reader, "group cipher"))?;
        let pairwise = there(reader, |reader| Suites::read(reader, "pairwise ciphers"))?;
        let akms = there(reader, |reader| Suites::read(reader, "AKM suites"))?;
        let capabilities = there(reader, |reader| reader.u16("RSN capabilities"))?;
        let pmkids = there(reader, |reader| {
            let count = usize::from(reader.u16("PMKID count")?);
            reader.take("PMKIDs", PMKID_LEN * count)
        })?;
        let pmkids = pmkids.unwrap_or_default();
        let group_management =
            there(reader, |reader| Suite::read(reader, "group management cipher"))?;
        Ok(Self { version, group, pairwise, akms, capabilities, pmkids, group_management })
    }

    /// Appends the element. The element ends after the last field that is present; absent fields
    /// before it have their defaults.
    ///
    /// # Errors
    /// Returns an error for more information than 255 bytes, and writes nothing.
    pub fn emit(&self, out: &mut Vec<u8>) -> Result<(), Error> {
        let has = [
            self.group.is_some(),
            self.pairwise.is_some(),
            self.akms.is_some(),
            self.capabilities.is_some(),
            !self.pmkids.is_empty(),
            self.group_management.is_some(),
        ];
        let fields = has.iter().rposition(|is_present| *is_present).map_or(0, |last| last + 1);
        let default = (Cipher::Ccmp128.suite().to_bytes(), KeyManagement::Dot1x.suite().to_bytes());
        let (cipher, akm) = (Suites::new(&default.0), Suites::new(&default.1));
        emit_within(id::RSN, out, |out| {
            out.extend_from_slice(&self.version.to_le_bytes());
            for field in 0..fields {
                match field {
                    0 => self.group.unwrap_or(Cipher::Ccmp128.suite()).emit(out),
                    1 => self.pairwise.unwrap_or(cipher).emit(out),
                    2 => self.akms.unwrap_or(akm).emit(out),
                    3 => out.extend_from_slice(&self.capabilities.unwrap_or(0).to_le_bytes()),
                    4 => {
                        let pmkids = self.pmkids.chunks_exact(PMKID_LEN);
                        // More do not fit into the element.
                        let count = u16::try_from(pmkids.len()).unwrap_or(u16::MAX);
                        out.extend_from_slice(&count.to_le_bytes());
                        pmkids.for_each(|pmkid| out.extend_from_slice(pmkid));
                    }
                    _ => {
                        if let Some(suite) = self.group_management {
                            suite.emit(out);
                        }
                    }
                }
            }
        })
    }

    /// The cipher of group-addressed data frames.
    pub fn group_cipher(&self) -> Cipher {
        self.group.map_or(Cipher::Ccmp128, Suite::cipher)
    }

    /// The ciphers of frames to one station.
    pub fn pairwise_ciphers(&self) -> impl Iterator<Item = Cipher> + use<'a> {
        let absent = self.pairwise.is_none().then_some(Cipher::Ccmp128);
        self.pairwise.into_iter().flat_map(Suites::iter).map(Suite::cipher).chain(absent)
    }

    /// The authentication methods.
    pub fn key_managements(&self) -> impl Iterator<Item = KeyManagement> + use<'a> {
        let absent = self.akms.is_none().then_some(KeyManagement::Dot1x);
        self.akms.into_iter().flat_map(Suites::iter).map(Suite::key_management).chain(absent)
    }
}

/// A suite selector.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Suite {
    /// OUI of the organisation that defines the suite: 00-0F-AC is IEEE 802.11.
    pub oui: [u8; 3],
    /// Number of the suite.
    pub code: u8,
}

impl Suite {
    const IEEE: [u8; 3] = [0x00, 0x0f, 0xac];

    fn read(reader: &mut Reader<'_>, field: &'static str) -> Result<Self, Error> {
        let [a, b, c, code] = reader.array(field)?;
        Ok(Self { oui: [a, b, c], code })
    }

    /// Returns the suite of IEEE 802.11 with this number.
    pub const fn ieee(code: u8) -> Self {
        Self { oui: Self::IEEE, code }
    }

    /// The four octets of the selector.
    pub const fn to_bytes(self) -> [u8; 4] {
        let [a, b, c] = self.oui;
        [a, b, c, self.code]
    }

    fn emit(self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.to_bytes());
    }

    /// Returns the cipher suite (table 9-149).
    pub const fn cipher(self) -> Cipher {
        match (self.oui, self.code) {
            (Self::IEEE, 0) => Cipher::UseGroup,
            (Self::IEEE, 1) => Cipher::Wep40,
            (Self::IEEE, 2) => Cipher::Tkip,
            (Self::IEEE, 4) => Cipher::Ccmp128,
            (Self::IEEE, 5) => Cipher::Wep104,
            (Self::IEEE, 6) => Cipher::BipCmac128,
            (Self::IEEE, 7) => Cipher::NoGroupTraffic,
            (Self::IEEE, 8) => Cipher::Gcmp128,
            (Self::IEEE, 9) => Cipher::Gcmp256,
            (Self::IEEE, 10) => Cipher::Ccmp256,
            (Self::IEEE, 11) => Cipher::BipGmac128,
            (Self::IEEE, 12) => Cipher::BipGmac256,
            (Self::IEEE, 13) => Cipher::BipCmac256,
            _ => Cipher::Other(self),
        }
    }

    /// Returns the AKM suite (table 9-151).
    pub const fn key_management(self) -> KeyManagement {
        match (self.oui, self.code) {
            (Self::IEEE, 1) => KeyManagement::Dot1x,
            (Self::IEEE, 2) => KeyManagement::Psk,
            (Self::IEEE, 3) => KeyManagement::FtDot1x,
            (Self::IEEE, 4) => KeyManagement::FtPsk,
            (Self::IEEE, 5) => KeyManagement::Dot1xSha256,
            (Self::IEEE, 6) => KeyManagement::PskSha256,
            (Self::IEEE, 8) => KeyManagement::Sae,
            (Self::IEEE, 9) => KeyManagement::FtSae,
            (Self::IEEE, 11) => KeyManagement::SuiteB,
            (Self::IEEE, 12) => KeyManagement::SuiteB192,
            (Self::IEEE, 18) => KeyManagement::Owe,
            (Self::IEEE, 24) => KeyManagement::SaeGroupDependent,
            (Self::IEEE, 25) => KeyManagement::FtSaeGroupDependent,
            _ => KeyManagement::Other(self),
        }
    }
}

/// Suite selectors as bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Suites<'a> {
    bytes: &'a [u8],
}

impl<'a> Suites<'a> {
    /// Returns the suites of these selectors of 4 octets each; a remainder is left out.
    pub const fn new(bytes: &'a [u8]) -> Self {
        let (whole, _) = bytes.split_at(bytes.len() / SUITE_LEN * SUITE_LEN);
        Self { bytes: whole }
    }

    /// Appends number and selectors.
    fn emit(self, out: &mut Vec<u8>) {
        // More do not fit into the element.
        let count = u16::try_from(self.bytes.len() / SUITE_LEN).unwrap_or(u16::MAX);
        out.extend_from_slice(&count.to_le_bytes());
        out.extend_from_slice(self.bytes);
    }

    fn read(reader: &mut Reader<'a>, field: &'static str) -> Result<Self, Error> {
        let count = usize::from(reader.u16(field)?);
        Ok(Self { bytes: reader.take(field, SUITE_LEN * count)? })
    }

    /// Iterates over the suites in order.
    pub fn iter(self) -> impl Iterator<Item = Suite> + use<'a> {
        let suites = self.bytes.chunks_exact(SUITE_LEN).filter_map(|suite| suite.first_chunk());
        suites.map(|&[a, b, c, code]| Suite { oui: [a, b, c], code })
    }
}

/// A cipher suite.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cipher {
    /// The cipher of the group.
    UseGroup,
    /// WEP with 40 bits.
    Wep40,
    /// TKIP, of WPA.
    Tkip,
    /// CCMP-128, of WPA2.
    Ccmp128,
    /// WEP with 104 bits.
    Wep104,
    /// BIP-CMAC-128, of management frames.
    BipCmac128,
    /// No group-addressed traffic is permitted.
    NoGroupTraffic,
    /// GCMP with 128 bits.
    Gcmp128,
    /// GCMP with 256 bits.
    Gcmp256,
    /// CCMP with 256 bits.
    Ccmp256,
    /// BIP-GMAC-128, of management frames.
    BipGmac128,
    /// BIP-GMAC-256, of management frames.
    BipGmac256,
    /// BIP-CMAC-256, of management frames.
    BipCmac256,
    /// Any other suite.
    Other(Suite),
}

impl Cipher {
    /// Returns the selector of the cipher (table 9-149).
    pub const fn suite(self) -> Suite {
        Suite::ieee(match self {
            Self::UseGroup => 0,
            Self::Wep40 => 1,
            Self::Tkip => 2,
            Self::Ccmp128 => 4,
            Self::Wep104 => 5,
            Self::BipCmac128 => 6,
            Self::NoGroupTraffic => 7,
            Self::Gcmp128 => 8,
            Self::Gcmp256 => 9,
            Self::Ccmp256 => 10,
            Self::BipGmac128 => 11,
            Self::BipGmac256 => 12,
            Self::BipCmac256 => 13,
            Self::Other(suite) => return suite,
        })
    }
}

/// Authentication and key management of stations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum KeyManagement {
    /// IEEE 802.1X (WPA2-Enterprise).
    Dot1x,
    /// A pre-shared key (WPA2-PSK).
    Psk,
    /// IEEE 802.1X with fast transitions.
    FtDot1x,
    /// A pre-shared key with fast transitions.
    FtPsk,
    /// IEEE 802.1X with SHA-256 (WPA3-Enterprise).
    Dot1xSha256,
    /// A pre-shared key with SHA-256.
    PskSha256,
    /// SAE, used by WPA3.
    Sae,
    /// SAE with fast transitions.
    FtSae,
    /// IEEE 802.1X with Suite B.
    SuiteB,
    /// IEEE 802.1X with CNSA (WPA3-Enterprise, 192 bits).
    SuiteB192,
    /// Opportunistic wireless encryption (Enhanced Open).
    Owe,
    /// SAE whose hash depends on the group (required by 802.11be).
    SaeGroupDependent,
    /// SAE whose hash depends on the group, with fast transitions.
    FtSaeGroupDependent,
    /// Any other suite.
    Other(Suite),
}

impl KeyManagement {
    /// Returns the selector of the method (table 9-151).
    pub const fn suite(self) -> Suite {
        Suite::ieee(match self {
            Self::Dot1x => 1,
            Self::Psk => 2,
            Self::FtDot1x => 3,
            Self::FtPsk => 4,
            Self::Dot1xSha256 => 5,
            Self::PskSha256 => 6,
            Self::Sae => 8,
            Self::FtSae => 9,
            Self::SuiteB => 11,
            Self::SuiteB192 => 12,
            Self::Owe => 18,
            Self::SaeGroupDependent => 24,
            Self::FtSaeGroupDependent => 25,
            Self::Other(suite) => return suite,
        })
    }

    /// Whether this is a pre-shared key, without SAE.
    pub const fn is_psk(self) -> bool {
        matches!(self, Self::Psk | Self::FtPsk | Self::PskSha256)
    }

    /// Whether this is SAE.
    pub const fn is_sae(self) -> bool {
        matches!(
            self,
            Self::Sae | Self::FtSae | Self::SaeGroupDependent | Self::FtSaeGroupDependent
        )
    }
}

const SUITE_LEN: usize = 4;
const PMKID_LEN: usize = 16;

/// Returns `None` at the element's end.
fn there<'a, T>(
    reader: &mut Reader<'a>,
    read: impl FnOnce(&mut Reader<'a>) -> Result<T, Error>,
) -> Result<Option<T>, Error> {
    if reader.left() == 0 { Ok(None) } else { read(reader).map(Some) }
}

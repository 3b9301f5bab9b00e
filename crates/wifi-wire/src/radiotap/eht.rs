//! The U-SIG and EHT fields of radiotap (radiotap.org/fields/U-SIG, EHT), which are TLVs: the
//! transmission parameters of an EHT PPDU (IEEE 802.11be). The words are raw; accessors return
//! their meaning if it is known. Another module writes them. The RU allocations of EHT-SIG (data 1
//! to 6) stay codes.

use super::Allocation;
use super::eht_write::TONES;
use super::he::{guard_interval, ltf_size, ltf_symbols, txop_us};
use lasthop_units::Duration;

/// The U-SIG field: the part of the preamble that every PHY from EHT on shares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct USig {
    /// Bits that are independent of the PHY version, and their known bits.
    pub common: u32,
    /// The other bits.
    pub value: u32,
    /// Known bits of `value`.
    pub mask: u32,
}

/// Format of an EHT PPDU, by direction and PPDU Type And Compression Mode (IEEE 802.11be-2024,
/// 36.3.12.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EhtFormat {
    /// EHT MU in the downlink, with users on resource units.
    Ofdma,
    /// EHT MU for one user, or a sounding PPDU.
    SingleUser,
    /// EHT MU in the downlink, with users on streams over the whole bandwidth.
    MuMimo,
    /// EHT TB: one station's answer to a Trigger frame.
    TriggerBased,
}

impl USig {
    /// PHY version, if known: 0 is EHT.
    pub const fn phy_version(&self) -> Option<u8> {
        self.common(0x01, 12, 7)
    }

    /// Width of the PPDU in MHz, if known: 20 to 320.
    pub const fn bandwidth_mhz(&self) -> Option<u16> {
        match self.common(0x02, 15, 7) {
            Some(code @ 0..=4) => Some(20 << code),
            // The other of two 320 MHz channels that overlap.
            Some(5) => Some(320),
            _ => None,
        }
    }

    /// Whether the PPDU is from a station to the access point, if known.
    pub const fn uplink(&self) -> Option<bool> {
        match self.common(0x04, 18, 1) {
            Some(bit) => Some(bit == 1),
            None => None,
        }
    }

    /// BSS colour, 0 to 63, if known.
    pub const fn bss_colour(&self) -> Option<u8> {
        self.common(0x08, 19, 0x3f)
    }

    /// The raw TXOP field, if known: 127 for "unspecified".
    pub const fn txop(&self) -> Option<u8> {
        self.common(0x10, 25, 0x7f)
    }

    /// Remaining duration of the TXOP in microseconds, if known and specified.
    pub const fn txop_us(&self) -> Option<u16> {
        match self.txop() {
            Some(txop) => txop_us(txop),
            None => None,
        }
    }

    /// Whether the CRC of U-SIG was wrong.
    pub const fn bad_crc(&self) -> bool {
        self.common & 0x20 != 0
    }

    /// Format of the PPDU, if known and of EHT.
    pub const fn format(&self) -> Option<EhtFormat> {
        if matches!(self.phy_version(), Some(1..)) {
            return None;
        }
        match (self.uplink(), self.value(6, 3)) {
            (Some(false), Some(0)) => Some(EhtFormat::Ofdma),
            (Some(_), Some(1)) => Some(EhtFormat::SingleUser),
            (Some(false), Some(2)) => Some(EhtFormat::MuMimo),
            (Some(true), Some(0)) => Some(EhtFormat::TriggerBased),
            _ => None,
        }
    }

    /// Punctured Channel Information of an EHT MU PPDU, if known: 0 for none without
    /// OFDMA.
    pub const fn punctured_channels(&self) -> Option<u8> {
        match self.format() {
            None | Some(EhtFormat::TriggerBased) => None,
            Some(_) => self.value(9, 0x1f),
        }
    }

    /// MCS of EHT-SIG in an EHT MU PPDU, if known: 0, 1, 3, or 15 (code 3).
    pub const fn eht_sig_mcs(&self) -> Option<u8> {
        match (self.format(), self.value(15, 3)) {
            (None | Some(EhtFormat::TriggerBased), _) | (_, None) => None,
            (Some(_), Some(2)) => Some(3),
            (Some(_), Some(3)) => Some(15),
            (Some(_), code) => code,
        }
    }

    /// Returns at most 7 bits.
    const fn common(&self, known: u32, shift: u32, mask: u32) -> Option<u8> {
        if self.common & known != 0 { Some((self.common >> shift & mask) as u8) } else { None }
    }

    /// Returns at most 5 bits, all of them known.
    const fn value(&self, shift: u32, mask: u32) -> Option<u8> {
        let known = self.mask >> shift & mask == mask;
        if known { Some((self.value >> shift & mask) as u8) } else { None }
    }
}

/// The EHT field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Eht {
    /// Known parts of `data`.
    pub known: u32,
    /// The words data 0 to 8.
    pub data: [u32; 9],
    /// The user fields.
    pub users: EhtUsers,
}

/// User fields of an EHT field: the first [`MAX`](Self::MAX). If the user whose data was captured
/// comes later, it replaces the last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct EhtUsers {
    users: [EhtUser; Self::MAX],
    count: u8,
}

impl EhtUsers {
    /// Number of users that are kept: the limit of MU-MIMO.
    pub const MAX: usize = 8;

    /// Adds a user.
    pub fn push(&mut self, user: EhtUser) {
        if let Some(place) = self.users.get_mut(usize::from(self.count)) {
            *place = user;
            self.count += 1;
        } else if user.is_captured()
            && let Some(last) = self.users.last_mut()
        {
            *last = user;
        }
    }

    /// The users in order.
    pub fn as_slice(&self) -> &[EhtUser] {
        self.users.get(..usize::from(self.count)).unwrap_or_default()
    }
}

/// User of an EHT PPDU, as a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct EhtUser(pub u32);

impl EhtUser {
    /// Whether the frame after the header is this user's.
    pub const fn is_captured(self) -> bool {
        self.0 & 0x80 != 0
    }

    /// STA-ID, if known.
    pub const fn station_id(self) -> Option<u16> {
        if self.0 & 0x01 != 0 { Some((self.0 >> 8 & 0x7ff) as u16) } else { None }
    }

    /// MCS, 0 to 15, if known.
    pub const fn mcs(self) -> Option<u8> {
        if self.0 & 0x02 != 0 { Some((self.0 >> 20 & 15) as u8) } else { None }
    }

    /// Whether the coding is LDPC instead of convolutional, if known.
    pub const fn ldpc(self) -> Option<bool> {
        if self.0 & 0x04 != 0 { Some(self.0 & 1 << 19 != 0) } else { None }
    }

    /// Number of spatial streams, if known; not with MU-MIMO. Code 0 stands for one stream
    /// (radiotap.org leaves that open; Linux and Wireshark agree).
    pub const fn spatial_streams(self) -> Option<u8> {
        if self.0 & 0x10 != 0 { Some((self.0 >> 24 & 15) as u8 + 1) } else { None }
    }

    /// Whether the PPDU is beamformed, if known; not with MU-MIMO.
    pub const fn beamformed(self) -> Option<bool> {
        if self.0 & 0x20 != 0 { Some(self.0 & 1 << 29 != 0) } else { None }
    }

    /// Spatial configuration (36.3.12.8), if known; with MU-MIMO only.
    pub const fn spatial_configuration(self) -> Option<u8> {
        if self.0 & 0x40 != 0 { Some((self.0 >> 24 & 0x3f) as u8) } else { None }
    }
}

impl Eht {
    /// Longest field in bytes, with all users that are kept.
    pub(super) const LEN_MAX: usize = 4 * (1 + 9 + EhtUsers::MAX);

    /// The Spatial Reuse field, if known.
    pub const fn spatial_reuse(&self) -> Option<u8> {
        if self.known & 0x02 != 0 { Some((self.data[0] >> 3 & 15) as u8) } else { None }
    }

    /// Guard interval, if known: 800, 1 600 or 3 200 ns.
    pub const fn guard_interval(&self) -> Option<Duration> {
        if self.known & 0x04 != 0 { guard_interval((self.data[0] >> 7 & 3) as u16) } else { None }
    }

    /// Length of an LTF symbol, 1, 2 or 4 times 3.2 us, if known.
    pub const fn ltf_size(&self) -> Option<u8> {
        ltf_size((self.data[0] >> 9 & 3) as u16)
    }

    /// Number of LTF symbols, if known: 1, 2, 4, 6 or 8.
    pub const fn ltf_symbols(&self) -> Option<u8> {
        if self.known & 0x10 != 0 { ltf_symbols((self.data[0] >> 11 & 7) as u16) } else { None }
    }

    /// Whether LDPC needed one more symbol segment, if known.
    pub const fn ldpc_extra_symbol(&self) -> Option<bool> {
        if self.known & 0x20 != 0 { Some(self.data[0] & 1 << 14 != 0) } else { None }
    }

    /// Size of the (multiple) resource unit of the captured user, if known.
    pub const fn resource_unit(&self) -> Option<Allocation> {
        if self.known & 1 << 22 == 0 {
            return None;
        }
        match (self.data[1] & 0x1f) as usize {
            code if code < TONES.len() => Some(Allocation::ResourceUnit { tones: TONES[code] }),
            _ => None,
        }
    }

    /// Index of the resource unit among those of its size, if known.
    pub const fn resource_unit_index(&self) -> Option<u8> {
        if self.known & 1 << 23 != 0 { Some((self.data[1] >> 5 & 0xff) as u8) } else { None }
    }

    /// Position of the primary 80 MHz, from 0 for the lowest to 3, if known.
    pub const fn primary_80_mhz(&self) -> Option<u8> {
        if self.known & 1 << 25 != 0 { Some((self.data[1] >> 30) as u8) } else { None }
    }

    /// Number of users of a PPDU without OFDMA, if known.
    pub const fn non_ofdma_users(&self) -> Option<u8> {
        if self.known & 1 << 19 != 0 { Some((self.data[7] >> 17 & 7) as u8 + 1) } else { None }
    }

    /// Returns the user whose data was captured: the user with that flag, or the only user.
    pub fn captured_user(&self) -> Option<EhtUser> {
        let users = self.users.as_slice();
        match users {
            [only] => Some(*only),
            _ => users.iter().copied().find(|user| user.is_captured()),
        }
    }
}

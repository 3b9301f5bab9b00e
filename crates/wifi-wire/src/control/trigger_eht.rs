//! Trigger frames of 802.11be (IEEE 802.11be-2024, 9.3.1.22): the EHT variants of Common Info and
//! User Info, the Special User Info field, and the MU-RTS with which an access point begins a
//! frame exchange with a station in EMLSR mode (35.3.17).
//!
//! RU Allocation stays a code (table 9-53a) of nine bits with PS160.

use super::trigger::{AnswerRate, CommonInfo, Trigger, TriggerKind, UserInfo};
use alloc::vec::Vec;
use lasthop_units::Duration;
use lasthop_wifi_phy::{ChannelWidth, HeGuardInterval};

impl CommonInfo {
    /// Returns this field in its EHT variant, for answers of EHT in this width in MHz, 20 to 320. A
    /// Special User Info field, [`SpecialUserInfo::of_width`], must come first in the list.
    #[must_use]
    pub const fn for_eht(self, width_mhz: u16) -> Self {
        let code = match width_mhz {
            40 => 1,
            80 => 2,
            160 | 320 => 3,
            _ => 0,
        };
        let bits = self.0 & !(3 << 18 | 0x7ff << 53) | code << 18;
        Self(bits | EHT_RESERVED)
    }

    /// Returns the field of an MU-RTS Trigger frame of HE, whose answers are CTS; carrier sense is
    /// required.
    pub fn request_to_send(width: ChannelWidth) -> Self {
        let interval = HeGuardInterval::Ns1600Ltf1x;
        let Self(bits) = Self::asking(3, Duration::ZERO, interval, width);
        Self(bits | super::trigger::CARRIER_SENSE_REQUIRED)
    }

    /// HE/EHT P160: whether answers in the primary 160 MHz are of HE; then answers elsewhere may be
    /// of EHT.
    pub const fn is_he_in_primary_160(self) -> bool {
        self.0 >> 54 & 1 == 1
    }

    /// Special User Info Field Flag: whether the first field of the list is a Special User Info
    /// field.
    pub const fn has_special_user(self) -> bool {
        self.0 >> 55 & 1 == 0
    }
}

/// The Special User Info field: what U-SIG of the answers contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpecialUserInfo {
    /// PHY Version Identifier, 0 for EHT.
    pub phy_version: u8,
    /// UL Bandwidth Extension, 0 to 3: with UL BW, the width (table 9-46e).
    pub bandwidth_extension: u8,
    /// EHT Spatial Reuse 1 and 2, 0 to 15 each.
    pub spatial_reuse: [u8; 2],
    /// U-SIG Disregard And Validate, 12 bits.
    pub u_sig: u16,
}

impl SpecialUserInfo {
    /// Returns the field for answers of this width in MHz, 20 to 320, without spatial reuse.
    pub const fn of_width(width_mhz: u16) -> Self {
        let bandwidth_extension = match width_mhz {
            160 => 1,
            320 => 2,
            _ => 0,
        };
        Self { phy_version: 0, bandwidth_extension, spatial_reuse: [15; 2], u_sig: 0xfff }
    }

    /// Reads a User Info field; `None` if it is no Special User Info field.
    pub const fn parse(user: &UserInfo<'_>) -> Option<Self> {
        if user.aid() != UserInfo::SPECIAL {
            return None;
        }
        let bits = user.bits;
        Some(Self {
            phy_version: (bits >> 12 & 7) as u8,
            bandwidth_extension: (bits >> 15 & 3) as u8,
            spatial_reuse: [(bits >> 17 & 15) as u8, (bits >> 21 & 15) as u8],
            u_sig: (bits >> 25 & 0xfff) as u16,
        })
    }

    /// Appends the field, with a reserved dependent part as long as that of the kind's users. Of a
    /// kind that [`TriggerKind::Other`] holds, nothing is known.
    pub fn emit(&self, kind: TriggerKind, out: &mut Vec<u8>) {
        let [first, second] = self.spatial_reuse.map(|code| u64::from(code & 15));
        let bits = u64::from(UserInfo::SPECIAL)
            | u64::from(self.phy_version & 7) << 12
            | u64::from(self.bandwidth_extension & 3) << 15
            | first << 17
            | second << 21
            | u64::from(self.u_sig & 0xfff) << 25;
        out.extend_from_slice(&bits.to_le_bytes()[..5]);
        let dependent = match kind {
            TriggerKind::Basic | TriggerKind::BeamformingReportPoll => 1,
            TriggerKind::BlockAckRequest => 4,
            _ => 0,
        };
        out.extend_from_slice(&[0; 4][..dependent]);
    }
}

/// A User Info field in its EHT variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EhtUserInfo {
    /// AID12 of the station.
    pub aid: u16,
    /// RU Allocation with PS160 as its bit 8.
    pub allocation: u16,
    /// Whether the coding is LDPC.
    pub ldpc: bool,
    /// MCS and streams of the answer; there is no dual carrier modulation but by MCS 15.
    pub rate: AnswerRate,
    /// First spatial stream, from 0.
    pub starting_stream: u8,
    /// Requested signal at the access point in dBm, -110 to -20; `None` for the highest power.
    pub target_rssi_dbm: Option<i8>,
}

impl EhtUserInfo {
    /// Reads a User Info field as of the EHT variant.
    pub const fn parse(user: &UserInfo<'_>) -> Self {
        let bits = user.bits;
        let streams = (bits >> 30 & 3) as u8 + 1;
        Self {
            aid: user.aid(),
            allocation: (bits >> 12 & 0xff | bits >> 39 << 8 & 0x100) as u16,
            ldpc: user.ldpc(),
            rate: AnswerRate { mcs: user.mcs(), streams, dcm: false },
            starting_stream: (bits >> 26 & 15) as u8,
            target_rssi_dbm: user.target_rssi_dbm(),
        }
    }

    /// Appends the field without a dependent part. Streams are 1 to 4.
    pub fn emit(&self, out: &mut Vec<u8>) {
        let power = match self.target_rssi_dbm {
            Some(dbm) => u64::from((i16::from(dbm) + 110).clamp(0, 90).unsigned_abs()),
            None => 127,
        };
        let bits = u64::from(self.aid & 0xfff)
            | u64::from(self.allocation & 0xff) << 12
            | u64::from(self.ldpc) << 20
            | u64::from(self.rate.mcs & 15) << 21
            | u64::from(self.starting_stream & 15) << 26
            | u64::from(self.rate.streams.saturating_sub(1) & 3) << 30
            | power << 32
            | u64::from(self.allocation >> 8 & 1) << 39;
        out.extend_from_slice(&bits.to_le_bytes()[..5]);
    }
}

impl Trigger<'_> {
    /// Whether a User Info field is of the EHT variant (table 9-46g): if no answer is of HE, or by
    /// its PS160 bit.
    pub const fn is_eht(&self, user: &UserInfo<'_>) -> bool {
        !self.common.is_he_in_primary_160() || user.bits >> 39 & 1 == 1
    }

    /// Width of the answers in MHz, 20 to 320: of EHT if there is a Special User Info field, else of
    /// HE. `None` for a reserved code.
    pub fn answer_width_mhz(&self) -> Option<u16> {
        let he = self.common.bandwidth_mhz();
        if !self.common.has_special_user() {
            return Some(he);
        }
        let special = self.users().next().and_then(Result::ok);
        let Some(special) = special.as_ref().and_then(SpecialUserInfo::parse) else {
            return Some(he);
        };
        match (he, special.bandwidth_extension) {
            (20 | 40 | 80, 0) | (160, 1) => Some(he),
            (160, 2 | 3) => Some(320),
            _ => None,
        }
    }
}

/// Appends a User Info field of an MU-RTS: this station answers with a CTS in `width_mhz` (20 to
/// 320); `primary` is the place of the primary 20 or 40 MHz in its 80 MHz, from 0 for the lowest.
pub fn emit_request_to_send(aid: u16, width_mhz: u16, primary: u8, out: &mut Vec<u8>) {
    let (code, both, both_160) = match width_mhz {
        40 => (65 + u64::from(primary & 1), 0, 0),
        80 => (67, 0, 0),
        160 => (68, 1, 0),
        320 => (69, 1, 1),
        _ => (61 + u64::from(primary & 3), 0, 0),
    };
    let bits = u64::from(aid & 0xfff) | both << 12 | code << 13 | both_160 << 39;
    out.extend_from_slice(&bits.to_le_bytes()[..5]);
}

/// Appends a Padding field of this number of octets, at least 2 (9.3.1.22.8): time for a station to
/// prepare its answer, as for its EMLSR padding delay.
pub fn emit_trigger_padding(octets: usize, out: &mut Vec<u8>) {
    out.resize(out.len() + octets.max(2), 0xff);
}

/// EHT Reserved, bits 56 to 62: ones.
const EHT_RESERVED: u64 = 0x7f << 56;

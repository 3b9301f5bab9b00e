//! Elements of 802.11k and 802.11v, with which stations learn about other access points: Neighbor
//! Report (IEEE 802.11-2020, 9.4.2.36), RM Enabled Capabilities (9.4.2.44) and Extended
//! Capabilities (9.4.2.26). The elements are read on demand. Subelements keep their bytes, except
//! the preference of a candidate.

use super::subelements::Subelements;
use super::{Element, emit, emit_within, id, read};
use crate::Error;
use alloc::vec::Vec;
use lasthop_units::MacAddr;

/// Neighbor Report element: another access point, and its channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NeighborReport<'a> {
    /// BSSID of the access point.
    pub bssid: MacAddr,
    /// BSSID Information field.
    pub information: u32,
    /// Operating class of the channel (table E-4).
    pub operating_class: u8,
    /// Number of the channel.
    pub channel: u8,
    /// Type of the PHY (dot11PHYType): 4 OFDM, 6 ERP, 7 HT, 9 VHT, 14 HE.
    pub phy: u8,
    /// Optional subelements.
    pub subelements: Subelements<'a>,
}

impl<'a> NeighborReport<'a> {
    /// BSSID Information, bits 0 and 1: authentication with the access point is possible.
    pub const REACHABLE: u32 = 3;
    /// BSSID Information, bit 2: the same security as that of the sender.
    pub const SAME_SECURITY: u32 = 1 << 2;
    /// BSSID Information, bit 3: the same authenticator as that of the sender.
    pub const SAME_KEY_SCOPE: u32 = 1 << 3;
    /// BSSID Information, bit 5: QoS.
    pub const QOS: u32 = 1 << 5;
    /// BSSID Information, bit 7: radio measurement.
    pub const RADIO_MEASUREMENT: u32 = 1 << 7;
    /// BSSID Information, bit 10: the same mobility domain as that of the sender.
    pub const MOBILITY_DOMAIN: u32 = 1 << 10;
    /// BSSID Information, bit 11: HT.
    pub const HIGH_THROUGHPUT: u32 = 1 << 11;
    /// BSSID Information, bit 12: VHT.
    pub const VERY_HIGH_THROUGHPUT: u32 = 1 << 12;
    /// BSSID Information, bit 14: HE (IEEE 802.11ax-2021).
    pub const HIGH_EFFICIENCY: u32 = 1 << 14;
    /// Subelement ID of BSS Transition Candidate Preference.
    pub const CANDIDATE_PREFERENCE: u8 = 3;
    /// Subelement ID of Wide Bandwidth Channel.
    pub const WIDE_BANDWIDTH_CHANNEL: u8 = 6;

    /// Reads an element.
    ///
    /// # Errors
    /// Returns an error for an element that is too short; the offset is relative to the same start
    /// as [`Element::offset`].
    pub fn parse(element: &Element<'a>) -> Result<Self, Error> {
        read(element, |reader| {
            Ok(Self {
                bssid: reader.address("neighbor's BSSID")?,
                information: reader.u32("BSSID information")?,
                operating_class: reader.u8("neighbor's operating class")?,
                channel: reader.u8("neighbor's channel number")?,
                phy: reader.u8("neighbor's PHY type")?,
                subelements: Subelements::new(reader.rest()),
            })
        })
    }

    /// Appends the element.
    ///
    /// # Errors
    /// Returns an error for more than 242 bytes of subelements, and writes nothing.
    pub fn emit(&self, out: &mut Vec<u8>) -> Result<(), Error> {
        emit_within(id::NEIGHBOR_REPORT, out, |out| {
            out.extend_from_slice(&self.bssid.0);
            out.extend_from_slice(&self.information.to_le_bytes());
            out.extend_from_slice(&[self.operating_class, self.channel, self.phy]);
            out.extend_from_slice(self.subelements.as_bytes());
        })
    }

    /// Preference of a candidate, 1 to 255 for the best; 0 excludes it.
    pub fn preference(&self) -> Option<u8> {
        self.subelements.find(Self::CANDIDATE_PREFERENCE)?.first().copied()
    }
}

/// RM Enabled Capabilities element: the radio measurements of a station (802.11k).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct RmEnabledCapabilities(pub [u8; 5]);

impl RmEnabledCapabilities {
    /// Bit 1: neighbor reports.
    pub const NEIGHBOR_REPORT: usize = 1;
    /// Bit 4: reports of beacons, by passive scans.
    pub const BEACON_PASSIVE: usize = 4;
    /// Bit 5: reports of beacons, by active scans.
    pub const BEACON_ACTIVE: usize = 5;
    /// Bit 6: reports of beacons, from memory.
    pub const BEACON_TABLE: usize = 6;

    /// Returns capabilities with these bits; bits from 40 on are ignored.
    #[must_use]
    pub fn with(bits: &[usize]) -> Self {
        let mut octets = [0; 5];
        set(&mut octets, bits);
        Self(octets)
    }

    /// Whether a bit, 0 to 39, is set.
    pub fn has(&self, bit: usize) -> bool {
        is_set(&self.0, bit)
    }

    /// Reads an element.
    ///
    /// # Errors
    /// Returns an error for an element that is too short; the offset is relative to the same start
    /// as [`Element::offset`].
    pub fn parse(element: &Element<'_>) -> Result<Self, Error> {
        read(element, |reader| reader.array("RM enabled capabilities").map(Self))
    }

    /// Appends the element.
    pub fn emit(&self, out: &mut Vec<u8>) {
        emit(id::RM_ENABLED_CAPABILITIES, out, |out| out.extend_from_slice(&self.0));
    }
}

/// Extended Capabilities element: bits, of which those beyond the end are zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct ExtendedCapabilities<'a>(pub &'a [u8]);

impl<'a> ExtendedCapabilities<'a> {
    /// Bit 2: Extended Channel Switch Announcements.
    pub const EXTENDED_CHANNEL_SWITCHING: usize = 2;
    /// Bit 19: BSS transition management (802.11v).
    pub const BSS_TRANSITION: usize = 19;
    /// Bit 62: Operating Mode Notifications.
    pub const OPERATING_MODE_NOTIFICATION: usize = 62;
    /// Bit 72: FILS.
    pub const FILS: usize = 72;

    /// Returns `LEN` octets with these bits; bits beyond them are ignored.
    #[must_use]
    pub fn octets<const LEN: usize>(bits: &[usize]) -> [u8; LEN] {
        let mut octets = [0; LEN];
        set(&mut octets, bits);
        octets
    }

    /// Returns the capabilities of an element.
    pub const fn from_element(element: &Element<'a>) -> Self {
        Self(element.data)
    }

    /// Whether a bit is set.
    pub fn has(&self, bit: usize) -> bool {
        is_set(self.0, bit)
    }

    /// Appends the element.
    ///
    /// # Errors
    /// Returns an error for more than 255 octets, and writes nothing.
    pub fn emit(&self, out: &mut Vec<u8>) -> Result<(), Error> {
        emit_within(id::EXTENDED_CAPABILITIES, out, |out| out.extend_from_slice(self.0))
    }
}

fn is_set(octets: &[u8], bit: usize) -> bool {
    octets.get(bit / 8).is_some_and(|octet| octet >> (bit % 8) & 1 == 1)
}

fn set(octets: &mut [u8], bits: &[usize]) {
    for bit in bits {
        if let Some(octet) = octets.get_mut(bit / 8) {
            *octet |= 1 << (bit % 8);
        }
    }
}

//! EHT Capabilities element (IEEE 802.11be-2024, 9.4.2.323): MAC and PHY capabilities, the Supported
//! EHT-MCS And NSS Set, and PPE thresholds.
//!
//! The length of the set depends on the HE Capabilities of the same frame and on its sender, so that
//! it is read on demand. Subfields of the capabilities are raw.

use super::{Element, HeCapabilities, emit_within, extension, id, read};
use crate::Error;
use crate::reader::Reader;
use alloc::vec::Vec;

/// EHT Capabilities element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct EhtCapabilities<'a> {
    /// EHT MAC Capabilities Information.
    pub mac: [u8; 2],
    /// EHT PHY Capabilities Information.
    pub phy: [u8; 9],
    /// Supported EHT-MCS And NSS Set, and EHT PPE Thresholds behind it.
    pub rest: &'a [u8],
}

impl<'a> EhtCapabilities<'a> {
    /// MAC Capabilities, bit 1: EHT OM Control.
    pub const OM_CONTROL: u16 = 1 << 1;
    /// MAC Capabilities, bit 8: A-MPDUs of twice the length that HE and VHT announce.
    pub const LONGER_AMPDU: u16 = 1 << 8;
    /// PHY Capabilities, bit 1: 320 MHz at 6 GHz.
    pub const WIDTH_320_MHZ: usize = 1;
    /// PHY Capabilities, bit 2: RUs of 242 tones in more than 20 MHz.
    pub const UNIT_242_WIDE: usize = 2;
    /// PHY Capabilities, bit 5: beamforming to one user.
    pub const BEAMFORMER: usize = 5;
    /// PHY Capabilities, bit 6: being beamformed to.
    pub const BEAMFORMEE: usize = 6;
    /// PHY Capabilities, bit 41: 1024 and 4096-QAM are sent on units below 242 tones.
    pub const TX_DENSE_SMALL_UNITS: usize = 41;
    /// PHY Capabilities, bit 42: 1024 and 4096-QAM are received on units below 242 tones.
    pub const RX_DENSE_SMALL_UNITS: usize = 42;
    /// PHY Capabilities, bit 43: PPE thresholds are there.
    pub const PPE_THRESHOLDS: usize = 43;
    /// PHY Capabilities, bit 51: EHT-MCS 15 in RUs of up to 80 MHz.
    pub const MCS_15: usize = 51;
    /// PHY Capabilities, bit 55: EHT-MCS 14 (duplicate) at 6 GHz.
    pub const MCS_14: usize = 55;

    /// Reads an element.
    ///
    /// # Errors
    /// Returns an error for an element that is too short; the offset is relative to the same start
    /// as [`Element::offset`].
    pub fn parse(element: &Element<'a>) -> Result<Self, Error> {
        read(element, |reader| {
            reader.take("element ID extension", 1)?;
            Ok(Self {
                mac: reader.array("EHT MAC capabilities")?,
                phy: reader.array("EHT PHY capabilities")?,
                rest: reader.rest(),
            })
        })
    }

    /// Appends the element.
    ///
    /// # Errors
    /// Returns an error for more than 243 octets of sets and thresholds, and writes nothing.
    pub fn emit(&self, out: &mut Vec<u8>) -> Result<(), Error> {
        emit_within(id::EXTENSION, out, |out| {
            out.push(extension::EHT_CAPABILITIES);
            out.extend_from_slice(&self.mac);
            out.extend_from_slice(&self.phy);
            out.extend_from_slice(self.rest);
        })
    }

    /// Whether a bit of the PHY capabilities is set; beyond 71 none is.
    pub fn has(&self, bit: usize) -> bool {
        self.phy.get(bit / 8).is_some_and(|octet| octet >> (bit % 8) & 1 == 1)
    }

    /// Returns PHY capabilities with these bits; those beyond 71 are ignored.
    #[must_use]
    pub fn phy_with(bits: &[usize]) -> [u8; 9] {
        let mut phy = [0; 9];
        for bit in bits {
            if let Some(octet) = phy.get_mut(bit / 8) {
                *octet |= 1 << (bit % 8);
            }
        }
        phy
    }

    /// The Supported EHT-MCS And NSS Set, by the HE Capabilities of the same frame and by whether an
    /// access point sent it, with the octets behind it.
    ///
    /// # Errors
    /// Returns an error for a set that is too short; the offset counts from `rest` on.
    pub fn mcs_set(
        &self,
        he: &HeCapabilities,
        from_ap: bool,
    ) -> Result<(EhtMcsSet, &'a [u8]), Error> {
        let mut reader = Reader::new(LAYER, self.rest);
        let [at_2_4, at_80, at_160] = [1, 2, 3].map(|bit| he.phy[0] >> bit & 1 == 1);
        let at_320 = self.has(Self::WIDTH_320_MHZ);
        let mut map = |is_there: bool| {
            is_there.then(|| reader.array("EHT-MCS and NSS set").map(EhtMcsMap)).transpose()
        };
        let set = if at_2_4 {
            EhtMcsSet::Wide { up_to_80: map(true)?, at_160: None, at_320: None }
        } else if at_80 || at_160 || at_320 {
            EhtMcsSet::Wide { up_to_80: map(at_80)?, at_160: map(at_160)?, at_320: map(at_320)? }
        } else if from_ap {
            EhtMcsSet::Wide { up_to_80: map(true)?, at_160: None, at_320: None }
        } else {
            EhtMcsSet::Only20(reader.array("EHT-MCS and NSS set")?)
        };
        Ok((set, reader.rest()))
    }

    /// The PPE thresholds behind the set, if there are any.
    ///
    /// # Errors
    /// Returns an error for a set or thresholds that are too short; the offset counts from `rest`
    /// on.
    pub fn ppe_thresholds(
        &self,
        he: &HeCapabilities,
        from_ap: bool,
    ) -> Result<Option<EhtPpeThresholds<'a>>, Error> {
        let (_, behind) = self.mcs_set(he, from_ap)?;
        if !self.has(Self::PPE_THRESHOLDS) {
            return Ok(None);
        }
        let start = self.rest.len() - behind.len();
        let mut reader = Reader::at(LAYER, self.rest, start);
        let header = u32::from({ reader }.u16("EHT PPE thresholds")?);
        let units = (header >> 4 & 0x1f).count_ones();
        let bits = 9 + 6 * units * ((header & 15) + 1);
        let octets = reader.take("EHT PPE thresholds", bits.div_ceil(8) as usize)?;
        Ok(Some(EhtPpeThresholds { octets }))
    }
}

/// Numbers of streams by MCS in one width: three octets, for EHT-MCS 0 to 9, 10 and 11, 12 and 13.
/// In each, bits 0 to 3 are the streams received, bits 4 to 7 the streams sent; 0 for none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct EhtMcsMap(pub [u8; 3]);

impl EhtMcsMap {
    /// Returns a map in which the station sends and receives this number of streams, 1 to 15, up to
    /// an MCS, 9 to 13.
    pub const fn up_to(mcs: u8, streams: u8) -> Self {
        let both = (streams & 15) * 0x11;
        Self([both, if mcs >= 11 { both } else { 0 }, if mcs >= 13 { both } else { 0 }])
    }

    /// Streams that the station receives with an MCS, 0 to 13; 0 for none.
    pub const fn rx_streams(&self, mcs: u8) -> u8 {
        self.at(mcs) & 15
    }

    /// Streams that the station sends with an MCS, 0 to 13; 0 for none.
    pub const fn tx_streams(&self, mcs: u8) -> u8 {
        self.at(mcs) >> 4
    }

    const fn at(&self, mcs: u8) -> u8 {
        match mcs {
            0..=9 => self.0[0],
            10 | 11 => self.0[1],
            12 | 13 => self.0[2],
            _ => 0,
        }
    }
}

/// Supported EHT-MCS And NSS Set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EhtMcsSet {
    /// Of a station of only 20 MHz: octets as in [`EhtMcsMap`], for EHT-MCS 0 to 7, 8 and 9, 10 and
    /// 11, 12 and 13.
    Only20([u8; 4]),
    /// Of other stations and of access points, by width.
    Wide {
        /// Streams in PPDUs of up to 80 MHz.
        up_to_80: Option<EhtMcsMap>,
        /// Streams in PPDUs of 160 MHz.
        at_160: Option<EhtMcsMap>,
        /// Streams in PPDUs of 320 MHz.
        at_320: Option<EhtMcsMap>,
    },
}

impl EhtMcsSet {
    /// Streams that the station receives with an MCS, 0 to 13, in a width in MHz; 0 for none.
    pub fn rx_streams(&self, mcs: u8, width_mhz: u16) -> u8 {
        let map = match (self, width_mhz) {
            (Self::Only20(octets), 20) => {
                let at = match mcs {
                    0..=7 => 0,
                    8 | 9 => 1,
                    10 | 11 => 2,
                    12 | 13 => 3,
                    _ => return 0,
                };
                return octets[at] & 15;
            }
            (Self::Wide { up_to_80, .. }, 20 | 40 | 80) => up_to_80,
            (Self::Wide { at_160, .. }, 160) => at_160,
            (Self::Wide { at_320, .. }, 320) => at_320,
            _ => return 0,
        };
        map.map_or(0, |map| map.rx_streams(mcs))
    }

    /// Appends the set.
    pub fn emit(&self, out: &mut Vec<u8>) {
        match self {
            Self::Only20(octets) => out.extend_from_slice(octets),
            Self::Wide { up_to_80, at_160, at_320 } => {
                for map in [up_to_80, at_160, at_320].into_iter().flatten() {
                    out.extend_from_slice(&map.0);
                }
            }
        }
    }
}

/// EHT PPE Thresholds: from which constellation on a receiver needs packet extensions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EhtPpeThresholds<'a> {
    octets: &'a [u8],
}

impl<'a> EhtPpeThresholds<'a> {
    /// The field as octets.
    pub const fn as_bytes(&self) -> &'a [u8] {
        self.octets
    }

    /// Number of streams with thresholds, 1 to 16.
    pub fn streams(&self) -> u8 {
        self.bits(0, 4) + 1
    }

    /// RU Index Bitmask: sizes of units with thresholds, from 242 tones (bit 0) to 4 x 996 (bit 4).
    pub fn units(&self) -> u8 {
        self.bits(4, 5)
    }

    /// PPETmax and PPET8 of a number of streams, from 1, in a size of unit, 0 to 4: indices of
    /// constellations (0 for BPSK, 7 for none). `None` if there are no such thresholds.
    pub fn pair(&self, streams: u8, unit: u8) -> Option<(u8, u8)> {
        let mask = self.units();
        if !(1..=self.streams()).contains(&streams) || unit > 4 || mask >> unit & 1 == 0 {
            return None;
        }
        let each = mask.count_ones() as usize;
        let before = (mask & ((1 << unit) - 1)).count_ones() as usize;
        let start = 9 + 6 * (usize::from(streams - 1) * each + before);
        Some((self.bits(start, 3), self.bits(start + 3, 3)))
    }

    /// Returns at most 8 bits; those beyond the end are zero.
    fn bits(&self, start: usize, count: usize) -> u8 {
        (0..count).fold(0, |bits, n| {
            let octet = self.octets.get((start + n) / 8).copied().unwrap_or_default();
            bits | (octet >> ((start + n) % 8) & 1) << n
        })
    }
}

const LAYER: &str = "EHT capabilities";

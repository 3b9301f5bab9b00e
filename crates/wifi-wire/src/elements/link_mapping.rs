//! Which link of a multi-link device carries which traffic: the TID-To-Link Mapping element (IEEE
//! 802.11be-2024, 9.4.2.324) and the Multi-Link Traffic Indication element (9.4.2.325).

use super::{Element, emit, extension, id, read};
use crate::Error;
use alloc::vec::Vec;

/// TID-To-Link Mapping element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TidToLink {
    /// Direction: 0 downlink, 1 uplink, 2 both.
    pub direction: u8,
    /// Mapping Switch Time: bits 10 to 25 of the TSF (units of 1 024 us) at which the mapping
    /// begins.
    pub switch_time_tu: Option<u16>,
    /// Expected Duration of the mapping in units of 1 024 us, 24 bits.
    pub expected_duration_tu: Option<u32>,
    /// Links of each TID (bit n for link n), if the TID has a mapping of its own; `None` for the
    /// default: all TIDs on all links.
    pub links: Option<[Option<u16>; 8]>,
}

impl TidToLink {
    /// Direction of downlink.
    pub const DOWNLINK: u8 = 0;
    /// Direction of uplink.
    pub const UPLINK: u8 = 1;
    /// Both directions.
    pub const BOTH: u8 = 2;
    const DEFAULT: u8 = 1 << 2;
    const SWITCH_TIME: u8 = 1 << 3;
    const EXPECTED_DURATION: u8 = 1 << 4;
    const SHORT: u8 = 1 << 5;

    /// Links of a TID, 0 to 7: bit n for link n; `None` for all links.
    pub fn links_of(&self, tid: u8) -> Option<u16> {
        self.links?.get(usize::from(tid)).copied().flatten()
    }

    /// Reads an element.
    ///
    /// # Errors
    /// Returns an error for an element that is too short; the offset is relative to the same start
    /// as [`Element::offset`].
    pub fn parse(element: &Element<'_>) -> Result<Self, Error> {
        read(element, |reader| {
            reader.take("element ID extension", 1)?;
            let control = reader.u8("TID-to-link mapping control")?;
            let has = |bit: u8| control & bit != 0;
            let present = if has(Self::DEFAULT) {
                None
            } else {
                Some(reader.u8("link mapping presence indicator")?)
            };
            let mut mapping = Self {
                direction: control & 3,
                switch_time_tu: None,
                expected_duration_tu: None,
                links: None,
            };
            if has(Self::SWITCH_TIME) {
                mapping.switch_time_tu = Some(reader.u16("mapping switch time")?);
            }
            if has(Self::EXPECTED_DURATION) {
                let [a, b, c] = reader.array("expected duration")?;
                mapping.expected_duration_tu = Some(u32::from_le_bytes([a, b, c, 0]));
            }
            if let Some(present) = present {
                let mut links = [None; 8];
                for (tid, place) in links.iter_mut().enumerate() {
                    if present >> tid & 1 == 1 {
                        *place = Some(if has(Self::SHORT) {
                            u16::from(reader.u8("link mapping")?)
                        } else {
                            reader.u16("link mapping")?
                        });
                    }
                }
                mapping.links = Some(links);
            }
            Ok(mapping)
        })
    }

    /// Appends the element; its mappings have one octet each if none needs two.
    pub fn emit(&self, out: &mut Vec<u8>) {
        let maps = || self.links.into_iter().flatten().flatten();
        let short = maps().all(|links| links < 0x100);
        let bit = |is_set, bit| if is_set { bit } else { 0 };
        emit(id::EXTENSION, out, |out| {
            let control = self.direction & 3
                | bit(self.links.is_none(), Self::DEFAULT)
                | bit(self.switch_time_tu.is_some(), Self::SWITCH_TIME)
                | bit(self.expected_duration_tu.is_some(), Self::EXPECTED_DURATION)
                | bit(self.links.is_some() && short, Self::SHORT);
            out.extend_from_slice(&[extension::TID_TO_LINK_MAPPING, control]);
            if let Some(links) = self.links {
                let present =
                    |(tid, links): (usize, &Option<u16>)| u8::from(links.is_some()) << tid;
                out.push(links.iter().enumerate().map(present).fold(0, |all, one| all | one));
            }
            if let Some(time) = self.switch_time_tu {
                out.extend_from_slice(&time.to_le_bytes());
            }
            if let Some(duration) = self.expected_duration_tu {
                out.extend_from_slice(&duration.to_le_bytes()[..3]);
            }
            for links in maps() {
                out.extend_from_slice(&links.to_le_bytes()[..if short { 1 } else { 2 }]);
            }
        });
    }
}

/// Multi-Link Traffic Indication element: for stations with traffic in the TIM, the links on which
/// they should ask for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkTraffic<'a> {
    /// Number of bits of each station, 1 to 16.
    pub links: u8,
    /// AID Offset: the first bitmap belongs to the first AID from here on whose bit is set in the
    /// TIM, 0 to 2 047.
    pub aid_offset: u16,
    /// Bitmaps one behind the other, from the lowest bit of the first octet on.
    pub bitmaps: &'a [u8],
}

impl<'a> LinkTraffic<'a> {
    /// Reads an element.
    ///
    /// # Errors
    /// Returns an error for an element that is too short; the offset is relative to the same start
    /// as [`Element::offset`].
    pub fn parse(element: &Element<'a>) -> Result<Self, Error> {
        read(element, |reader| {
            reader.take("element ID extension", 1)?;
            let control = reader.u16("multi-link traffic indication control")?;
            Ok(Self {
                links: (control & 15) as u8 + 1,
                aid_offset: control >> 4 & 0x7ff,
                bitmaps: reader.rest(),
            })
        })
    }

    /// Appends the element.
    ///
    /// # Errors
    /// Returns an error for more than 252 octets of bitmaps, and writes nothing.
    pub fn emit(&self, out: &mut Vec<u8>) -> Result<(), Error> {
        super::emit_within(id::EXTENSION, out, |out| {
            out.push(extension::MULTI_LINK_TRAFFIC_INDICATION);
            let control = u16::from(self.links.saturating_sub(1) & 15);
            out.extend_from_slice(&(control | (self.aid_offset & 0x7ff) << 4).to_le_bytes());
            out.extend_from_slice(self.bitmaps);
        })
    }

    /// Links with traffic of the `n`th station: bit n for link n. `None` beyond the bitmaps.
    pub fn links_of(&self, n: usize) -> Option<u16> {
        let bits = usize::from(self.links.min(16));
        let start = n.checked_mul(bits)?;
        let mut links = 0;
        for bit in 0..bits {
            let at = start.checked_add(bit)?;
            links |= u16::from(self.bitmaps.get(at / 8)? >> (at % 8) & 1) << bit;
        }
        Some(links)
    }
}

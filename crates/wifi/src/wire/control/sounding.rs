//! NDP Announcement (IEEE 802.11-2020, 9.3.1.19; IEEE 802.11ax-2021, 802.11az-2022 and
//! 802.11be-2024 add variants): who shall measure the sounding PPDU that follows. What each
//! station shall report stays bits.

use super::records::Walk;
use crate::wire::Error;
use crate::wire::reader::Reader;
use alloc::vec::Vec;

/// An NDP Announcement after its addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NdpAnnouncement<'a> {
    /// The Sounding Dialog Token field: the number in bits 2 to 7, the variant in 0 and 1.
    pub token: u8,
    /// The STA Info fields, unread.
    pub stations: &'a [u8],
}

/// The variants of an NDP Announcement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NdpVariant {
    /// VHT: two octets for each station.
    Vht,
    /// HE: four octets for each station.
    He,
    /// Ranging (802.11az): four octets for each station.
    Ranging,
    /// EHT: four octets for each station.
    Eht,
}

/// A STA Info field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NdpStation {
    /// The AID: 12 bits in VHT, 11 in the others.
    pub aid: u16,
    /// The whole field.
    pub bits: u32,
}

impl<'a> NdpAnnouncement<'a> {
    /// Which variant.
    pub const fn variant(&self) -> NdpVariant {
        match self.token & 3 {
            0 => NdpVariant::Vht,
            1 => NdpVariant::Ranging,
            2 => NdpVariant::He,
            _ => NdpVariant::Eht,
        }
    }

    /// The dialog token's number, 0 to 63.
    pub const fn token_number(&self) -> u8 {
        self.token >> 2
    }

    /// The stations in order; ends after an error. There is none in a frame that was parsed.
    pub fn stations(&self) -> impl Iterator<Item = Result<NdpStation, Error>> + use<'a> {
        let vht = self.variant() == NdpVariant::Vht;
        let mut walk = Walk::new("NDP announcement", self.stations);
        core::iter::from_fn(move || {
            walk.next(|reader| {
                Ok(if vht {
                    let bits = reader.u16("STA info")?;
                    NdpStation { aid: bits & 0xfff, bits: u32::from(bits) }
                } else {
                    let bits = reader.u32("STA info")?;
                    NdpStation { aid: (bits & 0x7ff) as u16, bits }
                })
            })
        })
    }

    pub(super) fn parse(reader: &mut Reader<'a>) -> Result<Self, Error> {
        let token = reader.u8("sounding dialog token")?;
        let start = reader.offset();
        let announcement = Self { token, stations: reader.rest() };
        for station in announcement.stations() {
            station.map_err(|error| error.shifted(start))?;
        }
        Ok(announcement)
    }

    pub(super) const fn buffer_len(&self) -> usize {
        1 + self.stations.len()
    }

    pub(super) fn emit(&self, out: &mut Vec<u8>) {
        out.push(self.token);
        out.extend_from_slice(self.stations);
    }
}

//! NDP Announcement (IEEE 802.11-2020, 9.3.1.19; IEEE 802.11ax-2021, 802.11az-2022 and
//! 802.11be-2024 add variants): the stations that measure the following sounding PPDU. When read,
//! the report requested of each station stays bits. When written, the frame requests feedback for
//! several users over the whole width.

use super::records::Walk;
use crate::Error;
use crate::reader::Reader;
use alloc::vec::Vec;
use lasthop_wifi_phy::{ChannelWidth, Codebook, Feedback, Grouping, RuSize};

/// An NDP Announcement after its addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NdpAnnouncement<'a> {
    /// The Sounding Dialog Token field: the number in bits 2 to 7, the variant in bits 0 and 1.
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
    /// Bits of the whole field.
    pub bits: u32,
}

/// Appends the STA Info field of a station that reports for several users: for VHT with the
/// feedback type and the index of columns, for HE with all 26-tone RUs of the width, Ng, codebook
/// and columns.
pub fn emit_ndp_station(aid: u16, feedback: &Feedback, out: &mut Vec<u8>) {
    let columns = u32::from(feedback.columns.saturating_sub(1) & 7);
    let is_fine = feedback.codebook == Codebook::Fine;
    if !feedback.grouping.is_he() {
        let bits = u32::from(aid & 0xfff) | 1 << 12 | columns << 13;
        out.extend_from_slice(&bits.to_le_bytes()[..2]);
        return;
    }
    let several = if feedback.grouping == Grouping::He16 { 3 } else { 2 };
    let last_unit = last_unit(feedback.width);
    let bits = u32::from(aid & 0x7ff)
        | last_unit << 18
        | several << 25
        | 1 << 27
        | u32::from(is_fine) << 28
        | columns << 29;
    out.extend_from_slice(&bits.to_le_bytes());
}

/// Index of the last 26-tone RU of a channel, from 0.
fn last_unit(width: ChannelWidth) -> u32 {
    u32::from(RuSize::Tones26.count_in(width)) - 1
}

/// A segment of a beamforming report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReportSegment {
    /// Number of segments that follow, at most 7.
    pub remaining: u8,
    /// Whether the segment is the first.
    pub is_first: bool,
}

/// Appends the body of an Action No Ack frame with a compressed beamforming report for several
/// users, or a segment of one, up to the report: category, action, and MIMO Control of VHT or HE.
/// `token` is the number of the NDP Announcement.
pub fn emit_beamforming_report(
    feedback: &Feedback,
    ReportSegment { remaining, is_first }: ReportSegment,
    token: u8,
    out: &mut Vec<u8>,
) {
    let width = match feedback.width {
        ChannelWidth::Mhz20 => 0,
        ChannelWidth::Mhz40 => 1,
        ChannelWidth::Mhz80 => 2,
        // VHT and HE have nothing wider.
        ChannelWidth::Mhz160 | ChannelWidth::Mhz320 => 3,
    };
    let index = |count: u8| u64::from(count.saturating_sub(1) & 7);
    let codebook = u64::from(feedback.codebook == Codebook::Fine);
    let segments = u64::from(remaining & 7) << 12 | u64::from(is_first) << 15;
    let common = index(feedback.columns) | index(feedback.rows) << 3 | width << 6 | segments;
    let token = u64::from(token & 63);
    let grouping = match feedback.grouping {
        Grouping::Vht1 | Grouping::He4 => 0,
        Grouping::Vht2 | Grouping::He16 => 1,
        Grouping::Vht4 => 2,
    };
    if feedback.grouping.is_he() {
        let units = u64::from(last_unit(feedback.width)) << 23;
        let bits = common | grouping << 8 | codebook << 9 | 1 << 10 | units | token << 30;
        out.extend_from_slice(&[CATEGORY_HE, COMPRESSED_BEAMFORMING]);
        out.extend_from_slice(&bits.to_le_bytes()[..5]);
    } else {
        let bits = common | grouping << 8 | codebook << 10 | 1 << 11 | token << 18;
        out.extend_from_slice(&[CATEGORY_VHT, COMPRESSED_BEAMFORMING]);
        out.extend_from_slice(&bits.to_le_bytes()[..3]);
    }
}

/// Categories of Action frames (9.4.1.11).
const CATEGORY_VHT: u8 = 21;
const CATEGORY_HE: u8 = 30;
/// Action code in both categories.
const COMPRESSED_BEAMFORMING: u8 = 0;

impl<'a> NdpAnnouncement<'a> {
    /// Variant of the announcement.
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

    /// Iterates over the stations in order; ends after an error. A frame that was parsed yields no
    /// error.
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

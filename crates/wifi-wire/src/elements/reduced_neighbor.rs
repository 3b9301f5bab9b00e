//! Reduced Neighbor Report element (IEEE 802.11-2020, 9.4.2.170; IEEE 802.11be-2024 adds the MLD
//! parameters): access points on other channels, and on the other links of a multi-link device.
//!
//! The element stays bytes. Information of lengths that the standard reserves is kept unread; of
//! longer ones, the first 16 octets are read.

use super::{Element, emit_within, id, read};
use crate::Error;
use crate::reader::Reader;
use alloc::vec::Vec;
use lasthop_units::MacAddr;

/// Reduced Neighbor Report element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReducedNeighborReport<'a> {
    bytes: &'a [u8],
}

/// A Neighbor AP Information field: access points on one channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NeighborChannel<'a> {
    /// TBTT Information Field Type: 0, or 1 for MLD parameters alone.
    pub kind: u8,
    /// Filtered Neighbor AP: all have the SSID of the Probe Response's request.
    pub filtered: bool,
    /// Operating class of the channel (table E-4).
    pub operating_class: u8,
    /// Number of the channel.
    pub channel: u8,
    /// TBTT Information Length in octets.
    pub length: u8,
    infos: &'a [u8],
}

/// A TBTT Information field: one access point. Absent parts are `None`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct TbttInfo {
    /// Neighbor AP TBTT Offset: its next beacon after the sender's, in units of 1 024 us; 255 for
    /// unknown.
    pub offset_tu: Option<u8>,
    /// BSSID of the access point.
    pub bssid: Option<MacAddr>,
    /// Short SSID: the CRC-32 of its name.
    pub short_ssid: Option<u32>,
    /// BSS Parameters (figure 9-632a).
    pub bss_parameters: Option<u8>,
    /// 20 MHz PSD: its power limit.
    pub psd: Option<u8>,
    /// MLD Parameters.
    pub mld: Option<MldParameters>,
}

/// MLD Parameters of a reported access point (figure 9-709c), 24 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct MldParameters {
    /// AP MLD ID: 0 for the device of the reporting access point, 255 for none.
    pub mld_id: u8,
    /// Link ID, 0 to 14; 15 for none.
    pub link_id: u8,
    /// BSS Parameters Change Count.
    pub change_count: u8,
    /// Whether the frame has all updates that the count announces.
    pub all_updates_included: bool,
    /// Whether the link is disabled.
    pub disabled: bool,
}

impl MldParameters {
    const LEN: usize = 3;

    fn from_octets(octets: [u8; 3]) -> Self {
        let [a, b, c] = octets;
        let bits = u32::from_le_bytes([a, b, c, 0]);
        Self {
            mld_id: a,
            link_id: (bits >> 8 & 15) as u8,
            change_count: (bits >> 12 & 0xff) as u8,
            all_updates_included: bits >> 20 & 1 == 1,
            disabled: bits >> 21 & 1 == 1,
        }
    }

    fn octets(self) -> [u8; 3] {
        let bits = u32::from(self.mld_id)
            | u32::from(self.link_id & 15) << 8
            | u32::from(self.change_count) << 12
            | u32::from(self.all_updates_included) << 20
            | u32::from(self.disabled) << 21;
        let [a, b, c, _] = bits.to_le_bytes();
        [a, b, c]
    }
}

impl<'a> ReducedNeighborReport<'a> {
    /// Reads an element and checks that each field is whole.
    ///
    /// # Errors
    /// Returns an error for an incomplete field; the offset is relative to the same start as
    /// [`Element::offset`].
    pub fn parse(element: &Element<'a>) -> Result<Self, Error> {
        read(element, |reader| {
            let report = Self { bytes: { *reader }.rest() };
            while reader.left() > 0 {
                NeighborChannel::parse(reader)?;
            }
            Ok(report)
        })
    }

    /// Iterates over the channels; ends before an incomplete one.
    pub fn channels(&self) -> impl Iterator<Item = NeighborChannel<'a>> + use<'a> {
        let mut reader = Reader::new("reduced neighbor report", self.bytes);
        core::iter::from_fn(move || {
            if reader.left() == 0 { None } else { NeighborChannel::parse(&mut reader).ok() }
        })
    }

    /// Appends an element with these fields, each written by [`NeighborChannel::emit`].
    ///
    /// # Errors
    /// Returns an error for more than 255 octets, and writes nothing.
    pub fn emit(fields: &[u8], out: &mut Vec<u8>) -> Result<(), Error> {
        emit_within(id::REDUCED_NEIGHBOR_REPORT, out, |out| out.extend_from_slice(fields))
    }

    /// The fields as bytes.
    pub const fn as_bytes(&self) -> &'a [u8] {
        self.bytes
    }
}

impl<'a> NeighborChannel<'a> {
    fn parse(reader: &mut Reader<'a>) -> Result<Self, Error> {
        let header = reader.u16("TBTT information header")?;
        let operating_class = reader.u8("operating class")?;
        let channel = reader.u8("channel number")?;
        let length = (header >> 8) as u8;
        let count = usize::from(header >> 4 & 15) + 1;
        Ok(Self {
            kind: (header & 3) as u8,
            filtered: header & 4 != 0,
            operating_class,
            channel,
            length,
            infos: reader.take("TBTT information", count * usize::from(length))?,
        })
    }

    /// Iterates over the access points.
    pub fn access_points(&self) -> impl Iterator<Item = TbttInfo> + use<'a> {
        let kind = self.kind;
        self.infos
            .chunks_exact(usize::from(self.length).max(1))
            .map(move |info| TbttInfo::parse(kind, info))
    }

    /// Appends a field for `access_points`, 1 to 16 (more are left out), on a channel. Each has
    /// offset, BSSID, short SSID, BSS parameters and PSD, and all have MLD parameters if one has
    /// them; absent values are "unknown" (255), zero for addresses and names.
    pub fn emit(operating_class: u8, channel: u8, access_points: &[TbttInfo], out: &mut Vec<u8>) {
        let access_points = &access_points[..access_points.len().min(16)];
        let Some(count) = access_points.len().checked_sub(1) else { return };
        let has_mld = access_points.iter().any(|it| it.mld.is_some());
        let length = if has_mld { FULL_LEN + MldParameters::LEN } else { FULL_LEN };
        let header = (count as u16) << 4 | (length as u16) << 8;
        out.extend_from_slice(&header.to_le_bytes());
        out.extend_from_slice(&[operating_class, channel]);
        for it in access_points {
            out.push(it.offset_tu.unwrap_or(255));
            out.extend_from_slice(&it.bssid.unwrap_or_default().0);
            out.extend_from_slice(&it.short_ssid.unwrap_or_default().to_le_bytes());
            out.extend_from_slice(&[it.bss_parameters.unwrap_or_default(), it.psd.unwrap_or(255)]);
            if has_mld {
                let unknown =
                    MldParameters { mld_id: 255, link_id: 15, ..MldParameters::default() };
                out.extend_from_slice(&it.mld.unwrap_or(unknown).octets());
            }
        }
    }
}

impl TbttInfo {
    /// Reads the parts that a length announces (table 9-331).
    fn parse(kind: u8, info: &[u8]) -> Self {
        let mut reader = Reader::new("TBTT information", info);
        let mut it = Self::default();
        if kind == 1 {
            it.mld = reader.array("MLD parameters").ok().map(MldParameters::from_octets);
            return it;
        }
        let (bssid, short_ssid, parameters, psd, mld) = match info.len() {
            1 => (false, false, false, false, false),
            2 => (false, false, true, false, false),
            5 => (false, true, false, false, false),
            6 => (false, true, true, false, false),
            7 => (true, false, false, false, false),
            8 => (true, false, true, false, false),
            9 => (true, false, true, true, false),
            11 => (true, true, false, false, false),
            12 => (true, true, true, false, false),
            13 => (true, true, true, true, false),
            16.. => (true, true, true, true, true),
            _ => return it,
        };
        if kind != 0 {
            return it;
        }
        // The lengths above are those of the parts.
        it.offset_tu = reader.u8("TBTT offset").ok();
        it.bssid = bssid.then(|| reader.address("BSSID").ok()).flatten();
        it.short_ssid = short_ssid.then(|| reader.u32("short SSID").ok()).flatten();
        it.bss_parameters = parameters.then(|| reader.u8("BSS parameters").ok()).flatten();
        it.psd = psd.then(|| reader.u8("PSD").ok()).flatten();
        let octets = mld.then(|| reader.array("MLD parameters").ok()).flatten();
        it.mld = octets.map(MldParameters::from_octets);
        it
    }
}

/// Length of a TBTT Information field with all parts but the MLD parameters.
const FULL_LEN: usize = 13;

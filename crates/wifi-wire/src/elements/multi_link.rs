//! The Multi-Link element (IEEE 802.11be-2024, 9.4.2.322): an access point or station with several
//! links, and what a link's profile adds.
//!
//! The variants Basic, Probe Request and Reconfiguration are read; others (TDLS, Priority Access)
//! keep their bytes. Bits and octets of later amendments are kept. The element is read from its
//! whole information ([`Elements::whole_extensions`](super::Elements::whole_extensions)), since it
//! is often fragmented.

use super::extension;
use super::fragments::{emit_extension, emit_subelement, whole_subelements};
use crate::Error;
use crate::reader::Reader;
use alloc::borrow::Cow;
use alloc::vec::Vec;
use lasthop_units::{Duration, MacAddr};

/// A Multi-Link element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MultiLink<'a> {
    /// The variant with its fields of Common Info.
    pub common: MultiLinkCommon,
    /// Bits of Multi-Link Control that this module does not know: their fields are in `later`.
    pub later_bits: u16,
    /// Octets of Common Info after the known fields. Of an unread variant, all after the control.
    pub later: &'a [u8],
    /// Link Info: subelements, unchecked.
    pub links: &'a [u8],
}

/// Common Info of a Multi-Link element, by variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MultiLinkCommon {
    /// Basic (9.4.2.322.2): who sends the frame, and on which link.
    Basic(BasicMultiLink),
    /// Probe Request (9.4.2.322.3): asks for profiles of other links.
    ProbeRequest {
        /// AP MLD ID of the device.
        mld_id: Option<u8>,
    },
    /// Reconfiguration (9.4.2.322.4): adds and removes links.
    Reconfiguration {
        /// Address of the device.
        address: Option<MacAddr>,
        /// EML Capabilities.
        eml: Option<EmlCapabilities>,
        /// MLD Capabilities And Operations.
        mld: Option<MldCapabilities>,
        /// Extended MLD Capabilities And Operations.
        extended: Option<u16>,
    },
    /// Any other variant, unread.
    Other {
        /// Type, 3 to 7.
        kind: u8,
    },
}

/// Common Info of a Basic Multi-Link element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct BasicMultiLink {
    /// MLD MAC Address: of the whole device.
    pub address: MacAddr,
    /// Link ID of the link on which the frame is sent, 0 to 14; of access points only.
    pub link_id: Option<u8>,
    /// BSS Parameters Change Count.
    pub change_count: Option<u8>,
    /// Medium Synchronization Delay Information.
    pub medium_sync_delay: Option<MediumSyncDelay>,
    /// EML Capabilities.
    pub eml: Option<EmlCapabilities>,
    /// MLD Capabilities And Operations.
    pub mld: Option<MldCapabilities>,
    /// AP MLD ID.
    pub mld_id: Option<u8>,
    /// Extended MLD Capabilities And Operations.
    pub extended: Option<u16>,
}

/// Medium Synchronization Delay Information: how a station that was deaf on a link begins again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MediumSyncDelay(pub u16);

impl MediumSyncDelay {
    /// The value that counts without the field (35.3.16.18): 5 504 us, -72 dBm, one TXOP.
    pub const DEFAULT: Self = Self(0x10ac);

    /// Duration in which TXOPs are limited.
    pub const fn duration(self) -> Duration {
        Duration::from_micros(32 * (self.0 & 0xff) as u64)
    }

    /// Threshold of energy detection in dBm: -72 to -57.
    pub const fn threshold_dbm(self) -> i8 {
        (self.0 >> 8 & 15) as i8 - 72
    }

    /// Number of TXOPs that may be tried, 0 to 14; `None` without a limit.
    pub const fn txops(self) -> Option<u8> {
        match self.0 >> 12 {
            15 => None,
            number => Some(number as u8),
        }
    }
}

/// EML Capabilities: enhanced multi-link operation of one radio (or several) on many links.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct EmlCapabilities(pub u16);

impl EmlCapabilities {
    /// Returns the capabilities of a station with EMLSR: the delays are rounded up to the next
    /// possible one (tables 9-417i, 9-417j, 9-417m), and are at most 256 us, 256 us and 128 TU.
    pub fn emlsr(padding: Duration, transition: Duration, timeout: Duration) -> Self {
        let code = |delay: Duration, first_us: u64, max: u16| {
            (0..max).find(|code| of_code(*code, first_us) >= delay).unwrap_or(max)
        };
        Self(
            1 | code(padding, 32, 4) << 1
                | code(transition, 16, 5) << 4
                | code(timeout, 128, 11) << 11,
        )
    }

    /// Whether enhanced multi-link single-radio operation is supported.
    pub const fn has_emlsr(self) -> bool {
        self.0 & 1 == 1
    }

    /// EMLSR Padding Delay: the time that a station needs after the initial control frame's content,
    /// 0 or 32 to 256 us; `None` for a reserved code.
    pub const fn padding_delay(self) -> Option<Duration> {
        match self.0 >> 1 & 7 {
            code @ 0..=4 => Some(of_code(code, 32)),
            _ => None,
        }
    }

    /// EMLSR Transition Delay: the time to return to listening on all links, 0 or 16 to 256 us;
    /// `None` for a reserved code.
    pub const fn transition_delay(self) -> Option<Duration> {
        match self.0 >> 4 & 7 {
            code @ 0..=5 => Some(of_code(code, 16)),
            _ => None,
        }
    }

    /// Whether enhanced multi-link multi-radio operation is supported.
    pub const fn has_emlmr(self) -> bool {
        self.0 >> 7 & 1 == 1
    }

    /// EMLMR Delay, 0 or 32 to 256 us; `None` for a reserved code.
    pub const fn emlmr_delay(self) -> Option<Duration> {
        match self.0 >> 8 & 7 {
            code @ 0..=4 => Some(of_code(code, 32)),
            _ => None,
        }
    }

    /// Transition Timeout: the longest time to change the mode, 0 or 128 us to 128 TU; `None` for a
    /// reserved code.
    pub const fn transition_timeout(self) -> Option<Duration> {
        match self.0 >> 11 & 15 {
            code @ 0..=11 => Some(of_code(code, 128)),
            _ => None,
        }
    }
}

/// Code 0 is no delay, each further one twice the one before.
const fn of_code(code: u16, first_us: u64) -> Duration {
    match code {
        0 => Duration::ZERO,
        code => Duration::from_micros(first_us << (code - 1)),
    }
}

/// MLD Capabilities And Operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct MldCapabilities(pub u16);

impl MldCapabilities {
    /// Returns the capabilities of a device that sends or receives on this number of links at once,
    /// 1 to 15.
    pub const fn with_links(links: u8) -> Self {
        Self(links.saturating_sub(1) as u16 & 15)
    }

    /// Highest number of links at once, 1 to 16.
    pub const fn links(self) -> u8 {
        (self.0 & 15) as u8 + 1
    }

    /// TID-To-Link Mapping Negotiation Support: 0 none, 1 all TIDs to the same links, 3 any.
    pub const fn link_mapping(self) -> u8 {
        (self.0 >> 5 & 3) as u8
    }

    /// Sets TID-To-Link Mapping Negotiation Support.
    #[must_use]
    pub const fn with_link_mapping(self, code: u8) -> Self {
        Self(self.0 & !(3 << 5) | (code as u16 & 3) << 5)
    }

    /// Frequency Separation For STR, of a station that is no access point: links this far apart do
    /// not disturb each other, in MHz; `None` if it is not stated.
    pub const fn str_separation_mhz(self) -> Option<u16> {
        match self.0 >> 7 & 31 {
            0 => None,
            code => Some(80 * (code - 1)),
        }
    }
}

impl<'a> MultiLink<'a> {
    /// Returns a Basic element; `links` are profiles, written by [`StationProfile::emit`].
    pub const fn basic(common: BasicMultiLink, links: &'a [u8]) -> Self {
        Self { common: MultiLinkCommon::Basic(common), later_bits: 0, later: &[], links }
    }

    /// Reads the information of an element after its number.
    ///
    /// # Errors
    /// Returns an error for information that is too short.
    pub fn parse(data: &'a [u8]) -> Result<Self, Error> {
        let mut outer = Reader::new(LAYER, data);
        let control = outer.u16("multi-link control")?;
        let kind = (control & 7) as u8;
        let known = match kind {
            BASIC => presence::BASIC,
            PROBE_REQUEST => presence::MLD_ID_OF_PROBE,
            RECONFIGURATION => presence::RECONFIGURATION,
            _ => {
                let common = MultiLinkCommon::Other { kind };
                return Ok(Self {
                    common,
                    later_bits: control & !7,
                    later: outer.rest(),
                    links: &[],
                });
            }
        };
        let offset = outer.offset();
        // The length counts itself.
        let length = usize::from(outer.u8("common info length")?);
        let Some(length) = length.checked_sub(1) else {
            return Err(outer.value("common info length", offset, 0, "at least 1"));
        };
        let start = outer.offset();
        let mut reader = Reader::new(LAYER, outer.take("common info", length)?);
        let common = Self::common(kind, control, &mut reader).map_err(|e| e.shifted(start))?;
        let later_bits = control & !(7 | known);
        Ok(Self { common, later_bits, later: reader.rest(), links: outer.rest() })
    }

    fn common(kind: u8, control: u16, reader: &mut Reader<'_>) -> Result<MultiLinkCommon, Error> {
        let has = |bit| control & bit != 0;
        Ok(match kind {
            BASIC => MultiLinkCommon::Basic(BasicMultiLink {
                address: reader.address("MLD MAC address")?,
                link_id: optional(has(presence::LINK_ID), || reader.u8("link ID"))?,
                change_count: optional(has(presence::CHANGE_COUNT), || {
                    reader.u8("BSS parameters change count")
                })?,
                medium_sync_delay: optional(has(presence::MEDIUM_SYNC_DELAY), || {
                    reader.u16("medium synchronization delay").map(MediumSyncDelay)
                })?,
                eml: optional(has(presence::EML), || {
                    reader.u16("EML capabilities").map(EmlCapabilities)
                })?,
                mld: optional(has(presence::MLD), || {
                    reader.u16("MLD capabilities").map(MldCapabilities)
                })?,
                mld_id: optional(has(presence::MLD_ID), || reader.u8("AP MLD ID"))?,
                extended: optional(has(presence::EXTENDED), || {
                    reader.u16("extended MLD capabilities")
                })?,
            }),
            PROBE_REQUEST => MultiLinkCommon::ProbeRequest {
                mld_id: optional(has(presence::MLD_ID_OF_PROBE), || reader.u8("AP MLD ID"))?,
            },
            _ => MultiLinkCommon::Reconfiguration {
                address: optional(has(1 << 4), || reader.address("MLD MAC address"))?,
                eml: optional(has(1 << 5), || reader.u16("EML capabilities").map(EmlCapabilities))?,
                mld: optional(has(1 << 6), || reader.u16("MLD capabilities").map(MldCapabilities))?,
                extended: optional(has(1 << 7), || reader.u16("extended MLD capabilities"))?,
            },
        })
    }

    /// Appends the element, with Fragment elements if it needs them.
    pub fn emit(&self, out: &mut Vec<u8>) {
        emit_extension(extension::MULTI_LINK, out, |out| {
            let start = out.len();
            // The control and the length are known at the end.
            out.extend_from_slice(&[0; 3]);
            let mut control = self.later_bits;
            let mut put = |bit: u16, octets: Option<&[u8]>| {
                if let Some(octets) = octets {
                    control |= bit;
                    out.extend_from_slice(octets);
                }
            };
            match self.common {
                MultiLinkCommon::Basic(basic) => {
                    put(u16::from(BASIC), Some(&basic.address.0));
                    put(presence::LINK_ID, octet(&basic.link_id));
                    put(presence::CHANGE_COUNT, octet(&basic.change_count));
                    put(
                        presence::MEDIUM_SYNC_DELAY,
                        word(basic.medium_sync_delay.map(|it| it.0)).as_deref(),
                    );
                    put(presence::EML, word(basic.eml.map(|it| it.0)).as_deref());
                    put(presence::MLD, word(basic.mld.map(|it| it.0)).as_deref());
                    put(presence::MLD_ID, octet(&basic.mld_id));
                    put(presence::EXTENDED, word(basic.extended).as_deref());
                }
                MultiLinkCommon::ProbeRequest { mld_id } => {
                    put(u16::from(PROBE_REQUEST), Some(&[]));
                    put(presence::MLD_ID_OF_PROBE, octet(&mld_id));
                }
                MultiLinkCommon::Reconfiguration { address, eml, mld, extended } => {
                    put(u16::from(RECONFIGURATION), Some(&[]));
                    put(1 << 4, address.as_ref().map(|address| &address.0[..]));
                    put(1 << 5, word(eml.map(|it| it.0)).as_deref());
                    put(1 << 6, word(mld.map(|it| it.0)).as_deref());
                    put(1 << 7, word(extended).as_deref());
                }
                MultiLinkCommon::Other { kind } => {
                    // Without a length that is known here.
                    control |= u16::from(kind & 7);
                    out.truncate(start);
                    out.extend_from_slice(&control.to_le_bytes());
                    out.extend_from_slice(self.later);
                    return;
                }
            }
            out.extend_from_slice(self.later);
            let length = (out.len() - start - 2).min(usize::from(u8::MAX));
            out[start..start + 2].copy_from_slice(&control.to_le_bytes());
            out[start + 2] = length as u8;
            out.extend_from_slice(self.links);
        });
    }

    /// Address of the device, if the element has it.
    pub const fn address(&self) -> Option<MacAddr> {
        match self.common {
            MultiLinkCommon::Basic(basic) => Some(basic.address),
            MultiLinkCommon::Reconfiguration { address, .. } => address,
            _ => None,
        }
    }

    /// Iterates over the Per-STA Profile subelements, with their fragments: read them with
    /// [`StationProfile::parse`], those of a Probe Request with [`LinkProbe::parse`], those of a
    /// Reconfiguration with [`LinkChange::parse`].
    pub fn profiles(&self) -> impl Iterator<Item = Cow<'a, [u8]>> + use<'a> {
        whole_subelements(self.links).filter(|(id, _)| *id == PER_STA_PROFILE).map(|(_, data)| data)
    }
}

/// A Per-STA Profile of a Basic Multi-Link element: another link of the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct StationProfile<'a> {
    /// Link ID, 0 to 14.
    pub link_id: u8,
    /// Complete Profile: whether all elements are there.
    pub complete: bool,
    /// Address of the station or access point on that link.
    pub address: Option<MacAddr>,
    /// Beacon interval in units of 1 024 us.
    pub beacon_interval_tu: Option<u16>,
    /// TSF Offset: the clock of that link less that of this one, in microseconds.
    pub tsf_offset_us: Option<i64>,
    /// DTIM Count and DTIM Period.
    pub dtim: Option<(u8, u8)>,
    /// NSTR Indication Bitmap: links, of a complete profile, that cannot receive while that one
    /// sends. Bit n for link n.
    pub nstr_links: Option<u16>,
    /// BSS Parameters Change Count.
    pub change_count: Option<u8>,
    /// Bits of STA Control that this module does not know: their fields are in `later`.
    pub later_bits: u16,
    /// Octets of STA Info after the known fields.
    pub later: &'a [u8],
    /// STA Profile: the fixed fields and elements of a frame, less those equal to the frame's.
    pub profile: &'a [u8],
}

impl<'a> StationProfile<'a> {
    /// Reads the data of a subelement.
    ///
    /// # Errors
    /// Returns an error for data that is too short.
    pub fn parse(data: &'a [u8]) -> Result<Self, Error> {
        let mut outer = Reader::new(LAYER, data);
        let control = outer.u16("STA control")?;
        let has = |bit: u16| control & bit != 0;
        let info = info(&mut outer)?;
        let mut reader = Reader::new(LAYER, info);
        let complete = has(1 << 4);
        let start = outer.offset() - info.len();
        let mut read = || -> Result<Self, Error> {
            Ok(Self {
                link_id: (control & 15) as u8,
                complete,
                address: optional(has(1 << 5), || reader.address("STA MAC address"))?,
                beacon_interval_tu: optional(has(1 << 6), || reader.u16("beacon interval"))?,
                tsf_offset_us: optional(has(1 << 7), || {
                    reader.array("TSF offset").map(i64::from_le_bytes)
                })?,
                dtim: optional(has(1 << 8), || {
                    reader.array("DTIM info").map(|[count, period]| (count, period))
                })?,
                nstr_links: optional(complete && has(1 << 9), || {
                    if has(1 << 10) {
                        reader.u16("NSTR indication bitmap")
                    } else {
                        reader.u8("NSTR indication bitmap").map(u16::from)
                    }
                })?,
                change_count: optional(has(1 << 11), || reader.u8("BSS parameters change count"))?,
                later_bits: control & 0xf000,
                later: &[],
                profile: &[],
            })
        };
        let profile = read().map_err(|error| error.shifted(start))?;
        Ok(Self { later: reader.rest(), profile: outer.rest(), ..profile })
    }

    /// Appends the subelement, in fragments if it is too long.
    pub fn emit(&self, out: &mut Vec<u8>) {
        emit_subelement(PER_STA_PROFILE, out, |out| {
            let start = out.len();
            out.extend_from_slice(&[0; 3]);
            let mut control = u16::from(self.link_id & 15) | self.later_bits & 0xf000;
            control |= u16::from(self.complete) << 4;
            let mut put = |bit: u16, octets: Option<&[u8]>| {
                if let Some(octets) = octets {
                    control |= bit;
                    out.extend_from_slice(octets);
                }
            };
            put(1 << 5, self.address.as_ref().map(|address| &address.0[..]));
            put(1 << 6, word(self.beacon_interval_tu).as_deref());
            put(1 << 7, self.tsf_offset_us.map(i64::to_le_bytes).as_ref().map(|it| &it[..]));
            put(
                1 << 8,
                self.dtim.map(|(count, period)| [count, period]).as_ref().map(|it| &it[..]),
            );
            if let Some(links) = self.nstr_links.filter(|_| self.complete) {
                match u8::try_from(links) {
                    Ok(links) => put(1 << 9, Some(&[links])),
                    Err(_) => put(1 << 9 | 1 << 10, Some(&links.to_le_bytes())),
                }
            }
            put(1 << 11, octet(&self.change_count));
            out.extend_from_slice(self.later);
            finish(out, start, control);
            out.extend_from_slice(self.profile);
        });
    }
}

/// A Per-STA Profile of a Probe Request Multi-Link element (9.4.2.322.3): a link about which the
/// station asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct LinkProbe<'a> {
    /// Link ID, 0 to 14.
    pub link_id: u8,
    /// Complete Profile: whether all elements are asked for.
    pub complete: bool,
    /// Bits of STA Control that the standard reserves.
    pub later_bits: u16,
    /// STA Profile: elements that ask for single elements.
    pub profile: &'a [u8],
}

impl<'a> LinkProbe<'a> {
    /// Reads the data of a subelement.
    ///
    /// # Errors
    /// Returns an error for data that is too short.
    pub fn parse(data: &'a [u8]) -> Result<Self, Error> {
        let mut reader = Reader::new(LAYER, data);
        let control = reader.u16("STA control")?;
        Ok(Self {
            link_id: (control & 15) as u8,
            complete: control >> 4 & 1 == 1,
            later_bits: control & 0xffe0,
            profile: reader.rest(),
        })
    }

    /// Appends the subelement, in fragments if it is too long.
    pub fn emit(&self, out: &mut Vec<u8>) {
        emit_subelement(PER_STA_PROFILE, out, |out| {
            let control = u16::from(self.link_id & 15) | u16::from(self.complete) << 4;
            out.extend_from_slice(&(control | self.later_bits & 0xffe0).to_le_bytes());
            out.extend_from_slice(self.profile);
        });
    }
}

/// A Per-STA Profile of a Reconfiguration Multi-Link element (9.4.2.322.4): a link that is added,
/// changed or removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct LinkChange<'a> {
    /// Link ID, 0 to 14.
    pub link_id: u8,
    /// Complete Profile.
    pub complete: bool,
    /// Reconfiguration Operation Type: 0 AP removal, 1 parameter update, 2 add link, 3 delete link,
    /// 4 NSTR status update.
    pub operation: u8,
    /// Address of the station on that link.
    pub address: Option<MacAddr>,
    /// AP Removal Timer: beacons until the link's access point stops.
    pub removal_beacons: Option<u16>,
    /// The Operation Parameters Present bit and later ones: their fields are in `later`.
    pub later_bits: u16,
    /// Octets of STA Info after the known fields.
    pub later: &'a [u8],
    /// STA Profile.
    pub profile: &'a [u8],
}

impl<'a> LinkChange<'a> {
    const LATER: u16 = 0xf800;

    /// Reads the data of a subelement.
    ///
    /// # Errors
    /// Returns an error for data that is too short.
    pub fn parse(data: &'a [u8]) -> Result<Self, Error> {
        let mut outer = Reader::new(LAYER, data);
        let control = outer.u16("STA control")?;
        let has = |bit: u16| control & bit != 0;
        let info = info(&mut outer)?;
        let start = outer.offset() - info.len();
        let mut reader = Reader::new(LAYER, info);
        let shifted = |error: Error| error.shifted(start);
        let address = optional(has(1 << 5), || reader.address("STA MAC address"));
        let address = address.map_err(shifted)?;
        let timer = optional(has(1 << 6), || reader.u16("AP removal timer")).map_err(shifted)?;
        Ok(Self {
            link_id: (control & 15) as u8,
            complete: has(1 << 4),
            operation: (control >> 7 & 15) as u8,
            address,
            removal_beacons: timer,
            later_bits: control & Self::LATER,
            later: reader.rest(),
            profile: outer.rest(),
        })
    }

    /// Appends the subelement, in fragments if it is too long.
    pub fn emit(&self, out: &mut Vec<u8>) {
        emit_subelement(PER_STA_PROFILE, out, |out| {
            let start = out.len();
            out.extend_from_slice(&[0; 3]);
            let mut control = u16::from(self.link_id & 15)
                | u16::from(self.complete) << 4
                | u16::from(self.operation & 15) << 7
                | self.later_bits & Self::LATER;
            if let Some(address) = self.address {
                control |= 1 << 5;
                out.extend_from_slice(&address.0);
            }
            if let Some(beacons) = self.removal_beacons {
                control |= 1 << 6;
                out.extend_from_slice(&beacons.to_le_bytes());
            }
            out.extend_from_slice(self.later);
            finish(out, start, control);
            out.extend_from_slice(self.profile);
        });
    }
}

/// Reads STA Info, whose length counts itself.
fn info<'a>(reader: &mut Reader<'a>) -> Result<&'a [u8], Error> {
    let offset = reader.offset();
    let length = usize::from(reader.u8("STA info length")?);
    match length.checked_sub(1) {
        Some(length) => reader.take("STA info", length),
        None => Err(reader.value("STA info length", offset, 0, "at least 1")),
    }
}

/// Writes STA Control and the length of STA Info before it.
fn finish(out: &mut [u8], start: usize, control: u16) {
    let length = (out.len() - start - 2).min(usize::from(u8::MAX));
    out[start..start + 2].copy_from_slice(&control.to_le_bytes());
    out[start + 2] = length as u8;
}

fn optional<T>(
    is_there: bool,
    read: impl FnOnce() -> Result<T, Error>,
) -> Result<Option<T>, Error> {
    is_there.then(read).transpose()
}

fn octet(value: &Option<u8>) -> Option<&[u8]> {
    value.as_ref().map(core::slice::from_ref)
}

fn word(value: Option<u16>) -> Option<Octets> {
    value.map(|value| Octets(value.to_le_bytes()))
}

struct Octets([u8; 2]);

impl core::ops::Deref for Octets {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

const LAYER: &str = "multi-link element";
const BASIC: u8 = 0;
const PROBE_REQUEST: u8 = 1;
const RECONFIGURATION: u8 = 2;
/// Subelement ID of a profile.
const PER_STA_PROFILE: u8 = 0;

/// Bits of Multi-Link Control.
mod presence {
    pub(super) const LINK_ID: u16 = 1 << 4;
    pub(super) const CHANGE_COUNT: u16 = 1 << 5;
    pub(super) const MEDIUM_SYNC_DELAY: u16 = 1 << 6;
    pub(super) const EML: u16 = 1 << 7;
    pub(super) const MLD: u16 = 1 << 8;
    pub(super) const MLD_ID: u16 = 1 << 9;
    pub(super) const EXTENDED: u16 = 1 << 10;
    pub(super) const BASIC: u16 = 0x07f0;
    pub(super) const MLD_ID_OF_PROBE: u16 = 1 << 4;
    pub(super) const RECONFIGURATION: u16 = 0x00f0;
}

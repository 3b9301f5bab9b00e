//! Information elements (IEEE 802.11-2020, 9.4.2): an iterator over them, and values for SSID,
//! rates, DSSS parameters, TIM and HT capabilities. All other elements (vendor and extended ones
//! too) keep their bytes; those of VHT, HE and EHT, RSN, the ADDBA Extension, and elements of
//! roaming and of multi-link devices are read on demand.

mod channel_switch;
mod eht;
#[cfg(test)]
mod eht_tests;
mod fragments;
mod link_mapping;
mod multi_link;
mod neighbor;
mod phy;
mod reduced_neighbor;
mod rsn;
mod subelements;
#[cfg(test)]
mod tests;
mod transition;

pub use channel_switch::{ChannelSwitch, ExtendedChannelSwitch};
pub use eht::{EhtCapabilities, EhtMcsMap, EhtMcsSet, EhtPpeThresholds};
pub use link_mapping::{LinkTraffic, TidToLink};
pub use multi_link::{
    BasicMultiLink, EmlCapabilities, LinkChange, LinkProbe, MediumSyncDelay, MldCapabilities,
    MultiLink, MultiLinkCommon, StationProfile,
};
pub use neighbor::{ExtendedCapabilities, NeighborReport, RmEnabledCapabilities};
pub use phy::{
    Amendments, EhtOperation, Ghz6Operation, HeCapabilities, HeOperation, HtOperation, ONE_STREAM,
    VhtCapabilities, VhtOperation, mcs_map,
};
pub use reduced_neighbor::{MldParameters, NeighborChannel, ReducedNeighborReport, TbttInfo};
pub use rsn::{Cipher, KeyManagement, Rsn, Suite, Suites};
pub use subelements::{Subelement, Subelements};
pub use transition::{FastTransition, MobilityDomain, TimeoutInterval, WrappedGtk, WrappedIgtk};

use super::reader::Reader;
use super::{Error, Reason};
use alloc::vec::Vec;

/// A sequence of elements as bytes.
///
/// ```
/// use lasthop_wifi_wire::elements::Elements;
///
/// let elements = Elements::parse(&[0, 4, b'h', b'o', b'm', b'e'])?;
/// assert_eq!(elements.ssid(), Some(b"home".as_slice()));
/// # Ok::<(), lasthop_wifi_wire::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Elements<'a> {
    bytes: &'a [u8],
}

impl<'a> Elements<'a> {
    /// Returns elements without a check; [`iter`](Self::iter) detects errors.
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    /// Returns elements after a check that each is complete and each known one readable.
    ///
    /// # Errors
    /// Returns the error of the first element that exceeds the end or cannot be read.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Error> {
        let elements = Self { bytes };
        for element in elements.iter() {
            Repr::parse(&element?)?;
        }
        Ok(elements)
    }

    /// Does the same for a frame of association, in which FILS encrypts the elements after the FILS
    /// Session element (IEEE 802.11-2020, 12.11.2.6.2): those are left unread.
    ///
    /// # Errors
    /// Returns an error in the cases of [`parse`](Self::parse).
    pub fn parse_association(bytes: &'a [u8]) -> Result<Self, Error> {
        let elements = Self { bytes };
        for element in elements.iter() {
            let element = element?;
            Repr::parse(&element)?;
            if element.id == id::EXTENSION && element.data.first() == Some(&extension::FILS_SESSION)
            {
                break;
            }
        }
        Ok(elements)
    }

    /// Returns the bytes of all elements.
    pub const fn as_bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Iterates over the elements in order; ends after the first error.
    pub const fn iter(&self) -> Iter<'a> {
        Iter { reader: Reader::new(LAYER, self.bytes), failed: false }
    }

    /// Returns the first element with this ID.
    pub fn find(&self, id: u8) -> Option<Element<'a>> {
        self.iter().map_while(Result::ok).find(|element| element.id == id)
    }

    /// Returns the first extended element with this number, see [`extension`].
    pub fn find_extension(&self, number: u8) -> Option<Element<'a>> {
        let mut elements = self.iter().map_while(Result::ok);
        elements
            .find(|element| element.id == id::EXTENSION && element.data.first() == Some(&number))
    }

    /// The amendments with elements in this list.
    pub fn amendments(&self) -> Amendments {
        Amendments::from_elements(self)
    }

    /// Returns the RSN element, if there is one.
    ///
    /// # Errors
    /// Returns an error if the element cannot be read.
    pub fn rsn(&self) -> Result<Option<Rsn<'a>>, Error> {
        self.find(id::RSN).map(|element| Rsn::parse(&element)).transpose()
    }

    /// Name of the network; `None` without an SSID element.
    pub fn ssid(&self) -> Option<&'a [u8]> {
        self.find(id::SSID).map(|element| element.data)
    }
}

impl<'a> IntoIterator for Elements<'a> {
    type Item = Result<Element<'a>, Error>;
    type IntoIter = Iter<'a>;

    fn into_iter(self) -> Iter<'a> {
        self.iter()
    }
}

/// One element as bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Element<'a> {
    /// Element ID, as in table 9-92.
    pub id: u8,
    /// Offset of the element in its [`Elements`], in bytes.
    pub offset: usize,
    /// The information: 0 to 255 bytes; begins with the Element ID Extension if the ID is
    /// [`id::EXTENSION`].
    pub data: &'a [u8],
}

/// Iterator over [`Elements`].
#[derive(Clone, Debug)]
pub struct Iter<'a> {
    reader: Reader<'a>,
    failed: bool,
}

impl<'a> Iter<'a> {
    fn element(&mut self) -> Result<Element<'a>, Error> {
        let offset = self.reader.offset();
        let id = self.reader.u8("ID")?;
        let length = self.reader.u8("length")?;
        let data = self.reader.take(name(id), usize::from(length))?;
        Ok(Element { id, offset, data })
    }
}

impl<'a> Iterator for Iter<'a> {
    type Item = Result<Element<'a>, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed || self.reader.left() == 0 {
            return None;
        }
        let element = self.element();
        self.failed = element.is_err();
        Some(element)
    }
}

/// An element as values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repr<'a> {
    /// SSID of up to 32 bytes; empty for a hidden network, or for any.
    Ssid(&'a [u8]),
    /// Supported Rates in 500 kb/s; bit 7 marks basic rates.
    SupportedRates(&'a [u8]),
    /// Extended Supported Rates.
    ExtendedSupportedRates(&'a [u8]),
    /// DSSS Parameter Set with the channel's number.
    DsssParameterSet {
        /// Number of the current channel.
        channel: u8,
    },
    /// Traffic Indication Map.
    Tim(Tim<'a>),
    /// HT Capabilities (9.4.2.55).
    HtCapabilities(HtCapabilities),
    /// Any other element, unread.
    Other {
        /// Element ID, as in table 9-92.
        id: u8,
        /// The information, up to 255 bytes.
        data: &'a [u8],
    },
}

impl<'a> Repr<'a> {
    /// Reads an element.
    ///
    /// # Errors
    /// Returns an error for information that is shorter or longer than the element's format
    /// permits; the offset is relative to the same start as [`Element::offset`].
    pub fn parse(element: &Element<'a>) -> Result<Self, Error> {
        let &Element { id, offset, data } = element;
        let mut reader = Reader::new(LAYER, data);
        let repr = match id {
            id::SSID if data.len() > SSID_LEN_MAX => {
                let reason = Reason::Long { length: data.len(), max: SSID_LEN_MAX };
                Err(Error { layer: LAYER, field: name(id), offset: 0, reason })
            }
            id::SSID => Ok(Self::Ssid(data)),
            id::SUPPORTED_RATES => Ok(Self::SupportedRates(data)),
            id::EXTENDED_SUPPORTED_RATES => Ok(Self::ExtendedSupportedRates(data)),
            id::DSSS_PARAMETER_SET => {
                reader.u8("DSSS channel").map(|channel| Self::DsssParameterSet { channel })
            }
            id::TIM => Tim::parse(&mut reader).map(Self::Tim),
            id::HT_CAPABILITIES => HtCapabilities::parse(&mut reader).map(Self::HtCapabilities),
            _ => Ok(Self::Other { id, data }),
        };
        repr.map_err(|error| error.shifted(offset + HEADER_LEN))
    }

    /// Length in bytes, ID and length included.
    pub const fn buffer_len(&self) -> usize {
        HEADER_LEN + self.data_len()
    }

    /// Appends the element.
    ///
    /// # Errors
    /// Returns an error for too much information (more than 32 bytes in an SSID, 255 in any
    /// element), and writes nothing.
    pub fn emit(&self, out: &mut Vec<u8>) -> Result<(), Error> {
        let (id, length) = (self.id(), self.data_len());
        let max = if id == id::SSID { SSID_LEN_MAX } else { usize::from(u8::MAX) };
        if length > max {
            let reason = Reason::Long { length, max };
            return Err(Error { layer: LAYER, field: name(id), offset: HEADER_LEN, reason });
        }
        out.extend_from_slice(&[id, length as u8]);
        match *self {
            Self::Ssid(data)
            | Self::SupportedRates(data)
            | Self::ExtendedSupportedRates(data)
            | Self::Other { data, .. } => out.extend_from_slice(data),
            Self::DsssParameterSet { channel } => out.push(channel),
            Self::Tim(tim) => {
                let control = u8::from(tim.group_traffic) | tim.bitmap_offset << 1;
                out.extend_from_slice(&[tim.dtim_count, tim.dtim_period, control]);
                out.extend_from_slice(tim.bitmap);
            }
            Self::HtCapabilities(ht) => {
                out.extend_from_slice(&ht.information.to_le_bytes());
                out.push(ht.ampdu_parameters);
                out.extend_from_slice(&ht.mcs_set);
                out.extend_from_slice(&ht.extended.to_le_bytes());
                out.extend_from_slice(&ht.beamforming.to_le_bytes());
                out.push(ht.antenna_selection);
            }
        }
        Ok(())
    }

    const fn id(&self) -> u8 {
        match *self {
            Self::Ssid(_) => id::SSID,
            Self::SupportedRates(_) => id::SUPPORTED_RATES,
            Self::ExtendedSupportedRates(_) => id::EXTENDED_SUPPORTED_RATES,
            Self::DsssParameterSet { .. } => id::DSSS_PARAMETER_SET,
            Self::Tim(_) => id::TIM,
            Self::HtCapabilities(_) => id::HT_CAPABILITIES,
            Self::Other { id, .. } => id,
        }
    }

    const fn data_len(&self) -> usize {
        match *self {
            Self::Ssid(data)
            | Self::SupportedRates(data)
            | Self::ExtendedSupportedRates(data)
            | Self::Other { data, .. } => data.len(),
            Self::DsssParameterSet { .. } => 1,
            Self::Tim(tim) => 3 + tim.bitmap.len(),
            Self::HtCapabilities(_) => HtCapabilities::LEN,
        }
    }
}

/// Traffic Indication Map (9.4.2.5): the stations for which the access point holds traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tim<'a> {
    /// Beacons until the next DTIM; 0 in a beacon with a DTIM.
    pub dtim_count: u8,
    /// Number of beacons from one DTIM to the next; not 0.
    pub dtim_period: u8,
    /// Whether group-addressed frames follow (the bit of AID 0).
    pub group_traffic: bool,
    /// Number of pairs of octets omitted before the bitmap, 0 to 127.
    pub bitmap_offset: u8,
    /// The partial virtual bitmap, 1 to 251 bytes.
    pub bitmap: &'a [u8],
}

impl<'a> Tim<'a> {
    /// Whether there is traffic for the station with this AID, 1 to 2 007.
    pub fn has_traffic_for(&self, aid: u16) -> bool {
        let octet = usize::from(aid / 8).checked_sub(usize::from(self.bitmap_offset) * 2);
        octet
            .and_then(|octet| self.bitmap.get(octet))
            .is_some_and(|bits| bits >> (aid % 8) & 1 == 1)
    }

    fn parse(reader: &mut Reader<'a>) -> Result<Self, Error> {
        let dtim_count = reader.u8("TIM DTIM count")?;
        let dtim_period = reader.u8("TIM DTIM period")?;
        let control = reader.u8("TIM bitmap control")?;
        if reader.left() == 0 {
            // At least one octet, even if no bit is set.
            reader.take("TIM partial virtual bitmap", 1)?;
        }
        Ok(Self {
            dtim_count,
            dtim_period,
            group_traffic: control & 1 != 0,
            bitmap_offset: control >> 1,
            bitmap: reader.rest(),
        })
    }
}

/// HT Capabilities (9.4.2.55), as raw subfields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct HtCapabilities {
    /// HT Capability Information.
    pub information: u16,
    /// A-MPDU Parameters: bits 0 and 1 give the longest A-MPDU as 2^(13 + n) - 1 bytes, bits 2 to 4
    /// the minimum MPDU start spacing.
    pub ampdu_parameters: u8,
    /// Supported MCS Set: bit n for MCS n.
    pub mcs_set: [u8; 16],
    /// HT Extended Capabilities.
    pub extended: u16,
    /// Transmit Beamforming Capabilities.
    pub beamforming: u32,
    /// The ASEL Capability field (9.4.2.55.7).
    pub antenna_selection: u8,
}

impl HtCapabilities {
    /// HT Capability Information, bit 1: 40 MHz is supported.
    pub const WIDTH_40_MHZ: u16 = 1 << 1;
    /// HT Capability Information, bit 5: short guard interval at 20 MHz.
    pub const SHORT_GUARD_INTERVAL_20_MHZ: u16 = 1 << 5;
    /// HT Capability Information, bit 6: short guard interval at 40 MHz.
    pub const SHORT_GUARD_INTERVAL_40_MHZ: u16 = 1 << 6;
    /// HT Capability Information, bit 11: A-MSDUs up to 7 935 bytes instead of 3 839.
    pub const AMSDU_7935: u16 = 1 << 11;

    const LEN: usize = 26;

    fn parse(reader: &mut Reader<'_>) -> Result<Self, Error> {
        Ok(Self {
            information: reader.u16("HT capability information")?,
            ampdu_parameters: reader.u8("HT A-MPDU parameters")?,
            mcs_set: reader.array("HT supported MCS set")?,
            extended: reader.u16("HT extended capabilities")?,
            beamforming: reader.u32("HT transmit beamforming capabilities")?,
            antenna_selection: reader.u8("HT ASEL capability")?,
        })
    }
}

/// Element IDs (table 9-92).
pub mod id {
    /// Element ID of the SSID.
    pub const SSID: u8 = 0;
    /// Element ID of Supported Rates and BSS Membership Selectors.
    pub const SUPPORTED_RATES: u8 = 1;
    /// Element ID of the DSSS Parameter Set.
    pub const DSSS_PARAMETER_SET: u8 = 3;
    /// Element ID of the TIM.
    pub const TIM: u8 = 5;
    /// Element ID of the Channel Switch Announcement.
    pub const CHANNEL_SWITCH_ANNOUNCEMENT: u8 = 37;
    /// Element ID of HT Capabilities.
    pub const HT_CAPABILITIES: u8 = 45;
    /// Element ID of RSN.
    pub const RSN: u8 = 48;
    /// Element ID of Extended Supported Rates and BSS Membership Selectors.
    pub const EXTENDED_SUPPORTED_RATES: u8 = 50;
    /// Element ID of the Neighbor Report.
    pub const NEIGHBOR_REPORT: u8 = 52;
    /// Element ID of the Mobility Domain.
    pub const MOBILITY_DOMAIN: u8 = 54;
    /// Element ID of Fast BSS Transition.
    pub const FAST_BSS_TRANSITION: u8 = 55;
    /// Element ID of the Timeout Interval.
    pub const TIMEOUT_INTERVAL: u8 = 56;
    /// Element ID of Supported Operating Classes.
    pub const SUPPORTED_OPERATING_CLASSES: u8 = 59;
    /// Element ID of the Extended Channel Switch Announcement.
    pub const EXTENDED_CHANNEL_SWITCH_ANNOUNCEMENT: u8 = 60;
    /// Element ID of HT Operation.
    pub const HT_OPERATION: u8 = 61;
    /// Element ID of RM Enabled Capabilities.
    pub const RM_ENABLED_CAPABILITIES: u8 = 70;
    /// Element ID of the Management MIC, which protects group-addressed management frames.
    pub const MANAGEMENT_MIC: u8 = 76;
    /// Element ID of the BSS Max Idle Period.
    pub const BSS_MAX_IDLE_PERIOD: u8 = 90;
    /// Element ID of Extended Capabilities.
    pub const EXTENDED_CAPABILITIES: u8 = 127;
    /// Element ID of the ADDBA Extension.
    pub const ADDBA_EXTENSION: u8 = 159;
    /// Element ID of VHT Capabilities.
    pub const VHT_CAPABILITIES: u8 = 191;
    /// Element ID of VHT Operation.
    pub const VHT_OPERATION: u8 = 192;
    /// Element ID of the Reduced Neighbor Report.
    pub const REDUCED_NEIGHBOR_REPORT: u8 = 201;
    /// Element ID of Vendor Specific, which begins with an OUI.
    pub const VENDOR_SPECIFIC: u8 = 221;
    /// Element ID of a Fragment, which continues the element before it.
    pub const FRAGMENT: u8 = 242;
    /// Element ID before an Element ID Extension.
    pub const EXTENSION: u8 = 255;
}

/// Element ID Extensions (IEEE 802.11ax-2021 and 802.11be-2024, table 9-92).
pub mod extension {
    /// Extension number of FILS Session (IEEE 802.11-2020, 9.4.2.179).
    pub const FILS_SESSION: u8 = 4;
    /// Extension number of HE Capabilities.
    pub const HE_CAPABILITIES: u8 = 35;
    /// Extension number of HE Operation.
    pub const HE_OPERATION: u8 = 36;
    /// Extension number of HE 6 GHz Band Capabilities.
    pub const HE_6_GHZ_BAND_CAPABILITIES: u8 = 59;
    /// Extension number of EHT Operation.
    pub const EHT_OPERATION: u8 = 106;
    /// Extension number of Multi-Link.
    pub const MULTI_LINK: u8 = 107;
    /// Extension number of EHT Capabilities.
    pub const EHT_CAPABILITIES: u8 = 108;
    /// Extension number of TID-To-Link Mapping.
    pub const TID_TO_LINK_MAPPING: u8 = 109;
    /// Extension number of Multi-Link Traffic Indication.
    pub const MULTI_LINK_TRAFFIC_INDICATION: u8 = 110;
}

const LAYER: &str = "element";
/// Length of ID and length.
const HEADER_LEN: usize = 2;
/// Longest SSID in octets (9.4.2.2).
const SSID_LEN_MAX: usize = 32;

/// Reads the fields of an element.
fn read<'a, T>(
    element: &Element<'a>,
    fields: impl FnOnce(&mut Reader<'a>) -> Result<T, Error>,
) -> Result<T, Error> {
    let start = element.offset + HEADER_LEN;
    fields(&mut Reader::new(LAYER, element.data)).map_err(|error| error.shifted(start))
}

/// Appends an element whose information, written by `data`, has at most 255 bytes.
fn emit(id: u8, out: &mut Vec<u8>, data: impl FnOnce(&mut Vec<u8>)) {
    let begin = out.len();
    out.extend_from_slice(&[id, 0]);
    data(out);
    out[begin + 1] = (out.len() - begin - HEADER_LEN) as u8;
}

/// Appends an element whose information, written by `data`, may be too long: then it returns an
/// error, and writes nothing.
fn emit_within(id: u8, out: &mut Vec<u8>, data: impl FnOnce(&mut Vec<u8>)) -> Result<(), Error> {
    let begin = out.len();
    out.extend_from_slice(&[id, 0]);
    data(out);
    let length = out.len() - begin - HEADER_LEN;
    if let Ok(octet) = u8::try_from(length) {
        out[begin + 1] = octet;
        return Ok(());
    }
    out.truncate(begin);
    let reason = Reason::Long { length, max: usize::from(u8::MAX) };
    Err(Error { layer: LAYER, field: name(id), offset: HEADER_LEN, reason })
}

/// Name of the field in an error.
const fn name(id: u8) -> &'static str {
    match id {
        id::SSID => "SSID",
        id::SUPPORTED_RATES => "supported rates",
        id::DSSS_PARAMETER_SET => "DSSS parameter set",
        id::TIM => "TIM",
        id::HT_CAPABILITIES => "HT capabilities",
        id::EXTENDED_SUPPORTED_RATES => "extended supported rates",
        7 => "country",
        11 => "BSS load",
        id::CHANNEL_SWITCH_ANNOUNCEMENT => "channel switch announcement",
        42 => "ERP information",
        id::RSN => "RSN",
        id::NEIGHBOR_REPORT => "neighbor report",
        id::MOBILITY_DOMAIN => "mobility domain",
        id::FAST_BSS_TRANSITION => "fast BSS transition",
        id::TIMEOUT_INTERVAL => "timeout interval",
        id::EXTENDED_CHANNEL_SWITCH_ANNOUNCEMENT => "extended channel switch announcement",
        id::HT_OPERATION => "HT operation",
        id::RM_ENABLED_CAPABILITIES => "RM enabled capabilities",
        id::MANAGEMENT_MIC => "management MIC",
        id::EXTENDED_CAPABILITIES => "extended capabilities",
        id::ADDBA_EXTENSION => "ADDBA extension",
        id::VHT_CAPABILITIES => "VHT capabilities",
        id::VHT_OPERATION => "VHT operation",
        id::REDUCED_NEIGHBOR_REPORT => "reduced neighbor report",
        id::FRAGMENT => "fragment",
        id::VENDOR_SPECIFIC => "vendor specific information",
        _ => "information",
    }
}

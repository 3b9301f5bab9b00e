//! Elements that show the PHY of a BSS or station: HT Operation (IEEE 802.11-2020, 9.4.2.56), VHT
//! Capabilities and Operation (9.4.2.157 and 9.4.2.158), HE Capabilities and Operation (IEEE
//! 802.11ax-2021, 9.4.2.248 and 9.4.2.249), EHT Operation (IEEE 802.11be-2024, 9.4.2.311).
//!
//! Subfields are raw and read on demand, so that a broken element does not invalidate its beacon;
//! elements are written, too. Left out: PPE thresholds of HE.

use super::{Element, Elements, emit, extension, id, read};
use crate::Error;
use alloc::vec::Vec;

/// Amendments whose capabilities or operation elements are present.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Amendments {
    /// Whether HT is present: 802.11n.
    pub ht: bool,
    /// Whether VHT is present: 802.11ac.
    pub vht: bool,
    /// Whether HE is present: 802.11ax.
    pub he: bool,
    /// Whether EHT is present: 802.11be.
    pub eht: bool,
}

impl Amendments {
    /// Returns the amendments of these elements, as far as they are complete.
    pub fn from_elements(elements: &Elements<'_>) -> Self {
        let mut amendments = Self::default();
        for element in elements.iter().map_while(Result::ok) {
            match (element.id, element.data.first()) {
                (id::HT_CAPABILITIES | id::HT_OPERATION, _) => amendments.ht = true,
                (id::VHT_CAPABILITIES | id::VHT_OPERATION, _) => amendments.vht = true,
                (id::EXTENSION, Some(&number)) => match number {
                    extension::HE_CAPABILITIES | extension::HE_OPERATION => amendments.he = true,
                    extension::EHT_CAPABILITIES | extension::EHT_OPERATION => {
                        amendments.eht = true;
                    }
                    _ => {}
                },
                _ => {}
            }
        }
        amendments
    }
}

/// HT Operation element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct HtOperation {
    /// Number of the primary channel.
    pub primary: u8,
    /// HT Operation Information: bits 0 and 1 give the position of the secondary channel, bit 2
    /// whether stations may use 40 MHz.
    pub information: [u8; 5],
    /// Basic HT-MCS Set: bit n for MCS n.
    pub basic_mcs_set: [u8; 16],
}

impl HtOperation {
    /// HT Operation Information, first octet: the secondary channel is above the primary one.
    pub const SECONDARY_ABOVE: u8 = 1;
    /// HT Operation Information, first octet: the secondary channel is below the primary one.
    pub const SECONDARY_BELOW: u8 = 3;
    /// STA Channel Width: any width.
    pub const ANY_WIDTH: u8 = 1 << 2;

    /// Reads an element.
    ///
    /// # Errors
    /// Returns an error for an element that is too short; the offset is relative to the same start
    /// as [`Element::offset`].
    pub fn parse(element: &Element<'_>) -> Result<Self, Error> {
        read(element, |reader| {
            Ok(Self {
                primary: reader.u8("HT primary channel")?,
                information: reader.array("HT operation information")?,
                basic_mcs_set: reader.array("HT basic MCS set")?,
            })
        })
    }

    /// Appends the element.
    pub fn emit(&self, out: &mut Vec<u8>) {
        emit(id::HT_OPERATION, out, |out| {
            out.push(self.primary);
            out.extend_from_slice(&self.information);
            out.extend_from_slice(&self.basic_mcs_set);
        });
    }
}

/// VHT Capabilities element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct VhtCapabilities {
    /// VHT Capabilities Information: bits 2 and 3 are the Supported Channel Width Set.
    pub information: u32,
    /// Rx VHT-MCS Map: two bits for each number of streams, 3 for none.
    pub rx_mcs_map: u16,
    /// Tx VHT-MCS Map.
    pub tx_mcs_map: u16,
}

impl VhtCapabilities {
    /// Reads an element.
    ///
    /// # Errors
    /// Returns an error for an element that is too short; the offset is relative to the same start
    /// as [`Element::offset`].
    pub fn parse(element: &Element<'_>) -> Result<Self, Error> {
        read(element, |reader| {
            let information = reader.u32("VHT capabilities information")?;
            let rx_mcs_map = reader.u16("VHT receive MCS map")?;
            reader.take("VHT receive highest rate", 2)?;
            let tx_mcs_map = reader.u16("VHT transmit MCS map")?;
            Ok(Self { information, rx_mcs_map, tx_mcs_map })
        })
    }

    /// Appends the element; its MCS maps determine its highest rates.
    pub fn emit(&self, out: &mut Vec<u8>) {
        emit(id::VHT_CAPABILITIES, out, |out| {
            out.extend_from_slice(&self.information.to_le_bytes());
            for map in [self.rx_mcs_map, self.tx_mcs_map] {
                out.extend_from_slice(&map.to_le_bytes());
                out.extend_from_slice(&[0; 2]);
            }
        });
    }

    /// Number of spatial streams that the station receives.
    pub const fn rx_streams(&self) -> u8 {
        streams(self.rx_mcs_map)
    }

    /// Whether 160 MHz, or also 80 + 80 MHz, is supported.
    pub const fn has_160_mhz(&self) -> bool {
        self.information >> 2 & 3 != 0
    }
}

impl VhtCapabilities {
    /// VHT Capabilities Information: MPDUs of up to 11 454 octets.
    pub const MPDU_11454: u32 = 2;
    /// Supported Channel Width Set: 160 MHz.
    pub const WIDTH_160_MHZ: u32 = 1 << 2;
    /// VHT Capabilities Information: short guard interval at 80 MHz.
    pub const SHORT_GUARD_INTERVAL_80_MHZ: u32 = 1 << 5;
    /// VHT Capabilities Information: short guard interval at 160 MHz.
    pub const SHORT_GUARD_INTERVAL_160_MHZ: u32 = 1 << 6;
    /// Maximum A-MPDU Length Exponent of 7: 1 048 575 octets.
    pub const AMPDU_LONGEST: u32 = 7 << 23;
}

/// VHT Operation element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct VhtOperation {
    /// Channel Width: 0 for 20 or 40 MHz, given by HT Operation; 1 for more.
    pub width: u8,
    /// Channel Center Frequency Segment 0, a channel number.
    pub centre_0: u8,
    /// Channel Center Frequency Segment 1: not 0 with 160 or 80 + 80 MHz.
    pub centre_1: u8,
}

impl VhtOperation {
    /// Reads an element.
    ///
    /// # Errors
    /// Returns an error for an element that is too short; the offset is relative to the same start
    /// as [`Element::offset`].
    pub fn parse(element: &Element<'_>) -> Result<Self, Error> {
        read(element, |reader| {
            let [width, centre_0, centre_1] = reader.array("VHT operation information")?;
            Ok(Self { width, centre_0, centre_1 })
        })
    }

    /// Appends the element, with a basic MCS set of MCS 0 to 7 of one stream.
    pub fn emit(&self, out: &mut Vec<u8>) {
        emit(id::VHT_OPERATION, out, |out| {
            out.extend_from_slice(&[self.width, self.centre_0, self.centre_1]);
            out.extend_from_slice(&ONE_STREAM.to_le_bytes());
        });
    }

    /// Width of the BSS in MHz if it is 80 or more; 80 + 80 counts as 160, and so do the deprecated
    /// widths 2 and 3.
    pub const fn bandwidth_mhz(&self) -> Option<u16> {
        match (self.width, self.centre_1) {
            (1, 0) => Some(80),
            (1..=3, _) => Some(160),
            _ => None,
        }
    }
}

/// HE Capabilities element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct HeCapabilities {
    /// HE MAC Capabilities Information.
    pub mac: [u8; 6],
    /// HE PHY Capabilities Information.
    pub phy: [u8; 11],
    /// Rx HE-MCS Map for up to 80 MHz: two bits for each number of streams, 3 for none.
    pub rx_mcs_map: u16,
    /// Tx HE-MCS Map for up to 80 MHz.
    pub tx_mcs_map: u16,
}

impl HeCapabilities {
    /// Reads an element.
    ///
    /// # Errors
    /// Returns an error for an element that is too short; the offset is relative to the same start
    /// as [`Element::offset`].
    pub fn parse(element: &Element<'_>) -> Result<Self, Error> {
        read(element, |reader| {
            reader.take("element ID extension", 1)?;
            Ok(Self {
                mac: reader.array("HE MAC capabilities")?,
                phy: reader.array("HE PHY capabilities")?,
                rx_mcs_map: reader.u16("HE receive MCS map")?,
                tx_mcs_map: reader.u16("HE transmit MCS map")?,
            })
        })
    }

    /// Appends the element; if it has maps for 160 MHz, they equal those for 80 MHz.
    pub fn emit(&self, out: &mut Vec<u8>) {
        emit(id::EXTENSION, out, |out| {
            out.push(extension::HE_CAPABILITIES);
            out.extend_from_slice(&self.mac);
            out.extend_from_slice(&self.phy);
            for _ in 0..=usize::from(self.has_160_mhz()) {
                out.extend_from_slice(&self.rx_mcs_map.to_le_bytes());
                out.extend_from_slice(&self.tx_mcs_map.to_le_bytes());
            }
        });
    }

    /// Number of spatial streams that the station receives in up to 80 MHz.
    pub const fn rx_streams(&self) -> u8 {
        streams(self.rx_mcs_map)
    }

    /// Whether 160 MHz is supported at 5 and 6 GHz.
    pub const fn has_160_mhz(&self) -> bool {
        self.phy[0] & 1 << 3 != 0
    }
}

/// HE Operation element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct HeOperation {
    /// HE Operation Parameters, 24 bits.
    pub parameters: u32,
    /// BSS Color Information.
    pub colour: u8,
    /// Basic HE-MCS And NSS Set.
    pub basic_mcs_map: u16,
    /// VHT Operation Information, if there is no VHT Operation element.
    pub vht: Option<VhtOperation>,
    /// 6 GHz Operation Information.
    pub ghz_6: Option<Ghz6Operation>,
}

/// 6 GHz Operation Information.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Ghz6Operation {
    /// Number of the primary channel.
    pub primary: u8,
    /// Control: bits 0 and 1 are the width.
    pub control: u8,
    /// Channel Center Frequency Segment 0, a channel number.
    pub centre_0: u8,
    /// Channel Center Frequency Segment 1.
    pub centre_1: u8,
    /// Minimum rate in Mb/s.
    pub minimum_rate: u8,
}

impl Ghz6Operation {
    /// Width of the BSS in MHz, in the terms of HE.
    pub const fn bandwidth_mhz(&self) -> u16 {
        20 << (self.control & 3)
    }
}

impl HeOperation {
    pub(super) const VHT_PRESENT: u32 = 1 << 14;
    const CO_HOSTED: u32 = 1 << 15;
    pub(super) const GHZ_6_PRESENT: u32 = 1 << 17;

    /// Reads an element.
    ///
    /// # Errors
    /// Returns an error for an element that is too short; the offset is relative to the same start
    /// as [`Element::offset`].
    pub fn parse(element: &Element<'_>) -> Result<Self, Error> {
        read(element, |reader| {
            reader.take("element ID extension", 1)?;
            let [a, b, c] = reader.array("HE operation parameters")?;
            let parameters = u32::from_le_bytes([a, b, c, 0]);
            let colour = reader.u8("BSS color information")?;
            let basic_mcs_map = reader.u16("basic HE-MCS and NSS set")?;
            let mut operation = Self { parameters, colour, basic_mcs_map, ..Self::default() };
            if parameters & Self::VHT_PRESENT != 0 {
                let [width, centre_0, centre_1] = reader.array("VHT operation information")?;
                operation.vht = Some(VhtOperation { width, centre_0, centre_1 });
            }
            if parameters & Self::CO_HOSTED != 0 {
                reader.take("max co-hosted BSSID indicator", 1)?;
            }
            if parameters & Self::GHZ_6_PRESENT != 0 {
                let [primary, control, centre_0, centre_1, minimum_rate] =
                    reader.array("6 GHz operation information")?;
                let ghz_6 = Ghz6Operation { primary, control, centre_0, centre_1, minimum_rate };
                operation.ghz_6 = Some(ghz_6);
            }
            Ok(operation)
        })
    }

    /// Appends the element; the presence bits of the parameters follow from the optional parts.
    pub fn emit(&self, out: &mut Vec<u8>) {
        let present = |is_there: bool, bit: u32| if is_there { bit } else { 0 };
        let optional = Self::VHT_PRESENT | Self::CO_HOSTED | Self::GHZ_6_PRESENT;
        let parameters = self.parameters & !optional
            | present(self.vht.is_some(), Self::VHT_PRESENT)
            | present(self.ghz_6.is_some(), Self::GHZ_6_PRESENT);
        emit(id::EXTENSION, out, |out| {
            out.push(extension::HE_OPERATION);
            out.extend_from_slice(&parameters.to_le_bytes()[..3]);
            out.push(self.colour);
            out.extend_from_slice(&self.basic_mcs_map.to_le_bytes());
            if let Some(VhtOperation { width, centre_0, centre_1 }) = self.vht {
                out.extend_from_slice(&[width, centre_0, centre_1]);
            }
            if let Some(Ghz6Operation { primary, control, centre_0, centre_1, minimum_rate }) =
                self.ghz_6
            {
                out.extend_from_slice(&[primary, control, centre_0, centre_1, minimum_rate]);
            }
        });
    }

    /// BSS colour, 1 to 63; `None` if the BSS does not use it.
    pub const fn bss_colour(&self) -> Option<u8> {
        match self.colour {
            0x80.. => None,
            colour => Some(colour & 0x3f),
        }
    }
}

/// EHT Operation element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct EhtOperation {
    /// EHT Operation Parameters.
    pub parameters: u8,
    /// Basic EHT-MCS And NSS Set: octets for EHT-MCS 0 to 7, 8 and 9, 10 and 11, 12 and 13; in each,
    /// the streams received in bits 0 to 3, those sent in bits 4 to 7.
    pub basic_mcs_set: [u8; 4],
    /// The Control field, and the channel numbers of the centres of the BSS and of its widest
    /// channel, if they differ from those of HE.
    pub information: Option<[u8; 3]>,
    /// Punctured channels: bit n is the 20 MHz channel n, from the lowest on.
    pub disabled_channels: Option<u16>,
}

impl EhtOperation {
    const INFORMATION_PRESENT: u8 = 1 << 0;
    const DISABLED_PRESENT: u8 = 1 << 1;
    /// EHT Operation Parameters, bit 6: EHT-MCS 15 is not permitted.
    pub const MCS_15_DISABLED: u8 = 1 << 6;

    /// Returns the element of a BSS of this width in MHz (20 to 320) with these centres (channel
    /// numbers): of the BSS up to 80 MHz, else of the half with the primary channel; and of the
    /// whole from 160 MHz on. Channels (bit n for the 20 MHz channel n, from the lowest on) are
    /// punctured if `disabled` is not 0. One stream of EHT-MCS 0 to 7 is basic.
    pub fn of_width(width_mhz: u16, centre_0: u8, centre_1: u8, disabled: u16) -> Self {
        let code = match width_mhz {
            40 => 1,
            80 => 2,
            160 => 3,
            320 => 4,
            _ => 0,
        };
        Self {
            parameters: 0,
            basic_mcs_set: [0x11, 0, 0, 0],
            information: Some([code, centre_0, centre_1]),
            disabled_channels: (disabled != 0).then_some(disabled),
        }
    }

    /// Appends the element; the presence bits of the parameters follow from the optional parts.
    /// Punctured channels need `information`, and are left out without it.
    pub fn emit(&self, out: &mut Vec<u8>) {
        let disabled = self.disabled_channels.filter(|_| self.information.is_some());
        let present = |is_there: bool, bit: u8| if is_there { bit } else { 0 };
        let parameters = self.parameters & !(Self::INFORMATION_PRESENT | Self::DISABLED_PRESENT)
            | present(self.information.is_some(), Self::INFORMATION_PRESENT)
            | present(disabled.is_some(), Self::DISABLED_PRESENT);
        emit(id::EXTENSION, out, |out| {
            out.extend_from_slice(&[extension::EHT_OPERATION, parameters]);
            out.extend_from_slice(&self.basic_mcs_set);
            if let Some(information) = self.information {
                out.extend_from_slice(&information);
            }
            if let Some(channels) = disabled {
                out.extend_from_slice(&channels.to_le_bytes());
            }
        });
    }

    /// Reads an element.
    ///
    /// # Errors
    /// Returns an error for an element that is too short; the offset is relative to the same start
    /// as [`Element::offset`].
    pub fn parse(element: &Element<'_>) -> Result<Self, Error> {
        read(element, |reader| {
            reader.take("element ID extension", 1)?;
            let parameters = reader.u8("EHT operation parameters")?;
            let basic_mcs_set = reader.array("basic EHT-MCS and NSS set")?;
            let mut operation = Self { parameters, basic_mcs_set, ..Self::default() };
            if parameters & Self::INFORMATION_PRESENT != 0 {
                operation.information = Some(reader.array("EHT operation information")?);
                if parameters & Self::DISABLED_PRESENT != 0 {
                    operation.disabled_channels = Some(reader.u16("disabled subchannel bitmap")?);
                }
            }
            Ok(operation)
        })
    }

    /// Width of the BSS in MHz, 20 to 320, if it differs from that of HE.
    pub const fn bandwidth_mhz(&self) -> Option<u16> {
        match self.information {
            Some([control, ..]) if control & 7 <= 4 => Some(20 << (control & 7)),
            _ => None,
        }
    }
}

/// MCS map of only the lowest MCSs (0 to 7) of one stream.
pub const ONE_STREAM: u16 = 0xfffc;

/// Returns an MCS map: `codes[n]` for n + 1 streams, as in VHT (0, 1, 2: up to MCS 7, 8, 9) and HE
/// (7, 9, 11); `None` for no support.
pub fn mcs_map(codes: [Option<u8>; 8]) -> u16 {
    let code = |(index, code): (usize, Option<u8>)| u16::from(code.unwrap_or(3)) << (2 * index);
    codes.into_iter().enumerate().map(code).fold(0, |map, code| map | code)
}

/// Highest number of streams that a map supports.
const fn streams(map: u16) -> u8 {
    let mut streams = 8;
    while streams > 0 && map >> (2 * (streams - 1)) & 3 == 3 {
        streams -= 1;
    }
    streams
}

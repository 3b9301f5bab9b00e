//! Lengths of beacons and probes of 802.11be, element by element, in bytes (IEEE 802.11be-2024,
//! 9.3.3.2): exactly those that `trace` writes. Beacons of older generations have the lengths of
//! [`sizes`].
//!
//! Left out, as in captures: ERP information, EDCA parameters, security, power limits.

use crate::mac::sizes;
use crate::phy::{Band, ChannelWidth, Rate};

/// Properties of a set of 802.11be that determine its elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EhtSet {
    /// Band of its channel.
    pub band: Band,
    /// Width of its channel.
    pub width: ChannelWidth,
    /// Number of rates without MCS, basic ones included.
    pub rates: u8,
    /// Length of the network's name, 0 to 32.
    pub ssid_octets: u8,
    /// Links of the access point's device; 1 for an access point alone.
    pub links: u8,
}

impl EhtSet {
    /// Number of rates without MCS that a station announces: the basic ones and its own.
    pub fn rates(basic: &[Rate], own: &[Rate]) -> u8 {
        let others = own.iter().filter(|rate| !rate.may_aggregate() && !basic.contains(rate));
        (basic.len() + others.count()).min(usize::from(u8::MAX)) as u8
    }

    /// Length of a beacon whose TIM has a bitmap of one octet.
    pub const fn beacon(&self) -> u32 {
        let channel = if matches!(self.band, Band::Ghz2_4) { DSSS_PARAMETER_SET } else { 0 };
        MANAGEMENT_HEADER
            + FIXED_FIELDS
            + ELEMENT_HEADER
            + self.ssid_octets as u32
            + self.supported_rates()
            + channel
            + sizes::TIM
            + capabilities(self.band, self.width)
            + eht_capabilities(self.band, self.width, true)
            + operation(self.band)
            + sizes::EHT_OPERATION
            + self.device()
            + sizes::FCS
    }

    /// Length of a Probe Request for any network by a station with the same channel.
    pub const fn probe_request(&self) -> u32 {
        MANAGEMENT_HEADER
            + ELEMENT_HEADER
            + self.supported_rates()
            + capabilities(self.band, self.width)
            + eht_capabilities(self.band, self.width, false)
            + sizes::FCS
    }

    /// Length of Supported Rates and Extended Supported Rates (9.4.2.3, 9.4.2.13).
    const fn supported_rates(&self) -> u32 {
        let rates = self.rates as u32;
        if rates > SUPPORTED_RATES_MAX {
            2 * ELEMENT_HEADER + rates
        } else {
            ELEMENT_HEADER + rates
        }
    }

    /// Length of the Reduced Neighbor Report with one channel and access point for each other link,
    /// and of the Basic Multi-Link element without profiles.
    const fn device(&self) -> u32 {
        match self.links {
            0 | 1 => 0,
            links => ELEMENT_HEADER + NEIGHBOR_ON_LINK * (links as u32 - 1) + BASIC_MULTI_LINK,
        }
    }
}

/// Length of HT, VHT, HE and HE 6 GHz Band Capabilities of a station of HE or later.
const fn capabilities(band: Band, width: ChannelWidth) -> u32 {
    let wide = match band {
        Band::Ghz2_4 => 0,
        Band::Ghz5 | Band::Ghz6 if (width as u8) < (ChannelWidth::Mhz160 as u8) => 0,
        Band::Ghz5 | Band::Ghz6 => MCS_MAPS_160,
    };
    wide + sizes::PROBE_REQUEST_HE
        + match band {
            Band::Ghz2_4 => sizes::PROBE_REQUEST_HT,
            Band::Ghz5 => sizes::PROBE_REQUEST_HT + sizes::PROBE_REQUEST_VHT,
            Band::Ghz6 => HE_6_GHZ_BAND_CAPABILITIES,
        }
}

/// Length of HT, VHT and HE Operation.
const fn operation(band: Band) -> u32 {
    sizes::BEACON_HE - sizes::PROBE_REQUEST_HE
        + match band {
            Band::Ghz2_4 => sizes::BEACON_HT - sizes::PROBE_REQUEST_HT,
            Band::Ghz5 => {
                sizes::BEACON_HT - sizes::PROBE_REQUEST_HT + sizes::BEACON_VHT
                    - sizes::PROBE_REQUEST_VHT
            }
            Band::Ghz6 => GHZ_6_OPERATION,
        }
}

/// Length of EHT Capabilities (9.4.2.323) without PPE thresholds: MCS and streams for up to 80 MHz,
/// and for each width above; four octets of a station that has only 20 MHz.
pub const fn eht_capabilities(band: Band, width: ChannelWidth, of_access_point: bool) -> u32 {
    let sets = match (width, band) {
        (ChannelWidth::Mhz20, _) if !of_access_point => 4,
        (ChannelWidth::Mhz160, Band::Ghz5 | Band::Ghz6) => 2 * 3,
        (ChannelWidth::Mhz320, Band::Ghz5 | Band::Ghz6) => 3 * 3,
        _ => 3,
    };
    EXTENDED_ELEMENT_HEADER + 2 + 9 + sets
}

const MANAGEMENT_HEADER: u32 = 24;
/// Timestamp, beacon interval, capabilities.
const FIXED_FIELDS: u32 = 8 + 2 + 2;
const ELEMENT_HEADER: u32 = 2;
const EXTENDED_ELEMENT_HEADER: u32 = 3;
const DSSS_PARAMETER_SET: u32 = 3;
/// Largest number of rates in a Supported Rates element (9.4.2.3).
const SUPPORTED_RATES_MAX: u32 = 8;
/// HE-MCS maps of 160 MHz (IEEE 802.11ax-2021, 9.4.2.248.4).
const MCS_MAPS_160: u32 = 4;
const HE_6_GHZ_BAND_CAPABILITIES: u32 = 3 + 2;
/// 6 GHz Operation Information of HE Operation.
const GHZ_6_OPERATION: u32 = 5;
/// Neighbor AP Information of one access point (9.4.2.170): TBTT Information Header, operating
/// class, channel; offset, BSSID, short SSID, BSS parameters, PSD, MLD parameters.
const NEIGHBOR_ON_LINK: u32 = 2 + 1 + 1 + 1 + 6 + 4 + 1 + 1 + 3;
/// Basic Multi-Link element in a beacon (9.4.2.322.2): control; length, address, link, change count,
/// EML Capabilities, MLD Capabilities And Operations.
const BASIC_MULTI_LINK: u32 = EXTENDED_ELEMENT_HEADER + 2 + 1 + 6 + 1 + 1 + 2 + 2;

//! Elements of (Re)Association Requests and Responses that depend on neither a network's security
//! nor its generation (IEEE 802.11-2020, 9.4.2), as hostapd and wpa_supplicant 2.10 with mac80211 of
//! Linux 6.1 send them. Lengths are in octets.
//!
//! A station lists the operating classes of a radio for 2.4 and 5 GHz, in a network at 6 GHz of one
//! for that, too, up to the width of its channel.

use super::frame::JoinFacts;
use crate::phy::{Band, ChannelWidth};

/// Length of Extended Capabilities of a station (9.4.2.26): up to bit 72, which distributions'
/// wpa_supplicant sets (FILS).
pub const EXTENDED_CAPABILITIES_STATION: usize = 10;
/// The same of an access point: up to bit 62, which mac80211 sets (`WLAN_EXT_CAPA8_OPMODE_NOTIF`).
pub const EXTENDED_CAPABILITIES_ACCESS_POINT: usize = 8;
/// Vendor Specific element with the WMM Information: OUI, type, subtype, version, QoS Info
/// (Wi-Fi Alliance, WMM 1.2, 2.2.1).
pub const WMM_INFORMATION: usize = 2 + 7;
/// The same with WMM Parameters: QoS Info, a reserved octet, four of each access category (2.2.2).
pub const WMM_PARAMETER: usize = 2 + 8 + 4 * 4;
/// BSS Max Idle Period (9.4.2.78).
pub const MAX_IDLE_PERIOD: usize = 2 + 3;

/// Global operating classes (table E-4) that the United States permit: band and width.
const CLASSES: [(u8, Band, ChannelWidth); 23] = {
    use Band::{Ghz2_4, Ghz5, Ghz6};
    use ChannelWidth::{Mhz20, Mhz40, Mhz80, Mhz160};
    [
        (81, Ghz2_4, Mhz20),
        (83, Ghz2_4, Mhz40),
        (84, Ghz2_4, Mhz40),
        (115, Ghz5, Mhz20),
        (116, Ghz5, Mhz40),
        (117, Ghz5, Mhz40),
        (118, Ghz5, Mhz20),
        (119, Ghz5, Mhz40),
        (120, Ghz5, Mhz40),
        (121, Ghz5, Mhz20),
        (122, Ghz5, Mhz40),
        (123, Ghz5, Mhz40),
        (124, Ghz5, Mhz20),
        (125, Ghz5, Mhz20),
        (126, Ghz5, Mhz40),
        (127, Ghz5, Mhz40),
        (128, Ghz5, Mhz80),
        (129, Ghz5, Mhz160),
        (131, Ghz6, Mhz20),
        (132, Ghz6, Mhz40),
        (133, Ghz6, Mhz80),
        (134, Ghz6, Mhz160),
        (136, Ghz6, Mhz20),
    ]
};

impl JoinFacts {
    /// The operating classes that a station lists, in their order.
    pub fn operating_classes(&self) -> impl Iterator<Item = u8> + '_ {
        CLASSES.iter().filter(|class| self.has_class(class.1, class.2)).map(|class| class.0)
    }

    const fn has_class(&self, band: Band, width: ChannelWidth) -> bool {
        let has_band = !matches!(band, Band::Ghz6) || matches!(self.band, Band::Ghz6);
        has_band && mhz(width) <= mhz(self.width)
    }

    /// Length of Supported Operating Classes (9.4.2.53): the current one and the list.
    const fn operating_class_octets(&self) -> u32 {
        let (mut number, mut index) = (0, 0);
        while index < CLASSES.len() {
            if self.has_class(CLASSES[index].1, CLASSES[index].2) {
                number += 1;
            }
            index += 1;
        }
        2 + 1 + number
    }

    /// Length of these elements in a request: operating classes, Extended Capabilities, WMM.
    pub(super) const fn request_elements(&self) -> u32 {
        let wmm = if self.qos { WMM_INFORMATION as u32 } else { 0 };
        self.operating_class_octets() + 2 + EXTENDED_CAPABILITIES_STATION as u32 + wmm
    }

    /// Length of these elements in a response: Extended Capabilities, BSS Max Idle Period, WMM.
    pub(super) const fn response_elements(&self) -> u32 {
        let wmm = if self.qos { WMM_PARAMETER as u32 } else { 0 };
        2 + EXTENDED_CAPABILITIES_ACCESS_POINT as u32 + MAX_IDLE_PERIOD as u32 + wmm
    }
}

const fn mhz(width: ChannelWidth) -> u16 {
    match width {
        ChannelWidth::Mhz20 => 20,
        ChannelWidth::Mhz40 => 40,
        ChannelWidth::Mhz80 => 80,
        ChannelWidth::Mhz160 => 160,
        ChannelWidth::Mhz320 => 320,
    }
}

#[cfg(test)]
mod tests {
    use super::super::frame::{R0KH_ID, RoamFrame, Security};
    use super::*;
    use crate::capabilities::Generation;

    /// Frames of the walks of wpa_supplicant 2.10 and hostapd 2.10 over hwsim on Linux 6.1: 20 MHz
    /// at 5 GHz, an SSID of four letters, `nas_identifier` of three (crates/studies/data/kernels/
    /// roam.csv). hwsim's radios list 25 operating classes: those of 20 to 160 MHz in three bands,
    /// 80+80 MHz at 5 and 6 GHz too.
    #[test]
    fn frames_are_as_long_as_those_of_linux() {
        const HWSIM_CLASSES: u32 = 25;
        let facts = |security, fast| JoinFacts {
            security,
            ssid_octets: 4,
            rates: 8,
            generation: Generation::Ht,
            band: Band::Ghz5,
            width: ChannelWidth::Mhz20,
            qos: true,
            radio_measurement: false,
            bss_transition: false,
            neighbours: 0,
            cached: false,
            keyed: false,
            fast,
        };
        let listed = facts(Security::Open, false).operating_classes().count() as u32;
        let all = JoinFacts {
            band: Band::Ghz6,
            width: ChannelWidth::Mhz160,
            ..facts(Security::Open, false)
        };
        assert_eq!(all.operating_classes().count() as u32 + 2, HWSIM_CLASSES);
        let names = R0KH_ID as u32 - 3;
        for (security, fast, again, request, response) in [
            (Security::Open, false, true, 131, 137),
            (Security::Open, false, false, 125, 137),
            (Security::Psk, false, true, 153, 137),
            (Security::Sae, false, true, 159, 137),
            (Security::FtPsk, true, true, 273 + names, 316 + names),
        ] {
            let facts = facts(security, fast);
            let sent = RoamFrame::AssociationRequest { again }.octets(&facts);
            assert_eq!(sent + HWSIM_CLASSES - listed, request, "{security:?} {again}");
            let answered = RoamFrame::AssociationResponse { again, status: 0 }.octets(&facts);
            assert_eq!(answered, response, "{security:?} {again}");
        }
    }
}

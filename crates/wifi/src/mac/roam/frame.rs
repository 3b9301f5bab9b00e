//! Frames with which stations join, leave and change access points, and their lengths (IEEE
//! 802.11-2020, 9.3.3.4 to 9.3.3.12, 9.6 and 12.7.2): authentication, association, the 4-way
//! handshake, 802.11k, 802.11r and 802.11v. Lengths are in octets.
//!
//! Optional elements are those of hostapd and wpa_supplicant 2.10 in their default configuration.
//! Left out: vendors' elements other than WMM, Power Capability and Supported Channels, which
//! networks with spectrum management have, MU EDCA and Spatial Reuse, RSNX, resource requests (RIC),
//! operating channel information, beacon protection, and hash-to-element's containers.

use crate::capabilities::Generation;
use crate::mac::announcement::eht_capabilities;
use crate::mac::sizes::{
    self, DATA_HEADER, Encryption, FCS, LLC_SNAP, PROBE_REQUEST_HE, PROBE_REQUEST_HT,
    PROBE_REQUEST_VHT, QOS_DATA_HEADER,
};
use crate::phy::{Band, ChannelWidth};

/// A frame of roaming. Frames that are answered have the answer as another kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoamFrame {
    /// Authentication frame (9.3.3.11).
    Authentication {
        /// Algorithm and, of SAE, message.
        algorithm: AuthenticationAlgorithm,
        /// Authentication transaction sequence number: 1 or 2.
        sequence: u16,
        /// Status code (table 9-50); 0 also in requests, 126 in SAE with hash-to-element.
        status: u16,
    },
    /// Association or Reassociation Request (9.3.3.5, 9.3.3.7).
    AssociationRequest {
        /// Whether it is a Reassociation Request.
        again: bool,
    },
    /// Association or Reassociation Response (9.3.3.6, 9.3.3.8).
    AssociationResponse {
        /// Whether it is a Reassociation Response.
        again: bool,
        /// Status code (table 9-50); 0 accepts the station.
        status: u16,
    },
    /// A message of the 4-way handshake (12.7.6).
    Handshake {
        /// Number of the message, 1 to 4; the access point sends 1 and 3.
        message: u8,
    },
    /// Deauthentication frame (9.3.3.12).
    Deauthentication {
        /// Reason code (table 9-49).
        reason: u16,
    },
    /// Disassociation frame (9.3.3.4).
    Disassociation {
        /// Reason code (table 9-49).
        reason: u16,
    },
    /// Neighbor Report Request (9.6.6.6), for the own network.
    NeighborReportRequest,
    /// Neighbor Report Response (9.6.6.7).
    NeighborReportResponse,
    /// BSS Transition Management Query (9.6.13.8), without candidates.
    TransitionQuery,
    /// BSS Transition Management Request (9.6.13.9).
    TransitionRequest {
        /// Beacon intervals until the station is removed; 0 if it may stay.
        removal: u16,
    },
    /// BSS Transition Management Response (9.6.13.10), without candidates.
    TransitionResponse {
        /// BTM status code; 0 accepts the request.
        status: u8,
    },
    /// FT Request (9.6.8.2), to the current access point for another.
    FtRequest,
    /// FT Response (9.6.8.3).
    FtResponse {
        /// Status code (table 9-50).
        status: u16,
    },
    /// Channel Switch Announcement (9.6.2.6) to all stations.
    ChannelSwitch,
}

/// Algorithm of an Authentication frame (9.4.1.1) and, of SAE, the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuthenticationAlgorithm {
    /// Open System.
    Open,
    /// SAE with a commit message (12.4.7.2); group 19.
    SaeCommit,
    /// SAE with a confirm message (12.4.7.3).
    SaeConfirm,
    /// Fast BSS transition over the air (13.5.2).
    Ft,
}

impl AuthenticationAlgorithm {
    /// Authentication Algorithm Number (9.4.1.1).
    pub const fn number(self) -> u16 {
        match self {
            Self::Open => 0,
            Self::Ft => 2,
            Self::SaeCommit | Self::SaeConfirm => 3,
        }
    }
}

/// Authentication and key management of a network. Pairwise and group cipher are CCMP-128.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Security {
    /// Open network.
    #[default]
    Open,
    /// WPA2 with a pre-shared key.
    Psk,
    /// WPA3 with SAE.
    Sae,
    /// A pre-shared key with fast transitions.
    FtPsk,
    /// SAE with fast transitions.
    FtSae,
}

impl Security {
    /// Whether the network has an RSN element.
    pub const fn is_robust(self) -> bool {
        !matches!(self, Self::Open)
    }

    /// Whether fast transitions are possible.
    pub const fn has_fast_transitions(self) -> bool {
        matches!(self, Self::FtPsk | Self::FtSae)
    }

    /// Whether authentication begins with SAE.
    pub const fn is_sae(self) -> bool {
        matches!(self, Self::Sae | Self::FtSae)
    }

    /// Whether management frames are protected. WPA3 requires it; hostapd's default is no
    /// protection.
    pub const fn protects_management(self) -> bool {
        self.is_sae()
    }
}

/// Facts that determine the elements of frames between a station and an access point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JoinFacts {
    /// Authentication and key management of the network.
    pub security: Security,
    /// Length of the SSID, 0 to 32.
    pub ssid_octets: u8,
    /// Number of rates without MCS, 1 to 255.
    pub rates: u8,
    /// Generation of both, which determines HT, VHT and HE elements.
    pub generation: Generation,
    /// Band of the network.
    pub band: Band,
    /// Width of the channel.
    pub width: ChannelWidth,
    /// Whether both have QoS, and therefore QoS Control in data frames.
    pub qos: bool,
    /// Whether RM Enabled Capabilities (802.11k) are announced.
    pub radio_measurement: bool,
    /// Whether Extended Capabilities with BSS transition management (802.11v) are announced.
    pub bss_transition: bool,
    /// Number of access points in a Neighbor Report Response or a BSS Transition Management
    /// Request.
    pub neighbours: u8,
    /// Whether both have installed the pairwise key.
    pub keyed: bool,
    /// Whether a reassociation is part of a fast BSS transition.
    pub fast: bool,
    /// Whether an association names a key of an earlier one by its PMKID (12.6.8.3).
    pub cached: bool,
}

/// Protection that a frame has, which adds octets to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protection {
    /// No protection.
    None,
    /// CCMP-128, as of data.
    Ccmp,
    /// BIP-CMAC-128 of group-addressed frames: a Management MIC element (9.4.2.54).
    Bip,
}

impl Protection {
    /// Octets that the protection adds to a frame.
    pub const fn octets(self) -> u32 {
        match self {
            Self::None => 0,
            Self::Ccmp => Encryption::Ccmp.bytes(),
            Self::Bip => 2 + 16,
        }
    }
}

impl RoamFrame {
    /// Whether an access point sends the frame: `None` for frames that both send.
    pub const fn from_access_point(self) -> Option<bool> {
        match self {
            Self::Authentication {
                algorithm: AuthenticationAlgorithm::Open | AuthenticationAlgorithm::Ft,
                sequence,
                ..
            } => Some(sequence % 2 == 0),
            Self::Authentication { .. }
            | Self::Deauthentication { .. }
            | Self::Disassociation { .. } => None,
            Self::Handshake { message } => Some(message % 2 == 1),
            Self::AssociationRequest { .. }
            | Self::NeighborReportRequest
            | Self::TransitionQuery
            | Self::TransitionResponse { .. }
            | Self::FtRequest => Some(false),
            Self::AssociationResponse { .. }
            | Self::NeighborReportResponse
            | Self::TransitionRequest { .. }
            | Self::FtResponse { .. }
            | Self::ChannelSwitch => Some(true),
        }
    }

    /// Returns the protection of the frame. With the key installed, messages of a handshake are
    /// protected as data; where management frames are protected, so are robust ones (9.3.3.1 and
    /// table 9-51): deauthentication, disassociation and all action frames here. Authentication and
    /// association are never protected.
    pub const fn protection(self, facts: &JoinFacts) -> Protection {
        let JoinFacts { security, keyed, .. } = *facts;
        match self {
            Self::Authentication { .. }
            | Self::AssociationRequest { .. }
            | Self::AssociationResponse { .. } => Protection::None,
            Self::Handshake { .. } if keyed && security.is_robust() => Protection::Ccmp,
            Self::Handshake { .. } => Protection::None,
            Self::ChannelSwitch if security.protects_management() => Protection::Bip,
            Self::ChannelSwitch => Protection::None,
            _ if keyed && security.protects_management() => Protection::Ccmp,
            _ => Protection::None,
        }
    }

    /// Length of the MPDU with header, FCS and its [`protection`](Self::protection).
    pub const fn octets(self, facts: &JoinFacts) -> u32 {
        let header = match self {
            Self::Handshake { .. } if facts.qos => QOS_DATA_HEADER + LLC_SNAP,
            Self::Handshake { .. } => DATA_HEADER + LLC_SNAP,
            _ => MANAGEMENT_HEADER,
        };
        header + self.body(facts) + FCS + self.protection(facts).octets()
    }

    /// Length of the body of a management frame, or of an EAPOL frame.
    const fn body(self, facts: &JoinFacts) -> u32 {
        match self {
            Self::Authentication { algorithm, status, .. } => {
                // Algorithm, sequence number, status code.
                6 + match (algorithm, status) {
                    (AuthenticationAlgorithm::Open, _) => 0,
                    (AuthenticationAlgorithm::SaeCommit, SUCCESS | SAE_HASH_TO_ELEMENT) => {
                        SAE_GROUP + SAE_SCALAR + SAE_ELEMENT
                    }
                    (AuthenticationAlgorithm::SaeCommit, ANTI_CLOGGING_TOKEN_REQUIRED) => {
                        SAE_GROUP + ANTI_CLOGGING_TOKEN
                    }
                    (AuthenticationAlgorithm::SaeCommit, UNSUPPORTED_GROUP) => SAE_GROUP,
                    (AuthenticationAlgorithm::SaeConfirm, SUCCESS) => {
                        SAE_SEND_CONFIRM + SAE_CONFIRM
                    }
                    (AuthenticationAlgorithm::Ft, SUCCESS) => {
                        facts.transition_elements(matches!(self.from_access_point(), Some(true)))
                    }
                    (
                        AuthenticationAlgorithm::SaeCommit
                        | AuthenticationAlgorithm::SaeConfirm
                        | AuthenticationAlgorithm::Ft,
                        _,
                    ) => 0,
                }
            }
            Self::AssociationRequest { again } => {
                let security = facts.security;
                let fast = again && facts.fast && security.has_fast_transitions();
                let domain = if security.has_fast_transitions() { MOBILITY_DOMAIN } else { 0 };
                let transition = if fast { facts.transition(true, false) } else { 0 };
                // Capability Information, Listen Interval, current AP address.
                (if again { 2 + 2 + 6 } else { 2 + 2 })
                    + 2
                    + facts.ssid_octets as u32
                    + facts.rates()
                    + facts.rsn(fast || facts.cached)
                    + domain
                    + transition
                    + facts.measurement()
                    + facts.request_elements()
                    + facts.capabilities(false)
            }
            Self::AssociationResponse { again, status } => {
                let security = facts.security;
                let fast = again && facts.fast && security.has_fast_transitions();
                let succeeds = status == SUCCESS;
                let keys = match (succeeds, security.has_fast_transitions(), fast) {
                    (false, ..) | (_, false, _) => 0,
                    (_, _, false) => MOBILITY_DOMAIN + facts.transition(true, false),
                    (_, _, true) => {
                        facts.rsn(true) + MOBILITY_DOMAIN + facts.transition(true, true)
                    }
                };
                let interval = if status == REFUSED_TEMPORARILY { TIMEOUT_INTERVAL } else { 0 };
                // Capability Information, status code, AID.
                2 + 2
                    + 2
                    + facts.rates()
                    + keys
                    + interval
                    + facts.measurement()
                    + facts.response_elements()
                    + facts.capabilities(true)
                    + facts.operation()
            }
            Self::Handshake { message } => EAPOL_KEY + facts.key_data(message),
            Self::Deauthentication { .. } | Self::Disassociation { .. } => 2,
            // Category, action, dialog token; and what the clauses list after them.
            Self::NeighborReportRequest => 3,
            Self::NeighborReportResponse => 3 + facts.neighbours as u32 * NEIGHBOR_REPORT,
            Self::TransitionQuery => 3 + 1,
            Self::TransitionRequest { .. } => {
                3 + 1 + 2 + 1 + facts.neighbours as u32 * (NEIGHBOR_REPORT + CANDIDATE_PREFERENCE)
            }
            Self::TransitionResponse { status: 0 } => 3 + 1 + 1 + 6,
            Self::TransitionResponse { .. } => 3 + 1 + 1,
            // Category, action, addresses of the station and of the other access point.
            Self::FtRequest => 2 + 6 + 6 + facts.transition_elements(false),
            Self::FtResponse { status: SUCCESS } => 2 + 6 + 6 + 2 + facts.transition_elements(true),
            Self::FtResponse { .. } => 2 + 6 + 6 + 2,
            // Category, action, Channel Switch Announcement element.
            Self::ChannelSwitch => 2 + 5,
        }
    }
}

impl JoinFacts {
    /// Length of Supported Rates and Extended Supported Rates.
    const fn rates(&self) -> u32 {
        let rates = self.rates as u32;
        if rates > SUPPORTED_RATES_MAX { 2 + rates + 2 } else { 2 + rates }
    }

    /// Length of the RSN element: version, group cipher, one pairwise cipher, one AKM, capabilities;
    /// with `pmkid` a PMKID or the name of a PMK, with protection of management frames their group
    /// cipher.
    const fn rsn(&self, pmkid: bool) -> u32 {
        let protected = self.security.protects_management();
        if !self.security.is_robust() {
            return 0;
        }
        2 + 2
            + 4
            + (2 + 4)
            + (2 + 4)
            + 2
            + if pmkid || protected { 2 } else { 0 }
            + if pmkid { PMKID } else { 0 }
            + if protected { 4 } else { 0 }
    }

    /// Length of the Fast BSS Transition element: MIC control, MIC, two nonces, R0KH-ID; with
    /// `holder` R1KH-ID, with `keys` the group keys.
    const fn transition(&self, holder: bool, keys: bool) -> u32 {
        let integrity = if self.security.protects_management() { 2 + 2 + 6 + 1 + 24 } else { 0 };
        2 + 2
            + 16
            + 2 * 32
            + (2 + R0KH_ID as u32)
            + if holder { 2 + 6 } else { 0 }
            + if keys { 2 + 2 + 1 + 8 + 24 + integrity } else { 0 }
    }

    /// Length of the elements of FT authentication: RSN with the name of a key, Mobility Domain, Fast
    /// BSS Transition.
    const fn transition_elements(&self, from_access_point: bool) -> u32 {
        self.rsn(true) + MOBILITY_DOMAIN + self.transition(from_access_point, false)
    }

    /// Additional length of beacons and Probe Responses: RSN, Mobility Domain, RM Enabled
    /// Capabilities and Extended Capabilities.
    pub const fn beacon(&self) -> u32 {
        let domain = if self.security.has_fast_transitions() { MOBILITY_DOMAIN } else { 0 };
        self.rsn(false) + domain + self.extended()
    }

    /// Length of RM Enabled Capabilities and Extended Capabilities.
    const fn extended(&self) -> u32 {
        let extended = if self.bss_transition { 2 + EXTENDED_CAPABILITIES as u32 } else { 0 };
        self.measurement() + extended
    }

    /// Length of RM Enabled Capabilities.
    const fn measurement(&self) -> u32 {
        if self.radio_measurement { 2 + 5 } else { 0 }
    }

    const fn is_ht(&self) -> bool {
        !matches!(self.generation, Generation::NonHt) && !matches!(self.band, Band::Ghz6)
    }

    const fn is_vht(&self) -> bool {
        matches!(self.generation, Generation::Vht | Generation::He | Generation::Eht)
            && matches!(self.band, Band::Ghz5)
    }

    const fn is_he(&self) -> bool {
        matches!(self.generation, Generation::He | Generation::Eht)
    }

    /// Length of HT, VHT, HE, HE 6 GHz and EHT capabilities.
    const fn capabilities(&self, of_access_point: bool) -> u32 {
        // The MCS maps of 160 MHz.
        let wide =
            if matches!(self.width, ChannelWidth::Mhz160 | ChannelWidth::Mhz320) { 4 } else { 0 };
        let ghz_6 = if matches!(self.band, Band::Ghz6) { 2 + 1 + 2 } else { 0 };
        (if self.is_ht() { PROBE_REQUEST_HT } else { 0 })
            + (if self.is_vht() { PROBE_REQUEST_VHT } else { 0 })
            + (if self.is_he() { PROBE_REQUEST_HE + wide + ghz_6 } else { 0 })
            + if matches!(self.generation, Generation::Eht) {
                eht_capabilities(self.band, self.width, of_access_point)
            } else {
                0
            }
    }

    /// Length of HT, VHT, HE and EHT operation.
    const fn operation(&self) -> u32 {
        let ghz_6 = if matches!(self.band, Band::Ghz6) { 5 } else { 0 };
        (if self.is_ht() { sizes::BEACON_HT - PROBE_REQUEST_HT } else { 0 })
            + (if self.is_vht() { sizes::BEACON_VHT - PROBE_REQUEST_VHT } else { 0 })
            + (if self.is_he() { sizes::BEACON_HE - PROBE_REQUEST_HE + ghz_6 } else { 0 })
            + if matches!(self.generation, Generation::Eht) { sizes::EHT_OPERATION } else { 0 }
    }

    /// Length of the Key Data of a message (12.7.6.2 to 12.7.6.5), encrypted in message 3.
    pub const fn key_data(&self, message: u8) -> u32 {
        let fast = self.security.has_fast_transitions();
        let elements = if fast { self.transition_elements(true) } else { self.rsn(false) };
        match message {
            // hostapd sends the PMKID with SAE only.
            1 if self.security.is_sae() => KDE_HEADER + PMKID,
            // wpa_supplicant repeats its element of the request.
            2 if !fast => self.rsn(self.cached),
            2 => elements,
            3 => {
                let integrity =
                    if self.security.protects_management() { KDE_HEADER + 2 + 6 + 16 } else { 0 };
                let intervals = if fast { 2 * TIMEOUT_INTERVAL } else { 0 };
                let plain = elements + KDE_HEADER + 2 + 16 + integrity + intervals;
                // AES key wrap: padding to a multiple of 8 octets, and 8 more.
                plain.next_multiple_of(8) + 8
            }
            _ => 0,
        }
    }
}

/// MAC header of management frames without HT Control (9.3.3.1).
const MANAGEMENT_HEADER: u32 = 24;
/// EAPOL header, and the fields of an EAPOL-Key frame with a MIC of 16 octets (12.7.2).
const EAPOL_KEY: u32 = 4 + 95;
/// Length of a PMKID or of the name of an FT key.
const PMKID: u32 = 16;
/// Type, length, OUI and data type of a KDE (12.7.2).
const KDE_HEADER: u32 = 6;
/// Mobility Domain element (9.4.2.46).
const MOBILITY_DOMAIN: u32 = 5;
/// Timeout Interval element (9.4.2.48).
const TIMEOUT_INTERVAL: u32 = 7;
/// Neighbor Report element (9.4.2.36) with a Wide Bandwidth Channel subelement, as hostapd makes
/// its own.
const NEIGHBOR_REPORT: u32 = 2 + 13 + 5;
/// BSS Transition Candidate Preference subelement (9.4.2.36).
const CANDIDATE_PREFERENCE: u32 = 3;
/// Length of R0KH-ID: the access point's address in hexadecimal digits; 1 to 48 octets are
/// permitted (9.4.2.47).
pub const R0KH_ID: usize = 12;
/// Length of Extended Capabilities (9.4.2.26) up to bit 63.
pub const EXTENDED_CAPABILITIES: usize = 8;
/// Largest number of rates in a Supported Rates element (9.4.2.3).
const SUPPORTED_RATES_MAX: u32 = 8;
/// Finite Cyclic Group field (9.4.1.42).
const SAE_GROUP: u32 = 2;
/// Scalar of group 19 (9.4.1.39).
const SAE_SCALAR: u32 = 32;
/// FFE of group 19: two coordinates (9.4.1.40).
const SAE_ELEMENT: u32 = 64;
/// Send-Confirm field (9.4.1.37).
const SAE_SEND_CONFIRM: u32 = 2;
/// Confirm field with SHA-256 (9.4.1.41).
const SAE_CONFIRM: u32 = 32;
/// Anti-Clogging Token of hostapd: a SHA-256 MAC (9.4.1.38).
const ANTI_CLOGGING_TOKEN: u32 = 32;
/// Status code 0 (table 9-50).
pub const SUCCESS: u16 = 0;
/// Status code 30: with the time after which the station may ask again.
pub const REFUSED_TEMPORARILY: u16 = 30;
/// Status code 76: SAE requires a token.
pub const ANTI_CLOGGING_TOKEN_REQUIRED: u16 = 76;
/// Status code 77: SAE does not support the group.
pub const UNSUPPORTED_GROUP: u16 = 77;
/// Status code 126: success of SAE with hash-to-element.
pub const SAE_HASH_TO_ELEMENT: u16 = 126;

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(security: Security) -> JoinFacts {
        JoinFacts {
            security,
            ssid_octets: 7,
            rates: 8,
            generation: Generation::NonHt,
            band: Band::Ghz5,
            width: ChannelWidth::Mhz20,
            qos: true,
            radio_measurement: false,
            bss_transition: false,
            neighbours: 2,
            keyed: false,
            fast: false,
            cached: false,
        }
    }

    /// Lengths by hand from the clauses. Message 1 of WPA2 with QoS Control is known to have 133
    /// octets without FCS, as message 4.
    #[test]
    fn lengths_by_hand() {
        use RoamFrame::{Authentication, Deauthentication, Handshake};
        let open = facts(Security::Open);
        let psk = facts(Security::Psk);
        let sae = facts(Security::Sae);
        let ft = JoinFacts { fast: true, ..facts(Security::FtPsk) };
        let of = |algorithm, status| Authentication { algorithm, sequence: 1, status };
        assert_eq!(of(AuthenticationAlgorithm::Open, 0).octets(&open), 34);
        assert_eq!(of(AuthenticationAlgorithm::SaeCommit, 0).octets(&sae), 34 + 98);
        assert_eq!(of(AuthenticationAlgorithm::SaeCommit, 76).octets(&sae), 34 + 34);
        assert_eq!(of(AuthenticationAlgorithm::SaeConfirm, 0).octets(&sae), 34 + 34);
        // RSN with a name 40, Mobility Domain 5, Fast BSS Transition 84 + 14.
        assert_eq!(of(AuthenticationAlgorithm::Ft, 0).octets(&ft), 34 + 40 + 5 + 98);
        assert_eq!(Deauthentication { reason: 3 }.octets(&open), 30);
        assert_eq!(Handshake { message: 1 }.octets(&psk), 133 + 4);
        // RSN of 22; with it a group key of 24 makes 46, padded 48, wrapped 56.
        assert_eq!(Handshake { message: 2 }.octets(&psk), 137 + 22);
        assert_eq!(Handshake { message: 3 }.octets(&psk), 137 + 56);
        assert_eq!(Handshake { message: 4 }.octets(&psk), 137);
        assert_eq!(Handshake { message: 4 }.octets(&JoinFacts { qos: false, ..psk }), 135);
    }

    /// hostapd and wpa_supplicant 2.10 in a virtual machine: with a cached key a Reassociation Request
    /// has 175 octets instead of 159, message 2 181 instead of 165, and message 1 159 in both cases.
    #[test]
    fn a_cached_key_adds_its_name() {
        let without = facts(Security::Sae);
        let with = JoinFacts { cached: true, ..without };
        let more = |frame: RoamFrame| frame.octets(&with) - frame.octets(&without);
        assert_eq!(more(RoamFrame::AssociationRequest { again: true }), 175 - 159);
        assert_eq!(more(RoamFrame::Handshake { message: 2 }), 181 - 165);
        let message = RoamFrame::Handshake { message: 1 };
        assert_eq!((message.octets(&with), more(message)), (159, 0));
    }

    #[test]
    fn protected_frames_are_longer() {
        let frames = [
            RoamFrame::Deauthentication { reason: 3 },
            RoamFrame::TransitionRequest { removal: 0 },
            RoamFrame::FtRequest,
            RoamFrame::Handshake { message: 1 },
            RoamFrame::ChannelSwitch,
            RoamFrame::AssociationRequest { again: true },
        ];
        let more = |security| {
            let without = facts(security);
            let with = JoinFacts { keyed: true, ..without };
            frames.map(|frame| frame.octets(&with) - frame.octets(&without))
        };
        assert_eq!(more(Security::Open), [0; 6]);
        assert_eq!(more(Security::FtPsk), [0, 0, 0, 16, 0, 0]);
        assert_eq!(more(Security::FtSae), [16, 16, 16, 16, 0, 0]);
        let switch = RoamFrame::ChannelSwitch;
        assert_eq!(switch.octets(&facts(Security::Psk)), 35);
        assert_eq!(switch.octets(&facts(Security::Sae)), 35 + 18);
    }
}

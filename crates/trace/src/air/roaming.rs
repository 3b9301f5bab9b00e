//! Bytes of the frames of roaming (IEEE 802.11-2020, 9.3.3, 9.6 and 12.7.6), with the lengths of
//! [`RoamFrame::octets`]. Frames are written as decrypted, without the octets of their protection.
//!
//! Key material is made up: scalars, proofs, MICs, names of keys and wrapped keys are zeros, a nonce
//! repeats the address of its sender. Optional elements are those that `mac::roam::frame` counts.

use super::announced::{
    DeviceElements, Phy, SUPPORTED_RATES_MAX, beacon_elements, octets, rate_octets, ssid,
};
use super::{AirInfo, DIALOG_TOKEN, Link};
use lasthop_units::MacAddr;
use lasthop_wifi::mac::roam::elements::{
    EXTENDED_CAPABILITIES_ACCESS_POINT, EXTENDED_CAPABILITIES_STATION, WMM_INFORMATION,
    WMM_PARAMETER,
};
use lasthop_wifi::mac::roam::frame::{
    ANTI_CLOGGING_TOKEN_REQUIRED, AuthenticationAlgorithm, EXTENDED_CAPABILITIES, JoinFacts,
    R0KH_ID, REFUSED_TEMPORARILY, RoamFrame, SAE_HASH_TO_ELEMENT, SUCCESS, Security,
    UNSUPPORTED_GROUP,
};
use lasthop_wifi::phy::{Band, ChannelWidth};
use lasthop_wifi::wire::action::{self, TransitionRequest};
use lasthop_wifi::wire::eapol::{self, Information, Kde};
use lasthop_wifi::wire::elements::{
    self, ChannelSwitch, Cipher, Elements, ExtendedCapabilities, FastTransition, KeyManagement,
    MobilityDomain, NeighborReport, RmEnabledCapabilities, Rsn, Subelement, Subelements, Suites,
    TimeoutInterval, WrappedGtk, WrappedIgtk,
};
use lasthop_wifi::wire::management::{
    self, AssociationRequest, AssociationResponse, Authentication, Beacon, SaeCommit, SaeConfirm,
};
use lasthop_wifi::wire::{QosControl, data, frame, llc};

/// Facts about a network, a station and their frames.
#[derive(Clone, Copy, Debug)]
pub(super) struct RoamContents<'a> {
    /// Network, channel and rates of the access point that the frame is to or from.
    pub info: &'a AirInfo,
    /// Facts that determine lengths.
    pub facts: JoinFacts,
    /// AID of the station, 1 to 2 007.
    pub aid: u16,
    /// Access point that the station leaves: the current AP address of a reassociation.
    pub current: MacAddr,
    /// Access point that the station changes to, by the distribution system or a transition.
    pub target: MacAddr,
    /// Other access points in a neighbor report or a transition request, with the numbers of their
    /// channels, by descending preference; as many as the facts say.
    pub neighbours: &'a [(MacAddr, u8)],
    /// Announcement of a new channel.
    pub switch: ChannelSwitch,
}

impl RoamContents<'_> {
    fn security(&self) -> Security {
        self.facts.security
    }

    /// Capability Information of both sides.
    fn capabilities(&self) -> u16 {
        let short_slots = match self.info.band {
            Band::Ghz2_4 => Beacon::SHORT_PREAMBLE | Beacon::SHORT_SLOT_TIME,
            Band::Ghz5 | Band::Ghz6 => 0,
        };
        let privacy = if self.security().is_robust() { Beacon::PRIVACY } else { 0 };
        let measurement = if self.facts.radio_measurement { Beacon::RADIO_MEASUREMENT } else { 0 };
        Beacon::ESS | short_slots | privacy | measurement
    }

    /// Appends Supported Rates and Extended Supported Rates.
    fn emit_rates(&self, out: &mut Vec<u8>) {
        let rates = rate_octets(self.info);
        let supported = &rates[..rates.len().min(SUPPORTED_RATES_MAX)];
        out.extend(octets(&[elements::Repr::SupportedRates(supported)]));
        self.emit_extended_rates(out);
    }

    fn emit_extended_rates(&self, out: &mut Vec<u8>) {
        let rates = rate_octets(self.info);
        if let Some(extended) = rates.get(SUPPORTED_RATES_MAX..).filter(|it| !it.is_empty()) {
            out.extend(octets(&[elements::Repr::ExtendedSupportedRates(extended)]));
        }
    }

    /// Appends RSN; with `name` a PMKID or the name of a PMK.
    fn emit_rsn(&self, name: bool, out: &mut Vec<u8>) {
        let management = match self.security() {
            Security::Open => return,
            Security::Psk => KeyManagement::Psk,
            Security::Sae => KeyManagement::Sae,
            Security::FtPsk => KeyManagement::FtPsk,
            Security::FtSae => KeyManagement::FtSae,
        };
        let is_protected = self.security().protects_management();
        let protection = Rsn::MANAGEMENT_PROTECTION_CAPABLE | Rsn::MANAGEMENT_PROTECTION_REQUIRED;
        let ccmp = Cipher::Ccmp128.suite();
        let (pairwise, akm) = (ccmp.to_bytes(), management.suite().to_bytes());
        let rsn = Rsn {
            version: Rsn::VERSION,
            group: Some(ccmp),
            pairwise: Some(Suites::new(&pairwise)),
            akms: Some(Suites::new(&akm)),
            capabilities: Some(if is_protected { protection } else { 0 }),
            pmkids: if name { &[0; 16] } else { &[] },
            group_management: is_protected.then_some(Cipher::BipCmac128.suite()),
        };
        rsn.emit(out).expect("it has one suite of each kind");
    }

    fn emit_domain(&self, out: &mut Vec<u8>) {
        let domain = u16::from_le_bytes(DOMAIN);
        MobilityDomain { domain, over_ds: true, resource_request: false }.emit(out);
    }

    /// Appends Fast BSS Transition between `station` and the access point `holder`.
    fn emit_transition(&self, parts: Transition, ends: Ends, out: &mut Vec<u8>) {
        let mut parameters = Vec::new();
        let mut emit = |id, data: &[u8]| {
            Subelement { id, data }.emit(&mut parameters).expect("it has at most 12 octets");
        };
        if parts.holder {
            emit(FastTransition::R1_KEY_HOLDER, &ends.access_point.0);
        }
        emit(FastTransition::R0_KEY_HOLDER, &key_holder(self.current));
        if parts.keys {
            let (length, key) = (16, &[0; 24]);
            WrappedGtk { id: 1, length, receive_sequence: [0; 8], key }
                .emit(&mut parameters)
                .expect("the key is short");
            if self.security().protects_management() {
                WrappedIgtk { id: 4, packet_number: [0; 6], length, key }
                    .emit(&mut parameters)
                    .expect("the key is short");
            }
        }
        let present = |is_present: bool, of| if is_present { nonce(of) } else { [0; 32] };
        let transition = FastTransition {
            rsnx_used: false,
            // RSN, Mobility Domain and this element.
            element_count: if parts.mic { 3 } else { 0 },
            mic: &[0; 16],
            anonce: present(parts.anonce, ends.access_point),
            snonce: present(parts.snonce, ends.station),
            parameters: Subelements::new(&parameters),
        };
        transition.emit(out).expect("it has at most 178 octets");
    }

    /// Appends the elements of an FT Authentication frame or FT Action frame.
    fn emit_transition_elements(&self, response: bool, ends: Ends, out: &mut Vec<u8>) {
        self.emit_rsn(true, out);
        self.emit_domain(out);
        let parts = Transition { holder: response, anonce: response, ..Transition::REQUEST };
        self.emit_transition(parts, ends, out);
    }

    fn emit_measurement(&self, out: &mut Vec<u8>) {
        if self.facts.radio_measurement {
            let bits = [RmEnabledCapabilities::NEIGHBOR_REPORT];
            RmEnabledCapabilities::with(&bits).emit(out);
        }
    }

    /// Appends HT, Extended Capabilities, VHT and HE, and in frames of association the elements that
    /// all networks have.
    fn emit_capabilities(&self, of: Of, out: &mut Vec<u8>) {
        let phy = Phy::new(self.info);
        let is_bss = of != Of::Request;
        if of == Of::Request {
            let classes = [phy.operating_class()].into_iter().chain(self.facts.operating_classes());
            let data: Vec<u8> = classes.collect();
            out.extend(octets(&[elements::Repr::Other {
                id: elements::id::SUPPORTED_OPERATING_CLASSES,
                data: &data,
            }]));
        }
        phy.emit_ht(is_bss, out);
        let transition = self.facts.bss_transition.then_some(ExtendedCapabilities::BSS_TRANSITION);
        let mut bits: Vec<usize> = transition.into_iter().collect();
        let mut emit = |octets: &[u8]| {
            ExtendedCapabilities(octets).emit(out).expect("it has ten octets at most");
        };
        match of {
            Of::Beacon if bits.is_empty() => {}
            Of::Beacon => emit(&ExtendedCapabilities::octets::<EXTENDED_CAPABILITIES>(&bits)),
            Of::Request => {
                let own =
                    [ExtendedCapabilities::OPERATING_MODE_NOTIFICATION, ExtendedCapabilities::FILS];
                bits.extend(own);
                emit(&ExtendedCapabilities::octets::<EXTENDED_CAPABILITIES_STATION>(&bits));
            }
            Of::Response => {
                bits.push(ExtendedCapabilities::OPERATING_MODE_NOTIFICATION);
                emit(&ExtendedCapabilities::octets::<EXTENDED_CAPABILITIES_ACCESS_POINT>(&bits));
            }
        }
        phy.emit_later(is_bss, out);
        if of == Of::Response {
            let [low, high] = MAX_IDLE_PERIOD.to_le_bytes();
            out.extend(octets(&[elements::Repr::Other {
                id: elements::id::BSS_MAX_IDLE_PERIOD,
                data: &[low, high, 0],
            }]));
        }
        if self.facts.qos && of != Of::Beacon {
            self.emit_wmm(of, out);
        }
    }

    /// Appends the WMM Information of a station, or the WMM Parameters of an access point, those that
    /// hostapd has without other settings.
    fn emit_wmm(&self, of: Of, out: &mut Vec<u8>) {
        let mut data = WMM.to_vec();
        data.push(u8::from(of == Of::Response));
        // Version, and no U-APSD.
        data.extend([1, 0]);
        if of == Of::Response {
            data.push(0);
            data.extend(WMM_ACCESS_CATEGORIES.as_flattened());
        }
        let expected = if of == Of::Response { WMM_PARAMETER } else { WMM_INFORMATION };
        debug_assert_eq!(2 + data.len(), expected);
        let wmm = elements::Repr::Other { id: elements::id::VENDOR_SPECIFIC, data: &data };
        out.extend(octets(&[wmm]));
    }

    /// Returns the elements of a beacon in the order of table 9-32, before the TIM and after it.
    #[cfg_attr(not(test), expect(dead_code, reason = "beacons do not name their security yet"))]
    pub fn beacon_elements(&self) -> [Vec<u8>; 2] {
        let [before, _] = beacon_elements(self.info, &DeviceElements::default());
        let mut behind = Vec::new();
        self.emit_extended_rates(&mut behind);
        self.emit_rsn(false, &mut behind);
        self.emit_measurement(&mut behind);
        if self.security().has_fast_transitions() {
            self.emit_domain(&mut behind);
        }
        self.emit_capabilities(Of::Beacon, &mut behind);
        [before, behind]
    }

    /// Elements of an Association or Reassociation Request (tables 9-34 and 9-36).
    fn request_elements(&self, again: bool, ends: Ends) -> Vec<u8> {
        let has_transitions = self.security().has_fast_transitions();
        let fast = again && self.facts.fast && has_transitions;
        let mut out = octets(&[elements::Repr::Ssid(ssid(self.info))]);
        self.emit_rates(&mut out);
        self.emit_rsn(fast || self.facts.cached, &mut out);
        self.emit_measurement(&mut out);
        if has_transitions {
            self.emit_domain(&mut out);
        }
        if fast {
            self.emit_transition(Transition::CONFIRM, ends, &mut out);
        }
        self.emit_capabilities(Of::Request, &mut out);
        out
    }

    /// Elements of an Association or Reassociation Response (tables 9-35 and 9-37).
    fn response_elements(&self, again: bool, status: u16, ends: Ends) -> Vec<u8> {
        let has_transitions = self.security().has_fast_transitions();
        let fast = again && self.facts.fast && has_transitions && status == SUCCESS;
        let mut out = Vec::new();
        self.emit_rates(&mut out);
        if fast {
            self.emit_rsn(true, &mut out);
        }
        self.emit_measurement(&mut out);
        if has_transitions && status == SUCCESS {
            self.emit_domain(&mut out);
            let parts = if fast {
                Transition { keys: true, ..Transition::CONFIRM }
            } else {
                Transition::FIRST
            };
            self.emit_transition(parts, ends, &mut out);
        }
        if status == REFUSED_TEMPORARILY {
            let (kind, value) = (TimeoutInterval::ASSOCIATION_COMEBACK, COMEBACK_TU);
            TimeoutInterval { kind, value }.emit(&mut out);
        }
        self.emit_capabilities(Of::Response, &mut out);
        out
    }

    /// Key Data of a message of the 4-way handshake; in message 3, which is encrypted, zeros.
    fn key_data(&self, message: u8, ends: Ends) -> Vec<u8> {
        let mut out = Vec::new();
        let emit = |kde: Kde<'_>, out: &mut Vec<u8>| kde.emit(out).expect("a key is short");
        if message == 1 {
            if self.security().is_sae() {
                emit(Kde::Pmkid([0; 16]), &mut out);
            }
            return out;
        }
        if message == 4 {
            return out;
        }
        let has_transitions = self.security().has_fast_transitions();
        let names_key = message == 2 && self.facts.cached;
        self.emit_rsn(has_transitions || names_key, &mut out);
        if has_transitions {
            self.emit_domain(&mut out);
        }
        if message == 3 {
            emit(Kde::Gtk { id: 1, key: &[0; 16] }, &mut out);
            if self.security().protects_management() {
                emit(Kde::Igtk { id: 4, packet_number: [0; 6], key: &[0; 16] }, &mut out);
            }
        }
        if has_transitions {
            self.emit_transition(Transition::FIRST, ends, &mut out);
        }
        if message == 3 {
            if has_transitions {
                for kind in [TimeoutInterval::REASSOCIATION_DEADLINE, TimeoutInterval::KEY_LIFETIME]
                {
                    TimeoutInterval { kind, value: 0 }.emit(&mut out);
                }
            }
            // AES key wrap: padding to a multiple of 8 octets, and 8 more.
            out = vec![0; out.len().next_multiple_of(8) + 8];
        }
        out
    }

    /// Neighbor Report elements; `is_ranked` adds preferences.
    fn neighbor_elements(&self, is_ranked: bool) -> Vec<u8> {
        let mut out = Vec::new();
        for (&(bssid, channel), preference) in self.neighbours.iter().zip((1..=u8::MAX).rev()) {
            let phy = Phy::new(self.info).on(channel);
            let mut subelements = Vec::new();
            let mut emit = |id, data: &[u8]| {
                Subelement { id, data }.emit(&mut subelements).expect("it has three octets");
            };
            if is_ranked {
                emit(NeighborReport::CANDIDATE_PREFERENCE, &[preference]);
            }
            let width = phy.width();
            let code = match width {
                ChannelWidth::Mhz20 => 0,
                ChannelWidth::Mhz40 => 1,
                ChannelWidth::Mhz80 => 2,
                // The subelement has nothing wider: an EHT operation is left out.
                ChannelWidth::Mhz160 | ChannelWidth::Mhz320 => 3,
            };
            emit(NeighborReport::WIDE_BANDWIDTH_CHANNEL, &[code, phy.centre(width), 0]);
            let bit = |is_set: bool, bit: u32| if is_set { bit } else { 0 };
            let information = NeighborReport::REACHABLE
                | NeighborReport::SAME_SECURITY
                | NeighborReport::SAME_KEY_SCOPE
                | bit(self.facts.qos, NeighborReport::QOS)
                | bit(self.facts.radio_measurement, NeighborReport::RADIO_MEASUREMENT)
                | bit(self.security().has_fast_transitions(), NeighborReport::MOBILITY_DOMAIN)
                | bit(phy.is_ht(), NeighborReport::HIGH_THROUGHPUT)
                | bit(phy.is_vht(), NeighborReport::VERY_HIGH_THROUGHPUT)
                | bit(phy.is_he(), NeighborReport::HIGH_EFFICIENCY);
            let report = NeighborReport {
                bssid,
                information,
                operating_class: phy.operating_class(),
                channel,
                phy: phy.number(),
                subelements: Subelements::new(&subelements),
            };
            report.emit(&mut out).expect("it has 21 octets");
        }
        out
    }
}

/// A frame with capabilities.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Of {
    Beacon,
    Request,
    Response,
}

/// The two ends of an exchange.
#[derive(Clone, Copy, Debug)]
struct Ends {
    access_point: MacAddr,
    station: MacAddr,
}

/// Parts of a Fast BSS Transition element that are present.
#[derive(Clone, Copy, Debug)]
struct Transition {
    mic: bool,
    anonce: bool,
    snonce: bool,
    /// R1KH-ID of the access point.
    holder: bool,
    keys: bool,
}

impl Transition {
    /// The first message of a transition.
    const REQUEST: Self =
        Self { mic: false, anonce: false, snonce: true, holder: false, keys: false };
    /// The reassociation of a transition.
    const CONFIRM: Self = Self { mic: true, anonce: true, snonce: true, holder: true, keys: false };
    /// The first association in a mobility domain, which has the holders of keys only.
    const FIRST: Self =
        Self { mic: false, anonce: false, snonce: false, holder: true, keys: false };
}

impl Link {
    /// Appends a frame of roaming with its FCS.
    pub(super) fn roam(&self, roam: RoamFrame, contents: &RoamContents<'_>, out: &mut Vec<u8>) {
        let ends = if self.from_access_point {
            Ends { access_point: self.transmitter, station: self.receiver }
        } else {
            Ends { access_point: self.receiver, station: self.transmitter }
        };
        let bytes = contents.variable(roam, ends);
        let elements = Elements::new(&bytes);
        let capabilities = contents.capabilities();
        let body = match roam {
            RoamFrame::Authentication { algorithm, sequence, status } => {
                let (algorithm, rest) = (algorithm.number(), &*bytes);
                let fields = Authentication { algorithm, sequence, status, rest };
                management::Body::Authentication(fields)
            }
            RoamFrame::AssociationRequest { again } => {
                let listen_interval = LISTEN_INTERVAL;
                let request = AssociationRequest { capabilities, listen_interval, elements };
                if again {
                    let current_ap = contents.current;
                    management::Body::ReassociationRequest { current_ap, request }
                } else {
                    management::Body::AssociationRequest(request)
                }
            }
            RoamFrame::AssociationResponse { again, status } => {
                let aid = if status == SUCCESS { contents.aid } else { 0 };
                let response = AssociationResponse { capabilities, status, aid, elements };
                if again {
                    management::Body::ReassociationResponse(response)
                } else {
                    management::Body::AssociationResponse(response)
                }
            }
            RoamFrame::Handshake { message } => {
                let msdu = handshake(message, contents.security(), ends, &bytes);
                // mac80211 gives EAPOL the highest user priority.
                let qos = QosControl { tid: 7, ..QosControl::default() };
                let addresses = self.addresses(self.receiver, self.transmitter);
                let header = self.header(addresses, contents.facts.qos.then_some(qos));
                let data = data::Repr { body: Some(&msdu), ..header };
                frame::Repr::Data(data).emit_mpdu(out);
                return;
            }
            RoamFrame::Deauthentication { reason } => {
                management::Body::Deauthentication { reason, elements }
            }
            RoamFrame::Disassociation { reason } => {
                management::Body::Disassociation { reason, elements }
            }
            RoamFrame::NeighborReportRequest => {
                let dialog_token = DIALOG_TOKEN;
                let request = action::Repr::NeighborReportRequest { dialog_token, elements };
                management::Body::Action(request)
            }
            RoamFrame::NeighborReportResponse => {
                let dialog_token = DIALOG_TOKEN;
                let response = action::Repr::NeighborReportResponse { dialog_token, elements };
                management::Body::Action(response)
            }
            RoamFrame::TransitionQuery => management::Body::Action(action::Repr::TransitionQuery {
                dialog_token: DIALOG_TOKEN,
                reason: LOW_RSSI,
                candidates: elements,
            }),
            RoamFrame::TransitionRequest { removal } => {
                let listed = if bytes.is_empty() { 0 } else { TransitionRequest::CANDIDATES };
                let removed = match removal {
                    0 => 0,
                    _ => TransitionRequest::DISASSOCIATION_IMMINENT,
                };
                // hostapd of OpenWrt takes the time until the removal.
                let validity_interval =
                    u8::try_from(removal).ok().filter(|it| *it > 0).unwrap_or(u8::MAX);
                let request = TransitionRequest {
                    dialog_token: DIALOG_TOKEN,
                    mode: listed | removed,
                    disassociation_timer: removal,
                    validity_interval,
                    termination: None,
                    url: None,
                    candidates: elements,
                };
                management::Body::Action(action::Repr::TransitionRequest(request))
            }
            RoamFrame::TransitionResponse { status } => {
                management::Body::Action(action::Repr::TransitionResponse {
                    dialog_token: DIALOG_TOKEN,
                    status,
                    termination_delay_min: 0,
                    target: (status == 0).then_some(contents.target),
                    candidates: elements,
                })
            }
            RoamFrame::FtRequest => {
                let (station, target) = (ends.station, contents.target);
                management::Body::Action(action::Repr::FtRequest { station, target, elements })
            }
            RoamFrame::FtResponse { status } => {
                let (station, target) = (ends.station, contents.target);
                let response = action::Repr::FtResponse { station, target, status, elements };
                management::Body::Action(response)
            }
            RoamFrame::ChannelSwitch => {
                management::Body::Action(action::Repr::ChannelSwitch { elements })
            }
        };
        self.management(body).emit_mpdu(out);
    }
}

impl RoamContents<'_> {
    /// Returns the bytes of a frame after its fixed fields.
    fn variable(&self, roam: RoamFrame, ends: Ends) -> Vec<u8> {
        let mut out = Vec::new();
        match roam {
            RoamFrame::Authentication { algorithm, sequence, status } => match algorithm {
                AuthenticationAlgorithm::Open => {}
                AuthenticationAlgorithm::SaeCommit => emit_commit(status, &mut out),
                AuthenticationAlgorithm::SaeConfirm if status == SUCCESS => {
                    let confirm = &[0; SaeConfirm::CONFIRM_LEN];
                    SaeConfirm { send_confirm: 1, confirm }.emit(&mut out);
                }
                AuthenticationAlgorithm::Ft if status == SUCCESS => {
                    self.emit_transition_elements(sequence == 2, ends, &mut out);
                }
                AuthenticationAlgorithm::SaeConfirm | AuthenticationAlgorithm::Ft => {}
            },
            RoamFrame::AssociationRequest { again } => return self.request_elements(again, ends),
            RoamFrame::AssociationResponse { again, status } => {
                return self.response_elements(again, status, ends);
            }
            RoamFrame::Handshake { message } => return self.key_data(message, ends),
            RoamFrame::NeighborReportResponse => return self.neighbor_elements(false),
            RoamFrame::TransitionRequest { .. } => return self.neighbor_elements(true),
            RoamFrame::FtRequest => {
                let ends = Ends { access_point: self.target, ..ends };
                self.emit_transition_elements(false, ends, &mut out);
            }
            RoamFrame::FtResponse { status: SUCCESS } => {
                let ends = Ends { access_point: self.target, ..ends };
                self.emit_transition_elements(true, ends, &mut out);
            }
            RoamFrame::ChannelSwitch => self.switch.emit(&mut out),
            RoamFrame::Deauthentication { .. }
            | RoamFrame::Disassociation { .. }
            | RoamFrame::NeighborReportRequest
            | RoamFrame::TransitionQuery
            | RoamFrame::TransitionResponse { .. }
            | RoamFrame::FtResponse { .. } => {}
        }
        out
    }
}

/// Appends the fields of a commit message of SAE, or of its refusal.
fn emit_commit(status: u16, out: &mut Vec<u8>) {
    let refusal = SaeCommit {
        group: GROUP,
        token: &[],
        scalar: &[],
        element: &[],
        elements: Elements::default(),
    };
    match status {
        SUCCESS | SAE_HASH_TO_ELEMENT => {
            let scalar = &[0; SaeCommit::SCALAR_LEN];
            let element = &[0; SaeCommit::ELEMENT_LEN];
            SaeCommit { scalar, element, ..refusal }.emit(out);
        }
        ANTI_CLOGGING_TOKEN_REQUIRED => SaeCommit { token: &[0; 32], ..refusal }.emit(out),
        UNSUPPORTED_GROUP => refusal.emit(out),
        _ => {}
    }
}

/// Returns the MSDU of a message of the 4-way handshake.
fn handshake(message: u8, security: Security, ends: Ends, key_data: &[u8]) -> Vec<u8> {
    // SAE defines the MIC itself, fast transitions have AES-CMAC, WPA2 HMAC-SHA-1.
    let version = match security {
        Security::Sae | Security::FtSae => 0,
        Security::FtPsk => 3,
        Security::Psk | Security::Open => 2,
    };
    let is_first = message <= 2;
    let is_asked = message % 2 == 1;
    let eapol = eapol::Repr {
        information: Information::of_message(message, version).unwrap_or(Information(0)),
        key_length: if is_asked { 16 } else { 0 },
        replay_counter: if is_first { 1 } else { 2 },
        nonce: match message {
            1 | 3 => nonce(ends.access_point),
            2 => nonce(ends.station),
            _ => [0; 32],
        },
        key_data,
        ..eapol::Repr::default()
    };
    let mut msdu = Vec::with_capacity(llc::LEN + eapol.buffer_len());
    llc::Repr::new(eapol::ETHERTYPE).emit(&mut msdu);
    eapol.emit(&mut msdu).expect("the key data is short");
    msdu
}

/// A made-up nonce: the address of its sender, repeated.
fn nonce(of: MacAddr) -> [u8; 32] {
    core::array::from_fn(|at| of.0[at % 6])
}

/// R0KH-ID of an access point: its address in hexadecimal digits.
fn key_holder(access_point: MacAddr) -> [u8; R0KH_ID] {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    core::array::from_fn(|at| {
        let octet = access_point.0[at / 2];
        let digit = if at % 2 == 0 { octet >> 4 } else { octet & 15 };
        DIGITS[usize::from(digit)]
    })
}

/// Elliptic curve P-256.
const GROUP: u16 = 19;
/// OUI and type of WMM elements.
const WMM: [u8; 4] = [0x00, 0x50, 0xf2, 2];
/// ACI and AIFSN, ECWmin and ECWmax, TXOP limit of best effort, background, video and voice (hostapd:
/// `hostapd_config_defaults`).
const WMM_ACCESS_CATEGORIES: [[u8; 4]; 4] =
    [[0x03, 0xa4, 0, 0], [0x27, 0xa4, 0, 0], [0x42, 0x43, 94, 0], [0x62, 0x32, 47, 0]];
/// Idle time after which hostapd removes a station, in units of 1 000 TU: 300 s
/// (`AP_MAX_INACTIVITY`).
const MAX_IDLE_PERIOD: u16 = 292;
/// Made-up mobility domain.
const DOMAIN: [u8; 2] = *b"lh";
/// Listen interval of mac80211's drivers without another.
const LISTEN_INTERVAL: u16 = 5;
/// Association comeback time of hostapd when its SA Query begins.
const COMEBACK_TU: u32 = 1_000;
/// BSS Transition Query Reason: low RSSI.
const LOW_RSSI: u8 = 16;

#[cfg(test)]
mod tests;

//! The Frame Control field (IEEE 802.11-2020, 9.2.4.1): type, subtype and flags.
//!
//! Type and subtype form one [`Kind`]; kinds that have no name here survive as [`Kind::Other`].
//! Only protocol version 0 is supported.

/// Kind of a frame: type and subtype (table 9-1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Association Request (9.3.3.5).
    AssociationRequest,
    /// Association Response (9.3.3.6).
    AssociationResponse,
    /// Reassociation Request (9.3.3.7).
    ReassociationRequest,
    /// Reassociation Response (9.3.3.8).
    ReassociationResponse,
    /// Probe Request (9.3.3.9).
    ProbeRequest,
    /// Probe Response (9.3.3.10).
    ProbeResponse,
    /// Beacon of an access point (9.3.3.2).
    Beacon,
    /// Disassociation frame (9.3.3.4).
    Disassociation,
    /// Authentication frame (9.3.3.11).
    Authentication,
    /// Deauthentication frame (9.3.3.12).
    Deauthentication,
    /// Action frame (9.3.3.13).
    Action,
    /// Action No Ack.
    ActionNoAck,
    /// Trigger, which asks several stations to send at once (9.3.1.22).
    Trigger,
    /// Beamforming Report Poll (9.3.1.20).
    BeamformingReportPoll,
    /// VHT, HE, ranging or EHT NDP Announcement (9.3.1.19).
    NdpAnnouncement,
    /// Control Wrapper: another control frame with an HT Control field (9.3.1.9).
    ControlWrapper,
    /// Block Ack Request.
    BlockAckRequest,
    /// Block Ack (9.3.1.8).
    BlockAck,
    /// PS-Poll of a station (9.3.1.5).
    PsPoll,
    /// Request to send.
    Rts,
    /// Clear to send.
    Cts,
    /// Ack of a frame (9.3.1.4).
    Ack,
    /// CF-End, at the end of a TXOP or contention-free period (9.3.1.6).
    CfEnd,
    /// CF-End with CF-Ack (9.3.1.6 in editions up to 2016).
    CfEndAck,
    /// Data without QoS Control (9.3.2.1).
    Data,
    /// Null (no data).
    Null,
    /// Data with QoS Control (9.3.2.1).
    QosData,
    /// QoS Null (no data).
    QosNull,
    /// Any other type and subtype.
    Other {
        /// Type, 0 to 3.
        kind: u8,
        /// Subtype, 0 to 15.
        subtype: u8,
    },
}

impl Kind {
    /// Type 0: management frames.
    pub const MANAGEMENT: u8 = 0;
    /// Type 1: control frames.
    pub const CONTROL: u8 = 1;
    /// Type 2: data frames.
    pub const DATA: u8 = 2;

    /// Returns the kind of a type (two bits) and a subtype (four bits); higher bits are ignored.
    pub const fn from_type_subtype(kind: u8, subtype: u8) -> Self {
        match (kind & 3, subtype & 15) {
            (0, 0) => Self::AssociationRequest,
            (0, 1) => Self::AssociationResponse,
            (0, 2) => Self::ReassociationRequest,
            (0, 3) => Self::ReassociationResponse,
            (0, 4) => Self::ProbeRequest,
            (0, 5) => Self::ProbeResponse,
            (0, 8) => Self::Beacon,
            (0, 10) => Self::Disassociation,
            (0, 11) => Self::Authentication,
            (0, 12) => Self::Deauthentication,
            (0, 13) => Self::Action,
            (0, 14) => Self::ActionNoAck,
            (1, 2) => Self::Trigger,
            (1, 4) => Self::BeamformingReportPoll,
            (1, 5) => Self::NdpAnnouncement,
            (1, 7) => Self::ControlWrapper,
            (1, 8) => Self::BlockAckRequest,
            (1, 9) => Self::BlockAck,
            (1, 10) => Self::PsPoll,
            (1, 11) => Self::Rts,
            (1, 12) => Self::Cts,
            (1, 13) => Self::Ack,
            (1, 14) => Self::CfEnd,
            (1, 15) => Self::CfEndAck,
            (2, 0) => Self::Data,
            (2, 4) => Self::Null,
            (2, 8) => Self::QosData,
            (2, 12) => Self::QosNull,
            (kind, subtype) => Self::Other { kind, subtype },
        }
    }

    /// Type and subtype.
    pub const fn type_subtype(self) -> (u8, u8) {
        match self {
            Self::AssociationRequest => (0, 0),
            Self::AssociationResponse => (0, 1),
            Self::ReassociationRequest => (0, 2),
            Self::ReassociationResponse => (0, 3),
            Self::ProbeRequest => (0, 4),
            Self::ProbeResponse => (0, 5),
            Self::Beacon => (0, 8),
            Self::Disassociation => (0, 10),
            Self::Authentication => (0, 11),
            Self::Deauthentication => (0, 12),
            Self::Action => (0, 13),
            Self::ActionNoAck => (0, 14),
            Self::Trigger => (1, 2),
            Self::BeamformingReportPoll => (1, 4),
            Self::NdpAnnouncement => (1, 5),
            Self::ControlWrapper => (1, 7),
            Self::BlockAckRequest => (1, 8),
            Self::BlockAck => (1, 9),
            Self::PsPoll => (1, 10),
            Self::Rts => (1, 11),
            Self::Cts => (1, 12),
            Self::Ack => (1, 13),
            Self::CfEnd => (1, 14),
            Self::CfEndAck => (1, 15),
            Self::Data => (2, 0),
            Self::Null => (2, 4),
            Self::QosData => (2, 8),
            Self::QosNull => (2, 12),
            Self::Other { kind, subtype } => (kind & 3, subtype & 15),
        }
    }

    /// Whether the frame is of type Management.
    #[inline]
    pub const fn is_management(self) -> bool {
        match self {
            Self::AssociationRequest
            | Self::AssociationResponse
            | Self::ReassociationRequest
            | Self::ReassociationResponse
            | Self::ProbeRequest
            | Self::ProbeResponse
            | Self::Beacon
            | Self::Disassociation
            | Self::Authentication
            | Self::Deauthentication
            | Self::Action
            | Self::ActionNoAck => true,
            Self::Other { kind, .. } => kind & 3 == Self::MANAGEMENT,
            _ => false,
        }
    }

    /// Whether the frame is of type Control.
    #[inline]
    pub const fn is_control(self) -> bool {
        match self {
            Self::Other { kind, .. } => kind & 3 == Self::CONTROL,
            _ => !self.is_management() && !self.is_data(),
        }
    }

    /// Whether the frame is of type Data, Null frames included.
    #[inline]
    pub const fn is_data(self) -> bool {
        match self {
            Self::Data | Self::Null | Self::QosData | Self::QosNull => true,
            Self::Other { kind, .. } => kind & 3 == Self::DATA,
            _ => false,
        }
    }

    /// Whether this is a data frame with a QoS Control field (bit 3 of the subtype).
    #[inline]
    pub const fn has_qos_control(self) -> bool {
        match self {
            Self::QosData | Self::QosNull => true,
            Self::Other { kind, subtype } => kind & 3 == Self::DATA && subtype & 8 != 0,
            _ => false,
        }
    }

    /// Name of the layer in an [`Error`](super::Error).
    pub const fn name(self) -> &'static str {
        match self {
            Self::AssociationRequest => "association request",
            Self::AssociationResponse => "association response",
            Self::ReassociationRequest => "reassociation request",
            Self::ReassociationResponse => "reassociation response",
            Self::ProbeRequest => "probe request",
            Self::ProbeResponse => "probe response",
            Self::Beacon => "beacon",
            Self::Disassociation => "disassociation",
            Self::Authentication => "authentication",
            Self::Deauthentication => "deauthentication",
            Self::Action => "action",
            Self::ActionNoAck => "action no ack",
            Self::Trigger => "trigger",
            Self::BeamformingReportPoll => "beamforming report poll",
            Self::NdpAnnouncement => "NDP announcement",
            Self::ControlWrapper => "control wrapper",
            Self::BlockAckRequest => "block ack request",
            Self::BlockAck => "block ack",
            Self::PsPoll => "PS-Poll",
            Self::Rts => "RTS",
            Self::Cts => "CTS",
            Self::Ack => "ack",
            Self::CfEnd => "CF-End",
            Self::CfEndAck => "CF-End with CF-Ack",
            Self::Data => "data",
            Self::Null => "null",
            Self::QosData => "QoS data",
            Self::QosNull => "QoS null",
            Self::Other { kind: 0, .. } => "management frame",
            Self::Other { kind: 1, .. } => "control frame",
            Self::Other { kind: 2, .. } => "data frame",
            Self::Other { .. } => "extension frame",
        }
    }
}

/// Flags that any frame may carry, except those that follow from the rest of the frame (the DS bits
/// and +HTC).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Flags {
    /// Whether another fragment of this MSDU follows.
    pub more_fragments: bool,
    /// Retry bit: whether the frame was sent before.
    pub retry: bool,
    /// Power Management bit: whether the sender is in power save mode after this exchange.
    pub power_management: bool,
    /// More Data bit: whether the access point holds more frames for this station.
    pub more_data: bool,
    /// Whether the body is encrypted.
    pub protected: bool,
}

/// The whole field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameControl {
    /// Type and subtype.
    pub kind: Kind,
    /// To DS bit: whether the frame goes to the distribution system.
    pub to_ds: bool,
    /// From DS bit: whether the frame comes from the distribution system.
    pub from_ds: bool,
    /// The flags of any frame.
    pub flags: Flags,
    /// +HTC bit of QoS data and management frames: whether an HT Control field is present.
    pub htc: bool,
}

impl FrameControl {
    /// Returns a field with neither DS bit nor +HTC.
    pub const fn new(kind: Kind, flags: Flags) -> Self {
        Self { kind, to_ds: false, from_ds: false, flags, htc: false }
    }

    /// Returns the field of the two octets as a little-endian number. The protocol version (bits 0
    /// and 1) is ignored; [`frame::View`](super::frame::View) checks it.
    #[inline]
    pub const fn from_bits(bits: u16) -> Self {
        Self {
            kind: Kind::from_type_subtype((bits >> 2) as u8, (bits >> 4) as u8),
            to_ds: bits & 1 << 8 != 0,
            from_ds: bits & 1 << 9 != 0,
            flags: Flags {
                more_fragments: bits & 1 << 10 != 0,
                retry: bits & 1 << 11 != 0,
                power_management: bits & 1 << 12 != 0,
                more_data: bits & 1 << 13 != 0,
                protected: bits & 1 << 14 != 0,
            },
            htc: bits & 1 << 15 != 0,
        }
    }

    /// The two octets as a little-endian number, protocol version 0.
    pub const fn bits(self) -> u16 {
        let (kind, subtype) = self.kind.type_subtype();
        (kind as u16) << 2
            | (subtype as u16) << 4
            | (self.to_ds as u16) << 8
            | (self.from_ds as u16) << 9
            | (self.flags.more_fragments as u16) << 10
            | (self.flags.retry as u16) << 11
            | (self.flags.power_management as u16) << 12
            | (self.flags.more_data as u16) << 13
            | (self.flags.protected as u16) << 14
            | (self.htc as u16) << 15
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_version_0_field_survives() {
        for bits in (0..=u16::MAX).filter(|bits| bits & 3 == 0) {
            assert_eq!(FrameControl::from_bits(bits).bits(), bits);
        }
    }

    #[test]
    fn what_is_asked_of_a_kind_is_in_its_bits() {
        for (kind, subtype) in (0..4).flat_map(|kind| (0..16).map(move |subtype| (kind, subtype))) {
            let it = Kind::from_type_subtype(kind, subtype);
            let types = [it.is_management(), it.is_control(), it.is_data()];
            assert_eq!(types, [0, 1, 2].map(|number| number == kind), "{it:?}");
            assert_eq!(it.has_qos_control(), kind == 2 && subtype & 8 != 0, "{it:?}");
        }
    }
}

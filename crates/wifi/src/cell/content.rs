//! A frame exchange and what it is about: data, a Block Ack Request, a management frame or
//! a beacon (IEEE 802.11-2020, 10.23.2). Lengths are in bytes, FCS included.

use super::operating_mode::OperatingMode;
use crate::air::Expected;
use crate::phy::Rate;
use crate::station::{Address, StationId};
use lasthop_units::{Duration, Instant, SeqNo12};

/// A management frame that waits to be sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Management {
    pub peer: StationId,
    pub action: Action,
    pub attempts: u8,
    pub sequence: SeqNo12,
}

/// What such a frame is: a Block Ack action, a probe, a notification, and, although they are
/// data and control frames by their type, Null and PS-Poll.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Action {
    AddbaRequest {
        window: u16,
        start: SeqNo12,
    },
    AddbaResponse {
        window: u16,
    },
    Null {
        power_management: bool,
    },
    PsPoll,
    /// QoS Null of a station in power save mode: it begins a service period.
    Trigger,
    /// QoS Null of an access point: it ends one.
    EndOfServicePeriod,
    ProbeRequest,
    ProbeResponse,
    /// How the station operates from now on.
    OperatingMode(OperatingMode),
}

impl Action {
    /// Sent whatever the gate, and to stations that doze, too; at a station outdated when it leaves.
    pub fn is_about_absence(self) -> bool {
        !matches!(
            self,
            Self::AddbaRequest { .. } | Self::AddbaResponse { .. } | Self::OperatingMode(_)
        )
    }
}

/// A frame exchange in progress.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Exchange {
    pub edcaf: usize,
    pub peer: Address,
    pub content: Content,
    pub rate: Rate,
    pub psdu_bytes: u32,
    /// Air time of the payload PPDU.
    pub duration: Duration,
    pub response: Option<Expected>,
    /// RTS was sent, CTS is awaited.
    pub requesting: bool,
    /// End of the transmission opportunity; its start if one exchange is all.
    pub opportunity_end: Instant,
    /// The payload overlapped with another PPDU at its receiver.
    pub collided: bool,
    /// Its frame ends a service period (EOSP).
    pub ends_service: bool,
    /// Its More Data bit as it leaves, while some service period goes on.
    pub more_data: Option<bool>,
    /// Sent with MU-MIMO: what became of it says nothing to rate control.
    pub in_space: bool,
}

/// What an exchange is about.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Content {
    /// The first `mpdus` of the originator's pending ones.
    Data {
        mpdus: usize,
        aggregated: bool,
    },
    BlockAckRequest {
        start: SeqNo12,
    },
    Management(Management),
    Beacon,
    /// An access point's uplink exchange: Trigger frames, and what they bring.
    Uplink,
    /// An access point sounds its stations' channels.
    Sounding,
    /// A station's QoS Null frames that answer a Trigger frame.
    BufferReport,
}

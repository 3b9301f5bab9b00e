//! A frame exchange and its content: data, a Block Ack Request, a management frame or a beacon
//! (IEEE 802.11-2020, 10.23.2). Lengths are in bytes, FCS included.

use super::operating_mode::OperatingMode;
use crate::air::Expected;
use crate::phy::Rate;
use crate::station::{Address, StationId};
use lasthop_units::{Duration, Instant, SeqNo12};

/// A management frame in the queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Management {
    pub peer: StationId,
    pub action: Action,
    pub attempts: u8,
    pub sequence: SeqNo12,
}

/// Kind of such a frame: a Block Ack action, a probe, a notification. Null and PS-Poll are among
/// them, although they are data and control frames by type.
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
    /// QoS Null of a station in power save mode, which begins a service period.
    Trigger,
    /// QoS Null of an access point, which ends a service period.
    EndOfServicePeriod,
    ProbeRequest,
    ProbeResponse,
    /// Notification of the station's new operating mode.
    OperatingMode(OperatingMode),
}

impl Action {
    /// Whether the frame is sent at any gate, even to dozing stations; a station drops such frames
    /// when it leaves.
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
    /// Whether the RTS was sent and the CTS is awaited.
    pub requesting: bool,
    /// End of the transmission opportunity; its start if the opportunity permits one exchange.
    pub opportunity_end: Instant,
    /// Whether the payload overlapped with another PPDU at its receiver.
    pub collided: bool,
    /// Whether the frame ends a service period (EOSP).
    pub ends_service: bool,
    /// More Data bit of the frame as it leaves, during a service period.
    pub more_data: Option<bool>,
    /// Whether it is sent with MU-MIMO; rate control ignores the outcome then.
    pub in_space: bool,
}

/// Content of an exchange.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Content {
    /// The originator's first `mpdus` pending MPDUs.
    Data {
        mpdus: usize,
        aggregated: bool,
    },
    BlockAckRequest {
        start: SeqNo12,
    },
    Management(Management),
    Beacon,
    /// Uplink exchange of an access point: Trigger frames, and the solicited PPDUs.
    Uplink,
    /// Sounding of the stations' channels by an access point.
    Sounding,
    /// QoS Null frames of a station that answer a Trigger frame.
    BufferReport,
}

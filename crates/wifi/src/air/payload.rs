//! Content of PPDUs with one receiver or group: data, a Block Ack Request, a management frame or a
//! beacon (IEEE 802.11-2020, 10.23.2). The MPDUs themselves stay with their sender until they are
//! settled; a PSDU says how many of them it carries.

use super::{Expected, Flight, Subframes};
use crate::mac::roam::frame::RoamFrame;
use crate::phy::{Band, OperatingMode};
use crate::station::StationId;
use lasthop_units::{Duration, SeqNo12};

/// The PSDU of a PPDU with one receiver or group, as its receiver reads it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Payload {
    /// Index of the sender's EDCAF: the access category.
    pub edcaf: usize,
    pub content: Content,
    /// Response that the frame asks for.
    pub response: Option<Expected>,
    /// Minimum time between the starts of MPDUs.
    pub spacing: Duration,
    /// Whether the frame ends a service period (EOSP).
    pub ends_service: bool,
    /// More Data bit of the frame as it leaves, during a service period.
    pub more_data: Option<bool>,
}

impl Payload {
    /// Number of MPDUs of data.
    pub const fn mpdus(&self) -> usize {
        if let Content::Data { mpdus, .. } = self.content { mpdus } else { 0 }
    }

    /// The subframes of a payload that `flight` carries; `None` if it is not an A-MPDU.
    pub fn subframes(&self, flight: &Flight, band: Band) -> Option<Subframes> {
        let Content::Data { mpdus, aggregated: true } = self.content else { return None };
        Some(Subframes::new(flight, mpdus, self.spacing, band))
    }
}

/// Content of a PPDU to one receiver or group.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Content {
    /// The first `mpdus` pending MPDUs of the sender's originator.
    Data {
        mpdus: usize,
        aggregated: bool,
    },
    BlockAckRequest {
        start: SeqNo12,
    },
    Management(Management),
    Beacon,
}

/// A management frame in the queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Management {
    pub peer: StationId,
    pub action: Action,
    pub attempts: u8,
    pub sequence: SeqNo12,
}

/// Kind of such a frame: a Block Ack action, a probe, a notification. Null and PS-Poll are among
/// them, although they are data and control frames by type.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Action {
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
    /// A frame of a station that joins an access point, or its answer.
    Roam {
        frame: RoamFrame,
        octets: u16,
    },
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

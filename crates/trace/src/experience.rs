//! Flows whose quality is measured as a person notices it: their kinds, and the measurement during a
//! run. The summary of each kind is in its file.

use crate::deadline::DeadlineTally;
use crate::stream::StreamTally;
use crate::web::WebTally;
use lasthop_hosts::playout::Playout;
use lasthop_hosts::{CallConfig, Page, StreamEvent};
use lasthop_packet::Packet;
use lasthop_units::{Duration, Instant};

/// Kinds of such flows, with their properties.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExperienceKind {
    /// One direction of a call.
    Call(CallConfig),
    /// Web pages for a reader.
    Web,
    /// A film for a viewer.
    Stream,
    /// Packets that are late after this one-way delay.
    Deadline(Duration),
}

/// The measurement of such a flow.
#[derive(Debug)]
pub(crate) enum Experience {
    /// One direction of a call, played from a jitter buffer.
    Call(CallConfig, Playout),
    /// Pages of a reader.
    Web(WebTally),
    /// A film of a viewer.
    Stream(StreamTally),
    /// Packets with a deadline.
    Deadline(DeadlineTally),
}

impl Experience {
    /// Returns the measurement in the time from `from` to `until`.
    pub(crate) fn new(kind: ExperienceKind, from: Instant, until: Instant) -> Self {
        match kind {
            ExperienceKind::Call(call) => Self::Call(call, Playout::new(&call, from)),
            ExperienceKind::Web => Self::Web(WebTally::new(from, until)),
            ExperienceKind::Stream => Self::Stream(StreamTally::new(from, until)),
            ExperienceKind::Deadline(deadline) => {
                Self::Deadline(DeadlineTally::new(deadline, from, until))
            }
        }
    }

    /// Notes that the flow's next packet left.
    pub(crate) fn sent(&mut self, now: Instant) {
        match self {
            Self::Call(_, playout) => playout.handle_sent(now),
            Self::Deadline(packets) => packets.sent(now),
            Self::Web(_) | Self::Stream(_) => {}
        }
    }

    /// Handles a packet that arrived.
    pub(crate) fn arrived(&mut self, now: Instant, packet: &Packet) {
        match self {
            Self::Call(_, playout) => playout.handle_arrival(now, packet.tag, packet.created),
            Self::Deadline(packets) => packets.arrived(now, packet),
            Self::Web(_) | Self::Stream(_) => {}
        }
    }

    /// Notes a page that was loaded, or that the end of the run interrupted.
    pub(crate) fn page(&mut self, page: &Page) {
        match self {
            Self::Web(web) => web.add(page),
            Self::Call(..) | Self::Stream(_) | Self::Deadline(_) => {}
        }
    }

    /// Notes what the viewer of a film notices.
    pub(crate) fn stream(&mut self, now: Instant, event: &StreamEvent) {
        match self {
            Self::Stream(stream) => stream.add(now, event),
            Self::Call(..) | Self::Web(_) | Self::Deadline(_) => {}
        }
    }
}

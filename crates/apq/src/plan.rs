//! The plan of a phase: the packets that one host sends to the other, as streams of
//! constant rate and packet length, each with a start and an end. Times count from
//! the start of the phase, lengths are in bytes of IP packets. Leaves out variable
//! rates.

use crate::SocketId;
use alloc::vec::Vec;
use lasthop_units::Duration;

/// The direction of the packets, as seen by the host that measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    /// From the server to the client.
    Down,
    /// From the client to the server.
    Up,
}

/// The two flows of a session, which have different ports at the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StreamKind {
    /// The baseline flow: few packets, throughout the phase.
    Sparse,
    /// The saturation flow.
    Bulk,
}

impl StreamKind {
    /// Both kinds of flow.
    pub const ALL: [Self; 2] = [Self::Sparse, Self::Bulk];

    /// The client's socket that the flow uses.
    pub const fn socket(self) -> SocketId {
        match self {
            Self::Sparse => SocketId::Control,
            Self::Bulk => SocketId::Bulk,
        }
    }

    /// The index of the flow, 0 or 1.
    pub const fn index(self) -> usize {
        self as usize
    }
}

/// Packets of one length at a constant rate. The first is sent at `begin`, none at
/// or after `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamPlan {
    /// The flow to which they belong.
    pub kind: StreamKind,
    /// Length of the IP packets, 100 to 9 000 bytes.
    pub packet_bytes: u16,
    /// Time between packets, above zero.
    pub interval: Duration,
    /// Time at which the first packet is sent.
    pub begin: Duration,
    /// No packet is sent at or after this time.
    pub end: Duration,
}

impl StreamPlan {
    /// Number of packets of the stream.
    pub fn packets(&self) -> u64 {
        self.end.saturating_sub(self.begin).as_nanos().div_ceil(self.interval.as_nanos().max(1))
    }

    /// Rate in bits per second, IP headers included, rounded up.
    pub fn rate_bps(&self) -> u64 {
        let bits = u64::from(self.packet_bytes) * 8 * 1_000_000_000;
        bits.div_ceil(self.interval.as_nanos().max(1))
    }

    /// Returns the time at which packet `index` is sent.
    pub fn departure(&self, index: u64) -> Duration {
        self.begin + self.interval * index
    }
}

/// The plan of one phase. Sequence numbers of a kind continue from one stream to
/// the next, in the order of the list; streams of one kind must not overlap and are
/// in the order of their starts.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct PhasePlan {
    /// The streams, at most [`STREAMS_MAX`].
    pub streams: Vec<StreamPlan>,
}

/// Largest number of streams in a phase.
pub const STREAMS_MAX: usize = 32;

impl PhasePlan {
    /// Time from the start until the end of the last stream.
    pub fn duration(&self) -> Duration {
        self.streams.iter().map(|stream| stream.end).max().unwrap_or(Duration::ZERO)
    }

    /// Number of packets of all streams.
    pub fn packets(&self) -> u64 {
        self.streams.iter().map(StreamPlan::packets).sum()
    }

    /// Bytes of all streams, IP headers included.
    pub fn bytes(&self) -> u64 {
        self.streams.iter().map(|stream| stream.packets() * u64::from(stream.packet_bytes)).sum()
    }

    /// The stream of `kind` with the packet numbered `sequence`, and the packet's
    /// index in it.
    pub fn locate(&self, kind: StreamKind, sequence: u32) -> Option<(usize, u64)> {
        let mut first = 0;
        for (index, stream) in self.streams.iter().enumerate().filter(|(_, s)| s.kind == kind) {
            let within = u64::from(sequence) - first;
            if within < stream.packets() {
                return Some((index, within));
            }
            first += stream.packets();
        }
        None
    }
}

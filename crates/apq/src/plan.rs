//! What one host sends to the other during one phase: constant-rate streams of
//! packets of one length, each from a beginning to an end. Times count from the
//! start of the phase.

use crate::SocketId;
use alloc::vec::Vec;
use lasthop_units::Duration;

/// Which way the packets go, as the host that measures sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    /// From the far host to the one that measures.
    Down,
    /// From the host that measures to the far one.
    Up,
}

/// The two flows of a session. They have ports of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StreamKind {
    /// The baseline flow: few packets, all the time.
    Sparse,
    /// The saturation flow.
    Bulk,
}

impl StreamKind {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Sparse, Self::Bulk];

    /// The client's socket that it passes.
    pub const fn socket(self) -> SocketId {
        match self {
            Self::Sparse => SocketId::Control,
            Self::Bulk => SocketId::Bulk,
        }
    }

    /// 0 or 1.
    pub const fn index(self) -> usize {
        self as usize
    }
}

/// Packets of one length at a constant rate. The first leaves at `begin`, none
/// at or after `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamPlan {
    /// Which flow they belong to.
    pub kind: StreamKind,
    /// Length of the IP packets, 100 to 9 000 bytes.
    pub packet_bytes: u16,
    /// From one packet to the next, above zero.
    pub interval: Duration,
    /// When the first leaves.
    pub begin: Duration,
    /// None leaves then or later.
    pub end: Duration,
}

impl StreamPlan {
    /// How many packets it has.
    pub fn packets(&self) -> u64 {
        self.end.saturating_sub(self.begin).as_nanos().div_ceil(self.interval.as_nanos().max(1))
    }

    /// Bits a second, IP headers included, rounded up.
    pub fn rate_bps(&self) -> u64 {
        let bits = u64::from(self.packet_bytes) * 8 * 1_000_000_000;
        bits.div_ceil(self.interval.as_nanos().max(1))
    }

    /// When packet `index` leaves.
    pub fn departure(&self, index: u64) -> Duration {
        self.begin + self.interval * index
    }
}

/// One phase. Sequence numbers of a kind count on from one stream to the next
/// in the order of the list; streams of one kind do not overlap and are in the
/// order of their beginnings.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct PhasePlan {
    /// The streams, at most [`STREAMS_MAX`].
    pub streams: Vec<StreamPlan>,
}

/// Most streams of a phase.
pub const STREAMS_MAX: usize = 32;

impl PhasePlan {
    /// From its start until the last packet may have left.
    pub fn duration(&self) -> Duration {
        self.streams.iter().map(|stream| stream.end).max().unwrap_or(Duration::ZERO)
    }

    /// Packets of all streams.
    pub fn packets(&self) -> u64 {
        self.streams.iter().map(StreamPlan::packets).sum()
    }

    /// Bytes of all streams, IP headers included.
    pub fn bytes(&self) -> u64 {
        self.streams.iter().map(|stream| stream.packets() * u64::from(stream.packet_bytes)).sum()
    }

    /// The stream of `kind` and the index in it of the packet numbered `sequence`.
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

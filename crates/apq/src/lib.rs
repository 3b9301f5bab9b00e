//! APQ: how many packets an access point's queue holds, measured from outside
//! (paper `apq`, algorithms 1 and 2, equation 1), and what else can be told of
//! that queue. Two hosts send numbered, stamped datagrams across it; nothing is
//! asked of the access point.
//!
//! | module | what it is |
//! |---|---|
//! | [`plan`] | what a host sends during one phase of a measurement |
//! | [`record`] | what became of it: one sample a packet that arrived |
//! | [`survey`] | which phases a measurement consists of, and what follows from their records |
//! | [`estimate`] | queue, rates and disciplines from records |
//! | [`report`] | what is known at the end, and what makes it doubtful |
//! | [`wire`] | the datagrams as bytes |
//! | [`auth`] | tokens and message authentication |
//! | `link` | an authenticated session |
//! | `proof` | whether a client receives what it is sent |
//! | `budget` | how much may leave a server, and to whom |
//! | `sender`, `receiver` | the two sides of a phase |
//! | [`client`] | the host that measures: a machine |
//! | [`server`] | the host that answers: a machine |
//!
//! Lengths are those of IP packets, header included. Delays are differences of
//! two clocks that need not agree: only their changes mean anything.

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod auth;
mod budget;
pub mod client;
pub mod estimate;
mod link;
pub mod plan;
mod proof;
mod receiver;
pub mod record;
pub mod report;
mod sender;
pub mod server;
pub mod survey;
#[cfg(test)]
mod tests;
pub mod wire;

pub use client::{Client, ClientConfig, ClientError, ClientEvent};
pub use plan::{Direction, PhasePlan, StreamKind, StreamPlan};
pub use proof::{Proof, Proofs};
pub use record::{PhaseRecord, Sample, StreamCount};
pub use report::Report;
pub use server::{Server, ServerConfig, ServerEvent};
pub use survey::{ConfigError, Phase, Survey, SurveyConfig};

use alloc::vec::Vec;
use core::net::SocketAddr;
use lasthop_units::{Duration, Instant};

/// Which of a host's sockets. They differ in their port, so that a queue that
/// tells flows apart tells these two apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SocketId {
    /// Control messages and the sparse flow. A server has only this one.
    Control,
    /// The saturating flow, on the client's side.
    Bulk,
}

/// A datagram to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// From which socket.
    pub socket: SocketId,
    /// To whom.
    pub to: SocketAddr,
    /// The beginning of the UDP payload.
    pub payload: Vec<u8>,
    /// Length of the UDP payload; zeros follow `payload`.
    pub length: u16,
    /// What it is, for a driver that could not send it.
    pub kind: TransmitKind,
}

/// What a datagram is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransmitKind {
    /// A control message: lost as if on the way, and sent again.
    Control,
    /// A packet of a flow: told to `handle_unsent`.
    Probe(StreamKind),
}

/// A datagram that arrived.
#[derive(Clone, Copy, Debug)]
pub struct Received<'a> {
    /// At which socket.
    pub socket: SocketId,
    /// From whom.
    pub from: SocketAddr,
    /// When it arrived, not later than now: the kernel's stamp if there is one.
    pub at: Instant,
    /// The UDP payload; may be cut off after [`HEAD_BYTES_MAX`].
    pub payload: &'a [u8],
    /// Length of the UDP payload before it was cut.
    pub length: u16,
}

/// No datagram means anything after so many bytes: control messages are
/// shorter, packets of flows are padding from there on.
pub const HEAD_BYTES_MAX: usize = 1_232;

/// The clock by which a host stamps packets: far from the other host's, and a
/// little faster or slower.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct HostClock {
    /// What it shows at [`Instant::ZERO`], in nanoseconds.
    pub offset_ns: u64,
    /// By how much it is fast, in parts per million.
    pub drift_ppm: i32,
}

impl HostClock {
    /// What it shows at `at`, in nanoseconds; wraps around.
    pub const fn read_ns(self, at: Instant) -> u64 {
        let nanos = at.as_nanos();
        let gained = (nanos as i128 * self.drift_ppm as i128 / 1_000_000) as i64;
        self.offset_ns.wrapping_add(nanos).wrapping_add_signed(gained)
    }
}

/// Bytes of IP and UDP header before the payload of a datagram to `address`.
pub const fn header_bytes(address: &SocketAddr) -> u16 {
    match address {
        SocketAddr::V4(_) => 28,
        SocketAddr::V6(_) => 48,
    }
}

/// The time between two packets of a flow of `rate_pps` packets a second.
pub fn interval_of(rate_pps: f64) -> Duration {
    Duration::from_secs_f64(1.0 / rate_pps)
}

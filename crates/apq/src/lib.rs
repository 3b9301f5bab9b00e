//! APQ: measures from outside how many packets the queue of an access point holds
//! (paper `apq`, algorithms 1 and 2, equation 1), and infers other properties of
//! that queue. Two hosts send numbered, timestamped datagrams through it; the
//! access point does not cooperate.
//!
//! | module | contents |
//! |---|---|
//! | [`plan`] | what a host sends during one phase of a measurement |
//! | [`record`] | the result of a phase: one sample per packet that arrived |
//! | [`survey`] | the phases of a measurement, and the conclusions from their records |
//! | [`estimate`] | estimates of queue, rates and discipline from records |
//! | [`report`] | the results of a survey, and reasons to doubt them |
//! | [`wire`] | the datagrams as bytes |
//! | [`auth`] | tokens and message authentication |
//! | `link` | an authenticated session |
//! | `proof` | proof that a client receives datagrams to its address |
//! | `budget` | limits on the rate and the recipients of a server |
//! | `sender`, `receiver` | the two sides of a phase |
//! | [`client`] | the host that measures, as a machine |
//! | [`server`] | the host that answers, as a machine |
//!
//! Lengths are those of IP packets in bytes, headers included. Delays are
//! differences of two clocks that need not agree: only their changes are
//! meaningful.
//!
//! Unstable: the API follows the command `lasthop` and may change in any version.

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

/// A socket of a host. The sockets have different ports, so that a queue that
/// separates flows separates these.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SocketId {
    /// Control messages and the sparse flow. A server has only this socket.
    Control,
    /// The saturation flow, at the client.
    Bulk,
}

/// A datagram to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// The socket from which it is sent.
    pub socket: SocketId,
    /// The address to which it is sent.
    pub to: SocketAddr,
    /// The beginning of the UDP payload.
    pub payload: Vec<u8>,
    /// Length of the UDP payload in bytes; zeros follow `payload`.
    pub length: u16,
    /// The kind of datagram, for a driver that could not send it.
    pub kind: TransmitKind,
}

/// The kind of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransmitKind {
    /// A control message: if it cannot be sent it counts as lost, and is repeated.
    Control,
    /// A packet of a flow: if it cannot be sent, `handle_unsent` must be called.
    Probe(StreamKind),
}

/// A datagram that arrived.
#[derive(Clone, Copy, Debug)]
pub struct Received<'a> {
    /// The socket at which it arrived.
    pub socket: SocketId,
    /// The address from which it came.
    pub from: SocketAddr,
    /// Time at which it arrived, not later than now: the kernel's timestamp if there is one.
    pub at: Instant,
    /// The UDP payload; it may be truncated after [`HEAD_BYTES_MAX`].
    pub payload: &'a [u8],
    /// Length of the UDP payload in bytes before truncation.
    pub length: u16,
}

/// Length after which no datagram has content: control messages are shorter, and
/// packets of flows have only padding from there on.
pub const HEAD_BYTES_MAX: usize = 1_232;

/// The clock with which a host stamps packets. Its offset from the other host's clock may be large,
/// and it may run slightly faster or slower.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct HostClock {
    /// Reading at [`Instant::ZERO`] in nanoseconds.
    pub offset_ns: u64,
    /// Frequency error in parts per million; positive if the clock is fast.
    pub drift_ppm: i32,
}

impl HostClock {
    /// The reading at `at` in nanoseconds; wraps around.
    pub const fn read_ns(self, at: Instant) -> u64 {
        let nanos = at.as_nanos();
        let gained = (nanos as i128 * self.drift_ppm as i128 / 1_000_000) as i64;
        self.offset_ns.wrapping_add(nanos).wrapping_add_signed(gained)
    }
}

/// Length of IP and UDP headers of a datagram to `address` in bytes.
pub const fn header_bytes(address: &SocketAddr) -> u16 {
    match address {
        SocketAddr::V4(_) => 28,
        SocketAddr::V6(_) => 48,
    }
}

/// The time between two packets of a flow of `rate_pps` packets per second.
pub fn interval_of(rate_pps: f64) -> Duration {
    Duration::from_secs_f64(1.0 / rate_pps)
}

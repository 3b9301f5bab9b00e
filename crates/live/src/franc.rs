//! FRANC on real networks: the machine of `franc` between a TUN device and a link, on
//! the clock of the host. One thread, no spinning.
//!
//! | module | what it is |
//! |---|---|
//! | `daemon` | the loop: packets, datagrams, time, questions |
//! | `way` | the link: who is where, what waits for room |
//! | `metrics` | whoever asks over TCP |
//!
//! Whatever a datagram is said to be, only one that the machine has proven changes where
//! a neighbour is. A full socket stops the machine until there is room: that is how a
//! slow interface holds it back. The TUN device passes segments of a flow together
//! ([`crate::offload`]), UDP sockets datagrams of a length to a neighbour (`os::batch`); the
//! machine takes and gives them one by one. Left out: several threads.

mod daemon;
mod metrics;
mod way;

pub use daemon::{Daemon, Host, Snapshot, Told};
pub use way::{Reach, Transport, room};

use crate::os::OsError;
use lasthop_franc::{Config, ConfigError, NodeId};
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

/// UDP port of a node that was not given another: no service is registered for it with
/// IANA (RFC 6335).
pub const PORT: u16 = 4797;

/// What a daemon is.
#[derive(Clone, Debug)]
pub struct Options {
    /// The node.
    pub config: Config,
    /// How it reaches its neighbours.
    pub transport: Transport,
    /// Neighbours that get a copy of every datagram, because on UDP nobody overhears.
    pub copies_to: Vec<NodeId>,
    /// Name of an end's TUN device.
    pub name: String,
    /// Its addresses, with the lengths of their prefixes.
    pub addresses: Vec<(IpAddr, u8)>,
    /// Where it answers questions.
    pub control: PathBuf,
    /// Where it answers Prometheus.
    pub metrics: Option<SocketAddr>,
}

/// What the daemon itself counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Datagrams for neighbours whose address is not known yet.
    pub unplaced: u64,
    /// Datagrams that the system did not take.
    pub unsent: u64,
    /// Those of them that were longer than the path takes.
    pub too_long: u64,
    /// Times that the link was full, so that the machine had to wait.
    pub full: u64,
    /// Packets that the TUN device did not take.
    pub undelivered: u64,
}

/// Why a daemon does not run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrancError {
    /// The node cannot be.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// No such interface.
    #[error("there is no interface {name:?}; `ip link` shows them")]
    NoInterface {
        /// What was asked for.
        name: String,
    },
    /// There is no way to a neighbour.
    #[error("there is no way to neighbour {id} at {address}: {}", .error.reason())]
    NoRoute {
        /// Which.
        id: NodeId,
        /// Where it should be.
        address: SocketAddr,
        /// What the system says.
        error: OsError,
    },
    /// The path cannot take longer packets than the own interface.
    #[error("mtu {mtu} is more than {name} takes: give {own} or less")]
    TooWide {
        /// What was asked for.
        mtu: u32,
        /// What the interface takes.
        own: u32,
        /// Which interface.
        name: String,
    },
    /// A daemon runs already.
    #[error("a daemon answers at {} already: give this one another name", .path.display())]
    Running {
        /// Its control socket.
        path: PathBuf,
    },
    /// Somebody took the TUN device away.
    #[error("the interface {name:?} was taken away")]
    InterfaceGone {
        /// Its name.
        name: String,
    },
    /// An MTU below 1280 carries no IPv6 (RFC 8200, section 5).
    #[error(
        "a tunnel for packets of {mtu} bytes carries no IPv6, which needs 1280: leave the IPv6 \
         address out, or use longer symbols"
    )]
    NoIpv6 {
        /// The tunnel's MTU.
        mtu: usize,
    },
    /// The system refuses something else.
    #[error(transparent)]
    Os(#[from] OsError),
}

//! FRANC on real networks: the machine of `franc` between a TUN device and a link (UDP or
//! Ethernet), on the clock of the host. One thread, no spinning.
//!
//! | module | contents |
//! |---|---|
//! | `daemon` | the driver: packets, datagrams, time, questions |
//! | `transport` | the link: addresses of neighbours, datagrams that wait |
//! | `overhear` | the monitor interface of a helper (feature `monitor`) |
//! | `monitored` | the facts about it that the daemon reports |
//! | `metrics` | the port for Prometheus |
//! | `source` | the events of the loop |
//! | `interface` | errors of an interface |
//!
//! The address of a neighbour changes only with a datagram that the machine has verified. A full
//! socket stops the machine until it has space, so a slow interface limits the machine's rate. The
//! TUN device passes segments of a flow together ([`lasthop_linux::offload`]), a UDP socket datagrams of
//! equal length to one neighbour (`lasthop_linux::batch`); the machine takes and returns them one by one.
//! Leaves out several threads.

mod daemon;
mod interface;
mod metrics;
mod monitored;
#[cfg(feature = "monitor")]
mod overhear;
#[cfg(not(feature = "monitor"))]
#[path = "franc/overhear/absent.rs"]
mod overhear;
mod source;
mod transport;

pub use daemon::{Daemon, DaemonReport, Host, Snapshot};
pub use monitored::{Deaf, MonitorCounts};
pub use transport::{Reach, Refusal, Transport, UdpNeighbour, datagram_bytes_max};

use lasthop_franc::{Config, ConfigError, NodeId};
use lasthop_linux::OsError;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

/// Default UDP port of a node; no service is registered for it with IANA (RFC 6335).
pub const PORT: u16 = 4797;

/// The options of a daemon.
#[derive(Clone, Debug)]
pub struct Options {
    /// The configuration of the node.
    pub config: Config,
    /// The transport to its neighbours.
    pub transport: Transport,
    /// Neighbours that get a copy of every datagram, because helpers cannot overhear over UDP.
    pub copies_to: Vec<NodeId>,
    /// Name of an end's TUN device.
    pub name: String,
    /// Addresses of the interface, with the lengths of their prefixes.
    pub addresses: Vec<(IpAddr, u8)>,
    /// Path of the control socket.
    pub control: PathBuf,
    /// Address of the port for Prometheus; `None`: there is none.
    pub metrics: Option<SocketAddr>,
}

/// The counters of the daemon, beside those of the machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Datagrams not sent because the address of the neighbour was not known.
    pub unplaced: u64,
    /// Datagrams that the kernel refused.
    pub unsent: u64,
    /// Those of `unsent` that were longer than the path carries.
    pub too_long: u64,
    /// The number of times that the machine had to wait because the link was full.
    pub full: u64,
    /// Packets that the TUN device refused.
    pub undelivered: u64,
    /// Counts of the monitor interface's frames.
    pub monitor: MonitorCounts,
    /// Frames that the kernel dropped there, because the daemon did not take them in time.
    pub monitor_drops: u64,
}

/// Reason why a daemon does not start, or ended.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrancError {
    /// The configuration of the node is not valid.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// There is no such interface.
    #[error("there is no interface {name:?}; `ip link` shows them")]
    NoInterface {
        /// The name that was given.
        name: String,
    },
    /// An interface is no monitor interface.
    #[error(
        "{name:?} is no monitor interface (its hardware is of kind {kind}; 803 is a monitor that \
         delivers radiotap): `iw dev WLAN interface add mon0 type monitor` adds one to the radio \
         of WLAN, `ip link set mon0 up` sets it up"
    )]
    NotMonitor {
        /// The name that was given.
        name: String,
        /// Hardware type (`ARPHRD_..`, linux/if_arp.h).
        kind: u16,
    },
    /// This build has no code for monitor interfaces.
    #[error(
        "this lasthop reads no monitor interface, such as {name:?}: build it with \
         `--features franc,monitor`"
    )]
    WithoutMonitor {
        /// The name that was given.
        name: String,
    },
    /// There is no route to a neighbour.
    #[error(
        "there is no route to neighbour {id} at {address} (`ip route get {}`): {}",
        .address.ip(), .error.reason()
    )]
    NoRoute {
        /// Number of the neighbour.
        id: NodeId,
        /// Address of the neighbour.
        address: SocketAddr,
        /// The error of the kernel.
        error: OsError,
    },
    /// The given MTU is larger than that of the own interface.
    #[error("mtu {mtu} is longer than that of {name}: give {own} or less")]
    TooWide {
        /// The MTU that was given, in bytes.
        mtu: u32,
        /// The MTU of the interface, in bytes.
        own: u32,
        /// Name of the interface.
        name: String,
    },
    /// A daemon of that name runs already.
    #[error("a daemon answers at {} already: choose another name", .path.display())]
    Running {
        /// Path of the control socket.
        path: PathBuf,
    },
    /// The TUN device, or the link's interface, was removed.
    #[error("the interface {name:?} was removed")]
    InterfaceGone {
        /// Name of the node.
        name: String,
    },
    /// An MTU below 1280 carries no IPv6 (RFC 8200, section 5).
    #[error(
        "a tunnel for packets of {mtu} bytes carries no IPv6, which needs 1280: leave the IPv6 \
         address out, or use longer symbols"
    )]
    NoIpv6 {
        /// The MTU of the tunnel, in bytes.
        mtu: usize,
    },
    /// Another error of the kernel.
    #[error(transparent)]
    Os(#[from] OsError),
}

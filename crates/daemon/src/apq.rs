//! APQ on real networks: the machines of `apq` between UDP sockets and the
//! clock of the host, one thread a host.
//!
//! | module | contents |
//! |---|---|
//! | [`serve`](mod@serve) | the far host: answers until a signal ends it |
//! | [`measure`](mod@measure) | the near host: one measurement |
//! | `io` | the sockets of both: how datagrams come and go |
//!
//! A timer on the monotonic clock paces packets; those that are due together are
//! sent by one system call. `SO_TXTIME` is left out: it needs a queueing discipline,
//! which a measurement must not install. Arrivals have the kernel's time stamps.

mod io;
pub mod measure;
pub mod serve;

pub use measure::{MeasureOptions, Measured, Stopped, Update, measure};
pub use serve::{Bind, ServeOptions, ServerReport, serve};

use lasthop_apq::ClientError;
use lasthop_linux::OsError;
use lasthop_units::Duration;
use nix::errno::Errno;
use std::net::SocketAddr;

/// Default UDP port of a server; no service is registered for it with IANA (RFC 6335).
pub const PORT: u16 = 4796;

/// Longest time after a signal for which the hosts wait until the other side has acknowledged the
/// end.
const FAREWELL_MAX: Duration = Duration::from_secs(1);

/// Why a host could not take part, or not until the end.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ApqError {
    /// The measurement failed.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// There is no route to the server.
    #[error("there is no route to {to}: {}", .error.reason())]
    NoRoute {
        /// Address of the server.
        to: SocketAddr,
        /// Reason that the system gives.
        error: OsError,
    },
    /// The server cannot be bound to an address.
    #[error("cannot serve at {address}: {}{}", .error.reason(), bind_hint(.error))]
    Address {
        /// Address to listen at.
        address: SocketAddr,
        /// Reason that the system gives.
        error: OsError,
    },
    /// The packets are longer than the MTU of the route.
    #[error("packets of {packet_bytes} bytes do not fit: the path to {to} takes up to {mtu}")]
    TooLong {
        /// Address of the server.
        to: SocketAddr,
        /// Length of the longest packets that were asked for, in bytes.
        packet_bytes: u16,
        /// The MTU, in bytes.
        mtu: u32,
    },
    /// Another error of the kernel.
    #[error(transparent)]
    Os(#[from] OsError),
}

fn bind_hint(error: &OsError) -> &'static str {
    match Errno::from_raw(error.errno) {
        Errno::EADDRINUSE => "; another program has that port",
        Errno::EACCES => "; ports below 1024 are for privileged programs",
        Errno::EADDRNOTAVAIL => "; this host does not have that address",
        _ => "",
    }
}

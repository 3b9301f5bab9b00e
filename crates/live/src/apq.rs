//! APQ on real networks: the machines of `apq` between UDP sockets and the
//! clock of the host.
//!
//! | module | what it is |
//! |---|---|
//! | [`serve`](mod@serve) | the far host: answers until a signal ends it |
//! | [`measure`](mod@measure) | the near host: one measurement |
//! | `io` | the sockets of both: how datagrams come and go |
//!
//! Packets leave by a timer on the monotonic clock, those that are due together
//! in one call; `SO_TXTIME` would need a queueing discipline that a measurement
//! must not install. Arrivals have the kernel's time stamps. Nobody spins.

mod io;
pub mod measure;
pub mod serve;

pub use measure::{MeasureOptions, Measured, Stopped, Update, measure};
pub use serve::{Bind, ServeOptions, Told, serve};

use crate::os::OsError;
use lasthop_apq::ClientError;
use lasthop_units::Duration;
use nix::errno::Errno;
use std::net::SocketAddr;

/// UDP port of a server that was not given another: no service is registered
/// for it with IANA (RFC 6335).
pub const PORT: u16 = 4796;

/// After a signal, the last words have so long to leave.
const FAREWELL_MAX: Duration = Duration::from_secs(1);

/// Why a host cannot take part.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ApqError {
    /// The measurement failed.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// There is no way to the server.
    #[error("there is no way to {to}: {}", .error.reason())]
    NoRoute {
        /// The server.
        to: SocketAddr,
        /// What the system says.
        error: OsError,
    },
    /// An address cannot be served at.
    #[error("cannot serve at {address}: {}{}", .error.reason(), bind_hint(.error))]
    Address {
        /// The address.
        address: SocketAddr,
        /// What the system says.
        error: OsError,
    },
    /// The packets are longer than the network takes.
    #[error("packets of {packet_bytes} bytes do not fit: the way to {to} takes up to {mtu}")]
    TooLong {
        /// The server.
        to: SocketAddr,
        /// The longest that were asked for.
        packet_bytes: u16,
        /// What fits.
        mtu: u32,
    },
    /// The system refuses something else.
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

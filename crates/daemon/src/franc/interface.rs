//! Errors of an interface that a user named.

use super::FrancError;
use nix::errno::Errno;

pub(super) fn interface_error(name: &str, error: lasthop_linux::OsError) -> FrancError {
    match Errno::from_raw(error.errno) {
        Errno::ENODEV | Errno::ENXIO => FrancError::NoInterface { name: name.into() },
        _ => FrancError::Os(error),
    }
}

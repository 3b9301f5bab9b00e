//! Unpredictable bytes from the kernel's generator only (getrandom(2)): for keys, nonces and seeds
//! that must not be predicted. Early at boot the call waits until the generator is ready.

use super::{Call, OsError};
use nix::errno::Errno;

/// Bytes of a secret. A call returns up to 256 at once, also if a signal comes (getrandom(2)).
const SECRET_BYTES: usize = 32;

/// Returns 32 unpredictable bytes.
///
/// # Errors
/// If the system has too few random bytes; there is no substitute.
#[expect(unsafe_code, reason = "getrandom")]
pub fn secret() -> Result<[u8; SECRET_BYTES], OsError> {
    const CALL: &str = "getrandom";
    let mut bytes = [0; SECRET_BYTES];
    let flags: libc::c_uint = 0;
    // glibc has a function of this name from 2.25 on only; wheels run with 2.17.
    // SAFETY: the kernel writes at most so many bytes.
    let result =
        unsafe { libc::syscall(libc::SYS_getrandom, bytes.as_mut_ptr(), bytes.len(), flags) };
    match Errno::result(result).call(CALL)? as usize {
        SECRET_BYTES => Ok(bytes),
        _ => Err(OsError::new(CALL, Errno::EIO)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_differ() {
        let (one, other) = (secret().unwrap(), secret().unwrap());
        assert_ne!(one, other);
        // A half that was never written would be zeros.
        assert!(one.chunks(8).chain(other.chunks(8)).all(|part| part != [0; 8]));
    }
}

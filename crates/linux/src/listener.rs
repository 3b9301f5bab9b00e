//! Sockets for questions to a daemon: a Unix socket that only its user may open (unix(7)), and a
//! TCP port for Prometheus. Connections never block. Leaves out a limit of connections to the port,
//! which is the caller's.

#![expect(clippy::disallowed_types, reason = "this crate has the sockets")]

use super::{Call, OsError};
use nix::errno::Errno;
use nix::sys::stat::{Mode, umask};
use std::fs;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

/// Largest number of connections that are answered in a turn, so that a flood of them does not keep
/// a daemon from its work.
const GUESTS_MAX: usize = 16;

/// A Unix socket that listens; its file is removed when it is dropped.
#[derive(Debug)]
pub struct ControlSocket {
    listener: UnixListener,
    path: PathBuf,
}

impl ControlSocket {
    /// Listens at `path`, for this user alone. The socket of a daemon that was killed is
    /// replaced.
    ///
    /// # Errors
    /// `EADDRINUSE` if a daemon listens there, `EEXIST` if there is a file that is no socket;
    /// other errors of the kernel.
    pub fn bind(path: &Path) -> Result<Self, OsError> {
        let name = format!("bind({})", path.display());
        match UnixStream::connect(path) {
            Ok(_) => return Err(OsError::new(name, Errno::EADDRINUSE)),
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
                return Err(OsError::new(name, Errno::ENAMETOOLONG));
            }
            // Also the error for a path to a file that is no socket.
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                let about = fs::symlink_metadata(path).call(&name)?;
                if !about.file_type().is_socket() {
                    return Err(OsError::new(name, Errno::EEXIST));
                }
                fs::remove_file(path).call(&format!("unlink({})", path.display()))?;
            }
            Err(_) => {}
        }
        // No other user may be able to open the file at any moment.
        let before = umask(Mode::from_bits_truncate(0o177));
        let listener = UnixListener::bind(path);
        umask(before);
        let listener = listener.call(&name)?;
        listener.set_nonblocking(true).call("fcntl(O_NONBLOCK)")?;
        Ok(Self { listener, path: path.to_owned() })
    }

    /// Answers waiting connections, each with as much of `text` as its buffer holds.
    pub fn answer(&self, text: &mut dyn FnMut() -> String) {
        for _ in 0..GUESTS_MAX {
            let Ok((mut stream, _)) = self.listener.accept() else { return };
            let _ = stream.set_nonblocking(true);
            let _ = stream.write_all(text().as_bytes());
        }
    }
}

impl AsFd for ControlSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }
}

impl Drop for ControlSocket {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// Returns the answer of the daemon at the Unix socket `path`, `bytes_max` bytes at most.
///
/// # Errors
/// If no daemon listens there, or it sends nothing for 5 s.
pub fn ask(path: &Path, bytes_max: u64) -> io::Result<String> {
    let stream = UnixStream::connect(path)?;
    stream.set_read_timeout(Some(std::time::Duration::from_secs(5)))?;
    let mut text = String::new();
    stream.take(bytes_max).read_to_string(&mut text)?;
    Ok(text)
}

/// A TCP port that listens.
#[derive(Debug)]
pub struct Port(TcpListener);

impl Port {
    /// Listens at `address`.
    ///
    /// # Errors
    /// If the address is taken or not this host's.
    pub fn bind(address: SocketAddr) -> Result<Self, OsError> {
        let listener = TcpListener::bind(address).call(&format!("bind({address})"))?;
        listener.set_nonblocking(true).call("fcntl(O_NONBLOCK)")?;
        Ok(Self(listener))
    }

    /// Returns the address at which it listens.
    ///
    /// # Errors
    /// Errors of getsockname(2).
    pub fn address(&self) -> Result<SocketAddr, OsError> {
        self.0.local_addr().call("getsockname")
    }

    /// Accepts a connection; `None` if none waits.
    pub fn accept(&self) -> Option<Guest> {
        let (stream, _) = self.0.accept().ok()?;
        stream.set_nonblocking(true).ok()?;
        Some(Guest(stream))
    }
}

impl AsFd for Port {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// A connection to the port.
#[derive(Debug)]
pub struct Guest(TcpStream);

impl Guest {
    /// Reads arrived bytes; `Ok(0)` at the end of the stream.
    ///
    /// # Errors
    /// `WouldBlock` if nothing waits.
    pub fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }

    /// Sends as much of `text` as the socket's buffer holds, and ends the stream.
    pub fn finish(mut self, text: &str) {
        let _ = self.0.write_all(text.as_bytes());
        let _ = self.0.shutdown(std::net::Shutdown::Write);
    }
}

impl AsFd for Guest {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

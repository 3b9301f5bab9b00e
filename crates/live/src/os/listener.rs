//! Who may ask a daemon: a Unix socket that only its user opens, and a TCP port for
//! Prometheus. Connections never block; how many there may be is the caller's.

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

/// Guests in one go: a flood of them does not keep a daemon from its work.
const GUESTS_MAX: usize = 16;

/// A Unix socket that listens; its file goes with it.
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
    /// what else the system says.
    pub fn bind(path: &Path) -> Result<Self, OsError> {
        let name = format!("bind({})", path.display());
        match UnixStream::connect(path) {
            Ok(_) => return Err(OsError::new(name, Errno::EADDRINUSE)),
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
                return Err(OsError::new(name, Errno::ENAMETOOLONG));
            }
            // So it is, too, where the path leads to a file that is no socket.
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                let about = fs::symlink_metadata(path).call(&name)?;
                if !about.file_type().is_socket() {
                    return Err(OsError::new(name, Errno::EEXIST));
                }
                fs::remove_file(path).call(&format!("unlink({})", path.display()))?;
            }
            Err(_) => {}
        }
        // The file must never be anybody else's to open, not even for a moment.
        let before = umask(Mode::from_bits_truncate(0o177));
        let listener = UnixListener::bind(path);
        umask(before);
        let listener = listener.call(&name)?;
        listener.set_nonblocking(true).call("fcntl(O_NONBLOCK)")?;
        Ok(Self { listener, path: path.to_owned() })
    }

    /// Answers whoever waits, as far as there is room for it in the socket's buffer.
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

/// All that a daemon answers at the Unix socket `path`; up to `bytes_max` of it.
///
/// # Errors
/// If none listens there.
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

    /// Its own address.
    ///
    /// # Errors
    /// If the system does not tell.
    pub fn address(&self) -> Result<SocketAddr, OsError> {
        self.0.local_addr().call("getsockname")
    }

    /// Whoever waits; `None` if nobody does.
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

/// Somebody who asks over TCP.
#[derive(Debug)]
pub struct Guest(TcpStream);

impl Guest {
    /// What has come; `Ok(0)` if nothing more will.
    ///
    /// # Errors
    /// `WouldBlock` if nothing waits.
    pub fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }

    /// Sends `text`, as far as there is room for it, and nothing more.
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

//! slirp4netns(1): a process in the machine's network that carries the packets of an interface in a
//! node's namespace, by its sockets (user-mode networking; libslirp). The process needs no
//! privilege, and accepts packets of any source address.
//!
//! The process runs in a private mount namespace. Its sandbox (1.2.0) makes only `/` private before
//! it unmounts every file system: on a system with shared mounts, as under systemd, those below `/`
//! would be unmounted for all processes.
//!
//! The process ends with this one: by the closing of a pipe (`--exit-fd`), and by the signal of
//! `PR_SET_PDEATHSIG`.

use super::{Call, OsError, namespace, output_file, read_output};
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, FdFlag, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags, poll};
use nix::unistd::pipe2;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

/// The program, and the package of most distributions that has it.
pub const PROGRAM: &str = "slirp4netns";
/// Network of slirp4netns: addresses for documentation (RFC 5737), which no real network has, so
/// that none is hidden.
const NETWORK: &str = "198.51.100.0/24";
/// Address of its name server: by its rule the third address of the network.
pub const NAME_SERVER: &str = "198.51.100.3";
/// The interface that it makes in the namespace.
pub const INTERFACE: &str = "outside";
/// Time limit for its start, in milliseconds.
const START_MS: u16 = 5_000;

/// Reason why nodes cannot reach the outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SlirpError {
    /// The program is not installed.
    Missing,
    /// The process ended, or took too long; the text is its output.
    Failed(String),
    /// A system call was refused.
    Os(OsError),
}

impl From<OsError> for SlirpError {
    fn from(error: OsError) -> Self {
        Self::Os(error)
    }
}

/// The namespaces of a node.
#[derive(Debug)]
pub struct Namespaces {
    /// Network namespace of the node.
    pub net: OwnedFd,
    /// The user namespace that owns it; `None`: that of the calling process.
    pub user: Option<OwnedFd>,
}

/// The process; it ends when this is dropped.
#[derive(Debug)]
pub struct Slirp {
    child: Child,
    /// Descriptor whose closing ends the process.
    exit: Option<OwnedFd>,
}

impl Slirp {
    /// Makes the interface in the namespaces, with `mtu` bytes, an address and a default route,
    /// and starts to carry its packets. The machine's loopback cannot be reached.
    ///
    /// # Errors
    /// If the program is missing or does not start.
    #[expect(unsafe_code, reason = "what a child does before it is another program")]
    pub fn start(namespaces: &Namespaces, mtu: u16) -> Result<Self, SlirpError> {
        let (ready, to_write) = pipe2(OFlag::O_CLOEXEC).call("pipe")?;
        let (exited, exit) = pipe2(OFlag::O_CLOEXEC).call("pipe")?;
        let mut errors = output_file()?;
        let output = || errors.try_clone().map(Stdio::from).call("dup");
        let path = |fd: &OwnedFd| format!("/proc/self/fd/{}", fd.as_raw_fd());
        let mut command = Command::new(PROGRAM);
        command.args(["--configure", "--disable-host-loopback", "--cidr", NETWORK]);
        command.arg(format!("--mtu={mtu}"));
        command.arg(format!("--ready-fd={}", to_write.as_raw_fd()));
        command.arg(format!("--exit-fd={}", exited.as_raw_fd()));
        match &namespaces.user {
            Some(user) => command.arg(format!("--userns-path={}", path(user))),
            // With a user namespace by its path 1.2.0 cannot do this (its issue 317).
            None => command.arg("--enable-sandbox"),
        };
        command.args(["--netns-type=path", &path(&namespaces.net), INTERFACE]);
        command.stdin(Stdio::null()).stdout(output()?).stderr(output()?);
        // Signals from the terminal are not for it.
        command.process_group(0);
        let mut kept: Vec<i32> = vec![to_write.as_raw_fd(), exited.as_raw_fd()];
        kept.push(namespaces.net.as_raw_fd());
        kept.extend(namespaces.user.as_ref().map(AsRawFd::as_raw_fd));
        let may_mount = namespaces.user.is_none();
        let prepare = move || {
            match namespace::isolate_mounts() {
                // Without the right to a mount namespace it has none to change mounts with, and
                // has no sandbox.
                Err(Errno::EPERM) if !may_mount => {}
                result => result?,
            }
            keep(&kept)
        };
        // SAFETY: both make system calls only, and allocate nothing.
        unsafe { command.pre_exec(prepare) };
        let child = command.spawn().map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => SlirpError::Missing,
            _ => SlirpError::Failed(error.to_string()),
        })?;
        let slirp = Self { child, exit: Some(exit) };
        drop((to_write, exited));
        if slirp.is_ready(&ready) {
            return Ok(slirp);
        }
        drop(slirp);
        let text = String::from_utf8_lossy(&read_output(&mut errors)).into_owned();
        Err(SlirpError::Failed(complaint(&text)))
    }

    /// Waits until it has made the interface.
    fn is_ready(&self, ready: &OwnedFd) -> bool {
        let mut waiting = [PollFd::new(ready.as_fd(), PollFlags::POLLIN)];
        loop {
            match poll(&mut waiting, START_MS) {
                Err(Errno::EINTR) => {}
                Ok(1) => return nix::unistd::read(ready, &mut [0]) == Ok(1),
                _ => return false,
            }
        }
    }
}

impl Drop for Slirp {
    fn drop(&mut self) {
        self.exit = None;
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// In the child: keeps the descriptors `kept` open for the new program, and ends the child with its
/// parent.
#[expect(unsafe_code, reason = "prctl, and descriptors by their numbers")]
fn keep(kept: &[i32]) -> io::Result<()> {
    // SAFETY: sets a property of the calling process.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
    for fd in kept {
        // SAFETY: the parent has them open until the child is another program.
        let fd = unsafe { BorrowedFd::borrow_raw(*fd) };
        fcntl(fd, FcntlArg::F_SETFD(FdFlag::empty()))?;
    }
    Ok(())
}

/// The last output of the process, without the lines of every start.
fn complaint(output: &str) -> String {
    const SAYS_NOTHING: [&str; 5] = ["child failed", "parent failed", "sent ", "received ", "* "];
    let says = |line: &&str| !SAYS_NOTHING.iter().any(|start| line.starts_with(start));
    output.lines().rfind(says).unwrap_or("it took too long").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_complaint_is_the_line_that_says_why() {
        // As 1.2.0 writes it for a user who may not open the device.
        let output = "open(\"/dev/net/tun\"): Permission denied\nchild failed(1)\n";
        assert_eq!(complaint(output), "open(\"/dev/net/tun\"): Permission denied");
        assert_eq!(complaint("sent tapfd=5 for outside\n"), "it took too long");
    }
}

//! Sockets for commands to a running emulation: UNIX sockets with abstract names (unix(7)), which
//! no file system has and which end with the process. One is in the network namespace of the
//! emulator, one in that of each node. Only processes of the same user, and root's, get answers.
//! Any user may take an abstract name first. Clients therefore check the owner of the socket before
//! they send, and an emulation whose name is taken chooses one that cannot be guessed.
//!
//! A question has the settings, each `path=value` up to a NUL, and ends with the writing side of
//! the stream; without settings it asks for the possible ones. The answer is `+` or `-` and a text.

use super::entropy::secret;
use super::wake::Wake;
use super::{Call, OsError};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{
    AddressFamily, SockFlag, SockType, UnixAddr, connect, getsockopt, socket, sockopt,
};
use nix::unistd::{Pid, Uid, geteuid};
use std::fs;
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::linux::fs::MetadataExt;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

/// The prefix of the names; the process number follows, and a suffix if that name is taken.
const NAME: &str = "lasthop/emulate/";
/// The sockets of this network namespace (proc(5)).
const SOCKETS: &str = "/proc/net/unix";
/// Longest question, and longest answer, in bytes.
const QUESTION_BYTES_MAX: u64 = 64 << 10;
const ANSWER_BYTES_MAX: u64 = 1 << 20;
/// Time limit for a client to send its question, and to read the answer.
const PATIENCE: std::time::Duration = std::time::Duration::from_millis(500);
/// Time limit for an answer.
const ANSWER_PATIENCE: std::time::Duration = std::time::Duration::from_secs(30);

/// The name of the socket of the emulation that the process `pid` runs.
pub fn name(pid: u32) -> String {
    format!("{NAME}{pid}")
}

/// A socket that listens at this abstract name, in the network namespace of the caller.
///
/// # Errors
/// If the name is taken.
pub fn listen(name: &str) -> Result<OwnedFd, OsError> {
    let listener = SocketAddr::from_abstract_name(name)
        .and_then(|address| UnixListener::bind_addr(&address))
        .call("bind(door)")?;
    Ok(listener.into())
}

/// A socket that listens for the emulation of this process, in the network namespace of the caller.
/// If its name is taken, as any user can do, the name gets a suffix that cannot be guessed.
///
/// # Errors
/// If the system has no descriptors left.
pub fn listen_for_own() -> Result<OwnedFd, OsError> {
    let name = name(std::process::id());
    match listen(&name) {
        Err(error) if error.errno == Errno::EADDRINUSE as i32 => {
            let secret = secret()?;
            let hex: String = secret[..8].iter().map(|byte| format!("{byte:02x}")).collect();
            listen(&format!("{name}/{hex}"))
        }
        listener => listener,
    }
}

/// Function that answers: returns the text, or the error.
pub type Answer = Box<dyn Fn(&[String]) -> Result<String, String> + Send>;

/// The listening sockets, which close on drop.
#[derive(Debug)]
pub struct Door {
    stop: Arc<Wake>,
    thread: Option<JoinHandle<()>>,
}

impl Door {
    /// Answers questions at `listeners`, one after the other, in a separate thread.
    ///
    /// # Errors
    /// If the system has no descriptors or threads left.
    pub fn open(listeners: Vec<OwnedFd>, answer: Answer) -> Result<Self, OsError> {
        let listeners: Vec<UnixListener> = listeners.into_iter().map(UnixListener::from).collect();
        for listener in &listeners {
            listener.set_nonblocking(true).call("fcntl")?;
        }
        let stop = Arc::new(Wake::new()?);
        let stopped = Arc::clone(&stop);
        let thread = thread::Builder::new()
            .name("door".into())
            .spawn(move || serve(&listeners, &answer, &stopped))
            .call("clone")?;
        Ok(Self { stop, thread: Some(thread) })
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        self.stop.ring();
        if let Some(thread) = self.thread.take() {
            // What it panicked with was told.
            let _ = thread.join();
        }
    }
}

fn serve(listeners: &[UnixListener], answer: &Answer, stop: &Wake) {
    loop {
        let all = listeners.iter().map(AsFd::as_fd).chain([stop.as_fd()]);
        let mut all: Vec<_> = all.map(|fd| PollFd::new(fd, PollFlags::POLLIN)).collect();
        match poll(&mut all, PollTimeout::NONE) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(_) => return,
        }
        let ready: Vec<bool> = all.iter().map(|fd| fd.any().unwrap_or(false)).collect();
        if ready.last() == Some(&true) {
            return;
        }
        for (listener, _) in listeners.iter().zip(ready).filter(|(_, ready)| *ready) {
            if let Ok((stream, _)) = listener.accept() {
                // Who goes away meanwhile needs no answer.
                let _ = converse(stream, answer);
            }
        }
    }
}

fn converse(mut stream: UnixStream, answer: &Answer) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let peer = getsockopt(&stream, sockopt::PeerCredentials)?;
    if peer.uid() != geteuid().as_raw() && peer.uid() != 0 {
        return stream.write_all(b"-this emulation belongs to another user");
    }
    let mut question = Vec::new();
    (&stream).take(QUESTION_BYTES_MAX + 1).read_to_end(&mut question)?;
    let answered = match String::from_utf8(question) {
        Ok(text) if text.len() as u64 > QUESTION_BYTES_MAX => {
            Err(format!("expected at most {QUESTION_BYTES_MAX} bytes"))
        }
        Ok(text) => answer(&text.split_terminator('\0').map(str::to_owned).collect::<Vec<_>>()),
        Err(_) => Err("expected UTF-8 text".into()),
    };
    let text = answered.map_or_else(|why| format!("-{why}"), |text| format!("+{text}"));
    stream.write_all(text.as_bytes())
}

/// Reason why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AskError {
    /// No emulation answers under this number.
    #[error("process {0} runs no emulation that answers here")]
    Nobody(Pid),
    /// Another user has the name.
    #[error("the socket of process {pid} belongs to another user, {uid}: the request was not sent")]
    Stranger {
        /// The process of the question.
        pid: Pid,
        /// The owner of the socket.
        uid: Uid,
    },
    /// A system call failed.
    #[error(transparent)]
    Os(#[from] OsError),
}

/// The processes with emulations of this user that answer here, in ascending order.
pub fn known() -> Vec<Pid> {
    let own = |(_, name): &(Pid, String)| {
        visit(name).is_ok_and(|visited| visited.is_some_and(|(_, uid)| uid == geteuid()))
    };
    let mut known: Vec<Pid> = names().into_iter().filter(own).map(|(pid, _)| pid).collect();
    known.sort_unstable();
    known.dedup();
    known
}

/// The names of all users' emulations in this network namespace.
fn names() -> Vec<(Pid, String)> {
    let sockets = fs::read_to_string(SOCKETS).unwrap_or_default();
    let name = |line: &str| {
        let name = line.split_whitespace().nth(7)?.strip_prefix('@')?;
        let rest = name.strip_prefix(NAME)?;
        let pid = rest.split_once('/').map_or(rest, |(pid, _)| pid).parse().ok()?;
        Some((Pid::from_raw(pid), name.to_owned()))
    };
    sockets.lines().filter_map(name).collect()
}

/// Connects to the socket of this name, without waiting. Returns the stream and the owner of the
/// socket; `None` if nothing listens there, or its backlog is full.
fn visit(name: &str) -> Result<Option<(UnixStream, Uid)>, OsError> {
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let stream = socket(AddressFamily::Unix, SockType::Stream, flags, None).call("socket(door)")?;
    let address = UnixAddr::new_abstract(name.as_bytes()).call("connect(door)")?;
    if connect(stream.as_raw_fd(), &address).is_err() {
        return Ok(None);
    }
    let uid = getsockopt(&stream, sockopt::PeerCredentials).call("getsockopt(SO_PEERCRED)")?.uid();
    Ok(Some((stream.into(), Uid::from_raw(uid))))
}

/// Whether the socket of the emulation of process `pid` is trusted: its owner is this user or root,
/// or root asks for a process of its owner.
fn is_trusted(uid: Uid, pid: Pid) -> bool {
    let own = geteuid();
    let owner = || fs::metadata(format!("/proc/{pid}")).ok().map(|about| about.st_uid());
    uid == own || uid.is_root() || own.is_root() && owner() == Some(uid.as_raw())
}

/// Asks the emulation of the process `pid`; returns its answer, with nothing escaped.
///
/// # Errors
/// If there is no emulation, it does not answer, or the socket belongs to another user.
pub fn ask(pid: Pid, sets: &[String]) -> Result<Result<String, String>, AskError> {
    let mut all: Vec<String> =
        names().into_iter().filter(|(of, _)| *of == pid).map(|(_, name)| name).collect();
    // Where the list cannot be read.
    all.push(format!("{NAME}{pid}"));
    let mut nobody = AskError::Nobody(pid);
    for name in all {
        match visit(&name)? {
            Some((stream, uid)) if is_trusted(uid, pid) => return Ok(converse_with(stream, sets)?),
            Some((_, uid)) => nobody = AskError::Stranger { pid, uid },
            None => {}
        }
    }
    Err(nobody)
}

fn converse_with(
    mut stream: UnixStream,
    sets: &[String],
) -> Result<Result<String, String>, OsError> {
    let question: String = sets.iter().map(|set| format!("{set}\0")).collect();
    stream.set_nonblocking(false).call("fcntl")?;
    stream.set_read_timeout(Some(ANSWER_PATIENCE)).call("setsockopt")?;
    // It answers before all is read if it will not hear this user.
    let _ = stream.write_all(question.as_bytes());
    let _ = stream.shutdown(Shutdown::Write);
    let mut answer = Vec::new();
    let read = (&stream).take(ANSWER_BYTES_MAX).read_to_end(&mut answer);
    let text = String::from_utf8_lossy(answer.get(1..).unwrap_or_default()).into_owned();
    match answer.first() {
        Some(b'+') => Ok(Ok(text)),
        Some(b'-') => Ok(Err(text)),
        _ => {
            read.call("read(door)")?;
            Err(OsError::new("read(door)", Errno::ECONNRESET))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// If a name is taken, the emulation gets another one, which is found by the number of the
    /// process.
    #[test]
    #[cfg_attr(miri, ignore = "sockets")]
    fn a_name_that_is_taken_is_no_obstacle() {
        let pid = Pid::this();
        // Nobody answers there: its queue is full from the first on.
        let squatter = socket(AddressFamily::Unix, SockType::Stream, SockFlag::empty(), None);
        let squatter = squatter.unwrap();
        let taken = name(std::process::id());
        let address = UnixAddr::new_abstract(taken.as_bytes()).unwrap();
        nix::sys::socket::bind(squatter.as_raw_fd(), &address).unwrap();
        assert_eq!(ask(pid, &[]), Err(AskError::Nobody(pid)));
        let listener = listen_for_own().unwrap();
        let answer = |sets: &[String]| Ok(format!("{} set\u{1b}", sets.len()));
        let door = Door::open(vec![listener], Box::new(answer)).unwrap();
        assert_eq!(ask(pid, &["a=1".into(), "b=2".into()]), Ok(Ok("2 set\u{1b}".into())));
        assert!(known().contains(&pid));
        drop(door);
        assert_eq!(ask(pid, &[]), Err(AskError::Nobody(pid)));
    }

    #[test]
    fn strangers_are_not_believed() {
        let (own, other) = (geteuid(), Uid::from_raw(geteuid().as_raw() + 77));
        assert!(is_trusted(own, Pid::this()) && is_trusted(Uid::from_raw(0), Pid::this()));
        assert!(!is_trusted(other, Pid::this()));
    }
}

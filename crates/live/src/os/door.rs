//! Where a running emulation is asked from outside: UNIX sockets with abstract names (unix(7)),
//! which no file system has and which are gone with the process. One is in the network
//! namespace of the emulator, one in that of each node. Only processes of the same user are
//! answered, and root's.
//!
//! A question is what is to be set, each `path=value` up to a NUL, and ends with the writing
//! side of the stream; without any it asks what can be set. The answer is `+` or `-` and a text.

use super::wake::Wake;
use super::{Call, OsError};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{getsockopt, sockopt};
use nix::unistd::{Pid, geteuid};
use std::fs;
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::fd::{AsFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

/// What the names begin with; the process number follows.
const NAME: &str = "lasthop/emulate/";
/// The sockets of this network namespace (proc(5)).
const SOCKETS: &str = "/proc/net/unix";
/// Longest question, and longest answer, in bytes.
const QUESTION_BYTES_MAX: u64 = 64 << 10;
const ANSWER_BYTES_MAX: u64 = 1 << 20;
/// How long somebody who asks may take to say it, and to hear the answer.
const PATIENCE: std::time::Duration = std::time::Duration::from_millis(500);
/// How long an answer may take.
const ANSWER_PATIENCE: std::time::Duration = std::time::Duration::from_secs(30);

/// The name of the door of the emulation that the process `pid` runs.
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

/// What answers: the text, or what is wrong.
pub type Answer = Box<dyn Fn(&[String]) -> Result<String, String> + Send>;

/// Doors that are open until this is dropped.
#[derive(Debug)]
pub struct Door {
    stop: Arc<Wake>,
    thread: Option<JoinHandle<()>>,
}

impl Door {
    /// Answers who asks at `listeners`, one after the other, in a thread of its own.
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

/// The processes with emulations that can be asked from here, in ascending order.
pub fn known() -> Vec<Pid> {
    let sockets = fs::read_to_string(SOCKETS).unwrap_or_default();
    let mut known: Vec<Pid> = sockets
        .lines()
        .filter_map(|line| line.split_whitespace().nth(7)?.strip_prefix('@')?.strip_prefix(NAME))
        .filter_map(|pid| Some(Pid::from_raw(pid.parse().ok()?)))
        .collect();
    known.sort_unstable();
    known.dedup();
    known
}

/// Asks the emulation of the process `pid`; returns its answer.
///
/// # Errors
/// If there is none, or it does not answer.
pub fn ask(pid: Pid, sets: &[String]) -> Result<Result<String, String>, OsError> {
    let address = SocketAddr::from_abstract_name(format!("{NAME}{pid}"));
    let mut stream =
        address.and_then(|address| UnixStream::connect_addr(&address)).call("connect(door)")?;
    let question: String = sets.iter().map(|set| format!("{set}\0")).collect();
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

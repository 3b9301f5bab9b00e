//! The signals that end a run, as a descriptor that is readable once one has come: SIGINT,
//! SIGTERM, SIGHUP and SIGQUIT.
//!
//! Handlers rather than signalfd(2), which needs the signals blocked in every thread of the
//! process: other threads belong to the program that links this crate.

use super::{Call, OsError};
use nix::errno::Errno;
use nix::sys::eventfd::{EfdFlags, EventFd};
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};

/// The signals that end a run.
const ENDING: [Signal; 4] = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGQUIT];

/// The descriptor that a handler writes to, -1 for none.
static WAKE: AtomicI32 = AtomicI32::new(-1);
/// The signals that came and were not taken: bit n for signal n; all of them are below 32.
static CAME: AtomicU32 = AtomicU32::new(0);

/// Catches the signals until it is dropped. A process can have one at a time.
#[derive(Debug)]
pub struct Signals {
    event: EventFd,
    before: Vec<(Signal, SigAction)>,
}

impl Signals {
    /// Catches SIGINT, SIGTERM, SIGQUIT, and SIGHUP unless it is ignored, as nohup(1) has it.
    #[expect(unsafe_code, reason = "installs signal handlers")]
    pub fn catch() -> Result<Self, OsError> {
        let flags = EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK;
        let event = EventFd::from_value_and_flags(0, flags).call("eventfd")?;
        CAME.store(0, Ordering::Relaxed);
        WAKE.store(event.as_fd().as_raw_fd(), Ordering::Release);
        let ours = SigAction::new(SigHandler::Handler(note), SaFlags::SA_RESTART, SigSet::empty());
        let mut signals = Self { event, before: Vec::new() };
        for signal in ENDING {
            // SAFETY: `note` does only what signal-safety(7) allows.
            let old = unsafe { sigaction(signal, &ours) }.call("sigaction")?;
            signals.before.push((signal, old));
            if signal == Signal::SIGHUP && matches!(old.handler(), SigHandler::SigIgn) {
                // SAFETY: the action that was there before.
                unsafe { sigaction(signal, &old) }.call("sigaction")?;
            }
        }
        Ok(signals)
    }

    /// Returns the signals that came since the last call, each once.
    pub fn take(&self) -> Vec<Signal> {
        let _ = self.event.read();
        let came = CAME.swap(0, Ordering::Relaxed);
        ENDING.into_iter().filter(|&s| came & (1 << s as u32) != 0).collect()
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.event.as_fd()
    }
}

impl Drop for Signals {
    #[expect(unsafe_code, reason = "puts the handlers back that were there before")]
    fn drop(&mut self) {
        for (signal, before) in &self.before {
            // SAFETY: the action that was there before.
            let _ = unsafe { sigaction(*signal, before) };
        }
        WAKE.store(-1, Ordering::Release);
    }
}

#[expect(unsafe_code, reason = "write(2) in a signal handler")]
extern "C" fn note(signal: libc::c_int) {
    CAME.fetch_or(1 << signal, Ordering::Relaxed);
    let fd = WAKE.load(Ordering::Acquire);
    if fd >= 0 {
        let errno = Errno::last_raw();
        // SAFETY: eight bytes of a value that lives; a descriptor closed meanwhile gives EBADF.
        unsafe { libc::write(fd, (&raw const ONE).cast(), 8) };
        Errno::set_raw(errno);
    }
}

static ONE: u64 = 1;

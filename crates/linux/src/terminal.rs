//! The terminal's foreground process group (credentials(7), tcsetpgrp(3)): that of
//! the command while it runs, as in a shell, so that signals from the keyboard go to
//! the command and not to the emulator. Terminal modes that the command changed and
//! did not restore, because it was killed, are restored (termios(3)).

use nix::fcntl::OFlag;
use nix::sys::signal::{SigSet, SigmaskHow, Signal, killpg, pthread_sigmask};
use nix::sys::stat::Mode;
use nix::sys::termios::{SetArg, Termios, tcgetattr, tcsetattr};
use nix::unistd::{Pid, getpgrp, tcgetpgrp, tcsetpgrp};
use std::os::fd::OwnedFd;

/// A controlling terminal with this process group in its foreground.
#[derive(Debug)]
pub struct Terminal {
    tty: OwnedFd,
    modes: Option<Termios>,
}

impl Terminal {
    /// Returns the controlling terminal; `None` if there is none, or in its background.
    pub fn foreground() -> Option<Self> {
        let tty = open()?;
        let modes = tcgetattr(&tty).ok();
        (tcgetpgrp(&tty).ok()? == getpgrp()).then_some(Self { tty, modes })
    }

    /// Puts this process group in the foreground again, and restores the modes.
    pub fn take_back(&self) {
        give(&self.tty, getpgrp());
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.take_back();
        if let Some(modes) = &self.modes {
            // At once: otherwise it waits for output, also that of a terminal that is stopped.
            let _ = tcsetattr(&self.tty, SetArg::TCSANOW, modes);
        }
    }
}

/// Puts `group`, a process group of this session, in the foreground of the session's terminal, if
/// there is one.
pub fn put_in_foreground(group: Pid) {
    if let Some(tty) = open() {
        give(&tty, group);
    }
}

/// Stops this process group as the terminal's stop key does; returns once it is resumed.
pub fn stop_ourselves() {
    let _ = killpg(getpgrp(), Signal::SIGSTOP);
}

fn open() -> Option<OwnedFd> {
    let flags = OFlag::O_RDWR | OFlag::O_CLOEXEC | OFlag::O_NOCTTY;
    nix::fcntl::open("/dev/tty", flags, Mode::empty()).ok()
}

fn give(tty: &OwnedFd, group: Pid) {
    // From the background this stops the caller, unless it blocks the signal.
    let mut mask = SigSet::empty();
    mask.add(Signal::SIGTTOU);
    let mut before = SigSet::empty();
    let _ = pthread_sigmask(SigmaskHow::SIG_BLOCK, Some(&mask), Some(&mut before));
    let _ = tcsetpgrp(tty, group);
    let _ = pthread_sigmask(SigmaskHow::SIG_SETMASK, Some(&before), None);
}

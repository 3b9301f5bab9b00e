//! Signals that end a command: recorded on arrival, checked where the command can stop. SIGINT,
//! SIGTERM and SIGHUP are treated alike; only the number of the latest one is kept.

use crate::failure::Failure;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The latest signal of SIGINT, SIGTERM and SIGHUP, if any. While this exists, these signals do not
/// end the process.
#[derive(Clone, Debug)]
pub struct Interrupt(Arc<AtomicUsize>);

impl Interrupt {
    /// Starts to record signals.
    ///
    /// # Errors
    /// An error if the system refuses the handlers.
    pub fn catch() -> Result<Self, Failure> {
        let came = Arc::new(AtomicUsize::new(0));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            let number = signal as usize;
            signal_hook::flag::register_usize(signal, Arc::clone(&came), number)
                .map_err(|why| Failure::Message(format!("sigaction: {why}")))?;
        }
        Ok(Self(came))
    }

    /// Returns the number of the latest signal; 0 if none arrived.
    pub fn noted(&self) -> Arc<AtomicUsize> {
        Arc::clone(&self.0)
    }

    /// Whether a signal arrived.
    pub fn came(&self) -> bool {
        self.0.load(Ordering::Relaxed) != 0
    }

    /// Returns `Ok` if no signal arrived.
    ///
    /// # Errors
    /// An error after a signal.
    pub fn check(&self) -> Result<(), Failure> {
        match self.0.load(Ordering::Relaxed) {
            0 => Ok(()),
            signal => Err(Failure::Interrupted { signal: signal as u8 }),
        }
    }
}

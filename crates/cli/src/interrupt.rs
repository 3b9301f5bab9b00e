//! Signals that ask to end: noted when they come, looked at when it suits.

use crate::failure::Failure;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The signal that came last, if one did. From its making on, SIGINT, SIGTERM
/// and SIGHUP no longer end the process.
#[derive(Clone, Debug)]
pub struct Interrupt(Arc<AtomicUsize>);

impl Interrupt {
    /// Begins to note signals.
    ///
    /// # Errors
    /// If the system does not let us.
    pub fn catch() -> Result<Self, Failure> {
        let came = Arc::new(AtomicUsize::new(0));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            let number = signal as usize;
            signal_hook::flag::register_usize(signal, Arc::clone(&came), number)
                .map_err(|why| Failure::Message(format!("sigaction: {why}")))?;
        }
        Ok(Self(came))
    }

    /// Where the number of the signal is noted.
    pub fn noted(&self) -> Arc<AtomicUsize> {
        Arc::clone(&self.0)
    }

    /// A signal came.
    pub fn came(&self) -> bool {
        self.0.load(Ordering::Relaxed) != 0
    }

    /// # Errors
    /// If a signal came.
    pub fn check(&self) -> Result<(), Failure> {
        match self.0.load(Ordering::Relaxed) {
            0 => Ok(()),
            signal => Err(Failure::Interrupted { signal: signal as u8 }),
        }
    }
}

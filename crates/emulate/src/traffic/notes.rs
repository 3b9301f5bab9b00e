//! Reports of the traffic's thread to the network's. With real-time priority the network's thread
//! interrupts the other one at any instruction, and a channel of the standard library makes its
//! reader wait, without sleep, for a writer that it has interrupted: for ever, if no processor is
//! left. This reader never waits.

use super::Note;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError, TryLockError};

/// Reports in their order, shared by the threads.
#[derive(Clone, Debug, Default)]
pub(super) struct Notes(Arc<Mutex<VecDeque<Note>>>);

impl Notes {
    /// Adds a report.
    pub(super) fn push(&self, note: Note) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push_back(note);
    }

    /// Returns the oldest report; `None` if there is none, or if one is being added now.
    pub(super) fn take(&self) -> Option<Note> {
        match self.0.try_lock() {
            Ok(mut notes) => notes.pop_front(),
            Err(TryLockError::Poisoned(notes)) => notes.into_inner().pop_front(),
            Err(TryLockError::WouldBlock) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lasthop_packet::FlowId;
    use lasthop_units::{Duration, Instant};

    #[test]
    fn a_reader_does_not_wait_for_an_interrupted_writer() {
        let notes = Notes::default();
        let note = |ms| Note::RoundTrip(Instant::ZERO, FlowId(0), Duration::from_millis(ms));
        notes.push(note(1));
        notes.push(note(2));
        let writing = notes.0.lock().unwrap();
        assert!(notes.take().is_none());
        drop(writing);
        let taken = [notes.take(), notes.take(), notes.take()];
        let times = taken.map(|note| match note {
            Some(Note::RoundTrip(_, _, rtt)) => rtt.as_millis_f64(),
            _ => 0.0,
        });
        assert_eq!(times, [1.0, 2.0, 0.0]);
    }
}

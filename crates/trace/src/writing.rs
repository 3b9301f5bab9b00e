//! Where the files of a run are written: on the thread that reports (emulation, streams),
//! or on one of its own, so that a simulator goes on meanwhile. Reports are handed over in
//! chunks through a channel that holds few of them: who reports waits if the files are
//! slower, and the memory does not depend on the length of the run.

use crate::files::{Report, Wants, Writers};
use crate::names::Names;
use crate::output::OutputError;
use lasthop_hosts::Frames;
use lasthop_wifi::event::Event;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread::{self, JoinHandle};

/// Weight of a chunk; a report weighs 1, and 1 more for each MPDU.
const CHUNK_WEIGHT: usize = 1_024;
/// Number of chunks that wait for the thread at most.
const CHUNKS_WAITING: usize = 16;

/// Who writes the files of a run.
#[derive(Debug)]
pub(crate) enum Writing {
    /// The thread that reports.
    Here(Box<Writers>),
    /// A thread of its own.
    Beside(Beside),
}

/// A thread that writes. It ends with this value, at the latest after the chunk at hand.
#[derive(Debug)]
pub(crate) struct Beside {
    wants: Wants,
    chunk: Vec<Report>,
    weight: usize,
    /// `None` once no more reports follow.
    filled: Option<SyncSender<Vec<Report>>>,
    /// Chunks that can be filled again.
    emptied: Receiver<Vec<Report>>,
    thread: Option<JoinHandle<Result<(), OutputError>>>,
    state: Arc<State>,
}

#[derive(Debug, Default)]
struct State {
    /// A file could not be written.
    failed: AtomicBool,
    /// Nobody needs the files any more.
    stopped: AtomicBool,
}

impl Writing {
    /// Which reports are needed.
    pub(crate) fn wants(&self) -> Wants {
        match self {
            Self::Here(writers) => writers.wants(),
            Self::Beside(beside) => beside.wants,
        }
    }

    /// Writes what is reported, if not at once. `frames` is not asked on another thread: a
    /// driver's frames are gone by then.
    pub(crate) fn report(&mut self, report: Report, frames: Frames<'_>, names: &Names) {
        match self {
            Self::Here(writers) => writers.handle(&report, frames, names),
            Self::Beside(beside) => beside.report(report),
        }
    }

    /// Whether a file could not be written.
    pub(crate) fn failed(&self) -> bool {
        match self {
            Self::Here(writers) => writers.failed(),
            Self::Beside(beside) => beside.failed(),
        }
    }

    /// Hands the files over to a thread of their own.
    pub(crate) fn beside(self, names: &Names) -> Result<Self, OutputError> {
        match self {
            Self::Here(writers) => Ok(Self::Beside(Beside::new(writers, names.clone())?)),
            Self::Beside(_) => Ok(self),
        }
    }

    /// Completes the files.
    pub(crate) fn close(self) -> Result<(), OutputError> {
        match self {
            Self::Here(writers) => writers.close(),
            Self::Beside(beside) => beside.close(),
        }
    }
}

impl Beside {
    fn new(writers: Box<Writers>, names: Names) -> Result<Self, OutputError> {
        let wants = writers.wants();
        let (filled, chunks) = mpsc::sync_channel(CHUNKS_WAITING);
        let (returned, emptied) = mpsc::sync_channel(CHUNKS_WAITING + 2);
        let state = Arc::new(State::default());
        let theirs = Arc::clone(&state);
        let thread = thread::Builder::new()
            .name("files".to_owned())
            .spawn(move || write(writers, &names, &chunks, &returned, &theirs))
            .map_err(OutputError::Thread)?;
        let (chunk, weight) = (Vec::with_capacity(CHUNK_WEIGHT), 0);
        let (filled, thread) = (Some(filled), Some(thread));
        Ok(Self { wants, chunk, weight, filled, emptied, thread, state })
    }

    #[inline]
    fn report(&mut self, report: Report) {
        self.weight += match &report {
            Report::Event(Event::Ppdu(ppdu)) => 1 + ppdu.frames().count(),
            _ => 1,
        };
        self.chunk.push(report);
        if self.weight >= CHUNK_WEIGHT {
            self.hand_over();
        }
    }

    /// Sends the chunk at hand, and takes one that is empty.
    #[cold]
    fn hand_over(&mut self) {
        let empty = self.emptied.try_recv().unwrap_or_else(|_| Vec::with_capacity(CHUNK_WEIGHT));
        let chunk = std::mem::replace(&mut self.chunk, empty);
        self.weight = 0;
        // The thread takes reports until there are no more of them, unless it panicked:
        // then it takes none, and `close` panics, too.
        if let Some(filled) = &self.filled
            && filled.send(chunk).is_err()
        {
            self.state.failed.store(true, Ordering::Relaxed);
            self.filled = None;
        }
    }

    fn failed(&self) -> bool {
        self.state.failed.load(Ordering::Relaxed)
    }

    fn close(mut self) -> Result<(), OutputError> {
        self.hand_over();
        self.filled = None;
        let thread = self.thread.take().expect("only this and a drop take it");
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

impl Drop for Beside {
    /// Waits until the thread has ended, whose files nobody needs.
    fn drop(&mut self) {
        self.state.stopped.store(true, Ordering::Relaxed);
        self.filled = None;
        if let Some(thread) = self.thread.take() {
            // A panic has been reported when it happened.
            let _ = thread.join();
        }
    }
}

/// What the thread does.
fn write(
    mut writers: Box<Writers>,
    names: &Names,
    filled: &Receiver<Vec<Report>>,
    emptied: &SyncSender<Vec<Report>>,
    state: &State,
) -> Result<(), OutputError> {
    for mut chunk in filled {
        if state.stopped.load(Ordering::Relaxed) {
            return Ok(());
        }
        for report in chunk.drain(..) {
            writers.handle(&report, &|_| None, names);
        }
        if writers.failed() {
            state.failed.store(true, Ordering::Relaxed);
        }
        // Nobody takes it back in the end.
        let _ = emptied.try_send(chunk);
    }
    match state.stopped.load(Ordering::Relaxed) {
        true => Ok(()),
        false => writers.close(),
    }
}

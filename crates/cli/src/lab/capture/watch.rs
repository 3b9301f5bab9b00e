//! Watches a capture that continues. One thread reads packets and analyses them; this one takes a
//! reading each second, shows it, and checks for keys and interrupts, even without packets.
//! Standard output stays free for the report.

use super::source::{Sink, Source};
use super::view::{Action, View};
use crate::console;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::table::{count, many, percent};
use lasthop_capture::analysis::{Analysis, Malformed};
use lasthop_capture::file::{Packet, ReadError};
use lasthop_capture::live::{Found, Meter, Reading};
use lasthop_linux::clock::Clock;
use lasthop_units::Instant;
use std::fmt::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// Time between two readings.
const EVERY: lasthop_units::Duration = lasthop_units::Duration::from_secs(1);
/// Longest time between checks for keys and interrupts.
const LOOK: Duration = Duration::from_millis(50);

/// Forms of watching a capture.
#[derive(Debug)]
pub struct CaptureWatch {
    /// Whether lines are printed on standard error.
    has_lines: bool,
    /// When a view starts, if it does: at the first reading, or as soon as possible.
    view: Option<When>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum When {
    AtOnce,
    /// After a packet and one second: a shorter capture needs no view.
    Later,
}

/// State shared by both threads.
#[derive(Debug, Default)]
struct Shared {
    analysis: Mutex<Analysis>,
    /// Whether the watching thread waits for the analysis, which the other one then releases.
    is_wanted: AtomicBool,
    /// Whether the reading must stop.
    is_over: AtomicBool,
}

impl CaptureWatch {
    /// Chooses the form: `is_asked` if the user wants to watch, `is_shown` if the terminal can show
    /// a view.
    pub fn new(is_asked: bool, is_shown: bool, source: &Source) -> Self {
        let when = if is_asked || source.is_interface() { When::AtOnce } else { When::Later };
        Self { has_lines: is_asked && !is_shown, view: is_shown.then_some(when) }
    }

    /// Watches `source` until it ends or is ended. Adds its packets to `analysis` and returns that,
    /// unfinished.
    ///
    /// An error if it is no capture.
    pub fn run(
        self,
        source: Source,
        analysis: Analysis,
        interrupt: &Interrupt,
    ) -> Result<Analysis, Failure> {
        let shared = Arc::new(Shared { analysis: Mutex::new(analysis), ..Shared::default() });
        let is_interface = source.is_interface();
        let (name, note) = (source.name().to_owned(), source.note().map(str::to_owned));
        let (sender, ended) = mpsc::channel();
        let mut reads = Reads(Arc::clone(&shared));
        let reader = thread::Builder::new().name("capture".into()).spawn(move || {
            let result = source.read(&mut reads);
            // After an interrupt, no thread waits for it.
            let _ = sender.send(result);
        });
        let reader = reader.map_err(|why| Failure::message(format!("thread: {why}")))?;
        let result = self.watch(&shared, &reader.thread().clone(), &name, note, &ended, interrupt);
        shared.is_over.store(true, Ordering::Relaxed);
        // That of an interface is over in a moment; one that waits for a pipe ends with the process.
        if result.is_some() || is_interface {
            // If it has ended by a panic, that goes on here.
            if let Err(panic) = reader.join() {
                std::panic::resume_unwind(panic);
            }
        }
        // The pipe's writer may have been interrupted, too, and left it empty.
        if let Some(Err(why)) = result {
            interrupt.check()?;
            return Err(Failure::message(format!("{name}: {why}")));
        }
        Ok(std::mem::take(&mut *lock(&shared.analysis)))
    }

    /// Watches until the reading thread ends; returns its result, or `None` if the capture was
    /// ended here.
    fn watch(
        &self,
        shared: &Shared,
        reader: &thread::Thread,
        name: &str,
        note: Option<String>,
        ended: &mpsc::Receiver<Result<(), ReadError>>,
        interrupt: &Interrupt,
    ) -> Option<Result<(), ReadError>> {
        let clock = Clock::start();
        let mut meter = Meter::default();
        let (mut last, mut next) = (Instant::ZERO, Instant::ZERO);
        let mut wanted = self.view;
        let mut view = None;
        if wanted == Some(When::AtOnce) {
            view = View::start(name, note.clone());
            wanted = None;
        } else {
            next += EVERY;
        }
        loop {
            let is_ended = match &mut view {
                None => match ended.recv_timeout(LOOK) {
                    Err(RecvTimeoutError::Timeout) => None,
                    result => Some(result.unwrap_or(Ok(()))),
                },
                Some(view) => match view.look(LOOK) {
                    Action::End => return None,
                    Action::Nothing => match ended.try_recv() {
                        Err(mpsc::TryRecvError::Empty) => None,
                        result => Some(result.unwrap_or(Ok(()))),
                    },
                },
            };
            if is_ended.is_some() {
                return is_ended;
            }
            if interrupt.came() {
                return None;
            }
            let now = clock.now();
            if now < next {
                continue;
            }
            next = now + EVERY;
            if view.is_none() && wanted.is_none() && !self.has_lines {
                continue;
            }
            let elapsed = now - last;
            last = now;
            shared.is_wanted.store(true, Ordering::Relaxed);
            let (reading, dropped) = {
                let analysis = lock(&shared.analysis);
                (meter.read(&analysis, elapsed), analysis.dropped)
            };
            shared.is_wanted.store(false, Ordering::Relaxed);
            reader.unpark();
            if self.has_lines {
                console::error(&lines(&reading, dropped));
            }
            if reading.frames > 0 && wanted.take().is_some() {
                view = View::start(name, note.clone());
            }
            if let Some(view) = &mut view {
                view.show(reading, dropped, now - Instant::ZERO);
            }
        }
    }
}

/// Receiver of the reading thread.
struct Reads(Arc<Shared>);

impl Reads {
    /// Returns the analysis as soon as the watching thread does not want it.
    fn analysis(&self) -> MutexGuard<'_, Analysis> {
        while self.0.is_wanted.load(Ordering::Relaxed) {
            thread::park_timeout(Duration::from_millis(1));
        }
        lock(&self.0.analysis)
    }
}

impl Sink for Reads {
    fn handle_packet(&mut self, packet: &Packet<'_>) {
        self.analysis().handle_packet(packet);
    }

    fn handle_error(&mut self, error: Malformed) {
        self.analysis().file.errors.push(error);
    }

    fn handle_dropped(&mut self, packets: u64) {
        self.analysis().dropped = packets;
    }

    fn is_over(&mut self) -> bool {
        self.0.is_over.load(Ordering::Relaxed)
    }
}

/// Locks the analysis. If the other thread panicked, the panic continues here.
fn lock(analysis: &Mutex<Analysis>) -> MutexGuard<'_, Analysis> {
    analysis.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Formats a reading as text: a line, and one for each new finding.
fn lines(reading: &Reading, dropped: u64) -> String {
    let mut line = format!(
        "{:>6.0} s  {}  {}/s",
        reading.length.as_secs_f64(),
        many(reading.frames, "frame"),
        count(reading.frames_per_s.round() as u64)
    );
    for (share, what) in [(reading.busy, "air"), (reading.captured, "captured")] {
        if let Some(share) = share {
            let _ = write!(line, "  {what} {} %", percent(share));
        }
    }
    let _ = write!(line, "  stations {}", reading.stations.len());
    if dropped > 0 {
        let _ = write!(line, "  {} dropped", count(dropped));
    }
    line.push('\n');
    let first = |found: &&Found| found.age == lasthop_units::Duration::ZERO;
    for found in reading.findings.iter().filter(first) {
        let _ = writeln!(line, "          {}.", found.finding.sentence);
    }
    line
}

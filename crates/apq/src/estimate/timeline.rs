//! A record in the order of sending, on one clock: for each packet that arrived,
//! the time at which it was sent, in seconds from the start of the phase by the
//! sender's clock, and its delay, of which only differences are meaningful.
//!
//! Records come from the network. Samples that no packet of the plan can have
//! caused are left out: unknown numbers, second copies, times outside of the phase.

use super::statistics::{median, sorted};
use crate::plan::{PhasePlan, StreamKind};
use crate::record::{PhaseRecord, Sample};
use alloc::vec::Vec;

/// Longest time before or after its phase at which a packet may be sent, in seconds; later packets
/// are not part of the phase.
const STRAY_S: f64 = 30.0;

/// Largest difference of a delay from the median delay, in seconds.
const DELAY_SPREAD_S: f64 = 120.0;

/// Largest drift of two clocks in seconds per second: crystals are within 100 ppm,
/// and NTP slews by at most 500 ppm.
pub const DRIFT_MAX: f64 = 700e-6;

/// Difference of medians of a few delays over Wi-Fi without drift, in seconds.
const JITTER_S: f64 = 0.001;

/// A part of a phase, in seconds from the start of the phase.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// Start of the window, inclusive.
    pub begin: f64,
    /// End of the window, exclusive.
    pub end: f64,
}

impl Window {
    /// The window from `begin` until before `end`.
    pub const fn new(begin: f64, end: f64) -> Self {
        Self { begin, end }
    }

    /// Whether `time` is in the window.
    pub fn contains(&self, time: f64) -> bool {
        self.begin <= time && time < self.end
    }

    /// Length of the window in seconds.
    pub fn length(&self) -> f64 {
        self.end - self.begin
    }
}

/// The parts of a phase in which the queue is empty, and in which it is full.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Windows {
    /// Empty: before the saturation flow.
    pub before: Window,
    /// Full: during the saturation flow.
    pub full: Window,
    /// Empty: after the saturation flow.
    pub after: Window,
}

/// A packet that arrived.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Passage {
    /// Flow of the packet.
    pub kind: StreamKind,
    /// Sequence number in the flow.
    pub sequence: u32,
    /// Time at which it was sent, in seconds from the start of the phase.
    pub sent: f64,
    /// Delay less [`Timeline::delay_ns`], in seconds.
    pub delay: f64,
}

impl Passage {
    /// Returns the time at which it arrived by the sender's clock, with [`Timeline::delay_ns`]
    /// counted as zero.
    pub fn received(&self) -> f64 {
        self.sent + self.delay
    }
}

/// A record in the order of sending.
#[derive(Clone, Debug, PartialEq)]
pub struct Timeline {
    /// The packets, in the order of sending.
    pub passages: Vec<Passage>,
    /// The delay of the first sample in ns, including the offset of the clocks; all
    /// delays are relative to it.
    pub delay_ns: i64,
}

impl Timeline {
    /// Puts `record` in order. `plan` lists the packets to send.
    pub fn new(plan: &PhasePlan, record: &PhaseRecord) -> Self {
        let delay_ns = record.samples.first().map_or(0, Sample::delay_ns);
        let end = plan.duration().as_secs_f64() + STRAY_S;
        let mut passages: Vec<Passage> = record
            .samples
            .iter()
            .filter(|sample| plan.locate(sample.kind, sample.sequence).is_some())
            .map(|sample| Passage {
                kind: sample.kind,
                sequence: sample.sequence,
                sent: seconds(sample.sent_ns.wrapping_sub(record.started_ns) as i64),
                delay: seconds(sample.delay_ns().wrapping_sub(delay_ns)),
            })
            .filter(|passage| passage.sent > -STRAY_S && passage.sent < end)
            .collect();
        let middle = median(passages.iter().map(|passage| passage.delay)).unwrap_or(0.0);
        passages.retain(|passage| libm::fabs(passage.delay - middle) < DELAY_SPREAD_S);
        // Stable, so that of two copies the one that arrived first remains.
        passages.sort_by_key(|passage| (passage.kind, passage.sequence));
        passages.dedup_by_key(|passage| (passage.kind, passage.sequence));
        passages.sort_by(|a, b| a.sent.total_cmp(&b.sent));
        Self { passages, delay_ns }
    }

    /// The packets of one flow, in the order of sending.
    pub fn of_stream(&self, kind: StreamKind) -> impl Iterator<Item = &Passage> + Clone {
        self.passages.iter().filter(move |passage| passage.kind == kind)
    }

    /// The packets of one flow that were sent in `window`.
    pub fn sent_in(
        &self,
        kind: StreamKind,
        window: Window,
    ) -> impl Iterator<Item = &Passage> + Clone {
        self.of_stream(kind).filter(move |passage| window.contains(passage.sent))
    }

    /// Computes the drift of the receiver's clock relative to the sender's, from
    /// packets that met an empty queue in two windows, and removes it from all
    /// delays. Returns it in seconds per second. Returns `None`, and changes
    /// nothing, if a window is empty or if clocks cannot drift that much.
    pub fn remove_drift(&mut self, before: Window, after: Window) -> Option<f64> {
        let middle = |window| {
            let sent = median(self.sent_in(StreamKind::Sparse, window).map(|p| p.sent))?;
            Some((sent, median(self.sent_in(StreamKind::Sparse, window).map(|p| p.delay))?))
        };
        let (first, second): ((f64, f64), (f64, f64)) = (middle(before)?, middle(after)?);
        let (between, gained) = (second.0 - first.0, second.1 - first.1);
        if between <= 0.0 || libm::fabs(gained) > DRIFT_MAX * between + JITTER_S {
            return None;
        }
        let drift = gained / between;
        for passage in &mut self.passages {
            passage.delay -= drift * passage.sent;
        }
        Some(drift)
    }

    /// Returns the times at which packets of both flows arrived, sorted; see [`Passage::received`].
    pub fn arrivals(&self) -> Vec<f64> {
        sorted(self.passages.iter().map(Passage::received))
    }
}

fn seconds(nanos: i64) -> f64 {
    nanos as f64 / 1e9
}

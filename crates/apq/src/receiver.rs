//! The receiver of a phase: one sample per packet; copies are counted and left out. The receiver
//! stores at most as many samples as the plan has packets. Times are those of the driver. Leaves
//! out the evaluation of samples.

use crate::plan::{PhasePlan, StreamKind};
use crate::record::Sample;
use alloc::vec;
use alloc::vec::Vec;
use lasthop_units::{Duration, Instant};

/// Time without a packet after which none is in flight: longer than the interval of the baseline
/// flow.
const QUIET: Duration = Duration::from_millis(300);
/// Longest wait for the last packets of a phase.
const QUIET_MAX: Duration = Duration::from_secs(6);

/// Receives the packets of one phase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receiver {
    samples: Vec<Sample>,
    /// One bit per packet of the plan, by kind.
    seen: [Seen; 2],
    duplicates: u32,
    latest: Instant,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Seen {
    packets: u64,
    bits: Vec<u64>,
}

impl Seen {
    fn new(plan: &PhasePlan, kind: StreamKind) -> Self {
        let streams = plan.streams.iter().filter(|stream| stream.kind == kind);
        let packets = streams.map(|stream| stream.packets()).sum();
        Self { packets, bits: vec![0; packets.div_ceil(64) as usize] }
    }

    /// Marks a packet as seen. `None` if the plan has no such packet, else whether
    /// it is the first copy.
    fn take(&mut self, sequence: u32) -> Option<bool> {
        if u64::from(sequence) >= self.packets {
            return None;
        }
        let (word, bit) = (&mut self.bits[sequence as usize / 64], 1 << (sequence % 64));
        let is_first = *word & bit == 0;
        *word |= bit;
        Some(is_first)
    }
}

impl Receiver {
    /// A receiver for the packets of `plan`, from `now` on.
    pub fn new(plan: &PhasePlan, now: Instant) -> Self {
        let seen = StreamKind::ALL.map(|kind| Seen::new(plan, kind));
        Self { samples: Vec::new(), seen, duplicates: 0, latest: now }
    }

    /// Handles a packet that arrived.
    pub fn handle(&mut self, now: Instant, sample: Sample) {
        match self.seen[sample.kind.index()].take(sample.sequence) {
            Some(true) => {
                self.samples.push(sample);
                self.latest = now;
            }
            Some(false) => self.duplicates = self.duplicates.saturating_add(1),
            None => {}
        }
    }

    /// Returns the time at which the phase ends if no packet arrives before; `finished` is when the
    /// sender reported to be done.
    pub fn quiet_at(&self, finished: Instant) -> Instant {
        (self.latest.max(finished) + QUIET).min(finished + QUIET_MAX)
    }

    /// The samples so far, in the order of arrival.
    pub fn samples(&self) -> &[Sample] {
        &self.samples
    }

    /// Moves the content out and leaves an empty receiver.
    pub fn take(&mut self) -> Self {
        let empty = Seen { packets: 0, bits: Vec::new() };
        let nothing = Self {
            samples: Vec::new(),
            seen: [empty.clone(), empty],
            duplicates: 0,
            latest: self.latest,
        };
        core::mem::replace(self, nothing)
    }

    /// Moves out the samples, in the order of arrival; also returns the number of
    /// copies.
    pub fn take_samples(&mut self) -> (Vec<Sample>, u32) {
        (core::mem::take(&mut self.samples), self.duplicates)
    }

    /// Number of copies that arrived after the first.
    pub fn duplicates(&self) -> u32 {
        self.duplicates
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::StreamPlan;

    fn sample(kind: StreamKind, sequence: u32) -> Sample {
        Sample { kind, sequence, sent_ns: 0, received_ns: 0 }
    }

    #[test]
    fn what_was_not_planned_or_came_before_is_left_out() {
        let stream = StreamPlan {
            kind: StreamKind::Bulk,
            packet_bytes: 100,
            interval: Duration::from_millis(1),
            begin: Duration::ZERO,
            end: Duration::from_millis(100),
        };
        let mut receiver = Receiver::new(&PhasePlan { streams: vec![stream] }, Instant::ZERO);
        for sequence in [0, 99, 64, 99, 100, u32::MAX] {
            receiver.handle(Instant::ZERO, sample(StreamKind::Bulk, sequence));
        }
        receiver.handle(Instant::ZERO, sample(StreamKind::Sparse, 0));
        let (samples, duplicates) = receiver.take_samples();
        assert_eq!(samples.iter().map(|s| s.sequence).collect::<Vec<_>>(), [0, 99, 64]);
        assert_eq!(duplicates, 1);
    }
}

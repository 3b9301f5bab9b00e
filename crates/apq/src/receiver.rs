//! The receiver of a phase: one sample a packet, whatever comes twice counted
//! and left out. Holds no more than the plan has packets.

use crate::plan::{PhasePlan, StreamKind};
use crate::record::Sample;
use alloc::vec;
use alloc::vec::Vec;
use lasthop_units::{Duration, Instant};

/// No packet for so long: none is in flight any more. Longer than two packets
/// of the baseline flow are apart.
const QUIET: Duration = Duration::from_millis(300);
/// Longest wait for the last packets of a phase.
const QUIET_MAX: Duration = Duration::from_secs(6);

/// Receives one phase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receiver {
    samples: Vec<Sample>,
    /// A bit for each packet of the plan, by kind.
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

    /// `None` if there is no such packet, else whether it is the first of its number.
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
    /// For the packets of `plan`, from `now` on.
    pub fn new(plan: &PhasePlan, now: Instant) -> Self {
        let seen = StreamKind::ALL.map(|kind| Seen::new(plan, kind));
        Self { samples: Vec::new(), seen, duplicates: 0, latest: now }
    }

    /// A packet arrived.
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

    /// When nothing more is to be expected, if nothing comes until then;
    /// `finished` is when the sender was heard to be done.
    pub fn quiet_at(&self, finished: Instant) -> Instant {
        (self.latest.max(finished) + QUIET).min(finished + QUIET_MAX)
    }

    /// What came, in the order of arrival.
    pub fn samples(&self) -> &[Sample] {
        &self.samples
    }

    /// Takes it as it is.
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

    /// Takes what came, in the order of arrival, and how much came more than once.
    pub fn take_samples(&mut self) -> (Vec<Sample>, u32) {
        (core::mem::take(&mut self.samples), self.duplicates)
    }

    /// Packets that came more than once.
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

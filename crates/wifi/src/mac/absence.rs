//! Waits of frames for an absent station, which is off its channel (background scan), dozes (power
//! save, IEEE 802.11-2020, 11.2.3), or is between access points (11.3). Their time within a
//! packet's wait is [`Absent`].
//!
//! A history keeps [`SPANS_MAX`] spans. If a packet waited through more, the oldest ones count to
//! the parts that they would be in without an absence.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use lasthop_packet::Absent;
use lasthop_units::{Duration, Instant};

/// Number of spans that a history keeps. A station that wakes for every beacon causes ten a second,
/// so only a wait of 100 s exceeds it.
pub const SPANS_MAX: usize = 1024;

/// Cause of a station's absence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The station scans other channels for access points.
    Away,
    /// The station dozes to save power.
    Asleep,
    /// The station has no access point.
    Roam,
}

/// A time in which frames had to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Instant at which the span begins.
    pub from: Instant,
    /// Instant at which the span ends; [`Instant::MAX`] while it lasts.
    pub until: Instant,
    /// Cause of the absence.
    pub cause: Cause,
}

/// The latest spans of one reason to wait, in order and disjoint.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Absences {
    spans: VecDeque<Span>,
}

impl Absences {
    /// Sets whether frames must wait from `now` on, and for which `cause`. `now` must never
    /// decrease.
    pub fn set(&mut self, now: Instant, cause: Option<Cause>) {
        if let Some(last) = self.spans.back_mut()
            && last.until == Instant::MAX
        {
            if Some(last.cause) == cause {
                return;
            }
            last.until = now;
            if last.from == now {
                self.spans.pop_back();
            }
        }
        if let Some(cause) = cause {
            if self.spans.len() == SPANS_MAX {
                self.spans.pop_front();
            }
            self.spans.push_back(Span { from: now, until: Instant::MAX, cause });
        }
    }

    /// Returns the spans that end after `since`, in order.
    pub fn since(&self, since: Instant) -> impl Iterator<Item = Span> + Clone + '_ {
        let first = self.spans.partition_point(|span| span.until <= since);
        self.spans.range(first..).copied()
    }
}

/// The absences that delayed one MPDU, or several to the same peer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Waits {
    /// Spans that hold packets in the upper queue, disjoint.
    above: Vec<Span>,
    /// Spans that hold packets that the driver has taken, disjoint.
    below: Vec<Span>,
}

impl Waits {
    /// Returns the waits of spans that hold packets above and below the driver; spans may overlap
    /// and need not be in order.
    pub fn new(above: Vec<Span>, below: Vec<Span>) -> Self {
        Self { above: disjoint(above), below: disjoint(below) }
    }

    /// Whether no absence delayed a packet.
    pub fn is_empty(&self) -> bool {
        self.above.is_empty() && self.below.is_empty()
    }

    /// Returns the time of absences between `from` and `to`, for a packet that left the upper queue
    /// at `dequeued`.
    pub fn within(&self, from: Instant, to: Instant, dequeued: Instant) -> Absent {
        within(&self.above, from, to.min(dequeued)) + within(&self.below, from.max(dequeued), to)
    }
}

fn within(spans: &[Span], from: Instant, to: Instant) -> Absent {
    let [mut away, mut asleep, mut roam] = [Duration::ZERO; 3];
    for span in spans {
        let time = span.until.min(to).saturating_since(span.from.max(from));
        match span.cause {
            Cause::Away => away += time,
            Cause::Asleep => asleep += time,
            Cause::Roam => roam += time,
        }
    }
    Absent::new(away, asleep, roam)
}

/// The union of `spans`; if two overlap, the one that began first counts.
fn disjoint(mut spans: Vec<Span>) -> Vec<Span> {
    spans.sort_by_key(|span| span.from);
    let mut end = Instant::ZERO;
    for span in &mut spans {
        span.from = span.from.max(end).min(span.until);
        end = end.max(span.until);
    }
    spans
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(nanos: u64) -> Instant {
        Instant::ZERO + Duration::from_nanos(nanos)
    }

    const CAUSES: [Cause; 3] = [Cause::Away, Cause::Asleep, Cause::Roam];

    fn span((from, length, cause): (u64, u64, usize)) -> Span {
        let cause = CAUSES[cause];
        Span { from: at(from), until: at(from + length), cause }
    }

    #[test]
    fn a_history_keeps_the_latest_spans() {
        let mut absences = Absences::default();
        for n in 0..3 * SPANS_MAX as u64 {
            absences.set(at(10 * n), Some(Cause::Away));
            absences.set(at(10 * n), Some(Cause::Away));
            absences.set(at(10 * n + 4), None);
        }
        assert_eq!(absences.since(at(0)).count(), SPANS_MAX);
        let last = 10 * (3 * SPANS_MAX as u64 - 1);
        let spans: Vec<_> = absences.since(at(last)).collect();
        assert_eq!(spans, [span((last, 4, 0))]);
        assert_eq!(absences.since(at(last + 4)).count(), 0);
    }

    #[test]
    fn another_cause_is_another_span() {
        let mut absences = Absences::default();
        absences.set(at(1), Some(Cause::Away));
        absences.set(at(3), Some(Cause::Asleep));
        absences.set(at(3), None);
        absences.set(at(7), Some(Cause::Asleep));
        let last = Span { from: at(7), until: Instant::MAX, cause: Cause::Asleep };
        assert_eq!(absences.since(at(0)).collect::<Vec<_>>(), [span((1, 2, 0)), last]);
    }

    #[test]
    fn waits_are_empty_without_spans() {
        let one = || [span((1, 2, 0))].to_vec();
        assert!(Waits::new([].to_vec(), [].to_vec()).is_empty());
        assert!(!Waits::new(one(), [].to_vec()).is_empty());
        assert!(!Waits::new([].to_vec(), one()).is_empty());
    }

    proptest! {
        /// The result equals a count nanosecond by nanosecond.
        #[test]
        fn absences_count_once(
            above in prop::collection::vec((0..60u64, 0..30u64, 0..3usize), 0..6),
            below in prop::collection::vec((0..60u64, 0..30u64, 0..3usize), 0..6),
            from in 0..100u64, length in 0..100u64, dequeued in 0..100u64,
        ) {
            let [above, below] = [above, below].map(|s| s.into_iter().map(span).collect::<Vec<_>>());
            let waits = Waits::new(above.clone(), below.clone());
            let absent = waits.within(at(from), at(from + length), at(dequeued));
            let held = |n: &u64| {
                let spans = if *n < dequeued { &above } else { &below };
                spans.iter().any(|span| span.from <= at(*n) && at(*n) < span.until)
            };
            let expected = (from..from + length).filter(held).count() as u64;
            prop_assert_eq!(absent.total(), Duration::from_nanos(expected));
            // A part grows only by spans of its cause.
            let parts = [absent.away(), absent.asleep(), absent.roam()];
            for (cause, part) in CAUSES.into_iter().zip(parts) {
                let is_there = above.iter().chain(&below).any(|span| span.cause == cause);
                prop_assert!(is_there || part.is_zero(), "{cause:?}: {part}");
            }
        }
    }
}

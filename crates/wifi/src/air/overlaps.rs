//! Overlaps in time between PPDUs. The facts of a PPDU are kept once for all PPDUs that overlap
//! with it, even if a thousand stations begin at once: each PPDU stores only the number of the
//! first one to look at.

use super::Reduction;
use crate::phy::ChannelWidth;
use crate::station::StationId;
use alloc::vec::Vec;
use lasthop_units::Instant;

/// The PPDUs on the air, and PPDUs that overlapped with one of them, in the order in which they
/// began.
#[derive(Clone, Debug, PartialEq, Default)]
pub(super) struct Overlapping {
    begun: Vec<Begun>,
    /// Number of the first element of `begun`.
    base: u64,
}

/// A PPDU that began.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Begun {
    pub transmitter: StationId,
    pub start: Instant,
    pub end: Instant,
    /// End of its preamble and header.
    pub header_end: Instant,
    /// Station whose Trigger frame it answers, if it is an HE trigger-based PPDU.
    pub answers: Option<StationId>,
    pub width: ChannelWidth,
    pub reduction: Reduction,
}

/// The PPDUs that overlap with one PPDU so far.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Overlaps {
    /// Number of the PPDU.
    number: u64,
    /// Number of the first PPDU that overlaps with it, if that one began earlier; otherwise its own
    /// number.
    first: u64,
    count: u32,
}

/// Another PPDU that overlapped.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Interference {
    pub transmitter: StationId,
    pub start: Instant,
    pub end: Instant,
    pub order: Order,
    pub width: ChannelWidth,
    pub reduction: Reduction,
}

/// Beginning of another PPDU relative to this one, which decides to which of them a receiver may
/// lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// The other began earlier, and its preamble and header were over.
    Before,
    /// The other began earlier, and its preamble or header was still on the air.
    HeaderBefore,
    Together,
    /// The other began during the preamble or header of this one.
    DuringHeader,
    /// The other began after the preamble and header of this one.
    After,
}

impl Overlaps {
    /// Overlaps of a PPDU that has not begun.
    pub const NONE: Self = Self { number: 0, first: 0, count: 0 };

    /// A number that no other PPDU has.
    pub const fn number(&self) -> u64 {
        self.number
    }

    /// Whether no PPDU overlapped with it.
    pub const fn is_none(&self) -> bool {
        self.count == 0
    }

    /// Extends the look-back to that of `other`, which began no later. A third PPDU may overlap
    /// with both, so its facts stay until the older of the two is no longer needed.
    pub fn reach_back(&mut self, other: &Self) {
        self.first = self.first.min(other.first);
    }

    /// Number of PPDUs that overlapped with it.
    pub const fn count(&self) -> u32 {
        self.count
    }
}

impl Overlapping {
    /// Adds a PPDU that begins. `others` are the earlier PPDUs still on the air: the end of each,
    /// and its overlaps.
    pub fn begin<'a>(
        &mut self,
        begun: Begun,
        others: impl Iterator<Item = (Instant, &'a mut Overlaps)>,
    ) -> Overlaps {
        let number = self.next_number();
        let mut own = Overlaps { number, first: number, count: 0 };
        for (_, other) in others.filter(|(end, _)| *end > begun.start) {
            own.first = own.first.min(other.number);
            own.count += 1;
            other.count += 1;
        }
        self.begun.push(begun);
        own
    }

    /// Counts a PPDU that is alone on the air from its beginning to its end.
    pub fn pass(&mut self) -> Overlaps {
        debug_assert!(self.begun.is_empty(), "those that ended are forgotten");
        let number = self.base;
        self.base += 1;
        Overlaps { number, first: number, count: 0 }
    }

    /// Drops PPDUs that no PPDU on the air overlaps with; `oldest` is the first one on the air.
    pub fn forget(&mut self, oldest: Option<&Overlaps>) {
        // Whoever began later looks no further back.
        let needed = oldest.map_or(self.next_number(), |oldest| oldest.first);
        let gone = (needed - self.base) as usize;
        if 2 * gone >= self.begun.len() {
            self.begun.drain(..gone);
            self.base = needed;
        }
    }

    /// The PPDUs that overlapped with one, in the order in which they began.
    #[inline]
    pub fn with(&self, overlaps: &Overlaps) -> impl Iterator<Item = Interference> + use<'_> {
        let (own, before, after) = if overlaps.is_none() {
            (None, &[][..], &[][..])
        } else {
            let (first, own) = (self.place(overlaps.first), self.place(overlaps.number));
            (Some(self.begun[own]), &self.begun[first..own], &self.begun[own + 1..])
        };
        before.iter().chain(after).filter_map(move |other| other.as_interference(own.as_ref()?))
    }

    /// The PPDU that began last, if it overlaps with this one.
    pub fn last_with(&self, overlaps: &Overlaps) -> Option<Interference> {
        let own = self.begun.get(self.place(overlaps.number))?;
        let last = self.begun.last().filter(|_| overlaps.number + 1 < self.next_number())?;
        last.as_interference(own)
    }

    /// A key that is equal for PPDUs that overlap with each other and have the same interferers;
    /// `None` if a key cannot decide that.
    pub fn crowd(&self, overlaps: &Overlaps) -> Option<(u64, u64, Instant)> {
        let own = self.begun.get(self.place(overlaps.number))?;
        if own.answers.is_some() {
            // What answers the same Trigger frame is no part of it.
            return None;
        }
        let is_last = self.begun.last().is_some_and(|last| last.start < own.end);
        is_last.then_some((overlaps.first, self.next_number(), own.start))
    }

    /// Width that a PPDU occupies, while it is on the air or as it comes off.
    pub fn width_of(&self, overlaps: &Overlaps) -> Option<ChannelWidth> {
        self.begun.get(self.place(overlaps.number)).map(|begun| begun.width)
    }

    fn place(&self, number: u64) -> usize {
        (number - self.base) as usize
    }

    /// The number of the next PPDU that begins.
    pub fn next_number(&self) -> u64 {
        self.base + self.begun.len() as u64
    }
}

impl Begun {
    /// Whether another PPDU, given the station whose Trigger frame it answers and its start, is on
    /// other tones: both answer the same Trigger frame.
    #[inline]
    pub fn is_beside(&self, answers: Option<StationId>, start: Instant) -> bool {
        self.answers.is_some() && self.answers == answers && self.start == start
    }

    /// Returns this PPDU as interference to another one, if they overlapped.
    #[inline]
    fn as_interference(&self, own: &Self) -> Option<Interference> {
        let &Self { transmitter, start, end, width, reduction, .. } = self;
        if own.is_beside(self.answers, start) {
            return None;
        }
        let order = if start == own.start {
            Order::Together
        } else if start < own.start {
            if own.start < self.header_end { Order::HeaderBefore } else { Order::Before }
        } else if start < own.header_end {
            Order::DuringHeader
        } else {
            Order::After
        };
        let overlaps = end > own.start && start < own.end;
        overlaps.then_some(Interference { transmitter, start, end, order, width, reduction })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A PPDU with its own list of overlapping PPDUs, the reference model.
    #[derive(Clone)]
    struct Listed {
        begun: Begun,
        interference: Vec<Interference>,
        overlaps: Overlaps,
    }

    /// The order of each of two PPDUs as seen by the other; the second one begins now.
    fn orders(first: &Begun, second: &Begun) -> (Order, Order) {
        if first.start == second.start {
            (Order::Together, Order::Together)
        } else if second.start < first.header_end {
            (Order::HeaderBefore, Order::DuringHeader)
        } else {
            (Order::Before, Order::After)
        }
    }

    fn interference(begun: &Begun, order: Order) -> Interference {
        let &Begun { transmitter, start, end, width, reduction, .. } = begun;
        Interference { transmitter, start, end, order, width, reduction }
    }

    proptest! {
        /// The overlaps equal those of a reference model, in which each PPDU on the air keeps a
        /// list.
        #[test]
        fn overlaps_are_lists(
            // Time since the last one began, length, length of preamble and header.
            ppdus in proptest::collection::vec(
                (prop_oneof![3 => Just(0u64), 2 => 0u64..30], 1u64..60, 1u64..20),
                1..60,
            ),
        ) {
            let mut overlapping = Overlapping::default();
            let mut flights: Vec<Listed> = Vec::new();
            let mut now = 0;
            let at = Instant::from_nanos;
            let check = |overlapping: &Overlapping, flight: &Listed| {
                let found: Vec<_> = overlapping.with(&flight.overlaps).collect();
                prop_assert_eq!(&found, &flight.interference);
                prop_assert_eq!(flight.overlaps.count() as usize, found.len());
                prop_assert_eq!(flight.overlaps.is_none(), found.is_empty());
                Ok(())
            };
            for (number, (gap, length, header)) in ppdus.into_iter().enumerate() {
                let start = now + gap;
                // Those that end up to then come off the air; at that very instant some may.
                while let Some(index) = flights.iter().position(|flight| {
                    flight.begun.end < at(start) || flight.begun.end == at(start) && number % 2 == 0
                }) {
                    let ended = flights.remove(index);
                    check(&overlapping, &ended)?;
                    overlapping.forget(flights.first().map(|flight| &flight.overlaps));
                }
                now = start;
                let begun = Begun {
                    transmitter: StationId(number as u16),
                    start: at(start),
                    end: at(start + length),
                    header_end: at(start + header.min(length)),
                    answers: None,
                    width: ChannelWidth::Mhz20,
                    reduction: Reduction::NONE,
                };
                let mut own = Vec::new();
                for other in flights.iter_mut().filter(|other| other.begun.end > begun.start) {
                    let (theirs, ours) = orders(&other.begun, &begun);
                    own.push(interference(&other.begun, theirs));
                    other.interference.push(interference(&begun, ours));
                }
                let others = flights.iter_mut();
                let overlaps = overlapping
                    .begin(begun, others.map(|other| (other.begun.end, &mut other.overlaps)));
                flights.push(Listed { begun, interference: own, overlaps });
                for flight in &flights {
                    check(&overlapping, flight)?;
                }
                // Whoever is of one crowd overlaps with the same, itself included.
                let with_own = |flight: &Listed| {
                    let others = overlapping.with(&flight.overlaps).map(|other| other.transmitter);
                    let mut all: Vec<_> = others.chain([flight.begun.transmitter]).collect();
                    all.sort_unstable();
                    all
                };
                for (one, other) in flights.iter().zip(&flights[1..]) {
                    let crowds = [one, other].map(|flight| overlapping.crowd(&flight.overlaps));
                    if crowds[0].is_some() && crowds[0] == crowds[1] {
                        prop_assert_eq!(with_own(one), with_own(other));
                    }
                }
            }
            flights.clear();
            overlapping.forget(None);
            prop_assert!(overlapping.begun.is_empty());
        }
    }
}

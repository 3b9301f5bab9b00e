//! Which PPDUs overlap with which others. What there is to know of a PPDU that began is kept
//! once for all that overlap with it, also where a thousand stations begin at once: each
//! knows only from where on to look for the others.

use super::Reduction;
use crate::phy::ChannelWidth;
use crate::station::StationId;
use alloc::vec::Vec;
use lasthop_units::Instant;

/// The PPDUs that are on the air, and those that overlapped with one of them, in the order
/// they began.
#[derive(Clone, Debug, PartialEq, Default)]
pub(super) struct Overlapping {
    begun: Vec<Begun>,
    /// The number of the first of them.
    base: u64,
}

/// A PPDU that began.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Begun {
    pub transmitter: StationId,
    pub start: Instant,
    pub end: Instant,
    /// The end of its preamble and header.
    pub header_end: Instant,
    /// Whose Trigger frame it answers, if it is an HE trigger-based PPDU.
    pub answers: Option<StationId>,
    pub width: ChannelWidth,
    pub reduction: Reduction,
}

/// The PPDUs that overlap with one so far.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Overlaps {
    /// Its number.
    number: u64,
    /// The number of the first that overlaps with it, if one that began before does.
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

/// When another PPDU began, as receivers see it that may lock to the one or the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// Before, and its preamble and header were over.
    Before,
    /// Before, and its preamble or header was still on the air.
    HeaderBefore,
    Together,
    /// After, during this one's preamble or header.
    DuringHeader,
    /// After this one's preamble and header.
    After,
}

impl Overlaps {
    /// Of a PPDU that has not begun.
    pub const NONE: Self = Self { number: 0, first: 0, count: 0 };

    /// A number that no other PPDU has.
    pub const fn number(&self) -> u64 {
        self.number
    }

    /// Nothing overlapped with it.
    pub const fn is_none(&self) -> bool {
        self.count == 0
    }

    /// Looks as far back as `other` does, which began no later: a third one may overlap with
    /// both, and what it looks back to is kept as long as the older of those that are left asks.
    pub fn reach_back(&mut self, other: &Self) {
        self.first = self.first.min(other.first);
    }

    /// How many PPDUs overlapped with it.
    pub const fn count(&self) -> u32 {
        self.count
    }
}

impl Overlapping {
    /// A PPDU begins; `others` are those that began before and did not come off the air: their
    /// ends, and what overlaps with them.
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

    /// Nobody asks about PPDUs any more but those that are on the air, of which this is the
    /// first.
    pub fn forget(&mut self, oldest: Option<&Overlaps>) {
        // Whoever began later looks no further back.
        let needed = oldest.map_or(self.next_number(), |oldest| oldest.first);
        let gone = (needed - self.base) as usize;
        if 2 * gone >= self.begun.len() {
            self.begun.drain(..gone);
            self.base = needed;
        }
    }

    /// The PPDUs that overlapped with one, in the order they began.
    #[inline]
    pub fn with(&self, overlaps: &Overlaps) -> impl Iterator<Item = Interference> + use<'_> {
        let (own, before, after) = match overlaps.is_none() {
            true => (None, &[][..], &[][..]),
            false => {
                let (first, own) = (self.place(overlaps.first), self.place(overlaps.number));
                (Some(self.begun[own]), &self.begun[first..own], &self.begun[own + 1..])
            }
        };
        before.iter().chain(after).filter_map(move |other| other.as_interference(own.as_ref()?))
    }

    /// The last that began, if it overlaps with one.
    pub fn last_with(&self, overlaps: &Overlaps) -> Option<Interference> {
        let own = self.begun.get(self.place(overlaps.number))?;
        let last = self.begun.last().filter(|_| overlaps.number + 1 < self.next_number())?;
        last.as_interference(own)
    }

    /// What two PPDUs have in common that overlap with each other and with the same others;
    /// `None` if it takes more to tell.
    pub fn crowd(&self, overlaps: &Overlaps) -> Option<(u64, u64, Instant)> {
        let own = self.begun.get(self.place(overlaps.number))?;
        if own.answers.is_some() {
            // What answers the same Trigger frame is no part of it.
            return None;
        }
        let is_last = self.begun.last().is_some_and(|last| last.start < own.end);
        is_last.then_some((overlaps.first, self.next_number(), own.start))
    }

    /// What a PPDU occupies that did not come off the air, or is asked about right then.
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
    /// Whether another PPDU, of which this says whose Trigger frame it answers and when it
    /// began, is on other tones: both answer the same one.
    #[inline]
    pub fn is_beside(&self, (answers, start): (Option<StationId>, Instant)) -> bool {
        self.answers.is_some() && self.answers == answers && self.start == start
    }

    /// What it is to another one, if it overlapped with that one.
    #[inline]
    fn as_interference(&self, own: &Self) -> Option<Interference> {
        let &Self { transmitter, start, end, width, reduction, .. } = self;
        if own.is_beside((self.answers, start)) {
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

    /// A PPDU with a list of its own of what overlapped with it.
    #[derive(Clone)]
    struct Listed {
        begun: Begun,
        interference: Vec<Interference>,
        overlaps: Overlaps,
    }

    /// What each of two PPDUs, the second of which begins, is to the other.
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
        /// What overlaps with a PPDU is what each would write down that begins, in a list for
        /// each PPDU that is on the air.
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

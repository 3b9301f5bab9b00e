//! Sums of the parts of packets' delays, over all packets and over the slowest 1 %.
//! Sums in nanoseconds are kept by class of delay: [`CLASSES`] per octave, each 1.6 %
//! wide or less. Memory grows with the eighths of octaves that have packets, by 896 bytes
//! each, not with the number of packets. The sums are exact; the class in which the
//! slowest 1 % start counts in proportion to how many of its packets are needed.

use crate::value::{DelayPartsSummary, rounded};
use lasthop_packet::{Absent, DelayParts};

/// Number of delay classes per octave, as a power of two.
const CLASSES_LOG2: u32 = 6;
/// Number of delay classes per octave.
const CLASSES: u64 = 1 << CLASSES_LOG2;
/// The slowest packets are one in this many.
const SLOWEST: u64 = 100;

/// Sums over the packets of one delay class.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    packets: u64,
    delay: u128,
    /// Sum of each part in nanoseconds, in the order of [`parts`].
    parts: [u64; PARTS],
}

impl Sums {
    #[cold]
    fn add_absent(&mut self, absent: Absent) {
        let times = [absent.away(), absent.asleep(), absent.roam()];
        for (sum, time) in self.parts[PRESENT..].iter_mut().zip(times) {
            *sum += time.as_nanos();
        }
    }
}

const PARTS: usize = PRESENT + 3;
/// Parts but the waits for absent stations.
const PRESENT: usize = 6;

/// Sums over all packets so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PartTotals {
    packets: u64,
    delay: u128,
    parts: [u64; PARTS],
}

impl PartTotals {
    /// The mean parts of the packets since `before`; `None` without packets.
    pub(crate) fn since(&self, before: &Self) -> Option<DelayPartsSummary> {
        let packets = self.packets - before.packets;
        let mut parts = self.parts;
        for (part, before) in parts.iter_mut().zip(before.parts) {
            *part -= before;
        }
        let delay = (self.delay - before.delay) as f64;
        (packets > 0).then(|| mean(packets as f64, delay, parts.map(|part| part as f64)))
    }
}

/// The parts of packets' delays, summed by class of delay.
#[derive(Clone, Debug, Default)]
pub(crate) struct PartSums {
    /// Sums by class, in blocks, of which there are those that have packets.
    blocks: Vec<Option<Box<[Sums; BLOCK]>>>,
}

/// Classes that are kept together.
const BLOCK: usize = 8;

/// The parts but the waits for absent stations, whose three sums follow.
fn parts(parts: &DelayParts) -> [u64; PRESENT] {
    let DelayParts { queue, absent: _, contention, retries, air, reorder, wire } = *parts;
    [queue, contention, retries, air, reorder, wire].map(|part| part.as_nanos())
}

impl PartSums {
    /// Adds a packet with a delay of `delay` nanoseconds, of which `of` are the parts.
    #[inline]
    pub(crate) fn add(&mut self, delay: u64, of: &DelayParts) {
        let class = class_of(delay);
        let block = match self.blocks.get_mut(class / BLOCK) {
            Some(Some(block)) => block,
            _ => self.make(class / BLOCK),
        };
        let sums = &mut block[class % BLOCK];
        sums.packets += 1;
        sums.delay += u128::from(delay);
        for (sum, part) in sums.parts.iter_mut().zip(parts(of)) {
            *sum += part;
        }
        if !of.absent.is_zero() {
            sums.add_absent(of.absent);
        }
    }

    /// A block that has no packets yet.
    #[cold]
    fn make(&mut self, block: usize) -> &mut [Sums; BLOCK] {
        if block >= self.blocks.len() {
            self.blocks.resize(block + 1, None);
        }
        self.blocks[block].get_or_insert_default()
    }

    /// The classes of blocks that have packets, in ascending order.
    fn classes(&self) -> impl DoubleEndedIterator<Item = &Sums> {
        self.blocks.iter().flatten().flat_map(|block| block.iter())
    }

    /// The sums over all packets so far.
    pub(crate) fn totals(&self) -> PartTotals {
        let mut totals = PartTotals::default();
        for sums in self.classes().filter(|sums| sums.packets > 0) {
            totals.packets += sums.packets;
            totals.delay += sums.delay;
            for (total, part) in totals.parts.iter_mut().zip(sums.parts) {
                *total += part;
            }
        }
        totals
    }

    fn packets(&self) -> u64 {
        self.classes().map(|sums| sums.packets).sum()
    }

    /// The mean parts over all packets; `None` without packets.
    pub(crate) fn all(&self) -> Option<DelayPartsSummary> {
        self.mean_of_slowest(self.packets())
    }

    /// The mean parts over the slowest 1 %, at least one packet; `None` without
    /// packets.
    pub(crate) fn slowest(&self) -> Option<DelayPartsSummary> {
        self.mean_of_slowest(self.packets().div_ceil(SLOWEST))
    }

    fn mean_of_slowest(&self, packets: u64) -> Option<DelayPartsSummary> {
        let (mut left, mut delay, mut sums) = (packets, 0.0, [0.0; PARTS]);
        for class in self.classes().rev().filter(|class| class.packets > 0) {
            let taken = class.packets.min(left);
            left -= taken;
            let share = taken as f64 / class.packets as f64;
            delay += class.delay as f64 * share;
            for (sum, part) in sums.iter_mut().zip(class.parts) {
                *sum += part as f64 * share;
            }
            if left == 0 {
                break;
            }
        }
        (packets > 0).then(|| mean(packets as f64, delay, sums))
    }
}

/// The mean parts of `packets` packets, of the sums of their delays and of each part in ns.
fn mean(packets: f64, delay: f64, sums: [f64; PARTS]) -> DelayPartsSummary {
    let ms = |nanos: f64| rounded(nanos / packets / 1e6, 6);
    // No time is counted in two parts, so the difference is negative only by the rounding of
    // sums.
    let other = delay - sums.iter().sum::<f64>();
    let [queue, contention, retries, air, reorder, wire, away, asleep, roam] = sums.map(ms);
    let other = Some(ms(other)).filter(|other| *other > 0.0);
    DelayPartsSummary { queue, away, asleep, roam, contention, retries, reorder, air, wire, other }
}

fn class_of(nanos: u64) -> usize {
    if nanos < 2 * CLASSES {
        return nanos as usize;
    }
    let shift = nanos.ilog2() - CLASSES_LOG2;
    ((u64::from(shift) << CLASSES_LOG2) + (nanos >> shift)) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use lasthop_units::Duration;
    use proptest::prelude::*;

    fn total(parts: &DelayPartsSummary) -> f64 {
        let absent = parts.away + parts.asleep + parts.roam;
        let channel = parts.contention + parts.retries + parts.air;
        parts.queue + absent + channel + parts.reorder + parts.wire + parts.other.unwrap_or(0.0)
    }

    #[test]
    fn the_slowest_have_their_own_parts() {
        let mut sums = PartSums::default();
        let ms = Duration::from_millis;
        for n in 0..1_000 {
            let parts = match n % 100 {
                7 => {
                    let absent = Absent::new(ms(100), ms(0), ms(0));
                    DelayParts { absent, queue: ms(n / 100), ..DelayParts::default() }
                }
                _ => DelayParts { queue: ms(2), ..DelayParts::default() },
            };
            sums.add(parts.total().as_nanos(), &parts);
        }
        let (all, slowest) = (sums.all().expect("some"), sums.slowest().expect("some"));
        assert_eq!((all.away, all.queue, all.other), (1.0, 2.025, None));
        assert_eq!((slowest.away, slowest.queue), (100.0, 4.5));
        assert_eq!(PartSums::default().slowest(), None);
    }

    proptest! {
        /// Compares with a sorted list: equal mean delay within the width of a class,
        /// and parts that add up.
        #[test]
        fn the_slowest_are_the_slowest(
            mut delays in prop::collection::vec((1u64..1 << 40, 0.0..1.0), 1..400),
        ) {
            let mut sums = PartSums::default();
            for &(delay, share) in &delays {
                let queue = Duration::from_nanos((delay as f64 * share) as u64);
                let absent = Duration::from_nanos(delay) - queue;
                let [roam, asleep] = [absent / 3, absent - absent / 3];
                let absent = Absent::new(Duration::ZERO, asleep, roam);
                sums.add(delay, &DelayParts { queue, absent, ..DelayParts::default() });
            }
            delays.sort_by_key(|(delay, _)| core::cmp::Reverse(*delay));
            for (taken, parts) in
                [(delays.len(), sums.all()), (delays.len().div_ceil(100), sums.slowest())]
            {
                let sum: u64 = delays[..taken].iter().map(|(delay, _)| delay).sum();
                let mean = sum as f64 / taken as f64 / 1e6;
                let parts = parts.expect("there are some");
                let width = if taken == delays.len() { 1e-9 } else { 1.0 / CLASSES as f64 };
                prop_assert!((total(&parts) - mean).abs() <= mean * width + 1e-5, "{parts:?} {mean}");
            }
        }
    }
}

//! The recipient of one Block Ack agreement: the scoreboard, and the reorder buffer that delivers
//! packets in order (IEEE 802.11-2020, 10.25.6.6).
//!
//! A gap is given up after a timeout, as in Linux (100 ms there): when the first MPDU after the gap
//! has waited that long, all MPDUs up to it are released. The standard itself has only the window
//! and the Block Ack Request.

use super::{Bitmap, Scoreboard};
use crate::mac::mpdu::Msdus;
use alloc::vec::Vec;
use lasthop_packet::Packet;
use lasthop_units::{Duration, Instant, SeqNo12};

/// The recipient's side of an agreement.
#[derive(Clone, Debug, PartialEq)]
pub struct Recipient {
    scoreboard: Scoreboard,
    /// WinStartB: the sequence number to be delivered next.
    next: SeqNo12,
    window: u16,
    timeout: Duration,
    /// Ring of [`Recipient::ring`] slots for the MPDUs after a gap, allocated with the first gap.
    buffer: Vec<Option<Waiting>>,
    buffered: u16,
    /// Numbers from `next` on that are no longer awaited, by slot.
    skipped: Bitmap,
    /// Number of bits in `skipped`.
    number_skipped: u16,
}

#[derive(Clone, Debug, PartialEq)]
struct Waiting {
    since: Instant,
    msdus: Msdus,
}

/// Outcome of an MPDU at its recipient.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reception {
    /// New: delivered, or kept until the gap before it closes.
    New,
    /// Before the window, received before, or skipped ([`Recipient::skip`]).
    Duplicate,
}

impl Recipient {
    /// Returns the recipient of an agreement over `window` MPDUs (1 to 1 024) that begins at
    /// `start`.
    pub fn new(start: SeqNo12, window: u16, timeout: Duration) -> Self {
        Self {
            scoreboard: Scoreboard::new(start, window),
            next: start,
            window: window.clamp(1, Bitmap::BITS as u16),
            timeout,
            buffer: Vec::new(),
            buffered: 0,
            skipped: Bitmap::EMPTY,
            number_skipped: 0,
        }
    }

    /// The sequence number that the buffered MPDUs wait for (WinStartB).
    pub fn head(&self) -> SeqNo12 {
        self.next
    }

    /// The scoreboard, from which the next Block Ack is made.
    pub fn scoreboard(&self) -> &Scoreboard {
        &self.scoreboard
    }

    /// Receives a decoded MPDU if it can be delivered at once: it has the next number and nothing
    /// is buffered. Otherwise returns `false` and has no effect.
    #[inline]
    pub fn pass(&mut self, sequence: SeqNo12) -> bool {
        if sequence != self.next || self.buffered > 0 {
            return false;
        }
        self.scoreboard.record(sequence);
        self.next = sequence.next();
        self.release_in_order(&mut |_| unreachable!("nothing is buffered"));
        true
    }

    /// Does what [`Recipient::pass`] does for `count` MPDUs from `first` on, if that is possible at
    /// once: nothing is buffered or skipped, and they fit into the scoreboard.
    pub fn pass_all(&mut self, first: SeqNo12, count: u16) -> bool {
        let is_in_order = first == self.next && self.buffered == 0 && self.number_skipped == 0;
        if !is_in_order || count > self.scoreboard.bits() {
            return false;
        }
        self.scoreboard.record_all(first, count);
        self.next = first.plus(count);
        true
    }

    /// Receives an MPDU that was decoded at `now`; `release` gets the MSDUs that can be delivered.
    pub fn receive(
        &mut self,
        now: Instant,
        sequence: SeqNo12,
        msdus: Msdus,
        mut release: impl FnMut(Msdus),
    ) -> Reception {
        if self.pass(sequence) {
            release(msdus);
            return Reception::New;
        }
        self.scoreboard.record(sequence);
        let offset = sequence.distance_from(self.next);
        if offset >= 2048 {
            return Reception::Duplicate;
        }
        if offset >= self.window {
            self.advance_to(sequence.minus(self.window - 1), &mut release);
        }
        if self.buffer.is_empty() {
            self.buffer.resize(usize::from(self.ring()), None);
        }
        let slot = self.slot(sequence);
        if self.buffer[slot].is_some() || self.skipped.contains(slot) {
            return Reception::Duplicate;
        }
        self.buffer[slot] = Some(Waiting { since: now, msdus });
        self.buffered += 1;
        self.release_in_order(&mut release);
        Reception::New
    }

    /// Acknowledges a decoded MPDU that is not delivered.
    pub fn ignore(&mut self, sequence: SeqNo12) {
        self.scoreboard.record(sequence);
    }

    /// Gives up waiting for `sequence`: the MPDUs after it can be delivered, and it is rejected as
    /// a duplicate if it arrives later. Has no effect on an MPDU that is buffered.
    pub fn skip(&mut self, sequence: SeqNo12, mut release: impl FnMut(Msdus)) {
        let slot = self.slot(sequence);
        let is_waiting = self.buffer.get(slot).is_some_and(Option::is_some);
        if sequence.distance_from(self.next) < self.ring() && !is_waiting {
            self.number_skipped += u16::from(!self.skipped.contains(slot));
            self.skipped.insert(slot);
            self.release_in_order(&mut release);
        }
    }

    /// Moves the window to `start` after a Block Ack Request.
    pub fn request(&mut self, start: SeqNo12, mut release: impl FnMut(Msdus)) {
        self.scoreboard.request(start);
        if self.next.is_before(start) {
            self.advance_to(start, &mut release);
            self.release_in_order(&mut release);
        }
    }

    /// Whether the MPDU with this number waits behind a gap.
    pub fn holds(&self, sequence: SeqNo12) -> bool {
        self.buffered > 0
            && sequence.distance_from(self.next) < self.ring()
            && self.buffer.get(self.slot(sequence)).is_some_and(Option::is_some)
    }

    /// Whether a packet that waits behind a gap satisfies `wanted`.
    pub fn any_waiting(&self, mut wanted: impl FnMut(&Packet) -> bool) -> bool {
        let waiting = self.buffer.iter().flatten();
        self.buffered > 0 && waiting.flat_map(|w| w.msdus.packets()).any(&mut wanted)
    }

    /// The instant at which the first gap is given up; `None` without a gap.
    #[inline]
    pub fn deadline(&self) -> Option<Instant> {
        let (_, waiting) = self.first_waiting()?;
        Some(waiting.since.saturating_add(self.timeout))
    }

    /// Gives up the gaps whose timeout has passed at `now`.
    pub fn handle_timeout(&mut self, now: Instant, mut release: impl FnMut(Msdus)) {
        while let Some((sequence, waiting)) = self.first_waiting() {
            if now < waiting.since.saturating_add(self.timeout) {
                return;
            }
            self.advance_to(sequence, &mut release);
            self.release_in_order(&mut release);
        }
    }

    /// Length of the ring: that of the Block Ack's bitmap. The length divides 4096, so the numbers
    /// of one window never share a slot.
    fn ring(&self) -> u16 {
        self.scoreboard.bits()
    }

    fn slot(&self, sequence: SeqNo12) -> usize {
        usize::from(sequence.as_u16() & (self.ring() - 1))
    }

    fn first_waiting(&self) -> Option<(SeqNo12, &Waiting)> {
        if self.buffered == 0 {
            return None;
        }
        (0..self.window)
            .map(|ahead| self.next.plus(ahead))
            .find_map(|sequence| Some((sequence, self.buffer[self.slot(sequence)].as_ref()?)))
    }

    fn advance_to(&mut self, start: SeqNo12, release: &mut impl FnMut(Msdus)) {
        while self.next != start {
            if self.buffered == 0 && self.number_skipped == 0 {
                self.next = start;
                return;
            }
            self.release_next(release);
            self.next = self.next.next();
        }
    }

    fn release_in_order(&mut self, release: &mut impl FnMut(Msdus)) {
        while (self.buffered > 0 || self.number_skipped > 0) && self.release_next(release) {
            self.next = self.next.next();
        }
    }

    /// Releases the MPDU with the next number, or passes over a skipped one; `false` if the number
    /// is still awaited.
    fn release_next(&mut self, release: &mut impl FnMut(Msdus)) -> bool {
        let slot = self.slot(self.next);
        if self.number_skipped > 0 && self.skipped.contains(slot) {
            self.skipped.remove(slot);
            self.number_skipped -= 1;
            return true;
        }
        if self.buffered == 0 {
            return false;
        }
        match self.buffer[slot].take() {
            Some(waiting) => {
                self.buffered -= 1;
                release(waiting.msdus);
                true
            }
            None => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeMap;
    use proptest::prelude::*;

    const TIMEOUT: Duration = Duration::from_millis(100);

    /// The reorder buffer as 10.25.6.6 describes it, over unbounded numbers.
    struct Reference {
        next: i64,
        window: i64,
        held: BTreeMap<i64, Instant>,
        released: Vec<u64>,
    }

    impl Reference {
        fn receive(&mut self, now: Instant, number: i64) {
            if number < self.next {
                return;
            }
            if number >= self.next + self.window {
                self.flush_before(number - self.window + 1);
            }
            self.held.entry(number).or_insert(now);
            self.flush_consecutive();
        }

        fn request(&mut self, start: i64) {
            if start > self.next {
                self.flush_before(start);
                self.flush_consecutive();
            }
        }

        fn time_out(&mut self, now: Instant) {
            while let Some((&number, &since)) = self.held.first_key_value() {
                if now < since + TIMEOUT {
                    return;
                }
                self.flush_before(number);
                self.flush_consecutive();
            }
        }

        fn flush_before(&mut self, start: i64) {
            let kept = self.held.split_off(&start);
            let flushed = core::mem::replace(&mut self.held, kept);
            self.released.extend(flushed.into_keys().map(|n| n as u64));
            self.next = start;
        }

        fn flush_consecutive(&mut self) {
            while self.held.remove(&self.next).is_some() {
                self.released.push(self.next as u64);
                self.next += 1;
            }
        }
    }

    #[derive(Clone, Debug)]
    enum Step {
        Receive(i64),
        /// A number of MPDUs in order, as far as they can be received at once.
        Pass(u16),
        Request(i64),
        Wait(u64),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            8 => (-5i64..70).prop_map(Step::Receive),
            1 => (-5i64..1_100).prop_map(Step::Receive),
            2 => (1u16..300).prop_map(Step::Pass),
            1 => (-5i64..70).prop_map(Step::Request),
            1 => (-5i64..1_100).prop_map(Step::Request),
            2 => (0u64..150).prop_map(Step::Wait),
        ]
    }

    proptest! {
        #[test]
        fn agrees_with_the_reference(
            start in 0i64..4096,
            window in prop_oneof![1u16..=64, 1u16..=1_024],
            steps in proptest::collection::vec(step(), 1..300),
        ) {
            let mut now = Instant::ZERO;
            let mut released = Vec::new();
            let sequence = |n: i64| SeqNo12::new(n.rem_euclid(4096) as u16);
            let mut recipient = Recipient::new(sequence(start), window, TIMEOUT);
            let mut reference = Reference {
                next: start,
                window: i64::from(window),
                held: BTreeMap::new(),
                released: Vec::new(),
            };
            for step in steps {
                let mut up = |msdus: Msdus| released.extend(msdus.packets().iter().map(|p| p.tag));
                match step {
                    Step::Receive(ahead) => {
                        let number = reference.next + ahead;
                        let msdus = Msdus::One(Packet::new(number as u64, 100, now));
                        recipient.receive(now, sequence(number), msdus, &mut up);
                        reference.receive(now, number);
                    }
                    Step::Pass(count) => {
                        let first = reference.next;
                        let can_pass =
                            reference.held.is_empty() && count <= Bitmap::bits_for(window);
                        let mut one_by_one = recipient.clone();
                        prop_assert_eq!(recipient.pass_all(sequence(first), count), can_pass);
                        for number in (first..).take(if can_pass { count.into() } else { 0 }) {
                            released.push(number as u64);
                            reference.receive(now, number);
                            prop_assert!(one_by_one.pass(sequence(number)));
                        }
                        prop_assert_eq!(recipient.scoreboard(), one_by_one.scoreboard());
                    }
                    Step::Request(ahead) => {
                        let number = reference.next + ahead;
                        recipient.request(sequence(number), &mut up);
                        reference.request(number);
                    }
                    Step::Wait(ms) => {
                        now += Duration::from_millis(ms);
                        recipient.handle_timeout(now, &mut up);
                        reference.time_out(now);
                    }
                }
                prop_assert_eq!(&released, &reference.released);
                let deadline = reference.held.first_key_value().map(|(_, &since)| since + TIMEOUT);
                prop_assert_eq!(recipient.deadline(), deadline);
            }
        }
    }
}

//! Retransmissions of MPDUs at a third station (IEEE 802.11-2020, 10.3.2.14). The Retry bit says
//! that a frame was sent before. Whether that copy was heard follows from the frames heard with the
//! same transmitter, TID and sequence number. The order need not be that of a Block Ack agreement,
//! since retransmitted MPDUs of an A-MPDU come behind later ones.
//!
//! Memory is bounded: [`TRANSMITTERS_MAX`] windows of [`WINDOW`] sequence numbers, of which the
//! least recently used makes way for a new one. Headers are not authentic, so an attacker on the
//! air can have a retransmission left out, but could as well jam it.

use lasthop_units::{Duration, Instant, MacAddr, SeqNo12};

/// Transmitters and TIDs that are remembered.
const TRANSMITTERS_MAX: usize = 64;

/// Sequence numbers that are remembered: the largest window of a Block Ack agreement, that of
/// 802.11be (64 in 802.11n, 256 in 802.11ax).
const WINDOW: u16 = 1_024;

/// Time of silence after which a transmitter is forgotten: it has sent other frames meanwhile, or
/// begun anew. Retransmissions follow within some ten milliseconds.
const FORGET_AFTER: Duration = Duration::from_millis(500);

/// A transmitter (TA), and the TID of its QoS frames; `None` for frames without QoS, which have a
/// separate counter.
pub type Origin = (MacAddr, Option<u8>);

/// Recently heard frames of all origins.
#[derive(Clone, Debug, Default)]
pub struct Retries {
    windows: Vec<Window>,
    /// Frames so far.
    uses: u64,
}

/// Recently heard frames of one origin.
#[derive(Clone, Debug)]
struct Window {
    origin: Origin,
    /// The newest sequence number.
    newest: SeqNo12,
    /// Which of the [`WINDOW`] numbers up to the newest were heard; a number's bit is its value
    /// modulo the window.
    heard: [u64; WORDS],
    heard_at: Instant,
    /// Position of its last frame among those of all origins.
    used: u64,
}

const WORDS: usize = WINDOW as usize / 64;

impl Retries {
    /// Notes a frame that was heard at `now`. Returns whether it was heard before: its Retry bit is
    /// set (`is_retry`), and its number was heard lately.
    pub fn is_again(
        &mut self,
        now: Instant,
        origin: Origin,
        sequence: SeqNo12,
        is_retry: bool,
    ) -> bool {
        self.uses += 1;
        if let Some(window) = self.windows.iter_mut().find(|window| window.origin == origin) {
            window.used = self.uses;
            return window.is_again(now, sequence, is_retry);
        }
        let window = Window { used: self.uses, ..Window::new(now, origin, sequence) };
        if self.windows.len() < TRANSMITTERS_MAX {
            self.windows.push(window);
        } else if let Some(oldest) = self.windows.iter_mut().min_by_key(|window| window.used) {
            *oldest = window;
        }
        false
    }
}

impl Window {
    fn new(now: Instant, origin: Origin, sequence: SeqNo12) -> Self {
        let mut window =
            Self { origin, newest: sequence, heard: [0; WORDS], heard_at: now, used: 0 };
        window.set(sequence);
        window
    }

    fn is_again(&mut self, now: Instant, sequence: SeqNo12, is_retry: bool) -> bool {
        let behind = self.newest.distance_from(sequence);
        let is_ahead = self.newest.is_before(sequence);
        let is_old = now >= self.heard_at + FORGET_AFTER;
        if is_old || !is_ahead && behind >= WINDOW {
            *self = Self { used: self.used, ..Self::new(now, self.origin, sequence) };
            return false;
        }
        self.heard_at = now;
        if is_ahead {
            let skipped = sequence.distance_from(self.newest);
            for n in 1..=skipped.min(WINDOW) {
                self.clear(sequence.minus(n - 1));
            }
            self.newest = sequence;
            self.set(sequence);
            return false;
        }
        let was_heard = self.is_set(sequence);
        if was_heard && !is_retry {
            // The first transmission of a number that was heard: the transmitter began anew.
            *self = Self { used: self.used, ..Self::new(now, self.origin, sequence) };
            return false;
        }
        self.set(sequence);
        was_heard
    }

    fn place(sequence: SeqNo12) -> (usize, u64) {
        let index = sequence.as_u16() % WINDOW;
        (usize::from(index / 64), 1 << (index % 64))
    }

    fn set(&mut self, sequence: SeqNo12) {
        let (word, bit) = Self::place(sequence);
        self.heard[word] |= bit;
    }

    fn clear(&mut self, sequence: SeqNo12) {
        let (word, bit) = Self::place(sequence);
        self.heard[word] &= !bit;
    }

    fn is_set(&self, sequence: SeqNo12) -> bool {
        let (word, bit) = Self::place(sequence);
        self.heard[word] & bit != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ORIGIN: Origin = (MacAddr::local(1), Some(0));

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    fn heard(retries: &mut Retries, n: u16, is_retry: bool) -> bool {
        retries.is_again(at(0), ORIGIN, SeqNo12::new(n), is_retry)
    }

    #[test]
    fn a_retransmission_counts_once_whether_or_not_the_first_was_heard() {
        let mut retries = Retries::default();
        assert!(!heard(&mut retries, 7, false));
        assert!(heard(&mut retries, 7, true));
        assert!(heard(&mut retries, 7, true));
        // The first transmission was not heard.
        assert!(!heard(&mut retries, 8, true));
        assert!(heard(&mut retries, 8, true));
        // Behind those that were aggregated with it.
        assert!(!heard(&mut retries, 70, false));
        assert!(!heard(&mut retries, 60, true));
        assert!(heard(&mut retries, 60, true));
    }

    #[test]
    fn numbers_are_of_a_transmitter_and_a_tid() {
        let mut retries = Retries::default();
        for address in 1..4 {
            for tid in [None, Some(0), Some(6)] {
                let origin = (MacAddr::local(address), tid);
                let mut is_again =
                    |is_retry| retries.is_again(at(0), origin, SeqNo12::new(5), is_retry);
                assert_eq!([is_again(false), is_again(true)], [false, true], "{origin:?}");
            }
        }
    }

    #[test]
    fn numbers_come_again_after_4096() {
        let mut retries = Retries::default();
        for n in 0..20_000 {
            assert!(!heard(&mut retries, n, n % 3 == 0), "{n}");
            assert!(heard(&mut retries, n, true), "{n}");
        }
    }

    #[test]
    fn who_begins_anew_or_was_silent_is_heard() {
        let mut retries = Retries::default();
        heard(&mut retries, 100, false);
        heard(&mut retries, 3, false);
        heard(&mut retries, 101, false);
        // No retransmission, so it begins anew; then 101 is another frame.
        assert!(!heard(&mut retries, 3, false));
        assert!(!heard(&mut retries, 101, true));
        let late = FORGET_AFTER.as_nanos() / 1_000_000;
        assert!(!retries.is_again(at(late), ORIGIN, SeqNo12::new(101), true));
        assert!(retries.is_again(at(late), ORIGIN, SeqNo12::new(101), true));
    }

    /// A flood of invented transmitters.
    #[test]
    fn memory_is_bounded_and_those_who_send_are_kept() {
        let mut retries = Retries::default();
        heard(&mut retries, 9, false);
        for n in 0..10_000 {
            let origin = (MacAddr::local(100 + n), None);
            retries.is_again(at(u64::from(n / 100)), origin, SeqNo12::new(1), false);
            if n % 32 == 0 {
                let now = at(u64::from(n / 100));
                assert!(retries.is_again(now, ORIGIN, SeqNo12::new(9), true), "{n}");
            }
        }
        assert_eq!(retries.windows.len(), TRANSMITTERS_MAX);
    }

    /// A transmitter with a Block Ack window, of whose transmissions each is heard or not: every
    /// number that is heard at all counts once.
    fn transmissions() -> impl Strategy<Value = (u16, Vec<(u16, bool, bool)>)> {
        let step = (any::<bool>(), any::<bool>(), 0..64u16);
        (0..4096u16, prop::collection::vec(step, 1..600)).prop_map(|(start, steps)| {
            let (mut next, mut sent) = (0u16, Vec::new());
            for (is_retry, is_heard, back) in steps {
                if is_retry && next > 0 {
                    sent.push((next - 1 - back.min(next - 1), true, is_heard));
                } else {
                    sent.push((next, false, is_heard));
                    next += 1;
                }
            }
            (start, sent)
        })
    }

    proptest! {
        #[test]
        fn each_number_counts_once((start, sent) in transmissions()) {
            let mut retries = Retries::default();
            let mut known = std::collections::BTreeSet::new();
            for (n, is_retry, is_heard) in sent {
                if is_heard {
                    let again = heard(&mut retries, start.wrapping_add(n), is_retry);
                    prop_assert_eq!(again, !known.insert(n), "{} {}", n, is_retry);
                }
            }
        }
    }
}

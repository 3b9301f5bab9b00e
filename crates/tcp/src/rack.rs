//! RACK, recent acknowledgement ([RFC 8985]): a segment is lost if another one that was sent at
//! least a reordering window later has been delivered. The window is a quarter of the smallest
//! round-trip time, and grows by a quarter with each round trip in which duplicates were reported.
//! As in Linux it is zero while no reordering was seen and either three segments are sacked or
//! recovery is in progress. Left out: the loss probe and the timers, which are the sender's.
//!
//! [RFC 8985]: https://www.rfc-editor.org/rfc/rfc8985

use lasthop_units::{Duration, Instant};

/// Number of recoveries after which a widened window is reset (RFC 8985, 6.2, step
/// 4).
const PERSIST: u8 = 16;
/// Number of sacked segments that indicate a loss while no reordering was seen (DupThresh), and the
/// upper bound to which reordering raises that (tcp_max_reordering).
pub(crate) const REORDERING_INITIAL: u32 = 3;
pub(crate) const REORDERING_MAX: u32 = 300;

/// The newest delivered transmission, and the reordering window for those before
/// it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rack {
    sent: Instant,
    /// Position in the order of all transmissions. The number is needed because many segments leave
    /// at one instant of virtual time, which a kernel's clock would distinguish.
    number: u32,
    round_trip: Duration,
    /// Whether a segment was delivered since the last search for losses.
    pub has_advanced: bool,
    window: Duration,
    /// Reordering window in quarters of the smallest round-trip time.
    steps: u8,
    persist: u8,
    has_duplicates: bool,
    /// Byte whose acknowledgement permits duplicates to widen the window again.
    round_end: u64,
    /// Largest distance of a reordered segment in segments: the DupThresh.
    pub reordering: u32,
    pub has_reordering: bool,
}

impl Rack {
    pub(crate) fn new() -> Self {
        Self {
            sent: Instant::ZERO,
            number: 0,
            round_trip: Duration::ZERO,
            has_advanced: false,
            window: Duration::ZERO,
            steps: 1,
            persist: 0,
            has_duplicates: false,
            round_end: 0,
            reordering: REORDERING_INITIAL,
            has_reordering: false,
        }
    }

    /// Records that a segment was delivered whose last transmission was at `sent`, with the given
    /// `number` (RFC 8985, 6.2, step 2). `is_repeated` is whether it was retransmitted.
    pub(crate) fn advance(
        &mut self,
        now: Instant,
        sent: Instant,
        number: u32,
        is_repeated: bool,
        round_trip_min: Option<Duration>,
    ) {
        let round_trip = now - sent;
        // Too early to answer the retransmission: the original was delivered.
        if is_repeated && round_trip_min.is_some_and(|min| round_trip < min) {
            return;
        }
        self.has_advanced = true;
        self.round_trip = round_trip;
        if (sent, number) > (self.sent, self.number) {
            (self.sent, self.number) = (sent, number);
        }
    }

    /// Whether a transmission was before the newest one that was delivered.
    pub(crate) fn is_sent_before(&self, sent: Instant, number: u32) -> bool {
        (sent, number) < (self.sent, self.number)
    }

    /// Time until a transmission at `sent` counts as lost; zero if it is lost now.
    pub(crate) fn remaining(&self, now: Instant, sent: Instant) -> Duration {
        (sent + self.round_trip + self.window).saturating_since(now)
    }

    /// Records that the receiver reported a duplicate.
    pub(crate) fn handle_duplicate(&mut self) {
        self.has_duplicates = true;
    }

    /// Handles an acknowledgement of `acknowledged`, where `next` is the next byte to send: widens
    /// the window once per round trip if duplicates were reported (RFC 8985, 6.2, step 4).
    pub(crate) fn update_steps(&mut self, acknowledged: u64, next: u64) {
        if acknowledged < self.round_end {
            self.has_duplicates = false;
        }
        if self.has_duplicates {
            self.has_duplicates = false;
            self.steps = self.steps.saturating_add(1);
            self.round_end = next;
            self.persist = PERSIST;
        } else if self.persist == 0 {
            self.steps = 1;
        }
    }

    /// Keeps the widened window for one more recovery, because a recovery was unnecessary.
    pub(crate) fn persist_longer(&mut self) {
        self.persist = (self.persist + 1).min(PERSIST);
    }

    /// Records the end of a recovery.
    pub(crate) fn handle_recovered(&mut self) {
        self.persist = self.persist.saturating_sub(1);
    }

    /// Computes the reordering window (RFC 8985, 6.2, step 4).
    pub(crate) fn update_window(
        &mut self,
        is_recovering: bool,
        sacked: u32,
        round_trip_min: Option<Duration>,
        smoothed: Option<Duration>,
    ) {
        self.window = if !self.has_reordering && (is_recovering || sacked >= self.reordering) {
            Duration::ZERO
        } else {
            let min = round_trip_min.unwrap_or(Duration::ZERO);
            (min * u64::from(self.steps) / 4).min(smoothed.unwrap_or(Duration::ZERO))
        };
    }

    /// Records that a segment sent once was delivered after one that is `segments` above it.
    pub(crate) fn handle_reordering(&mut self, segments: u32) {
        self.reordering = self.reordering.max(segments).min(REORDERING_MAX);
        self.has_reordering = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    fn window(rack: &mut Rack, is_recovering: bool, sacked: u32) -> Duration {
        rack.update_window(is_recovering, sacked, Some(MS(40)), Some(MS(50)));
        rack.window
    }

    /// RFC 8985, 6.2, step 4 (RACK_update_reo_wnd).
    #[test]
    fn the_window_is_a_quarter_round_trip_once_reordering_was_seen() {
        let mut rack = Rack::new();
        assert_eq!(window(&mut rack, false, 2), MS(10));
        assert_eq!(window(&mut rack, false, 3), MS(0));
        assert_eq!(window(&mut rack, true, 0), MS(0));
        rack.handle_reordering(5);
        assert_eq!(window(&mut rack, true, 9), MS(10));
    }

    #[test]
    fn duplicates_widen_it_once_a_round_trip_up_to_the_smoothed_one() {
        let mut rack = Rack::new();
        rack.handle_reordering(5);
        let mut widths = [MS(0); 6];
        for (round, width) in (0..).zip(&mut widths) {
            let (una, next) = (round * 1_000, (round + 1) * 1_000);
            for acknowledged in [una, una + 500] {
                rack.handle_duplicate();
                rack.update_steps(acknowledged, next);
            }
            *width = window(&mut rack, false, 0);
        }
        assert_eq!(widths, [20, 30, 40, 50, 50, 50].map(MS));
        // It stays for sixteen recoveries.
        for _ in 0..PERSIST {
            rack.update_steps(6_000, 7_000);
            assert_eq!(window(&mut rack, false, 0), MS(50));
            rack.handle_recovered();
        }
        rack.update_steps(6_000, 7_000);
        assert_eq!(window(&mut rack, false, 0), MS(10));
    }

    /// RFC 8985, 6.2, step 4: a window that duplicates widened stays for 16 recoveries. An
    /// unnecessary recovery, as duplicates showed, adds one more (Linux' tcp_try_undo_dsack), up
    /// to 16.
    #[test]
    fn a_recovery_in_vain_keeps_the_window_wide_for_one_more() {
        for (ended, in_vain, left) in [(10, 3, 9), (16, 1, 1), (1, 5, 16), (0, 40, 16)] {
            let mut rack = Rack::new();
            rack.handle_reordering(5);
            rack.handle_duplicate();
            rack.update_steps(0, 1_000);
            (0..ended).for_each(|_| rack.handle_recovered());
            (0..in_vain).for_each(|_| rack.persist_longer());
            for _ in 0..left {
                rack.update_steps(2_000, 3_000);
                assert_eq!(window(&mut rack, false, 0), MS(20), "{ended} {in_vain}");
                rack.handle_recovered();
            }
            rack.update_steps(2_000, 3_000);
            assert_eq!(window(&mut rack, false, 0), MS(10), "{ended} {in_vain}");
        }
    }

    /// RFC 8985, 6.2, step 4: "once per round trip" ends when the next byte at its beginning is
    /// acknowledged, and not before.
    #[test]
    fn duplicates_of_the_same_round_trip_count_once() {
        let mut rack = Rack::new();
        rack.handle_reordering(5);
        let mut width = |acknowledged, next| {
            rack.handle_duplicate();
            rack.update_steps(acknowledged, next);
            window(&mut rack, false, 0)
        };
        assert_eq!([width(0, 1_000), width(1, 1_500), width(999, 2_000)], [MS(20); 3]);
        assert_eq!([width(1_000, 2_000), width(1_999, 2_500)], [MS(30); 2]);
        assert_eq!(width(2_000, 3_000), MS(40));
    }

    /// Three segments are a loss (RFC 5681, DupThresh); segments that arrive later than that raise
    /// it, up to 300 (tcp_max_reordering). Without a round trip there is no window.
    #[test]
    fn reordering_moves_the_threshold() {
        let mut rack = Rack::new();
        assert_eq!(rack.reordering, 3);
        for (segments, expected) in [(2, 3), (7, 7), (5, 7), (1_000, 300)] {
            rack.handle_reordering(segments);
            assert_eq!(rack.reordering, expected);
        }
        assert!(rack.has_reordering);
        rack.update_window(false, 0, None, Some(MS(50)));
        assert_eq!(rack.window, Duration::ZERO);
        rack.update_window(false, 0, Some(MS(40)), None);
        assert_eq!(rack.window, Duration::ZERO);
    }

    /// RFC 8985, 6.2, steps 2 and 5: of the delivered segments the newest counts, and of segments
    /// sent at one instant the last in order. After a segment sent at 80 ms was acknowledged 50 ms
    /// later, another transmission of the same instant counts as lost 60 ms after it, with a window
    /// of 10 ms.
    #[test]
    fn the_newest_arrival_tells_what_is_late() {
        let at = |ms| Instant::ZERO + MS(ms);
        let mut rack = Rack::new();
        rack.handle_reordering(5);
        assert_eq!(window(&mut rack, false, 0), MS(10));
        rack.advance(at(130), at(80), 7, false, Some(MS(40)));
        // Later by the clock, sent before: not the newest.
        rack.advance(at(130), at(80), 5, false, Some(MS(40)));
        let before = [(79, 9), (80, 6), (80, 7), (80, 8), (81, 0)];
        let is_before = before.map(|(ms, number)| rack.is_sent_before(at(ms), number));
        assert_eq!(is_before, [true, true, false, false, false]);
        let left = [130, 139, 140, 200].map(|now| rack.remaining(at(now), at(80)));
        assert_eq!(left, [10, 1, 0, 0].map(MS));
        // The answer to a retransmission that took exactly the shortest round trip may be one.
        rack.advance(at(150), at(110), 9, true, Some(MS(40)));
        assert!(rack.is_sent_before(at(109), 9) && !rack.is_sent_before(at(110), 9));
        assert_eq!(rack.remaining(at(150), at(110)), MS(10));
    }

    /// RFC 8985, 6.2, step 2: the acknowledgement may be that of the original.
    #[test]
    fn an_answer_too_early_for_the_retransmission_says_nothing() {
        let at = |ms| Instant::ZERO + MS(ms);
        let mut rack = Rack::new();
        rack.advance(at(100), at(80), 7, true, Some(MS(40)));
        assert!(!rack.has_advanced);
        rack.advance(at(130), at(80), 7, true, Some(MS(40)));
        assert!(rack.has_advanced && rack.is_sent_before(at(80), 6));
        assert_eq!(rack.remaining(at(130), at(90)), MS(10));
    }
}

//! RACK, recent acknowledgement ([RFC 8985]): a segment is lost if another that
//! was sent a reordering window later has arrived. The window is a quarter of
//! the smallest round-trip time, grows with each round trip in which duplicates
//! were reported, and is nothing while no reordering was ever seen and three
//! segments are sacked or recovery is in progress, as in Linux.
//!
//! [RFC 8985]: https://www.rfc-editor.org/rfc/rfc8985

use lasthop_units::{Duration, Instant};

/// Recoveries for which a widened window stays (RFC 8985, 6.2, step 4).
const PERSIST: u8 = 16;
/// Sacked segments that stand for a loss while nothing was reordered
/// (DupThresh), and the most that reordering moves it to (tcp_max_reordering).
pub(crate) const REORDERING_INITIAL: u32 = 3;
pub(crate) const REORDERING_MAX: u32 = 300;

/// The newest transmission that has arrived, and the patience with others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rack {
    sent: Instant,
    /// Its place in the order of all transmissions: many leave at one instant of
    /// virtual time, where a kernel's clock tells them apart.
    number: u32,
    round_trip: Duration,
    /// Something arrived since losses were looked for.
    pub has_advanced: bool,
    window: Duration,
    /// Reordering window in quarters of the smallest round trip.
    steps: u8,
    persist: u8,
    has_duplicates: bool,
    /// Duplicates count again when this byte is acknowledged.
    round_end: u64,
    /// Segments that arrived out of order, and so the DupThresh.
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

    /// A segment arrived that was last sent at `sent`, as transmission `number`
    /// (RFC 8985, 6.2, step 2).
    pub(crate) fn advance(
        &mut self,
        now: Instant,
        sent: Instant,
        number: u32,
        is_repeated: bool,
        round_trip_min: Option<Duration>,
    ) {
        let round_trip = now - sent;
        // Too early to be the answer to the retransmission.
        if is_repeated && round_trip_min.is_some_and(|min| round_trip < min) {
            return;
        }
        self.has_advanced = true;
        self.round_trip = round_trip;
        if (sent, number) > (self.sent, self.number) {
            (self.sent, self.number) = (sent, number);
        }
    }

    /// Was a transmission before the newest that has arrived?
    pub(crate) fn is_sent_before(&self, sent: Instant, number: u32) -> bool {
        (sent, number) < (self.sent, self.number)
    }

    /// How long until a transmission at `sent` is taken for lost.
    pub(crate) fn remaining(&self, now: Instant, sent: Instant) -> Duration {
        (sent + self.round_trip + self.window).saturating_since(now)
    }

    /// The receiver got something twice.
    pub(crate) fn handle_duplicate(&mut self) {
        self.has_duplicates = true;
    }

    /// An acknowledgement of `acknowledged` came: widens the window once a round
    /// trip if there were duplicates (RFC 8985, 6.2, step 4).
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

    /// A recovery was in vain: the wide window stays a little longer.
    pub(crate) fn persist_longer(&mut self) {
        self.persist = (self.persist + 1).min(PERSIST);
    }

    /// A recovery has ended.
    pub(crate) fn handle_recovered(&mut self) {
        self.persist = self.persist.saturating_sub(1);
    }

    /// Sets the reordering window.
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

    /// Something that was sent once arrived `segments` behind the newest.
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

    /// RFC 8985, 6.2, step 4: RACK_update_reo_wnd.
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

    /// RFC 8985, 6.2, step 4: a window that duplicates widened stays for 16 recoveries. One that
    /// was in vain, as duplicates showed, is one more (Linux' tcp_try_undo_dsack), but never more
    /// than 16 are ahead.
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

    /// RFC 8985, 6.2, step 4: "once per round trip", which is over when what was next at its
    /// beginning is acknowledged, and not before.
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

    /// Three are a loss (RFC 5681, DupThresh); what came later than that behind others moves it,
    /// to 300 at most (tcp_max_reordering). Without a round trip there is no window.
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

    /// RFC 8985, 6.2, steps 2 and 5: of what arrived, the newest counts; of what left at one
    /// instant, the order does. What left at 80 ms and was answered after 50 ms is given up 60 ms
    /// after it was sent, with a window of 10 ms.
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

    /// RFC 8985, 6.2, step 2: the answer may be to the original.
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

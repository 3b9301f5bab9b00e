//! The datagrams sent within about a round trip, evaluated together: rates of
//! sending and arrival in bytes per second, losses, and the shortest queue. Also
//! sums over several windows. Leaves out conclusions about the path, which are in
//! `pace`.

use super::{Delay, PathReport, RELATIVE_RATE};
use lasthop_units::{Duration, Instant};

/// Smallest number of reports in a window for which their least delay is significant.
const SAMPLES_MIN: u32 = 4;
/// Largest number of datagrams between two reports.
const GAP_MAX: u32 = 8_192;
/// Longest window, as a multiple of the requested length.
const LONGER_MAX: u64 = 4;

/// A time between two arrivals is a stall, in which the path served nothing, if it is this multiple
/// of the mean of the others. Of independent arrivals, as on a channel for which many contend, 5 % of
/// the times are that long by chance.
const STALL: f64 = 3.0;

/// The datagrams that were sent within some time.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Window {
    first: Edge,
    last: Edge,
    samples: u32,
    /// Sum and minimum of the queue's delays in microseconds, and the delay with
    /// the minimum.
    queue_sum_us: f64,
    queue_min_us: f64,
    least: Option<Delay>,
    /// Latest time at which no data was waiting.
    free_at: Instant,
    /// Longest time between two arrivals in microseconds, and the bytes sent in between.
    gap_us: f64,
    gap_bytes: f64,
}

/// The start or the end of a window.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Edge {
    sent_at: Instant,
    heard_at_us: u32,
    bytes_up_to: u64,
    number: u32,
    received: u32,
}

impl Edge {
    fn from_report(heard: &PathReport) -> Self {
        let &PathReport { sent_at, heard_at_us, bytes_up_to, number, received, .. } = heard;
        Self { sent_at, heard_at_us, bytes_up_to, number, received }
    }
}

impl Window {
    /// A window that starts after the reported datagram.
    pub fn new(heard: &PathReport) -> Self {
        Self {
            first: Edge::from_report(heard),
            last: Edge::from_report(heard),
            samples: 0,
            queue_sum_us: 0.0,
            queue_min_us: f64::INFINITY,
            least: None,
            free_at: Instant::ZERO,
            gap_us: 0.0,
            gap_bytes: 0.0,
        }
    }

    /// Whether `heard` continues the count: the counting node may have restarted,
    /// and that many datagrams in a row are not lost by chance.
    pub fn goes_on(&self, heard: &PathReport) -> bool {
        heard.received >= self.last.received
            && heard.number >= self.last.number
            && heard.number - self.last.number <= GAP_MAX
    }

    pub fn take(&mut self, heard: &PathReport, delay: Delay, queue_us: f64) {
        let gap_us = f64::from(heard.heard_at_us.wrapping_sub(self.last.heard_at_us) as i32);
        if gap_us > self.gap_us {
            let bytes = heard.bytes_up_to.saturating_sub(self.last.bytes_up_to);
            (self.gap_us, self.gap_bytes) = (gap_us, bytes as f64);
        }
        self.last = Edge::from_report(heard);
        self.samples += 1;
        self.queue_sum_us += queue_us;
        if queue_us < self.queue_min_us || self.least.is_none() {
            (self.queue_min_us, self.least) = (queue_us, Some(delay));
        }
        self.free_at = heard.free_at;
    }

    /// Whether it has at least the length `least` and enough reports.
    pub fn is_complete(&self, least: Duration) -> bool {
        let time = self.last.sent_at.saturating_since(self.first.sent_at);
        time >= least && (self.samples >= SAMPLES_MIN || time >= least * LONGER_MAX)
    }

    pub fn began(&self) -> Instant {
        self.first.sent_at
    }

    pub fn ended(&self) -> Instant {
        self.last.sent_at
    }

    /// Whether it has enough reports for their least delay to be that of the path.
    pub fn is_dense(&self) -> bool {
        self.samples >= SAMPLES_MIN
    }

    /// Time in which it was sent, in seconds.
    pub fn seconds(&self) -> f64 {
        self.ended().saturating_since(self.began()).as_secs_f64().max(1e-6)
    }

    /// Whether at times no data was waiting.
    pub fn is_free(&self) -> bool {
        self.free_at > self.first.sent_at
    }

    fn bytes(&self) -> f64 {
        (self.last.bytes_up_to - self.first.bytes_up_to) as f64
    }

    /// Rate of sending in bytes per second.
    pub fn sent_rate(&self) -> f64 {
        self.bytes() / self.seconds()
    }

    /// Time in which it arrived without a stall, in seconds.
    fn arrival_seconds(&self) -> f64 {
        (self.arrival_us() - self.stall_us()).max(1.0) * 1e-6
    }

    fn arrival_us(&self) -> f64 {
        let time_us = self.last.heard_at_us.wrapping_sub(self.first.heard_at_us) as i32;
        f64::from(time_us.max(1))
    }

    /// Time of a stall in microseconds: the longest time between two arrivals, if it is [`STALL`] times
    /// that of the others, less the time of its bytes at the rate of the others. A wait for the
    /// channel is neither a queue of this link nor a lower rate.
    fn stall_us(&self) -> f64 {
        let others_us = self.arrival_us() - self.gap_us;
        let others_bytes = self.bytes() - self.gap_bytes;
        let others = f64::from(self.samples.saturating_sub(1));
        let is_long = self.is_dense() && self.gap_us * others > STALL * others_us;
        if !is_long || others_us <= 0.0 || others_bytes <= 0.0 {
            return 0.0;
        }
        (self.gap_us - self.gap_bytes * others_us / others_bytes).max(0.0)
    }

    /// The delay of its last datagram less that of its first one, in microseconds.
    pub fn grew_us(&self) -> f64 {
        (self.arrival_seconds() - self.seconds()) * 1e6
    }

    /// The rate of arrival in bytes per second, as if nothing were lost.
    pub fn arrival_rate(&self) -> f64 {
        self.bytes() / self.arrival_seconds()
    }

    /// Bytes per second that arrived; no more than were sent.
    pub fn came_rate(&self) -> f64 {
        let Ratio { sent, lost } = self.losses();
        self.arrival_rate().min(self.sent_rate()) * (1.0 - lost / sent.max(1.0))
    }

    /// Number of datagrams sent, and number lost.
    pub fn losses(&self) -> Ratio {
        let sent = f64::from(self.last.number.saturating_sub(self.first.number));
        let came = f64::from(self.last.received.wrapping_sub(self.first.received));
        Ratio { sent, lost: (sent - came).clamp(0.0, sent) }
    }

    /// The datagram with the shortest queue.
    pub fn least(&self) -> Option<Delay> {
        self.least
    }

    /// The mean queue less the shortest one, in microseconds.
    pub fn spread_us(&self) -> f64 {
        match self.samples {
            0 => 0.0,
            samples => self.queue_sum_us / f64::from(samples) - self.queue_min_us,
        }
    }
}

/// Bytes sent in some windows, and the time in which they were sent and arrived.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub(super) struct Tally {
    bytes: f64,
    sent_s: f64,
    came_s: f64,
}

impl Tally {
    pub fn add(&mut self, window: &Window) {
        self.bytes += window.bytes();
        self.sent_s += window.seconds();
        self.came_s += window.arrival_seconds();
    }

    /// The share of a path's capacity that others use, if this is the result of
    /// sending at one rate and `other` at another, with the path busy in both
    /// cases. In a first-in-first-out queue, of a rate `S` there arrives `A = C S /
    /// (S + others)`: two rates reveal what others send. `None` if the rates are
    /// too similar.
    pub fn others(&self, other: &Self) -> Option<f64> {
        let (sent, came) = (self.sent_s / self.bytes, self.came_s / self.bytes);
        let (sent_other, came_other) = (other.sent_s / other.bytes, other.came_s / other.bytes);
        let is_apart = sent.max(sent_other) > RELATIVE_RATE.1 * sent.min(sent_other);
        is_apart.then(|| (came - came_other) / (sent - sent_other))
    }
}

/// The share of datagrams that are lost, over the last few windows.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub(super) struct Ratio {
    pub sent: f64,
    pub lost: f64,
}

impl Ratio {
    /// Factor of the weights per window.
    pub const KEEP: f64 = 0.9;
    /// Losses come in bursts: their variance is this many times that of independent
    /// losses.
    const BURSTS: f64 = 2.0;

    pub fn add(&mut self, other: &Self) {
        self.sent += other.sent;
        self.lost += other.lost;
    }

    /// Reduces the weight of past measurements.
    pub fn forget(&mut self, keep: f64) {
        self.sent *= keep;
        self.lost *= keep;
    }

    pub fn share(&self) -> f64 {
        if self.sent > 0.0 { (self.lost / self.sent).min(0.95) } else { 0.0 }
    }

    /// Adapts to a rate that is now `factor` of the former: if a queue overflowed, the same number
    /// of datagrams arrives of fewer sent.
    pub fn slower(&mut self, factor: f64) {
        let came = (self.sent - self.lost) / factor;
        self.lost = (self.sent - came).max(0.0);
    }

    /// Standard deviation of the share.
    pub fn deviation(&self) -> f64 {
        if self.sent == 0.0 {
            return 1.0;
        }
        // As if one more had been lost of two more (Agresti and Coull).
        let share = (self.lost + 1.0) / (self.sent + 2.0);
        libm::sqrt(Self::BURSTS * share * (1.0 - share) / (self.sent + 2.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    /// The window of datagrams of 1 000 bytes that are sent and arrive at these times in ms.
    fn window(times_ms: &[(u64, u64)]) -> Window {
        let mut window = None;
        for (number, &(sent_ms, came_ms)) in (0..).zip(times_ms) {
            let heard = PathReport {
                sent_at: Instant::ZERO + Duration::from_millis(sent_ms),
                heard_at_us: came_ms as u32 * 1_000,
                bytes: 1_000,
                bytes_up_to: u64::from(number) * 1_000,
                number,
                received: number,
                free_at: Instant::ZERO,
                round_trip: Duration::from_millis(10),
                round_trip_min: Duration::from_millis(10),
            };
            let delay = super::super::Delays::new(Instant::ZERO).delay(&heard);
            match &mut window {
                None => window = Some(Window::new(&heard)),
                Some(window) => window.take(&heard, delay, 0.0),
            }
        }
        window.expect("there are datagrams")
    }

    /// Datagrams each 10 ms, 100 kB/s. A wait of 80 ms for the channel is neither a queue that
    /// grows nor a lower rate; an overload is both.
    #[test]
    fn a_wait_for_the_channel_is_no_lower_rate() {
        let even: Vec<_> = (0..8).map(|at| (at * 10, 5 + at * 10)).collect();
        let stalled: Vec<_> =
            even.iter().map(|&(sent, came)| (sent, came + 80 * u64::from(sent >= 40))).collect();
        let overload: Vec<_> = even.iter().map(|&(sent, came)| (sent, 5 + came * 2)).collect();
        for (times, rate, grew_ms) in [(even, 1e5, 0.0), (stalled, 1e5, 0.0), (overload, 5e4, 70.0)]
        {
            let window = window(&times);
            assert!((window.arrival_rate() - rate).abs() < 1.0, "{}", window.arrival_rate());
            assert!((window.grew_us() - grew_ms * 1e3).abs() < 1.0, "{}", window.grew_us());
        }
    }

    proptest! {
        /// A busy way serves datagrams in order: of a rate `S`, beside others at `O`, `C S / (S +
        /// O)` arrives.
        #[test]
        fn two_rates_tell_what_others_send(
            own in 0.5f64..2.0,
            less in 0.3f64..0.75,
            others in 0.0f64..2.0,
            seconds in 0.05f64..3.0,
        ) {
            let tally = |sent: f64| {
                let came = (sent / (sent + others)).min(1.0);
                Tally { bytes: sent * seconds, sent_s: seconds, came_s: sent * seconds / came }
            };
            let found = tally(own).others(&tally(own * less)).expect("they are apart");
            prop_assert!((found - others).abs() < 1e-6, "{found}");
            prop_assert_eq!(tally(own).others(&tally(own * 0.9)), None);
        }
    }
}

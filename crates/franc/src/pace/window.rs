//! What was sent within a round trip or so, looked at together.

use super::{Delay, Heard};
use lasthop_units::{Duration, Instant};

/// Reports in a window at least, so that the least delay of them says something.
const SAMPLES_MIN: u32 = 4;
/// Datagrams between two reports at most.
const GAP_MAX: u32 = 8_192;
/// But no window takes so many times as long.
const LONGER_MAX: u64 = 4;

/// Two rates differ at least by so much to say what they do.
const APART: f64 = 1.25;

/// What is known of the datagrams that were sent in a time.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Window {
    first: Edge,
    last: Edge,
    samples: u32,
    /// Sum and least of the queue's delays, in microseconds, and the delay of the least.
    queue_sum_us: f64,
    queue_min_us: f64,
    least: Option<Delay>,
    /// When nothing waited to be sent last.
    free_at: Instant,
}

/// Where a window begins or ends.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Edge {
    sent_at: Instant,
    heard_at_us: u32,
    bytes_up_to: u64,
    number: u32,
    received: u32,
}

impl Edge {
    fn of(heard: &Heard) -> Self {
        let &Heard { sent_at, heard_at_us, bytes_up_to, number, received, .. } = heard;
        Self { sent_at, heard_at_us, bytes_up_to, number, received }
    }
}

impl Window {
    /// It begins behind a datagram.
    pub fn new(heard: &Heard) -> Self {
        Self {
            first: Edge::of(heard),
            last: Edge::of(heard),
            samples: 0,
            queue_sum_us: 0.0,
            queue_min_us: f64::INFINITY,
            least: None,
            free_at: Instant::ZERO,
        }
    }

    /// Whether `heard` is of the same count: whoever counts may have begun anew, and so many
    /// in a row are not lost by chance.
    pub fn goes_on(&self, heard: &Heard) -> bool {
        heard.received >= self.last.received
            && heard.number >= self.last.number
            && heard.number - self.last.number <= GAP_MAX
    }

    pub fn take(&mut self, heard: &Heard, delay: Delay, queue_us: f64) {
        self.last = Edge::of(heard);
        self.samples += 1;
        self.queue_sum_us += queue_us;
        if queue_us < self.queue_min_us || self.least.is_none() {
            (self.queue_min_us, self.least) = (queue_us, Some(delay));
        }
        self.free_at = heard.free_at;
    }

    /// Whether it is as long as `least` and says something.
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

    /// Whether there are enough reports for their least delay to be that of the way.
    pub fn is_dense(&self) -> bool {
        self.samples >= SAMPLES_MIN
    }

    /// How long it took to send.
    pub fn seconds(&self) -> f64 {
        self.ended().saturating_since(self.began()).as_secs_f64().max(1e-6)
    }

    /// At times nothing waited to be sent.
    pub fn is_free(&self) -> bool {
        self.free_at > self.first.sent_at
    }

    fn bytes(&self) -> f64 {
        (self.last.bytes_up_to - self.first.bytes_up_to) as f64
    }

    /// Bytes per second that were sent.
    pub fn sent_rate(&self) -> f64 {
        self.bytes() / self.seconds()
    }

    /// How long it took to come.
    fn arrival_seconds(&self) -> f64 {
        let time_us = self.last.heard_at_us.wrapping_sub(self.first.heard_at_us) as i32;
        f64::from(time_us.max(1)) * 1e-6
    }

    /// The same as they came, those that were lost included.
    pub fn arrival_rate(&self) -> f64 {
        self.bytes() / self.arrival_seconds()
    }

    /// Bytes per second that came; no more than were sent.
    pub fn came_rate(&self) -> f64 {
        let (sent, lost) = self.losses();
        self.arrival_rate().min(self.sent_rate()) * (1.0 - lost / sent.max(1.0))
    }

    /// Datagrams that were sent, and those that were lost.
    pub fn losses(&self) -> (f64, f64) {
        let sent = f64::from(self.last.number.saturating_sub(self.first.number));
        let came = f64::from(self.last.received.wrapping_sub(self.first.received));
        (sent, (sent - came).clamp(0.0, sent))
    }

    /// The datagram with the least queue.
    pub fn least(&self) -> Option<Delay> {
        self.least
    }

    /// The mean queue beyond the least one, in microseconds.
    pub fn spread_us(&self) -> f64 {
        match self.samples {
            0 => 0.0,
            samples => self.queue_sum_us / f64::from(samples) - self.queue_min_us,
        }
    }
}

/// What was sent in some windows, and how long it took to send and to come.
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

    /// The share of a way's capacity that others use, if this is what it made of what was
    /// sent at one rate, `other` at another one, and it was busy in both. First in, first
    /// out, what comes of `S` is `A = C S / (S + others)`: two rates tell what others send.
    /// `None` if the rates are too much alike.
    pub fn others(&self, other: &Self) -> Option<f64> {
        let (sent, came) = (self.sent_s / self.bytes, self.came_s / self.bytes);
        let (sent_other, came_other) = (other.sent_s / other.bytes, other.came_s / other.bytes);
        let is_apart = sent.max(sent_other) > APART * sent.min(sent_other);
        is_apart.then(|| (came - came_other) / (sent - sent_other))
    }
}

/// A share of datagrams that are lost, of the last few windows.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub(super) struct Ratio {
    sent: f64,
    lost: f64,
}

impl Ratio {
    /// Weights halve over so many windows.
    pub const KEEP: f64 = 0.9;
    /// Losses come in bursts: they vary more than chance alone has it.
    const BURSTS: f64 = 2.0;

    pub fn add(&mut self, (sent, lost): (f64, f64)) {
        self.sent += sent;
        self.lost += lost;
    }

    /// What is known weighs less.
    pub fn forget(&mut self, keep: f64) {
        self.sent *= keep;
        self.lost *= keep;
    }

    pub fn share(&self) -> f64 {
        if self.sent > 0.0 { (self.lost / self.sent).min(0.95) } else { 0.0 }
    }

    /// The rate is now so much of what it was: if a queue overflowed, as much comes of less.
    pub fn slower(&mut self, factor: f64) {
        let came = (self.sent - self.lost) / factor;
        self.lost = (self.sent - came).max(0.0);
    }

    /// By how much the share may be off.
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
    use proptest::prelude::*;

    proptest! {
        /// A busy way serves what comes in order: of what is sent at `S`, beside others at
        /// `O`, `C S / (S + O)` comes.
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

//! The playout of a call at its receiver: a jitter buffer of fixed length. Packets leave the talker
//! at a regular interval, each with as much speech. The first packet that arrives waits for the
//! length of the buffer, and each other one is played as much later as it left later. A packet that
//! arrives after its instant, or never, is concealed.
//!
//! The receiver knows no clock but its own, so the buffer counts from the delay of the first packet,
//! as RFC 3550 lets a receiver begin. Memory is that of the packets on their path; while nothing
//! arrives, of [`WAITING_MAX`] packets, and older ones are concealed. Left out: buffers that adapt,
//! and clocks that drift.

use alloc::collections::VecDeque;
use lasthop_units::{Duration, Instant};

/// Largest number of packets that wait for the first arrival: 22 minutes at one each 20 ms.
pub const WAITING_MAX: usize = 65_536;

/// Properties of a call in one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallConfig {
    /// Time between two packets, and the speech in each; above zero.
    pub interval: Duration,
    /// Length of a packet with its IP header, in bytes.
    pub bytes: u16,
    /// Time that the first packet waits before it is played.
    pub buffer: Duration,
}

/// Packets of a call whose instant has come, since the time that counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Played {
    /// Number of packets whose instant has come.
    pub packets: u64,
    /// Number of packets that arrived after their instant.
    pub late: u64,
    /// Number of concealed packets: late, lost, or still on their path.
    pub concealed: u64,
    /// Runs of concealed packets, of one or more.
    pub runs: u64,
    /// Packets in the longest of these runs.
    pub longest_run: u64,
}

/// A jitter buffer.
#[derive(Clone, Debug, PartialEq)]
pub struct Playout {
    buffer: Duration,
    /// Packets that left before this instant do not count.
    from: Instant,
    /// Time from the departure of each packet to its playout; `None` before the first arrival.
    offset: Option<Duration>,
    /// Packets whose instant has not come: departure, and whether it is there.
    waiting: VecDeque<(Instant, bool)>,
    /// Number of the first of them.
    first: u64,
    /// Concealed packets since the last one that was played.
    run: u64,
    /// Interarrival jitter in ns, and the delay of the last packet (RFC 3550, 6.4.1).
    jitter_ns: f64,
    last: Option<Duration>,
    played: Played,
}

impl Playout {
    /// Returns an empty buffer; packets that left before `from` do not count.
    pub fn new(config: &CallConfig, from: Instant) -> Self {
        Self {
            buffer: config.buffer,
            from,
            offset: None,
            waiting: VecDeque::new(),
            first: 0,
            run: 0,
            jitter_ns: 0.0,
            last: None,
            played: Played::default(),
        }
    }

    /// Notes that the next packet left, the first of them with number 0.
    pub fn handle_sent(&mut self, now: Instant) {
        self.advance(now, false);
        if self.offset.is_none() && self.waiting.len() == WAITING_MAX {
            self.take_first();
        }
        self.waiting.push_back((now, false));
    }

    /// Handles the arrival of packet `number`, which left at `sent`.
    pub fn handle_arrival(&mut self, now: Instant, number: u64, sent: Instant) {
        let delay = now.saturating_since(sent);
        let buffer = self.buffer;
        self.offset.get_or_insert(delay + buffer);
        if let Some(last) = self.last.replace(delay) {
            let change = delay.as_nanos().abs_diff(last.as_nanos()) as f64;
            self.jitter_ns += (change - self.jitter_ns) / 16.0;
        }
        self.advance(now, false);
        match number.checked_sub(self.first).map(|index| self.waiting.get_mut(index as usize)) {
            Some(Some((_, is_there))) => *is_there = true,
            _ => self.played.late += u64::from(sent >= self.from),
        }
    }

    /// Returns the packets that were due by `end`, the end of the run.
    pub fn finished(&self, end: Instant) -> Played {
        let mut rest = self.clone();
        rest.advance(end, true);
        rest.played
    }

    /// Time from the departure of a packet to its playout; `None` if none arrived.
    pub fn offset(&self) -> Option<Duration> {
        self.offset
    }

    /// Interarrival jitter at the end (RFC 3550, 6.4.1): the mean change of the delay from one packet
    /// to the next, over about the last 16.
    pub fn jitter(&self) -> Duration {
        Duration::from_nanos(libm::round(self.jitter_ns) as u64)
    }

    /// Plays or conceals the packets that were due before `now`, or at it if it `is_end`. Without an
    /// arrival nothing is due before the end, where everything is.
    fn advance(&mut self, now: Instant, is_end: bool) {
        if self.offset.is_none() && !is_end {
            return;
        }
        let offset = self.offset.unwrap_or(Duration::ZERO);
        while let Some(&(sent, _)) = self.waiting.front() {
            let due = sent + offset;
            if due > now || (due == now && !is_end) {
                break;
            }
            self.take_first();
        }
    }

    /// Plays or conceals the first waiting packet.
    fn take_first(&mut self) {
        let Some((sent, is_there)) = self.waiting.pop_front() else { return };
        self.first += 1;
        if sent >= self.from {
            self.count(is_there);
        }
    }

    fn count(&mut self, is_there: bool) {
        self.played.packets += 1;
        if is_there {
            self.run = 0;
            return;
        }
        self.played.concealed += 1;
        self.played.runs += u64::from(self.run == 0);
        self.run += 1;
        self.played.longest_run = self.played.longest_run.max(self.run);
    }
}

impl Played {
    /// Share of the packets that were concealed, 0 to 1; `None` if none was due.
    pub fn concealed_share(&self) -> Option<f64> {
        (self.packets > 0).then(|| self.concealed as f64 / self.packets as f64)
    }

    /// Mean length of the runs of concealed packets relative to that under random loss,
    /// `1 / (1 - p)` (G.107, 7.5); at least 1.
    pub fn burst_ratio(&self) -> f64 {
        let share = self.concealed_share().unwrap_or(0.0);
        (self.concealed as f64 / self.runs.max(1) as f64 * (1.0 - share)).max(1.0)
    }
}

#[cfg(test)]
mod tests;

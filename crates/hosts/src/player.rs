//! A player of streamed video with an adaptive bitrate: it fetches segments of a film one after the
//! other over one connection, and chooses the bitrate of each by the filling of its buffer, by the
//! rule BBA-0 (Huang et al., "A Buffer-Based Approach to Rate Adaptation", SIGCOMM 2014, algorithm 1).
//!
//! The rule has a buffer of 240 s. Below its reservoir of 90 s the player fetches at the lowest
//! bitrate, from 216 s on at the highest; over the cushion of 126 s between them, a line joins both
//! bitrates. The player keeps its bitrate until the line reaches the next one. Other lengths of the
//! buffer keep these shares. Play begins with the first segment, and resumes after a stall with the
//! next one. Left out: segments of varying length in bytes, estimates of the throughput (BBA-2), and
//! viewers who seek or leave.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use lasthop_units::{Bitrate, Bytes, Duration, Instant};

/// Shares of the buffer: the end of the reservoir, and the end of the cushion.
const RESERVOIR: f64 = 90.0 / 240.0;
const CUSHION_END: f64 = 216.0 / 240.0;

/// Properties of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamConfig {
    /// Bitrates of the film, in rising order; at least one.
    pub ladder: Vec<Bitrate>,
    /// Play time of a segment.
    pub segment: Duration,
    /// Longest play time in the buffer, at least two segments.
    pub buffer: Duration,
}

impl StreamConfig {
    /// Returns the place in the ladder of the segment to fetch, after one of place `last`, with so
    /// much play time in the buffer.
    pub fn next_rung(&self, last: usize, buffered: Duration) -> usize {
        let rate = |rung: usize| self.ladder[rung].as_bps() as f64;
        let highest = self.ladder.len() - 1;
        let filled = buffered.as_secs_f64() / self.buffer.as_secs_f64();
        if filled <= RESERVOIR {
            return 0;
        }
        if filled >= CUSHION_END {
            return highest;
        }
        let share = (filled - RESERVOIR) / (CUSHION_END - RESERVOIR);
        let line = rate(0) + share * (rate(highest) - rate(0));
        let (above, below) = ((last + 1).min(highest), last.saturating_sub(1));
        if line >= rate(above) {
            // The highest bitrate below the line.
            (0..=highest).rev().find(|&rung| rate(rung) < line).unwrap_or(0)
        } else if line <= rate(below) {
            // The lowest bitrate above the line.
            (0..=highest).find(|&rung| rate(rung) > line).unwrap_or(highest)
        } else {
            last
        }
    }

    /// Returns the length of a segment of this place in the ladder.
    fn segment_bytes(&self, rung: usize) -> Bytes {
        let bits = self.ladder[rung].as_bps() as f64 * self.segment.as_secs_f64();
        Bytes::new((libm::round(bits / 8.0) as u64).max(1))
    }
}

/// An event that a viewer notices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamEvent {
    /// Play began; the delay counts from the start of the flow.
    Began(Duration),
    /// A segment of this bitrate arrived.
    Segment {
        /// Bitrate of the film.
        bitrate: Bitrate,
        /// Whether the segment before had another one.
        is_switch: bool,
    },
    /// Play stopped at this instant, and resumed at the time of the report; or the run ended then.
    Stalled(Instant),
}

/// A player with its buffer.
#[derive(Clone, Debug, PartialEq)]
pub struct Player {
    config: StreamConfig,
    start: Instant,
    /// Place in the ladder of the segment that is fetched, or was last.
    rung: usize,
    /// Place of the segment before it.
    before: Option<usize>,
    /// Play time in the buffer at the instant `at`.
    buffered: Duration,
    at: Instant,
    has_begun: bool,
    is_fetching: bool,
    /// Whether the player waits for the instant at which the buffer has space.
    is_due: bool,
    events: VecDeque<StreamEvent>,
}

impl Player {
    /// Returns a player with an empty buffer.
    pub fn new(config: StreamConfig, start: Instant) -> Self {
        Self {
            config,
            start,
            rung: 0,
            before: None,
            buffered: Duration::ZERO,
            at: start,
            has_begun: false,
            is_fetching: false,
            is_due: false,
            events: VecDeque::new(),
        }
    }

    /// Instant at which the buffer has space for the next segment; `None` while one is fetched.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let excess = (self.buffered + self.config.segment).saturating_sub(self.config.buffer);
        (!self.is_fetching && !self.is_due).then_some(self.at + excess)
    }

    /// Notes that the buffer has space if the instant has come.
    pub fn handle_timeout(&mut self, now: Instant) {
        if self.poll_timeout().is_some_and(|at| at <= now) {
            self.play(now);
            self.is_due = true;
        }
    }

    /// Returns the length of the segment to fetch now.
    pub fn poll_request(&mut self) -> Option<Bytes> {
        if !core::mem::take(&mut self.is_due) {
            return None;
        }
        self.is_fetching = true;
        self.rung = self.config.next_rung(self.rung, self.buffered);
        Some(self.config.segment_bytes(self.rung))
    }

    /// Handles the last byte of the segment.
    pub fn handle_segment(&mut self, now: Instant) {
        self.play(now);
        if !self.has_begun {
            self.has_begun = true;
            self.events.push_back(StreamEvent::Began(now - self.start));
        }
        let before = self.before.replace(self.rung);
        self.events.push_back(StreamEvent::Segment {
            bitrate: self.config.ladder[self.rung],
            is_switch: before.is_some_and(|before| before != self.rung),
        });
        self.buffered += self.config.segment;
        self.is_fetching = false;
    }

    /// Returns the next event at the time of the call that caused it.
    pub fn poll_event(&mut self) -> Option<StreamEvent> {
        self.events.pop_front()
    }

    /// Returns the stall that lasts at `now`, the end.
    pub fn stall(&self, now: Instant) -> Option<StreamEvent> {
        let empty = self.at + self.buffered;
        (self.has_begun && empty < now).then_some(StreamEvent::Stalled(empty))
    }

    /// Play time in the buffer, at the last call with a time.
    pub fn buffered(&self) -> Duration {
        self.buffered
    }

    /// Plays until `now`, or until the buffer is empty.
    fn play(&mut self, now: Instant) {
        self.events.extend(self.stall(now));
        if self.has_begun {
            self.buffered = self.buffered.saturating_sub(now - self.at);
        }
        self.at = now;
    }
}

#[cfg(test)]
mod tests;

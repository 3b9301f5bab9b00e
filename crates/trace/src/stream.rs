//! The quality of streamed video, as it is in documents: what a viewer notices.

use crate::value::rounded;
use lasthop_hosts::StreamEvent;
use lasthop_units::{Duration, Instant};
use serde::{Deserialize, Serialize};

/// A film of a viewer, in the measured time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StreamSummary {
    /// Time from the start of the flow until play began, in s, also if play began in the warm-up.
    /// Absent if it never did.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub startup_s: Option<f64>,
    /// Number of stalls, in which play waited for the next segment.
    pub stalls: u64,
    /// Time of all stalls, in s.
    pub stalled_s: f64,
    /// Share of the stalls in the time since play began, 0 to 1. Absent if it never did.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub rebuffering_fraction: Option<f64>,
    /// Number of segments that arrived.
    pub segments: u64,
    /// Mean bitrate of these segments, in Mb/s. Absent without any.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub mean_bitrate_mbps: Option<f64>,
    /// Number of segments with another bitrate than the segment before.
    pub switches: u64,
}

/// A film during a run.
#[derive(Clone, Debug)]
pub(crate) struct StreamTally {
    from: Instant,
    until: Instant,
    /// The start of play, and the time that it took.
    begun: Option<(Instant, Duration)>,
    stalls: u64,
    stalled: Duration,
    segments: u64,
    bits_per_s: u64,
    switches: u64,
}

impl StreamTally {
    pub(crate) fn new(from: Instant, until: Instant) -> Self {
        Self {
            from,
            until,
            begun: None,
            stalls: 0,
            stalled: Duration::ZERO,
            segments: 0,
            bits_per_s: 0,
            switches: 0,
        }
    }

    /// Notes what the viewer notices at `now`. A stall counts with its part in the measured time.
    pub(crate) fn add(&mut self, now: Instant, event: &StreamEvent) {
        match *event {
            StreamEvent::Began(delay) => self.begun = Some((now, delay)),
            StreamEvent::Segment { bitrate, is_switch } => {
                if now >= self.from && now <= self.until {
                    self.segments += 1;
                    self.bits_per_s += bitrate.as_bps();
                    self.switches += u64::from(is_switch);
                }
            }
            StreamEvent::Stalled(since) => {
                let part = now.min(self.until).saturating_since(since.max(self.from));
                self.stalls += u64::from(!part.is_zero());
                self.stalled += part;
            }
        }
    }

    /// Summarises a run that ended at `end`.
    pub(crate) fn summary(&self, end: Instant) -> StreamSummary {
        let since = |begun: Instant| self.until.min(end).saturating_since(begun.max(self.from));
        let played = self.begun.map(|(begun, _)| since(begun)).filter(|time| !time.is_zero());
        let fraction = |time: Duration| self.stalled.as_secs_f64() / time.as_secs_f64();
        let mean = self.bits_per_s as f64 / self.segments as f64 / 1e6;
        StreamSummary {
            startup_s: self.begun.map(|(_, delay)| rounded(delay.as_secs_f64(), 9)),
            stalls: self.stalls,
            stalled_s: rounded(self.stalled.as_secs_f64(), 9),
            rebuffering_fraction: played.map(|time| rounded(fraction(time), 9)),
            segments: self.segments,
            mean_bitrate_mbps: (self.segments > 0).then(|| rounded(mean, 6)),
            switches: self.switches,
        }
    }
}

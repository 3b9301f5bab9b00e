//! Which phases a measurement consists of, and what follows from their records.
//! Knows nothing of datagrams and clocks: phases go out, records come in.

use crate::plan::{Direction, PhasePlan, StreamKind, StreamPlan};
use crate::record::PhaseRecord;
use crate::report::Report;
use alloc::vec::Vec;
use lasthop_units::Duration;

/// What is to be found out, and how.
#[derive(Clone, Debug, PartialEq)]
pub struct SurveyConfig {
    /// The directions, measured one after the other; at least one.
    pub directions: Vec<Direction>,
    /// Lengths of IP packets, at least one; two of them tell packets from bytes.
    pub packet_bytes: Vec<u16>,
    /// How.
    pub method: Method,
    /// Find out the discipline too (the fast method does while it measures).
    pub discipline: bool,
    /// No flow is faster than this, in packets a second.
    pub rate_max_pps: f64,
}

/// How a queue is measured.
#[derive(Clone, Debug, PartialEq)]
pub enum Method {
    /// The paper's algorithms, to the letter.
    Exact(ExactConfig),
    /// Bisection and short bursts, until the confidence interval is tight enough.
    Fast(FastConfig),
}

/// Algorithms 1 and 2; the default is the paper's.
#[derive(Clone, Debug, PartialEq)]
pub struct ExactConfig {
    /// Rates are multiples of this, in packets a second.
    pub step_pps: f64,
    /// How long each rate is sent.
    pub dwell: Duration,
    /// The saturation rate if it is known; then algorithm 1 is left out.
    pub saturation_pps: Option<f64>,
    /// How many sessions.
    pub sessions: u32,
    /// All times of algorithm 2 (120 s in the paper) are this many times as
    /// long, above 0 and up to 1.
    pub time_scale: f64,
}

/// The fast method.
#[derive(Clone, Debug, PartialEq)]
pub struct FastConfig {
    /// Most time for one direction, all packet lengths together.
    pub duration_max: Duration,
    /// Half width of the confidence interval that is enough, relative to the mean.
    pub precision: f64,
}

impl Default for ExactConfig {
    fn default() -> Self {
        Self {
            step_pps: 50.0,
            dwell: Duration::from_secs(60),
            saturation_pps: None,
            sessions: 30,
            time_scale: 1.0,
        }
    }
}

impl Default for FastConfig {
    fn default() -> Self {
        Self { duration_max: Duration::from_secs(60), precision: 0.01 }
    }
}

/// A phase to be run now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Phase {
    /// Which way the packets go.
    pub direction: Direction,
    /// What is sent.
    pub plan: PhasePlan,
}

/// How far a survey is.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Progress {
    /// Time of the phases that are done.
    pub done: Duration,
    /// Most time that is still needed, without the pauses between phases.
    pub left_max: Duration,
}

/// A measurement.
#[derive(Clone, Debug)]
pub struct Survey {
    config: SurveyConfig,
    done: usize,
}

impl Survey {
    /// One that has not begun.
    pub fn new(config: SurveyConfig) -> Self {
        Self { config, done: 0 }
    }

    /// The next phase; `None` once all is known. Asking twice gives the same.
    pub fn phase(&self) -> Option<Phase> {
        let direction = *self.config.directions.get(self.done)?;
        let Method::Exact(exact) = &self.config.method else { return None };
        let time = |secs: f64| Duration::from_secs_f64(secs * exact.time_scale);
        let packet_bytes = self.config.packet_bytes[0];
        let stream = |kind, rate_pps: f64, begin, end| StreamPlan {
            kind,
            packet_bytes,
            interval: crate::interval_of(rate_pps),
            begin: time(begin),
            end: time(end),
        };
        let rate_pps = exact.saturation_pps?;
        let streams = alloc::vec![
            stream(StreamKind::Sparse, 10.0, 0.0, 120.0),
            stream(StreamKind::Bulk, rate_pps, 30.0, 90.0),
        ];
        Some(Phase { direction, plan: PhasePlan { streams } })
    }

    /// The server allows no more than `rate_max_bps`, IP headers included.
    pub fn limit_rate(&mut self, rate_max_bps: u64) {
        let bytes = self.config.packet_bytes.iter().copied().max().unwrap_or(1).max(1);
        let pps = rate_max_bps as f64 / 8.0 / f64::from(bytes);
        self.config.rate_max_pps = self.config.rate_max_pps.min(pps);
    }

    /// What became of the phase.
    pub fn handle_record(&mut self, _record: &PhaseRecord) {
        self.done += 1;
    }

    /// How far it is.
    pub fn progress(&self) -> Progress {
        Progress::default()
    }

    /// What is known so far.
    pub fn report(&self) -> Report {
        Report::default()
    }
}

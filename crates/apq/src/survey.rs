//! A survey: which phases a measurement consists of, and the conclusions from their
//! records (paper `apq`, algorithms 1 and 2, and a faster method). Rates are in
//! packets per second, lengths in bytes of IP packets. Leaves out datagrams and
//! clocks: phases go out, records come in.

mod conclude;
mod exact;
mod fast;
mod known;
mod steady;
mod step;

use crate::plan::{Direction, PhasePlan};
use crate::record::PhaseRecord;
use crate::report::{DirectionReport, Report};
use alloc::vec::Vec;
use known::Direct;
use lasthop_units::Duration;
use step::{SurveyStep, Volume};

/// The configuration of a survey.
#[derive(Clone, Debug, PartialEq)]
pub struct SurveyConfig {
    /// The directions, measured one after the other; at least one, each once.
    pub directions: Vec<Direction>,
    /// Lengths of IP packets, at least one; with two the unit of the limit is
    /// found.
    pub packet_bytes: Vec<u16>,
    /// Method of the survey.
    pub method: Method,
    /// Whether to find the discipline, too (the fast method always does).
    pub discipline: bool,
    /// Upper bound of the rate of a flow, in packets per second.
    pub rate_max_pps: f64,
}

/// Method by which a queue is measured.
#[derive(Clone, Debug, PartialEq)]
pub enum Method {
    /// The paper's algorithms, exactly.
    Exact(ExactConfig),
    /// Bisection and short bursts, until the confidence interval is narrow enough.
    Fast(FastConfig),
}

/// The parameters of algorithms 1 and 2; the defaults are the paper's.
#[derive(Clone, Debug, PartialEq)]
pub struct ExactConfig {
    /// Step of the search: rates are multiples of this, in packets per second.
    pub step_pps: f64,
    /// Time for which each rate is sent.
    pub dwell: Duration,
    /// The saturation rate if it is known, in packets per second; then algorithm 1
    /// is skipped.
    pub saturation_pps: Option<f64>,
    /// Number of sessions.
    pub sessions: u32,
    /// Factor of all times of algorithm 2 (120 s in the paper), above 0 and at most
    /// 1.
    pub time_scale: f64,
}

/// The parameters of the fast method.
#[derive(Clone, Debug, PartialEq)]
pub struct FastConfig {
    /// Longest time for one direction, for all packet lengths together.
    pub duration_max: Duration,
    /// Sufficient half width of the confidence interval, relative to the mean.
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

/// A phase that is to be run now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Phase {
    /// Direction of the packets.
    pub direction: Direction,
    /// The packets to send.
    pub plan: PhasePlan,
}

/// The progress of a survey.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Progress {
    /// Duration of the phases that are done.
    pub done: Duration,
    /// Longest time that is still needed, without the pauses between phases.
    pub left_max: Duration,
}

/// Why a configuration is not valid.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ConfigError {
    /// No direction, or one that is given twice.
    #[error("at least one direction is needed, each once")]
    Directions,
    /// A packet length that cannot be sent, or is given twice.
    #[error(
        "packet lengths must differ and be {PACKET_BYTES_MIN} to {PACKET_BYTES_MAX} bytes; there is {0}"
    )]
    PacketBytes(u16),
    /// No packet length.
    #[error("at least one packet length is needed")]
    NoPacketBytes,
    /// A rate outside of its range.
    #[error("{name} must be {RATE_MIN_PPS} to {RATE_MAX_PPS} packets a second, not {value}")]
    Rate {
        /// The name of the rate.
        name: &'static str,
        /// The value of the rate.
        value: f64,
    },
    /// Another value outside of its range.
    #[error("{name} must be {allowed}")]
    Range {
        /// The name of the value.
        name: &'static str,
        /// The range that is allowed.
        allowed: &'static str,
    },
}

/// Shortest IP packet of a flow, in bytes.
pub const PACKET_BYTES_MIN: u16 = 100;

/// Longest IP packet of a flow, in bytes.
pub const PACKET_BYTES_MAX: u16 = 9_000;

/// Lowest rate that can be configured, in packets per second.
pub const RATE_MIN_PPS: f64 = 1.0;

/// Highest rate that can be configured, in packets per second.
pub const RATE_MAX_PPS: f64 = 1e6;

impl SurveyConfig {
    /// Checks the configuration.
    ///
    /// # Errors
    ///
    /// The first value that is outside of its range.
    pub fn check(&self) -> Result<(), ConfigError> {
        let twice = |index: usize| self.packet_bytes[..index].contains(&self.packet_bytes[index]);
        let (first, others) = self.directions.split_first().ok_or(ConfigError::Directions)?;
        if others.len() > 1 || others.contains(first) {
            return Err(ConfigError::Directions);
        }
        if self.packet_bytes.is_empty() {
            return Err(ConfigError::NoPacketBytes);
        }
        for (index, &bytes) in self.packet_bytes.iter().enumerate() {
            if !(PACKET_BYTES_MIN..=PACKET_BYTES_MAX).contains(&bytes) || twice(index) {
                return Err(ConfigError::PacketBytes(bytes));
            }
        }
        check_rate("the highest rate", self.rate_max_pps)?;
        match &self.method {
            Method::Exact(exact) => exact.check(self.rate_max_pps),
            Method::Fast(fast) => fast.check(),
        }
    }
}

impl ExactConfig {
    fn check(&self, rate_max_pps: f64) -> Result<(), ConfigError> {
        check_rate("the step of the search", self.step_pps)?;
        check_range(self.dwell >= DWELL_MIN, "the time each rate is sent", "at least 0.1 s")?;
        check_range(self.dwell <= HOUR, "the time each rate is sent", "at most an hour")?;
        if let Some(rate) = self.saturation_pps {
            check_rate("the saturation rate", rate)?;
            let within = rate <= rate_max_pps;
            check_range(within, "the saturation rate", "at most the highest rate")?;
        }
        check_range(self.sessions >= 1, "the number of sessions", "at least 1")?;
        let scaled = self.time_scale > 0.0 && self.time_scale <= 1.0;
        check_range(scaled, "the scale of time", "above 0 and at most 1")
    }
}

impl FastConfig {
    fn check(&self) -> Result<(), ConfigError> {
        let enough = self.duration_max >= FAST_DURATION_MIN && self.duration_max <= HOUR;
        check_range(enough, "the time for one direction", "5 s to an hour")?;
        let sound = self.precision > 0.0 && self.precision < 1.0;
        check_range(sound, "the precision", "between 0 and 1")
    }
}

/// Shortest time for which a rate is sent: with less, rates of a few hundred
/// packets per second are not known precisely.
const DWELL_MIN: Duration = Duration::from_millis(100);

/// Upper bound of the baseline flow's rate in packets per second.
const SPARSE_PPS_MAX: f64 = 50.0;

/// Upper bound of all times.
const HOUR: Duration = Duration::from_secs(3_600);

/// Shortest time for one direction: the search of the fast method needs this.
const FAST_DURATION_MIN: Duration = Duration::from_secs(5);

fn check_rate(name: &'static str, value: f64) -> Result<(), ConfigError> {
    let sound = (RATE_MIN_PPS..=RATE_MAX_PPS).contains(&value);
    if sound { Ok(()) } else { Err(ConfigError::Rate { name, value }) }
}

fn check_range(sound: bool, name: &'static str, allowed: &'static str) -> Result<(), ConfigError> {
    if sound { Ok(()) } else { Err(ConfigError::Range { name, allowed }) }
}

/// A measurement in progress.
#[derive(Clone, Debug, PartialEq)]
pub struct Survey {
    config: SurveyConfig,
    /// The results per direction, started or not.
    known: Vec<Direct>,
    /// The index of the current direction and its current step; `None` once all is
    /// done.
    step: Option<(usize, SurveyStep)>,
}

impl Survey {
    /// A survey that has not started. A configuration that [`SurveyConfig::check`]
    /// refuses gives a survey that ends early or finds little.
    pub fn new(config: SurveyConfig) -> Self {
        let direct = |&direction: &_| Direct::new(direction, &config.packet_bytes);
        let known = config.directions.iter().map(direct).collect();
        let mut survey = Self { config, known, step: None };
        survey.step = survey.next_from(0);
        survey
    }

    /// The next phase; `None` once all is done. Repeated calls give the same phase.
    pub fn phase(&self) -> Option<Phase> {
        let (index, step) = self.step.as_ref()?;
        Some(Phase { direction: self.config.directions[*index], plan: step.plan().clone() })
    }

    /// Limits both flows together to `rate_max_bps`, IP headers included. Must be
    /// called before the first phase.
    pub fn limit_rate(&mut self, rate_max_bps: u64) {
        let bytes = self.config.packet_bytes.iter().copied().max().unwrap_or(1).max(1);
        let pps = rate_max_bps as f64 / 8.0 / f64::from(bytes) - SPARSE_PPS_MAX;
        self.config.rate_max_pps = self.config.rate_max_pps.min(pps);
        self.step = self.next_from(0);
    }

    /// Handles the record of the current phase. A record of something else makes the
    /// result wrong, and has no other effect.
    pub fn handle_record(&mut self, record: &PhaseRecord) {
        if let Some((index, step)) = self.step.take() {
            self.known[index].absorb(&step, record);
            self.step = self.next_from(index);
        }
    }

    /// The progress of the survey.
    pub fn progress(&self) -> Progress {
        let done = self.known.iter().map(|direct| direct.measured).sum();
        let left = match &self.step {
            None => Duration::ZERO,
            Some((index, _)) => {
                let (_, _, each) = self.each_max().of_directions(1);
                let later = self.known.len() - index - 1;
                each.saturating_sub(self.known[*index].measured) + each * later as u64
            }
        };
        Progress { done, left_max: left }
    }

    /// Upper bounds of what will be sent, in both directions and all flows
    /// together, and of the time without the pauses between phases: packets, bytes
    /// of IP packets, time.
    pub fn volume_max(&self) -> (u64, u64, Duration) {
        self.each_max().of_directions(self.known.len())
    }

    /// The results so far.
    pub fn report(&self) -> Report {
        let current = self.step.as_ref().map_or(self.known.len(), |(index, _)| *index);
        let begun = (current + 1).min(self.known.len());
        let report = |index| self.direction(&self.known[index], index < current);
        Report { directions: (0..begun).map(report).collect() }
    }

    fn direction(&self, known: &Direct, done: bool) -> DirectionReport {
        let rate_max = self.config.rate_max_pps;
        let search = |index: usize| match &self.config.method {
            Method::Exact(exact) => exact::search(&known.sizes[index].loads, exact, rate_max),
            Method::Fast(_) => fast::search_of(known, index, rate_max),
        };
        conclude::report(known, &self.config, search, done)
    }

    /// The next step, in the direction with that index or a later one.
    fn next_from(&self, first: usize) -> Option<(usize, SurveyStep)> {
        (first..self.known.len()).find_map(|index| {
            let step = match &self.config.method {
                Method::Exact(config) => exact::next(&self.config, config, &self.known[index]),
                Method::Fast(config) => fast::next(&self.config, config, &self.known[index]),
            };
            Some((index, step?))
        })
    }

    /// Upper bounds of the traffic in each direction.
    fn each_max(&self) -> Volume {
        match &self.config.method {
            Method::Exact(config) => exact::volume_max(&self.config, config),
            Method::Fast(config) => fast::volume_max(&self.config, config),
        }
    }
}

#[cfg(test)]
mod testbed;
#[cfg(test)]
mod tests;

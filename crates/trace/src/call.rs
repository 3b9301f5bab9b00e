//! The quality of a call in one direction, as it is in documents: what its listener notices.

use crate::value::rounded;
use lasthop_hosts::CallConfig;
use lasthop_hosts::e_model;
use lasthop_hosts::playout::Playout;
use lasthop_units::{Duration, Instant};
use serde::{Deserialize, Serialize};

/// Quality of a call in one direction, of the packets that left after the warm-up and were due by
/// the end of the run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CallSummary {
    /// Number of packets that were due.
    pub packets: u64,
    /// Share of the packets that arrived after the instant at which they were due, 0 to 1.
    pub late_fraction: f64,
    /// Share of the packets that had not arrived by the end of the run, 0 to 1.
    pub lost_fraction: f64,
    /// Largest number of successive packets that the receiver concealed, because they were late or
    /// lost.
    pub concealed_run_max_packets: u64,
    /// Interarrival jitter (RFC 3550) of the last packets, in ms.
    pub jitter_ms: f64,
    /// Delay from mouth to ear, in ms: speech of one packet, delay of the first packet that arrived,
    /// and jitter buffer. Absent if nothing arrived.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub mouth_to_ear_ms: Option<f64>,
    /// Rating factor R of the E-model (ITU-T G.107), at most 93.2; below 50 nearly all users are
    /// dissatisfied. The codec is G.711 with concealment. Absent if nothing arrived.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub r_factor: Option<f64>,
    /// Mean opinion score of that rating, 1 to 4.5; 1 if nothing arrived.
    pub mos: f64,
}

impl CallSummary {
    /// Summarises a call that ended at `end`; `None` if no packet was due.
    pub(crate) fn new(config: &CallConfig, playout: &Playout, end: Instant) -> Option<Self> {
        let played = playout.finished(end);
        let concealed = played.concealed_share()?;
        let share = |packets: u64| rounded(packets as f64 / played.packets as f64, 9);
        let ms = |time: Duration| rounded(time.as_nanos() as f64 / 1e6, 6);
        let mouth_to_ear = playout.offset().map(|offset| config.interval + offset);
        let r_factor = mouth_to_ear.map(|delay| {
            e_model::rating(delay.as_nanos() as f64 / 1e6, concealed, played.burst_ratio())
        });
        Some(Self {
            packets: played.packets,
            late_fraction: share(played.late),
            lost_fraction: share(played.concealed.saturating_sub(played.late)),
            concealed_run_max_packets: played.longest_run,
            jitter_ms: ms(playout.jitter()),
            mouth_to_ear_ms: mouth_to_ear.map(ms),
            r_factor: r_factor.map(|r| rounded(r, 6)),
            mos: rounded(r_factor.map_or(1.0, e_model::mean_opinion), 6),
        })
    }
}

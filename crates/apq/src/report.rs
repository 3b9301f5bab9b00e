//! The results of a survey, and the reasons to doubt them. Capacities are in
//! packets or in bytes of IP packets, rates in packets or bits per second, delays
//! in nanoseconds, shares from 0 to 1. Leaves out how they are measured
//! ([`crate::survey`]) and their JSON form.

use crate::plan::Direction;
use alloc::vec::Vec;
use core::fmt;
use lasthop_units::Duration;

/// The result of a [`Survey`](crate::Survey).
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Report {
    /// One report per direction, in the order of measurement.
    pub directions: Vec<DirectionReport>,
}

/// The results for the queue in one direction.
#[derive(Clone, Debug, PartialEq)]
pub struct DirectionReport {
    /// Direction of the packets.
    pub direction: Direction,
    /// Results per packet length, in the order of measurement.
    pub sizes: Vec<SizeReport>,
    /// Unit of the queue's limit; `None` with a single packet length.
    pub limit_unit: Option<Judgement<Unit>>,
    /// The discipline of the queue; `None` if it was not asked for.
    pub discipline: Option<Judgement<Discipline>>,
    /// Packets held by a queue below the upper one, if the discipline reveals it.
    pub driver_queue_packets: Option<Estimate>,
    /// Why the result may be wrong; empty if there is no reason.
    pub doubts: Vec<Doubt>,
    /// Duration of all phases, without the pauses between them.
    pub measured: Duration,
}

/// The results for packets of one length.
#[derive(Clone, Debug, PartialEq)]
pub struct SizeReport {
    /// Length of the IP packets in bytes.
    pub packet_bytes: u16,
    /// The search for the saturation rate, in the order of measurement.
    pub search: Vec<LoadPoint>,
    /// Rate of the saturation flow in packets per second.
    pub saturation_pps: Option<f64>,
    /// The sessions, in the order of measurement.
    pub sessions: Vec<SessionReport>,
    /// The capacity in packets: the most that were in the queue and in transmission
    /// when one more was accepted, including that one; counted packet by packet.
    pub capacity_packets: Option<Estimate>,
    /// The same in bytes of IP packets.
    pub capacity_bytes: Option<Estimate>,
    /// Equation 1 of the paper: median queueing delay times throughput.
    pub equation_1_packets: Option<Estimate>,
    /// Throughput of the saturation flow while the queue was full, in bits per
    /// second, IP headers included.
    pub throughput_bps: Option<Estimate>,
    /// Median delay with a full queue less that with an empty one, in ns.
    pub queueing_delay_ns: Option<Estimate>,
}

/// One rate of the search for the saturation rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LoadPoint {
    /// Packets sent per second.
    pub offered_pps: f64,
    /// Packets received per second.
    pub received_pps: f64,
    /// Share of packets that did not arrive, 0 to 1.
    pub loss: f64,
    /// Median delay less the shortest delay of the search so far.
    pub queueing_delay: Duration,
}

/// One session: an empty queue, a full queue, an empty queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SessionReport {
    /// Capacity by equation 1, in packets.
    pub equation_1_packets: f64,
    /// Capacity counted packet by packet, in packets.
    pub counted_packets: f64,
    /// Throughput with a full queue, in bits per second.
    pub throughput_bps: f64,
    /// Median delay with a full queue less that with an empty one, in ns.
    pub queueing_delay_ns: f64,
    /// Share of the saturation flow's packets that did not arrive, 0 to 1.
    pub loss: f64,
    /// Drift of the receiver's clock relative to the sender's, in parts per
    /// million.
    pub drift_ppm: f64,
}

/// A mean and the half width of its 95 % confidence interval (Student's t).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Mean of the values.
    pub mean: f64,
    /// Half of the width of the interval; `None` with fewer than two values.
    pub half_width: Option<f64>,
    /// Number of values.
    pub values: u32,
}

/// A verdict and its confidence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Judgement<T> {
    /// The verdict itself.
    pub verdict: T,
    /// Confidence, 0 to 1; for "cannot tell": that of the likeliest verdict.
    pub confidence: f64,
}

/// Unit of the limit of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// The limit is in packets.
    Packets,
    /// The limit is in bytes.
    Bytes,
    /// The records fit neither, or both.
    CannotTell,
}

/// Discipline by which a queue selects packets to drop and to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Discipline {
    /// One queue with a limit; packets that arrive at a full queue are dropped.
    DropTail,
    /// One queue with controlled delay (CoDel, RFC 8289, and similar ones).
    CoDel,
    /// One queue per flow, with a limit.
    FairDropTail,
    /// One queue per flow, with controlled delay (FQ-CoDel, RFC 8290).
    FqCoDel,
    /// None of these, or more than one.
    CannotTell,
}

/// Why a result may be wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Doubt {
    /// The queue was never full: no rate that was tried lost packets.
    NeverSaturated,
    /// The throughput with a full queue varies from second to second by this share
    /// of its mean.
    ThroughputUnsteady(f64),
    /// The delay with a full queue has two peaks at this distance, in ns.
    DelayMultimodal(f64),
    /// The delay without load varies by this much, in ns: the queue was not empty.
    BaselineUnsteady(f64),
    /// The sender achieved only this share of its rate.
    SenderIsBottleneck(f64),
    /// Packets leave the bottleneck too evenly for Wi-Fi: the variation of their
    /// gaps is this share of the mean.
    BottleneckNotWifi(f64),
    /// Other traffic used this share of the throughput for some time.
    OtherTraffic(f64),
    /// The confidence interval is wider than requested, relative to the mean.
    Imprecise(f64),
}

impl Doubt {
    /// The kind of doubt in one word, for documents.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::NeverSaturated => "never_saturated",
            Self::ThroughputUnsteady(_) => "throughput_unsteady",
            Self::DelayMultimodal(_) => "delay_multimodal",
            Self::BaselineUnsteady(_) => "baseline_unsteady",
            Self::SenderIsBottleneck(_) => "sender_is_bottleneck",
            Self::BottleneckNotWifi(_) => "bottleneck_not_wifi",
            Self::OtherTraffic(_) => "other_traffic",
            Self::Imprecise(_) => "imprecise",
        }
    }
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = |share: f64| share * 100.0;
        let millis = |nanos: f64| nanos / 1e6;
        match *self {
            Self::NeverSaturated => f.write_str(
                "no rate that was tried filled the queue: the sender or another hop is slower",
            ),
            Self::ThroughputUnsteady(share) => {
                write!(f, "the throughput varies by {:.0} % from second to second", percent(share))
            }
            Self::DelayMultimodal(gap) => {
                write!(f, "the delay with a full queue has two peaks, {:.1} ms apart", millis(gap))
            }
            Self::BaselineUnsteady(spread) => write!(
                f,
                "the delay without load varies by {:.1} ms: the queue was not always empty",
                millis(spread)
            ),
            Self::SenderIsBottleneck(share) => {
                write!(f, "the sender managed {:.0} % of the rate it should send", percent(share))
            }
            Self::BottleneckNotWifi(variation) => write!(
                f,
                "packets come too evenly for Wi-Fi (variation {:.1} %): the bottleneck may be a wire",
                percent(variation)
            ),
            Self::OtherTraffic(share) => {
                write!(f, "other traffic took up to {:.0} % of the throughput", percent(share))
            }
            Self::Imprecise(width) => write!(
                f,
                "the confidence interval is {:.1} % of the mean to either side",
                percent(width)
            ),
        }
    }
}

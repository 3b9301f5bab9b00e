//! What is known at the end of a survey, and what makes it doubtful.

use crate::plan::Direction;
use alloc::vec::Vec;
use core::fmt;
use lasthop_units::Duration;

/// The result of a [`Survey`](crate::Survey).
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Report {
    /// One for each direction, in the order of measurement.
    pub directions: Vec<DirectionReport>,
}

/// What is known of the queue in one direction.
#[derive(Clone, Debug, PartialEq)]
pub struct DirectionReport {
    /// Which way the packets went.
    pub direction: Direction,
    /// One for each packet length, in the order of measurement.
    pub sizes: Vec<SizeReport>,
    /// What the queue's bound counts; `None` if it was not asked for.
    pub unit: Option<Judgement<Unit>>,
    /// How the queue chooses what to drop and what to send; `None` if it was not asked for.
    pub discipline: Option<Judgement<Discipline>>,
    /// Packets that a queue under the upper one holds, where the discipline shows it.
    pub driver_queue_packets: Option<Estimate>,
    /// Why the result may be wrong; empty if nothing speaks against it.
    pub doubts: Vec<Doubt>,
    /// How long its phases took, pauses between them left out.
    pub measured: Duration,
}

/// What packets of one length showed.
#[derive(Clone, Debug, PartialEq)]
pub struct SizeReport {
    /// Length of the IP packets.
    pub packet_bytes: u16,
    /// The search for the saturation rate, in the order of measurement.
    pub search: Vec<LoadPoint>,
    /// The rate of the saturation flow, in packets a second.
    pub saturation_pps: Option<f64>,
    /// The sessions, in the order of measurement.
    pub sessions: Vec<SessionReport>,
    /// The capacity: the most packets that were in the queue and in transmission
    /// when one more was let in, that one included; counted packet by packet.
    pub capacity_packets: Option<Estimate>,
    /// The same in bytes of IP packets.
    pub capacity_bytes: Option<Estimate>,
    /// Equation 1 of the paper: median queueing delay times throughput.
    pub equation_1_packets: Option<Estimate>,
    /// Throughput of the saturation flow while the queue was full, in bits a
    /// second, IP headers included.
    pub throughput_bps: Option<Estimate>,
    /// Median delay with a full queue less that with an empty one, in ns.
    pub queueing_delay_ns: Option<Estimate>,
}

/// One load of the search for the saturation rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LoadPoint {
    /// Packets a second that were sent.
    pub offered_pps: f64,
    /// Packets a second that arrived.
    pub received_pps: f64,
    /// Share of packets that did not arrive, 0 to 1.
    pub loss: f64,
    /// Median delay less the shortest one of the search so far.
    pub queueing_delay: Duration,
}

/// One session: an empty queue, a full queue, an empty queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SessionReport {
    /// Equation 1.
    pub equation_1_packets: f64,
    /// Counted packet by packet.
    pub counted_packets: f64,
    /// Throughput with a full queue, in bits a second.
    pub throughput_bps: f64,
    /// Median delay with a full queue less that with an empty one, in ns.
    pub queueing_delay_ns: f64,
    /// Share of the saturation flow's packets that did not arrive, 0 to 1.
    pub loss: f64,
    /// By how much the receiver's clock gained on the sender's, in parts per million.
    pub drift_ppm: f64,
}

/// A mean and the half width of its 95 % confidence interval (Student's t).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// Half of the interval's width; `None` from fewer than two values.
    pub half_width: Option<f64>,
    /// How many values it is made of.
    pub values: u32,
}

/// A verdict and how sure it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Judgement<T> {
    /// What was decided.
    pub verdict: T,
    /// How sure, 0 to 1; of "cannot tell": how sure the likeliest verdict would have been.
    pub confidence: f64,
}

/// What the bound of a queue counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Packets.
    Packets,
    /// Bytes.
    Bytes,
    /// The records fit neither, or both.
    CannotTell,
}

/// How a queue chooses what to drop and what to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Discipline {
    /// One queue with a bound; what comes to a full one is dropped.
    DropTail,
    /// One queue whose delay is managed (CoDel, RFC 8289, and its like).
    CoDel,
    /// A queue for each flow, bounded.
    FairDropTail,
    /// A queue for each flow, whose delay is managed (FQ-CoDel, RFC 8290).
    FqCoDel,
    /// None of these, or more than one.
    CannotTell,
}

/// Why a result may be wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Doubt {
    /// The queue never filled: no rate that was tried lost packets.
    NeverSaturated,
    /// Throughput with a full queue varies from second to second by this share of its mean.
    ThroughputUnsteady(f64),
    /// The delay with a full queue has two peaks, so far apart, in ns.
    DelayMultimodal(f64),
    /// The delay without load varies by this much, in ns: the queue was not empty.
    BaselineUnsteady(f64),
    /// The sender could send only this share of what it should have.
    SenderIsBottleneck(f64),
    /// Packets leave the bottleneck too evenly for Wi-Fi: the variation of
    /// their distances is this share of the mean.
    BottleneckNotWifi(f64),
    /// Other traffic took this share of the throughput for a while.
    OtherTraffic(f64),
    /// The confidence interval is wider than was asked for, relative to the mean.
    Imprecise(f64),
}

impl Doubt {
    /// Which it is, in one word, for documents.
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

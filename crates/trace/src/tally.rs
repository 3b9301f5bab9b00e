//! Counters of the recorder for each flow, node and link: packets, bytes, and times in nanoseconds.
//! Counters of flows are integers that never decrease, so the reading of an interval is a
//! difference; the airtime of nodes and the counters of links are reset after each interval.

use crate::apq::ApqFlowSummary;
use crate::experience::Experience;
use crate::histogram::Histogram;
use crate::names::FlowName;
use crate::parts::PartSums;
use crate::value::LossReason;
use lasthop_hosts::{ProgramFlow, TcpSample};
use lasthop_packet::{DropReason, NodeId, Packet};
use lasthop_units::{Duration, Instant};
use lasthop_wifi::event::Psdu;
use lasthop_wifi::phy::Rate;
use lasthop_wifi::stats::Levels;
use std::collections::BTreeMap;

/// Counters of a flow in its forward direction.
#[derive(Debug)]
pub(crate) struct FlowTally {
    /// Node at which forward packets enter the network.
    pub(crate) source: NodeId,
    header_bytes: u16,
    /// Start of the measured time: the end of the warm-up or the start of the flow,
    /// whichever is later.
    pub(crate) from: Instant,
    /// End of the measured time: the end of the run or the stop of the flow, whichever
    /// is earlier.
    pub(crate) until: Instant,
    pub(crate) sent: u64,
    pub(crate) received: u64,
    pub(crate) losses: [u64; LossReason::ALL.len()],
    /// Bytes of payload that arrived, over the whole run.
    pub(crate) payload_bytes: u64,
    /// Sum of the delays of all packets that arrived, over the whole run.
    pub(crate) delay_nanos: u64,
    /// Bytes of payload that arrived in the measured time.
    pub(crate) payload_bytes_measured: u64,
    /// Payload that entered the network in the measured time.
    pub(crate) offered_bytes: u64,
    /// Delays of the packets that arrived in the measured time.
    pub(crate) delays: Histogram,
    pub(crate) parts: PartSums,
    pub(crate) round_trips: Histogram,
    pub(crate) round_trips_all: u64,
    pub(crate) round_trip_nanos: u64,
    /// Delays from an application's write to the read at the other end of TCP, in the measured
    /// time.
    pub(crate) application_delays: Histogram,
    pub(crate) tcp: Option<TcpTally>,
    /// Measurement of the quality that a person notices; `None` for other flows.
    pub(crate) experience: Option<Box<Experience>>,
    /// Result of a measurement of a queue; `None` until it has ended.
    pub(crate) apq: Option<Box<ApqFlowSummary>>,
}

/// Readings of a TCP sender.
#[derive(Debug)]
pub(crate) struct TcpTally {
    /// Last reading before the measured time: its instant, and the bytes acknowledged so far.
    pub(crate) base: (Instant, u64),
    /// Last reading in the measured time, likewise.
    pub(crate) last: (Instant, u64),
    /// Bytes that the socket had accepted at these readings.
    pub(crate) written: [Option<u64>; 2],
    pub(crate) latest: TcpSample,
    pub(crate) cwnd_packets: Levels,
    pub(crate) round_trips: Histogram,
}

/// Counters of a node in the current interval, for the series and the live view.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct NodeTally {
    pub(crate) queue_packets: Option<u32>,
    /// Time in which the node transmitted; zero unless the cell records events.
    pub(crate) airtime: Duration,
}

/// Counters of a direction of a link in the current interval, for the series and the live view.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LinkTally {
    pub(crate) ppdus: u64,
    pub(crate) mpdus: u64,
    pub(crate) mpdus_failed: u64,
    pub(crate) rate: Rate,
}

impl FlowTally {
    pub(crate) fn new(name: &FlowName, warmup: Instant, end: Instant) -> Self {
        let from = warmup.max(name.start);
        let until = name.stop.map_or(end, |stop| stop.min(end));
        let experience = name.experience.map(|kind| Box::new(Experience::new(kind, from, until)));
        Self { experience, ..Self::empty(name.from, name.kind.header_bytes(), from, until) }
    }

    /// Makes the tally of a program's flow. The flow may start at any time, so the measured time is
    /// the whole run; its transport headers are unknown, so bytes are those of IP packets.
    pub(crate) fn of_program(flow: &ProgramFlow) -> Self {
        Self::empty(flow.from, 0, Instant::ZERO, Instant::MAX)
    }

    fn empty(source: NodeId, header_bytes: u16, from: Instant, until: Instant) -> Self {
        Self {
            source,
            header_bytes,
            from,
            until,
            sent: 0,
            received: 0,
            losses: [0; LossReason::ALL.len()],
            payload_bytes: 0,
            delay_nanos: 0,
            payload_bytes_measured: 0,
            offered_bytes: 0,
            delays: Histogram::default(),
            parts: PartSums::default(),
            round_trips: Histogram::default(),
            round_trips_all: 0,
            round_trip_nanos: 0,
            application_delays: Histogram::default(),
            tcp: None,
            experience: None,
            apq: None,
        }
    }

    #[inline]
    pub(crate) fn sent(&mut self, now: Instant, packet: &Packet) {
        self.sent += 1;
        if let Some(experience) = &mut self.experience {
            experience.sent(now);
        }
        if now >= self.from && now <= self.until {
            self.offered_bytes += u64::from(packet.bytes.saturating_sub(self.header_bytes));
        }
    }

    #[inline]
    pub(crate) fn arrived(&mut self, now: Instant, packet: &Packet) {
        let payload = u64::from(packet.bytes.saturating_sub(self.header_bytes));
        let delay = now.saturating_since(packet.created).as_nanos();
        self.received += 1;
        if let Some(experience) = &mut self.experience {
            experience.arrived(now, packet);
        }
        self.payload_bytes += payload;
        self.delay_nanos += delay;
        if now >= self.from && now <= self.until {
            self.payload_bytes_measured += payload;
            self.delays.add(delay);
            self.parts.add(delay, &packet.parts);
        }
    }

    /// Returns the number of packets lost, without replaced acknowledgements.
    pub(crate) fn lost(&self) -> u64 {
        self.losses.iter().sum::<u64>() - self.acks_replaced()
    }

    /// Returns the number of acknowledgements that coded links replaced by later ones.
    pub(crate) fn acks_replaced(&self) -> u64 {
        self.losses[LossReason::AckReplaced.index()]
    }

    /// Returns the number of these packets by reason; reasons that did not occur are absent.
    pub(crate) fn lost_by_reason(&self) -> BTreeMap<LossReason, u64> {
        let reasons = LossReason::ALL.into_iter().filter(|&it| it != LossReason::AckReplaced);
        let counts = reasons.map(|reason| (reason, self.losses[reason.index()]));
        counts.filter(|&(_, count)| count > 0).collect()
    }

    pub(crate) fn application_delay(&mut self, now: Instant, delay: Duration) {
        if now >= self.from && now <= self.until {
            self.application_delays.add(delay.as_nanos());
        }
    }

    pub(crate) fn round_trip(&mut self, now: Instant, rtt: Duration) {
        self.round_trips_all += 1;
        self.round_trip_nanos += rtt.as_nanos();
        if now >= self.from && now <= self.until {
            self.round_trips.add(rtt.as_nanos());
        }
    }

    pub(crate) fn tcp(&mut self, now: Instant, sample: &TcpSample) {
        let tally = self.tcp.get_or_insert_with(|| TcpTally {
            base: (self.from, 0),
            last: (self.from, 0),
            written: [sample.bytes_written.map(|_| 0); 2],
            latest: *sample,
            cwnd_packets: Levels::default(),
            round_trips: Histogram::default(),
        });
        tally.latest = *sample;
        if now <= self.from {
            tally.base = (now, sample.bytes_acked);
            tally.last = tally.base;
            tally.written = [sample.bytes_written; 2];
        } else if now <= self.until {
            tally.last = (now, sample.bytes_acked);
            tally.written[1] = sample.bytes_written;
            tally.cwnd_packets.add(sample.cwnd_packets, 1);
            if !sample.latest_rtt.is_zero() {
                tally.round_trips.add(sample.latest_rtt.as_nanos());
            }
        }
    }
}

impl LinkTally {
    pub(crate) fn new(rate: Rate) -> Self {
        Self { ppdus: 0, mpdus: 0, mpdus_failed: 0, rate }
    }

    pub(crate) fn add(&mut self, psdu: &Psdu) {
        self.ppdus += 1;
        self.mpdus += psdu.frames.len() as u64;
        self.mpdus_failed += psdu.frames.iter().filter(|frame| !frame.received).count() as u64;
        self.rate = psdu.rate;
    }
}

impl LossReason {
    /// All reasons, in the order of [`LossReason::index`].
    pub const ALL: [Self; 16] = [
        Self::QueueFull,
        Self::ActiveQueue,
        Self::RetryLimit,
        Self::Lifetime,
        Self::WireLoss,
        Self::GroupLoss,
        Self::Duplicate,
        Self::Reassembly,
        Self::OffChannel,
        Self::NotAssociated,
        Self::Failed,
        Self::PowerSaveBuffer,
        Self::PseudoRetryOut,
        Self::CodedLink,
        Self::AckReplaced,
        Self::Unreachable,
    ];

    /// Returns the position in [`LossReason::ALL`].
    pub const fn index(self) -> usize {
        self as usize
    }

    /// Returns the name in files, such as `queue_full`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::QueueFull => "queue_full",
            Self::ActiveQueue => "active_queue",
            Self::RetryLimit => "retry_limit",
            Self::Lifetime => "lifetime",
            Self::WireLoss => "wire_loss",
            Self::GroupLoss => "group_loss",
            Self::Duplicate => "duplicate",
            Self::Reassembly => "reassembly",
            Self::OffChannel => "off_channel",
            Self::NotAssociated => "not_associated",
            Self::Failed => "failed",
            Self::PowerSaveBuffer => "power_save_buffer",
            Self::PseudoRetryOut => "pseudo_retry_out",
            Self::CodedLink => "coded_link",
            Self::AckReplaced => "ack_replaced",
            Self::Unreachable => "unreachable",
        }
    }
}

impl From<DropReason> for LossReason {
    fn from(reason: DropReason) -> Self {
        match reason {
            DropReason::QueueFull => Self::QueueFull,
            DropReason::ActiveQueue => Self::ActiveQueue,
            DropReason::RetryLimit => Self::RetryLimit,
            DropReason::Lifetime => Self::Lifetime,
            DropReason::WireLoss => Self::WireLoss,
            DropReason::GroupLoss => Self::GroupLoss,
            DropReason::Duplicate => Self::Duplicate,
            DropReason::Reassembly => Self::Reassembly,
            DropReason::OffChannel => Self::OffChannel,
            DropReason::NotAssociated => Self::NotAssociated,
            DropReason::Failed => Self::Failed,
            DropReason::PowerSaveBuffer => Self::PowerSaveBuffer,
            DropReason::PseudoRetryOut => Self::PseudoRetryOut,
            DropReason::CodedLink => Self::CodedLink,
            DropReason::AckReplaced => Self::AckReplaced,
            DropReason::Unreachable => Self::Unreachable,
        }
    }
}

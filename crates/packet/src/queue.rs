//! The packet queues above the MAC, one per access category of a station:
//! drop-tail, CoDel (RFC 8289), FQ-CoDel (RFC 8290) with airtime fairness, a
//! drop-tail queue that adapts its capacity (eBDP), DualPI2 (RFC 9332), and CAKE.
//!
//! A queue holds packets for several peers (next receivers on the air). The queue selects the peer
//! to serve next, and the next packet of a peer. A peer needs no memory before its first packet.
//! Limits are in packets or in bytes of network-layer packets. Left out: classes; the queue
//! below is [`DriverQueue`].

mod bare;
mod cake;
mod codel;
mod driver;
mod drop_tail;
mod dual_pi2;
mod ebdp;
mod fifo;
mod fq_codel;

pub use cake::{Cake, Isolation, Tins};
pub use codel::CoDel;
pub use driver::{DriverLimit, DriverQueue};
pub use drop_tail::DropTail;
pub use dual_pi2::DualPi2;
pub use ebdp::EmulatedBdp;
pub use fq_codel::FqCodel;

use crate::Packet;
use crate::aqm::{Parameters, Pi2Parameters, Variant};
use alloc::vec::Vec;
use lasthop_units::{Bitrate, Bytes, Duration, Instant};

/// Header of an Ethernet frame, which disciplines of Linux count with the packet.
const ETHERNET_HEADER_BYTES: u64 = 14;

/// A next hop for which a queue holds packets: a small number, used as an index. The owner of the
/// queue defines its meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PeerId(pub u32);

impl PeerId {
    /// The only peer of a queue that has one.
    pub const ONLY: Self = Self(0);

    /// The number as an index.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// The limit of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// A number of packets, of any length.
    Packets(u32),
    /// A number of bytes of network-layer packets.
    Bytes(Bytes),
}

/// Marks by sojourn time alone, without the control law: every ECN-capable packet that waited
/// longer than the threshold leaves marked (Linux' `ce_threshold`). Senders with a scalable
/// congestion control (DCTCP, Prague) expect such marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CeThreshold {
    /// Longest sojourn time without a mark.
    pub sojourn: Duration,
    /// Whether packets with ECT(0) are exempt, so that only L4S traffic gets these marks
    /// ([RFC 9331](https://www.rfc-editor.org/rfc/rfc9331), section 4.1; `ce_threshold_selector
    /// 0x1/0x3` of Linux).
    pub ect1_only: bool,
}

/// The kind of a queue, and its parameters.
///
/// ```
/// use lasthop_packet::queue::QueueConfig;
/// use lasthop_units::Duration;
///
/// let shorter = QueueConfig::RFC_8290.with_target(Duration::from_millis(2));
/// assert!(shorter.is_some_and(|config| config.is_delay_managed()));
/// // 4 MiB are fewer packets of 1500 bytes than the limit of 8192.
/// assert_eq!(QueueConfig::MAC80211.packets_max(1500), 2796);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueConfig {
    /// First in, first out; a packet that does not fit is dropped on arrival.
    DropTail {
        /// The limit; packets held below the queue count.
        limit: Limit,
    },
    /// The same with a second limit for each peer, as of drivers that count the frames of every
    /// station. A peer at its limit leaves space for the packets of others.
    DropTailByPeer {
        /// The limit over all peers; packets held below the queue count.
        limit: Limit,
        /// Most packets that wait for one peer; packets held below the queue do not count.
        peer_packets: u32,
    },
    /// First in, first out, with controlled standing delay (RFC 8289).
    CoDel {
        /// The limit for bursts; packets held below the queue count.
        limit: Limit,
        /// Acceptable standing delay.
        target: Duration,
        /// Time in which a burst may drain, about the longest usual round-trip time.
        interval: Duration,
        /// Whether ECN-capable packets are marked instead of dropped.
        ecn: bool,
    },
    /// One queue per flow, each under CoDel, served in turn (RFC 8290).
    FqCodel {
        /// Limit in packets over all flows; packets held below the queue count.
        limit_packets: u32,
        /// Limit in bytes over all flows; packets held below the queue count.
        memory_limit: Bytes,
        /// Buckets of the flow hash per peer, at least 1.
        flows: u16,
        /// Bytes that a flow may send per turn, at least 1.
        quantum_bytes: u16,
        /// Acceptable standing delay.
        target: Duration,
        /// Time in which a burst may drain.
        interval: Duration,
        /// Whether ECN-capable packets are marked instead of dropped.
        ecn: bool,
        /// Whether airtime is shared evenly among stations, then bytes among the flows
        /// of a station; otherwise bytes are shared among all flows.
        airtime: bool,
        /// Marks by sojourn time alone, in addition to CoDel's.
        ce_threshold: Option<CeThreshold>,
    },
    /// First in, first out; the capacity follows the rate of service (eBDP).
    EmulatedBdp {
        /// Upper bound of the capacity in packets; packets held below the queue count.
        limit_packets: u32,
        /// Delay that the capacity allows: the packets served in this time, plus a burst.
        target: Duration,
        /// Capacity for bursts in packets, at least 1.
        burst_packets: u32,
        /// Number of packets over which service times are averaged, at least 1.
        average_packets: u32,
        /// Interval over which flows are counted; the target is divided by the square root of their
        /// number. `None`: not divided.
        flows: Option<Duration>,
    },
    /// A queue for L4S packets beside a classic one, with coupled marks and drops (RFC 9332).
    DualPi2 {
        /// Limit in packets of both queues; packets held below the queue count.
        limit_packets: u32,
        /// The control law.
        pi2: Pi2Parameters,
        /// Time between updates of the controller, above zero.
        update_interval: Duration,
        /// Sojourn time beyond which an L4S packet is marked.
        step: Duration,
        /// Share of the classic queue in percent of bytes, 0 to 100, while both have packets.
        classic_percent: u8,
    },
    /// CAKE: flows isolated by host, under COBALT, behind a shaper if there is a bandwidth.
    Cake {
        /// Rate of the shaper, overhead included, above zero; without one the link below limits. The
        /// server must ask [`Queue::ready_at`], as a wire does.
        bandwidth: Option<Bitrate>,
        /// Limit in bytes of frames; `None` for four intervals at the bandwidth, at least 4 MiB and
        /// at most 10 240 packets.
        memory_limit: Option<Bytes>,
        /// Acceptable standing delay; more at bandwidths that need longer for 1.5 packets.
        target: Duration,
        /// Time in which a burst may drain (`rtt`).
        interval: Duration,
        /// Shares of hosts.
        isolation: Isolation,
        /// Tins of different priority.
        tins: Tins,
        /// Bytes that the shaper and the turns of flows count beside a network-layer packet.
        overhead_bytes: u16,
    },
}

impl QueueConfig {
    /// The queue of Linux for every access point and station whose driver uses mac80211's queues
    /// (ath9k, ath10k, mt76, iwlwifi). The parameters are 8 192 packets, 4 MiB (its limit without
    /// VHT; 16 MiB with), 4 096 buckets, a quantum of 300 bytes, airtime fairness, and a target of
    /// 20 ms, because an aggregate takes milliseconds.
    pub const MAC80211: Self = Self::FqCodel {
        limit_packets: 8192,
        memory_limit: Bytes::new(4 << 20),
        flows: 4096,
        quantum_bytes: 300,
        target: Duration::from_millis(20),
        interval: Duration::from_millis(100),
        ecn: true,
        airtime: true,
        ce_threshold: None,
    };

    /// `fq_codel` as a queueing discipline above an interface, tuned for wired
    /// Internet links of 1 Mb/s to 10 Gb/s (RFC 8290, 5.2).
    pub const RFC_8290: Self = Self::FqCodel {
        limit_packets: 10_240,
        memory_limit: Bytes::new(32 << 20),
        flows: 1024,
        quantum_bytes: 1514,
        target: Duration::from_millis(5),
        interval: Duration::from_millis(100),
        ecn: true,
        airtime: false,
        ce_threshold: None,
    };

    /// eBDP, regardless of the number of flows. The target is the median round-trip
    /// time of TCP in a trace used by F. Li et al., "Measuring Queue Capacities of
    /// IEEE 802.11 Wireless Access Points". The other numbers are lasthop's choice;
    /// those of the paper on eBDP are not known here.
    pub const EMULATED_BDP: Self = Self::EmulatedBdp {
        limit_packets: 400,
        target: Duration::from_millis(200),
        burst_packets: 5,
        average_packets: 1000,
        flows: None,
    };

    /// `dualpi2` of Linux 6.17 (RFC 9332, appendix A): 10 000 packets, a target of 15 ms, updates
    /// every 16 ms, gains of 0.16 and 3.2 Hz, a coupling of 2, a step of 1 ms, and 10 % for the
    /// classic queue.
    pub const DUAL_PI2: Self = Self::DualPi2 {
        limit_packets: 10_000,
        pi2: Pi2Parameters {
            target: Duration::from_millis(15),
            alpha: 41,
            beta: 819,
            coupling: 2,
            drop_overload: true,
        },
        update_interval: Duration::from_millis(16),
        step: Duration::from_millis(1),
        classic_percent: 10,
    };

    /// `cake` without options: no shaper, an interval of 100 ms, a target of 5 ms, triple isolation,
    /// three tins.
    pub const CAKE: Self = Self::Cake {
        bandwidth: None,
        memory_limit: None,
        target: Duration::from_millis(5),
        interval: Duration::from_millis(100),
        isolation: Isolation::Triple,
        tins: Tins::Diffserv3,
        overhead_bytes: ETHERNET_HEADER_BYTES as u16,
    };

    /// Target of fair queueing without CoDel: no packet waits for so long.
    pub const NO_TARGET: Duration = Duration::MAX;

    /// CoDel tuned for wired Internet links (RFC 8289, 4.3 and 4.4), with the limit
    /// of Linux.
    pub const RFC_8289: Self = Self::CoDel {
        limit: Limit::Packets(1000),
        target: Duration::from_millis(5),
        interval: Duration::from_millis(100),
        ecn: false,
    };
}

impl QueueConfig {
    /// Highest number of packets of `bytes` that such a queue holds.
    pub fn packets_max(&self, bytes: u16) -> u32 {
        let packets = |limit| match limit {
            Limit::Packets(packets) => packets,
            Limit::Bytes(limit) => {
                (limit.as_u64() / u64::from(bytes).max(1)).try_into().unwrap_or(u32::MAX)
            }
        };
        match *self {
            Self::DropTail { limit }
            | Self::DropTailByPeer { limit, .. }
            | Self::CoDel { limit, .. } => packets(limit),
            Self::FqCodel { limit_packets, memory_limit, .. } => {
                packets(Limit::Bytes(memory_limit)).min(limit_packets)
            }
            Self::EmulatedBdp { limit_packets, .. } | Self::DualPi2 { limit_packets, .. } => {
                limit_packets
            }
            Self::Cake { .. } => {
                let limit = self.cake().map_or(0, |config| config.limit_bytes());
                packets(Limit::Bytes(Bytes::new(limit)))
            }
        }
    }

    /// The limit in bytes, if there is one.
    pub fn bytes_max(&self) -> Option<Bytes> {
        match *self {
            Self::DropTail { limit }
            | Self::DropTailByPeer { limit, .. }
            | Self::CoDel { limit, .. } => match limit {
                Limit::Bytes(limit) => Some(limit),
                Limit::Packets(_) => None,
            },
            Self::FqCodel { memory_limit, .. } => Some(memory_limit),
            Self::Cake { .. } => self.cake().map(|config| Bytes::new(config.limit_bytes())),
            Self::EmulatedBdp { .. } | Self::DualPi2 { .. } => None,
        }
    }

    /// Returns the configuration with another limit, at least one packet; `None` if the limit is in
    /// bytes.
    pub fn with_packets_max(mut self, packets: u32) -> Option<Self> {
        let bound = match &mut self {
            Self::DropTail { limit: Limit::Packets(bound) }
            | Self::DropTailByPeer { limit: Limit::Packets(bound), .. }
            | Self::CoDel { limit: Limit::Packets(bound), .. } => bound,
            Self::FqCodel { limit_packets, .. }
            | Self::EmulatedBdp { limit_packets, .. }
            | Self::DualPi2 { limit_packets, .. } => limit_packets,
            Self::DropTail { .. }
            | Self::DropTailByPeer { .. }
            | Self::CoDel { .. }
            | Self::Cake { .. } => return None,
        };
        *bound = packets;
        (packets > 0).then_some(self)
    }

    /// Returns the configuration with another target, above zero; `None` without active queue
    /// management.
    pub fn with_target(mut self, to: Duration) -> Option<Self> {
        match &mut self {
            Self::CoDel { target, .. } | Self::FqCodel { target, .. } => *target = to,
            Self::DualPi2 { pi2, .. } => pi2.target = to,
            Self::DropTail { .. }
            | Self::DropTailByPeer { .. }
            | Self::EmulatedBdp { .. }
            | Self::Cake { .. } => return None,
        }
        (!to.is_zero()).then_some(self)
    }

    /// Returns FQ-CoDel with another threshold for marks; `None` for another discipline.
    pub fn with_ce_threshold(mut self, to: CeThreshold) -> Option<Self> {
        let Self::FqCodel { ce_threshold, .. } = &mut self else { return None };
        *ce_threshold = Some(to);
        Some(self)
    }

    /// Whether the queue drops packets because of their delay, so that its limit is never near.
    pub const fn is_delay_managed(&self) -> bool {
        match self {
            Self::CoDel { target, .. } | Self::FqCodel { target, .. } => {
                target.as_nanos() < Self::NO_TARGET.as_nanos()
            }
            Self::DualPi2 { .. } | Self::Cake { .. } => true,
            Self::DropTail { .. } | Self::DropTailByPeer { .. } | Self::EmulatedBdp { .. } => false,
        }
    }

    /// Whether a packet that finds the queue empty and its server idle may be served without
    /// passing through, because it would leave no trace. CoDel's state is at rest whenever its
    /// queue is empty; that of schedulers, shapers and DualPI2 is not, and eBDP counts every flow.
    pub const fn is_stateless_when_empty(&self) -> bool {
        match self {
            Self::DropTail { .. } | Self::DropTailByPeer { .. } | Self::CoDel { .. } => true,
            Self::FqCodel { .. }
            | Self::EmulatedBdp { .. }
            | Self::DualPi2 { .. }
            | Self::Cake { .. } => false,
        }
    }

    /// The parameters of CAKE, if it is that.
    fn cake(&self) -> Option<cake::Config> {
        let Self::Cake {
            bandwidth,
            memory_limit,
            target,
            interval,
            isolation,
            tins,
            overhead_bytes,
        } = *self
        else {
            return None;
        };
        Some(cake::Config {
            bandwidth,
            memory_limit,
            target,
            interval,
            isolation,
            tins,
            overhead_bytes,
        })
    }
}

impl Default for QueueConfig {
    /// The default is [`QueueConfig::MAC80211`].
    fn default() -> Self {
        Self::MAC80211
    }
}

/// Packets that left a queue but still count against its limit: without a driver queue, those not
/// yet acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Held {
    /// Number of packets.
    pub packets: u32,
    /// Sum of their lengths.
    pub bytes: Bytes,
}

impl Held {
    /// No packets are held.
    pub const NONE: Self = Self { packets: 0, bytes: Bytes::ZERO };
}

/// Packets that differ in their tags only, which count up.
#[derive(Debug)]
pub struct PacketRun<'a> {
    /// First packet, and the next one after some were taken.
    pub packet: &'a mut Packet,
    /// Number of packets.
    pub count: u32,
}

/// A queue of packets for several peers.
///
/// ```
/// use lasthop_packet::Packet;
/// use lasthop_packet::queue::{Held, Limit, PeerId, Queue, QueueConfig};
/// use lasthop_units::Instant;
///
/// let now = Instant::ZERO;
/// let mut queue = Queue::new(&QueueConfig::DropTail { limit: Limit::Packets(2) }, 0);
/// let mut dropped = Vec::new();
/// for tag in 1..=3 {
///     let packet = Packet::new(tag, 1500, now);
///     queue.enqueue(now, PeerId::ONLY, packet, Held::NONE, &mut dropped);
/// }
/// let dequeued = queue.dequeue(now, &mut dropped).map(|(_, packet)| packet.tag);
/// assert_eq!((dequeued, queue.len_packets()), (Some(1), 1));
/// assert_eq!(dropped.iter().map(|packet| packet.tag).collect::<Vec<_>>(), [3]);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Queue {
    /// First in, first out, with a fixed limit.
    DropTail(DropTail),
    /// First in, first out, with a limit for each peer, too.
    DropTailByPeer {
        /// The queue, with its limit over all peers.
        tail: DropTail,
        /// Most packets that wait for one peer.
        peer_packets: u32,
    },
    /// First in, first out, under CoDel.
    CoDel(CoDel),
    /// Flow queueing under CoDel (FQ-CoDel).
    FqCodel(FqCodel),
    /// First in, first out, with an adaptive capacity.
    EmulatedBdp(EmulatedBdp),
    /// An L4S queue beside a classic one.
    DualPi2(DualPi2),
    /// Flows isolated by host, under COBALT.
    Cake(Cake),
}

macro_rules! each {
    ($queue:expr, $inner:ident => $body:expr) => {
        match $queue {
            Queue::DropTail($inner) | Queue::DropTailByPeer { tail: $inner, .. } => $body,
            Queue::CoDel($inner) => $body,
            Queue::FqCodel($inner) => $body,
            Queue::EmulatedBdp($inner) => $body,
            Queue::DualPi2($inner) => $body,
            Queue::Cake($inner) => $body,
        }
    };
}

impl Queue {
    /// Returns an empty queue. `perturbation`, drawn from the run's random numbers, keys the flow
    /// hash of FQ-CoDel (RFC 8290, 4.1.2) and the draws of DualPI2.
    pub fn new(config: &QueueConfig, perturbation: u32) -> Self {
        match *config {
            QueueConfig::DropTail { limit } => Self::DropTail(DropTail::new(limit)),
            QueueConfig::DropTailByPeer { limit, peer_packets } => {
                Self::DropTailByPeer { tail: DropTail::new(limit), peer_packets }
            }
            QueueConfig::CoDel { limit, target, interval, ecn } => Self::CoDel(CoDel::new(
                limit,
                Parameters { target, interval, ecn, variant: Variant::Rfc8289 },
            )),
            QueueConfig::FqCodel {
                limit_packets,
                memory_limit,
                flows,
                quantum_bytes,
                target,
                interval,
                ecn,
                airtime,
                ce_threshold,
            } => Self::FqCodel(FqCodel::new(
                fq_codel::Config {
                    limit_packets,
                    memory_limit,
                    flows,
                    quantum_bytes,
                    codel: Parameters {
                        target,
                        interval,
                        ecn,
                        variant: if airtime { Variant::Mac80211 } else { Variant::Rfc8289 },
                    },
                    airtime,
                    ce_threshold,
                },
                perturbation,
            )),
            QueueConfig::EmulatedBdp {
                limit_packets,
                target,
                burst_packets,
                average_packets,
                flows,
            } => Self::EmulatedBdp(EmulatedBdp::new(ebdp::Config {
                limit_packets,
                target,
                burst_packets,
                average_packets,
                flows,
            })),
            QueueConfig::DualPi2 { limit_packets, pi2, update_interval, step, classic_percent } => {
                let config =
                    dual_pi2::Config { limit_packets, pi2, update_interval, step, classic_percent };
                Self::DualPi2(DualPi2::new(config, perturbation))
            }
            QueueConfig::Cake {
                bandwidth,
                memory_limit,
                target,
                interval,
                isolation,
                tins,
                overhead_bytes,
            } => Self::Cake(Cake::new(
                &cake::Config {
                    bandwidth,
                    memory_limit,
                    target,
                    interval,
                    isolation,
                    tins,
                    overhead_bytes,
                },
                perturbation,
            )),
        }
    }

    /// Sets another limit in packets, with the rules of [`QueueConfig::with_packets_max`]. Packets
    /// beyond the limit stay until they are sent.
    pub fn set_packets_max(&mut self, packets: u32) {
        match self {
            Self::DropTail(queue) | Self::DropTailByPeer { tail: queue, .. } => {
                queue.set_limit(Limit::Packets(packets));
            }
            Self::CoDel(queue) => queue.set_limit(Limit::Packets(packets)),
            Self::FqCodel(queue) => queue.set_limit(packets),
            Self::EmulatedBdp(queue) => queue.set_limit(packets),
            Self::DualPi2(queue) => queue.set_limit(packets),
            Self::Cake(_) => {}
        }
    }

    /// Sets another target, with the rules of [`QueueConfig::with_target`].
    pub fn set_target(&mut self, target: Duration) {
        match self {
            Self::CoDel(queue) => queue.set_target(target),
            Self::FqCodel(queue) => queue.set_target(target),
            Self::DualPi2(queue) => queue.set_target(target),
            Self::DropTail(_)
            | Self::DropTailByPeer { .. }
            | Self::EmulatedBdp(_)
            | Self::Cake(_) => {}
        }
    }

    /// Replaces the configuration of the queue at `now`. The queued packets stay, in the order of
    /// their arrival and with the time that they have waited. Packets beyond the new limit are
    /// appended to `dropped`: the last ones, or those that the new discipline drops instead. (Linux
    /// drops all packets of a queueing discipline that is replaced.) The caller must repeat
    /// [`Queue::set_waiting`].
    pub fn replace(
        &mut self,
        now: Instant,
        config: &QueueConfig,
        perturbation: u32,
        held_below: Held,
        dropped: &mut Vec<Packet>,
    ) {
        let mut before = core::mem::replace(self, Self::new(config, perturbation));
        // Nothing has waited for so long that it would be dropped or marked for it.
        before.silence();
        let mut waiting: Vec<(PeerId, Packet)> =
            core::iter::from_fn(|| before.dequeue(now, dropped)).collect();
        waiting.sort_by_key(|(_, packet)| packet.arrived);
        for (peer, packet) in waiting {
            self.enqueue_copy(packet.arrived, peer, &packet, held_below, dropped);
        }
        if let Self::Cake(queue) = self {
            queue.restart(now);
        }
    }

    /// Lets the packets leave without drops and marks.
    fn silence(&mut self) {
        self.set_target(Duration::MAX);
        match self {
            Self::FqCodel(queue) => queue.silence(),
            Self::DualPi2(queue) => queue.silence(),
            Self::Cake(queue) => queue.silence(),
            _ => {}
        }
    }

    /// Queues a packet for `peer`, and sets [`Packet::arrived`] to `now`.
    ///
    /// Packets that exceed the limit (this one or others) are appended to
    /// `dropped`, to be reported as
    /// [`DropReason::QueueFull`](crate::DropReason::QueueFull).
    #[inline]
    pub fn enqueue(
        &mut self,
        now: Instant,
        peer: PeerId,
        packet: Packet,
        held_below: Held,
        dropped: &mut Vec<Packet>,
    ) {
        self.enqueue_copy(now, peer, &packet, held_below, dropped);
    }

    /// Does the same for a copy of `packet`. Queues that store a shorter form of packets make no
    /// copy.
    #[inline]
    pub fn enqueue_copy(
        &mut self,
        now: Instant,
        peer: PeerId,
        packet: &Packet,
        held_below: Held,
        dropped: &mut Vec<Packet>,
    ) {
        let copy = || Packet { arrived: now, ..*packet };
        match self {
            Self::DropTail(queue) => queue.enqueue(now, peer, packet, held_below, dropped),
            Self::DropTailByPeer { tail, peer_packets } => {
                tail.enqueue_by_peer(now, peer, packet, held_below, *peer_packets, dropped);
            }
            Self::CoDel(queue) => queue.enqueue(peer, copy(), held_below, dropped),
            Self::FqCodel(queue) => queue.enqueue(peer, copy(), held_below, dropped),
            Self::EmulatedBdp(queue) => queue.enqueue(peer, copy(), held_below, dropped),
            Self::DualPi2(queue) => queue.enqueue(now, peer, copy(), held_below, dropped),
            Self::Cake(queue) => queue.enqueue(now, peer, copy(), held_below, dropped),
        }
    }

    /// Queues the packets of `run`, as [`Queue::enqueue_copy`] does, while they are accepted. Calls
    /// `taken` for each. Returns their number; the run's packet is then the next one.
    #[inline]
    pub fn offer_run(
        &mut self,
        now: Instant,
        peer: PeerId,
        run: PacketRun<'_>,
        held_below: Held,
        dropped: &mut Vec<Packet>,
        mut taken: impl FnMut(&Packet),
    ) -> u32 {
        if let Self::DropTail(queue) = self {
            return queue.offer_run(now, peer, run, held_below, taken);
        }
        let PacketRun { packet, count } = run;
        let mut number = 0;
        if let Self::FqCodel(queue) = self {
            let run = PacketRun { packet: &mut *packet, count };
            number = queue.push_run(now, peer, run, held_below, &mut taken);
        }
        while number < count && self.admits_for(peer, packet, held_below) {
            self.enqueue_copy(now, peer, packet, held_below, dropped);
            taken(packet);
            (packet.tag, number) = (packet.tag + 1, number + 1);
        }
        number
    }

    /// Whether `packet` would be accepted, if its peer may have more packets. FQ-CoDel and CAKE accept
    /// every packet and drops others instead.
    pub fn admits(&self, packet: &Packet, held_below: Held) -> bool {
        match self {
            Self::DropTail(queue) | Self::DropTailByPeer { tail: queue, .. } => {
                queue.admits(packet, held_below)
            }
            Self::CoDel(queue) => queue.admits(packet, held_below),
            Self::FqCodel(_) | Self::Cake(_) => true,
            Self::EmulatedBdp(queue) => queue.admits(packet, held_below),
            Self::DualPi2(queue) => queue.admits(held_below),
        }
    }

    /// Whether `packet` would be accepted for `peer`.
    pub fn admits_for(&self, peer: PeerId, packet: &Packet, held_below: Held) -> bool {
        match self {
            Self::DropTail(queue) => queue.admits(packet, held_below),
            Self::DropTailByPeer { tail, peer_packets } => {
                let has_room = packet.follows || tail.len_packets_for(peer) < *peer_packets;
                has_room && tail.admits(packet, held_below)
            }
            _ => self.admits(packet, held_below),
        }
    }

    /// The peer to serve next: the receiver of the oldest packet, or of the flow or
    /// station whose turn it is. Repeated calls give the same answer until the
    /// queue changes.
    pub fn next_peer(&mut self) -> Option<PeerId> {
        self.next_peer_where(|_| true)
    }

    /// Returns the peer to serve next among those that `eligible` accepts (a dozing station is
    /// passed over and keeps its turn).
    pub fn next_peer_where(&mut self, eligible: impl Fn(PeerId) -> bool) -> Option<PeerId> {
        each!(self, queue => queue.next_peer_where(eligible))
    }

    /// Returns the next packet for `peer`.
    ///
    /// Packets that active queue management drops are appended to `dropped`, to be
    /// reported as [`DropReason::ActiveQueue`](crate::DropReason::ActiveQueue). The
    /// packet may therefore be longer than [`Queue::peek_len_for`] announced; if it
    /// does not fit, it is returned with [`Queue::put_back`].
    #[inline]
    pub fn dequeue_for(
        &mut self,
        now: Instant,
        peer: PeerId,
        dropped: &mut Vec<Packet>,
    ) -> Option<Packet> {
        each!(self, queue => queue.dequeue_for(now, peer, dropped))
    }

    /// Does what [`Queue::dequeue_for`] does; `take` copies the fields of the packet that it needs.
    #[inline]
    pub fn dequeue_with<R>(
        &mut self,
        now: Instant,
        peer: PeerId,
        dropped: &mut Vec<Packet>,
        take: impl FnOnce(&Packet) -> R,
    ) -> Option<R> {
        match self {
            Self::DropTail(queue) => queue.dequeue_with(peer, take),
            _ => self.dequeue_for(now, peer, dropped).as_ref().map(take),
        }
    }

    /// Takes packets for `peer` as [`Queue::dequeue_with`] does, but several at a time: `take` gets
    /// the first and the number of packets that differ from it only by their tags, which count up.
    /// The closure returns how many of them it takes, at least one, and whether it takes more.
    #[inline]
    pub fn dequeue_runs(
        &mut self,
        now: Instant,
        peer: PeerId,
        dropped: &mut Vec<Packet>,
        mut take: impl FnMut(&Packet, u32) -> (u32, bool),
    ) {
        match self {
            Self::DropTail(queue) => queue.dequeue_runs(peer, take),
            _ => {
                while let Some(packet) = self.dequeue_for(now, peer, dropped)
                    && take(&packet, 1).1
                {}
            }
        }
    }

    /// Returns the next packet in the queue's own order, and its peer.
    #[inline]
    pub fn dequeue(&mut self, now: Instant, dropped: &mut Vec<Packet>) -> Option<(PeerId, Packet)> {
        each!(self, queue => queue.dequeue(now, dropped))
    }

    /// Reverts the last dequeue: `packet` is the next one for `peer` again. No
    /// limit applies.
    #[inline]
    pub fn put_back(&mut self, peer: PeerId, packet: Packet) {
        each!(self, queue => queue.put_back(peer, packet));
    }

    /// Length in bytes of the next packet for `peer`, before active queue
    /// management drops any; `None` if there is none.
    #[inline]
    pub fn peek_len_for(&mut self, peer: PeerId) -> Option<u16> {
        each!(self, queue => queue.peek_len_for(peer))
    }

    /// Charges `peer` for the airtime that it used, retries included. Only FQ-CoDel
    /// with `airtime` uses it.
    pub fn charge_airtime(&mut self, peer: PeerId, used: Duration) {
        if let Self::FqCodel(queue) = self {
            queue.charge_airtime(peer, used);
        }
    }

    /// Whether peers are served by airtime, so that [`Queue::next_peer_where`] also decides about
    /// retransmissions (see [`Queue::set_waiting`]).
    #[inline]
    pub fn schedules_airtime(&self) -> bool {
        matches!(self, Self::FqCodel(queue) if queue.schedules_airtime())
    }

    /// Sets whether the MAC holds packets that it must retransmit to `peer`. Such a peer takes its
    /// turn without a packet in the queue. Only queues that schedule airtime use it.
    #[inline]
    pub fn set_waiting(&mut self, peer: PeerId, waiting: bool) {
        if let Self::FqCodel(queue) = self
            && queue.schedules_airtime()
        {
            queue.set_waiting(peer, waiting);
        }
    }

    /// First instant at which a packet may leave, if there is one: later than now only while a
    /// shaper (CAKE with a bandwidth) holds them back.
    #[inline]
    pub fn ready_at(&self) -> Instant {
        match self {
            Self::Cake(queue) => queue.ready_at(),
            _ => Instant::ZERO,
        }
    }

    /// Number of packets in the queue.
    #[inline]
    pub fn len_packets(&self) -> u32 {
        each!(self, queue => queue.len_packets())
    }

    /// Sum of the lengths of the packets in the queue.
    pub fn len_bytes(&self) -> Bytes {
        each!(self, queue => queue.len_bytes())
    }

    /// Number of packets in the queue for `peer`.
    #[inline]
    pub fn len_packets_for(&self, peer: PeerId) -> u32 {
        each!(self, queue => queue.len_packets_for(peer))
    }

    /// Whether the queue has no packets.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len_packets() == 0
    }
}

impl Limit {
    /// Whether `packet` fits in addition to `packets` packets of `bytes` in total.
    pub fn admits(self, packet: &Packet, packets: u32, bytes: u64) -> bool {
        match self {
            Self::Packets(limit) => packets < limit,
            Self::Bytes(limit) => bytes + u64::from(packet.bytes) <= limit.as_u64(),
        }
    }
}

#[cfg(test)]
mod tests;

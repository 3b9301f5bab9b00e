//! Packets that wait to be coded: flow queueing with controlled delay (RFC 8289, RFC
//! 8290), bounded in packets and bytes, so that a saturated link keeps a short queue.
//!
//! Flows are hashed into 256 buckets, each a queue under CoDel, served by deficit round
//! robin with precedence for new flows. Over the bound, packets at the head of the longest
//! queue go. The hash has keys, which the caller draws. Left out: what the RFC leaves to others, classes and shaping.

#[cfg(test)]
mod tests;

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::fmt;
use core::hash::Hasher;
use lasthop_packet::aqm::{FlowQueues, Packet, Parameters, RoundRobin, bucket_of};
use lasthop_packet::ip::{self, View};
use lasthop_units::{Duration, Instant};
use siphasher::sip::SipHasher13;

/// Buckets of the flow hash.
const BUCKETS: u16 = 256;

/// A flow is sparse whose packets are so far apart.
const SPARSE: Duration = Duration::from_millis(20);

/// Bytes that a flow may send before the next one's turn: mac80211's, small so that
/// sparse flows of small packets pass (RFC 8290, 5.2.5 and 5.2.6).
const QUANTUM_BYTES: i64 = 300;

/// Bounds and targets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BacklogConfig {
    /// Packets over all flows at most.
    pub packets_max: u32,
    /// Bytes over all flows at most.
    pub bytes_max: u32,
    /// Acceptable standing delay, more where answers are late ([`Backlog::set_latency`]);
    /// `None`: one queue, first in, first out, dropping what
    /// arrives when it is full, as the paper's.
    pub target: Option<Duration>,
    /// Time in which a burst may drain.
    pub interval: Duration,
    /// Mark ECN-capable packets instead of dropping them.
    pub ecn: bool,
}

impl Default for BacklogConfig {
    /// 1 000 packets, 4 MiB, CoDel's 5 ms and 100 ms (RFC 8289, 4.3 and 4.4), with ECN.
    fn default() -> Self {
        Self {
            packets_max: 1_000,
            bytes_max: 4 << 20,
            target: Some(Duration::from_millis(5)),
            interval: Duration::from_millis(100),
            ecn: true,
        }
    }
}

/// A packet that leaves the backlog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// The IP packet.
    pub packet: Vec<u8>,
    /// When it came.
    pub arrived: Instant,
    /// Its flow's bucket: packets of one flow have the same.
    pub bucket: u8,
    /// Its flow had sent nothing for a while.
    pub sparse: bool,
}

/// Packets that wait.
#[derive(Clone, PartialEq)]
pub struct Backlog {
    config: BacklogConfig,
    flow_keys: [u64; 2],
    order: Order,
    packets: usize,
    bytes: usize,
    /// Those of them that are sparse.
    sparse: usize,
    drops: u64,
}

#[derive(Clone, Debug, PartialEq)]
enum Order {
    /// First in, first out.
    Arrival(VecDeque<Waiting>),
    /// Flows in turn, each under CoDel.
    Turns {
        parameters: Parameters,
        flows: FlowQueues<Waiting>,
        turns: RoundRobin,
        /// When the last packet of each bucket came.
        arrived: Vec<Option<Instant>>,
    },
}

impl fmt::Debug for Backlog {
    /// Without the keys, and without what is in packets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { config, packets, bytes, drops, .. } = self;
        f.debug_struct("Backlog")
            .field("config", config)
            .field("packets", packets)
            .field("bytes", bytes)
            .field("drops", drops)
            .finish_non_exhaustive()
    }
}

impl Backlog {
    /// An empty one. `flow_keys` are of the hash of flows (SipHash): nobody else ought to know
    /// them, or flows can be chosen that share the bucket of another.
    pub fn new(config: BacklogConfig, flow_keys: [u64; 2]) -> Self {
        let order = match config.target {
            None => Order::Arrival(VecDeque::new()),
            Some(target) => {
                let mut flows = FlowQueues::default();
                let arrived = (0..BUCKETS).map(|_| flows.add()).map(|_| None).collect();
                Order::Turns {
                    parameters: Parameters { target, interval: config.interval, ecn: config.ecn },
                    flows,
                    turns: RoundRobin::default(),
                    arrived,
                }
            }
        };
        Self { config, flow_keys, order, packets: 0, bytes: 0, sparse: 0, drops: 0 }
    }

    /// What leaves is delivered and answered so much later, from now on. A sender whose
    /// window is cut to 0.7 (CUBIC, RFC 9438) keeps a link busy if 3/7 of that waits here.
    /// Over losses answers come in bursts, now and then twice as late as on average, and it
    /// takes about one and a half of it. Target and interval are at least that and twice
    /// the latency; other flows do not wait for it.
    pub fn set_latency(&mut self, latency: Duration) {
        if let (Order::Turns { parameters, .. }, Some(target)) =
            (&mut self.order, self.config.target)
        {
            parameters.target = target.max(latency * 3 / 2);
            parameters.interval = self.config.interval.max(latency * 2);
        }
    }

    /// Takes a packet, or drops one.
    pub fn push(&mut self, now: Instant, packet: Vec<u8>) {
        let hash = flow_hash(self.flow_keys, &packet);
        let bucket = bucket_of(hash as u32, (hash >> 32) as u32, BUCKETS) as u8;
        self.packets += 1;
        self.bytes += packet.len();
        let is_over = self.is_over();
        let mut waiting = Waiting { packet, arrived: now, bucket, sparse: false };
        match &mut self.order {
            Order::Arrival(_) if is_over => self.forget(&waiting),
            Order::Arrival(queue) => queue.push_back(waiting),
            Order::Turns { flows, turns, arrived, .. } => {
                let before = arrived[usize::from(bucket)].replace(now);
                waiting.sparse = before.is_none_or(|before| now >= before + SPARSE);
                self.sparse += usize::from(waiting.sparse);
                flows.push(u32::from(bucket), waiting, QUANTUM_BYTES, turns);
                while self.is_over() {
                    self.drop_from_longest();
                }
            }
        }
    }

    /// The next packet, of `bytes_max` bytes at most: a longer one stays.
    pub fn pop(&mut self, now: Instant, bytes_max: usize) -> Option<Waiting> {
        let mut dropped = Vec::new();
        let waiting = self.order.pop(now, bytes_max, &mut dropped);
        dropped.iter().for_each(|waiting| self.forget(waiting));
        let waiting = waiting?;
        self.packets -= 1;
        self.bytes -= waiting.packet.len();
        self.sparse -= usize::from(waiting.sparse);
        Some(waiting)
    }

    /// Whether a packet waits whose flow had sent nothing for a while.
    pub fn has_sparse(&self) -> bool {
        self.sparse > 0
    }

    /// Nothing waits.
    pub fn is_empty(&self) -> bool {
        self.packets == 0
    }

    /// Packets that wait.
    pub fn packets(&self) -> usize {
        self.packets
    }

    /// Their bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Packets dropped so far.
    pub fn drops(&self) -> u64 {
        self.drops
    }

    fn is_over(&self) -> bool {
        self.packets > self.config.packets_max as usize
            || self.bytes > self.config.bytes_max as usize
    }

    /// Counts a packet that was dropped.
    fn forget(&mut self, waiting: &Waiting) {
        self.packets -= 1;
        self.bytes -= waiting.packet.len();
        self.sparse -= usize::from(waiting.sparse);
        self.drops += 1;
    }

    /// Drops the packet at the head of the flow with the most bytes (RFC 8290, 4.1); of
    /// equals the first.
    fn drop_from_longest(&mut self) {
        let Order::Turns { flows, .. } = &mut self.order else { return };
        let mut dropped = Vec::new();
        flows.drop_from_fattest(1, &mut dropped);
        let dropped = dropped.pop().expect("what is over the bound is somewhere");
        self.forget(&dropped);
    }
}

impl Order {
    /// The next packet, if it is not too long; what CoDel drops goes to `dropped`.
    fn pop(
        &mut self,
        now: Instant,
        bytes_max: usize,
        dropped: &mut Vec<Waiting>,
    ) -> Option<Waiting> {
        let fits = |waiting: &Waiting| waiting.packet.len() <= bytes_max;
        match self {
            Self::Arrival(queue) => match queue.front().is_some_and(fits) {
                true => queue.pop_front(),
                false => None,
            },
            Self::Turns { parameters, flows, turns, .. } => {
                let flow = flows.turn(QUANTUM_BYTES, turns, |_| true)?;
                if !flows.front(flow).is_some_and(fits) {
                    return None;
                }
                let waiting = flows.take(flow, now, parameters, dropped)?;
                // It need not be the one that was in front.
                if !fits(&waiting) {
                    flows.put_back(flow, waiting, turns);
                    return None;
                }
                Some(waiting)
            }
        }
    }
}

impl Packet for Waiting {
    fn arrived(&self) -> Instant {
        self.arrived
    }

    fn len_bytes(&self) -> u64 {
        self.packet.len() as u64
    }

    fn mark(&mut self) -> bool {
        ip::mark_congestion(&mut self.packet)
    }
}

/// A hash of the flow that `packet` belongs to; whatever cannot be read is one flow. Whoever
/// knows its keys can choose flows that collide.
fn flow_hash(keys: [u64; 2], packet: &[u8]) -> u64 {
    let mut hasher = SipHasher13::new_with_keys(keys[0], keys[1]);
    match View::new(packet).map(View::flow) {
        Some(ip::Flow { addresses, protocol, ports }) => {
            hasher.write(addresses);
            hasher.write(&[protocol]);
            hasher.write(ports);
        }
        None => hasher.write_u8(0),
    }
    hasher.finish()
}

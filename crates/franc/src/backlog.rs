//! Packets that wait to be coded: flow queueing with controlled delay (RFC 8289,
//! RFC 8290), limited in packets and bytes, so that a saturated link keeps a short
//! queue.
//!
//! Flows are hashed into 256 buckets, each a queue under CoDel, served by deficit
//! round robin with precedence for new flows. Above the limit, the packet at the
//! head of the longest queue is dropped. The caller draws the keys of the hash.
//! Fragments of a packet (RFC 791, RFC 8200) wait together and are dropped together:
//! one without the others would only fill the memory of whoever reassembles them.
//! Leaves out classes and shaping.

mod acknowledgements;
#[cfg(test)]
mod tests;

use acknowledgements::{AckRun, PureAck, is_superseded};

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::fmt;
use core::hash::Hasher;
use lasthop_packet::aqm::{FlowQueues, Parameters, Queueable, RoundRobin, Variant, bucket_of};
use lasthop_packet::ip::{self, View};
use lasthop_units::{Duration, Instant};
use siphasher::sip::SipHasher13;

/// Number of buckets of the flow hash.
const BUCKETS: u16 = 256;

/// A flow is sparse if its packets are at least this far apart.
const SPARSE: Duration = Duration::from_millis(20);

/// Bytes that a flow may send per turn: as in mac80211, and small so that sparse
/// flows with small packets are served first (RFC 8290, 5.2.5 and 5.2.6).
const QUANTUM_BYTES: i64 = 300;

/// The limits and targets of a backlog.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BacklogConfig {
    /// Largest number of packets over all flows.
    pub packets_max: u32,
    /// Largest number of bytes over all flows.
    pub bytes_max: u32,
    /// Acceptable standing delay; more if answers are late
    /// ([`Backlog::set_latency`]). `None`: a single first-in-first-out queue that
    /// drops arriving packets when it is full, as in the paper.
    pub target: Option<Duration>,
    /// Time in which a burst may drain.
    pub interval: Duration,
    /// Whether ECN-capable packets are marked instead of dropped.
    pub ecn: bool,
    /// Whether a TCP acknowledgement without data replaces one that waits and has nothing to add.
    /// Without a target all stay.
    pub ack_filter: bool,
}

impl Default for BacklogConfig {
    /// 4 096 packets, so that packets of 1 kB and more are limited by their 4 MiB; 5 ms and 100 ms
    /// (RFC 8289, 4.3 and 4.4), with ECN and the filter of acknowledgements.
    fn default() -> Self {
        Self {
            packets_max: 4_096,
            bytes_max: 4 << 20,
            target: Some(Duration::from_millis(5)),
            interval: Duration::from_millis(100),
            ecn: true,
            ack_filter: true,
        }
    }
}

/// A packet that leaves the backlog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// The IP packet.
    pub packet: Vec<u8>,
    /// Time at which it arrived.
    pub arrived: Instant,
    /// Bucket of its flow: packets of one flow have the same.
    pub bucket: u8,
    /// Whether its flow had sent nothing for 20 ms.
    pub sparse: bool,
    /// The fragments behind it of the same packet, which wait with it.
    fragments: Vec<Vec<u8>>,
}

impl Waiting {
    fn packets(&self) -> usize {
        1 + self.fragments.len()
    }

    fn bytes(&self) -> usize {
        self.packet.len() + self.fragments.iter().map(Vec::len).sum::<usize>()
    }
}

/// The key that all fragments of a packet share: protocol and identification. All fragments between
/// two hosts have the same bucket.
type Whole = (u8, u32);

fn whole_of(packet: &[u8]) -> Option<Whole> {
    View::new(packet)?.fragment_of()
}

/// The queue of packets that wait to be coded.
///
/// ```
/// use lasthop_franc::backlog::{Backlog, BacklogConfig};
/// use lasthop_units::Instant;
///
/// let now = Instant::ZERO;
/// let config = BacklogConfig { packets_max: 2, target: None, ..BacklogConfig::default() };
/// let mut backlog = Backlog::new(config, [1, 2]);
/// for number in 1..=3 {
///     backlog.push(now, vec![0x45, number]);
/// }
/// assert_eq!((backlog.packets(), backlog.drops()), (2, 1));
/// let first = backlog.pop(now, 1472).map(|waiting| waiting.packet);
/// assert_eq!(first, Some(vec![0x45, 1]));
/// ```
#[derive(Clone, PartialEq)]
pub struct Backlog {
    config: BacklogConfig,
    flow_keys: [u64; 2],
    order: Queueing,
    packets: usize,
    bytes: usize,
    /// Number of these packets that are sparse.
    sparse: usize,
    /// Fragments that leave next: their first one has left.
    fragments: VecDeque<Waiting>,
    /// The packet of which fragments were last dropped in each bucket: those that
    /// arrive later are of no use.
    dropped: Vec<Option<Whole>>,
    drops: u64,
    acks_superseded: u64,
}

#[derive(Clone, Debug, PartialEq)]
enum Queueing {
    /// A single first-in-first-out queue.
    Arrival(VecDeque<Waiting>),
    /// Queues of flows, served in turn, each under CoDel.
    Turns {
        parameters: Parameters,
        flows: FlowQueues<Waiting>,
        turns: RoundRobin,
        /// Time at which the last packet of each bucket arrived.
        arrived: Vec<Option<Instant>>,
        /// The last acknowledgements of each bucket; empty without the filter.
        acks: Vec<AckRun>,
    },
}

impl fmt::Debug for Backlog {
    /// Leaves out the keys and the content of packets.
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
    /// An empty backlog. `flow_keys` key the hash of flows (SipHash): whoever knows
    /// them can choose flows that share a bucket with another one.
    pub fn new(config: BacklogConfig, flow_keys: [u64; 2]) -> Self {
        let order = match config.target {
            None => Queueing::Arrival(VecDeque::new()),
            Some(target) => {
                let mut flows = FlowQueues::default();
                let arrived = (0..BUCKETS).map(|_| flows.add()).map(|_| None).collect();
                let runs = if config.ack_filter { usize::from(BUCKETS) } else { 0 };
                Queueing::Turns {
                    parameters: Parameters {
                        target,
                        interval: config.interval,
                        ecn: config.ecn,
                        variant: Variant::Rfc8289,
                    },
                    flows,
                    turns: RoundRobin::default(),
                    arrived,
                    acks: alloc::vec![AckRun::default(); runs],
                }
            }
        };
        Self {
            config,
            flow_keys,
            order,
            packets: 0,
            bytes: 0,
            sparse: 0,
            fragments: VecDeque::new(),
            dropped: alloc::vec![None; usize::from(BUCKETS)],
            drops: 0,
            acks_superseded: 0,
        }
    }

    /// Sets the time from when a packet leaves until its delivery is acknowledged.
    /// A sender that reduces its window to 0.7 (CUBIC, RFC 9438) keeps a link busy
    /// if 3/7 of that time is queued here. With losses acknowledgements come in
    /// bursts, sometimes twice as late as on average, so about one and a half of it
    /// is needed. Target and interval become at least that and twice the latency;
    /// other flows do not wait for it.
    pub fn set_latency(&mut self, latency: Duration) {
        if let (Queueing::Turns { parameters, .. }, Some(target)) =
            (&mut self.order, self.config.target)
        {
            parameters.target = target.max(latency * 3 / 2);
            parameters.interval = self.config.interval.max(latency * 2);
        }
    }

    /// Queues a packet; drops one if the backlog is full.
    pub fn push(&mut self, now: Instant, packet: Vec<u8>) {
        let hash = flow_hash(self.flow_keys, &packet);
        let bucket = bucket_of(hash as u32, (hash >> 32) as u32, BUCKETS) as u8;
        self.packets += 1;
        self.bytes += packet.len();
        let is_over = self.is_over();
        let whole = whole_of(&packet);
        let is_later = View::new(&packet).is_some_and(View::is_later_fragment);
        let mut waiting =
            Waiting { packet, arrived: now, bucket, sparse: false, fragments: Vec::new() };
        match &mut self.order {
            Queueing::Arrival(_) if is_over => self.forget(&waiting),
            Queueing::Arrival(queue) => queue.push_back(waiting),
            // A first fragment is that of another packet with the same identification.
            Queueing::Turns { .. } if is_later && whole == self.dropped[usize::from(bucket)] => {
                self.forget(&waiting);
            }
            Queueing::Turns { flows, turns, arrived, acks, .. } => {
                let run = acks.get_mut(usize::from(bucket));
                if run.is_some_and(|run| supersede(flows, hash, &mut waiting, run)) {
                    // The one that was replaced is here now.
                    self.packets -= 1;
                    self.bytes -= waiting.packet.len();
                    self.acks_superseded += 1;
                    arrived[usize::from(bucket)] = Some(now);
                    return self.drop_excess();
                }
                let joins = |last: &mut Waiting| {
                    let is_same = whole_of(&last.packet) == whole;
                    if is_same {
                        last.fragments.push(core::mem::take(&mut waiting.packet));
                    }
                    is_same
                };
                if whole.is_some() && flows.change_last(u32::from(bucket), joins) {
                    arrived[usize::from(bucket)] = Some(now);
                    return self.drop_excess();
                }
                let before = arrived[usize::from(bucket)].replace(now);
                waiting.sparse = before.is_none_or(|before| now >= before + SPARSE);
                self.sparse += usize::from(waiting.sparse);
                flows.push(u32::from(bucket), waiting, QUANTUM_BYTES, turns);
                self.drop_excess();
            }
        }
    }

    /// Returns the next packet, if it has at most `bytes_max` bytes: a longer one
    /// stays.
    pub fn pop(&mut self, now: Instant, bytes_max: usize) -> Option<Waiting> {
        let waiting = match self.fragments.front() {
            Some(next) if next.packet.len() > bytes_max => return None,
            Some(_) => self.fragments.pop_front(),
            None => {
                let mut dropped = Vec::new();
                let waiting = self.order.pop(now, bytes_max, &mut dropped);
                dropped.iter().for_each(|waiting| self.forget(waiting));
                waiting
            }
        };
        let mut waiting = waiting?;
        self.packets -= 1;
        self.bytes -= waiting.packet.len();
        self.sparse -= usize::from(waiting.sparse);
        let Waiting { arrived, bucket, .. } = waiting;
        let fragments = core::mem::take(&mut waiting.fragments).into_iter();
        self.fragments.extend(fragments.map(|packet| Waiting {
            packet,
            arrived,
            bucket,
            sparse: false,
            fragments: Vec::new(),
        }));
        Some(waiting)
    }

    /// Whether a packet of a sparse flow waits.
    pub fn has_sparse(&self) -> bool {
        self.sparse > 0
    }

    /// Whether no packet waits.
    pub fn is_empty(&self) -> bool {
        self.packets == 0
    }

    /// Number of packets that wait.
    pub fn packets(&self) -> usize {
        self.packets
    }

    /// Bytes of the packets that wait.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Number of packets dropped so far.
    pub fn drops(&self) -> u64 {
        self.drops
    }

    /// Number of TCP acknowledgements that later ones replaced so far.
    pub fn acks_superseded(&self) -> u64 {
        self.acks_superseded
    }

    fn is_over(&self) -> bool {
        self.packets > self.config.packets_max as usize
            || self.bytes > self.config.bytes_max as usize
    }

    /// Counts a packet that was dropped, with its fragments.
    fn forget(&mut self, waiting: &Waiting) {
        self.packets -= waiting.packets();
        self.bytes -= waiting.bytes();
        self.sparse -= usize::from(waiting.sparse);
        self.drops += waiting.packets() as u64;
        if let Some(whole) = whole_of(&waiting.packet) {
            self.dropped[usize::from(waiting.bucket)] = Some(whole);
        }
    }

    /// Drops packets at the head of the flow with the most bytes (RFC 8290, 4.1) until
    /// the limits are kept; of several such flows, of the first. Fragments that leave
    /// next stay.
    fn drop_excess(&mut self) {
        while self.is_over() {
            let Queueing::Turns { flows, .. } = &mut self.order else { return };
            let mut dropped = Vec::new();
            flows.drop_from_fattest(|_| 1, &mut dropped);
            let Some(dropped) = dropped.pop() else { return };
            self.forget(&dropped);
        }
    }
}

impl Queueing {
    /// Returns the next packet, if it is not too long; packets that CoDel drops go
    /// to `dropped`.
    fn pop(
        &mut self,
        now: Instant,
        bytes_max: usize,
        dropped: &mut Vec<Waiting>,
    ) -> Option<Waiting> {
        let fits = |waiting: &Waiting| waiting.packet.len() <= bytes_max;
        match self {
            Self::Arrival(queue) => {
                if queue.front().is_some_and(fits) {
                    queue.pop_front()
                } else {
                    None
                }
            }
            Self::Turns { parameters, flows, turns, .. } => {
                let flow = flows.turn(QUANTUM_BYTES, turns, |_| true)?;
                if !flows.front(flow).is_some_and(fits) {
                    return None;
                }
                let waiting = flows.take(flow, now, parameters, dropped)?;
                // It may be another packet than the one that was in front.
                if !fits(&waiting) {
                    flows.put_back(flow, waiting, turns);
                    return None;
                }
                Some(waiting)
            }
        }
    }
}

/// Exchanges the packet of `waiting`, of the flow with this hash, for the last one of its bucket, if
/// both are acknowledgements and that one has nothing to add. Returns whether it did. The place and
/// the time of arrival stay with the bucket: acknowledgements have waited since then.
fn supersede(
    flows: &mut FlowQueues<Waiting>,
    hash: u64,
    waiting: &mut Waiting,
    run: &mut AckRun,
) -> bool {
    let Some(ack) = PureAck::read(&waiting.packet) else {
        run.end();
        return false;
    };
    let bucket = u32::from(waiting.bucket);
    if !run.follow(hash, &ack, flows.packets(bucket)) {
        return false;
    }
    let is_replaced = flows.change_last(bucket, |last| {
        let is_superseded = is_superseded(&last.packet, &waiting.packet);
        if is_superseded {
            core::mem::swap(&mut last.packet, &mut waiting.packet);
        }
        is_superseded
    });
    if is_replaced {
        run.replace();
    }
    is_replaced
}

impl Queueable for Waiting {
    fn arrived(&self) -> Instant {
        self.arrived
    }

    fn len_bytes(&self) -> u64 {
        self.bytes() as u64
    }

    fn mark(&mut self) -> bool {
        ip::mark_congestion(&mut self.packet)
    }
}

/// The hash of the flow of `packet`; all packets that are not IP form one flow. Colliding flows can
/// be chosen only with knowledge of the keys.
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

//! mac80211's FQ-CoDel, packet by packet: replays the arrivals at one of the kernel's
//! transmit queues, and the requests of a driver, into `packet::queue`, and compares
//! departures, drops and marks.
//!
//! A trace is text, made by `tests/vm/checks/43-fq-codel` in a virtual machine. Times
//! are the kernel's for CoDel: units of 1 024 ns, cut off.
//!
//! ```text
//! kernel 6.12.117+deb12-amd64
//! queue 8192 16777216 300 19531 97656
//!                     (limits in packets and in bytes of memory, quantum, target,
//!                      interval; ECN is on)
//! + 100 7 1534 2304   (a packet arrives at 100, of flow 7, 1 534 bytes with its header of
//!                      802.11, 2 304 bytes of memory)
//! + 101 7 1534 2304 e (one that may be marked)
//! o 0                 (packet 0 is dropped, since a limit is exceeded: packets count from 0)
//! - 130 1 m           (a driver is given packet 1, which was marked)
//! -                   (a driver asked in vain)
//! c 2                 (CoDel drops packet 2 before the following line -)
//! ```
//!
//! Flows are the kernel's hash buckets. A packet's memory beyond its length
//! is passed to the queue as held below it, since the model has lengths only. Left out:
//! which flows collide, and queues of other stations of the same radio.

use crate::validate::minstrel::{Share, TraceError};
use lasthop_packet::Packet;
use lasthop_packet::aqm::bucket_of;
use lasthop_packet::queue::{Held, PeerId, Queue, QueueConfig};
use lasthop_units::{Bytes, Duration, Instant};
use std::collections::BTreeSet;

/// A unit of CoDel's time in the kernel (`CODEL_SHIFT`).
const UNIT: Duration = Duration::from_nanos(1 << 10);

/// The only peer of a replay.
const PEER: PeerId = PeerId::ONLY;

/// Buckets of a radio (`ieee80211_txq_setup_flows`).
const FLOWS: u16 = 4096;

/// A trace of one of the kernel's queues.
#[derive(Clone, Debug, PartialEq)]
pub struct FqCodelTrace {
    /// The kernel's release.
    pub kernel: String,
    /// Configuration of the queue.
    pub config: QueueConfig,
    /// Events of the trace, in order.
    pub events: Vec<FqCodelEvent>,
}

/// Something in a trace. Packets are numbered in the order of their arrival, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FqCodelEvent {
    /// A packet arrives.
    Arrival {
        /// When, in units of 1 024 ns.
        at: u64,
        /// The kernel's bucket.
        flow: u32,
        /// Length in bytes, with the headers of 802.11 and LLC.
        bytes: u16,
        /// The memory that it takes (`truesize`).
        memory_bytes: u32,
        /// Whether it may be marked.
        ecn: bool,
    },
    /// A packet is dropped because the queue is full.
    Overflow(u64),
    /// CoDel drops a packet.
    Drop(u64),
    /// A packet leaves.
    Departure {
        /// When, in units of 1 024 ns.
        at: u64,
        /// Number of the packet.
        packet: u64,
        /// Whether it was marked in the queue.
        marked: bool,
    },
    /// There was none for the driver.
    Idle,
}

impl FqCodelTrace {
    /// Reads a trace.
    ///
    /// # Errors
    /// If a line is none of those above, or names a packet that had not arrived, with
    /// its number.
    pub fn parse(text: &str) -> Result<Self, TraceError> {
        let mut lines = (1..).zip(text.lines());
        let error = |line, expected| TraceError { line, expected };
        let first = lines.next().and_then(|(_, line)| line.strip_prefix("kernel "));
        let kernel = first.ok_or_else(|| error(1, "kernel RELEASE"))?.to_owned();
        let second = lines.next().and_then(|(_, line)| config(line));
        let config = second.ok_or_else(|| error(2, "queue and five numbers"))?;
        let mut events = Vec::new();
        let mut arrived = 0;
        for (number, line) in lines {
            let event = event(line).ok_or_else(|| error(number, "a line +, -, o or c"))?;
            let packet = match event {
                FqCodelEvent::Arrival { .. } => {
                    arrived += 1;
                    None
                }
                FqCodelEvent::Overflow(packet)
                | FqCodelEvent::Drop(packet)
                | FqCodelEvent::Departure { packet, .. } => Some(packet),
                FqCodelEvent::Idle => None,
            };
            if packet.is_some_and(|packet| packet >= arrived) {
                return Err(error(number, "a packet that has arrived"));
            }
            events.push(event);
        }
        Ok(Self { kernel, config, events })
    }
}

/// `queue PACKETS BYTES QUANTUM TARGET INTERVAL`
fn config(line: &str) -> Option<QueueConfig> {
    let mut words = line.strip_prefix("queue ")?.split(' ');
    let mut number = || words.next()?.parse::<u64>().ok();
    Some(QueueConfig::FqCodel {
        limit_packets: number()?.try_into().ok()?,
        memory_limit: Bytes::new(number()?),
        flows: FLOWS,
        quantum_bytes: number()?.try_into().ok()?,
        target: UNIT * number()?,
        interval: UNIT * number()?,
        ecn: true,
        airtime: true,
        ce_threshold: None,
    })
}

fn event(line: &str) -> Option<FqCodelEvent> {
    let words: Vec<&str> = line.split(' ').collect();
    let number = |index: usize| words.get(index)?.parse::<u64>().ok();
    let flag = |index: usize, name| match words.get(index) {
        None => Some(false),
        Some(word) if *word == name && words.len() == index + 1 => Some(true),
        Some(_) => None,
    };
    Some(match (words[0], words.len()) {
        ("+", 5 | 6) => FqCodelEvent::Arrival {
            at: number(1)?,
            flow: number(2)?.try_into().ok()?,
            bytes: number(3)?.try_into().ok()?,
            memory_bytes: number(4)?.try_into().ok()?,
            ecn: flag(5, "e")?,
        },
        ("o", 2) => FqCodelEvent::Overflow(number(1)?),
        ("c", 2) => FqCodelEvent::Drop(number(1)?),
        ("-", 3 | 4) => {
            FqCodelEvent::Departure { at: number(1)?, packet: number(2)?, marked: flag(3, "m")? }
        }
        ("-", 1) => FqCodelEvent::Idle,
        _ => return None,
    })
}

/// Counts of the kernel's decisions that equal ours.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct FqCodelComparison {
    /// Packets that arrived.
    pub arrivals: usize,
    /// Flows that they are of.
    pub flows: usize,
    /// Times that a driver asked, and which packet it got, or none.
    pub departures: Share,
    /// Packets that either dropped because the queue was full: those that both did, at
    /// the same arrival.
    pub overflows: Share,
    /// Packets that either's CoDel dropped: those that both did, at the same departure.
    pub drops: Share,
    /// Packets that either marked: those that both did.
    pub marks: Share,
    /// Differences, one a line.
    pub differences: Vec<String>,
}

/// Counts the packets of two lists in `share`, and says whether these are the same.
fn count_all(share: &mut Share, ours: &[u64], theirs: &[u64]) -> bool {
    let ours: BTreeSet<_> = ours.iter().collect();
    let theirs: BTreeSet<_> = theirs.iter().collect();
    share.of += ours.union(&theirs).count();
    share.equal += ours.intersection(&theirs).count();
    ours == theirs
}

impl FqCodelComparison {
    /// Replays a trace.
    pub fn replay(trace: &FqCodelTrace) -> Self {
        let mut queue = Queue::new(&trace.config, 0);
        let mut comparison = Self::default();
        // The hash that stands for each of the kernel's buckets: no two of them collide.
        let mut hashes = Vec::<(u32, u32)>::new();
        let mut taken = BTreeSet::new();
        let mut now = Instant::ZERO;
        // Memory beyond its length of each packet that came, and of those that wait.
        let (mut beyond, mut waiting_beyond) = (Vec::new(), 0);
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        let mut events = trace.events.iter().peekable();
        while let Some(event) = events.next() {
            match *event {
                FqCodelEvent::Arrival { at, flow, bytes, memory_bytes, ecn } => {
                    now = now.max(Instant::ZERO + UNIT * at);
                    let known = hashes.iter().find(|(bucket, _)| *bucket == flow);
                    let flow_hash = known.map(|(_, hash)| *hash).unwrap_or_else(|| {
                        let hash = (0..).find(|hash| taken.insert(bucket_of(*hash, 0, FLOWS)));
                        let hash = hash.expect("there are fewer flows than buckets");
                        hashes.push((flow, hash));
                        hash
                    });
                    let tag = comparison.arrivals as u64;
                    let packet = Packet::new(tag, bytes, now);
                    let packet = Packet { flow_hash, ecn_capable: ecn, ..packet };
                    comparison.arrivals += 1;
                    let mut dropped = Vec::new();
                    // What its memory is beyond its length. Short ones may have less.
                    let more = u64::from(memory_bytes).saturating_sub(u64::from(bytes));
                    beyond.push(more);
                    waiting_beyond += more;
                    let held = Held { packets: 0, bytes: Bytes::new(waiting_beyond) };
                    queue.enqueue(now, PEER, packet, held, &mut dropped);
                    waiting_beyond -= dropped.iter().map(|p| beyond[p.tag as usize]).sum::<u64>();
                    while let Some(FqCodelEvent::Overflow(packet)) = events.peek() {
                        theirs.push(*packet);
                        events.next();
                    }
                    ours.extend(dropped.iter().map(|packet| packet.tag));
                    if !count_all(&mut comparison.overflows, &ours, &theirs) {
                        comparison.differences.push(format!(
                            "packet {tag} arrives: {ours:?} are dropped, not {theirs:?}"
                        ));
                    }
                    ours.clear();
                    theirs.clear();
                }
                // One that follows no arrival: a limit was lowered.
                FqCodelEvent::Overflow(packet) => {
                    comparison.overflows.count(false);
                    comparison.differences.push(format!("packet {packet} is dropped unasked"));
                }
                FqCodelEvent::Drop(packet) => theirs.push(packet),
                FqCodelEvent::Departure { .. } | FqCodelEvent::Idle => {
                    let (at, their, marked) = match *event {
                        FqCodelEvent::Departure { at, packet, marked } => {
                            (at, Some(packet), marked)
                        }
                        _ => (0, None, false),
                    };
                    now = now.max(Instant::ZERO + UNIT * at);
                    let mut dropped = Vec::new();
                    let our = queue.dequeue_for(now, PEER, &mut dropped);
                    let gone = dropped.iter().chain(&our);
                    waiting_beyond -= gone.map(|p| beyond[p.tag as usize]).sum::<u64>();
                    let our_tag = our.map(|packet| packet.tag);
                    if !comparison.departures.count(our_tag == their) {
                        comparison
                            .differences
                            .push(format!("at {at}: {our_tag:?} leaves, not {their:?}"));
                    }
                    ours.extend(dropped.iter().map(|packet| packet.tag));
                    if !count_all(&mut comparison.drops, &ours, &theirs) {
                        comparison
                            .differences
                            .push(format!("at {at}: CoDel drops {ours:?}, not {theirs:?}"));
                    }
                    ours.clear();
                    theirs.clear();
                    let is_marked = our.is_some_and(|packet| packet.ecn_marked);
                    if (is_marked || marked)
                        && !comparison.marks.count(is_marked == marked && our_tag == their)
                    {
                        comparison
                            .differences
                            .push(format!("at {at}: marked {is_marked}, not {marked}"));
                    }
                }
            }
        }
        comparison.flows = hashes.len();
        comparison
    }

    /// The kinds of decisions, with names.
    pub fn shares(&self) -> [(&'static str, Share); 4] {
        [
            ("departures", self.departures),
            ("drops of CoDel", self.drops),
            ("drops of a full queue", self.overflows),
            ("marks", self.marks),
        ]
    }
}

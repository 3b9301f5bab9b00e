//! CAKE of Linux 6.12 (Hoiland-Jorgensen, Taht, Morton, "Piece of CAKE", LANMAN 2018): a queue for
//! each flow under COBALT ([`crate::aqm::cobalt`]), isolation of hosts, tins of different priority,
//! and a shaper without bursts.
//!
//! Lengths count the header of Ethernet (14 bytes), as in `tc`. A shaped queue has packets that may
//! not leave yet: [`Cake::ready_at`]. Merged packets ([`Packet::follows`]) are treated one by one
//! (`split-gso`). Hosts are the nodes at which packets enter and leave the network, tins follow the
//! access category, and draws come from a stream of the queue. Left out: `ack-filter`, `ingress`,
//! `autorate-ingress`, `nat`, `wash`, `fwmark`, `mpu`, ATM's and PTM's cells, `diffserv8`,
//! `precedence`, and isolation without flows. The memory limit counts lengths, not the kernel's
//! memory. `cake/tin.rs` has the flows of one tin.

mod overflow;
mod tin;

use super::{ETHERNET_HEADER_BYTES, Held, PeerId};
use crate::aqm::{CobaltParameters, mixed};
use crate::{AccessCategory, Packet};
use alloc::vec::Vec;
use lasthop_units::{Bitrate, Bytes, Duration, Instant, Seed, Stream};
use overflow::Overflow;
use tin::{Arrival, Key, Tin};

/// Number of queues of a tin, and of entries for hosts.
const QUEUES: usize = 1_024;

/// Longest frame, which the quantum and the least target are derived from.
const FRAME_BYTES_MAX: u64 = 1_514;

/// Limit in packets of the longest length, without another one (`sch->limit`).
const LIMIT_PACKETS: u64 = 10_240;

/// Least memory limit of a shaped queue.
const LIMIT_BYTES_MIN: u64 = 4 << 20;

/// Number of intervals at its rate that a shaped queue holds.
const LIMIT_INTERVALS: u64 = 4;

/// Shares of hosts in the rate, before those of flows (`tc-cake`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Isolation {
    /// Flows share evenly.
    Flows,
    /// Sources share evenly, then their flows.
    DualSource,
    /// Destinations share evenly, then their flows.
    DualDestination,
    /// A flow gets the share of the busier of its two hosts.
    #[default]
    Triple,
}

/// The tins of CAKE.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Tins {
    /// All packets have the same priority.
    BestEffort,
    /// Bulk (1/16 of the rate), best effort, voice (1/4), by access category.
    #[default]
    Diffserv3,
    /// The same, and video (1/2).
    Diffserv4,
}

/// Bytes that the shaper and the turns of flows count beside a network-layer packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Overhead(u64);

impl Overhead {
    fn charged_bytes(self, packet: &Packet) -> u64 {
        u64::from(packet.bytes) + self.0
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Config {
    pub(super) bandwidth: Option<Bitrate>,
    pub(super) memory_limit: Option<Bytes>,
    pub(super) target: Duration,
    pub(super) interval: Duration,
    pub(super) isolation: Isolation,
    pub(super) tins: Tins,
    pub(super) overhead_bytes: u16,
}

impl Config {
    /// Limit in bytes.
    pub(super) fn limit_bytes(&self) -> u64 {
        let most = LIMIT_PACKETS * FRAME_BYTES_MAX;
        let usual = self.bandwidth.map_or(u64::MAX, |rate| {
            let interval =
                u128::from(bytes_per_second(rate)) * u128::from(self.interval.as_nanos());
            let held = interval * u128::from(LIMIT_INTERVALS) / 1_000_000_000;
            (held as u64).max(LIMIT_BYTES_MIN)
        });
        self.memory_limit.map_or(usual.min(most), Bytes::as_u64)
    }
}

/// A queue under CAKE.
#[derive(Clone, Debug, PartialEq)]
pub struct Cake {
    perturbation: u32,
    limit_bytes: u64,
    overhead: Overhead,
    tins: Vec<Shaped>,
    /// The tin whose turn it is without a shaper.
    current: usize,
    /// Instant of the last request or arrival.
    now: Instant,
    shaper: Option<Shaper>,
    packets: u32,
    bytes: u64,
    peers: Vec<u32>,
    last: Option<Last>,
    cx: Context,
}

/// Parts that all tins use.
#[derive(Clone, Debug, PartialEq)]
struct Context {
    stream: Stream,
    overflow: Overflow,
}

/// A tin with its share of the rate.
#[derive(Clone, Debug, PartialEq)]
struct Shaped {
    tin: Tin,
    pace: Pace,
    next: Instant,
    quantum: i64,
    deficit: i64,
}

/// The shaper of the queue.
#[derive(Clone, Debug, PartialEq)]
struct Shaper {
    pace: Pace,
    next: Instant,
    /// The same at 2/3 of the rate, only for packets that leave.
    failsafe: Instant,
}

/// Time that a byte takes, in nanoseconds shifted to the left by `shift`.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Pace {
    ns: u64,
    shift: u32,
}

/// State before the last departure, for [`Cake::put_back`].
#[derive(Clone, Debug, PartialEq)]
struct Last {
    tin: usize,
    tin_deficit: i64,
    tin_next: Instant,
    shaper: Option<Shaper>,
    left: tin::Left,
}

impl Cake {
    pub(super) fn new(config: &Config, perturbation: u32) -> Self {
        let rate = config.bandwidth.map_or(0, bytes_per_second);
        let overhead = Overhead(config.overhead_bytes.into());
        let make = |number, shift: u32, quantum| {
            let pace = Pace::new(rate >> shift);
            let packet_ns = pace.map_or(0, |pace| pace.time(FRAME_BYTES_MAX).as_nanos());
            let target = config.target.as_nanos().max(packet_ns * 3 / 2);
            let interval =
                (config.interval.as_nanos() + target - config.target.as_nanos()).max(target * 2);
            let codel = CobaltParameters {
                target: Duration::from_nanos(target),
                interval: Duration::from_nanos(interval),
                packet_time: Duration::from_nanos(packet_ns),
            };
            let flow_quantum = match rate >> shift {
                0 => FRAME_BYTES_MAX,
                rate => (rate >> 12).clamp(300, FRAME_BYTES_MAX),
            };
            Shaped {
                tin: Tin::new(number, codel, flow_quantum as i64, config.isolation, overhead),
                pace: pace.unwrap_or(Pace { ns: 0, shift: 0 }),
                next: Instant::ZERO,
                quantum,
                deficit: 0,
            }
        };
        Self {
            perturbation,
            limit_bytes: config.limit_bytes(),
            overhead,
            tins: match config.tins {
                Tins::BestEffort => alloc::vec![make(0, 0, 65_535)],
                Tins::Diffserv3 => alloc::vec![make(0, 0, 1_024), make(1, 4, 64), make(2, 2, 256)],
                Tins::Diffserv4 => {
                    alloc::vec![make(0, 0, 1_024), make(1, 4, 64), make(2, 1, 512), make(3, 2, 256)]
                }
            },
            current: 0,
            now: Instant::ZERO,
            shaper: Pace::new(rate).map(|pace| Shaper {
                pace,
                next: Instant::ZERO,
                failsafe: Instant::ZERO,
            }),
            packets: 0,
            bytes: 0,
            peers: Vec::new(),
            last: None,
            cx: Context {
                stream: Seed::new(u64::from(perturbation), 0).stream("packet/cake"),
                overflow: Overflow::new(),
            },
        }
    }

    /// Lets the packets leave without marks, drops and shaping.
    pub(super) fn silence(&mut self) {
        self.shaper = None;
        self.tins.iter_mut().for_each(|shaped| shaped.tin.silence());
    }

    /// Lets the shaper begin at `now`, whenever the packets arrived.
    pub(super) fn restart(&mut self, now: Instant) {
        if let Some(shaper) = self.shaper.as_mut() {
            (shaper.next, shaper.failsafe) = (now, now);
        }
        self.tins.iter_mut().for_each(|shaped| shaped.next = now);
    }

    /// First instant at which a packet may leave, if there is one.
    #[inline]
    pub fn ready_at(&self) -> Instant {
        self.shaper.as_ref().map_or(Instant::ZERO, |shaper| shaper.next.min(shaper.failsafe))
    }

    pub(super) fn enqueue(
        &mut self,
        now: Instant,
        peer: PeerId,
        packet: Packet,
        held: Held,
        dropped: &mut Vec<Packet>,
    ) {
        self.now = now;
        let is_empty = self.packets == 0;
        let (tin, key) = (self.tin_of(&packet), self.key_of(&packet));
        self.count(peer, &packet);
        let shaped = &mut self.tins[tin];
        if shaped.tin.bytes() == 0 {
            shaped.next = shaped.next.max(now);
            if let Some(shaper) = self.shaper.as_mut()
                && is_empty
                && shaper.next < now
            {
                (shaper.next, shaper.failsafe) = (now, now);
            }
        }
        shaped.tin.push(key, Arrival { peer, packet }, &mut self.cx);
        while self.packets > 0 && self.bytes + held.bytes.as_u64() > self.limit_bytes {
            let Some((tin, queue)) = self.cx.overflow.longest() else { return };
            let shaped = &mut self.tins[tin];
            let Some(gone) = shaped.tin.drop_from(queue, now, &mut self.cx.overflow) else {
                return;
            };
            self.uncount(&gone);
            dropped.push(gone.packet);
        }
    }

    pub(super) fn next_peer_where(&mut self, eligible: impl Fn(PeerId) -> bool) -> Option<PeerId> {
        self.turn(&eligible).map(|arrival| arrival.peer)
    }

    pub(super) fn dequeue_for(
        &mut self,
        now: Instant,
        peer: PeerId,
        dropped: &mut Vec<Packet>,
    ) -> Option<Packet> {
        self.take(now, |other| other == peer, dropped).map(|(_, packet)| packet)
    }

    pub(super) fn dequeue(
        &mut self,
        now: Instant,
        dropped: &mut Vec<Packet>,
    ) -> Option<(PeerId, Packet)> {
        self.take(now, |_| true, dropped)
    }

    pub(super) fn put_back(&mut self, peer: PeerId, packet: Packet) {
        self.count(peer, &packet);
        let arrival = Arrival { peer, packet };
        if let Some(last) = self.last.take() {
            let shaped = &mut self.tins[last.tin];
            (shaped.deficit, shaped.next) = (last.tin_deficit, last.tin_next);
            self.shaper = last.shaper;
            shaped.tin.put_back(last.left, arrival, &mut self.cx);
        } else {
            let (tin, key) = (self.tin_of(&packet), self.key_of(&packet));
            self.tins[tin].tin.push_front(key, arrival, &mut self.cx);
        }
    }

    pub(super) fn peek_len_for(&mut self, peer: PeerId) -> Option<u16> {
        self.turn(&|other| other == peer).map(|arrival| arrival.packet.bytes)
    }

    pub(super) fn len_packets(&self) -> u32 {
        self.packets
    }

    /// Sum of the lengths of network-layer packets.
    pub(super) fn len_bytes(&self) -> Bytes {
        Bytes::new(self.bytes - ETHERNET_HEADER_BYTES * u64::from(self.packets))
    }

    pub(super) fn len_packets_for(&self, peer: PeerId) -> u32 {
        self.peers.get(peer.index()).copied().unwrap_or(0)
    }

    fn count(&mut self, peer: PeerId, packet: &Packet) {
        if peer.index() >= self.peers.len() {
            self.peers.resize(peer.index() + 1, 0);
        }
        self.peers[peer.index()] += 1;
        self.packets += 1;
        self.bytes += frame_bytes(packet);
    }

    fn uncount(&mut self, gone: &Arrival) {
        self.peers[gone.peer.index()] -= 1;
        self.packets -= 1;
        self.bytes -= frame_bytes(&gone.packet);
    }

    fn tin_of(&self, packet: &Packet) -> usize {
        match (self.tins.len(), packet.access_category) {
            (3 | 4, AccessCategory::Background) => 1,
            (4, AccessCategory::Video) => 2,
            (3, AccessCategory::Voice) => 2,
            (4, AccessCategory::Voice) => 3,
            _ => 0,
        }
    }

    fn key_of(&self, packet: &Packet) -> Key {
        let host = |number: u16| mixed(u32::from(number) | 1 << 16, self.perturbation);
        Key {
            flow: mixed(packet.flow_hash, self.perturbation),
            source: host(packet.source.0),
            destination: host(packet.destination.0),
        }
    }

    /// The next packet for an eligible peer, as of the last arrival or request.
    fn turn(&mut self, eligible: &impl Fn(PeerId) -> bool) -> Option<&Arrival> {
        if self.ready_at() > self.now {
            return None;
        }
        let has_any = |shaped: &Shaped| shaped.tin.has_any(eligible);
        let at = self.choose(self.now, has_any)?;
        self.tins[at].tin.turn(eligible, &mut self.cx.stream)
    }

    /// The tin to serve of those that `serves` accepts: with a shaper the one of highest priority
    /// that is within its rate, or else the one that is so first; without a shaper by deficit round
    /// robin.
    fn choose(&mut self, now: Instant, serves: impl Fn(&Shaped) -> bool) -> Option<usize> {
        if self.shaper.is_some() {
            let waits = |shaped: &Shaped| shaped.next.saturating_since(now);
            let busy = self.tins.iter().enumerate().filter(|(_, shaped)| serves(shaped));
            return busy.min_by_key(|(at, it)| (waits(it), usize::MAX - at)).map(|(at, _)| at);
        }
        if !self.tins.iter().any(&serves) {
            return None;
        }
        loop {
            let shaped = &mut self.tins[self.current];
            if shaped.deficit >= 0 && serves(shaped) {
                return Some(self.current);
            }
            if shaped.deficit <= 0 {
                shaped.deficit += shaped.quantum;
            }
            self.current = (self.current + 1) % self.tins.len();
        }
    }

    fn take(
        &mut self,
        now: Instant,
        eligible: impl Fn(PeerId) -> bool,
        dropped: &mut Vec<Packet>,
    ) -> Option<(PeerId, Packet)> {
        self.now = now;
        let mut is_first = true;
        loop {
            if self.packets == 0 || self.ready_at() > now {
                return None;
            }
            let at = self.choose(now, |shaped| shaped.tin.is_busy(&eligible))?;
            let mut gone = Vec::new();
            let Self { tins, cx, .. } = self;
            let taken = tins[at].tin.take(now, &mut is_first, &eligible, cx, &mut gone);
            for arrival in gone {
                self.uncount(&arrival);
                dropped.push(arrival.packet);
            }
            let Some((arrival, left)) = taken else { continue };
            self.uncount(&arrival);
            self.cx.overflow.note_sent();
            let shaped = &mut self.tins[at];
            self.last = Some(Last {
                tin: at,
                tin_deficit: shaped.deficit,
                tin_next: shaped.next,
                shaper: self.shaper.clone(),
                left,
            });
            let bytes = self.overhead.charged_bytes(&arrival.packet);
            shaped.deficit -= bytes as i64;
            if let Some(shaper) = self.shaper.as_mut() {
                let takes = shaped.pace.time(bytes);
                // A tin behind its schedule catches up; one ahead of it does not wait for longer
                // than this packet takes.
                if shaped.next < now {
                    shaped.next += takes;
                } else {
                    shaped.next = shaped.next.max(now + takes);
                }
                let takes = shaper.pace.time(bytes);
                shaper.next += takes;
                shaper.failsafe += takes + Duration::from_nanos(takes.as_nanos() / 2);
            }
            return Some((arrival.peer, arrival.packet));
        }
    }
}

impl Pace {
    /// Pace of a rate in bytes per second, at least 64; `None` for zero.
    fn new(rate: u64) -> Option<Self> {
        if rate == 0 {
            return None;
        }
        let mut pace = Self { ns: (1_000_000_000 << 34) / rate.max(64), shift: 34 };
        while pace.ns >> 34 > 0 {
            pace.ns >>= 1;
            pace.shift -= 1;
        }
        Some(pace)
    }

    fn time(self, bytes: u64) -> Duration {
        Duration::from_nanos((bytes * self.ns) >> self.shift)
    }
}

/// Length of a packet's frame.
fn frame_bytes(packet: &Packet) -> u64 {
    u64::from(packet.bytes) + ETHERNET_HEADER_BYTES
}

fn bytes_per_second(rate: Bitrate) -> u64 {
    rate.as_bps() / 8
}

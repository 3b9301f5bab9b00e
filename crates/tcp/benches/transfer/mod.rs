//! The workload of the benchmarks: a bulk transfer over an ideal path of 170 Mb/s with a round-trip
//! time of 4 ms, without losses or with one lost segment in a thousand. The benchmark measures TCP
//! alone, both endpoints together; the path is a queue of instants.

use std::collections::VecDeque;

use lasthop_tcp::{Config, Endpoint, Segment, SmallQueues};
use lasthop_units::{Duration, Instant, Machine};

/// Airtime of a full-sized segment at about 170 Mb/s.
const SPACING: Duration = Duration::from_micros(70);
const DELAY: Duration = Duration::from_millis(2);

/// Two endpoints in the middle of a transfer.
#[derive(Clone)]
pub struct Transfer {
    ends: [Endpoint; 2],
    now: Instant,
    /// Segments in the bottleneck, each with the instant at which it leaves.
    waiting: VecDeque<(Instant, Segment)>,
    forth: VecDeque<(Instant, Segment)>,
    back: VecDeque<(Instant, Segment)>,
    queue_packets: usize,
    sent: u64,
    lose_every: Option<u64>,
}

impl Transfer {
    /// Returns a transfer that loses one segment in `lose_every`.
    pub fn new(lose_every: Option<u64>, small_queues: SmallQueues) -> Self {
        let config = Config { small_queues, ..Config::default() };
        let mut transfer = Self {
            ends: [Endpoint::new(&config), Endpoint::new(&config)],
            now: Instant::ZERO,
            waiting: VecDeque::new(),
            forth: VecDeque::new(),
            back: VecDeque::new(),
            queue_packets: 500,
            sent: 0,
            lose_every,
        };
        transfer.ends[0].connect(transfer.now);
        transfer.ends[0].write(transfer.now, Endpoint::BULK);
        transfer.send(0);
        transfer.deliver(20_000);
        transfer
    }

    /// Runs until this many more segments are received in order.
    pub fn deliver(&mut self, segments: u64) {
        let end = self.ends[1].received_bytes() + segments * 1_448;
        while self.ends[1].received_bytes() < end {
            self.step();
        }
    }

    fn step(&mut self) {
        let front = |way: &VecDeque<(Instant, Segment)>| way.front().map_or(Instant::MAX, |f| f.0);
        let due = |end: &Endpoint| end.poll_timeout().map_or(Instant::MAX, |(at, _)| at);
        let (left, forth, back) = (front(&self.waiting), front(&self.forth), front(&self.back));
        let timer = due(&self.ends[0]).min(due(&self.ends[1]));
        let next = left.min(forth).min(back).min(timer);
        self.now = self.now.max(next);
        let end = if next == left {
            let (at, segment) = self.waiting.pop_front().expect("it is the first");
            self.forth.push_back((at + DELAY, segment));
            self.ends[0].handle_released(self.now, 1, segment.packet_bytes());
            0
        } else if next == forth {
            let (_, segment) = self.forth.pop_front().expect("it is the first");
            self.ends[1].handle_segment(self.now, &segment, false);
            1
        } else if next == back {
            let (_, segment) = self.back.pop_front().expect("it is the first");
            self.ends[0].handle_segment(self.now, &segment, false);
            0
        } else {
            let end = usize::from(due(&self.ends[1]) == next);
            self.ends[end].handle_timeout(self.now);
            end
        };
        self.send(end);
    }

    fn send(&mut self, end: usize) {
        while let Some(segment) = self.ends[end].poll_transmit(self.now) {
            if end == 1 {
                self.back.push_back((self.now + DELAY, segment));
                continue;
            }
            self.sent += 1;
            let is_lost = self.lose_every.is_some_and(|every| self.sent.is_multiple_of(every));
            if is_lost || self.waiting.len() >= self.queue_packets {
                self.ends[0].handle_released(self.now, 1, segment.packet_bytes());
                continue;
            }
            let start = self.waiting.back().map_or(self.now, |last| last.0);
            self.waiting.push_back((start.max(self.now) + SPACING, segment));
        }
    }
}

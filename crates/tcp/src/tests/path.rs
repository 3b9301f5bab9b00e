//! The network of the tests: a client, a server, and a path between them. Each
//! direction has a bottleneck with a bounded queue and a delay; a rule may lose,
//! delay, duplicate or mark each packet. Rates are in bits per second of IP
//! packets, queues in packets.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;
use lasthop_units::{Bitrate, Bytes, Duration, Instant, Machine};

use crate::{Config, Endpoint, Segment};

/// Payload of a full-sized segment in bytes.
pub const FULL: u64 = 1448;

/// Treatment of a packet on the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Pass,
    Lose,
    Late(Duration),
    Double,
    Mark,
}

/// One direction of the path.
pub struct Direction {
    pub rate: Option<Bitrate>,
    pub delay: Duration,
    pub queue_packets: usize,
    /// Instant at which each packet in the bottleneck, waiting or in transmission, leaves it.
    leaving: VecDeque<Instant>,
    /// Whether a full queue refuses packets instead of dropping them.
    pub refuses: bool,
    pub dropped: u64,
}

impl Direction {
    pub fn new(delay: Duration) -> Self {
        Self {
            rate: None,
            delay,
            queue_packets: usize::MAX,
            leaving: VecDeque::new(),
            refuses: false,
            dropped: 0,
        }
    }

    pub fn limited(delay: Duration, rate: Bitrate, queue_packets: usize) -> Self {
        Self { rate: Some(rate), queue_packets, ..Self::new(delay) }
    }
}

/// Decides the fate of a packet by the end that sent it, its number among those of
/// its kind (with data or without), and its segment.
pub type Rule = alloc::boxed::Box<dyn FnMut(usize, usize, &Segment) -> Fate>;

/// Both ends and both directions; index 0 is the client, and the direction from it.
pub struct Path {
    pub ends: [Endpoint; 2],
    pub directions: [Direction; 2],
    pub now: Instant,
    pub rule: Rule,
    in_flight: BTreeMap<(Instant, u64), Event>,
    events: u64,
    counts: [usize; 2],
    /// Segments that each end sent, with the time.
    pub sent: [Vec<(Instant, Segment)>; 2],
    pub logs: bool,
}

enum Event {
    Arrival(usize, Segment, bool),
    Released(usize, u32),
}

impl Path {
    pub fn new(config: Config, directions: [Direction; 2]) -> Self {
        Self {
            ends: [Endpoint::new(&config), Endpoint::new(&config)],
            directions,
            now: Instant::ZERO,
            rule: alloc::boxed::Box::new(|_, _, _| Fate::Pass),
            in_flight: BTreeMap::new(),
            events: 0,
            counts: [0; 2],
            sent: [Vec::new(), Vec::new()],
            logs: true,
        }
    }

    /// Connects the client, which writes `bytes`.
    pub fn start(&mut self, bytes: u64) {
        self.ends[0].connect(self.now);
        self.ends[0].write(self.now, bytes);
        if bytes != Endpoint::BULK {
            self.ends[0].finish(self.now);
        }
        self.drain();
    }

    /// Carries all segments that leave now.
    pub fn drain(&mut self) {
        for end in 0..2 {
            while let Some(segment) = self.ends[end].poll_transmit(self.now) {
                self.carry(end, segment);
            }
            assert_eq!(self.ends[end].is_settled(), self.ends[end].is_established());
        }
    }

    fn carry(&mut self, end: usize, segment: Segment) {
        let now = self.now;
        let direction = &mut self.directions[end];
        while direction.leaving.front().is_some_and(|&left| left <= now) {
            direction.leaving.pop_front();
        }
        let has_data = segment.payload_bytes > 0 || segment.fin;
        if direction.leaving.len() >= direction.queue_packets {
            direction.dropped += 1;
            if direction.refuses {
                self.ends[end].handle_refused(now, &segment);
            } else {
                self.log(end, &segment);
                if segment.payload_bytes > 0 {
                    self.ends[end].handle_released(now, 1, segment.packet_bytes());
                }
            }
            return;
        }
        let start = direction.leaving.back().copied().unwrap_or(now).max(now);
        let packet = Bytes::new(u64::from(segment.packet_bytes()));
        let left = start + direction.rate.map_or(Duration::ZERO, |rate| packet / rate);
        direction.leaving.push_back(left);
        let arrival = left + direction.delay;
        self.log(end, &segment);
        let number = &mut self.counts[usize::from(!has_data)];
        let fate = (self.rule)(end, *number, &segment);
        *number += 1;
        if segment.payload_bytes > 0 {
            self.at(left, Event::Released(end, segment.packet_bytes()));
        }
        match fate {
            Fate::Lose => {}
            Fate::Pass => self.at(arrival, Event::Arrival(1 - end, segment, false)),
            Fate::Mark => self.at(arrival, Event::Arrival(1 - end, segment, true)),
            Fate::Late(by) => self.at(arrival + by, Event::Arrival(1 - end, segment, false)),
            Fate::Double => {
                self.at(arrival, Event::Arrival(1 - end, segment, false));
                self.at(arrival, Event::Arrival(1 - end, segment, false));
            }
        }
    }

    fn log(&mut self, end: usize, segment: &Segment) {
        if self.logs {
            self.sent[end].push((self.now, *segment));
        }
    }

    fn at(&mut self, at: Instant, event: Event) {
        self.events += 1;
        self.in_flight.insert((at, self.events), event);
    }

    /// The time of the next event.
    pub fn next(&self) -> Option<Instant> {
        let arrival = self.in_flight.keys().next().map(|&(at, _)| at);
        let timers = self.ends.iter().filter_map(|end| end.poll_timeout().map(|(at, _)| at));
        timers.chain(arrival).min()
    }

    /// Handles the next event. Returns whether there was one by `end`.
    pub fn step(&mut self, end: Instant) -> bool {
        let Some(next) = self.next().filter(|&next| next <= end) else {
            self.now = self.now.max(end.min(self.now + Duration::from_secs(1_000_000)));
            return false;
        };
        self.now = self.now.max(next);
        if let Some(entry) = self.in_flight.first_entry()
            && entry.key().0 <= self.now
        {
            match entry.remove() {
                Event::Arrival(to, segment, mark) => {
                    self.ends[to].handle_segment(self.now, &segment, mark);
                }
                Event::Released(of, bytes) => {
                    self.ends[of].handle_released(self.now, 1, bytes);
                }
            }
        }
        for end in &mut self.ends {
            end.handle_timeout(self.now);
        }
        self.drain();
        true
    }

    /// Runs for `length`.
    pub fn run(&mut self, length: Duration) {
        let end = self.now + length;
        while self.step(end) {}
        self.now = end;
    }

    /// Runs until the client's stream is delivered and acknowledged, for `length`
    /// at most. Returns whether it is.
    pub fn run_until_done(&mut self, length: Duration) -> bool {
        let end = self.now + length;
        while !(self.ends[0].is_sent() && self.ends[1].is_received()) {
            if !self.step(end) {
                return false;
            }
        }
        true
    }

    /// Data segments that the client sent, with the time.
    pub fn data(&self) -> impl Iterator<Item = &(Instant, Segment)> {
        self.sent[0].iter().filter(|(_, segment)| segment.payload_bytes > 0)
    }
}

/// A transfer of `segments` over 10 ms in each direction, in which the data segments with these
/// numbers are lost.
pub fn losing(config: Config, segments: u64, lost: &'static [usize]) -> Path {
    let delay = Duration::from_millis(10);
    let mut path = Path::new(config, [Direction::new(delay), Direction::new(delay)]);
    path.rule = Box::new(move |end, number, segment: &Segment| {
        let is_lost = end == 0 && segment.payload_bytes > 0 && lost.contains(&number);
        if is_lost { Fate::Lose } else { Fate::Pass }
    });
    path.start(segments * FULL);
    path
}

/// Numbers of the full-sized segments that were sent at `ms`.
pub fn sent_at(path: &Path, ms: u64) -> Vec<u64> {
    let at = Instant::ZERO + Duration::from_millis(ms);
    path.data().filter(|(t, _)| *t == at).map(|(_, s)| (s.sequence - 1) / FULL).collect()
}

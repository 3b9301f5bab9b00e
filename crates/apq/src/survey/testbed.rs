//! A bottleneck that runs phases, for the tests of surveys. Packets cross a wire of fixed delay and
//! enter one queue, which a Wi-Fi link with random service times empties; timestamps are those of
//! two clocks that are far apart. The bottleneck is simpler than the model of `wifi`: it has only
//! the properties that shape records. Rates are in packets per second.

use crate::plan::StreamKind;
use crate::record::{PhaseRecord, Sample, StreamCount};
use crate::survey::{Phase, Survey};
use crate::{HostClock, PhasePlan};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use lasthop_units::{Duration, Instant, Seed, Stream};

/// The discipline of the queue and its limit.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    /// Drop-tail with a limit in packets, including those in transmission.
    Packets(usize),
    /// Drop-tail with a limit in bytes, including those in transmission.
    Bytes(u64),
    /// CoDel of RFC 8289 with 5 ms and 100 ms, and a limit in packets.
    CoDel(usize),
    /// One queue per flow, served in turn, each under CoDel.
    FqCoDel(usize),
    /// One queue per flow, served in turn, each with a limit.
    FairDropTail(usize),
    /// Drops early at random, with a probability that grows with the queue (RED).
    Early(usize),
}

/// The link's rate of service.
#[derive(Clone, Copy, Debug)]
pub(super) struct TestbedLink {
    /// Duration of a transmission in addition to its packets.
    pub(super) overhead: Duration,
    /// Longest backoff in slots of `slot`, drawn uniformly.
    pub(super) backoff_slots: u32,
    pub(super) slot: Duration,
    pub(super) rate_bps: f64,
    /// Largest number of packets per transmission.
    pub(super) aggregate: usize,
}

impl TestbedLink {
    /// 802.11b at 11 Mb/s: 31 slots of 20 us, long preambles.
    pub(super) const B: Self = Self {
        overhead: Duration::from_micros(550),
        backoff_slots: 31,
        slot: Duration::from_micros(20),
        rate_bps: 11e6,
        aggregate: 1,
    };
    /// 802.11n at 65 Mb/s with aggregates.
    pub(super) const N: Self = Self {
        overhead: Duration::from_micros(150),
        backoff_slots: 15,
        slot: Duration::from_micros(9),
        rate_bps: 65e6,
        aggregate: 32,
    };
    /// A wire: nothing is random.
    pub(super) const WIRE: Self = Self {
        overhead: Duration::ZERO,
        backoff_slots: 0,
        slot: Duration::ZERO,
        rate_bps: 10e6,
        aggregate: 1,
    };
}

/// The hop and the hosts on both sides of it.
#[derive(Clone, Debug)]
pub(super) struct Bed {
    pub(super) kind: Kind,
    pub(super) link: TestbedLink,
    pub(super) sender: HostClock,
    pub(super) receiver: HostClock,
    /// Timestamps are late by up to this.
    pub(super) jitter: Duration,
    /// Packets of 1 000 bytes per second that other hosts send through the same
    /// queue at random times.
    pub(super) others_pps: f64,
    /// From this second of each phase on, the link is slower by this factor.
    pub(super) slows: Option<(f64, f64)>,
    /// Largest number of packets per second that the sender can send.
    pub(super) sender_max_pps: f64,
    pub(super) stream: Stream,
    now: Instant,
}

struct Waiting {
    flow: usize,
    bytes: u64,
    entered: Instant,
    sample: Option<Sample>,
}

#[derive(Default)]
struct CoDel {
    first_above: Option<Instant>,
    next: Instant,
    count: u32,
    last: u32,
    dropping: bool,
}

struct Arrival {
    at: Instant,
    flow: usize,
    bytes: u64,
    sample: Option<Sample>,
}

const WIRE_DELAY: Duration = Duration::from_micros(300);
const TARGET: Duration = Duration::from_millis(5);
const INTERVAL: Duration = Duration::from_millis(100);

impl Bed {
    pub(super) fn new(kind: Kind, link: TestbedLink, seed: u64) -> Self {
        Self {
            kind,
            link,
            sender: HostClock { offset_ns: 0, drift_ppm: 0 },
            receiver: HostClock { offset_ns: 7_200_000_000_000, drift_ppm: 0 },
            jitter: Duration::from_micros(50),
            others_pps: 0.0,
            slows: None,
            sender_max_pps: 1e9,
            stream: Seed::new(seed, 0).stream("bed"),
            now: Instant::from_nanos(5_000_000_000),
        }
    }

    /// Runs a survey to its end.
    pub(super) fn run(&mut self, survey: &mut Survey) {
        while let Some(phase) = survey.phase() {
            let record = self.phase(&phase);
            survey.handle_record(&record);
        }
    }

    /// Runs one phase, and waits until all packets have arrived.
    pub(super) fn phase(&mut self, phase: &Phase) -> PhaseRecord {
        let start = self.now;
        let (arrivals, counts) = self.arrivals(&phase.plan);
        let samples = self.serve(start, arrivals);
        self.now = self.now.max(start + phase.plan.duration()) + Duration::from_millis(200);
        PhaseRecord {
            direction: phase.direction,
            plan: phase.plan.clone(),
            started_ns: self.sender.read_ns(start),
            counts,
            samples,
            duplicates: 0,
        }
    }

    fn late(&mut self) -> Duration {
        self.jitter.mul_f64(self.stream.uniform())
    }

    /// The packets that arrive at the queue, in order.
    fn arrivals(&mut self, plan: &PhasePlan) -> (Vec<Arrival>, Vec<StreamCount>) {
        let (mut all, mut counts) = (Vec::new(), Vec::new());
        let mut sequences = [0_u32; 2];
        for stream in &plan.streams {
            let mut count = StreamCount::default();
            let least = Duration::from_secs_f64(1.0 / self.sender_max_pps);
            let mut free = Duration::ZERO;
            for index in 0..stream.packets() {
                let due = stream.departure(index);
                let sequence = sequences[stream.kind.index()];
                sequences[stream.kind.index()] += 1;
                if free > due + Duration::from_millis(50) {
                    count.unsent += 1;
                    continue;
                }
                let leaves = due.max(free);
                free = leaves + least;
                count.sent += 1;
                count.late_max = count.late_max.max(leaves.saturating_sub(due));
                let at = self.now + leaves;
                let sent_ns = self.sender.read_ns(at);
                let sample = Some(Sample { kind: stream.kind, sequence, sent_ns, received_ns: 0 });
                let at = at + WIRE_DELAY + self.late();
                let bytes = u64::from(stream.packet_bytes);
                all.push(Arrival { at, flow: stream.kind.index(), bytes, sample });
            }
            counts.push(count);
        }
        let end = self.now + plan.duration();
        let mut at = self.now;
        while self.others_pps > 0.0 && at < end {
            all.push(Arrival { at, flow: 2, bytes: 1_000, sample: None });
            at += self.stream.exponential_time(Duration::from_secs_f64(1.0 / self.others_pps));
        }
        all.sort_by_key(|arrival| arrival.at);
        (all, counts)
    }

    /// Passes all packets through the queue.
    fn serve(&mut self, start: Instant, arrivals: Vec<Arrival>) -> Vec<Sample> {
        let mut samples = Vec::new();
        let mut queues: [VecDeque<Waiting>; 3] = Default::default();
        let mut control: [CoDel; 3] = Default::default();
        let mut in_air: Vec<Waiting> = Vec::new();
        let mut done = Instant::MAX;
        let mut turn = 0;
        let mut arrivals = arrivals.into_iter().peekable();
        loop {
            let next = arrivals.peek().map_or(Instant::MAX, |arrival| arrival.at);
            if next == Instant::MAX && done == Instant::MAX {
                return samples;
            }
            if next < done {
                self.now = next;
                let arrival = arrivals.next().expect("peeked");
                self.enter(&mut queues, &in_air, arrival);
            } else {
                self.now = done;
                done = Instant::MAX;
                for waiting in in_air.drain(..) {
                    let Some(sample) = waiting.sample else { continue };
                    let at = self.now + WIRE_DELAY + self.jitter.mul_f64(self.stream.uniform());
                    samples.push(Sample { received_ns: self.receiver.read_ns(at), ..sample });
                }
            }
            if done == Instant::MAX {
                while in_air.len() < self.link.aggregate {
                    let Some(waiting) = self.leave(&mut queues, &mut control, &mut turn) else {
                        break;
                    };
                    in_air.push(waiting);
                }
                if !in_air.is_empty() {
                    let bytes: u64 = in_air.iter().map(|waiting| waiting.bytes + 40).sum();
                    let slots = self.stream.up_to(self.link.backoff_slots);
                    let mut time = self.link.overhead
                        + self.link.slot * u64::from(slots)
                        + Duration::from_secs_f64(bytes as f64 * 8.0 / self.link.rate_bps);
                    if let Some((from, factor)) = self.slows
                        && self.now.saturating_since(start).as_secs_f64() > from
                    {
                        time = time.mul_f64(factor);
                    }
                    done = self.now + time;
                }
            }
        }
    }

    fn enter(&mut self, queues: &mut [VecDeque<Waiting>; 3], in_air: &[Waiting], arrival: Arrival) {
        let own = match self.kind {
            Kind::FqCoDel(_) | Kind::FairDropTail(_) => arrival.flow,
            _ => 0,
        };
        let waiting: usize = queues.iter().map(VecDeque::len).sum::<usize>() + in_air.len();
        let room = match self.kind {
            Kind::Packets(limit) | Kind::CoDel(limit) | Kind::FqCoDel(limit) => waiting < limit,
            Kind::Bytes(limit) => {
                let held = queues.iter().flatten().chain(in_air).map(|w| w.bytes).sum::<u64>();
                held + arrival.bytes <= limit
            }
            Kind::FairDropTail(limit) => {
                let airborne = in_air.iter().filter(|w| w.flow == arrival.flow).count();
                queues[own].len() + airborne < limit
            }
            Kind::Early(limit) => {
                let share = waiting as f64 / limit as f64;
                self.stream.uniform() > share * share
            }
        };
        if room {
            queues[own].push_back(Waiting {
                flow: arrival.flow,
                bytes: arrival.bytes,
                entered: self.now,
                sample: arrival.sample,
            });
        }
    }

    /// Serves the queues in turn, packet by packet.
    fn leave(
        &self,
        queues: &mut [VecDeque<Waiting>; 3],
        control: &mut [CoDel; 3],
        turn: &mut usize,
    ) -> Option<Waiting> {
        for _ in 0..queues.len() {
            *turn = (*turn + 1) % queues.len();
            let queue = &mut queues[*turn];
            let waiting = match self.kind {
                Kind::CoDel(_) | Kind::FqCoDel(_) => control[*turn].leave(self.now, queue),
                _ => queue.pop_front(),
            };
            if waiting.is_some() {
                return waiting;
            }
        }
        None
    }
}

impl CoDel {
    fn pop(&mut self, now: Instant, queue: &mut VecDeque<Waiting>) -> (Option<Waiting>, bool) {
        let Some(waiting) = queue.pop_front() else {
            self.first_above = None;
            return (None, false);
        };
        let left: u64 = queue.iter().map(|waiting| waiting.bytes).sum();
        if now.saturating_since(waiting.entered) < TARGET || left <= 1_500 {
            self.first_above = None;
            return (Some(waiting), false);
        }
        let above = *self.first_above.get_or_insert(now + INTERVAL);
        (Some(waiting), now >= above)
    }

    fn law(&self, from: Instant) -> Instant {
        from + INTERVAL.mul_f64(1.0 / libm::sqrt(f64::from(self.count)))
    }

    fn leave(&mut self, now: Instant, queue: &mut VecDeque<Waiting>) -> Option<Waiting> {
        let (mut head, mut drop) = self.pop(now, queue);
        if self.dropping {
            self.dropping = drop;
            while self.dropping && now >= self.next {
                self.count += 1;
                (head, drop) = self.pop(now, queue);
                self.dropping = drop;
                if drop {
                    self.next = self.law(self.next);
                }
            }
        } else if drop {
            (head, _) = self.pop(now, queue);
            self.dropping = true;
            let drops = self.count - self.last;
            let soon = now.saturating_since(self.next) < INTERVAL * 16;
            self.count = if drops > 1 && soon { drops } else { 1 };
            self.next = self.law(now);
            self.last = self.count;
        }
        head
    }
}

/// Number of packets of the saturation flow in a plan.
pub(super) fn bulk_packets(plan: &PhasePlan) -> u64 {
    let bulk = plan.streams.iter().filter(|stream| stream.kind == StreamKind::Bulk);
    bulk.map(crate::StreamPlan::packets).sum()
}

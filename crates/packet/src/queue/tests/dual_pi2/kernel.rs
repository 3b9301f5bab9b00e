//! DualPI2 against Linux' own. The functions `dualpi2_qdisc_enqueue`, `dualpi2_qdisc_dequeue`,
//! `dualpi2_timer` and all below them, of `sch_dualpi2.c` in Debian's 7.2.12, were compiled as a
//! program with the clock, the packets and the lists of a harness. The harness passed the events of
//! [`Scene::events`] and the draws of the queue here (`get_random_u32`), and asked again at once
//! when nothing was left, as `__qdisc_run` does. A packet's memory was the length of its frame.
//!
//! The decisions are in `dual_pi2/`. A line for each event has the packets that were dropped (`x`),
//! and the one that left (`m` with CE), or `.` for none.

use super::*;
use crate::queue::tests::replay::{Event, assert_decides};

use lasthop_units::{Seed, Stream};

/// The key of the queues' draws.
const PERTURBATION: u32 = 7;

/// Events begin here, since the kernel's clock is never near zero.
const BEGIN: Instant = Instant::from_nanos(1_000_000_000);

/// Arrivals and requests at a queue.
struct Scene {
    name: &'static str,
    kernel: &'static str,
    config: QueueConfig,
    /// Number of events.
    events: usize,
    /// Whether packets arrive that are classic, scalable.
    kinds: [bool; 2],
    /// Mean time between requests.
    request: Duration,
    /// Arrivals for each request on average, in percent, and for how many milliseconds. Again and
    /// again.
    phases: &'static [(u32, u64)],
}

/// Limit in packets, update interval and step in milliseconds, percent of the classic queue.
#[derive(Clone, Copy)]
struct Keys {
    limit: u32,
    update_ms: u64,
    step_ms: u64,
    classic_percent: u8,
}

const USUAL: Keys = Keys { limit: 10_000, update_ms: 16, step_ms: 1, classic_percent: 10 };

fn config(pi2: Pi2Parameters, keys: Keys) -> QueueConfig {
    QueueConfig::DualPi2 {
        limit_packets: keys.limit,
        pi2,
        update_interval: Duration::from_millis(keys.update_ms),
        step: Duration::from_millis(keys.step_ms),
        classic_percent: keys.classic_percent,
    }
}

fn scenes() -> [Scene; 9] {
    const BOTH: [bool; 2] = [true; 2];
    /// Time of 1 514 bytes at 10 and at 100 Mb/s.
    const TIMES: [Duration; 2] = [Duration::from_nanos(1_211_200), Duration::from_nanos(121_120)];
    let [slow, fast] = TIMES;
    let kept = Pi2Parameters { drop_overload: false, ..PI2 };
    let quick = Pi2Parameters { target: Duration::from_millis(5), alpha: 400, beta: 3_000, ..PI2 };
    let scene = |name, kernel, config, kinds, request, phases| Scene {
        name,
        kernel,
        config,
        events: 3_000,
        kinds,
        request,
        phases,
    };
    [
        scene(
            "scalable_10",
            include_str!("scalable_10.txt"),
            config(PI2, USUAL),
            [false, true],
            slow,
            &[(104, 400), (90, 200)],
        ),
        scene(
            "scalable_100",
            include_str!("scalable_100.txt"),
            config(quick, Keys { update_ms: 4, step_ms: 5, ..USUAL }),
            [false, true],
            fast,
            &[(150, 30), (50, 30)],
        ),
        scene(
            "classic",
            include_str!("classic.txt"),
            config(PI2, USUAL),
            [true, false],
            slow,
            &[(125, 600), (60, 400)],
        ),
        scene(
            "both",
            include_str!("both.txt"),
            config(PI2, USUAL),
            BOTH,
            slow,
            &[(110, 500), (80, 300)],
        ),
        scene(
            "overload",
            include_str!("overload.txt"),
            config(PI2, USUAL),
            BOTH,
            slow,
            &[(190, 9_000)],
        ),
        scene(
            "overflow",
            include_str!("overflow.txt"),
            config(kept, Keys { limit: 120, ..USUAL }),
            BOTH,
            slow,
            &[(170, 1_000), (70, 500)],
        ),
        scene(
            "half",
            include_str!("half.txt"),
            config(
                Pi2Parameters { coupling: 4, ..PI2 },
                Keys { step_ms: 5, classic_percent: 50, ..USUAL },
            ),
            BOTH,
            slow,
            &[(115, 500), (60, 300)],
        ),
        scene(
            "four",
            include_str!("four.txt"),
            config(
                Pi2Parameters { coupling: 4, drop_overload: false, ..quick },
                Keys { limit: 400, step_ms: 5, ..USUAL },
            ),
            BOTH,
            fast,
            &[(160, 60), (60, 30)],
        ),
        scene(
            "idle",
            include_str!("idle.txt"),
            config(quick, USUAL),
            BOTH,
            slow,
            &[(140, 400), (0, 150), (20, 100), (200, 100), (0, 1_000)],
        ),
    ]
}

impl Scene {
    /// The events, in order.
    fn events(&self) -> Vec<(Instant, Event)> {
        let mut stream = Seed::new(1, 0).stream(self.name);
        let mut events = Vec::new();
        let (mut asks, mut arrives) = (BEGIN, Some(BEGIN));
        let mut tag = 0;
        while events.len() < self.events {
            if let Some(now) = arrives.filter(|&now| now < asks) {
                let arrived = self.packet(tag, now, &mut stream);
                events.push((now, Event::Arrival(arrived)));
                tag += 1;
                // Bursts: every other packet follows the one before.
                if stream.up_to(1) == 0 {
                    arrives = self.next_arrival(now, &mut stream);
                }
                continue;
            }
            events.push((asks, Event::Request));
            let mean = self.request.as_nanos() as u32;
            asks += Duration::from_nanos(u64::from(mean / 2 + stream.up_to(mean)));
            arrives = arrives.or_else(|| self.next_arrival(asks, &mut stream));
        }
        events
    }

    /// Returns when the next packet arrives, or `None` while none does.
    fn next_arrival(&self, now: Instant, stream: &mut Stream) -> Option<Instant> {
        let round: u64 = self.phases.iter().map(|&(_, length_ms)| length_ms).sum();
        let mut at_ms = (now - BEGIN).as_nanos() / 1_000_000 % round;
        let mut phases = self.phases.iter();
        let percent = loop {
            let &(percent, length_ms) = phases.next().expect("within the round");
            if at_ms < length_ms {
                break percent;
            }
            at_ms -= length_ms;
        };
        // Every other packet takes no time, so the rest take twice the mean.
        let mean = (self.request.as_nanos() * 100).checked_div(u64::from(percent))?;
        Some(now + Duration::from_nanos(u64::from(stream.up_to(4 * mean as u32))))
    }

    fn packet(&self, tag: u64, now: Instant, stream: &mut Stream) -> Packet {
        let shorter = if stream.up_to(4) == 0 { stream.up_to(1_460) } else { 0 };
        let code = stream.up_to(19);
        let is_scalable = match self.kinds {
            [true, true] => stream.up_to(1) == 0,
            [_, is_scalable] => is_scalable,
        };
        let ecn = match (is_scalable, code) {
            (true, 0) => Ecn::Congestion,
            (true, _) => Ecn::Capable1,
            (false, ..10) => Ecn::Capable0,
            (false, _) => Ecn::NotCapable,
        };
        Packet { arrived: now, ..coded(tag, 1_500 - shorter as u16, ecn) }
    }
}

/// Every packet leaves, is dropped or marked at the same event as in Linux.
#[test]
fn decisions_are_the_kernels() {
    for scene in scenes() {
        let events = scene.events();
        assert_decides(scene.name, &scene.config, PERTURBATION, events, scene.kernel);
    }
}

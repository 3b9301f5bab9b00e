//! Tests of CoDel against the pseudo-code of RFC 8289, 5.4 to 5.6, with random
//! arrivals, and of its control law under a standing queue. Times of the model are
//! in nanoseconds.

use super::*;
use alloc::collections::VecDeque;

const TARGET: Duration = Duration::from_millis(5);
const INTERVAL: Duration = Duration::from_millis(100);

fn config(ecn: bool) -> QueueConfig {
    QueueConfig::CoDel { limit: Limit::Packets(1000), target: TARGET, interval: INTERVAL, ecn }
}

/// The pseudo-code with its names, in nanoseconds; zero stands for "not set", as in the RFC.
#[derive(Default)]
pub(super) struct Model {
    pub(super) packets: VecDeque<Packet>,
    first_above_time: u64,
    drop_next: u64,
    count: u32,
    lastcount: u32,
    dropping: bool,
}

impl Model {
    fn dodequeue(&mut self, now: u64, target: u64, interval: u64) -> (Option<Packet>, bool) {
        let mut ok_to_drop = false;
        let packet = self.packets.pop_front();
        match packet {
            None => self.first_above_time = 0,
            Some(packet) => {
                let sojourn_time = now - packet.arrived.as_nanos();
                let bytes: u64 = self.packets.iter().map(|p| u64::from(p.bytes)).sum();
                if sojourn_time < target || bytes <= 1500 {
                    self.first_above_time = 0;
                } else if self.first_above_time == 0 {
                    self.first_above_time = now + interval;
                } else if now >= self.first_above_time {
                    ok_to_drop = true;
                }
            }
        }
        (packet, ok_to_drop)
    }

    pub(super) fn dequeue(
        &mut self,
        now: u64,
        target: u64,
        interval: u64,
        dropped: &mut Vec<Packet>,
    ) -> Option<Packet> {
        let control_law = |t: u64, count: u32| {
            t + (interval as f64 / libm::sqrt(f64::from(count))).round() as u64
        };
        let (mut packet, mut ok_to_drop) = self.dodequeue(now, target, interval);
        if self.dropping {
            if !ok_to_drop {
                self.dropping = false;
            }
            while now >= self.drop_next && self.dropping {
                dropped.extend(packet);
                self.count += 1;
                (packet, ok_to_drop) = self.dodequeue(now, target, interval);
                if !ok_to_drop {
                    self.dropping = false;
                } else {
                    self.drop_next = control_law(self.drop_next, self.count);
                }
            }
        } else if ok_to_drop {
            dropped.extend(packet);
            (packet, _) = self.dodequeue(now, target, interval);
            self.dropping = true;
            let delta = self.count - self.lastcount;
            self.count = 1;
            if delta > 1 && (now as i64 - self.drop_next as i64) < 16 * interval as i64 {
                self.count = delta;
            }
            self.drop_next = control_law(now, self.count);
            self.lastcount = self.count;
        }
        packet
    }
}

proptest! {
    /// Packets arrive and leave at random, in phases of overload and of low load.
    #[test]
    fn follows_the_pseudo_code(
        steps in prop::collection::vec((0..4000u64, 0..4u8, 40..=1500u16), 1..1500),
        phase in 50..300usize,
    ) {
        let mut queue = Queue::new(&config(false), 0);
        let mut model = Model::default();
        let mut now = Instant::from_nanos(1);
        for (tag, (micros, arrivals, bytes)) in steps.into_iter().enumerate() {
            now += Duration::from_micros(micros);
            let mut dropped = vec![];
            // One packet leaves per step; in phases of low load fewer arrive.
            let calm = tag / phase % 2 == 1;
            for _ in 0..if calm { arrivals / 2 } else { arrivals } {
                let mut packet = packet(tag as u64, bytes);
                queue.enqueue(now, peer(1), packet, Held::NONE, &mut dropped);
                packet.arrived = now;
                if dropped.is_empty() {
                    model.packets.push_back(packet);
                }
                dropped.clear();
            }
            let mut expected_drops = vec![];
            let (target, interval) = (TARGET.as_nanos(), INTERVAL.as_nanos());
            let expected = model.dequeue(now.as_nanos(), target, interval, &mut expected_drops);
            let served = queue.dequeue(now, &mut dropped);
            prop_assert_eq!(served.map(|(_, packet)| packet), expected);
            prop_assert_eq!(dropped, expected_drops);
        }
    }
}

/// Keeps a standing queue of 100 packets and returns the times of drops or marks, in milliseconds
/// from the first.
fn signals_under_overload(ecn: bool, by_peer: bool, signals: usize) -> Vec<f64> {
    let mut queue = Queue::new(&config(ecn), 0);
    let mut times: Vec<f64> = vec![];
    for tag in 0u64.. {
        let now = Instant::from_nanos(tag * 10_000);
        let mut dropped = vec![];
        let mut packet = packet(tag, 1000);
        packet.ecn_capable = true;
        queue.enqueue(now, peer(1), packet, Held::NONE, &mut dropped);
        while queue.len_packets() < 600 {
            queue.enqueue(now, peer(1), packet, Held::NONE, &mut dropped);
        }
        let served = if by_peer {
            queue.dequeue_for(now, peer(1), &mut dropped)
        } else {
            queue.dequeue(now, &mut dropped).map(|(_, packet)| packet)
        };
        let marked = usize::from(served.expect("a standing queue").ecn_marked);
        assert_eq!(if ecn { dropped.len() } else { marked }, 0);
        times.extend((0..marked + dropped.len()).map(|_| now.as_secs_f64() * 1e3));
        if times.len() >= signals {
            break;
        }
    }
    let first = times[0];
    times.iter().map(|time| time - first).collect()
}

/// Intervals of 100 ms / sqrt(count): 100, 70.7, 57.7, 50, 44.7 ms.
#[test]
fn drops_keep_the_square_root_law() {
    for (ecn, by_peer) in [(false, false), (true, false), (false, true), (true, true)] {
        let times = signals_under_overload(ecn, by_peer, 6);
        let expected = [0.0, 100.0, 170.711, 228.446, 278.446, 323.167];
        for (time, expected) in times.iter().zip(expected) {
            assert!((time - expected).abs() < 0.02, "{times:?}");
        }
    }
}

/// A backlog of one MTU is never dropped, however long it waits.
#[test]
fn one_mtu_of_backlog_is_exempt() {
    for bytes in [40, 1500, 7900] {
        let mut queue = Queue::new(&config(false), 0);
        let mut dropped = vec![];
        for second in 0..100 {
            let now = Instant::ZERO + Duration::from_secs(second);
            while queue.len_packets() < 2 {
                queue.enqueue(now, peer(1), packet(second, bytes), Held::NONE, &mut dropped);
            }
            queue.dequeue(now + Duration::from_millis(900), &mut dropped);
        }
        assert_eq!(dropped, vec![]);
    }
}

/// mac80211's intervals between drops: interval / sqrt(count) by Newton's steps from 65 535 65
/// 536ths, so 1, 0.5, 0.5625, 0.4878, .. of it (computed by hand from `codel_Newton_step`: r (3 - n
/// r^2) / 2), which approach 1 / sqrt(n) later.
#[test]
fn mac80211_nears_the_square_root() {
    let mut queue = Queue::new(&QueueConfig::MAC80211, 0);
    let mut times: Vec<f64> = vec![];
    for tag in 0u64..400_000 {
        let now = Instant::from_nanos(tag * 10_240);
        let mut dropped = vec![];
        while queue.len_packets() < 2500 {
            queue.enqueue(now, peer(1), packet(tag, 1000), Held::NONE, &mut dropped);
        }
        queue.dequeue_for(now, peer(1), &mut dropped).expect("a standing queue");
        times.extend(dropped.iter().map(|_| now.as_secs_f64() * 1e3));
    }
    let steps: Vec<f64> = times.windows(2).map(|pair| (pair[1] - pair[0]) / 100.0).collect();
    for (step, expected) in steps.iter().zip([1.0, 0.5, 0.5625, 0.4878, 0.4415]) {
        assert!((step - expected).abs() < 0.001, "{steps:?}");
    }
    let (count, late) = (steps.len(), steps[steps.len() - 1]);
    assert!(count > 20 && (late * (count as f64).sqrt() - 1.0).abs() < 0.02, "{count}: {late}");
}

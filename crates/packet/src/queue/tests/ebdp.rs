//! Tests of eBDP: the capacity stays within its limits, and delay follows the rate of service and
//! optionally the number of flows. The paper's own figures are not compared.

use super::*;
use alloc::vec;

const TARGET: Duration = Duration::from_millis(100);

fn config(flows: Option<Duration>) -> QueueConfig {
    QueueConfig::EmulatedBdp {
        limit_packets: 400,
        target: TARGET,
        burst_packets: 5,
        average_packets: 100,
        flows,
    }
}

fn capacity(queue: &Queue) -> u32 {
    match queue {
        Queue::EmulatedBdp(queue) => queue.capacity(),
        _ => panic!("another queue"),
    }
}

/// Keeps the queue full with packets of `flows` flows in turn while one is served every `interval`.
/// Returns the time for which the last packet waited.
fn saturate(
    queue: &mut Queue,
    now: &mut Instant,
    interval: Duration,
    served: u32,
    flows: u32,
) -> Duration {
    let mut waited = Duration::ZERO;
    for count in 0..served {
        let mut dropped = vec![];
        let mut number = count;
        while dropped.is_empty() {
            let packet = Packet { flow_hash: number % flows, ..packet(0, 1500) };
            queue.enqueue(*now, peer(1), packet, Held::NONE, &mut dropped);
            number += 1;
        }
        *now += interval;
        let (_, packet) = queue.dequeue(*now, &mut dropped).unwrap();
        waited = now.saturating_since(packet.arrived);
    }
    waited
}

/// The capacity is the packets served in the target plus a burst. When service slows down to a
/// tenth, delay increases at first, and returns to the target after some hundreds of packets.
#[test]
fn delay_follows_the_rate() {
    let (mut queue, mut now) = (Queue::new(&config(None), 0), Instant::ZERO);
    assert_eq!(capacity(&queue), 400, "nothing is known yet");
    let fast = Duration::from_micros(500);
    let waited = saturate(&mut queue, &mut now, fast, 2000, 1);
    assert_eq!(capacity(&queue), 205);
    assert!(waited.as_micros().abs_diff(102_500) <= 500, "{waited:?}");
    let slow = Duration::from_millis(5);
    let waited = saturate(&mut queue, &mut now, slow, 150, 1);
    assert!(waited > TARGET * 3, "{waited:?}");
    let waited = saturate(&mut queue, &mut now, slow, 1000, 1);
    assert_eq!(capacity(&queue), 25);
    assert!(waited.as_micros().abs_diff(125_000) <= 5_000, "{waited:?}");
    saturate(&mut queue, &mut now, fast, 2000, 1);
    assert!(capacity(&queue).abs_diff(205) <= 1, "and back: {}", capacity(&queue));
}

/// Aggregates leave at one instant: the mean of their packets counts.
#[test]
fn aggregates_count_as_their_mean() {
    let (mut queue, mut now) = (Queue::new(&config(None), 0), Instant::ZERO);
    for _ in 0..400 {
        while queue.len_packets() < 30 {
            queue.enqueue(now, peer(1), packet(0, 1500), Held::NONE, &mut vec![]);
        }
        (0..8).for_each(|_| _ = queue.dequeue(now, &mut vec![]));
        now += Duration::from_millis(4);
    }
    let found = capacity(&queue);
    assert!(found.abs_diff(205) <= 10, "8 packets in 4 ms: {found}");
}

/// A queue that runs empty measures no service time.
#[test]
fn idle_time_is_no_service() {
    let (mut queue, mut now) = (Queue::new(&config(None), 0), Instant::ZERO);
    for _ in 0..50 {
        (0..10).for_each(|tag| {
            queue.enqueue(now, peer(1), packet(tag, 1500), Held::NONE, &mut vec![]);
        });
        for _ in 0..10 {
            now += Duration::from_micros(500);
            queue.dequeue(now, &mut vec![]);
        }
        assert!(queue.is_empty());
        now += Duration::from_secs(1);
    }
    assert!(capacity(&queue).abs_diff(205) <= 1, "{}", capacity(&queue));
}

/// The capacity is divided by the square root of the number of flows, within the
/// accuracy of counting with a bit vector.
#[test]
fn capacity_follows_the_number_of_flows() {
    for (flows, expected) in [(1, 205), (4, 105), (16, 55), (100, 25)] {
        let interval = Some(Duration::from_secs(1));
        let (mut queue, mut now) = (Queue::new(&config(interval), 0), Instant::ZERO);
        saturate(&mut queue, &mut now, Duration::from_micros(500), 20_000, flows);
        let found = capacity(&queue);
        assert!(found.abs_diff(expected) <= 2, "{flows} flows: {found}");
    }
}

proptest! {
    /// The capacity stays within its limits for any operations, and so does the queue.
    #[test]
    fn capacity_is_bounded(
        steps in prop::collection::vec((0..3u8, 0..50_000u64, 0..200u32), 0..400),
        limit_packets in 5..60u32,
        burst_packets in 1..5u32,
        average_packets in 1..50u32,
        target_us in 1..1_000_000u64,
        by_flows: bool,
    ) {
        let config = QueueConfig::EmulatedBdp {
            limit_packets,
            target: Duration::from_micros(target_us),
            burst_packets,
            average_packets,
            flows: by_flows.then_some(Duration::from_millis(20)),
        };
        let (mut queue, mut now) = (Queue::new(&config, 0), Instant::ZERO);
        for (what, micros, flow) in steps {
            let mut dropped = vec![];
            match what {
                0 => {
                    let has_space = queue.len_packets() < capacity(&queue);
                    let packet = Packet { flow_hash: flow, ..packet(0, 1500) };
                    queue.enqueue(now, peer(1), packet, Held::NONE, &mut dropped);
                    // An additional flow may reduce the capacity.
                    prop_assert!(by_flows || dropped.is_empty() == has_space);
                }
                1 => _ = queue.dequeue(now, &mut dropped),
                _ => now += Duration::from_micros(micros),
            }
            prop_assert!((burst_packets..=limit_packets).contains(&capacity(&queue)));
            prop_assert!(queue.len_packets() <= limit_packets);
        }
    }
}

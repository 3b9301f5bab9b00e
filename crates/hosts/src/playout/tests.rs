//! Tests of the jitter buffer: closed forms of late packets, for constant, stepped and exponentially
//! distributed delays. Packets leave every 20 ms.

use super::*;
use alloc::vec::Vec;
use lasthop_units::Seed;

const INTERVAL: Duration = Duration::from_millis(20);

fn config(buffer_ms: u64) -> CallConfig {
    CallConfig { interval: INTERVAL, bytes: 200, buffer: Duration::from_millis(buffer_ms) }
}

fn at(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

/// Plays packets with these delays; `None` for lost ones.
fn play(config: &CallConfig, from: Instant, delays: &[Option<Duration>]) -> (Played, Playout) {
    let mut playout = Playout::new(config, from);
    let sent = |number: usize| Instant::ZERO + INTERVAL * number as u64;
    let mut events: Vec<(Instant, bool, usize)> = Vec::new();
    for (number, delay) in delays.iter().enumerate() {
        events.push((sent(number), false, number));
        events.extend(delay.map(|delay| (sent(number) + delay, true, number)));
    }
    events.sort();
    for (now, is_arrival, number) in events {
        if is_arrival {
            playout.handle_arrival(now, number as u64, sent(number));
        } else {
            playout.handle_sent(now);
        }
    }
    (playout.finished(Instant::MAX), playout)
}

fn ms(millis: u64) -> Option<Duration> {
    Some(Duration::from_millis(millis))
}

#[test]
fn a_constant_delay_is_never_late() {
    for delay in [0, 1, 59, 400] {
        let (played, playout) = play(&config(0), Instant::ZERO, &[ms(delay); 100]);
        assert_eq!(played, Played { packets: 100, ..Played::default() });
        assert_eq!((playout.offset(), playout.jitter()), (ms(delay), Duration::ZERO));
    }
}

/// After the first packet the delay grows: all others are late or none is.
#[test]
fn a_step_is_late_if_it_exceeds_the_buffer() {
    for (step, late) in [(60, 0), (61, 99)] {
        let mut delays = [ms(30 + step); 100];
        delays[0] = ms(30);
        let (played, playout) = play(&config(60), Instant::ZERO, &delays);
        assert_eq!((played.packets, played.late, played.concealed), (100, late, late), "{step}");
        assert_eq!((played.runs, played.longest_run), (late.min(1), late));
        assert_eq!(playout.offset(), ms(90));
    }
}

/// After a first packet without delay, delays are exponentially distributed: `exp(-b / mean)` are
/// late, within four standard deviations.
#[test]
fn exponential_delays_are_late_as_the_tail_says() {
    const PACKETS: usize = 100_000;
    let mut stream = Seed::new(1, 0).stream("playout");
    for (mean_ms, buffer_ms) in [(20, 60), (30, 20), (10, 40)] {
        let mean = Duration::from_millis(mean_ms);
        let mut delays: Vec<_> =
            (0..PACKETS).map(|_| Some(stream.exponential_time(mean))).collect();
        delays[0] = ms(0);
        let (played, _) = play(&config(buffer_ms), Instant::ZERO, &delays);
        let tail = libm::exp(-(buffer_ms as f64) / mean_ms as f64);
        let deviation = libm::sqrt(tail * (1.0 - tail) / PACKETS as f64);
        let share = played.concealed_share().expect("packets were due");
        assert!((share - tail).abs() < 4.0 * deviation, "{share} against {tail}");
        assert_eq!(played.late, played.concealed);
        // Independent delays are late as random losses are.
        assert!((played.burst_ratio() - 1.0).abs() < 0.05, "{}", played.burst_ratio());
    }
}

#[test]
fn lost_packets_are_concealed_in_runs() {
    let mut delays = [ms(5); 20];
    for lost in [3, 7, 8, 9, 15, 19] {
        delays[lost] = None;
    }
    let (played, _) = play(&config(60), Instant::ZERO, &delays);
    assert_eq!((played.packets, played.late, played.concealed), (20, 0, 6));
    assert_eq!((played.runs, played.longest_run), (4, 3));
    // 6 in 4 runs, times 1 - 0.3.
    assert!((played.burst_ratio() - 1.05).abs() < 1e-12);
}

/// The first packets are lost; the ones due before the first arrival count all the same. Packets
/// before `from` do not count, late ones among them.
#[test]
fn counting_begins_at_its_instant() {
    let delays = [None, None, ms(5), ms(100), ms(100), ms(5)];
    let (played, _) = play(&config(60), Instant::ZERO, &delays);
    assert_eq!((played.packets, played.late, played.concealed), (6, 2, 4));
    let (played, _) = play(&config(60), at(80), &delays);
    assert_eq!((played.packets, played.late, played.concealed), (2, 1, 1));
}

/// If nothing arrives, every packet is concealed. The packets that are not due at the end do not count.
#[test]
fn what_is_not_due_does_not_count() {
    let (played, playout) = play(&config(60), Instant::ZERO, &[None; 10]);
    assert_eq!((played.packets, played.concealed, played.longest_run), (10, 10, 10));
    assert_eq!(playout.offset(), None);
    // Packet n is due at 20 n + 65; the last event is the arrival of the tenth, at 185 ms.
    let (_, playout) = play(&config(60), Instant::ZERO, &[ms(5); 10]);
    assert_eq!(
        [185, 204, 205, 244, 245].map(|end| playout.finished(at(end)).packets),
        [7, 7, 8, 9, 10]
    );
}

/// Delays that alternate between 10 and 14 ms change by 4 ms each time.
#[test]
fn jitter_is_the_mean_change() {
    let delays: Vec<_> = (0..1_000).map(|number| ms(10 + number % 2 * 4)).collect();
    let (_, playout) = play(&config(60), Instant::ZERO, &delays);
    assert_eq!(playout.jitter(), Duration::from_millis(4));
}

/// Each packet counts, whether it was given up early or at the end.
#[test]
fn memory_is_bounded_when_nothing_arrives() {
    let mut playout = Playout::new(&config(60), Instant::ZERO);
    let packets = WAITING_MAX as u64 + 1000;
    for number in 0..packets {
        playout.handle_sent(at(20 * number));
    }
    assert_eq!(playout.waiting.len(), WAITING_MAX);
    let lost = Played { packets, late: 0, concealed: packets, runs: 1, longest_run: packets };
    assert_eq!(playout.finished(Instant::MAX), lost);
}

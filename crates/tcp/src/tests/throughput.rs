//! Tests of throughput without random losses: it is the smaller of window over
//! round-trip time and the rate of the path, with every congestion control, with
//! small queues and with pacing. Rates are in payload bits per second.

use lasthop_units::{Bitrate, Bytes, Duration};

use super::path::{Direction, Path};
use crate::{Config, CongestionControlKind, Endpoint, HyStart, Pacing, SmallQueues};

const MS: fn(u64) -> Duration = Duration::from_millis;

/// Payload bits per second between `from` and `to` seconds of a bulk transfer.
fn goodput(config: Config, directions: [Direction; 2], from: u64, to: u64) -> (f64, Path) {
    let mut path = Path::new(config, directions);
    path.logs = false;
    path.start(Endpoint::BULK);
    path.run(Duration::from_secs(from));
    let before = path.ends[1].received_bytes();
    path.run(Duration::from_secs(to - from));
    let bits = (path.ends[1].received_bytes() - before) * 8;
    path.ends[0].check();
    (bits as f64 / (to - from) as f64, path)
}

fn expect(measured: f64, expected: f64, tolerance: f64) {
    let error = (measured / expected - 1.0).abs();
    assert!(error < tolerance, "{measured} instead of {expected}");
}

#[test]
fn the_receive_window_limits() {
    let config = Config { receive_window: Bytes::new(64 * 1448), ..Config::default() };
    let (bps, path) = goodput(config, [Direction::new(MS(10)), Direction::new(MS(10))], 1, 3);
    expect(bps, 64.0 * 1448.0 * 8.0 / 0.02, 0.02);
    assert_eq!(path.ends[0].retransmissions(), 0);
}

#[test]
fn the_path_limits() {
    for kind in [
        CongestionControlKind::NewReno,
        CongestionControlKind::Cubic { hystart: HyStart::Linux },
        CongestionControlKind::Cubic { hystart: HyStart::PlusPlus },
    ] {
        let config = Config { congestion_control: kind, ..Config::default() };
        let rate = Bitrate::from_mbps(50);
        let directions = [Direction::limited(MS(5), rate, 200), Direction::new(MS(5))];
        let (bps, path) = goodput(config, directions, 5, 10);
        expect(bps, 50e6 * 1448.0 / 1500.0, 0.01);
        assert!(path.ends[0].timeouts() == 0, "{kind:?}");
    }
}

#[test]
fn without_selective_acknowledgements_too() {
    let small_queues = SmallQueues::Off;
    let config = Config { sack: false, small_queues, ..Config::default() };
    let directions =
        [Direction::limited(MS(5), Bitrate::from_mbps(50), 200), Direction::new(MS(5))];
    let (bps, path) = goodput(config, directions, 5, 15);
    expect(bps, 50e6 * 1448.0 / 1500.0, 0.03);
    assert!(path.ends[0].retransmissions() > 0);
}

#[test]
fn small_queues_bound_what_waits_and_not_the_rate() {
    let rate = Bitrate::from_mbps(50);
    for (rules, most) in [
        (SmallQueues::Fixed { limit: Bytes::new(128 << 10), overhead: Bytes::new(0) }, 89),
        (Config::default().small_queues, 8),
    ] {
        let config = Config { small_queues: rules, ..Config::default() };
        let directions = [Direction::limited(MS(5), rate, 10_000), Direction::new(MS(5))];
        let (bps, path) = goodput(config, directions, 2, 6);
        expect(bps, 50e6 * 1448.0 / 1500.0, 0.01);
        let queued = path.ends[0].queued_bytes() / 1500;
        assert!(queued <= most, "{queued} packets wait with {rules:?}");
        assert_eq!(path.ends[0].retransmissions(), 0);
    }
}

#[test]
fn without_small_queues_the_window_fills_any_queue() {
    let config = Config { small_queues: SmallQueues::Off, ..Config::default() };
    let directions =
        [Direction::limited(MS(5), Bitrate::from_mbps(50), 500), Direction::new(MS(5))];
    let (bps, path) = goodput(config, directions, 5, 20);
    expect(bps, 50e6 * 1448.0 / 1500.0, 0.01);
    assert!(path.directions[0].dropped > 0);
    assert!(path.ends[0].retransmissions() > 0);
}

#[test]
fn only_what_was_lost_is_sent_again() {
    // Only a loss ends slow start: half of a window is lost at once.
    let config = Config {
        congestion_control: CongestionControlKind::Cubic { hystart: HyStart::Off },
        small_queues: SmallQueues::Off,
        ..Config::default()
    };
    let directions =
        [Direction::limited(MS(5), Bitrate::from_mbps(50), 300), Direction::new(MS(5))];
    let (bps, path) = goodput(config, directions, 1, 3);
    expect(bps, 50e6 * 1448.0 / 1500.0, 0.01);
    assert!(path.directions[0].dropped > 100, "{}", path.directions[0].dropped);
    assert_eq!(path.ends[0].retransmissions(), path.directions[0].dropped);
}

#[test]
fn a_paced_sender_keeps_its_rate() {
    let pacing = Pacing::Fixed(Bitrate::from_mbps(8));
    let config = Config { pacing, ..Config::default() };
    let (bps, _) = goodput(config, [Direction::new(MS(10)), Direction::new(MS(10))], 1, 5);
    expect(bps, 8e6, 0.01);
}

#[test]
fn a_queue_that_refuses_costs_no_retransmission() {
    let config =
        Config { local_congestion: true, small_queues: SmallQueues::Off, ..Config::default() };
    let mut direction = Direction::limited(MS(5), Bitrate::from_mbps(50), 100);
    direction.refuses = true;
    let (bps, path) = goodput(config, [direction, Direction::new(MS(5))], 2, 10);
    expect(bps, 50e6 * 1448.0 / 1500.0, 0.01);
    assert!(path.directions[0].dropped > 0, "it was refused");
    assert_eq!(path.ends[0].retransmissions(), 0);
}

#[test]
fn segments_follow_the_path() {
    let directions =
        [Direction::limited(MS(5), Bitrate::from_mbps(50), 200), Direction::new(MS(5))];
    let mut path = Path::new(Config::default(), directions);
    path.logs = false;
    path.start(Endpoint::BULK);
    for segment_bytes in [1448u16, 3948, 500] {
        path.ends[0].set_segment_bytes(segment_bytes);
        path.run(Duration::from_secs(2));
        let before = path.ends[1].received_bytes();
        path.run(Duration::from_secs(4));
        let bits = (path.ends[1].received_bytes() - before) * 8;
        path.ends[0].check();
        let bytes = f64::from(segment_bytes);
        expect(bits as f64 / 4.0, 50e6 * bytes / (bytes + 52.0), 0.01);
    }
    assert_eq!(path.ends[0].timeouts(), 0);
}

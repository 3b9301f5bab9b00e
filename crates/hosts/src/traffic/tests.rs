//! Tests of sources against the closed forms of their rates and variances.

use super::*;
use alloc::vec;
use alloc::vec::Vec;
use lasthop_units::Seed;

fn at(nanos: u64) -> Instant {
    Instant::from_nanos(nanos)
}

fn source(config: &SourceConfig, stop: Duration) -> Source {
    Source::new(config, Instant::ZERO, Instant::ZERO + stop, Seed::new(5, 0).stream("source"))
}

/// All packets that a source sends, polled when they are due.
fn departures(config: &SourceConfig, stop: Duration) -> Vec<Departure> {
    let mut source = source(config, stop);
    let mut all = vec![];
    while let Some(next) = source.next_departure() {
        let early = at(next.as_nanos().saturating_sub(1));
        if early < next {
            assert_eq!(source.poll_packet(early), None);
        }
        all.push(source.poll_packet(next).expect("due"));
    }
    all
}

fn total_bytes(departures: &[Departure]) -> f64 {
    departures.iter().map(|d| f64::from(d.bytes)).sum()
}

/// 3 Mb/s in packets of 1 000 bytes is one packet per 2 666 666.67 ns.
#[test]
fn a_constant_rate_does_not_drift() {
    let config = SourceConfig::Cbr { rate: Bitrate::from_mbps(3), bytes: 1000 };
    let all = departures(&config, Duration::from_secs(1000));
    assert_eq!(
        all[..4].iter().map(|d| d.at.as_nanos()).collect::<Vec<_>>(),
        [0, 2_666_667, 5_333_334, 8_000_000]
    );
    assert_eq!(all.len(), 375_000);
    assert_eq!(all[374_997].at, at(999_992_000_000));
}

/// A late driver gets the packets that it missed, with the instants at which they were
/// due.
#[test]
fn a_late_driver_gets_the_exact_instants() {
    let config = SourceConfig::Ping { interval: Duration::from_millis(10), bytes: 84 };
    let mut source = Source::new(&config, at(5), at(40_000_000), Seed::new(1, 0).stream("ping"));
    assert_eq!(source.poll_packet(at(4)), None);
    let late: Vec<_> = core::iter::from_fn(|| source.poll_packet(at(100_000_000))).collect();
    let expected = [5, 10_000_005, 20_000_005, 30_000_005];
    assert_eq!(late, expected.map(|ns| Departure { at: at(ns), bytes: 84 }));
    assert_eq!(source.next_departure(), None);
}

/// The numbers of packets of a Poisson process in windows have a variance equal to
/// their mean.
#[test]
fn poisson_counts_have_equal_mean_and_variance() {
    let config = SourceConfig::Poisson { rate: Bitrate::from_mbps(8), bytes: 1000 };
    let windows = 10_000;
    let mut counts = vec![0.0; windows];
    for departure in departures(&config, Duration::from_secs(100)) {
        counts[(departure.at.as_nanos() / 10_000_000) as usize] += 1.0;
    }
    let mean = counts.iter().sum::<f64>() / windows as f64;
    let variance = counts.iter().map(|n| (n - mean) * (n - mean)).sum::<f64>() / windows as f64;
    // 10 packets a window; four standard deviations of the mean and of the variance.
    assert!((mean - 10.0).abs() < 4.0 * libm::sqrt(10.0 / windows as f64), "{mean}");
    assert!((variance / mean - 1.0).abs() < 4.0 * libm::sqrt(2.0 / windows as f64), "{variance}");
}

/// Bursts have all their packets at one instant, the rate that they are to have, and instants
/// of a Poisson process: the same as those of single packets as long as a burst.
#[test]
fn bursts_are_a_poisson_process_of_several_packets() {
    let rate = Bitrate::from_mbps(8);
    let all = departures(&SourceConfig::Bursts { rate, bytes: 100, packets: 7 }, {
        Duration::from_secs(10)
    });
    let single = departures(&SourceConfig::Poisson { rate, bytes: 700 }, Duration::from_secs(10));
    assert!(all.iter().all(|departure| departure.bytes == 100));
    assert_eq!(all.len(), 7 * single.len());
    for (burst, whole) in all.chunks(7).zip(&single) {
        assert!(burst.iter().all(|departure| departure.at == whole.at));
    }
}

/// 12 Mb/s for 30 ms of every 100 ms is 3.6 Mb/s, and nothing leaves while off.
#[test]
fn fixed_periods_give_the_duty_cycle() {
    let config = SourceConfig::OnOff {
        rate: Bitrate::from_mbps(12),
        bytes: 1500,
        on: Period::Fixed(Duration::from_millis(30)),
        off: Period::Fixed(Duration::from_millis(70)),
    };
    let all = departures(&config, Duration::from_secs(100));
    assert!((total_bytes(&all) * 8.0 / 100.0 / 3.6e6 - 1.0).abs() < 1e-4);
    assert!(all.iter().all(|d| d.at.as_nanos() % 100_000_000 < 30_000_000));
}

/// On-periods that are shorter than the spacing of packets add up.
#[test]
fn short_periods_keep_the_rate() {
    let config = SourceConfig::OnOff {
        rate: Bitrate::from_mbps(12),
        bytes: 1500,
        on: Period::Fixed(Duration::from_micros(300)),
        off: Period::Fixed(Duration::from_micros(900)),
    };
    let all = departures(&config, Duration::from_secs(10));
    assert!((total_bytes(&all) * 8.0 / 10.0 / 3e6 - 1.0).abs() < 1e-3);
}

#[test]
fn exponential_periods_give_the_duty_cycle() {
    let config = SourceConfig::OnOff {
        rate: Bitrate::from_mbps(12),
        bytes: 1500,
        on: Period::Exponential(Duration::from_millis(20)),
        off: Period::Exponential(Duration::from_millis(60)),
    };
    let all = departures(&config, Duration::from_secs(2000));
    // 25 000 cycles of 80 ms; the share of on-time deviates by
    // sqrt(2) * on * off / (on + off)^2 / sqrt(cycles) = 0.17 %.
    let share = total_bytes(&all) * 8.0 / 2000.0 / 12e6;
    assert!((share - 0.25).abs() < 4.0 * 0.0017, "{share}");
}

#[test]
fn a_saturated_source_has_no_schedule() {
    let mut source = Source::new(
        &SourceConfig::Saturated { bytes: 1500 },
        at(10),
        at(20),
        Seed::new(1, 0).stream("full"),
    );
    assert_eq!(source.next_departure(), None);
    assert_eq!(source.poll_packet(at(15)), None);
    assert_eq!(
        [9, 10, 19, 20].map(|ns| source.refill(at(ns))),
        [None, Some(1500), Some(1500), None]
    );
}

fn video(sizes: Sizes, key_frames: Option<KeyFrames>) -> SourceConfig {
    SourceConfig::Video { frames_per_s: 29.97, sizes, key_frames, packet_bytes_max: 1228 }
}

/// A frame of 3 000 bytes is sent as 1 200 + 1 200 + 600 bytes of payload at once.
#[test]
fn frames_are_cut_into_packets() {
    let all = departures(&video(Sizes::Constant(3000), None), Duration::from_secs(1001));
    assert_eq!(all[..4].iter().map(|d| d.bytes).collect::<Vec<_>>(), [1228, 1228, 628, 1228]);
    assert_eq!(all[..4].iter().map(|d| d.at.as_nanos()).collect::<Vec<_>>(), [0, 0, 0, 33_366_700]);
    // 29.97 frames per second are 30 000 frames in 1 001 s.
    assert_eq!(all.len(), 3 * 30_000);
}

#[test]
fn frame_sizes_have_their_mean() {
    let frames = 30_000.0;
    let payload = |sizes, key_frames| {
        let all = departures(&video(sizes, key_frames), Duration::from_secs(1001));
        (total_bytes(&all) - all.len() as f64 * f64::from(UDP_OVERHEAD_BYTES)) / frames
    };
    let close = |mean: f64, expected: f64, deviation: f64| {
        assert!((mean - expected).abs() < 4.0 * deviation / libm::sqrt(frames) + 0.5, "{mean}");
    };
    let key = Some(KeyFrames { interval_frames: 30, factor: 8.0 });
    close(payload(Sizes::Constant(20_000), key), 20_000.0, 0.0);
    close(payload(Sizes::Normal { mean: 20_000.0, sd: 4000.0 }, None), 20_000.0, 4000.0);
    close(payload(Sizes::LogNormal { mean: 20_000.0, sd: 15_000.0 }, None), 20_000.0, 15_000.0);
    close(payload(Sizes::Trace([1000, 2000, 6000].into()), None), 3000.0, 0.0);
}

/// Deviation and skewness of sizes: a normal distribution has none of the latter, a
/// log-normal one with a coefficient of variation `c` has `3 c + c^3`.
#[test]
fn frame_sizes_have_their_distribution() {
    let (mean, sd) = (20_000.0, 4_000.0);
    for (sizes, skewness) in
        [(Sizes::Normal { mean, sd }, 0.0), (Sizes::LogNormal { mean, sd }, 0.608)]
    {
        // Every frame is a packet.
        let config = SourceConfig::Video {
            frames_per_s: 30.0,
            sizes,
            key_frames: None,
            packet_bytes_max: u16::MAX,
        };
        let all = departures(&config, Duration::from_secs(1_000));
        assert_eq!(all.len(), 30_000);
        let moment = |power| {
            let away = |d: &Departure| (f64::from(d.bytes - UDP_OVERHEAD_BYTES) - mean) / sd;
            all.iter().map(|d| libm::pow(away(d), power)).sum::<f64>() / all.len() as f64
        };
        // Four standard deviations: of a variance sqrt((kurtosis - 1) / n), and of a third
        // moment sqrt(sixth moment / n), where the sixth moment is below 40.
        assert!((moment(2.0) - 1.0).abs() < 4.0 * libm::sqrt(2.7 / 3e4), "{}", moment(2.0));
        assert!((moment(3.0) - skewness).abs() < 4.0 * libm::sqrt(40.0 / 3e4), "{}", moment(3.0));
    }
}

/// One frame of 30 has eight times the size of each other one.
#[test]
fn key_frames_are_larger() {
    let key = KeyFrames { interval_frames: 30, factor: 8.0 };
    let all = departures(&video(Sizes::Constant(10_000), Some(key)), Duration::from_secs(2));
    let of_frame = |n: u64| {
        let at = all.iter().map(|d| d.at).filter(|at| at.as_nanos() > n * 33_366_000).min();
        let frame: Vec<_> = all.iter().filter(|d| Some(d.at) == at).collect();
        frame.iter().map(|d| f64::from(d.bytes - UDP_OVERHEAD_BYTES)).sum::<f64>()
    };
    assert!((of_frame(30) / of_frame(31) - 8.0).abs() < 0.01);
    assert_eq!(of_frame(31), of_frame(32));
}

//! The rule against its published map, and a player on a line of constant rate against closed forms.

use super::*;
use alloc::vec;

const SEGMENT: Duration = Duration::from_secs(4);

/// A film of 1, 2, 4 and 8 Mb/s.
fn film() -> StreamConfig {
    let ladder = [1, 2, 4, 8].map(Bitrate::from_mbps).to_vec();
    StreamConfig { ladder, segment: SEGMENT, buffer: Duration::from_secs(240) }
}

/// Algorithm 1 with its reservoir of 90 s and its cushion of 126 s: the line from 1 Mb/s at 90 s to
/// 8 Mb/s at 216 s passes 2 Mb/s at 108 s and 4 Mb/s at 144 s. Each row has a buffer in seconds, and
/// the next place after each of the four.
#[test]
fn the_rule_is_the_published_one() {
    let rows = [
        (0, [0, 0, 0, 0]),
        (90, [0, 0, 0, 0]),
        // Between 1 and 2 Mb/s: kept at both, and reduced to the lowest above the line.
        (107, [0, 1, 1, 1]),
        // Between 2 and 4 Mb/s: the highest below the line is 2 Mb/s, the lowest above it 4 Mb/s.
        (109, [1, 1, 2, 2]),
        (143, [1, 1, 2, 2]),
        (145, [2, 2, 2, 3]),
        (215, [2, 2, 2, 3]),
        (216, [3, 3, 3, 3]),
        (240, [3, 3, 3, 3]),
    ];
    for (seconds, next) in rows {
        let own = [0, 1, 2, 3].map(|last| film().next_rung(last, Duration::from_secs(seconds)));
        assert_eq!(own, next, "{seconds} s");
    }
    // One bitrate is kept always.
    let one = StreamConfig { ladder: vec![Bitrate::from_mbps(3)], ..film() };
    assert!((0..=240).all(|s| one.next_rung(0, Duration::from_secs(s)) == 0));
}

/// Returns the events of a player of `film` on a line of `bps`, until `seconds`, and the instants of
/// requests and arrivals.
fn watch(film: StreamConfig, bps: u64, seconds: u64) -> (Vec<StreamEvent>, Vec<[Instant; 2]>) {
    let mut player = Player::new(film, Instant::ZERO);
    let (mut events, mut fetched) = (Vec::new(), Vec::new());
    let mut now = Instant::ZERO;
    while now < Instant::ZERO + Duration::from_secs(seconds) {
        player.handle_timeout(now);
        now = match player.poll_request() {
            Some(bytes) => {
                let arrival = now + bytes / Bitrate::from_bps(bps);
                fetched.push([now, arrival]);
                player.handle_segment(arrival);
                arrival
            }
            None => player.poll_timeout().expect("the buffer is full"),
        };
        events.extend(core::iter::from_fn(|| player.poll_event()));
    }
    (events, fetched)
}

/// Bitrates of the segments in Mb/s.
fn bitrates(events: &[StreamEvent]) -> Vec<u64> {
    let of = |event: &StreamEvent| match event {
        StreamEvent::Segment { bitrate, .. } => Some(bitrate.as_bps() / 1_000_000),
        _ => None,
    };
    events.iter().filter_map(of).collect()
}

/// A line below the lowest bitrate stalls before each segment but the first, by what its transfer
/// takes longer than 4 s; any other line never does.
#[test]
fn stalls_come_exactly_below_the_lowest_bitrate() {
    for (bps, is_stalled) in
        [(1_000_000, false), (1_000_100, false), (999_900, true), (800_000, true)]
    {
        let (events, fetched) = watch(film(), bps, 2_000);
        let seconds = 4e6 / bps as f64;
        let Some(StreamEvent::Began(delay)) = events.first() else { panic!("{events:?}") };
        assert!((delay.as_secs_f64() - seconds).abs() < 1e-6);
        let stalls = events.iter().filter_map(|event| match event {
            StreamEvent::Stalled(since) => Some(*since),
            _ => None,
        });
        let stalls: Vec<Instant> = stalls.collect();
        assert_eq!(stalls.len(), if is_stalled { fetched.len() - 1 } else { 0 }, "{bps}");
        for (since, [_, until]) in stalls.iter().zip(&fetched[1..]) {
            let stall = (*until - *since).as_secs_f64();
            assert!((stall - (seconds - 4.0)).abs() < 1e-6, "{bps}: {stall}");
        }
    }
}

/// A line between two bitrates of the film: the buffer settles in the cushion, the player changes
/// between these two, and their mean is the rate of the line. A change of the whole buffer is 2 % of
/// the time.
#[test]
fn the_mean_bitrate_is_the_rate_of_the_line() {
    for (mbps, between) in [(1.5, [1, 2]), (3.0, [2, 4]), (5.0, [4, 8])] {
        let (events, _) = watch(film(), (mbps * 1e6) as u64, 20_000);
        let all = bitrates(&events);
        let last = &all[all.len() / 2..];
        assert!(last.iter().all(|rate| between.contains(rate)), "{mbps}: {last:?}");
        let mean = last.iter().sum::<u64>() as f64 / last.len() as f64;
        assert!((mean / mbps - 1.0).abs() < 0.02, "{mbps}: {mean}");
        assert!(!events.iter().any(|event| matches!(event, StreamEvent::Stalled(_))));
    }
}

/// A line above the highest bitrate: the player reaches it, the buffer is full, and a segment is
/// fetched for each that was played.
#[test]
fn a_wide_line_fills_the_buffer() {
    let (events, fetched) = watch(film(), 100_000_000, 1_000);
    let rates = bitrates(&events);
    assert!(rates.is_sorted() && rates[rates.len() - 100..] == [8; 100]);
    let last = &fetched[fetched.len() - 100..];
    assert!(last.windows(2).all(|pair| pair[1][0] - pair[0][0] == SEGMENT));
    // 240 s fill the buffer, and 4 s follow each segment that is played.
    assert!((fetched.len() as u64).abs_diff(60 + 250) <= 2, "{}", fetched.len());
    let is_switch =
        |event: &&StreamEvent| matches!(event, StreamEvent::Segment { is_switch: true, .. });
    let changes = rates.windows(2).filter(|pair| pair[0] != pair[1]).count();
    assert_eq!(events.iter().filter(is_switch).count(), changes);
}

//! Feeds any segments, writes and pauses to a TCP endpoint. No panic, the received stream only
//! grows, and the endpoint always comes to rest.

#![no_main]

use lasthop_tcp::{
    Config, CongestionControlKind, Endpoint, HyStart, Pacing, SackBlock, Segment, SmallQueues,
};
use lasthop_units::{Bitrate, Bytes, Duration, Instant, Machine};
use libfuzzer_sys::fuzz_target;

/// Segments that one event lets leave, at most.
const BURST_MAX: usize = 100_000;

fuzz_target!(|bytes: &[u8]| {
    let [setting, bytes @ ..] = bytes else {
        return;
    };
    let bit = |bit: u8| setting >> bit & 1 == 1;
    let config = Config {
        sack: bit(0),
        ecn: bit(1),
        accurate_ecn: bit(7),
        congestion_control: match [bit(7), bit(5)] {
            [true, true] => CongestionControlKind::Prague,
            [true, false] => CongestionControlKind::Bbr3,
            [false, _] => CongestionControlKind::Cubic { hystart: HyStart::Linux },
        },
        local_congestion: bit(2),
        pacing: if bit(3) { Pacing::Fixed(Bitrate::from_mbps(10)) } else { Pacing::Off },
        small_queues: match bit(4) {
            true => SmallQueues::Fixed { limit: Bytes::new(4_000), overhead: Bytes::new(100) },
            false => SmallQueues::Off,
        },
        receive_window: Bytes::new(if bit(5) { 3_000 } else { 1 << 20 }),
        ..Config::default()
    };
    let mut endpoint = Endpoint::new(&config);
    let mut now = Instant::ZERO;
    if bit(6) {
        endpoint.connect(now);
    }
    let mut received = 0;
    for step in bytes.chunks_exact(12) {
        now += Duration::from_micros(u64::from(step[0]) * u64::from(step[0]) * 50);
        endpoint.handle_timeout(now);
        // Half segments, so that bounds meet and are missed.
        let position = |index: usize| 1 + u64::from(step[index]) * 724;
        match step[1] % 8 {
            0 => endpoint.write(now, position(2)),
            1 if step[2] > 200 => endpoint.finish(now),
            1 | 2 => endpoint.handle_released(now, 1, 1_500),
            _ => {
                let segment = Segment {
                    sequence: position(2),
                    payload_bytes: u32::from(step[3] % 3) * 724,
                    syn: step[4] & 7 == 7,
                    fin: step[4] >> 3 & 31 == 31,
                    acknowledgement: (step[5] != 255)
                        .then(|| position(5) - u64::from(step[5] == 0)),
                    window_bytes: u32::from(step[6]) << 12,
                    sent: now.saturating_sub(Duration::from_millis(u64::from(step[7]))),
                    echoed: (step[8] != 0)
                        .then(|| now.saturating_sub(Duration::from_millis(u64::from(step[8])))),
                    sack: [
                        SackBlock { start: position(8), end: position(9) },
                        SackBlock { start: position(9), end: position(10) },
                        SackBlock { start: position(7), end: position(11) },
                    ],
                    sack_blocks: step[3] >> 6,
                    ecn_echo: step[3] & 32 != 0,
                    window_reduced: step[3] & 16 != 0,
                    accurate_ecn: step[3] & 64 != 0,
                    ecn_capable: step[3] & 4 != 0,
                    ecn_l4s: step[3] & 128 != 0,
                };
                endpoint.handle_segment(now, &segment, step[3] & 8 != 0);
            }
        }
        let mut sent = 0;
        while let Some(segment) = endpoint.poll_transmit(now) {
            assert!(segment.sack().iter().all(|block| block.start < block.end));
            if config.local_congestion && step[11] == sent as u8 {
                endpoint.handle_refused(now, &segment);
            }
            sent += 1;
            assert!(sent < BURST_MAX, "it sends without end");
        }
        assert!(endpoint.received_bytes() >= received, "what was read cannot be taken back");
        received = endpoint.received_bytes();
        assert!(endpoint.cwnd_packets() > 0);
    }
});

//! A capture that is looked at while it is read: readings of the view are finite numbers, and
//! shares are shares, whatever has come so far and however long it took. The input is the packets
//! from one reading to the next (8 bits), the time between them (32 bits of ms), then a file.
#![no_main]

use lasthop_capture::analysis::Analysis;
use lasthop_capture::file::Capture;
use lasthop_capture::live::{Meter, Traffic};
use lasthop_units::Duration;
use libfuzzer_sys::fuzz_target;
use std::io::Cursor;

fuzz_target!(|input: &[u8]| {
    let Some((head, file)) = input.split_at_checked(5) else { return };
    let every = u64::from(head[0]) + 1;
    let elapsed_ms = u32::from_le_bytes([head[1], head[2], head[3], head[4]]);
    let elapsed = Duration::from_millis(elapsed_ms.into());
    let Ok(mut capture) = Capture::open(Cursor::new(file.to_vec())) else { return };
    let (mut analysis, mut meter) = (Analysis::default(), Meter::default());
    while let Ok(Some(packet)) = capture.next_packet() {
        analysis.handle_packet(&packet);
        if !analysis.packets.is_multiple_of(every) {
            continue;
        }
        let reading = meter.read(&analysis, elapsed);
        for row in &reading.stations {
            check(&row.sent);
            check(&row.received);
        }
        let rates = reading.flows.iter().map(|flow| flow.throughput_mbps);
        for number in rates.chain([reading.frames_per_s]).chain(reading.busy) {
            assert!(number.is_finite() && number >= 0.0, "{number}");
        }
        assert!(reading.captured.is_none_or(|share| (0.0..=1.0).contains(&share)));
    }
});

fn check(it: &Traffic) {
    for number in [it.mpdus_per_s, it.airtime, it.airtime_mean, it.throughput_mbps] {
        assert!(number.is_finite() && number >= 0.0, "{number}");
    }
    for number in [it.rate_mbps, it.rate_mbps_mean, it.mpdus_per_ampdu].into_iter().flatten() {
        assert!(number.is_finite() && number >= 0.0, "{number}");
    }
    assert!(it.retries.is_none_or(|share| (0.0..=1.0).contains(&share)));
}

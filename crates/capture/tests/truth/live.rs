//! Readings and documents of a running analysis: they change nothing, and add up to the true
//! events.

use crate::scene::{Scene, heard, watched};
use lasthop_capture::document::CaptureDocument;
use lasthop_capture::live::{Meter, Reading, State};
use lasthop_units::Duration;

fn scanning() -> Scene {
    let sets = ["duration=\"7s\"", "node.sta1.scan.start=\"3s\""];
    Scene::new("scan", "scan/fig3.toml", &sets)
}

/// A document, a reading and findings after every hundredth packet: the last document is the same,
/// byte by byte, as without them, and earlier documents count the packets up to then.
#[test]
fn snapshots_change_nothing() {
    for (scene, missing) in [
        (scanning(), 0.0),
        (Scene::new("retryout", "retryout/upload.toml", &["duration=\"3s\""]), 0.05),
    ] {
        let (mut meter, mut packets, mut snapshots) = (Meter::default(), 0, 0);
        let mut last: Option<CaptureDocument> = None;
        let analysis = watched(&scene, missing, &mut |analysis| {
            packets += 1;
            if packets % 100 != 0 {
                return;
            }
            snapshots += 1;
            let reading = meter.read(analysis, Duration::from_millis(10));
            assert_eq!(reading.frames, packets);
            // A document costs more than a reading: sequence numbers are gone through.
            if packets % 1_000 == 0 {
                let document = CaptureDocument::new("-", analysis);
                assert_eq!(document.frames, packets);
                let tcp = |document: &CaptureDocument| document.counts.tcp;
                assert!(last.as_ref().is_none_or(|last| tcp(last) <= tcp(&document)));
                last = Some(document);
            }
        });
        assert!(snapshots > 50, "{}: {snapshots}", scene.name);
        let tcp = last.map_or(0, |document| document.counts.tcp);
        let after = CaptureDocument::new("-", &analysis);
        assert!(tcp > 0 && tcp <= after.counts.tcp, "{tcp} of {}", after.counts.tcp);
        let expected = CaptureDocument::new("-", &heard(&scene, missing));
        assert_eq!(after.to_json(), expected.to_json(), "{}", scene.name);
    }
}

/// Parts of each station in readings per second add up to its traffic, and a station is away
/// exactly in readings during its absences.
#[test]
fn readings_add_up() {
    let scene = scanning();
    let mut meter = Meter::default();
    let mut readings: Vec<(u64, Reading)> = Vec::new();
    let mut next_ns = None;
    let step = Duration::from_millis(50);
    let mut analysis = watched(&scene, 0.0, &mut |analysis| {
        let (first, now) = analysis.times().unwrap();
        let next = next_ns.get_or_insert(first + step.as_nanos());
        if now >= *next {
            *next += step.as_nanos();
            readings.push((now, meter.read(analysis, step)));
        }
    });
    let (_, end) = analysis.times().unwrap();
    readings.push((end, meter.read(&analysis, step)));
    analysis.finish();
    for (address, truth) in &scene.truth.links {
        let (from, mut mpdus, mut retries) = (address.0, 0.0, 0.0);
        let (mut airtime_s, mut bits) = (0.0, 0.0);
        let mut before_ns = analysis.times().unwrap().0;
        for (at_ns, reading) in &readings {
            let seconds = ((at_ns - before_ns) as f64).max(step.as_nanos() as f64) / 1e9;
            before_ns = *at_ns;
            let Some(row) = reading.stations.iter().find(|row| row.address == from) else {
                continue;
            };
            let sent = &row.sent;
            mpdus += sent.mpdus_per_s * seconds;
            retries += sent.retries.unwrap_or_default() * sent.mpdus_per_s * seconds;
            airtime_s += sent.airtime * seconds;
            bits += sent.throughput_mbps * 1e6 * seconds;
        }
        // There is one link from each. The last PPDU had not ended at the last reading.
        assert!(truth.mpdus as f64 - mpdus < 65.0, "{mpdus} of {}", truth.mpdus);
        assert!((truth.retries as f64 - retries).abs() < 65.0, "{retries} of {}", truth.retries);
        let id = analysis.main.air.stations.find(from).unwrap();
        let heard = analysis.main.air.heard[id.index()].airtime.as_secs_f64();
        assert!((heard - airtime_s).abs() < 0.01 * heard + 0.001, "{airtime_s} of {heard} s");
        let link = analysis.main.air.links.values().find(|link| link.from == id).unwrap();
        let payload = 8.0 * link.counts.payload_bytes as f64;
        assert!((payload - bits).abs() < 0.01 * payload + 1e6, "{bits} of {payload} bits");
    }
    let mut seen = [0; 2];
    // The last absence lasts until the end of the run.
    let ends = |(from, to): &(u64, u64)| if from == to { u64::MAX } else { *to };
    let absences: Vec<_> = scene.truth.absences.iter().map(|a| (a.0, ends(a))).collect();
    for (at_ns, reading) in &readings {
        // The frames that announce it take a millisecond or two.
        let inside = |margin: u64| {
            absences.iter().any(|(from, to)| from + margin < *at_ns && *at_ns + margin < *to)
        };
        let outside = |margin: u64| {
            absences.iter().all(|(from, to)| *at_ns + margin < *from || *to < *at_ns - margin)
        };
        let away = reading.stations.iter().any(|row| matches!(row.state, Some(State::Away(_))));
        if inside(5_000_000) {
            assert!(away, "at {at_ns}");
            seen[0] += 1;
        } else if outside(5_000_000) {
            assert!(!away, "at {at_ns}");
            seen[1] += 1;
        }
    }
    assert!(seen[0] > 5 && seen[1] > 50, "{seen:?}");
}

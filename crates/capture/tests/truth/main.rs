//! What the analysis finds in captures of simulated runs, against what happened in them. The
//! monitor of a simulation hears everything; here it misses nothing, or 5 % or 20 % of the frames
//! at random.

mod interfaces;
mod joined;
mod scene;

use lasthop_capture::air::schedule::{Cause, Schedule};
use lasthop_capture::analysis::Analysis;
use lasthop_capture::document::CaptureDocument;
use lasthop_capture::finding::Kind;
use scene::{Scene, heard};

/// Scenes of about a hundred thousand frames: absences, fading, collisions, retransmissions.
fn scenes() -> Vec<Scene> {
    vec![
        scanning(),
        Scene::new("fading", "fading.toml", &["duration=\"4s\""]),
        Scene::new("contention", "contention.toml", &["duration=\"3s\""]),
        Scene::new("retryout", "retryout/upload.toml", &["duration=\"4s\""]),
        Scene::new(
            "single frames",
            "hello.toml",
            &["duration=\"3s\"", "node.laptop.aggregation={ampdu_bytes_max=0}"],
        ),
    ]
}

/// Figure 3 of the `scan` paper, with its first degraded period after 3 s.
fn scanning() -> Scene {
    let sets = ["duration=\"16s\"", "node.sta1.scan.start=\"3s\""];
    Scene::new("scan", "scan/fig3.toml", &sets)
}

/// How far a number may be off, as a share: of all, of a monitor that misses 5 %.
const CLOSE: f64 = 0.02;

/// Every PPDU, MPDU and retry of a complete capture is there. Of one with gaps sizes of A-MPDUs
/// and retries are estimated from what answers prove.
#[test]
fn links_are_what_they_were() {
    for scene in scenes() {
        for missing in [0.0, 0.05] {
            let analysis = heard(&scene, missing);
            let air = &analysis.air;
            for ((from, to), truth) in &scene.truth.links {
                // Shares of few frames are chance.
                if truth.mpdus < 1_000 {
                    continue;
                }
                let ids = [from, to].map(|address| air.stations.find(*address).unwrap());
                let link = &air.links[&(ids[0], ids[1])];
                let place = format!("{} {from} -> {to}, {missing} missing", scene.name);
                if missing == 0.0 {
                    let counts = &link.counts;
                    let found = (counts.ppdus, counts.ampdus, counts.mpdus, counts.retries);
                    let true_counts = (truth.ppdus, truth.ampdus.1, truth.mpdus, truth.retries);
                    assert_eq!(found, true_counts, "{place}");
                    assert_eq!((counts.missed, counts.captured_share()), (0, 1.0), "{place}");
                    continue;
                }
                let close = |what: &str, found: f64, true_value: f64, noise: f64| {
                    // What chance alone makes of how many are missed: three standard deviations.
                    let bound = CLOSE * true_value + 3.0 * noise;
                    let off = (found - true_value).abs();
                    assert!(off <= bound, "{place}: {what} {found} where {true_value} is true");
                };
                let deviation = |count: u64| (count as f64 * missing * (1.0 - missing)).sqrt();
                if truth.ampdus.1 >= 500 {
                    let size = truth.ampdus.0 as f64 / truth.ampdus.1 as f64;
                    let found = link.counts.mpdus_per_ampdu().unwrap();
                    close("MPDUs in an A-MPDU", found, size, 0.0);
                }
                let retries = link.counts.retries_estimated();
                close("retries", retries, truth.retries as f64, deviation(truth.retries));
                let mpdus = link.counts.mpdus_estimated();
                close("MPDUs", mpdus, truth.mpdus as f64, deviation(truth.mpdus));
            }
        }
    }
}

/// The 26 absences of a degraded period, each within a millisecond, and the schedule behind them
/// also when a fifth of the frames is missing.
#[test]
fn absences_are_where_they_were() {
    let scene = scanning();
    assert_eq!(scene.truth.absences.len(), 26);
    for missing in [0.0, 0.05, 0.2] {
        let analysis = heard(&scene, missing);
        let (_, absences) = analysis.air.absences.first_key_value().unwrap();
        let found = absences.so_far();
        let schedule = Schedule::of(found).unwrap();
        assert_eq!(schedule.cause, Cause::Scan);
        assert_eq!(schedule.periods.len(), 1);
        assert_eq!(schedule.absences, 26, "{missing} missing");
        let near = |ns: u64, ms: u64| ns.abs_diff(ms * 1_000_000) < 2_000_000;
        assert!(near(schedule.asleep_ns, 110), "{} ns asleep", schedule.asleep_ns);
        assert!(near(schedule.awake_ns.unwrap(), 321), "{:?} ns awake", schedule.awake_ns);
        let mut off = 0;
        for (from, to) in &scene.truth.absences {
            let nearest = found.iter().min_by_key(|absence| absence.from_ns.abs_diff(*from));
            let nearest = nearest.unwrap();
            let leave = nearest.leave.as_ref().map_or(nearest.from_ns, |leave| leave.to_ns);
            let back = nearest.back.as_ref().map_or(nearest.to_ns, |back| back.from_ns);
            off += usize::from(leave.abs_diff(*from) > 1_000_000);
            off += usize::from(back.abs_diff(*to) > 1_000_000);
        }
        // Of 52 ends; where the first frames of a notice are missed, the end is where the first is
        // that was heard.
        let allowed = if missing > 0.1 { 5 } else { 0 };
        assert!(off <= allowed, "{off} of 52 ends are off by more than 1 ms, {missing} missing");
    }
}

/// The worst finding of each scene is what is wrong with it, and no other cause is named.
#[test]
fn findings_name_the_cause() {
    let worst = |analysis: &Analysis| {
        CaptureDocument::new("air.pcapng", analysis).findings.first().map(|finding| finding.kind)
    };
    for (scene, kind) in [
        (scanning(), Some(Kind::Scan)),
        (Scene::new("hidden", "hidden.toml", &["duration=\"4s\""]), Some(Kind::HiddenStation)),
        (Scene::new("crowd", "contention.toml", &["duration=\"3s\""]), Some(Kind::Collisions)),
        (Scene::new("doze", "doze.toml", &[]), Some(Kind::PowerSave)),
        (Scene::new("fine", "hello.toml", &["duration=\"2s\""]), None),
    ] {
        assert_eq!(worst(&heard(&scene, 0.0)), kind, "{}", scene.name);
    }
}

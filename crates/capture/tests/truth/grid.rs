//! Links in many kinds of scenes and monitors, compared with the true traffic.

use crate::monitor::{Monitor, Reference};
use crate::scene::{LinkTruth, Scene};
use lasthop_capture::air::exchange::Link;

/// Scenes of some ten thousand frames: absences, fading, collisions, hidden stations,
/// retransmissions of TCP, access categories, power save, single frames, long packets.
fn scenes() -> Vec<Scene> {
    let mut scenes = few_scenes();
    let scan = ["duration=\"16s\"", "node.sta1.scan.start=\"3s\""];
    scenes.extend([
        Scene::new("scan, receiver", "scan/fig7.toml", &scan),
        Scene::new("scan, both", "scan/fig9.toml", &scan),
        Scene::new("scan, default", "scan.toml", &["duration=\"16s\""]),
        Scene::new("categories", "edca.toml", &["duration=\"4s\""]),
        Scene::new("video", "video.toml", &["duration=\"8s\""]),
        Scene::new("jumbo", "jumbo/fig5.toml", &["duration=\"4s\""]),
        Scene::new("demo", "demo.toml", &["duration=\"8s\""]),
        Scene::new("doze", "doze.toml", &[]),
        Scene::new("coded", "franc/tcp.toml", &["duration=\"4s\""]),
    ]);
    scenes
}

/// Scenes for tests of every change.
fn few_scenes() -> Vec<Scene> {
    let scan = ["duration=\"8s\"", "node.sta1.scan.start=\"3s\""];
    let single = ["duration=\"2s\"", "node.laptop.aggregation={ampdu_bytes_max=0}"];
    vec![
        Scene::new("scan", "scan/fig3.toml", &scan),
        Scene::new("fading", "fading.toml", &["duration=\"4s\""]),
        Scene::new("contention", "contention.toml", &["duration=\"3s\""]),
        Scene::new("hidden", "hidden.toml", &["duration=\"4s\""]),
        Scene::new("retryout", "retryout/upload.toml", &["duration=\"4s\""]),
        Scene::new("single frames", "hello.toml", &single),
    ]
}

/// Monitors without misses, and drivers with more or less metadata.
fn complete() -> Vec<(&'static str, Monitor)> {
    let whole = Monitor::WHOLE;
    let late = Monitor { tsft: false, late_us: 200, ..whole };
    vec![
        ("whole", whole),
        ("last unknown", Monitor { reference: Reference::WithoutLast, ..whole }),
        ("reference 0", Monitor { reference: Reference::Zero, ..whole }),
        ("no reference", Monitor { reference: Reference::Absent, ..whole }),
        ("no clock", Monitor { tsft: false, ..whole }),
        ("late", late),
        ("late, reference 0", Monitor { reference: Reference::Zero, ..late }),
        ("late, no reference", Monitor { reference: Reference::Absent, ..late }),
    ]
}

/// Every link with traffic of a scene, and what a monitor makes of it.
fn each_link(scene: &Scene, monitor: &Monitor, check: &mut dyn FnMut(&str, &Link, &LinkTruth)) {
    let analysis = monitor.hear(scene);
    let air = &analysis.main.air;
    for ((from, to), truth) in &scene.truth.links {
        // Shares of few frames are chance.
        if truth.mpdus < 1_000 {
            continue;
        }
        let [from_id, to_id] =
            [from, to].map(|address| air.stations.find(*address).expect("it was heard"));
        check(&format!("{from} -> {to}"), &air.links[&(from_id, to_id)], truth);
    }
}

/// Every PPDU, MPDU and retry of a complete capture is there, whatever the driver leaves out.
fn assert_exact(scenes: &[Scene]) {
    for scene in scenes {
        for (name, monitor) in complete() {
            each_link(scene, &monitor, &mut |place, link, truth| {
                let counts = &link.counts;
                let found = (counts.ppdus, counts.ampdus, counts.mpdus, counts.retries);
                let sent = (truth.ppdus, truth.ampdus.1, truth.mpdus, truth.retries);
                assert_eq!(found, sent, "{}, {name}: {place}", scene.name);
                assert_eq!((counts.missed, counts.captured_share()), (0, 1.0));
            });
        }
    }
}

/// Largest error of a number, as a share, for a monitor that misses 5 %.
const CLOSE: f64 = 0.02;

/// For a capture with gaps, sizes of A-MPDUs and numbers of retries and MPDUs are estimated from
/// answers and sequence numbers.
fn assert_close(scenes: &[Scene], seed: u64) {
    let missing = 0.05;
    let monitors = complete().into_iter().map(|(name, m)| (name, Monitor { missing, seed, ..m }));
    for (name, monitor) in monitors {
        for scene in scenes {
            each_link(scene, &monitor, &mut |place, link, truth| {
                let counts = &link.counts;
                let close = |what: &str, found: f64, sent: f64, noise: f64| {
                    // What chance alone makes of how many are missed: three standard deviations.
                    let bound = CLOSE * sent + 3.0 * noise;
                    let off = (found - sent).abs();
                    let scene = &scene.name;
                    assert!(off <= bound, "{scene}, {name}: {place}: {what} {found}, sent {sent}");
                };
                let deviation = |count: u64| (count as f64 * missing * (1.0 - missing)).sqrt();
                if truth.ampdus.1 >= 500 {
                    let size = truth.ampdus.0 as f64 / truth.ampdus.1 as f64;
                    close(
                        "MPDUs in an A-MPDU",
                        counts.mpdus_per_ampdu().expect("there are"),
                        size,
                        0.0,
                    );
                }
                let retries = counts.retries_estimated();
                close("retries", retries, truth.retries as f64, deviation(truth.retries));
                let mpdus = counts.mpdus_estimated();
                close("MPDUs", mpdus, truth.mpdus as f64, deviation(truth.mpdus));
            });
        }
    }
}

#[test]
fn links_are_what_they_were() {
    let scenes = few_scenes();
    assert_exact(&scenes);
    assert_close(&scenes, 1);
}

#[test]
#[ignore = "a campaign"]
fn links_are_what_they_were_in_all_scenes() {
    let scenes = scenes();
    assert_exact(&scenes);
    for seed in 1..=8 {
        assert_close(&scenes, seed);
    }
}

//! Captures of runs of 802.11be, with one link and with devices of several: every MPDU has the length
//! that the run had on the air, beacons and initial control frames included, and the analysis finds
//! the access point's device and the traffic of each link.

use crate::scene::Scene;
use lasthop_capture::analysis::Analysis;
use lasthop_capture::document::CaptureDocument;
use lasthop_capture::file::Capture;
use lasthop_capture::finding::Kind;
use std::io::Cursor;

/// Scenes of half a second: each band, widths of 20 to 320 MHz, each kind of device.
fn scenes() -> Vec<Scene> {
    let two = |name: &str, sets: &[&str]| {
        let usual = ["duration=\"0.5s\"", "flow.download.start=\"0s\""];
        Scene::new(name, "wifi7/two-links.toml", &[&usual[..], sets].concat())
    };
    let emlsr = "node.laptop.multi_link=\"emlsr\"";
    vec![
        two("str", &[]),
        two("nstr", &["node.laptop.multi_link=\"nstr\""]),
        two("emlsr", &[emlsr, "node.laptop.emlsr.padding=\"64us\""]),
        two("emlsr, 320 MHz", &[emlsr, "channel.link.0.width=\"320MHz\""]),
        two("2.4 and 6 GHz", &["channel.link.0.band=\"2.4GHz\"", "channel.link.0.width=\"20MHz\""]),
        two(
            "two of 5 GHz",
            &[
                "channel.link.0.band=\"5GHz\"",
                "channel.link.0.width=\"40MHz\"",
                "channel.link.0.channel=149",
            ],
        ),
        two("one link", &["node.laptop.multi_link=\"off\""]),
        Scene::new("wifi7", "wifi7.toml", &["duration=\"0.3s\"", "flow.download.start=\"0s\""]),
    ]
}

fn analysed(scene: &Scene) -> (Analysis, Vec<u32>) {
    let mut capture = Capture::open(Cursor::new(scene.file("air.pcapng"))).expect("it is one");
    let (mut analysis, mut lengths) = (Analysis::default(), Vec::new());
    while let Some(packet) = capture.next_packet().expect("it is whole") {
        let header = u16::from_le_bytes([packet.bytes[2], packet.bytes[3]]);
        lengths.push(packet.length - u32::from(header));
        analysis.handle_packet(&packet);
    }
    analysis.finish();
    (analysis, lengths)
}

#[test]
fn devices_are_what_they_were() {
    for scene in scenes() {
        let name = &scene.name;
        let (analysis, lengths) = analysed(&scene);
        assert_eq!(lengths.len(), scene.truth.lengths.len(), "{name}");
        let wrong = lengths.iter().zip(&scene.truth.lengths).position(|(a, b)| a != b);
        assert_eq!(wrong.map(|at| (at, lengths[at], scene.truth.lengths[at])), None, "{name}");

        let airs: Vec<_> =
            std::iter::once(&analysis.main).chain(analysis.others.values()).collect();
        let mut links = 0;
        for ((from, to), truth) in &scene.truth.links {
            // Each link has its channel, and so its interface.
            let found = airs.iter().find_map(|it| {
                let [from, to] = [from, to].map(|address| it.air.stations.find(*address));
                it.air.links.get(&(from?, to?))
            });
            let found = found.unwrap_or_else(|| panic!("{name}: {from} -> {to} was not heard"));
            let counts = &found.counts;
            let seen = (counts.ppdus, counts.ampdus, counts.mpdus, counts.retries);
            let sent = (truth.ppdus, truth.ampdus.1, truth.mpdus, truth.retries);
            assert_eq!(seen, sent, "{name}: {from} -> {to}");
            assert_eq!(
                (counts.missed, counts.captured_share()),
                (0, 1.0),
                "{name}: {from} -> {to}"
            );
            links += 1;
        }
        assert!(links >= 2, "{name}");

        let document = CaptureDocument::new("x", &analysis).with_interfaces(&analysis);
        assert_eq!(document.errors, [], "{name}");
        let misses = document.findings.iter().find(|finding| finding.kind == Kind::MonitorMisses);
        assert_eq!(misses.map(|finding| &finding.sentence), None, "{name}");
        let devices: Vec<_> = document.devices.iter().collect();
        if ["wifi7"].contains(&name.as_str()) {
            assert!(devices.is_empty(), "{name}");
            continue;
        }
        // The access point's: the station was associated before.
        let [(address, device)] = devices[..] else { panic!("{name}: {devices:?}") };
        assert!(device.access_point, "{name}");
        let ids: Vec<_> =
            device.links.iter().map(|(link, it)| (link.as_str(), it.link_id)).collect();
        let expected = [("02:1a:00:00:00:00", Some(0)), ("02:5a:00:00:00:00", Some(1))];
        assert_eq!((address.as_str(), &ids[..]), ("02:1a:00:00:00:00", &expected[..]), "{name}");
    }
}

//! Captures without the payload of made-up frames: results equal those of complete ones, also for
//! several captures together.

use crate::joined::files::{RIGHT, joined, packets, pcap};
use crate::scene::{Scene, heard};
use lasthop_capture::document::CaptureDocument;

const DOWNLOAD: [&str; 3] =
    ["duration=\"4s\"", "flow.upload.from=\"server\"", "flow.upload.to=\"laptop\""];
/// With A-MSDUs, whose payload is not left out.
const AMSDU: [&str; 4] = [
    "duration=\"4s\"",
    "node.laptop.aggregation.amsdu_bytes_max=3839",
    "node.laptop.rate_control.mcs=7",
    "node.laptop.position=[\"1m\",\"0m\"]",
];

#[test]
fn payload_tells_nothing() {
    for (sets, with_amsdu) in [(&DOWNLOAD[..], false), (&AMSDU[..], true)] {
        let cut = Scene::with_nodes("cut", "upload.toml", sets);
        let whole = Scene::with_payload("whole", "upload.toml", sets);
        let length = |scene: &Scene| scene.file("air.pcapng").len();
        assert!(length(&cut) < length(&whole));

        let [of_cut, of_whole] = [&cut, &whole].map(|scene| {
            let mut analysis = heard(scene, 0.0);
            let counts = &mut analysis.file.counts;
            let frames = (counts.cut, counts.too_short);
            counts.cut = 0;
            (CaptureDocument::new("x", &analysis), frames)
        });
        assert_eq!(of_cut.0, of_whole.0);
        assert_eq!(of_whole.1, (0, 0));
        assert!(of_cut.1.0 > 10 && of_cut.1.1 == 0, "{:?}", of_cut.1);
        let aggregates = packets(&cut.file("air.pcapng"));
        assert_eq!(aggregates.iter().any(|packet| packet.bytes.len() > 1_600), with_amsdu);

        let [of_cut, of_whole] = [&cut, &whole].map(|scene| {
            let names = ["air.pcapng", "node-laptop.pcapng", "node-server.pcapng"];
            joined(&names.map(|name| pcap(&packets(&scene.file(name)), RIGHT))).1
        });
        assert!(of_cut.iter().filter(|way| way.total_ns().is_some()).count() > 500);
        assert_eq!(of_cut, of_whole);
    }
}

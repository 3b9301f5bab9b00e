//! Captures of runs of 802.11be, with one link and with devices of several: every MPDU has the length
//! that the run had on the air, beacons and initial control frames included, and the analysis finds
//! the access point's device and the traffic of each link.

use crate::scene::Scene;
use lasthop_capture::analysis::Analysis;
use lasthop_capture::document::CaptureDocument;
use lasthop_capture::file::{Capture, Packet};
use lasthop_capture::finding::Kind;
use lasthop_units::MacAddr;
use lasthop_wifi_wire::elements::{BasicMultiLink, MultiLink, StationProfile};
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

/// The frames of a capture, behind an association if one is given.
fn analysed(scene: &Scene, association: Option<&[u8]>) -> (Analysis, Vec<u32>) {
    let bytes = scene.file("air.pcapng");
    let (mut analysis, mut lengths) = (Analysis::default(), Vec::new());
    if let Some(association) = association {
        introduce(&mut analysis, &bytes, association);
    }
    let mut capture = Capture::open(Cursor::new(bytes.to_vec())).expect("it is one");
    while let Some(packet) = capture.next_packet().expect("it is whole") {
        let header = u16::from_le_bytes([packet.bytes[2], packet.bytes[3]]);
        lengths.push(packet.length - u32::from(header));
        analysis.handle_packet(&packet);
    }
    analysis.finish();
    (analysis, lengths)
}

/// Feeds the first beacons of a capture, which show the access point's device, and an association.
fn introduce(analysis: &mut Analysis, bytes: &[u8], association: &[u8]) {
    let mut capture = Capture::open(Cursor::new(bytes.to_vec())).expect("it is one");
    let mut begin_ns = None;
    while let Some(packet) = capture.next_packet().expect("it is whole") {
        let at_ns = *begin_ns.get_or_insert(packet.at_ns);
        let mpdu = usize::from(u16::from_le_bytes([packet.bytes[2], packet.bytes[3]]));
        if packet.bytes.get(mpdu) == Some(&0x80) {
            let is_second = packet.interface > 0;
            analysis.handle_packet(&Packet { at_ns, ..packet });
            if is_second {
                break;
            }
        }
    }
    let mut capture = Capture::open(Cursor::new(bytes.to_vec())).expect("it is one");
    let packet = capture.next_packet().expect("it is whole").expect("it has some");
    let length = association.len() as u32;
    analysis.handle_packet(&Packet { bytes: association, length, ..packet });
}

#[test]
fn devices_are_what_they_were() {
    for scene in scenes() {
        let name = &scene.name;
        let (analysis, lengths) = analysed(&scene, None);
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

/// An Association Request without a radiotap header's fields: the station's device and both links.
fn association(ap: MacAddr, links: [MacAddr; 2]) -> Vec<u8> {
    let mut profiles = vec![];
    let address = Some(links[1]);
    StationProfile { link_id: 1, complete: true, address, ..StationProfile::default() }
        .emit(&mut profiles);
    let mut body = vec![1, 0, 5, 0, 0, 4];
    body.extend(b"home");
    let basic = BasicMultiLink { address: links[0], ..BasicMultiLink::default() };
    MultiLink::basic(basic, &profiles).emit(&mut body);
    // A radiotap header without fields; type and Duration field, addresses, sequence number.
    let mut request = vec![0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    [ap, links[0], ap].iter().for_each(|address| request.extend(address.0));
    request.extend([0x10, 0]);
    request.extend(body);
    request
}

/// With the station's association in front, data of both links is that of one pair of devices: each
/// link carries the share of packets that the run counted, and they wait for the order as long.
#[test]
fn shares_and_waits_are_those_of_the_run() {
    let sets = ["duration=\"2s\"", "warmup=\"0s\"", "flow.download.start=\"0s\""];
    let emlsr = [&sets[..], &["node.laptop.multi_link=\"emlsr\""]].concat();
    for (name, sets) in [("str", &sets[..]), ("emlsr", &emlsr)] {
        let scene = Scene::new(name, "wifi7/two-links.toml", sets);
        // The access point is the first node: its addresses end in 0.
        let mut down = scene.truth.links.keys().filter(|(from, _)| from.0[5] == 0);
        let (&(ap, first), &(second_ap, second)) = (down.next().unwrap(), down.next().unwrap());
        let (analysis, _) = analysed(&scene, Some(&association(ap, [first, second])));
        let document = CaptureDocument::new("x", &analysis).with_interfaces(&analysis);
        assert_eq!(document.errors, [], "{name}");
        let data = &document.devices[&ap.to_string()].to[&first.to_string()];
        let mpdus: u64 = data.links.values().map(|link| link.mpdus).sum();
        let attempts = data.attempts.iter().zip(1..).map(|(chains, attempts)| chains * attempts);
        assert_eq!(attempts.sum::<u64>(), mpdus, "{name}: each attempt is of one chain");
        let delivered: u64 = data.links.values().map(|link| link.delivered).sum();
        let links = || scene.run.flows.values().flat_map(|flow| &flow.links);
        let down = || links().filter(|(link, _)| link.starts_with("ap->"));
        let packets: u64 = down().map(|(_, link)| link.packets).sum();
        // Those of the last PPDUs may be acknowledged after the end.
        assert!(packets.abs_diff(delivered) < 64, "{name}: {packets} {delivered}");
        assert!(delivered.abs_diff(data.chains) < 64, "{name}: {data:?}");
        let bands = ["ap->laptop@5GHz", "ap->laptop@6GHz"];
        let addresses = [ap, second_ap].map(|address| address.to_string());
        for (band, address) in bands.into_iter().zip(addresses) {
            let on_link = || down().filter(|(link, _)| *link == band).map(|(_, it)| it);
            let share = on_link().map(|it| it.packets).sum::<u64>() as f64 / packets as f64;
            // Where the Block Ack of a link was lost, the capture cannot know which attempt arrived.
            let found = &data.links[&address];
            assert!((found.share - share).abs() < 0.004, "{name} {band}: {share} {found:?}");
            let waited = scene.run.flows["download"].links[band].reorder_ms;
            let difference = (found.reorder_ms[0] - waited).abs();
            assert!(difference < 0.001, "{name} {band}: {waited} {found:?}");
        }
    }
}

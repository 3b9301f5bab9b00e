//! The captures `air.pcapng` and `node-NAME.pcapng` as tshark decodes them: types of
//! frames, addresses, radiotap fields, checksums, times and lengths. Skipped if tshark
//! is not installed.

use crate::scene;
use lasthop_hosts::{FrameDirection, Sink};
use lasthop_packet::NodeId;
use lasthop_trace::{Files, NodeFrames};
use lasthop_units::{Duration, Instant};
use lasthop_wifi::event::Event;
use lasthop_wifi::{Address, StationId};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Starts tshark on a capture; `None`, with a message, if it is not installed.
#[expect(clippy::print_stdout, reason = "a skipped test says so")]
fn tshark(path: &Path, arguments: &[&str]) -> Option<Child> {
    let mut command = Command::new("tshark");
    command.arg("-n").arg("-r").arg(path).stdout(Stdio::piped()).stderr(Stdio::piped());
    for check in ["wlan.check_checksum", "ip.check_checksum", "udp.check_checksum"] {
        command.args(["-o", &format!("{check}:TRUE")]);
    }
    match command.args(arguments).spawn() {
        Ok(child) => Some(child),
        Err(error) => {
            println!("skipped, because tshark cannot be run: {error}");
            None
        }
    }
}

/// Returns the lines that tshark prints.
fn lines(tshark: Child) -> Vec<String> {
    let output = tshark.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

/// Returns these fields of every frame; `None` without tshark.
pub fn fields(path: &Path, fields: &[&str]) -> Option<Vec<Vec<String>>> {
    let selected = fields.iter().flat_map(|field| ["-e", field]);
    let arguments: Vec<_> = ["-T", "fields"].into_iter().chain(selected).collect();
    let lines = lines(tshark(path, &arguments)?);
    Some(lines.iter().map(|line| line.split('\t').map(str::to_owned).collect()).collect())
}

/// Compares the number of frames that match each filter.
fn assert_counts(path: &Path, expected: &[(&str, usize)]) {
    let started: Option<Vec<_>> =
        expected.iter().map(|(filter, _)| tshark(path, &["-Y", filter])).collect();
    for (child, (filter, frames)) in started.into_iter().flatten().zip(expected) {
        assert_eq!(lines(child).len(), *frames, "{}: {filter}", path.display());
    }
}

#[test]
fn tshark_reads_the_air() {
    let path = scene::scratch("air");
    scene::record(&path, &scene::files(), scene::play);
    // The number of frames that have this value in this field; an empty value means
    // that the field is absent.
    let expected = [
        ("_ws.malformed", "", 22),
        ("wlan.fcs.status", "1", 22),
        ("radiotap.channel.freq", "2437", 22),
        ("wlan.fc.type_subtype", "0x0008", 1),
        ("wlan.fc.type_subtype", "0x000d", 3),
        ("wlan.fc.type_subtype", "0x0018", 1),
        ("wlan.fc.type_subtype", "0x0019", 2),
        ("wlan.fc.type_subtype", "0x001b", 1),
        ("wlan.fc.type_subtype", "0x001c", 1),
        ("wlan.fc.type_subtype", "0x001d", 4),
        ("wlan.fc.type_subtype", "0x0020", 2),
        ("wlan.fc.type_subtype", "0x0024", 1),
        ("wlan.fc.type_subtype", "0x0028", 5),
        ("wlan.fc.type_subtype", "0x002c", 1),
        ("wlan.fixed.action_code", "0x00", 1),
        ("wlan.fixed.action_code", "0x01", 1),
        ("wlan.fixed.action_code", "0x02", 1),
        ("wlan.ssid", "6c617374686f702074657374", 1),
        ("wlan.ht.ampduparam.maxlength", "0x03", 1),
        ("wlan.fc.retry", "1", 1),
        ("wlan.fc.pwrmgt", "1", 2),
        ("radiotap.ampdu.reference", "1", 3),
        ("radiotap.mcs.index", "7", 5),
        ("wlan.ba.bm", "0500000000000000", 1),
        ("wlan.ba.bm", "0000000000000000", 1),
        ("ip.checksum.status", "0", 0),
        ("ip.checksum.status", "1", 6),
        ("ip.checksum.status", "1,1", 1),
        ("udp.checksum.status", "1", 5),
        ("udp.checksum.status", "1,1", 1),
        ("icmp.checksum.status", "1", 1),
        ("icmp.type", "8", 1),
        ("wlan.da", "ff:ff:ff:ff:ff:ff", 2),
        ("wlan.da", "02:1a:00:00:00:03", 5),
        ("ip.dst", "10.0.0.4", 5),
        ("ip.dst", "10.0.0.3,10.0.0.3", 1),
        // Bit 3: the last subframe of its A-MPDU; bit 2: whether that is known.
        ("radiotap.ampdu.flags", "0x0004", 2),
        ("radiotap.ampdu.flags", "0x000c", 1),
        // The only expert information is about retransmissions, at level chat; there
        // are no notes, warnings or errors.
        ("_ws.expert.severity", "", 21),
    ];
    let mut names: Vec<_> = expected.iter().map(|(field, ..)| *field).collect();
    names.dedup();
    let Some(frames) = fields(&path.join("air.pcapng"), &names) else { return };
    assert_eq!(frames.len(), 22);
    for (field, value, count) in expected {
        let column = names.iter().position(|name| *name == field).unwrap();
        let values: Vec<_> = frames.iter().map(|frame| frame[column].as_str()).collect();
        let found = values.iter().filter(|found| **found == value).count();
        assert_eq!(found, count, "{field} == {value}: {values:?}");
    }
}

#[test]
fn tshark_finds_the_times_lengths_and_packets() {
    let path = scene::scratch("times");
    scene::record(&path, &scene::files(), scene::play);
    let selected = [
        "frame.time_epoch",
        "wlan.seq",
        "wlan.qos.tid",
        "wlan.duration",
        "radiotap.dbm_antsignal",
        "frame.len",
        "radiotap.length",
        "udp.length",
        "radiotap.mactime",
    ];
    let Some(frames) = fields(&path.join("air.pcapng"), &selected) else { return };
    let ppdus = scene::ppdus();
    let written = ppdus.iter().flat_map(|ppdu| ppdu.frames().map(move |frame| (ppdu, frame)));
    for (read, (ppdu, frame)) in frames.iter().zip(written) {
        assert_eq!(read[0], format!("0.{:09}", ppdu.end.as_nanos()));
        let length = read[5].parse::<usize>().unwrap() - read[6].parse::<usize>().unwrap();
        if !matches!(frame.kind, lasthop_wifi::event::FrameKind::Beacon { .. }) {
            assert_eq!(length, usize::from(frame.bytes), "{frame:?}");
        }
        assert_eq!(read[3], frame.duration_us.to_string());
        assert_eq!(read[4], "-52");
        assert!(read[8].parse::<u64>().unwrap() > ppdu.start.as_nanos() / 1_000);
    }
    let aggregate: Vec<_> = (7..10).map(|index| frames[index][1].as_str()).collect();
    assert_eq!(aggregate, ["100", "101", "102"]);
    // Both packets of the A-MSDU are shown.
    assert_eq!(frames[13][7], "980,313");
    assert_eq!(frames[13][2], "5");
}

#[test]
fn real_bytes_are_kept() {
    let path = scene::scratch("real");
    let frame = real_frame();
    let length = frame.len() as u16 - 14;
    let files = Files { nodes: Some(NodeFrames::Real), ..scene::files() };
    scene::record(&path, &files, |recorder| {
        let packet = scene::packet(77, length, 0, scene::LAPTOP, scene::SERVER);
        let data = scene::qos_data(1, vec![packet], false);
        let ap = Address::Station(StationId(scene::AP));
        let ppdu = scene::ppdu(100, scene::LAPTOP, ap, scene::HT, vec![data]);
        let payload = |tag| (tag == 77).then(|| frame.clone());
        recorder.event(&Event::Ppdu(ppdu), &payload);
        let now = Instant::ZERO + Duration::from_millis(1);
        recorder.frame(now, NodeId(scene::LAPTOP), FrameDirection::Sent, &frame);
    });
    for (file, filter) in [
        ("air.pcapng", "wlan.da == 02:00:00:00:00:63 && wlan.fcs.status == \"Good\""),
        ("node-laptop.pcapng", "eth.dst == 02:00:00:00:00:63 && frame.packet_flags_direction == 2"),
    ] {
        let filter = format!("{filter} && dns.qry.name == \"example.org\" && !_ws.malformed");
        assert_counts(&path.join(file), &[(&filter, 1)]);
    }
}

/// A DNS query for example.org over UDP, with checksums of zero.
fn real_frame() -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 0x63, 2, 0, 0, 0, 0, 1, 8, 0];
    frame.extend([0x45, 0, 0, 57, 0, 1, 0x40, 0, 64, 17, 0, 0, 192, 0, 2, 1, 192, 0, 2, 53]);
    frame.extend([0xc0, 0, 0, 53, 0, 37, 0, 0]);
    frame.extend([0x12, 0x34, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
    frame.extend(b"\x07example\x03org\x00\x00\x01\x00\x01");
    frame
}

#[test]
fn tshark_reads_what_nodes_saw() {
    let path = scene::scratch("nodes");
    scene::record(&path, &scene::files(), scene::play);
    let expected: [(&str, &[(&str, usize)]); 4] = [
        (
            "laptop",
            &[
                ("frame", 4),
                ("_ws.malformed", 0),
                ("udp.dstport == 55000 && ip.dst == 10.0.0.4", 2),
                ("icmp.type == 0 && frame.packet_flags_direction == 1", 1),
            ],
        ),
        ("server", &[("icmp.type == 8 && frame.packet_flags_direction == 1", 1)]),
        ("phone", &[("udp && frame.len == 1014 && frame.time_epoch == 0.055", 1)]),
        ("ap", &[("frame", 0)]),
    ];
    for (node, counts) in expected {
        assert_counts(&path.join(format!("node-{node}.pcapng")), counts);
    }
}

//! Captures without the payload of made-up frames: what there is of each packet, the snap
//! length, and what tshark says of them. With and without: the names of addresses.

use crate::air::fields;
use crate::scene;
use crate::stream::{blocks, packets};
use lasthop_trace::{AirInfo, Files, NodeFrames};
use std::fs;
use std::path::Path;

const CAPTURES: [&str; 5] = [
    "air.pcapng",
    "node-ap.pcapng",
    "node-laptop.pcapng",
    "node-phone.pcapng",
    "node-server.pcapng",
];

/// The snap length of the interface.
fn snap_length(file: &[u8]) -> usize {
    let (_, body) = blocks(file)[1];
    u32::from_le_bytes(body[4..8].try_into().unwrap()) as usize
}

#[test]
fn payload_is_left_out_and_nothing_else() {
    let [whole, cut] = ["whole", "cut"].map(|name| {
        let path = scene::scratch(name);
        scene::record(&path, &Files { cut: name == "cut", ..scene::files() }, scene::play);
        path
    });
    for name in CAPTURES {
        let [whole, cut] = [&whole, &cut].map(|path| fs::read(path.join(name)).unwrap());
        // 8 192: an A-MSDU is 7 935 bytes at most (9.2.4.7.1).
        let snap = if name == "air.pcapng" { 8_192 } else { 512 };
        assert_eq!([snap_length(&whole), snap_length(&cut)], [0, snap]);
        let (whole, cut) = (packets(&whole), packets(&cut));
        assert_eq!(whole.len(), cut.len());
        let mut shorter = 0;
        for ((length, bytes), (cut_length, cut_bytes)) in whole.iter().zip(&cut) {
            assert_eq!(cut_length, length);
            assert_eq!(bytes.len(), *length);
            assert!(bytes.starts_with(cut_bytes), "{name}: {cut_bytes:?}");
            assert!(cut_bytes.len() <= snap);
            if cut_bytes.len() == bytes.len() {
                continue;
            }
            shorter += 1;
            let fcs = if name == "air.pcapng" { 4 } else { 0 };
            assert!(bytes[cut_bytes.len()..bytes.len() - fcs].iter().all(|octet| *octet == 0));
            // Ethernet, IPv4, UDP or ICMP, 16 bytes; on the air radiotap, MAC and LLC.
            let at_most = if name == "air.pcapng" { 40 + 26 + 8 } else { 14 } + 20 + 8 + 16;
            assert!(cut_bytes.len() <= at_most, "{}", cut_bytes.len());
        }
        // On the air the six data frames that are no A-MSDU.
        let expected = match name {
            "air.pcapng" => 6,
            "node-ap.pcapng" => 0,
            "node-laptop.pcapng" => 4,
            "node-phone.pcapng" => 1,
            _ => 4,
        };
        assert_eq!(shorter, expected, "{name}");
    }
}

/// Lengths of packets are bounded by less where no frame has several of them.
#[test]
fn without_amsdu_the_snap_length_is_short() {
    let path = scene::scratch("short");
    let air = Some(AirInfo { amsdu: false, ..scene::air() });
    scene::record(&path, &Files { cut: true, air, ..scene::files() }, |_| ());
    assert_eq!(snap_length(&fs::read(path.join("air.pcapng")).unwrap()), 512);
}

/// tshark accepts cut packets, and the checksums visible to it are right.
#[test]
fn tshark_reads_cut_frames() {
    let path = scene::scratch("tshark-cut");
    scene::record(&path, &Files { cut: true, ..scene::files() }, scene::play);
    let names = [
        "_ws.malformed",
        "ip.checksum.status",
        "wlan.fcs.status",
        "frame.len",
        "udp.length",
        "ip.dst",
        "wlan.seq",
    ];
    for name in CAPTURES {
        let file = path.join(name);
        let Some(frames) = fields(&file, &names) else { return };
        let lengths: Vec<_> =
            packets(&fs::read(&file).unwrap()).into_iter().map(|it| it.0).collect();
        assert_eq!(frames.len(), lengths.len());
        for (frame, length) in frames.iter().zip(lengths) {
            assert_eq!(frame[0], "", "{name}: {frame:?}");
            for status in [&frame[1], &frame[2]] {
                assert!(!status.split(',').any(|status| status == "0"), "{name}: {frame:?}");
            }
            assert_eq!(frame[3], length.to_string());
        }
        if name == "air.pcapng" {
            assert_eq!(
                frames[7..10].iter().map(|it| &it[6]).collect::<Vec<_>>(),
                ["100", "101", "102"]
            );
            assert_eq!([&frames[7][4], &frames[13][4]], ["1480", "980,313"]);
        }
    }
}

/// The records of the Name Resolution Block: type, address, name.
fn names(file: &[u8]) -> Vec<(u16, Vec<u8>, String)> {
    let of_names: Vec<_> = blocks(file).into_iter().filter(|(kind, _)| *kind == 4).collect();
    let [(_, mut body)] = of_names[..] else { panic!("{} blocks", of_names.len()) };
    let mut names = Vec::new();
    loop {
        let [kind, length] = [0, 2].map(|at| u16::from_le_bytes([body[at], body[at + 1]]));
        if kind == 0 {
            assert_eq!((length, body.len()), (0, 4));
            return names;
        }
        let value = &body[4..4 + usize::from(length)];
        let (address, name) = value.split_at(match kind {
            1 => 4,
            3 => 6,
            _ => panic!("{kind}"),
        });
        let name = name.strip_suffix(&[0]).expect("a name ends with a zero byte");
        names.push((kind, address.to_vec(), String::from_utf8(name.to_vec()).unwrap()));
        body = &body[4 + usize::from(length).next_multiple_of(4)..];
    }
}

#[test]
fn addresses_have_names() {
    let path = scene::scratch("names");
    for (frames, with_ip) in [(NodeFrames::MadeUp, true), (NodeFrames::Real, false)] {
        scene::record(&path, &Files { nodes: Some(frames), ..scene::files() }, scene::play);
        for name in CAPTURES {
            let found = names(&fs::read(path.join(name)).unwrap());
            let nodes = ["ap", "laptop", "phone", "server"].iter().zip(0u8..);
            let expected = nodes.flat_map(|(name, node)| {
                // docs/files.md.
                let ip = (1, vec![10, 0, 0, node + 1], (*name).to_owned());
                let mac = scene::names().nodes[usize::from(node)].address.0.to_vec();
                [with_ip.then_some(ip), Some((3, mac, (*name).to_owned()))].into_iter().flatten()
            });
            assert_eq!(found, expected.collect::<Vec<_>>(), "{name}");
        }
    }
}

#[test]
fn tshark_shows_the_names() {
    let path = scene::scratch("tshark-names");
    scene::record(&path, &scene::files(), scene::play);
    let named = |file: &Path| {
        let mut command = std::process::Command::new("tshark");
        command.args(["-N", "n", "-r"]).arg(file).args(["-T", "fields", "-e", "ip.src_host"]);
        let output = command.output().ok()?;
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Some(String::from_utf8(output.stdout).unwrap())
    };
    let Some(text) = named(&path.join("node-server.pcapng")) else { return };
    let hosts: Vec<_> = text.lines().collect();
    assert_eq!(hosts, ["laptop", "server", "laptop", "server"]);
}

//! Findings of tshark in captures of simulated TCP flows. tshark follows each connection, so its
//! findings are compared with the counters of the run, and the air with the nodes. Skipped if
//! tshark is not installed.

#![allow(clippy::unwrap_used)]

use lasthop_fixtures::{access_point, flow, franc, host, station, two_hosts, wire};
use lasthop_trace::{NodeFrames, OutputDir, Recorder, RunDocument};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A run and the directory of its captures, which is removed with it.
struct Captured {
    document: RunDocument,
    path: PathBuf,
}

impl Drop for Captured {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

fn simulate(name: &str, text: &str) -> Captured {
    let path = std::env::temp_dir().join(format!("lasthop-run-{}-{name}", std::process::id()));
    let scenario = lasthop_scenario::parse(name, text, &[]).expect("it is valid");
    let mut directory = OutputDir::create(&path).unwrap();
    let files = lasthop_sim::files(&scenario, true, Some(NodeFrames::MadeUp));
    let names = lasthop_sim::names(&scenario);
    let recording = lasthop_sim::recording(&scenario);
    let recorder = Recorder::with_files(names, recording, &files, &mut directory).unwrap();
    let mut progress = |_| ControlFlow::Continue(());
    let document = lasthop_sim::record(&scenario, 0, recorder, &mut progress).unwrap();
    directory.commit().unwrap();
    Captured { document, path }
}

/// A frame of a capture, as tshark reads it; in an A-MSDU, one of its packets.
#[derive(Clone, Debug, Default)]
struct Frame(Vec<String>);

const FIELDS: &[&str] = &[
    "frame.time_epoch",
    "ip.frag_offset",
    "tcp.hdr_len",
    "ip.src",
    "ip.proto",
    "ip.len",
    "ip.checksum.status",
    "tcp.checksum.status",
    "tcp.srcport",
    "tcp.dstport",
    "tcp.seq",
    "tcp.ack",
    "tcp.len",
    "tcp.flags",
    "tcp.window_size",
    "tcp.analysis.retransmission",
    "tcp.analysis.fast_retransmission",
    "tcp.analysis.out_of_order",
    "tcp.analysis.ack_lost_segment",
    "_ws.malformed",
    "tcp.options.timestamp.tsval",
    "tcp.options.sack_le",
    "tcp.options.sack.dsack_le",
    "tcp.options.sack.dsack_re",
    "tcp.options.mss_val",
    "tcp.options.wscale.shift",
    "tcp.analysis.window_full",
    "wlan.bssid",
    "wlan.fc.type_subtype",
    "wlan.ta",
];

impl Frame {
    fn text(&self, field: &str) -> &str {
        &self.0[FIELDS.iter().position(|name| *name == field).unwrap()]
    }

    fn has(&self, field: &str) -> bool {
        !self.text(field).is_empty()
    }

    fn number(&self, field: &str) -> u64 {
        self.text(field).parse().unwrap_or_else(|_| panic!("{field}: {self:?}"))
    }

    fn flags(&self) -> u16 {
        u16::from_str_radix(&self.text("tcp.flags")[2..], 16).unwrap()
    }

    /// Whether tshark takes it for a segment that was sent before.
    fn is_again(&self) -> bool {
        ["retransmission", "fast_retransmission", "out_of_order"]
            .iter()
            .any(|what| self.has(&format!("tcp.analysis.{what}")))
    }
}

const FIN: u16 = 1;
const SYN: u16 = 2;
const PSH: u16 = 8;
const ACK: u16 = 16;

/// The frames of a capture; `None` without tshark.
#[expect(clippy::print_stdout, reason = "a skipped test says so")]
fn frames(path: &Path) -> Option<Vec<Frame>> {
    let mut command = Command::new("tshark");
    command.args(["-n", "-r"]).arg(path).args(["-T", "fields", "-E", "occurrence=a"]);
    for preference in ["ip.check_checksum", "tcp.check_checksum", "udp.check_checksum"] {
        command.args(["-o", &format!("{preference}:TRUE")]);
    }
    command.args(FIELDS.iter().flat_map(|field| ["-e", field]));
    let output = match command.output() {
        Ok(output) => output,
        Err(error) => {
            println!("skipped, because tshark cannot be run: {error}");
            return None;
        }
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    Some(text.lines().map(|line| Frame(line.split('\t').map(str::to_owned).collect())).collect())
}

/// Asserts that nothing in a capture is malformed, and that every checksum is right.
fn assert_sound(frames: &[Frame]) {
    for frame in frames {
        assert!(!frame.has("_ws.malformed"), "{frame:?}");
        for field in ["ip.checksum.status", "tcp.checksum.status"] {
            // An A-MSDU has several.
            assert!(frame.text(field).split(',').all(|status| status != "0"), "{field}: {frame:?}");
        }
        assert!(frame.text("ip.proto").split(',').all(|protocol| protocol != "253"), "{frame:?}");
    }
}

fn of_tcp(frames: &[Frame]) -> Vec<&Frame> {
    frames.iter().filter(|frame| frame.text("ip.proto") == "6").collect()
}

const BYTES: u64 = 3_000_000;

/// A laptop at the edge of a cell uploads over a wire that loses packets.
fn upload(keys: &str) -> String {
    [
        "duration = \"20s\"\n",
        &access_point("ap", ""),
        &station("laptop", keys),
        &host("server"),
        &wire(["server", "ap"], "rate = \"100Mb/s\"\ndelay = \"10ms\"\nloss = 0.02"),
        "[[link]]\nbetween = [\"laptop\", \"ap\"]\nsnr = \"12dB\"\n",
        &flow("upload", ["laptop", "server"], "tcp", &format!("bytes = {BYTES}")),
        &flow("ping", ["laptop", "server"], "ping", ""),
    ]
    .concat()
}

#[test]
fn tshark_follows_an_upload_with_losses() {
    let run = simulate("upload", &upload("rate_control = { kind = \"fixed\", mcs = 2 }"));
    let flow = &run.document.flows["upload"];
    let Some(laptop) = frames(&run.path.join("node-laptop.pcapng")) else { return };
    let server = frames(&run.path.join("node-server.pcapng")).unwrap();
    for capture in [&laptop, &server] {
        assert_sound(capture);
        assert!(capture.iter().all(|frame| !frame.has("tcp.analysis.ack_lost_segment")));
        let windows = capture.iter().filter(|frame| frame.has("tcp.analysis.window_full"));
        assert_eq!(windows.count(), 0);
    }
    let (sent, back): (Vec<_>, Vec<_>) =
        of_tcp(&laptop).into_iter().partition(|frame| frame.text("ip.src") == "10.0.0.2");
    let (arrived, answers): (Vec<_>, Vec<_>) =
        of_tcp(&server).into_iter().partition(|frame| frame.text("ip.src") == "10.0.0.2");
    assert!(sent.iter().all(|frame| frame.number("tcp.srcport") == 45_000));
    assert!(sent.iter().all(|frame| frame.number("tcp.dstport") == 55_000));

    // The whole stream is acknowledged, FIN and SYN included.
    let acknowledged = back.iter().map(|frame| frame.number("tcp.ack")).max().unwrap();
    assert_eq!(acknowledged, 1 + BYTES + 1);
    // What tshark takes for sent again is what the model counts so.
    let again = sent.iter().filter(|frame| frame.is_again()).count() as u64;
    assert!(again > 10, "{again}");
    assert_eq!(Some(again), flow.retransmissions);
    // The run counts packets as the captures do.
    assert_eq!(sent.len() as u64, flow.packets_sent);
    assert_eq!(arrived.len() as u64, flow.packets_received);
    assert!(
        arrived.iter().all(|f| (52..=80).contains(&(f.number("ip.len") - f.number("tcp.len"))))
    );
    // The last reading of what is acknowledged is a series interval before the end.
    let goodput_bytes = flow.goodput_mbps.unwrap() * 19.9 * 1e6 / 8.0;
    assert!((goodput_bytes - BYTES as f64).abs() < 1.0, "{goodput_bytes}");

    // The handshake, and what is pushed: the end of what was written.
    let (syn, answer) = (sent[0], back[0]);
    assert_eq!([syn.flags(), answer.flags()], [SYN, SYN | ACK]);
    for opening in [syn, answer] {
        assert_eq!(opening.number("tcp.options.mss_val"), 1_460);
        assert_eq!(opening.number("tcp.options.wscale.shift"), 7);
        assert_eq!((opening.number("tcp.seq"), opening.number("ip.len")), (0, 60));
    }
    assert!(sent[1..].iter().all(|frame| frame.number("tcp.window_size") == 3 << 20));
    let last: Vec<_> = sent.iter().filter(|frame| frame.flags() & FIN != 0).collect();
    assert!(!last.is_empty());
    let ends = |frame: &Frame| frame.number("tcp.seq") + frame.number("tcp.len") == 1 + BYTES;
    assert!(sent.iter().all(|f| (f.flags() & PSH != 0) == (ends(f) && f.number("tcp.len") > 0)));
    assert!(answers.iter().any(|frame| frame.has("tcp.options.sack_le")));
    let stamps: Vec<_> = sent.iter().map(|f| f.number("tcp.options.timestamp.tsval")).collect();
    assert!(stamps.is_sorted() && stamps.iter().any(|stamp| *stamp > 500));
}

/// Packets on the air: the fields that identify segments, and the time. `from`: the source.
fn on_air(frames: &[Frame], from: &str) -> Vec<([String; 6], f64)> {
    let mut segments = Vec::new();
    for frame in frames {
        let fields =
            ["ip.src", "ip.len", "tcp.seq", "tcp.ack", "tcp.len", "tcp.options.timestamp.tsval"];
        let columns = fields.map(|field| frame.text(field).split(',').collect::<Vec<_>>());
        // The A-MSDUs that have nothing but segments.
        if columns[0].iter().any(|source| *source != from)
            || columns.iter().any(|column| column.len() != columns[0].len())
            || !frame.has("tcp.seq")
        {
            continue;
        }
        for index in 0..columns[0].len() {
            let segment = columns.each_ref().map(|column| column[index].to_owned());
            segments.push((segment, frame.text("frame.time_epoch").parse().unwrap()));
        }
    }
    segments
}

/// Frames are sent again when only the Ack was lost: the receiver has the packet by
/// then.
/// Each connection of a page has its port, begins with a handshake and ends with the reader's FIN, so
/// tshark finds nothing lost or sent again.
#[test]
fn tshark_follows_the_connections_of_pages() {
    let text = [
        "duration = \"60s\"\n",
        &two_hosts("rate = \"off\"\ndelay = \"10ms\""),
        &flow("web", ["left", "right"], "web", "web.think = \"2s\""),
    ]
    .concat();
    let run = simulate("web", &text);
    let pages = run.document.flows["web"].web.unwrap();
    let Some(reader) = frames(&run.path.join("node-right.pcapng")) else { return };
    assert_sound(&reader);
    let reader = of_tcp(&reader);
    assert!(
        reader.iter().all(|frame| !frame.is_again() && !frame.has("tcp.analysis.ack_lost_segment"))
    );
    let sent: Vec<_> =
        reader.iter().filter(|frame| frame.number("tcp.dstport") == 45_000).collect();
    let ports: BTreeSet<u64> = sent.iter().map(|frame| frame.number("tcp.srcport")).collect();
    assert_eq!(ports, [55_000, 10_001, 10_002, 10_003, 10_004, 10_005].into());
    let opened = sent.iter().filter(|frame| frame.flags() == SYN).count() as u64;
    let closed = sent.iter().filter(|frame| frame.flags() & FIN > 0).count() as u64;
    assert!(opened > pages.pages && opened < 6 * (pages.pages + 1), "{opened}");
    assert!(opened - closed <= 6 * pages.pages_unfinished, "{opened}, {closed}");
}

#[test]
fn frames_that_are_sent_again_have_their_headers() {
    let (mut aggregates, mut late) = (0, 0);
    for (name, keys) in [
        ("single", "aggregation = { ampdu_bytes_max = 0 }"),
        ("ampdu", ""),
        ("amsdu", "aggregation = { amsdu_bytes_max = 3839 }"),
    ] {
        let keys = format!("rate_control = {{ kind = \"fixed\", mcs = 0 }}\n{keys}");
        let text = [
            "duration = \"20s\"\n",
            &access_point("ap", ""),
            &station("laptop", &keys),
            "[[link]]\nbetween = [\"laptop\", \"ap\"]\nsnr = \"3.5dB\"\n",
            &flow("upload", ["laptop", "ap"], "tcp", ""),
            &flow("ping", ["laptop", "ap"], "ping", ""),
        ];
        let run = simulate(name, &text.concat());
        let Some(air) = frames(&run.path.join("air.pcapng")) else { return };
        assert_sound(&air);
        let node = |name: &str| frames(&run.path.join(format!("node-{name}.pcapng"))).unwrap();
        let (laptop, ap) = (node("laptop"), node("ap"));
        for (from, sent, arrived) in [("10.0.0.2", &laptop, &ap), ("10.0.0.1", &ap, &laptop)] {
            let there = on_air(&air, from);
            let sent: BTreeSet<_> = on_air(sent, from).into_iter().map(|(key, _)| key).collect();
            let unknown = there.iter().find(|(segment, _)| !sent.contains(segment));
            assert_eq!(unknown, None, "{name}");
            let arrived: BTreeMap<_, _> = on_air(arrived, from).into_iter().collect();
            let is_late = |(segment, at): &&([String; 6], f64)| {
                arrived.get(segment).is_some_and(|before| *at > before + 0.01)
            };
            late += there.iter().filter(is_late).count();
        }
        aggregates += air.iter().filter(|frame| frame.text("ip.proto") == "6,6").count();
    }
    assert!(aggregates > 50 && late > 500, "{aggregates} {late}");
}

/// Packets cut to 68 bytes have no space for SACK blocks, so fragments split the header of the
/// segment. tshark puts them together.
#[test]
fn cut_segments_have_their_headers() {
    let text = [
        "duration = \"10s\"\n",
        &access_point("ap", "mtu = 68"),
        &station("laptop", ""),
        &host("server"),
        &wire(["server", "ap"], "rate = \"100Mb/s\"\ndelay = \"10ms\"\nloss = 0.02"),
        &flow("upload", ["laptop", "server"], "tcp", "bytes = 150_000"),
    ]
    .concat();
    let run = simulate("cut", &text);
    let Some(air) = frames(&run.path.join("air.pcapng")) else { return };
    assert_sound(&air);
    let parts = air.iter().filter(|frame| !["", "0"].contains(&frame.text("ip.frag_offset")));
    let parts: Vec<_> = parts.collect();
    assert!(parts.len() > 5, "{}", parts.len());
    for last in parts {
        assert!((52..=60).contains(&last.number("tcp.hdr_len")), "{last:?}");
        assert!(last.has("tcp.options.sack_le"), "{last:?}");
        assert_eq!(last.text("tcp.checksum.status"), "1", "{last:?}");
    }
}

/// A coded link takes the packets out of the network and puts them back at its end. The link's
/// datagrams belong to no flow.
#[test]
fn segments_through_a_coded_link_have_their_headers() {
    let text = [
        "duration = \"10s\"\n",
        &two_hosts("rate = \"20Mb/s\"\ndelay = \"10ms\"\nloss = 0.02"),
        &franc("link", ["left", "right"], ""),
        &flow("upload", ["left", "right"], "tcp", &format!("bytes = {BYTES}")),
    ]
    .concat();
    let run = simulate("coded", &text);
    for node in ["left", "right"] {
        let path = run.path.join(format!("node-{node}.pcapng"));
        let Some(capture) = frames(&path) else { return };
        assert_sound(&capture);
        assert!(capture.iter().all(|frame| !frame.has("tcp.analysis.ack_lost_segment")));
        let tcp = of_tcp(&capture);
        assert!(capture.len() > tcp.len() + 1_000, "{} {}", capture.len(), tcp.len());
        let acknowledged = tcp.iter().filter(|f| f.text("ip.src") == "10.0.0.2");
        let acknowledged = acknowledged.map(|frame| frame.number("tcp.ack")).max();
        assert_eq!(acknowledged, Some(1 + BYTES + 1));
    }
}

/// A late acknowledgement makes the sender retransmit without need, which the receiver reports (RFC
/// 2883).
#[test]
fn duplicates_are_reported() {
    let text = [
        "duration = \"20s\"\n",
        &two_hosts("rate = \"5Mb/s\"\ndelay = \"10ms\"\nloss = 0.1"),
        &flow("upload", ["left", "right"], "tcp", ""),
    ]
    .concat();
    let run = simulate("duplicates", &text);
    let Some(left) = frames(&run.path.join("node-left.pcapng")) else { return };
    assert_sound(&left);
    let right = frames(&run.path.join("node-right.pcapng")).unwrap();
    let data = of_tcp(&right).into_iter().filter(|frame| frame.text("ip.src") == "10.0.0.1");
    let mut arrivals = BTreeMap::<_, u32>::new();
    for frame in data {
        let start = frame.number("tcp.seq");
        *arrivals.entry((start, start + frame.number("tcp.len"))).or_default() += 1;
    }
    let mut reported = 0;
    for frame in left.iter().filter(|frame| frame.has("tcp.options.sack.dsack_le")) {
        let ends = ["le", "re"].map(|end| frame.number(&format!("tcp.options.sack.dsack_{end}")));
        assert!(arrivals[&ends.into()] > 1, "{frame:?}");
        reported += 1;
    }
    assert!(reported > 3, "{reported}");
}

/// Segments that grow with an adaptive MTU are never longer than what the SYN of their
/// receiver allows (RFC 6691: the announced size is without options).
#[test]
fn segments_are_no_longer_than_announced() {
    let text = [
        "duration = \"3s\"\n",
        &access_point("ap", "mtu = \"adaptive\""),
        &station("laptop", ""),
        "[[link]]\nbetween = [\"laptop\", \"ap\"]\nsnr = \"25dB\"\n",
        &flow("download", ["ap", "laptop"], "tcp", "bytes = 20_000_000"),
    ]
    .concat();
    let run = simulate("adaptive", &text);
    let Some(ap) = frames(&run.path.join("node-ap.pcapng")) else { return };
    assert_sound(&ap);
    let tcp = of_tcp(&ap);
    let announced = tcp[1].number("tcp.options.mss_val");
    let longest = tcp.iter().map(|frame| frame.number("ip.len")).max().unwrap();
    assert_eq!(tcp[1].flags(), SYN | ACK);
    assert!(longest > 3_000 && longest <= announced + 40, "{longest} {announced}");
}

/// A connection from our cell to a neighbour's, over the wire between the access points: its
/// frames have the BSSID of the set that they are in, and both access points send beacons.
#[test]
fn frames_of_a_neighbour_have_its_bssid() {
    let [ap, laptop, their_ap, guest] =
        [1, 2, 3, 4].map(|number| format!("02:00:00:00:00:0{number}"));
    let address = |address: &str| format!("address = {address:?}");
    let theirs = |it: &str| format!("{}\nbss = \"next-door\"", address(it));
    let text = [
        "duration = \"2s\"\n",
        &access_point("ap", &address(&ap)),
        &station("laptop", &address(&laptop)),
        &access_point("their-ap", &theirs(&their_ap)),
        &station("guest", &theirs(&guest)),
        &wire(["ap", "their-ap"], "delay = \"5ms\""),
        &flow("upload", ["laptop", "guest"], "tcp", "bytes = 300_000"),
    ]
    .concat();
    let run = simulate("neighbours", &text);
    let Some(air) = frames(&run.path.join("air.pcapng")) else { return };
    let mut sets: BTreeMap<&str, u64> = BTreeMap::new();
    let mut beacons: BTreeMap<&str, u64> = BTreeMap::new();
    for frame in &air {
        let ours = [&ap, &laptop].iter().any(|it| frame.text("wlan.ta") == **it);
        let bssid = frame.text("wlan.bssid");
        if frame.has("tcp.seq") {
            assert_eq!(bssid, if ours { &ap } else { &their_ap }, "{frame:?}");
            *sets.entry(bssid).or_default() += 1;
        } else if frame.text("wlan.fc.type_subtype") == "0x0008" {
            assert_eq!(bssid, frame.text("wlan.ta"));
            *beacons.entry(bssid).or_default() += 1;
        }
    }
    // 207 segments of 1 448 bytes, and acknowledgements.
    assert!(sets.len() == 2 && sets.values().all(|frames| *frames > 207), "{sets:?}");
    let expected = BTreeMap::from([(ap.as_str(), 19), (their_ap.as_str(), 18)]);
    assert_eq!(beacons, expected);
}

//! Neither additional idle parts of a scenario (a station, host, wire or flow) nor the
//! order of its nodes, wires, links and flows changes what the others do, to the
//! nanosecond.

use lasthop_apq::{PhaseRecord, Report};
use lasthop_hosts::{ApqEnding, FrancReport, Sink, TcpSample};
use lasthop_net::network::NetworkStats;
use lasthop_packet::{DropReason, FlowId, NodeId, Packet};
use lasthop_scenario::{Scenario, parse};
use lasthop_sim::{go_on, simulate};
use lasthop_units::{Duration, Instant, Seed};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::fmt::Debug;

/// The tables of a scenario, one string each, so that they can be reordered.
#[derive(Clone, Debug)]
struct Layout {
    head: &'static str,
    nodes: Vec<String>,
    wires: Vec<String>,
    links: Vec<String>,
    flows: Vec<String>,
    francs: Vec<String>,
}

impl Layout {
    fn new(head: &'static str, body: &str) -> Self {
        let of = |kind: &str| {
            let tables = body.split("\n\n").map(str::trim);
            let tables = tables.filter(|table| table.starts_with(&format!("[[{kind}]]")));
            tables.map(str::to_owned).collect()
        };
        let [nodes, wires, links, flows, francs] =
            ["node", "wire", "link", "flow", "franc"].map(of);
        Self { head, nodes, wires, links, flows, francs }
    }

    fn scenario(&self) -> Scenario {
        let Self { head, nodes, wires, links, flows, francs } = self;
        let tables = [nodes, wires, links, flows, francs].into_iter().flatten();
        let tables: Vec<&str> = tables.map(String::as_str).collect();
        let text = format!("{head}\n{}", tables.join("\n"));
        parse("layout.toml", &text, &[]).unwrap_or_else(|why| panic!("{why}\n{text}"))
    }

    /// Records what each node, wire, link and flow did in a run.
    fn run(&self, seed: u64) -> Records {
        let scenario = self.scenario();
        let mut records = Records { scenario: scenario.clone(), lines: BTreeMap::new() };
        let stats =
            simulate(&scenario, Seed::new(seed, 0), &mut records, &mut go_on).expect("it runs");
        records.count(&stats);
        records
    }
}

/// Events by the name of the node, wire, link or flow.
struct Records {
    scenario: Scenario,
    lines: BTreeMap<String, Vec<String>>,
}

impl Records {
    fn node(&self, node: NodeId) -> String {
        self.scenario.nodes[node.index()].name.clone()
    }

    fn note(&mut self, whose: String, line: impl Debug) {
        self.lines.entry(whose).or_default().push(format!("{line:?}"));
    }

    fn note_flow(&mut self, flow: FlowId, line: impl Debug) {
        let name = &self.scenario.flows[usize::from(flow.0)].name;
        self.note(format!("flow {name}"), line);
    }

    fn note_packet(&mut self, what: &str, now: Instant, node: NodeId, packet: &Packet) {
        let node = self.node(node);
        if packet.flow == FlowId::NONE {
            // The tag of a datagram depends on a store that all links share.
            return self.note(format!("datagrams {node}"), (what, now, packet.bytes, packet.parts));
        }
        self.note_flow(packet.flow, (what, now, node, packet.tag, packet.bytes, packet.parts));
    }

    fn count(&mut self, stats: &NetworkStats) {
        for (node, stats) in &stats.stations {
            self.note(format!("station {}", self.node(*node)), stats);
        }
        for (from, to, stats) in &stats.links {
            self.note(format!("link {}-{}", self.node(*from), self.node(*to)), stats);
        }
        for (from, to, stats) in &stats.wires {
            self.note(format!("wire {}-{}", self.node(*from), self.node(*to)), stats);
        }
    }

    /// Asserts that everything recorded here is also recorded in `all`, in the same
    /// way.
    fn are_among(&self, all: &Self) {
        for (whose, lines) in &self.lines {
            let others = all.lines.get(whose).map_or(&[][..], Vec::as_slice);
            if lines != others {
                let mut both = lines.iter().zip(others).enumerate();
                let (at, differ) = both
                    .find(|(_, (one, other))| one != other)
                    .map_or((lines.len().min(others.len()), None), |(at, pair)| (at, Some(pair)));
                panic!(
                    "{whose}: {} and {} lines; line {at} differs: {differ:#?}",
                    lines.len(),
                    others.len()
                );
            }
        }
    }
}

impl Sink for Records {
    fn sent(&mut self, now: Instant, packet: &Packet) {
        self.note_packet("sent", now, packet.source, packet);
    }

    fn arrived(&mut self, now: Instant, node: NodeId, packet: &Packet) {
        self.note_packet("arrived", now, node, packet);
    }

    fn dropped(&mut self, now: Instant, node: NodeId, packet: &Packet, reason: DropReason) {
        self.note_packet(&format!("{reason:?}"), now, node, packet);
    }

    fn round_trip(&mut self, now: Instant, flow: FlowId, rtt: Duration) {
        self.note_flow(flow, (now, rtt));
    }

    fn tcp(&mut self, now: Instant, flow: FlowId, sample: &TcpSample) {
        self.note_flow(flow, (now, sample));
    }

    fn apq_phase(&mut self, now: Instant, flow: FlowId, record: &PhaseRecord) {
        self.note_flow(flow, (now, record));
    }

    fn apq_ended(&mut self, now: Instant, flow: FlowId, ending: &ApqEnding, report: &Report) {
        self.note_flow(flow, (now, ending, report));
    }

    fn carried(&mut self, now: Instant, link: usize, end: NodeId, delay: Duration) {
        let line = (now, self.node(end), delay);
        self.note(format!("coded link {}", self.scenario.francs[link].name), line);
    }

    fn franc(&mut self, now: Instant, link: usize, report: &FrancReport) {
        let nodes: Vec<_> =
            report.nodes.iter().map(|one| (self.node(one.node), &one.stats)).collect();
        let line = format!("{:?}", (now, nodes, report.path, report.corrupt));
        self.note(format!("coded link {}", self.scenario.francs[link].name), line);
    }

    fn queue(&mut self, now: Instant, node: NodeId, packets: u32) {
        self.note(format!("queue {}", self.node(node)), (now, packets));
    }
}

/// Fading, shadowing, rate control, wires with losses and delay, and traffic of every
/// kind.
fn fading() -> Layout {
    let head = r#"
        duration = "400ms"
        series_interval = "20ms"
        [channel]
        fading = { kind = "rayleigh", doppler = "20Hz" }
        path_loss = { shadowing = "4dB" }
        [node_defaults]
        rate_control = { kind = "minstrel-ht" }
        streams = 2
    "#;
    let body = r#"
[[node]]
name = "ap"
role = "access-point"

[[node]]
name = "near"
role = "station"
position = ["8m", "0m"]

[[node]]
name = "far"
role = "station"
position = ["0m", "25m"]

[[node]]
name = "server"
role = "host"
host_cost = { per_packet = "3us" }

[[node]]
name = "mirror"
role = "host"
host_cost = { per_packet = "3us" }

[[wire]]
between = ["server", "ap"]
rate = "100Mb/s"
delay = "2ms"
jitter = "1ms"
loss = { probability = "1%" }

[[wire]]
between = ["mirror", "ap"]
rate = "100Mb/s"
delay = "2ms"
loss = { probability = "2%" }

[[flow]]
name = "download"
from = "server"
to = "near"
kind = "tcp"

[[flow]]
name = "upload"
from = "far"
to = "server"
kind = "tcp"

[[flow]]
name = "poisson"
from = "mirror"
to = "far"
kind = "udp"
rate = "3Mb/s"
pattern = "poisson"

[[flow]]
name = "film"
from = "mirror"
to = "near"
kind = "video"
rate = "4Mb/s"

[[flow]]
name = "ping-one"
from = "server"
to = "near"
kind = "ping"
interval = "10ms"

[[flow]]
name = "ping-two"
from = "mirror"
to = "near"
kind = "ping"
interval = "10ms"
    "#;
    Layout::new(head, body)
}

/// Stations that do not hear each other, all four access categories, and collisions of
/// three and four.
fn hidden() -> Layout {
    let head = r#"
        duration = "300ms"
        series_interval = "20ms"
        [channel]
        capture_margin = "10dB"
        [node_defaults]
        rate_control = { kind = "ideal" }
        edca = { voice = { aifsn = 2, cw_min = 3, cw_max = 7 } }
    "#;
    let mut body = String::from("[[node]]\nname = \"ap\"\nrole = \"access-point\"\n\n");
    for (name, x, y) in
        [("north", 0, 12), ("south", 0, -14), ("east", 16, 0), ("west", -13, 0), ("mid", 3, 2)]
    {
        body += &format!(
            "[[node]]\nname = \"{name}\"\nrole = \"station\"\nposition = [\"{x}m\", \"{y}m\"]\n\n"
        );
        for (category, rate) in [("background", 4), ("best-effort", 6), ("video", 3), ("voice", 1)]
        {
            body += &format!(
                "[[flow]]\nname = \"{category}-{name}\"\nfrom = \"{name}\"\nto = \"ap\"\n\
                 kind = \"udp\"\nrate = \"{rate}Mb/s\"\naccess_category = \"{category}\"\n\n"
            );
        }
    }
    for (one, other) in [("north", "south"), ("east", "west")] {
        body += &format!("[[link]]\nbetween = [\"{one}\", \"{other}\"]\nsnr = \"-30dB\"\n\n");
    }
    body += "[[flow]]\nname = \"full\"\nfrom = \"ap\"\nto = \"mid\"\nkind = \"udp\"\nrate = \"saturated\"\n\n";
    Layout::new(head, &body)
}

/// A station that scans, two that doze, and two that leave at the same instants.
fn absences() -> Layout {
    let head = r#"
        duration = "1500ms"
        series_interval = "20ms"
        [node_defaults]
        rate_control = { kind = "minstrel-ht" }
    "#;
    let body = r#"
[[node]]
name = "ap"
role = "access-point"

[[node]]
name = "laptop"
role = "station"
scan = { start = "200ms", period = "600ms", channels = 2 }

[[node]]
name = "phone"
role = "station"
position = ["20m", "0m"]
power_save = { idle = "50ms", retrieval = "wake" }

[[node]]
name = "watch"
role = "station"
position = ["0m", "20m"]
power_save = { idle = "50ms", retrieval = "ps-poll" }

[[node]]
name = "mac"
role = "station"
position = ["10m", "3m"]
absence = { start = "100ms", away = "40ms", every = "200ms" }

[[node]]
name = "pad"
role = "station"
position = ["3m", "10m"]
absence = [{ start = "100ms", away = "40ms", every = "200ms" }, { start = "1s", away = "30ms", announced = false }]

[[link]]
between = ["ap", "watch"]
loss = "20%"

[[flow]]
name = "stream"
from = "ap"
to = "laptop"
kind = "udp"
rate = "8Mb/s"

[[flow]]
name = "ping-phone"
from = "ap"
to = "phone"
kind = "ping"
interval = "130ms"

[[flow]]
name = "ping-mac"
from = "ap"
to = "mac"
kind = "ping"
interval = "13ms"

[[flow]]
name = "ping-pad"
from = "pad"
to = "ap"
kind = "ping"
interval = "13ms"

[[flow]]
name = "ping-watch"
from = "ap"
to = "watch"
kind = "ping"
interval = "130ms"

[[flow]]
name = "ping-laptop"
from = "laptop"
to = "ap"
kind = "ping"
interval = "130ms"
    "#;
    Layout::new(head, body)
}

/// A coded link with a helper, a link without coding, and a queue that is measured.
fn coded() -> Layout {
    let head = r#"
        duration = "1500ms"
        series_interval = "50ms"
        [channel]
        standard = "802.11g"
        independent = true
        [node_defaults]
        rate_control = { kind = "fixed", rate = "12Mb/s" }
    "#;
    let body = r#"
[[node]]
name = "gateway"
role = "access-point"
position = ["0m", "0m"]

[[node]]
name = "neighbour"
role = "station"
position = ["10m", "5m"]

[[node]]
name = "roof"
role = "station"
position = ["20m", "0m"]

[[node]]
name = "shed"
role = "station"
position = ["5m", "15m"]

[[node]]
name = "barn"
role = "station"
position = ["15m", "15m"]

[[node]]
name = "server"
role = "host"

[[node]]
name = "laptop"
role = "host"

[[wire]]
between = ["server", "gateway"]
delay = "5ms"

[[wire]]
between = ["roof", "laptop"]

[[franc]]
name = "hop"
ends = ["gateway", "roof"]
helpers = ["neighbour"]
loss = [
    { between = ["gateway", "roof"], loss = "40%" },
    { between = ["gateway", "neighbour"], loss = "20%" },
    { between = ["neighbour", "roof"], loss = "20%" },
]

[[franc]]
name = "bare"
ends = ["shed", "barn"]
mode = "plain"
loss = [{ between = ["shed", "barn"], loss = "20%" }]

[[flow]]
name = "download"
from = "server"
to = "laptop"
kind = "tcp"

[[flow]]
name = "ping"
from = "laptop"
to = "server"
kind = "ping"
interval = "20ms"

[[flow]]
name = "datagrams"
from = "shed"
to = "barn"
kind = "udp"
rate = "500kb/s"

[[flow]]
name = "answers"
from = "barn"
to = "shed"
kind = "udp"
rate = "300kb/s"
    "#;
    Layout::new(head, body)
}

/// Three sets of 802.11ax that hear each other: older and narrower stations, uplink and downlink
/// OFDMA, MU-MIMO, power save by service periods, spatial reuse, operating modes that several
/// stations change at once.
fn cells() -> Layout {
    let head = r#"
        duration = "500ms"
        series_interval = "20ms"
        [channel]
        standard = "802.11ax"
        width = "40MHz"
        [[cell]]
        name = "upstairs"
        spatial_reuse = "-72dBm"
        [[cell]]
        name = "downstairs"
        spatial_reuse = "-72dBm"
        [[change]]
        at = "150ms"
        [change.set]
        node.laptop.operating_mode = { width = "20MHz", streams = 1 }
        node.tablet.operating_mode = { streams = 1, uplink_ofdma = false }
        node.upstairs-laptop.operating_mode = { width = "20MHz" }
        node.upstairs-tablet.operating_mode = { width = "20MHz" }
        node.upstairs-phone.operating_mode = { streams = 1 }
        node.downstairs-tablet.operating_mode = { transmit_streams = 1 }
        [[change]]
        at = "300ms"
        [change.set]
        node.laptop.operating_mode = "off"
        node.upstairs-tablet.operating_mode = "off"
        node.downstairs-laptop.operating_mode = { width = "20MHz", streams = 1 }
    "#;
    let mut body = String::new();
    for (bss, x, keys) in [
        ("", 0, "ofdma = { stations = 4, uplink = { buffer_reports = \"off\" } }"),
        ("upstairs", 18, "mu_mimo = { stations = 2 }"),
        ("downstairs", 33, "ofdma = { stations = 2, uplink = { buffer_reports = \"5ms\" } }"),
    ] {
        let (prefix, set) = match bss {
            "" => (String::new(), String::new()),
            _ => (format!("{bss}-"), format!("bss = \"{bss}\"\n")),
        };
        let mut node = |name: &str, role: &str, y: u32, keys: &str| {
            body += &format!(
                "[[node]]\nname = \"{prefix}{name}\"\nrole = \"{role}\"\n{set}\
                 position = [\"{x}m\", \"{y}m\"]\n{keys}\n\n"
            );
        };
        node("ap", "access-point", 0, keys);
        node("laptop", "station", 3, "");
        node("old", "station", 5, "standard = \"802.11n\"\nwidth = \"20MHz\"");
        node("phone", "station", 2, "power_save = { kind = \"u-apsd\" }");
        node("sensor", "station", 9, "power_save = { kind = \"twt\", wake_interval = \"20ms\" }");
        node("tablet", "station", 4, "");
        for (name, from, to, what) in [
            ("down", "ap", "laptop", "kind = \"udp\"\nrate = \"60Mb/s\"\npattern = \"poisson\""),
            ("film", "ap", "tablet", "kind = \"video\""),
            ("up", "tablet", "ap", "kind = \"tcp\""),
            ("up-too", "laptop", "ap", "kind = \"udp\"\nrate = \"20Mb/s\""),
            ("old", "old", "ap", "kind = \"udp\"\nrate = \"3Mb/s\""),
            ("voice", "phone", "ap", "kind = \"ping\"\ninterval = \"20ms\""),
            ("value", "ap", "sensor", "kind = \"ping\"\ninterval = \"50ms\""),
        ] {
            body += &format!(
                "[[flow]]\nname = \"{prefix}{name}\"\nfrom = \"{prefix}{from}\"\n\
                 to = \"{prefix}{to}\"\n{what}\n\n"
            );
        }
    }
    Layout::new(head, &body)
}

fn all() -> [Layout; 5] {
    [fading(), hidden(), absences(), coded(), cells()]
}

/// Adds idle parts to a layout, at index `at` of each list.
fn with_idle(layout: &Layout, at: usize) -> Layout {
    let mut layout = layout.clone();
    let put = |list: &mut Vec<String>, what: &str| {
        let place = at.min(list.len());
        list.insert(place, what.to_owned());
    };
    // Close to all others, or where nobody hears it or decodes anything.
    let meters = 6 + 25 * at.min(4);
    let station = format!("role = \"station\"\nposition = [\"{meters}m\", \"-3m\"]");
    let end = layout.scenario().duration.as_nanos();
    put(&mut layout.nodes, &format!("[[node]]\nname = \"idle\"\n{station}"));
    put(&mut layout.nodes, "[[node]]\nname = \"spare\"\nrole = \"host\"");
    let peer = if layout.head.contains("independent") { "gateway" } else { "ap" };
    put(
        &mut layout.wires,
        &format!(
            "[[wire]]\nbetween = [\"spare\", \"{peer}\"]\ndelay = \"2ms\"\nloss = {{ probability = \"5%\" }}"
        ),
    );
    let never = "rate = \"1b/s\"\npattern = \"poisson\"".to_owned();
    let too_late = format!("rate = \"saturated\"\nstart = \"{}ns\"", end - 1);
    for (name, from, to, when) in [
        ("idle-down", peer, "idle", &never),
        ("idle-up", "idle", peer, &too_late),
        ("idle-far", "spare", "idle", &too_late),
    ] {
        let ends = format!("from = \"{from}\"\nto = \"{to}\"");
        put(
            &mut layout.flows,
            &format!(
                "[[flow]]\nname = \"{name}\"\n{ends}\nkind = \"udp\"\n{when}\n\
                 access_category = \"video\""
            ),
        );
    }
    layout
}

#[test]
fn what_does_nothing_changes_nothing() {
    for layout in all() {
        let alone = layout.run(1);
        for at in [0, 1, usize::MAX] {
            alone.are_among(&with_idle(&layout, at).run(1));
        }
    }
}

#[test]
fn a_run_backwards_is_the_same_run() {
    for layout in all() {
        let mut reversed = layout.clone();
        let Layout { nodes, wires, links, flows, francs, .. } = &mut reversed;
        [nodes, wires, links, flows, francs].into_iter().for_each(|list| list.reverse());
        layout.run(2).are_among(&reversed.run(2));
        reversed.run(2).are_among(&layout.run(2));
    }
}

/// Stations that get packets by one change get them one after the other, and the first may begin
/// before the next. These runs show which one is the first.
#[test]
fn changes_are_made_in_an_order_of_their_own() {
    let layout = cells();
    let mut reversed = layout.clone();
    let Layout { nodes, flows, .. } = &mut reversed;
    [nodes, flows].into_iter().for_each(|list| list.reverse());
    for seed in [29, 39, 53] {
        layout.run(seed).are_among(&reversed.run(seed));
    }
}

/// A packet that arrives again in an A-MPDU is dropped when its MPDU is in, at any next wake-up: in
/// this run a source that begins at the end, or an idle one.
#[test]
fn a_duplicate_is_dropped_when_it_arrives() {
    let (layout, seed) = (hidden(), 4_153_209_875_683_668_548);
    let alone = layout.run(seed);
    alone.are_among(&with_idle(&layout, 3).run(seed));
    let dropped = alone.lines.values().flatten().filter(|line| line.contains("\"Duplicate\""));
    assert!(dropped.count() > 0);
}

/// The layouts are not trivial: their flows deliver, collide and lose packets, and each counter is
/// above zero at some node.
#[test]
fn the_runs_have_what_can_differ() {
    for (layout, wanted) in
        all().iter().zip(["WireLoss", "collisions: ", "ps_polls: ", "CodedLink", "triggers: "])
    {
        let records = layout.run(1);
        let text = format!("{:?}", records.lines);
        let mut behind = text.split(wanted).skip(1);
        assert!(behind.any(|rest| !rest.starts_with('0')), "{wanted}");
        assert!(text.matches("arrived").count() > 100, "{wanted}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, ..ProptestConfig::default() })]
    #[test]
    fn no_order_changes_anything(
        which in 0..5usize,
        keys in prop::collection::vec(any::<u64>(), 40),
        idle in prop::option::of(0..5usize),
        seed in any::<u64>(),
    ) {
        let layout = &all()[which];
        let mut other = match idle {
            Some(at) => with_idle(layout, at),
            None => layout.clone(),
        };
        let Layout { nodes, wires, links, flows, francs, .. } = &mut other;
        for list in [nodes, wires, links, flows, francs] {
            let mut keyed: Vec<_> = list.drain(..).zip(keys.iter().cycle()).collect();
            keyed.sort_by_key(|(_, key)| **key);
            list.extend(keyed.into_iter().map(|(table, _)| table));
        }
        layout.run(seed).are_among(&other.run(seed));
    }
}

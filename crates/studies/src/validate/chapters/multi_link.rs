//! Devices of several links against ns-3 3.48: saturated goodput, the share of the first link, and
//! the delay of a flow beside busy links. Targets: goodput and shares within 5 %, delays within 10 %,
//! and beyond that within the chance of one run of ns-3's length.

use super::SEED;
use crate::Verdict;
use crate::table::{Row, Table, ratio};
use crate::validate::data::{self, BE_MLO, BE_MLO_LATENCY, Record};
use lasthop_hosts::sink::Sink;
use lasthop_packet::{NodeId, Packet};
use lasthop_scenario::Scenario;
use lasthop_units::{Duration, Instant, Seed};
use lasthop_wifi::mac::sizes;
use lasthop_wifi::phy::{ChannelWidth, ErrorModel, HeGuardInterval, Rate, Standard};
use std::fmt::Write as _;

const TARGET: f64 = 0.05;
const TARGET_DELAY: f64 = 0.1;
/// Two standard deviations of a run as long as ns-3's.
const SPREADS: f64 = 2.0;
/// Most that chance may explain.
const SPREAD_MAX: f64 = 0.2;
const SHORT_RUNS: u64 = 24;
const WARMUP: Duration = Duration::from_millis(300);
const LONG: Duration = Duration::from_secs(6);

pub(super) fn goodput() -> Table {
    Table {
        title: "802.11be, several links",
        text: "One or several devices of two or three links, saturated, EHT MCS 9, one stream; some \
               beside an older set on one link, or with losses on the first. *Share*: of the MPDUs \
               sent, on the first link. Ours is a run of 6 s, ns-3's of 0.6 s. Target: both within 5 \
               %, or two standard deviations of our runs of ns-3's length, up to 20 %."
            .into(),
        columns: vec![
            "links", "mode", "to", "devices", "window", "beside", "Mb/s", "ns-3", "ratio", "share",
            "ns-3", "ratio",
        ],
        rows: data::records(BE_MLO).iter().filter_map(goodput_row).collect(),
        notes: vec![
            "ns-3's EMLSR devices have an auxiliary PHY as wide as the link; the row with auxiliary \
             PHYs of 20 MHz is left out. Losses are the share of ns-3's MPDUs that were not \
             acknowledged; the SNR follows from them by our curves. MPDUs are not given up in ns-3: ours have 255 attempts."
                .into(),
        ],
    }
}

pub(super) fn latency() -> Table {
    Table {
        title: "802.11be, delays over several links",
        text: "One flow of 5 Mb/s with payloads of 1 000 bytes, beside saturated sets of 802.11ax on \
               the first link or on both. Ours is a run of 30 s, ns-3's of 3 s. Target: within 10 %, \
               or two standard deviations of our runs of ns-3's length, up to 20 %."
            .into(),
        columns: vec![
            "links", "mode", "to", "beside", "delay", "ms", "ns-3", "ratio", "spread", "below",
        ],
        rows: data::records(BE_MLO_LATENCY).iter().flat_map(latency_rows).collect(),
        notes: vec![
            "*Below*: our runs of ns-3's length whose delay is below ns-3's; its one run is a draw. \
             Behind several collisions in a row a packet waits for hundreds of milliseconds, which \
             decides the tails of 3 s. Of packets each 1.6 ms each 64th one meets a beacon, or \
             none, by their phase.".into(),
        ],
    }
}

fn goodput_row(record: &Record) -> Option<Row> {
    if record.text("mlo") == "EMLSR" && record.number("aux_bw_mhz") < 80.0 {
        return None;
    }
    let long = run(record, 0, LONG);
    let short = Duration::from_millis((record.number("sim_s") * 1e3) as u64);
    let all: Vec<DeviceRun> = (1..=SHORT_RUNS).map(|number| run(record, number, short)).collect();
    let (theirs, share) = (record.number("goodput_mbps"), record.number("l0_share"));
    let spread = |of: fn(&DeviceRun) -> f64| spread(all.iter().map(of));
    let is_near = |ours: f64, theirs: f64, spread: f64| {
        (ours / theirs - 1.0).abs() <= TARGET.max((SPREADS * spread).min(SPREAD_MAX))
    };
    let verdict = Verdict::pass_if(
        is_near(long.goodput_mbps, theirs, spread(|run| run.goodput_mbps))
            && is_near(long.share, share, spread(|run| run.share)),
    );
    let cells = vec![
        links_of(record),
        record.text("mlo").into(),
        record.text("dir").into(),
        record.text("n_sta").into(),
        record.text("ba_window").into(),
        beside(record),
        format!("{:.1}", long.goodput_mbps),
        format!("{theirs:.1}"),
        ratio(long.goodput_mbps, theirs),
        format!("{:.3}", long.share),
        format!("{share:.3}"),
        ratio(long.share, share),
    ];
    Some((cells, verdict))
}

fn latency_rows(record: &Record) -> Vec<Row> {
    let short = Duration::from_millis((record.number("sim_s") * 1e3) as u64);
    let long = run(record, 0, short * 10);
    let all: Vec<DeviceRun> = (1..=SHORT_RUNS).map(|number| run(record, number, short)).collect();
    let quantiles = [("p50", 0.5), ("p95", 0.95), ("p99", 0.99)];
    let row = |(name, quantile): (&str, f64)| {
        let ours = long.delay_ms(quantile);
        let theirs = record.number(&format!("delay_{name}_ms"));
        let spread = spread(all.iter().map(|run| run.delay_ms(quantile)));
        let off = (ours / theirs - 1.0).abs();
        let below = all.iter().filter(|run| run.delay_ms(quantile) < theirs).count();
        let cells = vec![
            links_of(record),
            record.text("mlo").into(),
            record.text("dir").into(),
            beside(record),
            name.into(),
            format!("{ours:.3}"),
            format!("{theirs:.3}"),
            ratio(ours, theirs),
            format!("{:.0} %", 100.0 * spread),
            format!("{below} of {SHORT_RUNS}"),
        ];
        (cells, Verdict::pass_if(off <= TARGET_DELAY.max((SPREADS * spread).min(SPREAD_MAX))))
    };
    quantiles.map(row).into()
}

/// Standard deviation over the mean.
fn spread(runs: impl Iterator<Item = f64> + Clone) -> f64 {
    let n = runs.clone().count() as f64;
    let mean = runs.clone().sum::<f64>() / n;
    let squares: f64 = runs.map(|run| (run - mean).powi(2)).sum();
    (squares / (n - 1.0)).sqrt() / mean
}

fn links_of(record: &Record) -> String {
    let link = |link: &str| link.split_once(':').map(|(band, mhz)| format!("{mhz} at {band}"));
    record.text("links").split('+').filter_map(link).collect::<Vec<_>>().join(", ")
}

fn beside(record: &Record) -> String {
    if record.text("busy") == "none" {
        let losses = losses(record);
        return losses.map_or("-".into(), |loss| format!("{:.0} % lost", 100.0 * loss));
    }
    format!(
        "{} of 802.11{} on {}, {}",
        record.text("busy_n"),
        record.text("busy"),
        record.text("busy_link"),
        record.text("busy_dir")
    )
}

/// Share of the first link's MPDUs that were lost, where a row has losses.
fn losses(record: &Record) -> Option<f64> {
    let loss = record.number("nacked_mpdus") / record.number("l0_mpdus");
    Some(loss).filter(|_| record.text("label") == "mlo_loss")
}

/// Results of a run.
struct DeviceRun {
    goodput_mbps: f64,
    /// Share of the first link in the MPDUs sent.
    share: f64,
    /// Delays in ascending order, in nanoseconds.
    delays: Vec<u64>,
}

impl DeviceRun {
    fn delay_ms(&self, quantile: f64) -> f64 {
        let index = (self.delays.len() as f64 * quantile).ceil() as usize;
        self.delays.get(index.saturating_sub(1)).map_or(f64::NAN, |ns| *ns as f64 / 1e6)
    }
}

/// Runs the scenario of a row.
fn run(record: &Record, number: u64, duration: Duration) -> DeviceRun {
    let text = toml(record, duration);
    let scenario = lasthop_scenario::parse("multi-link.toml", &text, &[])
        .unwrap_or_else(|error| panic!("rows make sound scenarios: {error:?}\n{text}"));
    let is_own = |name: &str| name.starts_with("data");
    let own: Vec<bool> = scenario.flows.iter().map(|flow| is_own(&flow.name)).collect();
    let mut tally = DeviceTally { from: Instant::ZERO + WARMUP, own, delays: Vec::new() };
    let seed = Seed::new(SEED, number);
    let stats = lasthop_sim::simulate(&scenario, seed, &mut tally, &mut lasthop_sim::go_on);
    let stats = stats.expect("UDP over one cell can be simulated");
    let is_device = |node: NodeId, scenario: &Scenario| {
        let name = &scenario.nodes[node.index()].name;
        name == "ap" || name.starts_with("sta")
    };
    let own = stats.links.iter().filter(|(from, ..)| is_device(*from, &scenario));
    let (mut first, mut all) = (0, 0);
    for (_, _, link) in own {
        all += link.mpdus;
        first += if link.link == 0 { link.mpdus } else { 0 };
    }
    let mut delays = tally.delays;
    delays.sort_unstable();
    let bits = delays.len() as f64 * record.number("payload_bytes") * 8.0;
    DeviceRun {
        goodput_mbps: bits / duration.as_secs_f64() / 1e6,
        share: f64::from(first as u32) / f64::from((all as u32).max(1)),
        delays,
    }
}

/// Delays of the packets of these flows that arrive after the warm-up.
struct DeviceTally {
    from: Instant,
    own: Vec<bool>,
    delays: Vec<u64>,
}

impl Sink for DeviceTally {
    fn arrived(&mut self, now: Instant, _node: NodeId, packet: &Packet) {
        let is_own = self.own.get(packet.flow.0 as usize).copied().unwrap_or(false);
        if now >= self.from && is_own {
            self.delays.push((now - packet.created).as_nanos());
        }
    }
}

/// The scenario file of a row, in the form in which a user would write it.
fn toml(record: &Record, duration: Duration) -> String {
    let links: Vec<(&str, &str)> =
        record.text("links").split('+').filter_map(|link| link.split_once(':')).collect();
    let loss = losses(record);
    let (window, payload) = (record.text("ba_window"), record.whole("payload_bytes") + 28);
    let mut text = format!(
        r#"warmup = "{WARMUP}"
duration = "{end}"

[channel]
standard = "802.11be"
band = "{band}GHz"
width = "{width}MHz"
basic_rates = ["6Mb/s", "12Mb/s", "24Mb/s"]
capture_margin = "5dB"
"#,
        end = WARMUP + duration,
        band = links[0].0,
        width = links[0].1,
    );
    for (band, width) in &links[1..] {
        let snr = if loss.is_some() { "snr = \"60dB\"\n" } else { "" };
        let _ =
            write!(text, "\n[[channel.link]]\nband = \"{band}GHz\"\nwidth = \"{width}MHz\"\n{snr}");
    }
    let emlsr = match record.text("mlo") {
        "EMLSR" => format!(
            "multi_link = \"emlsr\"\nemlsr = {{ padding = \"{}us\", transition = \"{}us\" }}\n",
            record.text("emlsr_pad_us"),
            record.text("emlsr_trans_us")
        ),
        _ => String::new(),
    };
    // 2.4 GHz has shorter A-MPDUs, which no row reaches.
    let ampdu = if links[0].0 == "2.4" { "" } else { "ampdu_bytes_max = 15523200" };
    let own = format!(
        "rate_control = {{ kind = \"fixed\", mcs = 9 }}\nretry_limit = 255\n\
         aggregation = {{ {ampdu} }}\n\
         block_ack = {{ request = \"after-missing\", window = {window} }}\n"
    );
    let _ = write!(
        text,
        r#"
[node_defaults]
tx_power = "16.02dBm"
streams = 1
queue = {{ kind = "drop-tail", packets = {packets} }}

[[node]]
name = "ap"
role = "access-point"
{own}
"#,
        packets = record.text("target_pkts"),
    );
    let busy: Vec<usize> = match (record.text("busy"), record.text("busy_link")) {
        ("none", _) => Vec::new(),
        (_, "all") => (0..links.len()).collect(),
        (_, link) => vec![link.parse().expect("a link has a number")],
    };
    let (own_stations, busy_stations) = (record.whole("n_sta"), record.whole("busy_n"));
    let mut circle = Circle::new(own_stations + busy_stations * busy.len() as u32);
    circle.put(&mut text, "sta", own_stations, &format!("{own}{emlsr}"));
    if let Some(loss) = loss {
        let rate = Rate::eht(9, 1, ChannelWidth::Mhz80, HeGuardInterval::Ns800Ltf2x);
        let rate = rate.expect("EHT MCS 9 in 80 MHz exists");
        let curves = ErrorModel::usual(Standard::Dot11be);
        let snr = curves.sensitivity_snr(rate, loss, sizes::mpdu(payload, true));
        let _ =
            write!(text, "\n[[link]]\nbetween = [\"ap\", \"sta*\"]\nsnr = \"{:.3}dB\"\n", snr.0);
    }
    for link in &busy {
        busy_set(&mut text, &mut circle, record, *link);
    }
    let rate = match record.number("cbr_mbps") {
        0.0 => "saturated".to_owned(),
        rate => format!("{}Mb/s", rate * f64::from(payload) / record.number("payload_bytes")),
    };
    let all = |prefix: &str, count: &str| match count {
        "1" => format!("{prefix}1"),
        _ => format!("{prefix}*"),
    };
    let mut flow = |name: &str, ends: [String; 2], is_up: bool, rate: &str, bytes: u32| {
        let [near, far] = ends;
        let (from, to) = if is_up { (far, near) } else { (near, far) };
        let _ = write!(
            text,
            "\n[[flow]]\nname = \"{name}\"\nfrom = \"{from}\"\nto = \"{to}\"\nkind = \"udp\"\n\
             rate = \"{rate}\"\npacket_bytes = {bytes}\n"
        );
    };
    let is_up = record.text("dir") == "ul";
    flow("data", ["ap".into(), all("sta", record.text("n_sta"))], is_up, &rate, payload);
    for link in busy {
        let ends = [format!("b{link}-ap"), all(&format!("b{link}-sta"), record.text("busy_n"))];
        let is_up = record.text("busy_dir") == "ul";
        flow(&format!("busy{link}"), ends, is_up, "saturated", 1500);
    }
    text
}

/// The circle on which ns-3's stations stand, at equal distances, with all access points in its
/// middle.
struct Circle {
    stations: u32,
    placed: u32,
}

impl Circle {
    fn new(stations: u32) -> Self {
        Self { stations, placed: 0 }
    }

    /// Adds the next stations.
    fn put(&mut self, text: &mut String, name: &str, count: u32, settings: &str) {
        for number in 1..=count {
            let angle = f64::from(self.placed) * std::f64::consts::TAU / f64::from(self.stations);
            self.placed += 1;
            let (x, y) = (angle.cos(), angle.sin());
            let _ = write!(
                text,
                "\n[[node]]\nname = \"{name}{number}\"\nrole = \"station\"\n\
                 position = [\"{x:.6}m\", \"{y:.6}m\"]\n{settings}"
            );
        }
    }
}

/// Adds an older set on a link, with a packet for each of its stations at any time.
fn busy_set(text: &mut String, circle: &mut Circle, record: &Record, link: usize) {
    let settings = match (record.text("busy"), record.whole("busy_ampdu")) {
        ("a", _) => {
            "standard = \"802.11a\"\nrate_control = { kind = \"fixed\", rate = \"54Mb/s\" }\n"
                .to_owned()
        }
        (_, ampdu) => {
            let window = if ampdu > 65_535 { 256 } else { 64 };
            format!(
                "standard = \"802.11ax\"\nrate_control = {{ kind = \"fixed\", mcs = 7 }}\n\
                 aggregation = {{ ampdu_bytes_max = {ampdu} }}\n\
                 block_ack = {{ request = \"after-missing\", window = {window} }}\n"
            )
        }
    };
    let place = if link == 0 { "channel = 36".to_owned() } else { format!("link = {link}") };
    let settings = format!("bss = \"b{link}\"\n{settings}");
    let _ = write!(
        text,
        r#"
[[node]]
name = "b{link}-ap"
role = "access-point"
{settings}
[[cell]]
name = "b{link}"
{place}
"#
    );
    circle.put(text, &format!("b{link}-sta"), record.whole("busy_n"), &settings);
}

//! TCP over a Wi-Fi hop, against ns-3: one bulk flow with queues of several lengths.
//! Target: goodput within 3 % and delay of the hop within 10 %; over a wire of 20 ms,
//! goodput within 10 %.

use super::SEED;
use crate::Verdict;
use crate::table::{Row, Table, is_within, ratio};
use crate::validate::data::{self, Record, TCP, TCP_QUEUE, TCP_WIRE};
use lasthop_fixtures::{flow, hop};
use lasthop_hosts::{Sink, TcpSample};
use lasthop_packet::{FlowId, NodeId, Packet};
use lasthop_units::{Duration, Instant, Seed};

const GOODPUT_TARGET: f64 = 0.03;
const DELAY_TARGET: f64 = 0.1;
/// Largest deviation of goodput over the long wire, where the first second affects the
/// whole run.
const LONG_WIRE_TARGET: f64 = 0.1;
/// Delay in ms of the wire in `tcp.csv` and `tcp_queue.csv` whose rows have a
/// separate table.
const LONG_WIRE_MS: u32 = 20;
/// Number of runs. With a queue of 1 000 packets one run in five loses its first burst,
/// and its delay stays at three quarters of the others' for the rest of its 10 s.
const RUNS: u64 = 20;
/// Number of runs over the long wire.
const LONG_WIRE_RUNS: u64 = 12;
/// Windows that do not limit data in flight, as in ns-3's runs. The defaults, 3 and
/// 4 MiB, are less than slow start has in flight over the long wire.
const NO_BOUND: &str = ", receive_window = \"32MiB\", send_window = \"32MiB\"";

pub(super) fn table() -> Table {
    let records = data::records(TCP).into_iter().chain(data::records(TCP_QUEUE));
    Table {
        title: "TCP, ns-3's",
        text: format!(
            "One bulk flow for 20 s (10 s with a bound other than 500) over HT MCS 15, 40 MHz, \
             short guard interval, two streams; server behind 1 Gb/s and the wire's delay; \
             *bound*: the limit of both device queues in packets; MSS 1 448 bytes, one \
             acknowledgement for two segments. Ours: mean of {RUNS} runs. Target at a wire of less \
             than {LONG_WIRE_MS} ms: goodput within 3 %, mean delay of the hop (queue and air) \
             within 10 %; the longer wire has its own table."
        ),
        columns: vec![
            "cc", "dir", "bound", "wire, ms", "Mb/s", "ns-3", "ratio", "hop, ms", "ns-3", "ratio",
            "queue", "ns-3", "cwnd", "ns-3", "lost", "ns-3",
        ],
        rows: records.map(|record| row(&record)).collect(),
        notes: NOTES.map(String::from).to_vec(),
    }
}

fn row(record: &Record) -> Row {
    let number = |name: &str| record.number(name);
    let ours = TcpRuns::measure(
        &TcpCase { record, hystart: "linux", windows: "", from: Duration::ZERO },
        RUNS,
    );
    let (goodput, hop) = (ours.mean(|run| run.goodput_mbps), ours.mean(|run| run.hop_mean_ms));
    let is_inside = is_within(goodput, number("goodput_mbps"), GOODPUT_TARGET)
        && is_within(hop, number("wifi_hop_mean_ms"), DELAY_TARGET);
    let cells = vec![
        record.text("cc").to_owned(),
        if record.text("dir") == "ul" { "up" } else { "down" }.to_owned(),
        record.text("queue_pkts").to_owned(),
        record.text("wire_delay_ms").to_owned(),
        format!("{goodput:.2}"),
        format!("{:.2}", number("goodput_mbps")),
        ratio(goodput, number("goodput_mbps")),
        format!("{hop:.2}"),
        format!("{:.2}", number("wifi_hop_mean_ms")),
        ratio(hop, number("wifi_hop_mean_ms")),
        format!("{:.1}", ours.mean(|run| run.queue_mean_packets)),
        format!("{:.1}", number("queue_mean_pkts")),
        format!("{:.0}", ours.mean(|run| run.window_mean_packets)),
        format!("{:.0}", number("cwnd_mean_bytes") / number("mss")),
        format!("{:.0}", ours.mean(|run| run.retransmissions)),
        record.text("retx_segments").to_owned(),
    ];
    let is_judged = record.whole("wire_delay_ms") != LONG_WIRE_MS;
    (cells, if is_judged { Verdict::pass_if(is_inside) } else { Verdict::Listed })
}

const NOTES: [&str; 1] = [
    "*lost*: retransmitted segments. Most of ours belong to the first slow start. ns-3's figures \
     omit the first seconds: see the next table.",
];

/// The table of the long wire, on which slow start determines the rest of a run.
pub(super) fn long_wire() -> Table {
    let records = data::records(TCP_WIRE);
    let mut rows = Vec::new();
    for record in records.iter().filter(|record| record.text("run") == "1") {
        let same = |other: &&Record| {
            ["cc", "dir", "queue_pkts", "from_s"].iter().all(|c| other.text(c) == record.text(c))
        };
        let theirs: Vec<&Record> = records.iter().filter(same).collect();
        rows.push(long_wire_row(record, &theirs));
    }
    Table {
        title: "TCP over a wire of 20 ms, ns-3's",
        text: format!(
            "The same flow with {LONG_WIRE_MS} ms of wire, for 20 s (10 s with 1 000 packets) from \
             its start or from 2 s after it. Neither end limits the data in flight; HyStart is off \
             in ours. Ours: mean and standard deviation of {LONG_WIRE_RUNS} runs. ns-3's: every \
             run, numbered from 1. Target from 2 s on, for CUBIC: goodput and delay within 10 % of \
             the mean of ns-3's runs. Rows outside by less than two standard errors are listed \
             without a verdict, because these runs do not decide them."
        ),
        columns: vec![
            "cc",
            "dir",
            "bound",
            "from, s",
            "Mb/s",
            "ns-3",
            "ratio",
            "hop, ms",
            "ns-3",
            "ratio",
            "cwnd",
            "ns-3",
            "lost",
            "ns-3",
            "HyStart: Mb/s",
            "hop, ms",
        ],
        rows,
        notes: LONG_WIRE_NOTES.map(String::from).to_vec(),
    }
}

fn long_wire_row(record: &Record, theirs: &[&Record]) -> Row {
    let from = Duration::from_secs(record.whole("from_s").into());
    let of = |hystart| {
        TcpRuns::measure(&TcpCase { record, hystart, windows: NO_BOUND, from }, LONG_WIRE_RUNS)
    };
    let is_cubic = record.text("cc") == "TcpCubic";
    let (ours, hystart) = (of("off"), is_cubic.then(|| of("linux")));
    let mean =
        |name: &str| theirs.iter().map(|run| run.number(name)).sum::<f64>() / theirs.len() as f64;
    let all = |name: &str, digits: usize| {
        let runs: Vec<_> =
            theirs.iter().map(|run| format!("{:.digits$}", run.number(name))).collect();
        runs.join(", ")
    };
    let (goodput, hop) = (ours.mean(|run| run.goodput_mbps), ours.mean(|run| run.hop_mean_ms));
    let optional = |quantity: fn(&TcpMeasured) -> f64| {
        hystart.as_ref().map_or("-".to_owned(), |runs| format!("{:.2}", runs.mean(quantity)))
    };
    let cells = vec![
        record.text("cc").to_owned(),
        if record.text("dir") == "ul" { "up" } else { "down" }.to_owned(),
        record.text("queue_pkts").to_owned(),
        record.text("from_s").to_owned(),
        format!("{goodput:.2} +- {:.2}", ours.deviation(|run| run.goodput_mbps)),
        all("goodput_mbps", 2),
        ratio(goodput, mean("goodput_mbps")),
        format!("{hop:.2} +- {:.2}", ours.deviation(|run| run.hop_mean_ms)),
        all("wifi_hop_mean_ms", 2),
        ratio(hop, mean("wifi_hop_mean_ms")),
        format!("{:.0}", ours.mean(|run| run.window_mean_packets)),
        all("cwnd_mean_pkts", 0),
        format!("{:.0}", ours.mean(|run| run.retransmissions)),
        all("retx_segments", 0),
        optional(|run| run.goodput_mbps),
        optional(|run| run.hop_mean_ms),
    ];
    // Whether the difference is less than two standard errors, estimated from the runs
    // of both sides.
    let is_chance = |name: &str, quantity: fn(&TcpMeasured) -> f64| {
        let squares: f64 = theirs.iter().map(|run| (run.number(name) - mean(name)).powi(2)).sum();
        let count = theirs.len() as f64;
        let variance = squares / (count - 1.0) / count
            + ours.deviation(quantity).powi(2) / (LONG_WIRE_RUNS - 1) as f64;
        (ours.mean(quantity) - mean(name)).abs() <= 2.0 * variance.sqrt()
    };
    let is_inside = is_within(goodput, mean("goodput_mbps"), LONG_WIRE_TARGET)
        && is_within(hop, mean("wifi_hop_mean_ms"), DELAY_TARGET);
    let is_unknown = is_chance("goodput_mbps", |run| run.goodput_mbps)
        && is_chance("wifi_hop_mean_ms", |run| run.hop_mean_ms);
    let is_judged = is_cubic && theirs.len() > 1 && !from.is_zero();
    let verdict = match is_judged {
        true if is_inside => Verdict::Pass,
        true if !is_unknown => Verdict::Fail,
        _ => Verdict::Listed,
    };
    (cells, verdict)
}

const LONG_WIRE_NOTES: [&str; 4] = [
    "An earlier comparison of single rows of ns-3 on this wire with whole runs of ours gave 0.90 \
     to 0.94 of the goodput and 0.52 to 0.62 of the delay, for three reasons. (1) Those rows omit \
     the first seconds: their NewReno has a largest window of 688 segments and no retransmissions, \
     a run from its start 1 829 and 610. So ns-3 does not cut slow start short. (2) Our receiver's \
     window of 3 MiB, 2 172 segments, is less than slow start has in flight with 1 000 packets of \
     queue. With it four of eight runs without HyStart leave slow start with about 1 050 segments \
     and four with 1 450 (delay 10 to 13 ms, or 31 to 35). ns-3 had no such limit. (3) One run is \
     not enough: with 500 packets ns-3's own runs differ by more than a factor of two in the \
     delay, and the mean of four has an uncertainty of a fifth. The uplink was not measured anew.",
    "ns-3's HyStart never ends slow start here: runs without it gave the same figures to the last \
     digit. It counts acknowledgements at most 2 ms apart as one train, but A-MPDUs of 42 MPDUs \
     are further apart; and it requires twice the smallest smoothed round trip (Linux: an eighth \
     more). Ours is therefore judged with HyStart off; with Linux' HyStart window and delay after \
     slow start are smaller.",
    "From the start ns-3's goodput is lower: after slow start's losses its sender waits, in six of \
     eight runs of CUBIC, for its shortest retransmission timeout of 1 s.",
    "NewReno of ns-3 counts acknowledgements: with one for two segments it grows by half a segment \
     in each round trip. Ours counts segments (RFC 3465), as Linux does; the next table compares \
     it with Linux.",
];
/// The results of all runs of a case.
struct TcpRuns(Vec<TcpMeasured>);

impl TcpRuns {
    fn measure(case: &TcpCase<'_>, runs: u64) -> Self {
        Self((0..runs).map(|run| measure(case, run)).collect())
    }

    fn mean(&self, quantity: fn(&TcpMeasured) -> f64) -> f64 {
        self.0.iter().map(quantity).sum::<f64>() / self.0.len() as f64
    }

    /// Standard deviation over the runs.
    fn deviation(&self, quantity: fn(&TcpMeasured) -> f64) -> f64 {
        let mean = self.mean(quantity);
        let squares: f64 = self.0.iter().map(|run| (quantity(run) - mean).powi(2)).sum();
        (squares / self.0.len() as f64).sqrt()
    }
}

/// The results of a run.
struct TcpMeasured {
    goodput_mbps: f64,
    hop_mean_ms: f64,
    queue_mean_packets: f64,
    window_mean_packets: f64,
    retransmissions: f64,
}

/// A row of the reference data, and the parameters that are not in it.
struct TcpCase<'a> {
    record: &'a Record,
    hystart: &'a str,
    /// More TOML keys of the flow.
    windows: &'a str,
    /// Start of the measured time.
    from: Duration,
}

fn measure(case: &TcpCase<'_>, run: u64) -> TcpMeasured {
    let TcpCase { record, from, .. } = *case;
    let text = toml(case);
    let scenario = lasthop_scenario::parse("tcp.toml", &text, &[])
        .unwrap_or_else(|error| panic!("records make sound scenarios: {error:?}\n{text}"));
    let mut tally = TcpTally { from: Instant::ZERO + from, ..TcpTally::default() };
    let stats =
        lasthop_sim::simulate(&scenario, Seed::new(SEED, run), &mut tally, &mut lasthop_sim::go_on);
    let stats = stats.expect("one TCP flow over one cell can be simulated");
    let sender = scenario.node(if record.text("dir") == "ul" { "sta" } else { "ap" });
    let station = stats.stations.iter().find(|(node, _)| Some(*node) == sender);
    let windows: f64 = tally.windows.iter().copied().map(f64::from).sum();
    let acked = tally.last.bytes_acked - tally.before.bytes_acked;
    let time = tally.end.saturating_since(tally.from);
    TcpMeasured {
        goodput_mbps: acked as f64 * 8e-6 / time.as_secs_f64().max(1e-9),
        hop_mean_ms: tally.hop.as_millis_f64() / tally.packets.max(1) as f64,
        queue_mean_packets: station
            .and_then(|(_, stats)| stats.queue_packets.mean())
            .unwrap_or(0.0),
        window_mean_packets: windows / (tally.windows.len() as f64).max(1.0),
        retransmissions: (tally.last.retransmissions - tally.before.retransmissions) as f64,
    }
}

fn toml(case: &TcpCase<'_>) -> String {
    let TcpCase { record, hystart, windows, from: begin } = *case;
    let ends = if record.text("dir") == "ul" { ["sta", "server"] } else { ["server", "sta"] };
    let mcs = record.text("mode").trim_start_matches("HtMcs");
    let control = if record.text("cc") == "TcpCubic" { "cubic" } else { "reno" };
    let delay = format!("{}ms", record.text("wire_delay_ms"));
    let keys = format!(
        "congestion_control = {control:?}\n\
         tcp = {{ small_queues = \"off\", hystart = {hystart:?}{windows} }}"
    );
    format!(
        r#"duration = "{seconds}s"
series_interval = "20ms"

[channel]
standard = "802.11n"
band = "5GHz"
width = "{width}MHz"
guard_interval = "{guard_interval}"
capture_margin = "5dB"

[node_defaults]
tx_power = "16.02dBm"
streams = {streams}
queue = {{ kind = "drop-tail", packets = {queue} }}
rate_control = {{ kind = "fixed", mcs = {mcs} }}
aggregation = {{ ampdu_bytes_max = {ampdu}, amsdu_bytes_max = 0 }}
block_ack = {{ request = "after-missing" }}

{hop}
{flow}"#,
        seconds = u64::from(record.whole("sim_s")) + begin.as_nanos() / 1_000_000_000,
        width = record.text("width_mhz"),
        guard_interval = if record.flag("sgi") { "400ns" } else { "800ns" },
        streams = record.text("nss"),
        queue = record.text("queue_pkts"),
        ampdu = record.text("max_ampdu"),
        hop = hop("sta", "position = [\"1m\", \"0m\"]", &delay),
        flow = flow("data", ends, "tcp", &keys),
    )
}

#[derive(Default)]
struct TcpTally {
    from: Instant,
    packets: u64,
    hop: Duration,
    windows: Vec<u32>,
    end: Instant,
    /// The readings of the sender at `from` and at the end.
    before: TcpSample,
    last: TcpSample,
}

impl Sink for TcpTally {
    fn arrived(&mut self, now: Instant, _node: NodeId, packet: &Packet) {
        // Counts data, not acknowledgements.
        if packet.bytes > 1_000 && now >= self.from {
            let parts = &packet.parts;
            self.packets += 1;
            self.hop += parts.total().saturating_sub(parts.wire);
        }
    }

    fn tcp(&mut self, now: Instant, _flow: FlowId, sample: &TcpSample) {
        if now <= self.from && self.from > Instant::ZERO {
            self.before = *sample;
            return;
        }
        self.windows.push(sample.cwnd_packets);
        self.end = now;
        self.last = *sample;
    }
}

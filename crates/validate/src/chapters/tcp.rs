//! TCP over the hop against ns-3's.

use super::SEED;
use crate::data::{self, Record, TCP, TCP_QUEUE};
use crate::table::{Row, Table, Verdict, is_within, ratio};
use lasthop_net::{NodeId, Sink, TcpSample};
use lasthop_units::{Duration, Instant, Seed};
use lasthop_wifi::{FlowId, Packet};

const GOODPUT_TARGET: f64 = 0.03;
const DELAY_TARGET: f64 = 0.1;
/// Where ns-3 is out of its transient.
const JUDGED_WIRE_MS: u32 = 1;
/// One run in five of a queue of 1 000 packets loses its first burst and stays at three quarters of
/// the others' delay for the rest of its 10 s.
const RUNS: u64 = 20;

pub(super) fn table() -> Table {
    let records = data::records(TCP).into_iter().chain(data::records(TCP_QUEUE));
    Table {
        title: "TCP, ns-3's",
        text: format!(
            "One bulk flow for 20 s (10 s with a bound other than 500) over HT MCS 15, 40 MHz, short \
             guard interval, two streams; server behind 1 Gb/s and the wire's delay; both device queues \
             bounded at so many packets, MSS 1 448 bytes, an acknowledgement for two segments. Ours: \
             mean of {RUNS} runs. Target at a wire of {JUDGED_WIRE_MS} ms: goodput within 3 %, mean delay \
             of the hop (queue and air) within 10 %."
        ),
        columns: vec![
            "cc",
            "dir",
            "bound",
            "wire, ms",
            "Mb/s",
            "ns-3",
            "ratio",
            "hop, ms",
            "ns-3",
            "ratio",
            "queue",
            "ns-3",
            "cwnd",
            "ns-3",
            "lost",
            "ns-3",
            "no HyStart: Mb/s",
            "hop, ms",
        ],
        rows: records.map(|record| row(&record)).collect(),
        notes: NOTES.map(String::from).to_vec(),
    }
}

fn row(record: &Record) -> Row {
    let number = |name: &str| record.number(name);
    let ours = Runs::of(record, "linux");
    let (goodput, hop) = (ours.mean(|run| run.goodput_mbps), ours.mean(|run| run.hop_mean_ms));
    let is_inside = is_within(goodput, number("goodput_mbps"), GOODPUT_TARGET)
        && is_within(hop, number("wifi_hop_mean_ms"), DELAY_TARGET);
    let is_judged = record.whole("wire_delay_ms") == JUDGED_WIRE_MS;
    let mut cells = vec![
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
    // Where slow start decides on the rest of the run.
    if !is_judged && record.text("cc") == "TcpCubic" {
        let without = Runs::of(record, "off");
        cells.push(format!("{:.2}", without.mean(|run| run.goodput_mbps)));
        cells.push(format!("{:.2}", without.mean(|run| run.hop_mean_ms)));
    } else {
        cells.extend(["-".to_owned(), "-".to_owned()]);
    }
    (cells, if is_judged { Verdict::of(is_inside) } else { Verdict::Listed })
}

const NOTES: [&str; 3] = [
    "At 20 ms ns-3's runs are single ones, and what the first slow start leaves decides on the rest of \
     their 20 s (ours differ by 4 to 7 % from run to run), so those rows are listed only. Downwards its \
     CUBIC overshoots queue and pipe together there (its greatest window is 1 323 segments with a \
     queue of 500) and then stays above the pipe; ours mostly leaves slow start before, as Linux' \
     HyStart does, and grows into the pipe by the cubic law. *No HyStart* shows ours without that: \
     the goodput downwards is within 6 % of ns-3's then; of the hop's delay about a third is still \
     missing, for which no cause is known.",
    "ns-3's NewReno leaves slow start without a loss at 20 ms, at about 500 segments, and then \
     counts acknowledgements: with one for two segments it grows by half a segment a round trip, so it \
     never fills the pipe. Ours doubles until the queue overflows (RFC 5681, 3.1) and counts \
     segments (RFC 3465), as Linux does. Ours is compared with Linux in the next table.",
    "*lost*: segments retransmitted. Most of ours are those of the first slow start, which ns-3 cuts \
     short and NewReno has nothing to end with but loss.",
];

/// All runs of a record.
struct Runs(Vec<Measured>);

impl Runs {
    fn of(record: &Record, hystart: &str) -> Self {
        Self((0..RUNS).map(|run| measure(record, hystart, run)).collect())
    }

    fn mean(&self, quantity: fn(&Measured) -> f64) -> f64 {
        self.0.iter().map(quantity).sum::<f64>() / self.0.len() as f64
    }
}

/// What a run gives.
struct Measured {
    goodput_mbps: f64,
    hop_mean_ms: f64,
    queue_mean_packets: f64,
    window_mean_packets: f64,
    retransmissions: f64,
}

fn measure(record: &Record, hystart: &str, run: u64) -> Measured {
    let text = toml(record, hystart);
    let scenario = lasthop_scenario::parse("tcp.toml", &text, &[])
        .unwrap_or_else(|error| panic!("records make sound scenarios: {error:?}\n{text}"));
    let mut tally = Tally::default();
    let stats = lasthop_sim::run(&scenario, Seed::new(SEED, run), &mut tally, |_| {});
    let stats = stats.expect("one TCP flow over one cell can be simulated");
    let sender = scenario.node(if record.text("dir") == "ul" { "sta" } else { "ap" });
    let station = stats.stations.iter().find(|(node, _)| Some(*node) == sender);
    let windows: f64 = tally.windows.iter().copied().map(f64::from).sum();
    Measured {
        goodput_mbps: tally.last.bytes_acked as f64 * 8e-6 / tally.end.as_secs_f64().max(1e-9),
        hop_mean_ms: tally.hop.as_millis_f64() / tally.packets.max(1) as f64,
        queue_mean_packets: station
            .and_then(|(_, stats)| stats.queue_packets.mean())
            .unwrap_or(0.0),
        window_mean_packets: windows / (tally.windows.len() as f64).max(1.0),
        retransmissions: tally.last.retransmissions as f64,
    }
}

fn toml(record: &Record, hystart: &str) -> String {
    let (from, to) = if record.text("dir") == "ul" { ("sta", "server") } else { ("server", "sta") };
    let mcs = record.text("mode").trim_start_matches("HtMcs");
    let control = if record.text("cc") == "TcpCubic" { "cubic" } else { "reno" };
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

[[node]]
name = "ap"
role = "access-point"

[[node]]
name = "sta"
role = "station"
position = ["1m", "0m"]

[[node]]
name = "server"
role = "host"

[[wire]]
between = ["server", "ap"]
rate = "1Gb/s"
delay = "{wire}ms"

[[flow]]
name = "data"
from = "{from}"
to = "{to}"
kind = "tcp"
congestion_control = "{control}"
tcp = {{ small_queues = "off", hystart = "{hystart}" }}
"#,
        seconds = record.text("sim_s"),
        width = record.text("width_mhz"),
        guard_interval = if record.flag("sgi") { "400ns" } else { "800ns" },
        streams = record.text("nss"),
        queue = record.text("queue_pkts"),
        ampdu = record.text("max_ampdu"),
        wire = record.text("wire_delay_ms"),
    )
}

#[derive(Default)]
struct Tally {
    packets: u64,
    hop: Duration,
    windows: Vec<u32>,
    end: Instant,
    last: TcpSample,
}

impl Sink for Tally {
    fn arrived(&mut self, _now: Instant, _node: NodeId, packet: &Packet) {
        // Data, not acknowledgements.
        if packet.bytes > 1_000 {
            let parts = &packet.parts;
            self.packets += 1;
            self.hop += parts.total().saturating_sub(parts.wire);
        }
    }

    fn tcp(&mut self, now: Instant, _flow: FlowId, sample: &TcpSample) {
        self.windows.push(sample.cwnd_packets);
        self.end = now;
        self.last = *sample;
    }
}

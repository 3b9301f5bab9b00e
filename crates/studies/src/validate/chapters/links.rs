//! Coded links against plain TCP and other tunnels over a lossy link; see
//! [`crate::validate::links`]. Four tables: loaded links, sparse traffic, three hops, and a
//! flood.

use crate::Verdict;
use crate::table::{Row, Table};
use crate::validate::links::{
    HOPS_LOSS, IDEAL_MBPS, LOSSES, LinkCase, LinkOutcome, LinkStore, LinkTunnel, Load, earlier_mbps,
};

/// Minimum goodput of a coded link in proportion to TCP on a link without losses.
const GOODPUT_TARGET: f64 = 0.93;
/// Largest round-trip times in the tunnel under load, in ms: median and 95th
/// percentile.
const PING_TARGET_MS: [f64; 2] = [35.0, 60.0];
/// Minimum ratio of the goodputs with recoders and with forwarders.
const RECODERS_TARGET: f64 = 1.5;
/// Minimum goodput of a flood in Mb/s, of 200 Mb/s sent. On a busy machine iperf3 may
/// send less, which is then reported as a miss.
const FLOOD_TARGET_MBPS: f64 = 199.0;
/// Largest additional round-trip time of a sparse packet in ms, compared with the plain
/// link: one round trip and the encoder timeout.
const SPARSE_TARGET_MS: f64 = 20.0 + 20.0;

pub(super) fn loaded() -> Table {
    let store = LinkStore::read();
    loaded_of(&|case| store.runs(case).into_iter().map(|(_, outcome)| outcome).collect())
}

/// The table of loaded links, from the results that `runs` returns for each case.
pub fn loaded_of(runs: &dyn Fn(&LinkCase) -> Vec<LinkOutcome>) -> Table {
    let mut rows = Vec::new();
    for loss_percent in LOSSES {
        let cases = LinkCase::all().into_iter().filter(|case| case.loss_percent == loss_percent);
        let cases = cases.filter(|case| LinkTunnel::ONE_HOP.contains(&case.tunnel));
        let measured: Vec<Row> = cases.filter_map(|case| row(&case, &runs(&case))).collect();
        if !measured.is_empty() {
            rows.extend(measured);
            rows.extend(
                NOT_HERE
                    .into_iter()
                    .filter_map(|(tunnel, control)| earlier_row(tunnel, control, loss_percent)),
            );
        }
    }
    Table {
        title: "FRANC, a lossy link, the kernel's TCP",
        text: "iperf3 for 20 s from one host to another and ten pings a second, over an emulated \
               link of 12 Mb/s (IP packets of 1 500 bytes) and 10 ms each way, 150 kB of drop-tail \
               queue, independent losses after the queue in both directions: `plain`, through \
               `lasthop franc run` over UDP and in Ethernet frames, and through kcptun. Goodput is \
               that of iperf3's receiver in all of the 20 s, slow start included; *ideal* is 11.58 \
               Mb/s times the share of surviving packets. `earlier` is an older comparison on such \
               a link, made without lasthop. Targets for `udp` and `ethernet`: 93 % of the ideal, \
               median ping at most 35 ms, 95 % of pings at most 60 ms, none lost. kcptun carries \
               TCP only, so its pings run beside the tunnel, in the queue alone."
            .into(),
        columns: vec![
            "loss, %",
            "way",
            "TCP",
            "Mb/s",
            "of ideal",
            "earlier",
            "ping p50, ms",
            "p95, ms",
            "pings lost",
            "runs",
            "late",
        ],
        rows,
        notes: vec![
            "`cargo run --release -p lasthop-studies -- franc` measures the missing rows of \
             `crates/studies/data/franc.csv`. A run is late if more than one delivery in a \
             thousand of the emulation was more than 2 ms late."
                .into(),
        ],
    }
}

/// Tunnels of the older comparison that are not in Debian, with TCP's congestion
/// control.
const NOT_HERE: [(&str, &str); 3] =
    [("tinyfecVPN", "cubic"), ("tinyfecVPN-tuned", "cubic"), ("tinyfecVPN-tuned", "bbr")];

/// The row of such a tunnel; `None` if it was not measured with this loss.
fn earlier_row(tunnel: &str, congestion_control: &str, loss_percent: u32) -> Option<Row> {
    let mut cells = vec!["-".to_owned(); 11];
    cells[0] = loss_percent.to_string();
    cells[1] = tunnel.into();
    cells[2] = congestion_control.into();
    cells[5] = number(Some(earlier_mbps(tunnel, congestion_control, loss_percent)?), 2);
    Some((cells, Verdict::Listed))
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let values: Vec<f64> = values.collect();
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

fn number(value: Option<f64>, decimals: usize) -> String {
    value.map_or("-".into(), |value| format!("{value:.decimals$}"))
}

fn row(case: &LinkCase, runs: &[LinkOutcome]) -> Option<Row> {
    let Load::Tcp(congestion_control) = case.load else { return None };
    if runs.is_empty() {
        return None;
    }
    let ideal = IDEAL_MBPS * (1.0 - f64::from(case.loss_percent) / 100.0);
    let goodput = mean(runs.iter().filter_map(|run| run.goodput_mbps));
    let ping = |index: usize| mean(runs.iter().filter_map(|run| run.ping_ms.map(|ms| ms[index])));
    let lost: u32 = runs.iter().map(|run| run.pings_lost).sum();
    let pings: u32 = runs.iter().map(|run| run.pings).sum();
    let cells = vec![
        case.loss_percent.to_string(),
        case.tunnel.name().into(),
        if case.tunnel.is_peer() { "-".into() } else { congestion_control.to_owned() },
        goodput.map_or("failed".into(), |mbps| format!("{mbps:.2}")),
        number(goodput.map(|mbps| 100.0 * mbps / ideal), 0) + " %",
        number(earlier_mbps(case.tunnel.name(), congestion_control, case.loss_percent), 2),
        number(ping(0), 1),
        number(ping(1), 1),
        format!("{lost} of {pings}"),
        runs.len().to_string(),
        runs.iter().filter(|run| run.is_late).count().to_string(),
    ];
    let is_right = goodput.is_some_and(|mbps| mbps >= GOODPUT_TARGET * ideal)
        && ping(0).is_some_and(|ms| ms <= PING_TARGET_MS[0])
        && ping(1).is_some_and(|ms| ms <= PING_TARGET_MS[1])
        && lost == 0;
    Some((cells, if case.tunnel.is_ours() { Verdict::pass_if(is_right) } else { Verdict::Listed }))
}

pub(super) fn sparse() -> Table {
    let store = LinkStore::read();
    sparse_of(&|case| store.runs(case).into_iter().map(|(_, outcome)| outcome).collect())
}

/// The table of sparse traffic, from the results that `runs` returns for each case.
pub fn sparse_of(runs: &dyn Fn(&LinkCase) -> Vec<LinkOutcome>) -> Table {
    let of = |runs: &[LinkOutcome], index: usize| {
        mean(runs.iter().filter_map(|run| run.ping_ms.map(|ms| ms[index])))
    };
    let cases: Vec<LinkCase> =
        LinkCase::all().into_iter().filter(|c| c.load == Load::Sparse).collect();
    let bare = cases
        .iter()
        .find(|case| case.tunnel == LinkTunnel::Plain)
        .and_then(|case| of(&runs(case), 0));
    let rows = cases.iter().filter_map(|case| {
        let mine = runs(case);
        let ping = |index: usize| of(&mine, index);
        let lost: u32 = mine.iter().map(|run| run.pings_lost).sum();
        let pings: u32 = mine.iter().map(|run| run.pings).sum();
        let above = ping(2).zip(bare).map(|(own, bare)| own - bare);
        let cells = vec![
            case.loss_percent.to_string(),
            case.tunnel.name().into(),
            number(ping(0), 1),
            number(ping(1), 1),
            number(ping(2), 1),
            number(above, 1),
            format!("{lost} of {pings}"),
        ];
        let is_right = above.is_some_and(|ms| ms <= SPARSE_TARGET_MS);
        let verdict =
            if case.tunnel.is_ours() { Verdict::pass_if(is_right) } else { Verdict::Listed };
        (!mine.is_empty()).then_some((cells, verdict))
    });
    Table {
        title: "FRANC, sparse traffic on a lossy link",
        text: "A ping every 50 ms over the same link without other traffic. Target: 99 % of them \
               exceed the median on the bare link, lost pings not counted, by at most one round \
               trip and the encoder timeout, together 40 ms. (The bare link's 99 % would be too \
               mild a reference: after a lost ARP reply pings wait for the next one.)"
            .into(),
        columns: vec!["loss, %", "way", "p50, ms", "p95, ms", "p99, ms", "above bare", "lost"],
        rows: rows.collect(),
        notes: Vec::new(),
    }
}

pub(super) fn hops() -> Table {
    let store = LinkStore::read();
    hops_of(&|case| store.runs(case).into_iter().map(|(_, outcome)| outcome).collect())
}

/// The table of three hops, from the results that `runs` returns for each case.
pub fn hops_of(runs: &dyn Fn(&LinkCase) -> Vec<LinkOutcome>) -> Table {
    let of = |tunnel: LinkTunnel, congestion_control: &str| {
        LinkCase::all()
            .into_iter()
            .find(|case| case.tunnel == tunnel && case.load_name() == congestion_control)
            .map(|case| runs(&case))
            .filter(|runs| !runs.is_empty())
    };
    let rows = ["cubic", "bbr"].into_iter().filter_map(|congestion_control| {
        let recoders = of(LinkTunnel::Recoders, congestion_control)?;
        let forwarders = of(LinkTunnel::Forwarders, congestion_control)?;
        let goodput = |runs: &[LinkOutcome]| mean(runs.iter().filter_map(|run| run.goodput_mbps));
        let ping = |runs: &[LinkOutcome]| {
            number(mean(runs.iter().filter_map(|run| run.ping_ms.map(|ms| ms[0]))), 1)
        };
        let (with, without) = (goodput(&recoders)?, goodput(&forwarders)?);
        let cells = vec![
            HOPS_LOSS.to_string(),
            congestion_control.to_owned(),
            format!("{with:.2}"),
            format!("{without:.2}"),
            format!("{:.2}", with / without),
            ping(&recoders),
            ping(&forwarders),
        ];
        Some((cells, Verdict::pass_if(with >= RECODERS_TARGET * without)))
    });
    Table {
        title: "FRANC, three lossy hops",
        text: "The same load over three such links in a row, which lose almost half of the \
               packets: through recoders, which make each hop reliable and code anew, and through \
               forwarders, where only the ends code. Target: 1.5 times as much with recoders."
            .into(),
        columns: vec![
            "loss of each, %",
            "TCP",
            "recoders, Mb/s",
            "forwarders, Mb/s",
            "ratio",
            "ping p50, ms",
            "forwarders' p50, ms",
        ],
        rows: rows.collect(),
        notes: Vec::new(),
    }
}

pub(super) fn flood() -> Table {
    let store = LinkStore::read();
    flood_of(&|case| store.runs(case).into_iter().map(|(_, outcome)| outcome).collect())
}

/// The table of floods, from the results that `runs` returns for each case.
pub fn flood_of(runs: &dyn Fn(&LinkCase) -> Vec<LinkOutcome>) -> Table {
    let cases = LinkCase::all().into_iter().filter(|case| case.load == Load::Flood);
    let rows = cases.filter_map(|case| {
        let run = runs(&case).into_iter().next()?;
        let (flood, mbps) = (run.flood?, run.goodput_mbps?);
        let cells = vec![
            case.tunnel.name().into(),
            format!("{mbps:.1}"),
            format!("{:.0} of {:.0}", flood.packets_lost, flood.packets),
            format!("{:.0}", flood.cpu_percent),
            format!("{:.0}", flood.memory_mib),
        ];
        let is_right = mbps >= FLOOD_TARGET_MBPS && flood.packets_lost == 0.0;
        Some((cells, Verdict::pass_if(is_right && flood.cpu_percent <= 100.0)))
    });
    Table {
        title: "FRANC, a fast link",
        text: "UDP at 200 Mb/s in packets of 1 378 bytes for 10 s, after 2 s of the same, over a \
               wire of 1 Gb/s and 1 ms without losses; each daemon on one core, shared with \
               emulator, iperf3 and kernel. Target: all packets, none lost between the two ends of \
               the tunnel. `CPU` is the busier daemon's share of a core, `memory` the larger \
               daemon's resident memory."
            .into(),
        columns: vec!["way", "Mb/s", "packets lost", "CPU, %", "memory, MiB"],
        rows: rows.collect(),
        notes: Vec::new(),
    }
}

//! A run as text: tables of its flows, round trips, delays, nodes, links, wires and coded links.
//! The numbers are those of the JSON document, rounded to about four digits; tables without rows
//! are left out.

mod cause;
mod own;
pub mod wrong;

pub use own::Own;

use crate::console::{Stream, printable};
use crate::table::{self, alone, count, counted, many, number, percent, text, value};
use lasthop_report::apq::words;
use lasthop_report::{links, together};
use lasthop_trace::{
    ApqFlowEnding, ApqFlowSummary, EmulationSummary, Estimate, FlowSummary, LinkSummary,
    LossReason, NeighbourSummary, ProgramSummary, RunDocument, RunSet, SteeredBy, TimeSummary,
    WireSummary,
};
use std::fmt::Write;

/// Returns the heading, with warnings.
fn heading(run: &RunDocument, stream: Stream) -> String {
    let heading = format!(
        "{}: {} s, seed {}, run {}",
        run.scenario,
        alone(run.duration_s),
        run.seed,
        run.run
    );
    let wall = match run.emulation {
        None => format!("   {} s on the wall", value(run.wall_s)),
        Some(_) => String::new(),
    };
    let mut out = format!("{}{}\n", stream.bold(&heading), stream.dim(&wall));
    out.push_str(&warnings(run, stream));
    out
}

/// Returns the report of a run; `found` has its findings.
pub fn run(run: &RunDocument, found: &str, stream: Stream) -> String {
    let mut out = heading(run, stream);
    let mut section = |title: &str, table: String| {
        if !table.is_empty() {
            let _ = write!(out, "\n{}\n{table}", stream.bold(title));
        }
    };
    section("Flows of programs", programs(run, stream));
    section("Flows", flows(run, stream));
    for (name, flow) in &run.flows {
        if let Some(apq) = &flow.apq {
            section(&format!("Queue measured by {name}"), measured(apq, stream));
        }
    }
    section("Round trips", round_trips(run, stream));
    section("One-way delay", delays(run, stream));
    let lines = |sentences: Vec<String>| -> String {
        sentences.iter().map(|sentence| table::wrapped("  ", sentence, wrong::width())).collect()
    };
    for (title, sentences) in together::experiences(run) {
        section(title, lines(sentences));
    }
    section("Flows together", lines(together::groups(run)));
    section("Written by senders", lines(together::senders(run)));
    section("Packets not reassembled", reassembly(run, stream));
    section("Where it went, ms a packet", cause::table(run, stream));
    section(wrong::TITLE, found.to_owned());
    section("Nodes", nodes(run, stream));
    section("Changes of the access point", roams(run, stream));
    section("Neighbours", neighbours(run, stream));
    section("Links", air_links(run, stream));
    section(links::TITLE, taken(std::slice::from_ref(run), stream));
    section("Wires", wires(run, stream));
    section("Coded links", coded_links(run, stream));
    if let Some(emulation) = &run.emulation {
        out.push('\n');
        out.push_str(&lateness(emulation, stream));
    }
    out
}

/// Returns the warnings: reasons for results that differ from expectations.
fn warnings(run: &RunDocument, stream: Stream) -> String {
    let line = |warning: &String| format!("{} {warning}\n", stream.yellow("warning:"));
    run.warnings.iter().map(line).collect()
}

/// Returns the report of several runs; `found` has their findings.
pub fn run_set(set: &RunSet, found: &str, stream: Stream) -> String {
    let Some(first) = set.runs.first() else { return String::new() };
    let runs = set.runs.len();
    let wall: f64 = set.runs.iter().map(|run| run.wall_s).sum();
    let heading = format!(
        "{}: {} of {} s, seed {}, runs 0 to {}",
        first.scenario,
        counted(runs, "run"),
        alone(first.duration_s),
        first.seed,
        runs - 1
    );
    let wall = format!("   {} s on the wall, added up", value(wall));
    let columns = [
        text("flow"),
        number("goodput Mb/s", "mean"),
        number("goodput Mb/s", "+-"),
        number("delay mean ms", "mean"),
        number("delay mean ms", "+-"),
        number("delay p95 ms", "mean"),
        number("delay p95 ms", "+-"),
        number("RTT mean ms", "mean"),
        number("RTT mean ms", "+-"),
        number("RTT p95 ms", "mean"),
        number("RTT p95 ms", "+-"),
        number("lost %", "mean"),
        number("lost %", "+-"),
    ];
    let mut rows = Vec::new();
    for (name, flow) in &set.summary {
        let percents = |estimate: Estimate| Estimate {
            mean: 100.0 * estimate.mean,
            ci95: estimate.ci95.map(|ci95| 100.0 * ci95),
            ..estimate
        };
        let estimates = [
            flow.goodput_mbps,
            flow.one_way_delay_mean_ms,
            flow.one_way_delay_p95_ms,
            flow.rtt_mean_ms,
            flow.rtt_p95_ms,
            flow.loss_fraction.map(percents),
        ];
        let cells = estimates.iter().flat_map(|estimate| match estimate {
            Some(Estimate { mean, ci95, .. }) => {
                [value(*mean), ci95.map_or_else(String::new, value)]
            }
            None => [String::new(), String::new()],
        });
        rows.push(std::iter::once(name.clone()).chain(cells).collect());
    }
    let table = table::render(&columns, &rows, stream);
    let note = "  +-: half the 95 % confidence interval of the mean";
    let links = match taken(&set.runs, stream) {
        none if none.is_empty() => none,
        table => {
            let (title, note) = (stream.bold(links::TITLE), stream.dim("  means"));
            format!("\n\n{title}{note}\n{}", table.trim_end_matches('\n'))
        }
    };
    format!(
        "{}{}\n{}\n{}\n{table}{}{links}\n\n{}\n{found}",
        stream.bold(&heading),
        stream.dim(&wall),
        warnings(first, stream),
        stream.bold("Flows"),
        stream.dim(note),
        stream.bold(wrong::TITLE)
    )
}

fn flows(run: &RunDocument, stream: Stream) -> String {
    let columns = [
        text("flow"),
        text("kind"),
        number("goodput", "Mb/s"),
        number("packets", "sent"),
        number("packets", "received"),
        number("packets", "lost"),
        number("packets", "lost %"),
        number("TCP", "retransmitted"),
    ];
    let rows: Vec<Vec<String>> = run
        .flows
        .iter()
        .map(|(name, flow)| {
            let sent = flow.packets_sent;
            let lost = flow.packets_lost;
            vec![
                name.clone(),
                flow.kind.as_str().into(),
                flow.goodput_mbps.map_or_else(String::new, value),
                count(sent),
                count(flow.packets_received),
                count(lost),
                if sent > 0 { percent(lost as f64 / sent as f64) } else { String::new() },
                flow.retransmissions.map_or_else(String::new, count),
            ]
        })
        .collect();
    table::render(&columns, &rows, stream)
}

/// Returns the results of a measured queue, and whether the measurement was completed.
fn measured(apq: &ApqFlowSummary, stream: Stream) -> String {
    let found = |direction| words::found(direction, stream.style());
    let mut out: String = apq.directions.iter().map(found).collect();
    let unfinished = match (apq.ending, &apq.error) {
        (ApqFlowEnding::Done, _) => return out,
        (_, Some(error)) => error,
        _ => "the run ended first; give it a longer duration",
    };
    let _ = writeln!(out, "  {} {unfinished}", stream.yellow("Not finished:"));
    out
}

const TIMES: [table::Column; 5] = [
    number("ms", "mean"),
    number("ms", "p50"),
    number("ms", "p95"),
    number("ms", "p99"),
    number("ms", "max"),
];

fn times(times: &TimeSummary) -> impl Iterator<Item = String> + use<> {
    [times.mean, times.p50, times.p95, times.p99, times.max].into_iter().map(value)
}

fn round_trips(run: &RunDocument, stream: Stream) -> String {
    let mut columns = vec![text("flow")];
    columns.extend(TIMES);
    columns.extend(["mean", "p95", "max"].map(|name| number("cwnd packets", name)));
    let row = |(name, flow): (&String, &FlowSummary)| {
        let window = flow.cwnd_packets.map_or_else(
            || vec![String::new(); 3],
            |window| vec![value(window.mean), count(window.p95.into()), count(window.max.into())],
        );
        let head = std::iter::once(name.clone());
        Some(head.chain(times(&flow.rtt_ms?)).chain(window).collect())
    };
    let rows: Vec<Vec<String>> = run.flows.iter().filter_map(row).collect();
    table::render(&columns, &rows, stream)
}

fn delays(run: &RunDocument, stream: Stream) -> String {
    let mut columns = vec![text("flow")];
    columns.extend(TIMES);
    let row = |(name, flow): (&String, &FlowSummary)| {
        Some(std::iter::once(name.clone()).chain(times(&flow.one_way_delay_ms?)).collect())
    };
    let rows: Vec<Vec<String>> = run.flows.iter().filter_map(row).collect();
    table::render(&columns, &rows, stream)
}

/// Returns the table of real programs' flows.
fn programs(run: &RunDocument, stream: Stream) -> String {
    let columns = [
        text("flow"),
        text("sent by"),
        number("packets", "sent"),
        number("packets", "lost"),
        number("", "MB"),
        number("one-way delay, ms", "mean"),
        number("one-way delay, ms", "p99"),
    ];
    let row = |(name, program): (&String, &ProgramSummary)| {
        let delay = program.one_way_delay_ms;
        vec![
            name.clone(),
            // A program chooses its own name.
            printable(program.program.as_deref().unwrap_or_default()),
            count(program.packets_sent),
            count(program.packets_lost),
            value(program.bytes_received as f64 / 1e6),
            delay.map_or_else(String::new, |delay| value(delay.mean)),
            delay.map_or_else(String::new, |delay| value(delay.p99)),
        ]
    };
    let rows: Vec<Vec<String>> = links::largest(run).map(row).collect();
    let mut out = table::render(&columns, &rows, stream);
    let smaller = run.programs.len().saturating_sub(links::PROGRAMS_MAX);
    if smaller > 0 {
        let _ = writeln!(
            out,
            "  not shown: {}; --json and run.json have all",
            counted(smaller, "smaller flow")
        );
    }
    if let Some(left_out) = run.programs_left_out {
        let (flows, packets) =
            (many(left_out.flows, "more flow"), many(left_out.packets, "packet"));
        let _ = writeln!(out, "  not recorded: {flows} with {packets}");
    }
    out
}

/// Returns the flows with arrived fragments that did not become packets.
fn reassembly(run: &RunDocument, stream: Stream) -> String {
    let columns = [text("flow"), number("packets", "incomplete"), number("packets", "% of sent")];
    let flows = run.flows.iter().map(|(name, flow)| {
        (name, flow.packets_sent, flow.packets_lost_by_reason.get(&LossReason::Reassembly))
    });
    let programs = run.programs.iter().map(|(name, flow)| {
        (name, flow.packets_sent, flow.packets_lost_by_reason.get(&LossReason::Reassembly))
    });
    let row = |(name, sent, lost): (&String, u64, Option<&u64>)| {
        let lost = *lost?;
        Some(vec![name.clone(), count(lost), percent(lost as f64 / sent.max(1) as f64)])
    };
    let rows: Vec<Vec<String>> = flows.chain(programs).filter_map(row).collect();
    table::render(&columns, &rows, stream)
}

fn nodes(run: &RunDocument, stream: Stream) -> String {
    let columns = [
        text("node"),
        number("queue packets", "mean"),
        number("queue packets", "p95"),
        number("queue packets", "max"),
        number("of them in the driver's", "mean"),
        number("", "drops"),
        number("", "air %"),
    ];
    let rows: Vec<Vec<String>> = run
        .nodes
        .iter()
        .map(|(name, node)| {
            let queue = node.queue_packets.map_or_else(Default::default, |queue| {
                [value(queue.mean), count(queue.p95.into()), count(queue.max.into())]
            });
            std::iter::once(name.clone())
                .chain(queue)
                .chain([
                    node.driver_queue_packets.map_or_else(String::new, |queue| value(queue.mean)),
                    count(node.queue_drops),
                    percent(node.airtime_fraction),
                ])
                .collect()
        })
        .collect();
    table::render(&columns, &rows, stream)
}

fn neighbours(run: &RunDocument, stream: Stream) -> String {
    let columns = [text("neighbour"), number("", "busy % alone"), number("", "air %")];
    let row = |(name, neighbour): (&String, &NeighbourSummary)| {
        vec![name.clone(), percent(neighbour.busy), percent(neighbour.airtime_fraction)]
    };
    let rows: Vec<Vec<String>> = run.neighbours.iter().map(row).collect();
    table::render(&columns, &rows, stream)
}

fn air_links(run: &RunDocument, stream: Stream) -> String {
    let columns = [
        text("link"),
        number("rate", "Mb/s"),
        number("PPDUs", "sent"),
        number("PPDUs", "MPDUs each"),
        number("PPDUs", "collided"),
        number("MPDUs", "sent"),
        number("MPDUs", "retries"),
        number("MPDUs", "fail %"),
        number("MPDUs", "lost"),
        number("", "air %"),
    ];
    let row = |(name, link): (&String, &LinkSummary)| {
        vec![
            name.clone(),
            link.data_rate_mbps.map_or_else(String::new, |rate| value(rate.mean)),
            count(link.ppdus),
            link.mpdus_per_ppdu.map_or_else(String::new, |mpdus| value(mpdus.mean)),
            count(link.collisions),
            count(link.mpdus),
            count(link.mpdu_retries),
            link.mpdu_error_rate.map_or_else(String::new, percent),
            count(link.mpdus_lost),
            percent(link.airtime_fraction),
        ]
    };
    let rows: Vec<Vec<String>> = run.links.iter().map(row).collect();
    table::render(&columns, &rows, stream)
}

/// Returns the table of the links that packets took.
fn taken(runs: &[RunDocument], stream: Stream) -> String {
    let rows: Vec<Vec<String>> = links::taken(runs).iter().map(links::LinkTaken::cells).collect();
    table::render(&links::columns(), &rows, stream)
}

/// Returns the table of coded links: packets, datagrams and their use at each node.
fn coded_links(run: &RunDocument, stream: Stream) -> String {
    let columns = [
        text("link"),
        text("node"),
        number("packets", "in"),
        number("packets", "out"),
        number("packets", "dropped"),
        number("sent", "uncoded"),
        number("sent", "coded"),
        number("sent", "a packet"),
        number("loss on", "the way, %"),
        number("innovative", "%"),
        number("redundant", "%"),
        number("stale", "%"),
        number("injected", "losses"),
    ];
    let mut rows = Vec::new();
    for (link, summary) in &run.franc {
        for (node, coded) in &summary.nodes {
            let datagrams = coded.source_sent + coded.coded_sent;
            let received = coded.innovative + coded.redundant + coded.stale;
            let share = |part: u64| match received {
                0 => String::new(),
                all => percent(part as f64 / all as f64),
            };
            let each = match coded.packets_in {
                0 => String::new(),
                packets => format!("{:.2}", datagrams as f64 / packets as f64),
            };
            let losses = coded.injected_losses;
            rows.push(vec![
                link.clone(),
                node.clone(),
                count(coded.packets_in),
                count(coded.packets_out),
                count(coded.backlog_drops),
                count(coded.source_sent),
                count(coded.coded_sent),
                each,
                coded.loss_in.values().map(|&loss| percent(loss)).collect::<Vec<_>>().join(" "),
                share(coded.innovative),
                share(coded.redundant),
                share(coded.stale),
                if losses > 0 { count(losses) } else { String::new() },
            ]);
        }
    }
    let mut out = table::render(&columns, &rows, stream);
    if !out.is_empty() {
        let legend = "Loss on the way here, from each neighbour. Datagrams received: innovative ones \
                      raised the rank of their block, redundant ones did not, stale ones came after \
                      it was complete.";
        out.push_str(&table::wrapped("  ", legend, wrong::width()));
    }
    out
}

/// Returns the changes of stations' access points.
fn roams(run: &RunDocument, stream: Stream) -> String {
    let is_steered = run.nodes.values().any(|node| {
        let roams = node.roaming.iter().flat_map(|roaming| &roaming.roams);
        roams.into_iter().any(|roam| roam.steered_by.is_some())
    });
    let mut columns = vec![
        text("station"),
        text("from"),
        text("to"),
        number("", "at s"),
        number("scan", "ms"),
        number("authentication", "ms"),
        number("association", "ms"),
        number("handshake", "ms"),
        number("without data", "ms"),
    ];
    if is_steered {
        columns.push(text("steered by"));
    }
    let known = |ms: Option<f64>| ms.map_or_else(|| "-".to_owned(), value);
    let roams = run.nodes.iter().flat_map(|(name, node)| {
        let roams = node.roaming.iter().flat_map(|roaming| &roaming.roams);
        roams.map(move |roam| (name, roam))
    });
    let rows: Vec<Vec<String>> = roams
        .map(|(name, roam)| {
            let names = [name, &roam.leaves, &roam.joins].map(Clone::clone);
            let times = [
                Some(roam.at_s),
                Some(roam.scan_ms),
                roam.authentication_ms,
                roam.association_ms,
                roam.handshake_ms,
                roam.without_ms,
            ];
            let cause = match roam.steered_by {
                Some(SteeredBy::Signal) => "its signal",
                Some(SteeredBy::Stations) => "the number of stations",
                Some(SteeredBy::Removal) => "its removal",
                None => "-",
            };
            let cause = is_steered.then(|| cause.to_owned());
            names.into_iter().chain(times.map(known)).chain(cause).collect()
        })
        .collect();
    table::render(&columns, &rows, stream)
}

fn wires(run: &RunDocument, stream: Stream) -> String {
    let columns = [
        text("wire"),
        number("packets", "through"),
        number("packets", "dropped"),
        number("packets", "lost"),
    ];
    let row = |(name, wire): (&String, &WireSummary)| {
        let counts = [wire.packets, wire.queue_drops, wire.packets_lost].map(count);
        std::iter::once(name.clone()).chain(counts).collect()
    };
    let rows: Vec<Vec<String>> = run.wires.iter().map(row).collect();
    table::render(&columns, &rows, stream)
}

/// Advice for a late emulation.
pub const WHEN_LATE: &str = "  what helps: nothing else on this machine; real-time priority (`sudo \
                             prlimit --pid $$ --rtprio=20` in this shell); fewer stations, lower \
                             rates, no --pcap; `simulate`, which has no clock to keep";

/// Describes the lateness of deliveries in real time, and its consequence.
pub fn lateness(emulation: &EmulationSummary, stream: Stream) -> String {
    let mut out = match &emulation.lateness_us {
        Some(late) => format!(
            "{} handed over; late by p50 {} us, p99 {} us, p99.9 {} us, max {} us\n",
            many(emulation.deliveries, "packet"),
            value(late.p50),
            value(late.p99),
            value(late.p99_9),
            value(late.max)
        ),
        None => "no packet was handed over\n".to_owned(),
    };
    if emulation.late {
        let _ = writeln!(
            out,
            "{} this machine did not keep real time: more than one packet in a thousand was \
             later than the scenario allows (emulation.lateness_max); do not trust the delays\n\
             {WHEN_LATE}",
            stream.yellow("late:")
        );
    }
    out
}

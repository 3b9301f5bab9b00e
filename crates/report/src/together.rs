//! Calls, flows that a scenario describes together, and senders that count more than their receivers,
//! as sentences for the terminal and pages. Throughput is in Mb/s, times are in ms.

use crate::table::{alone, counted, many, percent, value};
use lasthop_trace::{
    CallSummary, DeadlineSummary, FlowGroupSummary, FlowKind, FlowSummary, RunDocument,
    StreamSummary, TimeSummary, WebSummary,
};
use std::collections::BTreeSet;

/// Difference between the sender's and the receiver's throughput from which both are shown.
const DIFFERENCE_MIN: f64 = 0.05;

/// Returns a sentence for each group of flows: their sum, their fairness, and the percentiles of the
/// times of all flows.
pub fn groups(run: &RunDocument) -> Vec<String> {
    run.flow_groups.iter().map(|(name, group)| sentence(name, group)).collect()
}

fn sentence(name: &str, group: &FlowGroupSummary) -> String {
    let mut parts = vec![counted(group.flows, "flow")];
    if let Some(goodput) = group.goodput_mbps {
        let written = differing(group.written_mbps, goodput);
        let written = written.map_or_else(String::new, |it| format!(" ({} written)", value(it)));
        parts.push(format!("{} Mb/s together{written}", value(goodput)));
    }
    if let Some(fairness) = group.fairness {
        parts.push(format!("fairness {}", value(fairness)));
    }
    for (what, times) in [("round trips", group.rtt_ms), ("delays", group.one_way_delay_ms)] {
        parts.extend(times.map(|times| format!("{what} {}", percentiles(&times))));
    }
    format!("{name}: {}", parts.join(", "))
}

fn percentiles(times: &TimeSummary) -> String {
    let [p50, p95, p99] = [times.p50, times.p95, times.p99].map(value);
    format!("{p50} / {p95} / {p99} ms (p50, p95, p99)")
}

/// Returns what people notice of their flows: a heading for each kind, and its sentences.
pub fn experiences(run: &RunDocument) -> [(&'static str, Vec<String>); 5] {
    [
        ("Calls", calls(run)),
        ("Web pages", pages(run)),
        ("Streamed video", streams(run)),
        ("Deadlines", deadlines(run)),
        ("Tests of flent", tests_of_flent(run)),
    ]
}

/// Returns a sentence for each direction of a call: its quality, and the packets behind it.
fn calls(run: &RunDocument) -> Vec<String> {
    let calls = run.flows.iter().filter_map(|(name, flow)| Some((name, flow.call.as_ref()?)));
    calls.map(|(name, call)| quality(name, call)).collect()
}

fn quality(name: &str, call: &CallSummary) -> String {
    let mut parts = vec![format!("MOS {:.2}", call.mos)];
    parts.extend(call.r_factor.map(|r| format!("R {r:.1}")));
    parts.extend(call.mouth_to_ear_ms.map(|ms| format!("{} ms from mouth to ear", value(ms))));
    parts.push(format!("{} % of packets late", percent(call.late_fraction)));
    parts.push(format!("{} % lost", percent(call.lost_fraction)));
    if call.concealed_run_max_packets > 0 {
        parts.push(format!("up to {} concealed in a row", call.concealed_run_max_packets));
    }
    format!("{name}: {}", parts.join(", "))
}

/// Returns a sentence for each group of readers, and for each reader outside of groups.
fn pages(run: &RunDocument) -> Vec<String> {
    let groups =
        run.flow_groups.iter().filter_map(|(name, group)| Some((name, group.web.as_ref()?)));
    let flows = run.flows.iter().filter(|(name, flow)| !is_member(run, name, flow));
    let flows = flows.filter_map(|(name, flow)| Some((name, flow.web.as_ref()?)));
    groups.chain(flows).map(|(name, web)| waiting(name, web)).collect()
}

fn waiting(name: &str, web: &WebSummary) -> String {
    let mut parts = vec![many(web.pages, "page")];
    if let Some(times) = web.page_load_ms {
        let [p50, p95] = [times.p50, times.p95].map(|ms| value(ms / 1e3));
        parts.push(format!("loaded in {p50} s (median), {p95} s (95th percentile)"));
    }
    if web.pages_unfinished > 0 {
        parts.push(format!("{} not complete at the end", web.pages_unfinished));
    }
    format!("{name}: {}", parts.join(", "))
}

/// Returns a sentence for each stream: what its viewer notices.
fn streams(run: &RunDocument) -> Vec<String> {
    let streams = run.flows.iter().filter_map(|(name, flow)| Some((name, flow.stream.as_ref()?)));
    streams.map(|(name, stream)| watching(name, stream)).collect()
}

fn watching(name: &str, stream: &StreamSummary) -> String {
    let Some(startup) = stream.startup_s else { return format!("{name}: play did not begin") };
    let mut parts = vec![format!("play began after {} s", value(startup))];
    parts.push(match stream.stalls {
        0 => "no stall".into(),
        stalls => format!(
            "{} of {} s together ({} % of the time)",
            many(stalls, "stall"),
            value(stream.stalled_s),
            percent(stream.rebuffering_fraction.unwrap_or(0.0))
        ),
    });
    if let Some(bitrate) = stream.mean_bitrate_mbps {
        parts.push(format!("{} Mb/s on average", value(bitrate)));
        parts.push(format!("{} of {}", changes(stream.switches), many(stream.segments, "segment")));
    }
    format!("{name}: {}", parts.join(", "))
}

fn changes(switches: u64) -> String {
    match switches {
        1 => "1 switch".into(),
        _ => format!("{switches} switches"),
    }
}

/// Returns a sentence for each flow with a deadline: packets that are of no use, and the delays.
fn deadlines(run: &RunDocument) -> Vec<String> {
    let flows = run.flows.iter().filter_map(|(name, flow)| Some((name, flow, flow.deadline?)));
    let sentence = |(name, flow, packets): (&String, &FlowSummary, DeadlineSummary)| {
        let delays = flow.one_way_delay_ms.as_ref().map(percentiles);
        let delays = delays.map_or_else(String::new, |delays| format!(", delays {delays}"));
        format!(
            "{name}: {} % of packets later than {} ms, {} % lost{delays}",
            percent(packets.late_fraction),
            alone(packets.deadline_ms),
            percent(packets.lost_fraction)
        )
    };
    flows.map(sentence).collect()
}

/// Returns a sentence for each test of flent that loads both directions (rrul, rtt_fair): the numbers
/// that flent prints. The flows of a test have its name, a word, and more.
fn tests_of_flent(run: &RunDocument) -> Vec<String> {
    let tests = run.flows.keys().filter_map(|name| name.split_once("-ping-"));
    let tests: BTreeSet<&str> = tests.map(|(test, _)| test).collect();
    tests.into_iter().filter_map(|test| flent(run, test)).collect()
}

fn flent(run: &RunDocument, test: &str) -> Option<String> {
    let of = |word: &str, kind: FlowKind, number: fn(&FlowSummary) -> Option<f64>| {
        let prefix = format!("{test}-{word}-");
        let flows = run.flows.iter().filter(|(name, _)| name.starts_with(&prefix));
        flows.filter(|(_, it)| it.kind == kind).filter_map(|(_, it)| number(it)).collect::<Vec<_>>()
    };
    let rates = |way| of(way, FlowKind::Tcp, |flow| flow.goodput_mbps);
    let [download, upload] = ["down", "up"].map(rates);
    let pings = of("ping", FlowKind::Ping, |flow| flow.rtt_ms.map(|it| it.mean));
    if download.is_empty() || upload.is_empty() || pings.is_empty() {
        return None;
    }
    let sum = |rates: &[f64]| rates.iter().sum::<f64>();
    let mean = |numbers: &[f64]| value(sum(numbers) / numbers.len() as f64);
    let rates = |way: &str, rates: &[f64]| {
        format!("TCP {way} {} Mb/s, {} a flow", value(sum(rates)), mean(rates))
    };
    Some(format!(
        "{test}: {}; {}; pings {} ms on average",
        rates("download", &download),
        rates("upload", &upload),
        mean(&pings)
    ))
}

/// Whether the flow is one of a group that the scenario describes together: its name is that of the
/// group with a number, or with the node at an end.
fn is_member(run: &RunDocument, name: &str, flow: &FlowSummary) -> bool {
    let is_of = |group: &String| {
        let Some(rest) = name.strip_prefix(group.as_str()) else { return false };
        let node = rest.trim_start_matches(|it: char| it.is_ascii_digit());
        let ends = [&flow.sender, &flow.receiver].into_iter().flatten();
        let is_node = || ends.clone().any(|end| node.strip_prefix('-') == Some(end));
        !rest.is_empty() && (node.is_empty() || is_node())
    };
    run.flow_groups.keys().any(is_of)
}

/// Returns a sentence for each flow, outside of groups, whose sender's socket accepted at least 5 %
/// more than its receiver got: programs that count where they send show the larger number.
pub fn senders(run: &RunDocument) -> Vec<String> {
    let is_member = |name: &str| {
        let number = |group: &String| name.strip_prefix(group.as_str());
        let is_number = |it: &str| !it.is_empty() && it.bytes().all(|it| it.is_ascii_digit());
        run.flow_groups.keys().filter_map(number).any(is_number)
    };
    let flows = run.flows.iter().filter(|(name, _)| !is_member(name));
    let sentence = |(name, flow): (&String, &FlowSummary)| {
        let goodput = flow.goodput_mbps?;
        let written = differing(flow.written_mbps, goodput)?;
        Some(format!(
            "{name}: the sender wrote {} Mb/s, {:.0} % more than arrived",
            value(written),
            100.0 * (written / goodput - 1.0)
        ))
    };
    flows.filter_map(sentence).collect()
}

/// The sender's throughput if it differs from the receiver's.
fn differing(written: Option<f64>, goodput: f64) -> Option<f64> {
    written.filter(|written| goodput > 0.0 && written / goodput - 1.0 >= DIFFERENCE_MIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(text: &str) -> RunDocument {
        serde_json::from_str(text).expect("a document")
    }

    fn flow(goodput: f64, written: f64) -> String {
        format!(
            r#"{{"kind": "tcp", "goodput_mbps": {goodput}, "written_mbps": {written},
                "packets_sent": 0, "packets_received": 0, "packets_lost": 0}}"#
        )
    }

    /// Both numbers are shown from 5 % on, once: in the group's sentence or in the flow's.
    #[test]
    fn groups_and_senders_have_sentences() {
        let time = r#"{"mean": 20.0, "p50": 12.5, "p95": 45.0, "p99": 80.0,
            "max": 90.0}"#;
        let document = run(&format!(
            r#"{{"scenario": "s", "seed": 1, "run": 0, "duration_s": 10.0, "warmup_s": 0.0,
                "wall_s": 0.0, "version": "0", "nodes": {{}}, "links": {{}},
                "flows": {{"alike": {}, "large": {}, "tcp1": {}, "tcp2": {}}},
                "flow_groups": {{"tcp": {{"kind": "tcp", "flows": 2, "goodput_mbps": 30.0,
                    "written_mbps": 33.0, "fairness": 0.8, "rtt_ms": {time}}}}}}}"#,
            flow(10.0, 10.4),
            flow(10.0, 12.0),
            flow(15.0, 16.5),
            flow(15.0, 16.5),
        ));
        assert_eq!(
            groups(&document),
            [
                "tcp: 2 flows, 30.00 Mb/s together (33.00 written), fairness 0.800, round trips 12.50 \
              / 45.00 / 80.00 ms (p50, p95, p99)"
            ]
        );
        assert_eq!(
            senders(&document),
            ["large: the sender wrote 12.00 Mb/s, 20 % more than arrived"]
        );
    }

    /// Readers of a group have one sentence, others their own.
    #[test]
    fn pages_have_sentences() {
        let web = r#""web": {"pages": 3, "pages_unfinished": 1, "page_load_ms": {"mean": 500.0,
            "p50": 450.0, "p95": 1200.0, "p99": 1300.0, "max": 1300.0}}"#;
        let none = r#""web": {"pages": 0, "pages_unfinished": 0}"#;
        let flow = |web: &str| {
            format!(
                r#"{{"kind": "tcp", "sender": "ap", "receiver": "laptop", "packets_sent": 0,
                    "packets_received": 0, "packets_lost": 0, {web}}}"#
            )
        };
        let document = run(&format!(
            r#"{{"scenario": "s", "seed": 1, "run": 0, "duration_s": 10.0, "warmup_s": 0.0,
                "wall_s": 0.0, "version": "0", "nodes": {{}}, "links": {{}},
                "flows": {{"alone": {}, "web-laptop": {}, "web-tv": {}, "web1": {}}},
                "flow_groups": {{"web": {{"kind": "tcp", "flows": 2, {web}}}}}}}"#,
            flow(none),
            flow(web),
            flow(web),
            flow(web),
        ));
        let waited = "3 pages, loaded in 0.450 s (median), 1.20 s (95th percentile), 1 not complete \
                      at the end";
        assert_eq!(
            pages(&document),
            [format!("web: {waited}"), "alone: 0 pages".into(), format!("web-tv: {waited}")]
        );
    }

    /// A film with stalls, one without, and one that never began.
    #[test]
    fn streams_have_sentences() {
        let stream = StreamSummary {
            startup_s: Some(1.5),
            stalls: 2,
            stalled_s: 6.0,
            rebuffering_fraction: Some(0.1),
            segments: 20,
            mean_bitrate_mbps: Some(1.25),
            switches: 1,
        };
        assert_eq!(
            watching("film", &stream),
            "film: play began after 1.50 s, 2 stalls of 6.00 s together (10.00 % of the time), \
             1.25 Mb/s on average, 1 switch of 20 segments"
        );
        let smooth = StreamSummary { stalls: 0, stalled_s: 0.0, switches: 3, ..stream };
        assert_eq!(
            watching("film", &smooth),
            "film: play began after 1.50 s, no stall, 1.25 Mb/s on average, 3 switches of 20 segments"
        );
        let none = StreamSummary { startup_s: None, ..smooth };
        assert_eq!(watching("film", &none), "film: play did not begin");
    }

    /// Late and lost packets are apart; a flow of which nothing arrived has no delays.
    #[test]
    fn deadlines_have_sentences() {
        let flow = |more: &str| {
            format!(
                r#"{{"kind": "udp", "packets_sent": 0, "packets_received": 0, "packets_lost": 0, {more}
                    "deadline": {{"deadline_ms": 100.0, "packets": 50, "late_fraction": 0.02,
                    "lost_fraction": 0.1}}}}"#
            )
        };
        let delays = r#""one_way_delay_ms": {"mean": 9.0, "p50": 5.0, "p95": 20.0, "p99": 110.0,
            "max": 120.0},"#;
        let document = run(&format!(
            r#"{{"scenario": "s", "seed": 1, "run": 0, "duration_s": 10.0, "warmup_s": 0.0,
                "wall_s": 0.0, "version": "0", "nodes": {{}}, "links": {{}},
                "flows": {{"game": {}, "game-back": {}}}}}"#,
            flow(delays),
            flow("")
        ));
        let late = "2.00 % of packets later than 100 ms, 10.00 % lost";
        assert_eq!(
            deadlines(&document),
            [
                format!("game: {late}, delays 5.00 / 20.00 / 110.0 ms (p50, p95, p99)"),
                format!("game-back: {late}")
            ]
        );
    }

    /// The sums of both directions, and the mean of the pings' means. Other names with such words, and
    /// tests of one direction, have no sentence.
    #[test]
    fn tests_of_flent_have_sentences() {
        let tcp = |mbps: f64| flow(mbps, mbps);
        let ping = |ms: f64| {
            format!(
                r#"{{"kind": "ping", "packets_sent": 0, "packets_received": 0, "packets_lost": 0,
                    "rtt_ms": {{"mean": {ms}, "p50": 1.0, "p95": 1.0, "p99": 1.0, "max": 1.0}}}}"#
            )
        };
        let document = run(&format!(
            r#"{{"scenario": "s", "seed": 1, "run": 0, "duration_s": 10.0, "warmup_s": 0.0,
                "wall_s": 0.0, "version": "0", "nodes": {{}}, "links": {{}},
                "flows": {{"it-up-be": {}, "it-up-bk": {}, "it-down-be": {}, "it-down-bk": {},
                    "it-ping-icmp": {}, "it-ping-udp-ef": {}, "other-ping-x": {}, "x-up-y": {}}}}}"#,
            tcp(10.0),
            tcp(2.0),
            tcp(30.0),
            tcp(3.0),
            ping(20.0),
            ping(40.0),
            ping(1.0),
            tcp(1.0),
        ));
        assert_eq!(
            tests_of_flent(&document),
            [
                "it: TCP download 33.00 Mb/s, 16.50 a flow; TCP upload 12.00 Mb/s, 6.00 a flow; pings \
              30.00 ms on average"
            ]
        );
    }

    /// A direction without any packet has no rating; runs are shown where something was concealed.
    #[test]
    fn calls_have_sentences() {
        let call = CallSummary {
            packets: 100,
            late_fraction: 0.03,
            lost_fraction: 0.01,
            concealed_run_max_packets: 2,
            jitter_ms: 1.5,
            mouth_to_ear_ms: Some(130.0),
            r_factor: Some(77.04),
            mos: 3.909,
        };
        assert_eq!(
            quality("talk", &call),
            "talk: MOS 3.91, R 77.0, 130.0 ms from mouth to ear, 3.00 % of packets late, 1.00 % lost, \
             up to 2 concealed in a row"
        );
        let silent = CallSummary {
            late_fraction: 0.0,
            lost_fraction: 1.0,
            concealed_run_max_packets: 0,
            mouth_to_ear_ms: None,
            r_factor: None,
            mos: 1.0,
            ..call
        };
        assert_eq!(quality("talk", &silent), "talk: MOS 1.00, 0 % of packets late, 100.0 % lost");
    }
}

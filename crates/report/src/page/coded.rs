//! Tables of coded links (FRANC) from `run.json`: packets and delays of each direction, and the
//! counters of each node.

use super::short;
use lasthop_figures::page::table;
use lasthop_figures::text::escaped;
use lasthop_trace::{CodedLinkSummary, CodedRole, RunDocument};
use std::fmt::Write;

/// A section with all coded links; empty without any.
pub(super) fn links(run: &RunDocument) -> String {
    if run.franc.is_empty() {
        return String::new();
    }
    let mut out = String::from(
        "<section><h2>Coded links</h2><p>After the warm-up. Coded datagrams are combinations of \
         several packets. A received datagram is innovative if it raises the rank of its block, \
         redundant if not, stale if the block was complete.</p>",
    );
    for (name, link) in &run.franc {
        let _ = write!(out, "<h3>{}</h3>{}", escaped(name), directions(name, link));
        out.push_str(&nodes(name, link));
        if link.corrupt > 0 {
            let _ = write!(
                out,
                "<p><strong>{} packets came out that did not go in: a fault of lasthop.</strong></p>",
                link.corrupt
            );
        }
    }
    out + "</section>\n"
}

fn directions(name: &str, link: &CodedLinkSummary) -> String {
    let heads = ["Direction", "Packets", "Delay, ms", "p50", "p95", "p99", "max"];
    let rows: Vec<Vec<String>> = link
        .directions
        .iter()
        .map(|(direction, carried)| {
            let delay = carried.delay_ms;
            let times = [delay.mean, delay.p50, delay.p95, delay.p99, delay.max];
            [direction.clone(), carried.packets.to_string()]
                .into_iter()
                .chain(times.map(short))
                .collect()
        })
        .collect();
    table(&format!("What {name} carried"), &heads, 1, &rows)
}

fn nodes(name: &str, link: &CodedLinkSummary) -> String {
    let heads = [
        "Node",
        "Role",
        "Sent as it is",
        "Coded",
        "for a block",
        "Innovative",
        "Redundant",
        "Stale",
        "Lost by injection",
        "Backlog drops",
    ];
    let rows: Vec<Vec<String>> = link
        .nodes
        .iter()
        .map(|(node, counts)| {
            let role = match counts.role {
                CodedRole::End => "end",
                CodedRole::Relay => "relay",
                CodedRole::Helper => "helper",
            };
            vec![
                node.clone(),
                role.to_owned(),
                counts.source_sent.to_string(),
                counts.coded_sent.to_string(),
                counts.transmissions_per_block.map_or(String::new(), short),
                counts.innovative.to_string(),
                counts.redundant.to_string(),
                counts.stale.to_string(),
                counts.injected_losses.to_string(),
                counts.backlog_drops.to_string(),
            ]
        })
        .collect();
    table(&format!("Nodes of {name}"), &heads, 2, &rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_coded_link_has_its_directions_and_nodes() {
        let node = r#"{"role": "end", "packets_in": 9, "packets_out": 8, "backlog_drops": 7,
            "blocks": 1, "source_sent": 61, "coded_sent": 62, "transmissions_per_block": 4.25,
            "timeouts": 0, "acks_sent": 0, "innovative": 63, "redundant": 64, "stale": 65,
            "injected_losses": 66, "datagram_bytes_sent": 0, "symbols_lost": 0, "sessions": 1}"#;
        let json = format!(
            r#"{{"scenario": "s", "seed": 1, "run": 0, "duration_s": 1.0, "warmup_s": 0.0,
            "wall_s": 0.0, "version": "0", "flows": {{}}, "nodes": {{}}, "links": {{}}, "franc":
            {{"<hop>": {{"corrupt": 0, "directions": {{"a->b": {{"packets": 51, "delay_ms":
            {{"mean": 1.5, "p50": 1.0, "p95": 2.0, "p99": 3.0, "max": 4.0}}}}}},
            "nodes": {{"a": {node}}}}}}}}}"#
        );
        let run: RunDocument = serde_json::from_str(&json).expect("a document");
        let section = links(&run);
        let cells =
            ["&lt;hop&gt;", "a-&gt;b", ">51<", ">1.500<", ">end<", ">61<", ">62<", ">4.250<"];
        for cell in cells.into_iter().chain([">63<", ">64<", ">65<", ">66<", ">7<"]) {
            assert!(section.contains(cell), "{cell}: {section}");
        }
        assert!(!section.contains("fault"), "nothing is corrupt");
        assert_eq!(links(&RunDocument { franc: Default::default(), ..run }), "");
    }
}

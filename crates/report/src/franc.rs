//! A coded link as text: the configuration of a node, its events, its state and its counters. The
//! checks that help with an unanswered node are in the command, because they name its flags.

use crate::style::Style;
use lasthop_franc::wire::VERSION;
use lasthop_franc::{CodeParameters, Config, Event, NodeId, Role};
use lasthop_franc_node::document::FrancDocument;
use std::fmt::Write;

/// Returns the role of a node and its code.
pub fn node(config: &Config) -> String {
    let field = format!("{:?}", config.field).to_lowercase();
    let (block, symbol) = (config.block_symbols, config.symbol_bytes);
    let code = format!("{field}, blocks of {block} symbols of {symbol} bytes");
    let pair = |[one, other]: [NodeId; 2]| format!("between {one} and {other}");
    match config.role {
        Role::End { peer, .. } => {
            format!(
                "an end, the other one is {peer}; {code}; packets of up to {}",
                config.inner_mtu()
            )
        }
        Role::Helper { between, .. } => format!("a helper {}; {code}", pair(between)),
        Role::Recoder { between } => format!("a recoder {}; {code}", pair(between)),
        Role::Forwarder { between } => format!("a forwarder {}", pair(between)),
    }
}

/// Returns a sentence about an event of a node with a key, or without (`has_key`); `None` for
/// events whose checks the daemon names.
pub fn event(event: Event, has_key: bool) -> Option<String> {
    Some(match event {
        Event::Connected { peer } => {
            format!("connected to node {peer}")
        }
        Event::Disconnected { peer } => {
            format!("no answer from node {peer}, or it restarted")
        }
        Event::KeyMismatch { sender, is_keyless } => match (has_key, is_keyless) {
            (true, true) => format!(
                "node {sender} runs with --insecure, and this node with a key: give node {sender} \
                 a copy of the key by --key-file"
            ),
            (false, _) => format!(
                "node {sender} runs with a key, and this node with --insecure: give this node a \
                 copy of the key by --key-file"
            ),
            (true, false) => format!(
                "datagrams of node {sender} have another key: --key-file must name copies of one \
                 file at both ends (`sha256sum` compares them), and at helpers, recoders and \
                 forwarders a hop key made from it"
            ),
        },
        Event::CodeMismatch { peer, ours, theirs } => code_mismatch(peer, ours, theirs),
        Event::VersionMismatch { sender, theirs } => format!(
            "node {sender} has version {theirs} of the protocol, this program version {VERSION}: \
             both ends and all nodes between them need the same"
        ),
        Event::Stalled { peer } => format!(
            "datagrams to node {peer} do not arrive, although datagrams from it do: requesting a \
             new session"
        ),
        Event::PathMtu { peer, datagram_bytes } => format!(
            "the path to node {peer} carries datagrams of {datagram_bytes} bytes; longer \
             packets are split"
        ),
        Event::Unanswered { .. } => return None,
    })
}

/// Describes the flags that differ between the ends.
fn code_mismatch(peer: NodeId, ours: CodeParameters, theirs: Option<CodeParameters>) -> String {
    let field = |code: CodeParameters| format!("{:?}", code.field).to_lowercase();
    let keys = |code: CodeParameters| {
        [
            ("--field", field(code)),
            ("--block-symbols", code.block_symbols.to_string()),
            ("--symbol-bytes", code.symbol_bytes.to_string()),
            ("--rekey-blocks", code.rekey_blocks.to_string()),
        ]
    };
    let Some(theirs) = theirs else {
        let ours = keys(ours).map(|(flag, value)| format!("{flag} {value}"));
        return format!(
            "node {peer} has another code than this node, which has {}: give both ends the same",
            ours.join(" ")
        );
    };
    let differing: Vec<String> = keys(theirs)
        .into_iter()
        .zip(keys(ours))
        .filter(|(theirs, ours)| theirs != ours)
        .map(|((flag, theirs), (_, ours))| format!("{flag} is {theirs} there and {ours} here"))
        .collect();
    let is_mode = theirs.field != ours.field && theirs.block_symbols != ours.block_symbols;
    let is_length = theirs.symbol_bytes != ours.symbol_bytes;
    let remedy = if is_mode {
        "give both ends the same --mode".to_owned()
    } else if is_length {
        let shorter = theirs.symbol_bytes.min(ours.symbol_bytes);
        format!(
            "the length follows from the MTU, --helpers and --via unless it is given: give both \
             ends --symbol-bytes {shorter}"
        )
    } else {
        "give both ends the same".to_owned()
    };
    format!("node {peer} has another code: {}; {remedy}", differing.join(", "))
}

/// Returns the state and the counters of a node as lines of text.
pub fn status(document: &FrancDocument, style: Style) -> String {
    let counters = &document.counters;
    let mut out = String::new();
    let connected = if document.connected { "connected" } else { "not connected" };
    let _ = writeln!(
        out,
        "{}: node {}, {:?} over {}, {connected}, up {:.0} s",
        style.bold(&document.name),
        document.id,
        document.role,
        document.transport,
        document.up_s
    );
    let _ = writeln!(
        out,
        "code        {} in {} mode, blocks of {} symbols of {} bytes; packets of up to {}",
        document.field,
        document.mode,
        document.block_symbols,
        document.symbol_bytes,
        document.tunnel_mtu_bytes
    );
    let mut way = Vec::new();
    way.extend(document.round_trip_ms.map(|ms| format!("round trip {ms:.1} ms")));
    way.extend(document.queue_delay_ms.map(|ms| format!("queues {ms:.1} ms")));
    way.extend(document.path_datagram_bytes.map(|bytes| format!("datagrams of up to {bytes}")));
    way.extend(document.pace_mbps.map(|mbps| format!("paced at {mbps:.2} Mb/s")));
    if !way.is_empty() {
        let _ = writeln!(out, "path        {}", way.join(", "));
    }
    let _ = writeln!(
        out,
        "packets     {} in, {} out, {} queued, {} dropped from the queue, {} refused",
        counters.packets_in,
        counters.packets_out,
        document.backlog_packets,
        counters.backlog_drops,
        counters.refused
    );
    let _ = writeln!(
        out,
        "sent        {} symbols as they are, {} combinations, {} ACKs, {:.1} MB; {} timeouts",
        counters.source_sent,
        counters.coded_sent,
        counters.acks_sent,
        counters.datagram_bytes_sent as f64 / 1e6,
        counters.timeouts
    );
    let _ = writeln!(
        out,
        "received    {} innovative, {} redundant, {} stale, {} ACKs, {:.1} MB",
        counters.innovative,
        counters.redundant,
        counters.stale,
        counters.acks_received,
        counters.datagram_bytes_received as f64 / 1e6
    );
    let _ = writeln!(
        out,
        "rejected    {} malformed, {} unauthentic, {} replayed, {} unproven, {} lost by injection",
        counters.malformed,
        counters.unauthentic,
        counters.replayed,
        counters.unproven,
        counters.injected_losses
    );
    let frames = [
        counters.overheard,
        counters.overheard_again,
        counters.overheard_bad_fcs,
        counters.overheard_protected,
        counters.overheard_unread,
        counters.overheard_drops,
    ];
    if frames.iter().any(|&count| count > 0) {
        let [read, again, damaged, encrypted, unread, dropped] = frames;
        let _ = writeln!(
            out,
            "overheard   {read} datagrams; {again} frames again, {damaged} damaged, {encrypted} encrypted, \
             {unread} not readable, {dropped} dropped by the system"
        );
    }
    let _ = writeln!(
        out,
        "not sent    {} without an address, {} refused by the system, {} of them too long",
        counters.unplaced, counters.unsent, counters.too_long
    );
    for neighbour in &document.neighbours {
        let share = |loss: Option<f64>| {
            loss.map_or("unknown".into(), |loss| format!("{:.1} %", 100.0 * loss))
        };
        let _ = writeln!(
            out,
            "neighbour {} at {}: {} heard; loss from it {}, to it {}",
            neighbour.id,
            neighbour.address.as_deref().unwrap_or("an unknown address"),
            neighbour.heard,
            share(neighbour.loss_in),
            share(neighbour.loss_out)
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use lasthop_franc::config::Keys;
    use lasthop_franc::{Stats, Unanswered};
    use lasthop_franc_node::document::FrancDaemonCounts;
    use lasthop_units::Duration;

    #[test]
    fn the_status_has_the_lines_that_apply() {
        let role = Role::Forwarder { between: [NodeId(1), NodeId(2)] };
        let config = Config::new(NodeId(3), role, Keys::Insecure, 1_400);
        assert_eq!(node(&config), "a forwarder between 1 and 2");
        let stats = Stats { innovative: 7, ..Stats::default() };
        let (up, counts) = (Duration::from_secs(5), FrancDaemonCounts::default());
        let document = FrancDocument::new("franc0", "udp", &config, up, &stats, &counts, &[]);
        let text = status(&document, Style::PLAIN);
        let head = "franc0: node 3, Forwarder over udp, not connected, up 5 s\n";
        assert!(text.starts_with(head), "{text}");
        let received = "\nreceived    7 innovative, 0 redundant, 0 stale, 0 ACKs, 0.0 MB\n";
        assert!(text.contains(received), "{text}");
        // No round trip is known, and no interface overhears.
        assert!(!text.contains("\npath ") && !text.contains("\noverheard "), "{text}");
    }

    #[test]
    fn an_unanswered_call_has_other_words() {
        let peer = NodeId(2);
        assert_eq!(event(Event::Connected { peer }, true).as_deref(), Some("connected to node 2"));
        assert_eq!(event(Event::Unanswered { peer, why: Unanswered::Silent }, true), None);
    }
}

//! A coded link as text: the configuration of a node, its events, its state and its counters. The
//! checks that help with an unanswered node are in the command, because they name its flags.

use crate::style::Style;
use lasthop_franc::wire::VERSION;
use lasthop_franc::{CodeParameters, Config, Event, NodeId, Role};
use lasthop_franc_node::document::{
    FrancCounters, FrancDocument, FrancLinkState, FrancNeighbour, FrancRole,
};
use lasthop_units::Duration;
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
        Event::Unanswered { .. } | Event::Link { .. } => return None,
    })
}

/// Returns a sentence about one of two links to `peer`, at `place`, which died or works again after
/// a time without a datagram that arrived there.
pub fn link_event(peer: NodeId, link: u8, place: &str, is_alive: bool, silent: Duration) -> String {
    let (number, other, seconds) = (link + 1, 2 - link, silent.as_secs_f64());
    if is_alive {
        format!("link {number} to node {peer} ({place}) is back after {seconds:.1} s")
    } else {
        format!(
            "link {number} to node {peer} ({place}) died: no datagram has arrived there for \
             {seconds:.1} s; link {other} carries everything"
        )
    }
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
            ("--links", code.links.to_string()),
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

/// Returns the state and the counters of a node as lines of text, with rates since `previous`, an
/// earlier document of the same daemon. Lines about problems are left out without any.
pub fn status(document: &FrancDocument, previous: Option<&FrancDocument>, style: Style) -> String {
    let counters = &document.counters;
    let mut out = String::new();
    let role = match document.role {
        FrancRole::End => "an end",
        FrancRole::Helper => "a helper",
        FrancRole::Recoder => "a recoder",
        FrancRole::Forwarder => "a forwarder",
    };
    let connected =
        if document.connected { "connected" } else { "not connected (the daemon prints why)" };
    let _ = writeln!(
        out,
        "{}: node {}, {role} over {}, {connected}, up {:.0} s",
        style.bold(&document.name),
        document.id,
        document.transport,
        document.up_s
    );
    let mut line = |label: &str, text: String| {
        let _ = writeln!(out, "{label:<12}{text}");
    };
    line(
        "code",
        format!(
            "{} mode, {}, blocks of {} symbols of {} bytes; packets of up to {} bytes",
            document.mode,
            document.field,
            document.block_symbols,
            document.symbol_bytes,
            document.tunnel_mtu_bytes
        ),
    );
    let mut path = Vec::new();
    path.extend(document.round_trip_ms.map(|ms| format!("round trip {ms:.1} ms")));
    path.extend(document.queue_delay_ms.map(|ms| format!("{ms:.1} ms of it in queues")));
    path.extend(document.pace_mbps.map(|mbps| format!("rate limit {mbps:.2} Mb/s")));
    path.extend(
        document.path_datagram_bytes.map(|bytes| format!("datagrams of up to {bytes} bytes")),
    );
    if !path.is_empty() {
        line("path", path.join(", "));
    }
    for neighbour in &document.neighbours {
        line("neighbour", neighbour_loss(neighbour));
    }
    let is_end = document.role == FrancRole::End;
    if is_end {
        line(
            "packets in",
            format!("{}; {}", carried(counters.packets_in, counters.bytes_in), waiting(document)),
        );
        let lost = match counters.symbols_lost {
            0 => "none lost for good".to_owned(),
            lost => format!("{lost} symbols lost for good, as a node restarted or vanished"),
        };
        line(
            "packets out",
            format!("{}; {lost}", carried(counters.packets_out, counters.bytes_out)),
        );
    }
    let datagrams = counters.source_sent + counters.coded_sent;
    let each = if is_end && counters.packets_in > 0 {
        format!(", {:.2} datagrams a packet", datagrams as f64 / counters.packets_in as f64)
    } else {
        String::new()
    };
    line(
        "sent",
        format!(
            "{datagrams} datagrams and {} ACKs, {}{each}: {} uncoded, {} combinations (repair)",
            counters.acks_sent,
            bytes(counters.datagram_bytes_sent),
            counters.source_sent,
            counters.coded_sent,
        ),
    );
    line("received", received(counters));
    line("", format!("({TERMS})"));
    if let Some(rates) = previous.and_then(|previous| rates(previous, document)) {
        line("now", rates);
    }
    for (label, counts) in problems(counters) {
        let told: Vec<String> = counts
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, what)| format!("{count} {what}"))
            .collect();
        if !told.is_empty() {
            line(label, told.join(", "));
        }
    }
    for link in &document.links {
        let _ = writeln!(out, "{:<12}{}", format!("link {}", link.link), link_state(link));
    }
    out
}

/// Describes the losses between this node and a neighbour.
fn neighbour_loss(neighbour: &FrancNeighbour) -> String {
    format!(
        "node {} at {}: {} datagrams received; loss on the path to it {}, from it {}",
        neighbour.id,
        neighbour.address.as_deref().unwrap_or("an unknown address"),
        neighbour.heard,
        share(neighbour.loss_out),
        share(neighbour.loss_in)
    )
}

/// Describes one of two links: whether it carries anything, its losses, round trip and rate.
fn link_state(link: &FrancLinkState) -> String {
    let round_trip = link.round_trip_ms.map_or("unknown".into(), |ms| format!("{ms:.1} ms"));
    format!(
        "to {}: {}, {} of the bytes sent; {} datagrams received; loss on the path to it {}, from it {}; round trip \
         {round_trip}, rate limit {:.2} Mb/s",
        link.address.as_deref().unwrap_or("an unknown address"),
        if link.alive { "in use" } else { "silent" },
        share(link.share),
        link.heard,
        share(link.loss_out),
        share(link.loss_in),
        link.pace_mbps
    )
}

/// A share in percent.
fn share(loss: Option<f64>) -> String {
    loss.map_or("unknown".into(), |loss| format!("{:.1} %", 100.0 * loss))
}

/// Describes the backlog: packets, and the time that they wait at the present rate.
fn waiting(document: &FrancDocument) -> String {
    let counters = &document.counters;
    let waiting = document.backlog_packets;
    let packet_bits = 8.0 * counters.bytes_in as f64 / counters.packets_in.max(1) as f64;
    let ms = document.pace_mbps.filter(|mbps| *mbps > 0.0 && waiting > 0).map(|mbps| {
        format!(" (about {:.1} ms at this rate)", waiting as f64 * packet_bits / mbps / 1e3)
    });
    format!(
        "{waiting} waiting{}, {} dropped there, {} refused (too long, or no IP)",
        ms.unwrap_or_default(),
        counters.backlog_drops,
        counters.refused
    )
}

/// The terms of [`received`].
const TERMS: &str =
    "innovative: of use to their block, redundant: of no use, stale: block complete";

/// Describes the use of the datagrams received.
fn received(counters: &FrancCounters) -> String {
    let all = counters.innovative + counters.redundant + counters.stale;
    let share = |part: u64| 100.0 * part as f64 / all as f64;
    let shares = if all > 0 {
        format!(
            ": {:.1} % innovative, {:.1} % redundant, {:.1} % stale",
            share(counters.innovative),
            share(counters.redundant),
            share(counters.stale)
        )
    } else {
        String::new()
    };
    let bytes = bytes(counters.datagram_bytes_received);
    format!("{all} datagrams and {} ACKs, {bytes}{shares}", counters.acks_received)
}

/// Describes the rates between two documents; `None` if the daemon restarted, or both are the same.
fn rates(previous: &FrancDocument, document: &FrancDocument) -> Option<String> {
    let seconds = document.up_s - previous.up_s;
    let (old, new) = (&previous.counters, &document.counters);
    let mbps = |old: u64, new: u64| Some(8e-6 * new.checked_sub(old)? as f64 / seconds);
    if seconds <= 0.0 {
        return None;
    }
    let lost = match (new.innovative + new.redundant + new.stale)
        .checked_sub(old.innovative + old.redundant + old.stale)?
    {
        0 => String::new(),
        all => {
            let useful = (new.innovative - old.innovative) as f64;
            format!(", {:.1} % of the datagrams received innovative", 100.0 * useful / all as f64)
        }
    };
    Some(format!(
        "packets: {:.2} Mb/s in, {:.2} Mb/s out; datagrams: {:.2} Mb/s sent, {:.2} Mb/s \
         received{lost}",
        mbps(old.bytes_in, new.bytes_in)?,
        mbps(old.bytes_out, new.bytes_out)?,
        mbps(old.datagram_bytes_sent, new.datagram_bytes_sent)?,
        mbps(old.datagram_bytes_received, new.datagram_bytes_received)?
    ))
}

/// A label, and counts with their descriptions.
type Problems = (&'static str, Vec<(u64, &'static str)>);

/// Returns the counts that are zero on a healthy link.
fn problems(counters: &FrancCounters) -> [Problems; 4] {
    [
        (
            "rejected",
            vec![
                (counters.unauthentic, "datagrams of another key"),
                (counters.malformed, "malformed"),
                (counters.replayed, "replayed or doubled"),
                (counters.corrupt, "symbols with an invalid seal"),
                (counters.injected_losses, "lost by --synthetic-loss"),
                (counters.stalls, "sessions replaced because nothing arrived"),
                (counters.undelivered, "packets rejected by the tunnel interface"),
            ],
        ),
        (
            "not sent",
            vec![
                (counters.unplaced, "to a neighbour of unknown address"),
                (counters.unsent, "refused by the system"),
                (counters.too_long, "of them too long"),
            ],
        ),
        ("timeouts", vec![(counters.timeouts, "without an ACK in time")]),
        (
            "overheard",
            vec![
                (counters.overheard, "datagrams"),
                (counters.overheard_again, "frames again"),
                (counters.overheard_bad_fcs, "damaged"),
                (counters.overheard_protected, "encrypted"),
                (counters.overheard_unread, "not readable"),
                (counters.overheard_drops, "dropped by the system"),
            ],
        ),
    ]
}

fn carried(packets: u64, length: u64) -> String {
    format!("{packets} ({})", bytes(length))
}

/// Returns a number of bytes with its unit.
fn bytes(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", bytes as f64 / 1e6),
        _ => format!("{:.1} GB", bytes as f64 / 1e9),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lasthop_franc::config::Keys;
    use lasthop_franc::stats::{LinkStats, NeighbourStats};
    use lasthop_franc::{Stats, Unanswered};
    use lasthop_franc_node::document::{FrancDaemonCounts, FrancPlace};

    #[test]
    fn the_status_has_the_lines_that_apply() {
        let role = Role::Forwarder { between: [NodeId(1), NodeId(2)] };
        let config = Config::new(NodeId(3), role, Keys::Insecure, 1_400);
        assert_eq!(node(&config), "a forwarder between 1 and 2");
        let stats = Stats { innovative: 6, redundant: 1, stale: 1, ..Stats::default() };
        let (up, counts) = (Duration::from_secs(5), FrancDaemonCounts::default());
        let document = FrancDocument::new("franc0", "udp", &config, up, &stats, &counts, &[]);
        let text = status(&document, None, Style::PLAIN);
        let head =
            "franc0: node 3, a forwarder over udp, not connected (the daemon prints why), up 5 s\n";
        assert!(text.starts_with(head), "{text}");
        let received = "\nreceived    8 datagrams and 0 ACKs, 0 B: 75.0 % innovative, 12.5 % redundant, 12.5 % stale\n";
        assert!(text.contains(received), "{text}");
        // No round trip is known, no interface overhears, nothing is rejected, and a forwarder has
        // no packets of a tunnel.
        for label in ["path", "overheard", "rejected", "not sent", "packets", "now"] {
            assert!(!text.contains(&format!("\n{label} ")), "{text}");
        }
    }

    /// Judged by hand: 1000 packets of 1250 bytes in a second are 10 Mb/s.
    #[test]
    fn the_status_of_an_end_answers_what_the_link_costs() {
        let (here, peer) = (NodeId(1), NodeId(2));
        let role = Role::End { peer, via: peer, helpers: 0 };
        let config = Config::new(here, role, Keys::Insecure, 1_400);
        let at = |seconds: u64| {
            let neighbours = vec![NeighbourStats {
                id: peer,
                heard: 7,
                loss_in: Some(0.02),
                loss_out: Some(0.1),
            }];
            let stats = Stats {
                packets_in: 1_000 * seconds,
                bytes_in: 1_250_000 * seconds,
                source_sent: 1_000 * seconds,
                coded_sent: 150 * seconds,
                backlog_packets: 20,
                pace_bps: 10_000_000,
                connected: true,
                neighbours,
                ..Stats::default()
            };
            let (up, counts) = (Duration::from_secs(seconds), FrancDaemonCounts::default());
            FrancDocument::new("franc0", "udp", &config, up, &stats, &counts, &[])
        };
        let text = status(&at(3), Some(&at(2)), Style::PLAIN);
        for part in [
            "7 datagrams received; loss on the path to it 10.0 %, from it 2.0 %\n",
            "\npackets in  3000 (3.8 MB); 20 waiting (about 20.0 ms at this rate), 0 dropped there",
            "\nsent        3450 datagrams and 0 ACKs, 0 B, 1.15 datagrams a packet: 3000 uncoded, 450 ",
            "\nnow         packets: 10.00 Mb/s in, 0.00 Mb/s out; datagrams: 0.00 Mb/s sent",
        ] {
            assert!(text.contains(part), "{part:?} in {text}");
        }
        // A daemon that restarted has no rate.
        assert!(!status(&at(2), Some(&at(3)), Style::PLAIN).contains("\nnow "));
    }

    #[test]
    fn the_status_has_a_line_for_each_of_two_links() {
        let role = Role::End { peer: NodeId(2), via: NodeId(2), helpers: 0 };
        let config = Config::new(NodeId(1), role, Keys::Insecure, 1_400);
        let link = |link, is_alive| LinkStats {
            link,
            datagram_bytes_sent: if link == 0 { 3_000 } else { 1_000 },
            is_alive,
            heard: 7,
            loss_in: Some(0.125),
            loss_out: None,
            round_trip: is_alive.then_some(Duration::from_millis(20)),
            pace_bps: 4_000_000,
        };
        let stats = Stats { links: vec![link(0, true), link(1, false)], ..Stats::default() };
        let (up, counts) = (Duration::from_secs(5), FrancDaemonCounts::default());
        let place = FrancPlace { id: 2, link: 0, address: "192.0.2.2:4797".into() };
        let document = FrancDocument::new("franc0", "udp", &config, up, &stats, &counts, &[place]);
        let text = status(&document, None, Style::PLAIN);
        let lines = "link 1      to 192.0.2.2:4797: in use, 75.0 % of the bytes sent; 7 datagrams \
                     received; loss on the path to it unknown, from it 12.5 %; round trip 20.0 ms, rate limit 4.00 Mb/s\n\
                     link 2      to an unknown address: silent, 25.0 % of the bytes sent; 7 datagrams received; loss on the \
                     path to it unknown, from it 12.5 %; round trip unknown, rate limit 4.00 Mb/s\n";
        assert!(text.ends_with(lines), "{text}");
    }

    #[test]
    fn an_unanswered_call_has_other_words() {
        let peer = NodeId(2);
        let told = event(Event::Connected { peer }, true);
        assert_eq!(told.as_deref(), Some("connected to node 2"));
        assert_eq!(event(Event::Unanswered { peer, why: Unanswered::Silent }, true), None);
    }

    #[test]
    fn a_link_that_dies_and_comes_back_is_named() {
        let (peer, place) = (NodeId(2), "192.0.2.2:4797 through wwan0");
        let ms = Duration::from_millis;
        assert_eq!(
            link_event(peer, 1, place, false, ms(940)),
            "link 2 to node 2 (192.0.2.2:4797 through wwan0) died: no datagram has arrived there for \
             0.9 s; link 1 carries everything"
        );
        assert_eq!(
            link_event(peer, 0, place, true, ms(12_300)),
            "link 1 to node 2 (192.0.2.2:4797 through wwan0) is back after 12.3 s"
        );
    }
}

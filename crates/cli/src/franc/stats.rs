//! `lasthop franc stats`: reads the counters of a daemon from its control socket, and
//! prints them as a table, as JSON or in the text format of Prometheus, once or every
//! second. Without `--socket` it tries the usual paths in order.

use super::sockets;
use crate::args::FrancStats;
use crate::console::{self, Stream};
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use lasthop_franc_node::document::FrancDocument;
use lasthop_linux::listener;
use std::fmt::Write;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::time::Duration;

/// Longest answer of a daemon, in bytes.
const ANSWER_BYTES_MAX: u64 = 1 << 20;

/// Prints the counters of the daemon, once or every second.
pub fn stats(args: &FrancStats) -> Result<u8, Failure> {
    let places = match &args.socket {
        Some(path) => vec![path.clone()],
        None => sockets(&args.name),
    };
    let interrupt = args.watch.then(Interrupt::catch).transpose()?;
    loop {
        let document = ask(&places)?;
        let text = match (args.json, args.prometheus) {
            (true, _) => document.to_json(),
            (_, true) => document.to_prometheus(),
            _ => table(&document),
        };
        let is_view = args.watch && Stream::Output.is_terminal();
        console::print(&if is_view { format!("\x1b[H\x1b[2J{text}") } else { text })?;
        let Some(interrupt) = &interrupt else { return Ok(0) };
        pause();
        interrupt.check()?;
    }
}

#[expect(clippy::disallowed_methods, reason = "a second between two pictures")]
fn pause() {
    std::thread::sleep(Duration::from_secs(1));
}

fn ask(places: &[PathBuf]) -> Result<FrancDocument, Failure> {
    let mut refused = String::new();
    for path in places {
        match listener::ask(path, ANSWER_BYTES_MAX) {
            Ok(text) => {
                return serde_json::from_str(&text).map_err(|why| {
                    Failure::Message(format!(
                        "{}: not an answer of a daemon: {why}",
                        path.display()
                    ))
                });
            }
            Err(why) => {
                let why = match why.kind() {
                    ErrorKind::NotFound => "there is none".into(),
                    ErrorKind::ConnectionRefused => "the daemon is gone".into(),
                    _ => why.to_string(),
                };
                let _ = write!(refused, "\n  {}: {why}", path.display());
            }
        }
    }
    Err(Failure::Message(format!("no daemon answers; looked for its control socket at{refused}")))
}

/// Formats the counters as a table.
fn table(document: &FrancDocument) -> String {
    let counters = &document.counters;
    let mut out = String::new();
    let connected = if document.connected { "connected" } else { "not connected" };
    let _ = writeln!(
        out,
        "{}: node {}, {:?} over {}, {connected}, up {:.0} s",
        Stream::Output.bold(&document.name),
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

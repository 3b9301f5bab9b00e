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
use lasthop_report::franc::status;
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
    let mut previous = None;
    loop {
        let document = ask(&places)?;
        let text = match (args.json, args.prometheus) {
            (true, _) => document.to_json(),
            (_, true) => document.to_prometheus(),
            _ => status(&document, previous.as_ref(), Stream::Output.style()),
        };
        let is_view = args.watch && Stream::Output.is_terminal();
        console::print(&if is_view { format!("\x1b[H\x1b[2J{text}") } else { text })?;
        let Some(interrupt) = &interrupt else { return Ok(0) };
        previous = Some(document);
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

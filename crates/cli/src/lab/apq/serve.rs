//! `lasthop apq serve`: prints a line when a client is accepted, and another when it leaves, with
//! upper limits of its traffic. Runs until a signal. The limits on clients are flags; those on
//! memory are constants here.

use crate::args::ApqServe;
use crate::console;
use crate::failure::Failure;
use crate::secret;
use lasthop_apq::ServerEvent;
use lasthop_apq::server::Ending;
use lasthop_apq::wire::VERSION;
use lasthop_daemon::apq::{Bind, PORT, ServeOptions, ServerReport, serve as run};
use lasthop_report::apq::words::volume;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::net::SocketAddr;
use std::ops::ControlFlow;

/// Largest number of packets of a phase: that of a saturation flow of 1500-byte packets at 200 Mb/s
/// in a minute.
const PHASE_PACKETS_MAX: u32 = 1 << 20;
/// Largest number of packets of all sessions' uplink phases together: 25 MB.
const SAMPLES_MAX: u64 = 1 << 20;

/// Runs the command until a signal; returns the exit status.
pub fn serve(args: &ApqServe) -> Result<u8, Failure> {
    let options = ServeOptions {
        bind: args.bind.unwrap_or(Bind::Everywhere(PORT)),
        key: args.key_file.as_deref().map(secret::read).transpose()?,
        sessions_max: args.sessions as usize,
        rate_max_bps: args.max_rate.as_bps(),
        rate_total_max_bps: args.max_total_rate.unwrap_or(args.max_rate).as_bps(),
        duration_max: args.max_duration,
        phase_packets_max: PHASE_PACKETS_MAX,
        samples_max: SAMPLES_MAX,
    };
    let mut clients = BTreeMap::new();
    let mut failure = None;
    let signal = run(&options, &mut |told| match console::print(&line(told, &mut clients)) {
        Ok(()) => ControlFlow::Continue(()),
        Err(why) => {
            failure = Some(why);
            ControlFlow::Break(())
        }
    })
    .map_err(Failure::message)?;
    Err(failure.unwrap_or(Failure::Interrupted { signal: signal as u8 }))
}

/// Activity of a client.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    phases: u32,
    packets: u64,
    bytes: u64,
}

/// Returns the line to print for an event; empty while a client measures.
fn line(report: ServerReport<'_>, clients: &mut BTreeMap<SocketAddr, Tally>) -> String {
    let mut out = String::new();
    let _ = match report {
        ServerReport::Listening(addresses) => {
            let addresses: Vec<String> = addresses.iter().map(ToString::to_string).collect();
            writeln!(out, "serving at {}", addresses.join(" and "))
        }
        ServerReport::Unconfined(refused) => {
            let refused: Vec<String> = refused.iter().map(ToString::to_string).collect();
            writeln!(
                out,
                "this system lacks some confinement of the server: {}",
                refused.join("; ")
            )
        }
        ServerReport::Event(ServerEvent::Opened(client)) => {
            clients.insert(*client, Tally::default());
            writeln!(out, "{client}: measures")
        }
        ServerReport::Event(ServerEvent::PhaseBegan(client, _, plan)) => {
            let tally = clients.entry(*client).or_default();
            tally.phases += 1;
            tally.packets += plan.packets();
            tally.bytes += plan.bytes();
            Ok(())
        }
        ServerReport::Event(ServerEvent::Closed(client, ending)) => {
            let Tally { phases, packets, bytes } = clients.remove(client).unwrap_or_default();
            let volume = volume(packets, bytes);
            writeln!(out, "{client}: {}; {phases} phases, {volume} at most", words(*ending))
        }
        ServerReport::Event(ServerEvent::Refused(client, why)) => {
            writeln!(out, "{client}: refused: {why}")
        }
        ServerReport::Event(ServerEvent::OtherVersion(from, theirs)) => writeln!(
            out,
            "{} speaks version {theirs} of the protocol, this program version {VERSION}",
            from.ip()
        ),
        ServerReport::Overflowed(datagrams) => writeln!(
            out,
            "this host was too busy to read {datagrams} datagrams: do not trust results of its receiving side"
        ),
    };
    out
}

fn words(ending: Ending) -> &'static str {
    match ending {
        Ending::Done => "done",
        Ending::Stopped => "stopped",
        Ending::Vanished => "no longer heard",
        Ending::TooLong => "exceeded the allowed duration",
    }
}

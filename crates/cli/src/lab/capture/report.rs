//! A capture as text: what is wrong, then tables of networks, stations, flows and absences. The
//! numbers are those of the JSON document.

use super::joined;
use crate::console::{self, Stream};
use crate::table::{self, count, number, percent, text, value, wrapped};
use lasthop_capture::document::{
    BssSummary, CaptureDocument, DecryptionSummary, DirectionSummary, FlowDirectionSummary,
    FlowSummary, InterfaceSummary, StationSummary,
};
use lasthop_capture::finding::Finding;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Columns that sentences take at most.
pub(super) const WIDTH_MAX: usize = 100;

/// The report of a capture.
pub fn report(document: &CaptureDocument, stream: Stream) -> String {
    let kinds: Vec<_> = document.link_types.keys().map(String::as_str).collect();
    let mut out = format!(
        "{}{}\n",
        stream.bold(&format!("{}: {} frames", document.file, count(document.frames))),
        stream.dim(&format!("   {} s, {}", value(document.duration_s), kinds.join(", ")))
    );
    out.push_str(&unused(document, stream));
    if let Some(decryption) = &document.decryption {
        out.push_str(&opened(decryption, stream));
    }
    let title = |text: &str| format!("\n{}\n", stream.bold(text));
    out.push_str(&title("What is wrong, worst first"));
    if document.findings.is_empty() {
        out.push_str("  nothing that lasthop looks for\n");
    }
    for (index, finding) in document.findings.iter().enumerate() {
        out.push_str(&sentence(index + 1, finding, stream));
    }
    if document.findings_left_out > 0 {
        let _ = writeln!(out, "  and {} of the same kinds", count(document.findings_left_out));
    }
    if let Some(air) = &document.airtime {
        let _ = writeln!(
            out,
            "{}  busy {} % of the time, {} % in the busiest second; {} PPDUs",
            title("Air"),
            percent(air.utilisation),
            percent(air.busiest_second),
            count(air.ppdus)
        );
    }
    for (address, network) in &document.networks {
        out.push_str(&title(&heading(address, network)));
        out.push_str(&stations(address, network, stream));
    }
    let flows = flows(&document.flows, stream);
    if !flows.is_empty() {
        out.push_str(&title("Flows"));
        out.push_str(&flows);
    }
    let absences = absences(document, stream);
    if !absences.is_empty() {
        out.push_str(&title("Away"));
        out.push_str(&absences);
    }
    for interface in document.interfaces.iter().filter(|interface| !interface.main) {
        out.push_str(&self::interface(interface, stream));
    }
    if let Some(joined) = &document.joined {
        out.push_str(&joined::report(joined, stream));
    }
    out
}

/// An interface besides the main one.
fn interface(interface: &InterfaceSummary, stream: Stream) -> String {
    let title = |text: &str| format!("\n{}\n", stream.bold(text));
    let number = interface.interface;
    let mut out = title(&format!("Interface {number}: {} frames", count(interface.frames)));
    for (index, finding) in interface.findings.iter().enumerate() {
        out.push_str(&sentence(index + 1, finding, stream));
    }
    for (address, network) in &interface.networks {
        out.push_str(&title(&format!("{} at interface {number}", heading(address, network))));
        out.push_str(&stations(address, network, stream));
    }
    let flows = flows(&interface.flows, stream);
    if !flows.is_empty() {
        out.push_str(&title(&format!("Flows at interface {number}")));
        out.push_str(&flows);
    }
    out
}

/// What could not be used.
fn unused(document: &CaptureDocument, stream: Stream) -> String {
    let unused = &document.unused;
    // Why the capture ended has been said.
    let errors = document.errors.iter().filter(|error| error.frame.is_some()).count() as u64
        + document.errors_left_out;
    // With a passphrase, `opened` says more.
    let closed = if document.decryption.is_some() { 0 } else { unused.protected };
    let mut out = String::new();
    for (number, what) in [
        (errors, "malformed; --json lists frame, field and offset"),
        (unused.bad_fcs, "with a wrong check sequence: in no analysis"),
        (unused.without_fcs, "without the check sequence that their headers announce: not checked"),
        (unused.too_short, "cut too short for their headers"),
        (unused.unsupported, "of a link type that cannot be read"),
        (closed, "encrypted: their headers are used, their content is not"),
        (unused.clock_backwards, "earlier than the one before"),
        (unused.without_rate, "of unknown rate: not in the time on the air"),
        (unused.dropped, "dropped by the kernel before they could be read: not among these frames"),
    ] {
        if number > 0 {
            let _ = writeln!(out, "  {}", stream.dim(&format!("{}: {what}", count(number))));
        }
    }
    out
}

/// What became of encrypted frames.
fn opened(decryption: &DecryptionSummary, stream: Stream) -> String {
    let closed = &decryption.closed;
    let mut reasons = Vec::new();
    for (number, what) in [
        (closed.no_handshake, "without a handshake before them in the capture"),
        (closed.wrong_passphrase, "by another passphrase"),
        (closed.ssid_unknown, "of a network whose name was not heard: --psk SSID:PASSPHRASE"),
        (closed.mic_wrong, "by a key of a handshake that was missed, or damaged"),
        (closed.cut, "cut too short"),
        (closed.not_data, "that are no data"),
        (closed.bad_fcs, "with a wrong check sequence"),
    ] {
        if number > 0 {
            reasons.push(format!("{} {what}", count(number)));
        }
    }
    let unsupported = closed.unsupported.iter();
    reasons.extend(unsupported.map(|(name, frames)| format!("{} by {name}", count(*frames))));
    let handshakes = count(decryption.handshakes);
    let mut line =
        format!("encrypted: {} opened (handshakes: {handshakes})", count(decryption.opened()));
    if !reasons.is_empty() {
        line += &format!("; not opened: {}", reasons.join(", "));
    }
    let mut out = String::new();
    for (access_point, stations) in &decryption.wrong_passphrase {
        let line = format!("no passphrase fits {access_point} (stations: {})", count(*stations));
        let _ = writeln!(out, "  {line}");
    }
    let width = console::width().min(WIDTH_MAX);
    for line in wrapped("  ", &line, width).lines() {
        let _ = writeln!(out, "{}", stream.dim(line));
    }
    out
}

/// A finding with its evidence and its check, each line indented.
fn sentence(index: usize, finding: &Finding, stream: Stream) -> String {
    let width = console::width().min(WIDTH_MAX);
    let [first, last] = finding.frames;
    let place = format!("frames {first}-{last}, {:.1} to {:.1} s", finding.from_s, finding.to_s);
    let mut out = wrapped(&format!("{index:>3}. "), &format!("{}.", finding.sentence), width);
    for line in [place, format!("{}.", finding.check)] {
        for line in wrapped("     ", &line, width).lines() {
            let _ = writeln!(out, "{}", stream.dim(line));
        }
    }
    out
}

fn heading(address: &str, network: &BssSummary) -> String {
    let name = network.ssid.as_deref().unwrap_or("(hidden)");
    // What comes from the air may hold anything: no control characters on a terminal.
    let name: String = name.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    let mut parts = vec![format!("Network {name} ({address})")];
    parts.extend(network.standard.clone());
    parts.extend(network.protection.clone());
    if let Some(loss) = network.beacon_loss {
        parts.push(format!("{} beacons, {} % missing", count(network.beacons), percent(loss)));
    }
    parts.join(", ")
}

fn stations(address: &str, network: &BssSummary, stream: Stream) -> String {
    let columns = [
        text("station"),
        number("", "dBm"),
        number("", "air %"),
        number("up", "Mb/s"),
        number("up", "PHY"),
        number("up", "retry %"),
        number("up", "MPDUs/PPDU"),
        number("down", "Mb/s"),
        number("down", "PHY"),
        number("down", "retry %"),
        number("down", "MPDUs/PPDU"),
    ];
    let row = |name: &str, station: &StationSummary| {
        let mut row = vec![
            name.to_owned(),
            station.signal_dbm.map_or(String::new(), |[mean, ..]| format!("{mean:.0}")),
            percent(station.airtime),
        ];
        row.extend(direction(station.up.as_ref()));
        row.extend(direction(station.down.as_ref()));
        row
    };
    let mut rows = vec![row(&format!("{address} (AP)"), &network.access_point)];
    let mut stations: Vec<_> = network.stations.iter().collect();
    stations.sort_by_key(|(_, station)| std::cmp::Reverse(moved(station)));
    rows.extend(stations.into_iter().map(|(name, station)| row(name, station)));
    table::render(&columns, &rows, stream)
}

/// Bytes in both directions, to sort by.
fn moved(station: &StationSummary) -> u64 {
    [&station.up, &station.down].into_iter().flatten().map(|link| link.payload_bytes).sum()
}

fn direction(link: Option<&DirectionSummary>) -> [String; 4] {
    let Some(link) = link else { return Default::default() };
    let retries = link.retries as f64 / link.mpdus.max(1) as f64;
    [
        value(link.throughput_mbps),
        link.phy_rate_mbps.map_or(String::new(), value),
        percent(retries),
        value(link.mpdus_per_ppdu),
    ]
}

fn flows(flows: &BTreeMap<String, FlowSummary>, stream: Stream) -> String {
    let columns = [
        text("protocol"),
        text("from"),
        number("", "Mb/s"),
        number("", "packets"),
        number("", "again"),
        number("lost", "on the air"),
        number("lost", "elsewhere"),
        number("in flight", "KiB"),
        number("acknowledged after, ms", "mean"),
        number("acknowledged after, ms", "least"),
        number("acknowledged after, ms", "most"),
    ];
    let optional = |count: Option<u64>| count.map_or(String::new(), |count| count.to_string());
    let row = |protocol: &str, from: &str, flow: &FlowDirectionSummary| {
        let mut row = vec![
            protocol.to_owned(),
            from.to_owned(),
            flow.throughput_mbps.map_or(String::new(), value),
            count(flow.packets),
            optional(flow.retransmissions),
            optional(flow.lost_on_air),
            optional(flow.lost_elsewhere),
            optional(flow.flight_bytes_max.map(|bytes| u64::from(bytes >> 10))),
        ];
        row.extend(flow.ack_ms.map_or_else(Default::default, |times| times.map(value)));
        row
    };
    let rows: Vec<_> = flows
        .values()
        .flat_map(|flow| flow.from.iter().map(|(from, it)| row(&flow.protocol, from, it)))
        .collect();
    table::render(&columns, &rows, stream)
}

fn absences(document: &CaptureDocument, stream: Stream) -> String {
    let columns = [
        text("station"),
        text("why"),
        number("", "times"),
        number("ms, median", "away"),
        number("ms, median", "back"),
        number("", "periods"),
        number("", "in each"),
        number("", "every s"),
    ];
    let stations = document.networks.values().flat_map(|network| &network.stations);
    let rows: Vec<_> = stations
        .filter_map(|(name, station)| {
            let away = station.away.as_ref()?;
            Some(vec![
                name.clone(),
                away.cause.replace('_', " "),
                count(away.absences),
                value(away.asleep_ms),
                away.awake_ms.map_or(String::new(), value),
                away.periods.len().to_string(),
                away.absences_per_period.to_string(),
                away.every_s.or(away.cycle_s).map_or(String::new(), value),
            ])
        })
        .collect();
    table::render(&columns, &rows, stream)
}

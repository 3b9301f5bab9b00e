//! A capture as text: problems, then tables of networks, stations, multi-link devices, roams, flows and absences. The numbers
//! are those of the JSON document.

use super::devices;
use super::joined::{self, WIDTH_MAX};
use super::roams;
use crate::style::Style;
use crate::table::{self, count, many, number, percent, text, value, wrapped};
use lasthop_capture::document::{
    AirtimeSummary, BssSummary, CaptureDocument, ChannelSummary, DecryptionSummary,
    DirectionSummary, FlowDirectionSummary, FlowSummary, InterfaceSummary, StationSummary,
};
use lasthop_capture::finding::{Certainty, Finding};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Returns the report of a capture.
pub fn report(document: &CaptureDocument, style: Style) -> String {
    let kinds: Vec<_> = document.link_types.keys().map(String::as_str).collect();
    let mut out = format!(
        "{}{}\n",
        style.bold(&format!("{}: {}", document.file, many(document.frames, "frame"))),
        style.dim(&format!("   {} s, {}", value(document.duration_s), kinds.join(", ")))
    );
    out.push_str(&unused(document, style));
    if let Some(decryption) = &document.decryption {
        out.push_str(&opened(decryption, style));
    }
    let title = |text: &str| format!("\n{}\n", style.bold(text));
    out.push_str(&title("What is wrong, worst first"));
    if document.findings.is_empty() {
        let _ = writeln!(out, "  {}", nothing(document));
    }
    for (index, finding) in document.findings.iter().enumerate() {
        out.push_str(&sentence(index + 1, finding, style));
    }
    if document.findings_left_out > 0 {
        let _ = writeln!(out, "  and {} of the same kinds", count(document.findings_left_out));
    }
    if !document.unknown.is_empty() {
        out.push_str(&title("Limits of this capture"));
        let width = style.width.min(WIDTH_MAX);
        let lines = document.unknown.iter().map(|it| wrapped("  ", &format!("{it}."), width));
        out.extend(lines);
    }
    if let Some(summary) = &document.airtime {
        out.push_str(&title("Air"));
        out.push_str(&air(summary, style));
    }
    for (address, network) in &document.networks {
        out.push_str(&title(&heading(address, network)));
        out.push_str(&stations(address, network, style));
    }
    if !document.devices.is_empty() {
        out.push_str(&title("Multi-link devices"));
        out.push_str(&table::render(&devices::COLUMNS, &devices::rows(document), style));
    }
    let data = devices::data_rows(document);
    if !data.is_empty() {
        out.push_str(&title("Data between multi-link devices"));
        out.push_str(&table::render(&devices::DATA_COLUMNS, &data, style));
    }
    if !document.roams.is_empty() {
        out.push_str(&title("Roams"));
        out.push_str(&table::render(&roams::COLUMNS, &roams::rows(&document.roams), style));
    }
    let flows = flows(&document.flows, style);
    if !flows.is_empty() {
        out.push_str(&title("Flows"));
        out.push_str(&flows);
    }
    let absences = absences(document, style);
    if !absences.is_empty() {
        out.push_str(&title("Away"));
        out.push_str(&absences);
    }
    for interface in document.interfaces.iter().filter(|interface| !interface.main) {
        out.push_str(&self::interface(interface, style));
    }
    if let Some(joined) = &document.joined {
        out.push_str(&joined::report(joined, style));
    }
    out
}

/// Returns the text shown if there are no findings. It claims that there is no problem only if
/// every search was possible.
pub(super) fn nothing(document: &CaptureDocument) -> &'static str {
    if document.unknown.is_empty() {
        "nothing that lasthop looks for"
    } else {
        "no problems in the captured part"
    }
}

/// Formats the share of time in which the air was busy.
pub(super) fn busy(air: &AirtimeSummary) -> String {
    let mut parts = Vec::new();
    match air.utilisation {
        Some(share) => parts.push(format!("busy {} % of the time", percent(share))),
        None => parts.push("how busy it was is not known".to_owned()),
    }
    let busiest = air.busiest_second.filter(|_| air.utilisation.is_some());
    parts.extend(busiest.map(|share| format!("{} % in the busiest second", percent(share))));
    let noun = if air.ppdus == 1 { "PPDU" } else { "PPDUs" };
    format!("{}; {} {noun}", parts.join(", "), count(air.ppdus))
}

fn air(air: &AirtimeSummary, style: Style) -> String {
    let columns =
        [text("channel, MHz"), number("", "seconds"), number("", "frames"), number("", "busy %")];
    let rows: Vec<_> = channels(air);
    format!("  {}\n{}", busy(air), table::render(&columns, &rows, style))
}

/// Returns the channels of a receiver that was on several.
pub(super) fn channels(air: &AirtimeSummary) -> Vec<Vec<String>> {
    let row = |(mhz, channel): (&String, &ChannelSummary)| {
        vec![
            mhz.clone(),
            value(channel.time_s),
            count(channel.frames),
            channel.utilisation.map_or(String::new(), percent),
        ]
    };
    air.channels.iter().map(row).collect()
}

/// Describes an interface besides the main one.
fn interface(interface: &InterfaceSummary, style: Style) -> String {
    let title = |text: &str| format!("\n{}\n", style.bold(text));
    let number = interface.interface;
    let mut out = title(&format!("Interface {number}: {}", many(interface.frames, "frame")));
    for (index, finding) in interface.findings.iter().enumerate() {
        out.push_str(&sentence(index + 1, finding, style));
    }
    for (address, network) in &interface.networks {
        out.push_str(&title(&format!("{} at interface {number}", heading(address, network))));
        out.push_str(&stations(address, network, style));
    }
    let flows = flows(&interface.flows, style);
    if !flows.is_empty() {
        out.push_str(&title(&format!("Flows at interface {number}")));
        out.push_str(&flows);
    }
    out
}

/// Describes the unused parts of the capture.
fn unused(document: &CaptureDocument, style: Style) -> String {
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
        (unused.without_time, "without a time: that of the one before is taken"),
        (unused.without_rate, "of unknown rate: not in the time on the air"),
        (unused.dropped, "dropped by the kernel before they could be read: not among these frames"),
    ] {
        if number > 0 {
            let _ = writeln!(out, "  {}", style.dim(&format!("{}: {what}", count(number))));
        }
    }
    out
}

/// Describes the decryption of encrypted frames.
fn opened(decryption: &DecryptionSummary, style: Style) -> String {
    let closed = &decryption.closed;
    let mut reasons = Vec::new();
    for (number, what) in [
        (closed.no_handshake, "without a handshake before them in the capture"),
        (closed.wrong_passphrase, "by another passphrase"),
        (closed.ssid_unknown, "of a network with an unknown name: --psk SSID:PASSPHRASE"),
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
    let width = style.width.min(WIDTH_MAX);
    for line in wrapped("  ", &line, width).lines() {
        let _ = writeln!(out, "{}", style.dim(line));
    }
    out
}

/// Formats a finding with its evidence and its check, each line indented.
fn sentence(index: usize, finding: &Finding, style: Style) -> String {
    let width = style.width.min(WIDTH_MAX);
    let [first, last] = finding.frames;
    let place = format!(
        "frames {first}-{last}, {:.1} to {:.1} s; {}",
        finding.from_s,
        finding.to_s,
        sure(finding)
    );
    let mut out = wrapped(&format!("{index:>3}. "), &format!("{}.", finding.sentence), width);
    for line in [place, format!("{}.", finding.check)] {
        for line in wrapped("     ", &line, width).lines() {
            let _ = writeln!(out, "{}", style.dim(line));
        }
    }
    out
}

/// Returns the certainty of a finding, and the circumstance that would make it wrong.
pub(super) fn sure(finding: &Finding) -> String {
    let sure = match finding.kind.certainty() {
        Certainty::Shown => "shown",
        Certainty::Likely => "likely",
    };
    format!("{sure}, unless {}", finding.kind.unless())
}

fn heading(address: &str, network: &BssSummary) -> String {
    let name = network.ssid.as_deref().unwrap_or("(hidden)");
    // Names from the air may have any bytes: no control characters on a terminal.
    let name: String = name.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    let mut parts = vec![format!("Network {name} ({address})")];
    parts.extend(network.standard.clone());
    parts.extend(network.width_mhz.map(|mhz| match network.punctured.len() {
        0 => format!("{mhz} MHz"),
        punctured => format!("{mhz} MHz less {} punctured", 20 * punctured),
    }));
    parts.extend(network.protection.clone());
    if let Some(loss) = network.beacon_loss {
        parts.push(format!("{}, {} % missing", many(network.beacons, "beacon"), percent(loss)));
    }
    parts.join(", ")
}

fn stations(address: &str, network: &BssSummary, style: Style) -> String {
    let columns = [
        text("station"),
        number("", "dBm"),
        number("", "air %"),
        text("data"),
        number("", "Mb/s"),
        number("", "PHY"),
        number("", "retry %"),
        number("MPDUs", "a PPDU"),
        number("captured", "%"),
    ];
    table::render(&columns, &rows(address, network), style)
}

/// Returns a row for each station and direction with data; up is to the access point.
pub(super) fn rows(address: &str, network: &BssSummary) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    let mut push = |name: String, station: &StationSummary| {
        let mut head = vec![
            name,
            station.signal_dbm.map_or(String::new(), |[mean, ..]| format!("{mean:.0}")),
            station.airtime.map_or(String::new(), percent),
        ];
        let directions = [("up", &station.up), ("down", &station.down)];
        let used = directions.into_iter().filter_map(|(name, link)| Some((name, link.as_ref()?)));
        let mut cells: Vec<Vec<String>> = used
            .map(|(name, link)| [vec![name.to_owned()], direction(link).to_vec()].concat())
            .collect();
        if cells.is_empty() {
            cells.push(vec![String::new(); 6]);
        }
        for cells in cells {
            rows.push([head.clone(), cells].concat());
            head = vec![String::new(); 3];
        }
    };
    push(format!("{address} (AP)"), &network.access_point);
    let mut stations: Vec<_> = network.stations.iter().collect();
    stations.sort_by_key(|(_, station)| std::cmp::Reverse(moved(station)));
    stations.into_iter().for_each(|(name, station)| push(name.clone(), station));
    rows
}

/// Returns the bytes in both directions, as a sort key.
fn moved(station: &StationSummary) -> u64 {
    [&station.up, &station.down].into_iter().flatten().map(|link| link.payload_bytes).sum()
}

/// Returns a direction's throughput, PHY rate, share of retries (of the captured frames, Null
/// frames included), MPDUs in a PPDU, and captured share.
fn direction(link: &DirectionSummary) -> [String; 5] {
    let frames = link.mpdus + link.null_frames;
    let retries = (link.retries + link.null_retries) as f64 / frames.max(1) as f64;
    let heard = |text: String| if link.mpdus > 0 { text } else { String::new() };
    [
        heard(value(link.throughput_mbps)),
        link.phy_rate_mbps.map_or(String::new(), value),
        if frames > 0 { percent(retries) } else { String::new() },
        heard(value(link.mpdus_per_ppdu)),
        if link.mpdus + link.mpdus_missed > 0 { percent(link.captured) } else { String::new() },
    ]
}

fn flows(flows: &BTreeMap<String, FlowSummary>, style: Style) -> String {
    let columns = [
        text("protocol"),
        text("from"),
        text("to"),
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
    let row = |protocol: &str, from: &str, to: &str, flow: &FlowDirectionSummary| {
        let mut row = vec![
            protocol.to_owned(),
            from.to_owned(),
            to.to_owned(),
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
        .iter()
        .flat_map(|(name, flow)| {
            let from = flow.from.iter();
            from.map(move |(from, it)| row(&flow.protocol, from, &other_end(name, from), it))
        })
        .collect();
    table::render(&columns, &rows, style)
}

/// Returns the end of a flow other than `from`, by the name of the flow: `tcp A - B`.
pub(super) fn other_end(name: &str, from: &str) -> String {
    let (_, ends) = name.split_once(' ').unwrap_or_default();
    let (a, b) = ends.split_once(" - ").unwrap_or_default();
    if a == from { b.to_owned() } else { a.to_owned() }
}

fn absences(document: &CaptureDocument, style: Style) -> String {
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
    table::render(&columns, &rows, style)
}

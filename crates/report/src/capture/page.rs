//! A capture as one offline HTML page: problems, plots and tables. The numbers are those of the
//! JSON document.

use super::BySecond;
use super::joined;
use super::plots::{CaptureFigure, figures};
use super::text::{self, other_end};
use super::{devices, roams};
use crate::table::{count, many, percent, value};
use lasthop_capture::analysis::Analysis;
use lasthop_capture::document::{
    AirtimeSummary, BssSummary, CaptureDocument, FlowDirectionSummary, JoinedSummary,
};
use lasthop_capture::finding::Finding;
use lasthop_figures::page::{document as html, table};
use lasthop_figures::plot::inline_svg;
use lasthop_figures::text::escaped;
use std::fmt::Write;

/// Returns the page.
pub fn page(analysis: &Analysis, document: &CaptureDocument, by_second: &BySecond) -> String {
    let title = format!("Capture {}", document.file);
    let kinds: Vec<_> = document.link_types.keys().map(String::as_str).collect();
    let mut body = format!(
        "<header><h1>{}</h1><p class=\"muted\">{}, {} s, {}</p></header>",
        escaped(&title),
        many(document.frames, "frame"),
        value(document.duration_s),
        escaped(&kinds.join(", "))
    );
    body.push_str("<section id=\"findings\"><h2>What is wrong, worst first</h2>");
    if document.findings.is_empty() {
        let nothing = text::nothing(document);
        let _ = write!(body, "<p>{}{}.</p>", nothing[..1].to_uppercase(), &nothing[1..]);
    } else {
        body.push_str("<ol>");
        document.findings.iter().for_each(|it| body.push_str(&finding(it)));
        body.push_str("</ol>");
    }
    if document.findings_left_out > 0 {
        let _ = write!(body, "<p>And {} of the same kinds.</p>", document.findings_left_out);
    }
    body.push_str("</section>");
    body.push_str(&unknown(document));
    body.push_str(&document.airtime.as_ref().map(air).unwrap_or_default());
    figures(analysis, by_second).iter().for_each(|it| body.push_str(&figure(it)));
    for (address, network) in &document.networks {
        body.push_str(&stations(address, network));
    }
    body.push_str(&devices(document));
    body.push_str(&roams(document));
    body.push_str(&flows(document));
    body.push_str(&absences(document));
    body.push_str(&document.joined.as_ref().map(together).unwrap_or_default());
    body.push_str(&errors(document));
    html(&title, &body)
}

fn finding(it: &Finding) -> String {
    let [first, last] = it.frames;
    format!(
        "<li><p>{}.</p><p class=\"muted\">Frames {first} to {last}, {:.1} to {:.1} s; {}. {}.</p>\
         </li>",
        escaped(&it.sentence),
        it.from_s,
        it.to_s,
        escaped(&text::sure(it)),
        escaped(&it.check)
    )
}

fn unknown(document: &CaptureDocument) -> String {
    if document.unknown.is_empty() {
        return String::new();
    }
    let items: String =
        document.unknown.iter().map(|it| format!("<li>{}.</li>", escaped(it))).collect();
    format!("<section id=\"unknown\"><h2>Limits of this capture</h2><ul>{items}</ul></section>")
}

fn air(it: &AirtimeSummary) -> String {
    let rows = text::channels(it);
    let heads = ["Channel, MHz", "Seconds", "Frames", "Busy, %"];
    let channels = if rows.is_empty() { String::new() } else { table("Air", &heads, 1, &rows) };
    format!("<section><h2>Air</h2><p>{}.</p>{channels}</section>", escaped(&text::busy(it)))
}

fn figure(it: &CaptureFigure) -> String {
    format!(
        "<section><h2>{}</h2><p>{}</p><figure class=\"plot\">{}</figure></section>",
        it.title,
        it.shows,
        inline_svg(&it.panels, &format!("{}. {}", it.title, it.shows))
    )
}

fn stations(address: &str, network: &BssSummary) -> String {
    let name = network.ssid.as_deref().unwrap_or("(hidden)");
    let mut parts: Vec<String> =
        network.standard.iter().chain(&network.protection).cloned().collect();
    if let Some(loss) = network.beacon_loss {
        parts.push(format!("{} beacons, {} % missing", count(network.beacons), percent(loss)));
    }
    let heads = [
        "Station",
        "dBm",
        "Air, %",
        "Data",
        "Mb/s",
        "PHY",
        "Retry, %",
        "MPDUs a PPDU",
        "Captured, %",
    ];
    let rows = text::rows(address, network);
    format!(
        "<section><h2>Network {}</h2><p class=\"muted\">{}</p>{}</section>",
        escaped(name),
        escaped(&parts.join(", ")),
        table(&format!("Network {name}"), &heads, 1, &rows)
    )
}

fn flows(document: &CaptureDocument) -> String {
    let optional = |count: Option<u64>| count.map_or(String::new(), |count| count.to_string());
    let row = |protocol: &str, from: &str, to: &str, it: &FlowDirectionSummary| {
        vec![
            protocol.to_owned(),
            from.to_owned(),
            to.to_owned(),
            it.throughput_mbps.map_or(String::new(), value),
            count(it.packets),
            optional(it.retransmissions),
            optional(it.lost_on_air),
            optional(it.lost_elsewhere),
            optional(it.flight_bytes_max.map(|bytes| u64::from(bytes >> 10))),
            it.ack_ms.map_or(String::new(), |[mean, ..]| value(mean)),
        ]
    };
    let rows: Vec<_> = document
        .flows
        .iter()
        .flat_map(|(name, flow)| {
            let from = flow.from.iter();
            from.map(move |(from, it)| row(&flow.protocol, from, &other_end(name, from), it))
        })
        .collect();
    if rows.is_empty() {
        return String::new();
    }
    let heads = [
        "Protocol",
        "From",
        "To",
        "Mb/s",
        "Packets",
        "Sent again",
        "Lost on air",
        "Lost else",
        "In flight, KiB",
        "Acked after, ms",
    ];
    format!("<section><h2>Flows</h2>{}</section>", table("Flows", &heads, 3, &rows))
}

fn devices(document: &CaptureDocument) -> String {
    if document.devices.is_empty() {
        return String::new();
    }
    let heads = ["Device", "Is", "Link", "Sends as", "Of"];
    let links = table("Multi-link devices", &heads, heads.len(), &devices::rows(document));
    let rows = devices::narrow_rows(document);
    let heads = [
        "Sends as",
        "To device",
        "Mb/s",
        "Delivered",
        "%",
        "Retries, %",
        "From others",
        "Reordered",
        "Wait, ms",
        "longest",
        "Acked, %",
    ];
    let title = "Data between multi-link devices";
    let data = match rows.len() {
        0 => String::new(),
        _ => format!(
            "<h3>{title}</h3><p>All links of a device, then each of them: MPDUs that it delivered, \
             MPDUs that failed on another link before, and MPDUs that waited for earlier ones of \
             another link.</p>{}",
            table(title, &heads, 2, &rows)
        ),
    };
    format!("<section><h2>Multi-link devices</h2>{links}{data}</section>")
}

fn roams(document: &CaptureDocument) -> String {
    if document.roams.is_empty() {
        return String::new();
    }
    let heads = [
        "Station",
        "From (channel)",
        "To (channel)",
        "At, s",
        "Result",
        "Without data, ms",
        "Search, ms",
        "Authentication, ms",
        "Association, ms",
        "Keys, ms",
        "First data, ms",
    ];
    let rows = roams::rows(&document.roams);
    let table = table("Roams", &heads, roams::NAMES, &rows);
    format!("<section><h2>Roams</h2>{table}</section>")
}

fn absences(document: &CaptureDocument) -> String {
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
    if rows.is_empty() {
        return String::new();
    }
    let heads =
        ["Station", "Why", "Times", "Away, ms", "Back, ms", "Periods", "In each", "Every, s"];
    format!("<section><h2>Away</h2>{}</section>", table("Away", &heads, 2, &rows))
}

/// Returns the section on several captures together, and on other measurements.
fn together(joined: &JoinedSummary) -> String {
    let mut out = String::new();
    if !joined.places.is_empty() {
        let _ = write!(
            out,
            "<section id=\"together\"><h2>Several captures together</h2>\
             <p class=\"muted\">Times are by the clock of {}.</p>",
            escaped(&joined.reference)
        );
        for problem in &joined.problems {
            let _ = write!(out, "<p>{}.</p>", escaped(problem));
        }
        if joined.interrupted {
            out.push_str("<p>Interrupted: later packets are missing.</p>");
        }
        for (heading, (columns, rows)) in joined::tables(joined) {
            // Columns in which every cell is empty are left out.
            let used: Vec<usize> = (0..columns.len())
                .filter(|at| rows.iter().any(|row| !row[*at].is_empty()))
                .collect();
            if used.is_empty() {
                continue;
            }
            let head = |at: &usize| format!("{} {}", columns[*at].group, columns[*at].name);
            let heads: Vec<String> = used.iter().map(|at| head(at).trim().to_owned()).collect();
            let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
            let words = used.iter().take_while(|at| columns[**at].is_text).count();
            let rows: Vec<Vec<String>> =
                rows.iter().map(|row| used.iter().map(|at| row[*at].clone()).collect()).collect();
            let table = table(heading, &heads, words, &rows);
            let _ = write!(out, "<h3>{heading}</h3>{table}");
        }
        out.push_str("</section>");
    }
    for context in &joined.context {
        let _ = write!(
            out,
            "<section><h2>Also measured by {} ({})</h2>",
            escaped(&context.kind),
            escaped(&context.file)
        );
        for sentence in &context.sentences {
            let _ = write!(out, "<p>{}.</p>", escaped(sentence));
        }
        out.push_str("</section>");
    }
    out
}

/// Malformed frames listed on the page.
const ERRORS_MAX: usize = 100;

fn errors(document: &CaptureDocument) -> String {
    if document.errors.is_empty() {
        return String::new();
    }
    let number = |number: Option<u64>| number.map_or(String::new(), |number| number.to_string());
    let listed = document.errors.iter().take(ERRORS_MAX);
    let rows: Vec<_> = listed
        .map(|error| vec![error.message.clone(), number(error.frame), number(error.offset)])
        .collect();
    let all = document.errors.len() as u64 + document.errors_left_out;
    format!(
        "<section><h2>Malformed</h2><p>{} of {}.</p>{}</section>",
        rows.len(),
        count(all),
        table("Malformed", &["What", "Frame", "Offset"], 1, &rows)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_from_the_air_is_escaped() {
        let analysis = Analysis::default();
        let document = CaptureDocument::new("<script>.pcap", &analysis);
        let page = page(&analysis, &document, &Vec::new());
        assert!(!page.contains("<script>") && page.contains("&lt;script&gt;.pcap"));
        assert!(page.contains("Limits of this capture") && page.contains("No packet has a time"));
    }
}

//! Other measurements from the minutes of a capture: documents of `apq measure` and `franc stats`,
//! each in a sentence or two. The documents have no times of day, so the text makes no claim that
//! the minutes are the same.

use crate::failure::Failure;
use lasthop_capture::document::ContextSummary;
use lasthop_franc_node::document::FrancDocument;
use lasthop_trace::{ApqDocument, ApqWay};
use std::fs;
use std::path::PathBuf;

/// Reads and summarises the documents.
pub fn read(files: &[PathBuf]) -> Result<Vec<ContextSummary>, Failure> {
    files.iter().map(one).collect()
}

fn one(path: &PathBuf) -> Result<ContextSummary, Failure> {
    let file = path.display().to_string();
    let failed = |why: &dyn std::fmt::Display| Failure::message(format!("{file}: {why}"));
    let text = fs::read_to_string(path).map_err(|why| failed(&why))?;
    let value: serde_json::Value = serde_json::from_str(&text).map_err(|why| failed(&why))?;
    let (kind, sentences) = if value.get("directions").is_some() {
        let document: ApqDocument = serde_json::from_value(value)
            .map_err(|why| failed(&format!("not an output of apq measure --json: {why}")))?;
        ("apq", apq(&document))
    } else if value.get("counters").is_some() {
        let document: FrancDocument = serde_json::from_value(value)
            .map_err(|why| failed(&format!("not an output of franc stats --json: {why}")))?;
        ("franc", franc(&document))
    } else {
        let why = "expected what apq measure --json or franc stats --json prints (lasthop schema \
                   apq, lasthop schema franc)";
        return Err(failed(&why));
    };
    Ok(ContextSummary { file, kind: kind.to_owned(), sentences })
}

fn apq(document: &ApqDocument) -> Vec<String> {
    let mut sentences = Vec::new();
    for direction in &document.directions {
        let way = match direction.direction {
            ApqWay::Down => "from",
            ApqWay::Up => "to",
        };
        for size in &direction.sizes {
            let mut figures = Vec::new();
            if let Some(capacity) = &size.capacity_packets {
                figures.push(format!("holds {:.0} packets", capacity.mean));
            }
            if let Some(delay) = &size.queueing_delay_ms {
                figures.push(format!("delays by {:.1} ms when it is full", delay.mean));
            }
            if let Some(rate) = &size.throughput_mbps {
                figures.push(format!("passes {:.1} Mb/s", rate.mean));
            }
            if !figures.is_empty() {
                let doubt = if direction.trusted { "" } else { " (with doubts)" };
                sentences.push(format!(
                    "The queue {way} {} of packets of {} bytes {}{doubt}",
                    document.host,
                    size.packet_bytes,
                    figures.join(", ")
                ));
            }
        }
    }
    sentences
}

fn franc(document: &FrancDocument) -> Vec<String> {
    let mut sentence = format!(
        "Node {} of the coded link {} ran for {:.0} s, {}",
        document.id,
        document.name,
        document.up_s,
        if document.connected { "connected" } else { "without a session" }
    );
    for (value, what) in
        [(document.round_trip_ms, "round trip"), (document.queue_delay_ms, "of it in queues")]
    {
        if let Some(ms) = value {
            sentence.push_str(&format!(", {ms:.1} ms {what}"));
        }
    }
    let mut sentences = vec![sentence];
    for neighbour in &document.neighbours {
        for (loss, way) in [(neighbour.loss_in, "from"), (neighbour.loss_out, "to")] {
            if let Some(loss) = loss {
                let percent = 100.0 * loss;
                sentences.push(format!("It loses {percent:.1} % {way} node {}", neighbour.id));
            }
        }
    }
    sentences
}

//! The results of a measured queue as text: capacities in packets and bytes, verdicts
//! on the queue, doubts. The numbers are those of the JSON document (`trace`), rounded
//! to about four digits.

use super::meaning;
use crate::style::Style;
use crate::table::{self, many, number, value};
use lasthop_trace::{
    ApqDirection, ApqDiscipline, ApqDocument, ApqEstimate, ApqSize, ApqUnit, ApqWay,
};
use lasthop_units::Duration;
use std::fmt::Write;

/// Describes the whole document.
pub fn document(document: &ApqDocument, style: Style) -> String {
    let mut out = String::new();
    for direction in &document.directions {
        if !out.is_empty() {
            out.push('\n');
        }
        let heading = format!("The {}", queue(direction.direction, &document.host));
        let took = format!("   measured for {:.1} s", direction.measured_s);
        let _ = writeln!(out, "{}{}", style.bold(&heading), style.dim(&took));
        out.push_str(&found(direction, style));
    }
    out + &meaning::told(document)
}

/// Describes the results in one direction.
pub fn found(direction: &ApqDirection, style: Style) -> String {
    let mut out = sizes(&direction.sizes, style);
    out.push_str(&verdicts(direction));
    for doubt in &direction.doubts {
        let _ = writeln!(out, "  {} {}", style.yellow("Do not trust this:"), doubt.sentence);
    }
    out
}

/// Returns the name of a queue.
pub fn queue(direction: ApqWay, host: &str) -> String {
    match direction {
        ApqWay::Down => "queue towards this machine (down)".into(),
        ApqWay::Up => format!("queue towards {host} (up)"),
    }
}

/// Formats a number of packets and of bytes, in MB or GB.
pub fn volume(packets: u64, bytes: u64) -> String {
    let megabytes = bytes as f64 / 1e6;
    let (number, unit) =
        if megabytes < 1_000.0 { (megabytes, "MB") } else { (megabytes / 1e3, "GB") };
    format!("{}, {} {unit}", many(packets, "packet"), value(number))
}

/// Formats a duration in s, min and h.
pub fn duration(time: Duration) -> String {
    let seconds = time.as_secs_f64().round() as u64;
    match (seconds / 3_600, seconds / 60 % 60, seconds % 60) {
        (0, 0, 0..10) => format!("{:.1} s", time.as_secs_f64()),
        (0, 0, s) => format!("{s} s"),
        (0, min, s) => format!("{min} min {s} s"),
        (h, min, _) => format!("{h} h {min} min"),
    }
}

fn sizes(sizes: &[ApqSize], style: Style) -> String {
    let columns = [
        number("packet", "bytes"),
        number("capacity, packets", "mean"),
        number("capacity, packets", "+-"),
        number("capacity, bytes", "mean"),
        number("capacity, bytes", "+-"),
        number("equation 1, packets", "mean"),
        number("equation 1, packets", "+-"),
        number("Mb/s", "mean"),
        number("queueing ms", "mean"),
        number("sessions", ""),
    ];
    let mean = |estimate: &Option<ApqEstimate>| {
        estimate.map_or_else(String::new, |estimate| value(estimate.mean))
    };
    let width = |estimate: &Option<ApqEstimate>| {
        estimate.and_then(|estimate| estimate.ci95).map_or_else(String::new, value)
    };
    let rows: Vec<Vec<String>> = sizes
        .iter()
        .map(|size| {
            vec![
                size.packet_bytes.to_string(),
                mean(&size.capacity_packets),
                width(&size.capacity_packets),
                mean(&size.capacity_bytes),
                width(&size.capacity_bytes),
                mean(&size.equation_1_packets),
                width(&size.equation_1_packets),
                mean(&size.throughput_mbps),
                mean(&size.queueing_delay_ms),
                size.sessions.len().to_string(),
            ]
        })
        .collect();
    table::render_all(&columns, &rows, style)
}

fn verdicts(direction: &ApqDirection) -> String {
    let mut out = String::new();
    let sure = |confidence: f64| format!("confidence {confidence:.2}");
    if let Some(unit) = direction.unit {
        let confidence = sure(unit.confidence);
        let _ = match unit.verdict {
            ApqUnit::Packets => writeln!(out, "  It is bounded in packets ({confidence})."),
            ApqUnit::Bytes => writeln!(out, "  It is bounded in bytes ({confidence})."),
            ApqUnit::CannotTell => {
                writeln!(out, "  Unknown whether its limit is in packets or bytes.")
            }
        };
    }
    if let Some(discipline) = direction.discipline {
        let confidence = sure(discipline.confidence);
        let name = match discipline.verdict {
            ApqDiscipline::DropTail => Some("drop-tail"),
            ApqDiscipline::CoDel => Some("CoDel or its like"),
            ApqDiscipline::FairDropTail => Some("a queue for each flow, drop-tail"),
            ApqDiscipline::FqCoDel => Some("FQ-CoDel or its like"),
            ApqDiscipline::CannotTell => None,
        };
        let _ = match name {
            Some(name) => writeln!(out, "  Discipline: {name} ({confidence})."),
            None => writeln!(out, "  Its discipline is unknown."),
        };
    }
    if let Some(driver) = direction.driver_queue_packets {
        let width = driver.ci95.map_or_else(String::new, |ci95| format!(" +- {}", value(ci95)));
        let mean = value(driver.mean);
        let _ = writeln!(out, "  Under it, a driver queue holds {mean}{width} packets.");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use lasthop_trace::{ApqDisciplineJudgement, ApqDoubt, ApqMethod, ApqUnitJudgement};

    #[test]
    fn a_queue_is_told_in_a_few_lines() {
        let estimate = |mean, ci95| Some(ApqEstimate { mean, ci95: Some(ci95), values: 12 });
        let size = ApqSize {
            packet_bytes: 1_500,
            capacity_packets: estimate(50.25, 0.31),
            capacity_bytes: estimate(75_375.0, 465.0),
            equation_1_packets: estimate(49.1, 0.8),
            throughput_mbps: estimate(6.72, 0.02),
            queueing_delay_ms: estimate(88.1, 1.5),
            saturation_pps: Some(900.0),
            search: Vec::new(),
            sessions: Vec::new(),
        };
        let document = ApqDocument {
            host: "server".into(),
            method: ApqMethod::Fast,
            wall_s: 31.0,
            idle_rtt_ms: None,
            version: "0".into(),
            directions: vec![ApqDirection {
                direction: ApqWay::Up,
                trusted: false,
                doubts: vec![ApqDoubt { kind: "k".into(), sentence: "other traffic".into() }],
                sizes: vec![size],
                unit: Some(ApqUnitJudgement { verdict: ApqUnit::Packets, confidence: 0.987 }),
                discipline: Some(ApqDisciplineJudgement {
                    verdict: ApqDiscipline::DropTail,
                    confidence: 0.9,
                }),
                driver_queue_packets: estimate(5.0, 1.0),
                measured_s: 29.5,
            }],
        };
        insta::assert_snapshot!(super::document(&document, Style::PLAIN));
    }

    #[test]
    fn times_are_those_that_a_person_waits() {
        let seconds = [0.0, 0.44, 9.4, 59.4, 60.0, 61.0, 3_599.0, 7_260.0];
        let words = seconds.map(|s| duration(Duration::from_secs_f64(s)));
        let expected = [
            "0.0 s",
            "0.4 s",
            "9.4 s",
            "59 s",
            "1 min 0 s",
            "1 min 1 s",
            "59 min 59 s",
            "2 h 1 min",
        ];
        assert_eq!(words, expected);
    }
}

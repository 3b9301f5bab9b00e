//! A capture as a measurement beside simulated runs: payload of each direction of a flow by second,
//! each byte once, and TCP's times until acknowledgement, of the capture's main interface. Left out:
//! pings, protected frames, directions without payload.

use crate::analysis::Analysis;
use crate::transport::{Direction, FlowKey};
use lasthop_trace::{Measurement, MeasurementKind, MeasurementSeries, MeasurementValue};

/// Largest number of directions, those with most payload.
const DIRECTIONS_MAX: usize = 64;
/// Largest number of seconds of a direction; beyond it seconds without payload are no values.
const SECONDS_MAX: usize = 4 * 3_600;

/// Returns the measurement of a finished analysis.
pub fn measurement(analysis: &Analysis) -> Measurement {
    let length_s =
        analysis.times().map_or(0.0, |(first, last)| last.saturating_sub(first) as f64 / 1e9);
    let mut directions: Vec<(String, &Direction)> = Vec::new();
    for (key, flow) in analysis.main.flows.iter() {
        let names = [0, 1].map(|from| name(key, from));
        directions.extend(names.into_iter().zip(&flow.directions));
    }
    directions.retain(|(_, direction)| direction.payload_bytes > 0);
    directions.sort_by_key(|(_, direction)| std::cmp::Reverse(direction.payload_bytes));
    let mut notes = vec![
        "throughput is payload at the capture, each byte once; TCP's round trips are those from \
         the capture to the receiver and back"
            .to_owned(),
    ];
    if directions.len() > DIRECTIONS_MAX {
        let of = directions.len();
        notes.push(format!("the {DIRECTIONS_MAX} directions with most payload of {of} count"));
        directions.truncate(DIRECTIONS_MAX);
    }
    let series = directions.iter().flat_map(|(name, direction)| {
        let [rates, round_trips] = series(direction, length_s);
        [(MeasurementKind::Throughput, rates), (MeasurementKind::TcpRoundTrip, round_trips)]
            .map(|(kind, values)| MeasurementSeries { name: name.clone(), kind, values })
    });
    Measurement {
        program: "capture".into(),
        test: String::new(),
        series: series.filter(|series| !series.values.is_empty()).collect(),
        notes,
    }
}

fn name(key: &FlowKey, from: usize) -> String {
    let kind = if key.protocol == lasthop_packet::ip::protocol::TCP { "tcp" } else { "udp" };
    format!("{kind} {} -> {}", key.ends[from], key.ends[1 - from])
}

/// Rates and round trips by second.
fn series(direction: &Direction, length_s: f64) -> [Vec<MeasurementValue>; 2] {
    let first = direction.seconds.first();
    let last = direction.seconds.iter().last().map_or(first, |(second, _)| second);
    let all: Vec<usize> = if last - first < SECONDS_MAX {
        (first..=last).collect()
    } else {
        direction.seconds.iter().map(|(second, _)| second).collect()
    };
    let (mut rates, mut round_trips) = (Vec::new(), Vec::new());
    for second in all {
        let begin_s = second as f64;
        let at_s = (begin_s + 1.0).min(length_s);
        let span_s = at_s - begin_s;
        // A clock that went back, or a last packet at the begin of a second.
        if span_s < 1e-3 {
            continue;
        }
        let values = direction.seconds.get(second).copied().unwrap_or_default();
        let value = values.payload_bytes as f64 * 8e-6 / span_s;
        rates.push(MeasurementValue { at_s, span_s, value });
        let (sum_ns, count) = values.rtt;
        if count > 0 {
            let value = sum_ns as f64 / f64::from(count) / 1e6;
            round_trips.push(MeasurementValue { at_s, span_s, value });
        }
    }
    [rates, round_trips]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::FlowSecond;

    #[test]
    fn seconds_are_rates_and_the_last_one_is_short() {
        let mut direction = Direction::default();
        // 1 MB in second 0, none in second 1, 0.5 MB in the half of second 2.
        let second =
            |payload_bytes, rtt| FlowSecond { payload_bytes, rtt, ..FlowSecond::default() };
        *direction.seconds.at(0) = second(1_000_000, (30_000_000, 2));
        *direction.seconds.at(2) = second(500_000, (0, 0));
        let [rates, round_trips] = series(&direction, 2.5);
        let rates: Vec<f64> = rates.iter().map(|it| it.value).collect();
        assert_eq!(rates, [8.0, 0.0, 8.0]);
        assert_eq!(round_trips.iter().map(|it| it.value).collect::<Vec<_>>(), [15.0]);
    }
}

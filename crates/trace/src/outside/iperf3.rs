//! JSON of iperf3 (`iperf3 -J`, versions 3.1 to 3.19): the interval of each stream with its bits in
//! a second, and the sender's smoothed round trip in us (`rtt`, TCP on Linux). Intervals of `--omit`
//! are left out. A stream that the file's side receives is counted there.

use super::field::{Field, FieldError};
use super::measurement::{
    Measurement, MeasurementKind, MeasurementSeries, MeasurementValue, TIME_S_MAX,
};
use std::collections::BTreeMap;

/// Reads the series.
pub(super) fn measurement(top: &Field<'_>) -> Result<Measurement, FieldError> {
    if let Some(error) = top.get("error") {
        return Err(error.other("results; iperf3 reported this error"));
    }
    let test = top.get("start").and_then(|it| it.get("test_start"));
    let word = |key| test.as_ref().and_then(|it| it.get(key)?.word());
    let is_reverse = test.as_ref().and_then(|it| it.get("reverse")).is_some_and(|it| it.is_true());
    let protocol = word("protocol").unwrap_or_else(|| "TCP".into());
    // Throughput and round trips of each stream, by its socket.
    let mut streams: BTreeMap<u64, [MeasurementSeries; 2]> = BTreeMap::new();
    let mut has_received = false;
    for interval in top.need("intervals")?.items()? {
        for stream in interval.need("streams")?.items()? {
            if stream.get("omitted").is_some_and(|it| it.is_true()) {
                continue;
            }
            let socket = stream.need("socket")?.number()? as u64;
            let sends = stream.get("sender").map_or(!is_reverse, |it| it.is_true());
            has_received |= !sends;
            let end = stream.need("end")?;
            let (start_s, at_s) = (stream.need("start")?.number()?, end.number()?);
            if !(start_s >= 0.0 && at_s >= start_s && at_s <= TIME_S_MAX) {
                return Err(end.other("a second behind start, within eleven days"));
            }
            let [rate, round_trip] = streams.entry(socket).or_insert_with(|| {
                let name = format!("{protocol} stream {socket}");
                [MeasurementKind::Throughput, MeasurementKind::TcpRoundTrip]
                    .map(|kind| MeasurementSeries { name: name.clone(), kind, values: Vec::new() })
            });
            let value = stream.need("bits_per_second")?.amount()? / 1e6;
            rate.values.push(MeasurementValue { at_s, span_s: at_s - start_s, value });
            if let Some(rtt) = stream.get("rtt").filter(|_| sends) {
                let value = rtt.amount()? / 1e3;
                round_trip.values.push(MeasurementValue { at_s, span_s: at_s - start_s, value });
            }
        }
    }
    let mut notes = Vec::new();
    if has_received {
        notes.push(
            "the file's side received streams, and counted them; the sender's count is in the \
             other side's file"
                .into(),
        );
    }
    let series = streams.into_values().flatten().filter(|series| !series.values.is_empty());
    Ok(Measurement {
        program: "iperf3".into(),
        test: protocol.to_lowercase(),
        series: series.collect(),
        notes,
    })
}

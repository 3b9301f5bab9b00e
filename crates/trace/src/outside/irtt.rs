//! JSON of irtt (`irtt client -o FILE.json`, versions 0.9): each round trip of a datagram in ns, with
//! the client's wall clock; the first request is the begin. Lost ones are counted.

use super::field::{Field, FieldError};
use super::measurement::{
    Measurement, MeasurementKind, MeasurementSeries, MeasurementValue, TIME_S_MAX,
};

/// Reads the series.
pub(super) fn measurement(top: &Field<'_>) -> Result<Measurement, FieldError> {
    let (mut begin_ns, mut lost, mut sent) = (None, 0_u64, 0_u64);
    let mut values = Vec::new();
    for trip in top.need("round_trips")?.items()? {
        let client = trip.need("timestamps")?.need("client")?;
        let sent_ns = client.need("send")?.need("wall")?;
        let begin_ns = *begin_ns.get_or_insert(sent_ns.number()?);
        sent += 1;
        if trip.get("lost").is_some_and(|it| it.is_true()) {
            lost += 1;
            continue;
        }
        let value = trip.need("delay")?.need("rtt")?.amount()? / 1e6;
        let at_s = (sent_ns.number()? - begin_ns) / 1e9 + value / 1e3;
        if at_s.abs() > TIME_S_MAX {
            return Err(sent_ns.other("a time within eleven days of the first request"));
        }
        values.push(MeasurementValue { at_s, span_s: 0.0, value });
    }
    let notes =
        if lost > 0 { vec![format!("{lost} of {sent} requests were lost")] } else { vec![] };
    let name = "irtt".to_owned();
    let series = vec![MeasurementSeries { name, kind: MeasurementKind::RoundTrip, values }];
    Ok(Measurement { program: "irtt".into(), test: String::new(), series, notes })
}

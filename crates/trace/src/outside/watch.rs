//! A simulated run as a measurement: bytes that each TCP sender saw acknowledged, payload that each
//! UDP sender sent, and round trips: of requests, and as TCP estimates them. netperf counts bytes
//! that its socket accepted; over a window the two differ by a send buffer.

use super::measurement::{Measurement, MeasurementKind, MeasurementSeries, MeasurementValue};
use crate::names::{FlowKind, Names};
use lasthop_hosts::{Sink, TcpSample};
use lasthop_packet::{FlowId, Packet};
use lasthop_units::{Duration, Instant};

/// Length of the intervals of UDP in seconds.
const INTERVAL_S: f64 = 0.1;
/// Length of the headers of IPv4 and UDP.
const UDP_IP_BYTES: u64 = 28;

/// Watches flows of a run.
#[derive(Clone, Debug)]
pub struct FlowWatch {
    flows: Vec<Option<Watched>>,
}

/// State of one flow.
#[derive(Clone, Debug)]
struct Watched {
    name: String,
    kind: FlowKind,
    /// Time and acknowledged bytes of the latest sample.
    acknowledged: (f64, u64),
    /// Payload of each interval.
    sent: Vec<u64>,
    values: Vec<MeasurementValue>,
    round_trips: Vec<MeasurementValue>,
}

impl FlowWatch {
    /// Watches the flows with names that `is_wanted` accepts.
    pub fn new(names: &Names, is_wanted: &dyn Fn(&str) -> bool) -> Self {
        let watched = |name: &str, kind| Watched {
            name: name.to_owned(),
            kind,
            acknowledged: (0.0, 0),
            sent: Vec::new(),
            values: Vec::new(),
            round_trips: Vec::new(),
        };
        let flows = names.flows.iter();
        let flows =
            flows.map(|it| is_wanted(&it.name).then(|| watched(&it.name, it.kind))).collect();
        Self { flows }
    }

    fn flow(&mut self, flow: FlowId) -> Option<&mut Watched> {
        self.flows.get_mut(usize::from(flow.0))?.as_mut()
    }

    /// The measurement of a run that lasted for `duration`.
    pub fn finish(self, test: &str, duration: Duration) -> Measurement {
        let mut series = Vec::new();
        for mut flow in self.flows.into_iter().flatten() {
            let end_s = duration.as_secs_f64();
            for (index, bytes) in flow.sent.iter().enumerate() {
                let begin_s = index as f64 * INTERVAL_S;
                let at_s = (begin_s + INTERVAL_S).min(end_s);
                let span_s = at_s - begin_s;
                if span_s > 0.0 {
                    let value = *bytes as f64 * 8e-6 / span_s;
                    flow.values.push(MeasurementValue { at_s, span_s, value });
                }
            }
            let of_trips = match flow.kind {
                FlowKind::Ping => MeasurementKind::RoundTrip,
                _ => MeasurementKind::TcpRoundTrip,
            };
            let both = [(MeasurementKind::Throughput, flow.values), (of_trips, flow.round_trips)];
            for (kind, values) in both {
                if !values.is_empty() {
                    series.push(MeasurementSeries { name: flow.name.clone(), kind, values });
                }
            }
        }
        Measurement { program: "lasthop".into(), test: test.to_owned(), series, notes: Vec::new() }
    }
}

impl Sink for FlowWatch {
    fn sent(&mut self, now: Instant, packet: &Packet) {
        let Some(flow) = self.flow(packet.flow) else { return };
        if !matches!(flow.kind, FlowKind::Udp | FlowKind::Video | FlowKind::Call) {
            return;
        }
        let interval = (now.as_secs_f64() / INTERVAL_S) as usize;
        if flow.sent.len() <= interval {
            flow.sent.resize(interval + 1, 0);
        }
        flow.sent[interval] += u64::from(packet.bytes).saturating_sub(UDP_IP_BYTES);
    }

    fn tcp(&mut self, now: Instant, flow: FlowId, sample: &TcpSample) {
        let Some(flow) = self.flow(flow) else { return };
        let at_s = now.as_secs_f64();
        let (from_s, bytes) = flow.acknowledged;
        let span_s = at_s - from_s;
        if span_s <= 0.0 {
            return;
        }
        let value = sample.bytes_acked.saturating_sub(bytes) as f64 * 8e-6 / span_s;
        flow.values.push(MeasurementValue { at_s, span_s, value });
        flow.acknowledged = (at_s, sample.bytes_acked);
        if !sample.smoothed_rtt.is_zero() {
            let value = sample.smoothed_rtt.as_millis_f64();
            flow.round_trips.push(MeasurementValue { at_s, span_s, value });
        }
    }

    fn round_trip(&mut self, now: Instant, flow: FlowId, rtt: Duration) {
        let Some(flow) = self.flow(flow) else { return };
        if flow.kind == FlowKind::Ping {
            let (at_s, value) = (now.as_secs_f64(), rtt.as_millis_f64());
            flow.round_trips.push(MeasurementValue { at_s, span_s: 0.0, value });
        }
    }
}

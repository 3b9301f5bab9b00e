//! The data of a run for a figure to read: its summary, and its series by name as
//! points (x in seconds). Names that the scenario does not have are an error in the
//! figure, and panic.

use crate::reproduce::record::Measurement;
use crate::reproduce::request::Run;
use lasthop_capture::analysis::Analysis;
use lasthop_packet::FlowId;
use lasthop_scenario::Scenario;
use lasthop_trace::{
    CodedLinkSummary, FlowReading, FlowSummary, LinkSummary, Names, NodeSummary, RunDocument,
    Snapshot,
};
use lasthop_units::{Duration, Instant};
use lasthop_wifi::StationId;
use std::collections::BTreeMap;

/// A point: time in seconds, and the value of the series.
pub type Point = (f64, f64);

/// The data of a run.
#[derive(Debug)]
pub struct RunData {
    /// The scenario, with the changes.
    pub scenario: Scenario,
    /// The summary of the run.
    pub document: RunDocument,
    /// The names of nodes, stations and flows.
    pub names: Names,
    /// All intervals of the series.
    pub intervals: Vec<Snapshot>,
    /// The analysis of the captured air; `None` unless it was captured.
    pub capture: Option<Analysis>,
    /// Flow, time of the answer and round-trip time of each round trip; empty unless
    /// they were watched.
    pub round_trips: Vec<(FlowId, Instant, Duration)>,
    /// Results of the measurements of queues.
    pub measurements: Vec<Measurement>,
}

/// The runs of a figure.
#[derive(Debug)]
pub struct Runs<'a>(pub(crate) Vec<(Run, &'a RunData)>);

/// The mark before the number of a run in its name.
const RUN: &str = ", run ";

/// The name of a run of several that differ in their numbers. The first one has the name alone.
pub fn numbered(name: &str, number: u64) -> String {
    if number == 0 { name.to_owned() } else { format!("{name}{RUN}{number}") }
}

impl<'a> Runs<'a> {
    /// Returns the run called `name`.
    ///
    /// # Panics
    /// If the figure has no such run.
    pub fn get(&self, name: &str) -> &'a RunData {
        match self.0.iter().find(|(run, _)| run.name == name) {
            Some((_, data)) => data,
            None => panic!("the figure has no run {name}"),
        }
    }

    /// The same runs, in which a name stands for the one with `suffix` where there is one.
    pub(crate) fn preferring(&self, suffix: &str) -> Self {
        let renamed = |(run, data): &(Run, &'a RunData)| {
            let name = run.name.strip_suffix(suffix)?;
            Some((Run { name: name.to_owned(), ..run.clone() }, *data))
        };
        let mut runs: Vec<_> = self.0.iter().filter_map(renamed).collect();
        let others = self.0.iter().filter(|(run, _)| !run.name.ends_with(suffix));
        let missing: Vec<_> = others
            .filter(|(run, _)| runs.iter().all(|(r, _)| r.name != run.name))
            .cloned()
            .collect();
        runs.extend(missing);
        Self(runs)
    }

    /// The same runs, in which a name also stands for its run of this number where it has several
    /// ([`numbered`]).
    pub(crate) fn of_number(&self, number: u64) -> Self {
        let by_name: BTreeMap<&str, &'a RunData> = self.all().collect();
        let of = |(run, data): &(Run, &'a RunData)| {
            let base = run.name.split(RUN).next().unwrap_or(&run.name);
            let data = by_name.get(numbered(base, number).as_str()).copied().unwrap_or(data);
            (run.clone(), data)
        };
        Self(self.0.iter().map(of).collect())
    }

    /// The same runs without those whose names end in `suffix`.
    pub(crate) fn without(&self, suffix: &str) -> Self {
        Self(self.0.iter().filter(|(run, _)| !run.name.ends_with(suffix)).cloned().collect())
    }

    /// All runs with their names, in the order of the figure.
    pub fn all(&self) -> impl Iterator<Item = (&str, &'a RunData)> {
        self.0.iter().map(|(run, data)| (run.name.as_str(), *data))
    }
}

impl RunData {
    /// The summary of a flow.
    ///
    /// # Panics
    /// If there is no flow of this name. The other methods panic in the same way.
    pub fn flow(&self, name: &str) -> &FlowSummary {
        self.document.flows.get(name).unwrap_or_else(|| self.lacks("flow", name))
    }

    /// The summary of a node with Wi-Fi.
    pub fn node(&self, name: &str) -> &NodeSummary {
        self.document.nodes.get(name).unwrap_or_else(|| self.lacks("node", name))
    }

    /// The summary of one direction of a link, called `sender->receiver`.
    pub fn link(&self, name: &str) -> &LinkSummary {
        self.document.links.get(name).unwrap_or_else(|| self.lacks("link", name))
    }

    /// The summary of a coded link.
    pub fn coded(&self, name: &str) -> &CodedLinkSummary {
        self.document.franc.get(name).unwrap_or_else(|| self.lacks("coded link", name))
    }

    /// Payload of a flow that arrived in each interval, in Mb/s.
    pub fn throughput_mbps(&self, flow: &str) -> Vec<Point> {
        self.of_flow(flow, |interval, reading| Some(interval.throughput_mbps(reading)))
    }

    /// Congestion window of a TCP flow at the end of each interval, in segments.
    pub fn cwnd_packets(&self, flow: &str) -> Vec<Point> {
        self.of_flow(flow, |_, reading| reading.cwnd_packets.map(f64::from))
    }

    /// Number of segments that a TCP flow retransmitted in each interval.
    pub fn retransmissions(&self, flow: &str) -> Vec<Point> {
        let mut before = 0;
        let since = |(at, total): Point| {
            let more = total - f64::from(before);
            before = total as u32;
            (at, more)
        };
        self.of_flow(flow, |_, reading| reading.retransmissions.map(|count| count as f64))
            .into_iter()
            .map(since)
            .collect()
    }

    /// Number of packets of a flow that the network dropped or lost in each interval.
    pub fn lost(&self, flow: &str) -> Vec<Point> {
        self.of_flow(flow, |_, reading| Some(reading.lost as f64))
    }

    /// Mean one-way delay of a flow in ms, in each interval in which packets arrived.
    pub fn delay_ms(&self, flow: &str) -> Vec<Point> {
        self.of_flow(flow, |_, reading| reading.delay.map(Duration::as_millis_f64))
    }

    /// Number of packets of a node in its Wi-Fi queues and in flight, at the end of each
    /// interval.
    pub fn queue_packets(&self, node: &str) -> Vec<Point> {
        let index = self.names.nodes.iter().position(|known| known.name == node);
        let index = index.unwrap_or_else(|| self.lacks("node", node));
        self.over_time(|interval| interval.nodes[index].queue_packets.map(f64::from))
    }

    /// Time of the answer and round-trip time in ms of each round trip of a flow; only
    /// if they were watched.
    pub fn round_trips_ms(&self, flow: &str) -> Vec<Point> {
        let id = self.flow_id(flow);
        let ours = self.round_trips.iter().filter(|(known, ..)| usize::from(known.0) == id);
        ours.map(|(_, at, rtt)| (seconds(*at), rtt.as_millis_f64())).collect()
    }

    /// The result of the measurement of a queue.
    pub fn measurement(&self, flow: &str) -> &Measurement {
        let id = self.flow_id(flow);
        let is_it = |known: &&Measurement| usize::from(known.flow.0) == id;
        self.measurements.iter().find(is_it).unwrap_or_else(|| self.lacks("measurement", flow))
    }

    /// The station of the node called `node`.
    pub fn station(&self, node: &str) -> StationId {
        let is_it = |station: &usize| self.names.station(StationId(*station as u16)) == node;
        let index = (0..self.names.stations.len()).find(is_it);
        StationId(index.unwrap_or_else(|| self.lacks("station", node)) as u16)
    }

    fn of_flow(
        &self,
        flow: &str,
        read: impl Fn(&Snapshot, &FlowReading) -> Option<f64>,
    ) -> Vec<Point> {
        let id = self.flow_id(flow);
        self.over_time(|interval| read(interval, &interval.flows[id]))
    }

    /// The value of each interval, at its middle.
    fn over_time(&self, read: impl Fn(&Snapshot) -> Option<f64>) -> Vec<Point> {
        let points = self.intervals.iter().filter_map(|interval| {
            let middle = seconds(interval.at) - interval.interval.as_secs_f64() / 2.0;
            Some((middle, read(interval)?))
        });
        points.collect()
    }

    fn flow_id(&self, flow: &str) -> usize {
        let index = self.names.flows.iter().position(|known| known.name == flow);
        index.unwrap_or_else(|| self.lacks("flow", flow))
    }

    fn lacks(&self, what: &str, name: &str) -> ! {
        panic!("scenario {} has no {what} {name} with results", self.scenario.name)
    }
}

/// An instant of a run, in seconds since its start.
pub fn seconds(at: Instant) -> f64 {
    (at - Instant::ZERO).as_secs_f64()
}

/// The values of the points whose x passes `is_in`.
pub fn values(points: &[Point], is_in: impl Fn(f64) -> bool) -> Vec<f64> {
    points.iter().filter(|(x, _)| is_in(*x)).map(|&(_, y)| y).collect()
}

/// The mean; `NaN` if there are no values.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The least value such that a share `q` (0 to 1) of the values is at or below it;
/// `NaN` if there are no values.
pub fn quantile(values: &[f64], q: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let rank = (sorted.len() as f64 * q).ceil().max(1.0) as usize;
    sorted.get(rank.min(sorted.len()).wrapping_sub(1)).copied().unwrap_or(f64::NAN)
}

/// The greatest value; `NaN` if there are no values.
pub fn greatest(values: &[f64]) -> f64 {
    quantile(values, 1.0)
}

/// The least value; `NaN` if there are no values.
pub fn least(values: &[f64]) -> f64 {
    quantile(values, 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_values_that_occurred() {
        let values = [3.0, 1.0, 2.0, 10.0];
        assert_eq!(
            [0.0, 0.25, 0.5, 0.51, 1.0].map(|q| quantile(&values, q)),
            [1.0, 1.0, 2.0, 3.0, 10.0]
        );
        assert_eq!((least(&values), greatest(&values), mean(&values)), (1.0, 10.0, 4.0));
    }

    #[test]
    fn nothing_is_not_a_number() {
        assert!(
            [quantile(&[], 0.5), greatest(&[]), least(&[]), mean(&[])].iter().all(|x| x.is_nan())
        );
    }
}

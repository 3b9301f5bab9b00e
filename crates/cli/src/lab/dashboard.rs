//! The content of a live view: a panel for every flow, and for the queue and the
//! aggregates on its path, each with its readings over the whole time. Independent of
//! the terminal; `view` draws it. Times are in seconds.

use lasthop_packet::NodeId;
use lasthop_trace::{FlowKind, Names, Snapshot};
use lasthop_units::{Duration, Instant};
use lasthop_wifi::StationId;

/// Panels and phases of a live view.
#[derive(Debug)]
pub struct Dashboard {
    /// Name of the run.
    pub title: String,
    /// Duration of the time axis, in seconds.
    pub length_s: f64,
    /// Caption and start of each phase, in seconds.
    pub phases: Vec<(String, f64)>,
    /// The panels, from top to bottom.
    pub panels: Vec<Panel>,
    /// Time of the latest reading, in seconds.
    pub now_s: f64,
}

/// A quantity over time, in a panel.
#[derive(Debug)]
pub struct Panel {
    /// Name of the flow, queue or link.
    pub title: String,
    /// Name and unit of the quantity.
    pub unit: &'static str,
    /// Readings, in order of time.
    pub readings: Vec<Reading>,
    source: ReadingSource,
}

/// A value, and the time in which it applied.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reading {
    from_s: f64,
    to_s: f64,
    value: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReadingSource {
    Throughput(usize),
    RoundTrip(usize),
    Queue(NodeId),
    Aggregate(StationId, StationId),
}

impl Dashboard {
    /// Makes a dashboard without readings, for phases with a total duration of `length`.
    pub fn new(title: &str, names: &Names, length: Duration) -> Self {
        let mut dashboard = Self {
            title: title.into(),
            length_s: length.as_secs_f64(),
            phases: Vec::new(),
            panels: Vec::new(),
            now_s: 0.0,
        };
        for (index, flow) in names.flows.iter().enumerate() {
            let (unit, source) = match flow.kind {
                FlowKind::Ping => ("ms round trip", ReadingSource::RoundTrip(index)),
                _ => ("Mb/s", ReadingSource::Throughput(index)),
            };
            dashboard.add(flow.name.clone(), unit, source);
        }
        for (from, to) in names.flows.iter().filter_map(|flow| hop(names, flow.from, flow.to)) {
            let node = names.stations[from.index()];
            dashboard.add(
                format!("{} queue", names.node(node)),
                "packets",
                ReadingSource::Queue(node),
            );
            dashboard.add(
                format!("{} -> {}", names.station(from), names.station(to)),
                "packets an aggregate",
                ReadingSource::Aggregate(from, to),
            );
        }
        dashboard
    }

    fn add(&mut self, title: String, unit: &'static str, source: ReadingSource) {
        if self.panels.iter().all(|panel| panel.source != source) {
            self.panels.push(Panel { title, unit, readings: Vec::new(), source });
        }
    }

    /// Starts the next phase, at the latest reading.
    pub fn begin_phase(&mut self, caption: &str) {
        self.phases.push((caption.into(), self.now_s));
    }

    /// Adds the readings of a snapshot, whose time counts from the start of the phase.
    pub fn add_readings(&mut self, snapshot: &Snapshot) {
        let begin_s = self.phases.last().map_or(0.0, |(_, begin_s)| *begin_s);
        let now_s = begin_s + (snapshot.at - Instant::ZERO).as_secs_f64();
        let from_s = self.now_s.max(now_s - snapshot.interval.as_secs_f64());
        self.now_s = now_s;
        for panel in &mut self.panels {
            if let Some(value) = read(snapshot, panel.source) {
                panel.readings.push(Reading { from_s, to_s: now_s, value });
            }
        }
    }
}

impl Panel {
    /// Returns the latest value; `None` without readings.
    pub fn latest(&self) -> Option<f64> {
        self.readings.last().map(|reading| reading.value)
    }

    /// Returns the greatest value; 0 without readings.
    pub fn max(&self) -> f64 {
        self.readings.iter().fold(0.0, |max, reading| reading.value.max(max))
    }

    /// Returns the mean of the readings in each of `columns` equal parts of `length_s` seconds.
    pub fn columns(&self, columns: usize, length_s: f64) -> Vec<Option<f64>> {
        let mut sums = vec![(0.0, 0u32); columns];
        for reading in &self.readings {
            let column = |at_s: f64| at_s / length_s * columns as f64;
            let first = column(reading.from_s).floor() as usize;
            let end = (column(reading.to_s).ceil() as usize).min(columns);
            for sum in sums.get_mut(first..end).unwrap_or_default() {
                *sum = (sum.0 + reading.value, sum.1 + 1);
            }
        }
        sums.into_iter().map(|(sum, count)| (count > 0).then(|| sum / f64::from(count))).collect()
    }
}

/// Returns the hop over the air on the path from a node to another, as sender and receiver; `None`
/// if there is none.
fn hop(names: &Names, from: NodeId, to: NodeId) -> Option<(StationId, StationId)> {
    if from == to {
        return None;
    }
    let client = |node| {
        let index = names.stations.iter().position(|station| *station == node)?;
        let station = StationId(index as u16);
        let access_point = *names.access_points.get(index)?;
        (station != access_point).then_some((station, access_point))
    };
    // Between two stations it is the first of two hops.
    client(from).or_else(|| client(to).map(|(station, access_point)| (access_point, station)))
}

fn read(snapshot: &Snapshot, source: ReadingSource) -> Option<f64> {
    match source {
        ReadingSource::Throughput(flow) => {
            snapshot.flows.get(flow).map(|flow| snapshot.throughput_mbps(flow))
        }
        ReadingSource::RoundTrip(flow) => Some(snapshot.flows.get(flow)?.rtt?.as_millis_f64()),
        ReadingSource::Queue(node) => {
            snapshot.nodes.get(node.index())?.queue_packets.map(f64::from)
        }
        ReadingSource::Aggregate(from, to) => {
            let link = snapshot.links.iter().find(|link| (link.from, link.to) == (from, to))?;
            (link.ppdus > 0).then(|| link.mpdus as f64 / link.ppdus as f64)
        }
    }
}

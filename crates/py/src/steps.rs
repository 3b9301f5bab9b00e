//! A run driven by an agent: the run advances by an interval, returns the counters of the
//! radios, and accepts changes. `lasthop.env` makes Gymnasium's environments of it. Leaves
//! out observations and rewards.

use crate::scenario::{Scenario, unreadable};
use lasthop_hosts::Sink;
use lasthop_packet::{AccessCategory, NodeId, Packet};
use lasthop_sim::Simulation;
use lasthop_units::{Duration, Instant, Seed};
use lasthop_wifi::cell::Adjustment;
use lasthop_wifi::phy::Rate;
use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;
use std::sync::Arc;

/// A run in steps.
///
/// ``advance`` lets time pass; ``link``, ``queue_packets`` and ``flows`` return counts
/// since the start; ``set_...`` changes a radio from then on, and raises ``ValueError`` for
/// an invalid value, ``KeyError`` for an unknown node.
#[pyclass(module = "lasthop")]
pub struct Steps {
    scenario: Arc<lasthop_scenario::Scenario>,
    simulation: Simulation,
    sink: Counts,
}

/// Packets that arrived, by flow.
#[derive(Clone, Debug)]
struct Counts {
    flows: Vec<Arrived>,
}

/// Packets of a flow that arrived at its end.
#[derive(Clone, Copy, Debug, Default)]
struct Arrived {
    packets: u64,
    bytes: u64,
    delay_ns: u64,
}

impl Sink for Counts {
    fn arrived(&mut self, now: Instant, node: NodeId, packet: &Packet) {
        let Some(flow) = self.flows.get_mut(usize::from(packet.flow.0)) else { return };
        if node == packet.destination {
            flow.packets += 1;
            flow.bytes += u64::from(packet.bytes);
            flow.delay_ns += (now - packet.created).as_nanos();
        }
    }
}

impl Steps {
    fn node(&self, name: &str) -> PyResult<NodeId> {
        self.scenario.node(name).ok_or_else(|| PyKeyError::new_err(name.to_owned()))
    }

    fn adjust(&mut self, name: &str, what: Adjustment) -> PyResult<()> {
        let node = self.node(name)?;
        match self.simulation.hosts().adjust(node, what) {
            Some(Ok(())) => Ok(()),
            Some(Err(why)) => Err(PyValueError::new_err(why.to_string())),
            None => Err(PyValueError::new_err(format!("{name} has no radio"))),
        }
    }
}

#[pymethods]
impl Steps {
    /// Begins run `run` of `scenario`.
    #[new]
    fn new(py: Python<'_>, scenario: &Bound<'_, Scenario>, run: u64) -> PyResult<Self> {
        let valid = scenario.get().valid(py)?;
        let mut sink = Counts { flows: vec![Arrived::default(); valid.flows.len()] };
        let seed = Seed::new(valid.seed, run);
        let simulation = Simulation::new(&valid, seed, &mut sink);
        let simulation = simulation
            .map_err(|why| unreadable(py, &scenario.get().file_name(), &why.to_string()))?;
        Ok(Self { scenario: valid, simulation, sink })
    }

    /// Lets ``seconds`` pass, or the rest of the run; returns whether time is left.
    fn advance(&mut self, py: Python<'_>, seconds: f64) -> PyResult<bool> {
        if !(seconds > 0.0 && seconds < 1e9) {
            return Err(PyValueError::new_err("expected a number of seconds above zero"));
        }
        let step = Duration::from_nanos((seconds * 1e9).round() as u64);
        let Self { simulation, sink, .. } = self;
        py.detach(|| simulation.advance(simulation.now() + step, sink));
        Ok(!self.simulation.is_over())
    }

    /// Time that has passed, in seconds.
    #[getter]
    fn now(&self) -> f64 {
        (self.simulation.now() - Instant::ZERO).as_secs_f64()
    }

    /// Names of the nodes with a radio, access points included.
    #[getter]
    fn radios(&self) -> Vec<String> {
        let nodes = self.scenario.nodes.iter().filter(|node| node.role.is_wifi());
        nodes.map(|node| node.name.clone()).collect()
    }

    /// Returns the counts of a radio's frames to another one so far.
    ///
    /// Data PPDUs; MPDUs, and of these retransmitted, acknowledged, not acknowledged and
    /// given up; and the seconds on the air.
    #[pyo3(signature = (from, to, /))]
    fn link(&mut self, from: &str, to: &str) -> PyResult<(u64, u64, u64, u64, u64, u64, f64)> {
        let (from, to) = (self.node(from)?, self.node(to)?);
        let stats = self.simulation.hosts().network().link_stats(from, to);
        Ok(stats.map_or_else(Default::default, |link| {
            let airtime = link.data_airtime.as_secs_f64();
            let counts = [link.ppdus, link.mpdus, link.mpdu_retries, link.mpdus_acked];
            let [ppdus, mpdus, retries, acked] = counts;
            (ppdus, mpdus, retries, acked, link.mpdus_failed, link.mpdus_lost, airtime)
        }))
    }

    /// Returns the packets in the queues of a radio and in flight.
    fn queue_packets(&mut self, node: &str) -> PyResult<u32> {
        let node = self.node(node)?;
        Ok(self.simulation.hosts().network().wifi_packets(node))
    }

    /// Returns for each flow its name, packets and bytes that arrived, and the sum of their
    /// delays in seconds.
    ///
    /// Bytes are those of IP packets; delays are one-way.
    fn flows(&self) -> Vec<(String, u64, u64, f64)> {
        let flows = self.scenario.flows.iter().zip(&self.sink.flows);
        let row = |(flow, arrived): (&lasthop_hosts::Flow, &Arrived)| {
            (flow.name.clone(), arrived.packets, arrived.bytes, arrived.delay_ns as f64 / 1e9)
        };
        flows.map(row).collect()
    }

    /// Sets the contention windows of a radio's best-effort traffic in slots, 2^n - 1.
    fn set_contention_window(&mut self, node: &str, cw_min: u16, cw_max: u16) -> PyResult<()> {
        let access_category = AccessCategory::BestEffort;
        self.adjust(node, Adjustment::ContentionWindow { access_category, cw_min, cw_max })
    }

    /// Sets the MCS of all data frames of a radio, at the fastest rate with this MCS.
    fn set_mcs(&mut self, node: &str, mcs: u8) -> PyResult<()> {
        let id = self.node(node)?;
        let station = self.scenario.network.nodes[id.index()].station;
        let cell = self.scenario.network.cell.as_ref();
        let rates =
            station.zip(cell).map(|(id, cell)| &cell.stations[id.index()].capabilities.rates);
        let fastest = |wanted: u8| {
            let of_mcs = |rate: &&Rate| rate.mcs() == Some(wanted);
            rates?.iter().filter(of_mcs).max_by_key(|rate| rate.bitrate()).copied()
        };
        match fastest(mcs) {
            Some(rate) => self.adjust(node, Adjustment::Rate(rate)),
            None => Err(PyValueError::new_err(format!("{node} has no MCS {mcs}"))),
        }
    }

    /// Sets the packet limit of each queue of a radio.
    fn set_queue_packets(&mut self, node: &str, packets: u32) -> PyResult<()> {
        self.adjust(node, Adjustment::QueuePackets(packets))
    }

    /// Sets the target of a radio's CoDel or FQ-CoDel, the acceptable standing delay, in
    /// seconds.
    fn set_queue_target(&mut self, node: &str, seconds: f64) -> PyResult<()> {
        if !(seconds > 0.0 && seconds < 1e6) {
            return Err(PyValueError::new_err("expected a number of seconds above zero"));
        }
        let target = Duration::from_nanos((seconds * 1e9).round() as u64);
        self.adjust(node, Adjustment::QueueTarget(target))
    }
}

//! Findings about TCP: a flow that keeps less in flight than its congestion window allows,
//! although nothing on the way is full. Sizes in segments.

use super::{Finding, Kind, ms};
use lasthop_trace::{FlowKind, FlowSummary, RunDocument};

/// Payload of a full segment with timestamps at an MTU of 1500 bytes.
const SEGMENT_BYTES: f64 = 1_448.0;
/// Congestion window relative to the packets in flight. Linux lets an unused window grow to
/// twice the flight in slow start and no further (tcp_is_cwnd_limited), so that a sender
/// that something else limits ends near two; an application that writes little has more.
const CWND_PER_FLIGHT: [f64; 2] = [1.4, 2.8];
/// Mean time in the queue of the hop above which the hop may be full, in ms.
const QUEUE_MEAN_MS: f64 = 3.0;
/// Share of the time after the warm-up, with transmissions, above which the air may be full.
const AIRTIME: f64 = 0.5;
/// Share of the round trip beyond the wires above which the hop may be full. Below it, other
/// traffic keeps the air busy but leaves airtime.
const HOP: f64 = 0.25;
/// Weight of the finding, which costs throughput but no delay, and its weight on busy air, where
/// other traffic uses the free airtime.
const WEIGHT: f64 = 0.4;
const WEIGHT_BUSY: f64 = 0.2;

/// Bulk transfers that a receive window or a send buffer limits.
pub(super) fn window(run: &RunDocument) -> Option<Finding> {
    let theirs = run.neighbours.values().map(|neighbour| neighbour.airtime_fraction);
    let airtime: f64 = run.nodes.values().map(|node| node.airtime_fraction).chain(theirs).sum();
    let limited = |(name, flow): (&String, &FlowSummary)| {
        let (cwnd, rtt, goodput) = (flow.cwnd_packets?.mean, flow.rtt_ms?.mean, flow.goodput_mbps?);
        let flight_bytes = goodput * 1e6 / 8.0 * rtt / 1e3;
        let flight = flight_bytes / SEGMENT_BYTES;
        let is_bulk = flow.kind == FlowKind::Tcp && flow.application_delay_ms.is_none();
        let is_clean = flow.packets_lost == 0 && flow.retransmissions == Some(0);
        let parts = flow.delay_parts_ms?;
        let is_in_no_queue = parts.queue < QUEUE_MEAN_MS;
        let has_room = airtime <= AIRTIME || rtt - 2.0 * parts.wire <= HOP * rtt;
        let [least, most] = CWND_PER_FLIGHT.map(|ratio| ratio * flight);
        let is_limited = flight >= 1.0 && (least..=most).contains(&cwnd);
        (is_bulk && is_clean && is_in_no_queue && has_room && is_limited)
            .then(|| (name.clone(), goodput, rtt, flight_bytes, cwnd))
    };
    let all: Vec<_> = run.flows.iter().filter_map(limited).collect();
    let (name, goodput, rtt, flight_bytes, cwnd) = all.first()?;
    let more = match all.len() {
        1 => String::new(),
        many => format!(" ({} more flows likewise)", many - 1),
    };
    // The kernel's endpoints have settings of their own.
    let remedy = match run.emulation {
        Some(_) => Vec::new(),
        None => ["receive_window", "send_window"]
            .map(|key| format!("flow.{name}.tcp.{key}=4MiB"))
            .into(),
    };
    Some(Finding {
        kind: Kind::TcpWindow,
        sentence: format!(
            "{name} sends {goodput:.1} Mb/s with {:.0} KiB in flight over a round trip of {}, \
             although its congestion window of {cwnd:.0} segments would allow more, nothing was \
             lost and the hop takes little of it: the receive window or the send buffer limits \
             it{more}",
            flight_bytes / 1024.0,
            ms(*rtt),
        ),
        weight: if airtime <= AIRTIME { WEIGHT } else { WEIGHT_BUSY },
        remedy,
        device: Some(
            "Raise the last number of net.ipv4.tcp_rmem at the receiver and of net.ipv4.tcp_wmem at \
             the sender (sysctl)",
        ),
    })
}

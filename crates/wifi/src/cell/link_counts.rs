//! The counts of devices of several links, and open questions about packets, as `link_record` keeps
//! them. The file knows no other part of the cell.

use super::edcaf::EDCAFS;
use crate::event::PacketLink;
use crate::station::StationId;
use crate::stats::multi_link::{FlowLinkStats, LINKS_MAX, MultiLinkStats};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use lasthop_packet::{FlowId, NodeId, Packet};
use lasthop_units::{Duration, Instant};

/// Number of sequence numbers (9.2.4.4.2).
const SEQUENCE_NUMBERS: u16 = 4_096;

/// Counts and open questions of a cell's devices.
#[derive(Clone, Debug, PartialEq, Default)]
pub(super) struct LinkRecord {
    pub flows: Vec<FlowLinkStats>,
    /// Counts of each device, by its number.
    pub devices: Vec<DeviceRecord>,
    /// Packets in reorder buffers: the station that received each, and when.
    pub buffered: BTreeMap<(u64, u16), (StationId, Instant)>,
    /// Packets whose wait for another link is not known yet.
    pub awaited: Vec<Awaited>,
    /// Links that sent MPDUs first.
    pub first: Vec<FirstLinks>,
}

/// The link on which each MPDU from one device to another was sent first, by its sequence number.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct FirstLinks {
    pub ends: [StationId; 2],
    pub edcaf: usize,
    pub links: Vec<u8>,
}

/// Counts of a device.
#[derive(Clone, Debug, PartialEq, Default)]
pub(super) struct DeviceRecord {
    pub stats: MultiLinkStats,
    /// State of each access category since its last change.
    pub states: [QueueState; EDCAFS],
    pub request: Option<RadioRequest>,
}

/// Whether packets wait in an access category of a device, and the reason for which each link is
/// idle.
#[derive(Clone, Debug, PartialEq, Default)]
pub(super) struct QueueState {
    pub since: Instant,
    pub is_queued: bool,
    pub idle: [Option<Idle>; LINKS_MAX],
}

/// Reason for which a link neither contends nor sends although packets wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Idle {
    Window,
    Engaged,
    Barred,
}

/// An initial control frame, or another RTS that a device of several links needs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct RadioRequest {
    pub by: StationId,
    pub since: Instant,
    pub padding: Duration,
    pub packets: u64,
}

/// Packets of a flow in an exchange that begins.
#[derive(Clone, Debug)]
pub(super) struct FirstInLine {
    pub flow: FlowId,
    pub source: NodeId,
    /// Index among [`LinkRecord::flows`].
    pub entry: usize,
    pub packets: u64,
    /// Sum of the instants from which they were first in line.
    pub eligible_nanos: u128,
    /// Each of them, if events are kept.
    pub kept: Vec<PacketLink>,
}

/// Packets of a flow that one link took, and that another link would have taken later.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Awaited {
    /// Station of the sender on the other link.
    pub other: StationId,
    pub edcaf: usize,
    /// Index among [`LinkRecord::flows`].
    pub entry: usize,
    pub packets: u64,
    /// Sums of the instants from which they were first in line, and at which the link that took them
    /// gained its channel.
    pub eligible_nanos: u128,
    pub begun_nanos: u128,
    /// The latest of the latter.
    pub begun: Instant,
    /// Each of them, if events are kept.
    pub kept: Vec<PacketLink>,
}

impl LinkRecord {
    pub fn new(devices: usize) -> Self {
        Self { devices: alloc::vec![DeviceRecord::default(); devices], ..Self::default() }
    }

    /// Index of the counts of a packet's flow on a link between two devices.
    pub fn entry(&mut self, packet: &Packet, ends: [StationId; 2], link: u8) -> usize {
        let Packet { flow, source, .. } = *packet;
        let is_its = |it: &FlowLinkStats| {
            (it.flow, it.source, it.link) == (flow, source, link) && [it.from, it.to] == ends
        };
        self.flows.iter().position(is_its).unwrap_or_else(|| {
            self.flows.push(FlowLinkStats::new(flow, source, ends, link));
            self.flows.len() - 1
        })
    }

    /// Links on which the MPDUs from one device to another were sent first.
    pub fn first_links(&mut self, ends: [StationId; 2], edcaf: usize) -> &mut [u8] {
        let is_its = |it: &FirstLinks| (it.ends, it.edcaf) == (ends, edcaf);
        let index = self.first.iter().position(is_its).unwrap_or_else(|| {
            let links = alloc::vec![0; usize::from(SEQUENCE_NUMBERS)];
            self.first.push(FirstLinks { ends, edcaf, links });
            self.first.len() - 1
        });
        &mut self.first[index].links
    }

    /// Counts the time until `now` in the present state of a device.
    pub fn pass(&mut self, now: Instant, device: usize, edcaf: usize) -> &mut QueueState {
        let DeviceRecord { stats, states, .. } = &mut self.devices[device];
        let state = &mut states[edcaf];
        let passed = now.saturating_since(core::mem::replace(&mut state.since, now));
        if state.is_queued {
            stats.queued += passed;
            for (idle, counted) in state.idle.iter().zip(&mut stats.idle) {
                match idle {
                    Some(Idle::Window) => counted.window += passed,
                    Some(Idle::Engaged) => counted.engaged += passed,
                    Some(Idle::Barred) => counted.barred += passed,
                    None => {}
                }
            }
        }
        state
    }

    /// Ends the request to device `device` of an exchange of `by`.
    pub fn requested(&mut self, now: Instant, device: usize, by: StationId, is_answered: bool) {
        let DeviceRecord { stats, request, .. } = &mut self.devices[device];
        let Some(request) = request.take_if(|request| request.by == by) else { return };
        let took = now.saturating_since(request.since);
        let switching = &mut stats.switching;
        switching.requests += 1;
        switching.requesting += took;
        switching.padding += request.padding;
        if is_answered {
            switching.packets += request.packets;
            switching.packets_requesting += took * request.packets;
        } else {
            switching.unanswered += 1;
        }
    }

    /// Counts an exchange of a device of one radio, and its return to all links.
    pub fn released(&mut self, device: usize, engaged: Duration, transition: Duration) {
        let switching = &mut self.devices[device].stats.switching;
        switching.engaged += engaged;
        switching.transition += transition;
    }
}

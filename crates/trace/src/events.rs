//! Writes `events.parquet`: one row for each packet that was sent, arrived or was lost,
//! and for each event of the cell, round trip and reading of a TCP sender, in the order
//! of the reports. Units are in the names of the columns, which `docs/files.md`
//! describes; a test compares.

pub(crate) mod history;
pub(crate) mod read;

use crate::names::Names;
use crate::output::OutputError;
use crate::table::{Columns, Destination, Kind, Row, Table, Word, columns};
use crate::value::LossReason;
use lasthop_hosts::TcpSample;
use lasthop_packet::{DropReason, FlowId, NodeId, Packet};
use lasthop_units::{Duration, Instant};
use lasthop_wifi::event::{
    Event, FrameKind, PacketLink, PowerState, Ppdu, Psdu, RoamStep, SwitchStep,
};
use lasthop_wifi::mac::roam::frame::RoamFrame;
use lasthop_wifi::phy::{GuardInterval, Preamble, Rate};
use lasthop_wifi::{Address, StationId};

columns! {
    AT "at_ns" Int64,
    KIND "kind" Text,
    NODE "node" Text,
    PEER "peer" Text,
    FLOW "flow" Text,
    TAG "tag" Int64,
    BYTES "bytes" Int32,
    REASON "reason" Text,
    QUEUE_PACKETS "queue_packets" Int32,
    FRAME "frame" Text,
    DURATION "duration_ns" Int64,
    RATE "rate_kbps" Int64,
    RATE_NAME "rate" Text,
    MPDUS "mpdus" Int32,
    RETRIES "retries" Int32,
    RECEIVED "received" Int32,
    SEQUENCE "sequence" Int32,
    SIGNAL "signal_dbm" Double,
    COLLIDED "collided" Bool,
    TID "tid" Int32,
    RTT "rtt_ns" Int64,
    CWND "cwnd_packets" Int32,
    DELAY "delay_ns" Int64,
    PART_QUEUE "queue_ns" Int64,
    PART_AWAY "away_ns" Int64,
    PART_ASLEEP "asleep_ns" Int64,
    PART_CONTENTION "contention_ns" Int64,
    PART_RETRIES "retries_ns" Int64,
    PART_REORDER "reorder_ns" Int64,
    PART_AIR "air_ns" Int64,
    PART_WIRE "wire_ns" Int64,
    // The last one: only runs with roaming nodes have it.
    PART_ROAM "roam_ns" Int64,
}

/// Last column of runs with devices of several links, if no node roams: a row has no more than
/// these.
const LINK: usize = PART_ROAM;
pub(crate) const LINK_COLUMN: (&str, Kind) = ("link", Kind::Text);

/// The writer of `events.parquet`.
pub(crate) struct EventsWriter {
    table: Table,
    nodes: Vec<Word>,
    /// Name of the node of each station.
    stations: Vec<Word>,
    flows: Vec<Word>,
    rates: Vec<(Rate, Word)>,
    words: Words,
    has_roam: bool,
    /// Link of each station, if the table has it; else empty.
    links: Vec<Word>,
}

/// Texts of cells that do not depend on the run, made once.
struct Words {
    sent: Word,
    arrived: Word,
    lost: Word,
    queued: Word,
    dropped: Word,
    delivered: Word,
    ppdu: Word,
    block_ack_established: Word,
    block_ack_ended: Word,
    rate_changed: Word,
    awake: Word,
    off_channel: Word,
    pseudo_retry_out: Word,
    dozing: Word,
    round_trip: Word,
    tcp: Word,
    group: Word,
    unknown: Word,
    reasons: [Word; LossReason::ALL.len()],
    frames: Vec<(&'static str, Word)>,
}

impl EventsWriter {
    pub(crate) fn new(
        destination: impl Into<Destination>,
        names: &Names,
    ) -> Result<Self, OutputError> {
        let has_links = !names.links.is_empty() && !names.roams;
        let mut columns = COLUMNS[..COLUMNS.len() - usize::from(!names.roams)].to_vec();
        columns.extend(has_links.then_some(LINK_COLUMN));
        let metadata = [("lasthop.schema", "events 2".into())];
        let mut table = Table::new(destination, &columns, &metadata)?;
        let link_of = |number: &u8| {
            table.word(names.links.get(usize::from(*number)).map_or("?", |name| name))
        };
        let links =
            if has_links { names.link_of.iter().map(link_of).collect() } else { Vec::new() };
        let nodes: Vec<Word> = names.nodes.iter().map(|node| table.word(&node.name)).collect();
        let flows = names.flows.iter().map(|flow| table.word(&flow.name)).collect();
        let words = Words::new(&mut table);
        Ok(Self {
            links,
            stations: names.stations.iter().map(|node| name(&nodes, *node, &words)).collect(),
            nodes,
            flows,
            rates: Vec::new(),
            words,
            has_roam: names.roams,
            table,
        })
    }

    /// Completes the table; returns it if it is in memory.
    pub(crate) fn finish(self) -> Result<Option<Columns>, OutputError> {
        self.table.finish()
    }

    /// Adds the name of the flow that has the next number.
    pub(crate) fn program_flow(&mut self, name: &str) {
        self.flows.push(self.table.word(name));
    }

    pub(crate) fn sent(&mut self, now: Instant, packet: &Packet) -> Result<(), OutputError> {
        let mut row = self.table.row()?;
        row.int64(AT, now.as_nanos()).text(KIND, self.words.sent);
        row.text(NODE, name(&self.nodes, packet.source, &self.words));
        row.text(PEER, name(&self.nodes, packet.destination, &self.words));
        packet_columns(&mut row, packet, &self.flows);
        Ok(())
    }

    pub(crate) fn arrived(
        &mut self,
        now: Instant,
        node: NodeId,
        packet: &Packet,
    ) -> Result<(), OutputError> {
        let mut row = self.table.row()?;
        row.int64(AT, now.as_nanos()).text(KIND, self.words.arrived);
        row.text(NODE, name(&self.nodes, node, &self.words));
        row.text(PEER, name(&self.nodes, packet.source, &self.words));
        packet_columns(&mut row, packet, &self.flows);
        delay_columns(&mut row, now, packet, self.has_roam);
        Ok(())
    }

    pub(crate) fn lost(
        &mut self,
        now: Instant,
        node: NodeId,
        packet: &Packet,
        reason: DropReason,
    ) -> Result<(), OutputError> {
        let mut row = self.table.row()?;
        row.int64(AT, now.as_nanos()).text(KIND, self.words.lost);
        row.text(NODE, name(&self.nodes, node, &self.words));
        row.text(REASON, self.words.reasons[LossReason::from(reason).index()]);
        packet_columns(&mut row, packet, &self.flows);
        Ok(())
    }

    pub(crate) fn round_trip(
        &mut self,
        now: Instant,
        flow: FlowId,
        rtt: Duration,
    ) -> Result<(), OutputError> {
        let mut row = self.table.row()?;
        row.int64(AT, now.as_nanos()).text(KIND, self.words.round_trip);
        flow_column(&mut row, flow, &self.flows);
        row.int64(RTT, rtt.as_nanos());
        Ok(())
    }

    pub(crate) fn tcp(
        &mut self,
        now: Instant,
        flow: FlowId,
        sample: &TcpSample,
    ) -> Result<(), OutputError> {
        let mut row = self.table.row()?;
        row.int64(AT, now.as_nanos()).text(KIND, self.words.tcp);
        flow_column(&mut row, flow, &self.flows);
        row.int64(RTT, sample.latest_rtt.as_nanos()).int32(CWND, int(sample.cwnd_packets));
        Ok(())
    }

    pub(crate) fn event(&mut self, event: &Event) -> Result<(), OutputError> {
        match event {
            Event::Queued { at, station, packet, queue_packets } => {
                let mut row = self.table.row()?;
                row.int64(AT, at.as_nanos()).text(KIND, self.words.queued);
                row.text(NODE, station_name(&self.stations, *station, &self.words));
                row.int32(QUEUE_PACKETS, int(*queue_packets));
                packet_columns(&mut row, packet, &self.flows);
            }
            Event::Dropped { at, station, packet, reason } => {
                let mut row = self.table.row()?;
                row.int64(AT, at.as_nanos()).text(KIND, self.words.dropped);
                row.text(NODE, station_name(&self.stations, *station, &self.words));
                row.text(REASON, self.words.reasons[LossReason::from(*reason).index()]);
                packet_columns(&mut row, packet, &self.flows);
            }
            Event::Delivered { at, station, packet } => {
                let mut row = self.table.row()?;
                row.int64(AT, at.as_nanos()).text(KIND, self.words.delivered);
                row.text(NODE, station_name(&self.stations, *station, &self.words));
                packet_columns(&mut row, packet, &self.flows);
                delay_columns(&mut row, *at, packet, self.has_roam);
                link_column(&mut row, *station, &self.links);
            }
            Event::Link(choice) if self.links.is_empty() => {
                debug_assert!(self.has_roam, "devices of several links have names: {choice:?}");
            }
            Event::Link(choice) => {
                let PacketLink { at, station, peer, flow, tag, bytes, waited, is_taken } = *choice;
                let kind = self.table.word(if is_taken { "link" } else { "other_link" });
                let mut row = self.table.row()?;
                row.int64(AT, at.as_nanos()).text(KIND, kind);
                row.text(NODE, station_name(&self.stations, station, &self.words));
                row.text(PEER, station_name(&self.stations, peer, &self.words));
                flow_column(&mut row, flow, &self.flows);
                row.int64(TAG, tag).int32(BYTES, i32::from(bytes));
                row.int64(PART_CONTENTION, waited.as_nanos());
                link_column(&mut row, station, &self.links);
            }
            Event::Ppdu(ppdu) => {
                return ppdu.psdus.iter().try_for_each(|psdu| self.psdu(ppdu, psdu));
            }
            Event::BlockAckAgreement { at, originator, recipient, tid, established } => {
                let kind = if *established {
                    self.words.block_ack_established
                } else {
                    self.words.block_ack_ended
                };
                let mut row = self.table.row()?;
                row.int64(AT, at.as_nanos()).text(KIND, kind).int32(TID, i32::from(*tid));
                row.text(NODE, station_name(&self.stations, *originator, &self.words));
                row.text(PEER, station_name(&self.stations, *recipient, &self.words));
            }
            Event::PseudoRetryOut {
                at,
                station,
                peer,
                tid,
                sequence,
                retransmissions,
                smoothed_kbps,
            } => {
                let mut row = self.table.row()?;
                row.int64(AT, at.as_nanos()).text(KIND, self.words.pseudo_retry_out);
                row.text(NODE, station_name(&self.stations, *station, &self.words));
                row.text(PEER, station_name(&self.stations, *peer, &self.words));
                row.int32(TID, i32::from(*tid)).int32(SEQUENCE, i32::from(sequence.as_u16()));
                row.int32(RETRIES, i32::from(*retransmissions));
                row.int64(RATE, u64::from(*smoothed_kbps));
            }
            Event::RateChanged { at, station, peer, rate } => {
                let index = self.rate(*rate);
                let mut row = self.table.row()?;
                row.int64(AT, at.as_nanos()).text(KIND, self.words.rate_changed);
                row.text(NODE, station_name(&self.stations, *station, &self.words));
                row.text(PEER, station_name(&self.stations, *peer, &self.words));
                row.int64(RATE, rate.bitrate().as_bps() / 1_000);
                row.text(RATE_NAME, self.rates[index].1);
            }
            Event::Power { at, station, state } => {
                let kind = match state {
                    PowerState::Awake => self.words.awake,
                    PowerState::OffChannel => self.words.off_channel,
                    PowerState::Dozing => self.words.dozing,
                };
                let mut row = self.table.row()?;
                row.int64(AT, at.as_nanos()).text(KIND, kind);
                row.text(NODE, station_name(&self.stations, *station, &self.words));
                link_column(&mut row, *station, &self.links);
            }
            Event::Roam { at, station, access_point, step } => {
                let [kind, step] = ["roam", step_name(*step)].map(|text| self.table.word(text));
                let mut row = self.table.row()?;
                row.int64(AT, at.as_nanos()).text(KIND, kind).text(REASON, step);
                row.text(NODE, station_name(&self.stations, *station, &self.words));
                row.text(PEER, station_name(&self.stations, *access_point, &self.words));
            }
            Event::ChannelSwitch { at, station, access_point, step, to: _ } => {
                let [kind, step] =
                    ["channel_switch", switch_step_name(*step)].map(|text| self.table.word(text));
                let mut row = self.table.row()?;
                row.int64(AT, at.as_nanos()).text(KIND, kind).text(REASON, step);
                row.text(NODE, station_name(&self.stations, *station, &self.words));
                row.text(PEER, station_name(&self.stations, *access_point, &self.words));
            }
        }
        Ok(())
    }

    /// Appends a row for the PPDU's PSDU to one receiver.
    fn psdu(&mut self, ppdu: &Ppdu, psdu: &Psdu) -> Result<(), OutputError> {
        let rate = self.rate(psdu.rate);
        let frames = &psdu.frames;
        let of_join = match frames.first().map(|frame| frame.kind) {
            Some(kind @ FrameKind::Roam { .. }) => Some(self.table.word(frame_name(kind))),
            _ => None,
        };
        let mut row = self.table.row()?;
        row.int64(AT, ppdu.start.as_nanos()).text(KIND, self.words.ppdu);
        row.int64(DURATION, ppdu.end.saturating_since(ppdu.start).as_nanos());
        row.text(NODE, station_name(&self.stations, ppdu.transmitter, &self.words));
        row.text(
            PEER,
            match psdu.receiver {
                Address::Station(receiver) => station_name(&self.stations, receiver, &self.words),
                Address::Group => self.words.group,
            },
        );
        row.int32(BYTES, int(psdu.bytes));
        row.int64(RATE, psdu.rate.bitrate().as_bps() / 1_000).text(RATE_NAME, self.rates[rate].1);
        row.int32(MPDUS, frames.len() as i32);
        row.int32(RETRIES, frames.iter().filter(|frame| frame.retry).count() as i32);
        row.int32(RECEIVED, frames.iter().filter(|frame| frame.received).count() as i32);
        row.double(SIGNAL, psdu.signal.0).bool(COLLIDED, psdu.collided);
        link_column(&mut row, ppdu.transmitter, &self.links);
        let Some(first) = frames.first() else { return Ok(()) };
        let name = of_join.unwrap_or_else(|| self.words.frame(frame_name(first.kind)));
        row.text(FRAME, name);
        if has_sequence(first.kind) {
            row.int32(SEQUENCE, i32::from(first.sequence.as_u16()));
        }
        if let Some(tid) = frame_tid(first.kind) {
            row.int32(TID, i32::from(tid));
        }
        if let Some(packet) = first.packets.first() {
            flow_column(&mut row, packet.flow, &self.flows);
        }
        Ok(())
    }

    /// Returns the index of the rate's name in `rates`, where it is added if necessary.
    fn rate(&mut self, rate: Rate) -> usize {
        self.rates.iter().position(|(known, _)| *known == rate).unwrap_or_else(|| {
            self.rates.push((rate, self.table.word(&rate_name(rate))));
            self.rates.len() - 1
        })
    }
}

impl Words {
    fn new(table: &mut Table) -> Self {
        let mut text = |text: &str| table.word(text);
        Self {
            sent: text("sent"),
            arrived: text("arrived"),
            lost: text("lost"),
            queued: text("queued"),
            dropped: text("dropped"),
            delivered: text("delivered"),
            ppdu: text("ppdu"),
            block_ack_established: text("block_ack_established"),
            block_ack_ended: text("block_ack_ended"),
            rate_changed: text("rate_changed"),
            awake: text("awake"),
            off_channel: text("off_channel"),
            pseudo_retry_out: text("pseudo_retry_out"),
            dozing: text("dozing"),
            round_trip: text("round_trip"),
            tcp: text("tcp"),
            group: text("*"),
            unknown: text("?"),
            reasons: LossReason::ALL.map(|reason| text(reason.as_str())),
            frames: FRAME_NAMES.iter().map(|&name| (name, text(name))).collect(),
        }
    }

    fn frame(&self, name: &'static str) -> Word {
        self.frames.iter().find(|(known, _)| *known == name).map_or(self.unknown, |(_, word)| *word)
    }
}

/// The name of a node; `*` for all nodes, `?` for an index without a node.
fn name(nodes: &[Word], node: NodeId, words: &Words) -> Word {
    match node {
        Packet::EVERYWHERE => words.group,
        node => nodes.get(node.index()).copied().unwrap_or(words.unknown),
    }
}

fn station_name(stations: &[Word], station: StationId, words: &Words) -> Word {
    stations.get(station.index()).copied().unwrap_or(words.unknown)
}

#[inline]
fn packet_columns(row: &mut Row<'_>, packet: &Packet, flows: &[Word]) {
    flow_column(row, packet.flow, flows);
    row.int64(TAG, packet.tag).int32(BYTES, i32::from(packet.bytes));
}

#[inline]
fn flow_column(row: &mut Row<'_>, flow: FlowId, flows: &[Word]) {
    if let Some(flow) = flows.get(usize::from(flow.0)) {
        row.text(FLOW, *flow);
    }
}

/// Sets the link of a station, if the table has links.
#[inline]
fn link_column(row: &mut Row<'_>, station: StationId, links: &[Word]) {
    if let Some(link) = links.get(station.index()) {
        row.text(LINK, *link);
    }
}

#[inline]
fn delay_columns(row: &mut Row<'_>, now: Instant, packet: &Packet, has_roam: bool) {
    let parts = &packet.parts;
    let numbers = [
        (DELAY, now.saturating_since(packet.created)),
        (PART_QUEUE, parts.queue),
        (PART_AWAY, parts.absent.away()),
        (PART_ASLEEP, parts.absent.asleep()),
        (PART_CONTENTION, parts.contention),
        (PART_RETRIES, parts.retries),
        (PART_REORDER, parts.reorder),
        (PART_AIR, parts.air),
        (PART_WIRE, parts.wire),
    ];
    debug_assert!(numbers.iter().zip(DELAY..).all(|((column, _), place)| *column == place));
    row.int64s(DELAY, numbers.map(|(_, time)| time.as_nanos()));
    if has_roam {
        row.int64(PART_ROAM, packet.parts.absent.roam().as_nanos());
    }
}

/// Converts a count. Queues and aggregates have far fewer than 2^31 elements.
fn int(count: u32) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}

const FRAME_NAMES: [&str; 26] = [
    "data",
    "qos_data",
    "null",
    "qos_null",
    "ack",
    "block_ack",
    "block_ack_request",
    "mu_block_ack_request",
    "basic_trigger",
    "buffer_status_report_poll",
    "multi_station_block_ack",
    "ndp_announcement",
    "beamforming_report_poll",
    "beamforming_report_trigger",
    "beamforming_report",
    "rts",
    "mu_rts",
    "cts",
    "ps_poll",
    "beacon",
    "probe_request",
    "probe_response",
    "addba_request",
    "addba_response",
    "operating_mode",
    "delba",
];

pub(crate) fn frame_name(kind: FrameKind) -> &'static str {
    match kind {
        FrameKind::Data => "data",
        FrameKind::QosData { .. } => "qos_data",
        FrameKind::Null { .. } => "null",
        FrameKind::QosNull { .. } => "qos_null",
        FrameKind::Ack => "ack",
        FrameKind::BlockAck { .. } => "block_ack",
        FrameKind::BlockAckRequest { .. } => "block_ack_request",
        FrameKind::MuBlockAckRequest { .. } => "mu_block_ack_request",
        FrameKind::BasicTrigger { .. } => "basic_trigger",
        FrameKind::BufferStatusReportPoll { .. } => "buffer_status_report_poll",
        FrameKind::MultiStationBlockAck => "multi_station_block_ack",
        FrameKind::NdpAnnouncement { .. } => "ndp_announcement",
        FrameKind::BeamformingReportPoll => "beamforming_report_poll",
        FrameKind::BeamformingReportTrigger { .. } => "beamforming_report_trigger",
        FrameKind::BeamformingReport { .. } => "beamforming_report",
        FrameKind::Rts => "rts",
        FrameKind::MuRts { .. } => "mu_rts",
        FrameKind::Cts => "cts",
        FrameKind::PsPoll { .. } => "ps_poll",
        FrameKind::Beacon { .. } => "beacon",
        FrameKind::ProbeRequest { .. } => "probe_request",
        FrameKind::ProbeResponse => "probe_response",
        FrameKind::AddbaRequest { .. } => "addba_request",
        FrameKind::AddbaResponse { .. } => "addba_response",
        FrameKind::Roam { frame, .. } => roam_frame_name(frame),
        FrameKind::OperatingMode { .. } => "operating_mode",
        FrameKind::Delba { .. } => "delba",
    }
}

/// Name of a frame of a join.
const fn roam_frame_name(frame: RoamFrame) -> &'static str {
    match frame {
        RoamFrame::Authentication { .. } => "authentication",
        RoamFrame::AssociationRequest { again: false } => "association_request",
        RoamFrame::AssociationRequest { again: true } => "reassociation_request",
        RoamFrame::AssociationResponse { again: false, .. } => "association_response",
        RoamFrame::AssociationResponse { again: true, .. } => "reassociation_response",
        RoamFrame::Handshake { .. } => "eapol_key",
        RoamFrame::Deauthentication { .. } => "deauthentication",
        RoamFrame::Disassociation { .. } => "disassociation",
        RoamFrame::NeighborReportRequest => "neighbor_report_request",
        RoamFrame::NeighborReportResponse => "neighbor_report_response",
        RoamFrame::TransitionQuery => "transition_query",
        RoamFrame::TransitionRequest { .. } => "transition_request",
        RoamFrame::TransitionResponse { .. } => "transition_response",
        RoamFrame::FtRequest | RoamFrame::FtResponse { .. } | RoamFrame::ChannelSwitch => "action",
    }
}

/// Name of a step of a roam.
const fn step_name(step: RoamStep) -> &'static str {
    match step {
        RoamStep::Left => "left",
        RoamStep::Authenticated => "authenticated",
        RoamStep::Associated => "associated",
        RoamStep::Joined => "joined",
        RoamStep::Failed => "failed",
        RoamStep::Lost => "lost",
        RoamStep::Reported => "reported",
        RoamStep::Unreported => "unreported",
        RoamStep::Requested => "requested",
        RoamStep::Accepted => "accepted",
        RoamStep::Refused => "refused",
        RoamStep::Removed => "removed",
    }
}

/// Name of a step of a move to another channel.
const fn switch_step_name(step: SwitchStep) -> &'static str {
    match step {
        SwitchStep::Ordered => "ordered",
        SwitchStep::Heard => "heard",
        SwitchStep::Moved => "moved",
        SwitchStep::Checking => "checking",
        SwitchStep::Checked => "checked",
        SwitchStep::Followed => "followed",
    }
}

fn frame_tid(kind: FrameKind) -> Option<u8> {
    match kind {
        FrameKind::QosData { access_category, .. }
        | FrameKind::BasicTrigger { access_category, .. } => Some(access_category.tid()),
        FrameKind::BlockAck { tid, .. }
        | FrameKind::BlockAckRequest { tid, .. }
        | FrameKind::MuBlockAckRequest { tid, .. }
        | FrameKind::AddbaRequest { tid, .. }
        | FrameKind::AddbaResponse { tid, .. }
        | FrameKind::Delba { tid } => Some(tid),
        _ => None,
    }
}

fn has_sequence(kind: FrameKind) -> bool {
    !matches!(
        kind,
        FrameKind::Ack
            | FrameKind::BlockAck { .. }
            | FrameKind::BlockAckRequest { .. }
            | FrameKind::MuBlockAckRequest { .. }
            | FrameKind::BasicTrigger { .. }
            | FrameKind::BufferStatusReportPoll { .. }
            | FrameKind::MultiStationBlockAck
            | FrameKind::NdpAnnouncement { .. }
            | FrameKind::BeamformingReportPoll
            | FrameKind::BeamformingReportTrigger { .. }
            | FrameKind::Rts
            | FrameKind::MuRts { .. }
            | FrameKind::Cts
            | FrameKind::PsPoll { .. }
    )
}

/// The name of a rate, such as `HT MCS 7 20MHz 800ns`, `OFDM 24Mb/s` or
/// `DSSS 11Mb/s long`; `VHT MCS 9 2SS 80MHz 400ns`, `HE MCS 0 1SS 20MHz 2xLTF+0.8us
/// DCM`, `HE-ER MCS 0 106 tones 4xLTF+3.2us`, `EHT MCS 13 2SS 320MHz 2xLTF+0.8us`.
pub(crate) fn rate_name(rate: Rate) -> String {
    let bitrate = rate.bitrate();
    match rate {
        Rate::Dsss { preamble: Preamble::Long, .. } => format!("DSSS {bitrate} long"),
        Rate::Dsss { preamble: Preamble::Short, .. } => format!("DSSS {bitrate} short"),
        Rate::Ofdm(_) => format!("OFDM {bitrate}"),
        Rate::ErpOfdm(_) => format!("ERP-OFDM {bitrate}"),
        Rate::Ht { mcs, width, guard_interval } => {
            format!("HT MCS {mcs} {width} {}", nanoseconds(guard_interval))
        }
        Rate::Vht { mcs, streams, width, guard_interval } => {
            format!("VHT MCS {mcs} {streams}SS {width} {}", nanoseconds(guard_interval))
        }
        Rate::He { mcs, streams, width, guard_interval, dcm } => {
            let dcm = if dcm { " DCM" } else { "" };
            format!("HE MCS {mcs} {streams}SS {width} {guard_interval}{dcm}")
        }
        Rate::HeExtendedRange { mcs, tones, guard_interval, dcm } => {
            let dcm = if dcm { " DCM" } else { "" };
            format!("HE-ER MCS {mcs} {tones} tones {guard_interval}{dcm}")
        }
        Rate::Eht { mcs, streams, width, guard_interval, puncturing } => {
            let part = match puncturing.value() {
                0 => String::new(),
                value => format!(" punctured {value}"),
            };
            format!("EHT MCS {mcs} {streams}SS {width} {guard_interval}{part}")
        }
    }
}

fn nanoseconds(guard_interval: GuardInterval) -> &'static str {
    match guard_interval {
        GuardInterval::Long => "800ns",
        GuardInterval::Short => "400ns",
    }
}

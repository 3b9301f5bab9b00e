//! Events of a cell: packets that are queued, delivered or dropped, PPDUs, and changes between two
//! stations. A cell records them only if it is configured to; a driver passes them to its sink, and
//! `trace` writes them to files. Instants are those of the cell's clock. Lengths are in bytes, FCS
//! included.

use crate::mac::block_ack::Bitmap;
use crate::mac::channel_switch::Announcement;
use crate::mac::roam::frame::{JoinFacts, RoamFrame};
use crate::phy::{ChannelWidth, Feedback, HeGuardInterval, OperatingMode, Rate, Ru, Subchannel};
use crate::station::{Address, StationId};
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ops::Deref;
use lasthop_packet::{AccessCategory, DropReason, FlowId, Packet};
use lasthop_units::{Dbm, Duration, Instant, SeqNo12};

/// An event of a cell.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A packet entered a station's queue.
    Queued {
        /// The instant at which it was queued.
        at: Instant,
        /// The station that will send it.
        station: StationId,
        /// The packet as it was queued.
        packet: Packet,
        /// Number of packets that the station holds for this access category, this one included.
        queue_packets: u32,
    },
    /// A station gave up a packet.
    Dropped {
        /// The instant at which it was given up.
        at: Instant,
        /// The station that held the packet, or rejected it.
        station: StationId,
        /// The packet, its delay parts as of its last receiver.
        packet: Packet,
        /// The reason of the drop.
        reason: DropReason,
    },
    /// A packet left the hop at `station`.
    Delivered {
        /// The instant at which the reorder buffer released it.
        at: Instant,
        /// The station that received it.
        station: StationId,
        /// The packet, its [`DelayParts`](lasthop_packet::DelayParts) up to date.
        packet: Packet,
    },
    /// A PPDU was on the air; the event comes at its end.
    Ppdu(Ppdu),
    /// A Block Ack agreement came into force or ended.
    BlockAckAgreement {
        /// The instant of the change at the originator.
        at: Instant,
        /// The station that sends data under the agreement.
        originator: StationId,
        /// The station that acknowledges them.
        recipient: StationId,
        /// Traffic identifier (TID), 0 to 7.
        tid: u8,
        /// `true` if the agreement came into force.
        established: bool,
    },
    /// A receiver gave up an erroneous MPDU (pseudo retry-out): it is ignored if it arrives later.
    PseudoRetryOut {
        /// The instant of the erroneous reception.
        at: Instant,
        /// The station that received the MPDU and gave it up.
        station: StationId,
        /// The station that sent it.
        peer: StationId,
        /// Traffic identifier (TID), 0 to 7.
        tid: u8,
        /// Sequence number of the MPDU.
        sequence: SeqNo12,
        /// Number of its retransmissions, by the receiver's count of errors.
        retransmissions: u8,
        /// The smoothed data rate, in kb/s.
        smoothed_kbps: u32,
    },
    /// Rate control moved to another main rate.
    RateChanged {
        /// The instant at which a PPDU is built with the new rate.
        at: Instant,
        /// The station with the rate control.
        station: StationId,
        /// The station to which it sends.
        peer: StationId,
        /// The new main rate.
        rate: Rate,
    },
    /// A station becomes reachable, or unreachable.
    Power {
        /// The instant of the change.
        at: Instant,
        /// The station that changed.
        station: StationId,
        /// State of the station from then on.
        state: PowerState,
    },
    /// A station changes its access point.
    Roam {
        /// The instant of the step.
        at: Instant,
        /// The station that roams.
        station: StationId,
        /// The access point that it joins, or has lost.
        access_point: StationId,
        /// The step.
        step: RoamStep,
    },
    /// An access point moves to another channel, or a station follows it.
    ChannelSwitch {
        /// The instant of the step.
        at: Instant,
        /// The access point, or the station.
        station: StationId,
        /// The access point.
        access_point: StationId,
        /// The step.
        step: SwitchStep,
        /// The new primary channel.
        to: Subchannel,
    },
    /// A link of a device takes a packet first, or would have taken it later. The latter comes when
    /// the link would have gained its channel.
    Link(PacketLink),
}

/// A packet and a link of its device: the one that takes it first, or another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketLink {
    /// The instant at which the link that takes the packet gains its channel.
    pub at: Instant,
    /// The station of the device on this link.
    pub station: StationId,
    /// The station to which the packet goes.
    pub peer: StationId,
    /// Flow of the packet.
    pub flow: FlowId,
    /// Tag of the packet.
    pub tag: u64,
    /// Length of the packet in bytes.
    pub bytes: u16,
    /// Time since the packet was first in line until this link gains its channel, or would.
    pub waited: Duration,
    /// Whether this link takes the packet.
    pub is_taken: bool,
}

/// Step of an access point's move to another channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SwitchStep {
    /// The access point is to move.
    Ordered,
    /// A station heard an announcement, and will follow.
    Heard,
    /// The access point, or a station that follows, is on the new channel.
    Moved,
    /// The access point is on the new channel, and listens for radar.
    Checking,
    /// The access point heard no radar, and sends.
    Checked,
    /// A station heard its access point on the new channel.
    Followed,
}

/// Step of a station that changes its access point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoamStep {
    /// The station left its access point for this one, on whose channel it is.
    Left,
    /// Authentication is complete.
    Authenticated,
    /// Association is complete.
    Associated,
    /// Data may flow.
    Joined,
    /// This access point did not answer.
    Failed,
    /// This access point, its own, is gone.
    Lost,
    /// This access point, its own, has listed the others in a neighbor report.
    Reported,
    /// It has not within the time for it.
    Unreported,
    /// The station is asked to go to this access point.
    Requested,
    /// It has agreed to go to it.
    Accepted,
    /// It has refused to go to it.
    Refused,
    /// This access point, its own, has removed it.
    Removed,
}

/// Whether a station can be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PowerState {
    /// The station listens on the channel of the cell.
    Awake,
    /// The station is on another channel, looking for access points.
    OffChannel,
    /// The station's radio is off to save power.
    Dozing,
}

/// One PPDU as it was on the air.
#[derive(Clone, Debug, PartialEq)]
pub struct Ppdu {
    /// Start of the first symbol of the preamble.
    pub start: Instant,
    /// End of the last symbol (signal extension included).
    pub end: Instant,
    /// The station that sent it.
    pub transmitter: StationId,
    /// The PSDU of each receiver: one, or several in an HE MU or VHT MU PPDU. An NDP has one PSDU
    /// without frames.
    pub psdus: Vec<Psdu>,
}

/// The PSDU of a PPDU for one of its receivers.
#[derive(Clone, Debug, PartialEq)]
pub struct Psdu {
    /// The station that it is addressed to, or the group.
    pub receiver: Address,
    /// Data rate; with a resource unit, that of the modulation, code and streams on the whole
    /// channel.
    pub rate: Rate,
    /// Resource unit of the PSDU, in an HE MU or trigger-based PPDU.
    pub ru: Option<Ru>,
    /// Length in bytes.
    pub bytes: u32,
    /// Whether the MPDUs are A-MPDU subframes.
    pub aggregated: bool,
    /// MPDUs of the PSDU in order.
    pub frames: Vec<Frame>,
    /// Power at the receiver. For group frames it is the power at the access point, or for the
    /// access point's own frames its transmit power.
    pub signal: Dbm,
    /// Whether the PPDU overlapped with another one at the receiver.
    pub collided: bool,
}

impl Ppdu {
    /// All MPDUs of the PPDU, one receiver's after the other's.
    pub fn frames(&self) -> impl Iterator<Item = &Frame> {
        self.psdus.iter().flat_map(|psdu| &psdu.frames)
    }
}

/// One MPDU of a PPDU.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    /// Type of the frame, and the fields that only this type has.
    pub kind: FrameKind,
    /// Length in bytes with MAC header and FCS, without delimiter and padding.
    pub bytes: u16,
    /// Sequence number of data and management frames.
    pub sequence: SeqNo12,
    /// The Retry bit.
    pub retry: bool,
    /// Duration field in microseconds.
    pub duration_us: u16,
    /// Whether the receiver decoded it.
    pub received: bool,
    /// The More Data bit: the access point holds more frames for the station that it woke for.
    pub more_data: bool,
    /// The Power Management bit of data and management frames, from a sender that stays in power
    /// save mode; for Null and QoS Null frames `kind` has the bit.
    pub power_management: bool,
    /// The EOSP bit: the access point ends the service period of the station.
    pub end_of_service_period: bool,
    /// Packets of the frame: one, or several in an A-MSDU; none in control frames.
    pub packets: FramePackets,
    /// Association identifiers of the stations for which a beacon's TIM announces traffic,
    /// ascending, or which an NDP Announcement names; empty in other frames.
    pub announced: Vec<u16>,
    /// Stations that a Trigger frame asks; empty in other frames.
    pub triggered: Vec<TriggeredUser>,
    /// Backlog that a station reports to an access point that solicits uplink PPDUs; only in QoS
    /// Data and QoS Null frames.
    pub queue_size: Option<QueueSize>,
    /// Records of a Multi-STA Block Ack; empty in other frames.
    pub acknowledged: Vec<StationAcknowledged>,
}

/// Packets of a frame. Most data frames have one, which needs no allocation.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum FramePackets {
    /// No data frame.
    #[default]
    None,
    /// A single packet.
    One(Packet),
    /// The packets of an A-MSDU, in order.
    Several(Box<[Packet]>),
}

impl Deref for FramePackets {
    type Target = [Packet];

    fn deref(&self) -> &[Packet] {
        match self {
            Self::None => &[],
            Self::One(packet) => core::slice::from_ref(packet),
            Self::Several(packets) => packets,
        }
    }
}

impl<'a> IntoIterator for &'a FramePackets {
    type Item = &'a Packet;
    type IntoIter = core::slice::Iter<'a, Packet>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl From<&[Packet]> for FramePackets {
    fn from(packets: &[Packet]) -> Self {
        match packets {
            [] => Self::None,
            [packet] => Self::One(*packet),
            _ => Self::Several(packets.into()),
        }
    }
}

/// The Queue Size subfield of an HE station's QoS Control (IEEE 802.11ax-2021, 9.2.4.5.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueSize {
    /// Traffic identifier (TID) of the queue, 0 to 7.
    pub tid: u8,
    /// Scaling factor in bits 6 and 7, units in bits 0 to 5.
    pub code: u8,
}

/// A record of a Multi-STA Block Ack (IEEE 802.11ax-2021, 9.3.1.8.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StationAcknowledged {
    /// Association identifier of the station.
    pub aid: u16,
    /// Traffic identifier (TID), 0 to 7.
    pub tid: u8,
    /// First sequence number of the bitmap.
    pub start: SeqNo12,
    /// Received MPDUs: bit n is `start + n`.
    pub bitmap: Bitmap,
    /// Length of the bitmap in bits: 64, 256, 512 or 1 024.
    pub bits: u16,
}

/// A station that a Trigger frame asks, and the parameters of its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TriggeredUser {
    /// Association identifier of the station.
    pub aid: u16,
    /// The resource unit of its answer.
    pub ru: Ru,
    /// HE-MCS index of its answer, 0 to 11, or EHT-MCS, 0 to 13 or 15.
    pub mcs: u8,
    /// Number of spatial streams of its answer, 1 to 8.
    pub streams: u8,
    /// Whether its answer has dual carrier modulation; of EHT MCS 15 says so.
    pub dcm: bool,
    /// Whether its answer is an EHT PPDU, so that its field in the frame is of the EHT variant.
    pub is_eht: bool,
    /// Sequence number to which the recipient moves its window, in an MU-BAR; 0 in other frames.
    pub start: SeqNo12,
}

/// The kinds of frames the model sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameKind {
    /// Data without QoS.
    Data,
    /// QoS Data of the access category; `amsdu` if the payload is an A-MSDU.
    QosData {
        /// Access category, which determines the TID.
        access_category: AccessCategory,
        /// Whether the payload is an A-MSDU.
        amsdu: bool,
    },
    /// Null, with its Power Management bit.
    Null {
        /// Whether the sender will doze (or leave the channel).
        power_management: bool,
    },
    /// QoS Null, with its Power Management bit.
    QosNull {
        /// Whether the sender will doze (or leave the channel).
        power_management: bool,
        /// Access category, which determines the TID.
        access_category: AccessCategory,
    },
    /// Ack of a single MPDU.
    Ack,
    /// Compressed Block Ack.
    BlockAck {
        /// Traffic identifier (TID), 0 to 7.
        tid: u8,
        /// First sequence number of the bitmap.
        start: SeqNo12,
        /// Received MPDUs: bit n is `start + n`.
        bitmap: Bitmap,
        /// Length of the bitmap in bits: 64, 256, 512 or 1 024.
        bits: u16,
    },
    /// Block Ack Request.
    BlockAckRequest {
        /// Traffic identifier (TID), 0 to 7.
        tid: u8,
        /// Sequence number to which the recipient moves its window.
        start: SeqNo12,
    },
    /// MU-BAR Trigger frame, which asks several stations for Block Acks at once
    /// ([`Frame::triggered`]).
    MuBlockAckRequest {
        /// Traffic identifier (TID), 0 to 7.
        tid: u8,
        /// Duration of the trigger-based PPDUs that it solicits.
        response: Duration,
        /// Guard interval and HE-LTFs of these PPDUs.
        guard_interval: HeGuardInterval,
        /// Width of the channel that contains the resource units.
        width: ChannelWidth,
    },
    /// Basic Trigger frame, which asks several stations for data at once ([`Frame::triggered`]).
    BasicTrigger {
        /// Preferred access category.
        access_category: AccessCategory,
        /// Duration of the trigger-based PPDUs that it solicits.
        response: Duration,
        /// Guard interval and HE-LTFs of these PPDUs.
        guard_interval: HeGuardInterval,
        /// Width of the channel that contains the resource units.
        width: ChannelWidth,
    },
    /// BSRP Trigger frame, which asks several stations for their buffer status at once
    /// ([`Frame::triggered`]).
    BufferStatusReportPoll {
        /// Duration of the trigger-based PPDUs that it solicits.
        response: Duration,
        /// Guard interval and HE-LTFs of these PPDUs.
        guard_interval: HeGuardInterval,
        /// Width of the channel that contains the resource units.
        width: ChannelWidth,
    },
    /// Multi-STA Block Ack, to all stations that answered a Basic Trigger frame
    /// ([`Frame::acknowledged`]).
    MultiStationBlockAck,
    /// NDP Announcement: an NDP follows, which the stations in [`Frame::announced`] measure.
    NdpAnnouncement {
        /// Requested report of the first station.
        feedback: Feedback,
    },
    /// Beamforming Report Poll (VHT), which asks one station for its report.
    BeamformingReportPoll,
    /// BFRP Trigger frame (HE), which asks several stations for reports at once
    /// ([`Frame::triggered`]).
    BeamformingReportTrigger {
        /// Duration of the trigger-based PPDUs that it solicits.
        response: Duration,
        /// Guard interval and HE-LTFs of these PPDUs.
        guard_interval: HeGuardInterval,
        /// Width of the channel that contains the resource units.
        width: ChannelWidth,
    },
    /// Compressed beamforming report, or a segment of one.
    BeamformingReport {
        /// Dimensions of the report.
        feedback: Feedback,
        /// Number of segments that follow; 0 in the last one.
        remaining: u8,
        /// Whether this is the first or only segment.
        is_first: bool,
    },
    /// Request to send.
    Rts,
    /// MU-RTS Trigger frame to one station: the initial control frame of an exchange with a device
    /// of a single radio (IEEE 802.11be-2024, 35.3.17). Padding follows its one User Info field.
    MuRts {
        /// Association identifier of the device.
        aid: u16,
        /// Width of the CTS that it solicits.
        width: ChannelWidth,
    },
    /// Clear to send.
    Cts,
    /// PS-Poll, which asks for one held frame.
    PsPoll {
        /// Association identifier of the sender.
        aid: u16,
    },
    /// Beacon of the access point.
    Beacon {
        /// Beacons until the next DTIM; zero in a beacon with a DTIM.
        dtim_count: u8,
        /// Number of beacons from one DTIM to the next.
        dtim_period: u8,
        /// Whether group frames follow.
        group_traffic: bool,
        /// Announcement of the access point's move to another channel.
        switch: Option<Announcement>,
    },
    /// Probe Request for any network.
    ProbeRequest {
        /// An access point on the channel on which it is sent.
        access_point: StationId,
    },
    /// Probe Response to one station.
    ProbeResponse,
    /// A frame of a station that joins an access point, or its answer.
    Roam {
        /// The frame.
        frame: RoamFrame,
        /// Facts that determine its elements.
        facts: JoinFacts,
        /// Association identifier of the station.
        aid: u16,
        /// The access point that the station leaves, or with a transition over the distribution
        /// system the one that it moves to.
        other: StationId,
    },
    /// ADDBA Request: the originator requests a Block Ack agreement.
    AddbaRequest {
        /// Traffic identifier (TID), 0 to 7.
        tid: u8,
        /// Window in MPDUs.
        window: u16,
        /// First sequence number.
        start: SeqNo12,
    },
    /// ADDBA Response that accepts the agreement.
    AddbaResponse {
        /// Traffic identifier (TID), 0 to 7.
        tid: u8,
        /// Window in MPDUs.
        window: u16,
    },
    /// Notification of a station's operating mode to its access point.
    OperatingMode {
        /// The mode from now on.
        mode: OperatingMode,
        /// Whether the mode is in an OM Control subfield of a QoS Null frame, as between HE
        /// stations, instead of an Operating Mode Notification.
        by_control: bool,
    },
    /// DELBA, which ends the agreement.
    Delba {
        /// Traffic identifier (TID), 0 to 7.
        tid: u8,
    },
}

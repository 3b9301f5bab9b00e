//! Events of a cell: every packet that is queued, delivered or dropped, every PPDU, and what
//! changes between two stations. A cell makes them only if it is configured to record; a driver
//! passes them to its sink, and `trace` writes them to files. Instants are those of the cell's
//! clock, lengths are in bytes, FCS included.

use crate::cell::OperatingMode;
use crate::mac::block_ack::Bitmap;
use crate::phy::{ChannelWidth, Feedback, HeGuardInterval, Rate, Ru};
use crate::station::{Address, StationId};
use alloc::vec::Vec;
use lasthop_packet::{AccessCategory, DropReason, Packet};
use lasthop_units::{Dbm, Duration, Instant, SeqNo12};

/// Something that happened in the cell.
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
        /// Packets that the station holds for this access category, this one included.
        queue_packets: u32,
    },
    /// A station gave a packet up.
    Dropped {
        /// The instant at which it was given up.
        at: Instant,
        /// The station that held it, or did not want it.
        station: StationId,
        /// The packet, its delay parts as of its last receiver.
        packet: Packet,
        /// The reason for which it was given up.
        reason: DropReason,
    },
    /// A packet came out of the hop at `station`.
    Delivered {
        /// The instant at which the reorder buffer released it.
        at: Instant,
        /// The station that received it.
        station: StationId,
        /// The packet, its [`DelayParts`](lasthop_packet::DelayParts) up to date.
        packet: Packet,
    },
    /// A PPDU was on the air; reported at its end.
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
        /// `true` when it came into force.
        established: bool,
    },
    /// A receiver gave an erroneous MPDU up (pseudo retry-out): it is ignored if
    /// it arrives later.
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
        /// Retransmissions of it, by the receiver's count of errors.
        retransmissions: u8,
        /// The smoothed data rate, in kb/s.
        smoothed_kbps: u32,
    },
    /// Rate control moved to another main rate.
    RateChanged {
        /// The instant at which a PPDU is built with the new rate.
        at: Instant,
        /// The station whose rate control it is.
        station: StationId,
        /// The station to which it sends.
        peer: StationId,
        /// The new main rate.
        rate: Rate,
    },
    /// A station can or cannot be reached from now on.
    Power {
        /// The instant of the change.
        at: Instant,
        /// The station that changed.
        station: StationId,
        /// Its state from then on.
        state: PowerState,
    },
}

/// Whether a station can be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PowerState {
    /// It listens on the channel of the cell.
    Awake,
    /// It is on another channel, looking for access points.
    OffChannel,
    /// Its radio is off to save power.
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
    /// What it carries to each of its receivers: one PSDU, or several in an HE MU or VHT MU
    /// PPDU. An NDP has one without frames.
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
    /// Its resource unit, in an HE MU or trigger-based PPDU.
    pub ru: Option<Ru>,
    /// Length in bytes.
    pub bytes: u32,
    /// Its MPDUs are A-MPDU subframes.
    pub aggregated: bool,
    /// Its MPDUs in order.
    pub frames: Vec<Frame>,
    /// Power at the receiver (at the access point for group frames; the access
    /// point's own: its transmit power).
    pub signal: Dbm,
    /// Overlapped with another PPDU at the receiver.
    pub collided: bool,
}

impl Ppdu {
    /// All of its MPDUs, one receiver's after the other's.
    pub fn frames(&self) -> impl Iterator<Item = &Frame> {
        self.psdus.iter().flat_map(|psdu| &psdu.frames)
    }
}

/// One MPDU of a PPDU.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    /// Type, and the fields that only this type has.
    pub kind: FrameKind,
    /// Length in bytes, MAC header and FCS included, delimiter and padding not.
    pub bytes: u16,
    /// Sequence number of data and management frames.
    pub sequence: SeqNo12,
    /// The Retry bit.
    pub retry: bool,
    /// Duration field in microseconds.
    pub duration_us: u16,
    /// The receiver decoded it.
    pub received: bool,
    /// The More Data bit: the access point holds more for the station that it woke for.
    pub more_data: bool,
    /// The Power Management bit of a sender that stays in power save mode, in data and management
    /// frames; of Null and QoS Null frames their kind says it.
    pub power_management: bool,
    /// The EOSP bit: the access point ends the service period of the station.
    pub end_of_service_period: bool,
    /// The packets inside: one, or several in an A-MSDU; none in control frames.
    pub packets: Vec<Packet>,
    /// Association identifiers of the stations that a beacon's TIM announces
    /// traffic for, ascending, or that an NDP Announcement names; none in other frames.
    pub announced: Vec<u16>,
    /// The stations that a Trigger frame asks; none in other frames.
    pub triggered: Vec<TriggeredUser>,
    /// What a station says of its queue, to an access point that solicits uplink PPDUs; in QoS
    /// Data and QoS Null frames only.
    pub queue_size: Option<QueueSize>,
    /// The records of a Multi-STA Block Ack; none in other frames.
    pub acknowledged: Vec<StationAcknowledged>,
}

/// The Queue Size subfield of an HE station's QoS Control (IEEE 802.11ax-2021, 9.2.4.5.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueSize {
    /// Traffic identifier (TID) whose queue it is of, 0 to 7.
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
    /// Bit n: `start + n` was received.
    pub bitmap: Bitmap,
    /// Length of the bitmap in bits: 64, 256, 512 or 1 024.
    pub bits: u16,
}

/// A station that a Trigger frame asks, and how it answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TriggeredUser {
    /// Its association identifier.
    pub aid: u16,
    /// The resource unit of its answer.
    pub ru: Ru,
    /// HE-MCS index of its answer, 0 to 11.
    pub mcs: u8,
    /// Spatial streams of its answer, 1 to 8.
    pub streams: u8,
    /// Its answer has dual carrier modulation.
    pub dcm: bool,
    /// MU-BAR: the recipient moves its window to here; 0 in others.
    pub start: SeqNo12,
}

/// The kinds of frames the model sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameKind {
    /// Data without QoS.
    Data,
    /// QoS Data of the access category; `amsdu` if the payload is an A-MSDU.
    QosData {
        /// Access category, which gives the TID.
        access_category: AccessCategory,
        /// The payload is an A-MSDU.
        amsdu: bool,
    },
    /// Null, with its power management bit.
    Null {
        /// The sender will doze (or leave the channel).
        power_management: bool,
    },
    /// QoS Null, with its power management bit.
    QosNull {
        /// The sender will doze (or leave the channel).
        power_management: bool,
        /// Access category, which gives the TID.
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
        /// Bit n: `start + n` was received.
        bitmap: Bitmap,
        /// Length of the bitmap in bits: 64, 256, 512 or 1 024.
        bits: u16,
    },
    /// Block Ack Request.
    BlockAckRequest {
        /// Traffic identifier (TID), 0 to 7.
        tid: u8,
        /// The recipient moves its window to here.
        start: SeqNo12,
    },
    /// MU-BAR Trigger frame: several stations are asked for Block Acks at once
    /// ([`Frame::triggered`]).
    MuBlockAckRequest {
        /// Traffic identifier (TID), 0 to 7.
        tid: u8,
        /// Duration of the trigger-based PPDUs that it asks for.
        response: Duration,
        /// Their guard interval and HE-LTFs.
        guard_interval: HeGuardInterval,
        /// The width of the channel that their resource units are of.
        width: ChannelWidth,
    },
    /// Basic Trigger frame: several stations are asked for data at once ([`Frame::triggered`]).
    BasicTrigger {
        /// Preferred access category.
        access_category: AccessCategory,
        /// Duration of the trigger-based PPDUs that it asks for.
        response: Duration,
        /// Their guard interval and HE-LTFs.
        guard_interval: HeGuardInterval,
        /// The width of the channel that their resource units are of.
        width: ChannelWidth,
    },
    /// BSRP Trigger frame: several stations are asked for their queues at once
    /// ([`Frame::triggered`]).
    BufferStatusReportPoll {
        /// Duration of the trigger-based PPDUs that it asks for.
        response: Duration,
        /// Their guard interval and HE-LTFs.
        guard_interval: HeGuardInterval,
        /// The width of the channel that their resource units are of.
        width: ChannelWidth,
    },
    /// Multi-STA Block Ack, to all that sent in answer to a Basic Trigger frame
    /// ([`Frame::acknowledged`]).
    MultiStationBlockAck,
    /// NDP Announcement: an NDP follows, which the stations in [`Frame::announced`] measure.
    NdpAnnouncement {
        /// What they shall report; the first station's.
        feedback: Feedback,
    },
    /// Beamforming Report Poll (VHT): one station is asked for its report.
    BeamformingReportPoll,
    /// BFRP Trigger frame (HE): several stations are asked for reports at once
    /// ([`Frame::triggered`]).
    BeamformingReportTrigger {
        /// Duration of the trigger-based PPDUs that it asks for.
        response: Duration,
        /// Their guard interval and HE-LTFs.
        guard_interval: HeGuardInterval,
        /// The width of the channel that their resource units are of.
        width: ChannelWidth,
    },
    /// Compressed beamforming report, or a segment of one.
    BeamformingReport {
        /// What it has.
        feedback: Feedback,
        /// Segments that follow; none behind the last.
        remaining: u8,
        /// It is the first or only segment.
        is_first: bool,
    },
    /// Request to send.
    Rts,
    /// Clear to send.
    Cts,
    /// PS-Poll: a station asks for one frame that is held for it.
    PsPoll {
        /// Association identifier of the sender.
        aid: u16,
    },
    /// Beacon of the access point.
    Beacon {
        /// Beacons until the next DTIM; zero: this one.
        dtim_count: u8,
        /// Beacons from DTIM to DTIM.
        dtim_period: u8,
        /// Group frames follow.
        group_traffic: bool,
    },
    /// Probe Request for any network.
    ProbeRequest,
    /// Probe Response to one station.
    ProbeResponse,
    /// ADDBA Request: the originator asks for a Block Ack agreement.
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
    /// A station notifies its access point of how it operates.
    OperatingMode {
        /// From now on.
        mode: OperatingMode,
        /// In an OM Control subfield of a QoS Null frame, as HE stations do, and not in an
        /// Operating Mode Notification.
        by_control: bool,
    },
    /// DELBA: the agreement ends.
    Delba {
        /// Traffic identifier (TID), 0 to 7.
        tid: u8,
    },
}

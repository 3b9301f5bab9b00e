//! What can be observed of a cell. Machines fill these only when asked to
//! record; the driver hands them to a sink, and `trace` turns them into files.

use crate::mac::block_ack::Bitmap;
use crate::phy::Rate;
use crate::station::{Address, StationId};
use alloc::vec::Vec;
use lasthop_packet::{AccessCategory, DropReason, Packet};
use lasthop_units::{Dbm, Instant, SeqNo12};

/// Something that happened in the cell.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A packet entered a station's queue.
    Queued {
        /// When.
        at: Instant,
        /// Whose queue.
        station: StationId,
        /// The packet as queued.
        packet: Packet,
        /// Packets that the station holds for this access category, this one included.
        queue_packets: u32,
    },
    /// A station gave a packet up.
    Dropped {
        /// When.
        at: Instant,
        /// Which station.
        station: StationId,
        /// The packet.
        packet: Packet,
        /// Why.
        reason: DropReason,
    },
    /// A packet came out of the hop at `station`.
    Delivered {
        /// When the reorder buffer released it.
        at: Instant,
        /// The receiver.
        station: StationId,
        /// The packet, its [`DelayParts`](lasthop_packet::DelayParts) up to date.
        packet: Packet,
    },
    /// A PPDU was on the air; reported at its end.
    Ppdu(Ppdu),
    /// A Block Ack agreement came into force or ended.
    BlockAckAgreement {
        /// When.
        at: Instant,
        /// Who sends data under it.
        originator: StationId,
        /// Who acknowledges.
        recipient: StationId,
        /// Traffic identifier.
        tid: u8,
        /// `true` when it came into force.
        established: bool,
    },
    /// A receiver gave an erroneous MPDU up (pseudo retry-out): it is ignored if
    /// it arrives later.
    PseudoRetryOut {
        /// When.
        at: Instant,
        /// The receiver.
        station: StationId,
        /// The sender.
        peer: StationId,
        /// Traffic identifier.
        tid: u8,
        /// Its sequence number.
        sequence: SeqNo12,
        /// Retransmissions of it, by the receiver's count of errors.
        retransmissions: u8,
        /// The smoothed data rate, in kb/s.
        smoothed_kbps: u32,
    },
    /// Rate control moved to another main rate.
    RateChanged {
        /// When.
        at: Instant,
        /// The sender.
        station: StationId,
        /// The receiver.
        peer: StationId,
        /// The new main rate.
        rate: Rate,
    },
    /// A station can or cannot be reached from now on.
    Power {
        /// When.
        at: Instant,
        /// Which station.
        station: StationId,
        /// What it is now.
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
    /// First symbol of the preamble.
    pub start: Instant,
    /// End of the last symbol (signal extension included).
    pub end: Instant,
    /// Who sent it.
    pub transmitter: StationId,
    /// Whom it is for.
    pub receiver: Address,
    /// How it was sent.
    pub rate: Rate,
    /// Length of the PSDU in bytes.
    pub psdu_bytes: u32,
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

/// One MPDU of a PPDU.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    /// What it is.
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
    /// The packets inside: one, or several in an A-MSDU; none in control frames.
    pub packets: Vec<Packet>,
    /// Association identifiers of the stations that a beacon's TIM announces
    /// traffic for, ascending; none in other frames.
    pub announced: Vec<u16>,
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
    },
    /// Acknowledgement.
    Ack,
    /// Compressed Block Ack.
    BlockAck {
        /// Traffic identifier.
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
        /// Traffic identifier.
        tid: u8,
        /// The recipient moves its window to here.
        start: SeqNo12,
    },
    /// Request to send.
    Rts,
    /// Clear to send.
    Cts,
    /// PS-Poll.
    PsPoll {
        /// Association identifier of the sender.
        aid: u16,
    },
    /// Beacon.
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
    /// Probe Response.
    ProbeResponse,
    /// ADDBA request.
    AddbaRequest {
        /// Traffic identifier.
        tid: u8,
        /// Window in MPDUs.
        window: u16,
        /// First sequence number.
        start: SeqNo12,
    },
    /// ADDBA response, accepting.
    AddbaResponse {
        /// Traffic identifier.
        tid: u8,
        /// Window in MPDUs.
        window: u16,
    },
    /// DELBA.
    Delba {
        /// Traffic identifier.
        tid: u8,
    },
}

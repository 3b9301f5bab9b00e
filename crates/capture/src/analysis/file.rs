//! State that all interfaces of a file share: counts, errors, times, credentials, and the journal
//! of events.

use super::dedupe::{DEVICES, Dedupe};
use super::journal::Journal;
use crate::air::devices::Devices;
use crate::air::pairs::DevicePair;
use crate::decrypt::Decryption;
use crate::frame::Frame;
use crate::link::{Headers, Radio};
use lasthop_wifi_wire::{self as wire, Error, Kind};

/// Results that no interface has alone, and what reads its packets.
#[derive(Debug, Default)]
pub struct FileAnalysis {
    /// Counts of all packets.
    pub counts: Counts,
    /// Malformed packets, at most [`ERRORS_MAX`].
    pub errors: Vec<Malformed>,
    /// Number of errors beyond [`ERRORS_MAX`].
    pub errors_left_out: u64,
    /// Multi-link devices, and data between them.
    pub devices: Devices,
    /// MAC retransmissions between devices.
    pub(super) dedupe: Dedupe,
    /// Time of the first packet with a time, in ns since 1970.
    pub(super) first_ns: Option<u64>,
    /// Reader of headers in front of frames.
    pub(super) headers: Headers,
    /// State that opens protected frames; `None` without credentials.
    pub(super) decryption: Option<Box<Decryption>>,
    /// Events, if the caller wants them.
    pub(super) journal: Option<Box<Journal>>,
}

/// Counts of every capture, as tshark counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Null frames, without QoS.
    pub null: u64,
    /// QoS Null frames, without data.
    pub qos_null: u64,
    /// Null and QoS Null frames with the Power Management bit.
    pub null_pm1: u64,
    /// QoS Data frames.
    pub qos_data: u64,
    /// Block Ack frames.
    pub block_ack: u64,
    /// Block Ack Requests.
    pub block_ack_req: u64,
    /// Frames with the Retry bit.
    pub retry: u64,
    /// Frames whose radiotap header has an A-MPDU status field.
    pub ampdu_status: u64,
    /// Frames whose radiotap header has an MCS field (802.11n).
    pub mcs: u64,
    /// Frames whose radiotap header has a VHT field (802.11ac).
    pub vht: u64,
    /// Frames whose radiotap header has an HE field (802.11ax).
    pub he: u64,
    /// Frames whose radiotap header has an EHT field (802.11be).
    pub eht: u64,
    /// Trigger frames (802.11ax).
    pub trigger: u64,
    /// Frames with a wrong check sequence, by the receiver's flag or by their own bytes. These
    /// frames are in the counts above and in no analysis.
    pub bad_fcs: u64,
    /// Frames that should end with a check sequence and end with other bytes, like all frames of
    /// their interface. Such frames are part of the analysis.
    pub without_fcs: u64,
    /// Frames that a snap length has cut short.
    pub cut: u64,
    /// Protected frames, whose bodies require a key.
    pub protected: u64,
    /// Packets that a snap length has cut within their headers.
    pub too_short: u64,
    /// Packets of an unsupported link type.
    pub unsupported: u64,
    /// Packets with an earlier time than the previous packet.
    pub clock_backwards: u64,
}

/// A malformed packet, or an error of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed {
    /// Number of the packet, from 1; `None` for an error of the file.
    pub frame: Option<u64>,
    /// Position of the error, in bytes from the start of the packet; from the start of the file if
    /// there is no packet.
    pub offset: Option<u64>,
    /// Text of the error.
    pub message: String,
}

/// Largest number of errors in the list.
pub const ERRORS_MAX: usize = 1_000;
/// Largest number of listed packets that were cut when they were captured.
const CUT_LISTED_MAX: u64 = 10;

impl Counts {
    pub(super) fn handle_radio(&mut self, radio: &Radio) {
        self.ampdu_status += u64::from(radio.ampdu.is_some() && radio.radiotap);
        self.mcs += u64::from(radio.has_mcs);
        self.vht += u64::from(radio.has_vht);
        self.he += u64::from(radio.has_he);
        self.eht += u64::from(radio.has_eht);
    }

    pub(super) fn handle_frame(&mut self, frame: &Frame<'_>) {
        let flags = frame.control.flags;
        match frame.kind() {
            Kind::Null => self.null += 1,
            Kind::QosNull => self.qos_null += 1,
            Kind::QosData => self.qos_data += 1,
            Kind::BlockAck => self.block_ack += 1,
            Kind::Trigger => self.trigger += 1,
            Kind::BlockAckRequest => self.block_ack_req += 1,
            _ => {}
        }
        self.null_pm1 += u64::from(frame.is_null() && flags.power_management);
        self.retry += u64::from(flags.retry);
        self.protected += u64::from(flags.protected);
    }
}

impl FileAnalysis {
    /// Returns the number of a packet's second, from the first packet of the file.
    pub(super) fn second(&self, at_ns: u64) -> usize {
        let begin = self.first_ns.unwrap_or(at_ns);
        (at_ns.saturating_sub(begin) / 1_000_000_000) as usize
    }

    /// Reduces the memory of idle devices.
    pub(super) fn evict_idle(&mut self, now_ns: u64) {
        self.devices.pairs.evict_idle(now_ns);
        self.dedupe.evict_idle(now_ns);
    }

    /// Returns the data between devices to which a sequence number space belongs, if it does.
    pub(super) fn pair_of(&self, space: u32) -> Option<&DevicePair> {
        let (pair, _) = self.dedupe.ends(space.checked_sub(DEVICES)?)?;
        self.devices.pairs.get(pair)
    }

    /// Lists a malformed packet. With `cut`, a snap length may be the reason for a field that ends
    /// too early; only a few of these are listed.
    pub(super) fn malformed(&mut self, frame: u64, cut: bool, error: &Error) {
        let by_cut = cut && matches!(error.reason, wire::Reason::Short { .. });
        self.counts.too_short += u64::from(by_cut);
        if self.errors.len() >= ERRORS_MAX || by_cut && self.counts.too_short > CUT_LISTED_MAX {
            self.errors_left_out += u64::from(!by_cut);
            return;
        }
        let message = if by_cut {
            format!("{error}; the packet was cut when it was captured")
        } else {
            error.to_string()
        };
        let offset = Some(error.offset as u64);
        self.errors.push(Malformed { frame: Some(frame), offset, message });
    }
}

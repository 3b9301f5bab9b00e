//! A whole capture: every packet opened, counted and handed to the analyses; what is malformed
//! is listed with frame, field and offset, and does not stop anything.

use crate::air::Air;
use crate::air::stations::StationId;
use crate::file::{Packet, ReadError};
use crate::frame::Frame;
use crate::link::{self, Headers, LinkType, Opened};
use crate::numbers::Numbers;
use crate::transport::{Carrier, Flows};
use lasthop_units::SeqNo12;
use lasthop_wifi::wire::frame::View;
use lasthop_wifi::wire::{self, Error, Kind, amsdu, fcs, llc};
use std::collections::BTreeMap;

/// The analysis of a capture, packet by packet.
#[derive(Debug, Default)]
pub struct Analysis {
    /// Packets.
    pub packets: u64,
    /// What was counted of all of them.
    pub counts: Counts,
    /// Packets by link type.
    pub links: BTreeMap<LinkType, u64>,
    /// What was malformed.
    pub errors: Vec<Malformed>,
    /// Errors beyond [`ERRORS_MAX`].
    pub errors_left_out: u64,
    /// Packets of a live capture that the kernel dropped before they could be read; set by
    /// whoever captures.
    pub dropped: u64,
    /// What happened on the air.
    pub air: Air,
    /// Flows of transport protocols.
    pub flows: Flows,
    headers: Headers,
    /// Time of the packet before, in ns since 1970.
    last_ns: Option<u64>,
    first_ns: Option<u64>,
    /// Dedupe of MSDUs: when a number was last seen, by sender, receiver and TID.
    seen: BTreeMap<Space, usize>,
    seen_at: Vec<Seen>,
    /// Sender and receiver of each of `seen_at`; no receiver for groups.
    seen_links: Vec<Option<(StationId, StationId)>>,
    /// The last two that were looked for: most often one of the two directions of a flow.
    recent: [Option<(Space, usize)>; 2],
    /// When it was last looked what is idle, in ns since 1970, and the number of packets then.
    rested: (u64, u64),
}

/// A sequence number space: sender, receiver and TID, which is 16 for frames without QoS.
type Space = (u32, u32, u8);

/// What is counted of every capture, as tshark counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Null frames.
    pub null: u64,
    /// QoS Null frames.
    pub qos_null: u64,
    /// Null and QoS Null frames with the Power Management bit.
    pub null_pm1: u64,
    /// QoS Data frames.
    pub qos_data: u64,
    /// Block Acks.
    pub block_ack: u64,
    /// Block Ack Requests.
    pub block_ack_req: u64,
    /// Frames with the Retry bit.
    pub retry: u64,
    /// Frames whose radiotap header has an A-MPDU status.
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
    /// Frames whose check sequence was wrong. They are in the counts above and in no analysis.
    pub bad_fcs: u64,
    /// Frames whose end a snap length has cut off.
    pub cut: u64,
    /// Protected frames: their bodies cannot be read.
    pub protected: u64,
    /// Packets of which a snap length left too little to read their headers.
    pub too_short: u64,
    /// Packets of a link type that cannot be read.
    pub unsupported: u64,
    /// Packets that have an earlier time than the one before.
    pub clock_backwards: u64,
}

/// Something malformed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed {
    /// Number of the packet, from 1; `None` if it is about the file.
    pub frame: Option<u64>,
    /// Where: in bytes from the start of the packet, or of the file if there is no frame.
    pub offset: Option<u64>,
    /// What.
    pub message: String,
}

/// When each sequence number was last seen, in ns since 1970; none while nothing comes.
#[derive(Debug, Default)]
struct Seen {
    numbers: Numbers<u64>,
    latest_ns: u64,
}

/// Errors that are listed.
pub const ERRORS_MAX: usize = 1_000;
/// Of them, packets that were cut when they were captured.
const CUT_LISTED_MAX: u64 = 10;
/// How long the MAC may repeat an MPDU, in ns.
const REPEATS_NS: u64 = 4_000_000_000;
/// From which time on a link or a flow is idle, in ns: longer than any MAC, and than TCP in
/// nearly all cases, waits to send again. What is idle takes less memory.
pub(crate) const IDLE_NS: u64 = 60_000_000_000;
/// Where nothing was idle, it is looked for again after as many that would have needed its place.
pub(crate) const LOOK_EVERY: u32 = 1_000;
/// Packets after which it is looked what is idle, at least.
const REST_PACKETS: u64 = 1_000;
/// Most sequence number spaces in which MSDUs are compared.
const SPACES_MAX: usize = 1 << 20;

impl Analysis {
    /// The next packet.
    pub fn handle_packet(&mut self, packet: &Packet<'_>) {
        self.packets += 1;
        let at_ns = packet.at_ns.or(self.last_ns).unwrap_or_default();
        self.counts.clock_backwards += u64::from(self.last_ns.is_some_and(|last| at_ns < last));
        self.last_ns = Some(at_ns);
        self.first_ns.get_or_insert(at_ns);
        // Clocks that jump to and fro do not make it more often.
        let (rested_ns, packets) = self.rested;
        if at_ns.abs_diff(rested_ns) >= IDLE_NS && self.packets - packets >= REST_PACKETS {
            self.rest(at_ns);
        }
        *self.links.entry(packet.link).or_default() += 1;
        self.counts.cut += u64::from(packet.is_cut());
        if !packet.link.is_supported() {
            self.counts.unsupported += 1;
            return;
        }
        match link::open(&mut self.headers, packet) {
            Ok(Opened::Air { radio, mpdu, offset }) => {
                self.counts.ampdu_status += u64::from(radio.ampdu.is_some() && radio.radiotap);
                self.counts.mcs += u64::from(radio.has_mcs);
                self.counts.vht += u64::from(radio.has_vht);
                self.counts.he += u64::from(radio.has_he);
                self.counts.eht += u64::from(radio.has_eht);
                match View::new(mpdu, radio.layout) {
                    Ok(view) => {
                        let missing = if radio.layout.fcs { 0 } else { fcs::LEN as u32 };
                        let on_air = packet.length.saturating_sub(offset as u32);
                        let cut_fcs = packet.is_cut() && radio.had_fcs;
                        let mpdu_bytes = if cut_fcs { on_air } else { on_air + missing };
                        let frame = Frame {
                            number: packet.number,
                            at_ns,
                            radio,
                            control: view.frame_control(),
                            view,
                            mpdu_bytes,
                            cut: packet.is_cut(),
                        };
                        self.handle_frame(&frame, offset);
                    }
                    Err(_) if radio.bad_fcs => self.counts.bad_fcs += 1,
                    Err(error) => {
                        self.malformed(packet.number, packet.is_cut(), &error.shifted(offset));
                    }
                }
            }
            Ok(Opened::Wired(wired)) => {
                if matches!(wired.ethertype, 0x0800 | 0x86dd) {
                    let carrier =
                        Carrier { mpdu: None, repeated: false, number: packet.number, at_ns };
                    let second = self.second(at_ns);
                    self.flows.handle_packet(wired.packet, carrier, second, &|_| None);
                }
            }
            Err(error) => self.malformed(packet.number, packet.is_cut(), &error),
        }
    }

    /// What is idle takes less memory from now on.
    fn rest(&mut self, now_ns: u64) {
        self.rested = (now_ns, self.packets);
        self.air.rest(now_ns);
        self.flows.rest(now_ns);
        for seen in &mut self.seen_at {
            if now_ns.saturating_sub(seen.latest_ns) >= IDLE_NS {
                seen.numbers = Numbers::default();
            }
        }
    }

    /// The file cannot be read any further.
    pub fn handle_error(&mut self, error: &ReadError) {
        let offset = error.offset();
        let malformed = Malformed { frame: None, offset, message: error.to_string() };
        self.errors.push(malformed);
    }

    /// No more packets come.
    pub fn finish(&mut self) {
        self.air.finish();
    }

    /// Times of the first and the last packet, in ns since 1970.
    pub fn times(&self) -> Option<(u64, u64)> {
        self.first_ns.zip(self.last_ns)
    }

    fn second(&self, at_ns: u64) -> usize {
        let begin = self.first_ns.unwrap_or(at_ns);
        (at_ns.saturating_sub(begin) / 1_000_000_000) as usize
    }

    fn handle_frame(&mut self, frame: &Frame<'_>, offset: usize) {
        let counts = &mut self.counts;
        let flags = frame.control.flags;
        match frame.kind() {
            Kind::Null => counts.null += 1,
            Kind::QosNull => counts.qos_null += 1,
            Kind::QosData => counts.qos_data += 1,
            Kind::BlockAck => counts.block_ack += 1,
            Kind::Trigger => counts.trigger += 1,
            Kind::BlockAckRequest => counts.block_ack_req += 1,
            _ => {}
        }
        counts.null_pm1 += u64::from(frame.is_null() && flags.power_management);
        counts.retry += u64::from(flags.retry);
        counts.protected += u64::from(flags.protected);
        if frame.radio.bad_fcs {
            counts.bad_fcs += 1;
            return;
        }
        if let Err(error) = self.air.handle_frame(frame) {
            self.malformed(frame.number, frame.cut, &error.shifted(offset));
        }
        if frame.has_payload() && !flags.protected && frame.view.sequence_control().is_some() {
            self.handle_msdus(frame, offset);
        }
    }

    /// What is in a data frame that is not encrypted.
    fn handle_msdus(&mut self, frame: &Frame<'_>, offset: usize) {
        let Some(sequence) = frame.view.sequence_control() else { return };
        if sequence.fragment > 0 {
            return;
        }
        let qos = frame.view.qos_control();
        let mpdu = self.note_msdu(frame, qos.map_or(16, |qos| qos.tid));
        let repeated = mpdu.is_none();
        let carrier = Carrier { mpdu, repeated, number: frame.number, at_ns: frame.at_ns };
        let second = self.second(frame.at_ns);
        if !qos.is_some_and(|qos| qos.amsdu_present) {
            self.handle_msdu(frame.body(), carrier, second);
            return;
        }
        for subframe in amsdu::Subframes::new(frame.body()) {
            match subframe {
                Ok(subframe) => self.handle_msdu(subframe.msdu, carrier, second),
                Err(error) => {
                    let error = error.shifted(offset + frame.view.body_start());
                    self.malformed(frame.number, frame.cut, &error);
                }
            }
        }
    }

    /// The MSDU's number, unless the MAC has only repeated it.
    fn note_msdu(&mut self, frame: &Frame<'_>, tid: u8) -> Option<(u32, u8, u16)> {
        let from = frame.transmitter().and_then(|address| self.air.stations.of(address))?;
        let receiver = self.air.stations.of(frame.receiver());
        let to = receiver.map_or(u32::MAX, |to| to.index() as u32);
        let key = (from.index() as u32, to, tid);
        let index = self.seen_index(key)?;
        if self.seen_links.len() < self.seen_at.len() {
            self.seen_links.push(receiver.map(|to| (from, to)));
        }
        let seen = &mut self.seen_at[index];
        seen.latest_ns = frame.at_ns;
        let number = frame.view.sequence_control()?.sequence.as_u16();
        let last = std::mem::replace(seen.numbers.at(number), frame.at_ns.max(1));
        let again =
            frame.control.flags.retry && last > 0 && frame.at_ns.saturating_sub(last) < REPEATS_NS;
        (!again).then_some((index as u32, tid, number))
    }

    /// The number of a space, which may be new; `None` if there are too many.
    fn seen_index(&mut self, key: Space) -> Option<usize> {
        if let Some((_, index)) = self.recent.iter().flatten().find(|(recent, _)| *recent == key) {
            return Some(*index);
        }
        let next = self.seen_at.len();
        let index = match self.seen.get(&key) {
            Some(index) => *index,
            None if next >= SPACES_MAX => return None,
            None => {
                self.seen.insert(key, next);
                self.seen_at.push(Seen::default());
                next
            }
        };
        self.recent = [Some((key, index)), self.recent[0]];
        Some(index)
    }

    fn handle_msdu(&mut self, msdu: &[u8], carrier: Carrier, second: usize) {
        // Other LLC formats carry no IP.
        let Ok((header, packet)) = llc::Repr::parse(msdu) else { return };
        if matches!(header.ethertype, 0x0800 | 0x86dd) {
            let (air, links) = (&self.air, &self.seen_links);
            self.flows.handle_packet(packet, carrier, second, &|(link, tid, number)| {
                let link = air.links.get(&(*links.get(link as usize)?)?)?;
                link.is_acknowledged(tid, SeqNo12::new(number))
            });
        }
    }

    /// `cut`: a snap length has cut the packet, so that a field that ends too early is nobody's
    /// fault. A few of these are listed, to show what cannot be read.
    fn malformed(&mut self, frame: u64, cut: bool, error: &Error) {
        let by_cut = cut && matches!(error.reason, wire::Reason::Short { .. });
        self.counts.too_short += u64::from(by_cut);
        if self.errors.len() >= ERRORS_MAX || by_cut && self.counts.too_short > CUT_LISTED_MAX {
            self.errors_left_out += u64::from(!by_cut);
            return;
        }
        let message = match by_cut {
            true => format!("{error}; the packet was cut when it was captured"),
            false => error.to_string(),
        };
        let offset = Some(error.offset as u64);
        self.errors.push(Malformed { frame: Some(frame), offset, message });
    }
}

//! Analysis of a whole capture: opens and counts every packet, and hands it to the analyses. A
//! malformed packet is listed with frame, field and offset, and does not stop the analysis.

mod check;
mod dedupe;
mod interfaces;
mod journal;

pub(crate) use dedupe::REPEATS_NS;
pub use interfaces::{Interface, InterfaceCounts, OTHERS_MAX};

use crate::air::Air;
use crate::air::exchange::Link;
use crate::air::joining::handshake::Message;
use crate::decrypt::{self, Credentials, Decryption};
use crate::file::{Packet, ReadError};
use crate::frame::Frame;
use crate::join::Event;
use crate::link::{self, Headers, LinkType, Opened, Radio};
use crate::transport::{Carrier, Direction, Flows};
use check::Verdict;
use dedupe::Dedupe;
use journal::Journal;
use lasthop_units::SeqNo12;
use lasthop_wifi_wire::frame::View;
use lasthop_wifi_wire::{self as wire, Error, Kind, amsdu, eapol, fcs, llc};
use std::collections::BTreeMap;

/// Analysis of a capture, packet by packet.
#[derive(Debug, Default)]
pub struct Analysis {
    /// Number of packets.
    pub packets: u64,
    /// Counts of all packets.
    pub counts: Counts,
    /// Number of packets by link type.
    pub links: BTreeMap<LinkType, u64>,
    /// Malformed packets, at most [`ERRORS_MAX`].
    pub errors: Vec<Malformed>,
    /// Number of errors beyond [`ERRORS_MAX`].
    pub errors_left_out: u64,
    /// Packets of a live capture that the kernel dropped before they could be read. The caller sets
    /// this number.
    pub dropped: u64,
    /// Air at the main interface: the first interface that captures 802.11, or else the first one.
    pub air: Air,
    /// Flows of transport protocols at the main interface.
    pub flows: Flows,
    /// Number of the main interface; `None` before the first packet.
    pub interface: Option<u32>,
    /// Counts of the main interface.
    pub interface_counts: InterfaceCounts,
    /// Other interfaces of the file.
    pub others: BTreeMap<u32, Interface>,
    /// Packets of interfaces beyond [`OTHERS_MAX`].
    pub others_left_out: u64,
    /// State that opens protected frames; `None` without credentials.
    decryption: Option<Box<Decryption>>,
    headers: Headers,
    /// Time of the previous packet, in ns since 1970.
    last_ns: Option<u64>,
    first_ns: Option<u64>,
    /// Number of packets without a time.
    without_time: u64,
    dedupe: Dedupe,
    journal: Option<Box<Journal>>,
    lent: bool,
    /// Time of the last search for idle links and flows, in ns since 1970, and the number of
    /// packets then.
    rested: (u64, u64),
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
    /// Frames with a wrong check sequence, by the receiver's flag or by their own bytes. They are
    /// in the counts above and in no analysis.
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
/// Time without frames after which a link or a flow is idle, in ns. It exceeds the time after which
/// any MAC, and nearly every TCP, retransmits. Idle links and flows use less memory.
pub(crate) const IDLE_NS: u64 = 60_000_000_000;
/// Number of refused links or flows after a search without idle ones, before the next search.
pub(crate) const LOOK_EVERY: u32 = 1_000;
/// Longest MPDU for time on the air, in bytes. The longest of 802.11 has 11 454 bytes (9.2.4.8),
/// but a file may claim any length.
const MPDU_BYTES_MAX: u32 = 1 << 16;
/// Minimum number of packets between two searches for idle links and flows.
const REST_PACKETS: u64 = 1_000;

impl Analysis {
    /// Creates an analysis that opens protected frames with these credentials, if there are any.
    pub fn new(credentials: Credentials) -> Self {
        let decryption = (!credentials.is_empty()).then(|| Box::new(Decryption::new(credentials)));
        Self { decryption, ..Self::default() }
    }

    /// Returns the results for protected frames; `None` without credentials.
    pub fn decryption(&self) -> Option<&Decryption> {
        self.decryption.as_deref()
    }

    /// Analyses the next packet.
    pub fn handle_packet(&mut self, packet: &Packet<'_>) {
        self.packets += 1;
        let at_ns = packet.at_ns.or(self.last_ns).unwrap_or_default();
        if packet.at_ns.is_none() {
            self.without_time += 1;
        } else {
            self.counts.clock_backwards += u64::from(self.last_ns.is_some_and(|last| at_ns < last));
            if self.first_ns.is_none() && self.packets > 1 {
                self.begin(at_ns);
            }
            self.first_ns.get_or_insert(at_ns);
            self.last_ns = Some(at_ns);
        }
        // A clock that jumps back and forth does not cause more searches.
        let (rested_ns, packets) = self.rested;
        if at_ns.abs_diff(rested_ns) >= IDLE_NS && self.packets - packets >= REST_PACKETS {
            self.rest(at_ns);
        }
        *self.links.entry(packet.link).or_default() += 1;
        self.counts.cut += u64::from(packet.is_cut());
        let is_main = *self.interface.get_or_insert(packet.interface) == packet.interface;
        if is_main {
            self.interface_counts.handle_packet(packet.number, packet.link, at_ns);
        } else if !self.swap(packet.interface) {
            self.others_left_out += 1;
            return;
        } else {
            self.interface_counts.handle_packet(packet.number, packet.link, at_ns);
        }
        if packet.link.is_supported() {
            self.open(packet, at_ns);
        } else {
            self.counts.unsupported += 1;
        }
        if !is_main {
            self.swap_back(packet.interface);
        }
    }

    /// Handles the first packet with a time after packets without one: these get its time.
    fn begin(&mut self, at_ns: u64) {
        self.air.begin(at_ns);
        self.flows.begin(at_ns);
        self.interface_counts.begin(at_ns);
        for other in self.others.values_mut() {
            other.air.begin(at_ns);
            other.flows.begin(at_ns);
            other.counts.begin(at_ns);
        }
    }

    /// Returns the number of packets without a time. Such packets get the time of the previous packet.
    pub const fn without_time(&self) -> u64 {
        self.without_time
    }

    /// Opens a packet of the interface whose analysis is in place.
    fn open(&mut self, packet: &Packet<'_>, at_ns: u64) {
        match link::open(&mut self.headers, packet) {
            Ok(Opened::Air { radio, mpdu, offset }) => {
                self.counts.ampdu_status += u64::from(radio.ampdu.is_some() && radio.radiotap);
                self.counts.mcs += u64::from(radio.has_mcs);
                self.counts.vht += u64::from(radio.has_vht);
                self.counts.he += u64::from(radio.has_he);
                self.counts.eht += u64::from(radio.has_eht);
                if let Some(mhz) = radio.frequency_mhz {
                    self.interface_counts.handle_channel(mhz);
                }
                let view = View::new(mpdu, radio.layout);
                let verdict = self.interface_counts.check.judge(mpdu, view.as_ref().ok(), &radio);
                let radio = Radio { bad_fcs: verdict == Verdict::Wrong, ..radio };
                self.counts.without_fcs += u64::from(verdict == Verdict::None);
                match view {
                    Ok(view) => {
                        let missing = if radio.layout.fcs { 0 } else { fcs::LEN as u32 };
                        let on_air =
                            packet.length.saturating_sub(offset as u32).min(MPDU_BYTES_MAX);
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
                        self.handle_frame(&frame, offset, packet.interface);
                    }
                    Err(_) if radio.bad_fcs => self.counts.bad_fcs += 1,
                    Err(error) => {
                        self.malformed(packet.number, packet.is_cut(), &error.shifted(offset));
                    }
                }
            }
            Ok(Opened::Wired(wired)) => {
                if matches!(wired.ethertype, 0x0800 | 0x86dd) {
                    let carrier = Carrier::of_wire(packet.number, at_ns);
                    let second = self.second(at_ns);
                    if let Some(journal) = &mut self.journal {
                        let bytes = u64::from(packet.length).saturating_sub(wired.offset as u64);
                        let interface = packet.interface;
                        journal.handle_packet(interface, wired.packet, bytes, carrier, None);
                    }
                    self.flows.handle_packet(wired.packet, carrier, second, &|_| None);
                }
            }
            Err(error) => self.malformed(packet.number, packet.is_cut(), &error),
        }
    }

    /// Reduces the memory of idle links and flows.
    fn rest(&mut self, now_ns: u64) {
        self.rested = (now_ns, self.packets);
        self.air.rest(now_ns);
        self.flows.rest(now_ns);
        self.dedupe.rest(now_ns);
        for other in self.others.values_mut() {
            other.air.rest(now_ns);
            other.flows.rest(now_ns);
            other.dedupe.rest(now_ns);
        }
    }

    /// Records that the file cannot be read any further.
    pub fn handle_error(&mut self, error: &ReadError) {
        let offset = error.offset();
        let malformed = Malformed { frame: None, offset, message: error.to_string() };
        self.errors.push(malformed);
    }

    /// Ends the analysis: no more packets follow.
    pub fn finish(&mut self) {
        self.air.finish();
        self.drain_air(self.interface.unwrap_or_default());
        let others: Vec<_> = self.others.keys().copied().collect();
        for interface in others {
            self.swap(interface);
            self.air.finish();
            self.drain_air(interface);
            self.swap_back(interface);
        }
    }

    /// Returns the number of packets that carry TCP, at all interfaces.
    pub fn packets_tcp(&self) -> u64 {
        let others = self.others.values().map(|other| other.flows.packets_tcp());
        self.flows.packets_tcp() + others.sum::<u64>()
    }

    /// Makes [`poll_event`](Self::poll_event) return each packet of IP, and each acknowledgement on
    /// the air. Call it before the first packet.
    pub fn watch(&mut self) {
        self.journal = Some(Box::default());
        self.air.log = Some(Vec::new());
    }

    /// Returns the next event, if the analysis is [watched](Self::watch).
    pub fn poll_event(&mut self) -> Option<Event> {
        self.journal.as_mut()?.poll()
    }

    /// Calls `look` with the analysis of another interface instead of the main one. Returns `None`
    /// if there is no such interface.
    pub fn with_interface<T>(
        &mut self,
        interface: u32,
        look: impl FnOnce(&Self) -> T,
    ) -> Option<T> {
        let main = self.interface.filter(|_| self.others.contains_key(&interface))?;
        self.swap(interface);
        self.interface = Some(interface);
        self.lent = true;
        let seen = look(self);
        self.lent = false;
        self.interface = Some(main);
        self.swap(interface);
        Some(seen)
    }

    /// Whether the analysis of another interface is in the place of the main one.
    pub(crate) const fn is_lent(&self) -> bool {
        self.lent
    }

    /// Puts the analysis of another interface in place. Returns `false` if there are too many
    /// interfaces.
    fn swap(&mut self, interface: u32) -> bool {
        if self.others.len() >= OTHERS_MAX && !self.others.contains_key(&interface) {
            return false;
        }
        let watched = self.journal.is_some();
        let other = self.others.entry(interface).or_insert_with(|| {
            let mut other = Interface::default();
            other.air.log = watched.then(Vec::new);
            other
        });
        std::mem::swap(&mut self.air, &mut other.air);
        std::mem::swap(&mut self.flows, &mut other.flows);
        std::mem::swap(&mut self.interface_counts, &mut other.counts);
        std::mem::swap(&mut self.dedupe, &mut other.dedupe);
        true
    }

    /// Reverses a call of [`swap`](Self::swap). The first interface that captures 802.11 becomes the main
    /// one.
    fn swap_back(&mut self, interface: u32) {
        let Some(main) = self.interface else { return };
        let is_air = self.air.begin_ns.is_some();
        match self.others.remove(&interface) {
            Some(other) if is_air && other.air.begin_ns.is_none() => {
                self.others.insert(main, other);
                self.interface = Some(interface);
            }
            Some(other) => {
                self.others.insert(interface, other);
                self.swap(interface);
            }
            None => {}
        }
    }

    fn drain_air(&mut self, interface: u32) {
        let (Some(journal), Some(log)) = (&mut self.journal, &mut self.air.log) else { return };
        for event in log.drain(..) {
            journal.handle_air(interface, event);
        }
    }

    /// Returns the link that carried the latest packet of one direction of a flow, if it was on the
    /// air.
    pub(crate) fn link_of(&self, direction: &Direction) -> Option<&Link> {
        self.air.links.get(&self.dedupe.link(direction.space?)?)
    }

    /// Returns the times of the first and the last packet, in ns since 1970.
    pub fn times(&self) -> Option<(u64, u64)> {
        self.first_ns.zip(self.last_ns)
    }

    fn second(&self, at_ns: u64) -> usize {
        let begin = self.first_ns.unwrap_or(at_ns);
        (at_ns.saturating_sub(begin) / 1_000_000_000) as usize
    }

    fn handle_frame(&mut self, frame: &Frame<'_>, offset: usize, interface: u32) {
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
            if self.decryption.is_some() {
                self.decrypt(frame, offset, interface);
            }
            return;
        }
        if let Err(error) = self.air.handle_frame(frame) {
            self.malformed(frame.number, frame.cut, &error.shifted(offset));
        }
        self.drain_air(interface);
        if self.decryption.is_some() {
            self.decrypt(frame, offset, interface);
        }
        if frame.has_payload()
            && flags.protected
            && let Some(transmitter) = frame.transmitter()
        {
            self.air.joining.handle_protected(transmitter, frame.receiver());
        }
        if frame.has_payload() && !flags.protected && frame.view.sequence_control().is_some() {
            self.handle_msdus(frame, frame.body(), offset + frame.view.body_start(), interface);
        }
    }

    /// Follows handshakes, and reads the body of a frame that can be opened.
    fn decrypt(&mut self, frame: &Frame<'_>, offset: usize, interface: u32) {
        let Some(mut decryption) = self.decryption.take() else { return };
        match decryption.handle_frame(frame) {
            Ok(Some(body)) => {
                let start = offset + frame.view.body_start() + decrypt::HEADER_LEN;
                self.handle_msdus(frame, body, start, interface);
            }
            Ok(None) => {}
            Err(error) => self.malformed(frame.number, frame.cut, &error.shifted(offset)),
        }
        self.decryption = Some(decryption);
    }

    /// Reads the MSDUs of a data frame. `body` is plaintext and starts at `start` in the packet.
    fn handle_msdus(&mut self, frame: &Frame<'_>, body: &[u8], start: usize, interface: u32) {
        let Some(control) = frame.view.sequence_control() else { return };
        if control.fragment > 0 {
            return;
        }
        let qos = frame.view.qos_control();
        let tid = qos.map_or(16, |qos| qos.tid);
        let from = frame.transmitter().and_then(|address| self.air.stations.of(address));
        let receiver = self.air.stations.of(frame.receiver());
        let retry = frame.control.flags.retry;
        let noted = from.and_then(|from| {
            self.dedupe.note(from, receiver, tid, control.sequence, retry, frame.at_ns)
        });
        let carrier = Carrier {
            mpdu: noted.map(|(space, _)| (space, tid, control.sequence.as_u16())),
            repeated: noted.is_none_or(|(_, again)| again),
            retry,
            to_ds: frame.control.to_ds,
            number: frame.number,
            at_ns: frame.at_ns,
        };
        if !qos.is_some_and(|qos| qos.amsdu_present) {
            self.handle_key(frame, body, carrier);
            self.handle_msdu(body, carrier, interface);
            return;
        }
        for subframe in amsdu::Subframes::new(body) {
            match subframe {
                Ok(subframe) => self.handle_msdu(subframe.msdu, carrier, interface),
                Err(error) => {
                    self.malformed(frame.number, frame.cut, &error.shifted(start));
                }
            }
        }
    }

    /// Handles an MSDU that is a message of the 4-way handshake.
    fn handle_key(&mut self, frame: &Frame<'_>, msdu: &[u8], carrier: Carrier) {
        let Ok((header, body)) = llc::Repr::parse(msdu) else { return };
        if header.ethertype != eapol::ETHERTYPE || carrier.repeated {
            return;
        }
        // Malformed messages are reported where frames are opened.
        let Ok(Some(key)) = eapol::Key::parse(body) else { return };
        let (information, data) = (key.information, key.key_data);
        let is_handshake = information.is_pairwise() && !information.is_request();
        let (Some(transmitter), true) = (frame.transmitter(), is_handshake) else { return };
        let message = match (information.has_ack(), information.has_mic()) {
            (true, false) => Message::First,
            (true, true) => Message::Third,
            (false, _) if data.is_empty() => Message::Fourth,
            (false, _) => Message::Second,
        };
        let (access_point, station) = match carrier.to_ds {
            true => (frame.receiver(), transmitter),
            false => (transmitter, frame.receiver()),
        };
        let joining = &mut self.air.joining;
        joining.handle_message(access_point, station, message, frame.number, frame.at_ns);
    }

    fn handle_msdu(&mut self, msdu: &[u8], carrier: Carrier, interface: u32) {
        // Other LLC formats carry no IP.
        let Ok((header, packet)) = llc::Repr::parse(msdu) else { return };
        if !matches!(header.ethertype, 0x0800 | 0x86dd) {
            return;
        }
        if let Some(journal) = &mut self.journal {
            let link = carrier.mpdu.and_then(|(space, ..)| self.dedupe.link(space));
            journal.handle_packet(interface, packet, packet.len() as u64, carrier, link);
        }
        let second = self.second(carrier.at_ns);
        let (air, dedupe) = (&self.air, &self.dedupe);
        self.flows.handle_packet(packet, carrier, second, &|(space, tid, number)| {
            let link = air.links.get(&dedupe.link(space)?)?;
            link.is_acknowledged(tid, SeqNo12::new(number))
        });
    }

    /// Lists a malformed packet. With `cut`, a snap length may be the reason for a field that ends
    /// too early; only a few of these are listed.
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

//! Interfaces of a file. A pcapng file may hold the packets of several interfaces: two radios on
//! two channels, one channel captured twice, a monitor and a wire. Their packets are interleaved,
//! so each interface has its own air and its own flows. Otherwise the frames of one radio would
//! split the A-MPDUs of the other, and a packet that both captured would be a retransmission.
//!
//! Sections of a file restart the interface numbers; interfaces with the same number count as one.
//! A radio that hops over channels is one interface and one air. Two radios under one number (a
//! merged pcap file) cannot be separated; the frequent channel changes show them.

use super::check::Verdict;
use super::dedupe::{DEVICES, Dedupe, OTHER};
use super::file::FileAnalysis;
use super::interface_counts::InterfaceCounts;
use crate::air::exchange::Link;
use crate::air::joining::handshake::Message;
use crate::air::stations::StationId;
use crate::air::{Air, SentAgain};
use crate::decrypt;
use crate::file::Packet;
use crate::frame::Frame;
use crate::link::{self, Opened, Radio};
use crate::transport::{Carrier, Flows};
use lasthop_units::SeqNo12;
use lasthop_wifi_wire::frame::View;
use lasthop_wifi_wire::{amsdu, eapol, fcs, llc};

/// Largest number of interfaces analysed besides the main one. Packets of others are counted.
pub const OTHERS_MAX: usize = 63;

/// Analysis of one interface.
#[derive(Debug, Default)]
pub struct InterfaceAnalysis {
    /// Counts of the interface.
    pub counts: InterfaceCounts,
    /// Air as this interface captured it.
    pub air: Air,
    /// Flows of transport protocols.
    pub flows: Flows,
    dedupe: Dedupe,
}

/// An MPDU in a packet.
struct HeadedMpdu<'a> {
    radio: Radio,
    bytes: &'a [u8],
    /// Offset of the MPDU in the packet.
    offset: usize,
}

/// Longest MPDU for time on the air, in bytes. The longest of 802.11 has 11 454 bytes (9.2.4.8),
/// but a file may claim any length.
const MPDU_BYTES_MAX: u32 = 1 << 16;

impl InterfaceAnalysis {
    /// Creates the analysis of an interface. If `watched`, its air records events.
    pub(super) fn new(number: u32, watched: bool) -> Self {
        let mut analysis = Self::default();
        analysis.air.interface = number;
        analysis.air.log = watched.then(Vec::new);
        analysis
    }

    /// Returns the number of the interface in the file.
    pub const fn number(&self) -> u32 {
        self.air.interface
    }

    /// Whether the interface has captured 802.11.
    pub(super) const fn is_air(&self) -> bool {
        self.air.begin_ns.is_some()
    }

    /// Gives packets without a time this time.
    pub(super) fn begin(&mut self, at_ns: u64) {
        self.air.begin(at_ns);
        self.flows.begin(at_ns);
        self.counts.begin(at_ns);
    }

    /// Reduces the memory of idle links and flows.
    pub(super) fn evict_idle(&mut self, now_ns: u64) {
        self.air.evict_idle(now_ns);
        self.flows.evict_idle(now_ns);
        self.dedupe.evict_idle(now_ns);
    }

    /// Ends the analysis: no more packets follow.
    pub(super) fn finish(&mut self, file: &mut FileAnalysis) {
        self.air.finish(&mut file.devices);
        self.drain_air(file);
    }

    /// Handles that another interface has captured an MPDU again.
    pub(super) fn handle_again(&mut self, file: &mut FileAnalysis, again: SentAgain) {
        self.air.handle_again(again, &mut file.devices);
        self.drain_air(file);
    }

    /// Returns the link of a sequence number space.
    pub(super) fn link_of(&self, space: u32) -> Option<&Link> {
        let (from, to) = self.dedupe.ends(space)?;
        self.air.links.get(&(StationId::at(from as usize), StationId::at(to as usize)))
    }

    /// Passes the events of the air on to the journal.
    fn drain_air(&mut self, file: &mut FileAnalysis) {
        let (Some(journal), Some(log)) = (&mut file.journal, &mut self.air.log) else { return };
        for event in log.drain(..) {
            journal.handle_air(self.air.interface, event);
        }
    }

    /// Counts and analyses a packet of this interface. Flows between devices are in `flows`, or else in
    /// its own.
    pub(super) fn handle_packet(
        &mut self,
        file: &mut FileAnalysis,
        flows: Option<&mut Flows>,
        packet: &Packet<'_>,
        at_ns: u64,
    ) {
        self.counts.handle_packet(packet.number, packet.link, at_ns);
        if !packet.link.is_supported() {
            file.counts.unsupported += 1;
            return;
        }
        match link::open(&mut file.headers, packet) {
            Ok(Opened::Air { radio, mpdu, offset }) => {
                let mpdu = HeadedMpdu { radio, bytes: mpdu, offset };
                self.handle_mpdu(file, flows, packet, at_ns, mpdu);
            }
            Ok(Opened::Wired(wired)) => {
                if matches!(wired.ethertype, 0x0800 | 0x86dd) {
                    let carrier = Carrier::of_wire(packet.number, at_ns);
                    let second = file.second(at_ns);
                    if let Some(journal) = &mut file.journal {
                        let bytes = u64::from(packet.length).saturating_sub(wired.offset as u64);
                        journal.handle_packet(
                            self.air.interface,
                            wired.packet,
                            bytes,
                            carrier,
                            None,
                        );
                    }
                    self.flows.handle_packet(wired.packet, carrier, second, &|_| None);
                }
            }
            Err(error) => file.malformed(packet.number, packet.is_cut(), &error),
        }
    }

    fn handle_mpdu(
        &mut self,
        file: &mut FileAnalysis,
        flows: Option<&mut Flows>,
        packet: &Packet<'_>,
        at_ns: u64,
        mpdu: HeadedMpdu<'_>,
    ) {
        let HeadedMpdu { radio, bytes, offset } = mpdu;
        file.counts.handle_radio(&radio);
        if let Some(mhz) = radio.frequency_mhz {
            self.counts.handle_channel(mhz);
        }
        let view = View::new(bytes, radio.layout);
        let verdict = self.counts.check.judge(bytes, view.as_ref().ok(), &radio);
        let radio = Radio { bad_fcs: verdict == Verdict::Wrong, ..radio };
        file.counts.without_fcs += u64::from(verdict == Verdict::None);
        match view {
            Ok(view) => {
                let missing = if radio.layout.fcs { 0 } else { fcs::LEN as u32 };
                let on_air = packet.length.saturating_sub(offset as u32).min(MPDU_BYTES_MAX);
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
                self.handle_frame(file, flows, &frame, offset);
            }
            Err(_) if radio.bad_fcs => file.counts.bad_fcs += 1,
            Err(error) => file.malformed(packet.number, packet.is_cut(), &error.shifted(offset)),
        }
    }

    fn handle_frame(
        &mut self,
        file: &mut FileAnalysis,
        mut flows: Option<&mut Flows>,
        frame: &Frame<'_>,
        offset: usize,
    ) {
        let flags = frame.control.flags;
        file.counts.handle_frame(frame);
        if frame.radio.bad_fcs {
            file.counts.bad_fcs += 1;
            if file.decryption.is_some() {
                self.decrypt(file, None, frame, offset);
            }
            return;
        }
        if let Err(error) = self.air.handle_frame(frame, &mut file.devices) {
            file.malformed(frame.number, frame.cut, &error.shifted(offset));
        }
        self.drain_air(file);
        if file.decryption.is_some() {
            self.decrypt(file, flows.as_deref_mut(), frame, offset);
        }
        if frame.has_payload()
            && flags.protected
            && let Some(transmitter) = frame.transmitter()
        {
            self.air.joining.handle_protected(transmitter, frame.receiver());
        }
        if frame.has_payload() && !flags.protected && frame.view.sequence_control().is_some() {
            let start = offset + frame.view.body_start();
            self.handle_msdus(file, flows, frame, frame.body(), start);
        }
    }

    /// Follows handshakes, and reads the body of a frame that can be opened.
    fn decrypt(
        &mut self,
        file: &mut FileAnalysis,
        flows: Option<&mut Flows>,
        frame: &Frame<'_>,
        offset: usize,
    ) {
        let Some(mut decryption) = file.decryption.take() else { return };
        match decryption.handle_frame(frame) {
            Ok(Some(body)) => {
                let start = offset + frame.view.body_start() + decrypt::HEADER_LEN;
                self.handle_msdus(file, flows, frame, body, start);
            }
            Ok(None) => {}
            Err(error) => file.malformed(frame.number, frame.cut, &error.shifted(offset)),
        }
        file.decryption = Some(decryption);
    }

    /// Reads the MSDUs of a data frame. `body` is plaintext and starts at `start` in the packet.
    fn handle_msdus(
        &mut self,
        file: &mut FileAnalysis,
        mut flows: Option<&mut Flows>,
        frame: &Frame<'_>,
        body: &[u8],
        start: usize,
    ) {
        let Some(control) = frame.view.sequence_control() else { return };
        if control.fragment > 0 {
            return;
        }
        let qos = frame.view.qos_control();
        let tid = qos.map_or(16, |qos| qos.tid);
        let from = frame.transmitter().and_then(|address| self.air.stations.id_of(address));
        let receiver = self.air.stations.id_of(frame.receiver());
        let retry = frame.control.flags.retry;
        let link = from.zip(receiver);
        let pair = link.and_then(|(from, to)| self.air.place(from, to, &mut file.devices));
        let (sequence, at_ns) = (control.sequence, frame.at_ns);
        let noted = match (pair, from) {
            (Some(place), _) => {
                let noted = file.dedupe.note((place.pair(), OTHER), tid, sequence, retry, at_ns);
                noted.map(|(space, again)| (DEVICES + space, again))
            }
            (None, Some(from)) => {
                let to = receiver.map_or(OTHER, |to| to.index() as u32);
                self.dedupe.note((from.index() as u32, to), tid, sequence, retry, at_ns)
            }
            (None, None) => None,
        };
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
            self.handle_msdu(file, flows, body, carrier, link);
            return;
        }
        for subframe in amsdu::AmsduSubframes::new(body) {
            match subframe {
                Ok(subframe) => {
                    self.handle_msdu(file, flows.as_deref_mut(), subframe.msdu, carrier, link);
                }
                Err(error) => {
                    file.malformed(frame.number, frame.cut, &error.shifted(start));
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
        let information = key.information;
        let is_handshake = information.is_pairwise() && !information.is_request();
        let (Some(transmitter), true) = (frame.transmitter(), is_handshake) else { return };
        let message = Message::from_key(&key);
        let (access_point, station) = if carrier.to_ds {
            (frame.receiver(), transmitter)
        } else {
            (transmitter, frame.receiver())
        };
        let joining = &mut self.air.joining;
        joining.handle_message(access_point, station, message, frame.number, frame.at_ns);
    }

    fn handle_msdu(
        &mut self,
        file: &mut FileAnalysis,
        flows: Option<&mut Flows>,
        msdu: &[u8],
        carrier: Carrier,
        link: Option<(StationId, StationId)>,
    ) {
        // Other LLC formats carry no IP.
        let Ok((header, packet)) = llc::Repr::parse(msdu) else { return };
        if !matches!(header.ethertype, 0x0800 | 0x86dd) {
            return;
        }
        if let Some(journal) = &mut file.journal {
            let (number, bytes) = (self.air.interface, packet.len() as u64);
            journal.handle_packet(number, packet, bytes, carrier, link);
        }
        let second = file.second(carrier.at_ns);
        let Self { air, dedupe, .. } = self;
        let fate = |(space, tid, number)| {
            let sequence = SeqNo12::new(number);
            if space >= DEVICES {
                return file.pair_of(space)?.is_acknowledged(tid, sequence);
            }
            let (from, to) = dedupe.ends(space)?;
            let key = (StationId::at(from as usize), StationId::at(to as usize));
            air.links.get(&key)?.is_acknowledged(tid, sequence)
        };
        let is_of_devices = carrier.mpdu.is_some_and(|(space, ..)| space >= DEVICES);
        let flows = flows.filter(|_| is_of_devices).unwrap_or(&mut self.flows);
        flows.handle_packet(packet, carrier, second, &fate);
    }
}

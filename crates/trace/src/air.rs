//! Writes `air.pcapng`: the frames that a monitor interface close to each transmitter would
//! capture, also those that collided or were lost at their receiver (Acks and Block Acks, and
//! `events.parquet`, show the receptions). Each MPDU is a packet with a radiotap header, at the end
//! of its PPDU; the signal is that at the receiver, and TSFT the start of the PSDU in microseconds.
//! The subframes of an A-MPDU have a common reference number. MSDUs are real if the driver still
//! has their bytes, else made up (see `ethernet`); the payload of made-up MSDUs may be left out.
//! Clauses are those of IEEE 802.11-2020.

mod announced;
mod multi_link;
mod roaming;
mod switching;
mod triggers;

use crate::ethernet::{self, Frames};
use crate::names::Names;
use crate::output::{OutputError, Target};
use crate::pcapng::{self, Capture, LinkType, SNAP_BYTES};
use crate::segments::Segments;
use announced::{DeviceElements, beacon_elements, place_in_80, probe_elements};
use lasthop_packet::{AccessCategory, Packet};
use lasthop_units::{Duration, MacAddr, SeqNo12};
use lasthop_wifi::event::{Frame, FrameKind, Ppdu, QueueSize, TriggeredUser};
use lasthop_wifi::mac::power_save::partial_virtual_bitmap;
use lasthop_wifi::mac::roam::frame::RoamFrame;
use lasthop_wifi::phy::{Band, Rate};
use lasthop_wifi::wire::action::{self, BlockAckParameters};
use lasthop_wifi::wire::control::{
    self, AckVariant, AnswerRate, BlockAck, BlockAckRequest, CommonInfo, MultiSta, StationRecord,
    Trigger,
};
use lasthop_wifi::wire::data::{self, Addresses};
use lasthop_wifi::wire::elements::{self, Elements, Tim};
use lasthop_wifi::wire::management::{self, Beacon};
use lasthop_wifi::wire::radiotap::{self, AmpduStatus, Channel, HeFormat};
use lasthop_wifi::wire::{
    AckPolicy, Flags, QosControl, SequenceControl, amsdu, fcs, frame, llc, operating_mode,
};
use lasthop_wifi::{Address, StationId};
use roaming::RoamContents;
use std::collections::BTreeMap;
use std::io::Write;
use switching::Announced;

pub use multi_link::AirLink;

/// Properties of the cell, for beacons and radiotap headers.
#[derive(Clone, Debug, PartialEq)]
pub struct AirInfo {
    /// Frequency band of the cell.
    pub band: Band,
    /// Number of the primary channel, such as 6 or 36.
    pub channel: u8,
    /// Primary channel of each station, by [`StationId`], if they differ; else empty.
    pub channels: Vec<u8>,
    /// Link of each station, by [`StationId`], if devices have several; else empty.
    pub links: Vec<AirLink>,
    /// Links of each access point with several, by their numbers.
    pub devices: Vec<Vec<StationId>>,
    /// Name of the network; truncated to 32 bytes.
    pub ssid: String,
    /// Time between beacons, announced in time units of 1 024 us.
    pub beacon_interval: Duration,
    /// Basic rates, without HT rates.
    pub basic_rates: Vec<Rate>,
    /// Rates of the access point, HT rates included.
    pub rates: Vec<Rate>,
    /// Colour of the access point's BSS, 1 to 63; 0 without one.
    pub colour: u8,
    /// Whether stations roam, and leave the channels on which they began.
    pub roams: bool,
    /// The access points of each network of several sets.
    pub networks: Vec<Vec<StationId>>,
    /// Whether a station may send A-MSDUs. Their payload is written whole, since headers follow it.
    pub amsdu: bool,
}

/// Settings of a stream of `air.pcapng` during a run.
#[derive(Clone, Debug, PartialEq)]
pub struct AirStream {
    /// Properties of the cell.
    pub info: AirInfo,
    /// Longest record of a packet in bytes, radiotap header included; `None` for whole packets. Of
    /// the bytes left out, only the number is recorded.
    pub snap_bytes: Option<u32>,
    /// Whether data frames, and Block Acks and requests for them, are written.
    pub data: bool,
}

/// Snap length with A-MSDUs, as [`SNAP_BYTES`]: the longest A-MSDU (7 935 bytes) and the headers.
const AMSDU_SNAP_BYTES: u32 = 8_192;

/// The writer of `air.pcapng`.
pub(crate) struct AirWriter {
    capture: Capture,
    maker: Maker,
    band: Band,
    channel: Channel,
    /// Channel of each station, if they differ.
    channels: Vec<Channel>,
    /// Interface of each station, if there are several.
    interfaces: Vec<u32>,
    /// Channels of stations that are there before their access point.
    ahead: BTreeMap<StationId, Channel>,
    ampdus: u32,
    /// Buffers of radiotap headers: for the last frame of a PSDU, and for the frames before it.
    radiotap: [Vec<u8>; 2],
    /// Whether data frames, and Block Acks and requests for them, are written.
    data: bool,
}

/// Maker of MPDUs.
struct Maker {
    interval_tu: u16,
    capabilities: u16,
    /// Elements of a beacon before the TIM, and after it.
    elements: [Vec<u8>; 2],
    /// Elements of the beacons of each station that sends some, if channels differ.
    elements_of: Vec<Option<[Vec<u8>; 2]>>,
    probe: Vec<u8>,
    /// Smallest number of bytes made of a made-up frame; headers are always made.
    bytes_made: usize,
    /// Longest record of a packet, in bytes.
    snap_bytes: usize,
    /// Properties of the cell.
    info: AirInfo,
    frames: Frames,
}

/// Source of the bytes of packets.
#[derive(Clone, Copy)]
pub(crate) struct Contents<'a> {
    /// Returns the Ethernet frame with this tag, if the driver has it.
    pub frames: &'a dyn Fn(u64) -> Option<Vec<u8>>,
    pub segments: &'a Segments,
    pub names: &'a Names,
}

impl AirWriter {
    /// Makes a writer; `cut` leaves out the payload of made-up frames.
    pub(crate) fn new(
        target: impl Into<Target>,
        info: &AirInfo,
        cut: bool,
    ) -> Result<Self, OutputError> {
        let snap_bytes = if info.amsdu { AMSDU_SNAP_BYTES } else { SNAP_BYTES };
        let mut writer = Self::with(target.into(), info, cut.then_some(snap_bytes))?;
        if cut {
            writer.maker.bytes_made = 0;
        }
        Ok(writer)
    }

    /// Makes a writer to a stream.
    pub(crate) fn stream(
        target: Box<dyn Write + Send>,
        stream: &AirStream,
    ) -> Result<Self, OutputError> {
        let writer = Self::with(Target::Stream(target), &stream.info, stream.snap_bytes)?;
        Ok(Self { data: stream.data, ..writer })
    }

    /// Whether the writer needs the bytes of packets.
    pub(crate) const fn wants_data(&self) -> bool {
        self.data
    }

    fn with(target: Target, info: &AirInfo, snap_bytes: Option<u32>) -> Result<Self, OutputError> {
        let short_slots = match info.band {
            Band::Ghz2_4 => Beacon::SHORT_PREAMBLE | Beacon::SHORT_SLOT_TIME,
            Band::Ghz5 | Band::Ghz6 => 0,
        };
        let interval_tu = info.beacon_interval.as_micros() / 1_024;
        let channel = Channel::from_number(info.band, info.channel);
        let band = |station: usize| info.links.get(station).map_or(info.band, |link| link.band);
        let channels: Vec<Channel> = info
            .channels
            .iter()
            .enumerate()
            .map(|(station, &number)| Channel::from_number(band(station), number))
            .collect();
        let (names, interfaces) = multi_link::interfaces(info, &channels);
        let first = names.first().map_or("air", String::as_str);
        let mut capture = Capture::new(target, LinkType::Radiotap, first, snap_bytes)?;
        for name in names.iter().skip(1) {
            capture.interface(LinkType::Radiotap, name, snap_bytes);
        }
        let snap_bytes = snap_bytes.map_or(usize::MAX, |bytes| bytes as usize);
        let mut maker = Maker {
            interval_tu: u16::try_from(interval_tu).unwrap_or(u16::MAX),
            capabilities: Beacon::ESS | short_slots,
            elements: beacon_elements(info, &DeviceElements::default()),
            elements_of: vec![None; info.channels.len()],
            probe: probe_elements(info),
            bytes_made: snap_bytes,
            snap_bytes,
            info: info.clone(),
            frames: Frames::default(),
        };
        for (station, own) in maker.elements_of.iter_mut().enumerate() {
            let id = StationId(station as u16);
            let device = DeviceElements::new(info, id);
            let is_other = info.channels[station] != info.channel || band(station) != info.band;
            if is_other || device != DeviceElements::default() {
                *own = Some(beacon_elements(&info.on_link(id), &device));
            }
        }
        Ok(Self {
            capture,
            maker,
            band: info.band,
            channel,
            channels,
            interfaces,
            ahead: BTreeMap::new(),
            ampdus: 0,
            radiotap: Default::default(),
            data: true,
        })
    }

    /// Writes names of addresses, and those of further links.
    pub(crate) fn names(
        &mut self,
        list: &[(pcapng::Address, &str)],
        names: &Names,
    ) -> Result<(), OutputError> {
        let further = multi_link::names(&self.maker.info, names);
        if further.is_empty() {
            return self.capture.names(list);
        }
        let further = further.iter().map(|(address, name)| (*address, name.as_str()));
        let list: Vec<_> = list.iter().copied().chain(further).collect();
        self.capture.names(&list)
    }

    pub(crate) fn close(self) -> Result<(), OutputError> {
        self.capture.close()
    }

    /// Writes the MPDUs of a PPDU.
    pub(crate) fn ppdu(&mut self, ppdu: &Ppdu, contents: Contents<'_>) -> Result<(), OutputError> {
        let roams = self.maker.info.roams;
        let place = if roams { place_of(ppdu, contents.names) } else { ppdu.transmitter };
        let own = self.channels.get(usize::from(place.0)).copied();
        let own = self.ahead.get(&ppdu.transmitter).copied().or(own);
        let channel = own.unwrap_or(self.channel);
        if let Some(interface) = self.interfaces.get(usize::from(place.0)) {
            self.capture.select(*interface);
        }
        for (place, psdu) in ppdu.psdus.iter().enumerate() {
            let start = ppdu.start + psdu.rate.preamble_and_header(self.band);
            let mut header = radiotap::Repr::received(start, psdu.rate, channel, psdu.signal);
            if let Some(ru) = psdu.ru {
                let is_downlink = contents.names.is_access_point(ppdu.transmitter);
                header = header.on_unit(
                    if is_downlink { HeFormat::MultiUser } else { HeFormat::TriggerBased },
                    ru,
                );
            }
            if ppdu.psdus.len() > 1 {
                header = header.of_several(place);
            }
            if !contents.names.is_access_point(ppdu.transmitter) {
                header = header.in_uplink();
            }
            if psdu.aggregated {
                self.ampdus = self.ampdus.wrapping_add(1);
            }
            // All frames of a PSDU have the same header, except the last.
            let last = psdu.frames.len().saturating_sub(1);
            for (radiotap, is_last) in self.radiotap.iter_mut().zip([false, true]) {
                radiotap.clear();
                if is_last || last > 0 {
                    if psdu.aggregated {
                        header.ampdu_status = Some(AmpduStatus::new(self.ampdus, is_last));
                    }
                    header.emit(radiotap);
                }
            }
            for (index, frame) in psdu.frames.iter().enumerate() {
                if !self.data && is_about_data(frame.kind) {
                    continue;
                }
                let Self { capture, maker, radiotap, .. } = &mut *self;
                capture.packet(ppdu.end, None, |out| {
                    let begin = out.len();
                    out.extend_from_slice(&radiotap[usize::from(index == last)]);
                    maker.frame(ppdu, psdu.receiver, frame, contents, begin, out)
                })?;
            }
        }
        Ok(())
    }
}

impl Maker {
    /// Appends an MPDU with its FCS to the packet that starts at `begin`. Returns the number of
    /// bytes left out at its end.
    fn frame(
        &mut self,
        ppdu: &Ppdu,
        receiver: Address,
        frame: &Frame,
        contents: Contents<'_>,
        begin: usize,
        out: &mut Vec<u8>,
    ) -> usize {
        let names = contents.names;
        let transmitter = self.address(ppdu.transmitter, names);
        let receiver = match receiver {
            Address::Station(station) => self.address(station, names),
            Address::Group => MacAddr::BROADCAST,
        };
        let flags = Flags {
            retry: frame.retry,
            more_data: frame.more_data,
            power_management: frame.power_management,
            ..Flags::default()
        };
        let link = Link {
            transmitter,
            receiver,
            from_access_point: names.is_access_point(ppdu.transmitter),
            flags,
            duration_us: frame.duration_us,
            sequence: frame.sequence,
        };
        match frame.kind {
            FrameKind::Data | FrameKind::QosData { .. } => {
                let end = begin.saturating_add(self.snap_bytes);
                return self.data(&link, frame, contents, end, out);
            }
            FrameKind::Null { power_management } => {
                link.null(power_management, None).emit_mpdu(out);
            }
            FrameKind::QosNull { power_management, access_category } => {
                let qos = match frame.queue_size {
                    // A report is not acknowledged (26.5.5).
                    Some(_) => QosControl { ack_policy: AckPolicy::NoAck, ..qos_of(frame) },
                    None => QosControl { tid: access_category.tid(), ..qos_of(frame) },
                };
                link.null(power_management, Some(qos)).emit_mpdu(out);
            }
            FrameKind::Ack => link.control(control::Body::Ack).emit_mpdu(out),
            FrameKind::Cts => link.control(control::Body::Cts).emit_mpdu(out),
            FrameKind::Rts => link.control(control::Body::Rts { transmitter }).emit_mpdu(out),
            FrameKind::MuRts { aid, width } => {
                let place = self.place_in_80(ppdu.transmitter);
                let (common, rest) = multi_link::mu_rts(aid, width, place, frame.bytes);
                let trigger = Trigger { common, rest: &rest };
                link.control(control::Body::Trigger { transmitter, trigger }).emit_mpdu(out);
            }
            FrameKind::BlockAck { tid, start, bitmap, bits } => {
                let bitmap = bitmap.to_octets(bits);
                let ack = BlockAck::compressed(tid, start, &bitmap);
                link.control(control::Body::BlockAck { transmitter, ack }).emit_mpdu(out);
            }
            FrameKind::BlockAckRequest { tid, start } => {
                let request = BlockAckRequest::compressed(tid, start);
                link.control(control::Body::BlockAckRequest { transmitter, request })
                    .emit_mpdu(out);
            }
            _ if triggers::is_eht(frame) => {
                let mut rest = Vec::new();
                let common = triggers::emit(frame, &mut rest);
                let trigger = Trigger { common, rest: &rest };
                link.control(control::Body::Trigger { transmitter, trigger }).emit_mpdu(out);
            }
            FrameKind::MuBlockAckRequest { tid, response, guard_interval, width } => {
                let mut rest = Vec::new();
                for user in &frame.triggered {
                    let (ru, mcs, start) = (user.ru, user.mcs, user.start);
                    control::emit_block_ack_request(user.aid, ru, mcs, tid, start, &mut rest);
                }
                let common = CommonInfo::block_ack_request(response, guard_interval, width);
                let trigger = Trigger { common, rest: &rest };
                link.control(control::Body::Trigger { transmitter, trigger }).emit_mpdu(out);
            }
            FrameKind::BasicTrigger { access_category, response, guard_interval, width } => {
                let mut rest = Vec::new();
                for user in &frame.triggered {
                    let rate = answer_rate(user);
                    control::emit_basic(user.aid, user.ru, rate, access_category, &mut rest);
                }
                let streams = frame.triggered.iter().map(|user| user.streams).max().unwrap_or(1);
                let common = CommonInfo::basic(response, guard_interval, width, streams);
                let trigger = Trigger { common, rest: &rest };
                link.control(control::Body::Trigger { transmitter, trigger }).emit_mpdu(out);
            }
            FrameKind::BufferStatusReportPoll { response, guard_interval, width } => {
                let mut rest = Vec::new();
                for user in &frame.triggered {
                    let rate = answer_rate(user);
                    control::emit_buffer_status_report_poll(user.aid, user.ru, rate, &mut rest);
                }
                let common = CommonInfo::buffer_status_report_poll(response, guard_interval, width);
                let trigger = Trigger { common, rest: &rest };
                link.control(control::Body::Trigger { transmitter, trigger }).emit_mpdu(out);
            }
            FrameKind::NdpAnnouncement { feedback } => {
                let mut stations = Vec::new();
                for &aid in &frame.announced {
                    control::emit_ndp_station(aid, &feedback, &mut stations);
                }
                let variant = if feedback.grouping.is_he() { NDP_OF_HE } else { 0 };
                let token = DIALOG_TOKEN << 2 | variant;
                let announcement = control::NdpAnnouncement { token, stations: &stations };
                link.control(control::Body::NdpAnnouncement { transmitter, announcement })
                    .emit_mpdu(out);
            }
            FrameKind::BeamformingReportPoll => {
                let segments = ALL_SEGMENTS;
                link.control(control::Body::BeamformingReportPoll { transmitter, segments })
                    .emit_mpdu(out);
            }
            FrameKind::BeamformingReportTrigger { response, guard_interval, width } => {
                let mut rest = Vec::new();
                for user in &frame.triggered {
                    let rate = answer_rate(user);
                    control::emit_beamforming_report_poll(user.aid, user.ru, rate, &mut rest);
                }
                let common = CommonInfo::beamforming_report_poll(response, guard_interval, width);
                let trigger = Trigger { common, rest: &rest };
                link.control(control::Body::Trigger { transmitter, trigger }).emit_mpdu(out);
            }
            FrameKind::BeamformingReport { feedback, remaining, is_first } => {
                let mut bytes = Vec::new();
                let segment = control::ReportSegment { remaining, is_first };
                control::emit_beamforming_report(&feedback, segment, DIALOG_TOKEN, &mut bytes);
                // Angles and SNRs are zeros.
                let header_and_fcs = 24 + fcs::LEN;
                bytes.resize(usize::from(frame.bytes).saturating_sub(header_and_fcs), 0);
                let body = management::Body::Other { subtype: ACTION_NO_ACK, bytes: &bytes };
                link.management(body).emit_mpdu(out);
            }
            FrameKind::MultiStationBlockAck => {
                let mut records = Vec::new();
                for one in &frame.acknowledged {
                    let bitmap = one.bitmap.to_octets(one.bits);
                    StationRecord::emit_bitmap(one.aid, one.tid, one.start, &bitmap, &mut records);
                }
                let variant = AckVariant::MultiSta(MultiSta::new(&records));
                let ack = BlockAck { no_ack: true, tid: 0, variant };
                link.control(control::Body::BlockAck { transmitter, ack }).emit_mpdu(out);
            }
            FrameKind::PsPoll { aid } => link.ps_poll(aid).emit_mpdu(out),
            FrameKind::Beacon { dtim_count, dtim_period, group_traffic, switch } => {
                let (bitmap_offset, bitmap) = partial_virtual_bitmap(&frame.announced);
                let bitmap = &bitmap;
                let tim = Tim { dtim_count, dtim_period, group_traffic, bitmap_offset, bitmap };
                let [before, behind] = self.elements(ppdu.transmitter);
                let mut elements = before.clone();
                elements::Repr::Tim(tim)
                    .emit(&mut elements)
                    .expect("2 007 stations fit into 251 octets");
                match &switch {
                    None => elements.extend_from_slice(behind),
                    Some(said) => Announced { said, info: &self.info }.emit(behind, &mut elements),
                }
                let beacon = self.beacon(ppdu, &elements);
                link.management(management::Body::Beacon(beacon)).emit_mpdu(out);
            }
            FrameKind::ProbeRequest { .. } => {
                let link = Link { receiver: MacAddr::BROADCAST, ..link };
                let request = management::Body::ProbeRequest(Elements::new(&self.probe));
                link.management(request).emit_mpdu(out);
            }
            FrameKind::ProbeResponse => {
                let elements = self.elements(ppdu.transmitter).concat();
                let beacon = self.beacon(ppdu, &elements);
                link.management(management::Body::ProbeResponse(beacon)).emit_mpdu(out);
            }
            FrameKind::AddbaRequest { tid, window, start } => {
                let extension = addba_extension(window);
                let request = action::Repr::AddbaRequest {
                    dialog_token: DIALOG_TOKEN,
                    parameters: parameters(tid, window),
                    timeout_tu: 0,
                    start: SequenceControl::new(start),
                    rest: extension.as_ref().map_or(&[], |element| element),
                };
                link.management(management::Body::Action(request)).emit_mpdu(out);
            }
            FrameKind::AddbaResponse { tid, window } => {
                let extension = addba_extension(window);
                let response = action::Repr::AddbaResponse {
                    dialog_token: DIALOG_TOKEN,
                    status: SUCCESS,
                    parameters: parameters(tid, window),
                    timeout_tu: 0,
                    rest: extension.as_ref().map_or(&[], |element| element),
                };
                link.management(management::Body::Action(response)).emit_mpdu(out);
            }
            FrameKind::Roam { frame: roam, facts, aid, other } => {
                let at = place_of(ppdu, names);
                let neighbours = self.neighbours(roam, [at, other], names, facts.neighbours);
                let other = station_address(other, names);
                let contents = RoamContents {
                    info: &self.info,
                    facts,
                    aid,
                    current: other,
                    target: other,
                    neighbours: &neighbours,
                    switch: elements::ChannelSwitch::default(),
                };
                link.roam(roam, &contents, out);
            }
            FrameKind::OperatingMode { mode, by_control: true } => {
                let frame = link.qos_null(AccessCategory::Voice, operating_mode::control(mode));
                frame.emit_mpdu(out);
            }
            FrameKind::OperatingMode { mode, by_control: false } => {
                let [category, action] = operating_mode::NOTIFICATION;
                let bytes = &[action, operating_mode::field(mode)];
                let notification = action::Repr::Other { category, bytes };
                link.management(management::Body::Action(notification)).emit_mpdu(out);
            }
            FrameKind::Delba { tid } => {
                let delba = action::Repr::Delba {
                    initiator: true,
                    tid,
                    reason: END_OF_BLOCK_ACK,
                    rest: &[],
                };
                link.management(management::Body::Action(delba)).emit_mpdu(out);
            }
        }
        0
    }

    /// Appends a data frame, and returns the number of bytes left out at its end. Skips the FCS if it
    /// would lie behind `end` and so stay unwritten: computing it would be a fifth of a run's time.
    fn data(
        &mut self,
        link: &Link,
        frame: &Frame,
        contents: Contents<'_>,
        end: usize,
        out: &mut Vec<u8>,
    ) -> usize {
        let qos = match frame.kind {
            FrameKind::QosData { access_category, amsdu } => Some(QosControl {
                tid: access_category.tid(),
                amsdu_present: amsdu,
                ..qos_of(frame)
            }),
            _ => None,
        };
        let begin = out.len();
        let mut left_out = 0;
        if qos.is_some_and(|qos| qos.amsdu_present) {
            // In an A-MSDU the third address is the BSSID (9.3.2.1.2): the source
            // address in a frame from the access point, the destination address in a
            // frame to it.
            link.header(link.addresses(link.receiver, link.transmitter), qos).emit(out);
            let mut writer = amsdu::AmsduWriter::new();
            let mut msdu = Vec::new();
            for packet in &frame.packets {
                let real = real_frame(packet, contents);
                let [destination, source] = ends(packet, real.as_deref(), contents.names);
                msdu.clear();
                self.msdu(packet, real.as_deref(), contents, usize::MAX, &mut msdu);
                writer
                    .push(&amsdu::AmsduSubframe { destination, source, msdu: &msdu })
                    .expect("a packet and its LLC header are shorter than 65 535 bytes");
            }
            out.extend_from_slice(&writer.finish());
        } else if let Some(packet) = frame.packets.first() {
            let real = real_frame(packet, contents);
            let [destination, source] = ends(packet, real.as_deref(), contents.names);
            // A station does not bridge, so the receiver is the destination of a frame from
            // the access point, and the transmitter the source of a frame to it.
            let destination = if link.from_access_point { link.receiver } else { destination };
            let source = if link.from_access_point { source } else { link.transmitter };
            link.header(link.addresses(destination, source), qos).emit(out);
            left_out = self.msdu(packet, real.as_deref(), contents, self.bytes_made, out);
        } else {
            link.header(link.addresses(link.receiver, link.transmitter), qos).emit(out);
        }
        if left_out == 0 && out.len() < end {
            let fcs = fcs::compute(&out[begin..]);
            out.extend_from_slice(&fcs.to_le_bytes());
            return 0;
        }
        left_out + fcs::LEN
    }

    /// Appends a packet as MSDU, with its LLC header, and returns the number of bytes left out at its
    /// end; `bytes_made` is the smallest number of bytes made of a made-up frame.
    fn msdu(
        &mut self,
        packet: &Packet,
        real: Option<&[u8]>,
        contents: Contents<'_>,
        bytes_made: usize,
        out: &mut Vec<u8>,
    ) -> usize {
        let Contents { segments, names, .. } = contents;
        let ethertype = match real {
            Some(frame) => u16::from_be_bytes([frame[12], frame[13]]),
            None => ethernet::ethertype(packet),
        };
        out.extend_from_slice(&llc::Repr::new(ethertype).to_bytes());
        match real {
            Some(frame) => {
                out.extend_from_slice(&frame[ethernet::HEADER_BYTES..]);
                0
            }
            None => {
                let from = ethernet::HEADER_BYTES;
                self.frames.append(packet, names, segments, bytes_made, from, out)
            }
        }
    }

    /// Returns the first `number` access points that `at` lists in a frame, with their channels: in a
    /// report itself, in a request the one that it prefers, and the others of its network.
    fn neighbours(
        &self,
        frame: RoamFrame,
        [at, other]: [StationId; 2],
        names: &Names,
        number: u8,
    ) -> Vec<(MacAddr, u8)> {
        let AirInfo { networks, channels, channel, .. } = &self.info;
        let network = networks.iter().find(|network| network.contains(&at));
        let first = if frame == RoamFrame::NeighborReportResponse { at } else { other };
        let others = network.into_iter().flatten().copied();
        let others = others.filter(|of| *of != at && *of != first);
        let listed = std::iter::once(first).chain(others).take(number.into());
        let on = |of: StationId| channels.get(of.index()).copied().unwrap_or(*channel);
        listed.map(|of| (station_address(of, names), on(of))).collect()
    }

    /// Returns the address under which a station sends and receives.
    fn address(&self, station: StationId, names: &Names) -> MacAddr {
        match self.info.links.get(station.index()) {
            Some(link) => link.address,
            None => station_address(station, names),
        }
    }

    /// Place of the primary channel of a station in its 80 MHz.
    fn place_in_80(&self, station: StationId) -> u8 {
        let AirInfo { band, channel, channels, links, .. } = &self.info;
        let band = links.get(station.index()).map_or(*band, |link| link.band);
        place_in_80(band, channels.get(station.index()).copied().unwrap_or(*channel))
    }

    /// Returns the elements that an access point announces.
    fn elements(&self, access_point: StationId) -> &[Vec<u8>; 2] {
        let own = self.elements_of.get(usize::from(access_point.0)).and_then(Option::as_ref);
        own.unwrap_or(&self.elements)
    }

    /// Returns the body of a beacon or a Probe Response with these elements.
    fn beacon<'a>(&self, ppdu: &Ppdu, elements: &'a [u8]) -> Beacon<'a> {
        Beacon {
            timestamp_us: ppdu.start.as_nanos() / 1_000,
            interval_tu: self.interval_tu,
            capabilities: self.capabilities,
            elements: Elements::new(elements),
        }
    }
}

/// Returns the QoS Control field of a frame, with the sender's queue or the end of a service
/// period; that of best effort without either.
fn qos_of(frame: &Frame) -> QosControl {
    match frame.queue_size {
        Some(QueueSize { tid, code }) => QosControl {
            tid,
            // Bit 4 of a station's says that a queue size follows.
            end_of_service_period: true,
            upper: code,
            ..QosControl::default()
        },
        None => QosControl {
            tid: AccessCategory::BestEffort.tid(),
            end_of_service_period: frame.end_of_service_period,
            ..QosControl::default()
        },
    }
}

/// Whether a frame carries data, or controls a Block Ack agreement for data.
const fn is_about_data(kind: FrameKind) -> bool {
    matches!(
        kind,
        FrameKind::Data
            | FrameKind::QosData { .. }
            | FrameKind::BlockAck { .. }
            | FrameKind::BlockAckRequest { .. }
            | FrameKind::MuBlockAckRequest { .. }
            | FrameKind::BasicTrigger { .. }
            | FrameKind::BufferStatusReportPoll { .. }
            | FrameKind::MultiStationBlockAck
            | FrameKind::NdpAnnouncement { .. }
            | FrameKind::BeamformingReportPoll
            | FrameKind::BeamformingReportTrigger { .. }
            | FrameKind::BeamformingReport { .. }
    )
}

/// Bits 0 and 1 of a Sounding Dialog Token field: an NDP Announcement of HE.
const NDP_OF_HE: u8 = 2;
/// Feedback Segment Retransmission Bitmap for all segments.
const ALL_SEGMENTS: u8 = 0xff;
/// Subtype of management frames that are not acknowledged.
const ACTION_NO_ACK: u8 = 14;
/// Dialog token of ADDBA frames. Two stations have one ADDBA exchange at a time.
const DIALOG_TOKEN: u8 = 1;
/// Status code 0, success (9.4.1.9).
const SUCCESS: u16 = 0;
/// Reason code 37, END_BA (9.4.1.7).
const END_OF_BLOCK_ACK: u16 = 37;

/// Fields shared by all MAC headers of an MPDU.
struct Link {
    transmitter: MacAddr,
    receiver: MacAddr,
    from_access_point: bool,
    flags: Flags,
    duration_us: u16,
    sequence: SeqNo12,
}

impl Link {
    fn bssid(&self) -> MacAddr {
        if self.from_access_point { self.transmitter } else { self.receiver }
    }

    fn addresses(&self, destination: MacAddr, source: MacAddr) -> Addresses {
        if self.from_access_point {
            // A group-addressed frame has the group as its destination, whatever the
            // packet says.
            let destination =
                if self.receiver.is_multicast() { self.receiver } else { destination };
            Addresses::FromDs { destination, bssid: self.transmitter, source }
        } else {
            Addresses::ToDs { bssid: self.receiver, source, destination }
        }
    }

    /// Header of a data frame whose body follows.
    fn header(&self, addresses: Addresses, qos: Option<QosControl>) -> data::Repr<'static> {
        data::Repr {
            flags: self.flags,
            duration_us: self.duration_us,
            addresses,
            sequence_control: SequenceControl::new(self.sequence),
            qos,
            ht_control: None,
            body: Some(&[]),
        }
    }

    fn null(&self, power_management: bool, qos: Option<QosControl>) -> frame::Repr<'static> {
        let header = self.header(self.addresses(self.receiver, self.transmitter), qos);
        data::Repr { flags: Flags { power_management, ..self.flags }, body: None, ..header }.into()
    }

    /// Makes a QoS Null frame with an HT Control field.
    fn qos_null(&self, category: AccessCategory, ht_control: u32) -> frame::Repr<'static> {
        let qos = QosControl { tid: category.tid(), ..QosControl::default() };
        let header = self.header(self.addresses(self.receiver, self.transmitter), Some(qos));
        data::Repr { ht_control: Some(ht_control), body: None, ..header }.into()
    }

    fn ps_poll(&self, aid: u16) -> frame::Repr<'_> {
        // The two most significant bits of a Duration/ID field with an AID are set
        // (9.2.4.2).
        control::Repr {
            flags: Flags { power_management: true, ..self.flags },
            duration_id: aid | 0xc000,
            receiver: self.receiver,
            body: control::Body::PsPoll { transmitter: self.transmitter },
        }
        .into()
    }

    fn control<'a>(&self, body: control::Body<'a>) -> frame::Repr<'a> {
        let duration_id = self.duration_us;
        control::Repr { flags: self.flags, duration_id, receiver: self.receiver, body }.into()
    }

    fn management<'a>(&self, body: management::Body<'a>) -> frame::Repr<'a> {
        management::Repr {
            flags: self.flags,
            duration_us: self.duration_us,
            receiver: self.receiver,
            transmitter: self.transmitter,
            bssid: self.bssid(),
            sequence_control: SequenceControl::new(self.sequence),
            ht_control: None,
            body,
        }
        .into()
    }
}

/// Returns the Ethernet frame of a packet, if the driver has it. A fragment has the tag of its packet,
/// whose bytes are not its own.
fn real_frame(packet: &Packet, contents: Contents<'_>) -> Option<Vec<u8>> {
    if !packet.fragment.is_whole() {
        return None;
    }
    (contents.frames)(packet.tag).filter(|frame| frame.len() >= ethernet::HEADER_BYTES)
}

/// Returns destination and source of a packet, those of its frame if there is one.
fn ends(packet: &Packet, real: Option<&[u8]>, names: &Names) -> [MacAddr; 2] {
    match real {
        Some(frame) => [0, 6].map(|at| {
            let mut octets = [0; 6];
            octets.copy_from_slice(&frame[at..at + 6]);
            MacAddr(octets)
        }),
        None => [packet.destination, packet.source].map(|end| ethernet::node_address(end, names)),
    }
}

fn parameters(tid: u8, window: u16) -> BlockAckParameters {
    BlockAckParameters { amsdu: true, immediate: true, tid, buffer_size: window % 1_024 }
}

/// The ADDBA Extension element of a window of 1 024 MPDUs or more: no fragmentation, and Extended
/// Buffer Size (IEEE 802.11be-2024, 9.4.2.138).
fn addba_extension(window: u16) -> Option<[u8; 3]> {
    let extended = (window >> 10) as u8;
    (extended > 0).then_some([159, 1, 1 | extended << 5])
}

/// Returns the rate that a Trigger frame prescribes for a user.
const fn answer_rate(user: &TriggeredUser) -> AnswerRate {
    AnswerRate { mcs: user.mcs, streams: user.streams, dcm: user.dcm }
}

/// The station on whose channel a PPDU is: the access point at one of its ends, since a station that
/// roams leaves the channel on which it began.
fn place_of(ppdu: &Ppdu, names: &Names) -> StationId {
    let first = ppdu.psdus.first();
    let asked = first.and_then(|psdu| psdu.frames.first()).map(|frame| frame.kind);
    match (asked, first.map(|psdu| psdu.receiver)) {
        _ if names.is_access_point(ppdu.transmitter) => ppdu.transmitter,
        (Some(FrameKind::ProbeRequest { access_point }), _) => access_point,
        (_, Some(Address::Station(receiver))) if names.is_access_point(receiver) => receiver,
        _ => ppdu.transmitter,
    }
}

fn station_address(station: StationId, names: &Names) -> MacAddr {
    let node = names.stations.get(station.index());
    node.and_then(|node| names.nodes.get(node.index())).map_or(MacAddr::default(), |n| n.address)
}

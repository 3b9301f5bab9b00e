//! Analysis of a channel, from the frames that a monitor captured: stations ([`stations`]), PPDUs
//! ([`ppdu`]), their answers ([`exchange`], [`chain`]), links of one device ([`devices`],
//! [`pairs`]), absences and their causes ([`absence`],
//! [`bare`], [`schedule`]), joining and leaving ([`joining`]), beacons ([`beacons`]), channels of
//! the receiver ([`channels`]), roams ([`roams`]), levels of beacons ([`levels`]), Probe Requests
//! ([`probing`]), and time on the air. One pass, in the order of the file. Memory
//! grows with stations and seconds, not with frames.

pub mod absence;
pub mod bare;
pub mod beacons;
pub mod chain;
pub mod channels;
pub mod devices;
pub mod exchange;
pub mod joining;
pub mod levels;
pub mod overlap;
pub mod pairs;
pub mod pauses;
pub mod ppdu;
pub mod probing;
pub mod roams;
pub mod schedule;
pub mod stations;
mod unheard;

use crate::frame::Frame;
use crate::limits::{IDLE_NS, LOOK_EVERY};
use crate::rate::{Format, Rate};
use crate::series::Busy;
use absence::Absences;
use bare::BareFrame;
use beacons::Beacons;
use channels::Channels;
use devices::Devices;
use exchange::{Link, Sharing, is_data, is_null};
use joining::Joining;
use lasthop_units::{Duration, MacAddr, SeqNo12};
use lasthop_wifi_phy::Band;
use lasthop_wifi_wire::control::Body;
use lasthop_wifi_wire::{Error, Kind, frame, management};
use levels::Levels;
use overlap::Overlaps;
use pairs::LinkPlace;
use ppdu::{Grouper, Ppdu};
use probing::{Probing, Rush};
use roams::attempt::Roam;
use roams::{Mark, Roams};
use stations::{StationId, Stations};
use std::collections::BTreeMap;

/// Analysis of a channel.
#[derive(Debug)]
pub struct Air {
    /// Stations that sent or were sent frames.
    pub stations: Stations,
    /// Data between stations, by sender and receiver.
    pub links: BTreeMap<(StationId, StationId), Link>,
    /// Links that were dropped for newer ones, and data PPDUs of links that could not be added.
    pub links_left_out: (u64, u64),
    /// Number of data PPDUs to refuse before the next search for idle links.
    place_after: u32,
    /// Beacons by access point.
    pub beacons: BTreeMap<StationId, Beacons>,
    /// Absences that stations announced, in the order of stations.
    pub absences: BTreeMap<StationId, Absences>,
    /// Stations that join networks, are refused, or are removed.
    pub joining: Joining,
    /// Changes of stations between access points.
    pub roaming: Roams,
    /// Number of the interface in the file.
    pub(crate) interface: u32,
    /// Sender and receiver of the latest frame that is sent again, if both are of devices, with TID
    /// and number: its previous PPDU may be one that another interface has not ended yet.
    pub(crate) again: Option<SentAgain>,
    /// Levels of beacons.
    pub levels: Levels,
    /// Probe Requests of all stations.
    pub probing: Probing,
    /// Time on the air and levels of each station, in the order of stations.
    pub heard: Vec<Heard>,
    /// Time on the air of Acks and CTS, which do not name their senders.
    pub answers: Duration,
    /// Time on the air by second.
    pub busy: Busy,
    /// Time of the first frame, in ns since 1970.
    pub begin_ns: Option<u64>,
    /// Time of the latest frame, in ns since 1970.
    pub end_ns: u64,
    /// Centre of the (primary) channel of the latest frame in MHz, if its header names it.
    pub frequency_mhz: Option<u16>,
    /// PPDUs that began during another one.
    pub overlaps: Overlaps,
    /// Time on the air of DSSS and CCK, and number of PPDUs.
    pub dsss: (Duration, u64),
    /// Frames that protect others from stations of 802.11b: first and last, their number, and their
    /// time on the air. They are CTS-to-self, and RTS at rates of DSSS if beacons ask for
    /// protection.
    pub protection: (Option<(u64, u64)>, u64, Duration),
    /// Number of PPDUs.
    pub ppdus: u64,
    /// PPDUs of unknown rate, and so of unknown time on the air.
    pub without_rate: u64,
    /// Channels of the receiver.
    pub channels: Channels,
    /// Events about data, if they are wanted. The caller takes them after each frame.
    pub log: Option<Vec<AirEvent>>,
    /// Number of absences that are kept, of all stations.
    absences_kept: usize,
    band: Band,
    grouper: Grouper,
    /// Link of the latest PPDU, which may be answered.
    awaiting: Option<(StationId, StationId)>,
    /// Whether the latest frame to the receiver of this link was a Block Ack Request.
    requested: bool,
    /// Sender of the latest frame that an Ack may answer.
    asked: Option<StationId>,
    /// Sender and receiver of the Null frame that an Ack may answer, and whether its rate is the
    /// slowest.
    asked_null: Option<(StationId, StationId, bool)>,
    /// Sender of the RTS that was the latest frame on the air.
    rts_from: Option<StationId>,
    /// CTS that was the latest frame on the air, if it may be a CTS-to-self.
    cts: Option<Cts>,
    /// Channel of the latest frame in MHz, and its bit in masks of channels.
    tuned: (u16, u64),
    /// Sender, receiver and end of the latest PPDU, if it names both.
    before: Option<(StationId, StationId, u64)>,
    /// Number of frames without data that may still be kept.
    bare_left: u32,
}

/// A CTS without a captured RTS before it.
#[derive(Clone, Copy, Debug)]
struct Cts {
    /// Receiver of the CTS, which may also be its sender.
    station: StationId,
    /// End of its NAV, in ns since 1970.
    until_ns: u64,
    signal_dbm: Option<i8>,
    number: u64,
    airtime: Duration,
}

/// Event about data on the air.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AirEvent {
    /// A data frame was on the air, and its PPDU has ended. Times are in ns since 1970.
    Mpdu {
        /// Number of its packet.
        number: u64,
        /// Start of its PPDU; the capture time if the rate is unknown.
        begin_ns: u64,
        /// End of the MPDU; in an A-MPDU, before the MPDUs that follow it.
        end_ns: u64,
        /// Whether the end is exact: no MPDU behind it was missed.
        exact: bool,
    },
    /// An MPDU was acknowledged for the first time.
    Acknowledged {
        /// Sender of the MPDU.
        from: StationId,
        /// Receiver of the MPDU.
        to: StationId,
        /// Traffic identifier (TID) of the MPDU; 16 without QoS.
        tid: u8,
        /// Sequence number of the MPDU.
        sequence: SeqNo12,
        /// Capture time of the Ack or Block Ack, in ns since 1970.
        at_ns: u64,
    },
}

/// An MPDU between two devices that is sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SentAgain {
    pair: u32,
    tid: u8,
    sequence: SeqNo12,
}

impl SentAgain {
    fn new(frame: &Frame<'_>, interface: u32, devices: &mut Devices) -> Option<Self> {
        if !frame.control.flags.retry || devices.is_empty() {
            return None;
        }
        let (from, tid) = (frame.transmitter()?, frame.view.qos_control()?.tid);
        let pair = devices.place(from, frame.receiver(), interface)?.pair();
        Some(Self { pair, tid, sequence: frame.view.sequence_control()?.sequence })
    }
}

/// Captured frames of a station.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Heard {
    /// Number of frames from the station.
    pub frames: u64,
    /// Time on the air of its frames.
    pub airtime: Duration,
    /// Sum of the levels in dBm, and their number.
    pub signal: (i64, u64),
    /// Lowest and highest level in dBm.
    pub signal_range: Option<(i8, i8)>,
    /// Number of Probe Requests, with which it looked for networks.
    pub probe_requests: u64,
    /// The ten seconds with most of these.
    pub probing: Rush,
    /// Number of RTS frames.
    pub rts: u64,
    /// Acks to the station since it last sent data that answer no captured frame.
    unasked: u32,
    /// Mask of the receiver's channels on which the station was heard.
    channels: u64,
}

/// Largest number of links followed.
const LINKS_MAX: usize = 16_384;
/// Largest number of absences kept for all stations together.
const ABSENCES_ALL_MAX: usize = 2 * stations::STATIONS_MAX;
/// Longest time from a frame to its answer, in ns. A host stamps packets late, and unevenly.
const ANSWER_NS: u64 = 2_000_000;
/// Largest difference of levels of two consecutive frames of one station, in dB.
const LEVELS_ALIKE_DB: u8 = 6;

impl Default for Air {
    fn default() -> Self {
        Self {
            stations: Stations::default(),
            links: BTreeMap::new(),
            links_left_out: (0, 0),
            place_after: 0,
            beacons: BTreeMap::new(),
            absences: BTreeMap::new(),
            heard: Vec::new(),
            answers: Duration::ZERO,
            busy: Busy::default(),
            overlaps: Overlaps::default(),
            dsss: (Duration::ZERO, 0),
            protection: (None, 0, Duration::ZERO),
            begin_ns: None,
            end_ns: 0,
            frequency_mhz: None,
            ppdus: 0,
            without_rate: 0,
            channels: Channels::default(),
            log: None,
            joining: Joining::default(),
            roaming: Roams::default(),
            interface: 0,
            again: None,
            levels: Levels::default(),
            probing: Probing::default(),
            absences_kept: 0,
            band: Band::Ghz5,
            grouper: Grouper::default(),
            awaiting: None,
            requested: false,
            asked: None,
            asked_null: None,
            rts_from: None,
            cts: None,
            tuned: (0, 0),
            before: None,
            bare_left: bare::BUDGET,
        }
    }
}

impl Air {
    /// Analyses a frame that was received without error. `devices` are those of all interfaces.
    ///
    /// # Errors
    ///
    /// A management or control frame that is malformed behind its header. Offsets count from the
    /// start of the MPDU. The readable part of the frame is analysed.
    pub fn handle_frame(&mut self, frame: &Frame<'_>, devices: &mut Devices) -> Result<(), Error> {
        self.begin_ns.get_or_insert(frame.at_ns);
        self.end_ns = self.end_ns.max(frame.at_ns);
        if let Some(mhz) = frame.radio.frequency_mhz {
            self.frequency_mhz = Some(mhz);
            self.band = if mhz < 4_000 { Band::Ghz2_4 } else { Band::Ghz5 };
            let stay = self.channels.stay();
            self.tuned = (mhz, self.channels.handle_frame(mhz, frame.at_ns));
            if self.channels.stay() != stay {
                self.leave_channel();
            }
        }
        let receiver = self.stations.id_of(frame.receiver());
        let transmitter = frame.transmitter().and_then(|address| self.stations.id_of(address));
        self.heard.resize(self.stations.count(), Heard::default());
        if let Some(id) = transmitter {
            self.note(id, frame);
        }
        if let Some(ppdu) = self.grouper.handle_mpdu(frame, transmitter, receiver, self.band) {
            self.handle_ppdu(&ppdu, devices);
            self.grouper.recycle(ppdu);
        }
        let kind = frame.kind();
        if kind.is_data() {
            self.again = SentAgain::new(frame, self.interface, devices);
            self.data(frame, transmitter, receiver);
            Ok(())
        } else if kind.is_management() {
            self.management(frame, transmitter, receiver, devices)
        } else {
            self.control(frame, transmitter, receiver, devices)
        }
    }

    /// Ends a PPDU that has an MPDU which another interface captured again: it is over, although no
    /// frame after it was captured here.
    pub(crate) fn handle_again(&mut self, again: SentAgain, devices: &mut Devices) {
        let ends = self.grouper.ends_of(again.tid, again.sequence);
        let place = ends.and_then(|(from, to)| self.place(from, to, devices));
        if place.is_some_and(|place| place.pair() == again.pair)
            && let Some(ppdu) = self.grouper.finish(self.band)
        {
            self.handle_ppdu(&ppdu, devices);
            self.grouper.recycle(ppdu);
        }
    }

    /// Handles a change of the receiver's channel.
    #[cold]
    fn leave_channel(&mut self) {
        self.absences.values_mut().for_each(Absences::interrupt);
        self.absences_kept = self.absences.values().map(Absences::kept).sum();
    }

    /// Gives packets without a time this time. Their absences are dropped, since their lengths are
    /// unknown.
    pub(crate) fn begin(&mut self, at_ns: u64) {
        if self.begin_ns.is_some() {
            self.begin_ns = Some(at_ns);
            self.end_ns = at_ns;
            self.absences.clear();
            self.channels = Channels::default();
        }
    }

    /// Reduces the memory of links that have been idle for long. Later frames of these links are
    /// analysed as if nothing had happened.
    pub(crate) fn evict_idle(&mut self, now_ns: u64) {
        for link in self.links.values_mut() {
            if now_ns.saturating_sub(link.latest_ns) >= IDLE_NS {
                link.compact();
            }
        }
    }

    /// Whether a link can be added. If there are too many, drops idle links with the fewest MPDUs.
    fn has_place(&mut self, from: StationId, to: StationId, now_ns: u64) -> bool {
        let key = (from, to);
        if self.links.len() < LINKS_MAX || self.links.contains_key(&key) {
            return true;
        }
        if self.place_after > 0 {
            self.place_after -= 1;
            self.links_left_out.1 += 1;
            return false;
        }
        let idle =
            self.links.iter().filter(|(_, link)| now_ns.saturating_sub(link.latest_ns) >= IDLE_NS);
        let mut idle: Vec<_> = idle.map(|(key, link)| (link.counts.mpdus, *key)).collect();
        idle.sort_unstable();
        for (_, key) in idle.iter().take(LINKS_MAX / 4) {
            self.links.remove(key);
            self.links_left_out.0 += 1;
        }
        if idle.is_empty() {
            self.links_left_out.1 += 1;
            self.place_after = LOOK_EVERY;
        }
        !idle.is_empty()
    }

    /// Prepares the link from one station to another, which is heard now, if both belong to
    /// multi-link devices. Links between the same two devices share their sequence numbers: an MPDU
    /// that fails on one may be sent again on another (IEEE 802.11be-2024, 35.3.8). The link has the
    /// numbers of the devices until [`return_spaces`](Self::return_spaces). A station that associated
    /// before the capture may have further links, too, if its access point has and an EHT PPDU
    /// (`is_eht`) is between them: numbers that are left out prove no missed frame.
    fn borrow_spaces(
        &mut self,
        from: StationId,
        to: StationId,
        is_eht: bool,
        devices: &mut Devices,
    ) -> Option<LinkPlace> {
        if devices.is_empty() {
            return None;
        }
        let [sender, receiver] = [from, to].map(|id| self.stations.get(id).address);
        let place = devices.place(sender, receiver, self.interface);
        let sharing = match place {
            Some(place) if devices.is_whole(place) => Sharing::Whole,
            Some(_) => Sharing::Part,
            None if devices.are_of(sender, receiver) => Sharing::Twice,
            None if is_eht && devices.may_have_links(sender, receiver) => Sharing::Unknown,
            None => return None,
        };
        let is_heard_always = self.channels.is_several_radios();
        let link = self.links.entry((from, to)).or_insert_with(|| Link::new(from, to));
        link.join_devices(sharing, is_heard_always);
        if let Some(place) = place {
            link.borrow_spaces(&mut devices.pairs.at(place).spaces);
        }
        place
    }

    /// Returns the sequence numbers of a link to its devices. A PPDU was handled, or an answer.
    fn return_spaces(
        &mut self,
        place: Option<LinkPlace>,
        [from, to]: [StationId; 2],
        ppdu: Option<&Ppdu>,
        devices: &mut Devices,
    ) {
        let Some(place) = place else { return };
        let pair = devices.pairs.at(place);
        let new = ppdu.map_or(0, |ppdu| pair.handle_ppdu(place, ppdu));
        if let Some(link) = self.links.get_mut(&(from, to)) {
            link.return_spaces(&mut pair.spaces, new);
        }
    }

    /// Returns the place of a link among those of two devices, if it is one.
    pub(crate) fn place(
        &self,
        from: StationId,
        to: StationId,
        devices: &mut Devices,
    ) -> Option<LinkPlace> {
        if devices.is_empty() {
            return None;
        }
        let [from, to] = [from, to].map(|id| self.stations.get(id).address);
        devices.place(from, to, self.interface)
    }

    /// Drops the earlier absences of each station if there are too many of all stations.
    fn bound_absences(&mut self) {
        if self.absences_kept <= ABSENCES_ALL_MAX {
            return;
        }
        let each = (ABSENCES_ALL_MAX / 2 / self.absences.len()).max(1);
        self.absences.values_mut().for_each(|absences| absences.forget(each));
        self.absences_kept = self.absences.values().map(Absences::kept).sum();
    }

    /// Ends the analysis: no more frames follow.
    pub fn finish(&mut self, devices: &mut Devices) {
        if let Some(ppdu) = self.grouper.finish(self.band) {
            self.handle_ppdu(&ppdu, devices);
        }
        self.links.values_mut().for_each(Link::finish);
        self.absences.values_mut().for_each(|absences| {
            absences.finish();
        });
        self.roaming.finish();
    }

    /// Returns the second of the capture at a time.
    pub fn second(&self, at_ns: u64) -> usize {
        let begin = self.begin_ns.unwrap_or(at_ns);
        (at_ns.saturating_sub(begin) / 1_000_000_000) as usize
    }

    /// Returns the time that the receiver spent on the channels on which it heard a station, in ns.
    /// For a receiver that did not hop, it is the whole capture.
    pub fn time_of(&self, id: StationId) -> u64 {
        let heard = self.heard.get(id.index()).map_or(0, |heard| heard.channels);
        let length = self.end_ns.saturating_sub(self.begin_ns.unwrap_or(self.end_ns));
        self.channels.time_ns(heard).unwrap_or(length).max(1)
    }

    /// Returns the length of the capture on the air, in ns.
    pub(crate) fn length_ns(&self) -> u64 {
        self.end_ns.saturating_sub(self.begin_ns.unwrap_or(self.end_ns)).max(1)
    }

    /// Returns the time on the air of all frames on the channels on which a station was heard, in
    /// ns.
    pub fn busy_of(&self, id: StationId) -> u64 {
        let heard = self.heard.get(id.index()).map_or(0, |heard| heard.channels);
        self.channels.airtime_ns(heard).unwrap_or(self.busy.sum_ns)
    }

    /// Whether headers have enough rates for shares of the time on the air: for nine PPDUs in ten.
    pub const fn has_rates(&self) -> bool {
        self.without_rate * 10 <= self.ppdus
    }

    /// Returns the band of the frames.
    pub const fn band(&self) -> Band {
        self.band
    }

    fn note(&mut self, id: StationId, frame: &Frame<'_>) {
        let heard = &mut self.heard[id.index()];
        heard.frames += 1;
        heard.channels |= self.tuned.1;
        if let Some(signal) = frame.radio.signal_dbm {
            heard.signal.0 += i64::from(signal);
            heard.signal.1 += 1;
            let (low, high) = heard.signal_range.unwrap_or((signal, signal));
            heard.signal_range = Some((low.min(signal), high.max(signal)));
        }
    }

    /// Handles data and Null frames: which network a station belongs to, and whether it is away.
    fn data(
        &mut self,
        frame: &Frame<'_>,
        transmitter: Option<StationId>,
        receiver: Option<StationId>,
    ) {
        match (frame.control.to_ds, frame.control.from_ds, transmitter, receiver) {
            (true, false, Some(station), Some(access_point)) => {
                self.stations.set_access_point(access_point);
                self.stations.set_bss(station, access_point);
                let absences = self.absences.entry(station).or_default();
                let before = absences.kept();
                absences.handle_sent(frame);
                // The number becomes smaller if the station has too many.
                self.absences_kept = (self.absences_kept + absences.kept()).saturating_sub(before);
                self.bound_absences();
                if frame.has_payload() {
                    let address = self.stations.get(station).address;
                    self.joining.handle_data(frame.receiver(), address);
                    self.roaming.handle_data(frame, station, frame.receiver(), true);
                }
            }
            (false, true, Some(access_point), station) => {
                self.stations.set_access_point(access_point);
                let Some(station) = station else { return };
                self.stations.set_bss(station, access_point);
                if frame.has_payload() {
                    let address = self.stations.get(access_point).address;
                    self.roaming.handle_data(frame, station, address, false);
                }
                if frame.has_payload()
                    && let Some(absences) = self.absences.get_mut(&station)
                {
                    absences
                        .handle_received(frame.at_ns, self.grouper.at_ns().unwrap_or(frame.at_ns));
                }
            }
            _ => {}
        }
    }

    fn management(
        &mut self,
        frame: &Frame<'_>,
        transmitter: Option<StationId>,
        receiver: Option<StationId>,
        devices: &mut Devices,
    ) -> Result<(), Error> {
        if let Some(absences) = transmitter.and_then(|id| self.absences.get_mut(&id)) {
            absences.handle_management(frame);
        }
        self.joining.handle_management(frame);
        self.roaming.handle_management(frame, transmitter, receiver);
        if frame.control.flags.protected {
            return Ok(());
        }
        let parsed = match frame::Repr::parse(&frame.view) {
            Ok(frame::Repr::Management(parsed)) => parsed,
            Ok(_) => return Ok(()),
            Err(error) => return Err(error),
        };
        devices.handle_management(&parsed);
        let Some(id) = transmitter else { return Ok(()) };
        match parsed.body {
            management::Body::Beacon(beacon)
                if beacon.capabilities & management::Beacon::ESS != 0 =>
            {
                self.stations.set_access_point(id);
                let on = frame.radio.frequency_mhz.and_then(channels::number);
                let stay = self.channels.stay();
                let beacons = self.beacons.entry(id).or_default();
                beacons.handle_beacon(&beacon, frame.at_ns, on, stay);
                if let Some(dbm) = frame.radio.signal_dbm {
                    beacons.signal.0 += i64::from(dbm);
                    beacons.signal.1 += 1;
                    self.levels.handle_beacon(id, &beacons.ssid, dbm, frame.at_ns);
                }
                for (station, absences) in &mut self.absences {
                    if self.stations.get(*station).bss == Some(id) {
                        absences.handle_beacon(frame.at_ns);
                    }
                }
            }
            management::Body::ProbeRequest(_) => {
                let heard = &mut self.heard[id.index()];
                heard.probe_requests += 1;
                let airtime = frame
                    .radio
                    .rate
                    .map_or(Duration::ZERO, |rate| rate.airtime(frame.mpdu_bytes, self.band));
                self.probing.airtime.0 += airtime;
                if !frame.control.flags.retry {
                    heard.probing.handle_request(frame.number, frame.at_ns);
                    self.probing.all.handle_request(frame.number, frame.at_ns);
                }
            }
            management::Body::ProbeResponse(response) => {
                self.probing.responses += 1;
                if let Some(rate) = frame.radio.rate {
                    self.probing.airtime.1 += rate.airtime(frame.mpdu_bytes, self.band);
                }
                if let Some(name) = response.elements.ssid() {
                    self.roaming.note_name(self.stations.get(id).address, name);
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn control(
        &mut self,
        frame: &Frame<'_>,
        transmitter: Option<StationId>,
        receiver: Option<StationId>,
        devices: &mut Devices,
    ) -> Result<(), Error> {
        match frame.kind() {
            Kind::Ack => {
                if let Some(station) = receiver
                    && let Some(absences) = self.absences.get_mut(&station)
                {
                    absences.handle_ack(frame.number, frame.at_ns);
                }
            }
            Kind::Rts => {
                if let Some(id) = transmitter {
                    self.heard[id.index()].rts += 1;
                    if let Some(absences) = self.absences.get_mut(&id) {
                        absences.handle_sent(frame);
                    }
                }
            }
            Kind::Cts => self.note_cts(frame, receiver),
            Kind::PsPoll => {
                if let Some(absences) = transmitter.and_then(|id| self.absences.get_mut(&id)) {
                    absences.handle_sent(frame);
                }
            }
            _ => {}
        }
        // Acks and similar frames have been read; only these have more fields.
        let is_block_ack = matches!(frame.kind(), Kind::BlockAck | Kind::BlockAckRequest);
        if !is_block_ack {
            return Ok(());
        }
        let parsed = match frame::Repr::parse(&frame.view) {
            Ok(frame::Repr::Control(parsed)) => parsed,
            Ok(_) => return Ok(()),
            Err(error) => return Err(error),
        };
        let (Some(from), Some(to)) = (transmitter, receiver) else { return Ok(()) };
        match parsed.body {
            Body::BlockAckRequest { .. } => {
                self.requested = true;
                if let Some(link) = self.links.get_mut(&(from, to)) {
                    link.counts.block_ack_requests += 1;
                }
            }
            Body::BlockAck { ack, .. } => {
                let key = (to, from);
                let prompt = self.awaiting == Some(key) && !self.requested;
                let acknowledges =
                    ack.bitmaps().flatten().any(|it| it.bitmap.received().next().is_some());
                if acknowledges {
                    self.note_delivered(to, from, Mark::at(frame));
                }
                // A Block Ack proves data, even if none was captured.
                if (self.links.contains_key(&key) || acknowledges)
                    && self.has_place(to, from, frame.at_ns)
                {
                    self.note_network(from, to);
                    let place = self.borrow_spaces(to, from, false, devices);
                    let stay = self.channels.stay();
                    let link = self.links.entry(key).or_insert_with(|| Link::new(to, from));
                    link.handle_stay(stay);
                    link.latest_ns = link.latest_ns.max(frame.at_ns);
                    let soon = |at_ns| frame.at_ns.saturating_sub(at_ns) < ANSWER_NS;
                    let prompt = prompt && link.unanswered_since().is_some_and(soon);
                    for record in ack.bitmaps().flatten() {
                        let at_ns = frame.at_ns;
                        link.handle_block_ack(&record, prompt, &mut |tid, sequence| {
                            log_acknowledged(&mut self.log, to, from, tid, sequence, at_ns);
                            devices.pairs.handle_acknowledged(place, tid, sequence, at_ns);
                        });
                    }
                    self.return_spaces(place, [key.0, key.1], None, devices);
                }
                self.awaiting = None;
                self.requested = false;
                self.handle_answer(from, frame.number);
            }
            _ => {}
        }
        Ok(())
    }

    /// Relates two stations that exchange data, if one is known to be an access point.
    fn note_network(&mut self, a: StationId, b: StationId) {
        for (station, other) in [(a, b), (b, a)] {
            let is_new = self.stations.get(station).bss.is_none();
            if is_new && self.stations.get(other).access_point {
                self.stations.set_bss(station, other);
            }
        }
    }

    /// Notes a CTS. Without a captured RTS before it, it may be a CTS-to-self.
    fn note_cts(&mut self, frame: &Frame<'_>, receiver: Option<StationId>) {
        let answers_rts = self.rts_from.is_some() && self.rts_from == receiver;
        // Stations that understand only DSSS exist only at 2.4 GHz, and a CTS reaches them only at
        // such a rate (IEEE 802.11-2020, 10.27).
        let is_dsss = frame.radio.rate.is_none_or(|rate| rate.format == Format::Dsss);
        let at_2_4 = match (frame.radio.frequency_mhz, frame.radio.rate) {
            (Some(mhz), _) => mhz < 4_000,
            (None, rate) => rate.is_some_and(|rate| rate.format == Format::Dsss),
        };
        let station = receiver.filter(|_| !answers_rts && is_dsss && at_2_4);
        // The NAV is counted from the end of the frame.
        let nav_ns = u64::from(frame.view.duration_id().unwrap_or_default()) * 1_000;
        self.cts = station.map(|station| Cts {
            station,
            until_ns: frame.at_ns.saturating_add(nav_ns),
            signal_dbm: frame.radio.signal_dbm,
            number: frame.number,
            airtime: frame
                .radio
                .rate
                .map_or(Duration::ZERO, |rate| rate.airtime(frame.mpdu_bytes, self.band)),
        });
    }

    /// Decides whether a CTS was a CTS-to-self: its receiver sends the next PPDU within the NAV, at
    /// a rate that 802.11b does not understand, and at the same level. A receiver that sends RTS
    /// frames was answered by the CTS; the monitor missed the RTS.
    fn resolve_cts(&mut self, ppdu: &Ppdu) {
        let Some(cts) = self.cts.take() else { return };
        let begin_ns = ppdu.at_ns.saturating_sub(ppdu.airtime.as_nanos());
        let levels = cts.signal_dbm.zip(ppdu.signal_dbm);
        if ppdu.transmitter != Some(cts.station)
            || begin_ns > cts.until_ns
            || ppdu.rate.is_some_and(|rate| rate.format == Format::Dsss)
            || levels.is_some_and(|(a, b)| a.abs_diff(b) > LEVELS_ALIKE_DB)
            || self.heard[cts.station.index()].rts > 0
        {
            return;
        }
        self.note_protection(cts.number, cts.number, cts.airtime);
    }

    fn note_protection(&mut self, first: u64, last: u64, airtime: Duration) {
        let (range, number, sum) = &mut self.protection;
        let first = range.map_or(first, |(first, _)| first);
        *range = Some((first, last));
        *number += 1;
        *sum += airtime;
    }

    /// Whether beacons of a station's network ask for protection from 802.11b.
    fn is_protected(&self, id: StationId) -> bool {
        let beacons = self.stations.get(id).bss.and_then(|bss| self.beacons.get(&bss));
        beacons.is_some_and(|beacons| beacons.capabilities.erp_protection)
    }

    /// Handles an answer to data from one station to another.
    fn note_delivered(&mut self, from: StationId, to: StationId, here: Mark) {
        let [a, b] = [from, to].map(|station| {
            let address = self.stations.get(station).address;
            roams::Addressed { station, address }
        });
        self.roaming.handle_delivered(a, b, here);
    }

    /// Returns the name of an access point's network, if a frame has it.
    pub fn network_name(&self, access_point: MacAddr) -> Option<&[u8]> {
        let id = self.stations.find(access_point);
        let beacons = id.and_then(|id| self.beacons.get(&id)).map(|beacons| &beacons.ssid[..]);
        let named = beacons.filter(|name| name.iter().any(|byte| *byte != 0));
        named.or_else(|| self.roaming.name(access_point))
    }

    /// Returns the changes of stations between access points of one network.
    pub fn roams(&self) -> impl Iterator<Item = &Roam> {
        self.roaming.changes().iter().filter(|roam| {
            match (self.network_name(roam.from), self.network_name(roam.to)) {
                (Some(from), Some(to)) => from == to,
                _ => roam.method.reassociation || roam.method.is_fast(),
            }
        })
    }

    /// Handles an answer of a station to data.
    fn handle_answer(&mut self, station: StationId, number: u64) {
        let Some(absences) = self.absences.get_mut(&station) else { return };
        let before = absences.kept();
        absences.handle_answer(number);
        self.absences_kept = (self.absences_kept + absences.kept()).saturating_sub(before);
    }

    /// Handles an Ack to a station without a captured frame that it could answer.
    fn handle_unasked(&mut self, station: StationId) {
        self.heard[station.index()].unasked += 1;
        let known = self.stations.get(station);
        // The receiver of an access point's missed frame is unknown.
        if known.access_point {
            return;
        }
        let link = known.bss.and_then(|bss| self.links.get_mut(&(station, bss)));
        if let Some(link) = link {
            link.handle_unasked();
        }
    }

    /// Adds a frame without data to the absences that it belongs to.
    fn handle_bare(&mut self, frame: BareFrame) {
        if frame.kind == Kind::Beacon {
            for (station, absences) in &mut self.absences {
                if self.stations.get(*station).bss == frame.transmitter {
                    absences.handle_bare(frame, &mut self.bare_left);
                }
            }
            return;
        }
        for station in [frame.transmitter, frame.receiver].into_iter().flatten() {
            if let Some(absences) = self.absences.get_mut(&station) {
                absences.handle_bare(frame, &mut self.bare_left);
            }
        }
    }

    /// Handles the end of a PPDU, before the frame that shows the end is analysed.
    fn handle_ppdu(&mut self, ppdu: &Ppdu, devices: &mut Devices) {
        self.ppdus += 1;
        self.without_rate += u64::from(ppdu.rate.is_none());
        let second = self.second(ppdu.at_ns);
        self.busy.add(second, ppdu.airtime.as_nanos());
        if let Some(mhz) = ppdu.frequency_mhz {
            self.channels.add_airtime(mhz, ppdu.airtime);
        }
        match ppdu.transmitter {
            Some(id) => self.heard[id.index()].airtime += ppdu.airtime,
            None => self.answers += ppdu.airtime,
        }
        let data = ppdu.mpdus.iter().find(|mpdu| is_data(mpdu.kind));
        let kind = data.unwrap_or(&ppdu.mpdus[0]).kind;
        match BareFrame::from_ppdu(ppdu, self.before) {
            Some(frame) => self.handle_bare(frame),
            None => {
                for id in [ppdu.transmitter, ppdu.receiver].into_iter().flatten() {
                    if let Some(absences) = self.absences.get_mut(&id) {
                        absences.handle_other();
                    }
                }
            }
        }
        let ends = ppdu.transmitter.zip(ppdu.receiver);
        self.before = ends.map(|(from, to)| (from, to, ppdu.at_ns));
        if let Some(log) = &mut self.log
            && ppdu.mpdus.iter().any(|mpdu| is_data(mpdu.kind))
        {
            let begin_ns = ppdu.at_ns.saturating_sub(ppdu.airtime.as_nanos());
            log.extend(ppdu.ends_ns().map(|(number, end_ns, exact)| AirEvent::Mpdu {
                number,
                begin_ns,
                end_ns,
                exact,
            }));
        }
        self.overlaps.handle_ppdu(ppdu, self.band);
        let is_dsss = ppdu.rate.is_some_and(|rate| rate.format == Format::Dsss);
        if is_dsss {
            self.dsss.0 += ppdu.airtime;
            self.dsss.1 += 1;
        }
        self.rts_from = ppdu.transmitter.filter(|_| kind == Kind::Rts);
        if kind == Kind::Rts && is_dsss && ppdu.transmitter.is_some_and(|id| self.is_protected(id))
        {
            let (first, last) = ppdu.frames;
            self.note_protection(first, last, ppdu.airtime);
        }
        if kind != Kind::Cts {
            self.resolve_cts(ppdu);
        }
        let asked = match kind {
            Kind::Ack => self.asked.take(),
            Kind::Cts => self.asked,
            _ => std::mem::replace(
                &mut self.asked,
                ppdu.transmitter.filter(|_| ppdu.receiver.is_some()),
            ),
        };
        let asked_null = match kind {
            Kind::Cts => None,
            _ => self.asked_null.take(),
        };
        match (kind, ppdu.transmitter, ppdu.receiver) {
            (Kind::Ack, _, Some(to)) => {
                if let Some((from, by, is_slowest)) = asked_null
                    && from == to
                    && let Some(link) = self.links.get_mut(&(from, by))
                {
                    link.handle_null_ack(is_slowest);
                }
                let awaited = self.awaiting.take().filter(|(from, _)| *from == to);
                let place =
                    awaited.and_then(|(from, to)| self.borrow_spaces(from, to, false, devices));
                if let Some(link) = awaited.and_then(|key| self.links.get_mut(&key))
                    && link
                        .unanswered_since()
                        .is_some_and(|at_ns| ppdu.at_ns.saturating_sub(at_ns) < ANSWER_NS)
                {
                    let (from, to) = (link.from, link.to);
                    link.handle_ack(&mut |tid, sequence| {
                        log_acknowledged(&mut self.log, from, to, tid, sequence, ppdu.at_ns);
                        devices.pairs.handle_acknowledged(place, tid, sequence, ppdu.at_ns);
                    });
                    self.handle_answer(to, ppdu.frames.1);
                    let here = Mark { at_ns: ppdu.at_ns, number: ppdu.frames.1 };
                    self.note_delivered(from, to, here);
                } else if asked != Some(to) {
                    self.handle_unasked(to);
                }
                if let Some(key) = awaited {
                    self.return_spaces(place, [key.0, key.1], None, devices);
                }
            }
            // A Block Ack is handled at once.
            (Kind::BlockAck | Kind::BlockAckRequest, ..) => {}
            (Kind::Rts | Kind::Cts, ..) => self.awaiting = None,
            (_, Some(from), Some(to)) => {
                self.awaiting = None;
                if ppdu.mpdus.iter().any(|mpdu| is_data(mpdu.kind))
                    && self.has_place(from, to, ppdu.at_ns)
                {
                    let is_eht = ppdu.rate.is_some_and(|rate| rate.format == Format::Eht);
                    let place = self.borrow_spaces(from, to, is_eht, devices);
                    let stay = self.channels.stay();
                    let link = self.links.entry((from, to)).or_insert_with(|| Link::new(from, to));
                    link.handle_stay(stay);
                    let unasked = std::mem::take(&mut self.heard[from.index()].unasked);
                    link.handle_ppdu(ppdu, second, unasked);
                    self.return_spaces(place, [from, to], Some(ppdu), devices);
                    self.awaiting = Some((from, to));
                    self.requested = false;
                } else if is_null(kind) && self.has_place(from, to, ppdu.at_ns) {
                    let is_slowest = ppdu.rate.is_some_and(Rate::is_slowest);
                    let link = self.links.entry((from, to)).or_insert_with(|| Link::new(from, to));
                    link.latest_ns = link.latest_ns.max(ppdu.at_ns);
                    for mpdu in ppdu.mpdus.iter().filter(|mpdu| is_null(mpdu.kind)) {
                        link.handle_null(mpdu.retry, is_slowest);
                    }
                    self.asked_null = Some((from, to, is_slowest));
                }
            }
            _ => self.awaiting = None,
        }
    }
}

fn log_acknowledged(
    log: &mut Option<Vec<AirEvent>>,
    from: StationId,
    to: StationId,
    tid: u8,
    sequence: SeqNo12,
    at_ns: u64,
) {
    if let Some(log) = log {
        log.push(AirEvent::Acknowledged { from, to, tid, sequence, at_ns });
    }
}

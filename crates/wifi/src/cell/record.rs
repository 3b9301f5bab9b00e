//! Events of PPDUs, for runs with recorded events; [`Cell::record`] does nothing in other runs.

use super::bss::Bss;
use super::devices::Devices;
use super::edcaf::category_of;
use super::exchange::content::Exchange;
use super::exchange::uplink::queue_size_code;
use super::floor::Roster;
use super::outbox::Outbox;
use super::power::Power;
use super::station::Station;
use super::switch::announcement;
use super::{Cell, Settings};
use crate::air::{Action, Air, Carried, Content, Flight, Payload};
use crate::event::{Event, Frame, FrameKind, FramePackets, Ppdu, Psdu, QueueSize};
use crate::mac::block_ack::Bitmap;
use crate::mac::mpdu::{Mpdu, Msdus};
use crate::mac::sizes;
use crate::phy::ChannelWidth;
use crate::station::{Address, StationId};
use alloc::vec::Vec;
use lasthop_units::{Dbm, Duration, Instant, SeqNo12};

/// Records of PPDUs: reads the air, the stations and their sets, and adds events.
pub(super) struct Recorder<'a> {
    pub air: &'a Air,
    pub settings: &'a Settings,
    pub stations: &'a mut [Station],
    pub bss: &'a [Bss],
    pub outbox: &'a mut Outbox,
    pub power: &'a Power,
    pub devices: &'a Devices,
}

impl Cell {
    /// Lets `act` record a PPDU, if events are kept.
    #[inline]
    pub(super) fn record(&mut self, act: impl FnOnce(&mut Recorder<'_>)) {
        self.receivers().record(act);
    }
}

impl Recorder<'_> {
    /// Records a payload; bit n of `decoded` is MPDU n.
    pub(super) fn record_payload(
        &mut self,
        flight: &Flight,
        payload: &Payload,
        decoded: &Bitmap,
        collided: bool,
    ) {
        let more_data = self.more_data(flight, payload.edcaf, payload.mpdus());
        let duration_us = microseconds(flight.end, flight.reserves_until);
        let plain = |kind, sequence, retry| Frame {
            kind,
            bytes: flight.psdu_bytes as u16,
            sequence,
            retry,
            duration_us,
            received: decoded.contains(0),
            more_data: false,
            power_management: false,
            end_of_service_period: false,
            packets: FramePackets::None,
            announced: Vec::new(),
            triggered: Vec::new(),
            queue_size: None,
            acknowledged: Vec::new(),
        };
        let tid = category_of(payload.edcaf).tid();
        let mut frames = match payload.content {
            Content::Data { mpdus, .. } => {
                self.data_frames(flight, payload.edcaf, mpdus, decoded, more_data)
            }
            Content::BlockAckRequest { start } => {
                alloc::vec![plain(FrameKind::BlockAckRequest { tid, start }, start, false)]
            }
            Content::Management(frame) => {
                let kind = match frame.action {
                    Action::AddbaRequest { window, start } => {
                        FrameKind::AddbaRequest { tid, window, start }
                    }
                    Action::AddbaResponse { window } => FrameKind::AddbaResponse { tid, window },
                    Action::Null { power_management } => FrameKind::Null { power_management },
                    Action::PsPoll => {
                        FrameKind::PsPoll { aid: self.stations[flight.transmitter.index()].aid }
                    }
                    Action::Trigger | Action::EndOfServicePeriod => FrameKind::QosNull {
                        power_management: frame.action == Action::Trigger,
                        access_category: category_of(payload.edcaf),
                    },
                    Action::OperatingMode(mode) => {
                        let by_control = self.stations[flight.transmitter.index()]
                            .says_by_control(self.settings, frame.peer);
                        FrameKind::OperatingMode { mode, by_control }
                    }
                    Action::ProbeRequest => {
                        let station = &self.stations[flight.transmitter.index()];
                        let set = station.listens_at().unwrap_or(station.config.bss);
                        let access_point = self.settings.bss[set.index()].access_point;
                        FrameKind::ProbeRequest { access_point }
                    }
                    Action::ProbeResponse => FrameKind::ProbeResponse,
                    Action::Roam { frame: of_join, .. } => {
                        let ends = [flight.transmitter, frame.peer];
                        let roams =
                            |end: &&StationId| self.stations[end.index()].config.roaming.is_some();
                        let station = ends.iter().find(roams).expect("one of them roams");
                        let state = &mut self.stations[station.index()];
                        let (facts, other) = state.join_facts(self.settings.band, of_join);
                        let other = self.settings.bss[other.index()].access_point;
                        FrameKind::Roam { frame: of_join, facts, aid: state.aid, other }
                    }
                };
                alloc::vec![plain(kind, frame.sequence, frame.attempts > 0)]
            }
            Content::Beacon => {
                let beacons = self.stations[flight.transmitter.index()].stats.beacons;
                let set = self.stations[flight.transmitter.index()].config.bss;
                let tim = &self.bss[set.index()].tim;
                let kind = FrameKind::Beacon {
                    dtim_count: tim.dtim_count,
                    dtim_period: self.settings.dtim_period,
                    group_traffic: tim.group_traffic,
                    switch: announcement(
                        &self.bss[set.index()],
                        &self.stations[flight.transmitter.index()],
                    ),
                };
                let announced = tim.aids.clone();
                alloc::vec![Frame { announced, ..plain(kind, SeqNo12::new(beacons as u16), false) }]
            }
        };
        let is_managed = matches!(payload.content, Content::Management(_));
        let is_null = frames.iter().any(|f| matches!(f.kind, FrameKind::Null { .. }));
        let is_saving = self.stations[flight.transmitter.index()].is_in_power_save() && !is_null;
        for frame in &mut frames {
            frame.end_of_service_period = payload.ends_service;
            frame.more_data = payload.more_data.unwrap_or(frame.more_data);
            frame.power_management |= is_managed && is_saving;
        }
        let aggregated = matches!(payload.content, Content::Data { aggregated: true, .. });
        self.record_ppdu(flight, aggregated, collided, frames);
    }

    /// The More Data bit of a PPDU that carries the first `mpdus` pending MPDUs.
    pub(super) fn more_data(&self, flight: &Flight, edcaf: usize, mpdus: usize) -> bool {
        let roster = Roster { settings: self.settings, stations: self.stations, bss: self.bss };
        self.power.more_data(roster, flight.transmitter, edcaf, flight.receiver, mpdus)
    }

    /// Returns the first `mpdus` pending MPDUs, which `flight` carries, as frames; bit n of
    /// `decoded` is MPDU n.
    pub(super) fn data_frames(
        &self,
        flight: &Flight,
        edcaf: usize,
        mpdus: usize,
        decoded: &Bitmap,
        more_data: bool,
    ) -> Vec<Frame> {
        let duration_us = microseconds(flight.end, flight.reserves_until);
        let peer = flight.receiver;
        let sender = &self.stations[flight.transmitter.index()];
        let pending = sender.pending(edcaf, peer).expect("it sent some");
        let power_management = sender.is_in_power_save();
        let has_qos = |of: StationId| self.stations[of.index()].config.capabilities.qos;
        let qos = has_qos(flight.transmitter)
            && match peer {
                Address::Station(to) => has_qos(to),
                Address::Group => true,
            };
        let mut behind = self.stations[flight.transmitter.index()].buffered;
        let is_reported = self.reports_queue(flight.transmitter, peer);
        let tid = category_of(edcaf).tid();
        let mut queue_size = |mpdu: &Mpdu| {
            let around = sizes::QOS_DATA_HEADER + sizes::FCS;
            behind = behind.saturating_sub(u32::from(mpdu.bytes).saturating_sub(around).into());
            is_reported.then(|| QueueSize { tid, code: queue_size_code(behind) })
        };
        let frame = |(bit, mpdu): (usize, &Mpdu)| Frame {
            kind: if qos {
                FrameKind::QosData {
                    access_category: category_of(edcaf),
                    amsdu: matches!(mpdu.msdus, Msdus::Aggregate(_)),
                }
            } else {
                FrameKind::Data
            },
            bytes: mpdu.bytes,
            sequence: mpdu.sequence,
            retry: mpdu.transmissions > 1,
            duration_us,
            received: decoded.contains(bit),
            more_data,
            power_management,
            end_of_service_period: false,
            packets: mpdu.msdus.packets().into(),
            announced: Vec::new(),
            triggered: Vec::new(),
            queue_size: queue_size(mpdu),
            acknowledged: Vec::new(),
        };
        pending.iter().take(mpdus).enumerate().map(frame).collect()
    }

    pub(super) fn record_control(&mut self, flight: &Flight, received: bool) {
        let kind = match flight.carried {
            Carried::Rts if flight.psdu_bytes > sizes::RTS => self.mu_rts_kind(flight),
            Carried::Rts => FrameKind::Rts,
            Carried::Cts => FrameKind::Cts,
            Carried::Ack => FrameKind::Ack,
            Carried::BlockAck | Carried::TriggeredBlockAck { .. } => self.block_ack_kind(flight),
            Carried::Payload
            | Carried::MultiUser { .. }
            | Carried::Trigger
            | Carried::Sounding(_)
            | Carried::BeamformingReport { .. }
            | Carried::Solicitation
            | Carried::Triggered { .. }
            | Carried::MultiStationBlockAck => return,
        };
        let frame = control_frame(flight, kind, received);
        let collided = match flight.receiver {
            Address::Station(receiver) => self.air.is_disturbed(flight, receiver),
            Address::Group => false,
        };
        self.record_ppdu(flight, false, collided, alloc::vec![frame]);
    }

    /// The initial control frame of an exchange with a device of a single radio.
    #[cold]
    fn mu_rts_kind(&self, flight: &Flight) -> FrameKind {
        let exchange = self.stations[flight.transmitter.index()].exchange.as_ref();
        let aid = match flight.receiver {
            // The device has one identifier for all links: the first station's.
            Address::Station(to) => self.stations[self.devices.head(to).index()].aid,
            Address::Group => 0,
        };
        FrameKind::MuRts { aid, width: exchange.map_or(ChannelWidth::Mhz20, Exchange::width) }
    }

    /// Returns the Block Ack with the scoreboard as it is now, at most SIFS and its own duration
    /// after the acknowledged PPDU.
    fn block_ack_kind(&mut self, flight: &Flight) -> FrameKind {
        let exchange = match flight.receiver {
            Address::Station(to) => self.stations[to.index()].exchange.as_ref(),
            Address::Group => None,
        };
        let edcaf = exchange.map_or(1, Exchange::edcaf);
        let tid = category_of(edcaf).tid();
        let originator = match flight.receiver {
            Address::Station(to) => to,
            Address::Group => flight.transmitter,
        };
        // The links of a device share the recipients of its first station.
        let (recipient, originator) =
            (self.devices.head(flight.transmitter), self.devices.head(originator));
        let recipient = self.stations[recipient.index()].recipient(originator, edcaf);
        let board = recipient.block_ack.as_ref().map(|block_ack| block_ack.scoreboard());
        FrameKind::BlockAck {
            tid,
            start: board.map_or(SeqNo12::default(), |board| board.start()),
            bitmap: board.as_ref().map_or(Bitmap::EMPTY, |board| board.bitmap()),
            bits: board.map_or(64, |board| board.bits()),
        }
    }

    fn record_ppdu(
        &mut self,
        flight: &Flight,
        aggregated: bool,
        collided: bool,
        frames: Vec<Frame>,
    ) {
        let listener = match flight.receiver {
            Address::Station(receiver) => receiver,
            Address::Group => {
                let set = self.stations[flight.transmitter.index()].config.bss;
                self.settings.bss[set.index()].access_point
            }
        };
        let signal = self.air.mean_power(flight, listener);
        self.outbox.events.push_back(Event::Ppdu(Ppdu {
            start: flight.start,
            end: flight.end,
            transmitter: flight.transmitter,
            psdus: alloc::vec![Psdu {
                receiver: flight.receiver,
                rate: flight.rate,
                ru: None,
                bytes: flight.psdu_bytes,
                aggregated,
                frames,
                // The access point's own broadcasts, as heard next to it.
                signal: signal.unwrap_or(Dbm(-30.0)),
                collided,
            }],
        }));
    }
}

/// The Duration field, in microseconds rounded up, of a frame that ends at `end` (9.2.5).
pub(super) fn microseconds(end: Instant, reserves_until: Instant) -> u16 {
    let reserved: Duration = reserves_until.saturating_since(end);
    reserved.as_nanos().div_ceil(1_000).min(32_767) as u16
}

/// The control frame that is the only one of its PPDU.
pub(super) fn control_frame(flight: &Flight, kind: FrameKind, received: bool) -> Frame {
    Frame {
        kind,
        bytes: flight.psdu_bytes as u16,
        sequence: SeqNo12::default(),
        retry: false,
        duration_us: microseconds(flight.end, flight.reserves_until),
        received,
        more_data: false,
        power_management: false,
        end_of_service_period: false,
        packets: FramePackets::None,
        announced: Vec::new(),
        triggered: Vec::new(),
        queue_size: None,
        acknowledged: Vec::new(),
    }
}

//! Reception of a PPDU at its end: losses, responses, delivery in order, NAV and EIFS (IEEE
//! 802.11-2020, 10.3.2, 10.25.6).

use super::exchange::content::Exchange;
use super::exchange::uplink::BacklogReport;
use super::floor::Floor;
use super::power::Power;
use super::timers::OwedResponse;
use super::{Cell, Sequel};
use crate::air::{Action, Carried, Content, Flight, Management, Payload, alone, happens};
use crate::mac::block_ack::Bitmap;
use crate::mac::sizes;
use crate::station::{Address, BssId, StationId};
use alloc::collections::VecDeque;

impl Cell {
    pub(super) fn end_ppdus(&mut self) {
        while let Some(flight) = self.air.end(self.now) {
            self.end_ppdu(&flight);
            self.air.forget(flight);
        }
    }

    /// Lets the stations receive a PPDU that ends now.
    pub(super) fn end_ppdu(&mut self, flight: &Flight) {
        self.receive(flight);
        let (channels, mut scene) = self.channels();
        channels.overhear(&mut scene, flight);
        if let (true, Address::Station(station)) = (flight.carried.is_together(), flight.receiver) {
            self.answer_together_over(station);
        }
        let (channels, mut scene) = self.channels();
        channels.end(&mut scene, flight);
    }

    /// Continues the exchange of an access point after a PPDU that one of several stations sent at
    /// once, if it was the last of them.
    fn answer_together_over(&mut self, station: StationId) {
        match &self.stations[station.index()].exchange {
            Some(Exchange::Downlink(several)) if several.answers_due == 0 => {
                self.several_over(station);
            }
            Some(Exchange::Sounding(sounding)) if sounding.answers_due == 0 => {
                self.sounding_over(station);
            }
            Some(Exchange::Uplink(uplink)) if uplink.answers_due == 0 => {
                self.uplink_answered(station);
            }
            _ => {}
        }
    }

    fn receive(&mut self, flight: &Flight) {
        if !self.devices.is_empty()
            && let Address::Station(receiver) = flight.receiver
        {
            // The Block Ack is of the device: it knows what has arrived on the other links.
            let now = self.now;
            self.receivers().take_arrived_with(now, Some(flight));
            let Self { devices, stations, outbox, .. } = self;
            devices.acknowledge_elsewhere(stations, flight.transmitter);
            devices.swap_recipients(stations, receiver, flight.transmitter);
            let mark = devices.mark(outbox, flight.transmitter, receiver);
            self.receive_on_link(flight);
            if let Some(mark) = mark {
                self.record_reception(flight, receiver, mark);
            }
            let Self { devices, stations, .. } = self;
            return devices.swap_recipients(stations, receiver, flight.transmitter);
        }
        self.receive_on_link(flight);
    }

    #[inline(always)]
    fn receive_on_link(&mut self, flight: &Flight) {
        match (flight.carried, flight.receiver) {
            (Carried::Payload, Address::Group) => self.receive_group(flight),
            (Carried::Payload, Address::Station(receiver)) => {
                self.receive_payload(flight, receiver);
            }
            (Carried::MultiUser { .. }, _) => self.receive_by_several(flight),
            (Carried::Trigger, _) => self.receive_trigger(flight),
            (Carried::Sounding(frame), _) => self.receive_sounding(flight, frame),
            (Carried::BeamformingReport { .. }, Address::Station(receiver)) => {
                self.receive_beamforming_report(flight, receiver);
            }
            (Carried::Solicitation, _) => self.receive_solicitation(flight),
            (Carried::Triggered { .. }, Address::Station(receiver)) => {
                self.receive_answer(flight, receiver);
            }
            (Carried::MultiStationBlockAck, _) => self.receive_multi_station_block_ack(flight),
            (Carried::TriggeredBlockAck { .. }, Address::Station(receiver)) => {
                self.receive_triggered(flight, receiver);
            }
            (carried, Address::Station(receiver)) => {
                let decoded = self.receivers().at(receiver).decodes_control(flight);
                self.record(|recorder| recorder.record_control(flight, decoded));
                match carried {
                    Carried::Rts => self.floor().answer_rts(flight, receiver, decoded),
                    Carried::Cts if decoded => {
                        let (state, mut cx) = self.at(receiver);
                        state.narrow_payload(&mut cx);
                        self.devices.cleared(self.now + self.settings.timing.sifs, receiver);
                        self.floor().follow(receiver, Sequel::Frame);
                    }
                    Carried::Ack if decoded => self.exchange_succeeded(receiver, &Bitmap::FIRST),
                    Carried::BlockAck if decoded => {
                        let acked = self.stations[flight.transmitter.index()].acknowledging;
                        self.exchange_succeeded(receiver, &acked);
                    }
                    _ => self.exchange_failed(receiver),
                }
            }
            (_, Address::Group) => unreachable!("control frames have one receiver"),
        }
    }

    fn receive_payload(&mut self, flight: &Flight, receiver: StationId) {
        let sender = flight.transmitter;
        let payload = &self.air.payload(sender).copied().expect("a payload has one");
        let edcaf = payload.edcaf;
        let mut receivers = self.receivers();
        let arrived = receivers.end_arrival(flight, receiver);
        let decoded = arrived.unwrap_or_else(|| receivers.decode(flight, payload, receiver));
        let has_header = decoded.is_some();
        let mut decoded = decoded.unwrap_or(Bitmap::EMPTY);
        if let Content::Management(Management { action: Action::Null { power_management }, .. }) =
            payload.content
            && happens(
                receivers.air.reception(sender, receiver),
                receivers.stations[sender.index()].null_loss(power_management),
            )
        {
            decoded = Bitmap::EMPTY;
        }
        let collided = receivers.air.is_disturbed(flight, receiver);
        receivers.stations[sender.index()].note_collision(collided);
        receivers.record(|recorder| recorder.record_payload(flight, payload, &decoded, collided));
        let awaited = has_header && arrived.is_none();
        receivers.overhear_packets(flight, receiver, payload);
        if decoded.is_empty() {
            if awaited {
                receivers.take_erroneous(flight, receiver, payload);
            }
            return self.floor().start_response_timeout(sender);
        }
        let buffered = receivers.stations[sender.index()].buffered;
        let report = BacklogReport { edcaf, buffered, mpdus: payload.mpdus(), decoded: &decoded };
        let backlog = report.backlog(receivers.stations, flight);
        let acked = receivers.take_payload(flight, receiver, payload, decoded, awaited);
        match (payload.content, backlog) {
            (Content::Data { .. }, Some(backlog)) => self.power(|power, floor| {
                floor.hear_backlog(power, sender, receiver, edcaf, backlog);
            }),
            (Content::Management(frame), _) => self.power(|power, floor| {
                power.take_management(floor, sender, receiver, edcaf, frame.action);
            }),
            _ => {}
        }
        self.absences(sender, |power, floor| {
            power.heard_from(floor, sender, edcaf, &payload.content);
        });
        self.floor().respond(flight, receiver, payload, acked);
        self.absences(receiver, |power, floor| {
            power.frame_reached(floor, flight, receiver, payload);
        });
    }

    /// Delivers a beacon that was sent, with its TIM, to the stations of the set that await it.
    fn hear_beacon(&mut self, flight: &Flight) {
        let bss = self.bss_of(flight.transmitter);
        for index in 0..self.stations.len() {
            let station = StationId(index as u16);
            let state = &self.stations[index];
            if state.away.is_none() {
                continue;
            }
            if state.config.roaming.is_some() {
                self.roamer_hears(flight, station);
                continue;
            }
            if state.config.bss != bss
                || !self.power(|power, floor| power.awaits_beacon(floor, station))
            {
                continue;
            }
            let heard = self.receivers().at(station).decode_one(flight) == Some(true);
            self.power(|power, floor| power.beacon_over(floor, station, heard));
        }
    }

    /// Delivers a beacon to a roaming station that listens on its channel.
    fn roamer_hears(&mut self, flight: &Flight, station: StationId) {
        let access_point = flight.transmitter;
        let is_there = self.air.is_on_own_channel(flight, station);
        if is_there && self.receivers().at(station).decode_one(flight) == Some(true) {
            let signal = self.air.last_power(access_point, station);
            self.power(|power, floor| power.roam_heard(floor, station, access_point, signal, true));
        }
    }

    /// Lets the access points that receive a Probe Request answer: that of the station's set, or all
    /// on the channel where a roaming station is.
    fn answer_probe(&mut self, flight: &Flight, payload: &Payload) {
        let sender = flight.transmitter;
        let sets = match self.stations[sender.index()].config.roaming {
            Some(_) => 0..self.sets(),
            None => {
                let own = self.bss_of(sender).index();
                own..own + 1
            }
        };
        for bss in sets {
            let access_point = self.access_point(BssId(bss as u16));
            if !self.air.is_on_own_channel(flight, access_point) {
                continue;
            }
            let decoded = self.receivers().decode(flight, payload, access_point);
            if decoded == Some(Bitmap::FIRST) {
                self.power(|power, floor| power.answer_probe(floor, access_point, sender));
            }
        }
    }

    fn receive_group(&mut self, flight: &Flight) {
        let sender = flight.transmitter;
        let payload = &self.air.payload(sender).copied().expect("a payload has one");
        let bss = self.bss_of(sender);
        if let Content::Data { .. } = payload.content {
            self.receivers().deliver_to_group(flight, payload);
        }
        self.record(|recorder| recorder.record_payload(flight, payload, &Bitmap::FIRST, false));
        match payload.content {
            Content::Beacon => {
                self.hear_beacon(flight);
                self.power(|power, floor| floor.notify_again(power, sender));
            }
            Content::Data { .. } => self.power(|power, floor| power.hear_group_frame(floor, bss)),
            Content::Management(Management { action: Action::ProbeRequest, .. }) => {
                self.answer_probe(flight, payload);
            }
            _ => {}
        }
        self.exchange_succeeded(sender, &Bitmap::EMPTY);
    }
}

impl Floor<'_> {
    /// Lets the receiver of an RTS send a CTS, if it decoded the RTS and may; otherwise the sender
    /// waits in vain.
    fn answer_rts(&mut self, flight: &Flight, receiver: StationId, decoded: bool) {
        let Self { channels, air, contention, stations, .. } = self;
        if !decoded || !channels.clears(air, contention, stations, flight, receiver) {
            return self.start_response_timeout(flight.transmitter);
        }
        let facts = self.rates.facts(flight.rate);
        let (rate, duration) = (facts.response, facts.ack);
        let sequel = Sequel::Response(OwedResponse {
            to: flight.transmitter,
            carried: Carried::Cts,
            rate,
            psdu_bytes: alone(rate, sizes::CTS),
            duration,
            reserves_until: flight.reserves_until,
        });
        self.follow(receiver, sequel);
    }

    /// Whether `station` senses a PPDU on the air.
    pub(super) fn senses_any(&self, station: StationId) -> bool {
        let Self { channels, contention, air, .. } = self;
        air.carries_any(|other| channels.senses(contention, station, other))
    }

    /// Lets the receiver of a payload respond to it; bit n of `acked` is MPDU n.
    #[inline]
    fn respond(&mut self, flight: &Flight, receiver: StationId, payload: &Payload, acked: Bitmap) {
        let response = payload.response.expect("frames to one station are answered");
        let carried = if response.block_ack {
            self.stations[receiver.index()].acknowledging = acked;
            Carried::BlockAck
        } else {
            Carried::Ack
        };
        let sequel = Sequel::Response(OwedResponse {
            to: flight.transmitter,
            carried,
            rate: response.rate,
            psdu_bytes: response.psdu_bytes,
            duration: response.duration,
            reserves_until: flight.reserves_until,
        });
        self.follow(receiver, sequel);
    }
}

impl Power {
    /// Processes a decoded management frame at its receiver.
    fn take_management(
        &mut self,
        floor: &mut Floor<'_>,
        sender: StationId,
        receiver: StationId,
        edcaf: usize,
        action: Action,
    ) {
        match action {
            Action::AddbaRequest { start, .. } => {
                floor.answer_addba(self, receiver, sender, edcaf, start);
            }
            Action::AddbaResponse { .. } => floor.agreement_answered(receiver, sender, edcaf),
            Action::Null { power_management: true } => self.fall_asleep(floor, sender),
            Action::PsPoll => self.release(floor, sender),
            Action::Trigger => self.triggered(floor, sender, edcaf),
            // Every frame has the bit of power management, and all others have it unset.
            Action::Null { power_management: false } => {}
            Action::OperatingMode(mode) => {
                let (state, mut cx) = floor.at(self, receiver);
                state.take_mode(&mut cx, sender, mode);
            }
            Action::ProbeResponse => {
                let signal = floor.air.last_power(sender, receiver);
                self.roam_heard(floor, receiver, sender, signal, false);
            }
            Action::Roam { frame, .. } => self.roam_arrived(floor, sender, receiver, frame),
            Action::ProbeRequest | Action::EndOfServicePeriod => {}
        }
    }

    /// Handles a frame that reached a station which comes and goes.
    fn frame_reached(
        &mut self,
        floor: &mut Floor<'_>,
        flight: &Flight,
        receiver: StationId,
        payload: &Payload,
    ) {
        let (sender, edcaf, peer) = (flight.transmitter, payload.edcaf, flight.receiver);
        let pending = floor.stations[sender.index()].pending(edcaf, peer);
        let all = pending.map_or(0, VecDeque::len);
        let leaving = match payload.content {
            Content::Data { mpdus, .. } => Some(mpdus),
            Content::Management(frame) => Some(all).filter(|_| {
                !frame.action.is_about_absence() || frame.action == Action::EndOfServicePeriod
            }),
            Content::BlockAckRequest { .. } | Content::Beacon => None,
        };
        if let Some(leaving) = leaving {
            let more = match payload.more_data {
                Some(more) => more,
                None => self.more_data(floor.roster(), sender, edcaf, peer, leaving),
            };
            self.handle_frame(floor, receiver, edcaf, payload.ends_service, more);
        } else if matches!(payload.content, Content::BlockAckRequest { .. }) {
            self.handle_request(floor, receiver, edcaf);
        }
    }
}

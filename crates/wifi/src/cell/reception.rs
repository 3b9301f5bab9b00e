//! Reception of a PPDU at its end: losses, responses, delivery in order, NAV and EIFS (IEEE
//! 802.11-2020, 10.3.2, 10.25.6).

use super::mu_mimo::Beam;
use super::receiver::{Mpdus, Receiver, Taken};
use super::recipient::release;
use super::timers::earliest;
use super::{Cell, Output, Sequel};
use crate::air::{
    Action, Carried, Content, Flight, Management, Payload, Subframes, alone, happens,
};
use crate::mac::absence::Waits;
use crate::mac::block_ack::Bitmap;
use crate::mac::sizes;
use crate::station::{Address, StationId};
use alloc::collections::VecDeque;
use core::ops::Range;
use lasthop_packet::DropReason;

impl Cell {
    pub(super) fn end_ppdus(&mut self) {
        while let Some(flight) = self.air.end(self.now) {
            self.receive(&flight);
            let (channels, mut scene) = self.channels();
            channels.overhear(&mut scene, &flight);
            match (flight.carried, flight.receiver) {
                (Carried::TriggeredBlockAck { .. }, Address::Station(receiver)) => {
                    self.triggered_answer_over(receiver);
                }
                (Carried::BeamformingReport { header: Some(_) }, Address::Station(receiver)) => {
                    self.triggered_report_over(receiver);
                }
                (Carried::Triggered { .. }, Address::Station(receiver)) => {
                    self.uplink_answer_noticed(receiver);
                }
                _ => {}
            }
            let (channels, mut scene) = self.channels();
            channels.end(&mut scene, &flight);
            self.air.forget(flight);
        }
    }

    pub(super) fn expire_gaps(&mut self) {
        while let Some((station, key)) = self.timers.take_gap(self.now) {
            self.receiver(station).expire_gap(key);
        }
    }

    fn receive(&mut self, flight: &Flight) {
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
                let decoded = self.receiver(receiver).decodes_control(flight);
                if self.outbox.records {
                    self.recorder().record_control(flight, decoded);
                }
                match carried {
                    Carried::Rts if decoded && self.clears(flight, receiver) => {
                        self.answer_rts(flight, receiver);
                    }
                    Carried::Rts => self.start_response_timeout(flight.transmitter),
                    Carried::Cts if decoded => {
                        let (state, mut cx) = self.at(receiver);
                        state.narrow_payload(&mut cx);
                        self.follow(receiver, Sequel::Frame);
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

    /// Lets `station` perform `sequel` SIFS from now.
    pub(super) fn follow(&mut self, station: StationId, sequel: Sequel) {
        let at = self.now + self.settings.timing.sifs;
        if let Sequel::Response { duration, .. } = sequel {
            self.contention.respond(station, at + duration);
        }
        self.timers.follow(at, station, sequel);
    }

    /// Whether `receiver` answers an RTS that it decoded.
    fn clears(&mut self, flight: &Flight, receiver: StationId) -> bool {
        let Self { channels, air, contention, stations, .. } = self;
        channels.clears(air, contention, stations, flight, receiver)
    }

    fn answer_rts(&mut self, flight: &Flight, receiver: StationId) {
        let facts = self.rates.of(flight.rate);
        let (rate, duration) = (facts.response, facts.ack);
        let sequel = Sequel::Response {
            to: flight.transmitter,
            carried: Carried::Cts,
            rate,
            psdu_bytes: alone(rate, sizes::CTS),
            duration,
            reserves_until: flight.reserves_until,
        };
        self.follow(receiver, sequel);
    }

    /// Whether `station` senses a PPDU on the air.
    pub(super) fn senses_any(&self, station: StationId) -> bool {
        let Self { channels, contention, air, .. } = self;
        air.carries_any(|other| channels.senses(contention, station, other))
    }

    /// Reception at a station.
    #[inline]
    pub(super) fn receiver(&mut self, station: StationId) -> Receiver<'_> {
        let Self { now, air, outbox, timers, stations, .. } = self;
        let state = &mut stations[station.index()];
        Receiver { now: *now, air, outbox, timers, state }
    }

    /// Reception at a station, and the MPDUs that `sender` keeps for `peer` in an EDCAF; none for
    /// beacons and management frames.
    #[inline]
    pub(super) fn transfer(
        &mut self,
        sender: StationId,
        station: StationId,
        edcaf: usize,
        peer: Address,
    ) -> (Receiver<'_>, Option<Mpdus<'_>>) {
        let Self { now, air, outbox, timers, stations, .. } = self;
        let both = stations.get_disjoint_mut([sender.index(), station.index()]);
        let [theirs, state] = both.expect("nobody receives his own PPDU");
        let access = theirs.edcafs[edcaf].as_mut();
        let mpdus = access.and_then(|access| {
            let index = access.originator(peer)?;
            Some(Mpdus::new(&mut access.originators[index]))
        });
        (Receiver { now: *now, air, outbox, timers, state }, mpdus)
    }

    /// Lets the receiver of a PPDU process the data in it, unless it has while they were on the
    /// air.
    pub(super) fn take_data(
        &mut self,
        flight: &Flight,
        receiver: StationId,
        edcaf: usize,
        mpdus: usize,
        decoded: &Bitmap,
    ) {
        let (sender, peer) = (flight.transmitter, Address::Station(receiver));
        let waits = self.waits_of(sender, peer, edcaf, 0..mpdus);
        let (mut receiver, lent) = self.transfer(sender, receiver, edcaf, peer);
        let mut lent = lent.expect("it sent some");
        let taken = Taken { edcaf, mpdus: 0..mpdus, decoded, subframes: None };
        receiver.take_in(flight, &mut lent, &waits, taken);
    }

    /// The MPDUs of an A-MPDU that its receiver decodes, and whether it has already processed them
    /// while they were on the air; `None` if it does not even decode the PPDU's header.
    pub(super) fn decode_data(
        &mut self,
        flight: &Flight,
        receiver: StationId,
        edcaf: usize,
        subframes: Subframes,
        beam: Option<Beam>,
    ) -> (Option<Bitmap>, bool) {
        let (sender, peer) = (flight.transmitter, Address::Station(receiver));
        if let Some(decoded) = self.end_arrival(flight, receiver) {
            return (decoded, true);
        }
        let (mut receiver, lent) = self.transfer(sender, receiver, edcaf, peer);
        let lent = lent.expect("it sent some");
        let decoded = receiver.header(flight).map(|snr| {
            let snr = beam.map_or(snr, |beam| beam.sinr(snr));
            receiver.decode_all(flight, snr, subframes, lent.pending)
        });
        (decoded, false)
    }

    /// The MPDUs of a payload that `listener` decodes: bit n is MPDU n. `None` if it does not even
    /// decode the PPDU's header.
    fn decode(
        &mut self,
        flight: &Flight,
        payload: &Payload,
        listener: StationId,
    ) -> Option<Bitmap> {
        if let Some(subframes) = self.subframes(flight, payload) {
            let (sender, peer) = (flight.transmitter, flight.receiver);
            let (mut receiver, lent) = self.transfer(sender, listener, payload.edcaf, peer);
            let lent = lent.expect("it sent some");
            let snr = receiver.header(flight)?;
            return Some(receiver.decode_all(flight, snr, subframes, lent.pending));
        }
        let is_decoded = self.receiver(listener).decode_one(flight)?;
        Some(if is_decoded { Bitmap::FIRST } else { Bitmap::EMPTY })
    }

    fn receive_payload(&mut self, flight: &Flight, receiver: StationId) {
        let sender = flight.transmitter;
        let payload = &self.air.payload(sender).copied().expect("a payload has one");
        let edcaf = payload.edcaf;
        let arrived = self.end_arrival(flight, receiver);
        let decoded = arrived.unwrap_or_else(|| self.decode(flight, payload, receiver));
        let has_header = decoded.is_some();
        let mut decoded = decoded.unwrap_or(Bitmap::EMPTY);
        if let Content::Management(Management { action: Action::Null { power_management }, .. }) =
            payload.content
            && happens(
                self.air.reception(sender, receiver),
                self.stations[sender.index()].null_loss(power_management),
            )
        {
            decoded = Bitmap::EMPTY;
        }
        let collided = self.air.is_disturbed(flight, receiver);
        self.stations[sender.index()].note_collision(collided);
        if self.outbox.records {
            let (peer, mpdus) = (flight.receiver, payload.mpdus());
            let more = self.power.more_data(self.roster(), sender, edcaf, peer, mpdus);
            self.recorder().record_payload(flight, payload, &decoded, collided, more);
        }
        self.overhear_packets(flight, receiver, payload);
        if decoded.is_empty() {
            if let Content::Data { mpdus, .. } = payload.content
                && (has_header && arrived.is_none())
                && self.stations[receiver.index()].config.pseudo_retry_out.is_some()
            {
                // The hardware reports the MPDUs of a wholly erroneous PPDU as well.
                self.take_data(flight, receiver, edcaf, mpdus, &decoded);
            }
            return self.start_response_timeout(sender);
        }
        match payload.content {
            Content::Data { mpdus, .. } => {
                if arrived.is_none() {
                    self.take_data(flight, receiver, edcaf, mpdus, &decoded);
                }
                if self.settings.has_uplink {
                    let buffered = self.stations[sender.index()].buffered;
                    self.hear_backlog(flight, receiver, edcaf, buffered, (mpdus, &decoded));
                }
                if payload.response.is_some_and(|response| response.block_ack) {
                    decoded = self.acknowledges(flight, receiver, edcaf, decoded, mpdus);
                }
            }
            Content::BlockAckRequest { start } => {
                self.receiver(receiver).take_request(sender, edcaf, start);
                decoded = self.acknowledges(flight, receiver, edcaf, decoded, Bitmap::BITS);
            }
            Content::Management(frame) => {
                self.take_management(sender, receiver, edcaf, frame.action);
            }
            Content::Beacon => {}
        }
        self.power(|power, floor| power.heard_from(floor, sender, edcaf, &payload.content));
        self.respond(flight, receiver, payload, decoded);
        if self.stations[receiver.index()].away.is_some() {
            self.frame_reached(flight, receiver, payload);
        }
    }

    /// Processes a decoded management frame at its receiver.
    fn take_management(
        &mut self,
        sender: StationId,
        receiver: StationId,
        edcaf: usize,
        action: Action,
    ) {
        match action {
            Action::AddbaRequest { start, .. } => {
                self.answer_addba(receiver, sender, edcaf, start);
            }
            Action::AddbaResponse { .. } => self.agreement_answered(receiver, sender, edcaf),
            Action::Null { power_management: true } => {
                self.power(|power, floor| power.fall_asleep(floor, sender))
            }
            Action::PsPoll => self.power(|power, floor| power.release(floor, sender)),
            Action::Trigger => self.power(|power, floor| power.triggered(floor, sender, edcaf)),
            // Every frame has the bit of power management, and all others have it unset.
            Action::Null { power_management: false } => {}
            Action::OperatingMode(mode) => {
                let (state, mut cx) = self.at(receiver);
                state.take_mode(&mut cx, sender, mode);
            }
            Action::ProbeRequest | Action::ProbeResponse | Action::EndOfServicePeriod => {}
        }
    }

    /// Lets the receiver of a payload respond to it; bit n of `acked` is MPDU n.
    fn respond(&mut self, flight: &Flight, receiver: StationId, payload: &Payload, acked: Bitmap) {
        let response = payload.response.expect("frames to one station are answered");
        let carried = if response.block_ack {
            self.stations[receiver.index()].acknowledging = acked;
            Carried::BlockAck
        } else {
            Carried::Ack
        };
        let sequel = Sequel::Response {
            to: flight.transmitter,
            carried,
            rate: response.rate,
            psdu_bytes: response.psdu_bytes,
            duration: response.duration,
            reserves_until: flight.reserves_until,
        };
        self.follow(receiver, sequel);
    }

    /// Handles a frame that reached a station which comes and goes.
    fn frame_reached(&mut self, flight: &Flight, receiver: StationId, payload: &Payload) {
        let (sender, edcaf) = (flight.transmitter, payload.edcaf);
        let all =
            self.stations[sender.index()].pending(edcaf, flight.receiver).map_or(0, VecDeque::len);
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
                None => {
                    self.power.more_data(self.roster(), sender, edcaf, flight.receiver, leaving)
                }
            };
            self.power(|power, floor| {
                power.handle_frame(floor, receiver, edcaf, payload.ends_service, more)
            });
        } else if matches!(payload.content, Content::BlockAckRequest { .. }) {
            self.power(|power, floor| power.handle_request(floor, receiver, edcaf));
        }
    }

    /// Delivers a beacon that was sent, with its TIM, to the stations of the set that await it.
    fn hear_beacon(&mut self, flight: &Flight) {
        let bss = self.bss_of(flight.transmitter);
        for index in 0..self.stations.len() {
            let station = StationId(index as u16);
            let state = &self.stations[index];
            if state.away.is_none()
                || state.config.bss != bss
                || !self.power(|power, floor| power.awaits_beacon(floor, station))
            {
                continue;
            }
            let heard = self.receiver(station).decode_one(flight) == Some(true);
            self.power(|power, floor| power.beacon_over(floor, station, heard));
        }
    }

    /// Delivers the packets of a PPDU that promiscuous stations of the same set decode, as at the
    /// receiver.
    fn overhear_packets(&mut self, flight: &Flight, receiver: StationId, payload: &Payload) {
        let Content::Data { mpdus, .. } = payload.content else { return };
        let sender = flight.transmitter;
        for index in 0..self.settings.promiscuous.len() {
            let listener = self.settings.promiscuous[index];
            if listener == sender
                || listener == receiver
                || self.bss_of(listener) != self.bss_of(sender)
                || !self.contention.senses(listener, sender)
            {
                continue;
            }
            let decoded = self.decode(flight, payload, listener).unwrap_or(Bitmap::EMPTY);
            let (ear, lent) = self.transfer(sender, listener, payload.edcaf, flight.receiver);
            let lent = lent.expect("it sent some");
            for (bit, mpdu) in lent.pending.iter().take(mpdus).enumerate() {
                if !decoded.contains(bit) {
                    continue;
                }
                for &packet in mpdu.msdus.packets() {
                    let (at, station) = (ear.now, listener);
                    ear.outbox.put_out(Output::Overheard { at, station, packet });
                }
            }
        }
    }

    /// The absences that these pending MPDUs of `sender` to `peer` may have waited for.
    #[inline]
    pub(super) fn waits_of(
        &self,
        sender: StationId,
        peer: Address,
        edcaf: usize,
        mpdus: Range<usize>,
    ) -> Waits {
        if !self.roster().has_absences(sender, peer) {
            return Waits::default();
        }
        let pending = self.stations[sender.index()].pending(edcaf, peer).expect("it sent some");
        let packets = pending.range(mpdus).flat_map(|mpdu| mpdu.msdus.packets());
        let since = earliest(packets.map(|packet| packet.arrived));
        self.roster().waits(sender, peer, edcaf, since)
    }

    /// Returns which of the first `mpdus` pending MPDUs the response acknowledges.
    pub(super) fn acknowledges(
        &mut self,
        flight: &Flight,
        receiver: StationId,
        edcaf: usize,
        decoded: Bitmap,
        mpdus: usize,
    ) -> Bitmap {
        let sender = flight.transmitter;
        let peer = Address::Station(receiver);
        let (mut receiver, lent) = self.transfer(sender, receiver, edcaf, peer);
        match lent {
            Some(Mpdus { pending, .. }) => {
                let mpdus = mpdus.min(pending.len());
                receiver.acknowledges(sender, edcaf, decoded, mpdus, pending)
            }
            None => decoded,
        }
    }

    fn receive_group(&mut self, flight: &Flight) {
        let sender = flight.transmitter;
        let payload = &self.air.payload(sender).copied().expect("a payload has one");
        let bss = self.bss_of(sender);
        if let Content::Data { .. } = payload.content {
            self.deliver_to_group(flight, payload);
        }
        if self.outbox.records {
            let (edcaf, mpdus) = (payload.edcaf, payload.mpdus());
            let more = self.power.more_data(self.roster(), sender, edcaf, flight.receiver, mpdus);
            self.recorder().record_payload(flight, payload, &Bitmap::FIRST, false, more);
        }
        match payload.content {
            Content::Beacon => {
                self.hear_beacon(flight);
                self.power(|power, floor| floor.notify_again(power, sender));
            }
            Content::Data { .. } => self.power(|power, floor| power.hear_group_frame(floor, bss)),
            Content::Management(Management { action: Action::ProbeRequest, .. }) => {
                let access_point = self.access_point(bss);
                if self.decode(flight, payload, access_point) == Some(Bitmap::FIRST) {
                    self.power(|power, floor| power.answer_probe(floor, sender));
                }
            }
            _ => {}
        }
        self.exchange_succeeded(sender, &Bitmap::EMPTY);
    }

    /// Delivers a group-addressed MPDU to the stations of the set that decode it.
    fn deliver_to_group(&mut self, flight: &Flight, payload: &Payload) {
        let (sender, edcaf, peer) = (flight.transmitter, payload.edcaf, flight.receiver);
        if self.stations[sender.index()].pending(edcaf, peer).is_none_or(VecDeque::is_empty) {
            return;
        }
        let bss = self.bss_of(sender);
        let waits = self.waits_of(sender, peer, edcaf, 0..1);
        for index in 0..self.stations.len() {
            let listener = StationId(index as u16);
            if listener == sender
                || self.bss_of(listener) != bss
                || !self.contention.senses(listener, sender)
            {
                continue;
            }
            let decoded = self.decode(flight, payload, listener);
            let (receiver, lent) = self.transfer(sender, listener, edcaf, peer);
            let mpdu = &lent.expect("it sent some").pending[0];
            if decoded.is_some_and(|decoded| !decoded.is_empty()) {
                let msdus = mpdu.received(flight.start, receiver.now, &waits);
                release(&msdus, listener, receiver.now, receiver.outbox);
            } else {
                for &packet in mpdu.msdus.packets() {
                    let reason = DropReason::GroupLoss;
                    receiver.outbox.drop_packet(receiver.now, listener, packet, reason);
                }
            }
        }
    }
}

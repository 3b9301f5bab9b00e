//! Reception of a PPDU at its end: losses, responses, delivery in order, NAV and EIFS (IEEE
//! 802.11-2020, 10.3.2, 10.25.6).

use super::arrival::Arrival;
use super::content::{Action, Content, Exchange, Management, Single};
use super::multi_user::Downlink;
use super::outbox::Outbox;
use super::recipient::{Arrived, Fate, release};
use super::station::Station;
use super::uplink::Uplink;
use super::{Cell, Output, Sequel};
use crate::air::Subframes;
use crate::air::{Carried, Flight, alone, happens};
use crate::mac::absence::Waits;
use crate::mac::block_ack::Bitmap;
use crate::mac::mpdu::Mpdu;
use crate::mac::originator::Agreement;
use crate::mac::sizes;
use crate::station::{Address, StationId};
use alloc::collections::VecDeque;
use core::ops::Range;
use lasthop_packet::DropReason;
use lasthop_units::{Db, Instant};

/// Some MPDUs of a PPDU with data, at their receiver.
pub(super) struct Taken<'a> {
    /// The sender's EDCAF.
    pub edcaf: usize,
    /// Indices of these MPDUs among the pending ones.
    pub mpdus: Range<usize>,
    /// Decoded MPDUs: bit n is pending MPDU n.
    pub decoded: &'a Bitmap,
    /// Position of the first of them, if each is processed at the end of its subframe; `None` if
    /// all are processed now.
    pub subframes: Option<Subframes>,
}

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
        let now = self.now;
        while let Some((station, key)) = self.timers.take_gap(now) {
            let Self { stations, outbox, .. } = self;
            let recipient = stations[station.index()].recipients[key].as_mut();
            if let Some(block_ack) = recipient.and_then(|recipient| recipient.block_ack.as_mut()) {
                block_ack.handle_timeout(now, |msdus| release(&msdus, station, now, outbox));
            }
            self.watch_gap(station, key);
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
                let decoded = self.decodes_control(flight, receiver);
                if self.outbox.records {
                    self.record_control(flight, decoded);
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

    /// Whether `receiver` was away when the PPDU began.
    pub(super) fn is_missed(&self, flight: &Flight, receiver: StationId) -> bool {
        flight.start < self.stations[receiver.index()].deaf_until
    }

    pub(super) fn decodes_control(&mut self, flight: &Flight, receiver: StationId) -> bool {
        if self.is_missed(flight, receiver) || !self.air.locks(flight, receiver) {
            return false;
        }
        let snr = self.air.snr(flight, receiver);
        let header = self.air.header_success(flight, receiver, snr);
        let span = (flight.start, flight.end);
        let body = self.air.mpdu_success(flight, receiver, snr, flight.psdu_bytes, span);
        let stream = self.air.reception(flight.transmitter, receiver);
        happens(stream, header) && happens(stream, body)
    }

    /// The MPDUs of a payload that `receiver` decodes: bit n is MPDU n. `None` if it does not even
    /// decode the PPDU's header.
    pub(super) fn decode(
        &mut self,
        flight: &Flight,
        receiver: StationId,
        exchange: &Single,
        mpdus: &VecDeque<Mpdu>,
    ) -> Option<Bitmap> {
        let snr = self.receive_header(flight, receiver)?;
        let span = (flight.start, flight.end);
        let Content::Data { mpdus: count, aggregated: true } = exchange.content else {
            let bytes = flight.psdu_bytes;
            let is_decoded = self.receive_mpdu(flight, receiver, snr, bytes, span);
            return Some(if is_decoded { Bitmap::FIRST } else { Bitmap::EMPTY });
        };
        let air = (flight.rate, flight.psdu_bytes);
        let mut subframes = self.subframes(flight.transmitter, count, span, air);
        let mut decoded = Bitmap::EMPTY;
        for (bit, mpdu) in mpdus.iter().take(count).enumerate() {
            let bytes = u32::from(mpdu.bytes);
            let span = subframes.next(bytes);
            if self.receive_mpdu(flight, receiver, snr, bytes, span) {
                decoded.insert(bit);
            }
        }
        Some(decoded)
    }

    /// Draws whether `receiver` decodes the preamble and header of a PPDU; returns its SNR if so.
    pub(super) fn receive_header(&mut self, flight: &Flight, receiver: StationId) -> Option<Db> {
        match self.is_missed(flight, receiver) {
            true => None,
            false => self.air.receives_header(flight, receiver),
        }
    }

    /// Draws whether `receiver` decodes an MPDU that was on the air during `span`.
    pub(super) fn receive_mpdu(
        &mut self,
        flight: &Flight,
        receiver: StationId,
        snr: Db,
        bytes: u32,
        span: (Instant, Instant),
    ) -> bool {
        self.air.receives_mpdu(flight, receiver, snr, bytes, span)
    }

    fn receive_payload(&mut self, flight: &Flight, receiver: StationId) {
        let sender = flight.transmitter;
        let mut taken = self.stations[sender.index()].exchange.take();
        let exchange = taken.as_mut().and_then(Exchange::frame);
        let exchange = exchange.expect("a payload belongs to an exchange");
        let mut pending = self.take_pending(sender, exchange.edcaf, exchange.peer);
        let arrived = self.end_arrival(flight, &mut pending);
        let decoded = arrived.unwrap_or_else(|| self.decode(flight, receiver, exchange, &pending));
        let has_header = decoded.is_some();
        let mut decoded = decoded.unwrap_or(Bitmap::EMPTY);
        if let Content::Management(Management { action: Action::Null { power_management }, .. }) =
            exchange.content
            && self.ignores_null(sender, receiver, power_management)
        {
            decoded = Bitmap::EMPTY;
        }
        exchange.collided = self.air.is_disturbed(flight, receiver);
        if self.outbox.records {
            self.record_payload(flight, exchange, &decoded, &pending);
        }
        if !self.promiscuous.is_empty() {
            self.overhear_packets(flight, receiver, exchange, &pending);
        }
        let answered = !decoded.is_empty();
        if answered {
            match exchange.content {
                Content::Data { mpdus, .. } => {
                    if arrived.is_none() {
                        let taken = Taken::together(exchange, mpdus, &decoded);
                        self.take_in(flight, receiver, &mut pending, taken);
                    }
                    if self.settings.has_uplink {
                        let buffered = self.stations[sender.index()].buffered;
                        let of = (mpdus, &decoded, &pending);
                        self.hear_backlog((sender, receiver), exchange.edcaf, buffered, of);
                    }
                    if exchange.response.is_some_and(|response| response.block_ack) {
                        let pair = (sender, receiver);
                        let edcaf = exchange.edcaf;
                        decoded = self.acknowledges(pair, edcaf, decoded, mpdus, &pending);
                    }
                }
                Content::BlockAckRequest { start } => {
                    self.take_request(receiver, sender, exchange.edcaf, start);
                    let all = pending.len().min(Bitmap::BITS);
                    let pair = (sender, receiver);
                    decoded = self.acknowledges(pair, exchange.edcaf, decoded, all, &pending);
                }
                Content::Management(frame) => match frame.action {
                    Action::AddbaRequest { start, .. } => {
                        self.answer_addba(receiver, sender, exchange.edcaf, start);
                    }
                    Action::AddbaResponse { .. } => {
                        self.agreement_answered(receiver, sender, exchange.edcaf);
                    }
                    Action::Null { power_management: true } => self.fall_asleep(sender),
                    Action::PsPoll => self.release(sender),
                    Action::Trigger => self.triggered(sender, exchange.edcaf),
                    // Every frame has the bit of power management, and all
                    // others have it unset.
                    Action::Null { power_management: false } => {}
                    Action::OperatingMode(mode) => self.take_mode(receiver, sender, mode),
                    Action::ProbeRequest | Action::ProbeResponse | Action::EndOfServicePeriod => {}
                },
                Content::Beacon => {}
            }
            if self.has_services && self.has_service_periods(sender) {
                if matches!(exchange.content, Content::Data { .. }) {
                    self.triggered(sender, exchange.edcaf);
                }
            } else if !self.dozing.is_empty()
                && !keeps_dozing(&exchange.content, self.sends_in_power_save(sender))
            {
                self.wake_up(sender);
            }
            let response = exchange.response.expect("frames to one station are answered");
            let carried = match response.block_ack {
                true => {
                    self.stations[receiver.index()].acknowledging = decoded;
                    Carried::BlockAck
                }
                false => Carried::Ack,
            };
            let sequel = Sequel::Response {
                to: sender,
                carried,
                rate: response.rate,
                psdu_bytes: response.psdu_bytes,
                duration: response.duration,
                reserves_until: flight.reserves_until,
            };
            self.follow(receiver, sequel);
            if self.stations[receiver.index()].away.is_some() {
                let more = match exchange.content {
                    Content::Data { mpdus, .. } => Some(pending.len() > mpdus),
                    Content::Management(frame) => Some(false).filter(|_| {
                        !frame.action.is_about_absence()
                            || frame.action == Action::EndOfServicePeriod
                    }),
                    Content::BlockAckRequest { .. } | Content::Beacon => None,
                };
                if let Some(more) = more {
                    let edcaf = exchange.edcaf;
                    let more = match exchange.more_data {
                        Some(more) => more,
                        None => self.more_data((sender, edcaf), exchange.peer, more),
                    };
                    self.frame_came(receiver, edcaf, (exchange.ends_service, more));
                } else if matches!(exchange.content, Content::BlockAckRequest { .. })
                    && self.has_service_periods(receiver)
                {
                    self.request_came_in_power_save(receiver, exchange.edcaf);
                }
            }
        } else if let Content::Data { mpdus, .. } = exchange.content
            && (has_header && arrived.is_none())
            && self.stations[receiver.index()].config.pseudo_retry_out.is_some()
        {
            // The hardware reports the MPDUs of a wholly erroneous PPDU as well.
            self.take_in(
                flight,
                receiver,
                &mut pending,
                Taken::together(exchange, mpdus, &decoded),
            );
        }
        self.return_pending(sender, exchange.edcaf, exchange.peer, pending);
        self.stations[sender.index()].exchange = taken;
        if !answered {
            self.start_response_timeout(sender);
        }
    }

    /// Delivers the packets of a PPDU that promiscuous stations of the same set decode, as at the
    /// receiver.
    fn overhear_packets(
        &mut self,
        flight: &Flight,
        receiver: StationId,
        exchange: &Single,
        pending: &VecDeque<Mpdu>,
    ) {
        let Content::Data { mpdus, .. } = exchange.content else { return };
        for index in 0..self.promiscuous.len() {
            let listener = self.promiscuous[index];
            if listener == flight.transmitter
                || listener == receiver
                || self.bss_of(listener) != self.bss_of(flight.transmitter)
                || !self.contention.senses(listener, flight.transmitter)
            {
                continue;
            }
            let decoded = self.decode(flight, listener, exchange, pending).unwrap_or(Bitmap::EMPTY);
            for (bit, mpdu) in pending.iter().take(mpdus).enumerate() {
                if !decoded.contains(bit) {
                    continue;
                }
                for &packet in mpdu.msdus.packets() {
                    let (at, station) = (self.now, listener);
                    self.outbox.put_out(Output::Overheard { at, station, packet });
                }
            }
        }
    }

    /// Does what [`Cell::take_in`] does, in less time, for the usual case: one MPDU of a PPDU that
    /// began at `start`, decoded at `now`, with the next sequence number, while nothing is buffered
    /// and no events are recorded. Otherwise returns `false` and has no effect.
    pub(super) fn take_next(
        &mut self,
        &Arrival { sender, receiver, edcaf, originator, .. }: &Arrival,
        start: Instant,
        now: Instant,
        mpdu: &mut Mpdu,
    ) -> bool {
        let agreement = self.access(sender, edcaf).originators[originator].agreement;
        if self.outbox.records
            || self.has_absences(sender, Address::Station(receiver))
            || !matches!(agreement, Agreement::Established { .. })
        {
            return false;
        }
        let Self { stations, outbox, .. } = self;
        let station = &mut stations[receiver.index()];
        if !station.recipient(sender, edcaf).pass(mpdu.sequence) {
            return false;
        }
        let waits = Waits::default();
        for packet in mpdu.msdus.packets() {
            outbox.deliver(now, receiver, packet, |packet| mpdu.stamp(packet, start, now, &waits));
        }
        mpdu.taken = true;
        station.last_data = now;
        // With nothing buffered there is no gap to watch.
        true
    }

    /// Passes the decoded MPDUs of a PPDU to their recipient, and reports erroneous ones to pseudo
    /// retry-out: each at the end of its subframe, or all now.
    pub(super) fn take_in(
        &mut self,
        flight: &Flight,
        receiver: StationId,
        pending: &mut VecDeque<Mpdu>,
        Taken { edcaf, mpdus, decoded, mut subframes }: Taken<'_>,
    ) {
        let mut now = self.now;
        let peer = Address::Station(receiver);
        let agreed = self.has_agreement(flight.transmitter, edcaf, peer);
        let waits = self.waits_of(flight, edcaf, peer, || pending.range(mpdus.clone()));
        let Self { stations, outbox, .. } = self;
        let key = flight.transmitter.index() * 4 + edcaf;
        let recipient = stations[receiver.index()].recipient(flight.transmitter, edcaf);
        let range = mpdus.clone();
        let (mut given_up, mut ignored) = (0, 0);
        let mut arrival = Arrived {
            now,
            start: flight.start,
            rate: flight.rate,
            receiver,
            transmitter: flight.transmitter,
            edcaf,
            agreed,
            waits: &waits,
        };
        let mut mpdus = mpdus;
        if mpdus.len() > 1 && agreed {
            let run = recipient.pass_run(pending, mpdus.clone(), decoded);
            let passed = pending.range_mut(mpdus.start..mpdus.start + run);
            now = take_in_order(passed, &mut subframes, &arrival, outbox);
            mpdus.start += run;
        }
        // Most often it is one: an iterator over a part of the deque would cost more.
        for bit in mpdus {
            let mpdu = &mut pending[bit];
            if let Some(subframes) = &mut subframes {
                now = subframes.next_end(u32::from(mpdu.bytes));
                arrival.now = now;
            }
            let is_decoded = decoded.contains(bit);
            if agreed && is_decoded && recipient.pass(mpdu.sequence) {
                for packet in mpdu.msdus.packets() {
                    outbox.deliver(now, receiver, packet, |packet| {
                        mpdu.stamp(packet, flight.start, now, &waits);
                    });
                }
                mpdu.taken = true;
                continue;
            }
            let fate = recipient.take(mpdu, is_decoded, &arrival, outbox);
            given_up += u64::from(fate == Fate::GivenUp);
            ignored += u64::from(fate == Fate::Ignored);
        }
        let state = &mut stations[receiver.index()];
        state.last_data = now;
        if let Some(away) = state.away.as_deref_mut() {
            away.count(0, range.filter(|bit| decoded.contains(*bit)).count() as u32);
        }
        let stats = &mut stations[receiver.index()].stats;
        stats.pseudo_retry_outs += given_up;
        stats.pseudo_retry_outs_ignored += ignored;
        self.watch_gap(receiver, key);
    }

    /// The absences that `mpdus` from an EDCAF to `peer` may have waited for.
    fn waits_of<'a, I: Iterator<Item = &'a Mpdu>>(
        &self,
        flight: &Flight,
        edcaf: usize,
        peer: Address,
        mpdus: impl FnOnce() -> I,
    ) -> Waits {
        if !self.has_absences(flight.transmitter, peer) {
            return Waits::default();
        }
        let packets = mpdus().flat_map(|mpdu| mpdu.msdus.packets());
        let since = super::earliest(packets.map(|packet| packet.arrived));
        self.waits(flight.transmitter, peer, edcaf, since)
    }

    pub(super) fn take_request(
        &mut self,
        receiver: StationId,
        sender: StationId,
        edcaf: usize,
        start: lasthop_units::SeqNo12,
    ) {
        let now = self.now;
        let Self { stations, outbox, .. } = self;
        let recipient = stations[receiver.index()].recipient(sender, edcaf);
        if let Some(retry_out) = &mut recipient.retry_out {
            retry_out.request(start);
        }
        if let Some(block_ack) = &mut recipient.block_ack {
            block_ack.request(start, |msdus| release(&msdus, receiver, now, outbox));
        }
        self.watch_gap(receiver, sender.index() * 4 + edcaf);
    }

    /// Returns which of the first `mpdus` pending MPDUs the response acknowledges.
    pub(super) fn acknowledges(
        &mut self,
        (sender, receiver): (StationId, StationId),
        edcaf: usize,
        decoded: Bitmap,
        mpdus: usize,
        pending: &VecDeque<Mpdu>,
    ) -> Bitmap {
        let recipient = self.stations[receiver.index()].recipient(sender, edcaf);
        let Some(block_ack) = &recipient.block_ack else { return decoded };
        let board = block_ack.scoreboard();
        if mpdus > 1
            && let Some(first) = pending.front()
        {
            // They are in order, so they follow each other if the last is as far as that.
            let last = mpdus.min(pending.len()) - 1;
            if usize::from(pending[last].sequence.distance_from(first.sequence)) == last {
                return board.received_from(first.sequence, last as u16 + 1);
            }
        }
        let mut acked = Bitmap::EMPTY;
        for (bit, mpdu) in pending.iter().take(mpdus).enumerate() {
            if board.contains(mpdu.sequence) {
                acked.insert(bit);
            }
        }
        acked
    }

    fn receive_group(&mut self, flight: &Flight) {
        let sender = flight.transmitter;
        let Some(Exchange::Single(exchange)) = self.stations[sender.index()].exchange.clone()
        else {
            unreachable!("a payload belongs to an exchange");
        };
        let (edcaf, peer) = (exchange.edcaf, exchange.peer);
        let bss = self.bss_of(sender);
        let pending = self.take_pending(sender, edcaf, peer);
        if let (Content::Data { .. }, Some(mpdu)) = (exchange.content, pending.front()) {
            let waits = self.waits_of(flight, edcaf, peer, || [mpdu].into_iter());
            for index in 0..self.stations.len() {
                let listener = StationId(index as u16);
                if listener == sender
                    || self.bss_of(listener) != bss
                    || !self.contention.senses(listener, sender)
                {
                    continue;
                }
                let decoded = self.decode(flight, listener, &exchange, &pending);
                if decoded.is_some_and(|decoded| !decoded.is_empty()) {
                    let msdus = mpdu.received(flight.start, self.now, &waits);
                    release(&msdus, listener, self.now, &mut self.outbox);
                } else {
                    for &packet in mpdu.msdus.packets() {
                        self.outbox.drop_packet(self.now, listener, packet, DropReason::GroupLoss);
                    }
                }
            }
        }
        if self.outbox.records {
            self.record_payload(flight, &exchange, &Bitmap::FIRST, &pending);
        }
        match exchange.content {
            Content::Beacon => {
                self.hear_beacon(flight, &exchange);
                if self.has_untold {
                    self.notify_again(sender);
                }
            }
            Content::Data { .. } if self.has_dozing(bss) => self.hear_group_frame(bss),
            Content::Management(Management { action: Action::ProbeRequest, .. }) => {
                let access_point = self.access_point(bss);
                if self.decode(flight, access_point, &exchange, &pending) == Some(Bitmap::FIRST) {
                    self.answer_probe(sender);
                }
            }
            _ => {}
        }
        self.return_pending(sender, edcaf, peer, pending);
        self.exchange_succeeded(sender, &Bitmap::EMPTY);
    }

    pub(super) fn has_agreement(&self, sender: StationId, edcaf: usize, peer: Address) -> bool {
        let access = self.stations[sender.index()].edcafs[edcaf].as_ref();
        access
            .and_then(|a| Some(&a.originators[a.originator(peer)?]))
            .is_some_and(|o| matches!(o.agreement, Agreement::Established { .. }))
    }

    /// Borrows the MPDUs of an originator; beacons and management frames have none.
    #[inline]
    pub(super) fn take_pending(
        &mut self,
        sender: StationId,
        edcaf: usize,
        peer: Address,
    ) -> VecDeque<Mpdu> {
        let access = self.stations[sender.index()].edcafs[edcaf].as_mut();
        access
            .and_then(|access| {
                let index = access.originator(peer)?;
                Some(core::mem::take(&mut access.originators[index].pending))
            })
            .unwrap_or_default()
    }

    #[inline]
    pub(super) fn return_pending(
        &mut self,
        sender: StationId,
        edcaf: usize,
        peer: Address,
        mpdus: VecDeque<Mpdu>,
    ) {
        let access = self.stations[sender.index()].edcafs[edcaf].as_mut();
        if let Some(access) = access
            && let Some(index) = access.originator(peer)
        {
            access.originators[index].pending = mpdus;
        }
    }

    /// Updates the list of gaps after a change of one reorder buffer.
    #[inline]
    fn watch_gap(&mut self, station: StationId, key: usize) {
        let recipient = self.stations[station.index()].recipients.get(key).and_then(Option::as_ref);
        // Behind a gap that just closed, the next may have waited long enough already.
        let deadline = recipient.and_then(|recipient| recipient.block_ack.as_ref()?.deadline());
        let deadline = deadline.map(|at| at.max(self.now));
        self.timers.watch_gap(station, key, deadline);
    }
}

impl<'a> Taken<'a> {
    /// The first `mpdus` of an exchange, all processed now.
    fn together(exchange: &Single, mpdus: usize, decoded: &'a Bitmap) -> Self {
        Self { edcaf: exchange.edcaf, mpdus: 0..mpdus, decoded, subframes: None }
    }
}

/// Delivers MPDUs that are in order, each at the end of its subframe, or all now. Returns the
/// instant of the last delivery.
#[inline(never)]
fn take_in_order<'a>(
    mpdus: impl Iterator<Item = &'a mut Mpdu>,
    subframes: &mut Option<Subframes>,
    &Arrived { mut now, start, receiver, waits, .. }: &Arrived<'_>,
    outbox: &mut Outbox,
) -> Instant {
    let mut clock = *subframes;
    for mpdu in mpdus {
        if let Some(subframes) = &mut clock {
            now = subframes.next_end(u32::from(mpdu.bytes));
        }
        for packet in mpdu.msdus.packets() {
            outbox.deliver(now, receiver, packet, |packet| mpdu.stamp(packet, start, now, waits));
        }
        mpdu.taken = true;
    }
    *subframes = clock;
    now
}

/// The exchange with several stations that a PPDU belongs to, in the downlink and in the uplink;
/// its participants are no third parties to the PPDU.
pub(super) fn exchange_of<'a>(
    flight: &Flight,
    stations: &'a [Station],
) -> (Option<&'a Downlink>, Option<&'a Uplink>) {
    let several = match (flight.carried, flight.receiver) {
        (Carried::MultiUser { .. } | Carried::Trigger, _) => Some(flight.transmitter),
        (Carried::TriggeredBlockAck { .. }, Address::Station(receiver)) => Some(receiver),
        _ => None,
    };
    let soliciting = match (flight.carried, flight.receiver) {
        (Carried::Solicitation, _) => Some(flight.transmitter),
        (Carried::Triggered { .. }, Address::Station(receiver)) => Some(receiver),
        _ => None,
    };
    (
        several.and_then(|of| stations[of.index()].exchange.as_ref()?.downlink()),
        soliciting.and_then(|of| stations[of.index()].exchange.as_ref()?.uplink()),
    )
}

/// Whether the frame does not show that its sender is awake: its Power Management bit is set or has
/// no meaning (9.2.4.1.7). With `saves`, data and management frames have the bit set.
fn keeps_dozing(content: &Content, saves: bool) -> bool {
    let Content::Management(frame) = content else { return saves };
    match frame.action {
        Action::Null { power_management } => power_management,
        Action::AddbaRequest { .. } | Action::AddbaResponse { .. } | Action::OperatingMode(_) => {
            saves
        }
        Action::PsPoll
        | Action::Trigger
        | Action::EndOfServicePeriod
        | Action::ProbeRequest
        | Action::ProbeResponse => true,
    }
}

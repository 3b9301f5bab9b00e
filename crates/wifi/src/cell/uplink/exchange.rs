//! An uplink exchange on the air: Trigger frames, trigger-based PPDUs, Multi-STA Block Ack (IEEE
//! 802.11ax-2021, 26.4.4, 26.5.2 and 26.5.5).
//!
//! If the access point decodes no answer to a Trigger frame, the exchange failed: its window
//! doubles, and it contends anew. Any decoded answer is a success and resets the window. The record
//! in the Multi-STA Block Ack settles a station's MPDUs; without one they are retransmitted, or
//! given up, as after any missing Block Ack. An answer leaves the station's backoff and window as
//! they are: it did not gain the channel.
//!
//! A station does not answer if it senses another PPDU when the Trigger frame ends, or if its basic
//! NAV is set (26.5.2.5: the Trigger frames require carrier sense, and the NAV of the station's own
//! set does not count). Beside its primary channel the station checks only the channels of its RU,
//! by the levels that make a secondary channel busy elsewhere; the standard requires energy
//! detection there (level not seen). PPDUs that begin within the following SIFS are not checked.

use super::super::content::{Content, Exchange};
use super::super::multi_user::Channel;
use super::super::{Cell, Pending, Sequel};
use super::{Answer, Phase, StationRecord, Timer, Uplink, is_data};
use crate::air::{Carried, Flight, Overlaps, Reduction, Subframes};
use crate::cell::RxInterrupt;
use crate::mac::block_ack::Bitmap;
use crate::mac::mpdu::Mpdu;
use crate::mac::sizes;
use crate::phy::{ChannelWidth, Ru};
use crate::station::{Address, StationId};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

impl Cell {
    /// Puts the Trigger frame of an access point's uplink exchange on the air.
    pub(in super::super) fn send_trigger(&mut self, station: StationId) {
        let (now, sifs) = (self.now, self.settings.timing.sifs);
        let uplink = self.uplink_of(station);
        let (rate, psdu_bytes, duration) = uplink.trigger;
        let end = now + duration;
        uplink.until = end + sifs + uplink.duration + uplink.acknowledged_in;
        let reserves_until = uplink.until;
        self.transmit(Flight {
            transmitter: station,
            receiver: Address::Group,
            start: now,
            end,
            rate,
            psdu_bytes,
            reserves_until,
            carried: Carried::Solicitation,
            overlaps: Overlaps::NONE,
            reduction: Reduction::NONE,
        });
    }

    /// Handles the end of a Trigger frame.
    pub(in super::super) fn receive_solicitation(&mut self, flight: &Flight) {
        let sender = flight.transmitter;
        let config = self.stations[sender.index()].config.ofdma.expect("it solicits");
        let mut uplink = self.stations[sender.index()].uplink.take().expect("it solicits");
        let width = uplink.rate.width();
        let channel = Channel { width, ..self.channel(sender, config) };
        let mut is_heard = true;
        for asked in &uplink.users {
            let station = asked.station;
            if !self.decodes_control(flight, station) {
                is_heard = false;
                continue;
            }
            if !self.may_answer(station, (asked.user.ru, width)) {
                continue;
            }
            let (state, mut cx) = self.at(station);
            let (exchange, answer) =
                state.build_answer(&mut cx, (sender, &uplink), (asked, channel));
            state.exchange = Some(exchange);
            state.answer = Some(Box::new(answer));
            // It may count slots meanwhile: what it decodes need not be strong enough to sense.
            self.contention.leave(station, self.now);
            self.follow(station, Sequel::Answer);
            uplink.answers_due += 1;
        }
        if self.outbox.records {
            self.record_solicitation(flight, &uplink, is_heard);
        }
        let is_answered = uplink.answers_due > 0;
        self.stations[sender.index()].uplink = Some(uplink);
        if !is_answered {
            self.start_response_timeout(sender);
        }
    }

    /// Whether the station may answer: it is in no exchange, senses no PPDU on its primary channel
    /// or on those of its RU in a PPDU of this width, and its basic NAV is over.
    fn may_answer(&self, station: StationId, of: (Ru, ChannelWidth)) -> bool {
        let navs = self.navs.get(station.index());
        let (air, bandwidth) = (&self.air, &self.bandwidth);
        self.stations[station.index()].exchange.is_none()
            && navs.is_none_or(|navs| navs.basic <= self.now)
            && bandwidth.as_ref().is_none_or(|it| it.is_idle_around(air, (station, self.now), of))
            && !self.air.carries_any(|other| self.senses(station, other))
    }

    /// Puts a station's trigger-based PPDU on the air.
    pub(in super::super) fn send_answer(&mut self, station: StationId) {
        let now = self.now;
        let state = &mut self.stations[station.index()];
        let answer = *state.answer.as_deref().expect("it was asked");
        let exchange = state.exchange.as_ref().expect("it is in one");
        let &Exchange { edcaf, peer, content, rate, psdu_bytes, duration, .. } = exchange;
        match content {
            Content::Data { mpdus, .. } => {
                let access = state.edcafs[edcaf].as_mut().expect("it sends");
                let index = access.originator(peer).expect("it has pending MPDUs");
                let retries = access.originators[index].sent(mpdus, now);
                access.last_served = Some(peer);
                let link = state.link_stats(peer);
                link.ppdus += 1;
                link.mpdus += mpdus as u64;
                link.mpdu_retries += retries;
                link.mpdus_per_ppdu.add(mpdus as u32, 1);
                link.count_rate(rate);
                link.data_airtime += answer.share;
            }
            Content::BlockAckRequest { .. } => state.link_stats(peer).block_ack_requests += 1,
            _ => {}
        }
        self.transmit(Flight {
            transmitter: station,
            receiver: peer,
            start: now,
            end: now + duration,
            rate: answer.overheard,
            psdu_bytes,
            reserves_until: answer.until,
            carried: Carried::Triggered { header: answer.header },
            overlaps: Overlaps::NONE,
            reduction: Reduction::NONE,
        });
        let receiver = answer.to;
        if let Content::Data { mpdus, .. } = content
            && self.stations[receiver.index()].config.rx_interrupt == RxInterrupt::Mpdu
        {
            let subframes = answer.subframes(now, mpdus);
            self.await_arrival((station, receiver), edcaf, subframes, rate);
        }
    }

    /// Handles the end of a trigger-based PPDU at the access point.
    pub(in super::super) fn receive_answer(&mut self, flight: &Flight, receiver: StationId) {
        let sender = flight.transmitter;
        let state = &mut self.stations[sender.index()];
        let answer = *state.answer.as_deref().expect("it was asked");
        let mut exchange = state.exchange.take().expect("it is in one");
        exchange.collided = self.air.is_disturbed(flight, receiver);
        let own = flight.to(receiver, exchange.rate, exchange.psdu_bytes);
        let mut pending = self.take_pending(sender, exchange.edcaf, exchange.peer);
        let (decoded, record) =
            self.receive_answered(&own, receiver, (&exchange, &answer), &mut pending);
        if self.outbox.records {
            self.record_answer(&own, (&exchange, &answer), &decoded, &pending);
        }
        self.return_pending(sender, exchange.edcaf, exchange.peer, pending);
        let is_report = exchange.content == Content::BufferReport;
        self.stations[sender.index()].exchange = Some(exchange);
        let uplink = self.uplink_of(receiver);
        uplink.answers_due -= 1;
        let user = uplink.user(sender);
        user.is_heard = !decoded.is_empty();
        user.record = record;
        if is_report {
            // QoS Null frames are not acknowledged.
            self.answer_over(sender, None);
        }
    }

    /// Processes an answer at the access point: decoded MPDUs, and the later acknowledgement.
    fn receive_answered(
        &mut self,
        own: &Flight,
        receiver: StationId,
        (exchange, answer): (&Exchange, &Answer),
        pending: &mut VecDeque<Mpdu>,
    ) -> (Bitmap, Option<StationRecord>) {
        let sender = own.transmitter;
        let &Exchange { edcaf, content, .. } = exchange;
        let mpdus = match content {
            Content::Data { mpdus, .. } => mpdus,
            _ => return self.receive_control_answer(own, receiver, (exchange, answer), pending),
        };
        let arrived = self.end_arrival(own, pending);
        let decoded = arrived.unwrap_or_else(|| {
            let snr = self.receive_header(own, receiver)?;
            let mut subframes = answer.subframes(own.start, mpdus);
            let mut decoded = Bitmap::EMPTY;
            for (bit, mpdu) in pending.iter().take(mpdus).enumerate() {
                let bytes = u32::from(mpdu.bytes);
                let span = subframes.next(bytes);
                if self.receive_mpdu(own, receiver, snr, bytes, span) {
                    decoded.insert(bit);
                }
            }
            Some(decoded)
        });
        let Some(decoded) = decoded else { return (Bitmap::EMPTY, None) };
        let reports = !decoded.is_empty()
            || self.stations[receiver.index()].config.pseudo_retry_out.is_some();
        if arrived.is_none() && reports {
            self.take_in(
                own,
                receiver,
                pending,
                super::super::reception::Taken {
                    edcaf,
                    mpdus: 0..mpdus,
                    decoded: &decoded,
                    subframes: None,
                },
            );
        }
        if decoded.is_empty() {
            return (decoded, None);
        }
        let buffered = answer.buffered[edcaf];
        self.hear_backlog((sender, receiver), edcaf, buffered, (mpdus, &decoded, pending));
        let acked = self.acknowledges((sender, receiver), exchange, decoded, mpdus, pending);
        (decoded, Some(self.station_record((sender, receiver), edcaf, acked)))
    }

    /// Processes an answer of QoS Null frames, or of a Block Ack Request.
    fn receive_control_answer(
        &mut self,
        own: &Flight,
        receiver: StationId,
        (exchange, answer): (&Exchange, &Answer),
        pending: &VecDeque<Mpdu>,
    ) -> (Bitmap, Option<StationRecord>) {
        let sender = own.transmitter;
        let Some(snr) = self.receive_header(own, receiver) else { return (Bitmap::EMPTY, None) };
        let (mpdu, phase) = match exchange.content {
            Content::BlockAckRequest { .. } => (sizes::BLOCK_ACK_REQUEST, Phase::Data),
            _ => (sizes::QOS_NULL, self.uplink_of(receiver).phase),
        };
        let count = match exchange.content {
            Content::BlockAckRequest { .. } => 1,
            _ => Answer::nulls(phase) as usize,
        };
        let mut subframes = answer.subframes(own.start, count);
        let mut decoded = Bitmap::EMPTY;
        for bit in 0..count {
            let span = subframes.next(mpdu);
            if self.receive_mpdu(own, receiver, snr, mpdu, span) {
                decoded.insert(bit);
            }
        }
        if let Content::BlockAckRequest { start } = exchange.content {
            if decoded.is_empty() {
                return (decoded, None);
            }
            let edcaf = exchange.edcaf;
            self.take_request(receiver, sender, edcaf, start);
            let all = pending.len().min(Bitmap::BITS);
            let acked = self.acknowledges((sender, receiver), exchange, decoded, all, pending);
            return (decoded, Some(self.station_record((sender, receiver), edcaf, acked)));
        }
        for bit in (0..count).filter(|&bit| decoded.contains(bit)) {
            let category = if phase == Phase::Reports { bit } else { exchange.edcaf };
            let nothing = (0, &Bitmap::EMPTY, &VecDeque::new());
            let buffered = answer.buffered[category];
            self.hear_backlog((sender, receiver), category, buffered, nothing);
        }
        (decoded, None)
    }

    /// Returns the record of the access point's scoreboard for `sender`.
    fn station_record(
        &mut self,
        (sender, receiver): (StationId, StationId),
        edcaf: usize,
        acked: Bitmap,
    ) -> StationRecord {
        let recipient = self.stations[receiver.index()].recipient(sender, edcaf);
        let board = recipient.block_ack.as_ref().map(|block_ack| block_ack.scoreboard());
        StationRecord {
            acked,
            start: board.as_ref().map_or_else(Default::default, |board| board.start()),
            bitmap: board.as_ref().map_or(Bitmap::EMPTY, |board| board.bitmap()),
        }
    }

    /// Handles a trigger-based PPDU after its third parties; after the last one the access point
    /// continues.
    pub(in super::super) fn uplink_answer_noticed(&mut self, station: StationId) {
        let uplink = self.stations[station.index()].uplink.as_deref();
        if uplink.is_some_and(|uplink| uplink.answers_due == 0) {
            self.uplink_answered(station);
        }
    }

    /// Continues after the last trigger-based PPDU.
    fn uplink_answered(&mut self, station: StationId) {
        let sifs = self.settings.timing.sifs;
        let uplink = self.stations[station.index()].uplink.take().expect("it solicits");
        let Uplink { phase, edcaf, opportunity_end, .. } = *uplink;
        let is_heard = uplink.users.iter().any(|user| user.is_heard);
        match phase {
            Phase::Reports if is_heard => {
                let config = self.stations[station.index()].config.ofdma.expect("it solicits");
                let time = (self.now + sifs, opportunity_end);
                match self.solicit(station, edcaf, time, config) {
                    Some(next) => {
                        self.stations[station.index()].uplink = Some(Box::new(next));
                        self.pending.push(Pending { at: time.0, station, sequel: Sequel::Trigger });
                    }
                    None => self.uplink_over(station, true),
                }
            }
            Phase::Reports => self.uplink_over(station, false),
            Phase::Data => {
                let retry_limit = self.stations[station.index()].config.retry_limit;
                let is_acknowledged = uplink.users.iter().any(|user| user.record.is_some());
                for user in &uplink.users {
                    let answered = self.stations[user.station.index()].answer.as_deref();
                    let waits = answered.is_some_and(|answer| answer.to == station);
                    if user.record.is_none() {
                        let of = (user.station, user.is_heard);
                        self.miss(station, edcaf, of, retry_limit);
                    }
                    if waits && !is_acknowledged {
                        self.start_response_timeout(user.station);
                    }
                }
                if is_acknowledged {
                    self.stations[station.index()].uplink = Some(uplink);
                    let sequel = Sequel::MultiStationBlockAck;
                    self.pending.push(Pending { at: self.now + sifs, station, sequel });
                } else {
                    self.uplink_over(station, is_heard);
                }
            }
        }
    }

    /// Puts the Multi-STA Block Ack on the air.
    pub(in super::super) fn send_multi_station_block_ack(&mut self, station: StationId) {
        let now = self.now;
        let uplink = self.uplink_of(station);
        let rate = uplink.trigger.0;
        let acknowledged = uplink.users.iter().filter(|user| user.record.is_some());
        let psdu_bytes = super::build::block_ack_bytes(acknowledged.map(|user| user.bits));
        let end = now + self.rates.ppdu_duration(rate, psdu_bytes);
        self.transmit(Flight {
            transmitter: station,
            receiver: Address::Group,
            start: now,
            end,
            rate,
            psdu_bytes,
            reserves_until: end,
            carried: Carried::MultiStationBlockAck,
            overlaps: Overlaps::NONE,
            reduction: Reduction::NONE,
        });
    }

    /// Handles the end of the Multi-STA Block Ack.
    pub(in super::super) fn receive_multi_station_block_ack(&mut self, flight: &Flight) {
        let sender = flight.transmitter;
        let uplink = self.stations[sender.index()].uplink.take().expect("it solicits");
        let mut is_heard = true;
        let mut over = Vec::with_capacity(uplink.users.len());
        for user in &uplink.users {
            let answered = self.stations[user.station.index()].answer.as_deref();
            if answered.is_none_or(|answer| answer.to != sender) {
                continue;
            }
            let is_decoded = self.decodes_control(flight, user.station);
            is_heard &= is_decoded;
            over.push((user.station, user.record.filter(|_| is_decoded)));
        }
        if self.outbox.records {
            self.record_multi_station_block_ack(flight, &uplink, is_heard);
        }
        for (station, record) in over {
            self.answer_over(station, record.map(|record| record.acked));
        }
        self.uplink_over(sender, true);
    }

    /// Settles the station's answer; `acked` are the MPDUs that the access point acknowledged.
    pub(in super::super) fn answer_over(&mut self, station: StationId, acked: Option<Bitmap>) {
        let now = self.now;
        let (state, mut cx) = self.at(station);
        state.answer = None;
        let Some(exchange) = state.exchange.take() else { return };
        match &acked {
            Some(acked) => state.settle_answered(&mut cx, &exchange, acked),
            None => state.unanswered(&mut cx, &exchange),
        };
        if is_data(&exchange) && acked.is_some_and(|acked| !acked.is_empty()) {
            self.contend_less(station, exchange.edcaf);
            self.sent_when_asked(station);
        }
        self.contention.hold(station, now);
        let edcaf = exchange.edcaf;
        let Some(access) = &mut self.stations[station.index()].edcafs[edcaf] else { return };
        access.keep_turn(exchange.peer);
        let contender = access.contender;
        match access.has_work() {
            true => _ = self.arm(station, edcaf),
            false => self.contention.disarm(contender),
        }
    }

    /// Handles a Trigger frame of the access point without any answer.
    pub(in super::super) fn uplink_unanswered(&mut self, station: StationId) {
        let uplink = self.stations[station.index()].uplink.take().expect("it solicits");
        let retry_limit = self.stations[station.index()].config.retry_limit;
        if uplink.phase == Phase::Data {
            for user in &uplink.users {
                self.miss(station, uplink.edcaf, (user.station, false), retry_limit);
            }
        }
        self.uplink_over(station, false);
    }

    /// Ends the exchange of an access point.
    fn uplink_over(&mut self, station: StationId, success: bool) {
        let state = &mut self.stations[station.index()];
        state.uplink = None;
        let exchange = state.exchange.take().expect("it solicits");
        let backoff = &mut state.edcaf(exchange.edcaf).backoff;
        match success {
            true => backoff.reset(),
            false => backoff.widen(),
        }
        self.exchange_over(station, exchange, success);
        if self.has_services {
            self.close_services(station);
        }
    }

    fn miss(
        &mut self,
        access_point: StationId,
        edcaf: usize,
        (station, is_heard): (StationId, bool),
        most: u8,
    ) {
        if let Some(reports) = &mut self.access(access_point, edcaf).reports {
            reports.miss(station, is_heard, most);
        }
    }

    /// Records the backlog of `sender` in a category: it held `buffered` bytes when the PPDU was
    /// built. The PPDU carried the first `mpdus` pending MPDUs; bit n of `decoded` is MPDU n.
    pub(in super::super) fn hear_backlog(
        &mut self,
        (sender, receiver): (StationId, StationId),
        edcaf: usize,
        buffered: u64,
        (mpdus, decoded, pending): (usize, &Bitmap, &VecDeque<Mpdu>),
    ) {
        let Some(config) = self.stations[receiver.index()].config.ofdma else { return };
        let peer = Address::Station(receiver);
        if config.uplink.is_none()
            || !self.stations[sender.index()].config.capabilities.is_he()
            || !self.has_agreement(sender, edcaf, peer)
        {
            return;
        }
        let (mut in_ppdu, mut got, mut count) = (0, 0, 0);
        for (bit, mpdu) in pending.iter().take(mpdus).enumerate() {
            let around = sizes::QOS_DATA_HEADER + sizes::FCS;
            let bytes = u64::from(u32::from(mpdu.bytes).saturating_sub(around));
            in_ppdu += bytes;
            if decoded.contains(bit) {
                (got, count) = (got + bytes, count + 1);
            }
        }
        let behind = super::reports::QueueSize::of(buffered.saturating_sub(in_ppdu)).bytes();
        let backlog = behind + in_ppdu - got;
        if self.stations[receiver.index()].edcafs[edcaf].is_none() && backlog == 0 {
            return;
        }
        if let Some(reports) = &mut self.edcaf(receiver, edcaf).reports {
            reports.hear(sender, backlog, (count, got as u32));
        }
        self.arm(receiver, edcaf);
    }

    /// Handles a timeout of `station` in an uplink exchange; returns whether there was one.
    pub(in super::super) fn uplink_failed(&mut self, station: StationId) -> bool {
        let state = &self.stations[station.index()];
        let (solicits, answers) = (state.uplink.is_some(), state.answer.is_some());
        if solicits {
            self.uplink_unanswered(station);
        } else if answers {
            self.answer_over(station, None);
        }
        solicits || answers
    }

    /// Stores the bytes that the station holds as it begins a PPDU with data.
    pub(in super::super) fn stamp_buffered(&mut self, station: StationId) {
        let state = &mut self.stations[station.index()];
        let edcaf = state.exchange.as_ref().filter(|e| is_data(e)).map(|exchange| exchange.edcaf);
        if let Some(edcaf) = edcaf {
            state.buffered = state.buffered_bytes(edcaf);
        }
    }

    /// Handles the timers that have ended.
    pub(in super::super) fn expire_uplink_timers(&mut self) {
        let now = self.now;
        while let Some(index) = self.uplink_timers.iter().position(|timer| timer.0 <= now) {
            let (_, station, edcaf, timer) = self.uplink_timers.remove(index);
            match timer {
                Timer::Poll => {
                    if let Some(reports) = &mut self.edcaf(station, edcaf).reports {
                        reports.is_poll_due = true;
                    }
                    self.arm(station, edcaf);
                }
                Timer::MuEdca => self.contend_as_ever(station, edcaf),
            }
        }
        self.find_next_uplink();
    }

    fn uplink_of(&mut self, station: StationId) -> &mut Uplink {
        self.stations[station.index()].uplink.as_deref_mut().expect("it solicits")
    }
}

impl Answer {
    /// The subframes of the PPDU if it begins at `start` and has this many MPDUs.
    fn subframes(&self, start: lasthop_units::Instant, mpdus: usize) -> Subframes {
        let span = (start + self.header, start + self.data_end);
        Subframes::of_user(span, self.data_bytes, (mpdus, self.spacing_bytes))
    }
}

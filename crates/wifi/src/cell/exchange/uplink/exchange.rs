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

use super::super::content::Exchange;
use super::super::multi_user::{MuChannel, MuFormat};
use super::super::single::{Outline, Single};
use super::{Answer, Answered, Solicitation, Solicited, StationRecord, Uplink};
use crate::air::{Carried, Content, Flight, Interval, Overlaps, Reduction, Subframes};
use crate::cell::exchange::uplink::build::Opportunity;
use crate::cell::exchange::uplink::reports::{Backlog, QueueSizeCode};
use crate::cell::floor::Floor;
use crate::cell::frames::Context;
use crate::cell::power::Power;
use crate::cell::receivers::Receivers;
use crate::cell::station::Station;
use crate::cell::timers::{Timer, UplinkWait};
use crate::cell::{Cell, Sequel, Settings};
use crate::mac::block_ack::Bitmap;
use crate::mac::sizes;
use crate::station::{Address, StationId};
use alloc::boxed::Box;
use alloc::vec::Vec;

/// The backlog that a PPDU reports: its sender held `buffered` bytes of an EDCAF's category when the
/// PPDU was built, which carried the first `mpdus` pending MPDUs.
#[derive(Clone, Copy)]
pub(in crate::cell) struct BacklogReport<'a> {
    pub edcaf: usize,
    pub buffered: u64,
    pub mpdus: usize,
    /// Decoded MPDUs: bit n is MPDU n.
    pub decoded: &'a Bitmap,
}

impl BacklogReport<'_> {
    /// The backlog that the receiver of a PPDU with this report records, if it solicits uplink PPDUs
    /// and the sender answers them.
    #[inline]
    pub(in crate::cell) fn backlog(
        &self,
        stations: &[Station],
        flight: &Flight,
    ) -> Option<Backlog> {
        let Address::Station(receiver) = flight.receiver else { return None };
        if stations[receiver.index()].config.solicits() {
            self.backlog_of(&stations[flight.transmitter.index()], flight.receiver)
        } else {
            None
        }
    }

    #[cold]
    fn backlog_of(&self, sender: &Station, peer: Address) -> Option<Backlog> {
        let &Self { edcaf, buffered, mpdus, decoded } = self;
        if !sender.config.capabilities.is_he_or_later() || !sender.has_agreement(edcaf, peer) {
            return None;
        }
        let (mut in_ppdu, mut got, mut count) = (0, 0, 0);
        let pending = sender.pending(edcaf, peer).into_iter().flatten();
        for (bit, mpdu) in pending.take(mpdus).enumerate() {
            let around = sizes::QOS_DATA_HEADER + sizes::FCS;
            let bytes = u64::from(u32::from(mpdu.bytes).saturating_sub(around));
            in_ppdu += bytes;
            if decoded.contains(bit) {
                (got, count) = (got + bytes, count + 1);
            }
        }
        let behind = QueueSizeCode::new(buffered.saturating_sub(in_ppdu)).bytes();
        Some(Backlog { bytes: behind + in_ppdu - got, decoded: count, decoded_bytes: got as u32 })
    }
}

impl Station {
    /// The Trigger frame of the station's uplink exchange, which begins now.
    pub(in crate::cell) fn send_trigger(&mut self, cx: &Context<'_>) -> Flight {
        let (now, sifs) = (cx.now, cx.settings.timing.sifs);
        let station = self.id;
        let uplink = self.uplink();
        let (rate, psdu_bytes, duration) = uplink.trigger;
        let end = now + duration;
        uplink.until = end + sifs + uplink.duration + uplink.acknowledged_in;
        let reserves_until = uplink.until;
        Flight {
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
        }
    }

    /// The station's trigger-based PPDU, which begins now.
    pub(in crate::cell) fn send_answer(&mut self, cx: &Context<'_>) -> Flight {
        let now = cx.now;
        let answer = *self.answer();
        let Answer { edcaf, content, rate, psdu_bytes, duration, share, .. } = answer;
        let peer = answer.peer();
        match content {
            Answered::Data { mpdus } => {
                let access = self.edcaf(edcaf);
                let retries = access.sent(peer, mpdus, now);
                access.last_served = Some(peer);
                self.link_stats(peer).count_data(mpdus, retries, rate, share);
            }
            Answered::BlockAckRequest { .. } => self.link_stats(peer).block_ack_requests += 1,
            Answered::BufferReport => {}
        }
        Flight {
            transmitter: self.id,
            receiver: peer,
            start: now,
            end: now + duration,
            rate: answer.overheard,
            psdu_bytes,
            reserves_until: answer.until,
            carried: Carried::Triggered { header: answer.header },
            overlaps: Overlaps::NONE,
            reduction: Reduction::NONE,
        }
    }

    /// The Multi-STA Block Ack of the station's uplink exchange, which begins now.
    pub(in crate::cell) fn send_multi_station_block_ack(&mut self, cx: &mut Context<'_>) -> Flight {
        let (now, station) = (cx.now, self.id);
        let uplink = self.uplink();
        let rate = uplink.trigger.0;
        let acknowledged = uplink.users.iter().filter(|user| user.record.is_some());
        let psdu_bytes = super::build::block_ack_bytes(acknowledged.map(|user| user.bits));
        let end = now + cx.rates.ppdu_duration(rate, psdu_bytes);
        Flight {
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
        }
    }

    /// Stores the bytes that the station holds as it begins a PPDU with data, if an access point
    /// solicits uplink PPDUs.
    #[inline]
    pub(in crate::cell) fn stamp_buffered(&mut self, settings: &Settings) {
        if !settings.has_uplink {
            return;
        }
        if let Some(Exchange::Single(Single { edcaf, content: Content::Data { .. }, .. })) =
            self.exchange
        {
            self.buffered = self.buffered_bytes(edcaf);
        }
    }

    /// Records a Basic Trigger frame without data of a station; `is_heard` is whether it answered.
    fn miss(&mut self, edcaf: usize, station: StationId, is_heard: bool) {
        let most = self.config.retry_limit;
        if let Some(reports) = &mut self.edcaf(edcaf).reports {
            reports.miss(station, is_heard, most);
        }
    }

    /// Settles the station's answer; `acked` are the MPDUs that the access point acknowledged.
    /// Returns the answer, if there is one.
    fn settle_answer(&mut self, cx: &mut Context<'_>, acked: Option<&Bitmap>) -> Option<Answer> {
        let Some(Exchange::Answer(answer)) = self.exchange.take() else { return None };
        let (edcaf, peer) = (answer.edcaf, answer.peer());
        match (answer.content, acked) {
            (Answered::Data { mpdus }, Some(acked)) => {
                self.data_answered(cx, &answer.sent(mpdus), acked);
            }
            (Answered::Data { mpdus }, None) => {
                self.data_unanswered(cx, &answer.sent(mpdus));
            }
            (Answered::BlockAckRequest { .. }, Some(acked)) => {
                self.settle_request(cx, edcaf, peer, acked);
            }
            (Answered::BlockAckRequest { .. }, None) => {
                self.request_unanswered(cx, edcaf, peer);
            }
            (Answered::BufferReport, _) => {}
        }
        Some(*answer)
    }

    /// Returns the record of the access point's scoreboard for `sender`.
    fn station_record(&mut self, sender: StationId, edcaf: usize, acked: Bitmap) -> StationRecord {
        let recipient = self.recipient(sender, edcaf);
        let board = recipient.block_ack.as_ref().map(|block_ack| block_ack.scoreboard());
        StationRecord {
            acked,
            start: board.as_ref().map_or_else(Default::default, |board| board.start()),
            bitmap: board.as_ref().map_or(Bitmap::EMPTY, |board| board.bitmap()),
        }
    }

    /// Whether the station has answered a Trigger frame of `access_point` and waits.
    fn has_answered(&self, access_point: StationId) -> bool {
        matches!(&self.exchange, Some(Exchange::Answer(answer)) if answer.to == access_point)
    }

    pub(super) fn uplink(&mut self) -> &mut Uplink {
        match &mut self.exchange {
            Some(Exchange::Uplink(uplink)) => uplink,
            _ => unreachable!("it solicits"),
        }
    }

    fn take_uplink(&mut self) -> Box<Uplink> {
        match self.exchange.take() {
            Some(Exchange::Uplink(uplink)) => uplink,
            _ => unreachable!("it solicits"),
        }
    }

    pub(in crate::cell) fn answer(&mut self) -> &mut Answer {
        match &mut self.exchange {
            Some(Exchange::Answer(answer)) => answer,
            _ => unreachable!("it was asked"),
        }
    }
}

impl Cell {
    /// Handles the end of a Trigger frame.
    pub(in crate::cell) fn receive_solicitation(&mut self, flight: &Flight) {
        let sender = flight.transmitter;
        let config = self.stations[sender.index()].config.ofdma.expect("it solicits");
        let rate = self.stations[sender.index()].uplink().rate;
        let width = rate.width();
        let access_point = &self.stations[sender.index()];
        let channel = access_point.channel(self.settings.band, config, rate.is_eht());
        let channel = MuChannel { width, format: MuFormat::from_rate(rate), ..channel };
        let mut is_heard = true;
        let uplink = self.stations[sender.index()].uplink();
        let ask = Solicited::new(uplink, channel);
        let users = core::mem::take(&mut uplink.users);
        let mut answers_due = 0;
        for asked in &users {
            let station = asked.station;
            if !self.receivers().at(station).decodes_control(flight) {
                is_heard = false;
                continue;
            }
            // It has to be in no exchange, too.
            let (channels, scene) = self.channels();
            if scene.stations[station.index()].exchange.is_some()
                || !channels.may_answer(&scene, station, asked.user.ru, width)
            {
                continue;
            }
            let (state, mut cx) = self.at(station);
            let answer = state.build_answer(&mut cx, sender, &ask, asked);
            state.exchange = Some(Exchange::Answer(Box::new(answer)));
            // It may count slots meanwhile: what it decodes need not be strong enough to sense.
            self.contention.leave(station, self.now);
            self.floor().follow(station, Sequel::Frame);
            answers_due += 1;
        }
        let uplink = self.stations[sender.index()].uplink();
        (uplink.users, uplink.answers_due) = (users, answers_due);
        self.record(|recorder| recorder.record_solicitation(flight, sender, is_heard));
        if answers_due == 0 {
            self.floor().start_response_timeout(sender);
        }
    }

    /// Handles the end of a trigger-based PPDU at the access point.
    pub(in crate::cell) fn receive_answer(&mut self, flight: &Flight, receiver: StationId) {
        let sender = flight.transmitter;
        let collided = self.air.is_disturbed(flight, receiver);
        let answer = self.stations[sender.index()].answer();
        answer.collided = collided;
        let answer = *answer;
        let own = flight.to(receiver, answer.rate, answer.psdu_bytes);
        let (decoded, record) = self.receivers().receive_answered(&own, receiver, &answer);
        self.power(|power, floor| floor.hear_answer(power, &own, receiver, &answer, &decoded));
        self.record(|recorder| recorder.record_answer(&own, &answer, &decoded));
        let is_report = answer.content == Answered::BufferReport;
        let uplink = self.stations[receiver.index()].uplink();
        uplink.answers_due -= 1;
        let user = uplink.user(sender);
        user.is_heard = !decoded.is_empty();
        user.record = record;
        if is_report {
            // QoS Null frames are not acknowledged.
            self.answer_over(sender, None);
        }
    }

    /// Continues after the last trigger-based PPDU.
    pub(in crate::cell) fn uplink_answered(&mut self, station: StationId) {
        let sifs = self.settings.timing.sifs;
        let uplink = self.stations[station.index()].take_uplink();
        let Uplink { phase, outline, .. } = *uplink;
        let Outline { edcaf, opportunity_end, .. } = outline;
        let is_heard = uplink.users.iter().any(|user| user.is_heard);
        match phase {
            Solicitation::Reports if is_heard => {
                let config = self.stations[station.index()].config.ofdma.expect("it solicits");
                let time = Opportunity { start: self.now + sifs, end: opportunity_end };
                match self.solicitor().solicit(station, edcaf, time, config) {
                    Some(next) => {
                        let next = Box::new(Uplink { outline, ..next });
                        self.stations[station.index()].exchange = Some(Exchange::Uplink(next));
                        self.timers.follow(time.start, station, Sequel::Frame);
                    }
                    None => self.uplink_over(station, &outline, true),
                }
            }
            Solicitation::Reports => self.uplink_over(station, &outline, false),
            Solicitation::Data => {
                let is_acknowledged = uplink.users.iter().any(|user| user.record.is_some());
                for user in &uplink.users {
                    let waits = self.stations[user.station.index()].has_answered(station);
                    if user.record.is_none() {
                        let access_point = &mut self.stations[station.index()];
                        access_point.miss(edcaf, user.station, user.is_heard);
                    }
                    if waits && !is_acknowledged {
                        self.floor().start_response_timeout(user.station);
                    }
                }
                if is_acknowledged {
                    self.stations[station.index()].exchange = Some(Exchange::Uplink(uplink));
                    let sequel = Sequel::MultiStationBlockAck;
                    self.timers.follow(self.now + sifs, station, sequel);
                } else {
                    self.uplink_over(station, &outline, is_heard);
                }
            }
        }
    }

    /// Handles the end of the Multi-STA Block Ack.
    pub(in crate::cell) fn receive_multi_station_block_ack(&mut self, flight: &Flight) {
        let sender = flight.transmitter;
        let mut is_heard = true;
        let users = core::mem::take(&mut self.stations[sender.index()].uplink().users);
        let mut over = Vec::with_capacity(users.len());
        for user in &users {
            if !self.stations[user.station.index()].has_answered(sender) {
                continue;
            }
            let is_decoded = self.receivers().at(user.station).decodes_control(flight);
            is_heard &= is_decoded;
            over.push((user.station, user.record.filter(|_| is_decoded)));
        }
        self.record(|recorder| {
            recorder.record_multi_station_block_ack(flight, &users, is_heard);
        });
        for (station, record) in over {
            self.answer_over(station, record.map(|record| record.acked));
        }
        let outline = self.stations[sender.index()].take_uplink().outline;
        self.uplink_over(sender, &outline, true);
    }

    /// Settles the station's answer; `acked` are the MPDUs that the access point acknowledged.
    pub(in crate::cell) fn answer_over(&mut self, station: StationId, acked: Option<Bitmap>) {
        let now = self.now;
        let (state, mut cx) = self.at(station);
        let Some(answer) = state.settle_answer(&mut cx, acked.as_ref()) else { return };
        let (edcaf, peer) = (answer.edcaf, answer.peer());
        let is_data = matches!(answer.content, Answered::Data { .. });
        if is_data && acked.is_some_and(|acked| !acked.is_empty()) {
            self.power(|power, floor| {
                floor.contend_less(station, edcaf);
                power.sent_when_asked(floor, station);
            });
        }
        self.contention.hold(station, now);
        let state = &mut self.stations[station.index()];
        let Some(access) = &mut state.edcafs[edcaf] else { return };
        access.keep_turn(peer);
        let contender = access.contender;
        if access.has_work() {
            state.arm(&mut self.contention, now, edcaf);
        } else {
            self.contention.disarm(contender);
        }
    }

    /// Handles a Trigger frame of the access point without any answer.
    pub(in crate::cell) fn uplink_unanswered(&mut self, station: StationId) {
        let uplink = self.stations[station.index()].take_uplink();
        if uplink.phase == Solicitation::Data {
            for user in &uplink.users {
                let access_point = &mut self.stations[station.index()];
                access_point.miss(uplink.outline.edcaf, user.station, false);
            }
        }
        self.uplink_over(station, &uplink.outline, false);
    }

    /// Ends the exchange of an access point.
    fn uplink_over(&mut self, station: StationId, outline: &Outline, success: bool) {
        self.stations[station.index()].edcaf(outline.edcaf).backoff.reset_or_widen(success);
        self.exchange_over(station, outline, success);
        self.services(|power, floor| power.close_services(floor, station));
    }
}

impl Receivers<'_> {
    /// Processes an answer at the access point: decoded MPDUs, and the later acknowledgement.
    fn receive_answered(
        &mut self,
        own: &Flight,
        receiver: StationId,
        answer: &Answer,
    ) -> (Bitmap, Option<StationRecord>) {
        let sender = own.transmitter;
        let edcaf = answer.edcaf;
        let Answered::Data { mpdus } = answer.content else {
            return self.receive_control_answer(own, receiver, answer);
        };
        let subframes = answer.subframes(own.start, mpdus);
        let (decoded, is_processed) = self.decode_data(own, receiver, edcaf, subframes, None);
        let Some(decoded) = decoded else { return (Bitmap::EMPTY, None) };
        let reports = !decoded.is_empty()
            || self.stations[receiver.index()].config.pseudo_retry_out.is_some();
        if !is_processed && reports {
            self.take_data(own, receiver, edcaf, mpdus, &decoded);
        }
        if decoded.is_empty() {
            return (decoded, None);
        }
        let acked = self.acknowledges(own, receiver, edcaf, decoded, mpdus);
        (decoded, Some(self.stations[receiver.index()].station_record(sender, edcaf, acked)))
    }

    /// Processes an answer of QoS Null frames, or of a Block Ack Request.
    fn receive_control_answer(
        &mut self,
        own: &Flight,
        receiver: StationId,
        answer: &Answer,
    ) -> (Bitmap, Option<StationRecord>) {
        let sender = own.transmitter;
        let Some(snr) = self.at(receiver).header(own) else { return (Bitmap::EMPTY, None) };
        let (mpdu, phase) = match answer.content {
            Answered::BlockAckRequest { .. } => (sizes::BLOCK_ACK_REQUEST, Solicitation::Data),
            _ => (sizes::QOS_NULL, self.stations[receiver.index()].uplink().phase),
        };
        let count = match answer.content {
            Answered::BlockAckRequest { .. } => 1,
            _ => Answer::nulls(phase) as usize,
        };
        let mut subframes = answer.subframes(own.start, count);
        let mut decoded = Bitmap::EMPTY;
        for bit in 0..count {
            let span = subframes.next(mpdu);
            if self.at(receiver).mpdu(own, snr, mpdu, span) {
                decoded.insert(bit);
            }
        }
        if let Answered::BlockAckRequest { start } = answer.content {
            if decoded.is_empty() {
                return (decoded, None);
            }
            let edcaf = answer.edcaf;
            self.at(receiver).take_request(sender, edcaf, start);
            let acked = self.acknowledges(own, receiver, edcaf, decoded, Bitmap::BITS);
            return (
                decoded,
                Some(self.stations[receiver.index()].station_record(sender, edcaf, acked)),
            );
        }
        (decoded, None)
    }
}

impl Floor<'_> {
    /// Records the backlog that an answer to a Trigger frame reports; bit n of `decoded` is MPDU n.
    fn hear_answer(
        &mut self,
        power: &Power,
        own: &Flight,
        receiver: StationId,
        answer: &Answer,
        decoded: &Bitmap,
    ) {
        let &Answer { edcaf, buffered, .. } = answer;
        match answer.content {
            Answered::Data { mpdus } if !decoded.is_empty() => {
                let buffered = buffered[edcaf];
                let report = BacklogReport { edcaf, buffered, mpdus, decoded };
                if let Some(backlog) = report.backlog(self.stations, own) {
                    self.hear_backlog(power, own.transmitter, receiver, edcaf, backlog);
                }
            }
            Answered::BufferReport => {
                let phase = self.stations[receiver.index()].uplink().phase;
                let nulls = 0..Answer::nulls(phase) as usize;
                for bit in nulls.filter(|bit| decoded.contains(*bit)) {
                    let edcaf = if phase == Solicitation::Reports { bit } else { edcaf };
                    let (buffered, decoded) = (buffered[edcaf], &Bitmap::EMPTY);
                    let report = BacklogReport { edcaf, buffered, mpdus: 0, decoded };
                    if let Some(backlog) = report.backlog(self.stations, own) {
                        self.hear_backlog(power, own.transmitter, receiver, edcaf, backlog);
                    }
                }
            }
            Answered::Data { .. } | Answered::BlockAckRequest { .. } => {}
        }
    }

    /// Records the backlog of a station in a category.
    #[cold]
    pub(in crate::cell) fn hear_backlog(
        &mut self,
        power: &Power,
        sender: StationId,
        receiver: StationId,
        edcaf: usize,
        backlog: Backlog,
    ) {
        if self.stations[receiver.index()].edcafs[edcaf].is_none() && backlog.bytes == 0 {
            return;
        }
        if let Some(reports) = &mut self.edcaf(power, receiver, edcaf).reports {
            reports.hear(sender, &backlog);
        }
        self.arm(receiver, edcaf);
    }

    /// Handles the timers that have ended.
    pub(in crate::cell) fn expire_uplink_timers(&mut self, power: &Power) {
        while let Some(UplinkWait { station, edcaf, kind }) = self.timers.take_uplink(self.now) {
            match kind {
                Timer::Poll => {
                    if let Some(reports) = &mut self.edcaf(power, station, edcaf).reports {
                        reports.is_poll_due = true;
                    }
                    self.arm(station, edcaf);
                }
                Timer::MuEdca => self.contend_as_ever(station, edcaf),
            }
        }
    }
}

impl Answer {
    /// The subframes of the PPDU if it begins at `start` and has this many MPDUs.
    pub(in crate::cell) fn subframes(
        &self,
        start: lasthop_units::Instant,
        mpdus: usize,
    ) -> Subframes {
        let data = Interval { from: start + self.header, until: start + self.data_end };
        Subframes::of_user(data, self.data_bytes, mpdus, self.spacing_bytes)
    }
}

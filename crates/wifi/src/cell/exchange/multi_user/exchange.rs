//! An exchange with several stations on the air: the HE MU PPDU, its Trigger frame, and Block
//! Acks one after the other or together (IEEE 802.11ax-2021, 26.4.4.2 and 26.5.1).
//!
//! Each station's MPDUs are settled by its own Block Ack. The exchange succeeds, and the contention
//! window is reset, if any Block Ack arrives; the window is doubled if none does. (ns-3 does so as
//! well. The text of the standard, in 10.23.2.2, was not available.) With Block Ack Requests one
//! after the other, the first Block Ack answers the PPDU itself. If it is missing, the access point
//! has no transmission opportunity (10.23.2.8): it contends again, and asks the other stations
//! then. If a later one is missing, the access point continues after the timeout, provided that the
//! medium is idle; that is after PIFS, as the recovery requires.
//!
//! Stations answer a Trigger frame regardless of carrier sense and NAV, as the frame may permit for
//! Block Acks of up to 418 octets (26.5.2.5). The access point receives each answer at the SNR of
//! the whole channel: it controls the stations' power so that none is stronger because of its fewer
//! tones.

use super::super::content::Exchange;
use super::{Downlink, OfdmaAcknowledgement, Phase, User};
use crate::air::{Carried, Flight, Interval, Overlaps, Reduction};
use crate::cell::floor::Floor;
use crate::cell::frames::Context;
use crate::cell::power::Power;
use crate::cell::receivers::Receivers;
use crate::cell::station::Station;
use crate::cell::timers::OwedResponse;
use crate::cell::{Cell, Sequel};
use crate::mac::block_ack::Bitmap;
use crate::mac::sizes;
use crate::station::{Address, StationId};
use alloc::boxed::Box;
use alloc::vec::Vec;

/// Reception of a station's PSDU.
pub(super) struct Heard {
    /// Whether it decoded the Trigger frame at the end.
    pub is_asked: bool,
    /// Decoded MPDUs: bit n is MPDU n.
    pub decoded: Bitmap,
    /// MPDUs that its Block Ack acknowledges: bit n is MPDU n.
    acked: Bitmap,
}

impl Station {
    /// The HE MU PPDU of the station's exchange, its Trigger frame, or a Block Ack Request, which
    /// begins now.
    pub(in crate::cell) fn send_to_several(&mut self, cx: &Context<'_>) -> Flight {
        let (now, id) = (cx.now, self.id);
        let several = self.downlink();
        let bare = Flight {
            transmitter: id,
            receiver: Address::Group,
            start: now,
            end: now + several.duration,
            rate: several.rate,
            psdu_bytes: several.users.iter().map(|user| user.psdu_bytes).sum(),
            reserves_until: now,
            carried: Carried::MultiUser { header: several.header },
            overlaps: Overlaps::NONE,
            reduction: Reduction::NONE,
        };
        match &several.phase {
            Phase::Data => {}
            Phase::Trigger => {
                let trigger = several.triggered.and_then(|triggered| triggered.trigger);
                let (rate, psdu_bytes, duration) = trigger.expect("the sequence has one");
                let (end, reserves_until) = (now + duration, several.until);
                let carried = Carried::Trigger;
                return Flight { end, rate, psdu_bytes, reserves_until, carried, ..bare };
            }
            Phase::First => unreachable!("user 0 answers"),
            Phase::Request(_, request) => {
                let flight = request.flight(id, cx);
                self.link_stats(flight.receiver).block_ack_requests += 1;
                return flight;
            }
        }
        several.until = bare.end + several.acknowledged_in;
        let reserves_until = several.until;
        // Each has its share of the tones.
        let share = several.duration / several.users.len() as u64;
        let edcaf = several.edcaf;
        let users = core::mem::take(&mut several.users);
        for user in &users {
            let peer = user.peer();
            let access = self.edcaf(edcaf);
            let retries = access.sent(peer, user.mpdus, now);
            access.served_together(peer);
            access.queue.charge_airtime(peer.into(), share);
            self.link_stats(peer).count_data(user.mpdus, retries, user.rate, share);
        }
        self.downlink().users = users;
        Flight { reserves_until, ..bare }
    }

    /// Settles the MPDUs of each station of an exchange that is over; returns whether a Block Ack
    /// arrived.
    fn settle_several(&mut self, cx: &mut Context<'_>, several: &Downlink) -> bool {
        let edcaf = several.edcaf;
        for user in &several.users {
            let sent = several.sent(user);
            match (&user.acked, user.asked) {
                (Some(acked), _) => {
                    self.data_answered(cx, &sent, acked);
                    self.edcaf(edcaf).backoff.reset();
                }
                (None, true) => _ = self.data_unanswered(cx, &sent),
                (None, false) => self.not_asked(cx, &sent),
            }
        }
        for user in &several.users[1..] {
            self.edcaf(edcaf).keep_turn(user.peer());
        }
        self.judge_reports(&several.users);
        let success = several.users.iter().any(|user| user.acked.is_some());
        if !success {
            self.edcaf(edcaf).backoff.widen();
        }
        success
    }

    fn take_downlink(&mut self) -> Box<Downlink> {
        match self.exchange.take() {
            Some(Exchange::Downlink(several)) => several,
            _ => unreachable!("it sends to several"),
        }
    }

    pub(in crate::cell) fn downlink(&mut self) -> &mut Downlink {
        match &mut self.exchange {
            Some(Exchange::Downlink(several)) => several,
            _ => unreachable!("it sends to several"),
        }
    }
}

impl Cell {
    /// Handles the end of an HE MU PPDU.
    pub(in crate::cell) fn receive_by_several(&mut self, flight: &Flight) {
        let sender = flight.transmitter;
        let several = self.stations[sender.index()].downlink();
        let &mut Downlink { edcaf, acknowledgement, triggered, .. } = several;
        let mut users = core::mem::take(&mut several.users);
        let mut psdus = Vec::new();
        let mut answering = Vec::new();
        for (place, user) in users.iter_mut().enumerate() {
            let own = flight.to(user.station, user.rate, user.psdu_bytes);
            user.collided = self.air.is_disturbed(flight, user.station);
            let heard = self.receivers().receive_own(&own, edcaf, user, acknowledgement);
            if !heard.decoded.is_empty() {
                self.absences(user.station, |power, floor| {
                    power.part_reached(floor, &own, edcaf, user.mpdus);
                });
            }
            self.record(|recorder| {
                let trigger = triggered.filter(|triggered| triggered.trigger.is_none());
                psdus.push(recorder.user_psdu(&own, edcaf, user, trigger, &heard));
            });
            let answers = match acknowledgement {
                OfdmaAcknowledgement::BlockAckRequest => place == 0 && !heard.decoded.is_empty(),
                OfdmaAcknowledgement::MuBlockAckRequest => false,
                OfdmaAcknowledgement::Aggregated => heard.is_asked,
            };
            if answers {
                answering.push((user.station, heard.acked));
            }
        }
        self.record(|recorder| recorder.record_psdus(flight, psdus));
        let several = self.stations[sender.index()].downlink();
        several.users = users;
        match acknowledgement {
            OfdmaAcknowledgement::BlockAckRequest => {
                let response = several.users[0].response;
                several.users[0].asked = true;
                several.phase = Phase::First;
                match answering[..] {
                    [(station, acked)] => {
                        self.stations[station.index()].acknowledging = acked;
                        let sequel = Sequel::Response(OwedResponse {
                            to: sender,
                            carried: Carried::BlockAck,
                            rate: response.rate,
                            psdu_bytes: response.psdu_bytes,
                            duration: response.duration,
                            reserves_until: flight.reserves_until,
                        });
                        self.floor().follow(station, sequel);
                    }
                    _ => self.floor().start_response_timeout(sender),
                }
            }
            OfdmaAcknowledgement::MuBlockAckRequest => {
                several.phase = Phase::Trigger;
                self.floor().follow(sender, Sequel::Frame);
            }
            OfdmaAcknowledgement::Aggregated => self.floor().answer_together(sender, &answering),
        }
    }

    /// Handles the end of the Trigger frame after an HE MU PPDU.
    pub(in crate::cell) fn receive_trigger(&mut self, flight: &Flight) {
        let sender = flight.transmitter;
        let several = self.stations[sender.index()].downlink();
        let &mut Downlink { edcaf, triggered, .. } = several;
        let users = core::mem::take(&mut several.users);
        let mut answering = Vec::new();
        for user in &users {
            let receiver = user.station;
            let mut receivers = self.receivers();
            if !receivers.at(receiver).decodes_control(flight) {
                continue;
            }
            receivers.take_own_request(flight, receiver, edcaf);
            let none = Bitmap::EMPTY;
            let acked = receivers.acknowledges(flight, receiver, edcaf, none, user.mpdus);
            answering.push((receiver, acked));
        }
        let is_heard = answering.len() == users.len();
        self.record(|recorder| {
            let triggered = triggered.expect("the sequence has it");
            recorder.record_trigger(flight, edcaf, &users, triggered, is_heard);
        });
        self.stations[sender.index()].downlink().users = users;
        self.floor().answer_together(sender, &answering);
    }

    /// Handles the end of a trigger-based PPDU with a Block Ack.
    pub(in crate::cell) fn receive_triggered(&mut self, flight: &Flight, receiver: StationId) {
        let several = self.stations[receiver.index()].downlink();
        let place = several.place(flight.transmitter).expect("only those answer that were asked");
        let User { response, answer_ru, .. } = several.users[place];
        let own = flight.to(receiver, response.rate, response.psdu_bytes);
        let is_decoded = self.receivers().at(receiver).decodes_control(&own);
        self.record(|recorder| recorder.record_triggered(&own, answer_ru, is_decoded));
        let acked = self.stations[flight.transmitter.index()].acknowledging;
        let several = self.stations[receiver.index()].downlink();
        several.answers_due -= 1;
        several.users[place].acked = is_decoded.then_some(acked);
    }

    /// Handles the Block Ack of the station that was asked, or its absence.
    pub(in crate::cell) fn one_of_several_answered(
        &mut self,
        station: StationId,
        acked: Option<&Bitmap>,
    ) {
        let several = self.stations[station.index()].downlink();
        let turn = match &several.phase {
            Phase::First => 0,
            Phase::Request(turn, _) => *turn,
            // Nobody answered the Trigger frame.
            Phase::Data | Phase::Trigger => return self.several_over(station),
        };
        several.users[turn].asked = true;
        several.users[turn].acked = acked.copied();
        let next = turn + 1;
        let may_go_on = acked.is_some() || turn > 0;
        if !may_go_on || next == several.users.len() {
            return self.several_over(station);
        }
        let (edcaf, opportunity_end) = (several.edcaf, several.opportunity_end);
        let peer = several.users[next].peer();
        let at = match acked {
            Some(_) => self.now + self.settings.timing.sifs,
            None if self.floor().senses_any(station) => {
                return self.several_over(station);
            }
            None => self.now,
        };
        let (state, mut cx) = self.at(station);
        let request = state.build_request(&mut cx, edcaf, peer, opportunity_end);
        self.stations[station.index()].downlink().phase = Phase::Request(next, request);
        self.timers.follow(at, station, Sequel::Frame);
    }

    /// Settles the MPDUs of each station, and continues.
    pub(in crate::cell) fn several_over(&mut self, station: StationId) {
        let (state, mut cx) = self.at(station);
        let several = state.take_downlink();
        let success = state.settle_several(&mut cx, &several);
        self.exchange_over(station, &several.outline(), success);
        several.users.iter().for_each(|user| self.power.serves(user.station));
        self.services(|power, floor| power.close_services(floor, station));
    }
}

impl Receivers<'_> {
    /// Processes the reception of its part of an HE MU PPDU at `own.receiver`.
    fn receive_own(
        &mut self,
        own: &Flight,
        edcaf: usize,
        user: &User,
        acknowledgement: OfdmaAcknowledgement,
    ) -> Heard {
        let (sender, receiver) = (own.transmitter, user.station);
        let Carried::MultiUser { header } = own.carried else { unreachable!("it is one") };
        let subframes = user.subframes(own.start, header);
        let (decoded, is_processed) = self.decode_data(own, receiver, edcaf, subframes, user.beam);
        let Some(decoded) = decoded else {
            return Heard { is_asked: false, decoded: Bitmap::EMPTY, acked: Bitmap::EMPTY };
        };
        let is_asked = acknowledgement == OfdmaAcknowledgement::Aggregated && {
            let snr = user.snr(self.air.last_snr(sender, receiver));
            let span =
                Interval { from: own.start + user.data_end, until: own.start + user.psdu_end };
            let fields = 1 + u32::from(own.rate.is_eht());
            self.at(receiver).mpdu(own, snr, sizes::mu_block_ack_request(fields), span)
        };
        // The hardware of pseudo retry-out reports the MPDUs of a wholly erroneous PPDU too.
        let reports = !decoded.is_empty()
            || self.stations[receiver.index()].config.pseudo_retry_out.is_some();
        if !is_processed && reports {
            self.take_data(own, receiver, edcaf, user.mpdus, &decoded);
        }
        if is_asked {
            self.take_own_request(own, receiver, edcaf);
        }
        let acked = if is_asked || !decoded.is_empty() {
            self.acknowledges(own, receiver, edcaf, decoded, user.mpdus)
        } else {
            Bitmap::EMPTY
        };
        Heard { is_asked, decoded, acked }
    }
}

impl Floor<'_> {
    /// Puts the answers of these stations to a Trigger frame of `sender` on the air.
    fn answer_together(&mut self, sender: StationId, answering: &[(StationId, Bitmap)]) {
        let several = self.stations[sender.index()].downlink();
        several.answers_due = answering.len();
        several.users.iter_mut().for_each(|user| user.asked = true);
        let triggered = several.triggered.expect("the sequence has it");
        let reserves_until = several.until;
        if answering.is_empty() {
            self.start_response_timeout(sender);
        }
        for &(station, acked) in answering {
            self.stations[station.index()].acknowledging = acked;
            let sequel = Sequel::Response(OwedResponse {
                to: sender,
                carried: Carried::TriggeredBlockAck { header: triggered.header },
                rate: triggered.rate,
                psdu_bytes: 0,
                duration: triggered.duration,
                reserves_until,
            });
            self.follow(station, sequel);
        }
    }
}

impl Power {
    /// Handles the MPDUs of an HE MU PPDU that reached a station which comes and goes.
    fn part_reached(&mut self, floor: &mut Floor<'_>, own: &Flight, edcaf: usize, mpdus: usize) {
        let Address::Station(receiver) = own.receiver else { return };
        let (sender, peer) = (own.transmitter, own.receiver);
        let more = self.more_data(floor.roster(), sender, edcaf, peer, mpdus);
        self.handle_frame(floor, receiver, edcaf, false, more);
    }
}

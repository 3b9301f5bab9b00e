//! A frame exchange from gaining the channel to its end: RTS and CTS, payload, response or timeout,
//! and the following exchange (IEEE 802.11-2020, 10.3.2.9 to 10.3.2.13, 10.23.2).
//!
//! | module | purpose |
//! |---|---|
//! | `content` | the kinds of exchanges, of which a station takes part in one at a time |
//! | `single` | plain facts of an exchange with one receiver or group |
//! | `multi_user` | a PPDU to several stations, and their acknowledgements (OFDMA) |
//! | `mu_mimo` | sounding, and the stations served at once in space (MU-MIMO) |
//! | `uplink` | Trigger frames, and PPDUs of several stations at once (uplink OFDMA) |

pub(super) mod content;
pub(super) mod mu_mimo;
pub(super) mod multi_user;
pub(super) mod single;
pub(super) mod uplink;

use super::channel::Channels;
use super::devices::Opening;
use super::edcaf::{BEACON_EDCAF, tid_of};
use super::floor::Floor;
use super::frames::Context;
use super::power::Power;
use super::station::Station;
use super::{Cell, Sequel, StationConfig};
use crate::air::{
    Action, Carried, Content, Flight, Management, Overlaps, Payload, Reduction, alone,
};
use crate::event::Event;
use crate::mac::block_ack::{Bitmap, Recipient};
use crate::mac::contention::Contention;
use crate::mac::originator::{Agreement, Originator};
use crate::mac::rate::RateControl;
use crate::mac::retry_out::PseudoRetryOut;
use crate::mac::sizes;
use crate::phy::PacketPadding;
use crate::station::{Address, StationId};
use content::Exchange;
use lasthop_units::{Duration, Instant, SeqNo12};
use single::{Outline, Single};

/// Time after which an originator without an answer to its ADDBA Requests asks again.
const ADDBA_RETRY: Duration = Duration::from_secs(1);

impl Cell {
    /// Starts an exchange of `edcaf`, which has gained the channel, or releases the channel if
    /// there is nothing to send.
    pub(super) fn start_exchange(
        &mut self,
        station: StationId,
        edcaf: usize,
        opportunity_end: Instant,
    ) {
        match self.build(station, edcaf, opportunity_end) {
            Some(exchange) => self.launch(station, exchange),
            None => {
                let contender = self.stations[station.index()].edcaf(edcaf).contender;
                self.contention.disarm(contender);
                self.services(|power, floor| power.nothing_to_send(floor, station));
            }
        }
    }

    fn launch(&mut self, station: StationId, mut exchange: Exchange) {
        let opening =
            if self.devices.is_empty() { None } else { self.engage(station, &mut exchange) };
        let state = &mut self.stations[station.index()];
        let contender = state.edcaf(exchange.edcaf()).contender;
        self.contention.disarm(contender);
        let is_requesting = matches!(&exchange, Exchange::Single(single) if single.requesting);
        state.exchange = Some(exchange);
        if is_requesting {
            let (state, mut cx) = self.at(station);
            let flight = state.request_to_send(&mut cx, opening);
            self.transmit(flight);
        } else {
            self.send_frame(station);
        }
        self.channels.stay_within(&mut self.stations[station.index()]);
        self.contention.hold(station, Instant::MAX);
    }

    /// Engages the devices that take part in an exchange; returns the frame that must precede it.
    #[cold]
    fn engage(&mut self, station: StationId, exchange: &mut Exchange) -> Option<Opening> {
        self.record_links(station, exchange);
        let opening = self.devices.engage(self.now, station, exchange)?;
        self.record_request(station, exchange, opening.padding());
        if let Exchange::Single(single) = exchange {
            single.requesting = true;
        }
        Some(opening)
    }

    /// Puts the next frame of the station's exchange on the air.
    fn send_frame(&mut self, station: StationId) {
        self.stations[station.index()].stamp_buffered(&self.settings);
        self.services(|power, floor| power.mark_frame(floor, station));
        let state = &mut self.stations[station.index()];
        if let Some(single) = state.exchange.as_mut().and_then(Exchange::frame) {
            let spacing = state.config.aggregation.mpdu_start_spacing;
            self.air.carry(station, single.payload(spacing));
        }
        let (state, cx) = self.at(station);
        let flight = match &state.exchange {
            Some(Exchange::Single(_)) => state.send_single(&cx),
            Some(Exchange::Downlink(_)) => state.send_to_several(&cx),
            Some(Exchange::Sounding(_)) => state.send_sounding(&cx),
            Some(Exchange::Uplink(_)) => state.send_trigger(&cx),
            Some(Exchange::Answer(_)) => state.send_answer(&cx),
            None => unreachable!("a frame belongs to an exchange"),
        };
        let Self { arrivals, stations, air, settings, outbox, devices, .. } = self;
        arrivals.begin(stations, air, settings.band, &flight, outbox.records, devices);
        self.transmit(flight);
    }

    #[inline]
    pub(super) fn transmit(&mut self, flight: Flight) {
        self.stations[flight.transmitter.index()].stats.airtime += flight.end - flight.start;
        let (channels, mut scene) = self.channels();
        channels.begin(&mut scene, flight);
    }

    /// Starts the actions that are due SIFS after the end of a PPDU.
    pub(super) fn start_sequels(&mut self) {
        while let Some((station, sequel)) = self.timers.take_sequel(self.now) {
            self.perform(station, sequel);
        }
    }

    /// Performs an action that is due now, SIFS after the end of a PPDU.
    pub(super) fn perform(&mut self, station: StationId, sequel: Sequel) {
        let now = self.now;
        match sequel {
            Sequel::Response(response) => self.transmit(response.flight(station, now)),
            Sequel::Frame => self.send_frame(station),
            Sequel::MultiStationBlockAck => {
                let (state, mut cx) = self.at(station);
                let flight = state.send_multi_station_block_ack(&mut cx);
                self.transmit(flight);
            }
            Sequel::Opportunity { edcaf, end } => match self.build(station, edcaf, end) {
                // The rate that was chosen is too slow, or another peer's: later.
                Some(exchange) if !exchange.is_within(now, self.settings.timing.sifs) => {
                    let access = self.stations[station.index()].edcaf(edcaf);
                    access.keep_turn(exchange.peer());
                    self.floor().give_back(station, edcaf);
                    let Self { stations, contention, channels, now, .. } = self;
                    stations[station.index()].end_opportunity(contention, channels, *now, edcaf);
                    self.floor().release(station);
                }
                Some(mut exchange) => {
                    if let Exchange::Single(single) = &mut exchange {
                        // RTS and CTS protect the opportunity at its start.
                        single.requesting = false;
                    }
                    self.launch(station, exchange);
                }
                None => {
                    let Self { stations, contention, channels, now, .. } = self;
                    stations[station.index()].end_opportunity(contention, channels, *now, edcaf);
                    self.floor().release(station);
                    self.services(|power, floor| power.nothing_to_send(floor, station));
                }
            },
        }
    }

    /// Completes a successful exchange; bit n of `acked` is MPDU n.
    pub(super) fn exchange_succeeded(&mut self, station: StationId, acked: &Bitmap) {
        let exchange = match self.stations[station.index()].exchange.take() {
            Some(Exchange::Single(single)) => single,
            other => {
                let is_several = matches!(other, Some(Exchange::Downlink(_)));
                self.stations[station.index()].exchange = other;
                if is_several {
                    self.one_of_several_answered(station, Some(acked));
                }
                return;
            }
        };
        let (state, mut cx) = self.at(station);
        let settled = state.answered(&mut cx, &exchange, acked);
        let Single { content, edcaf, peer, .. } = exchange;
        self.services(|power, floor| power.served(floor, &exchange, true, settled));
        self.exchange_over(station, &exchange.outline(), true);
        match content {
            Content::Management(frame) => {
                let access = self.stations[station.index()].edcaf(edcaf);
                access.absent.exchanged(peer, true);
                match frame.action {
                    Action::OperatingMode(mode) => self.mode_acknowledged(station, mode),
                    action => self
                        .power(|power, floor| power.absence_settled(floor, station, action, true)),
                }
            }
            Content::Beacon => {
                let bss = self.bss_of(station);
                self.power(|power, floor| power.open_for_group(floor, bss));
            }
            _ => {}
        }
        self.services(|power, floor| {
            power.exchange_over_in_power_save(floor, station, content, edcaf, true, settled)
        });
    }

    /// Completes an exchange without a response.
    pub(super) fn exchange_failed(&mut self, station: StationId) {
        match &self.stations[station.index()].exchange {
            Some(Exchange::Single(_)) => self.single_failed(station),
            Some(Exchange::Downlink(_)) => self.one_of_several_answered(station, None),
            Some(Exchange::Sounding(_)) => self.sounding_unanswered(station),
            Some(Exchange::Uplink(_)) => self.uplink_unanswered(station),
            Some(Exchange::Answer(_)) => self.answer_over(station, None),
            None => {}
        }
    }

    /// Completes an exchange with one receiver without a response.
    fn single_failed(&mut self, station: StationId) {
        let Some(Exchange::Single(exchange)) = self.stations[station.index()].exchange.take()
        else {
            return;
        };
        let (state, mut cx) = self.at(station);
        let settled = state.unanswered(&mut cx, &exchange);
        let (content, edcaf) = (exchange.content, exchange.edcaf);
        self.services(|power, floor| power.served(floor, &exchange, false, settled));
        let (mut about_absence, mut given_up_mode) = (None, false);
        if let Content::Management(mut frame) = exchange.content {
            frame.attempts += 1;
            let attempts_max = match frame.action {
                Action::Null { .. } => self.stations[station.index()].null_attempts_max(),
                _ => self.stations[station.index()].config.retry_limit,
            };
            // A service period may have ended by the clock.
            let is_outdated = match frame.action {
                Action::EndOfServicePeriod => !self.power.is_in_service(frame.peer),
                _ => self.stations[station.index()].is_outdated(&frame),
            };
            if frame.attempts < attempts_max && !is_outdated {
                let access = self.stations[station.index()].edcaf(exchange.edcaf);
                access.management.push_front(frame);
            } else if let Action::OperatingMode(_) = frame.action {
                given_up_mode = !self.stations[station.index()].is_outdated(&frame);
            } else if frame.action.is_about_absence() {
                about_absence = Some(frame.action);
            } else {
                let access = self.stations[station.index()].edcaf(exchange.edcaf);
                access.absent.exchanged(exchange.peer, true);
                self.floor().management_given_up(station, exchange.edcaf, frame.peer, frame.action);
                self.services(|power, floor| power.given_up_in_service(floor, frame.peer));
            }
        }
        self.stations[station.index()].edcaf(exchange.edcaf).backoff.widen();
        self.exchange_over(station, &exchange.outline(), false);
        if let Some(action) = about_absence {
            self.power(|power, floor| power.absence_settled(floor, station, action, false));
            if let (Action::EndOfServicePeriod, Content::Management(frame)) = (action, content) {
                self.power(|power, floor| power.end_service(floor, frame.peer));
            }
        }
        if given_up_mode {
            self.power(|power, floor| floor.mode_given_up(power, station));
        }
        self.services(|power, floor| {
            power.exchange_over_in_power_save(floor, station, content, edcaf, false, settled)
        });
    }

    /// Continues within the transmission opportunity, or contends anew.
    pub(super) fn exchange_over(&mut self, station: StationId, exchange: &Outline, success: bool) {
        let now = self.now;
        let edcaf = exchange.edcaf;
        if self.devices.has(station) && edcaf != BEACON_EDCAF {
            if exchange.is_data {
                let since = self.stations[station.index()].edcaf(edcaf).contends_since;
                self.devices.exchanged(now, station, exchange.peer, since, success);
            }
            self.floor().give_back(station, edcaf);
        }
        let sifs = self.settings.timing.sifs;
        let state = &mut self.stations[station.index()];
        let gap = state.config.transmit_gap;
        let rests = exchange.is_data && !gap.is_zero();
        let access = state.edcaf(edcaf);
        access.keep_turn(exchange.peer);
        if rests {
            access.rests_until = now + gap;
            self.timers.rest(now + gap, station, edcaf);
        } else if success && edcaf != BEACON_EDCAF && now + sifs < exchange.opportunity_end {
            let (state, mut cx) = self.at(station);
            let access = state.edcaf(edcaf);
            access.contends_since = now;
            if access.has_work() && state.fits(&mut cx, exchange) {
                let sequel = Sequel::Opportunity { edcaf, end: exchange.opportunity_end };
                return self.floor().follow(station, sequel);
            }
        }
        let Self { stations, contention, channels, now, .. } = self;
        stations[station.index()].end_opportunity(contention, channels, *now, edcaf);
        if !self.devices.is_empty() {
            self.floor().release(station);
        }
    }
}

impl Floor<'_> {
    /// Lets `station` perform `sequel` SIFS from now.
    #[inline]
    pub(super) fn follow(&mut self, station: StationId, sequel: Sequel) {
        let at = self.now + self.settings.timing.sifs;
        if let Sequel::Response(response) = sequel {
            self.contention.respond(station, at + response.duration);
        }
        self.timers.follow(at, station, sequel);
    }

    /// Starts the response timeout after the station's PPDU, which got no response so far: the
    /// exchange fails when the first sign of a response is overdue.
    #[inline]
    pub(super) fn start_response_timeout(&mut self, station: StationId) {
        let exchange = self.stations[station.index()].exchange.as_ref();
        let exchange = exchange.expect("it just sent a frame that asks for a response");
        let rate = exchange.awaited(self.rates);
        let wait = self.settings.timing.response_timeout(rate);
        self.timers.await_response(self.now + wait, station);
    }

    /// The originator of `station` towards `peer` in an EDCAF, created at its first use.
    fn originator(&mut self, station: StationId, edcaf: usize, peer: StationId) -> &mut Originator {
        let state = &mut self.stations[station.index()];
        let index = state.originator(self.settings, edcaf, Address::Station(peer));
        &mut state.edcaf(edcaf).originators[index]
    }

    /// Records at the originator that its ADDBA Request was accepted.
    pub(super) fn agreement_answered(
        &mut self,
        originator: StationId,
        recipient: StationId,
        edcaf: usize,
    ) {
        let window = agreed_window(self.stations, originator, recipient);
        let state = self.originator(originator, edcaf, recipient);
        if state.agreement != Agreement::Requested {
            return;
        }
        state.agreement = Agreement::Established { window };
        if let Some(common) = self.devices.common(originator, edcaf, recipient) {
            common.agreement = Agreement::Established { window };
        }
        let at = self.now;
        self.outbox.record(|| Event::BlockAckAgreement {
            at,
            originator,
            recipient,
            tid: tid_of(edcaf),
            established: true,
        });
        self.arm(originator, edcaf);
    }

    fn management_given_up(
        &mut self,
        station: StationId,
        edcaf: usize,
        peer: StationId,
        action: Action,
    ) {
        let until = self.now + ADDBA_RETRY;
        let (originator, to) = match action {
            Action::AddbaRequest { .. } => (station, peer),
            // The originator would time out waiting; it knows no better way.
            Action::AddbaResponse { .. } => (peer, station),
            _ => unreachable!("what is about absence is settled in another way"),
        };
        let state = self.originator(originator, edcaf, to);
        // An answer may have arrived without its acknowledgement.
        if state.agreement == Agreement::Requested {
            state.agreement = Agreement::Failed { until };
            if let Some(common) = self.devices.common(originator, edcaf, to) {
                common.agreement = Agreement::Failed { until };
            }
            self.arm(originator, edcaf);
        }
    }

    /// Accepts an ADDBA Request at the recipient, and queues the answer.
    pub(super) fn answer_addba(
        &mut self,
        power: &Power,
        recipient: StationId,
        originator: StationId,
        edcaf: usize,
        start: SeqNo12,
    ) {
        let window = agreed_window(self.stations, originator, recipient);
        let config = &self.stations[recipient.index()].config;
        let (timeout, retry_out) = (config.block_ack.reorder_timeout, config.pseudo_retry_out);
        let state = self.stations[recipient.index()].recipient(originator, edcaf);
        state.block_ack = Some(Recipient::new(start, window, timeout));
        state.retry_out = retry_out.map(|table| PseudoRetryOut::new(table, start, window));
        let frame = Management {
            peer: originator,
            action: Action::AddbaResponse { window },
            attempts: 0,
            sequence: start,
        };
        let waiting = &mut self.edcaf(power, recipient, edcaf).management;
        // A repeated request finds its answer still queued.
        let answers = |w: &Management| {
            w.peer == originator && matches!(w.action, Action::AddbaResponse { .. })
        };
        if !waiting.iter().any(answers) {
            waiting.push_back(frame);
        }
        self.lift_mu_edca(recipient, edcaf);
        self.arm(recipient, edcaf);
    }
}

impl Single {
    /// The PPDU of `station` with the payload, which begins now.
    pub(super) fn flight(&self, station: StationId, cx: &Context<'_>) -> Flight {
        let (now, sifs) = (cx.now, cx.settings.timing.sifs);
        let end = now + self.duration;
        Flight {
            transmitter: station,
            receiver: self.peer,
            start: now,
            end,
            rate: self.rate,
            psdu_bytes: self.psdu_bytes,
            reserves_until: end + self.response.map_or(Duration::ZERO, |r| sifs + r.duration),
            carried: Carried::Payload,
            overlaps: Overlaps::NONE,
            reduction: Reduction::NONE,
        }
    }

    /// The PSDU of the payload, with `spacing` between the starts of MPDUs.
    fn payload(&self, spacing: Duration) -> Payload {
        let &Self { edcaf, content, response, ends_service, more_data, .. } = self;
        Payload { edcaf, content, response, spacing, ends_service, more_data }
    }
}

impl Station {
    /// Begins the post-backoff and, if there are more frames to send, contention.
    fn end_opportunity(
        &mut self,
        contention: &mut Contention,
        channels: &mut Channels,
        now: Instant,
        edcaf: usize,
    ) {
        contention.hold(self.id, now);
        channels.lift_restriction(self.id);
        let access = self.edcaf(edcaf);
        let contender = access.contender;
        access.contends_since = now;
        if edcaf != BEACON_EDCAF {
            let slots = access.backoff.draw();
            let has_work = now >= access.rests_until && access.has_work();
            contention.set_backoff(contender, slots);
            if has_work {
                contention.arm(contender, now);
            }
        }
    }

    /// Estimates whether another exchange like the last one fits into the opportunity.
    fn fits(&mut self, cx: &mut Context<'_>, last: &Outline) -> bool {
        let sifs = cx.settings.timing.sifs;
        let encryption = self.config.capabilities.encryption;
        let access = self.edcaf(last.edcaf);
        let peer = last.peer;
        let originator = access.originator(peer).map(|index| &access.originators[index]);
        let padding = originator.map_or(PacketPadding::None, |one| one.shared.packet_padding);
        let bytes = originator.and_then(|one| one.pending.front());
        let bytes = bytes.map(|mpdu| u32::from(mpdu.bytes));
        let key = access.key(peer);
        let bytes = bytes.or_else(|| {
            let around = sizes::mpdu(0, true) + encryption.bytes();
            access.queue.peek_len_for(key).map(|bytes| u32::from(bytes) + around)
        });
        let bytes = bytes.unwrap_or(sizes::ADDBA);
        // What comes behind a Block Ack Request or a management frame is sent faster than that.
        let rate = if last.is_data {
            last.rate
        } else {
            let control = originator.and_then(|one| one.rate_control.as_ref());
            control.map_or(last.rate, RateControl::main_rate)
        };
        let payload = cx.rates.padded_ppdu_duration(rate, bytes, padding);
        let response = last.response.map_or(Duration::ZERO, |r| sifs + r.duration);
        cx.now + sifs + payload + response <= last.opportunity_end
    }

    /// The RTS that precedes the frame of the station's exchange.
    fn request_to_send(&mut self, cx: &mut Context<'_>, opening: Option<Opening>) -> Flight {
        let (now, sifs) = (cx.now, cx.settings.timing.sifs);
        let single = self.single();
        let Address::Station(_) = single.peer else { unreachable!("groups send no CTS") };
        let peer = single.peer;
        let response = single.response.map_or(Duration::ZERO, |r| sifs + r.duration);
        let facts = cx.rates.facts(single.rate);
        let (rate, clear) = (facts.response, facts.ack);
        let bytes = match opening {
            Some(Opening::InitialControl(padding)) => {
                sizes::initial_control(padding, rate, single.rate.width())
            }
            _ => sizes::RTS,
        };
        let psdu_bytes = alone(rate, bytes);
        let duration = cx.rates.ppdu_duration(rate, psdu_bytes);
        let reserves_until = now + duration + sifs + clear + sifs + single.duration + response;
        self.link_stats(peer).rts += 1;
        Flight {
            transmitter: self.id,
            receiver: peer,
            start: now,
            end: now + duration,
            rate,
            psdu_bytes,
            reserves_until,
            carried: Carried::Rts,
            overlaps: Overlaps::NONE,
            reduction: Reduction::NONE,
        }
    }

    /// The frame of the station's exchange with one receiver or group, which begins now.
    fn send_single(&mut self, cx: &Context<'_>) -> Flight {
        let now = cx.now;
        let id = self.id;
        let single = self.single();
        single.requesting = false;
        let &mut Single { edcaf, peer, content, rate, duration, .. } = single;
        let flight = single.flight(id, cx);
        match content {
            Content::Data { mpdus, .. } => {
                let retries = self.edcaf(edcaf).sent_alone(peer, mpdus, duration, now);
                self.link_stats(peer).count_data(mpdus, retries, rate, duration);
            }
            Content::BlockAckRequest { .. } => self.link_stats(peer).block_ack_requests += 1,
            Content::Beacon => self.stats.beacons += 1,
            Content::Management(frame) => match frame.action {
                Action::Null { .. } => self.stats.nulls += 1,
                Action::PsPoll => self.stats.ps_polls += 1,
                Action::Trigger => self.stats.triggers += 1,
                _ => {}
            },
        }
        flight
    }

    fn single(&mut self) -> &mut Single {
        match &mut self.exchange {
            Some(Exchange::Single(single)) => single,
            _ => unreachable!("a frame belongs to an exchange"),
        }
    }
}

impl Exchange {
    /// Whether an exchange that was built ends within its transmission opportunity, if it starts
    /// now. PPDUs for several stations are built within that limit already.
    fn is_within(&self, now: Instant, sifs: Duration) -> bool {
        let Self::Single(single) = self else { return true };
        let response = single.response.map_or(Duration::ZERO, |r| sifs + r.duration);
        !matches!(single.content, Content::Data { .. } | Content::BlockAckRequest { .. })
            || now + single.duration + response <= single.opportunity_end
    }
}

/// Window of a Block Ack agreement between two stations.
fn agreed_window(stations: &[Station], originator: StationId, recipient: StationId) -> u16 {
    let [originator, recipient] =
        [originator, recipient].map(|station| &stations[station.index()].config);
    let window = |station: &StationConfig| {
        station.block_ack.window.min(station.capabilities.block_ack_window_max)
    };
    window(originator).min(window(recipient))
}

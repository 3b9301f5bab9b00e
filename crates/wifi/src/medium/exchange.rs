//! A frame exchange of a radio from gaining the channel to its end: RTS and CTS, payload, response
//! or timeout, and the following exchange (IEEE 802.11-2020, 10.3.2 and 10.23.2).

use super::radio::{ACCESSES, BEACON_ACCESS, RadioExchange};
use super::{Medium, MediumOutput, PendingSequel, RadioSequel, Response, Stage};
use crate::air::{Carried, Flight, Overheard, Overlaps, Reduction, Subframes};
use crate::mac::block_ack::Bitmap;
use crate::mac::sizes;
use crate::phy::Rate;
use crate::station::{Address, StationId};
use alloc::vec::Vec;
use lasthop_units::{Duration, Instant};

impl Medium {
    /// Starts an exchange of an access that has gained the channel, or releases the channel if
    /// there is nothing to send.
    pub(super) fn start_exchange(&mut self, radio: StationId, access: usize, end: Instant) {
        match self.build(radio, access, end) {
            Some((exchange, stage)) => self.launch(radio, exchange, stage.rts),
            None => {
                let contender = self.radios[radio.index()].access(access).contender;
                self.contention.disarm(contender);
            }
        }
    }

    fn build(
        &mut self,
        radio: StationId,
        access: usize,
        opportunity_end: Instant,
    ) -> Option<(RadioExchange, Stage)> {
        let Self { radios, rates, .. } = self;
        let (frames, stage, psdu_bytes) = radios[radio.index()].take(rates, access)?;
        let first = frames[0].frame;
        let response = first.response.map(|response| {
            let block_ack = frames.len() > 1 || response == Response::BlockAck;
            rates.response(stage.rate, block_ack.then_some(64))
        });
        let exchange = RadioExchange {
            access,
            rate: stage.rate,
            psdu_bytes,
            duration: rates.ppdu_duration(stage.rate, psdu_bytes),
            response,
            requesting: false,
            opportunity_end,
            decoded: Bitmap::EMPTY,
            ended: self.now,
            frames,
        };
        Some((exchange, stage))
    }

    fn launch(&mut self, radio: StationId, mut exchange: RadioExchange, rts: bool) {
        let now = self.now;
        let sifs = self.timing.sifs;
        let state = &mut self.radios[radio.index()];
        let contender = state.access(exchange.access).contender;
        self.contention.disarm(contender);
        let receiver = exchange.peer().unwrap_or(Address::Group);
        exchange.requesting = rts && exchange.response.is_some();
        if exchange.requesting {
            let facts = self.rates.facts(exchange.rate);
            let (rate, clear) = (facts.response, facts.ack);
            let duration = self.rates.ppdu_duration(rate, sizes::RTS);
            let rest = sifs + clear + sifs + exchange.duration + exchange.response_time(sifs);
            state.exchange = Some(exchange);
            self.transmit(Flight {
                transmitter: radio,
                receiver,
                start: now,
                end: now + duration,
                rate,
                psdu_bytes: sizes::RTS,
                reserves_until: now + duration + rest,
                carried: Carried::Rts,
                overlaps: Overlaps::NONE,
                reduction: Reduction::NONE,
            });
        } else {
            state.exchange = Some(exchange);
            self.send_payload(radio);
        }
        self.contention.hold(radio, Instant::MAX);
    }

    /// Puts the payload of the radio's exchange on the air.
    fn send_payload(&mut self, radio: StationId) {
        let now = self.now;
        let state = &mut self.radios[radio.index()];
        let exchange = state.exchange.as_mut().expect("a payload belongs to an exchange");
        exchange.requesting = false;
        let end = now + exchange.duration;
        let (rate, psdu_bytes) = (exchange.rate, exchange.psdu_bytes);
        let receiver = exchange.peer().unwrap_or(Address::Group);
        let reserves_until = end + exchange.response_time(self.timing.sifs);
        state.stats.ppdus += 1;
        state.stats.mpdus += exchange.frames.len() as u64;
        state.stats.retries += exchange.frames.iter().filter(|q| q.sent).count() as u64;
        self.transmit(Flight {
            transmitter: radio,
            receiver,
            start: now,
            end,
            rate,
            psdu_bytes,
            reserves_until,
            carried: Carried::Payload,
            overlaps: Overlaps::NONE,
            reduction: Reduction::NONE,
        });
    }

    fn transmit(&mut self, flight: Flight) {
        self.radios[flight.transmitter.index()].stats.airtime += flight.end - flight.start;
        let transmitter = flight.transmitter;
        if self.air.varies() && self.air.refresh_listeners(transmitter, flight.start) {
            self.contention.listen(transmitter, self.air.listeners(transmitter));
        }
        self.contention.transmission_starts(transmitter, flight.start);
        self.air.begin(flight);
    }

    pub(super) fn end_ppdus(&mut self) {
        while let Some(flight) = self.air.end(self.now) {
            self.receive(&flight);
            self.overhear(&flight);
            self.contention.transmission_ends(flight.transmitter, self.now);
            self.air.forget(flight);
        }
    }

    pub(super) fn expire_responses(&mut self) {
        let now = self.now;
        while let Some(index) = self.timeouts.iter().position(|(at, _)| *at == now) {
            let (_, radio) = self.timeouts.remove(index);
            self.exchange_over(radio, None);
        }
    }

    /// Starts the actions that are due SIFS after the end of a PPDU.
    pub(super) fn start_sequels(&mut self) {
        let now = self.now;
        while let Some(index) = self.pending.iter().position(|pending| pending.at == now) {
            let PendingSequel { radio, sequel, .. } = self.pending.remove(index);
            match sequel {
                RadioSequel::Clear { to, rate, duration, reserves_until } => {
                    self.transmit(Flight {
                        transmitter: radio,
                        receiver: Address::Station(to),
                        start: now,
                        end: now + duration,
                        rate,
                        psdu_bytes: sizes::CTS,
                        reserves_until,
                        carried: Carried::Cts,
                        overlaps: Overlaps::NONE,
                        reduction: Reduction::NONE,
                    })
                }
                RadioSequel::Acknowledge { to } => self.acknowledge(radio, to),
                RadioSequel::Payload => self.send_payload(radio),
                RadioSequel::Opportunity { access, end } => match self.build(radio, access, end) {
                    // RTS and CTS protect the opportunity at its start.
                    Some((exchange, _)) => self.launch(radio, exchange, false),
                    None => self.end_opportunity(radio, access),
                },
            }
        }
    }

    /// Lets `radio` perform `sequel` SIFS from now.
    fn follow(&mut self, radio: StationId, sequel: RadioSequel) {
        let at = self.now + self.timing.sifs;
        self.pending.push(PendingSequel { at, radio, sequel });
    }

    fn receive(&mut self, flight: &Flight) {
        let transmitter = flight.transmitter;
        match (flight.carried, flight.receiver) {
            (Carried::Payload, _) => self.receive_payload(flight),
            (Carried::Rts, Address::Station(receiver))
                if self.decodes(flight, receiver)
                    && !self.contention.is_reserved(receiver, self.now) =>
            {
                let facts = self.rates.facts(flight.rate);
                let (rate, duration) = (facts.response, facts.ack);
                self.contention.respond(receiver, self.now + self.timing.sifs + duration);
                let reserves_until = flight.reserves_until;
                let sequel = RadioSequel::Clear { to: transmitter, rate, duration, reserves_until };
                self.follow(receiver, sequel);
            }
            (Carried::Rts, _) => self.start_response_timeout(transmitter, self.now),
            (carried, Address::Station(receiver)) => {
                let is_decoded = self.decodes(flight, receiver);
                match carried {
                    Carried::Cts if is_decoded => self.follow(receiver, RadioSequel::Payload),
                    Carried::Ack if is_decoded => {
                        self.exchange_over(receiver, Some(Bitmap::FIRST));
                    }
                    Carried::BlockAck if is_decoded => {
                        let acked = self.radios[transmitter.index()].acknowledging;
                        self.exchange_over(receiver, Some(acked));
                    }
                    _ => self.exchange_over(receiver, None),
                }
            }
            (_, Address::Group) => unreachable!("responses have one receiver"),
        }
    }

    fn receive_payload(&mut self, flight: &Flight) {
        let sender = flight.transmitter;
        let exchange = self.radios[sender.index()].exchange.take();
        let mut exchange = exchange.expect("a payload belongs to an exchange");
        let peer = exchange.peer();
        match peer {
            Some(Address::Station(receiver)) => {
                exchange.decoded = self.deliver(flight, &exchange, receiver, true);
                if self.air.is_disturbed(flight, receiver) {
                    self.radios[sender.index()].stats.overlapped += 1;
                }
            }
            Some(Address::Group) => {
                for index in 0..self.radios.len() {
                    let listener = StationId(index as u16);
                    if listener != sender && self.contention.senses(listener, sender) {
                        self.deliver(flight, &exchange, listener, true);
                    }
                }
            }
            None => {}
        }
        if peer != Some(Address::Group) {
            for index in 0..self.promiscuous.len() {
                let listener = self.promiscuous[index];
                if listener != sender
                    && peer != Some(Address::Station(listener))
                    && self.contention.senses(listener, sender)
                {
                    self.deliver(flight, &exchange, listener, false);
                }
            }
        }
        for (n, queued) in exchange.frames.iter_mut().enumerate() {
            queued.sent = true;
            queued.taken |= exchange.decoded.contains(n);
        }
        exchange.ended = self.now;
        let response = exchange.response;
        let is_answered = !exchange.decoded.is_empty();
        self.radios[sender.index()].exchange = Some(exchange);
        match (response, peer) {
            (None, _) => self.exchange_over(sender, Some(Bitmap::FIRST)),
            (Some(response), Some(Address::Station(receiver))) if is_answered => {
                let ends = self.now + self.timing.sifs + response.duration;
                self.contention.respond(receiver, ends);
                self.follow(receiver, RadioSequel::Acknowledge { to: sender });
            }
            (Some(_), _) => self.start_response_timeout(sender, self.now),
        }
    }

    /// Delivers the frames of a payload that a radio decodes; bit n is frame n.
    fn deliver(
        &mut self,
        flight: &Flight,
        exchange: &RadioExchange,
        station: StationId,
        addressed: bool,
    ) -> Bitmap {
        let mut decoded = Bitmap::EMPTY;
        let from = flight.transmitter;
        let Some(snr) = self.air.receives_header(flight, station) else { return decoded };
        let span = flight.span();
        let spacing = self.radios[from.index()].mpdu_start_spacing();
        let mut subframes = Subframes::new(flight, exchange.frames.len(), spacing, self.band);
        let signal = self.air.last_power(from, station);
        for (n, queued) in exchange.frames.iter().enumerate() {
            let bytes = queued.frame.bytes;
            let span = if exchange.is_aggregate() { subframes.next(bytes) } else { span };
            if !self.air.receives_mpdu(flight, station, snr, bytes, span) {
                continue;
            }
            decoded.insert(n);
            self.outputs.push_back(MediumOutput::Received {
                at: self.now,
                from,
                tag: queued.frame.tag,
                station,
                addressed,
                signal,
                rate: flight.rate,
                retry: queued.sent,
            });
        }
        decoded
    }

    /// Whether `receiver` decodes a control frame.
    fn decodes(&mut self, flight: &Flight, receiver: StationId) -> bool {
        let span = flight.span();
        self.air.receives_header(flight, receiver).is_some_and(|snr| {
            self.air.receives_mpdu(flight, receiver, snr, flight.psdu_bytes, span)
        })
    }

    /// Sets the NAV of radios that are not addressed, or lets them wait for EIFS.
    fn overhear(&mut self, flight: &Flight) {
        let failed_until = self.now + self.extended_space;
        let Self { air, contention, .. } = self;
        air.overhear(flight, |listener, overheard| match overheard {
            Overheard::Decoded => contention.reserve(listener, flight.reserves_until),
            Overheard::Failed => contention.extend_interframe_space(listener, failed_until),
        });
    }

    /// Acknowledges the frames that `receiver` got in the exchange of `to`, unless it refused all.
    fn acknowledge(&mut self, receiver: StationId, to: StationId) {
        let now = self.now;
        let Some(exchange) = &self.radios[to.index()].exchange else { return };
        let Some(response) = exchange.response else { return };
        if exchange.decoded.is_empty() {
            let ended = exchange.ended;
            return self.start_response_timeout(to, ended);
        }
        let mut acked = exchange.decoded;
        for (n, queued) in exchange.frames.iter().enumerate() {
            if queued.taken {
                acked.insert(n);
            }
        }
        let carried = if response.block_ack {
            self.radios[receiver.index()].acknowledging = acked;
            Carried::BlockAck
        } else {
            Carried::Ack
        };
        let end = now + response.duration;
        self.transmit(Flight {
            transmitter: receiver,
            receiver: Address::Station(to),
            start: now,
            end,
            rate: response.rate,
            psdu_bytes: response.psdu_bytes,
            reserves_until: end,
            carried,
            overlaps: Overlaps::NONE,
            reduction: Reduction::NONE,
        });
    }

    /// Starts the response timeout after the PPDU that ended at `ended`: the exchange fails when
    /// the first sign of a response is overdue.
    fn start_response_timeout(&mut self, radio: StationId, ended: Instant) {
        let exchange = self.radios[radio.index()].exchange.as_ref();
        let exchange = exchange.expect("it just sent a frame that asks for a response");
        let rate = match exchange.response {
            Some(response) if !exchange.requesting => response.rate,
            _ => {
                let rate = exchange.rate;
                self.rates.facts(rate).response
            }
        };
        self.timeouts.push((ended + self.timing.response_timeout(rate), radio));
    }

    /// Ends the exchange of a radio: with a response in which bit n is frame n, or without one.
    fn exchange_over(&mut self, radio: StationId, acked: Option<Bitmap>) {
        let at = self.now;
        let state = &mut self.radios[radio.index()];
        let Some(exchange) = state.exchange.take() else { return };
        let is_answered = acked.is_some();
        let signal = match exchange.peer() {
            Some(Address::Station(peer)) if is_answered => Some(self.air.last_power(peer, radio)),
            _ => None,
        };
        let acked = acked.unwrap_or(Bitmap::EMPTY);
        let mut again = Vec::new();
        for (n, mut queued) in exchange.frames.into_iter().enumerate() {
            queued.count_try();
            let acknowledged = acked.contains(n);
            if queued.withdrawn {
                continue;
            }
            if !acknowledged && queued.frame.response.is_some() && queued.stage().is_some() {
                again.push(queued);
                continue;
            }
            match queued.frame.response {
                None => {}
                Some(_) if acknowledged => state.stats.acknowledged += 1,
                Some(_) => state.stats.given_up += 1,
            }
            self.outputs.push_back(MediumOutput::Settled {
                at,
                from: radio,
                tag: queued.frame.tag,
                acknowledged,
                tries: queued.tries,
                signal,
            });
        }
        let access = state.access(exchange.access);
        access.put_back(&again);
        if is_answered {
            access.backoff.reset()
        } else {
            access.backoff.widen()
        }
        let (index, end, rate) = (exchange.access, exchange.opportunity_end, exchange.rate);
        if is_answered && self.fits(radio, index, rate, end) {
            self.follow(radio, RadioSequel::Opportunity { access: index, end });
            return;
        }
        self.end_opportunity(radio, index);
    }

    /// Begins the post-backoff and, if there are more frames to send, contention.
    fn end_opportunity(&mut self, radio: StationId, access: usize) {
        self.contention.hold(radio, self.now);
        let state = self.radios[radio.index()].access(access);
        let contender = state.contender;
        if access != BEACON_ACCESS {
            let slots = state.backoff.draw();
            self.contention.set_backoff(contender, slots);
        }
        if !state.is_empty() {
            self.contention.arm(contender, self.now);
        }
        self.arm_others(radio, access);
    }

    /// Lets the other accesses contend for frames that were submitted during the exchange.
    fn arm_others(&mut self, radio: StationId, but: usize) {
        for access in (0..ACCESSES).filter(|access| *access != but) {
            if self.radios[radio.index()].has_access(access) {
                self.arm(radio, access);
            }
        }
    }

    /// Whether the next frame of an access fits into the transmission opportunity.
    fn fits(&mut self, radio: StationId, access: usize, rate: Rate, end: Instant) -> bool {
        let Self { radios, rates, timing, now, .. } = self;
        if end <= *now {
            return false;
        }
        let Some(next) = radios[radio.index()].access(access).front() else { return false };
        let (bytes, response) = (next.frame.bytes, next.frame.response);
        let rate = next.stage().map_or(rate, |(_, stage)| stage.rate);
        let payload = rates.ppdu_duration(rate, bytes);
        let response = match response {
            Some(_) => timing.sifs + rates.response(rate, None).duration,
            None => Duration::ZERO,
        };
        *now + timing.sifs + payload + response <= end
    }
}

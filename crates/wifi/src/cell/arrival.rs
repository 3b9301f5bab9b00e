//! A-MPDUs that their receiver processes MPDU by MPDU while they are on the air
//! ([`RxInterrupt::Mpdu`]). The outcome of an MPDU is decided when its last bit arrives, by the
//! interference up to then; the MPDU is delivered at that instant.
//!
//! Packets on which no driver acts ([`Packet::passive`](lasthop_packet::Packet::passive)) cause no
//! wake-up. Such MPDUs are processed, each with its own instant, at the end of the PPDU or when a
//! caller asks ([`Cell::take_arrived`]).

use super::config::RxInterrupt;
use super::mu_mimo::Beam;
use super::multi_user::User;
use super::receiver::{Mpdus, Receiver, Taken};
use super::uplink::Answered;
use super::{Address, Cell, StationId};
use crate::air::{Air, Carried, Content, Flight, Payload, Subframes, happens};
use crate::mac::absence::Waits;
use crate::mac::block_ack::Bitmap;
use crate::mac::mpdu::Mpdu;
use crate::phy::Rate;
use alloc::collections::VecDeque;
use core::ops::Range;
use lasthop_packet::Packet;
use lasthop_units::{Db, Instant, Probability};

/// An A-MPDU on the air.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Arrival {
    pub sender: StationId,
    pub receiver: StationId,
    pub edcaf: usize,
    /// Index of the originator at the sender.
    pub originator: usize,
    /// The rate of its PSDU.
    rate: Rate,
    header: Header,
    /// Share of the streams, with MU-MIMO.
    beam: Option<Beam>,
    /// Subframes from the next awaited MPDU on.
    subframes: Subframes,
    /// Arrival of the last bit of that MPDU.
    pub due: Instant,
    /// Whether a driver acts on a packet as soon as it is delivered.
    pub is_prompt: bool,
    /// Decoded MPDUs: bit n is MPDU n.
    decoded: Bitmap,
    /// Length of the last MPDU, and the probability that one of this length is decoded without
    /// interference.
    undisturbed: Option<(u32, Probability)>,
}

/// Preamble and header of the PPDU.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Header {
    Awaited,
    /// Decoded, at this SNR.
    Received(Db),
    Lost,
}

impl Cell {
    /// The subframes of a payload; `None` if it is not an A-MPDU.
    pub(super) fn subframes(&self, flight: &Flight, payload: &Payload) -> Option<Subframes> {
        let Content::Data { mpdus, aggregated: true } = payload.content else { return None };
        let (span, air) = ((flight.start, flight.end), (flight.rate, flight.psdu_bytes));
        Some(Subframes::new(span, air, (mpdus, payload.spacing), self.settings.band))
    }

    /// Begins the A-MPDUs of a PPDU that goes on the air now, to receivers that process them MPDU
    /// by MPDU.
    pub(super) fn begin_arrivals(&mut self, flight: &Flight) {
        let sender = flight.transmitter;
        match (flight.carried, flight.receiver) {
            (Carried::Payload, Address::Station(receiver)) if self.is_prompt(receiver) => {
                let Some(&payload) = self.air.payload(sender) else { return };
                if let Some(subframes) = self.subframes(flight, &payload) {
                    let pair = (sender, receiver);
                    self.await_arrival(pair, payload.edcaf, subframes, flight.rate);
                }
            }
            (Carried::MultiUser { header }, _) => {
                for place in 0..self.stations[sender.index()].downlink().users.len() {
                    let several = self.stations[sender.index()].downlink();
                    let (edcaf, user) = (several.edcaf, &several.users[place]);
                    let subframes = user.subframes(flight.start, header);
                    let User { station: receiver, rate, beam, .. } = *user;
                    if self.is_prompt(receiver) {
                        self.await_arrival((sender, receiver), edcaf, subframes, rate);
                        self.arrivals.last_mut().expect("one is awaited").beam = beam;
                    }
                }
            }
            (Carried::Triggered { .. }, Address::Station(receiver)) if self.is_prompt(receiver) => {
                let answer = *self.stations[sender.index()].answer();
                if let Answered::Data { mpdus } = answer.content {
                    let subframes = answer.subframes(flight.start, mpdus);
                    self.await_arrival((sender, receiver), answer.edcaf, subframes, answer.rate);
                }
            }
            _ => {}
        }
    }

    /// Whether a station processes A-MPDUs MPDU by MPDU.
    fn is_prompt(&self, station: StationId) -> bool {
        self.stations[station.index()].config.rx_interrupt == RxInterrupt::Mpdu
    }

    /// Begins an A-MPDU with these subframes of the first pending MPDUs of `sender`, to a receiver
    /// that processes it MPDU by MPDU.
    fn await_arrival(
        &mut self,
        (sender, receiver): (StationId, StationId),
        edcaf: usize,
        subframes: Subframes,
        rate: Rate,
    ) {
        let count = subframes.count;
        let held_back = self.stations[receiver.index()].recipient(sender, edcaf).block_ack.as_ref();
        let mut is_prompt = self.outbox.records
            || held_back.is_some_and(|block_ack| block_ack.any_waiting(|p: &Packet| !p.passive));
        let access = self.access(sender, edcaf);
        let peer = Address::Station(receiver);
        let originator = access.originator(peer).expect("it has pending MPDUs");
        let pending = &access.originators[originator].pending;
        let first = pending.range(..count.min(pending.len()));
        is_prompt = is_prompt || !first.into_iter().all(|mpdu| mpdu.passive);
        let due = pending.front().map(|mpdu| subframes.end_of(u32::from(mpdu.bytes)));
        self.arrivals.push(Arrival {
            sender,
            receiver,
            edcaf,
            originator,
            rate,
            header: Header::Awaited,
            beam: None,
            subframes,
            due: due.expect("it has pending MPDUs"),
            is_prompt,
            decoded: Bitmap::EMPTY,
            undisturbed: None,
        });
    }

    /// Makes the next MPDU of each A-MPDU on the air compute its probability of success anew, because
    /// a link changed.
    pub(super) fn forget_success(&mut self) {
        for arrival in &mut self.arrivals {
            arrival.undisturbed = None;
        }
    }

    /// Processes the MPDUs whose last bits have arrived by `now`. Only for
    /// [`passive`](lasthop_packet::Packet::passive) packets does the time of the call matter: call
    /// it before you read their number.
    pub fn take_arrived(&mut self, now: Instant) {
        if self.arrivals.is_empty() {
            return;
        }
        // Nothing that decides about an MPDU looks at what is on the air: the PPDU
        // itself says what it overlapped with.
        let flights = self.air.lend_flights();
        let mut arrivals = core::mem::take(&mut self.arrivals);
        for arrival in &mut arrivals {
            if arrival.due > now || self.stations[arrival.sender.index()].exchange.is_none() {
                continue;
            }
            let Some(flight) = flights.iter().find(|f| f.is_payload_of(arrival.sender)) else {
                continue;
            };
            let Arrival { sender, receiver, edcaf, originator, rate, .. } = *arrival;
            let own = (flight.rate != rate).then(|| flight.to(receiver, rate, flight.psdu_bytes));
            let flight = own.as_ref().unwrap_or(flight);
            let peer = Address::Station(receiver);
            let is_patient = !self.outbox.records && !self.roster().has_absences(sender, peer);
            let waits = self.waits_of(sender, peer, edcaf, arrival.rest());
            let (mut ear, mut mpdus) = self.sharing((sender, edcaf, originator), receiver);
            arrival.advance(&mut ear, &mut mpdus, flight, (&waits, is_patient), now);
        }
        self.arrivals = arrivals;
        self.air.return_flights(flights);
    }

    /// Processes the rest of the PPDU of `flight`, which ended. Returns the decoded MPDUs;
    /// `Some(None)` if not even the header was decoded. Returns `None` if the receiver does not
    /// process it MPDU by MPDU.
    pub(super) fn end_arrival(
        &mut self,
        flight: &Flight,
        receiver: StationId,
    ) -> Option<Option<Bitmap>> {
        let sender = flight.transmitter;
        let is_its = |arrival: &Arrival| arrival.sender == sender && arrival.receiver == receiver;
        let index = self.arrivals.iter().position(is_its)?;
        let mut arrival = self.arrivals.swap_remove(index);
        let Arrival { edcaf, originator, .. } = arrival;
        let peer = Address::Station(receiver);
        let is_patient = !self.outbox.records && !self.roster().has_absences(sender, peer);
        let waits = self.waits_of(sender, peer, edcaf, arrival.rest());
        let (mut ear, mut mpdus) = self.sharing((sender, edcaf, originator), receiver);
        arrival.advance(&mut ear, &mut mpdus, flight, (&waits, is_patient), flight.end);
        // It may have begun to send itself, or left, since the first MPDU was in.
        let is_kept = flight.overlaps.is_none() || ear.air.locks(flight, receiver);
        let is_received =
            matches!(arrival.header, Header::Received(_)) && is_kept && !ear.state.misses(flight);
        Some(is_received.then_some(arrival.decoded))
    }

    /// Reception at a station, and the MPDUs of an originator of `sender`.
    #[inline]
    fn sharing(
        &mut self,
        (sender, edcaf, originator): (StationId, usize, usize),
        receiver: StationId,
    ) -> (Receiver<'_>, Mpdus<'_>) {
        let Self { now, air, outbox, timers, stations, .. } = self;
        let both = stations.get_disjoint_mut([sender.index(), receiver.index()]);
        let [theirs, state] = both.expect("nobody receives his own PPDU");
        let mpdus = Mpdus::new(&mut theirs.edcaf(edcaf).originators[originator]);
        (Receiver { now: *now, air, outbox, timers, state }, mpdus)
    }
}

impl Arrival {
    /// Indices of the MPDUs that have not arrived yet.
    fn rest(&self) -> Range<usize> {
        self.subframes.index..self.subframes.count
    }

    /// Advances to the first MPDU that has not arrived by `until`.
    fn advance(
        &mut self,
        ear: &mut Receiver<'_>,
        mpdus: &mut Mpdus<'_>,
        flight: &Flight,
        (waits, is_patient): (&Waits, bool),
        until: Instant,
    ) {
        let arrival = self;
        if arrival.header == Header::Awaited {
            let snr = ear.header(flight);
            let beam = arrival.beam;
            let snr = snr.map(|snr| beam.map_or(snr, |beam| beam.sinr(snr)));
            arrival.header = snr.map_or(Header::Lost, Header::Received);
        }
        let Header::Received(snr) = arrival.header else {
            arrival.due = Instant::MAX;
            return;
        };
        let (first, offset) = (arrival.subframes.index, arrival.subframes.offset);
        let ends = arrival.due;
        while arrival.due <= until {
            arrival.decide(ear.air, flight, snr, mpdus.pending);
            arrival.decide_alike(ear.air, flight, mpdus.pending, until);
        }
        // Whoever is woken for each MPDU takes them in one by one.
        let is_one = arrival.subframes.index == first + 1 && arrival.decoded.contains(first);
        let Arrival { sender, edcaf, .. } = *arrival;
        if is_one
            && is_patient
            && mpdus.agreed
            && ear.take_next(sender, edcaf, flight.start, ends, &mut mpdus.pending[first])
        {
            return;
        }
        let taken = Taken {
            edcaf: arrival.edcaf,
            mpdus: first..arrival.subframes.index,
            decoded: &arrival.decoded,
            subframes: Some(arrival.subframes.from(first, offset)),
        };
        ear.take_in(flight, mpdus, waits, taken);
    }

    /// Does what [`Self::decide`] does for the following MPDUs of equal length, as long as no other
    /// PPDU interferes: their probability of success is the same.
    #[inline]
    fn decide_alike(
        &mut self,
        air: &mut Air,
        flight: &Flight,
        pending: &VecDeque<Mpdu>,
        until: Instant,
    ) {
        let arrival = self;
        let Some((bytes, success)) = arrival.undisturbed else { return };
        let stream = air.reception(flight.transmitter, arrival.receiver);
        let length = |index| pending.get(index).map(|mpdu: &Mpdu| u32::from(mpdu.bytes));
        if arrival.subframes.end_by(until) && arrival.due <= until {
            // All that follows is in: when each was is not asked here.
            let Subframes { index: first, count, .. } = arrival.subframes;
            let rest = pending.range(first..count.min(pending.len()));
            let run = rest.take_while(|mpdu| u32::from(mpdu.bytes) == bytes).count();
            if success >= Probability::ONE {
                arrival.decoded.insert_all(first..first + run);
            } else {
                for bit in first..first + run {
                    if happens(stream, success) {
                        arrival.decoded.insert(bit);
                    }
                }
            }
            arrival.subframes.pass_all(run, bytes);
            arrival.due = match length(first + run) {
                Some(next) if first + run < count => arrival.subframes.end_of(next),
                _ => Instant::MAX,
            };
            return;
        }
        while arrival.due <= until && length(arrival.subframes.index) == Some(bytes) {
            let bit = arrival.subframes.index;
            arrival.subframes.pass(bytes);
            if happens(stream, success) {
                arrival.decoded.insert(bit);
            }
            arrival.due = match length(bit + 1) {
                Some(next) if bit + 1 < arrival.subframes.count => arrival.subframes.end_of(next),
                _ => Instant::MAX,
            };
        }
    }

    /// Decides whether the awaited MPDU, which has arrived, was decoded.
    #[inline(never)]
    fn decide(&mut self, air: &mut Air, flight: &Flight, snr: Db, pending: &VecDeque<Mpdu>) {
        let arrival = self;
        let receiver = arrival.receiver;
        let bit = arrival.subframes.index;
        let bytes = u32::from(pending[bit].bytes);
        let is_undisturbed = flight.overlaps.is_none();
        let success = match arrival.undisturbed {
            Some((known, success)) if known == bytes && is_undisturbed => {
                debug_assert_eq!(success, {
                    let span = (arrival.subframes.begin(), arrival.due);
                    air.mpdu_success(flight, receiver, snr, bytes, span)
                });
                success
            }
            _ => {
                let span = (arrival.subframes.begin(), arrival.due);
                air.mpdu_success(flight, receiver, snr, bytes, span)
            }
        };
        arrival.subframes.pass(bytes);
        arrival.undisturbed = is_undisturbed.then_some((bytes, success));
        let is_decoded = happens(air.reception(flight.transmitter, receiver), success);
        if is_decoded {
            arrival.decoded.insert(bit);
        }
        arrival.due = match pending.get(bit + 1) {
            Some(next) if bit + 1 < arrival.subframes.count => {
                arrival.subframes.end_of(u32::from(next.bytes))
            }
            _ => Instant::MAX,
        };
    }
}

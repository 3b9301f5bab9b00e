//! A-MPDUs that their receiver processes MPDU by MPDU while they are on the air
//! ([`RxInterrupt::Mpdu`]). The outcome of an MPDU is decided when its last bit arrives, by the
//! interference up to then; the MPDU is delivered at that instant.
//!
//! Packets on which no driver acts ([`Packet::passive`](lasthop_packet::Packet::passive)) cause no
//! wake-up. Such MPDUs are processed, each with its own instant, at the end of the PPDU or when a
//! caller asks ([`Cell::take_arrived`]).

use super::config::RxInterrupt;
use super::mu_mimo::Beam;
use super::reception::Taken;
use super::{Address, Cell, StationId};
use crate::air::{Flight, Subframes, happens};
use crate::mac::block_ack::Bitmap;
use crate::mac::mpdu::Mpdu;
use crate::phy::Rate;
use alloc::collections::VecDeque;
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
    /// The subframes of an A-MPDU of `count` MPDUs from `sender`.
    pub(super) fn subframes(
        &self,
        sender: StationId,
        count: usize,
        (start, end): (Instant, Instant),
        (rate, psdu_bytes): (Rate, u32),
    ) -> Subframes {
        let spacing = self.stations[sender.index()].config.aggregation.mpdu_start_spacing;
        Subframes::new((start, end), (rate, psdu_bytes), (count, spacing), self.settings.band)
    }

    /// Begins an A-MPDU with the first `count` pending MPDUs of `sender`.
    pub(super) fn begin_arrival(
        &mut self,
        (sender, receiver): (StationId, StationId),
        edcaf: usize,
        count: usize,
        (rate, psdu_bytes, end): (Rate, u32, Instant),
    ) {
        if self.stations[receiver.index()].config.rx_interrupt == RxInterrupt::Ppdu {
            return;
        }
        let subframes = self.subframes(sender, count, (self.now, end), (rate, psdu_bytes));
        self.await_arrival((sender, receiver), edcaf, subframes, rate);
    }

    /// Begins an A-MPDU with these subframes of the first pending MPDUs of `sender`, to a receiver
    /// that processes it MPDU by MPDU.
    pub(super) fn await_arrival(
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

    /// Sets the share of the streams of an MU-MIMO PPDU for the A-MPDU awaited last.
    pub(super) fn aim_arrival(&mut self, beam: Option<Beam>) {
        self.arrivals.last_mut().expect("one is awaited").beam = beam;
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
            let lender = &mut self.access(sender, edcaf).originators[originator];
            let mut pending = core::mem::take(&mut lender.pending);
            self.advance_arrival(arrival, flight, &mut pending, now);
            self.access(sender, edcaf).originators[originator].pending = pending;
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
        pending: &mut VecDeque<Mpdu>,
    ) -> Option<Option<Bitmap>> {
        let is_its = |arrival: &Arrival| {
            arrival.sender == flight.transmitter
                && Address::Station(arrival.receiver) == flight.receiver
        };
        let index = self.arrivals.iter().position(is_its)?;
        let mut arrival = self.arrivals.swap_remove(index);
        self.advance_arrival(&mut arrival, flight, pending, flight.end);
        // It may have begun to send itself, or left, since the first MPDU was in.
        let is_kept = flight.overlaps.is_none() || self.air.locks(flight, arrival.receiver);
        let is_received = matches!(arrival.header, Header::Received(_))
            && is_kept
            && !self.is_missed(flight, arrival.receiver);
        Some(is_received.then_some(arrival.decoded))
    }

    /// Advances to the first MPDU that has not arrived by `until`.
    fn advance_arrival(
        &mut self,
        arrival: &mut Arrival,
        flight: &Flight,
        pending: &mut VecDeque<Mpdu>,
        until: Instant,
    ) {
        let receiver = arrival.receiver;
        if arrival.header == Header::Awaited {
            let snr = self.receive_header(flight, receiver);
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
            self.decide(arrival, flight, snr, pending);
            self.decide_alike(arrival, flight, pending, until);
        }
        // Whoever is woken for each MPDU takes them in one by one.
        let is_one = arrival.subframes.index == first + 1 && arrival.decoded.contains(first);
        if is_one && self.take_next(arrival, flight.start, ends, &mut pending[first]) {
            return;
        }
        let taken = Taken {
            edcaf: arrival.edcaf,
            mpdus: first..arrival.subframes.index,
            decoded: &arrival.decoded,
            subframes: Some(arrival.subframes.from(first, offset)),
        };
        self.take_in(flight, receiver, pending, taken);
    }

    /// Does what [`Self::decide`] does for the following MPDUs of equal length, as long as no other
    /// PPDU interferes: their probability of success is the same.
    #[inline]
    fn decide_alike(
        &mut self,
        arrival: &mut Arrival,
        flight: &Flight,
        pending: &VecDeque<Mpdu>,
        until: Instant,
    ) {
        let Some((bytes, success)) = arrival.undisturbed else { return };
        let stream = self.air.reception(flight.transmitter, arrival.receiver);
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
    fn decide(
        &mut self,
        arrival: &mut Arrival,
        flight: &Flight,
        snr: Db,
        pending: &VecDeque<Mpdu>,
    ) {
        let receiver = arrival.receiver;
        let bit = arrival.subframes.index;
        let bytes = u32::from(pending[bit].bytes);
        let is_undisturbed = flight.overlaps.is_none();
        let success = match arrival.undisturbed {
            Some((known, success)) if known == bytes && is_undisturbed => {
                debug_assert_eq!(success, {
                    let span = (arrival.subframes.begin(), arrival.due);
                    self.air.mpdu_success(flight, receiver, snr, bytes, span)
                });
                success
            }
            _ => {
                let span = (arrival.subframes.begin(), arrival.due);
                self.air.mpdu_success(flight, receiver, snr, bytes, span)
            }
        };
        arrival.subframes.pass(bytes);
        arrival.undisturbed = is_undisturbed.then_some((bytes, success));
        let is_decoded = happens(self.air.reception(flight.transmitter, receiver), success);
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

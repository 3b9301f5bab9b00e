//! A-MPDUs that their receiver processes MPDU by MPDU while they are on the air
//! ([`RxInterrupt::Mpdu`]). The outcome of an MPDU is decided when its last bit arrives, by the
//! interference up to then; the MPDU is delivered at that instant.
//!
//! Packets on which no driver acts ([`Packet::passive`](lasthop_packet::Packet::passive)) cause no
//! wake-up. Such MPDUs are processed, each with its own instant, at the end of the PPDU or when a
//! caller asks ([`Cell::take_arrived`](super::Cell::take_arrived)).

use super::config::RxInterrupt;
use super::devices::Devices;
use super::exchange::mu_mimo::Beam;
use super::exchange::multi_user::User;
use super::exchange::uplink::Answered;
use super::receiver::{Mpdus, Receiver, Taken};
use super::station::Station;
use super::timers::earliest;
use crate::air::{Air, Carried, Flight, Interval, Subframes, happens};
use crate::mac::absence::Waits;
use crate::mac::block_ack::Bitmap;
use crate::mac::mpdu::Mpdu;
use crate::phy::{Band, Rate};
use crate::station::{Address, StationId};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
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
    pub rate: Rate,
    header: Header,
    /// Share of the streams, with MU-MIMO.
    pub beam: Option<Beam>,
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

/// A-MPDUs on the air whose receivers process them MPDU by MPDU.
#[derive(Clone, Debug, PartialEq, Default)]
pub(super) struct Arrivals {
    pub list: Vec<Arrival>,
}

impl Arrivals {
    /// Whether there is none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The next instant at which an MPDU arrives on which a driver acts.
    #[inline]
    pub fn next_prompt(&self) -> Instant {
        earliest(self.list.iter().filter(|arrival| arrival.is_prompt).map(|arrival| arrival.due))
    }

    /// Makes the next MPDU of each compute its probability of success anew, because a link changed.
    pub fn forget_success(&mut self) {
        for arrival in &mut self.list {
            arrival.undisturbed = None;
        }
    }

    /// Takes out the A-MPDU from `sender` to `receiver`, if there is one.
    #[inline]
    pub fn take(&mut self, sender: StationId, receiver: StationId) -> Option<Arrival> {
        let is_its = |arrival: &Arrival| arrival.sender == sender && arrival.receiver == receiver;
        let index = self.list.iter().position(is_its)?;
        Some(self.list.swap_remove(index))
    }

    /// Begins the A-MPDUs of a PPDU that goes on the air now, to receivers that process them MPDU
    /// by MPDU. If events are kept, all of their MPDUs are awaited.
    pub fn begin(
        &mut self,
        stations: &mut [Station],
        air: &Air,
        band: Band,
        flight: &Flight,
        records: bool,
        devices: &Devices,
    ) {
        let is_prompt = |station: StationId, stations: &[Station]| {
            stations[station.index()].config.rx_interrupt != RxInterrupt::Ppdu
        };
        let sender = flight.transmitter;
        match (flight.carried, flight.receiver) {
            (Carried::Payload, Address::Station(to)) if is_prompt(to, stations) => {
                let Some(payload) = air.payload(sender) else { return };
                if let Some(subframes) = payload.subframes(flight, band) {
                    let edcaf = payload.edcaf;
                    let new = Arrival::new(sender, to, edcaf, subframes, flight.rate);
                    self.add(new, stations, records, devices);
                }
            }
            (Carried::MultiUser { header }, _) => {
                for place in 0..stations[sender.index()].downlink().users.len() {
                    let several = stations[sender.index()].downlink();
                    let (edcaf, user) = (several.edcaf, &several.users[place]);
                    let subframes = user.subframes(flight.start, header);
                    let User { station: to, rate, beam, .. } = *user;
                    if is_prompt(to, stations) {
                        let new = Arrival::new(sender, to, edcaf, subframes, rate);
                        self.add(Arrival { beam, ..new }, stations, records, devices);
                    }
                }
            }
            (Carried::Triggered { .. }, Address::Station(to)) if is_prompt(to, stations) => {
                let answer = *stations[sender.index()].answer();
                if let Answered::Data { mpdus } = answer.content {
                    let subframes = answer.subframes(flight.start, mpdus);
                    let new = Arrival::new(sender, to, answer.edcaf, subframes, answer.rate);
                    self.add(new, stations, records, devices);
                }
            }
            _ => {}
        }
    }

    /// Adds an A-MPDU that begins: with its originator, its first MPDU, and whether a driver acts on
    /// one of them.
    #[inline]
    fn add(&mut self, new: Arrival, stations: &mut [Station], records: bool, devices: &Devices) {
        let Arrival { sender, receiver, edcaf, subframes, .. } = new;
        let is_held =
            matches!(stations[receiver.index()].config.rx_interrupt, RxInterrupt::Held(_));
        let [first, theirs] = [receiver, sender].map(|station| devices.head(station));
        let held_back = stations[first.index()].recipient(theirs, edcaf).block_ack.as_ref();
        let mut is_prompt = records
            || is_held
            || held_back.is_some_and(|block_ack| block_ack.any_waiting(|p: &Packet| !p.passive));
        let access = stations[sender.index()].edcaf(edcaf);
        let peer = Address::Station(receiver);
        let originator = access.originator(peer).expect("it has pending MPDUs");
        let pending = &access.originators[originator].pending;
        let first = pending.range(..subframes.count.min(pending.len()));
        is_prompt = is_prompt || !first.into_iter().all(|mpdu| mpdu.passive);
        let due = pending.front().map(|mpdu| subframes.end_of(u32::from(mpdu.bytes)));
        let due = due.expect("it has pending MPDUs");
        self.list.push(Arrival { originator, due, is_prompt, ..new });
    }
}

impl Arrival {
    /// An A-MPDU with these subframes, the first pending MPDUs of `sender`.
    const fn new(
        sender: StationId,
        receiver: StationId,
        edcaf: usize,
        subframes: Subframes,
        rate: Rate,
    ) -> Self {
        Self {
            sender,
            receiver,
            edcaf,
            originator: 0,
            rate,
            header: Header::Awaited,
            beam: None,
            subframes,
            due: Instant::MAX,
            is_prompt: false,
            decoded: Bitmap::EMPTY,
            undisturbed: None,
        }
    }

    /// The MPDUs that were decoded; `None` if the header was lost.
    pub fn received(&self) -> Option<Bitmap> {
        matches!(self.header, Header::Received(_)).then_some(self.decoded)
    }

    /// Indices of the MPDUs that have not arrived yet.
    pub fn rest(&self) -> Range<usize> {
        self.subframes.index..self.subframes.count
    }

    /// Advances to the first MPDU that has not arrived by `until`.
    pub fn advance(
        &mut self,
        ear: &mut Receiver<'_>,
        mpdus: &mut Mpdus<'_>,
        flight: &Flight,
        waits: &Waits,
        is_patient: bool,
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
                    let span = Interval { from: arrival.subframes.begin(), until: arrival.due };
                    air.mpdu_success(flight, receiver, snr, bytes, span)
                });
                success
            }
            _ => {
                let span = Interval { from: arrival.subframes.begin(), until: arrival.due };
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

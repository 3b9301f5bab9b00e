//! Reception at all stations of a cell: a [`Receiver`] for one of them, and the MPDUs that its sender
//! lends it. The file touches the air, the receivers' state, the outputs and the reorder buffers'
//! deadlines; it neither answers nor lets a station contend.

mod arrivals;

use super::arrival::Arrivals;
use super::bss::Bss;
use super::devices::Devices;
use super::exchange::mu_mimo::Beam;
use super::floor::Roster;
use super::outbox::Outbox;
use super::power::Power;
use super::receiver::{Mpdus, Receiver, Taken};
use super::recipient::release;
use super::record::Recorder;
use super::station::Station;
use super::timers::{Timers, earliest};
use super::{Output, Settings};
use crate::air::{Air, Content, Flight, Payload, Subframes};
use crate::mac::absence::Waits;
use crate::mac::block_ack::Bitmap;
use crate::mac::contention::Contention;
use crate::station::{Address, StationId};
use alloc::collections::VecDeque;
use core::ops::Range;
use lasthop_packet::DropReason;
use lasthop_units::Instant;

/// The parts of the cell that receivers use.
pub(super) struct Receivers<'a> {
    pub now: Instant,
    pub settings: &'a Settings,
    pub stations: &'a mut [Station],
    pub bss: &'a [Bss],
    pub contention: &'a Contention,
    pub air: &'a mut Air,
    pub arrivals: &'a mut Arrivals,
    pub outbox: &'a mut Outbox,
    pub timers: &'a mut Timers,
    pub power: &'a Power,
    pub devices: &'a mut Devices,
}

impl Receivers<'_> {
    /// Stations and their sets, to look at.
    #[inline]
    pub fn roster(&self) -> Roster<'_> {
        Roster { settings: self.settings, stations: self.stations, bss: self.bss }
    }

    /// Lets `act` record a PPDU, if events are kept.
    #[inline]
    pub fn record(&mut self, act: impl FnOnce(&mut Recorder<'_>)) {
        if !self.outbox.records {
            return;
        }
        let Self { air, settings, stations, bss, outbox, power, devices, .. } = self;
        act(&mut Recorder { air, settings, stations, bss, outbox, power, devices });
    }

    /// Reception at a station.
    #[inline]
    pub fn at(&mut self, station: StationId) -> Receiver<'_> {
        let Self { now, air, outbox, timers, stations, .. } = self;
        let state = &mut stations[station.index()];
        Receiver { now: *now, air, outbox, timers, state }
    }

    /// Reception at a station, and the MPDUs that `sender` keeps for `peer` in an EDCAF; none for
    /// beacons and management frames.
    #[inline]
    pub fn transfer(
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
    pub fn take_data(
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
    pub fn decode_data(
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
    pub fn decode(
        &mut self,
        flight: &Flight,
        payload: &Payload,
        listener: StationId,
    ) -> Option<Bitmap> {
        if let Some(subframes) = payload.subframes(flight, self.settings.band) {
            let (sender, peer) = (flight.transmitter, flight.receiver);
            let (mut receiver, lent) = self.transfer(sender, listener, payload.edcaf, peer);
            let lent = lent.expect("it sent some");
            let snr = receiver.header(flight)?;
            return Some(receiver.decode_all(flight, snr, subframes, lent.pending));
        }
        let is_decoded = self.at(listener).decode_one(flight)?;
        Some(if is_decoded { Bitmap::FIRST } else { Bitmap::EMPTY })
    }

    /// The absences that these pending MPDUs of `sender` to `peer` may have waited for.
    #[inline]
    pub fn waits_of(
        &self,
        sender: StationId,
        peer: Address,
        edcaf: usize,
        mpdus: Range<usize>,
    ) -> Waits {
        if self.roster().has_absences(sender, peer) {
            self.waits_for_absences(sender, peer, edcaf, mpdus)
        } else {
            Waits::default()
        }
    }

    #[cold]
    fn waits_for_absences(
        &self,
        sender: StationId,
        peer: Address,
        edcaf: usize,
        mpdus: Range<usize>,
    ) -> Waits {
        let pending = self.stations[sender.index()].pending(edcaf, peer).expect("it sent some");
        let packets = pending.range(mpdus).flat_map(|mpdu| mpdu.msdus.packets());
        let since = earliest(packets.map(|packet| packet.arrived));
        self.roster().waits(sender, peer, edcaf, since)
    }

    /// Lets the receiver of a payload process it; returns the MPDUs that it acknowledges: bit n is
    /// MPDU n. Data are processed only if they are `awaited`, not if they were while on the air.
    #[inline]
    pub fn take_payload(
        &mut self,
        flight: &Flight,
        receiver: StationId,
        payload: &Payload,
        decoded: Bitmap,
        awaited: bool,
    ) -> Bitmap {
        let edcaf = payload.edcaf;
        match payload.content {
            Content::Data { mpdus, .. } => {
                if awaited {
                    self.take_data(flight, receiver, edcaf, mpdus, &decoded);
                }
                if payload.response.is_some_and(|response| response.block_ack) {
                    self.acknowledges(flight, receiver, edcaf, decoded, mpdus)
                } else {
                    decoded
                }
            }
            Content::BlockAckRequest { start } => {
                self.at(receiver).take_request(flight.transmitter, edcaf, start);
                self.acknowledges(flight, receiver, edcaf, decoded, Bitmap::BITS)
            }
            Content::Management(_) | Content::Beacon => decoded,
        }
    }

    /// Reports the MPDUs of a wholly erroneous PPDU, as the hardware of pseudo retry-out does.
    pub fn take_erroneous(&mut self, flight: &Flight, receiver: StationId, payload: &Payload) {
        if let Content::Data { mpdus, .. } = payload.content
            && self.stations[receiver.index()].config.pseudo_retry_out.is_some()
        {
            self.take_data(flight, receiver, payload.edcaf, mpdus, &Bitmap::EMPTY);
        }
    }

    /// Returns which of the first `mpdus` pending MPDUs the response acknowledges.
    pub fn acknowledges(
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

    /// Processes at its receiver the Block Ack Request of a Trigger frame, which begins with the
    /// first pending MPDU.
    pub fn take_own_request(&mut self, flight: &Flight, receiver: StationId, edcaf: usize) {
        let (sender, peer) = (flight.transmitter, Address::Station(receiver));
        let pending = self.stations[sender.index()].pending(edcaf, peer);
        let start = pending.expect("it sent some")[0].sequence;
        self.at(receiver).take_request(sender, edcaf, start);
    }

    /// Delivers the packets of a PPDU that promiscuous stations of the same set decode, as at the
    /// receiver.
    #[inline]
    pub fn overhear_packets(&mut self, flight: &Flight, receiver: StationId, payload: &Payload) {
        if !self.settings.promiscuous.is_empty() {
            self.overhear_some(flight, receiver, payload);
        }
    }

    fn overhear_some(&mut self, flight: &Flight, receiver: StationId, payload: &Payload) {
        let Content::Data { mpdus, .. } = payload.content else { return };
        let sender = flight.transmitter;
        for index in 0..self.settings.promiscuous.len() {
            let listener = self.settings.promiscuous[index];
            if listener == sender
                || listener == receiver
                || self.roster().bss_of(listener) != self.roster().bss_of(sender)
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

    /// Delivers a group-addressed MPDU to the stations of the set that decode it.
    pub fn deliver_to_group(&mut self, flight: &Flight, payload: &Payload) {
        let (sender, edcaf, peer) = (flight.transmitter, payload.edcaf, flight.receiver);
        if self.stations[sender.index()].pending(edcaf, peer).is_none_or(VecDeque::is_empty) {
            return;
        }
        let bss = self.roster().bss_of(sender);
        let waits = self.waits_of(sender, peer, edcaf, 0..1);
        for index in 0..self.stations.len() {
            let listener = StationId(index as u16);
            if listener == sender
                || self.roster().bss_of(listener) != bss
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

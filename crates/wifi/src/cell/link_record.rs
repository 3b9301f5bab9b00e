//! Counts of what the links of devices do, for [`FlowLinkStats`] and [`MultiLinkStats`]. The
//! counts do not change the course of a run, and cells without devices have none.
//!
//! A packet's wait for another link is that link's own contention: it contends for the same packets,
//! and its backoff and its medium go on, until it would gain the channel. The instant is sought when
//! an exchange of the cell begins, before the medium becomes busy again. A response that the other
//! link senses without the frame before it (a hidden sender) may delay the instant by its duration; a
//! link whose backoff is over finds a busy medium without a new draw.

use super::Cell;
use super::arrival::Arrival;
use super::devices::{Device, Devices};
use super::edcaf::{EDCAFS, Link};
use super::exchange::content::Exchange;
use super::floor::Floor;
use super::link_counts::{Awaited, FirstInLine, Idle, LinkRecord, RadioRequest};
use super::outbox::{Mark, Outbox};
use super::receivers::Receivers;
use super::station::Station;
use crate::air::{Content, Flight};
use crate::event::{Event, PacketLink};
use crate::mac::block_ack::Recipient;
use crate::mac::contention::Contention;
use crate::mac::mpdu::Mpdu;
use crate::mac::originator::Agreement;
use crate::station::{Address, StationId};
use crate::stats::multi_link::{FlowLinkStats, IdleStats, LINKS_MAX, MultiLinkStats};
use alloc::vec::Vec;
use lasthop_packet::{FlowId, NodeId, Packet};
use lasthop_units::{Duration, Instant};

impl Devices {
    /// The counts of packets by flow and link.
    pub fn flow_links(&self) -> &[FlowLinkStats] {
        &self.record.flows
    }

    /// The counts of the device that begins with `station` until `now`; `None` for one link.
    pub fn multi_link_stats(&mut self, now: Instant, station: StationId) -> Option<MultiLinkStats> {
        let place = self.place(station).filter(|place| place.link == 0)?;
        let links = self.all[place.device].links.len();
        self.record.devices[place.device].stats.idle.resize(links, IdleStats::default());
        for edcaf in 0..EDCAFS {
            self.record.pass(now, place.device, edcaf);
        }
        Some(self.record.devices[place.device].stats.clone())
    }

    /// Sets the counts to zero at `now`.
    pub fn clear_records(&mut self, now: Instant) {
        let Self { record, all, .. } = self;
        for (device, Device { links, .. }) in all.iter().enumerate() {
            let idle = alloc::vec![IdleStats::default(); links.len()];
            record.devices[device].stats = MultiLinkStats { idle, ..Default::default() };
            record.devices[device].states.iter_mut().for_each(|state| state.since = now);
        }
        for counted in &mut record.flows {
            let FlowLinkStats { flow, source, from, to, link, .. } = *counted;
            *counted = FlowLinkStats::new(flow, source, [from, to], link);
        }
    }

    /// The state of the outputs before a reception at `receiver`; `None` unless it is by one device
    /// from another.
    pub fn mark(&self, outbox: &Outbox, sender: StationId, receiver: StationId) -> Option<Mark> {
        (self.has(sender) && self.has(receiver)).then(|| outbox.mark(receiver))
    }

    /// Counts the packets that a reception at `receiver` has delivered since `mark`; `came` are the
    /// MPDUs of the reception, in their order. Buffered packets waited for another link if the MPDU
    /// that released them was sent first on another one than theirs: behind a loss on their own link
    /// they would wait with one link, too.
    pub fn delivered<'a>(
        &mut self,
        outbox: &mut Outbox,
        mark: Mark,
        [sender, receiver]: [StationId; 2],
        edcaf: usize,
        came: impl Iterator<Item = &'a Mpdu>,
    ) {
        let Self { record, heads, places, .. } = self;
        let ends = [sender, receiver].map(|station| heads[station.index()]);
        let mut came = came.peekable();
        // Link of the MPDU that was missing.
        let mut missing = None;
        // Most come in runs.
        let mut last: Option<(FlowId, NodeId, u8, usize)> = None;
        outbox.trace_since(mark, receiver, |at, packet| {
            let is_any = !record.buffered.is_empty();
            let through = if is_any { record.buffered.remove(&key(packet)) } else { None };
            let (station, since) = through.unwrap_or_else(|| {
                let is_it =
                    |mpdu: &&Mpdu| mpdu.msdus.packets().iter().any(|it| it.tag == packet.tag);
                while came.next_if(|mpdu| !is_it(mpdu)).is_some() {}
                missing = came.peek().map(|mpdu| {
                    let place = usize::from(mpdu.sequence.as_u16());
                    record.first_links(ends, edcaf)[place]
                });
                (receiver, at)
            });
            let place = places[station.index()];
            let link = place.map_or(0, |place| place.link as u8);
            let entry = match last {
                Some((flow, source, of, entry))
                    if (flow, source, of) == (packet.flow, packet.source, link) =>
                {
                    entry
                }
                _ => record.entry(packet, ends, link),
            };
            last = Some((packet.flow, packet.source, link, entry));
            let is_others = missing.is_some_and(|missing| missing != link);
            let reorder = if is_others { at.saturating_since(since) } else { Duration::ZERO };
            record.flows[entry].count(at.saturating_since(packet.created), reorder);
            station
        });
    }

    /// Remembers which link brought these MPDUs, if they wait in the reorder buffer of `receiver`,
    /// which has it at the moment.
    pub fn keep_buffered<'a>(
        &mut self,
        now: Instant,
        block_ack: Option<&Recipient>,
        receiver: StationId,
        mpdus: impl Iterator<Item = &'a Mpdu>,
    ) {
        let Some(block_ack) = block_ack.filter(|it| it.any_waiting(|_| true)) else { return };
        for mpdu in mpdus.filter(|mpdu| mpdu.taken && block_ack.holds(mpdu.sequence)) {
            for packet in mpdu.msdus.packets() {
                self.record.buffered.entry(key(packet)).or_insert((receiver, now));
            }
        }
    }

    /// Sets the reasons for which the links of a device are idle from `now` on.
    fn note(
        &mut self,
        now: Instant,
        device: usize,
        edcaf: usize,
        is_queued: bool,
        idle: [Option<Idle>; LINKS_MAX],
    ) {
        let links = self.all[device].links.len();
        self.record.devices[device].stats.idle.resize(links, IdleStats::default());
        let state = self.record.pass(now, device, edcaf);
        (state.is_queued, state.idle) = (is_queued, idle);
    }
}

impl Floor<'_> {
    /// Records which links of the device of `link` are idle although packets wait, and why.
    pub(super) fn note_idle(&mut self, link: StationId, edcaf: usize) {
        let Self { devices, stations, now, .. } = self;
        let Some(place) = devices.place(link) else { return };
        let links = &devices.all[place.device].links;
        let Some(first) = stations[links[0].index()].edcafs[edcaf].as_ref() else { return };
        let is_queued = !first.queue.is_empty();
        let mut idle = [None; LINKS_MAX];
        if is_queued {
            for (reason, link) in idle.iter_mut().zip(links) {
                *reason = devices.reason(*now, stations, *link, edcaf);
            }
        }
        devices.note(*now, place.device, edcaf, is_queued, idle);
    }
}

impl Devices {
    /// Reason for which a link is idle although its device has packets for a device with that link;
    /// `None` if it contends or sends, or has no packets to send.
    fn reason(
        &self,
        now: Instant,
        stations: &[Station],
        link: StationId,
        edcaf: usize,
    ) -> Option<Idle> {
        let state = &stations[link.index()];
        let access = state.edcafs[edcaf].as_ref()?;
        let of_link = access.link.as_ref()?;
        if state.exchange.is_some() || of_link.has_work && self.may_begin(now, link).is_ok() {
            return None;
        }
        let first = stations[self.head(link).index()].edcafs[edcaf].as_ref()?;
        let bss = state.config.bss;
        let waits = |head: &StationId| {
            let links = self.links(*head);
            let has_link = |it: &StationId| stations[it.index()].config.bss == bss;
            self.head(*head) == *head
                && links.iter().any(has_link)
                && first.queue.len_packets_for(Address::Station(*head).into()) > 0
        };
        let heads = (0..stations.len() as u16).map(StationId).filter(|head| self.has(*head));
        let peers = heads.filter(|head| *head != self.head(link) && waits(head));
        peers.filter_map(|peer| self.reason_for(now, link, edcaf, peer, of_link)).next()
    }

    fn reason_for(
        &self,
        now: Instant,
        link: StationId,
        edcaf: usize,
        peer: StationId,
        of_link: &Link,
    ) -> Option<Idle> {
        let own = self.place(link)?;
        let is_engaged = self.may_begin(now, link).is_err() || !self.listens(now, peer);
        if is_engaged {
            return Some(Idle::Engaged);
        }
        if of_link.peers.get(peer.index()).copied().flatten().is_none() {
            return Some(Idle::Barred);
        }
        let common = self.all[own.device].common[edcaf].iter();
        let agreement = common.clone().find(|(head, _)| *head == peer).map(|(_, it)| it.agreement);
        matches!(agreement, Some(Agreement::Established { .. })).then_some(Idle::Window)
    }
}

impl Cell {
    /// Records an exchange that begins: which packets take this link, and which links other packets
    /// would take by now.
    pub(super) fn record_links(&mut self, station: StationId, exchange: &Exchange) {
        let Self { devices, stations, contention, outbox, now, .. } = self;
        devices.settle_awaited(*now, stations, contention, outbox, station, exchange.edcaf());
        let Exchange::Single(single) = exchange else { return };
        let (Some(place), Content::Data { mpdus, .. }, Address::Station(peer)) =
            (devices.place(station), single.content, single.peer)
        else {
            return;
        };
        // It is no longer idle.
        let mut idle = devices.record.devices[place.device].states[single.edcaf].idle;
        idle[place.link] = None;
        let is_queued = devices.record.devices[place.device].states[single.edcaf].is_queued;
        devices.note(*now, place.device, single.edcaf, is_queued, idle);
        let Some(pending) = stations[station.index()].pending(single.edcaf, single.peer) else {
            return;
        };
        let mut others = [None; LINKS_MAX];
        for (link, other) in devices.links(station).iter().enumerate() {
            let bss = stations[other.index()].config.bss;
            let has_link = |it: &StationId| stations[it.index()].config.bss == bss;
            let takes = devices.takes(stations, *other, single.edcaf, devices.head(peer));
            if *other != station && takes && devices.links(peer).iter().any(has_link) {
                others[link] = Some(*other);
            }
        }
        if others.iter().all(Option::is_none) {
            return;
        }
        let ends = [station, peer].map(|it| devices.head(it));
        let link = place.link as u8;
        let mut waits: Option<FirstInLine> = None;
        let first_links = devices.record.first_links(ends, single.edcaf);
        for mpdu in pending.iter().take(mpdus).filter(|mpdu| mpdu.transmissions == 0) {
            first_links[usize::from(mpdu.sequence.as_u16())] = link;
        }
        for mpdu in pending.iter().take(mpdus).filter(|mpdu| mpdu.attempts == 0) {
            for packet in mpdu.msdus.packets() {
                let eligible = mpdu.contention_start.max(packet.arrived);
                let is_of = |it: &FirstInLine| (it.flow, it.source) == (packet.flow, packet.source);
                if !waits.as_ref().is_some_and(is_of) {
                    if let Some(waits) = waits.take() {
                        devices.await_others(*now, single.edcaf, &others, &waits);
                    }
                    let (flow, source) = (packet.flow, packet.source);
                    let entry = devices.record.entry(packet, ends, link);
                    let kept = Vec::new();
                    waits = Some(FirstInLine {
                        flow,
                        source,
                        entry,
                        packets: 0,
                        eligible_nanos: 0,
                        kept,
                    });
                }
                let waits = waits.as_mut().expect("it was just made");
                waits.packets += 1;
                waits.eligible_nanos += u128::from(eligible.as_nanos());
                if outbox.records {
                    let choice = PacketLink {
                        at: *now,
                        station,
                        peer,
                        flow: packet.flow,
                        tag: packet.tag,
                        bytes: packet.bytes,
                        waited: now.saturating_since(eligible),
                        is_taken: true,
                    };
                    outbox.record(|| Event::Link(choice));
                    waits.kept.push(choice);
                }
            }
        }
        if let Some(waits) = waits {
            devices.await_others(*now, single.edcaf, &others, &waits);
        }
    }

    /// Records that a request precedes the data of an exchange that begins.
    pub(super) fn record_request(
        &mut self,
        station: StationId,
        exchange: &Exchange,
        padding: Duration,
    ) {
        let Self { devices, stations, now, .. } = self;
        let Exchange::Single(single) = exchange else { return };
        let Address::Station(peer) = single.peer else { return };
        let is_of = |station: StationId| {
            let place = devices.place(station)?;
            devices.all[place.device].is_engaged().then_some(place.device)
        };
        let Some(device) = is_of(station).or_else(|| is_of(peer)) else { return };
        let (mut packets, mut transition) = (0, Duration::ZERO);
        if let Content::Data { mpdus, .. } = single.content
            && let Some(pending) = stations[station.index()].pending(single.edcaf, single.peer)
        {
            let returned = devices.all[device].returned();
            for mpdu in pending.iter().take(mpdus) {
                for packet in mpdu.msdus.packets() {
                    let eligible = mpdu.contention_start.max(packet.arrived);
                    let until = returned.end.min(*now);
                    packets += 1;
                    transition += until.saturating_since(eligible.max(returned.start));
                }
            }
        }
        let record = &mut devices.record.devices[device];
        record.stats.switching.packets_transition += transition;
        record.request = Some(RadioRequest { by: station, since: *now, padding, packets });
    }
}

impl Cell {
    /// Records what the end of a PPDU delivered since `mark`, and left in the reorder buffer.
    pub(super) fn record_reception(&mut self, flight: &Flight, receiver: StationId, mark: Mark) {
        let Self { devices, stations, outbox, air, now, .. } = self;
        let sender = flight.transmitter;
        let payload = air.payload(sender).filter(|_| flight.is_payload_of(sender));
        let (edcaf, mpdus) = payload.map_or((0, 0), |payload| (payload.edcaf, payload.mpdus()));
        let pending = stations[sender.index()].pending(edcaf, Address::Station(receiver));
        let sent = || pending.into_iter().flat_map(|pending| pending.iter().take(mpdus));
        devices.delivered(outbox, mark, [sender, receiver], edcaf, sent());
        let block_ack = block_ack_of(stations, receiver, sender, edcaf);
        devices.keep_buffered(*now, block_ack, receiver, sent());
    }
}

impl Receivers<'_> {
    /// Records what the MPDUs of an A-MPDU from number `before` on delivered since `mark`, and which
    /// of them wait in the reorder buffer.
    pub(super) fn record_arrivals(&mut self, arrival: &Arrival, before: usize, mark: Mark) {
        let Self { devices, stations, outbox, now, .. } = self;
        let Arrival { sender, receiver, edcaf, originator, .. } = *arrival;
        let Some(access) = &stations[sender.index()].edcafs[edcaf] else { return };
        let pending = &access.originators[originator].pending;
        let end = arrival.rest().start.min(pending.len());
        let came = before.min(end)..end;
        let ends = [sender, receiver];
        devices.delivered(outbox, mark, ends, edcaf, pending.range(came.clone()));
        let block_ack = block_ack_of(stations, receiver, sender, edcaf);
        devices.keep_buffered(*now, block_ack, receiver, pending.range(came));
    }
}

/// The agreement under which `receiver` has what `sender` sends.
fn block_ack_of(
    stations: &[Station],
    receiver: StationId,
    sender: StationId,
    edcaf: usize,
) -> Option<&Recipient> {
    let recipients = &stations[receiver.index()].recipients;
    recipients.get(sender.index() * EDCAFS + edcaf)?.as_ref()?.block_ack.as_ref()
}

impl Devices {
    /// Adds packets that a link takes at `now`, and that each of `others` would have taken later.
    fn await_others(
        &mut self,
        now: Instant,
        edcaf: usize,
        others: &[Option<StationId>; LINKS_MAX],
        waits: &FirstInLine,
    ) {
        let record = &mut self.record;
        for &other in others.iter().flatten() {
            let place = (other, edcaf, waits.entry);
            let is_its = |it: &Awaited| (it.other, it.edcaf, it.entry) == place;
            let index = record.awaited.iter().rposition(is_its).unwrap_or_else(|| {
                record.awaited.push(Awaited {
                    other,
                    edcaf,
                    entry: waits.entry,
                    packets: 0,
                    eligible_nanos: 0,
                    begun_nanos: 0,
                    begun: now,
                    kept: Vec::new(),
                });
                record.awaited.len() - 1
            });
            let awaited = &mut record.awaited[index];
            awaited.packets += waits.packets;
            awaited.eligible_nanos += waits.eligible_nanos;
            awaited.begun_nanos += u128::from(now.as_nanos()) * u128::from(waits.packets);
            awaited.begun = now;
            let of_other = |choice| PacketLink { station: other, is_taken: false, ..choice };
            awaited.kept.extend(waits.kept.iter().copied().map(of_other));
        }
    }

    /// Settles the waits for links that would have gained their channel by `now`, at which an
    /// exchange of `station` begins.
    fn settle_awaited(
        &mut self,
        now: Instant,
        stations: &[Station],
        contention: &Contention,
        outbox: &mut Outbox,
        station: StationId,
        edcaf: usize,
    ) {
        let Self { record, places, .. } = self;
        let LinkRecord { awaited, flows, .. } = record;
        awaited.retain_mut(|it| {
            let gains = if (it.other, it.edcaf) == (station, edcaf) {
                Some(now)
            } else {
                let access = stations[it.other.index()].edcafs[it.edcaf].as_ref();
                access.and_then(|access| contention.would_gain(access.contender, it.begun))
            };
            let Some(at) = gains.filter(|at| *at <= now) else { return true };
            let place = places[it.other.index()].expect("it is a link of a device");
            let counted = &mut flows[it.entry].elsewhere[place.link];
            let nanos = u128::from(at.as_nanos()) * u128::from(it.packets);
            counted.packets += it.packets;
            counted.here += from_nanos(it.begun_nanos.saturating_sub(it.eligible_nanos));
            counted.there += from_nanos(nanos.saturating_sub(it.eligible_nanos));
            for choice in it.kept.drain(..) {
                let waited = choice.waited + at.saturating_since(choice.at);
                outbox.record(|| Event::Link(PacketLink { waited, ..choice }));
            }
            false
        });
    }
}

/// A time of whole nanoseconds.
fn from_nanos(nanos: u128) -> Duration {
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

/// Tag and fragment of a packet, which no other packet in a reorder buffer has.
fn key(packet: &Packet) -> (u64, u16) {
    (packet.tag, packet.fragment.header_bits())
}

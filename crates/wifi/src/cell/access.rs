//! From queues to frames: which station sends what when it gains the channel
//! (IEEE 802.11-2020, 10.23.2), and how packets become MPDUs and aggregates
//! (10.11, 10.12).

use super::outbox::Outbox;
use super::station::{
    Action, BEACON_EDCAF, Content, Edcaf, Exchange, Gate, Management, originator_of,
};
use super::{Cell, StationConfig, category_of};
use crate::capabilities::Capabilities;
use crate::event::Event;
use crate::mac::contention::ContenderId;
use crate::mac::mpdu::Msdus;
use crate::mac::originator::{Agreement, Originator};
use crate::mac::rate::{RateControl, RateSet};
use crate::mac::sizes;
use crate::phy::Rate;
use crate::station::{Address, StationId};
use alloc::vec::Vec;
use lasthop_packet::queue::{DriverLimit, PeerId};
use lasthop_packet::{DropReason, Packet};
use lasthop_units::{Duration, Identity, Instant};

/// What an EDCAF would send next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Work {
    Beacon,
    /// The frame at this place.
    Management(usize),
    BlockAckRequest(Address),
    Data(Address),
}

/// A-MPDUs for a peer that hardware has at a time, the one on the air included.
const HARDWARE_AMPDUS: usize = 2;

impl Cell {
    /// Whether the queue of `from` has room for the packet.
    pub(super) fn has_room(&mut self, from: StationId, packet: &Packet) -> bool {
        let edcaf = self.edcaf(from, packet.access_category.index());
        edcaf.queue.admits(packet, edcaf.held_below())
    }

    /// Whether the station began to contend because of the packet.
    pub(super) fn enqueue(&mut self, from: StationId, to: Address, packet: Packet) -> bool {
        let now = self.now;
        let category = packet.access_category.index();
        let recorded = self.outbox.records.then_some(Packet { arrived: now, ..packet });
        if self.stations[from.index()].edcafs[category].is_none() {
            self.make_edcaf(from, category);
        }
        let Self { stations, outbox: Outbox { dropped, .. }, .. } = self;
        let station = &mut stations[from.index()];
        let edcaf = station.edcafs[category].as_mut().expect("made above");
        let contender = edcaf.contender;
        let has_driver = edcaf.driver.is_used();
        edcaf.queue.enqueue(now, to.into(), packet, edcaf.held_below(), dropped);
        station.hold(now, 1, dropped.len() as u32);
        station.stats.queue_drops += dropped.len() as u64;
        let (band, slot) = (self.settings.band, self.settings.timing.slot);
        if station.config.adaptive_mtu.is_some()
            && let Some(mtu) = station.adaptive_mtu(to, band, slot)
        {
            mtu.handle_packet();
        }
        if let Some(packet) = recorded {
            let queue_packets = station.held_packets;
            self.outbox.events.push_back(Event::Queued {
                at: now,
                station: from,
                packet,
                queue_packets,
            });
        }
        self.outbox.lose_dropped(now, from, DropReason::QueueFull);
        if !self.dozing.is_empty() {
            self.trim_buffer(from, category, to);
        }
        if has_driver {
            self.fill_driver(from, category);
        }
        self.build_ahead(from, category, to);
        let begins = !self.contention.is_armed(contender) && self.arm(from, category);
        begins | (self.stations[from.index()].away.is_some() && self.wake_to_send(from))
    }

    pub(super) fn queue_beacon(&mut self) {
        self.expect_beacon();
        let access_point = self.settings.access_point;
        self.next_beacon = self.settings.beacon_interval.map(|interval| self.now + interval);
        let contender = self.edcaf(access_point, BEACON_EDCAF).contender;
        self.contention.arm(contender, self.now);
    }

    /// Lets the EDCAF contend if it has work and does not yet; whether it began to.
    pub(super) fn arm(&mut self, station: StationId, edcaf: usize) -> bool {
        let state = &self.stations[station.index()];
        let Some(access) = &state.edcafs[edcaf] else { return false };
        if self.contention.is_armed(access.contender)
            || state.exchange.as_ref().is_some_and(|exchange| exchange.edcaf == edcaf)
            || self.next_work(station, edcaf).is_none()
        {
            return false;
        }
        let now = self.now;
        let access = self.access(station, edcaf);
        access.contends_since = now;
        let contender = access.contender;
        if !self.contention.arm(contender, now) {
            self.draw_backoff(station, edcaf);
        }
        true
    }

    /// Draws a backoff from the contention window of `edcaf`.
    pub(super) fn draw_backoff(&mut self, station: StationId, edcaf: usize) {
        let access = self.access(station, edcaf);
        let slots = access.backoff.up_to(u32::from(access.contention_window));
        let contender = access.contender;
        self.contention.set_backoff(contender, slots);
    }

    /// What `edcaf` would send next, without side effect on its frames.
    pub(super) fn next_work(&mut self, station: StationId, edcaf: usize) -> Option<Work> {
        if edcaf == BEACON_EDCAF {
            return Some(Work::Beacon);
        }
        let access = self.stations[station.index()].edcafs[edcaf].as_mut()?;
        if let Some(index) = access.next_management() {
            return Some(Work::Management(index));
        }
        let peer = access.next_peer()?;
        let due = access
            .originator(peer)
            .is_some_and(|index| access.originators[index].block_ack_request_due);
        Some(if due { Work::BlockAckRequest(peer) } else { Work::Data(peer) })
    }

    /// Everyone in `winners` gains the channel now; of a station's categories
    /// the highest that has something to send after all.
    pub(super) fn start_exchanges(&mut self, winners: &[ContenderId]) {
        if let [winner] = winners {
            return self.win(*winner);
        }
        if winners.is_empty() {
            return;
        }
        for rank in (0..=BEACON_EDCAF).rev() {
            for &winner in winners {
                if usize::from(self.owners[usize::from(winner.0)].1) == rank {
                    self.win(winner);
                }
            }
        }
    }

    fn win(&mut self, winner: ContenderId) {
        let (station, edcaf) = self.owners[usize::from(winner.0)];
        let edcaf = usize::from(edcaf);
        if self.stations[station.index()].exchange.is_some() {
            // Internal collision: the lower category backs off as after
            // a collision on the air (10.23.2.4).
            self.widen(station, edcaf);
            self.draw_backoff(station, edcaf);
        } else {
            let limit = self.txop_limit(station, edcaf);
            self.start_exchange(station, edcaf, self.now + limit);
        }
    }

    fn txop_limit(&self, station: StationId, edcaf: usize) -> Duration {
        let access = &self.stations[station.index()].config.access;
        access.get(edcaf).map_or(Duration::ZERO, |access| access.txop_limit)
    }

    /// Doubles the contention window, or resets it after as many failures as
    /// the retry limit (10.23.2.2).
    pub(super) fn widen(&mut self, station: StationId, edcaf: usize) {
        let config = &self.stations[station.index()].config;
        let retry_limit = config.retry_limit;
        let Some(&access) = config.access.get(edcaf) else { return };
        let state = self.edcaf(station, edcaf);
        state.failures = state.failures.saturating_add(1);
        if state.failures >= retry_limit {
            state.failures = 0;
            state.contention_window = access.cw_min;
        } else {
            state.contention_window = (2 * state.contention_window + 1).min(access.cw_max);
        }
    }

    /// Builds what `edcaf` sends next; `None` if there is nothing after all
    /// (active queue management dropped it, or its lifetime was over).
    pub(super) fn build(
        &mut self,
        station: StationId,
        edcaf: usize,
        opportunity_end: Instant,
    ) -> Option<Exchange> {
        loop {
            match self.next_work(station, edcaf)? {
                Work::Beacon => return Some(self.build_beacon(opportunity_end)),
                Work::Management(index) => {
                    let access = self.edcaf(station, edcaf);
                    let frame = access.management.remove(index).expect("next_work saw it");
                    return Some(self.build_management(station, edcaf, frame, opportunity_end));
                }
                Work::BlockAckRequest(peer) => {
                    return Some(self.build_request(station, edcaf, peer, opportunity_end));
                }
                Work::Data(peer) => {
                    let exchange = self.build_data(station, edcaf, peer, opportunity_end);
                    if exchange.is_some() {
                        return exchange;
                    }
                }
            }
        }
    }

    fn build_beacon(&mut self, opportunity_end: Instant) -> Exchange {
        let rate = self.rates.lowest();
        let psdu_bytes = self.settings.beacon_bytes + self.announce_traffic();
        Exchange {
            edcaf: BEACON_EDCAF,
            peer: Address::Group,
            content: Content::Beacon,
            rate,
            psdu_bytes,
            duration: self.rates.ppdu_duration(rate, psdu_bytes),
            response: None,
            requesting: false,
            opportunity_end,
            collided: false,
        }
    }

    fn build_management(
        &mut self,
        station: StationId,
        edcaf: usize,
        frame: Management,
        opportunity_end: Instant,
    ) -> Exchange {
        let rate = self.rates.lowest();
        let psdu_bytes = match frame.action {
            Action::Null { .. } => sizes::NULL,
            Action::PsPoll => sizes::PS_POLL,
            Action::ProbeRequest => self.settings.probe_request_bytes,
            Action::ProbeResponse => self.settings.beacon_bytes - sizes::TIM,
            Action::AddbaRequest { .. } | Action::AddbaResponse { .. } => sizes::ADDBA,
        };
        let (peer, response) = match frame.action {
            Action::ProbeRequest => (Address::Group, None),
            _ => (Address::Station(frame.peer), Some(self.rates.response(rate, None))),
        };
        let requesting = matches!(frame.action, Action::Null { .. })
            && self.asks_before_null(station, frame.attempts);
        Exchange {
            edcaf,
            peer,
            content: Content::Management(frame),
            rate,
            psdu_bytes,
            duration: self.rates.ppdu_duration(rate, psdu_bytes),
            response,
            requesting,
            opportunity_end,
            collided: false,
        }
    }

    fn build_request(
        &mut self,
        station: StationId,
        edcaf: usize,
        peer: Address,
        opportunity_end: Instant,
    ) -> Exchange {
        let index = self.originator(station, edcaf, peer);
        let originator = &mut self.edcaf(station, edcaf).originators[index];
        let (start, window) = (originator.window_start(), originator.agreement.window());
        let window = window.expect("what is asked for was agreed");
        let data_rate = originator.rate_control.as_ref().map(RateControl::main_rate);
        let data_rate = data_rate.unwrap_or(self.settings.group_rate);
        let rate = self.rates.of(data_rate).response;
        Exchange {
            edcaf,
            peer,
            content: Content::BlockAckRequest { start },
            rate,
            psdu_bytes: sizes::BLOCK_ACK_REQUEST,
            duration: self.rates.ppdu_duration(rate, sizes::BLOCK_ACK_REQUEST),
            response: Some(self.rates.response(rate, Some(window))),
            requesting: false,
            opportunity_end,
            collided: false,
        }
    }

    fn build_data(
        &mut self,
        station: StationId,
        edcaf: usize,
        peer: Address,
        opportunity_end: Instant,
    ) -> Option<Exchange> {
        let now = self.now;
        let index = self.originator(station, edcaf, peer);
        if let Some(frame) = self.wanted_agreement(station, edcaf, index) {
            return Some(self.build_management(station, edcaf, frame, opportunity_end));
        }
        self.expire(station, edcaf, index);
        if self.access(station, edcaf).originators[index].pending.is_empty()
            && self.pull(station, edcaf, index).is_none()
        {
            self.access(station, edcaf).keep_turn(peer);
            return None;
        }
        let snr = match peer {
            Address::Station(to) => self.air.last_snr(station, to),
            Address::Group => self.air.last_snr(station, station),
        };
        let group_rate = self.settings.group_rate;
        let originator = &mut self.access(station, edcaf).originators[index];
        let (rate, single) = originator.choose_rate(now, snr).unwrap_or((group_rate, false));
        if self.outbox.records {
            self.record_rate(station, edcaf, index);
        }
        let config = &self.stations[station.index()].config;
        let aggregation = config.aggregation;
        let single_limit = config.access[edcaf].txop_limit;
        let access = self.access(station, edcaf);
        // A PS-Poll asks for a single frame.
        let asked_for = access.absent.is_dozing(peer);
        let originator = &access.originators[index];
        let agreed = originator.agreement.window();
        let (mut mpdus, mut psdu_bytes) = (1, u32::from(originator.pending[0].bytes));
        let bytes_max = aggregation.ampdu_bytes_max.min(originator.shared.ampdu_bytes_max);
        if let Some(window) = agreed
            && !asked_for
            && !single
            && psdu_bytes <= originator.shared.ampdu_mpdu_bytes_max
        {
            let mut duration_max = aggregation.ampdu_duration_max;
            if !single_limit.is_zero() {
                let block_ack = self.rates.response(rate, Some(window)).duration;
                let response = block_ack + self.settings.timing.sifs;
                let left = opportunity_end.saturating_since(now).saturating_sub(response);
                duration_max = duration_max.min(left);
            }
            let bytes_max = self.rates.psdu_within(rate, duration_max, bytes_max);
            let spacing_bytes = spacing_bytes(rate, aggregation.mpdu_start_spacing);
            let mut frames_max = usize::from(aggregation.ampdu_frames_max);
            if aggregation.built_ahead {
                let originator = &mut self.edcaf(station, edcaf).originators[index];
                frames_max = originator.take_built().map_or(frames_max, |n| n.min(frames_max));
            }
            let limits = (bytes_max, spacing_bytes, frames_max);
            (mpdus, psdu_bytes) = self.aggregate(station, edcaf, index, limits);
        }
        let aggregated = mpdus > 1;
        let response = match peer {
            Address::Group => None,
            Address::Station(_) => Some(self.rates.response(rate, agreed.filter(|_| aggregated))),
        };
        let rts_threshold = self.stations[station.index()].config.rts_threshold;
        Some(Exchange {
            edcaf,
            peer,
            content: Content::Data { mpdus, aggregated },
            rate,
            psdu_bytes,
            duration: self.rates.ppdu_duration(rate, psdu_bytes),
            response,
            requesting: response.is_some() && rts_threshold.is_some_and(|t| psdu_bytes >= t),
            opportunity_end,
            collided: false,
        })
    }

    /// Builds A-MPDUs from what waits, until the hardware has two for the peer.
    #[inline]
    pub(super) fn build_ahead(&mut self, station: StationId, edcaf: usize, peer: Address) {
        if self.stations[station.index()].config.aggregation.built_ahead {
            self.build_for_hardware(station, edcaf, peer);
        }
    }

    #[inline(never)]
    fn build_for_hardware(&mut self, station: StationId, edcaf: usize, peer: Address) {
        let aggregation = self.stations[station.index()].config.aggregation;
        if peer == Address::Group || self.edcaf(station, edcaf).absent.is_dozing(peer) {
            return;
        }
        let index = self.originator(station, edcaf, peer);
        let exchange = self.stations[station.index()].exchange.as_ref();
        let is_on_air = exchange.is_some_and(|e| {
            e.edcaf == edcaf && e.peer == peer && matches!(e.content, Content::Data { .. })
        });
        loop {
            let originator = &self.edcaf(station, edcaf).originators[index];
            let built = originator.number_built() + usize::from(is_on_air);
            if built >= HARDWARE_AMPDUS || originator.agreement.window().is_none() {
                return;
            }
            let rate = originator.rate_control.as_ref().map(RateControl::main_rate);
            let bytes_max = aggregation.ampdu_bytes_max.min(originator.shared.ampdu_bytes_max);
            let rate = rate.unwrap_or(self.settings.group_rate);
            let bytes_max = self.rates.psdu_within(rate, aggregation.ampdu_duration_max, bytes_max);
            let (mut mpdus, mut bytes) = (0, 0);
            while mpdus < usize::from(aggregation.ampdu_frames_max)
                && bytes < bytes_max
                && self.access(station, edcaf).originators[index].has_window()
                && let Some(mpdu_bytes) = self.pull(station, edcaf, index)
            {
                bytes += sizes::ampdu_subframe(mpdu_bytes, 0);
                mpdus += 1;
            }
            if mpdus == 0 {
                return;
            }
            self.edcaf(station, edcaf).originators[index].build(mpdus);
            // The queue may have nothing left for the peer.
            self.edcaf(station, edcaf).keep_turn(peer);
        }
    }

    /// How many pending MPDUs, filled up from the queue, fit into an A-MPDU,
    /// and its length; one MPDU goes without delimiter.
    fn aggregate(
        &mut self,
        station: StationId,
        edcaf: usize,
        index: usize,
        (bytes_max, spacing_bytes, frames_max): (u32, u32, usize),
    ) -> (usize, u32) {
        let (mut total, mut padded) = (0, 0);
        let mut count = 0;
        let originator = &self.access(station, edcaf).originators[index];
        let mpdu_bytes_max = originator.shared.ampdu_mpdu_bytes_max;
        let first = u32::from(originator.pending[0].bytes);
        while count < frames_max {
            let originator = &self.access(station, edcaf).originators[index];
            let bytes = match originator.pending.get(count) {
                Some(mpdu) => Some(u32::from(mpdu.bytes)),
                None if originator.has_window() => self.pull(station, edcaf, index),
                None => None,
            };
            let Some(bytes) = bytes else { break };
            // The last subframe is not padded (9.7.1).
            let with = padded + sizes::AMPDU_DELIMITER + bytes;
            if bytes > mpdu_bytes_max || with > bytes_max {
                break;
            }
            padded += sizes::ampdu_subframe(bytes, spacing_bytes);
            total = with;
            count += 1;
        }
        if count > 1 { (count, total) } else { (1, first) }
    }

    /// Takes the next packets for the peer of originator `index` as one MPDU, and
    /// returns its length; `None` if there are none.
    fn pull(&mut self, station: StationId, edcaf: usize, index: usize) -> Option<u32> {
        let now = self.now;
        let Self { stations, outbox: Outbox { dropped, .. }, .. } = self;
        let state = &mut stations[station.index()];
        let config = &state.config;
        let access = state.edcafs[edcaf].as_mut().expect("it is building a frame");
        let has_driver = access.driver.is_used();
        let peer = access.originators[index].peer;
        let mut expired = Vec::new();
        let first = loop {
            let taken = access.take(now, peer, dropped);
            match &taken {
                Some(packet) if is_expired(config, now, packet.arrived) => expired.push(*packet),
                _ => break taken,
            }
        };
        let mut pulled = None;
        // By reference: what is taken apart by value is copied.
        if let Some(first) = &first {
            let dequeued = access.dequeued;
            let amsdu_max = amsdu_bytes_max(config, &access.originators[index]);
            let msdus = if amsdu_max == 0 || peer == Address::Group {
                Msdus::One(*first)
            } else {
                access.join(now, peer, *first, amsdu_max, dropped)
            };
            let bytes = msdus.mpdu_bytes(config.capabilities.qos);
            let contends_since = access.contends_since;
            let more = access.originators[index].push(msdus, bytes, dequeued, contends_since);
            access.held.packets += more.packets;
            access.held.bytes += more.bytes;
            pulled = Some(bytes);
        }
        if !dropped.is_empty() || !expired.is_empty() {
            state.hold(now, 0, (dropped.len() + expired.len()) as u32);
            state.stats.queue_drops += dropped.len() as u64;
            self.outbox.lose_dropped(now, station, DropReason::ActiveQueue);
            for packet in expired {
                self.outbox.lose(now, station, packet, DropReason::Lifetime);
            }
        }
        if has_driver {
            self.fill_driver(station, edcaf);
        }
        pulled
    }

    /// Moves packets from the queue into the driver queue as far as it has room.
    #[inline]
    pub(super) fn fill_driver(&mut self, station: StationId, edcaf: usize) {
        let access = self.stations[station.index()].edcafs[edcaf].as_ref();
        if access.is_some_and(|access| access.driver.is_used() && access.gate == Gate::Open) {
            self.fill_used_driver(station, edcaf);
        }
    }

    #[inline(never)]
    fn fill_used_driver(&mut self, station: StationId, edcaf: usize) {
        let now = self.now;
        let mut dropped = core::mem::take(&mut self.outbox.dropped);
        loop {
            let access = self.edcaf(station, edcaf);
            // Packets in flight count against a limit in packets: the ring
            // slot is free when the frame is done.
            let driver = &access.driver;
            let absent = &access.absent;
            let room = |peer: PeerId| match driver.limit() {
                _ if absent.holds(peer.into()) => false,
                DriverLimit::None => false,
                DriverLimit::Packets(limit) => driver.len_packets() + access.held.packets < limit,
                DriverLimit::Airtime(_) => driver.has_room(peer),
            };
            let Some(peer) = access.queue.next_peer_where(room) else { break };
            let Some(packet) = access.queue.dequeue_for(now, peer, &mut dropped) else { continue };
            let airtime = match self.edcaf(station, edcaf).driver.limit() {
                DriverLimit::Airtime(_) => {
                    self.estimated_airtime(station, edcaf, peer.into(), &packet)
                }
                _ => Duration::ZERO,
            };
            self.edcaf(station, edcaf).driver.push(now, peer, packet, airtime);
        }
        if !dropped.is_empty() {
            let state = &mut self.stations[station.index()];
            state.hold(now, 0, dropped.len() as u32);
            state.stats.queue_drops += dropped.len() as u64;
        }
        self.outbox.dropped = dropped;
        self.outbox.lose_dropped(now, station, DropReason::ActiveQueue);
    }

    /// Air time of a packet at the main rate, overhead left out.
    fn estimated_airtime(
        &mut self,
        station: StationId,
        edcaf: usize,
        peer: Address,
        packet: &Packet,
    ) -> Duration {
        let index = self.originator(station, edcaf, peer);
        let originator = &self.edcaf(station, edcaf).originators[index];
        let rate = originator.rate_control.as_ref().map(RateControl::main_rate);
        let rate = rate.unwrap_or(self.settings.group_rate);
        let bits = u64::from(sizes::mpdu(u32::from(packet.bytes), true)) * 8_000_000_000;
        Duration::from_nanos(bits / rate.bitrate().as_bps())
    }

    /// Gives up the pending MPDUs whose lifetime is over.
    fn expire(&mut self, station: StationId, edcaf: usize, index: usize) {
        let now = self.now;
        let state = &mut self.stations[station.index()];
        if state.config.msdu_lifetime.is_none() {
            return;
        }
        let config = &state.config;
        let access = state.edcafs[edcaf].as_mut().expect("it is building a frame");
        let before = access.originators[index].held();
        let peer = access.originators[index].peer;
        let mut expired = Vec::new();
        let mut mpdus = 0;
        access.originators[index].expire(
            |arrived| is_expired(config, now, arrived),
            &mut self.outbox.released,
            |mpdu| {
                mpdus += 1;
                if !mpdu.taken {
                    expired.extend_from_slice(mpdu.msdus.packets());
                }
            },
        );
        let after = access.originators[index].held();
        access.held.packets -= before.packets - after.packets;
        access.held.bytes = access.held.bytes - (before.bytes - after.bytes);
        state.hold(now, 0, before.packets - after.packets);
        state.link_stats(peer).mpdus_lost += mpdus;
        for packet in expired {
            self.outbox.drop_packet(now, station, packet, DropReason::Lifetime);
        }
    }

    /// Index of the originator towards `peer`, made when first used.
    pub(super) fn originator(&mut self, station: StationId, edcaf: usize, peer: Address) -> usize {
        if let Some(index) = self.edcaf(station, edcaf).originator(peer) {
            return index;
        }
        let (shared, rate_control) = match peer {
            Address::Group => (Capabilities::default(), None),
            Address::Station(to) => {
                let [here, there] = [station, to].map(|s| &self.stations[s.index()].config);
                let shared = here.capabilities.shared_with(&there.capabilities);
                let rates = RateSet::new(shared.rates.iter().copied());
                let pair = here.identity.to(there.identity);
                let identity = pair.to(Identity::numbered(edcaf as u64));
                let stream = self.settings.seed.stream_of("cell/rate-control", identity);
                let error_model = self.air.error_model();
                let control = RateControl::new(&here.rate_control, &rates, error_model, stream);
                (shared, Some(control))
            }
        };
        let low_rate_retry = self.stations[station.index()].config.low_rate_retry;
        let originator = Originator::new(peer, shared, rate_control, low_rate_retry);
        self.edcaf(station, edcaf).add_originator(originator)
    }

    /// The ADDBA Request that must go out before data can be aggregated.
    fn wanted_agreement(
        &mut self,
        station: StationId,
        edcaf: usize,
        index: usize,
    ) -> Option<Management> {
        let now = self.now;
        let config = &self.stations[station.index()].config;
        let aggregates =
            config.aggregation.ampdu_bytes_max > 0 && config.aggregation.ampdu_frames_max > 1;
        let window = config.block_ack.window;
        let originator = &self.edcaf(station, edcaf).originators[index];
        let window = window.min(originator.shared.block_ack_window_max);
        let Address::Station(peer) = originator.peer else { return None };
        if self.edcaf(station, edcaf).absent.dozing.contains(&peer) {
            return None;
        }
        let originator = &self.edcaf(station, edcaf).originators[index];
        let asks = match originator.agreement {
            Agreement::None => true,
            Agreement::Failed { until } => now >= until,
            Agreement::Requested | Agreement::Established { .. } => false,
        };
        if !aggregates || !asks || window == 0 {
            return None;
        }
        let originator = &mut self.edcaf(station, edcaf).originators[index];
        // What was sent without agreement is settled first.
        if !originator.pending.is_empty() {
            return None;
        }
        originator.agreement = Agreement::Requested;
        let start = originator.next_sequence();
        let action = Action::AddbaRequest { window, start };
        Some(Management { peer, action, attempts: 0, sequence: start })
    }
}

impl Edcaf {
    /// Whom to send to next.
    fn next_peer(&mut self) -> Option<Address> {
        match self.gate {
            Gate::Open => {}
            Gate::Draining if self.driver.is_used() => {}
            Gate::Draining => return self.waiting(),
            Gate::Shut => return None,
        }
        if self.queue.schedules_airtime() && !self.driver.is_used() {
            let Self { queue, originators, index, absent, .. } = self;
            let next = queue.next_peer_where(|peer| {
                let peer = Address::from(peer);
                !absent.holds(peer)
                    && originator_of(originators, index, peer).is_none_or(|originator| {
                        originator.agreement != Agreement::Requested
                            && (originator.is_waiting() || originator.has_window())
                    })
            });
            return next.map(Address::from);
        }
        match (self.waiting(), self.fresh()) {
            // Peers with something to repeat and peers with new packets take turns.
            (Some(waiting), Some(fresh)) if self.last_served == Some(waiting) => Some(fresh),
            (Some(waiting), _) => Some(waiting),
            (None, fresh) => fresh,
        }
    }

    /// Tells the queue whether `peer` has something to be repeated. Above a
    /// driver queue the turns are about who fills it, so only packets count.
    pub(super) fn keep_turn(&mut self, peer: Address) {
        if !self.driver.is_used()
            && let Some(index) = self.originator(peer)
        {
            self.queue.set_waiting(peer.into(), self.originators[index].is_waiting());
        }
    }

    /// A peer with MPDUs to repeat or a Block Ack Request due, after the one
    /// served last in turn.
    fn waiting(&self) -> Option<Address> {
        if self.held.packets == 0 && !self.originators.iter().any(|o| o.block_ack_request_due) {
            return None;
        }
        let waits = |o: &&Originator| {
            o.agreement != Agreement::Requested && o.is_waiting() && !self.absent.holds(o.peer)
        };
        let last = self.last_served.and_then(|peer| self.originator(peer));
        let (before, after) = self.originators.split_at(last.map_or(0, |index| index + 1));
        let next = after.iter().find(waits).or_else(|| before.iter().find(waits));
        next.map(|originator| originator.peer)
    }

    /// The peer of the next new packet.
    fn fresh(&mut self) -> Option<Address> {
        if self.driver.is_used() {
            let next = self.driver.next_peer_where(|peer| self.may_send(peer.into()));
            return next.map(Address::from);
        }
        let Self { queue, originators, index, absent, .. } = self;
        let next = queue.next_peer_where(|peer| {
            let peer = Address::from(peer);
            !absent.holds(peer)
                && originator_of(originators, index, peer).is_none_or(|originator| {
                    originator.agreement != Agreement::Requested && originator.has_window()
                })
        });
        next.map(Address::from)
    }

    /// The next management frame that may be sent now.
    fn next_management(&self) -> Option<usize> {
        self.management.iter().position(|frame| match frame.action {
            action if action.is_about_absence() => true,
            // Data of the other side waits for the answer.
            Action::AddbaResponse { .. } => !self.absent.dozing.contains(&frame.peer),
            _ => self.gate != Gate::Shut && !self.absent.dozing.contains(&frame.peer),
        })
    }

    fn take(&mut self, now: Instant, peer: Address, dropped: &mut Vec<Packet>) -> Option<Packet> {
        if self.driver.is_used() {
            self.dequeued = self.driver.since(peer.into()).unwrap_or(now);
            return self.driver.pop(peer.into());
        }
        self.dequeued = now;
        match self.gate {
            Gate::Open => self.queue.dequeue_for(now, peer.into(), dropped),
            _ => None,
        }
    }

    /// An MPDU of `first` and what follows it for `peer`, as far as an A-MSDU of at
    /// most `amsdu_max` bytes takes it.
    // Most networks send no A-MSDUs, and where this is inlined every MPDU takes longer.
    #[inline(never)]
    fn join(
        &mut self,
        now: Instant,
        peer: Address,
        first: Packet,
        amsdu_max: u32,
        dropped: &mut Vec<Packet>,
    ) -> Msdus {
        let mut subframes = sizes::amsdu_subframe(u32::from(first.bytes));
        if subframes > amsdu_max {
            return Msdus::One(first);
        }
        let mut packets = alloc::vec![first];
        while let Some(bytes) = self.peek(peer) {
            let longer = sizes::padded(subframes) + sizes::amsdu_subframe(u32::from(bytes));
            if longer > amsdu_max {
                break;
            }
            let Some(packet) = self.take(now, peer, dropped) else { break };
            let longer = sizes::padded(subframes) + sizes::amsdu_subframe(u32::from(packet.bytes));
            if longer > amsdu_max {
                // Queue management dropped the one that was announced.
                self.put_back(peer, packet);
                break;
            }
            subframes = longer;
            packets.push(packet);
        }
        if packets.len() == 1 { Msdus::One(first) } else { Msdus::Aggregate(packets.into()) }
    }

    fn peek(&mut self, peer: Address) -> Option<u16> {
        match self.driver.is_used() {
            true => self.driver.peek_len_for(peer.into()),
            false if self.gate == Gate::Open => self.queue.peek_len_for(peer.into()),
            false => None,
        }
    }

    /// Undoes [`Self::take`] from the upper queue; a driver queue announces
    /// what it gives, so nothing ever goes back into it.
    fn put_back(&mut self, peer: Address, packet: Packet) {
        debug_assert!(!self.driver.is_used());
        self.queue.put_back(peer.into(), packet);
    }
}

fn is_expired(config: &StationConfig, now: Instant, arrived: Instant) -> bool {
    config.msdu_lifetime.is_some_and(|lifetime| now.saturating_since(arrived) > lifetime)
}

/// Least length of an A-MPDU subframe at `rate`.
pub(super) fn spacing_bytes(rate: Rate, spacing: Duration) -> u32 {
    (rate.bitrate().as_bps() * spacing.as_nanos()).div_ceil(8_000_000_000) as u32
}

/// An A-MSDU that goes in an A-MPDU is no longer than its MPDU may be, less what is around it.
fn amsdu_bytes_max(config: &StationConfig, originator: &Originator) -> u32 {
    let max = u32::from(config.aggregation.amsdu_bytes_max);
    match originator.agreement {
        Agreement::Established { .. } => {
            let mpdu_max = originator.shared.ampdu_mpdu_bytes_max;
            max.min(mpdu_max.saturating_sub(sizes::QOS_DATA_HEADER + sizes::FCS))
        }
        _ => max,
    }
}

/// Everything but beacons belongs to an access category.
pub(super) fn tid_of(edcaf: usize) -> u8 {
    category_of(edcaf).tid()
}

//! Frames of a station's EDCAF that has gained the channel: how packets become MPDUs and aggregates
//! (IEEE 802.11-2020, 10.11 to 10.13 and 10.25).
//!
//! Lengths are in bytes, FCS included. Other modules cover channel access (`access`), the exchange
//! (`exchange`), and its outcome (`settle`).

use super::edcaf::{Edcaf, Gate, Work};
use super::exchange::content::Exchange;
use super::exchange::single::Single;
use super::hardware::Turn;
use super::outbox::Outbox;
use super::power::{Away, ServicePeriod};
use super::station::Station;
use super::{Aggregation, Settings, StationConfig};
use crate::air::{Action, Air, Content, Management, Rates, alone, spacing_bytes};
use crate::capabilities::Capabilities;
use crate::event::Event;
use crate::mac::mpdu::Msdus;
use crate::mac::originator::{Agreement, Originator};
use crate::mac::rate::{RateControl, RateSet};
use crate::mac::sizes;
use crate::phy::Rate;
use crate::station::{Address, StationId};
use alloc::vec::Vec;
use lasthop_packet::queue::{DriverLimit, PacketRun, PeerId};
use lasthop_packet::{DropReason, Packet};
use lasthop_units::{Duration, Identity, Instant, Stream};

/// Context of a station's procedures: the parts of the cell that they use.
pub(super) struct Context<'a> {
    pub now: Instant,
    pub settings: &'a Settings,
    pub rates: &'a mut Rates,
    pub outbox: &'a mut Outbox,
    /// Service periods in progress.
    pub services: &'a mut [ServicePeriod],
}

impl Station {
    /// An EDCAF that was used before.
    #[inline]
    pub fn edcaf(&mut self, edcaf: usize) -> &mut Edcaf {
        self.edcafs[edcaf].as_mut().expect("whoever has something to send has been asked to")
    }

    /// Queues a packet in its access category, to be sent to `to`.
    #[inline]
    pub fn enqueue(&mut self, cx: &mut Context<'_>, to: Address, packet: Packet) {
        let now = cx.now;
        let category = packet.access_category.index();
        let dropped = &mut cx.outbox.dropped;
        let edcaf = self.edcaf(category);
        edcaf.queue.enqueue_copy(now, to.into(), &packet, edcaf.held_below(), dropped);
        let number_dropped = dropped.len();
        self.hold(now, 1, number_dropped as u32);
        self.stats.queue_drops += number_dropped as u64;
        let (band, slot) = (cx.settings.band, cx.settings.timing.slot);
        if self.config.adaptive_mtu.is_some()
            && let Some(mtu) = self.adaptive_mtu(to, band, slot)
        {
            mtu.handle_packet();
        }
        cx.outbox.record(|| Event::Queued {
            at: now,
            station: self.id,
            packet: Packet { arrived: now, ..packet },
            queue_packets: self.held_packets,
        });
        cx.outbox.lose_dropped(now, self.id, DropReason::QueueFull);
    }

    /// Queues up to `count` packets with tags that count up, until the queue is full; returns their
    /// number.
    pub fn queue_up(
        &mut self,
        cx: &mut Context<'_>,
        to: Address,
        packet: &mut Packet,
        count: u32,
        taken: impl FnMut(&Packet),
    ) -> u32 {
        if cx.outbox.records {
            return self.queue_up_recorded(cx, to, packet, count, taken);
        }
        let now = cx.now;
        let dropped = &mut cx.outbox.dropped;
        let edcaf = self.edcaf(packet.access_category.index());
        let held = edcaf.held_below();
        let run = PacketRun { packet, count };
        let number = edcaf.queue.offer_run(now, to.into(), run, held, dropped, taken);
        let number_dropped = dropped.len();
        self.hold(now, number, number_dropped as u32);
        self.stats.queue_drops += number_dropped as u64;
        cx.outbox.lose_dropped(now, self.id, DropReason::QueueFull);
        number
    }

    /// Does the same with an event for each packet.
    #[inline(never)]
    fn queue_up_recorded(
        &mut self,
        cx: &mut Context<'_>,
        to: Address,
        packet: &mut Packet,
        count: u32,
        mut taken: impl FnMut(&Packet),
    ) -> u32 {
        let category = packet.access_category.index();
        let mut number = 0;
        while number < count {
            let edcaf = self.edcaf(category);
            if !edcaf.queue.admits_for(to.into(), packet, edcaf.held_below()) {
                break;
            }
            self.enqueue(cx, to, *packet);
            taken(packet);
            (packet.tag, number) = (packet.tag + 1, number + 1);
        }
        number
    }

    /// Builds the next transmission of `edcaf`; `None` if there is no frame after all (active queue
    /// management dropped it, or its lifetime was over).
    pub fn build(
        &mut self,
        cx: &mut Context<'_>,
        air: &Air,
        edcaf: usize,
        opportunity_end: Instant,
    ) -> Option<Exchange> {
        loop {
            match self.edcafs[edcaf].as_mut()?.next_work()? {
                Work::Management(index) => {
                    let frame = self.edcaf(edcaf).management.remove(index);
                    let frame = frame.expect("next_work saw it");
                    let frame = self.build_management(cx, edcaf, frame, opportunity_end);
                    return Some(Exchange::Single(frame));
                }
                Work::BlockAckRequest(peer) => {
                    if self.edcaf(edcaf).hardware.mpdus_for(peer) == 0 {
                        self.edcaf(edcaf).take_turn(peer);
                    }
                    let request = self.build_request(cx, edcaf, peer, opportunity_end);
                    return Some(Exchange::Single(request));
                }
                Work::Data(peer) => {
                    if self.config.ofdma.is_some() || self.config.mu_mimo.is_some() {
                        let several = self.build_several(cx, air, edcaf, peer, opportunity_end);
                        if several.is_some() {
                            return several;
                        }
                    }
                    let data = self.build_data(cx, air, edcaf, peer, opportunity_end);
                    if data.is_some() {
                        return data.map(Exchange::Single);
                    }
                }
            }
        }
    }

    /// Builds a transmission to several stations, or the request that has to precede it.
    #[inline(never)]
    fn build_several(
        &mut self,
        cx: &mut Context<'_>,
        air: &Air,
        edcaf: usize,
        peer: Address,
        opportunity_end: Instant,
    ) -> Option<Exchange> {
        if self.config.ofdma.is_none() && self.width_of_several().is_none() {
            return None;
        }
        if let Some(peer) = self.edcaf(edcaf).request_passed_over() {
            let request = self.build_request(cx, edcaf, peer, opportunity_end);
            return Some(Exchange::Single(request));
        }
        match self.build_spatial(cx, air, edcaf, peer, opportunity_end) {
            None => self.build_multi_user(cx, air, edcaf, peer, opportunity_end),
            several => several,
        }
    }

    fn build_management(
        &mut self,
        cx: &mut Context<'_>,
        edcaf: usize,
        frame: Management,
        opportunity_end: Instant,
    ) -> Single {
        let rate = self.management_rate(cx, edcaf, frame.peer);
        let bss = &cx.settings.bss[self.config.bss.index()];
        let psdu_bytes = match frame.action {
            Action::Null { .. } => sizes::NULL,
            Action::PsPoll => sizes::PS_POLL,
            Action::Trigger | Action::EndOfServicePeriod => sizes::QOS_NULL,
            Action::ProbeRequest => bss.probe_request_bytes,
            Action::ProbeResponse => bss.beacon_bytes - sizes::TIM,
            Action::AddbaRequest { window, .. } | Action::AddbaResponse { window } => {
                sizes::addba(window)
            }
            Action::OperatingMode(_) if self.says_by_control(cx.settings, frame.peer) => {
                sizes::QOS_NULL + sizes::HT_CONTROL
            }
            Action::OperatingMode(_) => sizes::OPERATING_MODE_NOTIFICATION,
            Action::Roam { octets, .. } => octets.into(),
        };
        let psdu_bytes = alone(rate, psdu_bytes);
        let (peer, response) = match frame.action {
            Action::ProbeRequest => (Address::Group, None),
            _ => (Address::Station(frame.peer), Some(cx.rates.response(rate, None))),
        };
        let requesting = matches!(frame.action, Action::Null { .. })
            && self.away.as_ref().is_some_and(|away| away.asks_before_null(frame.attempts));
        Single {
            edcaf,
            peer,
            content: Content::Management(frame),
            rate,
            psdu_bytes,
            duration: cx.rates.ppdu_duration(rate, psdu_bytes),
            response,
            requesting,
            opportunity_end,
            collided: false,
            ends_service: frame.action == Action::EndOfServicePeriod,
            more_data: None,
        }
    }

    /// The rate of a management frame: the lowest one; for a peer that receives extended range,
    /// that of its data.
    fn management_rate(&mut self, cx: &mut Context<'_>, edcaf: usize, peer: StationId) -> Rate {
        let lowest = cx.rates.lowest();
        if !self.config.capabilities.has_extended_range() {
            return lowest;
        }
        let index = self.originator(cx.settings, edcaf, Address::Station(peer));
        let control = self.edcaf(edcaf).originators[index].rate_control.as_ref();
        match control.map(RateControl::main_rate) {
            Some(rate) if rate.is_extended_range() => cx.rates.facts(rate).response,
            _ => lowest,
        }
    }

    pub fn build_request(
        &mut self,
        cx: &mut Context<'_>,
        edcaf: usize,
        peer: Address,
        opportunity_end: Instant,
    ) -> Single {
        let index = self.originator(cx.settings, edcaf, peer);
        let originator = &mut self.edcaf(edcaf).originators[index];
        let (start, window) = (originator.window_start(), originator.agreement.window());
        let window = window.expect("what is asked for was agreed");
        let data_rate = originator.rate_control.as_ref().map(RateControl::main_rate);
        let data_rate = data_rate.unwrap_or(cx.settings.group_rate);
        let rate = cx.rates.facts(data_rate).response;
        let psdu_bytes = alone(rate, sizes::BLOCK_ACK_REQUEST);
        Single {
            edcaf,
            peer,
            content: Content::BlockAckRequest { start },
            rate,
            psdu_bytes,
            duration: cx.rates.ppdu_duration(rate, psdu_bytes),
            response: Some(cx.rates.response(rate, Some(window))),
            requesting: false,
            opportunity_end,
            collided: false,
            ends_service: false,
            more_data: None,
        }
    }

    pub fn build_data(
        &mut self,
        cx: &mut Context<'_>,
        air: &Air,
        edcaf: usize,
        peer: Address,
        opportunity_end: Instant,
    ) -> Option<Single> {
        let now = cx.now;
        let index = self.originator(cx.settings, edcaf, peer);
        let mut mpdus_max = self.mpdus_for(cx, edcaf, peer);
        if mpdus_max > 0
            && let Some(frame) = self.wanted_agreement(cx, edcaf, index)
        {
            self.edcaf(edcaf).take_turn(peer);
            return Some(self.build_management(cx, edcaf, frame, opportunity_end));
        }
        if self.expire(cx, edcaf, index) {
            mpdus_max = self.mpdus_for(cx, edcaf, peer);
        }
        if mpdus_max == 0
            || self.edcaf(edcaf).originators[index].pending.is_empty()
                && self.pull(cx, edcaf, index, u32::MAX).is_none()
        {
            self.edcaf(edcaf).take_turn(peer);
            self.edcaf(edcaf).keep_turn(peer);
            return None;
        }
        let snr = match peer {
            Address::Station(to) => air.last_snr(self.id, to),
            Address::Group => air.last_snr(self.id, self.id),
        };
        let originator = &mut self.edcaf(edcaf).originators[index];
        let chosen = originator.choose_rate(now, snr);
        let (mut rate, single) = chosen.unwrap_or((cx.settings.group_rate, false));
        if rate.width() > self.width_max {
            rate = self.narrowed(rate, self.width_max);
        }
        self.record_rate(cx, edcaf, index);
        let rts_threshold = self.config.rts_threshold;
        let built = self.edcaf(edcaf).take_turn(peer);
        let originator = &mut self.edcaf(edcaf).originators[index];
        let agreed = originator.agreement.window();
        let (mut mpdus, mut psdu_bytes) = (1, u32::from(originator.pending[0].bytes));
        if agreed.is_some()
            && mpdus_max > 1
            && !single
            && rate.may_aggregate()
            && psdu_bytes <= originator.shared.ampdu_mpdu_bytes_max
        {
            let is_dozing = self.edcaf(edcaf).absent.is_dozing(peer);
            let mut limits = self.ampdu_limits(cx, edcaf, index, rate, opportunity_end);
            limits.frames_max = limits.frames_max.min(mpdus_max);
            if let Some(built) = built {
                limits.frames_max = built.min(limits.frames_max);
            }
            // An A-MSDU that does not fit any more waits for the next PPDU in HT, as where
            // drivers make them; in VHT and HE it is made to fit.
            let fill = rate.always_aggregates();
            (mpdus, psdu_bytes) = self.aggregate(cx, edcaf, index, 0, limits, fill);
            if is_dozing && mpdus > 1 {
                let spacing_bytes = limits.spacing_bytes;
                (mpdus, psdu_bytes) =
                    self.without_last(edcaf, index, mpdus, psdu_bytes, spacing_bytes);
            }
        } else if let Some(rest @ 1..) = built.map(|built| built.saturating_sub(1)) {
            self.edcaf(edcaf).hardware.push_first(Turn { peer, mpdus: rest });
        }
        let aggregated = mpdus > 1;
        if !aggregated && rate.always_aggregates() {
            psdu_bytes += sizes::AMPDU_DELIMITER;
        }
        let response = match peer {
            Address::Group => None,
            Address::Station(_) => Some(cx.rates.response(rate, agreed.filter(|_| aggregated))),
        };
        let padding = self.edcaf(edcaf).originators[index].shared.packet_padding;
        Some(Single {
            edcaf,
            peer,
            content: Content::Data { mpdus, aggregated },
            rate,
            psdu_bytes,
            duration: cx.rates.padded_ppdu_duration(rate, psdu_bytes, padding),
            response,
            requesting: response.is_some() && rts_threshold.is_some_and(|t| psdu_bytes >= t),
            opportunity_end,
            collided: false,
            ends_service: false,
            more_data: None,
        })
    }

    /// Limits of an A-MPDU to a peer at `rate`, in a transmission opportunity that ends at
    /// `opportunity_end` if opportunities are limited.
    #[inline]
    pub fn ampdu_limits(
        &self,
        cx: &mut Context<'_>,
        edcaf: usize,
        index: usize,
        rate: Rate,
        opportunity_end: Instant,
    ) -> AmpduLimits {
        let now = cx.now;
        let aggregation = self.config.aggregation;
        let txop_limit = self.config.access[edcaf].txop_limit;
        let access = self.edcafs[edcaf].as_ref().expect("it is building a frame");
        let originator = &access.originators[index];
        let window = originator.agreement.window();
        let mut duration_max = aggregation.ampdu_duration_max;
        if !txop_limit.is_zero() {
            let block_ack = cx.rates.response(rate, window).duration;
            let response = block_ack + cx.settings.timing.sifs;
            let left = opportunity_end.saturating_since(now).saturating_sub(response);
            duration_max = duration_max.min(left);
        }
        let bytes_max = aggregation.ampdu_bytes_max.min(originator.shared.ampdu_bytes_max);
        let padding = originator.shared.packet_padding;
        let mut bytes_max = cx.rates.psdu_within(rate, duration_max, bytes_max, padding);
        // RTS and CTS are sent at the opportunity's start, ahead of what is as long as that.
        if let Some(threshold) = self.config.rts_threshold
            && !txop_limit.is_zero()
            && opportunity_end == now + txop_limit
            && threshold <= bytes_max
        {
            let sifs = cx.settings.timing.sifs;
            let left = txop_limit
                .saturating_sub(cx.rates.response(rate, window).duration + sifs)
                .saturating_sub(cx.rates.protection(rate) + sifs * 2);
            let with = cx.rates.psdu_within(rate, left.min(duration_max), bytes_max, padding);
            bytes_max = with.max(threshold.saturating_sub(1));
        }
        let spacing_bytes = spacing_bytes(rate, aggregation.mpdu_start_spacing);
        let frames_max = if rate.may_aggregate() { aggregation.ampdu_frames_max.into() } else { 1 };
        AmpduLimits { bytes_max, spacing_bytes, frames_max }
    }

    /// Narrows the payload after a CTS that was narrower than its RTS, within the duration
    /// announced by the RTS; only a single MPDU may exceed it.
    pub fn narrow_payload(&mut self, cx: &mut Context<'_>) {
        let Some(mut exchange) = self.exchange.take() else { return };
        if let Exchange::Single(single) = &mut exchange
            && single.rate.width() > self.width_max
        {
            self.narrow(cx, single);
        }
        self.exchange = Some(exchange);
    }

    /// Narrows an exchange that was built and not sent to the permitted width. The exchange keeps
    /// the MPDUs that fit into the same duration, at least one.
    fn narrow(&mut self, cx: &mut Context<'_>, exchange: &mut Single) {
        let Content::Data { mpdus, .. } = exchange.content else { return };
        let rate = self.narrowed(exchange.rate, self.width_max);
        let spacing_bytes = spacing_bytes(rate, self.config.aggregation.mpdu_start_spacing);
        let access = self.edcaf(exchange.edcaf);
        let Some(index) = access.originator(exchange.peer) else { return };
        let originator = &access.originators[index];
        let padding = originator.shared.packet_padding;
        let (duration_max, bytes_max) = (exchange.duration, exchange.psdu_bytes);
        let bytes_max = cx.rates.psdu_within(rate, duration_max, bytes_max, padding);
        let (mut count, mut total, mut padded) = (0, 0, 0);
        for mpdu in originator.pending.iter().take(mpdus) {
            let bytes = u32::from(mpdu.bytes);
            let with = padded + sizes::AMPDU_DELIMITER + bytes;
            if with > bytes_max {
                break;
            }
            padded += sizes::ampdu_subframe(bytes, spacing_bytes);
            (count, total) = (count + 1, with);
        }
        let aggregated = count > 1;
        if !aggregated {
            let alone = originator.pending.front().map_or(0, |mpdu| u32::from(mpdu.bytes));
            let delimiter = if rate.always_aggregates() { sizes::AMPDU_DELIMITER } else { 0 };
            (count, total) = (1, alone + delimiter);
        }
        let window = originator.agreement.window().filter(|_| aggregated);
        exchange.content = Content::Data { mpdus: count, aggregated };
        exchange.rate = rate;
        exchange.psdu_bytes = total;
        exchange.duration = cx.rates.padded_ppdu_duration(rate, total, padding);
        exchange.response = Some(cx.rates.response(rate, window));
    }

    /// Returns how many pending MPDUs from `place` on, with more from the queue, fit into an
    /// A-MPDU, and its length; for one MPDU the length has no delimiter.
    pub fn aggregate(
        &mut self,
        cx: &mut Context<'_>,
        edcaf: usize,
        index: usize,
        place: usize,
        limits: AmpduLimits,
        fill: bool,
    ) -> (usize, u32) {
        let originator = &self.edcaf(edcaf).originators[index];
        let first = u32::from(originator.pending[place].bytes);
        let mpdu_bytes_max = originator.shared.ampdu_mpdu_bytes_max;
        let AmpduLimits { bytes_max, frames_max, .. } = limits;
        let mut fill_level = Filled { limits, mpdu_bytes_max, count: 0, bytes: 0, padded: 0 };
        let mut waiting = originator.pending.range(place..).take(frames_max);
        if !waiting.all(|mpdu| fill_level.add(u32::from(mpdu.bytes))) {
            return fill_level.or_one(first);
        }
        let access = self.edcafs[edcaf].as_mut().expect("it is building a frame");
        if access.takes_singly(index, &self.config) {
            let left = frames_max.saturating_sub(fill_level.count);
            access.take_run(cx.now, index, left, &mut cx.outbox.dropped, |bytes| {
                fill_level.add(bytes)
            });
            if !cx.outbox.dropped.is_empty() {
                self.drop_dequeued(cx);
            }
            return fill_level.or_one(first);
        }
        while fill_level.count < frames_max && self.edcaf(edcaf).originators[index].has_window() {
            let left = bytes_max.saturating_sub(fill_level.padded + sizes::AMPDU_DELIMITER);
            let pulled = self.pull_any(cx, edcaf, index, if fill { left } else { u32::MAX });
            if !pulled.is_some_and(|bytes| fill_level.add(bytes)) {
                break;
            }
        }
        fill_level.or_one(first)
    }

    /// Takes the next packets for the peer of originator `index` as one MPDU, with an A-MSDU of at
    /// most `mpdu_max`, and returns its length; `None` if there are no packets.
    pub fn pull(
        &mut self,
        cx: &mut Context<'_>,
        edcaf: usize,
        index: usize,
        mpdu_max: u32,
    ) -> Option<u32> {
        let access = self.edcafs[edcaf].as_mut().expect("it is building a frame");
        if !access.takes_singly(index, &self.config) {
            return self.pull_any(cx, edcaf, index, mpdu_max);
        }
        let pulled = access.take_one(cx.now, index, &mut cx.outbox.dropped);
        if !cx.outbox.dropped.is_empty() {
            self.drop_dequeued(cx);
        }
        pulled
    }

    /// Gives up packets that the queue dropped on dequeue.
    #[cold]
    fn drop_dequeued(&mut self, cx: &mut Context<'_>) {
        let number_dropped = cx.outbox.dropped.len();
        self.hold(cx.now, 0, number_dropped as u32);
        self.stats.queue_drops += number_dropped as u64;
        cx.outbox.lose_dropped(cx.now, self.id, DropReason::ActiveQueue);
    }

    /// Does what [`Self::pull`] does, also with a driver queue, a lifetime, or an A-MSDU.
    #[inline(never)]
    fn pull_any(
        &mut self,
        cx: &mut Context<'_>,
        edcaf: usize,
        index: usize,
        mpdu_max: u32,
    ) -> Option<u32> {
        let now = cx.now;
        let dropped = &mut cx.outbox.dropped;
        let config = &self.config;
        let access = self.edcafs[edcaf].as_mut().expect("it is building a frame");
        // What does not fit by itself stays in the queue.
        let peer = access.originators[index].peer;
        let encryption = config.capabilities.encryption.bytes();
        let around = sizes::mpdu(0, true) + encryption;
        if access.peek(peer).is_some_and(|bytes| u32::from(bytes) + around > mpdu_max) {
            return None;
        }
        let mpdu_max = match config.aggregation.amsdu_bytes_max {
            0 => mpdu_max,
            _ => {
                let limit = config.access[edcaf].txop_limit;
                let sifs = cx.settings.timing.sifs;
                let originator = &access.originators[index];
                mpdu_max.min(mpdu_within(cx.rates, config, originator, limit, sifs))
            }
        };
        let has_driver = access.driver.is_used();
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
            let around = sizes::QOS_DATA_HEADER + sizes::FCS + encryption;
            let amsdu_max = amsdu_bytes_max(config, &access.originators[index])
                .min(mpdu_max.saturating_sub(around));
            let msdus = if amsdu_max == 0 || peer == Address::Group {
                Msdus::One(*first)
            } else {
                access.join(now, peer, *first, amsdu_max, dropped)
            };
            let bytes = msdus.mpdu_bytes(access.originators[index].mpdu_overhead());
            let contends_since = access.contends_since;
            let more = access.originators[index].push(msdus, bytes, dequeued, contends_since);
            access.held.packets += more.packets;
            access.held.bytes += more.bytes;
            pulled = Some(bytes);
        }
        if !dropped.is_empty() || !expired.is_empty() {
            let number_dropped = dropped.len();
            self.hold(now, 0, (number_dropped + expired.len()) as u32);
            self.stats.queue_drops += number_dropped as u64;
            cx.outbox.lose_dropped(now, self.id, DropReason::ActiveQueue);
            for packet in expired {
                cx.outbox.lose(now, self.id, packet, DropReason::Lifetime);
            }
        }
        if has_driver {
            self.fill_driver(cx, edcaf);
        }
        pulled
    }

    /// Moves packets from the queue into the driver queue until that is full.
    #[inline]
    pub fn fill_driver(&mut self, cx: &mut Context<'_>, edcaf: usize) {
        let access = self.edcafs[edcaf].as_ref();
        if access.is_some_and(|access| access.driver.is_used() && access.gate == Gate::Open) {
            self.fill_used_driver(cx, edcaf);
        }
    }

    #[inline(never)]
    fn fill_used_driver(&mut self, cx: &mut Context<'_>, edcaf: usize) {
        let now = cx.now;
        let filtered = self.edcaf(edcaf).filtered_packets();
        loop {
            let access = self.edcaf(edcaf);
            // Packets in flight count against a limit in packets: the ring
            // slot is free when the frame is done.
            let driver = &access.driver;
            let absent = &access.absent;
            let has_space = |peer: PeerId| match driver.limit() {
                _ if absent.holds(peer.into()) => false,
                DriverLimit::None => false,
                DriverLimit::Packets(limit) => {
                    driver.len_packets() + access.held.packets < limit + filtered
                }
                DriverLimit::Airtime(_) => driver.has_space(peer),
            };
            let Some(peer) = access.queue.next_peer_where(has_space) else { break };
            let dropped = &mut cx.outbox.dropped;
            let Some(packet) = access.queue.dequeue_for(now, peer, dropped) else { continue };
            let airtime = match access.driver.limit() {
                DriverLimit::Airtime(_) => self.estimated_airtime(cx, edcaf, peer.into(), &packet),
                _ => Duration::ZERO,
            };
            let access = self.edcaf(edcaf);
            access.driver.push(now, peer, packet, airtime);
            access.hardware.call();
        }
        self.count_driver(now);
        let number_dropped = cx.outbox.dropped.len();
        if number_dropped > 0 {
            self.hold(now, 0, number_dropped as u32);
            self.stats.queue_drops += number_dropped as u64;
        }
        cx.outbox.lose_dropped(now, self.id, DropReason::ActiveQueue);
    }

    /// Air time of a packet at the main rate, without overhead.
    fn estimated_airtime(
        &mut self,
        cx: &Context<'_>,
        edcaf: usize,
        peer: Address,
        packet: &Packet,
    ) -> Duration {
        let index = self.originator(cx.settings, edcaf, peer);
        let originator = &self.edcaf(edcaf).originators[index];
        let rate = originator.rate_control.as_ref().map(RateControl::main_rate);
        let rate = rate.unwrap_or(cx.settings.group_rate);
        let encryption = self.config.capabilities.encryption.bytes();
        let bytes = sizes::mpdu(u32::from(packet.bytes), true) + encryption;
        let bits = u64::from(bytes) * 8_000_000_000;
        Duration::from_nanos(bits / rate.bitrate().as_bps())
    }

    /// Gives up the pending MPDUs whose lifetime is over; returns whether MPDUs have a lifetime.
    pub fn expire(&mut self, cx: &mut Context<'_>, edcaf: usize, index: usize) -> bool {
        if self.config.msdu_lifetime.is_none() {
            return false;
        }
        let now = cx.now;
        let config = &self.config;
        let access = self.edcafs[edcaf].as_mut().expect("it is building a frame");
        let originator = &mut access.originators[index];
        let (before, peer) = (originator.held(), originator.peer);
        let mut expired = Vec::new();
        let (mut mpdus, mut mpdus_sent) = (0, 0);
        originator.expire(
            |arrived| is_expired(config, now, arrived),
            &mut cx.outbox.released,
            |mpdu| {
                mpdus += 1;
                mpdus_sent += u32::from(mpdu.transmissions > 0);
                if !mpdu.taken {
                    expired.extend_from_slice(mpdu.msdus.packets());
                }
            },
        );
        let after = originator.held();
        let packets = access.let_go(before, after);
        self.hold(now, 0, packets);
        self.link_stats(peer).mpdus_lost += mpdus;
        if let Some(period) = cx.services.iter_mut().find(|period| period.is_for(peer)) {
            period.count(mpdus_sent);
        }
        for packet in expired {
            cx.outbox.drop_packet(now, self.id, packet, DropReason::Lifetime);
        }
        true
    }

    /// Index of the originator towards `peer`, created at its first use.
    pub fn originator(&mut self, settings: &Settings, edcaf: usize, peer: Address) -> usize {
        match self.edcaf(edcaf).originator(peer) {
            Some(index) => index,
            None => self.make_originator(settings, edcaf, peer),
        }
    }

    #[cold]
    fn make_originator(&mut self, settings: &Settings, edcaf: usize, peer: Address) -> usize {
        let (shared, rate_control) = match peer {
            Address::Group => {
                let Capabilities { qos, encryption, .. } = self.config.capabilities;
                (Capabilities { qos, encryption, ..Capabilities::default() }, None)
            }
            Address::Station(to) => {
                let shared = self.shared_with(settings, to);
                let rates = RateSet::new(shared.rates.iter().copied());
                let stream = self.rate_control_stream(settings, edcaf, to);
                let config = self.config.rate_control_towards(to);
                let mut control = RateControl::new(&config, &rates, &settings.error_model, stream);
                if self.modes.is_some() {
                    control.keep_within(&rates.rates);
                }
                (shared, Some(control))
            }
        };
        let low_rate_retry = self.config.low_rate_retry;
        let originator = Originator::new(peer, shared, rate_control, low_rate_retry);
        self.edcaf(edcaf).add_originator(originator)
    }

    /// Random stream of the rate control towards a peer in one category.
    pub fn rate_control_stream(&self, settings: &Settings, edcaf: usize, to: StationId) -> Stream {
        let pair = self.config.identity.to(settings.peers[to.index()].0);
        let identity = pair.to(Identity::numbered(edcaf as u64));
        settings.seed.stream_of("cell/rate-control", identity)
    }

    /// Returns the ADDBA Request that must precede aggregated data, if one is needed.
    fn wanted_agreement(
        &mut self,
        cx: &Context<'_>,
        edcaf: usize,
        index: usize,
    ) -> Option<Management> {
        let now = cx.now;
        let aggregation = &self.config.aggregation;
        let aggregates = aggregation.ampdu_bytes_max > 0 && aggregation.ampdu_frames_max > 1;
        let window = self.config.block_ack.window;
        // The answer to a station in power save mode would be held.
        let saves = self.away.as_deref().is_some_and(Away::sends_in_power_save);
        let access = self.edcaf(edcaf);
        let originator = &mut access.originators[index];
        let window = window.min(originator.shared.block_ack_window_max);
        let Address::Station(peer) = originator.peer else { return None };
        if access.absent.dozing.contains(&peer) {
            // In a service period, but not as its last frame: it has no EOSP.
            let is_its = |period: &&ServicePeriod| period.is_for(Address::Station(peer));
            let period = cx.services.iter().find(is_its);
            let has_several_left = period.is_some_and(ServicePeriod::has_several_left);
            if !access.absent.is_served(peer) || !has_several_left {
                return None;
            }
        }
        let asks = match originator.agreement {
            Agreement::None => true,
            Agreement::Failed { until } => now >= until,
            Agreement::Requested | Agreement::Established { .. } => false,
        };
        // What was sent without agreement is settled first.
        if !aggregates || !asks || saves || window == 0 || !originator.pending.is_empty() {
            return None;
        }
        originator.agreement = Agreement::Requested;
        let start = originator.next_sequence();
        let action = Action::AddbaRequest { window, start };
        Some(Management { peer, action, attempts: 0, sequence: start })
    }

    /// Records a change of the rate that an originator has chosen, if events are kept.
    #[inline]
    pub fn record_rate(&mut self, cx: &mut Context<'_>, edcaf: usize, index: usize) {
        if cx.outbox.records {
            self.record_rate_of(cx, edcaf, index);
        }
    }

    #[cold]
    fn record_rate_of(&mut self, cx: &mut Context<'_>, edcaf: usize, index: usize) {
        let (at, station) = (cx.now, self.id);
        let originator = &mut self.edcaf(edcaf).originators[index];
        let Address::Station(peer) = originator.peer else { return };
        let changed = originator.rate_control.as_mut().and_then(|c| c.poll_rate_changed());
        if let Some(rate) = changed {
            cx.outbox.events.push_back(Event::RateChanged { at, station, peer, rate });
        }
    }
}

/// Limits of an A-MPDU.
#[derive(Clone, Copy)]
pub(super) struct AmpduLimits {
    pub bytes_max: u32,
    /// Minimum length of a subframe.
    pub spacing_bytes: u32,
    pub frames_max: usize,
}

/// Fill level of an A-MPDU.
struct Filled {
    limits: AmpduLimits,
    mpdu_bytes_max: u32,
    count: usize,
    /// Length in bytes, without and with the padding of the last subframe.
    bytes: u32,
    padded: u32,
}

impl Filled {
    /// Adds an MPDU of `bytes` if neither it nor the A-MPDU becomes too long; returns whether it
    /// was added.
    #[inline]
    fn add(&mut self, bytes: u32) -> bool {
        let AmpduLimits { bytes_max, spacing_bytes, .. } = self.limits;
        // The last subframe is not padded (9.7.1).
        let with = self.padded + sizes::AMPDU_DELIMITER + bytes;
        let fits = bytes <= self.mpdu_bytes_max && with <= bytes_max;
        if fits {
            self.padded += sizes::ampdu_subframe(bytes, spacing_bytes);
            (self.bytes, self.count) = (with, self.count + 1);
        }
        fits
    }

    /// Number of MPDUs, and the length; a single MPDU is counted without delimiter.
    fn or_one(&self, first: u32) -> (usize, u32) {
        if self.count > 1 { (self.count, self.bytes) } else { (1, first) }
    }
}

fn is_expired(config: &StationConfig, now: Instant, arrived: Instant) -> bool {
    config.msdu_lifetime.is_some_and(|lifetime| now.saturating_since(arrived) > lifetime)
}

/// The longest MPDU whose PPDU meets the limits at the main rate. A PPDU with an A-MSDU lasts no
/// longer than one with an A-MPDU may. A limited transmission opportunity holds the PPDU, its
/// response, and possibly RTS and CTS (10.23.2.9 excepts single MSDUs only).
fn mpdu_within(
    rates: &mut Rates,
    config: &StationConfig,
    originator: &Originator,
    txop_limit: Duration,
    sifs: Duration,
) -> u32 {
    let Some(control) = &originator.rate_control else { return u32::MAX };
    let aggregation = &config.aggregation;
    let bytes_max = match aggregation.ampdu_bytes_max.min(originator.shared.ampdu_bytes_max) {
        0 => Aggregation::STANDARD.ampdu_bytes_max,
        most => most,
    };
    let (rate, mut duration_max) = (control.main_rate(), aggregation.ampdu_duration_max);
    if !txop_limit.is_zero() {
        let window = originator.agreement.window();
        let mut around = rates.response(rate, window).duration + sifs;
        if config.rts_threshold.is_some() {
            around += rates.protection(rate) + sifs * 2;
        }
        duration_max = duration_max.min(txop_limit.saturating_sub(around));
    }
    let padding = originator.shared.packet_padding;
    rates.psdu_within(rate, duration_max, bytes_max, padding).saturating_sub(sizes::AMPDU_DELIMITER)
}

/// The longest A-MSDU that the peer receives; within an A-MPDU it is limited by the MPDU, less
/// header and FCS.
fn amsdu_bytes_max(config: &StationConfig, originator: &Originator) -> u32 {
    let max = config.aggregation.amsdu_bytes_max.min(originator.shared.amsdu_bytes_max);
    let max = u32::from(max);
    match originator.agreement {
        Agreement::Established { .. } => {
            let mpdu_max = originator.shared.ampdu_mpdu_bytes_max;
            max.min(mpdu_max.saturating_sub(sizes::QOS_DATA_HEADER + sizes::FCS))
        }
        _ => max,
    }
}

//! An EDCA function (EDCAF; IEEE 802.11-2020, 10.2.3.2 and 10.23.2): the queue of one access
//! category at one station, the originators towards its peers, frames ahead of data, contention
//! window and backoff, and the choice of the next frame.
//!
//! The module knows neither the air nor other stations. Backoffs are in slots.

mod link;
mod turns;

pub(super) use link::Link;

use super::config::{EdcaParameters, StationConfig};
use super::exchange::uplink::Reports;
use super::hardware::Hardware;
use crate::air::{Action, Management};
use crate::mac::backoff::Backoff;
use crate::mac::contention::ContenderId;
use crate::mac::mpdu::Msdus;
use crate::mac::originator::{Agreement, Originator};
use crate::mac::sizes;
use crate::station::{Address, StationId};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use lasthop_packet::queue::{DriverQueue, Held, PeerId, Queue};
use lasthop_packet::{AccessCategory, Packet};
use lasthop_units::{Duration, Instant, Stream};

/// Number of EDCAFs of the access categories, without the one of beacons.
pub(super) const EDCAFS: usize = AccessCategory::ALL.len();

/// Index of the EDCAF of beacons, the fifth, which precedes all categories.
pub(super) const BEACON_EDCAF: usize = 4;

/// An EDCAF of one station.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Edcaf {
    pub contender: ContenderId,
    pub parameters: EdcaParameters,
    pub queue: Queue,
    /// Key of the queue's flow hash.
    pub perturbation: u32,
    pub driver: DriverQueue,
    /// A-MPDUs that are built ahead.
    pub hardware: Hardware,
    pub originators: Vec<Originator>,
    /// Index into `originators` by [`slot_of`] the peer.
    index: Vec<Option<u16>>,
    pub management: VecDeque<Management>,
    pub backoff: Backoff,
    /// Instant since which it contends for the next exchange.
    pub contends_since: Instant,
    /// Instant before which the hardware has no frame of it, because the driver is not done with
    /// the last one.
    pub rests_until: Instant,
    pub last_served: Option<Address>,
    /// Whether the next peer has MPDUs to retransmit.
    repeats_next: bool,
    /// Consecutive turns of peers with retransmissions, since the last turn of a peer with new
    /// packets.
    repeats: u32,
    /// Whether the last PPDU was for several stations, and may have passed over stations with a due
    /// Block Ack Request.
    passed_over: bool,
    /// Last choice of [`Self::request_passed_over`].
    last_requested: Option<Address>,
    /// Packets that the originators hold.
    pub held: Held,
    /// Instant at which the packet taken last left the upper queue.
    pub dequeued: Instant,
    /// Frames that may be sent.
    pub gate: Gate,
    /// Unreachable stations, which it passes over.
    pub absent: Unreachable,
    /// Buffer status of the stations, at an access point that solicits uplink PPDUs.
    pub reports: Option<Box<Reports>>,
    /// The part in a device of several links, if it has one.
    pub link: Option<Box<Link>>,
}

/// Unreachable stations in an EDCAF of the access point.
#[derive(Clone, Debug, PartialEq, Default)]
pub(super) struct Unreachable {
    pub dozing: Vec<StationId>,
    /// Dozing stations that asked for one frame, and the instant of its release.
    pub released: Vec<(StationId, Instant)>,
    /// Dozing stations in a service period, and its start.
    pub served: Vec<(StationId, Instant)>,
    /// Whether a station of the set is in power save mode, dozing or not.
    pub holds_group: bool,
    /// Group frames that may still be sent after the last DTIM.
    pub group_left: u32,
    /// Instant of the last release of group frames.
    pub group_opened: Option<Instant>,
}

impl Unreachable {
    /// Whether frames for `peer` must wait: it cannot be reached, or group frames wait for a DTIM.
    #[inline]
    pub fn holds(&self, peer: Address) -> bool {
        self.may_hold() && self.holds_one(peer)
    }

    // Where it is part of the above, who is next costs a tenth more.
    #[inline(never)]
    fn holds_one(&self, peer: Address) -> bool {
        match peer {
            Address::Group => self.group_left == 0,
            Address::Station(station) => {
                self.dozing.contains(&station) && !self.is_released(station)
            }
        }
    }

    /// Whether frames for any peer may have to wait.
    #[inline]
    pub fn may_hold(&self) -> bool {
        self.holds_group || !self.dozing.is_empty()
    }

    /// Whether a frame is released to a dozing station, or to a group with one.
    pub fn has_released(&self) -> bool {
        !self.released.is_empty()
            || !self.served.is_empty()
            || self.holds_group && self.group_left > 0
    }

    /// Records a frame sent to `peer`; with `done` it is not sent again.
    pub fn exchanged(&mut self, peer: Address, done: bool) {
        match peer {
            Address::Group => self.group_left = self.group_left.saturating_sub(1),
            Address::Station(station) if done => {
                self.released.retain(|(other, _)| *other != station)
            }
            Address::Station(_) => {}
        }
    }

    /// Whether `station` asked for a frame and waits for it, or is in a service period.
    pub fn is_released(&self, station: StationId) -> bool {
        self.released.iter().chain(&self.served).any(|(released, _)| *released == station)
    }

    /// Instant at which a frame for `peer` was released, although `peer` or a station of the group
    /// dozes.
    pub fn released_at(&self, peer: Address) -> Option<Instant> {
        match peer {
            Address::Group => self.group_opened,
            Address::Station(station) => {
                let mut released = self.released.iter().chain(&self.served);
                released.find(|(released, _)| *released == station).map(|(_, at)| *at)
            }
        }
    }

    /// Whether `station` dozes between service periods and is in one.
    pub fn is_served(&self, station: StationId) -> bool {
        self.served.iter().any(|(served, _)| *served == station)
    }

    /// Ends the service period of `station` at this EDCAF.
    pub fn leave_service(&mut self, station: StationId) {
        self.served.retain(|(served, _)| *served != station);
    }

    /// Whether `peer` is a station that dozes, with or without a released frame.
    pub fn is_dozing(&self, peer: Address) -> bool {
        matches!(peer, Address::Station(station) if self.dozing.contains(&station))
    }
}

/// Frames that an EDCAF may send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(super) enum Gate {
    /// All kinds of frames.
    #[default]
    Open,
    /// Management frames, and packets below the upper queue.
    Draining,
    /// Frames about absences only, such as Null frames.
    Shut,
}

/// Next transmission of an EDCAF.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Work {
    /// The management frame at this index.
    Management(usize),
    BlockAckRequest(Address),
    Data(Address),
}

/// The access category of an EDCAF index below [`BEACON_EDCAF`].
#[inline]
pub(super) fn category_of(edcaf: usize) -> AccessCategory {
    AccessCategory::ALL[edcaf.min(BEACON_EDCAF - 1)]
}

/// TID of an EDCAF; every EDCAF but that of beacons belongs to an access category.
pub(super) fn tid_of(edcaf: usize) -> u8 {
    category_of(edcaf).tid()
}

/// Index of a peer: 0 for the group, n + 1 for station n.
#[inline]
pub(super) fn slot_of(peer: Address) -> usize {
    match peer {
        Address::Group => 0,
        Address::Station(station) => station.index() + 1,
    }
}

/// The originator towards `peer`, from an [`Edcaf`]'s list and index.
pub(super) fn originator_of<'a>(
    originators: &'a [Originator],
    index: &[Option<u16>],
    peer: Address,
) -> Option<&'a Originator> {
    let index = index.get(slot_of(peer)).copied().flatten()?;
    originators.get(usize::from(index))
}

impl Edcaf {
    pub fn new(
        contender: ContenderId,
        config: &StationConfig,
        parameters: EdcaParameters,
        mut perturbation: Stream,
        backoff: Stream,
    ) -> Self {
        let perturbation = perturbation.next_u64() as u32;
        Self {
            contender,
            parameters,
            queue: Queue::new(&config.queue, perturbation),
            perturbation,
            driver: DriverQueue::new(config.driver_queue),
            hardware: Hardware::new(config.aggregation.hardware_turns()),
            originators: Vec::new(),
            index: Vec::new(),
            management: VecDeque::new(),
            backoff: Backoff::new(
                parameters.cw_min,
                parameters.cw_max,
                config.retry_limit,
                backoff,
            ),
            contends_since: Instant::ZERO,
            rests_until: Instant::ZERO,
            last_served: None,
            repeats_next: false,
            repeats: 0,
            passed_over: false,
            last_requested: None,
            held: Held::NONE,
            dequeued: Instant::ZERO,
            gate: Gate::Open,
            absent: Unreachable::default(),
            reports: None,
            link: None,
        }
    }

    /// Whether there are frames to send, or stations to solicit.
    #[inline]
    pub fn has_work(&mut self) -> bool {
        if let Some(link) = &self.link {
            return link.has_work || self.next_management().is_some();
        }
        self.next_work().is_some() || self.reports.as_ref().is_some_and(|reports| reports.wants())
    }

    /// Key of the packets for `peer` in the queue: that of the peer's device.
    #[inline]
    pub fn key(&self, peer: Address) -> PeerId {
        link::key_of(&self.link, peer)
    }

    /// Index of the originator towards `peer`, if there is one.
    pub fn originator(&self, peer: Address) -> Option<usize> {
        self.index.get(slot_of(peer)).copied().flatten().map(usize::from)
    }

    /// Peers that it has sent to.
    pub fn peers(&self) -> Vec<Address> {
        self.originators.iter().map(|originator| originator.peer).collect()
    }

    /// Adds an originator and returns its index.
    pub fn add_originator(&mut self, originator: Originator) -> usize {
        let slot = slot_of(originator.peer);
        if slot >= self.index.len() {
            self.index.resize(slot + 1, None);
        }
        let new = self.originators.len();
        self.index[slot] = Some(new as u16);
        self.originators.push(originator);
        new
    }

    /// Packets below the queue that count towards its limit: without a driver queue, those in
    /// flight.
    pub fn held_below(&self) -> Held {
        if self.driver.is_used() {
            return Held::NONE;
        }
        self.link.as_ref().map_or(self.held, |link| link.with_elsewhere(self.held))
    }

    /// Whether data may be sent to `peer` now: it can be reached, no ADDBA is in progress, and the
    /// window is not full.
    pub fn may_send(&self, peer: Address) -> bool {
        !self.absent.holds(peer)
            && self.originator(peer).is_none_or(|index| {
                let originator = &self.originators[index];
                originator.agreement != Agreement::Requested && originator.has_window()
            })
    }

    /// The next transmission; its frames stay as they are.
    pub fn next_work(&mut self) -> Option<Work> {
        if let Some(index) = self.next_management() {
            return Some(Work::Management(index));
        }
        let peer = self.next_peer()?;
        let due = self
            .originator(peer)
            .is_some_and(|index| self.originators[index].block_ack_request_due);
        Some(if due { Work::BlockAckRequest(peer) } else { Work::Data(peer) })
    }

    /// Reduces the packets held by the originators; returns the number of released packets.
    pub fn let_go(&mut self, before: Held, after: Held) -> u32 {
        let packets = before.packets - after.packets;
        self.held.packets -= packets;
        self.held.bytes = self.held.bytes - (before.bytes - after.bytes);
        packets
    }

    /// Number of packets, MPDUs and management frames that it holds for `peer`, as far as they wait
    /// while `peer` is absent.
    pub fn held_for(&self, peer: Address) -> u32 {
        let originator = self.originator(peer).map(|index| &self.originators[index]);
        let pending = originator.map_or(0, |originator| originator.pending.len());
        let waits = |frame: &&Management| {
            Address::Station(frame.peer) == peer && !frame.action.is_about_absence()
        };
        self.queue.len_packets_for(self.key(peer))
            + self.driver.len_packets_for(peer.into())
            + (pending + self.management.iter().filter(waits).count()) as u32
    }

    /// Number of packets in driver and hardware for unreachable stations. Hardware returns those
    /// (mac80211's `tx_filtered`), and they do not count towards the limit.
    pub fn filtered_packets(&self) -> u32 {
        if self.absent.dozing.is_empty() {
            return 0;
        }
        let dozing = self.absent.dozing.iter().map(|station| Address::Station(*station));
        let peers = dozing.filter(|peer| self.absent.holds(*peer));
        let of = |peer: Address| {
            let originator = self.originator(peer).map(|index| self.originators[index].held());
            self.driver.len_packets_for(peer.into()) + originator.map_or(0, |held| held.packets)
        };
        peers.map(of).sum()
    }

    /// Like [`Self::held_for`], but also counts a due Block Ack Request: without it, received MPDUs
    /// would wait behind a gap.
    pub fn deliverable_for(&self, peer: Address) -> u32 {
        let is_due = |index: usize| self.originators[index].block_ack_request_due;
        self.held_for(peer) + u32::from(self.originator(peer).is_some_and(is_due))
    }

    /// The peer that this link of a device has to ask for a missed Block Ack, before anything else.
    pub fn peer_to_ask(&self) -> Option<Address> {
        if self.gate != Gate::Open || self.next_management().is_some() {
            return None;
        }
        let reaches = |peer: Address| {
            link::peer_of(&self.link, self.key(peer)).is_some_and(|there| there == peer)
        };
        let mut all = self.originators.iter().filter(|one| one.is_unanswered());
        all.find(|one| reaches(one.peer)).map(|one| one.peer)
    }

    /// The peer of the next transmission.
    fn next_peer(&mut self) -> Option<Address> {
        match self.gate {
            Gate::Open if self.hardware.is_used() && !self.absent.has_released() => {
                let next = self.next_in_hardware();
                if next.is_some() {
                    self.repeats_next = false;
                    return next;
                }
            }
            Gate::Open => {}
            Gate::Draining if self.driver.is_used() => {}
            Gate::Draining => return self.waiting(),
            Gate::Shut => return None,
        }
        if self.queue.schedules_airtime() && !self.driver.is_used() {
            let Self { queue, originators, index, absent, link, .. } = self;
            let next = queue.next_peer_where(|key| {
                let Some(peer) = link::peer_of(link, key) else { return false };
                !absent.holds(peer)
                    && originator_of(originators, index, peer).is_none_or(|originator| {
                        originator.agreement != Agreement::Requested
                            && (originator.is_waiting() || originator.has_window())
                    })
            });
            return next.and_then(|key| link::peer_of(&self.link, key));
        }
        let (waiting, fresh) = (self.waiting(), self.fresh());
        // Peers with something to repeat and peers with new packets take turns.
        self.repeats_next = match (waiting, fresh) {
            (Some(waiting), Some(fresh)) => {
                self.last_served != Some(waiting) && !self.is_overdue(fresh)
            }
            (waiting, _) => waiting.is_some(),
        };
        if self.repeats_next { waiting } else { fresh }
    }

    /// Whether `peer`, the peer of the next new packet, is due before further retransmissions.
    /// `peer` has nothing to retransmit and was not served last. Since the last turn of new
    /// packets, the peers with retransmissions have had at least as many turns as there are such
    /// peers. Otherwise peers that always have something to retransmit would be served forever.
    fn is_overdue(&self, peer: Address) -> bool {
        let waits = |peer| self.originator(peer).is_some_and(|i| self.waits(&self.originators[i]));
        let waiting = || self.originators.iter().filter(|o| self.waits(o)).count();
        self.repeats > 1
            && self.last_served != Some(peer)
            && !waits(peer)
            && waiting() <= self.repeats as usize
    }

    /// The peer to ask for a Block Ack between two PPDUs for several stations: such PPDUs go to
    /// peers without a due request, for as long as those have data left.
    pub fn request_passed_over(&mut self) -> Option<Address> {
        if !core::mem::take(&mut self.passed_over) || self.gate != Gate::Open {
            return None;
        }
        let is_due = |o: &&Originator| o.block_ack_request_due && self.waits(o);
        let last = self.last_requested.and_then(|peer| self.originator(peer));
        let (before, after) = self.originators.split_at(last.map_or(0, |index| index + 1));
        let next = after.iter().chain(before).find(is_due).map(|originator| originator.peer);
        self.last_requested = next.or(self.last_requested);
        next
    }

    /// Records that the first `mpdus` pending MPDUs for `peer` begin to be sent, in a PPDU of this
    /// duration; returns the number of retransmissions among them.
    pub fn sent_alone(
        &mut self,
        peer: Address,
        mpdus: usize,
        duration: Duration,
        now: Instant,
    ) -> u64 {
        let retries = self.sent(peer, mpdus, now);
        self.served(peer);
        self.queue.charge_airtime(self.key(peer), duration);
        retries
    }

    /// Records that these MPDUs begin to be sent, without a turn of the peer.
    pub fn sent(&mut self, peer: Address, mpdus: usize, now: Instant) -> u64 {
        let index = self.originator(peer).expect("it has pending MPDUs");
        self.originators[index].sent(mpdus, now)
    }

    /// Records a data transmission to several stations, among them `peer`.
    pub fn served_together(&mut self, peer: Address) {
        self.served(peer);
        self.passed_over = true;
    }

    /// Records a data transmission to `peer`, whose turn it was.
    pub fn served(&mut self, peer: Address) {
        self.last_served = Some(peer);
        self.repeats = if self.repeats_next { self.repeats + 1 } else { 0 };
    }

    /// Updates the queue's record of whether `peer` has MPDUs to retransmit. Above a driver queue,
    /// the turns decide which packets enter the driver queue, so only packets count.
    pub fn keep_turn(&mut self, peer: Address) {
        if !self.driver.is_used()
            && let Some(index) = self.originator(peer)
        {
            let is_waiting = if self.hardware.is_used() {
                self.has_to_repeat(peer)
            } else {
                self.originators[index].is_waiting()
            };
            self.queue.set_waiting(self.key(peer), is_waiting);
        }
    }

    /// A peer with MPDUs to retransmit or a due Block Ack Request, in turn after the one served
    /// last.
    fn waiting(&self) -> Option<Address> {
        if self.held.packets == 0 && !self.originators.iter().any(|o| o.block_ack_request_due) {
            return None;
        }
        let waits = |o: &&Originator| self.waits(o);
        let last = self.last_served.and_then(|peer| self.originator(peer));
        let (before, after) = self.originators.split_at(last.map_or(0, |index| index + 1));
        let next = after.iter().find(waits).or_else(|| before.iter().find(waits));
        next.map(|originator| originator.peer)
    }

    /// Whether an originator has MPDUs to retransmit or a due Block Ack Request, and may send them.
    fn waits(&self, originator: &Originator) -> bool {
        originator.agreement != Agreement::Requested
            && originator.is_waiting()
            && !self.absent.holds(originator.peer)
    }

    /// The peer of the next new packet.
    pub fn fresh(&mut self) -> Option<Address> {
        if self.driver.is_used() {
            let next = self.driver.next_peer_where(|peer| self.may_send(peer.into()));
            return next.map(Address::from);
        }
        if self.link.is_some()
            && let Some(peer) = self.first_in_line()
        {
            return Some(peer);
        }
        let Self { queue, originators, index, absent, link, .. } = self;
        let next = queue.next_peer_where(|key| {
            let Some(peer) = link::peer_of(link, key) else { return false };
            !absent.holds(peer)
                && originator_of(originators, index, peer).is_none_or(|originator| {
                    originator.agreement != Agreement::Requested && originator.has_window()
                })
        });
        next.and_then(|key| link::peer_of(&self.link, key))
    }

    /// In a FIFO of a device, the peer whose packets are on the air of another link, if it has more:
    /// they are older than all that wait.
    #[cold]
    fn first_in_line(&self) -> Option<Address> {
        let link = self.link.as_ref()?;
        if !matches!(self.queue, Queue::DropTail(_)) {
            return None;
        }
        let is_first = |originator: &Originator| {
            originator.is_on_air_elsewhere()
                && originator.has_window()
                && originator.agreement != Agreement::Requested
                && self.queue.len_packets_for(self.key(originator.peer)) > 0
        };
        let lent = link.lent.iter().map(|index| &self.originators[*index]);
        lent.filter(|it| is_first(it)).map(|it| it.peer).next()
    }

    /// The next management frame that may be sent now.
    fn next_management(&self) -> Option<usize> {
        self.management.iter().position(|frame| match frame.action {
            action if action.is_about_absence() => true,
            // Data of the other side waits for the answer.
            Action::AddbaResponse { .. } => !self.absent.holds(Address::Station(frame.peer)),
            _ => self.gate != Gate::Shut && !self.absent.holds(Address::Station(frame.peer)),
        })
    }

    pub fn take(
        &mut self,
        now: Instant,
        peer: Address,
        dropped: &mut Vec<Packet>,
    ) -> Option<Packet> {
        if self.driver.is_used() {
            self.dequeued = self.driver.since(peer.into()).unwrap_or(now);
            return self.driver.pop(peer.into());
        }
        self.dequeued = now;
        match self.gate {
            Gate::Open => self.queue.dequeue_for(now, self.key(peer), dropped),
            _ => None,
        }
    }

    /// Whether each packet for originator `index` becomes one MPDU directly from the queue.
    #[inline]
    pub fn takes_singly(&self, index: usize, config: &StationConfig) -> bool {
        !self.driver.is_used()
            && self.gate == Gate::Open
            && config.msdu_lifetime.is_none()
            && (config.aggregation.amsdu_bytes_max == 0
                || self.originators[index].peer == Address::Group)
    }

    /// Makes the next packet for originator `index`, which takes packets
    /// [singly](Self::takes_singly), an MPDU, and returns its length.
    #[inline]
    pub fn take_one(
        &mut self,
        now: Instant,
        index: usize,
        dropped: &mut Vec<Packet>,
    ) -> Option<u32> {
        let Self { queue, originators, held, contends_since, dequeued, link, .. } = self;
        let originator = &mut originators[index];
        *dequeued = now;
        let overhead = originator.mpdu_overhead();
        queue.dequeue_with(now, link::key_of(link, originator.peer), dropped, |packet| {
            let bytes = overhead + u32::from(packet.bytes);
            let more = originator.push_one(packet, bytes, now, *contends_since);
            held.packets += more.packets;
            held.bytes += more.bytes;
            bytes
        })
    }

    /// Makes up to `count` packets for originator `index`, within its window, MPDUs as
    /// [`Self::take_one`] does, until `takes` refuses the length of one, which stays pending.
    /// Packets that were queued as a run become MPDUs together.
    #[inline]
    pub fn take_run(
        &mut self,
        now: Instant,
        index: usize,
        count: usize,
        dropped: &mut Vec<Packet>,
        mut takes: impl FnMut(u32) -> bool,
    ) {
        let Self { queue, originators, held, contends_since, dequeued, link, .. } = self;
        let originator = &mut originators[index];
        let mut left = count.min(originator.window_left());
        if left == 0 {
            return;
        }
        *dequeued = now;
        let before = originator.held();
        let overhead = originator.mpdu_overhead();
        queue.dequeue_runs(now, link::key_of(link, originator.peer), dropped, |packet, there| {
            let bytes = overhead + u32::from(packet.bytes);
            let most = left.min(there as usize);
            let (mut taken, mut goes_on) = (0, true);
            while goes_on && taken < most {
                taken += 1;
                goes_on = takes(bytes);
            }
            originator.push_run(packet, taken, bytes, now, *contends_since);
            left -= taken;
            (taken as u32, goes_on && left > 0)
        });
        let after = originator.held();
        held.packets += after.packets - before.packets;
        held.bytes += after.bytes - before.bytes;
    }

    /// Returns an MPDU of `first` and the following packets for `peer`, as many as fit into an
    /// A-MSDU of at most `amsdu_max` bytes.
    // Most networks send no A-MSDUs, and where this is inlined every MPDU takes longer.
    #[inline(never)]
    pub fn join(
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

    /// Length of the next packet for `peer`, if there is one.
    pub fn peek(&mut self, peer: Address) -> Option<u16> {
        if self.driver.is_used() {
            self.driver.peek_len_for(peer.into())
        } else if self.gate == Gate::Open {
            self.queue.peek_len_for(self.key(peer))
        } else {
            None
        }
    }

    /// Undoes [`Self::take`] from the upper queue; packets never return to a driver queue, because
    /// its lengths are known in advance.
    fn put_back(&mut self, peer: Address, packet: Packet) {
        debug_assert!(!self.driver.is_used());
        self.queue.put_back(self.key(peer), packet);
    }
}

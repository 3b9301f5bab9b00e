//! The clear version of contention: every operation is a step for each contender of a view. The fast
//! version must do the same.

use super::{ContenderId, Counting};
use crate::station::StationId;
use alloc::vec::Vec;
use lasthop_units::{Duration, Instant};

/// All contenders of a cell, and carrier sense between their stations.
#[derive(Clone, Debug, PartialEq)]
pub struct ClearContention {
    slot: Duration,
    views: Vec<ClearView>,
    /// ClearView of each station.
    view_of: Vec<u16>,
    /// Views that sense each transmitter.
    sensed_by: Vec<Vec<u16>>,
    /// Whether a view senses a transmitter, by view * stations + transmitter.
    senses: Vec<bool>,
    /// Instant of each station before which AIFS does not begin, independent of the medium (NAV,
    /// EIFS, own exchange or timeout).
    hold: Vec<ClearHold>,
    /// The latest end of any EIFS.
    extended_until: Instant,
    /// Contenders of each station.
    contenders_of: Vec<Vec<ContenderId>>,
    /// ClearView of each contender, and its index there.
    places: Vec<(u16, u16)>,
}

#[derive(Clone, Debug, PartialEq)]
struct ClearView {
    /// Number of PPDUs on the air that it senses.
    busy: u32,
    /// Instant at which the last of them ended.
    idle_since: Instant,
    /// Contenders of the view; every operation applies to all of them at once.
    contenders: Vec<ClearContender>,
    ids: Vec<ContenderId>,
    /// Access instant of each contender if it has a frame to send and the view is resolved,
    /// otherwise [`Instant::MAX`].
    due: Vec<Instant>,
    /// The shortest AIFS of its contenders.
    aifs_min: Duration,
    /// Whether the medium is idle and the access instants of the contenders are known.
    resolved: bool,
    /// The earliest instant in `due`, if known.
    next: Option<Instant>,
}

#[derive(Clone, Copy, Debug, PartialEq, Default)]
struct ClearHold {
    /// The latest of the following instants.
    until: Instant,
    network_allocation: Instant,
    extended_interframe_space: Instant,
    own: Instant,
    /// End of the response that the station owes.
    response: Instant,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct ClearContender {
    station: StationId,
    aifs: Duration,
    counting: Counting,
    /// Whether it has a frame to send.
    armed: bool,
    /// Slots left when the medium last became busy.
    backoff: u32,
    /// End of its AIFS while its view is resolved.
    counts_from: Instant,
    /// Access instant while its view is resolved.
    access_at: Instant,
}

impl ClearContention {
    /// Returns the contention of stations; `senses[s][t]` is whether station `s` senses a PPDU of
    /// station `t`.
    pub fn new(slot: Duration, senses: &[Vec<bool>]) -> Self {
        Self::with_views(slot, senses, true)
    }

    fn with_views(slot: Duration, senses: &[Vec<bool>], shared: bool) -> Self {
        let stations = senses.len();
        let mut rows: Vec<Vec<bool>> = Vec::new();
        let mut view_of = Vec::with_capacity(stations);
        for (station, row) in senses.iter().enumerate() {
            let mut row = row.clone();
            row[station] = true;
            let known = if shared { rows.iter().position(|r| *r == row) } else { None };
            let view = known.unwrap_or_else(|| {
                rows.push(row);
                rows.len() - 1
            });
            view_of.push(view as u16);
        }
        let sensed_by = (0..stations)
            .map(|transmitter| {
                let views = rows.iter().enumerate().filter(|(_, row)| row[transmitter]);
                views.map(|(view, _)| view as u16).collect()
            })
            .collect();
        let senses = rows.concat();
        Self {
            senses,
            slot,
            views: alloc::vec![ClearView::new(); rows.len()],
            view_of,
            sensed_by,
            hold: alloc::vec![ClearHold::default(); stations],
            extended_until: Instant::ZERO,
            contenders_of: alloc::vec![Vec::new(); stations],
            places: Vec::new(),
        }
    }

    /// Adds a contender that waits `aifs`, and has nothing to send yet.
    pub fn add(&mut self, station: StationId, aifs: Duration, counting: Counting) -> ContenderId {
        let id = ContenderId(self.places.len() as u16);
        let view = self.view_of[station.index()];
        let contender = ClearContender {
            station,
            aifs,
            counting,
            armed: false,
            backoff: 0,
            counts_from: Instant::ZERO,
            access_at: Instant::ZERO,
        };
        let place = self.views[usize::from(view)].add(id, contender);
        self.places.push((view, place));
        self.contenders_of[station.index()].push(id);
        self.refresh(id);
        id
    }

    /// Whether the medium is busy for `station` at `now`: physically, by its NAV, by its own
    /// exchange, or because it owes a response.
    pub fn is_busy(&self, station: StationId, now: Instant) -> bool {
        let view = &self.views[usize::from(self.view_of[station.index()])];
        view.busy > 0 || self.hold[station.index()].until > now
    }

    /// Whether the NAV of `station` extends beyond `now`.
    pub fn is_reserved(&self, station: StationId, now: Instant) -> bool {
        self.hold[station.index()].network_allocation > now
    }

    /// Whether `listener` senses PPDUs of `transmitter`.
    pub fn senses(&self, listener: StationId, transmitter: StationId) -> bool {
        let view = usize::from(self.view_of[listener.index()]);
        self.senses[view * self.view_of.len() + transmitter.index()]
    }

    /// Records that the contender has a frame to send, from `now` on. Returns `false` if no backoff
    /// is in progress and the medium is busy: the caller must draw a backoff (10.23.2.2).
    pub fn arm(&mut self, id: ContenderId, now: Instant) -> bool {
        let contender = self.contender_mut(id);
        contender.armed = true;
        let (station, must_draw) = (contender.station, contender.backoff == 0);
        if self.is_busy(station, now) {
            self.refresh(id);
            return !must_draw;
        }
        self.resolve(usize::from(self.view_of[station.index()]));
        let slot = self.slot;
        let contender = self.contender_mut(id);
        if contender.access_at < now {
            contender.access_at = match contender.counting {
                Counting::Dcf | Counting::EdcaAtOnce => now,
                Counting::Edca => contender.boundary(now, slot),
            };
        }
        let access_at = contender.access_at;
        self.set_due(id, access_at);
        true
    }

    /// Records that the contender has no frame to send; its backoff continues.
    pub fn disarm(&mut self, id: ContenderId) {
        self.contender_mut(id).armed = false;
        self.set_due(id, Instant::MAX);
    }

    /// Sets the slots to count down from the next idle time on.
    pub fn set_backoff(&mut self, id: ContenderId, slots: u32) {
        self.contender_mut(id).backoff = slots;
        self.refresh(id);
    }

    /// Begins a backoff of `slots` for a contender that gained the medium at `now` and may not use
    /// it, as if its backoff had ended while the medium was busy (10.23.2.5): it counts from the
    /// next slot boundary on. The contender still has a frame to send.
    pub fn back_off(&mut self, id: ContenderId, slots: u32, now: Instant) {
        let slot = self.slot;
        let contender = self.contender_mut(id);
        contender.backoff = slots;
        contender.counts_from = now.saturating_add(slot);
        contender.access_at = contender.counts_from.saturating_add(slot * u64::from(slots));
        let due = contender.due();
        self.set_due(id, due);
    }

    /// Whether the contender has a frame to send.
    pub fn is_armed(&self, id: ContenderId) -> bool {
        self.contender(id).armed
    }

    /// The instant from `since` on at which the contender would gain the channel if the medium stayed
    /// idle, whether or not it has a frame to send; `None` while the medium is busy.
    pub fn would_gain(&self, id: ContenderId, since: Instant) -> Option<Instant> {
        let (view, _) = self.places[usize::from(id.0)];
        let view = &self.views[usize::from(view)];
        let mut contender = *self.contender(id);
        let until = self.hold[contender.station.index()].until;
        if view.busy > 0 || until == Instant::MAX {
            return None;
        }
        if !view.resolved {
            contender.restart(until.max(view.idle_since), self.slot);
        }
        Some(contender.access_at.max(since))
    }

    /// Sets the AIFS of the contender at `now`; [`Duration::MAX`] prevents access. Slots that were
    /// counted before stay counted. A contender past its AIFS continues to count; otherwise the new
    /// AIFS ends no earlier than `now`.
    pub fn set_aifs(&mut self, id: ContenderId, aifs: Duration, now: Instant) {
        let Self { views, places, hold, slot, .. } = self;
        let (view, place) = places[usize::from(id.0)];
        let view = &mut views[usize::from(view)];
        view.aifs_min = view.aifs_min.min(aifs);
        let is_resolved = view.resolved;
        let idle_since = view.idle_since;
        let contender = &mut view.contenders[usize::from(place)];
        let is_counting = is_resolved && contender.counts_from <= now;
        contender.aifs = aifs;
        if !is_resolved || is_counting && aifs < Duration::MAX {
            return;
        }
        let over = is_counting.then(|| contender.slots_over(now, *slot)).flatten();
        contender.freeze(over);
        contender.restart(hold[contender.station.index()].until.max(idle_since), *slot);
        contender.counts_from = contender.counts_from.max(now);
        let backoff = *slot * u64::from(contender.backoff);
        contender.access_at = contender.counts_from.saturating_add(backoff);
        let due = contender.due();
        view.set_due(place, due);
    }

    /// The earliest access instant; [`Instant::MAX`] if there is none, or none
    /// up to `horizon`.
    #[inline]
    pub fn next_access(&mut self, horizon: Instant) -> Instant {
        let mut next = Instant::MAX;
        for index in 0..self.views.len() {
            let view = &self.views[index];
            if view.busy == 0 && !view.resolved && view.earliest_access() <= horizon {
                self.resolve(index);
            }
            next = next.min(self.views[index].next());
        }
        next
    }

    /// Fills the empty list `winners` with all contenders whose access instant is `now`, in order
    /// of index.
    #[inline]
    pub fn winners(&mut self, now: Instant, winners: &mut Vec<ContenderId>) {
        for view in &mut self.views {
            if view.next() == now {
                let due = view.ids.iter().zip(&view.due).filter(|(_, due)| **due == now);
                winners.extend(due.map(|(id, _)| *id));
            }
        }
        if self.views.len() > 1 {
            winners.sort_unstable();
        }
    }

    /// Handles the beginning of a PPDU of `transmitter` at `now`.
    pub fn transmission_starts(&mut self, transmitter: StationId, now: Instant) {
        for index in 0..self.sensed_by[transmitter.index()].len() {
            let index = usize::from(self.sensed_by[transmitter.index()][index]);
            self.sense(index, now);
        }
    }

    /// Adds a PPDU that a view senses.
    #[inline]
    fn sense(&mut self, index: usize, now: Instant) {
        let view = &mut self.views[index];
        view.busy += 1;
        if view.busy > 1 || (!view.resolved && now < view.earliest_access()) {
            // Nobody counted a slot.
            return;
        }
        self.resolve(index);
        self.views[index].freeze(now, self.slot);
    }

    /// Whether a contender of `station` has a frame to send.
    pub fn is_contending(&self, station: StationId) -> bool {
        self.contenders_of[station.index()].iter().any(|id| self.is_armed(*id))
    }

    /// Handles the end of a PPDU of `transmitter` at `now`; the caller has set the holds for this
    /// instant before.
    pub fn transmission_ends(&mut self, transmitter: StationId, now: Instant) {
        for &view in &self.sensed_by[transmitter.index()] {
            let view = &mut self.views[usize::from(view)];
            view.busy -= 1;
            if view.busy == 0 {
                view.idle_since = now;
            }
        }
    }

    /// Extends the NAV of `station` to `until` at least; a frame was decoded, so any EIFS ends
    /// (10.3.2.3.7).
    pub fn reserve(&mut self, station: StationId, until: Instant) {
        let hold = &mut self.hold[station.index()];
        hold.network_allocation = hold.network_allocation.max(until);
        hold.extended_interframe_space = Instant::ZERO;
        hold.update();
    }

    /// Does what [`Self::reserve`] does for every station that senses `transmitter`: all but itself
    /// and the addressee.
    pub fn reserve_around(
        &mut self,
        transmitter: StationId,
        addressee: Option<StationId>,
        until: Instant,
    ) {
        for station in (0..self.view_of.len() as u16).map(StationId) {
            let is_other = station == transmitter || Some(station) == addressee;
            if !is_other && self.senses(station, transmitter) {
                self.reserve(station, until);
            }
        }
    }

    /// Handles a PPDU that `station` could not decode: AIFS begins at `until` (EIFS less AIFS after
    /// its end).
    pub fn extend_interframe_space(&mut self, station: StationId, until: Instant) {
        let hold = &mut self.hold[station.index()];
        hold.extended_interframe_space = until;
        hold.update();
        self.extended_until = self.extended_until.max(until);
    }

    /// Holds the contenders of `station` until `until` at least ([`Instant::MAX`] during its own
    /// exchange).
    pub fn hold(&mut self, station: StationId, until: Instant) {
        let hold = &mut self.hold[station.index()];
        hold.own = until;
        hold.update();
        for index in 0..self.contenders_of[station.index()].len() {
            self.refresh(self.contenders_of[station.index()][index]);
        }
    }

    /// Records that `station` answers a frame that just ended; its response (Ack, Block Ack, CTS)
    /// ends at `until`. The SIFS before the response is no idle time for the station: a frame
    /// queued then finds the medium busy (10.23.2.2), as during the response.
    pub fn respond(&mut self, station: StationId, until: Instant) {
        let hold = &mut self.hold[station.index()];
        hold.response = until;
        hold.update();
    }

    /// Stops the contention of `station` from `now` on, because it turns its radio off or answers a
    /// frame that it does not sense. The station counts no slots until it
    /// [returns](Self::return_to_channel), and keeps those that are left.
    pub fn leave(&mut self, station: StationId, now: Instant) {
        let view = usize::from(self.view_of[station.index()]);
        if self.views[view].busy == 0 {
            self.resolve(view);
            for index in 0..self.contenders_of[station.index()].len() {
                let slot = self.slot;
                let contender = self.contender_mut(self.contenders_of[station.index()][index]);
                let over = contender.slots_over(now, slot);
                contender.freeze(over);
            }
        }
        self.hold(station, Instant::MAX);
    }

    /// Resumes the contention of `station`: NAV and EIFS from before are over, and AIFS begins at
    /// `now`.
    pub fn return_to_channel(&mut self, station: StationId, now: Instant) {
        let hold = &mut self.hold[station.index()];
        hold.network_allocation = Instant::ZERO;
        hold.extended_interframe_space = Instant::ZERO;
        self.hold(station, now);
    }

    /// Recomputes the access instant from the slots left, which must be as of
    /// the last busy time.
    fn refresh(&mut self, id: ContenderId) {
        let Self { views, places, hold, slot, .. } = self;
        let (view, place) = places[usize::from(id.0)];
        let view = &mut views[usize::from(view)];
        if view.resolved {
            let contender = &mut view.contenders[usize::from(place)];
            let until = hold[contender.station.index()].until;
            contender.restart(until.max(view.idle_since), *slot);
            let due = contender.due();
            view.set_due(place, due);
        }
    }

    /// Computes the access instants of an idle view.
    fn resolve(&mut self, view: usize) {
        let view = &mut self.views[view];
        if !view.resolved {
            view.resolve(&self.hold, self.slot);
        }
    }

    fn set_due(&mut self, id: ContenderId, at: Instant) {
        let (view, place) = self.places[usize::from(id.0)];
        self.views[usize::from(view)].set_due(place, at);
    }

    fn contender(&self, id: ContenderId) -> &ClearContender {
        let (view, place) = self.places[usize::from(id.0)];
        &self.views[usize::from(view)].contenders[usize::from(place)]
    }

    fn contender_mut(&mut self, id: ContenderId) -> &mut ClearContender {
        let (view, place) = self.places[usize::from(id.0)];
        &mut self.views[usize::from(view)].contenders[usize::from(place)]
    }
}

impl ClearView {
    fn new() -> Self {
        Self {
            busy: 0,
            idle_since: Instant::ZERO,
            contenders: Vec::new(),
            ids: Vec::new(),
            due: Vec::new(),
            aifs_min: Duration::MAX,
            resolved: true,
            next: Some(Instant::MAX),
        }
    }

    /// Instant before which no contender counts a slot.
    fn earliest_access(&self) -> Instant {
        self.idle_since.saturating_add(self.aifs_min)
    }

    /// Returns the index of a new contender.
    fn add(&mut self, id: ContenderId, contender: ClearContender) -> u16 {
        self.aifs_min = self.aifs_min.min(contender.aifs);
        self.contenders.push(contender);
        self.ids.push(id);
        self.due.push(Instant::MAX);
        (self.ids.len() - 1) as u16
    }

    /// Computes the access instants after the medium became idle.
    fn resolve(&mut self, hold: &[ClearHold], slot: Duration) {
        let mut next = Instant::MAX;
        for (contender, due) in self.contenders.iter_mut().zip(&mut self.due) {
            let until = hold[contender.station.index()].until;
            contender.restart(until.max(self.idle_since), slot);
            *due = contender.due();
            next = next.min(*due);
        }
        self.resolved = true;
        self.next = Some(next);
    }

    /// Keeps the slots not yet counted after the medium became busy.
    fn freeze(&mut self, now: Instant, slot: Duration) {
        // Most of them began to count at the same instant.
        let mut counted = (Instant::MAX, None);
        for contender in &mut self.contenders {
            if contender.counts_from != counted.0 {
                counted = (contender.counts_from, contender.slots_over(now, slot));
            }
            contender.freeze(counted.1);
        }
        self.due.fill(Instant::MAX);
        self.resolved = false;
        self.next = Some(Instant::MAX);
    }

    fn set_due(&mut self, place: u16, at: Instant) {
        let before = core::mem::replace(&mut self.due[usize::from(place)], at);
        match self.next {
            Some(next) if at <= next => self.next = Some(at),
            // It may have been the only one at that instant.
            Some(next) if before == next => self.next = None,
            _ => {}
        }
    }

    /// The earliest instant in `due` of its contenders.
    fn next(&mut self) -> Instant {
        let earliest = || self.due.iter().min().copied();
        let next = self.next.unwrap_or_else(|| earliest().unwrap_or(Instant::MAX));
        self.next = Some(next);
        next
    }
}

impl ClearHold {
    fn update(&mut self) {
        let heard = self.network_allocation.max(self.extended_interframe_space);
        self.until = heard.max(self.own).max(self.response);
    }
}

impl ClearContender {
    fn due(&self) -> Instant {
        if self.armed { self.access_at } else { Instant::MAX }
    }

    /// Number of slots that are over at `now`; `None` before the end of AIFS.
    fn slots_over(&self, now: Instant, slot: Duration) -> Option<u64> {
        (now >= self.counts_from).then(|| (now - self.counts_from) / slot)
    }

    /// First slot boundary from `now` on, which is after the contender's access instant.
    fn boundary(&self, now: Instant, slot: Duration) -> Instant {
        let since = now - self.access_at;
        self.access_at + slot * since.as_nanos().div_ceil(slot.as_nanos())
    }

    /// Keeps the slots that are not counted, given [`Self::slots_over`].
    fn freeze(&mut self, over: Option<u64>) {
        if let Some(slots) = over {
            // EDCA counted the end of AIFS, too.
            let counted = slots + u64::from(self.counting != Counting::Dcf);
            self.backoff = u64::from(self.backoff).saturating_sub(counted) as u32;
        }
    }

    fn restart(&mut self, idle_since: Instant, slot: Duration) {
        self.counts_from = idle_since.saturating_add(self.aifs);
        self.access_at = self.counts_from.saturating_add(slot * u64::from(self.backoff));
    }
}

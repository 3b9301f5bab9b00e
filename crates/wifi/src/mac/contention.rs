//! Channel access by DCF and EDCA in event time (IEEE 802.11-2020, 10.3.4 and 10.23.2): the
//! stations that may transmit, and when, without counting single slots.
//!
//! While the medium is idle for a contender, its access instant is fixed: end of the busy time (or
//! of NAV, EIFS or a response timeout) + AIFS + backoff slots. When the medium becomes busy, the
//! slots not yet counted are kept. DCF counts a slot at its end, and none while the medium is busy
//! (Tinnirello, Bianchi and Xiao 2010, against Bianchi's original model). EDCA counts at the
//! boundary that ends AIFS and at every later one, so a frozen counter is one lower (10.23.2.4).
//! Contenders with the same access instant collide.
//!
//! A *view* is a set of stations that sense the same transmitters. A cell in which all stations
//! hear each other has one view. Carrier sense acts at once: air propagation time is zero.
//!
//! Most idle times are the SIFS before a response, shorter than any AIFS. The access instants of a
//! view are therefore computed only when time has advanced that far.

use crate::station::StationId;
use alloc::vec::Vec;
use lasthop_units::{Duration, Instant};

/// Index of a contender: the EDCAF of a station for one category.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ContenderId(pub u16);

/// Rules by which a contender counts the slots of its backoff, and begins without one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counting {
    /// DCF: counts at the end of slots, begins at once on an idle medium (10.3.4.2).
    Dcf,
    /// EDCA, but begins at once on an idle medium.
    EdcaAtOnce,
    /// EDCA: counts and begins at slot boundaries (10.23.2.4).
    Edca,
}

/// All contenders of a cell, and carrier sense between their stations.
#[derive(Clone, Debug, PartialEq)]
pub struct Contention {
    slot: Duration,
    views: Vec<View>,
    /// View of each station.
    view_of: Vec<u16>,
    /// Views that sense each transmitter.
    sensed_by: Vec<Vec<u16>>,
    /// Whether a view senses a transmitter, by view * stations + transmitter.
    senses: Vec<bool>,
    /// Instant of each station before which AIFS does not begin, independent of the medium (NAV,
    /// EIFS, own exchange or timeout).
    hold: Vec<Hold>,
    /// The latest end of any EIFS.
    extended_until: Instant,
    /// Contenders of each station.
    contenders_of: Vec<Vec<ContenderId>>,
    /// View of each contender, and its index there.
    places: Vec<(u16, u16)>,
}

#[derive(Clone, Debug, PartialEq)]
struct View {
    /// Number of PPDUs on the air that it senses.
    busy: u32,
    /// Instant at which the last of them ended.
    idle_since: Instant,
    /// Contenders of the view; every operation applies to all of them at once.
    contenders: Vec<Contender>,
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
struct Hold {
    /// The latest of the following instants.
    until: Instant,
    network_allocation: Instant,
    extended_interframe_space: Instant,
    own: Instant,
    /// End of the response that the station owes.
    response: Instant,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Contender {
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

impl Contention {
    /// Returns the contention of stations; `senses[s][t]` is whether station `s` senses a PPDU of
    /// station `t`.
    pub fn new(slot: Duration, senses: &[Vec<bool>]) -> Self {
        Self::with_views(slot, senses, true)
    }

    /// Does the same with a view for each station, so that the medium can be busy for one station
    /// and idle for another that senses the same transmitters ([`Self::becomes_busy`]).
    pub fn separate(slot: Duration, senses: &[Vec<bool>]) -> Self {
        Self::with_views(slot, senses, false)
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
            views: alloc::vec![View::new(); rows.len()],
            view_of,
            sensed_by,
            hold: alloc::vec![Hold::default(); stations],
            extended_until: Instant::ZERO,
            contenders_of: alloc::vec![Vec::new(); stations],
            places: Vec::new(),
        }
    }

    /// Adds a contender that waits `aifs`, and has nothing to send yet.
    pub fn add(&mut self, station: StationId, aifs: Duration, counting: Counting) -> ContenderId {
        let id = ContenderId(self.places.len() as u16);
        let view = self.view_of[station.index()];
        let contender = Contender {
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

    /// The station of a contender.
    pub fn station(&self, id: ContenderId) -> StationId {
        self.contender(id).station
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

    /// Handles the beginning of a PPDU at `now` that `station`, which has a separate view, senses
    /// or sends.
    pub fn becomes_busy(&mut self, station: StationId, now: Instant) {
        self.sense(usize::from(self.view_of[station.index()]), now);
    }

    /// Handles the end of a PPDU at `now` for `station`, which has a separate view: it ends, or is
    /// ignored from then on.
    pub fn becomes_idle(&mut self, station: StationId, now: Instant) {
        let view = &mut self.views[usize::from(self.view_of[station.index()])];
        view.busy -= 1;
        if view.busy == 0 {
            view.idle_since = now;
        }
    }

    /// Lets `transmitter`, which has no PPDU on the air, be sensed by exactly these stations beside
    /// itself. All stations have separate views.
    pub fn listen(&mut self, transmitter: StationId, listeners: &[StationId]) {
        let Self { senses, sensed_by, view_of, .. } = self;
        let (stations, transmitter) = (view_of.len(), transmitter.index());
        for row in senses.chunks_exact_mut(stations) {
            row[transmitter] = false;
        }
        let by = &mut sensed_by[transmitter];
        by.clear();
        by.push(view_of[transmitter]);
        by.extend(listeners.iter().map(|listener| view_of[listener.index()]));
        for &view in &*by {
            senses[usize::from(view) * stations + transmitter] = true;
        }
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

    /// Handles a PPDU that `station` could not decode: AIFS begins at `until` (EIFS less AIFS after
    /// its end).
    pub fn extend_interframe_space(&mut self, station: StationId, until: Instant) {
        let hold = &mut self.hold[station.index()];
        hold.extended_interframe_space = until;
        hold.update();
        self.extended_until = self.extended_until.max(until);
    }

    /// Whether the EIFS of a station may last beyond `now`.
    pub fn extends_beyond(&self, now: Instant) -> bool {
        self.extended_until > now
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

    fn contender(&self, id: ContenderId) -> &Contender {
        let (view, place) = self.places[usize::from(id.0)];
        &self.views[usize::from(view)].contenders[usize::from(place)]
    }

    fn contender_mut(&mut self, id: ContenderId) -> &mut Contender {
        let (view, place) = self.places[usize::from(id.0)];
        &mut self.views[usize::from(view)].contenders[usize::from(place)]
    }
}

impl View {
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
    fn add(&mut self, id: ContenderId, contender: Contender) -> u16 {
        self.aifs_min = self.aifs_min.min(contender.aifs);
        self.contenders.push(contender);
        self.ids.push(id);
        self.due.push(Instant::MAX);
        (self.ids.len() - 1) as u16
    }

    /// Computes the access instants after the medium became idle.
    fn resolve(&mut self, hold: &[Hold], slot: Duration) {
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

impl Hold {
    fn update(&mut self) {
        let heard = self.network_allocation.max(self.extended_interframe_space);
        self.until = heard.max(self.own).max(self.response);
    }
}

impl Contender {
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

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    const SLOT: Duration = Duration::from_micros(9);
    const AIFS: Duration = Duration::from_micros(43);
    const A: StationId = StationId(0);
    const B: StationId = StationId(1);

    fn at(us: u64) -> Instant {
        Instant::ZERO + Duration::from_micros(us)
    }

    fn pair() -> (Contention, ContenderId, ContenderId) {
        let mut contention = Contention::new(SLOT, &vec![vec![true; 2]; 2]);
        let (a, b) =
            (contention.add(A, AIFS, Counting::Dcf), contention.add(B, AIFS, Counting::Dcf));
        (contention, a, b)
    }

    #[test]
    fn an_idle_medium_is_taken_at_once() {
        let (mut contention, a, _) = pair();
        assert!(contention.arm(a, at(100)));
        assert_eq!(contention.next_access(Instant::MAX), at(100));
    }

    #[test]
    fn backoff_freezes_and_goes_on() {
        let (mut contention, a, b) = pair();
        contention.set_backoff(a, 5);
        contention.set_backoff(b, 8);
        assert!(contention.arm(a, at(0)) && contention.arm(b, at(0)));
        assert_eq!(contention.next_access(Instant::MAX), at(43 + 45));
        contention.transmission_starts(A, at(88));
        assert_eq!(contention.next_access(Instant::MAX), Instant::MAX);
        contention.set_backoff(a, 7);
        contention.transmission_ends(A, at(1000));
        // B counted five of its eight slots.
        assert_eq!(contention.next_access(Instant::MAX), at(1000 + 43 + 27));
    }

    /// Six slots end before the station leaves, and at the end of AIFS it has counted seven.
    #[test]
    fn a_station_that_leaves_keeps_its_slots() {
        let mut contention = Contention::new(SLOT, &vec![vec![true; 2]; 2]);
        let b = contention.add(B, AIFS, Counting::EdcaAtOnce);
        contention.set_backoff(b, 8);
        contention.arm(b, at(0));
        contention.leave(B, at(43 + 54 + 5));
        assert_eq!(contention.next_access(Instant::MAX), Instant::MAX);
        contention.return_to_channel(B, at(5_000));
        assert_eq!(contention.next_access(Instant::MAX), at(5_000 + 43 + 9));
        contention.leave(B, at(5_001));
        contention.return_to_channel(B, at(6_000));
        assert_eq!(contention.next_access(Instant::MAX), at(6_000 + 43 + 9));
    }

    /// A contender that finds the medium idle begins at the next boundary (10.23.2.4); without that
    /// rule at once.
    #[test]
    fn edca_begins_at_a_slot_boundary() {
        for counting in [Counting::EdcaAtOnce, Counting::Edca] {
            let mut contention = Contention::new(SLOT, &vec![vec![true; 2]; 2]);
            let b = contention.add(B, AIFS, counting);
            let boundary = Instant::ZERO + AIFS + SLOT * 3;
            let now = boundary - Duration::from_micros(4);
            assert!(contention.arm(b, now));
            let begins = if counting == Counting::Edca { boundary } else { now };
            assert_eq!(contention.next_access(Instant::MAX), begins);
            contention.disarm(b);
            assert!(contention.arm(b, boundary));
            assert_eq!(contention.next_access(Instant::MAX), boundary);
        }
    }

    #[test]
    fn edca_counts_the_end_of_aifs() {
        let mut contention = Contention::new(SLOT, &vec![vec![true; 2]; 2]);
        let b = contention.add(B, AIFS, Counting::EdcaAtOnce);
        contention.set_backoff(b, 8);
        contention.arm(b, at(0));
        assert_eq!(contention.next_access(Instant::MAX), at(43 + 72));
        contention.transmission_starts(A, at(42));
        contention.transmission_ends(A, at(100));
        assert_eq!(contention.next_access(Instant::MAX), at(100 + 43 + 72), "AIFS was not over");
        contention.transmission_starts(A, at(100 + 43 + 5 * 9));
        contention.transmission_ends(A, at(1000));
        assert_eq!(contention.next_access(Instant::MAX), at(1000 + 43 + 2 * 9));
    }

    #[test]
    fn a_slot_that_is_not_over_does_not_count() {
        let (mut contention, a, b) = pair();
        contention.set_backoff(b, 8);
        contention.arm(b, at(0));
        contention.transmission_starts(A, at(43 + 5 * 9) - Duration::from_nanos(1));
        contention.transmission_ends(A, at(1000));
        assert_eq!(contention.next_access(Instant::MAX), at(1000 + 43 + 4 * 9));
        let _ = a;
    }

    /// Access instants up to a horizon: none before the end of the shortest AIFS.
    #[test]
    fn nobody_gains_access_before_the_shortest_aifs() {
        let mut contention = Contention::new(SLOT, &vec![vec![true; 2]; 2]);
        let long = contention.add(A, AIFS + SLOT, Counting::Dcf);
        let short = contention.add(B, AIFS, Counting::Dcf);
        contention.arm(long, at(0));
        contention.arm(short, at(0));
        contention.transmission_starts(A, at(10));
        contention.transmission_ends(A, at(100));
        assert_eq!(contention.next_access(at(142)), Instant::MAX);
        assert_eq!(contention.next_access(at(143)), at(143));
        contention.disarm(short);
        assert!(!contention.is_armed(short) && contention.is_armed(long));
        assert_eq!(contention.next_access(at(143)), at(152));
        contention.disarm(long);
        assert_eq!(contention.next_access(Instant::MAX), Instant::MAX);
    }

    /// 10.23.2.2: NAV, EIFS, an exchange of the station and a response that it owes make the medium
    /// busy for it until their end, a sensed PPDU as long as it lasts.
    #[test]
    fn what_makes_the_medium_busy() {
        type Change = fn(&mut Contention);
        let busy: [Change; 4] = [
            |contention| contention.reserve(B, at(300)),
            |contention| contention.extend_interframe_space(B, at(300)),
            |contention| contention.hold(B, at(300)),
            |contention| contention.respond(B, at(300)),
        ];
        for (number, change) in (0..).zip(busy) {
            let (mut contention, a, b) = pair();
            assert!(!contention.is_busy(B, at(0)) && !contention.extends_beyond(at(0)));
            change(&mut contention);
            assert!(contention.is_busy(B, at(299)) && !contention.is_busy(B, at(300)));
            assert!(!contention.is_busy(A, at(299)), "the other station's");
            assert_eq!(contention.is_reserved(B, at(299)), number == 0);
            assert_eq!(contention.extends_beyond(at(299)), number == 1);
            assert!(!contention.extends_beyond(at(300)));
            // With slots to count, no backoff is drawn; without, one is.
            assert!(contention.arm(a, at(10)));
            assert!(!contention.arm(b, at(10)));
            contention.set_backoff(b, 1);
            assert!(contention.arm(b, at(10)));
            assert_eq!(contention.station(b), B);
        }
        let (mut contention, ..) = pair();
        contention.transmission_starts(A, at(10));
        contention.transmission_starts(B, at(12));
        contention.transmission_ends(A, at(20));
        assert!(contention.is_busy(A, at(21)), "the other PPDU");
        contention.transmission_ends(B, at(22));
        assert!(!contention.is_busy(A, at(22)));
    }

    /// A decoded frame ends EIFS (10.3.2.3.7) and never shortens the NAV; on another channel
    /// neither counts.
    #[test]
    fn how_reservations_end() {
        let (mut contention, _, b) = pair();
        contention.extend_interframe_space(B, at(300));
        contention.reserve(B, at(200));
        contention.reserve(B, at(150));
        assert!(contention.is_busy(B, at(199)) && !contention.is_busy(B, at(200)));
        contention.extend_interframe_space(B, at(300));
        contention.return_to_channel(B, at(50));
        assert!(contention.is_busy(B, at(49)) && !contention.is_busy(B, at(50)));
        assert!(contention.arm(b, at(60)));
        assert_eq!(contention.next_access(Instant::MAX), at(50 + 43));
    }

    /// Stations with different views: each freezes according to its carrier sense, and winners are
    /// in order of index.
    #[test]
    fn views_freeze_for_themselves() {
        const C: StationId = StationId(2);
        // A and C do not sense each other; B senses both.
        let senses = [[true, true, false], [true, true, true], [false, true, true]];
        let mut contention = Contention::new(SLOT, &senses.map(|row| row.to_vec()));
        let [c, b, a] = [C, B, A].map(|station| contention.add(station, AIFS, Counting::Dcf));
        for id in [a, b, c] {
            contention.set_backoff(id, 2);
            contention.arm(id, at(0));
        }
        let mut winners = Vec::new();
        contention.winners(at(43 + 18), &mut winners);
        assert_eq!(winners, [c, b, a]);
        for (listener, row) in [A, B, C].into_iter().zip(senses) {
            for (transmitter, expected) in [A, B, C].into_iter().zip(row) {
                assert_eq!(contention.senses(listener, transmitter), expected);
            }
        }
        contention.transmission_starts(A, at(43 + 9));
        assert!(contention.is_busy(B, at(55)) && !contention.is_busy(C, at(55)));
        assert_eq!(contention.next_access(Instant::MAX), at(43 + 18), "C goes on");
        contention.disarm(c);
        contention.transmission_ends(A, at(200));
        assert_eq!(contention.next_access(Instant::MAX), at(200 + 43 + 9));
    }

    #[test]
    fn equal_counters_win_together() {
        let (mut contention, a, b) = pair();
        contention.set_backoff(a, 3);
        contention.set_backoff(b, 3);
        contention.arm(a, at(0));
        contention.arm(b, at(0));
        let mut winners = Vec::new();
        contention.winners(at(43 + 27), &mut winners);
        assert_eq!(winners, [a, b]);
    }

    #[test]
    fn arriving_at_a_busy_medium_asks_for_a_backoff() {
        let (mut contention, _, b) = pair();
        contention.transmission_starts(A, at(10));
        assert!(!contention.arm(b, at(20)));
        contention.set_backoff(b, 2);
        assert_eq!(contention.next_access(Instant::MAX), Instant::MAX);
        contention.transmission_ends(A, at(50));
        assert_eq!(contention.next_access(Instant::MAX), at(50 + 43 + 18));
    }

    #[test]
    fn a_hidden_transmitter_does_not_freeze() {
        let mut contention = Contention::new(SLOT, &[vec![true, false], vec![false, true]]);
        let b = contention.add(B, AIFS, Counting::Dcf);
        contention.set_backoff(b, 4);
        contention.arm(b, at(0));
        contention.transmission_starts(A, at(10));
        assert_eq!(contention.next_access(Instant::MAX), at(43 + 36));
        assert!(!contention.senses(B, A) && contention.senses(B, B));
    }

    #[test]
    fn reservations_and_eifs_delay() {
        let (mut contention, _, b) = pair();
        contention.arm(b, at(0));
        contention.transmission_starts(A, at(10));
        contention.extend_interframe_space(B, at(160));
        contention.transmission_ends(A, at(100));
        assert_eq!(contention.next_access(Instant::MAX), at(160 + 43));
        contention.transmission_starts(A, at(150));
        contention.reserve(B, at(300));
        contention.transmission_ends(A, at(200));
        assert_eq!(contention.next_access(Instant::MAX), at(300 + 43));
        assert!(contention.is_reserved(B, at(299)) && !contention.is_reserved(B, at(300)));
    }
}

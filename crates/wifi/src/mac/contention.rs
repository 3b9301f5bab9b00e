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
//! Contenders of a view with the same rules count the same slots. They share a *lane*, in which a step
//! for all is a short loop over numbers. A contender that counts from another instant than its
//! lane, because its NAV, EIFS, own exchange or response ends later, is *apart* until the medium
//! becomes busy. What all third parties to a PPDU learn from it is noted once for the view.
//!
//! Most idle times are the SIFS before a response, shorter than any AIFS. The access instants of a
//! view are therefore computed only when time has advanced that far.

mod lane;
#[cfg(test)]
mod reference;
#[cfg(test)]
mod tests;
mod view;

use crate::station::StationId;
use alloc::vec::Vec;
use lane::Times;
use lasthop_units::{Duration, Instant};
use view::{Around, Held, View};

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
    holds: Vec<Hold>,
    /// The latest end of any EIFS.
    extended_until: Instant,
    contenders: Vec<Contender>,
    /// Contenders of each station.
    contenders_of: Vec<Vec<ContenderId>>,
}

/// A contender, and its place.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Contender {
    station: StationId,
    view: u16,
    /// Its lane in the view.
    lane: u16,
    /// Its place in the lane.
    place: u16,
}

/// What holds the contenders of one station, beside the NAV that its view has in common.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
struct Hold {
    /// The latest of the following instants.
    until: Instant,
    network_allocation: Instant,
    extended_interframe_space: Instant,
    own: Instant,
    /// End of the response that the station owes.
    response: Instant,
    /// Whether the NAV that its view has in common is not its own.
    is_exempt: bool,
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
            holds: alloc::vec![Hold::default(); stations],
            extended_until: Instant::ZERO,
            contenders: Vec::new(),
            contenders_of: alloc::vec![Vec::new(); stations],
        }
    }

    /// Adds a contender that waits `aifs`, and has nothing to send yet.
    pub fn add(&mut self, station: StationId, aifs: Duration, counting: Counting) -> ContenderId {
        let id = ContenderId(self.contenders.len() as u16);
        let index = self.view_of[station.index()];
        let view = &mut self.views[usize::from(index)];
        let lane = view.lane(aifs, counting);
        let place = view.lanes[usize::from(lane)].push(id, station, 0) as u16;
        self.contenders.push(Contender { station, view: index, lane, place });
        self.contenders_of[station.index()].push(id);
        self.refresh(id);
        id
    }

    /// The station of a contender.
    #[inline]
    pub fn station(&self, id: ContenderId) -> StationId {
        self.contenders[usize::from(id.0)].station
    }

    /// Whether the medium is busy for `station` at `now`: physically, by its NAV, by its own
    /// exchange, or because it owes a response.
    pub fn is_busy(&self, station: StationId, now: Instant) -> bool {
        let view = &self.views[usize::from(self.view_of[station.index()])];
        view.is_busy() || self.holds[station.index()].until_after(view.reserved) > now
    }

    /// Whether the NAV of `station` extends beyond `now`.
    pub fn is_reserved(&self, station: StationId, now: Instant) -> bool {
        let hold = &self.holds[station.index()];
        let view = &self.views[usize::from(self.view_of[station.index()])];
        hold.network_allocation > now || !hold.is_exempt && view.reserved > now
    }

    /// Whether every station senses PPDUs of `transmitter`.
    #[inline]
    pub fn is_sensed_by_all(&self, transmitter: StationId) -> bool {
        self.sensed_by[transmitter.index()].len() == self.views.len()
    }

    /// Whether no contender counts a slot up to `until`, if no PPDU begins: each view has been idle
    /// for less than its shortest AIFS by then.
    #[inline]
    pub fn is_quiet(&self, until: Instant) -> bool {
        self.views.iter().all(|view| view.is_quiet(until))
    }

    /// Whether `listener` senses PPDUs of `transmitter`.
    pub fn senses(&self, listener: StationId, transmitter: StationId) -> bool {
        let view = usize::from(self.view_of[listener.index()]);
        self.senses[view * self.view_of.len() + transmitter.index()]
    }

    /// Records that the contender has a frame to send, from `now` on. Returns `false` if no backoff
    /// is in progress and the medium is busy: the caller must draw a backoff (10.23.2.2).
    pub fn arm(&mut self, id: ContenderId, now: Instant) -> bool {
        let (contender, view, mut around) = self.at(id);
        let place = usize::from(contender.place);
        let lane = view.lane_mut(contender);
        lane.set_armed(place, true);
        let must_draw = lane.left(place) == 0;
        let until = around.holds[contender.station.index()].until_after(view.reserved);
        if view.is_busy() || until > now {
            self.refresh(id);
            return !must_draw;
        }
        view.resolve(&mut around);
        let (slot, lane) = (around.slot, view.lane_mut(contender));
        let Times { counts_from, access_at } = lane.times(place, slot);
        if access_at < now {
            let begins = match lane.counting {
                Counting::Dcf | Counting::EdcaAtOnce => now,
                // The first slot boundary from `now` on.
                Counting::Edca => {
                    let slots = (now - access_at).as_nanos().div_ceil(slot.as_nanos());
                    access_at + slot * slots
                }
            };
            lane.set_apart(place, Times { counts_from, access_at: begins });
        }
        true
    }

    /// Records that the contender has no frame to send; its backoff continues.
    #[inline]
    pub fn disarm(&mut self, id: ContenderId) {
        let (contender, view, _) = self.at(id);
        view.disarm(contender);
    }

    /// Sets the slots to count down from the next idle time on.
    pub fn set_backoff(&mut self, id: ContenderId, slots: u32) {
        let (contender, view, _) = self.at(id);
        view.lane_mut(contender).set_left(usize::from(contender.place), slots);
        self.refresh(id);
    }

    /// Begins a backoff of `slots` for a contender that gained the medium at `now` and may not use
    /// it, as if its backoff had ended while the medium was busy (10.23.2.5): it counts from the
    /// next slot boundary on. The contender still has a frame to send.
    pub fn back_off(&mut self, id: ContenderId, slots: u32, now: Instant) {
        let (contender, view, around) = self.at(id);
        let place = usize::from(contender.place);
        let lane = view.lane_mut(contender);
        lane.set_left(place, slots);
        let counts_from = now.saturating_add(around.slot);
        lane.set_apart(place, Times::new(counts_from, slots, around.slot));
    }

    /// Whether the contender has a frame to send.
    #[inline]
    pub fn is_armed(&self, id: ContenderId) -> bool {
        let contender = self.contenders[usize::from(id.0)];
        let view = &self.views[usize::from(contender.view)];
        view.lane_of(contender).is_armed(usize::from(contender.place))
    }

    /// The instant from `since` on at which the contender would gain the channel if the medium stayed
    /// idle, whether or not it has a frame to send; `None` while the medium is busy.
    pub fn would_gain(&self, id: ContenderId, since: Instant) -> Option<Instant> {
        let contender = self.contenders[usize::from(id.0)];
        let view = &self.views[usize::from(contender.view)];
        let until = self.holds[contender.station.index()].until_after(view.reserved);
        if view.is_busy() || until == Instant::MAX {
            return None;
        }
        let (lane, place) = (view.lane_of(contender), usize::from(contender.place));
        let times = if view.is_resolved() {
            lane.times(place, self.slot)
        } else {
            let counts_from = until.max(view.idle_since()).saturating_add(lane.aifs);
            Times::new(counts_from, lane.left(place), self.slot)
        };
        Some(times.access_at.max(since))
    }

    /// Sets the AIFS of the contender at `now`; [`Duration::MAX`] prevents access. Slots that were
    /// counted before stay counted. A contender past its AIFS continues to count; otherwise the new
    /// AIFS ends no earlier than `now`.
    pub fn set_aifs(&mut self, id: ContenderId, aifs: Duration, now: Instant) {
        let slot = self.slot;
        let (contender, view, around) = self.at(id);
        let until = around.holds[contender.station.index()].until_after(view.reserved);
        let (is_resolved, idle_since) = (view.is_resolved(), view.idle_since());
        let lane = view.lane_of(contender);
        let (counting, left) = (lane.counting, lane.left(usize::from(contender.place)));
        let times = lane.times(usize::from(contender.place), slot);
        let was_apart = lane.is_apart(usize::from(contender.place));
        let contender = self.change_lane(id, aifs);
        let (_, view, _) = self.at(id);
        let (lane, place) = (view.lane_mut(contender), usize::from(contender.place));
        let is_counting = times.counts_from <= now;
        if !is_resolved {
            if was_apart {
                lane.set_apart(place, times);
            }
        } else if is_counting && aifs < Duration::MAX {
            lane.set_apart(place, times);
        } else {
            let over = is_counting.then(|| slots_over(now, times.counts_from, slot)).flatten();
            let left = counting.after(left, over);
            lane.set_left(place, left);
            let counts_from = until.max(idle_since).saturating_add(aifs).max(now);
            lane.set_apart(place, Times::new(counts_from, left, slot));
        }
    }

    /// Moves a contender to the lane of another AIFS.
    fn change_lane(&mut self, id: ContenderId, aifs: Duration) -> Contender {
        let Self { views, contenders, .. } = self;
        let Contender { station, view: index, lane, place } = contenders[usize::from(id.0)];
        let view = &mut views[usize::from(index)];
        let before = &mut view.lanes[usize::from(lane)];
        let (left, armed) = (before.left(usize::from(place)), before.is_armed(usize::from(place)));
        let counting = before.counting;
        before.remove(usize::from(place));
        if let Some(moved) = before.ids.get(usize::from(place)) {
            contenders[usize::from(moved.0)].place = place;
        }
        let lane = view.lane(aifs, counting);
        let after = &mut view.lanes[usize::from(lane)];
        let place = after.push(id, station, left);
        after.set_armed(place, armed);
        let contender = Contender { station, view: index, lane, place: place as u16 };
        contenders[usize::from(id.0)] = contender;
        contender
    }

    /// The earliest access instant; [`Instant::MAX`] if there is none, or none
    /// up to `horizon`.
    #[inline]
    pub fn next_access(&mut self, horizon: Instant) -> Instant {
        let slot = self.slot;
        let (views, mut around) = self.parts();
        let mut next = Instant::MAX;
        for view in views {
            if view.may_count_by(horizon) {
                view.resolve(&mut around);
            }
            next = next.min(view.next(slot));
        }
        next
    }

    /// Fills the empty list `winners` with all contenders whose access instant is `now`, in order
    /// of index.
    #[inline]
    pub fn winners(&mut self, now: Instant, winners: &mut Vec<ContenderId>) {
        for view in &mut self.views {
            if view.next(self.slot) == now {
                view.winners(now, self.slot, winners);
            }
        }
        if winners.len() > 1 {
            winners.sort_unstable();
        }
    }

    /// Handles the beginning of a PPDU of `transmitter` at `now`.
    pub fn transmission_starts(&mut self, transmitter: StationId, now: Instant) {
        for index in 0..self.sensed_by[transmitter.index()].len() {
            self.sense(usize::from(self.sensed_by[transmitter.index()][index]), now);
        }
    }

    /// Adds a PPDU that a view senses.
    #[inline]
    fn sense(&mut self, index: usize, now: Instant) {
        let (views, mut around) = self.parts();
        let view = &mut views[index];
        if view.begin_busy(now) {
            view.resolve(&mut around);
            view.freeze(now, around.slot);
        }
    }

    /// Handles the beginning of a PPDU at `now` that `station`, which has a separate view, senses
    /// or sends.
    pub fn becomes_busy(&mut self, station: StationId, now: Instant) {
        self.sense(usize::from(self.view_of[station.index()]), now);
    }

    /// Handles the end of a PPDU at `now` for `station`, which has a separate view: it ends, or is
    /// ignored from then on.
    pub fn becomes_idle(&mut self, station: StationId, now: Instant) {
        self.views[usize::from(self.view_of[station.index()])].end_busy(now);
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
            self.views[usize::from(view)].end_busy(now);
        }
    }

    /// Extends the NAV of `station` to `until` at least; a frame was decoded, so any EIFS ends
    /// (10.3.2.3.7).
    pub fn reserve(&mut self, station: StationId, until: Instant) {
        let (view, hold) = self.of_station(station);
        hold.extended_interframe_space = Instant::ZERO;
        hold.reserve(until, view.held_mut());
    }

    /// Does what [`Self::reserve`] does for every station that senses `transmitter`, whose PPDU ends
    /// at `now`: all but itself and the addressee.
    pub fn reserve_around(
        &mut self,
        transmitter: StationId,
        addressee: Option<StationId>,
        until: Instant,
        now: Instant,
    ) {
        if self.view_of.len() == 1 + usize::from(addressee.is_some()) {
            return;
        }
        if self.extended_until > now {
            self.end_extended_spaces(transmitter, addressee);
        }
        let Self { views, view_of, sensed_by, holds, .. } = self;
        for &index in &sensed_by[transmitter.index()] {
            let view = &mut views[usize::from(index)];
            let is_member = |station: &StationId| view_of[station.index()] == index;
            let others = [Some(transmitter), addressee].map(|one| one.filter(is_member));
            view.reserve_but(others, until, now, holds);
        }
    }

    /// Ends the EIFS of every station that senses `transmitter`, but of itself and the addressee.
    fn end_extended_spaces(&mut self, transmitter: StationId, addressee: Option<StationId>) {
        for station in (0..self.view_of.len() as u16).map(StationId) {
            let is_other = station == transmitter || Some(station) == addressee;
            if !is_other && self.senses(station, transmitter) {
                let (view, hold) = self.of_station(station);
                hold.extended_interframe_space = Instant::ZERO;
                hold.update(view.held_mut());
            }
        }
    }

    /// Handles a PPDU that `station` could not decode: AIFS begins at `until` (EIFS less AIFS after
    /// its end).
    pub fn extend_interframe_space(&mut self, station: StationId, until: Instant) {
        let (view, hold) = self.of_station(station);
        hold.extended_interframe_space = until;
        hold.update(view.held_mut());
        self.extended_until = self.extended_until.max(until);
    }

    /// Whether the EIFS of a station may last beyond `now`.
    pub fn extends_beyond(&self, now: Instant) -> bool {
        self.extended_until > now
    }

    /// Holds the contenders of `station` until `until` at least ([`Instant::MAX`] during its own
    /// exchange).
    pub fn hold(&mut self, station: StationId, until: Instant) {
        let (view, hold) = self.of_station(station);
        hold.own = until;
        hold.update(view.held_mut());
        if view.is_resolved() {
            for index in 0..self.contenders_of[station.index()].len() {
                self.refresh(self.contenders_of[station.index()][index]);
            }
        }
    }

    /// Records that `station` answers a frame that just ended; its response (Ack, Block Ack, CTS)
    /// ends at `until`. The SIFS before the response is no idle time for the station: a frame
    /// queued then finds the medium busy (10.23.2.2), as during the response.
    pub fn respond(&mut self, station: StationId, until: Instant) {
        let (view, hold) = self.of_station(station);
        hold.response = until;
        hold.update(view.held_mut());
    }

    /// Stops the contention of `station` from `now` on, because it turns its radio off or answers a
    /// frame that it does not sense. The station counts no slots until it
    /// [returns](Self::return_to_channel), and keeps those that are left.
    pub fn leave(&mut self, station: StationId, now: Instant) {
        let slot = self.slot;
        let index = usize::from(self.view_of[station.index()]);
        if !self.views[index].is_busy() {
            let (views, mut around) = self.parts();
            views[index].resolve(&mut around);
            let Self { views, contenders, contenders_of, .. } = self;
            for id in &contenders_of[station.index()] {
                let contender = contenders[usize::from(id.0)];
                let (lane, place) =
                    (views[index].lane_mut(contender), usize::from(contender.place));
                let over = slots_over(now, lane.times(place, slot).counts_from, slot);
                lane.set_left(place, lane.counting.after(lane.left(place), over));
            }
        }
        self.hold(station, Instant::MAX);
    }

    /// Resumes the contention of `station`: NAV and EIFS from before are over, and AIFS begins at
    /// `now`.
    pub fn return_to_channel(&mut self, station: StationId, now: Instant) {
        let (view, hold) = self.of_station(station);
        hold.network_allocation = Instant::ZERO;
        hold.extended_interframe_space = Instant::ZERO;
        view.exempt(station, hold);
        self.hold(station, now);
    }

    /// Recomputes the access instant from the slots left, which must be as of
    /// the last busy time.
    fn refresh(&mut self, id: ContenderId) {
        let (contender, view, around) = self.at(id);
        if view.is_resolved() {
            let until = around.holds[contender.station.index()].until_after(view.reserved);
            view.restart(contender, until, around.slot);
        }
    }

    /// The view of a station, and its hold.
    #[inline]
    fn of_station(&mut self, station: StationId) -> (&mut View, &mut Hold) {
        let view = &mut self.views[usize::from(self.view_of[station.index()])];
        (view, &mut self.holds[station.index()])
    }

    /// A contender, its view, and what the view depends on.
    #[inline]
    fn at(&mut self, id: ContenderId) -> (Contender, &mut View, Around<'_>) {
        let contender = self.contenders[usize::from(id.0)];
        let (views, around) = self.parts();
        (contender, &mut views[usize::from(contender.view)], around)
    }

    /// The views, and what they depend on.
    #[inline]
    fn parts(&mut self) -> (&mut [View], Around<'_>) {
        let Self { views, holds, slot, .. } = self;
        (views, Around { holds, slot: *slot })
    }
}

impl Hold {
    /// Brings the end of the hold up to date, in its view, too.
    #[inline]
    fn update(&mut self, held: &mut Held) {
        let heard = self.network_allocation.max(self.extended_interframe_space);
        held.forget(self.until);
        self.until = heard.max(self.own).max(self.response);
        held.note(self.until);
    }

    /// The end of the hold, given the NAV that the stations of the view have in common.
    #[inline]
    fn until_after(&self, reserved: Instant) -> Instant {
        if self.is_exempt { self.until } else { self.until.max(reserved) }
    }

    /// Extends the NAV to `until` at least.
    fn reserve(&mut self, until: Instant, held: &mut Held) {
        self.network_allocation = self.network_allocation.max(until);
        self.update(held);
    }
}

impl Counting {
    /// Slots left of `slots` after a busy time began when `over` of them had ended; `None` before the
    /// end of AIFS.
    #[inline]
    fn after(self, slots: u32, over: Option<u64>) -> u32 {
        let counted = over.map_or(0, |over| self.counted(over));
        u64::from(slots).saturating_sub(counted) as u32
    }

    /// Slots that are counted when `over` of them have ended since the end of AIFS.
    #[inline]
    fn counted(self, over: u64) -> u64 {
        // EDCA counted the end of AIFS, too.
        over + u64::from(self != Self::Dcf)
    }
}

/// Number of slots that are over at `now`; `None` before the end of AIFS.
#[inline]
fn slots_over(now: Instant, counts_from: Instant, slot: Duration) -> Option<u64> {
    (now >= counts_from).then(|| (now - counts_from) / slot)
}

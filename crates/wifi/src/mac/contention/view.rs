//! Stations that sense the same transmitters.

use super::lane::{Lane, Times};
use super::{Contender, ContenderId, Counting, Hold};
use crate::station::StationId;
use alloc::vec::Vec;
use lasthop_units::{Duration, Instant};

/// Stations that sense the same transmitters, and their contenders.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct View {
    /// Number of PPDUs on the air that it senses.
    busy: u32,
    /// Instant at which the last of them ended.
    idle_since: Instant,
    /// NAV of all its stations that are not exempt.
    pub reserved: Instant,
    /// Stations of the view that are exempt.
    exempt: Vec<StationId>,
    held: Held,
    /// Contenders by their rules.
    pub lanes: Vec<Lane>,
    /// The shortest AIFS of its contenders.
    aifs_min: Duration,
    /// Whether the medium is idle and the access instants of the contenders are known.
    resolved: bool,
    /// Instant at which the AIFS of the lanes began, if resolved.
    base: Instant,
    /// The earliest access instant, if known.
    next: Option<Instant>,
}

/// What the stations of a view are held by, beside the common NAV.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Held {
    /// The latest end of a hold.
    until: Instant,
    /// Number of stations that are held without an end.
    without_end: u32,
}

impl Held {
    /// Takes a hold away.
    #[inline]
    pub fn forget(&mut self, until: Instant) {
        self.without_end -= u32::from(until == Instant::MAX);
    }

    /// Adds a hold.
    #[inline]
    pub fn note(&mut self, until: Instant) {
        if until == Instant::MAX {
            self.without_end += 1;
        } else {
            self.until = self.until.max(until);
        }
    }

    /// Whether a station may be held beyond `now`.
    #[inline]
    const fn lasts_beyond(&self, now: Instant) -> bool {
        self.without_end > 0 || self.until.as_nanos() > now.as_nanos()
    }
}

/// What the contenders of a view depend on.
pub(super) struct Around<'a> {
    pub holds: &'a mut [Hold],
    pub slot: Duration,
}

impl View {
    pub const fn new() -> Self {
        Self {
            busy: 0,
            idle_since: Instant::ZERO,
            reserved: Instant::ZERO,
            exempt: Vec::new(),
            held: Held { until: Instant::ZERO, without_end: 0 },
            lanes: Vec::new(),
            aifs_min: Duration::MAX,
            resolved: true,
            base: Instant::ZERO,
            next: Some(Instant::MAX),
        }
    }

    /// Whether it senses a PPDU.
    #[inline]
    pub const fn is_busy(&self) -> bool {
        self.busy > 0
    }

    /// Whether the medium is idle and the access instants of the contenders are known.
    #[inline]
    pub const fn is_resolved(&self) -> bool {
        self.resolved
    }

    /// Instant at which the last PPDU ended.
    #[inline]
    pub const fn idle_since(&self) -> Instant {
        self.idle_since
    }

    /// What its stations are held by.
    #[inline]
    pub const fn held_mut(&mut self) -> &mut Held {
        &mut self.held
    }

    /// Instant before which no contender counts a slot.
    #[inline]
    fn earliest_access(&self) -> Instant {
        self.idle_since.saturating_add(self.aifs_min)
    }

    /// Whether no contender counts a slot up to `until`, if no PPDU begins.
    #[inline]
    pub fn is_quiet(&self, until: Instant) -> bool {
        !self.resolved && self.earliest_access() > until
    }

    /// Whether access instants up to `horizon` are not known yet.
    #[inline]
    pub fn may_count_by(&self, horizon: Instant) -> bool {
        !self.resolved && self.busy == 0 && self.earliest_access() <= horizon
    }

    /// Number of the lane with these rules, new if there is none.
    pub fn lane(&mut self, aifs: Duration, counting: Counting) -> u16 {
        self.aifs_min = self.aifs_min.min(aifs);
        let is_it = |lane: &Lane| (lane.aifs, lane.counting) == (aifs, counting);
        let known = self.lanes.iter().position(is_it);
        known.unwrap_or_else(|| {
            self.lanes.push(Lane::new(aifs, counting, self.base.saturating_add(aifs)));
            self.lanes.len() - 1
        }) as u16
    }

    /// The lane of a contender, to be changed.
    #[inline]
    pub fn lane_mut(&mut self, contender: Contender) -> &mut Lane {
        self.next = None;
        &mut self.lanes[usize::from(contender.lane)]
    }

    /// The lane of a contender.
    #[inline]
    pub fn lane_of(&self, contender: Contender) -> &Lane {
        &self.lanes[usize::from(contender.lane)]
    }

    /// Records that a contender has no frame to send.
    #[inline]
    pub fn disarm(&mut self, contender: Contender) {
        let is_resolved = self.resolved;
        let place = usize::from(contender.place);
        let lane = self.lane_mut(contender);
        lane.set_armed(place, false);
        if !is_resolved {
            lane.rejoin(place);
        }
    }

    /// Computes the access instant of a contender that is held until `until` anew. The view is
    /// resolved.
    #[inline]
    pub fn restart(&mut self, contender: Contender, until: Instant, slot: Duration) {
        let since = until.max(self.idle_since);
        let is_with_lane = since == self.base;
        let place = usize::from(contender.place);
        let lane = self.lane_mut(contender);
        if is_with_lane {
            lane.rejoin(place);
        } else {
            let counts_from = since.saturating_add(lane.aifs);
            lane.set_apart(place, Times::new(counts_from, lane.left(place), slot));
        }
    }

    /// Computes the access instants after the medium became idle.
    #[inline]
    pub fn resolve(&mut self, around: &mut Around<'_>) {
        if !self.resolved {
            self.begin_idle(around);
        }
    }

    fn begin_idle(&mut self, around: &mut Around<'_>) {
        self.resolved = true;
        self.next = None;
        self.base = self.idle_since.max(self.reserved);
        for lane in &mut self.lanes {
            lane.rejoin_all();
            lane.counts_from = self.base.saturating_add(lane.aifs);
        }
        if self.reserved <= self.idle_since {
            self.include_all(around.holds);
        }
        if self.held.lasts_beyond(self.idle_since) || !self.exempt.is_empty() {
            self.restart_held(around);
        }
    }

    /// Sets contenders apart that are held, or exempt from the common NAV.
    fn restart_held(&mut self, around: &mut Around<'_>) {
        let Self { lanes, idle_since, reserved, base, .. } = self;
        let since = |station: StationId| {
            let since = around.holds[station.index()].until_after(*reserved).max(*idle_since);
            (since != *base).then_some(since)
        };
        lanes.iter_mut().for_each(|lane| lane.set_apart_since(since, around.slot));
    }

    /// Ends all exemptions from the common NAV.
    #[inline]
    fn include_all(&mut self, holds: &mut [Hold]) {
        for station in self.exempt.drain(..) {
            holds[station.index()].is_exempt = false;
        }
    }

    /// Exempts a station from the common NAV.
    pub fn exempt(&mut self, station: StationId, hold: &mut Hold) {
        if !hold.is_exempt && self.reserved > Instant::ZERO {
            hold.is_exempt = true;
            self.exempt.push(station);
        }
    }

    /// Adds a PPDU that the view senses; returns whether contenders may have counted slots since the
    /// last one.
    #[inline]
    pub fn begin_busy(&mut self, now: Instant) -> bool {
        self.busy += 1;
        self.busy == 1 && (self.resolved || now >= self.earliest_access())
    }

    /// Takes a PPDU away that the view senses.
    #[inline]
    pub fn end_busy(&mut self, now: Instant) {
        self.busy -= 1;
        if self.busy == 0 {
            self.idle_since = now;
        }
    }

    /// Keeps the slots not yet counted after the medium became busy.
    #[inline]
    pub fn freeze(&mut self, now: Instant, slot: Duration) {
        self.lanes.iter_mut().for_each(|lane| lane.freeze(now, slot));
        self.resolved = false;
        self.next = Some(Instant::MAX);
    }

    /// Extends the NAV of all stations to `until` at least, when a PPDU ends at `now`: of all but
    /// `others`.
    pub fn reserve_but(
        &mut self,
        others: [Option<StationId>; 2],
        until: Instant,
        now: Instant,
        holds: &mut [Hold],
    ) {
        debug_assert!(self.busy > 0, "the PPDU is on the air");
        if self.reserved <= now {
            self.include_all(holds);
        } else if until < self.reserved {
            // Only who is exempt learns something.
            let Self { exempt, held, .. } = self;
            for station in exempt.iter().filter(|it| !others.contains(&Some(**it))) {
                holds[station.index()].reserve(until, held);
            }
            return;
        }
        self.exempt.retain(|station| {
            let is_other = others.contains(&Some(*station));
            holds[station.index()].is_exempt = is_other;
            is_other
        });
        for station in others.into_iter().flatten() {
            let hold = &mut holds[station.index()];
            if !hold.is_exempt {
                hold.is_exempt = true;
                self.exempt.push(station);
                if self.reserved > now {
                    // The NAV that was common stays its own.
                    hold.reserve(self.reserved, &mut self.held);
                }
            }
        }
        self.reserved = until;
    }

    /// The earliest access instant of its contenders.
    #[inline]
    pub fn next(&mut self, slot: Duration) -> Instant {
        if let Some(next) = self.next {
            return next;
        }
        let all = self.lanes.iter().map(|lane| lane.next(self.resolved, slot));
        let next = all.min().unwrap_or(Instant::MAX);
        self.next = Some(next);
        next
    }

    /// Adds the contenders that gain access at `now`.
    pub fn winners(&self, now: Instant, slot: Duration, winners: &mut Vec<ContenderId>) {
        self.lanes.iter().for_each(|lane| lane.winners(now, self.resolved, slot, winners));
    }
}

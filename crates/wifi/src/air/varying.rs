//! Stations that begin or cease to sense each other during a run: because they move, or because a
//! mean SNR changes in steps across the level of carrier sense.
//!
//! The levels of a transmitter at all others, and the stations that sense it, are determined when
//! it begins a PPDU, and stay until it begins another one. The end of a PPDU therefore makes the
//! medium idle for the stations for which its beginning made it busy. As interference a PPDU keeps
//! its power, too.
//!
//! Positions are those at the last whole millisecond. A PPDU lasts for up to 5.484 ms and keeps its
//! SNR meanwhile, so finer steps would change nothing: a walker at 1.4 m/s, 5 m away, gains or
//! loses 0.004 dB in one. Whole milliseconds, not the time since the last PPDU, make the SNR of a
//! pair a function of time only: traffic and other stations do not change it.

use super::{Air, weakest};
use crate::config::{CellConfig, Links, Movement, distance};
use crate::station::StationId;
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use lasthop_units::{Db, Duration, Instant, Meters};

/// Marks a pair without a strength of its own. It equals itself, so that a cell equals its copy.
const UNKNOWN: f64 = f64::INFINITY;

/// Time between two positions of a moving station.
const STEP: Duration = Duration::from_millis(1);

/// No step of a run.
const NEVER: u64 = u64::MAX;

/// State of a cell whose stations may begin or cease to sense each other.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Varying {
    moving: Option<Moving>,
    /// Receivers and mean SNRs of the changes that wait for the next PPDU of each transmitter, in
    /// ascending order.
    due: Vec<Vec<(StationId, Db)>>,
}

/// Stations that move.
#[derive(Clone, Debug, PartialEq)]
struct Moving {
    movement: Arc<Movement>,
    /// Stations whose position changes.
    movers: Vec<StationId>,
    is_mover: Vec<bool>,
    /// SNR of each link without its path loss, by transmitter * stations + receiver; not a number
    /// if the SNR does not follow the distance.
    strengths_db: Vec<f64>,
    /// Position of each station in a step of the run.
    positions: Vec<[Meters; 2]>,
    positions_of: u64,
    /// Step of the levels of each transmitter.
    levels_of: Vec<u64>,
}

impl Varying {
    /// Returns the state for a cell in which carrier sense may change.
    pub fn new(config: &CellConfig) -> Option<Box<Self>> {
        config.varies().then(|| {
            let moving = config.movement.as_ref().map(|movement| Moving::new(movement, config));
            Box::new(Self { moving, due: alloc::vec![Vec::new(); config.stations.len()] })
        })
    }
}

impl Moving {
    fn new(movement: &Arc<Movement>, config: &CellConfig) -> Self {
        let stations = config.stations.len();
        assert_eq!(movement.tracks.len(), stations, "each station has a track");
        let is_mover: Vec<bool> = movement.tracks.iter().map(|track| track.moves()).collect();
        let ids = (0..stations as u16).map(StationId);
        let positions: Vec<_> =
            movement.tracks.iter().map(|track| track.position(Instant::ZERO)).collect();
        let mut moving = Self {
            movement: Arc::clone(movement),
            movers: ids.filter(|id| is_mover[id.index()]).collect(),
            is_mover,
            strengths_db: alloc::vec![UNKNOWN; stations * stations],
            positions,
            positions_of: 0,
            levels_of: alloc::vec![0; stations],
        };
        for from in (0..stations as u16).map(StationId) {
            for to in (0..stations as u16).map(StationId) {
                let is_fixed = moving.movement.fixed.contains(&(from, to));
                let moves = moving.is_mover[from.index()] || moving.is_mover[to.index()];
                if moves
                    && !is_fixed
                    && let Some(snr) = config.links.snr(from, to)
                {
                    moving.set_first(from, to, snr);
                }
            }
        }
        moving
    }

    /// Sets the mean SNR that a link has at the positions at the beginning of the run.
    fn set_first(&mut self, from: StationId, to: StationId, snr: Db) {
        let Movement { path_loss, tracks, .. } = &*self.movement;
        let [one, other] = [from, to].map(|id| tracks[id.index()].position(Instant::ZERO));
        let index = self.index(from, to);
        self.strengths_db[index] = (snr + path_loss.at(distance(one, other))).0;
    }

    fn index(&self, from: StationId, to: StationId) -> usize {
        from.index() * self.positions.len() + to.index()
    }

    /// Mean SNR of a link that follows the distance, with the known positions.
    fn snr(&self, from: StationId, to: StationId) -> Option<Db> {
        let strength_db = self.strengths_db[self.index(from, to)];
        let apart = distance(self.positions[from.index()], self.positions[to.index()]);
        let snr = || Db(strength_db) - self.movement.path_loss.at(apart);
        (strength_db != UNKNOWN).then(snr)
    }

    /// Moves all stations to their positions at `now`; returns the step.
    fn advance(&mut self, now: Instant) -> u64 {
        let step = (now - Instant::ZERO) / STEP;
        if self.positions_of != step {
            let then = Instant::ZERO + STEP * step;
            for &id in &self.movers {
                self.positions[id.index()] = self.movement.tracks[id.index()].position(then);
            }
            self.positions_of = step;
        }
        step
    }

    /// Lists the mean SNRs of a transmitter that are new at `now`.
    fn new_snrs(
        &mut self,
        transmitter: StationId,
        now: Instant,
        links: &Links,
        found: &mut Vec<(StationId, Db)>,
    ) {
        let step = self.advance(now);
        if core::mem::replace(&mut self.levels_of[transmitter.index()], step) == step {
            return;
        }
        let row = links.row(transmitter);
        let mut add = |to: StationId| {
            if let Some(snr) = self.snr(transmitter, to).filter(|snr| *snr != row[to.index()]) {
                found.push((to, snr));
            }
        };
        if self.is_mover[transmitter.index()] {
            (0..row.len() as u16).map(StationId).filter(|to| *to != transmitter).for_each(&mut add);
        } else {
            self.movers.iter().copied().for_each(&mut add);
        }
    }
}

impl Air {
    /// Whether stations may begin or cease to sense each other. Then call
    /// [`Air::refresh_listeners`] before each PPDU.
    #[inline]
    pub fn varies(&self) -> bool {
        self.varying.is_some()
    }

    /// The stations that sense PPDUs of `transmitter`, itself excluded.
    pub fn listeners(&self, transmitter: StationId) -> &[StationId] {
        &self.listeners[transmitter.index()]
    }

    /// Determines the levels of `transmitter`, which begins a PPDU at `now`, and the stations that
    /// sense it; only with [`Air::varies`]. They stay until the next call, so the beginning and the
    /// end of a PPDU concern the same stations. Returns whether the stations that sense it may be
    /// others than before.
    #[inline(never)]
    pub fn refresh_listeners(&mut self, transmitter: StationId, now: Instant) -> bool {
        // A station that sends already keeps its levels.
        if self.flights.iter().any(|flight| flight.transmitter == transmitter) {
            return false;
        }
        let Some(mut varying) = self.varying.take() else { return false };
        while let Some((change, from, to)) = self.changes.pop_if(|(change, ..)| change.at <= now) {
            varying.due[from.index()].push((to, change.snr));
        }
        let due = core::mem::take(&mut varying.due[transmitter.index()]);
        for &(to, snr) in &due {
            self.set_level(transmitter, to, snr);
        }
        let mut found = Vec::new();
        if let Some(moving) = &mut varying.moving {
            moving.new_snrs(transmitter, now, &self.links, &mut found);
        }
        self.varying = Some(varying);
        for &(to, snr) in &found {
            self.set_level(transmitter, to, snr);
            if let Some(pair) = self.pairs.known(transmitter, to) {
                pair.link.set_snr(snr);
            }
        }
        let is_new = !due.is_empty() || !found.is_empty();
        if is_new {
            self.find_listeners(transmitter);
        }
        is_new
    }

    /// Sets the mean level of a link.
    pub(super) fn set_level(&mut self, from: StationId, to: StationId, snr: Db) {
        self.forget_sum();
        self.changed += 1;
        let noise = self.links.kinds()[self.links.kind_of(from, to)].noise;
        let index = from.index() * self.stations + to.index();
        self.powers_mw[index] = (noise + snr).as_milliwatts();
        self.bounds[from.index()].include(self.powers_mw[index]);
        Arc::make_mut(&mut self.links).set_snr(from, to, snr);
    }

    /// Finds the stations that sense a transmitter with its present levels.
    fn find_listeners(&mut self, transmitter: StationId) {
        let row = &self.powers_mw[transmitter.index() * self.stations..][..self.stations];
        let listeners = &mut self.listeners[transmitter.index()];
        listeners.clear();
        for (to, power_mw) in (0..).map(StationId).zip(row) {
            if to != transmitter && *power_mw >= self.carrier_sense_mw {
                listeners.push(to);
            }
        }
        self.weakest[transmitter.index()] = weakest(listeners, self.links.row(transmitter));
    }

    /// Sets the mean SNR that a link has at the positions at the beginning of the run, for PPDUs
    /// that begin from now on. If it no longer `follows` positions, or if no end of the link moves,
    /// returns `false`.
    pub(super) fn set_first_snr(
        &mut self,
        from: StationId,
        to: StationId,
        snr: Db,
        follows: bool,
    ) -> bool {
        let moving = self.varying.as_mut().and_then(|varying| varying.moving.as_mut());
        let Some(moving) = moving else { return false };
        let moves = moving.is_mover[from.index()] || moving.is_mover[to.index()];
        if follows && moves {
            moving.set_first(from, to, snr);
            moving.levels_of[from.index()] = NEVER;
            return true;
        }
        let index = moving.index(from, to);
        moving.strengths_db[index] = UNKNOWN;
        false
    }
}

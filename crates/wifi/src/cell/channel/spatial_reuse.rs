//! Spatial reuse by OBSS-PD (IEEE 802.11ax-2021, 26.10.2). From the end of HE-SIG-A on, a station
//! ignores an HE PPDU of another colour that it receives below a level in dBm; its AIFS begins
//! then. The level is for 20 MHz and increases with the width. Of a decoded frame of another set
//! without a colour, the station ignores the reservation. The station then sends with reduced power
//! until the end of its next transmission opportunity. A PPDU whose preamble the station missed
//! counts as energy, and is busy from -62 dBm on (IEEE 802.11-2020, 17.3.10.6, for OFDM;
//! 802.11ax-2021, 27.3.20.6, clause not seen; ns-3 uses -82 dBm at the end of a reception).
//! Stations without OBSS-PD defer to all PPDUs that they sense. Left out: SRG levels, parametrised
//! spatial reuse, Spatial Reuse fields that forbid it, levels that adapt, the sum of several PPDUs'
//! energy. The module also records for which stations a PPDU makes the medium busy if sets are on
//! different channels (`bandwidth`), or if stations may begin or cease to sense each other. Touches
//! its own state and what a [`Scene`] lends.

use super::Scene;
use super::exchange_of;
use super::navs::{Navs, Origin, by_colour};
use crate::air::{Air, Flight, Missing, Overheard, Reduction, is_below};
use crate::cell::CellError;
use crate::config::{CellConfig, ObssPd};
use crate::mac::contention::Contention;
use crate::phy::ChannelWidth;
use crate::station::StationId;
use alloc::vec::Vec;
use lasthop_units::{Db, Dbm, Instant};

/// Minimum power at which a PPDU without a detected preamble makes the medium busy.
const ENERGY_DETECTION: Dbm = Dbm(-62.0);

/// State of spatial reuse: ignored PPDUs, and stations with reduced power.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SpatialReuse {
    /// Whether a station ignores PPDUs; otherwise there are only several channels, or stations that
    /// begin or cease to sense each other.
    ignores: bool,
    /// Whether sets are on several channels.
    has_several_channels: bool,
    /// Level of each station, and the corresponding power reduction.
    rules: Vec<Option<(Dbm, Reduction)>>,
    /// The PPDUs on the air.
    sensed: Vec<Sensed>,
    /// Power restriction in force for each station.
    reductions: Vec<Reduction>,
    /// Number of changes of mean SNRs at the last check for missed preambles.
    changed: u64,
}

/// Stations for which a PPDU on the air makes the medium busy.
#[derive(Clone, Debug, PartialEq)]
struct Sensed {
    /// Number of the PPDU in the air's count.
    number: u64,
    transmitter: StationId,
    /// The transmitter, and the stations that sense the PPDU.
    busy_for: Vec<StationId>,
    /// Whether a station missed its preamble, by station; as many as needed.
    missed: Vec<bool>,
    /// Stations that ignore it by its colour.
    ignoring: Vec<StationId>,
}

impl Sensed {
    fn has_missed(&self, station: StationId) -> bool {
        self.missed.get(station.index()).is_some_and(|missed| *missed)
    }

    fn set_missed(&mut self, station: StationId, missed: bool) {
        let needed = station.index() + 1;
        if self.missed.len() < needed {
            self.missed.resize(needed, false);
        }
        self.missed[station.index()] = missed;
    }
}

impl SpatialReuse {
    /// Returns the state for the stations of a cell: if some have OBSS-PD; if sets are on several
    /// channels, so that a PPDU makes the medium busy only for some of the stations that hear it;
    /// or if carrier sense `varies`.
    ///
    /// # Errors
    /// Returns an error if a station with OBSS-PD has no rates of 802.11ax or 802.11be.
    pub fn new(config: &CellConfig, varies: bool) -> Result<Option<Self>, CellError> {
        let reusing = config.stations.iter().filter(|station| station.obss_pd.is_some());
        if reusing.clone().any(|station| !station.capabilities.is_he_or_later()) {
            return Err(CellError::SpatialReuseWithoutHe);
        }
        let stations = config.stations.len();
        let rule = |obss_pd: &ObssPd| (obss_pd.level, Reduction::new(obss_pd.reduction()));
        let ignores = reusing.count() > 0;
        let has_several_channels = config.has_several_channels();
        Ok((ignores || has_several_channels || varies).then(|| Self {
            ignores,
            has_several_channels,
            rules: config.stations.iter().map(|it| it.obss_pd.as_ref().map(rule)).collect(),
            sensed: Vec::new(),
            reductions: alloc::vec![Reduction::NONE; stations],
            changed: 0,
        }))
    }

    /// Whether stations overhear PPDUs by the plain rules: only the stations that sense each other
    /// change.
    pub fn is_plain(&self) -> bool {
        !self.ignores && !self.has_several_channels
    }

    /// Whether a PPDU of `transmitter` on the air makes the medium busy for `listener`.
    pub fn senses(&self, listener: StationId, transmitter: StationId) -> bool {
        let sent = self.sensed.iter().filter(|sensed| sensed.transmitter == transmitter);
        sent.flat_map(|sensed| &sensed.busy_for).any(|station| *station == listener)
    }

    /// The stations for which a PPDU on the air makes the medium busy.
    fn busy_for(&self, flight: &Flight) -> &[StationId] {
        let number = flight.overlaps.number();
        let sensed = self.sensed.iter().find(|sensed| sensed.number == number);
        sensed.map_or(&[], |sensed| &sensed.busy_for)
    }

    fn sensed(&mut self, number: u64) -> &mut Sensed {
        let sensed = self.sensed.iter_mut().find(|sensed| sensed.number == number);
        sensed.expect("it is on the air")
    }

    /// Whether `listener` ignores a frame without colour that reached it with this power.
    pub fn ignores_frame(&self, listener: StationId, power_mw: f64) -> bool {
        self.rules[listener.index()].is_some_and(|(level, _)| is_below(power_mw, level))
    }

    /// Begins a power restriction period of the station. The period ends with the station's next
    /// transmission opportunity, or with the ignored PPDU if the station has no frame to send by
    /// then.
    pub fn restrict(&mut self, station: StationId) {
        if let Some((_, reduction)) = self.rules[station.index()] {
            let now = &mut self.reductions[station.index()];
            *now = now.max(reduction);
        }
    }

    /// Puts a PPDU on the air with the power that its transmitter may use; it occupies a channel of
    /// width `occupied` if sets are on several.
    #[inline(never)]
    pub fn begin(
        &mut self,
        scene: &mut Scene<'_>,
        mut flight: Flight,
        occupied: Option<ChannelWidth>,
    ) {
        let Scene { now, air, contention, timers, .. } = scene;
        let transmitter = flight.transmitter;
        if air.varies() && air.refresh_listeners(transmitter, flight.start) {
            contention.listen(transmitter, air.listeners(transmitter));
        }
        flight.reduction = self.reductions[transmitter.index()];
        let mut busy_for = alloc::vec![transmitter];
        let width = occupied.unwrap_or(flight.rate.width());
        busy_for.extend(air.sensing(transmitter, flight.reduction, width));
        for &station in &busy_for {
            contention.becomes_busy(station, flight.start);
        }
        if let Some(end) = flight.signal_field_end().filter(|_| self.ignores) {
            timers.signal_field = timers.signal_field.min(end);
        }
        match occupied {
            Some(width) => air.begin_over(flight, width),
            None => air.begin(flight),
        }
        let begun = air.flights().last().expect("it just began");
        let number = begun.overlaps.number();
        let (missed, ignoring) = (Vec::new(), Vec::new());
        self.sensed.push(Sensed { number, transmitter, busy_for, missed, ignoring });
        if self.ignores {
            self.release_missed(air, contention, *now);
        }
    }

    /// Releases stations that miss the preamble of a PPDU because another one began.
    fn release_missed(&mut self, air: &mut Air, contention: &mut Contention, now: Instant) {
        let mut missed = Vec::new();
        let last = air.flights().last().map(|flight| flight.overlaps.number());
        let has_changed = core::mem::replace(&mut self.changed, air.changed()) != air.changed();
        for flight in air.flights() {
            // Of those before only the last one is new to it.
            let is_known = !has_changed && last != Some(flight.overlaps.number());
            let together = (!is_known).then(|| air.together_with(flight));
            let missing = if is_known { air.missing_by_last(flight) } else { Missing::Anybody };
            if missing == Missing::Nobody {
                continue;
            }
            let locks = |listener| match &together {
                Some(together) => air.locks_with(flight, together, listener),
                None => air.locks_despite_last(flight, listener),
            };
            let number = flight.overlaps.number();
            let Some(sensed) = self.sensed.iter().find(|sensed| sensed.number == number) else {
                continue;
            };
            for &listener in &sensed.busy_for {
                // Who missed it before still senses it, for it is strong.
                if listener != flight.transmitter
                    && missing.may_be(listener)
                    && !(is_known && sensed.has_missed(listener))
                    && self.rules[listener.index()].is_some()
                    && !locks(listener)
                {
                    let is_weak = is_below(air.received_mw(flight, listener), ENERGY_DETECTION);
                    missed.push((listener, number, is_weak));
                }
            }
        }
        for (listener, number, is_weak) in missed {
            air.ignore(listener, number, now);
            let sensed = self.sensed(number);
            sensed.set_missed(listener, true);
            if is_weak {
                sensed.busy_for.retain(|station| *station != listener);
                contention.becomes_idle(listener, now);
            }
        }
    }

    /// Handles the end of a PPDU: the medium becomes idle for the stations that sensed it.
    pub fn end(&mut self, scene: &mut Scene<'_>, flight: &Flight) {
        let Scene { now, contention, stations, .. } = scene;
        let number = flight.overlaps.number();
        let place = self.sensed.iter().position(|sensed| sensed.number == number);
        let Sensed { busy_for, ignoring, .. } =
            self.sensed.remove(place.expect("it was on the air"));
        for station in busy_for {
            contention.becomes_idle(station, *now);
        }
        for station in ignoring {
            let is_engaged = contention.is_contending(station)
                || stations[station.index()].exchange.is_some()
                || self.sensed.iter().any(|sensed| sensed.ignoring.contains(&station));
            if !is_engaged {
                self.reductions[station.index()] = Reduction::NONE;
            }
        }
    }

    /// Lets stations ignore the PPDUs whose HE-SIG-A ends now.
    pub fn end_signal_fields(&mut self, scene: &mut Scene<'_>) {
        let &mut Scene { now, settings, stations, .. } = scene;
        let Scene { air, contention, timers, .. } = scene;
        if timers.signal_field > now {
            return;
        }
        let set = |station: StationId| stations[station.index()].config.bss;
        let mut ignoring = Vec::new();
        for flight in air.signal_fields(now) {
            let together = air.together_with(flight);
            let wider = Db::from_linear((flight.rate.width().as_hz() / 1_000_000) as f64 / 20.0);
            for &listener in self.busy_for(flight) {
                let Some((level, _)) = self.rules[listener.index()] else { continue };
                let (own, theirs) = (set(listener), set(flight.transmitter));
                if listener == flight.transmitter
                    || stations[listener.index()].misses(air, flight)
                    || by_colour(own, theirs, &settings.bss) != Origin::Other
                {
                    continue;
                }
                let received_mw = air.hears_signal_field(flight, &together, listener);
                if received_mw.is_some_and(|power_mw| is_below(power_mw, level + wider)) {
                    ignoring.push((listener, flight.overlaps.number()));
                }
            }
        }
        for (listener, number) in ignoring {
            let sensed = self.sensed(number);
            sensed.busy_for.retain(|station| *station != listener);
            sensed.ignoring.push(listener);
            self.restrict(listener);
            air.ignore(listener, number, now);
            contention.becomes_idle(listener, now);
        }
        if self.ignores {
            timers.signal_field = air.next_signal_field(now);
        }
    }

    /// Handles the end of a PPDU at third parties, except those that ignore it.
    pub fn overhear(&mut self, scene: &mut Scene<'_>, flight: &Flight, navs: &mut [Navs]) {
        let until = scene.now + scene.settings.extended_space;
        let (several, uplink) = exchange_of(flight, scene.stations);
        for listener in self.busy_for(flight).to_vec() {
            if listener == flight.transmitter
                || several.is_some_and(|several| several.has(listener))
                || uplink.is_some_and(|uplink| uplink.has(listener))
            {
                continue;
            }
            match scene.air.overhears(flight, listener) {
                None => {}
                Some(Overheard::Failed) => {
                    scene.contention.extend_interframe_space(listener, until);
                }
                Some(Overheard::Decoded) => {
                    self.mind(scene, flight, listener, navs.get_mut(listener.index()));
                }
            }
        }
    }

    /// Handles a decoded frame at `listener`, a third party: its NAV, or a power restriction.
    fn mind(
        &mut self,
        scene: &mut Scene<'_>,
        flight: &Flight,
        listener: StationId,
        navs: Option<&mut Navs>,
    ) {
        let Scene { now, settings, stations, air, contention, .. } = scene;
        let set = |station: StationId| stations[station.index()].config.bss;
        let Some(navs) = navs else {
            return contention.reserve(listener, flight.reserves_until);
        };
        let (own, theirs) = (set(listener), set(flight.transmitter));
        let origin = navs.origin(own, theirs, &settings.bss, flight);
        let power_mw = air.received_mw(flight, listener);
        if origin == Origin::Other && !flight.has_colour() && self.ignores_frame(listener, power_mw)
        {
            if flight.reserves_until > *now {
                self.restrict(listener);
            }
            // It was decoded, so that no EIFS follows.
            contention.reserve(listener, *now);
            return;
        }
        navs.update(flight, origin);
        contention.reserve(listener, flight.reserves_until);
    }

    /// Handles a station's move to another channel, which it already has on the air: the medium
    /// is busy by the PPDUs there.
    pub fn retune(&mut self, air: &Air, contention: &mut Contention, now: Instant, of: StationId) {
        for sensed in self.sensed.iter_mut().filter(|sensed| sensed.transmitter != of) {
            if let Some(place) = sensed.busy_for.iter().position(|station| *station == of) {
                sensed.busy_for.swap_remove(place);
                contention.becomes_idle(of, now);
            }
            let flight = air.flights().find(|it| it.overlaps.number() == sensed.number);
            let Some(flight) = flight else { continue };
            let width = air.occupied(flight);
            if air.sensing(flight.transmitter, flight.reduction, width).any(|it| it == of) {
                sensed.busy_for.push(of);
                sensed.set_missed(of, false);
                contention.becomes_busy(of, now);
            }
        }
    }

    /// Ends the power restriction of a station with its transmission opportunity.
    pub fn lift_restriction(&mut self, station: StationId) {
        self.reductions[station.index()] = Reduction::NONE;
    }
}

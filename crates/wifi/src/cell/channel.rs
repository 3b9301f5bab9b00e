//! The channels of a cell's stations beyond carrier sense: the two NAVs of a station (`navs`),
//! spatial reuse (`spatial_reuse`), and channels of several widths (`bandwidth`). A PPDU begins,
//! ends and is overheard here, by the plain rules of contention unless the cell has one of the
//! three, or stations that begin or cease to sense each other.
//!
//! The functions borrow a [`Scene`]: they change the air, contention and the end of HE-SIG-A, and
//! read stations. The exceptions name the one station that they change.

mod bandwidth;
mod navs;
mod spatial_reuse;

use super::bss::BssFacts;
use super::config::CellConfig;
use super::exchange::multi_user::Downlink;
use super::exchange::uplink::Uplink;
use super::station::Station;
use super::timers::Timers;
use super::{CellError, Settings};
use crate::air::{Air, Carried, Flight, Overheard, SoundingFrame};
use crate::mac::contention::Contention;
use crate::phy::{ChannelWidth, Ru, Subchannel, Timing};
use crate::station::{Address, StationId};
use alloc::boxed::Box;
use alloc::vec::Vec;
use bandwidth::Bandwidth;
use lasthop_units::Instant;
use navs::Navs;
use spatial_reuse::SpatialReuse;

/// NAVs, spatial reuse and the widths of channels in a cell.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Channels {
    /// The two NAVs of each station; empty if only their maximum matters.
    navs: Vec<Navs>,
    /// State of spatial reuse, of several channels, or of carrier sense that varies; boxed because
    /// most cells have none.
    reuse: Option<Box<SpatialReuse>>,
    /// State of the channels, if sets are on several.
    bandwidth: Option<Box<Bandwidth>>,
}

/// The parts of the cell that the channels use.
pub(super) struct Scene<'a> {
    pub now: Instant,
    pub settings: &'a Settings,
    pub stations: &'a [Station],
    pub air: &'a mut Air,
    pub contention: &'a mut Contention,
    pub timers: &'a mut Timers,
}

impl Channels {
    /// The state for the stations of a cell, in which carrier sense may vary.
    ///
    /// # Errors
    /// Returns an error for a station that has no rates for spatial reuse, or whose width exceeds
    /// the channels of the band at its place.
    pub fn new(
        config: &CellConfig,
        sets: &[BssFacts],
        timing: Timing,
        varies: bool,
    ) -> Result<Self, CellError> {
        Ok(Self {
            navs: Navs::all(config, sets.len()),
            reuse: SpatialReuse::new(config, varies)?.map(Box::new),
            bandwidth: Bandwidth::new(config, sets, timing)?.map(Box::new),
        })
    }

    /// Contention of stations that sense each other as the air says.
    pub fn contention(&self, timing: Timing, air: &Air) -> Contention {
        match &self.reuse {
            None => Contention::new(timing.slot, &air.sense_matrix()),
            Some(_) => Contention::separate(timing.slot, &air.sense_matrix()),
        }
    }

    /// Whether `listener` senses PPDUs of `transmitter`; with spatial reuse, whether it senses one
    /// on the air.
    pub fn senses(
        &self,
        contention: &Contention,
        listener: StationId,
        transmitter: StationId,
    ) -> bool {
        match &self.reuse {
            None => contention.senses(listener, transmitter),
            Some(reuse) => reuse.senses(listener, transmitter),
        }
    }

    /// Whether the channels of two stations overlap.
    pub fn overlap(&self, one: StationId, other: StationId) -> bool {
        self.bandwidth.as_ref().is_none_or(|bandwidth| bandwidth.overlap(one, other))
    }

    /// Whether all stations are on one channel, without spatial reuse, and sense each other as in the
    /// beginning.
    #[inline]
    pub const fn are_plain(&self) -> bool {
        self.reuse.is_none()
    }

    /// Puts a PPDU on the air.
    #[inline]
    pub fn begin(&mut self, scene: &mut Scene<'_>, flight: Flight) {
        if let Some(reuse) = &mut self.reuse {
            let occupied =
                self.bandwidth.as_ref().map(|it| it.occupied_by(&flight, scene.stations));
            return reuse.begin(scene, flight, occupied);
        }
        scene.contention.transmission_starts(flight.transmitter, flight.start);
        scene.air.begin(flight);
    }

    /// Handles the end of a PPDU: the medium becomes idle for the stations that sensed it.
    #[inline]
    pub fn end(&mut self, scene: &mut Scene<'_>, flight: &Flight) {
        let Some(reuse) = &mut self.reuse else {
            return scene.contention.transmission_ends(flight.transmitter, scene.now);
        };
        if let Some(bandwidth) = &mut self.bandwidth {
            bandwidth.ended(flight, scene.air.occupied(flight));
        }
        reuse.end(scene, flight);
    }

    /// Lets stations ignore the PPDUs whose HE-SIG-A ends now.
    pub fn end_signal_fields(&mut self, scene: &mut Scene<'_>) {
        if let Some(reuse) = &mut self.reuse {
            reuse.end_signal_fields(scene);
        }
    }

    /// Sets the NAV of stations that are not addressed, or lets them wait for EIFS.
    #[inline]
    pub fn overhear(&mut self, scene: &mut Scene<'_>, flight: &Flight) {
        if self.reuse.is_none() && !scene.air.is_overheard(flight) {
            return;
        }
        let failed_until = scene.now + scene.settings.extended_space;
        let Scene { now, air, contention, .. } = scene;
        let is_decoded_by_all = air.is_decoded_by_all(flight);
        if is_decoded_by_all && flight.reserves_until <= *now && !contention.extends_beyond(*now) {
            // The NAV ends with the PPDU, and there is no EIFS to cut short.
            return;
        }
        if flight.carried.is_of_several() || !self.navs.is_empty() || self.reuse.is_some() {
            return self.overhear_outside(scene, flight);
        }
        if is_decoded_by_all {
            let addressee = match flight.receiver {
                Address::Station(station) => Some(station),
                Address::Group => None,
            };
            let until = flight.reserves_until;
            return contention.reserve_around(flight.transmitter, addressee, until, *now);
        }
        air.overhear(flight, |listener, overheard| match overheard {
            Overheard::Decoded => contention.reserve(listener, flight.reserves_until),
            Overheard::Failed => contention.extend_interframe_space(listener, failed_until),
        });
    }

    /// Does the same for PPDUs of several stations, and for stations with two NAVs or spatial
    /// reuse.
    // Where the two are one, listeners to a plain PPDU take half as long again.
    #[inline(never)]
    fn overhear_outside(&mut self, scene: &mut Scene<'_>, flight: &Flight) {
        if flight.carried == Carried::Sounding(SoundingFrame::Ndp) {
            return;
        }
        if let Some(reuse) = self.reuse.as_mut().filter(|reuse| !reuse.is_plain()) {
            return reuse.overhear(scene, flight, &mut self.navs);
        }
        let failed_until = scene.now + scene.settings.extended_space;
        let Scene { air, contention, stations, settings, .. } = scene;
        let (several, uplink) = exchange_of(flight, stations);
        let set = |station: StationId| stations[station.index()].config.bss;
        air.overhear(flight, |listener, overheard| match overheard {
            _ if several.is_some_and(|several| several.has(listener))
                || uplink.is_some_and(|uplink| uplink.has(listener)) => {}
            Overheard::Decoded => {
                contention.reserve(listener, flight.reserves_until);
                if let Some(navs) = self.navs.get_mut(listener.index()) {
                    let theirs = set(flight.transmitter);
                    navs.update(flight, navs.origin(set(listener), theirs, &settings.bss, flight));
                }
            }
            Overheard::Failed => contention.extend_interframe_space(listener, failed_until),
        });
    }

    /// Whether `receiver` answers a decoded RTS: its NAVs permit it, and enough of its channel was
    /// idle. The sender's payload is as wide as the answer.
    pub fn clears(
        &self,
        air: &Air,
        contention: &Contention,
        stations: &mut [Station],
        flight: &Flight,
        receiver: StationId,
    ) -> bool {
        let (sender, now) = (flight.transmitter, flight.end);
        let may_answer = !contention.is_reserved(receiver, now)
            || self.navs.get(receiver.index()).is_some_and(|navs| navs.allows(sender, now));
        may_answer
            && self.bandwidth.as_ref().is_none_or(|bandwidth| {
                bandwidth.clears(air, &mut stations[sender.index()], receiver, flight)
            })
    }

    /// Whether a station may answer a Trigger frame, its own exchanges apart: it senses no PPDU on
    /// its primary channel or on those of its RU in a PPDU of this width, and its basic NAV is
    /// over.
    pub fn may_answer(
        &self,
        scene: &Scene<'_>,
        station: StationId,
        ru: Ru,
        width: ChannelWidth,
    ) -> bool {
        let &Scene { now, ref air, ref contention, .. } = scene;
        let navs = self.navs.get(station.index());
        let bandwidth = self.bandwidth.as_ref();
        navs.is_none_or(|navs| navs.basic <= now)
            && bandwidth.is_none_or(|it| it.is_idle_around(air, station, now, ru, width))
            && !air.carries_any(|other| self.senses(contention, station, other))
    }

    /// Clears the NAVs of a station that leaves the channel.
    pub fn forget_navs(&mut self, station: StationId) {
        if let Some(navs) = self.navs.get_mut(station.index()) {
            *navs = Navs::default();
        }
    }

    /// Moves a station, which is in no exchange, to the channel of another set.
    pub fn retune(
        &mut self,
        air: &mut Air,
        contention: &mut Contention,
        now: Instant,
        station: StationId,
        primary: Subchannel,
    ) {
        air.retune(station, primary);
        if let Some(bandwidth) = &mut self.bandwidth {
            bandwidth.retune(station, primary);
        }
        if let Some(reuse) = &mut self.reuse {
            reuse.retune(air, contention, now, station);
        }
    }

    /// Ends the power restriction of a station with its transmission opportunity.
    #[inline]
    pub fn lift_restriction(&mut self, station: StationId) {
        if let Some(reuse) = &mut self.reuse {
            reuse.lift_restriction(station);
        }
    }

    /// Limits a station to `width` from now on.
    pub fn set_width(&mut self, station: StationId, width: ChannelWidth) {
        if let Some(bandwidth) = &mut self.bandwidth {
            bandwidth.set_width(station, width);
        }
    }

    /// Lets an EDCAF of `station`, which gained its primary channel, begin with the idle width; if
    /// it may not begin, returns the slots of another backoff.
    #[inline]
    pub fn must_back_off(
        &self,
        air: &Air,
        now: Instant,
        station: &mut Station,
        edcaf: usize,
    ) -> Option<u32> {
        self.bandwidth.as_ref()?.must_back_off(air, now, station, edcaf)
    }

    /// Limits later PPDUs of a station's TXOP to the width of the one that begins.
    #[inline]
    pub fn stay_within(&self, station: &mut Station) {
        if self.bandwidth.is_some() {
            station.stay_within_exchange();
        }
    }
}

/// The exchange with several stations that a PPDU belongs to, in the downlink and in the uplink;
/// its participants are no third parties to the PPDU.
fn exchange_of<'a>(
    flight: &Flight,
    stations: &'a [Station],
) -> (Option<&'a Downlink>, Option<&'a Uplink>) {
    let several = match (flight.carried, flight.receiver) {
        (Carried::MultiUser { .. } | Carried::Trigger, _) => Some(flight.transmitter),
        (Carried::TriggeredBlockAck { .. }, Address::Station(receiver)) => Some(receiver),
        _ => None,
    };
    let soliciting = match (flight.carried, flight.receiver) {
        (Carried::Solicitation, _) => Some(flight.transmitter),
        (Carried::Triggered { .. }, Address::Station(receiver)) => Some(receiver),
        _ => None,
    };
    (
        several.and_then(|of| stations[of.index()].exchange.as_ref()?.downlink()),
        soliciting.and_then(|of| stations[of.index()].exchange.as_ref()?.uplink()),
    )
}

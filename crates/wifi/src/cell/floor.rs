//! The floor: stations, their queues and their access to the channel, as power save borrows them
//! from the cell. It queues frames, lets EDCAFs contend, and takes a station off its channel; it
//! begins no exchange and decodes nothing.

use super::Settings;
use super::bss::Bss;
use super::channel::Channels;
use super::config::EdcaParameters;
use super::devices::Devices;
use super::edcaf::{BEACON_EDCAF, EDCAFS, Edcaf};
use super::exchange::uplink::Reports;
use super::frames::Context;
use super::outbox::Outbox;
use super::power::Power;
use super::station::Station;
use super::timers::Timers;
use crate::air::{Air, Rates};
use crate::mac::contention::{Contention, Counting};
use crate::station::{BssId, StationId};
use alloc::boxed::Box;
use lasthop_units::{Identity, Instant};

/// The parts of the cell that power save uses.
pub(super) struct Floor<'a> {
    pub now: Instant,
    pub settings: &'a Settings,
    pub stations: &'a mut [Station],
    pub bss: &'a mut [Bss],
    pub contention: &'a mut Contention,
    pub timers: &'a mut Timers,
    pub air: &'a mut Air,
    pub channels: &'a mut Channels,
    pub devices: &'a mut Devices,
    pub rates: &'a mut Rates,
    pub outbox: &'a mut Outbox,
}

/// Stations and their sets, to look at.
#[derive(Clone, Copy)]
pub(super) struct Roster<'a> {
    pub settings: &'a Settings,
    pub stations: &'a [Station],
    pub bss: &'a [Bss],
}

impl Roster<'_> {
    /// The access point of a basic service set.
    pub fn access_point(&self, bss: BssId) -> StationId {
        self.settings.bss[bss.index()].access_point
    }

    /// The basic service set of a station.
    pub fn bss_of(&self, station: StationId) -> BssId {
        self.stations[station.index()].config.bss
    }

    /// The access point of a station's set, possibly the station itself.
    pub fn access_point_of(&self, station: StationId) -> StationId {
        self.access_point(self.bss_of(station))
    }

    /// Whether the station is the access point of its set.
    pub fn is_access_point(&self, station: StationId) -> bool {
        self.access_point_of(station) == station
    }
}

impl Floor<'_> {
    /// Stations and their sets, to look at.
    pub fn roster(&self) -> Roster<'_> {
        Roster { settings: self.settings, stations: self.stations, bss: self.bss }
    }

    /// A station and the context of its procedures.
    pub fn at<'a>(
        &'a mut self,
        power: &'a mut Power,
        station: StationId,
    ) -> (&'a mut Station, Context<'a>) {
        let Self { now, settings, rates, outbox, stations, .. } = self;
        let services = &mut power.services;
        (&mut stations[station.index()], Context { now: *now, settings, rates, outbox, services })
    }

    /// An EDCAF, created at its first use.
    pub fn edcaf(&mut self, power: &Power, station: StationId, edcaf: usize) -> &mut Edcaf {
        if self.stations[station.index()].edcafs[edcaf].is_none() {
            if edcaf < EDCAFS && self.devices.has(station) {
                self.make_linked_edcafs(power, station, edcaf);
            } else {
                self.make_edcaf(power, station, edcaf);
            }
        }
        self.stations[station.index()].edcaf(edcaf)
    }

    /// Creates an EDCAF.
    #[cold]
    pub fn make_edcaf(&mut self, power: &Power, station: StationId, edcaf: usize) {
        let config = &self.stations[station.index()].config;
        let parameters = config.access.get(edcaf).copied().unwrap_or(EdcaParameters::BEACON);
        let aifs = self.settings.timing.aifs(parameters.aifsn);
        // Older generations begin at once on an idle medium: their runs stay as they are.
        let counting = match (config.capabilities.qos, edcaf < EDCAFS) {
            (false, _) => Counting::Dcf,
            (true, true) if config.capabilities.is_eht() => Counting::Edca,
            (true, _) => Counting::EdcaAtOnce,
        };
        let contender = self.contention.add(station, aifs, counting);
        let identity = config.identity.to(Identity::numbered(edcaf as u64));
        let perturbation = self.settings.seed.stream_of("cell/queue/perturbation", identity);
        let backoff = self.settings.seed.stream_of("cell/station/backoff", identity);
        let mut new = Edcaf::new(contender, config, parameters, perturbation, backoff);
        if self.roster().is_access_point(station) {
            let bss = self.bss_of(station);
            let dozing = power.dozing.iter().copied();
            new.absent.dozing = dozing.filter(|other| self.bss_of(*other) == bss).collect();
            new.absent.holds_group = power.is_saving(self, bss);
        }
        if let Some(away) = &self.stations[station.index()].away {
            new.gate = away.gate();
        }
        if edcaf < BEACON_EDCAF && self.stations[station.index()].config.solicits() {
            new.reports = Some(Box::new(Reports::default()));
        }
        self.stations[station.index()].edcafs[edcaf] = Some(Box::new(new));
    }

    /// Lets the EDCAF contend if it has work and does not contend yet; returns whether it began to.
    pub fn arm(&mut self, station: StationId, edcaf: usize) -> bool {
        if edcaf < EDCAFS && self.devices.has(station) {
            return self.arm_links(station, edcaf);
        }
        self.stations[station.index()].arm(self.contention, self.now, edcaf)
    }

    /// The access point of a basic service set.
    pub fn access_point(&self, bss: BssId) -> StationId {
        self.settings.bss[bss.index()].access_point
    }

    /// The basic service set of a station.
    pub fn bss_of(&self, station: StationId) -> BssId {
        self.stations[station.index()].config.bss
    }

    /// The access point of a station's set, possibly the station itself.
    pub fn access_point_of(&self, station: StationId) -> StationId {
        self.access_point(self.bss_of(station))
    }
}

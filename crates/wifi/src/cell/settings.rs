//! Settings of a cell: facts that follow from its configuration and stay the same during a run. The
//! checks of a configuration are here too. The module reads the configuration, and changes nothing.

use super::CellError;
use super::bss::BssFacts;
use super::config::{CellConfig, PeerRate, Role, StationConfig};
use super::exchange::mu_mimo;
use crate::capabilities::Capabilities;
use crate::mac::schedule::AbsenceConfig;
use crate::mac::service_period::ServicePeriodConfig;
use crate::mac::sizes;
use crate::phy::{Band, ErrorModel, OperatingMode, Rate, Timing};
use crate::station::StationId;
use alloc::vec::Vec;
use lasthop_units::{Duration, Identity, Seed};

/// Facts that follow from the configuration and stay the same during a run.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Settings {
    pub band: Band,
    pub timing: Timing,
    pub group_rate: Rate,
    pub beacon_interval: Option<Duration>,
    pub dtim_period: u8,
    pub independent: bool,
    /// Whether sets may move to other channels.
    pub channels_vary: bool,
    /// Whether an access point solicits uplink PPDUs.
    pub has_uplink: bool,
    /// Stations that also deliver packets to other stations.
    pub promiscuous: Vec<StationId>,
    /// EIFS less AIFS: SIFS + Ack at the lowest basic rate.
    pub extended_space: Duration,
    /// Facts of the sets, by [`BssId`](crate::BssId).
    pub bss: Vec<BssFacts>,
    /// Identity (the key of its random streams) and capabilities of each station.
    pub peers: Vec<(Identity, Capabilities)>,
    pub error_model: ErrorModel,
    pub seed: Seed,
}

impl Settings {
    /// The settings of a cell with these sets, whose lowest basic rate is `lowest`.
    pub fn new(
        config: &CellConfig,
        sets: Vec<BssFacts>,
        timing: Timing,
        lowest: Rate,
        seed: Seed,
    ) -> Self {
        let stations = config.stations.iter().enumerate();
        let promiscuous = stations.filter(|(_, station)| station.promiscuous);
        let peer = |station: &StationConfig| (station.identity, station.capabilities.clone());
        Self {
            band: config.band,
            extended_space: timing.sifs + lowest.ppdu_duration(sizes::ACK, config.band),
            timing,
            group_rate: config.group_rate.unwrap_or(lowest),
            beacon_interval: config.beacon_interval,
            dtim_period: config.dtim_period,
            independent: config.independent,
            channels_vary: config.channels_vary,
            has_uplink: config.stations.iter().any(StationConfig::solicits),
            promiscuous: promiscuous.map(|(index, _)| StationId(index as u16)).collect(),
            bss: sets,
            peers: config.stations.iter().map(peer).collect(),
            error_model: config.error_model.clone(),
            seed,
        }
    }
}

/// Checks a configuration with these sets.
///
/// # Errors
/// Returns an error for a configuration that no cell can have, links and channels apart.
pub(super) fn check(config: &CellConfig, sets: &[BssFacts]) -> Result<(), CellError> {
    if config.basic_rates.is_empty() {
        return Err(CellError::NoBasicRate);
    }
    super::devices::check(config)?;
    super::roam::check(config, sets.len())?;
    super::steer::check(config)?;
    for station in &config.stations {
        check_ofdma(station)?;
    }
    for station in &config.stations {
        mu_mimo::check(station)?;
    }
    for station in &config.stations {
        check_power_save(config, station)?;
        check_absences(station)?;
    }
    for (index, station) in config.stations.iter().enumerate() {
        check_service_periods(config, station)?;
        let is_possible = |mode: OperatingMode| {
            config.has_operating_modes(StationId(index as u16)) && station.capabilities.allow(&mode)
        };
        if !station.operating_mode.is_none_or(is_possible) {
            return Err(CellError::OperatingMode);
        }
    }
    if config.is_punctured() {
        let covers = |index: &u16| config.covers_punctured(StationId(*index));
        if let Some(index) = (0..config.stations.len() as u16).find(covers) {
            return Err(CellError::Punctured(index));
        }
    }
    for (index, station) in config.stations.iter().enumerate() {
        let access_point = sets[station.bss.index()].access_point;
        let ap_rates = &config.stations[access_point.index()].capabilities.rates;
        if !station.capabilities.rates.iter().any(|rate| ap_rates.contains(rate)) {
            return Err(CellError::NoCommonRate(access_point.0, index as u16));
        }
        for &PeerRate { peer, rate } in &station.peer_rates {
            let has = |it: &StationConfig| it.capabilities.rates.contains(&rate);
            let receiver = config.stations.get(peer.index());
            let is_other = peer.index() != index;
            if !is_other || !has(station) || !receiver.is_some_and(has) {
                return Err(CellError::PeerRate(index as u16, peer.0));
            }
        }
    }
    Ok(())
}

/// Checks the OFDMA of a station.
fn check_ofdma(station: &StationConfig) -> Result<(), CellError> {
    if station.ofdma.is_none() {
        Ok(())
    } else if station.role != Role::AccessPoint {
        Err(CellError::StationSendsOfdma)
    } else if !station.capabilities.is_he_or_later() || !station.capabilities.qos {
        Err(CellError::OfdmaWithoutHe)
    } else if station.aggregation.built_ahead {
        Err(CellError::OfdmaBuiltAhead)
    } else {
        Ok(())
    }
}

/// Checks the power save of a station.
fn check_power_save(config: &CellConfig, station: &StationConfig) -> Result<(), CellError> {
    if station.power_save.is_none() {
        Ok(())
    } else if station.role == Role::AccessPoint {
        Err(CellError::AccessPointDozes)
    } else if station.scan.is_some() {
        Err(CellError::ScansAndDozes)
    } else if config.beacon_interval.is_none() {
        Err(CellError::DozesWithoutBeacons)
    } else {
        Ok(())
    }
}

/// Checks the schedule of absences of a station.
fn check_absences(station: &StationConfig) -> Result<(), CellError> {
    let is_other =
        station.scan.is_some() || station.power_save.is_some() || station.service_periods.is_some();
    if station.absences.is_empty() {
        Ok(())
    } else if is_other {
        Err(CellError::ScheduleAndOther)
    } else if !station.absences.iter().all(AbsenceConfig::is_possible) {
        Err(CellError::AbsenceTime)
    } else if station.role == Role::AccessPoint && station.absences.iter().any(|it| it.announced) {
        Err(CellError::AccessPointAnnounces)
    } else {
        Ok(())
    }
}

/// Checks the service periods of a station.
fn check_service_periods(config: &CellConfig, station: &StationConfig) -> Result<(), CellError> {
    let Some(service_periods) = &station.service_periods else { return Ok(()) };
    if station.role == Role::AccessPoint {
        return Err(CellError::AccessPointDozes);
    } else if station.scan.is_some() || station.power_save.is_some() {
        return Err(CellError::ScansAndDozes);
    } else if config.beacon_interval.is_none() && service_periods.needs_beacons() {
        return Err(CellError::DozesWithoutBeacons);
    } else if !station.capabilities.qos {
        return Err(CellError::ServicePeriodsWithoutQos);
    }
    match service_periods {
        ServicePeriodConfig::TargetWake(_) if !station.capabilities.is_he() => {
            Err(CellError::TargetWakeWithoutHe)
        }
        ServicePeriodConfig::TargetWake(twt)
            if twt.wake_duration.is_zero() || twt.wake_duration > twt.wake_interval =>
        {
            Err(CellError::WakeInterval)
        }
        ServicePeriodConfig::Unscheduled(config) if config.trigger_enabled == [false; 4] => {
            Err(CellError::NeverTriggers)
        }
        _ => Ok(()),
    }
}

/// Timing of a cell: independent cells at 2.4 GHz have the long slot.
pub(super) fn timing(config: &CellConfig) -> Timing {
    match (Timing::new(config.standard, config.band), config.band) {
        (timing, Band::Ghz2_4) if config.independent => timing.with_long_slot(),
        (timing, _) => timing,
    }
}

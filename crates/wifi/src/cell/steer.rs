//! Access points that ask stations to move: the facts that they see at a look. The rules are in
//! [`mac::roam::steering`](crate::mac::roam::steering).

use super::floor::Floor;
use super::power::Power;
use crate::config::{CellConfig, CellError, Role};
use crate::event::RoamStep;
use crate::mac::roam::steering::{Review, Steered};
use crate::station::{BssId, StationId};

/// Checks the policies of access points.
///
/// # Errors
/// Returns an error for a station with a policy.
pub(super) fn check(config: &CellConfig) -> Result<(), CellError> {
    let mut stations = config.stations.iter();
    match stations.position(|it| it.steering.is_some() && it.role != Role::AccessPoint) {
        Some(index) => Err(CellError::Steers(index as u16)),
        None => Ok(()),
    }
}

impl Power {
    /// Lets the access point of a roaming station look whether the station is to move.
    pub(super) fn review(&mut self, floor: &mut Floor<'_>, station: StationId) {
        let now = floor.now;
        let access_point = floor.access_point_of(station);
        let Some(policy) = floor.stations[access_point.index()].config.steering else { return };
        let review = floor.facts_of(station, access_point);
        let Some(roam) = floor.stations[station.index()].roam() else { return };
        if let Some(target) = roam.handle_review(now, &policy, &review) {
            floor.record_roam_to(station, RoamStep::Requested, target);
        }
    }
}

impl Floor<'_> {
    /// Facts about a station that its access point sees, and those of other sets, which their wires
    /// tell it.
    fn facts_of(&mut self, station: StationId, access_point: StationId) -> Review {
        let now = self.now;
        let own = self.bss_of(station);
        let members: alloc::vec::Vec<BssId> = match self.stations[station.index()].roam() {
            Some(roam) => roam.config().members.iter().map(|member| member.bss).collect(),
            None => alloc::vec::Vec::new(),
        };
        let number = |floor: &Self, set: BssId| {
            let of_set = floor.stations.iter().filter(|state| state.config.bss == set);
            of_set.count().saturating_sub(1) as u16
        };
        let others = members.into_iter().filter(|set| *set != own);
        let least = others.map(|set| (set, number(self, set))).min_by_key(|(_, number)| *number);
        let level = |floor: &Self, of: StationId| floor.air.last_power(of, access_point);
        let signal = level(self, station);
        let (mut is_weakest, mut is_waiting) = (true, false);
        let policy = self.stations[access_point.index()].config.steering;
        for index in 0..self.stations.len() {
            let other = StationId(index as u16);
            if other == station || self.bss_of(other) != own {
                continue;
            }
            let Some(steered) = self.steered(other) else { continue };
            is_waiting |= steered.is_awaited(now);
            let may_be_asked = policy.is_some_and(|policy| steered.may_be_asked(now, &policy));
            let theirs = (level(self, other).0, self.stations[index].rank);
            let ours = (signal.0, self.stations[station.index()].rank);
            is_weakest &= !may_be_asked || ours < theirs;
        }
        Review { signal, stations: number(self, own), least, is_weakest, is_waiting }
    }

    fn steered(&mut self, station: StationId) -> Option<Steered> {
        self.stations[station.index()].roam().and_then(|roam| roam.steered().copied())
    }
}

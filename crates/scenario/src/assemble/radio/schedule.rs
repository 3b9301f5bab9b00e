//! Absences of a node by a clock: `absence`, a table or several. An absence on the own primary
//! channel is none, and several absences leave a node some time on its channel.

use super::{Problems, Role, positive};
use crate::raw::{RawAbsence, RawNodeSettings};
use lasthop_config::scalar::At;
use lasthop_units::{Duration, Identity};
use lasthop_wifi::cell::{OperatingChannel, StationConfig};
use lasthop_wifi::mac::schedule::AbsenceConfig;
use lasthop_wifi::phy::{Band, Subchannel};

/// Returns the absences of a node of this role and name.
pub(super) fn config(
    raw: &RawNodeSettings,
    role: Role,
    name: &str,
    problems: &mut Problems,
) -> Vec<AbsenceConfig> {
    let Some(first) = raw.absence.first() else { return Vec::new() };
    if raw.scan.is_some() {
        let message = "a node with scans and absences at once is not modelled; take one";
        problems.push(&first.here, message);
    }
    let absences: Vec<_> =
        raw.absence.iter().map(|absence| one(absence, role, name, problems)).collect();
    let share = |it: &AbsenceConfig| {
        it.every.map_or(0.0, |every| it.away.as_nanos() as f64 / every.as_nanos() as f64)
    };
    if absences.len() > 1 && absences.iter().map(share).sum::<f64>() >= 1.0 {
        let message = "these absences together take all of the time; take shorter ones";
        problems.push(&first.here, message);
    }
    absences
}

fn one(raw: &RawAbsence, role: Role, name: &str, problems: &mut Problems) -> AbsenceConfig {
    positive(&raw.away, problems);
    let away = raw.away.value;
    let every = raw.every.as_ref().map(|at: &At<Duration>| at.value);
    if let Some(at) = raw.every.as_ref().filter(|at| at.value <= away) {
        let message = format!("expected more than away, {away}, got {}", at.value);
        problems.push(&at.place, message);
    }
    let announced = raw.announced.as_ref().map(|at| at.value);
    if let Some(at) = &raw.announced
        && role == Role::AccessPoint
        && at.value
    {
        let message = "an access point leaves without notice; Notice of Absence and quiet elements \
                       are not modelled";
        problems.push_unfit(&at.place, message);
    }
    // By the name, so that neither the order of stations nor others move it.
    let spread = || {
        every
            .filter(|every| !every.is_zero())
            .map_or(Duration::ZERO, |every| Identity::from_name(name).offset_within(every))
    };
    AbsenceConfig {
        start: raw.start.as_ref().map_or_else(spread, |at| at.value),
        away,
        every,
        announced: announced.unwrap_or(role != Role::AccessPoint),
        channel: raw.channel.as_ref().map(|at| at.value.get()),
    }
}

/// Removes the absences on the primary channel of a station's set. `channels` are those of the
/// sets; empty if all have the band's first.
pub(super) fn stay_on_own_channel(
    band: Band,
    channels: &[OperatingChannel],
    stations: &mut [StationConfig],
) {
    // Numbers of 2.4 and 5 GHz differ, those of 6 GHz repeat them.
    if band == Band::Ghz6 {
        return;
    }
    for station in stations {
        let own = channels.get(station.bss.index()).copied().unwrap_or_default().primary;
        let is_own = |number: u8| Subchannel::from_number(band, number) == Some(own);
        station.absences.retain(|absence| !absence.channel.is_some_and(is_own));
    }
}

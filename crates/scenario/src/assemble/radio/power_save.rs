//! Power save of a station: legacy power save and U-APSD (IEEE 802.11-2020, 11.2.3), or an
//! individual TWT agreement (IEEE 802.11ax-2021, 26.8). Each kind has separate keys.

use super::{Common, Place, Problems, RawChannel, Role, WifiNode, is_written, positive};
use crate::raw::{PowerSaveKind, RawNodeSettings, RawPowerSave, RetrievalKind, TwtUplinkKind};
use lasthop_config::scalar::At;
use lasthop_packet::AccessCategory;
use lasthop_units::{Duration, Identity, Probability};
use lasthop_wifi::mac::beacon_clock::WakeClock;
use lasthop_wifi::mac::power_save::{Busy, PowerSaveConfig, Retrieval, Sending};
use lasthop_wifi::mac::service_period::{
    ServicePeriodConfig, TwtConfig, TwtUplink, UnscheduledConfig, is_wake_duration,
    is_wake_interval,
};
use lasthop_wifi::phy::Standard;

/// Default idle time of mac80211's dynamic power save.
const IDLE: Duration = Duration::from_millis(100);
/// rtw88's `RTW_LPS_THRESHOLD` and `RTW_WATCH_DOG_DELAY_TIME`.
const BUSY_FRAMES: u32 = 50;
const BUSY_INTERVAL: Duration = Duration::from_secs(2);
/// ath9k's `SLEEP_SLOP`, 3 time units.
const WAKE_LEAD: Duration = Duration::from_micros(3_072);
/// Default of mac80211's `beacon_loss_count`.
const BEACONS_MISSED_MAX: u8 = 7;
/// Usual beacon interval of access points.
const WAKE_INTERVAL: Duration = Duration::from_micros(102_400);
const WAKE_DURATION: Duration = Duration::from_micros(8_192);

/// The power save of a station.
#[derive(Default)]
pub(super) struct Saves {
    pub legacy: Option<PowerSaveConfig>,
    pub service_periods: Option<ServicePeriodConfig>,
}

/// Returns the power save of a node of this role and name.
pub(super) fn config(
    raw: &RawNodeSettings,
    role: Role,
    name: &str,
    qos: bool,
    common: &Common,
    problems: &mut Problems,
) -> Saves {
    let Some(table) = &raw.power_save else { return Saves::default() };
    if role == Role::AccessPoint {
        problems.push_unfit(&table.here, "an access point does not doze: it answers at any time");
    } else if raw.scan.is_some() {
        let message = "a station with power save and scans at once is not modelled; take one";
        problems.push(&table.here, message);
    } else if !raw.absence.is_empty() {
        let message = "a station with power save and absences at once is not modelled; take one";
        problems.push(&table.here, message);
    }
    check_kind(table, problems);
    let kind = table.kind.value;
    match kind {
        PowerSaveKind::Legacy => {
            return Saves { legacy: Some(legacy(table, problems)), service_periods: None };
        }
        PowerSaveKind::Firmware => {
            return Saves { legacy: Some(firmware(table, problems)), service_periods: None };
        }
        _ => {}
    }
    let here = if is_written(&table.kind.place) { &table.kind.place } else { &table.here };
    if !qos {
        problems.push_unfit(here, "service periods need QoS frames, and qos is false");
        return Saves::default();
    }
    let service_periods = match kind {
        PowerSaveKind::TargetWake if common.standard != Standard::Dot11ax => {
            problems
                .push(here, format!("target wake times need 802.11ax, not {}", common.standard));
            return Saves::default();
        }
        PowerSaveKind::TargetWake => {
            target_wake(table, name, problems).map(ServicePeriodConfig::TargetWake)
        }
        _ => Some(ServicePeriodConfig::Unscheduled(unscheduled(table, problems))),
    };
    Saves { legacy: None, service_periods }
}

fn or<T: Copy>(at: Option<&At<T>>, usual: T) -> T {
    at.map_or(usual, |at| at.value)
}

/// Reports keys of other kinds of power save.
fn check_kind(table: &RawPowerSave, problems: &mut Problems) {
    use PowerSaveKind::{Firmware, Legacy, TargetWake, Unscheduled};
    let kind = table.kind.value;
    let mut only = |place: Option<&Place>, wanted: &[(PowerSaveKind, &str)]| {
        if let Some(place) = place
            && !wanted.iter().any(|(wanted, _)| *wanted == kind)
        {
            let names: Vec<String> = wanted.iter().map(|(_, name)| format!("{name:?}")).collect();
            problems
                .push_unfit(place, format!("this key is for kind = {} only", names.join(" and ")));
        }
    };
    let (legacy, unscheduled) = ((Legacy, "legacy"), (Unscheduled, "u-apsd"));
    let firmware = (Firmware, "firmware");
    only(table.idle.as_ref().map(|at| &at.place), &[legacy]);
    only(table.retrieval.as_ref().map(|at| &at.place), &[legacy]);
    only(table.listen_interval.as_ref().map(|at| &at.place), &[legacy, firmware, unscheduled]);
    let dozing = [legacy, firmware];
    only(table.wake_jitter.as_ref().map(|at| &at.place), &dozing);
    only(table.wake_lead.as_ref().map(|at| &at.place), &dozing);
    only(table.beacon_loss.as_ref().map(|at| &at.place), &dozing);
    only(table.beacons_missed_max.as_ref().map(|at| &at.place), &dozing);
    only(table.busy_frames.as_ref().map(|at| &at.place), &[firmware]);
    only(table.busy_interval.as_ref().map(|at| &at.place), &[firmware]);
    let unscheduled = [unscheduled];
    only(table.delivery_enabled.as_ref().map(|at| &at.place), &unscheduled);
    only(table.trigger_enabled.as_ref().map(|at| &at.place), &unscheduled);
    only(table.service_period.as_ref().map(|at| &at.place), &unscheduled);
    only(table.trigger_interval.as_ref().map(|at| &at.place), &unscheduled);
    let twt = [(TargetWake, "twt")];
    only(table.wake_interval.as_ref().map(|at| &at.place), &twt);
    only(table.wake_duration.as_ref().map(|at| &at.place), &twt);
    only(table.first_wake.as_ref().map(|at| &at.place), &twt);
    only(table.announced.as_ref().map(|at| &at.place), &twt);
    only(table.ends_early.as_ref().map(|at| &at.place), &twt);
    only(table.uplink.as_ref().map(|at| &at.place), &twt);
    only(table.dtim.as_ref().map(|at| &at.place), &twt);
}

fn listen_interval(table: &RawPowerSave) -> u8 {
    table.listen_interval.as_ref().map_or(1, |at| at.value.get())
}

fn legacy(table: &RawPowerSave, problems: &mut Problems) -> PowerSaveConfig {
    if let Some(idle) = &table.idle {
        positive(idle, problems);
    }
    PowerSaveConfig {
        idle: or(table.idle.as_ref(), IDLE),
        listen_interval: listen_interval(table),
        retrieval: match or(table.retrieval.as_ref(), RetrievalKind::Wake) {
            RetrievalKind::PsPoll => Retrieval::PsPoll,
            RetrievalKind::Wake => Retrieval::Wake,
        },
        sending: Sending::Awake,
        clock: clock(table),
    }
}

fn clock(table: &RawPowerSave) -> WakeClock {
    WakeClock {
        lead: or(table.wake_lead.as_ref(), WAKE_LEAD),
        jitter: or(table.wake_jitter.as_ref(), Duration::ZERO),
        loss: or(table.beacon_loss.as_ref(), Probability::ZERO),
        missed_max: table
            .beacons_missed_max
            .as_ref()
            .map_or(BEACONS_MISSED_MAX, |at| at.value.get()),
    }
}

fn firmware(table: &RawPowerSave, problems: &mut Problems) -> PowerSaveConfig {
    if let Some(interval) = &table.busy_interval {
        positive(interval, problems);
    }
    let busy = Busy {
        frames: table.busy_frames.as_ref().map_or(BUSY_FRAMES, |at| at.value.get()),
        interval: or(table.busy_interval.as_ref(), BUSY_INTERVAL),
    };
    PowerSaveConfig {
        listen_interval: listen_interval(table),
        sending: Sending::InPowerSave(busy),
        clock: clock(table),
        ..PowerSaveConfig::dynamic(IDLE, Retrieval::PsPoll)
    }
}

fn unscheduled(table: &RawPowerSave, problems: &mut Problems) -> UnscheduledConfig {
    let set = |categories: &At<Vec<AccessCategory>>| {
        AccessCategory::ALL.map(|one| categories.value.contains(&one))
    };
    let delivery_enabled = table.delivery_enabled.as_ref().map_or([true; 4], set);
    let trigger_enabled = table.trigger_enabled.as_ref().map_or(delivery_enabled, set);
    if let Some(interval) = &table.trigger_interval {
        positive(interval, problems);
    }
    UnscheduledConfig {
        delivery_enabled,
        trigger_enabled,
        frames_max: table.service_period.as_ref().and_then(|at| at.value.0),
        trigger_interval: table.trigger_interval.as_ref().map(|at| at.value),
        listen_interval: listen_interval(table),
    }
}

fn target_wake(table: &RawPowerSave, name: &str, problems: &mut Problems) -> Option<TwtConfig> {
    let wake_interval = or(table.wake_interval.as_ref(), WAKE_INTERVAL);
    let wake_duration = or(table.wake_duration.as_ref(), WAKE_DURATION);
    let mut is_sound = true;
    if let Some(at) = table.wake_interval.as_ref().filter(|at| !is_wake_interval(at.value)) {
        let message = format!(
            "expected up to 65535 times a power of two, in microseconds (such as 25 * 4096 us = \
             102.4ms), got {}",
            at.value
        );
        problems.push(&at.place, message);
        is_sound = false;
    }
    if let Some(at) = table.wake_duration.as_ref().filter(|at| !is_wake_duration(at.value)) {
        let message =
            format!("expected 1 to 255 times 256us or 1.024ms (such as 8.192ms), got {}", at.value);
        problems.push(&at.place, message);
        is_sound = false;
    }
    if is_sound && wake_duration > wake_interval {
        let place = table.wake_duration.as_ref().or(table.wake_interval.as_ref());
        let message = format!(
            "a station that is awake for {wake_duration} cannot wake up every {wake_interval}; take \
             a shorter wake_duration or a longer wake_interval"
        );
        problems.push(place.map_or(&table.here, |at| &at.place), message);
        is_sound = false;
    }
    // By the name, so that neither the order of stations nor others move it.
    let spread = Identity::from_name(name).offset_within(wake_interval);
    is_sound.then_some(TwtConfig {
        wake_interval,
        wake_duration,
        first_wake: or(table.first_wake.as_ref(), spread),
        announced: or(table.announced.as_ref(), true),
        ends_early: or(table.ends_early.as_ref(), true),
        uplink: match or(table.uplink.as_ref(), TwtUplinkKind::ServicePeriods) {
            TwtUplinkKind::ServicePeriods => TwtUplink::ServicePeriods,
            TwtUplinkKind::AtOnce => TwtUplink::AtOnce,
        },
        listens_to_dtim: or(table.dtim.as_ref(), true),
    })
}

/// Checks that the access point of a dozing station sends beacons and can end service periods.
pub(super) fn check(
    wifi: &[WifiNode<'_>],
    all: &[Common],
    channel: &RawChannel,
    problems: &mut Problems,
) {
    let has_beacons = channel.beacon_interval.value.0.is_some();
    for ((_, node), own) in wifi.iter().zip(all) {
        let Some(table) = &node.raw.settings.power_save else { continue };
        let needs_none = table.kind.value == PowerSaveKind::TargetWake
            && table.dtim.as_ref().is_some_and(|at| !at.value);
        if !has_beacons && !needs_none {
            let message = match table.kind.value {
                PowerSaveKind::TargetWake => {
                    "a station that listens to the DTIM needs beacons, and beacon_interval is \
                     \"off\"; take dtim = false"
                }
                _ => "a station that dozes needs beacons, and beacon_interval is \"off\"",
            };
            problems.push(&table.here, message);
        }
        let is_its = |(_, it): &WifiNode<'_>| it.role() == Role::AccessPoint && it.shares_bss(node);
        let Some(index) = wifi.iter().position(is_its) else { continue };
        let (access_point, standard) = (wifi[index].1, all[index].standard);
        let has_periods =
            matches!(table.kind.value, PowerSaveKind::Unscheduled | PowerSaveKind::TargetWake);
        if has_periods && !access_point.has_qos(standard) {
            let message = "service periods need QoS frames, and qos of the access point is false";
            problems.push(&table.here, message);
        } else if table.kind.value == PowerSaveKind::TargetWake
            && own.standard == Standard::Dot11ax
            && standard != Standard::Dot11ax
        {
            let name = &access_point.name;
            let message = format!(
                "target wake times need 802.11ax, and its access point {name:?} has {standard}"
            );
            problems.push(&table.here, message);
        }
    }
}

//! Scans of a station, and the packets that the access point holds for absent or dozing stations.
//! Absences by a clock are in `schedule`.

use super::{Problems, RawChannel, Role, WifiNode, is_written, positive};
use crate::raw::{LeftoverKind, QueueKind, RawNodeSettings, RawScan, ScanKind};
use lasthop_config::scalar::Whole;
use lasthop_units::Duration;
use lasthop_wifi::mac::scan::{Leftover, NullConfig, PassiveChannels, ScanConfig};

/// mac80211's dwell on a channel without and with Probe Requests, rounded to
/// milliseconds as its ticks are.
const PASSIVE: Duration = Duration::from_millis(111);
const ACTIVE: Duration = Duration::from_millis(60);

/// Limit of mac80211's `STA_MAX_TX_BUFFER`, in packets.
const POWER_SAVE_BUFFER: u32 = 64;

/// Returns the background scans of a node of this role.
pub(super) fn scan(raw: &RawScan, role: Role, problems: &mut Problems) -> ScanConfig {
    if role == Role::AccessPoint {
        of_stations(raw, problems);
    }
    positive(&raw.period, problems);
    if let Some(away) = &raw.away {
        positive(away, problems);
    }
    let is_passive = raw.kind.value == ScanKind::Passive;
    let passive_keys = [
        raw.passive_channels.as_ref().map(|at| &at.place),
        raw.passive_away.as_ref().map(|at| &at.place),
    ];
    for place in passive_keys.into_iter().flatten().filter(|_| is_passive) {
        problems.push_unfit(place, "this key is for kind = \"active\" only");
    }
    if let Some(away) = &raw.passive_away {
        positive(away, problems);
    }
    let usual = match raw.kind.value {
        ScanKind::Passive => PASSIVE,
        ScanKind::Active => ACTIVE,
    };
    let null_loss = raw.null_loss.value;
    let config = ScanConfig {
        start: raw.start.value,
        period: raw.period.value,
        channels: raw.channels.value.get(),
        away: raw.away.as_ref().map_or(usual, |at| at.value),
        passive: PassiveChannels {
            count: raw
                .passive_channels
                .as_ref()
                .filter(|_| !is_passive)
                .map_or(0, |at| at.value.get()),
            away: raw.passive_away.as_ref().map_or(PASSIVE, |at| at.value),
        },
        back: raw.back.value,
        kind: match raw.kind.value {
            ScanKind::Passive => lasthop_wifi::mac::scan::ScanKind::Passive,
            ScanKind::Active => lasthop_wifi::mac::scan::ScanKind::Active,
        },
        own_channel: raw.own_channel.value.0.map(Whole::get),
        flush: raw.flush.value,
        leftover: match raw.leftover.value {
            LeftoverKind::Keep => Leftover::Keep,
            LeftoverKind::DropDriver => Leftover::DropDriver,
            LeftoverKind::DropAll => Leftover::DropAll,
        },
        return_drain: raw.return_drain.value.0.map(Whole::get),
        null: NullConfig {
            attempts: raw.null_attempts.value.get(),
            rts_after: raw.null_rts_after.value.0.map(Whole::get),
            leave_loss: null_loss,
            return_loss: raw.return_null_loss.as_ref().map_or(null_loss, |at| at.value),
        },
    };
    if let Some(own) = config.own_channel
        && own > config.channels
    {
        let message =
            format!("expected at most {}, the number of channels, got {own}", config.channels);
        problems.push(&raw.own_channel.place, message);
    }
    if let Some(passive) = &raw.passive_channels
        && config.passive.count > config.channels
    {
        let message = format!(
            "expected at most {}, the number of channels, got {}",
            config.channels, config.passive.count
        );
        problems.push(&passive.place, message);
    }
    if config.duration() > config.period && !config.period.is_zero() {
        let message = format!(
            "a scan of {} channels lasts {}, longer than its period of {}; \
             take fewer channels or a longer period",
            config.channels,
            config.duration(),
            config.period
        );
        let written = [&raw.period.place, &raw.channels.place].into_iter().find(|p| is_written(p));
        problems.push(written.unwrap_or(&raw.here), message);
    }
    config
}

/// Reports keys that do not apply to an access point: it sends no Null frames, and hears its
/// channel between scans.
fn of_stations(raw: &RawScan, problems: &mut Problems) {
    let keys = [
        Some(&raw.own_channel.place),
        Some(&raw.return_drain.place),
        Some(&raw.null_attempts.place),
        Some(&raw.null_rts_after.place),
        Some(&raw.null_loss.place),
        raw.return_null_loss.as_ref().map(|at| &at.place),
    ];
    for place in keys.into_iter().flatten().filter(|place| is_written(place)) {
        problems.push_unfit(place, "this key is for scans of stations, not of an access point");
    }
}

/// Reports scans, absences and power save in an independent cell, where no node holds packets for absent
/// ones.
pub(super) fn check_independent(
    wifi: &[WifiNode<'_>],
    channel: &RawChannel,
    problems: &mut Problems,
) {
    if !channel.independent.value {
        return;
    }
    for (_, node) in wifi {
        let settings = &node.raw.settings;
        let scan = settings.scan.as_ref().map(|scan| &scan.here);
        let saves = settings.power_save.as_ref();
        let power_save = saves.map(|power_save| &power_save.here);
        let absence = settings.absence.first().map(|absence| &absence.here);
        for place in [scan, absence, power_save].into_iter().flatten() {
            let message = "scans, absences and power save are not modelled in an independent cell";
            problems.push(place, message);
        }
    }
}

/// Returns the limit of packets that an access point holds for each absent station.
pub(super) fn power_save_buffer(raw: &RawNodeSettings) -> Option<u32> {
    let kind = raw.queue.kind.as_ref().map_or(QueueKind::FqCodel, |at| at.value);
    match &raw.power_save_buffer {
        Some(at) => at.value.0.map(Whole::get),
        None if kind == QueueKind::FqCodel => None,
        None => Some(POWER_SAVE_BUFFER),
    }
}

//! When a station leaves its channel, and what the access point holds for it.

use super::{Problems, Role, is_written, positive};
use crate::raw::{LeftoverKind, QueueKind, RawNodeSettings, RawScan, ScanKind};
use crate::scalar::Whole;
use lasthop_units::Duration;
use lasthop_wifi::mac::scan::{Leftover, NullConfig, ScanConfig};

/// mac80211's dwell on a channel without and with Probe Requests, rounded to
/// milliseconds as its ticks are.
const PASSIVE: Duration = Duration::from_millis(111);
const ACTIVE: Duration = Duration::from_millis(60);

/// mac80211's `STA_MAX_TX_BUFFER`.
const POWER_SAVE_BUFFER: u32 = 64;

/// The background scans of a node of this role.
pub(super) fn scan(raw: &RawScan, role: Role, problems: &mut Problems) -> ScanConfig {
    if role == Role::AccessPoint {
        problems.push(&raw.at, "an access point does not scan: its stations would lose it");
    }
    positive(&raw.period, problems);
    if let Some(away) = &raw.away {
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
        back: raw.back.value,
        flush: raw.flush.value,
        leftover: match raw.leftover.value {
            LeftoverKind::Keep => Leftover::Keep,
            LeftoverKind::DropDriver => Leftover::DropDriver,
            LeftoverKind::DropAll => Leftover::DropAll,
        },
        null: NullConfig {
            attempts: raw.null_attempts.value.get(),
            rts_after: raw.null_rts_after.value.0.map(Whole::get),
            leave_loss: null_loss,
            return_loss: raw.return_null_loss.as_ref().map_or(null_loss, |at| at.value),
        },
    };
    if config.duration() > config.period && !config.period.is_zero() {
        let message = format!(
            "a scan of {} channels lasts {}, longer than its period of {}; \
             take fewer channels or a longer period",
            config.channels,
            config.duration(),
            config.period
        );
        let written = [&raw.period.place, &raw.channels.place].into_iter().find(|p| is_written(p));
        problems.push(written.unwrap_or(&raw.at), message);
    }
    config
}

/// The bound of what an access point holds for each station that is away.
pub(super) fn power_save_buffer(raw: &RawNodeSettings) -> Option<u32> {
    let kind = raw.queue.kind.as_ref().map_or(QueueKind::FqCodel, |at| at.value);
    match &raw.power_save_buffer {
        Some(at) => at.value.0.map(Whole::get),
        None if kind == QueueKind::FqCodel => None,
        None => Some(POWER_SAVE_BUFFER),
    }
}

//! Roaming: the stations of a network of several sets, and what they know of its access points.

use super::{Common, Problems, WifiNode, is_written, positive};
use crate::Role;
use crate::raw::{RawCell, RawRoaming, RawScenario, ScanKind};
use lasthop_units::Duration;
use lasthop_wifi::cell::{OperatingChannel, StationConfig};
use lasthop_wifi::mac::roam::frame::Security;
use lasthop_wifi::mac::roam::join::Delays;
use lasthop_wifi::mac::roam::policy::ScanPolicy;
use lasthop_wifi::mac::roam::station::{Member, RoamingConfig};
use lasthop_wifi::mac::scan::{self, Leftover, NullConfig, PassiveChannels, ScanConfig};
use lasthop_wifi::phy::Subchannel;

/// mac80211's stay on a channel, with and without Probe Requests, as it was measured with 250 ticks a
/// second, and on the own channel in between.
const ACTIVE: Duration = Duration::from_millis(64);
const PASSIVE: Duration = Duration::from_millis(111);
const BACK: Duration = Duration::from_millis(200);

/// Gives the stations that roam the sets of their network.
pub(super) fn apply(
    raw: &RawScenario,
    wifi: &[WifiNode<'_>],
    channels: &[OperatingChannel],
    common: &Common,
    stations: &mut [StationConfig],
    problems: &mut Problems,
) {
    for (index, (_, node)) in wifi.iter().enumerate() {
        let Some(roaming) = &node.raw.settings.roaming else { continue };
        let settings = &node.raw.settings;
        if node.role() != Role::Station {
            problems.push(&roaming.here, "only stations roam");
            continue;
        }
        if raw.channel.independent.value {
            problems.push(&roaming.here, "an independent cell has no access points to roam among");
            continue;
        }
        let Some(beacon_interval) = raw.channel.beacon_interval.value.0 else {
            let message = "a station finds access points by their beacons, and \
                           channel.beacon_interval is \"off\"";
            problems.push(&roaming.here, message);
            continue;
        };
        if settings.scan.is_some() || !settings.absence.is_empty() || settings.power_save.is_some()
        {
            let message = "a station that roams scans by itself, has no other absences, and saves \
                           no power; leave out scan, absence and power_save";
            problems.push(&roaming.here, message);
            continue;
        }
        let Some(network) = network_of(raw, node.bss()) else {
            let message = "in which network? give the sets of several access points the same one, \
                           as in [[cell]] name = \"hall\", network = \"office\"";
            problems.push(&roaming.here, message);
            continue;
        };
        let mut members: Vec<Member> = Vec::new();
        let mut places: Vec<Subchannel> = Vec::new();
        for (set, (_, other)) in wifi.iter().enumerate() {
            let is_member = network_of(raw, other.bss()) == Some(network);
            if other.role() != Role::AccessPoint || !is_member {
                continue;
            }
            let access_point = &stations[set];
            let bss = access_point.bss;
            let primary = channels.get(bss.index()).map_or(Subchannel::default(), |it| it.primary);
            let channel = places.iter().position(|it| *it == primary).unwrap_or_else(|| {
                places.push(primary);
                places.len() - 1
            });
            members.push(Member {
                bss,
                channel: channel as u16,
                width: access_point.capabilities.width(),
                has_ht: common.standard.has_block_ack(),
            });
        }
        if members.len() < 2 {
            let message = format!(
                "the network {network:?} has one access point only, so that there is none to roam to"
            );
            problems.push(&roaming.here, message);
        }
        without_effect(roaming, problems);
        stations[index].roaming =
            Some(config(roaming, members, places.len(), beacon_interval, common, problems));
    }
}

/// Linux' usual time to leave an access point; with protected management frames it deletes more keys.
const fn leave(security: Security, over_ds: bool) -> Duration {
    match security {
        Security::FtPsk if over_ds => Duration::from_millis(29),
        Security::Open => Duration::from_millis(24),
        Security::Psk | Security::FtPsk => Duration::from_millis(36),
        Security::Sae | Security::FtSae => Duration::from_millis(60),
    }
}

/// Reports keys that nothing comes of.
fn without_effect(raw: &RawRoaming, problems: &mut Problems) {
    let security = raw.security.value.0;
    if raw.over_ds.value && !security.has_fast_transitions() {
        let message = "this key is for security = \"ft-wpa2\" and \"ft-wpa3\" only";
        problems.push_unfit(&raw.over_ds.place, message);
    }
    if is_written(&raw.sae_delay.place) && !security.is_sae() {
        let message = "this key is for security = \"wpa3\" and \"ft-wpa3\" only";
        problems.push_unfit(&raw.sae_delay.place, message);
    }
    if is_written(&raw.passive_channels.place) && raw.scan.value == ScanKind::Passive {
        problems.push_unfit(&raw.passive_channels.place, "this key is for scan = \"active\" only");
    }
}

/// The network of the nodes with this `bss`.
fn network_of<'a>(raw: &'a RawScenario, bss: Option<&str>) -> Option<&'a str> {
    let name = |cell: &'a RawCell| cell.name.as_ref().map(|at| at.value.0.as_str());
    let cell = raw.cell.iter().find(|cell| name(cell) == bss)?;
    Some(cell.network.as_ref()?.value.0.as_str())
}

pub(super) fn config(
    raw: &RawRoaming,
    members: Vec<Member>,
    places: usize,
    beacon_interval: Duration,
    common: &Common,
    problems: &mut Problems,
) -> RoamingConfig {
    let channels: u16 = raw.channels.value.get();
    if usize::from(channels) < places {
        let message = format!(
            "expected at least {places}, the number of channels of the network, got {channels}"
        );
        problems.push(&raw.channels.place, message);
    }
    positive(&raw.long_interval, problems);
    if raw.short_interval.value.0.is_some_and(Duration::is_zero) {
        problems.push(&raw.short_interval.place, "expected more than zero, or \"off\"");
    }
    let is_active = raw.scan.value == ScanKind::Active;
    let passive = raw.passive_channels.value.get::<u16>().min(channels);
    let scan = ScanConfig {
        start: Duration::ZERO,
        period: raw.long_interval.value,
        channels,
        away: if is_active { ACTIVE } else { PASSIVE },
        passive: PassiveChannels { count: if is_active { passive } else { 0 }, away: PASSIVE },
        back: BACK,
        kind: if is_active { scan::ScanKind::Active } else { scan::ScanKind::Passive },
        own_channel: None,
        flush: BACK,
        leftover: Leftover::Keep,
        return_drain: None,
        null: NullConfig::default(),
    };
    let security = raw.security.value.0;
    let policy = raw.short_interval.value.0.map(|short| ScanPolicy {
        short,
        threshold: raw.threshold.value.0.round() as i32,
        long: raw.long_interval.value,
    });
    RoamingConfig {
        members,
        band: common.band,
        security,
        over_ds: raw.over_ds.value,
        delays: Delays {
            leave: raw
                .leave_delay
                .as_ref()
                .map_or(leave(security, raw.over_ds.value), |at| at.value),
            station: raw.delay.value,
            access_point: raw.access_point_delay.value,
            commit: raw.sae_delay.value,
        },
        policy,
        scan,
        beacon_interval,
    }
}

//! Roaming: the stations of a network of several sets, and what they know of its access points.

use super::{Common, Problems, WifiNode, is_written, positive};
use crate::Role;
use crate::raw::{PolicyKind, RawCell, RawRoaming, RawScenario, ScanKind};
use lasthop_units::Duration;
use lasthop_wifi::cell::{OperatingChannel, StationConfig};
use lasthop_wifi::mac::roam::frame::Security;
use lasthop_wifi::mac::roam::join::Delays;
use lasthop_wifi::mac::roam::plan::{IwdPolicy, PhonePolicy, RoamPolicy};
use lasthop_wifi::mac::roam::pmksa::KeyCaching;
use lasthop_wifi::mac::roam::policy::ScanPolicy;
use lasthop_wifi::mac::roam::station::{Member, RoamingConfig};
use lasthop_wifi::mac::scan::{self, Leftover, NullConfig, PassiveChannels, ScanConfig};
use lasthop_wifi::phy::{Band, Subchannel};

/// mac80211's stay on a channel, with and without Probe Requests, as it was measured with 250 ticks a
/// second, and on the own channel in between.
const ACTIVE: Duration = Duration::from_millis(64);
const PASSIVE: Duration = Duration::from_millis(111);
const BACK: Duration = Duration::from_millis(200);

/// The same of a phone's firmware (bcmdhd: `DHD_SCAN_ASSOC_ACTIVE_TIME`, `DHD_SCAN_PASSIVE_TIME`,
/// `DHD_SCAN_HOME_TIME`).
const PHONE_ACTIVE: Duration = Duration::from_millis(40);
const PHONE_PASSIVE: Duration = Duration::from_millis(130);
const PHONE_BACK: Duration = Duration::from_millis(45);

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
                generation: access_point.capabilities.generation(),
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

/// Linux' usual time to leave an access point once the next one is chosen; with protected management
/// frames it deletes more keys.
const fn leave(security: Security, over_ds: bool) -> Duration {
    match security {
        Security::FtPsk if over_ds => Duration::from_millis(27),
        Security::Open => Duration::from_millis(22),
        Security::Psk | Security::FtPsk => Duration::from_millis(34),
        Security::Sae | Security::FtSae => Duration::from_millis(58),
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
    let of_keys = [&raw.key_lifetime.place, &raw.shared_keys.place];
    for place in of_keys.into_iter().filter(|place| is_written(place)) {
        if !security.is_sae() {
            problems.push_unfit(place, "this key is for security = \"wpa3\" and \"ft-wpa3\" only");
        }
    }
    if raw.shared_keys.value && raw.key_lifetime.value.0.is_none() {
        problems
            .push_unfit(&raw.shared_keys.place, "keys are not used again: key_lifetime is \"off\"");
    }
    if raw.key_lifetime.value.0.is_some_and(Duration::is_zero) {
        problems.push(&raw.key_lifetime.place, "expected more than zero, or \"off\"");
    }
    if raw.neighbor_report.value && is_off(raw) {
        let message = "a report shortens background scans, and short_interval is \"off\"";
        problems.push_unfit(&raw.neighbor_report.place, message);
    }
    if is_written(&raw.passive_channels.place) && raw.scan.value == ScanKind::Passive {
        problems.push_unfit(&raw.passive_channels.place, "this key is for scan = \"active\" only");
    }
}

/// Whether the station scans only without an access point.
fn is_off(raw: &RawRoaming) -> bool {
    raw.short_interval.as_ref().is_some_and(|at| at.value.0.is_none())
}

/// When the station scans while it has an access point; `None` if it does not.
fn policy(raw: &RawRoaming, band: Band, problems: &mut Problems) -> Option<RoamPolicy> {
    let kind = raw.policy.value;
    let seconds = Duration::from_secs;
    let (threshold, short, long) = match kind {
        PolicyKind::Simple | PolicyKind::Learn => (-65, seconds(30), seconds(300)),
        PolicyKind::Iwd if band == Band::Ghz2_4 => (-70, seconds(60), Duration::ZERO),
        PolicyKind::Iwd => (-76, seconds(60), Duration::ZERO),
        PolicyKind::Phone => (-75, seconds(10), seconds(120)),
    };
    if let Some(margin) = &raw.margin
        && kind != PolicyKind::Phone
    {
        problems.push_unfit(&margin.place, "this key is for policy = \"phone\" only");
    }
    if let Some(long) = &raw.long_interval {
        positive(long, problems);
        if kind == PolicyKind::Iwd {
            let message = "with policy = \"iwd\" a station scans only below the threshold";
            problems.push_unfit(&long.place, message);
        }
    }
    let short = raw.short_interval.as_ref().and_then(|at| at.value.0).unwrap_or(short);
    if let Some(at) = raw.short_interval.as_ref().filter(|_| short.is_zero()) {
        problems.push(&at.place, "expected more than zero, or \"off\"");
    }
    if is_off(raw) {
        return None;
    }
    let threshold = raw.threshold.as_ref().map_or(threshold, |at| at.value.0.round() as i32);
    let long = raw.long_interval.as_ref().map_or(long, |at| at.value);
    let margin_db = raw.margin.as_ref().map_or(10, |at| at.value.0.round() as i32);
    Some(match kind {
        PolicyKind::Simple => RoamPolicy::Simple(ScanPolicy { short, threshold, long }),
        PolicyKind::Learn => RoamPolicy::Learn(ScanPolicy { short, threshold, long }),
        PolicyKind::Iwd => RoamPolicy::Iwd(IwdPolicy { threshold, retry: short }),
        PolicyKind::Phone => RoamPolicy::Phone(PhonePolicy {
            threshold,
            margin_db,
            interval: short,
            complete_interval: long,
        }),
    })
}

/// The network of the nodes with this `bss`.
pub(super) fn network_of<'a>(raw: &'a RawScenario, bss: Option<&str>) -> Option<&'a str> {
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
    let is_active = raw.scan.value == ScanKind::Active;
    let passive = raw.passive_channels.value.get::<u16>().min(channels);
    let (active_away, passive_away, back) = match raw.policy.value {
        PolicyKind::Phone => (PHONE_ACTIVE, PHONE_PASSIVE, PHONE_BACK),
        PolicyKind::Simple | PolicyKind::Learn | PolicyKind::Iwd => (ACTIVE, PASSIVE, BACK),
    };
    let scan = ScanConfig {
        start: Duration::ZERO,
        period: BACK,
        channels,
        away: if is_active { active_away } else { passive_away },
        passive: PassiveChannels { count: if is_active { passive } else { 0 }, away: passive_away },
        back,
        kind: if is_active { scan::ScanKind::Active } else { scan::ScanKind::Passive },
        own_channel: None,
        flush: BACK,
        leftover: Leftover::Keep,
        return_drain: None,
        null: NullConfig::default(),
    };
    let security = raw.security.value.0;
    RoamingConfig {
        members,
        band: common.band,
        security,
        over_ds: raw.over_ds.value,
        caching: KeyCaching {
            lifetime: raw.key_lifetime.value.0.unwrap_or(Duration::ZERO),
            opportunistic: raw.shared_keys.value,
        },
        delays: Delays {
            leave: raw
                .leave_delay
                .as_ref()
                .map_or(leave(security, raw.over_ds.value), |at| at.value),
            station: raw.delay.value,
            access_point: raw.access_point_delay.value,
            commit: raw.sae_delay.value,
        },
        policy: policy(raw, common.band, problems),
        scan,
        neighbor_report: raw.neighbor_report.value,
        // `steering` knows the policies.
        is_steered: false,
        follows_requests: raw.transition_requests.value,
        beacon_interval,
    }
}

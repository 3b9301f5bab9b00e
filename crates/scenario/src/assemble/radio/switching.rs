//! `channel_switch` of `[[cell]]`: sets whose access point may move to another channel, the rules of
//! radar (ETSI EN 301 893, 4.2.6 and table D.1), and stations that follow without `roaming`.

use super::{Common, Problems, WifiNode, is_written, roaming};
use crate::Role;
use crate::raw::{RawCell, RawChannelSwitch, RawRoaming, RawScenario};
use lasthop_config::table;
use lasthop_units::Duration;
use lasthop_wifi::BssId;
use lasthop_wifi::cell::{OperatingChannel, StationConfig};
use lasthop_wifi::mac::roam::station::{Member, RoamingConfig};
use lasthop_wifi::phy::{Band, ChannelWidth, Subchannel};

/// First and last channel with radar (5250 to 5350 and 5470 to 5730 MHz).
const RADAR: core::ops::RangeInclusive<u8> = 52..=144;
/// Channels within 5600 to 5650 MHz, where weather radars are.
const WEATHER_RADAR: core::ops::RangeInclusive<u8> = 120..=128;
/// Channel Availability Check Time.
const CHECK: Duration = Duration::from_secs(60);
/// The same where weather radars are.
const LONG_CHECK: Duration = Duration::from_secs(600);
/// Channel Move Time: transmissions end within it after a radar.
const MOVE_TIME: Duration = Duration::from_secs(10);

/// Rules by which a set moves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct SwitchRules {
    pub count: u8,
    pub quiet: bool,
    pub radar: bool,
    check: Option<Duration>,
    pub check_after_failure: bool,
}

impl SwitchRules {
    fn new(raw: &RawChannelSwitch) -> Self {
        Self {
            count: raw.count.value.get(),
            quiet: raw.quiet.value,
            radar: raw.radar.value,
            check: raw.check.as_ref().map(|at| at.value),
            check_after_failure: raw.check_after_failure.value,
        }
    }

    /// Time for which an access point listens on a channel of this width before it sends; zero if
    /// there is no radar.
    pub fn check_on(&self, band: Band, primary: Subchannel, width: ChannelWidth) -> Duration {
        if !overlaps(band, primary, width, RADAR) {
            return Duration::ZERO;
        }
        let is_long = overlaps(band, primary, width, WEATHER_RADAR);
        self.check.unwrap_or(if is_long { LONG_CHECK } else { CHECK })
    }
}

/// Whether a channel at 5 GHz contains one of these channels of 20 MHz.
fn overlaps(
    band: Band,
    primary: Subchannel,
    width: ChannelWidth,
    of: core::ops::RangeInclusive<u8>,
) -> bool {
    let places = (width.as_hz() / ChannelWidth::Mhz20.as_hz()) as u8;
    let mut parts = (0..places).map(|place| primary.at_place(place, width).number(band));
    band == Band::Ghz5 && parts.any(|number| of.contains(&number))
}

/// The cell of the file with this name.
fn cell_of<'a>(raw: &'a RawScenario, name: Option<&str>) -> Option<&'a RawCell> {
    let name_of = |cell: &'a RawCell| cell.name.as_ref().map(|at| at.value.0.as_str());
    raw.cell.iter().find(|cell| name_of(cell) == name)
}

/// Returns the rules of each set, by [`BssId`]; empty if no set moves.
pub(super) fn rules(
    raw: &RawScenario,
    wifi: &[WifiNode<'_>],
    sets: &[BssId],
) -> Vec<Option<SwitchRules>> {
    let mut rules = Vec::new();
    for ((_, node), set) in wifi.iter().zip(sets) {
        let cell = cell_of(raw, node.bss());
        let Some(switch) = cell.and_then(|cell| cell.channel_switch.as_ref()) else { continue };
        if rules.len() <= set.index() {
            rules.resize(set.index() + 1, None);
        }
        rules[set.index()] = Some(SwitchRules::new(switch));
    }
    rules
}

/// Checks the sets that may move, and lets their stations follow. Returns whether there are such.
pub(super) fn apply(
    raw: &RawScenario,
    wifi: &[WifiNode<'_>],
    channels: &[OperatingChannel],
    common: &Common,
    stations: &mut [StationConfig],
    problems: &mut Problems,
) -> bool {
    let mut vary = false;
    for (index, (_, node)) in wifi.iter().enumerate() {
        let Some(cell) = cell_of(raw, node.bss()) else { continue };
        let Some(switch) = &cell.channel_switch else { continue };
        vary = true;
        let place = &switch.here;
        let state = &stations[index];
        if state.scan.is_some()
            || state.power_save.is_some()
            || state.service_periods.is_some()
            || !state.absences.is_empty()
        {
            let message = format!(
                "the nodes of a set that moves neither scan by themselves, nor save power, nor have \
                 absences, and {:?} does",
                node.name
            );
            problems.push(place, message);
            continue;
        }
        if node.role() == Role::AccessPoint {
            check(cell, switch, raw, state.capabilities.width(), common.band, problems);
        } else if state.roaming.is_none() {
            follow(raw, wifi, channels, common, index, stations, problems);
        }
    }
    vary
}

/// Checks the keys of a set whose channel has this width.
fn check(
    cell: &RawCell,
    switch: &RawChannelSwitch,
    raw: &RawScenario,
    width: ChannelWidth,
    band: Band,
    problems: &mut Problems,
) {
    let Some(interval) = raw.channel.beacon_interval.value.0.filter(|it| !it.is_zero()) else {
        let message = "an access point announces its move in beacons, and \
                       channel.beacon_interval is \"off\"";
        return problems.push(&switch.here, message);
    };
    if raw.channel.independent.value {
        return problems.push(&switch.here, "an independent cell stays on its channel");
    }
    let number = cell.channel.as_ref().map(|at| at.value.get::<u8>());
    let own = match number {
        Some(number) => Subchannel::from_number(band, number),
        None => Some(Subchannel::default()),
    };
    // `channels` reports a number that the band does not have.
    let Some(own) = own else { return };
    let of_radar = [
        (&switch.radar_channel.place, "radar_channel"),
        (&switch.radar.place, "radar"),
        (&switch.check_after_failure.place, "check_after_failure"),
    ];
    let check = switch.check.as_ref().map(|at| (&at.place, "check"));
    if band != Band::Ghz5 {
        for (place, key) in of_radar.into_iter().chain(check) {
            if is_written(place) {
                problems.push_unfit(place, format!("{key} is for 5 GHz, where radar is"));
            }
        }
        return;
    }
    if Subchannel::from_number(band, switch.radar_channel.value.get()).is_none() {
        let known: Vec<String> = Subchannel::numbers(band).map(|it| it.to_string()).collect();
        let number = switch.radar_channel.value.0;
        let message = format!("{band} has the channels {}, not {number}", known.join(", "));
        return problems.push(&switch.radar_channel.place, message);
    }
    if !switch.radar.value {
        return;
    }
    if !overlaps(band, own, width, RADAR) {
        let message = format!(
            "channel {} with {width} has no radar; channels with radar are 52 to 144",
            own.number(band)
        );
        problems.push(&switch.radar.place, message);
    }
    let fled = Subchannel::from_number(band, switch.radar_channel.value.get());
    if fled.is_some_and(|fled| fled.shares(own, width)) {
        let message = format!("expected a channel apart from that of the radar, {width} wide");
        problems.push(&switch.radar_channel.place, message);
    }
    let until_move = interval * u64::from(switch.count.value.get::<u8>());
    if until_move > MOVE_TIME {
        let message = format!(
            "{} beacon times of {interval} are more than the {MOVE_TIME} in which a radar's channel \
             is to be left",
            switch.count.value.0
        );
        problems.push(&switch.count.place, message);
    }
}

/// Lets a station without `roaming` follow its access point, and search for it alone.
fn follow(
    raw: &RawScenario,
    wifi: &[WifiNode<'_>],
    channels: &[OperatingChannel],
    common: &Common,
    index: usize,
    stations: &mut [StationConfig],
    problems: &mut Problems,
) {
    let bss = stations[index].bss;
    let is_own = |(other, (_, node)): &(usize, &WifiNode<'_>)| {
        stations[*other].bss == bss && node.role() == Role::AccessPoint
    };
    let Some((access_point, _)) = wifi.iter().enumerate().find(is_own) else { return };
    let Some(interval) = raw.channel.beacon_interval.value.0 else { return };
    debug_assert!(bss.index() < channels.len(), "sets that move have channels");
    let place = wifi[index].1.raw.here.clone();
    let usual = table::read::<RawRoaming>(&table::NOTHING, place, problems);
    let Some(usual) = usual else { return };
    let member = Member {
        bss,
        channel: 0,
        width: stations[access_point].capabilities.width(),
        generation: stations[access_point].capabilities.generation(),
    };
    let config = roaming::config(&usual, vec![member], 1, interval, common, problems);
    // It scans only without an access point.
    stations[index].roaming = Some(RoamingConfig { policy: None, ..config });
}

//! The channel, and the cell on it.
//!
//! `station`: behaviour of each node on the air; `generations`: its standard; `modes`: options of
//! 802.11ax; `mu_mimo` and `multi_user`: PPDUs for several stations; `cells`: settings of a set;
//! `channels`: its place in the band; `puncturing`: what it leaves out; `absence`: scans; `schedule`: absences by a clock;
//! `power_save`: dozing; `operating_mode`: reduced capabilities; `peer_rates`: fixed rates of single
//! peers; `multi_link`: devices of several links; `retry`: giving up early; `roaming`: stations that change their access point; `steering`:
//! access points that ask them to; `switching`: access points that change their channel; `movement`:
//! positions and ways; `links`: the link of each pair.

mod absence;
mod cells;
mod channels;
mod generations;
mod links;
mod modes;
mod movement;
mod mu_mimo;
mod multi_link;
mod multi_user;
mod operating_mode;
mod peer_rates;
mod power_save;
mod puncturing;
mod retry;
mod roaming;
mod schedule;
mod station;
mod steering;
mod switching;

pub(crate) use retry::check_receivers;
pub(crate) use switching::SwitchRules;

use super::neighbour::Heard;
use super::nodes::Expanded;
use super::{Names, is_written, positive, queue};
use crate::Role;
use crate::attached;
use crate::raw::{
    ErrorModelKind, FadingKind, PathLossKind, RawChannel, RawErrorModel, RawFading, RawScenario,
    ShortestGuardInterval, StreamPowerKind,
};
use lasthop_config::error::{Place, Problems};
use lasthop_config::quantity::Hertz;
use lasthop_config::scalar::At;
use lasthop_units::{Bitrate, Db, Duration};
use lasthop_wifi::cell::{CellConfig, StationConfig};
use lasthop_wifi::mac::rate::RateSet;
use lasthop_wifi::mac::sizes::Encryption;
use lasthop_wifi::phy::{
    Band, ChannelWidth, ControlRates, ErrorModel, Fading, GuardInterval, HeGuardInterval, PathLoss,
    Preamble, Propagation, Rate, Standard,
};
use lasthop_wifi::{BssId, StationId};
use std::sync::{Arc, LazyLock};

/// A node with a radio and its index among all nodes.
type WifiNode<'a> = (usize, &'a Expanded<'a>);

/// Settings of the whole cell that stations need; for a node with its own standard and width.
#[derive(Clone)]
struct Common {
    standard: Standard,
    band: Band,
    width: ChannelWidth,
    /// Guard interval of 802.11n and 802.11ac.
    guard_interval: GuardInterval,
    /// Guard interval and HE-LTFs of 802.11ax.
    he_guard_interval: HeGuardInterval,
    preamble: Preamble,
    encryption: Encryption,
    propagation: Propagation,
}

/// Returns the cell of the scenario, and the pairs whose shadowing is drawn for each run.
pub(crate) fn cell(
    raw: &RawScenario,
    nodes: &[Expanded<'_>],
    names: &Names,
    heard: &Heard,
    problems: &mut Problems,
) -> Option<(CellConfig, Vec<(StationId, StationId)>)> {
    let (channel, links) = (&raw.channel, &raw.link);
    let wifi: Vec<WifiNode<'_>> =
        nodes.iter().enumerate().filter(|(_, node)| node.is_wifi()).collect();
    if wifi.is_empty() {
        if let Some(link) = links.first() {
            problems.push(&link.here, "a link is on the air, and there is no node with a radio");
        }
        if let Some(cell) = raw.cell.first() {
            problems.push(&cell.here, "a cell is on the air, and there is no node with a radio");
        }
        return None;
    }
    let common = common(channel, problems);
    let mut own = generations::of_nodes(&wifi, &common, problems);
    let alone = multi_link::place(raw, &wifi, &mut own, problems);
    let used = generations::used(&own);
    let sets = sets(&wifi);
    let mut stations: Vec<StationConfig> = wifi
        .iter()
        .zip(&sets)
        .zip(&own)
        .map(|(((index, node), bss), own)| {
            station::config(*index, node, *bss, own, &used, problems)
        })
        .collect();
    if let Some(interval) = channel.beacon_interval.value.0 {
        spread_beacons(&wifi, interval, &mut stations);
    }
    let (colours, channels) = cells::apply(raw, &wifi, &sets, common.band, &mut stations, problems);
    roaming::apply(raw, &wifi, &channels, &common, &mut stations, problems);
    steering::apply(raw, &wifi, &mut stations, problems);
    let vary = switching::apply(raw, &wifi, &channels, &common, &mut stations, problems);
    schedule::stay_on_own_channel(common.band, &channels, &mut stations);
    station::check_addresses(&wifi, &stations, problems);
    station::check_streams(&wifi, &own, problems);
    generations::check_fixed_rates(&wifi, &own, &stations, problems);
    peer_rates::apply(&wifi, &own, names, channel.independent.value, &mut stations, problems);
    power_save::check(&wifi, &own, channel, problems);
    absence::check_independent(&wifi, channel, problems);
    operating_mode::check(&wifi, &own, channel, problems);
    multi_user::check(&wifi, &stations, channel, problems);
    let basic_rates = basic_rates(channel, &common, problems);
    let group_rate = group_rate(channel, &wifi, &own, &common, problems);
    if let Some(interval) = channel.beacon_interval.value.0
        && interval.is_zero()
    {
        problems.push(&channel.beacon_interval.place, "expected more than zero, or \"off\"");
    }
    let links::Pairs { links, shadowed, movement } =
        links::pairs(raw, &wifi, names, heard, &common, problems);
    let mut cell = CellConfig {
        standard: common.standard,
        band: common.band,
        control_preamble: channel.control_preamble.as_ref().map(|at| at.value),
        basic_rates,
        group_rate,
        beacon_interval: channel.beacon_interval.value.0,
        dtim_period: channel.dtim_period.value.get(),
        error_model: error_model(&channel.error_model, common.standard, problems),
        carrier_sense: channel.carrier_sense.value,
        capture_margin: channel.capture_margin.value.0,
        independent: channel.independent.value,
        colours,
        channels,
        channels_vary: vary,
        stations,
        devices: Vec::new(),
        links: Arc::new(links),
        movement: movement.map(Arc::new),
        senses_vary: false,
        // Known with the scenario's name.
        ssid_octets: 0,
        record_events: false,
    };
    puncturing::apply(&wifi, &mut cell, problems);
    multi_link::apply(raw, &wifi, &own, &alone, &used, &mut cell, problems);
    Some((cell, shadowed))
}

/// Returns the rules by which each set moves to another channel, by [`BssId`]; empty if none does.
pub(crate) fn switch_rules(raw: &RawScenario, nodes: &[Expanded<'_>]) -> Vec<Option<SwitchRules>> {
    let wifi: Vec<WifiNode<'_>> =
        nodes.iter().enumerate().filter(|(_, node)| node.is_wifi()).collect();
    switching::rules(raw, &wifi, &sets(&wifi))
}

/// Returns the basic service set of each node: the one without a name first, then in the order of
/// the file, so that a further set does not change the number of another.
fn sets(wifi: &[WifiNode<'_>]) -> Vec<BssId> {
    let mut names: Vec<Option<&str>> = Vec::new();
    names.extend(wifi.iter().map(|(_, node)| node.bss()).find(Option::is_none));
    let mut sets = Vec::with_capacity(wifi.len());
    for (_, node) in wifi {
        let known = names.iter().position(|name| *name == node.bss());
        let number = known.unwrap_or(names.len());
        if known.is_none() {
            names.push(node.bss());
        }
        sets.push(BssId(u16::try_from(number).expect("there are at most NODES_MAX sets")));
    }
    sets
}

/// Returns the offset of a named set's beacons from others, by the name of the access point:
/// neither a further set nor another order in the file changes it.
fn spread_beacons(wifi: &[WifiNode<'_>], interval: Duration, stations: &mut [StationConfig]) {
    for ((_, node), station) in wifi.iter().zip(stations) {
        if node.bss().is_some() && node.role() == Role::AccessPoint {
            station.beacon_offset = station.identity.offset_within(interval);
        }
    }
}

/// Returns the closed forms, computed once for all scenarios of a process.
fn nist() -> ErrorModel {
    static NIST: LazyLock<ErrorModel> = LazyLock::new(ErrorModel::nist);
    NIST.clone()
}

/// Returns the simulated curves, also computed once.
fn simulated() -> ErrorModel {
    static SIMULATED: LazyLock<ErrorModel> = LazyLock::new(ErrorModel::simulated);
    SIMULATED.clone()
}

fn error_model(raw: &RawErrorModel, standard: Standard, problems: &mut Problems) -> ErrorModel {
    let curves = curves(raw, standard, problems);
    match raw.stream_power.value {
        StreamPowerKind::Whole => curves,
        StreamPowerKind::Shared => curves.with_shared_power(),
    }
}

fn curves(raw: &RawErrorModel, standard: Standard, problems: &mut Problems) -> ErrorModel {
    let usual = match standard {
        Standard::Dot11ac | Standard::Dot11ax | Standard::Dot11be => ErrorModelKind::Simulated,
        _ => ErrorModelKind::Nist,
    };
    let kind = match (raw.kind.as_ref().map(|at| at.value), &raw.table) {
        (None, None) => Some(usual),
        (kind, _) => kind,
    };
    match (kind, &raw.table) {
        (None | Some(ErrorModelKind::Nist), None) => nist(),
        (Some(ErrorModelKind::Simulated), None) => simulated(),
        (None | Some(ErrorModelKind::Table), Some(table)) => {
            match attached::per_table(&table.value.0) {
                Ok(table) => ErrorModel::table(table),
                Err(why) => {
                    problems.push(&table.place, why);
                    nist()
                }
            }
        }
        (Some(ErrorModelKind::Nist | ErrorModelKind::Simulated), Some(table)) => {
            problems.push_unfit(&table.place, "this key is for kind = \"table\" only");
            nist()
        }
        (Some(ErrorModelKind::Table), None) => {
            problems.push(&raw.here, "which table? add for example table = \"per.csv\"");
            nist()
        }
    }
}

fn common(channel: &RawChannel, problems: &mut Problems) -> Common {
    let standard = channel.standard.value;
    let usual = if standard.works_in(Band::Ghz5) { Band::Ghz5 } else { Band::Ghz2_4 };
    let band = channel.band.as_ref().map_or(usual, |band| band.value);
    if let Some(at) = &channel.band
        && !standard.works_in(band)
    {
        let bands: Vec<String> = [Band::Ghz2_4, Band::Ghz5, Band::Ghz6]
            .into_iter()
            .filter(|&band| standard.works_in(band))
            .map(|band| band.to_string())
            .collect();
        let message =
            format!("{standard} does not exist at {band}, but at {}", bands.join(" and "));
        problems.push(&at.place, message);
    }
    let width = width(channel, band, problems);
    let (guard_interval, he_guard_interval) = guard_intervals(channel, problems);
    let preamble = channel.preamble.value;
    for at in [Some(&channel.preamble), channel.control_preamble.as_ref()].into_iter().flatten() {
        if at.value == Preamble::Short && band != Band::Ghz2_4 {
            let message = "a short preamble is of DSSS and CCK frames, which exist at 2.4GHz only";
            problems.push(&at.place, message);
        }
    }
    not_negative(&channel.noise_figure, problems);
    let propagation = Propagation {
        path_loss: path_loss(channel, band, problems),
        shadowing: channel.path_loss.shadowing.value,
        fading: fading(&channel.fading, problems),
        width,
        noise_figure: channel.noise_figure.value,
    };
    Common {
        standard,
        band,
        width,
        guard_interval,
        he_guard_interval,
        preamble,
        encryption: channel.encryption.value,
        propagation,
    }
}

/// Returns the width of the channel, if standard and band have it.
fn width(channel: &RawChannel, band: Band, problems: &mut Problems) -> ChannelWidth {
    let standard = channel.standard.value;
    let At { value: width, ref place } = channel.width;
    let most = standard.width_max();
    if width > most {
        let needed = match width {
            ChannelWidth::Mhz40 => "802.11n",
            ChannelWidth::Mhz320 => "802.11be",
            _ => "802.11ac, 802.11ax or 802.11be",
        };
        let has: Vec<String> = ChannelWidth::ALL_EHT
            .into_iter()
            .filter(|&existing| existing <= most)
            .map(|existing| existing.to_string())
            .collect();
        let message = format!("{width} needs {needed}; {standard} has {}", has.join(" and "));
        problems.push(place, message);
    } else if band == Band::Ghz2_4 && width > ChannelWidth::Mhz40 {
        problems
            .push(place, format!("{width} does not exist at 2.4GHz, which has 20MHz and 40MHz"));
    } else if width > standard.width_max_in(band) {
        problems.push(place, format!("{width} exists at 6GHz only, not at {band}"));
    }
    width
}

/// Returns the guard intervals of 802.11n and 802.11ac, and of 802.11ax and 802.11be.
fn guard_intervals(
    channel: &RawChannel,
    problems: &mut Problems,
) -> (GuardInterval, HeGuardInterval) {
    use ShortestGuardInterval::{Ns400, Ns800, Ns1600, Ns3200};
    let standard = channel.standard.value;
    let At { value, ref place } = channel.guard_interval;
    match (value, standard) {
        (Ns400, _) if standard.is_he() => {
            let message = format!("{standard} has guard intervals of 800ns, 1600ns and 3200ns");
            problems.push(place, message);
        }
        (Ns400, _) if !standard.has_block_ack() => {
            let message =
                format!("the short guard interval of 400ns needs 802.11n, not {standard}");
            problems.push(place, message);
        }
        (Ns1600 | Ns3200, _) if !standard.is_he() => {
            let message = format!("this guard interval needs 802.11ax or 802.11be, not {standard}");
            problems.push(place, message);
        }
        _ => {}
    }
    let long_or_short = if value == Ns400 { GuardInterval::Short } else { GuardInterval::Long };
    let he = match value {
        Ns400 | Ns800 => HeGuardInterval::Ns800Ltf2x,
        Ns1600 => HeGuardInterval::Ns1600Ltf2x,
        Ns3200 => HeGuardInterval::Ns3200Ltf4x,
    };
    (long_or_short, he)
}

fn not_negative(ratio: &At<Db>, problems: &mut Problems) {
    if ratio.value.0 < 0.0 {
        problems.push(&ratio.place, format!("expected at least 0dB, got {}", ratio.value));
    }
}

fn path_loss(channel: &RawChannel, band: Band, problems: &mut Problems) -> PathLoss {
    let raw = &channel.path_loss;
    not_negative(&raw.shadowing, problems);
    let usual = PathLoss::in_band(band);
    match raw.model.value {
        PathLossKind::LogDistance => PathLoss {
            reference: raw.reference.as_ref().map_or(usual.reference, |at| at.value),
            exponent: raw.exponent.as_ref().map_or(usual.exponent, |at| at.value.0),
        },
        PathLossKind::FreeSpace => {
            let fixed = [
                raw.exponent.as_ref().map(|at| &at.place),
                raw.reference.as_ref().map(|at| &at.place),
                (raw.shadowing.value != Db(0.0)).then_some(&raw.shadowing.place),
            ];
            for place in fixed.into_iter().flatten() {
                problems.push(place, "free space leaves no choice; use model = \"log-distance\"");
            }
            PathLoss { reference: usual.reference, exponent: 2.0 }
        }
    }
}

fn fading(raw: &RawFading, problems: &mut Problems) -> Fading {
    let kind = raw.kind.value;
    if let Some(doppler) = &raw.doppler
        && kind == FadingKind::None
    {
        problems.push(&doppler.place, "without fading there is no Doppler rate; give a kind");
    }
    if let Some(k) = &raw.k
        && kind != FadingKind::Rician
    {
        problems.push_unfit(&k.place, "this key is for kind = \"rician\" only");
    }
    let doppler_hz = raw.doppler.as_ref().map_or(Hertz(10.0), |at| at.value).0;
    match kind {
        FadingKind::None => Fading::None,
        FadingKind::Rayleigh => Fading::Rayleigh { doppler_hz },
        FadingKind::Rician => {
            Fading::Rician { k: raw.k.as_ref().map_or(Db(6.0), |at| at.value), doppler_hz }
        }
    }
}

/// Returns the rates that a station of the cell has.
fn rates(common: &Common, streams: u8) -> Vec<Rate> {
    let short = common.guard_interval == GuardInterval::Short;
    match common.standard {
        Standard::Dot11b => RateSet::dsss(common.preamble).rates,
        Standard::Dot11g => RateSet::erp(common.preamble).rates,
        Standard::Dot11a => RateSet::ofdm().rates,
        Standard::Dot11n => RateSet::ht(streams, common.width, short).rates,
        Standard::Dot11ac => RateSet::vht(streams, common.width, short).rates,
        Standard::Dot11ax => RateSet::he(streams, common.width, common.he_guard_interval).rates,
        Standard::Dot11be => RateSet::eht(streams, common.width, common.he_guard_interval).rates,
    }
}

/// Returns every rate without HT that all stations of the cell support.
fn legacy_rates(common: &Common) -> Vec<Rate> {
    match (common.standard, common.band) {
        (Standard::Dot11b, _) => RateSet::dsss(common.preamble).rates,
        (Standard::Dot11g, _)
        | (Standard::Dot11n | Standard::Dot11ax | Standard::Dot11be, Band::Ghz2_4) => {
            RateSet::erp(common.preamble).rates
        }
        (Standard::Dot11a | Standard::Dot11ac, _)
        | (Standard::Dot11n | Standard::Dot11ax | Standard::Dot11be, Band::Ghz5 | Band::Ghz6) => {
            RateSet::ofdm().rates
        }
    }
}

fn legacy_rate(bitrate: Bitrate, common: &Common) -> Option<Rate> {
    legacy_rates(common).into_iter().find(|rate| rate.bitrate() == bitrate)
}

/// Returns the rate of group frames, from a bit rate or an MCS.
fn group_rate(
    channel: &RawChannel,
    wifi: &[WifiNode<'_>],
    own: &[Common],
    common: &Common,
    problems: &mut Problems,
) -> Option<Rate> {
    let mcs = match (&channel.group_rate, &channel.group_mcs) {
        (Some(_), Some(mcs)) => {
            let message = "the rate of group frames is given by group_rate or by group_mcs, not \
                           by both";
            problems.push(&mcs.place, message);
            return None;
        }
        (Some(rate), None) => {
            let known = legacy_rate(rate.value, common);
            if known.is_none() {
                not_a_rate(rate, common, Some("group_mcs"), problems);
            }
            return known;
        }
        (None, mcs) => mcs.as_ref()?,
    };
    let (oldest, standard) = own
        .iter()
        .map(|common| common.standard)
        .enumerate()
        .min_by_key(|(_, standard)| generations::age(*standard))?;
    let number = mcs.value.get();
    let rate = match standard {
        Standard::Dot11n => Some(Rate::Ht {
            mcs: number,
            width: ChannelWidth::Mhz20,
            guard_interval: GuardInterval::Long,
        }),
        Standard::Dot11ac => Rate::vht(number, 1, ChannelWidth::Mhz20, GuardInterval::Long),
        Standard::Dot11ax => {
            Rate::he(number, 1, ChannelWidth::Mhz20, common.he_guard_interval, false)
        }
        Standard::Dot11be => Rate::eht(number, 1, ChannelWidth::Mhz20, common.he_guard_interval),
        _ => {
            let name = &wifi[oldest].1.name;
            let message = format!(
                "an MCS needs 802.11n at every node, and {name:?} has {standard}; use group_rate"
            );
            problems.push(&mcs.place, message);
            return None;
        }
    };
    let streams = wifi.iter().map(|(_, node)| node.raw.settings.streams.value.get()).min()?;
    let rate = rate.filter(|_| standard != Standard::Dot11n || number / 8 < streams);
    if rate.is_none() {
        let message = match standard {
            Standard::Dot11n => {
                format!("MCS {number} has {} streams, and some node has {streams}", number / 8 + 1)
            }
            _ => format!("{standard} has no MCS {number} with one stream in 20MHz"),
        };
        problems.push(&mcs.place, message);
    }
    rate
}

/// Reports a bit rate that needs HT; `mcs`: the key for rates of later formats.
fn not_a_rate(at: &At<Bitrate>, common: &Common, mcs: Option<&str>, problems: &mut Problems) {
    let rates: Vec<String> =
        legacy_rates(common).iter().map(|rate| rate.bitrate().to_string()).collect();
    let format = match common.standard {
        Standard::Dot11n => Some("HT"),
        Standard::Dot11ac => Some("VHT"),
        Standard::Dot11ax => Some("HE"),
        Standard::Dot11be => Some("EHT"),
        _ => None,
    };
    let hint = match (format, mcs) {
        (Some(format), Some(mcs)) => format!("; for {format} rates use {mcs}"),
        _ => String::new(),
    };
    let message = format!(
        "{} is no rate of {}, which has {}{hint}",
        at.value,
        common.standard,
        rates.join(", ")
    );
    problems.push(&at.place, message);
}

fn basic_rates(channel: &RawChannel, common: &Common, problems: &mut Problems) -> Vec<Rate> {
    let Some(at) = &channel.basic_rates else {
        return ControlRates::for_standard(common.standard, common.band).basic;
    };
    let mut rates = Vec::new();
    for &value in &at.value {
        match legacy_rate(value, common) {
            Some(rate) => rates.push(rate),
            None => not_a_rate(&At { value, place: at.place.clone() }, common, None, problems),
        }
    }
    rates
}

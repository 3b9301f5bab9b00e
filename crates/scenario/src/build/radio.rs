//! The channel and the stations on it.

use super::nodes::Expanded;
use super::{Names, is_written, positive, queue};
use crate::error::{Place, Problems};
use crate::quantity::Hertz;
use crate::raw::{
    ErrorModelKind, FadingKind, PathLossKind, RateControlKind, RawChannel, RawEdcaParameters,
    RawFading, RawLink, RawNodeSettings, RequestKind,
};
use crate::scalar::At;
use crate::{Role, Shadowed};
use lasthop_units::{Bitrate, Db, Dbm, Duration, MacAddr, Meters, Probability};
use lasthop_wifi::cell::{
    Aggregation, BlockAck, BlockAckRequestPolicy, CellConfig, EdcaParameters, PairConfig,
    StationConfig,
};
use lasthop_wifi::mac::rate::{RateControlConfig, RateSet};
use lasthop_wifi::phy::{
    Band, ChannelWidth, ControlRates, ErrorModel, Fading, GuardInterval, PathLoss, Preamble,
    Propagation, Rate, Standard, Timing,
};
use lasthop_wifi::queue::{DriverLimit, QueueConfig};
use lasthop_wifi::{AccessCategory, StationId};
use std::collections::{BTreeMap, BTreeSet};

/// Most stations: every pair of them has its own links.
const STATIONS_MAX: usize = 512;
/// aPPDUMaxTime (IEEE 802.11-2020, table 19-25).
const PPDU_DURATION_MAX: Duration = Duration::from_micros(5_484);
/// The largest minimum MPDU start spacing (9.4.2.55.3).
const MPDU_START_SPACING_MAX: Duration = Duration::from_micros(16);
/// Where a station stands if nobody says: in the same room, a strong link.
const STATION_POSITION: [Meters; 2] = [Meters(5.0), Meters(0.0)];

/// What the whole cell shares, as far as stations need it.
struct Common {
    standard: Standard,
    band: Band,
    width: ChannelWidth,
    guard_interval: GuardInterval,
    preamble: Preamble,
    propagation: Propagation,
}

/// The cell of the scenario, and the pairs whose shadowing is drawn for each run.
pub(crate) fn cell(
    channel: &RawChannel,
    links: &[RawLink],
    nodes: &[Expanded<'_>],
    names: &Names,
    problems: &mut Problems,
) -> Option<(CellConfig, Vec<Shadowed>)> {
    let wifi: Vec<(usize, &Expanded<'_>)> =
        nodes.iter().enumerate().filter(|(_, node)| node.is_wifi()).collect();
    if wifi.is_empty() {
        if let Some(link) = links.first() {
            problems.push(&link.at, "a link is on the air, and there is no node with a radio");
        }
        return None;
    }
    if wifi.len() > STATIONS_MAX {
        let message =
            format!("expected at most {STATIONS_MAX} nodes with a radio, got {}", wifi.len());
        problems.push(&wifi[STATIONS_MAX].1.raw.at, message);
        return None;
    }
    let common = common(channel, problems);
    let stations: Vec<StationConfig> =
        wifi.iter().map(|(index, node)| station(*index, node, &common, problems)).collect();
    check_addresses(&wifi, &stations, problems);
    check_streams(&wifi, problems);
    let basic_rates = basic_rates(channel, &common, problems);
    let group_rate = channel.group_rate.as_ref().and_then(|rate| {
        legacy_rate(rate.value, &common).ok_or_else(|| not_a_rate(rate, &common, problems)).ok()
    });
    if let Some(interval) = channel.beacon_interval.value.0
        && interval.is_zero()
    {
        problems.push(&channel.beacon_interval.place, "expected more than zero, or \"off\"");
    }
    let (links, shadowed) = pairs(links, &wifi, names, &common, problems);
    let cell = CellConfig {
        standard: common.standard,
        band: common.band,
        control_preamble: channel.control_preamble.as_ref().map(|at| at.value),
        basic_rates,
        group_rate,
        beacon_interval: channel.beacon_interval.value.0,
        error_model: match channel.error_model.value {
            ErrorModelKind::Nist => ErrorModel::nist(),
        },
        carrier_sense: channel.carrier_sense.value,
        capture_margin: channel.capture_margin.value.0,
        stations,
        links,
        record_events: false,
    };
    Some((cell, shadowed))
}

fn common(channel: &RawChannel, problems: &mut Problems) -> Common {
    let standard = channel.standard.value;
    let usual = if standard.works_in(Band::Ghz5) { Band::Ghz5 } else { Band::Ghz2_4 };
    let band = channel.band.as_ref().map_or(usual, |band| band.value);
    if let Some(at) = &channel.band
        && !standard.works_in(band)
    {
        problems.push(&at.place, format!("{standard} does not exist in this band"));
    }
    let width = channel.width.value;
    if width == ChannelWidth::Mhz40 && standard != Standard::Dot11n {
        let message = format!("40MHz needs 802.11n; {standard} has 20MHz");
        problems.push(&channel.width.place, message);
    }
    let guard_interval = channel.guard_interval.value;
    if guard_interval == GuardInterval::Short && standard != Standard::Dot11n {
        let message = format!("the short guard interval of 400ns needs 802.11n, not {standard}");
        problems.push(&channel.guard_interval.place, message);
    }
    let preamble = channel.preamble.value;
    for at in [Some(&channel.preamble), channel.control_preamble.as_ref()].into_iter().flatten() {
        if at.value == Preamble::Short && band == Band::Ghz5 {
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
    Common { standard, band, width, guard_interval, preamble, propagation }
}

fn not_negative(ratio: &At<Db>, problems: &mut Problems) {
    if ratio.value.0 < 0.0 {
        problems.push(&ratio.place, format!("expected at least 0dB, got {}", ratio.value));
    }
}

fn path_loss(channel: &RawChannel, band: Band, problems: &mut Problems) -> PathLoss {
    let raw = &channel.path_loss;
    not_negative(&raw.shadowing, problems);
    let usual = PathLoss::of(band);
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
        problems.push(&k.place, "this key is for kind = \"rician\" only");
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

/// The rates that a station of the cell has.
fn rates(common: &Common, streams: u8) -> Vec<Rate> {
    let short = common.guard_interval == GuardInterval::Short;
    match common.standard {
        Standard::Dot11b => RateSet::dsss(common.preamble).rates,
        Standard::Dot11g => RateSet::erp(common.preamble).rates,
        Standard::Dot11a => RateSet::ofdm().rates,
        Standard::Dot11n => RateSet::ht(streams, common.width, short).rates,
    }
}

/// Every rate without HT that the cell's stations understand.
fn legacy_rates(common: &Common) -> Vec<Rate> {
    match (common.standard, common.band) {
        (Standard::Dot11b, _) => RateSet::dsss(common.preamble).rates,
        (Standard::Dot11g, _) | (Standard::Dot11n, Band::Ghz2_4) => {
            RateSet::erp(common.preamble).rates
        }
        (Standard::Dot11a, _) | (Standard::Dot11n, Band::Ghz5) => RateSet::ofdm().rates,
    }
}

fn legacy_rate(bitrate: Bitrate, common: &Common) -> Option<Rate> {
    legacy_rates(common).into_iter().find(|rate| rate.bitrate() == bitrate)
}

fn not_a_rate(at: &At<Bitrate>, common: &Common, problems: &mut Problems) {
    let rates: Vec<String> =
        legacy_rates(common).iter().map(|rate| rate.bitrate().to_string()).collect();
    let hint = if common.standard == Standard::Dot11n { "; for HT rates use mcs" } else { "" };
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
        return ControlRates::of(common.standard, common.band).basic;
    };
    let mut rates = Vec::new();
    for &value in &at.value {
        match legacy_rate(value, common) {
            Some(rate) => rates.push(rate),
            None => not_a_rate(&At { value, place: at.place.clone() }, common, problems),
        }
    }
    rates
}

fn station(
    index: usize,
    node: &Expanded<'_>,
    common: &Common,
    problems: &mut Problems,
) -> StationConfig {
    let raw = &node.raw.settings;
    let is_ht = common.standard == Standard::Dot11n;
    let qos = raw.qos.as_ref().map_or(is_ht, |qos| qos.value);
    if is_written(&raw.streams.place) && !is_ht && raw.streams.value.0 > 1 {
        let message = format!("{} has one stream; more need 802.11n", common.standard);
        problems.push(&raw.streams.place, message);
    }
    let block_ack = BlockAck {
        window: raw.block_ack.window.value.get(),
        reorder_timeout: raw.block_ack.reorder_timeout.value,
        request: match raw.block_ack.request.value {
            RequestKind::AfterMissing => BlockAckRequestPolicy::AfterMissing,
            RequestKind::AfterDrop => BlockAckRequestPolicy::AfterDrop,
        },
    };
    positive(&raw.block_ack.reorder_timeout, problems);
    StationConfig {
        address: node.raw.address.as_ref().map_or_else(
            || MacAddr::local(u32::try_from(index).expect("there are at most NODES_MAX nodes")),
            |at| at.value,
        ),
        role: match node.role() {
            Role::AccessPoint => lasthop_wifi::cell::Role::AccessPoint,
            _ => lasthop_wifi::cell::Role::Station,
        },
        access: edca(raw, qos, common, problems),
        queue: queue::config(&raw.queue, QueueConfig::MAC80211, problems),
        driver_queue: driver_queue(raw, problems),
        rate_control: rate_control(raw, common, problems),
        rates: rates(common, raw.streams.value.get()),
        rts_threshold: raw.rts_threshold.value.0.map(crate::scalar::Whole::get),
        qos,
        aggregation: aggregation(raw, qos, common, problems),
        block_ack,
        retry_limit: raw.retry_limit.value.get(),
        msdu_lifetime: raw.msdu_lifetime.value.0,
    }
}

/// Addresses are those of single stations, and differ.
fn check_addresses(
    wifi: &[(usize, &Expanded<'_>)],
    stations: &[StationConfig],
    problems: &mut Problems,
) {
    let mut seen = BTreeSet::new();
    for ((_, node), station) in wifi.iter().zip(stations) {
        let is_new = seen.insert(station.address);
        let Some(at) = &node.raw.address else { continue };
        if at.value.is_multicast() {
            problems.push(&at.place, "this is a group address; a station's is not");
        } else if !is_new {
            problems.push(&at.place, format!("another node has {} already", at.value));
        }
    }
}

/// The receiver of a fixed rate can receive it.
fn check_streams(wifi: &[(usize, &Expanded<'_>)], problems: &mut Problems) {
    let streams = |node: &Expanded<'_>| node.raw.settings.streams.value.0;
    let access_point = wifi.iter().find(|(_, node)| node.role() == Role::AccessPoint);
    for (_, node) in wifi {
        let Some(mcs) = &node.raw.settings.rate_control.mcs else { continue };
        let needed = mcs.value.0 / 8 + 1;
        let peers: Vec<&Expanded<'_>> = match node.role() {
            Role::AccessPoint => wifi.iter().map(|(_, peer)| *peer).collect(),
            _ => access_point.into_iter().map(|(_, peer)| *peer).chain([*node]).collect(),
        };
        if let Some(peer) = peers.into_iter().find(|peer| streams(peer) < needed) {
            let message = format!(
                "MCS {} needs {needed} streams, and {:?} has {}",
                mcs.value.0,
                peer.name,
                streams(peer)
            );
            problems.push(&mcs.place, message);
        }
    }
}

fn rate_control(
    raw: &RawNodeSettings,
    common: &Common,
    problems: &mut Problems,
) -> RateControlConfig {
    use RateControlKind::{Fixed, Ideal, MinstrelHt};
    let control = &raw.rate_control;
    let kind = control.kind.value;
    let mut only = |place: Option<&Place>, wanted: RateControlKind, name: &str| {
        if let Some(place) = place
            && kind != wanted
        {
            problems.push(place, format!("this key is for kind = {name:?} only"));
        }
    };
    only(control.mcs.as_ref().map(|at| &at.place), Fixed, "fixed");
    only(control.rate.as_ref().map(|at| &at.place), Fixed, "fixed");
    only(control.update_interval.as_ref().map(|at| &at.place), MinstrelHt, "minstrel-ht");
    only(control.sample_interval.as_ref().map(|at| &at.place), MinstrelHt, "minstrel-ht");
    only(control.per_max.as_ref().map(|at| &at.place), Ideal, "ideal");
    match kind {
        Fixed => RateControlConfig::Fixed { rate: fixed_rate(raw, common, problems) },
        Ideal => match (RateControlConfig::ideal(), &control.per_max) {
            (RateControlConfig::Ideal { bytes, .. }, Some(at)) => {
                RateControlConfig::Ideal { bytes, per_max: at.value }
            }
            (usual, _) => usual,
        },
        MinstrelHt => {
            for at in [&control.update_interval, &control.sample_interval].into_iter().flatten() {
                positive(at, problems);
            }
            match RateControlConfig::minstrel_ht() {
                RateControlConfig::MinstrelHt { update_interval, sample_interval } => {
                    let or =
                        |at: &Option<At<Duration>>, usual| at.as_ref().map_or(usual, |at| at.value);
                    RateControlConfig::MinstrelHt {
                        update_interval: or(&control.update_interval, update_interval),
                        sample_interval: or(&control.sample_interval, sample_interval),
                    }
                }
                usual => usual,
            }
        }
    }
}

fn fixed_rate(raw: &RawNodeSettings, common: &Common, problems: &mut Problems) -> Rate {
    let control = &raw.rate_control;
    let lowest = rates(common, 1)[0];
    match (&control.mcs, &control.rate) {
        (Some(mcs), None) if common.standard == Standard::Dot11n => Rate::Ht {
            mcs: mcs.value.get(),
            width: common.width,
            guard_interval: common.guard_interval,
        },
        (Some(mcs), None) => {
            let message = format!("an MCS needs 802.11n; {} has rates: use rate", common.standard);
            problems.push(&mcs.place, message);
            lowest
        }
        (None, Some(at)) => legacy_rate(at.value, common).unwrap_or_else(|| {
            not_a_rate(at, common, problems);
            lowest
        }),
        (Some(_), Some(at)) => {
            problems.push(&at.place, "a fixed rate is given by mcs or by rate, not by both");
            lowest
        }
        (None, None) => {
            let example = match common.standard {
                Standard::Dot11n => "mcs = 7",
                Standard::Dot11b => "rate = \"11Mb/s\"",
                _ => "rate = \"54Mb/s\"",
            };
            problems.push(&control.at, format!("which fixed rate? add for example {example}"));
            lowest
        }
    }
}

fn driver_queue(raw: &RawNodeSettings, problems: &mut Problems) -> DriverLimit {
    match (&raw.driver_queue.packets, &raw.driver_queue.airtime) {
        (None, None) => DriverLimit::None,
        (Some(packets), None) => DriverLimit::Packets(packets.value.get()),
        (None, Some(airtime)) => {
            positive(airtime, problems);
            DriverLimit::Airtime(airtime.value)
        }
        (Some(_), Some(airtime)) => {
            let message = "a driver queue is bounded by packets or by airtime, not by both";
            problems.push(&airtime.place, message);
            DriverLimit::None
        }
    }
}

fn aggregation(
    raw: &RawNodeSettings,
    qos: bool,
    common: &Common,
    problems: &mut Problems,
) -> Aggregation {
    let aggregation = &raw.aggregation;
    let possible = qos && common.standard == Standard::Dot11n;
    let why = match common.standard {
        Standard::Dot11n => "aggregates need QoS frames, and qos is false".to_owned(),
        standard => format!("aggregates need 802.11n, not {standard}"),
    };
    if let Some(bytes) = &aggregation.ampdu_bytes_max
        && bytes.value.0 > 0
        && !possible
    {
        problems.push(&bytes.place, why.clone());
    }
    if aggregation.amsdu_bytes_max.value.0 > 0 && !possible {
        problems.push(&aggregation.amsdu_bytes_max.place, why);
    }
    let duration = &aggregation.ampdu_duration_max;
    positive(duration, problems);
    if duration.value > PPDU_DURATION_MAX {
        let message = format!(
            "expected at most 5.484ms, the longest PPDU (aPPDUMaxTime), got {}",
            duration.value
        );
        problems.push(&duration.place, message);
    }
    let spacing = &aggregation.mpdu_start_spacing;
    if spacing.value > MPDU_START_SPACING_MAX {
        let message = format!("expected at most {MPDU_START_SPACING_MAX}, got {}", spacing.value);
        problems.push(&spacing.place, message);
    }
    let window: u8 = raw.block_ack.window.value.get();
    let frames = aggregation.ampdu_frames_max.as_ref().map_or(window, |at| at.value.get());
    if let Some(at) = &aggregation.ampdu_frames_max
        && frames > window
    {
        let message = format!("expected at most the Block Ack window of {window}, got {frames}");
        problems.push(&at.place, message);
    }
    let usual = if possible { 65_535 } else { 0 };
    Aggregation {
        ampdu_bytes_max: aggregation.ampdu_bytes_max.as_ref().map_or(usual, |at| at.value.get()),
        ampdu_duration_max: duration.value,
        ampdu_frames_max: frames,
        mpdu_start_spacing: spacing.value,
        amsdu_bytes_max: aggregation.amsdu_bytes_max.value.get(),
    }
}

/// The parameters of the four categories, by their index (IEEE 802.11-2020,
/// table 9-155, with the PHY's contention window). Without QoS all of them are
/// the DCF's, and only best effort may be changed.
fn edca(
    raw: &RawNodeSettings,
    qos: bool,
    common: &Common,
    problems: &mut Problems,
) -> [EdcaParameters; 4] {
    let timing = Timing::of(common.standard, common.band);
    let (cw_min, cw_max) = (timing.cw_min, timing.cw_max);
    let slots = cw_min + 1;
    let (half, quarter) = (slots / 2 - 1, slots / 4 - 1);
    let (video_us, voice_us) =
        if common.standard == Standard::Dot11b { (6_016, 3_264) } else { (3_008, 1_504) };
    let of = |aifsn, cw_min, cw_max, txop_us| EdcaParameters {
        aifsn,
        cw_min,
        cw_max,
        txop_limit: Duration::from_micros(txop_us),
    };
    if !qos {
        for unused in [&raw.edca.background, &raw.edca.video, &raw.edca.voice] {
            if is_written(&unused.at) {
                let message = "without qos there is one access category: use best_effort";
                problems.push(&unused.at, message);
            }
        }
        let dcf = of(2, cw_min, cw_max, 0);
        return [parameters(&raw.edca.best_effort, dcf, problems); 4];
    }
    AccessCategory::ALL.map(|category| {
        let (raw, usual) = match category {
            AccessCategory::Background => (&raw.edca.background, of(7, cw_min, cw_max, 0)),
            AccessCategory::BestEffort => (&raw.edca.best_effort, of(3, cw_min, cw_max, 0)),
            AccessCategory::Video => (&raw.edca.video, of(2, half, cw_min, video_us)),
            AccessCategory::Voice => (&raw.edca.voice, of(2, quarter, half, voice_us)),
        };
        parameters(raw, usual, problems)
    })
}

fn parameters(
    raw: &RawEdcaParameters,
    usual: EdcaParameters,
    problems: &mut Problems,
) -> EdcaParameters {
    for at in [&raw.cw_min, &raw.cw_max].into_iter().flatten() {
        let window = at.value.0;
        if (window + 1) & window != 0 {
            let below = (1 << (63 - (window + 1).leading_zeros())) - 1;
            let message =
                format!("expected 2^n - 1, as {below} or {}, got {window}", 2 * below + 1);
            problems.push(&at.place, message);
        }
    }
    let parameters = EdcaParameters {
        aifsn: raw.aifsn.as_ref().map_or(usual.aifsn, |at| at.value.get()),
        cw_min: raw.cw_min.as_ref().map_or(usual.cw_min, |at| at.value.get()),
        cw_max: raw.cw_max.as_ref().map_or(usual.cw_max, |at| at.value.get()),
        txop_limit: raw.txop_limit.as_ref().map_or(usual.txop_limit, |at| at.value),
    };
    if parameters.cw_min > parameters.cw_max {
        let message =
            format!("cw_min of {} is above cw_max of {}", parameters.cw_min, parameters.cw_max);
        let at = raw.cw_max.as_ref().or(raw.cw_min.as_ref());
        problems.push(at.map_or(&raw.at, |at| &at.place), message);
    }
    parameters
}

/// What a `[[link]]` says about one direction.
#[derive(Clone, Copy)]
enum Given {
    Snr(Db),
    PathLoss(Db),
    Loss(Probability),
    Nothing,
}

/// Every ordered pair of stations, from the channel or a `[[link]]` (of several
/// the last one), and those pairs whose shadowing is drawn.
fn pairs(
    links: &[RawLink],
    wifi: &[(usize, &Expanded<'_>)],
    names: &Names,
    common: &Common,
    problems: &mut Problems,
) -> (Vec<PairConfig>, Vec<Shadowed>) {
    let given = given(links, wifi, names, problems);
    let places: Vec<[f64; 2]> = wifi.iter().map(|(_, node)| position(node)).collect();
    let mut pairs = Vec::new();
    let mut shadowed = Vec::new();
    for (from, (_, sender)) in wifi.iter().enumerate() {
        for to in (0..wifi.len()).filter(|&to| to != from) {
            let power: Dbm = sender.raw.settings.tx_power.value;
            let (what, fading) = given.get(&(from, to)).copied().unwrap_or((Given::Nothing, None));
            let propagation = Propagation {
                fading: fading.unwrap_or(common.propagation.fading),
                ..common.propagation
            };
            let link = match what {
                Given::Snr(snr) => propagation.link_with_snr(snr),
                Given::Loss(loss) => propagation.link_with_loss(loss),
                Given::PathLoss(loss) => {
                    propagation.link_with_snr(power - loss - propagation.noise())
                }
                Given::Nothing => {
                    let distance =
                        (places[from][0] - places[to][0]).hypot(places[from][1] - places[to][1]);
                    if propagation.shadowing != Db(0.0) {
                        let stations = [from.min(to), from.max(to)];
                        shadowed.push(Shadowed { link: pairs.len(), stations });
                    }
                    propagation.link(power, Meters(distance), Db(0.0))
                }
            };
            pairs.push(PairConfig { from: station_id(from), to: station_id(to), link });
        }
    }
    (pairs, shadowed)
}

fn station_id(index: usize) -> StationId {
    StationId(u16::try_from(index).expect("there are at most STATIONS_MAX stations"))
}

/// Where a node stands, in metres.
fn position(node: &Expanded<'_>) -> [f64; 2] {
    let usual = match node.role() {
        Role::AccessPoint => [Meters(0.0); 2],
        _ => STATION_POSITION,
    };
    let [x, y] = node.raw.position.as_ref().map_or(usual, |at| at.value);
    let radius = node.raw.ring.as_ref().map_or(0.0, |at| at.value.0);
    let angle = core::f64::consts::TAU * node.index as f64 / node.count as f64;
    [x.0 + radius * angle.cos(), y.0 + radius * angle.sin()]
}

type GivenPairs = BTreeMap<(usize, usize), (Given, Option<Fading>)>;

fn given(
    links: &[RawLink],
    wifi: &[(usize, &Expanded<'_>)],
    names: &Names,
    problems: &mut Problems,
) -> GivenPairs {
    let mut given = GivenPairs::new();
    for link in links {
        let what = match (&link.snr, &link.path_loss, &link.loss) {
            (Some(snr), None, None) => Given::Snr(snr.value),
            (None, Some(path_loss), None) => Given::PathLoss(path_loss.value),
            (None, None, Some(loss)) => Given::Loss(loss.value),
            (None, None, None) if link.fading.is_some() => Given::Nothing,
            (None, None, None) => {
                problems
                    .push(&link.at, "this link says nothing: add snr, path_loss, loss or fading");
                continue;
            }
            _ => {
                problems.push(&link.at, "a link has one of snr, path_loss and loss, not several");
                continue;
            }
        };
        let fading = link.fading.as_ref().map(|raw| {
            if let Given::Loss(_) = what {
                problems.push(&raw.at, "a link that is given by its loss does not fade");
            }
            fading(raw, problems)
        });
        let ends = match (&link.between, &link.from, &link.to) {
            (Some(between), None, None) => {
                let [one, other] = &between.value;
                Some(((one, &between.place), (other, &between.place)))
            }
            (None, Some(from), Some(to)) => {
                Some(((&from.value, &from.place), (&to.value, &to.place)))
            }
            _ => None,
        };
        let Some((from, to)) = ends else {
            problems.push(&link.at, "a link needs between = [.., ..], or from and to");
            continue;
        };
        let from = stations(from.0, from.1, wifi, names, problems);
        let to_place = to.1;
        let to = stations(to.0, to.1, wifi, names, problems);
        let mut any = from.is_empty() || to.is_empty();
        for &from in &from {
            for &to in to.iter().filter(|&&to| to != from) {
                any = true;
                given.insert((from, to), (what, fading));
                if link.between.is_some() {
                    given.insert((to, from), (what, fading));
                }
            }
        }
        if !any {
            problems.push(to_place, "a link needs two different nodes");
        }
    }
    given
}

/// The stations that a name or pattern stands for.
fn stations(
    pattern: &str,
    place: &Place,
    wifi: &[(usize, &Expanded<'_>)],
    names: &Names,
    problems: &mut Problems,
) -> Vec<usize> {
    let mut stations = Vec::new();
    for index in names.find_all(pattern, place, problems) {
        match wifi.iter().position(|(other, _)| *other == index) {
            Some(station) => stations.push(station),
            None if pattern.contains('*') => {}
            None => problems.push(place, format!("{pattern:?} has no radio")),
        }
    }
    stations
}

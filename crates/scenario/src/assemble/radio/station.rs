//! Behaviour of a node on the air: from raw settings to the machine's configuration.

use super::generations::rates_of;
use super::{
    Common, WifiNode, absence, legacy_rate, modes, mu_mimo, not_a_rate, not_negative,
    operating_mode, power_save, rates, retry, schedule,
};
use super::{Expanded, Place, Problems, Role, is_written, positive, queue};
use crate::raw::{
    OfdmaAcknowledgementKind, RateControlKind, RawEdcaParameters, RawFixedRate, RawMuEdca,
    RawMuEdcaParameters, RawNodeSettings, RawOfdma, RawUplink, RequestKind, RxInterruptKind,
};
use lasthop_config::scalar::{At, Whole};
use lasthop_packet::AccessCategory;
use lasthop_packet::queue::{DriverLimit, QueueConfig};
use lasthop_units::{Duration, Identity, MacAddr};
use lasthop_wifi::cell::{
    Aggregation, BlockAck, BlockAckRequestPolicy, EdcaParameters, MuEdcaParameters,
    OfdmaAcknowledgement, OfdmaConfig, RxHold, RxInterrupt, StationConfig, UplinkConfig,
};
use lasthop_wifi::mac::rate::RateControlConfig;
use lasthop_wifi::phy::{Rate, Standard, Timing};
use lasthop_wifi::{BssId, Capabilities};
use std::collections::BTreeSet;

/// The longest A-MSDU of HT (IEEE 802.11-2020, 9.4.2.55.2).
const HT_AMSDU_BYTES_MAX: u16 = 7_935;
/// The largest minimum MPDU start spacing (9.4.2.55.3).
const MPDU_START_SPACING_MAX: Duration = Duration::from_micros(16);
/// Unit of a TXOP limit, and the limit of its field (9.4.2.28).
const TXOP_UNIT: Duration = Duration::from_micros(32);
const TXOP_UNITS_MAX: u64 = 65_535;

/// Returns the station of the node with this index, from the common settings and the standards in
/// the cell.
pub(super) fn config(
    index: usize,
    node: &Expanded<'_>,
    bss: BssId,
    common: &Common,
    used: &BTreeSet<Standard>,
    problems: &mut Problems,
) -> StationConfig {
    let raw = &node.raw.settings;
    let qos = node.has_qos(common.standard);
    check_streams_of_standard(raw, common, problems);
    let streams = raw.streams.value.get::<u8>().min(common.standard.streams_max());
    let mut all = rates_of(common, streams, used);
    all.extend(modes::rates(raw, common, streams, problems));
    let packet_padding = modes::packet_padding(raw, common, problems);
    let capabilities = Capabilities::new(all, qos).within(common.band);
    let capabilities =
        Capabilities { packet_padding, encryption: common.encryption, ..capabilities };
    let block_ack = BlockAck {
        window: window(raw, &capabilities, common, problems),
        reorder_timeout: raw.block_ack.reorder_timeout.value,
        request: match raw.block_ack.request.value {
            RequestKind::AfterMissing => BlockAckRequestPolicy::AfterMissing,
            RequestKind::AfterDrop => BlockAckRequestPolicy::AfterDrop,
        },
    };
    positive(&raw.block_ack.reorder_timeout, problems);
    let operating_mode = raw.operating_mode.as_ref().and_then(|table| {
        operating_mode::config(table, node.role(), &capabilities, common, problems)
    });
    let saves = power_save::config(raw, node.role(), &node.name, qos, common, problems);
    let aggregation = aggregation(raw, &capabilities, block_ack.window, common, problems);
    let ampdu = Some(aggregation.ampdu_duration_max);
    StationConfig {
        identity: Identity::from_name(&node.name),
        address: node.raw.address.as_ref().map_or_else(
            || MacAddr::local(u32::try_from(index).expect("there are at most NODES_MAX nodes")),
            |at| at.value,
        ),
        role: match node.role() {
            Role::AccessPoint => lasthop_wifi::cell::Role::AccessPoint,
            _ => lasthop_wifi::cell::Role::Station,
        },
        bss,
        // For sets with a name it is set once all are known.
        beacon_offset: Duration::ZERO,
        access: edca(raw, qos, common, problems),
        queue: queue::config(&raw.queue, QueueConfig::MAC80211, ampdu, problems),
        driver_queue: driver_queue(raw, problems),
        rate_control: rate_control(raw, common, problems),
        // `peer_rates` knows the peers.
        peer_rates: Vec::new(),
        rts_threshold: raw.rts_threshold.value.0.map(Whole::get),
        aggregation,
        capabilities,
        operating_mode,
        transmit_gap: raw.transmit_gap.value,
        block_ack,
        rx_interrupt: rx_interrupt(raw, problems),
        retry_limit: raw.retry_limit.value.get(),
        low_rate_retry: retry::low_rate(raw, problems),
        pseudo_retry_out: retry::pseudo(raw, qos, problems),
        msdu_lifetime: raw.msdu_lifetime.value.0,
        failed: failed(node, problems),
        scan: raw.scan.as_ref().map(|scan| absence::scan(scan, node.role(), problems)),
        // `roaming` decides that once all sets are known.
        roaming: None,
        // `steering`, too.
        steering: None,
        absences: schedule::config(raw, node.role(), &node.name, problems),
        power_save: saves.legacy,
        service_periods: saves.service_periods,
        power_save_buffer: absence::power_save_buffer(raw),
        // `mtu` decides that once all buffers are known.
        adaptive_mtu: None,
        ofdma: raw
            .ofdma
            .as_ref()
            .and_then(|ofdma| ofdma_of(ofdma, node.role(), raw, qos, common, problems)),
        // `cells` says which sets do it.
        obss_pd: None,
        mu_mimo: raw
            .mu_mimo
            .as_ref()
            .and_then(|of| mu_mimo::config(of, node.role(), raw, qos, common, problems)),
        promiscuous: false,
    }
}

fn rx_interrupt(raw: &RawNodeSettings, problems: &mut Problems) -> RxInterrupt {
    let times = [&raw.rx_hold.last, &raw.rx_hold.first];
    let is_held = raw.rx_interrupt.value == RxInterruptKind::Held;
    for time in times.into_iter().flatten() {
        if !is_held {
            let only = "interrupts are held back with rx_interrupt = \"held\" only";
            problems.push_unfit(&time.place, only);
        }
        positive(time, problems);
    }
    let or = |index: usize, usual| times[index].as_ref().map_or(usual, |at| at.value);
    match raw.rx_interrupt.value {
        RxInterruptKind::Mpdu => RxInterrupt::Mpdu,
        RxInterruptKind::Ppdu => RxInterrupt::Ppdu,
        RxInterruptKind::Held => {
            let RxHold { last, first } = RxHold::ATH9K;
            RxInterrupt::Held(RxHold { last: or(0, last), first: or(1, first) })
        }
    }
}

/// OFDMA of a node of this role.
fn ofdma_of(
    ofdma: &RawOfdma,
    role: Role,
    raw: &RawNodeSettings,
    qos: bool,
    common: &Common,
    problems: &mut Problems,
) -> Option<OfdmaConfig> {
    let standard = common.standard;
    let built_ahead = raw.aggregation.built_ahead.value;
    if role != Role::AccessPoint {
        let message = "only an access point sends to several stations at once";
        problems.push_unfit(&ofdma.here, message);
    }
    if !standard.is_he() {
        problems.push(&ofdma.here, format!("OFDMA needs 802.11ax or 802.11be, not {standard}"));
    } else if !qos {
        problems.push_unfit(&ofdma.here, "OFDMA needs QoS frames, and qos is false");
    }
    if built_ahead {
        let message = "with ofdma A-MPDUs are built when the channel is gained; \
                       take ofdma or built_ahead";
        problems.push(&raw.aggregation.built_ahead.place, message);
    }
    let may_be = role == Role::AccessPoint && standard.is_he() && qos && !built_ahead;
    may_be.then_some(OfdmaConfig {
        stations_max: ofdma.stations.value.get(),
        acknowledgement: match ofdma.acknowledgement.value {
            OfdmaAcknowledgementKind::BlockAckRequest => OfdmaAcknowledgement::BlockAckRequest,
            OfdmaAcknowledgementKind::MuBlockAckRequest => OfdmaAcknowledgement::MuBlockAckRequest,
            OfdmaAcknowledgementKind::Aggregated => OfdmaAcknowledgement::Aggregated,
        },
        guard_interval: common.he_guard_interval,
        uplink: ofdma.uplink.as_ref().map(|uplink| uplink_of(uplink, problems)),
    })
}

/// Configuration of uplink OFDMA.
fn uplink_of(uplink: &RawUplink, problems: &mut Problems) -> UplinkConfig {
    let buffer_reports = uplink.buffer_reports.value.0;
    if buffer_reports.is_some_and(|interval| interval < BUFFER_REPORTS_MIN) {
        let message = format!("expected \"off\" or {BUFFER_REPORTS_MIN} or more");
        problems.push(&uplink.buffer_reports.place, message);
    }
    let RawMuEdca { background, best_effort, video, voice, .. } = &uplink.mu_edca;
    let mu_edca = AccessCategory::ALL.map(|category| {
        let raw = match category {
            AccessCategory::Background => background,
            AccessCategory::BestEffort => best_effort,
            AccessCategory::Video => video,
            AccessCategory::Voice => voice,
        };
        raw.as_ref().map(|raw| mu_edca_of(raw, problems))
    });
    UplinkConfig { buffer_reports, mu_edca }
}

/// Shortest interval of buffer reports: a BSRP exchange takes about 0.2 ms.
const BUFFER_REPORTS_MIN: Duration = Duration::from_millis(1);

/// MU EDCA parameters of one access category.
fn mu_edca_of(raw: &RawMuEdcaParameters, problems: &mut Problems) -> MuEdcaParameters {
    let RawMuEdcaParameters { aifsn, cw_min, cw_max, timer, .. } = raw;
    if aifsn.value.0 == 1 {
        problems.push(&aifsn.place, "expected 0 or a whole number from 2 to 15, got 1");
    }
    check_window(cw_min, problems);
    check_window(cw_max, problems);
    if aifsn.value.0 == 0 && !is_written(&aifsn.place) {
        let window = [&cw_min.place, &cw_max.place].into_iter().find(|place| is_written(place));
        if let Some(place) = window {
            let message = "with aifsn = 0, which is the default, a station does not contend and \
                           has no window; say which aifsn: 2 to 15, or 0";
            problems.push(place, message);
        }
    }
    if cw_min.value.0 > cw_max.value.0 {
        let (min, max) = (cw_min.value.0, cw_max.value.0);
        problems.push(&cw_max.place, format!("cw_min of {min} is above cw_max of {max}"));
    }
    let limit = timer.value;
    let (units, rest) =
        (limit.as_nanos() / TIMER_UNIT.as_nanos(), limit.as_nanos() % TIMER_UNIT.as_nanos());
    if rest != 0 || !(1..=255).contains(&units) {
        let message = format!("expected a multiple of {TIMER_UNIT}, 1 to 255 of them, got {limit}");
        problems.push(&timer.place, message);
    }
    MuEdcaParameters {
        aifsn: aifsn.value.get(),
        cw_min: cw_min.value.get(),
        cw_max: cw_max.value.get(),
        timer: limit,
    }
}

/// The unit of the MU EDCA Timer subfield: 8 TU (IEEE 802.11ax-2021, 9.4.2.251).
const TIMER_UNIT: Duration = Duration::from_micros(8_192);

/// Checks that the standard has this number of streams.
fn check_streams_of_standard(raw: &RawNodeSettings, common: &Common, problems: &mut Problems) {
    let most = common.standard.streams_max();
    if !is_written(&raw.streams.place) || raw.streams.value.0 <= i64::from(most) {
        return;
    }
    let message = match most {
        1 => format!("{} has one stream; more need 802.11n", common.standard),
        _ => {
            format!("{} has up to {most} streams; more need 802.11ac or 802.11ax", common.standard)
        }
    };
    problems.push(&raw.streams.place, message);
}

/// Returns the Block Ack window.
fn window(
    raw: &RawNodeSettings,
    capabilities: &Capabilities,
    common: &Common,
    problems: &mut Problems,
) -> u16 {
    let most = match capabilities.block_ack_window_max {
        0 => BlockAck::STANDARD.window,
        most => most,
    };
    let Some(at) = &raw.block_ack.window else { return most };
    let window = at.value.get();
    if window > most {
        let message = format!(
            "expected at most {most}, the largest window of {}, got {window}",
            common.standard
        );
        problems.push(&at.place, message);
    }
    window
}

/// Checks that addresses differ and are not group addresses.
pub(super) fn check_addresses(
    wifi: &[WifiNode<'_>],
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

/// Checks that the receiver of a fixed rate can receive it.
pub(super) fn check_streams(wifi: &[WifiNode<'_>], own: &[Common], problems: &mut Problems) {
    let streams = |node: &Expanded<'_>| node.raw.settings.streams.value.0;
    for ((_, node), own) in wifi.iter().zip(own) {
        let Some(mcs) = &node.raw.settings.rate_control.fixed.mcs else { continue };
        let needed = match own.standard {
            Standard::Dot11ac | Standard::Dot11ax | Standard::Dot11be => {
                let fixed = &node.raw.settings.rate_control.fixed;
                fixed.streams.as_ref().map_or_else(|| streams(node), |at| at.value.0)
            }
            _ => mcs.value.0 / 8 + 1,
        };
        let members = wifi.iter().map(|(_, peer)| *peer).filter(|peer| peer.shares_bss(node));
        let peers: Vec<&Expanded<'_>> = match node.role() {
            Role::AccessPoint => members.collect(),
            _ => members.filter(|it| it.role() == Role::AccessPoint).chain([*node]).collect(),
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
    use RateControlKind::{Ath9k, Firmware, Fixed, Ideal, MinstrelHt};
    let control = &raw.rate_control;
    let is_he = common.standard.is_he();
    let usual = if is_he { Firmware } else { MinstrelHt };
    let kind = control.kind.as_ref().map_or(usual, |at| at.value);
    if let Some(at) = control.kind.as_ref().filter(|at| is_he && at.value == MinstrelHt) {
        let message = format!(
            "Minstrel-HT has no rates of {}, which Linux leaves to firmware; expected \
             \"firmware\", \"ideal\" or \"fixed\"",
            common.standard
        );
        problems.push(&at.place, message);
    }
    let is_later = is_he || common.standard == Standard::Dot11ac;
    if let Some(at) = control.kind.as_ref().filter(|at| is_later && at.value == Ath9k) {
        let others = if is_he { "\"firmware\"" } else { "\"minstrel-ht\"" };
        let standard = common.standard;
        let message = format!(
            "ath9k's rate control has no rates of {standard}; expected {others}, \"ideal\" or \
             \"fixed\""
        );
        problems.push(&at.place, message);
    }
    let mut only = |place: Option<&Place>, wanted: &[(RateControlKind, &str)]| {
        if let Some(place) = place
            && !wanted.iter().any(|(wanted, _)| *wanted == kind)
        {
            let names: Vec<String> = wanted.iter().map(|(_, name)| format!("{name:?}")).collect();
            problems
                .push_unfit(place, format!("this key is for kind = {} only", names.join(" and ")));
        }
    };
    let fixed = [(Fixed, "fixed")];
    let (minstrel, firmware) = ((MinstrelHt, "minstrel-ht"), (Firmware, "firmware"));
    only(control.fixed.mcs.as_ref().map(|at| &at.place), &fixed);
    only(control.fixed.streams.as_ref().map(|at| &at.place), &fixed);
    only(control.fixed.dcm.as_ref().map(|at| &at.place), &fixed);
    only(control.fixed.extended_range.as_ref().map(|at| &at.place), &fixed);
    only(control.fixed.rate.as_ref().map(|at| &at.place), &fixed);
    only(control.update_interval.as_ref().map(|at| &at.place), &[minstrel, firmware]);
    only(control.snr_error.as_ref().map(|at| &at.place), &[firmware]);
    only(control.sample_interval.as_ref().map(|at| &at.place), &[minstrel]);
    only(control.per_max.as_ref().map(|at| &at.place), &[(Ideal, "ideal")]);
    match kind {
        Fixed => {
            RateControlConfig::Fixed { rate: fixed_rate(raw, &control.fixed, common, problems) }
        }
        Ideal => match (RateControlConfig::ideal(), &control.per_max) {
            (RateControlConfig::Ideal { bytes, .. }, Some(at)) => {
                RateControlConfig::Ideal { bytes, per_max: at.value }
            }
            (usual, _) => usual,
        },
        Firmware => {
            let or = |at: &Option<At<Duration>>, usual| at.as_ref().map_or(usual, |at| at.value);
            if let Some(at) = &control.update_interval {
                positive(at, problems);
            }
            if let Some(at) = &control.snr_error {
                not_negative(at, problems);
            }
            match RateControlConfig::firmware() {
                RateControlConfig::Firmware { update_interval, deviation } => {
                    RateControlConfig::Firmware {
                        update_interval: or(&control.update_interval, update_interval),
                        deviation: control.snr_error.as_ref().map_or(deviation, |at| at.value),
                    }
                }
                usual => usual,
            }
        }
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
        Ath9k => RateControlConfig::Ath9k,
    }
}

pub(super) fn fixed_rate(
    raw: &RawNodeSettings,
    fixed: &RawFixedRate,
    common: &Common,
    problems: &mut Problems,
) -> Rate {
    let lowest = rates(common, 1)[0];
    modes::check_standard(fixed, common, problems);
    if let Some(at) = &fixed.streams
        && !(common.standard == Standard::Dot11ac || common.standard.is_he())
    {
        let message = match common.standard {
            Standard::Dot11n => "with 802.11n the MCS includes the number of streams".to_owned(),
            standard => format!("{standard} has one stream"),
        };
        problems.push(&at.place, message);
    }
    match (&fixed.mcs, &fixed.rate) {
        (Some(mcs), None) if common.standard == Standard::Dot11n => Rate::Ht {
            mcs: mcs.value.get(),
            width: common.width,
            guard_interval: common.guard_interval,
        },
        (Some(mcs), None) if common.standard.has_block_ack() => {
            later_rate(raw, fixed, mcs, common, problems).unwrap_or(lowest)
        }
        (Some(mcs), None) => {
            let message = format!("an MCS needs 802.11n; {} has rates: use rate", common.standard);
            problems.push(&mcs.place, message);
            lowest
        }
        (None, Some(at)) => {
            check_keys_of_mcs(fixed, common, problems);
            legacy_rate(at.value, common).unwrap_or_else(|| {
                not_a_rate(at, common, Some("mcs"), problems);
                lowest
            })
        }
        (Some(_), Some(at)) => {
            problems.push(&at.place, "a fixed rate is given by mcs or by rate, not by both");
            lowest
        }
        (None, None) => {
            let example = match common.standard {
                standard if standard.has_block_ack() => "mcs = 7",
                Standard::Dot11b => "rate = \"11Mb/s\"",
                _ => "rate = \"54Mb/s\"",
            };
            problems.push(&fixed.here, format!("which fixed rate? add for example {example}"));
            lowest
        }
    }
}

/// Reports keys that require a rate with an MCS; older standards are reported before.
fn check_keys_of_mcs(fixed: &RawFixedRate, common: &Common, problems: &mut Problems) {
    let is_he = common.standard == Standard::Dot11ax;
    let has_streams = common.standard == Standard::Dot11ac || common.standard.is_he();
    let streams = fixed.streams.as_ref().filter(|_| has_streams);
    let dcm = fixed.dcm.as_ref().filter(|at| at.value && is_he);
    let far = fixed.extended_range.as_ref().filter(|_| is_he);
    let places = [streams.map(|at| &at.place), dcm.map(|at| &at.place), far.map(|at| &at.place)];
    for place in places.into_iter().flatten() {
        problems.push(place, "this key is for rates given by mcs, not by rate");
    }
}

/// Returns the rate of this MCS in 802.11ac or later, if there is one.
fn later_rate(
    raw: &RawNodeSettings,
    fixed: &RawFixedRate,
    mcs: &At<Whole<0, 31>>,
    common: &Common,
    problems: &mut Problems,
) -> Option<Rate> {
    let own = raw.streams.value.get();
    let streams = fixed.streams.as_ref().map_or(own, |at| at.value.get());
    if let Some(rate) = modes::fixed_rate(raw, fixed, mcs, common, streams, problems) {
        return rate;
    }
    let of = |mcs: u8| match common.standard {
        Standard::Dot11ac => Rate::vht(mcs, streams, common.width, common.guard_interval),
        Standard::Dot11be => Rate::eht(mcs, streams, common.width, common.he_guard_interval),
        _ => Rate::he(mcs, streams, common.width, common.he_guard_interval, false),
    };
    modes::check_slow_mcs(raw, mcs, common, problems);
    let rate = of(mcs.value.get());
    if rate.is_none() {
        let exist: Vec<String> =
            (0..=15).filter(|&mcs| of(mcs).is_some()).map(|n| n.to_string()).collect();
        let message = format!(
            "{} has no MCS {} with {streams} stream{} in {}; there are {}",
            common.standard,
            mcs.value.0,
            if streams == 1 { "" } else { "s" },
            common.width,
            exist.join(", ")
        );
        problems.push(&mcs.place, message);
    }
    rate
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
    capabilities: &Capabilities,
    window: u16,
    common: &Common,
    problems: &mut Problems,
) -> Aggregation {
    let aggregation = &raw.aggregation;
    let standard = common.standard;
    let possible = capabilities.ampdu_bytes_max > 0;
    let why = if standard.has_block_ack() {
        "aggregates need QoS frames, and qos is false".to_owned()
    } else {
        format!("aggregates need 802.11n, not {standard}")
    };
    let most = capabilities.ampdu_bytes_max;
    if let Some(bytes) = &aggregation.ampdu_bytes_max
        && possible
        && bytes.value.0 > i64::from(most)
    {
        let message = format!(
            "expected at most {most}, the longest A-MPDU of {standard} at {}, got {}",
            common.band, bytes.value.0
        );
        problems.push(&bytes.place, message);
    }
    let amsdu = &aggregation.amsdu_bytes_max;
    if standard == Standard::Dot11n && amsdu.value.0 > i64::from(HT_AMSDU_BYTES_MAX) {
        let message = format!(
            "expected at most {HT_AMSDU_BYTES_MAX}, the longest A-MSDU of 802.11n, got {}",
            amsdu.value.0
        );
        problems.push(&amsdu.place, message);
    }
    if let Some(bytes) = &aggregation.ampdu_bytes_max
        && bytes.value.0 > 0
        && !possible
    {
        problems.push(&bytes.place, why.clone());
    }
    if aggregation.amsdu_bytes_max.value.0 > 0 && !possible {
        problems.push(&aggregation.amsdu_bytes_max.place, why.clone());
    }
    if aggregation.built_ahead.value && !possible {
        problems.push(&aggregation.built_ahead.place, why.clone());
    }
    if let Some(depth) = &aggregation.hardware_ampdus
        && !aggregation.built_ahead.value
    {
        let message = "hardware has A-MPDUs that are built ahead only: write built_ahead = true";
        problems.push_unfit(&depth.place, message);
    }
    let duration = &aggregation.ampdu_duration_max;
    positive(duration, problems);
    if duration.value > modes::PPDU_DURATION_MAX {
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
    let frames = aggregation.ampdu_frames_max.as_ref().map_or(window, |at| at.value.get());
    if let Some(at) = &aggregation.ampdu_frames_max
        && frames > window
    {
        let message = format!("expected at most the Block Ack window of {window}, got {frames}");
        problems.push(&at.place, message);
    }
    Aggregation {
        ampdu_bytes_max: aggregation.ampdu_bytes_max.as_ref().map_or(most, |at| at.value.get()),
        ampdu_duration_max: duration.value,
        ampdu_frames_max: frames,
        mpdu_start_spacing: spacing.value,
        amsdu_bytes_max: aggregation.amsdu_bytes_max.value.get(),
        built_ahead: aggregation.built_ahead.value,
        hardware_ampdus: aggregation
            .hardware_ampdus
            .as_ref()
            .map_or(Aggregation::HARDWARE_AMPDUS, |at| at.value.get()),
    }
}

/// Returns the parameters of the four categories, by their index (IEEE 802.11-2020, table 9-155,
/// with the PHY's contention window). Without QoS all of them are the DCF's, and only best effort
/// may be changed.
fn edca(
    raw: &RawNodeSettings,
    qos: bool,
    common: &Common,
    problems: &mut Problems,
) -> [EdcaParameters; 4] {
    let timing = Timing::new(common.standard, common.band);
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
            if is_written(&unused.here) {
                let message = "without qos there is one access category: use best_effort";
                problems.push_unfit(&unused.here, message);
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
        check_window(at, problems);
    }
    if let Some(At { value: limit, place }) = &raw.txop_limit {
        let (units, rest) =
            (limit.as_nanos() / TXOP_UNIT.as_nanos(), limit.as_nanos() % TXOP_UNIT.as_nanos());
        if rest != 0 || units > TXOP_UNITS_MAX {
            let message =
                format!("expected a multiple of {TXOP_UNIT}, up to 65535 of them, got {limit}");
            problems.push(place, message);
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
        problems.push(at.map_or(&raw.here, |at| &at.place), message);
    }
    parameters
}

/// Checks that a contention window is 2^n - 1.
fn check_window(at: &At<Whole<0, 32_767>>, problems: &mut Problems) {
    let window = at.value.0;
    if (window + 1) & window != 0 {
        let below = (1 << (63 - (window + 1).leading_zeros())) - 1;
        let message = format!("expected 2^n - 1, as {below} or {}, got {window}", 2 * below + 1);
        problems.push(&at.place, message);
    }
}

/// Returns whether a node has failed; reports other nodes than access points.
fn failed(node: &Expanded<'_>, problems: &mut Problems) -> bool {
    let At { value: failed, ref place } = node.raw.failed;
    if failed && node.role() != Role::AccessPoint {
        problems.push(place, "only an access point fails");
    }
    failed
}

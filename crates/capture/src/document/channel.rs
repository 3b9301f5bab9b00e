//! Networks, their stations, and data between them.

use super::RemovalsSummary;
use crate::air::absence::{Absences, Notice};
use crate::air::beacons;
use crate::air::exchange::Link;
use crate::air::schedule::Schedule;
use crate::air::stations::StationId;
use crate::air::{Air, channels};
use crate::rounding::{mbps, millis, rounded, seconds, share};
use crate::series::Seconds;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Shares of the time on the air, without the gaps between frames. Shares are absent where headers
/// have no rates, and below a beacon interval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AirtimeSummary {
    /// Share of the time in which frames were on the air, 0 to 1. For a hopping receiver, the mean
    /// over its channels.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub utilisation: Option<f64>,
    /// Share of the busiest second; absent below a second.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub busiest_second: Option<f64>,
    /// Share of Acks and CTS, which do not name their senders.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub answers: Option<f64>,
    /// Number of captured PPDUs.
    pub ppdus: u64,
    /// Channels of the receiver by their centre in MHz, if it was on several.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub channels: BTreeMap<String, ChannelSummary>,
}

/// A channel on which the receiver spent a part of the time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChannelSummary {
    /// Number of captured frames on the channel.
    pub frames: u64,
    /// Time that the receiver spent on the channel, in seconds, judged by the captured frames.
    pub time_s: f64,
    /// Share of that time in which frames were on the air, 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub utilisation: Option<f64>,
}

/// A network: an access point and its stations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BssSummary {
    /// Name of the network; absent if no beacon has it. Bytes that are not UTF-8, and control
    /// characters, are written as `\xb2`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ssid: Option<String>,
    /// Newest standard that its beacons announce: `802.11n`, `802.11ac`, `802.11ax`, `802.11be`, or
    /// `before 802.11n`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub standard: Option<String>,
    /// Width of its channel in MHz, 20 to 320, if its beacons have it in an EHT Operation element
    /// (802.11be).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub width_mhz: Option<u16>,
    /// 20 MHz channels within this width that are never used (static puncturing), from 0 for the
    /// lowest.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub punctured: Vec<u8>,
    /// Protection that its beacons announce: `open`, `WEP or WPA`, `WPA2-PSK`, `WPA3-SAE` and
    /// others.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub protection: Option<String>,
    /// Beacon interval, in ms.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub beacon_interval_ms: Option<f64>,
    /// Number of captured beacons.
    pub beacons: u64,
    /// Share of missing beacons, 0 to 1, while the receiver was on the channel that they name.
    /// Absent if fewer than two were captured there.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub beacon_loss: Option<f64>,
    /// Deauthentications and disassociations. Absent without any.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub removals: Option<RemovalsSummary>,
    /// Access point of the network, as a sender.
    pub access_point: StationSummary,
    /// Other stations of the network, by address.
    pub stations: BTreeMap<String, StationSummary>,
}

/// A station or an access point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StationSummary {
    /// Number of captured frames that the station sent.
    pub frames: u64,
    /// Level of these frames at the monitor, in dBm: mean, least, greatest.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub signal_dbm: Option<[f64; 3]>,
    /// Share of the time in which the station sent, 0 to 1. For a hopping receiver, a share of the
    /// time on the channels on which the station was heard. Absent where headers have no rates, and
    /// below a beacon interval.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub airtime: Option<f64>,
    /// Number of captured Probe Requests of the station.
    pub probe_requests: u64,
    /// Data to the access point; absent if none was captured or proved.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub up: Option<DirectionSummary>,
    /// Data from the access point; absent if none was captured or proved.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub down: Option<DirectionSummary>,
    /// Absences of the station; absent if it never announced one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub away: Option<ScheduleSummary>,
}

/// Data frames from one station to another.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DirectionSummary {
    /// Captured bodies of MSDUs, each once, in Mb/s over the whole capture. For a hopping receiver,
    /// over its time on the channels on which the sender was heard.
    pub throughput_mbps: f64,
    /// Captured bodies of MSDUs, each once, in bytes.
    pub payload_bytes: u64,
    /// Number of captured PPDUs.
    pub ppdus: u64,
    /// Number of captured A-MPDUs.
    pub ampdus: u64,
    /// Number of captured MPDUs.
    pub mpdus: u64,
    /// MPDUs that were not captured, and that a Block Ack or a later retry proves.
    pub mpdus_missed: u64,
    /// MPDUs that Acks and Block Acks acknowledge, captured or not, each once. MPDUs in the first
    /// Block Ack may be older than the capture.
    pub mpdus_acknowledged: u64,
    /// Share of the MPDUs that the monitor captured, 0 to 1, by Acks, Block Acks and gaps in the
    /// sequence numbers. If the share is low, other numbers describe only the captured part.
    pub captured: f64,
    /// Estimated number of MPDUs. If less than half was captured, it is a lower bound: captured
    /// MPDUs plus missed ones that are proved.
    pub mpdus_estimated: u64,
    /// Mean number of MPDUs in a PPDU.
    pub mpdus_per_ppdu: f64,
    /// Mean number of MPDUs in an A-MPDU, including missed ones.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub mpdus_per_ampdu: Option<f64>,
    /// Number of PPDUs by their number of MPDUs.
    pub ppdu_sizes: BTreeMap<u16, u64>,
    /// Captured MPDUs with the Retry bit.
    pub retries: u64,
    /// Estimated number of retries. If less than half of the MPDUs was captured, it is a lower
    /// bound: captured retries.
    pub retries_estimated: u64,
    /// Captured Null frames, which carry no data and are in no number above.
    #[serde(skip_serializing_if = "crate::rounding::is_zero", default)]
    pub null_frames: u64,
    /// Captured Null frames with the Retry bit.
    #[serde(skip_serializing_if = "crate::rounding::is_zero", default)]
    pub null_retries: u64,
    /// Different MPDUs: chains of attempts with one sequence number. On a link of two multi-link
    /// devices, MPDUs that came to this link.
    pub chains: u64,
    /// Number of chains by their number of attempts, from 1; the last number includes all longer
    /// chains. Empty on a link of two multi-link devices: `devices` has them.
    pub attempts: Vec<u64>,
    /// Share of the chains that were acknowledged, 0 to 1; on a link of devices, on this link.
    pub acknowledged: f64,
    /// PPDUs without a captured answer.
    pub unanswered: u64,
    /// Block Acks for this direction.
    pub block_acks: u64,
    /// Block Ack Requests of the sender.
    pub block_ack_requests: u64,
    /// MPDUs that the Block Ack right after them left out.
    pub holes: u64,
    /// Widest span of sequence numbers in one Block Ack.
    pub window: u16,
    /// Share of the time on the air, 0 to 1. Absent under the same conditions as the share of a
    /// station.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub airtime: Option<f64>,
    /// Mean PHY rate, weighted by time on the air, in Mb/s.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub phy_rate_mbps: Option<f64>,
    /// Results by PHY rate.
    pub rates: BTreeMap<String, RateSummary>,
}

/// Data at one PHY rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RateSummary {
    /// PHY rate, in Mb/s.
    pub mbps: f64,
    /// Number of captured PPDUs.
    pub ppdus: u64,
    /// Number of captured MPDUs.
    pub mpdus: u64,
    /// Captured MPDUs with the Retry bit.
    pub retries: u64,
    /// Share of the MPDUs that did not get across, 0 to 1, among those that an answer reports on.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub error_rate: Option<f64>,
}

/// Absences of a station, and their cause.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ScheduleSummary {
    /// Cause of the absences. `scan`: the station looks for networks on other channels;
    /// `power_save`; `time_sharing`: the station serves other channels in turn (AWDL, Wi-Fi
    /// Direct); `coexistence`: the station shares its antenna with Bluetooth; `periodic`: a timer
    /// starts and ends the absences; `unknown`.
    pub cause: String,
    /// Number of observed absences.
    pub absences: u64,
    /// Median length of an absence (a sleeping period), in ms: from the first frame that
    /// announces it to the last that takes it back.
    pub asleep_ms: f64,
    /// Median time between two absences of one period, in ms (an awoken period).
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub awake_ms: Option<f64>,
    /// Median number of absences in a period, including missed ones.
    pub absences_per_period: u32,
    /// Median time from the start of a period to the next, in seconds.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub every_s: Option<f64>,
    /// Median time from the start of an absence to the next, in seconds; for absences that come one
    /// by one rather than in runs.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub cycle_s: Option<f64>,
    /// Median number of sequence numbers that the station used in an absence for frames that were
    /// not captured.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub numbers_passed: Option<u64>,
    /// Periods in which absences follow each other closely: the latest, at most as many as in
    /// `list`.
    pub periods: Vec<PeriodSummary>,
    /// Latest absences: at most 4 096 of a station, and 16 384 of all stations.
    pub list: Vec<AbsenceSummary>,
}

/// A period in which absences follow each other closely.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PeriodSummary {
    /// Start of the first absence.
    pub from_s: f64,
    /// End of the last absence.
    pub to_s: f64,
    /// Number of observed absences.
    pub absences: u64,
    /// Number of missed absences, inferred from the rhythm of the others.
    pub missed: u32,
    /// Throughput of both directions, in Mb/s.
    pub throughput_mbps: f64,
    /// Throughput of the lowest whole second, in Mb/s.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub lowest_second_mbps: Option<f64>,
}

/// An absence of a station.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AbsenceSummary {
    /// Start of the absence.
    pub from_s: f64,
    /// End of the absence.
    pub to_s: f64,
    /// Numbers of its first and last frame.
    pub frames: [u64; 2],
    /// Frames that announce the absence; absent if they were missed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub leave: Option<NoticeSummary>,
    /// Frames that take the absence back; absent if they were missed.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub back: Option<NoticeSummary>,
    /// Beacons of the access point during the absence.
    pub beacons: u32,
    /// PS-Polls, and other frames with the Power Management bit.
    pub polls: u32,
    /// Data frames from the access point to the station during the absence.
    pub sent_in_vain: u32,
    /// Probe Requests of the station during the absence.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub probe_requests: u32,
    /// Sequence numbers that the station used for frames that were not captured; absent if unknown.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub numbers_passed: Option<u16>,
}

/// Frames that announce an absence or take it back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NoticeSummary {
    /// Time of the first of these frames.
    pub from_s: f64,
    /// Time of the last of these frames, or of the Ack that ended them.
    pub to_s: f64,
    /// Numbers of the first and the last frame.
    pub frames: [u64; 2],
    /// Number of these frames that were captured.
    pub attempts: u32,
    /// Frames with the Retry bit.
    pub retries: u32,
    /// RTS frames before them.
    pub rts: u32,
    /// Acks that were captured.
    pub acks: u32,
    /// Whether they were Null frames.
    pub null: bool,
}

/// Most absences in a document, and most absences of one station.
const LISTED_MAX: usize = 16_384;
const LISTED_EACH_MAX: usize = 4_096;

fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl AirtimeSummary {
    pub(super) fn new(air: &Air) -> Option<Self> {
        const SECOND_NS: u64 = 1_000_000_000;
        let length = air.length_ns();
        if air.ppdus == 0 {
            return None;
        }
        let busy = air.busy.sum_ns;
        let busiest = air.busy.busiest_ns();
        let of_channel = |(mhz, channel): (u16, &channels::Channel)| {
            // Several radios are on all of their channels all the time.
            let time_ns = if air.channels.is_several_radios() { length } else { channel.time_ns };
            let summary = ChannelSummary {
                frames: channel.frames,
                time_s: seconds(time_ns),
                utilisation: air_share(air, channel.airtime.as_nanos(), time_ns),
            };
            (mhz.to_string(), summary)
        };
        let has_several = air.channels.count() > 1;
        Some(Self {
            utilisation: air_share(air, busy, length.max(busy)).filter(|_| length >= SHARE_MIN_NS),
            busiest_second: air_share(air, busiest.min(SECOND_NS), SECOND_NS)
                .filter(|_| length >= SECOND_NS),
            answers: air_share(air, air.answers.as_nanos(), length.max(busy))
                .filter(|_| length >= SHARE_MIN_NS),
            ppdus: air.ppdus,
            channels: air.channels.iter().filter(|_| has_several).map(of_channel).collect(),
        })
    }
}

/// Shortest time of which a share is computed, in ns: a beacon interval of 100 TU.
const SHARE_MIN_NS: u64 = 102_400_000;

/// Computes a share of a time. Returns `None` if rates are unknown or the time is too short.
fn air_share(air: &Air, airtime_ns: u64, time_ns: u64) -> Option<f64> {
    (air.has_rates() && time_ns >= SHARE_MIN_NS).then(|| share(airtime_ns, time_ns))
}

pub(super) fn networks(air: &Air) -> BTreeMap<String, BssSummary> {
    let mut networks = BTreeMap::new();
    for (id, access_point) in air.stations.iter().filter(|(_, station)| station.access_point) {
        let beacons = air.beacons.get(&id);
        let stations = air
            .stations
            .iter()
            .filter(|(other, station)| *other != id && station.bss == Some(id))
            .map(|(other, station)| {
                (station.address.to_string(), self::station(air, other, Some(id)))
            })
            .collect();
        let capabilities = beacons.map(|beacons| beacons.capabilities);
        let ssid = beacons.filter(|b| b.ssid.iter().any(|byte| *byte != 0));
        let summary = BssSummary {
            ssid: ssid.map(|beacons| beacons::name(&beacons.ssid)),
            standard: capabilities.map(|has| {
                match (has.eht, has.he, has.vht, has.ht) {
                    (true, ..) => "802.11be",
                    (_, true, ..) => "802.11ax",
                    (_, _, true, _) => "802.11ac",
                    (_, _, _, true) => "802.11n",
                    _ => "before 802.11n",
                }
                .to_owned()
            }),
            protection: capabilities.map(|has| {
                match (has.rsn, has.privacy) {
                    (Some(protection), _) => protection.name(),
                    (None, true) => "WEP or WPA",
                    (None, false) => "open",
                }
                .to_owned()
            }),
            width_mhz: capabilities.and_then(|has| has.width_mhz),
            punctured: capabilities.map_or(Vec::new(), |has| {
                (0..16).filter(|channel| has.punctured >> channel & 1 == 1).collect()
            }),
            beacon_interval_ms: beacons.map(|b| f64::from(b.interval_tu) * 1.024),
            beacons: beacons.map_or(0, |beacons| beacons.heard),
            beacon_loss: beacons.filter(|beacons| beacons.on_channel() > 1).map(|beacons| {
                share(beacons.sent.saturating_sub(beacons.on_channel()), beacons.sent)
            }),
            removals: air.joining.removals.get(&access_point.address).map(RemovalsSummary::new),
            access_point: station(air, id, None),
            stations,
        };
        networks.insert(access_point.address.to_string(), summary);
    }
    networks
}

/// Summarises a station. `access_point` is that of its network; `None` for an access point.
fn station(air: &Air, id: StationId, access_point: Option<StationId>) -> StationSummary {
    let heard = air.heard.get(id.index()).cloned().unwrap_or_default();
    let (sum, number) = heard.signal;
    let link = |from, to| air.links.get(&(from, to));
    let up = access_point.and_then(|access_point| link(id, access_point));
    let down = access_point.and_then(|access_point| link(access_point, id));
    StationSummary {
        frames: heard.frames,
        signal_dbm: heard.signal_range.map(|(least, greatest)| {
            let mean = rounded(sum as f64 / number.max(1) as f64, 10.0);
            [mean, f64::from(least), f64::from(greatest)]
        }),
        airtime: air_share(air, heard.airtime.as_nanos(), air.time_of(id)),
        probe_requests: heard.probe_requests,
        up: up.map(|link| DirectionSummary::new(air, link)),
        down: down.map(|link| DirectionSummary::new(air, link)),
        away: air
            .absences
            .get(&id)
            .and_then(|absences| ScheduleSummary::new(air, id, absences, up, down)),
    }
}

impl DirectionSummary {
    fn new(air: &Air, link: &Link) -> Self {
        let length = air.time_of(link.from);
        let counts = &link.counts;
        let chains = link.chains();
        let all = counts.mpdus + counts.missed;
        let rate_sum: f64 = link
            .rates
            .iter()
            .map(|(rate, at)| f64::from(rate.kbps) * at.airtime.as_nanos() as f64)
            .sum();
        let airtime: f64 = link.rates.values().map(|at| at.airtime.as_nanos() as f64).sum();
        let last = chains.attempts.iter().rposition(|count| *count > 0).map_or(0, |last| last + 1);
        Self {
            throughput_mbps: mbps(counts.payload_bytes, length),
            payload_bytes: counts.payload_bytes,
            ppdus: counts.ppdus,
            ampdus: counts.ampdus,
            mpdus: counts.mpdus,
            mpdus_missed: chains.missed + counts.unheard,
            mpdus_acknowledged: counts.acknowledged,
            captured: rounded(counts.captured_share(), 1e6),
            mpdus_estimated: counts.mpdus_estimated().round() as u64,
            mpdus_per_ppdu: rounded(all as f64 / counts.ppdus.max(1) as f64, 1e3),
            mpdus_per_ampdu: counts.mpdus_per_ampdu().map(|mean| rounded(mean, 1e3)),
            ppdu_sizes: link.sizes.clone(),
            retries: counts.retries,
            retries_estimated: counts.retries_estimated().round() as u64,
            null_frames: counts.nulls.frames,
            null_retries: counts.nulls.retries,
            chains: chains.msdus,
            attempts: chains.attempts[..last].to_vec(),
            acknowledged: share(chains.acknowledged, chains.msdus),
            unanswered: counts.unanswered,
            block_acks: counts.block_acks,
            block_ack_requests: counts.block_ack_requests,
            holes: counts.left_out,
            window: counts.window,
            airtime: air_share(air, counts.airtime.as_nanos(), length),
            phy_rate_mbps: (airtime > 0.0).then(|| rounded(rate_sum / airtime / 1e3, 1e3)),
            rates: link
                .rates
                .iter()
                .map(|(rate, at)| {
                    let summary = RateSummary {
                        mbps: f64::from(rate.kbps) / 1e3,
                        ppdus: at.ppdus,
                        mpdus: at.mpdus,
                        retries: at.retries,
                        error_rate: (at.judged > 0).then(|| share(at.failed, at.judged)),
                    };
                    (rate.to_string(), summary)
                })
                .collect(),
        }
    }
}

impl ScheduleSummary {
    fn new(
        air: &Air,
        id: StationId,
        absences: &Absences,
        up: Option<&Link>,
        down: Option<&Link>,
    ) -> Option<Self> {
        let totals = absences.totals();
        let schedule = Schedule::from_absences(air, id, usize::MAX)?;
        let listed = (LISTED_MAX / air.absences.len().max(1)).clamp(1, LISTED_EACH_MAX);
        let absences = absences.so_far();
        let absences = &absences[absences.len().saturating_sub(listed)..];
        let at = |ns: u64| seconds(ns.saturating_sub(air.begin_ns.unwrap_or(ns)));
        let before = schedule.periods.len().saturating_sub(listed);
        let periods = schedule.periods.iter().skip(before).map(|period| {
            let throughput = Throughput::sum(air, [up, down], period.from_ns, period.to_ns);
            PeriodSummary {
                from_s: at(period.from_ns),
                to_s: at(period.to_ns),
                absences: (period.absences.1 - period.absences.0) as u64,
                missed: period.missed,
                throughput_mbps: throughput.mean_mbps,
                lowest_second_mbps: throughput.lowest_mbps,
            }
        });
        let notice = |notice: &Notice| NoticeSummary {
            from_s: at(notice.from_ns),
            to_s: at(notice.to_ns),
            frames: [notice.first, notice.last],
            attempts: notice.frames,
            retries: notice.retries,
            rts: notice.rts,
            acks: notice.acks,
            null: notice.null,
        };
        let list = absences.iter().map(|absence| AbsenceSummary {
            from_s: at(absence.from_ns),
            to_s: at(absence.to_ns),
            frames: [absence.frames.0, absence.frames.1],
            leave: absence.leave.as_ref().map(notice),
            back: absence.back.as_ref().map(notice),
            beacons: absence.beacons,
            polls: absence.polls,
            sent_in_vain: absence.sent_in_vain,
            probe_requests: absence.probes,
            numbers_passed: absence.hidden,
        });
        Some(Self {
            cause: schedule.cause.name().to_owned(),
            absences: totals.absences,
            asleep_ms: millis(schedule.asleep_ns),
            awake_ms: schedule.awake_ns.map(millis),
            absences_per_period: schedule.absences,
            every_s: schedule.every_ns.map(seconds),
            cycle_s: schedule.cycle_ns.map(seconds),
            numbers_passed: schedule.hidden,
            periods: periods.collect(),
            list: list.collect(),
        })
    }
}

/// Throughput over a range of time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Throughput {
    /// Mean over all seconds that the range touches, in Mb/s.
    pub mean_mbps: f64,
    /// Lowest second that lies completely within the range, in Mb/s.
    pub lowest_mbps: Option<f64>,
}

impl Throughput {
    /// Sums the throughput of two links.
    pub fn sum(air: &Air, links: [Option<&Link>; 2], from_ns: u64, to_ns: u64) -> Self {
        let first = air.second(from_ns);
        let last = air.second(to_ns).max(first);
        let links = links.iter().flatten().map(|link| &link.seconds);
        let bytes = Seconds::sum(links, &(first..last + 1), |second| second.payload_bytes);
        let whole = bytes.range(first + 1..last);
        let (count, least) = whole.fold((0, u64::MAX), |(n, least), (_, b)| (n + 1, least.min(*b)));
        // Seconds without payload are not in the series.
        let lowest = match (last - first).saturating_sub(1) {
            0 => None,
            all if count < all => Some(0),
            _ => Some(least),
        };
        let sum: u64 = bytes.iter().map(|(_, bytes)| bytes).sum();
        Self {
            mean_mbps: mbps(sum, ((last - first) as u64 + 1).saturating_mul(1_000_000_000)),
            lowest_mbps: lowest.map(|bytes| mbps(bytes, 1_000_000_000)),
        }
    }
}

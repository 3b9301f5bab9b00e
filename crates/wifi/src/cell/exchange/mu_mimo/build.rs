//! Choice of the stations to sound, of the stations in an MU-MIMO PPDU, and of their rates.
//!
//! Stations take turns as with OFDMA. Of the stations whose turn it is, those not sounded for an
//! interval are sounded first, together with those not sounded for half an interval. A station
//! without a report is served alone. Of the groups that begin with the station whose turn it is,
//! the PPDU serves the one with the highest sum of bit rates. A station's rate is the fastest that
//! loses at most a tenth of MPDUs of 1 600 bytes at the expected SINR, and none faster than rate
//! control chose for the station alone. The SINR follows from the station's report, its age, and
//! the Doppler rate: that of the place, or a higher one after many losses. This stands in for
//! firmware. The PPDU is sent if it takes less time than PPDUs to each station alone would, with
//! acknowledgements and the mean contention between them. A station that acknowledged less than
//! half of its MPDUs is served alone until it is sounded again.
//!
//! If only a part of the channel was idle (IEEE 802.11-2020, 10.23.2.5), the PPDU has that width.
//! The rates follow from reports of the whole channel, with the gain of a narrower PPDU, which has
//! less noise. Sounding waits until the whole channel is idle: a report of a part of it would lack
//! the rest, which the next PPDU may use.

use super::super::content::Exchange;
use super::super::multi_user::{
    Candidate, Downlink, MuChannel, MuFormat, OfdmaAcknowledgement, User, Whom, answer_mcs,
};
use super::{
    Beam, LOSS_MAX, MuMimoConfig, Report, Sounded, Sounding, Soundings, Step, TriggeredReports,
    report_psdu,
};
use crate::air::{Air, Rates, narrower};
use crate::cell::frames::Context;
use crate::cell::station::Station;
use crate::mac::rate::RateControl;
use crate::mac::sizes;
use crate::phy::{
    ChannelWidth, ErrorModel, Feedback, Grouping, GuardInterval, MuUser, PacketPadding, Rate,
    SpatialShare, aged_error, eht_ndp, he_ndp, vht_ndp,
};
use crate::station::{Address, StationId};
use alloc::boxed::Box;
use alloc::vec::Vec;
use lasthop_units::{Db, Duration, Instant};

/// Length of the MPDUs, in bytes, of which a rate may lose [`LOSS_MAX`].
const LOSS_BYTES: u32 = 1_600;

impl Station {
    /// Builds an MU-MIMO PPDU to `peer`, whose turn it is, and others, or sounds them first; `None`
    /// if a PPDU for two stations is impossible or takes more time.
    #[inline(never)]
    pub fn build_spatial(
        &mut self,
        cx: &mut Context<'_>,
        air: &Air,
        edcaf: usize,
        peer: Address,
        opportunity_end: Instant,
    ) -> Option<Exchange> {
        let config = self.config.mu_mimo?;
        let (now, interval) = (cx.now, config.sounding_interval);
        let width = self.width_of_several()?;
        let format = match self.main_rate_to(edcaf, peer) {
            Some(Rate::Eht { .. }) => self.format(true, width),
            _ if self.config.capabilities.is_he() => MuFormat::He,
            _ => MuFormat::Vht(GuardInterval::Long),
        };
        let mut channel = MuChannel {
            band: cx.settings.band,
            width: width.min(format.width_max()),
            guard_interval: config.guard_interval,
            format,
            padding: PacketPadding::None,
            own_padding: self.config.capabilities.packet_padding,
        };
        let whole = self.config.capabilities.width().min(format.width_max());
        let may_sound = channel.width == whole;
        let soundings = self.soundings.take().unwrap_or_default();
        let exchange = 'build: {
            let is_of_several = |peer| match peer {
                Address::Station(station) => {
                    may_sound && soundings.is_due(station, now, interval)
                        || soundings.fresh(station, now, interval).is_some()
                }
                Address::Group => false,
            };
            if let Some(other) = self.overdue(channel, edcaf, peer, is_of_several) {
                break 'build Built::Alone(other);
            }
            let Address::Station(lead) = peer else { break 'build Built::Nothing };
            let most = usize::from(config.stations_max);
            let count = |ready: usize| (ready >= 2).then_some(ready.min(most));
            let Some(stations) = self.multi_user_stations(channel, edcaf, lead, count) else {
                break 'build Built::Nothing;
            };
            let due = |since| {
                let is_due = |station: &StationId| soundings.is_due(*station, now, since);
                stations.iter().copied().filter(is_due).collect::<Vec<StationId>>()
            };
            // Others whose turn is near go along: so all of a group are sounded together.
            let due = if due(interval).is_empty() { Vec::new() } else { due(interval / 2) };
            let report = |station| soundings.fresh(station, now, interval);
            let is_known = |station: &StationId| report(*station).is_some();
            let known: Vec<StationId> = stations.iter().copied().filter(is_known).collect();
            if may_sound && is_worth_it(&due, &known) {
                let sounding =
                    self.build_sounding(cx, channel, config, edcaf, &due, opportunity_end);
                if let Some(exchange) = sounding {
                    break 'build Built::Exchange(exchange);
                }
            }
            if report(lead).is_none() || known.len() < 2 {
                break 'build Built::Nothing;
            }
            let mut candidates = Vec::with_capacity(stations.len());
            for &station in &stations {
                let Some(report) = report(station) else { continue };
                let candidate = self.candidate(cx, air, channel, edcaf, station);
                candidates.extend(candidate.map(|candidate| (candidate, report)));
            }
            Built::Candidates(stations, candidates)
        };
        let mut soundings = soundings;
        let exchange = match exchange {
            Built::Alone(other) => {
                let data = self.build_data(cx, air, edcaf, other, opportunity_end);
                data.map(Exchange::Single)
            }
            Built::Exchange(exchange) => Some(exchange),
            Built::Nothing => None,
            Built::Candidates(asked, candidates) => {
                let (width, gain) = (channel.width, narrower(channel.width, whole));
                let group = soundings.group(cx, width, gain, config, &candidates, |station| {
                    air.doppler_hz(self.id, station).max(config.doppler_hz)
                });
                let several = group.and_then(|group| {
                    if let MuFormat::Vht(guard_interval) = &mut channel.format {
                        *guard_interval = common_guard_interval(&group);
                    }
                    self.fill_group(cx, channel, edcaf, &group, config, opportunity_end)
                });
                self.keep_turns(edcaf, &asked, several.as_ref());
                several.map(|several| Exchange::Downlink(Box::new(several)))
            }
        };
        self.soundings = Some(soundings);
        exchange
    }

    /// Returns the PPDU to these stations, if it saves time.
    fn fill_group(
        &mut self,
        cx: &mut Context<'_>,
        channel: MuChannel,
        edcaf: usize,
        group: &[(Candidate, Rate)],
        config: MuMimoConfig,
        opportunity_end: Instant,
    ) -> Option<Downlink> {
        let alone: Vec<Rate> = group.iter().map(|(_, alone)| *alone).collect();
        let candidates: Vec<Candidate> = group.iter().map(|(candidate, _)| *candidate).collect();
        let units = alloc::vec![channel.whole()?; candidates.len()];
        let mut answer_units = channel.rus(channel.enough_units(candidates.len())?);
        answer_units.truncate(candidates.len());
        let whom = Whom { candidates: &candidates, units: &units, answer_units: &answer_units };
        let acknowledgement = match channel.format {
            MuFormat::Vht(_) => OfdmaAcknowledgement::BlockAckRequest,
            MuFormat::He | MuFormat::Eht(_) => config.acknowledgement,
        };
        let several = self.fill(cx, channel, acknowledgement, edcaf, whom, opportunity_end)?;
        let together = several.duration + several.acknowledged_in;
        let parameters = self.config.access[edcaf];
        let slots = u64::from(parameters.aifsn) + u64::from(parameters.cw_min / 2);
        let sifs = cx.settings.timing.sifs;
        let between = sifs + cx.settings.timing.slot * slots;
        let each = several.users.iter().zip(alone).zip(&candidates);
        let mut one_by_one = Duration::ZERO;
        for (place, ((user, rate), candidate)) in each.enumerate() {
            let User { data_bytes, .. } = *user;
            let response = cx.rates.response(rate, Some(candidate.window)).duration;
            let originator = &self.edcaf(edcaf).originators[candidate.originator];
            let padding = originator.shared.packet_padding;
            one_by_one += cx.rates.padded_ppdu_duration(rate, data_bytes, padding);
            one_by_one += sifs + response;
            if place > 0 {
                one_by_one += between;
            }
        }
        (together < one_by_one).then_some(several)
    }

    /// Builds a sounding exchange with these stations, if it fits into the transmission
    /// opportunity.
    fn build_sounding(
        &mut self,
        cx: &mut Context<'_>,
        channel: MuChannel,
        config: MuMimoConfig,
        edcaf: usize,
        stations: &[StationId],
        opportunity_end: Instant,
    ) -> Option<Exchange> {
        let is_he = !matches!(channel.format, MuFormat::Vht(_));
        let sifs = cx.settings.timing.sifs;
        let lowest = cx.rates.lowest();
        let control = |rates: &mut Rates, rate: Rate, bytes: u32| {
            (rate, bytes, rates.ppdu_duration(rate, bytes))
        };
        let mut users = Vec::with_capacity(stations.len());
        // What is for all is as robust as the slowest needs.
        let mut slowest = None;
        for &station in stations {
            let peer = Address::Station(station);
            let originator = self.edcaf(edcaf).originator(peer)?;
            let originator = &self.edcaf(edcaf).originators[originator];
            let rate = originator.rate_control.as_ref().map(RateControl::main_rate)?;
            let columns = originator.shared.rates.iter().map(|rate| rate.streams()).max();
            let columns = columns.unwrap_or(1).min(config.streams_max);
            let response = cx.rates.facts(rate).response;
            let is_slower = |known: &Rate| response.bitrate() < known.bitrate();
            if slowest.as_ref().is_none_or(is_slower) {
                slowest = Some(response);
            }
            let feedback = feedback(channel, config, columns);
            let bytes = report_psdu(is_he, feedback.bytes());
            let mcs = answer_mcs(rate.mcs().unwrap_or(0));
            let report = channel.rate(mcs, channel.guard_interval);
            let poll = control(cx.rates, response, sizes::BEAMFORMING_REPORT_POLL);
            users.push(Sounded {
                station,
                feedback,
                report: (
                    report,
                    bytes,
                    cx.rates.padded_ppdu_duration(report, bytes, channel.own_padding),
                ),
                ru: None,
                poll: (poll.0, poll.2),
                is_announced: false,
                is_asked: false,
                measured: None,
                is_reported: false,
            });
        }
        let slowest = slowest.unwrap_or(lowest);
        let count = users.len() as u32;
        let triggered = if is_he && count > 1 {
            Some(trigger_reports(cx, channel, slowest, &mut users)?)
        } else {
            None
        };
        let bytes = sizes::ndp_announcement(is_he, count);
        let announcement = control(cx.rates, slowest, bytes);
        let ndp = match channel.format {
            MuFormat::Vht(_) => vht_ndp(config.antennas),
            MuFormat::He => he_ndp(config.antennas, channel.guard_interval),
            MuFormat::Eht(_) => eht_ndp(config.antennas, channel.guard_interval),
        } + channel.band.signal_extension();
        let mut duration = announcement.2 + sifs + ndp;
        match &triggered {
            Some(triggered) => duration += sifs + triggered.trigger.2 + sifs + triggered.duration,
            None => {
                for (place, user) in users.iter().enumerate() {
                    if place > 0 {
                        duration += sifs + user.poll.1;
                    }
                    duration += sifs + user.report.2;
                }
            }
        }
        let until = cx.now + duration;
        if !self.config.access[edcaf].txop_limit.is_zero() && until > opportunity_end {
            return None;
        }
        Some(Exchange::Sounding(Box::new(Sounding {
            edcaf,
            opportunity_end,
            step: Step::Announcement,
            announcement,
            ndp: (ndp_rate(channel, config.antennas), ndp),
            triggered,
            until,
            measured_at: Instant::ZERO,
            answers_due: 0,
            users,
        })))
    }
}

/// Whether the stations to sound and those with reports are at least two together.
fn is_worth_it(due: &[StationId], known: &[StationId]) -> bool {
    let others = known.iter().filter(|station| !due.contains(station)).count();
    !due.is_empty() && due.len() + others >= 2
}

/// Result of an attempt to serve several stations.
enum Built {
    Nothing,
    /// Another peer must be served alone first.
    Alone(Address),
    Exchange(Exchange),
    /// Stations that were considered, and stations that can be served.
    Candidates(Vec<StationId>, Vec<(Candidate, Report)>),
}

impl Soundings {
    /// Returns the first group of these with the highest sum of bit rates, two at least, and each
    /// station's rate alone.
    fn group(
        &mut self,
        cx: &Context<'_>,
        width: ChannelWidth,
        gain: Db,
        config: MuMimoConfig,
        candidates: &[(Candidate, Report)],
        doppler_hz: impl Fn(StationId) -> f64,
    ) -> Option<Vec<(Candidate, Rate)>> {
        let quantised = config.codebook.error(config.antennas);
        let mut best: Option<(u64, Vec<(Candidate, Rate)>)> = None;
        for count in 2..=candidates.len() {
            let own = |one: &Candidate| one.streams.min(config.streams_max);
            let group = &candidates[..count];
            let total: u8 = group.iter().map(|(one, _)| own(one)).sum();
            if total > config.antennas {
                break;
            }
            let mut chosen = Vec::with_capacity(count);
            for &(one, report) in group {
                let streams = own(&one);
                let share =
                    SpatialShare { antennas: config.antennas, total_streams: total, streams };
                let age = cx.now.saturating_since(report.at);
                let presumed_hz = config.doppler_hz * self.haste(one.station);
                let expected = aged_error(quantised, presumed_hz, age);
                let sinr = share.sinr(report.snr + gain, expected);
                let model = &cx.settings.error_model;
                let Some(rate) = self.rate_at(model, one.rate, streams, width, sinr) else {
                    break;
                };
                let error = aged_error(quantised, doppler_hz(one.station), age);
                let candidate = Candidate {
                    rate,
                    mcs: rate.mcs().unwrap_or(0),
                    streams,
                    beam: Some(Beam { share, error }),
                    ..one
                };
                chosen.push((candidate, one.rate));
            }
            let sum = chosen.iter().map(|(one, _)| one.rate.bitrate().as_bps()).sum();
            if chosen.len() == count && best.as_ref().is_none_or(|(most, _)| sum > *most) {
                best = Some((sum, chosen));
            }
        }
        best.map(|(_, group)| group)
    }

    /// The fastest rate with `streams` at that SINR, like `alone` and with no higher MCS.
    fn rate_at(
        &mut self,
        model: &ErrorModel,
        alone: Rate,
        streams: u8,
        width: ChannelWidth,
        sinr: Db,
    ) -> Option<Rate> {
        let rate = |mcs| match alone {
            Rate::Vht { guard_interval, .. } => Rate::vht(mcs, streams, width, guard_interval),
            Rate::He { guard_interval, .. } => Rate::he(mcs, streams, width, guard_interval, false),
            Rate::Eht { guard_interval, puncturing, .. } => {
                Rate::eht(mcs, streams, width, guard_interval)?.punctured(puncturing)
            }
            _ => None,
        };
        // With MCS 14 and 15, of dual carriers, stations are served alone.
        let mcs_max = alone.mcs().filter(|mcs| *mcs <= Rate::EHT_MCS_MAX)?;
        (0..=mcs_max).rev().filter_map(rate).find(|&rate| self.needed(model, rate) <= sinr)
    }

    /// The least SINR at which a rate is used.
    fn needed(&mut self, model: &ErrorModel, rate: Rate) -> Db {
        if let Some((_, needed)) = self.needed.iter().find(|(known, _)| *known == rate) {
            return *needed;
        }
        let needed = model.sensitivity_snr(rate, LOSS_MAX, LOSS_BYTES);
        self.needed.push((rate, needed));
        needed
    }
}

/// Guard interval of a VHT MU PPDU: short if all of its users have the short one.
fn common_guard_interval(group: &[(Candidate, Rate)]) -> GuardInterval {
    let is_short = |rate| matches!(rate, Rate::Vht { guard_interval: GuardInterval::Short, .. });
    if group.iter().all(|(one, _)| is_short(one.rate)) {
        GuardInterval::Short
    } else {
        GuardInterval::Long
    }
}

/// Rate at which an NDP's header is decoded and recorded: the most robust MCS, one stream for each
/// antenna.
fn ndp_rate(channel: MuChannel, antennas: u8) -> Rate {
    let rate = match channel.format {
        MuFormat::Vht(guard_interval) => Rate::vht(0, antennas, channel.width, guard_interval),
        MuFormat::He => Rate::he(0, antennas, channel.width, channel.guard_interval, false),
        MuFormat::Eht(puncturing) => {
            let whole = Rate::eht(0, antennas, channel.width, channel.guard_interval);
            whole.and_then(|rate| rate.punctured(puncturing))
        }
    };
    rate.unwrap_or_else(|| channel.rate(0, channel.guard_interval))
}

/// Returns the report of a station for this many columns.
fn feedback(channel: MuChannel, config: MuMimoConfig, columns: u8) -> Feedback {
    let grouping = match (matches!(channel.format, MuFormat::Vht(_)), config.grouping) {
        (true, 1) => Grouping::Vht1,
        (true, 2) => Grouping::Vht2,
        (true, _) => Grouping::Vht4,
        (false, 16) => Grouping::He16,
        (false, _) => Grouping::He4,
    };
    Feedback {
        width: channel.width,
        rows: config.antennas,
        columns,
        grouping,
        codebook: config.codebook,
    }
}

/// Returns the reports of HE stations together: each on an RU, the largest of which there are
/// enough.
fn trigger_reports(
    cx: &mut Context<'_>,
    channel: MuChannel,
    slowest: Rate,
    users: &mut [Sounded],
) -> Option<TriggeredReports> {
    let guard_interval = channel.triggered_guard_interval();
    let units = channel.enough_units(users.len())?;
    let mut answers = Vec::with_capacity(users.len());
    for (user, ru) in users.iter_mut().zip(channel.rus(units)) {
        let mcs = user.report.0.mcs().unwrap_or(0);
        let psdu_bytes = user.report.1;
        answers.push(MuUser { ru, mcs, streams: 1, dcm: false, psdu_bytes });
        user.ru = Some(ru);
        user.report.0 = channel.rate(mcs, guard_interval);
    }
    let (header, duration) = channel.triggered(&answers);
    users.iter_mut().for_each(|user| user.report.2 = duration);
    let bytes =
        sizes::beamforming_report_trigger(channel.format.trigger_fields(users.len() as u32));
    let trigger = (slowest, bytes, cx.rates.ppdu_duration(slowest, bytes));
    let rate = channel.rate(0, guard_interval);
    Some(TriggeredReports { trigger, header, duration, guard_interval, rate })
}

//! Choice of the stations that an access point solicits, the duration of their PPDUs, and the
//! stations' answers.
//!
//! An EDCAF that gains the channel alternates between downlink data and uplink solicitations if it
//! has both. A Basic Trigger frame asks stations with a backlog in turn, as many as RUs of one size
//! fill the channel, all of the first one's generation. If the queue schedules airtime, it asks those with the least airtime. The
//! duration is that of the longest need, within the access point's limit on the duration of A-MPDUs
//! and the rest of a limited transmission opportunity. If only a part of the channel was idle
//! (10.23.2.5), all PPDUs have that width, at the MCS of the whole channel. The access point asks
//! only stations of its width, even then. Other stations would learn from MU EDCA not to contend,
//! and would then not be asked when the whole channel is idle.

use super::super::content::Exchange;
use super::super::multi_user::{MuChannel, MuFormat, OfdmaConfig, answer_mcs};
use super::super::single::Outline;
use super::reports::BacklogEstimate;
use super::{Answer, Answered, Asked, Solicitation, Solicited, Uplink};
use crate::air::{Air, Content, Expected, Rates};
use crate::cell::bss::Bss;
use crate::cell::edcaf::{Gate, Work};
use crate::cell::floor::Roster;
use crate::cell::frames::{AmpduLimits, Context};
use crate::cell::outbox::Outbox;
use crate::cell::power::Power;
use crate::cell::station::Station;
use crate::cell::timers::{Timer, Timers, UplinkWait};
use crate::cell::{Cell, Settings};
use crate::mac::block_ack::Bitmap;
use crate::mac::originator::Originator;
use crate::mac::sizes;
use crate::phy::{Band, ChannelWidth, MuUser, PacketPadding, Rate};
use crate::station::{Address, StationId};
use alloc::boxed::Box;
use alloc::vec::Vec;
use lasthop_packet::AccessCategory;
use lasthop_units::{Duration, Instant};

/// Access category whose EDCAF asks for buffer status while no backlog is known.
pub(super) const POLLING: usize = AccessCategory::BestEffort.index();

/// The rest of a transmission opportunity.
#[derive(Clone, Copy)]
pub(super) struct Opportunity {
    pub start: Instant,
    pub end: Instant,
}

/// A station that can be asked for data.
#[derive(Clone, Copy)]
struct Askable {
    report: BacklogEstimate,
    /// Rate that rate control chose, within the usable part of the channel.
    rate: Rate,
    window: u16,
}

/// Choice between an access point's own frames and the stations that it solicits: reads the
/// stations, the air, and who dozes; changes what access points know of their stations' queues, their
/// rate control, and the timer.
pub(in crate::cell) struct Solicitor<'a> {
    pub now: Instant,
    pub settings: &'a Settings,
    pub stations: &'a mut [Station],
    pub bss: &'a [Bss],
    pub air: &'a Air,
    pub rates: &'a mut Rates,
    pub timers: &'a mut Timers,
    pub power: &'a mut Power,
    pub outbox: &'a mut Outbox,
}

impl Cell {
    /// Choice of the stations that an access point solicits.
    pub(in crate::cell) fn solicitor(&mut self) -> Solicitor<'_> {
        let Self { now, settings, stations, bss, air, rates, timers, power, outbox, .. } = self;
        let now = *now;
        Solicitor { now, settings, stations, bss, air, rates, timers, power, outbox }
    }
}

impl Solicitor<'_> {
    /// Starts the requests for buffer status of all access points, from their first interval on.
    pub(in crate::cell) fn start_polling(&mut self) {
        for index in 0..self.stations.len() {
            let state = &self.stations[index];
            let interval = state.config.ofdma.and_then(|of| of.uplink?.buffer_reports);
            if let Some(interval) = interval {
                let poll = UplinkWait { station: state.id, edcaf: POLLING, kind: Timer::Poll };
                self.timers.set_uplink(self.now + interval, poll);
            }
        }
    }

    /// Builds the next transmission or solicitation of `edcaf`, if there is one.
    pub(in crate::cell) fn build_either_way(
        &mut self,
        station: StationId,
        edcaf: usize,
        opportunity_end: Instant,
    ) -> Option<Exchange> {
        if self.stations[station.index()].is_uplink_turn(edcaf)
            && let Some(exchange) = self.build_uplink(station, edcaf, opportunity_end)
        {
            return Some(exchange);
        }
        let Self { now, settings, rates, outbox, power, stations, air, .. } = self;
        let services = &mut power.services;
        let mut cx = Context { now: *now, settings, rates, outbox, services };
        let state = &mut stations[station.index()];
        let Some(exchange) = state.build(&mut cx, air, edcaf, opportunity_end) else {
            return self.build_uplink(station, edcaf, opportunity_end);
        };
        let is_data = match &exchange {
            Exchange::Single(single) => matches!(single.content, Content::Data { .. }),
            Exchange::Downlink(_) => true,
            Exchange::Sounding(_) | Exchange::Uplink(_) | Exchange::Answer(_) => false,
        };
        if let Some(reports) = &mut state.edcaf(edcaf).reports
            && is_data
        {
            reports.had_turn = false;
        }
        Some(exchange)
    }

    /// Builds an uplink exchange of an access point's EDCAF; `None` if there is no station to ask,
    /// or not enough time.
    #[inline(never)]
    fn build_uplink(
        &mut self,
        station: StationId,
        edcaf: usize,
        opportunity_end: Instant,
    ) -> Option<Exchange> {
        let state = &self.stations[station.index()];
        let config = state.config.ofdma?;
        state.width_of_several()?;
        let reports = self.stations[station.index()].edcaf(edcaf).reports.as_mut()?;
        if !reports.wants() {
            return None;
        }
        reports.had_turn = true;
        let time = Opportunity { start: self.now, end: opportunity_end };
        let uplink = match config.uplink?.buffer_reports {
            Some(interval) => {
                self.stations[station.index()].edcaf(edcaf).reports.as_mut()?.is_poll_due = false;
                if edcaf == POLLING {
                    let poll = UplinkWait { station, edcaf, kind: Timer::Poll };
                    self.timers.set_uplink(time.start + interval, poll);
                }
                self.poll_stations(station, edcaf, time, config)?
            }
            None => self.solicit(station, edcaf, time, config)?,
        };
        Some(Exchange::Uplink(Box::new(uplink)))
    }

    /// Builds a BSRP Trigger frame to the stations whose turn it is.
    fn poll_stations(
        &mut self,
        access_point: StationId,
        edcaf: usize,
        time: Opportunity,
        config: OfdmaConfig,
    ) -> Option<Uplink> {
        let whole = self.stations[access_point.index()].config.capabilities.width();
        let mut stations = self.reachable(access_point);
        let last = self.stations[access_point.index()].edcaf(edcaf).reports.as_ref()?.last_polled;
        let rank = |station: &StationId| self.stations[station.index()].rank;
        stations.sort_unstable_by_key(rank);
        let last = last.as_ref().map(rank);
        let behind = stations.iter().position(|station| Some(rank(station)) > last).unwrap_or(0);
        let (before, after) = stations.split_at(behind);
        let mut turns: Vec<StationId> = after.iter().chain(before).copied().collect();
        // One Trigger frame asks stations of one generation.
        let is_eht = |it: StationId| self.stations[it.index()].config.capabilities.is_eht();
        let lead_is_eht = is_eht(*turns.first()?);
        turns.retain(|&station| is_eht(station) == lead_is_eht);
        let state = &self.stations[access_point.index()];
        let channel = state.channel(self.settings.band, config, lead_is_eht);
        let units = channel.units_for(1, turns.len().min(config.stations_max.into()))?;
        let count = units.count;
        let units = channel.rus(units);
        let mut users = Vec::with_capacity(count);
        for (&station, &ru) in turns.iter().zip(&units).take(count) {
            // Whoever never sent is asked as robustly as can be.
            let known = self.stations[station.index()].originator_to(edcaf, access_point);
            let known = known.and_then(|one| one.rate_control.as_ref()).map(|c| c.main_rate());
            let rate = known.filter(|rate| is_of(*rate, whole));
            let rate = rate.map(|rate| channel.narrowed(rate));
            let rate = rate.unwrap_or(channel.rate(0, channel.guard_interval));
            let mcs = answer_mcs(rate.mcs().unwrap_or(0));
            let psdu_bytes = null_bytes(Solicitation::Reports);
            let user = MuUser { ru, mcs, streams: 1, dcm: false, psdu_bytes };
            users.push(Asked { station, user, rate, bits: 0, is_heard: false, record: None });
        }
        let last = users.last()?.station;
        self.stations[access_point.index()].edcaf(edcaf).reports.as_mut()?.last_polled = Some(last);
        let fields = channel.format.trigger_fields(users.len() as u32);
        let bytes = sizes::buffer_status_report_poll(fields);
        let uplink = self.uplink(Solicitation::Reports, edcaf, channel, bytes, users, time);
        self.is_in_time(access_point, &uplink, time).then_some(uplink)
    }

    /// Builds a Basic Trigger frame to stations with a backlog, which begins at `start`.
    pub(super) fn solicit(
        &mut self,
        access_point: StationId,
        edcaf: usize,
        time: Opportunity,
        config: OfdmaConfig,
    ) -> Option<Uplink> {
        let mut candidates = self.candidates(access_point, edcaf);
        let lead = *candidates.first()?;
        let lead_is_eht = lead.rate.is_eht();
        candidates.retain(|one| one.rate.is_eht() == lead_is_eht);
        let state = &self.stations[access_point.index()];
        let channel = state.channel(self.settings.band, config, lead_is_eht);
        let streams_max = channel.format.triggered_streams_max();
        let psdu_bytes_max = channel.format.psdu_bytes_max();
        // A station whose MPDU did not fit is asked with fewer others: RUs are larger then.
        let most = usize::from(config.stations_max) >> lead.report.cramped.min(7);
        let units = channel.units_for(1, candidates.len().min(most.max(1)))?;
        let count = units.count;
        let units = channel.rus(units);
        let together = &candidates[..count];
        let state = &self.stations[access_point.index()].config;
        let mut duration_max = state.aggregation.ampdu_duration_max;
        let bits = |one: &Askable| Bitmap::bits_for(one.window);
        let mut users: Vec<Asked> = Vec::with_capacity(count);
        for (one, &ru) in together.iter().zip(&units) {
            let (mcs, streams, dcm) = match one.rate {
                Rate::He { mcs, streams, dcm, .. } => (mcs, streams, dcm),
                Rate::Eht { mcs, streams, .. } => (mcs, streams.min(streams_max), false),
                _ => return None,
            };
            let psdu_bytes = one.report.psdu_bytes(psdu_bytes_max);
            let user = MuUser { ru, mcs, streams, dcm, psdu_bytes };
            let station = one.report.station;
            let rate = channel.narrowed(one.rate.within(channel.width, streams));
            let bits = bits(one);
            users.push(Asked { station, user, rate, bits, is_heard: false, record: None });
        }
        let is_limited = !state.access[edcaf].txop_limit.is_zero();
        let bytes = sizes::basic_trigger(channel.format.trigger_fields(count as u32));
        let mut uplink = self.uplink(Solicitation::Data, edcaf, channel, bytes, users, time);
        if is_limited {
            let sifs = self.settings.timing.sifs;
            let around = uplink.trigger.2 + sifs + uplink.acknowledged_in;
            let left = time.end.saturating_since(time.start).saturating_sub(around);
            duration_max = duration_max.min(left);
        }
        let rest = duration_max.saturating_sub(uplink.header);
        let symbol = uplink.guard_interval.symbol();
        // A PPDU gets one symbol more if some user's code needs it.
        for time in [rest, rest.saturating_sub(symbol)] {
            let mut longest = false;
            for Asked { user, .. } in &mut uplink.users {
                let within = channel.triggered_within(user, time, user.psdu_bytes);
                longest |= within < user.psdu_bytes;
                user.psdu_bytes = within;
            }
            let users: Vec<MuUser> = uplink.users.iter().map(|asked| asked.user).collect();
            uplink.duration = channel.triggered(&users).1;
            if uplink.duration <= duration_max || !longest {
                break;
            }
        }
        let shortest = uplink.users.iter().map(|asked| asked.user.psdu_bytes).min();
        if uplink.duration > duration_max || shortest < Some(null_bytes(Solicitation::Data)) {
            return None;
        }
        // Each fills what all have.
        let time = uplink.duration - uplink.header;
        for Asked { user, .. } in &mut uplink.users {
            user.psdu_bytes = channel.triggered_within(user, time, psdu_bytes_max);
        }
        let last = uplink.users.last()?.station;
        let share = uplink.duration / count as u64;
        let stations: Vec<StationId> = uplink.users.iter().map(|user| user.station).collect();
        let reports = self.stations[access_point.index()].edcaf(edcaf).reports.as_mut()?;
        reports.last_served = Some(last);
        stations.into_iter().for_each(|station| reports.charge(station, share));
        uplink.outline.response = Some(expected(uplink.rate, uplink.duration));
        Some(uplink)
    }

    /// Returns an exchange with these users, whose PPDUs are as long as their PSDUs require.
    fn uplink(
        &mut self,
        phase: Solicitation,
        edcaf: usize,
        channel: MuChannel,
        bytes: u32,
        users: Vec<Asked>,
        time: Opportunity,
    ) -> Uplink {
        let sifs = self.settings.timing.sifs;
        let of_users: Vec<MuUser> = users.iter().map(|asked| asked.user).collect();
        let (header, duration) = channel.triggered(&of_users);
        // Trigger frame and Block Ack are for all, so as robust as the slowest of them needs.
        let rates = users.iter().map(|user| self.rates.facts(user.rate).response);
        let rate = rates.min_by_key(|rate| rate.bitrate()).unwrap_or(self.rates.lowest());
        let block_ack = block_ack_bytes(users.iter().map(|user| user.bits));
        let acknowledged_in = match phase {
            Solicitation::Reports => Duration::ZERO,
            Solicitation::Data => sifs + self.rates.ppdu_duration(rate, block_ack),
        };
        let guard_interval = channel.triggered_guard_interval();
        let answered_at = channel.rate(0, guard_interval);
        Uplink {
            phase,
            outline: Outline {
                edcaf,
                peer: Address::Group,
                rate,
                is_data: false,
                response: Some(expected(answered_at, duration)),
                opportunity_end: time.end,
            },
            trigger: (rate, bytes, self.rates.ppdu_duration(rate, bytes)),
            header,
            duration,
            guard_interval,
            rate: answered_at,
            acknowledged_in,
            until: time.start,
            answers_due: 0,
            users,
        }
    }

    fn is_in_time(&self, access_point: StationId, uplink: &Uplink, time: Opportunity) -> bool {
        let config = &self.stations[access_point.index()].config;
        let sifs = self.settings.timing.sifs;
        let whole = uplink.trigger.2 + sifs + uplink.duration + uplink.acknowledged_in;
        config.access[uplink.outline.edcaf].txop_limit.is_zero() || time.start + whole <= time.end
    }

    /// The stations of the access point's set that Trigger frames can ask, ascending.
    fn reachable(&self, access_point: StationId) -> Vec<StationId> {
        let whole = self.stations[access_point.index()].config.capabilities.width();
        let bss = self.stations[access_point.index()].config.bss;
        let roster = Roster { settings: self.settings, stations: self.stations, bss: self.bss };
        let can = |state: &&Station| {
            let capabilities = &state.config.capabilities;
            let mode = roster.known_mode(state.id);
            let width = mode.map_or_else(|| capabilities.width(), |mode| mode.width);
            state.id != access_point
                && state.config.bss == bss
                && capabilities.is_he_or_later()
                && capabilities.qos
                && width == widest_of(capabilities.is_eht(), whole)
                && mode.is_none_or(|mode| mode.uplink_ofdma)
                && !self.power.is_dozing(state.id)
        };
        self.stations.iter().filter(can).map(|state| state.id).collect()
    }

    /// The stations with a backlog in turn, under an agreement and at a rate of the whole channel.
    fn candidates(&mut self, access_point: StationId, edcaf: usize) -> Vec<Askable> {
        let whole = self.stations[access_point.index()].config.capabilities.width();
        let reachable = self.reachable(access_point);
        let access = self.stations[access_point.index()].edcaf(edcaf);
        let by_airtime = access.queue.schedules_airtime() && !access.driver.is_used();
        let Some(reports) = &access.reports else { return Vec::new() };
        let turns = reports.backlogged(by_airtime);
        let mut candidates = Vec::with_capacity(turns.len());
        for report in turns {
            let station = report.station;
            let one = self.stations[station.index()].originator_to(edcaf, access_point);
            let window = one.and_then(|one| one.agreement.window());
            let is_reachable = reachable.contains(&station) && window.is_some();
            let rate = is_reachable.then(|| self.uplink_rate(station, access_point, edcaf));
            match (rate.flatten().filter(|rate| is_of(*rate, whole)), window) {
                (Some(rate), Some(window)) => candidates.push(Askable { report, rate, window }),
                _ => {
                    if let Some(reports) =
                        &mut self.stations[access_point.index()].edcaf(edcaf).reports
                    {
                        reports.forget(station);
                    }
                }
            }
        }
        candidates
    }

    /// The rate at which `station` would send; its main rate while it probes another one.
    fn uplink_rate(
        &mut self,
        station: StationId,
        access_point: StationId,
        edcaf: usize,
    ) -> Option<Rate> {
        let snr = self.air.last_snr(station, access_point);
        let (now, peer) = (self.now, Address::Station(access_point));
        let state = &mut self.stations[station.index()];
        let index = state.originator(self.settings, edcaf, peer);
        let originator = &mut state.edcaf(edcaf).originators[index];
        match originator.choose_rate(now, snr)? {
            (_, true) => originator.rate_control.as_ref().map(|control| control.main_rate()),
            (rate, false) => Some(rate),
        }
    }
}

impl Station {
    /// Whether an uplink exchange is the next one of `edcaf`, with stations to ask.
    fn is_uplink_turn(&mut self, edcaf: usize) -> bool {
        let access = self.edcaf(edcaf);
        let Some(reports) = &access.reports else { return false };
        let had_turn = reports.had_turn;
        reports.wants()
            && match access.next_work() {
                None => true,
                Some(Work::Data(_)) => !had_turn,
                Some(Work::Management(_) | Work::BlockAckRequest(_)) => false,
            }
    }

    /// The part of the access point's channel that its transmission opportunity may use.
    pub(in crate::cell) fn channel(
        &self,
        band: Band,
        config: OfdmaConfig,
        is_eht: bool,
    ) -> MuChannel {
        let capabilities = &self.config.capabilities;
        let width = capabilities.width().min(self.width_max);
        let format = self.format(is_eht, width);
        MuChannel {
            band,
            width: width.min(format.width_max()),
            guard_interval: config.guard_interval,
            format,
            padding: PacketPadding::None,
            own_padding: capabilities.packet_padding,
        }
    }

    /// Format of PPDUs of this width with stations of 802.11be, or of those with stations of
    /// 802.11ax.
    pub(in crate::cell) fn format(&self, is_eht: bool, width: ChannelWidth) -> MuFormat {
        if is_eht { MuFormat::Eht(self.puncturing(width)) } else { MuFormat::He }
    }

    /// The originator towards an access point in a category, if the station ever sent.
    fn originator_to(&self, edcaf: usize, access_point: StationId) -> Option<&Originator> {
        let access = self.edcafs[edcaf].as_ref()?;
        Some(&access.originators[access.originator(Address::Station(access_point))?])
    }

    /// Builds the answer of the station to a Trigger frame of `to` that just ended.
    pub(super) fn build_answer(
        &mut self,
        cx: &mut Context<'_>,
        to: StationId,
        ask: &Solicited,
        asked: &Asked,
    ) -> Answer {
        let buffered = core::array::from_fn(|category| self.buffered_bytes(category));
        let user = &asked.user;
        let bits = ask.channel.triggered_bitrate(user).as_bps()
            * self.config.aggregation.mpdu_start_spacing.as_nanos();
        let spacing_bytes = bits.div_ceil(8_000_000_000) as u32;
        let (content, data_bytes) = match ask.phase {
            Solicitation::Reports => (Answered::BufferReport, null_bytes(Solicitation::Reports)),
            Solicitation::Data => self
                .data_answer(cx, ask.edcaf, to, user.psdu_bytes, spacing_bytes)
                .unwrap_or((Answered::BufferReport, null_bytes(Solicitation::Data))),
        };
        let data_time = ask.channel.without_padding().triggered_data_time(user).as_nanos();
        let filled = data_time * u64::from(data_bytes) / u64::from(user.psdu_bytes.max(1));
        let of_all = ask.duration - ask.header;
        Answer {
            to,
            edcaf: ask.edcaf,
            content,
            rate: asked.rate,
            psdu_bytes: user.psdu_bytes,
            duration: ask.duration,
            acknowledged_at: ask.rate,
            collided: false,
            ru: user.ru,
            header: ask.header,
            data_end: ask.header + Duration::from_nanos(filled).min(of_all),
            data_bytes,
            spacing_bytes,
            share: ask.duration / ask.stations as u64,
            overheard: ask.overheard,
            until: ask.until,
            buffered,
        }
    }

    /// Returns data, or the Block Ack Request that must precede them, and their length; `None` if
    /// no frame fits.
    fn data_answer(
        &mut self,
        cx: &mut Context<'_>,
        edcaf: usize,
        to: StationId,
        psdu_bytes: u32,
        spacing_bytes: u32,
    ) -> Option<(Answered, u32)> {
        let peer = Address::Station(to);
        let index = self.edcafs[edcaf].as_ref()?.originator(peer)?;
        self.edcaf(edcaf).originators[index].agreement.window()?;
        // Management frames go ahead of data: a repeated ADDBA Request begins the agreement anew.
        if !self.edcaf(edcaf).management.is_empty() {
            return None;
        }
        self.expire(cx, edcaf, index);
        let access = self.edcaf(edcaf);
        let originator = &access.originators[index];
        if originator.block_ack_request_due {
            let start = originator.window_start();
            let bytes = sizes::AMPDU_DELIMITER + sizes::BLOCK_ACK_REQUEST;
            return (bytes <= psdu_bytes).then_some((Answered::BlockAckRequest { start }, bytes));
        }
        if access.gate != Gate::Open && originator.pending.is_empty()
            || originator.pending.is_empty() && self.pull(cx, edcaf, index, u32::MAX).is_none()
        {
            self.edcaf(edcaf).keep_turn(peer);
            return None;
        }
        let aggregation = self.config.aggregation;
        let originator = &self.edcaf(edcaf).originators[index];
        let first = u32::from(originator.pending[0].bytes);
        let shared = &originator.shared;
        let bytes_max = aggregation.ampdu_bytes_max.min(shared.ampdu_bytes_max).min(psdu_bytes);
        if first > shared.ampdu_mpdu_bytes_max || first + sizes::AMPDU_DELIMITER > bytes_max {
            return None;
        }
        let frames_max = usize::from(aggregation.ampdu_frames_max);
        let limits = AmpduLimits { bytes_max, spacing_bytes, frames_max };
        let (mpdus, bytes) = self.aggregate(cx, edcaf, index, 0, limits, true);
        let bytes = if mpdus == 1 { first + sizes::AMPDU_DELIMITER } else { bytes };
        Some((Answered::Data { mpdus }, bytes))
    }

    /// Bytes of MSDUs that the station holds in a category, those in flight included.
    pub(in crate::cell) fn buffered_bytes(&self, category: usize) -> u64 {
        let Some(access) = &self.edcafs[category] else { return 0 };
        let (queue, driver, held) = (&access.queue, &access.driver, access.held);
        let packets = queue.len_packets() + driver.len_packets() + held.packets;
        (queue.len_bytes() + driver.len_bytes() + held.bytes).as_u64()
            + u64::from(packets * sizes::LLC_SNAP)
    }
}

/// The trigger-based PPDUs as the response to a Trigger frame.
const fn expected(rate: Rate, duration: Duration) -> Expected {
    Expected { rate, duration, psdu_bytes: 0, block_ack: false }
}

/// Whether the rate fills the access point's channel, or the part of it that the generation has.
fn is_of(rate: Rate, whole: ChannelWidth) -> bool {
    match rate {
        Rate::He { width, .. } => width == widest_of(false, whole),
        Rate::Eht { mcs, width, .. } => width == whole && mcs != 14,
        _ => false,
    }
}

/// The widest channel of a generation in that of an access point.
fn widest_of(is_eht: bool, whole: ChannelWidth) -> ChannelWidth {
    if is_eht { whole } else { whole.min(MuFormat::He.width_max()) }
}

/// Length of a PSDU of QoS Null frames.
const fn null_bytes(phase: Solicitation) -> u32 {
    let frames = Answer::nulls(phase);
    let one = sizes::AMPDU_DELIMITER + sizes::QOS_NULL;
    (frames - 1) * sizes::ampdu_subframe(sizes::QOS_NULL, 0) + one
}

/// Length of a Multi-STA Block Ack with records of these bitmaps.
pub(super) fn block_ack_bytes(bits: impl Iterator<Item = u16>) -> u32 {
    sizes::MULTI_STATION_BLOCK_ACK + bits.map(sizes::station_record).sum::<u32>()
}

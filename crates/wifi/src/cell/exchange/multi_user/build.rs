//! Composition of an HE MU PPDU: the stations, their resource units, and the amount of data for
//! each.
//!
//! The stations take turns (round robin over those with packets of the access category); if the
//! queue schedules airtime, its deficits determine the turn. The PPDU stays within the sender's
//! limit on the duration of A-MPDUs. In a limited transmission opportunity, the PPDU and the
//! acknowledgements fit into the rest of it.

use super::super::content::Exchange;
use super::super::mu_mimo::Beam;
use super::{
    Downlink, MuChannel, MuFormat, OfdmaAcknowledgement, OfdmaConfig, Phase, Triggered, User,
    answer_mcs, triggered_block_ack,
};
use crate::air::{Air, Expected};
use crate::cell::edcaf::{Edcaf, Gate};
use crate::cell::frames::{AmpduLimits, Context};
use crate::cell::station::Station;
use crate::mac::block_ack::Bitmap;
use crate::mac::originator::Originator;
use crate::mac::rate::RateControl;
use crate::mac::sizes;
use crate::phy::{Band, MuUser, Rate, Ru};
use crate::station::{Address, StationId};
use alloc::boxed::Box;
use alloc::vec::Vec;
use lasthop_units::{Duration, Instant};

/// A station that the PPDU can include.
#[derive(Clone, Copy)]
pub(in crate::cell) struct Candidate {
    /// Index of the originator.
    pub originator: usize,
    pub station: StationId,
    /// Rate that rate control chose for the whole channel or its idle part; with MU-MIMO possibly a
    /// slower one.
    pub rate: Rate,
    pub mcs: u8,
    pub streams: u8,
    pub dcm: bool,
    /// Window of the Block Ack agreement.
    pub window: u16,
    /// Share of the streams, with MU-MIMO.
    pub beam: Option<Beam>,
}

/// Stations of a PPDU, the resource unit of each, and that of its answer to a Trigger frame.
#[derive(Clone, Copy)]
pub(in crate::cell) struct Whom<'a> {
    pub candidates: &'a [Candidate],
    pub units: &'a [Ru],
    pub answer_units: &'a [Ru],
}

/// Kind and duration of the Block Acks.
struct Answers {
    /// Response of each user.
    expected: Vec<Expected>,
    triggered: Option<Triggered>,
    /// Time from the end of the HE MU PPDU to that of the last Block Ack.
    duration: Duration,
}

impl Station {
    /// Builds a PPDU to `peer`, whose turn it is, and others; `None` if a PPDU for two stations is
    /// impossible, or another peer must be served alone.
    #[inline(never)]
    pub fn build_multi_user(
        &mut self,
        cx: &mut Context<'_>,
        air: &Air,
        edcaf: usize,
        peer: Address,
        opportunity_end: Instant,
    ) -> Option<Exchange> {
        let config = self.config.ofdma?;
        let (mut peer, mut channel) =
            (peer, self.channel_to(cx.settings.band, config, edcaf, peer));
        if let Some(other) = self.overdue(channel, edcaf, peer, |_| true) {
            // A station of another generation may have others beside it.
            let own = self.channel_to(cx.settings.band, config, edcaf, other);
            if own.format == channel.format || !self.is_ready_in(own, edcaf, other) {
                let data = self.build_data(cx, air, edcaf, other, opportunity_end);
                return data.map(Exchange::Single);
            }
            (peer, channel) = (other, own);
        }
        let Address::Station(lead) = peer else { return None };
        let stations_max = usize::from(config.stations_max);
        let count =
            |ready: usize| channel.units_for(2, ready.min(stations_max)).map(|units| units.count);
        let stations = self.multi_user_stations(channel, edcaf, lead, count)?;
        let mut candidates = Vec::with_capacity(stations.len());
        for &station in &stations {
            candidates.extend(self.candidate(cx, air, channel, edcaf, station));
        }
        let mut stations_max = candidates.len();
        loop {
            let Some(units) = channel.units_for(2, stations_max) else {
                self.keep_turns(edcaf, &stations, None);
                return None;
            };
            let count = units.count;
            let units = channel.rus(units);
            let together = &candidates[..count];
            let whom = Whom { candidates: together, units: &units, answer_units: &units };
            let acknowledgement = config.acknowledgement;
            match self.fill(cx, channel, acknowledgement, edcaf, whom, opportunity_end) {
                Some(several) => {
                    self.keep_turns(edcaf, &stations, Some(&several));
                    return Some(Exchange::Downlink(Box::new(several)));
                }
                // Some RU has not time for one MPDU: larger ones may have.
                None => stations_max = count - 1,
            }
        }
    }

    /// The channel of PPDUs to `peer` and others of its generation.
    fn channel_to(
        &self,
        band: Band,
        config: OfdmaConfig,
        edcaf: usize,
        peer: Address,
    ) -> MuChannel {
        let is_eht = self.main_rate_to(edcaf, peer).is_some_and(Rate::is_eht);
        self.channel(band, config, is_eht)
    }

    /// The rate that rate control uses most towards `peer`, if anything was sent to it.
    pub(in crate::cell) fn main_rate_to(&self, edcaf: usize, peer: Address) -> Option<Rate> {
        let access = self.edcafs[edcaf].as_ref()?;
        let originator = &access.originators[access.originator(peer)?];
        originator.rate_control.as_ref().map(RateControl::main_rate)
    }

    /// Whether `peer` can be served with others in this channel.
    fn is_ready_in(&self, channel: MuChannel, edcaf: usize, peer: Address) -> bool {
        let Some(access) = &self.edcafs[edcaf] else { return false };
        let originator = access.originator(peer).map(|index| &access.originators[index]);
        originator.is_some_and(|one| is_ready(access, channel, one))
    }

    /// Keeps the turns of stations that were considered, are not in the PPDU, and have MPDUs
    /// pending.
    pub(in crate::cell) fn keep_turns(
        &mut self,
        edcaf: usize,
        asked: &[StationId],
        several: Option<&Downlink>,
    ) {
        for &station in asked {
            if !several.is_some_and(|several| several.has(station)) {
                self.edcaf(edcaf).keep_turn(Address::Station(station));
            }
        }
    }

    /// The peer of the oldest packet, if it must be served alone: it has no agreement yet, or not
    /// the whole channel. Otherwise stations that can be served together would be served forever,
    /// because some of them always have pending MPDUs.
    pub(in crate::cell) fn overdue(
        &mut self,
        channel: MuChannel,
        edcaf: usize,
        peer: Address,
        may_be: impl Fn(Address) -> bool,
    ) -> Option<Address> {
        let access = self.edcafs[edcaf].as_mut()?;
        if access.queue.schedules_airtime() && !access.driver.is_used() || access.gate != Gate::Open
        {
            return None;
        }
        let oldest = access.fresh()?;
        let originator = access.originator(oldest).map(|index| &access.originators[index]);
        // A Block Ack Request has its turn as what is to be repeated has.
        let is_alone = originator.is_none_or(|one| {
            let is_ready = is_ready(access, channel, one) && may_be(one.peer);
            !one.block_ack_request_due && !is_ready
        });
        (is_alone && oldest != peer && access.last_served != Some(oldest)).then_some(oldest)
    }

    /// The stations whose turn it is, as many as RUs of one size serve.
    pub(in crate::cell) fn multi_user_stations(
        &mut self,
        channel: MuChannel,
        edcaf: usize,
        lead: StationId,
        count: impl Fn(usize) -> Option<usize>,
    ) -> Option<Vec<StationId>> {
        let access = self.edcafs[edcaf].as_mut()?;
        if access.gate != Gate::Open {
            return None;
        }
        // In the order in which they were first sent to, after the one that was served last.
        let last = access.last_served.and_then(|peer| access.originator(peer));
        let (before, after) = access.originators.split_at(last.map_or(0, |index| index + 1));
        let station = |originator: &Originator| match originator.peer {
            Address::Station(station) if is_ready(access, channel, originator) => Some(station),
            _ => None,
        };
        let mut ready: Vec<StationId> = after.iter().chain(before).filter_map(station).collect();
        if !ready.contains(&lead) {
            return None;
        }
        let count = count(ready.len())?;
        if access.queue.schedules_airtime() && !access.driver.is_used() {
            let mut turns = alloc::vec![lead];
            while turns.len() < count
                && let Some(peer) = access.queue.next_peer_where(|peer| match peer.into() {
                    Address::Station(peer) => ready.contains(&peer) && !turns.contains(&peer),
                    Address::Group => false,
                })
                && let Address::Station(station) = peer.into()
            {
                turns.push(station);
            }
            ready = turns;
        }
        ready.truncate(count);
        Some(ready)
    }

    /// Returns a station with data for it, at a rate of the whole channel.
    pub(in crate::cell) fn candidate(
        &mut self,
        cx: &mut Context<'_>,
        air: &Air,
        channel: MuChannel,
        edcaf: usize,
        station: StationId,
    ) -> Option<Candidate> {
        let originator = self.originator(cx.settings, edcaf, Address::Station(station));
        self.expire(cx, edcaf, originator);
        if self.edcaf(edcaf).originators[originator].pending.is_empty()
            && self.pull(cx, edcaf, originator, u32::MAX).is_none()
        {
            self.edcaf(edcaf).keep_turn(Address::Station(station));
            return None;
        }
        let snr = air.last_snr(self.id, station);
        let state = &mut self.edcaf(edcaf).originators[originator];
        let (rate, is_probe) = state.choose_rate(cx.now, snr)?;
        let rate = channel.narrowed(rate);
        let window = state.agreement.window();
        // Giving up may have made a Block Ack Request due.
        let is_due = state.block_ack_request_due;
        let is_short = u32::from(state.pending[0].bytes) <= state.shared.ampdu_mpdu_bytes_max;
        self.record_rate(cx, edcaf, originator);
        let (mcs, streams, dcm) = match rate {
            Rate::He { mcs, streams, dcm, .. } => (mcs, streams, dcm),
            Rate::Vht { mcs, streams, .. } | Rate::Eht { mcs, streams, .. } => {
                (mcs, streams, false)
            }
            _ => return None,
        };
        let usable = channel.has(rate) && is_short && !is_probe && !is_due;
        usable.then_some(Candidate {
            originator,
            station,
            rate,
            mcs,
            streams,
            dcm,
            window: window?,
            beam: None,
        })
    }

    /// Fills the PSDUs; `None` if an MPDU does not fit into one of them.
    pub(in crate::cell) fn fill(
        &mut self,
        cx: &mut Context<'_>,
        channel: MuChannel,
        acknowledgement: OfdmaAcknowledgement,
        edcaf: usize,
        Whom { candidates, units, answer_units }: Whom<'_>,
        opportunity_end: Instant,
    ) -> Option<Downlink> {
        let aggregation = self.config.aggregation;
        let originators = &self.edcaf(edcaf).originators;
        let needed = candidates.iter().map(|one| originators[one.originator].shared.packet_padding);
        let channel = MuChannel { padding: needed.max().unwrap_or_default(), ..channel };
        let answers = answers(cx, channel, acknowledgement, candidates, answer_units);
        let mut duration_max = aggregation.ampdu_duration_max;
        if !self.config.access[edcaf].txop_limit.is_zero() {
            let left = opportunity_end.saturating_since(cx.now);
            duration_max = duration_max.min(left.saturating_sub(answers.duration));
        }
        let mut users: Vec<MuUser> =
            candidates.iter().zip(units).map(|(one, &ru)| one.user(ru)).collect();
        let header = channel.header(&users);
        let rest = duration_max.saturating_sub(header);
        let own_trigger = sizes::mu_block_ack_request(channel.format.trigger_fields(1));
        let trigger_bytes = match acknowledgement {
            OfdmaAcknowledgement::Aggregated => sizes::ampdu_subframe(own_trigger, 0),
            _ => 0,
        };
        // Padding after the Trigger frame, if another MPDU followed.
        let bare = sizes::AMPDU_DELIMITER + own_trigger;
        let trigger_padding = sizes::padded(bare) - bare;
        let symbol = channel.symbol();
        let mut filled = Vec::with_capacity(users.len());
        // A PPDU gets one symbol more if some user's code needs it.
        for time in [rest, rest.saturating_sub(symbol)] {
            filled.clear();
            for (one, user) in candidates.iter().zip(&mut users) {
                let spacing = aggregation.mpdu_start_spacing.as_nanos();
                let bits = channel.bitrate(user).as_bps() * spacing;
                let spacing_bytes = bits.div_ceil(8_000_000_000) as u32;
                let originator = &self.edcaf(edcaf).originators[one.originator];
                let first = u32::from(originator.pending[0].bytes) + sizes::AMPDU_DELIMITER;
                let bytes_max = aggregation.ampdu_bytes_max.min(originator.shared.ampdu_bytes_max);
                let bytes_max = channel.psdu_within(user, time, bytes_max);
                let bytes_max = bytes_max.checked_sub(trigger_bytes)?;
                // What precedes the Trigger frame is padded.
                let bytes_max = if trigger_bytes > 0 { bytes_max & !3 } else { bytes_max };
                if first > bytes_max {
                    return None;
                }
                let frames_max = usize::from(aggregation.ampdu_frames_max);
                let limits = AmpduLimits { bytes_max, spacing_bytes, frames_max };
                let (mpdus, bytes) = self.aggregate(cx, edcaf, one.originator, 0, limits, true);
                let bytes = if mpdus == 1 { first } else { bytes };
                user.psdu_bytes = match trigger_bytes {
                    0 => bytes,
                    more => {
                        let last =
                            &self.edcaf(edcaf).originators[one.originator].pending[mpdus - 1];
                        let last = u32::from(last.bytes);
                        let before_last = bytes - sizes::AMPDU_DELIMITER - last;
                        let padded = before_last + sizes::ampdu_subframe(last, spacing_bytes);
                        padded + more - trigger_padding
                    }
                };
                filled.push((mpdus, bytes, spacing_bytes));
            }
            if channel.duration(&users) <= duration_max {
                break;
            }
        }
        let duration = channel.duration(&users);
        let answers_by = answers.expected.into_iter().zip(answer_units);
        let air = candidates.iter().zip(&users).zip(&filled).zip(answers_by);
        let users = air.map(|(((one, user), filled), (response, &answer_ru))| {
            let &(mpdus, data_bytes, spacing_bytes) = filled;
            let own = channel.without_padding().data_time(user);
            let ratio = (u64::from(data_bytes), u64::from(user.psdu_bytes));
            User {
                station: one.station,
                mpdus,
                rate: one.rate,
                psdu_bytes: user.psdu_bytes,
                response,
                collided: false,
                ru: (!matches!(channel.format, MuFormat::Vht(_))).then_some(user.ru),
                answer_ru,
                beam: one.beam,
                data_bytes,
                data_end: header + Duration::from_nanos(own.as_nanos() * ratio.0 / ratio.1),
                psdu_end: header + own,
                spacing_bytes,
                asked: false,
                acked: None,
            }
        });
        let several = Downlink {
            edcaf,
            first: candidates.first()?.station,
            opportunity_end,
            acknowledgement,
            phase: Phase::Data,
            header,
            duration,
            rate: channel.rate(0, channel.guard_interval),
            acknowledged_in: answers.duration,
            until: Instant::ZERO,
            triggered: answers.triggered,
            answers_due: 0,
            users: users.collect(),
        };
        Some(several)
    }
}

impl Candidate {
    fn user(&self, ru: Ru) -> MuUser {
        let &Self { mcs, streams, dcm, .. } = self;
        MuUser { ru, mcs, streams, dcm, psdu_bytes: 0 }
    }
}

/// Whether a station can be served with others: it has data and an agreement, no Block Ack Request
/// must precede, and its rate is of the whole channel, or wider than the idle part.
fn is_ready(access: &Edcaf, channel: MuChannel, originator: &Originator) -> bool {
    let peer = originator.peer;
    let queued =
        || access.queue.len_packets_for(peer.into()) + access.driver.len_packets_for(peer.into());
    let rate = originator.rate_control.as_ref().map(RateControl::main_rate);
    originator.agreement.window().is_some()
        && !originator.block_ack_request_due
        && rate.is_some_and(|rate| channel.has(channel.narrowed(rate)))
        && !access.absent.is_dozing(peer)
        && (!originator.pending.is_empty() || originator.has_window() && queued() > 0)
}

/// Returns the kind and duration of the Block Acks of these stations.
fn answers(
    cx: &mut Context<'_>,
    channel: MuChannel,
    acknowledgement: OfdmaAcknowledgement,
    candidates: &[Candidate],
    units: &[Ru],
) -> Answers {
    let sifs = cx.settings.timing.sifs;
    if acknowledgement == OfdmaAcknowledgement::BlockAckRequest {
        let mut duration = Duration::ZERO;
        let mut expected = Vec::with_capacity(candidates.len());
        for (place, one) in candidates.iter().enumerate() {
            let response = cx.rates.response(one.rate, Some(one.window));
            if place > 0 {
                duration += sifs + cx.rates.ppdu_duration(response.rate, sizes::BLOCK_ACK_REQUEST);
            }
            duration += sifs + response.duration;
            expected.push(response);
        }
        return Answers { expected, triggered: None, duration };
    }
    let guard_interval = channel.triggered_guard_interval();
    let users: Vec<MuUser> = candidates
        .iter()
        .zip(units)
        .map(|(one, &ru)| MuUser {
            ru,
            mcs: answer_mcs(one.mcs),
            streams: 1,
            dcm: false,
            psdu_bytes: triggered_block_ack(Bitmap::bits_for(one.window)),
        })
        .collect();
    let (header, of_ppdu) = channel.triggered(&users);
    let expected = users.iter().map(|user| Expected {
        rate: channel.rate(user.mcs, guard_interval),
        duration: of_ppdu,
        psdu_bytes: user.psdu_bytes,
        block_ack: true,
    });
    // A Trigger frame of its own is for all, so as robust as the slowest of them needs.
    let slowest = candidates.iter().map(|one| cx.rates.facts(one.rate).response);
    let slowest = slowest.min_by_key(|rate| rate.bitrate());
    let trigger = slowest.filter(|_| acknowledgement == OfdmaAcknowledgement::MuBlockAckRequest);
    let trigger = trigger.map(|rate| {
        let fields = channel.format.trigger_fields(candidates.len() as u32);
        let bytes = sizes::mu_block_ack_request(fields);
        (rate, bytes, cx.rates.ppdu_duration(rate, bytes))
    });
    let before = trigger.map_or(Duration::ZERO, |(.., duration)| sifs + duration);
    Answers {
        expected: expected.collect(),
        triggered: Some(Triggered {
            header,
            duration: of_ppdu,
            guard_interval,
            rate: channel.rate(0, guard_interval),
            trigger,
        }),
        duration: before + sifs + of_ppdu,
    }
}

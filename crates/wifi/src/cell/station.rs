//! State of one station: an EDCAF for each category with its queue, the current frame exchange, and
//! its recipients.

use super::config::StationConfig;
use super::edcaf::{Edcaf, slot_of};
use super::exchange::content::Exchange;
use super::exchange::mu_mimo::Soundings;
use super::exchange::single::Sent;
use super::operating_mode::Modes;
use super::outbox::Outbox;
use super::power::Away;
use super::recipient::RecipientState;
use crate::mac::adaptive_mtu::{AdaptiveMtu, PpduLimits};
use crate::mac::block_ack::Bitmap;
use crate::mac::contention::{ContenderId, Contention};
use crate::mac::mpdu::Mpdu;
use crate::phy::{Band, ChannelWidth, Puncturing, Rate};
use crate::station::{Address, StationId};
use crate::stats::{LinkStats, StationStats};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use lasthop_packet::AccessCategory;
use lasthop_packet::queue::DriverLimit;
use lasthop_units::{Duration, Instant, Probability, Seed};

/// The state of one station of a cell.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Station {
    pub id: StationId,
    pub config: StationConfig,
    /// EDCAFs by access category, then that of beacons; created at their first use.
    pub edcafs: [Option<Box<Edcaf>>; 5],
    /// The exchange that it takes part in.
    pub exchange: Option<Exchange>,
    /// Knowledge of its stations' channels.
    pub soundings: Option<Soundings>,
    /// MPDUs that the next, or current, Block Ack acknowledges: bit n is MPDU n of the exchange
    /// that it answers.
    pub acknowledging: Bitmap,
    /// Bytes of MSDUs that the station held in the category of its last PPDU with data, when that
    /// PPDU began; counted only if an access point solicits uplink PPDUs.
    pub buffered: u64,
    /// Recipients by transmitter * 4 + access category.
    pub recipients: Vec<Option<Box<RecipientState>>>,
    /// Rank in the order of the stations' identities.
    pub rank: u16,
    /// Association identifier; 0 at an access point.
    pub aid: u16,
    pub stats: StationStats,
    /// Counters by [`slot_of`] the peer.
    pub links: Vec<LinkStats>,
    /// Adaptive MTUs by [`slot_of`] the peer; empty unless the MTU is adaptive.
    pub mtus: Vec<Option<Box<AdaptiveMtu>>>,
    /// Packets in all queues and in flight.
    pub held_packets: u32,
    /// Instant of the last change of `held_packets`.
    pub held_since: Instant,
    /// Packets of these below the upper queue; counted only with a driver queue.
    pub driver_packets: u32,
    /// Instant of the last change of `driver_packets`.
    pub driver_since: Instant,
    /// Whether it is a link of a device but the first.
    pub is_further_link: bool,
    /// Whether free space was announced and not polled yet.
    pub space_announced: bool,
    /// Instant before which a PPDU must not have begun for the station to receive it, because it is
    /// or was away.
    pub deaf_until: Instant,
    /// Width of the widest PPDU permitted in its TXOP: the width that was idle at the start.
    pub width_max: ChannelWidth,
    /// Whether the station continues with a part of its channel, by dynamic access.
    pub narrows: bool,
    /// Punctured part of PPDUs of each width, in the order of [`ChannelWidth::ALL_EHT`]; `None`
    /// without punctured channels.
    pub punctured: Option<[Puncturing; 5]>,
    /// Operating modes of the station and its peers, if any were notified.
    pub modes: Option<Box<Modes>>,
    /// State of its background scans or its power save.
    pub away: Option<Box<Away>>,
    /// Instant at which it last sent or received data.
    pub last_data: Instant,
}

impl Station {
    /// A station at rest, alone in its set: with rank 0 and no association identifier.
    pub fn new(id: StationId, config: &StationConfig, seed: Seed) -> Self {
        Self {
            id,
            config: config.clone(),
            edcafs: [const { None }; 5],
            exchange: None,
            soundings: None,
            acknowledging: Bitmap::EMPTY,
            buffered: 0,
            recipients: Vec::new(),
            rank: 0,
            aid: 0,
            stats: StationStats::default(),
            links: Vec::new(),
            mtus: Vec::new(),
            held_packets: 0,
            held_since: Instant::ZERO,
            driver_packets: 0,
            driver_since: Instant::ZERO,
            is_further_link: false,
            space_announced: false,
            deaf_until: Instant::ZERO,
            width_max: ChannelWidth::Mhz320,
            narrows: true,
            punctured: None,
            modes: None,
            away: Away::new(config, seed).map(Box::new),
            last_data: Instant::ZERO,
        }
    }

    /// Punctured part of PPDUs of this width.
    pub fn puncturing(&self, width: ChannelWidth) -> Puncturing {
        let of_width = ChannelWidth::ALL_EHT.iter().zip(self.punctured.iter().flatten());
        of_width.filter(|(known, _)| **known == width).map(|(_, it)| *it).next().unwrap_or_default()
    }

    /// The rate on a channel no wider than `most`.
    pub fn narrowed(&self, rate: Rate, most: ChannelWidth) -> Rate {
        let narrow = rate.narrowed(most);
        if self.punctured.is_none() {
            return narrow;
        }
        narrow.punctured(self.puncturing(narrow.width())).unwrap_or(narrow)
    }

    pub fn link_stats(&mut self, peer: Address) -> &mut LinkStats {
        let slot = slot_of(peer);
        if slot >= self.links.len() {
            self.links.resize_with(slot + 1, LinkStats::default);
        }
        &mut self.links[slot]
    }

    /// The adaptive packet length towards `peer`, if there is one.
    pub fn adaptive_mtu(
        &mut self,
        peer: Address,
        band: Band,
        slot: Duration,
    ) -> Option<&mut AdaptiveMtu> {
        let config = self.config.adaptive_mtu?;
        let index = slot_of(peer);
        if index >= self.mtus.len() {
            self.mtus.resize_with(index + 1, || None);
        }
        let station = &self.config;
        Some(self.mtus[index].get_or_insert_with(|| {
            let aggregation = station.aggregation;
            let access = station.access[AccessCategory::BestEffort.index()];
            let limits = PpduLimits {
                band,
                mpdu_overhead: station.capabilities.mpdu_overhead(),
                ampdu_mpdu_bytes_max: station.capabilities.ampdu_mpdu_bytes_max,
                ampdu_bytes_max: aggregation.ampdu_bytes_max,
                ampdu_duration_max: match access.txop_limit {
                    Duration::ZERO => aggregation.ampdu_duration_max,
                    limit => aggregation.ampdu_duration_max.min(limit),
                },
                ampdu_frames_max: aggregation.ampdu_frames_max.min(station.block_ack.window),
                slot,
                cw_min: access.cw_min,
                cw_max: access.cw_max,
                retry_limit: station.retry_limit,
            };
            Box::new(AdaptiveMtu::new(config, limits))
        }))
    }

    /// Reports the outcome of an originator's first MPDUs to the adaptive MTU, before they are
    /// settled; bit n of `acked` is MPDU n.
    pub fn report_lengths(
        &mut self,
        now: Instant,
        band: Band,
        slot: Duration,
        sent: &Sent,
        originator: usize,
        acked: &Bitmap,
    ) {
        let Some(access) = self.edcafs[sent.edcaf].take() else { return };
        if let Some(mtu) = self.adaptive_mtu(sent.peer, band, slot) {
            let pending = access.originators[originator].pending.iter();
            let mpdus = pending.take(sent.mpdus).enumerate();
            let mpdus = mpdus.map(|(n, mpdu)| (u32::from(mpdu.bytes), acked.contains(n)));
            let elapsed = now - access.contends_since;
            mtu.handle_exchange(now, sent.rate, elapsed, sent.duration, mpdus);
        }
        self.edcafs[sent.edcaf] = Some(access);
    }

    /// The MPDUs that the station keeps for `peer` in an EDCAF.
    pub fn pending(&self, edcaf: usize, peer: Address) -> Option<&VecDeque<Mpdu>> {
        let access = self.edcafs[edcaf].as_ref()?;
        Some(&access.originators[access.originator(peer)?].pending)
    }

    /// Whether it hears nothing, because it is off its channel or dozes.
    pub fn is_off_channel(&self) -> bool {
        self.deaf_until == Instant::MAX && !self.is_listening()
    }

    fn is_listening(&self) -> bool {
        self.away.as_deref().is_some_and(|away| away.listening().is_some())
    }

    /// Whether a Block Ack agreement with `peer` is in force.
    pub fn has_agreement(&self, edcaf: usize, peer: Address) -> bool {
        let access = self.edcafs[edcaf].as_ref();
        let originator = access.and_then(|a| Some(&a.originators[a.originator(peer)?]));
        originator.is_some_and(|one| one.agreement.window().is_some())
    }

    /// Records whether the frame of its exchange overlapped with another PPDU at the receiver.
    pub fn note_collision(&mut self, collided: bool) {
        if let Some(frame) = self.exchange.as_mut().and_then(Exchange::frame) {
            frame.collided = collided;
        }
    }

    pub fn recipient(&mut self, transmitter: StationId, category: usize) -> &mut RecipientState {
        let key = transmitter.index() * 4 + category;
        if key >= self.recipients.len() {
            self.recipients.resize_with(key + 1, || None);
        }
        self.recipients[key].get_or_insert_default()
    }

    /// Lets an EDCAF contend if it has work and does not contend yet; returns whether it began to.
    pub fn arm(&mut self, contention: &mut Contention, now: Instant, edcaf: usize) -> bool {
        let Self { edcafs, exchange, .. } = self;
        let Some(access) = &mut edcafs[edcaf] else { return false };
        if contention.is_armed(access.contender)
            || exchange.as_ref().is_some_and(|exchange| exchange.edcaf() == edcaf)
            || now < access.rests_until
            || !access.has_work()
        {
            return false;
        }
        access.contends_since = now;
        if !contention.arm(access.contender, now) {
            contention.set_backoff(access.contender, access.backoff.draw());
        }
        true
    }

    /// The EDCAF of a contender.
    pub fn edcaf_of(&self, contender: ContenderId) -> usize {
        let is_its = |access: &Option<Box<Edcaf>>| {
            access.as_ref().is_some_and(|access| access.contender == contender)
        };
        self.edcafs.iter().position(is_its).expect("a contender is an EDCAF of its station")
    }

    /// Announces that the station holds fewer packets than at the last poll.
    pub fn announce_space(&mut self, outbox: &mut Outbox) {
        if !self.space_announced {
            self.space_announced = true;
            outbox.space.push_back(self.id);
        }
    }

    /// Counts the part up to `now` of an absence in progress.
    pub fn count_absence(&mut self, now: Instant) {
        if let Some(left) = self.away.as_mut().and_then(|away| away.left.as_mut()) {
            self.stats.away += now - core::mem::replace(left, now);
        }
    }

    /// Changes the number of held packets at `now` by `more` less `fewer`.
    #[inline]
    pub fn hold(&mut self, now: Instant, more: u32, fewer: u32) {
        let since = core::mem::replace(&mut self.held_since, now);
        self.stats.queue_packets.add(self.held_packets, (now - since).as_nanos());
        debug_assert!(
            self.is_further_link || self.held_packets + more >= fewer,
            "more packets leave than there are"
        );
        // The packets of a further link are those of its device, which it settles afterwards.
        self.held_packets = self.held_packets.wrapping_add(more).wrapping_sub(fewer);
        if self.config.driver_queue != DriverLimit::None {
            self.count_driver(now);
        }
    }

    /// Counts the packets below the upper queue until `now`. Packets for a dozing station returned
    /// above it, as filtered frames in mac80211 do.
    #[cold]
    pub fn count_driver(&mut self, now: Instant) {
        let below = |edcaf: &Edcaf| {
            let packets = edcaf.driver.len_packets() + edcaf.held.packets;
            packets.saturating_sub(edcaf.filtered_packets())
        };
        let packets = self.edcafs.iter().flatten().map(|edcaf| below(edcaf)).sum();
        let since = core::mem::replace(&mut self.driver_since, now);
        self.stats.driver_packets.add(self.driver_packets, (now - since).as_nanos());
        self.driver_packets = packets;
    }

    /// Whether it saves power with service periods.
    pub fn has_service_periods(&self) -> bool {
        self.config.service_periods.is_some()
    }

    /// Whether it dozes between its frames and sends them in power save mode, with the Power
    /// Management bit set.
    pub fn sends_in_power_save(&self) -> bool {
        self.away.as_deref().is_some_and(Away::sends_in_power_save)
    }

    /// Whether its data have the Power Management bit set.
    pub fn is_in_power_save(&self) -> bool {
        self.has_service_periods() || self.sends_in_power_save()
    }

    /// Whether a beacon announces frames that an EDCAF of the access point holds for it (11.2.3.6):
    /// unless all categories are delivery-enabled, only frames of the others.
    pub fn is_announced(&self, edcaf: usize) -> bool {
        let config = self.config.service_periods;
        config.is_none_or(|config| config.delivers_all() || !config.delivers(edcaf))
    }

    /// Whether its PS-Poll releases frames of an EDCAF of the access point.
    pub fn is_polled(&self, edcaf: usize) -> bool {
        self.config.service_periods.is_none_or(|config| !config.delivers(edcaf))
    }

    /// Attempts after which it gives up a Null frame.
    pub fn null_attempts_max(&self) -> u8 {
        self.away.as_deref().map_or(self.config.retry_limit, |away| away.null.attempts)
    }

    /// Probability that its access point ignores a Null that it has decoded.
    pub fn null_loss(&self, power_management: bool) -> Probability {
        self.away.as_deref().map_or(Probability::ZERO, |away| {
            if power_management { away.null.leave_loss } else { away.null.return_loss }
        })
    }
}

//! One station's state: an EDCAF for each category with its queue,
//! the frame exchange it is in, and what it has received.

use super::absence::Away;
use super::config::StationConfig;
use super::content::Exchange;
use super::edcaf::{Edcaf, slot_of};
use super::mu_mimo::{Sounding, Soundings};
use super::multi_user::MultiUser;
use super::operating_mode::Modes;
use super::outbox::Outbox;
use super::recipient::RecipientState;
use super::uplink::{Answer, Uplink};
use crate::mac::adaptive_mtu::{AdaptiveMtu, PpduLimits};
use crate::mac::block_ack::Bitmap;
use crate::phy::{Band, ChannelWidth};
use crate::station::{Address, StationId};
use crate::stats::{LinkStats, StationStats};
use alloc::boxed::Box;
use alloc::vec::Vec;
use lasthop_packet::AccessCategory;
use lasthop_packet::queue::DriverLimit;
use lasthop_units::{Duration, Instant};

/// Beacons contend as a fifth EDCAF, ahead of all categories.
pub(super) const BEACON_EDCAF: usize = 4;

/// The state of one station of a cell.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Station {
    pub id: StationId,
    pub config: StationConfig,
    /// By access category, then beacons; made when first used.
    pub edcafs: [Option<Box<Edcaf>>; 5],
    pub exchange: Option<Exchange>,
    /// What `exchange` belongs to, if it is with several stations.
    pub multi_user: Option<Box<MultiUser>>,
    /// An access point's sounding exchange, which `exchange` belongs to.
    pub sounding: Option<Box<Sounding>>,
    /// What it knows of its stations' channels.
    pub soundings: Option<Soundings>,
    /// An access point's uplink exchange, which `exchange` belongs to.
    pub uplink: Option<Box<Uplink>>,
    /// How it answers a Trigger frame; with what, `exchange` says.
    pub answer: Option<Box<Answer>>,
    /// What its next Block Ack acknowledges, or the one that it is sending: bit n is MPDU n of
    /// the exchange it answers.
    pub acknowledging: Bitmap,
    /// Bytes of MSDUs that it held in the category of its last PPDU with data when that began:
    /// counted only where an access point solicits uplink PPDUs.
    pub buffered: u64,
    /// By transmitter * 4 + access category.
    pub recipients: Vec<Option<Box<RecipientState>>>,
    /// Its rank in the order of the stations' identities.
    pub rank: u16,
    /// Its association identifier; 0 at an access point.
    pub aid: u16,
    pub stats: StationStats,
    /// By [`slot_of`] the peer.
    pub links: Vec<LinkStats>,
    /// By [`slot_of`] the peer; empty unless the MTU is adaptive.
    pub mtus: Vec<Option<Box<AdaptiveMtu>>>,
    /// Packets in all queues and in flight.
    pub held_packets: u32,
    /// When `held_packets` last changed.
    pub held_since: Instant,
    /// Of these, packets below the upper queue; counted only where there is a driver queue.
    pub driver_packets: u32,
    /// When `driver_packets` last changed.
    pub driver_since: Instant,
    /// Whether room was announced and not yet polled.
    pub room_announced: bool,
    /// It receives no PPDU that began before this instant, because it is or was away.
    pub deaf_until: Instant,
    /// The widest PPDU that its TXOP may have: what was idle when that began.
    pub width_max: ChannelWidth,
    /// It goes on with a part of its channel, by dynamic access.
    pub narrows: bool,
    /// How it operates and how others do, if any of them ever said so.
    pub modes: Option<Box<Modes>>,
    /// Its background scans, or its power save.
    pub away: Option<Box<Away>>,
    /// When it last sent or received data.
    pub last_data: Instant,
}

impl Station {
    pub fn link_stats(&mut self, peer: Address) -> &mut LinkStats {
        let slot = slot_of(peer);
        if slot >= self.links.len() {
            self.links.resize_with(slot + 1, LinkStats::default);
        }
        &mut self.links[slot]
    }

    /// The packet length towards `peer`, if it is adaptive.
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
                qos: station.capabilities.qos,
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

    /// Tells the adaptive MTU what became of the first `mpdus` of an originator,
    /// before they are settled; bit n of `acked` is MPDU n.
    pub fn report_lengths(
        &mut self,
        now: Instant,
        (band, slot): (Band, Duration),
        exchange: &Exchange,
        originator: usize,
        (mpdus, acked): (usize, &Bitmap),
    ) {
        let Some(access) = self.edcafs[exchange.edcaf].take() else { return };
        if let Some(mtu) = self.adaptive_mtu(exchange.peer, band, slot) {
            let sent = access.originators[originator].pending.iter().take(mpdus).enumerate();
            let mpdus = sent.map(|(n, mpdu)| (u32::from(mpdu.bytes), acked.contains(n)));
            let elapsed = now - access.contends_since;
            mtu.handle_exchange(now, exchange.rate, elapsed, exchange.duration, mpdus);
        }
        self.edcafs[exchange.edcaf] = Some(access);
    }

    pub fn recipient(&mut self, transmitter: StationId, category: usize) -> &mut RecipientState {
        let key = transmitter.index() * 4 + category;
        if key >= self.recipients.len() {
            self.recipients.resize_with(key + 1, || None);
        }
        self.recipients[key].get_or_insert_default()
    }

    /// It holds fewer packets than when its room was polled last.
    pub fn announce_room(&mut self, outbox: &mut Outbox) {
        if !self.room_announced {
            self.room_announced = true;
            outbox.room.push_back(self.id);
        }
    }

    /// Counts an absence that is not over until `now`.
    pub fn count_absence(&mut self, now: Instant) {
        if let Some(left) = self.away.as_mut().and_then(|away| away.left.as_mut()) {
            self.stats.away += now - core::mem::replace(left, now);
        }
    }

    /// The number of packets held changes at `now` by `more` less `fewer`.
    #[inline]
    pub fn hold(&mut self, now: Instant, more: u32, fewer: u32) {
        let since = core::mem::replace(&mut self.held_since, now);
        self.stats.queue_packets.add(self.held_packets, (now - since).as_nanos());
        self.held_packets = self.held_packets + more - fewer;
        if self.config.driver_queue != DriverLimit::None {
            self.count_driver(now);
        }
    }

    /// Counts the packets below the upper queue until `now`. Those for a station that dozes went
    /// back above it, as mac80211 does with filtered frames.
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
}

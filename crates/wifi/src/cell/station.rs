//! One station's state: an EDCAF for each category with its queue,
//! the frame exchange it is in, and what it has received.

use super::away::Away;
use super::config::StationConfig;
use crate::mac::adaptive_mtu::{AdaptiveMtu, PpduLimits};
use crate::mac::block_ack::{Bitmap, Recipient};
use crate::mac::contention::ContenderId;
use crate::mac::mpdu::Mpdu;
use crate::mac::originator::{Agreement, Originator};
use crate::mac::retry_out::{Decision, PseudoRetryOut};
use crate::phy::{Band, Rate};
use crate::station::{Address, StationId};
use crate::stats::{LinkStats, StationStats};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use lasthop_packet::AccessCategory;
use lasthop_packet::queue::{DriverQueue, Held, Queue};
use lasthop_units::{Duration, Instant, SeqNo12, Stream};

/// Beacons contend as a fifth EDCAF, ahead of all categories.
pub(super) const BEACON_EDCAF: usize = 4;

/// A station.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Station {
    pub id: StationId,
    pub config: StationConfig,
    /// By access category, then beacons; made when first used.
    pub edcafs: [Option<Box<Edcaf>>; 5],
    pub exchange: Option<Exchange>,
    /// By transmitter * 4 + access category.
    pub inboxes: Vec<Option<Box<Inbox>>>,
    /// Its place among all in an order of their identities.
    pub rank: u16,
    pub stats: StationStats,
    /// By [`slot_of`] the peer.
    pub links: Vec<LinkStats>,
    /// By [`slot_of`] the peer; empty unless the MTU is adaptive.
    pub mtus: Vec<Option<Box<AdaptiveMtu>>>,
    /// Packets in all queues and in flight.
    pub held_packets: u32,
    /// When `held_packets` last changed.
    pub held_since: Instant,
    /// Room was announced and not yet polled.
    pub room_announced: bool,
    /// Nothing that began before reaches it: it is, or was, away.
    pub deaf_until: Instant,
    /// Its background scans, or its power save.
    pub away: Option<Box<Away>>,
    /// When it last sent or received data.
    pub last_data: Instant,
}

/// An EDCA function (EDCAF; IEEE 802.11-2020, 10.2.3.2): queue, originators, contention window.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Edcaf {
    pub contender: ContenderId,
    pub queue: Queue,
    pub driver: DriverQueue,
    pub originators: Vec<Originator>,
    /// Index into `originators` by [`slot_of`] the peer.
    pub index: Vec<Option<u16>>,
    pub management: VecDeque<Management>,
    pub contention_window: u16,
    pub backoff: Stream,
    /// Exchanges in a row that failed (QSRC).
    pub failures: u8,
    /// Since when it contends for the next exchange.
    pub contends_since: Instant,
    pub last_served: Option<Address>,
    /// Packets in the originators' hands.
    pub held: Held,
    /// When the packet that was taken last left the upper queue.
    pub dequeued: Instant,
    /// What may be sent.
    pub gate: Gate,
    /// Whom it passes over.
    pub absent: Absent,
}

/// The stations that cannot be reached, in an EDCAF of the access point.
#[derive(Clone, Debug, PartialEq, Default)]
pub(super) struct Absent {
    pub dozing: Vec<StationId>,
    /// Those of them that asked for one frame, and when it was let out.
    pub released: Vec<(StationId, Instant)>,
    /// Group frames that may go out behind the last DTIM.
    pub group_left: u32,
    /// When group frames were let out last.
    pub group_opened: Option<Instant>,
}

impl Absent {
    /// What there is for `peer` must wait: it cannot be reached, or the group is
    /// not complete.
    #[inline]
    pub fn holds(&self, peer: Address) -> bool {
        !self.dozing.is_empty()
            && match peer {
                Address::Group => self.group_left == 0,
                Address::Station(station) => {
                    self.dozing.contains(&station) && !self.is_released(station)
                }
            }
    }

    /// A data frame was sent to `peer`; `done`: it need not be sent again.
    pub fn exchanged(&mut self, peer: Address, done: bool) {
        match peer {
            Address::Group => self.group_left = self.group_left.saturating_sub(1),
            Address::Station(station) if done => {
                self.released.retain(|(other, _)| *other != station)
            }
            Address::Station(_) => {}
        }
    }

    /// `station` asked for a frame and has not got it yet.
    pub fn is_released(&self, station: StationId) -> bool {
        self.released.iter().any(|(released, _)| *released == station)
    }

    /// When a frame for `peer` was let out although it, or somebody, dozes.
    pub fn released_at(&self, peer: Address) -> Option<Instant> {
        match peer {
            Address::Group => self.group_opened,
            Address::Station(station) => {
                let released = self.released.iter().find(|(released, _)| *released == station);
                released.map(|(_, at)| *at)
            }
        }
    }

    /// `peer` cannot be reached, unless it asked for a frame.
    pub fn is_dozing(&self, peer: Address) -> bool {
        matches!(peer, Address::Station(station) if self.dozing.contains(&station))
    }
}

/// What an EDCAF may send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(super) enum Gate {
    /// Everything.
    #[default]
    Open,
    /// What lies below the upper queue.
    Draining,
    /// Null frames and the like.
    Shut,
}

/// A management frame that waits to be sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Management {
    pub peer: StationId,
    pub action: Action,
    pub attempts: u8,
    pub sequence: SeqNo12,
}

/// What such a frame is: a Block Ack action, a probe, and, although they are
/// data and control frames by their type, Null and PS-Poll.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Action {
    AddbaRequest { window: u16, start: SeqNo12 },
    AddbaResponse { window: u16 },
    Null { power_management: bool },
    PsPoll,
    ProbeRequest,
    ProbeResponse,
}

impl Action {
    /// Sent whatever the gate, and to stations that doze, too.
    pub fn is_about_absence(self) -> bool {
        !matches!(self, Self::AddbaRequest { .. } | Self::AddbaResponse { .. })
    }
}

/// A frame exchange in progress.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Exchange {
    pub edcaf: usize,
    pub peer: Address,
    pub content: Content,
    pub rate: Rate,
    pub psdu_bytes: u32,
    /// Air time of the payload PPDU.
    pub duration: Duration,
    pub response: Option<Expected>,
    /// RTS was sent, CTS is awaited.
    pub requesting: bool,
    /// End of the transmission opportunity; its start if one exchange is all.
    pub opportunity_end: Instant,
    /// The payload overlapped with another PPDU at its receiver.
    pub collided: bool,
}

/// The response an exchange ends with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Expected {
    pub rate: Rate,
    pub duration: Duration,
    pub psdu_bytes: u32,
    /// A Block Ack, not an Ack.
    pub block_ack: bool,
}

/// What an exchange is about.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Content {
    /// The first `mpdus` of the originator's pending ones.
    Data {
        mpdus: usize,
        aggregated: bool,
    },
    BlockAckRequest {
        start: SeqNo12,
    },
    Management(Management),
    Beacon,
}

/// What a station received from one transmitter in one category.
#[derive(Clone, Debug, PartialEq, Default)]
pub(super) struct Inbox {
    /// Under a Block Ack agreement.
    pub recipient: Option<Recipient>,
    /// Gives MPDUs of that agreement up early.
    pub retry_out: Option<PseudoRetryOut>,
    /// Last sequence number outside of one, to tell duplicates.
    pub last: Option<SeqNo12>,
}

/// Peers as small indices: the group is 0, station n is n + 1.
pub(super) fn slot_of(peer: Address) -> usize {
    match peer {
        Address::Group => 0,
        Address::Station(station) => station.index() + 1,
    }
}

/// The originator towards `peer`, of those that a [`Edcaf`] has and their index.
pub(super) fn originator_of<'a>(
    originators: &'a [Originator],
    index: &[Option<u16>],
    peer: Address,
) -> Option<&'a Originator> {
    let index = index.get(slot_of(peer)).copied().flatten()?;
    originators.get(usize::from(index))
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

    pub fn inbox(&mut self, transmitter: StationId, category: usize) -> &mut Inbox {
        let key = transmitter.index() * 4 + category;
        if key >= self.inboxes.len() {
            self.inboxes.resize_with(key + 1, || None);
        }
        self.inboxes[key].get_or_insert_default()
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
    }
}

impl Inbox {
    /// What pseudo retry-out says to an MPDU that came in under a Block Ack
    /// agreement; nothing without either. The sender's word on its content
    /// stands for what the driver reads in an erroneous frame.
    pub fn decide(
        &mut self,
        mpdu: &Mpdu,
        is_decoded: bool,
        agreed: bool,
        rate: Rate,
    ) -> Option<Decision> {
        let (retry_out, recipient) = (self.retry_out.as_mut()?, self.recipient.as_ref()?);
        if !agreed {
            return None;
        }
        let (head, kbps) = (recipient.head(), rate.kbps());
        Some(match is_decoded {
            true => retry_out.received(mpdu.sequence, head, kbps),
            false => retry_out.errored(mpdu.sequence, head, kbps, mpdu.carries_tcp()),
        })
    }
}

impl Edcaf {
    pub fn new(
        contender: ContenderId,
        config: &StationConfig,
        mut perturbation: Stream,
        backoff: Stream,
        cw: u16,
    ) -> Self {
        Self {
            contender,
            queue: Queue::new(&config.queue, perturbation.next_u64() as u32),
            driver: DriverQueue::new(config.driver_queue),
            originators: Vec::new(),
            index: Vec::new(),
            management: VecDeque::new(),
            contention_window: cw,
            backoff,
            failures: 0,
            contends_since: Instant::ZERO,
            last_served: None,
            held: Held::NONE,
            dequeued: Instant::ZERO,
            gate: Gate::Open,
            absent: Absent::default(),
        }
    }

    /// Index of the originator towards `peer`, if there is one.
    pub fn originator(&self, peer: Address) -> Option<usize> {
        self.index.get(slot_of(peer)).copied().flatten().map(usize::from)
    }

    /// Index of a new originator.
    pub fn add_originator(&mut self, originator: Originator) -> usize {
        let slot = slot_of(originator.peer);
        if slot >= self.index.len() {
            self.index.resize(slot + 1, None);
        }
        let new = self.originators.len();
        self.index[slot] = Some(new as u16);
        self.originators.push(originator);
        new
    }

    /// What takes up room in the queue from below it: without a driver queue,
    /// packets in flight.
    pub fn held_below(&self) -> Held {
        if self.driver.is_used() { Held::NONE } else { self.held }
    }

    /// Data may be sent to `peer` now: it can be reached, no ADDBA is in progress
    /// and the window has room.
    pub fn may_send(&self, peer: Address) -> bool {
        !self.absent.holds(peer)
            && self.originator(peer).is_none_or(|index| {
                let originator = &self.originators[index];
                originator.agreement != Agreement::Requested && originator.has_window()
            })
    }
}

//! A session of two ends: its sender and receiver, the state of the hop (`hop`), the times of
//! acknowledgements, and the pulses that ends exchange. Times are instants and durations, lengths
//! in bytes, losses 0 to 1. Leaves out the beginning (`handshake`) and the end (`end`) of sessions.

mod pulses;

use super::super::addresses::Way;
use super::super::helper::is_worth;
use super::super::{Shared, Transmit};
use super::link::{self, Link, LinkConfig, PULSE_INTERVAL};
use super::packer::Packer;
use crate::backlog::Backlog;
use crate::config::{Config, Losses, Mode, PaperRules, Reading, Role};
use crate::keys::{Pair, PulseSeal, Seal, SessionKeys, Tagger};
use crate::order::Order;
use crate::paper::{self, AckRule, Encoder, PaperParameters};
use crate::path_mtu::PathMtu;
use crate::path_state::{Cargo, Ear, Hearing, LossEstimate};
use crate::receiver::{Receiver, Verdict};
use crate::sender::{COPIES_MAX, Outlook, Sender};
use crate::stats::Stats;
use crate::symbol;
use crate::wire::{self, Ack, Body, Header, LinkReport, NodeId};
use alloc::boxed::Box;
use alloc::vec::Vec;
use lasthop_rlnc::Code;
use lasthop_units::{Duration, Instant, Machine, Probability};
use pulses::Pulses;

/// Losses for the paper's budgets before any are known.
const LOSSES_FIRST: Losses =
    Losses { e1: Probability::ZERO, e2: Probability::ZERO, e3: Probability::ZERO };

/// Minimum number of blocks for which packets wait for their order: many short
/// packets of a few blocks take more memory than their bytes.
const ORDERED_MIN: u8 = 32;

/// Shortest and longest time after which a silent peer is gone, depending on losses
/// and round-trip time.
const SILENCE_MAX: [Duration; 2] = [Duration::from_secs(6), Duration::from_secs(15)];
/// Number of round trips for which it may be silent, and the probability with which
/// all its pulses may be lost by chance.
const SILENCE_ROUND_TRIPS: u64 = 8;
const SILENCE_BY_CHANCE: f64 = 1e-4;
/// The same in the paper's mode, which has no sessions and acknowledges rarely: at
/// a loss of 90 % one datagram arrives every few seconds.
const SILENCE_MAX_OF_PAPER: Duration = Duration::from_secs(30);
/// Time after the last symbol for which packets that fill less than half a symbol
/// wait for others to share one: otherwise a stream of TCP's acknowledgements would
/// use the airtime of full datagrams.
const GATHER: Duration = Duration::from_millis(5);
/// Factor of that time during a test of whose queue it is, in which the rate is
/// reduced.
const TEST_PATIENCE: u64 = 4;
/// Shortest interval of a stream's acknowledgements; half of it if they report a
/// loss.
const ACK_INTERVAL: Duration = Duration::from_millis(8);
/// The same while packets wait for airtime.
const ACK_INTERVAL_SATURATED: Duration = Duration::from_millis(10);
/// If symbols are sent occasionally, an acknowledgement waits for one of them for
/// this fraction of the interval: a datagram costs more than the bytes in it.
const ACK_PATIENCE_SHARE: u64 = 4;
/// Shortest interval of acknowledgements that share a datagram with a symbol.
const ACK_INTERVAL_BESIDE: Duration = Duration::from_millis(1);
/// Interval of reports in addition to the paper's acknowledgements, to measure
/// losses.
const REPORT_INTERVAL: Duration = Duration::from_millis(50);
/// A symbol of a sparse flow is sent several times at once, so that at most this
/// share of them waits for a timeout, but at most [`COPIES_MAX`] times.
const SPARSE_LOSS: f64 = 0.01;
/// Time after which a silent helper is gone.
const HELPER_SILENCE_MAX: Duration = Duration::from_millis(500);
/// Largest number of helpers on a hop.
const HELPERS_MAX: usize = 2;

/// The state of a session.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Session {
    pub(super) id: u16,
    pub(super) code: Code,
    pub(super) tagger: Tagger,
    pub(super) pair: Pair,
    pulses: Pulses,
    pub(super) outgoing: Outgoing,
    pub(super) packer: Packer,
    pub(super) receiver: Receiver,
    pub(super) opener: Seal,
    pub(super) order: Order,
    /// The links to the neighbour, one or two.
    pub(super) links: Vec<Link>,
    /// Length of the longest datagram for which symbols were made.
    longest_sent: u16,
    /// The place of the newest acknowledgement in the order of those of two links
    /// ([`Session::order_of`]).
    ack_time: u64,
    pub(super) helpers: Vec<HeardHelper>,
    pub(super) acknowledge: Acknowledge,
    /// Identifies this end's memory of blocks.
    pub(super) state: u16,
    /// Time at which something last arrived that only the other end could send; initially the
    /// start.
    pub(super) heard_at: Instant,
    /// Whether packets were waiting when the last one was sent.
    pub(super) is_saturated: bool,
    /// Time at which the last symbol was packed, and until when a few packets wait to share the
    /// next one.
    packed_at: Instant,
    pub(super) held_until: Option<Instant>,
    /// There was nothing to send; that may change at this instant, or with the next
    /// event.
    pub(super) idle_until: Option<Instant>,
}

/// A helper on our side of the hop.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct HeardHelper {
    pub(super) id: NodeId,
    pub(super) ear: Ear,
    /// Losses from us to it, as it reports, and from it to the neighbour, as that
    /// reports.
    pub(super) loss: LossEstimate,
    pub(super) loss_there: LossEstimate,
    pub(super) heard_at: Instant,
}

impl HeardHelper {
    /// The losses of the three links, if the hop itself loses `e3`.
    fn losses(&self, e3: f64) -> Losses {
        let loss = |p| Probability::new(p).expect("estimates are between 0 and 1");
        Losses {
            e1: loss(self.loss.known().unwrap_or(1.0)),
            e2: loss(self.loss_there.probability()),
            e3: loss(e3),
        }
    }
}

/// The sender of the session's mode.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Outgoing {
    Stream(Box<Sender>),
    Paper(Box<Encoder>),
}

/// The rule by which acknowledgements are sent.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Acknowledge {
    /// Soon, at a limited rate.
    Stream { due: Option<Instant>, last: Instant },
    /// By the paper's rule.
    Paper { rule: AckRule, due: bool, next: Instant },
}

/// The other end of a session.
#[derive(Clone, Copy, Debug)]
pub(super) struct OtherEnd {
    pub(super) peer: NodeId,
    /// Number of helpers on our hop.
    pub(super) helpers: u8,
    /// Most blocks of the other end in flight.
    pub(super) blocks_max: u8,
}

impl Session {
    /// A session with `other` that begins at `now`.
    pub(super) fn new(
        shared: &mut Shared,
        code: Code,
        other: OtherEnd,
        pair: Pair,
        keys: &SessionKeys,
        now: Instant,
    ) -> Self {
        let OtherEnd { peer, helpers, blocks_max } = other;
        let (id, tagger) = shared.secrets.session(&pair);
        let stream = shared.fork();
        let config: &Config = &shared.config;
        let (outgoing, pace, acknowledge) = match config.mode {
            Mode::Stream { blocks_max, pace } => {
                let sender = Sender::new(code, blocks_max, false);
                let acknowledge = Acknowledge::Stream { due: None, last: Instant::ZERO };
                (Outgoing::Stream(Box::new(sender)), pace, acknowledge)
            }
            Mode::Paper { overshoot, systematic, rules } => {
                let parameters = PaperParameters {
                    losses: config.losses.unwrap_or(LOSSES_FIRST),
                    helpers,
                    overshoot,
                    margin: None,
                    timeout: config.encoder_timeout,
                    systematic,
                    timeout_packets: rules.timeout_packets,
                    spend: rules.spend,
                    wait: rules.wait,
                };
                let encoder = Encoder::new(code, &parameters, stream);
                let rule = AckRule::new(rules.acknowledge);
                let acknowledge = Acknowledge::Paper { rule, due: false, next: now };
                (Outgoing::Paper(Box::new(encoder)), None, acknowledge)
            }
        };
        let me = config.id;
        let is_direct = matches!(config.role, Role::End { peer, via, .. } if peer == via);
        let is_searched = is_direct && matches!(config.mode, Mode::Stream { .. });
        let link_config = LinkConfig {
            pace,
            encoder_timeout: config.encoder_timeout,
            datagram_bytes_max: is_searched.then_some(config.datagram_bytes_max),
        };
        let link = |at| {
            let [ours, theirs] = [me, peer].map(|end| PulseSeal::new(keys.pulses(end), at));
            Link::new(&link_config, ours, theirs, now)
        };
        let links = (0..config.links).map(link).collect();
        let block_bytes = code.symbols() * code.symbol_bytes();
        let ordered_bytes = block_bytes.saturating_mul(usize::from(blocks_max.max(ORDERED_MIN)));
        Self {
            id,
            code,
            tagger,
            pair,
            pulses: Pulses {
                last_at: Instant::ZERO,
                next_at: now,
                began: now,
                taken: 0,
                arrived: 0,
                received: 0,
                progress_at: now,
                since: 0,
            },
            outgoing,
            packer: Packer::new(
                Seal::new(keys.symbols(me), config.rekey_blocks),
                matches!(config.mode, Mode::Stream { .. }),
            ),
            receiver: Receiver::new(code, usize::from(blocks_max.max(1)), false),
            opener: Seal::new(keys.symbols(peer), config.rekey_blocks),
            order: Order::new(ordered_bytes),
            links,
            longest_sent: 0,
            // Times before the first one are possible.
            ack_time: 1 << u32::BITS,
            helpers: Vec::new(),
            acknowledge,
            state: shared.stream.next_u64() as u16,
            heard_at: now,
            is_saturated: false,
            packed_at: Instant::ZERO,
            held_until: None,
            idle_until: None,
        }
    }

    pub(super) fn header(&self, shared: &Shared, to: NodeId, at: usize) -> Header {
        let number = self.number(at);
        Header { sender: shared.config.id, to, session: self.id, number }
    }

    /// Number of links.
    fn links_count(&self) -> u8 {
        self.links.len() as u8
    }

    /// Number of the next datagram on the link `at`.
    fn number(&self, at: usize) -> u32 {
        wire::number_on(self.links_count(), at as u8, self.links[at].path.number())
    }

    /// Takes a number of a helper. If there are too many helpers, a new one
    /// replaces one that was silent.
    pub(super) fn hear_helper(&mut self, now: Instant, header: &Header) -> Hearing {
        let at = self.helpers.iter().position(|helper| helper.id == header.sender);
        let at = at.unwrap_or_else(|| {
            self.helpers.retain(|helper| now < helper.heard_at + HELPER_SILENCE_MAX);
            let (id, ear, heard_at) = (header.sender, Ear::default(), now);
            let (loss, loss_there) = (LossEstimate::default(), LossEstimate::default());
            self.helpers.push(HeardHelper { id, ear, loss, loss_there, heard_at });
            self.helpers.len() - 1
        });
        if at >= HELPERS_MAX {
            self.helpers.truncate(HELPERS_MAX);
            return Hearing::Before;
        }
        let helper = &mut self.helpers[at];
        helper.heard_at = now;
        // Losses between a helper and this node are not retransmitted.
        if helper.ear.take(now, header.number) { Hearing::New } else { Hearing::Before }
    }

    /// The highest number received from a neighbour on our hop.
    pub(super) fn highest_of(&self, way: Way, via: NodeId) -> u32 {
        let helper = self.helpers.iter().find(|helper| helper.id == way.neighbour);
        match helper {
            Some(helper) => helper.ear.highest(),
            None if way.neighbour == via => self.links[usize::from(way.link)].path.highest(),
            None => 0,
        }
    }

    /// Handles a combination. Returns whether it yielded a symbol that the other end
    /// sealed.
    pub(super) fn handle_enc(
        &mut self,
        shared: &mut Shared,
        now: Instant,
        enc: &wire::Enc<'_>,
    ) -> bool {
        let (opener, order, stats) = (&mut self.opener, &mut self.order, &mut shared.stats);
        let mut open = Vec::new();
        let mut is_sealed = false;
        let mut known = |block: u32, index: u16, symbol: &[u8]| {
            let sealed = symbol::unframe(symbol);
            open.clear();
            open.extend(sealed.unwrap_or_default());
            let Some(length) = opener.open(block, index, &mut open) else {
                stats.corrupt += 1;
                return false;
            };
            is_sealed = true;
            for record in symbol::records(&open[..length]) {
                match record {
                    Some((bucket, number, packet)) => {
                        order.push((block, index), bucket, number, packet);
                    }
                    None => stats.corrupt += 1,
                }
            }
            true
        };
        let verdict = self.receiver.handle_enc(enc, &mut known);
        if let Outgoing::Paper(encoder) = &mut self.outgoing {
            encoder.handle_arrival(now);
        }
        order.settle(self.receiver.frontier());
        stats.corrupt += core::mem::take(&mut order.corrupt);
        self.opener.forget_below(self.receiver.done());
        match verdict {
            Verdict::Innovative => stats.innovative += 1,
            Verdict::Redundant => stats.redundant += 1,
            Verdict::Stale => stats.stale += 1,
            Verdict::Refused => stats.malformed += 1,
            Verdict::Polluted => {}
        }
        if is_sealed {
            self.heard_at = now;
        }
        match &mut self.acknowledge {
            Acknowledge::Stream { .. } => self.acknowledge_soon(now),
            Acknowledge::Paper { rule, due, next } => {
                // If losses are not configured, they are measured from acknowledgements.
                if shared.config.losses.is_none() && now >= *next {
                    *next = now + REPORT_INTERVAL;
                    *due = true;
                }
                let (rank, known) = self.receiver.progress(enc.block);
                let arrival = match verdict {
                    Verdict::Innovative if enc.block < self.receiver.done() => paper::Arrival::Last,
                    Verdict::Innovative => paper::Arrival::Innovative,
                    Verdict::Redundant => paper::Arrival::Redundant,
                    Verdict::Stale => paper::Arrival::Stale,
                    Verdict::Refused | Verdict::Polluted => return is_sealed,
                };
                *due |= rule.handle_enc(arrival, rank, known);
            }
        }
        is_sealed
    }

    pub(super) fn handle_ack(
        &mut self,
        shared: &mut Shared,
        now: Instant,
        is_peer: bool,
        header: &Header,
        ack: &Ack,
    ) {
        shared.stats.acks_received += 1;
        let me = shared.config.id;
        let mut of_us = ack.links.iter().filter(|report| report.node == me);
        if !is_peer {
            let helper = self.helpers.iter_mut().find(|helper| helper.id == header.sender);
            if let (Some(helper), Some(report)) = (helper, of_us.next()) {
                helper.loss.follow(report.highest, report.received);
            }
            return;
        }
        let number = self.order_of(header, ack);
        let Self { links, outgoing, .. } = self;
        let count = links.len() as u8;
        for report in of_us.take(links.len()) {
            let (at, highest) = wire::link_of(count, report.highest);
            let report = LinkReport { highest, ..*report };
            let path = &mut links[usize::from(at)].path;
            path.handle_report(now, &report, &mut |cargo| outgoing.reported(cargo));
        }
        link::look(links, now, &mut |cargo| outgoing.landed(now, cargo));
        let path = &links[0].path;
        for helper in &mut self.helpers {
            if let Some(report) = ack.links.iter().find(|report| report.node == helper.id) {
                helper.loss_there.follow(report.highest, report.received);
            }
        }
        match outgoing {
            Outgoing::Stream(sender) => {
                sender.handle_ack(now, number, ack);
                // Its own symbols are as they were.
                sender.take_restarted();
            }
            Outgoing::Paper(encoder) => {
                if shared.config.losses.is_none() {
                    let loss = |p: f64| Probability::new(p).expect("estimates are between 0 and 1");
                    // Budgets assume equal helpers: the best one stands for all.
                    let e1 = self.helpers.iter().map(|h| h.loss.known().unwrap_or(1.0));
                    let e2 = self.helpers.iter().map(|h| h.loss_there.probability());
                    encoder.set_losses(Losses {
                        e1: loss(e1.fold(1.0, f64::min)),
                        e2: loss(e2.fold(1.0, f64::min)),
                        e3: loss(path.loss.probability()),
                    });
                }
                encoder.handle_arrival(now);
                encoder.handle_ack(now, ack);
            }
        }
    }

    /// The place of an acknowledgement in the order in which they were sent: on one link the number
    /// of its datagram; on several the time of the receiver's clock, in microseconds.
    fn order_of(&mut self, header: &Header, ack: &Ack) -> u64 {
        if self.links.len() == 1 {
            return u64::from(header.number);
        }
        // A delay longer than a report can express may be that of a link that died long ago.
        let is_exact = |report: &&LinkReport| report.delay_4us < u16::MAX;
        let sent_after = |report: &LinkReport| {
            let sent_at = report.heard_at_us.wrapping_add(u32::from(report.delay_4us) * 4);
            sent_at.wrapping_sub(self.ack_time as u32) as i32
        };
        let sent_after = ack.links.iter().filter(is_exact).map(sent_after).max();
        self.ack_time = self.ack_time.wrapping_add_signed(i64::from(sent_after.unwrap_or(1)));
        self.ack_time
    }

    /// Schedules an acknowledgement of a stream; the paper's mode has its own rule.
    pub(super) fn acknowledge_soon(&mut self, now: Instant) {
        let interval = self.ack_interval();
        if let Acknowledge::Stream { due, last } = &mut self.acknowledge {
            let at = now.max(*last + interval);
            *due = Some(due.map_or(at, |due| due.min(at)));
        }
    }

    /// Schedules an acknowledgement that reports a loss, sooner than one that
    /// reports arrivals only.
    pub(super) fn acknowledge_gap(&mut self, now: Instant, link: usize) {
        let at = |last: Instant| {
            now.max(self.links[link].path.settles_at()).max(last + self.ack_interval() / 2)
        };
        if let Acknowledge::Stream { due, last } = self.acknowledge {
            let due = Some(due.map_or(at(last), |due| due.min(at(last))));
            self.acknowledge = Acknowledge::Stream { due, last };
        }
    }

    /// Shortest interval of a stream's acknowledgements.
    fn ack_interval(&self) -> Duration {
        if self.is_saturated { ACK_INTERVAL_SATURATED } else { ACK_INTERVAL }
    }

    /// Returns the time at which an acknowledgement is sent alone, unless a symbol takes it along
    /// before.
    pub(super) fn ack_at(&self) -> Option<Instant> {
        let Acknowledge::Stream { due: Some(due), .. } = self.acknowledge else { return None };
        let is_busy = self.is_saturated || due < self.packed_at + GATHER * 2;
        Some(if is_busy { due + self.ack_interval() / ACK_PATIENCE_SHARE } else { due })
    }

    pub(super) fn is_ack_due(&self, now: Instant) -> bool {
        match self.acknowledge {
            Acknowledge::Stream { .. } => self.ack_at().is_some_and(|at| at <= now),
            Acknowledge::Paper { due, .. } => due,
        }
    }

    /// An acknowledgement in a datagram without a symbol.
    pub(super) fn acknowledge(
        &mut self,
        shared: &mut Shared,
        now: Instant,
        via: NodeId,
    ) -> Transmit {
        let mut ack = self.ack(now, via);
        ack.shorten(self.code.symbols(), self.datagram_bytes(shared));
        self.acknowledged(shared, now);
        let at = link::for_ack(&self.links, now);
        let header = self.header(shared, via, at);
        let transmit = shared.emit(&header, &Body::Ack(ack), &self.tagger);
        self.links[at].path.depart(now, transmit.datagram.len(), None);
        transmit
    }

    /// The acknowledgement that shares a datagram with a combination that is sent
    /// now on the link `at`, if it fits: if one is due there, or soon will be. The paper's
    /// acknowledgements are sent alone.
    pub(super) fn ack_beside(
        &mut self,
        shared: &mut Shared,
        now: Instant,
        via: NodeId,
        at: usize,
        enc: &wire::Enc<'_>,
    ) -> Option<Ack> {
        let Acknowledge::Stream { due: Some(due), last } = self.acknowledge else { return None };
        if now < due.min(last + ACK_INTERVAL_BESIDE) || at != link::for_ack(&self.links, now) {
            return None;
        }
        let left = self.datagram_bytes(shared).checked_sub(enc.datagram_bytes())?;
        let ack = Some(self.ack(now, via)).filter(|ack| ack.added_bytes() <= left)?;
        self.acknowledged(shared, now);
        Some(ack)
    }

    /// Length of the longest datagram that the paths are known to carry.
    fn datagram_bytes(&self, shared: &Shared) -> usize {
        usize::from(self.limit().unwrap_or(shared.config.datagram_bytes_max))
    }

    /// The same, if it is searched for: that of the links in use, and of those whose search is
    /// over.
    pub(super) fn limit(&self) -> Option<u16> {
        let counts =
            |link: &&Link| !link.is_dead || link.path_mtu.as_ref().is_some_and(PathMtu::is_over);
        let counted = self.links.iter().filter(counts).filter_map(Link::limit).min();
        counted.or(self.links[0].limit())
    }

    /// The acknowledgement of everything received until now.
    fn ack(&self, now: Instant, via: NodeId) -> Ack {
        let count = self.links_count();
        let report = |(at, link): (u8, &Link)| {
            let report = link.path.report(via, now);
            LinkReport { highest: wire::number_on(count, at, report.highest), ..report }
        };
        let mut links: Vec<LinkReport> = (0..).zip(&self.links).map(report).collect();
        links.extend(self.helpers.iter().map(|helper| helper.ear.report(helper.id, now)));
        let done = self.receiver.done();
        Ack::new(done, self.state, links, self.receiver.reports(done))
    }

    /// Notes that an acknowledgement is sent now.
    fn acknowledged(&mut self, shared: &mut Shared, now: Instant) {
        let settles_at = self.links.iter().map(|link| link.path.settles_at());
        let settles_at = settles_at.filter(|&at| at > now).min();
        let interval = self.ack_interval();
        match &mut self.acknowledge {
            Acknowledge::Stream { due, last } => {
                (*due, *last) = (settles_at.map(|at| at.max(now + interval)), now);
            }
            Acknowledge::Paper { due, .. } => *due = false,
        }
        shared.stats.acks_sent += 1;
    }

    /// The outlook for the sender: losses and times to plan with.
    pub(super) fn outlook(&self, shared: &Shared, now: Instant, at: usize) -> Outlook {
        let given = shared.config.losses;
        let estimated = || link::mean(&self.links, now, |link| link.path.loss.probability());
        let loss = given.map_or_else(estimated, |losses| losses.e3.as_f64());
        let alive = || self.helpers.iter().filter(|h| now < h.heard_at + HELPER_SILENCE_MAX);
        let count = alive().count() as u8;
        let unhelped = match given {
            Some(losses) if is_worth(self.code, losses, count) => {
                libm::pow(losses.e1.as_f64(), f64::from(count))
            }
            Some(_) => 1.0,
            None => {
                let helps = |helper: &&HeardHelper| is_worth(self.code, helper.losses(loss), count);
                alive().filter(helps).map(|h| h.loss.known().unwrap_or(1.0)).product()
            }
        };
        Outlook {
            number: self.number(at),
            loss,
            unhelped,
            helper_timeout: shared.config.encoder_timeout,
            caution: self.links[at].path.caution(),
            gather: self.links[at].path.gather(),
            is_scarce: false,
        }
    }

    pub(super) fn next_of_stream(
        &mut self,
        shared: &mut Shared,
        now: Instant,
        backlog: &mut Backlog,
        at: usize,
    ) -> Option<(crate::coded::Coded, Cargo)> {
        let is_ack_due = self.is_ack_due(now);
        let mut outlook = self.outlook(shared, now, at);
        let of_link = self.share(now, at, backlog.bytes() as u64);
        outlook.is_scarce = self.links[at].path.is_scarce(now, of_link);
        let limit = self.limit();
        let Outgoing::Stream(sender) = &mut self.outgoing else { return None };
        if let Some(repair) = sender.repair(now, &outlook) {
            return Some(repair);
        }
        if let Some(latency) = sender.latency() {
            let is_testing = self.links.iter().any(|link| link.path.is_testing());
            let times = if is_testing { TEST_PATIENCE } else { 1 };
            backlog.set_latency(latency * times);
        }
        self.held_until = None;
        let bytes_max = match limit {
            Some(limit) => shared.config.symbol_bytes_in(limit),
            None => shared.config.symbol_bytes,
        };
        let bytes_max =
            usize::from(bytes_max) - (wire::SYMBOL_OVERHEAD_BYTES - symbol::RECORD_BYTES);
        // A small amount of data is sent with an acknowledgement, if one is sent.
        let is_little = 2 * backlog.bytes() < bytes_max && !backlog.has_sparse() && !is_ack_due;
        let round_trip = self.links[at].path.round_trip();
        let goes_at = gathered_at(self.packed_at, &self.acknowledge, round_trip);
        if is_little && !backlog.is_empty() && !self.packer.has_rest() && now < goes_at {
            self.held_until = Some(goes_at);
        } else if !sender.has_fresh()
            && let Some((block, index)) = sender.next_place()
            && let Some(packed) = self.packer.pack(shared, now, backlog, block, index, bytes_max)
        {
            self.packed_at = now;
            self.longest_sent = self.longest_sent.max(limit.unwrap_or_default());
            let after = self.links[at].path.loss.after_loss();
            let copies = if packed.is_sparse { copies(outlook.loss, after) } else { 1 };
            sender.push(now, &packed.symbol, copies);
        }
        if let Some(fresh) = sender.fresh(now) {
            return Some(fresh);
        }
        if !backlog.is_empty() && sender.next_place().is_none() {
            // Airtime is not free: the oldest blocks hold up packets that wait.
            return sender.mend_older(now, &outlook);
        }
        self.links.iter_mut().for_each(|link| link.path.note_idle(now));
        sender.spare_repair(now, &outlook)
    }

    /// The part of `bytes` that the link `at` carries.
    fn share(&self, now: Instant, at: usize, bytes: u64) -> u64 {
        if self.links.len() == 1 {
            return bytes;
        }
        let rate = |at: usize| self.links[at].path.pace_bps(now);
        let all: u64 = link::usable(&self.links, self.longest_sent).map(rate).sum();
        (u128::from(bytes) * u128::from(rate(at)) / u128::from(all.max(1))) as u64
    }

    /// The link that sends the next symbol now, if one may.
    pub(super) fn choose(&self, now: Instant, backlog: &Backlog) -> Option<usize> {
        link::choose(&self.links, self.longest_sent, now, backlog.bytes() as u64)
    }

    /// The shortest round trip of a link in use, if one is known.
    pub(super) fn round_trip(&self) -> Option<Duration> {
        let alive = self.links.iter().filter(|link| !link.is_dead);
        alive.filter_map(|link| link.path.round_trip()).min()
    }

    /// Whether symbols of this session are too long for a link that works.
    pub(super) fn is_narrower(&self) -> bool {
        let longest = self.longest_sent;
        let is_narrower = |link: &Link| {
            let Some(path) = &link.path_mtu else { return false };
            path.is_narrower() || self.links.len() > 1 && path.is_over() && path.limit() < longest
        };
        self.links.iter().any(|link| !link.is_dead && is_narrower(link))
    }

    /// Whether the numbers of a link are running out: a new session is needed.
    pub(super) fn is_worn_out(&self) -> bool {
        let is_worn = |link: &Link| link.path.number() > wire::COUNT_MAX / 4 * 3;
        self.links.iter().any(|link| link.path.is_worn_out())
            || self.links.len() > 1 && self.links.iter().any(is_worn)
    }

    /// Longest silence of the other end before it counts as gone.
    pub(super) fn silence_max(&self) -> Duration {
        match self.outgoing {
            Outgoing::Stream(_) => {
                let [least, most] = SILENCE_MAX;
                let losses = self.links.iter().filter_map(|link| link.path.loss_in());
                let loss = losses.fold(f64::MIN_POSITIVE, f64::max);
                let pulses = libm::log(SILENCE_BY_CHANCE) / libm::log(loss).min(-1e-3);
                let lost = Duration::from_secs_f64(PULSE_INTERVAL[1].as_secs_f64() * pulses);
                let round_trips = self.links.iter().filter_map(|link| link.path.round_trip());
                let late = round_trips.max().unwrap_or_default() * SILENCE_ROUND_TRIPS;
                lost.max(late).clamp(least, most)
            }
            Outgoing::Paper(_) => SILENCE_MAX_OF_PAPER,
        }
    }

    pub(super) fn next_of_paper(
        &mut self,
        shared: &mut Shared,
        now: Instant,
        backlog: &mut Backlog,
    ) -> Option<(crate::coded::Coded, Cargo)> {
        let Outgoing::Paper(encoder) = &mut self.outgoing else { return None };
        let reads_packet = matches!(
            shared.config.mode,
            Mode::Paper { rules: PaperRules { read: Reading::Packet, .. }, .. }
        );
        // The budget of each packet is spent before the next one is taken (the paper's
        // section II.D), unless all packets that fit in the block are to be taken at
        // once.
        while let Some((block, index)) = encoder.next_place() {
            if reads_packet && encoder.state() == paper::State::Enc {
                break;
            }
            let bytes_max = shared.config.inner_mtu() + symbol::RECORD_BYTES;
            let packed = self.packer.pack(shared, now, backlog, block, index, bytes_max);
            let Some(packed) = packed else { break };
            if encoder.push(now, &packed.symbol).is_err() {
                break;
            }
        }
        let mut coded = encoder.poll_transmit(now)?;
        // The paper's datagrams carry whole symbols, however little they contain.
        coded.payload.resize(usize::from(shared.config.symbol_bytes), 0);
        let block = coded.block;
        Some((coded, Cargo::Coded { block, last: 0 }))
    }

    /// Time by which helpers will have repaired the losses.
    pub(super) fn helpers_done_at(&self, shared: &Shared, now: Instant) -> Instant {
        match &self.outgoing {
            Outgoing::Stream(sender) => {
                let helped = sender.helpers_done_at(now, &self.outlook(shared, now, 0));
                let planned = sender.copies_at().into_iter().chain(sender.mend_at());
                planned.fold(helped, Instant::min)
            }
            Outgoing::Paper(_) => Instant::MAX,
        }
    }

    /// Returns the time at which the rate of the link `at` allows the next datagram, if there may be
    /// one.
    pub(super) fn pace_at(&self, backlog: &Backlog, at: usize) -> Option<Instant> {
        if let Some(until) = self.idle_until {
            return (until < Instant::MAX).then_some(until);
        }
        match &self.outgoing {
            Outgoing::Stream(sender)
                if !sender.is_idle() || !backlog.is_empty() || self.packer.has_rest() =>
            {
                let link = self.links.get(at).filter(|link| !link.is_dead)?;
                link.path.pace_at()
            }
            _ => None,
        }
    }

    pub(super) fn handle_timeout(&mut self, shared: &mut Shared, now: Instant) {
        if self.idle_until.is_some_and(|until| until <= now) {
            self.idle_until = None;
        }
        let Self { links, outgoing, idle_until, .. } = self;
        match outgoing {
            Outgoing::Stream(_) => {
                for link in links.iter_mut() {
                    if link.path.handle_timeout(now, &mut |cargo| outgoing.landed(now, cargo)) {
                        shared.stats.timeouts += 1;
                        *idle_until = None;
                    }
                }
                link::look(links, now, &mut |cargo| {
                    outgoing.landed(now, cargo);
                    *idle_until = None;
                });
            }
            Outgoing::Paper(encoder) => encoder.handle_timeout(now),
        }
    }

    pub(super) fn fill(&self, stats: &mut Stats) {
        match &self.outgoing {
            Outgoing::Stream(sender) => {
                stats.blocks_begun += sender.counts.blocks_begun;
                stats.blocks_done += sender.counts.blocks_done;
                stats.source_sent += sender.counts.source_sent;
                stats.coded_sent += sender.counts.coded_sent;
            }
            Outgoing::Paper(encoder) => {
                let counters = encoder.counters();
                stats.blocks_begun +=
                    counters.blocks_done + u64::from(encoder.state() != paper::State::Idle);
                stats.blocks_done += counters.blocks_done;
                stats.source_sent += counters.source_sent;
                stats.coded_sent += counters.coded_sent;
                stats.timeouts += counters.timeouts;
            }
        }
        stats.symbols_lost += self.receiver.symbols_lost;
    }
}

impl Outgoing {
    pub(super) fn reported(&mut self, cargo: Cargo) {
        if let Self::Stream(sender) = self {
            sender.reported(cargo);
        }
    }

    pub(super) fn landed(&mut self, now: Instant, cargo: Cargo) {
        if let Self::Stream(sender) = self {
            sender.landed(now, cargo);
        }
    }
}

/// Time until which a little data waits, if the last symbol was packed at `packed_at`. If an
/// acknowledgement is due, both share a datagram: the other end's data come in, and mostly the
/// acknowledgements of TCP for them wait. These are not later than the link's own, whose delay
/// the sender's backlog allows for ([`Backlog::set_latency`]), and on a path with a short round trip
/// no later than two of them: a flow with a small window waits for each.
fn gathered_at(
    packed_at: Instant,
    acknowledge: &Acknowledge,
    round_trip: Option<Duration>,
) -> Instant {
    let longest = packed_at + round_trip.unwrap_or_default() * 2;
    match acknowledge {
        Acknowledge::Stream { due: Some(due), .. } => (packed_at + GATHER).max(longest.min(*due)),
        _ => packed_at + GATHER,
    }
}

/// Number of times that a symbol of a sparse flow is sent, with these losses, and losses after a loss.
fn copies(loss: f64, after_loss: f64) -> u8 {
    let mut copies = 1;
    let mut lost = loss;
    while lost > SPARSE_LOSS && copies < COPIES_MAX {
        lost *= after_loss;
        copies += 1;
    }
    copies
}

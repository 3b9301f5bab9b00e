//! An end: takes packets, codes them, and decodes what the other end sends.

use super::handshake::{Handshake, Step};
use super::{Event, Reason, Shared, Transmit, earliest};
use crate::backlog::Backlog;
use crate::config::{Losses, Mode, Small};
use crate::hop::{Cargo, Ear, Hop, LossEstimate};
use crate::keys::{Nonces, Seal, Tagger};
use crate::order::{Numbers, Order};
use crate::paper::{self, AckRule, Encoder, PaperParameters};
use crate::receiver::{Receiver, Verdict};
use crate::sender::{Outlook, Sender};
use crate::stats::{NeighbourStats, Stats};
use crate::symbol;
use crate::wire::{self, Ack, Body, Header, Hello, NONCE_BYTES, NodeId};
use alloc::boxed::Box;
use alloc::vec::Vec;
use lasthop_rlnc::Code;
use lasthop_units::{Duration, Instant, Machine, Probability};

/// HELLOs while there is no session, and while there is one.
const HELLO_INTERVAL: [Duration; 2] = [Duration::from_millis(100), Duration::from_millis(500)];
/// A HELLO of a session that the other end may not have yet is answered, not more often.
const ANSWER_INTERVAL: Duration = Duration::from_millis(50);
/// A peer that is silent for so long is gone.
const SILENCE_MAX: Duration = Duration::from_millis(2_500);
/// In the paper's mode, which knows no sessions and has seldom something to acknowledge:
/// at a loss of 90 % a sign of life arrives every few seconds.
const SILENCE_MAX_OF_PAPER: Duration = Duration::from_secs(30);
/// Acknowledgements of a stream are at least so far apart.
const ACK_INTERVAL: Duration = Duration::from_millis(5);
/// And while packets wait for the air that they take.
const ACK_INTERVAL_SATURATED: Duration = Duration::from_millis(10);
/// Beside the paper's, where losses are to be learned.
const REPORT_INTERVAL: Duration = Duration::from_millis(50);
/// Blocks that a receiver follows at once: as many as an ENC can tell apart.
const BLOCKS_MAX: usize = 256;
/// A sparse flow's symbol of at most so many bytes is sent more than once at once, so that
/// no more than [`SPARSE_LOSS`] of them wait for a timeout, at most [`COPIES_MAX`] times.
const SPARSE_BYTES: usize = 256;
const SPARSE_LOSS: f64 = 0.01;
const COPIES_MAX: u8 = 4;
/// A helper that was silent for so long is gone.
const HELPER_SILENCE_MAX: Duration = Duration::from_millis(500);
/// Helpers beside a hop at most.
const HELPERS_MAX: usize = 2;
/// The paper's budgets need losses before any are known.
const LOSSES_FIRST: Losses =
    Losses { e1: Probability::ZERO, e2: Probability::ZERO, e3: Probability::ZERO };

#[derive(Clone, Debug, PartialEq)]
pub(super) struct End {
    code: Code,
    peer: NodeId,
    via: NodeId,
    helpers: u8,
    handshake: Handshake,
    hello_at: Instant,
    backlog: Backlog,
    session: Option<Session>,
    /// Of sessions that are over.
    past: Stats,
}

/// What a session has.
#[derive(Clone, Debug, PartialEq)]
struct Session {
    id: u16,
    tagger: Tagger,
    nonces: Nonces,
    outgoing: Outgoing,
    seal: Seal,
    numbers: Numbers,
    receiver: Receiver,
    opener: Seal,
    order: Order,
    hop: Hop,
    helpers: Vec<HeardHelper>,
    acknowledge: Acknowledge,
    /// Of this end's memory.
    state: u16,
    heard_at: Instant,
    /// The other end uses this session too.
    is_confirmed: bool,
    /// Packets waited when the last one was sent.
    is_saturated: bool,
    /// There was nothing to send; it may be otherwise then, or when something happens.
    idle_until: Option<Instant>,
}

/// A helper on our side of the hop.
#[derive(Clone, Debug, PartialEq)]
struct HeardHelper {
    id: NodeId,
    ear: Ear,
    /// Losses from us to it, as it says, and from it to the neighbour, as that says.
    loss: LossEstimate,
    loss_there: LossEstimate,
    heard_at: Instant,
}

/// What sends.
#[derive(Clone, Debug, PartialEq)]
enum Outgoing {
    Stream(Box<Sender>),
    Paper(Box<Encoder>),
}

/// When acknowledgements go out.
#[derive(Clone, Debug, PartialEq)]
enum Acknowledge {
    /// Soon, and not too often.
    Stream { due: Option<Instant>, last: Instant },
    /// By the paper's rule.
    Paper { rule: AckRule, due: bool, next: Instant },
}

impl End {
    pub fn new(
        shared: &mut Shared,
        code: Code,
        peer: NodeId,
        via: NodeId,
        helpers: u8,
        now: Instant,
    ) -> Self {
        let handshake = Handshake::new(&mut shared.stream);
        let backlog = Backlog::new(shared.config.backlog);
        let (session, past) = (None, Stats::default());
        Self { code, peer, via, helpers, handshake, hello_at: now, backlog, session, past }
    }

    pub fn handle_packet(&mut self, shared: &mut Shared, now: Instant, packet: &[u8]) {
        if !symbol::is_ip(packet) || packet.len() > shared.config.inner_mtu() {
            shared.stats.refused += 1;
            return;
        }
        shared.stats.packets_in += 1;
        shared.stats.bytes_in += packet.len() as u64;
        self.backlog.push(now, packet.to_vec());
        if let Some(session) = &mut self.session {
            session.idle_until = None;
        }
    }

    pub fn poll_packet(&mut self) -> Option<Vec<u8>> {
        self.session.as_mut()?.order.pop()
    }

    // ---- sessions ----

    /// What both ends must have in common.
    fn digest(&self, shared: &Shared) -> u32 {
        let config = &shared.config;
        let numbers = [
            config.field.bits() as u32,
            u32::from(config.block_symbols),
            u32::from(config.symbol_bytes),
            config.rekey_blocks,
        ];
        // FNV-1a: this finds accidents, the HELLO's proof finds forgeries.
        numbers
            .iter()
            .flat_map(|number| number.to_be_bytes())
            .fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
    }

    pub fn handle_hello(
        &mut self,
        shared: &mut Shared,
        now: Instant,
        header: &Header,
        hello: &Hello,
    ) -> bool {
        if hello.origin != self.peer
            || hello.destination != shared.config.id
            || header.sender != self.via
        {
            return false;
        }
        if shared.secrets.proof(hello) != hello.proof {
            shared.stats.unauthentic += 1;
            shared.complain(now, Event::KeyMismatch { sender: hello.origin });
            return false;
        }
        if hello.digest != self.digest(shared) {
            shared.complain(now, Event::CodeMismatch { peer: self.peer });
            return false;
        }
        let current = self.session.as_ref().map(|session| session.nonces);
        match self.handshake.handle(hello, current, &mut shared.stream) {
            Step::Ignore => return false,
            Step::Alive => {
                let Some(session) = &mut self.session else { return false };
                session.heard_at = now;
                let was_said = self.hello_at.saturating_sub(HELLO_INTERVAL[1]);
                if !session.is_confirmed && now >= was_said + ANSWER_INTERVAL {
                    self.say_hello(shared, now);
                }
            }
            Step::Answer => self.answer(shared),
            Step::Begin(nonces) => {
                self.begin(shared, nonces, now);
                self.say_hello(shared, now);
            }
        }
        true
    }

    fn begin(&mut self, shared: &mut Shared, nonces: Nonces, now: Instant) {
        self.end_session(shared);
        let (id, tagger) = shared.secrets.session(&nonces);
        let config = shared.config.clone();
        let me = config.id;
        let (outgoing, pace, acknowledge) = match config.mode {
            Mode::Stream { blocks_max, pace } => {
                let sender = Sender::new(self.code, blocks_max, false);
                let acknowledge = Acknowledge::Stream { due: None, last: Instant::ZERO };
                (Outgoing::Stream(Box::new(sender)), pace, acknowledge)
            }
            Mode::Paper { overshoot, systematic } => {
                let parameters = PaperParameters {
                    losses: config.losses.unwrap_or(LOSSES_FIRST),
                    helpers: self.helpers,
                    overshoot,
                    margin: None,
                    timeout: config.encoder_timeout,
                    systematic,
                };
                let encoder = Encoder::new(self.code, &parameters, shared.fork());
                let acknowledge =
                    Acknowledge::Paper { rule: AckRule::default(), due: false, next: now };
                (Outgoing::Paper(Box::new(encoder)), None, acknowledge)
            }
        };
        self.session = Some(Session {
            id,
            tagger,
            nonces,
            outgoing,
            seal: Seal::new(shared.secrets.sealing_key(&nonces, me), config.rekey_blocks),
            numbers: Numbers::new(),
            receiver: Receiver::new(self.code, BLOCKS_MAX),
            opener: Seal::new(shared.secrets.sealing_key(&nonces, self.peer), config.rekey_blocks),
            order: Order::new(),
            hop: Hop::new(pace, config.encoder_timeout, now),
            helpers: Vec::new(),
            acknowledge,
            state: shared.stream.next_u64() as u16,
            heard_at: now,
            is_confirmed: false,
            is_saturated: false,
            idle_until: None,
        });
        shared.stats.sessions += 1;
        shared.tell(Event::Connected { peer: self.peer });
    }

    /// Books what the session counted, and forgets it.
    fn end_session(&mut self, shared: &mut Shared) {
        if let Some(session) = self.session.take() {
            session.fill(&mut self.past);
            shared.tell(Event::Disconnected { peer: self.peer });
        }
    }

    /// What keeps the session, or asks for one.
    fn say_hello(&mut self, shared: &mut Shared, now: Instant) {
        self.hello_at = now + HELLO_INTERVAL[usize::from(self.session.is_some())];
        match &self.session {
            Some(session) if session.hop.is_worn_out() => {
                self.handshake.renew(&mut shared.stream);
                self.answer(shared);
            }
            None => self.answer(shared),
            Some(session) => {
                let Nonces([low, high]) = session.nonces;
                let (nonce, echo) =
                    if shared.config.id < self.peer { (low, high) } else { (high, low) };
                self.hello(shared, nonce, echo);
            }
        }
    }

    fn answer(&self, shared: &mut Shared) {
        let (nonce, echo) = self.handshake.say();
        self.hello(shared, nonce, echo);
    }

    fn hello(&self, shared: &mut Shared, nonce: [u8; NONCE_BYTES], echo: [u8; NONCE_BYTES]) {
        let (origin, destination) = (shared.config.id, self.peer);
        let digest = self.digest(shared);
        let mut hello = Hello { origin, destination, nonce, echo, digest, proof: [0; 16] };
        hello.proof = shared.secrets.proof(&hello);
        let header = Header { sender: origin, to: self.via, session: 0, number: 0 };
        let tagger = shared.hello_tagger;
        let hello = shared.emit(&header, &Body::Hello(hello), &tagger);
        shared.urgent.push_back(hello);
    }

    // ---- what comes ----

    pub fn handle_datagram(
        &mut self,
        shared: &mut Shared,
        now: Instant,
        header: &Header,
        datagram: &[u8],
    ) -> bool {
        let Some(session) = self.session.as_mut().filter(|session| session.id == header.session)
        else {
            shared.stats.unauthentic += 1;
            return false;
        };
        session.idle_until = None;
        let tagger = session.tagger;
        let Some(body) = shared.open(now, header, datagram, &tagger) else { return false };
        if header.to != shared.config.id {
            return false;
        }
        let is_new = if header.sender == self.via {
            session.heard_at = now;
            session.is_confirmed = true;
            session.hop.hear(now, header.number)
        } else {
            session.hear_helper(now, header)
        };
        if !is_new {
            shared.stats.replayed += 1;
            // A neighbour that began anew learns from this where its numbers were.
            session.acknowledge_soon(now);
            return false;
        }
        match body {
            Body::Enc(enc) => session.handle_enc(shared, now, &enc),
            Body::Ack(ack) => {
                session.handle_ack(shared, now, header.sender == self.via, header, &ack)
            }
            Body::Hello(_) => {}
        }
        true
    }

    // ---- what goes ----

    pub fn poll_transmit(&mut self, shared: &mut Shared, now: Instant) -> Option<Transmit> {
        let via = self.via;
        let session = self.session.as_mut()?;
        if session.is_ack_due(now) {
            return Some(session.acknowledge(shared, now, via));
        }
        if session.hop.may_send(now).is_err() {
            return None;
        }
        let next = match &mut session.outgoing {
            Outgoing::Stream(_) => session.next_of_stream(shared, now, &mut self.backlog),
            Outgoing::Paper(_) => session.next_of_paper(shared, now, &mut self.backlog),
        };
        session.is_saturated = !self.backlog.is_empty();
        let Some((coded, cargo)) = next else {
            session.idle_until = Some(session.patience_ends(shared, now));
            return None;
        };
        let header = session.header(shared, via);
        let transmit = shared.emit(&header, &Body::Enc(coded.as_enc()), &session.tagger);
        session.hop.depart(now, transmit.datagram.len(), Some(cargo));
        Some(transmit)
    }

    pub fn poll_timeout(&self, told: Instant) -> Option<(Instant, Reason)> {
        let hello = Some((self.hello_at, Reason::Hello));
        let Some(session) = &self.session else { return hello };
        let silence = Some((session.heard_at + session.silence_max(), Reason::Expiry));
        let encoder = match &session.outgoing {
            Outgoing::Stream(_) => session.hop.timeout_at().map(|at| (at, Reason::EncoderTimeout)),
            Outgoing::Paper(encoder) => {
                encoder.poll_timeout().map(|(at, _)| (at, Reason::EncoderTimeout))
            }
        };
        let ack = match session.acknowledge {
            Acknowledge::Stream { due, .. } => due.map(|at| (at, Reason::Acknowledge)),
            Acknowledge::Paper { .. } => None,
        };
        let pace = session.pace_at(&self.backlog).map(|at| (at, Reason::Pace));
        earliest(told, [hello, silence, encoder, ack, pace])
    }

    pub fn handle_timeout(&mut self, shared: &mut Shared, now: Instant) {
        if let Some(session) = &mut self.session {
            if now >= session.heard_at + session.silence_max() {
                self.end_session(shared);
                self.handshake.restart(&mut shared.stream);
                self.hello_at = now;
            } else {
                session.handle_timeout(shared, now);
            }
        }
        if now >= self.hello_at {
            self.say_hello(shared, now);
        }
    }

    pub fn fill(&self, stats: &mut Stats, now: Instant) {
        let sent_before = &self.past;
        stats.blocks_begun += sent_before.blocks_begun;
        stats.blocks_done += sent_before.blocks_done;
        stats.source_sent += sent_before.source_sent;
        stats.coded_sent += sent_before.coded_sent;
        stats.symbols_lost += sent_before.symbols_lost;
        stats.backlog_packets = self.backlog.packets() as u64;
        stats.backlog_drops = self.backlog.drops();
        let Some(session) = &self.session else { return };
        stats.connected = true;
        session.fill(stats);
        stats.round_trip = session.hop.round_trip().unwrap_or(Duration::ZERO);
        stats.queue_delay = session.hop.queue_delay();
        stats.pace_bps = session.hop.pace_bps(now);
        stats.neighbours.push(NeighbourStats {
            id: self.via,
            heard: u64::from(session.hop.heard_count()),
            loss_in: session.hop.loss_in(),
            loss_out: session.hop.loss.known(),
        });
        stats.neighbours.extend(session.helpers.iter().map(|helper| NeighbourStats {
            id: helper.id,
            heard: u64::from(helper.ear.received()),
            loss_in: helper.ear.loss(),
            loss_out: helper.loss.known(),
        }));
    }
}

impl Session {
    fn header(&self, shared: &Shared, to: NodeId) -> Header {
        Header { sender: shared.config.id, to, session: self.id, number: self.hop.number() }
    }

    /// Takes a number of a helper's; false if it came before, or if there are too many.
    fn hear_helper(&mut self, now: Instant, header: &Header) -> bool {
        let at = self.helpers.iter().position(|helper| helper.id == header.sender);
        let at = at.unwrap_or_else(|| {
            let (id, ear, heard_at) = (header.sender, Ear::default(), now);
            let (loss, loss_there) = (LossEstimate::default(), LossEstimate::default());
            self.helpers.push(HeardHelper { id, ear, loss, loss_there, heard_at });
            self.helpers.len() - 1
        });
        if at >= HELPERS_MAX {
            self.helpers.truncate(HELPERS_MAX);
            return false;
        }
        let helper = &mut self.helpers[at];
        helper.heard_at = now;
        helper.ear.take(now, header.number)
    }

    fn handle_enc(&mut self, shared: &mut Shared, now: Instant, enc: &wire::Enc<'_>) {
        let (opener, order, stats) = (&mut self.opener, &mut self.order, &mut shared.stats);
        let mut open = Vec::new();
        let mut known = |block: u32, index: u16, symbol: &[u8]| {
            let sealed = symbol::unframe(symbol);
            open.clear();
            open.extend(sealed.unwrap_or_default());
            let Some(length) = opener.open(block, index, &mut open) else {
                stats.corrupt += 1;
                return;
            };
            for record in symbol::records(&open[..length]) {
                match record {
                    Some((bucket, number, packet)) => order.push(bucket, number, packet),
                    None => stats.corrupt += 1,
                }
            }
        };
        let (verdict, gave_up) = self.receiver.handle_enc(enc, &mut known);
        if gave_up {
            self.order.give_up();
        }
        self.opener.forget_below(self.receiver.done());
        match verdict {
            Verdict::Innovative => stats.innovative += 1,
            Verdict::Redundant => stats.redundant += 1,
            Verdict::Late => stats.late += 1,
            Verdict::Refused => stats.malformed += 1,
        }
        match &mut self.acknowledge {
            Acknowledge::Stream { .. } => self.acknowledge_soon(now),
            Acknowledge::Paper { rule, due, next } => {
                // Where losses are not given, they are learned from acknowledgements.
                if shared.config.losses.is_none() && now >= *next {
                    *next = now + REPORT_INTERVAL;
                    *due = true;
                }
                let (rank, known) = self.receiver.progress(enc.block);
                let arrival = match verdict {
                    Verdict::Innovative => paper::Arrival::Innovative,
                    Verdict::Redundant => paper::Arrival::Redundant,
                    Verdict::Late => paper::Arrival::Late,
                    Verdict::Refused => return,
                };
                *due |= rule.handle_enc(arrival, rank, known);
            }
        }
    }

    fn handle_ack(
        &mut self,
        shared: &mut Shared,
        now: Instant,
        is_peer: bool,
        header: &Header,
        ack: &Ack,
    ) {
        shared.stats.acks_received += 1;
        let me = shared.config.id;
        let of_us = ack.links.iter().find(|report| report.node == me);
        if !is_peer {
            let helper = self.helpers.iter_mut().find(|helper| helper.id == header.sender);
            if let (Some(helper), Some(report)) = (helper, of_us) {
                helper.loss.update(report.highest, report.received);
            }
            return;
        }
        let Self { hop, outgoing, .. } = self;
        if let Some(report) = of_us {
            hop.handle_report(now, report, &mut |cargo| outgoing.landed(now, cargo));
        }
        for helper in &mut self.helpers {
            if let Some(report) = ack.links.iter().find(|report| report.node == helper.id) {
                helper.loss_there.update(report.highest, report.received);
            }
        }
        match outgoing {
            Outgoing::Stream(sender) => sender.handle_ack(now, ack),
            Outgoing::Paper(encoder) => {
                if shared.config.losses.is_none() {
                    let loss = |p: f64| Probability::new(p).expect("estimates are between 0 and 1");
                    // Budgets take helpers for alike: the better one speaks for both.
                    let e1 = self.helpers.iter().map(|h| h.loss.known().unwrap_or(1.0));
                    let e2 = self.helpers.iter().map(|h| h.loss_there.probability());
                    encoder.set_losses(Losses {
                        e1: loss(e1.fold(1.0, f64::min)),
                        e2: loss(e2.fold(1.0, f64::min)),
                        e3: loss(hop.loss.probability()),
                    });
                }
                encoder.handle_ack(now, ack);
            }
        }
    }

    /// Of a stream; the paper's rule is its own.
    fn acknowledge_soon(&mut self, now: Instant) {
        let interval = if self.is_saturated { ACK_INTERVAL_SATURATED } else { ACK_INTERVAL };
        if let Acknowledge::Stream { due, last } = &mut self.acknowledge {
            due.get_or_insert(now.max(*last + interval));
        }
    }

    fn is_ack_due(&self, now: Instant) -> bool {
        match self.acknowledge {
            Acknowledge::Stream { due, .. } => due.is_some_and(|due| due <= now),
            Acknowledge::Paper { due, .. } => due,
        }
    }

    fn acknowledge(&mut self, shared: &mut Shared, now: Instant, via: NodeId) -> Transmit {
        match &mut self.acknowledge {
            Acknowledge::Stream { due, last } => (*due, *last) = (None, now),
            Acknowledge::Paper { due, .. } => *due = false,
        }
        let mut links = alloc::vec![self.hop.report(via, now)];
        links.extend(self.helpers.iter().map(|helper| helper.ear.report(helper.id, now)));
        let (done, state) = (self.receiver.done(), self.state);
        let ack = Ack { done, state, links, blocks: self.receiver.reports() };
        let header = self.header(shared, via);
        let transmit = shared.emit(&header, &Body::Ack(ack), &self.tagger);
        self.hop.depart(now, transmit.datagram.len(), None);
        shared.stats.acks_sent += 1;
        transmit
    }

    /// What to reckon with.
    fn outlook(&self, shared: &Shared, now: Instant) -> Outlook {
        let given = shared.config.losses;
        let alive = self.helpers.iter().filter(|h| now < h.heard_at + HELPER_SILENCE_MAX);
        let unhelped = match given {
            Some(losses) => libm::pow(losses.e1.as_f64(), alive.count() as f64),
            None => alive.map(|helper| helper.loss.known().unwrap_or(1.0)).product(),
        };
        Outlook {
            number: self.hop.number(),
            loss: given.map_or(self.hop.loss.probability(), |losses| losses.e3.as_f64()),
            unhelped,
            patience: shared.config.encoder_timeout,
        }
    }

    fn next_of_stream(
        &mut self,
        shared: &mut Shared,
        now: Instant,
        backlog: &mut Backlog,
    ) -> Option<(crate::coded::Coded, Cargo)> {
        let outlook = self.outlook(shared, now);
        let Outgoing::Stream(sender) = &mut self.outgoing else { return None };
        if let Some(repair) = sender.repair(now, &outlook) {
            return Some(repair);
        }
        if let Some(latency) = sender.latency() {
            backlog.set_latency(latency);
        }
        if !sender.has_fresh()
            && let Some(place) = sender.room()
            && let Some(packed) =
                pack(shared, now, backlog, place, &mut self.seal, &mut self.numbers)
        {
            let copies = if packed.is_sparse { copies(outlook.loss) } else { 1 };
            sender.push(&packed.symbol, copies);
        }
        if let Some(fresh) = sender.fresh(now) {
            return Some(fresh);
        }
        sender.spare_repair(now, &outlook)
    }

    /// How long the other end may be silent.
    fn silence_max(&self) -> Duration {
        match self.outgoing {
            Outgoing::Stream(_) => SILENCE_MAX,
            Outgoing::Paper(_) => SILENCE_MAX_OF_PAPER,
        }
    }

    fn next_of_paper(
        &mut self,
        shared: &mut Shared,
        now: Instant,
        backlog: &mut Backlog,
    ) -> Option<(crate::coded::Coded, Cargo)> {
        let Outgoing::Paper(encoder) = &mut self.outgoing else { return None };
        // All that waits is read at once, as far as the block has room (the paper's section
        // V.C): packets over a few symbols would be redundant as often as not.
        while let Some(place) = encoder.room() {
            let packed = pack(shared, now, backlog, place, &mut self.seal, &mut self.numbers);
            let Some(packed) = packed else { break };
            if encoder.push(now, &packed.symbol).is_err() {
                break;
            }
        }
        let mut coded = encoder.poll_transmit(now)?;
        // The paper's packets carry whole symbols, however little is in them.
        coded.payload.resize(usize::from(shared.config.symbol_bytes), 0);
        let block = coded.block;
        Some((coded, Cargo::Coded { block }))
    }

    /// When helpers will have had their time with what was lost.
    fn patience_ends(&self, shared: &Shared, now: Instant) -> Instant {
        match &self.outgoing {
            Outgoing::Stream(sender) => sender.patience_ends(now, &self.outlook(shared, now)),
            Outgoing::Paper(_) => Instant::MAX,
        }
    }

    /// When the rate lets the next datagram go, if there may be one.
    fn pace_at(&self, backlog: &Backlog) -> Option<Instant> {
        if let Some(until) = self.idle_until {
            return (until < Instant::MAX).then_some(until);
        }
        match &self.outgoing {
            Outgoing::Stream(sender) if !sender.is_idle() || !backlog.is_empty() => {
                self.hop.pace_at()
            }
            _ => None,
        }
    }

    fn handle_timeout(&mut self, shared: &mut Shared, now: Instant) {
        if self.idle_until.is_some_and(|until| until <= now) {
            self.idle_until = None;
        }
        let Self { hop, outgoing, idle_until, .. } = self;
        match outgoing {
            Outgoing::Stream(_) => {
                if hop.handle_timeout(now, &mut |cargo| outgoing.landed(now, cargo)) {
                    shared.stats.timeouts += 1;
                    *idle_until = None;
                }
            }
            Outgoing::Paper(encoder) => encoder.handle_timeout(now),
        }
    }

    fn fill(&self, stats: &mut Stats) {
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
    fn landed(&mut self, now: Instant, cargo: Cargo) {
        if let Self::Stream(sender) = self {
            sender.landed(now, cargo);
        }
    }
}

/// A sealed symbol.
struct Packed {
    symbol: Vec<u8>,
    /// Short, and of flows that seldom send.
    is_sparse: bool,
}

/// The next symbol of what waits.
fn pack(
    shared: &Shared,
    now: Instant,
    backlog: &mut Backlog,
    (block, index): (u32, u16),
    seal: &mut Seal,
    numbers: &mut Numbers,
) -> Option<Packed> {
    let room = shared.config.inner_mtu() + symbol::RECORD_BYTES;
    let mut records = Vec::with_capacity(usize::from(shared.config.symbol_bytes));
    let mut is_sparse = true;
    while let Some(left) = (room - records.len()).checked_sub(symbol::RECORD_BYTES + 20) {
        let Some(waiting) = backlog.pop(now, left + 20) else { break };
        let number = numbers.next(waiting.bucket);
        symbol::push(&mut records, waiting.bucket, number, &waiting.packet);
        is_sparse &= waiting.sparse;
        if shared.config.small == Small::Alone {
            break;
        }
    }
    if records.is_empty() {
        return None;
    }
    is_sparse &= records.len() <= SPARSE_BYTES;
    seal.forget_below(block);
    seal.seal(block, index, &mut records);
    Some(Packed { symbol: symbol::frame(&records), is_sparse })
}

/// How often a sparse symbol is sent at once.
fn copies(loss: f64) -> u8 {
    let mut copies = 1;
    let mut lost = loss;
    while lost > SPARSE_LOSS && copies < COPIES_MAX {
        lost *= loss;
        copies += 1;
    }
    copies
}

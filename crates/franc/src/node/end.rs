//! An end: takes packets, codes them, and decodes what the other end sends.

mod packer;
mod session;

use super::handshake::{Handshake, Step};
use super::{Event, Reason, Shared, Transmit, earliest};
use crate::backlog::Backlog;
use crate::config::{Losses, Mode};
use crate::hop::{Hearing, Hop};
use crate::keys::{Nonces, Seal};
use crate::order::Order;
use crate::paper::{AckRule, Encoder, PaperParameters};
use crate::receiver::Receiver;
use crate::sender::Sender;
use crate::stats::{NeighbourStats, Stats};
use crate::symbol;
use crate::wire::{Body, Header, Hello, NONCE_BYTES, NodeId};
use alloc::boxed::Box;
use alloc::vec::Vec;
use lasthop_rlnc::Code;
use lasthop_units::{Duration, Instant, Machine, Probability};
use packer::Packer;
use session::{Acknowledge, Outgoing, Session};

/// HELLOs while there is no session that both ends use, and while there is one.
const HELLO_INTERVAL: [Duration; 2] = [Duration::from_millis(100), Duration::from_millis(500)];
/// A HELLO of a session that the other end may not have yet is answered, not more often.
const ANSWER_INTERVAL: Duration = Duration::from_millis(50);
/// Blocks that a receiver follows at once: as many as an ENC can tell apart.
const BLOCKS_MAX: usize = 256;
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
    /// When the last one was said.
    hello_said: Instant,
    backlog: Backlog,
    session: Option<Session>,
    /// Of sessions that are over.
    past: Stats,
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
        let (hello_at, hello_said) = (now, Instant::ZERO);
        Self { code, peer, via, helpers, handshake, hello_at, hello_said, backlog, session, past }
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
                if !session.is_confirmed {
                    session.acknowledge_soon(now);
                    if now >= self.hello_said + ANSWER_INTERVAL {
                        self.say_hello(shared, now);
                    }
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
            code: self.code,
            tagger,
            nonces,
            outgoing,
            packer: Packer::new(
                Seal::new(shared.secrets.sealing_key(&nonces, me), config.rekey_blocks),
                matches!(config.mode, Mode::Stream { .. }),
            ),
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
        if let Some(session) = &mut self.session {
            // The first that the other end hears of it.
            session.acknowledge_soon(now);
        }
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
        let is_settled = self.session.as_ref().is_some_and(Session::is_settled);
        self.hello_at = now + HELLO_INTERVAL[usize::from(is_settled)];
        self.hello_said = now;
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
        let hearing = if header.sender == self.via {
            session.heard_at = now;
            session.is_confirmed = true;
            session.hop.hear(now, header.number)
        } else {
            session.hear_helper(now, header)
        };
        match hearing {
            Hearing::Before => {
                shared.stats.replayed += 1;
                // A neighbour that began anew learns from this where its numbers were.
                session.acknowledge_soon(now);
                return false;
            }
            Hearing::New => {}
            Hearing::AfterGap => session.acknowledge_gap(now),
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

//! The host that answers.
//!
//! To an unproven address it sends only challenges, each in answer to a longer
//! `Hello`, and it stores nothing for such an address. A client that proves its
//! address, and knows the key if there is one, gets one of
//! [`ServerConfig::sessions_max`] sessions with its first message. In a session
//! everything is limited: rate, duration, packets (`budget`). Packets of flows and
//! samples are sent only to sockets that prove their reception (`proof`); other
//! messages are answers to longer ones. Leaves out sockets and clocks, which are
//! the driver's.

use crate::auth::{self, Key, Nonce, handshake_key, is_token, token, unguessable};
use crate::budget::{AddressClass, Budget, Strangers, packet_bytes_max};
use crate::link::Link;
use crate::plan::{PhasePlan, StreamPlan};
use crate::proof::{Ledger, Proof, Proofs};
use crate::receiver::Receiver;
use crate::sender::{Due, Sender};
use crate::wire::{
    self, Accepted, CHUNK_SAMPLES, Datagram, Limits, Message, Probe, Refusal, Sealed,
};
use crate::{
    Direction, HostClock, Received, SocketId, StreamKind, Transmit, TransmitKind, header_bytes,
};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::net::SocketAddr;
use lasthop_units::{Duration, Instant, Machine, TokenBucket};
use zeroize::{Zeroize, Zeroizing};

/// Time after which a session that its client has not used is closed: the client
/// did not get the answer, nor any of some fifteen repetitions.
const CONFIRM: Duration = Duration::from_secs(15);
/// Time without a message, or without a proof of reception, after which a client in a downlink
/// phase has vanished: 96 keep-alive messages, one of which arrives if four of five are lost.
const SILENCE_WHILE_SENDING: Duration = Duration::from_secs(12);
/// Time after which a client that is not sent to has vanished, if it is not heard.
const SILENCE: Duration = Duration::from_secs(30);
/// Interval of keep-alive messages.
const ALIVE_INTERVAL: Duration = Duration::from_secs(1);
/// Interval of reports that a phase is finished.
const RETRY: Duration = Duration::from_millis(200);
/// Largest number of sessions that were not used yet: the oldest is closed for a new one. Unused
/// sessions do not count for [`ServerConfig::sessions_max`].
const UNCONFIRMED_MAX: usize = 64;
/// Largest number of events that wait for a driver; further events are discarded.
const EVENTS_MAX: usize = 1_024;
/// Events about refused clients: rate per second, and burst.
const REFUSED_TOLD: (u64, u64) = (1, 10);
/// Interval in seconds between two events about peers with another version.
const VERSIONS_INTERVAL_S: u64 = 10;
/// Largest number of datagrams that wait to be sent. A message that does not fit is dropped, and
/// the client repeats its request; packets of flows wait.
const OUTBOX_MAX: usize = 4_096;
/// Longest time for which a packet of a flow waits for the [`Budget`] before it is
/// skipped: longer than a packet of 1500 bytes takes at 300 kb/s.
const DEFERRAL_MAX: Duration = Duration::from_millis(50);

/// The configuration of a server. Key and secret are wiped when it is dropped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerConfig {
    /// The key that clients must know, if any.
    pub key: Option<[u8; 32]>,
    /// A secret of 32 random bytes.
    pub secret: [u8; 32],
    /// The clock that stamps packets.
    pub clock: HostClock,
    /// Largest number of sessions at a time. Half of them, rounded up, may be of one address: one
    /// of IPv4, or 64 bits of IPv6.
    pub sessions_max: usize,
    /// Largest number of bits sent in any second to a session or to an address, IP headers
    /// included. May be exceeded by 1 %, or by a packet of 1500 bytes.
    pub rate_max_bps: u64,
    /// The same for all clients together.
    pub rate_total_max_bps: u64,
    /// Longest duration of a session.
    pub duration_max: Duration,
    /// Largest number of packets in a phase.
    pub phase_packets_max: u32,
    /// Largest number of packets in the uplink phases of all sessions together: they are stored, 24
    /// bytes each.
    pub samples_max: u64,
}

impl Drop for ServerConfig {
    fn drop(&mut self) {
        self.key.zeroize();
        self.secret.zeroize();
    }
}

/// An event that a server reports.
#[derive(Clone, Debug, PartialEq)]
pub enum ServerEvent {
    /// A client proved its address, was accepted, and uses its session.
    Opened(SocketAddr),
    /// A phase started.
    PhaseBegan(SocketAddr, Direction, PhasePlan),
    /// A session ended, for this reason.
    Closed(SocketAddr, Ending),
    /// A client that proved its address was refused, for this reason.
    Refused(SocketAddr, &'static str),
    /// A peer uses this version of the protocol, not [`wire::VERSION`]. The peer's address is not
    /// proven.
    OtherVersion(SocketAddr, u8),
}

/// Why a session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The client reported that it is done.
    Done,
    /// The client or the server was stopped.
    Stopped,
    /// The client was silent for too long.
    Vanished,
    /// The session took longer than the server allows.
    TooLong,
}

/// Why a server asks to be woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerReason {
    /// A packet of a flow is due.
    Departure,
    /// The rate limits allow the waiting packet.
    Allowance,
    /// A report was not acknowledged.
    Retry,
    /// A keep-alive message to the client is due.
    Alive,
    /// Packets in flight have had time to arrive.
    Drained,
    /// A client was silent, or a session lasted, for too long.
    Expiry,
}

/// The host that answers.
#[derive(Clone, Debug, PartialEq)]
pub struct Server {
    config: ServerConfig,
    sessions: Vec<ServerSession>,
    /// Number of sessions opened since the start.
    opened: u64,
    /// Index of the session that is served first at the next wake-up: each in turn.
    turn: usize,
    strangers: Strangers,
    budget: Budget,
    /// Rate limits for events about refused clients, and about other versions.
    refusals: TokenBucket,
    versions: TokenBucket,
    outbox: VecDeque<ServerOutgoing>,
    events: VecDeque<ServerEvent>,
}

/// Sizes of what a server stores.
#[cfg(test)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Held {
    pub sessions: usize,
    pub samples: usize,
    pub outbox: usize,
    pub events: usize,
}

/// A datagram that waits to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
enum ServerOutgoing {
    Control(SocketAddr, Vec<u8>),
    /// A packet of a flow; it is stamped when it is sent.
    Probe {
        to: SocketAddr,
        due: Due,
        session: u64,
        phase: u32,
        proof: Proof,
    },
}

/// A session with a client that has proven its address.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ServerSession {
    control: SocketAddr,
    bulk: Option<SocketAddr>,
    nonce: Nonce,
    link: Link,
    /// The key of its proofs of reception.
    proof_key: Zeroizing<Key>,
    /// The state of the proofs of each of its sockets.
    ledgers: [Ledger; 2],
    /// The message that accepted it, for a client that did not receive it.
    accepted: Vec<u8>,
    opened: Instant,
    heard: Instant,
    /// Whether the client has used the session's key.
    confirmed: bool,
    budget: TokenBucket,
    /// Earliest instant at which the limits allow another packet.
    blocked: Instant,
    /// Number of the last phase that was started; none is started twice.
    phase: Option<u32>,
    /// Number of samples reserved for an uplink phase.
    reserved: u64,
    state: ServerState,
}

/// The state of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
enum ServerState {
    /// No phase is running.
    Idle,
    /// Sends a phase.
    Sending { sender: Sender },
    /// Has sent a phase, and reports that until it is acknowledged.
    Sent { sender: Sender, retry: Instant },
    /// Receives a phase; from `finished` on only packets in flight.
    Receiving { receiver: Receiver, finished: Option<Instant>, alive: Instant },
    /// Has received a phase, to be fetched; `wanted` are the requested chunks, from
    /// `first` on, that were not sent yet.
    Received { receiver: Receiver, first: u32, wanted: u16 },
}

impl Server {
    /// A server without sessions.
    pub fn new(config: ServerConfig) -> Self {
        let budget = Budget::new(config.rate_max_bps, config.rate_total_max_bps);
        Self {
            config,
            sessions: Vec::new(),
            opened: 0,
            turn: 0,
            strangers: Strangers::new(),
            budget,
            refusals: TokenBucket::new(REFUSED_TOLD.0, REFUSED_TOLD.1, Instant::ZERO),
            versions: TokenBucket::new(1, VERSIONS_INTERVAL_S, Instant::ZERO),
            outbox: VecDeque::new(),
            events: VecDeque::new(),
        }
    }

    /// Handles a datagram.
    pub fn handle_datagram(&mut self, now: Instant, received: Received<'_>) {
        let from = received.from;
        match wire::parse(received.payload) {
            Ok(Datagram::Probe(probe)) => self.handle_probe(now, &received, &probe),
            Ok(Datagram::Sealed(sealed)) => self.handle_sealed(now, from, &sealed),
            Ok(Datagram::Hello(nonce)) => {
                let keyed = self.config.key.is_some();
                self.answer_stranger(now, from, |secret| {
                    let token = token(secret, &from, &nonce, now);
                    Datagram::Challenge { nonce, token, keyed }
                });
            }
            Ok(Datagram::HelloOfVersion(theirs, nonce)) => {
                let version = wire::VERSION;
                self.answer_stranger(now, from, |_| Datagram::OtherVersion { version, nonce });
                if self.versions.take(now, VERSIONS_INTERVAL_S) {
                    self.happened(ServerEvent::OtherVersion(from, theirs));
                }
            }
            // An unproven address gets no answer.
            Ok(Datagram::Open { nonce, token, mac_tag })
                if is_token(&self.config.secret, &from, &nonce, &token, now) =>
            {
                let key = Zeroizing::new(handshake_key(self.config.key.as_ref(), &nonce, &token));
                let is_known =
                    auth::is_mac_tag(&key, &wire::open_covered(&nonce, &token), &mac_tag);
                self.open(now, from, nonce, is_known.then_some(key));
            }
            _ => {}
        }
    }

    /// The last packet of that flow to `to` could not be sent: the host's buffer
    /// was full.
    pub fn handle_unsent(&mut self, _now: Instant, to: SocketAddr, kind: StreamKind) {
        let is_it = |session: &&mut ServerSession| session.address(kind) == Some(to);
        if let Some(session) = self.sessions.iter_mut().find(is_it)
            && let ServerState::Sending { sender } | ServerState::Sent { sender, .. } =
                &mut session.state
        {
            sender.unsent(kind);
        }
    }

    /// Ends all sessions with a message to each client.
    pub fn stop(&mut self, now: Instant) {
        self.outbox.clear();
        for index in 0..self.sessions.len() {
            self.say(now, index, &Message::Stopped);
        }
        while !self.sessions.is_empty() {
            self.close(self.sessions.len() - 1, Ending::Stopped);
        }
    }

    /// Returns the next datagram to send now.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Transmit> {
        let socket = SocketId::Control;
        match self.outbox.pop_front()? {
            ServerOutgoing::Control(to, payload) => {
                let length = payload.len() as u16;
                Some(Transmit { socket, to, payload, length, kind: TransmitKind::Control })
            }
            ServerOutgoing::Probe { to, due, session, phase, proof } => {
                let sent_ns = self.config.clock.read_ns(now);
                Some(due.transmit(to, socket, session, phase, sent_ns, proof))
            }
        }
    }

    /// Returns the next event.
    pub fn poll_event(&mut self) -> Option<ServerEvent> {
        self.events.pop_front()
    }

    /// Number of sessions that are used by their clients.
    pub fn sessions(&self) -> usize {
        self.sessions.iter().filter(|session| session.confirmed).count()
    }

    /// Sizes of what the server stores.
    #[cfg(test)]
    pub(crate) fn held(&self) -> Held {
        let samples = |session: &ServerSession| match &session.state {
            ServerState::Receiving { receiver, .. } | ServerState::Received { receiver, .. } => {
                receiver.samples().len()
            }
            _ => 0,
        };
        Held {
            sessions: self.sessions.len(),
            samples: self.sessions.iter().map(samples).sum(),
            outbox: self.outbox.len(),
            events: self.events.len(),
        }
    }

    fn happened(&mut self, event: ServerEvent) {
        if self.events.len() < EVENTS_MAX {
            self.events.push_back(event);
        }
    }

    fn limits(&self) -> Limits {
        let &ServerConfig { rate_max_bps, duration_max, phase_packets_max, .. } = &self.config;
        let rate_max_bps = rate_max_bps.min(self.config.rate_total_max_bps);
        Limits { rate_max_bps, duration_max, phase_packets_max }
    }

    /// Answers an unproven address, unless its class has had too many answers.
    fn answer_stranger(
        &mut self,
        now: Instant,
        to: SocketAddr,
        answer: impl FnOnce(&Key) -> Datagram<'static>,
    ) {
        if self.outbox.len() < OUTBOX_MAX && self.strangers.take(now, &self.config.secret, &to) {
            let bytes = wire::emit(&answer(&self.config.secret));
            self.outbox.push_back(ServerOutgoing::Control(to, bytes));
        }
    }

    /// Sends a datagram of a session, unless the rate limits forbid it: a client
    /// that misses it repeats its request.
    ///
    /// # Errors
    /// The earliest instant at which it may be sent.
    fn try_send(
        &mut self,
        now: Instant,
        index: usize,
        to: SocketAddr,
        bytes: Vec<u8>,
    ) -> Result<(), Instant> {
        if self.outbox.len() >= OUTBOX_MAX {
            return Err(now);
        }
        let session = &mut self.sessions[index];
        let length = bytes.len() as u16 + header_bytes(&to);
        self.budget.spend(now, &mut session.budget, &to, length)?;
        self.outbox.push_back(ServerOutgoing::Control(to, bytes));
        Ok(())
    }

    /// Accepts a client at a proven address, or refuses it: without `key` its MAC tag
    /// was wrong.
    fn open(&mut self, now: Instant, from: SocketAddr, nonce: Nonce, key: Option<Zeroizing<Key>>) {
        let Some(key) = key else {
            return self.turn_away(now, from, nonce, Refusal::WrongKey, "it has another key");
        };
        let is_it = |session: &ServerSession| session.control == from && session.nonce == nonce;
        if let Some(index) = self.sessions.iter().position(is_it) {
            let bytes = self.sessions[index].accepted.clone();
            let _ = self.try_send(now, index, from, bytes);
            return;
        }
        if let Err(why) = self.place(&from) {
            return self.turn_away(now, from, nonce, Refusal::Busy, why);
        }
        self.forget(&from);
        let whole = unguessable(&self.config.secret, b"session", &[self.opened]);
        self.opened += 1;
        let session = u64::from_be_bytes(*whole.first_chunk().expect("a key has 32 bytes"));
        let accepted = Accepted { nonce, session, limits: self.limits() };
        let mac_tag = auth::mac_tag(&key, &accepted.covered());
        let bytes = wire::emit(&Datagram::Accepted { accepted, mac_tag });
        self.sessions.push(ServerSession {
            control: from,
            bulk: None,
            nonce,
            link: Link::new(&key, session, auth::Side::Server),
            proof_key: Zeroizing::new(unguessable(&self.config.secret, b"proof", &[session])),
            // A client can learn the session number at its control socket only.
            ledgers: [Ledger::new(true, now, 0), Ledger::new(false, now, 0)],
            accepted: bytes.clone(),
            opened: now,
            heard: now,
            confirmed: false,
            budget: self.budget.session(now),
            blocked: now,
            phase: None,
            reserved: 0,
            state: ServerState::Idle,
        });
        let _ = self.try_send(now, self.sessions.len() - 1, from, bytes);
    }

    /// Whether one more session of `from` may be used; the error is the reason why
    /// not.
    fn place(&self, from: &SocketAddr) -> Result<(), &'static str> {
        let class = AddressClass::from_address(from);
        let used = self.sessions.iter().filter(|session| session.confirmed);
        let of_class =
            used.clone().filter(|session| AddressClass::from_address(&session.control) == class);
        if used.count() >= self.config.sessions_max {
            return Err("there is no session left");
        }
        if of_class.count() >= self.config.sessions_max.div_ceil(2) {
            return Err("its address has half of the sessions");
        }
        Ok(())
    }

    /// Closes an unused session if there are too many, preferably one of the same
    /// address.
    fn forget(&mut self, from: &SocketAddr) {
        let class = AddressClass::from_address(from);
        let oldest = |is_it: &dyn Fn(&ServerSession) -> bool| {
            let found = self.sessions.iter().enumerate().filter(|(_, s)| !s.confirmed && is_it(s));
            let number = found.clone().count();
            found.min_by_key(|(_, session)| session.opened).map(|(index, _)| (index, number))
        };
        let own = oldest(&|session| AddressClass::from_address(&session.control) == class)
            .filter(|(_, number)| *number >= self.config.sessions_max.div_ceil(2));
        let any = oldest(&|_| true).filter(|(_, number)| *number >= UNCONFIRMED_MAX);
        if let Some((index, _)) = own.or(any) {
            self.close(index, Ending::Vanished);
        }
    }

    /// Marks a session as used by its client; `false` if too many are in use.
    fn confirm(&mut self, now: Instant, index: usize) -> bool {
        if self.sessions[index].confirmed {
            return true;
        }
        let control = self.sessions[index].control;
        if let Err(why) = self.place(&control) {
            self.say(now, index, &Message::Refused { reason: Refusal::Busy });
            self.close(index, Ending::Vanished);
            self.refused(now, control, why);
            return false;
        }
        self.sessions[index].confirmed = true;
        self.happened(ServerEvent::Opened(control));
        true
    }

    fn turn_away(
        &mut self,
        now: Instant,
        from: SocketAddr,
        nonce: Nonce,
        reason: Refusal,
        why: &'static str,
    ) {
        self.answer_stranger(now, from, |_| Datagram::Turned { nonce, reason });
        self.refused(now, from, why);
    }

    fn refused(&mut self, now: Instant, from: SocketAddr, why: &'static str) {
        if self.refusals.take(now, 1) {
            self.happened(ServerEvent::Refused(from, why));
        }
    }

    fn handle_probe(&mut self, now: Instant, received: &Received<'_>, probe: &Probe) {
        let is_it = |session: &&mut ServerSession| session.link.session() == probe.session;
        let Some(session) = self.sessions.iter_mut().find(is_it) else { return };
        if session.address(probe.kind) != Some(received.from) || session.phase != Some(probe.phase)
        {
            return;
        }
        if let ServerState::Receiving { receiver, .. } = &mut session.state {
            session.heard = now;
            receiver.handle(now, probe.sample(self.config.clock.read_ns(received.at)));
        }
    }

    fn handle_sealed(&mut self, now: Instant, from: SocketAddr, sealed: &Sealed<'_>) {
        let is_it = |session: &ServerSession| session.link.session() == sealed.session;
        let Some(index) = self.sessions.iter().position(is_it) else { return };
        let Some(message) = self.sessions[index].link.open(sealed) else { return };
        if !self.confirm(now, index) {
            return;
        }
        let session = &mut self.sessions[index];
        session.accept(now, &sealed.proofs);
        if let Message::Attach { nonce, token } = message {
            if is_token(&self.config.secret, &from, &nonce, &token, now) {
                if session.bulk != Some(from) {
                    let floor_ms = session.time_ms(now) - 1;
                    session.ledgers[1] = Ledger::new(false, now, floor_ms);
                }
                (session.bulk, session.heard) = (Some(from), now);
                let bytes = session.seal(now, SocketId::Bulk, &Message::Attached);
                let _ = self.try_send(now, index, from, bytes);
            }
            return;
        }
        if from != session.control {
            return;
        }
        session.heard = now;
        match message {
            Message::Prepare { phase, direction, plan } => {
                let answer = self.prepare(now, index, phase, direction, plan);
                self.say(now, index, &answer);
            }
            Message::Finished { phase, .. } if Some(phase) == session.phase => {
                match &mut session.state {
                    ServerState::Receiving { finished, .. } => {
                        finished.get_or_insert(now);
                    }
                    ServerState::Received { .. } => self.say_summary(now, index),
                    _ => {}
                }
            }
            Message::FinishedHeard { phase } if Some(phase) == session.phase => {
                if matches!(session.state, ServerState::Sent { .. }) {
                    session.state = ServerState::Idle;
                }
            }
            Message::Fetch { phase, first, wanted } if Some(phase) == session.phase => {
                if let ServerState::Received { first: from, wanted: places, .. } =
                    &mut session.state
                {
                    (*from, *places, session.blocked) = (first, wanted, now);
                    self.send_chunks(now, index);
                }
            }
            Message::Stop { done } => {
                self.say(now, index, &Message::Stopped);
                self.close(index, if done { Ending::Done } else { Ending::Stopped });
            }
            _ => {}
        }
    }

    /// Starts a phase, or confirms one that was started before.
    fn prepare(
        &mut self,
        now: Instant,
        index: usize,
        phase: u32,
        direction: Direction,
        plan: PhasePlan,
    ) -> Message {
        let others = self.sessions.iter().enumerate().filter(|(other, _)| *other != index);
        let reserved: u64 = others.map(|(_, session)| session.reserved).sum();
        let session = &mut self.sessions[index];
        if session.phase.is_some_and(|begun| phase <= begun) {
            return Message::Ready { phase };
        }
        let needs_bulk = session.bulk.is_none();
        if let Err(reason) = check(&plan, &self.config, now, session.opened) {
            return Message::Refused { reason };
        }
        if needs_bulk {
            return Message::Refused { reason: Refusal::Senseless };
        }
        let samples = match direction {
            Direction::Down => 0,
            Direction::Up => plan.packets(),
        };
        if reserved.saturating_add(samples) > self.config.samples_max {
            return Message::Refused { reason: Refusal::Full };
        }
        (session.phase, session.blocked, session.reserved) = (Some(phase), now, samples);
        session.ledgers.iter_mut().for_each(|ledger| ledger.restart(now));
        session.state = match direction {
            Direction::Down => ServerState::Sending { sender: Sender::new(plan.clone(), now) },
            Direction::Up => ServerState::Receiving {
                receiver: Receiver::new(&plan, now),
                finished: None,
                alive: now + ALIVE_INTERVAL,
            },
        };
        let control = session.control;
        self.happened(ServerEvent::PhaseBegan(control, direction, plan));
        Message::Ready { phase }
    }

    /// Sends the requested chunks, as far as the rate limits allow.
    fn send_chunks(&mut self, now: Instant, index: usize) {
        loop {
            let session = &mut self.sessions[index];
            let may_send = session.may_send(now, SocketId::Control);
            let ServerState::Received { receiver, first, wanted } = &mut session.state else {
                return;
            };
            let Some(phase) = session.phase.filter(|_| *wanted != 0) else { return };
            let place = wanted.trailing_zeros();
            let chunk = first.saturating_add(place);
            let from = chunk as usize * CHUNK_SAMPLES;
            let Some(rest) = receiver.samples().get(from..) else {
                *wanted = 0;
                return;
            };
            if !may_send {
                *wanted = 0;
                return;
            }
            let samples = rest[..rest.len().min(CHUNK_SAMPLES)].to_vec();
            let message = Message::Chunk { phase, index: chunk, samples };
            let bytes = session.seal(now, SocketId::Control, &message);
            let to = session.control;
            let sent = self.try_send(now, index, to, bytes);
            let session = &mut self.sessions[index];
            match sent {
                Err(at) => {
                    session.blocked = at;
                    return;
                }
                Ok(()) => {
                    session.ledgers[0].sent(now);
                    if let ServerState::Received { wanted, .. } = &mut session.state {
                        *wanted &= *wanted - 1;
                    }
                }
            }
        }
    }

    fn say_summary(&mut self, now: Instant, index: usize) {
        let session = &self.sessions[index];
        let (ServerState::Received { receiver, .. }, Some(phase)) = (&session.state, session.phase)
        else {
            return;
        };
        let (samples, duplicates) = (receiver.samples().len() as u32, receiver.duplicates());
        self.say(now, index, &Message::Summary { phase, samples, duplicates });
    }

    fn say(&mut self, now: Instant, index: usize, message: &Message) {
        let session = &mut self.sessions[index];
        let bytes = session.seal(now, SocketId::Control, message);
        let to = session.control;
        let _ = self.try_send(now, index, to, bytes);
    }

    fn close(&mut self, index: usize, ending: Ending) {
        let session = self.sessions.swap_remove(index);
        let left = |outgoing: &ServerOutgoing| match outgoing {
            ServerOutgoing::Probe { session: of, .. } => *of != session.link.session(),
            ServerOutgoing::Control(..) => true,
        };
        self.outbox.retain(left);
        if session.confirmed {
            self.happened(ServerEvent::Closed(session.control, ending));
        }
    }
}

/// Checks that a phase is within the server's limits.
fn check(
    plan: &PhasePlan,
    config: &ServerConfig,
    now: Instant,
    opened: Instant,
) -> Result<(), Refusal> {
    let is_sound = |stream: &StreamPlan| {
        !stream.interval.is_zero()
            && stream.begin <= stream.end
            && wire::PACKET_BYTES.contains(&stream.packet_bytes)
    };
    if !plan.streams.iter().all(is_sound) {
        return Err(Refusal::Senseless);
    }
    let ends = now.saturating_add(plan.duration()).saturating_since(opened);
    if ends > config.duration_max {
        return Err(Refusal::TooLong);
    }
    let packets =
        plan.streams.iter().fold(0u64, |sum, stream| sum.saturating_add(stream.packets()));
    if packets > u64::from(config.phase_packets_max) {
        return Err(Refusal::TooMany);
    }
    // Streams of one kind are not sent at the same time.
    let rate_bps = |kind| {
        let of_kind = plan.streams.iter().filter(|stream| stream.kind == kind);
        of_kind.map(StreamPlan::rate_bps).max().unwrap_or(0)
    };
    let total = rate_bps(StreamKind::Sparse).saturating_add(rate_bps(StreamKind::Bulk));
    let longest = plan.streams.iter().map(|stream| u64::from(stream.packet_bytes)).max();
    let rate_max_bps = config.rate_max_bps.min(config.rate_total_max_bps);
    if total > rate_max_bps || longest.is_some_and(|bytes| bytes > packet_bytes_max(rate_max_bps)) {
        return Err(Refusal::TooFast);
    }
    let mut ends = [Duration::ZERO; 2];
    for stream in &plan.streams {
        let end = &mut ends[stream.kind.index()];
        if stream.begin < *end {
            return Err(Refusal::Senseless);
        }
        *end = stream.end;
    }
    Ok(())
}

impl ServerSession {
    /// Address to which packets of `kind` go, or from which they come.
    fn address(&self, kind: StreamKind) -> Option<SocketAddr> {
        match kind {
            StreamKind::Sparse => Some(self.control),
            StreamKind::Bulk => self.bulk,
        }
    }

    /// Milliseconds of the session, starting with 1.
    fn time_ms(&self, now: Instant) -> u32 {
        let ms = now.saturating_since(self.opened).as_micros() / 1_000;
        u32::try_from(ms + 1).unwrap_or(u32::MAX)
    }

    /// Handles the proofs that the client shows.
    fn accept(&mut self, now: Instant, proofs: &Proofs) {
        let now_ms = self.time_ms(now);
        let sockets = [Some(self.control), self.bulk];
        for ((ledger, to), proof) in self.ledgers.iter_mut().zip(sockets).zip(proofs) {
            if let Some(to) = to {
                ledger.accept(&self.proof_key, &to, *proof, now, now_ms);
            }
        }
    }

    /// The proof that a datagram to `socket` carries.
    fn offer(&mut self, now: Instant, socket: SocketId) -> Proof {
        let now_ms = self.time_ms(now);
        let to = match socket {
            SocketId::Control => self.control,
            SocketId::Bulk => self.bulk.unwrap_or(self.control),
        };
        self.ledgers[socket.index()].offer(&self.proof_key, &to, now_ms)
    }

    fn may_send(&self, now: Instant, socket: SocketId) -> bool {
        let other = self.ledgers[1 - socket.index()].accepted();
        self.ledgers[socket.index()].may_send(now, self.link.missing(), other)
    }

    fn seal(&mut self, now: Instant, socket: SocketId, message: &Message) -> Vec<u8> {
        let mut proofs = Proofs::default();
        proofs[socket.index()] = self.offer(now, socket);
        self.link.seal(message, &proofs)
    }

    /// Returns the time at which the session ends if nothing is heard, and the reason.
    fn expiry(&self, config: &ServerConfig) -> (Instant, Ending) {
        let silence = match self.state {
            _ if !self.confirmed => CONFIRM,
            ServerState::Sending { .. } => SILENCE_WHILE_SENDING,
            _ => SILENCE,
        };
        let stalled = match &self.state {
            ServerState::Sending { sender } => {
                // While one socket receives, the other one may lose all packets in the queue
                // for long.
                let stalled = |at: usize| {
                    let other = self.ledgers[1 - at].accepted();
                    self.ledgers[at].stalled(sender.start()).map(|since| since.max(other))
                };
                stalled(0).into_iter().chain(stalled(1)).min()
            }
            _ => None,
        };
        let silent_since = stalled.map_or(self.heard, |since| since.min(self.heard));
        let vanished = (silent_since.saturating_add(silence), Ending::Vanished);
        let too_long = (self.opened.saturating_add(config.duration_max), Ending::TooLong);
        if too_long.0 < vanished.0 { too_long } else { vanished }
    }

    fn next_wakeup(&self) -> Option<(Instant, ServerReason)> {
        match &self.state {
            ServerState::Received { wanted: 1.., .. } => {
                Some((self.blocked, ServerReason::Allowance))
            }
            ServerState::Idle | ServerState::Received { .. } => None,
            ServerState::Sending { sender } => {
                let due = (sender.next().unwrap_or(sender.end()), ServerReason::Departure);
                Some(if due.0 < self.blocked {
                    (self.blocked, ServerReason::Allowance)
                } else {
                    due
                })
            }
            ServerState::Sent { retry, .. } => Some((*retry, ServerReason::Retry)),
            ServerState::Receiving { receiver, finished: Some(finished), .. } => {
                Some((receiver.quiet_at(*finished), ServerReason::Drained))
            }
            ServerState::Receiving { alive, .. } => Some((*alive, ServerReason::Alive)),
        }
    }
}

impl Machine for Server {
    type Reason = ServerReason;

    fn poll_timeout(&self) -> Option<(Instant, ServerReason)> {
        let of_session = |session: &ServerSession| {
            let (at, _) = session.expiry(&self.config);
            session.next_wakeup().into_iter().chain([(at, ServerReason::Expiry)])
        };
        self.sessions.iter().flat_map(of_session).min_by_key(|(at, _)| *at)
    }

    fn handle_timeout(&mut self, now: Instant) {
        for index in (0..self.sessions.len()).rev() {
            let (at, ending) = self.sessions[index].expiry(&self.config);
            if at <= now {
                self.say(now, index, &Message::Stopped);
                self.close(index, ending);
            }
        }
        let sessions = self.sessions.len();
        let is_due =
            |session: &ServerSession| session.next_wakeup().is_some_and(|(at, _)| at <= now);
        if self.sessions.iter().any(is_due) {
            self.turn = (self.turn + 1) % sessions;
            for place in 0..sessions {
                self.handle_session(now, (self.turn + place) % sessions);
            }
        }
    }
}

impl Server {
    /// Handles the due events of a session.
    fn handle_session(&mut self, now: Instant, index: usize) {
        let session = &mut self.sessions[index];
        if session.next_wakeup().is_none_or(|(at, _)| at > now) {
            return;
        }
        let Some(phase) = session.phase else { return };
        match &mut session.state {
            ServerState::Idle => {}
            ServerState::Received { .. } => self.send_chunks(now, index),
            ServerState::Sending { .. } => self.send_probes(now, index, phase),
            ServerState::Sent { sender, retry } => {
                *retry = now + RETRY;
                let started_ns = self.config.clock.read_ns(sender.start());
                let counts = sender.counts().to_vec();
                if session.may_send(now, SocketId::Control) {
                    session.ledgers[0].sent(now);
                    self.say(now, index, &Message::Finished { phase, started_ns, counts });
                }
            }
            ServerState::Receiving { receiver, finished, alive } => {
                if finished.is_some() {
                    let receiver = receiver.take();
                    session.state = ServerState::Received { receiver, first: 0, wanted: 0 };
                    self.say_summary(now, index);
                } else {
                    *alive = now + ALIVE_INTERVAL;
                    self.say(now, index, &Message::Alive);
                }
            }
        }
    }

    /// Sends the packets of a phase that are due and allowed.
    fn send_probes(&mut self, now: Instant, index: usize, phase: u32) {
        let session = &mut self.sessions[index];
        let offered = StreamKind::ALL.map(|kind| session.offer(now, kind.socket()));
        let lost = session.link.missing();
        let (control, bulk) = (session.control, session.bulk);
        let ServerState::Sending { sender } = &mut session.state else { return };
        while let Some((due, since)) = sender.peek(now) {
            let to = match due.kind {
                StreamKind::Sparse => control,
                StreamKind::Bulk => bulk.unwrap_or(control),
            };
            let other = session.ledgers[1 - due.kind.index()].accepted();
            let ledger = &mut session.ledgers[due.kind.index()];
            if !ledger.may_send(now, lost, other) {
                sender.skip(now);
                continue;
            }
            if self.outbox.len() >= OUTBOX_MAX {
                session.blocked = now;
                return;
            }
            match self.budget.spend(now, &mut session.budget, &to, due.packet_bytes) {
                Ok(()) => {
                    sender.take(now);
                    ledger.sent(now);
                    let (session, proof) = (session.link.session(), offered[due.kind.index()]);
                    self.outbox.push_back(ServerOutgoing::Probe { to, due, session, phase, proof });
                }
                Err(at) => {
                    let until = since.saturating_add(DEFERRAL_MAX);
                    if until > now {
                        session.blocked = at.min(until);
                        return;
                    }
                    sender.skip(now);
                }
            }
        }
        if sender.next().is_none() && sender.end() <= now {
            // Reported at the next wake-up: only then it is known which of the last packets
            // could not be sent.
            session.state = ServerState::Sent { sender: sender.clone(), retry: now };
        }
    }
}

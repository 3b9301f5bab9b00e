//! The host that answers.
//!
//! To an address that has not proven itself it sends nothing but challenges,
//! each in answer to a longer `Hello` from there, and at most
//! [`CHALLENGES_MAX`] a second. Nothing is kept for such an address. Whoever
//! proves an address, and knows the key if there is one, gets one of
//! [`ServerConfig::sessions_max`] sessions, in which everything is bounded:
//! rate, length, packets of a phase. It sends only while it hears the client.

use crate::auth::{self, Key, Nonce, handshake_key, is_token, token, unguessable};
use crate::link::Link;
use crate::plan::{PhasePlan, StreamPlan};
use crate::receiver::Receiver;
use crate::sender::{Due, Sender};
use crate::wire::{
    self, Accepted, CHUNK_SAMPLES, Datagram, Limits, Message, Probe, Refusal, Sealed,
};
use crate::{Direction, HostClock, Received, SocketId, StreamKind, Transmit, TransmitKind};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::net::SocketAddr;
use lasthop_units::{Duration, Instant, Machine};

/// Challenges a second, to all addresses together.
pub const CHALLENGES_MAX: u32 = 1_000;
/// A client that has not used its session for so long has not got the answer.
const CONFIRM: Duration = Duration::from_secs(5);
/// A client that is sent to and not heard for so long has gone.
const SILENCE_WHILE_SENDING: Duration = Duration::from_secs(6);
/// A client that is not sent to and not heard for so long has gone.
const SILENCE: Duration = Duration::from_secs(30);
/// From one sign of life to the next.
const ALIVE_INTERVAL: Duration = Duration::from_secs(1);
/// From one time that a phase is said to be finished to the next.
const RETRY: Duration = Duration::from_millis(200);
/// Messages that wait to leave in all sessions; a client asks again for what was left out.
const OUTBOX_MAX: usize = 4_096;

/// What a server allows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerConfig {
    /// The key that clients must know, if any.
    pub key: Option<[u8; 32]>,
    /// 32 bytes that nobody can guess.
    pub secret: [u8; 32],
    /// How it stamps packets.
    pub clock: HostClock,
    /// Most sessions at a time.
    pub sessions_max: usize,
    /// Most bits a second that a session may have sent, IP headers included.
    pub rate_max_bps: u64,
    /// Longest session.
    pub duration_max: Duration,
    /// Most packets of a phase: what a session may hold in memory.
    pub phase_packets_max: u32,
}

/// What happened.
#[derive(Clone, Debug, PartialEq)]
pub enum ServerEvent {
    /// A client proved its address and was let in.
    Opened(SocketAddr),
    /// A phase began.
    PhaseBegan(SocketAddr, Direction, PhasePlan),
    /// A session ended, and why.
    Closed(SocketAddr, Ending),
    /// A client that proved its address was refused, and why.
    Refused(SocketAddr, &'static str),
}

/// Why a session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The client said so.
    Done,
    /// The client was stopped.
    Stopped,
    /// The client said nothing for too long.
    Vanished,
    /// It took longer than the server allows.
    TooLong,
}

/// Why a server wants to be woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// A packet of a flow is due.
    Departure,
    /// Something was not answered.
    Retry,
    /// A client must know that we are there.
    Alive,
    /// Packets that are on their way have had time to arrive.
    Drained,
    /// A client has been silent for too long, or a session has taken too long.
    Expiry,
}

/// The host that answers.
#[derive(Clone, Debug, PartialEq)]
pub struct Server {
    config: ServerConfig,
    sessions: Vec<Session>,
    /// Sessions that there were.
    opened: u64,
    /// The second of the last challenge, and how many there were in it.
    challenged: (u64, u32),
    outbox: VecDeque<Outgoing>,
    events: VecDeque<ServerEvent>,
}

/// What is to leave.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Outgoing {
    Control(SocketAddr, Vec<u8>),
    /// Stamped when it leaves.
    Probe {
        to: SocketAddr,
        due: Due,
        session: u64,
        phase: u32,
    },
}

/// A client that has proven its address.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Session {
    control: SocketAddr,
    bulk: Option<SocketAddr>,
    nonce: Nonce,
    link: Link,
    /// What it was let in with, for a client that did not get it.
    accepted: Vec<u8>,
    opened: Instant,
    heard: Instant,
    /// It has used the session's key.
    confirmed: bool,
    /// The last phase that was begun; none is begun twice.
    phase: Option<u32>,
    state: State,
}

/// What a session does.
#[derive(Clone, Debug, PartialEq, Eq)]
enum State {
    /// Nothing.
    Idle,
    /// Sends a phase.
    Sending { sender: Sender },
    /// Has sent it, and says so until it is heard.
    Sent { sender: Sender, retry: Instant },
    /// Receives a phase, from `finished` on only what is still under way.
    Receiving { receiver: Receiver, finished: Option<Instant>, alive: Instant },
    /// Has what arrived, to be fetched.
    Received { receiver: Receiver },
}

impl Server {
    /// One without sessions.
    pub fn new(config: ServerConfig) -> Self {
        Self {
            config,
            sessions: Vec::new(),
            opened: 0,
            challenged: (0, 0),
            outbox: VecDeque::new(),
            events: VecDeque::new(),
        }
    }

    /// Takes a datagram.
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
            Ok(Datagram::HelloOfVersion(_, nonce)) => {
                let version = wire::VERSION;
                self.answer_stranger(now, from, |_| Datagram::OtherVersion { version, nonce });
            }
            // Nothing is said to an address that has not proven itself.
            Ok(Datagram::Open { nonce, token, code })
                if is_token(&self.config.secret, &from, &nonce, &token, now) =>
            {
                let key = handshake_key(self.config.key.as_ref(), &nonce, &token);
                let is_known = auth::is_code(&key, &wire::open_covered(&nonce, &token), &code);
                self.open(now, from, nonce, is_known.then_some(key));
            }
            _ => {}
        }
    }

    /// The last packet of that flow to `to` could not be sent: the host had no room for it.
    pub fn handle_unsent(&mut self, _now: Instant, to: SocketAddr, kind: StreamKind) {
        let is_it = |session: &&mut Session| session.address(kind) == Some(to);
        if let Some(session) = self.sessions.iter_mut().find(is_it)
            && let State::Sending { sender } | State::Sent { sender, .. } = &mut session.state
        {
            sender.unsent(kind);
        }
    }

    /// Sends nothing more, and tells all clients so.
    pub fn stop(&mut self, _now: Instant) {
        self.outbox.clear();
        for mut session in core::mem::take(&mut self.sessions) {
            let bytes = session.link.seal(&Message::Stopped);
            self.tell(session.control, bytes);
            self.events.push_back(ServerEvent::Closed(session.control, Ending::Stopped));
        }
    }

    /// The next datagram that is to leave now.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Transmit> {
        let socket = SocketId::Control;
        match self.outbox.pop_front()? {
            Outgoing::Control(to, payload) => {
                let length = payload.len() as u16;
                Some(Transmit { socket, to, payload, length, kind: TransmitKind::Control })
            }
            Outgoing::Probe { to, due, session, phase } => {
                let sent_ns = self.config.clock.read_ns(now);
                Some(due.transmit(to, socket, session, phase, sent_ns))
            }
        }
    }

    /// The next thing that happened.
    pub fn poll_event(&mut self) -> Option<ServerEvent> {
        self.events.pop_front()
    }

    /// How many sessions there are.
    pub fn sessions(&self) -> usize {
        self.sessions.len()
    }

    fn limits(&self) -> Limits {
        let &ServerConfig { rate_max_bps, duration_max, phase_packets_max, .. } = &self.config;
        Limits { rate_max_bps, duration_max, phase_packets_max }
    }

    /// Answers an address that has not proven itself, unless there were many of them.
    fn answer_stranger(
        &mut self,
        now: Instant,
        to: SocketAddr,
        answer: impl FnOnce(&Key) -> Datagram<'static>,
    ) {
        let second = now.as_nanos() / 1_000_000_000;
        if self.challenged.0 != second {
            self.challenged = (second, 0);
        }
        if self.challenged.1 < CHALLENGES_MAX {
            self.challenged.1 += 1;
            let bytes = wire::emit(&answer(&self.config.secret));
            self.tell(to, bytes);
        }
    }

    fn tell(&mut self, to: SocketAddr, bytes: Vec<u8>) {
        if self.outbox.len() < OUTBOX_MAX {
            self.outbox.push_back(Outgoing::Control(to, bytes));
        }
    }

    /// A client at a proven address asks to be let in; without `key` its code is wrong.
    fn open(&mut self, now: Instant, from: SocketAddr, nonce: Nonce, key: Option<Key>) {
        let Some(key) = key else {
            return self.turn_away(from, nonce, Refusal::WrongKey, "it has another key");
        };
        let is_it = |session: &&Session| session.control == from && session.nonce == nonce;
        if let Some(session) = self.sessions.iter().find(is_it) {
            let bytes = session.accepted.clone();
            return self.tell(from, bytes);
        }
        if self.sessions.len() >= self.config.sessions_max {
            return self.turn_away(from, nonce, Refusal::Busy, "there is no session left");
        }
        let whole = unguessable(&self.config.secret, b"session", self.opened);
        self.opened += 1;
        let session = u64::from_be_bytes(*whole.first_chunk().expect("a key has 32 bytes"));
        let accepted = Accepted { nonce, session, limits: self.limits() };
        let code = auth::code(&key, &accepted.covered());
        let bytes = wire::emit(&Datagram::Accepted { accepted, code });
        self.sessions.push(Session {
            control: from,
            bulk: None,
            nonce,
            link: Link::new(&key, session, auth::Side::Server),
            accepted: bytes.clone(),
            opened: now,
            heard: now,
            confirmed: false,
            phase: None,
            state: State::Idle,
        });
        self.tell(from, bytes);
        self.events.push_back(ServerEvent::Opened(from));
    }

    fn turn_away(&mut self, from: SocketAddr, nonce: Nonce, reason: Refusal, why: &'static str) {
        self.tell(from, wire::emit(&Datagram::Turned { nonce, reason }));
        self.events.push_back(ServerEvent::Refused(from, why));
    }

    fn handle_probe(&mut self, now: Instant, received: &Received<'_>, probe: &Probe) {
        let is_it = |session: &&mut Session| session.link.session() == probe.session;
        let Some(session) = self.sessions.iter_mut().find(is_it) else { return };
        if session.address(probe.kind) != Some(received.from) || session.phase != Some(probe.phase)
        {
            return;
        }
        if let State::Receiving { receiver, .. } = &mut session.state {
            session.heard = now;
            receiver.handle(now, probe.sample(self.config.clock.read_ns(received.at)));
        }
    }

    fn handle_sealed(&mut self, now: Instant, from: SocketAddr, sealed: &Sealed<'_>) {
        let is_it = |session: &Session| session.link.session() == sealed.session;
        let Some(index) = self.sessions.iter().position(is_it) else { return };
        let Some(message) = self.sessions[index].link.open(sealed) else { return };
        let session = &mut self.sessions[index];
        if let Message::Attach { nonce, token } = message {
            if is_token(&self.config.secret, &from, &nonce, &token, now) {
                (session.bulk, session.heard, session.confirmed) = (Some(from), now, true);
                let bytes = session.link.seal(&Message::Attached);
                self.tell(from, bytes);
            }
            return;
        }
        if from != session.control {
            return;
        }
        (session.heard, session.confirmed) = (now, true);
        match message {
            Message::Prepare { phase, direction, plan } => {
                let answer = self.prepare(now, index, phase, direction, plan);
                self.say(index, &answer);
            }
            Message::Finished { phase, .. } if Some(phase) == session.phase => {
                match &mut session.state {
                    State::Receiving { finished, .. } => {
                        finished.get_or_insert(now);
                    }
                    State::Received { .. } => self.say_summary(index),
                    _ => {}
                }
            }
            Message::FinishedHeard { phase } if Some(phase) == session.phase => {
                if matches!(session.state, State::Sent { .. }) {
                    session.state = State::Idle;
                }
            }
            Message::Fetch { phase, first, wanted } if Some(phase) == session.phase => {
                self.send_chunks(index, first, wanted);
            }
            Message::Stop { done } => {
                self.say(index, &Message::Stopped);
                self.close(index, if done { Ending::Done } else { Ending::Stopped });
            }
            _ => {}
        }
    }

    /// Begins a phase, or has begun it before.
    fn prepare(
        &mut self,
        now: Instant,
        index: usize,
        phase: u32,
        direction: Direction,
        plan: PhasePlan,
    ) -> Message {
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
        session.phase = Some(phase);
        session.state = match direction {
            Direction::Down => State::Sending { sender: Sender::new(plan.clone(), now) },
            Direction::Up => State::Receiving {
                receiver: Receiver::new(&plan, now),
                finished: None,
                alive: now + ALIVE_INTERVAL,
            },
        };
        self.events.push_back(ServerEvent::PhaseBegan(session.control, direction, plan));
        Message::Ready { phase }
    }

    fn send_chunks(&mut self, index: usize, first: u32, wanted: u16) {
        let session = &mut self.sessions[index];
        let (State::Received { receiver }, Some(phase)) = (&session.state, session.phase) else {
            return;
        };
        for place in (0..u16::BITS).filter(|place| wanted >> place & 1 == 1) {
            let chunk = first.saturating_add(place);
            let from = chunk as usize * CHUNK_SAMPLES;
            let Some(rest) = receiver.samples().get(from..) else { return };
            let samples = rest[..rest.len().min(CHUNK_SAMPLES)].to_vec();
            let message = Message::Chunk { phase, index: chunk, samples };
            let bytes = session.link.seal(&message);
            if self.outbox.len() < OUTBOX_MAX {
                self.outbox.push_back(Outgoing::Control(session.control, bytes));
            }
        }
    }

    fn say_summary(&mut self, index: usize) {
        let session = &self.sessions[index];
        let (State::Received { receiver }, Some(phase)) = (&session.state, session.phase) else {
            return;
        };
        let (samples, duplicates) = (receiver.samples().len() as u32, receiver.duplicates());
        self.say(index, &Message::Summary { phase, samples, duplicates });
    }

    fn say(&mut self, index: usize, message: &Message) {
        let session = &mut self.sessions[index];
        let bytes = session.link.seal(message);
        let to = session.control;
        self.tell(to, bytes);
    }

    fn close(&mut self, index: usize, ending: Ending) {
        let session = self.sessions.swap_remove(index);
        let left = |outgoing: &Outgoing| match outgoing {
            Outgoing::Probe { session: of, .. } => *of != session.link.session(),
            Outgoing::Control(..) => true,
        };
        self.outbox.retain(left);
        self.events.push_back(ServerEvent::Closed(session.control, ending));
    }
}

/// Whether a phase is within what the server allows.
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
    // Streams of one kind follow each other.
    let rate_bps = |kind| {
        let of_kind = plan.streams.iter().filter(|stream| stream.kind == kind);
        of_kind.map(StreamPlan::rate_bps).max().unwrap_or(0)
    };
    let total = rate_bps(StreamKind::Sparse).saturating_add(rate_bps(StreamKind::Bulk));
    if total > config.rate_max_bps {
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

impl Session {
    /// Where packets of `kind` go to, or come from.
    fn address(&self, kind: StreamKind) -> Option<SocketAddr> {
        match kind {
            StreamKind::Sparse => Some(self.control),
            StreamKind::Bulk => self.bulk,
        }
    }

    /// When it ends if nothing is heard, and why.
    fn expiry(&self, config: &ServerConfig) -> (Instant, Ending) {
        let silence = match self.state {
            _ if !self.confirmed => CONFIRM,
            State::Sending { .. } => SILENCE_WHILE_SENDING,
            _ => SILENCE,
        };
        let vanished = (self.heard.saturating_add(silence), Ending::Vanished);
        let too_long = (self.opened.saturating_add(config.duration_max), Ending::TooLong);
        if too_long.0 < vanished.0 { too_long } else { vanished }
    }

    fn next_wakeup(&self) -> Option<(Instant, Reason)> {
        match &self.state {
            State::Idle | State::Received { .. } => None,
            State::Sending { sender } => {
                Some((sender.next().unwrap_or(sender.end()), Reason::Departure))
            }
            State::Sent { retry, .. } => Some((*retry, Reason::Retry)),
            State::Receiving { receiver, finished: Some(finished), .. } => {
                Some((receiver.quiet_at(*finished), Reason::Drained))
            }
            State::Receiving { alive, .. } => Some((*alive, Reason::Alive)),
        }
    }
}

impl Machine for Server {
    type Reason = Reason;

    fn poll_timeout(&self) -> Option<(Instant, Reason)> {
        let of_session = |session: &Session| {
            let (at, _) = session.expiry(&self.config);
            session.next_wakeup().into_iter().chain([(at, Reason::Expiry)])
        };
        self.sessions.iter().flat_map(of_session).min_by_key(|(at, _)| *at)
    }

    fn handle_timeout(&mut self, now: Instant) {
        for index in (0..self.sessions.len()).rev() {
            let (at, ending) = self.sessions[index].expiry(&self.config);
            if at <= now {
                self.say(index, &Message::Stopped);
                self.close(index, ending);
                continue;
            }
            self.handle_session(now, index);
        }
    }
}

impl Server {
    /// Does what is due in a session.
    fn handle_session(&mut self, now: Instant, index: usize) {
        let session = &mut self.sessions[index];
        if session.next_wakeup().is_none_or(|(at, _)| at > now) {
            return;
        }
        let Some(phase) = session.phase else { return };
        match &mut session.state {
            State::Idle | State::Received { .. } => {}
            State::Sending { sender } => {
                while let Some(due) = sender.take(now) {
                    let to = match due.kind {
                        StreamKind::Sparse => Some(session.control),
                        StreamKind::Bulk => session.bulk,
                    };
                    let Some(to) = to else { continue };
                    let session = session.link.session();
                    self.outbox.push_back(Outgoing::Probe { to, due, session, phase });
                }
                if sender.next().is_none() && sender.end() <= now {
                    // Said at the next wake-up: what of the last packets could not be
                    // sent is known only then.
                    session.state = State::Sent { sender: sender.clone(), retry: now };
                }
            }
            State::Sent { sender, retry } => {
                *retry = now + RETRY;
                let started_ns = self.config.clock.read_ns(sender.start());
                let counts = sender.counts().to_vec();
                self.say(index, &Message::Finished { phase, started_ns, counts });
            }
            State::Receiving { receiver, finished, alive } => {
                if finished.is_some() {
                    session.state = State::Received { receiver: receiver.take() };
                    self.say_summary(index);
                } else {
                    *alive = now + ALIVE_INTERVAL;
                    self.say(index, &Message::Alive);
                }
            }
        }
    }
}

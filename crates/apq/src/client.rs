//! The host that measures: it proves the addresses of its two sockets, has the
//! server run phases, collects their records and passes them to the survey.
//!
//! During a phase it sends only what the plan says through the queue under test:
//! the receiver reports regularly, the sender does not. A server that is not heard
//! for [`ClientConfig::idle_timeout`] has vanished. Leaves out sockets and clocks,
//! which are the driver's.

use crate::auth::{self, NONCE_BYTES, Nonce, Side, Token, handshake_key, unguessable};
use crate::link::Link;
use crate::proof::{Proof, Proofs};
use crate::receiver::Receiver;
use crate::record::{PhaseRecord, Sample, StreamCount};
use crate::sender::{Due, Sender};
use crate::survey::{Phase, Survey};
use crate::wire::{self, CHUNK_SAMPLES, Datagram, Limits, Message, Probe, Refusal};
use crate::{Direction, HostClock, Received, SocketId, StreamKind, Transmit, TransmitKind};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::mem;
use core::net::SocketAddr;
use lasthop_units::{Bitrate, Duration, Instant, Machine};
use zeroize::{Zeroize, Zeroizing};

/// First delay before an unanswered message is repeated; doubles with each
/// repetition.
const RETRY_FIRST: Duration = Duration::from_millis(200);
/// Upper bound of that delay.
const RETRY_MAX: Duration = Duration::from_secs(1);
/// Time from the start of a server until it listens, also on a busy host.
const STARTING: Duration = Duration::from_secs(3);
/// Number of `Stop` messages to a server that does not answer.
const STOP_TRIES: u32 = 4;
/// Interval of keep-alive messages, which also show the received values: eight of them in the
/// second for which a server sends without one.
const ALIVE_INTERVAL: Duration = Duration::from_millis(125);
/// Number of chunks per request.
const WINDOW: u32 = 16;

/// The configuration of a client. Key and secret are wiped when it is dropped.
#[derive(Clone, Debug, PartialEq)]
pub struct ClientConfig {
    /// Address of the server.
    pub server: SocketAddr,
    /// The key that both hosts know, if the server requires one.
    pub key: Option<[u8; 32]>,
    /// A secret of 32 random bytes.
    pub secret: [u8; 32],
    /// The clock that stamps packets.
    pub clock: HostClock,
    /// Time without a message of the server after which the client gives up.
    pub idle_timeout: Duration,
}

impl Drop for ClientConfig {
    fn drop(&mut self) {
        self.key.zeroize();
        self.secret.zeroize();
    }
}

/// An event that a client reports.
#[derive(Clone, Debug, PartialEq)]
pub enum ClientEvent {
    /// The server has accepted the session.
    Accepted,
    /// A phase has started.
    PhaseBegan {
        /// Number of the phase, from 0.
        number: u32,
        /// Direction and plan of the phase.
        phase: crate::Phase,
    },
    /// A phase has ended, and the survey has its record.
    PhaseDone {
        /// Number of the phase, from 0.
        number: u32,
        /// The record of the phase.
        record: PhaseRecord,
    },
    /// The survey is complete; its report is in [`Client::survey`].
    Done,
    /// The measurement was stopped; the server knows, or did not answer.
    Stopped,
    /// The measurement failed; nothing more will happen.
    Failed(ClientError),
}

/// Why a measurement failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ClientError {
    /// The server never answered.
    #[error("{0} does not answer: `lasthop apq serve` must run there, and UDP must get through")]
    Silent(SocketAddr),
    /// The server answered before, but no longer does.
    #[error("{0} no longer answers")]
    Vanished(SocketAddr),
    /// No program listens at that port.
    #[error("nothing listens at {0}: `lasthop apq serve` must run there")]
    Unreachable(SocketAddr),
    /// The server uses another version of the protocol.
    #[error("the server speaks version {theirs} of the protocol, this program version {ours}")]
    Version {
        /// Version of the server.
        theirs: u8,
        /// Version of this program.
        ours: u8,
    },
    /// The server requires a key, and none is configured.
    #[error("the server asks for a key")]
    KeyNeeded,
    /// The server has another key, or none.
    #[error("the server has another key")]
    WrongKey,
    /// The server refuses, for this reason.
    #[error("the server refuses: {0}")]
    Refused(String),
}

/// Why a client asks to be woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientReason {
    /// A message was not answered.
    Retry,
    /// A packet of a flow is due.
    Departure,
    /// A keep-alive message to the server is due.
    Alive,
    /// Packets in flight have had time to arrive.
    Drained,
    /// The server was silent for too long.
    IdleTimeout,
}

/// The host that measures.
#[derive(Clone, Debug, PartialEq)]
pub struct Client {
    config: ClientConfig,
    survey: Survey,
    state: State,
    /// The session with the server, once there is one.
    link: Option<Link>,
    limits: Option<Limits>,
    /// The newest proof of reception of each socket.
    proofs: Proofs,
    /// Number of phases completed, which is also the number of the current one.
    phases: u32,
    /// Number of handshakes started: no nonce is used twice.
    nonces: u64,
    /// Time at which the server was last heard; before that, the start of the client.
    heard: Instant,
    outbox: VecDeque<Outgoing>,
    events: VecDeque<ClientEvent>,
}

/// A datagram that waits to be sent.
#[derive(Clone, Debug, PartialEq)]
enum Outgoing {
    Control(SocketId, Vec<u8>),
    /// A packet of a flow; it is stamped when it is sent.
    Probe(Due, u32),
}

/// The state of a measurement.
#[derive(Clone, Debug, PartialEq)]
enum State {
    /// A handshake of one of the two sockets.
    Handshake { socket: SocketId, nonce: Nonce, step: Step, retry: Retry },
    /// The server was asked to run a phase.
    Preparing { phase: Phase, retry: Retry },
    /// The server sends. The phase ends after the server's report of the packets sent.
    Receiving { phase: Phase, receiver: Receiver, sent: Option<Sent>, alive: Instant },
    /// The client sends.
    Sending { phase: Phase, sender: Sender },
    /// The client has sent everything, and the server has not yet reported what
    /// arrived.
    Finishing { phase: Phase, sender: Sender, retry: Retry },
    /// The record of the server is fetched chunk by chunk.
    Fetching(Box<Fetching>),
    /// The client has sent the end of the session.
    Stopping { done: bool, retry: Retry },
    /// The measurement has ended.
    Ended,
}

/// The progress of a handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// The server has not answered.
    Hello,
    /// The server has sent a token, which must be returned.
    Proving(Token),
}

/// The server's report of the packets that it sent.
#[derive(Clone, Debug, PartialEq)]
struct Sent {
    heard: Instant,
    started_ns: u64,
    counts: Vec<StreamCount>,
}

/// When a message is repeated.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Retry {
    at: Instant,
    tries: u32,
}

impl Retry {
    fn first(now: Instant) -> Self {
        Self { at: now + RETRY_FIRST, tries: 1 }
    }

    /// The next repetition after one at `now`: the delay doubles up to a bound.
    fn again(self, now: Instant) -> Self {
        let wait = (RETRY_FIRST * (1 << self.tries.min(8))).min(RETRY_MAX);
        Self { at: now + wait, tries: self.tries + 1 }
    }
}

/// The record of a phase while it is fetched from the server.
#[derive(Clone, Debug, PartialEq)]
struct Fetching {
    phase: Phase,
    sender: Sender,
    duplicates: u32,
    samples_total: u32,
    /// Number of the first chunk in the last request.
    first: u32,
    /// Chunks of that request that are missing: bit `i` is chunk `first + i`.
    wanted: u16,
    /// Chunks of that request that have arrived.
    chunks: [Vec<Sample>; WINDOW as usize],
    samples: Vec<Sample>,
    retry: Instant,
}

impl Client {
    /// A client that starts its handshake at once.
    pub fn new(config: ClientConfig, survey: Survey, now: Instant) -> Self {
        let mut client = Self {
            config,
            survey,
            state: State::Ended,
            link: None,
            limits: None,
            proofs: Proofs::default(),
            phases: 0,
            nonces: 0,
            heard: now,
            outbox: VecDeque::new(),
            events: VecDeque::new(),
        };
        client.begin_handshake(now, SocketId::Control);
        client
    }

    /// The survey with all results so far.
    pub fn survey(&self) -> &Survey {
        &self.survey
    }

    /// The limits of the server, once they are known.
    pub fn limits(&self) -> Option<Limits> {
        self.limits
    }

    /// Handles a datagram.
    pub fn handle_datagram(&mut self, now: Instant, received: Received<'_>) {
        if received.from != self.config.server {
            return;
        }
        match wire::parse(received.payload) {
            Ok(Datagram::Probe(probe)) => self.handle_probe(now, &received, &probe),
            Ok(Datagram::Sealed(sealed)) => {
                if let Some(message) = self.link.as_mut().and_then(|link| link.open(&sealed)) {
                    self.heard = now;
                    let socket = received.socket;
                    self.note(socket, sealed.proofs[socket.index()]);
                    self.handle_message(now, message);
                }
            }
            Ok(datagram) => self.handle_handshake(now, received.socket, datagram),
            Err(_) => {}
        }
    }

    /// The network reports that nothing listens at the server's port (ICMP port
    /// unreachable). A server that is being started at the same time gets
    /// three seconds for that.
    pub fn handle_unreachable(&mut self, now: Instant) {
        match self.state {
            State::Ended => {}
            State::Stopping { done, .. } => self.end(Self::farewell(done)),
            _ if self.link.is_none() => {
                if now >= self.heard + STARTING {
                    self.fail(ClientError::Unreachable(self.config.server));
                }
            }
            _ => self.fail(ClientError::Vanished(self.config.server)),
        }
    }

    /// The last packet of that flow could not be sent: the host's buffer was full.
    pub fn handle_unsent(&mut self, _now: Instant, kind: StreamKind) {
        if let State::Sending { sender, .. } | State::Finishing { sender, .. } = &mut self.state {
            sender.unsent(kind);
        }
    }

    /// Ends the measurement: sends nothing more, except the end to the server.
    pub fn stop(&mut self, now: Instant) {
        if matches!(self.state, State::Ended | State::Stopping { .. }) {
            return;
        }
        self.outbox.clear();
        self.leave(now, false);
    }

    /// Returns the next datagram to send now.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Transmit> {
        let to = self.config.server;
        match self.outbox.pop_front()? {
            Outgoing::Control(socket, payload) => {
                let length = payload.len() as u16;
                Some(Transmit { socket, to, payload, length, kind: TransmitKind::Control })
            }
            Outgoing::Probe(due, phase) => {
                let session = self.link.as_ref().map_or(0, Link::session);
                let sent_ns = self.config.clock.read_ns(now);
                let (socket, proof) = (due.kind.socket(), Proof::default());
                Some(due.transmit(to, socket, session, phase, sent_ns, proof))
            }
        }
    }

    /// Returns the next event.
    pub fn poll_event(&mut self) -> Option<ClientEvent> {
        self.events.pop_front()
    }

    // Handshakes.

    fn begin_handshake(&mut self, now: Instant, socket: SocketId) {
        let whole = unguessable(&self.config.secret, b"nonce", &[self.nonces]);
        self.nonces += 1;
        let mut nonce = [0; NONCE_BYTES];
        nonce.copy_from_slice(&whole[..NONCE_BYTES]);
        self.state =
            State::Handshake { socket, nonce, step: Step::Hello, retry: Retry::first(now) };
        self.say_handshake();
    }

    /// Sends the message of the handshake's current step.
    fn say_handshake(&mut self) {
        let State::Handshake { socket, nonce, step, .. } = &self.state else { return };
        let (socket, nonce, step) = (*socket, *nonce, *step);
        let payload = match (step, socket) {
            (Step::Hello, _) => wire::emit(&Datagram::Hello(nonce)),
            (Step::Proving(token), SocketId::Control) => {
                let key = Zeroizing::new(handshake_key(self.config.key.as_ref(), &nonce, &token));
                let mac_tag = auth::mac_tag(&key, &wire::open_covered(&nonce, &token));
                wire::emit(&Datagram::Open { nonce, token, mac_tag })
            }
            (Step::Proving(token), SocketId::Bulk) => {
                let Some(link) = &mut self.link else { return };
                link.seal(&Message::Attach { nonce, token }, &self.proofs)
            }
        };
        self.outbox.push_back(Outgoing::Control(socket, payload));
    }

    fn handle_handshake(&mut self, now: Instant, at: SocketId, datagram: Datagram<'_>) {
        let State::Handshake { socket, nonce, step, .. } = &self.state else { return };
        let (socket, ours, step) = (*socket, *nonce, *step);
        if at != socket {
            return;
        }
        match (datagram, step) {
            (Datagram::OtherVersion { version: theirs, nonce }, Step::Hello) if nonce == ours => {
                self.fail(ClientError::Version { theirs, ours: wire::VERSION });
            }
            (Datagram::Challenge { nonce, token, keyed }, Step::Hello) if nonce == ours => {
                self.heard = now;
                match (keyed, self.config.key.is_some()) {
                    (true, false) => return self.fail(ClientError::KeyNeeded),
                    (false, true) => return self.fail(ClientError::WrongKey),
                    _ => {}
                }
                let (step, retry) = (Step::Proving(token), Retry::first(now));
                self.state = State::Handshake { socket, nonce, step, retry };
                self.say_handshake();
            }
            (Datagram::Turned { nonce, reason }, Step::Proving(_)) if nonce == ours => {
                self.refused(reason);
            }
            (Datagram::Accepted { accepted, mac_tag }, Step::Proving(token))
                if accepted.nonce == ours && socket == SocketId::Control =>
            {
                let key = Zeroizing::new(handshake_key(self.config.key.as_ref(), &ours, &token));
                if !auth::is_mac_tag(&key, &accepted.covered(), &mac_tag) {
                    return;
                }
                self.heard = now;
                self.link = Some(Link::new(&key, accepted.session, Side::Client));
                self.limits = Some(accepted.limits);
                self.survey.limit_rate(accepted.limits.rate_max_bps);
                self.begin_handshake(now, SocketId::Bulk);
            }
            _ => {}
        }
    }

    // Phases.

    /// Starts the survey's next phase, or ends.
    fn next_phase(&mut self, now: Instant) {
        match self.survey.phase() {
            Some(phase) => {
                self.state = State::Preparing { phase, retry: Retry::first(now) };
                self.say_prepare();
            }
            None => self.leave(now, true),
        }
    }

    fn say_prepare(&mut self) {
        let State::Preparing { phase, .. } = &self.state else { return };
        let (direction, plan) = (phase.direction, phase.plan.clone());
        self.say(&Message::Prepare { phase: self.phases, direction, plan });
    }

    fn say_finished(&mut self) {
        let State::Finishing { sender, .. } = &self.state else { return };
        let started_ns = self.config.clock.read_ns(sender.start());
        let counts = sender.counts().to_vec();
        self.say(&Message::Finished { phase: self.phases, started_ns, counts });
    }

    fn handle_probe(&mut self, now: Instant, received: &Received<'_>, probe: &Probe) {
        let is_ours = self.link.as_ref().is_some_and(|link| link.session() == probe.session);
        if !is_ours || received.socket != probe.kind.socket() {
            return;
        }
        self.note(received.socket, probe.proof);
        if probe.phase != self.phases {
            return;
        }
        // The first packets may overtake the server's message that it is ready, or that
        // is lost.
        if let State::Preparing { phase, .. } = &self.state
            && phase.direction == Direction::Down
        {
            self.begin_phase(now);
        }
        let State::Receiving { receiver, .. } = &mut self.state else { return };
        self.heard = now;
        receiver.handle(now, probe.sample(self.config.clock.read_ns(received.at)));
    }

    /// Remembers the proof that `socket` received, to be shown to the server, if it
    /// is the newest.
    fn note(&mut self, socket: SocketId, proof: Proof) {
        let newest = &mut self.proofs[socket.index()];
        if proof.at_ms > newest.at_ms {
            *newest = proof;
        }
    }

    /// Starts the phase that the server is ready for.
    fn begin_phase(&mut self, now: Instant) {
        let State::Preparing { phase, .. } = &self.state else { return };
        let phase = phase.clone();
        let (number, began) = (self.phases, phase.clone());
        self.events.push_back(ClientEvent::PhaseBegan { number, phase: began });
        self.state = match phase.direction {
            Direction::Down => State::Receiving {
                receiver: Receiver::new(&phase.plan, now),
                phase,
                sent: None,
                alive: now + ALIVE_INTERVAL,
            },
            Direction::Up => State::Sending { sender: Sender::new(phase.plan.clone(), now), phase },
        };
    }

    fn handle_message(&mut self, now: Instant, message: Message) {
        let current = self.phases;
        match (message, &mut self.state) {
            (Message::Attached, State::Handshake { socket: SocketId::Bulk, .. }) => {
                self.events.push_back(ClientEvent::Accepted);
                self.next_phase(now);
            }
            (Message::Ready { phase }, State::Preparing { .. }) if phase == current => {
                self.begin_phase(now);
            }
            (Message::Finished { phase, started_ns, counts }, state) => {
                if let State::Receiving { phase: planned, sent, .. } = state
                    && phase == current
                    && counts.len() == planned.plan.streams.len()
                {
                    sent.get_or_insert(Sent { heard: now, started_ns, counts });
                }
                // Also if it is repeated after the phase: then the first acknowledgement was
                // lost.
                if phase <= current {
                    self.say(&Message::FinishedHeard { phase });
                }
            }
            (
                Message::Summary { phase, samples, duplicates },
                State::Finishing { phase: planned, sender, .. },
            ) if phase == current && u64::from(samples) <= planned.plan.packets() => {
                let (phase, sender) = (planned.clone(), sender.clone());
                let fetching = Fetching::new(phase, sender, samples, duplicates);
                self.state = State::Fetching(Box::new(fetching));
                self.fetch(now);
            }
            (Message::Chunk { phase, index, samples }, State::Fetching(fetching))
                if phase == current =>
            {
                fetching.take(index, samples);
                if fetching.wanted == 0 {
                    self.fetch(now);
                }
            }
            (
                Message::Refused { reason },
                State::Preparing { .. } | State::Handshake { socket: SocketId::Bulk, .. },
            ) => self.refused(reason),
            (Message::Stopped, State::Stopping { done, .. }) => {
                let done = *done;
                self.end(Self::farewell(done));
            }
            (Message::Stopped, State::Ended) => {}
            (Message::Stopped, _) => self.refused(Refusal::Ending),
            _ => {}
        }
    }

    /// Requests the missing chunks, or completes the phase.
    fn fetch(&mut self, now: Instant) {
        let State::Fetching(fetching) = &mut self.state else { return };
        if fetching.wanted == 0 && !fetching.advance() {
            let counts = fetching.sender.counts().to_vec();
            let started_ns = self.config.clock.read_ns(fetching.sender.start());
            let (samples, duplicates) = (mem::take(&mut fetching.samples), fetching.duplicates);
            let phase = fetching.phase.clone();
            return self.close_phase(now, phase, started_ns, counts, samples, duplicates);
        }
        fetching.retry = now + RETRY_FIRST;
        let (first, wanted) = (fetching.first, fetching.wanted);
        self.say(&Message::Fetch { phase: self.phases, first, wanted });
    }

    fn close_phase(
        &mut self,
        now: Instant,
        phase: Phase,
        started_ns: u64,
        counts: Vec<StreamCount>,
        samples: Vec<Sample>,
        duplicates: u32,
    ) {
        let Phase { direction, plan } = phase;
        let record = PhaseRecord { direction, plan, started_ns, counts, samples, duplicates };
        self.survey.handle_record(&record);
        self.events.push_back(ClientEvent::PhaseDone { number: self.phases, record });
        self.phases += 1;
        self.next_phase(now);
    }

    // Ends.

    /// Tells the server that the session ends.
    fn leave(&mut self, now: Instant, done: bool) {
        if self.link.is_none() {
            return self.end(Self::farewell(done));
        }
        self.state = State::Stopping { done, retry: Retry::first(now) };
        self.say(&Message::Stop { done });
    }

    fn farewell(done: bool) -> ClientEvent {
        if done { ClientEvent::Done } else { ClientEvent::Stopped }
    }

    fn fail(&mut self, why: ClientError) {
        self.end(ClientEvent::Failed(why));
    }

    fn refused(&mut self, reason: Refusal) {
        let limits = self.limits;
        self.fail(match reason {
            Refusal::WrongKey => ClientError::WrongKey,
            other => ClientError::Refused(words(other, limits)),
        });
    }

    fn end(&mut self, event: ClientEvent) {
        self.state = State::Ended;
        self.events.push_back(event);
    }

    fn say(&mut self, message: &Message) {
        if let Some(link) = &mut self.link {
            let payload = link.seal(message, &self.proofs);
            self.outbox.push_back(Outgoing::Control(SocketId::Control, payload));
        }
    }

    /// Returns the time at which the client gives up, if it is waiting.
    fn idle_deadline(&self) -> Option<Instant> {
        let waits = !matches!(self.state, State::Ended | State::Stopping { .. });
        waits.then(|| self.heard.saturating_add(self.config.idle_timeout))
    }
}

/// A refusal as text.
fn words(reason: Refusal, limits: Option<Limits>) -> String {
    match (reason, limits) {
        (Refusal::Busy, _) => "it has as many sessions as it allows; try again later".into(),
        (Refusal::Full, _) => {
            "it holds as many packets for other measurements as it allows; try again later".into()
        }
        (Refusal::TooFast, Some(limits)) => {
            format!("it allows at most {}", Bitrate::from_bps(limits.rate_max_bps))
        }
        (Refusal::TooMany, Some(limits)) => {
            format!("it allows at most {} packets at a time", limits.phase_packets_max)
        }
        (Refusal::TooLong, Some(limits)) => {
            format!("a session may last {} at most", limits.duration_max)
        }
        (Refusal::Ending, _) => "it is being stopped, the session took too long, or it did not \
                                hear this host for several seconds"
            .into(),
        _ => "it does not understand the request".into(),
    }
}

impl Fetching {
    fn new(phase: Phase, sender: Sender, samples_total: u32, duplicates: u32) -> Self {
        Self {
            phase,
            sender,
            duplicates,
            samples_total,
            first: 0,
            wanted: 0,
            chunks: Default::default(),
            samples: Vec::with_capacity(samples_total as usize),
            retry: Instant::MAX,
        }
    }

    /// Appends the chunks that arrived and selects the next ones; `false` if there
    /// are none.
    fn advance(&mut self) -> bool {
        for chunk in &mut self.chunks {
            self.samples.append(chunk);
        }
        self.first = (self.samples.len() / CHUNK_SAMPLES) as u32;
        let left = (self.samples_total as usize).saturating_sub(self.samples.len());
        let chunks = left.div_ceil(CHUNK_SAMPLES).min(WINDOW as usize);
        self.wanted = ((1u32 << chunks) - 1) as u16;
        chunks > 0
    }

    /// Handles a chunk.
    fn take(&mut self, index: u32, samples: Vec<Sample>) {
        let place = index.wrapping_sub(self.first);
        let before = self.samples.len() + place as usize * CHUNK_SAMPLES;
        let left = (self.samples_total as usize).saturating_sub(before);
        let is_wanted = place < WINDOW && self.wanted >> place & 1 == 1;
        if is_wanted && samples.len() == left.min(CHUNK_SAMPLES) {
            self.wanted &= !(1 << place);
            self.chunks[place as usize] = samples;
        }
    }
}

impl Machine for Client {
    type Reason = ClientReason;

    fn poll_timeout(&self) -> Option<(Instant, ClientReason)> {
        let by_state = match &self.state {
            State::Handshake { retry, .. }
            | State::Preparing { retry, .. }
            | State::Finishing { retry, .. }
            | State::Stopping { retry, .. } => Some((retry.at, ClientReason::Retry)),
            State::Fetching(fetching) => Some((fetching.retry, ClientReason::Retry)),
            State::Receiving { receiver, sent, alive, .. } => Some(match sent {
                Some(sent) => (receiver.quiet_at(sent.heard), ClientReason::Drained),
                None => (*alive, ClientReason::Alive),
            }),
            State::Sending { sender, .. } => {
                Some((sender.next().unwrap_or(sender.end()), ClientReason::Departure))
            }
            State::Ended => None,
        };
        let by_idle_timeout = self.idle_deadline().map(|at| (at, ClientReason::IdleTimeout));
        by_state.into_iter().chain(by_idle_timeout).min_by_key(|(at, _)| *at)
    }

    fn handle_timeout(&mut self, now: Instant) {
        if self.idle_deadline().is_some_and(|at| at <= now) {
            let server = self.config.server;
            return self.fail(match self.link {
                Some(_) => ClientError::Vanished(server),
                None => ClientError::Silent(server),
            });
        }
        let phase_number = self.phases;
        match &mut self.state {
            State::Handshake { retry, .. } if retry.at <= now => {
                *retry = retry.again(now);
                self.say_handshake();
            }
            State::Preparing { retry, .. } if retry.at <= now => {
                *retry = retry.again(now);
                self.say_prepare();
            }
            State::Finishing { retry, .. } if retry.at <= now => {
                *retry = retry.again(now);
                self.say_finished();
            }
            State::Stopping { done, retry } if retry.at <= now => {
                let done = *done;
                if retry.tries >= STOP_TRIES {
                    return self.end(Self::farewell(done));
                }
                *retry = Retry { at: now + RETRY_FIRST, tries: retry.tries + 1 };
                self.say(&Message::Stop { done });
            }
            State::Fetching(fetching) if fetching.retry <= now => self.fetch(now),
            State::Receiving { phase, receiver, sent: Some(sent), .. }
                if receiver.quiet_at(sent.heard) <= now =>
            {
                let (phase, sent) = (phase.clone(), sent.clone());
                let (samples, duplicates) = receiver.take_samples();
                self.close_phase(now, phase, sent.started_ns, sent.counts, samples, duplicates);
            }
            State::Receiving { sent: None, alive, .. } if *alive <= now => {
                *alive = now + ALIVE_INTERVAL;
                self.say(&Message::Alive);
            }
            State::Sending { phase, sender } => {
                while let Some(due) = sender.take(now) {
                    self.outbox.push_back(Outgoing::Probe(due, phase_number));
                }
                if sender.next().is_none() && sender.end() <= now {
                    let (phase, sender) = (phase.clone(), sender.clone());
                    // Reported at the next wake-up: only then it is known which of the last packets
                    // could not be sent.
                    let retry = Retry { at: now, tries: 0 };
                    self.state = State::Finishing { phase, sender, retry };
                }
            }
            _ => {}
        }
    }
}

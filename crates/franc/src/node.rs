//! A node of any role: IP packets on one side, datagrams on the other.
//!
//! `end` is encoder and decoder; `helper`, `recoder` and `forwarder` are between
//! ends. All learn of a session from the HELLOs that begin it, and accept nothing
//! without its tag. `addresses` decides what proves the address of a neighbour, and
//! whom to answer. Lengths are in bytes. Leaves out interfaces and sockets, which
//! are the driver's.

mod addresses;
mod answers;
mod end;
mod forwarder;
mod handshake;
mod helper;
mod recoder;
mod sessions;
#[cfg(test)]
mod tests;

use crate::address::Address;
use crate::agreement::CodeParameters;
use crate::config::{Config, ConfigError, Keys, Role};
use crate::keys::{Secrets, Tagger};
use crate::secret::Entropy;
use crate::stats::Stats;
use crate::wire::{self, Body, Header, Hello, Hop, NodeId, WireError};
use addresses::{Addresses, Proof, Reply, Way};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use answers::Answers;
pub use answers::Unanswered;
use end::End;
use forwarder::Forwarder;
use helper::HelperPart;
use lasthop_units::{Duration, Instant, Machine, Stream};
use recoder::Recoder;

/// A datagram to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// The neighbour for which it is.
    pub to: NodeId,
    /// The link to it on which the datagram goes: 0, or 1 for the second of two.
    pub link: u8,
    /// The address to which it goes, if that is not where the neighbour is known to
    /// be: it answers a datagram from there. No copies of it go elsewhere.
    pub reply: Option<Address>,
    /// The bytes of the datagram.
    pub datagram: Vec<u8>,
}

/// A datagram from a neighbour that is not a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heard {
    /// The neighbour that sent it.
    pub sender: NodeId,
    /// The link on which it came.
    pub link: u8,
    /// Whether it proved an address at which the neighbour was not known to be.
    pub is_moved: bool,
}

/// An event for the driver or the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A session began.
    Connected {
        /// The other end.
        peer: NodeId,
    },
    /// The other end is silent or restarted: packets in flight may be lost.
    Disconnected {
        /// The other end.
        peer: NodeId,
    },
    /// Datagrams arrive that this node's key does not authenticate (reported at
    /// most once a second).
    KeyMismatch {
        /// The sender that they name.
        sender: NodeId,
        /// Whether the sender runs without a key ([`crate::config::Keys::Insecure`]).
        is_keyless: bool,
    },
    /// The other end uses other parameters of the code (reported at most once a
    /// second).
    CodeMismatch {
        /// The other end.
        peer: NodeId,
        /// The parameters of this end.
        ours: CodeParameters,
        /// The likely ones of the other end, which sends only a digest of them.
        theirs: Option<CodeParameters>,
    },
    /// Datagrams of another version of the protocol arrive (reported at most once a
    /// second).
    VersionMismatch {
        /// The sender that they name.
        sender: NodeId,
        /// Version of the sender.
        theirs: u8,
    },
    /// There is no session for some seconds (reported once a minute).
    Unanswered {
        /// The other end; between the ends, a neighbour.
        peer: NodeId,
        /// The likely reason.
        why: Unanswered,
    },
    /// Datagrams of the session do not arrive: another session is requested.
    Stalled {
        /// The other end.
        peer: NodeId,
    },
    /// The length of the longest datagram that the path carries was found, and has
    /// changed.
    PathMtu {
        /// The other end.
        peer: NodeId,
        /// That length in bytes, as in [`crate::config::Config::datagram_bytes_max`].
        datagram_bytes: u16,
    },
    /// One of two links died, or works again. On a dead one only pulses go.
    Link {
        /// The other end.
        peer: NodeId,
        /// Number of the link, from 0 on.
        link: u8,
        /// Whether it works.
        is_alive: bool,
        /// Time since the newest datagram before was sent there that arrived.
        silent: Duration,
    },
}

/// Why a node asks to be woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The rate allows the next datagram.
    Pace,
    /// An acknowledgement is due.
    Acknowledge,
    /// An acknowledgement did not arrive.
    EncoderTimeout,
    /// A session is to be begun, announced or requested.
    Hello,
    /// A report to the other end of what arrived is due.
    Pulse,
    /// A probe of longer datagrams is due.
    Probe,
    /// A deadline, such as that of a neighbour's silence.
    Expiry,
}

/// Shortest interval of reports about problems.
const COMPLAINT_INTERVAL: Duration = Duration::from_secs(1);

/// Largest number of events that wait for the driver.
const EVENTS_MAX: usize = 64;

/// Largest number of datagrams that precede all others and wait for the interface. Each is repeated
/// if it is not answered.
const URGENT_MAX: usize = 32;

/// A node of a coded link.
///
/// Two ends, a driver that loses every third datagram, and a packet that arrives nevertheless:
///
/// ```
/// use lasthop_franc::config::{Config, ConfigError, Keys, Role};
/// use lasthop_franc::{Address, Entropy, Node, NodeId};
/// use lasthop_units::{Duration, Instant, Machine, Seed};
///
/// let end = |id: u8, peer: u8| {
///     let (id, peer) = (NodeId(id), NodeId(peer));
///     let role = Role::End { peer, via: peer, helpers: 0 };
///     let mut stream = Seed::new(1, u64::from(id.0)).stream("node");
///     let entropy = Entropy::from_stream(&mut stream);
///     Node::new(Config::new(id, role, Keys::Shared([7; 32]), 1472), entropy, stream, Instant::ZERO)
/// };
/// let mut nodes = [end(1, 2)?, end(2, 1)?];
/// // An IPv4 packet: header, then data.
/// let mut packet = vec![9; 100];
/// packet[..20].copy_from_slice(&[
///     0x45, 0, 0, 100, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2,
/// ]);
/// let (mut sent, mut arrived) = (0, 0);
/// for ms in 0..3_000 {
///     let now = Instant::ZERO + Duration::from_millis(ms);
///     if ms >= 1_000 && ms % 10 == 0 && ms < 2_000 {
///         nodes[0].handle_packet(now, &packet);
///     }
///     for from in [0, 1] {
///         nodes[from].handle_timeout(now);
///         while let Some(transmit) = nodes[from].poll_transmit(now) {
///             sent += 1;
///             if sent % 3 != 0 {
///                 let address = Address::Node(NodeId(from as u8 + 1));
///                 nodes[1 - from].handle_datagram(now, address, &transmit.datagram);
///             }
///         }
///     }
///     while let Some(received) = nodes[1].poll_packet() {
///         assert_eq!(received, packet);
///         arrived += 1;
///     }
/// }
/// assert_eq!(arrived, 100);
/// # Ok::<(), ConfigError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    shared: Shared,
    part: Part,
}

/// State and configuration that all roles use.
#[derive(Clone, Debug, PartialEq)]
struct Shared {
    config: Config,
    secrets: Secrets,
    hello_tagger: Tagger,
    stream: Stream,
    entropy: Entropy,
    addresses: Addresses,
    stats: Stats,
    events: VecDeque<Event>,
    /// No problem is reported before this instant.
    complain_at: Instant,
    answers: Answers,
    /// The last wake-up.
    told: Instant,
    /// Datagrams that precede all others.
    urgent: VecDeque<Transmit>,
}

/// The part that depends on the role.
#[derive(Clone, Debug, PartialEq)]
enum Part {
    End(Box<End>),
    Helper(Box<HelperPart>),
    Recoder(Box<Recoder>),
    Forwarder(Box<Forwarder>),
}

impl Shared {
    fn report(&mut self, event: Event) {
        if self.events.len() < EVENTS_MAX {
            self.events.push_back(event);
        }
    }

    /// Reports an event that strangers can cause at will, at a limited rate.
    fn complain(&mut self, now: Instant, event: impl FnOnce() -> Event) {
        self.answers.explained();
        if now >= self.complain_at {
            self.complain_at = now + COMPLAINT_INTERVAL;
            self.report(event());
        }
    }

    /// Reports that the end `peer` has parameters of the code with this digest.
    fn complain_of_code(&mut self, now: Instant, peer: NodeId, digest: u32) {
        let ours = CodeParameters::from(&self.config);
        self.complain(now, || Event::CodeMismatch { peer, ours, theirs: ours.with_digest(digest) });
    }

    /// Encodes a datagram with a session's tag.
    fn emit(&mut self, header: &Header, body: &Body<'_>, tagger: &Tagger) -> Transmit {
        let mut datagram = Vec::with_capacity(usize::from(self.config.datagram_bytes_max));
        wire::emit(header, body, &mut datagram);
        tagger.seal(&mut datagram);
        self.stats.datagram_bytes_sent += datagram.len() as u64;
        let (link, _) = wire::link_of(self.config.links, header.number);
        Transmit { to: header.to, link, reply: None, datagram }
    }

    /// Sends a datagram before all others, unless too many of them wait.
    fn hasten(&mut self, transmit: Transmit) {
        if self.urgent.len() < URGENT_MAX {
            self.urgent.push_back(transmit);
        }
    }

    /// The content of a datagram under `tagger`; `None` if it is not authentic or
    /// malformed.
    fn open<'a>(
        &mut self,
        now: Instant,
        header: &Header,
        datagram: &'a [u8],
        tagger: &Tagger,
    ) -> Option<Body<'a>> {
        if !tagger.is_authentic(datagram) {
            self.stats.unauthentic += 1;
            let sender = header.sender;
            self.complain(now, || {
                let keyless = Secrets::new(&Keys::Insecure).hello_tagger();
                Event::KeyMismatch { sender, is_keyless: keyless.is_authentic(datagram) }
            });
            return None;
        }
        match wire::parse(datagram, self.config.field) {
            Ok(body) => Some(body),
            Err(_) => {
                self.stats.malformed += 1;
                None
            }
        }
    }

    /// Counts an authentic datagram with a new number.
    fn accept(&mut self, datagram: &[u8]) {
        self.stats.datagram_bytes_received += datagram.len() as u64;
    }

    /// A random stream for a machine of this node.
    fn fork(&mut self) -> Stream {
        lasthop_units::Seed::new(self.stream.next_u64(), self.stream.next_u64()).stream("franc")
    }
}

impl Node {
    /// A node that begins at `now`. Keys and cookies are drawn from `entropy`, coefficients
    /// and losses from `stream`, in which nothing is secret.
    ///
    /// # Errors
    /// If the configuration is not valid.
    pub fn new(
        config: Config,
        mut entropy: Entropy,
        stream: Stream,
        now: Instant,
    ) -> Result<Self, ConfigError> {
        config.check()?;
        let code = config.code()?;
        let secrets = Secrets::new(&config.keys);
        let mut shared = Shared {
            hello_tagger: secrets.hello_tagger(),
            secrets,
            stream,
            addresses: Addresses::new(&mut entropy, now),
            entropy,
            stats: Stats::default(),
            events: VecDeque::new(),
            complain_at: now,
            answers: Answers::new(now),
            told: Instant::ZERO,
            urgent: VecDeque::new(),
            config,
        };
        let part = match shared.config.role.clone() {
            Role::End { peer, via, helpers } => {
                Part::End(Box::new(End::new(&mut shared, code, peer, via, helpers, now)))
            }
            Role::Helper { between, helpers } => {
                Part::Helper(Box::new(HelperPart::new(code, between, helpers, now)))
            }
            Role::Recoder { between } => Part::Recoder(Box::new(Recoder::new(code, between, now))),
            Role::Forwarder { between } => Part::Forwarder(Box::new(Forwarder::new(between, now))),
        };
        Ok(Self { shared, part })
    }

    /// Handles an IP packet from the tunnel. The packet may be dropped at once or later if the link
    /// carries less than is offered. Nodes between the ends have no tunnel.
    pub fn handle_packet(&mut self, now: Instant, packet: &[u8]) {
        match &mut self.part {
            Part::End(end) => end.handle_packet(&mut self.shared, now, packet),
            _ => self.shared.stats.refused += 1,
        }
    }

    /// Handles a datagram that came from `from`, whatever its recipient. Returns the
    /// neighbour that sent it, if it is authentic and new.
    pub fn handle_datagram(
        &mut self,
        now: Instant,
        from: Address,
        datagram: &[u8],
    ) -> Option<Heard> {
        let shared = &mut self.shared;
        let header = match Header::parse(datagram) {
            Ok(header) => header,
            Err(error) => {
                shared.stats.malformed += 1;
                if let WireError::Version { theirs, sender } = error {
                    shared.complain(now, || Event::VersionMismatch { sender, theirs });
                }
                return None;
            }
        };
        if header.sender == shared.config.id {
            // This node's own datagram, received from a shared medium, or that of a node
            // with the same number.
            if Header::is_sessionless(datagram)
                && shared.hello_tagger.is_authentic(datagram)
                && let Ok(Body::Hello(Hello { hop, .. }) | Body::Call(hop)) =
                    wire::parse(datagram, shared.config.field)
                && !shared.addresses.is_own(&hop)
            {
                shared.answers.note(now, Unanswered::SameNumber { from });
            }
            return None;
        }
        let loss = shared.config.synthetic.iter().find(|s| s.from == header.sender);
        if let Some(loss) = loss.map(|s| s.loss)
            && shared.stream.chance(loss)
        {
            shared.stats.injected_losses += 1;
            return None;
        }
        let heard = if Header::is_sessionless(datagram) {
            let tagger = shared.hello_tagger.clone();
            let body = shared.open(now, &header, datagram, &tagger)?;
            self.handle_sessionless(now, from, &header, &body)
        } else {
            let came = Came { from, header, datagram };
            match &mut self.part {
                Part::End(end) => end.handle_datagram(shared, now, &came),
                Part::Helper(helper) => helper.handle_datagram(shared, now, &came),
                Part::Recoder(recoder) => recoder.handle_datagram(shared, now, &came),
                Part::Forwarder(forwarder) => forwarder.handle_datagram(shared, now, &came),
            }
        };
        if heard.is_some() {
            self.shared.accept(datagram);
        }
        heard
    }

    /// Handles a HELLO or a CALL.
    fn handle_sessionless(
        &mut self,
        now: Instant,
        from: Address,
        header: &Header,
        body: &Body<'_>,
    ) -> Option<Heard> {
        let shared = &mut self.shared;
        let links = shared.config.links;
        let (link, count) = wire::link_of(links, header.number);
        if links > 1 && count > 0 {
            shared.stats.malformed += 1;
            return None;
        }
        let way = Way { neighbour: header.sender, link };
        let hop: &Hop = match body {
            Body::Hello(hello) => &hello.hop,
            Body::Call(hop) => hop,
            _ => return None,
        };
        let me = shared.config.id;
        let why = self.part.explains(me, from, header, body);
        if let Some(why) = why.or_else(|| strangers(&shared.config, from, header, body)) {
            shared.answers.note(now, why);
        }
        let is_neighbour = match &self.part {
            Part::End(end) => end.is_neighbour(shared, header),
            Part::Helper(helper) => helper.sessions().is_of_neighbour(header, me),
            Part::Recoder(recoder) => recoder.sessions().is_of_neighbour(header, me),
            Part::Forwarder(forwarder) => forwarder.is_neighbour(header),
        };
        let proof =
            if is_neighbour { shared.addresses.prove(now, way, from, hop) } else { Proof::Nothing };
        let is_new = shared.addresses.is_new(hop.life, hop.count);
        // While the session works, a neighbour is where it proved to be: a sender of
        // CALLs from elsewhere could have them answered there, and would be taken for
        // the neighbour. An end that asks for a session may have moved; the answer is
        // useless to others who ask in its name.
        let is_well = match &self.part {
            Part::End(end) => end.is_well(now),
            Part::Helper(helper) => helper.sessions().is_settled(now),
            Part::Recoder(recoder) => recoder.sessions().is_settled(now),
            Part::Forwarder(forwarder) => forwarder.sessions().is_settled(now),
        };
        let is_end_asked = matches!((&self.part, body), (Part::End(_), Body::Hello(_)));
        let place = shared.addresses.place(way).filter(|_| is_well && !is_end_asked);
        let reply = Reply { to: place.unwrap_or(from), echo: hop.cookie };
        let question = Question { header: *header, link, proof, reply, is_new };
        match (&mut self.part, body) {
            (Part::End(end), Body::Hello(hello)) => end.handle_hello(shared, now, &question, hello),
            (Part::End(end), _) => end.handle_call(shared, now, &question),
            (Part::Helper(helper), Body::Hello(hello)) if is_neighbour => {
                helper.handle_hello(shared, now, &question, hello);
            }
            (Part::Recoder(recoder), Body::Hello(hello)) if is_neighbour => {
                recoder.handle_hello(shared, now, &question, hello);
            }
            (Part::Forwarder(forwarder), Body::Hello(hello)) if is_neighbour => {
                forwarder.handle_hello(shared, now, &question, hello);
            }
            (Part::Recoder(recoder), Body::Call(_)) => recoder.handle_call(shared, now, &question),
            (Part::Forwarder(forwarder), Body::Call(_)) => {
                forwarder.handle_call(shared, now, &question);
            }
            _ => {}
        }
        if proof == Proof::Nothing {
            self.shared.stats.unproven += 1;
            return None;
        }
        // Messages that this node sent before a restart, or that somebody sent in its
        // name.
        match &mut self.part {
            Part::End(end) => end.go_on_behind(now, way, hop.highest),
            Part::Helper(helper) => helper.go_on_behind(header.sender, hop.highest),
            Part::Recoder(recoder) => recoder.go_on_behind(now, header.sender, hop.highest),
            Part::Forwarder(_) => {}
        }
        Some(Heard { sender: header.sender, link, is_moved: proof == Proof::Moved })
    }

    /// Says so if there is no session for long.
    fn look_for_answers(&mut self, now: Instant) {
        let Some(peer) = self.part.missing() else {
            self.shared.answers = Answers::new(now);
            return;
        };
        if let Some(why) = self.shared.answers.take(now) {
            self.shared.report(Event::Unanswered { peer, why });
        }
    }

    /// Returns the next datagram that may be sent now. A driver whose interface is
    /// full polls again when it is not.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Transmit> {
        if let Some(urgent) = self.shared.urgent.pop_front() {
            return Some(urgent);
        }
        match &mut self.part {
            Part::End(end) => end.poll_transmit(&mut self.shared, now),
            Part::Helper(helper) => helper.poll_transmit(&mut self.shared, now),
            Part::Recoder(recoder) => recoder.poll_transmit(&mut self.shared, now),
            Part::Forwarder(_) => None,
        }
    }

    /// Returns the next IP packet for the tunnel.
    pub fn poll_packet(&mut self) -> Option<Vec<u8>> {
        let Part::End(end) = &mut self.part else { return None };
        let packet = end.poll_packet()?;
        self.shared.stats.packets_out += 1;
        self.shared.stats.bytes_out += packet.len() as u64;
        Some(packet)
    }

    /// Returns the next event.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.shared.events.pop_front()
    }

    /// The counters and gauges at `now`.
    pub fn stats(&self, now: Instant) -> Stats {
        let mut stats = self.shared.stats.clone();
        match &self.part {
            Part::End(end) => end.fill(&mut stats, now),
            Part::Helper(helper) => helper.fill(&mut stats),
            Part::Recoder(recoder) => recoder.fill(&mut stats, now),
            Part::Forwarder(forwarder) => forwarder.fill(&mut stats),
        }
        stats
    }

    /// [`Stats::acks_superseded`]: if a packet increases it, that one replaced the packet of its flow
    /// before.
    pub fn acks_superseded(&self) -> u64 {
        match &self.part {
            Part::End(end) => end.acks_superseded(),
            _ => 0,
        }
    }

    /// The configuration of the node.
    pub fn config(&self) -> &Config {
        &self.shared.config
    }
}

impl Machine for Node {
    type Reason = Reason;

    fn poll_timeout(&self) -> Option<(Instant, Reason)> {
        let told = self.shared.told;
        match &self.part {
            Part::End(end) => end.poll_timeout(&self.shared),
            Part::Helper(helper) => helper.poll_timeout(told),
            Part::Recoder(recoder) => recoder.poll_timeout(told),
            Part::Forwarder(forwarder) => forwarder.poll_timeout(),
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        if self.poll_timeout().is_none_or(|(at, _)| at > now) {
            return;
        }
        self.shared.told = now;
        self.look_for_answers(now);
        match &mut self.part {
            Part::End(end) => end.handle_timeout(&mut self.shared, now),
            Part::Helper(helper) => helper.handle_timeout(&mut self.shared, now),
            Part::Forwarder(forwarder) => forwarder.handle_timeout(&mut self.shared, now),
            Part::Recoder(recoder) => recoder.handle_timeout(&mut self.shared, now),
        }
    }
}

impl Part {
    /// The neighbour or end that is missing, if there is no session.
    fn missing(&self) -> Option<NodeId> {
        match self {
            Self::End(end) => end.missing(),
            Self::Helper(helper) => helper.sessions().missing(),
            Self::Recoder(recoder) => recoder.sessions().missing(),
            Self::Forwarder(forwarder) => forwarder.sessions().missing(),
        }
    }

    /// The likely reason that a HELLO or a CALL gives for a missing session.
    fn explains(
        &self,
        me: NodeId,
        from: Address,
        header: &Header,
        body: &Body<'_>,
    ) -> Option<Unanswered> {
        let other = |number| Some(Unanswered::OtherNumber { number, from });
        match (self, body) {
            (Self::End(end), Body::Hello(hello)) => end.explains(me, from, header, hello),
            (Self::End(end), _) => end.is_no_neighbour(me, header).then(|| other(header.sender))?,
            // An end has one neighbour on its way; a recoder has two, a helper hears both.
            (Self::Recoder(recoder), Body::Hello(hello)) if header.to != me => {
                let is_of_end = header.sender == hello.origin;
                let is_ours = recoder.sessions().side(header.sender).is_some();
                let (asking, wanted) = (header.sender, header.to);
                (is_of_end && is_ours).then_some(Unanswered::OtherPeer { asking, wanted })
            }
            _ if header.to != me => None,
            (Self::Helper(helper), _) if helper.sessions().side(header.sender).is_none() => {
                other(header.sender)
            }
            (Self::Recoder(recoder), _) if recoder.sessions().side(header.sender).is_none() => {
                // A helper beside the hop may ask.
                matches!(body, Body::Hello(_)).then(|| other(header.sender))?
            }
            _ => None,
        }
    }
}

/// A HELLO between two ends of which neither is this one or its peer: both numbers may be wrong.
fn strangers(
    config: &Config,
    from: Address,
    header: &Header,
    body: &Body<'_>,
) -> Option<Unanswered> {
    let (Role::End { peer, via, .. }, Body::Hello(hello)) = (&config.role, body) else {
        return None;
    };
    let known = [config.id, *peer, *via];
    let named = [header.sender, header.to, hello.origin, hello.destination];
    let is_known = named.iter().any(|node| known.contains(node));
    let (asking, wanted) = (hello.origin, hello.destination);
    (!is_known).then_some(Unanswered::Strangers { asking, wanted, from })
}

/// A datagram of a session as received.
#[derive(Clone, Copy, Debug)]
struct Came<'a> {
    from: Address,
    header: Header,
    datagram: &'a [u8],
}

/// A HELLO or a CALL, and the address to which an answer goes.
#[derive(Clone, Copy, Debug)]
struct Question {
    header: Header,
    /// The link on which it came.
    link: u8,
    proof: Proof,
    reply: Reply,
    /// Whether it was not received before by this node, as far as that is known.
    is_new: bool,
}

/// The earliest of several wake-ups. A wake-up that allows a datagram is reported only once; the
/// driver then decides when it polls.
fn earliest(
    told: Instant,
    wishes: impl IntoIterator<Item = Option<(Instant, Reason)>>,
) -> Option<(Instant, Reason)> {
    let is_new = |&(at, reason): &(Instant, Reason)| {
        at > told || !matches!(reason, Reason::Pace | Reason::Acknowledge)
    };
    wishes.into_iter().flatten().filter(is_new).min_by_key(|&(at, _)| at)
}

//! A node of any role: IP packets on one side, datagrams on the other.
//!
//! `end` is encoder and decoder, `helper`, `recoder` and `forwarder` stand between ends.
//! All know a session by the HELLOs that begin it, and take nothing without its tag.

mod end;
mod forwarder;
mod handshake;
mod helper;
mod recoder;
mod sessions;
#[cfg(test)]
mod tests;

use crate::config::{Config, ConfigError, Role};
use crate::keys::{Secrets, Tagger};
use crate::stats::Stats;
use crate::wire::{self, Body, Header, NodeId};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use end::End;
use forwarder::Forwarder;
use helper::Helper;
use lasthop_units::{Duration, Instant, Machine, Stream};
use recoder::Recoder;

/// A datagram to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// The neighbour it is for.
    pub to: NodeId,
    /// The datagram.
    pub datagram: Vec<u8>,
}

/// What a driver or a user wants to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A session began.
    Connected {
        /// With this end.
        peer: NodeId,
    },
    /// The other end is silent or began anew: packets under way may be lost.
    Disconnected {
        /// Which end.
        peer: NodeId,
    },
    /// Datagrams come that our key does not open (told at most once a second).
    KeyMismatch {
        /// Who says to be their sender.
        sender: NodeId,
    },
    /// The other end codes in another way (told at most once a second).
    CodeMismatch {
        /// Which end.
        peer: NodeId,
    },
}

/// Why a node wants to be woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The next datagram may leave.
    Pace,
    /// An acknowledgement is due.
    Acknowledge,
    /// An acknowledgement did not come.
    EncoderTimeout,
    /// A session is to be begun or kept.
    Hello,
    /// Something is too old.
    Expiry,
}

/// Complaints are told this often.
const COMPLAINT_INTERVAL: Duration = Duration::from_secs(1);

/// Complaints and events that wait to be told at most.
const EVENTS_MAX: usize = 64;

/// A node.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    shared: Shared,
    part: Part,
}

/// What every role uses.
#[derive(Clone, Debug, PartialEq)]
struct Shared {
    config: Config,
    secrets: Secrets,
    hello_tagger: Tagger,
    stream: Stream,
    stats: Stats,
    events: VecDeque<Event>,
    /// No complaint before.
    complain_at: Instant,
    /// The last wake-up.
    told: Instant,
    /// Datagrams that go before all others.
    urgent: VecDeque<Transmit>,
}

/// What a role adds.
#[derive(Clone, Debug, PartialEq)]
enum Part {
    End(Box<End>),
    Helper(Box<Helper>),
    Recoder(Box<Recoder>),
    Forwarder(Box<Forwarder>),
}

impl Shared {
    fn tell(&mut self, event: Event) {
        if self.events.len() < EVENTS_MAX {
            self.events.push_back(event);
        }
    }

    /// Tells what may come as often as a stranger likes.
    fn complain(&mut self, now: Instant, event: Event) {
        if now >= self.complain_at {
            self.complain_at = now + COMPLAINT_INTERVAL;
            self.tell(event);
        }
    }

    /// Writes a datagram under a session's tagger.
    fn emit(&mut self, header: &Header, body: &Body<'_>, tagger: &Tagger) -> Transmit {
        let mut datagram = Vec::with_capacity(usize::from(self.config.datagram_bytes_max));
        wire::emit(header, body, &mut datagram);
        tagger.seal(&mut datagram);
        self.stats.datagram_bytes_sent += datagram.len() as u64;
        Transmit { to: header.to, datagram }
    }

    /// The contents of a datagram under `tagger`, or why not.
    fn open<'a>(
        &mut self,
        now: Instant,
        header: &Header,
        datagram: &'a [u8],
        tagger: &Tagger,
    ) -> Option<Body<'a>> {
        if !tagger.is_authentic(datagram) {
            self.stats.unauthentic += 1;
            self.complain(now, Event::KeyMismatch { sender: header.sender });
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

    /// Counts an authentic datagram whose number is new.
    fn accept(&mut self, datagram: &[u8]) {
        self.stats.datagram_bytes_received += datagram.len() as u64;
    }

    /// A seed nobody can guess, of a machine's own.
    fn fork(&mut self) -> Stream {
        lasthop_units::Seed::new(self.stream.next_u64(), self.stream.next_u64()).stream("franc")
    }
}

impl Node {
    /// A node that begins at `now`. Nonces and coefficients are drawn from `stream`,
    /// which must never be the same twice on real networks.
    ///
    /// # Errors
    /// If the configuration is unsound.
    pub fn new(config: Config, stream: Stream, now: Instant) -> Result<Self, ConfigError> {
        config.check()?;
        let code = config.code()?;
        let secrets = Secrets::new(&config.keys);
        let mut shared = Shared {
            hello_tagger: secrets.hello_tagger(),
            secrets,
            stream,
            stats: Stats::default(),
            events: VecDeque::new(),
            complain_at: now,
            told: Instant::ZERO,
            urgent: VecDeque::new(),
            config,
        };
        let part = match shared.config.role.clone() {
            Role::End { peer, via, helpers } => {
                Part::End(Box::new(End::new(&mut shared, code, peer, via, helpers, now)))
            }
            Role::Helper { between, helpers } => {
                Part::Helper(Box::new(Helper::new(code, between, helpers)))
            }
            Role::Recoder { between } => Part::Recoder(Box::new(Recoder::new(code, between))),
            Role::Forwarder { between } => Part::Forwarder(Box::new(Forwarder::new(between))),
        };
        Ok(Self { shared, part })
    }

    /// Takes an IP packet from the tunnel. It may be dropped at once or later, if more
    /// comes than the link carries. Nodes between the ends have no tunnel.
    pub fn handle_packet(&mut self, now: Instant, packet: &[u8]) {
        match &mut self.part {
            Part::End(end) => end.handle_packet(&mut self.shared, now, packet),
            _ => self.shared.stats.refused += 1,
        }
    }

    /// Takes a datagram, wherever it came from and whomever it is for. Returns the
    /// neighbour that sent it if that is proven: its address may have changed.
    pub fn handle_datagram(&mut self, now: Instant, datagram: &[u8]) -> Option<NodeId> {
        let shared = &mut self.shared;
        let Ok(header) = Header::parse(datagram) else {
            shared.stats.malformed += 1;
            return None;
        };
        if header.sender == shared.config.id {
            // Our own, heard back from a shared medium.
            return None;
        }
        let loss = shared.config.synthetic.iter().find(|s| s.from == header.sender);
        if let Some(loss) = loss.map(|s| s.loss)
            && shared.stream.chance(loss)
        {
            shared.stats.synthetic_lost += 1;
            return None;
        }
        let taken = if Header::is_hello(datagram) {
            let tagger = shared.hello_tagger;
            let Some(Body::Hello(hello)) = shared.open(now, &header, datagram, &tagger) else {
                return None;
            };
            match &mut self.part {
                Part::End(end) => end.handle_hello(shared, now, &header, &hello),
                Part::Helper(helper) => helper.handle_hello(shared, &hello),
                Part::Recoder(recoder) => recoder.handle_hello(shared, now, &header, &hello),
                Part::Forwarder(forwarder) => {
                    forwarder.handle_hello(shared, &header, &hello, datagram)
                }
            }
        } else {
            match &mut self.part {
                Part::End(end) => end.handle_datagram(shared, now, &header, datagram),
                Part::Helper(helper) => helper.handle_datagram(shared, now, &header, datagram),
                Part::Recoder(recoder) => recoder.handle_datagram(shared, now, &header, datagram),
                Part::Forwarder(forwarder) => {
                    forwarder.handle_datagram(shared, now, &header, datagram)
                }
            }
        };
        if taken {
            shared.accept(datagram);
        }
        taken.then_some(header.sender)
    }

    /// The next datagram that may be sent now. A driver whose interface is full asks
    /// again when it is not.
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

    /// The next IP packet for the tunnel.
    pub fn poll_packet(&mut self) -> Option<Vec<u8>> {
        let Part::End(end) = &mut self.part else { return None };
        let packet = end.poll_packet()?;
        self.shared.stats.packets_out += 1;
        self.shared.stats.bytes_out += packet.len() as u64;
        Some(packet)
    }

    /// What happened.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.shared.events.pop_front()
    }

    /// What was counted until `now`.
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

    /// The configuration.
    pub fn config(&self) -> &Config {
        &self.shared.config
    }
}

impl Machine for Node {
    type Reason = Reason;

    fn poll_timeout(&self) -> Option<(Instant, Reason)> {
        let told = self.shared.told;
        match &self.part {
            Part::End(end) => end.poll_timeout(told),
            Part::Helper(helper) => helper.poll_timeout(told),
            Part::Recoder(recoder) => recoder.poll_timeout(told),
            Part::Forwarder(_) => None,
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        if self.poll_timeout().is_none_or(|(at, _)| at > now) {
            return;
        }
        self.shared.told = now;
        match &mut self.part {
            Part::End(end) => end.handle_timeout(&mut self.shared, now),
            Part::Helper(_) | Part::Forwarder(_) => {}
            Part::Recoder(recoder) => recoder.handle_timeout(&mut self.shared, now),
        }
    }
}

/// The earliest of several wishes to be woken. What lets a datagram go is told once: whether
/// and when it is polled then, is the driver's business.
fn earliest(
    told: Instant,
    wishes: impl IntoIterator<Item = Option<(Instant, Reason)>>,
) -> Option<(Instant, Reason)> {
    let is_new = |&(at, reason): &(Instant, Reason)| {
        at > told || !matches!(reason, Reason::Pace | Reason::Acknowledge)
    };
    wishes.into_iter().flatten().filter(is_new).min_by_key(|&(at, _)| at)
}

//! Sessions as known to nodes between the ends. Such a node asks both neighbours
//! for HELLOs (CALL) and follows the session that both announced last, in HELLOs
//! that prove their origin ([`super::addresses`]). So it follows the session that
//! both ends have now, whatever was recorded of others; and a session that only a
//! holder of the hop key announced is left again as soon as the ends are heard.
//! Leaves out end-to-end keys.

use super::addresses::{HopNumbers, Proof, Reply, Way};
use super::{Address, Question, Shared};
use crate::keys::{Pair, Tagger};
use crate::wire::{self, Body, CONTROL_BYTES, Header, Hello, Hop, NodeId};
use lasthop_units::{Duration, Instant, TokenBucket};

/// Interval of CALLs while the neighbours do not both announce the followed
/// session, and while they do.
const CALL_INTERVAL: [Duration; 2] = [Duration::from_millis(100), Duration::from_millis(500)];
/// Age after which an announcement is outdated.
const ANNOUNCED_MAX: Duration = Duration::from_secs(2);
/// Shortest interval at which the same HELLO is forwarded.
const PASS_INTERVAL: Duration = Duration::from_millis(90);
/// HELLOs forwarded per second in total: two ends send no more.
const PASSES_PER_S: u64 = 50;

/// A session as known to holders of the hop key.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Followed {
    pub id: u16,
    pub tagger: Tagger,
    pair: Pair,
}

impl Followed {
    /// The ends, the lower number first.
    pub fn ends(&self) -> [NodeId; 2] {
        self.pair.ends()
    }

    /// Whether a datagram that names session `id` belongs to this one.
    pub fn is_of(&self, id: u16, datagram: &[u8]) -> bool {
        self.id == id && self.tagger.is_authentic(datagram)
    }
}

/// The last announcement of one neighbour.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Announced {
    hello: Hello,
    at: Instant,
    /// Time at which it was last forwarded.
    passed: Instant,
}

/// The announcements of both neighbours, and the followed session.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Sessions {
    between: [NodeId; 2],
    announced: [Option<Announced>; 2],
    current: Option<Followed>,
    call_at: Instant,
    passes: TokenBucket,
}

/// The result of an announcement.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct News {
    /// Index of the neighbour that sent it.
    pub side: usize,
    /// Both neighbours announced a session that was not followed before: it is now.
    pub begins: Option<Followed>,
    /// Whether this HELLO is to be forwarded: the other neighbour did not get it
    /// recently.
    pub is_passed: bool,
}

impl Sessions {
    pub fn new(between: [NodeId; 2], now: Instant) -> Self {
        let passes = TokenBucket::new(PASSES_PER_S, PASSES_PER_S / 2, now);
        Self { between, announced: [None; 2], current: None, call_at: now, passes }
    }

    /// The next number of a neighbour, as it last announced it.
    pub fn next_of(&self, side: usize) -> u32 {
        self.announced[side].map_or(0, |announced| announced.hello.hop.next)
    }

    /// The followed session.
    pub fn current(&self) -> Option<&Followed> {
        self.current.as_ref()
    }

    /// A neighbour that announces no session, if none is followed.
    pub fn missing(&self) -> Option<NodeId> {
        let silent = self.announced.iter().position(Option::is_none).unwrap_or(0);
        self.current.is_none().then_some(self.between[silent])
    }

    /// The index of a neighbour.
    pub fn side(&self, neighbour: NodeId) -> Option<usize> {
        self.between.iter().position(|&between| between == neighbour)
    }

    /// The two neighbours.
    pub fn between(&self) -> [NodeId; 2] {
        self.between
    }

    /// Whether a datagram is from a neighbour for `node`.
    pub fn is_of_neighbour(&self, header: &Header, node: NodeId) -> bool {
        self.side(header.sender).is_some() && header.to == node
    }

    /// The session of a datagram, if it is the followed one.
    pub fn followed(&self, shared: &mut Shared, header: &Header) -> Option<Followed> {
        let followed = self.current.as_ref().filter(|session| session.id == header.session);
        if followed.is_none() {
            shared.stats.unauthentic += 1;
        }
        followed.cloned()
    }

    /// Handles a HELLO. If it proves nothing, calls the neighbour back instead, in the name of
    /// `as_sender`.
    pub fn handle_hello(
        &mut self,
        shared: &mut Shared,
        now: Instant,
        as_sender: NodeId,
        question: &Question,
        hello: &Hello,
    ) -> Option<News> {
        let side = self.side(question.header.sender)?;
        if question.proof == Proof::Nothing {
            self.call_back(shared, now, as_sender, question);
            return None;
        }
        Some(self.hear(shared, now, side, hello))
    }

    /// Handles a HELLO of the neighbour at `side`, whose origin is proved.
    fn hear(&mut self, shared: &mut Shared, now: Instant, side: usize, hello: &Hello) -> News {
        let before = self.announced[side];
        let is_same = |before: &Announced| {
            let without_hop = |hello: &Hello| Hello { hop: Hop::default(), ..*hello };
            without_hop(&before.hello) == without_hop(hello)
        };
        let is_due =
            before.is_none_or(|before| !is_same(&before) || now >= before.passed + PASS_INTERVAL);
        let is_passed = is_due && self.passes.take(now, 1);
        let passed = before.filter(|_| !is_passed).map_or(now, |before| before.passed);
        self.announced[side] = Some(Announced { hello: *hello, at: now, passed });
        let pair = |announced: Announced| Pair::from_hello(&announced.hello);
        let [ours, other] = self.announced.map(|announced| {
            announced.filter(|announced| now < announced.at + ANNOUNCED_MAX).and_then(pair)
        });
        let agreed = ours.filter(|_| ours == other);
        let followed = self.current.as_ref().map(|current| current.pair);
        let is_new = |pair: &Pair| followed != Some(*pair);
        let begins = agreed.filter(is_new).map(|pair| {
            let (id, tagger) = shared.secrets.session(&pair);
            Followed { id, tagger, pair }
        });
        if begins.is_some() {
            // Announcements of the previous session must not bring it back.
            self.between.iter().for_each(|&neighbour| shared.addresses.renew(neighbour));
        }
        self.current = begins.clone().or(self.current.take());
        News { side, begins, is_passed }
    }

    /// Whether both neighbours announce the followed session.
    pub fn is_settled(&self, now: Instant) -> bool {
        let followed = self.current.as_ref().map(|current| current.pair);
        let is_of_current = |announced: &Option<Announced>| {
            announced.is_some_and(|announced| {
                now < announced.at + ANNOUNCED_MAX
                    && followed.is_some()
                    && Pair::from_hello(&announced.hello) == followed
            })
        };
        self.announced.iter().all(is_of_current)
    }

    /// The announcement for a node: the HELLO of the neighbour at `side`, or of
    /// either, unless it is outdated.
    pub fn announcement(&self, now: Instant, side: Option<usize>) -> Option<Hello> {
        let is_asked = |at: usize| side.is_none_or(|side| side == at);
        let of = |at: usize| self.announced[at].filter(|_| is_asked(at));
        let all = (0..2).filter_map(of).filter(|announced| now < announced.at + ANNOUNCED_MAX);
        all.max_by_key(|announced| announced.at).map(|announced| announced.hello)
    }

    /// Returns the time at which the neighbours are called next.
    pub fn call_at(&self) -> Instant {
        self.call_at
    }

    /// Calls the neighbours if it is time. `from` gives the name in which each is
    /// called, the highest number received from it, and the next one sent to it.
    pub fn call(
        &mut self,
        shared: &mut Shared,
        now: Instant,
        from: impl Fn(usize) -> (NodeId, (u32, u32)),
    ) {
        if now < self.call_at {
            return;
        }
        self.call_at = now + CALL_INTERVAL[usize::from(self.is_settled(now))];
        for (side, neighbour) in self.between.into_iter().enumerate() {
            let (sender, (highest, next)) = from(side);
            let numbers = HopNumbers { highest, next };
            shared.call(now, sender, neighbour, numbers, None);
        }
    }

    /// Calls a neighbour that proves nothing at the address that it claims, if it
    /// was not seen there before.
    pub fn call_back(
        &self,
        shared: &mut Shared,
        now: Instant,
        as_sender: NodeId,
        question: &Question,
    ) {
        let Question { header, reply, is_new, .. } = question;
        if !shared.addresses.is_at_lately(now, header.sender, &reply.to)
            && shared.addresses.may_answer(now, &reply.to, *is_new)
        {
            shared.call(now, as_sender, header.sender, HopNumbers::default(), Some(*reply));
        }
    }
}

impl Shared {
    /// Asks `to` for a HELLO in the name of `sender`, at its known address or at
    /// `reply`.
    pub(super) fn call(
        &mut self,
        now: Instant,
        sender: NodeId,
        to: impl Into<Way>,
        numbers: HopNumbers,
        reply: Option<Reply>,
    ) {
        let to = to.into();
        let hop = self.addresses.hop(now, to, reply.as_ref(), numbers);
        self.say(sender, to, &Body::Call(hop), reply);
    }

    /// A datagram of the neighbour named in `header` came from `from`. If that is
    /// not its known address it may have moved: asks it in the name of `me`, with
    /// no more bytes.
    pub(super) fn ask_if_moved(
        &mut self,
        now: Instant,
        me: NodeId,
        header: &Header,
        from: &Address,
        datagram: &[u8],
    ) {
        let (link, _) = wire::link_of(self.config.links, header.number);
        let way = Way { neighbour: header.sender, link };
        let has_moved = datagram.len() >= CONTROL_BYTES
            && !self.addresses.is_at(way, from)
            && self.addresses.may_answer(now, from, false);
        if has_moved {
            let reply = Reply { to: *from, echo: [0; _] };
            self.call(now, me, way, HopNumbers::default(), Some(reply));
        }
    }

    /// Sends a HELLO or a CALL, which belong to no session.
    pub(super) fn say(
        &mut self,
        sender: NodeId,
        to: impl Into<Way>,
        body: &Body<'_>,
        reply: Option<Reply>,
    ) {
        let Way { neighbour: to, link } = to.into();
        let number = wire::number_on(self.config.links, link, 0);
        let header = Header { sender, to, session: 0, number };
        let tagger = self.hello_tagger.clone();
        let mut transmit = self.emit(&header, body, &tagger);
        transmit.reply = reply.map(|reply| reply.to);
        self.hasten(transmit);
    }
}

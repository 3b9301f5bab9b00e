//! An end of a link: takes packets, codes them, and decodes the other end's combinations. It keeps
//! a current session, a candidate that may replace it, and the backlog. The handshake is in
//! `handshake`, sending and receiving within a session in `session`. Leaves out recoding: see
//! `recoder`.

mod link;
mod packer;
mod session;

use super::addresses::{HopNumbers, Reply, Way};
use super::handshake::Handshake;
use super::{
    Address, Came, Event, Heard, Question, Reason, Shared, Transmit, Unanswered, earliest,
};
use crate::agreement::CodeParameters;
use crate::backlog::Backlog;
use crate::config::Mode;
use crate::headers;
use crate::keys::Pair;
use crate::path_mtu::PathMtu;
use crate::path_state::Hearing;
use crate::secret::PublicKey;
use crate::stats::{LinkStats, NeighbourStats, Stats};
use crate::wire::{self, Body, Header, Hello, NodeId};
use alloc::boxed::Box;
use alloc::vec::Vec;
use lasthop_rlnc::Code;
use lasthop_units::{Duration, Instant, Machine};
use session::{OtherEnd, Outgoing, Session};

/// Interval of HELLOs while a session is requested or not confirmed.
const HELLO_INTERVAL: Duration = Duration::from_millis(100);
/// Shortest interval of answers to HELLOs of a session that the other end may not
/// have yet.
const ANSWER_INTERVAL: Duration = Duration::from_millis(50);
/// The session works if the other end was heard within this time: five pulses in a
/// row may be lost.
const HEARD_LATELY: Duration = Duration::from_millis(1_500);
/// Time after which an unconfirmed session is dropped; the second value is for the
/// paper's mode, which is used on paths with extreme losses.
const CANDIDATE_MAX: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(5)];
/// If the other end took long to answer, it may take this many times as long to
/// confirm, because of losses; with an upper bound.
const CANDIDATE_ANSWERS: u64 = 3;
const CANDIDATE_LATE_MAX: Duration = Duration::from_secs(15);

#[derive(Clone, Debug, PartialEq)]
pub(super) struct End {
    code: Code,
    peer: NodeId,
    via: NodeId,
    helpers: u8,
    handshake: Handshake,
    /// Number of HELLOs sent.
    count: u32,
    /// Time at which the next HELLO is sent, if one is.
    hello_at: Instant,
    /// Time at which a HELLO of the candidate was last sent.
    answered: Instant,
    backlog: Backlog,
    /// The session that packets use: both ends have sent something in it.
    current: Option<Box<Session>>,
    /// A session that may become the current one, and until when.
    candidate: Option<(Box<Session>, Instant)>,
    /// Time since which each of two links is dead, as reported to the driver.
    silent_since: [Option<Instant>; 2],
    /// Whether another session is requested in addition to the current one.
    is_renewing: bool,
    /// Counters of sessions that ended.
    past: Stats,
    /// Bytes sent on each of two links in these.
    past_bytes: [u64; 2],
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
        let flow_keys = [shared.entropy.word(), shared.entropy.word()];
        Self {
            code,
            peer,
            via,
            helpers,
            handshake: Handshake::new(&mut shared.entropy),
            count: 0,
            hello_at: now,
            answered: Instant::ZERO,
            backlog: Backlog::new(shared.config.backlog, flow_keys),
            current: None,
            candidate: None,
            silent_since: [None; 2],
            is_renewing: false,
            past: Stats::default(),
            past_bytes: [0; 2],
        }
    }

    pub fn handle_packet(&mut self, shared: &mut Shared, now: Instant, packet: &[u8]) {
        if !headers::is_ip(packet) || packet.len() > shared.config.inner_mtu() {
            shared.stats.refused += 1;
            return;
        }
        shared.stats.packets_in += 1;
        shared.stats.bytes_in += packet.len() as u64;
        self.backlog.push(now, packet.to_vec());
        if let Some(session) = &mut self.current {
            session.idle_until = None;
        }
    }

    /// Number of acknowledgements in the backlog that later ones replaced.
    pub fn acks_superseded(&self) -> u64 {
        self.backlog.acks_superseded()
    }

    pub fn poll_packet(&mut self) -> Option<Vec<u8>> {
        self.current.as_mut()?.order.pop()
    }

    // ---- sessions ----

    /// A digest of the parameters that both ends must have in common.
    fn digest(&self, shared: &Shared) -> u32 {
        CodeParameters::from(&shared.config).digest()
    }

    /// Whether a HELLO or a CALL is for this node: from its neighbour on the path,
    /// or a helper.
    pub fn is_neighbour(&self, shared: &Shared, header: &Header) -> bool {
        header.to == shared.config.id
    }

    /// The other end, if there is no session with it.
    pub fn missing(&self) -> Option<NodeId> {
        self.current.is_none().then_some(self.peer)
    }

    /// Whether a CALL comes from a node that is none of this one's.
    pub fn is_no_neighbour(&self, me: NodeId, header: &Header) -> bool {
        header.to == me && header.sender != self.via && self.helpers == 0
    }

    /// The likely reason that a HELLO gives for a missing session.
    pub fn explains(
        &self,
        me: NodeId,
        from: Address,
        header: &Header,
        hello: &Hello,
    ) -> Option<Unanswered> {
        let other = |number| Some(Unanswered::OtherNumber { number, from });
        let is_from_neighbour = header.sender == self.via;
        if header.to != me {
            let is_direct = is_from_neighbour && self.via == self.peer;
            return is_direct
                .then_some(Unanswered::OtherPeer { asking: header.sender, wanted: header.to });
        }
        match (is_from_neighbour, hello.origin == self.peer) {
            (false, _) => other(header.sender),
            (true, false) => other(hello.origin),
            (true, true) if hello.destination != me => {
                let (asking, wanted) = (hello.origin, hello.destination);
                Some(Unanswered::OtherPeer { asking, wanted })
            }
            (true, true) => Some(Unanswered::Deaf),
        }
    }

    /// Whether the other end was heard in the session recently.
    pub fn is_well(&self, now: Instant) -> bool {
        self.current.as_ref().is_some_and(|session| now < session.heard_at + HEARD_LATELY)
    }

    pub fn handle_hello(
        &mut self,
        shared: &mut Shared,
        now: Instant,
        question: &Question,
        hello: &Hello,
    ) {
        let way = Way { neighbour: self.via, link: question.link };
        if hello.origin != self.peer
            || hello.destination != shared.config.id
            || question.header.sender != self.via
            || !self.is_neighbour(shared, &question.header)
        {
            return;
        }
        if !shared.secrets.is_proven(hello) {
            shared.stats.unauthentic += 1;
            let (sender, is_keyless) = (hello.origin, false);
            shared.complain(now, || Event::KeyMismatch { sender, is_keyless });
            return;
        }
        if hello.digest != self.digest(shared) {
            shared.complain_of_code(now, self.peer, hello.digest);
            return;
        }
        let pair = Pair::from_hello(hello);
        let is_known = |session: &Session| pair == Some(session.pair);
        if self.current.as_deref().is_some_and(is_known) {
            return;
        }
        if self.candidate.as_ref().is_some_and(|(session, _)| is_known(session)) {
            if now >= self.answered + ANSWER_INTERVAL {
                self.answered = now;
                self.announce(shared, now, way, Some(question.reply));
            }
            return;
        }
        if let Some(pair) = self.handshake.begun_by(hello) {
            self.begin(shared, now, pair, hello);
            self.answered = now;
            self.announce(shared, now, way, Some(question.reply));
            return;
        }
        let asked_before = self.pair_with(&hello.key);
        // A node with a session answers questions only: otherwise a recorded answer to
        // another question would make both ends restart.
        if asked_before.is_none() && pair.is_some() && self.current.is_some() {
            return;
        }
        // The count belongs to the key and is proven, so that holders of the hop key
        // cannot increase it.
        let key = u64::from_be_bytes(*hello.key.first_chunk().expect("a key has 32 bytes"));
        let is_new = shared.addresses.is_new(key, hello.count);
        if asked_before.is_none() {
            self.handshake.hear(hello.key);
        }
        if shared.addresses.may_answer(now, &question.reply.to, is_new) {
            let ours = match asked_before {
                // With a new key of ours both ends would begin a second session, which
                // ends the one that the other end uses by then.
                Some(pair) => pair.key_of(shared.config.id),
                None => self.handshake.say(now),
            };
            self.say_hello(shared, now, ours, hello.key, way, Some(question.reply));
        }
    }

    /// The keys of the newest session, if a key of the other end is of it already: it asked
    /// before it had that session, or has it not yet. An end with a candidate announces
    /// nothing else (`models/README.md`, rule 3 of recoders).
    fn pair_with(&self, theirs: &PublicKey) -> Option<Pair> {
        let candidate = self.candidate.as_ref().map(|(session, _)| session);
        let newest = candidate.or(self.current.as_ref())?.pair;
        (newest.key_of(self.peer) == *theirs).then_some(newest)
    }

    /// A node between the ends, or a helper, asks for the current session.
    pub fn handle_call(&mut self, shared: &mut Shared, now: Instant, question: &Question) {
        if self.is_neighbour(shared, &question.header)
            && shared.addresses.may_answer(now, &question.reply.to, question.is_new)
        {
            let way = Way { neighbour: question.header.sender, link: question.link };
            self.announce(shared, now, way, Some(question.reply));
        }
    }

    /// Begins a session that the other end may also have.
    fn begin(&mut self, shared: &mut Shared, now: Instant, pair: Pair, hello: &Hello) {
        let answered_after = self.handshake.age(now);
        let ours = self.handshake.ours();
        let keys = shared.secrets.agree(&pair, ours, hello, blocks_max(&shared.config.mode));
        // This key pair counts as used, whatever the result.
        self.handshake.renew(&mut shared.entropy);
        let Some(keys) = keys else { return };
        let (peer, helpers, blocks_max) = (self.peer, self.helpers, hello.blocks_max);
        let other = OtherEnd { peer, helpers, blocks_max };
        let mut session = Session::new(shared, self.code, other, pair, &keys, now);
        for link in &mut session.links {
            link.path.expect_late(answered_after.min(CANDIDATE_LATE_MAX));
        }
        let is_paper = matches!(shared.config.mode, Mode::Paper { .. });
        let late = (answered_after * CANDIDATE_ANSWERS).min(CANDIDATE_LATE_MAX);
        let ends = now + CANDIDATE_MAX[usize::from(is_paper)].max(late);
        self.candidate = Some((Box::new(session), ends));
        self.hello_at = now + HELLO_INTERVAL;
    }

    /// Makes the candidate the current session: both ends have sent something in
    /// it.
    fn promote(&mut self, shared: &mut Shared) {
        let Some((mut session, _)) = self.candidate.take() else { return };
        let before = self.current.iter().flat_map(|before| &before.links);
        for (link, before) in session.links.iter_mut().zip(before) {
            if let (Some(path), Some(before)) = (&mut link.path_mtu, &before.path_mtu) {
                path.inherit(before, session.heard_at);
            }
        }
        for (link, since) in session.links.iter_mut().zip(self.silent_since) {
            if let Some(since) = since {
                link.path.was_silent(since);
                link.is_dead = link.path.is_dead(session.heard_at);
            }
        }
        self.end_session(shared);
        // The other end may be waiting for it.
        session.hasten_pulse(session.heard_at);
        self.current = Some(session);
        self.is_renewing = false;
        shared.stats.sessions += 1;
        shared.report(Event::Connected { peer: self.peer });
    }

    /// Adds the counters of the current session to the past ones, and drops it.
    fn end_session(&mut self, shared: &mut Shared) {
        if let Some(session) = self.current.take() {
            session.fill(&mut self.past);
            if session.links.len() > 1 {
                for (bytes, link) in self.past_bytes.iter_mut().zip(&session.links) {
                    *bytes += link.path.bytes_sent();
                }
            }
            shared.report(Event::Disconnected { peer: self.peer });
        }
    }

    /// Announces the newest session, or asks for one.
    fn announce(&mut self, shared: &mut Shared, now: Instant, to: Way, reply: Option<Reply>) {
        let newest = self.candidate.as_ref().map(|(session, _)| session).or(self.current.as_ref());
        let (key, echo) = match newest {
            Some(session) => {
                (session.pair.key_of(shared.config.id), session.pair.key_of(self.peer))
            }
            None => self.handshake.ask(now),
        };
        self.say_hello(shared, now, key, echo, to, reply);
    }

    fn say_hello(
        &mut self,
        shared: &mut Shared,
        now: Instant,
        key: PublicKey,
        echo: PublicKey,
        to: Way,
        reply: Option<Reply>,
    ) {
        let session = self.candidate.as_ref().map(|(session, _)| session).or(self.current.as_ref());
        let numbers = session.map_or(HopNumbers::default(), |session| HopNumbers {
            highest: session.highest_of(to, self.via),
            next: session.links[usize::from(to.link)].path.number(),
        });
        self.count = self.count.saturating_add(1);
        let config = &shared.config;
        let mut hello = Hello {
            origin: config.id,
            destination: self.peer,
            key,
            echo,
            count: self.count,
            blocks_max: blocks_max(&config.mode),
            digest: self.digest(shared),
            proof: [0; _],
            hop: shared.addresses.hop(now, to, reply.as_ref(), numbers),
        };
        hello.proof = shared.secrets.proof(&hello);
        shared.say(shared.config.id, to, &Body::Hello(hello), reply);
    }

    // ---- received datagrams ----

    pub fn handle_datagram(
        &mut self,
        shared: &mut Shared,
        now: Instant,
        came: &Came<'_>,
    ) -> Option<Heard> {
        let Came { from, header, datagram } = came;
        let is_via = header.sender == self.via;
        let (link, number) = wire::link_of(shared.config.links, header.number);
        let at = usize::from(link);
        let Some(session) = self.session_of(header, datagram) else {
            shared.stats.unauthentic += 1;
            return None;
        };
        session.idle_until = None;
        let tagger = session.tagger.clone();
        let body = shared.open(now, header, datagram, &tagger)?;
        if header.to != shared.config.id {
            return None;
        }
        let hearing = if is_via {
            session.links[at].path.hear(now, number)
        } else {
            session.hear_helper(now, header)
        };
        match hearing {
            Hearing::Before => {
                shared.stats.replayed += 1;
                if is_via {
                    self.handle_old_number(shared, now, link);
                }
                return None;
            }
            Hearing::New => {}
            Hearing::AfterGap => session.acknowledge_gap(now, at),
        }
        // Only new datagrams: anybody can repeat a recording.
        if is_via {
            session.links[at].longest.came(now, datagram.len());
        }
        let is_of_other_end = match body {
            Body::Pulse(pulse) => session.handle_pulse(shared, now, at, &pulse),
            body => {
                let (ack, enc) = body.into_parts();
                if let Some(ack) = ack {
                    session.handle_ack(shared, now, is_via, header, &ack);
                }
                enc.is_some_and(|enc| session.handle_enc(shared, now, &enc))
            }
        };
        let pair = session.pair;
        if let Some(datagram_bytes) = session.links[at].path_mtu.as_mut().and_then(PathMtu::found) {
            shared.report(Event::PathMtu { peer: self.peer, datagram_bytes });
        }
        if is_of_other_end {
            if self.candidate.as_ref().is_some_and(|(session, _)| session.pair == pair) {
                self.promote(shared);
            }
            self.watch(shared, now);
        }
        self.tell_links(shared, now);
        if is_via {
            shared.ask_if_moved(now, shared.config.id, header, from, datagram);
        }
        Some(Heard { sender: header.sender, link, is_moved: false })
    }

    /// Handles an old number of the neighbour on a link. If only such arrive there, a report to the
    /// neighbour is sent; if nothing new arrives on any link, another session is requested.
    fn handle_old_number(&mut self, shared: &mut Shared, now: Instant, link: u8) {
        let Some(session) = &mut self.current else { return };
        let path = &mut session.links[usize::from(link)].path;
        if path.is_starved(now) {
            let numbers = HopNumbers { highest: path.highest(), next: path.number() };
            let way = Way { neighbour: self.via, link };
            shared.call(now, shared.config.id, way, numbers, None);
        }
        let is_silent = session.links.iter().all(|link| link.path.is_silent(now));
        if is_silent && !self.is_renewing {
            (self.is_renewing, self.hello_at) = (true, now);
        }
    }

    /// A neighbour received numbers of this node up to `highest`.
    pub fn go_on_behind(&mut self, now: Instant, way: Way, highest: u32) {
        if let Some(session) = self.current.as_mut().filter(|_| way.neighbour == self.via) {
            session.links[usize::from(way.link)].path.go_on_behind(now, highest);
        }
    }

    /// The session that a datagram names.
    fn session_of(&mut self, header: &Header, datagram: &[u8]) -> Option<&mut Session> {
        let candidate = self.candidate.as_mut().map(|(session, _)| session);
        let sessions = [self.current.as_deref_mut(), candidate.map(|session| &mut **session)];
        let mut named = sessions.into_iter().flatten().filter(|s| s.id == header.session);
        let (first, second) = (named.next()?, named.next());
        // Both have the same number by chance.
        match second {
            Some(second) if !first.tagger.is_authentic(datagram) => Some(second),
            _ => Some(first),
        }
    }

    /// Requests another session if the current one does not work any more.
    fn watch(&mut self, shared: &mut Shared, now: Instant) {
        let Some(session) = &self.current else { return };
        let is_stalled = session.is_stalled(now);
        let is_useless = is_stalled || session.is_narrower() || session.is_worn_out();
        if is_useless && !self.is_renewing {
            self.hello_at = now;
            if is_stalled {
                shared.stats.stalls += 1;
                shared.report(Event::Stalled { peer: self.peer });
            }
        }
        if self.is_renewing && !is_useless {
            // Recordings of earlier questions cannot be answered now.
            self.handshake.renew(&mut shared.entropy);
        }
        self.is_renewing = is_useless;
    }

    /// Reports links that died or work again. If all are silent, that is not about a link.
    fn tell_links(&mut self, shared: &mut Shared, now: Instant) {
        let Some(session) = self.current.as_ref().filter(|session| session.links.len() > 1) else {
            return;
        };
        let works = session.links.iter().any(|link| link.is_answered(now));
        for ((number, link), silent) in (0..).zip(&session.links).zip(&mut self.silent_since) {
            let (is_alive, since) = match *silent {
                None if works && link.is_dead && link.is_silent_for_sure(now) => {
                    (false, link.path.answered_at())
                }
                Some(since) if !link.path.is_dead(now) => (true, since),
                _ => continue,
            };
            *silent = (!is_alive).then_some(since);
            let silent = now.saturating_since(since);
            shared.report(Event::Link { peer: self.peer, link: number, is_alive, silent });
        }
    }

    // ---- sent datagrams ----

    pub fn poll_transmit(&mut self, shared: &mut Shared, now: Instant) -> Option<Transmit> {
        let via = self.via;
        let session = self.current.as_mut()?;
        let is_ack_due = session.is_ack_due(now);
        let is_alone = matches!(session.outgoing, Outgoing::Paper(_));
        let chosen = session.choose(now, &self.backlog);
        let Some(at) = chosen.filter(|_| !(is_ack_due && is_alone)) else {
            return is_ack_due.then(|| session.acknowledge(shared, now, via));
        };
        let next = match &mut session.outgoing {
            Outgoing::Stream(_) => session.next_of_stream(shared, now, &mut self.backlog, at),
            Outgoing::Paper(_) => session.next_of_paper(shared, now, &mut self.backlog),
        };
        session.is_saturated = !self.backlog.is_empty() && session.held_until.is_none();
        let Some((coded, cargo)) = next else {
            let held_until = session.held_until.unwrap_or(Instant::MAX);
            session.idle_until = Some(session.helpers_done_at(shared, now).min(held_until));
            return is_ack_due.then(|| session.acknowledge(shared, now, via));
        };
        let header = session.header(shared, via, at);
        let enc = coded.as_enc();
        let body = match session.ack_beside(shared, now, via, at, &enc) {
            Some(ack) => Body::Both(ack, enc),
            None => Body::Enc(enc),
        };
        let transmit = shared.emit(&header, &body, &session.tagger);
        let link = &mut session.links[at];
        link.path.depart(now, transmit.datagram.len(), Some(cargo));
        if let Some(path) = &mut link.path_mtu {
            path.sent(now, transmit.datagram.len());
        }
        if session.is_ack_due(now) {
            // The acknowledgement did not fit.
            let ack = session.acknowledge(shared, now, via);
            shared.hasten(ack);
        }
        Some(transmit)
    }

    /// Returns the time at which the next HELLO is sent: to request a session, or until the other
    /// end has it as well.
    fn hello_due(&self) -> Option<Instant> {
        let is_asked_for = self.current.is_none() || self.is_renewing || self.candidate.is_some();
        is_asked_for.then_some(self.hello_at)
    }

    /// Returns the time at which the candidate is dropped.
    fn candidate_ends(&self) -> Option<Instant> {
        self.candidate.as_ref().map(|&(_, ends)| ends)
    }

    pub fn poll_timeout(&self, shared: &Shared) -> Option<(Instant, Reason)> {
        let hello = self.hello_due().map(|at| (at, Reason::Hello));
        let ends = self.candidate_ends().map(|at| (at, Reason::Expiry));
        let of_candidate = self.candidate.as_ref().map(|(session, _)| session.pulse_at());
        let of_candidate = of_candidate.map(|at| (at, Reason::Pulse));
        let Some(session) = &self.current else {
            return earliest(shared.told, [hello, ends, of_candidate]);
        };
        let pulse = Some((session.pulse_at(), Reason::Pulse));
        let probe = session.probe_at().map(|at| (at, Reason::Probe));
        let silence = Some((session.heard_at + session.silence_max(), Reason::Expiry));
        let encoder = match &session.outgoing {
            Outgoing::Stream(_) => {
                let timeouts = session.links.iter().filter_map(|link| link.path.timeout_at());
                timeouts.min().map(|at| (at, Reason::EncoderTimeout))
            }
            Outgoing::Paper(encoder) => {
                encoder.poll_timeout().map(|(at, _)| (at, Reason::EncoderTimeout))
            }
        };
        let ack = session.ack_at().map(|at| (at, Reason::Acknowledge));
        let pace = |link| session.pace_at(&self.backlog, link).map(|at| (at, Reason::Pace));
        let (pace, other) = (pace(0), (session.links.len() > 1).then(|| pace(1)).flatten());
        earliest(
            shared.told,
            [hello, ends, of_candidate, pulse, probe, silence, encoder, ack, pace, other],
        )
    }

    pub fn handle_timeout(&mut self, shared: &mut Shared, now: Instant) {
        if self.candidate_ends().is_some_and(|at| at <= now) {
            self.candidate = None;
        }
        if let Some(session) = &mut self.current {
            if now >= session.heard_at + session.silence_max() {
                self.end_session(shared);
                self.is_renewing = false;
                self.hello_at = now;
            } else {
                session.handle_timeout(shared, now);
                session.pulse(shared, now, self.via);
                session.probe(shared, now, self.via);
                self.tell_links(shared, now);
            }
        }
        if let Some((session, _)) = &mut self.candidate {
            session.pulse(shared, now, self.via);
        }
        if self.hello_due().is_some_and(|at| at <= now) {
            self.hello_at = now + HELLO_INTERVAL;
            let asked = self.candidate.is_none().then(|| self.handshake.ask(now));
            for link in 0..shared.config.links {
                let way = Way { neighbour: self.via, link };
                match asked {
                    None => self.announce(shared, now, way, None),
                    Some((key, echo)) => self.say_hello(shared, now, key, echo, way, None),
                }
            }
        }
    }

    /// Time at which the other end was last heard in the session.
    #[cfg(test)]
    pub fn heard_at(&self) -> Option<Instant> {
        self.current.as_ref().map(|session| session.heard_at)
    }

    /// Length of the longest datagram that arrived recently, as the session reports
    /// it.
    #[cfg(test)]
    pub fn longest_heard(&mut self, now: Instant) -> Option<u16> {
        self.current.as_mut().map(|session| session.links[0].longest.bytes(now))
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
        stats.acks_superseded = self.backlog.acks_superseded();
        let Some(session) = &self.current else { return };
        stats.connected = true;
        session.fill(stats);
        stats.round_trip = session.round_trip().unwrap_or(Duration::ZERO);
        stats.path_datagram_bytes = session.limit().unwrap_or(0);
        let alive = || session.links.iter().filter(|link| !link.is_dead);
        let delays = alive().map(|link| link.path.queue_delay());
        stats.queue_delay = delays.max().unwrap_or(Duration::ZERO);
        stats.pace_bps = alive().map(|link| link.path.pace_bps(now)).sum();
        if session.links.len() > 1 {
            let links = (0..).zip(&session.links).zip(self.past_bytes);
            stats.links.extend(links.map(|((number, link), past)| {
                let of_session = link.stats(now, number);
                let datagram_bytes_sent = past + of_session.datagram_bytes_sent;
                LinkStats { datagram_bytes_sent, ..of_session }
            }));
        }
        stats.neighbours.push(NeighbourStats {
            id: self.via,
            heard: session.links.iter().map(|link| u64::from(link.path.heard_count())).sum(),
            loss_in: link::mean_known(&session.links, now, |link| link.path.loss_in()),
            loss_out: link::mean_known(&session.links, now, |link| link.path.loss.known()),
        });
        stats.neighbours.extend(session.helpers.iter().map(|helper| NeighbourStats {
            id: helper.id,
            heard: u64::from(helper.ear.received()),
            loss_in: helper.ear.loss(),
            loss_out: helper.loss.known(),
        }));
    }
}

/// Largest number of blocks in flight.
fn blocks_max(mode: &Mode) -> u8 {
    match mode {
        Mode::Stream { blocks_max, .. } => *blocks_max,
        Mode::Paper { .. } => 1,
    }
}

//! A forwarder: forwards datagrams unchanged if they are authentic and new. To each
//! of its two neighbours it stands for the other one. At most [`QUEUE_MAX`]
//! datagrams wait for the interface. Leaves out coding, acknowledgements and rate
//! control: the neighbours see one hop.

use super::addresses::{HopNumbers, Proof, Reply};
use super::sessions::Sessions;
use super::{Came, Heard, Question, Reason, Shared, Transmit};
use crate::keys::ReplayWindow;
use crate::stats::Stats;
use crate::wire::{Body, Header, Hello, NodeId};
use lasthop_units::Instant;

/// Largest number of datagrams that wait for the interface; others are dropped.
const QUEUE_MAX: usize = 256;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Forwarder {
    sessions: Sessions,
    /// Numbers received from each neighbour in the session.
    came: [ReplayWindow; 2],
}

impl Forwarder {
    pub fn new(between: [NodeId; 2], now: Instant) -> Self {
        let came = [ReplayWindow::new(), ReplayWindow::new()];
        Self { sessions: Sessions::new(between, now), came }
    }

    /// Whether a datagram is from one neighbour for the other.
    pub fn is_neighbour(&self, header: &Header) -> bool {
        let sides = [header.sender, header.to].map(|node| self.sessions.side(node));
        matches!(sides, [Some(from), Some(to)] if from != to)
    }

    pub fn sessions(&self) -> &Sessions {
        &self.sessions
    }

    pub fn handle_hello(
        &mut self,
        shared: &mut Shared,
        now: Instant,
        question: &Question,
        hello: &Hello,
    ) {
        let header = &question.header;
        let news = self.sessions.handle_hello(shared, now, header.to, question, hello);
        let Some(news) = news else { return };
        if news.begins.is_some() {
            self.came = [0, 1].map(|side| {
                let mut came = ReplayWindow::new();
                came.skip_to(self.sessions.next_of(side));
                came
            });
            shared.stats.sessions += 1;
        }
        if news.is_passed {
            self.pass_on(shared, now, hello, header.sender, header.to, None);
        }
    }

    /// A neighbour asks for the current session: answers with the other one's
    /// announcement.
    pub fn handle_call(&mut self, shared: &mut Shared, now: Instant, question: &Question) {
        let Question { header, proof, reply, is_new, .. } = question;
        if !self.is_neighbour(header) {
            return;
        }
        match self.sessions.announcement(now, self.sessions.side(header.to)) {
            Some(hello) if shared.addresses.may_answer(now, &reply.to, *is_new) => {
                self.pass_on(shared, now, &hello, header.to, header.sender, Some(*reply));
            }
            None if *proof == Proof::Nothing => {
                self.sessions.call_back(shared, now, header.to, question);
            }
            _ => {}
        }
    }

    pub fn handle_datagram(
        &mut self,
        shared: &mut Shared,
        now: Instant,
        came: &Came<'_>,
    ) -> Option<Heard> {
        let Came { from, header, datagram } = came;
        let side = self.sessions.side(header.sender).filter(|_| self.is_neighbour(header))?;
        shared.ask_if_moved(now, header.to, header, from, datagram);
        let current = self.sessions.current();
        if !current.is_some_and(|session| session.is_of(header.session, datagram)) {
            shared.stats.unauthentic += 1;
            return None;
        }
        if !self.came[side].take(header.number) {
            shared.stats.replayed += 1;
            return None;
        }
        if shared.urgent.len() < QUEUE_MAX {
            shared.stats.datagram_bytes_sent += datagram.len() as u64;
            let datagram = datagram.to_vec();
            shared.urgent.push_back(Transmit { to: header.to, link: 0, reply: None, datagram });
        }
        Some(Heard { sender: header.sender, link: 0, is_moved: false })
    }

    pub fn poll_timeout(&self) -> Option<(Instant, Reason)> {
        Some((self.sessions.call_at(), Reason::Hello))
    }

    pub fn handle_timeout(&mut self, shared: &mut Shared, now: Instant) {
        let [a, b] = self.sessions.between();
        self.sessions.call(shared, now, |side| (if side == 0 { b } else { a }, (0, 0)));
    }

    pub fn fill(&self, stats: &mut Stats) {
        stats.connected = self.sessions.current().is_some();
    }

    /// Forwards a HELLO of `sender` to `to`, with the fields that prove this node's
    /// address to it.
    fn pass_on(
        &self,
        shared: &mut Shared,
        now: Instant,
        hello: &Hello,
        sender: NodeId,
        to: NodeId,
        reply: Option<Reply>,
    ) {
        // Numbers are between the neighbours. Numbers that only this node has received
        // would be old here if they were sent again.
        let came = self.sessions.side(to).map_or(0, |side| self.came[side].highest());
        let highest = hello.hop.highest.max(came);
        let numbers = HopNumbers { highest, next: hello.hop.next };
        let hop = shared.addresses.hop(now, to, reply.as_ref(), numbers);
        shared.say(sender, to, &Body::Hello(Hello { hop, ..*hello }), reply);
    }
}

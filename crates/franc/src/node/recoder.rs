//! A recoder: reliable on both of its sides. It decodes one neighbour's combinations and recodes
//! them for the other; its combinations also include packets that it has not decoded yet.
//!
//! A recoder reports a block as done once the next node has it: the source keeps all symbols that
//! are not at the other end, so a recoder may vanish and return. Leaves out end-to-end keys: it
//! cannot read packets.

use super::addresses::{HopNumbers, Proof, Reply};
use super::sessions::{Followed, News, Sessions};
use super::{Came, Event, Heard, Question, Reason, Shared, Transmit, earliest};
use crate::config::Mode;
use crate::path_state::{Hearing, PathState};
use crate::receiver::{Receiver, Verdict};
use crate::sender::{Outlook, Sender};
use crate::stats::{NeighbourStats, Stats};
use crate::wire::{Ack, Body, Enc, Header, Hello, NodeId, Pulse};
use alloc::vec::Vec;
use lasthop_rlnc::Code;
use lasthop_units::{Duration, Instant};

/// Shortest interval of acknowledgements.
const ACK_INTERVAL: Duration = Duration::from_millis(5);

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Recoder {
    code: Code,
    sessions: Sessions,
    sides: Option<[Side; 2]>,
    /// Index of the side that is served next.
    turn: usize,
}

/// The state towards one neighbour.
#[derive(Clone, Debug, PartialEq)]
struct Side {
    neighbour: NodeId,
    path: PathState,
    /// Receiver of the blocks that it sends.
    receiver: Receiver,
    /// Sender to it, of the blocks that the other neighbour sends.
    sender: Sender,
    ack_due: Option<Instant>,
    ack_last: Instant,
    state: u16,
    /// There was nothing to send until the next event.
    is_drained: bool,
}

impl Recoder {
    pub fn new(code: Code, between: [NodeId; 2], now: Instant) -> Self {
        Self { code, sessions: Sessions::new(between, now), sides: None, turn: 0 }
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
        let me = shared.config.id;
        let news = self.sessions.handle_hello(shared, now, me, question, hello);
        let Some(News { side, begins, is_passed }) = news else { return };
        if let Some(session) = begins {
            self.begin(shared, session, now);
        }
        if is_passed {
            self.pass_on(shared, now, hello, self.sessions.between()[1 - side], None);
        }
    }

    /// A neighbour received numbers of this node up to `highest`.
    pub fn go_on_behind(&mut self, now: Instant, neighbour: NodeId, highest: u32) {
        for side in self.sides.iter_mut().flatten().filter(|side| side.neighbour == neighbour) {
            side.path.go_on_behind(now, highest);
        }
    }

    /// A node asks for the current session: a neighbour gets the other one's
    /// announcement, a helper the latest of both.
    pub fn handle_call(&mut self, shared: &mut Shared, now: Instant, question: &Question) {
        let Question { header, proof, reply, is_new, .. } = question;
        let me = shared.config.id;
        if header.to != me {
            return;
        }
        let other = self.sessions.side(header.sender).map(|side| 1 - side);
        match self.sessions.announcement(now, other) {
            Some(hello) if shared.addresses.may_answer(now, &reply.to, *is_new) => {
                self.pass_on(shared, now, &hello, header.sender, Some(*reply));
            }
            None if *proof == Proof::Nothing && other.is_some() => {
                self.sessions.call_back(shared, now, me, question);
            }
            _ => {}
        }
    }

    fn pass_on(
        &self,
        shared: &mut Shared,
        now: Instant,
        hello: &Hello,
        to: NodeId,
        reply: Option<Reply>,
    ) {
        let side = self.sides.iter().flatten().find(|side| side.neighbour == to);
        let numbers = side.map_or(HopNumbers::default(), Side::numbers);
        let hop = shared.addresses.hop(now, to, reply.as_ref(), numbers);
        shared.say(shared.config.id, to, &Body::Hello(Hello { hop, ..*hello }), reply);
    }

    fn begin(&mut self, shared: &mut Shared, session: Followed, now: Instant) {
        let (blocks_max, pace) = match shared.config.mode {
            Mode::Stream { blocks_max, pace } => (blocks_max, pace),
            Mode::Paper { .. } => (1, None),
        };
        let timeout = shared.config.encoder_timeout;
        let code = self.code;
        let mut side = |neighbour| Side {
            neighbour,
            path: PathState::new(pace, timeout, now),
            receiver: Receiver::new(code, usize::from(blocks_max), true),
            sender: Sender::new(code, blocks_max, true),
            ack_due: None,
            ack_last: Instant::ZERO,
            state: shared.stream.next_u64() as u16,
            is_drained: false,
        };
        let mut sides = self.sessions.between().map(&mut side);
        for (at, side) in sides.iter_mut().enumerate() {
            // Datagrams recorded before this node began are old.
            side.path.skip_to(self.sessions.next_of(at));
        }
        self.sides = Some(sides);
        shared.stats.sessions += 1;
        shared.report(Event::Connected { peer: session.ends()[0] });
    }

    pub fn handle_datagram(
        &mut self,
        shared: &mut Shared,
        now: Instant,
        came: &Came<'_>,
    ) -> Option<Heard> {
        let Came { from: address, header, datagram } = came;
        let from = self.sessions.side(header.sender).filter(|_| header.to == shared.config.id)?;
        shared.ask_if_moved(now, shared.config.id, header, address, datagram);
        let session = self.sessions.followed(shared, header)?;
        let body = shared.open(now, header, datagram, &session.tagger)?;
        let [a, b] = self.sides.as_mut()?;
        let (side, other) = if from == 0 { (a, b) } else { (b, a) };
        (side.is_drained, other.is_drained) = (false, false);
        match side.path.hear(now, header.number) {
            Hearing::Before => {
                shared.stats.replayed += 1;
                if side.path.is_starved(now) {
                    let numbers = side.numbers();
                    shared.call(now, shared.config.id, header.sender, numbers, None);
                }
                return None;
            }
            Hearing::New => {}
            Hearing::AfterGap => {
                let at = side.path.settles_at().max(side.ack_last + ACK_INTERVAL / 2);
                side.ack_due = Some(side.ack_due.map_or(at, |due| due.min(at)));
            }
        }
        if let Body::Pulse(pulse) = body {
            // It is from the other end, for the one beyond.
            other.pass(shared, now, &session, pulse);
        } else {
            let (ack, enc) = body.into_parts();
            if let Some(ack) = ack {
                handle_ack(shared, side, other, now, header.number, &ack);
            }
            if let Some(enc) = enc {
                handle_enc(shared, side, other, now, &enc);
            }
        }
        Some(Heard { sender: header.sender, link: 0, is_moved: false })
    }

    pub fn poll_transmit(&mut self, shared: &mut Shared, now: Instant) -> Option<Transmit> {
        let session = self.sessions.current()?.clone();
        let sides = self.sides.as_mut()?;
        for _ in 0..2 {
            self.turn = 1 - self.turn;
            let [a, b] = &mut *sides;
            let (side, other) = if self.turn == 0 { (a, b) } else { (b, a) };
            let header = |side: &Side| Header {
                sender: shared.config.id,
                to: side.neighbour,
                session: session.id,
                number: side.path.number(),
            };
            if side.ack_due.is_some_and(|due| due <= now) {
                let settles_at = Some(side.path.settles_at()).filter(|&at| at > now);
                side.ack_due = settles_at.map(|at| at.max(now + ACK_INTERVAL));
                side.ack_last = now;
                let mut ack = side.ack(now, &other.sender);
                let longest = usize::from(shared.config.datagram_bytes_max);
                ack.shorten(self.code.symbols(), longest);
                let header = header(side);
                let transmit = shared.emit(&header, &Body::Ack(ack), &session.tagger);
                side.path.depart(now, transmit.datagram.len(), None);
                shared.stats.acks_sent += 1;
                return Some(transmit);
            }
            if side.path.may_send(now).is_err() {
                continue;
            }
            let loss = side.path.loss.probability();
            let number = side.path.number();
            let sender = &mut side.sender;
            let outlook = Outlook {
                number,
                loss,
                unhelped: 1.0,
                helper_timeout: Duration::ZERO,
                caution: side.path.caution(),
                gather: side.path.gather(),
                is_scarce: side.path.is_scarce(now, sender.fresh_bytes()),
            };
            let next = sender.repair(now, &outlook).or_else(|| sender.fresh(now));
            let next = next.or_else(|| {
                side.path.note_idle(now);
                sender.spare_repair(now, &outlook)
            });
            let Some((coded, cargo)) = next else {
                side.is_drained = true;
                continue;
            };
            let header = header(side);
            let transmit = shared.emit(&header, &Body::Enc(coded.as_enc()), &session.tagger);
            side.path.depart(now, transmit.datagram.len(), Some(cargo));
            return Some(transmit);
        }
        None
    }

    pub fn poll_timeout(&self, told: Instant) -> Option<(Instant, Reason)> {
        let call = [Some((self.sessions.call_at(), Reason::Hello))];
        let sides = self.sides.iter().flatten();
        earliest(
            told,
            call.into_iter().chain(sides.flat_map(|side| {
                let wants = !side.is_drained && !side.sender.is_idle();
                [
                    side.ack_due.map(|at| (at, Reason::Acknowledge)),
                    side.path.timeout_at().map(|at| (at, Reason::EncoderTimeout)),
                    side.path.pace_at().filter(|_| wants).map(|at| (at, Reason::Pace)),
                    side.sender.mend_at().filter(|_| !wants).map(|at| (at, Reason::Pace)),
                ]
            })),
        )
    }

    pub fn handle_timeout(&mut self, shared: &mut Shared, now: Instant) {
        let (me, sides) = (shared.config.id, &self.sides);
        let numbers = |at: usize| {
            let side = sides.as_ref().map(|sides| sides[at].numbers());
            side.map_or((0, 0), |HopNumbers { highest, next }| (highest, next))
        };
        self.sessions.call(shared, now, |side| (me, numbers(side)));
        for side in self.sides.iter_mut().flatten() {
            let Side { path, sender, .. } = side;
            if path.handle_timeout(now, &mut |cargo| sender.landed(now, cargo)) {
                shared.stats.timeouts += 1;
                side.is_drained = false;
            }
            if sender.take_mend(now) {
                side.is_drained = false;
            }
        }
    }

    pub fn fill(&self, stats: &mut Stats, now: Instant) {
        stats.connected = self.sessions.current().is_some();
        for side in self.sides.iter().flatten() {
            stats.blocks_begun += side.sender.counts.blocks_begun;
            stats.blocks_done += side.sender.counts.blocks_done;
            stats.source_sent += side.sender.counts.source_sent;
            stats.coded_sent += side.sender.counts.coded_sent;
            stats.round_trip = stats.round_trip.max(side.path.round_trip().unwrap_or_default());
            stats.queue_delay = stats.queue_delay.max(side.path.queue_delay());
            stats.pace_bps = stats.pace_bps.max(side.path.pace_bps(now));
            stats.neighbours.push(NeighbourStats {
                id: side.neighbour,
                heard: u64::from(side.path.heard_count()),
                loss_in: side.path.loss_in(),
                loss_out: side.path.loss.known(),
            });
        }
    }
}

/// Handles an acknowledgement of the node at `side`.
fn handle_ack(
    shared: &mut Shared,
    side: &mut Side,
    other: &mut Side,
    now: Instant,
    number: u32,
    ack: &Ack,
) {
    shared.stats.acks_received += 1;
    let Side { path, sender, .. } = side;
    let me = shared.config.id;
    if let Some(report) = ack.links.iter().find(|report| report.node == me) {
        path.handle_report(now, report, &mut |cargo| sender.reported(cargo));
    }
    let oldest = sender.oldest();
    sender.handle_ack(now, u64::from(number), ack);
    for block in sender.take_restarted() {
        // Something in it was forged, perhaps before it came here: this node cannot
        // know. So it begins the block anew, too, and tells the node before it.
        if other.receiver.restart(block) {
            sender.restart(block);
            other.acknowledge_soon(now);
        }
    }
    other.receiver.release_below(sender.oldest());
    if sender.oldest() != oldest {
        // The other side may then release blocks, too.
        other.acknowledge_soon(now);
    }
}

/// Handles a combination from `side`, for the node at `other`.
fn handle_enc(shared: &mut Shared, side: &mut Side, other: &mut Side, now: Instant, enc: &Enc<'_>) {
    let Side { receiver, .. } = side;
    let sender = &mut other.sender;
    sender.forget_below(enc.oldest);
    if !sender.accepts(enc.block) {
        shared.stats.malformed += 1;
        return;
    }
    let mut known = Vec::new();
    let verdict = receiver.handle_enc(enc, &mut |block, index, symbol: &[u8]| {
        known.push((block, index, symbol.to_vec()));
        true
    });
    match verdict {
        Verdict::Innovative => {
            shared.stats.innovative += 1;
            // Starts the block, so that symbols can be added to it.
            let _ = sender.overhear(enc, receiver.payload());
        }
        Verdict::Redundant => shared.stats.redundant += 1,
        Verdict::Stale => shared.stats.stale += 1,
        Verdict::Refused | Verdict::Polluted => shared.stats.malformed += 1,
    }
    for (block, index, symbol) in known {
        sender.relay(block, index, &symbol);
    }
    side.acknowledge_soon(now);
}

impl Side {
    fn numbers(&self) -> HopNumbers {
        HopNumbers { highest: self.path.highest(), next: self.path.number() }
    }

    /// Schedules an acknowledgement, at a limited rate.
    fn acknowledge_soon(&mut self, now: Instant) {
        let at = now.max(self.ack_last + ACK_INTERVAL);
        self.ack_due = Some(self.ack_due.map_or(at, |due| due.min(at)));
    }

    /// Forwards a pulse between the ends.
    fn pass(&mut self, shared: &mut Shared, now: Instant, session: &Followed, pulse: Pulse<'_>) {
        let (sender, to) = (shared.config.id, self.neighbour);
        let header = Header { sender, to, session: session.id, number: self.path.number() };
        let body = Body::Pulse(Pulse { padding: 0, ..pulse });
        let transmit = shared.emit(&header, &body, &session.tagger);
        self.path.depart(now, transmit.datagram.len(), None);
        shared.hasten(transmit);
    }

    /// The acknowledgement of the neighbour's blocks. Complete blocks are not done
    /// until `onward` reports that the next node has them.
    fn ack(&self, now: Instant, onward: &Sender) -> Ack {
        let done = onward.oldest().min(self.receiver.done());
        let links = alloc::vec![self.path.report(self.neighbour, now)];
        Ack::new(done, self.state, links, self.receiver.reports(done))
    }
}

//! A recoder: reliable on both of its sides. It decodes what one neighbour sends and codes
//! anew for the other; what it has not decoded goes into its combinations all the same.
//!
//! It says a block is done when the next node said so: the source keeps what is not at the
//! other end, so a recoder may vanish and come back.

use super::sessions::{Heard, Sessions};
use super::{Event, Reason, Shared, Transmit, earliest};
use crate::config::Mode;
use crate::hop::{Hearing, Hop};
use crate::receiver::{Receiver, Verdict};
use crate::sender::{Outlook, Sender};
use crate::stats::{NeighbourStats, Stats};
use crate::wire::{Ack, BLOCK_REPORTS_MAX, BlockReport, Body, Enc, Header, Hello, NodeId};
use alloc::vec::Vec;
use lasthop_rlnc::Code;
use lasthop_units::{Duration, Instant};

/// Acknowledgements are at least so far apart.
const ACK_INTERVAL: Duration = Duration::from_millis(5);
/// HELLOs that wait to be passed on at most.
const HELLOS_MAX: usize = 16;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Recoder {
    code: Code,
    between: [NodeId; 2],
    sessions: Sessions,
    current: Option<Heard>,
    sides: Option<[Side; 2]>,
    /// Whose turn it is.
    turn: usize,
}

/// What belongs to one neighbour.
#[derive(Clone, Debug, PartialEq)]
struct Side {
    neighbour: NodeId,
    hop: Hop,
    /// Of the blocks that it sends.
    receiver: Receiver,
    /// To it, of the blocks that the other neighbour sends.
    sender: Sender,
    ack_due: Option<Instant>,
    ack_last: Instant,
    state: u16,
    /// There was nothing to send, until something happens.
    is_drained: bool,
}

impl Recoder {
    pub fn new(code: Code, between: [NodeId; 2]) -> Self {
        let sessions = Sessions::default();
        Self { code, between, sessions, current: None, sides: None, turn: 0 }
    }

    pub fn handle_hello(
        &mut self,
        shared: &mut Shared,
        _now: Instant,
        header: &Header,
        hello: &Hello,
    ) -> bool {
        let me = shared.config.id;
        let from = self.between.iter().position(|&neighbour| neighbour == header.sender);
        let (Some(from), true) = (from, header.to == me) else { return false };
        self.sessions.hear(&shared.secrets, hello);
        if shared.urgent.len() < HELLOS_MAX {
            let header = Header { sender: me, to: self.between[1 - from], ..*header };
            let tagger = shared.hello_tagger;
            let hello = shared.emit(&header, &Body::Hello(*hello), &tagger);
            shared.urgent.push_back(hello);
        }
        true
    }

    fn begin(&mut self, shared: &mut Shared, session: Heard, now: Instant) {
        let (blocks_max, pace) = match shared.config.mode {
            Mode::Stream { blocks_max, pace } => (blocks_max, pace),
            Mode::Paper { .. } => (1, None),
        };
        let timeout = shared.config.encoder_timeout;
        let code = self.code;
        let mut side = |neighbour| Side {
            neighbour,
            hop: Hop::new(pace, timeout, now),
            receiver: Receiver::new(code, usize::from(blocks_max)),
            sender: Sender::new(code, blocks_max, true),
            ack_due: None,
            ack_last: Instant::ZERO,
            state: shared.stream.next_u64() as u16,
            is_drained: false,
        };
        self.sides = Some(self.between.map(&mut side));
        self.current = Some(session);
        shared.stats.sessions += 1;
        shared.tell(Event::Connected { peer: session.ends[0] });
    }

    pub fn handle_datagram(
        &mut self,
        shared: &mut Shared,
        now: Instant,
        header: &Header,
        datagram: &[u8],
    ) -> bool {
        let from = self.between.iter().position(|&neighbour| neighbour == header.sender);
        let (Some(from), true) = (from, header.to == shared.config.id) else { return false };
        let Some(session) = self.sessions.find(header.session, datagram) else {
            shared.stats.unauthentic += 1;
            return false;
        };
        if self.current != Some(session) {
            self.begin(shared, session, now);
        }
        let Some(body) = shared.open(now, header, datagram, &session.tagger) else { return false };
        let Some([a, b]) = &mut self.sides else { return false };
        let (side, other) = if from == 0 { (a, b) } else { (b, a) };
        (side.is_drained, other.is_drained) = (false, false);
        match side.hop.hear(now, header.number) {
            Hearing::Before => {
                shared.stats.replayed += 1;
                side.ack_due.get_or_insert(now.max(side.ack_last + ACK_INTERVAL));
                return false;
            }
            Hearing::New => {}
            Hearing::AfterGap => {
                let at = now.max(side.ack_last + ACK_INTERVAL / 2);
                side.ack_due = Some(side.ack_due.map_or(at, |due| due.min(at)));
            }
        }
        match body {
            Body::Enc(enc) => handle_enc(shared, side, other, now, &enc),
            Body::Ack(ack) => {
                shared.stats.acks_received += 1;
                let Side { hop, sender, .. } = side;
                let me = shared.config.id;
                if let Some(report) = ack.links.iter().find(|report| report.node == me) {
                    hop.handle_report(now, report, &mut |cargo| sender.landed(now, cargo));
                }
                let oldest = sender.oldest();
                sender.handle_ack(now, &ack);
                if sender.oldest() != oldest {
                    // The other side may let go of blocks as well.
                    other.ack_due.get_or_insert(now.max(other.ack_last + ACK_INTERVAL));
                }
            }
            Body::Hello(_) => {}
        }
        true
    }

    pub fn poll_transmit(&mut self, shared: &mut Shared, now: Instant) -> Option<Transmit> {
        let session = self.current?;
        let sides = self.sides.as_mut()?;
        for _ in 0..2 {
            self.turn = 1 - self.turn;
            let [a, b] = &mut *sides;
            let (side, other) = if self.turn == 0 { (a, b) } else { (b, a) };
            let header = |side: &Side| Header {
                sender: shared.config.id,
                to: side.neighbour,
                session: session.id,
                number: side.hop.number(),
            };
            if side.ack_due.is_some_and(|due| due <= now) {
                (side.ack_due, side.ack_last) = (None, now);
                let ack = side.ack(now, &other.sender, self.code);
                let header = header(side);
                let transmit = shared.emit(&header, &Body::Ack(ack), &session.tagger);
                side.hop.depart(now, transmit.datagram.len(), None);
                shared.stats.acks_sent += 1;
                return Some(transmit);
            }
            if side.hop.may_send(now).is_err() {
                continue;
            }
            let loss = side.hop.loss.probability();
            let number = side.hop.number();
            let sender = &mut side.sender;
            let outlook = Outlook {
                number,
                loss,
                unhelped: 1.0,
                patience: Duration::ZERO,
                is_scarce: side.hop.is_scarce(now, sender.fresh_bytes()),
            };
            let next = sender.repair(now, &outlook).or_else(|| sender.fresh(now));
            let next = next.or_else(|| {
                side.hop.is_free(now);
                sender.spare_repair(now, &outlook)
            });
            let Some((coded, cargo)) = next else {
                side.is_drained = true;
                continue;
            };
            let header = header(side);
            let transmit = shared.emit(&header, &Body::Enc(coded.as_enc()), &session.tagger);
            side.hop.depart(now, transmit.datagram.len(), Some(cargo));
            return Some(transmit);
        }
        None
    }

    pub fn poll_timeout(&self, told: Instant) -> Option<(Instant, Reason)> {
        let sides = self.sides.as_ref()?;
        earliest(
            told,
            sides.iter().flat_map(|side| {
                let wants = !side.is_drained && !side.sender.is_idle();
                [
                    side.ack_due.map(|at| (at, Reason::Acknowledge)),
                    side.hop.timeout_at().map(|at| (at, Reason::EncoderTimeout)),
                    side.hop.pace_at().filter(|_| wants).map(|at| (at, Reason::Pace)),
                ]
            }),
        )
    }

    pub fn handle_timeout(&mut self, shared: &mut Shared, now: Instant) {
        for side in self.sides.iter_mut().flatten() {
            let Side { hop, sender, .. } = side;
            if hop.handle_timeout(now, &mut |cargo| sender.landed(now, cargo)) {
                shared.stats.timeouts += 1;
                side.is_drained = false;
            }
        }
    }

    pub fn fill(&self, stats: &mut Stats, now: Instant) {
        stats.connected = self.current.is_some();
        for side in self.sides.iter().flatten() {
            stats.blocks_begun += side.sender.counts.blocks_begun;
            stats.blocks_done += side.sender.counts.blocks_done;
            stats.source_sent += side.sender.counts.source_sent;
            stats.coded_sent += side.sender.counts.coded_sent;
            stats.round_trip = stats.round_trip.max(side.hop.round_trip().unwrap_or_default());
            stats.queue_delay = stats.queue_delay.max(side.hop.queue_delay());
            stats.pace_bps = stats.pace_bps.max(side.hop.pace_bps(now));
            stats.neighbours.push(NeighbourStats {
                id: side.neighbour,
                heard: u64::from(side.hop.heard_count()),
                loss_in: side.hop.loss_in(),
                loss_out: side.hop.loss.known(),
            });
        }
    }
}

/// A combination came from `side`, for what lies behind `other`.
fn handle_enc(shared: &mut Shared, side: &mut Side, other: &mut Side, now: Instant, enc: &Enc<'_>) {
    let Side { receiver, .. } = side;
    let sender = &mut other.sender;
    sender.forget_below(enc.oldest);
    if !sender.accepts(enc.block) {
        shared.stats.malformed += 1;
        return;
    }
    let mut known = Vec::new();
    let (verdict, _) = receiver.handle_enc(enc, &mut |block, index, symbol: &[u8]| {
        known.push((block, index, symbol.to_vec()));
    });
    match verdict {
        Verdict::Innovative => {
            shared.stats.innovative += 1;
            // Its block begins with it: a symbol finds it there.
            let _ = sender.overhear(enc, receiver.payload());
        }
        Verdict::Redundant => shared.stats.redundant += 1,
        Verdict::Late => shared.stats.late += 1,
        Verdict::Refused => shared.stats.malformed += 1,
    }
    for (block, index, symbol) in known {
        sender.relay(block, index, &symbol);
    }
    side.ack_due.get_or_insert(now.max(side.ack_last + ACK_INTERVAL));
}

impl Side {
    /// What is here of the neighbour's blocks. Those that are complete are not done until
    /// `onward` says that the next node has them.
    fn ack(&self, now: Instant, onward: &Sender, code: Code) -> Ack {
        let symbols = code.symbols() as u16;
        let done = onward.oldest().min(self.receiver.done());
        let complete = (done..self.receiver.done()).map(|block| BlockReport {
            block,
            rank: symbols,
            ..BlockReport::default()
        });
        let mut blocks: Vec<BlockReport> = complete.chain(self.receiver.reports()).collect();
        blocks.truncate(BLOCK_REPORTS_MAX);
        let links = alloc::vec![self.hop.report(self.neighbour, now)];
        Ack { done, state: self.state, links, blocks }
    }
}

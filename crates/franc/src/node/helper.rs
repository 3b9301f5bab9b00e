//! A helper: overhears both ends of a hop and sends combinations of what it heard, in the
//! amounts that PlayNCool's budgets say ([`crate::paper::Helper`]), each way by itself.

use super::sessions::{Heard, Sessions};
use super::{Reason, Shared, Transmit, earliest};
use crate::budget;
use crate::config::{Losses, Mode};
use crate::hop::{Ear, LossEstimate};
use crate::paper;
use crate::stats::{NeighbourStats, Stats};
use crate::wire::{Ack, Body, Header, Hello, LinkReport, NodeId};
use lasthop_rlnc::{Code, Received};
use lasthop_units::{Duration, Instant, Probability};

/// As long as nothing is known, a helper is silent.
const SILENT: Losses = Losses { e1: Probability::ONE, e2: Probability::ONE, e3: Probability::ZERO };

/// A helper says how well it hears this often.
const ACK_INTERVAL: Duration = Duration::from_millis(50);

/// A helper of a stream is silent unless it saves so much of the air: it has to win the air
/// as the source does, and what it sends may be known already.
const SAVING_MIN: f64 = 0.1;

/// Whether helpers of a stream help; its source waits for them only if they do.
pub(super) fn is_worth(code: Code, losses: Losses, helpers: u8) -> bool {
    budget::saving(code.symbols() as u16, losses, helpers) >= SAVING_MIN
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Helper {
    code: Code,
    between: [NodeId; 2],
    helpers: u8,
    sessions: Sessions,
    current: Option<Heard>,
    /// From each end towards the other.
    ways: [Way; 2],
}

/// One direction.
#[derive(Clone, Debug, PartialEq)]
struct Way {
    machine: Option<paper::Helper>,
    /// What comes from the source.
    ear: Ear,
    /// Losses from here to the destination, and from the source to it.
    losses_there: [LossEstimate; 2],
    next_number: u32,
    /// To the source, about how well it is heard.
    ack_at: Option<Instant>,
}

impl Way {
    fn new() -> Self {
        Self {
            machine: None,
            ear: Ear::default(),
            losses_there: [LossEstimate::default(); 2],
            next_number: 1,
            ack_at: None,
        }
    }
}

impl Helper {
    pub fn new(code: Code, between: [NodeId; 2], helpers: u8) -> Self {
        let ways = [Way::new(), Way::new()];
        Self { code, between, helpers, sessions: Sessions::default(), current: None, ways }
    }

    pub fn handle_hello(&mut self, shared: &mut Shared, hello: &Hello) -> bool {
        self.sessions.hear(&shared.secrets, hello);
        true
    }

    pub fn handle_datagram(
        &mut self,
        shared: &mut Shared,
        now: Instant,
        header: &Header,
        datagram: &[u8],
    ) -> bool {
        let Some(way) = self.between.iter().position(|&end| end == header.sender) else {
            return false;
        };
        if self.between[1 - way] != header.to {
            // Another helper's, or a report to one.
            return false;
        }
        let Some(session) = self.sessions.find(header.session, datagram) else {
            shared.stats.unauthentic += 1;
            return false;
        };
        if self.current != Some(session) {
            self.begin(shared, session);
        }
        let Some(body) = shared.open(now, header, datagram, &session.tagger) else { return false };
        if !self.ways[way].ear.take(now, header.number) {
            shared.stats.replayed += 1;
            return false;
        }
        match body {
            Body::Enc(enc) => {
                // The paper's helper says nothing; budgets that are given know of it.
                let is_paper = matches!(shared.config.mode, Mode::Paper { .. });
                if !is_paper || shared.config.losses.is_none() {
                    self.ways[way].ack_at.get_or_insert(now + ACK_INTERVAL);
                }
                if shared.config.losses.is_none() {
                    let estimate = self.estimate(way);
                    let losses = match is_paper || is_worth(self.code, estimate, self.helpers) {
                        true => estimate,
                        false => SILENT,
                    };
                    if let Some(machine) = &mut self.ways[way].machine {
                        machine.set_losses(losses);
                    }
                }
                if let Some(machine) = &mut self.ways[way].machine {
                    match machine.handle_enc(now, &enc) {
                        Some(Received::Innovative) => shared.stats.innovative += 1,
                        Some(Received::Redundant) => shared.stats.redundant += 1,
                        None => shared.stats.late += 1,
                    }
                }
            }
            Body::Ack(ack) => {
                shared.stats.acks_received += 1;
                self.handle_ack(shared.config.id, now, 1 - way, &ack);
            }
            Body::Hello(_) => {}
        }
        true
    }

    fn begin(&mut self, shared: &mut Shared, session: Heard) {
        self.current = Some(session);
        shared.stats.sessions += 1;
        let is_paper = matches!(shared.config.mode, Mode::Paper { .. });
        let helps = |&losses: &Losses| is_paper || is_worth(self.code, losses, self.helpers);
        let parameters = paper::HelperParameters {
            losses: shared.config.losses.filter(helps).unwrap_or(SILENT),
            helpers: self.helpers,
            margin: None,
            blocks_max: match shared.config.mode {
                Mode::Paper { .. } => 1,
                Mode::Stream { blocks_max, .. } => blocks_max,
            },
        };
        self.ways = [Way::new(), Way::new()];
        for way in &mut self.ways {
            way.machine = Some(paper::Helper::new(self.code, &parameters, shared.fork()));
        }
    }

    /// The destination of `way` says what it has and how well it hears.
    fn handle_ack(&mut self, me: NodeId, now: Instant, way: usize, ack: &Ack) {
        let source = self.between[way];
        let way = &mut self.ways[way];
        for report in &ack.links {
            let at = if report.node == me {
                0
            } else if report.node == source {
                1
            } else {
                continue;
            };
            way.losses_there[at].update(report.highest, report.received);
            if at == 0 {
                // If we began anew: go on where we were.
                way.next_number = way.next_number.max(report.highest.saturating_add(1));
            }
        }
        if let Some(machine) = &mut way.machine {
            machine.handle_ack(now, ack);
        }
    }

    fn estimate(&self, way: usize) -> Losses {
        let way = &self.ways[way];
        let loss = |p: f64| Probability::new(p).expect("an estimate is between 0 and 1");
        Losses {
            e1: loss(way.ear.loss().unwrap_or(0.05)),
            e2: loss(way.losses_there[0].probability()),
            e3: loss(way.losses_there[1].probability()),
        }
    }

    pub fn poll_transmit(&mut self, shared: &mut Shared, now: Instant) -> Option<Transmit> {
        let session = self.current?;
        for at in 0..2 {
            let (source, destination) = (self.between[at], self.between[1 - at]);
            let way = &mut self.ways[at];
            if way.ack_at.is_some_and(|ack_at| ack_at <= now) {
                way.ack_at = None;
                let report: LinkReport = way.ear.report(source, now);
                let ack = Ack { links: alloc::vec![report], ..Ack::default() };
                shared.stats.acks_sent += 1;
                return Some(self.emit(shared, &session, source, &Body::Ack(ack)));
            }
            if let Some(mut coded) = way.machine.as_mut().and_then(|m| m.poll_transmit(now)) {
                if let Mode::Paper { .. } = shared.config.mode {
                    coded.payload.resize(usize::from(shared.config.symbol_bytes), 0);
                }
                shared.stats.coded_sent += 1;
                return Some(self.emit(shared, &session, destination, &Body::Enc(coded.as_enc())));
            }
        }
        None
    }

    fn emit(
        &mut self,
        shared: &mut Shared,
        session: &Heard,
        to: NodeId,
        body: &Body<'_>,
    ) -> Transmit {
        // Numbers are of a sender and a receiver: of the way that ends at the receiver.
        let way = &mut self.ways[usize::from(self.between[0] == to)];
        let (sender, number) = (shared.config.id, way.next_number);
        way.next_number = way.next_number.saturating_add(1);
        let header = Header { sender, to, session: session.id, number };
        shared.emit(&header, body, &session.tagger)
    }

    pub fn poll_timeout(&self, told: Instant) -> Option<(Instant, Reason)> {
        let ack = |way: &Way| way.ack_at.map(|at| (at, Reason::Acknowledge));
        earliest(told, self.ways.iter().map(ack))
    }

    pub fn fill(&self, stats: &mut Stats) {
        stats.connected = self.current.is_some();
        for (way, &id) in self.ways.iter().zip(&self.between) {
            let heard = u64::from(way.ear.received());
            stats.neighbours.push(NeighbourStats {
                id,
                heard,
                loss_in: way.ear.loss(),
                loss_out: None,
            });
        }
        for (way, &id) in self.ways.iter().zip(self.between.iter().rev()) {
            let known = stats.neighbours.iter_mut().find(|known| known.id == id);
            if let Some(known) = known {
                known.loss_out = way.losses_there[0].known();
            }
        }
    }
}

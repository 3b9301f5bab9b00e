//! A helper: overhears both ends of a hop and sends combinations of the packets it received, in the
//! amounts of PlayNCool's budgets ([`crate::paper::Helper`]), separately for each direction.
//! Reports of its reception are sent every [`ACK_INTERVAL`]. Losses are 0 to 1. Leaves out
//! decoding: a helper has only the hop key.

use super::sessions::{Followed, Sessions};
use super::{Came, Heard, Question, Reason, Shared, Transmit, earliest};
use crate::budget;
use crate::config::{Helping, Losses, Mode};
use crate::paper;
use crate::path_state::{Ear, LossEstimate};
use crate::stats::{NeighbourStats, Stats};
use crate::wire::{Ack, Body, Enc, Header, Hello, LinkReport, NodeId};
use lasthop_rlnc::{Code, Received};
use lasthop_units::{Duration, Instant, Probability};

/// Losses with which a helper is silent, until they are known.
const SILENT: Losses = Losses { e1: Probability::ONE, e2: Probability::ONE, e3: Probability::ZERO };

/// Interval of a helper's reports.
const ACK_INTERVAL: Duration = Duration::from_millis(50);

/// A helper forgets its losses to the destination after this time without a combination of its own:
/// only combinations measure them.
const FORGET: Duration = Duration::from_secs(5);

/// Number of useless combinations in a row after which the source is not at the block that a holder
/// of the hop key claimed.
const USELESS_MAX: u32 = 128;

/// Minimum share of the airtime that the helper of a stream must save to send: it contends for the
/// channel like the source, and its combinations may be redundant.
const SAVING_MIN: f64 = 0.1;

/// Whether helpers of a stream help; its source waits for them only if they do.
pub(super) fn is_worth(code: Code, losses: Losses, helpers: u8) -> bool {
    budget::saving(code.symbols() as u16, losses, helpers) >= SAVING_MIN
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct HelperPart {
    code: Code,
    between: [NodeId; 2],
    helpers: u8,
    sessions: Sessions,
    /// The directions from each end to the other.
    directions: [Direction; 2],
}

/// One direction of the hop.
#[derive(Clone, Debug, PartialEq)]
struct Direction {
    machine: Option<paper::Helper>,
    /// Number of combinations in a row that were of no use.
    useless: u32,
    /// Numbers received from the source.
    ear: Ear,
    /// Losses from here to the destination, and from the source to it.
    losses_there: [LossEstimate; 2],
    next_number: u32,
    /// The first number after others made this node leave some out: reports of lower ones have
    /// nothing of its losses since.
    counted_from: u32,
    /// Whether a report has counted from there.
    is_counted: bool,
    /// Latest time at which this node sent a combination, or forgot losses.
    sent_at: Instant,
    /// Time at which the next report to the source is due.
    ack_at: Option<Instant>,
}

impl Direction {
    fn new() -> Self {
        Self {
            machine: None,
            useless: 0,
            ear: Ear::default(),
            losses_there: [LossEstimate::default(); 2],
            next_number: 1,
            counted_from: 0,
            is_counted: true,
            sent_at: Instant::ZERO,
            ack_at: None,
        }
    }

    /// Continues after number `highest`: this node restarted, or others sent in its name.
    fn jump(&mut self, highest: u32) {
        self.next_number = highest.saturating_add(1);
        self.count_anew();
    }

    /// Numbers sent so far are no losses of later ones.
    fn count_anew(&mut self) {
        (self.counted_from, self.is_counted) = (self.next_number, false);
    }

    /// Takes the destination's report about this node.
    fn handle_report(&mut self, report: &LinkReport) {
        if report.highest >= self.next_number {
            self.jump(report.highest);
        }
        if report.highest < self.counted_from {
            return;
        }
        let loss = &mut self.losses_there[0];
        if self.is_counted {
            loss.follow(report.highest, report.received);
        } else {
            loss.go_on_from(report.highest, report.received);
            self.is_counted = true;
        }
    }

    /// Forgets losses to the destination if none were measured for long.
    fn forget(&mut self, now: Instant) {
        if now.saturating_since(self.sent_at) >= FORGET {
            self.sent_at = now;
            self.losses_there[0].forget();
            self.count_anew();
        }
    }
}

impl HelperPart {
    pub fn new(code: Code, between: [NodeId; 2], helpers: u8, now: Instant) -> Self {
        let directions = [Direction::new(), Direction::new()];
        Self { code, between, helpers, sessions: Sessions::new(between, now), directions }
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
        if news.is_some_and(|news| news.begins.is_some()) {
            self.begin(shared);
        }
    }

    /// An end received numbers of this node up to `highest`.
    pub fn go_on_behind(&mut self, end: NodeId, highest: u32) {
        // Numbers are per sender and receiver: of the direction that ends at the
        // receiver.
        let direction = &mut self.directions[usize::from(self.between[0] == end)];
        if highest >= direction.next_number {
            direction.jump(highest);
        }
    }

    pub fn handle_datagram(
        &mut self,
        shared: &mut Shared,
        now: Instant,
        came: &Came<'_>,
    ) -> Option<Heard> {
        let Came { from, header, datagram } = came;
        let direction = self.sessions.side(header.sender)?;
        shared.ask_if_moved(now, shared.config.id, header, from, datagram);
        if self.between[1 - direction] != header.to {
            // From another helper, or a report to one.
            return None;
        }
        let session = self.sessions.followed(shared, header)?;
        let body = shared.open(now, header, datagram, &session.tagger)?;
        if !self.directions[direction].ear.take(now, header.number) {
            shared.stats.replayed += 1;
            return None;
        }
        let (ack, enc) = body.into_parts();
        if let Some(ack) = ack {
            shared.stats.acks_received += 1;
            self.handle_ack(shared.config.id, now, 1 - direction, &ack);
        }
        if let Some(enc) = enc {
            self.handle_enc(shared, now, direction, &enc);
        }
        Some(Heard { sender: header.sender, link: 0, is_moved: false })
    }

    fn begin(&mut self, shared: &mut Shared) {
        shared.stats.sessions += 1;
        self.directions = [Direction::new(), Direction::new()];
        for (side, direction) in self.directions.iter_mut().enumerate() {
            direction.machine = Some(new_machine(self.code, self.helpers, shared));
            // Datagrams recorded before this node began are old.
            direction.ear.skip_to(self.sessions.next_of(side));
        }
    }

    /// Handles a combination of the source of direction `way`.
    fn handle_enc(&mut self, shared: &mut Shared, now: Instant, direction: usize, enc: &Enc<'_>) {
        // The paper's helper sends no reports: configured losses make them unnecessary.
        let is_paper = matches!(shared.config.mode, Mode::Paper { .. });
        if !is_paper || shared.config.losses.is_none() {
            self.directions[direction].ack_at.get_or_insert(now + ACK_INTERVAL);
        }
        if shared.config.losses.is_none() {
            self.directions[direction].forget(now);
            let estimate = self.estimate(direction);
            let losses = if is_paper || is_worth(self.code, estimate, self.helpers) {
                estimate
            } else {
                SILENT
            };
            if let Some(machine) = &mut self.directions[direction].machine {
                machine.set_losses(losses);
            }
        }
        let direction = &mut self.directions[direction];
        if let Some(machine) = &mut direction.machine {
            let received = machine.handle_enc(now, enc);
            match received {
                Some(Received::Innovative) => shared.stats.innovative += 1,
                Some(Received::Redundant) => shared.stats.redundant += 1,
                None => shared.stats.stale += 1,
            }
            direction.useless = if received.is_some() { 0 } else { direction.useless + 1 };
        }
        if direction.useless >= USELESS_MAX {
            (direction.useless, direction.machine) =
                (0, Some(new_machine(self.code, self.helpers, shared)));
        }
    }

    /// Handles an acknowledgement of the destination of direction `way`, with its
    /// link reports.
    fn handle_ack(&mut self, me: NodeId, now: Instant, direction: usize, ack: &Ack) {
        let source = self.between[direction];
        let direction = &mut self.directions[direction];
        for report in &ack.links {
            if report.node == me {
                direction.handle_report(report);
            } else if report.node == source {
                direction.losses_there[1].follow(report.highest, report.received);
            }
        }
        if let Some(machine) = &mut direction.machine {
            machine.handle_ack(now, ack);
        }
    }

    fn estimate(&self, direction: usize) -> Losses {
        let direction = &self.directions[direction];
        let loss = |p: f64| Probability::new(p).expect("an estimate is between 0 and 1");
        Losses {
            e1: loss(direction.ear.loss().unwrap_or(0.05)),
            e2: loss(direction.losses_there[0].probability()),
            e3: loss(direction.losses_there[1].probability()),
        }
    }

    pub fn poll_transmit(&mut self, shared: &mut Shared, now: Instant) -> Option<Transmit> {
        let session = self.sessions.current()?.clone();
        for at in 0..2 {
            let (source, destination) = (self.between[at], self.between[1 - at]);
            let direction = &mut self.directions[at];
            if direction.ack_at.is_some_and(|ack_at| ack_at <= now) {
                direction.ack_at = None;
                let report: LinkReport = direction.ear.report(source, now);
                let ack = Ack { links: alloc::vec![report], ..Ack::default() };
                shared.stats.acks_sent += 1;
                return Some(self.emit(shared, &session, source, &Body::Ack(ack)));
            }
            if let Some(mut coded) = direction.machine.as_mut().and_then(|m| m.poll_transmit(now)) {
                if let Mode::Paper { .. } = shared.config.mode {
                    coded.payload.resize(usize::from(shared.config.symbol_bytes), 0);
                }
                shared.stats.coded_sent += 1;
                direction.sent_at = now;
                return Some(self.emit(shared, &session, destination, &Body::Enc(coded.as_enc())));
            }
        }
        None
    }

    fn emit(
        &mut self,
        shared: &mut Shared,
        session: &Followed,
        to: NodeId,
        body: &Body<'_>,
    ) -> Transmit {
        // Numbers are per sender and receiver: of the direction that ends at the
        // receiver.
        let direction = &mut self.directions[usize::from(self.between[0] == to)];
        let (sender, number) = (shared.config.id, direction.next_number);
        direction.next_number = direction.next_number.saturating_add(1);
        let header = Header { sender, to, session: session.id, number };
        shared.emit(&header, body, &session.tagger)
    }

    pub fn poll_timeout(&self, told: Instant) -> Option<(Instant, Reason)> {
        let call = [Some((self.sessions.call_at(), Reason::Hello))];
        let ack = |direction: &Direction| direction.ack_at.map(|at| (at, Reason::Acknowledge));
        earliest(told, call.into_iter().chain(self.directions.iter().map(ack)))
    }

    pub fn handle_timeout(&mut self, shared: &mut Shared, now: Instant) {
        let me = shared.config.id;
        self.sessions.call(shared, now, |_| (me, (0, 0)));
    }

    pub fn fill(&self, stats: &mut Stats) {
        stats.connected = self.sessions.current().is_some();
        for (direction, &id) in self.directions.iter().zip(&self.between) {
            let heard = u64::from(direction.ear.received());
            stats.neighbours.push(NeighbourStats {
                id,
                heard,
                loss_in: direction.ear.loss(),
                loss_out: None,
            });
        }
        for (direction, &id) in self.directions.iter().zip(self.between.iter().rev()) {
            let known = stats.neighbours.iter_mut().find(|known| known.id == id);
            if let Some(known) = known {
                known.loss_out = direction.losses_there[0].known();
            }
        }
    }
}

/// The machine of one direction, without knowledge yet.
fn new_machine(code: Code, helpers: u8, shared: &mut Shared) -> paper::Helper {
    let is_paper = matches!(shared.config.mode, Mode::Paper { .. });
    let helps = |&losses: &Losses| is_paper || is_worth(code, losses, helpers);
    let parameters = paper::HelperParameters {
        losses: shared.config.losses.filter(helps).unwrap_or(SILENT),
        helpers,
        margin: None,
        blocks_max: match shared.config.mode {
            Mode::Paper { .. } => 1,
            Mode::Stream { blocks_max, .. } => blocks_max,
        },
        published: is_paper,
        help: match shared.config.mode {
            Mode::Paper { rules, .. } => rules.help,
            Mode::Stream { .. } => Helping::Text,
        },
    };
    paper::Helper::new(code, &parameters, shared.fork())
}

//! The state of the path to one neighbour: its datagrams in flight, round-trip time (RFC 6298),
//! losses and rate; and of the path back: the numbers received, for the reports in
//! acknowledgements. Lengths are in bytes, losses 0 to 1. Leaves out the content of datagrams and
//! retransmission, which the sender decides.

use crate::config::PaceConfig;
use crate::keys::ReplayWindow;
use crate::pace::{Pace, PathReport};
use crate::wire::{LinkReport, NodeId};
use alloc::collections::VecDeque;
use lasthop_units::{Duration, Instant};

/// Assumed round-trip time before the first measurement.
const ROUND_TRIP_FIRST: Duration = Duration::from_millis(100);
/// Longest wait for an acknowledgement.
const TIMEOUT_MAX: Duration = Duration::from_secs(1);
/// Number of timeouts without any report after which the wait doubles and the rate
/// falls: losses alone can cause fewer.
const TIMEOUTS_PATIENT: u32 = 3;
/// The rate falls if nothing is heard for this long.
const SILENCE: Duration = Duration::from_millis(200);
/// Time without a new number, while old ones arrive, after which a report to the neighbour lists
/// the numbers received. The neighbour restarted, or a holder of the hop key sent in its name.
pub(crate) const STARVED: Duration = Duration::from_millis(600);
/// That message may be lost, and is repeated after this time.
const STARVED_AGAIN: Duration = Duration::from_millis(150);
/// Time for which messages that others sent in a node's name may still arrive.
const JUMP_OVER: Duration = Duration::from_millis(300);
/// Shortest wait in addition to a round trip: the delay of an acknowledgement.
const BEYOND_MIN: Duration = Duration::from_millis(8);

/// One standard deviation of caution per this much of a round trip, within bounds.
const CAUTION_ROUND_TRIP: Duration = Duration::from_millis(25);
const CAUTION: (f64, f64) = (1.0, 3.0);

/// Symbols gather for a combination for this fraction of a round trip: a loss that
/// is repaired that late is below the eighth that ends a TCP's slow start (HyStart
/// in Linux).
const GATHER_SHARE: u64 = 12;

/// With more datagrams in flight than this, acknowledgements are frequent. If round-trip times vary
/// by more than the wait, an answer is more likely late than lost: at first, at most this many
/// datagrams count as lost, and the answer to their retransmissions covers all others.
const FLOWING: usize = 8;

/// After this many round trips without idle time, the path is considered
/// permanently busy.
const BUSY_ROUND_TRIPS: u64 = 8;

/// Lateness above which a datagram that others overtook counts as lost.
const OVERTAKEN_MAX: Duration = Duration::from_millis(60);

/// Time for which datagrams without cargo, and those taken for lost, are
/// remembered.
const UNLADEN_KEPT: Duration = Duration::from_secs(6);
/// Number of answers over which the lateness of such datagrams decays.
const LATE_KEPT: u64 = 32;

/// Content of a datagram, for the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cargo {
    /// An uncoded symbol.
    Source { block: u32, index: u16 },
    /// A combination of symbols up to `last`.
    Coded { block: u32, last: u16 },
}

impl Cargo {
    /// Number of its block.
    pub fn block(self) -> u32 {
        let (Self::Source { block, .. } | Self::Coded { block, .. }) = self;
        block
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Flight {
    number: u32,
    cargo: Option<Cargo>,
    sent_at: Instant,
    bytes: u64,
    /// Bytes sent up to and including it.
    bytes_up_to: u64,
    /// Latest time at which no new data was waiting.
    free_at: Instant,
    /// Whether its cargo was taken for lost because no report of it arrived.
    is_timed_out: bool,
}

/// The meaning of the number of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hearing {
    /// The number was received before.
    Before,
    /// The number is new.
    New,
    /// The number is new, and some numbers before it are missing, so far or for good.
    AfterGap,
}

/// The path to a neighbour and back.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PathState {
    next_number: u32,
    /// Datagrams not yet known to be received or lost, the oldest first.
    flights: VecDeque<Flight>,
    /// Number of these with cargo, and their bytes.
    laden: usize,
    laden_bytes: u64,
    bytes: u64,
    round_trip: RoundTrip,
    /// Losses towards the neighbour.
    pub loss: LossEstimate,
    pace: Option<Pace>,
    encoder_timeout: Duration,
    timeouts: u32,
    last_timeout: Instant,
    /// Recent lateness of reports of datagrams that were already taken for lost.
    late: Duration,
    /// Time at which a report last covered new datagrams.
    progress_at: Instant,
    /// Time at which the newest reported datagram was sent, if there is one.
    answered_at: Option<Instant>,
    /// Latest time at which no new data was waiting.
    free_at: Instant,
    /// The numbers received from the neighbour.
    heard: Ear,
    began: Instant,
    /// Time at which numbers were reported that this node had not sent; `None` once it measures
    /// anew.
    jumped_at: Option<Instant>,
    /// Time of the latest report to the neighbour that only old numbers arrive.
    starved_at: Instant,
}

impl PathState {
    pub fn new(pace: Option<PaceConfig>, encoder_timeout: Duration, now: Instant) -> Self {
        Self {
            next_number: 1,
            flights: VecDeque::new(),
            laden: 0,
            laden_bytes: 0,
            bytes: 0,
            round_trip: RoundTrip::default(),
            loss: LossEstimate::default(),
            pace: pace.map(|config| Pace::new(config, now)),
            encoder_timeout,
            timeouts: 0,
            last_timeout: now,
            late: Duration::ZERO,
            progress_at: Instant::ZERO,
            answered_at: None,
            free_at: now,
            heard: Ear::default(),
            began: now,
            jumped_at: None,
            starved_at: now,
        }
    }

    /// Number of the next datagram.
    pub fn number(&self) -> u32 {
        self.next_number
    }

    /// The datagram with [`PathState::number`] is sent.
    pub fn depart(&mut self, now: Instant, length: usize, cargo: Option<Cargo>) {
        let (number, bytes) = (self.next_number, length as u64);
        // Only a new session helps when numbers run out, and it starts before
        // ([`PathState::is_worn_out`]).
        self.next_number = self.next_number.saturating_add(1);
        self.bytes += bytes;
        if cargo.is_some() {
            self.laden += 1;
            self.laden_bytes += bytes;
        }
        self.flights.push_back(Flight {
            number,
            cargo,
            sent_at: now,
            bytes,
            bytes_up_to: self.bytes,
            free_at: self.free_at,
            is_timed_out: false,
        });
        // The reception of an acknowledgement need not be reported.
        let is_over = |f: &Flight| f.cargo.is_none() && f.sent_at + UNLADEN_KEPT < now;
        while self.flights.front().is_some_and(is_over) {
            self.flights.pop_front();
        }
        if let Some(pace) = &mut self.pace {
            pace.sent(now, length);
        }
    }

    /// Whether numbers are running out: a new session is needed.
    pub fn is_worn_out(&self) -> bool {
        self.next_number > u32::MAX / 4 * 3
    }

    /// Whether the next datagram may be sent now; the error is the time, if only
    /// the rate forbids it.
    pub fn may_send(&self, now: Instant) -> Result<(), Option<Instant>> {
        let Some(pace) = &self.pace else { return Ok(()) };
        let window = pace.window_bytes(self.round_trip.least() + self.round_trip.held);
        if self.laden_bytes > window {
            return Err(None);
        }
        if pace.next_at() > now { Err(Some(pace.next_at())) } else { Ok(()) }
    }

    /// Returns the time at which the rate allows the next datagram, if that is after the last one
    /// was sent.
    pub fn pace_at(&self) -> Option<Instant> {
        let pace = self.pace.as_ref()?;
        let last = self.flights.back().map_or(Instant::ZERO, |flight| flight.sent_at);
        let is_open =
            self.laden_bytes <= pace.window_bytes(self.round_trip.least() + self.round_trip.held);
        (is_open && pace.next_at() > last).then_some(pace.next_at())
    }

    /// Handles the neighbour's report about this node's datagrams; `landed` receives
    /// the cargo of each that is no longer in flight.
    pub fn handle_report(
        &mut self,
        now: Instant,
        report: &LinkReport,
        landed: &mut dyn FnMut(Cargo),
    ) {
        self.take_report(now, report, true, landed);
    }

    /// Handles such a report in a pulse, whose delay is not that of acknowledgements.
    pub fn handle_late_report(
        &mut self,
        now: Instant,
        report: &LinkReport,
        landed: &mut dyn FnMut(Cargo),
    ) {
        self.take_report(now, report, false, landed);
    }

    fn take_report(
        &mut self,
        now: Instant,
        report: &LinkReport,
        is_prompt: bool,
        landed: &mut dyn FnMut(Cargo),
    ) {
        if report.highest >= self.next_number {
            // This node restarted, and the neighbour remembers: continue after its numbers.
            self.go_on_behind(now, report.highest);
            return;
        }
        self.measure_anew(now);
        let mut newest = None;
        while let Some(flight) = self.flights.front().filter(|f| f.number <= report.highest) {
            newest = Some(*flight);
            self.land(landed);
        }
        self.loss.update(report.highest, report.received);
        let Some(newest) = newest.filter(|newest| newest.number == report.highest) else { return };
        self.answered_at = self.answered_at.max(Some(newest.sent_at));
        if newest.is_timed_out && now < self.progress_at + SILENCE {
            // The round-trip time is measured from other datagrams.
            return;
        }
        self.timeouts = 0;
        self.progress_at = now;
        let held = Duration::from_micros(u64::from(report.delay_4us) * 4);
        if now < newest.sent_at + held {
            // It was heard before it was sent: the number was forged.
            return;
        }
        // A delay longer than a report can express is no measure of the path.
        if report.delay_4us < u16::MAX {
            let took = now.saturating_since(newest.sent_at).saturating_sub(held);
            self.late = if newest.is_timed_out {
                (self.late * 3 + took.saturating_sub(self.round_trip.smoothed())) / 4
            } else {
                self.late - self.late / LATE_KEPT
            };
            self.round_trip.measure(now, took, if is_prompt { held } else { Duration::ZERO });
        }
        if let Some(pace) = &mut self.pace {
            let Flight { number, sent_at, bytes, bytes_up_to, free_at, .. } = newest;
            let heard = PathReport {
                sent_at,
                heard_at_us: report.heard_at_us,
                bytes,
                bytes_up_to,
                number,
                received: report.received,
                free_at,
                round_trip: self.round_trip.smoothed(),
                round_trip_min: self.round_trip.least(),
            };
            pace.heard(now, heard);
        }
    }

    fn land(&mut self, landed: &mut dyn FnMut(Cargo)) {
        let Some(flight) = self.flights.pop_front() else { return };
        if let Some(cargo) = flight.cargo {
            self.laden -= 1;
            self.laden_bytes -= flight.bytes;
            landed(cargo);
        }
    }

    /// Returns the time at which datagrams with cargo are taken for lost.
    pub fn timeout_at(&self) -> Option<Instant> {
        if self.laden == 0 {
            return None;
        }
        let oldest = self.flights.iter().find(|flight| flight.cargo.is_some())?;
        let alone = oldest.sent_at.max(self.last_timeout) + self.wait();
        // Some of many acknowledgements may be lost, and the next one covers
        // everything.
        let flowing = self.progress_at + self.wait() + self.encoder_timeout;
        Some(if self.laden > FLOWING { alone.max(flowing) } else { alone })
    }

    fn wait(&self) -> Duration {
        // Early, unless datagrams turned out to be late recently.
        let beyond = self.beyond().min(self.beyond_max());
        let overtaken = self.round_trip.held.saturating_sub(BEYOND_MIN);
        let wait = self.round_trip.smoothed() + beyond + overtaken;
        let doublings = (self.timeouts / TIMEOUTS_PATIENT).min(6);
        (wait * (1 << doublings)).min(TIMEOUT_MAX)
    }

    /// Time in addition to a round trip that an answer may take, according to the
    /// variation of round-trip times.
    fn beyond(&self) -> Duration {
        (self.round_trip.deviation() * 4).max(BEYOND_MIN)
    }

    /// Upper bound of that time.
    fn beyond_max(&self) -> Duration {
        self.encoder_timeout.max(BEYOND_MIN).max(self.late)
    }

    /// Takes datagrams for lost that are in flight for too long. Returns whether
    /// there were any.
    pub fn handle_timeout(&mut self, now: Instant, landed: &mut dyn FnMut(Cargo)) -> bool {
        if self.timeout_at().is_none_or(|at| now < at) {
            return false;
        }
        let wait = self.wait();
        let is_early = self.beyond() > self.beyond_max();
        let most = if is_early && self.timeouts == 0 { FLOWING } else { usize::MAX };
        let due = self.flights.iter_mut().take_while(|flight| flight.sent_at + wait <= now);
        // Late ones are still measured: otherwise round-trip times would be
        // underestimated.
        for flight in due.filter(|flight| flight.cargo.is_some()).take(most) {
            let Some(cargo) = flight.cargo.take() else { continue };
            flight.is_timed_out = true;
            self.laden -= 1;
            self.laden_bytes -= flight.bytes;
            landed(cargo);
        }
        self.last_timeout = now;
        self.timeouts += 1;
        let is_silent = now >= self.heard.highest_at + SILENCE;
        if self.timeouts.is_multiple_of(TIMEOUTS_PATIENT)
            && is_silent
            && let Some(pace) = &mut self.pace
        {
            pace.silence(now);
        }
        true
    }

    /// Whether the path seems dead: several timeouts passed without a report, or no datagram sent
    /// lately was reported.
    pub fn is_dead(&self, now: Instant) -> bool {
        self.timeouts >= TIMEOUTS_PATIENT || !self.is_answered_lately(now, STARVED * 2)
    }

    /// Whether a datagram was reported that was sent at most a round trip and so long ago.
    pub fn is_answered_lately(&self, now: Instant, lately: Duration) -> bool {
        now < self.answered_at() + self.lateness() + lately
    }

    /// Time at which the newest reported datagram was sent; without one, the start.
    pub fn answered_at(&self) -> Instant {
        self.answered_at.unwrap_or(self.began)
    }

    /// The path has been silent since then, before this state began: it seems dead until a datagram
    /// is reported.
    pub fn was_silent(&mut self, since: Instant) {
        self.answered_at.get_or_insert(since);
    }

    /// Takes all datagrams with cargo for lost: the path is dead.
    pub fn give_up(&mut self, landed: &mut dyn FnMut(Cargo)) {
        for flight in &mut self.flights {
            let Some(cargo) = flight.cargo.take() else { continue };
            flight.is_timed_out = true;
            landed(cargo);
        }
        (self.laden, self.laden_bytes) = (0, 0);
    }

    /// Time at which the highest number was received from the neighbour.
    pub fn heard_at(&self) -> Instant {
        self.heard.highest_at
    }

    /// Number of standard deviations of additional losses to allow for
    /// ([`crate::sender::Outlook::caution`]): a loss that is not repaired in advance takes a round
    /// trip, and a needless repair takes airtime from others.
    pub fn caution(&self) -> f64 {
        let round_trip = self.round_trip.least().as_secs_f64();
        (round_trip / CAUTION_ROUND_TRIP.as_secs_f64()).clamp(CAUTION.0, CAUTION.1)
    }

    /// Returns the time for which symbols wait for others, so that the next combination covers them
    /// all ([`crate::sender::Outlook::gather`]): a small part of the round trip that the
    /// combination saves.
    pub fn gather(&self) -> Duration {
        self.round_trip.least() / GATHER_SHARE
    }

    /// Notes that no new data waits.
    pub fn note_idle(&mut self, now: Instant) {
        self.free_at = now;
    }

    /// Whether capacity used now will be missing later: because `waiting` bytes are
    /// more than half of those in flight, so that there will be no idle time before
    /// a loss is known, or because there was none for long.
    pub fn is_scarce(&self, now: Instant, waiting: u64) -> bool {
        2 * waiting > self.laden_bytes
            || now > self.free_at + self.round_trip.smoothed() * BUSY_ROUND_TRIPS
    }

    /// Sets how late answers may be, before the first one is measured.
    pub fn expect_late(&mut self, late: Duration) {
        self.late = late;
    }

    /// Returns the time within which answers arrive, late ones included.
    pub fn lateness(&self) -> Duration {
        self.round_trip.smoothed() + self.late
    }

    pub fn round_trip(&self) -> Option<Duration> {
        self.round_trip.smoothed
    }

    pub fn queue_delay(&self) -> Duration {
        self.pace.as_ref().map_or(Duration::ZERO, Pace::queue_delay)
    }

    /// Whether the rate is reduced for a while to test whose queue it is.
    pub fn is_testing(&self) -> bool {
        self.pace.as_ref().is_some_and(Pace::is_testing)
    }

    pub fn pace_bps(&self, now: Instant) -> u64 {
        self.pace.as_ref().map_or(0, |pace| (pace.rate(now) * 8.0) as u64)
    }

    /// Handles a number received from the neighbour.
    pub fn hear(&mut self, now: Instant, number: u32) -> Hearing {
        let expected = self.heard.newest.saturating_add(1);
        if !self.heard.take(now, number) {
            Hearing::Before
        } else if number > expected {
            Hearing::AfterGap
        } else {
            Hearing::New
        }
    }

    /// Returns the time at which a report covers all datagrams received from the neighbour so far.
    pub fn settles_at(&self) -> Instant {
        self.heard.settles_at()
    }

    /// The report about the neighbour's datagrams.
    pub fn report(&self, node: NodeId, now: Instant) -> LinkReport {
        self.heard.report(node, now)
    }

    /// Losses of the neighbour's datagrams.
    pub fn loss_in(&self) -> Option<f64> {
        self.heard.loss.known()
    }

    /// Whether only old numbers have arrived for a while, and the neighbour has no recent
    /// report of it.
    pub fn is_starved(&mut self, now: Instant) -> bool {
        let is_starved =
            now >= self.heard.highest_at + STARVED && now >= self.starved_at + STARVED_AGAIN;
        if is_starved {
            self.starved_at = now;
        }
        is_starved
    }

    /// Whether the time without new numbers exceeds the time that a report to the neighbour needs.
    pub fn is_silent(&self, now: Instant) -> bool {
        now >= self.heard.highest_at.max(self.began) + STARVED * 2
    }

    /// Sets the neighbour's next number.
    pub fn skip_to(&mut self, next: u32) {
        self.heard.skip_to(next);
    }

    /// The highest number received from the neighbour.
    pub fn highest(&self) -> u32 {
        self.heard.highest()
    }

    /// Continues after `highest`, up to which the neighbour received numbers. If this node did not
    /// send them, it restarted, or a holder of the hop key sent in its name.
    pub fn go_on_behind(&mut self, now: Instant, highest: u32) {
        if highest >= self.next_number {
            self.next_number = highest.saturating_add(1);
            self.jumped_at = Some(now);
            // That explains its silence.
            self.timeouts = 0;
        }
    }

    /// Reports about numbers that this node did not send describe another sender's
    /// datagrams: once that is over, rate, losses and round-trip time are measured
    /// anew.
    fn measure_anew(&mut self, now: Instant) {
        if self.jumped_at.is_none_or(|at| now < at + JUMP_OVER) {
            return;
        }
        self.jumped_at = None;
        self.pace = self.pace.as_ref().map(|pace| Pace::new(pace.config(), now));
        (self.loss, self.round_trip) = (LossEstimate::default(), RoundTrip::default());
    }

    /// Number of datagrams received from the neighbour.
    pub fn heard_count(&self) -> u32 {
        self.heard.received
    }

    /// Bytes of the datagrams sent.
    pub fn bytes_sent(&self) -> u64 {
        self.bytes
    }
}

/// The numbers received from one sender.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Ear {
    window: ReplayWindow,
    /// The highest number of the sender's present count: a number far above it was forged.
    newest: u32,
    /// The first number of the latest row that was left out, if that was too long to be lost by
    /// chance ([`LossEstimate::ROW_MAX`]).
    row_from: u32,
    received: u32,
    highest_at: Instant,
    loss: LossEstimate,
    lateness: Lateness,
}

impl Default for Ear {
    fn default() -> Self {
        Self {
            window: ReplayWindow::new(),
            newest: 0,
            row_from: u32::MAX,
            received: 0,
            highest_at: Instant::ZERO,
            loss: LossEstimate::default(),
            lateness: Lateness::default(),
        }
    }
}

impl Ear {
    /// Takes a number; `false` if it was received before.
    pub fn take(&mut self, now: Instant, number: u32) -> bool {
        if !self.window.take(number) {
            return false;
        }
        // Numbers that still arrive within the row that a number left out were not overtaken by
        // that number: it was forged.
        let is_behind =
            (self.row_from..self.newest).contains(&number) && now > self.highest_at + OVERTAKEN_MAX;
        if is_behind {
            self.lateness.go_back(number);
        }
        if number > self.newest || is_behind {
            self.received += 1;
            let is_row = number > self.newest.saturating_add(LossEstimate::ROW_MAX);
            if is_behind || is_row {
                self.loss.go_on_from(number, self.received);
                self.row_from = if is_row { self.newest + 1 } else { number };
            }
            (self.newest, self.highest_at) = (number, now);
            self.loss.update(number, self.received);
            self.lateness.take(now, number);
        } else if self.lateness.take_late(now, number) {
            self.received += 1;
        }
        true
    }

    /// The highest number received.
    pub fn highest(&self) -> u32 {
        self.window.highest()
    }

    /// Sets the sender's next number: lower ones are no longer accepted.
    pub fn skip_to(&mut self, next: u32) {
        let skipped = next.saturating_sub(1);
        if skipped > self.window.highest() {
            self.lateness.firsts = [(skipped, Instant::ZERO)].into();
        }
        self.window.skip_to(next);
        self.newest = self.newest.max(skipped);
        self.loss.highest = self.loss.highest.max(skipped);
    }

    /// The share of numbers that were lost, if any were received.
    pub fn loss(&self) -> Option<f64> {
        self.loss.known()
    }

    /// Count of numbers received.
    pub fn received(&self) -> u32 {
        self.received
    }

    /// Returns the time at which a report covers the highest number; that time has passed if
    /// datagrams do not overtake each other.
    pub fn settles_at(&self) -> Instant {
        self.highest_at + self.lateness.tolerance()
    }

    /// The report up to a number that can no longer be overtaken.
    pub fn report(&self, node: NodeId, now: Instant) -> LinkReport {
        let (highest, highest_at) = self.lateness.settled(now);
        let delay = now.saturating_since(highest_at).as_micros() / 4;
        LinkReport {
            node,
            highest,
            received: self.received.saturating_sub(self.window.taken_above(highest)),
            heard_at_us: (highest_at.as_nanos() / 1_000) as u32,
            delay_4us: u16::try_from(delay).unwrap_or(u16::MAX),
        }
    }
}

/// Lateness of datagrams behind ones sent after them: for that time they are not reported as lost
/// (as in RFC 8985, with the receiver's knowledge).
#[derive(Clone, Debug, PartialEq, Default)]
struct Lateness {
    /// Numbers that were the highest when they arrived, and when that was, the
    /// oldest first.
    firsts: VecDeque<(u32, Instant)>,
    /// Largest lateness of this period and of the one before.
    most: [Duration; 2],
    period_ends: Instant,
}

impl Lateness {
    /// The largest lateness is remembered for one to two periods.
    const PERIOD: Duration = Duration::from_secs(5);

    /// Time to wait for an overtaken datagram.
    fn tolerance(&self) -> Duration {
        let most = self.most[0].max(self.most[1]);
        (most + most / 4).min(OVERTAKEN_MAX)
    }

    fn take(&mut self, now: Instant, number: u32) {
        if now >= self.period_ends {
            self.most = [Duration::ZERO, self.most[0]];
            self.period_ends = now + Self::PERIOD;
        }
        self.firsts.push_back((number, now));
        // Of old entries only the last is needed.
        let is_over = |&(_, at): &(u32, Instant)| at + OVERTAKEN_MAX <= now;
        while self.firsts.len() > ReplayWindow::WIDTH as usize
            || self.firsts.get(1).is_some_and(is_over)
        {
            self.firsts.pop_front();
        }
    }

    /// Forgets numbers from `number` on, which others sent.
    fn go_back(&mut self, number: u32) {
        self.firsts.retain(|&(first, _)| first < number);
        if self.firsts.is_empty() {
            self.firsts.push_back((number.saturating_sub(1), Instant::ZERO));
        }
    }

    /// A number arrived after higher ones. Returns whether it was only late: after
    /// the tolerance it was reported as lost. Counting it then would let a path
    /// with many losses seem to have few, as the sender may have repeated it.
    fn take_late(&mut self, now: Instant, number: u32) -> bool {
        let at = self.firsts.partition_point(|&(first, _)| first < number);
        let Some(&(_, overtaken_at)) = self.firsts.get(at) else { return true };
        let late = now.saturating_since(overtaken_at);
        // For numbers before the oldest entry the lateness is unknown.
        if at > 0 {
            self.most[0] = self.most[0].max(late.min(OVERTAKEN_MAX));
        }
        late <= OVERTAKEN_MAX
    }

    /// The highest number that arrived long enough ago, and when.
    fn settled(&self, now: Instant) -> (u32, Instant) {
        let tolerance = self.tolerance();
        let at = self.firsts.partition_point(|&(_, at)| at + tolerance <= now);
        at.checked_sub(1).and_then(|at| self.firsts.get(at)).copied().unwrap_or_default()
    }
}

/// The share of datagrams that are lost, over the last few hundred.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub(crate) struct LossEstimate {
    highest: u32,
    received: u32,
    /// Sent and received, weighted by age.
    sent: f64,
    came: f64,
    /// The present batch of [`LossEstimate::BATCH`] datagrams: number sent, and number that came.
    batch: (u32, u32),
    /// The share to plan with before it, if there was a batch.
    before: Option<f64>,
    /// Number of batches, at most [`LossEstimate::BATCHES`].
    batches: f64,
    /// Variance of the losses in batches, in proportion to that of independent ones, less 1.
    excess: f64,
}

impl LossEstimate {
    /// Datagrams in a batch: several bursts of the usual lengths.
    const BATCH: u32 = 64;
    /// Number of batches over which the excess is the mean. With independent losses, several in a
    /// batch, its standard deviation is then 0.18.
    const BATCHES: f64 = 32.0;
    /// Losses count as bursts beyond this excess: by chance in one of twelve cases.
    const CHANCE: f64 = 0.25;
    /// Number of datagrams over which weights halve.
    const HALF_LIFE: f64 = 256.0;
    /// The prior: this number of datagrams sent, with this share of them lost.
    const PRIOR: (f64, f64) = (4.0, 0.05);
    /// Upper bound: a path that loses more is not usable.
    const MAX: f64 = 0.95;
    /// More datagrams in a row are not lost by chance: at the upper bound of losses the probability
    /// of that is 1e-4.
    const ROW_MAX: u32 = 180;

    /// Takes the highest number received, and the count of numbers received.
    pub fn update(&mut self, highest: u32, received: u32) {
        let Some(sent) = highest.checked_sub(self.highest).filter(|&sent| sent > 0) else { return };
        let before = (self.highest, self.received);
        (self.highest, self.received) = (highest, received);
        let is_possible = |came: u32| came <= sent.saturating_add(ReplayWindow::WIDTH);
        if sent > ReplayWindow::WIDTH || !received.checked_sub(before.1).is_some_and(is_possible) {
            // The counting node restarted, or somebody sent in its name; that many in a row
            // are not lost by chance.
            return;
        }
        let came = received - before.1;
        let decay = libm::exp2(-f64::from(sent) / Self::HALF_LIFE);
        self.sent = self.sent * decay + f64::from(sent);
        self.came = self.came * decay + f64::from(came);
        self.batch = (self.batch.0 + sent, self.batch.1 + came);
        if self.batch.0 >= Self::BATCH {
            let (sent, came) = core::mem::take(&mut self.batch);
            // The batch itself is not part of what is expected of it.
            if let Some(loss) = self.before.replace(self.probability()) {
                let off = f64::from(sent) * (1.0 - loss) - f64::from(came);
                let independent = f64::from(sent) * loss * (1.0 - loss);
                self.batches = (self.batches + 1.0).min(Self::BATCHES);
                self.excess += (off * off / independent - 1.0 - self.excess) / self.batches;
            }
        }
    }

    /// The share of the datagrams behind a lost one that are lost. In bursts (Gilbert's model)
    /// losses `k` datagrams apart are correlated by `r^k`, and those in long batches vary
    /// `(1 + r) / (1 - r)` times as much as independent ones.
    pub fn after_loss(&self) -> f64 {
        let (loss, excess) = (self.probability(), self.excess);
        let correlation = if excess > Self::CHANCE { excess / (excess + 2.0) } else { 0.0 };
        loss + (1.0 - loss) * correlation
    }

    /// The same for counts that others may have forged: after a lower number, the count goes on
    /// from there.
    pub fn follow(&mut self, highest: u32, received: u32) {
        if highest < self.highest {
            self.go_on_from(highest, received);
        }
        self.update(highest, received);
    }

    /// Sets the numbers that later counts are compared with.
    pub fn go_on_from(&mut self, highest: u32, received: u32) {
        (self.highest, self.received) = (highest, received);
    }

    /// Leaves only the prior, and the numbers that later counts are compared with.
    pub fn forget(&mut self) {
        let (highest, received) = (self.highest, self.received);
        *self = Self { highest, received, ..Self::default() };
    }

    /// The share, if anything is known.
    pub fn known(&self) -> Option<f64> {
        (self.sent > 0.0).then(|| (1.0 - self.came / self.sent).clamp(0.0, Self::MAX))
    }

    /// The share to plan with.
    pub fn probability(&self) -> f64 {
        let (weight, prior) = Self::PRIOR;
        let lost = (self.sent - self.came).max(0.0) + weight * prior;
        (lost / (self.sent + weight)).clamp(0.0, Self::MAX)
    }
}

/// Smoothed as in RFC 6298, section 2, and the minimum of recent periods.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
struct RoundTrip {
    smoothed: Option<Duration>,
    deviation: Duration,
    /// Minimum of this period and of the one before.
    least: [Option<Duration>; 2],
    period_ends: Instant,
    /// Largest recent delay of answers at the receiver.
    held: Duration,
}

impl RoundTrip {
    /// The minimum is remembered for one to two periods.
    const PERIOD: Duration = Duration::from_secs(5);

    fn measure(&mut self, now: Instant, sample: Duration, held: Duration) {
        self.held = held.max(self.held - self.held / 16);
        if now >= self.period_ends {
            self.least = [None, self.least[0]];
            self.period_ends = now + Self::PERIOD;
        }
        self.least[0] = Some(self.least[0].map_or(sample, |least| least.min(sample)));
        let Some(smoothed) = self.smoothed else {
            (self.smoothed, self.deviation) = (Some(sample), sample / 2);
            return;
        };
        let off = sample.max(smoothed) - sample.min(smoothed);
        self.deviation = (self.deviation * 3 + off) / 4;
        self.smoothed = Some((smoothed * 7 + sample) / 8);
    }

    fn smoothed(&self) -> Duration {
        self.smoothed.unwrap_or(ROUND_TRIP_FIRST)
    }

    fn least(&self) -> Duration {
        self.least.iter().flatten().copied().min().unwrap_or(ROUND_TRIP_FIRST)
    }

    fn deviation(&self) -> Duration {
        match self.smoothed {
            Some(_) => self.deviation,
            None => ROUND_TRIP_FIRST,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    /// The number of datagrams, of fifty, that are taken for lost at a time when no report arrives,
    /// after round trips of these milliseconds.
    fn lost_at_a_time(round_trips_ms: &[u64]) -> Vec<usize> {
        let mut now = Instant::ZERO;
        let mut path = PathState::new(None, Duration::from_millis(20), now);
        let cargo = Some(Cargo::Source { block: 0, index: 0 });
        for &milliseconds in round_trips_ms {
            path.depart(now, 100, cargo);
            now += Duration::from_millis(milliseconds);
            let highest = path.number() - 1;
            let report = LinkReport { highest, received: highest, ..LinkReport::default() };
            path.handle_report(now, &report, &mut |_| {});
        }
        for _ in 0..50 {
            path.depart(now, 100, cargo);
        }
        let mut counts = Vec::new();
        while let Some(at) = path.timeout_at() {
            let mut count = 0;
            assert!(path.handle_timeout(at, &mut |_| count += 1));
            counts.push(count);
        }
        counts
    }

    /// The mean of [`LossEstimate::after_loss`] on a path whose losses are Gilbert's: this share,
    /// in bursts of this mean length in datagrams.
    fn after_loss(share: f64, burst: f64) -> f64 {
        let mut stream = lasthop_units::Seed::new(1, 0).stream("gilbert");
        let (to_bad, to_good) = (share / (1.0 - share) / burst, 1.0 / burst);
        let (mut loss, mut is_bad, mut received) = (LossEstimate::default(), false, 0);
        let mut mean = 0.0;
        for number in 1..=100_000 {
            let chance = stream.uniform();
            is_bad = if is_bad { chance >= to_good } else { chance < to_bad };
            received += u32::from(!is_bad);
            if number % 5 == 0 {
                loss.update(number, received);
                mean += loss.after_loss() / 20_000.0;
            }
        }
        mean
    }

    #[test]
    fn bursts_of_losses_are_known() {
        for share in [0.02, 0.1, 0.3] {
            // In a burst of `n` in the mean, the next one is lost too with 1 - 1 / n.
            for burst in [3.0, 8.0, 20.0] {
                let (is, ours) = (1.0 - 1.0 / burst, after_loss(share, burst));
                assert!((ours - is).abs() < 0.12, "{share} x {burst}: {ours} of {is}");
            }
            // Independent losses are bursts of 1 / (1 - share).
            let ours = after_loss(share, 1.0 / (1.0 - share));
            assert!((ours - share).abs() < 0.1, "{share}: {ours}");
        }
    }

    #[test]
    fn of_many_answers_that_may_be_late_a_few_are_tried_first() {
        assert_eq!(lost_at_a_time(&[50; 20]), [50]);
        assert_eq!(lost_at_a_time(&[10, 110].repeat(10)), [FLOWING, 50 - FLOWING]);
    }
}

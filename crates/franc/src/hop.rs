//! What a node knows of the way to one neighbour: which of its datagrams are in flight,
//! how long a round trip takes, how many are lost, how fast it may send. And of the way
//! back: which numbers came, for the reports of its own acknowledgements.

use crate::config::PaceConfig;
use crate::keys::ReplayWindow;
use crate::pace::{Heard, Pace};
use crate::wire::{LinkReport, NodeId};
use alloc::collections::VecDeque;
use lasthop_units::{Duration, Instant};

/// A round trip before any was measured.
const ROUND_TRIP_FIRST: Duration = Duration::from_millis(100);
/// The longest wait for an acknowledgement.
const TIMEOUT_MAX: Duration = Duration::from_secs(1);
/// Silent timeouts before the wait grows and the rate falls: losses alone do as much.
const TIMEOUTS_PATIENT: u32 = 3;
/// The rate falls if nothing at all is heard for so long.
const SILENCE: Duration = Duration::from_millis(200);
/// A neighbour of which nothing new was heard for so long, while old numbers come, is told
/// which numbers were heard: it began anew, or somebody with the hop key counted in its name.
const STARVED: Duration = Duration::from_millis(600);
/// What the neighbour is told then may be lost, and is said again.
const STARVED_AGAIN: Duration = Duration::from_millis(150);
/// What is said in a node's name is heard of for so long.
const JUMP_OVER: Duration = Duration::from_millis(300);
/// The least wait beyond a round trip: what an acknowledgement is held back.
const BEYOND_MIN: Duration = Duration::from_millis(8);

/// A standard deviation for so much of a round trip, at least and at most.
const CAUTION_ROUND_TRIP: Duration = Duration::from_millis(25);
const CAUTION: (f64, f64) = (1.0, 3.0);

/// Symbols gather for a combination for one in so many of a round trip: what is made up for
/// that late is below the eighth that ends a TCP's slow start (HyStart, in Linux).
const GATHER_SHARE: u64 = 12;

/// More datagrams in flight than this are acknowledged again and again. Where round trips
/// vary by more than is waited for, an answer is rather late than lost: no more than so many
/// are taken for lost the first time, and the answer to those that go again tells of all.
const FLOWING: usize = 8;

/// A way that was never free for so many round trips is not going to be.
const BUSY_ROUND_TRIPS: u64 = 8;

/// How long datagrams without cargo are remembered, and those that were taken for lost.
const UNLADEN_KEPT: Duration = Duration::from_secs(6);
/// How late such a one came after all is forgotten over so many answers.
const LATE_KEPT: u64 = 32;

/// What a datagram carried, for the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cargo {
    /// A symbol as it is.
    Source { block: u32, index: u16 },
    /// A combination that reaches up to a symbol.
    Coded { block: u32, last: u16 },
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Flight {
    number: u32,
    cargo: Option<Cargo>,
    sent_at: Instant,
    bytes: u64,
    /// Sent up to it, it included.
    bytes_up_to: u64,
    /// When nothing new waited last.
    free_at: Instant,
    /// Its cargo was taken for lost because nothing was heard of it.
    is_timed_out: bool,
}

/// What the number of a datagram says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hearing {
    /// It came before.
    Before,
    /// It is new.
    New,
    /// It is new, and those before it did not come, or not yet.
    AfterGap,
}

/// The way to a neighbour and back.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Hop {
    next_number: u32,
    /// Not yet known to have come or to be lost, the oldest first.
    flights: VecDeque<Flight>,
    /// With cargo among them, and their bytes.
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
    /// How much later than expected what was taken for lost was heard of lately.
    late: Duration,
    /// When something was last heard of our datagrams.
    progress_at: Instant,
    /// When nothing new waited last.
    free_at: Instant,
    /// What came back.
    heard: Ear,
    began: Instant,
    /// When numbers were heard that this node had not said, until it measured anew.
    jumped_at: Option<Instant>,
    /// When the neighbour was told last that only old numbers come.
    starved_at: Instant,
}

impl Hop {
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
            free_at: now,
            heard: Ear::default(),
            began: now,
            jumped_at: None,
            starved_at: now,
        }
    }

    /// The number of the next datagram.
    pub fn number(&self) -> u32 {
        self.next_number
    }

    /// The datagram with [`Hop::number`] leaves.
    pub fn depart(&mut self, now: Instant, length: usize, cargo: Option<Cargo>) {
        let (number, bytes) = (self.next_number, length as u64);
        // At the end of all numbers only a new session helps, which begins soon.
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
        // Nobody need ever say that an acknowledgement came.
        let is_over = |f: &Flight| f.cargo.is_none() && f.sent_at + UNLADEN_KEPT < now;
        while self.flights.front().is_some_and(is_over) {
            self.flights.pop_front();
        }
        if let Some(pace) = &mut self.pace {
            pace.sent(now, length);
        }
    }

    /// Whether numbers run out: a new session is needed.
    pub fn is_worn_out(&self) -> bool {
        self.next_number > u32::MAX / 4 * 3
    }

    /// Whether the next datagram may leave now; when, if only the rate forbids it.
    pub fn may_send(&self, now: Instant) -> Result<(), Option<Instant>> {
        let Some(pace) = &self.pace else { return Ok(()) };
        let window = pace.window_bytes(self.round_trip.least() + self.round_trip.held);
        if self.laden_bytes > window {
            return Err(None);
        }
        match pace.next_at() > now {
            true => Err(Some(pace.next_at())),
            false => Ok(()),
        }
    }

    /// When the rate lets the next datagram go, if that is later than the last one went.
    pub fn pace_at(&self) -> Option<Instant> {
        let pace = self.pace.as_ref()?;
        let last = self.flights.back().map_or(Instant::ZERO, |flight| flight.sent_at);
        let is_open =
            self.laden_bytes <= pace.window_bytes(self.round_trip.least() + self.round_trip.held);
        (is_open && pace.next_at() > last).then_some(pace.next_at())
    }

    /// Takes what the neighbour says of our datagrams; `landed` is told the cargo of each
    /// that is in flight no longer.
    pub fn handle_report(
        &mut self,
        now: Instant,
        report: &LinkReport,
        landed: &mut dyn FnMut(Cargo),
    ) {
        if report.highest >= self.next_number {
            // We began anew, and the neighbour remembers: go on where we were.
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
        if newest.is_timed_out && now < self.progress_at + SILENCE {
            // Others say what round trips are.
            return;
        }
        self.timeouts = 0;
        self.progress_at = now;
        // What was held back for longer than a report can say is no measure of the way.
        if report.delay_4us < u16::MAX {
            let held = Duration::from_micros(u64::from(report.delay_4us) * 4);
            let took = now.saturating_since(newest.sent_at).saturating_sub(held);
            self.late = match newest.is_timed_out {
                true => (self.late * 3 + took.saturating_sub(self.round_trip.smoothed())) / 4,
                false => self.late - self.late / LATE_KEPT,
            };
            self.round_trip.measure(now, took, held);
        }
        if let Some(pace) = &mut self.pace {
            let Flight { number, sent_at, bytes, bytes_up_to, free_at, .. } = newest;
            let heard = Heard {
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

    /// When datagrams with cargo are taken for lost.
    pub fn timeout_at(&self) -> Option<Instant> {
        if self.laden == 0 {
            return None;
        }
        let oldest = self.flights.iter().find(|flight| flight.cargo.is_some())?;
        let alone = oldest.sent_at.max(self.last_timeout) + self.wait();
        // Of many acknowledgements some are lost, and the next will say it all.
        let flowing = self.progress_at + self.wait() + self.encoder_timeout;
        Some(if self.laden > FLOWING { alone.max(flowing) } else { alone })
    }

    fn wait(&self) -> Duration {
        // Early where that was right so far.
        let beyond = self.beyond().min(self.beyond_max());
        let overtaken = self.round_trip.held.saturating_sub(BEYOND_MIN);
        let wait = self.round_trip.smoothed() + beyond + overtaken;
        let doublings = (self.timeouts / TIMEOUTS_PATIENT).min(6);
        (wait * (1 << doublings)).min(TIMEOUT_MAX)
    }

    /// Beyond a round trip an answer may take so long, as far as round trips vary.
    fn beyond(&self) -> Duration {
        (self.round_trip.deviation() * 4).max(BEYOND_MIN)
    }

    /// But it is not waited for longer.
    fn beyond_max(&self) -> Duration {
        self.encoder_timeout.max(BEYOND_MIN).max(self.late)
    }

    /// Takes for lost what is in flight for too long. Returns whether anything was.
    pub fn handle_timeout(&mut self, now: Instant, landed: &mut dyn FnMut(Cargo)) -> bool {
        if self.timeout_at().is_none_or(|at| now < at) {
            return false;
        }
        let wait = self.wait();
        let is_early = self.beyond() > self.beyond_max();
        let most = if is_early && self.timeouts == 0 { FLOWING } else { usize::MAX };
        let due = self.flights.iter_mut().take_while(|flight| flight.sent_at + wait <= now);
        // What is late is still heard of: round trips would seem short for ever else.
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

    /// How much more than expected may be lost ([`crate::sender::Outlook::caution`]): what is
    /// not made up for ahead takes a round trip, and what is sent for nothing takes air that
    /// others may want.
    pub fn caution(&self) -> f64 {
        let round_trip = self.round_trip.least().as_secs_f64();
        (round_trip / CAUTION_ROUND_TRIP.as_secs_f64()).clamp(CAUTION.0, CAUTION.1)
    }

    /// How long symbols wait for others that a combination will be for, too
    /// ([`crate::sender::Outlook::gather`]): little of the round trip that it saves them.
    pub fn gather(&self) -> Duration {
        self.round_trip.least() / GATHER_SHARE
    }

    /// Nothing new waits to be sent.
    pub fn is_free(&mut self, now: Instant) {
        self.free_at = now;
    }

    /// Whether what is sent now is missing later: because `waiting` bytes are more than
    /// half of what is in flight, so that the air will not be free before a loss is known,
    /// or because it was not free for long.
    pub fn is_scarce(&self, now: Instant, waiting: u64) -> bool {
        2 * waiting > self.laden_bytes
            || now > self.free_at + self.round_trip.smoothed() * BUSY_ROUND_TRIPS
    }

    /// Answers may be so late, as far as is known before there is one.
    pub fn expect_late(&mut self, late: Duration) {
        self.late = late;
    }

    /// How long answers take, late ones too.
    pub fn lateness(&self) -> Duration {
        self.round_trip.smoothed() + self.late
    }

    pub fn round_trip(&self) -> Option<Duration> {
        self.round_trip.smoothed
    }

    pub fn queue_delay(&self) -> Duration {
        self.pace.as_ref().map_or(Duration::ZERO, Pace::queue_delay)
    }

    /// Whether less is sent for a while to see whose queue it is.
    pub fn is_testing(&self) -> bool {
        self.pace.as_ref().is_some_and(Pace::is_testing)
    }

    pub fn pace_bps(&self, now: Instant) -> u64 {
        self.pace.as_ref().map_or(0, |pace| (pace.rate(now) * 8.0) as u64)
    }

    /// Takes a number of the neighbour's.
    pub fn hear(&mut self, now: Instant, number: u32) -> Hearing {
        let expected = self.heard.window.highest().saturating_add(1);
        match self.heard.take(now, number) {
            false => Hearing::Before,
            true if number > expected => Hearing::AfterGap,
            true => Hearing::New,
        }
    }

    /// When a report says all of the datagrams that came from the neighbour so far.
    pub fn settles_at(&self) -> Instant {
        self.heard.settles_at()
    }

    /// What to report of the neighbour.
    pub fn report(&self, node: NodeId, now: Instant) -> LinkReport {
        self.heard.report(node, now)
    }

    /// Losses of what the neighbour sends.
    pub fn loss_in(&self) -> Option<f64> {
        self.heard.loss.known()
    }

    /// Whether only old numbers come for long, and nobody was told lately.
    pub fn is_starved(&mut self, now: Instant) -> bool {
        let is_starved =
            now >= self.heard.highest_at + STARVED && now >= self.starved_at + STARVED_AGAIN;
        if is_starved {
            self.starved_at = now;
        }
        is_starved
    }

    /// Whether nothing new came for longer than it takes to tell a neighbour which numbers
    /// came.
    pub fn is_silent(&self, now: Instant) -> bool {
        now >= self.heard.highest_at.max(self.began) + STARVED * 2
    }

    /// The neighbour's next number is this one.
    pub fn skip_to(&mut self, next: u32) {
        self.heard.skip_to(next);
    }

    /// The highest number that came from it.
    pub fn highest(&self) -> u32 {
        self.heard.highest()
    }

    /// The neighbour heard numbers up to `highest`: go on behind them. If they are not ours,
    /// this node began anew, or somebody counted in its name.
    pub fn go_on_behind(&mut self, now: Instant, highest: u32) {
        if highest >= self.next_number {
            self.next_number = highest.saturating_add(1);
            self.jumped_at = Some(now);
            // It was silent for that reason.
            self.timeouts = 0;
        }
    }

    /// What the neighbour said while numbers were not ours is of somebody else's datagrams:
    /// once that is over, rate, losses and round trip are measured anew.
    fn measure_anew(&mut self, now: Instant) {
        if self.jumped_at.is_none_or(|at| now < at + JUMP_OVER) {
            return;
        }
        self.jumped_at = None;
        self.pace = self.pace.as_ref().map(|pace| Pace::new(pace.config(), now));
        (self.loss, self.round_trip) = (LossEstimate::default(), RoundTrip::default());
    }

    /// Datagrams that came from it.
    pub fn heard_count(&self) -> u32 {
        self.heard.received
    }
}

/// Which numbers of one sender came.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Ear {
    window: ReplayWindow,
    received: u32,
    highest_at: Instant,
    loss: LossEstimate,
    lateness: Lateness,
}

impl Default for Ear {
    fn default() -> Self {
        Self {
            window: ReplayWindow::new(),
            received: 0,
            highest_at: Instant::ZERO,
            loss: LossEstimate::default(),
            lateness: Lateness::default(),
        }
    }
}

impl Ear {
    /// Takes a number; false if it came before.
    pub fn take(&mut self, now: Instant, number: u32) -> bool {
        let before = self.window.highest();
        if !self.window.take(number) {
            return false;
        }
        if number > before {
            self.received += 1;
            self.highest_at = now;
            self.loss.update(number, self.received);
            self.lateness.take(now, number);
        } else if self.lateness.take_late(now, number) {
            self.received += 1;
        }
        true
    }

    /// The highest number that came.
    pub fn highest(&self) -> u32 {
        self.window.highest()
    }

    /// The sender's next number is this one: those before are not to be taken.
    pub fn skip_to(&mut self, next: u32) {
        let skipped = next.saturating_sub(1);
        if skipped > self.window.highest() {
            self.lateness.firsts = [(skipped, Instant::ZERO)].into();
        }
        self.window.skip_to(next);
        self.loss.highest = self.loss.highest.max(skipped);
    }

    /// The share that was lost, if anything came.
    pub fn loss(&self) -> Option<f64> {
        self.loss.known()
    }

    /// How many came.
    pub fn received(&self) -> u32 {
        self.received
    }

    /// When a report says of the highest number what came before it; the time is over if
    /// datagrams do not overtake each other.
    pub fn settles_at(&self) -> Instant {
        self.highest_at + self.lateness.tolerance()
    }

    /// What is settled: what came of the numbers up to one that others could have overtaken.
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

/// By how much datagrams come later than others that were sent after them: so long nobody
/// is told that they are lost (as RFC 8985 has it, with the receiver's knowledge).
#[derive(Clone, Debug, PartialEq, Default)]
struct Lateness {
    /// Numbers that were the highest when they came, and when, the oldest first.
    firsts: VecDeque<(u32, Instant)>,
    /// The most of this period and of the one before.
    most: [Duration; 2],
    period_ends: Instant,
}

impl Lateness {
    /// What is later than this is lost, and bounds what is remembered.
    const MAX: Duration = Duration::from_millis(60);
    /// The most is remembered for one to two of these.
    const PERIOD: Duration = Duration::from_secs(5);

    /// How long to wait for what was overtaken.
    fn tolerance(&self) -> Duration {
        let most = self.most[0].max(self.most[1]);
        (most + most / 4).min(Self::MAX)
    }

    fn take(&mut self, now: Instant, number: u32) {
        if now >= self.period_ends {
            self.most = [Duration::ZERO, self.most[0]];
            self.period_ends = now + Self::PERIOD;
        }
        self.firsts.push_back((number, now));
        // Of what is settled only the last is told.
        let is_over = |&(_, at): &(u32, Instant)| at + Self::MAX <= now;
        while self.firsts.len() > ReplayWindow::WIDTH as usize
            || self.firsts.get(1).is_some_and(is_over)
        {
            self.firsts.pop_front();
        }
    }

    /// A number came behind others that are higher. Returns whether it was only late: what is
    /// later than is waited for was lost, as the sender was told. Who listens where it was not
    /// lost may have said it again, and a way that loses much would seem to lose little.
    fn take_late(&mut self, now: Instant, number: u32) -> bool {
        let at = self.firsts.partition_point(|&(first, _)| first < number);
        let Some(&(_, overtaken_at)) = self.firsts.get(at) else { return true };
        let late = now.saturating_since(overtaken_at);
        // Before all that is remembered nobody knows by how much.
        if at > 0 {
            self.most[0] = self.most[0].max(late.min(Self::MAX));
        }
        late <= Self::MAX
    }

    /// The highest number that came long enough ago, and when.
    fn settled(&self, now: Instant) -> (u32, Instant) {
        let tolerance = self.tolerance();
        let at = self.firsts.partition_point(|&(_, at)| at + tolerance <= now);
        at.checked_sub(1).and_then(|at| self.firsts.get(at)).copied().unwrap_or_default()
    }
}

/// The share of datagrams that are lost, of the last few hundred.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub(crate) struct LossEstimate {
    highest: u32,
    received: u32,
    /// Sent and come, the older the less.
    sent: f64,
    came: f64,
}

impl LossEstimate {
    /// Weights halve over so many datagrams.
    const HALF_LIFE: f64 = 256.0;
    /// Before anything is known: as if so many had been sent and this share lost.
    const PRIOR: (f64, f64) = (4.0, 0.05);
    /// A way that loses more is no way.
    const MAX: f64 = 0.95;

    /// The highest number that came, and how many came.
    pub fn update(&mut self, highest: u32, received: u32) {
        let Some(sent) = highest.checked_sub(self.highest).filter(|&sent| sent > 0) else { return };
        let before = (self.highest, self.received);
        (self.highest, self.received) = (highest, received);
        if received < before.1 || sent > ReplayWindow::WIDTH {
            // Whoever counts began anew, or somebody counted in its name; so many in a row are
            // not lost by chance.
            return;
        }
        let came = (received - before.1).min(sent.saturating_add(ReplayWindow::WIDTH));
        let decay = libm::exp2(-f64::from(sent) / Self::HALF_LIFE);
        self.sent = self.sent * decay + f64::from(sent);
        self.came = self.came * decay + f64::from(came);
    }

    /// The share, if anything is known.
    pub fn known(&self) -> Option<f64> {
        (self.sent > 0.0).then(|| (1.0 - self.came / self.sent).clamp(0.0, Self::MAX))
    }

    /// The share to reckon with.
    pub fn probability(&self) -> f64 {
        let (weight, prior) = Self::PRIOR;
        let lost = (self.sent - self.came).max(0.0) + weight * prior;
        (lost / (self.sent + weight)).clamp(0.0, Self::MAX)
    }
}

/// Smoothed as RFC 6298, section 2, and the least of the last while.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
struct RoundTrip {
    smoothed: Option<Duration>,
    deviation: Duration,
    /// The least of this period and of the one before.
    least: [Option<Duration>; 2],
    period_ends: Instant,
    /// How long answers are held back, at most lately.
    held: Duration,
}

impl RoundTrip {
    /// The least is remembered for one to two of these.
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

    /// How many of fifty datagrams are taken for lost at a time if nothing is heard of them,
    /// after round trips of these milliseconds.
    fn lost_at_a_time(round_trips_ms: &[u64]) -> Vec<usize> {
        let mut now = Instant::ZERO;
        let mut hop = Hop::new(None, Duration::from_millis(20), now);
        let cargo = Some(Cargo::Source { block: 0, index: 0 });
        for &milliseconds in round_trips_ms {
            hop.depart(now, 100, cargo);
            now += Duration::from_millis(milliseconds);
            let highest = hop.number() - 1;
            let report = LinkReport { highest, received: highest, ..LinkReport::default() };
            hop.handle_report(now, &report, &mut |_| {});
        }
        for _ in 0..50 {
            hop.depart(now, 100, cargo);
        }
        let mut counts = Vec::new();
        while let Some(at) = hop.timeout_at() {
            let mut count = 0;
            assert!(hop.handle_timeout(at, &mut |_| count += 1));
            counts.push(count);
        }
        counts
    }

    #[test]
    fn of_many_answers_that_may_be_late_a_few_are_tried_first() {
        assert_eq!(lost_at_a_time(&[50; 20]), [50]);
        assert_eq!(lost_at_a_time(&[10, 110].repeat(10)), [FLOWING, 50 - FLOWING]);
    }
}

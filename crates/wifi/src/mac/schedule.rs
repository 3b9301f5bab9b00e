//! Schedule of absences: a station leaves its channel by a clock, whatever its traffic, and
//! returns. Such a clock have radios that serve another network in turn (Apple's AWDL; Wi-Fi
//! Direct, whose Notice of Absence consists of start, duration, interval and count), radios that
//! lend their antenna to Bluetooth, and access points that look for radar or scan.
//!
//! An announced absence begins with a Null frame with PM = 1 and ends with one with PM = 0 (IEEE
//! 802.11-2020, 11.2.3.2), as before and after a scan; whether a Null was acknowledged or given up
//! makes no difference. The schedule is a clock's: a Null that takes long shortens the absence and
//! moves no later one. Several absences that touch or overlap are one. Left out: the time of the
//! switch, the traffic on the other channel, and notices of access points.

use alloc::vec::Vec;
use lasthop_units::{Duration, Instant};

/// An absence, once or with a period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AbsenceConfig {
    /// Start of the first absence, from the start of the run.
    pub start: Duration,
    /// Duration of an absence, more than zero; shorter than the period.
    pub away: Duration,
    /// Time from the start of one absence to that of the next; `None` for a single one.
    pub every: Option<Duration>,
    /// Whether Null frames announce departure and return. An access point has nobody to tell.
    pub announced: bool,
    /// Number of the other channel, for records.
    pub channel: Option<u8>,
}

impl AbsenceConfig {
    /// Whether the durations are possible.
    pub fn is_possible(&self) -> bool {
        !self.away.is_zero() && self.every.is_none_or(|every| self.away < every)
    }
}

/// The state of a station with a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SchedulePhase {
    /// The station is on its channel.
    Present,
    /// A Null with PM = 1 is being sent.
    Leaving,
    /// The station is away.
    Away,
    /// A Null with PM = 0 is being sent.
    Returning,
}

/// An event that may change the [`SchedulePhase`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScheduleInput {
    /// An absence begins or ends.
    Due,
    /// The Null frame was acknowledged or given up.
    Settled,
}

/// Action of the station after a [`ScheduleInput`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScheduleAction {
    /// No action: the input has no effect in this phase.
    Nothing,
    /// Sends a Null with PM = 1, and no other frame afterwards.
    Announce,
    /// Leaves the channel.
    Depart,
    /// Returns to the channel and sends a Null with PM = 0.
    Return,
    /// Returns to the channel, unless it is there, and starts the queue.
    Resume,
}

impl SchedulePhase {
    /// Returns the next phase and the action: the transition table.
    pub const fn on(self, input: ScheduleInput, announced: bool) -> (Self, ScheduleAction) {
        match (self, input) {
            (Self::Present, ScheduleInput::Due) if announced => {
                (Self::Leaving, ScheduleAction::Announce)
            }
            (Self::Present, ScheduleInput::Due) | (Self::Leaving, ScheduleInput::Settled) => {
                (Self::Away, ScheduleAction::Depart)
            }
            (Self::Away, ScheduleInput::Due) if announced => {
                (Self::Returning, ScheduleAction::Return)
            }
            (Self::Away, ScheduleInput::Due) | (Self::Returning, ScheduleInput::Settled) => {
                (Self::Present, ScheduleAction::Resume)
            }
            (phase, _) => (phase, ScheduleAction::Nothing),
        }
    }
}

/// Schedule of one station.
#[derive(Clone, Debug, PartialEq)]
pub struct Schedule {
    /// Absences, each with the start of its next one.
    absences: Vec<(AbsenceConfig, Option<Instant>)>,
    phase: SchedulePhase,
    due: Option<Instant>,
    /// End of the current or last absence.
    until: Instant,
    /// Whether Null frames announce the current or last absence.
    is_announced: bool,
}

impl Schedule {
    /// Returns a station that waits for its first absence.
    pub fn new(absences: &[AbsenceConfig]) -> Self {
        let first = |absence: &AbsenceConfig| (*absence, Some(Instant::ZERO + absence.start));
        let absences: Vec<_> = absences.iter().map(first).collect();
        let due = earliest(&absences);
        Self {
            absences,
            phase: SchedulePhase::Present,
            due,
            until: Instant::ZERO,
            is_announced: false,
        }
    }

    /// The current phase.
    pub fn phase(&self) -> SchedulePhase {
        self.phase
    }

    /// Instant of the next [`ScheduleInput::Due`], if there is one.
    pub fn due(&self) -> Option<Instant> {
        self.due
    }

    /// End of the current or last absence by the clock.
    pub fn until(&self) -> Instant {
        self.until
    }

    /// Handles an input at `now`, which must not decrease.
    pub fn handle(&mut self, now: Instant, input: ScheduleInput) -> ScheduleAction {
        if input == ScheduleInput::Due {
            let is_present = self.phase == SchedulePhase::Present;
            let announced = self.begin(now);
            if is_present {
                self.is_announced = announced;
            } else if self.phase == SchedulePhase::Away && self.until > now {
                // Another absence begins before this one has ended.
                self.due = Some(self.until);
                return ScheduleAction::Nothing;
            }
        }
        let (phase, action) = self.phase.on(input, self.is_announced);
        self.phase = phase;
        match action {
            ScheduleAction::Nothing => {}
            ScheduleAction::Announce | ScheduleAction::Return => self.due = None,
            ScheduleAction::Depart => self.due = Some(self.until.max(now)),
            ScheduleAction::Resume => {
                self.skip(now);
                self.due = earliest(&self.absences);
            }
        }
        action
    }

    /// Begins the absences that are due, which may move the end. Returns whether Null frames
    /// announce one of them.
    fn begin(&mut self, now: Instant) -> bool {
        let mut announced = false;
        for (absence, next) in &mut self.absences {
            while let Some(start) = next.filter(|start| *start <= now) {
                announced |= absence.announced;
                self.until = self.until.max(start + absence.away);
                *next = absence.every.map(|every| start + every);
            }
        }
        announced
    }

    /// Leaves out absences that have ended by `now`.
    fn skip(&mut self, now: Instant) {
        for (absence, next) in &mut self.absences {
            while let Some(start) = next.filter(|start| *start + absence.away <= now) {
                *next = absence.every.map(|every| start + every);
            }
        }
    }
}

/// Start of the next absence.
fn earliest(absences: &[(AbsenceConfig, Option<Instant>)]) -> Option<Instant> {
    absences.iter().filter_map(|(_, next)| *next).min()
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;
    use alloc::string::String;
    use proptest::prelude::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn at(at: u64) -> Instant {
        Instant::ZERO + ms(at)
    }

    fn absence(start: u64, away: u64, every: Option<u64>, announced: bool) -> AbsenceConfig {
        let every = every.map(ms);
        AbsenceConfig { start: ms(start), away: ms(away), every, announced, channel: None }
    }

    #[test]
    fn every_phase_with_every_input() {
        use SchedulePhase::{Away, Leaving, Present, Returning};
        let table = |announced: bool| {
            let mut table = String::new();
            for phase in [Present, Leaving, Away, Returning] {
                for input in [ScheduleInput::Due, ScheduleInput::Settled] {
                    let (next, action) = phase.on(input, announced);
                    if (next, action) != (phase, ScheduleAction::Nothing) {
                        table += &format!("{phase:?} + {input:?}: {action:?}, {next:?}\n");
                    }
                }
            }
            table
        };
        let announced = "\
            Present + Due: Announce, Leaving\n\
            Leaving + Settled: Depart, Away\n\
            Away + Due: Return, Returning\n\
            Returning + Settled: Resume, Present\n";
        assert_eq!(table(true), announced);
        let silent = "\
            Present + Due: Depart, Away\n\
            Leaving + Settled: Depart, Away\n\
            Away + Due: Resume, Present\n\
            Returning + Settled: Resume, Present\n";
        assert_eq!(table(false), silent);
    }

    /// Absences up to `until`, in ms, of a station whose Null frames take `null`.
    fn absences(config: &[AbsenceConfig], until: u64, null: u64) -> Vec<(u64, u64)> {
        let mut schedule = Schedule::new(config);
        let (mut spans, mut left) = (Vec::new(), None);
        let in_ms = |at: Instant| (at - Instant::ZERO).as_nanos() / 1_000_000;
        while let Some(due) = schedule.due().filter(|due| *due < at(until)) {
            let mut now = due;
            let mut action = schedule.handle(now, ScheduleInput::Due);
            if matches!(action, ScheduleAction::Announce | ScheduleAction::Return) {
                if action == ScheduleAction::Return {
                    spans.push((left.take().expect("it left"), in_ms(now)));
                }
                now += ms(null);
                action = schedule.handle(now, ScheduleInput::Settled);
            }
            match action {
                ScheduleAction::Depart => left = Some(in_ms(now)),
                ScheduleAction::Resume => {
                    spans.extend(left.take().map(|left| (left, in_ms(now))));
                }
                ScheduleAction::Nothing => {}
                other => panic!("{other:?}"),
            }
        }
        spans
    }

    #[test]
    fn the_clock_does_not_wait_for_null_frames() {
        for null in [0, 3] {
            let all = absences(&[absence(40, 90, Some(500), true)], 1_200, null);
            assert_eq!(all, [(40 + null, 130), (540 + null, 630), (1_040 + null, 1_130)]);
        }
        assert_eq!(absences(&[absence(7, 90, None, false)], 60_000, 0), [(7, 97)]);
    }

    #[test]
    fn a_null_that_takes_longer_than_absences_leaves_out_some() {
        // The first is over when the Null is sent; the next two begin and end meanwhile.
        let all = absences(&[absence(10, 2, Some(20), true)], 200, 25);
        assert_eq!(all[0], (35, 35));
        assert!(all.windows(2).all(|pair| pair[0].1 <= pair[1].0), "{all:?}");
    }

    #[test]
    fn absences_that_touch_are_one() {
        let two = [absence(0, 40, Some(1_000), false), absence(40, 40, Some(1_000), false)];
        assert_eq!(absences(&two, 1_500, 0), [(0, 80), (1_000, 1_080)]);
        let inside = [absence(0, 40, None, false), absence(10, 10, None, false)];
        assert_eq!(absences(&inside, 1_000, 0), [(0, 40)]);
    }

    fn any_absence() -> impl Strategy<Value = AbsenceConfig> {
        (0u64..50, 1u64..30, prop::option::of(1u64..60), any::<bool>()).prop_map(
            |(start, away, gap, announced)| {
                absence(start, away, gap.map(|gap| away + gap), announced)
            },
        )
    }

    proptest! {
        /// The station is away exactly in the milliseconds of the absences, counted one by one.
        #[test]
        fn the_absences_are_the_union(config in prop::collection::vec(any_absence(), 1..4)) {
            let until = 500;
            let is_in = |it: &AbsenceConfig, at: u64| {
                let start = it.start.as_nanos() / 1_000_000;
                at.checked_sub(start).is_some_and(|since| {
                    let since = match it.every {
                        Some(every) => since % (every.as_nanos() / 1_000_000),
                        None => since,
                    };
                    since < it.away.as_nanos() / 1_000_000
                })
            };
            let expected: Vec<u64> =
                (0..until).filter(|at| config.iter().any(|it| is_in(it, *at))).collect();
            let mut schedule = Schedule::new(&config);
            let mut found = Vec::new();
            for now in 0..until {
                while schedule.due().is_some_and(|due| due <= at(now)) {
                    prop_assert_eq!(schedule.due(), Some(at(now)));
                    let action = schedule.handle(at(now), ScheduleInput::Due);
                    if matches!(action, ScheduleAction::Announce | ScheduleAction::Return) {
                        schedule.handle(at(now), ScheduleInput::Settled);
                    }
                }
                if schedule.phase() == SchedulePhase::Away {
                    found.push(now);
                }
            }
            prop_assert_eq!(found, expected);
        }
    }
}

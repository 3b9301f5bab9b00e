//! Tests of contention, and its comparison with the clear version.

use super::reference::ClearContention;
use super::*;
use alloc::vec;
use proptest::prelude::*;

const SLOT: Duration = Duration::from_micros(9);
const AIFS: Duration = Duration::from_micros(43);
const A: StationId = StationId(0);
const B: StationId = StationId(1);

fn at(us: u64) -> Instant {
    Instant::ZERO + Duration::from_micros(us)
}

fn pair() -> (Contention, ContenderId, ContenderId) {
    let mut contention = Contention::new(SLOT, &vec![vec![true; 2]; 2]);
    let (a, b) = (contention.add(A, AIFS, Counting::Dcf), contention.add(B, AIFS, Counting::Dcf));
    (contention, a, b)
}

#[test]
fn an_idle_medium_is_taken_at_once() {
    let (mut contention, a, _) = pair();
    assert!(contention.arm(a, at(100)));
    assert_eq!(contention.next_access(Instant::MAX), at(100));
}

#[test]
fn backoff_freezes_and_goes_on() {
    let (mut contention, a, b) = pair();
    contention.set_backoff(a, 5);
    contention.set_backoff(b, 8);
    assert!(contention.arm(a, at(0)) && contention.arm(b, at(0)));
    assert_eq!(contention.next_access(Instant::MAX), at(43 + 45));
    contention.transmission_starts(A, at(88));
    assert_eq!(contention.next_access(Instant::MAX), Instant::MAX);
    contention.set_backoff(a, 7);
    contention.transmission_ends(A, at(1000));
    // B counted five of its eight slots.
    assert_eq!(contention.next_access(Instant::MAX), at(1000 + 43 + 27));
}

/// Six slots end before the station leaves, and at the end of AIFS it has counted seven.
#[test]
fn a_station_that_leaves_keeps_its_slots() {
    let mut contention = Contention::new(SLOT, &vec![vec![true; 2]; 2]);
    let b = contention.add(B, AIFS, Counting::EdcaAtOnce);
    contention.set_backoff(b, 8);
    contention.arm(b, at(0));
    contention.leave(B, at(43 + 54 + 5));
    assert_eq!(contention.next_access(Instant::MAX), Instant::MAX);
    contention.return_to_channel(B, at(5_000));
    assert_eq!(contention.next_access(Instant::MAX), at(5_000 + 43 + 9));
    contention.leave(B, at(5_001));
    contention.return_to_channel(B, at(6_000));
    assert_eq!(contention.next_access(Instant::MAX), at(6_000 + 43 + 9));
}

/// A contender that finds the medium idle begins at the next boundary (10.23.2.4); without that
/// rule at once.
#[test]
fn edca_begins_at_a_slot_boundary() {
    for counting in [Counting::EdcaAtOnce, Counting::Edca] {
        let mut contention = Contention::new(SLOT, &vec![vec![true; 2]; 2]);
        let b = contention.add(B, AIFS, counting);
        let boundary = Instant::ZERO + AIFS + SLOT * 3;
        let now = boundary - Duration::from_micros(4);
        assert!(contention.arm(b, now));
        let begins = if counting == Counting::Edca { boundary } else { now };
        assert_eq!(contention.next_access(Instant::MAX), begins);
        contention.disarm(b);
        assert!(contention.arm(b, boundary));
        assert_eq!(contention.next_access(Instant::MAX), boundary);
    }
}

#[test]
fn edca_counts_the_end_of_aifs() {
    let mut contention = Contention::new(SLOT, &vec![vec![true; 2]; 2]);
    let b = contention.add(B, AIFS, Counting::EdcaAtOnce);
    contention.set_backoff(b, 8);
    contention.arm(b, at(0));
    assert_eq!(contention.next_access(Instant::MAX), at(43 + 72));
    contention.transmission_starts(A, at(42));
    contention.transmission_ends(A, at(100));
    assert_eq!(contention.next_access(Instant::MAX), at(100 + 43 + 72), "AIFS was not over");
    contention.transmission_starts(A, at(100 + 43 + 5 * 9));
    contention.transmission_ends(A, at(1000));
    assert_eq!(contention.next_access(Instant::MAX), at(1000 + 43 + 2 * 9));
}

#[test]
fn a_slot_that_is_not_over_does_not_count() {
    let (mut contention, a, b) = pair();
    contention.set_backoff(b, 8);
    contention.arm(b, at(0));
    contention.transmission_starts(A, at(43 + 5 * 9) - Duration::from_nanos(1));
    contention.transmission_ends(A, at(1000));
    assert_eq!(contention.next_access(Instant::MAX), at(1000 + 43 + 4 * 9));
    let _ = a;
}

/// Access instants up to a horizon: none before the end of the shortest AIFS.
#[test]
fn nobody_gains_access_before_the_shortest_aifs() {
    let mut contention = Contention::new(SLOT, &vec![vec![true; 2]; 2]);
    let long = contention.add(A, AIFS + SLOT, Counting::Dcf);
    let short = contention.add(B, AIFS, Counting::Dcf);
    contention.arm(long, at(0));
    contention.arm(short, at(0));
    contention.transmission_starts(A, at(10));
    contention.transmission_ends(A, at(100));
    assert_eq!(contention.next_access(at(142)), Instant::MAX);
    assert_eq!(contention.next_access(at(143)), at(143));
    contention.disarm(short);
    assert!(!contention.is_armed(short) && contention.is_armed(long));
    assert_eq!(contention.next_access(at(143)), at(152));
    contention.disarm(long);
    assert_eq!(contention.next_access(Instant::MAX), Instant::MAX);
}

/// 10.23.2.2: NAV, EIFS, an exchange of the station and a response that it owes make the medium
/// busy for it until their end, a sensed PPDU as long as it lasts.
#[test]
fn what_makes_the_medium_busy() {
    type Change = fn(&mut Contention);
    let busy: [Change; 4] = [
        |contention| contention.reserve(B, at(300)),
        |contention| contention.extend_interframe_space(B, at(300)),
        |contention| contention.hold(B, at(300)),
        |contention| contention.respond(B, at(300)),
    ];
    for (number, change) in (0..).zip(busy) {
        let (mut contention, a, b) = pair();
        assert!(!contention.is_busy(B, at(0)) && !contention.extends_beyond(at(0)));
        change(&mut contention);
        assert!(contention.is_busy(B, at(299)) && !contention.is_busy(B, at(300)));
        assert!(!contention.is_busy(A, at(299)), "the other station's");
        assert_eq!(contention.is_reserved(B, at(299)), number == 0);
        assert_eq!(contention.extends_beyond(at(299)), number == 1);
        assert!(!contention.extends_beyond(at(300)));
        // With slots to count, no backoff is drawn; without, one is.
        assert!(contention.arm(a, at(10)));
        assert!(!contention.arm(b, at(10)));
        contention.set_backoff(b, 1);
        assert!(contention.arm(b, at(10)));
        assert_eq!(contention.station(b), B);
    }
    let (mut contention, ..) = pair();
    contention.transmission_starts(A, at(10));
    contention.transmission_starts(B, at(12));
    contention.transmission_ends(A, at(20));
    assert!(contention.is_busy(A, at(21)), "the other PPDU");
    contention.transmission_ends(B, at(22));
    assert!(!contention.is_busy(A, at(22)));
}

/// A decoded frame ends EIFS (10.3.2.3.7) and never shortens the NAV; on another channel
/// neither counts.
#[test]
fn how_reservations_end() {
    let (mut contention, _, b) = pair();
    contention.extend_interframe_space(B, at(300));
    contention.reserve(B, at(200));
    contention.reserve(B, at(150));
    assert!(contention.is_busy(B, at(199)) && !contention.is_busy(B, at(200)));
    contention.extend_interframe_space(B, at(300));
    contention.return_to_channel(B, at(50));
    assert!(contention.is_busy(B, at(49)) && !contention.is_busy(B, at(50)));
    assert!(contention.arm(b, at(60)));
    assert_eq!(contention.next_access(Instant::MAX), at(50 + 43));
}

/// Stations with different views: each freezes according to its carrier sense, and winners are
/// in order of index.
#[test]
fn views_freeze_for_themselves() {
    const C: StationId = StationId(2);
    // A and C do not sense each other; B senses both.
    let senses = [[true, true, false], [true, true, true], [false, true, true]];
    let mut contention = Contention::new(SLOT, &senses.map(|row| row.to_vec()));
    let [c, b, a] = [C, B, A].map(|station| contention.add(station, AIFS, Counting::Dcf));
    for id in [a, b, c] {
        contention.set_backoff(id, 2);
        contention.arm(id, at(0));
    }
    let mut winners = Vec::new();
    contention.winners(at(43 + 18), &mut winners);
    assert_eq!(winners, [c, b, a]);
    for (listener, row) in [A, B, C].into_iter().zip(senses) {
        for (transmitter, expected) in [A, B, C].into_iter().zip(row) {
            assert_eq!(contention.senses(listener, transmitter), expected);
        }
    }
    contention.transmission_starts(A, at(43 + 9));
    assert!(contention.is_busy(B, at(55)) && !contention.is_busy(C, at(55)));
    assert_eq!(contention.next_access(Instant::MAX), at(43 + 18), "C goes on");
    contention.disarm(c);
    contention.transmission_ends(A, at(200));
    assert_eq!(contention.next_access(Instant::MAX), at(200 + 43 + 9));
}

#[test]
fn equal_counters_win_together() {
    let (mut contention, a, b) = pair();
    contention.set_backoff(a, 3);
    contention.set_backoff(b, 3);
    contention.arm(a, at(0));
    contention.arm(b, at(0));
    let mut winners = Vec::new();
    contention.winners(at(43 + 27), &mut winners);
    assert_eq!(winners, [a, b]);
}

#[test]
fn arriving_at_a_busy_medium_asks_for_a_backoff() {
    let (mut contention, _, b) = pair();
    contention.transmission_starts(A, at(10));
    assert!(!contention.arm(b, at(20)));
    contention.set_backoff(b, 2);
    assert_eq!(contention.next_access(Instant::MAX), Instant::MAX);
    contention.transmission_ends(A, at(50));
    assert_eq!(contention.next_access(Instant::MAX), at(50 + 43 + 18));
}

#[test]
fn a_hidden_transmitter_does_not_freeze() {
    let mut contention = Contention::new(SLOT, &[vec![true, false], vec![false, true]]);
    let b = contention.add(B, AIFS, Counting::Dcf);
    contention.set_backoff(b, 4);
    contention.arm(b, at(0));
    contention.transmission_starts(A, at(10));
    assert_eq!(contention.next_access(Instant::MAX), at(43 + 36));
    assert!(!contention.senses(B, A) && contention.senses(B, B));
}

#[test]
fn reservations_and_eifs_delay() {
    let (mut contention, _, b) = pair();
    contention.arm(b, at(0));
    contention.transmission_starts(A, at(10));
    contention.extend_interframe_space(B, at(160));
    contention.transmission_ends(A, at(100));
    assert_eq!(contention.next_access(Instant::MAX), at(160 + 43));
    contention.transmission_starts(A, at(150));
    contention.reserve(B, at(300));
    contention.transmission_ends(A, at(200));
    assert_eq!(contention.next_access(Instant::MAX), at(300 + 43));
    assert!(contention.is_reserved(B, at(299)) && !contention.is_reserved(B, at(300)));
}

/// Stations of the random comparison.
const STATIONS: u16 = 5;

/// A call.
#[derive(Clone, Copy, Debug)]
enum Step {
    Arm(u16, u32),
    Disarm(u16),
    SetBackoff(u16, u32),
    BackOff(u16, u32),
    SetAifs(u16, u64),
    /// Lets all who gain access now, or after this many microseconds, send a PPDU.
    Access(u64),
    /// Puts a PPDU of a station on the air.
    Begin(u16),
    /// Ends the PPDU that began first, with its NAV and its addressee.
    End(u64, u16),
    Fail(u16, u64),
    Reserve(u16, u64),
    Hold(u16, u64),
    Respond(u16, u64),
    Leave(u16),
    Return(u16),
    Wait(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let contender = 0..2 * STATIONS;
    let station = 0..STATIONS;
    let us = 0..400_u64;
    let step = prop_oneof![
        4 => (contender.clone(), 0..16_u32).prop_map(|(id, slots)| Step::Arm(id, slots)),
        1 => contender.clone().prop_map(Step::Disarm),
        1 => (contender.clone(), 0..16_u32).prop_map(|(id, slots)| Step::SetBackoff(id, slots)),
        1 => (contender.clone(), 0..16_u32).prop_map(|(id, slots)| Step::BackOff(id, slots)),
        1 => (contender, 0..5_u64).prop_map(|(id, slots)| Step::SetAifs(id, slots)),
        8 => us.clone().prop_map(Step::Access),
        1 => station.clone().prop_map(Step::Begin),
        8 => (us.clone(), station.clone()).prop_map(|(us, to)| Step::End(us, to)),
        2 => (station.clone(), us.clone()).prop_map(|(id, us)| Step::Fail(id, us)),
        2 => (station.clone(), us.clone()).prop_map(|(id, us)| Step::Reserve(id, us)),
        2 => (station.clone(), us.clone()).prop_map(|(id, us)| Step::Hold(id, us)),
        2 => (station.clone(), us.clone()).prop_map(|(id, us)| Step::Respond(id, us)),
        1 => station.clone().prop_map(Step::Leave),
        1 => station.prop_map(Step::Return),
        4 => us.prop_map(Step::Wait),
    ];
    proptest::collection::vec(step, 1..120)
}

/// Both versions, and what is on the air.
struct Both {
    fast: Contention,
    clear: ClearContention,
    now: Instant,
    on_air: Vec<StationId>,
}

impl Both {
    fn begin(&mut self, station: StationId) {
        if !self.on_air.contains(&station) {
            self.fast.transmission_starts(station, self.now);
            self.clear.transmission_starts(station, self.now);
            self.on_air.push(station);
        }
    }

    /// Lets a contender have a frame to send, with a backoff if it must draw one.
    fn arm(&mut self, id: ContenderId, slots: u32) {
        let draws = [self.fast.arm(id, self.now), self.clear.arm(id, self.now)];
        assert_eq!(draws[0], draws[1], "a backoff is drawn");
        if !draws[0] {
            self.fast.set_backoff(id, slots);
            self.clear.set_backoff(id, slots);
        }
    }

    /// Moves time on, but not beyond an access instant: whoever gains access then is asked.
    fn wait(&mut self, until: Instant) {
        let next = self.next(until);
        self.now = self.now.max(next.min(until));
    }

    fn next(&mut self, horizon: Instant) -> Instant {
        let next = self.fast.next_access(horizon);
        assert_eq!(next, self.clear.next_access(horizon), "the next access up to {horizon:?}");
        next
    }

    /// Lets those who gain access send, from the first index on, and draw a backoff.
    fn access(&mut self, us: u64) {
        self.wait(self.now + Duration::from_micros(us));
        let (mut fast, mut clear) = (Vec::new(), Vec::new());
        self.fast.winners(self.now, &mut fast);
        self.clear.winners(self.now, &mut clear);
        assert_eq!(fast, clear, "the winners");
        for id in fast {
            let station = self.fast.station(id);
            self.fast.disarm(id);
            self.clear.disarm(id);
            self.fast.set_backoff(id, 3 + u32::from(id.0));
            self.clear.set_backoff(id, 3 + u32::from(id.0));
            self.begin(station);
        }
    }

    fn take(&mut self, step: Step) {
        let now = self.now;
        let later = |us| now + Duration::from_micros(us);
        let Self { fast, clear, .. } = self;
        match step {
            Step::Arm(id, slots) => self.arm(ContenderId(id), slots),
            Step::Disarm(id) => {
                fast.disarm(ContenderId(id));
                clear.disarm(ContenderId(id));
            }
            Step::SetBackoff(id, slots) => {
                fast.set_backoff(ContenderId(id), slots);
                clear.set_backoff(ContenderId(id), slots);
            }
            Step::BackOff(id, slots) if fast.is_armed(ContenderId(id)) => {
                fast.back_off(ContenderId(id), slots, now);
                clear.back_off(ContenderId(id), slots, now);
            }
            Step::SetAifs(id, slots) => {
                let aifs = if slots == 4 { Duration::MAX } else { AIFS + SLOT * slots };
                fast.set_aifs(ContenderId(id), aifs, now);
                clear.set_aifs(ContenderId(id), aifs, now);
            }
            Step::Access(us) => self.access(us),
            Step::Begin(station) => self.begin(StationId(station)),
            Step::End(us, to) if !self.on_air.is_empty() => {
                let (station, until) = (self.on_air.remove(0), later(us));
                let to = Some(StationId(to)).filter(|to| *to != station);
                fast.reserve_around(station, to, until, now);
                clear.reserve_around(station, to, until);
                fast.transmission_ends(station, now);
                clear.transmission_ends(station, now);
            }
            Step::Fail(station, us) => {
                fast.extend_interframe_space(StationId(station), later(us));
                clear.extend_interframe_space(StationId(station), later(us));
            }
            Step::Reserve(station, us) => {
                fast.reserve(StationId(station), later(us));
                clear.reserve(StationId(station), later(us));
            }
            Step::Hold(station, us) => {
                let until = if us == 0 { Instant::MAX } else { later(us) };
                fast.hold(StationId(station), until);
                clear.hold(StationId(station), until);
            }
            Step::Respond(station, us) => {
                fast.respond(StationId(station), later(us));
                clear.respond(StationId(station), later(us));
            }
            Step::Leave(station) => {
                fast.leave(StationId(station), now);
                clear.leave(StationId(station), now);
            }
            Step::Return(station) => {
                fast.return_to_channel(StationId(station), now);
                clear.return_to_channel(StationId(station), now);
            }
            Step::Wait(us) => self.wait(later(us)),
            Step::End(..) | Step::BackOff(..) => {}
        }
    }

    fn agree(&mut self) {
        for station in (0..STATIONS).map(StationId) {
            let fast = self.fast.is_busy(station, self.now);
            assert_eq!(fast, self.clear.is_busy(station, self.now), "busy for {station:?}");
            let fast = self.fast.is_reserved(station, self.now);
            assert_eq!(fast, self.clear.is_reserved(station, self.now), "NAV of {station:?}");
            let fast = self.fast.is_contending(station);
            assert_eq!(fast, self.clear.is_contending(station), "{station:?} contends");
        }
        for id in (0..2 * STATIONS).map(ContenderId) {
            let fast = self.fast.would_gain(id, self.now);
            assert_eq!(fast, self.clear.would_gain(id, self.now), "{id:?} would gain");
        }
        self.next(self.now);
    }
}

/// A cell in which station 4 hears and is heard by station 0 only, or all hear each other.
fn both(all_hear: bool) -> Both {
    let hears = |one: u16, other: u16| all_hear || one != 4 && other != 4 || one % 4 == other % 4;
    let row = |one| (0..STATIONS).map(|other| hears(one, other)).collect();
    let senses: Vec<Vec<bool>> = (0..STATIONS).map(row).collect();
    let mut both = Both {
        fast: Contention::new(SLOT, &senses),
        clear: ClearContention::new(SLOT, &senses),
        now: Instant::ZERO,
        on_air: Vec::new(),
    };
    for station in (0..STATIONS).map(StationId) {
        for (slots, counting) in [(0, Counting::Edca), (station.0 % 2, Counting::Dcf)] {
            let aifs = AIFS + SLOT * u64::from(slots);
            both.fast.add(station, aifs, counting);
            both.clear.add(station, aifs, counting);
        }
    }
    both
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    /// The fast version does what the clear one does, after every call.
    #[test]
    fn lanes_do_what_steps_for_each_contender_do(all_hear: bool, steps in steps()) {
        let mut both = both(all_hear);
        for step in steps {
            both.take(step);
            both.agree();
        }
    }
}

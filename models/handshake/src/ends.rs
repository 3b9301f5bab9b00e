//! Two ends that share K: ephemeral keys, candidates, current sessions, restarts.
//!
//! The attacker has the hop key and controls all wires. He delivers any sent HELLO or PULSE to
//! its destination, at any time and any number of times. He learns K at any time, and then
//! forges HELLOs with known keys and with his own key. The model omits counters of PULSEs after
//! the first (each end sends one for each session, nonce 0), data (represented by the PULSE),
//! times (a candidate or a session may end at any moment), and budgets. Ends send every message
//! that leaves their state unchanged at once. More messages never weaken the attacker, and the
//! number of states stays small.

use crate::Model;

/// Ephemeral keys of an end over all its lives, at most.
const KEYS: u8 = 4;
/// No key: the echo of an ask, or the unused key of an end that has used all its keys.
const NONE: u8 = 0;
/// The attacker's key. Keys of the ends are 1..=KEYS and KEYS + 1..=2 * KEYS.
const ATTACKERS: u8 = 2 * KEYS + 1;
/// Number of values of a key, with [`NONE`] and [`ATTACKERS`].
const WIDTH: u8 = ATTACKERS + 1;

/// A set of triples of an end and two keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
struct Set([u128; 2]);
const _: () = assert!(WIDTH as u32 * WIDTH as u32 <= u128::BITS);

impl Set {
    fn bit(first: u8, second: u8) -> u128 {
        1 << (u32::from(first) * u32::from(WIDTH) + u32::from(second))
    }

    fn has(&self, (end, first, second): Triple) -> bool {
        self.0[end] & Self::bit(first, second) != 0
    }

    fn insert(&mut self, (end, first, second): Triple) {
        self.0[end] |= Self::bit(first, second);
    }

    fn remove(&mut self, (end, first, second): Triple) {
        self.0[end] &= !Self::bit(first, second);
    }
}

type Triple = (usize, u8, u8);

fn keys_of(end: usize) -> std::ops::RangeInclusive<u8> {
    let first = if end == 0 { 1 } else { KEYS + 1 };
    first..=first + KEYS - 1
}

/// A deliberately broken rule. A search of the variant must find an attack.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Broken {
    /// The protocol without a broken rule.
    Nothing,
    /// An end accepts an ask as fresh.
    AskIsFresh,
    /// An end does not compare the echo.
    EchoUnchecked,
    /// An end keeps an ephemeral key after a session has begun with it.
    EphemeralUsedAgain,
    /// A candidate becomes the current session without a PULSE.
    ConfirmedAtOnce,
    /// The session's secret depends only on the key of the lower end.
    OneKeyBound,
    /// Both directions seal with one key.
    OneKeyForBothDirections,
    /// The session's secret comes from K and both public keys.
    NoExchange,
    /// An end keeps a replaced session, and resumes it at a PULSE of that session.
    OlderKept,
    /// An end keeps a replaced candidate, and confirms it at a PULSE of that candidate.
    CandidateKept,
    /// A restarted end uses the first ephemeral key of its former life.
    SameKeyAfterRestart,
}

impl Broken {
    /// Whether a used key has no further effect, so that [`Ends::forget`] may remove it.
    fn erases(self) -> bool {
        matches!(
            self,
            Self::Nothing
                | Self::ConfirmedAtOnce
                | Self::OneKeyBound
                | Self::OneKeyForBothDirections
                | Self::NoExchange
        )
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Session {
    own: u8,
    peer: u8,
    /// Whether the attacker knew K when the session began. No claim covers such a session.
    is_exposed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct End {
    /// Key for the next session.
    unused: u8,
    /// First key of this life.
    first: u8,
    restarts: u8,
    candidate: Option<Session>,
    current: Option<Session>,
    /// Session that a broken variant keeps instead of erasing it.
    kept: Option<Session>,
    /// Last current session in any life: history for the claims.
    last: Option<Session>,
}

/// State of both ends, the sent messages, and the history for the claims.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct State {
    ends: [End; 2],
    /// Sent HELLOs: (origin, key, echo).
    hellos: Set,
    /// Sent PULSEs: (sender, key of the lower end, key of the higher end).
    pulses: Set,
    /// All candidates so far: (end, its key, the peer's key).
    begun: Set,
    is_revealed: bool,
}

/// An event of an end or of the attacker.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Step {
    /// A HELLO of the other end arrives.
    Hello {
        /// End that receives it.
        to: usize,
        /// Ephemeral key in the HELLO.
        key: u8,
        /// Echoed key, 0 in an ask.
        echo: u8,
    },
    /// A PULSE of the candidate arrives.
    Pulse {
        /// End that receives it.
        to: usize,
    },
    /// A PULSE of the session that a broken variant has kept arrives.
    Old {
        /// End that receives it.
        to: usize,
    },
    /// The end drops its candidate: no PULSE confirmed it in time.
    DropCandidate(usize),
    /// The end drops its current session, which was silent for too long.
    DropCurrent(usize),
    /// The end restarts.
    Restart(usize),
    /// The attacker learns K.
    Reveal,
}

/// The model of two ends: bounds, broken rule and attacker.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ends {
    /// Ephemeral keys of each end over all its lives, 1 to 4.
    pub keys: u8,
    /// Restarts of each end, at most.
    pub restarts: u8,
    /// The rule that is broken, if any.
    pub broken: Broken,
    /// Whether the attacker stays passive after he has learned K.
    pub is_passive: bool,
}

impl Ends {
    fn next_key(self, end: usize, key: u8) -> u8 {
        let last = keys_of(end).start() + self.keys - 1;
        if key == NONE || key == last { NONE } else { key + 1 }
    }

    /// Returns the PULSE that `sender` seals in `session`, as `end` stores the session.
    fn pulse(&self, end: usize, session: Session, sender: usize) -> Triple {
        let (low, high) =
            if end == 0 { (session.own, session.peer) } else { (session.peer, session.own) };
        let sender = if self.broken == Broken::OneKeyForBothDirections { 0 } else { sender };
        let high = if self.broken == Broken::OneKeyBound { NONE } else { high };
        (sender, low, high)
    }

    /// Whether the attacker can compute the secret of `session`.
    fn is_open(&self, state: &State, session: Session) -> bool {
        state.is_revealed
            && (session.peer == ATTACKERS
                || self.broken == Broken::NoExchange
                || self.broken == Broken::OneKeyBound)
    }

    /// Sends all messages of the ends that leave their state unchanged: asks and answers.
    fn speak(state: &mut State) {
        for end in 0..2 {
            let own = state.ends[end].unused;
            if own == NONE {
                continue;
            }
            if state.ends[end].current.is_none() {
                state.hellos.insert((end, own, NONE));
            }
        }
        for end in 0..2 {
            let own = state.ends[end].unused;
            for key in keys_of(1 - end) {
                if own != NONE && state.hellos.has((1 - end, key, NONE)) {
                    state.hellos.insert((end, own, key));
                }
            }
        }
    }

    /// Removes irrelevant details, so that equivalent states become equal. A key of an end below
    /// its unused one makes no session, unless it is the candidate's.
    fn forget(state: &mut State) {
        let is_dead = |end: usize, key: u8| {
            let end = &state.ends[end];
            (end.unused == NONE || key < end.unused)
                && end.candidate.is_none_or(|session| session.own != key)
        };
        let (mut hellos, mut pulses, mut begun) = (state.hellos, state.pulses, state.begun);
        for low in keys_of(0).chain([ATTACKERS]) {
            for high in keys_of(1).chain([ATTACKERS]) {
                let is_low_dead = low == ATTACKERS || is_dead(0, low);
                let is_high_dead = high == ATTACKERS || is_dead(1, high);
                if is_low_dead {
                    hellos.remove((1, high, low));
                    begun.remove((1, high, low));
                }
                if is_high_dead {
                    hellos.remove((0, low, high));
                    begun.remove((0, low, high));
                }
                if is_low_dead && is_high_dead {
                    pulses.remove((0, low, high));
                    pulses.remove((1, low, high));
                }
            }
        }
        (state.hellos, state.pulses, state.begun) = (hellos, pulses, begun);
    }

    fn begin(&self, state: &mut State, to: usize, key: u8) -> Result<(), &'static str> {
        let own = state.ends[to].unused;
        let session = Session { own, peer: key, is_exposed: state.is_revealed };
        if !state.is_revealed && !state.hellos.has((1 - to, key, own)) {
            return Err("a candidate begins on what the other end did not answer to this key");
        }
        let sealed = self.pulse(to, session, to);
        if state.pulses.has(sealed) && !session.is_exposed {
            return Err("a key and a nonce seal twice");
        }
        state.pulses.insert(sealed);
        state.begun.insert((to, own, key));
        state.hellos.insert((to, own, key));
        let broken = self.broken;
        let end = &mut state.ends[to];
        if broken == Broken::CandidateKept && end.candidate.is_some() {
            end.kept = end.candidate;
        }
        end.candidate = Some(session);
        if broken != Broken::EphemeralUsedAgain {
            end.unused = self.next_key(to, own);
        }
        if broken == Broken::ConfirmedAtOnce {
            end.candidate = None;
            return self.confirm(state, to, session);
        }
        Ok(())
    }

    fn confirm(&self, state: &mut State, to: usize, session: Session) -> Result<(), &'static str> {
        let end = &mut state.ends[to];
        if !session.is_exposed {
            if !state.begun.has((1 - to, session.peer, session.own)) {
                return Err("an end confirms what the other end has not begun");
            }
            let is_older = |last: Session| {
                session.own <= last.own || (!last.is_exposed && session.peer <= last.peer)
            };
            if session.own < end.first {
                return Err("an end confirms a session of its former life");
            }
            if end.last.is_some_and(is_older) {
                return Err("an end goes back to an older session");
            }
        }
        if self.broken == Broken::OlderKept {
            end.kept = end.current;
        }
        end.current = Some(session);
        end.last = Some(session);
        if !session.is_exposed && self.is_open(state, session) {
            return Err("K opens what was sealed before it was known");
        }
        Ok(())
    }

    /// Whether the attacker has or can forge a PULSE of `session` for `to`.
    fn has_pulse(&self, state: &State, to: usize, session: Session) -> bool {
        state.pulses.has(self.pulse(to, session, 1 - to)) || self.is_open(state, session)
    }

    /// Whether both ends have the same current session.
    pub fn is_agreed(state: &State) -> bool {
        let [a, b] = state.ends.map(|end| end.current);
        a.zip(b).is_some_and(|(a, b)| a.own == b.peer && a.peer == b.own)
    }

    /// Returns whether the ends agree again without the attacker: they drop their sessions and
    /// exchange new messages. `None` if an end has no key left, or if the attacker knows K.
    pub fn settles(&self, state: &State) -> Option<bool> {
        if state.is_revealed || state.ends.iter().any(|end| end.unused == NONE) {
            return None;
        }
        if Self::is_agreed(state) {
            return Some(true);
        }
        let mut state = state.clone();
        for end in &mut state.ends {
            (end.candidate, end.current) = (None, None);
        }
        Self::speak(&mut state);
        let [a, b] = state.ends.map(|end| end.unused);
        let steps = [
            Step::Hello { to: 0, key: b, echo: a },
            Step::Hello { to: 1, key: a, echo: b },
            Step::Pulse { to: 0 },
            Step::Pulse { to: 1 },
        ];
        for step in steps {
            let mut possible = Vec::new();
            self.steps(&state, &mut possible);
            if !possible.contains(&step) {
                return Some(false);
            }
            state = self.apply(&state, step).ok()?;
        }
        Some(Self::is_agreed(&state))
    }
}

impl Model for Ends {
    type State = State;
    type Step = Step;

    fn initial(&self) -> State {
        let end = |end| End {
            unused: *keys_of(end).start(),
            first: *keys_of(end).start(),
            restarts: 0,
            candidate: None,
            current: None,
            kept: None,
            last: None,
        };
        let mut state = State {
            ends: [end(0), end(1)],
            hellos: Set::default(),
            pulses: Set::default(),
            begun: Set::default(),
            is_revealed: false,
        };
        Self::speak(&mut state);
        state
    }

    fn steps(&self, state: &State, steps: &mut Vec<Step>) {
        if state.is_revealed && self.is_passive {
            return;
        }
        for (to, end) in state.ends.iter().enumerate() {
            let from = 1 - to;
            if end.unused != NONE {
                // With K the attacker can forge any HELLO. One with his own key covers them
                // all: a session with another key gives him no more.
                for key in keys_of(from).chain([ATTACKERS]) {
                    for echo in std::iter::once(NONE).chain(keys_of(to)) {
                        let is_fresh = match self.broken {
                            Broken::EchoUnchecked => true,
                            Broken::AskIsFresh => echo == NONE || echo == end.unused,
                            _ => echo == end.unused,
                        };
                        let is_known = state.hellos.has((from, key, echo));
                        let is_forged = key == ATTACKERS && state.is_revealed;
                        if is_fresh && (is_known || is_forged) {
                            steps.push(Step::Hello { to, key, echo });
                        }
                    }
                }
            }
            if end.candidate.is_some_and(|session| self.has_pulse(state, to, session)) {
                steps.push(Step::Pulse { to });
            }
            if end.kept.is_some_and(|session| self.has_pulse(state, to, session)) {
                steps.push(Step::Old { to });
            }
            if end.candidate.is_some() {
                steps.push(Step::DropCandidate(to));
            }
            if end.current.is_some() {
                steps.push(Step::DropCurrent(to));
            }
            if end.restarts < self.restarts && end.unused != NONE {
                steps.push(Step::Restart(to));
            }
        }
        if !state.is_revealed {
            steps.push(Step::Reveal);
        }
    }

    fn apply(&self, state: &State, step: Step) -> Result<State, &'static str> {
        let mut state = state.clone();
        match step {
            Step::Hello { to, key, .. } => self.begin(&mut state, to, key)?,
            Step::Pulse { to } => {
                if let Some(session) = state.ends[to].candidate.take() {
                    self.confirm(&mut state, to, session)?;
                }
            }
            Step::Old { to } => {
                if let Some(session) = state.ends[to].kept.take() {
                    self.confirm(&mut state, to, session)?;
                }
            }
            Step::DropCandidate(end) => state.ends[end].candidate = None,
            Step::DropCurrent(end) => state.ends[end].current = None,
            Step::Restart(number) => {
                let end = state.ends[number];
                let unused = if self.broken == Broken::SameKeyAfterRestart {
                    end.first
                } else {
                    self.next_key(number, end.unused)
                };
                let first = unused;
                let (last, restarts) = (end.last, end.restarts + 1);
                let (candidate, current, kept) = (None, None, None);
                state.ends[number] =
                    End { unused, first, restarts, candidate, current, kept, last };
            }
            Step::Reveal => {
                state.is_revealed = true;
                let open = |end: &End| end.last.is_some_and(|last| self.is_open(&state, last));
                if state.ends.iter().any(open) {
                    return Err("K opens what was sealed before it was known");
                }
            }
        }
        Self::speak(&mut state);
        if self.broken.erases() {
            Self::forget(&mut state);
        }
        Ok(state)
    }
}

//! Which session recoders between two ends take to be the current one.
//!
//! The attacker has no hop key: he delivers any HELLO that was ever said to the recoder that
//! it is for, from the neighbour's address, as often as he likes. Sessions are numbers in
//! the order in which they begin (see [`ends`](crate::ends)): the end that asks for the next
//! one has dropped the older for good, the other announces either until it has confirmed.
//! A recoder's cookie names its life and a generation of the neighbour. Left out: moves of
//! addresses (see [`address`](crate::address)), the period of cookies (none runs out here,
//! which is worse than the protocol), asks and answers that lead to no session, which one
//! end announces and the other does not.

use crate::Model;

/// Recoders in a row at most, the first beside end 0, the last beside end 1.
const RECODERS: usize = 3;
/// The session that all have where [`Claim::Settled`] begins.
const SETTLED: u8 = 1;

/// How recoders treat HELLOs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Recoders {
    /// How many there are in a row, 1 to 3.
    pub count: usize,
    /// Restarts of each.
    pub restarts: u8,
    /// Sessions that the ends begin, at most 8.
    pub sessions: u8,
    /// A new session makes the cookies of before void, as a move does.
    pub is_session_in_generation: bool,
    /// A HELLO that came without a good hop echo is relayed without one.
    pub is_freshness_relayed: bool,
    /// An announcement counts without a good hop echo: a broken variant.
    pub is_echo_unchecked: bool,
    /// One end's announcement is enough: a broken variant.
    pub is_one_enough: bool,
    /// An end with a candidate announces the candidate only, not its current session, too.
    pub is_newest_announced: bool,
    /// What is claimed.
    pub claim: Claim,
}

/// What is claimed of recoders: the more there are in a row, the less.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Claim {
    /// Both ends announced the session after the recoder had begun, and it never goes back.
    /// For a recoder that is beside both ends.
    BesideBoth,
    /// It goes back from no session that both ends have. For two in a row.
    Shared,
    /// None goes back once all have begun the session that both ends have, and the cookies
    /// of that time have run out. For any number.
    Settled,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Cookie {
    life: u8,
    generation: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
struct End {
    current: u8,
    candidate: Option<u8>,
    /// The newest session that it has ever begun: a key makes one session.
    newest: u8,
}

impl End {
    fn has(&self, session: u8) -> bool {
        self.current == session || self.candidate == Some(session)
    }
}

/// A HELLO on its way to a recoder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hello {
    /// The end that said it first.
    origin: usize,
    /// The recoder that it goes to.
    to: usize,
    session: u8,
    echo: Option<Cookie>,
    /// Lives of the recoders when the origin said it: history.
    lives: [u8; RECODERS],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
struct Recoder {
    life: u8,
    generation: u8,
    /// What came from the side of each end, and whether it was said in this life.
    announced: [Option<(u8, bool)>; 2],
    session: Option<u8>,
}

/// Ends, recoders and what was said.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct State {
    ends: [End; 2],
    recoders: [Recoder; RECODERS],
    /// Recoders of which it is settled what was announced before the run begins.
    arranged: usize,
    /// Sorted.
    hellos: Vec<Hello>,
}

impl State {
    /// Whether the first recoder has the newest session, and both ends have it.
    pub fn is_agreed(&self) -> bool {
        let newest = self.ends[0].newest.max(self.ends[1].newest);
        let is_last = |end: &End| end.current == newest;
        newest > 0 && self.ends.iter().all(is_last) && self.recoders[0].session == Some(newest)
    }
}

/// An event.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Step {
    /// The end drops its session and begins the next.
    Next(usize),
    /// The end begins the session that the other end has asked for.
    Follow(usize),
    /// The end confirms its candidate.
    Confirm(usize),
    /// The end drops its candidate.
    Drop(usize),
    /// A HELLO arrives.
    Hello(Hello),
    /// The recoder restarts.
    Restart(usize),
    /// Before the run begins: the next recoder heard the session before it last from the
    /// side of this end, or of none.
    Arrange(Option<usize>),
}

impl Recoders {
    fn insert(hellos: &mut Vec<Hello>, hello: Hello) {
        if let Err(at) = hellos.binary_search(&hello) {
            hellos.insert(at, hello);
        }
    }

    fn cookie(state: &State, recoder: usize) -> Option<Cookie> {
        let Recoder { life, generation, .. } = state.recoders[recoder];
        Some(Cookie { life, generation })
    }

    /// Has the ends announce, with the cookie of the recoder beside them.
    fn speak(&self, state: &mut State) {
        for origin in 0..2 {
            let to = if origin == 0 { 0 } else { self.count - 1 };
            let End { current, candidate, .. } = state.ends[origin];
            let is_current_said = candidate.is_none() || !self.is_newest_announced;
            let echo = Self::cookie(state, to);
            // Nobody asks for it where it is not claimed.
            let life = |recoder: Recoder| if self.is_life_claimed() { recoder.life } else { 0 };
            let lives = state.recoders.map(life);
            for session in is_current_said.then_some(current).into_iter().chain(candidate) {
                let hello = Hello { origin, to, session, echo, lives };
                Self::insert(&mut state.hellos, hello);
            }
        }
    }

    /// Forgets what cannot matter any more, so that states are one that differ in it only:
    /// a void cookie is as good as none, and without one a HELLO is relayed or nothing.
    fn forget(&self, state: &mut State) {
        if self.is_echo_unchecked {
            return;
        }
        let mut hellos = std::mem::take(&mut state.hellos);
        for hello in &mut hellos {
            hello.echo = hello.echo.filter(|_| self.is_good(state, *hello));
        }
        hellos.retain(|hello| hello.echo.is_some() || !self.is_freshness_relayed);
        hellos.sort_unstable();
        hellos.dedup();
        state.hellos = hellos;
    }

    fn hear(&self, state: &mut State, hello: Hello) -> Result<(), &'static str> {
        let is_good = self.is_good(state, hello);
        let next = if hello.origin == 0 {
            (hello.to + 1 < self.count).then(|| hello.to + 1)
        } else {
            hello.to.checked_sub(1)
        };
        if let Some(to) = next {
            let is_echoed = is_good || !self.is_freshness_relayed;
            let echo = if is_echoed { Self::cookie(state, to) } else { None };
            Self::insert(&mut state.hellos, Hello { to, echo, ..hello });
        }
        if !is_good {
            return Ok(());
        }
        let is_shared = |session| state.ends.iter().all(|end| end.has(session));
        let recoder = &mut state.recoders[hello.to];
        let is_of_this_life = !self.is_life_claimed() || hello.lives[hello.to] == recoder.life;
        recoder.announced[hello.origin] = Some((hello.session, is_of_this_life));
        let announced = match recoder.announced {
            [Some(a), Some(b)] => [a, b],
            [Some(a), None] | [None, Some(a)] if self.is_one_enough => [a, a],
            _ => return Ok(()),
        };
        let [(session, _), (other, _)] = announced;
        if session != other || recoder.session == Some(session) {
            return Ok(());
        }
        if recoder.announced.contains(&None) {
            return Err("a recoder begins what one end has not announced");
        }
        if let Some(current) = recoder.session {
            let is_claimed = match self.claim {
                Claim::BesideBoth => true,
                Claim::Shared => is_shared(current),
                Claim::Settled => is_shared(current) && current == SETTLED,
            };
            if session < current && is_claimed {
                return Err("a recoder goes back to an older session");
            }
        }
        if self.is_life_claimed() && announced.iter().any(|(_, is_of_this_life)| !is_of_this_life) {
            return Err("a recoder begins what was announced before it began");
        }
        recoder.session = Some(session);
        if self.is_session_in_generation {
            recoder.generation += 1;
        }
        Ok(())
    }

    fn is_life_claimed(&self) -> bool {
        self.claim == Claim::BesideBoth
    }

    fn is_good(&self, state: &State, hello: Hello) -> bool {
        self.is_echo_unchecked || hello.echo == Self::cookie(state, hello.to)
    }
}

impl Model for Recoders {
    type State = State;
    type Step = Step;

    fn initial(&self) -> State {
        let recoders = [Recoder::default(); RECODERS];
        let ends = [End::default(); 2];
        let mut state = State { ends, recoders, arranged: 0, hellos: Vec::new() };
        if self.claim == Claim::Settled {
            // The ends may still confirm it or drop it, and of the session before there are
            // HELLOs whose cookies have run out.
            let (current, candidate) = (SETTLED - 1, Some(SETTLED));
            state.ends = [End { current, candidate, newest: SETTLED }; 2];
            for (origin, to) in [(0, 0), (1, self.count - 1)] {
                let old = Hello { origin, to, session: current, echo: None, lives: [0; RECODERS] };
                Self::insert(&mut state.hellos, old);
            }
        }
        self.speak(&mut state);
        state
    }

    fn steps(&self, state: &State, steps: &mut Vec<Step>) {
        if self.claim == Claim::Settled && state.arranged < self.count {
            steps.extend([None, Some(0), Some(1)].map(Step::Arrange));
            return;
        }
        // Nothing is claimed from there on.
        if self.claim == Claim::Settled && !state.ends.iter().all(|end| end.has(SETTLED)) {
            return;
        }
        let newest = state.ends[0].newest.max(state.ends[1].newest);
        for (number, end) in state.ends.iter().enumerate() {
            if newest + 1 < self.sessions {
                steps.push(Step::Next(number));
            }
            if end.newest < newest {
                steps.push(Step::Follow(number));
            }
            if end.candidate.is_some() {
                steps.push(Step::Confirm(number));
                steps.push(Step::Drop(number));
            }
        }
        for (number, recoder) in state.recoders[..self.count].iter().enumerate() {
            if recoder.life < self.restarts {
                steps.push(Step::Restart(number));
            }
        }
        steps.extend(state.hellos.iter().map(|&hello| Step::Hello(hello)));
    }

    fn apply(&self, state: &State, step: Step) -> Result<State, &'static str> {
        let mut state = state.clone();
        let newest = state.ends[0].newest.max(state.ends[1].newest);
        match step {
            Step::Next(number) => {
                let newest = newest + 1;
                state.ends[number] = End { current: newest, candidate: None, newest };
            }
            Step::Follow(number) => {
                state.ends[number].candidate = Some(newest);
                state.ends[number].newest = newest;
            }
            Step::Confirm(number) => {
                let end = &mut state.ends[number];
                end.current = end.candidate.take().unwrap_or(end.current);
            }
            Step::Drop(number) => state.ends[number].candidate = None,
            Step::Arrange(side) => {
                let recoder = &mut state.recoders[state.arranged];
                recoder.session = Some(SETTLED);
                recoder.announced = [Some((SETTLED, true)); 2];
                if let Some(side) = side {
                    recoder.announced[side] = Some((SETTLED - 1, true));
                }
                state.arranged += 1;
                return Ok(state);
            }
            Step::Hello(hello) => self.hear(&mut state, hello)?,
            Step::Restart(number) => {
                let life = state.recoders[number].life + 1;
                state.recoders[number] = Recoder { life, ..Recoder::default() };
            }
        }
        self.speak(&mut state);
        self.forget(&mut state);
        Ok(state)
    }
}

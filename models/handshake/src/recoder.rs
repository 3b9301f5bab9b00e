//! The current session at recoders between two ends.
//!
//! The attacker has no hop key. He delivers any sent HELLO to the recoder of its destination,
//! from the neighbour's address, any number of times. Sessions have numbers in the order in
//! which they begin (see [`ends`](crate::ends)). The end that asks for the next session has
//! dropped the older one for good; the other end may announce either until it has confirmed.
//! A recoder's cookie contains its life and a generation of the neighbour. The model omits moves
//! of addresses (see [`address`](crate::address)), the period of cookies (they never expire here,
//! which is weaker than the protocol), and asks and answers without a session, which only one
//! end announces.

use crate::Model;

/// Recoders in a row, at most. The first is beside end 0, the last beside end 1.
const RECODERS: usize = 3;
/// Session of all ends and recoders at the start under [`Claim::Settled`].
const SETTLED: u8 = 1;

/// The model of recoders in a row: bounds, rules and claim.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Recoders {
    /// Number of recoders in a row, 1 to 3.
    pub count: usize,
    /// Restarts of each recoder, at most.
    pub restarts: u8,
    /// Number of sessions that the ends begin, at most 8.
    pub sessions: u8,
    /// Whether a new session makes all earlier cookies void, as a move does.
    pub is_session_in_generation: bool,
    /// Whether a recoder relays a HELLO without a good hop echo with an empty one.
    pub is_freshness_relayed: bool,
    /// Whether an announcement counts without a good hop echo: a broken variant.
    pub is_echo_unchecked: bool,
    /// Whether one end's announcement is enough: a broken variant.
    pub is_one_enough: bool,
    /// Whether an end with a candidate announces only the candidate, not its current session.
    pub is_newest_announced: bool,
    /// The claim to check.
    pub claim: Claim,
}

/// A claim about recoders. Longer rows have weaker claims.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Claim {
    /// For one recoder between the ends: both ends announced its session after the recoder
    /// began, and the recoder never returns to an older session.
    BesideBoth,
    /// For two recoders in a row: no recoder drops a session of both ends for an older one.
    Shared,
    /// For any number of recoders: none returns to an older session once all have the session
    /// of both ends and the cookies from before have expired.
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
    /// Newest session that the end has begun. A key makes one session, so none begins twice.
    newest: u8,
}

impl End {
    fn has(&self, session: u8) -> bool {
        self.current == session || self.candidate == Some(session)
    }
}

/// A HELLO for a recoder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hello {
    /// The end that created the HELLO.
    origin: usize,
    /// Destination recoder of the HELLO.
    to: usize,
    session: u8,
    echo: Option<Cookie>,
    /// Lives of the recoders when the end created the HELLO: history for the claims.
    lives: [u8; RECODERS],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
struct Recoder {
    life: u8,
    generation: u8,
    /// Last session announced from the side of each end, and whether its origin announced it
    /// in this life of the recoder.
    announced: [Option<(u8, bool)>; 2],
    session: Option<u8>,
}

/// State of the ends, the recoders and the sent HELLOs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct State {
    ends: [End; 2],
    recoders: [Recoder; RECODERS],
    /// Number of recoders with chosen announcements before the run ([`Step::Arrange`]).
    arranged: usize,
    /// Sent HELLOs in ascending order.
    hellos: Vec<Hello>,
}

impl State {
    /// Whether the first recoder and both ends have the newest session.
    pub fn is_agreed(&self) -> bool {
        let newest = self.ends[0].newest.max(self.ends[1].newest);
        let is_last = |end: &End| end.current == newest;
        newest > 0 && self.ends.iter().all(is_last) && self.recoders[0].session == Some(newest)
    }
}

/// An event of an end, a recoder or the attacker.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Step {
    /// The end drops its session and begins the next one.
    Next(usize),
    /// The end begins the newest session of the other end as a candidate.
    Follow(usize),
    /// The end confirms its candidate.
    Confirm(usize),
    /// The end drops its candidate.
    Drop(usize),
    /// A HELLO arrives at its destination.
    Hello(Hello),
    /// The recoder restarts.
    Restart(usize),
    /// Before the run: the next recoder last received the older session from the side of this
    /// end. With `None` it received the settled session from both sides.
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

    /// Sends the announcements of both ends, with the cookie of the recoder beside each.
    fn speak(&self, state: &mut State) {
        for origin in 0..2 {
            let to = if origin == 0 { 0 } else { self.count - 1 };
            let End { current, candidate, .. } = state.ends[origin];
            let is_current_said = candidate.is_none() || !self.is_newest_announced;
            let echo = Self::cookie(state, to);
            // Only one claim needs the lives; a constant keeps the number of states small.
            let life = |recoder: Recoder| if self.is_life_claimed() { recoder.life } else { 0 };
            let lives = state.recoders.map(life);
            for session in is_current_said.then_some(current).into_iter().chain(candidate) {
                let hello = Hello { origin, to, session, echo, lives };
                Self::insert(&mut state.hellos, hello);
            }
        }
    }

    /// Removes irrelevant details, so that equivalent states become equal. A void cookie has the
    /// same effect as none. If the empty echo is relayed, a HELLO without a cookie has no effect.
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
            // The ends may still confirm or drop the settled session. HELLOs of the session
            // before exist, with expired cookies.
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
        // The claim ends when an end drops the settled session.
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

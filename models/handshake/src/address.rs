//! Where a node takes its neighbour to be: cookies, generations, moves.
//!
//! One node and one neighbour, which is at one of two places and moves between them; a third
//! place is the attacker's. A cookie is HMAC(secret of the node, place || sender ||
//! generation): whoever is told it can say it and nobody can guess it. The attacker sends
//! any HELLO that was ever said, from any place. Left out: the period (a cookie never runs
//! out here, which is worse than the protocol), the sender in the cookie (one neighbour),
//! who is asked by a CALL (every place is, at any time), losses and budgets.

use crate::Model;

/// The neighbour's places, then the attacker's.
const PLACES: u8 = 3;
const ATTACKERS: u8 = 2;
/// Moves of the address in one life of the node.
const MOVES: u8 = 4;
/// Lives of the node.
const LIVES: u8 = 2;

/// A rule that is broken on purpose.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Broken {
    /// None: the protocol.
    Nothing,
    /// Any HELLO moves the address.
    EchoUnchecked,
    /// A cookie is good for any place.
    PlaceUnbound,
    /// A cookie is good after a move.
    NoGeneration,
    /// The node's secret outlives a restart.
    SecretKept,
    /// The neighbour answers a CALL to the address that the CALL came from.
    CallAnsweredAnywhere,
}

/// Who attacks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Attacker {
    /// Has no hop key, but all wires: brings any CALL to the neighbour and any HELLO of it
    /// to the node.
    Relay,
    /// Has the hop key, and sees what is sent to its own place; no other wire.
    Insider,
    /// Has no hop key and no wire: sends what it has recorded, also to the neighbour and from
    /// any address, and sees what is sent to its own place.
    Beside,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Cookie {
    place: u8,
    generation: u8,
    life: u8,
}

/// A HELLO of the neighbour, or one that the attacker forges in its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hello {
    /// The hop echo.
    cookie: Cookie,
    /// Moves of the address before it was said, restarts among them: history.
    moves: u8,
}

/// The node, its neighbour and what was said.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct State {
    /// The neighbour's.
    place: u8,
    address: u8,
    generation: u8,
    life: u8,
    /// Moves of the address in all lives, restarts among them: history.
    moves: u8,
    /// Sorted.
    hellos: Vec<Hello>,
}

impl State {
    /// Whether the node takes the neighbour to be where it is, after a move.
    pub fn has_followed(&self) -> bool {
        self.generation > 0 && self.address == self.place
    }
}

/// An event.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Step {
    /// The neighbour goes to this place.
    Go(u8),
    /// A HELLO arrives from this place.
    Hello {
        /// What is said.
        hello: Hello,
        /// Its source address.
        from: u8,
    },
    /// The node restarts; it is told the first place again.
    Restart,
}

/// The model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Address {
    /// The rule that is broken.
    pub broken: Broken,
    /// Who attacks.
    pub attacker: Attacker,
}

impl Address {
    /// CALLs go to every place; who hears one and can answer it does.
    fn speak(&self, state: &mut State) {
        for place in 0..PLACES {
            let is_told = match self.attacker {
                Attacker::Relay => true,
                Attacker::Insider => place == state.place || place == ATTACKERS,
                // It passes on the CALL that it got. The answer goes to where the neighbour
                // takes the node to be, unless that rule is broken.
                Attacker::Beside => {
                    let is_told = self.broken == Broken::CallAnsweredAnywhere;
                    place == state.place || place == ATTACKERS && is_told
                }
            };
            let cookie = Cookie { place, generation: state.generation, life: state.life };
            let hello = Hello { cookie, moves: state.moves };
            if let (true, Err(at)) = (is_told, state.hellos.binary_search(&hello)) {
                state.hellos.insert(at, hello);
            }
        }
    }

    fn is_good(&self, state: &State, cookie: Cookie, from: u8) -> bool {
        match self.broken {
            Broken::EchoUnchecked => true,
            broken => {
                (cookie.place == from || broken == Broken::PlaceUnbound)
                    && (cookie.generation == state.generation || broken == Broken::NoGeneration)
                    && (cookie.life == state.life || broken == Broken::SecretKept)
            }
        }
    }
}

impl Model for Address {
    type State = State;
    type Step = Step;

    fn initial(&self) -> State {
        let hellos = Vec::new();
        let mut state = State { place: 0, address: 0, generation: 0, life: 0, moves: 0, hellos };
        self.speak(&mut state);
        state
    }

    fn steps(&self, state: &State, steps: &mut Vec<Step>) {
        steps.push(Step::Go(1 - state.place));
        if state.life + 1 < LIVES {
            steps.push(Step::Restart);
        }
        for &hello in &state.hellos {
            for from in 0..PLACES {
                // Where it is taken to be already, nothing moves.
                let is_move = from != state.address && state.generation < MOVES;
                if is_move && self.is_good(state, hello.cookie, from) {
                    steps.push(Step::Hello { hello, from });
                }
            }
        }
    }

    fn apply(&self, state: &State, step: Step) -> Result<State, &'static str> {
        let mut state = state.clone();
        match step {
            Step::Go(place) => state.place = place,
            Step::Restart => {
                (state.address, state.generation) = (0, 0);
                state.life += 1;
                state.moves += 1;
            }
            Step::Hello { hello, from } => {
                if hello.cookie.place != from {
                    return Err("an address moves to where the cookie was not sent");
                }
                if hello.moves != state.moves {
                    return Err("an address moves on what was said before its last move");
                }
                if self.attacker == Attacker::Beside && from == ATTACKERS {
                    return Err("an address moves to one who is on no wire");
                }
                state.address = from;
                state.generation += 1;
                state.moves += 1;
            }
        }
        self.speak(&mut state);
        Ok(state)
    }
}

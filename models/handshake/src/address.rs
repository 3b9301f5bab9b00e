//! The address that a node stores for its neighbour: cookies, generations and moves.
//!
//! The model has one node and one neighbour. The neighbour is at one of two places and moves
//! between them; the attacker has a third place. A cookie is HMAC(secret of the node, place ||
//! sender || generation): its receivers can repeat it, and no one can guess it. The attacker
//! sends any recorded HELLO from any place. The model omits the period of cookies (they never
//! expire here, which is weaker than the protocol), the sender in the cookie (there is one
//! neighbour), the choice of places for a CALL (every place gets one at any time), losses and
//! budgets.

use crate::Model;

/// Number of places: two of the neighbour, then the attacker's.
const PLACES: u8 = 3;
/// Place of the attacker.
const ATTACKERS: u8 = 2;
/// Moves of the address in one life of the node, at most.
const MOVES: u8 = 4;
/// Lives of the node: one more than its restarts.
const LIVES: u8 = 2;

/// A deliberately broken rule. A search of the variant must find an attack.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Broken {
    /// The protocol without a broken rule.
    Nothing,
    /// The node accepts any HELLO as a move of the address.
    EchoUnchecked,
    /// The node accepts a cookie from any place.
    PlaceUnbound,
    /// The node accepts a cookie after a move.
    NoGeneration,
    /// The node keeps its secret across a restart.
    SecretKept,
    /// The neighbour answers a CALL to its source address.
    CallAnsweredAnywhere,
}

/// Abilities of the attacker.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Attacker {
    /// The attacker controls all wires and has no hop key. He brings any CALL to the neighbour
    /// and any HELLO of the neighbour to the node.
    Relay,
    /// The attacker has the hop key, and receives only datagrams to his own place.
    Insider,
    /// The attacker has no hop key and controls no wire. He sends recorded datagrams from any
    /// address, also to the neighbour, and receives datagrams to his own place.
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
    /// Cookie in the field `hop_echo`.
    cookie: Cookie,
    /// Moves and restarts before the neighbour sent the HELLO: history for the claims.
    moves: u8,
}

/// State of the node, its neighbour and the sent HELLOs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct State {
    /// Place of the neighbour.
    place: u8,
    /// Place that the node stores for the neighbour.
    address: u8,
    generation: u8,
    life: u8,
    /// Moves and restarts in all lives: history for the claims.
    moves: u8,
    /// Sent HELLOs in ascending order.
    hellos: Vec<Hello>,
}

impl State {
    /// Whether the address is the neighbour's place after at least one move.
    pub fn has_followed(&self) -> bool {
        self.generation > 0 && self.address == self.place
    }
}

/// An event of the node, the neighbour or the attacker.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Step {
    /// The neighbour moves to this place.
    Go(u8),
    /// A HELLO of the neighbour arrives at the node.
    Hello {
        /// The received HELLO.
        hello: Hello,
        /// Source address of the datagram.
        from: u8,
    },
    /// The node restarts with the neighbour's first place as configured address.
    Restart,
}

/// The model of one node's address for its neighbour.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Address {
    /// The rule that is broken, if any.
    pub broken: Broken,
    /// Abilities of the attacker.
    pub attacker: Attacker,
}

impl Address {
    /// Sends CALLs to every place, and records the HELLOs that answer them.
    fn speak(&self, state: &mut State) {
        for place in 0..PLACES {
            let is_told = match self.attacker {
                Attacker::Relay => true,
                Attacker::Insider => place == state.place || place == ATTACKERS,
                // The attacker forwards a CALL that arrived at his place. The neighbour answers
                // to its stored address of the node, unless that rule is broken.
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
                // A HELLO from the stored address moves nothing.
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

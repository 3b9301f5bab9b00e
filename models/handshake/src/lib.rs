//! Exhaustive search of FRANC's handshake (version 2) within small bounds, against an attacker.
//!
//! The search is a bounded Dolev-Yao analysis. The cryptography is perfect, and the attacker
//! delivers every sent message at any time, any number of times, or never. A model defines the
//! states, the possible steps in a state, and the claims. [`explore`] visits every reachable
//! state breadth first, so the run of a reported attack is a shortest one. All quantities are
//! counts. The models omit time, lengths, budgets and bytes; [`ends`], [`address`] and
//! [`recoder`] list further omissions.

#![forbid(unsafe_code)]

pub mod address;
pub mod ends;
pub mod recoder;

use std::collections::BTreeMap;
use std::fmt::Debug;

/// A transition system: an initial state, the possible steps, and the claims about them.
pub trait Model {
    /// State of the system, and the part of the history that the claims refer to.
    type State: Clone + Ord;
    /// An event that leads from one state to another.
    type Step: Copy + Debug;

    /// Returns the first state of every run.
    fn initial(&self) -> Self::State;
    /// Appends the possible steps in `state` to `steps`.
    fn steps(&self, state: &Self::State, steps: &mut Vec<Self::Step>);
    /// Returns the state after `step`, or the claim that the step violates.
    fn apply(&self, state: &Self::State, step: Self::Step) -> Result<Self::State, &'static str>;
}

/// Result of a search.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome<Step> {
    /// No reachable state violates a claim.
    Holds {
        /// Number of reachable states.
        states: usize,
    },
    /// A step violates a claim.
    Attack {
        /// Description of the violation.
        violation: &'static str,
        /// Steps of a shortest such run; the last one is the violation.
        run: Vec<Step>,
    },
}

impl<Step: Debug> Outcome<Step> {
    /// Returns the number of reachable states. Panics with the run if the search found an attack.
    #[track_caller]
    pub fn states(&self) -> usize {
        match self {
            Self::Holds { states } => *states,
            Self::Attack { violation, run } => panic!("{violation}: {run:#?}"),
        }
    }

    /// Returns the description of the violation. Panics if the search found no attack.
    #[track_caller]
    pub fn violation(&self) -> &'static str {
        match self {
            Self::Holds { states } => panic!("no attack was found in {states} states"),
            Self::Attack { violation, .. } => violation,
        }
    }
}

type Reached<M> = (<M as Model>::State, Option<(usize, <M as Model>::Step)>);

/// Visits every reachable state of `model`, calls `visit` for each, and stops at a violation.
/// Panics at more than `states_max` states, because an incomplete search proves nothing.
pub fn explore<M: Model>(
    model: &M,
    states_max: usize,
    mut visit: impl FnMut(&M::State),
) -> Outcome<M::Step> {
    let mut numbers = BTreeMap::new();
    // By number: the state, with the number of its predecessor and the step from there.
    let mut reached: Vec<Reached<M>> = Vec::new();
    let initial = model.initial();
    numbers.insert(initial.clone(), 0);
    reached.push((initial, None));
    let mut steps = Vec::new();
    let mut number = 0;
    while number < reached.len() {
        let state = reached[number].0.clone();
        visit(&state);
        steps.clear();
        model.steps(&state, &mut steps);
        for &step in &steps {
            match model.apply(&state, step) {
                Ok(next) => {
                    if !numbers.contains_key(&next) {
                        numbers.insert(next.clone(), reached.len());
                        reached.push((next, Some((number, step))));
                        assert!(reached.len() <= states_max, "more than {states_max} states");
                    }
                }
                Err(violation) => {
                    let mut run = vec![step];
                    let mut last = number;
                    while let Some((before, step)) = reached[last].1 {
                        run.push(step);
                        last = before;
                    }
                    run.reverse();
                    return Outcome::Attack { violation, run };
                }
            }
        }
        number += 1;
    }
    Outcome::Holds { states: reached.len() }
}

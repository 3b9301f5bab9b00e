//! Every run of FRANC's handshake (version 2) within small bounds, against an attacker.
//!
//! A bounded Dolev-Yao search: the cryptography is perfect, every message that was ever
//! said can be delivered at any time, any number of times, or never. A model is a state, the
//! steps that are possible in it, and what must hold; [`explore`] goes through every state
//! that can be reached, breadth first, so that the run it shows is a shortest one. No units.
//! Left out: time, lengths, budgets and bytes; [`ends`], [`address`] and [`recoder`] say what
//! else.

#![forbid(unsafe_code)]

pub mod address;
pub mod ends;
pub mod recoder;

use std::collections::BTreeMap;
use std::fmt::Debug;

/// Something that takes steps.
pub trait Model {
    /// All that decides what can follow, and the history that the checks need.
    type State: Clone + Ord;
    /// One event.
    type Step: Copy + Debug;

    /// The state that every run begins in.
    fn initial(&self) -> Self::State;
    /// Appends the steps that are possible in `state`.
    fn steps(&self, state: &Self::State, steps: &mut Vec<Self::Step>);
    /// The state after `step`, or what the step violates.
    fn apply(&self, state: &Self::State, step: Self::Step) -> Result<Self::State, &'static str>;
}

/// What went through all states.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome<Step> {
    /// Nothing is violated in any of this number of states.
    Holds {
        /// States.
        states: usize,
    },
    /// A shortest run that violates something.
    Attack {
        /// What is violated.
        violation: &'static str,
        /// The steps, the violating one last.
        run: Vec<Step>,
    },
}

impl<Step: Debug> Outcome<Step> {
    /// The number of states; panics with the run if there is an attack.
    #[track_caller]
    pub fn states(&self) -> usize {
        match self {
            Self::Holds { states } => *states,
            Self::Attack { violation, run } => panic!("{violation}: {run:#?}"),
        }
    }

    /// What is violated; panics if nothing is.
    #[track_caller]
    pub fn violation(&self) -> &'static str {
        match self {
            Self::Holds { states } => panic!("no attack was found in {states} states"),
            Self::Attack { violation, .. } => violation,
        }
    }
}

type Reached<M> = (<M as Model>::State, Option<(usize, <M as Model>::Step)>);

/// Goes through every state of `model` that can be reached and calls `visit` in each.
/// Panics at more than `states_max` states: a search that ends early proves nothing.
pub fn explore<M: Model>(
    model: &M,
    states_max: usize,
    mut visit: impl FnMut(&M::State),
) -> Outcome<M::Step> {
    let mut numbers = BTreeMap::new();
    // By number: the state, and from which one and by which step it was reached first.
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

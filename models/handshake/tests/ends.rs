//! Claims about two ends in every run within the bounds. The search finds each broken rule.

#![expect(clippy::print_stdout, reason = "states and attacks, shown with --nocapture")]

use lasthop_model_handshake::ends::{Broken, Ends};
use lasthop_model_handshake::{Outcome, explore};

/// Limit above the protocol's states at its bounds. A larger model panics.
const STATES_MAX: usize = 6_000_000;

#[track_caller]
fn holds(keys: u8, restarts: u8) {
    let mut agreed = 0;
    let mut settled = 0;
    let ends = Ends { keys, restarts, broken: Broken::Nothing, is_passive: false };
    let states = explore(&ends, STATES_MAX, |state| {
        agreed += usize::from(Ends::is_agreed(state));
        if let Some(settles) = ends.settles(state) {
            assert!(settles, "both ends are stuck: {state:?}");
            settled += 1;
        }
    })
    .states();
    println!("{states} states, both ends agreed in {agreed}; {settled} settle when left alone");
    assert!(agreed > 0 && settled > 0);
}

#[test]
fn the_protocol_holds_in_every_run() {
    holds(3, 2);
}

#[test]
#[ignore = "takes half a minute and 2 GB"]
fn the_protocol_holds_in_every_longer_run() {
    holds(4, 1);
}

#[track_caller]
fn breaks(broken: Broken, violation: &str) {
    // For violations that require K, the search looks for the attack that ends cannot notice.
    let is_passive = violation == OPENS;
    let outcome = explore(&Ends { keys: 3, restarts: 1, broken, is_passive }, STATES_MAX, |_| ());
    assert_eq!(outcome.violation(), violation);
    if let Outcome::Attack { run, .. } = outcome {
        println!("{broken:?}: {violation}: {run:?}");
    }
}

const NOT_ANSWERED: &str = "a candidate begins on what the other end did not answer to this key";
const SEALS_TWICE: &str = "a key and a nonce seal twice";
const NOT_BEGUN: &str = "an end confirms what the other end has not begun";
const OPENS: &str = "K opens what was sealed before it was known";
const GOES_BACK: &str = "an end goes back to an older session";

#[test]
fn an_ask_must_not_be_fresh() {
    breaks(Broken::AskIsFresh, NOT_ANSWERED);
}

#[test]
fn the_echo_must_be_compared() {
    breaks(Broken::EchoUnchecked, NOT_ANSWERED);
}

#[test]
fn an_ephemeral_key_makes_one_session() {
    breaks(Broken::EphemeralUsedAgain, SEALS_TWICE);
}

#[test]
fn a_candidate_needs_a_pulse() {
    breaks(Broken::ConfirmedAtOnce, NOT_BEGUN);
}

#[test]
fn the_secret_must_bind_both_keys() {
    breaks(Broken::OneKeyBound, SEALS_TWICE);
}

#[test]
fn each_direction_needs_its_own_key() {
    breaks(Broken::OneKeyForBothDirections, NOT_BEGUN);
}

#[test]
fn the_secret_needs_the_exchange() {
    breaks(Broken::NoExchange, OPENS);
}

#[test]
fn a_replaced_session_must_be_erased() {
    breaks(Broken::OlderKept, GOES_BACK);
}

#[test]
fn a_replaced_candidate_must_be_erased() {
    breaks(Broken::CandidateKept, GOES_BACK);
}

#[test]
fn a_restarted_end_needs_a_new_key() {
    breaks(Broken::SameKeyAfterRestart, SEALS_TWICE);
}

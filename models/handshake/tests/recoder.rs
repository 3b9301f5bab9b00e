//! Claims about recoders in every run within the bounds. The search finds each broken rule.

#![expect(clippy::print_stdout, reason = "states and attacks, shown with --nocapture")]

use lasthop_model_handshake::explore;
use lasthop_model_handshake::recoder::{Claim, Recoders};

const STATES_MAX: usize = 1_000_000;
const GOES_BACK: &str = "a recoder goes back to an older session";
const BEFORE_IT_BEGAN: &str = "a recoder begins what was announced before it began";
const ONE_END: &str = "a recoder begins what one end has not announced";

/// One recoder with all rules. `is_session_in_generation`, `is_freshness_relayed` and
/// `is_newest_announced` are additions to the draft of version 2. The tests below show the
/// attacks without them.
const ONE: Recoders = Recoders {
    count: 1,
    restarts: 2,
    sessions: 3,
    is_session_in_generation: true,
    is_freshness_relayed: true,
    is_newest_announced: true,
    is_echo_unchecked: false,
    is_one_enough: false,
    claim: Claim::BesideBoth,
};
const TWO: Recoders = Recoders { count: 2, restarts: 1, sessions: 2, claim: Claim::Shared, ..ONE };
const THREE: Recoders =
    Recoders { count: 3, restarts: 1, sessions: 3, claim: Claim::Settled, ..ONE };

#[track_caller]
fn holds(recoders: Recoders) {
    let mut agreed = 0;
    let outcome = explore(&recoders, STATES_MAX, |state| agreed += usize::from(state.is_agreed()));
    println!("{} states, all agreed on a new session in {agreed}", outcome.states());
    assert!(agreed > 0);
}

#[track_caller]
fn breaks(recoders: Recoders, violation: &str) {
    let outcome = explore(&recoders, STATES_MAX, |_| ());
    println!("{outcome:?}");
    assert_eq!(outcome.violation(), violation);
}

#[test]
fn one_recoder_has_what_both_ends_announced_and_never_goes_back() {
    holds(ONE);
}

#[test]
fn two_recoders_do_not_go_back_from_what_the_ends_share() {
    holds(TWO);
    holds(Recoders { restarts: 0, sessions: 3, ..TWO });
}

#[test]
fn three_recoders_do_not_go_back_once_all_are_there() {
    holds(THREE);
}

#[test]
fn a_new_session_must_void_the_cookies_of_before() {
    breaks(Recoders { is_session_in_generation: false, ..ONE }, GOES_BACK);
    breaks(Recoders { is_session_in_generation: false, ..TWO }, GOES_BACK);
}

#[test]
fn a_stale_hello_must_not_be_relayed_as_fresh() {
    breaks(Recoders { is_freshness_relayed: false, ..THREE }, GOES_BACK);
}

#[test]
fn an_end_must_not_announce_the_older_session_beside_the_newer() {
    breaks(Recoders { is_newest_announced: false, ..TWO }, GOES_BACK);
}

#[test]
fn an_announcement_needs_a_good_hop_echo() {
    breaks(Recoders { is_echo_unchecked: true, ..ONE }, BEFORE_IT_BEGAN);
}

#[test]
fn both_ends_must_announce() {
    breaks(Recoders { is_one_enough: true, ..ONE }, ONE_END);
}

// Claims that fail. These tests pin them, so that no code relies on them.

#[test]
fn beside_another_recoder_an_announcement_may_be_from_before() {
    breaks(Recoders { claim: Claim::BesideBoth, ..TWO }, BEFORE_IT_BEGAN);
}

#[test]
fn one_who_withholds_hellos_brings_the_middle_of_three_back() {
    breaks(Recoders { restarts: 0, sessions: 2, claim: Claim::Shared, ..THREE }, GOES_BACK);
}

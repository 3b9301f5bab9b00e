//! Claims about addresses in every run within the bounds. The search finds each broken rule.

#![expect(clippy::print_stdout, reason = "states and attacks, shown with --nocapture")]

use lasthop_model_handshake::address::{Address, Attacker, Broken};
use lasthop_model_handshake::explore;

const STATES_MAX: usize = 1_000_000;
const NOT_SENT: &str = "an address moves to where the cookie was not sent";
const BEFORE: &str = "an address moves on what was said before its last move";

#[test]
fn the_protocol_holds_in_every_run() {
    for attacker in [Attacker::Relay, Attacker::Insider, Attacker::Beside] {
        let address = Address { broken: Broken::Nothing, attacker };
        let mut followed = 0;
        let outcome = explore(&address, STATES_MAX, |state| {
            followed += usize::from(state.has_followed());
        });
        println!("{attacker:?}: {} states, {followed} after a move", outcome.states());
        assert!(followed > 0);
    }
}

#[track_caller]
fn breaks(broken: Broken, violation: &str) {
    for attacker in [Attacker::Relay, Attacker::Insider] {
        let outcome = explore(&Address { broken, attacker }, STATES_MAX, |_| ());
        println!("{outcome:?}");
        assert_eq!(outcome.violation(), violation);
    }
}

#[test]
fn an_unfresh_hello_must_not_move_an_address() {
    breaks(Broken::EchoUnchecked, NOT_SENT);
}

#[test]
fn a_cookie_must_name_the_place() {
    breaks(Broken::PlaceUnbound, NOT_SENT);
}

#[test]
fn a_cookie_must_name_the_generation() {
    breaks(Broken::NoGeneration, BEFORE);
}

#[test]
fn a_restarted_node_needs_a_new_secret() {
    breaks(Broken::SecretKept, BEFORE);
}

#[test]
fn a_call_must_be_answered_where_the_node_is_known_to_be() {
    let address = Address { broken: Broken::CallAnsweredAnywhere, attacker: Attacker::Beside };
    let outcome = explore(&address, STATES_MAX, |_| ());
    println!("{outcome:?}");
    assert_eq!(outcome.violation(), "an address moves to one who is on no wire");
}

//! Encoder and helper by the rules of the authors' programs (netmix 902fc60 of January and 94897df
//! of March 2014), against traces worked out by hand from these rules. In a trace each number is
//! the packets that follow one event. Budgets in the programs are decremented after each packet,
//! and packets follow while at least one is left; the first follows in any case.

#![allow(clippy::unwrap_used, reason = "a test that unwraps fails, which is its job")]

use lasthop_franc::config::{Helping, Losses, Spending, WaitStart};
use lasthop_franc::paper::{
    Encoder, Helper, HelperParameters, HelperState, PaperParameters, State,
};
use lasthop_franc::wire::{Ack, BlockReport, Enc};
use lasthop_franc::{Coded, CodedVector};
use lasthop_rlnc::{Code, Field, Vector};
use lasthop_units::{Duration, Instant, Machine, Probability, Seed};

const TIMEOUT: Duration = Duration::from_millis(20);

fn losses(e1: f64, e2: f64, e3: f64) -> Losses {
    let p = |p| Probability::new(p).unwrap();
    Losses { e1: p(e1), e2: p(e2), e3: p(e3) }
}

/// A systematic encoder without a helper or losses, whose credit is the overshoot.
fn encoder(symbols: u16, credit: f64, spend: Spending, timeout_packets: Option<u8>) -> Encoder {
    let code = Code::new(Field::Gf256, symbols, 4).unwrap();
    let parameters = PaperParameters {
        losses: losses(0.0, 0.0, 0.0),
        helpers: 0,
        overshoot: credit,
        margin: None,
        timeout: TIMEOUT,
        systematic: true,
        timeout_packets,
        spend,
        wait: WaitStart::Program,
    };
    Encoder::new(code, &parameters, Seed::new(1, 0).stream("encoder"))
}

fn january(symbols: u16, credit: f64) -> Encoder {
    encoder(symbols, credit, Spending::January, None)
}

fn march(symbols: u16, credit: f64) -> Encoder {
    encoder(symbols, credit, Spending::March, Some(5))
}

fn drain(encoder: &mut Encoder, now: Instant) -> Vec<Coded> {
    core::iter::from_fn(|| encoder.poll_transmit(now)).collect()
}

/// Adds symbols; returns the packets after each.
fn push(encoder: &mut Encoder, symbols: u16) -> Vec<usize> {
    let mut sent = Vec::new();
    for _ in 0..symbols {
        encoder.push(Instant::ZERO, &[7]).unwrap();
        sent.push(drain(encoder, Instant::ZERO).len());
    }
    sent
}

/// Lets timeouts pass; returns the packets after each.
fn time_out(encoder: &mut Encoder, times: usize) -> Vec<usize> {
    let mut sent = Vec::new();
    for _ in 0..times {
        let (at, _) = encoder.poll_timeout().unwrap();
        encoder.handle_timeout(at);
        sent.push(drain(encoder, at).len());
    }
    sent
}

fn ack(block: u32, rank: u16) -> Ack {
    let report = BlockReport { block, rank, ..BlockReport::default() };
    Ack { done: block, blocks: vec![report], ..Ack::default() }
}

#[test]
fn januarys_encoder_spends_the_credit_of_each_symbol() {
    // The budget after each: 0.25, 0.5, 0.75, and 2 - 2.
    assert_eq!(push(&mut january(4, 1.25), 4), [1, 1, 1, 2]);
    assert_eq!(push(&mut january(3, 2.0), 3), [2, 2, 2]);
    // 1.5, 3, 4.5: no whole packets at the end of the block.
    assert_eq!(push(&mut january(3, 1.5), 3), [1, 2, 1]);
    // The block of the paper: a second packet after each twentieth symbol.
    let sent = push(&mut january(150, 1.0625), 150);
    assert_eq!(sent.iter().sum::<usize>(), 159, "1.0625 of 150 is 159.375");
    assert!(sent.iter().enumerate().all(|(at, &count)| count == 1 + usize::from(at % 16 == 15)));
}

#[test]
fn marchs_encoder_keeps_credits_for_the_end_of_the_block() {
    assert_eq!(push(&mut march(4, 1.25), 4), [1, 1, 1, 2]);
    assert_eq!(push(&mut march(3, 2.0), 3), [1, 1, 4]);
    assert_eq!(push(&mut march(3, 1.5), 3), [1, 1, 2]);
    let sent = push(&mut march(150, 1.0625), 150);
    assert_eq!((sent[148], sent[149]), (1, 10), "159.375 less 149");
    // All symbols are sent as they are first, and combinations at the end have all of them.
    let mut encoder = march(3, 2.0);
    push(&mut encoder, 2);
    encoder.push(Instant::ZERO, &[7]).unwrap();
    let last = drain(&mut encoder, Instant::ZERO);
    assert_eq!(last[0].vector, CodedVector::Source(2));
    for coded in &last[1..] {
        assert!(matches!(coded.vector, CodedVector::Seeded { first: 0, count: 3, .. }));
    }
}

#[test]
fn timeouts_of_january_grant_a_credit_and_those_of_march_five_packets() {
    let mut encoder = january(4, 1.25);
    assert_eq!(push(&mut encoder, 1), [1]);
    // 0.25 is left; then 1.5 - 1, 1.75 - 1, 2 - 2, 1.25 - 1.
    assert_eq!(time_out(&mut encoder, 4), [1, 1, 2, 1]);
    let mut encoder = march(4, 1.25);
    assert_eq!(push(&mut encoder, 1), [1]);
    assert_eq!(time_out(&mut encoder, 3), [5, 5, 5]);
    // The budget is as it was.
    assert_eq!(push(&mut encoder, 3), [1, 1, 2]);
}

#[test]
fn an_acknowledgement_of_all_symbols_so_far_leaves_the_budget() {
    for (mut encoder, first, rest) in
        [(january(4, 1.75), [1, 2], [2, 2]), (march(4, 1.75), [1, 1], [1, 4])]
    {
        assert_eq!(push(&mut encoder, 2), first);
        encoder.handle_ack(Instant::ZERO, &ack(0, 2));
        assert_eq!((encoder.state(), encoder.poll_timeout()), (State::Idle, None));
        assert_eq!(push(&mut encoder, 2), rest, "7 in all");
        // The next block begins without.
        encoder.handle_ack(Instant::ZERO, &ack(0, 4));
        assert_eq!((encoder.block(), encoder.state()), (1, State::Idle));
        assert_eq!(push(&mut encoder, 2), first);
    }
}

#[test]
fn the_wait_begins_at_the_last_event() {
    let at = |ms| Instant::ZERO + Duration::from_millis(ms);
    let mut encoder = march(4, 1.25);
    push(&mut encoder, 1);
    assert_eq!(encoder.poll_timeout().unwrap().0, at(20));
    encoder.handle_arrival(at(15));
    assert_eq!(encoder.poll_timeout().unwrap().0, at(35));
    encoder.handle_ack(at(15), &ack(0, 1));
    encoder.handle_arrival(at(16));
    assert_eq!(encoder.poll_timeout(), None, "nothing is missing");
}

/// A helper of blocks of eight.
fn helper(losses: Losses) -> Helper {
    let parameters = HelperParameters {
        losses,
        helpers: 1,
        margin: None,
        blocks_max: 1,
        published: true,
        help: Helping::Program,
    };
    let code = Code::new(Field::Gf256, 8, 4).unwrap();
    Helper::new(code, &parameters, Seed::new(1, 0).stream("helper"))
}

/// Lets it hear these symbols of a block; the packets after each.
fn hear(helper: &mut Helper, block: u32, symbols: &[u64]) -> Vec<usize> {
    let mut sent = Vec::new();
    for &symbol in symbols {
        let vector = Vector::Source(symbol);
        helper.handle_enc(Instant::ZERO, &Enc { block, oldest: block, vector, payload: &[5] });
        sent.push(core::iter::from_fn(|| helper.poll_transmit(Instant::ZERO)).count());
    }
    sent
}

/// With losses of 0, 0 and 40 %: r = 8 * 0.6 = 4.8, the threshold is 4.8, the credit 1 and the
/// budget (8 - 0.6 * 4.8) / 1.6 = 3.2, so the fourth packet is the last.
#[test]
fn the_helper_sends_something_for_each_packet_from_the_threshold_on() {
    let of = || helper(losses(0.0, 0.0, 0.4));
    assert_eq!(hear(&mut of(), 0, &[0, 1, 2, 3, 4, 5, 6, 7, 7, 7]), [0, 0, 0, 0, 1, 1, 1, 1, 0, 0]);
    // Redundant packets count too, and only those above the threshold.
    assert_eq!(hear(&mut of(), 0, &[0, 1, 2, 3, 3, 4, 4, 4, 5, 6]), [0, 0, 0, 0, 0, 1, 1, 1, 1, 0]);
}

/// With losses of 50 %, 0 and 50 %: r = 8 * 0.75 / 0.75 = 8, the threshold is 4, the credit 2 and
/// the budget (8 - 0.5 * 8) / 1.5 = 2.67.
#[test]
fn the_helper_owes_for_a_packet_in_advance() {
    let mut helper = helper(losses(0.5, 0.0, 0.5));
    // At the threshold one without a credit, which leaves -1; then 1 - 1, and 2 - 2.
    assert_eq!(hear(&mut helper, 0, &[0, 1, 2, 3, 4, 5, 6, 7]), [0, 0, 0, 1, 1, 2, 0, 0]);
    assert_eq!(helper.state(), HelperState::Idle);
}

#[test]
fn the_first_packet_of_a_block_announces_it() {
    let mut helper = helper(losses(0.0, 0.0, 0.4));
    assert_eq!(hear(&mut helper, 0, &[0, 1, 2, 3, 4]), [0, 0, 0, 0, 1]);
    assert_eq!(hear(&mut helper, 1, &[0, 1, 2, 3, 4, 5]), [0, 0, 0, 0, 0, 1]);
    // An acknowledgement does not end its work.
    helper.handle_ack(Instant::ZERO, &ack(1, 8));
    assert_eq!(hear(&mut helper, 1, &[6]), [1]);
}

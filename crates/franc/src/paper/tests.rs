//! The machines as tables: what each event does in each state.

use super::*;
use crate::coded::{Coded, CodedVector};
use crate::config::{AckRules, Helping};
use crate::wire::{Ack, BlockReport, Enc};
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt::Write;
use lasthop_rlnc::{Field, Vector};
use lasthop_units::{Instant, Machine, Probability, Seed};

/// An event at a machine.
type Handle<M> = fn(&mut M, Instant);

const TIMEOUT: Duration = Duration::from_millis(20);

fn losses(e1: f64, e2: f64, e3: f64) -> Losses {
    let p = |p| Probability::new(p).unwrap();
    Losses { e1: p(e1), e2: p(e2), e3: p(e3) }
}

/// Blocks of three symbols, and two packets for each.
fn encoder(systematic: bool) -> Encoder {
    let code = Code::new(Field::Gf256, 3, 4).unwrap();
    let parameters = PaperParameters {
        losses: losses(0.0, 0.0, 0.5),
        helpers: 0,
        overshoot: 1.0,
        margin: None,
        timeout: TIMEOUT,
        systematic,
        timeout_packets: None,
        spend: Spending::Text,
        wait: WaitStart::Text,
    };
    Encoder::new(code, &parameters, Seed::new(1, 0).stream("encoder"))
}

/// The decoder's acknowledgement: it has `rank` of `block`.
fn ack(block: u32, rank: u16) -> Ack {
    match rank {
        3.. => Ack { done: block + 1, ..Ack::default() },
        _ => {
            let report = BlockReport { block, rank, ..BlockReport::default() };
            Ack { done: block, blocks: vec![report], ..Ack::default() }
        }
    }
}

fn drain(encoder: &mut Encoder, now: Instant) -> Vec<Coded> {
    core::iter::from_fn(|| encoder.poll_transmit(now)).collect()
}

/// All states of an encoder, each by the events that lead to it.
fn states() -> Vec<(&'static str, Encoder)> {
    let now = Instant::ZERO;
    let idle = encoder(false);
    let mut enc = idle.clone();
    enc.push(now, &[1]).unwrap();
    let mut wait = enc.clone();
    drain(&mut wait, now);
    let mut idle_partial = wait.clone();
    idle_partial.handle_ack(now, &ack(0, 1));
    let mut enc_full = wait.clone();
    enc_full.push(now, &[2]).unwrap();
    enc_full.push(now, &[3]).unwrap();
    let mut wait_full = enc_full.clone();
    drain(&mut wait_full, now);
    vec![
        ("IDLE 0/3", idle),
        ("ENC  1/3", enc),
        ("WAIT 1/3", wait),
        ("IDLE 1/3", idle_partial),
        ("ENC  3/3", enc_full),
        ("WAIT 3/3", wait_full),
    ]
}

fn name(encoder: &Encoder) -> String {
    let (block, added) = match encoder.next_place() {
        Some((block, index)) => (block, index),
        None => (0, 3),
    };
    let state = match encoder.state() {
        State::Enc => "ENC",
        State::Wait { .. } => "WAIT",
        State::Idle => "IDLE",
    };
    format!("{state:4} {added}/3 of block {block}")
}

#[test]
fn the_encoder_as_a_table() {
    let later = Instant::ZERO + TIMEOUT;
    let events: [(&str, Handle<Encoder>); 7] = [
        ("symbol", |e, now| _ = e.push(now, &[9])),
        ("packet pulled", |e, now| _ = e.poll_transmit(now)),
        ("all pulled", |e, now| _ = drain(e, now)),
        ("timeout", |e, now| e.handle_timeout(now)),
        ("ack, rank 0", |e, now| e.handle_ack(now, &ack(0, 0))),
        ("ack, rank 1", |e, now| e.handle_ack(now, &ack(0, 1))),
        ("ack, rank 3", |e, now| e.handle_ack(now, &ack(0, 3))),
    ];
    let mut table = String::from("state    | event         | next state          | sent | owed\n");
    for (from, encoder) in states() {
        for (event, handle) in events {
            let mut encoder = encoder.clone();
            let sent_before = encoder.counters().coded_sent;
            handle(&mut encoder, later);
            let sent = encoder.counters().coded_sent - sent_before;
            let owed = drain(&mut encoder.clone(), later).len();
            let next = name(&encoder);
            writeln!(table, "{from} | {event:13} | {next} | {sent:4} | {owed:4}").unwrap();
        }
    }
    insta::assert_snapshot!(table);
}

#[test]
fn symbols_come_first_if_the_encoder_is_systematic() {
    let mut encoder = encoder(true);
    let now = Instant::ZERO;
    encoder.push(now, &[7, 0]).unwrap();
    encoder.push(now, &[8]).unwrap();
    let sent = drain(&mut encoder, now);
    assert_eq!(sent[0].vector, CodedVector::Source(0));
    assert_eq!(sent[0].payload, [7]);
    assert_eq!(sent[1].vector, CodedVector::Source(1));
    assert!(matches!(sent[2].vector, CodedVector::Seeded { first: 0, count: 2, .. }));
    assert_eq!(sent.len(), 4);
}

/// Symbol `index` of `block`, from the source.
fn enc(block: u32, index: u64) -> Enc<'static> {
    Enc { block, oldest: block, vector: Vector::Source(index), payload: &[5] }
}

#[test]
fn the_helper_as_a_table() {
    // It begins at the fifth of eight, owes one for each and 3.2 in all.
    let code = Code::new(Field::Gf256, 8, 4).unwrap();
    let losses = losses(0.0, 0.0, 0.4);
    let parameters = HelperParameters {
        losses,
        helpers: 1,
        margin: None,
        blocks_max: 1,
        published: true,
        help: Helping::Text,
    };
    let now = Instant::ZERO;
    let mut idle = Helper::new(code, &parameters, Seed::new(1, 0).stream("helper"));
    let mut states = vec![("IDLE, nothing heard", idle.clone())];
    (0..4).for_each(|index| _ = idle.handle_enc(now, &enc(0, index)));
    states.push(("IDLE, 4 heard", idle.clone()));
    let mut sends = idle;
    sends.handle_enc(now, &enc(0, 4));
    states.push(("ENC, 5 heard", sends.clone()));
    sends.poll_transmit(now).unwrap();
    states.push(("ENC, 5 heard, 1 sent", sends.clone()));
    (5..8).for_each(|index| _ = sends.handle_enc(now, &enc(0, index)));
    states.push(("ENC, 8 heard, 1 sent", sends.clone()));
    while sends.poll_transmit(now).is_some() {}
    states.push(("IDLE, all sent", sends));

    let events: [(&str, Handle<Helper>); 6] = [
        ("news of the block", |h, now| _ = h.handle_enc(now, &enc(0, 5))),
        ("nothing new", |h, now| _ = h.handle_enc(now, &enc(0, 0))),
        ("new block", |h, now| _ = h.handle_enc(now, &enc(1, 0))),
        ("packet pulled", |h, now| _ = h.poll_transmit(now)),
        ("ack, block has 2", |h, now| h.handle_ack(now, &ack(0, 2))),
        ("ack, block done", |h, now| h.handle_ack(now, &ack(0, 8))),
    ];
    let mut table = String::from("state                | event             | next | sent | owed\n");
    for (from, helper) in states {
        for (event, handle) in events {
            let mut helper = helper.clone();
            let sent_before = helper.sent();
            handle(&mut helper, now);
            let sent = helper.sent() - sent_before;
            let mut owing = helper.clone();
            let owed = core::iter::from_fn(|| owing.poll_transmit(now)).count();
            let next = match helper.state() {
                HelperState::Idle => "IDLE",
                HelperState::Enc => "ENC",
            };
            writeln!(table, "{from:20} | {event:17} | {next:4} | {sent:4} | {owed:4}").unwrap();
        }
    }
    insta::assert_snapshot!(table);
}

#[test]
fn acknowledgements_as_a_table() {
    let mut table = String::from("packets                             | acknowledged\n");
    for (whose, rules) in [
        ("the text", AckRules::Text),
        ("January 2014", AckRules::January),
        ("March 2014", AckRules::March),
    ] {
        writeln!(table, "{whose}").unwrap();
        for (what, arrival, rank, known, count) in [
            ("innovative, something is unknown", Arrival::Innovative, 5, 4, 6),
            ("innovative, all of it is known", Arrival::Innovative, 5, 5, 6),
            ("the block's last", Arrival::Last, 8, 8, 1),
            ("redundant, something is unknown", Arrival::Redundant, 5, 4, 101),
            ("redundant, all of it is known", Arrival::Redundant, 5, 5, 10),
            ("late", Arrival::Stale, 8, 8, 12),
        ] {
            let mut rule = AckRule::new(rules);
            let acknowledged: Vec<u32> =
                (1..=count).filter(|_| rule.handle_enc(arrival, rank, known)).collect();
            writeln!(table, "{what:35} | {acknowledged:?} of {count}").unwrap();
        }
    }
    insta::assert_snapshot!(table);
}

/// A timeout asks for what a symbol adds to the budget, or for as many packets as is said.
#[test]
fn a_timeout_asks_for_a_credit_or_for_packets() {
    for (timeout_packets, expected) in [(None, 2), (Some(5), 5)] {
        let code = Code::new(Field::Gf256, 3, 4).unwrap();
        let parameters = PaperParameters {
            losses: losses(0.0, 0.0, 0.5),
            helpers: 0,
            overshoot: 1.0,
            margin: None,
            timeout: TIMEOUT,
            systematic: false,
            timeout_packets,
            spend: Spending::Text,
            wait: WaitStart::Text,
        };
        let mut encoder = Encoder::new(code, &parameters, Seed::new(1, 0).stream("encoder"));
        encoder.push(Instant::ZERO, &[1]).unwrap();
        assert_eq!(drain(&mut encoder, Instant::ZERO).len(), 2);
        let later = Instant::ZERO + TIMEOUT;
        encoder.handle_timeout(later);
        assert_eq!(drain(&mut encoder, later).len(), expected, "{timeout_packets:?}");
    }
}

/// Whatever is heard, a helper keeps as many blocks as it may.
#[test]
fn a_helper_is_bounded() {
    let code = Code::new(Field::Gf2, 4, 4).unwrap();
    let losses = losses(0.1, 0.1, 0.5);
    let parameters = HelperParameters {
        losses,
        helpers: 1,
        margin: None,
        blocks_max: 3,
        published: true,
        help: Helping::Text,
    };
    let mut helper = Helper::new(code, &parameters, Seed::new(1, 0).stream("helper"));
    let mut random = Seed::new(2, 0).stream("blocks");
    for _ in 0..1_000 {
        let heard = enc(random.up_to(50), u64::from(random.up_to(5)));
        helper.handle_enc(Instant::ZERO, &Enc { oldest: 0, ..heard });
        assert!(helper.kept() <= 3);
        helper.poll_transmit(Instant::ZERO);
    }
    helper.handle_ack(Instant::ZERO, &Ack { done: 51, ..Ack::default() });
    assert_eq!(helper.kept(), 0);
    assert_eq!(helper.handle_enc(Instant::ZERO, &enc(50, 0)), None, "it is done");
}

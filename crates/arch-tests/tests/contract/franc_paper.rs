//! [`Encoder`] of the paper's link, with symbols and acknowledgements at any time,
//! including ranks that no decoder has: it sends nothing without symbols, and no more
//! than its credits allow.

use crate::pause;
use lasthop_arch_tests::contract::Driver;
use lasthop_franc::config::{Losses, Spending, WaitStart};
use lasthop_franc::paper::{Encoder, PaperParameters};
use lasthop_franc::wire::{Ack, BlockReport};
use lasthop_rlnc::{Code, Field};
use lasthop_units::{Duration, Machine, Probability, Seed};
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Work {
    Symbol,
    /// An acknowledgement of the block that is `ahead` of the encoder's; the block is
    /// done if `rank` is `None`.
    Ack {
        ahead: u32,
        rank: Option<u16>,
    },
    Losses(f64),
    Nothing,
}

fn work() -> impl Strategy<Value = Work> {
    prop_oneof![
        5 => Just(Work::Symbol),
        2 => (0..2u32, prop::option::of(0..6u16)).prop_map(|(ahead, rank)| Work::Ack { ahead, rank }),
        1 => (0.0..=1.0f64).prop_map(Work::Losses),
        2 => Just(Work::Nothing),
    ]
}

fn losses(e: f64) -> Losses {
    let e = Probability::new(e).expect("the strategy gives probabilities");
    Losses { e1: e, e2: Probability::ZERO, e3: e }
}

proptest! {
    #[test]
    fn keeps_the_contract(
        (symbols, helpers) in (1..5u16, 0..3u8),
        (overshoot, systematic) in (0.5..2.0f64, any::<bool>()),
        (timeout_ms, timeout_packets) in (1..40u64, prop::option::of(1..6u8)),
        spend in prop::sample::select(&[Spending::Text, Spending::January, Spending::March]),
        wait in prop::sample::select(&[WaitStart::Text, WaitStart::Program]),
        // A driver whose interface is full does not pull datagrams.
        work in prop::collection::vec(
            (pause(Duration::from_millis(150)), work(), prop::bool::weighted(0.8)), 1..200),
    ) {
        let code = Code::new(Field::Gf2, symbols, 4).unwrap();
        let timeout = Duration::from_millis(timeout_ms);
        let losses_of = losses;
        let losses = losses(0.5);
        let parameters = PaperParameters {
            losses,
            helpers,
            overshoot,
            margin: None,
            timeout,
            systematic,
            timeout_packets,
            spend,
            wait,
        };
        let stream = Seed::new(1, 0).stream("encoder");
        let mut driver = Driver::new(Encoder::new(code, &parameters, stream));
        let (mut pushed, mut sent) = (0u64, 0u64);
        let mut block = 0;
        for (pause, work, pulls) in work {
            pause.pass(&mut driver, |now, encoder| {
                while pulls && encoder.poll_transmit(now).is_some() {
                    sent += 1;
                }
                while encoder.poll_event().is_some() {
                    block += 1;
                }
            });
            let now = driver.now();
            let encoder = &mut driver.machine;
            match work {
                Work::Symbol if encoder.next_place().is_some() => {
                    encoder.push(now, &[1, 2]).unwrap();
                    pushed += 1;
                }
                Work::Ack { ahead, rank: Some(rank) } => {
                    let report = BlockReport { block: block + ahead, rank, ..BlockReport::default() };
                    encoder.handle_ack(now, &Ack { done: block, blocks: vec![report], ..Ack::default() });
                }
                Work::Ack { ahead, rank: None } => {
                    encoder.handle_ack(now, &Ack { done: block + ahead, ..Ack::default() });
                }
                Work::Losses(e) => encoder.set_losses(losses_of(e)),
                Work::Nothing => encoder.handle_arrival(now),
                Work::Symbol => {}
            }
        }
        let counters = driver.machine.counters();
        prop_assert_eq!(counters.source_sent + counters.coded_sent, sent);
        prop_assert!(pushed > 0 || sent == 0, "of nothing nothing is sent");
        // A credit is at most a hundred packets times the overshoot.
        let credits = pushed + counters.timeouts + u64::from(symbols) * (counters.blocks_done + 1);
        prop_assert!(sent <= 201 * credits, "{} for {}", sent, credits);
        prop_assert!(driver.machine.poll_timeout().is_none_or(|(at, _)| at >= driver.now()));
    }
}

//! A holder of the hop key who watches the link and forges what hurts at that moment:
//! blocks and numbers around the newest ones, to any node in any name. Goodput two seconds
//! after the last forged datagram, and later, is held against goodput before the first.

use super::attacks::{ATTACKER, Forgery, Stage};
use super::net::SECOND;
use super::*;
use crate::coded::CodedVector;
use proptest::test_runner::TestRunner;

/// A forged datagram, relative to what the link carries then.
#[derive(Clone, Debug)]
struct Forged {
    what: What,
    /// Sender and recipient, by position among the ways of the link.
    way: usize,
    /// Block relative to the newest one, and number relative to the newest one of that way.
    block: i32,
    number: i64,
    /// Time after the datagram before it.
    after_ms: u64,
}

#[derive(Clone, Debug)]
enum What {
    /// A forged symbol or combination. The sender's oldest block is so far below it.
    Enc { vector: CodedVector, oldest: u32 },
    /// These blocks have this rank, from the forged one on; all before it are done. The state
    /// is that of the sender's own acknowledgements, or another one.
    Ack { blocks: u32, rank: u16, bits: u16, is_cut: bool, reports: [i64; 2], is_state: bool },
    /// An acknowledgement and a combination.
    Both(Box<What>, Box<What>),
}

fn vectors() -> impl Strategy<Value = CodedVector> {
    prop_oneof![
        (0..64u16).prop_map(CodedVector::Source),
        (any::<u32>(), 0..60u16, 2..=64u16).prop_map(|(seed, first, count)| {
            CodedVector::Seeded { seed, first, count: count.min(64 - first) }
        }),
        prop::collection::vec(any::<u8>(), 64).prop_map(|packed| CodedVector::Full {
            first: 0,
            count: 64,
            packed
        }),
    ]
}

fn whats() -> impl Strategy<Value = What> {
    let enc = || {
        let oldest = prop_oneof![4 => Just(255u32), 1 => 0..4u32];
        (vectors(), oldest).prop_map(|(vector, oldest)| What::Enc { vector, oldest })
    };
    let reports = || prop_oneof![Just(0i64), -2_000..2_000i64];
    let ack = || {
        let flags = (any::<bool>(), any::<bool>());
        (0..40u32, prop_oneof![Just(64u16), 0..64u16], 0..=64u16, flags)
            .prop_flat_map(move |ack| (Just(ack), [reports(), reports()]))
            .prop_map(|((blocks, rank, bits, (is_cut, is_state)), reports)| What::Ack {
                blocks,
                rank,
                bits,
                is_cut,
                reports,
                is_state,
            })
    };
    prop_oneof![
        4 => enc(),
        2 => ack(),
        1 => (ack(), enc()).prop_map(|(ack, enc)| What::Both(Box::new(ack), Box::new(enc))),
    ]
}

/// Some forged datagrams in a row: each is of the block after that of the one before.
fn attacks() -> impl Strategy<Value = Vec<Forged>> {
    let block = prop_oneof![4 => -2..4i32, 1 => 4..70i32];
    let number = prop_oneof![2 => 1..1_100i64, 1 => -900..0i64, 1 => 1_100..100_000i64];
    let one = (whats(), 0..8usize, block, number, prop_oneof![Just(0u64), 1..300u64]);
    (one, 1..12usize, any::<bool>()).prop_map(
        |((what, way, block, number, after_ms), times, all)| {
            let times = 0..times;
            times
                .map(|time| Forged {
                    what: what.clone(),
                    way: if all { way + time } else { way },
                    block: block + (time as i32) / 2,
                    number: number + time as i64,
                    after_ms,
                })
                .collect()
        },
    )
}

/// The newest number on a way, the newest block of its ENCs, and the state of its ACKs.
#[derive(Clone, Copy, Debug, Default)]
struct Newest {
    number: u32,
    block: u32,
    state: u16,
}

impl Stage {
    /// Number of links between ends.
    fn links(&self) -> u8 {
        self.net.nodes[&NodeId(1)].config().links
    }

    /// The ways between nodes, by sender and recipient.
    fn ways(&self) -> Vec<(NodeId, NodeId)> {
        self.net.links.keys().copied().collect()
    }

    /// Listens for a while.
    fn listen(&mut self) -> BTreeMap<(NodeId, NodeId), Newest> {
        self.net.recorded = Some(Vec::new());
        self.quiet(Duration::from_millis(400));
        let recorded = self.net.recorded.take().expect("it was recorded");
        let mut newest = BTreeMap::<_, Newest>::new();
        for Flying { datagram, .. } in recorded {
            let header = Header::parse(&datagram).expect("nodes say what is sound");
            let (link, count) = wire::link_of(self.links(), header.number);
            let on_link = |node: NodeId| NodeId(node.0 + SECOND * link);
            let way = (on_link(header.sender), on_link(header.to));
            let newest = newest.entry(way).or_default();
            newest.number = newest.number.max(count);
            if let Ok(body) = wire::parse(&datagram, Field::Gf256) {
                let (ack, enc) = body.into_parts();
                newest.block = newest.block.max(enc.map_or(0, |enc| enc.block));
                newest.state = ack.map_or(newest.state, |ack| ack.state);
            }
        }
        newest
    }

    fn forge(&mut self, attack: &[Forged]) {
        let (session, tagger) = strangers::tagger_of(&mut self.net);
        self.quiet(Duration::from_secs(2));
        for forged in attack {
            let newest = self.listen();
            let ways = self.ways();
            let (sender, to) = ways[forged.way % ways.len()];
            let of_way = newest.get(&(sender, to)).copied().unwrap_or_default();
            // Acknowledgements are of the blocks of the other direction.
            let other = newest.get(&(to, sender)).copied().unwrap_or_default();
            let at = |newest: u32, ahead: i64| (i64::from(newest) + ahead).max(1) as u32;
            let link = u8::from(sender.0 >= SECOND);
            let count = at(of_way.number, forged.number);
            let number = wire::number_on(self.links(), link, count);
            let [sender, to] = [sender, to].map(|node| NodeId(node.0 - SECOND * link));
            let on_link = |highest| wire::number_on(self.links(), link, highest);
            let datagram = self::forgery(&forged.what, of_way, other, forged, &on_link)
                .datagram(&Header { sender, to, session, number }, &tagger);
            for at in [to, NodeId(3)] {
                let datagram = datagram.clone();
                self.net.arrive(&Flying { from: ATTACKER, to: at, datagram });
            }
            self.quiet(Duration::from_millis(forged.after_ms));
        }
    }
}

/// Returns a forged datagram; `on_link` returns the number of a count on the link that it is of.
fn forgery(
    what: &What,
    of_way: Newest,
    other: Newest,
    forged: &Forged,
    on_link: &dyn Fn(u32) -> u32,
) -> Forgery {
    let block = |newest: u32| newest.saturating_add_signed(forged.block);
    match what {
        What::Enc { vector, oldest } => Forgery::Enc {
            block: block(of_way.block),
            oldest: block(of_way.block).saturating_sub(*oldest),
            vector: vector.clone(),
            payload: vec![3; 1_000],
        },
        What::Ack { blocks, rank, bits, is_cut, reports: [highest, received], is_state } => {
            let done = block(other.block);
            let report = |block| wire::BlockReport {
                block,
                rank: *rank,
                bits: *bits,
                bitmap: vec![0xff; usize::from(bits.div_ceil(8))],
                restarts: 0,
            };
            let near = |ahead: i64| (i64::from(other.number) + ahead).max(0) as u32;
            let link = |node| wire::LinkReport {
                node: NodeId(node),
                highest: on_link(near(*highest)),
                received: near(*received),
                heard_at_us: 5,
                delay_4us: 0,
            };
            Forgery::Ack(wire::Ack {
                done,
                state: if *is_state { of_way.state } else { 77 },
                links: vec![link(1), link(2), link(3)],
                blocks: (done..done + blocks).map(report).collect(),
                is_cut: *is_cut,
            })
        }
        What::Both(ack, enc) => Forgery::Both(
            Box::new(forgery(ack, of_way, other, forged, on_link)),
            Box::new(forgery(enc, of_way, other, forged, on_link)),
        ),
    }
}

/// Goodput of each second from the third after an attack on, in Mb/s.
fn after(stage: &Stage, attack: &[Forged], seconds: usize) -> Vec<f64> {
    let mut stage = stage.clone();
    stage.forge(attack);
    stage.quiet(Duration::from_secs(2));
    (0..seconds).map(|_| stage.quiet(Duration::from_secs(1))).collect()
}

/// Whether each second has more than half of the rate `before`, and all seconds together more than
/// four fifths.
fn is_over(after: &[f64], before: f64) -> bool {
    let mean = after.iter().sum::<f64>() / after.len() as f64;
    mean > 0.8 * before && after.iter().all(|&second| second > 0.5 * before)
}

fn forgeries_are_over(names: &[&str], cases: u32) {
    for (name, mut stage) in Stage::all() {
        if !names.contains(&name) {
            continue;
        }
        stage.quiet(Duration::from_secs(2));
        let before = stage.quiet(Duration::from_secs(2));
        let config = ProptestConfig {
            cases,
            max_shrink_iters: 12,
            failure_persistence: None,
            ..ProptestConfig::default()
        };
        let run = TestRunner::new(config).run(&attacks(), |attack| {
            let after = after(&stage, &attack, 12);
            prop_assert!(is_over(&after, before), "{name}: {after:?} of {before}");
            Ok(())
        });
        if let Err(why) = run {
            panic!("{why}");
        }
    }
}

/// Forged combinations of the newest block and the two after it.
#[test]
fn combinations_of_the_newest_blocks_are_over_two_seconds_after_them() {
    let (_, mut stage) = Stage::all().into_iter().find(|(name, _)| *name == "recoder").expect("it");
    stage.quiet(Duration::from_secs(2));
    let before = stage.quiet(Duration::from_secs(2));
    for number in [1, 30, 600, 1_000, 1_500] {
        let way = stage.ways().iter().position(|&way| way == (NodeId(1), NodeId(3)));
        let vector = CodedVector::Seeded { seed: 9, first: 0, count: 64 };
        let forged = |block: i32| Forged {
            what: What::Enc { vector: vector.clone(), oldest: 255 },
            way: way.expect("it is there"),
            block,
            number: number + i64::from(block),
            after_ms: 0,
        };
        let attack: Vec<Forged> = (0..3).map(forged).collect();
        let after = after(&stage, &attack, 12);
        assert!(is_over(&after, before), "{number}: {after:?} of {before}");
    }
}

/// Forged acknowledgements: blocks that are still on their way through the recoder are complete.
#[test]
fn acknowledgements_of_missing_blocks_are_over_two_seconds_after_them() {
    let (_, mut stage) = Stage::all().into_iter().find(|(name, _)| *name == "recoder").expect("it");
    stage.quiet(Duration::from_secs(2));
    let before = stage.quiet(Duration::from_secs(2));
    for is_state in [false, true] {
        let forged = |time: usize| Forged {
            what: What::Ack {
                blocks: 15,
                rank: 64,
                bits: 31,
                is_cut: false,
                reports: [1_990, 0],
                is_state,
            },
            way: time,
            block: time as i32 / 2 - 2,
            number: 239 + time as i64,
            after_ms: 126,
        };
        let attack: Vec<Forged> = (0..6).map(forged).collect();
        let after = after(&stage, &attack, 12);
        assert!(is_over(&after, before), "{is_state}: {after:?} of {before}");
    }
}

/// A forged symbol in each direction, of a later block.
#[test]
fn symbols_of_later_blocks_cost_nothing_when_these_come() {
    let (_, mut stage) = Stage::all().into_iter().find(|(name, _)| *name == "recoder").expect("it");
    stage.quiet(Duration::from_secs(2));
    let before = stage.quiet(Duration::from_secs(2));
    for block in [1, 20, 40, 63] {
        let forged = |way: usize| Forged {
            what: What::Enc { vector: CodedVector::Source(5), oldest: 255 },
            way,
            block,
            number: 600,
            after_ms: 0,
        };
        let attack: Vec<Forged> = (0..stage.ways().len()).map(forged).collect();
        let after = after(&stage, &attack, 12);
        assert!(is_over(&after, before), "{block}: {after:?} of {before}");
    }
}

/// Goodput after an attack on the stage `name`, and before it.
fn after_on(name: &str, attack: &[Forged]) -> (Vec<f64>, f64) {
    let (_, mut stage) = Stage::all().into_iter().find(|(of, _)| *of == name).expect("it");
    stage.quiet(Duration::from_secs(2));
    let before = stage.quiet(Duration::from_secs(2));
    (after(&stage, attack, 12), before)
}

/// Forged acknowledgements with numbers that their sender reaches seconds later: its own ones count
/// before that.
#[test]
fn acknowledgements_of_later_numbers_are_over_two_seconds_after_them() {
    let forged = |time: i64| Forged {
        what: What::Ack {
            blocks: 23,
            rank: 64,
            bits: 39,
            is_cut: true,
            reports: [1_041, 0],
            is_state: true,
        },
        way: 1,
        block: 2,
        number: 746 + time,
        after_ms: 30,
    };
    let (after, before) = after_on("ends", &[forged(0), forged(1)]);
    assert!(is_over(&after, before), "{after:?} of {before}");
}

/// Forged combinations, from the recoder to an end, of blocks that come seconds later: these begin
/// anew, and do not wait behind others at the recoder.
#[test]
fn combinations_of_later_blocks_cost_little_when_these_come() {
    let packed: Vec<u8> = (1..=64).map(|at: u8| at.wrapping_mul(37)).collect();
    for (times, number, step, after_ms) in [(8, 310, 0, 264), (7, 54, 1, 206)] {
        let forged = |time: usize| Forged {
            what: What::Enc {
                vector: CodedVector::Full { first: 0, count: 64, packed: packed.clone() },
                oldest: 255,
            },
            way: 3 + step * time,
            block: 58 + time as i32 / 2,
            number: number + time as i64,
            after_ms,
        };
        let attack: Vec<Forged> = (0..times).map(forged).collect();
        let (after, before) = after_on("recoder", &attack);
        assert!(is_over(&after, before), "{times} {number}: {after:?} of {before}");
    }
}

/// Forged symbols with numbers of a helper: these are not losses of the helper, which would end
/// its help.
#[test]
fn numbers_of_a_helper_are_over_two_seconds_after_them() {
    let forged = |time: i64| Forged {
        what: What::Enc { vector: CodedVector::Source(7), oldest: 255 },
        way: 5,
        block: -1 + time as i32 / 2,
        number: 201 + time,
        after_ms: 0,
    };
    let attack: Vec<Forged> = (0..4).map(forged).collect();
    let (after, before) = after_on("helper", &attack);
    assert!(is_over(&after, before), "{after:?} of {before}");
}

/// Forged acknowledgements with numbers far above a helper's, several times: the helper goes on from
/// each, also if an end's question reports the number.
#[test]
fn far_numbers_of_a_helper_are_over_two_seconds_after_them() {
    let forged = |time: i64| Forged {
        what: What::Ack {
            blocks: 36,
            rank: 64,
            bits: 2,
            is_cut: false,
            reports: [0, 0],
            is_state: true,
        },
        way: 5,
        block: -1 + time as i32 / 2,
        number: 590 + time,
        after_ms: 6,
    };
    let attack: Vec<Forged> = (0..10).map(forged).collect();
    let (after, before) = after_on("helper", &attack);
    assert!(is_over(&after, before), "{after:?} of {before}");
}

/// A helper measures its losses to the destination only while it sends: one that they silenced tries
/// again.
#[test]
fn a_helper_whose_way_gets_better_helps_again() {
    let (_, mut stage) = Stage::all().into_iter().find(|(of, _)| *of == "helper").expect("it");
    stage.quiet(Duration::from_secs(2));
    let before = stage.quiet(Duration::from_secs(2));
    let lose = |stage: &mut Stage, loss| {
        stage.net.links.get_mut(&(NodeId(3), NodeId(2))).expect("it is there").loss = loss;
    };
    lose(&mut stage, 0.95);
    let without = (stage.quiet(Duration::from_secs(4)), stage.quiet(Duration::from_secs(8)));
    lose(&mut stage, 0.05);
    stage.quiet(Duration::from_secs(6));
    let again = stage.quiet(Duration::from_secs(4));
    assert!(without.1 < 0.75 * before, "{without:?} of {before}");
    assert!(again > 0.9 * before, "{again} of {before}");
}

/// Acknowledgements of blocks that their sender does not have, together with symbols, to both ends.
#[test]
fn acknowledgements_to_both_ends_are_over_two_seconds_after_them() {
    let ack = What::Ack {
        blocks: 31,
        rank: 64,
        bits: 7,
        is_cut: false,
        reports: [951, 0],
        is_state: true,
    };
    let enc = What::Enc { vector: CodedVector::Source(17), oldest: 255 };
    let forged = |time: i64| Forged {
        what: What::Both(Box::new(ack.clone()), Box::new(enc.clone())),
        way: 7 + time as usize,
        block: -2 + time as i32 / 2,
        number: 59_353 + time,
        after_ms: 0,
    };
    let attack: Vec<Forged> = (0..8).map(forged).collect();
    let (after, before) = after_on("ends", &attack);
    assert!(is_over(&after, before), "{after:?} of {before}");
}

/// The same with a helper, to and from every node, for blocks that come seconds later.
#[test]
fn combinations_of_later_blocks_cost_little_with_a_helper() {
    let packed: Vec<u8> =
        (0..64u32).map(|index| (index * index * 7 + index * 3 + 1) as u8).collect();
    let forged = |time: i64| Forged {
        what: What::Enc {
            vector: CodedVector::Full { first: 0, count: 64, packed: packed.clone() },
            oldest: 255,
        },
        way: 6 + time as usize,
        block: 67 + time as i32 / 2,
        number: 741 + time,
        after_ms: 0,
    };
    let attack: Vec<Forged> = (0..10).map(forged).collect();
    let (after, before) = after_on("helper", &attack);
    assert!(is_over(&after, before), "{after:?} of {before}");
}

/// Forged acknowledgements that report numbers above those of a helper: it goes on from them, and
/// true reports from before that are not losses of it.
#[test]
fn reports_of_later_numbers_of_a_helper_are_over_two_seconds_after_them() {
    let forged = |time: i64| Forged {
        what: What::Ack {
            blocks: 14,
            rank: 54,
            bits: 12,
            is_cut: true,
            reports: [0, 39],
            is_state: true,
        },
        way: 2,
        block: 41 + time as i32 / 2,
        number: 66_441 + time,
        after_ms: 0,
    };
    let attack: Vec<Forged> = (0..3).map(forged).collect();
    let (after, before) = after_on("helper", &attack);
    assert!(is_over(&after, before), "{after:?} of {before}");
}

#[test]
fn what_is_forged_about_the_newest_blocks_is_over_two_seconds_after_it() {
    forgeries_are_over(&["recoder", "links"], 6);
}

#[test]
#[ignore = "a campaign"]
fn whatever_is_forged_is_over_two_seconds_after_it() {
    forgeries_are_over(&["ends", "recoder", "forwarder", "helper", "links"], 40);
}

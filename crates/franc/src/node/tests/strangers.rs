//! Other keys, recorded datagrams, rubbish, and liars with the hop key: nothing comes out
//! that was not sealed.

use super::*;

/// An address without a node of the network.
const ELSEWHERE: Address = Address::Node(NodeId(99));

#[test]
fn ends_with_other_keys_or_codes_say_so_and_carry_nothing() {
    let mut net = Net::pair(
        |config| {
            if config.id == NodeId(2) {
                config.keys = Keys::Shared([8; 32]);
            }
        },
        &Link::new(12.0, 10, 0.0),
        1,
    );
    chat(&mut net, seconds(0.0), seconds(3.0), &mut BTreeMap::new());
    assert!(net.out.is_empty());
    for (id, other) in [(NodeId(1), NodeId(2)), (NodeId(2), NodeId(1))] {
        let told = net.events.iter().filter(|event| event.0 == id).collect::<Vec<_>>();
        assert!((2..=3).contains(&told.len()), "{told:?}");
        assert_eq!(told[0].1, Event::KeyMismatch { sender: other, is_keyless: false });
    }
    let adjust = |config: &mut Config| config.block_symbols = 50 + u16::from(config.id.0);
    let mut net = Net::pair(adjust, &Link::new(12.0, 10, 0.0), 1);
    chat(&mut net, seconds(0.0), seconds(1.0), &mut BTreeMap::new());
    assert!(net.out.is_empty());
    for (id, other) in [(NodeId(1), NodeId(2)), (NodeId(2), NodeId(1))] {
        let of = |id: NodeId| {
            let mut config = end(id.0, other.0, other.0);
            adjust(&mut config);
            crate::CodeParameters::from(&config)
        };
        let (ours, theirs) = (of(id), Some(of(other)));
        assert!(net.events.contains(&(id, Event::CodeMismatch { peer: other, ours, theirs })));
    }
}

#[test]
fn what_was_recorded_in_one_session_is_nothing_in_another() {
    let mut net = Net::pair(|_| {}, &Link::new(12.0, 10, 0.0), 1);
    let mut recorded = Vec::new();
    let mut sent = BTreeMap::new();
    for step in 0..100 {
        chat(&mut net, seconds(0.3), seconds(0.02 * f64::from(step)), &mut sent);
        let air = net.air.values().filter(|flying| flying.to == NodeId(2));
        recorded.extend(air.map(|flying| flying.datagram.clone()));
    }
    assert!(recorded.len() > 100);
    net.nodes.insert(NodeId(2), node(end(2, 1, 1), Seed::new(1, 9).stream("new"), net.now));
    chat(&mut net, Instant::ZERO, seconds(3.0), &mut sent);
    let (out, corrupt) = (net.out(2).len(), net.stats(2).corrupt);
    let now = net.now;
    let node = net.nodes.get_mut(&NodeId(2)).expect("it is there");
    for datagram in &recorded {
        node.handle_datagram(now, ELSEWHERE, datagram);
        assert_eq!(node.poll_packet(), None);
    }
    assert_eq!((net.out(2).len(), net.stats(2).corrupt), (out, corrupt));
    // The session goes on.
    chat(&mut net, Instant::ZERO, seconds(4.0), &mut sent);
    check(net.out(2), &sent);
    assert!(net.out(2).len() > out + 150);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, max_shrink_iters: 100, ..ProptestConfig::default() })]

    /// Any bytes at all: nothing comes out and memory does not grow with them.
    #[test]
    fn strangers_say_nothing(
        datagrams in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..80), 0..200),
        kind in (1..=10u8).prop_map(|kind| wire::VERSION << 4 | kind),
    ) {
        let mut net = Net::pair(|_| {}, &Link::new(12.0, 5, 0.0), 1);
        net.run(seconds(0.5), |_| None);
        let now = net.now;
        let node = net.nodes.get_mut(&NodeId(2)).expect("it is there");
        for mut datagram in datagrams {
            prop_assert_eq!(node.handle_datagram(now, ELSEWHERE, &datagram), None);
            if datagram.len() > 3 {
                datagram[..3].copy_from_slice(&[kind, 1, 2]);
            }
            prop_assert_eq!(node.handle_datagram(now, ELSEWHERE, &datagram), None);
            prop_assert!(node.poll_packet().is_none());
        }
    }
}

/// The tagger of the session of ends 1 and 2, as a holder of the hop key learns it by a call to one
/// of them.
pub(super) fn tagger_of(net: &mut Net) -> (u16, Tagger) {
    let until = net.now + Duration::from_secs(1);
    net.run(until, |_| None);
    let secrets = crate::keys::Secrets::new(&Keys::Hop(crate::hop_key(&KEY)));
    let mut call = Vec::new();
    let header = Header { sender: NodeId(98), to: NodeId(1), session: 0, number: 0 };
    wire::emit(&header, &Body::Call(Hop::default()), &mut call);
    secrets.hello_tagger().seal(&mut call);
    let now = net.now;
    let end = net.nodes.get_mut(&NodeId(1)).expect("it is there");
    end.handle_datagram(now, ELSEWHERE, &call);
    while let Some(transmit) = end.poll_transmit(now) {
        if transmit.reply == Some(ELSEWHERE)
            && let Ok(Body::Hello(hello)) = wire::parse(&transmit.datagram, Field::Gf256)
        {
            let pair = crate::keys::Pair::from_hello(&hello).expect("there is a session");
            return secrets.session(&pair);
        }
    }
    panic!("a call is answered");
}

/// Datagrams that a holder of the hop key may send.
#[derive(Clone, Debug)]
enum Forged {
    Enc { block: u32, below: u8, vector: crate::coded::CodedVector, payload: Vec<u8> },
    Ack(wire::Ack),
    Both(wire::Ack, Box<Forged>),
}

impl Forged {
    fn body(&self) -> Body<'_> {
        match self {
            Self::Enc { block, below, vector, payload } => {
                let (block, oldest) = (*block, block - u32::from(*below));
                Body::Enc(wire::Enc { block, oldest, vector: vector.as_vector(), payload })
            }
            Self::Ack(ack) => Body::Ack(ack.clone()),
            Self::Both(ack, enc) => match enc.body() {
                Body::Enc(enc) => Body::Both(ack.clone(), enc),
                other => other,
            },
        }
    }
}

fn forged() -> impl Strategy<Value = Forged> {
    use crate::coded::CodedVector;
    let block = || prop_oneof![0..4u32, 0..400u32, any::<u32>()];
    let symbol = || prop_oneof![0..70u16, any::<u16>()];
    let vector =
        prop_oneof![
            symbol().prop_map(CodedVector::Source),
            (any::<u32>(), symbol(), symbol())
                .prop_map(|(seed, first, count)| CodedVector::Seeded { seed, first, count }),
            (symbol(), 0..80u16, any::<u8>()).prop_map(|(first, count, byte)| CodedVector::Full {
                first,
                count,
                packed: vec![byte; usize::from(count)],
            }),
        ];
    let payload = prop::collection::vec(any::<u8>(), 0..1_500);
    let enc =
        (block(), any::<u8>(), vector, payload).prop_map(|(block, below, vector, payload)| {
            let below = below.min(u8::try_from(block).unwrap_or(u8::MAX));
            Forged::Enc { block, below, vector, payload }
        });
    let link = (0..5u8, any::<[u32; 3]>(), any::<u16>()).prop_map(|(node, n, delay_4us)| {
        let [highest, received, heard_at_us] = n;
        wire::LinkReport {
            node: NodeId(node),
            highest: highest >> (highest % 32),
            received,
            heard_at_us,
            delay_4us,
        }
    });
    let report =
        (block(), symbol(), 0..200u16, any::<u8>()).prop_map(|(block, rank, bits, byte)| {
            wire::BlockReport {
                block,
                restarts: byte % wire::RESTARTS,
                rank: rank % 2_048,
                bits,
                bitmap: vec![byte; usize::from(bits).div_ceil(8)],
            }
        });
    let ack = (
        block(),
        any::<u16>(),
        prop::collection::vec(link, 0..4),
        prop::collection::vec(report, 0..6),
    );
    let ack = ack.prop_map(|(done, state, links, blocks)| wire::Ack {
        done,
        state: state & 1,
        links,
        blocks,
        is_cut: state & 2 != 0,
    });
    let both = (ack.clone(), enc.clone()).prop_map(|(ack, enc)| Forged::Both(ack, Box::new(enc)));
    prop_oneof![enc, ack.prop_map(Forged::Ack), both]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, max_shrink_iters: 200, ..ProptestConfig::default() })]

    /// A helper or recoder with the hop key that keeps no rule: only sealed packets are delivered,
    /// nothing panics, and memory is bounded.
    #[test]
    fn forgers_with_the_hop_key_deliver_nothing(
        lies in prop::collection::vec((forged(), 1..5u8, 1..5u8, 0..30u64), 1..120),
    ) {
        let mut configs = vec![end(1, 2, 2), end(2, 1, 1)];
        configs.push(between(3, Role::Helper { between: [NodeId(1), NodeId(2)], helpers: 1 }, Field::Gf256));
        configs.push(between(4, Role::Recoder { between: [NodeId(1), NodeId(2)] }, Field::Gf256));
        for config in &mut configs {
            config.symbol_bytes = 1_300;
        }
        let link = || Link::new(12.0, 2, 0.0);
        let mut net = Net::new(configs, vec![(1, 2, link()), (2, 1, link())], 1);
        net.helpers = vec![(NodeId(3), [NodeId(1), NodeId(2)])];
        let (session, tagger) = tagger_of(&mut net);
        let mut sent = BTreeMap::new();
        let mut next = 1_000;
        for (lie, sender, to, pause) in lies {
            let header = Header { sender: NodeId(sender), to: NodeId(to), session, number: next };
            next += 1;
            let mut datagram = Vec::new();
            wire::emit(&header, &lie.body(), &mut datagram);
            tagger.seal(&mut datagram);
            let now = net.now;
            for node in net.nodes.values_mut() {
                node.handle_datagram(now, ELSEWHERE, &datagram);
            }
            let packet = packet(1, next, 600);
            net.send(1, &packet);
            sent.insert((1, next), packet);
            let until = net.now + Duration::from_millis(pause);
            net.run(until, |_| None);
        }
        let until = net.now + Duration::from_secs(2);
        net.run(until, |_| None);
        let mut seen = BTreeSet::new();
        for (_, packet) in net.out(2) {
            let key = (packet[20], number(packet));
            prop_assert_eq!(sent.get(&key), Some(packet));
            prop_assert!(seen.insert(key));
        }
        prop_assert!(net.out(1).is_empty());
    }
}

proptest! {
    /// Parsing returns every datagram as written, and never one that is a byte shorter.
    #[test]
    fn datagrams_are_read_as_they_are_written(lie in forged(), number in any::<u32>()) {
        let readable = |block: u32| block <= wire::BLOCK_MAX;
        let (ack, enc) = lie.body().into_parts();
        let of_ack = ack.iter().flat_map(|ack| {
            ack.blocks.iter().map(|block| block.block).chain([ack.done])
        });
        let is_readable = of_ack.chain(enc.iter().map(|enc| enc.block)).all(readable);
        let header = Header { sender: NodeId(1), to: NodeId(2), session: 3, number };
        let mut datagram = Vec::new();
        wire::emit(&header, &lie.body(), &mut datagram);
        datagram.extend([0; wire::TAG_BYTES]);
        prop_assert_eq!(Header::parse(&datagram), Ok(header));
        let read = wire::parse(&datagram, Field::Gf256);
        if is_readable {
            prop_assert_eq!(read, Ok(lie.body()));
        } else {
            prop_assert!(matches!(read, Err(wire::WireError::Range { .. })), "{:?}", read);
        }
        if let (Some(ack), Some(enc)) = (ack, enc) {
            let bytes = ack.added_bytes() + enc.datagram_bytes();
            // A seed that is the datagram's number does not travel.
            prop_assert!(datagram.len() == bytes || datagram.len() + 4 == bytes);
        }
    }
}

/// Runs two nodes for four seconds, and returns their events. The second node may be missing, or
/// not be heard by the first, or not hear it.
fn meet(one: Config, other: Option<Config>, hears: [bool; 2]) -> [Vec<Event>; 2] {
    meet_after(0, one, other, hears)
}

/// As [`meet`], with nothing arriving in the first ticks of 50 ms.
fn meet_after(ticks: u64, one: Config, other: Option<Config>, hears: [bool; 2]) -> [Vec<Event>; 2] {
    let make =
        |(at, config): (u64, Config)| node(config, Seed::new(at, 1).stream("meet"), Instant::ZERO);
    let mut nodes: Vec<Node> = (0..).zip([one].into_iter().chain(other)).map(make).collect();
    let mut events = [const { Vec::new() }; 2];
    for tick in 0..80 + ticks {
        let now = Instant::ZERO + Duration::from_millis(50 * tick);
        let mut said = Vec::new();
        for (at, node) in nodes.iter_mut().enumerate() {
            node.handle_timeout(now);
            while let Some(transmit) = node.poll_transmit(now) {
                said.push((1 - at, transmit.datagram));
            }
        }
        for (to, datagram) in said {
            if let Some(node) = nodes.get_mut(to).filter(|_| hears[to] && tick >= ticks) {
                let from = Address::Node(NodeId(70 + (1 - to) as u8));
                node.handle_datagram(now, from, &datagram);
            }
        }
        for (events, node) in events.iter_mut().zip(&mut nodes) {
            events.extend(core::iter::from_fn(|| node.poll_event()));
        }
    }
    events
}

#[test]
fn no_answer_is_explained_after_three_seconds() {
    let unanswered = |peer, why| vec![Event::Unanswered { peer: NodeId(peer), why }];
    let from = |at: u8| Address::Node(NodeId(70 + at));
    let both = [true; 2];
    let other = |number, at| Unanswered::OtherNumber { number: NodeId(number), from: from(at) };
    let wanted =
        |asking, wanted| Unanswered::OtherPeer { asking: NodeId(asking), wanted: NodeId(wanted) };
    let stranger = |asking, wanted, at| Unanswered::Strangers {
        asking: NodeId(asking),
        wanted: NodeId(wanted),
        from: from(at),
    };
    let same = |at| Unanswered::SameNumber { from: from(at) };
    let recoder = |id| between(id, Role::Recoder { between: [NodeId(1), NodeId(2)] }, Field::Gf256);
    for (one, two, hears, told, told_two) in [
        (end(1, 2, 2), None, both, Some((2, Unanswered::Silent)), None),
        // The number of the second one is wrong.
        (end(1, 2, 2), Some(end(3, 1, 1)), both, Some((2, other(3, 1))), Some((1, wanted(1, 2)))),
        // The first one looks for another one.
        (end(1, 4, 4), Some(end(2, 1, 1)), both, Some((4, other(2, 1))), Some((1, wanted(1, 4)))),
        // Both numbers of the second one are wrong.
        (
            end(1, 2, 2),
            Some(end(5, 6, 6)),
            both,
            Some((2, stranger(5, 6, 1))),
            Some((6, stranger(1, 2, 0))),
        ),
        // Both have the same number.
        (end(1, 2, 2), Some(end(1, 2, 2)), both, Some((2, same(1))), Some((2, same(0)))),
        // One does not hear the other.
        (
            end(1, 2, 2),
            Some(end(2, 1, 1)),
            [true, false],
            Some((2, Unanswered::Deaf)),
            Some((1, Unanswered::Silent)),
        ),
        // A recoder whose number is another one than the end has, and one without an end.
        (end(1, 2, 4), Some(recoder(3)), both, Some((2, other(3, 1))), Some((2, wanted(1, 4)))),
        (recoder(3), None, both, Some((1, Unanswered::Silent)), None),
    ] {
        let case = alloc::format!("{:?} {:?}", one.role, two.as_ref().map(|two| two.id));
        let of = |told: Option<(u8, Unanswered)>| {
            told.map_or(Vec::new(), |(peer, why)| unanswered(peer, why))
        };
        assert_eq!(meet(one, two, hears), [of(told), of(told_two)], "{case}");
    }
    for events in meet(end(1, 2, 2), Some(end(2, 1, 1)), both) {
        assert!(matches!(events[..], [Event::Connected { .. }, ..]), "{events:?}");
        assert!(!events.iter().any(|event| matches!(event, Event::Unanswered { .. })));
    }
    // Other keys are told as such.
    let mut foreign = end(2, 1, 1);
    foreign.keys = Keys::Shared([8; 32]);
    for events in meet(end(1, 2, 2), Some(foreign), both) {
        assert!(
            events.iter().all(|event| matches!(event, Event::KeyMismatch { .. })),
            "{events:?}"
        );
    }
}

/// The other end starts ten seconds later with a wrong number. The report follows after three
/// seconds, not after a minute.
#[test]
fn a_reason_that_comes_late_is_told_soon() {
    let told = meet_after(200, end(1, 2, 2), Some(end(3, 1, 1)), [true; 2]);
    let from = Address::Node(NodeId(71));
    let late = Unanswered::OtherNumber { number: NodeId(3), from };
    let event = |why| Event::Unanswered { peer: NodeId(2), why };
    assert_eq!(told[0], [event(Unanswered::Silent), event(late)]);
}

/// One end runs without a key, and the other one says so.
#[test]
fn an_end_without_a_key_is_told_as_such() {
    let mut open = end(2, 1, 1);
    open.keys = Keys::Insecure;
    let [keyed, open] = meet(end(1, 2, 2), Some(open), [true; 2]);
    let mismatch = |sender, is_keyless| Event::KeyMismatch { sender: NodeId(sender), is_keyless };
    assert!(
        !keyed.is_empty() && keyed.iter().all(|event| *event == mismatch(2, true)),
        "{keyed:?}"
    );
    assert!(!open.is_empty() && open.iter().all(|event| *event == mismatch(1, false)), "{open:?}");
}

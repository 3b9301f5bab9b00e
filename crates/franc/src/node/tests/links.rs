//! Two links between two ends: goodput against the sum of what the links carry, links that die and
//! come back, and attackers on one of them.

use super::net::SECOND;
use super::*;

/// Two ends with a link of each kind between them.
fn two(links: [&Link; 2], seed: u64) -> Net {
    let configs = [(1, 2), (2, 1)].map(|(id, peer)| Config { links: 2, ..end(id, peer, peer) });
    let ways = [(0, links[0]), (SECOND, links[1])];
    let both = |(shift, link): (u8, &Link)| {
        [(1, 2), (2, 1)].map(|(a, b)| (a + shift, b + shift, link.clone()))
    };
    Net::new(configs.into(), ways.into_iter().flat_map(both).collect(), seed)
}

/// Mb/s that both carry, with packets of `length` bytes.
fn ideal(links: &[&Link], length: usize) -> f64 {
    let carries = |link: &&Link| link.bytes_per_s * 8e-6 * (1.0 - link.loss);
    links.iter().map(carries).sum::<f64>() * share_of_packets(length)
}

#[test]
fn two_links_carry_the_sum_of_what_both_carry() {
    let cases = [
        ((10.0, 10, 0.1), (4.0, 10, 0.2)),
        ((10.0, 10, 0.1), (4.0, 40, 0.2)),
        ((10.0, 50, 0.1), (4.0, 10, 0.2)),
        ((20.0, 5, 0.0), (20.0, 5, 0.0)),
        ((50.0, 10, 0.02), (2.0, 30, 0.3)),
    ];
    for ((rate, delay, loss), (rate_2, delay_2, loss_2)) in cases {
        let links = [Link::new(rate, delay, loss), Link::new(rate_2, delay_2, loss_2)];
        let links = [&links[0], &links[1]];
        let mut net = two(links, 1);
        let mtu = net.nodes[&NodeId(1)].config().inner_mtu();
        let goodput = saturate(&mut net, [1, 2], 10, mtu);
        let share = goodput / ideal(&links, mtu);
        assert!((0.9..1.02).contains(&share), "{goodput} Mb/s, {share} of the sum");
    }
}

/// A saturated pair of links, end 1 to 2.
struct Saturated {
    net: Net,
    sent: BTreeMap<(u8, u32), Vec<u8>>,
    length: usize,
}

impl Saturated {
    fn new(net: Net) -> Self {
        let length = net.nodes[&NodeId(1)].config().inner_mtu();
        Self { net, sent: BTreeMap::new(), length }
    }

    /// Runs until then with packets always waiting. Returns the goodput in Mb/s.
    fn run(&mut self, until: f64, mut attack: impl FnMut(&mut Net)) -> f64 {
        let (began, before) = (self.net.now, self.net.out(2).len());
        let Self { net, sent, length } = self;
        net.run(seconds(until), |net| {
            attack(net);
            while net.stats(1).backlog_packets < 8 {
                let number = sent.len() as u32;
                let packet = packet(1, number, *length);
                net.send(1, &packet);
                sent.insert((1, number), packet);
            }
            Some(net.now + Duration::from_micros(500))
        });
        check(self.net.out(2), &self.sent);
        let bytes: usize = self.net.out(2)[before..].iter().map(|(_, packet)| packet.len()).sum();
        bytes as f64 * 8e-6 / (self.net.now - began).as_secs_f64()
    }

    /// Everything that went in comes out, in one session.
    fn is_whole(&mut self) {
        let end = self.net.now + Duration::from_secs(3);
        self.net.run(end, |_| None);
        check(self.net.out(2), &self.sent);
        let lost = self.sent.len() - self.net.out(2).len();
        let [one, two] = [1, 2].map(|id| self.net.stats(id));
        let drops = one.backlog_drops as usize;
        assert_eq!((lost - drops, two.symbols_lost), (0, 0), "{drops} dropped before");
        assert_eq!((one.sessions, two.sessions), (1, 1));
    }
}

fn set_loss(net: &mut Net, second: bool, loss: f64) {
    let is_it = |from: &NodeId| (from.0 >= SECOND) == second;
    let links = net.links.iter_mut().filter(|((from, _), _)| is_it(from));
    links.for_each(|(_, link)| link.loss = loss);
}

/// A link dies: within a second the goodput is that of the other one, no packet is lost, and the
/// link is used again soon after it works.
#[test]
fn a_link_that_dies_costs_no_more_than_its_rate() {
    let links = [Link::new(10.0, 10, 0.1), Link::new(4.0, 30, 0.2)];
    for second in [false, true] {
        for seed in 0..5 {
            let mut run = Saturated::new(two([&links[0], &links[1]], seed));
            run.run(6.0 + 0.037 * seed as f64, |_| {});
            let died = run.net.now - Instant::ZERO;
            let after = |s: f64| died.as_secs_f64() + s;
            set_loss(&mut run.net, second, 1.0);
            let first = run.run(after(1.0), |_| {});
            let alive = &links[usize::from(!second)];
            let one = ideal(&[alive], run.length);
            let later = run.run(after(4.0), |_| {});
            assert!(
                first > 0.7 * one,
                "{second} {seed}: {first} of {one} Mb/s in the first second"
            );
            assert!(later > 0.9 * one, "{second} {seed}: {later} of {one} Mb/s later");
            let is_alive = |net: &Net| [0, 1].map(|link| net.stats(1).links[link].is_alive);
            assert_eq!(is_alive(&run.net), [second, !second]);
            set_loss(&mut run.net, second, links[usize::from(second)].loss);
            run.run(after(6.0), |_| {});
            assert_eq!(is_alive(&run.net), [true, true]);
            let both = ideal(&[&links[0], &links[1]], run.length);
            let again = run.run(after(9.0), |_| {});
            assert!(again > 0.9 * both, "{second} {seed}: {again} of {both} Mb/s again");
            run.is_whole();
        }
    }
}

/// Both ends report that a link died, and that it works again, once each, also if a session begins
/// meanwhile: with the time since the link carried something. Losses cause no such report.
#[test]
fn a_link_that_dies_is_reported_until_it_works() {
    let links = [Link::new(10.0, 10, 0.1), Link::new(4.0, 30, 0.3)];
    let cases =
        [(false, true, false), (true, true, true), (false, false, true), (true, false, false)];
    for (second, is_busy, restarts) in cases {
        let mut run = Saturated::new(two([&links[0], &links[1]], 1));
        let run_until = |run: &mut Saturated, s: f64| {
            if is_busy {
                run.run(s, |_| {});
            } else {
                run.net.run(seconds(s), |_| None);
            }
        };
        run_until(&mut run, 8.0);
        set_loss(&mut run.net, second, 1.0);
        run_until(&mut run, 13.0);
        if restarts {
            let (id, now) = (NodeId(2), run.net.now);
            let config = run.net.nodes[&id].config().clone();
            let again = node(config, Seed::new(7, 7).stream("again"), now);
            run.net.nodes.insert(id, again);
        }
        run_until(&mut run, 18.0);
        set_loss(&mut run.net, second, links[usize::from(second)].loss);
        run_until(&mut run, 25.0);
        // The other end forgot the link with its session.
        for end in if restarts { &[1][..] } else { &[1, 2] } {
            let told = run.net.events.iter().filter(|(id, _)| id.0 == *end);
            let told = told.filter_map(|(_, event)| match *event {
                Event::Link { link, is_alive, silent, .. } => {
                    Some((link, is_alive, silent.as_secs_f64()))
                }
                _ => None,
            });
            let told: Vec<(u8, bool, f64)> = told.collect();
            let [(died, false, first), (back, true, all)] = told[..] else {
                panic!("{second} {is_busy} {restarts} {end}: {told:?}");
            };
            assert_eq!((died, back), (u8::from(second), u8::from(second)));
            assert!((1.2..4.0).contains(&first), "{second} {is_busy}: {first}");
            assert!((9.5..11.5).contains(&all), "{second} {is_busy}: {all}");
        }
    }
}

/// If both links die, nothing is reported about a link: the session ends.
#[test]
fn a_tunnel_that_dies_reports_no_link() {
    let links = [Link::new(10.0, 10, 0.1), Link::new(4.0, 30, 0.2)];
    let mut net = two([&links[0], &links[1]], 1);
    net.run(seconds(5.0), |_| None);
    [false, true].into_iter().for_each(|second| set_loss(&mut net, second, 1.0));
    net.run(seconds(30.0), |_| None);
    [false, true].into_iter().for_each(|second| set_loss(&mut net, second, 0.1));
    net.run(seconds(40.0), |_| None);
    let told = net.events.iter().filter(|(id, _)| *id == NodeId(1)).map(|(_, event)| *event);
    let peer = NodeId(2);
    let parts = |event: &Event| !matches!(event, Event::PathMtu { .. } | Event::Unanswered { .. });
    let ends = [Event::Connected { peer }, Event::Disconnected { peer }, Event::Connected { peer }];
    assert_eq!(told.filter(parts).collect::<Vec<_>>(), ends);
}

/// The same with nothing to send while the link dies: later packets are not lost.
#[test]
fn a_link_that_dies_while_idle_is_not_used() {
    let links = [Link::new(10.0, 10, 0.1), Link::new(4.0, 30, 0.2)];
    for second in [false, true] {
        let [mut first, mut first_alone] = [0.0; 2];
        for seed in 0..5 {
            let left = &links[usize::from(!second)];
            let mut run = Saturated::new(two([&links[0], &links[1]], seed));
            let mut alone = Saturated::new(Net::pair(|_| {}, left, seed));
            for run in [&mut run, &mut alone] {
                run.run(3.0, |_| {});
                run.net.run(seconds(4.0), |_| None);
            }
            set_loss(&mut run.net, second, 1.0);
            [&mut run, &mut alone].into_iter().for_each(|run| run.net.run(seconds(8.0), |_| None));
            assert!(!run.net.stats(1).links[usize::from(second)].is_alive);
            first += run.run(9.0, |_| {});
            first_alone += alone.run(9.0, |_| {});
            let goodput = run.run(13.0, |_| {});
            let one = ideal(&[left], run.length);
            assert!(goodput > 0.9 * one, "{second}: {goodput} of {one} Mb/s");
            run.is_whole();
        }
        // A second with the link alone, which fills the way and repairs losses.
        assert!(first > 0.9 * first_alone, "{second}: {first} of {first_alone} Mb/s");
    }
}

/// One direction of a link dies: the other direction goes on to use it.
#[test]
fn a_link_may_die_in_one_direction() {
    let links = [Link::new(10.0, 10, 0.0), Link::new(4.0, 10, 0.0)];
    for (from, is_alive) in [((1, 2), [false, true]), ((2, 1), [true, true])] {
        let mut run = Saturated::new(two([&links[0], &links[1]], 1));
        run.run(3.0, |_| {});
        let way = (NodeId(from.0), NodeId(from.1));
        run.net.links.get_mut(&way).expect("it is there").loss = 1.0;
        run.run(5.0, |_| {});
        let goodput = run.run(8.0, |_| {});
        let left: Vec<&Link> = links.iter().zip(is_alive).filter(|l| l.1).map(|l| l.0).collect();
        let left = ideal(&left, run.length);
        assert!(goodput > 0.9 * left, "{from:?}: {goodput} of {left} Mb/s");
        assert_eq!([0, 1].map(|link| run.net.stats(1).links[link].is_alive), is_alive);
        run.is_whole();
    }
}

/// Packets of a sparse flow take the faster link.
#[test]
fn what_is_sparse_takes_the_faster_link() {
    let links = [Link::new(10.0, 40, 0.0), Link::new(4.0, 5, 0.0)];
    let mut net = two([&links[0], &links[1]], 1);
    let mut sent = BTreeMap::new();
    let mut sent_at = Vec::new();
    net.run(seconds(6.0), |net| {
        let number = sent.len() as u32;
        // Round trips are known after the first second.
        if net.now < seconds(5.0) {
            let packet = packet(1, number, 100);
            net.send(1, &packet);
            sent.insert((1, number), packet);
            sent_at.push(net.now);
        }
        Some(net.now + Duration::from_millis(50))
    });
    check(net.out(2), &sent);
    assert_eq!(net.out(2).len(), sent.len());
    let took = net.out(2).iter().zip(&sent_at).skip(20).map(|((at, _), sent_at)| *at - *sent_at);
    let slowest = took.max().expect("some came");
    assert!(slowest < Duration::from_millis(10), "{slowest}");
}

/// Recordings of a dead link, replayed all the time, neither end the session nor bring the link
/// back, nor do those of one link on the other.
#[test]
fn recordings_of_a_dead_link_cost_nothing() {
    let links = [Link::new(10.0, 10, 0.1), Link::new(4.0, 10, 0.2)];
    for second in [false, true] {
        let mut run = Saturated::new(two([&links[0], &links[1]], 1));
        run.net.recorded = Some(Vec::new());
        run.run(2.0, |_| {});
        let recorded = run.net.recorded.take().expect("it was recorded");
        let of_link = |flying: &&Flying| (flying.from.0 >= SECOND) == second;
        let recorded: Vec<Flying> = recorded.iter().filter(of_link).cloned().collect();
        set_loss(&mut run.net, second, 1.0);
        run.run(4.0, |_| {});
        let without = run.run(7.0, |_| {});
        let (moves, mut at) = (run.net.moves, 0);
        let with = run.run(10.0, |net| {
            for shift in [0, SECOND] {
                at = (at + 7) % recorded.len();
                let mut flying = recorded[at].clone();
                let (from, to) = (flying.from.0 % SECOND, flying.to.0 % SECOND);
                (flying.from, flying.to) = (NodeId(from + shift), NodeId(to + shift));
                net.arrive(&flying);
            }
        });
        assert!(with > 0.95 * without, "{second}: {with} of {without} Mb/s");
        assert_eq!(run.net.moves, moves, "{second}");
        assert!(!run.net.stats(1).links[usize::from(second)].is_alive);
        run.is_whole();
    }
}

/// A datagram of one link under a number of the other one is not authentic, and a pulse of one link
/// in a datagram of the other one, which a holder of the hop key can send, is no sign of life.
#[test]
fn what_is_of_one_link_counts_nothing_on_the_other() {
    let link = Link::new(10.0, 10, 0.0);
    let mut net = two([&link, &link], 1);
    net.run(seconds(2.0), |_| None);
    net.recorded = Some(Vec::new());
    // The pulses from end 1 are lost.
    for way in [(NodeId(1), NodeId(2)), (NodeId(1 + SECOND), NodeId(2 + SECOND))] {
        net.links.get_mut(&way).expect("it is there").loss = 1.0;
    }
    net.run(seconds(2.6), |_| None);
    let recorded = net.recorded.take().expect("it was recorded");
    let (_, tagger) = strangers::tagger_of(&mut net);
    let of_end = |flying: &&Flying| flying.from.0 % SECOND == 1;
    let is_pulse = |flying: &&Flying| {
        matches!(wire::parse(&flying.datagram, Field::Gf256), Ok(wire::Body::Pulse(_)))
    };
    let pulses: Vec<Flying> = recorded.iter().filter(of_end).filter(is_pulse).cloned().collect();
    assert!(pulses.len() >= 4, "{}", pulses.len());
    let heard_at = |net: &Net| {
        let Part::End(end) = &net.nodes[&NodeId(2)].part else { panic!("it is an end") };
        end.heard_at().expect("there is a session")
    };
    let before = heard_at(&net);
    for (turn, flying) in pulses.iter().enumerate() {
        let mut datagram = flying.datagram.clone();
        datagram[5] ^= 0x80;
        let unauthentic = net.stats(2).unauthentic;
        net.arrive(&Flying { datagram: datagram.clone(), ..flying.clone() });
        assert_eq!(net.stats(2).unauthentic, unauthentic + 1);
        // Under the next numbers, with a tag.
        let number = u32::from_be_bytes(*datagram[5..].first_chunk().expect("it is long"));
        datagram[5..9].copy_from_slice(&(number + 1_000 + turn as u32).to_be_bytes());
        datagram.truncate(datagram.len() - wire::TAG_BYTES);
        tagger.seal(&mut datagram);
        let replayed = net.stats(2).replayed;
        net.arrive(&Flying { datagram, ..flying.clone() });
        assert_eq!((net.stats(2).replayed, heard_at(&net)), (replayed, before));
    }
    net.now += Duration::from_millis(1);
    net.arrive(&pulses[0]);
    assert!(heard_at(&net) > before, "the pulse itself counts");
}

/// The second link of an end moves: it is followed there, and the first one stays where it is.
#[test]
fn each_link_moves_by_itself() {
    let links = [Link::new(10.0, 10, 0.0), Link::new(10.0, 10, 0.0)];
    let mut run = Saturated::new(two([&links[0], &links[1]], 1));
    let before = run.run(4.0, |_| {});
    let (second, other, elsewhere) = (NodeId(1 + SECOND), NodeId(2 + SECOND), NodeId(9));
    let link = run.net.links.remove(&(other, second)).expect("it is there");
    run.net.links.insert((other, elsewhere), link);
    run.net.moved = Some((second, elsewhere));
    run.run(5.0, |_| {});
    let after = run.run(8.0, |_| {});
    assert!(after > 0.9 * before, "{after} of {before} Mb/s");
    assert_eq!(run.net.moves, 1);
    let places: Vec<_> =
        run.net.places.iter().filter(|((node, _), _)| *node == NodeId(2)).collect();
    assert_eq!(
        places,
        [
            (&(NodeId(2), NodeId(1)), &Address::Node(NodeId(1))),
            (&(NodeId(2), second), &Address::Node(elsewhere)),
        ]
    );
    run.is_whole();
}

#[test]
fn ends_with_other_numbers_of_links_say_so() {
    let link = Link::new(10.0, 10, 0.0);
    let mut net = two([&link, &link], 1);
    net.nodes.insert(NodeId(2), node(end(2, 1, 1), Seed::new(3, 3).stream("one"), Instant::ZERO));
    net.run(seconds(2.0), |_| None);
    assert!([1, 2].iter().all(|&id| !net.stats(id).connected));
    for (id, peer) in [(1, 2), (2, 1)] {
        let of = |id: u8| {
            let config = end(id, 3 - id, 3 - id);
            crate::CodeParameters { links: 3 - id, ..crate::CodeParameters::from(&config) }
        };
        let (ours, theirs) = (of(id), Some(of(peer)));
        let event = Event::CodeMismatch { peer: NodeId(peer), ours, theirs };
        assert!(net.events.contains(&(NodeId(id), event)), "{id}: {:?}", net.events);
    }
}

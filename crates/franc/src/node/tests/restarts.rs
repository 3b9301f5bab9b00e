//! Nodes that begin anew or vanish.

use super::*;

/// Returns the time at which something came out of `end` for the first time after `since`.
fn next_out(net: &Net, end: u8, since: Instant) -> Option<Duration> {
    net.out(end).iter().find(|(at, _)| *at >= since).map(|(at, _)| *at - since)
}

/// However the questions and answers of both ends cross and get lost, they agree on one session
/// and do not leave the one that the first of them uses already.
#[test]
fn ends_that_find_each_other_over_a_lossy_way_begin_one_session() {
    for (delay_ms, loss) in [(10, 0.2), (10, 0.4), (100, 0.2), (100, 0.4)] {
        for seed in 0..90 {
            let mut net = Net::pair(|_| {}, &Link::new(12.0, delay_ms, loss), seed);
            net.run(seconds(3.0), |net| Some(net.now + Duration::from_millis(50)));
            let connected = Event::Connected { peer: NodeId(2) };
            assert!(net.events.contains(&(NodeId(1), connected)), "{delay_ms} ms, {loss}, {seed}");
            assert_eq!(
                (net.stats(1).sessions, net.stats(2).sessions),
                (1, 1),
                "{delay_ms} ms, {loss}, {seed}"
            );
        }
    }
}

#[test]
fn an_end_that_restarts_is_back_within_a_second() {
    for seed in 0..8 {
        let mut net = Net::pair(|_| {}, &Link::new(12.0, 10, 0.2), seed);
        let mut sent = BTreeMap::new();
        chat(&mut net, seconds(0.5), seconds(3.0), &mut sent);
        check(net.out(1), &sent);
        check(net.out(2), &sent);
        net.nodes.insert(NodeId(2), node(end(2, 1, 1), Seed::new(seed, 9).stream("new"), net.now));
        chat(&mut net, Instant::ZERO, seconds(6.0), &mut sent);
        for end in [1, 2] {
            check(net.out(end), &sent);
            let back = next_out(&net, end, seconds(3.03)).expect("it is back");
            assert!(back < Duration::from_secs(1), "{end}: {back}");
        }
    }
}

#[test]
fn a_recoder_that_restarts_loses_nothing() {
    for seed in 0..4 {
        let recoder = |id: u8| Role::Recoder { between: [NodeId(id - 1), NodeId(id + 1)] };
        let mut net = three_hops(recoder, [2, 3], 0.1, 3);
        net.stream = Seed::new(seed, 1).stream("net");
        let mut sent = BTreeMap::new();
        let mut next = 0;
        let mut restarted = false;
        net.run(seconds(8.0), |net| {
            if net.now >= seconds(3.0) && !restarted {
                restarted = true;
                let role = Role::Recoder { between: [NodeId(1), NodeId(3)] };
                let mut config = between(2, role, Field::Gf256);
                config.symbol_bytes = 1_300;
                let node = node(config, Seed::new(seed, 9).stream("new"), net.now);
                net.nodes.insert(NodeId(2), node);
            }
            if net.now >= seconds(1.0) && net.now < seconds(6.0) {
                let packet = packet(1, next, 700);
                net.send(1, &packet);
                sent.insert((1, next), packet);
                next += 1;
            }
            Some(net.now.max(seconds(0.99)) + Duration::from_millis(4))
        });
        check(net.out(4), &sent);
        let back = next_out(&net, 4, seconds(3.02)).expect("it is back");
        assert!(back < Duration::from_secs(1), "{back}");
        assert_eq!(net.out(4).len() as u64 + net.stats(1).backlog_drops, sent.len() as u64);
    }
}

#[test]
fn a_helper_that_vanishes_is_not_waited_for() {
    let mut net = helped(STREAM, None, [0.1, 0.1, 0.3], 1, 7);
    let mut sent = BTreeMap::new();
    chat(&mut net, seconds(0.5), seconds(2.0), &mut sent);
    net.nodes.remove(&NodeId(3));
    chat(&mut net, Instant::ZERO, seconds(4.0), &mut sent);
    check(net.out(2), &sent);
    let late = net.out(2).iter().filter(|(at, _)| *at >= seconds(3.0)).count();
    assert!(late >= 195, "{late} of 200 packets in the last second");
}

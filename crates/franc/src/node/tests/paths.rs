//! Paths that carry less than the ends' interfaces (RFC 8899), from the beginning or later.

use super::*;

/// A pair over a way of 12 Mb/s and 10 ms that carries datagrams of `carries` bytes at most.
fn narrow(carries: usize, loss: f64, seed: u64) -> Net {
    let mut link = Link::new(12.0, 10, loss);
    link.carries = carries;
    Net::pair(|_| {}, &link, seed)
}

fn set_carries(net: &mut Net, carries: usize) {
    net.links.values_mut().for_each(|link| link.carries = carries);
}

/// Longest datagrams that the ends send now.
fn lengths(net: &Net) -> [u16; 2] {
    [1, 2].map(|id| net.stats(id).path_datagram_bytes)
}

fn is_found(net: &Net, carries: usize) -> bool {
    let least = carries.min(1472).saturating_sub(8);
    lengths(net).iter().all(|&found| (least..=carries).contains(&usize::from(found)))
}

#[test]
fn the_longest_datagram_is_found() {
    for loss in [0.0, 0.1, 0.4] {
        for carries in [500, 1_000, 1_100, 1_200, 1_252, 1_400, 1_464, 1_472, 9_000] {
            let mut net = narrow(carries, loss, 1);
            let mut sent = BTreeMap::new();
            chat(
                &mut net,
                seconds(0.5),
                seconds(if carries < 1_200 { 25.0 } else { 15.0 }),
                &mut sent,
            );
            assert!(is_found(&net, carries), "{carries}, {loss}: {:?}", lengths(&net));
            for end in [1, 2] {
                check(net.out(end), &sent);
            }
            if carries >= 1_200 {
                let (lost, stats) = (net.stats(1), net.stats(2));
                assert_eq!((lost.symbols_lost, lost.sessions, stats.sessions), (0, 1, 1));
            }
        }
    }
}

#[test]
fn packets_that_are_too_long_go_in_pieces() {
    for (carries, loss) in [(1_300, 0.0), (1_300, 0.2), (1_210, 0.05)] {
        let mut net = narrow(carries, loss, 1);
        let mtu = net.nodes[&NodeId(1)].config().inner_mtu();
        assert!(mtu > carries);
        let goodput = saturate(&mut net, [1, 2], 10, mtu);
        let ideal = 12.0 * (1.0 - loss) * share_of_packets(carries - 47);
        assert!(goodput > 0.95 * ideal, "{carries}, {loss}: {goodput} of {ideal} Mb/s");
    }
}

/// Packets of all lengths that ends take, both ways.
fn talk(net: &mut Net, until: Instant, sent: &mut BTreeMap<(u8, u32), Vec<u8>>) {
    let mut next = sent.len() as u32 / 2;
    let longest = net.nodes[&NodeId(1)].config().inner_mtu();
    net.run(until, |net| {
        for (end, flow) in [(1, 1), (2, 2)] {
            let packet = packet(flow, next, 40 + (next as usize * 97) % (longest - 39));
            net.send(end, &packet);
            sent.insert((flow, next), packet);
        }
        next += 1;
        Some(net.now + Duration::from_millis(5))
    });
}

#[test]
fn a_path_that_changes_is_found_again() {
    let changes = [(1_472, 1_300), (1_300, 600), (600, 1_250), (1_000, 1_472), (1_472, 1_460)];
    for (before, after) in changes {
        let mut net = narrow(before, 0.02, 1);
        let mut sent = BTreeMap::new();
        talk(&mut net, seconds(25.0), &mut sent);
        assert!(is_found(&net, before), "{before}: {:?}", lengths(&net));
        set_carries(&mut net, after);
        let wait = if after > before { 65.0 } else { 10.0 };
        talk(&mut net, seconds(25.0 + wait), &mut sent);
        assert!(is_found(&net, after), "{before} to {after}: {:?}", lengths(&net));
        // Everything comes from then on.
        let settled = sent.len() as u32 / 2;
        talk(&mut net, seconds(30.0 + wait), &mut sent);
        let end = sent.len() as u32 / 2;
        net.run(seconds(32.0 + wait), |_| None);
        for id in [1, 2] {
            check(net.out(id), &sent);
            let came = net.out(id).iter().map(|(_, packet)| number(packet));
            let came = came.filter(|number| *number >= settled).count();
            assert_eq!(came, (end - settled) as usize, "{before} to {after}, at {id}");
        }
    }
}

/// Long datagrams that are recorded and replayed behind the narrow part of a path, where they
/// arrive, do not make the path look wide: no long datagram came for as long as the ends remember.
#[test]
fn recordings_are_no_proof_of_a_wide_path() {
    let mut net = narrow(1_472, 0.0, 1);
    let mut sent = BTreeMap::new();
    talk(&mut net, seconds(2.0), &mut sent);
    net.recorded = Some(Vec::new());
    talk(&mut net, seconds(3.0), &mut sent);
    let recorded = net.recorded.take().expect("it was recorded");
    let is_long = |flying: &Flying| flying.datagram.len() > 1_400;
    let recorded: Vec<Flying> = recorded.into_iter().filter(is_long).collect();
    assert!(recorded.len() > 10, "{}", recorded.len());
    set_carries(&mut net, 1_300);
    for turn in 0..100 {
        net.run(net.now + Duration::from_millis(10), |_| None);
        net.arrive(&recorded[turn % recorded.len()]);
    }
    for end in [1, 2] {
        assert_eq!(net.stats(end).sessions, 1);
        let now = net.now;
        let Part::End(part) = &mut net.nodes.get_mut(&NodeId(end)).expect("it is there").part
        else {
            panic!("it is an end")
        };
        let longest = part.longest_heard(now).expect("the session goes on");
        assert!(longest <= 1_300, "{end}: {longest}");
    }
}

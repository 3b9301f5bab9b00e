//! Two links between two ends: goodput against the sum of what the links carry, links that die and
//! come back, and attackers on one of them.

extern crate std;
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
        std::eprintln!(
            "{rate} {delay} {loss} + {rate_2} {delay_2} {loss_2}: {goodput} {share} {:?}",
            net.stats(1).links
        );
        assert!((0.9..1.02).contains(&share), "{goodput} Mb/s, {share} of the sum");
    }
}

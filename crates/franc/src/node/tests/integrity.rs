//! Packets come out once, unchanged and in order, whatever the way does to datagrams.

use super::*;

#[test]
fn losses_on_purpose_are_of_their_neighbour() {
    let lossy = |config: &mut Config| {
        config.synthetic = vec![
            SyntheticLoss { from: NodeId(1), loss: probability(0.25) },
            SyntheticLoss { from: NodeId(9), loss: probability(1.0) },
        ];
    };
    let mut net = Net::pair(lossy, &Link::new(12.0, 5, 0.0), 4);
    chat(&mut net, seconds(0.5), seconds(6.0), &mut BTreeMap::new());
    let loss = net.stats(2).neighbours[0].loss_in.expect("it heard something");
    assert!((loss - 0.25).abs() < 0.1, "{loss}");
    assert_eq!(net.stats(1).injected_losses, 0);
    assert_eq!(net.stats(1).neighbours[0].loss_in, Some(0.0));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, max_shrink_iters: 100, ..ProptestConfig::default() })]

    /// Whatever the way does to datagrams, packets come out unchanged, once, in order, and
    /// all of them if no session broke.
    #[test]
    fn nothing_comes_twice_or_changed(
        seed: u64,
        loss in 0.0..0.5f64,
        reorder in 0.0..0.3f64,
        duplicate in 0.0..0.3f64,
        corrupt in 0.0..0.1f64,
        delay_ms in 0u64..40,
        field in prop::sample::select(&[Field::Gf2, Field::Gf16, Field::Gf256][..]),
        block in 4u16..150,
        paper: bool,
        alone: bool,
    ) {
        let mut link = Link::new(12.0, delay_ms, loss);
        (link.reorder, link.duplicate, link.corrupt) = (reorder, duplicate, corrupt);
        let adjust = |config: &mut Config| {
            (config.field, config.block_symbols) = (field, block);
            // No drops in the backlog, so that everything must come out.
            config.backlog.target = None;
            if paper {
                config.mode = PAPER;
            }
            if alone {
                config.small = crate::config::Small::Alone;
            }
            config.rekey_blocks = 16;
            config.symbol_bytes = config.symbol_bytes_max();
        };
        let mut net = Net::pair(adjust, &link, seed);
        let mut sent = BTreeMap::new();
        chat(&mut net, seconds(0.5), seconds(2.0), &mut sent);
        let until = net.now + Duration::from_secs(60);
        net.run(until, |_| None);
        check(net.out(1), &sent);
        check(net.out(2), &sent);
        let idle = 120 * 200;
        prop_assert!(net.stats(1).datagram_bytes_sent < 20_000_000 + idle, "quiet when idle");
        prop_assert_eq!(net.stats(1).corrupt + net.stats(2).corrupt, 0);
        if net.stats(1).sessions == 1 && net.stats(2).sessions == 1 {
            let dropped = net.stats(1).backlog_drops + net.stats(2).backlog_drops;
            let out = net.out(1).len() + net.out(2).len();
            prop_assert_eq!(out as u64 + dropped, sent.len() as u64);
        }
    }
}

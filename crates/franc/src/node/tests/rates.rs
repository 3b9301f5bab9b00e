//! Goodput of a link and delays of packets: with losses, and with recoders and helpers.

use super::*;
use crate::config::{Reading, Small};
use crate::wire::Body;
use lasthop_rlnc::Vector;

#[test]
fn a_saturated_lossy_link_carries_what_the_losses_leave() {
    for loss in [0.0, 0.01, 0.05, 0.1, 0.2, 0.3] {
        let mut net = Net::pair(|_| {}, &Link::new(12.0, 10, loss), 1);
        let mtu = net.nodes[&NodeId(1)].config().inner_mtu();
        let goodput = saturate(&mut net, [1, 2], 10, mtu);
        let ideal = 12.0 * (1.0 - loss) * share_of_packets(mtu);
        // A second of ten is not in steady state; chance moves the losses by a percent.
        let share = goodput / ideal;
        assert!((0.97..1.02).contains(&share), "{loss}: {goodput} of {ideal} Mb/s");
        let redundant = net.stats(2).redundant as f64 / net.stats(1).source_sent as f64;
        assert!(redundant < 0.025, "{loss}: {redundant} of what was sent said nothing new");
    }
}

/// Share of the possible goodput on paths unlike a laboratory's.
fn share(link: &Link, seconds: u64) -> f64 {
    let mut net = Net::pair(|_| {}, link, 1);
    let mtu = net.nodes[&NodeId(1)].config().inner_mtu();
    let goodput = saturate(&mut net, [1, 2], seconds, mtu);
    goodput / (link.bytes_per_s * 8e-6 * (1.0 - link.loss) * share_of_packets(mtu))
}

#[test]
fn delays_that_vary_are_no_queue() {
    for (jitter_ms, loss) in [(2, 0.0), (8, 0.0), (20, 0.0), (8, 0.1)] {
        let mut link = Link::new(12.0, 10, loss);
        link.jitter = Duration::from_millis(jitter_ms);
        let share = share(&link, 10);
        assert!(share > 0.92, "{jitter_ms} ms, {loss}: {share} of what it carries");
    }
}

#[test]
fn what_is_overtaken_is_not_lost() {
    for (reorder, loss) in [(0.05, 0.0), (0.5, 0.0), (0.5, 0.1)] {
        let mut link = Link::new(12.0, 10, loss);
        link.reorder = reorder;
        let share = share(&link, 10);
        assert!(share > 0.92, "{reorder}, {loss}: {share} of what it carries");
    }
}

/// A link that is always busy keeps its queue near the target, and does not swing about it.
#[test]
fn the_queue_stays_near_its_target() {
    for rate in [4.0, 12.0, 50.0] {
        let mut net = Net::pair(|_| {}, &Link::new(rate, 10, 0.0), 1);
        let mtu = net.nodes[&NodeId(1)].config().inner_mtu();
        let mut queues = Vec::new();
        let mut count = 0;
        net.run(seconds(10.0), |net| {
            if net.now >= seconds(3.0) {
                let link = &net.links[&(NodeId(1), NodeId(2))];
                queues.push(link.free_at.saturating_since(net.now));
            }
            while net.stats(1).backlog_packets < 8 {
                net.send(1, &packet(1, count, mtu));
                count += 1;
            }
            Some(net.now + Duration::from_micros(500))
        });
        queues.sort_unstable();
        // The target is 5 ms at 12 Mb/s, and falls with the root of the rate.
        let target = Duration::from_secs_f64(5e-3 * libm::sqrt(12.0 / rate));
        let (median, p95) = (queues[queues.len() / 2], queues[queues.len() * 95 / 100]);
        assert!(median < target * 3 / 2, "{rate} Mb/s: {median}");
        assert!(p95 < target * 2, "{rate} Mb/s: {p95}");
    }
}

/// A queue of a few packets overflows before it shows in delays: its losses are not taken for the
/// way's, and are not compensated with redundancy.
#[test]
fn short_queues_are_not_overfilled() {
    for (rate, delay_ms, queue_ms, loss) in [
        (12.0, 10, 2, 0.0),
        (12.0, 10, 4, 0.0),
        (12.0, 10, 4, 0.1),
        (50.0, 10, 1, 0.0),
        (50.0, 10, 2, 0.1),
        (50.0, 1, 4, 0.2),
        (50.0, 1, 2, 0.3),
    ] {
        let mut link = Link::new(rate, delay_ms, loss);
        link.queue_max = Duration::from_millis(queue_ms);
        let mut net = Net::pair(|_| {}, &link, 1);
        let mtu = net.nodes[&NodeId(1)].config().inner_mtu();
        let goodput = saturate(&mut net, [1, 2], 20, mtu);
        let case = alloc::format!("{rate} Mb/s, {delay_ms} ms, {queue_ms} ms, {loss}");
        let share = goodput / (rate * (1.0 - loss) * share_of_packets(mtu));
        assert!(share > 0.94, "{case}: {share} of what it carries");
        let lost = net.stats(1).neighbours[0].loss_out.expect("it is known");
        assert!(lost < loss + 0.15, "{case}: {lost} lost");
    }
}

/// At ten times, for it matters what the rate control is just doing.
#[test]
fn another_rate_is_found_within_half_a_second() {
    for (before, after) in [(12.0, 6.0), (12.0, 24.0)] {
        let mut queues = Vec::new();
        for turn in 0..10 {
            let mut net = Net::pair(|_| {}, &Link::new(before, 10, 0.0), 1);
            let mtu = net.nodes[&NodeId(1)].config().inner_mtu();
            let changes = 5.0 + 0.037 * f64::from(turn);
            let [changes, found, end] = [0.0, 0.5, 1.5].map(|later| seconds(changes + later));
            let mut count = 0;
            let mut queue = Duration::ZERO;
            net.run(end, |net| {
                if net.now >= changes {
                    net.links.values_mut().for_each(|link| link.bytes_per_s = after * 1e6 / 8.0);
                }
                if net.now >= found {
                    let link = &net.links[&(NodeId(1), NodeId(2))];
                    queue = queue.max(link.free_at.saturating_since(net.now));
                }
                while net.stats(1).backlog_packets < 8 {
                    net.send(1, &packet(1, count, mtu));
                    count += 1;
                }
                Some(net.now + Duration::from_micros(500))
            });
            let late = net.out(2).iter().filter(|(at, _)| *at > found);
            let goodput = late.map(|(_, packet)| packet.len()).sum::<usize>() as f64 * 8e-6;
            let ideal = after * share_of_packets(mtu);
            assert!(goodput > 0.9 * ideal, "{before} to {after}: {goodput} of {ideal} Mb/s");
            queues.push(queue);
        }
        queues.sort_unstable();
        let (most, worst) = (queues[8], queues[9]);
        assert!(most < Duration::from_millis(40), "{before} to {after}: {queues:?}");
        assert!(worst < Duration::from_millis(45), "{before} to {after}: {queues:?}");
    }
}

/// Every so often a packet each way; how long each took.
fn sparse(net: &mut Net, interval: Duration, count: u32) -> Vec<Duration> {
    let mut sent = BTreeMap::new();
    let mut at = BTreeMap::new();
    let mut next = 0;
    let begin = Instant::ZERO + Duration::from_secs(1);
    net.run(begin + interval * u64::from(count + 20), |net| {
        if net.now >= begin && next < count {
            let packet = packet(3, next, 84);
            net.send(1, &packet);
            sent.insert((3, next), packet);
            at.insert(next, net.now);
            next += 1;
        }
        Some(net.now.max(begin - interval) + interval)
    });
    check(net.out(2), &sent);
    assert_eq!(net.out(2).len(), count as usize, "nothing is lost");
    let mut delays: Vec<_> = net.out(2).iter().map(|(t, p)| *t - at[&number(p)]).collect();
    delays.sort_unstable();
    delays
}

/// A flow that leaves most of a long way free, evenly and in bursts. Losses are repaired before
/// they are reported, also behind the combinations in flight. The cost is part of the free
/// capacity.
fn what_is_lost_is_made_up_for_at_once(loss: f64, interval_us: u64, burst: u32, combinations: f64) {
    const SEEDS: u64 = 4;
    let (mut late, mut coded) = (0.0, 0.0);
    for seed in 0..SEEDS {
        let mut net = Net::pair(|_| {}, &Link::new(100.0, 40, loss), seed);
        let mtu = net.nodes[&NodeId(1)].config().inner_mtu();
        let mut sent_at = BTreeMap::new();
        let mut count = 0;
        net.run(seconds(13.0), |net| {
            if net.now >= seconds(2.0) && net.now < seconds(12.0) {
                for _ in 0..burst {
                    net.send(1, &packet(1, count, mtu));
                    sent_at.insert(count, net.now);
                    count += 1;
                }
            }
            Some(net.now + Duration::from_micros(interval_us))
        });
        // Until the rate is known some may wait for too long.
        let stats = net.stats(1);
        let came = net.out(2).len() as u64 + stats.backlog_drops;
        assert_eq!((came, stats.symbols_lost), (u64::from(count), 0), "nothing is lost");
        // And until then a burst takes long, and a round trip more than once is late.
        let known = net.out(2).iter().filter(|(_, packet)| number(packet) > count / 5);
        let bound = Duration::from_millis(40 + 20);
        let known_late = known.filter(|(at, packet)| *at - sent_at[&number(packet)] > bound);
        late += known_late.count() as f64 / (f64::from(count) * 0.8) / SEEDS as f64;
        coded += stats.coded_sent as f64 / stats.source_sent as f64 / SEEDS as f64;
    }
    let case = alloc::format!("{loss}, {burst} every {interval_us} us");
    assert!(late < 0.04, "{case}: {late} of the packets were late");
    assert!(coded < combinations, "{case}: {coded} combinations a symbol");
}

#[test]
fn what_is_lost_on_a_free_way_is_made_up_for_at_once() {
    what_is_lost_is_made_up_for_at_once(0.1, 2_000, 1, 0.8);
    what_is_lost_is_made_up_for_at_once(0.03, 40_000, 100, 0.2);
}

#[test]
#[ignore = "a campaign"]
fn what_is_lost_of_more_traffic_on_a_free_way_is_made_up_for_at_once() {
    what_is_lost_is_made_up_for_at_once(0.03, 2_000, 1, 0.4);
    what_is_lost_is_made_up_for_at_once(0.03, 300, 1, 0.2);
}

#[test]
fn sparse_packets_wait_a_round_trip_and_a_timeout_at_most() {
    let mut net = Net::pair(|_| {}, &Link::new(12.0, 10, 0.2), 2);
    let delays = sparse(&mut net, Duration::from_millis(50), 2_000);
    let p99 = delays[delays.len() * 99 / 100];
    // The bare link takes 10 ms; a round trip 20, the encoder timeout 20.
    assert!(p99 <= Duration::from_millis(10 + 20 + 20), "{p99}");
    assert!(delays[delays.len() / 2] < Duration::from_millis(11));
}

#[test]
fn recoders_make_three_lossy_hops_as_good_as_one() {
    let recoder = |id: u8| Role::Recoder { between: [NodeId(id - 1), NodeId(id + 1)] };
    // End to end: what three ways leave, over one way as fast with their losses together.
    let lost = 1.0 - 0.8f64.powi(3);
    let mut link = Link::new(12.0, 9, lost);
    link.queue_max = Duration::from_millis(100);
    let both = |seed| {
        let mut net = three_hops(recoder, [2, 3], 0.2, seed);
        let recoded = saturate(&mut net, [1, 4], 6, 1_279);
        let mut net = Net::pair(|config| config.symbol_bytes = 1_300, &link, seed);
        (recoded, saturate(&mut net, [1, 2], 6, 1_279))
    };
    // Chance moves what a way carries in six seconds by a percent or two.
    let runs: Vec<_> = (3..8).map(both).collect();
    let recoded = runs.iter().map(|run| run.0).sum::<f64>() / runs.len() as f64;
    let plain = runs.iter().map(|run| run.1).sum::<f64>() / runs.len() as f64;
    assert!(recoded > 0.93 * 12.0 * 0.8 * share_of_packets(1_279), "{recoded} Mb/s");
    assert!(recoded > 1.5 * plain, "{recoded} and {plain} Mb/s");
}

/// Bytes that source and helpers sent for each that came out.
fn cost(net: &Net, helpers: u8) -> f64 {
    let sent = |id: u8| net.stats(id).datagram_bytes_sent as f64;
    let all: f64 = sent(1) + (3..3 + helpers).map(sent).sum::<f64>();
    all / net.stats(2).bytes_out as f64
}

/// Goodput in Mb/s and cost with `helpers` helpers, over a bad link with good ways around.
fn with_helpers(mode: Mode, losses: Option<Losses>, helpers: u8) -> (f64, f64) {
    let mut net = helped(mode, losses, [0.3, 0.3, 0.6], helpers, 5);
    let goodput = saturate(&mut net, [1, 2], 5, 1_300);
    (goodput, cost(&net, helpers))
}

#[test]
fn helpers_spare_the_source_and_the_air() {
    let given = Losses { e1: probability(0.3), e2: probability(0.3), e3: probability(0.6) };
    for losses in [None, Some(given)] {
        let [alone, one, two] = [0, 1, 2].map(|helpers| with_helpers(STREAM, losses, helpers));
        // Helpers have air of their own here: the bound is what the destination or any helper
        // hears of the source.
        for (helpers, (goodput, _)) in [(0, alone), (1, one), (2, two)] {
            let heard = 1.0 - 0.6 * 0.3f64.powi(helpers);
            let share = goodput / (12.0 * heard * share_of_packets(1_300));
            assert!((0.7..=1.0).contains(&share), "{helpers} helpers: {share} of the bound");
        }
        assert!(one.1 < alone.1 && two.1 < one.1, "{alone:?} {one:?} {two:?}");
        let [alone, one] = [0, 1].map(|helpers| with_helpers(PAPER, losses, helpers));
        assert!(one.1 < 0.9 * alone.1, "{alone:?} {one:?}");
    }
}

/// In the paper's mode each symbol's packets are sent before the next packet is read, so that
/// combinations grow with the block; in a burst they are of all packets that waited from the first
/// on.
#[test]
fn the_papers_encoder_reads_packet_by_packet() {
    for (read, expected) in [(Reading::Packet, [1, 2, 3]), (Reading::Burst, [3, 3, 3])] {
        let rules = PaperRules { read, ..PaperRules::TEXT };
        let mode = Mode::Paper { overshoot: 1.0, systematic: false, rules };
        let link = Link::new(12.0, 1, 0.0);
        let adjust = |config: &mut Config| {
            config.mode = mode;
            let none = Probability::ZERO;
            config.losses = Some(Losses { e1: none, e2: none, e3: none });
            config.small = Small::Alone;
            config.symbol_bytes = 1_400;
        };
        let mut net = Net::pair(adjust, &link, 1);
        let begin = seconds(1.0);
        let mut is_sent = false;
        net.run(seconds(1.5), |net| {
            if net.now >= begin && !is_sent {
                is_sent = true;
                net.recorded = Some(Vec::new());
                (0..3).for_each(|number| net.send(1, &packet(1, number, 1_000)));
            }
            (!is_sent).then_some(begin)
        });
        let field = net.nodes[&NodeId(1)].config().field;
        let recorded = net.recorded.take().expect("it was recorded");
        let encoded =
            recorded.iter().filter(|flying| flying.from == NodeId(1)).filter_map(|flying| {
                match crate::wire::parse(&flying.datagram, field) {
                    Ok(Body::Enc(enc)) => match enc.vector {
                        Vector::Seeded { count, .. } => Some(count),
                        _ => None,
                    },
                    _ => None,
                }
            });
        assert_eq!(encoded.take(3).collect::<Vec<_>>(), expected, "{read:?}");
        assert_eq!(net.out(2).len(), 3);
    }
}

#[test]
fn ways_that_take_seconds_are_used_and_lose_nothing() {
    for delay_ms in [700, 1_500] {
        for seed in 0..4 {
            let mut net = Net::pair(|_| {}, &Link::new(12.0, delay_ms, 0.0), seed);
            let delays = sparse(&mut net, Duration::from_millis(400), 60);
            let link = Duration::from_millis(delay_ms);
            assert!(delays[delays.len() / 2] < link + link / 4, "{delay_ms} ms: {seed}");
        }
    }
}

/// Few of the datagrams sent in the last seconds are redundant, after delays have become longer
/// than any timeout.
#[test]
fn what_is_late_is_soon_waited_for() {
    let mut net = Net::pair(|_| {}, &Link::new(12.0, 10, 0.0), 1);
    let mut sent = BTreeMap::new();
    let mut counts = Vec::new();
    chat(&mut net, seconds(1.0), seconds(3.0), &mut sent);
    net.links.values_mut().for_each(|link| link.delay = Duration::from_millis(400));
    for until in [8.0, 14.0] {
        chat(&mut net, seconds(1.0), seconds(until), &mut sent);
        counts.push((net.stats(2).redundant, net.stats(1).source_sent));
    }
    check(net.out(2), &sent);
    let (redundant, source) = (counts[1].0 - counts[0].0, counts[1].1 - counts[0].1);
    assert!(redundant * 20 < source, "{redundant} of {source} came for nothing");
    assert_eq!(net.stats(1).sessions, 1, "late is not gone");
}

/// On long, fat, lossy ways a block costs no more datagrams than its losses require: a symbol
/// without an acknowledgement is not lost yet.
#[test]
fn long_fat_lossy_ways_are_not_flooded() {
    // At 300 Mb/s all blocks in flight are those of less than three round trips.
    for (mbps, loss, least) in [(160.0, 0.1, 0.85), (160.0, 0.2, 0.85), (300.0, 0.1, 0.75)] {
        let mut net = Net::pair(|_| {}, &Link::new(mbps, 55, loss), 1);
        let mtu = net.nodes[&NodeId(1)].config().inner_mtu();
        let mut next = 0;
        let mut feed = |net: &mut Net, until: f64| {
            net.run(seconds(until), |net| {
                while net.stats(1).backlog_packets < 900 {
                    net.send(1, &packet(1, next, mtu));
                    next += 1;
                }
                Some(net.now + Duration::from_millis(2))
            });
            let (source, destination) = (net.stats(1), net.stats(2));
            let sent = source.source_sent + source.coded_sent;
            [sent, destination.innovative, net.out(2).len() as u64].map(|count| count as f64)
        };
        let before = feed(&mut net, 2.5);
        let after = feed(&mut net, 4.0);
        let [sent, innovative, came] = core::array::from_fn(|at| after[at] - before[at]);
        let per_block = 64.0 * sent / innovative;
        let ideal = 64.0 / (1.0 - loss);
        assert!(per_block < 1.04 * ideal, "{mbps} Mb/s, {loss}: {per_block} for {ideal}");
        let goodput = came * mtu as f64 * 8e-6 / 1.5;
        let share = goodput / (mbps * (1.0 - loss) * share_of_packets(mtu));
        assert!(share > least, "{mbps} Mb/s, {loss}: {share} of what it carries");
    }
}

/// Small packets every millisecond against 28 Mb/s: they leave with the acknowledgements of these, so
/// in fewer datagrams than without them. The 200 a second that 5 ms allow cost airtime on Wi-Fi.
#[test]
fn a_little_data_leaves_with_the_acknowledgement_that_is_due() {
    for has_data in [false, true] {
        let mut net = Net::pair(|_| {}, &Link::new(50.0, 5, 0.0), 1);
        let (mut sent, mut count, mut before) = (BTreeMap::new(), 0, Stats::default());
        let mut entered = BTreeMap::new();
        net.run(seconds(5.0), |net| {
            if net.now < seconds(1.0) {
                before = net.stats(2);
                return Some(seconds(1.0));
            }
            for (from, flow, every, length) in [(1, 1, 2, 1_400), (2, 2, 5, 52)] {
                if count % every == 0 && (has_data || from == 2) {
                    let packet = packet(flow, count, length);
                    net.send(from, &packet);
                    sent.insert((flow, count), packet);
                    entered.insert((flow, count), net.now);
                }
            }
            count += 1;
            Some(net.now + Duration::from_micros(200))
        });
        check(net.out(1), &sent);
        let a_second = (net.stats(2).source_sent - before.source_sent) as f64 / 4.0;
        let expected = if has_data { 50.0..150.0 } else { 180.0..205.0 };
        assert!(expected.contains(&a_second), "{has_data}: {a_second} symbols a second");
        // They wait no longer than an acknowledgement, 10 ms, before the 5 ms of the way.
        let delays = net.out(1).iter().map(|(at, packet)| *at - entered[&(2, number(packet))]);
        let longest = delays.max().expect("there are some");
        assert!(longest < Duration::from_millis(18), "{has_data}: {longest}");
    }
}

/// On a path with a short round trip a flow with a small window waits for each of its packets: a
/// little data leaves after 5 ms, not with the acknowledgement that is due after 10 ms.
#[test]
fn a_little_data_waits_for_two_short_round_trips_at_most() {
    let mut net = Net::pair(|_| {}, &Link::new(50.0, 1, 0.0), 1);
    let (mut entered, mut count) = (BTreeMap::new(), 0);
    net.run(seconds(3.0), |net| {
        if net.now < seconds(1.0) {
            return Some(seconds(1.0));
        }
        for (from, every, length) in [(1, 2, 1_400), (2, 5, 52)] {
            if count % every == 0 {
                net.send(from, &packet(from, count, length));
                entered.insert((from, count), net.now);
            }
        }
        count += 1;
        Some(net.now + Duration::from_micros(200))
    });
    let delays = net.out(1).iter().map(|(at, packet)| *at - entered[&(2, number(packet))]);
    let longest = delays.max().expect("there are some");
    assert!(longest < Duration::from_millis(8), "{longest}");
}

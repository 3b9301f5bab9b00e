//! A day in virtual time: sparse packets both ways without an end, and every counter that wraps:
//! 16-bit numbers of packets (after 65 536 of a flow), 32-bit clocks in microseconds (after 71.6
//! minutes), keys (hundreds), numbers of datagrams (forged: 2^32 would take too long).

use super::*;

/// Hours that the default run takes: more than a clock needs to wrap.
const HOURS: f64 = 1.25;

/// A packet each way so often: a flow's numbers wrap in less than [`HOURS`].
const INTERVAL: Duration = Duration::from_millis(50);

/// Time at which a clock of 32 bits in microseconds begins anew.
const CLOCK_WRAPS: Instant = Instant::from_nanos(1_000 << 32);

/// Ends that send packets, each with its flow.
const TALKERS: [(u8, u8); 2] = [(1, 1), (2, 2)];

fn nth_packet(flow: u8, nth: u32) -> Vec<u8> {
    packet(flow, nth, 40 + (nth as usize * 97) % 400)
}

/// Two ends exchange packets for `hours` hours over a way that loses, doubles and reorders. Every
/// minute they are silent for a second; then, and where numbers or clocks wrap, two hundred packets
/// come at once. Packets are compared on delivery, so that memory is the machines' alone.
fn soak(hours: f64, interval: Duration) -> Net {
    let mut link = Link::new(12.0, 10, 0.03);
    (link.reorder, link.duplicate) = (0.02, 0.02);
    let adjust = |config: &mut Config| {
        // Symbols of one packet and short blocks: new keys every few seconds.
        config.small = crate::config::Small::Alone;
        (config.block_symbols, config.rekey_blocks) = (16, 16);
        (config.symbol_bytes, config.backlog.target) = (600, None);
    };
    let mut net = Net::pair(adjust, &link, 24);
    let (mut next, mut came) = (0, [0; 2]);
    let mut lengths = Vec::new();
    let end = seconds(hours * 3_600.0);
    let mut until = seconds(1.0);
    net.run(until, |_| None);
    while net.now < end {
        let rest = net.now + Duration::from_secs(59);
        let mut burst = 200;
        net.run(rest, |net| {
            let wraps = CLOCK_WRAPS.saturating_since(net.now);
            if next & 0xffff == 0xff9c || (wraps > Duration::ZERO && wraps <= interval) {
                // Numbers wrap while packets of before are missing, the clock while packets are
                // in flight.
                burst = 200;
            }
            // The way has no queue; what it holds back it holds for 8 ms. A delay that was
            // reckoned over the end of the clock would be 10 ms off for seconds.
            let wrapped = net.now.saturating_since(CLOCK_WRAPS);
            if wrapped > Duration::from_millis(500) && wrapped < Duration::from_secs(4) {
                let delays = TALKERS.map(|(end, _)| net.stats(end).queue_delay);
                assert!(delays.iter().all(|&delay| delay < Duration::from_millis(9)), "{delays:?}");
            }
            for _ in 0..core::mem::replace(&mut burst, 1) {
                for (end, flow) in TALKERS {
                    net.send(end, &nth_packet(flow, next));
                }
                next += 1;
            }
            Some(net.now + interval)
        });
        until += Duration::from_secs(60);
        net.run(until, |_| None);
        for ((end, flow), came) in TALKERS.into_iter().zip(&mut came) {
            for (_, packet) in net.out.remove(&NodeId(3 - end)).unwrap_or_default() {
                assert_eq!(packet, nth_packet(flow, *came), "{}: packet {came} of {end}", net.now);
                *came += 1;
            }
            assert_eq!(*came, next, "{}: all of {end} came", net.now);
        }
        // What the machines say of themselves is as long as what they hold.
        lengths.push(net.nodes.values().map(|node| alloc::format!("{node:?}").len()).sum());
    }
    for (end, _) in TALKERS {
        let (stats, other) = (net.stats(end), net.stats(3 - end));
        assert_eq!(stats.packets_in, u64::from(next));
        assert_eq!(stats.packets_in, other.packets_out + stats.backlog_drops);
        assert_eq!(stats.bytes_in, other.bytes_out);
        assert_eq!((stats.backlog_packets, stats.refused), (0, 0));
        assert_eq!((stats.sessions, stats.symbols_lost, stats.corrupt), (1, 0, 0));
        assert!(stats.blocks_begun - stats.blocks_done <= 1, "{stats:?}");
        assert!(stats.blocks_done * 16 >= u64::from(next) - 16, "{stats:?}");
        // Of what was sent some was lost, and some came twice.
        let sent = other.source_sent + other.coded_sent;
        let heard = stats.innovative + stats.redundant + stats.stale;
        let share = heard as f64 / sent as f64;
        assert!((0.96..0.98).contains(&share), "{share} of {sent} were heard");
        let loss = stats.neighbours[0].loss_in.expect("there was traffic");
        assert!((0.0..0.12).contains(&loss), "{loss}");
        assert!(stats.replayed > 0 && stats.acks_sent > 1_000, "{stats:?}");
    }
    let (first, all): (usize, usize) =
        (lengths[..10].iter().copied().max().expect("ten minutes"), lengths.len());
    let last = lengths[all - 10..].iter().copied().max().expect("ten minutes");
    assert!(last < first + first / 4, "{first} bytes of text in the beginning, {last} at the end");
    net
}

/// Numbers and clocks wrap, keys change, nothing is lost.
#[test]
fn an_hour_and_a_quarter_of_sparse_packets_is_carried() {
    let net = soak(HOURS, INTERVAL);
    let stats = net.stats(1);
    assert!(stats.packets_in > u64::from(u16::MAX), "the numbers of a flow wrap");
    assert!(net.now > CLOCK_WRAPS + Duration::from_secs(4), "the clock wraps");
    assert!(stats.blocks_done / 16 > 300, "keys change");
}

#[test]
#[ignore = "a campaign"]
fn a_day_of_sparse_packets_is_carried() {
    soak(24.0, INTERVAL * 2);
}

/// An end or a helper hears that its numbers are about to run out: the ends begin a session
/// with new ones and go on within a second of that.
#[test]
fn numbers_that_run_out_begin_anew() {
    for highest in [u32::MAX / 4 * 3, u32::MAX - 1, u32::MAX] {
        let mut net = helped(STREAM, None, [0.1, 0.1, 0.1], 1, 7);
        let mut sent = BTreeMap::new();
        chat(&mut net, seconds(0.5), seconds(2.0), &mut sent);
        let (session, tagger) = strangers::tagger_of(&mut net);
        // As the neighbour would say it.
        for (sender, to, node) in [(2, 1, 1), (1, 2, 2), (2, 1, 3)] {
            let [sender, to, node] = [sender, to, node].map(NodeId);
            let header = Header { sender, to, session, number: 1_000_000 };
            let link =
                wire::LinkReport { node, highest, received: 1, heard_at_us: 0, delay_4us: 0 };
            let ack = wire::Ack { links: vec![link], ..wire::Ack::default() };
            let mut datagram = Vec::new();
            wire::emit(&header, &Body::Ack(ack), &mut datagram);
            tagger.seal(&mut datagram);
            let now = net.now;
            for node in net.nodes.values_mut() {
                node.handle_datagram(now, Address::Node(header.sender), &datagram);
            }
        }
        let forged_at = net.now;
        chat(&mut net, Instant::ZERO, forged_at + Duration::from_secs(4), &mut sent);
        for end in [1, 2] {
            check(net.out(end), &sent);
            let late =
                net.out(end).iter().filter(|(at, _)| *at > forged_at + Duration::from_secs(2));
            assert!(late.count() >= 395, "{highest}: {end} hears all of the last two seconds");
            assert_eq!(net.stats(end).sessions, 2, "{highest}");
        }
    }
}

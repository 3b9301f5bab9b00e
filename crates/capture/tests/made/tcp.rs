//! Segments that others overtake, and segments that are sent again.

use crate::feed::{Feed, MS, US};
use lasthop_capture::document::{CaptureDocument, FlowDirectionSummary};
use lasthop_capture::finding::Kind;
use lasthop_capture::link::LinkType;

/// Segment `n` with 1 000 bytes, and an identification.
fn segment(n: u32, id: u16) -> Vec<u8> {
    let mut packet = vec![0x45, 0, 4, 16];
    packet.extend(id.to_be_bytes());
    packet.extend([0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    packet.extend([0x13, 0x88, 0xc0, 0]);
    packet.extend((1 + n * 1_000).to_be_bytes());
    packet.extend([0, 0, 0, 1, 0x50, 0x10, 0xff, 0xff, 0, 0, 0, 0]);
    packet.resize(1_040, 0);
    packet
}

/// Segments by number, identification and time in us.
fn heard(
    segments: impl Iterator<Item = (u32, u16, u64)>,
) -> (CaptureDocument, FlowDirectionSummary) {
    let mut feed = Feed::new(LinkType::Ip);
    segments.for_each(|(n, id, at_us)| feed.packet(at_us * US, &segment(n, id)));
    let document = feed.document();
    let flow = document.flows.values().next().unwrap().from.values().next().unwrap().clone();
    (document, flow)
}

/// Of 1 200 segments every thirtieth comes `late` places later, `wait_us` behind the one before it.
fn overtaken(
    late: u32,
    wait_us: u64,
    id: impl Fn(u32, bool) -> u16,
) -> (CaptureDocument, FlowDirectionSummary) {
    let mut order: Vec<(u32, bool)> = (0..1_200).map(|n| (n, false)).collect();
    for at in (10..1_200).step_by(30) {
        let (n, _) = order.remove(at);
        order.insert(at + late as usize, (n, true));
    }
    let mut at_us = 0;
    heard(order.into_iter().map(move |(n, is_late)| {
        at_us += if is_late { wait_us } else { 12 };
        (n, id(n, is_late), at_us)
    }))
}

#[test]
fn what_is_overtaken_is_not_sent_again() {
    // A few us later, by identification; half a second later, too; without one, by the time.
    for (document, flow) in [
        overtaken(3, 12, |n, _| n as u16),
        overtaken(12, 500_000, |n, _| (n as u16).wrapping_add(65_000)),
        overtaken(3, 12, |_, _| 0),
    ] {
        assert_eq!(
            (flow.segments, flow.retransmissions, flow.out_of_order),
            (Some(1_200), Some(0), Some(40))
        );
        assert_eq!(flow.payload_bytes, 1_200_000);
        assert!(document.findings.iter().all(|finding| finding.kind != Kind::TcpLoss));
    }
}

/// Lost before the monitor and sent again: a later identification, or a long time.
#[test]
fn what_comes_with_a_later_number_was_sent_again() {
    for (document, flow) in [
        overtaken(12, 40, |n, late| if late { n as u16 + 13 } else { n as u16 }),
        overtaken(12, 40_000, |_, _| 0),
    ] {
        assert_eq!((flow.retransmissions, flow.out_of_order), (Some(40), Some(0)));
        assert_eq!((flow.segments, flow.payload_bytes), (Some(1_200), 1_200_000));
        assert!(document.findings.iter().any(|finding| finding.kind == Kind::TcpLoss));
    }
}

/// Bytes that were seen twice were sent again, also soon; a capture that begins behind a segment
/// has not seen it.
#[test]
fn what_was_seen_was_sent_again() {
    let twice = (0..600u32).flat_map(|n| {
        [(n, n as u16 * 2, u64::from(n) * 100), (n, n as u16 * 2 + 1, u64::from(n) * 100 + 50)]
    });
    let (_, flow) = heard(twice);
    assert_eq!(
        (flow.retransmissions, flow.out_of_order, flow.payload_bytes),
        (Some(600), Some(0), 600_000)
    );
    let (_, flow) = heard(
        [(5, 5, 0), (4, 4, 10), (2, 2, 20), (3, 3, 30), (6, 6, 40), (3, 7, 50 * MS / US)]
            .into_iter(),
    );
    assert_eq!(
        (flow.retransmissions, flow.out_of_order, flow.payload_bytes),
        (Some(1), Some(3), 5_000)
    );
}

//! Packets, by the tables of RFC 8325 and IEEE 802.11, and the worked example of RFC 791.

use super::*;

/// User priorities are those of RFC 8325, figure 1.
#[test]
fn user_priorities_are_those_of_rfc_8325() {
    let table = [
        (48, 7),
        (56, 7),
        (46, 6),
        (44, 6),
        (40, 5),
        (34, 4),
        (36, 4),
        (38, 4),
        (32, 4),
        (26, 4),
        (24, 4),
        (18, 3),
        (22, 3),
        (16, 0),
        (10, 0),
        (0, 0),
        (8, 1),
    ];
    for (dscp, priority) in table {
        assert_eq!(user_priority(dscp), priority, "DSCP {dscp}");
    }
}

#[test]
fn a_category_comes_back_from_its_code_point() {
    for category in AccessCategory::ALL {
        assert_eq!(AccessCategory::from_dscp(category.dscp()), category);
    }
}

/// IEEE 802.11-2020, table 10-1: user priorities, which are TIDs, and their categories.
#[test]
fn categories_are_those_of_the_table() {
    use AccessCategory::{Background, BestEffort, Video, Voice};
    let table = [BestEffort, Background, Background, BestEffort, Video, Video, Voice, Voice];
    for (priority, category) in (0..).zip(table) {
        assert_eq!(AccessCategory::from_user_priority(priority), category, "{priority}");
    }
    for (index, category) in AccessCategory::ALL.into_iter().enumerate() {
        assert_eq!(AccessCategory::from_user_priority(category.tid()), category);
        assert_eq!(category.index(), index);
    }
    assert!(Background < BestEffort && BestEffort < Video && Video < Voice);
    assert_eq!((NodeId(513).index(), NodeId(0).index()), (513, 0));
}

/// RFC 791, appendix A, example 2: 452 bytes of data after 20 of header, through a network with an
/// MTU of 280: parts of 276 and 216 bytes, the second with offset 32.
#[test]
fn parts_are_those_of_the_rfc() {
    let [first, second] = [Fragment::new(0, true, 472), Fragment::new(256, false, 472)];
    assert_eq!((first.header_bits(), second.header_bits()), (1 << 13, 32));
    assert_eq!((first.offset_bytes(), second.offset_bytes()), (0, 256));
    assert!(first.more() && !second.more());
    assert!(!first.is_whole() && !second.is_whole());
    assert_eq!((first.whole_bytes(), second.whole_bytes()), (472, 472));
    let whole = Fragment::WHOLE;
    assert!(whole.is_whole() && !whole.more());
    assert_eq!((whole.header_bits(), whole.offset_bytes(), whole.whole_bytes()), (0, 0, 0));
    let last = Fragment::new(65_528, false, u16::MAX);
    assert_eq!((last.header_bits(), last.offset_bytes()), (0x1fff, 65_528));
}

/// RFC 3168, section 5: a queue marks ECN-capable packets, and drops the others.
#[test]
fn marks_are_set_on_what_is_capable_of_them() {
    let mut packet = Packet::new(1, 1500, Instant::from_nanos(7));
    let (arrived, bytes) = (aqm::Queueable::arrived(&packet), aqm::Queueable::len_bytes(&packet));
    assert_eq!((arrived.as_nanos(), bytes), (7, 1500));
    assert_eq!(packet.ecn(), Ecn::NotCapable);
    assert!(!aqm::Queueable::mark(&mut packet));
    assert_eq!(packet.ecn(), Ecn::NotCapable);
    packet.ecn_capable = true;
    assert_eq!(packet.ecn(), Ecn::Capable0);
    for _ in 0..2 {
        assert!(aqm::Queueable::mark(&mut packet), "a marked one may be marked again");
        assert_eq!(packet.ecn(), Ecn::Congestion);
    }
}

/// RFC 9331, 4.1 and 5.1: ECT(1) is marked as ECT(0) is, with the same CE.
#[test]
fn both_capable_codepoints_become_the_same_mark() {
    for (ecn_l4s, before) in [(false, Ecn::Capable0), (true, Ecn::Capable1)] {
        let packet = Packet::new(1, 1500, Instant::ZERO);
        assert_eq!(Packet { ecn_l4s, ..packet }.ecn(), Ecn::NotCapable);
        let mut packet = Packet { ecn_capable: true, ecn_l4s, ..packet };
        assert_eq!(packet.ecn(), before);
        assert!(aqm::Queueable::mark(&mut packet));
        assert_eq!(packet.ecn(), Ecn::Congestion);
    }
}

/// A packet is copied some ten times on its way: 8 bytes more were 21 instructions of 596 a packet in an
/// A-MPDU.
#[test]
fn packets_are_small() {
    assert_eq!(size_of::<Packet>(), 112);
}

/// Each part is a different digit, so the total shows that each is in the sum once.
#[test]
fn every_part_is_in_the_total() {
    let digit = |place: u32| Duration::from_nanos(10_u64.pow(place));
    let parts = DelayParts {
        queue: digit(0),
        absent: Absent::new(digit(1), digit(2), digit(8)),
        contention: digit(3),
        retries: digit(4),
        air: digit(5),
        reorder: digit(6),
        wire: digit(7),
    };
    assert_eq!(parts.total().as_nanos(), 111_111_111);
}

/// Consecutive releases of one flow of one node are reported together.
#[test]
fn releases_are_told_together() {
    let mut list = VecDeque::new();
    let sequence = [(1, 5, 1500), (1, 5, 40), (1, 6, 100), (2, 6, 200), (1, 5, 300)];
    for (source, flow, bytes) in sequence {
        let packet = Packet::new(0, bytes, Instant::ZERO);
        let packet = Packet { source: NodeId(source), flow: FlowId(flow), ..packet };
        Released::book(&packet, &mut list);
        assert_eq!(Released::from_packet(&packet), None, "nobody asked");
        Released::book(&Packet { notify: true, ..packet }, &mut list);
    }
    let told: alloc::vec::Vec<_> =
        list.iter().map(|r| (r.source.0, r.flow.0, r.packets, r.bytes)).collect();
    assert_eq!(told, [(1, 5, 2, 1540), (1, 6, 1, 100), (2, 6, 1, 200), (1, 5, 1, 300)]);
}

//! Superseded acknowledgements, judged by a table of CAKE's decisions (`ack-filter` of
//! Linux 6.12, and the message of its commit 8b7138814f29), and by the information of a sequence of
//! acknowledgements before and after the backlog.

use super::super::{Backlog, BacklogConfig};
use super::is_superseded;
use alloc::collections::BTreeSet;
use alloc::vec;
use alloc::vec::Vec;
use lasthop_units::{Duration, Instant};
use proptest::prelude::*;

const KEYS: [u64; 2] = [1, 2];

/// The fields of an acknowledgement, or of a segment like it.
#[derive(Clone, Debug, PartialEq)]
struct Fields {
    is_v6: bool,
    ports: [u16; 2],
    class: u8,
    sequence: u32,
    number: u32,
    /// The reserved bits with AE, and the flags.
    flags: u16,
    window: u16,
    times: Option<[u32; 2]>,
    sack: Vec<[u32; 2]>,
    /// Options behind these, as bytes.
    options: Vec<u8>,
    payload: usize,
}

fn ack(number: u32) -> Fields {
    Fields {
        is_v6: false,
        ports: [5_000, 443],
        class: 0,
        sequence: 77,
        number,
        flags: 0x10,
        window: 500,
        times: Some([1_000, 900]),
        sack: Vec::new(),
        options: Vec::new(),
        payload: 0,
    }
}

fn sack(number: u32, blocks: &[[u32; 2]]) -> Fields {
    Fields { sack: blocks.to_vec(), ..ack(number) }
}

fn flags(number: u32, flags: u16) -> Fields {
    Fields { flags, ..ack(number) }
}

fn times(number: u32, times: Option<[u32; 2]>) -> Fields {
    Fields { times, ..ack(number) }
}

impl Fields {
    fn bytes(&self) -> Vec<u8> {
        let mut options = Vec::new();
        if let Some([value, echo]) = self.times {
            options.extend([1, 1, 8, 10]);
            options.extend([value, echo].map(u32::to_be_bytes).as_flattened());
        }
        if !self.sack.is_empty() {
            options.extend([1, 1, 5, 2 + 8 * self.sack.len() as u8]);
            options.extend(self.sack.iter().flatten().flat_map(|edge| edge.to_be_bytes()));
        }
        options.extend(&self.options);
        options.resize(options.len().next_multiple_of(4), 0);
        let mut tcp = Vec::new();
        tcp.extend(self.ports.map(u16::to_be_bytes).as_flattened());
        tcp.extend(self.sequence.to_be_bytes());
        tcp.extend(self.number.to_be_bytes());
        let header = (5 + options.len() / 4) as u16;
        tcp.extend((header << 12 | self.flags).to_be_bytes());
        tcp.extend(self.window.to_be_bytes());
        tcp.extend([0; 4]);
        tcp.extend(options);
        tcp.resize(tcp.len() + self.payload, 9);
        let mut packet = Vec::new();
        if self.is_v6 {
            packet.extend([0x60 | self.class >> 4, self.class << 4, 0, 0]);
            packet.extend((tcp.len() as u16).to_be_bytes());
            packet.extend([6, 64]);
            packet.extend([0xfd; 32]);
        } else {
            packet.extend([0x45, self.class]);
            packet.extend((20 + tcp.len() as u16).to_be_bytes());
            packet.extend([0, 0, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        }
        packet.extend(tcp);
        packet
    }

    /// AE, CWR and ECE.
    fn ecn(&self) -> [bool; 3] {
        [0x100, 0x80, 0x40].map(|bit| self.flags & bit != 0)
    }
}

/// The fate of an earlier acknowledgement when a later one arrives.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Cake {
    Drops,
    Keeps,
}
use Cake::{Drops, Keeps};

/// The decisions of CAKE about an earlier and a later packet of a flow, and ours: the same or
/// stricter.
fn decisions() -> Vec<(&'static str, Fields, Fields, Cake, Cake)> {
    let with = |options: &[u8]| Fields { options: options.to_vec(), ..ack(1_000) };
    let dup = [[2_000, 3_000], [5_000, 6_000]];
    vec![
        ("more is acknowledged", ack(1_000), ack(2_000), Drops, Drops),
        ("numbers wrap", ack(u32::MAX - 9), ack(2_000), Drops, Drops),
        ("less is acknowledged", ack(2_000), ack(1_000), Keeps, Keeps),
        ("a duplicate", ack(1_000), ack(1_000), Keeps, Keeps),
        ("a window", ack(1_000), Fields { window: 900, ..ack(1_000) }, Keeps, Keeps),
        // CAKE's only decision by blocks alone; without SACK the sender counts duplicates.
        ("a duplicate with SACK", ack(1_000), sack(1_000, &[[2_000, 3_000]]), Drops, Keeps),
        ("blocks stay", sack(1_000, &dup), sack(1_500, &dup), Drops, Drops),
        ("a block grows", sack(1_000, &dup[..1]), sack(1_500, &[[2_000, 4_000]]), Drops, Drops),
        ("a block vanishes", sack(1_000, &dup), sack(1_500, &dup[1..]), Keeps, Keeps),
        ("a hole closes", sack(1_000, &dup[..1]), ack(3_000), Keeps, Keeps),
        ("blocks begin", ack(1_000), sack(1_500, &dup), Drops, Drops),
        ("D-SACK below", sack(1_000, &[[500, 800]]), sack(1_500, &[[500, 800]]), Keeps, Keeps),
        (
            "D-SACK within a block",
            sack(1_000, &[[2_200, 2_500], [2_000, 3_000]]),
            sack(1_500, &[[2_000, 3_000]]),
            Drops,
            Keeps,
        ),
        ("data earlier", Fields { payload: 1, ..ack(1_000) }, ack(2_000), Keeps, Keeps),
        ("data later", ack(1_000), Fields { payload: 1, ..ack(2_000) }, Drops, Keeps),
        ("SYN", flags(1_000, 0x12), ack(2_000), Keeps, Keeps),
        ("FIN", flags(1_000, 0x11), ack(2_000), Keeps, Keeps),
        ("RST", flags(1_000, 0x14), ack(2_000), Keeps, Keeps),
        ("PSH", flags(1_000, 0x18), ack(2_000), Keeps, Keeps),
        ("URG", flags(1_000, 0x30), ack(2_000), Keeps, Keeps),
        ("a later SYN", ack(1_000), flags(2_000, 0x12), Keeps, Keeps),
        ("a later FIN", ack(1_000), flags(2_000, 0x11), Drops, Keeps),
        ("AE", flags(1_000, 0x110), flags(2_000, 0x110), Keeps, Keeps),
        ("a reserved bit", flags(1_000, 0x410), ack(2_000), Keeps, Keeps),
        ("ECE begins", ack(1_000), flags(2_000, 0x50), Keeps, Keeps),
        ("ECE ends", flags(1_000, 0x50), ack(2_000), Keeps, Keeps),
        ("ECE stays", flags(1_000, 0x50), flags(2_000, 0x50), Drops, Drops),
        ("CWR stays: ACE is 2", flags(1_000, 0x90), flags(2_000, 0x90), Drops, Keeps),
        ("times pass", times(1_000, Some([5, 4])), times(2_000, Some([6, 4])), Drops, Drops),
        ("times wrap", times(1_000, Some([u32::MAX, 4])), times(2_000, Some([3, 4])), Drops, Drops),
        ("an older value", times(1_000, Some([6, 4])), times(2_000, Some([5, 4])), Keeps, Keeps),
        ("an older echo", times(1_000, Some([5, 4])), times(2_000, Some([5, 3])), Keeps, Keeps),
        ("no times", times(1_000, None), times(2_000, None), Drops, Drops),
        ("times end", times(1_000, Some([6, 4])), times(2_000, None), Keeps, Keeps),
        ("times begin", times(1_000, None), times(2_000, Some([6, 4])), Drops, Keeps),
        ("MD5", with(&[&[19, 18][..], &[0; 16]].concat()), ack(2_000), Drops, Keeps),
        ("MSS", with(&[2, 4, 5, 180]), ack(2_000), Keeps, Keeps),
        ("window scale", with(&[3, 3, 7]), ack(2_000), Keeps, Keeps),
        ("SACK permitted", with(&[4, 2]), ack(2_000), Keeps, Keeps),
        ("AccECN", with(&[172, 5, 0, 0, 1]), ack(2_000), Keeps, Keeps),
        ("multipath TCP", with(&[30, 4, 0, 0]), ack(2_000), Keeps, Keeps),
        ("an experiment", with(&[254, 4, 0, 0]), ack(2_000), Keeps, Keeps),
        ("half a block", with(&[5, 6, 0, 0, 0, 1]), ack(2_000), Keeps, Keeps),
        ("half a timestamp", with(&[8, 6, 0, 0, 0, 1]), ack(2_000), Keeps, Keeps),
        // CAKE stops reading there.
        ("a length beyond the header", with(&[8, 30, 0, 0]), ack(2_000), Drops, Keeps),
        ("a length of 1", with(&[8, 1, 0, 0]), ack(2_000), Drops, Keeps),
        ("behind the end", with(&[0, 2, 4, 5]), ack(2_000), Drops, Drops),
        // CAKE reads no other field.
        (
            "a probe of a keep-alive",
            ack(1_000),
            Fields { sequence: 76, ..ack(2_000) },
            Drops,
            Keeps,
        ),
        ("another class", ack(1_000), Fields { class: 0xb8, ..ack(2_000) }, Drops, Keeps),
        (
            "a mark on the acknowledgement",
            Fields { class: 3, ..ack(1_000) },
            Fields { class: 3, ..ack(2_000) },
            Drops,
            Keeps,
        ),
    ]
}

#[test]
fn decisions_are_those_of_cake_or_stricter() {
    for (why, earlier, later, cake, ours) in decisions() {
        for is_v6 in [false, true] {
            let [earlier, later] =
                [&earlier, &later].map(|fields| Fields { is_v6, ..fields.clone() }.bytes());
            let is_dropped = is_superseded(&earlier, &later);
            assert_eq!(is_dropped, ours == Drops, "{why}, v6 {is_v6}");
            assert!(!is_dropped || cake == Drops, "{why}, v6 {is_v6}: CAKE keeps it");
        }
    }
}

#[test]
fn a_packet_with_wrong_lengths_is_left_alone() {
    for is_v6 in [false, true] {
        let [earlier, later] =
            [1_000, 2_000].map(|number| Fields { is_v6, ..sack(number, &[[5, 6]]) }.bytes());
        // A D-SACK stays; without it both would be read.
        let [plain, next] = [1_000, 2_000].map(|number| Fields { is_v6, ..ack(number) }.bytes());
        assert!(!is_superseded(&earlier, &later) && is_superseded(&plain, &next));
        for length in 0..plain.len() {
            assert!(!is_superseded(&plain[..length], &next), "{length}");
            assert!(!is_superseded(&plain, &next[..length]), "{length}");
        }
        let longer = [&plain[..], &[0]].concat();
        assert!(!is_superseded(&longer, &next));
        // The header length of TCP, in 32-bit words.
        let at = plain.len() - 32 + 12;
        for words in (0..16).filter(|&words| words != 8) {
            let mut wrong = plain.clone();
            wrong[at] = words << 4;
            assert!(!is_superseded(&wrong, &next), "{words}");
        }
    }
    let [plain, next] = [1_000, 2_000].map(|number| ack(number).bytes());
    // Options of IPv4, fragments, another protocol.
    for (at, byte) in [(0, 0x46), (0, 0x44), (6, 0x20), (7, 1), (9, 17), (0, 0x55)] {
        let mut other = plain.clone();
        other[at] = byte;
        assert!(!is_superseded(&other, &next), "{at}");
    }
}

fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

fn through(config: BacklogConfig, sent: &[Fields]) -> (Vec<Vec<u8>>, Backlog) {
    let mut backlog = Backlog::new(config, KEYS);
    sent.iter().for_each(|fields| backlog.push(at(0), fields.bytes()));
    let left = core::iter::from_fn(|| backlog.pop(at(0), 1_500));
    (left.map(|waiting| waiting.packet).collect(), backlog)
}

/// "in conservative mode, at least two ACKs are kept in the queue" (the commit's message).
#[test]
fn two_stay_in_the_backlog() {
    let sent: Vec<Fields> = (1..=9).map(|number| ack(1_000 * number)).collect();
    let (left, backlog) = through(BacklogConfig::default(), &sent);
    // The first one acknowledges an unknown amount: it may be a duplicate.
    assert_eq!(left, [&sent[0], &sent[8]].map(Fields::bytes));
    assert_eq!((backlog.acks_superseded(), backlog.drops()), (7, 0));
    assert_eq!((backlog.packets(), backlog.bytes()), (0, 0));
    for config in [
        BacklogConfig { ack_filter: false, ..BacklogConfig::default() },
        BacklogConfig { target: None, ..BacklogConfig::default() },
    ] {
        assert_eq!(through(config, &sent).0, sent.iter().map(Fields::bytes).collect::<Vec<_>>());
    }
}

/// A sender with accurate feedback that sees more than 7 packets acknowledged at once assumes the
/// most marks that fit (RFC 9768, A.2.1).
#[test]
fn a_connection_with_accurate_feedback_keeps_all() {
    // The counter begins at 5, goes on to 0 and 1, and looks like that of classic feedback.
    let counts = [0x150, 0x190, 0x1d0, 0x10, 0x10, 0x10, 0x10, 0x50, 0x50, 0x50, 0x50];
    let sent: Vec<Fields> =
        counts.iter().zip(1..).map(|(&bits, number)| flags(1_000 * number, bits)).collect();
    let (left, _) = through(BacklogConfig::default(), &sent);
    assert_eq!(left, sent.iter().map(Fields::bytes).collect::<Vec<_>>());
}

/// Bytes of the peer's stream that a sender knows to have arrived.
fn known(left: &[&Fields]) -> BTreeSet<u32> {
    let blocks = left.iter().flat_map(|fields| fields.sack.iter());
    let all = left.iter().map(|fields| 0..fields.number).chain(blocks.map(|&[a, b]| a..b));
    all.flatten().collect()
}

fn any_fields() -> impl Strategy<Value = (Fields, u8)> {
    let block = (0..60u32, 1..9u32).prop_map(|(start, length)| [start, start + length]);
    let flags = prop_oneof![6 => Just(0x10), 2 => Just(0x50), 1 => Just(0x150), 1 => Just(0x18)];
    (
        // Advance, window, time that passes, data, packets that leave.
        (0..4u32, 0..2u16, 0..3u32, prop_oneof![6 => Just(0), 1 => 1..40usize], 0..12u8),
        flags,
        prop_oneof![3 => Just(Vec::new()), 1 => prop::collection::vec(block, 1..3)],
        0..2u16,
    )
        .prop_map(|((advance, window, passes, payload, pops), flags, sack, port)| {
            let fields = Fields {
                ports: [port, 443],
                window,
                times: Some([passes, passes]),
                flags,
                sack,
                payload,
                ..ack(advance)
            };
            (fields, if pops < 2 { pops + 1 } else { 0 })
        })
}

proptest! {
    /// For any acknowledgements of two flows: the last number, each byte acknowledged or reported,
    /// each duplicate, each data segment and each change of ECN bits leave, in order.
    #[test]
    fn nothing_is_lost_with_an_acknowledgement(
        work in prop::collection::vec(any_fields(), 1..60),
        is_v6: bool,
    ) {
        let mut backlog = Backlog::new(BacklogConfig::default(), KEYS);
        let (mut sent, mut left) = ([Vec::new(), Vec::new()], Vec::new());
        let (mut number, mut time) = ([20u32; 2], 0);
        for (mut fields, pops) in work {
            let flow = usize::from(fields.ports[0]);
            number[flow] += fields.number;
            time += fields.times.map_or(0, |[passes, _]| passes);
            fields.number = number[flow];
            // Unique, so that each packet is known again.
            let count = (sent[0].len() + sent[1].len()) as u16;
            fields = Fields { is_v6, times: Some([time, time]), window: count, ..fields };
            sent[flow].push(fields.clone());
            backlog.push(at(0), fields.bytes());
            left.extend((0..pops).map_while(|_| backlog.pop(at(0), 1_500)));
        }
        left.extend(core::iter::from_fn(|| backlog.pop(at(0), 1_500)));
        let all = sent[0].len() + sent[1].len();
        prop_assert_eq!(all as u64, left.len() as u64 + backlog.acks_superseded());
        prop_assert_eq!((backlog.packets(), backlog.bytes(), backlog.drops()), (0, 0, 0));
        for flow in &sent {
            // Where in `flow` each packet of it was that left.
            let is_of = |packet: &Vec<u8>| flow.iter().position(|fields| fields.bytes() == *packet);
            let places: Vec<usize> = left.iter().filter_map(|waiting| is_of(&waiting.packet)).collect();
            prop_assert!(places.is_sorted_by(|a, b| a < b), "in order, and once");
            let out: Vec<&Fields> = places.iter().map(|&place| &flow[place]).collect();
            prop_assert_eq!(out.last().map(|fields| fields.number), flow.last().map(|f| f.number));
            prop_assert_eq!(known(&out), known(&flow.iter().collect::<Vec<_>>()));
            let changes = |fields: &[&Fields]| {
                let mut ecn: Vec<_> = fields.iter().map(|fields| fields.ecn()).collect();
                ecn.dedup();
                ecn
            };
            prop_assert_eq!(changes(&out), changes(&flow.iter().collect::<Vec<_>>()));
            for (place, fields) in flow.iter().enumerate() {
                let repeats = place > 0 && flow[place - 1].number == fields.number;
                let is_other = fields.payload > 0 || fields.flags & 0x18 != 0x10;
                // All of one number stay, with the first of them.
                let is_repeated = flow.get(place + 1).is_some_and(|next| next.number == fields.number);
                if repeats || is_repeated || is_other || fields.flags & 0x180 != 0 {
                    prop_assert!(places.contains(&place), "{fields:?} is missing");
                }
            }
        }
    }

    /// Any two packets are read without a panic, and nothing supersedes itself.
    #[test]
    fn any_bytes_are_read(
        change in prop::collection::vec((0..100usize, any::<u8>()), 0..6),
        length in 0..120usize,
        is_v6: bool,
    ) {
        let mut packet = Fields { is_v6, ..sack(1_000, &[[2_000, 3_000]]) }.bytes();
        for (at, byte) in change {
            let at = at % packet.len();
            packet[at] = byte;
        }
        packet.resize(length, 0);
        prop_assert!(!is_superseded(&packet, &packet));
        is_superseded(&packet, &Fields { is_v6, ..sack(2_000, &[[2_000, 3_000]]) }.bytes());
    }
}

//! The judges are the paper's Table I and Figure 4, its formula for the smoothed data rate, and a
//! reference model without windows and wrapping numbers.

use super::*;
use crate::mac::block_ack::{Reception, Recipient};
use crate::mac::mpdu::Msdus;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use alloc::{format, vec};
use lasthop_packet::Packet;
use lasthop_units::{Duration, Instant};
use proptest::prelude::*;

const TIMEOUT: Duration = Duration::from_millis(100);

/// The lowest rate of HT, for which Table I has 2 retransmissions.
const SLOW: u32 = 6_500;

#[test]
fn table_1() {
    let edges = [
        (1, Some(2)),
        (6_500, Some(2)),
        (24_999, Some(2)),
        (25_000, Some(5)),
        (49_999, Some(5)),
        (50_000, Some(8)),
        (99_999, Some(8)),
        (100_000, None),
        (600_000, None),
    ];
    for (kbps, index) in edges {
        let mut rate = SmoothedRate::new(RateTable::PAPER);
        rate.update(kbps);
        assert_eq!((rate.kbps(), rate.retransmissions()), (kbps, index));
    }
    assert_eq!(SmoothedRate::new(RateTable::PAPER).kbps(), 0);
}

#[test]
fn a_shorter_table_ends_earlier() {
    let mut table = RateTable::PAPER;
    table.steps[1..].fill(RateStep { below_kbps: 0, retransmissions: 0 });
    let mut rate = SmoothedRate::new(table);
    rate.update(24_999);
    assert_eq!(rate.retransmissions(), Some(2));
    rate.update(300_000);
    assert_eq!(rate.retransmissions(), None);
}

proptest! {
    /// The smoothed rate is 0.75 of the old and 0.25 of the new one, to within rounding, and exact
    /// in the end.
    #[test]
    fn the_smoothed_rate_follows_the_formula(
        rates in proptest::collection::vec(1_000u32..=600_000, 1..60),
        last in 1_000u32..=600_000,
    ) {
        let mut rate = SmoothedRate::new(RateTable::PAPER);
        let mut exact = f64::from(rates[0]);
        for (n, &kbps) in rates.iter().enumerate() {
            rate.update(kbps);
            if n > 0 {
                exact = 0.75 * exact + 0.25 * f64::from(kbps);
            }
            prop_assert!((f64::from(rate.kbps()) - exact).abs() < 1.1, "{} {exact}", rate.kbps());
        }
        (0..100).for_each(|_| rate.update(last));
        prop_assert_eq!(rate.kbps(), last);
    }
}

/// A receiver: the decisions together with the reorder buffer.
struct Receiver {
    core: PseudoRetryOut,
    recipient: Recipient,
    released: Vec<u64>,
}

impl Receiver {
    fn new(start: SeqNo12) -> Self {
        Self {
            core: PseudoRetryOut::new(RateTable::PAPER, start, 64),
            recipient: Recipient::new(start, 64, TIMEOUT),
            released: Vec::new(),
        }
    }

    /// Receives one MPDU of an A-MPDU, with a packet of this `tag`.
    fn hear(
        &mut self,
        now: Instant,
        sequence: SeqNo12,
        tag: u64,
        (is_good, is_tcp): (bool, bool),
        kbps: u32,
    ) -> Decision {
        let head = self.recipient.head();
        let released = &mut self.released;
        let up = |msdus: Msdus| released.extend(msdus.packets().iter().map(|packet| packet.tag));
        if !is_good {
            let decision = self.core.errored(sequence, head, kbps, is_tcp);
            if let Decision::Lost(_) = decision {
                self.recipient.skip(sequence, up);
            }
            return decision;
        }
        let decision = self.core.received(sequence, head, kbps);
        if decision == Decision::Ignore {
            self.recipient.ignore(sequence);
        } else {
            let msdus = Msdus::One(Packet::new(tag, 1500, now));
            let reception = self.recipient.receive(now, sequence, msdus, up);
            if decision == Decision::Old {
                assert_eq!(reception, Reception::Duplicate);
            }
        }
        assert!(self.recipient.scoreboard().contains(sequence), "it is acknowledged");
        decision
    }
}

/// The paper's Figure 4: seven A-MPDUs, for each MPDU its number and whether it is received without
/// error.
const FIGURE_4: [&[(u16, bool)]; 7] = [
    &[(1, true), (2, false), (3, true), (4, false), (5, true)],
    &[(6, false), (7, true), (8, true)],
    &[(2, false), (4, false), (9, false), (10, false)],
    &[(2, true), (4, false), (9, true), (10, false)],
    &[(6, true)],
    &[(4, false), (10, true)],
    &[(4, true)],
];

/// Cells of the figure: a row for each MPDU, a column for each reception, `x` for an erroneous one.
/// `up` stands for the check mark, a number for the retransmissions so far.
const FIGURE_4_CELLS: &str = "
  | 1     x2      3     x4      5     |x6      7      8     |x2     x4     x9     x10    | 2     x4      9     x10    | 6     |x4      10    | 4
 1| up                                |                     |                            |                            |       |              |
 2|        0                          |                     | 1                          | up                         |       |              |
 3|               keep                |                     |                            | up                         |       |              |
 4|                      0            |                     |        1                   |        2/lost              |       | 3            | ignore
 5|                             keep  |                     |                            |        up                  |       |              |
 6|                                   | 0                   |                            |                            | up    |              |
 7|                                   |        keep         |                            |                            | up    |              |
 8|                                   |               keep  |                            |                            | up    |              |
 9|                                   |                     |               0            |               keep         | up    |              |
10|                                   |                     |                      0     |                      1     |       |        up    |
";

#[test]
fn figure_4() {
    let mut receiver = Receiver::new(SeqNo12::new(1));
    let mut rows: Vec<String> = (0..=10).map(|row| format!("{row:>2}")).collect();
    rows[0] = "  ".into();
    for ampdu in FIGURE_4 {
        rows.iter_mut().for_each(|row| row.push('|'));
        for &(number, is_good) in ampdu {
            let before = receiver.released.len();
            let sequence = SeqNo12::new(number);
            let tag = u64::from(number);
            let decision = receiver.hear(Instant::ZERO, sequence, tag, (is_good, true), SLOW);
            let mut marks = vec![String::new(); 11];
            marks[0] = number.to_string();
            let mark = match decision {
                Decision::Deliver => "up".into(),
                Decision::Buffer => "keep".into(),
                Decision::Old => "old".into(),
                Decision::Ignore => "ignore".into(),
                Decision::CountOnly(n) => n.to_string(),
                Decision::Lost(n) => format!("{n}/lost"),
            };
            marks[usize::from(number)] = mark;
            for &tag in &receiver.released[before..] {
                marks[tag as usize] = "up".into();
            }
            for (row, mark) in rows.iter_mut().zip(marks) {
                let cross = if row.starts_with("  |") && !is_good { 'x' } else { ' ' };
                row.push_str(&format!("{cross}{mark:<6}"));
            }
        }
    }
    let lines: Vec<&str> = rows.iter().map(|row| row.trim_end()).collect();
    assert_eq!(lines.join("\n"), FIGURE_4_CELLS.trim_matches('\n'));
    assert_eq!(receiver.released, [1, 2, 3, 5, 6, 7, 8, 9, 10], "in order, and never 4");
}

#[test]
fn only_tcp_is_given_up() {
    let mut receiver = Receiver::new(SeqNo12::new(0));
    for n in 0..20 {
        let decision = receiver.hear(Instant::ZERO, SeqNo12::new(0), 0, (false, false), SLOW);
        assert_eq!(decision, Decision::CountOnly(n));
    }
    let decision = receiver.hear(Instant::ZERO, SeqNo12::new(0), 0, (true, false), SLOW);
    assert_eq!((decision, &receiver.released[..]), (Decision::Deliver, &[0][..]));
}

#[test]
fn nothing_is_given_up_at_high_rates() {
    let mut receiver = Receiver::new(SeqNo12::new(0));
    for _ in 0..300 {
        let decision = receiver.hear(Instant::ZERO, SeqNo12::new(0), 0, (false, true), 130_000);
        assert!(matches!(decision, Decision::CountOnly(_)));
    }
    // Out of scope does not mean forgotten: at a low rate the next error counts.
    let decisions: Vec<_> = (0..30)
        .map(|_| receiver.hear(Instant::ZERO, SeqNo12::new(0), 0, (false, true), SLOW))
        .filter(|decision| matches!(decision, Decision::Lost(_)))
        .collect();
    assert_eq!(decisions, [Decision::Lost(255)]);
}

#[test]
fn a_copy_of_what_is_there_is_not_given_up() {
    let mut receiver = Receiver::new(SeqNo12::new(0));
    receiver.hear(Instant::ZERO, SeqNo12::new(1), 1, (true, true), SLOW);
    // The Block Ack was lost, so all of it comes again.
    for n in 0..4 {
        let decision = receiver.hear(Instant::ZERO, SeqNo12::new(1), 1, (false, true), SLOW);
        assert_eq!(decision, Decision::CountOnly(n));
    }
    receiver.hear(Instant::ZERO, SeqNo12::new(0), 0, (true, true), SLOW);
    assert_eq!(receiver.released, [0, 1]);
}

#[test]
fn a_block_ack_request_clears_the_marks() {
    let mut core = PseudoRetryOut::new(RateTable::PAPER, SeqNo12::new(4_090), 64);
    let head = SeqNo12::new(4_090);
    for sequence in [head, SeqNo12::new(3)] {
        let decisions = [(); 3].map(|()| core.errored(sequence, head, SLOW, true));
        assert_eq!(decisions[2], Decision::Lost(2));
    }
    core.request(SeqNo12::new(4_095));
    let head = SeqNo12::new(4_095);
    assert_eq!(core.received(SeqNo12::new(4_090), head, SLOW), Decision::Old);
    assert_eq!(core.received(SeqNo12::new(3), head, SLOW), Decision::Ignore);
    core.request(SeqNo12::new(200));
    // Numbers that share the slots of 4090 and 3.
    for sequence in [250, 195 + 64].map(SeqNo12::new) {
        assert_eq!(core.errored(sequence, SeqNo12::new(200), SLOW, true), Decision::CountOnly(0));
    }
}

/// The method as section III describes it, over unbounded numbers.
struct Reference {
    next: i64,
    smoothed: Option<f64>,
    errors: BTreeMap<i64, u32>,
    lost: BTreeSet<i64>,
    held: BTreeMap<i64, Instant>,
    taken: BTreeSet<i64>,
    released: Vec<u64>,
}

impl Reference {
    fn smooth(&mut self, kbps: u32) {
        let new = f64::from(kbps);
        self.smoothed = Some(self.smoothed.map_or(new, |old| 0.75 * old + 0.25 * new));
    }

    fn index(&self) -> Option<u32> {
        match self.smoothed.expect("an MPDU was heard") {
            rate if rate < 25e3 => Some(2),
            rate if rate < 50e3 => Some(5),
            rate if rate < 100e3 => Some(8),
            _ => None,
        }
    }

    /// Marks of Figure 4 in words.
    fn hear(
        &mut self,
        now: Instant,
        number: i64,
        (is_good, is_tcp): (bool, bool),
        kbps: u32,
    ) -> Decision {
        self.smooth(kbps);
        if is_good {
            if self.lost.contains(&number) {
                return Decision::Ignore;
            }
            let decision = match number - self.next {
                0 => Decision::Deliver,
                1.. => Decision::Buffer,
                _ => return Decision::Old,
            };
            // What is beyond the window moves it (IEEE 802.11-2020, 10.25.6.6.2).
            self.move_to(number - 63);
            if self.taken.insert(number) {
                self.held.insert(number, now);
            }
            self.release();
            return decision;
        }
        let count = self.errors.entry(number).or_insert(0);
        *count += 1;
        let retransmissions = *count - 1;
        let open = !self.taken.contains(&number)
            && !self.lost.contains(&number)
            && (self.next..self.next + 64).contains(&number);
        if open && is_tcp && self.index().is_some_and(|index| retransmissions >= index) {
            self.lost.insert(number);
            self.release();
            Decision::Lost(retransmissions as u8)
        } else {
            Decision::CountOnly(retransmissions as u8)
        }
    }

    fn release(&mut self) {
        loop {
            if self.held.remove(&self.next).is_some() {
                self.released.push(self.next as u64);
            } else if !self.lost.contains(&self.next) {
                return;
            }
            self.next += 1;
        }
    }

    fn move_to(&mut self, start: i64) {
        while self.next < start {
            if self.held.remove(&self.next).is_some() {
                self.released.push(self.next as u64);
            }
            self.next += 1;
        }
        self.release();
    }

    fn time_out(&mut self, now: Instant) {
        while let Some((&number, &since)) = self.held.first_key_value() {
            if now < since + TIMEOUT {
                return;
            }
            self.move_to(number);
        }
    }
}

#[derive(Clone, Debug)]
enum Step {
    /// Sends the first `count` pending MPDUs; bit n of `decoded` is MPDU n.
    Ampdu {
        count: usize,
        decoded: u64,
        rate: usize,
        block_ack_lost: bool,
    },
    /// The sender gives up its pending MPDU of this index, and sends a Block Ack Request.
    GiveUp(usize),
    Wait(u64),
}

fn step() -> impl Strategy<Value = Step> {
    // Of each bit one in two, or one in four, or none.
    let decoded = prop_oneof![
        3 => any::<u64>(),
        3 => (any::<u64>(), any::<u64>()).prop_map(|(a, b)| a & b),
        1 => Just(0),
    ];
    prop_oneof![
        12 => (1usize..=64, decoded, 0usize..12, prop::bool::weighted(0.1)).prop_map(
            |(count, decoded, rate, block_ack_lost)| Step::Ampdu { count, decoded, rate, block_ack_lost }
        ),
        1 => (0usize..64).prop_map(Step::GiveUp),
        1 => (0u64..150).prop_map(Step::Wait),
    ]
}

/// Data rates in kb/s, most of them low.
const RATES: [u32; 12] = [
    6_500, 6_500, 13_000, 13_000, 19_500, 26_000, 39_000, 52_000, 65_000, 104_000, 130_000, 300_000,
];

proptest! {
    #[test]
    fn agrees_with_the_reference(
        start in 0i64..4096,
        tcp_share in 1u64..4,
        steps in proptest::collection::vec(step(), 1..150),
    ) {
        let sequence = |n: i64| SeqNo12::new(n.rem_euclid(4096) as u16);
        let mut receiver = Receiver::new(sequence(start));
        let mut reference = Reference {
            next: start,
            smoothed: None,
            errors: BTreeMap::new(),
            lost: BTreeSet::new(),
            held: BTreeMap::new(),
            taken: BTreeSet::new(),
            released: vec![],
        };
        let mut now = Instant::ZERO;
        let (mut pending, mut next) = (Vec::<i64>::new(), start);
        for step in steps {
            // The sender keeps its window full.
            while next < pending.first().copied().unwrap_or(next) + 64 {
                pending.push(next);
                next += 1;
            }
            match step {
                Step::Ampdu { count, decoded, rate, block_ack_lost } => {
                    let sent: Vec<i64> = pending.iter().copied().take(count).collect();
                    for (bit, &number) in sent.iter().enumerate() {
                        let is_good = decoded >> bit & 1 == 1;
                        let facts = (is_good, (number as u64).is_multiple_of(tcp_share));
                        let kbps = RATES[rate];
                        let ours = receiver.hear(now, sequence(number), number as u64, facts, kbps);
                        let theirs = reference.hear(now, number, facts, kbps);
                        // Rounding decides there.
                        let smoothed = reference.smoothed.expect("it just heard one");
                        prop_assume!([25e3, 50e3, 100e3].iter().all(|edge| (smoothed - edge).abs() > 1.0));
                        prop_assert_eq!(ours, theirs, "number {}", number);
                        let awaited = receiver.recipient.head();
                        prop_assert_eq!(awaited, sequence(reference.next));
                    }
                    if !block_ack_lost {
                        let board = receiver.recipient.scoreboard();
                        pending.retain(|&number| !(sent.contains(&number) && board.contains(sequence(number))));
                    }
                }
                Step::GiveUp(index) => {
                    if index < pending.len() {
                        pending.remove(index);
                    }
                    let begin = pending.first().copied().unwrap_or(next);
                    receiver.core.request(sequence(begin));
                    let released = &mut receiver.released;
                    receiver.recipient.request(sequence(begin), |msdus| {
                        released.extend(msdus.packets().iter().map(|packet| packet.tag));
                    });
                    reference.move_to(begin);
                }
                Step::Wait(ms) => {
                    now += Duration::from_millis(ms);
                    let released = &mut receiver.released;
                    receiver.recipient.handle_timeout(now, |msdus| {
                        released.extend(msdus.packets().iter().map(|packet| packet.tag));
                    });
                    reference.time_out(now);
                }
            }
            prop_assert_eq!(&receiver.released, &reference.released);
            prop_assert!(receiver.released.is_sorted(), "in order");
            let lost = |tag: &u64| reference.lost.contains(&(*tag as i64));
            prop_assert!(!receiver.released.iter().any(lost), "never what was given up");
        }
    }
}

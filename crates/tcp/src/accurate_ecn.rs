//! Accurate ECN feedback ([RFC 9768]): its negotiation with the flags AE, CWR and ECE of the
//! handshake, the three-bit counter of marked packets (ACE) that they are afterwards, and the
//! acknowledgements that keep the counter from going round unseen. Linux 6.18 does the same with
//! `net.ipv4.tcp_ecn = 3` and `tcp_ecn_option = 0` (`__tcp_accecn_process`). Left out: the TCP option
//! with counters of bytes, so that a sender that could have missed a turn of the counter assumes the
//! most that fits (RFC 9768, A.2.1), unless acknowledgements usually cover many packets; marks of SYN
//! and SYN-ACK, which are not ECN-capable here; and the tests for networks that change the field.
//!
//! [RFC 9768]: https://www.rfc-editor.org/rfc/rfc9768

use lasthop_units::Instant;

use crate::Segment;

/// Values of the counter modulo this are on the wire (DIVACE).
const DIVISOR: u32 = 8;
/// The counter of both ends at the start of a connection (RFC 9768, 3.2.1).
const INITIAL: u32 = 5;
/// Marks after which an acknowledgement leaves at once, with and without data that is not yet
/// acknowledged (RFC 9768, 3.2.2.5.1).
const MARKS_WITH_DATA: u32 = 2;
const MARKS_WITHOUT_DATA: u32 = 3;

/// Scale and weight of the mean number of packets that an acknowledgement covers (PKTS_ACKED_PREC and
/// PKTS_ACKED_WEIGHT, both as shifts), and the mean above which one that covers many is usual
/// (ACK_COMP_THRESH).
const MEAN_SHIFT: u32 = 6;
const MEAN_WEIGHT_SHIFT: u32 = 6;
const MEAN_MANY: u32 = 4;
/// Linux' timestamps count milliseconds.
const TICK_NANOS: u64 = 1_000_000;

/// Feedback of congestion marks between the ends of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) enum EcnFeedback {
    /// Not at all: nothing is sent as ECN-capable.
    #[default]
    Off,
    /// ECE until CWR (RFC 3168).
    Classic,
    /// A counter of marked packets (RFC 9768).
    Accurate,
}

impl EcnFeedback {
    /// The flags AE, CWR and ECE, as bits 2 to 0, of a first SYN.
    pub const fn request(self) -> u8 {
        match self {
            Self::Off => 0b000,
            Self::Classic => 0b011,
            Self::Accurate => 0b111,
        }
    }

    /// The feedback of an end that supports `self`, after a SYN with these flags (RFC 9768, table 2). One
    /// with classic ECN does not know AE, and answers a request of accurate feedback as its own.
    /// Combinations without a meaning count as a request of accurate feedback (3.1.3).
    pub const fn accept(self, flags: u8) -> Self {
        match (self, flags) {
            (Self::Off, _) | (_, 0b000) => Self::Off,
            (_, 0b011) | (Self::Classic, 0b111) => Self::Classic,
            (Self::Accurate, _) => Self::Accurate,
            (Self::Classic, _) => Self::Off,
        }
    }

    /// The feedback of an end that requested `self`, after a SYN-ACK with these flags (RFC 9768, table 2
    /// and 3.1.3): 111 comes from peers that return the flags of the SYN, 101 is reserved.
    pub const fn settle(self, flags: u8) -> Self {
        match (self, flags) {
            (Self::Off, _) | (_, 0b000 | 0b111) => Self::Off,
            (_, 0b001) => Self::Classic,
            (Self::Classic, 0b101) => Self::Classic,
            (Self::Classic, _) => Self::Off,
            (Self::Accurate, _) => Self::Accurate,
        }
    }
}

/// The flags AE, CWR and ECE of a segment, as bits 2 to 0.
pub(crate) fn read_flags(segment: &Segment) -> u8 {
    let flags = [segment.accurate_ecn, segment.window_reduced, segment.ecn_echo];
    flags.iter().fold(0, |bits, &is_set| bits << 1 | u8::from(is_set))
}

/// Sets the flags AE, CWR and ECE of a segment from bits 2 to 0.
pub(crate) fn write_flags(segment: &mut Segment, flags: u8) {
    let is_set = |bit: u8| flags >> bit & 1 != 0;
    (segment.accurate_ecn, segment.window_reduced, segment.ecn_echo) =
        (is_set(2), is_set(1), is_set(0));
}

/// The flags with which an end answers a SYN or SYN-ACK: they name the ECN field with which that
/// arrived (RFC 9768, tables 2 and 3).
pub(crate) fn describe_arrival(segment: &Segment, is_marked: bool) -> u8 {
    match segment {
        _ if is_marked => 0b110,
        Segment { ecn_capable: true, ecn_l4s: true, .. } => 0b011,
        Segment { ecn_capable: true, .. } => 0b100,
        _ => 0b010,
    }
}

/// The receiver's counter of marked packets (r.cep), and the marks not yet reported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Counter {
    marked: u32,
    unreported: u32,
    was_marked: bool,
    /// The flags that answer a SYN, in every SYN-ACK, or a SYN-ACK, in the first segment after it.
    answer: u8,
    has_answered: bool,
}

impl Counter {
    /// The counter of an end whose next segment answers with `answer`. A mark of a SYN or SYN-ACK
    /// is reported by the answer and not counted.
    pub const fn new(answer: u8) -> Self {
        Self { marked: INITIAL, unreported: 0, was_marked: false, answer, has_answered: false }
    }

    /// Makes the next segment answer a repeated SYN or SYN-ACK (accecn_reflector).
    pub const fn answer_again(&mut self, answer: u8) {
        self.answer = answer;
        self.has_answered = false;
    }

    /// Counts an arrived packet. Returns whether an acknowledgement has to leave at once: the first
    /// data after data without a mark, and every second mark (third without data to acknowledge;
    /// RFC 9768, 3.2.2.5.1).
    pub fn count(&mut self, is_marked: bool, has_data: bool, must_acknowledge: bool) -> bool {
        let is_change = has_data && is_marked && !self.was_marked;
        if has_data {
            self.was_marked = is_marked;
        }
        if !is_marked {
            return false;
        }
        self.marked = self.marked.wrapping_add(1);
        self.unreported += 1;
        let most = if has_data || must_acknowledge { MARKS_WITH_DATA } else { MARKS_WITHOUT_DATA };
        is_change || self.unreported >= most
    }

    /// The flags of a segment that leaves now, and that reports all marks.
    pub fn report(&mut self, is_syn: bool) -> u8 {
        self.unreported = 0;
        let is_answer = is_syn || !self.has_answered;
        self.has_answered = true;
        if is_answer { self.answer } else { (self.marked % DIVISOR) as u8 }
    }
}

/// The sender's copy of its peer's counter (s.cep).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Marks {
    known: u32,
    /// Mean number of packets that an acknowledgement covers, scaled; 0 before the first.
    covered_mean: u32,
    /// Newest timestamp of the peer, in ticks.
    newest: u64,
    /// Whether the next acknowledgement's flags are those of the handshake.
    passes_over: bool,
}

impl Marks {
    /// The counter after a handshake whose packets were not ECN-capable.
    pub const fn new() -> Self {
        Self { known: INITIAL, covered_mean: 0, newest: 0, passes_over: false }
    }

    /// Takes no count from the next acknowledgement: SYN, SYN-ACK, or the answer to it (FLAG_SYN_ACKED).
    pub const fn pass_over(&mut self) {
        self.passes_over = true;
    }

    /// Takes the flags of an acknowledgement that left at `sent`, of `packets` that were not known to
    /// have arrived. Returns the number of them, or of packets without data, that were marked: the
    /// most that agrees with the flags if the counter may have gone round (RFC 9768, A.2.1), the
    /// least if acknowledgements usually cover many packets, as in Linux. An acknowledgement that is
    /// not newer than the ones before is ignored.
    pub fn take(&mut self, flags: u8, packets: u32, is_progress: bool, sent: Instant) -> u32 {
        if core::mem::take(&mut self.passes_over) {
            return 0;
        }
        let ticks = sent.as_nanos() / TICK_NANOS;
        if !is_progress && packets == 0 && ticks <= self.newest {
            return 0;
        }
        self.newest = self.newest.max(ticks);
        self.update_mean(packets);
        let step = u32::from(flags).wrapping_sub(self.known) % DIVISOR;
        let is_certain = packets < DIVISOR || self.covered_mean > MEAN_MANY << MEAN_SHIFT;
        let marked = if is_certain { step } else { packets - (packets - step) % DIVISOR };
        self.known = self.known.wrapping_add(marked);
        marked
    }

    /// Number of marks so far. Only tests call it.
    #[cfg(test)]
    pub const fn count(&self) -> u32 {
        self.known - INITIAL
    }

    fn update_mean(&mut self, packets: u32) {
        let scaled = packets << MEAN_SHIFT;
        self.covered_mean = match (self.covered_mean, packets) {
            (mean, 0) => mean,
            (0, _) => scaled,
            (mean, _) => ((mean << MEAN_WEIGHT_SHIFT) - mean + scaled) >> MEAN_WEIGHT_SHIFT,
        }
        .min(u32::from(u16::MAX));
    }
}

#[cfg(test)]
mod tests {
    use super::EcnFeedback::{Accurate, Classic, Off};
    use super::*;

    /// RFC 9768, table 2: the flags (AE, CWR, ECE) of SYN and SYN-ACK, and what both ends use; with
    /// 3.1.3 for the combinations without a meaning.
    #[test]
    fn flags_of_the_handshake_settle_the_feedback() {
        let requests = [Off, Classic, Accurate].map(EcnFeedback::request);
        assert_eq!(requests, [0b000, 0b011, 0b111]);
        let answers = [
            (Accurate, 0b010, Accurate),
            (Accurate, 0b011, Accurate),
            (Accurate, 0b100, Accurate),
            (Accurate, 0b110, Accurate),
            (Accurate, 0b101, Accurate),
            (Accurate, 0b001, Classic),
            (Accurate, 0b000, Off),
            (Accurate, 0b111, Off),
            (Classic, 0b001, Classic),
            (Classic, 0b101, Classic),
            (Classic, 0b000, Off),
            (Classic, 0b111, Off),
            (Off, 0b000, Off),
        ];
        for (requested, flags, used) in answers {
            assert_eq!(requested.settle(flags), used, "{requested:?} {flags:03b}");
        }
        for flags in 0..8 {
            let with_accurate = match flags {
                0b000 => Off,
                0b011 => Classic,
                _ => Accurate,
            };
            assert_eq!(Accurate.accept(flags), with_accurate, "{flags:03b}");
            let has_both = flags & 0b011 == 0b011;
            assert_eq!(Classic.accept(flags), if has_both { Classic } else { Off });
            assert_eq!(Off.accept(flags), Off);
        }
    }

    /// RFC 9768, table 3: the answers 010, 011, 100 and 110 stand for Not-ECT, ECT(1), ECT(0), CE.
    #[test]
    fn an_answer_names_the_field_of_the_syn() {
        let plain = Segment { syn: true, ..Segment::default() };
        let zero = Segment { ecn_capable: true, ..plain };
        let one = Segment { ecn_l4s: true, ..zero };
        let said = [(plain, false), (one, false), (zero, false), (zero, true), (one, true)]
            .map(|(segment, is_marked)| describe_arrival(&segment, is_marked));
        assert_eq!(said, [0b010, 0b011, 0b100, 0b110, 0b110]);
        for flags in 0..8 {
            let mut segment = plain;
            write_flags(&mut segment, flags);
            assert_eq!(read_flags(&segment), flags);
        }
    }

    /// RFC 9768, A.2.1: an acknowledgement of nine packets whose counter went from 5 to 6 stands for
    /// nine marks, because one mark and nine agree with it. With fewer packets than values of the
    /// counter the step is certain; where such acknowledgements are usual, Linux takes the step.
    #[test]
    fn a_counter_that_may_have_gone_round_has_the_most_marks() {
        for (packets, flags, marked, usual) in [
            (9, 6, 9, 1),
            (8, 6, 1, 1),
            (8, 5, 8, 0),
            (7, 5, 0, 0),
            (7, 4, 7, 7),
            (2, 7, 2, 2),
            (16, 4, 15, 7),
        ] {
            let mut marks = Marks::new();
            assert_eq!(marks.take(5, 1, true, Instant::ZERO), 0);
            assert_eq!(marks.take(flags, packets, true, Instant::ZERO), marked, "{packets}");
            let first = Marks::new().take(flags, packets, true, Instant::ZERO);
            assert_eq!(first, usual, "{packets} {flags}");
        }
        let mut marks = Marks::new();
        let mut take = |number| marks.take((number % 8) as u8, 1, true, Instant::ZERO);
        let total: u32 = (0..100).map(&mut take).sum();
        // From 5 to 0, and 99 times by one.
        assert_eq!(total, 3 + 99);
    }

    /// RFC 9768, 3.2.2.5.1: the first mark after data without one, then every second one, and every
    /// third of packets without data. A counter that starts at 5 and counts four marks says 1.
    #[test]
    fn marks_are_reported_before_the_counter_goes_round() {
        let mut counter = Counter::new(0b010);
        assert_eq!([counter.report(true), counter.report(true), counter.report(false)], [2, 2, 5]);
        let mut counter = Counter::new(0b010);
        assert_eq!([counter.report(false), counter.report(false)], [2, 5]);
        assert!(!counter.count(false, true, true));
        assert!(counter.count(true, true, true));
        assert_eq!(counter.report(false), 6);
        assert!(!counter.count(true, true, true) && counter.count(true, true, true));
        assert_eq!(counter.report(false), 0);
        assert!(!counter.count(false, true, true) && counter.count(true, true, true));
        assert_eq!(counter.report(false), 1);
        let without_data = [0; 3].map(|_| counter.count(true, false, false));
        assert_eq!(without_data, [false, false, true]);
        assert_eq!(counter.report(false), 4);
    }
}

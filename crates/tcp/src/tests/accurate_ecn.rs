//! Exchanges that the packetdrill scripts of Linux 6.18 and later specify for accurate ECN feedback
//! (tools/testing/selftests/net/packetdrill/tcp_accecn_*.pkt; each test names its scripts): the
//! segments of the peer, those that the kernel sends in return with the flags AE, CWR and ECE, and
//! the marks that it knows of (tcpi_delivered_ce). Left out with their reasons: scripts about the
//! option with counters of bytes (`*opt*`, `sack_space_grab*`, `delivered_falseoverflow_detect`), which
//! the model has not; about networks that clear or drop flags (`bleach`, `*_flags_drop`, `ipflags_drop`,
//! `accecn_then_notecn_syn`, `no_ecn_after_accecn`, `notecn_then_accecn_syn`); about marked SYNs and
//! SYN-ACKs (`syn*_c*`, `syn*_ect*`), which are not ECN-capable here. Positions are in bytes.

use alloc::vec::Vec;
use lasthop_units::{Duration, Instant};

use crate::accurate_ecn::{read_flags, write_flags};
use crate::{Config, Endpoint, Segment, SmallQueues};

/// Line of a script.
enum Line {
    /// The application writes this many bytes.
    Write(u64),
    /// The peer's segment: flags, whether it is marked, position, payload, acknowledgement.
    In(u8, bool, u64, u32, u64),
    /// The kernel's segment: flags, position, payload, acknowledgement; all are ECN-capable.
    Out(u8, u64, u32, u64),
    /// Number of marks that the kernel knows of.
    Marked(u32),
}

use Line::{In, Marked, Out, Write};

struct Script {
    end: Endpoint,
    now: Instant,
    has_timestamps: bool,
    sent: Vec<Segment>,
}

impl Script {
    fn new() -> Self {
        let config = Config {
            segment_bytes: 1460,
            ecn: true,
            accurate_ecn: true,
            small_queues: SmallQueues::Off,
            ..Config::default()
        };
        let (now, sent) = (Instant::ZERO, Vec::new());
        Self { end: Endpoint::new(&config), now, has_timestamps: false, sent }
    }

    /// A server that has answered a SYN, `SEWA` with `SW.`.
    fn server() -> Self {
        let mut script = Self::new();
        let mut syn = Segment { syn: true, window_bytes: 32_792, ..Segment::default() };
        write_flags(&mut syn, 0b111);
        script.take(&syn, false);
        let answer = script.sent.remove(0);
        assert!(answer.syn && read_flags(&answer) == 0b010 && !answer.ecn_capable);
        script
    }

    /// A client that has sent `SEWA`.
    fn client() -> Self {
        let mut script = Self::new();
        script.end.connect(script.now);
        script.drain();
        let syn = script.sent.remove(0);
        assert!(syn.syn && read_flags(&syn) == 0b111 && !syn.ecn_capable);
        script
    }

    fn drain(&mut self) {
        while let Some(segment) = self.end.poll_transmit(self.now) {
            self.end.check();
            self.sent.push(segment);
        }
    }

    fn take(&mut self, segment: &Segment, is_marked: bool) {
        self.end.handle_segment(self.now, segment, is_marked);
        self.drain();
    }

    /// Runs lines that are 10 ms apart.
    fn run(mut self, lines: &[Line]) {
        for (number, line) in lines.iter().enumerate() {
            self.now += Duration::from_millis(10);
            match *line {
                Write(bytes) => {
                    self.end.write(self.now, bytes);
                    self.drain();
                }
                In(flags, is_marked, sequence, payload_bytes, acknowledged) => {
                    assert_eq!(self.sent, [], "before line {number}");
                    let sent = if self.has_timestamps { self.now } else { Instant::ZERO };
                    let acknowledgement = Some(acknowledged);
                    let window_bytes = 60_000;
                    let mut segment = Segment {
                        sequence,
                        payload_bytes,
                        acknowledgement,
                        window_bytes,
                        sent,
                        ..Segment::default()
                    };
                    write_flags(&mut segment, flags);
                    self.take(&segment, is_marked);
                }
                Out(flags, sequence, payload_bytes, acknowledged) => {
                    let mut left = payload_bytes;
                    loop {
                        let out = self.sent.remove(0);
                        let sequence = sequence + u64::from(payload_bytes - left);
                        assert_eq!((read_flags(&out), out.sequence), (flags, sequence), "{number}");
                        assert_eq!(out.acknowledgement, Some(acknowledged), "line {number}");
                        assert!(out.ecn_capable && out.payload_bytes <= left);
                        left -= out.payload_bytes;
                        if left == 0 {
                            break;
                        }
                    }
                }
                Marked(marks) => assert_eq!(self.end.marks(), marks, "line {number}"),
            }
        }
        assert_eq!(self.sent, []);
    }
}

/// The third segment of the handshake: `W.`, an acknowledgement that says the SYN-ACK was not
/// ECN-capable.
const THIRD: Line = In(0b010, false, 1, 0, 1);

/// noopt, delivered_updates: the counter of both ends is 5 at first; marks that the peer counts are
/// known with its next acknowledgement, also when the counter goes round.
#[test]
fn a_server_knows_the_marks_that_its_peer_counts() {
    Script::server().run(&[
        THIRD,
        Marked(0),
        Write(1_000),
        Out(5, 1, 1_000, 1),
        In(5, false, 1, 0, 1_001),
        Marked(0),
        Write(1_000),
        Out(5, 1_001, 1_000, 1),
    ]);
    Script::server().run(&[
        THIRD,
        Write(1_000),
        Out(5, 1, 1_000, 1),
        In(6, false, 1, 0, 1_001),
        Marked(1),
        Write(1_000),
        Out(5, 1_001, 1_000, 1),
        In(6, false, 1, 0, 2_001),
        Marked(1),
        Write(1_000),
        Out(5, 2_001, 1_000, 1),
        In(7, false, 1, 0, 3_001),
        Marked(2),
        Write(1_000),
        Out(5, 3_001, 1_000, 1),
        In(7, false, 1, 0, 4_001),
        Marked(2),
        Write(1_000),
        Out(5, 4_001, 1_000, 1),
        In(0, false, 1, 0, 5_001),
        Marked(3),
    ]);
}

/// delivered_largeack, delivered_largeack2, delivered_maxack, delivered_2ndlargeack: the
/// marks of an acknowledgement of ten packets as the first one, and of nine as the second.
#[test]
fn an_acknowledgement_of_many_packets_tells_the_least_where_that_is_usual() {
    for (flags, marks) in [(5, 0), (6, 1), (4, 7)] {
        Script::server().run(&[
            THIRD,
            Write(14_600),
            Out(5, 1, 14_600, 1),
            In(flags, false, 1, 0, 14_601),
            Marked(marks),
        ]);
    }
    Script::server().run(&[
        THIRD,
        Write(14_600),
        Out(5, 1, 14_600, 1),
        In(5, false, 1, 0, 1_461),
        In(5, false, 1, 0, 14_601),
        Marked(8),
    ]);
}

/// noprogress, tsprogress: an acknowledgement of nothing new is ignored, unless its timestamp is
/// new.
#[test]
fn an_acknowledgement_of_nothing_new_tells_marks_by_its_timestamp_only() {
    for (has_timestamps, marks) in [(false, 0), (true, 1)] {
        let script = Script { has_timestamps, ..Script::server() };
        let lines = [THIRD, Write(1_000), Out(5, 1, 1_000, 1), In(6, false, 1, 0, 1)];
        script.run(&lines.into_iter().chain([Marked(marks)]).collect::<Vec<_>>());
    }
}

/// ecn_field_updates_opt, 3rd_ack_ce_updates_received_ce, 3rd_ack_lost_data_ce, 2nd_data_as_first,
/// 3rd_dups: the counter of a server whose peer's packets are marked, with the third segment of the
/// handshake, or without it.
#[test]
fn a_server_counts_the_marks_that_arrive() {
    Script::server().run(&[
        THIRD,
        In(5, true, 1, 1_000, 1),
        Out(6, 1, 0, 1_001),
        In(5, false, 1_001, 1_000, 1),
        Out(6, 1, 0, 2_001),
        In(5, true, 2_001, 1_000, 1),
        Out(7, 1, 0, 3_001),
        In(5, false, 3_001, 1_000, 1),
        Out(7, 1, 0, 4_001),
        In(5, true, 4_001, 1_000, 1),
        Out(0, 1, 0, 5_001),
    ]);
    let third_is_marked = In(0b010, true, 1, 0, 1);
    Script::server().run(&[third_is_marked, Write(1_000), Out(6, 1, 1_000, 1)]);
    Script::server().run(&[
        In(5, true, 1, 1_000, 1),
        Out(6, 1, 0, 1_001),
        Marked(0),
        In(5, true, 1_001, 1_000, 1),
        Out(7, 1, 0, 2_001),
    ]);
    Script::server().run(&[
        In(5, true, 1_001, 1_000, 1),
        Out(6, 1, 0, 1),
        In(5, true, 1, 1_000, 1),
        Out(7, 1, 0, 2_001),
        In(5, true, 2_001, 1_000, 1),
        Out(0, 1, 0, 3_001),
    ]);
    Script::server().run(&[THIRD, THIRD, In(5, true, 1, 1_000, 1), Out(6, 1, 0, 1_001)]);
}

/// negotiation_noopt_connect, 3rd_ack_after_synack_rxmt: a client answers a SYN-ACK with the
/// codepoint that this had, also a repeated one (ECT(0) is 4), and counts from 5 then.
#[test]
fn a_client_answers_each_syn_ack() {
    for is_repeated in [false, true] {
        let mut script = Script::client();
        let mut answer = Segment {
            syn: true,
            acknowledgement: Some(1),
            window_bytes: 32_767,
            ..Segment::default()
        };
        write_flags(&mut answer, 0b010);
        script.now += Duration::from_millis(50);
        script.take(&answer, false);
        let third = script.sent.remove(0);
        assert!((read_flags(&third), third.payload_bytes) == (0b010, 0) && third.ecn_capable);
        if is_repeated {
            script.take(&Segment { ecn_capable: true, ..answer }, false);
            assert_eq!(read_flags(&script.sent.remove(0)), 0b100);
        }
        script.run(&[
            Write(1_000),
            Out(5, 1, 1_000, 1),
            In(5, false, 1, 0, 1_001),
            Marked(0),
            Write(1_000),
            Out(5, 1_001, 1_000, 1),
        ]);
    }
}

/// serverside_broken, serverside_ecn_disabled, serverside_accecn_disabled1: a SYN-ACK with the flags
/// of the SYN, or none, ends ECN; ECE alone leaves classic ECN, with which acknowledgements are not
/// ECN-capable and data is.
#[test]
fn a_client_falls_back_as_its_peer_asks() {
    for (flags, has_ecn) in [(0b111, false), (0b000, false), (0b001, true)] {
        let mut script = Script::client();
        let acknowledgement = Some(1);
        let mut answer =
            Segment { syn: true, acknowledgement, window_bytes: 32_767, ..Segment::default() };
        write_flags(&mut answer, flags);
        script.take(&answer, false);
        script.end.write(script.now, 100);
        script.drain();
        let sent: Vec<_> = script
            .sent
            .iter()
            .map(|segment| (read_flags(segment), segment.payload_bytes, segment.ecn_capable))
            .collect();
        assert_eq!(sent, [(0, 0, false), (0, 100, has_ecn)], "{flags:03b}");
    }
}

//! Exchanges that packetdrill's scripts of 2013 specify as correct for Linux 3.11
//! (github.com/google/packetdrill, gtests/net/packetdrill/tests/linux, until commit d570e24): the
//! segments of the peer with their times, and the segments that the kernel sends in return.
//! Congestion control and sysctls are the defaults of 3.13, unless a test says otherwise. If 3.2
//! runs a script, too, its source has the same rule (`OLD`). Positions are in bytes.

use alloc::vec::Vec;
use lasthop_units::{Duration, Instant, Machine};

use crate::{
    Config, CongestionControlKind, Endpoint, Recovery, SackBlock, Segment, SmallQueues, State,
    WindowValidation,
};

/// Line of a script; positions are in bytes, as in packetdrill.
pub(super) enum Line<'a> {
    /// The application writes this many bytes.
    Write(u64),
    /// The peer sends an acknowledgement with these SACK blocks.
    In(u64, &'a [(u64, u64)]),
    /// The kernel has sent these ranges by now, in segments, and nothing else.
    Out(&'a [(u64, u64)]),
}

use Line::{In, Out, Write};

pub(super) struct Script {
    pub end: Endpoint,
    segment_bytes: u64,
    pub now: Instant,
    /// Segments sent and not yet compared.
    sent: Vec<(Instant, u64, u64)>,
}

impl Script {
    /// Returns a script in which the peer's SYN arrives at 100 ms, its acknowledgement at
    /// `established` ms.
    pub fn new(config: Config, segment_bytes: u16, established: u64) -> Self {
        let config = Config {
            segment_bytes,
            small_queues: SmallQueues::Off,
            window_validation: WindowValidation::Linux3,
            ..config
        };
        let mut script = Self {
            end: Endpoint::new(&config),
            segment_bytes: u64::from(segment_bytes),
            now: Instant::ZERO,
            sent: Vec::new(),
        };
        let (ecn_echo, window_reduced) = (config.ecn, config.ecn);
        let window_bytes = 32_792;
        let syn =
            Segment { syn: true, window_bytes, ecn_echo, window_reduced, ..Segment::default() };
        script.advance(100);
        script.end.handle_segment(script.now, &syn, false);
        script.drain();
        script.advance(established);
        script.acknowledge(1, &[]);
        script
    }

    pub fn advance(&mut self, millis: u64) {
        let until = Instant::ZERO + Duration::from_millis(millis);
        while let Some((at, _)) = self.end.poll_timeout().filter(|(at, _)| *at <= until) {
            self.now = at.max(self.now);
            self.end.handle_timeout(self.now);
            self.drain();
        }
        self.now = until;
    }

    fn drain(&mut self) {
        while let Some(segment) = self.end.poll_transmit(self.now) {
            self.end.check();
            if segment.payload_bytes > 0 {
                self.sent.push((self.now, segment.sequence, segment.end()));
            }
        }
    }

    fn acknowledge(&mut self, acknowledged: u64, blocks: &[(u64, u64)]) {
        let mut segment = Segment {
            sequence: 1,
            acknowledgement: Some(acknowledged),
            window_bytes: 100_000,
            sent: self.now,
            sack_blocks: blocks.len() as u8,
            ..Segment::default()
        };
        for (place, &(start, end)) in segment.sack.iter_mut().zip(blocks) {
            *place = SackBlock { start, end };
        }
        self.take(&segment);
    }

    /// Passes a segment of the peer to the kernel's end.
    pub fn take(&mut self, segment: &Segment) {
        self.end.handle_segment(self.now, segment, false);
        self.end.check();
        self.drain();
    }

    pub fn run(&mut self, lines: &[(u64, Line<'_>)]) {
        for (millis, line) in lines {
            if *millis > (self.now - Instant::ZERO).as_nanos() / 1_000_000 {
                self.advance(*millis);
            }
            match line {
                Write(bytes) => {
                    self.end.write(self.now, *bytes);
                    self.drain();
                }
                In(acknowledged, blocks) => {
                    assert_eq!(self.sent, [], "{millis} ms, before acknowledgement {acknowledged}");
                    self.acknowledge(*acknowledged, blocks);
                }
                Out(ranges) => {
                    let mut expected = Vec::new();
                    for &(start, end) in *ranges {
                        let starts = (start..end).step_by(self.segment_bytes as usize);
                        expected.extend(
                            starts.map(|at| (self.now, at, (at + self.segment_bytes).min(end))),
                        );
                    }
                    assert_eq!(core::mem::take(&mut self.sent), expected, "at {millis} ms");
                }
            }
        }
    }

    /// Returns segments that were sent and not compared, as ranges of bytes.
    pub fn forget_sent(&mut self) -> Vec<(u64, u64)> {
        self.sent.drain(..).map(|(_, start, end)| (start, end)).collect()
    }

    /// Asserts that nothing is sent until `millis`.
    pub fn is_silent_until(&mut self, millis: u64) {
        self.advance(millis);
        assert_eq!(self.sent, []);
    }
}

fn with(recovery: Recovery) -> Config {
    Config { recovery, ..Config::default() }
}

const OLD: [Recovery; 2] = [Recovery::Linux32, Recovery::Linux313];

/// The script early_retransmit/er-delayed-2pkt-sack.pkt.
#[test]
fn early_retransmit_of_two_waits_for_a_quarter_round_trip() {
    let mut script = Script::new(with(Recovery::Linux313), 1460, 200);
    script.run(&[
        (200, Write(2920)),
        (200, Out(&[(1, 2921)])),
        (300, In(1, &[(1461, 2921)])),
        (325, Out(&[(1, 1461)])),
        (425, In(2921, &[])),
    ]);
    script.is_silent_until(2_000);
}

/// The script early_retransmit/er-delayed-3pkt-sack.pkt.
#[test]
fn early_retransmit_of_three_waits_for_a_quarter_round_trip() {
    let mut script = Script::new(with(Recovery::Linux313), 1460, 200);
    script.run(&[
        (200, Write(4380)),
        (200, Out(&[(1, 4381)])),
        (300, In(1, &[(1461, 2921)])),
        (300, In(1, &[(1461, 4381)])),
        (325, Out(&[(1, 1461)])),
        (425, In(4381, &[])),
    ]);
    script.is_silent_until(2_000);
}

/// The script early_retransmit/er-delayed-filled-3pkt-sack.pkt.
#[test]
fn early_retransmit_is_cancelled_when_the_hole_is_filled() {
    let mut script = Script::new(with(Recovery::Linux313), 1460, 200);
    script.run(&[
        (200, Write(4380)),
        (200, Out(&[(1, 4381)])),
        (300, In(1, &[(1461, 2921)])),
        (300, In(1, &[(1461, 4381)])),
        (310, In(4381, &[])),
    ]);
    script.is_silent_until(1_800);
}

/// The script early_retransmit/er-delayed-get-ack-3pkt-sack.pkt.
#[test]
fn any_acknowledgement_starts_the_delay_of_early_retransmit_again() {
    let mut script = Script::new(with(Recovery::Linux313), 1460, 200);
    script.run(&[
        (200, Write(4380)),
        (200, Out(&[(1, 4381)])),
        (300, In(1, &[(1461, 2921)])),
        (300, In(1, &[(1461, 4381)])),
        (310, In(1, &[(1461, 4381)])),
        (335, Out(&[(1, 1461)])),
        (435, In(4381, &[])),
    ]);
    script.is_silent_until(2_000);
}

/// The script fast_retransmit/fr-4pkt-sack-linux.pkt.
#[test]
fn three_selective_acknowledgements_are_a_fast_retransmit() {
    for recovery in OLD {
        let mut script = Script::new(with(recovery), 1000, 200);
        script.run(&[
            (200, Write(1000)),
            (200, Out(&[(1, 1001)])),
            (300, In(1001, &[])),
            (300, Write(4000)),
            (300, Out(&[(1001, 5001)])),
            (400, In(1001, &[(2001, 3001)])),
            (400, In(1001, &[(2001, 4001)])),
            (400, In(1001, &[(2001, 5001)])),
            (400, Out(&[(1001, 2001)])),
        ]);
    }
}

/// The script fast_recovery/prr-ss-ack-below-snd_una-reno.pkt: forward
/// acknowledgement and the slow start of PRR, with Reno.
#[test]
fn all_but_three_below_the_highest_are_lost_and_prr_sends_one_more_than_arrived() {
    for recovery in OLD {
        let config =
            Config { congestion_control: CongestionControlKind::NewReno, ..with(recovery) };
        let mut script = Script::new(config, 1000, 200);
        script.run(&[
            (200, Write(10_000)),
            (200, Out(&[(1, 10_001)])),
            (310, In(1, &[(1001, 2001)])),
            (320, In(1, &[(1001, 3001)])),
            (330, In(1, &[(1001, 3001), (8001, 9001)])),
            (330, Out(&[(1, 1001), (3001, 4001)])),
            (440, In(4001, &[(8001, 9001)])),
            (440, Out(&[(4001, 6001)])),
            // Below the cumulative acknowledgement; its SACK blocks count.
            (450, In(3001, &[(5001, 7001)])),
            (450, Out(&[(7001, 8001)])),
            (560, In(10_001, &[])),
            (600, Write(10_000)),
        ]);
        if recovery == Recovery::Linux313 {
            script.run(&[(600, Out(&[(10_001, 15_001)]))]);
        }
    }
}

/// The script undo/undo-fr-acks-dropped-then-dsack.pkt.
#[test]
fn a_report_of_the_duplicate_takes_fast_recovery_back() {
    let mut script = Script::new(with(Recovery::Linux313), 1000, 200);
    script.run(&[
        (200, Write(10_000)),
        (200, Out(&[(1, 10_001)])),
        (300, In(1, &[(1001, 2001)])),
        (300, In(1, &[(1001, 3001)])),
        (300, In(1, &[(1001, 4001)])),
        (300, Out(&[(1, 1001)])),
    ]);
    assert_eq!(script.end.cwnd_packets(), 7);
    script.run(&[
        (400, In(10_001, &[(1, 1001)])),
        (400, Write(11_000)),
        (400, Out(&[(10_001, 20_001)])),
    ]);
    assert_eq!(script.end.cwnd_packets(), 10);
}

/// The scripts sack/sack-shift-sacked-1-2-3-fack.pkt and
/// sack/sack-shift-sacked-1-2:6-fack.pkt.
#[test]
fn recovery_begins_when_more_than_three_are_forward() {
    for recovery in OLD {
        for blocks in [&[2001, 3001, 4001][..], &[2001, 7001]] {
            let mut script = Script::new(with(recovery), 1000, 200);
            script.run(&[(200, Write(10_000)), (200, Out(&[(1, 10_001)]))]);
            for (index, &end) in blocks.iter().enumerate() {
                assert_ne!(script.end.state(), State::Recovery);
                script.run(&[(300 + 10 * index as u64, In(1, &[(1001, end)]))]);
            }
            assert_eq!(script.end.state(), State::Recovery);
        }
    }
}

/// The script initial_window/iw10-base-case.pkt.
#[test]
fn ten_segments_leave_at_first() {
    for recovery in OLD {
        let mut script = Script::new(with(recovery), 1460, 200);
        script.run(&[(200, Write(14_600)), (200, Out(&[(1, 14_601)])), (300, In(14_601, &[]))]);
        script.is_silent_until(2_000);
    }
}

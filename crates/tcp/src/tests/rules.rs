//! Tests of the sender's rules of recovery, one condition at a time, in scripts of the peer: RFC
//! 5681 and 6675 (losses), RFC 6937 (proportional rate reduction), RFC 5682 (F-RTO), RFC 3708
//! (duplicates), RFC 3168 (congestion echoes), RFC 8985 (probes). The round-trip time is 100 ms,
//! segments have 1000 bytes of payload, windows are those of Reno.

use lasthop_units::Machine;

use super::scripts::Line::{In, Out, Write};
use super::scripts::Script;
use crate::{Config, CongestionControlKind, Recovery, SackBlock, Segment, State};

fn script(recovery: Recovery) -> Script {
    let congestion_control = CongestionControlKind::NewReno;
    Script::new(Config { recovery, congestion_control, ..Config::default() }, 1_000, 200)
}

/// The window, the threshold and the state.
fn seen(script: &Script) -> (u32, u32, State) {
    (script.end.cwnd_packets(), script.end.ssthresh(), script.end.state())
}

const ALL: [Recovery; 3] = [Recovery::Linux32, Recovery::Linux313, Recovery::Today];

/// RFC 6675, 4: fewer than three segments above are no loss yet. Blocks that were never sent, are
/// empty, or are acknowledged have no effect (RFC 2018, 5).
#[test]
fn senseless_blocks_are_ignored() {
    for recovery in ALL {
        let mut script = script(recovery);
        script.run(&[(200, Write(10_000)), (200, Out(&[(1, 10_001)]))]);
        script.run(&[(300, In(2_001, &[])), (300, Write(500))]);
        script.run(&[(300, Out(&[(10_001, 10_501)]))]);
        for blocks in [[(5_001, 10_502)], [(6_001, 6_001)], [(7_001, 5_001)]] {
            script.run(&[(310, In(2_001, &blocks))]);
        }
        assert_eq!(script.end.packets_in_flight(), 9, "{recovery:?}");
        assert_ne!(script.end.state(), State::Recovery);
        assert_eq!(script.forget_sent(), []);
    }
    let mut script = script(Recovery::Today);
    script.run(&[(200, Write(10_000)), (200, Out(&[(1, 10_001)]))]);
    script.run(&[(320, In(1, &[(8_001, 10_001)]))]);
    assert_eq!(script.end.packets_in_flight(), 8);
    assert_eq!(script.end.state(), State::Disorder);
}

/// RFC 3708, 3: the reduction is undone only when every retransmission was reported as a
/// duplicate; then window and threshold (that of Linux: at least 3/4 of the window) are restored.
#[test]
fn all_retransmissions_must_be_duplicates() {
    for recovery in [Recovery::Linux313, Recovery::Today] {
        let mut script = script(recovery);
        script.run(&[
            (200, Write(10_000)),
            (200, Out(&[(1, 10_001)])),
            (300, In(1, &[(1_001, 2_001)])),
        ]);
        for (ms, end) in [(300, 4_001), (301, 5_001), (302, 6_001), (303, 7_001), (304, 8_001)] {
            script.run(&[(ms, In(1, &[(1_001, 2_001), (3_001, end)]))]);
            script.forget_sent();
        }
        assert_eq!(script.end.state(), State::Recovery, "{recovery:?}");
        assert_eq!(script.end.retransmissions(), 2, "{recovery:?}");
        script.forget_sent();
        script.run(&[(304, Write(1_000))]);
        script.advance(400);
        script.forget_sent();
        script.run(&[(400, In(8_001, &[(1, 1_001)]))]);
        script.forget_sent();
        assert_eq!(script.end.ssthresh(), 5, "{recovery:?}: one of two");
        script.run(&[(401, In(8_001, &[(2_001, 3_001)]))]);
        assert_eq!(script.end.ssthresh(), u32::MAX, "{recovery:?}: both");
        assert!(script.end.cwnd_packets() >= 10);
    }
}

/// A flight of ten without any acknowledgement until the timeout; `later` is written, too.
fn timed_out(recovery: Recovery, later: u64) -> Script {
    let mut script = script(recovery);
    script.run(&[(200, Write(10_000)), (200, Out(&[(1, 10_001)]))]);
    let timeouts = |script: &Script| script.end.timeouts();
    while timeouts(&script) == 0 {
        let (due, _) = script.end.poll_timeout().expect("a timer runs");
        script.advance((due - lasthop_units::Instant::ZERO).as_nanos() / 1_000_000);
    }
    script.forget_sent();
    if later > 0 {
        script.end.write(script.now, later);
    }
    script
}

/// RFC 5681, 3.1, equation 4: half of the flight, and a window of one. RFC 5682, 2.1 and 3.1: the
/// first acknowledgement after the timeout lets two new segments leave. The second one, for data
/// that was sent once, shows that the timeout was spurious.
#[test]
fn an_original_after_two_new_segments_shows_a_needless_timeout() {
    for recovery in [Recovery::Linux313, Recovery::Today] {
        let mut script = timed_out(recovery, 5_000);
        // Of today the repetition by the probe is still in flight (tcp_mark_skb_lost).
        let window = if recovery == Recovery::Today { 2 } else { 1 };
        assert_eq!(seen(&script), (window, 5, State::Loss), "{recovery:?}");
        let now = millis(&script);
        script.run(&[
            (now + 50, In(1_001, &[])),
            (now + 50, Out(&[(10_001, 12_001)])),
            (now + 60, In(2_001, &[])),
        ]);
        assert_eq!(script.end.ssthresh(), u32::MAX, "{recovery:?}");
        // The probe's repetition is not acknowledged yet.
        let is_open = recovery != Recovery::Today;
        assert_eq!(script.end.state(), if is_open { State::Open } else { State::Disorder });
        assert!(script.end.cwnd_packets() >= 10, "{recovery:?}");
    }
}

/// RFC 5682, 3.1, step 3a: a duplicate acknowledgement after the two new segments, or one for new
/// data only, confirms the timeout, and the lost segments follow.
#[test]
fn a_duplicate_after_two_new_segments_confirms_the_timeout() {
    let mut script = timed_out(Recovery::Linux313, 5_000);
    let now = millis(&script);
    script.run(&[
        (now + 50, In(1_001, &[])),
        (now + 50, Out(&[(10_001, 12_001)])),
        (now + 150, In(1_001, &[(10_001, 11_001)])),
        (now + 150, Out(&[(1_001, 2_001)])),
    ]);
    assert_eq!((script.end.ssthresh(), script.end.state()), (5, State::Loss));
    // What was sent once arrives now: the decision is made.
    script.run(&[(now + 250, In(3_001, &[(10_001, 12_001)]))]);
    assert_eq!((script.end.ssthresh(), script.end.state()), (5, State::Loss));
}

/// RFC 5682, 3.1, step 2: without new data the detection is impossible, and lost segments are
/// retransmitted in slow start (RFC 5681, 3.1).
#[test]
fn without_new_data_the_lost_segments_follow() {
    let mut script = timed_out(Recovery::Linux313, 0);
    let now = millis(&script);
    script.run(&[
        (now + 100, In(1_001, &[])),
        (now + 100, Out(&[(1_001, 3_001)])),
        (now + 200, In(3_001, &[])),
        (now + 200, Out(&[(3_001, 7_001)])),
    ]);
    assert_eq!(seen(&script), (4, 5, State::Loss));
    script.run(&[(now + 300, In(7_001, &[]))]);
    script.forget_sent();
    script.run(&[(now + 400, In(10_001, &[]))]);
    assert_eq!((script.end.ssthresh(), script.end.state()), (5, State::Open));
}

/// RFC 4138, 3, with SACK: the same in 3.2, which halves the window gradually after a spurious
/// timeout, and otherwise retransmits lost segments in slow start.
#[test]
fn f_rto_of_3_2_halves_the_window_of_a_needless_timeout() {
    let mut script = timed_out(Recovery::Linux32, 5_000);
    assert_eq!(script.end.ssthresh(), 5);
    let now = millis(&script);
    script.run(&[
        (now + 50, In(1_001, &[])),
        (now + 50, Out(&[(10_001, 12_001)])),
        (now + 60, In(2_001, &[])),
    ]);
    assert_eq!(script.end.state(), State::Reduced);
    script.forget_sent();
    let window = script.end.cwnd_packets();
    for (index, end) in (3..=8).enumerate() {
        script.run(&[(now + 61 + index as u64, In(1_000 * end + 1, &[]))]);
        script.forget_sent();
    }
    // A segment for every two acknowledgements.
    assert_eq!(script.end.cwnd_packets(), (window - 3).max(5));
    assert_eq!(script.end.retransmissions(), 1, "the head only");

    let mut script = timed_out(Recovery::Linux32, 5_000);
    let now = millis(&script);
    script.run(&[
        (now + 50, In(1_001, &[])),
        (now + 50, Out(&[(10_001, 12_001)])),
        (now + 150, In(1_001, &[(10_001, 11_001)])),
    ]);
    assert_eq!((script.end.ssthresh(), script.end.state()), (5, State::Loss));
    assert!(script.end.retransmissions() > 1);
}

/// RFC 3168, 6.1.2: the window is halved once for a window of data, the next new segment carries
/// CWR, and no other one does.
#[test]
fn an_echo_halves_the_window_once() {
    for recovery in ALL {
        let congestion_control = CongestionControlKind::NewReno;
        let config = Config { recovery, congestion_control, ecn: true, ..Config::default() };
        let mut script = Script::new(config, 1_000, 200);
        script.run(&[(200, Write(100_000)), (200, Out(&[(1, 10_001)]))]);
        let mut reduced = 0;
        for (index, end) in (1..=10).enumerate() {
            script.advance(300 + index as u64);
            let mut echo = Segment {
                sequence: 1,
                acknowledgement: Some(1_000 * end + 1),
                window_bytes: 100_000,
                ecn_echo: true,
                ..Segment::default()
            };
            echo.sent = script.now;
            script.end.handle_segment(script.now, &echo, false);
            while let Some(segment) = script.end.poll_transmit(script.now) {
                reduced += u32::from(segment.window_reduced);
            }
            script.end.check();
            assert_eq!((script.end.ssthresh(), script.end.state()), (5, State::Reduced));
        }
        assert_eq!(reduced, 1, "{recovery:?}");
        assert_eq!(script.end.retransmissions(), 0);
        // A byte above what was out when it began ends it.
        script.run(&[(400, In(11_001, &[]))]);
        script.forget_sent();
        assert_eq!(script.end.state(), State::Open, "{recovery:?}");
        let window = script.end.cwnd_packets();
        assert!((5..=6).contains(&window), "{recovery:?}: {window}");
    }
}

/// The peer does not support ECN: its echoes change nothing.
#[test]
fn without_ecn_an_echo_is_ignored() {
    let mut script = script(Recovery::Today);
    script.run(&[(200, Write(100_000)), (200, Out(&[(1, 10_001)]))]);
    script.advance(300);
    script.take(&Segment {
        sequence: 1,
        acknowledgement: Some(1_001),
        window_bytes: 100_000,
        ecn_echo: true,
        ..Segment::default()
    });
    assert_eq!(seen(&script), (11, u32::MAX, State::Open));
}

/// RFC 2883, 4: the first block is a duplicate if it is below the acknowledgement, or inside of the
/// second. A duplicate of a segment that was never retransmitted comes from the network (RFC 3708,
/// 3).
#[test]
fn duplicates_of_the_network_undo_nothing() {
    let mut script = script(Recovery::Today);
    script.run(&[(200, Write(20_000)), (200, Out(&[(1, 10_001)]))]);
    script.run(&[(300, In(1, &[(2_001, 3_001), (1_001, 4_001)]))]);
    assert_eq!(script.end.state(), State::Recovery);
    assert_eq!(script.end.ssthresh(), 5);
    script.forget_sent();
    // One repetition, two duplicates.
    script.run(&[(310, In(1, &[(2_001, 4_001), (1_001, 5_001)]))]);
    assert_eq!(script.end.ssthresh(), 5);
    assert_eq!(script.end.state(), State::Recovery);
}

/// RFC 6937, 3, as Linux bounds it (RFC 9937): ten in flight, threshold five. Each delivered
/// segment lets half of one leave, and the window is the threshold when recovery ends.
#[test]
fn recovery_halves_in_proportion_to_what_is_delivered() {
    for recovery in [Recovery::Linux313, Recovery::Today] {
        let mut script = script(recovery);
        script.run(&[(200, Write(30_000)), (200, Out(&[(1, 10_001)]))]);
        let mut sent = 0;
        for (index, end) in (2..=10).enumerate() {
            script.run(&[(300 + index as u64, In(1, &[(1_001, 1_000 * end + 1)]))]);
            sent += script.forget_sent().len();
            if script.end.state() == State::Recovery {
                let packets = script.end.packets_in_flight();
                assert!(packets <= script.end.cwnd_packets() && packets >= 5, "{recovery:?}");
            }
        }
        assert_eq!(seen(&script), (5, 5, State::Recovery), "{recovery:?}");
        assert_eq!(script.end.packets_in_flight(), 5, "{recovery:?}");
        // The one that was repeated, and the new ones in flight but for it.
        assert_eq!(sent, 5, "{recovery:?}");
        // Limited transmit (RFC 3042) sent two before it began.
        script.run(&[(400, In(11_001, &[]))]);
        script.forget_sent();
        assert_eq!(seen(&script), (5, 5, State::Recovery), "{recovery:?}");
        script.run(&[(401, In(12_001, &[]))]);
        assert_eq!(seen(&script), (5, 5, State::Open), "{recovery:?}");
    }
}

/// RFC 8985, 7.4.2: an acknowledgement of the probe without a report of a duplicate shows a loss
/// that the probe mended: the window is halved. With the report no segment was lost.
#[test]
fn a_probe_that_mends_a_loss_halves_the_window() {
    for (blocks, expected) in [(&[][..], 2), (&[(3_001, 4_001)], u32::MAX)] {
        let mut script = script(Recovery::Today);
        script.run(&[(200, Write(4_000)), (200, Out(&[(1, 4_001)])), (300, In(3_001, &[]))]);
        let (due, _) = script.end.poll_timeout().expect("a probe");
        script.advance((due - lasthop_units::Instant::ZERO).as_nanos() / 1_000_000 + 1);
        assert_eq!(script.forget_sent().len(), 1);
        let now = millis(&script);
        script.run(&[(now + 50, Write(1_000)), (now + 50, Out(&[(4_001, 5_001)]))]);
        let window = script.end.cwnd_packets();
        script.run(&[(now + 100, In(4_001, blocks)), (now + 150, In(5_001, blocks))]);
        let threshold = if expected == u32::MAX { u32::MAX } else { window / 2 };
        assert_eq!(script.end.ssthresh(), threshold);
        assert_eq!((script.end.state(), script.end.timeouts()), (State::Open, 0));
    }
}

fn millis(script: &Script) -> u64 {
    (script.now - lasthop_units::Instant::ZERO).as_nanos() / 1_000_000
}

/// RFC 5681, 3.2, without SACK: three duplicates are a loss, two are not, and a segment with data
/// or with another window is no duplicate.
#[test]
fn the_third_duplicate_acknowledgement_is_a_loss() {
    for recovery in ALL {
        let congestion_control = CongestionControlKind::NewReno;
        let config = Config { recovery, congestion_control, sack: false, ..Config::default() };
        let mut script = Script::new(config, 1_000, 200);
        script.run(&[(200, Write(10_000)), (200, Out(&[(1, 10_001)]))]);
        let plain = Segment {
            sequence: 1,
            acknowledgement: Some(1),
            window_bytes: 100_000,
            sack: [SackBlock::default(); 3],
            ..Segment::default()
        };
        script.advance(300);
        for _ in 0..2 {
            script.take(&plain);
        }
        for window_bytes in [101_000, 102_000, 103_000] {
            script.take(&Segment { window_bytes, ..plain });
        }
        for index in 0..3 {
            let sequence = 1 + 100 * index;
            script.take(&Segment { sequence, payload_bytes: 100, ..plain });
        }
        assert_eq!(script.end.retransmissions(), 0, "{recovery:?}");
        assert_eq!(script.end.state(), State::Disorder, "{recovery:?}");
        script.take(&Segment { sequence: 301, ..plain });
        script.take(&Segment { sequence: 301, ..plain });
        assert_eq!(script.end.retransmissions(), 1, "{recovery:?}");
        assert_eq!((script.end.ssthresh(), script.end.state()), (5, State::Recovery));
    }
}

/// tcp_fastretrans_alert of 3.13: after a partial acknowledgement in recovery the head is lost if
/// more than three segments up to the highest sacked one are outstanding.
#[test]
fn a_partial_acknowledgement_loses_the_head_of_more_than_three() {
    for recovery in [Recovery::Linux32, Recovery::Linux313] {
        for (highest, is_lost) in [(8_001, false), (9_001, true)] {
            let mut script = script(recovery);
            script.run(&[(200, Write(30_000)), (200, Out(&[(1, 10_001)]))]);
            script.run(&[(300, In(1, &[(1_001, 5_001)]))]);
            assert_eq!(script.end.state(), State::Recovery);
            assert!(script.forget_sent().contains(&(1, 1_001)));
            script.run(&[(350, In(5_001, &[(6_001, highest)]))]);
            let sent = script.forget_sent();
            assert_eq!(sent.contains(&(5_001, 6_001)), is_lost, "{recovery:?}: {sent:?}");
        }
    }
}

/// The first echo acknowledges four of ten segments. In 3.2 the window is at most one more than the
/// segments in flight (tcp_cwnd_down). By RFC 6937 half as many segments may leave as arrived, and
/// no more than the threshold are in flight. In 3.13 slow start has grown the window to 14 by then.
#[test]
fn rate_halving_and_proportional_reduction_differ_after_a_stretch() {
    for (recovery, window, threshold) in
        [(Recovery::Linux32, 6 + 1, 5), (Recovery::Linux313, 7, 7), (Recovery::Today, 6 + 2, 5)]
    {
        let congestion_control = CongestionControlKind::NewReno;
        let config = Config { recovery, congestion_control, ecn: true, ..Config::default() };
        let mut script = Script::new(config, 1_000, 200);
        script.run(&[(200, Write(100_000)), (200, Out(&[(1, 10_001)]))]);
        script.advance(300);
        script.take(&Segment {
            sequence: 1,
            acknowledgement: Some(4_001),
            window_bytes: 100_000,
            ecn_echo: true,
            ..Segment::default()
        });
        assert_eq!(seen(&script), (window, threshold, State::Reduced), "{recovery:?}");
    }
}

/// RFC 3522, 3.2: an acknowledgement that echoes a timestamp from before the retransmission answers
/// the original: window and threshold are restored. Without SACK Linux stays in the state until all
/// segments in flight then are acknowledged (tcp_try_undo_loss). A later timestamp undoes nothing.
#[test]
fn an_echo_from_before_the_retransmission_undoes_the_timeout() {
    for (sack, echoed_ms, is_undone) in
        [(true, 200, true), (false, 200, true), (true, 1_310, false), (false, 1_310, false)]
    {
        let congestion_control = CongestionControlKind::NewReno;
        let config = Config { congestion_control, sack, ..Config::default() };
        let mut script = Script::new(config, 1_000, 200);
        script.run(&[(200, Write(10_000)), (200, Out(&[(1, 10_001)]))]);
        script.advance(1_303);
        assert!(script.end.timeouts() > 0);
        script.forget_sent();
        // Less than a round trip after the last retransmission, which RACK takes for an answer to
        // the original, too.
        script.advance(1_350);
        script.take(&Segment {
            sequence: 1,
            acknowledgement: Some(1_001),
            window_bytes: 100_000,
            echoed: Some(lasthop_units::Instant::from_nanos(1_000_000 * echoed_ms)),
            ..Segment::default()
        });
        let threshold = if is_undone { u32::MAX } else { 5 };
        assert_eq!(script.end.ssthresh(), threshold, "{sack} {echoed_ms}");
        assert_eq!(script.end.cwnd_packets() >= 10, is_undone, "{sack} {echoed_ms}");
        let is_left = is_undone && sack;
        assert_eq!(script.end.state() != State::Loss, is_left, "{sack} {echoed_ms}");
    }
}

/// tcp_current_ssthresh: when a reduction is undone, the threshold is at least three quarters of
/// the window that was reduced. A loss left 5; the window has grown to 8 since.
#[test]
fn an_undone_timeout_leaves_three_quarters_of_the_window() {
    for recovery in [Recovery::Linux313, Recovery::Today] {
        let mut script = script(recovery);
        script.run(&[(200, Write(100_000)), (200, Out(&[(1, 10_001)]))]);
        script.run(&[(300, In(1, &[(1_001, 5_001)]))]);
        script.forget_sent();
        script.run(&[(400, In(1_000 * 10 + 1, &[]))]);
        let mut highest = 10_001;
        let mut note = |script: &mut Script| {
            let sent = script.forget_sent();
            highest = sent.iter().map(|sent| sent.1).fold(highest, u64::max);
            highest
        };
        let (mut acknowledged, mut next) = (10_001, 0);
        while script.end.cwnd_packets() != 8 || script.end.state() != State::Open {
            let highest = note(&mut script);
            assert!(acknowledged < highest && next < 200, "{recovery:?}: {:?}", seen(&script));
            acknowledged += 1_000;
            next += 1;
            script.run(&[(410 + 10 * next, In(acknowledged, &[]))]);
        }
        assert_eq!(seen(&script), (8, 5, State::Open));
        script.end.discard_unsent();
        while script.end.timeouts() == 0 {
            let (due, _) = script.end.poll_timeout().expect("a timer runs");
            script.advance((due - lasthop_units::Instant::ZERO).as_nanos() / 1_000_000 + 1);
        }
        assert_eq!(script.end.ssthresh(), 4, "{recovery:?}");
        script.forget_sent();
        script.end.write(script.now, 5_000);
        let now = millis(&script);
        script.run(&[(now + 10, In(acknowledged + 1_000, &[]))]);
        script.forget_sent();
        script.run(&[(now + 20, In(acknowledged + 2_000, &[]))]);
        assert_eq!(script.end.ssthresh(), 6, "{recovery:?}");
        assert!(script.end.cwnd_packets() >= 8, "{recovery:?}");
    }
}

/// tcp_head_timedout of 3.2: the timer restarts with each acknowledgement, but a head that was sent
/// longer ago than the timeout is lost nevertheless.
#[test]
fn a_head_older_than_the_timeout_is_lost_in_3_2() {
    for (recovery, is_lost) in [(Recovery::Linux32, true), (Recovery::Linux313, false)] {
        for is_late in [false, true] {
            let mut script = script(recovery);
            script.run(&[(200, Write(20_000)), (200, Out(&[(1, 10_001)]))]);
            script.advance(450);
            // The probe of 3.13.
            script.forget_sent();
            script.run(&[(450, In(1_001, &[]))]);
            script.forget_sent();
            let timeout = script.end.retransmission_timeout().as_nanos() / 1_000_000;
            let last = 200 + timeout - 1 + 2 * u64::from(is_late);
            script.run(&[(last, In(1_001, &[(2_001, 3_001)]))]);
            let sent = script.forget_sent();
            let is_repeated = sent.contains(&(1_001, 2_001));
            assert_eq!(is_repeated, is_lost && is_late, "{recovery:?} {last}: {sent:?}");
        }
    }
}

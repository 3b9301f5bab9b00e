//! Tests of the next segment: PSH (RFC 9293, 3.9.1), the peer's window (3.8.6), the send buffer,
//! Nagle's rule (RFC 1122, 4.2.3.4), FIN, and segments that the sending node refused. The peer is
//! a script: the round-trip time is 100 ms, segments have 1000 bytes of payload.

use alloc::vec::Vec;
use lasthop_units::{Bytes, Duration, Instant, Machine};

use super::path::{Direction, FULL, Path};
use crate::{Config, CongestionControlKind, Endpoint, Recovery, Segment, SmallQueues, State};

const MS: fn(u64) -> Duration = Duration::from_millis;

fn config() -> Config {
    Config {
        segment_bytes: 1_000,
        congestion_control: CongestionControlKind::NewReno,
        small_queues: SmallQueues::Off,
        ..Config::default()
    }
}

/// A client connected since 100 ms, with this window of the peer in bytes.
fn connected(config: &Config, window_bytes: u32) -> (Endpoint, Instant) {
    let mut end = Endpoint::new(config);
    assert_eq!((end.bytes_in_flight(), end.packets_in_flight()), (0, 0));
    assert!(!end.is_settled(), "nothing is known before the handshake");
    end.connect(Instant::ZERO);
    assert!(end.poll_transmit(Instant::ZERO).is_some_and(|segment| segment.syn));
    assert_eq!(end.bytes_in_flight(), 0);
    let answer =
        Segment { syn: true, acknowledgement: Some(1), window_bytes, ..Segment::default() };
    let now = Instant::ZERO + MS(100);
    end.handle_segment(now, &answer, false);
    let third = end.poll_transmit(now).expect("it completes the handshake");
    assert_eq!((third.sequence, third.payload_bytes, third.acknowledgement), (1, 0, Some(1)));
    assert!(!end.is_pushed(&third), "without payload nothing is pushed");
    assert_eq!(end.poll_transmit(now), None);
    assert!(end.is_settled());
    (end, now)
}

/// Segments that leave now: start, payload, FIN, and PSH of each.
fn poll(end: &mut Endpoint, now: Instant) -> Vec<(u64, u32, bool, bool)> {
    let segments = core::iter::from_fn(|| {
        let segment = end.poll_transmit(now)?;
        Some((segment.sequence, segment.payload_bytes, segment.fin, end.is_pushed(&segment)))
    });
    let segments = segments.collect();
    end.check();
    assert!(end.is_settled());
    segments
}

fn acknowledge(end: &mut Endpoint, now: Instant, acknowledged: u64, window_bytes: u32) {
    let acknowledgement = Some(acknowledged);
    let segment = Segment { sequence: 1, acknowledgement, window_bytes, ..Segment::default() };
    end.handle_segment(now, &segment, false);
    end.check_settled(now);
}

/// RFC 9293, 3.9.1, MUST-61: PSH is set in the last segment of the written data, and in no other
/// one; a FIN alone pushes nothing.
#[test]
fn the_last_buffered_segment_is_pushed() {
    let (mut end, now) = connected(&config(), 100_000);
    end.write(now, 2_500);
    assert!(!end.is_settled());
    end.finish(now);
    let sent = [(1, 1_000, false, false), (1_001, 1_000, false, false), (2_001, 500, true, true)];
    assert_eq!(poll(&mut end, now), sent);
    assert_eq!((end.bytes_in_flight(), end.packets_in_flight()), (2_501, 3));

    let (mut end, now) = connected(&config(), 100_000);
    end.write(now, 1_000);
    assert_eq!(poll(&mut end, now), [(1, 1_000, false, true)]);
    end.finish(now);
    assert_eq!(poll(&mut end, now), [(1_001, 0, true, false)]);
    // Nothing follows a FIN.
    end.write(now, 1_000);
    end.finish(now);
    assert_eq!(poll(&mut end, now), []);
    assert_eq!((end.bytes_in_flight(), end.unsent_bytes()), (1_001, 0));
    acknowledge(&mut end, now + MS(100), 1_001, 100_000);
    assert_eq!((end.is_sent(), end.acknowledged_bytes(), end.bytes_in_flight()), (false, 1_000, 1));
    acknowledge(&mut end, now + MS(100), 1_002, 100_000);
    assert_eq!((end.is_sent(), end.acknowledged_bytes(), end.bytes_in_flight()), (true, 1_000, 0));
    assert_eq!(poll(&mut end, now), []);
    end.finish(now);
    assert!(end.is_settled(), "an application without more data says so whenever it runs");
}

/// RFC 9293, 3.8.6: nothing beyond the peer's window is sent, FIN included. Linux shortens a
/// segment to it only when nothing is in flight (tcp_write_xmit, tcp_snd_wnd_test).
#[test]
fn nothing_is_sent_beyond_the_window() {
    for (window, first) in [
        (2_999, [(1, 1_000), (1_001, 1_000)].as_slice()),
        (3_000, &[(1, 1_000), (1_001, 1_000), (2_001, 1_000)]),
        (3_001, &[(1, 1_000), (1_001, 1_000), (2_001, 1_000)]),
        (999, &[(1, 999)]),
        (1, &[(1, 1)]),
        (0, &[]),
    ] {
        let (mut end, now) = connected(&config(), window);
        end.write(now, 5_000);
        let sent: Vec<_> = poll(&mut end, now).iter().map(|sent| (sent.0, sent.1)).collect();
        assert_eq!(sent, first, "{window}");
        let bytes: u32 = first.iter().map(|segment| segment.1).sum();
        assert_eq!(end.bytes_in_flight(), u64::from(bytes));
        assert_eq!(end.unsent_bytes(), 5_000 - u64::from(bytes));
    }
    // A FIN needs a byte of the window.
    for (window, sent) in [(1_000, (1, 1_000, false, true)), (1_001, (1, 1_000, true, true))] {
        let (mut end, now) = connected(&config(), window);
        end.write(now, 1_000);
        end.finish(now);
        assert_eq!(poll(&mut end, now), [sent], "{window}");
        acknowledge(&mut end, now, 1_001 + u64::from(sent.2), 1);
        assert_eq!(poll(&mut end, now).is_empty(), sent.2);
    }
}

/// RFC 9293, 3.10.7.4: the window is taken from a segment that is newer, by its sequence number
/// and then its acknowledgement. Linux takes a larger window from one that is as new
/// (tcp_may_update_window).
#[test]
fn the_window_is_taken_from_the_newest_segment() {
    for (sequence, acknowledged, window, sent) in [
        (1, 1, 5_000, 5),
        (1, 1, 2_000, 3),
        (2, 1, 2_000, 2),
        (2, 1, 5_000, 5),
        (0, 1, 5_000, 3),
        (0, 0, 9_000, 3),
    ] {
        let (mut end, now) = connected(&config(), 3_000);
        acknowledge(&mut end, now, 1, 3_000);
        let segment = Segment {
            sequence,
            acknowledgement: Some(acknowledged),
            window_bytes: window,
            ..Segment::default()
        };
        end.handle_segment(now, &segment, false);
        end.write(now, 10_000);
        assert_eq!(poll(&mut end, now).len(), sent, "{sequence} {acknowledged} {window}");
    }
    // What acknowledges new data is newer; what acknowledges data never sent is ignored.
    let (mut end, now) = connected(&config(), 1_000);
    end.write(now, 10_000);
    assert_eq!(poll(&mut end, now).len(), 1);
    acknowledge(&mut end, now, 1_002, 9_000);
    assert_eq!((end.bytes_in_flight(), poll(&mut end, now)), (1_000, Vec::new()));
    acknowledge(&mut end, now, 1_001, 3_000);
    assert_eq!(poll(&mut end, now).len(), 3);
}

/// tcp_wmem, as Config::send_window has it: no more than these bytes are in flight.
#[test]
fn the_send_buffer_bounds_what_is_in_flight() {
    for (bytes, segments) in [(3_000, 3), (2_999, 2), (3_999, 3), (1, 1)] {
        let (mut end, now) =
            connected(&Config { send_window: Bytes::new(bytes), ..config() }, 100_000);
        end.write(now, 10_000);
        assert_eq!(poll(&mut end, now).len(), segments, "{bytes}");
        acknowledge(&mut end, now, 1_001, 100_000);
        assert_eq!(poll(&mut end, now).len(), 1, "{bytes}");
    }
}

/// RFC 1122, 4.2.3.4, in Minshall's variant: a small segment waits while another small one is not
/// acknowledged; a full one does not, nor does a small one after full ones.
#[test]
fn one_small_segment_is_in_flight() {
    let (mut end, now) = connected(&config(), 100_000);
    end.write(now, 1_100);
    assert_eq!(poll(&mut end, now).len(), 2);
    end.write(now, 999);
    assert_eq!(poll(&mut end, now), []);
    end.write(now, 1);
    assert_eq!(poll(&mut end, now), [(1_101, 1_000, false, true)]);
    end.write(now, 10);
    acknowledge(&mut end, now, 1_001, 100_000);
    assert_eq!(poll(&mut end, now), []);
    acknowledge(&mut end, now, 1_101, 100_000);
    assert_eq!(poll(&mut end, now), [(2_101, 10, false, true)]);
}

/// Bytes that are written and not sent can be discarded; the stream continues after the sent ones.
#[test]
fn what_was_not_sent_can_be_discarded() {
    let (mut end, now) = connected(&config(), 2_000);
    end.write(now, Endpoint::BULK);
    assert_eq!(end.unsent_bytes(), Endpoint::BULK);
    assert_eq!(poll(&mut end, now).len(), 2);
    end.discard_unsent();
    assert_eq!(end.unsent_bytes(), 0);
    acknowledge(&mut end, now, 2_001, 9_000);
    assert_eq!(poll(&mut end, now), []);
    end.set_segment_bytes(400);
    end.write(now, 500);
    end.finish(now);
    assert_eq!(poll(&mut end, now), [(2_001, 400, false, false), (2_401, 100, true, true)]);
}

/// Linux' local congestion: a new segment that the node refuses is taken back, the window is
/// reduced once, and the segment is sent after a release or an acknowledgement. A bare
/// acknowledgement that is refused is lost.
#[test]
fn a_refused_segment_is_sent_again() {
    let (mut end, now) = connected(&Config { local_congestion: true, ..config() }, 100_000);
    end.handle_refused(now, &Segment { sequence: 1, ..Segment::default() });
    assert_eq!((end.state(), end.ssthresh()), (State::Open, u32::MAX));
    end.write(now, 3_000);
    let first = end.poll_transmit(now).expect("the first");
    let second = end.poll_transmit(now).expect("the second");
    end.handle_refused(now, &second);
    assert_eq!((end.state(), end.ssthresh()), (State::Reduced, 5));
    assert_eq!((end.bytes_in_flight(), end.packets_in_flight()), (1_000, 1));
    assert_eq!((end.unsent_bytes(), end.retransmissions()), (2_000, 0));
    assert_eq!(poll(&mut end, now), []);
    end.handle_released(now, 1, first.packet_bytes());
    assert!(!end.is_settled());
    assert_eq!(end.poll_transmit(now).map(|segment| segment.sequence), Some(1_001));
    let third = end.poll_transmit(now).expect("the third");
    end.handle_refused(now, &third);
    assert_eq!(end.ssthresh(), 5, "once a round trip");
    assert_eq!(poll(&mut end, now), []);
    acknowledge(&mut end, now, 1_001, 100_000);
    assert_eq!(poll(&mut end, now), [(2_001, 1_000, false, true)]);
}

/// A refused FIN without data, when nothing else is in flight: a timer sends it again.
#[test]
fn a_refused_fin_is_sent_again() {
    let (mut end, mut now) = connected(&Config { local_congestion: true, ..config() }, 100_000);
    end.finish(now);
    let fin = end.poll_transmit(now).expect("a FIN");
    assert_eq!((fin.fin, fin.payload_bytes), (true, 0));
    end.handle_refused(now, &fin);
    assert_eq!(end.bytes_in_flight(), 0);
    assert_eq!(poll(&mut end, now), []);
    let (due, _) = end.poll_timeout().expect("it tries again");
    assert!(due > now);
    now = due;
    end.handle_timeout(now);
    assert_eq!(poll(&mut end, now), [(1, 0, true, false)]);
}

/// RFC 6298, 2 and 5.5: an unanswered SYN-ACK, and a SYN of older kernels, are repeated after
/// timeouts that double, up to two minutes.
#[test]
fn handshake_timeouts_double() {
    let times = |mut end: Endpoint| {
        let mut times = Vec::new();
        let mut now = Instant::ZERO;
        for _ in 0..10 {
            let syn = end.poll_transmit(now).expect("it is due");
            assert!(syn.syn && syn.payload_bytes == 0 && end.poll_transmit(now).is_none());
            times.push((now - Instant::ZERO).as_nanos() / 1_000_000_000);
            let (due, _) = end.poll_timeout().expect("it is not answered");
            end.handle_timeout(now);
            assert_eq!(end.poll_transmit(now), None, "too early");
            now = due;
            end.handle_timeout(now);
        }
        times
    };
    let doubled = [0, 1, 3, 7, 15, 31, 63, 127, 247, 367];
    for recovery in [Recovery::Today, Recovery::Linux313, Recovery::Linux32] {
        let mut listening = Endpoint::new(&Config { recovery, ..config() });
        let mut opening = listening.clone();
        let syn = Segment { syn: true, ..Segment::default() };
        listening.handle_segment(Instant::ZERO, &syn, false);
        assert_eq!(times(listening), doubled);
        opening.connect(Instant::ZERO);
        if recovery != Recovery::Today {
            assert_eq!(times(opening), doubled);
        }
    }
}

/// The round-trip time of the segment acknowledged last, and the smallest one.
#[test]
fn queries_say_what_was_measured() {
    let mut path = Path::new(config(), [Direction::new(MS(10)), Direction::new(MS(10))]);
    path.start(FULL);
    path.run(MS(45));
    assert_eq!((path.ends[0].latest_rtt(), path.ends[0].min_rtt()), (Some(MS(20)), Some(MS(20))));
    let end = &path.ends[0];
    assert_eq!(end.round_trips().last(), end.latest_rtt().as_ref());
    assert_eq!(end.retransmission_timeout(), MS(20) + MS(200));
    assert_eq!((end.packets_in_flight(), end.queued_bytes(), end.is_received()), (0, 0, false));
    assert_eq!((end.received_bytes(), path.ends[1].received_bytes()), (0, FULL));
}

/// skb_still_in_host_queue: a segment whose last copy is still in the node's queues is not
/// retransmitted until it has left them. Before 3.15 it was retransmitted at once.
#[test]
fn a_segment_that_is_still_queued_is_not_repeated() {
    for recovery in [Recovery::Today, Recovery::Linux313] {
        let rules = SmallQueues::Fixed { limit: Bytes::new(1 << 20), overhead: Bytes::new(0) };
        let config = Config { small_queues: rules, recovery, ..config() };
        let (mut end, now) = connected(&config, 100_000);
        end.write(now, 6_000);
        assert_eq!(poll(&mut end, now).len(), 6);
        assert_eq!(end.queued_bytes(), 6 * 1_052);
        let now = now + MS(100);
        let mut segment = Segment {
            sequence: 1,
            acknowledgement: Some(1),
            window_bytes: 100_000,
            sack_blocks: 1,
            ..Segment::default()
        };
        (segment.sack[0].start, segment.sack[0].end) = (1_001, 6_001);
        end.handle_segment(now, &segment, false);
        let again = [(1, 1_000, false, false)];
        if recovery == Recovery::Today {
            assert_eq!(poll(&mut end, now), []);
            end.handle_released(now, 1, 1_052);
        }
        assert_eq!(poll(&mut end, now).first(), again.first(), "{recovery:?}");
    }
}

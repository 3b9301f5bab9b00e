//! A TCP endpoint ([RFC 9293]): sender and receiver, the handshake, and the
//! segments that leave. The driver passes in segments that arrive
//! ([`Endpoint::handle_segment`]), releases of its node's queue, and the time; then
//! it polls for segments until there are none.
//!
//! The handshake is SYN, SYN-ACK, ACK (RFC 9293, 3.5). An unanswered SYN is repeated after 1 s five
//! times, as Linux does since 6.5, then, like a SYN-ACK, after timeouts that double (RFC 6298). An
//! endpoint listens until [`Endpoint::connect`]. SYN takes byte 0 of the stream. Both ends of a
//! connection with ECN announce it: ECE and CWR in the SYN, ECE in the SYN-ACK (RFC 3168, 6.1.1); a
//! SYN that is repeated does without (6.1.1.1, tcp_ecn_fallback). Accurate feedback has other flags
//! (`accurate_ecn`). Left out: resets, TIME-WAIT, and
//! giving up.
//!
//! [RFC 9293]: https://www.rfc-editor.org/rfc/rfc9293

use lasthop_units::{Bitrate, Duration, Instant, Machine};

use crate::accurate_ecn::{EcnFeedback, describe_arrival, read_flags, write_flags};
use crate::receiver::Receiver;
use crate::rtt::{TIMEOUT_INITIAL, TIMEOUT_MAX};
use crate::sender::{Outgoing, Sender, State, Timer};
use crate::{Config, Segment};

/// Number of timeouts of a SYN that do not double the next one (tcp_syn_linear_timeouts).
const SYN_LINEAR_TIMEOUTS: u32 = 4;

/// Reason for the next wake-up of an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The SYN was not answered.
    Handshake,
    /// The retransmission timeout (RFC 6298).
    Retransmission,
    /// The loss probe for the last segments of a flight (RFC 8985, 7).
    LossProbe,
    /// The reordering window of a segment ends: the segment then counts as lost (RFC 8985, 6.2).
    Reordering,
    /// The delay of early retransmit, after one duplicate acknowledgement for a
    /// short flight (RFC 5827).
    EarlyRetransmit,
    /// A probe: the peer's window is closed, or the sending node's queue refused all segments.
    Persist,
    /// The time at which pacing lets the next segment leave.
    Pacing,
    /// The delay of an acknowledgement.
    DelayedAck,
}

/// One end of a TCP connection.
///
/// A wire loses one segment in the middle of a transfer, and the sender repeats exactly that one:
///
/// ```
/// use lasthop_tcp::{Config, Endpoint};
/// use lasthop_units::{Duration, Instant, Machine};
///
/// let config = Config::default();
/// let (mut client, mut server) = (Endpoint::new(&config), Endpoint::new(&config));
/// let mut now = Instant::ZERO;
/// client.connect(now);
/// client.write(now, 100_000);
/// client.finish(now);
/// let mut sent = 0;
/// while !client.is_sent() {
///     while let Some(segment) = client.poll_transmit(now) {
///         if segment.payload_bytes > 0 {
///             // The node's queue is empty: the wire takes packets at once.
///             client.handle_released(now, 1, segment.packet_bytes());
///         }
///         sent += 1;
///         if sent != 20 {
///             server.handle_segment(now + Duration::from_millis(5), &segment, false);
///         }
///     }
///     now += Duration::from_millis(5);
///     server.handle_timeout(now);
///     while let Some(segment) = server.poll_transmit(now) {
///         client.handle_segment(now + Duration::from_millis(5), &segment, false);
///     }
///     now += Duration::from_millis(5);
///     client.handle_timeout(now);
/// }
/// assert_eq!(server.received_bytes(), 100_000);
/// assert_eq!((client.retransmissions(), client.timeouts()), (1, 0));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Endpoint {
    sender: Sender,
    receiver: Receiver,
    handshake: Handshake,
    /// Whether a probe of the peer's closed window is to be sent.
    must_probe_window: bool,
    /// Timeouts of a SYN that do not double the next one.
    syn_timeouts_linear: u32,
    /// The feedback of congestion marks that this end supports.
    feedback: EcnFeedback,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Handshake {
    /// The endpoint waits for a SYN.
    Listening,
    /// The endpoint's SYN is in flight; it carries an acknowledgement if the peer's SYN has
    /// arrived.
    Opening(Opening),
    Established,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Opening {
    /// Instant at which the endpoint's SYN was first sent.
    first_sent: Option<Instant>,
    is_repeated: bool,
    is_due: bool,
    timer: Option<Instant>,
    timeout: Duration,
    timeouts: u32,
    /// The feedback that the last SYN requested.
    requested: EcnFeedback,
}

impl Opening {
    fn new() -> Self {
        Self {
            first_sent: None,
            is_repeated: false,
            is_due: true,
            timer: None,
            timeout: TIMEOUT_INITIAL,
            timeouts: 0,
            requested: EcnFeedback::Off,
        }
    }
}

impl Endpoint {
    /// A number of bytes to write that stands for an endless stream.
    pub const BULK: u64 = u64::MAX;

    /// Creates an endpoint that listens.
    pub fn new(config: &Config) -> Self {
        Self {
            sender: Sender::new(config),
            receiver: Receiver::new(config),
            handshake: Handshake::Listening,
            must_probe_window: false,
            syn_timeouts_linear: if config.recovery.counts() { 0 } else { SYN_LINEAR_TIMEOUTS },
            feedback: match (config.ecn, config.accurate_ecn) {
                _ if config.congestion_control.needs_marks() => EcnFeedback::Accurate,
                (false, _) => EcnFeedback::Off,
                (true, false) => EcnFeedback::Classic,
                (true, true) => EcnFeedback::Accurate,
            },
        }
    }

    /// Opens the connection. The peer needs no such call, because it answers the SYN.
    pub fn connect(&mut self, _now: Instant) {
        if self.handshake == Handshake::Listening {
            self.handshake = Handshake::Opening(Opening::new());
        }
    }

    /// Writes `bytes` more of the application's data; [`Endpoint::BULK`] makes the stream endless.
    /// The call has no effect after [`Endpoint::finish`].
    pub fn write(&mut self, now: Instant, bytes: u64) {
        self.sender.write(now, bytes);
    }

    /// Sets the largest payload of new segments in bytes, when the MTU of the path
    /// changes. Segments sent before keep their length.
    pub fn set_segment_bytes(&mut self, bytes: u16) {
        self.sender.set_segment_bytes(bytes);
    }

    /// Ends the stream after the written data: a FIN follows.
    pub fn finish(&mut self, _now: Instant) {
        self.sender.finish();
    }

    /// Discards written bytes that are not yet sent: the application has stopped.
    pub fn discard_unsent(&mut self) {
        self.sender.discard_unsent();
    }

    /// Handles a segment from the peer. `is_marked` is whether its packet carries the ECN codepoint
    /// CE (congestion experienced).
    pub fn handle_segment(&mut self, now: Instant, segment: &Segment, is_marked: bool) {
        self.sender.round_trips.clear();
        if segment.syn {
            self.handle_syn(now, segment, is_marked);
        } else {
            match &self.handshake {
                Handshake::Listening => return,
                // Before the peer's SYN no other segment can be placed in the stream.
                Handshake::Opening(_) if !self.receiver.is_open() => return,
                Handshake::Opening(_) => self.complete(now, segment),
                Handshake::Established => {}
            }
            self.receiver.handle_segment(now, segment, is_marked, self.sender.round_trip());
        }
        if self.handshake == Handshake::Established {
            self.sender.handle_acknowledgement(now, segment);
        }
    }

    fn handle_syn(&mut self, now: Instant, segment: &Segment, is_marked: bool) {
        if self.receiver.is_open() {
            // A repeated SYN: our answer was lost.
            match &mut self.handshake {
                Handshake::Opening(opening) => opening.is_due = true,
                _ => self.receiver.answer_again(describe_arrival(segment, is_marked)),
            }
        } else {
            let is_answer = segment.acknowledgement.is_some();
            let flags = read_flags(segment);
            let feedback = match &self.handshake {
                Handshake::Opening(opening) if is_answer => opening.requested.settle(flags),
                _ => self.feedback.accept(flags),
            };
            self.receiver.open(segment, feedback == EcnFeedback::Classic);
            self.sender.set_ecn(feedback == EcnFeedback::Classic);
            if feedback == EcnFeedback::Accurate {
                self.receiver.count_marks(describe_arrival(segment, is_marked));
                self.sender.set_accurate_ecn();
            }
            match &mut self.handshake {
                Handshake::Listening => self.handshake = Handshake::Opening(Opening::new()),
                Handshake::Opening(_) if segment.acknowledgement.is_some() => {
                    self.receiver.acknowledge_at_once();
                }
                // Simultaneous open: our SYN is sent again, with an acknowledgement.
                Handshake::Opening(opening) => opening.is_due = true,
                Handshake::Established => {}
            }
        }
        self.sender.pass_over_flags();
        self.complete(now, segment);
    }

    /// Completes the handshake if the segment acknowledges the endpoint's SYN.
    fn complete(&mut self, now: Instant, segment: &Segment) {
        let Handshake::Opening(opening) = &self.handshake else {
            return;
        };
        let Some(first_sent) = opening.first_sent else {
            return;
        };
        if segment.acknowledgement.is_none_or(|acknowledged| acknowledged == 0) {
            return;
        }
        let sent = if opening.is_repeated { segment.echoed } else { Some(first_sent) };
        let round_trip = sent.map(|sent| now.saturating_since(sent));
        self.sender.open(now, segment.window_bytes, round_trip);
        self.sender.pass_over_flags();
        self.handshake = Handshake::Established;
    }

    /// Records that the sending node released `packets` with payload of this endpoint: they were
    /// sent or dropped. `bytes` is their length, headers included. TCP small queues need this call.
    pub fn handle_released(&mut self, _now: Instant, packets: u32, bytes: u32) {
        self.sender.release(packets, bytes);
    }

    /// Records that the sending node's queue refused a segment that was just polled. A segment with
    /// data is sent again later, and the window is reduced.
    pub fn handle_refused(&mut self, now: Instant, segment: &Segment) {
        if segment.payload_bytes > 0 || segment.fin {
            let packet_bytes = (segment.payload_bytes > 0).then(|| segment.packet_bytes());
            self.sender.handle_refused(now, segment.sequence, packet_bytes);
        }
    }

    /// Returns the next segment to send; poll until there is none.
    #[inline]
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Segment> {
        if self.is_settled() {
            return None;
        }
        self.poll_segment(now)
    }

    /// Whether [`Endpoint::poll_transmit`] would return `None` and change nothing.
    #[inline]
    pub fn is_settled(&self) -> bool {
        matches!(self.handshake, Handshake::Established)
            && self.sender.is_settled()
            && !self.must_probe_window
            && !self.receiver.is_due()
    }

    fn poll_segment(&mut self, now: Instant) -> Option<Segment> {
        match &mut self.handshake {
            Handshake::Established => {}
            Handshake::Listening => return None,
            Handshake::Opening(opening) => {
                if !opening.is_due {
                    return None;
                }
                opening.is_due = false;
                opening.is_repeated = opening.first_sent.is_some();
                opening.first_sent.get_or_insert(now);
                opening.timer = Some(now + opening.timeout);
                // RFC 9768, 3.1.4.1: accurate feedback is requested twice, classic ECN once.
                opening.requested = match (self.feedback, opening.timeouts) {
                    (EcnFeedback::Accurate, 0 | 1) | (EcnFeedback::Classic, 0) => self.feedback,
                    _ => EcnFeedback::Off,
                };
                let requested = opening.requested;
                let mut segment = Segment { syn: true, sent: now, ..Segment::default() };
                self.fill_in(&mut segment);
                if !self.receiver.is_open() {
                    write_flags(&mut segment, requested.request());
                } else if self.sender.has_accurate_ecn() {
                    self.receiver.report_marks(&mut segment);
                } else {
                    segment.ecn_echo = self.sender.has_ecn();
                }
                return Some(segment);
            }
        }
        if let Some(outgoing) = self.sender.poll(now) {
            return Some(self.data(now, &outgoing));
        }
        if self.must_probe_window {
            self.must_probe_window = false;
            let sequence = self.sender.oldest() - 1;
            return Some(self.bare(now, sequence));
        }
        if self.receiver.is_due() {
            return Some(self.bare(now, self.sender.next()));
        }
        None
    }

    fn data(&mut self, now: Instant, outgoing: &Outgoing) -> Segment {
        let mut segment = Segment {
            sequence: outgoing.start,
            payload_bytes: outgoing.payload_bytes,
            fin: outgoing.has_fin,
            sent: now,
            window_reduced: outgoing.window_reduced,
            ecn_capable: outgoing.ecn_capable,
            ..Segment::default()
        };
        self.receiver.fill_in(&mut segment);
        if self.sender.has_accurate_ecn() {
            self.mark_accurately(&mut segment);
        }
        if segment.payload_bytes > 0 {
            self.sender.charge(segment.packet_bytes());
        }
        segment
    }

    #[inline]
    fn bare(&mut self, now: Instant, sequence: u64) -> Segment {
        let mut segment = Segment { sequence, sent: now, ..Segment::default() };
        self.receiver.fill_in(&mut segment);
        if self.sender.has_accurate_ecn() {
            self.mark_accurately(&mut segment);
        }
        segment
    }

    /// Sets the flags of accurate feedback and makes the segment ECN-capable (tcp_ecn_send), with
    /// Prague by ECT(1) (RFC 9331, 4.1).
    #[cold]
    fn mark_accurately(&mut self, segment: &mut Segment) {
        segment.ecn_capable = true;
        segment.ecn_l4s = self.sender.is_l4s();
        self.receiver.report_marks(segment);
    }

    fn fill_in(&mut self, segment: &mut Segment) {
        if self.receiver.is_open() {
            self.receiver.fill_in(segment);
        } else {
            segment.window_bytes = self.receiver.window_bytes();
        }
    }

    /// Whether the handshake is complete.
    pub fn is_established(&self) -> bool {
        self.handshake == Handshake::Established
    }

    /// Payload bytes from the peer that arrived in order, and were thus read by the application.
    pub fn received_bytes(&self) -> u64 {
        self.receiver.received_bytes()
    }

    /// Whether the peer's stream has arrived completely, FIN included.
    pub fn is_received(&self) -> bool {
        self.receiver.is_finished()
    }

    /// Whether the endpoint's own stream is acknowledged completely, FIN included.
    pub fn is_sent(&self) -> bool {
        self.sender.is_done()
    }

    /// Payload bytes that the peer has acknowledged in order.
    pub fn acknowledged_bytes(&self) -> u64 {
        self.sender.acknowledged_bytes()
    }

    /// Payload bytes written and not yet sent; [`Endpoint::BULK`] for an endless
    /// stream.
    pub fn unsent_bytes(&self) -> u64 {
        self.sender.unsent_bytes()
    }

    /// Payload bytes for which the socket has space: those in flight, and those that wait to be sent.
    /// Linux gives a socket memory for twice its window, 4 MiB at most (tcp_sndbuf_expand,
    /// `tcp_wmem`).
    pub fn socket_bytes(&self) -> u64 {
        self.sender.socket_bytes().max(self.sender.in_flight_bytes())
    }

    /// Whether a segment that was just polled carries the last byte written so far; it then has the
    /// flag PSH (RFC 9293, 3.9.1, MUST-61).
    pub fn is_pushed(&self, segment: &Segment) -> bool {
        let end = segment.sequence + u64::from(segment.payload_bytes);
        segment.payload_bytes > 0 && end == self.sender.written()
    }

    /// Bytes sent and not yet acknowledged in order.
    pub fn bytes_in_flight(&self) -> u64 {
        self.sender.in_flight_bytes()
    }

    /// Segments believed to be in the network.
    pub fn packets_in_flight(&self) -> u32 {
        self.sender.board().in_flight()
    }

    /// Memory of data packets in the sending node's queues, in bytes, as TCP small
    /// queues count it.
    pub fn queued_bytes(&self) -> u64 {
        self.sender.queued_bytes()
    }

    /// Congestion window in segments.
    pub fn cwnd_packets(&self) -> u32 {
        self.sender.window().size
    }

    /// Slow start threshold in segments; `u32::MAX` before the first loss.
    pub fn ssthresh(&self) -> u32 {
        self.sender.window().threshold
    }

    /// Sets the slow start threshold in segments, as left by an earlier connection to the same peer
    /// ([`Config::threshold_initial`]). The call is for a connection that is not open.
    pub fn set_ssthresh(&mut self, segments: u32) {
        self.sender.set_threshold(segments);
    }

    /// The slow start threshold that Linux keeps for later connections to the same peer when this
    /// one ends, after `kept` of earlier ones (tcp_update_metrics); `None` if nothing is known.
    pub fn ssthresh_to_keep(&self, kept: Option<u32>) -> Option<u32> {
        self.sender.threshold_to_keep(kept)
    }

    /// Smoothed round-trip time.
    pub fn smoothed_rtt(&self) -> Option<Duration> {
        self.sender.round_trip().smoothed()
    }

    /// Round-trip times measured by the last segment handled. There is one for each data segment
    /// that it acknowledges and that was sent only once, from its transmission to this
    /// acknowledgement. If it covers a retransmission and reports no new selective acknowledgement,
    /// there is at most one: that of its timestamp echo ([RFC 7323], 4.1).
    ///
    /// [RFC 7323]: https://www.rfc-editor.org/rfc/rfc7323
    pub fn round_trips(&self) -> &[Duration] {
        &self.sender.round_trips
    }

    /// Round-trip time of the newest segment acknowledged.
    pub fn latest_rtt(&self) -> Option<Duration> {
        self.sender.round_trip().latest()
    }

    /// Smallest round-trip time of the last 300 s.
    pub fn min_rtt(&self) -> Option<Duration> {
        self.sender.round_trip().minimum()
    }

    /// The retransmission timeout, back-off included.
    pub fn retransmission_timeout(&self) -> Duration {
        self.sender.round_trip().timeout()
    }

    /// Rate that follows from window and round-trip time; pacing and TCP small queues use it.
    pub fn pacing_rate(&self) -> Bitrate {
        self.sender.pacing_rate()
    }

    /// Segments retransmitted since the start.
    pub fn retransmissions(&self) -> u64 {
        self.sender.retransmissions
    }

    /// Retransmission timeouts since the start.
    pub fn timeouts(&self) -> u64 {
        self.sender.timeouts
    }

    /// The state of congestion control (Linux' tcp_ca_state).
    pub fn state(&self) -> State {
        self.sender.state()
    }

    /// Asserts that counts and ranges agree. Only tests call it.
    #[cfg(test)]
    pub(crate) fn check(&self) {
        self.sender.check();
        self.receiver.check();
    }

    /// Number of marks by accurate feedback. Only tests call it.
    #[cfg(test)]
    pub(crate) fn marks(&self) -> u32 {
        self.sender.marks()
    }

    /// Asserts that polling a settled endpoint returns nothing and changes nothing. Only tests call
    /// it.
    #[cfg(test)]
    pub(crate) fn check_settled(&self, now: Instant) {
        if self.is_settled() {
            let mut polled = self.clone();
            assert_eq!(polled.poll_segment(now), None);
            assert_eq!(polled, *self);
        }
    }
}

impl Machine for Endpoint {
    type Reason = Reason;

    fn poll_timeout(&self) -> Option<(Instant, Reason)> {
        if let Handshake::Opening(opening) = &self.handshake {
            return opening.timer.map(|at| (at, Reason::Handshake));
        }
        let mut next = self.sender.timeout().map(|(at, timer)| {
            let reason = match timer {
                Timer::Retransmission => Reason::Retransmission,
                Timer::LossProbe => Reason::LossProbe,
                Timer::Reordering => Reason::Reordering,
                Timer::EarlyRetransmit => Reason::EarlyRetransmit,
                Timer::Persist => Reason::Persist,
            };
            (at, reason)
        });
        let others = [
            (self.sender.pacing_due(), Reason::Pacing),
            (self.receiver.timeout(), Reason::DelayedAck),
        ];
        for (at, reason) in others {
            if let Some(at) = at.filter(|at| next.is_none_or(|(first, _)| *at < first)) {
                next = Some((at, reason));
            }
        }
        next
    }

    fn handle_timeout(&mut self, now: Instant) {
        if let Handshake::Opening(opening) = &mut self.handshake {
            if opening.timer.is_some_and(|at| at <= now) {
                opening.timer = None;
                opening.timeouts += 1;
                if self.receiver.is_open() || opening.timeouts > self.syn_timeouts_linear {
                    opening.timeout = (opening.timeout * 2).min(TIMEOUT_MAX);
                }
                opening.is_due = true;
            }
            return;
        }
        self.must_probe_window |= self.sender.handle_timeout(now);
        self.receiver.handle_timeout(now);
    }
}

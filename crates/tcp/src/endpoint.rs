//! An endpoint: both halves, the handshake, and the segments that leave. The
//! driver hands over what arrives ([`Endpoint::handle_segment`]), what its node
//! lets go of, and time; then takes segments until there is none.
//!
//! The handshake is SYN, SYN with acknowledgement, acknowledgement ([RFC 9293],
//! 3.5), tried again after 1, 2, 4 s, .. (RFC 6298); a SYN that nothing answers five
//! times after 1 s first, as Linux does since 6.5. An endpoint that nobody tells to
//! connect listens. SYN takes byte 0 of the stream. Leaves out: reset, TIME-WAIT, giving
//! up.
//!
//! [RFC 9293]: https://www.rfc-editor.org/rfc/rfc9293

use lasthop_units::{Bitrate, Duration, Instant, Machine};

use crate::receiver::Receiver;
use crate::rtt::{TIMEOUT_INITIAL, TIMEOUT_MAX};
use crate::sender::{Outgoing, Sender, State, Timer};
use crate::{Config, Segment};

/// Timeouts of a SYN that do not make the next one longer (tcp_syn_linear_timeouts).
const SYN_LINEAR_TIMEOUTS: u32 = 4;

/// Why an endpoint wants to be woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// SYN was not answered.
    Handshake,
    /// Nothing was acknowledged for long (RFC 6298).
    Retransmission,
    /// The last segments may be lost: a probe asks (RFC 8985, 7).
    LossProbe,
    /// Something out of order is late enough to be lost (RFC 8985, 6.2).
    Reordering,
    /// One duplicate came for a short flight, and no second (RFC 5827).
    EarlyRetransmit,
    /// The peer's window is closed, or the own queue refused everything.
    Persist,
    /// A segment waits for pacing.
    Pacing,
    /// An acknowledgement waits for a second segment.
    DelayedAck,
}

/// One end of a connection.
#[derive(Clone, Debug, PartialEq)]
pub struct Endpoint {
    sender: Sender,
    receiver: Receiver,
    handshake: Handshake,
    /// A probe of the closed window is to be sent.
    must_probe_window: bool,
    /// Timeouts of a SYN that do not make the next one longer.
    syn_timeouts_linear: u32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Handshake {
    /// Waits for a SYN.
    Listening,
    /// Our SYN is on its way, with an acknowledgement if the peer's has come.
    Opening(Opening),
    Established,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Opening {
    /// When our SYN was first sent.
    first_sent: Option<Instant>,
    is_repeated: bool,
    is_due: bool,
    timer: Option<Instant>,
    timeout: Duration,
    timeouts: u32,
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
        }
    }
}

impl Endpoint {
    /// Bytes to write that have no end.
    pub const BULK: u64 = u64::MAX;

    /// An endpoint that listens.
    pub fn new(config: &Config) -> Self {
        Self {
            sender: Sender::new(config),
            receiver: Receiver::new(config),
            handshake: Handshake::Listening,
            must_probe_window: false,
            syn_timeouts_linear: if config.recovery.counts() { 0 } else { SYN_LINEAR_TIMEOUTS },
        }
    }

    /// Opens the connection. The peer needs no call: it answers.
    pub fn connect(&mut self, _now: Instant) {
        if self.handshake == Handshake::Listening {
            self.handshake = Handshake::Opening(Opening::new());
        }
    }

    /// The application hands over `bytes` more; [`Endpoint::BULK`] has no end.
    /// Nothing after [`Endpoint::finish`].
    pub fn write(&mut self, now: Instant, bytes: u64) {
        self.sender.write(now, bytes);
    }

    /// New segments have at most so many bytes of payload from here on: the path
    /// carries longer ones, or shorter ones only. What was sent keeps its length.
    pub fn set_segment_bytes(&mut self, bytes: u16) {
        self.sender.set_segment_bytes(bytes);
    }

    /// The stream ends after what was written.
    pub fn finish(&mut self, _now: Instant) {
        self.sender.finish();
    }

    /// What was written and not yet sent never was: the application has stopped.
    pub fn discard_unsent(&mut self) {
        self.sender.discard_unsent();
    }

    /// A segment of the peer. `is_marked`: its packet says that congestion was
    /// experienced (CE).
    pub fn handle_segment(&mut self, now: Instant, segment: &Segment, is_marked: bool) {
        self.sender.round_trips.clear();
        if segment.syn {
            self.handle_syn(now, segment);
        } else {
            match &self.handshake {
                Handshake::Listening => return,
                // Without the peer's SYN nothing else means anything.
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

    fn handle_syn(&mut self, now: Instant, segment: &Segment) {
        if self.receiver.is_open() {
            // Again: what we answered got lost.
            match &mut self.handshake {
                Handshake::Opening(opening) => opening.is_due = true,
                _ => self.receiver.acknowledge_at_once(),
            }
        } else {
            self.receiver.open(segment);
            match &mut self.handshake {
                Handshake::Listening => self.handshake = Handshake::Opening(Opening::new()),
                Handshake::Opening(_) if segment.acknowledgement.is_some() => {
                    self.receiver.acknowledge_at_once();
                }
                // Both opened at once: our SYN goes again, with acknowledgement.
                Handshake::Opening(opening) => opening.is_due = true,
                Handshake::Established => {}
            }
        }
        self.complete(now, segment);
    }

    /// Our SYN may be acknowledged.
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
        self.handshake = Handshake::Established;
    }

    /// The own node let go of `packets` of this endpoint that have payload, sent or
    /// dropped; `bytes`: of the packets, headers included. Needed for small queues.
    pub fn handle_released(&mut self, _now: Instant, packets: u32, bytes: u32) {
        self.sender.release(packets, bytes);
    }

    /// The own node had no room for a segment that was just polled. One with data
    /// is sent again later, and the window shrinks.
    pub fn handle_refused(&mut self, now: Instant, segment: &Segment) {
        if segment.payload_bytes > 0 || segment.fin {
            let packet_bytes = (segment.payload_bytes > 0).then(|| segment.packet_bytes());
            self.sender.handle_refused(now, segment.sequence, packet_bytes);
        }
    }

    /// The next segment to leave; poll until there is none.
    #[inline]
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Segment> {
        if self.is_settled() {
            return None;
        }
        self.poll_segment(now)
    }

    /// [`Endpoint::poll_transmit`] gives nothing, and changes nothing.
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
                let mut segment = Segment { syn: true, sent: now, ..Segment::default() };
                self.fill_in(&mut segment);
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
            ..Segment::default()
        };
        self.receiver.fill_in(&mut segment);
        if segment.payload_bytes > 0 {
            self.sender.charge(segment.packet_bytes());
        }
        segment
    }

    fn bare(&mut self, now: Instant, sequence: u64) -> Segment {
        let mut segment = Segment { sequence, sent: now, ..Segment::default() };
        self.receiver.fill_in(&mut segment);
        segment
    }

    fn fill_in(&mut self, segment: &mut Segment) {
        if self.receiver.is_open() {
            self.receiver.fill_in(segment);
        } else {
            segment.window_bytes = self.receiver.window_bytes();
        }
    }

    /// The handshake is complete.
    pub fn is_established(&self) -> bool {
        self.handshake == Handshake::Established
    }

    /// Payload bytes of the peer that came in order: the application has them.
    pub fn received_bytes(&self) -> u64 {
        self.receiver.received_bytes()
    }

    /// The peer's stream is complete.
    pub fn is_received(&self) -> bool {
        self.receiver.is_finished()
    }

    /// The own stream, with its end, is acknowledged.
    pub fn is_sent(&self) -> bool {
        self.sender.is_done()
    }

    /// Payload bytes that the peer has acknowledged in order.
    pub fn acknowledged_bytes(&self) -> u64 {
        self.sender.acknowledged_bytes()
    }

    /// Payload bytes that were written and not yet sent; [`Endpoint::BULK`] of
    /// endless data.
    pub fn unsent_bytes(&self) -> u64 {
        self.sender.unsent_bytes()
    }

    /// Bytes that were sent and not acknowledged in order.
    pub fn bytes_in_flight(&self) -> u64 {
        self.sender.in_flight_bytes()
    }

    /// Segments believed to be in the network.
    pub fn packets_in_flight(&self) -> u32 {
        self.sender.board().in_flight()
    }

    /// Memory of data packets in the own node's queues in bytes, as small queues
    /// count it.
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

    /// Smoothed round-trip time.
    pub fn smoothed_rtt(&self) -> Option<Duration> {
        self.sender.round_trip().smoothed()
    }

    /// Round-trip times of the data segments that the last segment handled
    /// acknowledged: each that was sent once, from its transmission to this
    /// acknowledgement; if it covers a retransmission and selects nothing, the
    /// one time that its timestamp echo gives, if any ([RFC 7323], 4.1).
    ///
    /// [RFC 7323]: https://www.rfc-editor.org/rfc/rfc7323
    pub fn round_trips(&self) -> &[Duration] {
        &self.sender.round_trips
    }

    /// Round-trip time of the newest segment that was acknowledged.
    pub fn latest_rtt(&self) -> Option<Duration> {
        self.sender.round_trip().latest()
    }

    /// Smallest round-trip time of the last 300 s.
    pub fn min_rtt(&self) -> Option<Duration> {
        self.sender.round_trip().minimum()
    }

    /// Retransmission timeout.
    pub fn retransmission_timeout(&self) -> Duration {
        self.sender.round_trip().timeout()
    }

    /// What window and round-trip time come to; pacing and small queues use it.
    pub fn pacing_rate(&self) -> Bitrate {
        self.sender.pacing_rate()
    }

    /// Segments sent again, ever.
    pub fn retransmissions(&self) -> u64 {
        self.sender.retransmissions
    }

    /// Retransmission timeouts, ever.
    pub fn timeouts(&self) -> u64 {
        self.sender.timeouts
    }

    /// How the connection fares.
    pub fn state(&self) -> State {
        self.sender.state()
    }

    /// Counts and ranges agree. For tests.
    #[cfg(test)]
    pub(crate) fn check(&self) {
        self.sender.check();
        self.receiver.check();
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

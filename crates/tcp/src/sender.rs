//! The sender of an endpoint: the segments that may leave and when, and the effect of
//! acknowledgements and timeouts on the window. States and rules are those of Linux 6, unless
//! [`Recovery`] says otherwise. Windows are in segments, positions in bytes of the stream. Each
//! file has one concern:
//!
//! - [`acknowledge`]: the report of an acknowledgement;
//! - [`marks`]: controls by the share of marked packets;
//! - [`bbr`]: reports to and results of a control with a model of the path;
//! - [`state`]: open, disorder, reduction, recovery, loss (RFC 5681, 6675, 5682);
//! - [`fack`] and [`frto`]: losses and timeouts by the rules of older kernels;
//! - [`undo`]: undoing a reduction that was not needed (RFC 3522, 3708);
//! - [`timers`]: retransmission timeout, loss probe, reordering, closed window;
//! - [`transmit`]: the next segment.
//!
//! Left out: deferral of segments to form a larger buffer, tail drops of the socket's buffer, urgent
//! data, and giving up on a dead peer.

mod acknowledge;
mod bbr;
mod fack;
mod frto;
mod marks;
mod state;
mod timers;
mod transmit;
mod undo;

use alloc::vec::Vec;
use lasthop_units::{Bitrate, Duration, Instant};

use crate::accurate_ecn::Marks;
use crate::congestion::{CongestionControl, Model, Window};
use crate::metrics::Ending;
use crate::pacing::{self, Pacer};
use crate::prr::ProportionalRateReduction;
use crate::rack::Rack;
use crate::rtt::RoundTripTime;
use crate::scoreboard::Scoreboard;
use crate::segment::HEADER_BYTES;
use crate::small_queues::{OwnQueue, PACKET_OVERHEAD_BYTES};
use crate::validation::Validation;
use crate::{
    Config, CongestionControlKind, Pacing, Recovery, SackBlock, SmallQueues, WindowValidation,
};

pub use state::State;
pub(crate) use timers::Timer;
pub(crate) use transmit::Outgoing;

/// Position that stands for the end of an endless stream; it is never reached.
const ENDLESS: u64 = 1 << 62;

/// The sending half of an endpoint.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Sender {
    // The stream.
    /// First byte not acknowledged (SND.UNA).
    una: u64,
    /// Next byte to be sent (SND.NXT).
    next: u64,
    /// Position after the last byte that the application has written.
    written: u64,
    /// Whether a FIN follows the written data.
    is_finished: bool,
    /// End of the last segment that was sent with less than a full payload.
    small_end: u64,
    /// Position after the last byte that the peer's window permits.
    window_end: u64,
    /// Sequence number of the segment that last updated the window (SND.WL1).
    window_updated_by: u64,

    // What is set.
    segment_bytes: u32,
    send_window: u64,
    rules: Recovery,
    has_sack: bool,
    has_ecn: bool,
    /// The peer's counter of marks, with accurate feedback.
    marks: Option<Marks>,
    /// Whether pacing or small queues need the pacing rate that follows from the window.
    needs_rate: bool,
    /// Whether a model of the path controls congestion, as with BBR.
    has_model: bool,
    /// Whether acknowledgements that only advance may take the short way.
    has_short_way: bool,

    // The window.
    control: CongestionControl,
    window: Window,
    validation: Validation,
    queue: OwnQueue,
    pacer: Pacer,
    pacing_rate: Bitrate,

    // Losses.
    board: Scoreboard,
    rack: Rack,
    round_trip: RoundTripTime,
    /// Round-trip times of the segments that the peer's last segment acknowledged.
    pub round_trips: Vec<Duration>,
    state: State,
    /// Byte whose acknowledgement ends the state (high_seq).
    high: u64,
    reduction: ProportionalRateReduction,
    undo: undo::Undo,
    /// Whether F-RTO does not know yet if the last timeout was spurious (RFC 5682).
    is_timeout_doubtful: bool,
    /// State of F-RTO in kernels before 3.10 (RFC 4138).
    frto: frto::Frto,
    /// The loss probe whose acknowledgement is awaited.
    probe: Option<transmit::Probe>,
    /// SACK blocks of the last acknowledgement: every segment in them is already
    /// marked.
    known_sacks: [SackBlock; 3],

    // Timers.
    timer: Option<(Instant, Timer)>,
    /// Number of timeouts since the cumulative acknowledgement last advanced.
    timeouts_in_a_row: u32,
    /// Number of times that the interval of window probes was doubled.
    persist_backoff: u32,

    // Sending.
    turn: transmit::Turn,
    /// Whether nothing may leave until the next event.
    is_settled: bool,
    /// Whether the sending node's queues hold too much of this connection.
    is_throttled: bool,
    /// Whether the sending node's queues refused a segment: the sender waits for a release or an
    /// acknowledgement.
    is_refused: bool,
    /// Number of segments sent since there was last nothing to send.
    burst: u32,
    has_sent_new: bool,
    last_sent: Option<Instant>,
    /// Whether the next new segment carries CWR, because the window was reduced.
    must_tell_reduction: bool,

    pub retransmissions: u64,
    pub timeouts: u64,
}

impl Sender {
    pub(crate) fn new(config: &Config) -> Self {
        let threshold = config.threshold_initial.map_or(u32::MAX, |segments| segments.max(2));
        let window = Window { size: config.initial_window.max(1), fraction: 0, threshold };
        let kind = config.congestion_control;
        let is_bbr = kind.is_bbr();
        // BBR and Prague pace in any case, and set the window themselves (tcp_cong_control).
        let sets_window = is_bbr || kind == CongestionControlKind::Prague;
        let pacing = match config.pacing {
            Pacing::Off if sets_window => Pacing::Linux,
            pacing => pacing,
        };
        let rules = if sets_window { Recovery::Today } else { config.recovery };
        let validation = if is_bbr { WindowValidation::Off } else { config.window_validation };
        let is_paced = pacing != Pacing::Off;
        let uses_rate = is_paced || matches!(config.small_queues, SmallQueues::Pacing { .. });
        Self {
            una: 0,
            next: 1,
            written: 1,
            is_finished: false,
            small_end: 0,
            window_end: 0,
            window_updated_by: 0,
            segment_bytes: u32::from(config.segment_bytes).max(1),
            send_window: config.send_window.as_u64(),
            rules,
            has_sack: config.sack,
            has_ecn: false,
            marks: None,
            needs_rate: uses_rate && !sets_window,
            has_model: is_bbr,
            has_short_way: rules == Recovery::Today && !sets_window,
            control: CongestionControl::new(config),
            window,
            validation: Validation::new(validation, config.initial_window),
            queue: OwnQueue::new(config.small_queues, config.send_offload),
            pacer: Pacer::new(pacing),
            pacing_rate: Bitrate::from_bps(u64::MAX),
            board: Scoreboard::new(),
            rack: Rack::new(),
            round_trip: RoundTripTime::new(config.timeout_min),
            round_trips: Vec::new(),
            state: State::Open,
            high: 0,
            reduction: ProportionalRateReduction::new(Default::default(), 1, 1),
            undo: undo::Undo::default(),
            is_timeout_doubtful: false,
            frto: frto::Frto::default(),
            probe: None,
            known_sacks: [SackBlock::default(); 3],
            timer: None,
            timeouts_in_a_row: 0,
            persist_backoff: 0,
            turn: transmit::Turn::Usual,
            is_settled: false,
            is_throttled: false,
            is_refused: false,
            burst: 0,
            has_sent_new: false,
            last_sent: None,
            must_tell_reduction: false,
            retransmissions: 0,
            timeouts: 0,
        }
    }

    /// Opens the sender: the peer has acknowledged the SYN, so data may be sent. `round_trip` is
    /// that of the handshake, if it could be measured.
    pub(crate) fn open(&mut self, now: Instant, window_bytes: u32, round_trip: Option<Duration>) {
        self.una = 1;
        self.window_end = 1 + u64::from(window_bytes);
        if let Some(round_trip) = round_trip {
            self.round_trip.update(round_trip, self.una, self.next);
            self.round_trip.update_latest(now, round_trip);
        }
        if let Some(bbr) = self.control.bbr() {
            bbr.open(now, round_trip, &mut self.window);
            self.pacing_rate = bbr.pacing_rate();
        }
        self.open_by_marks(now);
        self.update_pacing_rate();
    }

    /// Records whether the connection uses ECN.
    pub(crate) fn set_ecn(&mut self, has_ecn: bool) {
        self.has_ecn = has_ecn;
    }

    /// Records that the connection uses accurate feedback of marks.
    pub(crate) fn set_accurate_ecn(&mut self) {
        self.has_ecn = true;
        self.has_short_way = false;
        self.marks = Some(Marks::new());
    }

    /// Takes no marks from the next acknowledgement: its flags are those of the handshake.
    pub(crate) fn pass_over_flags(&mut self) {
        if let Some(marks) = &mut self.marks {
            marks.pass_over();
        }
    }

    /// Whether the connection uses accurate feedback of marks.
    pub(crate) fn has_accurate_ecn(&self) -> bool {
        self.marks.is_some()
    }

    /// Writes `bytes` more of the application's data; `u64::MAX` makes the stream endless.
    pub(crate) fn write(&mut self, now: Instant, bytes: u64) {
        if self.is_finished {
            return;
        }
        self.is_settled = false;
        if self.board.is_empty()
            && self.una > 0
            && let Some(last) = self.last_sent
        {
            let idle = now.saturating_since(last);
            let timeout = self.round_trip.timeout();
            self.validation.handle_idle(now, idle, timeout, &mut self.window);
        }
        self.note_limit_of_application();
        self.written = self.written.saturating_add(bytes).min(ENDLESS);
    }

    /// Sets the largest payload of new segments in bytes.
    pub(crate) fn set_segment_bytes(&mut self, bytes: u16) {
        self.segment_bytes = u32::from(bytes).max(1);
        if let Some(bbr) = self.control.bbr() {
            bbr.set_segment_bytes(self.segment_bytes);
        } else if let Some(prague) = self.control.prague() {
            prague.set_segment_bytes(self.segment_bytes);
        }
    }

    /// Ends the stream after the written data.
    pub(crate) fn finish(&mut self) {
        // An application without more data calls this whenever it runs: a repeated
        // call, with nothing in flight, leaves the sender settled.
        self.is_settled &= self.is_finished && self.board.is_empty();
        self.is_finished = true;
    }

    /// Discards data that was written and not yet sent.
    pub(crate) fn discard_unsent(&mut self) {
        self.written = self.written.min(self.next);
    }

    /// Charges the queue with the length of the data packet that leaves.
    pub(crate) fn charge(&mut self, packet_bytes: u32) {
        self.queue.charge(packet_bytes);
    }

    /// Records that the sending node released packets: they were sent or dropped.
    pub(crate) fn release(&mut self, packets: u32, packet_bytes: u32) {
        if self.is_throttled || self.is_refused {
            self.is_settled = false;
            self.is_throttled = false;
            self.is_refused = false;
        }
        self.queue.release(packets, packet_bytes);
    }

    /// Position after the last byte to send, FIN included.
    fn end(&self) -> u64 {
        self.written + u64::from(self.is_finished)
    }

    fn update_pacing_rate(&mut self) {
        if self.needs_rate {
            self.pacing_rate = self.rate_of_window();
        }
    }

    // Queries.

    pub(crate) fn state(&self) -> State {
        self.state
    }

    pub(crate) fn window(&self) -> &Window {
        &self.window
    }

    /// Sets the slow start threshold, before the connection is open.
    pub(crate) fn set_threshold(&mut self, segments: u32) {
        self.window.threshold = segments.max(2);
    }

    /// The slow start threshold to keep for later connections, after `kept` of earlier ones.
    pub(crate) fn threshold_to_keep(&self, kept: Option<u32>) -> Option<u32> {
        if self.timeouts_in_a_row > 0 || self.round_trip.smoothed().is_none() {
            return kept;
        }
        let Window { size: window, threshold, .. } = self.window;
        Ending { window, threshold, is_open: self.state == State::Open }.keep(kept)
    }

    pub(crate) fn round_trip(&self) -> &RoundTripTime {
        &self.round_trip
    }

    pub(crate) fn board(&self) -> &Scoreboard {
        &self.board
    }

    pub(crate) fn pacing_rate(&self) -> Bitrate {
        match &self.control {
            CongestionControl::Bbr(bbr) => bbr.pacing_rate(),
            CongestionControl::Bbr3(bbr) => Model::pacing_rate(&**bbr),
            CongestionControl::Prague(prague) => prague.pacing_rate(),
            _ => self.rate_of_window(),
        }
    }

    fn rate_of_window(&self) -> Bitrate {
        let smoothed = self.round_trip.smoothed();
        pacing::rate(&self.window, self.board.len(), self.segment_bytes, smoothed)
    }

    pub(crate) fn has_ecn(&self) -> bool {
        self.has_ecn
    }

    pub(crate) fn queued_bytes(&self) -> u64 {
        self.queue.bytes()
    }

    /// Payload bytes that the peer has acknowledged in order.
    pub(crate) fn acknowledged_bytes(&self) -> u64 {
        self.una.min(self.written).saturating_sub(1)
    }

    /// Position after the last byte that was written.
    pub(crate) fn written(&self) -> u64 {
        self.written
    }

    /// Payload bytes written and not yet sent.
    pub(crate) fn unsent_bytes(&self) -> u64 {
        if self.written == ENDLESS { u64::MAX } else { self.written.saturating_sub(self.next) }
    }

    /// Payload bytes for which Linux gives the socket memory (tcp_sndbuf_expand): that of twice the
    /// window (three times with BBR, bbr_sndbuf_expand), at least ten segments, where a segment
    /// counts with its buffer rounded up to a power of two, at most `tcp_wmem`. The socket holds
    /// segments with the memory that small queues count.
    pub(crate) fn socket_bytes(&self) -> u64 {
        const BUFFER_BYTES: u64 = 320 + 320;
        const BUFFER_HEADER_BYTES: u64 = 256;
        const WMEM_MAX: u64 = 4 << 20;
        let segment = u64::from(self.segment_bytes);
        let each = (segment + BUFFER_BYTES).next_power_of_two() + BUFFER_HEADER_BYTES;
        let segments = u64::from(self.window.size.max(10));
        let windows = if self.control.is_bbr() { 3 } else { 2 };
        let memory = (windows * segments * each).min(WMEM_MAX);
        memory * segment / (segment + u64::from(HEADER_BYTES) + PACKET_OVERHEAD_BYTES)
    }

    pub(crate) fn in_flight_bytes(&self) -> u64 {
        self.next - self.una.max(1)
    }

    /// First byte that is not acknowledged.
    pub(crate) fn oldest(&self) -> u64 {
        self.una
    }

    /// Next byte to be sent.
    pub(crate) fn next(&self) -> u64 {
        self.next
    }

    /// Number of marks by accurate feedback. Only tests call it.
    #[cfg(test)]
    pub(crate) fn marks(&self) -> u32 {
        self.marks.as_ref().map_or(0, Marks::count)
    }

    /// Asserts that counts agree. Only tests call it.
    #[cfg(test)]
    pub(crate) fn check(&self) {
        self.board.check(self.has_sack);
        assert!(self.una <= self.next && self.next <= self.end().max(1));
        assert!(self.window.size > 0 && self.window.threshold >= 2);
    }

    /// Whether everything, FIN included, is acknowledged.
    pub(crate) fn is_done(&self) -> bool {
        self.is_finished && self.una == self.end()
    }
}

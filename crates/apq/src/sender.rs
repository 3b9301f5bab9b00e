//! The sender of a phase: which packet is due when. Packets that are late are sent
//! immediately, so that their number is that of the plan; their lateness is
//! counted, as are packets that could not or may not be sent. Leaves out timestamps
//! and sockets, which are the driver's.

use crate::plan::{PhasePlan, StreamKind, StreamPlan};
use crate::proof::Proof;
use crate::record::StreamCount;
use crate::wire::{self, Datagram, Probe};
use crate::{SocketId, Transmit, TransmitKind, header_bytes};
use alloc::vec::Vec;
use core::net::SocketAddr;
use lasthop_units::Instant;

/// A packet that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Due {
    /// The flow of the packet.
    pub kind: StreamKind,
    /// Sequence number in flow and phase.
    pub sequence: u32,
    /// Length of the IP packet in bytes.
    pub packet_bytes: u16,
}

impl Due {
    /// The datagram with this packet, stamped `sent_ns` by the sender's clock.
    pub fn transmit(
        self,
        to: SocketAddr,
        socket: SocketId,
        session: u64,
        phase: u32,
        sent_ns: u64,
        proof: Proof,
    ) -> Transmit {
        let Self { kind, sequence, packet_bytes } = self;
        let probe = Probe { kind, session, phase, sequence, sent_ns, proof };
        let payload = wire::emit(&Datagram::Probe(probe));
        // A datagram is never shorter than its content.
        let length = packet_bytes.saturating_sub(header_bytes(&to)).max(payload.len() as u16);
        Transmit { socket, to, payload, length, kind: TransmitKind::Probe(kind) }
    }
}

/// The position of a flow in the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cursor {
    /// Index of the stream in the plan; past the last one when all is sent.
    stream: usize,
    /// Index of the next packet in the stream.
    index: u64,
    /// Sequence number of the next packet.
    sequence: u32,
    /// Time at which the next packet is sent.
    at: Instant,
}

/// Sends the packets of one phase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sender {
    plan: PhasePlan,
    start: Instant,
    cursors: [Cursor; 2],
    counts: Vec<StreamCount>,
    /// The stream of the packet that was last taken, by kind.
    last: [usize; 2],
}

impl Sender {
    /// A sender that sends `plan` from `start` on.
    pub fn new(plan: PhasePlan, start: Instant) -> Self {
        let counts = plan.streams.iter().map(|_| StreamCount::default()).collect();
        let cursor = Cursor { stream: 0, index: 0, sequence: 0, at: start };
        let mut sender = Self { plan, start, cursors: [cursor; 2], counts, last: [0; 2] };
        for kind in StreamKind::ALL {
            sender.settle(kind);
        }
        sender
    }

    /// Start of the phase.
    pub fn start(&self) -> Instant {
        self.start
    }

    /// Returns the time at which the next packet is due; `None` once all were sent.
    pub fn next(&self) -> Option<Instant> {
        let next = self.cursors.iter().filter(|cursor| cursor.stream < self.plan.streams.len());
        next.map(|cursor| cursor.at).min()
    }

    /// End of the last stream.
    pub fn end(&self) -> Instant {
        self.start.saturating_add(self.plan.duration())
    }

    /// The next packet if it is due at `now`, and since when it is due.
    pub fn peek(&self, now: Instant) -> Option<(Due, Instant)> {
        let cursor = self.due(now)?;
        let StreamPlan { kind, packet_bytes, .. } = self.plan.streams[cursor.stream];
        Some((Due { kind, sequence: cursor.sequence, packet_bytes }, cursor.at))
    }

    /// Skips the next packet if it is due at `now`: it may not be sent.
    pub fn skip(&mut self, now: Instant) {
        let Some(cursor) = self.due(now) else { return };
        self.counts[cursor.stream].unsent += 1;
        self.advance(cursor.stream);
    }

    /// Takes the next packet if it is due at `now`.
    pub fn take(&mut self, now: Instant) -> Option<Due> {
        let cursor = self.due(now)?;
        let stream = self.plan.streams[cursor.stream];
        let count = &mut self.counts[cursor.stream];
        count.sent += 1;
        count.late_max = count.late_max.max(now.saturating_since(cursor.at));
        self.last[stream.kind.index()] = cursor.stream;
        self.advance(cursor.stream);
        Some(Due {
            kind: stream.kind,
            sequence: cursor.sequence,
            packet_bytes: stream.packet_bytes,
        })
    }

    /// The position of the next packet if it is due at `now`.
    fn due(&self, now: Instant) -> Option<Cursor> {
        let due = |cursor: &&Cursor| cursor.stream < self.plan.streams.len() && cursor.at <= now;
        self.cursors.iter().filter(due).min_by_key(|cursor| cursor.at).copied()
    }

    /// Moves past the next packet of the stream with that index.
    fn advance(&mut self, stream: usize) {
        let kind = self.plan.streams[stream].kind;
        let next = &mut self.cursors[kind.index()];
        next.index += 1;
        next.sequence += 1;
        self.settle(kind);
    }

    /// The last packet of `kind` that was taken could not be sent after all.
    pub fn unsent(&mut self, kind: StreamKind) {
        let Some(count) = self.counts.get_mut(self.last[kind.index()]) else { return };
        if count.sent > 0 {
            count.sent -= 1;
            count.unsent += 1;
        }
    }

    /// Counts of the packets so far, per stream.
    pub fn counts(&self) -> &[StreamCount] {
        &self.counts
    }

    /// Moves the position of `kind` to a stream with packets left.
    fn settle(&mut self, kind: StreamKind) {
        let cursor = &mut self.cursors[kind.index()];
        while let Some(stream) = self.plan.streams.get(cursor.stream) {
            if stream.kind == kind && cursor.index < stream.packets() {
                cursor.at = self.start.saturating_add(stream.departure(cursor.index));
                return;
            }
            cursor.stream += 1;
            cursor.index = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use lasthop_units::Duration;

    fn stream(kind: StreamKind, interval_ms: u64, begin_ms: u64, end_ms: u64) -> StreamPlan {
        StreamPlan {
            kind,
            packet_bytes: 1500,
            interval: Duration::from_millis(interval_ms),
            begin: Duration::from_millis(begin_ms),
            end: Duration::from_millis(end_ms),
        }
    }

    #[test]
    fn packets_leave_when_the_plan_says() {
        let streams = vec![
            stream(StreamKind::Sparse, 100, 0, 300),
            stream(StreamKind::Bulk, 10, 100, 125),
            stream(StreamKind::Bulk, 50, 200, 300),
        ];
        let plan = PhasePlan { streams };
        let start = Instant::from_nanos(5_000_000_000);
        let mut sender = Sender::new(plan.clone(), start);
        let mut sent = Vec::new();
        while let Some(at) = sender.next() {
            assert_eq!(sender.take(at - Duration::from_nanos(1)), None, "too early");
            let due = sender.take(at).expect("it is due");
            sent.push(((at - start).as_nanos() / 1_000_000, due.kind, due.sequence));
        }
        use StreamKind::{Bulk, Sparse};
        let expected = [
            (0, Sparse, 0),
            (100, Sparse, 1),
            (100, Bulk, 0),
            (110, Bulk, 1),
            (120, Bulk, 2),
            (200, Sparse, 2),
            (200, Bulk, 3),
            (250, Bulk, 4),
        ];
        assert_eq!(sent, expected);
        assert_eq!(sender.counts().iter().map(|c| c.sent).collect::<Vec<_>>(), [3, 3, 2]);
        assert_eq!(plan.packets(), 8);
        assert_eq!(plan.locate(Bulk, 3), Some((2, 0)));
        assert_eq!(plan.locate(Bulk, 5), None);
    }

    #[test]
    fn what_is_late_is_sent_at_once_and_told() {
        let plan = PhasePlan { streams: vec![stream(StreamKind::Bulk, 10, 0, 50)] };
        let mut sender = Sender::new(plan, Instant::ZERO);
        let now = Instant::from_nanos(35_000_000);
        let mut sent = 0;
        while sender.take(now).is_some() {
            sent += 1;
        }
        assert_eq!(sent, 4);
        sender.unsent(StreamKind::Bulk);
        let count = sender.counts()[0];
        assert_eq!((count.sent, count.unsent), (3, 1));
        assert_eq!(count.late_max, Duration::from_millis(35));
    }
}

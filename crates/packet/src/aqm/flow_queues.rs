//! Queues of flows, each controlled by CoDel and served by deficit round robin
//! ([RFC 8290](https://www.rfc-editor.org/rfc/rfc8290), section 4). Lengths and
//! deficits are in bytes.
//!
//! Flows are numbered in the order in which they were added. Left out: the flow of a packet, the
//! limits over all flows, and the [`RoundRobin`] that lists a flow, all of which the owner
//! provides.

use super::{Control, Members, Parameters, Queueable, RoundRobin, Source};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use lasthop_units::Instant;

/// The queues of all flows.
///
/// A sparse flow does not wait behind a bulk transfer:
///
/// ```
/// use lasthop_packet::Packet;
/// use lasthop_packet::aqm::{FlowQueues, Parameters, RoundRobin, Variant};
/// use lasthop_units::{Duration, Instant};
///
/// const QUANTUM: i64 = 1514;
/// let parameters = Parameters {
///     target: Duration::from_millis(5),
///     interval: Duration::from_millis(100),
///     ecn: false,
///     variant: Variant::Rfc8289,
/// };
/// let now = Instant::ZERO;
/// let (mut queues, mut turns) = (FlowQueues::default(), RoundRobin::default());
/// let [bulk, sparse] = [queues.add(), queues.add()];
/// for tag in 0..5 {
///     queues.push(bulk, Packet::new(tag, 1500, now), QUANTUM, &mut turns);
/// }
/// queues.push(sparse, Packet::new(100, 80, now), QUANTUM, &mut turns);
/// let mut order = Vec::new();
/// while let Some(flow) = queues.turn(QUANTUM, &mut turns, |_| true) {
///     let packet = queues.take(flow, now, &parameters, &mut Vec::new());
///     order.extend(packet.map(|packet| packet.tag));
/// }
/// assert_eq!(order, [0, 1, 100, 2, 3, 4]);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct FlowQueues<P>(Vec<FlowQueue<P>>);

#[derive(Clone, Debug, PartialEq)]
struct FlowQueue<P> {
    packets: VecDeque<P>,
    /// Number of packets in all runs.
    count: usize,
    bytes: u64,
    /// Bytes that the flow may still send in this turn; negative after a long
    /// packet.
    deficit_bytes: i64,
    /// Whether the flow is in a round robin.
    listed: bool,
    control: Control,
}

impl<P> Default for FlowQueues<P> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<P: Queueable> FlowQueues<P> {
    /// Adds a flow with an empty queue; returns its number.
    pub fn add(&mut self) -> u32 {
        let number = self.0.len() as u32;
        self.0.push(FlowQueue {
            packets: VecDeque::new(),
            count: 0,
            bytes: 0,
            deficit_bytes: 0,
            listed: false,
            control: Control::new(),
        });
        number
    }

    /// Number of packets in `flow`.
    #[inline]
    pub fn packets(&self, flow: u32) -> usize {
        self.0[flow as usize].count
    }

    /// Bytes of the packets in `flow`.
    #[inline]
    pub fn bytes(&self, flow: u32) -> u64 {
        self.0[flow as usize].bytes
    }

    /// The packet at the head of `flow`, or the run to which it belongs.
    #[inline]
    pub fn front(&self, flow: u32) -> Option<&P> {
        self.0[flow as usize].packets.front()
    }

    /// Appends `packet`, which may be a run, to `flow`, which joins `turns` with a new quantum if it
    /// was idle.
    #[inline]
    pub fn push(&mut self, flow: u32, packet: P, quantum: i64, turns: &mut RoundRobin) {
        let queue = &mut self.0[flow as usize];
        if !queue.listed {
            queue.listed = true;
            queue.deficit_bytes = quantum;
            turns.join_new(flow);
        }
        queue.count += packet.count();
        queue.bytes += packet.len_bytes() * packet.count() as u64;
        queue.packets.push_back(packet);
    }

    /// Lets `change` change the last packet of `flow`, but no run. Returns the result of `change`;
    /// `false` if there is no such packet.
    pub fn change_last(&mut self, flow: u32, change: impl FnOnce(&mut P) -> bool) -> bool {
        let queue = &mut self.0[flow as usize];
        let last = queue.packets.back_mut().filter(|last| last.count() == 1);
        let Some(last) = last else { return false };
        let others = queue.bytes - last.len_bytes();
        let is_changed = change(last);
        queue.bytes = others + last.len_bytes();
        is_changed
    }

    /// Reverts the last [`FlowQueues::take`] from `flow`.
    pub fn put_back(&mut self, flow: u32, packet: P, turns: &mut RoundRobin) {
        let queue = &mut self.0[flow as usize];
        let bytes = packet.len_bytes();
        queue.bytes += bytes;
        queue.deficit_bytes += bytes as i64;
        queue.count += 1;
        queue.packets.push_front(packet);
        if !queue.listed {
            queue.listed = true;
            turns.rejoin_first(flow);
        }
    }

    /// The flow whose turn it is among those that are `eligible`: it has packets
    /// and a positive deficit.
    #[inline]
    pub fn turn(
        &mut self,
        quantum: i64,
        turns: &mut RoundRobin,
        eligible: impl Fn(u32) -> bool,
    ) -> Option<u32> {
        let mut members = Eligible { queues: &mut self.0, eligible };
        turns.next(quantum, &mut members).map(|turn| turn.member)
    }

    /// Returns the next packet of `flow` that CoDel does not drop, and deducts its
    /// length from the deficit. Dropped packets are appended to `dropped`. CoDel
    /// never drops the last packet of a queue.
    #[inline]
    pub fn take(
        &mut self,
        flow: u32,
        now: Instant,
        parameters: &Parameters,
        dropped: &mut Vec<P>,
    ) -> Option<P> {
        let FlowQueue { packets, count, bytes, control, deficit_bytes, .. } =
            &mut self.0[flow as usize];
        let mut source = QueuedFlow { packets, count, bytes };
        let packet = control.dequeue(now, parameters, &mut source, dropped)?;
        *deficit_bytes -= packet.len_bytes() as i64;
        Some(packet)
    }

    /// Drops packets from the head of the flow with the most bytes; `batch` returns their number
    /// from the number of its packets (RFC 8290, 4.1: half of them, but at most 64). Of several
    /// such flows it takes the first one, so that the choice does not depend on the search. Returns
    /// that flow; `None` if there are no flows.
    pub fn drop_from_fattest(
        &mut self,
        batch: impl FnOnce(usize) -> usize,
        dropped: &mut Vec<P>,
    ) -> Option<u32> {
        let queues = self.0.iter_mut().zip(0..);
        let (queue, flow) = queues.reduce(|a, b| if b.0.bytes > a.0.bytes { b } else { a })?;
        let FlowQueue { packets, count, bytes, .. } = queue;
        let number = batch(*count);
        let mut source = QueuedFlow { packets, count, bytes };
        dropped.extend(core::iter::from_fn(|| source.pop()).take(number));
        Some(flow)
    }
}

/// The flows, as members of a round robin.
struct Eligible<'a, P, F> {
    queues: &'a mut [FlowQueue<P>],
    eligible: F,
}

impl<P, F: Fn(u32) -> bool> Members for Eligible<'_, P, F> {
    fn is_eligible(&self, member: u32) -> bool {
        (self.eligible)(member)
    }

    fn deficit(&mut self, member: u32) -> &mut i64 {
        &mut self.queues[member as usize].deficit_bytes
    }

    fn is_busy(&self, member: u32) -> bool {
        !self.queues[member as usize].packets.is_empty()
    }

    fn unlist(&mut self, member: u32) {
        self.queues[member as usize].listed = false;
    }
}

/// The queue of one flow, as a source of packets for CoDel.
struct QueuedFlow<'a, P> {
    packets: &'a mut VecDeque<P>,
    count: &'a mut usize,
    bytes: &'a mut u64,
}

impl<P: Queueable> Source for QueuedFlow<'_, P> {
    type Packet = P;

    #[inline]
    fn pop(&mut self) -> Option<P> {
        let of_run = self.packets.front_mut()?.split_first();
        let packet = of_run.or_else(|| self.packets.pop_front())?;
        *self.count -= 1;
        *self.bytes -= packet.len_bytes();
        Some(packet)
    }

    fn bytes(&self) -> u64 {
        *self.bytes
    }
}

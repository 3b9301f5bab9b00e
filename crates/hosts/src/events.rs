//! The driver's own events in the order of their instants; ties in the order
//! in which they were pushed.

use crate::franc::FrancWake;
use crate::port::Wake;
use alloc::collections::BinaryHeap;
use core::cmp::Reverse;
use lasthop_units::Instant;

/// What the driver does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Event {
    /// A flow begins.
    Start(usize),
    /// A flow sends its next packet.
    Departure(usize),
    /// A timer at an end of a flow.
    Wake(Wake),
    /// Something in a coded link.
    Franc(FrancWake),
    /// Queues and windows are read for the series.
    Sample,
    /// The warm-up is over.
    Warm,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct EventQueue {
    heap: BinaryHeap<Reverse<(Instant, u64, Event)>>,
    pushed: u64,
}

impl PartialEq for EventQueue {
    /// The same events in the same order.
    fn eq(&self, other: &Self) -> bool {
        let sorted = |queue: &Self| queue.heap.clone().into_sorted_vec();
        self.pushed == other.pushed && sorted(self) == sorted(other)
    }
}

impl EventQueue {
    pub fn push(&mut self, at: Instant, event: Event) {
        self.heap.push(Reverse((at, self.pushed, event)));
        self.pushed += 1;
    }

    pub fn next(&self) -> Option<Instant> {
        self.heap.peek().map(|Reverse((at, ..))| *at)
    }

    /// Panics if there is none: ask [`EventQueue::next`] first.
    pub fn pop(&mut self) -> Event {
        let Reverse((.., event)) = self.heap.pop().expect("the caller saw an event");
        event
    }
}

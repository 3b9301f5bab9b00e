//! The scheduled events of the hosts, in order of time; events of one instant in the
//! order in which they were pushed. Wake-ups of the network are not among them. An
//! event cannot be removed: a wake-up that is no longer wanted does nothing.

use crate::franc::FrancWake;
use crate::port::Wake;
use alloc::collections::BinaryHeap;
use core::cmp::Reverse;
use lasthop_units::Instant;

/// An action at an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Event {
    /// Start the flow with this index.
    Start(usize),
    /// Send the next packet of the flow with this index.
    Departure(usize),
    /// Wake an end of a flow.
    Wake(Wake),
    /// Wake a node of a coded link.
    Franc(FrancWake),
    /// Read queues and windows for the series.
    Sample,
    /// End the warm-up.
    Warm,
    /// Make the change with this index.
    Change(usize),
}

#[derive(Clone, Debug, Default)]
pub(crate) struct EventQueue {
    heap: BinaryHeap<Reverse<(Instant, u64, Event)>>,
    pushed: u64,
}

impl PartialEq for EventQueue {
    /// Whether both hold the same events in the same order.
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

    /// Removes the next event. Panics if there is none: see [`EventQueue::next`].
    pub fn pop(&mut self) -> Event {
        let Reverse((.., event)) = self.heap.pop().expect("the caller saw an event");
        event
    }
}

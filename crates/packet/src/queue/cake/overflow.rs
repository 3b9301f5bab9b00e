//! Bytes in each queue of CAKE, and the queue that loses a packet when all are full together.
//!
//! Linux keeps the queues in a binary heap from the first overflow on, until 65 535 packets left
//! without another. On the way down Linux compares all levels with the value that rose first, so a
//! queue that became shorter falls one level, or few, and the first is not always the longest. The same
//! rule stands here, so that the same packets are lost.

use super::QUEUES;
use alloc::vec;
use alloc::vec::Vec;

/// Tins that Linux provides for, used or not (`CAKE_MAX_TINS`).
const TINS: usize = 8;

/// Number of queues.
const SIZE: usize = TINS * QUEUES;

/// Packets that may leave before the heap is given up.
const KEPT_PACKETS: u16 = u16::MAX;

/// Backlogs in bytes, by queue and tin, and their heap.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Overflow {
    /// By slot: eight times the queue, plus the tin; empty before the first packet.
    backlogs: Vec<u32>,
    /// Slots in the order of the heap, and the place of each; empty before the first overflow.
    heap: Vec<u16>,
    places: Vec<u16>,
    /// Packets that may leave before the heap is given up; zero without one.
    kept: u16,
}

impl Overflow {
    pub(super) fn new() -> Self {
        Self { backlogs: Vec::new(), heap: Vec::new(), places: Vec::new(), kept: 0 }
    }

    /// Counts a packet that a queue of a tin has got.
    pub(super) fn add(&mut self, tin: usize, queue: usize, bytes: u64) {
        if self.backlogs.is_empty() {
            self.backlogs = vec![0; SIZE];
        }
        let slot = queue * TINS + tin;
        self.backlogs[slot] += bytes as u32;
        if self.kept > 0 {
            self.rise(usize::from(self.places[slot]));
        }
    }

    /// Counts a packet that left a queue of a tin.
    pub(super) fn remove(&mut self, tin: usize, queue: usize, bytes: u64) {
        let slot = queue * TINS + tin;
        self.backlogs[slot] -= bytes as u32;
        if self.kept > 0 {
            self.fall(usize::from(self.places[slot]));
        }
    }

    /// Notes that a packet was sent.
    pub(super) fn note_sent(&mut self) {
        self.kept = self.kept.saturating_sub(1);
    }

    /// Tin and queue of the next packet to lose, unless all are empty.
    pub(super) fn longest(&mut self) -> Option<(usize, usize)> {
        if self.heap.is_empty() {
            self.heap = (0..SIZE as u16).collect();
            self.places = self.heap.clone();
        }
        for _ in 0..2 {
            if self.kept == 0 {
                (0..SIZE / 2).rev().for_each(|place| self.fall(place));
            }
            self.kept = KEPT_PACKETS;
            if self.at(0) > 0 {
                return Some(parts(usize::from(self.heap[0])));
            }
            // The heap went wrong.
            self.kept = 0;
        }
        let any = self.backlogs.iter().position(|bytes| *bytes > 0)?;
        Some(parts(any))
    }

    fn at(&self, place: usize) -> u32 {
        self.backlogs[usize::from(self.heap[place])]
    }

    fn swap(&mut self, one: usize, other: usize) {
        self.heap.swap(one, other);
        for place in [one, other] {
            self.places[usize::from(self.heap[place])] = place as u16;
        }
    }

    fn rise(&mut self, mut place: usize) {
        while place > 0 {
            let parent = (place - 1) / 2;
            if self.at(place) <= self.at(parent) {
                break;
            }
            self.swap(place, parent);
            place = parent;
        }
    }

    fn fall(&mut self, mut place: usize) {
        // Never the value that falls, once another rose.
        let mut most = self.at(place);
        loop {
            let mut to = place;
            for child in [2 * place + 1, 2 * place + 2] {
                if child < SIZE && self.at(child) > most {
                    (to, most) = (child, self.at(child));
                }
            }
            if to == place {
                break;
            }
            self.swap(place, to);
            place = to;
        }
    }
}

fn parts(slot: usize) -> (usize, usize) {
    (slot % TINS, slot / TINS)
}

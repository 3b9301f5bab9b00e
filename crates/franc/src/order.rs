//! Gives packets out in the order in which they came in, flow by flow: a lost symbol holds
//! up only the flows that had a packet in it. Flows are told by buckets, packets numbered
//! within their bucket.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;

/// Buckets of flows.
pub(crate) const BUCKETS: usize = 256;

/// Numbers packets of each bucket.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Numbers(Vec<u16>);

impl Numbers {
    pub fn new() -> Self {
        Self(alloc::vec![0; BUCKETS])
    }

    /// The number of the next packet of `bucket`.
    pub fn next(&mut self, bucket: u8) -> u16 {
        let next = &mut self.0[usize::from(bucket)];
        let number = *next;
        *next = next.wrapping_add(1);
        number
    }
}

/// Waits for what is missing.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Order {
    next: Vec<u16>,
    /// By bucket and how far ahead of the bucket's first number they are.
    held: BTreeMap<(u8, u16), Vec<u8>>,
    ready: VecDeque<Vec<u8>>,
}

impl Order {
    pub fn new() -> Self {
        Self { next: alloc::vec![0; BUCKETS], held: BTreeMap::new(), ready: VecDeque::new() }
    }

    /// Takes a packet; one that came before is dropped.
    pub fn push(&mut self, bucket: u8, number: u16, packet: &[u8]) {
        let next = &mut self.next[usize::from(bucket)];
        let ahead = number.wrapping_sub(*next);
        if ahead >= 1 << 15 {
            return;
        }
        if ahead > 0 {
            self.held.entry((bucket, number)).or_insert_with(|| packet.to_vec());
            return;
        }
        self.ready.push_back(packet.to_vec());
        *next = next.wrapping_add(1);
        while let Some(packet) = self.held.remove(&(bucket, *next)) {
            self.ready.push_back(packet);
            *next = next.wrapping_add(1);
        }
    }

    /// What is missing will not come: gives out what waits for it, in order.
    pub fn give_up(&mut self) {
        for bucket in 0..BUCKETS {
            let bucket_id = bucket as u8;
            let held = self.held.range((bucket_id, 0)..=(bucket_id, u16::MAX));
            let mut numbers: Vec<u16> = held.map(|(&(_, number), _)| number).collect();
            let next = self.next[bucket];
            numbers.sort_unstable_by_key(|number| number.wrapping_sub(next));
            for number in numbers {
                self.ready.extend(self.held.remove(&(bucket_id, number)));
                self.next[bucket] = number.wrapping_add(1);
            }
        }
    }

    /// The next packet.
    pub fn pop(&mut self) -> Option<Vec<u8>> {
        self.ready.pop_front()
    }
}

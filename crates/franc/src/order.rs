//! Gives packets out in the order in which they came in, flow by flow: a lost symbol holds
//! up only the flows that had a packet in it. Flows are told by buckets, packets numbered
//! within their bucket. What is in order can have its headers back ([`crate::headers`]).

use crate::headers::Headers;
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
    headers: Headers,
    ready: VecDeque<Vec<u8>>,
    /// Packets without the headers of the one before, or forged.
    pub corrupt: u64,
}

impl Order {
    pub fn new() -> Self {
        Self {
            next: alloc::vec![0; BUCKETS],
            held: BTreeMap::new(),
            headers: Headers::new(),
            ready: VecDeque::new(),
            corrupt: 0,
        }
    }

    /// Takes a packet, whole or short; one that came before is dropped.
    pub fn push(&mut self, bucket: u8, number: u16, record: &[u8]) {
        let next = self.next[usize::from(bucket)];
        let ahead = number.wrapping_sub(next);
        if ahead >= 1 << 15 {
            return;
        }
        if ahead > 0 {
            self.held.entry((bucket, number)).or_insert_with(|| record.to_vec());
            return;
        }
        self.give_out(bucket, number, record);
        while let Some(record) = self.held.remove(&(bucket, self.next[usize::from(bucket)])) {
            self.give_out(bucket, self.next[usize::from(bucket)], &record);
        }
    }

    fn give_out(&mut self, bucket: u8, number: u16, record: &[u8]) {
        self.next[usize::from(bucket)] = number.wrapping_add(1);
        match self.headers.restore(bucket, number, record) {
            Some(packet) => self.ready.push_back(packet),
            None => self.corrupt += 1,
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
                if let Some(record) = self.held.remove(&(bucket_id, number)) {
                    self.give_out(bucket_id, number, &record);
                }
            }
        }
    }

    /// The next packet.
    pub fn pop(&mut self) -> Option<Vec<u8>> {
        self.ready.pop_front()
    }
}

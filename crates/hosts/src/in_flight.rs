//! The content of packets in flight, by the tag of the packet. The lower 32 bits of a
//! tag are a slot, the upper ones count the uses of slots. A packet ends once, when it
//! arrives or is lost; its content is then removed.

use alloc::vec::Vec;

/// The content of packets in flight.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct InFlight<T> {
    slots: Vec<Option<(u64, T)>>,
    free: Vec<u32>,
    count: u64,
}

impl<T> Default for InFlight<T> {
    fn default() -> Self {
        Self { slots: Vec::new(), free: Vec::new(), count: 0 }
    }
}

impl<T> InFlight<T> {
    /// Stores `load`; returns the tag for its packet.
    pub fn put(&mut self, load: T) -> u64 {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            (self.slots.len() - 1) as u32
        });
        self.count += 1;
        let tag = self.count << 32 | u64::from(slot);
        self.slots[slot as usize] = Some((tag, load));
        tag
    }

    /// The content of the packet with this tag; `None` if the packet has ended.
    pub fn get(&self, tag: u64) -> Option<&T> {
        let (known, load) = self.slots.get(tag as u32 as usize)?.as_ref()?;
        (*known == tag).then_some(load)
    }

    /// Removes the content of the packet with this tag, which has ended.
    pub fn end(&mut self, tag: u64) {
        let slot = tag as u32;
        self.free.push(slot);
        self.slots[slot as usize] = None;
    }

    /// Removes and returns the content of the packet with this tag, which has ended.
    pub fn take(&mut self, tag: u64) -> T {
        let slot = tag as u32;
        self.free.push(slot);
        let (_, load) = self.slots[slot as usize].take().expect("a packet ends once");
        load
    }
}

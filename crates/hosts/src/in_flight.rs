//! What packets in flight carry, by the packet's tag: the slot, and
//! above it a count that tells uses of a slot apart. A packet ends once: it
//! arrives or is dropped, and what it carried is taken out.

use alloc::vec::Vec;

/// What packets in flight carry.
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
    /// Keeps `load`; returns the tag of its packet.
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

    /// What the packet with this tag carries, unless it has ended.
    pub fn get(&self, tag: u64) -> Option<&T> {
        let (known, load) = self.slots.get(tag as u32 as usize)?.as_ref()?;
        (*known == tag).then_some(load)
    }

    /// The packet with this tag has ended.
    pub fn end(&mut self, tag: u64) {
        let slot = tag as u32;
        self.free.push(slot);
        self.slots[slot as usize] = None;
    }

    /// What the packet with this tag carried.
    pub fn take(&mut self, tag: u64) -> T {
        let slot = tag as u32;
        self.free.push(slot);
        let (_, load) = self.slots[slot as usize].take().expect("a packet ends once");
        load
    }
}

//! What packets carry that are under way, by the packet's tag: the slot, and
//! above it a count that tells uses of a slot apart. A packet ends once: it
//! arrives or is dropped, and what it carried is taken out.

/// What packets carry.
#[derive(Debug)]
pub(crate) struct Underway<T> {
    slots: Vec<Option<T>>,
    free: Vec<u32>,
    count: u64,
}

impl<T> Default for Underway<T> {
    fn default() -> Self {
        Self { slots: Vec::new(), free: Vec::new(), count: 0 }
    }
}

impl<T> Underway<T> {
    /// Keeps `load`; returns the tag of its packet.
    pub fn put(&mut self, load: T) -> u64 {
        let slot = match self.free.pop() {
            Some(slot) => {
                self.slots[slot as usize] = Some(load);
                slot
            }
            None => {
                self.slots.push(Some(load));
                (self.slots.len() - 1) as u32
            }
        };
        self.count += 1;
        self.count << 32 | u64::from(slot)
    }

    /// What the packet with this tag carried.
    pub fn take(&mut self, tag: u64) -> T {
        let slot = tag as u32;
        self.free.push(slot);
        self.slots[slot as usize].take().expect("a packet ends once")
    }
}

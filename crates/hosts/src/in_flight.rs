//! The content of packets in flight, by the tag of the packet. The lower 24 bits of a tag are a slot,
//! the next 8 the number of the connection among those of its flow, and the upper ones count the uses
//! of slots. A packet ends once, when it arrives or is lost; its content is then removed.

use alloc::vec::Vec;

/// Position of the connection's number in a tag.
const CONNECTION: u32 = 24;

/// Returns the number of the connection, from 0, that a packet with this tag belongs to. The packet
/// is a TCP segment of the model.
pub const fn connection_of(tag: u64) -> u8 {
    (tag >> CONNECTION) as u8
}

/// The content of packets in flight.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct InFlight<T> {
    slots: Vec<Option<(u64, T)>>,
    free: Vec<u32>,
    count: u64,
    /// Number of the connection in its place of a tag.
    mark: u64,
}

impl<T> Default for InFlight<T> {
    fn default() -> Self {
        Self::after(0, 0)
    }
}

impl<T> InFlight<T> {
    /// Returns the empty content of a connection that opens after `count` uses of slots by others of
    /// its flow: its tags follow theirs.
    pub fn after(count: u64, connection: u8) -> Self {
        let mark = u64::from(connection) << CONNECTION;
        Self { slots: Vec::new(), free: Vec::new(), count, mark }
    }

    /// Number of uses of slots, those before this connection included.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Stores `load`; returns the tag for its packet.
    pub fn put(&mut self, load: T) -> u64 {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            (self.slots.len() - 1) as u32
        });
        self.count += 1;
        let tag = self.count << 32 | self.mark | u64::from(slot);
        self.slots[slot as usize] = Some((tag, load));
        tag
    }

    /// The content of the packet with this tag; `None` if the packet has ended.
    pub fn get(&self, tag: u64) -> Option<&T> {
        let (known, load) = self.slots.get(slot_of(tag))?.as_ref()?;
        (*known == tag).then_some(load)
    }

    /// Removes the content of the packet with this tag, which has ended.
    pub fn end(&mut self, tag: u64) {
        let slot = slot_of(tag);
        self.free.push(slot as u32);
        self.slots[slot] = None;
    }

    /// Removes and returns the content of the packet with this tag, which has ended.
    pub fn take(&mut self, tag: u64) -> T {
        let slot = slot_of(tag);
        self.free.push(slot as u32);
        let (_, load) = self.slots[slot].take().expect("a packet ends once");
        load
    }
}

const fn slot_of(tag: u64) -> usize {
    (tag as u32 & ((1 << CONNECTION) - 1)) as usize
}

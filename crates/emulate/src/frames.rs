//! The frames in flight: their bytes, under the tags of the machines' packets. Slots are
//! reused; a tag contains the generation of its slot (31 bits), so that a stale tag finds
//! nothing instead of another frame. The highest bit distinguishes these tags from those of
//! the model's own packets ([`DRIVER_TAGS`]).

use lasthop_hosts::DRIVER_TAGS;

/// The number of generations, after which they wrap around.
const GENERATIONS: u32 = 1 << 31;

/// The buffers of frames in flight.
#[derive(Debug)]
pub struct Frames {
    slots: Vec<Slot>,
    free: Vec<u32>,
    bytes_max: usize,
}

#[derive(Debug)]
struct Slot {
    bytes: Box<[u8]>,
    length: usize,
    generation: u32,
}

impl Frames {
    /// Returns no frames; each will have `bytes_max` bytes at most.
    pub fn new(bytes_max: usize) -> Self {
        Self { slots: Vec::new(), free: Vec::new(), bytes_max }
    }

    /// Takes a buffer for a frame, and returns its tag.
    pub fn take(&mut self) -> u64 {
        let slot = self.free.pop().unwrap_or_else(|| {
            let bytes = vec![0; self.bytes_max].into_boxed_slice();
            self.slots.push(Slot { bytes, length: 0, generation: 0 });
            (self.slots.len() - 1) as u32
        });
        DRIVER_TAGS | u64::from(self.slots[slot as usize].generation) << 32 | u64::from(slot)
    }

    /// Returns the whole buffer of a frame.
    pub fn buffer(&mut self, tag: u64) -> &mut [u8] {
        &mut self.slots[tag as u32 as usize].bytes
    }

    /// Sets the length of a frame: the first `length` bytes of its buffer.
    pub fn set_length(&mut self, tag: u64, length: usize) {
        self.slots[tag as u32 as usize].length = length;
    }

    /// Returns a frame; `None` once it is released, and for a packet of the model.
    pub fn get(&self, tag: u64) -> Option<&[u8]> {
        let slot = self.slots.get(tag as u32 as usize)?;
        is_of(tag, slot.generation).then(|| &slot.bytes[..slot.length])
    }

    /// Returns a frame to be changed.
    pub fn get_mut(&mut self, tag: u64) -> Option<&mut [u8]> {
        let slot = self.slots.get_mut(tag as u32 as usize)?;
        is_of(tag, slot.generation).then(|| &mut slot.bytes[..slot.length])
    }

    /// Releases the buffer of a frame; its tag is stale from now on.
    pub fn release(&mut self, tag: u64) {
        let slot = &mut self.slots[tag as u32 as usize];
        if is_of(tag, slot.generation) {
            slot.generation = (slot.generation + 1) % GENERATIONS;
            self.free.push(tag as u32);
        }
    }
}

/// Whether `tag` is that of a frame of this generation.
fn is_of(tag: u64, generation: u32) -> bool {
    tag >> 32 == (DRIVER_TAGS >> 32) + u64::from(generation)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stale_tag_finds_nothing() {
        let mut frames = Frames::new(4);
        let first = frames.take();
        frames.buffer(first)[..2].copy_from_slice(b"ab");
        frames.set_length(first, 2);
        assert_eq!(frames.get(first), Some(&b"ab"[..]));
        frames.release(first);
        let second = frames.take();
        assert_ne!(first, second);
        assert_eq!(frames.get(first), None);
        frames.release(first);
        assert_eq!((frames.slots.len(), frames.free.len()), (1, 0));
    }
}

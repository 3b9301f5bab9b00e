//! A reorder buffer for radios that aggregate without the kernel: frames from one radio to another
//! under one TID are passed on in the order in which the kernel gave them, as by hardware that
//! keeps Block Ack to itself. The sender is known here, so frames that it gives up hold nothing
//! back. Pure; waits for no timer.

use std::collections::VecDeque;

/// Frames between two radios under one TID, in the order of their sequence numbers.
#[derive(Clone, Debug)]
pub struct Reorder<T> {
    entries: VecDeque<(u64, Entry<T>)>,
}

#[derive(Clone, Debug)]
enum Entry<T> {
    /// The frame may still come.
    Awaited,
    /// The frame came, and waits for those before it.
    Held(T),
    /// The frame was passed on, or will not come.
    Over,
}

impl<T> Default for Reorder<T> {
    fn default() -> Self {
        Self { entries: VecDeque::new() }
    }
}

impl<T> Reorder<T> {
    /// Adds the frame called `tag`, which is about to be sent, behind all earlier ones.
    pub fn expect(&mut self, tag: u64) {
        self.entries.push_back((tag, Entry::Awaited));
    }

    /// Handles a received frame. Returns whether it came for the first time; [`Reorder::pop_ready`]
    /// passes it on.
    pub fn receive(&mut self, tag: u64, frame: T) -> bool {
        let known = self.entries.iter_mut().find(|(known, _)| *known == tag);
        match known {
            Some((_, entry @ Entry::Awaited)) => {
                *entry = Entry::Held(frame);
                true
            }
            _ => false,
        }
    }

    /// Gives up a frame that will not come; no effect on one that came.
    pub fn give_up(&mut self, tag: u64) {
        if let Some((_, entry @ Entry::Awaited)) =
            self.entries.iter_mut().find(|(known, _)| *known == tag)
        {
            *entry = Entry::Over;
        }
    }

    /// Takes back a frame that [`Reorder::pop_ready`] passed on and the radio refused: it may come
    /// again.
    pub fn put_back(&mut self, tag: u64) {
        self.entries.push_front((tag, Entry::Awaited));
    }

    /// Returns the next frame that waits for no other, and its tag.
    pub fn pop_ready(&mut self) -> Option<(u64, T)> {
        while let Some((tag, entry)) = self.entries.front_mut() {
            let tag = *tag;
            match core::mem::replace(entry, Entry::Over) {
                Entry::Awaited => {
                    *entry = Entry::Awaited;
                    return None;
                }
                Entry::Held(frame) => {
                    self.entries.pop_front();
                    return Some((tag, frame));
                }
                Entry::Over => {
                    self.entries.pop_front();
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A receiver that is away refuses a frame, and gets its retransmission before later frames.
    #[test]
    fn what_is_refused_may_come_again() {
        let mut reorder = Reorder::default();
        (0..3).for_each(|tag| reorder.expect(tag));
        assert!(reorder.receive(0, 'a') && reorder.receive(1, 'b'));
        assert_eq!(reorder.pop_ready(), Some((0, 'a')));
        reorder.put_back(0);
        assert_eq!(reorder.pop_ready(), None);
        assert!(reorder.receive(0, 'a'));
        assert_eq!(reorder.pop_ready(), Some((0, 'a')));
        assert_eq!(reorder.pop_ready(), Some((1, 'b')));
        assert_eq!(reorder.pop_ready(), None);
    }

    proptest! {
        /// Frames that come in any order, come again or are given up: each received one is passed
        /// on once, in order, and as soon as no earlier one may come.
        #[test]
        fn frames_come_out_in_order(
            events in prop::collection::vec((0..20u64, any::<bool>()), 0..100),
        ) {
            let mut reorder = Reorder::default();
            (0..20).for_each(|tag| reorder.expect(tag));
            let mut state = [None; 20];
            let mut out = Vec::new();
            for (tag, came) in events {
                let first = state[tag as usize].is_none();
                if came {
                    prop_assert_eq!(reorder.receive(tag, tag), first);
                } else {
                    reorder.give_up(tag);
                }
                state[tag as usize].get_or_insert(came);
                out.extend(std::iter::from_fn(|| reorder.pop_ready()).map(|(_, frame)| frame));
                let settled = state.iter().take_while(|state| state.is_some()).count();
                let expected: Vec<u64> =
                    (0..settled as u64).filter(|tag| state[*tag as usize] == Some(true)).collect();
                prop_assert_eq!(&out, &expected);
            }
        }
    }
}

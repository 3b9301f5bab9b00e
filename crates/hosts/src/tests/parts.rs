//! Contents of packets in flight, and the order of events.

use super::bed::ms;
use crate::events::{Event, EventQueue};
use crate::in_flight::InFlight;
use alloc::vec::Vec;
use proptest::prelude::*;

/// A tag belongs to one packet only, also after its slot is used again.
#[test]
fn a_packet_that_has_ended_has_no_content() {
    let mut in_flight = InFlight::default();
    let first = in_flight.put('a');
    let second = in_flight.put('b');
    assert_eq!([first, second].map(|tag| in_flight.get(tag).copied()), [Some('a'), Some('b')]);
    assert_eq!(in_flight.take(first), 'a');
    assert_eq!(in_flight.get(first), None);
    let third = in_flight.put('c');
    assert_eq!(third as u32, first as u32, "the slot is used again");
    assert_eq!(
        [first, second, third].map(|tag| in_flight.get(tag).copied()),
        [None, Some('b'), Some('c')]
    );
    in_flight.end(second);
    assert_eq!(in_flight.get(second), None);
    assert_eq!(in_flight.get(1 << 40), None);
}

proptest! {
    /// Tags grow, so they are unique; slots are as many as packets in flight at most.
    #[test]
    fn tags_grow_and_slots_do_not(ends in prop::collection::vec(any::<Option<u8>>(), 1..100)) {
        let mut in_flight = InFlight::default();
        let mut flying: Vec<(u64, usize)> = Vec::new();
        let (mut last, mut most) = (0, 0);
        for (load, end) in ends.into_iter().enumerate() {
            match end {
                Some(which) if !flying.is_empty() => {
                    let (tag, load) = flying.swap_remove(usize::from(which) % flying.len());
                    prop_assert_eq!(in_flight.get(tag), Some(&load));
                    if which % 2 == 0 {
                        in_flight.end(tag);
                    } else {
                        prop_assert_eq!(in_flight.take(tag), load);
                    }
                    prop_assert_eq!(in_flight.get(tag), None);
                }
                _ => {
                    let tag = in_flight.put(load);
                    prop_assert!(tag > last);
                    last = tag;
                    flying.push((tag, load));
                    most = most.max(flying.len());
                    prop_assert!((tag as u32 as usize) < most);
                    // A driver's tags are above.
                    prop_assert!(tag < crate::DRIVER_TAGS);
                }
            }
            for (tag, load) in &flying {
                prop_assert_eq!(in_flight.get(*tag), Some(load));
            }
        }
    }

    /// Events are in order of time, those of one instant in the order in which they were pushed.
    #[test]
    fn events_of_one_instant_keep_their_order(times in prop::collection::vec(0..5u64, 0..30)) {
        let mut queue = EventQueue::default();
        for (number, &at) in times.iter().enumerate() {
            // A kind that is ordered against the number.
            queue.push(ms(at), Event::Departure(times.len() - number));
        }
        let copy = queue.clone();
        prop_assert_eq!(&copy, &queue);
        let mut expected: Vec<_> = times.iter().enumerate().map(|(n, &at)| (at, n)).collect();
        expected.sort_unstable();
        for (at, number) in expected {
            prop_assert_eq!(queue.next(), Some(ms(at)));
            prop_assert_eq!(queue.pop(), Event::Departure(times.len() - number));
            prop_assert_ne!(&copy, &queue);
        }
        prop_assert_eq!(queue.next(), None);
    }
}

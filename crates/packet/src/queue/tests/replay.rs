//! Events at a queue, replayed for a comparison with decisions that Linux' code made of the same
//! events. A line for each event has the packets that were dropped (`x`), and the one that left
//! (`m` if marked), or `.` for none.

use super::*;
use alloc::format;
use alloc::string::String;

/// An event at a queue.
#[derive(Clone, Copy)]
pub enum Event {
    /// A packet arrives.
    Arrival(Packet),
    /// The device asks for a packet.
    Request,
}

/// Asserts that a queue decides as the kernel. `perturbation` is the key of its hash and draws.
pub fn assert_decides(
    name: &str,
    config: &QueueConfig,
    perturbation: u32,
    events: Vec<(Instant, Event)>,
    kernel: &str,
) {
    let mut queue = Queue::new(config, perturbation);
    assert_eq!(events.len(), kernel.lines().count(), "{name}");
    for ((at, (now, event)), expected) in events.into_iter().enumerate().zip(kernel.lines()) {
        let mut dropped = vec![];
        let left = match event {
            Event::Arrival(packet) => {
                queue.enqueue(now, peer(0), packet, Held::NONE, &mut dropped);
                None
            }
            Event::Request => queue.dequeue(now, &mut dropped),
        };
        let mut words: Vec<String> =
            dropped.iter().map(|packet| format!("x{}", packet.tag)).collect();
        words.extend(left.map(|(_, packet)| {
            format!("{}{}", packet.tag, if packet.ecn_marked { "m" } else { "" })
        }));
        if words.is_empty() {
            words.push(".".into());
        }
        assert_eq!(words.join(" "), expected, "{name}, event {at}");
    }
}

//! Feeds any bytes as packets of a TUN device. No panic, and packets are the same bytes after
//! coalescing and segmentation.

#![no_main]

use lasthop_linux::offload::{Coalescer, Kinds, segment};
use libfuzzer_sys::fuzz_target;

fn segmented(read: &[u8]) -> Vec<Vec<u8>> {
    let (mut read, mut scratch, mut packets) = (read.to_vec(), Vec::new(), Vec::new());
    let taken = segment(&mut read, &mut scratch, &mut |packet| packets.push(packet.to_vec()));
    assert_eq!(taken.unwrap_or(0), packets.len());
    packets
}

fuzz_target!(|read: &[u8]| {
    let packets = segmented(read);
    let mut coalescer = Coalescer::new(Kinds { tcp: true, udp: true });
    let (mut written, mut counted) = (Vec::new(), 0);
    let mut write = |packet: &[u8], segments: usize| {
        written.push(packet.to_vec());
        counted += segments;
    };
    packets.iter().for_each(|packet| coalescer.push(packet, &mut write));
    coalescer.flush(&mut write);
    assert_eq!(counted, packets.len());
    let again: Vec<Vec<u8>> = written.iter().flat_map(|written| segmented(written)).collect();
    // All are of one flow, so they are in order.
    assert!(again == packets);
});

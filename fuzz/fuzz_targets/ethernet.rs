//! Feeds any bytes as frames of programs behind the hop. Every value read lies within the frame. A
//! mark of a managed queue keeps the flow, and changes only frames that may be marked.
#![no_main]

use lasthop_emulate::frame::{Header, mark_congestion};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|frame: &[u8]| {
    let Some(header) = Header::parse(frame) else {
        assert!(frame.len() < 14 || frame.len() > 14 + usize::from(u16::MAX));
        return;
    };
    assert_eq!(frame.len(), 14 + header.packet_bytes as usize);
    assert_eq!(frame[..6], header.destination.0);
    assert_eq!(frame[6..12], header.source.0);
    let mut marked = frame.to_vec();
    mark_congestion(&mut marked);
    let again = Header::parse(&marked).expect("it has as many bytes");
    assert_eq!((again.flow_hash, again.ecn_capable), (header.flow_hash, header.ecn_capable));
    assert!(header.ecn_capable || marked == frame);
    // Ports follow an IP header of 20 bytes at least.
    assert!(header.ports.is_none() || frame.len() >= 14 + 20 + 4);
});

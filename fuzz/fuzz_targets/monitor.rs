//! Feeds any bytes as frames of a monitor interface. No panic, every frame is counted at most once,
//! and datagrams lie within their frame. A retransmission of a received frame gives no datagram.
#![no_main]

use lasthop_daemon::monitor::Monitor;
use lasthop_units::{Instant, MacAddr};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|captured: &[u8]| {
    let mut monitor = Monitor::default();
    let own = MacAddr([2, 0, 0, 0, 0, 0xd]);
    let mut taken = 0;
    monitor.take(Instant::ZERO, Some(own), captured, &mut |from, datagram| {
        taken += 1;
        assert!(from != own && !from.is_multicast());
        let (begin, end) = (captured.as_ptr_range().start, captured.as_ptr_range().end);
        let range = datagram.as_ptr_range();
        assert!(begin <= range.start && range.end <= end);
    });
    let first = monitor.counts();
    assert_eq!(first.datagrams, taken);
    let unread = |monitor: &Monitor| {
        let counts = monitor.counts();
        let unread = counts.retries + counts.bad_fcs + counts.protected;
        unread + counts.fragments + counts.malformed
    };
    assert!(unread(&monitor) <= 1);
    // Heard once more: taken again only if it does not say that it is a retransmission, or goes
    // to a group; and with the same fate if nothing of it was of the link.
    let mut again = 0;
    monitor.take(Instant::ZERO, Some(own), captured, &mut |_, _| again += 1);
    assert!(again == taken || again == 0 && monitor.counts().retries == 1);
    if taken == 0 && first.retries == 0 {
        assert!(unread(&monitor) <= 2);
    }
});

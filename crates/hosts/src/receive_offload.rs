//! Generic receive offload (GRO): segments of a connection that arrive together reach TCP as one,
//! and have one acknowledgement. Segments are merged as in Linux' tcp_gro_receive: in sequence, with
//! the same acknowledgement, timestamps (milliseconds) and ECN codepoint, up to a number of segments
//! and 64 KiB. A segment that is shorter than those before, or has CWR or FIN, is the last or the
//! first one. Left out: the number of flows that are merged at once.

use lasthop_tcp::Segment;
use lasthop_units::{Duration, Instant};

/// Most bytes in a packet of several segments (GRO_MAX_SIZE).
const BYTES_MAX: u32 = 65_535;

/// Rules for merging segments that arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiveOffload {
    /// Most segments in one: 17 until Linux 3.13 (MAX_SKB_FRAGS), then as many as fit into 64 KiB.
    pub segments_max: u32,
    /// Time for which the first segment waits for others: that of interrupts held back. Segments of
    /// one A-MPDU arrive at one instant.
    pub wait: Duration,
}

/// Segments that wait for others to be merged with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Merged {
    /// The segment that came last.
    last: Segment,
    first_payload_bytes: u32,
    is_marked: bool,
    segments: u32,
    bytes: u32,
    /// Instant at which they reach TCP.
    pub due: Instant,
}

impl Merged {
    pub(crate) fn new(
        rules: ReceiveOffload,
        now: Instant,
        segment: &Segment,
        is_marked: bool,
    ) -> Self {
        Self {
            last: *segment,
            first_payload_bytes: segment.payload_bytes,
            is_marked,
            segments: 1,
            bytes: segment.packet_bytes(),
            due: now + rules.wait,
        }
    }

    /// Merges a segment, if it may be.
    pub(crate) fn take(
        &mut self,
        rules: ReceiveOffload,
        segment: &Segment,
        is_marked: bool,
    ) -> bool {
        let Self { last, .. } = self;
        let stamp = |at: Instant| at.as_nanos() / 1_000_000;
        let stamps = |segment: &Segment| (stamp(segment.sent), segment.echoed.map(stamp));
        let fits = segment.sequence == last.end()
            && !segment.window_reduced
            && segment.payload_bytes <= self.first_payload_bytes
            && segment.acknowledgement == last.acknowledgement
            && segment.sack() == last.sack()
            && codepoint(segment) == codepoint(last)
            && is_marked == self.is_marked
            && stamps(segment) == stamps(last)
            && self.segments < rules.segments_max
            && self.bytes + segment.payload_bytes <= BYTES_MAX;
        if fits {
            self.last = *segment;
            self.segments += 1;
            self.bytes += segment.payload_bytes;
        }
        fits
    }

    /// Whether no further segment may be merged.
    pub(crate) fn is_complete(&self, rules: ReceiveOffload) -> bool {
        self.last.payload_bytes < self.first_payload_bytes
            || self.last.fin
            || self.segments >= rules.segments_max
    }
}

/// The flags AE and ECE, and the codepoint ECT(0) or ECT(1).
fn codepoint(segment: &Segment) -> [bool; 4] {
    [segment.accurate_ecn, segment.ecn_echo, segment.ecn_capable, segment.ecn_l4s]
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: ReceiveOffload = ReceiveOffload { segments_max: 64, wait: Duration::ZERO };

    fn data(number: u64) -> Segment {
        Segment { sequence: 1 + 1_448 * number, payload_bytes: 1_448, ..Segment::default() }
    }

    /// The conditions of tcp_gro_receive, one at a time.
    #[test]
    fn segments_are_merged_as_linux_merges_them() {
        let first = data(0);
        let merges = |segment: &Segment, is_marked| {
            Merged::new(RULES, Instant::ZERO, &first, false).take(RULES, segment, is_marked)
        };
        let next = data(1);
        assert!(merges(&next, false));
        assert!(merges(&Segment { payload_bytes: 100, ..next }, false), "a short last one");
        assert!(merges(&Segment { fin: true, ..next }, false));
        let at = |us| Instant::ZERO + Duration::from_micros(us);
        assert!(merges(&Segment { sent: at(900), ..next }, false), "the same millisecond");
        for other in [
            data(2),
            Segment { payload_bytes: 1_500, ..next },
            Segment { window_reduced: true, ..next },
            Segment { acknowledgement: Some(1), ..next },
            Segment { ecn_echo: true, ..next },
            Segment { ecn_capable: true, ..next },
            Segment { ecn_l4s: true, ..next },
            Segment { accurate_ecn: true, ..next },
            Segment { sent: at(1_000), ..next },
            Segment { echoed: Some(Instant::ZERO), ..next },
            Segment { sack_blocks: 1, ..next },
        ] {
            assert!(!merges(&other, false), "{other:?}");
        }
        assert!(!merges(&next, true), "another codepoint");
    }

    /// 64 KiB have 45 segments of 1 448 bytes and a header; the fragments of an older buffer 17.
    #[test]
    fn a_merged_segment_is_bounded() {
        for (segments_max, expected) in [(64, 45), (17, 17), (2, 2)] {
            let rules = ReceiveOffload { segments_max, ..RULES };
            let mut merged = Merged::new(rules, Instant::ZERO, &data(0), false);
            let taken = (1..100).take_while(|&n| merged.take(rules, &data(n), false)).count();
            assert_eq!(taken + 1, expected);
            assert_eq!(merged.is_complete(rules), segments_max < 64);
        }
        let mut merged = Merged::new(RULES, Instant::ZERO, &data(0), false);
        assert!(!merged.is_complete(RULES));
        assert!(merged.take(RULES, &Segment { payload_bytes: 9, ..data(1) }, false));
        assert!(merged.is_complete(RULES));
    }
}

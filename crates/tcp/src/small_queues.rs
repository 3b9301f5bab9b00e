//! TCP small queues: the amount of a connection's data in the sending node's queues, and its limit
//! (Linux' tcp_small_queue_check). A packet counts from when it is passed to the node until the
//! node releases it: acknowledged on the air, or dropped. Packets without payload do not count.
//! Amounts are in bytes of socket memory.

use lasthop_units::Bitrate;

use crate::SmallQueues;

/// Memory of a packet in addition to its length above a device with scatter-gather: Linux' sk_buff
/// (256), its shared part (320) and headroom (320).
pub const PACKET_OVERHEAD_BYTES: u64 = 896;

/// Most bytes of a buffer of several segments (GSO_MAX_SIZE less headers, MAX_TCP_HEADER).
const BUFFER_BYTES_MAX: u64 = 65_536 - 1 - 320;
/// Linux' sk_pacing_shift, where no limit has another.
const BUFFER_SHIFT: u8 = 10;
/// Least number of segments in such a buffer (tcp_min_tso_segs).
const BUFFER_SEGMENTS_MIN: u64 = 2;

/// Packets of one connection in the sending node's queues.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OwnQueue {
    rules: SmallQueues,
    /// Whether segments leave in buffers of several.
    has_buffers: bool,
    /// Time at the pacing rate that a buffer has, 2^-shift seconds, if the congestion control sets
    /// it; such buffers may have one segment.
    buffer_shift: Option<u8>,
    /// Number of further segments of the buffer that leaves.
    buffer_left: u64,
    overhead: u64,
    /// Memory of the packets in the queues, in bytes.
    bytes: u64,
    /// Number of packets passed to the queues, and released, since the start; wraps
    /// around.
    handed_over: u32,
    released: u32,
}

impl OwnQueue {
    pub(crate) fn new(rules: SmallQueues, has_buffers: bool) -> Self {
        let overhead = match rules {
            SmallQueues::Fixed { overhead, .. } | SmallQueues::Pacing { overhead, .. } => {
                overhead.as_u64()
            }
            SmallQueues::Off => PACKET_OVERHEAD_BYTES,
        };
        Self {
            rules,
            has_buffers,
            buffer_shift: None,
            buffer_left: 0,
            overhead,
            bytes: 0,
            handed_over: 0,
            released: 0,
        }
    }

    /// Limits buffers to 2^-`shift` seconds at the pacing rate, instead of the limit of the queues
    /// and at least two segments (tso_segs of Linux' congestion controls).
    pub(crate) fn limit_buffers(&mut self, shift: u8) {
        self.buffer_shift = Some(shift);
    }

    /// Counts a packet that is passed to the queues. Returns its number; a packet
    /// without payload has that of the one before. [`OwnQueue::charge`] counts its
    /// memory.
    pub(crate) fn hand_over(&mut self, has_payload: bool) -> u32 {
        self.handed_over = self.handed_over.wrapping_add(u32::from(has_payload));
        self.handed_over
    }

    /// The number of the newest packet.
    pub(crate) fn number(&self) -> u32 {
        self.handed_over
    }

    /// Adds the memory of the packet that was just passed to the queues.
    pub(crate) fn charge(&mut self, packet_bytes: u32) {
        self.bytes += u64::from(packet_bytes) + self.overhead;
    }

    /// Takes back the newest packet, which was refused.
    pub(crate) fn take_back(&mut self, packet_bytes: u32) {
        self.handed_over = self.handed_over.wrapping_sub(1);
        self.bytes = self.bytes.saturating_sub(u64::from(packet_bytes) + self.overhead);
    }

    pub(crate) fn release(&mut self, packets: u32, packet_bytes: u32) {
        self.released = self.released.wrapping_add(packets);
        let memory = u64::from(packet_bytes) + u64::from(packets) * self.overhead;
        self.bytes = self.bytes.saturating_sub(memory);
    }

    /// Whether the packet with this number is still in the queues, which are assumed to be first
    /// in, first out. `false` if small queues are off, because packets are not counted then.
    pub(crate) fn holds(&self, number: u32) -> bool {
        self.rules != SmallQueues::Off && number.wrapping_sub(self.released) as i32 > 0
    }

    /// Number of segments in a buffer (tcp_tso_autosize): those of `packet_bytes` that the pacing
    /// rate sends in the time of the limit.
    fn buffer_segments(&self, packet_bytes: u32, rate: Bitrate) -> u64 {
        let (shift, least) = match (self.buffer_shift, self.rules) {
            (Some(shift), _) => (shift, 1),
            (None, SmallQueues::Pacing { shift, .. }) => (shift, BUFFER_SEGMENTS_MIN),
            (None, SmallQueues::Off | SmallQueues::Fixed { .. }) => {
                (BUFFER_SHIFT, BUFFER_SEGMENTS_MIN)
            }
        };
        let bytes = (rate.as_bps() >> (shift + 3)).min(BUFFER_BYTES_MAX);
        (bytes / u64::from(packet_bytes)).max(least)
    }

    /// Whether a new packet has to wait; if it may leave, it is counted as part of a buffer.
    pub(crate) fn must_wait(&mut self, packet_bytes: u32, rate: Bitrate) -> bool {
        if self.buffer_left > 0 {
            self.buffer_left -= 1;
            return false;
        }
        let is_full = self.is_full(packet_bytes, rate, false);
        if self.has_buffers && !is_full {
            self.buffer_left = self.buffer_segments(packet_bytes, rate) - 1;
        }
        is_full
    }

    /// Whether further segments of the buffer that leaves follow.
    pub(crate) fn is_within_buffer(&self) -> bool {
        self.buffer_left > 0
    }

    /// Ends the buffer that leaves: nothing else is to be sent now.
    pub(crate) fn end_buffer(&mut self) {
        self.buffer_left = 0;
    }

    /// Whether the queues hold too much to send another packet. The limit for retransmissions is
    /// twice as high. `rate` is the pacing rate.
    pub(crate) fn is_full(
        &self,
        packet_bytes: u32,
        rate: Bitrate,
        is_retransmission: bool,
    ) -> bool {
        let limit = match self.rules {
            SmallQueues::Off => return false,
            SmallQueues::Fixed { limit, .. } => limit.as_u64(),
            SmallQueues::Pacing { limit, shift, .. } => {
                let buffers = self.has_buffers && !is_retransmission;
                let segments = if buffers { self.buffer_segments(packet_bytes, rate) } else { 1 };
                let packet = u64::from(packet_bytes) * segments + self.overhead;
                (rate.as_bps() >> (shift + 3)).max(2 * packet).min(limit.as_u64())
            }
        };
        self.bytes > limit << u32::from(is_retransmission)
    }

    /// Whether the queues hold no packet, as far as it is known.
    pub(crate) fn is_empty(&self) -> bool {
        self.rules == SmallQueues::Off || self.bytes == 0
    }

    /// Memory of the packets in the queues, in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lasthop_units::Bytes;

    #[test]
    fn the_pacing_rate_sets_the_limit_between_two_packets_and_the_upper_bound() {
        let overhead = Bytes::new(PACKET_OVERHEAD_BYTES);
        let rules = SmallQueues::Pacing { limit: Bytes::new(1 << 20), shift: 10, overhead };
        let packets = |rate: u64| {
            let mut queue = OwnQueue::new(rules, false);
            let mut count = 0;
            while !queue.is_full(1_500, Bitrate::from_bps(rate), false) {
                queue.hand_over(true);
                queue.charge(1_500);
                count += 1;
            }
            count
        };
        let memory = 1_500 + PACKET_OVERHEAD_BYTES;
        // One more than fits is in flight.
        assert_eq!(packets(1_000_000), 3);
        // 100 MB/s are 97 656 bytes in 1/1024 s.
        assert_eq!(packets(800_000_000), 97_656 / memory + 1);
        assert_eq!(packets(u64::MAX), (1 << 20) / memory + 1);
    }

    /// Without scatter-gather a segment of 1448 bytes is one piece of 1448 bytes, 320
    /// (MAX_TCP_HEADER) and 320 (skb_shared_info), which takes a block of 4096, and 256 of sk_buff: 4352
    /// (alloc_skb, SKB_TRUESIZE). The least limit is two of them, and a third exceeds it.
    #[test]
    fn without_scatter_gather_a_millisecond_holds_fewer_segments() {
        let overhead = Bytes::new(4_352 - 1_500);
        let rules = SmallQueues::Pacing { limit: Bytes::new(4 << 20), shift: 10, overhead };
        let packets = |rate: u64| {
            let mut queue = OwnQueue::new(rules, false);
            (0..)
                .take_while(|_| {
                    let has_space = !queue.is_full(1_500, Bitrate::from_bps(rate), false);
                    queue.charge(1_500);
                    has_space
                })
                .count()
        };
        assert_eq!(packets(1_000_000), 3);
        // 200 Mb/s are 24 414 bytes in 1/1024 s: five take 21 760, the sixth 26 112.
        assert_eq!(packets(200_000_000), 6);
    }

    /// tcp_tso_autosize and tcp_small_queue_check by hand, with buffers: at a low rate two segments
    /// in each, and a limit of two buffers; at 800 Mb/s the 97 656 bytes of a millisecond, in
    /// buffers of 64 KiB, 43 segments.
    #[test]
    fn buffers_of_several_segments_leave_whole() {
        let overhead = Bytes::new(PACKET_OVERHEAD_BYTES);
        let rules = SmallQueues::Pacing { limit: Bytes::new(4 << 20), shift: 10, overhead };
        let packets = |rate: u64| {
            let mut queue = OwnQueue::new(rules, true);
            let mut count = 0;
            while !queue.must_wait(1_500, Bitrate::from_bps(rate)) {
                queue.hand_over(true);
                queue.charge(1_500);
                count += 1;
            }
            count
        };
        // 2 (3 000 + 896) = 7 792 bytes: the second buffer ends at 9 584.
        assert_eq!(packets(1_000_000), 4);
        // 2 (43 * 1 500 + 896) = 130 792: the second buffer ends at 206 056.
        assert_eq!(packets(800_000_000), 2 * 43);
    }

    #[test]
    fn a_packet_is_held_until_as_many_are_let_go_as_came_before() {
        let limit = Bytes::new(1 << 20);
        let mut queue = OwnQueue::new(SmallQueues::Fixed { limit, overhead: Bytes::new(0) }, false);
        let numbers = [(); 3].map(|()| queue.hand_over(true));
        queue.release(1, 1_500);
        assert_eq!(numbers.map(|number| queue.holds(number)), [false, true, true]);
        queue.release(2, 3_000);
        assert_eq!(numbers.map(|number| queue.holds(number)), [false; 3]);
    }
}

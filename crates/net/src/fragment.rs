//! IPv4 fragmentation and reassembly without bytes (RFC 791, section 3.2): the parts of a packet
//! that is longer than an MTU, and the state of its destination until all parts have arrived.
//!
//! Lengths are in bytes of network-layer packets; each part has a separate header of 20 bytes. The
//! time and the memory that a receiver spends on incomplete packets are limited as in Linux. Left
//! out: header options, and overlapping or repeated parts, which the network never makes.

use alloc::collections::{BTreeMap, VecDeque};
use lasthop_packet::{Fragment, Packet};
use lasthop_units::{Duration, Instant};

/// Length of an IPv4 header without options (RFC 791, section 3.1).
pub const IPV4_HEADER_BYTES: u16 = 20;

/// Minimum MTU of a link (RFC 791, section 3.2): a header with all options, and eight
/// bytes of payload.
pub const MTU_BYTES_MIN: u16 = 68;

/// Unit of the payload of every part but the last, in bytes (RFC 791, section 3.1).
const UNIT_BYTES: u16 = 8;

/// Time for which a receiver keeps the parts of an incomplete packet (`net.ipv4.ipfrag_time` in
/// Linux).
pub const REASSEMBLY_TIME: Duration = Duration::from_secs(30);

/// Memory for incomplete packets, in bytes. A receiver that uses more rejects parts of further
/// packets (`net.ipv4.ipfrag_high_thresh` in Linux).
pub const REASSEMBLY_BYTES_MAX: u64 = 4 << 20;

/// Memory that a stored part takes beside its own bytes: Linux also counts
/// `struct sk_buff` and `struct skb_shared_info` (`SKB_TRUESIZE` on 64-bit machines).
const BUFFER_OVERHEAD_BYTES: u64 = 576;

/// Limit of completed packets that remain in `Reassembly::by_age`, beyond as many as are
/// incomplete.
const SKIPPED_MAX: usize = 64;

/// Longest payload of a part on a link with this MTU, which is at least
/// [`MTU_BYTES_MIN`]: of the last part, and of the others.
const fn payload_bytes(mtu: u16) -> (u16, u16) {
    let last = mtu - IPV4_HEADER_BYTES;
    (last, last / UNIT_BYTES * UNIT_BYTES)
}

/// Returns the number of parts in which a packet of `bytes` crosses a link with this
/// MTU; 1 if it fits.
pub const fn count(bytes: u16, mtu: u16) -> u32 {
    if bytes <= mtu {
        return 1;
    }
    let (last, others) = payload_bytes(mtu);
    1 + (bytes - IPV4_HEADER_BYTES - last).div_ceil(others) as u32
}

/// Returns the parts of `packet`, in order, for a link with this MTU. The packet is longer than the
/// MTU, and the MTU is at least [`MTU_BYTES_MIN`]. Parts can be cut again.
pub fn cut(packet: Packet, mtu: u16) -> impl Iterator<Item = Packet> {
    debug_assert!(mtu >= MTU_BYTES_MIN, "there is room for a header and a unit of payload");
    let (_, step) = payload_bytes(mtu);
    let payload = packet.bytes - IPV4_HEADER_BYTES;
    let count = count(packet.bytes, mtu) as u16;
    let whole_bytes = packet.bytes.max(packet.fragment.whole_bytes());
    (0..count).map(move |index| {
        let offset = index * step;
        let is_last = index + 1 == count;
        let more = !is_last || packet.fragment.more();
        Packet {
            bytes: IPV4_HEADER_BYTES + if is_last { payload - offset } else { step },
            fragment: Fragment::new(packet.fragment.offset_bytes() + offset, more, whole_bytes),
            // The sender has released a packet when it has released its last part.
            notify: packet.notify && is_last,
            ..packet
        }
    })
}

/// Result of [`Reassembly::handle_part`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reassembled {
    /// The part is stored; others are missing.
    Kept,
    /// The packet is complete.
    Complete,
    /// The part is discarded, because the memory is used up.
    Refused,
}

/// The incomplete packets of a receiver.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Reassembly {
    /// Incomplete packets, by the number that the network gave to each when it was cut.
    incomplete: BTreeMap<u64, Incomplete>,
    /// Arrival of the first part and number of each packet, in this order. Completed
    /// packets are skipped.
    by_age: VecDeque<(Instant, u64)>,
    buffered_bytes: u64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Incomplete {
    since: Instant,
    payload_bytes: u16,
    buffered_bytes: u64,
}

impl Reassembly {
    /// Handles a part of packet number `id`; each part arrives at most once. A part that
    /// arrives after its packet has expired starts a packet that is never completed, as
    /// in IP.
    pub fn handle_part(&mut self, now: Instant, id: u64, part: &Packet) -> Reassembled {
        self.expire(now);
        let is_new = !self.incomplete.contains_key(&id);
        if is_new && self.buffered_bytes > REASSEMBLY_BYTES_MAX {
            return Reassembled::Refused;
        }
        let entry = self.incomplete.entry(id).or_insert(Incomplete {
            since: now,
            payload_bytes: 0,
            buffered_bytes: 0,
        });
        let buffered = u64::from(part.bytes) + BUFFER_OVERHEAD_BYTES;
        entry.payload_bytes += part.bytes - IPV4_HEADER_BYTES;
        entry.buffered_bytes += buffered;
        self.buffered_bytes += buffered;
        if entry.payload_bytes == part.fragment.whole_bytes() - IPV4_HEADER_BYTES {
            self.buffered_bytes -= entry.buffered_bytes;
            self.incomplete.remove(&id);
            return Reassembled::Complete;
        }
        if is_new {
            self.by_age.push_back((now, id));
            if self.by_age.len() > 2 * self.incomplete.len() + SKIPPED_MAX {
                let incomplete = &self.incomplete;
                self.by_age.retain(|(_, id)| incomplete.contains_key(id));
            }
        }
        Reassembled::Kept
    }

    /// Discards packets whose first part arrived [`REASSEMBLY_TIME`] ago.
    fn expire(&mut self, now: Instant) {
        while let Some(&(since, id)) = self.by_age.front() {
            let waits = self.incomplete.get(&id).is_some_and(|entry| entry.since == since);
            if waits && since + REASSEMBLY_TIME > now {
                return;
            }
            self.by_age.pop_front();
            if waits && let Some(entry) = self.incomplete.remove(&id) {
                self.buffered_bytes -= entry.buffered_bytes;
            }
        }
    }
}

#[cfg(test)]
mod tests;

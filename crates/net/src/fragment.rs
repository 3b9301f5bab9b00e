//! IPv4 fragmentation and reassembly without bytes (RFC 791, section 3.2): how a
//! packet that is longer than an MTU is cut, and what its receiver keeps until
//! all parts are there.
//!
//! Lengths are those of network-layer packets, each part with a header of 20
//! bytes of its own; header options are left out, and so are overlapping and
//! repeated parts: the network makes none. Time and memory that a receiver
//! spends on incomplete packets are bounded as in Linux.

use alloc::collections::{BTreeMap, VecDeque};
use lasthop_packet::{Fragment, Packet};
use lasthop_units::{Duration, Instant};

/// IPv4 header without options (RFC 791, section 3.1).
pub const IPV4_HEADER_BYTES: u16 = 20;

/// Every link carries packets of this length whole (RFC 791, section 3.2): a
/// header with all options, and one unit of payload.
pub const MTU_BYTES_MIN: u16 = 68;

/// Payloads of all parts but the last are multiples of this.
const UNIT_BYTES: u16 = 8;

/// How long a receiver waits for the rest (Linux: `net.ipv4.ipfrag_time`).
pub const REASSEMBLY_TIME: Duration = Duration::from_secs(30);

/// What a receiver keeps for incomplete packets before it refuses parts of
/// further ones (Linux: `net.ipv4.ipfrag_high_thresh`).
pub const REASSEMBLY_BYTES_MAX: u64 = 4 << 20;

/// What a kept part takes beside its own bytes: Linux counts `struct sk_buff`
/// and `struct skb_shared_info` too (`SKB_TRUESIZE` on 64-bit machines).
const BUFFER_OVERHEAD_BYTES: u64 = 576;

/// Completed packets that may stay in the order by age, beside as many as wait.
const SKIPPED_MAX: usize = 64;

/// Payload that a link of that MTU, at least [`MTU_BYTES_MIN`], has room for:
/// in the last part, and in the others.
const fn payload_bytes(mtu: u16) -> (u16, u16) {
    let last = mtu - IPV4_HEADER_BYTES;
    (last, last / UNIT_BYTES * UNIT_BYTES)
}

/// How many packets cross a link of that MTU for one of `bytes`.
pub const fn count(bytes: u16, mtu: u16) -> u32 {
    if bytes <= mtu {
        return 1;
    }
    let (last, others) = payload_bytes(mtu);
    1 + (bytes - IPV4_HEADER_BYTES - last).div_ceil(others) as u32
}

/// The parts of `packet`, in order, for a link of that MTU; a part can be cut
/// again. It must be longer than the MTU, and the MTU at least [`MTU_BYTES_MIN`].
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
            // The sender has let go of a packet once it has of its last part.
            notify: packet.notify && is_last,
            ..packet
        }
    })
}

/// What became of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reassembled {
    /// Others are missing.
    Kept,
    /// All are there.
    Complete,
    /// No room, or it came too late.
    Refused,
}

/// A receiver's incomplete packets.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Reassembly {
    /// By the number that the network gave a packet when it was cut.
    incomplete: BTreeMap<u64, Incomplete>,
    /// The same in the order in which their first parts came; those that were
    /// completed are skipped.
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
    /// A part of packet number `id` came; each comes at most once. One that
    /// came too late begins a packet that is never completed, as it does in IP.
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

    /// Gives up what has waited too long.
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

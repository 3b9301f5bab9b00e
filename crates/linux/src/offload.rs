//! Packets that a TUN device passes together: `struct virtio_net_hdr` (virtio 1.2, 5.1.6; 10
//! bytes in the byte order of the host) before an IP packet whose checksum may be incomplete,
//! and which may be many segments of TCP or UDP under one header.
//!
//! | module | contents |
//! |---|---|
//! | `segment` | one such packet into packets of at most the MTU |
//! | `coalesce` | consecutive segments of a flow into such a packet |
//!
//! Pure: no I/O. A packet that was coalesced is segmented into the same bytes. Leaves out
//! cutting long UDP datagrams into fragments (UFO), and tunnels inside.

mod coalesce;
mod segment;
#[cfg(test)]
mod tests;

use lasthop_packet::ip::protocol::{TCP, UDP};
use lasthop_packet::ip::{IPV4_BYTES, IPV6_BYTES};
use lasthop_packet::transport::tcp::{self, Flags};
use lasthop_packet::transport::udp;

pub use coalesce::{Coalescer, Kinds};
pub use segment::segment;

/// Length of the header in bytes.
pub const HEADER_BYTES: usize = 10;
/// Largest length of the packet after it, in bytes (the length of IPv4 has 16 bits, RFC 791).
pub const PACKET_BYTES_MAX: usize = 65_535;

/// Flag of an incomplete checksum, `VIRTIO_NET_HDR_F_NEEDS_CSUM`.
const NEEDS_CHECKSUM: u8 = 1;
/// Kinds of segments, `VIRTIO_NET_HDR_GSO_*`.
const GSO_NONE: u8 = 0;
const GSO_TCP4: u8 = 1;
const GSO_TCP6: u8 = 4;
const GSO_UDP: u8 = 5;
/// A flag beside them: the first segment has CWR set.
const GSO_ECN: u8 = 0x80;

/// Why bytes that were read are not a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OffloadError {
    /// The packet ends within a header.
    #[error("{bytes} bytes, but the headers have {needed}")]
    Short {
        /// Bytes present.
        bytes: usize,
        /// Bytes of the headers.
        needed: usize,
    },
    /// The packet has segments of a kind that was not offered to the kernel.
    #[error(
        "segments of kind {0:#04x}, but only 1 (TCP, IPv4), 4 (TCP, IPv6) and 5 (UDP) are known"
    )]
    Kind(u8),
    /// The packet is not of the kind that the header says.
    #[error("the packet is not of the kind that its header says")]
    Mismatch,
    /// The packet's segments have no data.
    #[error("segments of 0 bytes")]
    Empty,
}

/// The C structure `struct virtio_net_hdr`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct OffloadHeader {
    flags: u8,
    kind: u8,
    header_bytes: u16,
    segment_bytes: u16,
    checksum_start: u16,
    checksum_offset: u16,
}

impl OffloadHeader {
    /// Reads the header at the beginning of `bytes`.
    fn parse(bytes: &[u8]) -> Result<Self, OffloadError> {
        let short = OffloadError::Short { bytes: bytes.len(), needed: HEADER_BYTES };
        let bytes: &[u8; HEADER_BYTES] = bytes.first_chunk().ok_or(short)?;
        let word = |at: usize| u16::from_ne_bytes([bytes[at], bytes[at + 1]]);
        Ok(Self {
            flags: bytes[0],
            kind: bytes[1],
            header_bytes: word(2),
            segment_bytes: word(4),
            checksum_start: word(6),
            checksum_offset: word(8),
        })
    }

    fn emit(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        (bytes[0], bytes[1]) = (self.flags, self.kind);
        let words =
            [self.header_bytes, self.segment_bytes, self.checksum_start, self.checksum_offset];
        for (to, word) in bytes[2..].chunks_exact_mut(2).zip(words) {
            to.copy_from_slice(&word.to_ne_bytes());
        }
        bytes
    }
}

/// Returns two bytes of headers as a big-endian number; panics beyond their end.
fn word(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

/// Returns four bytes of headers as a big-endian number; panics beyond their end.
fn long(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

fn put(bytes: &mut [u8], at: usize, value: &[u8]) {
    bytes[at..at + value.len()].copy_from_slice(value);
}

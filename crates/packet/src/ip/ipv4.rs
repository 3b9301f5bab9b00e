//! IPv4's header as values ([RFC 791](https://www.rfc-editor.org/rfc/rfc791), section 3.1).

use super::{Ecn, IPV4_BYTES, checksum};

/// An IPv4 header without options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ipv4 {
    /// Differentiated services code point, 0 to 63.
    pub dscp: u8,
    /// The ECN field.
    pub ecn: Ecn,
    /// Length of the packet, header included.
    pub total_bytes: u16,
    /// Identification: what parts of a packet have in common.
    pub identification: u16,
    /// The flags DF and MF, and the offset in units of eight bytes.
    pub fragment_bits: u16,
    /// Time to live.
    pub time_to_live: u8,
    /// Protocol above IP.
    pub protocol: u8,
    /// Source address.
    pub source: [u8; 4],
    /// Destination address.
    pub destination: [u8; 4],
}

impl Ipv4 {
    /// The flag DF among [`fragment_bits`](Self::fragment_bits).
    pub const DONT_FRAGMENT: u16 = 1 << 14;

    /// The header as bytes, with its checksum.
    pub fn to_bytes(self) -> [u8; IPV4_BYTES] {
        let mut bytes = [0; IPV4_BYTES];
        bytes[0] = 0x45;
        bytes[1] = self.dscp << 2 | self.ecn.bits();
        bytes[2..4].copy_from_slice(&self.total_bytes.to_be_bytes());
        bytes[4..6].copy_from_slice(&self.identification.to_be_bytes());
        bytes[6..8].copy_from_slice(&self.fragment_bits.to_be_bytes());
        bytes[8] = self.time_to_live;
        bytes[9] = self.protocol;
        bytes[12..16].copy_from_slice(&self.source);
        bytes[16..20].copy_from_slice(&self.destination);
        set_checksum(&mut bytes);
        bytes
    }
}

/// Writes the checksum of `header`, which is an IPv4 header with its options.
///
/// # Panics
/// If it is shorter than a header.
pub fn set_checksum(header: &mut [u8]) {
    header[10..12].fill(0);
    let sum = checksum::of_sum(checksum::sum(header));
    header[10..12].copy_from_slice(&sum.to_be_bytes());
}

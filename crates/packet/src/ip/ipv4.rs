//! The header of IPv4 as values ([RFC 791](https://www.rfc-editor.org/rfc/rfc791), section 3.1;
//! DSCP: RFC 2474; ECN: RFC 3168), and its bytes. Lengths are in bytes, fragment offsets in units
//! of eight bytes. Left out: options, and reading, which [`super::View`] does.

use super::{Ecn, IPV4_BYTES, checksum};

/// An IPv4 header without options.
///
/// ```
/// use lasthop_packet::ip::{Ecn, Ipv4, View, protocol};
///
/// let header = Ipv4 {
///     dscp: 46,
///     ecn: Ecn::Capable0,
///     total_bytes: 60,
///     identification: 7,
///     fragment_bits: Ipv4::DONT_FRAGMENT,
///     time_to_live: 64,
///     protocol: protocol::TCP,
///     source: [192, 0, 2, 1],
///     destination: [192, 0, 2, 2],
/// };
/// let bytes = header.to_bytes();
/// let view = View::new(&bytes).expect("a complete header");
/// assert_eq!((view.dscp(), view.ecn(), view.upper().0), (46, Ecn::Capable0, protocol::TCP));
/// assert_eq!(view.addresses()[1].to_string(), "192.0.2.2");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ipv4 {
    /// Differentiated services code point, 0 to 63 (RFC 2474).
    pub dscp: u8,
    /// The ECN field (RFC 3168).
    pub ecn: Ecn,
    /// Length of the packet in bytes, header included.
    pub total_bytes: u16,
    /// Identification: the same in all fragments of a packet.
    pub identification: u16,
    /// The flags DF and MF, and the fragment offset in units of eight bytes.
    pub fragment_bits: u16,
    /// Time to live, in hops.
    pub time_to_live: u8,
    /// Protocol number of the payload.
    pub protocol: u8,
    /// The source address, in network byte order.
    pub source: [u8; 4],
    /// The destination address, in network byte order.
    pub destination: [u8; 4],
}

impl Ipv4 {
    /// The flag DF (don't fragment) in [`fragment_bits`](Self::fragment_bits).
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

/// Computes and writes the checksum of `header`, which is an IPv4 header with its
/// options.
///
/// # Panics
/// Panics if `header` is shorter than a header.
pub fn set_checksum(header: &mut [u8]) {
    header[10..12].fill(0);
    let sum = checksum::of_sum(checksum::sum(header));
    header[10..12].copy_from_slice(&sum.to_be_bytes());
}

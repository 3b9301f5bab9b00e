//! The Internet checksum (RFC 1071): the ones' complement sum of the 16-bit words of a packet. Sums
//! are of words in network byte order, not inverted, modulo 2^16 - 1. Sums of parts can be added,
//! as long as only the last part has an odd number of bytes. Left out: the checksums of link
//! layers.

/// The sum of `bytes`; an odd last byte is the upper half of a word.
///
/// The sum uses the byte order of the host, four bytes at a time, and is swapped at the end (RFC
/// 1071, 2 (B)); otherwise a baseline x86-64 needs twice the time.
///
/// ```
/// use lasthop_packet::ip::checksum;
///
/// // The example of RFC 1071, section 3.
/// let bytes = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
/// assert_eq!(checksum::fold(checksum::sum(&bytes)), 0xddf2);
/// assert_eq!(checksum::of_sum(checksum::sum(&bytes)), 0x220d);
/// ```
#[inline]
pub fn sum(bytes: &[u8]) -> u64 {
    let (longs, rest) = bytes.as_chunks::<4>();
    let mut last = [0; 4];
    last[..rest.len()].copy_from_slice(rest);
    // A packet has less than 2^32 of these words, so the sum cannot overflow.
    let sum: u64 = longs.iter().map(|&long| u64::from(u32::from_ne_bytes(long))).sum();
    let folded = fold(sum + u64::from(u32::from_ne_bytes(last)));
    u64::from(u16::from_be_bytes(folded.to_ne_bytes()))
}

/// Reduces a sum to 16 bits by adding its carries.
#[inline]
pub const fn fold(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

/// The checksum of a header whose other words have the sum `sum`.
#[inline]
pub const fn of_sum(sum: u64) -> u16 {
    !fold(sum)
}

/// The checksum of a header after one of its words changed (RFC 1624, equation 3).
///
/// ```
/// use lasthop_packet::ip::checksum;
///
/// // The example of RFC 1624, section 4.
/// assert_eq!(checksum::updated(0xdd2f, 0x5555, 0x3285), 0x0000);
/// ```
pub fn updated(checksum: u16, before: u16, after: u16) -> u16 {
    of_sum(u64::from(!checksum) + u64::from(!before) + u64::from(after))
}

/// The sum of the pseudo-header of TCP or UDP (RFC 9293, 3.1; RFC 8200, 8.1).
/// `addresses`: source and destination as in the IP header; `bytes`: length of the
/// transport header and payload.
///
/// ```
/// use lasthop_packet::ip::{checksum, protocol};
///
/// let addresses = [192, 0, 2, 1, 192, 0, 2, 2];
/// let mut datagram = [0x30, 0x39, 0, 53, 0, 9, 0, 0, b'?'];
/// let pseudo = checksum::pseudo_header(&addresses, protocol::UDP, datagram.len());
/// let sum = checksum::of_sum(pseudo + checksum::sum(&datagram));
/// datagram[6..8].copy_from_slice(&sum.to_be_bytes());
/// // The receiver's sum over everything is 0xffff.
/// assert_eq!(checksum::fold(pseudo + checksum::sum(&datagram)), 0xffff);
/// ```
#[inline]
pub fn pseudo_header(addresses: &[u8], protocol: u8, bytes: usize) -> u64 {
    sum(addresses) + u64::from(protocol) + bytes as u64
}

//! The Internet checksum (RFC 1071): the ones' complement sum of the 16-bit words of a packet. Sums
//! are of words in network byte order, not inverted, modulo 2^16 - 1. Sums of parts can be added,
//! as long as only the last part has an odd number of bytes. Left out: the checksums of link
//! layers.

/// The sum of `bytes`; an odd last byte is the upper half of a word.
///
/// The sum uses the byte order of the host, four bytes at a time, and is swapped at the end (RFC
/// 1071, 2 (B)); otherwise a baseline x86-64 needs twice the time.
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
pub fn updated(checksum: u16, before: u16, after: u16) -> u16 {
    of_sum(u64::from(!checksum) + u64::from(!before) + u64::from(after))
}

/// The sum of the pseudo-header of TCP or UDP (RFC 9293, 3.1; RFC 8200, 8.1).
/// `addresses`: source and destination as in the IP header; `bytes`: length of the
/// transport header and payload.
#[inline]
pub fn pseudo_header(addresses: &[u8], protocol: u8, bytes: usize) -> u64 {
    sum(addresses) + u64::from(protocol) + bytes as u64
}

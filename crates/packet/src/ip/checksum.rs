//! The Internet checksum (RFC 1071): the 16-bit words of a packet added in ones' complement.
//! Sums here are of the words as the network has them, not inverted, modulo 2^16 - 1; sums of
//! parts add up, as long as only the last part has an odd number of bytes.

/// What `bytes` add up to; a last byte is the upper half of a word.
///
/// The sum is taken in the byte order of the host, four bytes at a time, and turned
/// afterwards (RFC 1071, 2 (B)): without that a baseline x86-64 adds half as fast.
#[inline]
pub fn sum(bytes: &[u8]) -> u64 {
    let (longs, rest) = bytes.as_chunks::<4>();
    let mut last = [0; 4];
    last[..rest.len()].copy_from_slice(rest);
    // A packet has less than 2^32 of them.
    let sum: u64 = longs.iter().map(|&long| u64::from(u32::from_ne_bytes(long))).sum();
    let folded = fold(sum + u64::from(u32::from_ne_bytes(last)));
    u64::from(u16::from_be_bytes(folded.to_ne_bytes()))
}

/// A sum in 16 bits, its carries added.
#[inline]
pub const fn fold(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

/// The checksum of a header whose other words add up to `sum`.
#[inline]
pub const fn of_sum(sum: u64) -> u16 {
    !fold(sum)
}

/// A header's checksum after one of its words changed (RFC 1624, equation 3).
pub fn updated(checksum: u16, before: u16, after: u16) -> u16 {
    of_sum(u64::from(!checksum) + u64::from(!before) + u64::from(after))
}

/// What the pseudo-header of TCP or UDP adds (RFC 9293, 3.1; RFC 8200, 8.1): `addresses` are
/// source and destination as the IP header has them, `bytes` the length of what is behind it.
#[inline]
pub fn pseudo_header(addresses: &[u8], protocol: u8, bytes: usize) -> u64 {
    sum(addresses) + u64::from(protocol) + bytes as u64
}

//! The Internet checksum (RFC 1071): the 16-bit words of a packet added in ones' complement.
//! Sums here are of the words as the network has them, not inverted, modulo 2^16 - 1.

/// What `bytes` add up to; a last byte is the upper half of a word.
///
/// The sum is taken in the byte order of the host, four bytes at a time, and turned
/// afterwards (RFC 1071, 2 (B)): without that a baseline x86-64 adds half as fast.
pub(super) fn sum(bytes: &[u8]) -> u64 {
    let (longs, rest) = bytes.as_chunks::<4>();
    let mut last = [0; 4];
    last[..rest.len()].copy_from_slice(rest);
    // A packet has less than 2^32 of them.
    let sum: u64 = longs.iter().map(|&long| u64::from(u32::from_ne_bytes(long))).sum();
    let folded = fold(sum + u64::from(u32::from_ne_bytes(last)));
    u64::from(u16::from_be_bytes(folded.to_ne_bytes()))
}

/// A sum in 16 bits.
pub(super) fn fold(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

/// What the pseudo-header of TCP or UDP adds (RFC 9293, 3.1; RFC 8200, 8.1): `addresses` are
/// source and destination as the IP header has them.
pub(super) fn pseudo(addresses: &[u8], protocol: u8, length: usize) -> u64 {
    sum(addresses) + u64::from(protocol) + length as u64
}

//! Headers of TCP, UDP and ICMP as bytes, read in place. A view is made only of a complete fixed
//! header; reading never panics, and a truncated header gives `None`. [`ip::View::upper`] returns
//! the bytes to read. Left out: checks of checksums and lengths, and extended headers.
//!
//! ```
//! use lasthop_packet::transport::udp;
//!
//! let datagram = [0x30, 0x39, 0, 53, 0, 9, 0, 0, b'?'];
//! let view = udp::View::new(&datagram).expect("eight bytes are a whole header");
//! assert_eq!(view.ports(), [12_345, 53]);
//! assert_eq!(view.payload(), b"?");
//! ```
//!
//! [`ip::View::upper`]: crate::ip::View::upper

pub mod icmp;
pub mod tcp;
pub mod udp;

/// Returns source and destination port, with which the headers of TCP and UDP begin; `None` if they
/// are cut.
pub const fn ports(header: &[u8]) -> Option<[u16; 2]> {
    match header {
        [a, b, c, d, ..] => Some([u16::from_be_bytes([*a, *b]), u16::from_be_bytes([*c, *d])]),
        _ => None,
    }
}

/// Returns the array of bytes at an offset; `None` beyond the end.
const fn array<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    match bytes.split_at_checked(at) {
        Some((_, behind)) => match behind.first_chunk() {
            Some(array) => Some(*array),
            None => None,
        },
        None => None,
    }
}

/// Returns the big-endian number of two bytes at an offset; `None` beyond the end.
const fn word(bytes: &[u8], at: usize) -> Option<u16> {
    match array(bytes, at) {
        Some(array) => Some(u16::from_be_bytes(array)),
        None => None,
    }
}

#[cfg(test)]
mod tests;

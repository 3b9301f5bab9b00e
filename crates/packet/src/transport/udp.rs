//! The header of UDP (RFC 768).

use super::word;

/// Bytes of the header.
pub const HEADER_BYTES: usize = 8;

/// Offsets of fields in the header, in bytes, for programs that write them.
pub mod field {
    /// Length of header and payload.
    pub const LENGTH: usize = 4;
    /// Checksum; 0 means none.
    pub const CHECKSUM: usize = 6;
}

/// A datagram with a complete header.
///
/// ```
/// use lasthop_packet::transport::udp::View;
///
/// let datagram = [0x30, 0x39, 0, 53, 0, 9, 0, 0, b'?'];
/// let view = View::new(&datagram).expect("a complete header");
/// assert_eq!((view.ports(), view.length(), view.payload()), ([12_345, 53], 9, b"?".as_slice()));
/// assert_eq!(View::new(&datagram[..7]), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View<'a> {
    header: [u8; HEADER_BYTES],
    payload: &'a [u8],
}

impl<'a> View<'a> {
    /// Returns a view of a datagram, if its header is complete.
    pub const fn new(datagram: &'a [u8]) -> Option<Self> {
        match datagram.split_first_chunk() {
            Some((header, payload)) => Some(Self { header: *header, payload }),
            None => None,
        }
    }

    /// Source and destination port.
    pub const fn ports(self) -> [u16; 2] {
        let [a, b, c, d, ..] = self.header;
        [u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d])]
    }

    /// Length of header and payload by the header, in bytes; 0 for a jumbogram (RFC 2675).
    pub fn length(self) -> u16 {
        word(&self.header, field::LENGTH).unwrap_or_default()
    }

    /// Checksum; 0 means none.
    pub fn checksum(self) -> u16 {
        word(&self.header, field::CHECKSUM).unwrap_or_default()
    }

    /// All bytes behind the header, which may be fewer or more than its length says.
    pub const fn payload(self) -> &'a [u8] {
        self.payload
    }
}

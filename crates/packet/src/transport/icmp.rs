//! The header of ICMP (RFC 792) and of ICMPv6 (RFC 4443).

use crate::ip::protocol;

/// Bytes of the header.
pub const HEADER_BYTES: usize = 8;

/// Types of messages.
pub mod kind {
    /// Reply to an echo, in ICMP.
    pub const ECHO_REPLY: u8 = 0;
    /// Request for an echo, in ICMP.
    pub const ECHO_REQUEST: u8 = 8;
    /// Request for an echo, in ICMPv6.
    pub const ECHO_REQUEST_V6: u8 = 128;
    /// Reply to an echo, in ICMPv6.
    pub const ECHO_REPLY_V6: u8 = 129;
}

/// A message with a complete header.
///
/// ```
/// use lasthop_packet::ip::protocol;
/// use lasthop_packet::transport::icmp::{Echo, View};
///
/// let reply = View::new(&[0, 0, 0, 0, 0x12, 0x34, 0, 7]).expect("a complete header");
/// let echo = Echo { identifier: 0x1234, sequence: 7, is_reply: true };
/// assert_eq!(reply.echo(protocol::ICMP), Some(echo));
/// // In ICMPv6 the type 0 is not a reply.
/// assert_eq!(reply.echo(protocol::ICMPV6), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View<'a> {
    header: [u8; HEADER_BYTES],
    payload: &'a [u8],
}

/// Fields of an echo request or reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Echo {
    /// Identifier, which the reply repeats.
    pub identifier: u16,
    /// Sequence number, which the reply repeats.
    pub sequence: u16,
    /// Whether it is a reply.
    pub is_reply: bool,
}

impl<'a> View<'a> {
    /// Returns a view of a message, if its header is complete.
    pub const fn new(message: &'a [u8]) -> Option<Self> {
        match message.split_first_chunk() {
            Some((header, payload)) => Some(Self { header: *header, payload }),
            None => None,
        }
    }

    /// Type of the message.
    pub const fn kind(self) -> u8 {
        self.header[0]
    }

    /// Code of the message, within its type.
    pub const fn code(self) -> u8 {
        self.header[1]
    }

    /// Checksum.
    pub const fn checksum(self) -> u16 {
        u16::from_be_bytes([self.header[2], self.header[3]])
    }

    /// Fields of an echo; `None` for other messages. `protocol` is that of the IP header
    /// ([`protocol`]): the two versions number their messages differently.
    pub const fn echo(self, protocol: u8) -> Option<Echo> {
        let [kind, _, _, _, a, b, c, d] = self.header;
        let is_reply = match (protocol, kind) {
            (protocol::ICMP, kind::ECHO_REPLY) | (protocol::ICMPV6, kind::ECHO_REPLY_V6) => true,
            (protocol::ICMP, kind::ECHO_REQUEST) | (protocol::ICMPV6, kind::ECHO_REQUEST_V6) => {
                false
            }
            _ => return None,
        };
        let identifier = u16::from_be_bytes([a, b]);
        Some(Echo { identifier, sequence: u16::from_be_bytes([c, d]), is_reply })
    }

    /// All bytes behind the header.
    pub const fn payload(self) -> &'a [u8] {
        self.payload
    }
}

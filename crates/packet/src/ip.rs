//! IP headers as bytes, as far as queues and links need them: IPv4 (RFC 791), IPv6 (RFC 8200), ECN
//! (RFC 3168), the Internet checksum (RFC 1071, RFC 1624).
//!
//! [`View`] reads a packet in place; [`Ipv4`] is a header as values, for writing. Reading never
//! panics: a truncated packet or one of an unknown version gives `None`. Left out: options of IPv4,
//! which are skipped, and IPv6 extension headers except those that may precede a transport header.

pub mod checksum;
pub mod ipv4;
mod view;

pub use ipv4::Ipv4;
pub use view::{Flow, Version, View};

/// Bytes of an IPv4 header without options.
pub const IPV4_BYTES: usize = 20;
/// Bytes of an IPv6 header.
pub const IPV6_BYTES: usize = 40;

/// Protocol numbers (IANA).
pub mod protocol {
    /// ICMP (RFC 792).
    pub const ICMP: u8 = 1;
    /// TCP (RFC 9293).
    pub const TCP: u8 = 6;
    /// UDP (RFC 768).
    pub const UDP: u8 = 17;
    /// DCCP (RFC 4340).
    pub const DCCP: u8 = 33;
    /// ICMP for IPv6 (RFC 4443).
    pub const ICMPV6: u8 = 58;
    /// SCTP (RFC 9260).
    pub const SCTP: u8 = 132;
    /// UDP-Lite (RFC 3828).
    pub const UDP_LITE: u8 = 136;
    /// Experiments and testing (RFC 3692).
    pub const EXPERIMENT: u8 = 253;
}

/// The ECN field of a header (RFC 3168, section 5).
///
/// ```
/// use lasthop_packet::ip::Ecn;
///
/// assert_eq!(Ecn::from_bits(0b10), Ecn::Capable0);
/// assert!(Ecn::Capable1.is_capable() && !Ecn::NotCapable.is_capable());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ecn {
    /// Code 00: not ECN-capable (Not-ECT).
    NotCapable,
    /// Code 01: ECN-capable transport, ECT(1), which senders of L4S use (RFC 9331).
    Capable1,
    /// Code 10: ECN-capable, ECT(0), which all other senders use.
    Capable0,
    /// Code 11: marked by a queue on the path, CE.
    Congestion,
}

impl Ecn {
    /// The ECN field: the two lowest bits of IPv4's type of service or IPv6's
    /// traffic class.
    pub const fn from_bits(bits: u8) -> Self {
        match bits & 0b11 {
            0b00 => Self::NotCapable,
            0b01 => Self::Capable1,
            0b10 => Self::Capable0,
            _ => Self::Congestion,
        }
    }

    /// The value of the field, two bits.
    pub const fn bits(self) -> u8 {
        match self {
            Self::NotCapable => 0b00,
            Self::Capable1 => 0b01,
            Self::Capable0 => 0b10,
            Self::Congestion => 0b11,
        }
    }

    /// Whether queues may mark the packet.
    pub const fn is_capable(self) -> bool {
        !matches!(self, Self::NotCapable)
    }
}

/// Sets "congestion experienced" if the packet is ECN-capable, and updates IPv4's
/// checksum. Returns whether the packet is ECN-capable.
///
/// ```
/// use lasthop_packet::ip::{Ecn, View, checksum, mark_congestion};
///
/// // A header with ECT(0) and its checksum.
/// let mut packet = [
///     0x45, 0x02, 0, 20, 0, 0, 0x40, 0, 64, 17, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2,
/// ];
/// lasthop_packet::ip::ipv4::set_checksum(&mut packet);
/// assert!(mark_congestion(&mut packet));
/// assert_eq!(View::new(&packet).map(View::ecn), Some(Ecn::Congestion));
/// // A header with its own checksum has the sum 0xffff.
/// assert_eq!(checksum::fold(checksum::sum(&packet)), 0xffff);
/// ```
pub fn mark_congestion(packet: &mut [u8]) -> bool {
    let Some(view) = View::new(packet) else { return false };
    if !view.ecn().is_capable() {
        return false;
    }
    let bits = Ecn::Congestion.bits();
    match view.version() {
        Version::V4 => {
            let word = |packet: &[u8], at: usize| u16::from_be_bytes([packet[at], packet[at + 1]]);
            let before = word(packet, 0);
            packet[1] |= bits;
            let sum = checksum::updated(word(packet, 10), before, word(packet, 0));
            packet[10..12].copy_from_slice(&sum.to_be_bytes());
        }
        // The traffic class spans the first two bytes; its lowest bits are in the
        // second one.
        Version::V6 => packet[1] |= bits << 4,
    }
    true
}

#[cfg(test)]
mod tests;

//! IP headers as bytes, and what queues and links do with them: IPv4 (RFC 791), IPv6 (RFC
//! 8200), ECN (RFC 3168), the Internet checksum (RFC 1071, 1624).
//!
//! [`View`] reads a packet without copying; [`Ipv4`] is the header as sane values, to be
//! written. Reading never panics: what is cut short or of no known version is no packet, and
//! what a field cannot mean is left as it is. Left out: options of IPv4, which are skipped,
//! and IPv6's extension headers but for those that may stand before a transport header.

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
    /// ICMP.
    pub const ICMP: u8 = 1;
    /// TCP.
    pub const TCP: u8 = 6;
    /// UDP.
    pub const UDP: u8 = 17;
    /// DCCP.
    pub const DCCP: u8 = 33;
    /// ICMP for IPv6.
    pub const ICMPV6: u8 = 58;
    /// SCTP.
    pub const SCTP: u8 = 132;
    /// UDP-Lite.
    pub const UDP_LITE: u8 = 136;
    /// For experiments (RFC 3692).
    pub const EXPERIMENT: u8 = 253;
}

/// The ECN field of a header (RFC 3168, section 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ecn {
    /// 00: not capable.
    NotCapable,
    /// 01.
    Capable1,
    /// 10: what senders use.
    Capable0,
    /// 11: a queue on the way marked it.
    Congestion,
}

impl Ecn {
    /// The two last bits of IPv4's type of service and IPv6's traffic class.
    pub const fn from_bits(bits: u8) -> Self {
        match bits & 0b11 {
            0b00 => Self::NotCapable,
            0b01 => Self::Capable1,
            0b10 => Self::Capable0,
            _ => Self::Congestion,
        }
    }

    /// Two bits.
    pub const fn bits(self) -> u8 {
        match self {
            Self::NotCapable => 0b00,
            Self::Capable1 => 0b01,
            Self::Capable0 => 0b10,
            Self::Congestion => 0b11,
        }
    }

    /// Queues may mark it.
    pub const fn is_capable(self) -> bool {
        !matches!(self, Self::NotCapable)
    }
}

/// Marks "congestion experienced" if the packet is capable of it, repairs IPv4's checksum, and
/// says whether it was.
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
        // The traffic class spans the first two bytes; its last bits are here.
        Version::V6 => packet[1] |= bits << 4,
    }
    true
}

#[cfg(test)]
mod tests;

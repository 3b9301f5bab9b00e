//! Link-layer header types, as capture files number them.

use std::fmt;

/// Link-layer header types of a packet (the registry of LINKTYPE values).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LinkType {
    /// LINKTYPE 0 and 108: BSD's loopback, an address family and a packet.
    Loopback,
    /// LINKTYPE 1, an Ethernet frame.
    Ethernet,
    /// LINKTYPE 101, 12, 14, 228 and 229: an IPv4 or IPv6 packet.
    Ip,
    /// LINKTYPE 105: an MPDU of 802.11.
    Ieee80211,
    /// LINKTYPE 113: packets of Linux' interface `any`.
    LinuxSll,
    /// LINKTYPE 119: Prism, then an MPDU.
    Prism,
    /// LINKTYPE 127: radiotap, then an MPDU.
    Radiotap,
    /// LINKTYPE 163: AVS, then an MPDU.
    Avs,
    /// LINKTYPE 192: per-packet information, then most often an MPDU.
    Ppi,
    /// LINKTYPE 276: newer form of 113.
    LinuxSll2,
    /// An unsupported type.
    Other(u16),
}

impl LinkType {
    /// Returns the type with this number.
    pub const fn from_code(code: u16) -> Self {
        match code {
            0 | 108 => Self::Loopback,
            1 => Self::Ethernet,
            12 | 14 | 101 | 228 | 229 => Self::Ip,
            105 => Self::Ieee80211,
            113 => Self::LinuxSll,
            119 => Self::Prism,
            127 => Self::Radiotap,
            163 => Self::Avs,
            192 => Self::Ppi,
            276 => Self::LinuxSll2,
            other => Self::Other(other),
        }
    }

    /// Returns the number of the type.
    pub const fn code(self) -> u16 {
        match self {
            Self::Loopback => 0,
            Self::Ethernet => 1,
            Self::Ip => 101,
            Self::Ieee80211 => 105,
            Self::LinuxSll => 113,
            Self::Prism => 119,
            Self::Radiotap => 127,
            Self::Avs => 163,
            Self::Ppi => 192,
            Self::LinuxSll2 => 276,
            Self::Other(other) => other,
        }
    }

    /// Whether the type is supported.
    pub const fn is_supported(self) -> bool {
        !matches!(self, Self::Other(_))
    }

    /// Supported types, for messages.
    pub const SUPPORTED: &'static str = "802.11 (105), radiotap (127), Prism (119), AVS (163), \
        PPI (192), Ethernet (1), IP (101, 12, 14, 228, 229), Linux cooked (113, 276), \
        BSD loopback (0, 108)";
}

impl fmt::Display for LinkType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Loopback => f.write_str("BSD loopback"),
            Self::Ethernet => f.write_str("Ethernet"),
            Self::Ip => f.write_str("IP"),
            Self::Ieee80211 => f.write_str("802.11"),
            Self::LinuxSll => f.write_str("Linux cooked"),
            Self::Prism => f.write_str("Prism"),
            Self::Radiotap => f.write_str("radiotap"),
            Self::Avs => f.write_str("AVS"),
            Self::Ppi => f.write_str("PPI"),
            Self::LinuxSll2 => f.write_str("Linux cooked v2"),
            Self::Other(code) => write!(f, "link type {code}"),
        }
    }
}

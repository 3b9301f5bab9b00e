//! IEEE 802 48-bit MAC addresses (IEEE 802-2014): groups, broadcast, and text of
//! six hexadecimal octets separated by colons. Leaves out 64-bit addresses, and the
//! vendor part of an address.

use core::fmt;
use core::str::FromStr;

/// A 48-bit address in transmission order.
///
/// ```
/// use lasthop_units::MacAddr;
///
/// let address: MacAddr = "02:1a:00:00:00:07".parse()?;
/// assert_eq!(address, MacAddr::local(7));
/// assert!(!address.is_multicast() && MacAddr::BROADCAST.is_multicast());
/// assert!("02:1a:00:00:00".parse::<MacAddr>().is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct MacAddr(pub [u8; 6]);

impl MacAddr {
    /// The broadcast address `ff:ff:ff:ff:ff:ff`.
    pub const BROADCAST: Self = Self([0xff; 6]);

    /// A locally administered unicast address made from `index`; different indices
    /// give different addresses.
    pub const fn local(index: u32) -> Self {
        let b = index.to_be_bytes();
        Self([0x02, 0x1a, b[0], b[1], b[2], b[3]])
    }

    /// Whether the group bit is set (multicast or broadcast).
    pub const fn is_multicast(self) -> bool {
        self.0[0] & 1 == 1
    }

    /// Whether the address is the broadcast address.
    pub fn is_broadcast(self) -> bool {
        self == Self::BROADCAST
    }
}

/// The error for text that is not six hexadecimal octets separated by colons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParseMacAddrError;

impl fmt::Display for ParseMacAddrError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a MAC address is six hexadecimal octets such as 02:1a:00:00:00:01")
    }
}

impl core::error::Error for ParseMacAddrError {}

impl FromStr for MacAddr {
    type Err = ParseMacAddrError;
    fn from_str(s: &str) -> Result<Self, ParseMacAddrError> {
        let mut out = [0; 6];
        let mut parts = s.split(':');
        for octet in &mut out {
            let part = parts.next().ok_or(ParseMacAddrError)?;
            if part.len() != 2 {
                return Err(ParseMacAddrError);
            }
            *octet = u8::from_str_radix(part, 16).map_err(|_| ParseMacAddrError)?;
        }
        if parts.next().is_some() {
            return Err(ParseMacAddrError);
        }
        Ok(Self(out))
    }
}

impl fmt::Display for MacAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

impl fmt::Debug for MacAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    extern crate alloc;
    use alloc::string::ToString;

    #[test]
    fn text_round_trip() {
        let a = MacAddr::local(0x0102_0304);
        assert_eq!(a.to_string(), "02:1a:01:02:03:04");
        assert_eq!(a.to_string().parse(), Ok(a));
        assert!("02:1a:01:02:03".parse::<MacAddr>().is_err());
        assert!("02:1a:01:02:03:04:05".parse::<MacAddr>().is_err());
        assert!("02:1a:01:02:03:4".parse::<MacAddr>().is_err());
    }

    /// The group bit is the first on the air: groups are those of RFC 1112 (6.4), RFC 2464 (7)
    /// and of the spanning tree (802.1D); the others are addresses of stations.
    #[test]
    fn groups_are_told_from_stations() {
        let parse = |text: &str| text.parse::<MacAddr>().expect(text);
        for group in ["01:00:5e:00:00:fb", "33:33:00:00:00:01", "01:80:c2:00:00:00"] {
            assert!(parse(group).is_multicast() && !parse(group).is_broadcast(), "{group}");
        }
        for station in ["ac:de:48:01:01:01", "fe:ff:ff:ff:ff:ff", "00:00:00:00:00:00"] {
            assert!(!parse(station).is_multicast() && !parse(station).is_broadcast(), "{station}");
        }
        assert!(!MacAddr::local(u32::MAX).is_multicast());
        let all = parse("ff:ff:ff:ff:ff:ff");
        assert!(all.is_multicast() && all.is_broadcast());
        assert!(!parse("ff:ff:ff:ff:ff:fe").is_broadcast());
    }

    #[test]
    fn what_is_shown_is_what_is_meant() {
        assert_eq!(alloc::format!("{:?}", MacAddr::local(9)), "02:1a:00:00:00:09");
        let error = "02-1a".parse::<MacAddr>().expect_err("dashes are not colons");
        // The example in the message is one.
        let message = error.to_string();
        let example = message.split(' ').next_back().expect("a last word");
        assert_eq!(example.parse(), Ok(MacAddr::local(1)));
    }
}

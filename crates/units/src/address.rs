//! IEEE 802 48-bit MAC addresses.

use core::fmt;
use core::str::FromStr;

/// A 48-bit address in transmission order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct MacAddr(pub [u8; 6]);

impl MacAddr {
    /// `ff:ff:ff:ff:ff:ff`.
    pub const BROADCAST: Self = Self([0xff; 6]);

    /// A locally administered unicast address made from `index`; distinct for distinct indices.
    pub const fn local(index: u32) -> Self {
        let b = index.to_be_bytes();
        Self([0x02, 0x1a, b[0], b[1], b[2], b[3]])
    }

    /// Group bit set (multicast or broadcast).
    pub const fn is_multicast(self) -> bool {
        self.0[0] & 1 == 1
    }

    /// All ones.
    pub fn is_broadcast(self) -> bool {
        self == Self::BROADCAST
    }
}

/// Text that is not six hexadecimal octets separated by colons.
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

    #[test]
    fn local_addresses_are_unicast() {
        assert!(!MacAddr::local(u32::MAX).is_multicast());
        assert!(MacAddr::BROADCAST.is_multicast());
    }
}

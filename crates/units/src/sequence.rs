//! The 12-bit sequence number of 802.11 (IEEE 802.11-2020, 9.2.4.4.2): 0 to 4095,
//! modulo 4096, compared within half of that space. Leaves out fragment numbers.

use core::fmt;

/// A sequence number modulo 4096; the half of the space before it is older, the
/// rest newer.
///
/// ```
/// use lasthop_units::SeqNo12;
///
/// let last = SeqNo12::new(4095);
/// assert_eq!(last.next(), SeqNo12::new(0));
/// assert!(last.is_before(SeqNo12::new(3)));
/// assert_eq!(SeqNo12::new(3).distance_from(last), 4);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct SeqNo12(u16);

impl SeqNo12 {
    /// The number of sequence numbers.
    pub const MODULUS: u16 = 4096;

    /// The sequence number `n` modulo 4096.
    pub const fn new(n: u16) -> Self {
        Self(n & 0x0fff)
    }

    /// The value, 0 to 4095.
    pub const fn as_u16(self) -> u16 {
        self.0
    }

    /// The sequence number `n` after this one.
    #[must_use]
    pub const fn plus(self, n: u16) -> Self {
        Self(self.0.wrapping_add(n) & 0x0fff)
    }

    /// The sequence number `n` before this one.
    #[must_use]
    pub const fn minus(self, n: u16) -> Self {
        Self(self.0.wrapping_sub(n) & 0x0fff)
    }

    /// The next sequence number.
    #[must_use]
    pub const fn next(self) -> Self {
        self.plus(1)
    }

    /// Number of increments from `start` to `self`, 0 to 4095.
    pub const fn distance_from(self, start: Self) -> u16 {
        self.0.wrapping_sub(start.0) & 0x0fff
    }

    /// Whether `self` is older than `other`: in the half of the space before it.
    pub const fn is_before(self, other: Self) -> bool {
        let ahead = other.distance_from(self);
        ahead != 0 && ahead < 2048
    }
}

impl fmt::Display for SeqNo12 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Debug for SeqNo12 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn order_holds_within_half_the_space(start in 0u16..4096, ahead in 1u16..2048) {
            let a = SeqNo12::new(start);
            let b = a.plus(ahead);
            prop_assert!(a.is_before(b));
            prop_assert!(!b.is_before(a));
            prop_assert_eq!(b.distance_from(a), ahead);
            prop_assert_eq!(b.minus(ahead), a);
        }
    }

    /// Numbers are ordered as in RFC 1982 (3.2) with 12 bits: 4095 is before 0, and of two numbers
    /// half the space apart neither is before the other.
    #[test]
    fn numbers_wrap() {
        extern crate alloc;
        use alloc::format;
        let [first, last, middle] = [0, 4095, 2048].map(SeqNo12::new);
        assert_eq!(last.next(), first);
        assert!(last.is_before(first) && !first.is_before(last));
        assert_eq!(SeqNo12::new(SeqNo12::MODULUS + 7), SeqNo12::new(7));
        assert!(!first.is_before(middle) && !middle.is_before(first));
        assert!(first.is_before(SeqNo12::new(2047)) && SeqNo12::new(2049).is_before(first));
        assert!(!first.is_before(first));
        assert_eq!((last.as_u16(), first.distance_from(last)), (4095, 1));
        assert_eq!(last.distance_from(first), 4095);
        assert_eq!((format!("{last}"), format!("{last:>6?}")), ("4095".into(), "#4095".into()));
    }
}

//! The Sequence Control field (IEEE 802.11-2020, 9.2.4.4), which is also the
//! Block Ack Starting Sequence Control: fragment number in bits 0 to 3,
//! sequence number in bits 4 to 15.

use lasthop_units::SeqNo12;

/// Sequence number and fragment number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct SequenceControl {
    /// Sequence number of the MSDU, A-MSDU or MMPDU.
    pub sequence: SeqNo12,
    /// Fragment number, 0 to 15.
    pub fragment: u8,
}

impl SequenceControl {
    /// Returns the field of an unfragmented frame.
    pub const fn new(sequence: SeqNo12) -> Self {
        Self { sequence, fragment: 0 }
    }

    /// Reads the two octets, given as a little-endian number.
    #[inline]
    pub const fn from_bits(bits: u16) -> Self {
        Self { sequence: SeqNo12::new(bits >> 4), fragment: (bits & 15) as u8 }
    }

    /// Returns the two octets as a little-endian number.
    pub const fn bits(self) -> u16 {
        self.sequence.as_u16() << 4 | (self.fragment & 15) as u16
    }
}

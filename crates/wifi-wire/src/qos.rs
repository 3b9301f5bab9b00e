//! The QoS Control field (IEEE 802.11-2020, 9.2.4.5). The upper octet (TXOP
//! limit, queue size, mesh bits) depends on the sender and is kept as it is.

/// The QoS Control field.
///
/// ```
/// use lasthop_wifi_wire::{AckPolicy, QosControl};
///
/// let field = QosControl::from_bits(0x0065);
/// assert_eq!((field.tid, field.ack_policy), (5, AckPolicy::BlockAck));
/// assert_eq!(field.bits(), 0x0065);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct QosControl {
    /// Traffic identifier, 0 to 15.
    pub tid: u8,
    /// End of service period (bit 4), from an access point; in a station's frame the queue size
    /// follows in `upper`.
    pub end_of_service_period: bool,
    /// Kind of acknowledgement.
    pub ack_policy: AckPolicy,
    /// Whether the body is an A-MSDU.
    pub amsdu_present: bool,
    /// Bits 8 to 15.
    pub upper: u8,
}

/// The Ack Policy subfield (table 9-13).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum AckPolicy {
    /// Ack, or Block Ack directly after an A-MPDU.
    #[default]
    Normal,
    /// No acknowledgement is sent.
    NoAck,
    /// No explicit acknowledgement, or PSMP Ack.
    NoExplicitAck,
    /// Block Ack after a Block Ack Request.
    BlockAck,
}

impl QosControl {
    /// Returns the field of the two octets as a little-endian number.
    #[inline]
    pub const fn from_bits(bits: u16) -> Self {
        Self {
            tid: (bits & 15) as u8,
            end_of_service_period: bits & 1 << 4 != 0,
            ack_policy: match bits >> 5 & 3 {
                0 => AckPolicy::Normal,
                1 => AckPolicy::NoAck,
                2 => AckPolicy::NoExplicitAck,
                _ => AckPolicy::BlockAck,
            },
            amsdu_present: bits & 1 << 7 != 0,
            upper: (bits >> 8) as u8,
        }
    }

    /// The two octets as a little-endian number.
    pub const fn bits(self) -> u16 {
        (self.tid & 15) as u16
            | (self.end_of_service_period as u16) << 4
            | (self.ack_policy as u16) << 5
            | (self.amsdu_present as u16) << 7
            | (self.upper as u16) << 8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_survives() {
        for bits in 0..=u16::MAX {
            assert_eq!(QosControl::from_bits(bits).bits(), bits);
        }
    }
}

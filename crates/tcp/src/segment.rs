//! A TCP segment as it travels: the header's fields as values, and the length
//! of the payload. Layout on the wire: RFC 9293, 3.1; timestamps: RFC 7323;
//! selective acknowledgements: RFC 2018 and RFC 2883.

use lasthop_units::Instant;

/// Headers of a segment with payload: IPv4 (20), TCP (20), timestamps (12).
pub const HEADER_BYTES: u16 = 52;

/// A range of the stream that the receiver holds out of order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct SackBlock {
    /// First byte.
    pub start: u64,
    /// One beyond the last.
    pub end: u64,
}

/// A segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Segment {
    /// First byte of the payload (of SYN or FIN, if it has no payload).
    pub sequence: u64,
    /// Payload bytes.
    pub payload_bytes: u32,
    /// Opens the connection.
    pub syn: bool,
    /// Ends the sender's stream.
    pub fin: bool,
    /// Next byte expected; `None` in the first SYN.
    pub acknowledgement: Option<u64>,
    /// Bytes that the sender of this segment can take, scaled up.
    pub window_bytes: u32,
    /// When it was sent (TSval).
    pub sent: Instant,
    /// The peer's TSval that it echoes (TSecr).
    pub echoed: Option<Instant>,
    /// Most recent first, a duplicate (D-SACK, RFC 2883) before all others.
    pub sack: [SackBlock; 3],
    /// How many of `sack` are in use.
    pub sack_blocks: u8,
    /// Congestion experienced is echoed (ECE), RFC 3168.
    pub ecn_echo: bool,
    /// The sender has reduced its window (CWR), RFC 3168.
    pub window_reduced: bool,
}

impl Segment {
    /// Length of the network-layer packet: IPv4 and TCP headers, options, payload.
    pub fn packet_bytes(&self) -> u32 {
        // SACK: two bytes of padding, kind and length, eight a block. SYN: MSS,
        // SACK permitted and window scale beside the timestamps.
        let sack = if self.sack_blocks > 0 { 4 + 8 * u32::from(self.sack_blocks) } else { 0 };
        let syn = if self.syn { 8 } else { 0 };
        u32::from(HEADER_BYTES) + sack + syn + self.payload_bytes
    }

    /// One beyond the last byte of the stream that it takes.
    pub fn end(&self) -> u64 {
        self.sequence + u64::from(self.payload_bytes) + u64::from(self.syn) + u64::from(self.fin)
    }

    /// The SACK blocks in use.
    pub fn sack(&self) -> &[SackBlock] {
        &self.sack[..usize::from(self.sack_blocks)]
    }
}

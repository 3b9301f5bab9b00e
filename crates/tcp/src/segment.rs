//! A TCP segment: the fields of its header as values, and the length of its payload in bytes. The
//! layout on the wire is from RFC 9293, 3.1, timestamps from RFC 7323, selective acknowledgements
//! from RFC 2018 and RFC 2883, ECN from RFC 3168, whose codepoint is in the IP header. Left out:
//! ports, checksum, the urgent pointer, RST and PSH, and the options of the SYN, which
//! [`crate::wire`] writes.

use lasthop_units::Instant;

/// Headers of a segment with payload in bytes: IPv4 (20), TCP (20), timestamps
/// (12).
pub const HEADER_BYTES: u16 = 52;

/// A range of the stream that the receiver holds beyond the cumulative
/// acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct SackBlock {
    /// Offset of the first byte.
    pub start: u64,
    /// Offset of the byte after the last one.
    pub end: u64,
}

/// A TCP segment without its payload's bytes.
///
/// ```
/// use lasthop_tcp::Segment;
///
/// // A full segment is an Ethernet packet; SYN and FIN take a number of the stream each.
/// let data = Segment { sequence: 1, payload_bytes: 1448, ..Segment::default() };
/// assert_eq!((data.packet_bytes(), data.end()), (1500, 1449));
/// let last = Segment { fin: true, ..data };
/// assert_eq!((last.packet_bytes(), last.end()), (1500, 1450));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Segment {
    /// Offset of the first byte of the payload; without payload, that of SYN or FIN
    /// or of the next byte to send.
    pub sequence: u64,
    /// Length of the payload in bytes.
    pub payload_bytes: u32,
    /// SYN flag: opens the connection.
    pub syn: bool,
    /// FIN flag: ends the stream of the segment's sender.
    pub fin: bool,
    /// Cumulative acknowledgement: the next byte expected; `None` in the first SYN.
    pub acknowledgement: Option<u64>,
    /// Receive window of the segment's sender in bytes, already scaled.
    pub window_bytes: u32,
    /// Time of transmission (TSval).
    pub sent: Instant,
    /// The peer's TSval that is echoed (TSecr).
    pub echoed: Option<Instant>,
    /// SACK blocks, the most recent first; a duplicate (D-SACK, RFC 2883) precedes
    /// all others.
    pub sack: [SackBlock; 3],
    /// Number of blocks of `sack` in use: 0 to 3.
    pub sack_blocks: u8,
    /// ECE flag: echoes congestion (RFC 3168); in a SYN, support of ECN.
    pub ecn_echo: bool,
    /// CWR flag: the segment's sender has reduced its window (RFC 3168); in a SYN, support of ECN.
    pub window_reduced: bool,
    /// AE flag: in a SYN, support of accurate feedback; later the upper bit of the counter ACE, of
    /// which CWR and ECE are the lower ones (RFC 9768, 3.2).
    pub accurate_ecn: bool,
    /// Whether its packet is ECN-capable, so that queues may mark it: data that is sent for the
    /// first time over a connection with ECN (RFC 3168, 6.1.1 to 6.1.5), and everything after the
    /// SYN with accurate feedback, as in Linux.
    pub ecn_capable: bool,
    /// Whether an ECN-capable packet has ECT(1), the codepoint of L4S (RFC 9331), not ECT(0).
    pub ecn_l4s: bool,
}

impl Segment {
    /// Length of the IP packet in bytes: IPv4 and TCP headers, options, payload.
    pub fn packet_bytes(&self) -> u32 {
        // SACK: two bytes of padding, kind, length, and eight bytes per block. SYN:
        // MSS, SACK permitted and window scale in addition to the timestamps.
        let sack = if self.sack_blocks > 0 { 4 + 8 * u32::from(self.sack_blocks) } else { 0 };
        let syn = if self.syn { 8 } else { 0 };
        u32::from(HEADER_BYTES) + sack + syn + self.payload_bytes
    }

    /// Offset after the last byte of the stream that it occupies, SYN and FIN
    /// included.
    pub fn end(&self) -> u64 {
        self.sequence + u64::from(self.payload_bytes) + u64::from(self.syn) + u64::from(self.fin)
    }

    /// The SACK blocks in use.
    pub fn sack(&self) -> &[SackBlock] {
        &self.sack[..usize::from(self.sack_blocks)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 9293, 3.4: SYN and FIN take a number of the stream each. RFC 2018, 3: `8 n + 2` bytes
    /// for `n` blocks, and two to align them. A SYN has its segment size (4 bytes, RFC 9293, 3.2)
    /// and its window scale (3, RFC 7323, 2.2, and one to align it) in addition; the option that
    /// permits SACK replaces the alignment of the timestamps.
    #[test]
    fn syn_and_fin_are_part_of_the_stream() {
        let at = Segment { sequence: 1_000, ..Segment::default() };
        assert_eq!((at.end(), at.packet_bytes()), (1_000, 52));
        let data = Segment { payload_bytes: 300, ..at };
        assert_eq!((data.end(), data.packet_bytes()), (1_300, 352));
        for payload_bytes in [0, 300] {
            let data = Segment { payload_bytes, ..at };
            let end = 1_000 + u64::from(payload_bytes);
            assert_eq!(Segment { fin: true, ..data }.end(), end + 1);
            assert_eq!(Segment { syn: true, ..data }.end(), end + 1);
            assert_eq!(Segment { fin: true, ..data }.packet_bytes(), 52 + payload_bytes);
            assert_eq!(Segment { syn: true, ..data }.packet_bytes(), 60 + payload_bytes);
            for sack_blocks in 1..=3 {
                let bytes = 2 + 2 + 8 * u32::from(sack_blocks);
                let data = Segment { sack_blocks, ..data };
                assert_eq!(data.packet_bytes(), 52 + payload_bytes + bytes);
                assert_eq!(data.sack().len(), usize::from(sack_blocks));
            }
        }
    }
}

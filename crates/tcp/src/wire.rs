//! The header of a segment as bytes: RFC 9293, 3.1, with the options in the order in which Linux
//! writes them (maximum segment size, window scale: RFC 9293, RFC 7323; selective acknowledgements:
//! RFC 2018, RFC 2883). Positions in the stream become numbers modulo 2^32 that begin at an initial
//! one; timestamps are milliseconds. Left out: the checksum, which is 0 here because it covers
//! addresses and payload, and the urgent pointer.

use alloc::vec::Vec;
use lasthop_units::Instant;

use crate::{Config, SackBlock, Segment};

/// Length in bytes of a header without options.
const FIXED_BYTES: usize = 20;
/// Length in bytes of an IPv4 header, which [`Segment::packet_bytes`] counts.
const IPV4_BYTES: u32 = 20;
/// Length in bytes of the timestamps option, which the size of segments already includes.
const TIMESTAMPS_BYTES: u16 = 12;
/// Offset of the checksum in the header.
pub const CHECKSUM_AT: usize = 16;

/// Options that an endpoint announces in its SYN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Announced {
    /// Maximum segment size: payload and options of a segment in bytes (RFC 6691).
    pub segment_bytes: u16,
    /// Whether it supports selective acknowledgements.
    pub sack: bool,
    /// Window scale: later windows are in units of `2^window_shift` bytes.
    pub window_shift: u8,
}

impl Announced {
    /// Window scale of Linux for a receive buffer of at most 6 MiB (`tcp_rmem`), enough
    /// for windows of up to 8 MiB.
    pub const WINDOW_SHIFT: u8 = 7;
    /// The largest shift (RFC 7323, 2.3).
    const WINDOW_SHIFT_MAX: u8 = 14;

    /// Returns the options of an endpoint with this configuration, if its peer's segments are no
    /// longer than its own.
    pub fn from_config(config: &Config) -> Self {
        let window = config.receive_window.as_u64();
        let fits = |shift: &u8| window >> shift <= u64::from(u16::MAX);
        let shift = (Self::WINDOW_SHIFT..=Self::WINDOW_SHIFT_MAX).find(fits);
        Self {
            segment_bytes: config.segment_bytes.saturating_add(TIMESTAMPS_BYTES),
            sack: config.sack,
            window_shift: shift.unwrap_or(Self::WINDOW_SHIFT_MAX),
        }
    }
}

/// A segment, and the other values on which its header depends.
///
/// The SYN of an endpoint as bytes:
///
/// ```
/// use lasthop_tcp::wire::{Announced, Header};
/// use lasthop_tcp::{Config, Endpoint};
/// use lasthop_units::Instant;
///
/// let config = Config::default();
/// let mut client = Endpoint::new(&config);
/// client.connect(Instant::ZERO);
/// let syn = client.poll_transmit(Instant::ZERO).expect("it is due at once");
/// let announced = Announced { segment_bytes: 1460, sack: true, window_shift: 7 };
/// let header = Header { segment: &syn, announced, initial: [1000, 0], push: false };
/// let mut bytes = Vec::new();
/// header.emit([40_000, 80], &mut bytes);
/// // Ten words; the flag SYN; the maximum segment size of Ethernet, and SACK permitted.
/// assert_eq!((bytes.len(), bytes[12] >> 4, bytes[13]), (40, 10, 2));
/// assert_eq!(bytes[4..8], 1000u32.to_be_bytes());
/// assert_eq!(bytes[20..26], [2, 4, 0x05, 0xb4, 4, 2]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header<'a> {
    /// Fields and length of the segment.
    pub segment: &'a Segment,
    /// Options that the segment's sender announces, in a SYN, or has announced before.
    pub announced: Announced,
    /// The initial sequence numbers of the segment's sender and of its peer.
    pub initial: [u32; 2],
    /// PSH flag: no more data follows the payload for now.
    pub push: bool,
}

impl Header<'_> {
    /// Length of the header in bytes, options included: 20 to 60.
    pub fn header_bytes(&self) -> usize {
        (self.segment.packet_bytes() - self.segment.payload_bytes - IPV4_BYTES) as usize
    }

    /// Appends the header with these ports, source and destination; its checksum is 0.
    pub fn emit(&self, ports: [u16; 2], out: &mut Vec<u8>) {
        let Self { segment, announced, .. } = *self;
        let [own, peer] = self.initial;
        let start = out.len();
        let acknowledgement = segment.acknowledgement.map_or(0, |at| number(peer, at));
        // The window of a SYN is not scaled (RFC 7323, 2.2), nor is more than fits.
        let shift = if segment.syn { 0 } else { announced.window_shift };
        let window = u16::try_from(segment.window_bytes >> shift).unwrap_or(u16::MAX);
        out.extend(ports.map(u16::to_be_bytes).as_flattened());
        out.extend(number(own, segment.sequence).to_be_bytes());
        out.extend(acknowledgement.to_be_bytes());
        let accurate = u8::from(segment.accurate_ecn);
        out.extend([((self.header_bytes() / 4) as u8) << 4 | accurate, self.flags()]);
        out.extend(window.to_be_bytes());
        // Checksum and urgent pointer.
        out.extend([0; 4]);
        debug_assert_eq!(out.len() - start, FIXED_BYTES);
        if segment.syn {
            out.extend([MAXIMUM_SEGMENT_SIZE, 4]);
            out.extend(announced.segment_bytes.to_be_bytes());
        }
        // Without it Linux fills up what comes before the timestamps.
        out.extend(if segment.syn && announced.sack { [SACK_PERMITTED, 2] } else { [NOP; 2] });
        out.extend([TIMESTAMPS, 10]);
        out.extend(milliseconds(segment.sent).to_be_bytes());
        out.extend(segment.echoed.map_or(0, milliseconds).to_be_bytes());
        if segment.syn {
            out.extend([NOP, WINDOW_SCALE, 3, announced.window_shift]);
        }
        if segment.sack_blocks > 0 {
            out.extend([NOP, NOP, SACK, 2 + 8 * segment.sack_blocks]);
        }
        for &SackBlock { start, end } in segment.sack() {
            // They are ranges of the peer's stream.
            out.extend(number(peer, start).to_be_bytes());
            out.extend(number(peer, end).to_be_bytes());
        }
        debug_assert_eq!(out.len() - start, self.header_bytes());
    }

    fn flags(&self) -> u8 {
        let flags = [
            (self.segment.fin, 1),
            (self.segment.syn, 1 << 1),
            (self.push, 1 << 3),
            (self.segment.acknowledgement.is_some(), 1 << 4),
            (self.segment.ecn_echo, 1 << 6),
            (self.segment.window_reduced, 1 << 7),
        ];
        flags.iter().map(|&(is_set, bit)| if is_set { bit } else { 0_u8 }).sum()
    }
}

/// Kinds of options (IANA).
const NOP: u8 = 1;
const MAXIMUM_SEGMENT_SIZE: u8 = 2;
const WINDOW_SCALE: u8 = 3;
const SACK_PERMITTED: u8 = 4;
const SACK: u8 = 5;
const TIMESTAMPS: u8 = 8;

/// Sequence number of a byte of a stream that begins at `initial`, modulo 2^32.
fn number(initial: u32, offset: u64) -> u32 {
    initial.wrapping_add(offset as u32)
}

/// The instant in milliseconds, the unit of timestamps in Linux.
fn milliseconds(at: Instant) -> u32 {
    (at.as_nanos() / 1_000_000) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use etherparse::TcpOptionElement::{self, MaximumSegmentSize, Noop, Timestamp, WindowScale};
    use etherparse::TcpSlice;
    use lasthop_units::Bytes;
    use proptest::prelude::*;

    fn any_segment() -> impl Strategy<Value = Segment> {
        let flags = proptest::array::uniform5(any::<bool>());
        let times = (0..1_u64 << 55, proptest::option::of(0..1_u64 << 55));
        let sack = (proptest::array::uniform3(any::<[u64; 2]>()), 0..=3_u8);
        (any::<[u64; 2]>(), any::<[u32; 2]>(), any::<bool>(), flags, times, sack).prop_map(
            |([sequence, next], [payload, window_bytes], answers, flags, times, sack)| {
                let [syn, fin, ecn_echo, window_reduced, accurate_ecn] = flags;
                let (sent, echoed) = times;
                let (blocks, sack_blocks) = sack;
                Segment {
                    sequence,
                    payload_bytes: payload % 60_000,
                    syn,
                    fin: fin && !syn,
                    acknowledgement: answers.then_some(next),
                    window_bytes,
                    sent: Instant::from_nanos(sent),
                    echoed: echoed.map(Instant::from_nanos),
                    sack: blocks.map(|[start, end]| SackBlock { start, end }),
                    // Nothing but acknowledgements of SYNs arrives before them.
                    sack_blocks: if syn { 0 } else { sack_blocks },
                    ecn_echo,
                    window_reduced,
                    accurate_ecn,
                    ecn_capable: false,
                    ecn_l4s: false,
                }
            },
        )
    }

    proptest! {
        /// Another parser reads the same values, and the rest of the packet is as long as the
        /// payload.
        #[test]
        fn headers_are_read_as_they_were_written(
            segment in any_segment(),
            ports: [u16; 2],
            initial: [u32; 2],
            push: bool,
            sack: bool,
            segment_bytes: u16,
            window_shift in 0..=14_u8,
        ) {
            let announced = Announced { segment_bytes, sack, window_shift };
            let header = Header { segment: &segment, announced, initial, push };
            let mut bytes = Vec::new();
            header.emit(ports, &mut bytes);
            prop_assert_eq!(bytes.len(), header.header_bytes());
            let packet_bytes = segment.packet_bytes() as usize;
            bytes.resize(packet_bytes - IPV4_BYTES as usize, 0xa5);
            let theirs = TcpSlice::from_slice(&bytes).expect("it is a header");
            prop_assert_eq!(theirs.payload().len(), segment.payload_bytes as usize);
            prop_assert!(theirs.payload().iter().all(|&byte| byte == 0xa5));
            prop_assert_eq!([theirs.source_port(), theirs.destination_port()], ports);
            let [own, peer] = initial.map(u64::from);
            let on_wire = |initial: u64, at: u64| (u128::from(initial) + u128::from(at)) as u32;
            prop_assert_eq!(theirs.sequence_number(), on_wire(own, segment.sequence));
            let next = segment.acknowledgement.map_or(0, |at| on_wire(peer, at));
            prop_assert_eq!(theirs.acknowledgment_number(), next);
            prop_assert_eq!(
                [theirs.syn(), theirs.fin(), theirs.ack(), theirs.psh(), theirs.ece(), theirs.cwr()],
                [segment.syn, segment.fin, segment.acknowledgement.is_some(), push,
                    segment.ecn_echo, segment.window_reduced]
            );
            // AE is where NS was.
            prop_assert_eq!(theirs.ns(), segment.accurate_ecn);
            prop_assert!(!(theirs.rst() || theirs.urg()));
            prop_assert_eq!((theirs.checksum(), theirs.urgent_pointer()), (0, 0));
            let window = u32::from(theirs.window_size()) << if segment.syn { 0 } else { window_shift };
            // What a window says is never more than it is.
            prop_assert!(window <= segment.window_bytes);
            let read: Vec<_> = theirs.options_iterator().map(|option| option.expect("known")).collect();
            let stamp = |at: Instant| (at.as_nanos() / 1_000_000) as u32;
            let stamps = Timestamp(stamp(segment.sent), segment.echoed.map_or(0, stamp));
            let mut expected = match (segment.syn, sack) {
                (true, true) => vec![TcpOptionElement::SelectiveAcknowledgementPermitted],
                _ => vec![Noop, Noop],
            };
            expected.push(stamps);
            if segment.syn {
                expected.insert(0, MaximumSegmentSize(segment_bytes));
                expected.extend([Noop, WindowScale(window_shift)]);
            }
            let block = |block: &SackBlock| (on_wire(peer, block.start), on_wire(peer, block.end));
            if let [first, others @ ..] = segment.sack() {
                let mut rest = [None; 3];
                rest.iter_mut().zip(others).for_each(|(to, from)| *to = Some(block(from)));
                let sack = TcpOptionElement::SelectiveAcknowledgement(block(first), rest);
                expected.extend([Noop, Noop, sack]);
            }
            prop_assert_eq!(read, expected);
        }

        /// RFC 7323, 2.3: the shift is as large as the window needs, and not above 14.
        #[test]
        fn windows_fit(receive_window in 1..1_u64 << 31) {
            let config = Config { receive_window: Bytes::new(receive_window), ..Config::default() };
            let announced = Announced::from_config(&config);
            let shift = announced.window_shift;
            prop_assert!((7..=14).contains(&shift));
            prop_assert!(receive_window >> shift <= 65_535 || shift == 14);
            prop_assert!(shift == 7 || receive_window >> (shift - 1) > 65_535);
            prop_assert_eq!(announced.segment_bytes, 1_460);
        }
    }
}

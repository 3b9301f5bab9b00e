//! TCP acknowledgements without data that wait in a backlog, and when a later one makes an earlier
//! one useless: the acknowledgement number of the later one includes that of the earlier one (RFC
//! 9293, 3.10.7.4), and nothing else is lost with it.
//!
//! The rules are those of CAKE's `ack-filter`, which keeps two acknowledgements of a flow, and
//! stricter ones; a reason stands beside each. In addition to CAKE's, an acknowledgement stays that
//! repeats a number (RFC 5681, 3.2 counts it), has another IP header, options of IP or another
//! sequence number, reports a duplicate within another block (RFC 2883, 4.2.1), or belongs to a
//! connection with accurate ECN feedback (RFC 9768). The first one that waits stays, and the last
//! ones are replaced: the first has the earliest echo of a timestamp, from which the sender learns
//! whether a retransmission was spurious (RFC 3522). Leaves out data segments as later ones, which
//! CAKE accepts, and checksums.

#[cfg(test)]
mod tests;

use lasthop_packet::ip::protocol::TCP;
use lasthop_packet::ip::{Ecn, IPV4_BYTES, IPV6_BYTES, Version, View};
use lasthop_packet::transport::tcp::{self, Flags, HEADER_BYTES, Timestamps};

/// Number of acknowledgements of a flow that stay: CAKE's, so that a sender that grows by at most
/// two segments an acknowledgement (RFC 3465, 2.3) loses less.
const KEPT: usize = 2;

/// Length of the longest acknowledgement without data in bytes: IPv6, TCP with all options.
const BYTES_MAX: usize = IPV6_BYTES + 60;

/// Kinds of options.
mod option {
    pub const END: u8 = 0;
    pub const NO_OPERATION: u8 = 1;
    pub const SACK: u8 = 5;
    pub const TIMESTAMPS: u8 = 8;
}

/// The accurate ECN bit, beside the header length (RFC 9768, 3.1), and all bits there.
const ACCURATE: u8 = 1;
const RESERVED: u8 = 0x0f;

/// A TCP acknowledgement without data, read in place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct PureAck<'a> {
    traffic_class: u8,
    is_marked: bool,
    sequence: u32,
    number: u32,
    /// ECE, as of classic feedback (RFC 3168), which repeats it until it is answered.
    echoes: bool,
    /// Whether CWR or AE are set, which only accurate feedback does without data.
    is_accurate: bool,
    timestamps: Option<Timestamps>,
    /// Blocks of a SACK option, as on the wire.
    sack: &'a [u8],
}

/// A block of a SACK option (RFC 2018).
#[derive(Clone, Copy, Debug, PartialEq)]
struct SackBlock {
    start: u32,
    end: u32,
}

impl SackBlock {
    fn contains(self, other: Self) -> bool {
        !is_after(self.start, other.start) && !is_after(other.end, self.end)
    }
}

impl<'a> PureAck<'a> {
    /// Reads `packet`; `None` if it is no acknowledgement without data, or if any part of it is
    /// malformed or unknown.
    #[inline]
    pub(super) fn read(packet: &'a [u8]) -> Option<Self> {
        if packet.len() > BYTES_MAX { None } else { Self::read_short(packet) }
    }

    fn read_short(packet: &'a [u8]) -> Option<Self> {
        let view = View::new(packet)?;
        let word = |at: usize| usize::from(u16::from_be_bytes([packet[at], packet[at + 1]]));
        // No options of IP, no extension headers, no fragment, and the whole packet.
        let (is_plain, protocol, header_bytes) = match view.version() {
            Version::V4 => {
                let is_whole = word(2) == packet.len() && word(6) & 0x3fff == 0;
                (packet[0] == 0x45 && is_whole, packet[9], IPV4_BYTES)
            }
            Version::V6 => (word(4) + IPV6_BYTES == packet.len(), packet[6], IPV6_BYTES),
        };
        if !is_plain || protocol != TCP {
            return None;
        }
        let segment = &packet[header_bytes..];
        let tcp = tcp::View::new(segment)?;
        let reserved = segment[tcp::field::DATA_OFFSET] & RESERVED;
        let Flags(flags) = tcp.flags();
        let is_pure = tcp.header_bytes() >= HEADER_BYTES
            && tcp.header_bytes() == segment.len()
            && flags & !(Flags::ECE | Flags::CWR) == Flags::ACK
            && reserved & !ACCURATE == 0;
        if !is_pure {
            return None;
        }
        let mut ack = Self {
            traffic_class: view.traffic_class(),
            is_marked: view.ecn() == Ecn::Congestion,
            sequence: tcp.sequence(),
            number: tcp.acknowledges()?,
            echoes: flags & Flags::ECE != 0,
            is_accurate: flags & Flags::CWR != 0 || reserved & ACCURATE != 0,
            timestamps: None,
            sack: &[],
        };
        ack.read_options(tcp.options())?;
        Some(ack)
    }

    /// Reads the options; `None` if one is malformed, unknown, or there twice.
    fn read_options(&mut self, mut options: &'a [u8]) -> Option<()> {
        loop {
            match *options {
                [] | [option::END, ..] => return Some(()),
                [option::NO_OPERATION, ..] => options = &options[1..],
                [kind, length, ..] => {
                    let (option, rest) = options.split_at_checked(length.into())?;
                    match (kind, option.get(2..)?) {
                        (option::TIMESTAMPS, &[a, b, c, d, e, f, g, h])
                            if self.timestamps.is_none() =>
                        {
                            let value = u32::from_be_bytes([a, b, c, d]);
                            let echo = u32::from_be_bytes([e, f, g, h]);
                            self.timestamps = Some(Timestamps { value, echo });
                        }
                        (option::SACK, blocks)
                            if self.sack.is_empty() && blocks.len().is_multiple_of(8) =>
                        {
                            self.sack = blocks;
                        }
                        _ => return None,
                    }
                    options = rest;
                }
                [_] => return None,
            }
        }
    }

    fn blocks(&self) -> impl Iterator<Item = SackBlock> + Clone + use<'a> {
        self.sack.as_chunks().0.iter().map(|&[a, b, c, d, e, f, g, h]: &[u8; 8]| SackBlock {
            start: u32::from_be_bytes([a, b, c, d]),
            end: u32::from_be_bytes([e, f, g, h]),
        })
    }

    /// Whether nothing is lost without this one if `later`, of the same flow, arrives.
    fn is_superseded_by(&self, later: &Self) -> bool {
        // The same number is a duplicate or an update of the window, and an older one was overtaken.
        is_after(later.number, self.number)
            // A probe that keeps the connection alive has a sequence number below others.
            && later.sequence == self.sequence
            && later.traffic_class == self.traffic_class
            && !self.is_marked
            && later.echoes == self.echoes
            && !later.is_accurate
            && !self.is_accurate
            && self.has_older_times(later)
            && self.has_no_more_blocks(later)
    }

    /// Timestamps that are not newer than those of `later`, or none in both.
    fn has_older_times(&self, later: &Self) -> bool {
        match (self.timestamps, later.timestamps) {
            (None, None) => true,
            (Some(these), Some(others)) => {
                !is_after(these.value, others.value) && !is_after(these.echo, others.echo)
            }
            _ => false,
        }
    }

    /// Whether `later` has all SACK blocks, and none is the report of a duplicate: one below the
    /// acknowledgement number, or within another block.
    fn has_no_more_blocks(&self, later: &Self) -> bool {
        let is_duplicate = |at: usize, block: SackBlock| {
            let mut others = self.blocks().enumerate().filter(|&(other, _)| other != at);
            !is_after(block.end, block.start)
                || is_after(self.number, block.start)
                || others.any(|(_, other)| other.contains(block))
        };
        self.blocks().enumerate().all(|(at, block)| {
            !is_duplicate(at, block) && later.blocks().any(|other| other.contains(block))
        })
    }
}

/// Whether both are acknowledgements without data, and nothing is lost without `earlier` if `later`,
/// of the same flow, arrives.
pub(super) fn is_superseded(earlier: &[u8], later: &[u8]) -> bool {
    match (PureAck::read(earlier), PureAck::read(later)) {
        (Some(earlier), Some(later)) => earlier.is_superseded_by(&later),
        _ => false,
    }
}

/// The acknowledgements of a flow that entered a bucket last.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct AckRun {
    /// Hash of the flow.
    flow: u64,
    /// Number of acknowledgements in a row that entered the bucket and were not replaced.
    length: usize,
    /// Acknowledgement number of the last one.
    number: u32,
    /// Whether that acknowledged more than the one before.
    advances: bool,
    /// Whether the flow has accurate ECN feedback. An acknowledgement must not cover many more packets
    /// there: its sender assumes the most marks that a counter of three bits allows for them (RFC
    /// 9768, A.2.1). The counter begins with AE, but looks like classic feedback while it is 0 or 1.
    is_accurate: bool,
}

impl AckRun {
    /// Follows an acknowledgement of the flow with this hash that enters a bucket with `waiting`
    /// packets. Returns whether it may replace the last one of these, if that is superseded.
    pub(super) fn follow(&mut self, flow: u64, ack: &PureAck<'_>, waiting: usize) -> bool {
        let before = if self.flow == flow { *self } else { Self::default() };
        let is_known = before.flow == flow && before.length > 0;
        *self = Self {
            flow,
            length: before.length + 1,
            number: ack.number,
            advances: is_known && is_after(ack.number, before.number),
            is_accurate: before.is_accurate || ack.is_accurate,
        };
        before.length.min(waiting) >= KEPT && before.advances && !self.is_accurate
    }

    /// The last acknowledgement replaced the one before.
    pub(super) fn replace(&mut self) {
        self.length -= 1;
    }

    /// Another packet enters the bucket.
    pub(super) fn end(&mut self) {
        (self.length, self.advances) = (0, false);
    }
}

/// Whether the number `a` is after `b`, modulo 2^32 (RFC 9293, 3.4).
fn is_after(a: u32, b: u32) -> bool {
    (b.wrapping_sub(a) as i32) < 0
}

//! Header compression for TCP: the headers of a segment that follows from the
//! previous packet in its bucket are left out. After Van Jacobson (RFC 1144), but
//! all or nothing: a segment is sent short if every field that an outsider would
//! have to guess has its expected value, else whole.
//!
//! ```text
//! 1 (1 bit) | the length follows (1) | the identification is the last one (1)
//!   | acknowledgement number: unchanged, on by one step, two, half of one (2)
//!   | what follows of TOS or traffic class, flags, window (1 each), TSval, TSecr (2 each)
//!   | behind the data offset: reserved bits and AE (4)
//!   | length of all this (2), if it follows | TOS or traffic class (1) | flags (1)
//!   | window (2) | the last 1, 2 or 4 bytes of TSval | of TSecr | data
//! ```
//!
//! The first bit distinguishes a short record from a packet, which starts with its
//! version, 4 or 6. Expected are: IPv4 without options and not a fragment, or IPv6
//! without extension headers; no TCP options, or NOP, NOP, timestamps (as laid out
//! in RFC 7323, appendix A); the previous packet's addresses, ports, TTL or hop
//! limit, flow label and flags of IP; the next identification, or the same (Linux
//! counts per connection, others send 0: RFC 6864); the sequence number after the
//! previous packet's data; one of four acknowledgement numbers, where a step is the
//! distance of its last change; no urgent pointer; correct lengths and checksums.
//! Leaves out all other protocols and segments with other options: these are sent
//! whole.
//!
//! Fields are not compressed one by one: an observer of lengths, for whom someone forges segments
//! into the tunnel, would learn which bytes of a guess are right (as CRIME did with TLS). Here all
//! wrong guesses have the same length. A right guess needs both numbers at once, 62 bits, in
//! addition to ports and identification. The same holds in reverse, where the forged segment
//! becomes the previous one of its bucket and the flow's next segment is compared with it: that
//! segment is short only if the forged one leads to its sequence *and* its acknowledgement number.
//! UDP and ICMP have too few bits that cannot be guessed. TOS, flags, window and timestamps may
//! have any value. Unchanged ones are left out of a short segment, and only an attacker who guessed
//! both numbers can observe that. One thing remains visible: a packet of another flow in the
//! bucket, or a forged one of this flow, makes the next segment whole, and moves the next whole one
//! forward. An observer can see that two flows share a bucket, 8 bits under a secret key
//! ([`crate::backlog`]), as their common queue shows as well.
//!
//! The packets of a bucket are restored in their order. Every [`WHOLE_EVERY`]th one
//! is sent whole and does not depend on earlier ones, so that an end that misses
//! one recovers there.

use alloc::boxed::Box;
use alloc::vec::Vec;
use lasthop_packet::ip::protocol::TCP;
use lasthop_packet::ip::{IPV4_BYTES, IPV6_BYTES};
use lasthop_packet::transport::tcp::{HEADER_BYTES as TCP_BYTES, View, field};

/// Number of buckets of flows.
pub(crate) const BUCKETS: usize = 256;

/// The length that the IP header at the start of `bytes` states; `None` if there is
/// no IP header.
pub(crate) fn ip_length(bytes: &[u8]) -> Option<usize> {
    let word =
        |at: usize| Some(usize::from(u16::from_be_bytes([*bytes.get(at)?, *bytes.get(at + 1)?])));
    match bytes.first()? >> 4 {
        4 => word(2).filter(|&length| length >= 20),
        6 => Some(40 + word(4)?),
        _ => None,
    }
}

/// Whether `packet` is exactly one IP packet.
pub(crate) fn is_ip(packet: &[u8]) -> bool {
    let header = match packet.first().map(|first| first >> 4) {
        Some(4) => 20,
        Some(6) => 40,
        _ => return false,
    };
    packet.len() >= header && ip_length(packet) == Some(packet.len())
}

/// Packets of a bucket from one independent packet to the next.
const WHOLE_EVERY: u16 = 32;

/// Flags in the first word of a short record.
const IS_SHORT: u16 = 1 << 15;
const HAS_LENGTH: u16 = 1 << 14;
const SAME_IDENTIFICATION: u16 = 1 << 13;
const ACKNOWLEDGEMENT_SHIFT: u16 = 11;
const ACKNOWLEDGEMENTS: usize = 4;
/// Whether TOS, flags and window follow, and how many bytes of each timestamp
/// ([`TAILS`]).
const HAS_TOS: u16 = 1 << 10;
const HAS_FLAGS: u16 = 1 << 9;
const HAS_WINDOW: u16 = 1 << 8;
const TIMESTAMP_SHIFTS: [u16; 2] = [6, 4];
/// Number of trailing bytes of a timestamp that follow.
const TAILS: [usize; 4] = [0, 1, 2, 4];
/// Reserved bits and AE, which share their byte with the data offset (RFC 9768).
const BEHIND_OFFSET: u16 = 0x000f;

/// NOP, NOP, and the kind and length of timestamps (RFC 7323, 3.2 and appendix A).
const TIMESTAMPS: [u8; 4] = [1, 1, 8, 10];
const TIMESTAMPS_BYTES: usize = 12;
/// "Don't fragment": the only bit of IPv4's flags and offset that may be set.
const DONT_FRAGMENT: u16 = 0x4000;

const HEADERS_MAX: usize = IPV6_BYTES + TCP_BYTES + TIMESTAMPS_BYTES;
/// Bytes of TOS or traffic class, flags and window; with timestamps.
const SENT_BYTES: usize = 4;
const SENT_MAX: usize = SENT_BYTES + 8;

/// The previous packet of each bucket, as far as it is known.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Headers(Vec<Bucket>);

#[derive(Clone, Debug, Default, PartialEq)]
struct Bucket {
    /// Number of the next packet, if all packets since an independent one are
    /// known.
    next: Option<u16>,
    /// The previous packet, if the next one may be short.
    last: Option<Box<Last>>,
}

/// The previous segment of a bucket.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Last {
    layout: Layout,
    headers: [u8; HEADERS_MAX],
    data_bytes: usize,
    /// Distance of the last change of the acknowledgement number; 0 if it is not
    /// known.
    step: u32,
}

/// The position of fields in a segment that can be short.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Layout {
    is_ipv4: bool,
    has_timestamps: bool,
}

impl Headers {
    pub fn new() -> Self {
        Self(alloc::vec![Bucket::default(); BUCKETS])
    }

    /// Appends a packet to `out`, whole or short.
    pub fn shorten(&mut self, bucket: u8, number: u16, packet: &[u8], out: &mut Vec<u8>) {
        let bucket = &mut self.0[usize::from(bucket)];
        let last = bucket.last.as_ref().filter(|_| !is_independent(number));
        if last.and_then(|last| last.shorten(packet, out)).is_none() {
            out.extend(packet);
        }
        bucket.keep(number, packet);
    }

    /// The packet with this number was sent, or received, in pieces: the next one
    /// depends on it and on nothing before.
    pub fn begin_anew(&mut self, bucket: u8, number: u16, packet: &[u8]) {
        let bucket = &mut self.0[usize::from(bucket)];
        bucket.last = None;
        bucket.keep(number, packet);
    }

    /// Restores the packet of which [`Headers::shorten`] wrote `record`; `None` if
    /// the previous packet is not known, or if the record is not valid.
    pub fn restore(&mut self, bucket: u8, number: u16, record: &[u8]) -> Option<Vec<u8>> {
        let bucket = &mut self.0[usize::from(bucket)];
        let follows = bucket.next.take() == Some(number);
        let packet = if is_short(record) {
            bucket.last.as_ref().filter(|_| follows)?.restore(record)?
        } else {
            record.to_vec()
        };
        if !is_ip(&packet) {
            return None;
        }
        // In other cases the packet is known, but not the step.
        if follows || is_independent(number) {
            bucket.keep(number, &packet);
        }
        Some(packet)
    }
}

/// Whether the packet with this number is sent whole and independent of earlier
/// ones.
fn is_independent(number: u16) -> bool {
    number.is_multiple_of(WHOLE_EVERY)
}

/// Whether `record` starts with a short record.
pub(crate) fn is_short(record: &[u8]) -> bool {
    word(record, 0).is_some_and(|top| top & IS_SHORT != 0)
}

/// Length of the short record at the start of `bytes`.
pub(crate) fn short_length(bytes: &[u8]) -> Option<usize> {
    match word(bytes, 0)? & HAS_LENGTH {
        0 => Some(bytes.len()),
        _ => Some(usize::from(word(bytes, 2)?)).filter(|&length| length >= 4),
    }
}

/// Removes the length from the record at `start`, if it is short: it ends with the
/// symbol.
pub(crate) fn drop_length(records: &mut Vec<u8>, start: usize) {
    if is_short(&records[start..]) {
        records[start] &= !HAS_LENGTH.to_be_bytes()[0];
        records.drain(start + 2..start + 4);
    }
}

impl Bucket {
    /// Makes a packet the previous one.
    fn keep(&mut self, number: u16, packet: &[u8]) {
        self.next = Some(number.wrapping_add(1));
        let Some(layout) = Layout::from_packet(packet) else {
            self.last = None;
            return;
        };
        let (headers, data) = packet.split_at(layout.bytes());
        let step = match &self.last {
            Some(last) if !is_independent(number) => last.step_to(layout, headers),
            _ => 0,
        };
        let last = self.last.get_or_insert_with(|| Box::new(Last::EMPTY));
        last.layout = layout;
        last.headers[..headers.len()].copy_from_slice(headers);
        last.data_bytes = data.len();
        last.step = step;
    }
}

impl Last {
    const EMPTY: Self = Self {
        layout: Layout { is_ipv4: true, has_timestamps: false },
        headers: [0; HEADERS_MAX],
        data_bytes: 0,
        step: 0,
    };

    /// The acknowledgement numbers that the next segment may have.
    fn acknowledgements(&self) -> [u32; ACKNOWLEDGEMENTS] {
        let last = long(&self.headers, self.layout.tcp() + 8);
        let step = self.step;
        [0, step, step.wrapping_mul(2), step / 2].map(|steps| last.wrapping_add(steps))
    }

    /// The step after a segment with these headers. Only a segment with the
    /// expected sequence number defines it: otherwise a forged segment with only
    /// the right acknowledgement number would define a step together with the
    /// flow's next one, and make a later one short.
    fn step_to(&self, layout: Layout, headers: &[u8]) -> u32 {
        let addresses_and_ports = layout.addresses().start..layout.tcp() + 4;
        if self.layout != layout
            || self.headers[addresses_and_ports.clone()] != headers[addresses_and_ports]
            || long(headers, layout.tcp() + 4) != self.next_sequence()
        {
            return 0;
        }
        let at = layout.tcp() + 8;
        match long(headers, at).wrapping_sub(long(&self.headers, at)) {
            0 => self.step,
            moved => moved,
        }
    }

    /// The sequence number after the previous segment's data.
    fn next_sequence(&self) -> u32 {
        long(&self.headers, self.layout.tcp() + 4).wrapping_add(self.data_bytes as u32)
    }

    /// Appends a packet to `out` in its short form, if it is as expected.
    fn shorten(&self, packet: &[u8], out: &mut Vec<u8>) -> Option<()> {
        let layout = Layout::from_packet(packet).filter(|&layout| layout == self.layout)?;
        let (headers, data) = packet.split_at(layout.bytes());
        let tcp = layout.tcp();
        let mut top =
            IS_SHORT | HAS_LENGTH | u16::from(headers[tcp + field::DATA_OFFSET]) & BEHIND_OFFSET;
        if layout.is_ipv4 && headers[4..6] == self.headers[4..6] {
            top |= SAME_IDENTIFICATION;
        }
        let number = long(headers, tcp + field::ACKNOWLEDGEMENT);
        let choice = self.acknowledgements().iter().position(|&expected| expected == number)?;
        top |= (choice as u16) << ACKNOWLEDGEMENT_SHIFT;
        let sent = layout.sent(headers);
        let sent = &sent[..layout.sent_bytes()];
        let mut expected = self.next(top, sent, data.len());
        let expected = &mut expected[..headers.len()];
        // First without the checksums: verifying them takes all of the data.
        layout.set_checksums(expected, layout.checksums(headers));
        if expected != headers || layout.checksums(headers) != layout.right(expected, data) {
            return None;
        }
        let start = out.len();
        out.extend([0; 4]);
        let top = top | self.difference(sent, out);
        out.extend(data);
        let length = (out.len() - start) as u16;
        put(out, start, &top.to_be_bytes());
        put(out, start + 2, &length.to_be_bytes());
        Some(())
    }

    /// Appends the parts of `sent` that differ from the previous packet; returns
    /// the flags for them.
    fn difference(&self, sent: &[u8], out: &mut Vec<u8>) -> u16 {
        let last = self.layout.sent(&self.headers);
        let mut top = 0;
        for (bit, at) in [(HAS_TOS, 0..1), (HAS_FLAGS, 1..2), (HAS_WINDOW, 2..SENT_BYTES)] {
            if sent[at.clone()] != last[at.clone()] {
                top |= bit;
                out.extend(&sent[at]);
            }
        }
        let timestamps = sent[SENT_BYTES..].chunks_exact(4).zip(last[SENT_BYTES..].chunks_exact(4));
        for ((is, was), shift) in timestamps.zip(TIMESTAMP_SHIFTS) {
            let differs = is.iter().zip(was).position(|(is, was)| is != was).unwrap_or(4);
            let choice = TAILS.iter().position(|&tail| tail >= 4 - differs).unwrap_or(3);
            top |= (choice as u16) << shift;
            out.extend(&is[4 - TAILS[choice]..]);
        }
        top
    }

    /// The fields of the next packet, where they differ from the previous packet as
    /// `top` and the following bytes say; and the bytes after them.
    fn apply<'a>(&self, top: u16, mut rest: &'a [u8]) -> Option<([u8; SENT_MAX], &'a [u8])> {
        let mut sent = self.layout.sent(&self.headers);
        let mut take = |at: core::ops::Range<usize>, is_there: bool| {
            if is_there {
                let (bytes, behind) = rest.split_at_checked(at.len())?;
                sent[at].copy_from_slice(bytes);
                rest = behind;
            }
            Some(())
        };
        for (bit, at) in [(HAS_TOS, 0..1), (HAS_FLAGS, 1..2), (HAS_WINDOW, 2..SENT_BYTES)] {
            take(at, top & bit != 0)?;
        }
        for (index, shift) in TIMESTAMP_SHIFTS.into_iter().enumerate() {
            let end = SENT_BYTES + 4 * (index + 1);
            let tail = TAILS[usize::from(top >> shift) % TAILS.len()];
            take(end - tail..end, tail > 0)?;
        }
        Some((sent, rest))
    }

    /// The packet that `record` stands for.
    fn restore(&self, record: &[u8]) -> Option<Vec<u8>> {
        let top = word(record, 0)?;
        let begin = if top & HAS_LENGTH == 0 { 2 } else { 4 };
        let layout = self.layout;
        let (sent, data) = self.apply(top, record.get(begin..)?)?;
        let sent = &sent[..layout.sent_bytes()];
        let mut headers = self.next(top, sent, data.len());
        let headers = &mut headers[..layout.bytes()];
        layout.set_checksums(headers, layout.right(headers, data));
        let mut packet = Vec::with_capacity(headers.len() + data.len());
        packet.extend_from_slice(headers);
        packet.extend(data);
        Some(packet)
    }

    /// The headers of the next segment without checksums, if its record has the
    /// flags `top` and these fields.
    fn next(&self, top: u16, sent: &[u8], data_bytes: usize) -> [u8; HEADERS_MAX] {
        let layout = self.layout;
        let (tcp, bytes) = (layout.tcp(), layout.bytes() + data_bytes);
        let mut headers = self.headers;
        if layout.is_ipv4 {
            headers[1] = sent[0];
            put(&mut headers, 2, &(bytes as u16).to_be_bytes());
            let next = u16::from(top & SAME_IDENTIFICATION == 0);
            let last = u16::from_be_bytes([headers[4], headers[5]]);
            put(&mut headers, 4, &last.wrapping_add(next).to_be_bytes());
        } else {
            headers[0] = headers[0] & 0xf0 | sent[0] >> 4;
            headers[1] = headers[1] & 0x0f | sent[0] << 4;
            put(&mut headers, 4, &((bytes - IPV6_BYTES) as u16).to_be_bytes());
        }
        put(&mut headers, tcp + field::SEQUENCE, &self.next_sequence().to_be_bytes());
        let choice = usize::from(top >> ACKNOWLEDGEMENT_SHIFT) % ACKNOWLEDGEMENTS;
        put(
            &mut headers,
            tcp + field::ACKNOWLEDGEMENT,
            &self.acknowledgements()[choice].to_be_bytes(),
        );
        headers[tcp + field::DATA_OFFSET] =
            headers[tcp + field::DATA_OFFSET] & 0xf0 | (top & BEHIND_OFFSET) as u8;
        put(&mut headers, tcp + field::FLAGS, &sent[1..SENT_BYTES]);
        if layout.has_timestamps {
            put(&mut headers, tcp + TCP_BYTES + TIMESTAMPS.len(), &sent[SENT_BYTES..]);
        }
        headers
    }
}

impl Layout {
    /// Returns the layout of a whole packet if it is a TCP segment whose headers can be shortened,
    /// or can serve to shorten those of the next segment.
    fn from_packet(packet: &[u8]) -> Option<Self> {
        if !is_ip(packet) {
            return None;
        }
        let is_ipv4 = packet[0] == 0x45;
        let is_plain = if is_ipv4 {
            packet[9] == TCP && word(packet, 6)? & !DONT_FRAGMENT == 0
        } else {
            packet[0] >> 4 == 6 && packet[6] == TCP
        };
        let tcp = packet.get(if is_ipv4 { IPV4_BYTES } else { IPV6_BYTES }..)?;
        let view = View::new(tcp)?;
        let has_timestamps = view.header_bytes() == TCP_BYTES + TIMESTAMPS_BYTES;
        let has_options_known = if has_timestamps {
            view.options().starts_with(&TIMESTAMPS)
        } else {
            view.header_bytes() == TCP_BYTES
        };
        let is_urgent = view.urgent() != Some(0);
        (is_plain && has_options_known && !is_urgent).then_some(Self { is_ipv4, has_timestamps })
    }

    /// Offset of the TCP header.
    fn tcp(self) -> usize {
        if self.is_ipv4 { IPV4_BYTES } else { IPV6_BYTES }
    }

    fn addresses(self) -> core::ops::Range<usize> {
        if self.is_ipv4 { 12..IPV4_BYTES } else { 8..IPV6_BYTES }
    }

    /// Length of all headers.
    fn bytes(self) -> usize {
        self.tcp() + TCP_BYTES + if self.has_timestamps { TIMESTAMPS_BYTES } else { 0 }
    }

    /// Length of the fields that may have any value.
    fn sent_bytes(self) -> usize {
        if self.has_timestamps { SENT_MAX } else { SENT_BYTES }
    }

    /// The fields of these headers that may have any value.
    fn sent(self, headers: &[u8]) -> [u8; SENT_MAX] {
        let tcp = self.tcp();
        let mut sent = [0; SENT_MAX];
        sent[0] = if self.is_ipv4 { headers[1] } else { headers[0] << 4 | headers[1] >> 4 };
        put(&mut sent, 1, &headers[tcp + field::FLAGS..tcp + field::CHECKSUM]);
        if self.has_timestamps {
            let at = tcp + TCP_BYTES + TIMESTAMPS.len();
            put(&mut sent, SENT_BYTES, &headers[at..at + SENT_MAX - SENT_BYTES]);
        }
        sent
    }

    /// The checksums of IP, 0 if it has none, and of TCP.
    fn checksums(self, headers: &[u8]) -> [u16; 2] {
        let at = |at: usize| u16::from_be_bytes([headers[at], headers[at + 1]]);
        [if self.is_ipv4 { at(10) } else { 0 }, at(self.tcp() + field::CHECKSUM)]
    }

    fn set_checksums(self, headers: &mut [u8], [ip, tcp]: [u16; 2]) {
        if self.is_ipv4 {
            put(headers, 10, &ip.to_be_bytes());
        }
        put(headers, self.tcp() + field::CHECKSUM, &tcp.to_be_bytes());
    }

    /// The correct checksums (RFC 1071).
    fn right(self, headers: &[u8], data: &[u8]) -> [u16; 2] {
        let tcp = self.tcp();
        let ip = if self.is_ipv4 {
            checksum(sum(&headers[..10]) + sum(&headers[12..IPV4_BYTES]))
        } else {
            0
        };
        let length = headers.len() - tcp + data.len();
        let pseudo = sum(&headers[self.addresses()]) + u64::from(TCP) + length as u64;
        let header =
            sum(&headers[tcp..tcp + field::CHECKSUM]) + sum(&headers[tcp + field::URGENT..]);
        [ip, checksum(pseudo + header + sum(data))]
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes([*bytes.get(at)?, *bytes.get(at + 1)?]))
}

/// A number of four bytes in headers that are known to have it.
fn long(headers: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([headers[at], headers[at + 1], headers[at + 2], headers[at + 3]])
}

fn put(bytes: &mut [u8], at: usize, value: &[u8]) {
    bytes[at..at + value.len()].copy_from_slice(value);
}

/// A sum that equals that of the 16-bit words modulo 2^16 - 1, on which alone the checksum depends;
/// an odd last byte stands alone.
fn sum(bytes: &[u8]) -> u64 {
    let (longs, rest) = bytes.as_chunks::<4>();
    let mut last = [0; 4];
    last[..rest.len()].copy_from_slice(rest);
    let long = |&long: &[u8; 4]| u64::from(u32::from_be_bytes(long));
    longs.iter().map(long).sum::<u64>() + long(&last)
}

/// The Internet checksum of a sum (RFC 1071).
fn checksum(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

#[cfg(test)]
mod tests;

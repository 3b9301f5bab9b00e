//! Headers of a flow are much alike: what travels of one is how it differs from what the
//! packet before it in its bucket lets expect. After Van Jacobson (RFC 1144), but for any
//! protocol: the expectation may be wrong in every byte, and nothing is lost but room.
//!
//! ```text
//! 1 (1 bit) | the length follows (1 bit) | 0 (4 bits) | groups (10 bits)
//!   | length of all this (2), if it follows | for each group its bytes (1)
//!   | each byte that differs, xor what was expected | the packet behind its headers
//! ```
//!
//! A group is 8 bytes; bits count from the lowest. The first bit tells it from a packet,
//! which begins with its version, 4 or 6. What is expected: the bytes of the packet
//! before, lengths that are this packet's, the next identification (IPv4), the next
//! sequence number (TCP), and checksums that are right.
//!
//! A bucket's packets are restored in their order. Every [`WHOLE_EVERY`]th is sent whole,
//! so that an end that misses one goes on there.

use crate::order::BUCKETS;
use crate::symbol;
use alloc::boxed::Box;
use alloc::vec::Vec;

/// Of a bucket's packets, so many bytes at most are taken for headers: those of IPv6 and
/// TCP with timestamps, and 8 more.
const HEADERS_MAX: usize = 80;
const GROUP: usize = 8;
const GROUPS: u16 = (1 << (HEADERS_MAX / GROUP)) - 1;
/// Packets of a bucket from one that is whole to the next.
const WHOLE_EVERY: u16 = 32;

const IS_SHORT: u16 = 1 << 15;
const HAS_LENGTH: u16 = 1 << 14;

const IPV4_BYTES: usize = 20;
const IPV6_BYTES: usize = 40;
const TCP: u8 = 6;
const UDP: u8 = 17;

/// Each bucket's last packet.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Headers(Vec<Option<Box<Last>>>);

/// A bucket's last packet, its checksums as [`Layout::fold_checksums`] leaves them.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Last {
    number: u16,
    length: usize,
    layout: Layout,
    headers: [u8; HEADERS_MAX],
}

/// Where things are in a packet.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Layout {
    is_ipv4: bool,
    /// What is behind the IP header, if it is the beginning of a TCP or UDP packet.
    transport: Option<(u8, usize)>,
    /// Up to here there are headers.
    headers: usize,
}

impl Headers {
    pub fn new() -> Self {
        Self(alloc::vec![None; BUCKETS])
    }

    /// Writes a packet behind `out`, whole or short.
    pub fn shorten(&mut self, bucket: u8, number: u16, packet: &[u8], out: &mut Vec<u8>) {
        let last = &mut self.0[usize::from(bucket)];
        let start = out.len();
        if let Some(last) = last
            && !number.is_multiple_of(WHOLE_EVERY)
            && last.layout.headers <= packet.len()
        {
            last.difference(packet, out);
        }
        if !(1..packet.len()).contains(&(out.len() - start)) {
            out.truncate(start);
            out.extend(packet);
        }
        *last = Some(Box::new(Last::new(number, packet)));
    }

    /// The packet of which [`Headers::shorten`] wrote `record`; `None` if the one before
    /// it is not known, or if nobody wrote it.
    pub fn restore(&mut self, bucket: u8, number: u16, record: &[u8]) -> Option<Vec<u8>> {
        let last = &mut self.0[usize::from(bucket)];
        let before = last.take();
        let packet = match is_short(record) {
            false => record.to_vec(),
            true => before.filter(|b| b.number == number.wrapping_sub(1))?.apply(record)?,
        };
        if !symbol::is_ip(&packet) {
            return None;
        }
        *last = Some(Box::new(Last::new(number, &packet)));
        Some(packet)
    }
}

/// Whether `record` begins with one that is short.
pub(crate) fn is_short(record: &[u8]) -> bool {
    word(record, 0).is_some_and(|top| top & IS_SHORT != 0)
}

/// The length of the short record that `bytes` begin with.
pub(crate) fn short_length(bytes: &[u8]) -> Option<usize> {
    match word(bytes, 0)? & HAS_LENGTH {
        0 => Some(bytes.len()),
        _ => Some(usize::from(word(bytes, 2)?)).filter(|&length| length >= 4),
    }
}

/// Takes the length out of the record at `start`, if it is short: it ends where all does.
pub(crate) fn drop_length(records: &mut Vec<u8>, start: usize) {
    if is_short(&records[start..]) {
        records[start] &= !HAS_LENGTH.to_be_bytes()[0];
        records.drain(start + 2..start + 4);
    }
}

impl Last {
    fn new(number: u16, packet: &[u8]) -> Self {
        let layout = Layout::of(packet);
        let mut headers = [0; HEADERS_MAX];
        let kept = packet.len().min(HEADERS_MAX);
        headers[..kept].copy_from_slice(&packet[..kept]);
        layout.fold_checksums(packet, &mut headers[..kept]);
        Self { number, length: packet.len(), layout, headers }
    }

    /// What the headers of the next packet are likely to be, if it is `length` bytes long.
    fn expected(&self, length: usize) -> [u8; HEADERS_MAX] {
        let mut headers = self.headers;
        if self.layout.is_ipv4 {
            put(&mut headers, 2, length as u16);
            let identification = u16::from_be_bytes([headers[4], headers[5]]);
            put(&mut headers, 4, identification.wrapping_add(1));
        } else {
            put(&mut headers, 4, length.wrapping_sub(IPV6_BYTES) as u16);
        }
        match self.layout.transport {
            Some((TCP, at)) => {
                let sequence = at + 4..at + 8;
                let before = headers[sequence.clone()].try_into().expect("four bytes");
                let said = (self.length - self.layout.headers) as u32;
                let next = u32::from_be_bytes(before).wrapping_add(said);
                headers[sequence].copy_from_slice(&next.to_be_bytes());
            }
            Some((_, at)) => put(&mut headers, at + 4, length.wrapping_sub(at) as u16),
            None => {}
        }
        headers
    }

    /// Writes how a packet, at least as long as these headers, differs.
    fn difference(&self, packet: &[u8], out: &mut Vec<u8>) {
        let (covered, rest) = packet.split_at(self.layout.headers);
        let mut differing = self.expected(packet.len());
        let mut headers = [0; HEADERS_MAX];
        headers[..covered.len()].copy_from_slice(covered);
        Layout::of(packet).fold_checksums(packet, &mut headers[..covered.len()]);
        for (expected, is) in differing.iter_mut().zip(headers).take(covered.len()) {
            *expected ^= is;
        }
        let differing = &differing[..covered.len()];
        let mask = |group: &[u8]| {
            (0..).zip(group).fold(0u8, |mask, (bit, &byte)| mask | u8::from(byte != 0) << bit)
        };
        let masks = differing.chunks(GROUP).map(mask);
        let groups = (0..).zip(masks.clone()).filter(|&(_, mask)| mask != 0);
        let top = groups.fold(IS_SHORT | HAS_LENGTH, |top, (group, _)| top | 1 << group);
        let start = out.len();
        out.extend(top.to_be_bytes());
        out.extend([0, 0]);
        out.extend(masks.filter(|&mask| mask != 0));
        out.extend(differing.iter().filter(|&&byte| byte != 0));
        out.extend(rest);
        let length = (out.len() - start) as u16;
        put(out, start + 2, length);
    }

    /// The packet that `record` stands for.
    fn apply(&self, record: &[u8]) -> Option<Vec<u8>> {
        let top = word(record, 0)?;
        let groups = top & !(IS_SHORT | HAS_LENGTH);
        if groups & !GROUPS != 0 {
            return None;
        }
        let begin = if top & HAS_LENGTH == 0 { 2 } else { 4 };
        let (masks, rest) = record.get(begin..)?.split_at_checked(groups.count_ones() as usize)?;
        let count = masks.iter().map(|mask| mask.count_ones() as usize).sum();
        let (differing, rest) = rest.split_at_checked(count)?;
        let covered = self.layout.headers;
        let mut headers = self.expected(covered + rest.len());
        let marked = (0..HEADERS_MAX / GROUP).filter(|group| groups >> group & 1 == 1);
        let places = marked.zip(masks).flat_map(|(group, mask)| {
            (0..GROUP).filter(move |bit| mask >> bit & 1 == 1).map(move |bit| group * GROUP + bit)
        });
        for (at, byte) in places.zip(differing) {
            headers[at] ^= byte;
        }
        let mut packet = Vec::with_capacity(covered + rest.len());
        packet.extend(&headers[..covered]);
        packet.extend(rest);
        let layout = Layout::of(&packet);
        layout.fold_checksums(&packet, &mut headers[..covered]);
        packet[..covered].copy_from_slice(&headers[..covered]);
        Some(packet)
    }
}

impl Layout {
    fn of(packet: &[u8]) -> Self {
        let (is_ipv4, ip, protocol) = match packet.first().map_or(0, |first| first >> 4) {
            4 if packet.len() >= IPV4_BYTES => {
                let ip = (usize::from(packet[0] & 0xf) * 4).max(IPV4_BYTES);
                let is_fragment = packet[6] & 0x3f != 0 || packet[7] != 0;
                (true, ip, (!is_fragment).then_some(packet[9]))
            }
            6 if packet.len() >= IPV6_BYTES => (false, IPV6_BYTES, Some(packet[6])),
            _ => (false, 0, None),
        };
        let (transport, behind) = match protocol {
            Some(TCP) if packet.len() >= ip + 20 => {
                let length = (usize::from(packet[ip + 12] >> 4) * 4).max(20);
                (Some((TCP, ip)), length)
            }
            Some(UDP) if packet.len() >= ip + 8 => (Some((UDP, ip)), 8),
            // What ICMP has before its data.
            _ => (None, 8),
        };
        let headers = (ip + behind).min(packet.len()).min(HEADERS_MAX);
        Self { is_ipv4, transport, headers }
    }

    /// Combines each checksum of a packet that lies wholly within `headers`, its first
    /// bytes, with what it ought to be (RFC 1071): zero is right. Doing it again undoes it.
    /// The packet's own checksums do not matter.
    fn fold_checksums(&self, packet: &[u8], headers: &mut [u8]) {
        let mut fold = |at: usize, right: u16| {
            if let Some(field) = headers.get_mut(at..at + 2) {
                field[0] ^= right.to_be_bytes()[0];
                field[1] ^= right.to_be_bytes()[1];
            }
        };
        let ip = usize::from(packet.first().map_or(0, |first| first & 0xf)) * 4;
        if self.is_ipv4 && (IPV4_BYTES..=packet.len()).contains(&ip) {
            fold(10, checksum(sum(&packet[..10]) + sum(&packet[12..ip])));
        }
        let Some((protocol, at)) = self.transport else { return };
        let field = at + if protocol == TCP { 16 } else { 6 };
        let addresses = if self.is_ipv4 { 12..IPV4_BYTES } else { 8..IPV6_BYTES };
        let pseudo = sum(&packet[addresses]) + u64::from(protocol) + (packet.len() - at) as u64;
        fold(field, checksum(pseudo + sum(&packet[at..field]) + sum(&packet[field + 2..])));
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes([*bytes.get(at)?, *bytes.get(at + 1)?]))
}

fn put(bytes: &mut [u8], at: usize, value: u16) {
    bytes[at..at + 2].copy_from_slice(&value.to_be_bytes());
}

/// The sum of 16-bit words; a last byte stands alone.
fn sum(bytes: &[u8]) -> u64 {
    let words = bytes.chunks_exact(2);
    let last = words.remainder().first().map_or(0, |&byte| u64::from(byte) << 8);
    words.map(|word| u64::from(u16::from_be_bytes([word[0], word[1]]))).sum::<u64>() + last
}

/// The Internet checksum of what adds up to `sum` (RFC 1071).
fn checksum(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

#[cfg(test)]
mod tests;

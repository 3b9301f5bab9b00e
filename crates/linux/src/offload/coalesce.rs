//! Merges consecutive segments of a flow under one header, as the kernel's receive offload does
//! (net/core/gro.c). It merges only segments that the kernel's segmentation reproduces byte for
//! byte.
//!
//! A segment joins the one before it if all of its headers are the same but for lengths and
//! checksums, which are right, if its sequence number and its identification (IPv4) follow, and if
//! it is not longer. A segment that is shorter, or has PSH, is the last one. Packets between two
//! hosts stay in order, except those of different flows of segments. Leaves out all packets other
//! than TCP with ACK alone and UDP with a checksum; options of IPv4, extension headers, fragments.

use super::*;
use lasthop_packet::ip::checksum::{fold, pseudo_header, sum};
use lasthop_packet::ip::ipv4::set_checksum;

/// Largest number of flows whose segments are collected at a time.
const FLOWS_MAX: usize = 8;

/// The kinds of segments that the kernel takes merged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kinds {
    /// Segments of TCP.
    pub tcp: bool,
    /// Datagrams of UDP of one flow.
    pub udp: bool,
}

/// Collects segments until it is flushed.
#[derive(Debug)]
pub struct Coalescer {
    kinds: Kinds,
    /// Flows with segments that wait, the oldest first.
    open: Vec<Open>,
    spare: Vec<Vec<u8>>,
}

/// Segments of a flow, and the expected next one.
#[derive(Debug)]
struct Open {
    /// The packet so far, after buffer space for its header.
    bytes: Vec<u8>,
    layout: Layout,
    segment_bytes: usize,
    count: usize,
    is_ended: bool,
    /// Whether the checksums of the first are right; `None` until a second segment comes.
    is_right: Option<bool>,
}

/// Offsets in a segment that may be coalesced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Layout {
    is_ipv4: bool,
    is_tcp: bool,
    /// Length of all headers in bytes.
    headers: usize,
}

impl Coalescer {
    /// Returns a coalescer for segments of `kinds`.
    pub fn new(kinds: Kinds) -> Self {
        Self { kinds, open: Vec::new(), spare: Vec::new() }
    }

    /// Handles an IP packet. Packets that cannot wait any longer go to `write`: a header with a
    /// packet, and the number of its segments.
    pub fn push(&mut self, packet: &[u8], write: &mut dyn FnMut(&[u8], usize)) {
        let layout = Layout::find(packet)
            .filter(|layout| if layout.is_tcp { self.kinds.tcp } else { self.kinds.udp });
        let Some(layout) = layout else {
            self.write_alone(packet, write);
            return;
        };
        let is_same = |open: &Open| open.layout.is_same_flow(layout, open.packet(), packet);
        if let Some(at) = self.open.iter().position(is_same) {
            if self.open[at].join(layout, packet) {
                return;
            }
            self.close(at, write);
        } else if self.open.len() == FLOWS_MAX {
            self.close(0, write);
        }
        let mut bytes = self.spare.pop().unwrap_or_default();
        bytes.clear();
        bytes.extend_from_slice(&[0; HEADER_BYTES]);
        bytes.extend_from_slice(packet);
        let segment_bytes = packet.len() - layout.headers;
        let is_ended =
            layout.is_tcp && packet[layout.transport() + tcp::field::FLAGS] & Flags::PSH != 0;
        self.open.push(Open { bytes, layout, segment_bytes, count: 1, is_ended, is_right: None });
    }

    /// Calls `write` with all waiting packets.
    pub fn flush(&mut self, write: &mut dyn FnMut(&[u8], usize)) {
        for open in self.open.drain(..) {
            self.spare.push(open.written(write));
        }
    }

    /// Writes a packet as it is, after all waiting packets between the same hosts.
    fn write_alone(&mut self, packet: &[u8], write: &mut dyn FnMut(&[u8], usize)) {
        let hosts = hosts_of(packet);
        while let Some(at) = self.open.iter().position(|open| hosts_of(open.packet()) == hosts) {
            self.close(at, write);
        }
        let mut bytes = self.spare.pop().unwrap_or_default();
        bytes.clear();
        bytes.extend_from_slice(&[0; HEADER_BYTES]);
        bytes.extend_from_slice(packet);
        write(&bytes, 1);
        self.spare.push(bytes);
    }

    fn close(&mut self, at: usize, write: &mut dyn FnMut(&[u8], usize)) {
        let bytes = self.open.remove(at).written(write);
        self.spare.push(bytes);
    }
}

/// Returns the addresses of an IP packet, source before destination; `None` if it is too short.
fn hosts_of(packet: &[u8]) -> Option<&[u8]> {
    match packet.first()? >> 4 {
        4 => packet.get(12..IPV4_BYTES),
        6 => packet.get(8..IPV6_BYTES),
        _ => None,
    }
}

impl Open {
    fn packet(&self) -> &[u8] {
        &self.bytes[HEADER_BYTES..]
    }

    /// Appends `packet`, of the same flow, if it follows; returns whether it does.
    fn join(&mut self, layout: Layout, packet: &[u8]) -> bool {
        let data = &packet[layout.headers..];
        let first = &self.bytes[HEADER_BYTES..];
        let sent = first.len() - self.layout.headers;
        let may_follow = !self.is_ended
            && layout == self.layout
            && data.len() <= self.segment_bytes
            && first.len() + data.len() <= PACKET_BYTES_MAX
            && layout.follows(first, packet, sent, self.count);
        if !may_follow
            || !*self.is_right.get_or_insert_with(|| layout.is_right(first))
            || !layout.is_right(packet)
        {
            return false;
        }
        let has_push =
            layout.is_tcp && packet[layout.transport() + tcp::field::FLAGS] & Flags::PSH != 0;
        self.is_ended = data.len() < self.segment_bytes || has_push;
        self.bytes.extend_from_slice(data);
        self.count += 1;
        if has_push {
            // Segmentation gives it to the last segment only.
            self.bytes[HEADER_BYTES + layout.transport() + tcp::field::FLAGS] |= Flags::PSH;
        }
        true
    }

    /// Calls `write` with the packet; returns the memory for another.
    fn written(mut self, write: &mut dyn FnMut(&[u8], usize)) -> Vec<u8> {
        if self.count > 1 {
            let (header, packet) = self.bytes.split_at_mut(HEADER_BYTES);
            header.copy_from_slice(&self.layout.finish(packet, self.segment_bytes).emit());
        }
        write(&self.bytes, self.count);
        self.bytes
    }
}

impl Layout {
    /// Returns the offsets in `packet`, if it may be coalesced.
    fn find(packet: &[u8]) -> Option<Self> {
        let is_ipv4 = packet.first()? >> 4 == 4;
        let (protocol, ip, length) = if is_ipv4 {
            let header = packet.get(..IPV4_BYTES)?;
            // No options; of the flags "don't fragment" at most, and no offset.
            if header[0] != 0x45 || word(header, 6) & !0x4000 != 0 {
                return None;
            }
            (header[9], IPV4_BYTES, usize::from(word(header, 2)))
        } else {
            let header = packet.get(..IPV6_BYTES).filter(|header| header[0] >> 4 == 6)?;
            (header[6], IPV6_BYTES, IPV6_BYTES + usize::from(word(header, 4)))
        };
        let transport = packet.get(ip..).filter(|_| length == packet.len())?;
        let (is_tcp, transport_bytes) = match protocol {
            TCP => {
                let view = tcp::View::new(transport)?;
                let Flags(flags) = view.flags();
                let is_plain = flags & !Flags::PSH == Flags::ACK && view.urgent() == Some(0);
                let is_long = view.header_bytes() >= tcp::HEADER_BYTES;
                (true, Some(view.header_bytes()).filter(|_| is_plain && is_long)?)
            }
            UDP => {
                let view = udp::View::new(transport)?;
                let is_plain = usize::from(view.length()) == transport.len();
                (false, Some(udp::HEADER_BYTES).filter(|_| is_plain && view.checksum() != 0)?)
            }
            _ => return None,
        };
        let headers = ip + transport_bytes;
        (packet.len() > headers).then_some(Self { is_ipv4, is_tcp, headers })
    }

    /// Returns the offset of the header of TCP or UDP.
    fn transport(self) -> usize {
        if self.is_ipv4 { IPV4_BYTES } else { IPV6_BYTES }
    }

    /// Whether two packets have the same addresses, ports and protocol.
    fn is_same_flow(self, other: Self, ours: &[u8], theirs: &[u8]) -> bool {
        let addresses_and_ports = self.addresses().start..self.transport() + 4;
        (self.is_ipv4, self.is_tcp) == (other.is_ipv4, other.is_tcp)
            && ours[addresses_and_ports.clone()] == theirs[addresses_and_ports]
    }

    fn addresses(self) -> core::ops::Range<usize> {
        if self.is_ipv4 { 12..IPV4_BYTES } else { 8..IPV6_BYTES }
    }

    /// Whether `packet` has the headers, except checksums, of segment number `index` after `sent`
    /// bytes of data, where `first` is segment number 0.
    fn follows(self, first: &[u8], packet: &[u8], sent: usize, index: usize) -> bool {
        let mut expected = [0; IPV6_BYTES + 60];
        let expected = &mut expected[..self.headers];
        expected.copy_from_slice(&first[..self.headers]);
        let same = |expected: &mut [u8], at: usize, bytes: usize| {
            put(expected, at, &packet[at..at + bytes]);
        };
        if self.is_ipv4 {
            same(expected, 2, 2);
            let identification = word(expected, 4).wrapping_add(index as u16);
            put(expected, 4, &identification.to_be_bytes());
            same(expected, 10, 2);
        } else {
            same(expected, 4, 2);
        }
        let transport = self.transport();
        if self.is_tcp {
            let sequence =
                long(expected, transport + tcp::field::SEQUENCE).wrapping_add(sent as u32);
            put(expected, transport + tcp::field::SEQUENCE, &sequence.to_be_bytes());
            // The first segment has no PSH, or none would follow it.
            expected[transport + tcp::field::FLAGS] |=
                packet[transport + tcp::field::FLAGS] & Flags::PSH;
            same(expected, transport + tcp::field::CHECKSUM, 2);
        } else {
            same(expected, transport + udp::field::LENGTH, 4);
        }
        expected == &packet[..self.headers]
    }

    /// Whether the checksums of `packet` are right, and as segmentation writes them: zero can be
    /// written in two ways.
    fn is_right(self, packet: &[u8]) -> bool {
        let (ip, transport) = packet.split_at(self.transport());
        let is_plain = |checksum: u16| checksum != 0xffff;
        if self.is_ipv4 && (fold(sum(ip)) != 0xffff || !is_plain(word(ip, 10))) {
            return false;
        }
        let sum = self.pseudo(packet, transport.len()) + sum(transport);
        fold(sum) == 0xffff && (!self.is_tcp || is_plain(word(transport, tcp::field::CHECKSUM)))
    }

    fn pseudo(self, packet: &[u8], length: usize) -> u64 {
        pseudo_header(&packet[self.addresses()], if self.is_tcp { TCP } else { UDP }, length)
    }

    /// Turns the headers of the first segment into those of the whole packet, and returns the
    /// header before them.
    fn finish(self, packet: &mut [u8], segment_bytes: usize) -> OffloadHeader {
        let (transport, length) = (self.transport(), packet.len());
        if self.is_ipv4 {
            put(packet, 2, &(length as u16).to_be_bytes());
            set_checksum(&mut packet[..IPV4_BYTES]);
        } else {
            put(packet, 4, &((length - IPV6_BYTES) as u16).to_be_bytes());
        }
        let sum = fold(self.pseudo(packet, length - transport));
        let checksum = if self.is_tcp {
            tcp::field::CHECKSUM
        } else {
            put(
                packet,
                transport + udp::field::LENGTH,
                &((length - transport) as u16).to_be_bytes(),
            );
            udp::field::CHECKSUM
        };
        put(packet, transport + checksum, &sum.to_be_bytes());
        OffloadHeader {
            flags: NEEDS_CHECKSUM,
            kind: match (self.is_tcp, self.is_ipv4) {
                (true, true) => GSO_TCP4,
                (true, false) => GSO_TCP6,
                (false, _) => GSO_UDP,
            },
            header_bytes: self.headers as u16,
            segment_bytes: segment_bytes as u16,
            checksum_start: transport as u16,
            checksum_offset: checksum as u16,
        }
    }
}

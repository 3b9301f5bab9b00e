//! Cuts a packet of a TUN device into its segments, as the kernel's own segmentation does
//! (net/ipv4/tcp_offload.c, udp_offload.c): identifications of IPv4 count up, sequence numbers
//! follow, the last segment has FIN and PSH, the first CWR.

use super::*;
use lasthop_packet::ip::checksum::{fold, sum};
use lasthop_packet::ip::ipv4::set_checksum;

/// Calls `take` with each packet of the bytes `read`: a header and an IP packet. The checksum of a
/// single packet is completed in place; segments are made in `scratch`. Returns the number of
/// packets.
///
/// # Errors
/// If a TUN device reads no such bytes; `take` was not called then.
pub fn segment(
    read: &mut [u8],
    scratch: &mut Vec<u8>,
    take: &mut dyn FnMut(&[u8]),
) -> Result<usize, OffloadError> {
    let header = OffloadHeader::parse(read)?;
    let packet = &mut read[HEADER_BYTES..];
    if header.kind == GSO_NONE {
        if header.flags & NEEDS_CHECKSUM != 0 {
            complete(packet, &header)?;
        }
        take(packet);
        return Ok(1);
    }
    let layout = SegmentLayout::find(packet, &header)?;
    let (headers, data) = packet.split_at(layout.headers);
    let segments = data.len().div_ceil(layout.segment_bytes).max(1);
    for index in 0..segments {
        let begin = index * layout.segment_bytes;
        let end = data.len().min(begin + layout.segment_bytes);
        scratch.clear();
        scratch.extend_from_slice(headers);
        scratch.extend_from_slice(&data[begin..end]);
        layout.finish(scratch, packet.len(), index, index + 1 == segments);
        take(scratch);
    }
    Ok(segments)
}

/// Completes the checksum of a packet that is not many segments.
fn complete(packet: &mut [u8], header: &OffloadHeader) -> Result<(), OffloadError> {
    let start = usize::from(header.checksum_start);
    let at = start + usize::from(header.checksum_offset);
    let bytes = packet.len();
    if at + 2 > bytes || start < IPV4_BYTES {
        return Err(OffloadError::Short { bytes, needed: (at + 2).max(IPV4_BYTES) });
    }
    // The field has the sum of the pseudo-header.
    let checksum = !fold(sum(&packet[start..]));
    put(packet, at, &never_zero(checksum, header.checksum_offset).to_be_bytes());
    Ok(())
}

/// Returns a checksum, for UDP never 0, which would mean that there is none (RFC 768).
fn never_zero(checksum: u16, offset: u16) -> u16 {
    let is_udp = usize::from(offset) == udp::field::CHECKSUM;
    if checksum == 0 && is_udp { 0xffff } else { checksum }
}

/// Offsets in a packet of many segments.
struct SegmentLayout {
    is_ipv4: bool,
    is_tcp: bool,
    /// Offset of the header of TCP or UDP.
    transport: usize,
    /// Length of all headers in bytes.
    headers: usize,
    segment_bytes: usize,
}

impl SegmentLayout {
    fn find(packet: &[u8], header: &OffloadHeader) -> Result<Self, OffloadError> {
        let is_tcp = match header.kind & !GSO_ECN {
            GSO_TCP4 | GSO_TCP6 => true,
            GSO_UDP => false,
            _ => return Err(OffloadError::Kind(header.kind)),
        };
        let bytes = packet.len();
        let has = |needed: usize| {
            if bytes < needed { Err(OffloadError::Short { bytes, needed }) } else { Ok(()) }
        };
        has(IPV4_BYTES)?;
        let is_ipv4 = packet[0] >> 4 == 4;
        let transport = usize::from(header.checksum_start);
        let is_right = if is_ipv4 {
            let protocol = if is_tcp { TCP } else { UDP };
            header.kind & !GSO_ECN != GSO_TCP6
                && packet[9] == protocol
                && transport == usize::from(packet[0] & 0xf) * 4
                && transport >= IPV4_BYTES
        } else {
            // Extension headers may be between.
            packet[0] >> 4 == 6 && header.kind & !GSO_ECN != GSO_TCP4 && transport >= IPV6_BYTES
        };
        let checksum = if is_tcp { tcp::field::CHECKSUM } else { udp::field::CHECKSUM };
        let is_partial = header.flags & NEEDS_CHECKSUM != 0;
        if !is_right || !is_partial || usize::from(header.checksum_offset) != checksum {
            return Err(OffloadError::Mismatch);
        }
        has(transport + if is_tcp { tcp::HEADER_BYTES } else { udp::HEADER_BYTES })?;
        let transport_bytes = if is_tcp {
            tcp::View::new(&packet[transport..]).map_or(0, tcp::View::header_bytes)
        } else {
            udp::HEADER_BYTES
        };
        if is_tcp && transport_bytes < tcp::HEADER_BYTES {
            return Err(OffloadError::Mismatch);
        }
        has(transport + transport_bytes)?;
        let segment_bytes = usize::from(header.segment_bytes);
        if segment_bytes == 0 {
            return Err(OffloadError::Empty);
        }
        let headers = transport + transport_bytes;
        Ok(Self { is_ipv4, is_tcp, transport, headers, segment_bytes })
    }

    /// Completes the headers of `segment`, which has those of a packet of `bytes` bytes and a
    /// part of its data: segment number `index`.
    fn finish(&self, segment: &mut [u8], bytes: usize, index: usize, is_last: bool) {
        let length = segment.len();
        if self.is_ipv4 {
            put(segment, 2, &(length as u16).to_be_bytes());
            let identification = word(segment, 4).wrapping_add(index as u16);
            put(segment, 4, &identification.to_be_bytes());
            set_checksum(&mut segment[..self.transport]);
        } else {
            put(segment, 4, &((length - IPV6_BYTES) as u16).to_be_bytes());
        }
        let transport = &mut segment[self.transport..];
        let length = length - self.transport;
        let checksum = if self.is_tcp {
            let sequence = long(transport, tcp::field::SEQUENCE)
                .wrapping_add((index * self.segment_bytes) as u32);
            put(transport, tcp::field::SEQUENCE, &sequence.to_be_bytes());
            if !is_last {
                transport[tcp::field::FLAGS] &= !(Flags::FIN | Flags::PSH);
            }
            if index > 0 {
                transport[tcp::field::FLAGS] &= !Flags::CWR;
            }
            tcp::field::CHECKSUM
        } else {
            put(transport, udp::field::LENGTH, &(length as u16).to_be_bytes());
            udp::field::CHECKSUM
        };
        // The field has the sum of the pseudo-header with the length of all segments; addresses
        // are not looked at, for a routing header may say others.
        let all = (bytes - self.transport) as u64;
        let pseudo = u64::from(word(transport, checksum)) + u64::from(!fold(all)) + length as u64;
        put(transport, checksum, &[0; 2]);
        let right = !fold(pseudo + sum(transport));
        put(transport, checksum, &never_zero(right, checksum as u16).to_be_bytes());
    }
}

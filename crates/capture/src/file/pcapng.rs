//! The pcapng format (draft-ietf-opsawg-pcapng): blocks with a type and a length. Sections in
//! either byte order, interfaces, and packets in all three blocks (enhanced, simple, obsolete).
//! Other blocks are skipped, and so are options, except those of an interface about its times and
//! frames.

use super::LinkType;
use super::error::{ReadError, Reason};
use super::input::Input;
use super::{Head, PACKET_BYTES_MAX};

#[derive(Default)]
pub(super) struct PcapngReader {
    big_endian: bool,
    interfaces: Vec<Interface>,
    /// Bytes of the block of the last packet that were not read.
    rest: usize,
}

#[derive(Clone, Copy)]
struct Interface {
    link: LinkType,
    /// Largest captured length of a packet, in bytes; 0 means no limit.
    snap_length: u32,
    resolution: Resolution,
    /// Seconds to add to packet times.
    offset_s: i64,
    fcs_bytes: Option<u8>,
}

/// Units of time in a second (option `if_tsresol`).
#[derive(Clone, Copy)]
enum Resolution {
    /// Exponent of 10.
    Decimal(u8),
    /// Exponent of 2.
    Binary(u8),
}

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE_DESCRIPTION: u32 = 1;
const OBSOLETE_PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const ENHANCED_PACKET: u32 = 6;

const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;
/// Bytes of a block outside of its body: type, length, length again.
const BLOCK_BYTES: usize = 12;
/// Longest block that is read. Skipped blocks may have any length.
const INTERFACE_BYTES_MAX: u32 = 1 << 20;

const OPTION_END: u16 = 0;
const OPTION_RESOLUTION: u16 = 9;
const OPTION_FCS_LENGTH: u16 = 13;
const OPTION_OFFSET: u16 = 14;

pub(super) fn is_section_header(bytes: &[u8]) -> bool {
    bytes.first_chunk() == Some(&SECTION_HEADER.to_be_bytes())
}

impl PcapngReader {
    fn u16(&self, bytes: &[u8], at: usize) -> u16 {
        let bytes = bytes.get(at..).and_then(|rest| rest.first_chunk()).copied();
        let bytes = bytes.unwrap_or_default();
        if self.big_endian { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) }
    }

    fn u32(&self, bytes: &[u8], at: usize) -> u32 {
        let bytes = bytes.get(at..).and_then(|rest| rest.first_chunk()).copied();
        let bytes = bytes.unwrap_or_default();
        if self.big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
    }

    pub(super) fn head(
        &mut self,
        input: &mut Input,
        packet: u64,
    ) -> Result<Option<Head>, ReadError> {
        skip(input, &mut self.rest, packet)?;
        loop {
            if input.peek(1)?.is_empty() {
                return Ok(None);
            }
            let start = input.offset();
            let head = input.need(BLOCK_BYTES, packet, "block header")?;
            if is_section_header(head) {
                self.section(input, packet)?;
                continue;
            }
            let (kind, length) = (self.u32(head, 0), self.u32(head, 4));
            if length < BLOCK_BYTES as u32 || !length.is_multiple_of(4) {
                let allowed = "a multiple of 4, at least 12";
                return Err(value(packet, "block length", start + 4, length, allowed));
            }
            // Type and length; what follows is the body and the length again.
            input.take(8);
            let mut left = length as usize - 8;
            match kind {
                INTERFACE_DESCRIPTION => {
                    if length > INTERFACE_BYTES_MAX {
                        let allowed = "at most 1 MiB for an interface";
                        return Err(value(packet, "block length", start + 4, length, allowed));
                    }
                    let body = input.need(left, packet, "interface description")?;
                    let interface = self.interface(&body[..left - 4], start + 8, packet)?;
                    self.interfaces.push(interface);
                }
                ENHANCED_PACKET => {
                    return self.packet(input, packet, left, Fields::ENHANCED).map(Some);
                }
                OBSOLETE_PACKET => {
                    return self.packet(input, packet, left, Fields::OBSOLETE).map(Some);
                }
                SIMPLE_PACKET => return self.simple_packet(input, packet, left).map(Some),
                _ => {}
            }
            skip(input, &mut left, packet)?;
        }
    }

    /// Begins a section, with a byte order and interfaces.
    fn section(&mut self, input: &mut Input, packet: u64) -> Result<(), ReadError> {
        let start = input.offset();
        let head = input.need(16, packet, "section header")?;
        let magic = |big_endian| {
            let reader = Self { big_endian, ..Self::default() };
            (reader.u32(head, 8), reader.u32(head, 4))
        };
        let (found, length) = magic(false);
        let (big_endian, length) = match found {
            BYTE_ORDER_MAGIC => (false, length),
            _ if magic(true).0 == BYTE_ORDER_MAGIC => (true, magic(true).1),
            _ => {
                let allowed = "0x1a2b3c4d in either order";
                return Err(value(packet, "byte-order magic", start + 8, found, allowed));
            }
        };
        if length < 28 || !length.is_multiple_of(4) {
            let allowed = "a multiple of 4, at least 28";
            return Err(value(packet, "section header length", start + 4, length, allowed));
        }
        *self = Self { big_endian, ..Self::default() };
        skip(input, &mut (length as usize), packet)
    }

    fn interface(&self, body: &[u8], offset: u64, packet: u64) -> Result<Interface, ReadError> {
        let Some(mut options) = body.get(8..) else {
            let (found, allowed) = (body.len() as u32, "at least 8 bytes");
            return Err(value(packet, "interface description", offset, found, allowed));
        };
        let mut interface = Interface {
            link: LinkType::from_code(self.u16(body, 0)),
            snap_length: self.u32(body, 4),
            resolution: Resolution::Decimal(6),
            offset_s: 0,
            fcs_bytes: None,
        };
        while options.len() >= 4 {
            let (code, length) = (self.u16(options, 0), usize::from(self.u16(options, 2)));
            let Some(content) = options.get(4..4 + length) else { break };
            match (code, content) {
                (OPTION_END, _) => break,
                (OPTION_RESOLUTION, &[exponent]) => {
                    interface.resolution = match exponent {
                        0..=0x7f => Resolution::Decimal(exponent),
                        _ => Resolution::Binary(exponent & 0x7f),
                    }
                }
                (OPTION_FCS_LENGTH, &[bytes]) => interface.fcs_bytes = Some(bytes),
                (OPTION_OFFSET, content) => {
                    if let Some(&bytes) = content.first_chunk() {
                        interface.offset_s = if self.big_endian {
                            i64::from_be_bytes(bytes)
                        } else {
                            i64::from_le_bytes(bytes)
                        };
                    }
                }
                _ => {}
            }
            options = options.get(4 + length.next_multiple_of(4)..).unwrap_or_default();
        }
        Ok(interface)
    }

    /// Reads the header of a packet with an interface and a time. `left` bytes of its block follow.
    fn packet(
        &mut self,
        input: &mut Input,
        packet: u64,
        left: usize,
        fields: Fields,
    ) -> Result<Head, ReadError> {
        let start = input.offset();
        if left < Fields::BYTES + 4 {
            let (found, allowed) = (left as u32 + 8, "at least 32 for a packet");
            return Err(value(packet, "block length", start - 4, found, allowed));
        }
        let head = input.need(Fields::BYTES, packet, "packet header")?;
        let interface =
            if fields.wide_interface { self.u32(head, 0) } else { u32::from(self.u16(head, 0)) };
        let units = u64::from(self.u32(head, 4)) << 32 | u64::from(self.u32(head, 8));
        let (captured, length) = (self.u32(head, 12), self.u32(head, 16));
        let Some(&known) = self.interfaces.get(interface as usize) else {
            let allowed = "the number of an interface that was described before";
            return Err(value(packet, "interface", start, interface, allowed));
        };
        let captured = self.captured(captured, left - Fields::BYTES - 4, packet, start + 12)?;
        input.take(Fields::BYTES);
        self.rest = left - Fields::BYTES - captured;
        let offset = input.offset();
        input.need(captured, packet, "packet data")?;
        Ok(Head {
            offset,
            interface,
            link: known.link,
            at_ns: Some(known.nanoseconds(units)),
            captured,
            length: length.max(captured as u32),
            fcs_bytes: known.fcs_bytes,
        })
    }

    /// Reads the header of a packet without time, of the first interface.
    fn simple_packet(
        &mut self,
        input: &mut Input,
        packet: u64,
        left: usize,
    ) -> Result<Head, ReadError> {
        let start = input.offset();
        let Some(space) = left.checked_sub(8) else {
            let (found, allowed) = (left as u32 + 8, "at least 16 for a simple packet");
            return Err(value(packet, "block length", start - 4, found, allowed));
        };
        let Some(&interface) = self.interfaces.first() else {
            return Err(value(packet, "interface", start, 0, "an interface described before"));
        };
        let length = self.u32(input.need(4, packet, "packet header")?, 0);
        let limit = match interface.snap_length {
            0 => u32::MAX,
            limit => limit,
        };
        let captured = self.captured(length.min(limit), space, packet, start)?;
        input.take(4);
        self.rest = left - 4 - captured;
        let offset = input.offset();
        input.need(captured, packet, "packet data")?;
        let Interface { link, fcs_bytes, .. } = interface;
        Ok(Head { offset, interface: 0, link, at_ns: None, captured, length, fcs_bytes })
    }

    /// Reads the length of a packet's data, which must fit into its block.
    fn captured(
        &self,
        captured: u32,
        space: usize,
        packet: u64,
        offset: u64,
    ) -> Result<usize, ReadError> {
        let field = "captured length";
        if captured > PACKET_BYTES_MAX {
            return Err(value(packet, field, offset, captured, "at most 16 MiB"));
        }
        if captured as usize > space {
            return Err(value(packet, field, offset, captured, "what fits into its block"));
        }
        Ok(captured as usize)
    }
}

/// Layout of the header of a packet block.
#[derive(Clone, Copy)]
struct Fields {
    /// Whether the interface has 32 bits; otherwise it has 16, and a count of drops follows.
    wide_interface: bool,
}

impl Fields {
    const ENHANCED: Self = Self { wide_interface: true };
    const OBSOLETE: Self = Self { wide_interface: false };
    /// Length of interface, time, captured and original length, in bytes.
    const BYTES: usize = 20;
}

impl Interface {
    fn nanoseconds(&self, units: u64) -> u64 {
        let units = u128::from(units);
        let nanoseconds = match self.resolution {
            Resolution::Decimal(9) => units,
            Resolution::Decimal(digits @ 0..=9) => units * 10u128.pow(u32::from(9 - digits)),
            Resolution::Decimal(digits @ 10..=38) => units / 10u128.pow(u32::from(digits - 9)),
            Resolution::Decimal(_) => 0,
            Resolution::Binary(bits) => (units * 1_000_000_000) >> bits,
        };
        let nanoseconds = u64::try_from(nanoseconds).unwrap_or(u64::MAX);
        let offset = self.offset_s.unsigned_abs().saturating_mul(1_000_000_000);
        match self.offset_s {
            0.. => nanoseconds.saturating_add(offset),
            _ => nanoseconds.saturating_sub(offset),
        }
    }
}

/// Skips `left` bytes, and sets it to 0.
fn skip(input: &mut Input, left: &mut usize, packet: u64) -> Result<(), ReadError> {
    const STEP: usize = 64 << 10;
    while *left > 0 {
        let step = (*left).min(STEP);
        input.need(step, packet, "block")?;
        input.take(step);
        *left -= step;
    }
    Ok(())
}

fn value(
    packet: u64,
    field: &'static str,
    offset: u64,
    found: u32,
    allowed: &'static str,
) -> ReadError {
    let reason = Reason::Value { found: u64::from(found), allowed };
    ReadError::Field { packet, field, offset, reason }
}

//! The pcap format (draft-ietf-opsawg-pcap): a header of 24 bytes, then for each packet a header of
//! 16 bytes and its captured bytes. Either byte order, times in microseconds or nanoseconds. The
//! variant of A. Kuznetzov's libpcap, with 8 more bytes for each packet, is supported.

use super::LinkType;
use super::error::{ReadError, Reason};
use super::input::Input;
use super::{Head, PACKET_BYTES_MAX};

/// Byte order, unit of time and size of packet headers, all from the magic number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Encoding {
    big_endian: bool,
    nanoseconds: bool,
    record_bytes: usize,
}

impl Encoding {
    pub(super) const fn of_magic(bytes: &[u8]) -> Option<Self> {
        let Some(&magic) = bytes.first_chunk::<4>() else { return None };
        let (big_endian, number) = match magic {
            [0xa1, ..] => (true, u32::from_be_bytes(magic)),
            _ => (false, u32::from_le_bytes(magic)),
        };
        let (nanoseconds, record_bytes) = match number {
            0xa1b2_c3d4 => (false, 16),
            0xa1b2_3c4d => (true, 16),
            0xa1b2_cd34 => (false, 24),
            _ => return None,
        };
        Some(Self { big_endian, nanoseconds, record_bytes })
    }

    fn u32(self, bytes: &[u8], at: usize) -> u32 {
        let bytes = bytes.get(at..).and_then(|rest| rest.first_chunk()).copied();
        let bytes = bytes.unwrap_or_default();
        if self.big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
    }
}

pub(super) struct PcapReader {
    encoding: Encoding,
    link: LinkType,
    fcs_bytes: Option<u8>,
}

/// Length of the file header, in bytes.
const HEADER_BYTES: usize = 24;
/// Bit of the link type field: its top four bits specify the length of the FCS, in units of two
/// bytes.
const FCS_IS_KNOWN: u32 = 1 << 26;

impl PcapReader {
    pub(super) fn open(input: &mut Input, encoding: Encoding) -> Result<Self, ReadError> {
        let header = input.need(HEADER_BYTES, 0, "header")?;
        let link = encoding.u32(header, 20);
        let known = link & FCS_IS_KNOWN != 0;
        let fcs_bytes = known.then_some((link >> 28) as u8 * 2);
        input.take(HEADER_BYTES);
        Ok(Self { encoding, link: LinkType::from_code(link as u16), fcs_bytes })
    }

    pub(super) fn head(
        &mut self,
        input: &mut Input,
        packet: u64,
    ) -> Result<Option<Head>, ReadError> {
        if input.peek(1)?.is_empty() {
            return Ok(None);
        }
        let encoding = self.encoding;
        let start = input.offset();
        let header = input.need(encoding.record_bytes, packet, "packet header")?;
        let [seconds, fraction, captured, length] =
            [0, 4, 8, 12].map(|at| encoding.u32(header, at));
        if captured > PACKET_BYTES_MAX {
            let (found, allowed) = (u64::from(captured), "at most 16 MiB");
            let reason = Reason::Value { found, allowed };
            let field = "captured length";
            return Err(ReadError::Field { packet, field, offset: start + 8, reason });
        }
        input.take(encoding.record_bytes);
        let offset = input.offset();
        let captured = captured as usize;
        input.need(captured, packet, "packet data")?;
        let unit = if encoding.nanoseconds { 1 } else { 1_000 };
        let at_ns = u64::from(seconds) * 1_000_000_000 + u64::from(fraction) * unit;
        Ok(Some(Head {
            offset,
            interface: 0,
            link: self.link,
            at_ns: Some(at_ns),
            captured,
            length: length.max(captured as u32),
            fcs_bytes: self.fcs_bytes,
        }))
    }
}

//! Capture files: pcap (`pcap`) and pcapng (`pcapng`), also compressed with gzip or zstd, from any
//! reader. Packets come one by one out of a buffer of fixed size: memory does not grow with the
//! file, and a pipe delivers each packet as soon as its last byte has arrived. Offsets are in bytes
//! from the start of the file; in a compressed file, from the start of its content. A file that
//! ends within a packet delivers all packets before it, and then an error.

pub mod error;
mod input;
mod link_type;
mod pcap;
mod pcapng;

pub use error::{ReadError, Reason};
pub use link_type::LinkType;

use input::Input;
use std::io::Read;

/// Longest packet that is accepted, in bytes: far more than any capture program writes (libpcap's
/// limit is 262 144, and 128 MiB for USB only). A longer one means that the file is damaged.
const PACKET_BYTES_MAX: u32 = 16 << 20;

/// A capture file during reading.
pub struct Capture {
    input: Input,
    format: FileFormat,
    packets: u64,
    ended: bool,
}

enum FileFormat {
    Pcap(pcap::PcapReader),
    Pcapng(pcapng::PcapngReader),
}

/// A packet of a capture file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    /// Number of the packet, from 1, as in other programs.
    pub number: u64,
    /// Offset of its bytes in the file.
    pub offset: u64,
    /// Index of the interface that captured it; 0 in a pcap file.
    pub interface: u32,
    /// Link type of its headers.
    pub link: LinkType,
    /// Capture time in ns since 1970; `None` for a simple packet of pcapng.
    pub at_ns: Option<u64>,
    /// Captured bytes of the packet.
    pub bytes: &'a [u8],
    /// Length of the whole packet, including bytes beyond the snap length.
    pub length: u32,
    /// Length of the frame check sequence at its end in bytes, if the file specifies it.
    pub fcs_bytes: Option<u8>,
}

impl Packet<'_> {
    /// Whether a snap length has cut it short.
    pub const fn is_cut(&self) -> bool {
        (self.bytes.len() as u64) < self.length as u64
    }
}

impl Capture {
    /// Reads the header of a capture.
    ///
    /// # Errors
    ///
    /// Fails if there are no bytes, if they are not a capture, or if reading fails.
    pub fn open(source: impl Read + 'static) -> Result<Self, ReadError> {
        let mut input = Input::new(Box::new(source))?;
        let magic = input.peek(4)?;
        if magic.is_empty() {
            return Err(ReadError::Empty);
        }
        let format = if pcapng::is_section_header(magic) {
            FileFormat::Pcapng(pcapng::PcapngReader::default())
        } else if let Some(encoding) = pcap::Encoding::of_magic(magic) {
            FileFormat::Pcap(pcap::PcapReader::open(&mut input, encoding)?)
        } else {
            return Err(ReadError::NotACapture { begins: magic.to_vec() });
        };
        Ok(Self { input, format, packets: 0, ended: false })
    }

    /// Returns the next packet; `None` at the end of the file.
    ///
    /// # Errors
    ///
    /// Fails if the file is damaged or cut, or if reading fails. The next call returns `None`.
    pub fn next_packet(&mut self) -> Result<Option<Packet<'_>>, ReadError> {
        if self.ended {
            return Ok(None);
        }
        let number = self.packets + 1;
        let head = match &mut self.format {
            FileFormat::Pcap(reader) => reader.head(&mut self.input, number),
            FileFormat::Pcapng(reader) => reader.head(&mut self.input, number),
        };
        match head {
            Ok(Some(head)) => {
                self.packets = number;
                let bytes = self.input.take(head.captured);
                Ok(Some(Packet {
                    number,
                    offset: head.offset,
                    interface: head.interface,
                    link: head.link,
                    at_ns: head.at_ns,
                    bytes,
                    length: head.length,
                    fcs_bytes: head.fcs_bytes,
                }))
            }
            Ok(None) => {
                self.ended = true;
                Ok(None)
            }
            Err(error) => {
                self.ended = true;
                Err(error)
            }
        }
    }

    /// Returns the number of bytes read so far; in a compressed file, of its content.
    pub const fn offset(&self) -> u64 {
        self.input.offset()
    }
}

/// Header of a packet, whose bytes are completely in the input.
struct Head {
    offset: u64,
    interface: u32,
    link: LinkType,
    at_ns: Option<u64>,
    captured: usize,
    length: u32,
    fcs_bytes: Option<u8>,
}

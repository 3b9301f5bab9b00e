//! Capture files: pcap (`pcap`) and pcapng (`pcapng`), also compressed with gzip or
//! zstd, from anything that can be read. Packets come one after the other out of a buffer
//! of fixed size: memory does not grow with the file, and a pipe gives each packet as soon
//! as its last byte has arrived. Offsets are in bytes from the start of the file, of a
//! compressed one from the start of what is in it. A file that ends within a packet gives
//! all packets before it and then an error.

pub mod error;
mod input;
mod pcap;
mod pcapng;

pub use error::{ReadError, Reason};

use crate::link::LinkType;
use input::Input;
use std::io::Read;

/// Longest packet that is accepted, in bytes: far more than any capture program writes
/// (libpcap's limit is 262 144, and 128 MiB for USB only). A longer one means that the file
/// is damaged.
const PACKET_BYTES_MAX: u32 = 16 << 20;

/// A capture that is being read.
pub struct Capture {
    input: Input,
    format: Format,
    packets: u64,
    ended: bool,
}

enum Format {
    Pcap(pcap::Reader),
    Pcapng(pcapng::Reader),
}

/// A packet as it stands in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    /// Its number, from 1, as other programs count.
    pub number: u64,
    /// Where its bytes begin in the file.
    pub offset: u64,
    /// Index of the interface that captured it; 0 in a pcap file.
    pub interface: u32,
    /// The kind of headers that it has.
    pub link: LinkType,
    /// When it was captured, in ns since 1970; a simple packet of pcapng has no time.
    pub at_ns: Option<u64>,
    /// What was captured.
    pub bytes: &'a [u8],
    /// Length of the whole packet in bytes, of which a snap length may have left out the end.
    pub length: u32,
    /// Length of the frame check sequence at the end in bytes, if the file says so.
    pub fcs_bytes: Option<u8>,
}

impl Packet<'_> {
    /// Whether a snap length has cut off its end.
    pub const fn is_cut(&self) -> bool {
        (self.bytes.len() as u64) < self.length as u64
    }
}

impl Capture {
    /// Reads the head of a capture.
    ///
    /// # Errors
    /// If there is nothing to read, if it is no capture, or if reading fails.
    pub fn open(source: impl Read + 'static) -> Result<Self, ReadError> {
        let mut input = Input::new(Box::new(source))?;
        let magic = input.peek(4)?;
        if magic.is_empty() {
            return Err(ReadError::Empty);
        }
        let format = if pcapng::is_section_header(magic) {
            Format::Pcapng(pcapng::Reader::default())
        } else if let Some(encoding) = pcap::Encoding::of_magic(magic) {
            Format::Pcap(pcap::Reader::open(&mut input, encoding)?)
        } else {
            return Err(ReadError::NotACapture { begins: magic.to_vec() });
        };
        Ok(Self { input, format, packets: 0, ended: false })
    }

    /// The next packet; `None` at the end of the file.
    ///
    /// # Errors
    /// If the file is damaged or cut, or if reading fails. It has ended then: the next call
    /// gives `None`.
    pub fn next_packet(&mut self) -> Result<Option<Packet<'_>>, ReadError> {
        if self.ended {
            return Ok(None);
        }
        let number = self.packets + 1;
        let head = match &mut self.format {
            Format::Pcap(reader) => reader.head(&mut self.input, number),
            Format::Pcapng(reader) => reader.head(&mut self.input, number),
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

    /// How many bytes of the file (of what is in it, if it is compressed) have been read.
    pub const fn offset(&self) -> u64 {
        self.input.offset()
    }
}

/// What stands before the bytes of a packet. They are the next in the input, all of them.
struct Head {
    offset: u64,
    interface: u32,
    link: LinkType,
    at_ns: Option<u64>,
    captured: usize,
    length: u32,
    fcs_bytes: Option<u8>,
}

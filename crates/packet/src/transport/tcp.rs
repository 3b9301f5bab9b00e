//! The header of TCP (RFC 9293, 3.1), with the options that analyses need: timestamps and window
//! scale (RFC 7323).

use super::{array, word};

/// Bytes of a header without options.
pub const HEADER_BYTES: usize = 20;
/// Bytes of a header up to its window, the last field that sequence numbers need.
pub const CUT_BYTES: usize = 16;

/// Offsets of fields in the header, in bytes, for programs that write them.
pub mod field {
    /// Sequence number.
    pub const SEQUENCE: usize = 4;
    /// Acknowledgement number.
    pub const ACKNOWLEDGEMENT: usize = 8;
    /// Length of the header, in the upper four bits.
    pub const DATA_OFFSET: usize = 12;
    /// Flags, of one byte.
    pub const FLAGS: usize = 13;
    /// Window.
    pub const WINDOW: usize = 14;
    /// Checksum.
    pub const CHECKSUM: usize = 16;
    /// Urgent pointer.
    pub const URGENT: usize = 18;
}

/// Kinds of options.
mod option {
    pub const END: u8 = 0;
    pub const NO_OPERATION: u8 = 1;
    pub const WINDOW_SCALE: u8 = 3;
    pub const TIMESTAMPS: u8 = 8;
}

/// Control bits of a segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(pub u8);

/// A segment with a header that is complete up to its window.
///
/// ```
/// use lasthop_packet::transport::tcp::{Flags, Timestamps, View};
///
/// // SYN with a window scale of 7 and timestamps.
/// let segment = [
///     0x30, 0x39, 0, 80, 0, 0, 0, 1, 0, 0, 0, 0, 0x90, 0x02, 0xfa, 0xf0, 0, 0, 0, 0, // header
///     3, 3, 7, 1, 1, 1, 8, 10, 0, 0, 0, 9, 0, 0, 0, 0, // options
/// ];
/// let view = View::new(&segment).expect("a complete header");
/// assert_eq!((view.ports(), view.sequence(), view.window()), ([12_345, 80], 1, 64_240));
/// assert!(view.flags().has(Flags::SYN) && view.acknowledges().is_none());
/// assert_eq!(view.window_shift(), Some(7));
/// assert_eq!(view.timestamps(), Some(Timestamps { value: 9, echo: 0 }));
/// assert!(view.payload().is_empty());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View<'a> {
    segment: &'a [u8],
    start: [u8; CUT_BYTES],
}

/// The timestamps option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timestamps {
    /// Timestamp of the sender.
    pub value: u32,
    /// Timestamp that the sender repeats.
    pub echo: u32,
}

/// An option of a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Opt<'a> {
    kind: u8,
    data: &'a [u8],
}

/// Options of a header, up to the first malformed one.
#[derive(Clone, Copy, Debug)]
struct Options<'a>(&'a [u8]);

impl Flags {
    /// No more data from the sender.
    pub const FIN: u8 = 1;
    /// Synchronizes sequence numbers.
    pub const SYN: u8 = 2;
    /// Resets the connection.
    pub const RST: u8 = 4;
    /// Delivers data at once.
    pub const PSH: u8 = 8;
    /// The acknowledgement number is valid.
    pub const ACK: u8 = 16;
    /// The urgent pointer is valid.
    pub const URG: u8 = 32;
    /// Echo of congestion (RFC 3168).
    pub const ECE: u8 = 64;
    /// The congestion window was reduced (RFC 3168).
    pub const CWR: u8 = 128;

    /// Whether any of these bits is set.
    pub const fn has(self, bits: u8) -> bool {
        self.0 & bits != 0
    }
}

impl<'a> View<'a> {
    /// Returns a view of a segment, if its header is complete except for options.
    pub const fn new(segment: &'a [u8]) -> Option<Self> {
        if segment.len() >= HEADER_BYTES { Self::cut(segment) } else { None }
    }

    /// Returns a view of a segment that may be cut behind the window, as in captures.
    pub const fn cut(segment: &'a [u8]) -> Option<Self> {
        match segment.first_chunk() {
            Some(start) => Some(Self { segment, start: *start }),
            None => None,
        }
    }

    /// Source and destination port.
    pub const fn ports(self) -> [u16; 2] {
        let [a, b, c, d, ..] = self.start;
        [u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d])]
    }

    /// Sequence number of the first byte, or of the SYN.
    pub const fn sequence(self) -> u32 {
        let [_, _, _, _, a, b, c, d, ..] = self.start;
        u32::from_be_bytes([a, b, c, d])
    }

    /// Acknowledgement number; `None` without ACK.
    pub const fn acknowledges(self) -> Option<u32> {
        let [.., a, b, c, d, _, _, _, _] = self.start;
        if self.flags().has(Flags::ACK) { Some(u32::from_be_bytes([a, b, c, d])) } else { None }
    }

    /// Length of the header with its options by the header itself, in bytes; a malformed one may
    /// be below [`HEADER_BYTES`].
    pub const fn header_bytes(self) -> usize {
        (self.start[field::DATA_OFFSET] >> 4) as usize * 4
    }

    /// Control bits.
    pub const fn flags(self) -> Flags {
        Flags(self.start[field::FLAGS])
    }

    /// Window as in the header, without its scale.
    pub const fn window(self) -> u16 {
        let [.., a, b] = self.start;
        u16::from_be_bytes([a, b])
    }

    /// Checksum; `None` if the header is cut before it.
    pub const fn checksum(self) -> Option<u16> {
        word(self.segment, field::CHECKSUM)
    }

    /// Urgent pointer; `None` if the header is cut before it.
    pub const fn urgent(self) -> Option<u16> {
        word(self.segment, field::URGENT)
    }

    /// Bytes of the options; none if the header is cut within them, or malformed.
    pub fn options(self) -> &'a [u8] {
        self.segment.get(HEADER_BYTES..self.header_bytes()).unwrap_or_default()
    }

    /// The timestamps option, if there is one.
    pub fn timestamps(self) -> Option<Timestamps> {
        let opt = Options(self.options())
            .find(|opt| opt.kind == option::TIMESTAMPS && opt.data.len() == 8)?;
        let value = u32::from_be_bytes(array(opt.data, 0)?);
        Some(Timestamps { value, echo: u32::from_be_bytes(array(opt.data, 4)?) })
    }

    /// Shift of the window scale option, at most 14 (RFC 7323, 2.3), if there is one.
    pub fn window_shift(self) -> Option<u8> {
        Options(self.options()).find_map(|opt| match (opt.kind, opt.data) {
            (option::WINDOW_SCALE, [shift]) => Some((*shift).min(14)),
            _ => None,
        })
    }

    /// Captured bytes behind the header; none if it is cut or malformed.
    pub fn payload(self) -> &'a [u8] {
        self.segment.get(self.header_bytes().max(HEADER_BYTES)..).unwrap_or_default()
    }
}

impl<'a> Iterator for Options<'a> {
    type Item = Opt<'a>;

    fn next(&mut self) -> Option<Opt<'a>> {
        loop {
            let (&kind, behind) = self.0.split_first()?;
            match (kind, behind.first()) {
                (option::END, _) | (_, None) => return None,
                (option::NO_OPERATION, _) => self.0 = behind,
                (_, Some(&length)) => {
                    // A length below that of kind and length is malformed, and counts as 2.
                    let (this, next) = self.0.split_at_checked(usize::from(length).max(2))?;
                    self.0 = next;
                    return Some(Opt { kind, data: &this[2..] });
                }
            }
        }
    }
}

//! A-MPDU delimiters (IEEE 802.11-2020, 9.7.1): EOF, MPDU length, CRC-8 and the
//! signature 0x4E, each delimiter at a multiple of four bytes in the PSDU.
//!
//! After a broken delimiter the reader searches for the next good one, as a receiver does. HT
//! lengths have 12 bits (4 095 bytes); the two higher bits that VHT added are read and written too
//! (16 383 bytes).

use super::{Error, Reason};
use alloc::vec::Vec;
use crc::{Algorithm, Crc};

/// Length of a delimiter in bytes.
pub const DELIMITER_LEN: usize = 4;
/// The last octet of every delimiter, ASCII "N".
pub const SIGNATURE: u8 = 0x4e;
/// Longest MPDU in bytes: 14 bits.
pub const MPDU_LEN_MAX: usize = 0x3fff;

/// One MPDU delimiter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delimiter {
    /// EOF bit: padding from here on or, before an MPDU, the only MPDU of its PSDU (VHT).
    pub end_of_frame: bool,
    /// Length of the MPDU in bytes, up to [`MPDU_LEN_MAX`]; 0 for spacing without an MPDU.
    pub mpdu_length: u16,
}

impl Delimiter {
    /// Reads the delimiter in the first four bytes.
    ///
    /// # Errors
    /// Returns an error for too few bytes, a wrong signature or a wrong CRC.
    pub fn parse(bytes: &[u8]) -> Result<Self, Error> {
        let &[low, high, crc, signature, ..] = bytes else {
            return Err(Error {
                layer: LAYER,
                field: "delimiter",
                offset: 0,
                reason: Reason::Short { needs: DELIMITER_LEN, left: bytes.len() },
            });
        };
        let value = |field, offset, found, allowed| Error {
            layer: LAYER,
            field,
            offset,
            reason: Reason::Value { found: u32::from(found), allowed },
        };
        if signature != SIGNATURE {
            return Err(value("delimiter signature", 3, signature, "0x4e"));
        }
        if crc != CRC.checksum(&[low, high]) {
            return Err(value("delimiter CRC", 2, crc, "the CRC-8 of the two octets before it"));
        }
        let bits = u16::from_le_bytes([low, high]);
        Ok(Self { end_of_frame: bits & 1 != 0, mpdu_length: bits >> 4 | (bits & 0xc) << 10 })
    }

    /// Returns the delimiter as on the air.
    pub fn to_bytes(self) -> [u8; DELIMITER_LEN] {
        let length = self.mpdu_length;
        let bits = u16::from(self.end_of_frame) | (length & 0x0fff) << 4 | (length >> 10) & 0xc;
        let [low, high] = bits.to_le_bytes();
        [low, high, CRC.checksum(&[low, high]), SIGNATURE]
    }
}

/// One MPDU in an A-MPDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AmpduSubframe<'a> {
    /// Offset of the delimiter in the PSDU, in bytes.
    pub offset: usize,
    /// The delimiter in front of the MPDU.
    pub delimiter: Delimiter,
    /// The MPDU, FCS included.
    pub mpdu: &'a [u8],
}

/// Iterator over the MPDUs of an A-MPDU. A stretch without a good delimiter yields one error; the
/// iterator then continues after it. Delimiters of length 0 are skipped.
#[derive(Clone, Debug)]
pub struct AmpduSubframes<'a> {
    psdu: &'a [u8],
    position: usize,
    hunting: bool,
}

impl<'a> AmpduSubframes<'a> {
    /// Iterates over the subframes of `psdu`.
    pub const fn new(psdu: &'a [u8]) -> Self {
        Self { psdu, position: 0, hunting: false }
    }

    fn at(&self, offset: usize) -> Result<AmpduSubframe<'a>, Error> {
        let rest = self.psdu.get(offset..).unwrap_or_default();
        let delimiter = Delimiter::parse(rest)?;
        let length = usize::from(delimiter.mpdu_length);
        let mpdu = rest.get(DELIMITER_LEN..DELIMITER_LEN + length).ok_or_else(|| Error {
            layer: LAYER,
            field: "MPDU",
            offset: DELIMITER_LEN,
            reason: Reason::Short { needs: length, left: rest.len() - DELIMITER_LEN },
        })?;
        Ok(AmpduSubframe { offset, delimiter, mpdu })
    }
}

impl<'a> Iterator for AmpduSubframes<'a> {
    type Item = Result<AmpduSubframe<'a>, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        // Up to three octets of end-of-frame padding may be left.
        while self.position + DELIMITER_LEN <= self.psdu.len() {
            let offset = self.position;
            match self.at(offset) {
                Ok(subframe) => {
                    self.hunting = false;
                    let end = offset + DELIMITER_LEN + subframe.mpdu.len();
                    self.position = end.next_multiple_of(ALIGN);
                    if !subframe.mpdu.is_empty() {
                        return Some(Ok(subframe));
                    }
                }
                Err(error) => {
                    self.position += ALIGN;
                    if !core::mem::replace(&mut self.hunting, true) {
                        return Some(Err(error.shifted(offset)));
                    }
                }
            }
        }
        None
    }
}

/// Builder of an A-MPDU.
///
/// ```
/// use lasthop_wifi_wire::ampdu::{AmpduSubframes, AmpduWriter};
///
/// let mut writer = AmpduWriter::new();
/// writer.push(&[1, 2, 3, 4])?;
/// writer.push(&[5, 6, 7])?;
/// let psdu = writer.finish();
/// let subframes = AmpduSubframes::new(&psdu);
/// let mpdus: Result<Vec<_>, _> = subframes.map(|it| it.map(|it| it.mpdu)).collect();
/// assert_eq!(mpdus?, [&[1, 2, 3, 4][..], &[5, 6, 7][..]]);
/// # Ok::<(), lasthop_wifi_wire::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct AmpduWriter {
    psdu: Vec<u8>,
}

impl AmpduWriter {
    /// Returns a writer without subframes.
    pub const fn new() -> Self {
        Self { psdu: Vec::new() }
    }

    /// Pads the current content and appends a delimiter and an MPDU (FCS included).
    ///
    /// # Errors
    /// Returns an error for an MPDU longer than [`MPDU_LEN_MAX`], and writes nothing.
    pub fn push(&mut self, mpdu: &[u8]) -> Result<(), Error> {
        let start = self.psdu.len().next_multiple_of(ALIGN);
        if mpdu.len() > MPDU_LEN_MAX {
            return Err(Error {
                layer: LAYER,
                field: "MPDU",
                offset: start + DELIMITER_LEN,
                reason: Reason::Long { length: mpdu.len(), max: MPDU_LEN_MAX },
            });
        }
        self.psdu.resize(start, 0);
        let delimiter = Delimiter { end_of_frame: false, mpdu_length: mpdu.len() as u16 };
        self.psdu.extend_from_slice(&delimiter.to_bytes());
        self.psdu.extend_from_slice(mpdu);
        Ok(())
    }

    /// Pads the current content and appends delimiters of length 0, for the minimum MPDU start
    /// spacing.
    pub fn push_spacing(&mut self, delimiters: usize) {
        self.psdu.resize(self.psdu.len().next_multiple_of(ALIGN), 0);
        let empty = Delimiter { end_of_frame: false, mpdu_length: 0 }.to_bytes();
        for _ in 0..delimiters {
            self.psdu.extend_from_slice(&empty);
        }
    }

    /// Returns the PSDU: all subframes, the last without padding.
    pub fn finish(self) -> Vec<u8> {
        self.psdu
    }
}

const LAYER: &str = "A-MPDU";
/// Alignment of delimiters in bytes.
const ALIGN: usize = 4;

/// CRC-8 with x^8 + x^2 + x + 1, ones preset, ones complement, least significant bit first (9.7.1,
/// which refers to 19.3.9.4.4).
const ALGORITHM: Algorithm<u8> = Algorithm {
    width: 8,
    poly: 0x07,
    init: 0xff,
    refin: true,
    refout: true,
    xorout: 0xff,
    check: 0x2f,
    residue: 0x30,
};
static CRC: Crc<u8> = Crc::<u8>::new(&ALGORITHM);

//! Reader of bytes through a buffer of fixed size, which grows only for a longer packet. Data that
//! is compressed with gzip or zstd is decompressed.

use super::error::{ReadError, Reason};
use flate2::read::MultiGzDecoder;
use ruzstd::decoding::{FrameDecoder, StreamingDecoder};
use std::io::{self, BufReader, Chain, Cursor, ErrorKind, Read};

/// Size of the buffer, in bytes. A buffer that fits a processor's cache is faster than a larger
/// one.
const BUFFER_BYTES: usize = 256 << 10;

pub(super) struct Input {
    source: Box<dyn Read>,
    buffer: Vec<u8>,
    /// Bytes in the buffer, from `start` to `end`.
    start: usize,
    end: usize,
    /// Offset of `start` in the file.
    offset: u64,
}

impl Input {
    /// Creates a reader, with decompression if the data is compressed.
    pub(super) fn new(mut source: Box<dyn Read>) -> Result<Self, ReadError> {
        let mut magic = Vec::new();
        let begins = source.by_ref().take(4).read_to_end(&mut magic);
        begins.map_err(|source| ReadError::Io { offset: 0, source })?;
        let whole = Cursor::new(magic.clone()).chain(source);
        let source: Box<dyn Read> = match *magic {
            [0x1f, 0x8b, ..] => Box::new(MultiGzDecoder::new(whole)),
            [0x28, 0xb5, 0x2f, 0xfd] => Box::new(Zstd::new(whole)),
            // Some programs begin with a skippable frame (RFC 8878, 3.1.2).
            [0x50..=0x5f, 0x2a, 0x4d, 0x18] => Box::new(Zstd::new(whole)),
            _ => Box::new(whole),
        };
        Ok(Self { source, buffer: vec![0; BUFFER_BYTES], start: 0, end: 0, offset: 0 })
    }

    /// Returns the offset of the next byte in the file.
    pub(super) const fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns the next `length` bytes without consuming them; fewer at the end of the file.
    pub(super) fn peek(&mut self, length: usize) -> Result<&[u8], ReadError> {
        if self.end - self.start < length {
            self.fill(length)?;
        }
        Ok(&self.buffer[self.start..self.end.min(self.start + length)])
    }

    /// Returns the next `length` bytes without consuming them.
    ///
    /// # Errors
    ///
    /// Fails if the file ends before: `field` of `packet` is cut.
    pub(super) fn need(
        &mut self,
        length: usize,
        packet: u64,
        field: &'static str,
    ) -> Result<&[u8], ReadError> {
        let offset = self.offset;
        let bytes = self.peek(length)?;
        let left = bytes.len();
        if left < length {
            let reason = Reason::Cut { needs: length as u64, left: left as u64 };
            return Err(ReadError::Field { packet, field, offset, reason });
        }
        // Borrowed again: the borrow checker does not see that the error has returned.
        Ok(&self.buffer[self.start..self.start + length])
    }

    /// Consumes bytes that [`need`](Self::need) has returned.
    pub(super) fn take(&mut self, length: usize) -> &[u8] {
        let from = self.start;
        self.start = self.end.min(from + length);
        self.offset += (self.start - from) as u64;
        &self.buffer[from..self.start]
    }

    /// Reads until the buffer has `length` bytes, or the file ends.
    #[cold]
    fn fill(&mut self, length: usize) -> Result<(), ReadError> {
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        if self.buffer.len() < length {
            self.buffer.resize(length, 0);
        }
        while self.end < length {
            match self.source.read(&mut self.buffer[self.end..]) {
                Ok(0) => break,
                Ok(read) => self.end += read,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(source) => {
                    let offset = self.offset + self.end as u64;
                    return Err(ReadError::Io { offset, source });
                }
            }
        }
        Ok(())
    }
}

type Whole = Chain<Cursor<Vec<u8>>, Box<dyn Read>>;

/// Decompresses zstd frames one after the other, as `zstd -d` does.
struct Zstd {
    state: InputState,
}

enum InputState {
    Between(BufReader<Whole>),
    Within(Box<StreamingDecoder<BufReader<Whole>, FrameDecoder>>),
    Ended,
}

impl Zstd {
    fn new(source: Whole) -> Self {
        Self { state: InputState::Between(BufReader::with_capacity(BUFFER_BYTES, source)) }
    }
}

impl Read for Zstd {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match std::mem::replace(&mut self.state, InputState::Ended) {
                InputState::Between(mut source) => {
                    if skip_to_frame(&mut source)? {
                        let decoder = StreamingDecoder::new(source).map_err(io::Error::other)?;
                        self.state = InputState::Within(Box::new(decoder));
                    }
                }
                InputState::Within(mut decoder) => {
                    let read = decoder.read(buffer)?;
                    if read > 0 || buffer.is_empty() {
                        self.state = InputState::Within(decoder);
                        return Ok(read);
                    }
                    self.state = InputState::Between(decoder.into_inner());
                }
                InputState::Ended => return Ok(0),
            }
        }
    }
}

/// Skips skippable frames (RFC 8878, 3.1.2). Returns whether another frame follows.
fn skip_to_frame(source: &mut BufReader<Whole>) -> io::Result<bool> {
    use std::io::BufRead;
    loop {
        let head = source.fill_buf()?;
        if head.is_empty() {
            return Ok(false);
        }
        // Four bytes may span two reads. Then they are not checked, and a skippable frame at this
        // unusual place is an error of the decoder.
        let [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] = *head else { return Ok(true) };
        let mut header = [0; 8];
        source.read_exact(&mut header)?;
        let [.., a, b, c, d] = header;
        let length = u64::from(u32::from_le_bytes([a, b, c, d]));
        io::copy(&mut source.by_ref().take(length), &mut io::sink())?;
    }
}

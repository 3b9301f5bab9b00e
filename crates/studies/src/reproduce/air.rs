//! The air of a run, captured as `air.pcapng` has it and analysed as `lasthop capture` does,
//! while the run proceeds: from the thread of the run to one of the analysis, without a file.
//! Times in a capture are those of the run: its clock starts at 0. Of each packet the first
//! [`SNAP_BYTES`] are captured, as with `tcpdump -s`: all headers, and whole beacons.

use lasthop_capture::analysis::Analysis;
use lasthop_capture::file::Capture;
use lasthop_scenario::Scenario;
use lasthop_trace::AirStream;
use std::io::{self, ErrorKind, Read, Write};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

/// Frames of the air that are captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Air {
    /// No capture of the air.
    #[default]
    Nothing,
    /// All frames except data, Block Acks and Block Ack Requests, for absences.
    WithoutData,
    /// All frames on the air.
    Everything,
}

/// Bytes that are captured of each packet: radiotap, MAC, LLC, IP and TCP headers with all
/// options have less than 200 together.
pub const SNAP_BYTES: u32 = 256;
/// Chunks of 64 KiB that the run may be ahead of the analysis.
const CHUNKS_AHEAD: usize = 8;

impl Air {
    /// Streams of a recorder; `None` if nothing is captured, or there is no cell.
    pub fn stream(self, scenario: &Scenario) -> Option<AirStream> {
        let data = match self {
            Self::Nothing => return None,
            Self::WithoutData => false,
            Self::Everything => true,
        };
        let info = lasthop_sim::air(scenario)?;
        Some(AirStream { info, snap_bytes: Some(SNAP_BYTES), data })
    }
}

/// Reads a capture to its end. The analysis lists errors of the capture.
pub fn analyse(source: impl Read + 'static) -> Analysis {
    let mut analysis = Analysis::default();
    match Capture::open(source) {
        Ok(mut capture) => loop {
            match capture.next_packet() {
                Ok(Some(packet)) => analysis.handle_packet(&packet),
                Ok(None) => break,
                Err(error) => analysis.handle_error(&error),
            }
        },
        Err(error) => analysis.handle_error(&error),
    }
    analysis.finish();
    analysis
}

/// Returns the two ends of a pipe between threads. A write waits until there is space.
/// If one end closes, so does the other: a reader reaches the end of the file, a writer gets [`ErrorKind::BrokenPipe`].
pub fn pipe() -> (Writer, Reader) {
    let (sender, receiver) = sync_channel(CHUNKS_AHEAD);
    (Writer(sender), Reader { receiver, chunk: Vec::new(), at: 0 })
}

/// The end of a pipe that is written to. Each write is a chunk: it should have a buffer.
#[derive(Debug)]
pub struct Writer(SyncSender<Vec<u8>>);

/// The end of a pipe that is read from.
#[derive(Debug)]
pub struct Reader {
    receiver: Receiver<Vec<u8>>,
    chunk: Vec<u8>,
    at: usize,
}

impl Write for Writer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // An empty chunk would be the end of the file.
        if !bytes.is_empty() {
            self.0.send(bytes.to_vec()).map_err(|_| io::Error::from(ErrorKind::BrokenPipe))?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Read for Reader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at == self.chunk.len() {
            // Without a writer there is no more.
            let Ok(chunk) = self.receiver.recv() else { return Ok(0) };
            (self.chunk, self.at) = (chunk, 0);
        }
        let rest = &self.chunk[self.at..];
        let read = rest.len().min(buffer.len());
        buffer[..read].copy_from_slice(&rest[..read]);
        self.at += read;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn a_pipe_carries_what_is_written() {
        let (mut writer, mut reader) = pipe();
        let sent: Vec<u8> = (0..100_000u32).map(|byte| (byte % 251) as u8).collect();
        thread::scope(|scope| {
            let read = scope.spawn(move || {
                let mut read = Vec::new();
                reader.read_to_end(&mut read).map(|_| read)
            });
            let mut rest = &sent[..];
            for length in [0, 1, 0, 7, 60_000, 39_992] {
                let (chunk, behind) = rest.split_at(length);
                writer.write_all(chunk).unwrap();
                rest = behind;
            }
            drop(writer);
            assert!(read.join().unwrap().unwrap() == sent);
        });
    }

    #[test]
    fn an_end_is_the_end_of_both() {
        let (mut writer, reader) = pipe();
        drop(reader);
        assert_eq!(writer.write(b"a").unwrap_err().kind(), ErrorKind::BrokenPipe);
        let (writer, mut reader) = pipe();
        drop(writer);
        assert_eq!(reader.read(&mut [0]).unwrap(), 0);
        // A capture that nobody has begun to write is an error in the list, and no panic.
        let (writer, reader) = pipe();
        drop(writer);
        assert_eq!(analyse(reader).file.errors.len(), 1);
    }
}

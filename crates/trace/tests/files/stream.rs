//! The air as a stream: what `air.pcapng` has, all of it, the first bytes of each packet, or
//! without data. The blocks are read here as the draft of pcapng has them.

use crate::scene;
use lasthop_net::network::NetworkStats;
use lasthop_trace::{AirStream, OutputError, Recorder};
use std::fs;
use std::io::{self, Write};
use std::sync::{Arc, Mutex};

/// Stores the written bytes.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<u8>>>);

impl Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Fails after some bytes, as a stream that lost its reader.
struct Broken(usize);

impl Write for Broken {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(self.0);
        self.0 -= taken;
        if taken == 0 { Err(io::ErrorKind::BrokenPipe.into()) } else { Ok(taken) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn record(stream: &AirStream, target: impl Write + Send + 'static) -> Result<(), OutputError> {
    let target = Box::new(target);
    let mut recorder =
        Recorder::with_air_stream(scene::names(), scene::recording(), stream, target)?;
    scene::play(&mut recorder);
    recorder.finish(&scene::info(), &NetworkStats::default()).map(|_| ())
}

fn streamed(snap_bytes: Option<u32>, data: bool) -> Vec<u8> {
    let kept = Kept::default();
    let stream = AirStream { info: scene::air(), snap_bytes, data };
    record(&stream, kept.clone()).unwrap();
    let bytes = kept.0.lock().unwrap();
    bytes.clone()
}

fn number(bytes: &[u8], at: usize) -> usize {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize
}

/// The type and the body of each block.
pub fn blocks(file: &[u8]) -> Vec<(usize, &[u8])> {
    let (mut at, mut blocks) = (0, Vec::new());
    while at < file.len() {
        let length = number(file, at + 4);
        assert_eq!(number(file, at + length - 4), length, "a block has its length at both ends");
        blocks.push((number(file, at), &file[at + 8..at + length - 4]));
        at += length;
    }
    blocks
}

/// Returns the length on the air of each packet, and the captured length.
pub fn packets(file: &[u8]) -> Vec<(usize, Vec<u8>)> {
    let packets = blocks(file).into_iter().filter(|(kind, _)| *kind == 6);
    packets.map(|(_, body)| (number(body, 16), body[20..20 + number(body, 12)].to_vec())).collect()
}

#[test]
fn it_is_the_file() {
    let path = scene::scratch("stream");
    scene::record(&path, &scene::files(), scene::play);
    let file = fs::read(path.join("air.pcapng")).unwrap();
    assert!(streamed(None, true) == file, "byte by byte");
    let whole = packets(&file);
    let longest = whole.iter().map(|(length, _)| *length as u32).max().unwrap();
    for snap in 40..longest + 2 {
        let cut = packets(&streamed(Some(snap), true));
        let expected = whole
            .iter()
            .map(|(length, bytes)| (*length, bytes[..bytes.len().min(snap as usize)].to_vec()));
        assert_eq!(cut, expected.collect::<Vec<_>>());
    }
    let bare = packets(&streamed(None, false));
    // Type and subtype are in the first byte behind radiotap, whose length is its third and
    // fourth: data with a body (subtypes 0 and 8), Block Ack and Block Ack Request.
    let about_data = |bytes: &[u8]| {
        matches!(
            bytes[usize::from(u16::from_le_bytes([bytes[2], bytes[3]]))],
            0x08 | 0x88 | 0x94 | 0x84
        )
    };
    let mut expected = whole.clone();
    expected.retain(|(_, bytes)| !about_data(bytes));
    assert!(!expected.is_empty() && expected.len() < whole.len());
    assert_eq!(bare, expected);
}

#[test]
fn an_end_that_does_not_read_is_an_error() {
    let stream = AirStream { info: scene::air(), snap_bytes: None, data: true };
    for bytes in [0, 100, 1_000] {
        let error = record(&stream, Broken(bytes)).unwrap_err();
        assert!(matches!(error, OutputError::Stream(_)), "{error}");
    }
}

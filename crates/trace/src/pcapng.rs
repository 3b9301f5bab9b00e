//! Writes pcapng files (draft-ietf-opsawg-pcapng): a Section Header Block, one
//! Interface Description Block, a Name Resolution Block with the nodes, then Enhanced
//! Packet Blocks. Everything is little-endian; timestamps are in nanoseconds since the
//! start of the run. Packets are truncated only where a snap length says so, and none is
//! longer than that; those with made-up payload may be shorter. Leaves out statistics
//! blocks.

use crate::output::{OutputError, Target};
use lasthop_hosts::FrameDirection;
use lasthop_units::Instant;
use std::io::{self, BufWriter, Write};

/// Link-layer header types (tcpdump.org/linktypes.html).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LinkType {
    /// Ethernet frames without FCS.
    Ethernet = 1,
    /// Radiotap headers, each followed by an 802.11 frame.
    Radiotap = 127,
}

/// Bytes of a packet that are captured at most where the payload of made-up frames is left
/// out: the longest beacon, of which the TIM alone may take 256, and all headers of data.
pub(crate) const SNAP_BYTES: u32 = 512;

/// A capture that is being written, with a buffer of 64 KiB.
pub(crate) struct Capture {
    file: BufWriter<Target>,
    block: Vec<u8>,
    /// Bytes of a packet that are written at most.
    snap_bytes: usize,
}

impl Capture {
    pub(crate) fn new(
        target: impl Into<Target>,
        link_type: LinkType,
        interface: &str,
        snap_bytes: Option<u32>,
    ) -> Result<Self, OutputError> {
        let mut capture = Self {
            file: BufWriter::with_capacity(64 * 1024, target.into()),
            block: Vec::new(),
            snap_bytes: snap_bytes.map_or(usize::MAX, |bytes| bytes as usize),
        };
        let description = interface_description(link_type, interface, snap_bytes.unwrap_or(0));
        capture
            .write(section_header())
            .and_then(|()| capture.write(description))
            .map_err(|source| capture.file.get_ref().error(source))?;
        Ok(capture)
    }

    /// Appends names of addresses.
    pub(crate) fn names(&mut self, names: &[(Address, &str)]) -> Result<(), OutputError> {
        self.write(name_resolution(names)).map_err(|source| self.file.get_ref().error(source))
    }

    /// Appends a packet of `length` bytes that begins with `bytes`, of which the snap
    /// length leaves out the end. `direction` is `None` if it is not known.
    pub(crate) fn packet(
        &mut self,
        at: Instant,
        direction: Option<FrameDirection>,
        bytes: &[u8],
        length: usize,
    ) -> Result<(), OutputError> {
        let mut block = std::mem::take(&mut self.block);
        block.clear();
        let nanos = at.as_nanos();
        begin(&mut block, ENHANCED_PACKET);
        let bytes = &bytes[..bytes.len().min(self.snap_bytes)];
        for field in [0, (nanos >> 32) as u32, nanos as u32, bytes.len() as u32, length as u32] {
            block.extend_from_slice(&field.to_le_bytes());
        }
        block.extend_from_slice(bytes);
        pad(&mut block);
        if let Some(direction) = direction {
            let flags: u32 = match direction {
                FrameDirection::Received => 1,
                FrameDirection::Sent => 2,
            };
            option(&mut block, EPB_FLAGS, &flags.to_le_bytes());
            option(&mut block, END_OF_OPTIONS, &[]);
        }
        end(&mut block);
        let written = self.file.write_all(&block);
        self.block = block;
        written.map_err(|source| self.file.get_ref().error(source))
    }

    /// Bytes of a packet that are written at most.
    pub(crate) const fn snap_bytes(&self) -> usize {
        self.snap_bytes
    }

    /// Writes what is buffered.
    pub(crate) fn close(mut self) -> Result<(), OutputError> {
        self.file.flush().map_err(|source| self.file.get_ref().error(source))
    }

    fn write(&mut self, block: Vec<u8>) -> io::Result<()> {
        self.file.write_all(&block)
    }
}

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE_DESCRIPTION: u32 = 1;
const NAME_RESOLUTION: u32 = 4;
const ENHANCED_PACKET: u32 = 6;
const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;

const END_OF_OPTIONS: u16 = 0;
const SHB_USER_APPLICATION: u16 = 4;
const IF_NAME: u16 = 2;
const IF_TIMESTAMP_RESOLUTION: u16 = 9;
/// The value of the option for timestamps in units of 10^-9 s.
const NANOSECONDS: u8 = 9;
const EPB_FLAGS: u16 = 2;
const NRB_RECORD_END: u16 = 0;
const NRB_RECORD_IPV4: u16 = 1;
const NRB_RECORD_EUI48: u16 = 3;

/// An address that has a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Address {
    Ipv4([u8; 4]),
    Eui48([u8; 6]),
}

fn section_header() -> Vec<u8> {
    let mut block = Vec::new();
    begin(&mut block, SECTION_HEADER);
    block.extend_from_slice(&BYTE_ORDER_MAGIC.to_le_bytes());
    // Version 1.0; the section's length is unknown.
    block.extend_from_slice(&1u16.to_le_bytes());
    block.extend_from_slice(&0u16.to_le_bytes());
    block.extend_from_slice(&u64::MAX.to_le_bytes());
    let application = concat!("lasthop ", env!("CARGO_PKG_VERSION"));
    option(&mut block, SHB_USER_APPLICATION, application.as_bytes());
    option(&mut block, END_OF_OPTIONS, &[]);
    end(&mut block);
    block
}

fn interface_description(link_type: LinkType, name: &str, snap_bytes: u32) -> Vec<u8> {
    let mut block = Vec::new();
    begin(&mut block, INTERFACE_DESCRIPTION);
    block.extend_from_slice(&(link_type as u16).to_le_bytes());
    // Two reserved bytes; then the snap length, of which 0 is no limit.
    block.extend_from_slice(&[0; 2]);
    block.extend_from_slice(&snap_bytes.to_le_bytes());
    option(&mut block, IF_NAME, name.as_bytes());
    option(&mut block, IF_TIMESTAMP_RESOLUTION, &[NANOSECONDS]);
    option(&mut block, END_OF_OPTIONS, &[]);
    end(&mut block);
    block
}

/// A Name Resolution Block (section 4.5). A name ends at a zero byte, which the value of
/// a record includes.
fn name_resolution(names: &[(Address, &str)]) -> Vec<u8> {
    let mut block = Vec::new();
    begin(&mut block, NAME_RESOLUTION);
    for (address, name) in names {
        let (kind, address) = match address {
            Address::Ipv4(octets) => (NRB_RECORD_IPV4, &octets[..]),
            Address::Eui48(octets) => (NRB_RECORD_EUI48, &octets[..]),
        };
        let name = name.split('\0').next().unwrap_or_default().as_bytes();
        // Records have the form of options.
        option(&mut block, kind, &[address, name, &[0]].concat());
    }
    option(&mut block, NRB_RECORD_END, &[]);
    end(&mut block);
    block
}

/// Appends a block's type, and a placeholder for its length.
fn begin(block: &mut Vec<u8>, kind: u32) {
    block.extend_from_slice(&kind.to_le_bytes());
    block.extend_from_slice(&[0; 4]);
}

/// Appends a block's length in bytes, and writes it into the placeholder too.
fn end(block: &mut Vec<u8>) {
    let length = (block.len() as u32 + 4).to_le_bytes();
    block.extend_from_slice(&length);
    block[4..8].copy_from_slice(&length);
}

/// Appends an option. A value of more than 65 535 bytes is truncated.
fn option(block: &mut Vec<u8>, code: u16, value: &[u8]) {
    let value = &value[..value.len().min(usize::from(u16::MAX))];
    block.extend_from_slice(&code.to_le_bytes());
    block.extend_from_slice(&(value.len() as u16).to_le_bytes());
    block.extend_from_slice(value);
    pad(block);
}

fn pad(block: &mut Vec<u8>) {
    block.resize(block.len().next_multiple_of(4), 0);
}

//! Writes pcapng files (draft-ietf-opsawg-pcapng): a Section Header Block, Interface
//! Description Blocks, a Name Resolution Block with the nodes, then Enhanced Packet Blocks.
//! Everything is little-endian; timestamps are nanoseconds since the start of the run. The snap
//! length limits every packet; those with made-up payload may be shorter. Leaves out statistics
//! blocks.

use crate::output::{OutputError, Target};
use lasthop_hosts::FrameDirection;
use lasthop_units::Instant;
use std::io::Write;

/// Link-layer header types (tcpdump.org/linktypes.html).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LinkType {
    /// Ethernet frames without FCS.
    Ethernet = 1,
    /// Radiotap headers, each followed by an 802.11 frame.
    Radiotap = 127,
}

/// Snap length of captures without the payload of made-up frames: the longest beacon, of which the
/// TIM alone may need 256 bytes, and all headers of data.
pub(crate) const SNAP_BYTES: u32 = 512;

/// A capture that is being written. Blocks are made in the buffer of waiting bytes.
pub(crate) struct Capture {
    target: Target,
    waiting: Vec<u8>,
    /// Longest record of a packet, in bytes.
    snap_bytes: usize,
    /// Interface of the next packets.
    interface: u32,
}

/// Number of waiting bytes at which they are written.
const WAITING_BYTES: usize = 64 * 1024;

impl Capture {
    pub(crate) fn new(
        target: impl Into<Target>,
        link_type: LinkType,
        interface: &str,
        snap_bytes: Option<u32>,
    ) -> Result<Self, OutputError> {
        let mut capture = Self {
            target: target.into(),
            waiting: Vec::with_capacity(2 * WAITING_BYTES),
            snap_bytes: snap_bytes.map_or(usize::MAX, |bytes| bytes as usize),
            interface: 0,
        };
        section_header(&mut capture.waiting);
        let snap_bytes = snap_bytes.unwrap_or(0);
        interface_description(link_type, interface, snap_bytes, &mut capture.waiting);
        capture.write_if_full()?;
        Ok(capture)
    }

    /// Adds a further interface, numbered by its place.
    pub(crate) fn interface(&mut self, link_type: LinkType, name: &str, snap_bytes: Option<u32>) {
        interface_description(link_type, name, snap_bytes.unwrap_or(0), &mut self.waiting);
    }

    /// Selects the interface of the next packets.
    pub(crate) const fn select(&mut self, interface: u32) {
        self.interface = interface;
    }

    /// Appends names of addresses.
    pub(crate) fn names(&mut self, names: &[(Address, &str)]) -> Result<(), OutputError> {
        name_resolution(names, &mut self.waiting);
        self.write_if_full()
    }

    /// Appends a packet. `emit` appends its bytes and returns the number left out at its end; the
    /// snap length may leave out more. `direction` is `None` if unknown.
    pub(crate) fn packet(
        &mut self,
        at: Instant,
        direction: Option<FrameDirection>,
        emit: impl FnOnce(&mut Vec<u8>) -> usize,
    ) -> Result<(), OutputError> {
        let out = &mut self.waiting;
        let block = out.len();
        let nanos = at.as_nanos();
        // Type, interface, time, and the lengths, which are known later.
        let mut head = [0; 28];
        head[..4].copy_from_slice(&ENHANCED_PACKET.to_le_bytes());
        head[8..12].copy_from_slice(&self.interface.to_le_bytes());
        head[12..16].copy_from_slice(&((nanos >> 32) as u32).to_le_bytes());
        head[16..20].copy_from_slice(&(nanos as u32).to_le_bytes());
        out.extend_from_slice(&head);
        let packet = out.len();
        let lengths = packet - 8;
        let left_out = emit(out);
        let length = out.len() - packet + left_out;
        out.truncate(packet.saturating_add(self.snap_bytes));
        let captured = out.len() - packet;
        out[lengths..lengths + 4].copy_from_slice(&(captured as u32).to_le_bytes());
        out[lengths + 4..packet].copy_from_slice(&(length as u32).to_le_bytes());
        pad(out, captured);
        if let Some(direction) = direction {
            let flags: u32 = match direction {
                FrameDirection::Received => 1,
                FrameDirection::Sent => 2,
            };
            // The option, and the end of options, which is zero.
            let mut options = [0; 12];
            options[0..2].copy_from_slice(&EPB_FLAGS.to_le_bytes());
            options[2] = size_of_val(&flags) as u8;
            options[4..8].copy_from_slice(&flags.to_le_bytes());
            out.extend_from_slice(&options);
        }
        end(out, block);
        self.write_if_full()
    }

    /// Writes the waiting bytes.
    pub(crate) fn close(mut self) -> Result<(), OutputError> {
        self.write()
    }

    fn write_if_full(&mut self) -> Result<(), OutputError> {
        if self.waiting.len() >= WAITING_BYTES { self.write() } else { Ok(()) }
    }

    fn write(&mut self) -> Result<(), OutputError> {
        let written = self.target.write_all(&self.waiting).and_then(|()| self.target.flush());
        self.waiting.clear();
        written.map_err(|source| self.target.error(source))
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
/// Value of the option for timestamps in units of 10^-9 s.
const NANOSECONDS: u8 = 9;
const EPB_FLAGS: u16 = 2;
const NRB_RECORD_END: u16 = 0;
const NRB_RECORD_IPV4: u16 = 1;
const NRB_RECORD_EUI48: u16 = 3;

/// An address with a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Address {
    Ipv4([u8; 4]),
    Eui48([u8; 6]),
}

fn section_header(block: &mut Vec<u8>) {
    let start = begin(block, SECTION_HEADER);
    block.extend_from_slice(&BYTE_ORDER_MAGIC.to_le_bytes());
    // Version 1.0; the section's length is unknown.
    block.extend_from_slice(&1u16.to_le_bytes());
    block.extend_from_slice(&0u16.to_le_bytes());
    block.extend_from_slice(&u64::MAX.to_le_bytes());
    let application = concat!("lasthop ", env!("CARGO_PKG_VERSION"));
    option(block, SHB_USER_APPLICATION, application.as_bytes());
    option(block, END_OF_OPTIONS, &[]);
    end(block, start);
}

fn interface_description(link_type: LinkType, name: &str, snap_bytes: u32, block: &mut Vec<u8>) {
    let start = begin(block, INTERFACE_DESCRIPTION);
    block.extend_from_slice(&(link_type as u16).to_le_bytes());
    // Two reserved bytes; then the snap length, of which 0 is no limit.
    block.extend_from_slice(&[0; 2]);
    block.extend_from_slice(&snap_bytes.to_le_bytes());
    option(block, IF_NAME, name.as_bytes());
    option(block, IF_TIMESTAMP_RESOLUTION, &[NANOSECONDS]);
    option(block, END_OF_OPTIONS, &[]);
    end(block, start);
}

/// Appends a Name Resolution Block (section 4.5). A name ends at a zero byte, which counts as part
/// of the record's value.
fn name_resolution(names: &[(Address, &str)], block: &mut Vec<u8>) {
    let start = begin(block, NAME_RESOLUTION);
    for (address, name) in names {
        let (kind, address) = match address {
            Address::Ipv4(octets) => (NRB_RECORD_IPV4, &octets[..]),
            Address::Eui48(octets) => (NRB_RECORD_EUI48, &octets[..]),
        };
        let name = name.split('\0').next().unwrap_or_default().as_bytes();
        // Records have the form of options.
        option(block, kind, &[address, name, &[0]].concat());
    }
    option(block, NRB_RECORD_END, &[]);
    end(block, start);
}

/// Appends a block's type, and a placeholder for its length. Returns where it starts.
fn begin(out: &mut Vec<u8>, kind: u32) -> usize {
    let start = out.len();
    out.extend_from_slice(&kind.to_le_bytes());
    out.extend_from_slice(&[0; 4]);
    start
}

/// Appends a block's length in bytes, and writes it into the placeholder too.
fn end(out: &mut Vec<u8>, start: usize) {
    let length = ((out.len() - start) as u32 + 4).to_le_bytes();
    out.extend_from_slice(&length);
    out[start + 4..start + 8].copy_from_slice(&length);
}

/// Appends an option. A value of more than 65 535 bytes is truncated.
fn option(block: &mut Vec<u8>, code: u16, value: &[u8]) {
    let value = &value[..value.len().min(usize::from(u16::MAX))];
    block.extend_from_slice(&code.to_le_bytes());
    block.extend_from_slice(&(value.len() as u16).to_le_bytes());
    block.extend_from_slice(value);
    pad(block, value.len());
}

/// Pads a value of `length` bytes with zeros to a multiple of 32 bits.
fn pad(block: &mut Vec<u8>, length: usize) {
    block.extend_from_slice(&[0; 3][..length.wrapping_neg() % 4]);
}

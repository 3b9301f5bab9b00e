//! IEEE 802.11 frames and radiotap headers as bytes.
//!
//! Each format has two levels. A *view* ([`frame::View`], [`radiotap::View`],
//! [`elements::Element`]) borrows bytes, checks only that the header is complete, and reads fields
//! on demand. A *`Repr`* holds plain values: `parse` makes one from a view, `buffer_len` returns
//! its encoded length, `emit` appends it to a `Vec<u8>`. Unknown codes survive the round trip;
//! reserved bits are ignored when read and written as zero.
//!
//! Rates, widths, resource units and operating modes are those of [`lasthop_wifi_phy`]. There is no
//! machine.
//!
//! The modules from the outside in:
//!
//! | module | content | clause (IEEE 802.11-2020) |
//! |---|---|---|
//! | [`radiotap`] | the receiver's knowledge of a frame | radiotap.org |
//! | [`ampdu`] | MPDU delimiters, resynchronisation | 9.7 |
//! | [`frame`] | the MAC header, whole MPDUs | 9.2, 9.3 |
//! | [`fcs`] | frame check sequence | 9.2.4.8 |
//! | [`control`], [`data`], [`management`] | the three frame types | 9.3.1, 9.3.2, 9.3.3 |
//! | [`action`], [`elements`] | inside management frames | 9.4, 9.6 |
//! | [`amsdu`], [`llc`], [`eapol`] | inside data frames | 9.3.2.2, 5.1.4, 12.7.2 |
//!
//! A Block Ack as a monitor interface delivers it, written and read:
//!
//! ```
//! use lasthop_units::{Dbm, Instant, MacAddr, SeqNo12};
//! use lasthop_wifi_phy::{Band, OfdmRate, Rate};
//! use lasthop_wifi_wire::{Flags, control, frame, radiotap};
//!
//! let channel = radiotap::Channel::from_number(Band::Ghz5, 36);
//! let rate = Rate::Ofdm(OfdmRate::Mbps24);
//! let header = radiotap::Repr::received(Instant::default(), rate, channel, Dbm(-48.0));
//! let block_ack = frame::Repr::Control(control::Repr {
//!     flags: Flags::default(),
//!     duration_id: 0,
//!     receiver: MacAddr::local(1),
//!     body: control::Body::BlockAck {
//!         transmitter: MacAddr::local(2),
//!         ack: control::BlockAck::compressed(0, SeqNo12::new(100), &[0b1011, 0, 0, 0, 0, 0, 0, 0]),
//!     },
//! });
//! let mut captured = Vec::new();
//! header.emit(&mut captured);
//! block_ack.emit_mpdu(&mut captured);
//!
//! let view = radiotap::View::new(&captured)?;
//! let layout = radiotap::Repr::parse(&view)?.flags.unwrap_or_default().layout();
//! let mpdu = frame::View::new(view.frame(), layout)?;
//! assert_eq!(mpdu.fcs_is_valid(), Some(true));
//! assert_eq!(frame::Repr::parse(&mpdu)?, block_ack);
//! # Ok::<(), lasthop_wifi_wire::Error>(())
//! ```
//!
//! No function panics, whatever the bytes. An [`Error`] names layer, field and byte offset. Not
//! read: protocol version 1 (S1G), encrypted bodies, mesh control, the content of HT Control,
//! radiotap TLVs of vendors and of S1G.

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod action;
pub mod ampdu;
pub mod amsdu;
pub mod control;
pub mod data;
pub mod eapol;
pub mod elements;
mod error;
pub mod fcs;
pub mod frame;
mod frame_control;
pub mod llc;
pub mod management;
pub mod operating_mode;
mod qos;
pub mod radiotap;
mod reader;
mod sequence_control;
#[cfg(test)]
mod tests;
mod view;

pub use error::{Error, Reason};
pub use frame_control::{Flags, FrameControl, Kind};
pub use qos::{AckPolicy, QosControl};
pub use sequence_control::SequenceControl;

/// Runs the examples of the README as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

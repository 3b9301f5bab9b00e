//! Frames and radiotap headers as bytes.
//!
//! Two levels for each format. A *view* ([`frame::View`], [`radiotap::View`],
//! [`elements::Element`]) borrows bytes, checks only that the header is there,
//! and reads fields on demand. A *`Repr`* holds sane values: `parse` makes one
//! from a view, `buffer_len` says how long it will be, `emit` appends it to a
//! `Vec<u8>`. Codes that are not known survive the round trip; reserved bits
//! are read as don't-care and written as zero.
//!
//! From the outside in:
//!
//! | module | what it is | clause (IEEE 802.11-2020) |
//! |---|---|---|
//! | [`radiotap`] | what the receiver knew about a frame | radiotap.org |
//! | [`ampdu`] | MPDU delimiters, resynchronisation | 9.7 |
//! | [`frame`] | the MAC header, whole MPDUs | 9.2, 9.3 |
//! | [`fcs`] | frame check sequence | 9.2.4.8 |
//! | [`control`], [`data`], [`management`] | the three frame types | 9.3.1, 9.3.2, 9.3.3 |
//! | [`action`], [`elements`] | inside management frames | 9.4, 9.6 |
//! | [`amsdu`], [`llc`] | inside data frames | 9.3.2.2, 5.1.4 |
//!
//! Nothing here panics, whatever the bytes. An [`Error`] names layer, field and
//! byte offset. Not read: protocol version 1 (S1G), encrypted bodies, mesh
//! control, HT Control beyond skipping it, radiotap TLVs.

pub mod action;
pub mod ampdu;
pub mod amsdu;
pub mod control;
pub mod data;
pub mod elements;
mod error;
pub mod fcs;
pub mod frame;
mod frame_control;
pub mod llc;
pub mod management;
mod qos;
pub mod radiotap;
mod reader;
mod sequence_control;
#[cfg(test)]
mod tests;

pub use error::{Error, Reason};
pub use frame_control::{Flags, FrameControl, Kind};
pub use qos::{AckPolicy, QosControl};
pub use sequence_control::SequenceControl;

//! Random linear network coding: packets that are linear combinations of source
//! symbols, over GF(2), GF(2^4) or GF(2^8).
//!
//! | side | a block of symbols | a window that slides |
//! |---|---|---|
//! | source | [`Encoder`] | [`window::WindowEncoder`] |
//! | intermediate node | [`Recoder`] | |
//! | destination | [`Decoder`] | [`window::WindowDecoder`] |
//!
//! A [`Vector`] says which combination of symbols a packet is. There is no I/O:
//! bytes are taken and returned, seeds are arguments, and nothing is allocated
//! after a codec was created. The arithmetic is exact, so results are the same on
//! every CPU; [`Kernel`] detects the instructions to compute them with. Leaves out
//! a wire format, when to send which packet (both belong to the protocol), and any
//! check that a packet matches its vector: a forged packet spoils a block, so
//! authenticate packets first.

#![no_std]
#![deny(unsafe_code)]

extern crate alloc;

mod basis;
mod code;
mod decoder;
mod encoder;
mod field;
mod kernel;
mod recoder;
mod symbols;
mod vector;
pub mod window;

#[cfg(test)]
mod reference;
#[cfg(test)]
mod tests;

pub use code::{Code, CodeError, PacketError, Received, SymbolError};
pub use decoder::Decoder;
pub use encoder::Encoder;
pub use field::Field;
pub use kernel::Kernel;
pub use recoder::Recoder;
pub use symbols::Symbols;
pub use vector::{Density, Vector};

/// The examples of the README, as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

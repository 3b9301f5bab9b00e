//! Random linear network coding: packets that are linear combinations of source
//! symbols, over GF(2), GF(2^4) or GF(2^8).
//!
//! | side | a block of symbols | a window that slides |
//! |---|---|---|
//! | source | [`Encoder`] | [`window::Encoder`] |
//! | on the way | [`Recoder`] | |
//! | destination | [`Decoder`] | [`window::Decoder`] |
//!
//! A [`Vector`] says which combination a packet is. Values only: bytes come in and
//! go out, seeds are arguments, nothing is allocated after a codec was made. The
//! arithmetic is exact, so a result is the same on every CPU; which instructions
//! compute it, [`Kernel`] finds out. Left out: a wire format, when to send what
//! (both are the protocol's), and any check that a packet is what its vector says:
//! a forged packet spoils a block, so authenticate first.

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

//! The quantities that all other crates use: instants and durations in integer
//! nanoseconds, bit rates, byte counts, powers, probabilities, addresses, sequence
//! numbers, token buckets, constant rates, and independent random streams.
//!
//! Each quantity is a type with only the arithmetic that makes sense: a [`Bytes`] divided by a
//! [`Bitrate`] is a [`Duration`], and two [`Dbm`] cannot be added. The crate has no clock, no
//! entropy and no I/O.

#![no_std]
#![forbid(unsafe_code)]

mod address;
mod machine;
mod pace;
mod power;
mod quantity;
mod random;
mod sequence;
mod time;
mod token_bucket;

pub use address::MacAddr;
pub use machine::Machine;
pub use pace::Pace;
pub use power::{Db, Dbm, Meters};
pub use quantity::{Bitrate, Bytes, Probability};
pub use random::{Identity, Seed, Stream, fnv_1a};
pub use sequence::SeqNo12;
pub use time::{Duration, Instant};
pub use token_bucket::TokenBucket;

/// Runs the examples of the README as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

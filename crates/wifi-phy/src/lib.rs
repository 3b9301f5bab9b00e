//! The physical layer of IEEE 802.11a/b/g/n, ac, ax and be: rates, PPDU durations, error model, channel.
//!
//! [`Rate`] is the mode of a PPDU and determines its duration. [`MuPpdu`] and [`TriggeredPpdu`] are
//! HE PPDUs of several users, [`VhtMuPpdu`] is their VHT form, [`EhtMuPpdu`] and
//! [`EhtTriggeredPpdu`] their EHT form. [`SpatialShare`] gives the SINR of a
//! user of MU-MIMO, [`Feedback`] the length of a sounding report. The MAC derives its intervals
//! from [`Timing`] and its control responses from [`ControlRates`]. A [`Link`] gives the SNR at an
//! instant, and [`ErrorModel`] the probability that a frame is decoded at it. A [`Subchannel`] is
//! the position of a channel in the band.
//!
//! All of it is values and pure functions: there is no machine, no clock and no I/O. A random stream
//! is an argument where a channel is drawn.

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod airtime;
mod basic;
mod channel;
mod eht;
mod eht_mu;
mod eht_ru;
mod error;
mod he;
mod modulation;
mod mu;
mod mu_mimo;
mod operating_mode;
mod rate;
mod ru;
mod sounding;
mod subchannel;
mod timing;
mod vht;
mod vht_mu;

pub use basic::ControlRates;
pub use channel::{Fading, Link, LinkConfig, PathLoss, Propagation, SnrChange};
pub use eht::EhtSignal;
pub use eht_mu::{EhtMuError, EhtMuPpdu, EhtMuUser, EhtTriggeredPpdu};
pub use eht_ru::{EhtRu, Puncturing};
pub use error::{ErrorModel, PerRow, PerTable, PerTableError};
pub use he::UNTIL_SIGNAL_A;
pub use he::{HeGuardInterval, PacketPadding};
pub use modulation::{CodeRate, Modulation};
pub use mu::{MuError, MuPpdu, MuUser, SignalB, TriggeredPpdu};
pub use mu_mimo::{Codebook, SpatialShare, aged_error};
pub use operating_mode::OperatingMode;
pub use rate::{Band, ChannelWidth, DsssRate, GuardInterval, OfdmRate, Preamble, Rate};
pub use ru::{Ru, RuSize};
pub use sounding::{Feedback, Grouping, eht_ndp, he_ndp};
pub use subchannel::Subchannel;
pub use timing::{Standard, Timing};
pub use vht_mu::{VHT_MU_USERS_MAX, VhtMuError, VhtMuPpdu, VhtMuUser, vht_ndp};

/// Runs the examples of the README as tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

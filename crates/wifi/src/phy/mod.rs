//! The physical layer: rates, PPDU durations, error model, channel.
//!
//! [`Rate`] is how a PPDU is sent and how long that takes; [`Timing`] and
//! [`ControlRates`] are what the MAC derives its intervals and its control
//! responses from; [`ErrorModel`] is what becomes of a frame at an SNR.

mod airtime;
mod basic;
mod error;
mod rate;
mod timing;

pub use basic::ControlRates;
pub use error::{ErrorModel, PerRow, PerTable, PerTableError};
pub use rate::{
    Band, ChannelWidth, CodeRate, DsssRate, GuardInterval, Modulation, OfdmRate, Preamble, Rate,
};
pub use timing::{Standard, Timing};

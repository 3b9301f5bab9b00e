//! The physical layer: rates, PPDU durations, error model, channel.

mod rate;

pub use rate::{Band, ChannelWidth, DsssRate, GuardInterval, OfdmRate, Preamble, Rate};

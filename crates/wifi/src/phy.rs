//! The physical layer: rates, PPDU durations, error model, channel.
//!
//! [`Rate`] is how a PPDU is sent and how long that takes, [`MuPpdu`] and
//! [`TriggeredPpdu`] are HE PPDUs of several users, [`VhtMuPpdu`] VHT ones, [`SpatialShare`] what
//! each receives of MU-MIMO, [`Feedback`] what it costs to sound for it; [`Timing`] and
//! [`ControlRates`] are what the MAC derives its intervals and its control
//! responses from; a [`Link`] is which SNR there is, and [`ErrorModel`] what
//! becomes of a frame at it; a [`Subchannel`] is where in the band a channel is.

mod airtime;
mod basic;
mod channel;
mod error;
mod he;
mod mu;
mod mu_mimo;
mod rate;
mod ru;
mod sounding;
mod subchannel;
mod timing;
mod vht;
mod vht_mu;

pub use basic::ControlRates;
pub use channel::{Fading, Link, LinkConfig, PathLoss, Propagation, SnrChange};
pub use error::{ErrorModel, PerRow, PerTable, PerTableError};
pub(crate) use he::UNTIL_SIGNAL_A;
pub use he::{HeGuardInterval, PacketPadding};
pub use mu::{MuError, MuPpdu, MuUser, SignalB, TriggeredPpdu};
pub use mu_mimo::{Codebook, SpatialShare, aged_error};
pub use rate::{
    Band, ChannelWidth, CodeRate, DsssRate, GuardInterval, Modulation, OfdmRate, Preamble, Rate,
};
pub use ru::{Ru, RuSize};
pub use sounding::{Feedback, Grouping, he_ndp};
pub use subchannel::Subchannel;
pub use timing::{Standard, Timing};
pub use vht_mu::{VHT_MU_USERS_MAX, VhtMuError, VhtMuPpdu, VhtMuUser, vht_ndp};

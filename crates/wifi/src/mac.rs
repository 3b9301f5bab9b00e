//! The medium access control layer, in mechanisms that do not drive each other: they use
//! each other's values (ARCHITECTURE.md says which), and [`cell`](crate::cell) puts them
//! together.
//!
//! | module | what it is |
//! |---|---|
//! | [`contention`] | who gains the channel when |
//! | [`backoff`] | contention windows |
//! | [`originator`] | MPDUs on their way to one peer |
//! | [`block_ack`] | what a recipient remembers and reorders |
//! | [`rate`] | rate control |
//! | [`beacon_clock`] | whether a dozing station is awake in time for a beacon |
//! | [`power_save`] | when a station dozes, and what a beacon announces to it |
//! | [`service_period`] | what a station in power save mode agreed on: U-APSD, TWT |
//! | [`retry_out`] | giving MPDUs up at the receiver |
//! | [`scan`] | when a station leaves its channel |
//! | [`absence`] | when frames waited for a station that was not there |
//! | [`adaptive_mtu`] | how long packets should be |
//! | [`mpdu`], [`sizes`] | data frames, lengths |

pub mod absence;
pub mod adaptive_mtu;
pub mod backoff;
pub mod beacon_clock;
pub mod block_ack;
pub mod contention;
pub mod mpdu;
pub mod originator;
pub mod power_save;
pub mod rate;
pub mod retry_out;
pub mod scan;
pub mod service_period;
pub mod sizes;

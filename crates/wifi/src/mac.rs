//! The medium access control layer: mechanisms that never drive each other. [`cell`](crate::cell)
//! combines them. The mechanisms use `phy`, capabilities and station numbers, and know neither the
//! air nor a cell.
//!
//! Mechanisms use each other's values, as a test compares: `adaptive_mtu` → `sizes`; `announcement` →
//! `sizes`; `block_ack` → `mpdu`; `mpdu` → `absence`, `sizes`; `power_save` → `beacon_clock`;
//! `retry_out` → `block_ack`; `originator` → `block_ack`, `mpdu`, `rate`, `retry_out`; `roam` →
//! `announcement`, `channel_switch`, `scan`, `sizes`.
//!
//! | module | models |
//! |---|---|
//! | [`contention`] | the stations that gain the channel, and the instant |
//! | [`backoff`] | contention windows |
//! | [`originator`] | MPDUs on their way to one peer |
//! | [`block_ack`] | scoreboard and reorder buffer of a recipient |
//! | [`rate`] | rate control |
//! | [`beacon_clock`] | a dozing station's clock, which may miss beacons |
//! | [`power_save`] | doze of a station, and the TIM of a beacon |
//! | [`service_period`] | agreements on service periods: U-APSD, TWT |
//! | [`retry_out`] | MPDUs given up by the receiver (pseudo retry-out) |
//! | [`channel_switch`] | an access point that moves to another channel |
//! | [`roam`] | stations that move from one access point to another |
//! | [`scan`] | schedule of background scans |
//! | [`schedule`] | absences by a clock: other networks, Bluetooth, radar |
//! | [`absence`] | waits of frames for an absent station |
//! | [`adaptive_mtu`] | packet length with the highest goodput |
//! | [`mpdu`], [`sizes`] | data frames, lengths |
//! | [`announcement`] | lengths of beacons and probes of 802.11be |

pub mod absence;
pub mod adaptive_mtu;
pub mod announcement;
pub mod backoff;
pub mod beacon_clock;
pub mod block_ack;
pub mod channel_switch;
pub mod contention;
pub mod mpdu;
pub mod originator;
pub mod power_save;
pub mod rate;
pub mod retry_out;
pub mod roam;
pub mod scan;
pub mod schedule;
pub mod service_period;
pub mod sizes;

//! Block Ack (IEEE 802.11-2020, 10.25): what a recipient remembers and reorders.

mod recipient;
mod scoreboard;

pub use recipient::{Reception, Recipient};
pub use scoreboard::Scoreboard;

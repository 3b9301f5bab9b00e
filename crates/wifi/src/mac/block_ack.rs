//! Block Ack (IEEE 802.11-2020, 10.25): what a recipient remembers and reorders.

mod bitmap;
mod recipient;
mod scoreboard;

pub use bitmap::Bitmap;
pub use recipient::{Reception, Recipient};
pub use scoreboard::Scoreboard;

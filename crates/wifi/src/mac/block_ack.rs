//! Block Ack (IEEE 802.11-2020, 10.25): scoreboard and reorder buffer of a recipient.

mod bitmap;
mod recipient;
mod scoreboard;

pub use bitmap::Bitmap;
pub use recipient::{Reception, Recipient};
pub use scoreboard::Scoreboard;

//! What a radio hands over: an MPDU without its bytes, and the rates at which it is tried.

use super::radio::BEACON_ACCESS;
use crate::phy::{Band, Rate};
use crate::station::Address;
use lasthop_packet::AccessCategory;
use lasthop_units::SeqNo12;

/// Stages of a series, as Linux' rate control has them (`IEEE80211_TX_MAX_RATES`).
pub const STAGES: usize = 4;

/// A channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Channel {
    /// Its band, which decides about SIFS, slots and preambles.
    pub band: Band,
    /// Its primary centre frequency in MHz: channels fade by themselves.
    pub mhz: u32,
}

/// A stage of a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stage {
    /// Rate of the PPDU.
    pub rate: Rate,
    /// Tries at this rate, at least 1.
    pub tries: u8,
    /// Each is preceded by RTS and CTS.
    pub rts: bool,
}

/// Rates to try in order.
pub type Series = [Option<Stage>; STAGES];

/// The response that a frame asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Response {
    /// An Ack; in an A-MPDU a Block Ack.
    Ack,
    /// A Block Ack, after a Block Ack Request.
    BlockAck,
}

/// What a Block Ack agreement says of an MPDU that it covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Agreement {
    /// TID, 0 to 15.
    pub tid: u8,
    /// Sequence number.
    pub sequence: SeqNo12,
}

/// An MPDU that a radio hands over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The radio's name for it, unique among its frames that are not settled.
    pub tag: u64,
    /// Its addressee; `None` if no radio of the medium has that address.
    pub to: Option<Address>,
    /// Length with MAC header and FCS in bytes.
    pub bytes: u32,
    /// Its access category; `None` for beacons, which go ahead of all.
    pub category: Option<AccessCategory>,
    /// The response that it asks for; none for group-addressed ones.
    pub response: Option<Response>,
    /// The Block Ack agreement that covers it: it may share an A-MPDU with others of it.
    pub agreement: Option<Agreement>,
    /// When to try which rate; the first stage is there.
    pub series: Series,
}

impl Frame {
    pub(super) fn access_index(&self) -> usize {
        self.category.map_or(BEACON_ACCESS, AccessCategory::index)
    }
}

//! A frame that a radio submits: an MPDU without its bytes, and the rates at which it is tried.

use super::radio::BEACON_ACCESS;
use crate::phy::{Band, Rate};
use crate::station::Address;
use lasthop_packet::AccessCategory;
use lasthop_units::SeqNo12;

/// Number of stages of a series, as in Linux' rate control (`IEEE80211_TX_MAX_RATES`).
pub const STAGES: usize = 4;

/// Band and frequency of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Channel {
    /// Band of the channel, which determines SIFS, slots and preambles.
    pub band: Band,
    /// Primary centre frequency in MHz; the fading of each channel is independent.
    pub mhz: u32,
}

/// A stage of a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stage {
    /// Rate of the PPDU.
    pub rate: Rate,
    /// Number of tries at this rate, at least 1.
    pub tries: u8,
    /// Whether RTS and CTS precede each try.
    pub rts: bool,
}

/// Stages in the order of their use.
pub type Series = [Option<Stage>; STAGES];

/// The response that a frame requires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Response {
    /// An Ack; in an A-MPDU a Block Ack.
    Ack,
    /// A Block Ack, after a Block Ack Request.
    BlockAck,
}

/// Position of an MPDU in its Block Ack agreement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameAgreement {
    /// TID, 0 to 15.
    pub tid: u8,
    /// Sequence number of the MPDU.
    pub sequence: SeqNo12,
}

/// An MPDU that a radio submits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TxFrame {
    /// Tag of the frame, unique among those of its radio that are not settled.
    pub tag: u64,
    /// Addressee of the frame; `None` if no radio of the medium has that address.
    pub to: Option<Address>,
    /// Length with MAC header and FCS in bytes.
    pub bytes: u32,
    /// Access category of the frame; `None` for beacons, which precede all.
    pub category: Option<AccessCategory>,
    /// Required response; none for group-addressed frames.
    pub response: Option<Response>,
    /// Block Ack agreement of the frame, whose frames may share an A-MPDU.
    pub agreement: Option<FrameAgreement>,
    /// Rates in the order of their use; the first stage must exist.
    pub series: Series,
}

impl TxFrame {
    pub(super) fn access_index(&self) -> usize {
        self.category.map_or(BEACON_ACCESS, AccessCategory::index)
    }
}

//! The part of its abilities that a station uses (IEEE 802.11-2020, 11.40; IEEE 802.11ax-2021, 26.9).

use crate::ChannelWidth;

/// Subset of its capabilities that a station uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OperatingMode {
    /// Width of the widest PPDU that it receives and sends, around its primary 20 MHz.
    pub width: ChannelWidth,
    /// Limit of spatial streams that it receives, 1 to 8 (Rx NSS).
    pub receive_streams: u8,
    /// Limit of spatial streams that it sends, 1 to 8 (Tx NSTS).
    pub transmit_streams: u8,
    /// Whether the station answers Trigger frames that solicit data or buffer status (UL MU Data
    /// Disable is 0). Only an HE station can clear it.
    pub uplink_ofdma: bool,
}

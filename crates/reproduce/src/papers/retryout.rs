//! `retryout`: an access point that keeps a station's queue short by giving up
//! retransmissions for it. The scenarios are in `scenarios/retryout/`.

use crate::figure::Paper;

/// The paper.
pub const PAPER: Paper = Paper {
    key: "retryout",
    title: "A Solution for Bufferbloat Problem in Upload TCP Communication over IEEE 802.11n WLAN \
            Only by Modifying Access Point",
    source: "M. Nomoto, T. Kato, C. Wu, S. Ohzahata",
    setting: "A laptop at several distances from an access point uploads bulk TCP through a \
              server behind it while it pings that server.",
    calibrated: &[],
    figures: &[],
};

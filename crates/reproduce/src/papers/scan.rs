//! `scan`: what looking for other access points does to TCP. Two laptops in a
//! 5 GHz cell of 40 MHz; one sends to or receives from a server for 300 s, the
//! other one watches the air. The scenarios are in `scenarios/scan/`.

use crate::figure::Paper;

/// The paper.
pub const PAPER: Paper = Paper {
    key: "scan",
    title: "Experimental Analysis on How Access Point Scanning Impacts on TCP Throughput over \
            IEEE 802.11n Wireless LAN",
    source: "K. Kobayashi, Y. Hashimoto, M. Nomoto, R. Yamamoto, S. Ohzahata, T. Kato. ICWMC 2016",
    setting: "A laptop next to an access point (802.11n, 5 GHz, 40 MHz, up to 300 Mb/s) exchanges \
              bulk TCP with a server behind Gigabit Ethernet while NetworkManager has it look for \
              other access points every two minutes.",
    calibrated: &[],
    figures: &[],
};

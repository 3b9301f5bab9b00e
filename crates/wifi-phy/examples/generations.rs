//! One frame of 1500 bytes in each generation of 802.11, with its highest rate for one stream: the
//! preamble grows, the data shrinks, and the SNR for ten percent of losses rises.
//!
//! `cargo run -p lasthop-wifi-phy --example generations`

#![expect(clippy::print_stdout, reason = "an example shows what it computes")]

use lasthop_wifi_phy::{
    Band, ChannelWidth, ErrorModel, GuardInterval, HeGuardInterval, OfdmRate, Rate,
};

const BAND: Band = Band::Ghz5;
const BYTES: u32 = 1500;

fn main() {
    let (width, short) = (ChannelWidth::Mhz80, GuardInterval::Short);
    let rates = [
        ("802.11a", Some(Rate::Ofdm(OfdmRate::Mbps54))),
        ("802.11n", Rate::ht(7, ChannelWidth::Mhz40, short)),
        ("802.11ac", Rate::vht(9, 1, width, short)),
        ("802.11ax", Rate::he(11, 1, width, HeGuardInterval::Ns800Ltf2x, false)),
    ];
    let errors = ErrorModel::simulated();
    println!("standard      rate, Mb/s  preamble, us  PPDU, us  SNR for 10 % losses, dB");
    for (standard, rate) in rates {
        let Some(rate) = rate else { continue };
        println!(
            "{standard:12}  {:10.1}  {:12.0}  {:8.1}  {:23.1}",
            rate.bitrate().as_mbps_f64(),
            rate.preamble_and_header(BAND).as_micros_f64(),
            rate.ppdu_duration(BYTES, BAND).as_micros_f64(),
            errors.sensitivity_snr(rate, 0.1, BYTES).0,
        );
    }
}

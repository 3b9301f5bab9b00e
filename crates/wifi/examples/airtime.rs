//! Airtime of A-MPDUs: the reason why 802.11n aggregates.
//!
//! Each exchange costs AIFS, the mean backoff, the preamble, SIFS and a Block Ack, independent of
//! its content. The more packets of 1500 bytes share that cost, the closer the throughput comes to
//! the rate. At most 42 of them fit in 65 535 bytes, the longest A-MPDU.
//!
//! `cargo run -p lasthop-wifi --example airtime`

#![expect(clippy::print_stdout, reason = "an example shows what it computes")]

use lasthop_units::{Bitrate, Bytes};
use lasthop_wifi::mac::sizes;
use lasthop_wifi::phy::{Band, ChannelWidth, ControlRates, GuardInterval, Rate, Standard, Timing};

const PACKET_BYTES: u32 = 1500;
const BAND: Band = Band::Ghz5;

fn main() {
    let rate = Rate::ht(15, ChannelWidth::Mhz40, GuardInterval::Short).expect("MCS 0 to 31");
    let timing = Timing::new(Standard::Dot11n, BAND);
    let response = ControlRates::for_standard(Standard::Dot11n, BAND).response(rate);
    let block_ack = response.ppdu_duration(sizes::BLOCK_ACK, BAND);
    let backoff = timing.slot * u64::from(timing.cw_min) / 2;
    let overhead = timing.aifs(3) + backoff + timing.sifs + block_ack;

    println!("HT MCS 15, 40 MHz, short guard interval: {}", rate.bitrate());
    println!("AIFS {}, mean backoff {backoff}, SIFS {}", timing.aifs(3), timing.sifs);
    println!("preamble {}, Block Ack {block_ack}", rate.preamble_and_header(BAND));
    println!();
    println!("MPDUs  A-MPDU bytes  PPDU us  exchange us   Mb/s   of the rate");
    let subframe = sizes::ampdu_subframe(sizes::mpdu(PACKET_BYTES, true), 0);
    for mpdus in [1, 2, 4, 8, 16, 32, 42] {
        let psdu_bytes = mpdus * subframe;
        let ppdu = rate.ppdu_duration(psdu_bytes, BAND);
        let exchange = ppdu + overhead;
        let goodput = Bitrate::from_bytes_in(Bytes::new((mpdus * PACKET_BYTES).into()), exchange);
        println!(
            "{mpdus:5}  {psdu_bytes:12}  {:7.0}  {:11.0}  {:5.2}  {:10.1} %",
            ppdu.as_micros_f64(),
            exchange.as_micros_f64(),
            goodput.as_mbps_f64(),
            100.0 * goodput.as_mbps_f64() / rate.bitrate().as_mbps_f64(),
        );
    }
}

//! The stand-in for firmware's rate control on a link: its choice may be too fast for as long as
//! an update lasts, which must cost time and not packets.

use super::ofdma::he;
use super::*;

/// From MCS 0 to MCS 11 of one stream at 80 MHz, between thresholds and at them: with an error of
/// 1 dB for 20 ms, in which seven tries go by, up to 2.5 % of the MPDUs were lost for good, of
/// which TCP made half of its goodput.
#[test]
fn a_choice_that_is_too_fast_loses_nothing() {
    let width = ChannelWidth::Mhz80;
    let rates: Vec<Rate> = (0..=11).map(|mcs| he(mcs, width)).collect();
    for step in 0..30u32 {
        let snr = Db(6.0 + f64::from(step));
        let mut config = cell(1, rates[0], width, 6_500_631);
        config.standard = Standard::Dot11ax;
        for station in &mut config.stations {
            station.capabilities = Capabilities::new(rates.clone(), true);
            station.rate_control = RateControlConfig::firmware();
            station.block_ack.window = 256;
            station.aggregation.ampdu_frames_max = 256;
        }
        config.change_links(|pair| pair.link.snr = snr);
        let mut cell = Cell::new(&config, Seed::new(1, step.into())).expect("a sound cell");
        let to = Address::Station(StationId(1));
        saturate(&mut cell, &[(AP, to)], Duration::from_secs(1), 1_500);
        let stats = cell.link_stats(AP, to).expect("it sent");
        assert!(stats.mpdus > 2_500, "{snr:?}: {}", stats.mpdus);
        assert!(stats.mpdus_lost * 5_000 < stats.mpdus, "{snr:?}: {}", stats.mpdus_lost);
    }
}

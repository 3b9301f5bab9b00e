//! The stand-in for firmware's rate control on a link: its choice may be too fast until the next
//! update, which must cost time but no packets.

use super::ofdma::he;
use super::*;

/// MCS 0 to MCS 11 of one stream at 80 MHz, between thresholds and at them. An error of 1 dB for 20
/// ms, with seven attempts, once lost up to 2.5 % of the MPDUs for good, which halved TCP's
/// goodput.
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

//! Packet error rates of the convolutional code and LDPC against ns-3 3.37's simulated curves for
//! HE (`data/per_simulated_ax.csv`: one stream in 20 MHz, every quarter of a decibel where the rate
//! is neither 0 nor 1). The model keeps five points of each curve.

use lasthop_units::Db;
use lasthop_wifi_phy::{ChannelWidth, ErrorModel, HeGuardInterval, Rate};

#[test]
fn every_point_is_within_a_fifth_of_a_decibel() {
    let model = ErrorModel::simulated();
    let mut rows = 0;
    for line in include_str!("data/per_simulated_ax.csv").lines().skip(1) {
        let (code, numbers) = line.split_once(',').expect(line);
        let columns: Vec<f64> = numbers.split(',').map(|text| text.parse().expect(line)).collect();
        let [mcs, bytes, snr_db, per] = columns[..] else { panic!("{line}") };
        // Below one loss in a thousand the kept points end and the simulations had few; above 95 % nothing
        // useful gets through.
        if !(1e-3..0.95).contains(&per) {
            continue;
        }
        let width = if code == "ldpc" { ChannelWidth::Mhz80 } else { ChannelWidth::Mhz20 };
        let guard_interval = HeGuardInterval::Ns800Ltf2x;
        let rate = Rate::he(mcs as u8, 1, width, guard_interval, false).expect("a rate");
        let Db(same) = model.sensitivity_snr(rate, per, bytes as u32);
        assert!((same - snr_db).abs() < 0.2, "{line}: the model has it at {same:.3} dB");
        rows += 1;
    }
    assert!(rows > 250, "{rows} rows");
}

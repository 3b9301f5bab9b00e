//! Minstrel-HT against the best fixed rate at some SNRs, for one stream with A-MPDU.
//! The chapter "rate control" of the command has all of them, and shares of goodput for
//! two streams.

use lasthop_studies::validate::chapters::rates::Ladder;
use lasthop_units::Db;

/// At these SNRs the best rate has no losses and the next one loses nearly everything.
/// If each failed probe were followed by an A-MPDU at the second-best rate, the share
/// would be 91 %.
#[test]
fn far_from_a_threshold_probes_cost_little() {
    let ladder = Ladder { streams: 1, ampdu_bytes_max: 65_535 };
    let ceilings = ladder.ceilings();
    for snr in [11.5, 14.5, 18.5, 19.5, 20.0, 30.5] {
        let beside = ladder.at(Db(snr), &ceilings);
        assert!(beside.share() > 0.945, "{snr} dB: {beside:?}");
    }
}

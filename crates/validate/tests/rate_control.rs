//! Minstrel-HT beside the best fixed rate at some SNRs; all of them are a chapter of the
//! command.

use lasthop_units::Db;
use validate::chapters::rates::Ladder;

/// Where the best rate loses nothing and the next one nearly all. Each failed probe was
/// once followed by a whole A-MPDU at the second-best rate: 91 %.
#[test]
fn far_from_a_threshold_probes_cost_little() {
    let ladder = Ladder { streams: 1, ampdu_bytes_max: 65_535 };
    let ceilings = ladder.ceilings();
    for snr in [11.5, 14.5, 18.5, 19.5, 20.0, 30.5] {
        let beside = ladder.at(Db(snr), &ceilings);
        assert!(beside.share() > 0.945, "{snr} dB: {beside:?}");
    }
}

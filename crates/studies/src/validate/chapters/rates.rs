//! Minstrel-HT against the best of the fixed rates, over SNR, for one and two streams,
//! with and without A-MPDU. Target: 90 % of its goodput, or within 3 % of the share
//! that the algorithm of the kernel achieves.

use super::SEED;
use crate::Verdict;
use crate::table::Table;
use crate::validate::data::{self, MINSTREL_HT};
use crate::validate::setting::{Place, Setting};
use lasthop_units::{Db, Duration, Seed};
use lasthop_wifi::phy::{ChannelWidth, GuardInterval, Rate};

/// Minimum share of the best fixed rate's goodput.
const TARGET: f64 = 0.9;
/// Largest accepted difference from the share that the kernel's algorithm achieves.
/// That is a mean of four runs too.
const TOLERANCE: f64 = 0.03;
/// The SNRs of the rows: 5 to 40 dB, in units of half a decibel.
const HALF_DB: core::ops::RangeInclusive<u32> = 10..=80;
/// An SNR at which no rate has losses.
const LOSSLESS: Db = Db(60.0);
/// Time before the measurement, in which Minstrel-HT finds its rate.
const WARMUP: Duration = Duration::from_secs(2);
const DURATION: Duration = Duration::from_secs(4);
const RUNS: u64 = 4;

/// A receiver of a number of streams, with or without A-MPDU.
#[derive(Clone, Copy, Debug)]
pub struct Ladder {
    /// Number of spatial streams.
    pub streams: u8,
    /// Longest A-MPDU in bytes; 0 for none.
    pub ampdu_bytes_max: u32,
}

/// The results at one SNR.
#[derive(Clone, Copy, Debug)]
pub struct Beside {
    /// The fixed MCS with the highest goodput.
    pub mcs: u8,
    /// Goodput of this MCS in Mb/s.
    pub best_mbps: f64,
    /// Goodput of Minstrel-HT in Mb/s.
    pub minstrel_mbps: f64,
}

impl Beside {
    /// The share of the best fixed rate's goodput that Minstrel-HT achieves.
    pub fn share(&self) -> f64 {
        self.minstrel_mbps / self.best_mbps
    }
}

impl Ladder {
    /// All combinations of the table.
    pub const ALL: [Self; 4] = [
        Self { streams: 1, ampdu_bytes_max: 0 },
        Self { streams: 1, ampdu_bytes_max: 65_535 },
        Self { streams: 2, ampdu_bytes_max: 0 },
        Self { streams: 2, ampdu_bytes_max: 65_535 },
    ];

    fn setting(&self, mcs: u8, snr: Db) -> Setting {
        let rate =
            Rate::Ht { mcs, width: ChannelWidth::Mhz20, guard_interval: GuardInterval::Long };
        Setting {
            place: Place::Equal(snr),
            ampdu_bytes_max: self.ampdu_bytes_max,
            ..Setting::new(rate)
        }
    }

    fn goodput_mbps(setting: &Setting) -> f64 {
        setting.run(Seed::new(SEED, 0), WARMUP, DURATION).goodput_mbps
    }

    /// Returns the mean of several runs, which differ more than with a fixed rate.
    fn minstrel_mbps(setting: &Setting) -> f64 {
        let runs = 0..RUNS;
        let sum: f64 =
            runs.map(|run| setting.run(Seed::new(SEED, run), WARMUP, DURATION).goodput_mbps).sum();
        sum / RUNS as f64
    }

    /// Returns every MCS with its goodput in Mb/s without losses, the fastest first.
    pub fn ceilings(&self) -> Vec<(u8, f64)> {
        let all = (0..8 * self.streams)
            .map(|mcs| (mcs, Self::goodput_mbps(&self.setting(mcs, LOSSLESS))));
        let mut all: Vec<_> = all.collect();
        all.sort_by(|one, other| other.1.total_cmp(&one.1));
        all
    }

    /// Measures Minstrel-HT and the best fixed rate at `snr`. A rate whose goodput
    /// without losses is below the best one so far is not tried.
    pub fn at(&self, snr: Db, ceilings: &[(u8, f64)]) -> Beside {
        let (mut mcs, mut best_mbps) = (0, 0.0);
        for &(candidate, ceiling) in ceilings {
            if ceiling <= best_mbps {
                break;
            }
            let goodput = Self::goodput_mbps(&self.setting(candidate, snr));
            if goodput > best_mbps {
                (mcs, best_mbps) = (candidate, goodput);
            }
        }
        let fastest = 8 * self.streams - 1;
        let minstrel = Setting { is_adaptive: true, ..self.setting(fastest, snr) };
        Beside { mcs, best_mbps, minstrel_mbps: Self::minstrel_mbps(&minstrel) }
    }
}

const NOTE: &str = "\
The kernel's algorithm itself stays below 90 % where the next faster rate delivers about half of \
its MPDUs. Two rules in its source cause that. `minstrel_ht_get_tp_avg` caps probabilities at 90 \
%, so a rate without losses appears a tenth slower than it is; without the cap the same algorithm \
gains 4 to 7 points there. Estimates of the faster rate come from one or two single frames in each \
50 ms (`MINSTREL_SAMPLE_INTERVAL` is 20 ms, and the lists of rates take turns), so they fluctuate \
and are sometimes too high; four times as many probes gain nothing, because they cost as much. \
With exact probabilities the formula selects the best rate at 9, 13, 16 and 23.5 dB.";

const NOTE_AMPDU: &str = "\
With A-MPDU ours stays 1 to 2 points below the kernel's near a threshold: over 24 runs, two \
streams, 91.2 +- 0.1 % at 21 dB (kernel's 93.4), 91.9 +- 0.3 at 22 (92.8) and 92.7 +- 0.1 at 22.5 \
(94.3); means of four runs, as in the table, scatter by another 1 to 2 points. The Block Ack \
Request after a missing Block Ack is not the cause: with `request = \"after-drop\"` the values are \
91.2, 92.3 and 92.7. The Block Ack window contributes: a window of 32, half as wide, costs \
Minstrel-HT 3.4 points at 21 dB and 2.5 at 22.5, and the fixed rate 0.2 and 1.4 %, presumably \
because a lost MPDU holds the window back and shortens the next A-MPDUs. Whether the kernel's \
algorithm ran with a window is not recorded.";

/// Returns the share that the kernel's algorithm achieves; `None` if it is not known.
fn of_kernel(ladder: Ladder, snr: Db) -> Option<f64> {
    let record = data::records(MINSTREL_HT).into_iter().find(|record| {
        record.whole("streams") == u32::from(ladder.streams)
            && record.whole("max_ampdu") == ladder.ampdu_bytes_max
            && record.number("snr_db") == snr.0
    });
    record.map(|record| record.number("share"))
}

pub(super) fn table() -> Table {
    let ceilings = Ladder::ALL.map(|ladder| ladder.ceilings());
    let rows = HALF_DB.map(|half| {
        let snr = Db(f64::from(half) / 2.0);
        let mut cells = vec![format!("{:.1}", snr.0)];
        let mut ok = true;
        for (&ladder, ceilings) in Ladder::ALL.iter().zip(&ceilings) {
            let beside = ladder.at(snr, ceilings);
            let share = beside.share();
            let theirs = of_kernel(ladder, snr).expect("a row for every SNR");
            ok &= share >= TARGET || (share - theirs).abs() <= TOLERANCE;
            cells.push(format!("{}: {:.2}", beside.mcs, beside.best_mbps));
            cells.push(format!("{:.1} % ({:.1} %)", 100.0 * share, 100.0 * theirs));
        }
        (cells, Verdict::pass_if(ok))
    });
    Table {
        title: "Rate control",
        text: "Saturated UDP downlink at 20 MHz to one station with one or two streams: the best \
               of all fixed rates (its MCS and Mb/s), and Minstrel-HT's share of that goodput, \
               without A-MPDU and with 65 535 bytes; in brackets the share of the kernel's \
               algorithm (`minstrel_ht.csv`). Target: at least 90 %, or within 3 points of the \
               kernel's."
            .into(),
        columns: vec![
            "SNR, dB",
            "1 stream, no A-MPDU",
            "Minstrel-HT",
            "1 stream, A-MPDU",
            "Minstrel-HT",
            "2 streams, no A-MPDU",
            "Minstrel-HT",
            "2 streams, A-MPDU",
            "Minstrel-HT",
        ],
        rows: rows.collect(),
        notes: vec![NOTE.into(), NOTE_AMPDU.into()],
    }
}

//! The rates that ath9k's own rate control knows, and those that a pair uses.
//!
//! The driver has a table for each band: OFDM or CCK rates first, then HT rates of 20 MHz, then
//! those of 40 MHz. A rate has a nominal bit rate, by which rates are sorted, and the throughput
//! that its user sees. A pair uses only the rates marked for its number of streams, at its full
//! width: two streams at 40 MHz use twelve of 68. The short guard interval exists with
//! the fastest MCS of a number of streams only.
//!
//! Sets with rates of 802.11b or 802.11g are at 2.4 GHz. HT rates without them
//! use the table of 5 GHz, whose slowest HT rate is 6.5 Mb/s at 40 MHz, too.

use super::super::RateSet;
use crate::phy::{ChannelWidth, DsssRate, GuardInterval, OfdmRate, Preamble, Rate};
use alloc::vec::Vec;

/// Position of a rate in the driver's table.
pub(super) type Ath9kIndex = u8;

/// A rate of the driver's table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Ath9kRate {
    pub(super) rate: Rate,
    /// Nominal bit rate in kb/s, as the driver has it.
    pub(super) kbps: u32,
    /// Throughput of the user in kb/s.
    pub(super) user_kbps: u32,
    /// Whether the driver uses the rate for this pair.
    is_usual: bool,
}

/// The driver's table and the rates of a pair.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Ath9kTable {
    entries: Vec<Ath9kRate>,
    /// Rates of the pair, slowest first.
    pub(super) valid: Vec<Ath9kIndex>,
}

/// Marks of HT rates: the numbers of streams, of a pair, with which a rate is used.
const S: u8 = 1 << 1;
const SD: u8 = S | 1 << 2;
const SDT: u8 = SD | T;
const DT: u8 = 1 << 2 | T;
const T: u8 = 1 << 3;
const NONE: u8 = 0;

/// An HT rate at 20 and at 40 MHz.
struct Ht {
    mcs: u8,
    guard_interval: GuardInterval,
    pairs: u8,
    kbps: [u32; 2],
    user_kbps: [u32; 2],
}

const fn long(mcs: u8, pairs: u8, kbps: [u32; 2], user_kbps: [u32; 2]) -> Ht {
    Ht { mcs, guard_interval: GuardInterval::Long, pairs, kbps, user_kbps }
}

const fn short(mcs: u8, pairs: u8, kbps: [u32; 2], user_kbps: [u32; 2]) -> Ht {
    Ht { mcs, guard_interval: GuardInterval::Short, pairs, kbps, user_kbps }
}

/// HT rates in the table's order. Two nominal rates are not the standard's: MCS 1 and 4 at 40 MHz.
const HT: [Ht; 30] = [
    long(0, SDT, [6_500, 13_500], [6_400, 13_200]),
    long(1, SDT, [13_000, 27_500], [12_700, 25_900]),
    long(2, SDT, [19_500, 40_500], [18_800, 38_600]),
    long(3, SD, [26_000, 54_000], [25_000, 49_800]),
    long(4, SD, [39_000, 81_500], [36_700, 72_200]),
    long(5, S, [52_000, 108_000], [48_100, 92_900]),
    long(6, S, [58_500, 121_500], [53_500, 102_700]),
    long(7, S, [65_000, 135_000], [59_000, 112_000]),
    short(7, S, [72_200, 150_000], [65_400, 122_000]),
    long(8, NONE, [13_000, 27_000], [12_700, 25_800]),
    long(9, T, [26_000, 54_000], [24_800, 49_800]),
    long(10, T, [39_000, 81_000], [36_600, 71_900]),
    long(11, DT, [52_000, 108_000], [48_100, 92_500]),
    long(12, DT, [78_000, 162_000], [69_500, 130_300]),
    long(13, DT, [104_000, 216_000], [89_500, 162_800]),
    long(14, DT, [117_000, 243_000], [98_900, 178_200]),
    long(15, DT, [130_000, 270_000], [108_300, 192_100]),
    short(15, DT, [144_400, 300_000], [120_000, 207_000]),
    long(16, NONE, [19_500, 40_500], [17_400, 36_100]),
    long(17, NONE, [39_000, 81_000], [35_100, 72_900]),
    long(18, NONE, [58_500, 121_500], [52_600, 108_300]),
    long(19, NONE, [78_000, 162_000], [70_400, 142_000]),
    long(20, NONE, [117_000, 243_000], [104_900, 205_100]),
    short(20, NONE, [130_000, 270_000], [115_800, 224_700]),
    long(21, T, [156_000, 324_000], [137_200, 263_100]),
    short(21, T, [173_300, 360_000], [151_100, 288_000]),
    long(22, T, [175_500, 364_500], [152_800, 290_700]),
    short(22, T, [195_000, 405_000], [168_400, 317_200]),
    long(23, T, [195_000, 405_000], [168_400, 317_200]),
    short(23, T, [216_700, 450_000], [185_000, 346_400]),
];

/// Throughputs of OFDM rates in kb/s. At 2.4 GHz without HT these are the driver's, too.
const OFDM_USER_KBPS: [u32; 8] = [5_400, 7_800, 10_000, 13_900, 17_300, 23_000, 27_400, 29_300];
/// The same at 2.4 GHz with HT.
const OFDM_USER_KBPS_HT: [u32; 8] = [5_400, 7_800, 10_100, 14_100, 17_700, 23_700, 27_400, 30_900];
const CCK_USER_KBPS: [u32; 4] = [900, 1_900, 4_900, 8_100];

/// Number of streams of a pair that the driver distinguishes.
const STREAMS_MAX: u8 = 3;

impl Ath9kTable {
    /// # Panics
    /// Panics if the driver has none of the rates.
    pub(super) fn new(set: &RateSet) -> Self {
        let pair = NeighbourRates::new(set);
        let mut entries = Vec::new();
        pair.push_legacy(&mut entries, set);
        pair.push_ht(&mut entries);
        let known = |index: &Ath9kIndex| set.rates.contains(&entries[usize::from(*index)].rate);
        let all = || (0..entries.len() as Ath9kIndex).filter(known);
        let mut valid: Vec<Ath9kIndex> =
            all().filter(|&i| entries[usize::from(i)].is_usual).collect();
        if valid.is_empty() {
            // A set without any rate that the driver would use: those that it knows.
            valid = all().collect();
        }
        assert!(!valid.is_empty(), "ath9k's rate control has no rate like {}", set.rates[0]);
        // At equal bit rates the long guard interval comes first, as in the driver's list by PHY.
        valid.sort_by_key(|&index| {
            let entry = &entries[usize::from(index)];
            (entry.kbps, is_short(entry.rate))
        });
        let last = valid.iter().copied().max().expect("it is not empty");
        entries.truncate(usize::from(last) + 1);
        Self { entries, valid }
    }

    /// Number of the table's rates, up to the last one that the pair uses.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn entry(&self, index: Ath9kIndex) -> &Ath9kRate {
        &self.entries[usize::from(index)]
    }

    /// The next faster rate of the pair.
    pub(super) fn faster(&self, index: Ath9kIndex) -> Option<Ath9kIndex> {
        self.valid.get(self.place(index)? + 1).copied()
    }

    /// The next slower rate of the pair.
    pub(super) fn slower(&self, index: Ath9kIndex) -> Option<Ath9kIndex> {
        self.place(index)?.checked_sub(1).map(|place| self.valid[place])
    }

    fn place(&self, index: Ath9kIndex) -> Option<usize> {
        self.valid.iter().position(|&valid| valid == index)
    }
}

/// Properties of a pair by which the driver selects rates.
struct NeighbourRates {
    has_ht: bool,
    is_at_2_4_ghz: bool,
    streams: u8,
    is_wide: bool,
    has_short: bool,
}

impl NeighbourRates {
    fn new(set: &RateSet) -> Self {
        let ht = || set.rates.iter().filter(|rate| matches!(rate, Rate::Ht { .. }));
        let width = ht().map(|rate| rate.width()).max();
        Self {
            has_ht: width.is_some(),
            is_at_2_4_ghz: set
                .rates
                .iter()
                .any(|rate| matches!(rate, Rate::Dsss { .. } | Rate::ErpOfdm(_))),
            streams: ht().map(|rate| rate.streams()).max().unwrap_or(1).min(STREAMS_MAX),
            is_wide: width.is_some_and(|width| width > ChannelWidth::Mhz20),
            has_short: ht().any(|&rate| Some(rate.width()) == width && is_short(rate)),
        }
    }

    /// Appends CCK and OFDM rates. CCK rates are used beside HT, OFDM rates are not.
    fn push_legacy(&self, entries: &mut Vec<Ath9kRate>, set: &RateSet) {
        if self.is_at_2_4_ghz {
            for (dsss, user_kbps) in DsssRate::ALL.into_iter().zip(CCK_USER_KBPS) {
                let is_it = |it: &&Rate| matches!(it, Rate::Dsss { rate, .. } if *rate == dsss);
                let rate = set.rates.iter().find(is_it).copied();
                let rate = rate.unwrap_or(Rate::Dsss { rate: dsss, preamble: Preamble::Long });
                entries.push(Ath9kRate { rate, kbps: kbps(rate), user_kbps, is_usual: true });
            }
        }
        let has_both = self.is_at_2_4_ghz && self.has_ht;
        let user_kbps = if has_both { OFDM_USER_KBPS_HT } else { OFDM_USER_KBPS };
        for (ofdm, user_kbps) in OfdmRate::ALL.into_iter().zip(user_kbps) {
            let rate = if self.is_at_2_4_ghz { Rate::ErpOfdm(ofdm) } else { Rate::Ofdm(ofdm) };
            // Beside CCK the two slowest are never used.
            let is_slow = self.is_at_2_4_ghz && ofdm < OfdmRate::Mbps12;
            let is_usual = !self.has_ht && !is_slow;
            entries.push(Ath9kRate { rate, kbps: kbps(rate), user_kbps, is_usual });
        }
    }

    fn push_ht(&self, entries: &mut Vec<Ath9kRate>) {
        if !self.has_ht {
            return;
        }
        for (place, width) in [ChannelWidth::Mhz20, ChannelWidth::Mhz40].into_iter().enumerate() {
            for ht in &HT {
                let &Ht { mcs, guard_interval, pairs, kbps, user_kbps } = ht;
                let is_wide = place == 1;
                let is_slowest = mcs == 0 && !is_wide;
                let has_width =
                    if is_slowest { !self.is_at_2_4_ghz } else { is_wide == self.is_wide };
                let has_guard = self.has_short || guard_interval == GuardInterval::Long;
                entries.push(Ath9kRate {
                    rate: Rate::Ht { mcs, width, guard_interval },
                    kbps: kbps[place],
                    user_kbps: user_kbps[place],
                    is_usual: has_width && has_guard && pairs & 1 << self.streams != 0,
                });
            }
        }
    }
}

fn is_short(rate: Rate) -> bool {
    matches!(rate, Rate::Ht { guard_interval: GuardInterval::Short, .. })
}

/// Nominal bit rate in kb/s of a rate without HT.
fn kbps(rate: Rate) -> u32 {
    (rate.bitrate().as_bps() / 1_000) as u32
}

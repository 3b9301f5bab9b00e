//! Sounding: the durations of sounding NDPs of HE (IEEE 802.11ax-2021, clause 27) and EHT (IEEE
//! 802.11be-2024, clause 36), and the lengths of
//! compressed beamforming reports of VHT (IEEE 802.11-2020, 9.4.1.49) and HE (IEEE 802.11ax-2021,
//! 9.4.1.65), with the MU Exclusive report that several users need in addition.
//!
//! A report has an average SNR of 8 bits for each column, the angles of each group of subcarriers,
//! and 4 bits of SNR for each column and group. The text of the clauses was not available: numbers
//! of angles follow from the decomposition, those of groups are from other implementations and
//! papers. EHT has the groups of HE, 320 MHz those of 160 MHz twice. Left out: partial bandwidth, feedback for one user, CQI only. `vht_mu` has VHT NDPs.

use super::eht::SIGNAL_SYMBOL;
use super::he;
use super::{ChannelWidth, Codebook, HeGuardInterval};
use lasthop_units::Duration;

/// Duration of the packet extension of an HE sounding NDP.
const NDP_EXTENSION: Duration = Duration::from_micros(4);
/// Bits of the average SNR of a column (space-time stream).
const SNR_BITS: u32 = 8;
/// Bits of the SNR of a column in a group of subcarriers, relative to the average.
const DELTA_SNR_BITS: u32 = 4;

/// Number of subcarriers that share one set of angles (Ng).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grouping {
    /// VHT: each subcarrier has its own angles.
    Vht1,
    /// VHT: 2 subcarriers share their angles.
    Vht2,
    /// VHT: 4 subcarriers share their angles.
    Vht4,
    /// HE and EHT: 4 subcarriers share their angles.
    He4,
    /// HE and EHT: 16 subcarriers share their angles.
    He16,
}

/// Dimensions of a station's report of the channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Feedback {
    /// Width of the channel.
    pub width: ChannelWidth,
    /// Number of rows: antennas of the access point, 2 to 8.
    pub rows: u8,
    /// Number of columns: streams that the station can receive, 1 to `rows`.
    pub columns: u8,
    /// Grouping of subcarriers.
    pub grouping: Grouping,
    /// Bits of an angle.
    pub codebook: Codebook,
}

impl Grouping {
    /// Whether the report is of HE or EHT, not of VHT.
    pub const fn is_he(self) -> bool {
        matches!(self, Self::He4 | Self::He16)
    }

    /// Number of groups with angles (Ns), and of groups with SNRs.
    const fn groups(self, width: ChannelWidth) -> (u32, u32) {
        let of = match self {
            Self::Vht1 => [(52, 30), (108, 58), (234, 122), (468, 244)],
            Self::Vht2 => [(30, 16), (58, 30), (122, 62), (244, 124)],
            Self::Vht4 => [(16, 10), (30, 16), (62, 32), (124, 64)],
            Self::He4 => [(64, 64), (122, 122), (250, 250), (500, 500)],
            Self::He16 => [(20, 20), (32, 32), (64, 64), (128, 128)],
        };
        match width {
            ChannelWidth::Mhz20 => of[0],
            ChannelWidth::Mhz40 => of[1],
            ChannelWidth::Mhz80 => of[2],
            ChannelWidth::Mhz160 => of[3],
            ChannelWidth::Mhz320 => (2 * of[3].0, 2 * of[3].1),
        }
    }
}

impl Feedback {
    /// Number of angles of a group (Na): a phase and a rotation for each entry below the diagonal.
    pub const fn angles(&self) -> u32 {
        let (rows, columns) = (self.rows as u32, self.columns as u32);
        let least = if columns < rows { columns } else { rows - 1 };
        least * (2 * rows - least - 1)
    }

    /// Length in octets of the report, with the part that several users need.
    pub const fn bytes(&self) -> u32 {
        let (phi, psi) = self.codebook.bits();
        let (with_angles, with_snr) = self.grouping.groups(self.width);
        let columns = self.columns as u32;
        // Half of the angles are of each kind.
        let report = columns * SNR_BITS + with_angles * (self.angles() / 2) * (phi + psi);
        let exclusive = columns * with_snr * DELTA_SNR_BITS;
        report.div_ceil(8) + exclusive.div_ceil(8)
    }
}

/// Duration of an HE sounding NDP: an HE SU PPDU without data, with training fields for all
/// antennas.
pub fn he_ndp(antennas: u8, guard_interval: HeGuardInterval) -> Duration {
    he::preamble_and_header(antennas, guard_interval, false) + NDP_EXTENSION
}

/// Duration of an EHT sounding NDP: an EHT MU PPDU without data, whose EHT-SIG has one symbol.
pub fn eht_ndp(antennas: u8, guard_interval: HeGuardInterval) -> Duration {
    he_ndp(antennas, guard_interval) + SIGNAL_SYMBOL
}

#[cfg(test)]
mod tests {
    use super::*;
    use ChannelWidth::{Mhz20, Mhz80, Mhz160};

    const fn feedback(rows: u8, columns: u8) -> Feedback {
        let (grouping, codebook) = (Grouping::Vht1, Codebook::Coarse);
        Feedback { width: Mhz80, rows, columns, grouping, codebook }
    }

    /// The table of 9.4.1.49: number of angles by rows and columns.
    #[test]
    fn numbers_of_angles() {
        for (rows, angles) in [
            (2, [2, 2, 0, 0]),
            (3, [4, 6, 6, 0]),
            (4, [6, 10, 12, 12]),
            (6, [10, 18, 24, 28]),
            (8, [14, 26, 36, 44]),
        ] {
            for (columns, expected) in (1..).zip(angles).filter(|(_, angles)| *angles > 0) {
                assert_eq!(feedback(rows, columns).angles(), expected, "{rows} x {columns}");
            }
        }
    }

    #[test]
    fn lengths_of_reports_by_hand() {
        // 4 x 1, 80 MHz, one group each: 8 + 234 * 3 * 12 = 8432 bits, 122 * 4 = 488.
        assert_eq!(feedback(4, 1).bytes(), 1_054 + 61);
        // 4 x 2 at 20 MHz in fours, fine: 16 + 16 * 5 * 16 = 1296 bits, 2 * 10 * 4 = 80.
        let narrow = Feedback {
            width: Mhz20,
            grouping: Grouping::Vht4,
            codebook: Codebook::Fine,
            ..feedback(4, 2)
        };
        assert_eq!(narrow.bytes(), 162 + 10);
        // HE, 8 x 1 at 160 MHz in sixteens, fine: 8 + 128 * 7 * 16 = 14344 bits, 128 * 4 = 512.
        let wide = Feedback {
            width: Mhz160,
            grouping: Grouping::He16,
            codebook: Codebook::Fine,
            ..feedback(8, 1)
        };
        assert_eq!(wide.bytes(), 1_793 + 64);
        // HE in fours at 80 MHz, 4 x 1, coarse: 8 + 250 * 3 * 12 = 9008 bits, 250 * 4 = 1000.
        let he = Feedback { grouping: Grouping::He4, ..feedback(4, 1) };
        assert_eq!(he.bytes(), 1_126 + 125);
    }

    /// 32 us up to HE-SIG-A, HE-STF 4 us, HE-LTFs of 7.2 or 16 us, 4 us of extension.
    #[test]
    fn ndps_by_hand() {
        let of = |antennas, guard_interval| he_ndp(antennas, guard_interval).as_nanos();
        assert_eq!(of(2, HeGuardInterval::Ns800Ltf2x), 36_000 + 2 * 7_200 + 4_000);
        assert_eq!(of(4, HeGuardInterval::Ns800Ltf2x), 36_000 + 4 * 7_200 + 4_000);
        assert_eq!(of(3, HeGuardInterval::Ns3200Ltf4x), 36_000 + 4 * 16_000 + 4_000);
        assert_eq!(of(8, HeGuardInterval::Ns1600Ltf2x), 36_000 + 8 * 8_000 + 4_000);
        // U-SIG is as long as HE-SIG-A; 26 bits of EHT-SIG in 4 us.
        let eht = eht_ndp(4, HeGuardInterval::Ns800Ltf2x).as_nanos();
        assert_eq!(eht, 36_000 + 4_000 + 4 * 7_200 + 4_000);
    }
}

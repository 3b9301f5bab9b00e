//! Probability that a frame is decoded at a given SNR.
//!
//! [`ErrorModel::nist`] uses closed forms: NIST's union bound for the punctured convolutional code
//! (Pei and Henderson, "Validation of OFDM error rate model in ns-3", 2010), and for DSSS and CCK
//! the forms of Pursley and Royster. [`ErrorModel::table`] replaces modes by measured or simulated
//! PER curves. In either case a call reads a table made at construction: the hazard -ln(success)
//! over SNR in steps of 0.05 dB, and success = exp(-hazard).
//!
//! SNR refers to the whole channel, in dB, and is equal on every spatial stream: as in ns-3 with an
//! antenna for each stream, more streams do not change the curve of a modulation and code, unless
//! they [share the power](ErrorModel::with_shared_power) of the sender. Guard interval, width, band and DSSS
//! preamble do not change it either. Codes are convolutional, except for HE where LDPC is mandatory
//! (above 20 MHz, for 1024-QAM, and from five streams on). The closed forms have no LDPC, and need
//! 1 to 5 dB more than link simulations of the same code; [`ErrorModel::simulated`] has such
//! simulations. Optional LDPC is left out. Dual carrier modulation and the 106 tones of extended
//! range shift a curve along the axis of SNR ([`Rate::snr_gain`]); repeated fields of headers gain
//! from each repetition. Left out: soft-decision gains beyond the bound, diversity, interference
//! during a part of a frame.

mod nist;
mod simulated;
mod table;

pub use table::{PerRow, PerTable, PerTableError};

use super::rate::TWICE_AS_MUCH;
use super::{CodeRate, DsssRate, Modulation, OfdmRate, Preamble, Rate, Standard};
use alloc::vec;
use alloc::vec::Vec;
use lasthop_units::{Db, Probability};

/// Bytes of the OFDM signal field, and of L-SIG of HT-mixed: 24 bits of BPSK 1/2 (17.3.4).
const SIGNAL_BYTES: f64 = 3.0;
/// Bytes of HT-SIG: 48 bits of BPSK 1/2 (19.3.9.4.3).
const HT_SIGNAL_BYTES: f64 = 6.0;
/// Bytes of VHT-SIG-A: 48 bits of BPSK 1/2 (21.3.8.3.3). VHT-SIG-B is not counted.
const VHT_SIGNAL_BYTES: f64 = 6.0;
/// Bytes of HE-SIG-A: 52 bits of BPSK 1/2 (IEEE 802.11ax-2021, 27.3.11.7). The repetition of L-SIG
/// in RL-SIG counts only in extended range PPDUs, which repeat HE-SIG-A as well.
const HE_SIGNAL_BYTES: f64 = 6.5;
/// Bytes of the PHY header of DSSS and CCK: 48 bits at 1 Mb/s, or at 2 Mb/s after a short preamble
/// (16.2.2).
const DSSS_HEADER_BYTES: f64 = 6.0;

/// PER at which the distance between two closed forms is taken.
const DISTANCE_PER: f64 = 0.1;

/// Probability of decoding, for every rate, SNR and length.
///
/// ```
/// use lasthop_units::Db;
/// use lasthop_wifi_phy::{ErrorModel, OfdmRate, Rate};
///
/// let (errors, rate) = (ErrorModel::nist(), Rate::Ofdm(OfdmRate::Mbps54));
/// let snr = errors.sensitivity_snr(rate, 0.1, 1500);
/// assert!(errors.success(rate, snr, 1500).as_f64() >= 0.9);
/// assert!(errors.success(rate, snr - Db(3.0), 1500).as_f64() < 0.5);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ErrorModel {
    modes: Vec<Curves>,
    /// Whether each of n streams has 1/n of the power.
    shares_power: bool,
}

impl ErrorModel {
    /// Returns the closed forms, of the convolutional code for every modulation, also where HE
    /// requires LDPC: ns-3's NIST model. Cells up to 802.11n use it by default.
    pub fn nist() -> Self {
        let mut modes: Vec<Curves> = nist::all().map(Curves::proportional).into();
        let of_mcs = Mode::OF_MCS.map(|mode| modes[mode.0].clone());
        modes.extend(of_mcs);
        Self { modes, shares_power: false }
    }

    /// Returns simulated curves: of the convolutional code up to 256-QAM, and of LDPC where HE
    /// and EHT require it. DSSS, CCK and 9 Mb/s have their closed forms. No simulation of 4096-QAM
    /// was available: its curves are those of 1024-QAM, 6.0 dB later by the closed forms. Cells from
    /// 802.11ac on use it by default.
    pub fn simulated() -> Self {
        let mut model = Self::nist();
        for (mode, curves) in Mode::OF_MCS.into_iter().zip(simulated::convolutional()) {
            model.modes[mode.0] = curves;
        }
        for (mcs, curves) in simulated::ldpc().enumerate() {
            model.modes[Mode::ldpc(mcs).0] = curves;
        }
        // 4096-QAM: the simulated curve of 1024-QAM with the same code rate, shifted by the distance
        // of the closed forms.
        for (mcs, like) in [(12, 10), (13, 11)] {
            let at = |mcs: usize| {
                let mode = Mode::OF_MCS[mcs];
                lowest_snr(|snr| {
                    model.hazard(mode, snr, simulated::BYTES[1]) <= -libm::log1p(-DISTANCE_PER)
                })
            };
            let distance = at(mcs) - at(like);
            model.modes[Mode::ldpc(mcs).0] = model.modes[Mode::ldpc(like).0].shifted(distance.0);
        }
        model
    }

    /// Returns the default model of a cell of this generation.
    pub fn usual(standard: Standard) -> Self {
        match standard {
            Standard::Dot11b | Standard::Dot11g | Standard::Dot11a | Standard::Dot11n => {
                Self::nist()
            }
            Standard::Dot11ac | Standard::Dot11ax | Standard::Dot11be => Self::simulated(),
        }
    }

    /// Returns PER curves from `table`, one for each MCS and either code; modes that the table
    /// lacks are those of [`ErrorModel::nist`].
    pub fn table(table: PerTable) -> Self {
        let mut model = Self::nist();
        for (mode, curves) in table.into_curves() {
            if let Some(other) = mode.in_the_other_code() {
                model.modes[other.0] = curves.clone();
            }
            model.modes[mode.0] = curves;
        }
        model
    }

    /// Returns the model with streams that share the power of the sender: each of n streams has 1/n
    /// of it, so its SNR is 10 log10(n) dB lower. MCS 8 of 802.11n then needs 3 dB more than MCS 0,
    /// as with a fixed number of receiving antennas in ns-3 (`InterferenceHelper::CalculateSnr`).
    /// Headers have one stream.
    #[must_use]
    pub fn with_shared_power(self) -> Self {
        Self { shares_power: true, ..self }
    }

    /// Probability that a PSDU or MPDU of `bytes` sent at `rate` is decoded. The probability rises
    /// with `snr` and falls with `bytes`; zero bytes are always decoded.
    #[inline]
    pub fn success(&self, rate: Rate, snr: Db, bytes: u32) -> Probability {
        let snr = match rate.snr_gain() {
            Some(gain) => snr + gain,
            None => snr,
        };
        let snr = if self.shares_power { snr - shared_by(rate.streams()) } else { snr };
        probability(self.hazard(Mode::from_rate(rate), snr, f64::from(bytes)))
    }

    /// Probability that the PHY header is decoded: SIGNAL, L-SIG and HT-SIG,
    /// VHT-SIG-A or HE-SIG-A, or the DSSS header, each at its own (low) rate.
    pub fn header_success(&self, rate: Rate, snr: Db) -> Probability {
        let (mode, bytes) = match rate {
            Rate::Dsss { preamble: Preamble::Short, rate } if rate != DsssRate::Mbps1 => {
                (Mode::dsss(DsssRate::Mbps2), DSSS_HEADER_BYTES)
            }
            Rate::Dsss { .. } => (Mode::dsss(DsssRate::Mbps1), DSSS_HEADER_BYTES),
            Rate::Ofdm(_) | Rate::ErpOfdm(_) => (Mode::BPSK_HALF, SIGNAL_BYTES),
            Rate::Ht { .. } => (Mode::BPSK_HALF, SIGNAL_BYTES + HT_SIGNAL_BYTES),
            Rate::Vht { .. } => (Mode::BPSK_HALF, SIGNAL_BYTES + VHT_SIGNAL_BYTES),
            // U-SIG is as long as HE-SIG-A; EHT-SIG is not counted.
            Rate::He { .. } | Rate::Eht { .. } => (Mode::BPSK_HALF, SIGNAL_BYTES + HE_SIGNAL_BYTES),
            Rate::HeExtendedRange { .. } => {
                let twice = self.hazard(
                    Mode::BPSK_HALF,
                    snr + TWICE_AS_MUCH,
                    SIGNAL_BYTES + HE_SIGNAL_BYTES,
                );
                return probability(twice);
            }
        };
        probability(self.hazard(mode, snr, bytes))
    }

    /// The lowest SNR (to 0.001 dB, from -20 to 60 dB) at which `bytes` at `rate` are lost with
    /// probability `per` at most.
    pub fn sensitivity_snr(&self, rate: Rate, per: f64, bytes: u32) -> Db {
        lowest_snr(|snr| 1.0 - self.success(rate, snr, bytes).as_f64() <= per)
    }

    /// The lowest SNR at which the PHY header is lost with probability `per` at most, in the same
    /// way.
    pub fn header_sensitivity_snr(&self, rate: Rate, per: f64) -> Db {
        lowest_snr(|snr| 1.0 - self.header_success(rate, snr).as_f64() <= per)
    }

    #[inline]
    fn hazard(&self, mode: Mode, snr: Db, bytes: f64) -> f64 {
        self.modes[mode.0].hazard(snr.0, bytes)
    }
}

/// Loss of a stream that has 1/n of the power.
fn shared_by(streams: u8) -> Db {
    Db(10.0 * libm::log10(f64::from(streams)))
}

/// The lowest sufficient SNR (to 0.001 dB), from -20 to 60 dB.
fn lowest_snr(is_enough: impl Fn(Db) -> bool) -> Db {
    let (mut too_low, mut enough) = (-20.0, 60.0);
    while enough - too_low > 0.001 {
        let middle = 0.5 * (too_low + enough);
        if is_enough(Db(middle)) {
            enough = middle;
        } else {
            too_low = middle;
        }
    }
    Db(enough)
}

#[inline]
fn probability(hazard: f64) -> Probability {
    Probability::new(decay(hazard)).expect("a hazard is never negative")
}

/// A modulation and code, to which a curve belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Mode(usize);

impl Mode {
    /// Number of modes: four of DSSS and CCK, eight of OFDM, and those of [`Mode::LATER`].
    const CONVOLUTIONAL: usize = 4 + 8 + Self::LATER.len();
    #[cfg(test)]
    const COUNT: usize = Self::CONVOLUTIONAL + Self::OF_MCS.len();
    const BPSK_HALF: Self = Self::ofdm(OfdmRate::Mbps6);
    /// Modulations and codes beyond OFDM: of HT, of VHT and HE, of HE, of EHT.
    const LATER: [(Modulation, CodeRate); 7] = [
        (Modulation::Qam64, CodeRate::FiveSixths),
        (Modulation::Qam256, CodeRate::ThreeQuarters),
        (Modulation::Qam256, CodeRate::FiveSixths),
        (Modulation::Qam1024, CodeRate::ThreeQuarters),
        (Modulation::Qam1024, CodeRate::FiveSixths),
        (Modulation::Qam4096, CodeRate::ThreeQuarters),
        (Modulation::Qam4096, CodeRate::FiveSixths),
    ];
    /// Modes by MCS index: for HT modulo 8, for VHT up to 9.
    const OF_MCS: [Self; 14] = [
        Self::BPSK_HALF,
        Self::ofdm(OfdmRate::Mbps12),
        Self::ofdm(OfdmRate::Mbps18),
        Self::ofdm(OfdmRate::Mbps24),
        Self::ofdm(OfdmRate::Mbps36),
        Self::ofdm(OfdmRate::Mbps48),
        Self::ofdm(OfdmRate::Mbps54),
        Self(12),
        Self(13),
        Self(14),
        Self(15),
        Self(16),
        Self(17),
        Self(18),
    ];

    #[inline]
    const fn from_rate(rate: Rate) -> Self {
        match rate {
            Rate::Dsss { rate, .. } => Self::dsss(rate),
            Rate::Ofdm(rate) | Rate::ErpOfdm(rate) => Self::ofdm(rate),
            Rate::Ht { mcs, .. } => Self::OF_MCS[(mcs % 8) as usize],
            Rate::Vht { mcs, .. } | Rate::HeExtendedRange { mcs, .. } => Self::OF_MCS[mcs as usize],
            Rate::He { mcs, .. } => match rate.he_coding() {
                Some(coding) if coding.is_ldpc() => Self::ldpc(mcs as usize),
                _ => Self::OF_MCS[mcs as usize],
            },
            Rate::Eht { mcs, .. } => Self::ldpc(Rate::eht_index(mcs)),
        }
    }

    /// Mode of LDPC for an HE-MCS or EHT-MCS index.
    #[inline]
    const fn ldpc(mcs: usize) -> Self {
        Self(Self::CONVOLUTIONAL + mcs)
    }

    /// Returns the mode with LDPC instead of the convolutional code, or the reverse, if there is an
    /// MCS with this modulation and code rate.
    fn in_the_other_code(self) -> Option<Self> {
        match self.0.checked_sub(Self::CONVOLUTIONAL) {
            Some(mcs) => Some(Self::OF_MCS[mcs]),
            None => Self::OF_MCS.iter().position(|&mode| mode == self).map(Self::ldpc),
        }
    }

    #[inline]
    const fn dsss(rate: DsssRate) -> Self {
        Self(rate as usize)
    }

    #[inline]
    const fn ofdm(rate: OfdmRate) -> Self {
        Self(4 + rate as usize)
    }
}

/// The curves of one mode, for one or more reference lengths. Between two
/// lengths the hazard is interpolated over the length; below the first and
/// above the last it is proportional to it, which is (1-p)^(length/reference).
#[derive(Clone, Debug, PartialEq)]
struct Curves {
    /// Reference length in bytes and its curve, ascending.
    of_length: Vec<(f64, Curve)>,
}

impl Curves {
    /// Returns curves with one curve for all lengths.
    fn proportional(curve: Curve) -> Self {
        Self { of_length: vec![(1.0, curve)] }
    }

    /// Returns the same curves, shifted by `db` to higher SNR.
    fn shifted(&self, db: f64) -> Self {
        let shift = |(length, curve): &(f64, Curve)| (*length, curve.shifted(db));
        Self { of_length: self.of_length.iter().map(shift).collect() }
    }

    #[inline]
    fn hazard(&self, snr_db: f64, bytes: f64) -> f64 {
        let last = self.of_length.len() - 1;
        let above = if last == 0 {
            None
        } else {
            self.of_length.iter().position(|(length, _)| bytes < *length)
        };
        match above {
            None => self.of_length[last].1.at(snr_db) * bytes,
            Some(0) => self.of_length[0].1.at(snr_db) * bytes,
            Some(i) => {
                let (short, low) = &self.of_length[i - 1];
                let (long, high) = &self.of_length[i];
                let low = low.at(snr_db) * short;
                // Measured curves may cross in their tails; longer is never better.
                let high = (high.at(snr_db) * long).max(low);
                low + (high - low) * (bytes - short) / (long - short)
            }
        }
    }
}

/// Hazard of one byte as a function of SNR, tabulated.
#[derive(Clone, Debug, PartialEq)]
struct Curve {
    /// SNR of the first point in dB.
    start_db: f64,
    /// Hazards, descending; at least one. Beyond the ends the last value holds.
    points: Vec<f64>,
}

impl Curve {
    const STEPS_PER_DB: usize = 20;
    /// Number of steps between the points at which [`Curve::smooth`] evaluates its function.
    const STRIDE: usize = 5;
    const LOWEST_DB: f64 = -20.0;
    const HIGHEST_DB: f64 = 60.0;
    const STEPS: usize = (Self::HIGHEST_DB - Self::LOWEST_DB) as usize * Self::STEPS_PER_DB;
    /// Hazard at which a byte never arrives (e^-100), because a table holds no infinity.
    const NEVER: f64 = 100.0;
    /// Hazard below which no frame is ever lost.
    const ALWAYS: f64 = 1e-13;

    /// Tabulates `hazard`, a falling function of SNR in dB, where it is between
    /// [`Curve::NEVER`] and [`Curve::ALWAYS`].
    fn tabulate(hazard: impl Fn(f64) -> f64) -> Self {
        Self::from_steps(|step| hazard(Self::db(step)))
    }

    /// Does the same for a costly function without kinks: it is evaluated every 0.25 dB, and its
    /// logarithm interpolated (accurate to 0.001 dB for real curves).
    fn smooth(hazard: impl Fn(f64) -> f64) -> Self {
        let mut logs: Vec<f64> = Vec::new();
        for step in (0..=Self::STEPS).step_by(Self::STRIDE) {
            let h = hazard(Self::db(step)).clamp(Self::ALWAYS / 10.0, 10.0 * Self::NEVER);
            logs.push(libm::log(h));
            if h < Self::ALWAYS {
                break;
            }
        }
        Self::from_steps(|step| {
            let (i, part) = (step / Self::STRIDE, step % Self::STRIDE);
            let (from, to) = (logs[i], logs[(i + 1).min(logs.len() - 1)]);
            libm::exp(from + (to - from) * part as f64 / Self::STRIDE as f64)
        })
    }

    fn from_steps(hazard: impl Fn(usize) -> f64) -> Self {
        let mut start = 0;
        let mut points = Vec::new();
        for step in 0..=Self::STEPS {
            let h = hazard(step);
            if h >= Self::NEVER {
                start = step;
                points.clear();
            }
            if h < Self::ALWAYS {
                points.push(0.0);
                break;
            }
            points.push(h.min(Self::NEVER));
        }
        Self { start_db: Self::db(start), points }
    }

    fn db(step: usize) -> f64 {
        Self::LOWEST_DB + step as f64 / Self::STEPS_PER_DB as f64
    }

    /// Returns the same curve, shifted by `db` to higher SNR.
    fn shifted(&self, db: f64) -> Self {
        Self { start_db: self.start_db + db, points: self.points.clone() }
    }

    #[inline]
    fn at(&self, snr_db: f64) -> f64 {
        let position = ((snr_db - self.start_db) * Self::STEPS_PER_DB as f64).max(0.0);
        let index = position as usize;
        match self.points.get(index..index.saturating_add(2)) {
            Some(pair) => pair[0] + (pair[1] - pair[0]) * (position - index as f64),
            None => self.points[self.points.len() - 1],
        }
    }
}

/// Returns exp(-x) for x >= 0 to a relative error of 2e-12, in half the time of libm: a table of
/// 2^(-i/64) and a short series for the rest.
#[inline]
fn decay(x: f64) -> f64 {
    const STEPS: usize = 64;
    const POWERS: [f64; STEPS] = {
        // 2^(-1/64)
        const RATIO: f64 = 0.989_228_013_193_975_5;
        let mut powers = [1.0; STEPS];
        let mut i = 1;
        while i < STEPS {
            powers[i] = powers[i - 1] * RATIO;
            i += 1;
        }
        powers
    };
    const STEP: f64 = core::f64::consts::LN_2 / STEPS as f64;
    let position = x * (1.0 / STEP);
    if position >= 1_000.0 * STEPS as f64 {
        return 0.0;
    }
    let whole = position as u64;
    let r = (position - whole as f64) * STEP;
    let series = 1.0 - r * (1.0 - r * (0.5 - r * (1.0 / 6.0 - r * (1.0 / 24.0))));
    let halvings = whole / STEPS as u64;
    let power_of_two = f64::from_bits((1023 - halvings) << 52);
    POWERS[whole as usize % STEPS] * power_of_two * series
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ChannelWidth, GuardInterval, HeGuardInterval, RuSize};
    use proptest::prelude::*;
    use std::sync::LazyLock;

    extern crate std;

    static NIST: LazyLock<ErrorModel> = LazyLock::new(ErrorModel::nist);

    fn ht(mcs: u8) -> Rate {
        Rate::Ht { mcs, width: ChannelWidth::Mhz20, guard_interval: GuardInterval::Long }
    }

    fn he(mcs: u8) -> Rate {
        he_in(mcs, ChannelWidth::Mhz20)
    }

    fn he_in(mcs: u8, width: ChannelWidth) -> Rate {
        let guard_interval = HeGuardInterval::Ns800Ltf2x;
        Rate::He { mcs, streams: 1, width, guard_interval, dcm: false }
    }

    fn eht(mcs: u8) -> Rate {
        let guard_interval = HeGuardInterval::Ns800Ltf2x;
        Rate::eht(mcs, 1, ChannelWidth::Mhz20, guard_interval).expect("a rate")
    }

    /// EHT has LDPC at all widths: its curves are those of HE above 20 MHz. 4096-QAM has four points
    /// in the place of one of 1024-QAM, with a quarter of the energy: 6.02 dB for the same distance
    /// between points, and a little less, because 63/192 instead of 31/80 neighbours differ in a bit.
    /// MCS 14 has each bit four times, MCS 15 twice.
    #[test]
    fn curves_of_eht() {
        for model in [ErrorModel::nist(), ErrorModel::simulated()] {
            let snr = |rate| model.sensitivity_snr(rate, 0.1, 1_458).0;
            for mcs in 0..=11 {
                assert_eq!(snr(eht(mcs)), snr(he_in(mcs, ChannelWidth::Mhz80)));
            }
            for (mcs, like) in [(12, 10), (13, 11)] {
                let distance = snr(eht(mcs)) - snr(eht(like));
                assert!((5.8..6.03).contains(&distance), "{distance}");
            }
            let twice = 10.0 * libm::log10(2.0);
            assert!((snr(eht(0)) - snr(eht(15)) - twice).abs() < 0.003);
            let guard_interval = HeGuardInterval::Ns800Ltf2x;
            let most = Rate::eht(14, 1, ChannelWidth::Mhz320, guard_interval).expect("a rate");
            assert!((snr(eht(0)) - snr(most) - 2.0 * twice).abs() < 0.003);
        }
    }

    fn dsss(rate: DsssRate) -> Rate {
        Rate::Dsss { rate, preamble: Preamble::Long }
    }

    /// The DSSS header has 48 bits, at 2 Mb/s after a short preamble, otherwise at 1 Mb/s
    /// (16.2.2.2, 16.2.2.3); 1 Mb/s has only the long preamble. SIGNAL has 24 bits at 6 Mb/s,
    /// HT-SIG 48 more (17.3.4, 19.3.9.4.3).
    #[test]
    fn headers_are_sent_at_rates_of_their_own() {
        let model = ErrorModel::nist();
        let dsss = |rate, preamble| Rate::Dsss { rate, preamble };
        let ht =
            Rate::Ht { mcs: 15, width: ChannelWidth::Mhz20, guard_interval: GuardInterval::Long };
        let slow = dsss(DsssRate::Mbps1, Preamble::Long);
        let faster = dsss(DsssRate::Mbps2, Preamble::Long);
        let basic = Rate::Ofdm(OfdmRate::Mbps6);
        for snr in [-8.0, -6.0, -4.0, 0.0, 2.0].map(Db) {
            for (rate, header, bytes) in [
                (dsss(DsssRate::Mbps1, Preamble::Short), slow, 6),
                (dsss(DsssRate::Mbps11, Preamble::Long), slow, 6),
                (dsss(DsssRate::Mbps2, Preamble::Short), faster, 6),
                (dsss(DsssRate::Mbps11, Preamble::Short), faster, 6),
                (Rate::ErpOfdm(OfdmRate::Mbps54), basic, 3),
                (ht, basic, 9),
            ] {
                assert_eq!(model.header_success(rate, snr), model.success(header, snr, bytes));
            }
        }
        assert!(model.success(slow, Db(-6.0), 6) > model.success(faster, Db(-6.0), 6));
    }

    /// Half, a third and a quarter of the power are 3.01, 4.77 and 6.02 dB less.
    #[test]
    fn streams_may_share_the_power() {
        let [free, shared] = [ErrorModel::nist(), ErrorModel::nist().with_shared_power()];
        let needed = |model: &ErrorModel, mcs| model.sensitivity_snr(ht(mcs), 0.1, 1_500).0;
        for (streams, loss) in [(1, 0.0), (2, 3.0103), (3, 4.7712), (4, 6.0206)] {
            for mcs in [0, 4, 7] {
                let mcs_of_streams = 8 * (streams - 1) + mcs;
                let alone = needed(&free, mcs);
                assert!((needed(&free, mcs_of_streams) - alone).abs() < 0.002);
                assert!((needed(&shared, mcs_of_streams) - alone - loss).abs() < 0.002);
            }
        }
        let header = |model: &ErrorModel| model.header_success(ht(15), Db(0.0));
        assert_eq!(header(&shared), header(&free));
    }

    #[test]
    fn every_mode_has_its_own_place() {
        let mut seen: Vec<Mode> = DsssRate::ALL.map(|rate| Mode::from_rate(dsss(rate))).to_vec();
        seen.extend(OfdmRate::ALL.map(|rate| Mode::from_rate(Rate::Ofdm(rate))));
        seen.push(Mode::from_rate(ht(7)));
        seen.extend([8, 9].map(|mcs| Mode::from_rate(he(mcs))));
        seen.extend([10, 11].map(|mcs| Mode::OF_MCS[mcs]));
        seen.extend([12, 13].map(|mcs| Mode::OF_MCS[mcs]));
        seen.extend((0..=11).map(|mcs| Mode::from_rate(he_in(mcs, ChannelWidth::Mhz80))));
        seen.extend([12, 13].map(|mcs| Mode::from_rate(eht(mcs))));
        seen.sort();
        seen.dedup();
        assert_eq!(seen, (0..Mode::COUNT).map(Mode).collect::<Vec<_>>());
        for (mcs, rate) in (0..7).map(|mcs| (mcs, ht(mcs))) {
            let same =
                OfdmRate::ALL.into_iter().find(|ofdm| Some(ofdm.modulation()) == rate.modulation());
            assert_eq!(
                same.map(|ofdm| Mode::from_rate(Rate::Ofdm(ofdm))),
                Some(Mode::from_rate(rate)),
                "MCS {mcs}"
            );
        }
        assert_eq!(Mode::from_rate(ht(3)), Mode::from_rate(Rate::ErpOfdm(OfdmRate::Mbps24)));
        for mcs in 0..=11 {
            let convolutional = Mode::OF_MCS[usize::from(mcs)];
            let later = convolutional.0.checked_sub(12).map(|index| Mode::LATER[index]);
            assert!(later.is_none() || later == he(mcs).modulation(), "MCS {mcs}");
            assert!(mcs > 7 || Mode::from_rate(he(mcs)) == Mode::from_rate(ht(mcs)), "MCS {mcs}");
            // LDPC above 20 MHz, and for MCS 10 and 11.
            let wide = Mode::from_rate(he_in(mcs, ChannelWidth::Mhz40));
            assert_eq!(wide.in_the_other_code(), Some(convolutional));
            assert_eq!(convolutional.in_the_other_code(), Some(wide));
            assert_eq!(Mode::from_rate(he(mcs)), if mcs < 10 { convolutional } else { wide });
        }
        assert_eq!(Mode::from_rate(dsss(DsssRate::Mbps11)).in_the_other_code(), None);
    }

    /// Maximal ratio combining of two copies of each bit in white noise of equal power adds their
    /// SNRs, so that 3.01 dB less is enough. The power of 242 tones in 106 needs 3.585 dB less.
    /// Headers are sent twice.
    #[test]
    fn what_extended_range_and_dual_carriers_gain() {
        let gi = HeGuardInterval::Ns800Ltf2x;
        let dual = |mcs, dcm| Rate::he(mcs, 1, ChannelWidth::Mhz40, gi, dcm).expect("a rate");
        let far = |mcs, tones, dcm| Rate::he_extended_range(mcs, tones, gi, dcm).expect("a rate");
        let (wide, narrow) = (RuSize::Tones242, RuSize::Tones106);
        let (twice, denser) = (10.0 * libm::log10(2.0), 10.0 * libm::log10(242.0 / 106.0));
        for model in [ErrorModel::nist(), ErrorModel::simulated()] {
            let snr = |rate| model.sensitivity_snr(rate, 0.1, 500).0;
            for (better, than, gain) in [
                (dual(0, true), dual(0, false), twice),
                (dual(1, true), dual(1, false), twice),
                (dual(3, true), dual(3, false), twice),
                (dual(4, true), dual(4, false), twice),
                (far(0, wide, false), he(0), 0.0),
                (far(2, wide, false), he(2), 0.0),
                (far(1, wide, true), he(1), twice),
                (far(0, narrow, false), he(0), denser),
                (far(0, narrow, true), he(0), twice + denser),
            ] {
                assert!((snr(than) - snr(better) - gain).abs() < 0.003, "{better} and {than}");
            }
            let header = |rate| model.header_sensitivity_snr(rate, 0.1).0;
            for rate in [far(2, wide, false), far(0, narrow, true)] {
                assert!((header(he(0)) - header(rate) - twice).abs() < 0.003, "{rate}");
            }
            // Some 10 octets need less than what they announce, where that is a packet.
            let rate = far(0, narrow, false);
            assert!(header(rate) < model.sensitivity_snr(rate, 0.1, 1_500).0);
            for rate in [he(0), ht(0)] {
                let half = model.header_sensitivity_snr(rate, 0.5);
                assert!((model.header_success(rate, half).as_f64() - 0.5).abs() < 0.002);
            }
        }
    }

    /// In either model a faster MCS needs more SNR; simulated curves need less than the closed
    /// forms, and LDPC less than the convolutional code.
    #[test]
    fn what_an_mcs_needs() {
        let simulated = ErrorModel::simulated();
        let snr = |model: &ErrorModel, rate| model.sensitivity_snr(rate, 0.1, 1_500).0;
        let mut before = [f64::NEG_INFINITY; 3];
        for mcs in 0..=11 {
            let (narrow, wide) = (he(mcs), he_in(mcs, ChannelWidth::Mhz80));
            let [closed, bcc, ldpc] =
                [snr(&NIST, wide), snr(&simulated, narrow), snr(&simulated, wide)];
            assert_eq!(closed, snr(&NIST, narrow), "MCS {mcs}");
            assert!(ldpc < closed && closed - ldpc < 8.0, "MCS {mcs}: {closed} {bcc} {ldpc}");
            let gain = bcc - ldpc;
            assert!(
                if mcs < 10 { gain > 1.0 && gain < 2.5 } else { gain == 0.0 },
                "MCS {mcs}: {gain}"
            );
            assert!(mcs > 9 || bcc < closed, "MCS {mcs}: {closed} {bcc}");
            let now = [closed, bcc, ldpc];
            assert!(now.iter().zip(before).all(|(now, before)| *now > before), "MCS {mcs}");
            before = now;
        }
        let old = Rate::Ofdm(OfdmRate::Mbps9);
        assert_eq!(snr(&simulated, old), snr(&NIST, old));
        assert_eq!(snr(&simulated, ht(5)), snr(&simulated, he(5)));
    }

    #[test]
    fn far_from_the_edge_nothing_or_everything_arrives() {
        for mcs in 0..32 {
            assert_eq!(NIST.success(ht(mcs), Db(59.0), 65_535), Probability::ONE);
            assert!(NIST.success(ht(mcs), Db(-30.0), 14).as_f64() < 1e-30);
        }
        assert_eq!(NIST.success(ht(0), Db(-30.0), 0), Probability::ONE);
    }

    #[test]
    fn decay_ends() {
        assert_eq!(decay(0.0), 1.0);
        assert_eq!(decay(1e300), 0.0);
        assert_eq!(decay(f64::INFINITY), 0.0);
    }

    #[test]
    fn headers_are_more_robust_than_what_they_announce() {
        for rate in [ht(0), ht(31), Rate::Ofdm(OfdmRate::Mbps6), dsss(DsssRate::Mbps11)] {
            let snr = NIST.sensitivity_snr(rate, 0.5, 100);
            assert!(NIST.header_success(rate, snr) > NIST.success(rate, snr, 100), "{rate}");
        }
        let short = Rate::Dsss { rate: DsssRate::Mbps11, preamble: Preamble::Short };
        let snr = Db(-2.0);
        assert!(NIST.header_success(short, snr) < NIST.header_success(dsss(DsssRate::Mbps11), snr));
    }

    #[test]
    fn sensitivity_is_the_inverse_of_success() {
        for (rate, per, bytes) in
            [(ht(7), 0.1, 1500), (ht(8), 0.01, 4000), (dsss(DsssRate::Mbps11), 0.08, 1024)]
        {
            let snr = NIST.sensitivity_snr(rate, per, bytes);
            let at = 1.0 - NIST.success(rate, snr, bytes).as_f64();
            let below = 1.0 - NIST.success(rate, snr - Db(0.002), bytes).as_f64();
            assert!(at <= per && below > per, "{rate}: {below} {per} {at}");
        }
    }

    #[test]
    fn table_errors_name_the_row() {
        let row = |snr: f64, per: f64| PerRow {
            rate: ht(7),
            bytes: 1500,
            snr: Db(snr),
            per: Probability::new(per).expect("a probability"),
        };
        let (rate, bytes) = (ht(7), 1500);
        let error = |rows: &[PerRow]| PerTable::new(rows.to_vec()).expect_err("a bad table");
        let rising = error(&[row(20.0, 0.1), row(21.0, 0.2)]);
        assert_eq!(rising, PerTableError::Rising { rate, bytes, snr: Db(21.0) });
        let few = error(&[row(20.0, 1.0), row(21.0, 0.2), row(22.0, 0.0)]);
        assert_eq!(few, PerTableError::TooFew { rate, bytes });
        let twice = error(&[row(20.0, 0.1), row(20.0, 0.1)]);
        assert_eq!(twice, PerTableError::Twice { rate, bytes, snr: Db(20.0) });
        assert!(matches!(error(&[row(f64::NAN, 0.1)]), PerTableError::OutOfRange { .. }));
    }

    #[test]
    fn other_lengths_scale_the_success() {
        let row = |bytes, snr: f64, per: f64| PerRow {
            rate: ht(7),
            bytes,
            snr: Db(snr),
            per: Probability::new(per).expect("a probability"),
        };
        let one = PerTable::new(vec![row(1000, 20.0, 0.5), row(1000, 21.0, 0.1)]);
        let model = ErrorModel::table(one.expect("a good table"));
        let success =
            |model: &ErrorModel, snr, bytes| model.success(ht(7), Db(snr), bytes).as_f64();
        assert!((success(&model, 20.0, 1000) - 0.5).abs() < 1e-9);
        assert!((success(&model, 20.0, 2000) - 0.25).abs() < 1e-9);
        assert!((success(&model, 20.0, 500) - libm::sqrt(0.5)).abs() < 1e-9);
        // Modes without rows stay as they were.
        assert_eq!(model.success(ht(6), Db(20.0), 999), NIST.success(ht(6), Db(20.0), 999));
        let two = [(100, 0.2, 0.1), (1000, 0.5, 0.4)];
        let two = two.map(|(n, a, b)| [row(n, 20.0, a), row(n, 21.0, b)]).concat();
        let model = ErrorModel::table(PerTable::new(two).expect("a good table"));
        assert!((success(&model, 20.0, 100) - 0.8).abs() < 1e-9);
        // Half way in length: the geometric mean.
        assert!((success(&model, 20.0, 550) - libm::sqrt(0.8 * 0.5)).abs() < 1e-9);
        assert!((success(&model, 20.0, 2000) - 0.25).abs() < 1e-9);
    }

    fn any_mode() -> impl Strategy<Value = Rate> {
        prop_oneof![
            (0usize..4).prop_map(|i| dsss(DsssRate::ALL[i])),
            (0usize..8).prop_map(|i| Rate::Ofdm(OfdmRate::ALL[i])),
            (0u8..32).prop_map(ht),
            (0u8..12).prop_map(he),
            (0u8..12).prop_map(|mcs| he_in(mcs, ChannelWidth::Mhz80)),
        ]
    }

    proptest! {
        #[test]
        fn decay_is_the_exponential(x in prop_oneof![0.0f64..1.0, 0.0f64..690.0]) {
            let exact = libm::exp(-x);
            prop_assert!((decay(x) - exact).abs() <= 2e-12 * exact);
        }

        #[test]
        fn success_rises_with_snr_and_falls_with_length(
            rate in any_mode(),
            snr in -25.0f64..65.0,
            better in 0.0f64..5.0,
            bytes in 0u32..65_536,
            more in 0u32..2_000,
        ) {
            let success = |snr, bytes| NIST.success(rate, Db(snr), bytes);
            prop_assert!(success(snr, bytes) <= success(snr + better, bytes));
            prop_assert!(success(snr, bytes + more) <= success(snr, bytes));
            prop_assert!(NIST.header_success(rate, Db(snr)) <= NIST.header_success(rate, Db(snr + better)));
        }
    }
}

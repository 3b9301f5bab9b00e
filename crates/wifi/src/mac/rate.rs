//! Rate control: the rate of the next PPDU to one peer.
//!
//! One [`RateControl`] serves one sender towards one peer. For each PPDU the MAC asks once for a
//! [`RateChain`] and reports the outcome of every PPDU sent. IEEE 802.11 leaves the choice to the
//! implementation; [`RateControlConfig`] lists the algorithms. Left out: rate choice per access
//! category, RTS on the later stages of a chain, control and group frames (they use basic rates).

mod ath9k;
mod firmware;
mod fixed;
mod ideal;
mod minstrel_ht;
#[cfg(test)]
mod tests;

use crate::phy::{
    ChannelWidth, DsssRate, ErrorModel, GuardInterval, HeGuardInterval, OfdmRate, Preamble, Rate,
};
use alloc::boxed::Box;
use alloc::vec::Vec;
use ath9k::Ath9k;
use firmware::Firmware;
use fixed::Fixed;
use ideal::Ideal;
use lasthop_units::{Db, Duration, Instant, Probability, Stream};
use minstrel_ht::MinstrelHt;
pub use minstrel_ht::{MinstrelRate, MinstrelStatistics};

/// Algorithm of rate control, with its parameters.
#[derive(Clone, Debug, PartialEq)]
pub enum RateControlConfig {
    /// A fixed rate, independent of the pair's set of rates.
    Fixed {
        /// The rate of all data frames.
        rate: Rate,
    },
    /// The rate with the highest throughput at the receiver's SNR, which the sender knows. This is
    /// an upper bound, not a product.
    Ideal {
        /// Length in bytes of the MPDU that the choice is made for; longer ones use tables for
        /// twice, four or eight times that length.
        bytes: u16,
        /// Packet error rate above which a rate is excluded.
        per_max: Probability,
    },
    /// A stand-in for rate control in firmware, which 802.11ax devices have. The stand-in makes the
    /// ideal choice for MPDUs of 1 600 bytes with a loss of 10 %, at which sensitivity is defined
    /// (IEEE 802.11-2020, 17.3.10.2), from an SNR with delay and error. The algorithm is that of no
    /// product.
    Firmware {
        /// Interval between choices, each from the SNR measured one update before.
        update_interval: Duration,
        /// Standard deviation of the error in the SNR.
        deviation: Db,
    },
    /// Minstrel-HT as in Linux since 5.12; covers DSSS, CCK and OFDM rates too, and VHT up to 80
    /// MHz and four streams. The algorithm has no HE rates.
    MinstrelHt {
        /// Interval between updates of the statistics and the choice.
        update_interval: Duration,
        /// Shortest time between two probes.
        sample_interval: Duration,
    },
    /// ath9k's own, as in Linux 3.13; covers DSSS, CCK, OFDM and HT rates. Linux used it for ath9k
    /// by default before 3.9.
    Ath9k,
}

impl RateControlConfig {
    /// Returns the ideal control for packets of 1 500 bytes plus headers, with at most half of them
    /// lost.
    pub fn ideal() -> Self {
        let per_max = Probability::new(0.5).expect("a half is a probability");
        Self::Ideal { bytes: 1_600, per_max }
    }

    /// Returns the stand-in for firmware with an update every 20 ms and an error of 1 dB.
    pub const fn firmware() -> Self {
        Self::Firmware { update_interval: Duration::from_millis(20), deviation: Db(1.0) }
    }

    /// Returns Minstrel-HT with Linux' intervals: update every 50 ms, probe every 20 ms.
    pub const fn minstrel_ht() -> Self {
        Self::MinstrelHt {
            update_interval: Duration::from_millis(50),
            sample_interval: Duration::from_millis(20),
        }
    }
}

/// The rates that both ends support, slowest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RateSet {
    /// The rates in ascending order, at least one.
    pub rates: Vec<Rate>,
}

impl RateSet {
    /// Returns the set of these rates in ascending order, without duplicates.
    pub fn new(rates: impl IntoIterator<Item = Rate>) -> Self {
        let mut rates: Vec<Rate> = rates.into_iter().collect();
        rates.sort_by_key(|&rate| (rate.bitrate(), rate));
        rates.dedup();
        Self { rates }
    }

    /// Returns HT rates with 1 to 4 equal streams: 20 MHz, with `width` also 40 MHz, with the long
    /// guard interval and optionally the short one.
    pub fn ht(streams: u8, width: ChannelWidth, short_guard_interval: bool) -> Self {
        let guard_intervals: &[GuardInterval] = if short_guard_interval {
            &[GuardInterval::Long, GuardInterval::Short]
        } else {
            &[GuardInterval::Long]
        };
        let widths = [ChannelWidth::Mhz20, ChannelWidth::Mhz40];
        let mut rates = Vec::new();
        for used in widths.into_iter().filter(|&used| used <= width) {
            for &guard_interval in guard_intervals {
                rates.extend(Rate::all_ht(used, guard_interval, streams));
            }
        }
        Self::new(rates)
    }

    /// Returns the VHT rates that exist with 1 to 8 equal streams: 20 MHz and every width up to
    /// `width`, with the long guard interval and optionally the short one.
    pub fn vht(streams: u8, width: ChannelWidth, short_guard_interval: bool) -> Self {
        let guard_intervals: &[GuardInterval] = if short_guard_interval {
            &[GuardInterval::Long, GuardInterval::Short]
        } else {
            &[GuardInterval::Long]
        };
        let mut rates = Vec::new();
        for used in ChannelWidth::ALL.into_iter().filter(|&used| used <= width) {
            for &guard_interval in guard_intervals {
                rates.extend(Rate::all_vht(used, guard_interval, streams));
            }
        }
        Self::new(rates)
    }

    /// Returns HE SU rates with 1 to 8 equal streams and one guard interval, in 20 MHz and every
    /// width up to `width`, without dual carrier modulation and extended range.
    pub fn he(streams: u8, width: ChannelWidth, guard_interval: HeGuardInterval) -> Self {
        let widths = ChannelWidth::ALL.into_iter().filter(|&used| used <= width);
        Self::new(widths.flat_map(|used| Rate::all_he(used, guard_interval, streams)))
    }

    /// Returns EHT rates of MCS 0 to 13 with 1 to 8 equal streams and one guard interval, in 20 MHz
    /// and every width up to `width`.
    pub fn eht(streams: u8, width: ChannelWidth, guard_interval: HeGuardInterval) -> Self {
        let widths = ChannelWidth::ALL_EHT.into_iter().filter(|&used| used <= width);
        Self::new(widths.flat_map(|used| Rate::all_eht(used, guard_interval, streams)))
    }

    /// Returns the eight OFDM rates of 802.11a.
    pub fn ofdm() -> Self {
        Self::new(OfdmRate::ALL.map(Rate::Ofdm))
    }

    /// Returns the rates of 802.11b: 1, 2, 5.5 and 11 Mb/s; 1 Mb/s always has the long preamble.
    pub fn dsss(preamble: Preamble) -> Self {
        Self::new(DsssRate::ALL.map(|rate| match rate {
            DsssRate::Mbps1 => Rate::Dsss { rate, preamble: Preamble::Long },
            _ => Rate::Dsss { rate, preamble },
        }))
    }

    /// Returns the rates of 802.11g: those of 802.11b and the eight ERP-OFDM rates.
    pub fn erp(preamble: Preamble) -> Self {
        let mut rates = Self::dsss(preamble).rates;
        rates.extend(OfdmRate::ALL.map(Rate::ErpOfdm));
        Self::new(rates)
    }

    /// Returns the rates in both sets.
    pub fn intersection(&self, other: &Self) -> Self {
        Self::new(self.rates.iter().copied().filter(|rate| other.rates.contains(rate)))
    }
}

/// One stage of a retry chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// Rate of the stage.
    pub rate: Rate,
    /// Number of transmissions at this rate.
    pub tries: u8,
}

/// Rates for the first and the following transmissions of one A-MPDU or MPDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateChain {
    stages: [Attempt; Self::STAGES_MAX],
    len: u8,
    probe: bool,
    /// Whether the chain begins again after its last try.
    repeats: bool,
}

impl RateChain {
    /// Number of stages that common hardware has.
    pub const STAGES_MAX: usize = 4;

    /// Returns a chain of one to four stages; the last one has no limit of tries.
    fn new(stages: &[Attempt], probe: bool) -> Self {
        let mut all = [stages[0]; Self::STAGES_MAX];
        all[..stages.len()].copy_from_slice(stages);
        Self { stages: all, len: stages.len() as u8, probe, repeats: false }
    }

    /// Returns the chain as one that begins again after its last try.
    fn repeated(self) -> Self {
        Self { repeats: true, ..self }
    }

    /// The rate of the `attempt`-th transmission, counted from 0. After the last stage its rate
    /// stays, or the chain begins again (ath9k's rate control); the retry limit decides when to
    /// give up.
    pub fn rate_for_attempt(&self, attempt: u32) -> Rate {
        let stages = self.stages();
        let mut tries = 0;
        for stage in &stages[..stages.len() - 1] {
            tries += u32::from(stage.tries);
            if attempt < tries {
                return stage.rate;
            }
        }
        let last = stages[stages.len() - 1];
        let all = tries + u32::from(last.tries);
        if self.repeats && attempt >= all {
            return self.rate_for_attempt(attempt % all);
        }
        last.rate
    }

    /// Total number of tries before the last stage.
    pub fn tries_before_last(&self) -> u32 {
        let stages = self.stages();
        stages[..stages.len() - 1].iter().map(|stage| u32::from(stage.tries)).sum()
    }

    /// The stages in order, at least one.
    pub fn stages(&self) -> &[Attempt] {
        &self.stages[..usize::from(self.len)]
    }

    /// Whether the first stage probes a rate. Linux drivers do not aggregate such a frame, so that
    /// a failing rate costs one MPDU, not a whole A-MPDU.
    pub const fn is_probe(&self) -> bool {
        self.probe
    }
}

/// Interface of an algorithm.
trait Algorithm {
    fn chain(&mut self, now: Instant, snr: Db, msdu_bytes: u16) -> RateChain;
    fn report(&mut self, now: Instant, rate: Rate, mpdus_sent: u16, mpdus_acked: u16);
    /// Reports several transmissions of one A-MPDU; only the last may have been acknowledged.
    fn report_chain(
        &mut self,
        now: Instant,
        attempts: &[Attempt],
        mpdus_sent: u16,
        mpdus_acked: u16,
    ) {
        let tries: u32 = attempts.iter().map(|attempt| u32::from(attempt.tries)).sum();
        let rates = attempts.iter().flat_map(|a| core::iter::repeat_n(a.rate, a.tries.into()));
        for (number, rate) in (1..).zip(rates) {
            self.report(now, rate, mpdus_sent, if number == tries { mpdus_acked } else { 0 });
        }
    }
    fn main_rate(&self) -> Rate;
}

/// Rate control of one sender towards one peer.
#[derive(Clone, Debug, PartialEq)]
pub struct RateControl {
    kind: Kind,
    announced: Rate,
}

#[derive(Clone, Debug, PartialEq)]
enum Kind {
    Fixed(Fixed),
    Ideal(Box<Ideal>),
    Firmware(Box<Firmware>),
    MinstrelHt(Box<MinstrelHt>),
    Ath9k(Box<Ath9k>),
}

impl RateControl {
    /// Returns rate control over `rates`; `error_model` is the ideal algorithm's knowledge of the
    /// receiver.
    ///
    /// # Panics
    /// Panics if `rates` is empty, because such a pair cannot communicate. Panics if Minstrel-HT or
    /// ath9k supports none of them.
    pub fn new(
        config: &RateControlConfig,
        rates: &RateSet,
        error_model: &ErrorModel,
        stream: Stream,
    ) -> Self {
        assert!(!rates.rates.is_empty(), "the two stations share no rate");
        let kind = match *config {
            RateControlConfig::Fixed { rate } => Kind::Fixed(Fixed::new(rate)),
            RateControlConfig::Ideal { bytes, per_max } => {
                Kind::Ideal(Box::new(Ideal::new(rates, error_model, bytes, per_max)))
            }
            RateControlConfig::Firmware { update_interval, deviation } => {
                let per_max = Probability::new(0.1).expect("a tenth is a probability");
                let ideal = Ideal::new(rates, error_model, 1_600, per_max);
                Kind::Firmware(Box::new(Firmware::new(ideal, update_interval, deviation, stream)))
            }
            RateControlConfig::MinstrelHt { update_interval, sample_interval } => {
                let minstrel = MinstrelHt::new(rates, update_interval, sample_interval, stream);
                Kind::MinstrelHt(Box::new(minstrel))
            }
            RateControlConfig::Ath9k => Kind::Ath9k(Box::new(Ath9k::new(rates))),
        };
        let mut control = Self { kind, announced: rates.rates[0] };
        control.announced = control.main_rate();
        control
    }

    /// Whether this is the stand-in for firmware.
    pub const fn is_firmware(&self) -> bool {
        matches!(self.kind, Kind::Firmware(_))
    }

    /// Returns the rates for the next PPDU; call it once for each, because the call may use up a
    /// probe. `snr` is the last one measured by the receiver, as the error model defines it.
    pub fn chain(&mut self, now: Instant, snr: Db, msdu_bytes: u16) -> RateChain {
        match &mut self.kind {
            Kind::Fixed(fixed) => fixed.chain(now, snr, msdu_bytes),
            Kind::Ideal(ideal) => ideal.chain(now, snr, msdu_bytes),
            Kind::Firmware(firmware) => firmware.chain(now, snr, msdu_bytes),
            Kind::MinstrelHt(minstrel) => minstrel.chain(now, snr, msdu_bytes),
            Kind::Ath9k(ath9k) => ath9k.chain(now, snr, msdu_bytes),
        }
    }

    /// Reports the outcome of a PPDU: of `mpdus_sent` MPDUs, `mpdus_acked` were acknowledged, 0 if
    /// all were lost. Rates outside of the set are ignored.
    pub fn report(&mut self, now: Instant, rate: Rate, mpdus_sent: u16, mpdus_acked: u16) {
        match &mut self.kind {
            Kind::Fixed(fixed) => fixed.report(now, rate, mpdus_sent, mpdus_acked),
            Kind::Ideal(ideal) => ideal.report(now, rate, mpdus_sent, mpdus_acked),
            Kind::Firmware(firmware) => firmware.report(now, rate, mpdus_sent, mpdus_acked),
            Kind::MinstrelHt(minstrel) => minstrel.report(now, rate, mpdus_sent, mpdus_acked),
            Kind::Ath9k(ath9k) => ath9k.report(now, rate, mpdus_sent, mpdus_acked),
        }
    }

    /// Reports the outcome of an A-MPDU that was sent along a chain: all `attempts` in order, each
    /// with `mpdus_sent` MPDUs, of which the last transmission delivered `mpdus_acked`. Drivers
    /// with retransmission in hardware report in this way ("tx status"). Minstrel-HT then counts
    /// one A-MPDU, whether or not its rates are in the set, and ends no window between the
    /// transmissions.
    pub fn report_chain(
        &mut self,
        now: Instant,
        attempts: &[Attempt],
        mpdus_sent: u16,
        mpdus_acked: u16,
    ) {
        match &mut self.kind {
            Kind::Fixed(fixed) => fixed.report_chain(now, attempts, mpdus_sent, mpdus_acked),
            Kind::Ideal(ideal) => ideal.report_chain(now, attempts, mpdus_sent, mpdus_acked),
            Kind::Firmware(firmware) => {
                firmware.report_chain(now, attempts, mpdus_sent, mpdus_acked);
            }
            Kind::MinstrelHt(minstrel) => {
                minstrel.report_chain(now, attempts, mpdus_sent, mpdus_acked);
            }
            Kind::Ath9k(ath9k) => ath9k.report_chain(now, attempts, mpdus_sent, mpdus_acked),
        }
    }

    /// Sets the rates of the peer from now on. The statistics are forgotten, as by Linux'
    /// `rate_control_rate_update`; only the update times of firmware's stand-in stay.
    ///
    /// # Panics
    /// Panics in the cases of [`RateControl::new`].
    pub fn renew(
        &mut self,
        config: &RateControlConfig,
        rates: &RateSet,
        error_model: &ErrorModel,
        stream: Stream,
    ) {
        let Self { kind: new, .. } = Self::new(config, rates, error_model, stream);
        match (&mut self.kind, new) {
            (Kind::Firmware(old), Kind::Firmware(new)) => old.renew(*new),
            (old, new) => *old = new,
        }
        self.keep_within(&rates.rates);
    }

    /// Keeps a fixed rate within the width and streams of these rates; its MCS stays.
    pub fn keep_within(&mut self, rates: &[Rate]) {
        let width = rates.iter().map(|rate| rate.width()).max();
        let streams = rates.iter().map(|rate| rate.streams()).max();
        if let (Kind::Fixed(_), Some(width), Some(streams)) = (&self.kind, width, streams) {
            self.fix(self.main_rate().within(width, streams));
        }
    }

    /// Fixes the rate from now on.
    pub fn fix(&mut self, rate: Rate) {
        self.kind = Kind::Fixed(Fixed::new(rate));
    }

    /// Whether the rate is fixed.
    pub fn is_fixed(&self) -> bool {
        matches!(self.kind, Kind::Fixed(_))
    }

    /// Statistics and choice of Minstrel-HT; `None` for the other algorithms.
    pub fn minstrel_statistics(&self) -> Option<MinstrelStatistics> {
        match &self.kind {
            Kind::MinstrelHt(minstrel) => Some(minstrel.statistics()),
            Kind::Fixed(_) | Kind::Ideal(_) | Kind::Firmware(_) | Kind::Ath9k(_) => None,
        }
    }

    /// Returns the new main rate, once after each change.
    pub fn poll_rate_changed(&mut self) -> Option<Rate> {
        let main_rate = self.main_rate();
        (core::mem::replace(&mut self.announced, main_rate) != main_rate).then_some(main_rate)
    }

    /// The rates behind the first one, for the next PPDU that is no probe.
    pub fn later_rates(&self) -> impl Iterator<Item = Rate> + '_ {
        let stages = match &self.kind {
            Kind::MinstrelHt(minstrel) => &minstrel.usual_chain().stages()[1..],
            Kind::Ath9k(ath9k) => &ath9k.usual_chain().stages()[1..],
            Kind::Fixed(_) | Kind::Ideal(_) | Kind::Firmware(_) => &[],
        };
        stages.iter().map(|stage| stage.rate)
    }

    /// The rate of the first stage without probes.
    pub fn main_rate(&self) -> Rate {
        match &self.kind {
            Kind::Fixed(fixed) => fixed.main_rate(),
            Kind::Ideal(ideal) => ideal.main_rate(),
            Kind::Firmware(firmware) => firmware.main_rate(),
            Kind::MinstrelHt(minstrel) => minstrel.main_rate(),
            Kind::Ath9k(ath9k) => ath9k.main_rate(),
        }
    }
}

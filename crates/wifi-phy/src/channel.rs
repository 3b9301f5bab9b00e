//! The channel between two stations: path loss, shadowing, fading, noise.
//!
//! The model has log-distance path loss from a reference at 1 m; log-normal shadowing, drawn once
//! for a pair of stations; Rayleigh or Rician block fading; thermal noise. A [`Link`] is one
//! direction between two stations and gives the SNR at an instant. A configuration may instead give
//! the mean SNR, with changes during the run, or the probability that an MPDU is lost.
//!
//! Fading has a gain that is constant for a block of one coherence time and drawn anew for the next
//! block, independent of it and with mean 1 (0 dB). The gain of a block is a function of the link's
//! stream and the block's number, so a jump over a million blocks costs as much as one, and a query
//! has no side effect. The coherence time is 0.423 over the Doppler rate (Rappaport, "Wireless
//! Communications", 5.4.3). Blocks of different links do not start together.
//!
//! SNR refers to the channel's full width on one antenna; the cell adds the gain of narrower PPDUs,
//! which have less noise. Left out: frequency selectivity, correlation from block to block, antenna
//! diversity, movement (a given SNR may change in steps).

use super::{Band, ChannelWidth, ErrorModel, Rate};
use alloc::vec::Vec;
use core::f64::consts::PI;
use lasthop_units::{Db, Dbm, Duration, Instant, Meters, Probability, Seed, Stream};

const SPEED_OF_LIGHT_M_PER_S: f64 = 299_792_458.0;
/// Thermal noise density at 290 K, rounded as is usual in radio engineering.
const THERMAL_NOISE_DBM_PER_HZ: f64 = -174.0;
/// Noise figure of a usual receiver, and ns-3's default.
const NOISE_FIGURE: Db = Db(7.0);
/// Path loss exponent indoors, and ns-3's default.
const PATH_LOSS_EXPONENT: f64 = 3.0;
/// Mean SNR reported for a link that is given by its loss: enough for any rate.
const LOSS_LINK_SNR: Db = Db(40.0);
/// Coherence time times Doppler rate: sqrt(9 / (16 pi)).
const COHERENCE: f64 = 0.423;
/// Gain of the deepest fade, -90 dB, which keeps levels finite.
const GAIN_MIN: f64 = 1e-9;

/// Log-distance path loss.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PathLoss {
    /// Path loss at 1 m.
    pub reference: Db,
    /// Path loss exponent: 2 in free space, about 3 indoors, up to 4 through walls.
    pub exponent: f64,
}

impl PathLoss {
    /// Returns exponent 3 from the free-space loss at 1 m: 40.05 dB at 2.4 GHz, 46.68 dB at 5.15
    /// GHz, 47.95 dB at 5.955 GHz (channel 1 of 6 GHz).
    pub fn in_band(band: Band) -> Self {
        let frequency_hz = match band {
            Band::Ghz2_4 => 2.4e9,
            Band::Ghz5 => 5.15e9,
            Band::Ghz6 => 5.955e9,
        };
        Self { reference: free_space_at_1m(frequency_hz), exponent: PATH_LOSS_EXPONENT }
    }

    /// Loss at `distance`; below 1 m the reference loss.
    pub fn at(&self, distance: Meters) -> Db {
        self.reference + Db(10.0 * self.exponent * libm::log10(distance.0.max(1.0)))
    }
}

/// Free-space loss by Friis at 1 m between isotropic antennas.
fn free_space_at_1m(frequency_hz: f64) -> Db {
    Db(20.0 * libm::log10(4.0 * PI * frequency_hz / SPEED_OF_LIGHT_M_PER_S))
}

/// Variation of a link's power around its mean: block fading with a gain that is constant during a
/// PPDU.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub enum Fading {
    /// Constant power, always the mean.
    #[default]
    None,
    /// No line of sight: exponentially distributed power.
    Rayleigh {
        /// Maximum Doppler rate in hertz (speed over wavelength): about 10 for a
        /// walker at 2.4 GHz; 0 draws once for the whole run.
        doppler_hz: f64,
    },
    /// A line of sight besides the scattered waves.
    Rician {
        /// Power of the line of sight over that of the scattered waves.
        k: Db,
        /// Maximum Doppler rate in hertz, as for Rayleigh fading.
        doppler_hz: f64,
    },
}

impl Fading {
    /// Length of a block; `None` if the gain never changes.
    pub fn coherence_time(self) -> Option<Duration> {
        match self {
            Self::None => None,
            Self::Rayleigh { doppler_hz } | Self::Rician { doppler_hz, .. } => (doppler_hz > 0.0)
                .then(|| {
                    Duration::from_secs_f64(COHERENCE / doppler_hz).max(Duration::from_nanos(1))
                }),
        }
    }

    /// The maximum Doppler rate in hertz; zero without fading.
    pub const fn doppler_hz(self) -> f64 {
        match self {
            Self::None => 0.0,
            Self::Rayleigh { doppler_hz } | Self::Rician { doppler_hz, .. } => doppler_hz,
        }
    }

    /// Draws a power gain of mean 1.
    fn gain(self, stream: &mut Stream) -> f64 {
        match self {
            Self::None => 1.0,
            Self::Rayleigh { .. } => stream.exponential(),
            Self::Rician { k, .. } => {
                let k = k.as_linear();
                let scatter = libm::sqrt(0.5 / (k + 1.0));
                let in_phase = libm::sqrt(k / (k + 1.0)) + scatter * stream.normal();
                let quadrature = scatter * stream.normal();
                in_phase * in_phase + quadrature * quadrature
            }
        }
    }
}

/// Propagation parameters that the links of a cell share.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Propagation {
    /// Path loss over distance.
    pub path_loss: PathLoss,
    /// Standard deviation of the log-normal shadowing; 0 dB for none.
    pub shadowing: Db,
    /// Fading of every link.
    pub fading: Fading,
    /// Width of the channel, over which noise is received.
    pub width: ChannelWidth,
    /// Noise figure of every receiver.
    pub noise_figure: Db,
}

impl Propagation {
    /// Returns ns-3's defaults: [`PathLoss::in_band`] the band, noise figure 7 dB, neither shadowing nor
    /// fading.
    pub fn in_band(band: Band, width: ChannelWidth) -> Self {
        Self {
            path_loss: PathLoss::in_band(band),
            shadowing: Db(0.0),
            fading: Fading::None,
            width,
            noise_figure: NOISE_FIGURE,
        }
    }

    /// Noise at a receiver: -174 dBm/Hz over the width, and the noise figure
    /// (-94 dBm for 20 MHz and 7 dB).
    #[inline]
    pub fn noise(&self) -> Dbm {
        let width = Db::from_linear(self.width.as_hz() as f64);
        Dbm(THERMAL_NOISE_DBM_PER_HZ) + width + self.noise_figure
    }

    /// Draws the shadowing loss of a pair of stations, which both directions share.
    pub fn draw_shadowing(&self, stream: &mut Stream) -> Db {
        Db(self.shadowing.0 * stream.normal())
    }

    /// Returns the link over `distance` with the pair's `shadowing` loss, at transmit power
    /// `power`.
    pub fn link(&self, power: Dbm, distance: Meters, shadowing: Db) -> LinkConfig {
        let signal = power - self.path_loss.at(distance) - shadowing;
        self.link_with_snr(signal - self.noise())
    }

    /// Returns a link with a given mean SNR.
    pub fn link_with_snr(&self, snr: Db) -> LinkConfig {
        LinkConfig { snr, noise: self.noise(), fading: self.fading, loss: None }
    }

    /// Returns a link that loses every MPDU with probability `loss`, at any rate and length. The
    /// SNR of the link (for levels and carrier sense) is 40 dB, without fading.
    pub fn link_with_loss(&self, loss: Probability) -> LinkConfig {
        LinkConfig {
            snr: LOSS_LINK_SNR,
            noise: self.noise(),
            fading: Fading::None,
            loss: Some(loss),
        }
    }
}

/// Configuration of one direction between two stations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkConfig {
    /// Mean SNR in the full width of the channel.
    pub snr: Db,
    /// Noise at the receiver.
    pub noise: Dbm,
    /// Fading around the mean.
    pub fading: Fading,
    /// Probability that an MPDU is lost; replaces the error model.
    pub loss: Option<Probability>,
}

impl LinkConfig {
    /// Whether a mean SNR of `snr` makes the medium busy.
    #[inline]
    pub fn is_sensed(&self, snr: Db, carrier_sense: Dbm) -> bool {
        (self.noise + snr).as_milliwatts() >= carrier_sense.as_milliwatts()
    }
}

/// A change of a link's mean SNR.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SnrChange {
    /// Instant of the change.
    pub at: Instant,
    /// Mean SNR in the full width of the channel.
    pub snr: Db,
}

/// State of a link.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    config: LinkConfig,
    /// Changes of the mean SNR, ascending by time.
    changes: Vec<SnrChange>,
    /// Length of a block, if the gain changes.
    coherence_time: Option<Duration>,
    /// Key from which the gains of the blocks are drawn.
    key: u64,
    /// Time from the start of block 0 to the start of the run.
    phase: Duration,
    /// The last requested block and number of changes, with the SNR there.
    current: ((u64, usize), Db),
}

impl Link {
    /// Returns a link whose fading is drawn from `stream`. Two directions with the same stream fade
    /// together, as the directions of one channel do.
    ///
    /// # Panics
    /// Panics if `changes` are not in ascending order.
    pub fn new(config: LinkConfig, changes: &[SnrChange], mut stream: Stream) -> Self {
        assert!(changes.is_sorted_by(|one, other| one.at < other.at), "changes follow each other");
        let key = stream.next_u64();
        let coherence_time = config.fading.coherence_time();
        let phase = coherence_time.map_or(Duration::ZERO, |time| time.mul_f64(stream.uniform()));
        let (changes, current) = (changes.to_vec(), ((0, 0), config.snr));
        let mut link = Self { config, changes, coherence_time, key, phase, current };
        link.current.1 = link.snr_of(0, 0);
        link
    }

    /// SNR at `now`.
    #[inline]
    pub fn snr(&mut self, now: Instant) -> Db {
        let since_phase = || now.saturating_since(Instant::ZERO) + self.phase;
        let block = self.coherence_time.map_or(0, |time| since_phase() / time);
        let then = (block, self.changes.partition_point(|change| change.at <= now));
        if then != self.current.0 {
            self.current = (then, self.snr_of(then.0, then.1));
        }
        self.current.1
    }

    /// Received power at `now`.
    #[inline]
    pub fn signal(&mut self, now: Instant) -> Dbm {
        self.config.noise + self.snr(now)
    }

    /// Noise at the receiver.
    #[inline]
    pub fn noise(&self) -> Dbm {
        self.config.noise
    }

    /// Changes the mean SNR from an instant on, which must not be before the last one requested or
    /// changed. The fading continues unchanged.
    pub fn change_snr(&mut self, change: SnrChange) {
        self.changes.pop_if(|last| last.at == change.at);
        self.changes.push(change);
        // The number of changes may be what it was.
        self.current = ((0, 0), self.snr_of(0, 0));
    }

    /// Sets the mean SNR of the link, at all instants; changes known before are forgotten. The
    /// fading continues unchanged.
    pub fn set_snr(&mut self, snr: Db) {
        self.config.snr = snr;
        self.changes.clear();
        // Known anew at the next request.
        self.current.0 = (u64::MAX, usize::MAX);
    }

    /// Sets the loss of the link from now on; with `None` the error model decides.
    pub fn change_loss(&mut self, loss: Option<Probability>) {
        self.config.loss = loss;
    }

    /// Whether the SNR is constant.
    #[inline]
    pub fn is_static(&self) -> bool {
        self.coherence_time.is_none() && self.changes.is_empty()
    }

    /// Probability that an MPDU is lost, if the link has a given loss.
    #[inline]
    pub fn loss(&self) -> Option<Probability> {
        self.config.loss
    }

    /// Probability that an MPDU of `bytes` at `rate` is decoded at `now`.
    #[inline]
    pub fn success(
        &mut self,
        now: Instant,
        model: &ErrorModel,
        rate: Rate,
        bytes: u32,
    ) -> Probability {
        match self.config.loss {
            Some(loss) => loss.complement(),
            None => model.success(rate, self.snr(now), bytes),
        }
    }

    /// SNR in a block of fading after a number of changes.
    fn snr_of(&self, block: u64, changes: usize) -> Db {
        let last = changes.checked_sub(1).map(|index| self.changes[index].snr);
        let mut stream = Seed::new(self.key, block).stream("fading block");
        let gain = self.config.fading.gain(&mut stream).max(GAIN_MIN);
        last.unwrap_or(self.config.snr) + Db::from_linear(gain)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::OfdmRate;
    use proptest::prelude::*;

    fn stream(n: u64) -> Stream {
        Seed::new(n, 0).stream("link")
    }

    fn at(seconds: u64) -> Instant {
        Instant::ZERO + Duration::from_secs(seconds)
    }

    fn faded(fading: Fading) -> LinkConfig {
        let propagation =
            Propagation { fading, ..Propagation::in_band(Band::Ghz5, ChannelWidth::Mhz20) };
        propagation.link_with_snr(Db(0.0))
    }

    /// Power gains of 100 000 blocks.
    fn gains(fading: Fading) -> impl Iterator<Item = f64> {
        let mut link = Link::new(faded(fading), &[], stream(5));
        let time = fading.coherence_time().expect("it changes");
        (0..100_000).map(move |n| link.snr(Instant::ZERO + time * n).as_linear())
    }

    fn mean(values: impl Iterator<Item = f64>) -> f64 {
        let (count, sum) = values.fold((0.0, 0.0), |(n, sum), value| (n + 1.0, sum + value));
        sum / count
    }

    #[test]
    fn path_loss_and_noise_by_hand() {
        let five = PathLoss::in_band(Band::Ghz5);
        // ns-3's reference loss (it rounds the speed of light), and 30 dB a decade.
        assert!((five.reference.0 - 46.6777).abs() < 0.01);
        assert!((five.at(Meters(10.0)).0 - 76.6777).abs() < 0.01);
        assert_eq!(five.at(Meters(0.2)), five.reference);
        assert!((PathLoss::in_band(Band::Ghz2_4).reference.0 - 40.05).abs() < 0.01);
        assert!((PathLoss::in_band(Band::Ghz6).reference.0 - 47.94).abs() < 0.01);
        let noise = |width| Propagation::in_band(Band::Ghz5, width).noise().0;
        assert!((noise(ChannelWidth::Mhz20) + 93.99).abs() < 0.01);
        assert!((noise(ChannelWidth::Mhz40) + 90.98).abs() < 0.01);
        assert!((noise(ChannelWidth::Mhz160) + 84.96).abs() < 0.01);
    }

    #[test]
    fn a_static_link_adds_up() {
        let propagation = Propagation::in_band(Band::Ghz5, ChannelWidth::Mhz20);
        let mut link =
            Link::new(propagation.link(Dbm(16.0), Meters(10.0), Db(5.0)), &[], stream(1));
        assert!(link.is_static());
        assert!((link.signal(Instant::ZERO).0 - (16.0 - 76.6777 - 5.0)).abs() < 0.01);
        assert!((link.snr(Instant::MAX).0 - (16.0 - 76.6777 - 5.0 + 93.9897)).abs() < 0.01);
        let mut exact = Link::new(propagation.link_with_snr(Db(21.5)), &[], stream(1));
        assert_eq!(exact.snr(Instant::ZERO), Db(21.5));
    }

    #[test]
    fn a_change_moves_the_mean_and_not_the_fading() {
        let fading = Fading::Rayleigh { doppler_hz: 10.0 };
        let changes =
            [(10, 12.0), (20, -3.0)].map(|(s, snr)| SnrChange { at: at(s), snr: Db(snr) });
        let mut changing = Link::new(faded(fading), &changes, stream(3));
        let mut steady = Link::new(faded(fading), &[], stream(3));
        assert!(!changing.is_static());
        for (from, to, shift) in [(0, 10, 0.0), (10, 20, 12.0), (20, 30, -3.0)] {
            for now in [at(from), at(from + 5), Instant::from_nanos(at(to).as_nanos() - 1)] {
                let off = changing.snr(now) - steady.snr(now) - Db(shift);
                assert!(off.0.abs() < 1e-9, "{now:?}: {off:?}");
            }
        }
    }

    #[test]
    fn a_given_loss_stands_in_for_the_error_model() {
        let propagation = Propagation::in_band(Band::Ghz5, ChannelWidth::Mhz20);
        let loss = Probability::new(0.2).expect("a probability");
        let mut link = Link::new(propagation.link_with_loss(loss), &[], stream(1));
        let model = ErrorModel::nist();
        let rate = Rate::Ofdm(OfdmRate::Mbps54);
        assert_eq!(link.success(Instant::ZERO, &model, rate, 1500), loss.complement());
        assert_eq!(link.loss(), Some(loss));
        let mut link = Link::new(propagation.link_with_snr(Db(18.0)), &[], stream(1));
        let by_model = model.success(rate, Db(18.0), 1500);
        assert!(by_model < Probability::ONE);
        assert_eq!(link.success(Instant::ZERO, &model, rate, 1500), by_model);
    }

    #[test]
    fn rayleigh_power_is_exponential() {
        let fading = Fading::Rayleigh { doppler_hz: 10.0 };
        assert!((mean(gains(fading)) - 1.0).abs() < 0.02);
        for level in [0.01, 0.1, 1.0, 2.0] {
            let below = mean(gains(fading).map(|gain| f64::from(u8::from(gain < level))));
            let expected = 1.0 - libm::exp(-level);
            assert!((below - expected).abs() < 0.006, "{level}: {below} for {expected}");
        }
    }

    #[test]
    fn rician_power_has_its_moments() {
        for k in [0.5, 4.0, 30.0] {
            let fading = Fading::Rician { k: Db::from_linear(k), doppler_hz: 10.0 };
            assert!((mean(gains(fading)) - 1.0).abs() < 0.02);
            let variance = mean(gains(fading).map(|gain| (gain - 1.0) * (gain - 1.0)));
            let expected = (1.0 + 2.0 * k) / ((1.0 + k) * (1.0 + k));
            assert!((variance / expected - 1.0).abs() < 0.05, "K {k}: {variance} for {expected}");
        }
    }

    #[test]
    fn blocks_last_for_the_coherence_time() {
        let fading = Fading::Rayleigh { doppler_hz: 10.0 };
        assert_eq!(fading.coherence_time(), Some(Duration::from_micros(42_300)));
        let mut link = Link::new(faded(fading), &[], stream(9));
        let mut levels: Vec<f64> =
            (0..42_300).map(|n| link.snr(Instant::from_nanos(n * 1_000_000)).0).collect();
        levels.dedup();
        // 42.3 s are 1000 blocks, or 1001 that begin or end outside.
        assert!((1000..=1001).contains(&levels.len()), "{}", levels.len());
        let once = Link::new(faded(Fading::Rayleigh { doppler_hz: 0.0 }), &[], stream(9));
        assert!(once.is_static() && once.current.1 != Db(0.0));
    }

    #[test]
    fn shadowing_has_its_deviation() {
        let mut propagation = Propagation::in_band(Band::Ghz5, ChannelWidth::Mhz20);
        propagation.shadowing = Db(6.0);
        let mut stream = stream(3);
        let draws: Vec<f64> =
            (0..50_000).map(|_| propagation.draw_shadowing(&mut stream).0).collect();
        let squares = draws.iter().map(|db| db * db);
        assert!((libm::sqrt(mean(squares)) - 6.0).abs() < 0.1);
        // Five times the mean's standard error.
        assert!(mean(draws.into_iter()).abs() < 0.14);
        assert_eq!(
            Propagation { shadowing: Db(0.0), ..propagation }.draw_shadowing(&mut stream),
            Db(0.0)
        );
    }

    proptest! {
        #[test]
        fn the_past_of_a_link_does_not_matter(
            asked in proptest::collection::vec(0u64..10_000_000_000, 0..20),
            now in 0u64..u64::MAX / 2,
            seed in any::<u64>(),
        ) {
            let config = faded(Fading::Rician { k: Db(6.0), doppler_hz: 30.0 });
            let change = |(seconds, snr)| SnrChange { at: at(seconds), snr: Db(snr) };
            let changes = [(2, 5.0), (4, 20.0), (7, 0.0)].map(change);
            let mut fresh = Link::new(config, &changes, stream(seed));
            let mut used = fresh.clone();
            for at in asked {
                used.snr(Instant::from_nanos(at));
            }
            let now = Instant::from_nanos(now);
            prop_assert_eq!(used.snr(now), fresh.snr(now));
        }
    }
}

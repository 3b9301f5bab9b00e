//! The channel of MU-MIMO: the mean SINR, in closed form, of a station in a PPDU that an access
//! point sends to several at once with zero forcing.
//!
//! N antennas send S streams, each with 1/S of the power; each antenna's channel to a station is an
//! independent complex Gaussian (rich scattering). The access point knows the channel with an error
//! of variance e, so that `h = sqrt(1 - e) h' + sqrt(e) w`. Zero forcing by h' leaves N - S + 1
//! degrees of freedom to each stream (Caire, Jindal, Kobayashi, Ravindran, "Multiuser MIMO
//! Achievable Rates With Downlink Training and Channel State Feedback", 2010), so that
//!
//! ```text
//! SINR = snr/S ((1 - e)(N - S + 1) + e) / (1 + snr/S (S - n) e)
//! ```
//!
//! for a station with n of the streams; `snr` is that of the link, on one antenna and with all of
//! the power. The error has two causes: the compression of the report, and the report's age (Jakes:
//! correlation J0(2 pi f t) at Doppler rate f). The ratio of means approximates the mean of the
//! ratio. Left out: correlated antennas, noise of the channel estimate, differences between grouped
//! subcarriers, choice of users with suitable channels.

use core::f64::consts::PI;
use lasthop_units::{Db, Duration};

/// The share of one station in the streams of a PPDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpatialShare {
    /// Number of antennas of the access point, 1 to 8; at least `total_streams`.
    pub antennas: u8,
    /// Number of streams of all stations, 1 to 8.
    pub total_streams: u8,
    /// Number of streams for this station.
    pub streams: u8,
}

impl SpatialShare {
    /// SINR of each of the station's streams when the link's SNR is `snr` and the access point
    /// knows the channel with an error of variance `error`, 0 to 1.
    pub fn sinr(&self, snr: Db, error: f64) -> Db {
        let [antennas, total, own] =
            [self.antennas, self.total_streams, self.streams].map(f64::from);
        let per_stream = snr.as_linear() / total;
        let gain = (1.0 - error) * (antennas - total + 1.0) + error;
        let interference = per_stream * (total - own) * error;
        Db::from_linear(per_stream * gain / (1.0 + interference))
    }
}

/// Bits of the angles in a compressed beamforming report for several users: the field Codebook
/// Information of VHT and HE MIMO Control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Codebook {
    /// 7 bits for phi, 5 for psi.
    Coarse,
    /// 9 bits for phi, 7 for psi.
    Fine,
}

impl Codebook {
    /// Bits of phi and psi.
    pub const fn bits(self) -> (u32, u32) {
        match self {
            Self::Coarse => (7, 5),
            Self::Fine => (9, 7),
        }
    }

    /// Mean square of the error in the direction of the channel of `antennas`: the squared sine of
    /// the angle between the two. The steps are `2 pi / 2^phi` and `pi / 2 / 2^psi`, each with an
    /// error of a twelfth of the squared step. A phase is weighted by its antenna's share of the
    /// power, `(N-1)^2 / (N (N+1))` for all; the rotation number l by the share of the antennas
    /// from l on, `(N+2)(N-1) / 2N` for all.
    pub fn error(self, antennas: u8) -> f64 {
        let (phi, psi) = self.bits();
        let step = |span: f64, bits: u32| span / f64::from(1_u32 << bits);
        let square = |step: f64| step * step / 12.0;
        let n = f64::from(antennas.max(1));
        let phases = (n - 1.0) * (n - 1.0) / (n * (n + 1.0));
        let rotations = (n + 2.0) * (n - 1.0) / (2.0 * n);
        phases * square(step(2.0 * PI, phi)) + rotations * square(step(PI / 2.0, psi))
    }
}

/// Error variance of a channel at a time `age` after it was known with an error of variance
/// `initial`, at the Doppler rate `doppler_hz`.
pub fn aged_error(initial: f64, doppler_hz: f64, age: Duration) -> f64 {
    let correlation = libm::j0(2.0 * PI * doppler_hz * age.as_secs_f64());
    1.0 - correlation * correlation * (1.0 - initial)
}

#[cfg(test)]
mod tests {
    use super::*;
    use lasthop_units::{Seed, Stream};
    extern crate alloc;
    use alloc::vec::Vec;

    type Complex = (f64, f64);

    fn times((a, b): Complex, (c, d): Complex) -> Complex {
        (a * c - b * d, a * d + b * c)
    }

    /// Sum of `x` times the conjugate of `y`.
    fn inner(x: &[Complex], y: &[Complex]) -> Complex {
        x.iter().zip(y).fold((0.0, 0.0), |sum, (&x, &(re, im))| {
            let (a, b) = times(x, (re, -im));
            (sum.0 + a, sum.1 + b)
        })
    }

    fn square((re, im): Complex) -> f64 {
        re * re + im * im
    }

    /// A vector of independent entries of variance 1.
    fn gaussian(stream: &mut Stream, antennas: usize) -> Vec<Complex> {
        let half = libm::sqrt(0.5);
        (0..antennas).map(|_| (half * stream.normal(), half * stream.normal())).collect()
    }

    /// `x` less its part along the unit vector `direction`.
    fn without(x: &mut [Complex], direction: &[Complex]) {
        let along = inner(x, direction);
        for (x, &part) in x.iter_mut().zip(direction) {
            let (re, im) = times(along, part);
            *x = (x.0 - re, x.1 - im);
        }
    }

    fn normalise(x: &mut [Complex]) {
        let norm = libm::sqrt(inner(x, x).0);
        x.iter_mut().for_each(|x| *x = (x.0 / norm, x.1 / norm));
    }

    /// The unit vector that reaches station `own` and none of the others.
    fn zero_forcing(known: &[Vec<Complex>], own: usize) -> Vec<Complex> {
        let mut others: Vec<Vec<Complex>> = Vec::new();
        for (_, row) in known.iter().enumerate().filter(|(index, _)| *index != own) {
            let mut row = row.clone();
            others.iter().for_each(|other| without(&mut row, other));
            normalise(&mut row);
            others.push(row);
        }
        let mut beam = known[own].clone();
        others.iter().for_each(|other| without(&mut beam, other));
        normalise(&mut beam);
        beam
    }

    /// Mean and standard error of the values.
    fn mean(values: &[f64]) -> (f64, f64) {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let variance = values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / (n - 1.0);
        (mean, libm::sqrt(variance / n))
    }

    /// Random channels, known with an error, and the beams that follow from this knowledge: mean
    /// signal and interference are those of the formula.
    #[test]
    fn drawn_channels_have_the_sinr_of_the_formula() {
        let mut stream = Seed::new(11, 0).stream("channels");
        for (antennas, stations, error) in
            [(2, 2, 0.0), (4, 2, 0.01), (4, 3, 0.05), (4, 4, 0.2), (8, 4, 0.0), (8, 5, 0.5)]
        {
            let (mut signals, mut interferences) = (Vec::new(), Vec::new());
            for _ in 0..4_000 {
                let known: Vec<_> =
                    (0..stations).map(|_| gaussian(&mut stream, antennas)).collect();
                let noise = gaussian(&mut stream, antennas);
                let (keep, miss) = (libm::sqrt(1.0 - error), libm::sqrt(error));
                let actual: Vec<Complex> = known[0]
                    .iter()
                    .zip(&noise)
                    .map(|(k, w)| (keep * k.0 + miss * w.0, keep * k.1 + miss * w.1))
                    .collect();
                let gain = |station| square(inner(&actual, &zero_forcing(&known, station)));
                signals.push(gain(0));
                interferences.push((1..stations).map(gain).sum());
            }
            let share = |antennas: usize, stations: usize| SpatialShare {
                antennas: antennas as u8,
                total_streams: stations as u8,
                streams: 1,
            };
            let (signal, signal_error) = mean(&signals);
            let (interference, interference_error) = mean(&interferences);
            let (n, s) = (antennas as f64, stations as f64);
            let expected = (1.0 - error) * (n - s + 1.0) + error;
            assert!((signal - expected).abs() < 4.0 * signal_error, "{signal}, not {expected}");
            let expected = (s - 1.0) * error;
            let off = (interference - expected).abs();
            assert!(off < 4.0 * interference_error + 1e-12, "{interference}, not {expected}");
            // The same as a ratio, at 25 dB: within what both errors allow.
            let per_stream = 316.227_766 / s;
            let drawn = per_stream * signal / (1.0 + per_stream * interference);
            let sinr = share(antennas, stations).sinr(Db(25.0), error).as_linear();
            let rest = signal_error / signal
                + per_stream * interference_error / (1.0 + per_stream * interference);
            assert!((sinr / drawn - 1.0).abs() < 4.0 * rest, "{sinr}, drawn {drawn}");
        }
    }

    /// Random directions, decomposed into Givens angles, rounded and recomposed (19.3.12.3.6): the
    /// squared sine of the angle between the two.
    #[test]
    fn rounded_angles_have_the_error_of_the_formula() {
        let mut stream = Seed::new(12, 0).stream("angles");
        for (antennas, codebook) in [
            (2, Codebook::Coarse),
            (3, Codebook::Coarse),
            (4, Codebook::Coarse),
            (4, Codebook::Fine),
            (8, Codebook::Fine),
        ] {
            let (phi_bits, psi_bits) = codebook.bits();
            let phi_step = 2.0 * PI / libm::exp2(f64::from(phi_bits));
            let psi_step = PI / 2.0 / libm::exp2(f64::from(psi_bits));
            let round = |angle: f64, step: f64| (libm::floor(angle / step) + 0.5) * step;
            let mut errors = Vec::new();
            for _ in 0..4_000 {
                let mut v = gaussian(&mut stream, antennas);
                normalise(&mut v);
                // The last entry is real: the phases of the others are taken from its own.
                let (re, im) = v[antennas - 1];
                let norm = libm::hypot(re, im);
                v.iter_mut().for_each(|x| *x = times(*x, (re / norm, -im / norm)));
                let phases: Vec<f64> = v[..antennas - 1]
                    .iter()
                    .map(|&(re, im)| round(libm::atan2(im, re), phi_step))
                    .collect();
                // Rotations of the first entry with each of the others.
                let sizes: Vec<f64> = v.iter().map(|x| libm::sqrt(square(*x))).collect();
                let mut first = sizes[0];
                let mut angles = Vec::new();
                for &size in &sizes[1..] {
                    angles.push(round(libm::atan2(size, first), psi_step));
                    first = libm::hypot(first, size);
                }
                let mut rebuilt = alloc::vec![0.0; antennas];
                let mut left = 1.0;
                for (index, &angle) in angles.iter().enumerate().rev() {
                    rebuilt[index + 1] = left * libm::sin(angle);
                    left *= libm::cos(angle);
                }
                rebuilt[0] = left;
                let rebuilt: Vec<Complex> = rebuilt
                    .iter()
                    .enumerate()
                    .map(|(index, &size)| match phases.get(index) {
                        Some(&phase) => (size * libm::cos(phase), size * libm::sin(phase)),
                        None => (size, 0.0),
                    })
                    .collect();
                errors.push(1.0 - square(inner(&v, &rebuilt)));
            }
            let (drawn, standard_error) = mean(&errors);
            let expected = codebook.error(antennas as u8);
            let off = (drawn - expected).abs();
            // The formula is of second order in the steps.
            assert!(off < 4.0 * standard_error + 0.01 * expected, "{drawn}, not {expected}");
        }
    }

    /// J0 from its integral, the mean of cos(x sin t).
    #[test]
    fn the_age_of_a_report() {
        for (doppler_hz, ms) in [(0.0, 500), (0.4, 100), (3.0, 20), (10.0, 20), (50.0, 100)] {
            let age = Duration::from_millis(ms);
            let x = 2.0 * PI * doppler_hz * ms as f64 / 1e3;
            let n = 20_000;
            let sum: f64 = (0..n)
                .map(|i| libm::cos(x * libm::sin(PI * (f64::from(i) + 0.5) / f64::from(n))))
                .sum();
            let rho = sum / f64::from(n);
            for initial in [0.0, 0.001, 0.1] {
                let expected = 1.0 - rho * rho * (1.0 - initial);
                assert!((aged_error(initial, doppler_hz, age) - expected).abs() < 1e-9);
            }
        }
    }

    /// One stream of one station from one antenna has the SNR of the link.
    #[test]
    fn alone_it_is_the_link() {
        let share = SpatialShare { antennas: 1, total_streams: 1, streams: 1 };
        for error in [0.0, 0.3, 1.0] {
            assert!((share.sinr(Db(17.0), error) - Db(17.0)).0.abs() < 1e-9);
        }
    }
}

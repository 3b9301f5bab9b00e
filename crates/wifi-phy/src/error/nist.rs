//! Closed forms for the probability that one bit is decoded, as a function of SNR.
//!
//! OFDM and later: uncoded bit error rate of Gray-mapped BPSK, QPSK and 16-QAM to 4096-QAM on AWGN,
//! then the union bound over the weight spectrum of the K = 7 code (133, 171), punctured (Miller,
//! NIST 2003; Pei and Henderson 2010). DSSS: DBPSK and DQPSK; CCK: biorthogonal keying (Pursley and
//! Royster, "High-rate direct-sequence spread spectrum with error-control coding"). All are as in
//! ns-3, DSSS and CCK with a noise bandwidth of 22 MHz.

use super::{Curve, Mode};
use crate::{CodeRate, DsssRate, Modulation, OfdmRate};
use core::f64::consts::{FRAC_1_SQRT_2, PI, SQRT_2};

/// Ratio of DSSS' noise bandwidth of 22 MHz to 1 million symbols a second.
const DSSS_PROCESSING_GAIN: f64 = 22.0;
/// Ratio of CCK's noise bandwidth to 1.375 million symbols a second.
const CCK_PROCESSING_GAIN: f64 = 16.0;

/// Curves of all modes of the convolutional code, DSSS and CCK, by index.
pub(super) fn all() -> [Curve; Mode::CONVOLUTIONAL] {
    // 5.5 Mb/s sends 4 bits a symbol, 11 Mb/s twice as many in two independent
    // halves, each with half the energy: the same curve per bit, 3 dB later.
    let cck = Curve::smooth(|db| 2.0 * biorthogonal_16_hazard(linear(db)));
    let doubled_db = 10.0 * libm::log10(2.0);
    let dsss = |bit_error: fn(f64) -> f64| Curve::smooth(|db| byte_hazard(bit_error(linear(db))));
    let coded = |(modulation, code)| {
        Curve::smooth(|db| byte_hazard(union_bound(uncoded(modulation, linear(db)), code)))
    };
    core::array::from_fn(|index| {
        if let Some(rate) = DsssRate::ALL.get(index) {
            return match rate {
                DsssRate::Mbps1 => dsss(dbpsk),
                DsssRate::Mbps2 => dsss(dqpsk),
                DsssRate::Mbps5_5 => cck.clone(),
                DsssRate::Mbps11 => cck.shifted(doubled_db),
            };
        }
        match OfdmRate::ALL.get(index - DsssRate::ALL.len()) {
            Some(rate) => coded(rate.modulation()),
            None => coded(Mode::LATER[index - DsssRate::ALL.len() - OfdmRate::ALL.len()]),
        }
    })
}

fn linear(db: f64) -> f64 {
    libm::pow(10.0, db / 10.0)
}

/// Hazard of a byte, -8 ln(1 - p), infinite for p = 1.
fn byte_hazard(bit_error: f64) -> f64 {
    -8.0 * libm::log1p(-bit_error.min(1.0))
}

/// Bit error rate before decoding.
fn uncoded(modulation: Modulation, snr: f64) -> f64 {
    let tail = |scale: f64| 0.5 * libm::erfc(libm::sqrt(snr / scale));
    match modulation {
        Modulation::Bpsk => tail(1.0),
        Modulation::Qpsk => tail(2.0),
        Modulation::Qam16 => 3.0 / 4.0 * tail(10.0),
        Modulation::Qam64 => 7.0 / 12.0 * tail(42.0),
        Modulation::Qam256 => 15.0 / 32.0 * tail(170.0),
        Modulation::Qam1024 => 31.0 / 80.0 * tail(682.0),
        Modulation::Qam4096 => 63.0 / 192.0 * tail(2730.0),
    }
}

/// First-event error bound of the decoder per bit, at most 1: the sum of
/// weights times D^distance, over twice the puncturing period.
fn union_bound(bit_error: f64, code: CodeRate) -> f64 {
    let (period, distance, step, weights): (f64, u32, u32, &[f64]) = match code {
        CodeRate::Half => (1.0, 10, 2, &HALF),
        CodeRate::TwoThirds => (2.0, 6, 1, &TWO_THIRDS),
        CodeRate::ThreeQuarters => (3.0, 5, 1, &THREE_QUARTERS),
        CodeRate::FiveSixths => (5.0, 4, 1, &FIVE_SIXTHS),
    };
    let d = libm::sqrt(4.0 * bit_error * (1.0 - bit_error));
    let ratio = libm::pow(d, f64::from(step));
    let sum = weights.iter().rev().fold(0.0, |sum, weight| sum * ratio + weight);
    (sum * libm::pow(d, f64::from(distance)) / (2.0 * period)).min(1.0)
}

// Information weights of the error events of each distance, from the free
// distance upwards.
const HALF: [f64; 9] =
    [36.0, 211.0, 1404.0, 11633.0, 77433.0, 502690.0, 3322763.0, 21292910.0, 134365911.0];
const TWO_THIRDS: [f64; 10] =
    [3.0, 70.0, 285.0, 1276.0, 6160.0, 27128.0, 117019.0, 498860.0, 2103891.0, 8784123.0];
const THREE_QUARTERS: [f64; 10] = [
    42.0,
    201.0,
    1492.0,
    10469.0,
    62935.0,
    379644.0,
    2253373.0,
    13073811.0,
    75152755.0,
    428005675.0,
];
const FIVE_SIXTHS: [f64; 10] = [
    92.0,
    528.0,
    8694.0,
    79453.0,
    792114.0,
    7375573.0,
    67884974.0,
    610875423.0,
    5427275376.0,
    47664215639.0,
];

/// Bit error rate of 1 Mb/s: differentially detected BPSK.
fn dbpsk(snr: f64) -> f64 {
    0.5 * libm::exp(-snr * DSSS_PROCESSING_GAIN)
}

/// Bit error rate of 2 Mb/s: differentially detected QPSK by the high-SNR approximation, limited to
/// 1/2 where the approximation exceeds it.
fn dqpsk(snr: f64) -> f64 {
    let bit = snr * DSSS_PROCESSING_GAIN / 2.0;
    let factor = (SQRT_2 + 1.0) / libm::sqrt(8.0 * PI * SQRT_2);
    (factor / libm::sqrt(bit) * libm::exp(-(2.0 - SQRT_2) * bit)).min(0.5)
}

/// Hazard -ln(1 - symbol error) of 16-ary biorthogonal signals: correct if the right one of eight
/// correlations is the largest in magnitude, and positive.
fn biorthogonal_16_hazard(snr: f64) -> f64 {
    let beta = libm::sqrt(CCK_PROCESSING_GAIN * snr);
    let density = |x: f64| libm::exp(-0.5 * x * x) / libm::sqrt(2.0 * PI);
    // Wrong although positive: one of the seven others is larger.
    let others = |x: f64| {
        let larger = libm::erfc((x + beta) * FRAC_1_SQRT_2);
        // 1 - (1 - larger)^7 without the cancellation.
        let seven = [1.0, -7.0, 21.0, -35.0, 35.0, -21.0, 7.0];
        seven.iter().fold(0.0, |sum, term| sum * larger + term) * larger * density(x)
    };
    let negative = 0.5 * libm::erfc(beta * FRAC_1_SQRT_2);
    let error = negative + simpson(-beta, 9.0, others);
    -libm::log1p(-error)
}

/// Integrates by Simpson's rule, with steps of about 0.15.
fn simpson(from: f64, to: f64, f: impl Fn(f64) -> f64) -> f64 {
    let pairs = libm::ceil((to - from) / 0.3).max(1.0);
    let half = (to - from) / (2.0 * pairs);
    let inner: f64 = (1..2 * pairs as u32)
        .map(|i| if i % 2 == 1 { 4.0 } else { 2.0 } * f(from + f64::from(i) * half))
        .sum();
    (f(from) + inner + f(to)) * half / 3.0
}

//! Simulated curves: the SNR at which PSDUs of two lengths are lost with given probabilities on
//! AWGN, for the convolutional code up to 256-QAM, and for LDPC up to 1024-QAM. The closed forms
//! (`nist`) need 1 dB more at BPSK, 4 at 64-QAM 5/6 and 5 at 256-QAM, and have no LDPC.
//!
//! The curves are those of ns-3 3.37 (its table-based error model, evaluated with one stream in 20
//! MHz every quarter of a decibel). These curves are link simulations with MATLAB's WLAN toolbox
//! (Patidar, Roy, Henderson and Chandramohan, "Link-to-system mapping for ns-3 Wi-Fi OFDM error
//! models", WNS3 2017, with later additions for 802.11ax). Five points of each curve are kept here,
//! chosen so that the logarithm of the hazard is linear between two of them;
//! `tests/error_simulated.rs` compares the whole curves.
//!
//! Between two points, and beyond the ends, the logarithm of the hazard is linear over the SNR
//! in dB. Streams and widths do not change a curve.

use super::table::line;
use super::{Curve, Curves};
use alloc::vec::Vec;

/// Packet error rates of the points.
const PER: [f64; 5] = [0.9, 0.5, 0.1, 0.01, 0.001];

/// Lengths of the PSDU in bytes.
pub(super) const BYTES: [f64; 2] = [32.0, 1_458.0];

/// SNR in dB of the points for the convolutional code, by length and MCS.
const CONVOLUTIONAL: [[[f64; 5]; 10]; 2] = [
    [
        [-2.31, -1.34, -0.37, 0.46, 1.19],
        [0.75, 1.66, 2.60, 3.46, 4.22],
        [3.28, 4.17, 5.09, 5.94, 6.72],
        [5.91, 6.93, 8.05, 9.10, 9.93],
        [9.17, 10.18, 11.27, 12.24, 13.05],
        [12.98, 14.06, 15.30, 16.42, 17.38],
        [14.26, 15.42, 16.60, 17.76, 18.75],
        [15.73, 16.84, 18.07, 19.29, 20.31],
        [19.14, 20.37, 21.72, 22.96, 23.99],
        [20.86, 22.03, 23.29, 24.44, 25.50],
    ],
    [
        [-0.23, 0.30, 0.90, 1.55, 2.17],
        [2.75, 3.29, 3.92, 4.58, 5.18],
        [5.23, 5.78, 6.40, 7.10, 7.88],
        [8.31, 8.91, 9.69, 10.46, 11.31],
        [11.54, 12.02, 12.79, 13.55, 14.44],
        [15.61, 16.22, 17.03, 17.97, 18.87],
        [16.92, 17.52, 18.35, 19.29, 20.12],
        [18.19, 18.79, 19.62, 20.50, 21.35],
        [22.09, 22.77, 23.70, 24.76, 25.71],
        [23.62, 24.26, 25.14, 26.15, 26.95],
    ],
];

/// SNR in dB of the points for LDPC, by length and MCS.
const LDPC: [[[f64; 5]; 12]; 2] = [
    [
        [-1.83, -1.62, -1.29, -0.89, -0.54],
        [1.12, 1.34, 1.70, 2.12, 2.46],
        [3.72, 3.92, 4.23, 4.61, 4.94],
        [6.08, 6.47, 7.08, 7.62, 8.01],
        [9.70, 9.92, 10.26, 10.67, 11.01],
        [13.39, 13.75, 14.31, 14.84, 15.22],
        [15.00, 15.27, 15.71, 16.22, 16.60],
        [16.45, 16.74, 17.19, 17.72, 18.14],
        [19.87, 20.22, 20.78, 21.37, 21.79],
        [21.74, 22.07, 22.60, 23.17, 23.64],
        [25.06, 25.38, 25.87, 26.47, 26.95],
        [26.82, 27.22, 27.84, 28.53, 29.03],
    ],
    [
        [-1.16, -0.95, -0.67, -0.34, -0.02],
        [1.84, 2.05, 2.34, 2.67, 2.98],
        [4.36, 4.55, 4.81, 5.09, 5.36],
        [7.30, 7.54, 7.88, 8.24, 8.59],
        [10.39, 10.60, 10.89, 11.19, 11.49],
        [14.52, 14.77, 15.09, 15.44, 15.75],
        [15.88, 16.14, 16.47, 16.82, 17.15],
        [17.37, 17.64, 17.99, 18.38, 18.73],
        [21.00, 21.29, 21.64, 22.03, 22.40],
        [22.80, 23.08, 23.47, 23.88, 24.27],
        [26.07, 26.37, 26.78, 27.23, 27.64],
        [28.08, 28.43, 28.86, 29.30, 29.75],
    ],
];

/// LDPC's curves by HE-MCS index.
pub(super) fn ldpc() -> impl Iterator<Item = Curves> {
    (0..12).map(|mcs| curves(LDPC.map(|of_length| of_length[mcs])))
}

/// The convolutional code's curves by MCS index, to 256-QAM.
pub(super) fn convolutional() -> impl Iterator<Item = Curves> {
    (0..10).map(|mcs| curves(CONVOLUTIONAL.map(|of_length| of_length[mcs])))
}

/// Curves through the points of each length.
fn curves(points: [[f64; 5]; 2]) -> Curves {
    let of_length = BYTES.iter().zip(points).map(|(&bytes, points)| {
        let logs: Vec<(f64, f64)> = (points.into_iter().zip(PER))
            .map(|(snr_db, per)| (snr_db, libm::log(-libm::log1p(-per))))
            .collect();
        (bytes, Curve::tabulate(|db| libm::exp(line(&logs, db)) / bytes))
    });
    Curves { of_length: of_length.collect() }
}

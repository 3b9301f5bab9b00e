//! The E-model of ITU-T G.107 (06/2015) for a call by handsets over packets: all parameters have the
//! defaults of its table 3, except the delay, the loss and its burst ratio, and the codec.
//!
//! Delays are in milliseconds, from mouth to ear; the two directions of a call count as equally
//! long. The codec is G.711 with packet loss concealment: `Ie` 0 and `Bpl` 25.1 (G.113, appendix I,
//! table I.3). Left out: other codecs, wideband (G.107.1), the advantage factor.

/// Loudness ratings of the sender, the receiver, and both, in dB.
const SLR_DB: f64 = 8.0;
const RLR_DB: f64 = 2.0;
const OLR_DB: f64 = SLR_DB + RLR_DB;
/// Sidetone masking rating, and listener sidetone rating.
const STMR_DB: f64 = 15.0;
const LSTR_DB: f64 = 18.0;
/// D-value of the telephone at the sender.
const DS_DB: f64 = 3.0;
/// Talker echo loudness rating.
const TELR_DB: f64 = 65.0;
/// Weighted echo path loss.
const WEPL_DB: f64 = 110.0;
/// Circuit noise, noise floor at the receiver, and room noise at both ends.
const CIRCUIT_DBM0P: f64 = -70.0;
const FLOOR_DBMP: f64 = -64.0;
const ROOM_DBA: f64 = 35.0;
/// Quantizing distortion units.
const QDU: f64 = 1.0;
/// Shortest delay that a listener perceives, in ms (sensitivity class "default").
const PERCEIVED_MS: f64 = 100.0;

/// Impairment of G.711, and its robustness against loss with concealment.
const EQUIPMENT_IMPAIRMENT: f64 = 0.0;
const LOSS_ROBUSTNESS: f64 = 25.1;

/// Returns the transmission rating factor R of a call: 93.2 without delay and loss, 0 or less for a
/// call of no use. `delay_ms` is the delay from mouth to ear; `lost` the share of speech that is
/// concealed, 0 to 1; `burst_ratio` the mean length of its runs relative to random loss, at least 1.
pub fn rating(delay_ms: f64, lost: f64, burst_ratio: f64) -> f64 {
    let noise = noise_dbm0p();
    let signal_to_noise = 15.0 - 1.5 * (SLR_DB + noise);
    signal_to_noise
        - simultaneous(delay_ms, noise, signal_to_noise)
        - delay(delay_ms, noise, signal_to_noise)
        - equipment(lost, burst_ratio)
}

/// Returns the mean opinion score of a conversation with the rating factor `r`, 1 to 4.5 (annex B).
pub fn mean_opinion(r: f64) -> f64 {
    let r = r.clamp(0.0, 100.0);
    // Below 6.5 the cubic falls under the lowest score.
    (1.0 + 0.035 * r + r * (r - 60.0) * (100.0 - r) * 7e-6).max(1.0)
}

/// Sum of the noises at the 0 dBr point (7.2).
fn noise_dbm0p() -> f64 {
    let square = |x: f64| x * x;
    let sender =
        ROOM_DBA - SLR_DB - DS_DB - 100.0 + 0.004 * square(ROOM_DBA - OLR_DB - DS_DB - 14.0);
    let effective = ROOM_DBA + 10.0 * libm::log10(1.0 + power((10.0 - LSTR_DB) / 10.0));
    let receiver = RLR_DB - 121.0 + effective + 0.008 * square(effective - 35.0);
    let all = [CIRCUIT_DBM0P, sender, receiver, FLOOR_DBMP + RLR_DB];
    10.0 * libm::log10(all.iter().map(|level| power(level / 10.0)).sum())
}

/// Impairments simultaneous with speech (7.3): loudness, sidetone, quantizing.
fn simultaneous(delay_ms: f64, noise: f64, signal_to_noise: f64) -> f64 {
    let x = (OLR_DB + 0.2 * (64.0 + noise - RLR_DB)) / 8.0;
    let loudness = 20.0 * (root(x, 8.0) - x);
    let sidetone_db = -10.0
        * libm::log10(power(-STMR_DB / 10.0) + libm::exp(-delay_ms / 4.0) * power(-TELR_DB / 10.0));
    let sidetone = 12.0 * root((sidetone_db - 13.0) / 6.0, 8.0)
        - 28.0 * root((sidetone_db + 1.0) / 19.4, 35.0)
        - 13.0 * root((sidetone_db - 3.0) / 33.0, 13.0)
        + 29.0;
    let q = 37.0 - 15.0 * libm::log10(QDU);
    let g = 1.07 + 0.258 * q + 0.0602 * q * q;
    let y = (signal_to_noise - 100.0) / 15.0 + 46.0 / 8.4 - g / 9.0;
    let z = 46.0 / 30.0 - g / 40.0;
    loudness + sidetone + 15.0 * libm::log10(1.0 + power(y) + power(z))
}

/// Impairments by delay (7.4): echo to the talker, echo to the listener, and the delay itself.
fn delay(delay_ms: f64, noise: f64, signal_to_noise: f64) -> f64 {
    let t = delay_ms;
    let echo_db = TELR_DB - 40.0 * libm::log10((1.0 + t / 10.0) / (1.0 + t / 150.0))
        + 6.0 * libm::exp(-0.3 * t * t);
    let half = (-1.5 * (noise - RLR_DB) - (80.0 + 2.5 * (echo_db - 14.0))) / 2.0;
    let talker = (half + libm::sqrt(half * half + 100.0) - 1.0) * (1.0 - libm::exp(-t));
    let round_trip_ms = 2.0 * t;
    let listener_db = 10.5 * (WEPL_DB + 7.0) * libm::pow(round_trip_ms + 1.0, -0.25);
    let half = (signal_to_noise - listener_db) / 2.0;
    let listener = half + libm::sqrt(half * half + 169.0);
    let alone = if t > PERCEIVED_MS {
        let x = libm::log2(t / PERCEIVED_MS);
        25.0 * (root(x, 6.0) - 3.0 * root(x / 3.0, 6.0) + 2.0)
    } else {
        0.0
    };
    talker + listener + alone
}

/// Impairment by the codec with loss (7.5).
fn equipment(lost: f64, burst_ratio: f64) -> f64 {
    let percent = 100.0 * lost;
    EQUIPMENT_IMPAIRMENT
        + (95.0 - EQUIPMENT_IMPAIRMENT) * percent
            / (percent / burst_ratio.max(1.0) + LOSS_ROBUSTNESS)
}

/// Returns the n-th root of `1 + x^n`.
fn root(x: f64, n: f64) -> f64 {
    libm::pow(1.0 + libm::pow(x, n), 1.0 / n)
}

/// Returns ten to the power of `x`.
fn power(x: f64) -> f64 {
    libm::pow(10.0, x)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An independent program of the Recommendation (manucorporat/e-model, in Go) prints 93.206208
    /// for the defaults; the Recommendation has 93.2.
    #[test]
    fn the_defaults_have_the_published_rating() {
        let r = rating(0.0, 0.0, 1.0);
        assert!((r - 93.206_208).abs() < 1e-6, "{r}");
    }

    /// The same program's ratings with `T`, `Ta` and half of `Tr` of this delay, and `Bpl` 25.1: delay in
    /// ms, loss in percent, burst ratio.
    #[test]
    fn delay_and_loss_cost_as_in_another_program() {
        for ([delay_ms, percent, bursts], expected) in [
            ([50.0, 0.0, 1.0], 91.756_161),
            ([100.0, 0.0, 1.0], 90.663_730),
            ([150.0, 0.0, 1.0], 89.539_132),
            ([200.0, 0.0, 1.0], 85.804_718),
            ([300.0, 0.0, 1.0], 72.666_360),
            ([400.0, 0.0, 1.0], 62.246_827),
            ([80.0, 5.0, 1.0], 75.301_213),
            ([250.0, 2.0, 1.5], 71.989_207),
        ] {
            let r = rating(delay_ms, percent / 100.0, bursts);
            assert!((r - expected).abs() < 1e-6, "{delay_ms} ms: {r}");
        }
    }

    /// G.107, table B.1: the lower limits of the categories of R and their mean opinion scores, to the
    /// table's precision. The table has 4.03 at 80, where annex B's formula has 4.024.
    #[test]
    fn scores_are_those_of_the_table() {
        for (r, score) in [(90.0, 4.34), (80.0, 4.03), (70.0, 3.60), (60.0, 3.10), (50.0, 2.58)] {
            let own = mean_opinion(r);
            assert!((own - score).abs() < 0.01, "{r}: {own}");
        }
        assert_eq!([-5.0, 0.0, 100.0, 120.0].map(mean_opinion), [1.0, 1.0, 4.5, 4.5]);
    }

    /// By hand: 95 * 1 / (1 + 25.1) at 1 %, and 95 * 5 / (5 / 2 + 25.1) at 5 % in bursts twice as long.
    #[test]
    fn loss_costs_as_in_the_formula() {
        let cost = |lost, bursts| rating(0.0, 0.0, 1.0) - rating(0.0, lost, bursts);
        assert!((cost(0.01, 1.0) - 3.639_847).abs() < 1e-5);
        assert!((cost(0.05, 2.0) - 17.210_145).abs() < 1e-5);
    }
}

//! Difference of two clocks, from the times of the same packets at two places.
//!
//! By both clocks, a packet from P to Q appears at Q later than at P by the offset of Q's clock
//! plus its delay; a packet from Q to P by the offset minus its delay. So the offset lies below all
//! differences of one direction and above all differences of the other, however long queues are.
//! The least differences bound it, and half of their distance (half of the least round trip between
//! the two places) is the largest error. If one direction is missing, there is one bound, and the
//! offset includes the least delay.
//!
//! The drift is the median of slopes (Theil and Sen) of the least differences in windows of time,
//! for each direction separately. The direction with the steadier least delay has more weight. A
//! queue that never empties makes the least differences vary in its direction, but not in the
//! other.

/// Largest number of windows of time.
const WINDOWS_MAX: usize = 64;
/// Mean number of packets in a window.
const WINDOW_PACKETS: usize = 8;
/// Largest relative drift of two clocks: quartz is within 50 ppm each.
const DRIFT_MAX: f64 = 300e-6;
/// Relative drift that is assumed if it is unknown.
const DRIFT_UNKNOWN: f64 = 100e-6;
/// Smallest spread of the least differences that is assumed, in ns: most files have times in whole
/// microseconds.
const SPREAD_MIN_NS: f64 = 1_000.0;
/// Best accuracy of times on the air, in ns. Padding may make an MPDU end a symbol (4 us) earlier
/// than computed, and a PPDU begin as much later. Either moves one bound of the offset, and so its
/// middle and width by half of that.
const TIMES_NS: f64 = 8_000.0;
/// Longest delay of the stamps of hosts, in ns. A larger contradiction is another clock.
const LATE_NS_MAX: f64 = 50e6;
/// Share of packets that may contradict the line, because retransmissions can be confused with each
/// other.
const OUTLIERS_MAX: f64 = 0.01;

/// Times of the same packets at P, and their differences at Q, in ns: packets from P to Q, and from
/// Q to P.
pub(super) type Differences = [Vec<(i64, i64)>; 2];

/// Relation of Q's clock to P's clock.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    /// Middle of the common time by P's clock, in ns since 1970.
    pub base_ns: i64,
    /// Difference of Q's clock from P's at that time, in ns.
    pub offset_ns: i64,
    /// Relative excess of the speed of Q's clock.
    pub drift: f64,
    /// Uncertainty of the drift.
    pub drift_error: f64,
    /// Largest error of the offset in ns: half of the least round trip, plus the effect of the
    /// drift. `None` if only one direction is known, and the offset includes its least delay.
    pub bound_ns: Option<u64>,
    /// Variation of the least differences in the steadier direction, in ns. It is the error of the
    /// fit if the least delays of both directions are equal.
    pub spread_ns: u64,
    /// Contradiction between the least differences of the two directions, in ns, because hosts
    /// stamp packets late and unevenly. The bound includes it.
    pub late_ns: u64,
    /// Times of the first and last packet in common, by P's clock.
    pub common_ns: (i64, i64),
}

/// Reason why there is no line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LineError {
    /// There are too few packets.
    #[error("{0} packets in common, too few to compare the clocks")]
    TooFew(usize),
    /// The least differences contradict each other.
    #[error(
        "{contradict} of {packets} packets in common arrive before they are sent, whatever the \
         offset and drift of the clocks: one of them was set while it captured, or the captures \
         are not simultaneous"
    )]
    NoLine {
        /// Minimum number of packets that contradict the best line.
        contradict: usize,
        /// Number of packets in common.
        packets: usize,
    },
}

/// Minimum number of packets in common for any result.
pub(super) const PACKETS_MIN: usize = 4;

impl Line {
    /// Fits a line to the differences.
    ///
    /// # Errors
    ///
    /// Fails if there are too few, or if they contradict each other.
    pub(super) fn fit(differences: &Differences) -> Result<Self, LineError> {
        let count = differences.iter().map(Vec::len).sum();
        let times = || differences.iter().flatten().map(|(at, _)| *at);
        let (Some(first), Some(last), true) = (times().min(), times().max(), count >= PACKETS_MIN)
        else {
            return Err(LineError::TooFew(count));
        };
        let base_ns = first + (last - first) / 2;
        // Differences may be years, so computations use their distance from one of them.
        let origin = differences.iter().flatten().next().map_or(0, |(_, later)| *later);
        let near: [Vec<(f64, f64)>; 2] = differences.each_ref().map(|packets| {
            let near = |&(at, later): &(i64, i64)| {
                ((at - base_ns) as f64, (i128::from(later) - i128::from(origin)) as f64)
            };
            packets.iter().map(near).collect()
        });
        let [least, greatest] = [Envelope::new(&near[0], 1.0), Envelope::new(&near[1], -1.0)];
        let (drift, drift_error) = drift(&[least, greatest]);
        let half_span = (last - first) as f64 / 2.0;
        let off = drift_error * half_span;
        let spread = [least, greatest].into_iter().flatten().map(|it| it.spread);
        let spread = spread.min_by(f64::total_cmp).unwrap_or(SPREAD_MIN_NS);
        let mut flat = near.map(|packets| {
            let mut flat: Vec<f64> = packets.iter().map(|(at, later)| later - drift * at).collect();
            flat.sort_by(f64::total_cmp);
            flat
        });
        flat[1].reverse();
        let [from_p, from_q] = &flat;
        let (offset, late, bound_ns) = match (from_p.first(), from_q.first()) {
            (Some(&least), None) => (least, 0.0, None),
            (None, Some(&greatest)) => (greatest, 0.0, None),
            _ => {
                // The direction with the steadier least delay is close to the line.
                let spread_of = |it: Option<Envelope>| it.map_or(f64::MAX, |it| it.spread);
                let steady = if spread_of(least) <= spread_of(greatest) { from_p } else { from_q };
                let (above, below) = bounds(from_p, from_q, steady[steady.len() / 2])?;
                // The offset lies between the bounds; if they contradict, beyond them by at most
                // this.
                let late = (below - above).max(0.0);
                let bound = ((above - below) / 2.0).max(0.0) + late + off + TIMES_NS;
                ((above + below) / 2.0, late, Some(bound.round() as u64))
            }
        };
        Ok(Self {
            base_ns,
            offset_ns: origin.saturating_add(offset.round() as i64),
            drift,
            drift_error,
            bound_ns,
            spread_ns: spread.round() as u64,
            late_ns: late.round() as u64,
            common_ns: (first, last),
        })
    }

    /// Fits a line to differences of two places that are one. Most of them are close to it.
    pub(super) fn through(differences: &[(i64, i64)]) -> Result<Self, LineError> {
        let all = differences.to_vec();
        // Half of the packets lie below the line, and half above.
        let mut line = Self::fit(&[all.clone(), Vec::new()])?;
        let rest = all.iter().map(|(at, later)| later.saturating_sub(line.at(*at)));
        let mut rest: Vec<i64> = rest.collect();
        rest.sort_unstable();
        let middle = rest[rest.len() / 2];
        line.offset_ns = line.offset_ns.saturating_add(middle);
        let mut deviations: Vec<u64> = rest.iter().map(|it| it.abs_diff(middle)).collect();
        deviations.sort_unstable();
        line.bound_ns = Some(deviations[deviations.len() * 99 / 100]);
        Ok(line)
    }

    /// Returns the line of two equal clocks.
    pub(super) const fn same(first_ns: i64, last_ns: i64) -> Self {
        Self {
            base_ns: first_ns,
            offset_ns: 0,
            drift: 0.0,
            drift_error: 0.0,
            bound_ns: Some(0),
            spread_ns: 0,
            late_ns: 0,
            common_ns: (first_ns, last_ns),
        }
    }

    /// Returns the difference of Q's clock from P's at a time of P's clock, in ns.
    pub fn at(&self, p_ns: i64) -> i64 {
        let since = p_ns.saturating_sub(self.base_ns);
        self.offset_ns.saturating_add((self.drift * since as f64).round() as i64)
    }
}

/// Smallest differences of one direction by windows of time.
#[derive(Clone, Copy, Debug)]
struct Envelope {
    slope: f64,
    slope_error: f64,
    spread: f64,
}

impl Envelope {
    /// Computes the envelope; `sign` is 1 for the least differences and -1 for the greatest.
    fn new(packets: &[(f64, f64)], sign: f64) -> Option<Self> {
        let times = || packets.iter().map(|(at, _)| *at);
        let (first, last) = (times().min_by(f64::total_cmp)?, times().max_by(f64::total_cmp)?);
        let span = last - first;
        let windows = (packets.len() / WINDOW_PACKETS).clamp(1, WINDOWS_MAX);
        let mut least: Vec<Option<(f64, f64)>> = vec![None; windows];
        for &(at, later) in packets {
            let window = ((at - first) / span.max(1.0) * windows as f64) as usize;
            let window = &mut least[window.min(windows - 1)];
            if window.is_none_or(|(_, known)| (later - known) * sign < 0.0) {
                *window = Some((at, later));
            }
        }
        let least: Vec<(f64, f64)> = least.into_iter().flatten().collect();
        let mut slopes = Vec::new();
        for (index, (at, later)) in least.iter().enumerate() {
            for (next_at, next) in &least[index + 1..] {
                if next_at - at > span / 8.0 {
                    slopes.push((next - later) / (next_at - at));
                }
            }
        }
        let slope = median(&mut slopes)?;
        let mut rest: Vec<f64> = least.iter().map(|(at, later)| later - slope * at).collect();
        let middle = median(&mut rest)?;
        let mut deviations: Vec<f64> = rest.iter().map(|it| (it - middle).abs()).collect();
        // Standard deviation of a normal distribution with that median.
        let spread = (1.4826 * median(&mut deviations)?).max(SPREAD_MIN_NS);
        // Larger than the effect of chance over many windows: a least delay that varies may differ
        // between the start and the end.
        let slope_error = 4.0 * spread / span;
        Some(Self { slope, slope_error, spread })
    }
}

/// Returns the drift and its error: the mean of both directions, weighted by their variance.
fn drift(envelopes: &[Option<Envelope>; 2]) -> (f64, f64) {
    let sound = |it: &&Envelope| it.slope.abs() <= DRIFT_MAX && it.slope_error <= DRIFT_UNKNOWN;
    let (mut sum, mut weights) = (0.0, 0.0);
    for envelope in envelopes.iter().flatten().filter(sound) {
        let weight = envelope.slope_error.powi(-2);
        sum += weight * envelope.slope;
        weights += weight;
    }
    if weights == 0.0 { (0.0, DRIFT_UNKNOWN) } else { (sum / weights, weights.powf(-0.5)) }
}

/// Returns the least value of `up` and the greatest of `down`. If they contradict each other by
/// more than hosts stamp late, a few values furthest from `near` are left out.
fn bounds(up: &[f64], down: &[f64], near: f64) -> Result<(f64, f64), LineError> {
    let packets = up.len() + down.len();
    let allowed = (packets as f64 * OUTLIERS_MAX) as usize;
    let (mut i, mut j) = (0, 0);
    while down[j] - up[i] > LATE_NS_MAX {
        if near - up[i] > down[j] - near {
            i += 1
        } else {
            j += 1
        }
        if i + j > allowed || i == up.len() || j == down.len() {
            return Err(LineError::NoLine { contradict: i + j, packets });
        }
    }
    Ok((up[i], down[j]))
}

fn median(values: &mut [f64]) -> Option<f64> {
    if values.is_empty() {
        return None;
    }
    let middle = values.len() / 2;
    let (_, median, _) = values.select_nth_unstable_by(middle, f64::total_cmp);
    Some(*median)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const YEARS_NS: i64 = 3 * 365 * 86_400 * 1_000_000_000;

    /// Packets every 10 ms in both directions, with these delays in ns. Q's clock is years ahead,
    /// and fast.
    fn differences(
        drift: f64,
        count: i64,
        there: impl Fn(i64) -> i64,
        back: impl Fn(i64) -> i64,
    ) -> Differences {
        let later = |at: i64| YEARS_NS + (drift * at as f64) as i64;
        let times = || (0..count).map(|index| 10_000_000 * index);
        let there = times().map(|at| (at, later(at) + there(at))).collect();
        [there, times().map(|at| (at, later(at) - back(at))).collect()]
    }

    /// The offset is the middle of the range that least delays allow, with any queues. In closed
    /// form its error is half of the difference of the least delays.
    fn assert_found(line: &Line, drift: f64, last_ns: i64, off_ns: i64) {
        for at in [0, last_ns / 2, last_ns] {
            let is = YEARS_NS + (drift * at as f64) as i64;
            let error = (line.at(at) - is - off_ns).abs();
            assert!(error < 12_000, "{error} ns at {at}: {line:?}");
            assert!(line.at(at).abs_diff(is) <= line.bound_ns.unwrap(), "{line:?}");
        }
    }

    proptest! {
        #[test]
        fn a_queue_is_no_offset(
            ppm in -100i64..=100,
            least in (0i64..20_000_000, 0i64..20_000_000),
            queue in 0i64..600_000_000,
            seed in any::<u32>(),
        ) {
            let drift = ppm as f64 * 1e-6;
            // A queue that fills up after the first packets and stays full, and some noise in the
            // other direction.
            let there = |at: i64| least.0 + (at - 200_000_000).clamp(0, queue);
            let noise = |at: i64| (at / 10_000_000 * i64::from(seed | 1)).rem_euclid(1_009) * 2_000;
            let back = |at: i64| least.1 + if at % 70_000_000 == 0 { 0 } else { noise(at) };
            let differences = differences(drift, 3_000, there, back);
            let line = Line::fit(&differences).unwrap();
            prop_assert!((line.drift - drift).abs() <= line.drift_error.max(1e-6), "{line:?}");
            assert_found(&line, drift, 29_990_000_000, (least.0 - least.1) / 2);
        }
    }

    /// With one direction only, the offset includes the least delay, and there is no bound.
    #[test]
    fn one_direction_bounds_nothing() {
        let [there, _] = differences(50e-6, 1_000, |_| 7_000_000, |_| 0);
        let line = Line::fit(&[there, Vec::new()]).unwrap();
        assert_eq!(line.bound_ns, None);
        assert!((line.at(0) - YEARS_NS - 7_000_000).abs() < 2_000, "{line:?}");
    }

    /// A few wrong pairs (a retransmission taken for the first copy) are left out. Many wrong pairs
    /// give no line, and so does a clock that was set.
    #[test]
    fn what_contradicts_is_left_out_or_said() {
        let make = |every: i64| {
            let there = move |at: i64| match at / 10_000_000 % every {
                3 => -400_000_000,
                _ => 2_000_000,
            };
            differences(0.0, 2_000, there, |_| 2_000_000)
        };
        assert_found(&Line::fit(&make(400)).unwrap(), 0.0, 19_990_000_000, 0);
        assert!(matches!(Line::fit(&make(20)), Err(LineError::NoLine { .. })));
        let set = |at: i64| 2_000_000 + if at > 9_000_000_000 { 300_000_000 } else { 0 };
        let set = differences(0.0, 2_000, set, |at| 4_000_000 - set(at));
        assert!(matches!(Line::fit(&set), Err(LineError::NoLine { .. })));
        let few = Line::fit(&[vec![(0, 1), (1, 2)], vec![(2, 0)]]);
        assert_eq!(few, Err(LineError::TooFew(3)));
    }
}

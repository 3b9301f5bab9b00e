//! How far two clocks are apart, from the times of the same packets at two places.
//!
//! A packet that goes from P to Q is seen at Q later than at P, by both their clocks, by the offset
//! of Q's clock and its delay; one that goes from Q to P by the offset less its delay. So the offset
//! lies below all differences of the one direction and above all of the other, whatever waits in
//! queues: the least ones bound it, and half of their distance (half of the least round trip between
//! the two places) is how far it may be off. Where one direction is missing, there is one bound, and
//! the offset holds the least delay.
//!
//! The drift is taken from the least differences in windows of time, by the median of slopes (Theil
//! and Sen), of each direction for itself; the direction whose least delay is the steadier one
//! counts more. A queue that never empties makes the least differences of its own direction vary,
//! not those of the other.

/// Windows of time.
const WINDOWS_MAX: usize = 64;
/// Packets for a window in the mean.
const WINDOW_PACKETS: usize = 8;
/// Largest drift that two clocks have, relative: quartz is within 50 ppm each.
const DRIFT_MAX: f64 = 300e-6;
/// Drift that is assumed where too little is known of it, relative.
const DRIFT_UNKNOWN: f64 = 100e-6;
/// Least spread of the least differences that is assumed, in ns: times are in whole microseconds in
/// most files.
const SPREAD_MIN_NS: f64 = 1_000.0;
/// How exactly times on the air are known at best, in ns: padding may make an MPDU end a symbol (4
/// us) before it seems to, and a PPDU begin as much later. Either moves one end of what bounds the
/// offset, its middle by half of that and its width likewise.
const TIMES_NS: f64 = 8_000.0;
/// How late hosts stamp packets at most, in ns. What contradicts more is another clock.
const LATE_NS_MAX: f64 = 50e6;
/// Share of packets that may contradict the line: retransmissions taken for each other.
const OUTLIERS_MAX: f64 = 0.01;

/// Times of the same packets: at P, and how much later at Q, in ns by the two clocks. Of packets
/// from P to Q, and from Q to P.
pub(super) type Differences = [Vec<(i64, i64)>; 2];

/// The clock of Q by that of P.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    /// The middle of the time in which both captured the same, by P's clock, in ns since 1970.
    pub base_ns: i64,
    /// What Q's clock shows more than P's then, in ns.
    pub offset_ns: i64,
    /// How much faster Q's clock runs, relative.
    pub drift: f64,
    /// How far the drift may be off.
    pub drift_error: f64,
    /// How far the offset may be off in ns: half of the least round trip, and what the drift may
    /// add to it. `None`: only one direction is known, and the offset holds its least delay.
    pub bound_ns: Option<u64>,
    /// How much the least differences vary in the direction in which they vary less, in ns: what
    /// the fit may be off if least delays are the same in both directions.
    pub spread_ns: u64,
    /// By how much the least differences of the two directions contradict each other, in ns: hosts
    /// stamp packets late, and not evenly. The bound holds it.
    pub late_ns: u64,
    /// First and last packet that both have, by P's clock.
    pub common_ns: (i64, i64),
}

/// Why there is no line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LineError {
    /// Too few packets.
    #[error("{0} packets in common, too few to compare the clocks")]
    TooFew(usize),
    /// The least differences contradict each other.
    #[error(
        "{contradict} of {packets} packets in common arrive before they are sent, whatever the \
         offset and drift of the clocks: one of them was set while it captured, or these are not \
         captures of one moment"
    )]
    NoLine {
        /// Packets that contradict the best line, at least.
        contradict: usize,
        /// Packets in common.
        packets: usize,
    },
}

/// Packets in common without which nothing is said of the clocks.
pub(super) const PACKETS_MIN: usize = 4;

impl Line {
    /// The line through the differences.
    ///
    /// # Errors
    /// If there are too few, or they contradict each other.
    pub(super) fn fit(differences: &Differences) -> Result<Self, LineError> {
        let count = differences.iter().map(Vec::len).sum();
        let times = || differences.iter().flatten().map(|(at, _)| *at);
        let (Some(first), Some(last), true) = (times().min(), times().max(), count >= PACKETS_MIN)
        else {
            return Err(LineError::TooFew(count));
        };
        let base_ns = first + (last - first) / 2;
        // Differences may be years: what is computed with are their differences to one of them.
        let origin = differences.iter().flatten().next().map_or(0, |(_, later)| *later);
        let near: [Vec<(f64, f64)>; 2] = differences.each_ref().map(|packets| {
            let near = |&(at, later): &(i64, i64)| {
                ((at - base_ns) as f64, (i128::from(later) - i128::from(origin)) as f64)
            };
            packets.iter().map(near).collect()
        });
        let [least, greatest] = [Envelope::of(&near[0], 1.0), Envelope::of(&near[1], -1.0)];
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
                // The direction whose least delay is the steadier one is near the line.
                let spread_of = |it: Option<Envelope>| it.map_or(f64::MAX, |it| it.spread);
                let steady = if spread_of(least) <= spread_of(greatest) { from_p } else { from_q };
                let (above, below) = bounds(from_p, from_q, steady[steady.len() / 2])?;
                // Above, the offset is between them; contradicting, beyond either by no more.
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

    /// The line through differences of two places that are one: most of them are near it.
    pub(super) fn through(differences: &[(i64, i64)]) -> Result<Self, LineError> {
        let all = differences.to_vec();
        // Half of the packets below the line and half above.
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

    /// A clock that is the same.
    pub(super) const fn same(common_ns: (i64, i64)) -> Self {
        Self {
            base_ns: common_ns.0,
            offset_ns: 0,
            drift: 0.0,
            drift_error: 0.0,
            bound_ns: Some(0),
            spread_ns: 0,
            late_ns: 0,
            common_ns,
        }
    }

    /// What Q's clock shows more than P's at a time of P's clock, in ns.
    pub fn at(&self, p_ns: i64) -> i64 {
        let since = p_ns.saturating_sub(self.base_ns);
        self.offset_ns.saturating_add((self.drift * since as f64).round() as i64)
    }
}

/// The least differences of one direction, by windows of time.
#[derive(Clone, Copy, Debug)]
struct Envelope {
    slope: f64,
    slope_error: f64,
    spread: f64,
}

impl Envelope {
    /// `sign` is 1 for the least and -1 for the greatest.
    fn of(packets: &[(f64, f64)], sign: f64) -> Option<Self> {
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
        // The standard deviation of a normal distribution with that median.
        let spread = (1.4826 * median(&mut deviations)?).max(SPREAD_MIN_NS);
        // Not what chance alone would leave of it over many windows: a least delay that varies may
        // be another one at the begin than at the end.
        let slope_error = 4.0 * spread / span;
        Some(Self { slope, slope_error, spread })
    }
}

/// Drift and its error: the mean of both directions, weighted by their variance.
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

/// The least of what is sorted up, and the greatest of what is sorted down. If they contradict each
/// other by more than hosts stamp late, a few of those that are furthest from `near` are left out.
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

    /// Packets every 10 ms in both directions, with these delays in ns; Q's clock is ahead by years
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

    /// The offset at a time is the middle of what least delays allow, whatever queues there are: in
    /// closed form it is off by half of the difference of the least delays.
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
            // A queue that fills up and stays full, but for the first packets; some noise back.
            let there = |at: i64| least.0 + (at - 200_000_000).clamp(0, queue);
            let noise = |at: i64| (at / 10_000_000 * i64::from(seed | 1)).rem_euclid(1_009) * 2_000;
            let back = |at: i64| least.1 + if at % 70_000_000 == 0 { 0 } else { noise(at) };
            let differences = differences(drift, 3_000, there, back);
            let line = Line::fit(&differences).unwrap();
            prop_assert!((line.drift - drift).abs() <= line.drift_error.max(1e-6), "{line:?}");
            assert_found(&line, drift, 29_990_000_000, (least.0 - least.1) / 2);
        }
    }

    /// One direction only: the offset holds the least delay, and nothing bounds it.
    #[test]
    fn one_direction_bounds_nothing() {
        let [there, _] = differences(50e-6, 1_000, |_| 7_000_000, |_| 0);
        let line = Line::fit(&[there, Vec::new()]).unwrap();
        assert_eq!(line.bound_ns, None);
        assert!((line.at(0) - YEARS_NS - 7_000_000).abs() < 2_000, "{line:?}");
    }

    /// A few pairs that are no pairs (a retransmission taken for the first copy) are left out; many
    /// make it no line, and so does a clock that was set.
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

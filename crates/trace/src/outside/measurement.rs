//! A measurement: series of throughputs in Mb/s and of round trips in ms over seconds since its
//! begin. Values of an interval weigh by its part of the window, as flent's raw values are meant.

/// Latest time of a value, in seconds before or after the begin: eleven days.
pub(super) const TIME_S_MAX: f64 = 1e6;

/// Figures of another program, as series.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Measurement {
    /// The program that measured.
    pub program: String,
    /// Name of the test; empty if the program has none.
    pub test: String,
    /// The series, in the order of the file.
    pub series: Vec<MeasurementSeries>,
    /// Peculiarities that a reader must know.
    pub notes: Vec<String>,
}

/// A quantity over time.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasurementSeries {
    /// Name of the series.
    pub name: String,
    /// Quantity of the values.
    pub kind: MeasurementKind,
    /// The values in the order of the file.
    pub values: Vec<MeasurementValue>,
}

/// The quantity of a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MeasurementKind {
    /// Rate of a flow in Mb/s, as its sender counts it.
    Throughput,
    /// Round trip of a request in ms.
    RoundTrip,
    /// A TCP sender's estimate of its round trip in ms.
    TcpRoundTrip,
}

/// A value of a series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeasurementValue {
    /// Time of the value, or end of its interval, in seconds since the begin.
    pub at_s: f64,
    /// Length of the interval in seconds; 0 for an instant.
    pub span_s: f64,
    /// Value in the unit of the series.
    pub value: f64,
}

impl Measurement {
    /// The series of a kind.
    pub fn of_kind(&self, kind: MeasurementKind) -> impl Iterator<Item = &MeasurementSeries> {
        self.series.iter().filter(move |series| series.kind == kind)
    }

    /// The first and last second with a value, intervals included; `None` without values.
    pub fn extent(&self) -> Option<[f64; 2]> {
        let values = || self.series.iter().flat_map(|series| &series.values);
        let first = values().map(|it| it.at_s - it.span_s).reduce(f64::min)?;
        let last = values().map(|it| it.at_s).reduce(f64::max)?;
        Some([first, last])
    }

    /// The same measurement with all times later by `seconds`.
    #[must_use]
    pub fn later(mut self, seconds: f64) -> Self {
        let values = self.series.iter_mut().flat_map(|series| &mut series.values);
        values.for_each(|value| value.at_s += seconds);
        self
    }

    /// The sum of the means of all throughputs between two instants; `None` without any.
    pub fn throughput_mbps(&self, window: [f64; 2]) -> Option<f64> {
        let of_kind = self.of_kind(MeasurementKind::Throughput);
        let means: Vec<f64> = of_kind.filter_map(|series| series.mean(window)).collect();
        (!means.is_empty()).then(|| means.iter().sum())
    }

    /// The mean over series of this kind of the quantile of each, from 0 to 1, between two
    /// instants; `None` without values.
    pub fn quantile(&self, kind: MeasurementKind, window: [f64; 2], share: f64) -> Option<f64> {
        let of_kind = self.of_kind(kind);
        let each: Vec<f64> = of_kind.filter_map(|series| series.quantile(window, share)).collect();
        (!each.is_empty()).then(|| each.iter().sum::<f64>() / each.len() as f64)
    }

    /// The greatest value of this kind between two instants.
    pub fn max(&self, kind: MeasurementKind, window: [f64; 2]) -> Option<f64> {
        let values = self.of_kind(kind).flat_map(|series| series.weighted(window));
        values.map(|it| it.value).reduce(f64::max)
    }
}

/// A value and its weight.
#[derive(Clone, Copy, Debug)]
struct Weighted {
    value: f64,
    weight: f64,
}

impl MeasurementSeries {
    /// The values between two instants. A value of an interval weighs by the part inside, a value of
    /// an instant by 1; in a series of both, values of instants weigh nothing.
    fn weighted(&self, [from, to]: [f64; 2]) -> impl Iterator<Item = Weighted> {
        let has_spans = self.values.iter().any(|value| value.span_s > 0.0);
        self.values.iter().filter_map(move |it| {
            let weight = if has_spans {
                it.at_s.min(to) - (it.at_s - it.span_s).max(from)
            } else {
                f64::from(u8::from(it.at_s >= from && it.at_s <= to))
            };
            (weight > 0.0).then_some(Weighted { value: it.value, weight })
        })
    }

    /// The mean over time between two instants; `None` without values.
    pub fn mean(&self, window: [f64; 2]) -> Option<f64> {
        let [sum, weights] = self
            .weighted(window)
            .fold([0.0; 2], |[sum, weights], it| [sum + it.value * it.weight, weights + it.weight]);
        (weights > 0.0).then(|| sum / weights)
    }

    /// The quantile between two instants, from 0 to 1, by linear interpolation; of equal weights as
    /// `numpy.percentile` has it. `None` without values.
    pub fn quantile(&self, window: [f64; 2], share: f64) -> Option<f64> {
        let mut values: Vec<Weighted> = self.weighted(window).collect();
        values.sort_unstable_by(|a, b| a.value.total_cmp(&b.value));
        let last = *values.last()?;
        // The least value is at 0, the greatest at the sum of the weights below it.
        let total: f64 = values.iter().map(|it| it.weight).sum::<f64>() - last.weight;
        let place = share * total;
        let (mut below, mut before) = (0.0, values[0].value);
        for pair in values.windows(2) {
            let above = below + pair[0].weight;
            if place <= above {
                return Some(before + (pair[1].value - before) * (place - below) / pair[0].weight);
            }
            (below, before) = (above, pair[1].value);
        }
        Some(last.value)
    }

    /// Means of intervals of this length between two instants, as time of the middle and value.
    pub fn binned(&self, [from, to]: [f64; 2], length_s: f64) -> Vec<(f64, f64)> {
        let bins = ((to - from) / length_s).ceil().clamp(0.0, 1e5) as u32;
        let bin = |index: u32| {
            let begin = from + f64::from(index) * length_s;
            let end = (begin + length_s).min(to);
            Some(((begin + end) / 2.0, self.mean([begin, end])?))
        };
        (0..bins).filter_map(bin).collect()
    }
}

//! The maximum of samples over a sliding window, from three samples: the largest, and twice the
//! largest of those after it (Kathleen Nichols' algorithm; Linux' minmax_running_max). Positions are
//! counts of any kind that never decrease, values have any unit.

/// A value and its position.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sample {
    at: u32,
    value: u32,
}

/// The maximum over the last `window` positions; zero before the first sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct WindowedMax {
    samples: [Sample; 3],
}

impl WindowedMax {
    /// The largest value in the window.
    pub(super) fn value(&self) -> u32 {
        self.samples[0].value
    }

    /// Adds a value at position `at`.
    pub(super) fn update(&mut self, window: u32, at: u32, value: u32) {
        let new = Sample { at, value };
        let [best, second, third] = &mut self.samples;
        if value >= best.value || at - third.at > window {
            self.samples = [new; 3];
            return;
        }
        if value >= second.value {
            (*second, *third) = (new, new);
        } else if value >= third.value {
            *third = new;
        }
        let age = at - best.at;
        if age > window {
            (*best, *second, *third) = (*second, *third, new);
            if at - best.at > window {
                (*best, *second, *third) = (*second, *third, new);
            }
        } else if second.at == best.at && age > window / 4 {
            // A quarter of the window without a better second: the newest takes its place.
            (*second, *third) = (new, new);
        } else if third.at == second.at && age > window / 2 {
            *third = new;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_maximum_lasts_as_long_as_the_window() {
        let mut maximum = WindowedMax::default();
        maximum.update(10, 1, 500);
        for at in 2..=11 {
            maximum.update(10, at, 100 + at);
            assert_eq!(maximum.value(), 500, "{at}");
        }
        maximum.update(10, 12, 100);
        assert!((103..=111).contains(&maximum.value()), "{}", maximum.value());
    }

    proptest! {
        /// The value is a sample of the window, at least the newest, and the maximum of everything
        /// if that is in the window.
        #[test]
        fn it_is_between_the_newest_and_the_maximum(values in prop::collection::vec(0u32..1_000, 1..60)) {
            let mut maximum = WindowedMax::default();
            for (at, &value) in values.iter().enumerate() {
                maximum.update(10, at as u32, value);
                let window = &values[at.saturating_sub(10)..=at];
                prop_assert!(window.contains(&maximum.value()));
                prop_assert!(maximum.value() >= value);
                let all = values[..=at].iter().max();
                if window.iter().max() == all {
                    prop_assert_eq!(Some(&maximum.value()), all);
                }
            }
        }
    }
}

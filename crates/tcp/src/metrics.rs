//! The slow start threshold that Linux keeps of connections that ended, for later ones to the same
//! peer (tcp_update_metrics, tcp_init_metrics; `tcp_no_metrics_save` = 0 and, since 5.6,
//! `tcp_no_ssthresh_metrics_save` = 0). Values are in segments. Linux keeps the window too, and does
//! not use it. Left out: round-trip time and reordering, and the lifetime of an hour.

/// The end of a connection, from which Linux keeps a slow start threshold for later ones
/// (tcp_update_metrics).
///
/// ```
/// use lasthop_tcp::Ending;
///
/// let ending = Ending { window: 60, threshold: 20, is_open: true };
/// // Half of the window, because it is more than the threshold.
/// assert_eq!(ending.keep(None), Some(30));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ending {
    /// Congestion window in segments.
    pub window: u32,
    /// Slow start threshold in segments; [`u32::MAX`] before the first loss.
    pub threshold: u32,
    /// Whether no loss is being repaired.
    pub is_open: bool,
}

impl Ending {
    /// Returns the threshold to keep in segments, after `kept` of earlier connections; `None` for none.
    pub fn keep(self, kept: Option<u32>) -> Option<u32> {
        let half = self.window / 2;
        if self.threshold == u32::MAX {
            // It was in its first slow start: half of its window corrects a lower threshold.
            kept.map(|kept| kept.max(half))
        } else if self.is_open && self.window > self.threshold {
            Some(half.max(self.threshold))
        } else {
            kept.map(|kept| kept.max(self.threshold))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The branches of tcp_update_metrics, by hand.
    #[test]
    fn a_threshold_is_kept_as_linux_keeps_it() {
        const NONE: u32 = u32::MAX;
        let cases = [
            // In slow start: nothing is learnt, or half of the window corrects upwards.
            ((60, NONE, true), None, None),
            ((60, NONE, true), Some(20), Some(30)),
            ((60, NONE, true), Some(40), Some(40)),
            // In congestion avoidance: the larger of half of the window and the threshold.
            ((60, 20, true), Some(400), Some(30)),
            ((30, 20, true), None, Some(20)),
            // In recovery, or below the threshold: only upwards.
            ((60, 20, false), None, None),
            ((60, 20, false), Some(10), Some(20)),
            ((60, 20, false), Some(25), Some(25)),
            ((20, 20, true), None, None),
        ];
        for ((window, threshold, is_open), kept, expected) in cases {
            let ending = Ending { window, threshold, is_open };
            assert_eq!(ending.keep(kept), expected, "{ending:?} {kept:?}");
        }
    }
}

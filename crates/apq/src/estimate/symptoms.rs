//! Reasons to doubt a result, as numbers with thresholds: how steady throughput and
//! baseline are, whether the delay has two peaks, whether the sender kept to its
//! plan, and whether the bottleneck is a Wi-Fi link at all. Shares are 0 to 1,
//! times in seconds. Leaves out the verdict, which is in `survey::telling`.

use super::discipline::{clump, held};
use super::session::refusals;
use super::statistics::{
    deviation, deviation_of_quartiles, mean, pause, quantile, sorted, two_peaks,
};
use super::timeline::{Timeline, Window, Windows};
use crate::plan::{PhasePlan, StreamKind};
use crate::record::PhaseRecord;
use alloc::vec::Vec;

/// Threshold for the deviation of the throughput per second, relative to its mean:
/// random backoff and losses cause 1 to 3 %; at the access point whose sessions the
/// paper had to discard it was 50 %.
pub const UNSTEADY: f64 = 0.1;

/// Threshold for the variation of the occupancy of the full queue from second to
/// second: other hosts had the rest of the queue.
pub const OTHERS: f64 = 0.12;

/// Threshold for the share of airtime that packets of other hosts use: backoff,
/// retries and the timestamps of a busy host cause up to a quarter.
pub const BETWEEN: f64 = 0.3;

/// Threshold for the share of other hosts in the queue, as computed from two packet
/// lengths.
pub const OTHERS_BY_LENGTH: f64 = 0.05;

/// Threshold for the spread of the delay without load relative to the queueing
/// delay. Below it, or below [`BASELINE_S`], its effect on the capacity is smaller
/// than the precision.
pub const BASELINE: f64 = 0.05;
/// The same in seconds: the retries of a packet and the airtime of a few others.
pub const BASELINE_S: f64 = 0.004;

/// Threshold for the share of its rate that the sender achieved.
pub const SENDER: f64 = 0.97;

/// Threshold for the variation of the gaps between packets: less is no random
/// backoff. That of 802.11g (15 slots of 9 us) is 2 % of a packet of 1 500 bytes at
/// 6 Mb/s and more at higher rates, that of 802.11b 10 % at 11 Mb/s.
pub const TOO_EVEN: f64 = 0.015;
/// The threshold if rates are inversely proportional to packet lengths: timestamps
/// of a busy host vary by this much.
pub const TOO_EVEN_BY_LENGTH: f64 = 0.1;
/// Threshold from which on rates are inversely proportional to lengths: there is no
/// cost per packet. Over Wi-Fi a packet costs at least its preamble, its header and
/// its acknowledgment, or a share of them.
pub const INVERSE: f64 = 0.965;

/// Ashman's D from which peaks are separate.
const ASHMAN_MIN: f64 = 2.0;
/// Smallest share of packets in a peak: fewer are outliers.
const MINORITY_MIN: f64 = 0.1;
/// Largest share of packets in the middle third between the peaks, relative to the
/// smaller peak's: with more there is no valley.
const VALLEY_MAX: f64 = 0.15;
/// Smallest distance of the peaks relative to the queueing delay.
const GAP_MIN: f64 = 0.15;

/// Smallest number of packets in a part of the full window over which throughput is measured.
const PART_PACKETS: f64 = 200.0;
/// Smallest number of parts from which steadiness is computed.
const PARTS_MIN: usize = 5;
/// Length of a part in seconds: a twentieth of the window, within these bounds.
const PART_S: (f64, f64) = (0.25, 1.0);

/// The symptoms of one session.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Symptoms {
    /// Deviation of the throughput from second to second, relative to its mean.
    pub unsteady: Option<f64>,
    /// Largest fall of the full queue's occupancy below its highest, for a second or more, relative
    /// to the highest.
    pub others: Option<f64>,
    /// Share of the time used by packets between those of this measurement; `None`
    /// if these leave in clumps.
    pub between: Option<f64>,
    /// Distance of two peaks of the full queue's delay, in seconds.
    pub peaks: Option<f64>,
    /// Difference between the lowest and the highest tenth of delays without load,
    /// in seconds.
    pub baseline: f64,
    /// The same relative to the queueing delay.
    pub baseline_relative: f64,
    /// Share of its rate that the sender achieved.
    pub sender: f64,
    /// Deviation of the gaps between departing packets relative to the mean; `None`
    /// if they leave in clumps.
    pub evenness: Option<f64>,
}

/// The symptoms in `timeline`, whose drift was removed. `full` is the window in
/// which the queue was full or overloaded.
pub fn symptoms(
    timeline: &Timeline,
    windows: Windows,
    full: Window,
    empty_delay: f64,
    sender: f64,
) -> Option<Symptoms> {
    let arrivals: Vec<f64> = timeline
        .arrivals()
        .into_iter()
        .map(|time| time - empty_delay)
        .filter(|&time| full.contains(time))
        .collect();
    let rate = arrivals.len() as f64 / full.length();
    let delays = sorted(timeline.sent_in(StreamKind::Bulk, full).map(|p| p.delay - empty_delay));
    let queueing = quantile(&delays, 0.5)?;
    let distances = sorted(arrivals.windows(2).map(|pair| pair[1] - pair[0]));

    let empty = sorted(
        timeline
            .of_stream(StreamKind::Sparse)
            .filter(|p| windows.before.contains(p.sent) || windows.after.contains(p.sent))
            .map(|p| p.delay),
    );
    let baseline = quantile(&empty, 0.9)? - quantile(&empty, 0.1)?;

    let length = (full.length() / 20.0).clamp(PART_S.0, PART_S.1).max(PART_PACKETS / rate.max(1.0));
    let count = (full.length() / length) as usize;
    let part = |index: usize| {
        Window::new(full.begin + index as f64 * length, full.begin + (index + 1) as f64 * length)
    };
    let within = |window: Window, times: &[f64]| {
        times.partition_point(|&t| t < window.end) - times.partition_point(|&t| t < window.begin)
    };
    let throughput: Vec<f64> =
        (0..count).map(|index| within(part(index), &arrivals) as f64).collect();
    let unsteady = mean(&throughput)
        .filter(|&mean| count >= PARTS_MIN && mean > 0.0)
        .map(|mean| deviation(&throughput) / mean);

    let refusals = refusals(timeline, full);
    let parts = (0..count).map(part);
    let held = sorted(held(timeline, empty_delay, rate.max(1.0), &distances, &refusals, parts));
    let others = (held.len() >= PARTS_MIN)
        .then(|| 1.0 - quantile(&held, 0.1).unwrap_or(0.0) / quantile(&held, 0.9).unwrap_or(1.0));

    Some(Symptoms {
        unsteady,
        others: others.filter(|share| share.is_finite()),
        between: between(&distances),
        peaks: gap(&delays, &distances, queueing),
        baseline,
        baseline_relative: if queueing > 0.0 { baseline / queueing } else { 0.0 },
        sender,
        evenness: evenness(&distances),
    })
}

/// The distance of two peaks of sorted delays. Packets of one aggregate wait for
/// each other, so peaks at the distance of aggregates do not count.
fn gap(delays: &[f64], distances: &[f64], queueing: f64) -> Option<f64> {
    let peaks = two_peaks(delays)?;
    let gap = peaks.high - peaks.low;
    let aggregate = quantile(distances, 0.99).unwrap_or(0.0);
    let apart = peaks.ashman > ASHMAN_MIN
        && peaks.minority >= MINORITY_MIN
        && peaks.valley < VALLEY_MAX * peaks.minority
        && gap > GAP_MIN * queueing
        && gap > 2.0 * aggregate;
    apart.then_some(gap)
}

/// Computes [`Symptoms::between`]: how much shorter than the mean the gap of two
/// packets is that follow each other directly.
fn between(distances: &[f64]) -> Option<f64> {
    /// Most of the gaps that are this short are between packets with none in
    /// between.
    const SHORT: f64 = 0.3;
    /// Gaps shorter than the first value, relative to the mean, indicate clumps; so
    /// do pauses longer than the second.
    const CLUMPS: (f64, f64) = (0.2, 6.0);
    let mean = mean(distances).filter(|&mean| mean > 0.0)?;
    let share = quantile(distances, SHORT)? / mean;
    (share > CLUMPS.0 && clump(distances) < CLUMPS.1 * mean).then_some(1.0 - share)
}

/// A full queue, as sessions with one packet length found it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Filled {
    /// Number of packets of the session.
    pub packets: f64,
    /// Delay in the queue, in seconds.
    pub delay_s: f64,
}

/// Packets of other hosts in a queue with a limit in packets, relative to all, from
/// sessions with two packet lengths. Other hosts send as many packets per second whatever our length,
/// so more of theirs are in the queue the longer it takes to empty. `None` if that
/// cannot be computed.
pub fn others_by_length(first: Filled, second: Filled) -> Option<f64> {
    /// Counts must differ by more than this, in packets and relative to the larger.
    const DIFFER: (f64, f64) = (3.0, 0.02);
    /// Delays must differ by more than this, relative to the larger.
    const DELAYS_DIFFER: f64 = 0.2;
    let (counts, delays) = (first.packets - second.packets, second.delay_s - first.delay_s);
    let differ = libm::fabs(counts) > DIFFER.0.max(DIFFER.1 * first.packets.max(second.packets))
        && libm::fabs(delays) > DELAYS_DIFFER * first.delay_s.max(second.delay_s);
    if !differ || first.delay_s <= 0.0 {
        return None;
    }
    let others = counts / delays * first.delay_s;
    (others > 0.0).then(|| others / (others + first.packets))
}

/// Computes [`Symptoms::evenness`] of sorted gaps. In clumps the median is far from the mean,
/// except in aggregates of 802.11ax, where one gap in 256 is a pause.
fn evenness(distances: &[f64]) -> Option<f64> {
    /// Largest difference between median and mean of gaps without clumps, relative
    /// to the mean.
    const ALIKE: f64 = 0.15;
    let (mean, median) = (mean(distances)?, quantile(distances, 0.5)?);
    let alike = mean > 0.0 && libm::fabs(median / mean - 1.0) < ALIKE;
    (alike && pause(distances).is_none()).then(|| deviation_of_quartiles(distances) / mean)
}

/// The share of its rate that the sender achieved: counts packets for which its
/// buffer was full, and streams that took longer than planned.
pub fn sender_share(timeline: &Timeline, plan: &PhasePlan, record: &PhaseRecord) -> f64 {
    let sum = |of: fn(&crate::StreamCount) -> u32| {
        record.counts.iter().map(|count| f64::from(of(count))).sum::<f64>()
    };
    let (sent, unsent) = (sum(|count| count.sent), sum(|count| count.unsent));
    let given = if sent + unsent > 0.0 { sent / (sent + unsent) } else { 1.0 };
    let mut first = 0;
    let mut pace: f64 = 1.0;
    for stream in plan.streams.iter().filter(|stream| stream.kind == StreamKind::Bulk) {
        let numbers = first..first + stream.packets();
        first = numbers.end;
        let of_stream =
            timeline.of_stream(StreamKind::Bulk).filter(|p| numbers.contains(&p.sequence.into()));
        let (mut low, mut high) = (None::<&super::Passage>, None::<&super::Passage>);
        for passage in of_stream {
            low = low.filter(|low| low.sequence < passage.sequence).or(Some(passage));
            high = high.filter(|high| high.sequence > passage.sequence).or(Some(passage));
        }
        let (Some(low), Some(high)) = (low, high) else { continue };
        let planned = f64::from(high.sequence - low.sequence) * stream.interval.as_secs_f64();
        let took = high.sent - low.sent;
        // A few milliseconds of lateness are caused by the host, not by a bottleneck.
        if took > planned + LATE_S {
            pace = pace.min(planned / took);
        }
    }
    given.min(pace).clamp(0.0, 1.0)
}

/// A stream that ends no later than this is not slower, in seconds.
const LATE_S: f64 = 0.01;

#[cfg(test)]
mod tests {
    use super::*;

    /// Gaps of 1 500 bytes at 1 201 Mb/s in aggregates of 256, after each of which there are a
    /// contention, a preamble and a Block Ack; and of a wire, which a busy host looks at late.
    #[test]
    fn long_aggregates_are_not_even() {
        let aggregates: Vec<f64> =
            (0..20_000).map(|n| if n % 256 == 255 { 180e-6 } else { 10.2e-6 }).collect();
        assert_eq!(evenness(&sorted(aggregates.into_iter())), None);
        let wire = |late: bool| {
            let gap = |n: u32| match n % 200 {
                7 if late => 61e-6,
                8..=12 if late => 2e-6,
                _ => 12e-6,
            };
            sorted((0..20_000).map(gap))
        };
        for gaps in [wire(false), wire(true)] {
            assert!(evenness(&gaps).is_some_and(|even| even < TOO_EVEN));
        }
    }

    #[test]
    fn others_in_the_queue_show_in_two_lengths() {
        // A bound of 300; others bring 600 packets a second, ours leave at 1 000
        // and 2 000: 300 = n + 600 n / rate.
        let filled = |packets, delay_s| Filled { packets, delay_s };
        let of = |rate: f64| {
            let packets = 300.0 / (1.0 + 600.0 / rate);
            filled(packets, packets / rate)
        };
        let share = others_by_length(of(1_000.0), of(2_000.0)).unwrap();
        assert!((share - 600.0 / 1_600.0).abs() < 1e-9);
        assert_eq!(others_by_length(filled(300.0, 0.3), filled(301.0, 0.15)), None);
        // As many bytes: nothing to do with others.
        assert_eq!(others_by_length(filled(100.0, 0.15), filled(200.0, 0.16)), None);
    }
}

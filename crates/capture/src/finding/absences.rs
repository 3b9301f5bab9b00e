//! Stations that are away: scans, power save, and access points that do not notice.

use super::{Extent, Finding, Kind, at, ms, percent};
use crate::air::Air;
use crate::air::absence::{Absence, Totals};
use crate::air::exchange::Link;
use crate::air::schedule::{Cause, Period, Schedule};
use crate::air::stations::StationId;
use crate::analysis::Analysis;
use crate::series::Seconds;
use std::ops::Range;

/// Absences that are shorter than this, many a second, are no visits and no rest.
const OSCILLATION_NS: u64 = 10_000_000;
/// Changes a second that are too many.
const OSCILLATIONS_MIN: f64 = 5.0;
/// A dozing station of which nothing else is wrong is worth a line from this share of time on.
const DOZING_MIN: f64 = 0.05;
/// Shares of the usual throughput that are no fall: seconds vary as much.
const UNHURT: f64 = 0.9;
/// Data frames to a station that is away, of all that it gets meanwhile and otherwise.
const IN_VAIN_MIN: u64 = 20;

pub(super) fn find(analysis: &Analysis, extent: Extent, found: &mut Vec<Finding>) {
    let air = &analysis.air;
    for (id, absences) in &air.absences {
        let totals = absences.totals();
        let absences = absences.so_far();
        let absences = &absences[absences.len().saturating_sub(extent.absences)..];
        let Some(schedule) = Schedule::of(absences) else { continue };
        let oscillates = oscillation(analysis, *id, absences);
        if oscillates.is_none() {
            match schedule.cause {
                Cause::Scan => found.push(scan(analysis, *id, absences, &schedule, extent)),
                Cause::PowerSave => {
                    found.extend(power_save(analysis, *id, absences, &totals, &schedule));
                }
                Cause::Unknown => {}
            }
        }
        found.extend(oscillates);
        found.extend(sent_in_vain(analysis, *id, absences, &totals));
    }
}

fn scan(
    analysis: &Analysis,
    id: StationId,
    absences: &[Absence],
    schedule: &Schedule,
    extent: Extent,
) -> Finding {
    let air = &analysis.air;
    let address = air.stations.get(id).address.to_string();
    let worst = worst_period(air, id, schedule, extent);
    let (period, throughput) = worst;
    let (first, last) = (&absences[period.absences.0], &absences[period.absences.1 - 1]);
    let length_ns = period.to_ns.saturating_sub(period.from_ns);
    let length_s = length_ns as f64 / 1e9;
    let every = match (schedule.every_ns, schedule.periods.len()) {
        (Some(every), _) => format!("every {:.0} s", every as f64 / 1e9),
        (None, _) => "in the capture".to_owned(),
    };
    let times = if schedule.absences == 1 {
        "once".to_owned()
    } else {
        format!("{} times", schedule.absences)
    };
    let awake = schedule
        .awake_ns
        .map_or(String::new(), |awake| format!(", and is back for {} in between", ms(awake)));
    let falls = match throughput {
        Some((lowest, mean)) if lowest >= UNHURT && mean >= UNHURT => format!(
            "; its throughput does not suffer, delays do: what is for it waits up to {}",
            ms(schedule.asleep_ns)
        ),
        Some((lowest, mean)) => format!(
            "; its throughput falls to {} in the lowest second and to {} on average of these {:.0} s",
            percent(lowest),
            percent(mean),
            length_s
        ),
        None => String::new(),
    };
    let away: u64 = absences[period.absences.0..period.absences.1]
        .iter()
        .map(Absence::asleep_ns)
        .fold(0, u64::saturating_add);
    let away = away as f64 / length_ns.max(1) as f64;
    let sentence = format!(
        "{address} leaves the channel for {} {times} {every}{awake}{falls} (frames {}-{}): it likely \
         scans for other access points",
        ms(schedule.asleep_ns),
        first.frames.0,
        last.frames.1,
    );
    Finding {
        kind: Kind::Scan,
        sentence,
        frames: [first.frames.0, last.frames.1],
        from_s: at(analysis, period.from_ns),
        to_s: at(analysis, period.to_ns),
        harm: throughput.map_or(away, |(_, mean)| (1.0 - mean).max(away)).clamp(0.0, 1.0),
        check: format!(
            "Filter wlan.fc.pwrmgt == 1 && wlan.ta == {address}: Null frames announce each absence. \
             Stop background scans of the station (with NetworkManager or iwd: fix the BSSID, or let \
             it roam by signal only) and look again"
        ),
        station: Some(address),
    }
}

/// The period that costs most: it, and the share of its lowest second and its mean in what the
/// station has otherwise.
fn worst_period(
    air: &Air,
    id: StationId,
    schedule: &Schedule,
    extent: Extent,
) -> (Period, Option<(f64, f64)>) {
    let usual = Usual::of(air, id, schedule, extent);
    let count =
        |period: &Period| (period.absences.1 - period.absences.0) as u64 + u64::from(period.missed);
    // One in which the capture began or ended says little of a whole one.
    let whole =
        schedule.periods.iter().filter(|it| count(it) * 5 >= u64::from(schedule.absences) * 4);
    let with_throughput = whole.map(|period| {
        let shares = usual.shares(period);
        (*period, shares)
    });
    let cost = |shares: &Option<(f64, f64)>| shares.map_or(-1.0, |(_, mean)| 1.0 - mean);
    with_throughput
        .max_by(|(a, x), (b, y)| cost(x).total_cmp(&cost(y)).then(count(a).cmp(&count(b))))
        .unwrap_or((schedule.periods[0], None))
}

/// Payload of a station in both directions, and what it has outside its periods.
struct Usual<'a> {
    air: &'a Air,
    /// Bytes by second.
    bytes: Seconds<u64>,
    /// Median second outside periods in bytes.
    median: u64,
}

impl<'a> Usual<'a> {
    fn of(air: &'a Air, id: StationId, schedule: &Schedule, extent: Extent) -> Self {
        let links = air.links.values().filter(|link| link.from == id || link.to == id);
        let series = links.map(|link| &link.seconds);
        let from = air.second(air.end_ns).saturating_sub(extent.seconds);
        let bytes = Seconds::sum(series, &(from..usize::MAX), |second| second.payload_bytes);
        // The last second is not a whole one, and the first is that of a start.
        let first = from.max(1);
        let inner = first..bytes.end().saturating_sub(1).max(first);
        let mut touched: Vec<Range<usize>> = Vec::new();
        let mut spans: Vec<_> = schedule
            .periods
            .iter()
            .map(|period| air.second(period.from_ns)..air.second(period.to_ns) + 1)
            .collect();
        spans.sort_by_key(|span| span.start);
        for span in spans {
            match touched.last_mut() {
                Some(last) if span.start <= last.end => last.end = last.end.max(span.end),
                _ => touched.push(span),
            }
        }
        let is_touched = |second: usize| {
            let behind = touched.partition_point(|span| span.end <= second);
            touched.get(behind).is_some_and(|span| span.contains(&second))
        };
        let normal = bytes.range(inner.clone()).filter(|(second, _)| !is_touched(*second));
        let mut normal: Vec<u64> = normal.map(|(_, bytes)| *bytes).collect();
        let within = |span: &Range<usize>| {
            span.end.min(inner.end).saturating_sub(span.start.max(inner.start))
        };
        let all = inner.len() - touched.iter().map(within).sum::<usize>();
        // Seconds without anything are not in the series, and less than all that are.
        let empty = all - normal.len();
        normal.sort_unstable();
        let middle = all.saturating_sub(1) / 2;
        let median = middle.checked_sub(empty).and_then(|index| normal.get(index));
        Self { air, median: median.copied().unwrap_or_default(), bytes }
    }

    /// The lowest second and the mean of a period as shares of the median second outside periods;
    /// `None` if the station carried no steady traffic around it.
    fn shares(&self, period: &Period) -> Option<(f64, f64)> {
        let (first, last) = (self.air.second(period.from_ns), self.air.second(period.to_ns));
        let normal = self.median as f64;
        let whole = first + 1..last.min(self.bytes.end());
        // A few packets a second are no measure.
        if normal < 100_000.0 || whole.len() < 2 {
            return None;
        }
        let (mut count, mut sum, mut least) = (0, 0, u64::MAX);
        for (_, bytes) in self.bytes.range(whole.clone()) {
            (count, sum, least) = (count + 1, sum + bytes, least.min(*bytes));
        }
        let lowest = if count < whole.len() { 0 } else { least };
        Some((lowest as f64 / normal, sum as f64 / whole.len() as f64 / normal))
    }
}

fn power_save(
    analysis: &Analysis,
    id: StationId,
    absences: &[Absence],
    totals: &Totals,
    schedule: &Schedule,
) -> Option<Finding> {
    let air = &analysis.air;
    let address = air.stations.get(id).address.to_string();
    let length = crate::document::length_ns(air);
    let share = totals.asleep_ns as f64 / length as f64;
    let (first, last) = (absences.first()?, absences.last()?);
    if share < DOZING_MIN {
        return None;
    }
    Some(Finding {
        kind: Kind::PowerSave,
        sentence: format!(
            "{address} saves power: it dozes {} times, {} of the time, for {} in the median and {} at \
             most; what is for it waits until it wakes up",
            totals.absences,
            percent(share),
            ms(schedule.asleep_ns),
            ms(totals.longest_ns)
        ),
        frames: [first.frames.0, last.frames.1],
        from_s: at(analysis, first.from_ns),
        to_s: at(analysis, last.to_ns),
        // It costs delay at the begin of traffic only.
        harm: 0.1 * share.clamp(0.0, 1.0),
        check: format!(
            "Ping {address} once a second: answers that take up to a beacon interval longer than \
             others come from here. Switch power save off (iw dev IFACE set power_save off) and \
             look again"
        ),
        station: Some(address),
    })
}

fn oscillation(analysis: &Analysis, id: StationId, absences: &[Absence]) -> Option<Finding> {
    let air = &analysis.air;
    let mut short: Vec<&Absence> =
        absences.iter().filter(|absence| absence.asleep_ns() < OSCILLATION_NS).collect();
    // A clock may go backwards.
    short.sort_by_key(|absence| absence.from_ns);
    // The busiest second, of those that begin with one of them.
    let (mut most, mut at_most, mut behind) = (0, 0, 0);
    for (index, absence) in short.iter().enumerate() {
        let is_within = |other: &&Absence| other.from_ns - absence.from_ns < 1_000_000_000;
        behind += short[behind..].iter().take_while(|other| is_within(other)).count();
        if behind - index > most {
            (most, at_most) = (behind - index, index);
        }
    }
    if (most as f64) < OSCILLATIONS_MIN || short.len() * 2 < absences.len() {
        return None;
    }
    let (first, last) = (short[at_most], short[at_most + most - 1]);
    let frames = [first.frames.0.min(last.frames.0), first.frames.1.max(last.frames.1)];
    let address = air.stations.get(id).address.to_string();
    Some(Finding {
        kind: Kind::PmOscillation,
        sentence: format!(
            "{address} announces power save and takes it back up to {most} times a second, in {} of \
             its latest {} absences (frames {}-{})",
            short.len(),
            absences.len(),
            frames[0],
            frames[1]
        ),
        frames,
        from_s: at(analysis, first.from_ns),
        to_s: at(analysis, last.to_ns),
        harm: (most as f64 / 100.0).min(0.3),
        check: format!(
            "Filter wlan.ta == {address} && wlan.fc.type_subtype in {{0x24, 0x2c}}. Each change \
             flushes or holds the queue of the access point; update the driver, or switch power \
             save off"
        ),
        station: Some(address),
    })
}

fn sent_in_vain(
    analysis: &Analysis,
    id: StationId,
    absences: &[Absence],
    totals: &Totals,
) -> Option<Finding> {
    let air = &analysis.air;
    let vain = totals.sent_in_vain;
    let mut hit = absences.iter().filter(|absence| absence.sent_in_vain > 0);
    let first = hit.next()?;
    let last = hit.next_back().unwrap_or(first);
    let to_it = |link: &&Link| link.to == id;
    let sent = |link: &Link| link.counts.mpdus + link.missed();
    let all: u64 = air.links.values().filter(to_it).map(sent).sum();
    if vain < IN_VAIN_MIN {
        return None;
    }
    let address = air.stations.get(id).address.to_string();
    Some(Finding {
        kind: Kind::SentInVain,
        sentence: format!(
            "The access point sends {vain} of {all} data frames to {address} while that is away, in \
             {} of {} absences; {} were announced without an answer that was captured",
            totals.in_vain, totals.absences, totals.unanswered
        ),
        frames: [first.frames.0, last.frames.1],
        from_s: at(analysis, first.from_ns),
        to_s: at(analysis, last.to_ns),
        harm: (vain as f64 / all.max(1) as f64).min(1.0),
        check: "Look at data frames to the station between its Null frames with and without the \
                Power Management bit: repeated ones are lost, or lower the rate that the access \
                point chooses"
            .to_owned(),
        station: Some(address),
    })
}

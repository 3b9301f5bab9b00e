//! Findings about absent stations: scans, power save, other channels in turn, unexplained timers,
//! and access points that send to absent stations.

use super::heard::Coverage;
use super::{Extent, Finding, Kind, at, ms, percent};
use crate::air::Air;
use crate::air::absence::{Absence, Totals};
use crate::air::exchange::Link;
use crate::air::schedule::{Cause, Period, Schedule};
use crate::air::stations::StationId;
use crate::analysis::InterfaceView;
use crate::series::Seconds;
use lasthop_wifi_phy::Band;
use std::ops::Range;

/// Absences of an oscillation are shorter than this, in ns: too short for a scan or a rest.
const OSCILLATION_NS: u64 = 10_000_000;
/// Minimum number of changes per second for a finding.
const OSCILLATIONS_MIN: f64 = 5.0;
/// Minimum share of time in which a station dozes for a finding.
const DOZING_MIN: f64 = 0.05;
/// Minimum share of the usual throughput that does not count as reduced: seconds vary as much.
const UNHURT: f64 = 0.9;
/// Minimum number of data frames to an absent station for a finding.
const IN_VAIN_MIN: u64 = 20;

pub(super) fn find(
    view: &InterfaceView<'_>,
    heard: &Coverage,
    extent: Extent,
    found: &mut Vec<Finding>,
) {
    let air = &view.air;
    for (id, absences) in &air.absences {
        let totals = absences.totals();
        let absences = absences.so_far();
        let absences = &absences[absences.len().saturating_sub(extent.absences)..];
        let Some(schedule) = Schedule::from_absences(air, *id, extent.absences) else { continue };
        // Frames without the bit end an absence. If most were missed, its length is unknown, and so
        // is the number of frames sent during it.
        let is_heard = heard.is_heard(*id);
        let oscillates = oscillation(view, *id, absences);
        if oscillates.is_none() {
            let away = Away { view, id: *id, absences, schedule: &schedule };
            match schedule.cause {
                Cause::Scan => found.push(scan(&away, is_heard, extent)),
                Cause::PowerSave if is_heard => found.extend(power_save(&away, &totals)),
                Cause::TimeSharing => found.extend(away.time_sharing()),
                Cause::Coexistence => found.extend(away.coexistence()),
                Cause::Periodic => found.extend(away.periodic()),
                Cause::PowerSave | Cause::Unknown => {}
            }
        }
        found.extend(oscillates);
        if is_heard {
            found.extend(sent_in_vain(view, *id, absences, &totals));
        }
    }
}

fn scan(away: &Away<'_>, is_heard: bool, extent: Extent) -> Finding {
    let Away { view, id, absences, schedule } = *away;
    let air = &view.air;
    let address = away.address();
    let (period, throughput) = worst_period(air, id, schedule, extent);
    // Throughput that is mostly missed does not show the cost of the scan.
    let is_whole = is_heard && !air.channels.is_hopping();
    let throughput = throughput.filter(|_| is_whole);
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
        .filter(|_| schedule.absences > 1)
        .map_or(String::new(), |awake| format!(", and is back for {} in between", ms(awake)));
    let falls = match throughput {
        Some((lowest, mean)) if lowest >= UNHURT && mean >= UNHURT => format!(
            "; its throughput does not suffer, but packets for it wait up to {}",
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
    let why = match (schedule.probes, schedule.hidden) {
        (probes @ 1.., _) => {
            format!(
                "it scans for other access points, with {probes} Probe Requests that were heard"
            )
        }
        (0, Some(hidden @ 1..)) => format!(
            "it scans for other access points: in an absence it sends {hidden} frames elsewhere, by its \
             sequence numbers"
        ),
        _ => "it likely scans for other access points".to_owned(),
    };
    let away: u64 = absences[period.absences.0..period.absences.1]
        .iter()
        .map(Absence::asleep_ns)
        .fold(0, u64::saturating_add);
    let away = away as f64 / length_ns.max(1) as f64;
    let sentence = format!(
        "{address} leaves the channel for {} {times} {every}{awake}{falls} (frames {}-{}): {why}",
        ms(schedule.asleep_ns),
        first.frames.0,
        last.frames.1,
    );
    Finding {
        kind: Kind::Scan,
        sentence,
        frames: [first.frames.0, last.frames.1],
        from_s: at(view, period.from_ns),
        to_s: at(view, period.to_ns),
        harm: throughput.map_or(away, |(_, mean)| (1.0 - mean).max(away)).clamp(0.0, 1.0),
        check: format!(
            "Filter wlan.fc.pwrmgt == 1 && wlan.ta == {address}: Null frames announce each absence. \
             Stop background scans of the station (with NetworkManager or iwd: fix the BSSID, or let \
             it roam by signal only) and look again"
        ),
        station: Some(address),
    }
}

/// Returns the costliest period, with its lowest second and its mean as shares of the station's
/// usual throughput.
fn worst_period(
    air: &Air,
    id: StationId,
    schedule: &Schedule,
    extent: Extent,
) -> (Period, Option<(f64, f64)>) {
    let usual = Usual::new(air, id, schedule, extent);
    let count =
        |period: &Period| (period.absences.1 - period.absences.0) as u64 + u64::from(period.missed);
    // A period that the capture cuts does not represent a complete one.
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

/// Payload of a station in both directions, and its usual value outside of periods.
struct Usual<'a> {
    air: &'a Air,
    /// Bytes by second.
    bytes: Seconds<u64>,
    /// Median second outside of periods, in bytes.
    median: u64,
}

impl<'a> Usual<'a> {
    fn new(air: &'a Air, id: StationId, schedule: &Schedule, extent: Extent) -> Self {
        let links = air.links.values().filter(|link| link.from == id || link.to == id);
        let series = links.map(|link| &link.seconds);
        let from = air.second(air.end_ns).saturating_sub(extent.seconds);
        let bytes = Seconds::sum(series, &(from..usize::MAX), |second| second.payload_bytes);
        // The first and the last second are incomplete.
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
        // Seconds without payload are not in the series, and smaller than all others.
        let empty = all - normal.len();
        normal.sort_unstable();
        let middle = all.saturating_sub(1) / 2;
        let median = middle.checked_sub(empty).and_then(|index| normal.get(index));
        Self { air, median: median.copied().unwrap_or_default(), bytes }
    }

    /// Returns the lowest second and the mean of a period, as shares of the median second outside
    /// of periods; `None` if the station had no steady traffic around it.
    fn shares(&self, period: &Period) -> Option<(f64, f64)> {
        let (first, last) = (self.air.second(period.from_ns), self.air.second(period.to_ns));
        let normal = self.median as f64;
        let whole = first + 1..last.min(self.bytes.end());
        // A few packets a second are no basis for shares.
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

/// Absences of a station, and their schedule.
struct Away<'a> {
    view: &'a InterfaceView<'a>,
    id: StationId,
    absences: &'a [Absence],
    schedule: &'a Schedule,
}

impl Away<'_> {
    fn address(&self) -> String {
        self.view.air.stations.get(self.id).address.to_string()
    }

    /// Returns the share of the time from the first absence to the last.
    fn share(&self) -> f64 {
        let away = self.absences.iter().map(Absence::asleep_ns).fold(0, u64::saturating_add);
        let (Some(first), Some(last)) = (self.absences.first(), self.absences.last()) else {
            return 0.0;
        };
        // The last cycle lasts until the next absence would begin.
        let length = last.to_ns.saturating_sub(first.from_ns);
        // A hopping receiver sees the rhythm for a part of the time.
        let air = &self.view.air;
        let part = air.time_of(self.id) as f64 / air.length_ns() as f64;
        let rest = self.schedule.cycle_ns.unwrap_or_default().saturating_sub(last.asleep_ns());
        (away as f64 / (part * length.saturating_add(rest).max(1) as f64)).min(1.0)
    }

    fn longest_ns(&self) -> u64 {
        self.absences.iter().map(Absence::asleep_ns).max().unwrap_or_default()
    }

    fn finding(&self, kind: Kind, sentence: String, harm: f64, check: String) -> Option<Finding> {
        let (first, last) = (self.absences.first()?, self.absences.last()?);
        Some(Finding {
            kind,
            sentence,
            frames: [first.frames.0, last.frames.1],
            from_s: at(self.view, first.from_ns),
            to_s: at(self.view, last.to_ns),
            harm,
            check,
            station: Some(self.address()),
        })
    }

    /// Returns the start of a sentence with length, rhythm, number and cost.
    fn rhythm(&self) -> String {
        let cycle_ns = self.schedule.cycle_ns.unwrap_or_default();
        let a_second = match cycle_ns {
            1..=666_666_666 => format!(" ({:.1} times a second)", 1e9 / cycle_ns as f64),
            _ => String::new(),
        };
        let about = if self.schedule.is_steady(self.absences) { "" } else { "about " };
        format!(
            "{} is away for {} {about}every {}{a_second}, {} times, {} of the time; packets from \
             and to it wait up to {}, or are lost",
            self.address(),
            ms(self.schedule.asleep_ns),
            length(cycle_ns),
            self.absences.len(),
            fine_percent(self.share()),
            ms(self.longest_ns())
        )
    }

    fn filter(&self) -> String {
        format!(
            "Filter wlan.fc.pwrmgt == 1 && wlan.ta == {}: Null frames announce each absence.",
            self.address()
        )
    }

    fn time_sharing(&self) -> Option<Finding> {
        let sentence = format!(
            "{}: it likely serves another channel in turn, for AWDL (AirDrop, AirPlay, Sidecar; \
             channels 6, 44 and 149) or Wi-Fi Direct (Miracast, a hotspot){}",
            self.rhythm(),
            match self.view.air.band() {
                Band::Ghz2_4 => ", or shares its antenna with Bluetooth",
                Band::Ghz5 | Band::Ghz6 => "",
            }
        );
        let check = format!(
            "{} On a Mac or iPhone switch AirDrop, AirPlay and Handoff off (on a Mac until the next \
             start: sudo ifconfig awdl0 down), elsewhere Wi-Fi Direct, casting and the hotspot, and \
             look again. With the access point on channel 149, 44 or 6, AWDL need not leave it",
            self.filter()
        );
        self.finding(Kind::TimeSharing, sentence, self.share(), check)
    }

    fn coexistence(&self) -> Option<Finding> {
        let sentence = format!(
            "{}: in the 2.4 GHz band it likely shares its antenna with Bluetooth",
            self.rhythm()
        );
        let check = format!(
            "{} Switch Bluetooth of the station off and look again; the 5 GHz band has room for both",
            self.filter()
        );
        self.finding(Kind::Coexistence, sentence, self.share(), check)
    }

    fn periodic(&self) -> Option<Finding> {
        let likely = if self.schedule.asleep_ns <= VISIT_MAX_NS {
            "a scan of a channel or two at a time is likely"
        } else {
            "a scan of many channels without a return in between is likely"
        };
        let sentence = format!(
            "{}: a timer causes the absences, independent of the traffic. The capture does not show its \
             purpose; {likely}",
            self.rhythm()
        );
        let check = format!(
            "{} Find the program on the station with this rhythm: background scans (NetworkManager, iwd: \
             fix the BSSID; Windows: WLAN AutoConfig), location services, roaming. A capture of the \
             other channels with its Probe Requests at these times proves a scan",
            self.filter()
        );
        self.finding(Kind::Absence, sentence, self.share(), check)
    }
}

/// Longest stay of a station on one other channel, in ns.
const VISIT_MAX_NS: u64 = 600_000_000;

/// Formats a time in ns.
fn length(ns: u64) -> String {
    match ns {
        0..10_000_000_000 => super::ms_or_s(ns),
        _ => format!("{:.0} s", ns as f64 / 1e9),
    }
}

/// Formats a share, with one decimal if it is small.
fn fine_percent(share: f64) -> String {
    if share < 0.1 { format!("{:.1} %", 100.0 * share) } else { percent(share) }
}

fn power_save(away: &Away<'_>, totals: &Totals) -> Option<Finding> {
    let air = &away.view.air;
    let address = away.address();
    let share = totals.asleep_ns as f64 / air.time_of(away.id) as f64;
    if share < DOZING_MIN {
        return None;
    }
    let beacons = air.stations.get(away.id).bss.and_then(|bss| air.beacons.get(&bss));
    let interval = beacons.map_or(String::new(), |beacons| {
        format!(" of {:.0} ms", f64::from(beacons.interval_tu) * 1.024)
    });
    let listens = air.joining.listen_interval(air.stations.get(away.id).address);
    let listens = listens.map_or(String::new(), |listens| {
        format!("; it has announced a listen interval of {listens}")
    });
    let sentence = format!(
        "{address} saves power: it dozes {} times, {} of the time, for {} in the median and {} at \
         most; packets for it wait until it wakes up{listens}",
        totals.absences,
        percent(share),
        ms(away.schedule.asleep_ns),
        ms(totals.longest_ns)
    );
    let check = format!(
        "Ping {address} once a second: an answer is late by up to as many beacon intervals{interval} as \
         its listen interval and the beacons that it misses. Switch power save off (iw dev IFACE set \
         power_save off) and look again"
    );
    // Power save only delays the start of traffic.
    away.finding(Kind::PowerSave, sentence, 0.1 * share.clamp(0.0, 1.0), check)
}

fn oscillation(view: &InterfaceView<'_>, id: StationId, absences: &[Absence]) -> Option<Finding> {
    let air = &view.air;
    let mut short: Vec<&Absence> =
        absences.iter().filter(|absence| absence.asleep_ns() < OSCILLATION_NS).collect();
    // A clock may go backwards.
    short.sort_by_key(|absence| absence.from_ns);
    // Busiest second among those that begin with one of them.
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
        from_s: at(view, first.from_ns),
        to_s: at(view, last.to_ns),
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
    view: &InterfaceView<'_>,
    id: StationId,
    absences: &[Absence],
    totals: &Totals,
) -> Option<Finding> {
    let air = &view.air;
    let vain = totals.sent_in_vain;
    let mut hit = absences.iter().filter(|absence| absence.sent_in_vain > 0);
    let first = hit.next()?;
    let last = hit.next_back().unwrap_or(first);
    if vain < IN_VAIN_MIN {
        return None;
    }
    let to_it = |link: &&Link| link.to == id;
    let sent = |link: &Link| link.counts.mpdus + link.missed();
    let all: u64 = air.links.values().filter(to_it).map(sent).sum();
    let address = air.stations.get(id).address.to_string();
    Some(Finding {
        kind: Kind::SentInVain,
        sentence: format!(
            "The access point sends {vain} of {all} data frames to {address} while the station is \
             away, in {} of {} absences; the announcements of {} absences have no captured answer",
            totals.in_vain, totals.absences, totals.unanswered
        ),
        frames: [first.frames.0, last.frames.1],
        from_s: at(view, first.from_ns),
        to_s: at(view, last.to_ns),
        harm: (vain as f64 / all.max(1) as f64).min(1.0),
        check: "Look at data frames to the station between its Null frames with and without the \
                Power Management bit: retransmitted ones are lost, or make the access point \
                choose a lower rate"
            .to_owned(),
        station: Some(address),
    })
}

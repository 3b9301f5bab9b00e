//! Builds the document of several captures from the counts of [`Join`].

use super::*;
use crate::document::{CaptureDocument, errors};
use crate::finding::{Finding, Kind};
use crate::join::{
    Again, ClockState, Delays, DirectionView, Join, Parts, SegmentWay, Trigger, WayFate,
};
use crate::rounding::{millis, millis_signed, rounded, share};

impl JoinedSummary {
    /// Builds the results of several captures. `files` are in their order on the command line.
    pub fn new(files: &[JoinedFile<'_>], join: &Join, again: Again) -> Self {
        let names = names(files, join);
        let begin_ns = begin_ns(files, join);
        let at = |ns: i64| rounded((ns - begin_ns) as f64 / 1e9, 1e6);
        let mut flows = BTreeMap::new();
        let mut keys = BTreeMap::new();
        for (index, key, directions) in join.flows() {
            let ends = key.ends.map(|end| end.to_string());
            let mut from = BTreeMap::new();
            for (end, direction) in ends.iter().zip(directions) {
                let direction =
                    direction.and_then(|view| JoinedDirectionSummary::new(&view, &names));
                from.extend(direction.map(|direction| (end.clone(), direction)));
            }
            flows.insert(key.to_string(), JoinedFlowSummary { from });
            keys.insert(index, (key.to_string(), ends));
        }
        let slowest = join.slowest().iter().map(|way| {
            let (flow, ends) = keys.get(&way.flow).cloned().unwrap_or_default();
            SlowSegmentSummary::new(way, flow, ends[usize::from(way.back)].clone(), &at)
        });
        let places = join.places().iter().enumerate().map(|(index, place)| PlaceSummary {
            name: names[index].clone(),
            file: files[place.file].name.to_owned(),
            interface: place.interface,
            air: place.is_air,
            packets: place.packets,
            clock: ClockSummary::new(join, index, &names, &at),
        });
        Self {
            reference: join.reference().map_or(String::new(), |place| names[place].clone()),
            files: files.iter().skip(1).map(FileSummary::new).collect(),
            places: places.collect(),
            problems: problems(files, join, &names),
            flows,
            flows_alone: join.flows_alone() as u64,
            slowest: slowest.collect(),
            hurried: join.hurried(),
            interrupted: again == Again::Stopped,
            context: Vec::new(),
        }
    }

    /// Returns the findings about the parts of delays.
    pub(in crate::document) fn findings(&self, document: &CaptureDocument) -> Vec<Finding> {
        /// Minimum number of segments for a finding.
        const SEGMENTS_MIN: u64 = 200;
        /// Median wait above the least wait from which it is a finding, in ms.
        const WAITS_MS: f64 = 50.0;
        let mut found = Vec::new();
        for flow in self.flows.values() {
            for (from, direction) in &flow.from {
                let parts = &direction.parts;
                let Some(wait) = parts.wait.as_ref().filter(|wait| wait.count >= SEGMENTS_MIN)
                else {
                    continue;
                };
                let above = wait.p50_ms - wait.least_ms;
                let whole = parts.total.as_ref().map_or(wait.p50_ms, |total| total.p50_ms);
                if above < WAITS_MS || above < whole / 2.0 {
                    continue;
                }
                let mut others = Vec::new();
                for (part, what) in [(&parts.air, "on the air"), (&parts.behind, "behind it")] {
                    others
                        .extend(part.as_ref().map(|part| format!("{:.1} ms {what}", part.p50_ms)));
                }
                found.push(Finding {
                    kind: Kind::WaitsBeforeAir,
                    sentence: format!(
                        "TCP segments from {from} wait {:.0} ms in the median before their first \
                         attempt on the air, {:.0} ms at most and {:.1} ms at least; they take {}",
                        wait.p50_ms,
                        wait.max_ms,
                        wait.least_ms,
                        others.join(" and ")
                    ),
                    frames: [1, document.frames],
                    from_s: 0.0,
                    to_s: document.duration_s,
                    harm: (above / whole.max(above)).clamp(0.0, 1.0),
                    check:
                        "Shorten the queue of the transmitter or its driver with fq_codel, CAKE \
                            or a limit. The slowest segments are listed with frames of each capture"
                            .to_owned(),
                    station: None,
                });
            }
        }
        found
    }
}

/// Returns the names of the places.
fn names(files: &[JoinedFile<'_>], join: &Join) -> Vec<String> {
    let places = join.places();
    let name = |place: &crate::join::Place| {
        let several = places.iter().filter(|other| other.file == place.file).count() > 1;
        if several {
            format!("{}#{}", files[place.file].name, place.interface)
        } else {
            files[place.file].name.to_owned()
        }
    };
    places.iter().map(name).collect()
}

/// Returns the time of the first packet of the first file by the reference clock, in ns since 1970.
/// Times in the document count from it. If this time is unknown, the first packet of the reference
/// file is the origin.
pub fn begin_ns(files: &[JoinedFile<'_>], join: &Join) -> i64 {
    let begin = |place: usize| {
        let (first, _) = files[join.places()[place].file].analysis.times()?;
        join.to_reference(place, first)
    };
    let mut places = (0..join.places().len()).filter(|place| join.places()[*place].file == 0);
    places.find_map(begin).or_else(|| begin(join.reference()?)).unwrap_or_default()
}

fn problems(files: &[JoinedFile<'_>], join: &Join, names: &[String]) -> Vec<String> {
    let mut problems = Vec::new();
    for (index, file) in files.iter().enumerate() {
        if join.places().iter().any(|place| place.file == index) {
            continue;
        }
        let protected = file.analysis.file.counts.protected;
        let why = match protected {
            0 => String::new(),
            _ => format!(" ({protected} frames are encrypted)"),
        };
        problems.push(format!("{}: no packet of IP can be read in it{why}", file.name));
    }
    let reference = join.reference().map_or("", |place| &names[place]);
    for (index, name) in names.iter().enumerate() {
        let of_file = |place: usize| join.places()[place].file == join.places()[index].file;
        let state = join.clock(index);
        if let ClockState::Unknown { reason } = state {
            // Another interface of the file may do.
            let alone = (0..names.len()).all(|other| {
                !of_file(other) || matches!(join.clock(other), ClockState::Unknown { .. })
            });
            if alone {
                problems.push(format!("{name} cannot be aligned with {reference}: {reason}"));
            }
        } else if let ClockState::Aligned { same_as: Some(with), .. } = state {
            let with = &names[with];
            problems.push(format!(
                "{name} and {with} were captured at one place, or are one capture: the first is used"
            ));
        }
    }
    problems
}

impl FileSummary {
    fn new(file: &JoinedFile<'_>) -> Self {
        let analysis = file.analysis;
        Self {
            file: file.name.to_owned(),
            frames: analysis.packets,
            link_types: analysis.links.iter().map(|(link, n)| (link.to_string(), *n)).collect(),
            errors: errors(analysis),
            errors_left_out: analysis.file.errors_left_out,
            unused: UnusedSummary::new(analysis),
        }
    }
}

impl ClockSummary {
    fn new(join: &Join, place: usize, names: &[String], at: &dyn Fn(i64) -> f64) -> Option<Self> {
        let ClockState::Aligned { with, line, packets, bound_ns, same_as, translated } =
            join.clock(place)
        else {
            return None;
        };
        let common = [line.common_ns.0, line.common_ns.1].map(|ns| {
            let ns = u64::try_from(ns).unwrap_or_default();
            join.to_reference(with, ns).map_or(0.0, at)
        });
        Some(Self {
            against: names[with].clone(),
            packets: packets.map(|packets| packets as u64),
            offset_s: rounded(line.offset_ns as f64 / 1e9, 1e6),
            drift_ppm: rounded(line.drift * 1e6, 1e3),
            drift_uncertainty_ppm: rounded(line.drift_error * 1e6, 1e3),
            bound_ms: bound_ns.map(millis),
            spread_ms: millis(line.spread_ns),
            stamped_late_ms: millis(line.late_ns),
            common_s: common,
            same_as: same_as.map(|place| names[place].clone()),
            translated_flows: translated as u64,
        })
    }
}

impl JoinedDirectionSummary {
    fn new(view: &DirectionView<'_>, names: &[String]) -> Option<Self> {
        let tally = view.tally;
        let acknowledgements = PartsSummary::new(&tally.acknowledgements, false);
        if tally.segments == 0 && acknowledgements == PartsSummary::default() {
            return None;
        }
        let [sender, gateway, air, _] = view.places;
        let last = tally.attempts.iter().rposition(|count| *count > 0).map_or(0, |last| last + 1);
        // From an access point, and with no place at it.
        let holds_wire = sender.is_some()
            && gateway.is_none()
            && air.is_some()
            && 2 * tally.to_access_point < tally.heard;
        Some(Self {
            path: view.places.iter().flatten().map(|place| names[*place].clone()).collect(),
            segments: tally.segments,
            payload_bytes: tally.payload_bytes,
            heard: tally.heard,
            unheard: if air.is_some() { tally.unheard } else { 0 },
            without_departure: if sender.is_some() { tally.without_departure } else { 0 },
            captured_twice: tally.captured_twice,
            left_out: tally.left_out,
            attempts: tally.attempts[..last].to_vec(),
            parts: PartsSummary::new(&tally.parts, holds_wire),
            acknowledgements,
            round_trip: DelaySummary::new(&tally.round_trip),
            fates: FatesSummary::new(&tally.fates),
            retransmissions: RetransmissionSummary {
                copy_before: {
                    let known = FatesSummary::new(&tally.sent_again);
                    FatesSummary { unknown: known.unknown + tally.sent_again_unknown, ..known }
                },
                after_acknowledgement: tally.triggers[Trigger::Acknowledgement as usize],
                after_timer: tally.triggers[Trigger::Timer as usize],
                after: DelaySummary::new(&tally.sent_again_after),
            },
        })
    }
}

impl PartsSummary {
    fn new(parts: &Parts, wait_holds_wire: bool) -> Self {
        let wait = DelaySummary::new(&parts.wait);
        Self {
            wire_before: DelaySummary::new(&parts.wire_before),
            wait_holds_wire: wait_holds_wire && wait.is_some(),
            wait,
            air: DelaySummary::new(&parts.air),
            behind: DelaySummary::new(&parts.behind),
            total: DelaySummary::new(&parts.total),
        }
    }
}

impl DelaySummary {
    fn new(delays: &Delays) -> Option<Self> {
        let [least_ms, p50_ms, p95_ms, max_ms] = delays.summary_ns()?.map(millis_signed);
        let (count, below_zero) = (delays.count(), delays.below_zero);
        Some(Self { count, least_ms, p50_ms, p95_ms, max_ms, below_zero })
    }
}

impl FatesSummary {
    fn new(counts: &[u64]) -> Self {
        let of = |fate: WayFate| counts.get(fate as usize).copied().unwrap_or_default();
        Self {
            arrived: of(WayFate::Arrived),
            lost_before: of(WayFate::LostBefore),
            lost_on_air: of(WayFate::LostOnAir),
            lost_behind: of(WayFate::LostBehind),
            lost_between: of(WayFate::LostBetween),
            across_air: of(WayFate::AcrossAir),
            unknown: of(WayFate::Unknown),
        }
    }

    /// Sums the copies of all fates.
    pub const fn total(&self) -> u64 {
        self.arrived
            + self.lost_before
            + self.lost_on_air
            + self.lost_behind
            + self.lost_between
            + self.across_air
            + self.unknown
    }

    /// Share of lost copies, 0 to 1.
    pub fn lost_share(&self) -> f64 {
        let lost = self.lost_before + self.lost_on_air + self.lost_behind + self.lost_between;
        share(lost, self.total())
    }
}

impl SlowSegmentSummary {
    fn new(way: &SegmentWay, flow: String, from: String, at: &dyn Fn(i64) -> f64) -> Self {
        let left = way.left_ns.or(way.air_begin_ns);
        let sent_again = way.sent_again_ns.zip(left).map(|(again, left)| again - left);
        Self {
            flow,
            from,
            sequence: way.sequence,
            payload_bytes: way.payload_bytes,
            at_s: way.first_seen_ns().map_or(0.0, at),
            seen_ms: millis_signed(way.seen_ns()),
            left_frame: way.left_frame,
            air_frames: way.air_frames,
            arrived_frame: way.arrived_frame,
            attempts: way.attempts,
            wait_ms: way.wait_ns().map(millis_signed),
            air_ms: way.air_ns().map(millis_signed),
            behind_ms: way.behind_ns().map(millis_signed),
            sent_again_after_ms: sent_again.map(millis_signed),
            sent_again_by: way.trigger.map(|trigger| trigger.name().to_owned()),
            fate: way.fate.name().to_owned(),
        }
    }
}

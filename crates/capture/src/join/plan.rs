//! Plan of all places: one clock for all, flows that are the same at several places, and the order
//! of the places on the path of each flow.
//!
//! The clocks form a tree. From the reference place (the first that captures the air, or else the
//! first) each other place is reached over the alignments with the narrowest bounds in total.

use super::align::{AlignError, Alignment};
use super::sample::Samples;
use crate::transport::FlowKey;
use std::collections::BTreeMap;

/// Minimum number of packets that show that two flows with different addresses are one.
const VOTES_MIN: u32 = 3;
/// Minimum ratio of this number to that of any other flow.
const VOTES_TIMES: u32 = 10;
/// Bound of a clock with one known direction, for the choice between alignments.
const ONE_SIDED_NS: u64 = 1 << 50;

/// Largest time in ns from 1970; times beyond it are clamped, so that differences do not overflow.
const TIME_NS_MAX: i64 = 1 << 61;

/// Results of the samples of all places.
#[derive(Debug)]
pub(super) struct Plan {
    /// Index of the reference place.
    pub reference: usize,
    /// Conversion of each place's clock to the reference clock, or the reason why there is none.
    pub clocks: Vec<Result<Clock, AlignError>>,
    /// Earlier place that is the same, for each place.
    pub same_as: Vec<Option<usize>>,
    pub flows: Vec<PlannedFlow>,
    /// Flow of each place and key, and whether its ends are swapped.
    pub index: Vec<Index>,
}

/// Flows of a place by their key there, and whether their ends are swapped.
pub(super) type Index = BTreeMap<FlowKey, (usize, bool)>;

/// Relation of a clock to the reference clock.
#[derive(Clone, Debug)]
pub(super) struct Clock {
    own_ns: i64,
    reference_ns: i64,
    rate: f64,
    /// Largest error of times relative to the reference; `None` if only one direction is known.
    pub bound_ns: Option<u64>,
    pub spread_ns: u64,
    /// Lateness of stamps as far as it is known, in ns.
    pub late_ns: u64,
    /// Place that it was compared with, and the result; `None` at the reference place.
    pub by: Option<(usize, Box<Alignment>)>,
}

/// A flow at one place or several.
#[derive(Clone, Debug)]
pub(super) struct PlannedFlow {
    /// Key at the place where it was found first.
    pub key: FlowKey,
    /// Key at each place, and whether its ends are swapped.
    pub at: BTreeMap<usize, (FlowKey, bool)>,
    /// Path of packets from its first end.
    pub path: Path,
}

/// Places on the path of packets of one direction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Path {
    /// Wired places before the air, in the order in which packets pass them.
    pub before: Vec<usize>,
    pub air: Option<usize>,
    /// Wired places behind the air.
    pub behind: Vec<usize>,
}

impl Path {
    pub fn reversed(&self) -> Self {
        let reversed = |places: &[usize]| places.iter().rev().copied().collect();
        Self { before: reversed(&self.behind), air: self.air, behind: reversed(&self.before) }
    }

    pub fn places(&self) -> impl Iterator<Item = usize> {
        self.before.iter().copied().chain(self.air).chain(self.behind.iter().copied())
    }
}

impl Clock {
    const fn reference() -> Self {
        Self {
            own_ns: 0,
            reference_ns: 0,
            rate: 1.0,
            bound_ns: Some(0),
            spread_ns: 0,
            late_ns: 0,
            by: None,
        }
    }

    /// Converts a time of this clock to the reference clock.
    pub fn to_reference(&self, own_ns: u64) -> i64 {
        let since = i64::try_from(own_ns).unwrap_or(i64::MAX).saturating_sub(self.own_ns);
        let drift = (since as f64 * (self.rate - 1.0)).round() as i64;
        let at = self.reference_ns.saturating_add(since).saturating_add(drift);
        at.clamp(-TIME_NS_MAX, TIME_NS_MAX)
    }

    fn behind(&self, place: usize, alignment: Alignment) -> Self {
        let line = alignment.line;
        let own_ns = line.base_ns.saturating_add(line.offset_ns);
        let base_ns = u64::try_from(line.base_ns).unwrap_or_default();
        Self {
            own_ns,
            reference_ns: self.to_reference(base_ns),
            rate: self.rate / (1.0 + line.drift),
            bound_ns: self.bound_ns.zip(line.bound_ns).map(|(a, b)| a.saturating_add(b)),
            spread_ns: self.spread_ns.saturating_add(line.spread_ns),
            late_ns: self.late_ns.saturating_add(line.late_ns),
            by: Some((place, Box::new(alignment))),
        }
    }

    fn cost(&self) -> u64 {
        self.bound_ns.unwrap_or(ONE_SIDED_NS)
    }
}

impl Plan {
    /// Creates the plan. `files` is the file of each place.
    pub fn new(places: &[Samples], files: &[usize]) -> Self {
        let count = places.len();
        let mut alignments = BTreeMap::new();
        for p in 0..count {
            for q in (0..count).filter(|q| *q != p) {
                alignments
                    .insert((p, q), Alignment::new(&places[p], &places[q], files[p] == files[q]));
            }
        }
        let aligned = |p: usize| {
            (0..count).filter(|q| alignments.get(&(p, *q)).is_some_and(Result::is_ok)).count()
        };
        let is_air = |place: usize| places[place].packets_air > 0;
        let reference = (0..count)
            .max_by_key(|p| (aligned(*p) > 0, is_air(*p), std::cmp::Reverse(*p)))
            .unwrap_or_default();
        let (clocks, order) = clocks(reference, count, &alignments);
        let (mut flows, index) = flows(places, &order, &alignments);
        for flow in &mut flows {
            flow.path = path(flow, places, &alignments);
        }
        let same = |p: usize, q: usize| matches!(alignments.get(&(p, q)), Some(Ok(alignment)) if alignment.same_place);
        let same_as = (0..count).map(|q| (0..q).find(|p| same(*p, q))).collect();
        Self { reference, clocks, same_as, flows, index }
    }
}

type Alignments = BTreeMap<(usize, usize), Result<Alignment, AlignError>>;

/// Returns the clock of each place, and the places in the order in which they were reached.
fn clocks(
    reference: usize,
    count: usize,
    alignments: &Alignments,
) -> (Vec<Result<Clock, AlignError>>, Vec<usize>) {
    let mut clocks: Vec<Option<Clock>> = vec![None; count];
    let Some(first) = clocks.get_mut(reference) else { return (Vec::new(), Vec::new()) };
    *first = Some(Clock::reference());
    let mut order = vec![reference];
    loop {
        let reachable = alignments.iter().filter_map(|((p, q), alignment)| {
            let (from, alignment) = (clocks[*p].as_ref()?, alignment.as_ref().ok()?);
            let clock = clocks[*q].is_none().then(|| from.behind(*p, alignment.clone()))?;
            Some((*q, clock))
        });
        let Some((place, clock)) = reachable.min_by_key(|(_, clock)| clock.cost()) else { break };
        clocks[place] = Some(clock);
        order.push(place);
    }
    let clocks = clocks.into_iter().enumerate().map(|(place, clock)| {
        clock.ok_or_else(|| match alignments.get(&(reference, place)) {
            Some(Err(why)) => *why,
            _ => AlignError::NothingInCommon,
        })
    });
    (clocks.collect(), order)
}

/// Returns the flows that are the same at several places.
fn flows(
    places: &[Samples],
    order: &[usize],
    alignments: &Alignments,
) -> (Vec<PlannedFlow>, Vec<Index>) {
    let mut flows: Vec<PlannedFlow> = Vec::new();
    let mut index = vec![Index::new(); places.len()];
    let mut by_key: BTreeMap<FlowKey, usize> = BTreeMap::new();
    for (position, &place) in order.iter().enumerate() {
        for (number, key) in places[place].flows.iter().enumerate() {
            let translated = || {
                order[..position].iter().find_map(|before| {
                    let alignment = alignments.get(&(*before, place))?.as_ref().ok()?;
                    let (there, swapped) = translation(alignment, number as u32)?;
                    let key = &places[*before].flows[there as usize];
                    let (flow, back): &(usize, bool) = index[*before].get(key)?;
                    Some((*flow, *back != swapped))
                })
            };
            let known = by_key.get(key).map(|flow| (*flow, false));
            let (flow, back) = known.or_else(translated).unwrap_or_else(|| {
                flows.push(PlannedFlow { key: *key, at: BTreeMap::new(), path: Path::default() });
                (flows.len() - 1, false)
            });
            if known.is_none() && !back {
                by_key.entry(*key).or_insert(flow);
            }
            flows[flow].at.entry(place).or_insert((*key, back));
            index[place].insert(*key, (flow, back));
        }
    }
    (flows, index)
}

/// Returns the flow at the first place that is a flow at the second one under another address.
fn translation(alignment: &Alignment, there: u32) -> Option<(u32, bool)> {
    let candidates = alignment.votes.iter().filter(|((_, flow), _)| *flow == there);
    let mut ranked: Vec<_> = candidates
        .flat_map(|((flow, _), [same, swapped])| [(*same, *flow, false), (*swapped, *flow, true)])
        .collect();
    ranked.sort_unstable_by_key(|candidate| std::cmp::Reverse(*candidate));
    let (votes, flow, swapped) = *ranked.first()?;
    let next = ranked.get(1).map_or(0, |(votes, ..)| *votes);
    (votes >= VOTES_MIN && votes >= VOTES_TIMES * next).then_some((flow, swapped))
}

/// Returns the places on the path of packets from the first end of a flow.
fn path(flow: &PlannedFlow, places: &[Samples], alignments: &Alignments) -> Path {
    let is_air = |place: &usize| places[*place].packets_air > 0;
    // Of several monitors, the one that captured most is used.
    let air = flow.at.keys().copied().filter(is_air);
    let air = air.max_by_key(|place| (places[*place].packets_air, std::cmp::Reverse(*place)));
    let Some(pivot) = air.or_else(|| flow.at.keys().next().copied()) else {
        return Path::default();
    };
    let (key, back) = flow.at[&pivot];
    let [mut before, mut behind]: [Vec<(u64, usize)>; 2] = Default::default();
    for &place in flow.at.keys().filter(|place| **place != pivot && !is_air(place)) {
        let Some(Ok(alignment)) = alignments.get(&(pivot, place)) else { continue };
        let Some(goes_there) = alignment.goes_there(&key) else { continue };
        // Of several captures at one place, the first is enough.
        let is_there = |known: &(u64, usize)| matches!(alignments.get(&(known.1, place)), Some(Ok(it)) if it.same_place);
        if before.iter().chain(&behind).any(is_there) {
            continue;
        }
        let side = if goes_there != back { &mut behind } else { &mut before };
        side.push((alignment.distance_ns, place));
    }
    // Places before the air from the farthest on, places behind it up to the farthest.
    before.sort_unstable_by_key(|place| std::cmp::Reverse(*place));
    behind.sort_unstable();
    let places = |side: Vec<(u64, usize)>| side.into_iter().map(|(_, place)| place);
    if air.is_none() {
        let before = places(before).chain([pivot]).collect();
        return Path { before, air, behind: places(behind).collect() };
    }
    Path { before: places(before).collect(), air, behind: places(behind).collect() }
}

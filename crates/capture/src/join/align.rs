//! Alignment of two places: the direction of packets between them, and the difference of their
//! clocks ([`Line`]).
//!
//! The direction follows from flows with packets both ways: when two packets with opposite
//! directions follow each other closely, the one with the greater difference of clocks travels to
//! the other place. Flows with one direction take it from an end that another flow has placed, or
//! from the time to live, which a router between the two places has lowered. Without evidence the
//! direction is unknown.

use super::line::{Differences, Line, LineError, PACKETS_MIN};
use super::sample::{SamplePair, Samples};
use crate::transport::FlowKey;
use std::collections::BTreeMap;
use std::net::IpAddr;

/// Excess of comparisons for a direction over those against it that decides, as a share of all.
const AGREE_MIN: f64 = 0.8;
/// Excess that also decides, in standard deviations of chance: late stamps make some comparisons
/// contradict.
const CHANCE: f64 = 5.0;
/// Share of packets with the same identification at both places above which identifications are
/// used.
const IDS_MIN: f64 = 0.95;

/// Number of departures with exact times above which inexact ones are not used.
const EXACT_MIN: usize = 32;

/// Two places that captured the same packets.
#[derive(Clone, Debug)]
pub(super) struct Alignment {
    pub line: Line,
    /// Packets from P to Q, and from Q to P.
    pub packets: [usize; 2],
    /// Whether both are one place: no packet travels between them.
    pub same_place: bool,
    /// Whether identifications of IPv4 are the same at both.
    pub ids_agree: bool,
    /// Half of the median round trip between the two, in ns.
    pub distance_ns: u64,
    /// Packets in common by flow of P and flow of Q: with the same first end, and with the other.
    pub votes: BTreeMap<(u32, u32), [u32; 2]>,
    /// Whether packets from the first end of a flow at P go from P to Q.
    flows: BTreeMap<FlowKey, bool>,
    /// Evidence for addresses at P: behind Q (positive), or before P.
    sides: BTreeMap<IpAddr, i64>,
}

/// Reason why two places could not be aligned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum AlignError {
    #[error("no packet of IP in common")]
    NothingInCommon,
    #[error(
        "{0} packets in common go in one direction, and nothing shows which of the two captures is \
         nearer to their sender"
    )]
    NoDirection(usize),
    #[error("{0}")]
    Line(#[from] LineError),
}

impl Alignment {
    /// Aligns two places. `same_clock`: they are interfaces of one file.
    pub fn new(p: &Samples, q: &Samples, same_clock: bool) -> Result<Self, AlignError> {
        let mut pairs = p.pairs(q);
        // A packet with another address is the same packet only if most packets keep their
        // addresses.
        let same = pairs.iter().filter(|pair| pair.same_flow).count();
        if same * 2 >= pairs.len() {
            pairs.retain(|pair| pair.same_flow);
        }
        match pairs.len() {
            0 => return Err(AlignError::NothingInCommon),
            few if few < PACKETS_MIN => return Err(LineError::TooFew(few).into()),
            _ => {}
        }
        pairs.sort_by_key(|pair| (pair.samples[0].end_ns, pair.samples[1].end_ns));
        let mut votes = BTreeMap::new();
        for pair in &pairs {
            let swapped = pair.samples[0].back != pair.samples[1].back;
            let votes: &mut [u32; 2] = votes.entry((pair.flows[0], pair.flows[1])).or_default();
            votes[usize::from(swapped)] += 1;
        }
        let directions = Directions::from_pairs(p, &pairs);
        let mut differences: Differences = Default::default();
        let going: Vec<_> = pairs.iter().map(|pair| (pair, directions.of_pair(p, pair))).collect();
        let leaves = |pair: &SamplePair, there: bool| pair.samples[usize::from(!there)].exact;
        // If enough departures of a direction are exact, inexact ones are not used.
        let exact = [true, false].map(|there| {
            let count =
                going.iter().filter(|(pair, goes)| *goes == Some(there) && leaves(pair, there));
            count.count() >= EXACT_MIN
        });
        for (pair, goes) in &going {
            let [a, b] = pair.samples;
            if goes.is_some_and(|goes| exact[usize::from(!goes)] && !leaves(pair, goes)) {
                continue;
            }
            match *goes {
                // A packet departs when it has been sent completely, and arrives when it begins.
                Some(true) => differences[0].push((a.sent_ns(), b.came_ns() - a.sent_ns())),
                Some(false) => differences[1].push((a.came_ns(), b.sent_ns() - a.came_ns())),
                None => {}
            }
        }
        let ends = |pair: &SamplePair| {
            let [a, b] = pair.samples.map(|sample| sample.end_ns as i64);
            (a, b - a)
        };
        let (first_ns, last_ns) = (ends(&pairs[0]).0, ends(&pairs[pairs.len() - 1]).0);
        let packets = [true, false]
            .map(|there| going.iter().filter(|(_, goes)| *goes == Some(there)).count());
        let line = if same_clock {
            Line::same(first_ns, last_ns)
        } else if directions.same_place {
            Line::through(&pairs.iter().map(ends).collect::<Vec<_>>())?
        } else if packets == [0, 0] {
            return Err(AlignError::NoDirection(pairs.len()));
        } else {
            Line::fit(&differences)?
        };
        let identified = pairs.iter().filter(|pair| pair.samples.iter().all(|s| s.id != 0));
        let (equal, all) = identified.fold((0, 0), |(equal, all), pair| {
            (equal + usize::from(pair.samples[0].id == pair.samples[1].id), all + 1)
        });
        let mut distances: Vec<u64> = (differences.iter().flatten())
            .map(|(at, later)| later.abs_diff(line.at(*at)))
            .collect();
        distances.sort_unstable();
        Ok(Self {
            packets,
            same_place: directions.same_place,
            ids_agree: all >= PACKETS_MIN && equal as f64 >= IDS_MIN * all as f64,
            distance_ns: distances.get(distances.len() / 2).copied().unwrap_or_default(),
            votes,
            flows: directions
                .flows
                .iter()
                .map(|(flow, it)| (p.flows[*flow as usize], *it))
                .collect(),
            sides: directions.sides,
            line,
        })
    }

    /// Whether packets from the first end of a flow at P go from P to Q; `None` if unknown.
    pub fn goes_there(&self, flow: &FlowKey) -> Option<bool> {
        if self.same_place {
            return None;
        }
        let by_ends = || {
            let [from, to] = flow.ends.map(|end| self.sides.get(&end.ip()).copied());
            side(to.unwrap_or_default() - from.unwrap_or_default())
        };
        self.flows.get(flow).copied().or_else(by_ends)
    }
}

/// Directions of packets between two places.
struct Directions {
    flows: BTreeMap<u32, bool>,
    sides: BTreeMap<IpAddr, i64>,
    same_place: bool,
}

impl Directions {
    /// Derives directions from `pairs` in the order of time at P.
    fn from_pairs(p: &Samples, pairs: &[SamplePair]) -> Self {
        // State of each flow: difference of its latest packet in each direction, and comparisons
        // for the first direction, against it, and neither.
        let mut latest: BTreeMap<u32, [Option<i64>; 2]> = BTreeMap::new();
        let mut votes: BTreeMap<u32, [i64; 3]> = BTreeMap::new();
        for pair in pairs {
            let later = pair.samples[1].end_ns as i64 - pair.samples[0].end_ns as i64;
            let [flow, _] = pair.flows;
            let back = usize::from(pair.samples[0].back);
            let latest = latest.entry(flow).or_default();
            latest[back] = Some(later);
            if let [Some(first), Some(second)] = *latest {
                let votes = votes.entry(flow).or_default();
                match first.cmp(&second) {
                    std::cmp::Ordering::Greater => votes[0] += 1,
                    std::cmp::Ordering::Less => votes[1] += 1,
                    std::cmp::Ordering::Equal => votes[2] += 1,
                }
                // Each packet is compared once with the previous one in the other direction.
                latest[1 - back] = None;
            }
        }
        let (mut flows, mut sides) = (BTreeMap::new(), BTreeMap::new());
        let (mut split, mut clear) = (0, 0);
        for (flow, [there, here, ties]) in votes {
            let all = (there + here + ties) as f64;
            let clearly =
                (there - here).abs() as f64 >= f64::min(AGREE_MIN * all, CHANCE * all.sqrt());
            if !clearly {
                split += there + here + ties;
                continue;
            }
            let goes = there > here;
            clear += there + here;
            flows.insert(flow, goes);
            let weight = if goes { there } else { -here };
            let [first, second] = p.flows[flow as usize].ends.map(|end| end.ip());
            *sides.entry(first).or_default() -= weight;
            *sides.entry(second).or_default() += weight;
        }
        let same_place = split > clear && split >= PACKETS_MIN as i64;
        if same_place {
            flows.clear();
            sides.clear();
        }
        Self { flows, sides, same_place }
    }

    /// Whether a packet goes from P to Q.
    fn of_pair(&self, p: &Samples, pair: &SamplePair) -> Option<bool> {
        if self.same_place {
            return None;
        }
        let [here, there] = pair.samples;
        if let Some(goes) = self.flows.get(&pair.flows[0]) {
            return Some(*goes != here.back);
        }
        let [first, second] =
            p.flows[pair.flows[0] as usize].ends.map(|end| self.sides.get(&end.ip()));
        let [first, second] = [first, second].map(|side| side.copied().unwrap_or_default());
        let goes = side(if here.back { first - second } else { second - first });
        goes.or_else(|| side(i64::from(here.hops_left) - i64::from(there.hops_left)))
    }
}

fn side(sum: i64) -> Option<bool> {
    (sum != 0).then_some(sum > 0)
}

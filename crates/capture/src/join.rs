//! Analysis of several simultaneous captures: of a monitor, the station, the server. Together they
//! show the way of each TCP segment, which no capture shows alone: its departure, its wait, its
//! attempts on the air, its arrival, and the sender's reaction.
//!
//! 1. Each file is read once: a [`Survey`] keeps a sample of its packets (`sample`).
//! 2. The samples show which packets are the same, the difference of the clocks (`line`, `align`),
//!    and the order of the places on the path of each flow (`plan`).
//! 3. All files are read again together in the order of one clock ([`Join`], [`read`](fn@read)),
//!    and each direction of a flow (`direction`, `ledger`) produces its [`SegmentWay`]s.
//!
//! Memory is bounded: samples of 131 072 packets for each place, and packets of the last 20 s of
//! all flows, at most 393 216. A place is an interface of a file. Times are in ns since 1970 by the
//! clock of one of the places.

mod acks;
mod align;
mod direction;
mod ledger;
mod line;
mod plan;
mod read;
mod sample;
mod tally;
mod way;

pub use crate::sighting::{AirCarrier, Event, Header, Sighting, Tcp};
pub use line::{Line, LineError};
pub use read::{Again, Source, read};
pub use tally::{ATTEMPTS, Delays, FATES, Parts, SLOWEST_MAX, Tally};
pub use way::{SegmentWay, Trigger, WayFate};

use crate::analysis::Analysis;
use crate::limits::REPEATS_NS;
use crate::transport::FlowKey;
use acks::Acks;
use direction::role::{AIR, GATEWAY, RECEIVER, SENDER};
use direction::{HORIZON_NS, JoinDirection, SeenSegment};
use ledger::{AirPart, RecordKey};
use plan::{Path, Plan};
use sample::Samples;
use std::collections::{BTreeMap, VecDeque};

/// Sample of a file from its first reading.
#[derive(Debug, Default)]
pub struct Survey {
    interfaces: BTreeMap<u32, Samples>,
}

/// Largest number of interfaces of a file that are places.
const INTERFACES_MAX: usize = 8;

impl Survey {
    /// Handles the new events of an analysis that is [watched](Analysis::watch).
    pub fn take(&mut self, analysis: &mut Analysis) {
        while let Some(event) = analysis.poll_event() {
            let Event::Seen(sighting) = event else { continue };
            let is_new = !self.interfaces.contains_key(&sighting.interface);
            if is_new && self.interfaces.len() >= INTERFACES_MAX {
                continue;
            }
            self.interfaces.entry(sighting.interface).or_default().handle(&sighting);
        }
    }
}

/// An interface of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Index of the file.
    pub file: usize,
    /// Number of the interface in the file.
    pub interface: u32,
    /// Number of packets of IP; on the air, each attempt counts.
    pub packets: u64,
    /// Whether it captures the air.
    pub is_air: bool,
}

/// State of the clock of a place.
#[derive(Clone, Debug, PartialEq)]
pub enum ClockState {
    /// This clock is the reference of all times.
    Reference,
    /// The clock was compared with that of another place.
    Aligned {
        /// Index of the other place.
        with: usize,
        /// Relation of this clock to the other one.
        line: Line,
        /// Packets in common: from the other place to this one, and back.
        packets: [usize; 2],
        /// Largest error of its times relative to the reference clock in ns, including the places
        /// between them; `None` if only one direction is known.
        bound_ns: Option<u64>,
        /// An earlier place at the same point of the path: both captured the same packets at the
        /// same time.
        same_as: Option<usize>,
        /// Number of flows with other addresses or ports at this place.
        translated: usize,
    },
    /// The clock could not be compared with one that leads to the reference.
    Unknown {
        /// Reason in words.
        reason: String,
    },
}

/// Several captures that are analysed together.
#[derive(Debug)]
pub struct Join {
    places: Vec<Place>,
    plan: Plan,
    roles: Vec<[Option<Roles>; 2]>,
    directions: Vec<[JoinDirection; 2]>,
    acks: Vec<[Acks; 2]>,
    chains: BTreeMap<ChainKey, Chain>,
    ready: VecDeque<SegmentWay>,
    slowest: tally::Slowest,
    now_ns: i64,
    events: u64,
    /// Number of times that events were matched early because of the limit on kept packets.
    hurried: u64,
}

/// Roles of places for one direction of a flow.
#[derive(Clone, Debug)]
pub(crate) struct Roles {
    flow: usize,
    back: bool,
    places: [Option<usize>; 4],
    /// Capture times of each of them, from the first to the last packet, in ns.
    times: [Option<(i64, i64)>; 4],
    /// Time by which a packet may seem to arrive before its departure, in ns.
    slack_ns: i64,
    ids_agree: bool,
}

impl Roles {
    /// Returns the first place on the path.
    const fn first(&self) -> usize {
        if self.places[SENDER].is_some() { SENDER } else { AIR }
    }
}

/// Key of an MPDU: place, sender, receiver, TID and sequence number.
type ChainKey = (usize, u32, u32, u8, u16);

/// A direction of a flow at a place.
#[derive(Clone, Copy, Debug)]
struct At {
    place: usize,
    flow: usize,
    /// Whether the direction is the flow's second one.
    back: bool,
    role: usize,
}

/// An MPDU that may be sent again.
#[derive(Debug)]
struct Chain {
    frame: u64,
    at_ns: i64,
    records: Vec<(usize, bool, RecordKey)>,
}

/// Longest time from an attempt to its acknowledgement, which may require a request, in ns. Later,
/// another MPDU that was not captured may have its number.
const ANSWERED_NS: i64 = 500_000_000;
/// Largest number of packets kept, over all flows.
const RECORDS_MAX: usize = 3 << 17;
/// Number of events after which all flows are checked.
const SWEEP_EVENTS: u64 = 1 << 16;
/// Inaccuracy of the times of hosts, in ns.
const SLACK_NS: i64 = 200_000;
/// Largest inaccuracy from the comparison of clocks that is used, in ns.
const NOISE_NS_MAX: i64 = 100_000_000;

impl Join {
    /// Compares the clocks and the flows of the files.
    pub fn new(surveys: Vec<Survey>) -> Self {
        let (mut places, mut samples, mut files) = (Vec::new(), Vec::new(), Vec::new());
        for (file, survey) in surveys.into_iter().enumerate() {
            for (interface, sample) in survey.interfaces {
                let (packets, is_air) = (sample.packets, sample.packets_air > 0);
                places.push(Place { file, interface, packets, is_air });
                samples.push(sample);
                files.push(file);
            }
        }
        let plan = Plan::new(&samples, &files);
        let times: Vec<Option<(i64, i64)>> = samples
            .iter()
            .zip(&plan.clocks)
            .map(|(sample, clock)| {
                let (clock, (first, last)) = (clock.as_ref().ok()?, sample.times?);
                Some((clock.to_reference(first), clock.to_reference(last)))
            })
            .collect();
        let roles: Vec<_> = (plan.flows.iter().enumerate())
            .map(|(index, flow)| {
                let path = if flow.key.protocol == lasthop_packet::ip::protocol::TCP {
                    flow.path.clone()
                } else {
                    Path::default()
                };
                let paths = [path.clone(), path.reversed()];
                let [there, back] = paths.map(|path| roles_on(&path, &plan, &times, index));
                [there, back.map(|roles| Roles { back: true, ..roles })]
            })
            .collect();
        let directions = roles.iter().map(|_| Default::default()).collect();
        let acks = roles.iter().map(|_| Default::default()).collect();
        Self {
            places,
            plan,
            roles,
            directions,
            acks,
            chains: BTreeMap::new(),
            ready: VecDeque::new(),
            slowest: tally::Slowest::default(),
            now_ns: i64::MIN,
            events: 0,
            hurried: 0,
        }
    }

    /// Returns the places, in the order of files.
    pub fn places(&self) -> &[Place] {
        &self.places
    }

    /// Returns the place whose clock is the reference; `None` if no packet of IP was captured.
    pub fn reference(&self) -> Option<usize> {
        (!self.places.is_empty()).then_some(self.plan.reference)
    }

    /// Returns the state of the clock of a place.
    pub fn clock(&self, place: usize) -> ClockState {
        match &self.plan.clocks[place] {
            Err(why) => ClockState::Unknown { reason: why.to_string() },
            Ok(clock) => match &clock.by {
                None => ClockState::Reference,
                Some((with, alignment)) => {
                    let other = |flow: &&plan::PlannedFlow| {
                        let keys = [*with, place].map(|at| flow.at.get(&at).map(|(key, _)| key));
                        keys.iter().all(Option::is_some) && keys[0] != keys[1]
                    };
                    ClockState::Aligned {
                        with: *with,
                        line: alignment.line,
                        packets: alignment.packets,
                        bound_ns: clock.bound_ns,
                        same_as: self.plan.same_as[place],
                        translated: self.plan.flows.iter().filter(other).count(),
                    }
                }
            },
        }
    }

    /// Converts a time at a place to the reference clock, in ns since 1970; `None` if the relation
    /// is unknown.
    pub fn to_reference(&self, place: usize, at_ns: u64) -> Option<i64> {
        self.plan.clocks[place].as_ref().ok().map(|clock| clock.to_reference(at_ns))
    }

    /// Returns the TCP flows that several places captured: index, key, and for both directions the
    /// counts with the places on the path: sender, last before the air, air, receiver.
    pub fn flows(&self) -> impl Iterator<Item = (usize, FlowKey, [Option<DirectionView<'_>>; 2])> {
        let flows = self.plan.flows.iter().zip(&self.roles).zip(&self.directions).enumerate();
        flows.filter_map(|(index, ((flow, roles), directions))| {
            let [there, back] = roles.each_ref().map(Option::as_ref);
            let [first, second] = directions;
            let views = [(there, first), (back, second)].map(|(roles, direction)| {
                let places = roles?.places;
                Some(DirectionView { places, tally: &direction.tally })
            });
            views.iter().any(Option::is_some).then_some((index, flow.key, views))
        })
    }

    /// Returns the number of TCP flows that only one place captured, or whose path is unknown.
    pub fn flows_alone(&self) -> usize {
        let tcp = self.plan.flows.iter().zip(&self.roles).filter(|(flow, roles)| {
            flow.key.protocol == lasthop_packet::ip::protocol::TCP
                && roles.iter().all(Option::is_none)
        });
        tcp.count()
    }

    /// Returns the slowest segments, the slowest first.
    pub fn slowest(&self) -> &[SegmentWay] {
        self.slowest.list()
    }

    /// Returns how often events were matched before 20 s had passed because there were too many.
    /// Later packets are missing in these results.
    pub const fn hurried(&self) -> u64 {
        self.hurried
    }

    /// Returns the next segment whose way is known. Call it after each event until it returns
    /// `None`.
    pub fn poll_segment(&mut self) -> Option<SegmentWay> {
        self.ready.pop_front()
    }

    /// Handles an event of a place. Events come roughly in the order of the reference clock.
    pub fn handle_event(&mut self, place: usize, event: &Event) {
        let Ok(clock) = &self.plan.clocks[place] else { return };
        match event {
            Event::Seen(sighting) => {
                let times = [sighting.begin_ns, sighting.end_ns].map(|at| clock.to_reference(at));
                self.now_ns = self.now_ns.max(times[1]);
                self.handle_sighting(place, sighting, times);
            }
            Event::Acknowledged { from, to, tid, sequence, at_ns, .. } => {
                let at_ns = clock.to_reference(*at_ns);
                let chain = self.chains.get(&(place, *from, *to, *tid, *sequence));
                let chain = chain.filter(|chain| at_ns - chain.at_ns < ANSWERED_NS);
                for &(flow, back, key) in chain.iter().flat_map(|chain| &chain.records) {
                    let record = self.directions[flow][usize::from(back)].record(AIR, key);
                    if let Some(air) = record.and_then(|record| record.air.as_mut())
                        && air.link == (*from, *to)
                    {
                        air.acknowledged_ns.get_or_insert(at_ns);
                    }
                }
            }
        }
        self.events += 1;
        if self.events.is_multiple_of(SWEEP_EVENTS) {
            self.sweep();
        }
    }

    /// Ends the analysis: no more events follow.
    pub fn finish(&mut self) {
        for flow in 0..self.directions.len() {
            for back in [false, true] {
                self.settle(flow, back, None);
            }
        }
    }

    fn handle_sighting(&mut self, place: usize, sighting: &Sighting, [begin_ns, end_ns]: [i64; 2]) {
        let header = &sighting.header;
        if let Some(carrier) = sighting.air.filter(|carrier| !carrier.retry) {
            // The number now belongs to another MPDU, whatever it carries.
            let key = (place, carrier.from, carrier.to, carrier.tid, carrier.sequence);
            if self.chains.get(&key).is_some_and(|chain| chain.frame != sighting.number) {
                self.chains.remove(&key);
            }
        }
        let (Some(tcp), Some(&(flow, swapped))) =
            (&header.tcp, self.plan.index[place].get(&header.flow))
        else {
            return;
        };
        let back = header.back != swapped;
        let [this, other] = [back, !back].map(usize::from);
        let role_of = |roles: &Option<Roles>| {
            let places = roles.as_ref()?.places;
            [SENDER, GATEWAY, AIR, RECEIVER].into_iter().find(|role| places[*role] == Some(place))
        };
        let of_other = role_of(&self.roles[flow][other]);
        let (Some(role), Some(roles)) = (role_of(&self.roles[flow][this]), &self.roles[flow][this])
        else {
            return;
        };
        if let (Some(number), Some(of_other), Some(others)) =
            (tcp.acknowledges, of_other, &self.roles[flow][other])
            && of_other == others.first()
        {
            let empty = tcp.payload_bytes == 0;
            let direction = &mut self.directions[flow][other];
            direction.handle_acknowledgement(of_other, number, end_ns, empty);
        }
        if tcp.rst {
            return;
        }
        if tcp.payload_bytes == 0 {
            let id = if roles.ids_agree { u64::from(header.id) } else { 0 };
            let digest = crate::sighting::mixed(header.digest, id);
            self.acks[flow][this].handle(role, digest, begin_ns, end_ns, sighting.air);
        } else {
            self.handle_payload(sighting, At { place, flow, back, role }, [begin_ns, end_ns]);
        }
        self.settle(flow, back, Some(self.now_ns.saturating_sub(HORIZON_NS)));
    }

    fn handle_payload(
        &mut self,
        sighting: &Sighting,
        At { place, flow, back, role }: At,
        [begin_ns, end_ns]: [i64; 2],
    ) {
        let this = usize::from(back);
        let (Some(tcp), Some(roles)) = (&sighting.header.tcp, &self.roles[flow][this]) else {
            return;
        };
        let (frame, id) = (sighting.number, sighting.header.id);
        let direction = &mut self.directions[flow][this];
        let Some(carrier) = sighting.air else {
            let seen = SeenSegment { begin_ns, end_ns, frame, id, air: None };
            direction.handle_segment(role, tcp, seen, roles);
            return;
        };
        let key = (place, carrier.from, carrier.to, carrier.tid, carrier.sequence);
        let chain = self.chains.entry(key).or_insert(Chain { frame: 0, at_ns: 0, records: vec![] });
        let soon = end_ns.saturating_sub(chain.at_ns) < REPEATS_NS as i64;
        if carrier.retry && soon {
            let from = direction.position(role, tcp.first());
            let to = from + u64::from(tcp.payload_bytes);
            for (of, its_back, key) in &chain.records {
                let record =
                    direction.record(role, *key).filter(|_| (*of, *its_back) == (flow, back));
                if let Some(record) = record.filter(|it| (it.from, it.to) == (from, to)) {
                    record.ends_ns.push(end_ns);
                    record.frames[1] = frame;
                    (chain.at_ns, chain.frame) = (end_ns, frame);
                    return;
                }
            }
        }
        let air = AirPart {
            link: (carrier.from, carrier.to),
            to_ds: carrier.to_ds,
            first_missed: carrier.retry,
            exact: sighting.exact,
            hops: 1,
            acknowledged_ns: None,
        };
        let seen = SeenSegment { begin_ns, end_ns, frame, id, air: Some(air) };
        let record = direction.handle_segment(role, tcp, seen, roles);
        // An MPDU may carry several segments.
        if chain.frame != frame {
            chain.records.clear();
        }
        chain.records.push((flow, back, record));
        (chain.at_ns, chain.frame) = (end_ns, frame);
    }

    fn settle(&mut self, flow: usize, back: bool, limit_ns: Option<i64>) {
        let this = usize::from(back);
        let Some(roles) = &self.roles[flow][this] else { return };
        let (ready, slowest) = (&mut self.ready, &mut self.slowest);
        let direction = &mut self.directions[flow][this];
        self.acks[flow][this].settle(limit_ns, roles, &mut direction.tally);
        direction.settle(limit_ns, roles, &mut |way| {
            slowest.add(&way);
            ready.push_back(way);
        });
    }

    /// Settles flows without recent events, and keeps memory within its bound.
    fn sweep(&mut self) {
        let mut horizon_ns = HORIZON_NS;
        loop {
            let limit_ns = self.now_ns.saturating_sub(horizon_ns);
            for flow in 0..self.directions.len() {
                for back in [false, true] {
                    self.settle(flow, back, Some(limit_ns));
                }
            }
            let records = self.directions.iter().flatten().map(JoinDirection::len).sum::<usize>()
                + self.acks.iter().flatten().map(Acks::len).sum::<usize>();
            if records <= RECORDS_MAX || horizon_ns == 0 {
                break;
            }
            self.hurried += 1;
            horizon_ns /= 2;
        }
        let old = self.now_ns.saturating_sub(HORIZON_NS);
        self.chains.retain(|_, chain| chain.at_ns >= old);
    }
}

/// One direction of a flow that several places captured.
#[derive(Clone, Copy, Debug)]
pub struct DirectionView<'a> {
    /// Places on its path: farthest before the air, last before it, the air, farthest behind.
    pub places: [Option<usize>; 4],
    /// Counts of the direction.
    pub tally: &'a Tally,
}

/// Returns the roles of places on a path for a direction; `None` if only one place captured it.
fn roles_on(path: &Path, plan: &Plan, times: &[Option<(i64, i64)>], flow: usize) -> Option<Roles> {
    if path.places().count() < 2 {
        return None;
    }
    let wired: Vec<usize> = path.before.iter().chain(&path.behind).copied().collect();
    let mut places = [None; 4];
    match path.air {
        Some(air) => {
            places[SENDER] = path.before.first().copied();
            places[GATEWAY] = path.before.last().copied().filter(|_| path.before.len() > 1);
            places[AIR] = Some(air);
            places[RECEIVER] = path.behind.last().copied();
        }
        None => {
            (places[SENDER], places[RECEIVER]) = (wired.first().copied(), wired.last().copied())
        }
    }
    let clocks = || places.iter().flatten().filter_map(|place| plan.clocks[*place].as_ref().ok());
    let noise =
        |clock: &plan::Clock| clock.late_ns.saturating_add(clock.spread_ns.saturating_mul(3));
    let noise = clocks().map(noise).fold(0, u64::saturating_add);
    let ids_agree = clocks().all(|clock| clock.by.as_ref().is_none_or(|(_, it)| it.ids_agree));
    Some(Roles {
        flow,
        back: false,
        places,
        times: places.map(|place| times[place?]),
        slack_ns: SLACK_NS + i64::try_from(noise).unwrap_or(i64::MAX).min(NOISE_NS_MAX),
        ids_agree,
    })
}

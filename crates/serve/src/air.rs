//! The timeline of the air. For a span of time with few PPDUs, an answer has each of them; for a
//! longer one, the shares of time by class in columns, one a pixel. Packets are treated in the same
//! way. Answers are computed from the events on request: a pass over a million events takes
//! milliseconds, so only an order is prepared. Times are in ns since the start of the run.
//!
//! A lane is a node, or a link of a device of several (802.11be), whose packets have a lane before
//! its links. If there are more than [`LANES_MAX`] of these, the least active ones share the last
//! lane. PPDUs of one transmitter with the same start are one transmission to several users: the
//! first one counts for the shares of time.

use lasthop_trace::{EventsReading, PacketEvent, PacketReading, PartsReading, PpduReading, TextId};
use serde::Serialize;
use std::collections::BTreeMap;

/// Largest number of lanes.
const LANES_MAX: usize = 48;
/// Largest number of PPDUs of an answer; with more, it has shares.
const PPDUS_MAX: usize = 3_000;
/// Largest number of packets' events of an answer; with more, it has counts.
const PACKETS_MAX: usize = 3_000;
/// Largest number of intervals of waiting or of absence of a lane; with more, it has shares.
const INTERVALS_MAX: usize = 1_000;
/// Largest number of columns.
pub(crate) const WIDTH_MAX: u32 = 4_096;

/// A span of time, and its number of columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Window {
    pub from_ns: i64,
    pub to_ns: i64,
    pub width: u32,
}

impl Window {
    /// Makes a window of at least one ns a column, within a year before and after the start.
    pub(crate) fn new(from_ns: i64, to_ns: i64, width: u32) -> Self {
        const YEAR_NS: i64 = 365 * 86_400 * 1_000_000_000;
        let from_ns = from_ns.clamp(-YEAR_NS, YEAR_NS);
        let to_ns = to_ns.clamp(from_ns + 1, from_ns + YEAR_NS);
        let columns = u32::try_from(to_ns - from_ns).unwrap_or(u32::MAX);
        Self { from_ns, to_ns, width: width.clamp(1, WIDTH_MAX).min(columns) }
    }

    /// Returns the start of column `index`.
    fn edge(self, index: usize) -> i64 {
        let span = i128::from(self.to_ns - self.from_ns);
        self.from_ns + (span * index as i128 / i128::from(self.width)) as i64
    }

    /// Returns the column that contains an instant of the window.
    fn column(self, at: i64) -> usize {
        let span = i128::from(self.to_ns - self.from_ns);
        let into = i128::from(at - self.from_ns);
        let near = (into * i128::from(self.width) / span) as usize;
        let near = near.min(self.width as usize - 1);
        if near + 1 < self.width as usize && self.edge(near + 1) <= at { near + 1 } else { near }
    }

    /// Calls `add` with each column that an interval meets, and the duration in it.
    fn spread(self, from: i64, to: i64, mut add: impl FnMut(usize, i64)) {
        let (from, to) = (from.max(self.from_ns), to.min(self.to_ns));
        if from >= to {
            return;
        }
        let (mut column, mut at) = (self.column(from), from);
        while at < to {
            let end = self.edge(column + 1).min(to);
            if end > at {
                add(column, end - at);
            }
            (column, at) = (column + 1, end.max(at));
        }
    }

    /// Returns shares of the columns' durations, in thousandths.
    fn shares(self, sums: &[i64]) -> Vec<u16> {
        let share = |(column, sum): (usize, &i64)| {
            let length = (self.edge(column + 1) - self.edge(column)).max(1);
            ((1_000 * sum + length / 2) / length).clamp(0, 1_000) as u16
        };
        sums.iter().enumerate().map(share).collect()
    }
}

/// Class of a transmission: its purpose, or its collision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Class {
    /// MPDUs with data, first transmissions.
    Data,
    /// MPDUs with data, retransmissions.
    Retries,
    /// Frames for access control and acknowledgement.
    Control,
    /// Beacons, agreements, probes, frames without data.
    Management,
    /// A PPDU that overlapped with another one at the receiver.
    Collided,
}

impl Class {
    const NAMES: [&'static str; 5] = ["data", "retries", "control", "management", "collided"];

    fn from_frame(frame: &str) -> Self {
        match frame {
            "data" | "qos_data" => Self::Data,
            "ack"
            | "block_ack"
            | "block_ack_request"
            | "mu_block_ack_request"
            | "basic_trigger"
            | "buffer_status_report_poll"
            | "multi_station_block_ack"
            | "rts"
            | "mu_rts"
            | "cts"
            | "ps_poll" => Self::Control,
            _ => Self::Management,
        }
    }
}

/// Events of a run, in the orders of the requests.
pub(crate) struct Timeline {
    pub(crate) events: EventsReading,
    lanes: Vec<Lane>,
    /// Class of each PPDU by its frame, without retries and collisions.
    classes: Vec<Class>,
    /// Number of the packet of each event.
    numbers: Vec<u32>,
    /// Events of packets by the packet's number, then in their order.
    by_number: Vec<u32>,
    until_ns: i64,
}

/// A node and its link: an empty text for a node with one, and for the packets of a device of
/// several.
type Radio = (TextId, TextId);

/// A place, or several that share a lane.
struct Lane {
    name: String,
    places: Vec<Radio>,
    has_radio: bool,
    has_queue: bool,
    /// PPDUs by start.
    ppdus: Vec<u32>,
    /// Duration of the longest PPDU.
    longest_ns: i64,
    /// Events of packets by time.
    packets: Vec<u32>,
    /// Times in which a packet waited for the channel, without overlaps and without the lane's
    /// PPDUs. The parts of a delay have the duration of the wait, which may have been interrupted.
    waiting: Vec<(i64, i64)>,
    /// Times off the channel or dozing.
    absent: Vec<(i64, i64, TextId)>,
}

impl Lane {
    fn new(name: String, places: Vec<Radio>, has_radio: bool) -> Self {
        Self {
            name,
            has_queue: places.iter().any(|(_, link)| *link == TextId::NONE),
            places,
            has_radio,
            ppdus: Vec::new(),
            longest_ns: 0,
            packets: Vec::new(),
            waiting: Vec::new(),
            absent: Vec::new(),
        }
    }

    /// The node, unless several share the lane.
    fn node(&self) -> Option<TextId> {
        let first = self.places.first()?.0;
        self.places.iter().all(|(node, _)| *node == first).then_some(first)
    }

    /// Returns the PPDUs that may meet the window, with some earlier ones.
    fn ppdus(&self, events: &EventsReading, window: Window) -> &[u32] {
        let at = |index: &u32| events.ppdus[*index as usize].at_ns;
        let first = self.ppdus.partition_point(|it| at(it) < window.from_ns - self.longest_ns);
        let end = self.ppdus.partition_point(|it| at(it) < window.to_ns);
        &self.ppdus[first..end.max(first)]
    }

    /// Whether the first PPDU of a hop may have begun here: on a link of its sender, to its receiver.
    fn begins(&self, events: &EventsReading, hop: &Hop) -> bool {
        let window = Window { from_ns: hop.first_ns, to_ns: hop.first_ns + 1, width: 1 };
        let mut ppdus =
            self.ppdus(events, window).iter().map(|index| &events.ppdus[*index as usize]);
        let ends = (hop.first_ns, hop.sender, hop.receiver);
        self.has_radio && ppdus.any(|ppdu| (ppdu.at_ns, ppdu.node, ppdu.peer) == ends)
    }

    fn packets(&self, events: &EventsReading, window: Window) -> &[u32] {
        let at = |index: &u32| events.packets[*index as usize].at_ns;
        let first = self.packets.partition_point(|it| at(it) < window.from_ns);
        let end = self.packets.partition_point(|it| at(it) < window.to_ns);
        &self.packets[first..end.max(first)]
    }
}

impl Timeline {
    /// Sorts the events.
    pub(crate) fn new(events: EventsReading) -> Self {
        let classes = events.texts.iter().map(|text| Class::from_frame(text)).collect();
        let numbers = numbers(&events.packets);
        let mut by_number: Vec<u32> = (0..events.packets.len() as u32).collect();
        by_number.sort_by_key(|index| numbers[*index as usize]);
        let ends = events.ppdus.iter().map(|ppdu| ppdu.at_ns + ppdu.duration_ns);
        let until_ns = ends.max().unwrap_or(0).max(events.until_ns);
        let lanes = lanes(&events);
        let mut timeline = Self { events, lanes, classes, numbers, by_number, until_ns };
        timeline.fill();
        timeline
    }

    /// Number of rows of the timeline.
    pub(crate) fn rows(&self) -> u64 {
        self.events.rows
    }

    fn fill(&mut self) {
        let Self { events, lanes, numbers, by_number, .. } = self;
        let mut of_place = BTreeMap::new();
        for (lane, it) in lanes.iter().enumerate() {
            of_place.extend(it.places.iter().map(|place| (*place, lane)));
        }
        let lane_of = |place: Radio| of_place.get(&place).copied();
        for (index, ppdu) in events.ppdus.iter().enumerate() {
            let Some(lane) = lane_of((ppdu.node, ppdu.link)) else { continue };
            lanes[lane].ppdus.push(index as u32);
            lanes[lane].longest_ns = lanes[lane].longest_ns.max(ppdu.duration_ns);
        }
        for lane in &mut *lanes {
            lane.ppdus.sort_by_key(|index| events.ppdus[*index as usize].at_ns);
        }
        for (index, packet) in events.packets.iter().enumerate() {
            let Some(lane) = lane_of((packet.node, TextId::NONE)) else { continue };
            lanes[lane].packets.push(index as u32);
        }
        for hop in hops(events, numbers, by_number) {
            let (from, to) = (hop.first_ns - hop.contention_ns, hop.first_ns);
            let of_node = lane_of((hop.sender, TextId::NONE)).filter(|lane| lanes[*lane].has_radio);
            let lane = of_node.or_else(|| lanes.iter().position(|it| it.begins(events, &hop)));
            if let (Some(lane), true) = (lane, from < to) {
                lanes[lane].waiting.push((from, to));
            }
        }
        let mut since: BTreeMap<Radio, (i64, TextId)> = BTreeMap::new();
        for absence in &events.absences {
            let place = (absence.node, absence.link);
            let before = match events.text(absence.kind) {
                "awake" => since.remove(&place),
                _ => since.insert(place, (absence.at_ns, absence.kind)),
            };
            if let (Some((from, kind)), Some(lane)) = (before, lane_of(place)) {
                lanes[lane].absent.push((from, absence.at_ns, kind));
            }
        }
        for (place, (from, kind)) in since {
            if let Some(lane) = lane_of(place) {
                lanes[lane].absent.push((from, self.until_ns, kind));
            }
        }
        for lane in lanes {
            lane.packets.sort_by_key(|index| events.packets[*index as usize].at_ns);
            let own = lane.ppdus.iter().map(|index| {
                let ppdu = &events.ppdus[*index as usize];
                (ppdu.at_ns, ppdu.at_ns + ppdu.duration_ns)
            });
            let waiting = merged(std::mem::take(&mut lane.waiting));
            lane.waiting = without(&waiting, &merged(own.collect()));
            lane.absent.sort();
        }
    }

    /// Returns the events in a window.
    pub(crate) fn view(&self, window: Window) -> View {
        let events = &self.events;
        let (mut ppdus, mut packets) = (0, 0);
        for lane in &self.lanes {
            ppdus += lane.ppdus(events, window).len();
            packets += lane.packets(events, window).len();
        }
        let mut texts = Texts::default();
        let lanes = self.lanes.iter().map(|lane| {
            let mut view = LaneView {
                name: lane.name.clone(),
                node: lane.node().map_or("", |node| self.events.text(node)).to_owned(),
                has_radio: lane.has_radio,
                has_queue: lane.has_queue,
                ..LaneView::default()
            };
            if ppdus <= PPDUS_MAX {
                view.ppdus = Some(self.each_ppdu(lane, window, &mut texts));
            } else {
                view.shares = Some(self.shares(lane, window));
            }
            if packets <= PACKETS_MAX {
                view.packets = Some(self.each_packet(lane, window, &mut texts));
            }
            let (dropped, queue) = self.queues(lane, window);
            view.dropped = dropped;
            view.queue = queue;
            let waiting = lane.waiting.iter().map(|(from, to)| (*from, *to, TextId::NONE));
            (view.waiting, view.waiting_shares) = intervals(waiting, window, |_| 0);
            let absent = lane.absent.iter().copied();
            (view.absent, view.absent_shares) =
                intervals(absent, window, |kind| texts.id(events, kind));
            view
        });
        let lanes = lanes.collect();
        View {
            from_ns: window.from_ns,
            to_ns: window.to_ns,
            width: window.width,
            until_ns: self.until_ns,
            ppdus,
            packets,
            events: events.rows,
            events_all: events.rows_all,
            texts: texts.texts,
            lanes,
        }
    }

    fn each_ppdu(&self, lane: &Lane, window: Window, texts: &mut Texts) -> Ppdus {
        let mut all = Ppdus::default();
        for index in lane.ppdus(&self.events, window) {
            let ppdu = &self.events.ppdus[*index as usize];
            if ppdu.at_ns + ppdu.duration_ns > window.from_ns {
                all.push(&self.events, ppdu, texts);
            }
        }
        all
    }

    fn each_packet(&self, lane: &Lane, window: Window, texts: &mut Texts) -> Packets {
        let mut all = Packets::default();
        for index in lane.packets(&self.events, window) {
            let packet = &self.events.packets[*index as usize];
            all.at_ns.push(packet.at_ns);
            all.number.push(self.numbers[*index as usize]);
            all.event.push(packet.event.as_str());
            all.flow.push(texts.id(&self.events, packet.flow));
        }
        all
    }

    /// Returns the classes that occur, each with its share of every column in thousandths.
    fn shares(&self, lane: &Lane, window: Window) -> BTreeMap<&'static str, Vec<u16>> {
        let width = window.width as usize;
        let mut sums = vec![0; Class::NAMES.len() * width];
        let mut before = None;
        for index in lane.ppdus(&self.events, window) {
            let ppdu = &self.events.ppdus[*index as usize];
            let transmission = (ppdu.node, ppdu.link, ppdu.at_ns);
            if before.replace(transmission) == Some(transmission) {
                continue;
            }
            window.spread(ppdu.at_ns, ppdu.at_ns + ppdu.duration_ns, |column, time| {
                self.split(ppdu, time, |class, time| sums[class as usize * width + column] += time);
            });
        }
        let classes = Class::NAMES.iter().zip(sums.chunks(width));
        classes
            .filter(|(_, sums)| sums.iter().any(|sum| *sum > 0))
            .map(|(name, sums)| (*name, window.shares(sums)))
            .collect()
    }

    /// Calls `add` with the time of a PPDU by class; a data PPDU's retransmitted MPDUs count
    /// separately.
    fn split(&self, ppdu: &PpduReading, time: i64, mut add: impl FnMut(Class, i64)) {
        let class = match self.classes[ppdu.frame.index()] {
            _ if ppdu.collided => Class::Collided,
            class => class,
        };
        if class == Class::Data && ppdu.retries > 0 {
            let again = time * i64::from(ppdu.retries) / i64::from(ppdu.mpdus.max(ppdu.retries));
            add(Class::Retries, again);
            add(Class::Data, time - again);
        } else {
            add(class, time);
        }
    }

    /// Returns by column the packets given up, and the longest queue.
    fn queues(&self, lane: &Lane, window: Window) -> (Counts, Counts) {
        let (mut dropped, mut queue) = (Counts::new(), Counts::new());
        let (mut column, mut end) = (0, i64::MIN);
        for index in lane.packets(&self.events, window) {
            let packet = &self.events.packets[*index as usize];
            if packet.at_ns >= end {
                column = window.column(packet.at_ns);
                end = window.edge(column + 1);
            }
            let column = column as u32;
            if packet.event == PacketEvent::Dropped {
                match dropped.last_mut().filter(|last| last.0 == column) {
                    Some(last) => last.1 += 1,
                    None => dropped.push((column, 1)),
                }
            }
            if let Ok(held) = u32::try_from(packet.queue_packets) {
                match queue.last_mut().filter(|last| last.0 == column) {
                    Some(last) => last.1 = last.1.max(held),
                    None => queue.push((column, held)),
                }
            }
        }
        (dropped, queue)
    }

    /// Returns the events of a packet in their order; none if there is no such packet.
    pub(crate) fn packet(&self, number: u32) -> impl Iterator<Item = &PacketReading> {
        let of = |index: &u32| self.numbers[*index as usize];
        let first = self.by_number.partition_point(|index| of(index) < number);
        let end = self.by_number.partition_point(|index| of(index) <= number);
        self.by_number[first..end].iter().map(|index| &self.events.packets[*index as usize])
    }

    /// Returns the completed hops of a packet over the air.
    pub(crate) fn hops_of(&self, number: u32) -> Vec<Hop> {
        let mut hops = Vec::new();
        let mut path = Path::default();
        for packet in self.packet(number) {
            hops.extend(path.next(&self.events, packet));
        }
        hops
    }

    /// Returns the PPDUs of a transmitter that begin in a span of time, its last instant included,
    /// on all links by their start.
    pub(crate) fn sent_by(&self, node: TextId, from_ns: i64, to_ns: i64) -> Vec<&PpduReading> {
        let window = Window { from_ns, to_ns: to_ns.saturating_add(1), width: 1 };
        let lanes = self.lanes.iter().filter(|lane| lane.places.iter().any(|it| it.0 == node));
        let indices = lanes.flat_map(|lane| lane.ppdus(&self.events, window));
        let ppdus = indices.map(|index| &self.events.ppdus[*index as usize]);
        let mut sent: Vec<_> =
            ppdus.filter(|ppdu| ppdu.node == node && ppdu.at_ns >= from_ns).collect();
        sent.sort_by_key(|ppdu| ppdu.at_ns);
        sent
    }
}

/// A packet's hop over the air. The instants follow from the parts of its delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hop {
    pub sender: TextId,
    pub receiver: TextId,
    /// Link of the PPDU that delivered the packet.
    pub link: TextId,
    /// Start of the first PPDU that carried the packet.
    pub first_ns: i64,
    /// Start of the PPDU that delivered the packet.
    pub across_ns: i64,
    /// Duration of the wait for the channel before.
    pub contention_ns: i64,
}

/// State of a packet while its events are followed.
#[derive(Default)]
struct Path {
    sender: Option<TextId>,
    before: PartsReading,
}

impl Path {
    /// Returns the hop that an event ends.
    fn next(&mut self, events: &EventsReading, packet: &PacketReading) -> Option<Hop> {
        if packet.event == PacketEvent::Queued {
            self.sender = Some(packet.node);
        }
        if packet.event != PacketEvent::Delivered {
            return None;
        }
        let parts = *events.parts.get(packet.parts? as usize)?;
        let of = |name| parts.part(name) - self.before.part(name);
        let across_ns = packet.at_ns - of("reorder") - of("air");
        let hop = Hop {
            sender: self.sender?,
            receiver: packet.node,
            link: packet.link,
            first_ns: across_ns - of("retries"),
            across_ns,
            contention_ns: of("contention"),
        };
        self.before = parts;
        Some(hop)
    }
}

/// Returns the hops of all packets.
fn hops<'a>(
    events: &'a EventsReading,
    numbers: &'a [u32],
    by_number: &'a [u32],
) -> impl Iterator<Item = Hop> + 'a {
    let (mut path, mut before) = (Path::default(), None);
    by_number.iter().filter_map(move |index| {
        let number = numbers[*index as usize];
        if before.replace(number) != Some(number) {
            path = Path::default();
        }
        path.next(events, &events.packets[*index as usize])
    })
}

/// Returns the number of the packet of each event; numbers are in the order of appearance. Events
/// of a packet have the same flow and tag. If these enter the network again, such as the answer to
/// a request, they are another packet.
fn numbers(packets: &[PacketReading]) -> Vec<u32> {
    let mut order: Vec<u32> = (0..packets.len() as u32).collect();
    let key = |index: &u32| (packets[*index as usize].flow, packets[*index as usize].tag);
    order.sort_by_key(key);
    // The first event of the packet of each event.
    let mut firsts = vec![0; packets.len()];
    let (mut first, mut before) = (0, None);
    for index in &order {
        let is_same = before.replace(key(index)) == Some(key(index));
        if !is_same || packets[*index as usize].event == PacketEvent::Sent {
            first = *index;
        }
        firsts[*index as usize] = first;
    }
    let mut numbers = vec![0; packets.len()];
    let mut next = 0;
    for index in 0..packets.len() {
        let first = firsts[index] as usize;
        numbers[index] = if first == index { next } else { numbers[first] };
        next += u32::from(first == index);
    }
    numbers
}

/// Returns empty lanes: transmitting nodes and links, then other nodes with packets, by name.
fn lanes(events: &EventsReading) -> Vec<Lane> {
    let mut airtime: BTreeMap<TextId, BTreeMap<TextId, i64>> = BTreeMap::new();
    for ppdu in &events.ppdus {
        let links = airtime.entry(ppdu.node).or_default();
        *links.entry(ppdu.link).or_default() += ppdu.duration_ns;
    }
    for absence in &events.absences {
        airtime.entry(absence.node).or_default().entry(absence.link).or_default();
    }
    let mut hosts: Vec<TextId> = events.packets.iter().map(|packet| packet.node).collect();
    hosts.sort();
    hosts.dedup();
    hosts.retain(|node| !airtime.contains_key(node) && *node != TextId::NONE);
    let mut radios: Vec<(i64, Lane)> =
        airtime.iter().flat_map(|(node, links)| of_node(events, *node, links)).collect();
    radios.sort_by_key(|(time, lane)| (std::cmp::Reverse(*time), lane.places[0]));
    let others =
        if radios.len() > LANES_MAX { radios.split_off(LANES_MAX - 1) } else { Vec::new() };
    let natural = |text| crate::order::natural(events.text(text));
    let mut lanes: Vec<Lane> = radios.into_iter().map(|(_, lane)| lane).collect();
    lanes.sort_by_cached_key(|lane| {
        let (node, link) = lane.places[0];
        (natural(node), natural(link))
    });
    if !others.is_empty() {
        let name = format!("{} others", others.len());
        let places = others.into_iter().flat_map(|(_, lane)| lane.places).collect();
        lanes.push(Lane::new(name, places, true));
    }
    hosts.sort_by_cached_key(|node| natural(*node));
    let left = (LANES_MAX + 16).saturating_sub(lanes.len());
    let own =
        |node: TextId| Lane::new(events.text(node).to_owned(), vec![(node, TextId::NONE)], false);
    lanes.extend(hosts.into_iter().take(left).map(own));
    lanes
}

/// Returns the lanes of a transmitting node with their time on the air: one with its link, or one
/// for its packets and one for each link of several.
fn of_node(
    events: &EventsReading,
    node: TextId,
    links: &BTreeMap<TextId, i64>,
) -> Vec<(i64, Lane)> {
    let name = |link: TextId| match (events.text(node), events.text(link)) {
        (node, "") => node.to_owned(),
        (node, link) => format!("{node}@{link}"),
    };
    let own = (node, TextId::NONE);
    let all: i64 = links.values().sum();
    let named = links.iter().filter(|(link, _)| **link != TextId::NONE);
    match named.clone().map(|(link, _)| *link).collect::<Vec<_>>()[..] {
        [] => vec![(all, Lane::new(name(TextId::NONE), vec![own], true))],
        [link] => vec![(all, Lane::new(name(link), vec![own, (node, link)], true))],
        _ => {
            let packets = (all, Lane::new(name(TextId::NONE), vec![own], false));
            let each = named
                .map(|(link, time)| (*time, Lane::new(name(*link), vec![(node, *link)], true)));
            std::iter::once(packets).chain(each).collect()
        }
    }
}

/// Merges intervals into ordered ones without overlaps.
fn merged(mut intervals: Vec<(i64, i64)>) -> Vec<(i64, i64)> {
    intervals.sort_unstable();
    let mut out: Vec<(i64, i64)> = Vec::new();
    for (from, to) in intervals {
        match out.last_mut() {
            Some(last) if from <= last.1 => last.1 = last.1.max(to),
            _ => out.push((from, to)),
        }
    }
    out
}

/// Subtracts intervals from others; both are in order and without overlaps.
fn without(intervals: &[(i64, i64)], others: &[(i64, i64)]) -> Vec<(i64, i64)> {
    let mut out = Vec::new();
    let mut first = 0;
    for &(mut from, to) in intervals {
        first += others[first..].partition_point(|other| other.1 <= from);
        for other in others[first..].iter().take_while(|other| other.0 < to) {
            if from < other.0 {
                out.push((from, other.0));
            }
            from = from.max(other.1);
        }
        if from < to {
            out.push((from, to));
        }
    }
    out
}

/// Columns with a count above zero, and their counts.
type Counts = Vec<(u32, u32)>;

/// Intervals, or their shares of columns.
type Intervals = (Option<Vec<(i64, i64, u32)>>, Option<Vec<u16>>);

/// Returns the intervals that meet a window or, if they are many, their shares of its columns.
fn intervals(
    all: impl Iterator<Item = (i64, i64, TextId)> + Clone,
    window: Window,
    mut kind: impl FnMut(TextId) -> u32,
) -> Intervals {
    let meets = |(from, to, _): &(i64, i64, TextId)| *from < window.to_ns && *to > window.from_ns;
    let there = all.filter(meets);
    if there.clone().nth(INTERVALS_MAX).is_none() {
        let each = there.map(|(from, to, text)| (from, to, kind(text)));
        return (Some(each.collect()), None);
    }
    let mut sums = vec![0; window.width as usize];
    there.for_each(|(from, to, _)| window.spread(from, to, |column, time| sums[column] += time));
    (None, Some(window.shares(&sums)))
}

/// Texts of an answer, by number.
#[derive(Default)]
struct Texts {
    texts: Vec<String>,
    known: BTreeMap<TextId, u32>,
}

impl Texts {
    fn id(&mut self, events: &EventsReading, text: TextId) -> u32 {
        *self.known.entry(text).or_insert_with(|| {
            self.texts.push(events.text(text).to_owned());
            self.texts.len() as u32 - 1
        })
    }
}

/// Events in a window.
#[derive(Debug, Serialize)]
pub(crate) struct View {
    from_ns: i64,
    to_ns: i64,
    width: u32,
    /// End of the known time.
    until_ns: i64,
    /// Number of PPDUs in the window.
    ppdus: usize,
    /// Number of packets' events in the window.
    packets: usize,
    /// Number of known events of the run, and number of all.
    events: u64,
    events_all: u64,
    /// Texts by number.
    texts: Vec<String>,
    lanes: Vec<LaneView>,
}

/// A lane in a window.
#[derive(Debug, Default, Serialize)]
struct LaneView {
    name: String,
    /// Name of the node, without its link; empty if several share the lane.
    node: String,
    has_radio: bool,
    has_queue: bool,
    /// PPDUs, if they are few.
    #[serde(skip_serializing_if = "Option::is_none")]
    ppdus: Option<Ppdus>,
    /// Otherwise shares of the columns by class, in thousandths.
    #[serde(skip_serializing_if = "Option::is_none")]
    shares: Option<BTreeMap<&'static str, Vec<u16>>>,
    /// Events of packets, if they are few.
    #[serde(skip_serializing_if = "Option::is_none")]
    packets: Option<Packets>,
    /// Columns with packets given up, and their numbers.
    dropped: Counts,
    /// Columns with queued packets, and the longest queue.
    queue: Counts,
    /// Times in which packets waited for the channel: from, to, and 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    waiting: Option<Vec<(i64, i64, u32)>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    waiting_shares: Option<Vec<u16>>,
    /// Times in which the node was unreachable: from, to, and reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    absent: Option<Vec<(i64, i64, u32)>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    absent_shares: Option<Vec<u16>>,
}

/// PPDUs, column by column; texts by number.
#[derive(Debug, Default, Serialize)]
struct Ppdus {
    at_ns: Vec<i64>,
    duration_ns: Vec<i64>,
    node: Vec<u32>,
    link: Vec<u32>,
    peer: Vec<u32>,
    flow: Vec<u32>,
    frame: Vec<u32>,
    rate: Vec<u32>,
    rate_kbps: Vec<i64>,
    bytes: Vec<i32>,
    mpdus: Vec<i32>,
    retries: Vec<i32>,
    received: Vec<i32>,
    sequence: Vec<i32>,
    signal_dbm: Vec<Option<f32>>,
    collided: Vec<bool>,
}

impl Ppdus {
    fn push(&mut self, events: &EventsReading, ppdu: &PpduReading, texts: &mut Texts) {
        self.at_ns.push(ppdu.at_ns);
        self.duration_ns.push(ppdu.duration_ns);
        self.node.push(texts.id(events, ppdu.node));
        self.link.push(texts.id(events, ppdu.link));
        self.peer.push(texts.id(events, ppdu.peer));
        self.flow.push(texts.id(events, ppdu.flow));
        self.frame.push(texts.id(events, ppdu.frame));
        self.rate.push(texts.id(events, ppdu.rate));
        self.rate_kbps.push(ppdu.rate_kbps);
        self.bytes.push(ppdu.bytes);
        self.mpdus.push(ppdu.mpdus);
        self.retries.push(ppdu.retries);
        self.received.push(ppdu.received);
        self.sequence.push(ppdu.sequence);
        let signal = (ppdu.signal_dbm * 10.0).round() / 10.0;
        self.signal_dbm.push(Some(signal).filter(|signal| signal.is_finite()));
        self.collided.push(ppdu.collided);
    }
}

/// Events of packets, column by column.
#[derive(Debug, Default, Serialize)]
struct Packets {
    at_ns: Vec<i64>,
    number: Vec<u32>,
    event: Vec<&'static str>,
    flow: Vec<u32>,
}

#[cfg(test)]
mod tests;

//! Analysis of a whole capture: counts every packet, and hands it to the analysis of its interface
//! ([`InterfaceAnalysis`]). A malformed packet is listed with frame, field and offset, and does not
//! stop the analysis.

mod check;
mod dedupe;
mod file;
mod interface;
mod interface_counts;
mod journal;

pub use file::{Counts, ERRORS_MAX, FileAnalysis, Malformed};
pub use interface::{InterfaceAnalysis, OTHERS_MAX};
pub use interface_counts::InterfaceCounts;

use crate::air::Air;
use crate::air::exchange::Link;
use crate::air::pairs::PairLink;
use crate::decrypt::{Credentials, Decryption};
use crate::file::{LinkType, Packet, ReadError};
use crate::limits::IDLE_NS;
use crate::sighting::Event;
use crate::transport::{Direction, Flows};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::{iter, mem};

/// Analysis of a capture, packet by packet.
#[derive(Debug, Default)]
pub struct Analysis {
    /// Number of packets.
    pub packets: u64,
    /// Number of packets by link type.
    pub links: BTreeMap<LinkType, u64>,
    /// Counts and errors of all interfaces.
    pub file: FileAnalysis,
    /// Packets of a live capture that the kernel dropped before they could be read. The caller sets
    /// this number.
    pub dropped: u64,
    /// Main interface: the first one that captures 802.11, or else the first one.
    pub main: InterfaceAnalysis,
    /// Other interfaces of the file.
    pub others: BTreeMap<u32, InterfaceAnalysis>,
    /// Packets of interfaces beyond [`OTHERS_MAX`].
    pub others_left_out: u64,
    /// Time of the previous packet, in ns since 1970.
    last_ns: Option<u64>,
    /// Number of packets without a time.
    without_time: u64,
    /// Latest eviction of idle links and flows.
    eviction: Eviction,
}

/// An eviction of idle links and flows.
#[derive(Clone, Copy, Debug, Default)]
struct Eviction {
    /// Time of the eviction, in ns since 1970.
    at_ns: u64,
    /// Number of packets before it.
    packets: u64,
}

/// One interface of a file, with the file's length, for results about this interface alone.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InterfaceView<'a> {
    /// Air as the interface captured it.
    pub air: &'a Air,
    /// Flows at the interface.
    pub flows: &'a Flows,
    /// Number of packets of the file.
    pub packets: u64,
    interface: &'a InterfaceAnalysis,
    analysis: &'a Analysis,
}

/// Minimum number of packets between two evictions.
const EVICTION_PACKETS: u64 = 1_000;

impl Analysis {
    /// Creates an analysis that opens protected frames with these credentials, if there are any.
    pub fn new(credentials: Credentials) -> Self {
        let decryption = (!credentials.is_empty()).then(|| Box::new(Decryption::new(credentials)));
        let file = FileAnalysis { decryption, ..FileAnalysis::default() };
        Self { file, ..Self::default() }
    }

    /// Returns the results for protected frames; `None` without credentials.
    pub fn decryption(&self) -> Option<&Decryption> {
        self.file.decryption.as_deref()
    }

    /// Analyses the next packet.
    pub fn handle_packet(&mut self, packet: &Packet<'_>) {
        self.packets += 1;
        let at_ns = packet.at_ns.or(self.last_ns).unwrap_or_default();
        if packet.at_ns.is_none() {
            self.without_time += 1;
        } else {
            let is_before = self.last_ns.is_some_and(|last| at_ns < last);
            self.file.counts.clock_backwards += u64::from(is_before);
            if self.file.first_ns.is_none() && self.packets > 1 {
                self.begin(at_ns);
            }
            self.file.first_ns.get_or_insert(at_ns);
            self.last_ns = Some(at_ns);
        }
        // A clock that jumps back and forth does not cause more evictions.
        let since = self.packets - self.eviction.packets;
        if at_ns.abs_diff(self.eviction.at_ns) >= IDLE_NS && since >= EVICTION_PACKETS {
            self.evict_idle(at_ns);
        }
        *self.links.entry(packet.link).or_default() += 1;
        self.file.counts.cut += u64::from(packet.is_cut());
        if self.packets == 1 {
            self.main.air.interface = packet.interface;
        }
        if self.main.number() == packet.interface {
            self.main.handle_packet(&mut self.file, None, packet, at_ns);
            if let Some(again) = self.main.air.again.take() {
                let Self { file, others, .. } = self;
                others.values_mut().for_each(|it| it.handle_again(file, again));
            }
        } else {
            self.handle_other(packet, at_ns);
        }
    }

    /// Analyses a packet of an interface other than the main one.
    fn handle_other(&mut self, packet: &Packet<'_>, at_ns: u64) {
        let number = packet.interface;
        let is_full = self.others.len() >= OTHERS_MAX;
        let is_watched = self.file.journal.is_some();
        let other = match self.others.entry(number) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(_) if is_full => {
                self.others_left_out += 1;
                return;
            }
            Entry::Vacant(entry) => entry.insert(InterfaceAnalysis::new(number, is_watched)),
        };
        other.handle_packet(&mut self.file, Some(&mut self.main.flows), packet, at_ns);
        let (is_air, again) = (other.is_air(), other.air.again.take());
        if let Some(again) = again {
            let Self { file, main, others, .. } = self;
            let rest = others.values_mut().filter(|it| it.number() != number);
            iter::once(main).chain(rest).for_each(|it| it.handle_again(file, again));
        }
        if is_air && !self.main.is_air() {
            self.promote(number);
        }
    }

    /// Makes another interface the main one.
    fn promote(&mut self, number: u32) {
        let Some(other) = self.others.remove(&number) else { return };
        let main = mem::replace(&mut self.main, other);
        self.others.insert(main.number(), main);
    }

    /// Handles the first packet with a time after packets without one: these get its time.
    fn begin(&mut self, at_ns: u64) {
        self.interfaces_mut().for_each(|interface| interface.begin(at_ns));
    }

    fn interfaces_mut(&mut self) -> impl Iterator<Item = &mut InterfaceAnalysis> {
        iter::once(&mut self.main).chain(self.others.values_mut())
    }

    /// Returns the number of packets without a time. Such packets get the time of the previous packet.
    pub const fn without_time(&self) -> u64 {
        self.without_time
    }

    /// Reduces the memory of idle links and flows.
    fn evict_idle(&mut self, now_ns: u64) {
        self.eviction = Eviction { at_ns: now_ns, packets: self.packets };
        self.interfaces_mut().for_each(|interface| interface.evict_idle(now_ns));
        self.file.evict_idle(now_ns);
    }

    /// Records that the file cannot be read any further.
    pub fn handle_error(&mut self, error: &ReadError) {
        let offset = error.offset();
        let malformed = Malformed { frame: None, offset, message: error.to_string() };
        self.file.errors.push(malformed);
    }

    /// Ends the analysis: no more packets follow.
    pub fn finish(&mut self) {
        self.main.finish(&mut self.file);
        for other in self.others.values_mut() {
            other.finish(&mut self.file);
        }
    }

    /// Returns the number of packets that carry TCP, at all interfaces.
    pub fn packets_tcp(&self) -> u64 {
        let others = self.others.values().map(|other| other.flows.packets_tcp());
        self.main.flows.packets_tcp() + others.sum::<u64>()
    }

    /// Makes [`poll_event`](Self::poll_event) return each packet of IP, and each acknowledgement on
    /// the air. Call it before the first packet.
    pub fn watch(&mut self) {
        self.file.journal = Some(Box::default());
        self.main.air.log = Some(Vec::new());
    }

    /// Returns the next event, if the analysis is [watched](Self::watch).
    pub fn poll_event(&mut self) -> Option<Event> {
        self.file.journal.as_mut()?.poll()
    }

    /// Returns the times of the first and the last packet, in ns since 1970.
    pub fn times(&self) -> Option<(u64, u64)> {
        self.file.first_ns.zip(self.last_ns)
    }

    /// Returns the number of the main interface; `None` before the first packet.
    pub fn interface(&self) -> Option<u32> {
        (self.packets > 0).then(|| self.main.number())
    }

    /// Returns data on a link between devices, and the time that its receiver spent there, in ns.
    pub(crate) fn link(&self, link: &PairLink) -> Option<(&Link, u64)> {
        let mut interfaces = iter::once(&self.main).chain(self.others.values());
        let air = &interfaces.find(|it| it.number() == link.interface)?.air;
        let data = air.links.get(&(air.stations.find(link.from)?, air.stations.find(link.to)?))?;
        Some((data, air.time_of(data.from)))
    }

    /// Returns one of the interfaces as the subject of results.
    pub(crate) fn view<'a>(&'a self, interface: &'a InterfaceAnalysis) -> InterfaceView<'a> {
        InterfaceView {
            air: &interface.air,
            flows: &interface.flows,
            packets: self.packets,
            interface,
            analysis: self,
        }
    }
}

impl<'a> InterfaceView<'a> {
    /// Returns the times of the first and the last packet of the file, in ns since 1970.
    pub fn times(&self) -> Option<(u64, u64)> {
        self.analysis.times()
    }

    /// Returns the links that carried the latest packet of one direction of a flow, if it was on the
    /// air: all of a device.
    pub fn links_of(&self, direction: &Direction) -> Vec<&'a Link> {
        let Some(space) = direction.space else { return Vec::new() };
        let Some(pair) = self.analysis.file.pair_of(space) else {
            return self.interface.link_of(space).into_iter().collect();
        };
        pair.links.iter().filter_map(|link| Some(self.analysis.link(link)?.0)).collect()
    }
}

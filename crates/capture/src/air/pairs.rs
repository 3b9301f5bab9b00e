//! Data from one multi-link device to another, over all their links (IEEE 802.11be-2024, 35.3.8): a
//! TID has one space of sequence numbers, an MPDU that fails on one link may be sent again on another,
//! and the receiver puts them in order. Interfaces of a file that capture different links share this
//! state.
//!
//! Each link belongs to the interface that captured it first: an interface that captures the same
//! link once more has its own numbers. Waits for the order are from the acknowledgement of an MPDU to
//! that of the earlier one that it waited for, in ns; a gap of 100 ms or more is no wait.

use super::chain::ChainCounts;
use super::exchange::{Spaces, is_data};
use super::ppdu::Ppdu;
use crate::limits::IDLE_NS;
use crate::numbers::Numbers;
use lasthop_units::{MacAddr, SeqNo12};
use std::collections::BTreeMap;

/// Data between devices.
#[derive(Debug, Default)]
pub struct Pairs {
    list: Vec<DevicePair>,
    by_devices: BTreeMap<[MacAddr; 2], usize>,
    /// Links by the addresses of sender and receiver, with the interface that captured them first.
    by_link: BTreeMap<[MacAddr; 2], (LinkPlace, u32)>,
}

/// Data from one device to another.
#[derive(Debug)]
pub struct DevicePair {
    /// Device that sends.
    pub from: MacAddr,
    /// Device that receives.
    pub to: MacAddr,
    /// Links that were heard.
    pub links: Vec<PairLink>,
    /// Sequence number spaces, unless a link uses them.
    pub(super) spaces: Spaces,
    orders: BTreeMap<u8, ReorderBuffer>,
    latest_ns: u64,
}

/// A link from one device to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PairLink {
    /// Address of the sender on this link.
    pub from: MacAddr,
    /// Address of the receiver on this link.
    pub to: MacAddr,
    /// Interface that captured it.
    pub interface: u32,
    /// MPDUs that were sent on another link before, each time that they came to this one.
    pub taken_over: u64,
    /// MPDUs that were acknowledged after their last attempt on this link, each once.
    pub delivered: u64,
    /// Those of them that waited for an earlier MPDU that another link sent first; the sum of these
    /// waits and the longest one, in ns.
    pub waits: (u64, u64, u64),
}

/// A link of a pair of devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkPlace {
    pair: u32,
    link: u8,
}

/// MPDUs of one TID between their first attempt and the receiver's upper layers. Numbers count on
/// beyond 4 095.
#[derive(Debug, Default)]
struct ReorderBuffer {
    marks: Numbers<MpduLinks>,
    /// First number that the receiver still waits for.
    next: Option<u64>,
    /// Later numbers that it has, and the times of their acknowledgements.
    held: BTreeMap<u64, u64>,
}

/// Links of the first and the latest attempt of an MPDU, from 1; 0 before it.
#[derive(Clone, Copy, Debug, Default)]
struct MpduLinks {
    first: u8,
    last: u8,
}

/// Largest number of pairs of devices, and of links.
const PAIRS_MAX: usize = 4_096;
const LINKS_MAX: usize = 16_384;
/// Largest number of links of a pair: that of a device.
const LINKS_EACH_MAX: usize = 15;
/// Largest window of a Block Ack agreement (IEEE 802.11be-2024, 9.4.1.13).
const WINDOW_MAX: u16 = 1_024;
/// Time after which a receiver no longer waits for an MPDU, in ns, as in mac80211.
const GIVEN_UP_NS: u64 = 100_000_000;

impl Pairs {
    /// Returns the place of the link from one address to another, if it belongs to this interface.
    /// `devices` are those of both ends of a new link.
    pub fn place(
        &mut self,
        ends: [MacAddr; 2],
        interface: u32,
        devices: impl FnOnce() -> Option<[MacAddr; 2]>,
    ) -> Option<LinkPlace> {
        let (place, owner) = match self.by_link.get(&ends) {
            Some(known) => *known,
            None => {
                let place = self.add(ends, interface, devices()?)?;
                self.by_link.insert(ends, (place, interface));
                (place, interface)
            }
        };
        (owner == interface).then_some(place)
    }

    fn add(
        &mut self,
        [from, to]: [MacAddr; 2],
        interface: u32,
        devices: [MacAddr; 2],
    ) -> Option<LinkPlace> {
        let known = self.by_devices.get(&devices).copied();
        if self.by_link.len() >= LINKS_MAX || known.is_none() && self.list.len() >= PAIRS_MAX {
            return None;
        }
        let pair = known.unwrap_or(self.list.len());
        if known.is_none() {
            self.list.push(DevicePair::new(devices));
            self.by_devices.insert(devices, pair);
        }
        let links = &mut self.list[pair].links;
        let link = links.len();
        if link >= LINKS_EACH_MAX {
            return None;
        }
        let (taken_over, delivered, waits) = Default::default();
        links.push(PairLink { from, to, interface, taken_over, delivered, waits });
        Some(LinkPlace { pair: pair as u32, link: link as u8 })
    }

    /// Handles the first acknowledgement of an MPDU on a link.
    pub(super) fn handle_acknowledged(
        &mut self,
        place: Option<LinkPlace>,
        tid: u8,
        sequence: SeqNo12,
        at_ns: u64,
    ) {
        if let Some(place) = place {
            self.at(place).handle_acknowledged(tid, sequence, at_ns);
        }
    }

    /// Returns the pair of a link.
    pub(super) fn at(&mut self, place: LinkPlace) -> &mut DevicePair {
        &mut self.list[place.pair as usize]
    }

    /// Returns a pair by its [number](LinkPlace::pair).
    pub fn get(&self, pair: u32) -> Option<&DevicePair> {
        self.list.get(pair as usize)
    }

    /// Returns all pairs in the order in which they were heard.
    pub fn iter(&self) -> impl Iterator<Item = &DevicePair> {
        self.list.iter()
    }

    /// Reduces the memory of pairs that have been idle for long.
    pub(crate) fn evict_idle(&mut self, now_ns: u64) {
        for pair in &mut self.list {
            if now_ns.saturating_sub(pair.latest_ns) >= IDLE_NS {
                pair.spaces.iter_mut().flatten().for_each(|chains| chains.compact());
                pair.orders.clear();
            }
        }
    }
}

impl LinkPlace {
    /// Returns the number of the pair.
    pub const fn pair(self) -> u32 {
        self.pair
    }
}

impl DevicePair {
    fn new([from, to]: [MacAddr; 2]) -> Self {
        let (links, spaces, orders) = Default::default();
        Self { from, to, links, spaces, orders, latest_ns: 0 }
    }

    /// Returns the counts of MPDUs over all links and TIDs.
    pub fn chains(&self) -> ChainCounts {
        let mut sum = ChainCounts::default();
        self.spaces.iter().flatten().for_each(|chains| sum.sum(&chains.counts()));
        sum
    }

    /// Whether the latest MPDU with this number was acknowledged on any link; `None` if it was not
    /// captured.
    pub(crate) fn is_acknowledged(&self, tid: u8, sequence: SeqNo12) -> Option<bool> {
        self.spaces.get(usize::from(tid))?.as_ref()?.fate(sequence)
    }

    /// Handles a data PPDU on a link. Returns the number of its MPDUs whose previous attempt was not
    /// on this link.
    pub(super) fn handle_ppdu(&mut self, place: LinkPlace, ppdu: &Ppdu) -> u64 {
        self.latest_ns = self.latest_ns.max(ppdu.at_ns);
        let here = place.link + 1;
        let mut new = 0;
        for mpdu in ppdu.mpdus.iter().filter(|mpdu| is_data(mpdu.kind) && mpdu.fragment == 0) {
            let (Some(sequence), Some(tid)) = (mpdu.sequence, mpdu.tid) else { continue };
            let order = self.orders.entry(tid).or_default();
            order.next.get_or_insert(u64::from(sequence.as_u16()));
            let mark = order.marks.at(sequence.as_u16());
            if !mpdu.retry {
                *mark = MpduLinks { first: here, ..MpduLinks::default() };
            }
            let before = std::mem::replace(&mut mark.last, here);
            if mark.first == 0 {
                mark.first = here;
            }
            new += u64::from(before != here);
            let is_other = before != 0 && before != here;
            self.links[usize::from(place.link)].taken_over += u64::from(is_other);
        }
        new
    }

    /// Handles the first acknowledgement of an MPDU.
    pub(super) fn handle_acknowledged(&mut self, tid: u8, sequence: SeqNo12, at_ns: u64) {
        let Some(order) = self.orders.get_mut(&tid) else { return };
        let mark = order.marks.get(sequence.as_u16());
        let Some(link) = mark.last.checked_sub(1) else { return };
        self.links[usize::from(link)].delivered += 1;
        order.handle_acknowledged(sequence, at_ns, &mut self.links);
    }
}

impl ReorderBuffer {
    fn handle_acknowledged(&mut self, sequence: SeqNo12, at_ns: u64, links: &mut [PairLink]) {
        let Some(mut next) = self.next else { return };
        let expected = SeqNo12::new((next % u64::from(SeqNo12::MODULUS)) as u16);
        let behind = expected.distance_from(sequence);
        if (1..=WINDOW_MAX).contains(&behind) {
            return;
        }
        let number = next + u64::from(sequence.distance_from(expected));
        while let Some((first, since)) = self.held.first_key_value() {
            let is_far = number.saturating_sub(next) >= u64::from(WINDOW_MAX);
            if !is_far && at_ns.saturating_sub(*since) < GIVEN_UP_NS {
                break;
            }
            next = self.release(*first, |_, _| {});
        }
        // The sender has restarted its numbers, or the monitor was elsewhere.
        if number.saturating_sub(next) >= u64::from(WINDOW_MAX) {
            next = number;
        }
        if number == next {
            let first = self.marks.get(sequence.as_u16()).first;
            next = self.release(number + 1, |mark, since| {
                if first != mark.last {
                    let wait = at_ns.saturating_sub(since);
                    let (number, sum, longest) = &mut links[usize::from(mark.last - 1)].waits;
                    (*number, *sum) = (*number + u64::from(wait > 0), *sum + wait);
                    *longest = wait.max(*longest);
                }
            });
        } else if number > next {
            self.held.insert(number, at_ns);
        }
        self.next = Some(next);
    }

    /// Releases the MPDUs from `next` on that the receiver holds, up to the next gap. Returns the
    /// number of this gap.
    fn release(&mut self, mut next: u64, mut released: impl FnMut(MpduLinks, u64)) -> u64 {
        while let Some(since) = self.held.remove(&next) {
            released(self.marks.get((next % u64::from(SeqNo12::MODULUS)) as u16), since);
            next += 1;
        }
        next
    }
}

//! The loan of what the links of a device share: the queue, the MPDUs to retransmit, and the peers
//! that a link reaches now. `devices` has the devices themselves.

use super::config::LinkSet;
use super::edcaf::{EDCAFS, Gate, Link};
use super::exchange::content::Exchange;
use super::floor::Floor;
use super::power::Power;
use super::station::Station;
use crate::air::Content;
use crate::mac::originator::Common;
use crate::station::{Address, StationId};
use alloc::boxed::Box;
use alloc::vec::Vec;
use lasthop_packet::queue::Held;
use lasthop_units::Duration;

impl Floor<'_> {
    /// Creates the EDCAFs of all links of a device.
    #[cold]
    pub(super) fn make_linked_edcafs(&mut self, power: &Power, station: StationId, edcaf: usize) {
        for link in self.devices.links(station).to_vec() {
            if self.stations[link.index()].edcafs[edcaf].is_none() {
                self.make_edcaf(power, link, edcaf);
            }
            let peers = alloc::vec![None; self.stations.len()];
            let heads = self.devices.heads.clone();
            let is_first = self.devices.head(link) == link;
            let (lent, elsewhere) = (Vec::new(), Held::NONE);
            let of_link = Link { heads, peers, is_first, lent, has_work: false, elsewhere };
            self.stations[link.index()].edcaf(edcaf).link = Some(Box::new(of_link));
            self.seek_peers(link, edcaf);
        }
    }

    /// Finds the peers that a link reaches now.
    fn seek_peers(&mut self, link: StationId, edcaf: usize) {
        let Self { devices, stations, now, .. } = self;
        let Some(access) = &mut stations[link.index()].edcafs[edcaf] else { return };
        let Some(mut of_link) = access.link.take() else { return };
        for index in 0..of_link.peers.len() {
            let peer = StationId(index as u16);
            if devices.head(peer) == peer && peer != devices.head(link) {
                // A Block Ack that was missed is asked for where it was missed.
                of_link.peers[index] =
                    devices.reached(*now, stations, link, edcaf, peer).filter(|to| {
                        devices.takes(stations, link, edcaf, peer)
                            || is_unanswered(stations, link, edcaf, *to)
                    });
            }
        }
        self.stations[link.index()].edcaf(edcaf).link = Some(of_link);
    }

    /// Lends a link what its device shares, for the PPDU to build.
    pub(super) fn lend(&mut self, link: StationId, edcaf: usize) {
        self.seek_peers(link, edcaf);
        self.swap_queue(link, edcaf);
        let Self { devices, stations, settings, now, .. } = self;
        let Some(place) = devices.place(link) else { return };
        let mut all = core::mem::take(&mut devices.all[place.device].common[edcaf]);
        let mut lent = Vec::new();
        for (head, common) in &mut all {
            let Some(to) = devices.reached(*now, stations, link, edcaf, *head) else { continue };
            let takes = devices.takes(stations, link, edcaf, *head);
            if !takes && !is_unanswered(stations, link, edcaf, to) {
                continue;
            }
            let elsewhere = devices.oldest_elsewhere(stations, link, edcaf, *head, common);
            let state = &mut stations[link.index()];
            let index = state.originator(settings, edcaf, Address::Station(to));
            let access = state.edcaf(edcaf);
            if access.originators[index].is_unanswered() {
                access.originators[index].follow_common(common, elsewhere);
                continue;
            }
            access.originators[index].borrow_common(common, elsewhere);
            let held = access.originators[index].held();
            access.held = plus(access.held, held);
            lent.push(index);
        }
        devices.all[place.device].common[edcaf] = all;
        if let Some(of_link) = &mut stations[link.index()].edcaf(edcaf).link {
            of_link.lent = lent;
        }
    }

    /// Takes back what the PPDU that was built, if one was, leaves.
    pub(super) fn take_back(&mut self, link: StationId, edcaf: usize, built: Option<&Exchange>) {
        let (peer, kept, asks) = match built {
            Some(Exchange::Single(single)) => match single.content {
                Content::Data { mpdus, .. } => (Some(single.peer), mpdus, false),
                Content::BlockAckRequest { .. } => (Some(single.peer), usize::MAX, true),
                Content::Management(_) | Content::Beacon => (None, 0, false),
            },
            _ => (None, 0, false),
        };
        let Self { devices, stations, .. } = self;
        let Some(place) = devices.place(link) else { return };
        let access = stations[link.index()].edcaf(edcaf);
        let lent = access.link.as_mut().map(|of_link| core::mem::take(&mut of_link.lent));
        let lent = lent.unwrap_or_default();
        for index in 0..access.originators.len() {
            let Address::Station(to) = access.originators[index].peer else { continue };
            let head = devices.head(to);
            let all = &mut devices.all[place.device].common[edcaf];
            let known = all.iter().position(|(other, _)| *other == head);
            if known.is_some() && !lent.contains(&index) {
                continue;
            }
            let position = known.unwrap_or_else(|| {
                all.push((head, Common::default()));
                all.len() - 1
            });
            let is_its = peer == Some(Address::Station(to));
            let (kept, asks) = if is_its { (kept, asks) } else { (0, false) };
            let before = access.originators[index].held();
            access.originators[index].return_common(&mut all[position].1, kept, asks);
            let after = access.originators[index].held();
            access.let_go(before, after);
        }
        self.swap_queue(link, edcaf);
        self.settle_held(link);
        self.seek_work(link, edcaf);
    }

    /// Takes back the MPDUs that an exchange of a link has not settled, and lets the other links
    /// contend for them. Those of a missed Block Ack stay with the link.
    pub(super) fn give_back(&mut self, link: StationId, edcaf: usize) {
        let Self { devices, stations, .. } = self;
        let Some(place) = devices.place(link) else { return };
        let access = stations[link.index()].edcaf(edcaf);
        if access.link.is_none() {
            return;
        }
        for index in 0..access.originators.len() {
            let Address::Station(to) = access.originators[index].peer else { continue };
            let head = devices.head(to);
            let may_ask = devices.may_use(link, edcaf, head)
                && !access.absent.holds(Address::Station(to))
                && access.gate == Gate::Open;
            let all = &mut devices.all[place.device].common[edcaf];
            let Some((_, common)) = all.iter_mut().find(|(other, _)| *other == head) else {
                continue;
            };
            if access.originators[index].is_unanswered() {
                if may_ask {
                    continue;
                }
                access.originators[index].give_request_up();
            }
            let before = access.originators[index].held();
            access.originators[index].return_unsettled(common);
            let after = access.originators[index].held();
            access.let_go(before, after);
        }
        self.settle_held(link);
        self.arm_links(link, edcaf);
    }

    /// Lets all links of a device contend that have work.
    pub(super) fn arm_links(&mut self, link: StationId, edcaf: usize) -> bool {
        if let Some(place) = self.devices.place(link)
            && self.devices.all[place.device].usable.is_due(self.now)
        {
            self.choose_links(place.device, edcaf);
        }
        self.seek_work(link, edcaf);
        let Self { devices, stations, contention, now, .. } = self;
        let mut begins = false;
        for link in devices.links(link) {
            begins |= stations[link.index()].arm(contention, *now, edcaf);
        }
        begins
    }

    /// Lets what waited for the end of an exchange of `station` go on: the devices that took part,
    /// and their access points.
    pub(super) fn release(&mut self, station: StationId) {
        for (head, at) in self.devices.release(self.now, station) {
            for index in 0..self.devices.links(head).len() {
                let link = self.devices.links(head)[index];
                let access_point = self.access_point_of(link);
                for edcaf in 0..EDCAFS {
                    if index == 0 && self.stations[link.index()].edcafs[edcaf].is_some() {
                        self.arm_links(link, edcaf);
                    }
                    if self.stations[access_point.index()].edcafs[edcaf].is_some() {
                        self.timers.rest(at, access_point, edcaf);
                    }
                }
            }
        }
    }

    /// Finds which links of a device have work, and what each does not hold itself.
    fn seek_work(&mut self, link: StationId, edcaf: usize) {
        let Some(place) = self.devices.place(link) else { return };
        let links = self.devices.all[place.device].links.clone();
        let head = links[0];
        let held = |stations: &[Station], link: StationId| {
            stations[link.index()].edcafs[edcaf].as_ref().map_or(Held::NONE, |access| access.held)
        };
        let common = &self.devices.all[place.device].common[edcaf];
        let mut whole = common.iter().fold(Held::NONE, |sum, (_, it)| plus(sum, it.held()));
        for link in &links {
            whole = plus(whole, held(self.stations, *link));
        }
        // A queue that shares airtime gives turns to those with retransmissions alone, too.
        if let Some(access) = &mut self.stations[head.index()].edcafs[edcaf] {
            for (peer, common) in common {
                access.queue.set_waiting(Address::Station(*peer).into(), common.is_waiting());
            }
        }
        for &link in &links {
            self.seek_peers(link, edcaf);
            let Self { devices, stations, now, .. } = self;
            let common = &devices.all[place.device].common[edcaf];
            let repeats = |(head, common): &(StationId, Common)| {
                common.is_waiting() && devices.on_link(*now, stations, link, edcaf, *head).is_some()
            };
            let mut has_work = common.iter().any(repeats);
            has_work |= stations[link.index()].edcaf(edcaf).peer_to_ask().is_some();
            if !has_work && let Some(mut access) = stations[head.index()].edcafs[edcaf].take() {
                let next = access.queue.next_peer_where(|key| {
                    let Address::Station(peer) = Address::from(key) else {
                        // What is on the air holds the next group frame back.
                        return link == head
                            && access.originators.iter().all(|originator| {
                                originator.peer != Address::Group || originator.pending.is_empty()
                            });
                    };
                    let known = common.iter().find(|(other, _)| *other == peer);
                    let has_window = known.is_none_or(|(_, common)| {
                        let oldest = |link: &StationId| {
                            if *link == head {
                                devices.first_on_air(&access.originators, peer)
                            } else {
                                devices.first_of(stations, *link, edcaf, peer)
                            }
                        };
                        let on_air = links.iter().filter_map(oldest);
                        let on_air = on_air.fold(None, |one, it| common.older(one, Some(it)));
                        common.has_window(on_air)
                    });
                    has_window && devices.on_link(*now, stations, link, edcaf, peer).is_some()
                });
                has_work = next.is_some();
                stations[head.index()].edcafs[edcaf] = Some(access);
            }
            let own = held(stations, link);
            // A link that dozes wakes up first.
            has_work &= stations[link.index()].edcaf(edcaf).gate == Gate::Open;
            if let Some(of_link) = &mut stations[link.index()].edcaf(edcaf).link {
                of_link.has_work = has_work;
                of_link.elsewhere =
                    Held { packets: whole.packets - own.packets, bytes: whole.bytes - own.bytes };
            }
        }
        self.note_idle(link, edcaf);
    }

    /// Lets a device choose its links.
    #[cold]
    fn choose_links(&mut self, device: usize, edcaf: usize) {
        let busy = self.others_on_air(device);
        let Self { devices, stations, settings, now, .. } = self;
        let links = devices.all[device].links.clone();
        let peers = devices.all[device].common[edcaf].iter().map(|(peer, _)| *peer);
        let peers: Vec<StationId> = peers.collect();
        let mut rates = Vec::new();
        for peer in peers {
            let rate = |link: &StationId| {
                let to = devices.there(stations, *link, peer)?;
                let may = devices.may_use(*link, edcaf, peer);
                let state = &mut stations[link.index()];
                let index = state.originator(settings, edcaf, Address::Station(to));
                let control = state.edcaf(edcaf).originators[index].rate_control.as_ref();
                control.filter(|_| may).map(|control| control.main_rate().bitrate())
            };
            rates.push((peer, links.iter().map(rate).collect()));
        }
        devices.all[device].usable.choose(*now, busy, rates.into_iter());
    }

    /// Time that others were on the air, by link of a device, since their counts were zero.
    fn others_on_air(&self, device: usize) -> Vec<Duration> {
        let Self { devices, stations, contention, channels, .. } = self;
        let links = &devices.all[device].links;
        let is_other = |own: StationId, station: &Station| {
            devices.head(station.id) != links[0]
                && channels.overlap(own, station.id)
                && channels.senses(contention, own, station.id)
        };
        let busy = links.iter().map(|own| {
            let others = stations.iter().filter(|station| is_other(*own, station));
            others.fold(Duration::ZERO, |sum, station| sum + station.stats.airtime)
        });
        busy.collect()
    }

    /// Keeps what devices know of their links, before all counts are set to zero.
    pub(super) fn keep_busy(&mut self) {
        for device in 0..self.devices.all.len() {
            let busy = self.others_on_air(device);
            self.devices.all[device].usable.keep(&busy);
        }
    }

    /// Switches links of a device off, and the others of these on.
    pub(super) fn switch_links(&mut self, head: StationId, off: LinkSet) {
        let Some(place) = self.devices.place(head) else { return };
        self.devices.all[place.device].usable.off = off;
        for device in 0..self.devices.all.len() {
            for link in self.devices.all[device].links.clone() {
                self.return_all(link);
            }
        }
    }

    /// Returns what a link keeps, if it may not be used any more.
    pub(super) fn return_all(&mut self, link: StationId) {
        for edcaf in 0..EDCAFS {
            let state = &self.stations[link.index()];
            // An exchange returns its MPDUs when it is over.
            if state.edcafs[edcaf].is_some() && state.exchange.is_none() {
                self.give_back(link, edcaf);
            }
        }
    }

    /// Swaps the queue of a link with that of its device.
    fn swap_queue(&mut self, link: StationId, edcaf: usize) {
        let head = self.devices.head(link);
        if head == link {
            return;
        }
        let both = self.stations.get_disjoint_mut([head.index(), link.index()]);
        let [first, own] = both.expect("they are two");
        let (first, own) = (first.edcaf(edcaf), own.edcaf(edcaf));
        core::mem::swap(&mut first.queue, &mut own.queue);
    }

    /// Counts at the first link what another one released: all packets of a device are held there.
    fn settle_held(&mut self, link: StationId) {
        let head = self.devices.head(link);
        if head != link {
            let released = core::mem::take(&mut self.stations[link.index()].held_packets);
            self.stations[head.index()].hold(self.now, 0, released.wrapping_neg());
        }
    }
}

/// Whether a link asks `to` for a Block Ack that it missed.
fn is_unanswered(stations: &[Station], link: StationId, edcaf: usize, to: StationId) -> bool {
    stations[link.index()].edcafs[edcaf].as_ref().is_some_and(|access| {
        let index = access.originator(Address::Station(to));
        index.is_some_and(|index| access.originators[index].is_unanswered())
    })
}

/// The sum of two.
fn plus(one: Held, other: Held) -> Held {
    let mut sum = one;
    sum.packets += other.packets;
    sum.bytes += other.bytes;
    sum
}

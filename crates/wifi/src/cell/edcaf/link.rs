//! An EDCAF as a link of a device (IEEE 802.11be-2024, 35.3): its peers on this link, and their
//! packets in the queue of the device.

use crate::station::{Address, StationId};
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use lasthop_packet::queue::{Held, PeerId};

/// The part of an EDCAF in a device of several links.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::cell) struct Link {
    /// First station of the device of each station, which itself has one if it is alone.
    pub heads: Arc<[StationId]>,
    /// Station of this link by the first one of its device; `None` if it has no such link, or
    /// cannot be reached by it now.
    pub peers: Vec<Option<StationId>>,
    /// Whether it is the first link, which sends the group frames.
    pub is_first: bool,
    /// Originators that have borrowed from the device, while a PPDU is built.
    pub lent: Vec<usize>,
    /// Whether the device has frames that this link may send.
    pub has_work: bool,
    /// Packets that the device holds, below the queue, beside those of this link.
    pub elsewhere: Held,
}

impl Link {
    /// These packets of the link with those that the rest of the device holds.
    pub fn with_elsewhere(&self, own: Held) -> Held {
        let mut all = self.elsewhere;
        all.packets += own.packets;
        all.bytes += own.bytes;
        all
    }
}

/// Key in the queue of the packets for `peer`.
#[inline]
pub(super) fn key_of(link: &Option<Box<Link>>, peer: Address) -> PeerId {
    match (link, peer) {
        (Some(link), Address::Station(station)) => Address::Station(link.heads[station.index()]),
        _ => peer,
    }
    .into()
}

/// The peer on this link whose packets have this key in the queue.
#[inline]
pub(super) fn peer_of(link: &Option<Box<Link>>, key: PeerId) -> Option<Address> {
    let peer = Address::from(key);
    match (link, peer) {
        (Some(link), Address::Station(head)) => {
            link.peers.get(head.index()).copied().flatten().map(Address::Station)
        }
        (Some(link), Address::Group) => Some(peer).filter(|_| link.is_first),
        (None, _) => Some(peer),
    }
}

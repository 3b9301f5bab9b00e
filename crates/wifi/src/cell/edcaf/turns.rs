//! Turns of an EDCAF's peers where A-MPDUs are built ahead: in the hardware queue, and whose
//! A-MPDU is built next. MPDUs are on the air, built, or still to be built, in sequence order.

use super::super::hardware::{Hardware, Turn, mpdus_on_air};
use super::{Edcaf, Unreachable, originator_of};
use crate::mac::originator::{Agreement, Originator};
use crate::station::Address;

/// The peers of an EDCAF without its queue.
#[derive(Clone, Copy)]
struct Peers<'a> {
    originators: &'a [Originator],
    index: &'a [Option<u16>],
    absent: &'a Unreachable,
    hardware: &'a Hardware,
    on_air: Option<Turn>,
}

impl<'a> Peers<'a> {
    fn originator(self, peer: Address) -> Option<&'a Originator> {
        originator_of(self.originators, self.index, peer)
    }

    fn is_reachable(self, peer: Address) -> bool {
        !self.absent.holds(peer) && !self.absent.is_dozing(peer)
    }

    /// Whether there are MPDUs for `peer` that are neither on the air nor built, or a due Block Ack
    /// Request without a turn.
    fn has_to_repeat(self, peer: Address) -> bool {
        let elsewhere = self.hardware.mpdus_for(peer) + mpdus_on_air(self.on_air, peer);
        self.originator(peer).is_some_and(|originator| {
            originator.pending.len() > elsewhere
                || originator.block_ack_request_due && !self.hardware.has(peer)
        })
    }

    /// Whether another packet for `peer` may be taken.
    fn has_window(self, peer: Address) -> bool {
        self.originator(peer).is_none_or(Originator::has_window)
    }

    /// Whether a turn may be built for `peer` if there are packets for it. A peer without an
    /// agreement has one turn at a time.
    fn may_build(self, peer: Address) -> bool {
        let agreement = self.originator(peer).map_or(Agreement::None, |one| one.agreement);
        let is_next = match agreement {
            Agreement::Established { .. } => true,
            Agreement::Requested => false,
            Agreement::None | Agreement::Failed { .. } => !self.hardware.has(peer),
        };
        is_next && self.is_reachable(peer) && (self.has_to_repeat(peer) || self.has_window(peer))
    }
}

impl Edcaf {
    fn beside(&self, on_air: Option<Turn>) -> Peers<'_> {
        let Self { originators, index, absent, hardware, .. } = self;
        Peers { originators, index, absent, hardware, on_air }
    }

    /// The peer of the first turn in the hardware queue that may be sent.
    pub(super) fn next_in_hardware(&self) -> Option<Address> {
        self.hardware.next_where(|peer| {
            let originator = self.originator(peer).map(|index| &self.originators[index]);
            !self.absent.holds(peer)
                && originator.is_none_or(|one| one.agreement != Agreement::Requested)
        })
    }

    /// Takes the turn of `peer`, which sends now; returns the number of MPDUs of a built A-MPDU, or
    /// that of the pending MPDUs, none of which are built. `None` if neither exist, and for dozing
    /// peers, for which nothing is built.
    #[inline]
    pub fn take_turn(&mut self, peer: Address) -> Option<usize> {
        if self.hardware.is_used() { self.take_built(peer) } else { None }
    }

    #[inline(never)]
    fn take_built(&mut self, peer: Address) -> Option<usize> {
        if self.absent.is_dozing(peer) {
            return None;
        }
        let index = self.originator(peer)?;
        let pending = self.originators[index].pending.len();
        let built = self.hardware.take(peer).filter(|&mpdus| mpdus > 0);
        Some(built.unwrap_or(pending).min(pending)).filter(|&mpdus| mpdus > 0)
    }

    /// Whether the hardware queue has space, with these data on the air.
    pub fn has_hardware_space(&self, on_air: Option<Turn>) -> bool {
        let peers = self.beside(on_air);
        self.hardware.has_space(on_air, |peer| peers.is_reachable(peer))
    }

    /// Takes MPDUs that are not pending any more from the A-MPDUs in the hardware queue.
    pub fn shorten_built(&mut self, on_air: Option<Turn>) {
        let Self { hardware, originators, index, .. } = self;
        hardware.shorten(|peer| {
            let originator = originator_of(originators, index, peer);
            let pending = originator.map_or(0, |originator| originator.pending.len());
            pending.saturating_sub(mpdus_on_air(on_air, peer))
        });
    }

    /// Whether there is anything to repeat to `peer` while nothing is on the air.
    pub(super) fn has_to_repeat(&self, peer: Address) -> bool {
        self.beside(None).has_to_repeat(peer)
    }

    /// Whether a turn is to be built for `peer`.
    fn has_to_build(&self, peer: Address, on_air: Option<Turn>) -> bool {
        let packets = if self.driver.is_used() {
            self.driver.len_packets_for(peer.into())
        } else {
            self.queue.len_packets_for(peer.into())
        };
        let peers = self.beside(on_air);
        peers.may_build(peer)
            && (peers.has_to_repeat(peer) || packets > 0 && peers.has_window(peer))
    }

    /// Lets `peer` wait for its turn to be built, if it has anything to build.
    pub fn await_turn(&mut self, peer: Address, on_air: Option<Turn>) {
        if self.builds_by_airtime() {
            let repeats = self.beside(on_air).has_to_repeat(peer);
            self.queue.set_waiting(peer.into(), repeats);
        } else if self.has_to_build(peer, on_air) {
            self.hardware.join(peer);
        }
    }

    /// The peer of the next turn to build.
    pub fn next_to_build(&mut self, on_air: Option<Turn>) -> Option<Address> {
        if self.builds_by_airtime() {
            let Self { queue, originators, index, absent, hardware, .. } = self;
            let peers = Peers { originators, index, absent, hardware, on_air };
            return queue.next_peer_where(|peer| peers.may_build(peer.into())).map(Address::from);
        }
        for index in 0..self.originators.len() {
            self.await_turn(self.originators[index].peer, on_air);
        }
        loop {
            let peer = self.hardware.next_waiting()?;
            if self.has_to_build(peer, on_air) {
                return Some(peer);
            }
        }
    }

    /// Whether a queue that shares airtime decides whose turn is built.
    fn builds_by_airtime(&self) -> bool {
        self.queue.schedules_airtime() && !self.driver.is_used()
    }
}

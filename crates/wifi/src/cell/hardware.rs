//! The hardware queue of an EDCAF that builds A-MPDUs before it has won the channel, as in ath9k:
//! turns of peers in the order of transmission, and the order in which the driver serves its peers.
//!
//! A turn is an A-MPDU, or one frame to a peer without a Block Ack agreement. ath9k limits the
//! A-MPDUs of a hardware queue, of all peers together (`axq_ampdu_depth`, `ATH_AGGR_MIN_QDEPTH`).
//! Left out: its limit of eight single frames, of which a peer has one here.

use crate::station::Address;
use alloc::collections::VecDeque;

/// The hardware queue of an EDCAF.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Hardware {
    /// Limit of turns, with one on the air; 0 if nothing is built ahead.
    turns_max: usize,
    turns: VecDeque<Turn>,
    /// Peers with something to build: each has one A-MPDU built, and is then the last of them
    /// (`ath_txq_schedule` up to Linux 4.10).
    waiting: VecDeque<Address>,
    /// Number of times that the driver schedules now.
    calls: usize,
}

/// A turn of a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Turn {
    pub peer: Address,
    /// Number of MPDUs in a built A-MPDU; 0 for a frame that is chosen when it is sent.
    pub mpdus: usize,
}

/// Number of MPDUs for `peer` that are on the air.
pub(super) fn mpdus_on_air(on_air: Option<Turn>, peer: Address) -> usize {
    on_air.filter(|turn| turn.peer == peer).map_or(0, |turn| turn.mpdus)
}

impl Hardware {
    /// An empty queue of at most `turns_max` turns.
    pub fn new(turns_max: usize) -> Self {
        Self { turns_max, turns: VecDeque::new(), waiting: VecDeque::new(), calls: 0 }
    }

    /// Whether A-MPDUs are built ahead.
    pub fn is_used(&self) -> bool {
        self.turns_max > 0
    }

    /// Whether another turn fits. Turns of unreachable peers do not count, because hardware returns
    /// their frames.
    pub fn has_space(&self, on_air: Option<Turn>, is_reachable: impl Fn(Address) -> bool) -> bool {
        let turns = self.turns.iter().filter(|turn| is_reachable(turn.peer)).count();
        turns + usize::from(on_air.is_some()) < self.turns_max
    }

    /// Whether `peer` has a turn.
    pub fn has(&self, peer: Address) -> bool {
        self.turns.iter().any(|turn| turn.peer == peer)
    }

    /// Number of MPDUs in the A-MPDUs for `peer`.
    pub fn mpdus_for(&self, peer: Address) -> usize {
        self.turns.iter().filter(|turn| turn.peer == peer).map(|turn| turn.mpdus).sum()
    }

    /// Adds the last turn.
    pub fn push(&mut self, turn: Turn) {
        self.turns.push_back(turn);
    }

    /// Adds a turn ahead of all others.
    pub fn push_first(&mut self, turn: Turn) {
        self.turns.push_front(turn);
    }

    /// The peer of the first turn, among the peers that `eligible` accepts.
    pub fn next_where(&self, eligible: impl Fn(Address) -> bool) -> Option<Address> {
        self.turns.iter().map(|turn| turn.peer).find(|peer| eligible(*peer))
    }

    /// Takes the first turn of `peer`; returns its number of MPDUs.
    pub fn take(&mut self, peer: Address) -> Option<usize> {
        let index = self.turns.iter().position(|turn| turn.peer == peer)?;
        self.turns.remove(index).map(|turn| turn.mpdus)
    }

    /// Shortens the last A-MPDUs of each peer to the number of MPDUs that `mpdus_max` permits for
    /// it: others were given up, or sent in another way.
    pub fn shorten(&mut self, mpdus_max: impl Fn(Address) -> usize) {
        for index in (0..self.turns.len()).rev() {
            let Turn { peer, mpdus } = self.turns[index];
            let excess = self.mpdus_for(peer).saturating_sub(mpdus_max(peer));
            self.turns[index].mpdus -= excess.min(mpdus);
            if mpdus > 0 && self.turns[index].mpdus == 0 {
                self.turns.remove(index);
            }
        }
    }

    /// Lets the driver serve `peer`, after the peers that wait already.
    pub fn join(&mut self, peer: Address) {
        if !self.waiting.contains(&peer) {
            self.waiting.push_back(peer);
        }
    }

    /// Counts a packet that the driver was given, or a completed transmission: it schedules after
    /// each.
    pub fn call(&mut self) {
        self.calls += usize::from(self.is_used());
    }

    /// Ends the calls. Each found the queue full at last, and the peer that it looked at lost its
    /// place: `ath_txq_schedule` takes it from the list, stops, and appends it.
    pub fn end_calls(&mut self, is_full: bool) {
        let calls = core::mem::take(&mut self.calls);
        if is_full && !self.waiting.is_empty() {
            let places = calls % self.waiting.len();
            self.waiting.rotate_left(places);
        }
    }

    /// Takes the next peer that the driver serves.
    pub fn next_waiting(&mut self) -> Option<Address> {
        self.waiting.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::station::StationId;
    use alloc::vec::Vec;

    /// `ath_txq_schedule` of Linux 4.4 over lists of stations, with A-MPDUs for all of them.
    /// `packets` is the number that the driver is given after each completion; returns the stations
    /// in the order of their A-MPDUs.
    fn scheduled(stations: u16, packets: &[usize]) -> Vec<u16> {
        let mut list: VecDeque<u16> = (0..stations).collect();
        let (mut sent, mut depth) = (Vec::new(), 2);
        let mut schedule = |depth: &mut usize| {
            while let Some(first) = list.pop_front() {
                let is_full = *depth >= 2;
                if !is_full {
                    sent.push(first);
                    *depth += 1;
                }
                list.push_back(first);
                if is_full {
                    break;
                }
            }
        };
        for &packets in packets {
            depth -= 1;
            (0..=packets).for_each(|_| schedule(&mut depth));
        }
        sent
    }

    /// Two stations, and as many packets as an A-MPDU has: one of them has all turns if that is
    /// even. Three stations, and other numbers.
    #[test]
    fn the_driver_serves_its_peers_as_linux_does() {
        for (stations, packets) in
            [(2, [4; 9]), (2, [3; 9]), (3, [4; 9]), (3, [0; 9]), (3, [1, 2, 0, 5, 5, 1, 0, 2, 1])]
        {
            let peer = |station| Address::Station(StationId(station));
            let mut hardware = Hardware::new(2);
            (0..stations).for_each(|station| hardware.join(peer(station)));
            let served = packets.map(|packets| {
                (0..=packets).for_each(|_| hardware.call());
                let next = hardware.next_waiting().expect("all wait");
                hardware.join(next);
                hardware.end_calls(true);
                next
            });
            assert_eq!(
                served.to_vec(),
                scheduled(stations, &packets).into_iter().map(peer).collect::<Vec<_>>()
            );
            if (stations, packets) == (2, [4; 9]) {
                assert!(served.iter().all(|&one| one == peer(0)));
            }
        }
    }

    /// Two A-MPDUs, of 20 and 12 MPDUs, of which 25 MPDUs are left; the frame of another peer
    /// stays.
    #[test]
    fn the_last_a_mpdus_lose_what_was_given_up() {
        let [one, other] = [1, 2].map(|station| Address::Station(StationId(station)));
        let mut hardware = Hardware::new(2);
        for (peer, mpdus) in [(one, 20), (other, 0), (one, 12)] {
            hardware.push(Turn { peer, mpdus });
        }
        let left = |peer| if peer == one { 25 } else { 0 };
        hardware.shorten(left);
        assert_eq!((hardware.mpdus_for(one), hardware.has(other)), (25, true));
        hardware.shorten(|peer| left(peer).min(7));
        assert_eq!((hardware.take(one), hardware.take(one)), (Some(7), None));
        assert!(hardware.has_space(None, |_| true));
        assert!(!hardware.has_space(Some(Turn { peer: one, mpdus: 1 }), |_| true));
        assert!(hardware.has_space(Some(Turn { peer: one, mpdus: 1 }), |peer| peer != other));
    }
}

//! Packets at a device without a link: a roaming station between two access points, and an access
//! point that has failed, or listens for radar before it sends. All are lost: those that it holds when its link ends, and those that come
//! until it has one again.
//!
//! A station loses its link as it decides for another access point or notices that its own is gone.
//! mac80211 then takes the carrier off and removes the access point's entry with all queues
//! (`ieee80211_set_disassoc`: `netif_carrier_off`, `sta_info_flush`); the network stack drops packets
//! of an interface without a carrier (`noop_qdisc`), and mac80211 those without an entry
//! (`ieee80211_lookup_ra_sta`) or before the station is authorised (`ieee80211_build_hdr`). So packets
//! flow with the end of the join. An access point that failed is a device without power.
//!
//! A source that only keeps a queue full waits for the link, because it has no times. Left out: the
//! neighbour cache, in which Linux keeps packets for addresses that it looks for, and TCP's reaction
//! to a drop by `noop_qdisc` (it takes it for congestion).

use super::Cell;
use super::floor::Floor;
use super::power::{Away, Power};
use crate::station::StationId;
use lasthop_packet::{Packet, Transport};

impl Cell {
    /// Loses a packet that comes to `from`, if it has no link; returns whether.
    #[inline(never)]
    pub(super) fn loses_at_once(&mut self, from: StationId, packet: &Packet) -> bool {
        let Self { now, stations, outbox, .. } = self;
        let state = &mut stations[from.index()];
        let Some(reason) = state.away.as_deref().and_then(Away::loses) else { return false };
        state.stats.off_channel_drops += 1;
        outbox.lose(*now, from, Packet { arrived: *now, ..*packet }, reason);
        true
    }

    /// Whether packets like this one that a source offers to `from` would be taken, or lost at once: a
    /// TCP sender does not notice the loss.
    #[inline(never)]
    pub(super) fn accepts_offers(&self, from: StationId, packet: &Packet) -> bool {
        let away = self.stations[from.index()].away.as_deref();
        packet.transport == Transport::Tcp || away.and_then(Away::loses).is_none()
    }
}

impl Power {
    /// Ends the link of a station that lost its access point: it gives up its packets, unless a frame
    /// exchange is in progress.
    pub(super) fn unlink(&mut self, floor: &mut Floor<'_>, station: StationId) {
        let now = floor.now;
        floor.set_gate(station);
        floor.away(station).log_gone(now, true);
        if floor.engaged_until(station).is_none() {
            self.abandon_all(floor, station);
        }
    }
}

impl Floor<'_> {
    /// Announces that sources may offer packets to the station again.
    pub(super) fn announce_link(&mut self, station: StationId) {
        let Self { stations, outbox, .. } = self;
        stations[station.index()].announce_space(outbox);
    }
}

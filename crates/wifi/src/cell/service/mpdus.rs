//! How many MPDUs an access point sends in a PPDU to a station that dozes: one that a PS-Poll
//! asked for, or A-MPDUs in an unscheduled service period (IEEE 802.11-2020, 11.2.3).
//!
//! Max SP Length (9.4.1.17) counts MSDUs, A-MSDUs and management frames, whatever PPDUs they are
//! in. The last frame of a period has EOSP (9.2.4.5), and the station may doze once it has it: so
//! it goes alone, behind A-MPDUs whose MPDUs have been acknowledged or given up. That the last
//! frame is held back until the others have been sent is what MediaTek's driver does. Left
//! out: EOSP within an A-MPDU, of which a station that lost other MPDUs would get these only in
//! its next period.

use super::super::frames::Context;
use super::super::station::Station;
use crate::mac::sizes;
use crate::station::Address;

impl Station {
    /// How many MPDUs a PPDU to a peer may have: if it dozes one that its PS-Poll asked for; in
    /// a service period those that may still be sent but for the last, which is alone because of
    /// EOSP. 0 if the last one was sent, and whatever else there is waits for the next period.
    #[inline]
    pub(in super::super) fn mpdus_for(
        &mut self,
        cx: &Context<'_>,
        edcaf: usize,
        peer: Address,
    ) -> usize {
        match self.edcaf(edcaf).absent.is_dozing(peer) {
            true => self.mpdus_for_dozing(cx, edcaf, peer),
            false => usize::MAX,
        }
    }

    #[cold]
    fn mpdus_for_dozing(&mut self, cx: &Context<'_>, edcaf: usize, peer: Address) -> usize {
        let Address::Station(station) = peer else { return usize::MAX };
        let absent = &mut self.edcaf(edcaf).absent;
        let period = cx.services.iter().find(|period| period.is_for(peer));
        let Some(period) = period.filter(|_| absent.is_served(station)) else { return 1 };
        match period.left {
            None => usize::MAX,
            Some(0) => {
                absent.leave_service(station);
                0
            }
            Some(left) => usize::from(left - 1).max(1),
        }
    }

    /// An A-MPDU of so many MPDUs and bytes for a station in its service period, without its last
    /// MPDU if nothing is left for the station behind it. EOSP in that one would end the period
    /// although others may be lost; it goes alone, when they have been acknowledged.
    pub(in super::super) fn without_last(
        &mut self,
        (edcaf, index): (usize, usize),
        (mpdus, psdu_bytes): (usize, u32),
        spacing_bytes: u32,
    ) -> (usize, u32) {
        let peer = self.edcaf(edcaf).originators[index].peer;
        let Address::Station(station) = peer else { return (mpdus, psdu_bytes) };
        let accesses = self.edcafs.iter().flatten();
        let served = accesses.filter(|access| access.absent.is_served(station));
        let held: u32 = served.map(|access| access.deliverable_for(peer)).sum();
        if held as usize > mpdus {
            return (mpdus, psdu_bytes);
        }
        let pending = &self.edcaf(edcaf).originators[index].pending;
        let bytes = |place: usize| u32::from(pending[place].bytes);
        if mpdus == 2 {
            return (1, bytes(0));
        }
        // What goes ahead of the last one of an A-MPDU is padded.
        let removed = sizes::AMPDU_DELIMITER + bytes(mpdus - 1);
        let last = bytes(mpdus - 2);
        let padding = sizes::ampdu_subframe(last, spacing_bytes) - sizes::AMPDU_DELIMITER - last;
        (mpdus - 1, psdu_bytes - removed - padding)
    }
}

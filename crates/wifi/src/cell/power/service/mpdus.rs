//! Number of MPDUs in a PPDU of an access point to a station that dozes: one after a PS-Poll, or
//! A-MPDUs in an unscheduled service period (IEEE 802.11-2020, 11.2.3).
//!
//! Max SP Length (9.4.1.17) counts MSDUs, A-MSDUs and management frames, independent of the PPDUs
//! that carry them. The last frame of a period has EOSP (9.2.4.5), and the station may doze once it
//! has received it. The frame is therefore alone, after A-MPDUs whose MPDUs have been acknowledged
//! or given up. MediaTek's driver holds back the last frame in the same way. Left out: EOSP within
//! an A-MPDU, after which a station would receive the lost MPDUs only in its next period.

use crate::cell::frames::Context;
use crate::cell::station::Station;
use crate::mac::sizes;
use crate::station::Address;

impl Station {
    /// Limit of MPDUs in a PPDU to a peer. A dozing station gets one after its PS-Poll. In a
    /// service period the limit is the number of frames still permitted less the last one, which is
    /// alone because of EOSP. 0 if the last one was sent and further frames wait for the next
    /// period.
    #[inline]
    pub(in crate::cell) fn mpdus_for(
        &mut self,
        cx: &Context<'_>,
        edcaf: usize,
        peer: Address,
    ) -> usize {
        if self.edcaf(edcaf).absent.is_dozing(peer) {
            self.mpdus_for_dozing(cx, edcaf, peer)
        } else {
            usize::MAX
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

    /// Reduces an A-MPDU of these MPDUs and bytes for a station in its service period by the last
    /// MPDU, if no frame would be left for the station after it. EOSP in that MPDU would end the
    /// period although others may be lost; it is sent alone, after their acknowledgement.
    pub(in crate::cell) fn without_last(
        &mut self,
        edcaf: usize,
        index: usize,
        mpdus: usize,
        psdu_bytes: u32,
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

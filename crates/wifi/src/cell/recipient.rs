//! The recipient's state for one transmitter in one access category: decoded MPDUs, in order or
//! not, duplicates, and MPDUs that pseudo retry-out gives up (IEEE 802.11-2020, 10.3.2.14 and
//! 10.25.6.6).

use super::edcaf::category_of;
use super::outbox::Outbox;
use crate::event::Event;
use crate::mac::absence::Waits;
use crate::mac::block_ack::{Bitmap, Reception, Recipient};
use crate::mac::mpdu::{Mpdu, Msdus};
use crate::mac::retry_out::{Decision, PseudoRetryOut};
use crate::phy::Rate;
use crate::station::StationId;
use alloc::collections::VecDeque;
use core::ops::Range;
use lasthop_packet::DropReason;
use lasthop_units::{Instant, SeqNo12};

/// The recipient's state towards one transmitter in one access category.
#[derive(Clone, Debug, PartialEq, Default)]
pub(super) struct RecipientState {
    /// Scoreboard and reorder buffer under a Block Ack agreement.
    pub block_ack: Option<Recipient>,
    /// Pseudo retry-out of that agreement's MPDUs.
    pub retry_out: Option<PseudoRetryOut>,
    /// Last sequence number outside of an agreement, for the detection of duplicates.
    pub last: Option<SeqNo12>,
}

/// An MPDU as it arrives.
#[derive(Clone, Copy)]
pub(super) struct Arrived<'a> {
    /// Instant at which its last bit is received.
    pub now: Instant,
    /// Instant at which its PPDU began.
    pub start: Instant,
    pub rate: Rate,
    pub receiver: StationId,
    pub transmitter: StationId,
    /// Index of the transmitter's EDCAF: the access category.
    pub edcaf: usize,
    /// Whether it belongs to a Block Ack agreement.
    pub agreed: bool,
    /// Absences that its packets may have waited for.
    pub waits: &'a Waits,
}

/// Outcome of pseudo retry-out for an MPDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Nothing,
    /// The MPDU was erroneous, and is given up with this reception.
    GivenUp,
    /// The MPDU was received after it was given up, and is ignored.
    Ignored,
}

impl RecipientState {
    /// Returns the decision of pseudo retry-out on an MPDU under a Block Ack agreement; `None`
    /// without pseudo retry-out or agreement. The content is that which the sender knows, in place
    /// of the driver's reading of an erroneous frame.
    pub fn decide(
        &mut self,
        mpdu: &Mpdu,
        is_decoded: bool,
        agreed: bool,
        rate: Rate,
    ) -> Option<Decision> {
        let (retry_out, block_ack) = (self.retry_out.as_mut()?, self.block_ack.as_ref()?);
        if !agreed {
            return None;
        }
        let (head, kbps) = (block_ack.head(), rate.kbps());
        Some(if is_decoded {
            retry_out.received(mpdu.sequence, head, kbps)
        } else {
            retry_out.errored(mpdu.sequence, head, kbps, mpdu.carries_tcp())
        })
    }

    /// Passes an MPDU that was decoded under the agreement, if it can be delivered at once;
    /// otherwise returns `false` and changes nothing.
    #[inline]
    pub fn pass(&mut self, sequence: SeqNo12) -> bool {
        self.retry_out.is_none()
            && self.block_ack.as_mut().is_some_and(|block_ack| block_ack.pass(sequence))
    }

    /// Passes the first MPDUs of `mpdus` that were decoded under the agreement, as long as they are
    /// consecutive and can be delivered at once. Returns their number; the caller processes the
    /// others one by one.
    pub fn pass_run(
        &mut self,
        pending: &VecDeque<Mpdu>,
        mpdus: Range<usize>,
        decoded: &Bitmap,
    ) -> usize {
        let Some(block_ack) = self.block_ack.as_mut().filter(|_| self.retry_out.is_none()) else {
            return 0;
        };
        let run = decoded.run_from(mpdus.start, mpdus.len());
        let Some(last) = run.checked_sub(1) else { return 0 };
        // They are in order, so they follow each other if the last is as far as that.
        let [first, last] = [mpdus.start, mpdus.start + last].map(|index| pending[index].sequence);
        let follow = usize::from(last.distance_from(first)) == run - 1;
        if follow && block_ack.pass_all(first, run as u16) { run } else { 0 }
    }

    /// Processes an MPDU, decoded or not, and delivers the packets that are now in order.
    pub fn take(
        &mut self,
        mpdu: &mut Mpdu,
        is_decoded: bool,
        at: &Arrived<'_>,
        outbox: &mut Outbox,
    ) -> Fate {
        let &Arrived { now, start, rate, receiver, agreed, waits, .. } = at;
        let decision = self.decide(mpdu, is_decoded, agreed, rate);
        if let (Some(Decision::Lost(retransmissions)), Some(block_ack)) =
            (decision, &mut self.block_ack)
        {
            block_ack.skip(mpdu.sequence, |msdus| release(&msdus, receiver, now, outbox));
            self.record_give_up(mpdu, retransmissions, at, outbox);
            return Fate::GivenUp;
        }
        if !is_decoded {
            return Fate::Nothing;
        }
        let is_ignored = decision == Some(Decision::Ignore);
        // Most MPDUs are: the packets in them need not be copied to be buffered.
        let is_in_order = match &mut self.block_ack {
            Some(block_ack) if agreed => !is_ignored && block_ack.pass(mpdu.sequence),
            _ => false,
        };
        let (reception, is_delivered) = match &mut self.block_ack {
            _ if is_in_order => (Reception::New, true),
            Some(block_ack) if agreed && is_ignored => {
                block_ack.ignore(mpdu.sequence);
                (Reception::Duplicate, false)
            }
            Some(block_ack) if agreed => {
                let msdus = mpdu.received(start, now, waits);
                let reception = block_ack.receive(now, mpdu.sequence, msdus, |msdus| {
                    release(&msdus, receiver, now, outbox);
                });
                (reception, false)
            }
            _ if self.last == Some(mpdu.sequence) && mpdu.transmissions > 1 => {
                (Reception::Duplicate, false)
            }
            _ => {
                self.last = Some(mpdu.sequence);
                (Reception::New, true)
            }
        };
        if is_delivered {
            for packet in mpdu.msdus.packets() {
                outbox.deliver(now, receiver, packet, |packet| {
                    mpdu.stamp(packet, start, now, waits);
                });
            }
        }
        // Not wanted at its first arrival: it or the gap was given up.
        let is_unwanted = reception == Reception::Duplicate && !mpdu.taken;
        mpdu.taken = true;
        if !is_unwanted {
            return Fate::Nothing;
        }
        let (reason, fate) = if is_ignored {
            (DropReason::PseudoRetryOut, Fate::Ignored)
        } else {
            (DropReason::Duplicate, Fate::Nothing)
        };
        for &packet in mpdu.msdus.packets() {
            outbox.drop_packet(now, receiver, packet, reason);
        }
        fate
    }

    #[cold]
    fn record_give_up(
        &self,
        mpdu: &Mpdu,
        retransmissions: u8,
        at: &Arrived<'_>,
        outbox: &mut Outbox,
    ) {
        outbox.record(|| Event::PseudoRetryOut {
            at: at.now,
            station: at.receiver,
            peer: at.transmitter,
            tid: category_of(at.edcaf).tid(),
            sequence: mpdu.sequence,
            retransmissions,
            smoothed_kbps: self.retry_out.as_ref().map_or(0, |r| r.smoothed_kbps()),
        });
    }
}

/// Delivers packets that leave the reorder buffer of `station`.
pub(super) fn release(msdus: &Msdus, station: StationId, now: Instant, outbox: &mut Outbox) {
    for packet in msdus.packets() {
        outbox.deliver(now, station, packet, |packet| packet.parts.reorder += now - packet.arrived);
    }
}

//! Reception at one station: which MPDUs of a PPDU it decodes, what it delivers, and what it
//! acknowledges (IEEE 802.11-2020, 10.3.2, 10.25.6). A receiver reads the PPDU and its MPDUs; of
//! the cell it touches the air, its own state, the outputs and the reorder buffers' deadlines.

use super::outbox::Outbox;
use super::recipient::{Arrived, Fate, release};
use super::station::Station;
use super::timers::Timers;
use crate::air::{Air, Flight, Interval, Subframes, happens};
use crate::mac::absence::Waits;
use crate::mac::block_ack::Bitmap;
use crate::mac::mpdu::Mpdu;
use crate::mac::originator::Originator;
use crate::station::StationId;
use alloc::collections::VecDeque;
use core::ops::Range;
use lasthop_units::{Db, Instant, SeqNo12};

/// Reception at one station.
pub(super) struct Receiver<'a> {
    pub now: Instant,
    pub air: &'a mut Air,
    pub outbox: &'a mut Outbox,
    pub timers: &'a mut Timers,
    /// The station that receives.
    pub state: &'a mut Station,
}

/// MPDUs that a sender keeps until they are settled; a PPDU carries the first ones.
pub(super) struct Mpdus<'a> {
    pub pending: &'a mut VecDeque<Mpdu>,
    /// Whether they belong to a Block Ack agreement.
    pub agreed: bool,
}

/// Some MPDUs of a PPDU with data, at their receiver.
pub(super) struct Taken<'a> {
    /// The sender's EDCAF.
    pub edcaf: usize,
    /// Indices of these MPDUs among the pending ones.
    pub mpdus: Range<usize>,
    /// Decoded MPDUs: bit n is pending MPDU n.
    pub decoded: &'a Bitmap,
    /// Position of the first of them, if each is processed at the end of its subframe; `None` if
    /// all are processed now.
    pub subframes: Option<Subframes>,
}

impl<'a> Mpdus<'a> {
    /// The MPDUs of an originator.
    pub fn new(originator: &'a mut Originator) -> Self {
        let agreed = originator.agreement.window().is_some();
        Self { pending: &mut originator.pending, agreed }
    }
}

impl Receiver<'_> {
    /// Draws whether the station decodes a control frame.
    pub fn decodes_control(&mut self, flight: &Flight) -> bool {
        let receiver = self.state.id;
        if self.state.misses(self.air, flight) {
            return false;
        }
        if flight.overlaps.is_none() {
            return self.air.receives_undisturbed(flight, receiver) == Some(true);
        }
        if !self.air.locks(flight, receiver) {
            return false;
        }
        let snr = self.air.snr(flight, receiver);
        let header = self.air.header_success(flight, receiver, snr);
        let span = flight.span();
        let body = self.air.mpdu_success(flight, receiver, snr, flight.psdu_bytes, span);
        let stream = self.air.reception(flight.transmitter, receiver);
        happens(stream, header) && happens(stream, body)
    }

    /// Draws whether the station decodes the preamble and header of a PPDU; returns its SNR if so.
    pub fn header(&mut self, flight: &Flight) -> Option<Db> {
        if self.state.misses(self.air, flight) {
            None
        } else {
            self.air.receives_header(flight, self.state.id)
        }
    }

    /// Draws whether the station decodes an MPDU that was on the air during `span`.
    pub fn mpdu(&mut self, flight: &Flight, snr: Db, bytes: u32, span: Interval) -> bool {
        self.air.receives_mpdu(flight, self.state.id, snr, bytes, span)
    }

    /// Draws whether the station decodes a PSDU that is one MPDU; `None` if it does not even decode
    /// the PPDU's header.
    pub fn decode_one(&mut self, flight: &Flight) -> Option<bool> {
        if flight.overlaps.is_none() {
            let misses = self.state.misses(self.air, flight);
            return if misses {
                None
            } else {
                self.air.receives_undisturbed(flight, self.state.id)
            };
        }
        let snr = self.header(flight)?;
        Some(self.mpdu(flight, snr, flight.psdu_bytes, flight.span()))
    }

    /// The MPDUs of an A-MPDU that the station decodes at this SNR: bit n is MPDU n.
    pub fn decode_all(
        &mut self,
        flight: &Flight,
        snr: Db,
        mut subframes: Subframes,
        mpdus: &VecDeque<Mpdu>,
    ) -> Bitmap {
        let mut decoded = Bitmap::EMPTY;
        for (bit, mpdu) in mpdus.iter().take(subframes.count).enumerate() {
            let bytes = u32::from(mpdu.bytes);
            let span = subframes.next(bytes);
            if self.mpdu(flight, snr, bytes, span) {
                decoded.insert(bit);
            }
        }
        decoded
    }

    /// Does what [`Self::take_in`] does, in less time, for the usual case: one MPDU of a PPDU that
    /// began at `start`, decoded at `now`, with the next sequence number, while nothing is buffered
    /// and no events are recorded, under an agreement. Otherwise returns `false` and has no effect.
    pub fn take_next(
        &mut self,
        sender: StationId,
        edcaf: usize,
        start: Instant,
        now: Instant,
        mpdu: &mut Mpdu,
    ) -> bool {
        let receiver = self.state.id;
        if !self.state.recipient(sender, edcaf).pass(mpdu.sequence) {
            return false;
        }
        let waits = Waits::default();
        for packet in mpdu.msdus.packets() {
            let finish = |packet: &mut _| mpdu.stamp(packet, start, now, &waits);
            self.outbox.deliver(now, receiver, packet, finish);
        }
        mpdu.taken = true;
        self.state.last_data = now;
        // With nothing buffered there is no gap to watch.
        true
    }

    /// Passes the decoded MPDUs of a PPDU to their recipient, and reports erroneous ones to pseudo
    /// retry-out: each at the end of its subframe, or all now. `waits` are absences that their
    /// packets may have waited for.
    pub fn take_in(
        &mut self,
        flight: &Flight,
        Mpdus { pending, agreed }: &mut Mpdus<'_>,
        waits: &Waits,
        Taken { edcaf, mpdus, decoded, mut subframes }: Taken<'_>,
    ) {
        let (mut now, receiver, agreed) = (self.now, self.state.id, *agreed);
        let outbox = &mut *self.outbox;
        let key = flight.transmitter.index() * 4 + edcaf;
        let recipient = self.state.recipient(flight.transmitter, edcaf);
        let range = mpdus.clone();
        let (mut given_up, mut ignored) = (0, 0);
        let mut arrival = Arrived {
            now,
            start: flight.start,
            rate: flight.rate,
            receiver,
            transmitter: flight.transmitter,
            edcaf,
            agreed,
            waits,
        };
        let mut mpdus = mpdus;
        if mpdus.len() > 1 && agreed {
            let run = recipient.pass_run(pending, mpdus.clone(), decoded);
            let passed = pending.range_mut(mpdus.start..mpdus.start + run);
            now = take_in_order(passed, &mut subframes, &arrival, outbox);
            mpdus.start += run;
        }
        // Most often it is one: an iterator over a part of the deque would cost more.
        for bit in mpdus {
            let mpdu = &mut pending[bit];
            if let Some(subframes) = &mut subframes {
                now = subframes.next_end(u32::from(mpdu.bytes));
                arrival.now = now;
            }
            let is_decoded = decoded.contains(bit);
            if agreed && is_decoded && recipient.pass(mpdu.sequence) {
                for packet in mpdu.msdus.packets() {
                    outbox.deliver(now, receiver, packet, |packet| {
                        mpdu.stamp(packet, flight.start, now, waits);
                    });
                }
                mpdu.taken = true;
                continue;
            }
            let fate = recipient.take(mpdu, is_decoded, &arrival, outbox);
            given_up += u64::from(fate == Fate::GivenUp);
            ignored += u64::from(fate == Fate::Ignored);
        }
        let state = &mut *self.state;
        state.last_data = now;
        if let Some(away) = state.away.as_deref_mut() {
            away.count(0, range.filter(|bit| decoded.contains(*bit)).count() as u32);
        }
        state.stats.pseudo_retry_outs += given_up;
        state.stats.pseudo_retry_outs_ignored += ignored;
        self.watch_gap(key);
    }

    /// Updates the deadline of a reorder buffer that has changed.
    #[inline]
    fn watch_gap(&mut self, key: usize) {
        let recipient = self.state.recipients.get(key).and_then(Option::as_ref);
        // Behind a gap that just closed, the next may have waited long enough already.
        let deadline = recipient.and_then(|recipient| recipient.block_ack.as_ref()?.deadline());
        let deadline = deadline.map(|at| at.max(self.now));
        self.timers.watch_gap(self.state.id, key, deadline);
    }

    /// Processes a Block Ack Request from `start` on.
    pub fn take_request(&mut self, sender: StationId, edcaf: usize, start: SeqNo12) {
        let (now, receiver) = (self.now, self.state.id);
        let recipient = self.state.recipient(sender, edcaf);
        if let Some(retry_out) = &mut recipient.retry_out {
            retry_out.request(start);
        }
        if let Some(block_ack) = &mut recipient.block_ack {
            block_ack.request(start, |msdus| release(&msdus, receiver, now, self.outbox));
        }
        self.watch_gap(sender.index() * 4 + edcaf);
    }

    /// Gives up the gap of a reorder buffer.
    pub fn expire_gap(&mut self, key: usize) {
        let (now, receiver) = (self.now, self.state.id);
        let recipient = self.state.recipients[key].as_mut();
        if let Some(block_ack) = recipient.and_then(|recipient| recipient.block_ack.as_mut()) {
            block_ack.handle_timeout(now, |msdus| release(&msdus, receiver, now, self.outbox));
        }
        self.watch_gap(key);
    }

    /// Returns which of the first `mpdus` pending MPDUs the Block Ack acknowledges, `decoded` if
    /// there is no agreement.
    pub fn acknowledges(
        &mut self,
        sender: StationId,
        edcaf: usize,
        decoded: Bitmap,
        mpdus: usize,
        pending: &VecDeque<Mpdu>,
    ) -> Bitmap {
        let recipient = self.state.recipient(sender, edcaf);
        let Some(block_ack) = &recipient.block_ack else { return decoded };
        let board = block_ack.scoreboard();
        if mpdus > 1
            && let Some(first) = pending.front()
        {
            // They are in order, so they follow each other if the last is as far as that.
            let last = mpdus.min(pending.len()) - 1;
            if usize::from(pending[last].sequence.distance_from(first.sequence)) == last {
                return board.received_from(first.sequence, last as u16 + 1);
            }
        }
        let mut acked = Bitmap::EMPTY;
        for (bit, mpdu) in pending.iter().take(mpdus).enumerate() {
            if board.contains(mpdu.sequence) {
                acked.insert(bit);
            }
        }
        acked
    }
}

/// Delivers MPDUs that are in order, each at the end of its subframe, or all now. Returns the
/// instant of the last delivery.
#[inline(never)]
fn take_in_order<'a>(
    mpdus: impl Iterator<Item = &'a mut Mpdu>,
    subframes: &mut Option<Subframes>,
    &Arrived { mut now, start, receiver, waits, .. }: &Arrived<'_>,
    outbox: &mut Outbox,
) -> Instant {
    let mut clock = *subframes;
    for mpdu in mpdus {
        if let Some(subframes) = &mut clock {
            now = subframes.next_end(u32::from(mpdu.bytes));
        }
        for packet in mpdu.msdus.packets() {
            outbox.deliver(now, receiver, packet, |packet| mpdu.stamp(packet, start, now, waits));
        }
        mpdu.taken = true;
    }
    *subframes = clock;
    now
}

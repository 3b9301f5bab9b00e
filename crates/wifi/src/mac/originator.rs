//! The originator towards one peer in one access category: MPDUs that wait for an acknowledgement,
//! the Block Ack agreement, retries, and rate control (IEEE 802.11-2020, 10.25.3, 10.25.6.7,
//! 10.3.4.4).
//!
//! MPDUs stay in sequence order; every PPDU carries a prefix of them.

use super::block_ack::Bitmap;
use super::mpdu::{Mpdu, Msdus};
use super::rate::{RateChain, RateControl};
use super::retry_out::{RateTable, SmoothedRate};
use crate::capabilities::Capabilities;
use crate::phy::Rate;
use crate::station::Address;
use alloc::collections::VecDeque;
use lasthop_packet::queue::Held;
use lasthop_packet::{Packet, Released};
use lasthop_units::{Bytes, Db, Instant, SeqNo12};

/// The state of a Block Ack agreement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Agreement {
    /// No agreement: data is sent in single MPDUs with an Ack each.
    None,
    /// ADDBA Request queued or sent; data waits for the answer.
    Requested,
    /// The agreement is in force.
    Established {
        /// Window in MPDUs.
        window: u16,
    },
    /// The peer did not answer; data is sent without aggregation until then.
    Failed {
        /// Instant of the next request.
        until: Instant,
    },
}

impl Agreement {
    /// Window in MPDUs of an agreement in force.
    pub const fn window(self) -> Option<u16> {
        match self {
            Self::Established { window } => Some(window),
            Self::None | Self::Requested | Self::Failed { .. } => None,
        }
    }
}

/// Limits of attempts for an MPDU before it is given up, the first one included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttemptsMax {
    /// Attempts for an MPDU with a TCP segment.
    pub tcp: u8,
    /// Attempts for an MPDU without a TCP segment.
    pub other: u8,
}

impl AttemptsMax {
    /// Returns the same limit for every MPDU.
    pub const fn all(attempts: u8) -> Self {
        Self { tcp: attempts, other: attempts }
    }

    fn for_mpdu(self, mpdu: &Mpdu) -> u8 {
        if self.tcp != self.other && mpdu.carries_tcp() { self.tcp } else { self.other }
    }
}

/// Fewer retransmissions at a low data rate, so that TCP loses segments and
/// slows down (M. Nomoto et al., "Resolving Bufferbloat in TCP Communication
/// over IEEE 802.11n WLAN by Reducing MAC Retransmission Limit at Low Data Rate").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LowRateRetry {
    /// Retransmissions by the smoothed data rate of the MPDUs sent to the peer.
    pub table: RateTable,
    /// Whether the table applies to MPDUs without a TCP segment, too.
    pub all_traffic: bool,
}

/// State of the sender towards one peer.
#[derive(Clone, Debug, PartialEq)]
pub struct Originator {
    /// Receiver of the MPDUs: a station, or the group.
    pub peer: Address,
    /// Capabilities that the peer and the sender share; none towards the group.
    pub shared: Capabilities,
    /// Octets of its MPDUs beside a packet.
    mpdu_overhead: u32,
    /// MPDUs not yet acknowledged, in sequence order.
    pub pending: VecDeque<Mpdu>,
    /// The Block Ack agreement.
    pub agreement: Agreement,
    /// Whether a Block Ack Request precedes the next data.
    pub block_ack_request_due: bool,
    /// Attempts of the due Block Ack Request without a response.
    pub block_ack_request_attempts: u8,
    /// Whether the due Block Ack Request asks for MPDUs whose Block Ack was missed: until its
    /// answer they count as on the air. On another link the zeros of an answer would not mean that
    /// they were lost (IEEE 802.11be-2024, 35.3.8).
    is_unanswered: bool,
    /// Rate control; none towards the group.
    pub rate_control: Option<RateControl>,
    low_rate_retry: Option<(LowRateRetry, SmoothedRate)>,
    /// Consecutive exchanges without a response since a frame was last given up: the position in
    /// the retry chain. A new frame starts a new chain.
    failures: u32,
    chain: Option<RateChain>,
    next_sequence: SeqNo12,
    held: Held,
    /// Oldest MPDU that another link of the same device has on the air.
    elsewhere: Option<SeqNo12>,
    /// Number of the MPDUs on the air that Block Acks of other links acknowledged, from the oldest
    /// one on.
    known: usize,
}

/// The part of an originator that the links of a device share (IEEE 802.11be-2024, 35.3.8): MPDUs
/// that are on no link's air, in sequence order, one sequence space and one agreement.
#[derive(Clone, Debug, PartialEq)]
pub struct Common {
    /// MPDUs that wait for a retransmission, on whichever link.
    pending: VecDeque<Mpdu>,
    held: Held,
    next_sequence: SeqNo12,
    /// The Block Ack agreement.
    pub agreement: Agreement,
    block_ack_request_due: bool,
    block_ack_request_attempts: u8,
}

impl Default for Common {
    fn default() -> Self {
        Self {
            pending: VecDeque::new(),
            held: Held::NONE,
            next_sequence: SeqNo12::default(),
            agreement: Agreement::None,
            block_ack_request_due: false,
            block_ack_request_attempts: 0,
        }
    }
}

impl Common {
    /// The number and length of its packets.
    pub fn held(&self) -> Held {
        self.held
    }

    /// Whether it has MPDUs to retransmit, or a Block Ack Request is due, and neither waits for an
    /// agreement.
    pub fn is_waiting(&self) -> bool {
        self.agreement != Agreement::Requested
            && (!self.pending.is_empty() || self.block_ack_request_due)
    }

    /// Whether a new MPDU fits into the window, with `elsewhere` the oldest MPDU on the air.
    pub fn has_window(&self, elsewhere: Option<SeqNo12>) -> bool {
        let oldest = self.oldest(elsewhere);
        let ahead = oldest.map_or(0, |oldest| self.next_sequence.distance_from(oldest));
        match self.agreement {
            Agreement::Established { window } => ahead < window,
            Agreement::Requested => false,
            Agreement::None | Agreement::Failed { .. } => oldest.is_none(),
        }
    }

    fn oldest(&self, other: Option<SeqNo12>) -> Option<SeqNo12> {
        self.older(self.pending.front().map(|mpdu| mpdu.sequence), other)
    }

    /// The older one of two sequence numbers in the window.
    pub fn older(&self, one: Option<SeqNo12>, other: Option<SeqNo12>) -> Option<SeqNo12> {
        older(self.next_sequence, one, other)
    }
}

/// The older of two sequence numbers in a window that ends at `next`.
fn older(next: SeqNo12, one: Option<SeqNo12>, other: Option<SeqNo12>) -> Option<SeqNo12> {
    [one, other].into_iter().flatten().max_by_key(|sequence| next.distance_from(*sequence))
}

impl Originator {
    /// Returns an originator that has sent nothing yet.
    pub fn new(
        peer: Address,
        shared: Capabilities,
        rate_control: Option<RateControl>,
        low_rate_retry: Option<LowRateRetry>,
    ) -> Self {
        Self {
            peer,
            mpdu_overhead: shared.mpdu_overhead(),
            shared,
            pending: VecDeque::new(),
            agreement: Agreement::None,
            block_ack_request_due: false,
            block_ack_request_attempts: 0,
            is_unanswered: false,
            rate_control,
            low_rate_retry: low_rate_retry.map(|config| (config, SmoothedRate::new(config.table))),
            failures: 0,
            chain: None,
            next_sequence: SeqNo12::default(),
            held: Held::NONE,
            elsewhere: None,
            known: 0,
        }
    }

    /// Sets the capabilities that the peer and the sender share from now on; rates are chosen anew.
    pub fn renew(&mut self, shared: Capabilities) {
        self.mpdu_overhead = shared.mpdu_overhead();
        self.shared = shared;
        self.chain = None;
    }

    /// Octets of its MPDUs beside a packet ([`Capabilities::mpdu_overhead`]).
    #[inline]
    pub fn mpdu_overhead(&self) -> u32 {
        self.mpdu_overhead
    }

    /// The number and length of the packets in [`Originator::pending`].
    pub fn held(&self) -> Held {
        self.held
    }

    /// Whether an MPDU is pending, sent or not, or the recipient's window must be moved.
    pub fn is_waiting(&self) -> bool {
        !self.pending.is_empty() || self.block_ack_request_due
    }

    /// First sequence number that is not yet settled (WinStartO).
    pub fn window_start(&self) -> SeqNo12 {
        let own = self.pending.front().map(|mpdu| mpdu.sequence);
        if self.elsewhere.is_none() {
            return own.unwrap_or(self.next_sequence);
        }
        older(self.next_sequence, own, self.elsewhere).unwrap_or(self.next_sequence)
    }

    /// Takes over what the links of its device share, for the PPDU to build; `elsewhere` is the
    /// oldest MPDU that another link has on the air.
    pub fn borrow_common(&mut self, common: &mut Common, elsewhere: Option<SeqNo12>) {
        debug_assert!(self.pending.is_empty(), "what a link had on the air is settled");
        core::mem::swap(&mut self.pending, &mut common.pending);
        self.held = core::mem::replace(&mut common.held, Held::NONE);
        self.next_sequence = common.next_sequence;
        self.agreement = common.agreement;
        self.block_ack_request_due = core::mem::take(&mut common.block_ack_request_due);
        self.block_ack_request_attempts = common.block_ack_request_attempts;
        self.elsewhere = elsewhere;
        self.known = 0;
    }

    /// Makes a Block Ack Request due for the MPDUs of a missed Block Ack.
    pub fn missed_block_ack(&mut self) {
        self.block_ack_request_due = true;
        self.is_unanswered = true;
    }

    /// Whether a due Block Ack Request asks for MPDUs whose Block Ack was missed.
    pub fn is_unanswered(&self) -> bool {
        self.is_unanswered
    }

    /// Takes over what the links of its device share, without the MPDUs, for a Block Ack Request.
    pub fn follow_common(&mut self, common: &Common, elsewhere: Option<SeqNo12>) {
        self.next_sequence = common.next_sequence;
        self.elsewhere = common.oldest(elsewhere);
    }

    /// Gives the due Block Ack Request up.
    pub fn give_request_up(&mut self) {
        self.block_ack_request_due = false;
        self.block_ack_request_attempts = 0;
        self.is_unanswered = false;
    }

    /// Whether other links have MPDUs on the air.
    pub fn is_on_air_elsewhere(&self) -> bool {
        self.elsewhere.is_some()
    }

    /// Oldest MPDU on the air that no Block Ack of another link acknowledged; `None` without any.
    pub fn oldest_on_air(&self) -> Option<SeqNo12> {
        let first = self.pending.get(self.known);
        let behind = || self.pending.back().map(|last| last.sequence.next());
        first.map(|mpdu| mpdu.sequence).or_else(behind)
    }

    /// Lets a Block Ack of another link acknowledge the MPDUs on the air that were received so far:
    /// its bitmap is that of the device (IEEE 802.11be-2024, 35.3.8).
    pub fn acknowledge_elsewhere(&mut self) {
        while self.pending.get(self.known).is_some_and(|mpdu| mpdu.taken) {
            self.known += 1;
        }
    }

    /// Returns what the PPDU that was built leaves: all but the first `kept` MPDUs, and a due Block
    /// Ack Request unless `asks`.
    pub fn return_common(&mut self, common: &mut Common, kept: usize, asks: bool) {
        common.next_sequence = self.next_sequence;
        common.agreement = self.agreement;
        if kept == 0 {
            core::mem::swap(&mut self.pending, &mut common.pending);
            common.held = core::mem::replace(&mut self.held, Held::NONE);
        } else if kept < self.pending.len() {
            common.pending = self.pending.split_off(kept);
            common.held = held_by(&common.pending);
            self.held.packets -= common.held.packets;
            self.held.bytes = self.held.bytes - common.held.bytes;
        }
        if !asks {
            common.block_ack_request_due = core::mem::take(&mut self.block_ack_request_due);
            common.block_ack_request_attempts = self.block_ack_request_attempts;
        }
    }

    /// Returns the MPDUs that an exchange did not settle.
    pub fn return_unsettled(&mut self, common: &mut Common) {
        if self.block_ack_request_due || self.pending.is_empty() && common.pending.is_empty() {
            common.block_ack_request_attempts = self.block_ack_request_attempts;
        }
        common.block_ack_request_due |= core::mem::take(&mut self.block_ack_request_due);
        if common.pending.is_empty() {
            core::mem::swap(&mut self.pending, &mut common.pending);
        } else if !self.pending.is_empty() {
            let next = common.next_sequence;
            common.pending.append(&mut self.pending);
            let age = |mpdu: &Mpdu| core::cmp::Reverse(next.distance_from(mpdu.sequence));
            common.pending.make_contiguous().sort_by_key(age);
        }
        let held = core::mem::replace(&mut self.held, Held::NONE);
        common.held.packets += held.packets;
        common.held.bytes += held.bytes;
    }

    /// Whether one more MPDU fits into the window.
    pub fn has_window(&self) -> bool {
        let ahead = self.next_sequence.distance_from(self.window_start());
        match self.agreement {
            Agreement::Established { window } => ahead < window,
            _ => self.pending.is_empty() && self.elsewhere.is_none(),
        }
    }

    /// Number of further MPDUs that fit into the window.
    pub fn window_left(&self) -> usize {
        let ahead = self.next_sequence.distance_from(self.window_start());
        match self.agreement {
            Agreement::Established { window } => usize::from(window.saturating_sub(ahead)),
            _ => usize::from(self.pending.is_empty() && self.elsewhere.is_none()),
        }
    }

    /// Takes packets as the next MPDU; they left the upper queue at `dequeued`, and contention for
    /// it began at `contention_start`. Returns the number and length of the added packets.
    #[inline]
    pub fn push(
        &mut self,
        msdus: Msdus,
        bytes: u32,
        dequeued: Instant,
        contention_start: Instant,
    ) -> Held {
        let mut passive = true;
        let mut more = Held::NONE;
        for packet in msdus.packets() {
            more.packets += 1;
            more.bytes += Bytes::new(u64::from(packet.bytes));
            passive &= packet.passive;
        }
        self.append(msdus, bytes, more, passive, dequeued, contention_start)
    }

    /// Does what [`Originator::push`] does with a single packet as an MPDU.
    #[inline]
    pub fn push_one(
        &mut self,
        packet: &Packet,
        bytes: u32,
        dequeued: Instant,
        contention_start: Instant,
    ) -> Held {
        let more = Held { packets: 1, bytes: Bytes::new(u64::from(packet.bytes)) };
        let msdus = Msdus::One(*packet);
        self.append(msdus, bytes, more, packet.passive, dequeued, contention_start)
    }

    /// Does what [`Originator::push_one`] does with `count` packets like `first`, with tags that
    /// count up from its tag.
    #[inline]
    pub fn push_run(
        &mut self,
        first: &Packet,
        count: usize,
        bytes: u32,
        dequeued: Instant,
        contention_start: Instant,
    ) {
        let sequence = self.next_sequence;
        self.held.packets += count as u32;
        self.held.bytes += Bytes::new(u64::from(first.bytes) * count as u64);
        self.next_sequence = sequence.plus(count as u16);
        self.pending.extend((0..count).map(|place| Mpdu {
            sequence: sequence.plus(place as u16),
            bytes: bytes as u16,
            attempts: 0,
            transmissions: 0,
            taken: false,
            passive: first.passive,
            dequeued,
            contention_start,
            first_start: contention_start,
            msdus: Msdus::One(Packet { tag: first.tag + place as u64, ..*first }),
        }));
    }

    #[inline]
    fn append(
        &mut self,
        msdus: Msdus,
        bytes: u32,
        more: Held,
        passive: bool,
        dequeued: Instant,
        contention_start: Instant,
    ) -> Held {
        self.held.packets += more.packets;
        self.held.bytes += more.bytes;
        self.pending.push_back(Mpdu {
            sequence: self.next_sequence,
            bytes: bytes as u16,
            attempts: 0,
            transmissions: 0,
            taken: false,
            passive,
            dequeued,
            contention_start,
            first_start: contention_start,
            msdus,
        });
        self.next_sequence = self.next_sequence.next();
        more
    }

    /// Returns the rate of the next PPDU, and whether it is a single MPDU. A frame that probes a
    /// rate is not aggregated, nor are its retransmissions at the later stages of its chain, which
    /// hardware makes of the same frame (`ath_lookup_rate` of ath9k permits no aggregate for such a
    /// frame; `ath_buf_set_rate` gives it the whole chain).
    pub fn choose_rate(&mut self, now: Instant, snr: Db) -> Option<(crate::phy::Rate, bool)> {
        let control = self.rate_control.as_mut()?;
        let bytes = self.pending.front().map_or(0, |mpdu| mpdu.bytes);
        let fresh = self.failures == 0 || self.chain.is_none();
        let chain = match self.chain {
            Some(chain) if !fresh => chain,
            _ => control.chain(now, snr, bytes),
        };
        self.chain = Some(chain);
        let attempt = if control.is_firmware() {
            self.failures.max(self.last_tries(&chain))
        } else {
            self.failures
        };
        Some((chain.rate_for_attempt(attempt), chain.is_probe()))
    }

    /// Number of transmissions of the oldest MPDU, if it has used the tries of all stages but the
    /// last, independent of the other MPDUs in its A-MPDUs; otherwise 0.
    fn last_tries(&self, chain: &RateChain) -> u32 {
        let tries = self.pending.front().map_or(0, |mpdu| u32::from(mpdu.transmissions));
        if tries >= chain.tries_before_last() { tries } else { 0 }
    }

    /// Records that the first `count` MPDUs are sent in a PPDU that starts at `start`. Returns the
    /// number of retransmissions among them.
    pub fn sent(&mut self, count: usize, start: Instant) -> u64 {
        let mut retries = 0;
        let sent = |mpdu: &mut Mpdu| {
            if mpdu.transmissions == 0 {
                mpdu.first_start = start;
            } else {
                retries += 1;
            }
            mpdu.transmissions = mpdu.transmissions.saturating_add(1);
            mpdu.attempts = mpdu.attempts.saturating_add(1);
        };
        let pending = &mut self.pending;
        let most = count.min(pending.len());
        // One alone is found at once.
        match count {
            1 => pending.front_mut().into_iter().for_each(sent),
            _ => pending.range_mut(..most).for_each(sent),
        }
        retries
    }

    /// Returns the limits of attempts for an MPDU, at most `attempts`, after a PPDU of `mpdus`
    /// MPDUs was sent at `rate`.
    pub fn attempts_max(&mut self, attempts: u8, mpdus: usize, rate: Rate) -> AttemptsMax {
        let Some((config, smoothed)) = &mut self.low_rate_retry else {
            return AttemptsMax::all(attempts);
        };
        (0..mpdus).for_each(|_| smoothed.update(rate.kbps()));
        let retransmissions = smoothed.retransmissions();
        let low = retransmissions.map_or(attempts, |n| attempts.min(n.saturating_add(1)));
        AttemptsMax { tcp: low, other: if config.all_traffic { low } else { attempts } }
    }

    /// Counts an attempt of the first `count` MPDUs for an RTS without CTS.
    pub fn request_failed(&mut self, count: usize) {
        for mpdu in self.pending.iter_mut().take(count) {
            mpdu.attempts = mpdu.attempts.saturating_add(1);
        }
    }

    /// Settles the first `count` MPDUs (at most [`Bitmap::BITS`]); bit n of `acked` is whether MPDU
    /// n was acknowledged. Acknowledged MPDUs are settled. Of the others, those that have had
    /// `attempts_max` attempts, RTS without CTS among them, are given up through `give_up`. Both
    /// are recorded in `released`. Returns the number of acknowledged MPDUs. Bits from `count` on
    /// are ignored.
    pub fn settle(
        &mut self,
        count: usize,
        acked: &Bitmap,
        attempts_max: AttemptsMax,
        released: &mut VecDeque<Released>,
        mut give_up: impl FnMut(&Mpdu),
    ) -> u32 {
        let known;
        let acked = match core::mem::take(&mut self.known) {
            0 => acked,
            number => {
                let mut all = *acked;
                all.insert_all(0..number.min(count));
                known = all;
                &known
            }
        };
        if count > 1 && acked.run_from(0, count) == count {
            self.settle_all(count, released);
            return count as u32;
        }
        let mut number_acked = 0;
        let held = &mut self.held;
        let mut done = |mpdu: &Mpdu| {
            for packet in mpdu.msdus.packets() {
                held.packets -= 1;
                held.bytes = held.bytes - Bytes::new(u64::from(packet.bytes));
                Released::book(packet, released);
            }
        };
        let mut kept = 0;
        let mut lost = false;
        for index in 0..count {
            let mpdu = &self.pending[index];
            if acked.contains(index) {
                number_acked += 1;
                done(mpdu);
            } else if mpdu.attempts >= attempts_max.for_mpdu(mpdu) {
                done(mpdu);
                give_up(mpdu);
                lost = true;
            } else {
                if kept != index {
                    self.pending.swap(kept, index);
                }
                kept += 1;
            }
        }
        if kept == 0 && count == self.pending.len() {
            self.pending.clear();
        } else {
            self.pending.drain(kept..count);
        }
        if lost && matches!(self.agreement, Agreement::Established { .. }) {
            self.block_ack_request_due = true;
        }
        number_acked
    }

    /// Settles the first `count` MPDUs, all of which were acknowledged.
    #[inline(never)]
    fn settle_all(&mut self, count: usize, released: &mut VecDeque<Released>) {
        let mut gone = Held::NONE;
        let mut last: Option<Released> = None;
        let mut book = |packet: &Packet| {
            gone.packets += 1;
            gone.bytes += Bytes::new(u64::from(packet.bytes));
            let Some(next) = Released::from_packet(packet) else { return };
            if last.as_mut().is_some_and(|last| last.merge(&next)) {
                return;
            }
            if let Some(last) = last.replace(next) {
                last.add_to(released);
            }
        };
        self.pending.range(..count).for_each(|mpdu| match &mpdu.msdus {
            Msdus::One(packet) => book(packet),
            Msdus::Aggregate(packets) => book_all(packets, &mut book),
        });
        if let Some(last) = last {
            last.add_to(released);
        }
        self.held.packets -= gone.packets;
        self.held.bytes = self.held.bytes - gone.bytes;
        if count == self.pending.len() {
            self.pending.clear();
        } else {
            self.pending.drain(..count);
        }
    }

    /// Gives up the MPDUs that exceed their lifetime, according to `expired` of the instant at
    /// which a packet arrived.
    pub fn expire(
        &mut self,
        expired: impl Fn(Instant) -> bool,
        released: &mut VecDeque<Released>,
        mut give_up: impl FnMut(&Mpdu),
    ) {
        let before = self.pending.len();
        let held = &mut self.held;
        self.pending.retain(|mpdu| {
            let keep = !mpdu.msdus.packets().iter().any(|packet| expired(packet.arrived));
            if !keep {
                for packet in mpdu.msdus.packets() {
                    held.packets -= 1;
                    held.bytes = held.bytes - Bytes::new(u64::from(packet.bytes));
                    Released::book(packet, released);
                }
                give_up(mpdu);
            }
            keep
        });
        let lost = self.pending.len() < before;
        if lost {
            self.failures = 0;
        }
        if lost && matches!(self.agreement, Agreement::Established { .. }) {
            self.block_ack_request_due = true;
        }
    }

    /// Records that the exchange brought a response. Firmware counts an A-MPDU as failed if most of
    /// it was lost.
    pub fn succeeded(&mut self, is_most_lost: bool) {
        let is_firmware = self.rate_control.as_ref().is_some_and(RateControl::is_firmware);
        self.failures = if is_most_lost && is_firmware { self.failures + 1 } else { 0 };
    }

    /// Records that the exchange brought no response; `given_up` is whether an MPDU was at its last
    /// attempt.
    pub fn failed(&mut self, given_up: bool) {
        self.failures = if given_up { 0 } else { self.failures + 1 };
    }

    /// Records the answer to a Block Ack Request. If the answer acknowledged no MPDU, the exchange
    /// before it failed: firmware stays at the position in the retry chain from before the request.
    /// Linux' drivers look up the rates anew when they retransmit an A-MPDU.
    pub fn request_answered(&mut self, acknowledged: bool) {
        let asked_in_vain = u32::from(self.block_ack_request_attempts);
        let goes_on = self.rate_control.as_ref().is_some_and(RateControl::is_firmware);
        self.failures =
            if goes_on && !acknowledged { self.failures.saturating_sub(asked_in_vain) } else { 0 };
        self.give_request_up();
    }

    /// Sequence number of the next MPDU, with which an ADDBA Request starts the agreement.
    pub fn next_sequence(&self) -> SeqNo12 {
        self.next_sequence
    }
}

/// The number and length of the packets in these MPDUs.
fn held_by(mpdus: &VecDeque<Mpdu>) -> Held {
    let mut held = Held::NONE;
    for packet in mpdus.iter().flat_map(|mpdu| mpdu.msdus.packets()) {
        held.packets += 1;
        held.bytes += Bytes::new(u64::from(packet.bytes));
    }
    held
}

/// Counts the packets of an A-MSDU, in a separate loop because most networks send none.
#[cold]
fn book_all(packets: &[Packet], book: &mut dyn FnMut(&Packet)) {
    packets.iter().for_each(book);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mac::rate::{RateControlConfig, RateSet};
    use crate::phy::{ChannelWidth, ErrorModel};
    use crate::station::StationId;
    use alloc::vec::Vec;
    use lasthop_packet::Packet;
    use lasthop_units::Seed;
    use proptest::prelude::*;

    fn originator(mpdus: u64) -> Originator {
        let mut originator =
            Originator::new(Address::Station(StationId(1)), Capabilities::default(), None, None);
        originator.agreement = Agreement::Established { window: 64 };
        for tag in 0..mpdus {
            let packet = Packet::new(tag, 1500, Instant::ZERO);
            originator.push(Msdus::One(packet), 1538, Instant::ZERO, Instant::ZERO);
        }
        originator
    }

    #[test]
    fn the_window_counts_from_the_oldest_unsettled_mpdu() {
        let mut originator = originator(64);
        assert!(!originator.has_window());
        originator.sent(64, Instant::ZERO);
        let others = (1..64).collect();
        originator.settle(64, &others, AttemptsMax::all(7), &mut VecDeque::new(), |_| {});
        assert_eq!(originator.pending.len(), 1);
        assert!(!originator.has_window(), "number 0 still holds the window back");
        originator.sent(1, Instant::ZERO);
        originator.settle(1, &Bitmap::FIRST, AttemptsMax::all(7), &mut VecDeque::new(), |_| {});
        assert!(originator.has_window());
        assert_eq!(originator.window_start(), SeqNo12::new(64));
    }

    /// Hardware retransmits the frame that probed a rate; no aggregate replaces it.
    #[test]
    fn a_probe_is_repeated_alone() {
        let rates = RateSet::ht(1, ChannelWidth::Mhz20, false);
        let control = RateControl::new(
            &RateControlConfig::minstrel_ht(),
            &rates,
            &ErrorModel::nist(),
            Seed::new(1, 0).stream("rate"),
        );
        let peer = Address::Station(StationId(1));
        let mut originator = Originator::new(peer, Capabilities::default(), Some(control), None);
        let mut choose = |failed: bool| {
            if failed {
                originator.failed(false)
            } else {
                originator.succeeded(false)
            }
            originator.choose_rate(Instant::ZERO, Db(0.0)).expect("there is rate control")
        };
        let (probed, is_single) = choose(false);
        assert!(is_single && probed != rates.rates[0]);
        for _ in 0..5 {
            assert_eq!(choose(true), (rates.rates[0], true));
        }
        assert_eq!(choose(false), (rates.rates[0], false));
    }

    /// Drivers choose rates for each frame (mac80211's `rate_control_get_rate`), also after a frame
    /// that was given up.
    #[test]
    fn a_frame_after_one_that_was_given_up_has_a_chain_of_its_own() {
        let rates = RateSet::ht(1, ChannelWidth::Mhz20, false);
        let control = RateControl::new(
            &RateControlConfig::ideal(),
            &rates,
            &ErrorModel::nist(),
            Seed::new(1, 0).stream("rate"),
        );
        let peer = Address::Station(StationId(1));
        let mut originator = Originator::new(peer, Capabilities::default(), Some(control), None);
        let choose = |originator: &mut Originator, snr: f64| {
            originator.choose_rate(Instant::ZERO, Db(snr)).expect("there is rate control").0
        };
        let strong = choose(&mut originator, 30.0);
        originator.failed(false);
        assert_eq!(choose(&mut originator, 6.0), strong);
        originator.failed(true);
        assert!(choose(&mut originator, 6.0).bitrate() < strong.bitrate());
    }

    #[test]
    fn giving_up_asks_for_a_block_ack_request() {
        let mut originator = originator(3);
        let mut lost = Vec::new();
        originator.sent(3, Instant::ZERO);
        let acked = [0, 2].into_iter().collect();
        originator.settle(3, &acked, AttemptsMax::all(2), &mut VecDeque::new(), |m| {
            lost.push(m.sequence.as_u16())
        });
        assert_eq!(originator.pending.len(), 1);
        assert!(lost.is_empty() && !originator.block_ack_request_due);
        originator.sent(1, Instant::ZERO);
        originator.settle(1, &Bitmap::EMPTY, AttemptsMax::all(2), &mut VecDeque::new(), |m| {
            lost.push(m.sequence.as_u16())
        });
        assert_eq!(lost, [1]);
        assert!(originator.block_ack_request_due);
        assert_eq!(originator.held(), Held::NONE);
    }

    proptest! {
        #[test]
        fn order_and_number_are_kept(
            rounds in proptest::collection::vec((1usize..=200, any::<[u8; 32]>()), 1..20),
        ) {
            let mut originator = originator(200);
            let (mut settled, mut lost) = (0, 0);
            for (count, acked) in rounds {
                let count = count.min(originator.pending.len());
                originator.sent(count, Instant::ZERO);
                let acked = originator.settle(count, &Bitmap::from_octets(&acked), AttemptsMax::all(4), &mut VecDeque::new(), |_| lost += 1);
                settled += acked as usize;
                let order: Vec<_> = originator.pending.iter().map(|m| m.sequence.as_u16()).collect();
                prop_assert!(order.is_sorted());
                prop_assert_eq!(settled + lost + order.len(), 200);
                prop_assert_eq!(originator.held().packets as usize, order.len());
            }
        }
    }
}

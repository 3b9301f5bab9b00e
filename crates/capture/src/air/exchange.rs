//! Data from one station to another with its Acks and Block Acks, which show the delivered MPDUs
//! and those that the monitor missed.

use super::chain::{ChainCounts, Chains, Missed};
use super::ppdu::Ppdu;
use super::stations::StationId;
use super::unheard::Unheard;
use crate::rate::Rate;
use crate::series::Seconds;
use lasthop_units::{Duration, SeqNo12};
use lasthop_wifi_wire::Kind;
use lasthop_wifi_wire::control::{Bitmap, Record};
use std::collections::BTreeMap;
use std::{array, iter};

/// Data frames from one station to another.
#[derive(Debug)]
pub struct Link {
    /// Sender of the data.
    pub from: StationId,
    /// Receiver of the data.
    pub to: StationId,
    /// Counts of the link.
    pub counts: LinkCounts,
    /// Counts by PHY rate.
    pub rates: BTreeMap<Rate, RateCounts>,
    /// Number of PPDUs by their number of MPDUs, from 1.
    pub sizes: BTreeMap<u16, u64>,
    /// Sequence number spaces: one for each TID, and one for frames without QoS.
    spaces: Spaces,
    /// State of TIDs with captured Block Acks and no captured data.
    unheard: BTreeMap<u8, Unheard>,
    /// Receiver's stay on the channel in which the link was last heard.
    stay: u64,
    /// End of the latest PPDU, in ns since 1970.
    pub latest_ns: u64,
    /// Latest PPDU, until it is known whether it was answered.
    last: Option<Last>,
    /// Counts by second; payload counts at the first captured copy of an MSDU.
    pub seconds: Seconds<Second>,
    /// Acks to the sender since its last PPDU that answer no captured frame. Each stands for a
    /// single frame that was missed.
    unasked: u32,
    /// Such Acks since the last Block Ack, whose bitmap may name the same frames.
    unnamed: u64,
    /// Memory for sequence numbers that is reused.
    spare: Vec<SeqNo12>,
    /// Relation to other links of multi-link devices.
    pub(super) devices: Sharing,
    /// Whether, as a link of devices, it is heard while the receiver changes its channel.
    is_heard_always: bool,
    /// Counts of MPDUs whose numbers are in the spaces of devices.
    shared: ChainCounts,
}

/// Links that have their sequence numbers in common.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Sharing {
    /// None: the link has its own numbers.
    #[default]
    Alone,
    /// Perhaps others: no association was captured that shows them.
    Unknown,
    /// Others, whose numbers are not known: another interface captures this link.
    Twice,
    /// Links of two devices, some of which were not heard: MPDUs that were not captured may have been
    /// sent there.
    Part,
    /// All links of two devices.
    Whole,
}

/// Sequence number spaces of a link.
pub(super) type Spaces = [Option<Box<Chains>>; SPACES];

/// Minimum share of captured MPDUs from which the missed ones are assumed to be similar.
pub const CAPTURED_MIN: f64 = 0.5;
/// Longest bitmap of a Block Ack in octets (1 024 MPDUs).
const BITMAP_OCTETS: usize = 128;
/// Sequence number spaces of a link: 16 TIDs, and frames without QoS.
const SPACES: usize = 17;

/// Counts of a link.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkCounts {
    /// Captured data PPDUs.
    pub ppdus: u64,
    /// Number of captured A-MPDUs.
    pub ampdus: u64,
    /// Number of captured MPDUs.
    pub mpdus: u64,
    /// Captured MPDUs with the Retry bit.
    pub retries: u64,
    /// Missed MPDUs of captured PPDUs.
    pub missed: u64,
    /// Bytes of the bodies of MSDUs, each once.
    pub payload_bytes: u64,
    /// Time on the air of data PPDUs.
    pub airtime: Duration,
    /// PPDUs without a captured answer.
    pub unanswered: u64,
    /// MPDUs that a Block Ack left out.
    pub left_out: u64,
    /// Block Acks for this link.
    pub block_acks: u64,
    /// Block Ack Requests of the sender.
    pub block_ack_requests: u64,
    /// RTS frames before its PPDUs.
    pub rts: u64,
    /// Widest span of numbers that one Block Ack acknowledged.
    pub window: u16,
    /// MPDUs that an answer proves: captured, and missed.
    pub proved: (u64, u64),
    /// Acks that answer no captured frame.
    pub unasked: u64,
    /// Such Acks for MPDUs that the next Block Ack names as well.
    pub unasked_named: u64,
    /// Sequence numbers that were left out: neither their MPDUs nor an answer was captured.
    pub unseen: u64,
    /// MPDUs of A-MPDUs: those that an answer proves, captured or not; and captured ones without an
    /// answer.
    pub ampdu_mpdus: (u64, u64),
    /// MPDUs that Acks and Block Acks acknowledge, captured or not, each once. MPDUs of the first
    /// Block Ack may be older than the capture.
    pub acknowledged: u64,
    /// MPDUs that Block Acks prove, in TIDs without a captured MPDU.
    pub unheard: u64,
    /// Null frames of this link.
    pub nulls: Nulls,
}

/// Null and QoS Null frames from one station to another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Nulls {
    /// Captured Null frames.
    pub frames: u64,
    /// Captured Null frames with the Retry bit.
    pub retries: u64,
    /// Null frames that an Ack has answered.
    pub answered: u64,
    /// Null frames at the slowest rate of their family: all, retries, and answered ones.
    pub slowest: [u64; 3],
}

impl LinkCounts {
    /// Returns the share of MPDUs that the monitor captured, 0 to 1, among the proved ones. Failed
    /// MPDUs are assumed to be missed as often as others.
    pub fn captured_share(&self) -> f64 {
        let (captured, missed) = self.judged();
        if missed == 0 { 1.0 } else { captured as f64 / (captured + missed) as f64 }
    }

    /// Whether only gaps in the sequence numbers show which MPDUs were missed, and no Ack or Block
    /// Ack does.
    pub fn is_judged_by_numbers(&self) -> bool {
        let is_unproved = self.proved == (0, 0) || self.block_acks == 0;
        is_unproved && self.unseen > self.unasked_alone()
    }

    /// Acks for MPDUs that were not captured, and that no Block Ack names.
    const fn unasked_alone(&self) -> u64 {
        self.unasked - self.unasked_named
    }

    /// Returns the MPDUs from which [`captured_share`](Self::captured_share) follows: captured, and
    /// missed.
    pub fn judged(&self) -> (u64, u64) {
        let unasked = self.unasked_alone();
        match self.proved {
            // No answer to a captured MPDU was heard.
            (0, 0) if self.mpdus > 0 => (self.mpdus, unasked.max(self.unseen)),
            // Without data, Acks may answer other frames.
            (0, 0) => (0, self.unseen),
            // Acks prove most single frames. Gaps prove little about A-MPDUs beyond their Block
            // Acks: a sender that flushes its queue leaves numbers out, too.
            (captured, missed) if self.block_acks == 0 => {
                (captured, missed + unasked.max(self.unseen))
            }
            (captured, missed) => (captured, missed + unasked),
        }
    }

    /// Handles that what counted as missed so far may have been sent elsewhere.
    fn forget_missed(&mut self) {
        self.ampdu_mpdus.0 -= self.missed;
        (self.missed, self.proved.1, self.unseen, self.unheard) = (0, 0, 0, 0);
    }

    /// Returns the number of MPDUs that one captured MPDU represents; `None` if less than half was
    /// captured. A monitor hears some rates and misses others, so that a small part does not
    /// represent the rest.
    fn times(&self) -> Option<f64> {
        let share = self.captured_share();
        (share >= CAPTURED_MIN).then(|| 1.0 / share)
    }

    /// Returns the estimated number of MPDUs with the Retry bit; a lower bound if less than half
    /// was captured.
    pub fn retries_estimated(&self) -> f64 {
        self.retries as f64 * self.times().unwrap_or(1.0)
    }

    /// Returns the estimated number of MPDUs. If less than half was captured, it is a lower bound:
    /// captured plus proved MPDUs.
    pub fn mpdus_estimated(&self) -> f64 {
        let (_, missed) = self.judged();
        self.times().map_or((self.mpdus + missed) as f64, |times| self.mpdus as f64 * times)
    }

    /// Returns the mean number of MPDUs in an A-MPDU; `None` without A-MPDUs.
    pub fn mpdus_per_ampdu(&self) -> Option<f64> {
        let (proved, others) = self.ampdu_mpdus;
        let others = others as f64 * self.times().unwrap_or(1.0);
        (self.ampdus > 0).then(|| (proved as f64 + others) / self.ampdus as f64)
    }
}

/// Counts at one PHY rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RateCounts {
    /// Captured data PPDUs.
    pub ppdus: u64,
    /// Number of captured MPDUs.
    pub mpdus: u64,
    /// MPDUs with the Retry bit.
    pub retries: u64,
    /// MPDUs of PPDUs that were answered, or that a Block Ack reported on.
    pub judged: u64,
    /// Judged MPDUs that did not get across.
    pub failed: u64,
    /// Time on the air of these PPDUs.
    pub airtime: Duration,
    /// Sum of the levels of these PPDUs in dBm, and their number.
    pub signal: (i64, u64),
}

/// Counts of one second of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Second {
    /// Bytes of bodies of MSDUs, each once.
    pub payload_bytes: u64,
    /// Captured data PPDUs.
    pub ppdus: u32,
    /// Captured MPDUs in these PPDUs.
    pub mpdus: u32,
    /// Number of captured A-MPDUs.
    pub ampdus: u32,
    /// Captured MPDUs in A-MPDUs.
    pub ampdu_mpdus: u32,
    /// MPDUs with the Retry bit.
    pub retries: u32,
    /// Sum of the PHY rates of its PPDUs in kb/s.
    pub rate_kbps_sum: u64,
    /// Time on the air in ns.
    pub airtime_ns: u64,
}

#[derive(Debug)]
struct Last {
    space: usize,
    rate: Option<Rate>,
    sequences: Vec<SeqNo12>,
    /// Newest number before the PPDU.
    before: Option<SeqNo12>,
    /// MPDUs in the PPDU that were missed.
    missed: u16,
    /// Captured MPDUs in the PPDU that were not acknowledged.
    failed: u16,
    aggregated: bool,
    answered: bool,
    at_ns: u64,
}

impl Link {
    /// Creates a link without data.
    pub fn new(from: StationId, to: StationId) -> Self {
        Self {
            from,
            to,
            counts: LinkCounts::default(),
            rates: BTreeMap::new(),
            sizes: BTreeMap::new(),
            spaces: Default::default(),
            unheard: BTreeMap::new(),
            stay: 0,
            latest_ns: 0,
            last: None,
            seconds: Seconds::default(),
            unasked: 0,
            unnamed: 0,
            spare: Vec::new(),
            devices: Sharing::Alone,
            is_heard_always: false,
            shared: ChainCounts::default(),
        }
    }

    /// Handles a data PPDU of this link, which ended in the `second` of the capture. `unasked` is
    /// the number of Acks to its sender, since the sender's previous PPDU, that answer no captured
    /// frame.
    pub fn handle_ppdu(&mut self, ppdu: &Ppdu, second: usize, unasked: u32) {
        self.unasked = unasked;
        self.give_up_last(ppdu);
        self.finish();
        self.latest_ns = ppdu.at_ns;
        let data = || ppdu.mpdus.iter().filter(|mpdu| is_data(mpdu.kind));
        let Some(first) = data().next() else { return };
        let space = first.tid.map_or(SPACES - 1, usize::from);
        let chains = self.spaces[space].get_or_insert_default();
        self.unheard.remove(&(space as u8));
        let (unseen, before) = (chains.unseen(), chains.newest());
        let is_whole = self.devices == Sharing::Whole;
        let (mut retries, mut payload_bytes) = (0u32, 0u64);
        let mut sequences = std::mem::take(&mut self.spare);
        sequences.clear();
        for mpdu in data() {
            retries += u32::from(mpdu.retry);
            let Some(sequence) = mpdu.sequence else { continue };
            // Fragments share the number of their MSDU and count with the first one.
            if mpdu.fragment > 0 {
                payload_bytes += u64::from(mpdu.body_bytes) * u64::from(!mpdu.retry);
                continue;
            }
            let attempt = chains.handle_mpdu(sequence, mpdu.retry);
            self.shared.missed += u64::from(attempt.missed_before) * u64::from(is_whole);
            if attempt.new && !chains.is_acknowledged(sequence) {
                payload_bytes += u64::from(mpdu.body_bytes);
            }
            sequences.push(sequence);
        }
        let mpdus = data().count() as u32;
        let counts = &mut self.counts;
        // Management frames and frames to groups take numbers from the space of data without QoS.
        if first.tid.is_some() && self.devices == Sharing::Alone {
            counts.unseen = counts.unseen + chains.unseen() - unseen;
        }
        counts.ppdus += 1;
        counts.ampdus += u64::from(ppdu.aggregated);
        counts.mpdus += u64::from(mpdus);
        counts.retries += u64::from(retries);
        counts.payload_bytes += payload_bytes;
        counts.airtime += ppdu.airtime;
        if let Some(rate) = ppdu.rate {
            let at_rate = self.rates.entry(rate).or_default();
            at_rate.ppdus += 1;
            at_rate.mpdus += u64::from(mpdus);
            at_rate.retries += u64::from(retries);
            at_rate.airtime += ppdu.airtime;
            if let Some(dbm) = ppdu.signal_dbm {
                at_rate.signal.0 += i64::from(dbm);
                at_rate.signal.1 += 1;
            }
        }
        let second = self.seconds.at(second);
        second.payload_bytes += payload_bytes;
        second.ppdus += 1;
        second.mpdus += mpdus;
        if ppdu.aggregated {
            second.ampdus += 1;
            second.ampdu_mpdus += mpdus;
        }
        second.retries += retries;
        second.rate_kbps_sum += ppdu.rate.map_or(0, |rate| u64::from(rate.kbps));
        second.airtime_ns += ppdu.airtime.as_nanos();
        self.last = Some(Last {
            space,
            rate: ppdu.rate,
            failed: sequences.len() as u16,
            sequences,
            before,
            missed: 0,
            aggregated: ppdu.aggregated,
            answered: false,
            at_ns: ppdu.at_ns,
        });
    }

    /// Returns the end of the last PPDU, if no answer to it was captured.
    pub fn unanswered_since(&self) -> Option<u64> {
        self.last.as_ref().filter(|last| !last.answered).map(|last| last.at_ns)
    }

    /// Handles an Ack for the last PPDU. Calls `newly` with TID (16 without QoS) and number of each
    /// MPDU that it is the first to acknowledge.
    pub fn handle_ack(&mut self, newly: &mut dyn FnMut(u8, SeqNo12)) {
        let Some(last) = &mut self.last else { return };
        if last.answered {
            return;
        }
        last.answered = true;
        last.failed = 0;
        self.counts.proved.0 += last.sequences.len() as u64;
        if let Some(chains) = &mut self.spaces[last.space] {
            for sequence in &last.sequences {
                if !chains.is_acknowledged(*sequence) {
                    self.counts.acknowledged += 1;
                    newly(last.space as u8, *sequence);
                }
                chains.handle_acknowledged(*sequence, true);
            }
        }
        judge(&mut self.rates, last.rate, last.sequences.len(), 0);
    }

    /// Handles the record of a Block Ack about one TID of this link. `prompt`: it answers the last
    /// PPDU, not a request. `newly` is called as in [`handle_ack`](Self::handle_ack).
    pub fn handle_block_ack(
        &mut self,
        record: &Record<'_>,
        prompt: bool,
        newly: &mut dyn FnMut(u8, SeqNo12),
    ) {
        self.counts.block_acks += 1;
        let may_be_elsewhere = self.may_be_elsewhere();
        let is_shared = self.devices == Sharing::Whole;
        let may_be_on_air = is_shared || self.devices == Sharing::Part;
        let space = usize::from(record.tid & 15);
        let Bitmap { start, octets: bitmap, bits_per_msdu } = record.bitmap;
        let Some(chains) = &mut self.spaces[space] else {
            let unheard = self.unheard.entry(record.tid & 15).or_default();
            let (acknowledged, missed) = unheard.handle_block_ack(&record.bitmap);
            let missed = if may_be_elsewhere { 0 } else { missed };
            self.counts.acknowledged += acknowledged;
            self.counts.unheard += missed;
            self.counts.proved.1 += missed;
            self.name_unasked(missed);
            return;
        };
        let unseen = chains.unseen();
        let mut last = self.last.take_if(|last| last.space == space && !last.answered && prompt);
        // A bit for each number of the bitmap that was captured in the PPDU.
        let mut in_last = [0u8; BITMAP_OCTETS];
        for sequence in last.iter().flat_map(|last| &last.sequences) {
            let bit = usize::from(sequence.distance_from(start));
            if let Some(octet) = in_last.get_mut(bit / 8) {
                *octet |= 1 << (bit % 8);
            }
        }
        // Decides which missed MPDUs were in this PPDU. Excluded are numbers that later ones had
        // passed before it, and as many numbers before it as single frames were missed and
        // acknowledged.
        let first = last.as_ref().and_then(|last| last.sequences.first());
        let first_bit = first.map_or(0, |first| first.distance_from(start));
        let before = last.as_ref().and_then(|last| last.before);
        let mut single = std::mem::take(&mut self.unasked);
        let (mut bits, mut first, mut newest) = (0u32, None, 0);
        let mut missed_only = 0;
        let (counts, shared) = (&mut self.counts, &mut self.shared);
        let mut acknowledged = [0u8; BITMAP_OCTETS];
        // Numbers that the previous Block Ack named, too.
        let is_alike = bits_per_msdu == 1;
        let named = if is_alike { chains.named(start) } else { Default::default() };
        let known = named.map(u64::to_le_bytes);
        for ((octet, known), n) in bitmap.iter().zip(known.as_flattened()).zip(0..) {
            let known = octet & known;
            if known != 0 {
                bits += known.count_ones();
                first.get_or_insert(8 * n + known.trailing_zeros() as u16);
                newest = 8 * n + known.ilog2() as u16;
                acknowledged[usize::from(n)] = known;
                if let Some(last) = &mut last {
                    let captured = (known & in_last[usize::from(n)]).count_ones() as u16;
                    last.failed = last.failed.saturating_sub(captured);
                }
            }
        }
        let mut acknowledge = |bit: u16| {
            let (octet, mask) = (usize::from(bit / 8), 1 << (bit % 8));
            bits += 1;
            first = Some(first.map_or(bit, |first: u16| first.min(bit)));
            newest = newest.max(bit);
            acknowledged[octet] |= mask;
            let captured = in_last[octet] & mask != 0;
            let number = start.plus(bit);
            if chains.is_older(number) {
                counts.acknowledged += u64::from(!chains.is_acknowledged(number));
                chains.handle_older(number);
                return;
            }
            // The PPDU of another link that it was in has not ended; its own Block Ack follows.
            if may_be_on_air && !captured && !chains.is_known(number) {
                return;
            }
            let is_new = !chains.is_acknowledged(number);
            if is_new {
                newly(space as u8, number);
            }
            let missed = chains.handle_acknowledged(number, captured);
            let is_elsewhere = missed.is_some() && may_be_elsewhere;
            let missed = missed.filter(|_| !is_elsewhere);
            missed_only += u64::from(missed == Some(Missed::Only));
            if is_shared {
                shared.missed += u64::from(missed.is_some());
                shared.missed_retries += u64::from(missed == Some(Missed::Again));
            }
            // A number that is too old is not accepted.
            if is_new && chains.is_acknowledged(number) {
                counts.acknowledged += 1;
                let (heard, unheard) = &mut counts.proved;
                *if missed.is_some() { unheard } else { heard } += u64::from(!is_elsewhere);
            }
            let passed = missed == Some(Missed::Only)
                && before.is_some_and(|before| !before.is_before(number));
            let alone = missed == Some(Missed::Only) && !passed && bit < first_bit && single > 0;
            single -= u32::from(alone);
            if let Some(last) = &mut last {
                last.missed += u16::from(missed.is_some() && !passed && !alone);
                last.failed = last.failed.saturating_sub(u16::from(captured));
            }
        };
        if is_alike {
            let known = known.as_flattened().iter().chain(iter::repeat(&0));
            let octets = bitmap.iter().zip(known).take(BITMAP_OCTETS);
            for ((octet, known), base) in octets.zip((0u16..).step_by(8)) {
                let mut rest = octet & !known;
                while rest != 0 {
                    acknowledge(base + rest.trailing_zeros() as u16);
                    rest &= rest - 1;
                }
            }
        } else {
            for sequence in record.bitmap.received() {
                acknowledge(sequence.distance_from(start));
            }
        }
        chains.handle_answered();
        if is_alike {
            let (octets, _) = acknowledged.as_chunks();
            let words = array::from_fn(|n| u64::from_le_bytes(octets[n]));
            chains.name(start, words);
        }
        if self.devices == Sharing::Alone {
            self.counts.unseen = self.counts.unseen + chains.unseen() - unseen;
        }
        if bits > 0 {
            self.counts.window = self.counts.window.max(newest - first.unwrap_or(newest) + 1);
        }
        if let Some(last) = &mut last {
            last.answered = true;
            // Only an A-MPDU is answered with a Block Ack without a request (10.25.6.5).
            self.counts.ampdus += u64::from(!last.aggregated);
            last.aggregated = true;
            let mut left_out = 0;
            for sequence in &last.sequences {
                let bit = usize::from(sequence.distance_from(start));
                let octet = acknowledged.get(bit / 8).copied().unwrap_or_default();
                if bit < record.bitmap.len() && octet & 1 << (bit % 8) == 0 {
                    chains.handle_missing(*sequence);
                    left_out += 1;
                }
            }
            self.counts.left_out += left_out as u64;
            judge(&mut self.rates, last.rate, last.sequences.len(), left_out);
        }
        if last.is_some() {
            self.last = last;
        }
        self.name_unasked(missed_only);
    }

    /// Handles an Ack to the sender that answers no captured frame.
    pub fn handle_unasked(&mut self) {
        self.counts.unasked += 1;
        self.unnamed += 1;
    }

    /// Handles a Block Ack that names this number of missed MPDUs. The recipient also sets the bits
    /// of MPDUs that an Ack answered before (IEEE 802.11-2020, 10.25.6.3), so each counts once.
    fn name_unasked(&mut self, missed: u64) {
        self.counts.unasked_named += missed.min(std::mem::take(&mut self.unnamed));
    }

    /// If `next` repeats the last, unanswered PPDU, that PPDU failed as a whole. If `next` repeats
    /// only a part of it, the answer that acknowledged the rest was missed.
    fn give_up_last(&mut self, next: &Ppdu) {
        let Some(last) = self.last.as_ref().filter(|last| !last.answered) else { return };
        let Some(chains) = &mut self.spaces[last.space] else { return };
        let mut numbers = [0u64; SeqNo12::MODULUS as usize / 64];
        let place =
            |number: SeqNo12| (usize::from(number.as_u16() / 64), 1u64 << (number.as_u16() % 64));
        let (mut repeats, mut newest) = (false, None);
        for mpdu in next.mpdus.iter().filter(|mpdu| is_data(mpdu.kind)) {
            let (Some(number), true) =
                (mpdu.sequence, mpdu.tid.map_or(SPACES - 1, usize::from) == last.space)
            else {
                return;
            };
            let (word, bit) = place(number);
            numbers[word] |= bit;
            repeats |= mpdu.retry;
            newest = Some(number);
        }
        let (true, Some(newest)) = (repeats, newest) else { return };
        let within = |number: &&SeqNo12| !newest.is_before(**number);
        let sent_again = |number: &&SeqNo12| {
            let (word, bit) = place(**number);
            numbers[word] & bit != 0
        };
        let within = last.sequences.iter().filter(within);
        if within.clone().filter(sent_again).count() * 2 > within.count() {
            last.sequences.iter().for_each(|number| chains.handle_missing(*number));
        }
    }

    /// Ends the last PPDU.
    pub fn finish(&mut self) {
        let Some(last) = self.last.take() else { return };
        let size = last.sequences.len() as u16 + last.missed;
        *self.sizes.entry(size).or_default() += 1;
        self.counts.missed += u64::from(last.missed);
        if last.aggregated {
            let captured = last.sequences.len() as u64;
            let failed = u64::from(last.failed);
            self.counts.ampdu_mpdus.0 += captured - failed + u64::from(last.missed);
            self.counts.ampdu_mpdus.1 += failed;
        }
        if !last.answered {
            self.counts.unanswered += 1;
        }
        self.spare = last.sequences;
    }

    /// Notes the receiver's stay on the channel. MPDUs between two stays were not missed.
    pub fn handle_stay(&mut self, stay: u64) {
        if std::mem::replace(&mut self.stay, stay) == stay || self.is_heard_always {
            return;
        }
        self.finish();
        self.spaces.iter_mut().flatten().for_each(|chains| chains.handle_gap());
        self.unheard.clear();
        self.unasked = 0;
        self.unnamed = 0;
    }

    /// Handles that this may be a link of multi-link devices: numbers are left out for other links.
    /// `is_heard_always`: the receiver has a radio on each channel.
    pub(super) fn join_devices(&mut self, devices: Sharing, is_heard_always: bool) {
        if self.devices == Sharing::Alone {
            self.counts.forget_missed();
            self.last.iter_mut().for_each(|last| last.missed = 0);
        }
        self.devices = devices;
        self.is_heard_always = is_heard_always;
    }

    /// Gives its own sequence number spaces to its devices, and takes those of the devices.
    pub(super) fn borrow_spaces(&mut self, spaces: &mut Spaces) {
        for (mine, theirs) in self.spaces.iter_mut().zip(spaces) {
            let Some(before) = std::mem::replace(mine, theirs.take()) else { continue };
            if mine.is_some() {
                self.shared.sum(&before.counts());
            } else {
                *mine = Some(before);
            }
        }
    }

    /// Returns the sequence number spaces to the devices. `new` is the number of MPDUs that came to
    /// this link.
    pub(super) fn return_spaces(&mut self, spaces: &mut Spaces, new: u64) {
        *spaces = std::mem::take(&mut self.spaces);
        self.shared.msdus += new;
    }

    /// Whether MPDUs that were not captured may have been sent on links that were not.
    fn may_be_elsewhere(&self) -> bool {
        matches!(self.devices, Sharing::Unknown | Sharing::Twice | Sharing::Part)
    }

    /// Handles a Null frame of this link.
    pub fn handle_null(&mut self, retry: bool, is_slowest: bool) {
        let nulls = &mut self.counts.nulls;
        nulls.frames += 1;
        nulls.retries += u64::from(retry);
        nulls.slowest[0] += u64::from(is_slowest);
        nulls.slowest[1] += u64::from(is_slowest && retry);
    }

    /// Handles an Ack for the last Null frame of this link.
    pub fn handle_null_ack(&mut self, is_slowest: bool) {
        self.counts.nulls.answered += 1;
        self.counts.nulls.slowest[2] += u64::from(is_slowest);
    }

    /// Returns the number of MPDUs that the monitor missed.
    pub fn missed(&self) -> u64 {
        let (_, judged) = self.counts.judged();
        (self.chains().missed + self.counts.unheard + self.counts.unasked_alone()).max(judged)
    }

    /// Reduces memory, since no earlier MPDU will be sent again.
    pub fn compact(&mut self) {
        self.finish();
        self.spaces.iter_mut().flatten().for_each(|chains| chains.compact());
        self.spare = Vec::new();
    }

    /// Whether the latest MPDU with this number was acknowledged; `None` if it was not captured.
    /// `tid` is 16 for frames without QoS.
    pub fn is_acknowledged(&self, tid: u8, sequence: SeqNo12) -> Option<bool> {
        self.spaces.get(usize::from(tid))?.as_ref()?.fate(sequence)
    }

    /// Returns the counts of MPDUs over all sequence number spaces. None was missed that may have
    /// been sent on a link elsewhere. Of MPDUs between devices, those count that came to this
    /// link, and those that it was the first to acknowledge; the devices have their attempts.
    pub fn chains(&self) -> ChainCounts {
        let mut sum = self.shared.clone();
        for counts in self.spaces.iter().flatten().map(|chains| chains.counts()) {
            sum.sum(&counts);
        }
        if self.may_be_elsewhere() {
            (sum.missed, sum.missed_retries) = (0, 0);
        }
        if matches!(self.devices, Sharing::Part | Sharing::Whole) {
            sum.acknowledged = self.counts.acknowledged.min(sum.msdus);
        }
        sum
    }

    /// Whether the link belongs to devices whose links are not all known.
    pub(crate) fn is_of_unknown_devices(&self) -> bool {
        self.devices == Sharing::Unknown
    }
}

fn judge(rates: &mut BTreeMap<Rate, RateCounts>, rate: Option<Rate>, mpdus: usize, failed: usize) {
    if let Some(counts) = rate.and_then(|rate| rates.get_mut(&rate)) {
        counts.judged += mpdus as u64;
        counts.failed += failed as u64;
    }
}

/// Whether a frame is a data frame with a body.
pub const fn is_data(kind: Kind) -> bool {
    matches!(kind, Kind::Data | Kind::QosData)
}

/// Whether a frame is a Null or QoS Null frame.
pub const fn is_null(kind: Kind) -> bool {
    matches!(kind, Kind::Null | Kind::QosNull)
}

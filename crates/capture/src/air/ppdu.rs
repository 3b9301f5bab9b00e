//! MPDUs put together to the PPDUs in which they were sent. A monitor delivers each MPDU of an
//! A-MPDU as a packet of its own.
//!
//! Two MPDUs are of one A-MPDU if sender, receiver and rate are the same, nobody else was heard
//! between them, the reference of radiotap does not differ, the first was not marked as the
//! last, sequence numbers ascend, and the second came no later than its own length, or the
//! first one's, takes on the air. After an A-MPDU there is at least a SIFS, an answer or its
//! timeout, and a preamble. So a reference that is always 0 does not join what is apart, and
//! where there is none times decide. Nothing before 802.11n aggregates (IEEE 802.11-2020, 9.7.1),
//! and nothing follows a Block Ack Request in an A-MPDU (9.7.3). Times are those of the receiver's clock (TSFT). Where it
//! has none they are those of its host, which come late and unevenly: there a reference counts
//! for more, once it was seen to change.

use super::stations::StationId;
use crate::frame::Frame;
use crate::rate::Rate;
use lasthop_units::{Duration, SeqNo12};
use lasthop_wifi::phy::Band;
use lasthop_wifi::wire::Kind;

/// What was sent in one piece, by one sender.
#[derive(Clone, Debug)]
pub struct Ppdu {
    /// Numbers of its first and last packet in the file.
    pub frames: (u64, u64),
    /// When it ended (when its last MPDU was captured), in ns since 1970.
    pub at_ns: u64,
    /// Its sender, if it is known.
    pub transmitter: Option<StationId>,
    /// Its receiver; `None` for a group.
    pub receiver: Option<StationId>,
    /// PHY rate.
    pub rate: Option<Rate>,
    /// An A-MPDU: the receiver said so, or it has several MPDUs.
    pub aggregated: bool,
    /// Its MPDUs in their order. Never empty.
    pub mpdus: Vec<Mpdu>,
    /// Bytes of the PSDU, as far as it was captured.
    pub psdu_bytes: u32,
    /// How long it took, with its preamble; zero if its rate is unknown.
    pub airtime: Duration,
    /// Level at the monitor in dBm.
    pub signal_dbm: Option<i8>,
    /// Centre of the receiver's channel in MHz.
    pub frequency_mhz: Option<u16>,
    /// The receiver's clock at the first bit of the PSDU, in us.
    pub tsft_us: Option<u64>,
    /// Its last MPDU is known to be the last of the A-MPDU.
    pub last_known: bool,
}

impl Ppdu {
    /// Number of the packet of each MPDU, when it ended, and whether that is exact. A receiver that
    /// delivers MPDUs one by one has each before those that follow it. Where some that followed were
    /// missed, it has ended earlier than it seems.
    pub fn ends_ns(&self) -> impl Iterator<Item = (u64, u64, bool)> {
        let follows = |pair: &[Mpdu]| {
            let [before, behind] = pair else { return false };
            before.sequence.map(SeqNo12::next) == behind.sequence
        };
        // All behind these are there: their numbers have no gap, and the last one is known.
        let gap = self.mpdus.windows(2).rposition(|pair| !follows(pair)).map_or(0, |gap| gap + 1);
        let exact_from = match (self.aggregated, self.last_known) {
            (false, _) => 0,
            (true, true) => gap,
            (true, false) => self.mpdus.len(),
        };
        let bytes = |mpdu: &Mpdu| u64::from((DELIMITER_BYTES + mpdu.bytes).next_multiple_of(4));
        let kbps = self.rate.map(|rate| u64::from(rate.kbps.max(1)));
        let begin_ns = self.at_ns.saturating_sub(self.airtime.as_nanos());
        let mut behind_bytes: u64 = self.mpdus.iter().map(bytes).sum();
        self.mpdus.iter().enumerate().map(move |(index, mpdu)| {
            behind_bytes -= bytes(mpdu);
            let behind_ns = kbps.map_or(0, |kbps| behind_bytes * 8_000_000 / kbps);
            let end_ns = self.at_ns.saturating_sub(behind_ns).max(begin_ns);
            (mpdu.number, end_ns, index >= exact_from)
        })
    }
}

/// An MPDU of a PPDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mpdu {
    /// Number of the packet in the file.
    pub number: u64,
    /// Type and subtype.
    pub kind: Kind,
    /// The Retry bit.
    pub retry: bool,
    /// The Power Management bit.
    pub power_management: bool,
    /// Sequence number, of data and management frames.
    pub sequence: Option<SeqNo12>,
    /// Fragment number.
    pub fragment: u8,
    /// Traffic identifier of QoS data.
    pub tid: Option<u8>,
    /// Length in bytes, with its FCS.
    pub bytes: u32,
    /// Length of its body in bytes.
    pub body_bytes: u32,
}

/// The PPDU of which MPDUs still may come.
#[derive(Debug, Default)]
pub struct Grouper {
    open: Option<Open>,
    /// The last reference, and whether another one came before it. `None` as long as the driver
    /// has said nothing of A-MPDUs.
    reference: Option<(u32, bool)>,
    /// Memory for MPDUs, to be used again.
    spare: Vec<Mpdu>,
}

#[derive(Debug)]
struct Open {
    ppdu: Ppdu,
    reference: Option<u32>,
    /// The last MPDU of the A-MPDU was there.
    complete: bool,
    tsft_us: Option<u64>,
}

/// Delay between a frame and its answer at least, in ns (aSIFSTime at 2.4 GHz).
const SIFS_NS: u64 = 10_000;
/// How unevenly a host takes packets out of its receiver's queue, in ns. Less than a Block Ack, a
/// backoff and a preamble take together.
const LATE_NS: u64 = 100_000;
/// Longest PPDU in ns (aPPDUMaxTime).
const PPDU_NS_MAX: u64 = 5_484_000;
/// Length of the delimiter in front of each MPDU in an A-MPDU.
const DELIMITER_BYTES: u32 = 4;

impl Grouper {
    /// Takes the next MPDU. Gives the PPDU before it, if that has ended with it; the MPDU belongs
    /// to the one that is [finished](Self::finish) or given next.
    pub fn handle_mpdu(
        &mut self,
        frame: &Frame<'_>,
        transmitter: Option<StationId>,
        receiver: Option<StationId>,
        band: Band,
    ) -> Option<Ppdu> {
        let sequence = frame.view.sequence_control();
        let mpdu = Mpdu {
            number: frame.number,
            kind: frame.kind(),
            retry: frame.control.flags.retry,
            power_management: frame.control.flags.power_management,
            sequence: sequence.map(|control| control.sequence),
            fragment: sequence.map_or(0, |control| control.fragment),
            tid: frame.view.qos_control().map(|control| control.tid),
            bytes: frame.mpdu_bytes,
            body_bytes: frame.body_bytes(),
        };
        let references_differ = self.note_reference(frame);
        if let Some(open) = &mut self.open
            && open.continues(frame, &mpdu, transmitter, receiver, references_differ)
        {
            open.push(frame, mpdu);
            return None;
        }
        let closed = self.finish(band);
        let mut mpdus = std::mem::take(&mut self.spare);
        mpdus.push(mpdu);
        let reference = frame.radio.ampdu.map(|ampdu| ampdu.reference);
        let can_aggregate = frame.radio.rate.is_none_or(Rate::can_aggregate);
        self.open = Some(Open {
            ppdu: Ppdu {
                frames: (frame.number, frame.number),
                at_ns: frame.at_ns,
                transmitter,
                receiver,
                rate: frame.radio.rate,
                aggregated: reference.is_some() && can_aggregate,
                mpdus,
                psdu_bytes: 0,
                airtime: Duration::ZERO,
                signal_dbm: frame.radio.signal_dbm,
                frequency_mhz: frame.radio.frequency_mhz,
                tsft_us: frame.radio.tsft_us,
                last_known: false,
            },
            reference,
            complete: frame.radio.ampdu.and_then(|ampdu| ampdu.last) == Some(true),
            tsft_us: frame.radio.tsft_us,
        });
        closed
    }

    /// Whether references are different for different A-MPDUs, as far as is known.
    fn note_reference(&mut self, frame: &Frame<'_>) -> bool {
        let Some(ampdu) = frame.radio.ampdu else {
            return self.reference.is_some_and(|(_, differ)| differ);
        };
        let reference = ampdu.reference;
        let (_, differ) = *self.reference.insert(match self.reference {
            Some((last, differ)) => (reference, differ || last != reference),
            None => (reference, false),
        });
        differ
    }

    /// Takes back a PPDU that is not needed any more, for its memory.
    pub fn recycle(&mut self, ppdu: Ppdu) {
        self.spare = ppdu.mpdus;
        self.spare.clear();
    }

    /// The PPDU to which no more MPDUs come.
    pub fn finish(&mut self, band: Band) -> Option<Ppdu> {
        let Open { mut ppdu, complete, .. } = self.open.take()?;
        ppdu.last_known = complete;
        ppdu.aggregated |= ppdu.mpdus.len() > 1;
        ppdu.psdu_bytes = match ppdu.aggregated {
            false => ppdu.mpdus[0].bytes,
            true => ppdu
                .mpdus
                .iter()
                .map(|mpdu| (DELIMITER_BYTES + mpdu.bytes).next_multiple_of(4))
                .sum(),
        };
        if let Some(rate) = ppdu.rate {
            ppdu.airtime = rate.airtime(ppdu.psdu_bytes, band);
        }
        Some(ppdu)
    }
}

impl Open {
    fn continues(
        &self,
        frame: &Frame<'_>,
        next: &Mpdu,
        transmitter: Option<StationId>,
        receiver: Option<StationId>,
        references_differ: bool,
    ) -> bool {
        let Self { ppdu, reference, complete, tsft_us } = self;
        let last = &ppdu.mpdus[ppdu.mpdus.len() - 1];
        if *complete
            || transmitter.is_none()
            || (ppdu.transmitter, ppdu.receiver) != (transmitter, receiver)
            || ppdu.rate != frame.radio.rate
            || !ppdu.rate.is_none_or(Rate::can_aggregate)
            || *reference != frame.radio.ampdu.map(|ampdu| ampdu.reference)
            // A driver that says what is aggregated has said that this is not.
            || references_differ && reference.is_none()
            || last.kind == Kind::BlockAckRequest
            || !can_be_aggregated(last.kind)
            || !can_be_aggregated(next.kind)
        {
            return false;
        }
        if last.kind == Kind::QosData && next.kind == Kind::QosData && last.tid == next.tid {
            let ascends = match (last.sequence, next.sequence) {
                (Some(last), Some(next)) => last.is_before(next) && last != next,
                _ => false,
            };
            if !ascends {
                return false;
            }
        }
        let (apart_ns, slack_ns) = match (tsft_us, frame.radio.tsft_us) {
            (Some(last), Some(next)) => {
                let apart_us = next.checked_sub(*last);
                (apart_us.map(|apart_us| apart_us.saturating_mul(1_000)), SIFS_NS)
            }
            _ => {
                let same_reference = references_differ && reference.is_some();
                let slack_ns = if same_reference { PPDU_NS_MAX } else { LATE_NS };
                (frame.at_ns.checked_sub(ppdu.at_ns), slack_ns)
            }
        };
        let takes_ns = ppdu.rate.map_or(0, |rate| {
            u64::from(last.bytes.max(next.bytes) + DELIMITER_BYTES) * 8 * 1_000_000
                / u64::from(rate.kbps.max(1))
        });
        apart_ns.is_some_and(|apart| apart < takes_ns + slack_ns)
    }

    fn push(&mut self, frame: &Frame<'_>, mpdu: Mpdu) {
        self.ppdu.frames.1 = frame.number;
        self.ppdu.at_ns = frame.at_ns;
        self.ppdu.mpdus.push(mpdu);
        self.complete = frame.radio.ampdu.and_then(|ampdu| ampdu.last) == Some(true);
        self.tsft_us = frame.radio.tsft_us.or(self.tsft_us);
        let signals = [self.ppdu.signal_dbm, frame.radio.signal_dbm];
        self.ppdu.signal_dbm = signals.into_iter().flatten().max();
    }
}

/// What comes in A-MPDUs (table 9-532, without what nobody sends).
const fn can_be_aggregated(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::QosData | Kind::QosNull | Kind::BlockAckRequest | Kind::Action | Kind::ActionNoAck
    )
}

//! Grouping of MPDUs into PPDUs. A monitor delivers each MPDU of an A-MPDU as a separate packet.
//!
//! Two MPDUs belong to one A-MPDU under these conditions: they have the same sender, receiver and
//! rate; no other station was heard between them; the radiotap reference does not differ; the first
//! was not marked as the last; sequence numbers ascend; and the second came no later than the time
//! that its own length, or that of the first, takes on the air. After an A-MPDU there are at least
//! a SIFS, an answer or its timeout, and a preamble. So a reference that is always 0 does not join
//! separate PPDUs, and without a reference the times decide. Before 802.11n no PPDU is aggregated
//! (IEEE 802.11-2020, 9.7.1), and a Block Ack Request is the last MPDU of an A-MPDU (9.7.3). Times
//! are those of the receiver's clock (TSFT). Without this clock they are those of the host, which
//! are late and uneven; a reference then counts for more, once it was seen to change.

use super::stations::StationId;
use crate::frame::Frame;
use crate::rate::Rate;
use lasthop_units::{Duration, SeqNo12};
use lasthop_wifi_phy::Band;
use lasthop_wifi_wire::Kind;

/// A PPDU: MPDUs that one sender sent together.
#[derive(Clone, Debug)]
pub struct Ppdu {
    /// Numbers of its first and last packet in the file.
    pub frames: (u64, u64),
    /// End of the PPDU in ns since 1970: the capture time of its last MPDU.
    pub at_ns: u64,
    /// Sender of the PPDU, if known.
    pub transmitter: Option<StationId>,
    /// Receiver of the PPDU; `None` for a group.
    pub receiver: Option<StationId>,
    /// PHY rate of the PPDU.
    pub rate: Option<Rate>,
    /// Whether it is an A-MPDU: its header says so, or it has several MPDUs.
    pub aggregated: bool,
    /// MPDUs in their order; at least one.
    pub mpdus: Vec<Mpdu>,
    /// Captured length of the PSDU, in bytes.
    pub psdu_bytes: u32,
    /// Time on the air including the preamble; zero if the rate is unknown.
    pub airtime: Duration,
    /// Level at the monitor in dBm.
    pub signal_dbm: Option<i8>,
    /// Centre of the receiver's channel in MHz.
    pub frequency_mhz: Option<u16>,
    /// Receiver's clock at the first bit of the PSDU, in us.
    pub tsft_us: Option<u64>,
    /// Whether its last MPDU is known to be the last of the A-MPDU.
    pub last_known: bool,
}

impl Ppdu {
    /// Returns the packet number of each MPDU, the end of the MPDU, and whether this end is exact.
    /// A receiver that delivers MPDUs one by one stamps each before those that follow it. If later
    /// MPDUs were missed, the MPDU ended earlier than this time.
    pub fn ends_ns(&self) -> impl Iterator<Item = (u64, u64, bool)> {
        let follows = |pair: &[Mpdu]| {
            let [before, behind] = pair else { return false };
            before.sequence.map(SeqNo12::next) == behind.sequence
        };
        // Without a gap in their numbers, and with a known last MPDU, none of these is missing.
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
    /// Whether the Retry bit is set.
    pub retry: bool,
    /// Whether the Power Management bit is set.
    pub power_management: bool,
    /// Sequence number, of data and management frames.
    pub sequence: Option<SeqNo12>,
    /// Number of the fragment.
    pub fragment: u8,
    /// Traffic identifier of QoS data.
    pub tid: Option<u8>,
    /// Length including the FCS, in bytes.
    pub bytes: u32,
    /// Length of the body, in bytes.
    pub body_bytes: u32,
}

/// PPDU that may still get MPDUs.
#[derive(Debug, Default)]
pub struct Grouper {
    open: Option<Open>,
    /// Latest reference, and whether a different one came before it; `None` until the driver marks
    /// an A-MPDU.
    reference: Option<(u32, bool)>,
    /// Memory for MPDUs that is reused.
    spare: Vec<Mpdu>,
}

#[derive(Debug)]
struct Open {
    ppdu: Ppdu,
    reference: Option<u32>,
    /// Whether the last MPDU of the A-MPDU was captured.
    complete: bool,
    tsft_us: Option<u64>,
}

/// Shortest time between a frame and its answer, in ns (aSIFSTime at 2.4 GHz).
const SIFS_NS: u64 = 10_000;
/// Unevenness with which a host reads packets from its receiver, in ns. It is shorter than a Block
/// Ack, a backoff and a preamble together.
const LATE_NS: u64 = 100_000;
/// Longest PPDU, in ns (aPPDUMaxTime).
const PPDU_NS_MAX: u64 = 5_484_000;
/// Length of the delimiter before each MPDU in an A-MPDU, in bytes.
const DELIMITER_BYTES: u32 = 4;

impl Grouper {
    /// Adds the next MPDU. Returns the previous PPDU if the MPDU ends it. The MPDU belongs to the
    /// PPDU that is [finished](Self::finish) or returned next.
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

    /// Notes the reference of a frame. Returns whether different A-MPDUs have different references,
    /// as far as is known.
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

    /// Returns the time of the PPDU of the latest MPDU, in ns since 1970.
    pub fn at_ns(&self) -> Option<u64> {
        self.open.as_ref().map(|open| open.ppdu.at_ns)
    }

    /// Returns sender and receiver of the PPDU that may still get MPDUs, if it has this number.
    pub fn ends_of(&self, tid: u8, sequence: SeqNo12) -> Option<(StationId, StationId)> {
        let ppdu = &self.open.as_ref()?.ppdu;
        let is_it = |mpdu: &Mpdu| mpdu.tid == Some(tid) && mpdu.sequence == Some(sequence);
        ppdu.mpdus.iter().any(is_it).then(|| ppdu.transmitter.zip(ppdu.receiver))?
    }

    /// Takes back a PPDU, to reuse its memory.
    pub fn recycle(&mut self, ppdu: Ppdu) {
        self.spare = ppdu.mpdus;
        self.spare.clear();
    }

    /// Returns the PPDU that gets no more MPDUs.
    pub fn finish(&mut self, band: Band) -> Option<Ppdu> {
        let Open { mut ppdu, complete, .. } = self.open.take()?;
        ppdu.last_known = complete;
        ppdu.aggregated |= ppdu.mpdus.len() > 1;
        ppdu.psdu_bytes = if ppdu.aggregated {
            let subframe = |bytes: u32| (DELIMITER_BYTES + bytes).next_multiple_of(4);
            ppdu.mpdus.iter().map(|mpdu| subframe(mpdu.bytes)).sum()
        } else {
            ppdu.mpdus[0].bytes
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
            // The driver marks A-MPDUs, and has not marked this frame.
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

/// Whether frames of this kind occur in A-MPDUs (table 9-532, without unused kinds).
const fn can_be_aggregated(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::QosData | Kind::QosNull | Kind::BlockAckRequest | Kind::Action | Kind::ActionNoAck
    )
}

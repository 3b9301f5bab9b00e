//! A radio of the medium: the queue of each access category, and the choice of the next PPDU (IEEE
//! 802.11-2020, 10.12 and 10.25.6).

use super::{RadioStats, STAGES, Stage, TxFrame};
use crate::air::{Expected, Rates, spacing_bytes};
use crate::config::{EdcaParameters, StationConfig};
use crate::mac::backoff::Backoff;
use crate::mac::block_ack::Bitmap;
use crate::mac::contention::{ContenderId, Counting};
use crate::mac::sizes;
use crate::phy::{PacketPadding, Rate};
use crate::station::Address;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use lasthop_units::{Duration, Identity, Instant, Seed};

/// Index of the access of beacons, the fifth, which precedes all categories.
pub(super) const BEACON_ACCESS: usize = 4;
/// Number of accesses: the access categories and beacons.
pub(super) const ACCESSES: usize = 5;

/// The state of one radio.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Radio {
    config: StationConfig,
    /// Rank in the order of the stations' identities.
    pub rank: u16,
    seed: Seed,
    accesses: [Option<Access>; ACCESSES],
    pub exchange: Option<RadioExchange>,
    /// Frames that the current Block Ack acknowledges: bit n is frame n.
    pub acknowledging: Bitmap,
    pub stats: RadioStats,
}

/// The frames and the contention of one access category.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Access {
    pub contender: ContenderId,
    pub backoff: Backoff,
    queue: VecDeque<Queued>,
}

/// A frame exchange in progress.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RadioExchange {
    pub access: usize,
    pub frames: Vec<Queued>,
    pub rate: Rate,
    pub psdu_bytes: u32,
    /// Air time of the payload PPDU.
    pub duration: Duration,
    pub response: Option<Expected>,
    /// Whether the RTS was sent and the CTS is awaited.
    pub requesting: bool,
    /// End of the transmission opportunity; its start if the opportunity permits one exchange.
    pub opportunity_end: Instant,
    /// Frames that their receiver decoded and did not refuse: bit n is frame n.
    pub decoded: Bitmap,
    /// End of the PPDU that precedes the response.
    pub ended: Instant,
}

impl RadioExchange {
    pub fn peer(&self) -> Option<Address> {
        self.frames.first().and_then(|queued| queued.frame.to)
    }

    pub fn is_aggregate(&self) -> bool {
        self.frames.len() > 1
    }

    /// Rate and duration of the response.
    pub fn response_time(&self, sifs: Duration) -> Duration {
        self.response.map_or(Duration::ZERO, |response| sifs + response.duration)
    }
}

/// A frame that is not settled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Queued {
    pub frame: TxFrame,
    pub tries: [u8; STAGES],
    /// Whether it was in a PPDU.
    pub sent: bool,
    /// Whether its receiver has it, known to the sender or not.
    pub taken: bool,
    /// Whether its radio withdrew it while it was on the air.
    pub withdrawn: bool,
}

impl Radio {
    pub fn new(config: &StationConfig, rank: u16, seed: Seed) -> Self {
        Self {
            config: config.clone(),
            rank,
            seed,
            accesses: [const { None }; ACCESSES],
            exchange: None,
            acknowledging: Bitmap::EMPTY,
            stats: RadioStats::default(),
        }
    }

    /// An access that was [added](Radio::add_access).
    pub fn access(&mut self, access: usize) -> &mut Access {
        self.accesses[access].as_mut().expect("it is made before it is used")
    }

    pub fn has_access(&self, access: usize) -> bool {
        self.accesses[access].is_some()
    }

    pub fn parameters(&self, access: usize) -> EdcaParameters {
        self.config.access.get(access).copied().unwrap_or(EdcaParameters::BEACON)
    }

    /// Rules by which its slots are counted.
    pub fn counting(&self) -> Counting {
        if self.config.capabilities.qos { Counting::EdcaAtOnce } else { Counting::Dcf }
    }

    pub fn add_access(&mut self, access: usize, contender: ContenderId) {
        let identity = self.config.identity.to(Identity::numbered(access as u64));
        let stream = self.seed.stream_of("medium/backoff", identity);
        let EdcaParameters { cw_min, cw_max, .. } = self.parameters(access);
        let backoff = Backoff::new(cw_min, cw_max, self.config.retry_limit, stream);
        self.accesses[access] = Some(Access { contender, backoff, queue: VecDeque::new() });
    }

    pub fn held(&self) -> usize {
        let waiting = self.accesses.iter().flatten().map(|access| access.queue.len());
        waiting.sum::<usize>() + self.exchange.as_ref().map_or(0, |e| e.frames.len())
    }

    pub fn withdraw(&mut self, tag: u64) {
        for access in self.accesses.iter_mut().flatten() {
            access.queue.retain(|queued| queued.frame.tag != tag);
        }
        let on_air = self.exchange.iter_mut().flat_map(|exchange| &mut exchange.frames);
        for queued in on_air.filter(|queued| queued.frame.tag == tag) {
            queued.withdrawn = true;
        }
    }

    pub fn refuse(&mut self, tag: u64) {
        let Some(exchange) = &mut self.exchange else { return };
        let Some(n) = exchange.frames.iter().position(|queued| queued.frame.tag == tag) else {
            return;
        };
        if exchange.decoded.contains(n) {
            exchange.decoded.remove(n);
            exchange.frames[n].taken = false;
            self.stats.refused += 1;
        }
    }

    /// Takes the frames of the next PPDU of an access from its queue: the first frame and, under an
    /// agreement, others of the same agreement. Also returns the rate, and the length of the PSDU.
    pub fn take(&mut self, rates: &mut Rates, access: usize) -> Option<(Vec<Queued>, Stage, u32)> {
        let aggregation = self.config.aggregation;
        let capabilities = &self.config.capabilities;
        let window = self.config.block_ack.window.min(capabilities.block_ack_window_max);
        let mpdu_bytes_max = capabilities.ampdu_mpdu_bytes_max;
        let queue = &mut self.accesses[access].as_mut()?.queue;
        let first = queue.pop_front()?;
        let (_, stage) = first.stage()?;
        let mut psdu_bytes = first.frame.bytes;
        let mut frames = alloc::vec![first];
        let single_bytes = if stage.rate.always_aggregates() {
            sizes::AMPDU_DELIMITER + psdu_bytes
        } else {
            psdu_bytes
        };
        let is_short = psdu_bytes <= mpdu_bytes_max && first.frame.response.is_some();
        let Some(agreement) = first.frame.agreement.filter(|_| is_short) else {
            return Some((frames, stage, single_bytes));
        };
        let shares = |other: &Queued| {
            let tid = other.frame.agreement.map(|other| other.tid);
            other.frame.to == first.frame.to && tid == Some(agreement.tid)
        };
        let sequence = |queued: &Queued| queued.frame.agreement.map(|a| a.sequence);
        let waiting = queue.iter().filter(|other| shares(other)).filter_map(sequence);
        let lowest =
            waiting.fold(agreement.sequence, |low, seq| if seq.is_before(low) { seq } else { low });
        let bytes_max = aggregation.ampdu_bytes_max.min(capabilities.ampdu_bytes_max);
        let duration_max = aggregation.ampdu_duration_max;
        let padding = PacketPadding::None;
        let bytes_max = rates.psdu_within(stage.rate, duration_max, bytes_max, padding);
        let spacing = spacing_bytes(stage.rate, aggregation.mpdu_start_spacing);
        let mut padded = sizes::ampdu_subframe(psdu_bytes, spacing);
        let mut at = 0;
        while at < queue.len() && frames.len() < usize::from(aggregation.ampdu_frames_max) {
            let other = &queue[at];
            let fits_window =
                || sequence(other).is_some_and(|seq| seq.distance_from(lowest) < window);
            if !shares(other)
                || other.frame.response.is_none()
                || other.stage().map(|(_, stage)| stage.rate) != Some(stage.rate)
                || other.frame.bytes > mpdu_bytes_max
                || !fits_window()
            {
                at += 1;
                continue;
            }
            // The last subframe is not padded (9.7.1).
            let with = padded + sizes::AMPDU_DELIMITER + other.frame.bytes;
            if with > bytes_max {
                break;
            }
            padded += sizes::ampdu_subframe(other.frame.bytes, spacing);
            psdu_bytes = with;
            frames.extend(queue.remove(at));
        }
        let psdu_bytes = if frames.len() > 1 { psdu_bytes } else { single_bytes };
        Some((frames, stage, psdu_bytes))
    }

    /// Minimum spacing of the MPDUs in its A-MPDUs.
    pub fn mpdu_start_spacing(&self) -> Duration {
        self.config.aggregation.mpdu_start_spacing
    }
}

impl Access {
    pub fn push(&mut self, frame: TxFrame) {
        let tries = [0; STAGES];
        let queued = Queued { frame, tries, sent: false, taken: false, withdrawn: false };
        self.queue.push_back(queued);
    }

    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// The first frame of the queue.
    pub fn front(&self) -> Option<&Queued> {
        self.queue.front()
    }

    /// Returns frames for retransmission to the queue: before the other frames, but each after
    /// those of its agreement with lower sequence numbers.
    pub fn put_back(&mut self, frames: &[Queued]) {
        for &queued in frames.iter().rev() {
            let precedes = |other: &Queued| {
                let (Some(own), Some(theirs)) = (queued.frame.agreement, other.frame.agreement)
                else {
                    return false;
                };
                own.tid == theirs.tid
                    && other.frame.to == queued.frame.to
                    && theirs.sequence.is_before(own.sequence)
            };
            let at = self.queue.iter().rposition(precedes).map_or(0, |at| at + 1);
            self.queue.insert(at, queued);
        }
    }
}

impl Queued {
    /// The stage of its next try; `None` if all stages are used up.
    pub fn stage(&self) -> Option<(usize, Stage)> {
        let stages = self.frame.series.iter().zip(self.tries).enumerate();
        stages
            .filter_map(|(n, (stage, tries))| Some((n, (*stage)?, tries)))
            .find(|(_, stage, tries)| *tries < stage.tries)
            .map(|(n, stage, _)| (n, stage))
    }

    /// Counts a try of the frame.
    pub fn count_try(&mut self) {
        if let Some((n, _)) = self.stage() {
            self.tries[n] += 1;
        }
    }
}

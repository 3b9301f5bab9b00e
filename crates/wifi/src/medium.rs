//! The air between radios whose MAC is outside of the model, such as the kernel's. The medium is a
//! pure machine.
//!
//! A radio submits MPDUs, each with the series of rates that rate control chose for it
//! ([`TxFrame`]). The medium then does the work of hardware: EDCA (IEEE 802.11-2020, 10.23.2), RTS
//! and CTS, A-MPDUs within one Block Ack agreement, losses by SNR, fading and interference,
//! acknowledgements and retries. [`MediumOutput::Received`] reports an MPDU that a radio received,
//! and [`MediumOutput::Settled`] the outcome of an MPDU.
//!
//! A receiver may refuse an MPDU ([`Medium::handle_refusal`]), because its radio is off or on
//! another channel; no acknowledgement follows then. Each medium is one channel.
//!
//! The medium uses the air, the channel access and lengths of `mac`, and the configuration of a
//! cell, but no state of one.
//!
//! Links, error model, carrier sense, capture, EDCA parameters and limits of A-MPDUs are those of a
//! [`CellConfig`]. The MAC outside replaces queues, rate control, beacons, scans, power save and
//! all other parts, which are not used. Left out: A-MSDUs, whose bytes are as those of other
//! frames; A-MPDUs of MPDUs with different next rates; CTS-to-self; the parts of the air that
//! [`cell`](crate::cell) leaves out.

mod exchange;
mod frame;
mod radio;
#[cfg(test)]
mod tests;

pub use frame::{Channel, FrameAgreement, Response, STAGES, Series, Stage, TxFrame};

use crate::air::{Air, Rates};
use crate::config::{CellConfig, CellError};
use crate::mac::contention::{ContenderId, Contention};
use crate::mac::sizes;
use crate::phy::{Band, ControlRates, Rate, Timing};
use crate::station::StationId;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use lasthop_units::{Dbm, Duration, Identity, Instant, Machine, Seed};
use radio::{ACCESSES, Radio};

/// An output of the medium.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MediumOutput {
    /// `station` decoded an MPDU.
    Received {
        /// The end of its PPDU.
        at: Instant,
        /// The radio that sent it.
        from: StationId,
        /// Tag of the frame, chosen by its radio.
        tag: u64,
        /// The receiving radio.
        station: StationId,
        /// Whether the radio is the addressee, or one of the group; otherwise it is a promiscuous
        /// one.
        addressed: bool,
        /// Received power in dBm.
        signal: Dbm,
        /// Rate of the PPDU.
        rate: Rate,
        /// Whether the MPDU was sent before: the Retry bit.
        retry: bool,
    },
    /// An MPDU is settled: acknowledged or given up.
    Settled {
        /// Instant at which its acknowledgement ended, or at which it was given up.
        at: Instant,
        /// The radio that sent it.
        from: StationId,
        /// Tag of the frame, chosen by its radio.
        tag: u64,
        /// Whether it was acknowledged; `true` for a frame without a response.
        acknowledged: bool,
        /// Number of tries at each stage of its series.
        tries: [u8; STAGES],
        /// Power of the last acknowledgement at the sender, if one came.
        signal: Option<Dbm>,
    },
}

/// Reason for the medium's next wake-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MediumReason {
    /// A radio gains the channel.
    Access,
    /// A PPDU ends.
    PpduEnd,
    /// A response or the next frame of an exchange is due, SIFS after the previous one.
    Sequel,
    /// A response is overdue.
    ResponseTimeout,
}

/// Counters of a radio.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct RadioStats {
    /// MPDUs that the radio submitted.
    pub frames: u64,
    /// PPDUs with MPDUs that it sent.
    pub ppdus: u64,
    /// MPDUs in these PPDUs.
    pub mpdus: u64,
    /// MPDUs of these that were sent before.
    pub retries: u64,
    /// MPDUs that were acknowledged, of those that require a response.
    pub acknowledged: u64,
    /// MPDUs that used all tries of their series without an acknowledgement.
    pub given_up: u64,
    /// PPDUs of the radio that overlapped with another one at their receiver.
    pub overlapped: u64,
    /// MPDUs that their receiver refused.
    pub refused: u64,
    /// Time for which its PPDUs, responses included, were on the air.
    pub airtime: Duration,
}

/// The air between radios on one channel.
#[derive(Clone, Debug, PartialEq)]
pub struct Medium {
    band: Band,
    timing: Timing,
    /// EIFS less AIFS: SIFS + Ack at the lowest basic rate.
    extended_space: Duration,
    now: Instant,
    next: (Instant, MediumReason),
    radios: Vec<Radio>,
    contention: Contention,
    /// Radio of each contender, and the index of its access.
    owners: Vec<(StationId, u8)>,
    air: Air,
    rates: Rates,
    pending: Vec<PendingSequel>,
    /// Response timeouts: their end, and the radio that waits for a response.
    timeouts: Vec<(Instant, StationId)>,
    /// Radios that also receive frames for others.
    promiscuous: Vec<StationId>,
    outputs: VecDeque<MediumOutput>,
    /// Contenders that gain the channel now; kept to save allocations.
    winners: Vec<ContenderId>,
}

/// An action of a radio SIFS after the end of a PPDU.
#[derive(Clone, Copy, Debug, PartialEq)]
struct PendingSequel {
    at: Instant,
    radio: StationId,
    sequel: RadioSequel,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum RadioSequel {
    /// Answers an RTS.
    Clear { to: StationId, rate: Rate, duration: Duration, reserves_until: Instant },
    /// Acknowledges the MPDUs received from the radio `to`, unless all were refused.
    Acknowledge { to: StationId },
    /// Sends the payload after the CTS.
    Payload,
    /// Begins another exchange in its transmission opportunity.
    Opportunity { access: usize, end: Instant },
}

impl Medium {
    /// Returns a silent medium between the stations of `config`, on a channel of `band`.
    ///
    /// # Errors
    /// Returns an error in cases of [`Cell::new`](crate::cell::Cell::new): a missing link, stations
    /// of one identity.
    pub fn new(config: &CellConfig, channel: Channel, seed: Seed) -> Result<Self, CellError> {
        let band = channel.band;
        let control = ControlRates::for_standard(config.standard, band);
        let mut config = config.clone();
        // The MAC outside chooses the channel: radios of all sets may meet on this one.
        config.channels.clear();
        if band != config.band {
            config.basic_rates = control.basic;
            config.band = band;
        }
        let order = crate::config::ranks(&config.stations)?;
        let timing = Timing::new(config.standard, band);
        let rates = Rates::new(&config);
        let mut of_channel =
            seed.stream_of("medium/channel", Identity::numbered(u64::from(channel.mhz)));
        let seed = Seed::new(of_channel.next_u64(), 0);
        let air = Air::new(&config, seed)?;
        let contention = if air.varies() {
            Contention::separate(timing.slot, &air.sense_matrix())
        } else {
            Contention::new(timing.slot, &air.sense_matrix())
        };
        let radios = config.stations.iter().zip(order);
        let radios = radios.map(|(station, rank)| Radio::new(station, rank, seed)).collect();
        let promiscuous = (0..).map(StationId).zip(&config.stations);
        Ok(Self {
            band,
            extended_space: timing.sifs + rates.lowest().ppdu_duration(sizes::ACK, band),
            timing,
            now: Instant::ZERO,
            next: (Instant::MAX, MediumReason::PpduEnd),
            promiscuous: promiscuous.filter(|(_, s)| s.promiscuous).map(|(id, _)| id).collect(),
            radios,
            contention,
            owners: Vec::new(),
            air,
            rates,
            pending: Vec::new(),
            timeouts: Vec::new(),
            outputs: VecDeque::new(),
            winners: Vec::new(),
        })
    }

    /// Accepts an MPDU that a radio submits.
    pub fn handle_frame(&mut self, now: Instant, from: StationId, frame: TxFrame) {
        debug_assert!(now >= self.now, "time does not run backwards");
        self.now = now;
        let access = frame.access_index();
        self.prepare(from, access);
        let radio = &mut self.radios[from.index()];
        radio.stats.frames += 1;
        radio.access(access).push(frame);
        if self.arm(from, access) {
            self.schedule();
        }
    }

    /// Withdraws an MPDU that a radio submitted: it is neither sent again nor settled. A
    /// transmission on the air continues and may be received.
    pub fn handle_withdrawal(&mut self, now: Instant, from: StationId, tag: u64) {
        debug_assert!(now >= self.now, "time does not run backwards");
        self.now = now;
        self.radios[from.index()].withdraw(tag);
    }

    /// Refuses an MPDU that was just [received](MediumOutput::Received): the receiver drops it and does
    /// not acknowledge it. Call it before time advances.
    pub fn handle_refusal(&mut self, from: StationId, tag: u64) {
        self.radios[from.index()].refuse(tag);
    }

    /// Returns the next output.
    pub fn poll_output(&mut self) -> Option<MediumOutput> {
        self.outputs.pop_front()
    }

    /// Number of MPDUs of a radio that are not settled.
    pub fn held(&self, radio: StationId) -> usize {
        self.radios[radio.index()].held()
    }

    /// Counters of a radio.
    pub fn stats(&self, radio: StationId) -> &RadioStats {
        &self.radios[radio.index()].stats
    }

    /// Creates an access at its first use.
    fn prepare(&mut self, radio: StationId, access: usize) {
        if self.radios[radio.index()].has_access(access) {
            return;
        }
        let state = &mut self.radios[radio.index()];
        let parameters = state.parameters(access);
        let aifs = self.timing.aifs(parameters.aifsn);
        let contender = self.contention.add(radio, aifs, state.counting());
        self.owners.push((radio, access as u8));
        state.add_access(access, contender);
    }

    /// Lets an access contend if it has frames to send and does not contend yet; returns whether it
    /// began to.
    fn arm(&mut self, radio: StationId, access: usize) -> bool {
        let Self { now, radios, contention, .. } = self;
        let state = &mut radios[radio.index()];
        let is_engaged = state.exchange.as_ref().is_some_and(|e| e.access == access);
        let access = state.access(access);
        if is_engaged || access.is_empty() || contention.is_armed(access.contender) {
            return false;
        }
        if !contention.arm(access.contender, *now) {
            contention.set_backoff(access.contender, access.backoff.draw());
        }
        true
    }

    fn step(&mut self, at: Instant) {
        self.now = at;
        self.end_ppdus();
        self.expire_responses();
        // Whoever starts at this instant starts before anyone senses it.
        let mut winners = core::mem::take(&mut self.winners);
        winners.clear();
        self.contention.winners(at, &mut winners);
        winners.sort_unstable_by_key(|winner| {
            let (radio, access) = self.owners[usize::from(winner.0)];
            (self.radios[radio.index()].rank, access)
        });
        self.start_sequels();
        for rank in (0..ACCESSES).rev() {
            for &winner in &winners {
                if usize::from(self.owners[usize::from(winner.0)].1) == rank {
                    self.win(winner);
                }
            }
        }
        self.winners = winners;
    }

    fn win(&mut self, winner: ContenderId) {
        let (radio, access) = self.owners[usize::from(winner.0)];
        let access = usize::from(access);
        let state = &mut self.radios[radio.index()];
        if state.exchange.is_some() {
            // Internal collision: the lower category backs off as after a collision on the
            // air (10.23.2.4).
            let access = state.access(access);
            access.backoff.widen();
            let slots = access.backoff.draw();
            self.contention.set_backoff(winner, slots);
        } else {
            let limit = state.parameters(access).txop_limit;
            self.start_exchange(radio, access, self.now + limit);
        }
    }

    fn schedule(&mut self) {
        let earliest = |at: Option<Instant>| at.unwrap_or(Instant::MAX);
        let end = self.air.next_end();
        let sequel = earliest(self.pending.iter().map(|pending| pending.at).min());
        let timeout = earliest(self.timeouts.iter().map(|(at, _)| *at).min());
        let horizon = end.min(sequel).min(timeout);
        let access = self.contention.next_access(horizon);
        let reason = match horizon.min(access) {
            at if at == end => MediumReason::PpduEnd,
            at if at == sequel => MediumReason::Sequel,
            at if at == access => MediumReason::Access,
            _ => MediumReason::ResponseTimeout,
        };
        self.next = (horizon.min(access), reason);
    }
}

impl Machine for Medium {
    type Reason = MediumReason;

    fn poll_timeout(&self) -> Option<(Instant, MediumReason)> {
        (self.next.0 < Instant::MAX).then_some(self.next)
    }

    /// Performs all steps due up to `now`, each at its own instant. A driver that refuses frames
    /// calls this for one instant at a time.
    fn handle_timeout(&mut self, now: Instant) {
        debug_assert!(now >= self.now, "time does not run backwards");
        while self.next.0 <= now {
            self.step(self.next.0);
            self.schedule();
        }
    }
}

//! The air that stations share: the PPDUs on it, their interference at every receiver, and the mean
//! level of each station at each other one.
//!
//! A receiver locks to the first PPDU that it senses. A later PPDU takes over only if it is
//! stronger by the capture margin and arrives during the preamble and header of the first. The SINR
//! decides which MPDUs of the locked PPDU survive, each MPDU separately. Interference counts at
//! mean power, and the powers of successive interfering PPDUs are added up. With spatial reuse, or
//! with sets on several channels, the highest sum at one instant counts instead: [`together`] lists
//! the interferers once for each PPDU. Fading applies to the wanted signal only. A PPDU that
//! arrives 20 dB or more below the noise is ignored.
//!
//! A PPDU keeps the SNR of the instant at which it begins, even if the mean of its link changes
//! before it ends. As interference, and to stations that overhear it, it has the mean power in
//! force when the latest PPDU began; where carrier sense may change ([`varying`]), when itself began.
//!
//! The module uses `phy`, the lengths and bitmaps of `mac`, and the configuration of a cell; it
//! knows neither queues nor channel access.

mod channels;
mod lead;
mod overhear;
mod overlaps;
mod pairs;
mod payload;
mod rates;
mod reuse;
mod subframes;
#[cfg(test)]
mod tests;
mod together;
mod varying;

use lead::lead_needed;
pub(crate) use overhear::Overheard;
use overhear::{Bounds, Phy, are_equal, bounds, phys};
pub(crate) use overlaps::Overlaps;
use overlaps::{Begun, Interference, Overlapping};
use pairs::{Pair, Pairs};
pub(crate) use payload::{Action, Content, Management, Payload};
pub(crate) use rates::{Expected, Rates, alone};
use reuse::IgnoredPpdus;
pub(crate) use reuse::{Missing, Reduction, is_below};
pub(crate) use subframes::{Interval, Subframes, spacing_bytes};
use together::Together;
use varying::Varying;

use crate::config::{AdjustError, CellConfig, CellError, Links};
use crate::phy::{Band, ChannelWidth, ErrorModel, LinkConfig, Rate, SnrChange, Subchannel};
use crate::station::{Address, StationId};
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::cmp::Reverse;
use lasthop_units::{Db, Dbm, Duration, Instant, Probability, Seed, Stream};

/// Gain in SNR of a PPDU in a channel twice as wide: half the noise falls within its own width.
const HALF_THE_NOISE: Db = Db(3.010_299_956_639_812);

/// SINR below which no preamble is detected: such a PPDU only makes the medium
/// busy, no reception begins, and no EIFS follows (ns-3 assumes the same).
const PREAMBLE_DETECTION: Db = Db(4.0);

/// [`PREAMBLE_DETECTION`] with its factor, 10^0.4.
const PREAMBLE_DETECTION_THRESHOLD: SnrThreshold =
    SnrThreshold { snr: PREAMBLE_DETECTION, linear: 2.511_886_431_509_58 };

/// [`PREAMBLE_DETECTION`] for a PPDU whose preamble has twice the power: half the factor.
const BOOSTED_PREAMBLE_DETECTION_THRESHOLD: SnrThreshold =
    SnrThreshold { snr: Db(0.989_700_043_360_188), linear: 1.255_943_215_754_79 };

/// Returns the SINR required to detect the preamble of a PPDU at this rate.
fn preamble_threshold(rate: Rate) -> SnrThreshold {
    match rate.preamble_boost() {
        Some(_) => BOOSTED_PREAMBLE_DETECTION_THRESHOLD,
        None => PREAMBLE_DETECTION_THRESHOLD,
    }
}

/// Frame length, in bytes, that decides who overhears: a station decodes a frame, and minds its
/// Duration field, from the SNR at which half the frames of this length at this rate get through.
const OVERHEARD_BYTES: u32 = 500;

/// Relative margin of comparisons of power factors. Logarithms are costly, so they decide only
/// cases within this margin; the errors of the factors are far smaller.
const MARGIN: f64 = 1e-9;

/// Minimum power, as a share of the receiver's noise, that counts as interference: 20 dB below the
/// noise, which costs a signal 0.04 dB of SINR. Sets out of reach of each other therefore have
/// nothing in common, not even random numbers.
const FLOOR: f64 = 0.01;

/// Minimum number of overlapping PPDUs at which PPDUs share the sum of their interferers. The value
/// matters for hundreds of stations; among 50 to 200, three and six make no difference.
const CROWD: u32 = 6;

/// Content of a PPDU.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Carried {
    /// The frame of its transmitter's exchange.
    Payload,
    Rts,
    Cts,
    Ack,
    /// A Block Ack; its transmitter knows which MPDUs of the exchange it acknowledges.
    BlockAck,
    /// The PSDUs of its transmitter's multi-user exchange.
    MultiUser {
        /// Duration of the preamble and HE-SIG fields, to the end of the HE-LTFs.
        header: Duration,
    },
    /// A Trigger frame that asks all stations of a multi-user exchange for Block Acks.
    Trigger,
    /// A frame with which an access point sounds the channels of stations.
    Sounding(SoundingFrame),
    /// A compressed beamforming report.
    BeamformingReport {
        /// Duration of the preamble, to the end of the HE-LTFs, in an HE trigger-based PPDU.
        header: Option<Duration>,
    },
    /// A BSRP or Basic Trigger frame, which asks stations for an uplink exchange.
    Solicitation,
    /// Data in an HE trigger-based PPDU, the answer to a solicitation.
    Triggered {
        /// Duration of the preamble, to the end of the HE-LTFs.
        header: Duration,
    },
    /// The Multi-STA Block Ack that ends an uplink exchange.
    MultiStationBlockAck,
    /// A Block Ack in an HE trigger-based PPDU.
    TriggeredBlockAck {
        /// Duration of the preamble, to the end of the HE-LTFs.
        header: Duration,
    },
}

/// A frame of a sounding exchange, from the access point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SoundingFrame {
    /// The NDP Announcement.
    Announcement,
    /// The NDP, which is only a preamble.
    Ndp,
    /// A Beamforming Report Poll.
    Poll,
    /// A BFRP Trigger frame.
    Trigger,
}

impl Carried {
    /// Whether the frame belongs to an exchange with several stations.
    pub const fn is_of_several(&self) -> bool {
        !matches!(self, Self::Payload | Self::Rts | Self::Cts | Self::Ack | Self::BlockAck)
    }

    /// Whether several stations send such PPDUs at once, to the access point that asked for them.
    pub const fn is_together(&self) -> bool {
        matches!(
            self,
            Self::TriggeredBlockAck { .. }
                | Self::BeamformingReport { header: Some(_) }
                | Self::Triggered { .. }
        )
    }
}

/// A PPDU on the air.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Flight {
    pub transmitter: StationId,
    pub receiver: Address,
    pub start: Instant,
    pub end: Instant,
    pub rate: Rate,
    pub psdu_bytes: u32,
    /// End of the reservation by its Duration field.
    pub reserves_until: Instant,
    pub carried: Carried,
    /// PPDUs that overlapped with it; [`Air::begin`] sets this field.
    pub overlaps: Overlaps,
    /// Reduction below the transmitter's usual power.
    pub reduction: Reduction,
}

impl Flight {
    /// The whole time of the PPDU.
    #[inline]
    pub const fn span(&self) -> Interval {
        Interval { from: self.start, until: self.end }
    }

    /// Whether it carries the payload of `transmitter`'s exchange.
    pub fn is_payload_of(&self, transmitter: StationId) -> bool {
        self.transmitter == transmitter
            && matches!(
                self.carried,
                Carried::Payload | Carried::MultiUser { .. } | Carried::Triggered { .. }
            )
    }

    /// Returns the part of a multi-user PPDU for one `receiver`: its PSDU, at its own rate. On the
    /// air the PPDU has the rate of its HE-SIG-A, which third parties decode.
    pub fn to(&self, receiver: StationId, rate: Rate, psdu_bytes: u32) -> Self {
        Self { receiver: Address::Station(receiver), rate, psdu_bytes, ..self.clone() }
    }

    /// The station whose Trigger frame this PPDU answers. Such PPDUs that begin together occupy
    /// different tones and do not interfere with each other.
    fn answers(&self) -> Option<StationId> {
        match (self.carried, self.receiver) {
            (
                Carried::TriggeredBlockAck { .. }
                | Carried::Triggered { .. }
                | Carried::BeamformingReport { header: Some(_) },
                Address::Station(receiver),
            ) => Some(receiver),
            _ => None,
        }
    }

    /// Width that the PPDU occupies of a channel. PPDUs for several stations, and from several
    /// stations, have the rate of their HE-SIG-A and occupy the whole channel.
    fn width(&self, channel: ChannelWidth) -> ChannelWidth {
        match self.carried {
            Carried::MultiUser { .. }
            | Carried::Triggered { .. }
            | Carried::TriggeredBlockAck { .. } => channel,
            _ => self.rate.width(),
        }
    }

    fn header_end(&self, band: Band) -> Instant {
        match self.carried {
            Carried::MultiUser { header }
            | Carried::Triggered { header }
            | Carried::BeamformingReport { header: Some(header) }
            | Carried::TriggeredBlockAck { header } => self.start + header,
            Carried::Sounding(SoundingFrame::Ndp) => self.end,
            _ => self.start + self.rate.preamble_and_header(band),
        }
    }
}

/// The PPDUs on the air, and all pairs of stations.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Air {
    band: Band,
    /// Width of the widest rate in use; the links' SNRs refer to it.
    width: ChannelWidth,
    stations: usize,
    error_model: ErrorModel,
    capture_margin: Option<SnrThreshold>,
    carrier_sense: Dbm,
    flights: Vec<Flight>,
    /// PSDUs of the payloads with one receiver or group, by transmitter, which sends one PPDU at a
    /// time. They are beside the flights, because a longer flight would cost a call at each move.
    payloads: Vec<Option<Payload>>,
    /// Overlaps between PPDUs.
    overlapping: Overlapping,
    pairs: Pairs,
    /// Mean SNRs in force, and the kinds of links.
    links: Arc<Links>,
    /// Noise at the receivers of each kind of link, in mW.
    noise_of_kind_mw: Vec<f64>,
    /// Changes of mean SNRs to come; the next one is the last element.
    changes: Vec<(SnrChange, StationId, StationId)>,
    /// Mean powers in mW, by transmitter * stations + receiver; a station hears nothing of itself.
    powers_mw: Vec<f64>,
    /// Bounds of the powers of each transmitter at all others.
    bounds: Vec<Bounds>,
    /// Stations that sense each transmitter, itself excluded.
    listeners: Vec<Vec<StationId>>,
    /// Minimum SNR at the listeners of each transmitter.
    weakest: Vec<Db>,
    /// SNR from which a rate is overheard, for the rates asked for so far.
    overhear_snr: Vec<(Rate, SnrThreshold)>,
    /// Lowest noise, in mW, over the links into each station.
    noise_mw: Vec<f64>,
    carrier_sense_mw: f64,
    /// Interference, or all power that arrives, at each station in mW; kept to save allocations.
    interference_mw: Vec<f64>,
    /// Transmitters whose powers `interference_mw` sums, ascending, if it holds all power that
    /// arrives.
    summed: Vec<StationId>,
    /// Interferers that the PPDUs of a crowd have in common, if known.
    crowd: Option<(u64, u64, Instant)>,
    /// Transmitters that overlap with the PPDU of a crowd; kept to save allocations.
    others: Vec<StationId>,
    /// Stations that may notice a PPDU; kept to save allocations.
    candidates: Vec<u16>,
    /// PHY of each station, if they differ.
    phys: Vec<Phy>,
    /// Whether all stations understand the same PPDUs.
    are_phys_equal: bool,
    /// PPDUs that stations ignore (spatial reuse).
    ignored: IgnoredPpdus,
    /// Whether successive interferers are kept apart instead of added up (spatial reuse, several
    /// channels).
    is_timed: bool,
    /// Number of changes of mean SNRs so far.
    changed: u64,
    /// Interferers of the PPDU asked about last, with spatial reuse or several channels.
    together: Together,
    /// Primary channel of each station; empty if all have the same.
    primaries: Vec<Subchannel>,
    /// Channels of 20 MHz that the set of each station leaves out, by place among 16 of 320 MHz;
    /// empty if no set leaves any out.
    punctured: Vec<u16>,
    /// Whether access points may move to other channels.
    channels_vary: bool,
    /// State of a cell whose stations may begin or cease to sense each other, boxed because most
    /// cells have none.
    varying: Option<Box<Varying>>,
}

/// Mean levels of a transmitter at a receiver.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Level {
    snr: Db,
    power_mw: f64,
    noise_mw: f64,
}

/// A required SNR.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct SnrThreshold {
    snr: Db,
    linear: f64,
}

impl Air {
    pub fn new(config: &CellConfig, seed: Seed) -> Result<Self, CellError> {
        let stations = config.stations.len();
        let pairs = Pairs::new(config, seed);
        let links = Arc::clone(&config.links);
        let mut powers_mw = alloc::vec![0.0; stations * stations];
        let noise_of_kind_mw: Vec<f64> =
            links.kinds().iter().map(|kind| kind.noise.as_milliwatts()).collect();
        let mut noise_mw = alloc::vec![f64::INFINITY; stations];
        for one in 0..stations {
            for other in one + 1..stations {
                // Most hear each other as well as they are heard: powers are costly.
                let mut last = None;
                for (from, to) in [(one, other), (other, one)] {
                    let ends = [from, to].map(|index| StationId(index as u16));
                    let Some(snr) = links.snr(ends[0], ends[1]) else {
                        return Err(CellError::MissingLink(ends[0].0, ends[1].0));
                    };
                    let kind = links.kind_of(ends[0], ends[1]);
                    let power_mw = match last {
                        Some((known, power_mw)) if known == (snr, kind) => power_mw,
                        _ => (links.kinds()[kind].noise + snr).as_milliwatts(),
                    };
                    last = Some(((snr, kind), power_mw));
                    powers_mw[from * stations + to] = power_mw;
                    noise_mw[to] = noise_mw[to].min(noise_of_kind_mw[kind]);
                }
            }
        }
        let mut changes = Vec::new();
        for ((from, to), of_link) in links.changes() {
            changes.extend(of_link.iter().map(|&change| (change, from, to)));
        }
        changes.sort_by_key(|(change, from, to)| Reverse((change.at, *from, *to)));
        let sense_mw = config.carrier_sense.as_milliwatts();
        let listeners = |from: usize| {
            let row = powers_mw[from * stations..][..stations].iter().enumerate();
            let sensing = row.filter(|(to, power_mw)| *to != from && **power_mw >= sense_mw);
            sensing.map(|(to, _)| StationId(to as u16)).collect()
        };
        let listeners: Vec<Vec<StationId>> = (0..stations).map(listeners).collect();
        let weakest = listeners
            .iter()
            .enumerate()
            .map(|(from, listeners)| weakest(listeners, links.row(StationId(from as u16))));
        let widths = config.stations.iter().map(|station| station.capabilities.width());
        let phys = phys(config);
        Ok(Self {
            band: config.band,
            width: widths.max().unwrap_or(ChannelWidth::Mhz20),
            stations,
            weakest: weakest.collect(),
            listeners,
            bounds: bounds(&powers_mw, stations),
            error_model: config.error_model.clone(),
            capture_margin: config.capture_margin.map(SnrThreshold::new),
            carrier_sense: config.carrier_sense,
            flights: Vec::new(),
            payloads: Vec::new(),
            overlapping: Overlapping::default(),
            pairs,
            links,
            noise_of_kind_mw,
            changes,
            powers_mw,
            overhear_snr: Vec::new(),
            noise_mw,
            carrier_sense_mw: sense_mw,
            interference_mw: Vec::new(),
            summed: Vec::new(),
            crowd: None,
            others: Vec::new(),
            candidates: Vec::new(),
            are_phys_equal: are_equal(&phys),
            phys,
            ignored: IgnoredPpdus::default(),
            is_timed: config.stations.iter().any(|station| station.obss_pd.is_some())
                || config.has_several_channels(),
            changed: 0,
            together: Together::default(),
            primaries: channels::primaries(config),
            punctured: channels::punctured(config),
            channels_vary: config.channels_vary,
            varying: Varying::new(config),
        })
    }

    /// `[s][t]`: station `s` senses transmissions of station `t`.
    pub fn sense_matrix(&self) -> Vec<Vec<bool>> {
        let mut senses = alloc::vec![alloc::vec![false; self.stations]; self.stations];
        for (transmitter, listeners) in self.listeners.iter().enumerate() {
            senses[transmitter][transmitter] = true;
            for listener in listeners {
                senses[listener.index()][transmitter] = true;
            }
        }
        senses
    }

    /// Puts a PPDU on the air.
    pub fn begin(&mut self, flight: Flight) {
        let width = flight.width(self.width);
        self.begin_over(flight, width);
    }

    /// Begins a PPDU with which no other one ever overlaps. It ends without [`Air::end`].
    pub fn pass(&mut self, flight: &mut Flight) {
        debug_assert!(self.flights.is_empty(), "it is alone on the air");
        self.change_snrs(flight.start);
        flight.overlaps = self.overlapping.pass();
    }

    /// Makes the changes of mean SNRs up to `now`.
    #[inline]
    fn change_snrs(&mut self, now: Instant) {
        while let Some((change, from, to)) = self.changes.pop_if(|(change, ..)| change.at <= now) {
            self.set_snr(from, to, change.snr);
        }
    }

    /// Puts a PPDU on the air that occupies `width`: more than its rate says if it is a duplicate.
    pub fn begin_over(&mut self, mut flight: Flight, width: ChannelWidth) {
        self.change_snrs(flight.start);
        let begun = Begun {
            transmitter: flight.transmitter,
            start: flight.start,
            end: flight.end,
            header_end: flight.header_end(self.band),
            answers: flight.answers(),
            width,
            reduction: flight.reduction,
        };
        let others = self.flights.iter_mut();
        let others = others.filter(|other| !begun.is_beside(other.answers(), other.start));
        let others = others.map(|other| (other.end, &mut other.overlaps));
        flight.overlaps = self.overlapping.begin(begun, others);
        if begun.answers.is_some() {
            let is_beside = |other: &&Flight| begun.is_beside(other.answers(), other.start);
            for other in self.flights.iter().filter(is_beside) {
                flight.overlaps.reach_back(&other.overlaps);
            }
        }
        self.flights.push(flight);
    }

    fn set_snr(&mut self, from: StationId, to: StationId, snr: Db) {
        self.set_level(from, to, snr);
        let snrs = self.links.row(from);
        self.weakest[from.index()] = weakest(&self.listeners[from.index()], snrs);
    }

    /// Sets the mean SNR of a link for PPDUs that begin from `now` on, and its loss for PPDUs that
    /// end from `now` on. The SNR of a link that `follows` positions is that at the beginning.
    pub fn change_link(
        &mut self,
        now: Instant,
        [from, to]: [StationId; 2],
        snr: Db,
        loss: Option<Probability>,
        follows: bool,
    ) -> Result<(), AdjustError> {
        let link = self.link(from, to);
        let was_sensed = self.listeners[from.index()].contains(&to);
        if !self.varies() && link.is_sensed(snr, self.carrier_sense) != was_sensed {
            return Err(AdjustError::CarrierSense);
        }
        if !self.links.changes_of(from, to).is_empty() {
            return Err(AdjustError::SnrChanges);
        }
        self.pair_mut(from, to).link.change_loss(loss);
        if !self.set_first_snr(from, to, snr, follows) {
            let change = SnrChange { at: now, snr };
            self.pair_mut(from, to).link.change_snr(change);
            let before = self.changes.partition_point(|(other, ..)| other.at > now);
            self.changes.insert(before, (change, from, to));
        }
        if link.loss != loss {
            Arc::make_mut(&mut self.links).add_steady(from, to, &LinkConfig { loss, ..link });
            let kinds = &self.links.kinds()[self.noise_of_kind_mw.len()..];
            self.noise_of_kind_mw.extend(kinds.iter().map(|kind| kind.noise.as_milliwatts()));
        }
        Ok(())
    }

    /// The end of the next PPDU; [`Instant::MAX`] if none is on the air.
    pub fn next_end(&self) -> Instant {
        self.flights.iter().map(|flight| flight.end).min().unwrap_or(Instant::MAX)
    }

    /// The PPDU on the air, if it is the only one.
    #[inline]
    pub fn lone(&self) -> Option<&Flight> {
        let [one] = &self.flights[..] else { return None };
        Some(one)
    }

    /// Whether a PPDU of a station that `is_sensed` accepts is on the air.
    pub fn carries_any(&self, is_sensed: impl Fn(StationId) -> bool) -> bool {
        self.flights.iter().any(|flight| is_sensed(flight.transmitter))
    }

    /// The end of the last PPDU of `station` on the air, if there is one.
    pub fn transmits_until(&self, station: StationId) -> Option<Instant> {
        let own = self.flights.iter().filter(|flight| flight.transmitter == station);
        own.map(|flight| flight.end).max()
    }

    /// Takes a PPDU that ends at `now` off the air; several are taken in the order in which they
    /// began.
    pub fn end(&mut self, now: Instant) -> Option<Flight> {
        let index = self.flights.iter().position(|flight| flight.end == now)?;
        let flight = self.flights.remove(index);
        self.gather(&flight);
        Some(flight)
    }

    /// Takes all PPDUs off the air, until [`Air::return_flights`].
    pub fn lend_flights(&mut self) -> Vec<Flight> {
        core::mem::take(&mut self.flights)
    }

    /// Gives the payload that `transmitter` sends next its PSDU.
    pub fn carry(&mut self, transmitter: StationId, payload: Payload) {
        let index = transmitter.index();
        if index >= self.payloads.len() {
            self.payloads.resize(index + 1, None);
        }
        self.payloads[index] = Some(payload);
    }

    /// The PSDU of the payload that `transmitter` sends, or sent last.
    pub fn payload(&self, transmitter: StationId) -> Option<&Payload> {
        self.payloads.get(transmitter.index())?.as_ref()
    }

    /// Puts back the PPDUs that [`Air::lend_flights`] took.
    pub fn return_flights(&mut self, flights: Vec<Flight>) {
        debug_assert!(self.flights.is_empty(), "nothing begins in between");
        self.flights = flights;
    }

    /// Forgets a PPDU that ended, and the interferers that only it overlapped.
    pub fn forget(&mut self, _: Flight) {
        if !self.ignored.is_empty() {
            self.forget_ignored();
        }
        self.overlapping.forget(self.flights.first().map(|flight| &flight.overlaps));
    }

    /// The PPDUs that overlapped with `flight`, in the order in which they began.
    #[inline]
    fn interference(&self, flight: &Flight) -> impl Iterator<Item = Interference> {
        self.overlapping.with(&flight.overlaps)
    }

    /// Whether another PPDU arrived at `receiver`, or was sent there, at some time between two
    /// instants.
    fn overlaps(
        &self,
        flight: &Flight,
        receiver: StationId,
        from: Instant,
        until: Instant,
    ) -> bool {
        !flight.overlaps.is_none()
            && self.interference(flight).any(|other| {
                other.start < until && other.end > from && self.meets(flight, &other, receiver)
            })
    }

    /// Whether another PPDU interferes with this one at `receiver`, in time and frequency.
    fn meets(&self, flight: &Flight, other: &Interference, receiver: StationId) -> bool {
        other.transmitter == receiver
            || self.is_above_floor(other, receiver) && self.falls_on(flight, other)
    }

    /// Whether another PPDU that overlaps in time arrives at `receiver` above the floor.
    #[inline]
    fn is_above_floor(&self, other: &Interference, receiver: StationId) -> bool {
        self.power_of(other, receiver) >= FLOOR * self.noise_mw[receiver.index()]
    }

    /// The mean power of another PPDU at `receiver`.
    #[inline]
    fn power_of(&self, other: &Interference, receiver: StationId) -> f64 {
        self.power_mw(other.transmitter, receiver) * other.reduction.factor
    }

    /// Whether another PPDU overlaps at some station that senses this one.
    fn is_disturbed_anywhere(&self, flight: &Flight) -> bool {
        !flight.overlaps.is_none()
            && match self.gathered(flight) {
                Some(together) => together.is_somewhere,
                None => {
                    let listeners = &self.listeners[flight.transmitter.index()];
                    let is_met = |other: Interference| {
                        listeners.iter().any(|&at| self.meets(flight, &other, at))
                    };
                    self.interference(flight).any(is_met)
                }
            }
    }

    /// SNR of the last PPDU from one station to another; 0 dB from a station to itself.
    pub fn last_snr(&self, from: StationId, to: StationId) -> Db {
        match self.pairs.get(from, to) {
            Some(pair) => pair.last_snr,
            None if from == to => Db(0.0),
            None => self.links.row(from)[to.index()],
        }
    }

    /// The Doppler rate at which a link fades, in hertz; zero if it does not.
    pub fn doppler_hz(&self, from: StationId, to: StationId) -> f64 {
        self.link(from, to).fading.doppler_hz()
    }

    /// Power of the last PPDU from one station to another, fading included.
    pub fn last_power(&self, from: StationId, to: StationId) -> Dbm {
        match self.pairs.get(from, to) {
            Some(pair) => pair.link.noise() + pair.last_snr,
            None if from == to => Dbm(f64::NEG_INFINITY),
            None => self.link(from, to).noise + self.link(from, to).snr,
        }
    }

    /// Mean power with which PPDUs of `from` arrive now, without fading.
    pub fn mean_level(&self, from: StationId, to: StationId) -> Dbm {
        self.link(from, to).noise + self.links.row(from)[to.index()]
    }

    /// Random stream that decides which frames of `from` are decoded by `to`.
    pub fn reception(&mut self, from: StationId, to: StationId) -> &mut Stream {
        &mut self.pair_mut(from, to).reception
    }

    /// Mean power with which a PPDU arrives at another station.
    pub fn mean_power(&self, flight: &Flight, to: StationId) -> Option<Dbm> {
        (flight.transmitter != to).then(|| Dbm::from_milliwatts(self.received_mw(flight, to)))
    }

    /// Whether `receiver` locks to the PPDU: it was not transmitting, and no other PPDU kept or
    /// took its lock.
    pub fn locks(&self, flight: &Flight, receiver: StationId) -> bool {
        flight.overlaps.is_none() || self.locks_overlapped(flight, receiver)
    }

    fn locks_overlapped(&self, flight: &Flight, receiver: StationId) -> bool {
        match self.gathered(flight) {
            Some(together) => self.locks_with(flight, together, receiver),
            None => self.locks_among(flight, receiver, self.interference(flight)),
        }
    }

    /// Does what [`Air::locks`] does, given the PPDUs that overlap.
    pub fn locks_with(&self, flight: &Flight, together: &Together, receiver: StationId) -> bool {
        self.locks_among(flight, receiver, together.interference())
    }

    /// Whether `receiver` locks to a PPDU, with regard to the PPDU that began last only.
    pub fn locks_despite_last(&self, flight: &Flight, receiver: StationId) -> bool {
        self.locks_among(flight, receiver, self.overlapping.last_with(&flight.overlaps).into_iter())
    }

    #[inline]
    fn locks_among(
        &self,
        flight: &Flight,
        receiver: StationId,
        mut others: impl Iterator<Item = Interference>,
    ) -> bool {
        let power_mw = self.power_mw(flight.transmitter, receiver) * flight.reduction.factor;
        others.all(|other| {
            let theirs_mw = self.power_of(&other, receiver);
            other.transmitter != receiver
                && (!self.is_sensed(theirs_mw)
                    || !self.covers(other.transmitter, other.width, receiver)
                    || lead_needed(other.order, self.capture_margin).has(power_mw, theirs_mw)
                    || self.ignores(receiver, &other, flight.start))
        })
    }

    /// Whether another PPDU arrived at `receiver` while this one was on the air.
    pub fn is_disturbed(&self, flight: &Flight, receiver: StationId) -> bool {
        self.interference(flight).any(|other| {
            other.transmitter == receiver
                || self.is_sensed(self.power_of(&other, receiver)) && self.falls_on(flight, &other)
        })
    }

    /// SNR of a PPDU at its receiver, fading included. The SNR over the channel's full width is
    /// kept as the last one.
    pub fn snr(&mut self, flight: &Flight, receiver: StationId) -> Db {
        let pair = self.pair_mut(flight.transmitter, receiver);
        pair.last_snr = pair.link.snr(flight.start) - flight.reduction.db;
        let snr = pair.last_snr;
        if !self.punctured.is_empty() {
            return snr + self.gain_of_parts(flight);
        }
        let width = flight.rate.width();
        if width < self.width { snr + narrower(width, self.width) } else { snr }
    }

    /// Probability that the preamble and header are decoded.
    pub fn header_success(&mut self, flight: &Flight, receiver: StationId, snr: Db) -> Probability {
        if flight.overlaps.is_none() {
            return self.undisturbed(flight, receiver, snr, u32::MAX);
        }
        self.gather(flight);
        let header_end = flight.header_end(self.band);
        let is_disturbed = self.overlaps(flight, receiver, flight.start, header_end);
        if self.pair_mut(flight.transmitter, receiver).link.loss().is_some() && !is_disturbed {
            return Probability::ONE;
        }
        let sinr = self.sinr(flight, receiver, snr, flight.start, header_end);
        if is_disturbed && sinr < preamble_threshold(flight.rate).snr {
            return Probability::ZERO;
        }
        self.remembered(flight, receiver, sinr, u32::MAX)
    }

    /// Probability that an MPDU of `bytes`, on the air from `from` to `until`, is decoded.
    pub fn mpdu_success(
        &mut self,
        flight: &Flight,
        receiver: StationId,
        snr: Db,
        bytes: u32,
        Interval { from, until }: Interval,
    ) -> Probability {
        if flight.overlaps.is_none() {
            return self.undisturbed(flight, receiver, snr, bytes);
        }
        self.gather(flight);
        let sinr = self.sinr(flight, receiver, snr, from, until);
        let by_loss = self.pair_mut(flight.transmitter, receiver).link.loss();
        match by_loss {
            Some(loss) if !self.overlaps(flight, receiver, from, until) => loss.complement(),
            Some(loss) => loss.complement() * self.remembered(flight, receiver, sinr, bytes),
            None => self.remembered(flight, receiver, sinr, bytes),
        }
    }

    /// Draws whether `receiver` decodes the preamble and header of a PPDU; returns its SNR if so.
    pub fn receives_header(&mut self, flight: &Flight, receiver: StationId) -> Option<Db> {
        if !self.locks(flight, receiver) {
            return None;
        }
        let snr = self.snr(flight, receiver);
        let header = self.header_success(flight, receiver, snr);
        happens(self.reception(flight.transmitter, receiver), header).then_some(snr)
    }

    /// Draws whether `receiver` decodes an MPDU of `bytes` that was on the air during `span`.
    pub fn receives_mpdu(
        &mut self,
        flight: &Flight,
        receiver: StationId,
        snr: Db,
        bytes: u32,
        span: Interval,
    ) -> bool {
        let success = self.mpdu_success(flight, receiver, snr, bytes, span);
        happens(self.reception(flight.transmitter, receiver), success)
    }

    /// Draws whether `receiver` decodes the one MPDU of a PPDU without overlaps; `None`: no header.
    pub fn receives_undisturbed(&mut self, flight: &Flight, receiver: StationId) -> Option<bool> {
        let snr = self.snr(flight, receiver);
        let Self { error_model, pairs, links, .. } = self;
        let pair = pairs.get_mut(flight.transmitter, receiver, links);
        if let Some(loss) = pair.link.loss() {
            return Some(happens(&mut pair.reception, loss.complement()));
        }
        let header = pair.remembered(error_model, flight.rate, snr, u32::MAX);
        if !happens(&mut pair.reception, header) {
            return None;
        }
        let body = pair.remembered(error_model, flight.rate, snr, flight.psdu_bytes);
        Some(happens(&mut pair.reception, body))
    }

    /// The worst SINR between two instants.
    fn sinr(
        &self,
        flight: &Flight,
        receiver: StationId,
        snr: Db,
        from: Instant,
        until: Instant,
    ) -> Db {
        if flight.overlaps.is_none() {
            return snr;
        }
        match self.interference_loss(flight, receiver, from, until) {
            1.0 => snr,
            loss => snr - Db::from_linear(loss),
        }
    }

    /// Noise and interference over noise, at the worst instant of a span.
    fn interference_loss(
        &self,
        flight: &Flight,
        receiver: StationId,
        from: Instant,
        until: Instant,
    ) -> f64 {
        let interference_mw = self.interference_mw(flight, receiver, from, until);
        1.0 + interference_mw / self.noise_mw(flight.transmitter, receiver)
    }

    /// Sum of the powers that overlap between two instants, in mW; with spatial reuse, or sets on
    /// several channels, the highest sum at one instant.
    fn interference_mw(
        &self,
        flight: &Flight,
        receiver: StationId,
        from: Instant,
        until: Instant,
    ) -> f64 {
        if self.is_timed {
            return self.most_interference_mw(flight, receiver, Interval { from, until });
        }
        let others = self.interference(flight);
        let overlapping = others
            .filter(|other| other.start < until && other.end > from)
            .filter(|other| self.meets(flight, other, receiver));
        if flight.rate.width() < self.width || !self.punctured.is_empty() {
            overlapping.map(|other| self.disturbs_mw(flight, &other, receiver)).sum()
        } else {
            overlapping.map(|other| self.power_of(&other, receiver)).sum()
        }
    }

    /// Power of another PPDU at a receiver of this one, in mW, relative to the noise of the whole
    /// channel.
    fn disturbs_mw(&self, flight: &Flight, other: &Interference, receiver: StationId) -> f64 {
        self.power_of(other, receiver) * self.share_of_noise(flight, other)
    }

    /// Factor between the interference of a PPDU of width `other` and the noise of the whole
    /// channel, to which [`Air::snr`] refers. A PPDU narrower than the channel puts all its power
    /// on the wanted PPDU. A PPDU as wide as the channel puts the same share of its power there as
    /// of the noise.
    fn share_of_noise(&self, flight: &Flight, other: &Interference) -> f64 {
        if !self.punctured.is_empty() {
            return self.share_of_parts(flight, other);
        }
        narrower(flight.rate.width().max(other.width), self.width).as_linear()
    }

    /// Result of the error model for the header, if `bytes` is `u32::MAX`, or for an MPDU.
    fn remembered(
        &mut self,
        flight: &Flight,
        receiver: StationId,
        snr: Db,
        bytes: u32,
    ) -> Probability {
        let Self { error_model, pairs, links, .. } = self;
        let pair = pairs.get_mut(flight.transmitter, receiver, links);
        pair.remembered(error_model, flight.rate, snr, bytes)
    }

    /// Probability that a part of a PPDU without overlaps is decoded: of the header, or of an MPDU
    /// of `bytes`.
    #[inline]
    fn undisturbed(
        &mut self,
        flight: &Flight,
        receiver: StationId,
        snr: Db,
        bytes: u32,
    ) -> Probability {
        let Self { error_model, pairs, links, .. } = self;
        let pair = pairs.get_mut(flight.transmitter, receiver, links);
        match pair.link.loss() {
            Some(_) if bytes == u32::MAX => Probability::ONE,
            Some(loss) => loss.complement(),
            None => pair.remembered(error_model, flight.rate, snr, bytes),
        }
    }

    #[inline]
    fn power_mw(&self, from: StationId, to: StationId) -> f64 {
        self.powers_mw[from.index() * self.stations + to.index()]
    }

    /// Whether a power makes the medium busy.
    fn is_sensed(&self, power_mw: f64) -> bool {
        let sense_mw = self.carrier_sense_mw;
        if (power_mw - sense_mw).abs() > MARGIN * sense_mw {
            return power_mw > sense_mw;
        }
        Dbm::from_milliwatts(power_mw) >= self.carrier_sense
    }

    #[inline]
    fn noise_mw(&self, from: StationId, to: StationId) -> f64 {
        self.noise_of_kind_mw[self.links.kind_of(from, to)]
    }

    fn link(&self, from: StationId, to: StationId) -> LinkConfig {
        self.links.link(from, to).expect("two stations have a link")
    }

    fn pair_mut(&mut self, from: StationId, to: StationId) -> &mut Pair {
        let Self { pairs, links, .. } = self;
        pairs.get_mut(from, to, links)
    }
}

/// Gain in SNR of a PPDU narrower than the channel.
pub(crate) fn narrower(width: ChannelWidth, channel: ChannelWidth) -> Db {
    let halvings =
        |width: ChannelWidth| ChannelWidth::ALL_EHT.into_iter().position(|it| it == width);
    match (halvings(width), halvings(channel)) {
        (Some(own), Some(all)) if own < all => Db(HALF_THE_NOISE.0 * (all - own) as f64),
        _ => Db(0.0),
    }
}

/// Returns `true` with probability `p`; certain outcomes draw no random number.
pub(crate) fn happens(stream: &mut Stream, p: Probability) -> bool {
    p >= Probability::ONE || (p > Probability::ZERO && stream.chance(p))
}

/// Adds up the powers that arrive at each station from these transmitters, given the powers of all.
fn add_up(
    sums_mw: &mut Vec<f64>,
    powers_mw: &[f64],
    stations: usize,
    mut transmitters: impl Iterator<Item = StationId>,
) {
    sums_mw.clear();
    if let Some(first) = transmitters.next() {
        sums_mw.extend_from_slice(&powers_mw[first.index() * stations..][..stations]);
    }
    sums_mw.resize(stations, 0.0);
    for transmitter in transmitters {
        let row = &powers_mw[transmitter.index() * stations..][..stations];
        for (sum, mw) in sums_mw.iter_mut().zip(row) {
            *sum += mw;
        }
    }
}

/// The least SNR of a transmitter at its listeners.
fn weakest(listeners: &[StationId], snrs: &[Db]) -> Db {
    let heard = listeners.iter().map(|to| snrs[to.index()].0);
    Db(heard.fold(f64::INFINITY, f64::min))
}

impl SnrThreshold {
    fn new(snr: Db) -> Self {
        Self { snr, linear: snr.as_linear() }
    }
}

impl Level {
    /// Whether the SNR, reduced by `interference_mw`, is at least `needed`.
    #[inline]
    fn reaches(&self, needed: SnrThreshold, interference_mw: f64) -> bool {
        let need_mw = needed.linear * (self.noise_mw + interference_mw);
        if (self.power_mw - need_mw).abs() > MARGIN * need_mw {
            return self.power_mw > need_mw;
        }
        self.snr - Db::from_linear(1.0 + interference_mw / self.noise_mw) >= needed.snr
    }
}

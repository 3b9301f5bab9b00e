//! Length of packets towards one peer with the highest expected goodput, estimated from the
//! outcomes of MPDUs of known lengths.
//!
//! Long packets share headers, channel access and processor time; short ones are lost less often. A
//! frame of L bytes arrives with probability (1 - c) exp(-b L). The link determines b and
//! collisions determine c; only b favours short packets. Both are fitted, for each rate in use, to
//! success counts by length, which fade within half a second. The cost of an exchange beside its
//! PPDU is measured; the cost of the processor is configured. While losses are frequent, every 64th
//! packet has another length, because one length alone could not separate b from c.
//!
//! Lengths are those of network-layer packets, in bytes. Left out: A-MSDUs, whose MPDUs are longer
//! than their packets; rates that rate control has not tried; traffic too sparse to fill
//! aggregates.

use super::sizes;
use crate::phy::{Band, Rate};
use alloc::vec::Vec;
use lasthop_units::{Duration, Instant};

/// Interval at which the length is chosen anew, the same as that of rates in Minstrel-HT.
const INTERVAL: Duration = Duration::from_millis(50);
/// Initial length in bytes: on a poor link a queue of longer packets takes seconds to drain.
const FIRST_BYTES: u16 = 1_500;
/// Share of the older counts that remains after an interval: half in 0.33 s.
const KEPT_SHARE: f64 = 0.9;
/// Required gain of a new length. Without losses the expected goodput is certain. With losses it is
/// an estimate, and rate control has to follow the change.
const GAIN_MIN: f64 = 1.002;
const LOSSY_GAIN_MIN: f64 = 1.05;
/// One packet in this number has another length, as a probe; and the share of lost frames above
/// which probes are sent.
const PROBE_PACKETS: u32 = 64;
const PROBE_LOSS_MIN: f64 = 0.02;
/// Weight, in frames, of the prior that frames of zero length are not lost. The prior separates b
/// from c while only one length has been sent.
const BELIEF_FRAMES: f64 = 8.0;
/// Number of rounds of the fit, and bounds of -ln(success) in it.
const FIT_ROUNDS: u32 = 8;
const LOSS_MIN: f64 = 1e-3;
const LOSS_MAX: f64 = 12.0;
/// Weight of one exchange in the means over exchanges.
const EXCHANGE_WEIGHT: f64 = 1.0 / 32.0;
/// Minimum number of recent frames at a rate for it to count as known.
const RATE_FRAMES_MIN: f64 = 16.0;
/// Width of the length classes in bytes, in which frames are counted.
const CLASS_BYTES: u32 = 256;
const CLASSES: usize = 32;
/// Step between compared lengths, in bytes.
const STEP_BYTES: u16 = 16;
/// Length of the IPv4 and UDP headers, which the application does not use.
const HEADER_BYTES: f64 = 28.0;

/// Configuration of the choice: bounds, and processor time of the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AdaptiveMtuConfig {
    /// Shortest packet in bytes that it may choose, at least 68.
    pub bytes_min: u16,
    /// Longest packet in bytes that it may choose, at most 7 900.
    pub bytes_max: u16,
    /// Processor time of the sender for each packet.
    pub host_per_packet: Duration,
    /// Additional processor time of the sender for each byte.
    pub host_per_byte: Duration,
}

/// Limits of the PPDUs that the station sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PpduLimits {
    /// Band of the channel.
    pub band: Band,
    /// Octets of an MPDU beside its packet.
    pub mpdu_overhead: u32,
    /// Longest MPDU inside an A-MPDU in bytes.
    pub ampdu_mpdu_bytes_max: u32,
    /// Longest A-MPDU in bytes; 0 for none.
    pub ampdu_bytes_max: u32,
    /// Longest PPDU with an A-MPDU.
    pub ampdu_duration_max: Duration,
    /// Limit of MPDUs in an A-MPDU.
    pub ampdu_frames_max: u16,
    /// Slot of the backoff.
    pub slot: Duration,
    /// Smallest contention window in slots.
    pub cw_min: u16,
    /// Largest contention window in slots.
    pub cw_max: u16,
    /// Consecutive failures after which the window is reset to the smallest one.
    pub retry_limit: u8,
}

/// The estimator for one station and peer.
#[derive(Clone, Debug, PartialEq)]
pub struct AdaptiveMtu {
    config: AdaptiveMtuConfig,
    limits: PpduLimits,
    rates: Vec<RateRecord>,
    /// Mean time of exchanges beside the PPDU in seconds, and the share that failed.
    exchanges: Option<(f64, f64)>,
    next_choice: Instant,
    chosen: u16,
    /// Whether frames of the chosen length are lost often enough for probes.
    probing: bool,
    /// Number of packets queued since the last probe, and of probes so far.
    packets: u32,
    probes: u32,
}

/// Outcomes of the frames at one rate.
#[derive(Clone, Debug, PartialEq)]
struct RateRecord {
    rate: Rate,
    classes: [Class; CLASSES],
}

/// Frames of nearly the same length; older ones count less.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
struct Class {
    frames: f64,
    received: f64,
    bytes: f64,
}

/// Current estimate of one rate.
#[derive(Clone, Copy, Debug, PartialEq)]
struct RateFit {
    rate: Rate,
    /// Share of the frames at this rate.
    share: f64,
    loss: LossFit,
    /// Longest A-MPDU at the rate, in bytes.
    psdu_bytes_max: u32,
}

/// Loss of frames at one rate.
#[derive(Clone, Copy, Debug, PartialEq)]
struct LossFit {
    /// The coefficient b, for each byte of the MPDU.
    per_byte: f64,
    /// Loss that is independent of the length: -ln(1 - c).
    per_frame: f64,
}

impl AdaptiveMtuConfig {
    /// The initial length, used while nothing is known of the link.
    pub fn first_bytes(&self) -> u16 {
        FIRST_BYTES.clamp(self.bytes_min, self.bytes_max)
    }
}

impl AdaptiveMtu {
    /// Returns an estimator without knowledge: packets have `FIRST_BYTES` until losses suggest
    /// another length.
    pub fn new(config: AdaptiveMtuConfig, limits: PpduLimits) -> Self {
        Self {
            config,
            limits,
            rates: Vec::new(),
            exchanges: None,
            next_choice: Instant::ZERO,
            chosen: config.first_bytes(),
            probing: false,
            packets: 0,
            probes: 0,
        }
    }

    /// Length in bytes of the next packet, which may be a probe.
    pub fn mtu(&self) -> u16 {
        if !self.probing || self.packets + 1 < PROBE_PACKETS {
            return self.chosen;
        }
        // Half as long is far enough off to tell; twice as long where it is
        // short already, and in between never a frame that breaks an aggregate.
        let AdaptiveMtuConfig { bytes_min, bytes_max, .. } = self.config;
        let double = self.chosen.saturating_mul(2);
        let breaks = self.joins(self.chosen) && !self.joins(double);
        let up = self.probes % 2 == 1 && double <= bytes_max && !breaks;
        if up || self.chosen / 2 < bytes_min { double.min(bytes_max) } else { self.chosen / 2 }
    }

    /// Length in bytes that the estimator considers the best, apart from probes.
    pub fn chosen(&self) -> u16 {
        self.chosen
    }

    /// Counts a packet for the peer that entered the queue.
    pub fn handle_packet(&mut self) {
        self.packets += 1;
        if self.packets == PROBE_PACKETS {
            self.packets = 0;
            self.probes = self.probes.wrapping_add(1);
        }
    }

    /// Records an exchange that took `elapsed` from the start of its contention, of which its PPDU
    /// took `duration`. For each MPDU it gives the length and whether it was acknowledged.
    pub fn handle_exchange(
        &mut self,
        now: Instant,
        rate: Rate,
        elapsed: Duration,
        duration: Duration,
        mpdus: impl Iterator<Item = (u32, bool)>,
    ) {
        let record = match self.rates.iter().position(|record| record.rate == rate) {
            Some(index) => &mut self.rates[index],
            None => {
                self.rates.push(RateRecord { rate, classes: [Class::default(); CLASSES] });
                self.rates.last_mut().expect("it was pushed")
            }
        };
        let before = record.classes;
        let (mut frames, mut received, mut bytes) = (0.0, 0.0, 0);
        for (length, acked) in mpdus {
            let class =
                &mut record.classes[(length / CLASS_BYTES).min(CLASSES as u32 - 1) as usize];
            class.frames += 1.0;
            class.received += f64::from(u8::from(acked));
            class.bytes += f64::from(length);
            frames += 1.0;
            received += f64::from(u8::from(acked));
            bytes += length;
        }
        if received == 0.0 && frames > 1.0 {
            // No answer: the whole PPDU collided, or was too weak. That says as
            // much as one frame does.
            record.classes = before;
            let length = bytes / frames as u32;
            let class =
                &mut record.classes[(length / CLASS_BYTES).min(CLASSES as u32 - 1) as usize];
            class.frames += 1.0;
            class.bytes += f64::from(length);
        }
        let cost_s = elapsed.saturating_sub(duration).as_secs_f64();
        let failed = if received == 0.0 { 1.0 } else { 0.0 };
        let (mean_s, failures) = self.exchanges.get_or_insert((cost_s, failed));
        *mean_s += (cost_s - *mean_s) * EXCHANGE_WEIGHT;
        *failures += (failed - *failures) * EXCHANGE_WEIGHT;
        if now >= self.next_choice {
            self.choose();
            self.next_choice = now + INTERVAL;
        }
    }

    fn choose(&mut self) {
        let all: f64 = self.rates.iter().map(RateRecord::frames).sum();
        let known = self.rates.iter().filter(|record| record.frames() >= RATE_FRAMES_MIN);
        let fits: Vec<RateFit> = known
            .map(|record| RateFit {
                rate: record.rate,
                share: record.frames() / all,
                loss: record.fit(),
                psdu_bytes_max: self.limits.psdu_bytes_max(record.rate),
            })
            .collect();
        let goodput = |bytes| self.goodput(bytes, &fits);
        let gain_min = if self.probing { LOSSY_GAIN_MIN } else { GAIN_MIN };
        let (bytes_min, bytes_max) = (self.config.bytes_min, self.config.bytes_max);
        let lengths = (bytes_min..bytes_max).step_by(STEP_BYTES.into()).chain([bytes_max]);
        let best = lengths
            .map(|bytes| (bytes, goodput(bytes)))
            .max_by(|(_, one), (_, other)| one.total_cmp(other));
        if let Some((bytes, promised)) = best
            && promised > gain_min * goodput(self.chosen)
        {
            self.chosen = bytes;
        }
        let mpdu = self.limits.mpdu_overhead + u32::from(self.chosen);
        let lost: f64 = fits.iter().map(|fit| fit.share * (1.0 - fit.loss.success(mpdu))).sum();
        self.probing = lost >= PROBE_LOSS_MIN;
        for record in &mut self.rates {
            record.fade();
        }
    }

    /// Expected payload, in bits a second, with packets of this length, once rate control has found
    /// the best rate for them.
    fn goodput(&self, bytes: u16, fits: &[RateFit]) -> f64 {
        let payload = f64::from(bytes) - HEADER_BYTES;
        let by_air = fits.iter().map(|fit| self.packets_per_s(bytes, fit)).fold(0.0, f64::max);
        let host = self.config.host_per_packet + self.config.host_per_byte * u64::from(bytes);
        let by_host = if host.is_zero() { f64::MAX } else { 1.0 / host.as_secs_f64() };
        8.0 * payload * by_air.min(by_host)
    }

    /// Packets a second that the air can carry at a rate.
    fn packets_per_s(&self, bytes: u16, fit: &RateFit) -> f64 {
        let mpdu = self.limits.mpdu_overhead + u32::from(bytes);
        let (frames, psdu_bytes) = if self.joins(bytes) {
            let subframe = sizes::ampdu_subframe(mpdu, 0);
            let most = u32::from(self.limits.ampdu_frames_max);
            let frames = (fit.psdu_bytes_max / subframe).clamp(1, most);
            (frames, frames * subframe)
        } else {
            (1, mpdu)
        };
        let success = fit.loss.success(mpdu);
        let mut air_s = fit.rate.ppdu_duration(psdu_bytes, self.limits.band).as_secs_f64();
        // What failures add to an exchange is time to back off.
        if let Some((cost_s, failed)) = self.exchanges {
            let failures = libm::pow(1.0 - success, f64::from(frames));
            let wait_s = self.limits.backoff_s(failures) - self.limits.backoff_s(failed);
            air_s += cost_s.max(0.0) + wait_s.max(-cost_s);
        }
        f64::from(frames) * success / air_s
    }

    /// Whether frames with packets of this length are sent in A-MPDUs.
    fn joins(&self, bytes: u16) -> bool {
        self.limits.ampdu_bytes_max > 0
            && self.limits.mpdu_overhead + u32::from(bytes) <= self.limits.ampdu_mpdu_bytes_max
    }
}

impl PpduLimits {
    /// Longest A-MPDU at a rate, in bytes.
    fn psdu_bytes_max(&self, rate: Rate) -> u32 {
        let (mut fits, mut too_long) = (0, self.ampdu_bytes_max + 1);
        while too_long - fits > 1 {
            let middle = (fits + too_long) / 2;
            if rate.ppdu_duration(middle, self.band) <= self.ampdu_duration_max {
                fits = middle;
            } else {
                too_long = middle;
            }
        }
        fits
    }
}

impl PpduLimits {
    /// Mean backoff before an exchange if each fails with this probability: the
    /// window doubles with each failure in a row (10.23.2.2).
    fn backoff_s(&self, failures: f64) -> f64 {
        let (mut weight, mut weights, mut slots) = (1.0, 0.0, 0.0);
        let mut window = u32::from(self.cw_min);
        for _ in 0..self.retry_limit {
            weights += weight;
            slots += weight * f64::from(window) / 2.0;
            weight *= failures;
            window = (2 * window + 1).min(u32::from(self.cw_max));
        }
        slots / weights * self.slot.as_secs_f64()
    }
}

impl RateRecord {
    fn frames(&self) -> f64 {
        self.classes.iter().map(|class| class.frames).sum()
    }

    fn fade(&mut self) {
        for class in &mut self.classes {
            class.frames *= KEPT_SHARE;
            class.received *= KEPT_SHARE;
            class.bytes *= KEPT_SHARE;
        }
    }

    /// The most likely loss. Counts are binomial and -ln(success) is linear in the length, so least
    /// squares find it; the last fit gives the weights and responses of each round.
    fn fit(&self) -> LossFit {
        let mut fit = LossFit { per_byte: 0.0, per_frame: 0.0 };
        for round in 0..FIT_ROUNDS {
            // Sums of weight, length and logarithm; the belief is at length 0.
            let (mut w, mut x, mut y, mut xx, mut xy) = (BELIEF_FRAMES, 0.0, 0.0, 0.0, 0.0);
            for class in self.classes.iter().filter(|class| class.frames > 0.5) {
                let length = class.bytes / class.frames;
                let share = class.received / class.frames;
                let (success, loss) = match round {
                    0 => {
                        let success = (class.received + 0.5) / (class.frames + 1.0);
                        (success, -libm::log(success))
                    }
                    _ => {
                        let loss = fit.loss(length).clamp(LOSS_MIN, LOSS_MAX);
                        let success = libm::exp(-loss);
                        (success, loss - (share - success) / success)
                    }
                };
                let weight = class.frames * success / (1.0 - success).max(LOSS_MIN);
                w += weight;
                x += weight * length;
                y += weight * loss;
                xx += weight * length * length;
                xy += weight * length * loss;
            }
            let spread = w * xx - x * x;
            if spread <= 0.0 {
                return fit;
            }
            let per_byte = (w * xy - x * y) / spread;
            let per_frame = (y - per_byte * x) / w;
            fit = if per_byte < 0.0 {
                LossFit { per_byte: 0.0, per_frame: (y / w).max(0.0) }
            } else if per_frame < 0.0 {
                LossFit { per_byte: (xy / xx).max(0.0), per_frame: 0.0 }
            } else {
                LossFit { per_byte, per_frame }
            };
        }
        fit
    }
}

impl LossFit {
    /// Returns -ln of the probability that an MPDU of that length is decoded.
    fn loss(self, mpdu_bytes: f64) -> f64 {
        self.per_frame + self.per_byte * mpdu_bytes
    }

    fn success(self, mpdu_bytes: u32) -> f64 {
        libm::exp(-self.loss(f64::from(mpdu_bytes)))
    }
}

#[cfg(test)]
mod tests;

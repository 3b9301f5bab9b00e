//! Counters that a cell keeps whether or not events are recorded; the summary of a run consists of
//! them. All start at zero and grow until [`Cell::clear_stats`](crate::cell::Cell).

pub mod multi_link;

use crate::mac::roam::steering::RoamCause;
use crate::phy::{Rate, Subchannel};
use crate::station::StationId;
use alloc::vec::Vec;
use lasthop_units::{Db, Dbm, Duration, Instant};

/// A weighted histogram of small integers: exact below 4096, then with 2048 steps to the octave
/// (0.05 % wide). Weights are counts or nanoseconds.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Levels {
    weights: Vec<u64>,
    total: u64,
    weighted_sum: u128,
    max: u32,
}

impl Levels {
    const STEPS_LOG2: u32 = 11;
    const STEPS: u32 = 1 << Self::STEPS_LOG2;
    const EXACT: u32 = 2 * Self::STEPS;

    /// Adds `weight` at `level`.
    #[inline]
    pub fn add(&mut self, level: u32, weight: u64) {
        if weight == 0 {
            return;
        }
        let bin = Self::bin(level);
        if bin >= self.weights.len() {
            self.weights.resize(bin + 1, 0);
        }
        self.weights[bin] += weight;
        self.total += weight;
        self.weighted_sum += u128::from(level) * u128::from(weight);
        self.max = self.max.max(level);
    }

    /// The weight of everything added.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The weighted mean, exact; `None` when empty.
    pub fn mean(&self) -> Option<f64> {
        (self.total > 0).then(|| self.weighted_sum as f64 / self.total as f64)
    }

    /// The greatest level added.
    pub fn max(&self) -> Option<u32> {
        (self.total > 0).then_some(self.max)
    }

    /// The least level at or below which a share `q` (0 to 1) of the weight lies, as the lower edge
    /// of its bin.
    pub fn quantile(&self, q: f64) -> Option<u32> {
        if self.total == 0 {
            return None;
        }
        let wanted = libm::ceil(self.total as f64 * q).max(1.0) as u64;
        let mut below = 0;
        for (bin, weight) in self.weights.iter().enumerate() {
            below += weight;
            if below >= wanted {
                return Some(Self::lower_edge(bin as u32).min(self.max));
            }
        }
        Some(self.max)
    }

    /// Adds all levels of `other`.
    pub fn merge(&mut self, other: &Self) {
        if other.weights.len() > self.weights.len() {
            self.weights.resize(other.weights.len(), 0);
        }
        for (mine, theirs) in self.weights.iter_mut().zip(&other.weights) {
            *mine += theirs;
        }
        self.total += other.total;
        self.weighted_sum += other.weighted_sum;
        self.max = self.max.max(other.max);
    }

    fn bin(level: u32) -> usize {
        if level < Self::EXACT {
            return level as usize;
        }
        let octave = level.ilog2() - Self::STEPS_LOG2;
        // level >> octave lies in STEPS..2 * STEPS.
        (Self::EXACT + (octave - 1) * Self::STEPS + ((level >> octave) - Self::STEPS)) as usize
    }

    fn lower_edge(bin: u32) -> u32 {
        if bin < Self::EXACT {
            return bin;
        }
        let octave = (bin - Self::EXACT) / Self::STEPS + 1;
        ((bin - Self::EXACT) % Self::STEPS + Self::STEPS) << octave
    }
}

/// One station's counters.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct StationStats {
    /// Packets held over time (upper and driver queue, those in flight included); weights are
    /// nanoseconds.
    pub queue_packets: Levels,
    /// Packets of these that left the upper queue: in the driver's queue or in flight. Empty
    /// without a driver queue.
    pub driver_packets: Levels,
    /// Packets that exceeded the queue's limit (also that for a station that cannot be reached) or
    /// were dropped by active queue management.
    pub queue_drops: u64,
    /// Time on the air as transmitter.
    pub airtime: Duration,
    /// MPDUs given up as their receiver (pseudo retry-out).
    pub pseudo_retry_outs: u64,
    /// MPDUs of these that arrived later and were ignored.
    pub pseudo_retry_outs_ignored: u64,
    /// The number of beacons sent.
    pub beacons: u64,
    /// Number of times that the station left its channel, or dozed.
    pub absences: u64,
    /// Time off its channel or dozing.
    pub away: Duration,
    /// Null frames sent, retries included.
    pub nulls: u64,
    /// Null frames given up.
    pub nulls_given_up: u64,
    /// PS-Poll frames sent, retries included.
    pub ps_polls: u64,
    /// QoS Null frames that begin service periods (U-APSD, announced TWT) sent, retries included.
    pub triggers: u64,
    /// Beacons that the station listened for in legacy power save, and did not decode: lost on the
    /// air, or before its radio was on.
    pub beacons_missed: u64,
    /// Packets given up when the station left the channel.
    pub off_channel_drops: u64,
    /// Number of times that the station lost its access point.
    pub access_points_lost: u64,
    /// Neighbor reports that the station received.
    pub neighbor_reports: u64,
    /// The number that it awaited in vain.
    pub neighbor_reports_missed: u64,
    /// Requests to the station to move to another access point.
    pub steering: SteeringStats,
    /// Changes of its access point, in their order.
    pub roams: Vec<Roamed>,
    /// Spells in which it stayed at a weak access point although another of its network was much
    /// stronger, in their order.
    pub outranked: Vec<Outranked>,
    /// Moves of an access point to another channel, in their order.
    pub switches: Vec<Switched>,
}

/// A spell in which a station's access point arrives below [`Outranked::WEAK`], and another one of its
/// network with [`Outranked::STRONGER`] more.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outranked {
    /// Access point of the station.
    pub at: StationId,
    /// The stronger one: the strongest at the end.
    pub by: StationId,
    /// First beacon of the spell.
    pub from: Instant,
    /// Last beacon of the spell.
    pub until: Instant,
    /// Level of its access point at the end, without fading.
    pub level: Dbm,
    /// Level of the stronger one at the end.
    pub stronger: Dbm,
}

impl Outranked {
    /// Level below which Apple's devices look for another access point ("About wireless roaming for
    /// enterprise"), and iwd at 2.4 GHz (`RoamThreshold`).
    pub const WEAK: Dbm = Dbm(-70.0);
    /// Difference at which Apple's devices without traffic change.
    pub const STRONGER: Db = Db(12.0);
}

/// Requests of access points to a station to move (802.11v), and what became of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct SteeringStats {
    /// Requests.
    pub requests: u64,
    /// Requests that the station accepted.
    pub accepted: u64,
    /// Requests that it refused.
    pub refused: u64,
    /// The number of times that an access point removed it.
    pub removed: u64,
}

/// A move of an access point to another channel, with the instants of its steps as far as they came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Switched {
    /// The primary channel before.
    pub from: Subchannel,
    /// The new primary channel.
    pub to: Subchannel,
    /// Whether a radar was the cause.
    pub radar: bool,
    /// Whether nobody was to send data before the move.
    pub quiet: bool,
    /// Instant at which the access point was to move.
    pub ordered_at: Instant,
    /// Instant at which it moved.
    pub moved_at: Option<Instant>,
    /// Whether it listened for radar before it sent again.
    pub checks: bool,
    /// Instant at which it had heard no radar, and sent again.
    pub checked_at: Option<Instant>,
    /// Stations of the set at the order.
    pub stations: u16,
    /// Stations that followed by an announcement, and heard the access point on the new channel.
    pub followed: u16,
    /// The longest time without data of a station that followed.
    pub without: Duration,
}

/// A change of a station's access point, with the instants of its steps as far as they came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Roamed {
    /// The access point before.
    pub from: StationId,
    /// The access point that the station joins.
    pub to: StationId,
    /// Reason.
    pub cause: RoamCause,
    /// Instant at which the station began to look for another one.
    pub looked_from: Instant,
    /// Channels of the scan before, if it had not all.
    pub listed_channels: Option<u16>,
    /// Instant since which no data flow: it left its access point, or noticed that it is gone.
    pub without_from: Instant,
    /// Instant at which it left for the new one.
    pub left_at: Instant,
    /// Instant at which authentication was complete.
    pub authenticated_at: Option<Instant>,
    /// Instant at which association was complete.
    pub associated_at: Option<Instant>,
    /// Instant from which data flow.
    pub joined_at: Option<Instant>,
    /// Instant at which it gave up.
    pub failed_at: Option<Instant>,
}

/// Counters of one direction between two stations.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct LinkStats {
    /// Number of the link in the devices of sender and receiver; 0 for stations of one link.
    pub link: u8,
    /// Data PPDUs sent.
    pub ppdus: u64,
    /// Data MPDUs sent, retransmissions included.
    pub mpdus: u64,
    /// Data MPDUs of these that were retransmissions.
    pub mpdu_retries: u64,
    /// The number of data MPDUs acknowledged.
    pub mpdus_acked: u64,
    /// MPDUs that were sent and not acknowledged in that exchange.
    pub mpdus_failed: u64,
    /// MPDUs given up (retry limit or lifetime).
    pub mpdus_lost: u64,
    /// Data PPDUs that overlapped with another PPDU at the receiver.
    pub collisions: u64,
    /// The number of RTS sent to the peer, retries included.
    pub rts: u64,
    /// Block Ack Requests sent.
    pub block_ack_requests: u64,
    /// Number of data MPDUs in a PPDU; weights are PPDUs.
    pub mpdus_per_ppdu: Levels,
    /// Data PPDUs by rate.
    pub ppdus_by_rate: Vec<(Rate, u64)>,
    /// Time on the air of data PPDUs.
    pub data_airtime: Duration,
}

impl LinkStats {
    /// Counts a PPDU with `mpdus` MPDUs, of which `retries` were sent before.
    #[inline]
    pub(crate) fn count_data(&mut self, mpdus: usize, retries: u64, rate: Rate, airtime: Duration) {
        self.ppdus += 1;
        self.mpdus += mpdus as u64;
        self.mpdu_retries += retries;
        self.mpdus_per_ppdu.add(mpdus as u32, 1);
        self.count_rate(rate);
        self.data_airtime += airtime;
    }

    /// Counts one data PPDU at `rate`.
    pub fn count_rate(&mut self, rate: Rate) {
        match self.ppdus_by_rate.iter_mut().find(|(r, _)| *r == rate) {
            Some((_, n)) => *n += 1,
            None => self.ppdus_by_rate.push((rate, 1)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_bin_holds_its_levels(level in 0u32..u32::MAX) {
            let edge = Levels::lower_edge(Levels::bin(level) as u32);
            prop_assert!(edge <= level);
            prop_assert!(f64::from(level - edge) <= f64::from(level) / f64::from(Levels::STEPS));
        }

        #[test]
        fn quantiles_agree_with_a_sorted_list(mut levels in proptest::collection::vec(0u32..4096, 1..200), q in 0.01f64..1.0) {
            let mut hist = Levels::default();
            for &level in &levels {
                hist.add(level, 1);
            }
            levels.sort_unstable();
            let rank = (libm::ceil(levels.len() as f64 * q).max(1.0) as usize).min(levels.len());
            prop_assert_eq!(hist.quantile(q), Some(levels[rank - 1]));
        }
    }
}

//! The rates of a pair in groups of equal streams, guard interval and width, and the time of an
//! average packet at each of them, rounded as in Linux.
//!
//! The order is that of Linux: HT 20 MHz before 40 MHz, in each long before short guard interval,
//! in each by streams; then CCK, then OFDM, then VHT like HT, up to 80 MHz and four streams. An HT
//! pair does not fall back to OFDM rates, nor a VHT pair to HT or OFDM rates (minstrel_vht_only).
//! Within a group rates ascend. Rates of 160 MHz and of HE are left out, because Linux has no
//! groups for them.

use super::super::RateSet;
use crate::phy::{ChannelWidth, DsssRate, GuardInterval, OfdmRate, Preamble, Rate};
use alloc::vec::Vec;
use lasthop_units::Duration;

/// Position of a rate in the table.
pub(super) type RateIndex = u8;

/// Length in bytes of the packet for which throughputs and retries are computed.
const PACKET_BYTES: u64 = 1_200;
/// Length of the frame check sequence, which only the times of unaggregated packets include.
const FCS_BYTES: u64 = 4;
/// Number of packets over which an HT rate's padding to whole symbols is spread.
const PACKETS_PER_PPDU: u64 = 16;

/// Overhead in microseconds of an aggregate at an HT rate: an empty frame and an acknowledgement at
/// 6 Mb/s, 48 + 60 us with SIFS and signal extension.
const OVERHEAD_HT_US: u32 = 108;
/// Microseconds of the acknowledgement, with SIFS, of a packet at a CCK rate: at 1 Mb/s, short
/// preamble.
const OVERHEAD_CCK_US: u32 = 218;
/// Microseconds of the acknowledgement, with SIFS and signal extension, at 6 Mb/s.
const OVERHEAD_OFDM_US: u32 = 60;

/// Number of positions by [`key`]: 4 streams x 8 MCS x 2 guard intervals x 2 widths, 4 x 2 DSSS, 2
/// x 8 OFDM, 4 streams x 10 MCS x 2 guard intervals x 3 widths.
const KEYS: usize = FIRST_VHT_KEY + STREAMS_MAX * VHT_MCS * 2 * 3;
const FIRST_VHT_KEY: usize = 128 + 8 + 16;
/// Streams of the groups (MINSTREL_MAX_STREAMS).
const STREAMS_MAX: usize = 4;
const VHT_MCS: usize = 1 + Rate::VHT_MCS_MAX as usize;
const ABSENT: RateIndex = RateIndex::MAX;

/// Rates of equal streams, guard interval and width.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Group {
    pub(super) first: RateIndex,
    pub(super) len: u8,
    pub(super) streams: u8,
    pub(super) family: Family,
}

/// Families of the legacy groups, which cannot aggregate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Family {
    Ht,
    Cck,
    Ofdm,
    Vht,
}

/// A rate in the table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Entry {
    pub(super) rate: Rate,
    /// Index of its group.
    pub(super) group: u8,
    /// Air time of an average packet's data.
    pub(super) duration: Duration,
}

/// All rates and groups of a pair.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Table {
    pub(super) entries: Vec<Entry>,
    pub(super) groups: Vec<Group>,
    by_key: [RateIndex; KEYS],
}

impl Group {
    /// Rates of the group, slowest first.
    pub(super) fn rates(&self) -> core::ops::Range<RateIndex> {
        self.first..self.first + self.len
    }

    pub(super) fn is_legacy(&self) -> bool {
        matches!(self.family, Family::Cck | Family::Ofdm)
    }

    /// Microseconds of a PPDU besides its data.
    pub(super) fn overhead_us(&self) -> u32 {
        match self.family {
            Family::Ht | Family::Vht => OVERHEAD_HT_US,
            Family::Cck => OVERHEAD_CCK_US,
            Family::Ofdm => OVERHEAD_OFDM_US,
        }
    }
}

impl Table {
    /// # Panics
    /// Panics if Linux has no group for any of the rates.
    pub(super) fn new(set: &RateSet) -> Self {
        let mut rates = set.rates.clone();
        rates.retain(|&rate| family(rate).is_some());
        assert!(!rates.is_empty(), "Minstrel-HT has no group for {}", set.rates[0]);
        let has = |wanted| rates.iter().any(|&rate| family(rate) == Some(wanted));
        let (ht, vht) = (has(Family::Ht), has(Family::Vht));
        rates.retain(|&rate| match family(rate) {
            Some(Family::Ofdm) => !ht && !vht,
            Some(Family::Ht) => !vht,
            _ => true,
        });
        rates.sort_by_key(|&rate| (group_key(rate), key(rate)));
        rates.dedup();

        let mut table = Self { entries: Vec::new(), groups: Vec::new(), by_key: [ABSENT; KEYS] };
        let mut last = None;
        for (index, &rate) in (0..).zip(&rates) {
            if last.replace(group_key(rate)) != Some(group_key(rate)) {
                let (family, .., streams) = group_key(rate);
                let family = family.expect("only rates with a group are left");
                table.groups.push(Group { first: index, len: 0, streams, family });
            }
            let group = table.groups.len() - 1;
            table.groups[group].len += 1;
            table.by_key[key(rate)] = index;
            table.entries.push(Entry { rate, group: group as u8, duration: duration(rate) });
        }
        table
    }

    /// Index of `rate`, if it is in the set.
    pub(super) fn find(&self, rate: Rate) -> Option<RateIndex> {
        let &index = self.by_key.get(key(rate))?;
        // An MCS beyond those of a set would land on another one's key.
        self.entries.get(usize::from(index)).filter(|entry| entry.rate == rate).map(|_| index)
    }

    pub(super) fn entry(&self, index: RateIndex) -> &Entry {
        &self.entries[usize::from(index)]
    }

    pub(super) fn group_of(&self, index: RateIndex) -> &Group {
        &self.groups[usize::from(self.entry(index).group)]
    }

    pub(super) fn duration(&self, index: RateIndex) -> Duration {
        self.entry(index).duration
    }

    /// Air time of an average packet's data in nanoseconds, below 2^32.
    pub(super) fn duration_ns(&self, index: RateIndex) -> u32 {
        self.duration(index).as_nanos() as u32
    }

    /// The first rate of the first group that aggregates.
    pub(super) fn lowest_aggregating(&self) -> Option<RateIndex> {
        self.lowest(Family::Vht).or_else(|| self.lowest(Family::Ht))
    }

    /// The first rate of the first group of this family.
    pub(super) fn lowest(&self, family: Family) -> Option<RateIndex> {
        self.groups.iter().find(|group| group.family == family).map(|group| group.first)
    }
}

/// Family of a rate; `None` if it has no group.
fn family(rate: Rate) -> Option<Family> {
    match rate {
        Rate::Dsss { .. } => Some(Family::Cck),
        Rate::Ofdm(_) | Rate::ErpOfdm(_) => Some(Family::Ofdm),
        Rate::Ht { .. } => Some(Family::Ht),
        Rate::Vht { streams, width, .. } => {
            let has_group = usize::from(streams) <= STREAMS_MAX && width <= ChannelWidth::Mhz80;
            has_group.then_some(Family::Vht)
        }
        Rate::He { .. } | Rate::HeExtendedRange { .. } | Rate::Eht { .. } => None,
    }
}

/// Properties that the rates of a group share, for a rate that has one.
fn group_key(rate: Rate) -> (Option<Family>, ChannelWidth, GuardInterval, u8) {
    match rate {
        Rate::Ht { width, guard_interval, .. } | Rate::Vht { width, guard_interval, .. } => {
            (family(rate), width, guard_interval, rate.streams())
        }
        _ => (family(rate), ChannelWidth::Mhz20, GuardInterval::Long, 1),
    }
}

/// Key of a rate, a small number that ascends with the rate within a group.
fn key(rate: Rate) -> usize {
    match rate {
        Rate::Ht { mcs, width, guard_interval } => {
            usize::from(mcs) + 32 * (guard_interval as usize) + 64 * (width as usize)
        }
        Rate::Dsss { rate, preamble } => {
            128 + rate as usize + if preamble == Preamble::Short { 4 } else { 0 }
        }
        Rate::Ofdm(rate) => 136 + rate as usize,
        Rate::ErpOfdm(rate) => 144 + rate as usize,
        Rate::Vht { mcs, streams, width, guard_interval } if family(rate).is_some() => {
            let group = (2 * width as usize + guard_interval as usize) * STREAMS_MAX;
            let group = group + usize::from(streams) - 1;
            FIRST_VHT_KEY + group * VHT_MCS + usize::from(mcs)
        }
        // No position.
        Rate::Vht { .. } | Rate::He { .. } | Rate::HeExtendedRange { .. } | Rate::Eht { .. } => {
            usize::MAX
        }
    }
}

/// Duration of the data part of an average packet. Legacy rates cannot share their preamble among
/// several packets, so their duration includes preamble and SIFS. Linux keeps 16 bits of the
/// durations of a group, shifted according to its slowest.
fn duration(rate: Rate) -> Duration {
    let slowest = match rate {
        Rate::Ht { mcs, width, guard_interval } => {
            Rate::Ht { mcs: mcs & !7, width, guard_interval }
        }
        Rate::Dsss { .. } => Rate::Dsss { rate: DsssRate::Mbps1, preamble: Preamble::Long },
        Rate::Ofdm(_) | Rate::ErpOfdm(_) => Rate::Ofdm(OfdmRate::Mbps6),
        Rate::Vht { streams, width, guard_interval, .. } => {
            Rate::Vht { mcs: 0, streams, width, guard_interval }
        }
        Rate::He { .. } | Rate::HeExtendedRange { .. } | Rate::Eht { .. } => rate,
    };
    let shift = (u32::BITS - exact_ns(slowest).leading_zeros()).saturating_sub(16);
    Duration::from_nanos(u64::from(exact_ns(rate) >> shift << shift))
}

/// Nanoseconds of an average packet.
fn exact_ns(rate: Rate) -> u32 {
    let packet_bits = 8 * (PACKET_BYTES + FCS_BYTES);
    let ns = match rate {
        Rate::Ht { guard_interval, .. } | Rate::Vht { guard_interval, .. } => {
            let bits = 8 * PACKET_BYTES * PACKETS_PER_PPDU;
            let symbols = bits.div_ceil(bits_per_symbol(rate));
            let ns = match guard_interval {
                GuardInterval::Long => symbols * 4_000,
                GuardInterval::Short => (symbols * 18_000 + 4_000) / 5,
            };
            ns / PACKETS_PER_PPDU
        }
        Rate::Dsss { preamble, .. } => {
            let preamble_us = if preamble == Preamble::Short { 72 + 24 } else { 144 + 48 };
            1_000 * (10 + preamble_us + packet_bits * 1_000_000 / rate.bitrate().as_bps())
        }
        Rate::Ofdm(_) | Rate::ErpOfdm(_) => {
            // Linux counts the packet's bits tenfold, but not SERVICE and tail.
            let symbols = (16 + 10 * packet_bits + 6) / (rate.bitrate().as_bps() * 4 / 100_000);
            1_000 * (16 + 16 + 4 + 4 * symbols)
        }
        Rate::He { .. } | Rate::HeExtendedRange { .. } | Rate::Eht { .. } => {
            unreachable!("Minstrel-HT has no group for {rate}")
        }
    };
    ns as u32
}

/// Data bits of a symbol as computed in Linux: whole bits of one stream, times the streams. At 20
/// MHz and VHT MCS 9 that is 346 for each instead of 346 2/3.
fn bits_per_symbol(rate: Rate) -> u64 {
    let of_one = match rate {
        Rate::Vht { mcs, width, guard_interval, .. } => {
            Rate::Vht { mcs, streams: 1, width, guard_interval }
        }
        _ => return u64::from(rate.data_bits_per_symbol()),
    };
    u64::from(of_one.data_bits_per_symbol()) * u64::from(rate.streams())
}

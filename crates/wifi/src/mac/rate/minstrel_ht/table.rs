//! The rates of a pair in groups of equal streams, guard interval and width,
//! and the time that an average packet takes at each of them, rounded as Linux does.
//!
//! Order as in Linux: HT 20 MHz before 40 MHz, in each long before short guard
//! interval, in each by streams; then CCK, then OFDM. An HT pair does not fall
//! back to OFDM rates. Within a group rates ascend.

use super::super::RateSet;
use crate::phy::{ChannelWidth, DsssRate, GuardInterval, OfdmRate, Preamble, Rate};
use alloc::vec::Vec;
use lasthop_units::Duration;

/// Position of a rate in the table.
pub(super) type RateIndex = u8;

/// Length of the packet that throughputs and retries are computed for.
const PACKET_BYTES: u64 = 1_200;
/// Frame check sequence, which only the times of unaggregated packets count.
const FCS_BYTES: u64 = 4;
/// Packets over which an HT rate's padding to whole symbols is spread.
const PACKETS_PER_PPDU: u64 = 16;

/// Microseconds that an aggregate at an HT rate costs besides its data: an empty frame and
/// an acknowledgement at 6 Mb/s, 48 + 60 us with SIFS and signal extension.
const OVERHEAD_HT_US: u32 = 108;
/// Acknowledgement, with SIFS, of a packet at a CCK rate: at 1 Mb/s, short preamble.
const OVERHEAD_CCK_US: u32 = 218;
/// Acknowledgement, with SIFS and signal extension, at 6 Mb/s.
const OVERHEAD_OFDM_US: u32 = 60;

/// Positions by [`key`]; 4 streams x 8 MCS x 2 guard intervals x 2 widths, 4 x 2 DSSS, 2 x 8 OFDM.
const KEYS: usize = 128 + 8 + 16;
const ABSENT: RateIndex = RateIndex::MAX;

/// Rates of equal streams, guard interval and width.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Group {
    pub(super) first: RateIndex,
    pub(super) len: u8,
    pub(super) streams: u8,
    pub(super) family: Family,
}

/// What sets the legacy groups apart: they cannot aggregate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Family {
    Ht,
    Cck,
    Ofdm,
}

/// One rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Entry {
    pub(super) rate: Rate,
    /// Index of its group.
    pub(super) group: u8,
    /// Air time of an average packet's data.
    pub(super) duration: Duration,
}

/// All of them.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Table {
    pub(super) entries: Vec<Entry>,
    pub(super) groups: Vec<Group>,
    by_key: [RateIndex; KEYS],
}

impl Group {
    /// Its rates, slowest first.
    pub(super) fn rates(&self) -> core::ops::Range<RateIndex> {
        self.first..self.first + self.len
    }

    pub(super) fn is_legacy(&self) -> bool {
        self.family != Family::Ht
    }

    /// Microseconds that a PPDU costs besides its data.
    pub(super) fn overhead_us(&self) -> u32 {
        match self.family {
            Family::Ht => OVERHEAD_HT_US,
            Family::Cck => OVERHEAD_CCK_US,
            Family::Ofdm => OVERHEAD_OFDM_US,
        }
    }
}

impl Table {
    pub(super) fn new(set: &RateSet) -> Self {
        let ht = set.rates.iter().any(|&rate| family(rate) == Family::Ht);
        let mut rates = set.rates.clone();
        rates.retain(|&rate| !(ht && family(rate) == Family::Ofdm));
        rates.sort_by_key(|&rate| (group_key(rate), key(rate)));
        rates.dedup();

        let mut table = Self { entries: Vec::new(), groups: Vec::new(), by_key: [ABSENT; KEYS] };
        let mut last = None;
        for (index, &rate) in (0..).zip(&rates) {
            if last.replace(group_key(rate)) != Some(group_key(rate)) {
                let (family, .., streams) = group_key(rate);
                table.groups.push(Group { first: index, len: 0, streams, family });
            }
            let group = table.groups.len() - 1;
            table.groups[group].len += 1;
            table.by_key[key(rate)] = index;
            table.entries.push(Entry { rate, group: group as u8, duration: duration(rate) });
        }
        table
    }

    /// Where `rate` is, if it is in the set.
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

    /// The same in nanoseconds; below 2^32.
    pub(super) fn duration_ns(&self, index: RateIndex) -> u32 {
        self.duration(index).as_nanos() as u32
    }

    /// The first rate of the first group of this family.
    pub(super) fn lowest(&self, family: Family) -> Option<RateIndex> {
        self.groups.iter().find(|group| group.family == family).map(|group| group.first)
    }
}

fn family(rate: Rate) -> Family {
    match rate {
        Rate::Dsss { .. } => Family::Cck,
        Rate::Ofdm(_) | Rate::ErpOfdm(_) => Family::Ofdm,
        Rate::Ht { .. } => Family::Ht,
        Rate::Vht { .. } | Rate::He { .. } | Rate::HeExtendedRange { .. } => no_group(rate),
    }
}

/// A station has no VHT and HE rates yet.
fn no_group(rate: Rate) -> ! {
    panic!("Minstrel-HT has groups up to 802.11n, {rate} is in none")
}

fn group_key(rate: Rate) -> (Family, ChannelWidth, GuardInterval, u8) {
    match rate {
        Rate::Ht { mcs, width, guard_interval } => (Family::Ht, width, guard_interval, mcs / 8 + 1),
        _ => (family(rate), ChannelWidth::Mhz20, GuardInterval::Long, 1),
    }
}

/// A small number for each rate; ascends with the rate within a group.
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
        Rate::Vht { .. } | Rate::He { .. } | Rate::HeExtendedRange { .. } => no_group(rate),
    }
}

/// Data part of an average packet; legacy rates cannot share their preamble
/// among several packets, so theirs, and SIFS, is part of it. Linux keeps 16 bits of
/// those of a group, shifted by as many as its slowest needs.
fn duration(rate: Rate) -> Duration {
    let slowest = match rate {
        Rate::Ht { mcs, width, guard_interval } => {
            Rate::Ht { mcs: mcs & !7, width, guard_interval }
        }
        Rate::Dsss { .. } => Rate::Dsss { rate: DsssRate::Mbps1, preamble: Preamble::Long },
        Rate::Ofdm(_) | Rate::ErpOfdm(_) => Rate::Ofdm(OfdmRate::Mbps6),
        Rate::Vht { .. } | Rate::He { .. } | Rate::HeExtendedRange { .. } => no_group(rate),
    };
    let shift = (u32::BITS - exact_ns(slowest).leading_zeros()).saturating_sub(16);
    Duration::from_nanos(u64::from(exact_ns(rate) >> shift << shift))
}

/// Nanoseconds of an average packet.
fn exact_ns(rate: Rate) -> u32 {
    let packet_bits = 8 * (PACKET_BYTES + FCS_BYTES);
    let ns = match rate {
        Rate::Ht { guard_interval, .. } => {
            let bits = 8 * PACKET_BYTES * PACKETS_PER_PPDU;
            let symbols = bits.div_ceil(u64::from(rate.data_bits_per_symbol()));
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
        Rate::Vht { .. } | Rate::He { .. } | Rate::HeExtendedRange { .. } => no_group(rate),
    };
    ns as u32
}

//! What an access point knows of its stations' queues in one access category: the Queue Size
//! subfield of QoS Control (IEEE 802.11ax-2021, 9.2.4.5.6), in every QoS Data and QoS Null frame
//! that a station sends. Sizes are in bytes of MSDUs, with the LLC header.
//!
//! A frame of an A-MPDU says what lies behind it; of those that are not decoded the access point
//! sees the length. So it knows what the station holds less what it decoded, rounded up.

use crate::mac::sizes;
use crate::station::StationId;
use alloc::vec::Vec;
use lasthop_units::Duration;

/// The Queue Size subfield of an HE station.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct QueueSize(pub u8);

/// By scaling factor (9.2.4.5.6): the least size, and the unit. Six bits count the units.
const SCALES: [(u64, u64); 4] = [(0, 16), (1_024, 256), (17_408, 2_048), (148_480, 32_768)];
/// Most units: of the last scale 62 says "more", 63 "unknown".
const UNITS_MAX: [u64; 4] = [63, 63, 63, 61];
const MORE: u8 = 3 << 6 | 62;

impl QueueSize {
    /// Of `bytes`, rounded up.
    pub fn of(bytes: u64) -> Self {
        for (scale, (&(least, unit), &units_max)) in (0u8..).zip(SCALES.iter().zip(&UNITS_MAX)) {
            let units = bytes.saturating_sub(least).div_ceil(unit);
            if units <= units_max {
                return Self(scale << 6 | units as u8);
            }
        }
        Self(MORE)
    }

    /// What it says, in bytes; of the largest, "more than 2 147 328", one byte more.
    pub fn bytes(self) -> u64 {
        let (least, unit) = SCALES[usize::from(self.0 >> 6)];
        match self.0 {
            MORE => QueueSize(MORE - 1).bytes() + 1,
            _ => least + unit * u64::from(self.0 & 63),
        }
    }
}

/// The length of MSDUs of a station that has not sent any: an IP packet of Ethernet's MTU.
const MSDU_UNKNOWN: u32 = 1_500 + sizes::LLC_SNAP;

/// What an EDCAF of an access point knows.
#[derive(Clone, Debug, PartialEq, Default)]
pub(in super::super) struct Reports {
    /// In the order in which they were first heard.
    list: Vec<Report>,
    /// Who was asked last for data, and for a report.
    pub last_served: Option<StationId>,
    pub last_polled: Option<StationId>,
    /// The last exchange but for management was an uplink one.
    pub had_turn: bool,
    /// A BSRP Trigger frame is due although no backlog is known.
    pub is_poll_due: bool,
}

/// What is known of one station.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in super::super) struct Report {
    pub station: StationId,
    /// Bytes that it holds.
    pub backlog: u64,
    /// MPDUs in the last PPDU that brought some, and the bytes of MSDUs in them.
    seen: (u32, u32),
    /// Basic Trigger frames in a row that brought no data of it, though there are some.
    fruitless: u8,
    /// Those of them that it answered: its next MPDU did not fit.
    pub cramped: u8,
    /// Its share of the trigger-based PPDUs, or of what the others had when it became active.
    pub airtime: Duration,
}

impl Reports {
    /// An uplink exchange is wanted.
    pub fn wants(&self) -> bool {
        self.is_poll_due || self.list.iter().any(|report| report.backlog > 0)
    }

    /// Those with a backlog, after the one that was served last in turn; with `by_airtime`, those
    /// first that had least.
    pub fn backlogged(&self, by_airtime: bool) -> Vec<Report> {
        let last = self.list.iter().position(|report| Some(report.station) == self.last_served);
        let (before, after) = self.list.split_at(last.map_or(0, |index| index + 1));
        let ready = |report: &&Report| report.backlog > 0;
        let mut turns: Vec<Report> = after.iter().chain(before).filter(ready).copied().collect();
        if by_airtime {
            turns.sort_by_key(|report| report.airtime);
        }
        turns
    }

    /// `station` said that it holds `backlog`; with MPDUs that were decoded: their number, and
    /// the bytes of MSDUs in them.
    pub fn hear(&mut self, station: StationId, backlog: u64, decoded: (u32, u32)) {
        let active = self.list.iter().filter(|report| report.backlog > 0);
        let least = active.map(|report| report.airtime).min();
        let report = self.report(station);
        if report.backlog == 0 && backlog > 0 {
            report.airtime = report.airtime.max(least.unwrap_or(Duration::ZERO));
        }
        report.backlog = backlog;
        if decoded.0 > 0 {
            report.seen = decoded;
            (report.fruitless, report.cramped) = (0, 0);
        }
    }

    /// A Basic Trigger frame brought no data of `station`, which answered or not; after `most`
    /// in a row it is not asked again until it is heard of.
    pub fn miss(&mut self, station: StationId, is_heard: bool, most: u8) {
        let report = self.report(station);
        if report.backlog == 0 {
            return;
        }
        report.fruitless += 1;
        report.cramped += u8::from(is_heard);
        if report.fruitless >= most {
            (report.fruitless, report.cramped, report.backlog) = (0, 0, 0);
        }
    }

    /// `station` cannot be asked.
    pub fn forget(&mut self, station: StationId) {
        self.report(station).backlog = 0;
    }

    /// Counts airtime of `station`.
    pub fn charge(&mut self, station: StationId, share: Duration) {
        self.report(station).airtime += share;
    }

    fn report(&mut self, station: StationId) -> &mut Report {
        let index = self.list.iter().position(|report| report.station == station);
        let index = index.unwrap_or_else(|| {
            self.list.push(Report {
                station,
                backlog: 0,
                seen: (0, 0),
                fruitless: 0,
                cramped: 0,
                airtime: Duration::ZERO,
            });
            self.list.len() - 1
        });
        &mut self.list[index]
    }
}

impl Report {
    /// The PSDU that takes all of its backlog, if its MPDUs are as long as those of its last
    /// PPDU (or as [`MSDU_UNKNOWN`]), at most `bytes_max`. At least one of them fits, however long it is.
    pub fn psdu_bytes(&self, bytes_max: u32) -> u32 {
        let (mpdus, bytes) = match self.seen {
            (0, _) => (1, MSDU_UNKNOWN),
            seen => seen,
        };
        let mean = u64::from(bytes.div_ceil(mpdus)).min(self.backlog).max(1);
        let around = sizes::QOS_DATA_HEADER + sizes::FCS;
        let subframe = sizes::ampdu_subframe(mean as u32 + around, 0);
        let all = self.backlog.div_ceil(mean).saturating_mul(u64::from(subframe));
        all.min(u64::from(bytes_max)) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// 9.2.4.5.6 by hand: where one scale ends and the next begins.
    #[test]
    fn queue_sizes_of_the_standard() {
        for (bytes, scale, units) in [
            (0, 0, 0),
            (1, 0, 1),
            (16, 0, 1),
            (17, 0, 2),
            (1_008, 0, 63),
            (1_009, 1, 0),
            (1_025, 1, 1),
            (17_152, 1, 63),
            (17_153, 2, 0),
            (146_432, 2, 63),
            (146_433, 3, 0),
            (148_481, 3, 1),
            (2_147_328, 3, 61),
            (2_147_329, 3, 62),
            (u64::MAX, 3, 62),
        ] {
            assert_eq!(QueueSize::of(bytes), QueueSize(scale << 6 | units), "{bytes}");
        }
    }

    proptest! {
        /// No size is understated, nor overstated by more than a unit of its scale.
        #[test]
        fn queue_sizes_are_rounded_up(bytes in 0u64..2_147_328) {
            let said = QueueSize::of(bytes).bytes();
            prop_assert!(said >= bytes);
            let unit = match said { 0..=1_008 => 16, 1_009..=17_152 => 256, 17_153..=146_432 => 2_048, _ => 32_768 };
            prop_assert!(said - bytes < unit, "{} {}", bytes, said);
        }

        /// Whatever MSDUs a station has, the longest of them fits into the PSDU it is asked for.
        #[test]
        fn some_mpdu_fits(msdus in proptest::collection::vec(9u32..2_304, 1..50), seen in (0u32..64, 1u32..100_000)) {
            let held: u64 = msdus.iter().map(|&bytes| u64::from(bytes)).sum();
            let mut reports = Reports::default();
            reports.hear(StationId(1), QueueSize::of(held).bytes(), seen);
            let report = reports.backlogged(false)[0];
            let longest = msdus.iter().max().expect("some");
            let mpdu = longest + sizes::QOS_DATA_HEADER + sizes::FCS;
            prop_assert!(report.psdu_bytes(u32::MAX) >= sizes::AMPDU_DELIMITER + mpdu);
        }
    }
}

//! An access point's knowledge of its stations' queues in one access category, from the Queue Size
//! subfield of QoS Control (IEEE 802.11ax-2021, 9.2.4.5.6) in every QoS Data and QoS Null frame of
//! a station. Sizes are in bytes of MSDUs, with the LLC header.
//!
//! A frame of an A-MPDU reports the backlog after the A-MPDU; of lost MPDUs the access point knows
//! the length. The estimate is therefore the station's backlog less the decoded MPDUs, rounded up.

use crate::mac::sizes;
use crate::station::StationId;
use alloc::vec::Vec;
use lasthop_units::Duration;

/// The Queue Size subfield of an HE station.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cell) struct QueueSizeCode(pub u8);

/// A backlog that a station reported.
pub(in crate::cell) struct Backlog {
    /// Bytes of MSDUs that it still holds.
    pub bytes: u64,
    /// Number of decoded MPDUs that came with the report.
    pub decoded: u32,
    /// Bytes of MSDUs in them.
    pub decoded_bytes: u32,
}

/// Minimum size and unit of each scaling factor (9.2.4.5.6). Six bits count the units.
const SCALES: [(u64, u64); 4] = [(0, 16), (1_024, 256), (17_408, 2_048), (148_480, 32_768)];
/// Highest count of units; in the last scale 62 means "more" and 63 "unknown".
const UNITS_MAX: [u64; 4] = [63, 63, 63, 61];
const MORE: u8 = 3 << 6 | 62;

impl QueueSizeCode {
    /// Returns the subfield for `bytes`, rounded up.
    pub fn new(bytes: u64) -> Self {
        for (scale, (&(least, unit), &units_max)) in (0u8..).zip(SCALES.iter().zip(&UNITS_MAX)) {
            let units = bytes.saturating_sub(least).div_ceil(unit);
            if units <= units_max {
                return Self(scale << 6 | units as u8);
            }
        }
        Self(MORE)
    }

    /// Size in bytes; for the largest, "more than 2 147 328", one byte more.
    pub fn bytes(self) -> u64 {
        let (least, unit) = SCALES[usize::from(self.0 >> 6)];
        match self.0 {
            MORE => QueueSizeCode(MORE - 1).bytes() + 1,
            _ => least + unit * u64::from(self.0 & 63),
        }
    }
}

/// Assumed length of MSDUs of a station that has not sent any: an IP packet of Ethernet's MTU.
const MSDU_UNKNOWN: u32 = 1_500 + sizes::LLC_SNAP;

/// Knowledge of an access point's EDCAF.
#[derive(Clone, Debug, PartialEq, Default)]
pub(in crate::cell) struct Reports {
    /// Reports in the order of their stations' first one.
    list: Vec<BacklogEstimate>,
    /// Station asked last for data, and station asked last for a report.
    pub last_served: Option<StationId>,
    pub last_polled: Option<StationId>,
    /// Whether the last exchange, management apart, was an uplink one.
    pub had_turn: bool,
    /// Whether a BSRP Trigger frame is due although no backlog is known.
    pub is_poll_due: bool,
}

/// Knowledge of one station.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::cell) struct BacklogEstimate {
    pub station: StationId,
    /// Bytes that the station holds.
    pub backlog: u64,
    /// Number of MPDUs in the last PPDU with any, and the bytes of MSDUs in them.
    seen: (u32, u32),
    /// Consecutive Basic Trigger frames without data of the station, although it has a backlog.
    fruitless: u8,
    /// Number of these that it answered, because its next MPDU did not fit.
    pub cramped: u8,
    /// Share of the station in trigger-based PPDUs, or of the others when it became active.
    pub airtime: Duration,
}

impl Reports {
    /// Whether an uplink exchange is wanted.
    pub fn wants(&self) -> bool {
        self.is_poll_due || self.list.iter().any(|report| report.backlog > 0)
    }

    /// Stations with a backlog, in turn after the one served last; with `by_airtime`, those with
    /// the least airtime first.
    pub fn backlogged(&self, by_airtime: bool) -> Vec<BacklogEstimate> {
        let last = self.list.iter().position(|report| Some(report.station) == self.last_served);
        let (before, after) = self.list.split_at(last.map_or(0, |index| index + 1));
        let ready = |report: &&BacklogEstimate| report.backlog > 0;
        let mut turns: Vec<BacklogEstimate> =
            after.iter().chain(before).filter(ready).copied().collect();
        if by_airtime {
            turns.sort_by_key(|report| report.airtime);
        }
        turns
    }

    /// Records a report of `station`.
    pub fn hear(&mut self, station: StationId, heard: &Backlog) {
        let active = self.list.iter().filter(|report| report.backlog > 0);
        let least = active.map(|report| report.airtime).min();
        let report = self.report(station);
        if report.backlog == 0 && heard.bytes > 0 {
            report.airtime = report.airtime.max(least.unwrap_or(Duration::ZERO));
        }
        report.backlog = heard.bytes;
        if heard.decoded > 0 {
            report.seen = (heard.decoded, heard.decoded_bytes);
            (report.fruitless, report.cramped) = (0, 0);
        }
    }

    /// Records a Basic Trigger frame without data of `station`, which answered or not; after `most`
    /// in a row the station is not asked again until its next report.
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

    /// Forgets `station`, which cannot be asked.
    pub fn forget(&mut self, station: StationId) {
        self.report(station).backlog = 0;
    }

    /// Adds airtime of `station`.
    pub fn charge(&mut self, station: StationId, share: Duration) {
        self.report(station).airtime += share;
    }

    fn report(&mut self, station: StationId) -> &mut BacklogEstimate {
        let index = self.list.iter().position(|report| report.station == station);
        let index = index.unwrap_or_else(|| {
            self.list.push(BacklogEstimate {
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

impl BacklogEstimate {
    /// Length of the PSDU that holds the whole backlog, if its MPDUs are as long as those of the
    /// last PPDU (or as [`MSDU_UNKNOWN`]), at most `bytes_max`. At least one of them fits, however
    /// long it is.
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

    /// Queue sizes computed by hand from 9.2.4.5.6: the ends of the scales.
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
            assert_eq!(QueueSizeCode::new(bytes), QueueSizeCode(scale << 6 | units), "{bytes}");
        }
    }

    proptest! {
        /// No size is understated, nor overstated by more than a unit of its scale.
        #[test]
        fn queue_sizes_are_rounded_up(bytes in 0u64..2_147_328) {
            let said = QueueSizeCode::new(bytes).bytes();
            prop_assert!(said >= bytes);
            let unit = match said { 0..=1_008 => 16, 1_009..=17_152 => 256, 17_153..=146_432 => 2_048, _ => 32_768 };
            prop_assert!(said - bytes < unit, "{} {}", bytes, said);
        }

        /// The longest MSDU of a station, whatever its MSDUs are, fits into the solicited PSDU.
        #[test]
        fn some_mpdu_fits(msdus in proptest::collection::vec(9u32..2_304, 1..50), seen in (0u32..64, 1u32..100_000)) {
            let held: u64 = msdus.iter().map(|&bytes| u64::from(bytes)).sum();
            let mut reports = Reports::default();
            let bytes = QueueSizeCode::new(held).bytes();
            let heard = Backlog { bytes, decoded: seen.0, decoded_bytes: seen.1 };
            reports.hear(StationId(1), &heard);
            let report = reports.backlogged(false)[0];
            let longest = msdus.iter().max().expect("some");
            let mpdu = longest + sizes::QOS_DATA_HEADER + sizes::FCS;
            prop_assert!(report.psdu_bytes(u32::MAX) >= sizes::AMPDU_DELIMITER + mpdu);
        }
    }
}

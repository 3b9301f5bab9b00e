//! PPDUs that overlap on the air, as far as a monitor hears both: collisions. Stations that hear
//! each other collide when their backoffs end in the same slot: both begin within it. Stations
//! that do not, also begin in the midst of each other's frames (802.11-2020, annex on hidden
//! stations; 10.3.1).
//!
//! It needs the receiver's own clock (TSFT): a host's times are too coarse.

use super::ppdu::Ppdu;
use super::stations::StationId;
use lasthop_wifi::phy::Band;
use std::collections::BTreeMap;

/// Overlaps by the station that was on the air, and the one that began.
#[derive(Debug, Default)]
pub struct Overlaps {
    /// Those of each pair.
    pub pairs: BTreeMap<(StationId, StationId), Overlap>,
    /// PPDUs of each station that overlapped with another one's.
    pub stations: BTreeMap<StationId, u64>,
    last: Option<Last>,
}

/// Overlaps of two stations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overlap {
    /// Both began in the same slot.
    pub same_slot: u64,
    /// The second began in the midst of the first.
    pub midst: u64,
    /// Numbers of the first and last frame that show one in the midst.
    pub frames: (u64, u64),
}

#[derive(Clone, Copy, Debug)]
struct Last {
    station: StationId,
    frame: u64,
    start_ns: u64,
    end_ns: u64,
}

/// What begins within this time began in the same slot, in ns: a slot of 20 us, and what clocks
/// of whole microseconds may be off.
const SAME_SLOT_NS: u64 = 22_000;
/// Overlaps that are shorter than this are errors of clocks, in ns.
const OVERLAP_MIN_NS: u64 = 4_000;

impl Overlaps {
    pub(super) fn handle_ppdu(&mut self, ppdu: &Ppdu, band: Band) {
        let (Some(rate), Some(tsft_us), Some(station)) =
            (ppdu.rate, ppdu.tsft_us, ppdu.transmitter)
        else {
            return;
        };
        let start_ns = tsft_us.saturating_mul(1_000).saturating_sub(rate.preamble(band).as_nanos());
        let end_ns = start_ns.saturating_add(ppdu.airtime.as_nanos());
        let this = Last { station, frame: ppdu.frames.0, start_ns, end_ns };
        if let Some(last) = self.last.filter(|last| last.station != station) {
            // They are captured in the order in which they end, or in that in which they begin.
            let (first, second) =
                if last.start_ns <= start_ns { (last, this) } else { (this, last) };
            if second.start_ns.saturating_add(OVERLAP_MIN_NS) < first.end_ns
                && first.end_ns.abs_diff(second.end_ns) < 50_000_000
            {
                let pair = self.pairs.entry((first.station, second.station)).or_insert(Overlap {
                    same_slot: 0,
                    midst: 0,
                    frames: (this.frame, this.frame),
                });
                *self.stations.entry(first.station).or_default() += 1;
                *self.stations.entry(second.station).or_default() += 1;
                if second.start_ns - first.start_ns < SAME_SLOT_NS {
                    pair.same_slot += 1;
                } else {
                    if pair.midst == 0 {
                        pair.frames.0 = last.frame;
                    }
                    pair.midst += 1;
                    pair.frames.1 = this.frame;
                }
            }
        }
        // The one that ends later may overlap with what follows.
        if self.last.is_none_or(|last| end_ns >= last.end_ns || last.start_ns > end_ns) {
            self.last = Some(this);
        }
    }
}

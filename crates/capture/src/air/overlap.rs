//! PPDUs that overlap on the air: collisions, if the monitor hears both. Stations that hear each
//! other collide when their backoffs end in the same slot, so both begin within it. Stations that
//! do not hear each other also begin during each other's frames (802.11-2020, annex on hidden
//! stations; 10.3.1).
//!
//! The analysis requires the receiver's clock (TSFT): host times are too coarse.

use super::exchange::is_data;
use super::ppdu::Ppdu;
use super::stations::StationId;
use lasthop_wifi_phy::Band;
use std::collections::BTreeMap;
use std::mem;

/// Overlaps by the station that was on the air, and the station that began.
#[derive(Debug, Default)]
pub struct Overlaps {
    /// Overlaps of each pair.
    pub pairs: BTreeMap<(StationId, StationId), Overlap>,
    /// Data PPDUs of each station that overlapped with another station's; each counts once.
    pub stations: BTreeMap<StationId, u64>,
    last: Option<LastFrame>,
}

/// Overlaps of two stations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overlap {
    /// Overlaps in which both began in the same slot.
    pub same_slot: u64,
    /// Overlaps in which the second began during the first.
    pub midst: u64,
    /// Numbers of the first and last frame of those in `midst`.
    pub frames: (u64, u64),
}

#[derive(Clone, Copy, Debug)]
struct LastFrame {
    station: StationId,
    frame: u64,
    start_ns: u64,
    end_ns: u64,
    /// Whether it carries data for one receiver, and is not yet in [`Overlaps::stations`].
    uncounted: bool,
}

/// Longest distance of two starts in the same slot, in ns: a slot of 20 us, and the error of clocks
/// in whole microseconds.
const SAME_SLOT_NS: u64 = 22_000;
/// Shortest overlap, in ns. Shorter ones are errors of clocks.
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
        let uncounted = ppdu.receiver.is_some() && ppdu.mpdus.iter().any(|it| is_data(it.kind));
        let mut this = LastFrame { station, frame: ppdu.frames.0, start_ns, end_ns, uncounted };
        if let Some(last) = self.last.as_mut().filter(|last| last.station != station) {
            // Packets are captured in the order in which they end, or in which they begin.
            let (first, second) =
                if last.start_ns <= start_ns { (*last, this) } else { (this, *last) };
            if second.start_ns.saturating_add(OVERLAP_MIN_NS) < first.end_ns
                && first.end_ns.abs_diff(second.end_ns) < 50_000_000
            {
                let pair = self.pairs.entry((first.station, second.station)).or_insert(Overlap {
                    same_slot: 0,
                    midst: 0,
                    frames: (this.frame, this.frame),
                });
                for it in [&mut *last, &mut this] {
                    if mem::take(&mut it.uncounted) {
                        *self.stations.entry(it.station).or_default() += 1;
                    }
                }
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
        // The PPDU that ends later may overlap with the next one.
        if self.last.is_none_or(|last| end_ns >= last.end_ns || last.start_ns > end_ns) {
            self.last = Some(this);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::air::ppdu::Mpdu;
    use crate::air::stations::Stations;
    use crate::rate::Rate;
    use lasthop_units::{Duration, MacAddr};
    use lasthop_wifi_wire::Kind;

    /// A PPDU whose PSDU begins at `begin_us`.
    fn ppdu(stations: (StationId, StationId), begin_us: u64, length_us: u64, kind: Kind) -> Ppdu {
        let mpdu = Mpdu {
            number: begin_us,
            kind,
            retry: false,
            power_management: false,
            sequence: None,
            fragment: 0,
            tid: None,
            bytes: 100,
            body_bytes: 70,
        };
        Ppdu {
            frames: (begin_us, begin_us),
            at_ns: (begin_us + length_us) * 1_000,
            transmitter: Some(stations.0),
            receiver: Some(stations.1),
            rate: Some(Rate::legacy(12, false, false)),
            aggregated: false,
            mpdus: vec![mpdu],
            psdu_bytes: 100,
            airtime: Duration::from_micros(length_us),
            signal_dbm: None,
            frequency_mhz: None,
            tsft_us: Some(begin_us),
            last_known: true,
        }
    }

    /// Three frames within one long frame overlap with it three times. The long frame has collided
    /// once, and a frame without data is not a data PPDU.
    #[test]
    fn a_ppdu_counts_once_however_many_overlap_with_it() {
        let mut stations = Stations::default();
        let id = |last| MacAddr([2, 0, 0, 0, 0, last]);
        let [a, b, ap] = [1, 2, 3].map(|last| stations.id_of(id(last)).expect("there is space"));
        let mut overlaps = Overlaps::default();
        let mut send = |from, at, length, kind| {
            overlaps.handle_ppdu(&ppdu((from, ap), at, length, kind), Band::Ghz5);
        };
        send(a, 1_000, 3_000, Kind::QosData);
        send(b, 1_500, 100, Kind::QosData);
        send(b, 2_000, 100, Kind::QosData);
        send(b, 2_500, 100, Kind::PsPoll);
        assert_eq!(overlaps.stations, BTreeMap::from([(a, 1), (b, 2)]));
        assert_eq!(overlaps.pairs[&(a, b)].midst, 3);
    }
}

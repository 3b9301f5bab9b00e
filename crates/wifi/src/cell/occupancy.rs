//! Air time of a station whose exchanges are all alike: TXTIME of the data PPDU and of its response
//! (IEEE 802.11-2020, 15.3.3, 16.3.4, 17.4.3, 19.4.3, 21.4.3; IEEE 802.11ax-2021, 27.4.3), and that
//! of a beacon. Only the time in which a PPDU is on the air counts, as in
//! [`StationStats::airtime`](crate::stats::StationStats::airtime), not the SIFS before a response.
//! Left out: RTS/CTS, A-MSDUs, TXOP limits.

use super::bss;
use super::config::CellConfig;
use crate::air::{Rates, spacing_bytes};
use crate::mac::sizes;
use crate::phy::{PacketPadding, Rate, Timing};
use crate::station::StationId;
use lasthop_units::Duration;

/// A data PPDU and the response to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SteadyExchange {
    /// Packets in the data PPDU, one in each MPDU.
    pub packets: u16,
    /// Duration of the data PPDU.
    pub data: Duration,
    /// Duration of the Ack or Block Ack.
    pub response: Duration,
    /// Mean time without a PPDU in each exchange, while no other station sends: SIFS before the
    /// response, AIFS, and half of the smallest contention window.
    pub gap: Duration,
}

impl SteadyExchange {
    /// Time of an exchange in which a PPDU is on the air.
    pub fn airtime(&self) -> Duration {
        self.data + self.response
    }

    /// Highest possible share of time with a PPDU on the air: that of a single station with one
    /// exchange after the other; above 0 and below 1.
    pub fn busy_max(&self) -> f64 {
        let airtime = self.airtime().as_secs_f64();
        airtime / (airtime + self.gap.as_secs_f64())
    }
}

impl CellConfig {
    /// Returns the exchange of best effort data in which `from` sends packets of `packet_bytes`, IP
    /// header included, at `rate` to a station with the same capabilities. The data PPDU takes as
    /// many packets as fit into `duration_max`, the limits of the standard, and the station's
    /// aggregation, but at least one.
    pub fn steady_exchange(
        &self,
        from: StationId,
        rate: Rate,
        packet_bytes: u16,
        duration_max: Duration,
    ) -> SteadyExchange {
        let station = &self.stations[from.index()];
        let (aggregation, capabilities) = (&station.aggregation, &station.capabilities);
        let mpdu = capabilities.mpdu_overhead() + u32::from(packet_bytes);
        let spaced = spacing_bytes(rate, aggregation.mpdu_start_spacing);
        let subframe = sizes::ampdu_subframe(mpdu, spaced);
        // The last subframe is not padded (9.7.1).
        let psdu = |count: u16| match count {
            1 if !rate.always_aggregates() => mpdu,
            _ => u32::from(count - 1) * subframe + sizes::AMPDU_DELIMITER + mpdu,
        };
        let mut rates = Rates::new(self);
        let longest = duration_max.min(aggregation.ampdu_duration_max);
        let bytes_max = aggregation.ampdu_bytes_max.min(capabilities.ampdu_bytes_max);
        let padding = PacketPadding::None;
        let bytes_max = rates.psdu_within(rate, longest, bytes_max, padding);
        let window = station.block_ack.window.min(capabilities.block_ack_window_max);
        let may_aggregate = capabilities.qos
            && rate.may_aggregate()
            && mpdu <= capabilities.ampdu_mpdu_bytes_max
            && window > 0;
        let most = if may_aggregate { window.min(aggregation.ampdu_frames_max) } else { 1 };
        let packets = (1..=most).rev().find(|count| psdu(*count) <= bytes_max).unwrap_or(1);
        let block_ack = (packets > 1).then_some(window);
        let timing = Timing::new(self.standard, self.band);
        let timing = if self.independent { timing.with_long_slot() } else { timing };
        let access = station.access[lasthop_packet::AccessCategory::BestEffort.index()];
        let backoff = timing.slot * u64::from(access.cw_min) / 2;
        SteadyExchange {
            packets,
            data: rates.ppdu_duration(rate, psdu(packets)),
            response: rates.response(rate, block_ack).duration,
            gap: timing.sifs + timing.aifs(access.aifsn) + backoff,
        }
    }

    /// Duration of a beacon of this access point, at the lowest basic rate.
    pub fn beacon_airtime(&self, access_point: StationId) -> Duration {
        let mut rates = Rates::new(self);
        let lowest = rates.lowest();
        let beacon_bytes = bss::beacon_bytes(self, &self.stations[access_point.index()]);
        rates.ppdu_duration(lowest, beacon_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cell::{Role, StationConfig};
    use crate::phy::{Band, ChannelWidth, GuardInterval, OfdmRate, Standard};
    use lasthop_units::Identity;

    fn cell(standard: Standard, band: Band, rate: Rate) -> CellConfig {
        let station = StationConfig::fixed(Role::AccessPoint, Identity::numbered(0), rate);
        CellConfig::new(standard, band, alloc::vec![station], alloc::vec::Vec::new())
    }

    /// MCS 7 of one stream at 20 MHz has 260 bits a symbol. After 36 us, 16 + 8 * 1538 + 6 bits
    /// take 48 symbols, and 16 + 8 * (9 * 1544 + 1542) + 6 bits take 476. At 24 Mb/s an Ack of 14
    /// bytes lasts 28 us, a Block Ack of 32 bytes 32 us.
    #[test]
    fn by_hand_from_the_clauses() {
        let us = Duration::from_micros;
        let guard_interval = GuardInterval::Long;
        let rate = Rate::Ht { mcs: 7, width: ChannelWidth::Mhz20, guard_interval };
        let cell = cell(Standard::Dot11n, Band::Ghz5, rate);
        let exchange = |duration_max| cell.steady_exchange(StationId(0), rate, 1_500, duration_max);
        let one = exchange(us(0));
        assert_eq!((one.packets, one.data, one.response), (1, us(36 + 4 * 48), us(28)));
        // SIFS 16 us, AIFS 43 us, 7.5 slots of 9 us.
        assert_eq!(one.gap.as_nanos(), 126_500);
        let ten = exchange(us(36 + 4 * 476));
        assert_eq!((ten.packets, ten.data, ten.response), (10, us(36 + 4 * 476), us(32)));
        assert_eq!(exchange(us(36 + 4 * 476 - 1)).packets, 9);
        // aPPDUMaxTime, 5.484 ms, holds 1 362 symbols, and these 44 262 bytes.
        assert_eq!(exchange(us(1_000_000)).packets, 28);
        assert!((ten.busy_max() - 1_972.0 / (1_972.0 + 126.5)).abs() < 1e-12);
        // 174 bytes at 6 Mb/s: 20 us and 59 symbols of 24 bits.
        let beacon = sizes::BEACON + sizes::BEACON_HT;
        let symbols = (16 + 8 * beacon + 6).div_ceil(24);
        assert_eq!(cell.beacon_airtime(StationId(0)), us(20 + 4 * u64::from(symbols)));
    }

    /// Before 802.11n there is no aggregation: 17.4.3.
    #[test]
    fn without_block_ack_there_is_one_packet() {
        let rate = Rate::Ofdm(OfdmRate::Mbps54);
        let cell = cell(Standard::Dot11a, Band::Ghz5, rate);
        let one = cell.steady_exchange(StationId(0), rate, 1_464, Duration::from_secs(1));
        let us = Duration::from_micros;
        assert_eq!((one.packets, one.data, one.response), (1, us(244), us(28)));
    }
}

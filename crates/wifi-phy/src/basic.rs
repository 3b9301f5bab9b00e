//! Basic rates, and the rate of control responses (IEEE 802.11-2020, 10.6.6.5.2
//! and 10.6.11).
//!
//! The rate of a response is the highest basic rate of the same modulation class that is no faster
//! than the frame it answers (an HT, VHT, HE or EHT frame counts as its non-HT reference rate). DSSS and
//! CCK answer DSSS and CCK, OFDM answers OFDM and later PHYs. Without such a basic rate, the
//! highest mandatory rate is used. HT responses are left out: Ack, Block Ack and CTS are non-HT.
//! Only the response to an HE extended range PPDU is another such PPDU, of the lowest MCS on the
//! same tones, so that it has the same range (IEEE 802.11ax-2021, 10.6.6; the text was not seen).

use super::{Band, DsssRate, OfdmRate, Preamble, Rate, Standard};
use alloc::vec::Vec;

/// Rates that are mandatory in every OFDM PHY (17.3.4.1).
const MANDATORY_OFDM: [OfdmRate; 3] = [OfdmRate::Mbps6, OfdmRate::Mbps12, OfdmRate::Mbps24];
/// Rates that are mandatory in the original DSSS PHY (15.1), and basic at most access points.
const MANDATORY_DSSS: [DsssRate; 2] = [DsssRate::Mbps1, DsssRate::Mbps2];

/// The basic rate set of a cell.
///
/// ```
/// use lasthop_wifi_phy::{Band, ControlRates, OfdmRate, Rate, Standard};
///
/// // The highest basic rate that is not above that of the frame.
/// let rates = ControlRates::for_standard(Standard::Dot11a, Band::Ghz5);
/// let response = rates.response(Rate::Ofdm(OfdmRate::Mbps54));
/// assert_eq!(response, Rate::Ofdm(OfdmRate::Mbps24));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlRates {
    /// BSSBasicRateSet in any order; at least one rate, none of them HT. A DSSS response has the
    /// preamble of the frame that it answers, independent of the preambles here.
    pub basic: Vec<Rate>,
}

impl ControlRates {
    /// Returns the default set: 1 and 2 Mb/s (802.11b); 1, 2, 6, 12 and 24 (802.11g, and 802.11n,
    /// ax and be at 2.4 GHz); 6, 12 and 24 (802.11a and ac, 802.11n, ax and be elsewhere).
    pub fn for_standard(standard: Standard, band: Band) -> Self {
        let dsss = MANDATORY_DSSS.map(|rate| Rate::Dsss { rate, preamble: Preamble::Long });
        let mut basic = Vec::new();
        match (standard, band) {
            (Standard::Dot11b, _) => basic.extend(dsss),
            (Standard::Dot11g, _)
            | (Standard::Dot11n | Standard::Dot11ax | Standard::Dot11be, Band::Ghz2_4) => {
                basic.extend(dsss);
                basic.extend(MANDATORY_OFDM.map(Rate::ErpOfdm));
            }
            (Standard::Dot11a | Standard::Dot11ac, _)
            | (Standard::Dot11n | Standard::Dot11ax | Standard::Dot11be, Band::Ghz5 | Band::Ghz6) =>
            {
                basic.extend(MANDATORY_OFDM.map(Rate::Ofdm));
            }
        }
        Self { basic }
    }

    /// Rate of the Ack, Block Ack or CTS that answers a frame sent at `data`.
    #[inline]
    pub fn response(&self, data: Rate) -> Rate {
        if let Rate::HeExtendedRange { tones, guard_interval, dcm, .. } = data {
            return Rate::HeExtendedRange { mcs: 0, tones, guard_interval, dcm };
        }
        let limit = data.non_ht_reference();
        let highest = |rates: &mut dyn Iterator<Item = Rate>| {
            rates
                .filter(|rate| {
                    rate.is_dsss() == limit.is_dsss() && rate.bitrate() <= limit.bitrate()
                })
                .max_by_key(|rate| rate.bitrate())
        };
        let response = highest(&mut self.basic.iter().copied())
            .or_else(|| highest(&mut self.mandatory(data)))
            .unwrap_or(limit);
        match (response, data) {
            (Rate::Dsss { rate, .. }, Rate::Dsss { preamble, .. }) => Rate::Dsss { rate, preamble },
            _ => response,
        }
    }

    /// The slowest basic rate, used for beacons and group-addressed frames.
    ///
    /// # Panics
    ///
    /// Panics if the set is empty.
    #[inline]
    pub fn lowest(&self) -> Rate {
        let lowest = self.basic.iter().copied().min_by_key(|rate| rate.bitrate());
        lowest.expect("a basic rate set has at least one rate")
    }

    /// Mandatory rates of the modulation class that answers `data`.
    fn mandatory(&self, data: Rate) -> impl Iterator<Item = Rate> {
        let erp = match data {
            Rate::ErpOfdm(_) => true,
            Rate::Ht { .. }
            | Rate::Vht { .. }
            | Rate::He { .. }
            | Rate::HeExtendedRange { .. }
            | Rate::Eht { .. } => !self.basic.iter().any(|rate| matches!(rate, Rate::Ofdm(_))),
            _ => false,
        };
        let dsss = MANDATORY_DSSS.map(|rate| Rate::Dsss { rate, preamble: Preamble::Long });
        let ofdm = MANDATORY_OFDM.map(if erp { Rate::ErpOfdm } else { Rate::Ofdm });
        dsss.into_iter().chain(ofdm)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ChannelWidth, GuardInterval};
    use alloc::string::ToString;
    use alloc::vec;

    fn ht(mcs: u8) -> Rate {
        Rate::Ht { mcs, width: ChannelWidth::Mhz40, guard_interval: GuardInterval::Short }
    }

    fn cck(preamble: Preamble) -> Rate {
        Rate::Dsss { rate: DsssRate::Mbps11, preamble }
    }

    #[test]
    fn responses_that_ns3_sends() {
        let n = ControlRates::for_standard(Standard::Dot11n, Band::Ghz5);
        for (mcs, mbps) in
            [(1, 12), (3, 24), (5, 24), (7, 24), (9, 12), (11, 24), (13, 24), (15, 24)]
        {
            let response = n.response(ht(mcs));
            assert!(matches!(response, Rate::Ofdm(_)));
            assert_eq!(response.bitrate().as_bps(), mbps * 1_000_000, "MCS {mcs}");
        }
        let b = ControlRates::for_standard(Standard::Dot11b, Band::Ghz2_4);
        let g = ControlRates::for_standard(Standard::Dot11g, Band::Ghz2_4);
        assert_eq!(b.response(cck(Preamble::Long)).to_string(), "2Mb/s");
        assert_eq!(g.response(cck(Preamble::Long)).to_string(), "2Mb/s");
        let fastest = Rate::ErpOfdm(OfdmRate::Mbps54);
        assert_eq!(g.response(fastest), Rate::ErpOfdm(OfdmRate::Mbps24));
    }

    #[test]
    fn a_dsss_response_has_the_preamble_of_its_frame() {
        let g = ControlRates::for_standard(Standard::Dot11g, Band::Ghz2_4);
        assert_eq!(g.response(cck(Preamble::Short)).to_string(), "2Mb/s/short");
    }

    #[test]
    fn mandatory_rates_where_no_basic_rate_fits() {
        let only_dsss = ControlRates { basic: vec![cck(Preamble::Long)] };
        let slow = Rate::Dsss { rate: DsssRate::Mbps2, preamble: Preamble::Long };
        assert_eq!(only_dsss.response(slow), slow);
        assert_eq!(only_dsss.response(ht(7)), Rate::ErpOfdm(OfdmRate::Mbps24));
        let only_fast = ControlRates { basic: vec![Rate::Ofdm(OfdmRate::Mbps24)] };
        assert_eq!(only_fast.response(ht(2)), Rate::Ofdm(OfdmRate::Mbps12));
        assert_eq!(only_fast.response(Rate::Ofdm(OfdmRate::Mbps9)), Rate::Ofdm(OfdmRate::Mbps6));
    }

    #[test]
    fn lowest_rates() {
        let lowest =
            |standard, band| ControlRates::for_standard(standard, band).lowest().to_string();
        assert_eq!(lowest(Standard::Dot11g, Band::Ghz2_4), "1Mb/s");
        assert_eq!(lowest(Standard::Dot11n, Band::Ghz5), "6Mb/s");
    }
}

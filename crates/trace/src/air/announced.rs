//! What beacons and probes announce: the elements of an access point, and those of a station
//! that asks (IEEE 802.11-2020, tables 9-32 and 9-38). Left out: ERP information, HT operation,
//! and what 802.11ac and ax add.

use super::AirInfo;
use lasthop_wifi::phy::{Band, ChannelWidth, GuardInterval, Rate};
use lasthop_wifi::wire::elements::{self, HtCapabilities};

/// Returns the elements of a beacon in the order of table 9-32: SSID, rates and channel
/// before the TIM; HT capabilities and extended rates after it.
pub(super) fn beacon_elements(info: &AirInfo) -> [Vec<u8>; 2] {
    const SSID_BYTES_MAX: usize = 32;
    let ssid = info.ssid.as_bytes();
    let ssid = &ssid[..ssid.len().min(SSID_BYTES_MAX)];
    let rates = rate_octets(info);
    let (supported, extended) = rates.split_at(rates.len().min(SUPPORTED_RATES_MAX));
    let mut before = vec![elements::Repr::Ssid(ssid), elements::Repr::SupportedRates(supported)];
    if info.band == Band::Ghz2_4 {
        before.push(elements::Repr::DsssParameterSet { channel: info.channel });
    }
    let mut behind: Vec<_> =
        ht_capabilities(&info.rates).map(elements::Repr::HtCapabilities).into_iter().collect();
    if !extended.is_empty() {
        behind.push(elements::Repr::ExtendedSupportedRates(extended));
    }
    [before, behind].map(|list| octets(&list))
}

/// Returns the elements of a Probe Request (table 9-38): a wildcard SSID, and rates.
pub(super) fn probe_elements(info: &AirInfo) -> Vec<u8> {
    let rates = rate_octets(info);
    let (supported, extended) = rates.split_at(rates.len().min(SUPPORTED_RATES_MAX));
    let mut list = vec![elements::Repr::Ssid(&[]), elements::Repr::SupportedRates(supported)];
    if !extended.is_empty() {
        list.push(elements::Repr::ExtendedSupportedRates(extended));
    }
    list.extend(ht_capabilities(&info.rates).map(elements::Repr::HtCapabilities));
    octets(&list)
}

/// Number of rates in a Supported Rates element at most (9.4.2.3).
const SUPPORTED_RATES_MAX: usize = 8;

fn rate_octets(info: &AirInfo) -> Vec<u8> {
    const BASIC: u8 = 0x80;
    // Basic rates are always included: they are supported whatever rate control uses
    // for data, and the element must not be empty.
    let others =
        info.rates.iter().filter(|rate| !rate.may_aggregate() && !info.basic_rates.contains(rate));
    let half_mbps = |rate: &Rate| (rate.bitrate().as_bps() / 500_000) as u8;
    let mut rates: Vec<u8> = info.basic_rates.iter().map(|rate| half_mbps(rate) | BASIC).collect();
    rates.extend(others.map(half_mbps));
    rates.sort_unstable_by_key(|rate| rate & !BASIC);
    rates
}

fn octets(list: &[elements::Repr<'_>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for element in list {
        element.emit(&mut bytes).expect("SSID and rates are cut to what fits");
    }
    bytes
}

fn ht_capabilities(rates: &[Rate]) -> Option<HtCapabilities> {
    let mut capabilities = HtCapabilities {
        information: HtCapabilities::AMSDU_7935,
        // A-MPDUs of up to 65 535 bytes; no minimum spacing.
        ampdu_parameters: 3,
        ..HtCapabilities::default()
    };
    let mut any = false;
    for rate in rates {
        let Rate::Ht { mcs, width, guard_interval } = *rate else { continue };
        any = true;
        capabilities.mcs_set[usize::from(mcs / 8)] |= 1 << (mcs % 8);
        capabilities.information |= match (width, guard_interval) {
            (ChannelWidth::Mhz20, GuardInterval::Long) => 0,
            (ChannelWidth::Mhz20, GuardInterval::Short) => {
                HtCapabilities::SHORT_GUARD_INTERVAL_20_MHZ
            }
            (ChannelWidth::Mhz40, GuardInterval::Long) => HtCapabilities::WIDTH_40_MHZ,
            (ChannelWidth::Mhz40, GuardInterval::Short) => {
                HtCapabilities::WIDTH_40_MHZ | HtCapabilities::SHORT_GUARD_INTERVAL_40_MHZ
            }
            (ChannelWidth::Mhz80 | ChannelWidth::Mhz160, _) => {
                unreachable!("HT has 20 and 40 MHz")
            }
        };
    }
    any.then_some(capabilities)
}

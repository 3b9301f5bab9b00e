//! Feeds any bytes as the kernel's answers on Wi-Fi and queueing disciplines: netlink messages, and
//! files of debugfs and procfs. No panic, and the output is bounded by the input.
#![no_main]

use lasthop_doctor::{nl80211, qdisc, text};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let _ = (nl80211::family(data), nl80211::power_save(data), qdisc::qdisc(data));
    if let Some(interface) = nl80211::interface(data) {
        assert!(interface.name.len() <= 3 * data.len());
    }
    if let Some(station) = nl80211::station(data) {
        assert_eq!(station.address.len(), "02:00:00:00:00:00".len());
        for rate in [station.tx_rate, station.rx_rate].into_iter().flatten() {
            assert!(rate.mbps > 0.0 && rate.mbps.is_finite());
        }
    }
    // The two halves may be of one radio, or of two.
    let (first, second) = data.split_at(data.len() / 2);
    let radios = nl80211::radios([data, first, second]);
    assert!(radios.len() <= 3 && radios.is_sorted_by_key(|radio| radio.index));
    let said = String::from_utf8_lossy(data);
    let lines = said.lines().count();
    if let Some(sessions) = text::aggregation(&said) {
        assert!(sessions.tx_tids.len() <= lines && sessions.rx_tids.len() <= lines);
    }
    assert!(text::aql_limits(&said).len() <= lines);
    let _ = (text::station_queue(&said), text::status(&said), text::lists_module(&said, "tun"));
});

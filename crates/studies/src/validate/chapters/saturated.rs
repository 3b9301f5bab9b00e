//! UDP goodput of one station with a saturated downlink, against ns-3: HT rates,
//! lengths, A-MPDU and A-MSDU. Target: within 1 %, with as many MPDUs per PPDU, once
//! the durations of ns-3's PPDUs with short guard interval are corrected.

use super::run_once;
use crate::Verdict;
use crate::table::{Table, is_within, ratio};
use crate::validate::data::{self, UDP_SAT};
use crate::validate::setting::Setting;
use lasthop_wifi::mac::sizes;
use lasthop_wifi::phy::{GuardInterval, Preamble, Rate};

const TARGET: f64 = 0.01;
/// Length in bytes of the longest MPDU in an HT A-MPDU. With A-MPDUs, rows with longer
/// A-MSDUs are not judged.
const AMPDU_MPDU_MAX: u32 = 4_095;

pub(super) fn table() -> Table {
    let rows = data::records(UDP_SAT).into_iter().map(|record| {
        let (ampdu, amsdu) = (record.whole("max_ampdu"), record.whole("max_amsdu"));
        let setting = Setting {
            payload_bytes: record.whole("payload_bytes") as u16,
            ampdu_bytes_max: ampdu,
            amsdu_bytes_max: amsdu as u16,
            queue_packets: record.whole("queue_pkts"),
            ..Setting::new(record.rate(record.flag("sgi"), Preamble::Long))
        };
        let ours = run_once(&setting);
        let (theirs, aggregate) = (record.number("goodput_mbps"), record.number("mpdus_per_ppdu"));
        let rounded = rounded_mbps(&setting, theirs, aggregate);
        let judged = ampdu == 0 || amsdu <= AMPDU_MPDU_MAX;
        let equal = f64::from(ours.mpdus_per_ppdu_median) == aggregate;
        let verdict = if judged {
            Verdict::pass_if(equal && is_within(ours.goodput_mbps, rounded, TARGET))
        } else {
            Verdict::Listed
        };
        let cells = vec![
            setting.rate.to_string(),
            setting.payload_bytes.to_string(),
            ampdu.to_string(),
            amsdu.to_string(),
            ours.mpdus_per_ppdu_median.to_string(),
            format!("{aggregate:.0}"),
            format!("{:.4}", ours.goodput_mbps),
            format!("{theirs:.4}"),
            ratio(ours.goodput_mbps, theirs),
            format!("{rounded:.4}"),
            ratio(ours.goodput_mbps, rounded),
        ];
        (cells, verdict)
    });
    Table {
        title: "One station, saturated",
        text: "UDP downlink to one station, 5 GHz, no losses. Target: goodput within 1 % and as \
               many MPDUs in a PPDU, after a correction of ns-3's PPDUs to the durations of the \
               standard."
            .into(),
        columns: vec![
            "rate",
            "payload",
            "A-MPDU max",
            "A-MSDU max",
            "MPDUs",
            "ns-3",
            "Mb/s",
            "ns-3",
            "ratio",
            "ns-3 rounded",
            "ratio",
        ],
        rows: rows.collect(),
        notes: vec![
            "*ns-3 rounded*: with the short guard interval ns-3 ends a PPDU on a multiple of 3.6 \
             us; the standard rounds the data part up to a multiple of 4 us (IEEE 802.11-2020, \
             19.4.3). The correction adds the difference, known to the nanosecond, to each of \
             ns-3's exchanges. Without aggregation it is up to 1.4 % of an exchange."
                .into(),
            "*Listed*: ns-3 sends A-MSDUs of up to 7 935 bytes inside A-MPDUs. The length field of \
             an HT delimiter has 12 bits, so an MPDU there has at most 4 095 bytes (IEEE \
             802.11-2020, 9.7.1 and 10.12.6): ours contain two packets of 1 500 bytes. The same \
             A-MSDUs without A-MPDU follow the standard and are judged."
                .into(),
        ],
    }
}

/// Returns ns-3's goodput in Mb/s, as if its PPDUs with short guard interval had the
/// duration of the standard.
fn rounded_mbps(setting: &Setting, theirs: f64, aggregate: f64) -> f64 {
    /// Duration in nanoseconds of a symbol with short guard interval.
    const SHORT_SYMBOL: u64 = 3_600;
    let Rate::Ht { guard_interval: GuardInterval::Short, .. } = setting.rate else { return theirs };
    let packet = u32::from(setting.packet_bytes());
    let mut packets = aggregate;
    let mut psdu = sizes::mpdu(packet, true);
    if setting.amsdu_bytes_max > 0 {
        let subframe = sizes::amsdu_subframe(packet);
        let more = (u32::from(setting.amsdu_bytes_max) - subframe) / sizes::padded(subframe);
        psdu = sizes::QOS_DATA_HEADER + sizes::FCS + more * sizes::padded(subframe) + subframe;
        packets *= f64::from(more + 1);
    }
    if aggregate > 1.0 {
        psdu = aggregate as u32 * sizes::ampdu_subframe(psdu, 0);
    }
    let header = setting.rate.preamble_and_header(setting.band).as_nanos();
    let ours = setting.rate.ppdu_duration(psdu, setting.band).as_nanos() - header;
    let bits =
        16 + 8 * psdu + 6 * if setting.rate.bitrate().as_bps() > 300_000_000 { 2 } else { 1 };
    let symbols = bits.div_ceil(setting.rate.data_bits_per_symbol());
    let longer_us = (ours - u64::from(symbols) * SHORT_SYMBOL) as f64 / 1e3;
    let exchange_bits = packets * f64::from(setting.payload_bytes) * 8.0;
    exchange_bits / (exchange_bits / theirs + longer_us)
}

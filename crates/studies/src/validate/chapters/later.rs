//! 802.11ac and 802.11ax against ns-3: one saturated station, saturated stations in contention,
//! losses at a fixed SNR, and downlink OFDMA. Targets: goodput of one station within 1 % if PPDUs
//! have as many MPDUs as in ns-3, and ns-3's PPDUs are given the durations of the standard; goodput
//! of several stations and of OFDMA within 5 %; losses within 3 %.

use super::{Estimate, SEED, WARMUP, predicted_mbps, run_once};
use crate::Verdict;
use crate::table::{Row, Table, is_within, ratio};
use crate::validate::closed_forms::Counting;
use crate::validate::data::{self, AX_CONTENTION, AX_LOSSY, AX_OFDMA_DL, AX_UDP_SAT, Record};
use crate::validate::setting::{Direction, Place, Setting, SettingMeasured};
use lasthop_units::{Db, Duration, Seed};
use lasthop_wifi::mac::sizes;
use lasthop_wifi::phy::Rate;

const TARGET_SATURATED: f64 = 0.01;
const TARGET_CONTENTION: f64 = 0.05;
const TARGET_LOSSY: f64 = 0.03;
/// Runs as short as ns-3's, to see how much they differ.
const SHORT_RUNS: u64 = 12;
const TARGET_OFDMA: f64 = 0.05;

/// A row of `ax_udp_sat.csv`.
#[derive(Clone, Debug)]
pub struct Saturated {
    /// The setting that was measured.
    pub setting: Setting,
    /// Goodput of ns-3 in Mb/s.
    pub goodput_mbps: f64,
    /// MPDUs in each of ns-3's PPDUs.
    pub mpdus_per_ppdu: u32,
    /// Duration of each of ns-3's PPDUs in microseconds.
    ppdu_us: f64,
    /// From one of its PPDUs to the next, in microseconds.
    exchange_us: f64,
}

/// All rows of one saturated station with 802.11ac or ax.
pub fn saturated() -> Vec<Saturated> {
    saturated_of(AX_UDP_SAT)
}

/// The rows of a file of one saturated station.
pub(super) fn saturated_of(file: &'static str) -> Vec<Saturated> {
    let of = |record: Record| Saturated {
        setting: Setting {
            direction: match record.text("dir") {
                "ul" => Direction::Uplink,
                _ => Direction::Downlink,
            },
            amsdu_bytes_max: record.whole("max_amsdu") as u16,
            rts: record.flag_if_any("rts"),
            ..setting(&record)
        },
        goodput_mbps: record.number("goodput_mbps"),
        mpdus_per_ppdu: record.number("mpdus_per_ppdu") as u32,
        ppdu_us: record.number("ppdu_us_mean"),
        exchange_us: record.number("sim_s") * 1e6 / record.number("data_ppdus"),
    };
    data::records(file).into_iter().map(of).collect()
}

impl Saturated {
    /// ns-3's goodput in Mb/s, as if its PPDUs of `mpdus` MPDUs had the duration of the
    /// standard. The rest of an exchange is ns-3's.
    pub fn corrected_mbps(&self, mpdus: u32) -> f64 {
        let setting = &self.setting;
        let packet = u32::from(setting.packet_bytes());
        if setting.amsdu_bytes_max > 0 {
            // The last A-MSDU of a PPDU is as long as fits: what all of them hold is not known,
            // and what the preambles differ by is.
            let longer_us = self.preamble_longer_us();
            return self.goodput_mbps * self.exchange_us / (self.exchange_us + longer_us);
        }
        let mpdu = sizes::mpdu(packet, true);
        let psdu = (mpdus - 1) * sizes::ampdu_subframe(mpdu, 0) + sizes::AMPDU_DELIMITER + mpdu;
        let ours_us = setting.rate.ppdu_duration(psdu, setting.band).as_micros_f64();
        let bits = f64::from(setting.payload_bytes) * 8.0;
        let beside_us = f64::from(self.mpdus_per_ppdu) * bits / self.goodput_mbps - self.ppdu_us;
        f64::from(mpdus) * bits / (beside_us + ours_us)
    }

    /// Difference between the standard's preamble and ns-3's.
    fn preamble_longer_us(&self) -> f64 {
        match self.setting.rate {
            Rate::Vht { .. } => 4.0,
            Rate::He { streams, guard_interval, .. } => {
                let fields = [1.0, 2.0, 4.0, 4.0, 6.0, 6.0, 8.0, 8.0][usize::from(streams) - 1];
                fields * (guard_interval.training_symbol().as_micros_f64() - 8.0)
            }
            Rate::Eht { .. } => {
                let ours = self.setting.rate.preamble_and_header(self.setting.band);
                ours.as_micros_f64() - preamble_of_ns3_us(self.setting.rate)
            }
            _ => 0.0,
        }
    }
}

/// Duration of the preamble of an EHT PPDU to one user in ns-3, in microseconds: EHT-SIG is
/// HE-SIG-B at MCS 0 to 5, and each EHT-LTF takes 8 us.
pub(super) fn preamble_of_ns3_us(rate: Rate) -> f64 {
    let (mcs, streams) = (usize::from(rate.mcs().unwrap_or(0)), usize::from(rate.streams()));
    let of_20_mhz = (rate.width().as_hz() / 20_000_000) as u32;
    let common = match of_20_mhz {
        1 | 2 => 10 + 8,
        more => 10 + 8 * (more / 2) + 1,
    };
    let in_symbol = [26, 52, 78, 104, 156, 208][mcs.min(5)];
    let signal = f64::from((common + 31_u32).div_ceil(in_symbol)) * 4.0;
    let training = [1.0, 2.0, 4.0, 4.0, 6.0, 6.0, 8.0, 8.0][streams - 1] * 8.0;
    20.0 + 4.0 + 8.0 + signal + 4.0 + training
}

/// Columns that the files share.
pub(super) fn setting(record: &Record) -> Setting {
    let ampdu_bytes_max = record.whole("max_ampdu");
    Setting {
        payload_bytes: record.whole("payload_bytes") as u16,
        ampdu_bytes_max,
        block_ack_window: Some(record.whole("ba_window") as u16),
        queue_packets: record.whole("queue_pkts"),
        ..Setting::new(record.later_rate())
    }
}

/// The rows of a table of one saturated station, by this measurement.
pub(super) fn one_station_rows(
    file: &'static str,
    measure: impl Fn(&Setting) -> SettingMeasured,
) -> Vec<Row> {
    let rows = saturated_of(file).into_iter().map(|theirs| {
        let setting = &theirs.setting;
        let ours = measure(setting);
        let mpdus = ours.mpdus_per_ppdu_median;
        let corrected = theirs.corrected_mbps(mpdus);
        let fits = fitting(setting);
        // The number of ns-3, or the number that fits by the durations of the standard.
        let equal = mpdus == theirs.mpdus_per_ppdu || fits == Some(mpdus);
        let verdict =
            Verdict::pass_if(equal && is_within(ours.goodput_mbps, corrected, TARGET_SATURATED));
        let cells = vec![
            setting.rate.to_string(),
            if setting.direction == Direction::Uplink { "up" } else { "down" }.into(),
            setting.payload_bytes.to_string(),
            setting.ampdu_bytes_max.to_string(),
            setting.amsdu_bytes_max.to_string(),
            mpdus.to_string(),
            theirs.mpdus_per_ppdu.to_string(),
            format!("{:.3}", ours.goodput_mbps),
            format!("{:.3}", theirs.goodput_mbps),
            ratio(ours.goodput_mbps, theirs.goodput_mbps),
            format!("{corrected:.3}"),
            ratio(ours.goodput_mbps, corrected),
        ];
        (cells, verdict)
    });
    rows.collect()
}

/// The columns of a table of one saturated station.
pub(super) const ONE_STATION: [&str; 12] = [
    "rate",
    "to",
    "payload",
    "A-MPDU max",
    "A-MSDU max",
    "MPDUs",
    "ns-3",
    "Mb/s",
    "ns-3",
    "ratio",
    "ns-3 corrected",
    "ratio",
];

pub(super) fn one_station() -> Table {
    Table {
        title: "802.11ac and 802.11ax, one station",
        text: "Saturated UDP to or from one station at 5 GHz, no losses. Target: goodput within 1 \
               % and as many MPDUs in a PPDU, after a correction of ns-3's PPDUs to the durations \
               of the standard."
            .into(),
        columns: ONE_STATION.to_vec(),
        rows: one_station_rows(AX_UDP_SAT, run_once),
        notes: vec![
            "*ns-3 corrected*: ns-3 omits VHT-SIG-B (4 us), does not round VHT's short guard \
             interval up to 4 us, has HE-LTFs of 8 us for every guard interval, and no LDPC. The \
             correction adds the difference, which `crates/wifi-phy/tests/airtime_ax.rs` derives to \
             the nanosecond, to each of ns-3's exchanges. If it moves the longest PPDU across \
             5.484 ms, one MPDU more or less fits; the target is then that number, computed from \
             the durations alone. With A-MSDUs, whose last one is as long as fits, the correction \
             is the difference of the preambles."
                .into(),
        ],
    }
}

/// Number of MPDUs that fit into a PPDU of 5.484 ms, if nothing else limits them.
fn fitting(setting: &Setting) -> Option<u32> {
    let mpdu = match setting.amsdu_bytes_max {
        0 => sizes::mpdu(setting.packet_bytes().into(), true),
        _ => return None,
    };
    let psdu = |n: u32| (n - 1) * sizes::ampdu_subframe(mpdu, 0) + sizes::AMPDU_DELIMITER + mpdu;
    let fits = |n: &u32| {
        psdu(*n) <= setting.ampdu_bytes_max
            && setting.rate.ppdu_duration(psdu(*n), setting.band).as_nanos() <= 5_484_000
    };
    (1..=u32::from(setting.block_ack_window?)).take_while(fits).last()
}

pub(super) fn contention() -> Table {
    let rows = data::records(AX_CONTENTION).into_iter().map(|record| {
        let setting = Setting {
            stations: record.whole("n_sta") as u16,
            direction: Direction::Uplink,
            rts: record.flag("rts"),
            // As with 802.11n: ns-3 hardly applies the limit inside A-MPDUs.
            retry_limit: if record.whole("max_ampdu") > 0 { u8::MAX } else { 7 },
            ..setting(&record)
        };
        let ours = Estimate::measure(&setting, |run| run.goodput_mbps);
        let theirs = record.number("goodput_mbps");
        let form = match setting.ampdu_bytes_max {
            0 => format!("{:.2}", predicted_mbps(&setting, Counting::BusySlotsToo)),
            _ => "-".into(),
        };
        let spread = spread(&setting, Duration::from_secs(record.whole("sim_s").into()));
        let longer = data::longer("contention", &record, &["n_sta", "max_ampdu", "ba_window"]);
        let longer = data::mean(&longer, "goodput_mbps");
        let judge = longer.unwrap_or(theirs);
        let verdict = Verdict::pass_if(is_within(ours.mean, judge, TARGET_CONTENTION));
        let cells = vec![
            setting.stations.to_string(),
            setting.ampdu_bytes_max.to_string(),
            if setting.rts { "yes" } else { "no" }.into(),
            ours.cell(),
            format!("{:.1} %", 100.0 * spread),
            format!("{theirs:.2}"),
            longer.map_or("-".into(), |longer| format!("{longer:.2}")),
            ratio(ours.mean, judge),
            record.text("fairness_jain").into(),
            form,
        ];
        (cells, verdict)
    });
    Table {
        title: "802.11ax, contention",
        text: "n saturated stations on a circle of 1 m around the access point, HE MCS 7, 80 MHz, \
               one stream. Mean of five runs of 10 s. ns-3 has one run of 2 or 3 s; for rows in \
               doubt also *longer* ones, five of 10 s, whose mean is then judged. *Spread*: the \
               standard deviation of our runs of ns-3's length. Target: within 5 %."
            .into(),
        columns: vec![
            "stations",
            "A-MPDU max",
            "RTS",
            "ours",
            "spread",
            "ns-3",
            "longer",
            "ratio",
            "ns-3's fairness",
            "closed form",
        ],
        rows: rows.collect(),
        notes: vec![
            "ns-3's runs are short: a station sends 10 to 40 PPDUs in one, and some hardly any. \
             That alone put our 50 stations with long A-MPDUs 8 % below: of 100 equally short runs \
             of ours, ten had more than its 176.58 Mb/s. Its longer runs have 158 to 172 Mb/s, \
             with all 50 stations sending."
                .into(),
            "Check that all stations send. If the load starts before all stations of ns-3 are \
             associated, some never send, with full queues: of 50 with A-MPDUs of 16 000 bytes (22 \
             associated at the start, all at the end) nine never send, and the goodput is 107.4 \
             Mb/s. If the load starts a second after the last Block Ack agreement all send, with \
             102.6 +- 0.4 (six runs of 6 s). Ours is 102.1."
                .into(),
        ],
    }
}

/// The standard deviation of the goodput of runs of this length, relative to their mean.
pub(super) fn spread(setting: &Setting, duration: Duration) -> f64 {
    spread_of(setting, SHORT_RUNS, WARMUP, duration)
}

/// The same of this number of runs with this warm-up.
pub(super) fn spread_of(setting: &Setting, runs: u64, warmup: Duration, duration: Duration) -> f64 {
    let runs: Vec<f64> = (0..runs)
        .map(|run| setting.run(Seed::new(SEED, run), warmup, duration).goodput_mbps)
        .collect();
    let n = runs.len() as f64;
    let mean = runs.iter().sum::<f64>() / n;
    let squares: f64 = runs.iter().map(|run| (run - mean).powi(2)).sum();
    (squares / (n - 1.0)).sqrt() / mean
}

pub(super) fn lossy() -> Table {
    Table {
        title: "802.11ax, losses",
        text: "Saturated UDP downlink at a fixed SNR. The errors are the share of unacknowledged \
               MPDUs. Target: both within 3 %."
            .into(),
        columns: vec![
            "error model",
            "rate",
            "SNR, dB",
            "A-MPDU max",
            "window",
            "errors",
            "with padding",
            "ns-3",
            "Mb/s",
            "ns-3",
            "ratio",
        ],
        rows: data::records(AX_LOSSY).iter().filter_map(lossy_row).collect(),
        notes: vec![
            "*Table*: ns-3's curves of the convolutional code in steps of 0.25 dB, with straight \
             lines of the PER between them, as ns-3 reads them; those of MCS 11 are Yans'. Left \
             out: rows with two streams, at 80 MHz and with Yans' model. ns-3's streams there see \
             half the bits of an MPDU, and its curves are not those of one stream at 20 MHz."
                .into(),
            "For the rows without A-MPDU, ns-3's figures are those of three runs of 30 s. It \
             applies the error probability of a single MPDU to all bits of its OFDM symbols, tail \
             and padding included. Packets of 1 440, 1 500 and 1 560 bytes, all of eleven symbols \
             of MCS 7, are therefore lost with the same probability, to the last frame (0.3235 and \
             0.3170 in two runs); those of 1 590 bytes, of twelve symbols, with 0.344. Ours: \
             0.299, 0.308, 0.319 and 0.324. The FCS covers the MPDU (IEEE 802.11-2020, 9.2.4.8), \
             so an error after it loses nothing. *With padding*: ours, if those bits counted."
                .into(),
        ],
    }
}

fn lossy_row(record: &Record) -> Option<Row> {
    let model = record.text("error_model");
    let rate = record.later_rate();
    if record.whole("width_mhz") != 20 || rate.streams() != 1 || model == "Yans" {
        return None;
    }
    let setting = Setting {
        place: Place::Equal(Db(record.number("snr_db"))),
        error_model: data::later_error_model(model),
        ..setting(record)
    };
    let goodput = Estimate::measure(&setting, |run| run.goodput_mbps);
    let errors = Estimate::measure(&setting, |run| run.mpdu_error_rate);
    let longer = match setting.ampdu_bytes_max {
        0 => data::longer("lossy", record, &["mode", "max_ampdu", "ba_window"]),
        _ => Vec::new(),
    };
    let mean = |column: &str| data::mean(&longer, column).unwrap_or_else(|| record.number(column));
    let theirs = mean("goodput_mbps");
    let their_errors = (1.0 - mean("acked_mpdus") / mean("data_mpdus")).max(0.0);
    let padded = match setting.ampdu_bytes_max {
        0 => format!("{:.4}", errors_with_padding(&setting, errors.mean)),
        _ => "-".into(),
    };
    let same_errors = (errors.mean - their_errors).abs() <= TARGET_LOSSY * their_errors.max(1e-3);
    let ok = same_errors && is_within(goodput.mean, theirs, TARGET_LOSSY);
    let verdict = Verdict::pass_if(ok);
    let cells = vec![
        model.into(),
        setting.rate.to_string(),
        record.text("snr_db").into(),
        record.text("max_ampdu").into(),
        record.text("ba_window").into(),
        format!("{:.4} +- {:.4}", errors.mean, errors.half_width),
        padded,
        format!("{their_errors:.4}"),
        goodput.cell(),
        format!("{theirs:.3}"),
        ratio(goodput.mean, theirs),
    ];
    Some((cells, verdict))
}

/// The probability that an MPDU is lost if the tail and the padding of its last OFDM symbol can
/// lose it too, from the one without.
fn errors_with_padding(setting: &Setting, errors: f64) -> f64 {
    let mpdu = sizes::mpdu(setting.packet_bytes().into(), true);
    let Setting { rate, band, .. } = *setting;
    let ppdu = rate.ppdu_duration(sizes::AMPDU_DELIMITER + mpdu, band);
    let data = ppdu - rate.preamble_and_header(band);
    let bits = data.as_secs_f64() * rate.bitrate().as_bps() as f64;
    1.0 - (1.0 - errors).powf(bits / (8.0 * f64::from(mpdu)))
}

pub(super) fn ofdma() -> Table {
    let rows = data::records(AX_OFDMA_DL).into_iter().map(|record| {
        let stations = record.whole("n_sta");
        let acknowledgement = match record.text("dl_ack") {
            "BAR" => Some("bar"),
            "MUBAR" => Some("mu-bar"),
            "AGGR" => Some("aggregated"),
            _ => None,
        };
        let setting = Setting {
            stations: stations as u16,
            ofdma: acknowledgement.map(|how| (record.whole("mu_stations") as u8, how)),
            ..setting(&record)
        };
        let ours = run_once(&setting);
        let alone = run_once(&Setting { ofdma: None, ..setting.clone() });
        let theirs = record.number("goodput_mbps");
        let their_mpdus = match setting.ofdma {
            Some(_) => record.number("mu_mpdus") / record.number("mu_psdus"),
            None => record.number("mpdus_per_ppdu"),
        };
        let cells = vec![
            setting.rate.to_string(),
            stations.to_string(),
            setting.payload_bytes.to_string(),
            setting.ampdu_bytes_max.to_string(),
            record.text("ba_window").into(),
            acknowledgement.unwrap_or("alone").into(),
            setting.ofdma.map_or("-".into(), |(most, _)| most.to_string()),
            format!("{:.1}", ours.mpdus_per_ppdu),
            format!("{their_mpdus:.1}"),
            format!("{:.2}", ours.goodput_mbps),
            format!("{theirs:.2}"),
            ratio(ours.goodput_mbps, theirs),
            format!("{:.2}", alone.goodput_mbps),
        ];
        (cells, Verdict::pass_if(is_within(ours.goodput_mbps, theirs, TARGET_OFDMA)))
    });
    Table {
        title: "802.11ax, downlink OFDMA",
        text: "Saturated UDP from the access point to n stations at 5 GHz, one stream, no losses; \
               the sum of their goodput. *Alone*: one station at a time, without OFDMA. Target: \
               goodput within 5 %."
            .into(),
        columns: vec![
            "rate",
            "stations",
            "payload",
            "A-MPDU max",
            "window",
            "acknowledgement",
            "at once",
            "MPDUs a PSDU",
            "ns-3",
            "Mb/s",
            "ns-3",
            "ratio",
            "ours alone",
        ],
        rows: rows.collect(),
        notes: vec![
            "Left out: ns-3's rows with RUs of 106 tones and a window of 256, where it loses Block \
             Acks; a row in which it never serves one of eight stations; and rows with a constant \
             rate, which do not show the capacity."
                .into(),
            "With long A-MPDUs OFDMA reduces the goodput: HE-SIG-B, the Trigger frame and \
             trigger-based PPDUs cost more than they save. With short ones it increases it."
                .into(),
        ],
    }
}

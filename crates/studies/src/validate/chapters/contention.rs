//! Goodput of up to 50 saturated stations, against closed forms (DCF and EDCA) and
//! ns-3, in Mb/s, with the 95 % confidence interval of the model's mean. Target: within
//! 2 %, with A-MPDU within 5 %.

use super::Estimate;
use crate::Verdict;
use crate::table::{Row, Table, is_within, ratio};
use crate::validate::closed_forms::{Contenders, Counting};
use crate::validate::data::{self, CONTENTION, Record, SCALE};
use crate::validate::setting::{Direction, Place, RETRY_LIMIT, Setting};
use lasthop_units::Db;
use lasthop_wifi::mac::sizes;
use lasthop_wifi::phy::{ChannelWidth, ControlRates, GuardInterval, OfdmRate, Preamble, Rate};

/// Largest deviation without A-MPDU, and from closed forms.
const TARGET: f64 = 0.02;
/// Largest deviation with A-MPDU, where versions of ns-3 differ more from each other.
const TARGET_AMPDU: f64 = 0.05;
const STATIONS: [u16; 6] = [1, 2, 5, 10, 20, 50];
/// An SNR in dB that suffices for every rate, equal for all pairs, so that there is no
/// capture.
const EQUAL: Place = Place::Equal(Db(50.0));

/// The parameters of the closed form for a setting without aggregation.
pub fn contenders(setting: &Setting) -> Contenders {
    let timing = setting.timing();
    let rates = ControlRates::for_standard(setting.standard, setting.band);
    let response = rates.response(setting.rate);
    let us = |rate: Rate, bytes| rate.ppdu_duration(bytes, setting.band).as_micros_f64();
    let sifs = timing.sifs.as_micros_f64();
    let aifs = timing.aifs(setting.aifsn()).as_micros_f64();
    let mut mpdu = sizes::mpdu(setting.packet_bytes().into(), setting.is_edca());
    if setting.rate.always_aggregates() {
        mpdu += sizes::AMPDU_DELIMITER;
    }
    let (data, ack) = (us(setting.rate, mpdu), us(response, sizes::ACK));
    let exchange = data + sifs + ack + aifs;
    let rts = us(response, sizes::RTS);
    let (cw_min, cw_max) = setting.contention_windows.unwrap_or((timing.cw_min, timing.cw_max));
    Contenders {
        stations: setting.stations,
        cw_min,
        cw_max,
        retry_limit: RETRY_LIMIT,
        slot_us: timing.slot.as_micros_f64(),
        success_us: if setting.rts {
            rts + sifs + us(response, sizes::CTS) + sifs + exchange
        } else {
            exchange
        },
        collision_us: aifs + if setting.rts { rts } else { data },
        timeout_us: timing.response_timeout(response).as_micros_f64(),
    }
}

/// Returns the goodput in Mb/s that the closed form gives.
pub fn predicted_mbps(setting: &Setting, counting: Counting) -> f64 {
    let exchanges = contenders(setting).solve(counting).exchanges_per_s;
    exchanges * f64::from(setting.payload_bytes) * 8.0 / 1e6
}

pub(super) fn closed_form() -> Table {
    let ht = Rate::Ht { mcs: 7, width: ChannelWidth::Mhz20, guard_interval: GuardInterval::Long };
    let mut rows = Vec::new();
    for (rate, rts) in [
        (Rate::Ofdm(OfdmRate::Mbps54), false),
        (Rate::Ofdm(OfdmRate::Mbps54), true),
        (ht, false),
        (ht, true),
    ] {
        for stations in STATIONS {
            let setting = Setting {
                stations,
                direction: Direction::Uplink,
                place: EQUAL,
                rts,
                beacons: false,
                ..Setting::new(rate)
            };
            let ours = Estimate::measure(&setting, |run| run.goodput_mbps);
            let refined = predicted_mbps(&setting, Counting::IdleSlots);
            let original = predicted_mbps(&setting, Counting::BusySlotsToo);
            let expected = if setting.is_edca() { original } else { refined };
            let cells = vec![
                if setting.is_edca() { "EDCA" } else { "DCF" }.into(),
                if rts { "yes" } else { "no" }.into(),
                stations.to_string(),
                ours.cell(),
                format!("{refined:.3}"),
                ratio(ours.mean, refined),
                format!("{original:.3}"),
                ratio(ours.mean, original),
            ];
            rows.push((cells, Verdict::pass_if(is_within(ours.mean, expected, TARGET))));
        }
    }
    Table {
        title: "Contention against closed forms",
        text: "n saturated stations, 1 472 bytes without aggregation, equal signals between all \
               nodes, no beacons: 54 Mb/s with DCF (AIFSN 2), HT MCS 7 with EDCA (AIFSN 3). Mean \
               of five runs of 10 s with its 95 % confidence interval, in Mb/s. Target: within 2 % \
               of the closed form that counts slots as the access function does: *refined* for \
               DCF, *original* for EDCA."
            .into(),
        columns: vec!["access", "RTS", "stations", "ours", "refined", "ratio", "original", "ratio"],
        rows,
        notes: vec![
            "DCF counts idle slots only (IEEE 802.11-2020, 10.3.4.3). After a busy time, \
             therefore, only the last sender can send at once: the refined model (Tinnirello, \
             Bianchi and Xiao 2010). EDCA also counts at the boundary that ends AIFS (10.23.2.4), \
             once for every busy time, as Bianchi's original model (2000) assumes. Both have the \
             retry limit of 7 and the response timeout."
                .into(),
        ],
    }
}

/// The results of ns-3 for one row.
struct Theirs {
    record: Record,
    /// Goodput in Mb/s of all runs of ns-3 3.37.
    runs: Vec<f64>,
    /// Goodput in Mb/s of the run of ns-3 3.48, if there is one.
    newest: Option<f64>,
    /// Whether that run takes part in the verdict.
    is_newest_sound: bool,
}

/// With A-MPDU and more stations than this, `scale.csv` was measured before all of them
/// were associated.
const ASSOCIATED_AT_ONCE: u32 = 10;

fn theirs(with_ampdu: bool) -> Vec<Theirs> {
    let wanted = |record: &Record| (record.whole("max_ampdu") > 0) == with_ampdu;
    let same = |a: &Record, b: &Record| {
        ["mode", "width_mhz", "max_ampdu", "n_sta"].iter().all(|c| a.text(c) == b.text(c))
    };
    let runs: Vec<_> = data::records(CONTENTION).into_iter().filter(|r| wanted(r)).collect();
    let scale = data::records(SCALE);
    let scale: Vec<_> =
        scale.into_iter().filter(|r| wanted(r) && r.text("label") == "stations").collect();
    let of_build = |build: &'static str| scale.iter().filter(move |r| r.text("build") == build);
    let goodput = |record: &Record| record.number("goodput_mbps");
    of_build("optimised")
        .map(|record| {
            let is_sound = !with_ampdu || record.whole("n_sta") <= ASSOCIATED_AT_ONCE;
            let more = runs.iter().filter(|run| same(run, record)).map(goodput);
            Theirs {
                record: record.clone(),
                runs: more.chain(is_sound.then(|| goodput(record))).collect(),
                newest: of_build("optimised-3.48").find(|r| same(r, record)).map(goodput),
                // Without A-MPDU the versions agree, and 3.48 is only shown.
                is_newest_sound: with_ampdu && is_sound,
            }
        })
        .collect()
}

fn row(theirs: &Theirs, ours: &Setting, target: f64) -> Row {
    let Theirs { runs, newest, is_newest_sound, .. } = theirs;
    let ours = Estimate::measure(ours, |run| run.goodput_mbps);
    let judges: Vec<f64> =
        runs.iter().copied().chain(newest.filter(|_| *is_newest_sound)).collect();
    let mean = judges.iter().sum::<f64>() / judges.len() as f64;
    let listed: Vec<_> = runs.iter().map(|run| format!("{run:.2}")).collect();
    let cells = vec![
        ours.cell(),
        listed.join(", "),
        ratio(ours.mean, mean),
        newest.map_or("-".into(), |newest| format!("{newest:.2}")),
    ];
    (cells, Verdict::pass_if(is_within(ours.mean, mean, target)))
}

fn setting(theirs: &Theirs) -> Setting {
    Setting {
        stations: theirs.record.whole("n_sta") as u16,
        direction: Direction::Uplink,
        ampdu_bytes_max: theirs.record.whole("max_ampdu"),
        ..Setting::new(theirs.record.rate(false, Preamble::Long))
    }
}

pub(super) fn ns3() -> Table {
    let rows = theirs(false).into_iter().map(|theirs| {
        let setting = setting(&theirs);
        let (mut cells, verdict) = row(&theirs, &setting, TARGET);
        cells.insert(0, setting.stations.to_string());
        let equal = Setting { place: EQUAL, ..setting };
        cells.push(format!("{:.2}", predicted_mbps(&equal, Counting::BusySlotsToo)));
        (cells, verdict)
    });
    Table {
        title: "Contention against ns-3",
        text: "n saturated stations on a circle of 1 m around the access point, HT MCS 7, 20 MHz, \
               EDCA, no aggregation. Target: within 2 % of the mean of the runs of ns-3 3.37."
            .into(),
        columns: vec!["stations", "ours", "ns-3 3.37", "ratio", "ns-3 3.48", "closed form"],
        rows: rows.collect(),
        notes: vec![
            "The closed form (Bianchi's with a retry limit) has neither beacons nor capture: on \
             the circle a third party near a colliding sender decodes its header and waits for \
             EIFS, a distant one does not."
                .into(),
        ],
    }
}

pub(super) fn ns3_ampdu() -> Table {
    let rows = theirs(true).into_iter().map(|theirs| {
        let limited = setting(&theirs);
        let (mut cells, verdict) =
            row(&theirs, &Setting { retry_limit: u8::MAX, ..limited.clone() }, TARGET_AMPDU);
        cells.insert(0, limited.stations.to_string());
        cells.insert(1, Estimate::measure(&limited, |run| run.goodput_mbps).cell());
        (cells, verdict)
    });
    Table {
        title: "Contention with A-MPDU against ns-3",
        text: "The same with A-MPDUs of up to 65 535 bytes. ns-3 hardly applies the retry limit \
               inside A-MPDUs (at an error rate of 52 % it gave up 1 of 24 008 MPDUs, without \
               aggregation 88 of 8 525). Our judged figures are therefore those of 255 attempts; \
               those of the default of 7 are shown. Target: within 5 % of the mean of the runs of \
               ns-3 3.37, and of 3.48 where all stations were associated. These are single runs of \
               8 to 10 s, which differ by up to 4 %; with 20 and 50 stations, runs of ns-3 3.37 of \
               20 s."
            .into(),
        columns: vec![
            "stations",
            "ours, 7 attempts",
            "ours, 255",
            "ns-3 3.37",
            "ratio to mean",
            "ns-3 3.48",
        ],
        rows: rows.collect(),
        notes: NOTES_AMPDU.map(String::from).to_vec(),
    }
}

const NOTES_AMPDU: [&str; 2] = [
    "Earlier versions of this table agreed at 20 and 50 stations by accident. ns-3's runs were \
     measured while 17 of 20 and 27 to 29 of 50 stations were associated, and our retry limit of \
     7, which ns-3 hardly applies, cost as much as the missing stations. `scale.csv` still has two \
     of those runs; the run of 3.48 is shown without a verdict.",
    "Later versions had 2 to 4 % less than ns-3 with 20 and 50 stations. ns-3's figures were those \
     of runs of 8 s, one of which had 22.5 MPDUs in a PPDU instead of 28: some stations had no \
     Block Ack agreement. In the runs of 20 s all have one a second before the load starts, all \
     send, and each PPDU has 28 MPDUs. Three runs of 10 s that request agreements when the load \
     starts have 30.4, 31.1 and 30.5 Mb/s with 50 stations. 60 s of ours instead of 10 give 29.87 \
     +- 0.13. Without Block Ack Requests after a missing Block Ack there are 38.0: with so many \
     collisions those requests decide. ns-3 sends 1.35 to 1.39 of them for each PPDU with data.",
];

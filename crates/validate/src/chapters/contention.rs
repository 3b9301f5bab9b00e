//! Many saturated stations: collisions and fair shares.

use super::Estimate;
use crate::closed_forms::{Contenders, Counting};
use crate::data::{self, CONTENTION, Record, SCALE};
use crate::setting::{Direction, Place, Setting};
use crate::table::{Row, Table, Verdict, is_within, ratio};
use lasthop_units::Db;
use lasthop_wifi::mac::sizes;
use lasthop_wifi::phy::{ChannelWidth, ControlRates, GuardInterval, OfdmRate, Preamble, Rate};

/// Without A-MPDU, and against closed forms.
const TARGET: f64 = 0.02;
/// With A-MPDU, where ns-3's own versions differ by more.
const TARGET_AMPDU: f64 = 0.05;
const STATIONS: [u16; 6] = [1, 2, 5, 10, 20, 50];
/// Enough for any rate; nobody captures anybody.
const EQUAL: Place = Place::Equal(Db(50.0));

/// The model of a setting without aggregation.
pub fn contenders(setting: &Setting) -> Contenders {
    let timing = setting.timing();
    let rates = ControlRates::of(setting.standard, setting.band);
    let response = rates.response(setting.rate);
    let us = |rate: Rate, bytes| rate.ppdu_duration(bytes, setting.band).as_micros_f64();
    let sifs = timing.sifs.as_micros_f64();
    let aifs = timing.aifs(setting.aifsn()).as_micros_f64();
    let mpdu = sizes::mpdu(setting.packet_bytes().into(), setting.is_edca());
    let (data, ack) = (us(setting.rate, mpdu), us(response, sizes::ACK));
    let exchange = data + sifs + ack + aifs;
    let rts = us(response, sizes::RTS);
    let (cw_min, cw_max) = setting.contention_windows.unwrap_or((timing.cw_min, timing.cw_max));
    Contenders {
        stations: setting.stations,
        cw_min,
        cw_max,
        retry_limit: 7,
        slot_us: timing.slot.as_micros_f64(),
        success_us: match setting.rts {
            true => rts + sifs + us(response, sizes::CTS) + sifs + exchange,
            false => exchange,
        },
        collision_us: aifs + if setting.rts { rts } else { data },
        timeout_us: timing.response_timeout(response).as_micros_f64(),
    }
}

/// Payload bit rate that the closed form gives.
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
            let ours = Estimate::of(&setting, |run| run.goodput_mbps);
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
            rows.push((cells, Verdict::of(is_within(ours.mean, expected, TARGET))));
        }
    }
    Table {
        title: "Contention against closed forms",
        text: "n saturated stations, 1 472 bytes without aggregation, everybody hears everybody \
               equally well, no beacons: 54 Mb/s with DCF (AIFSN 2), HT MCS 7 with EDCA (AIFSN 3). Mean \
               of five runs of 10 s with its 95 % confidence interval, in Mb/s. Target: within 2 % of \
               the closed form that counts as the access function does: *refined* for DCF, *original* \
               for EDCA."
            .into(),
        columns: vec![
            "access", "RTS", "stations", "ours", "refined", "ratio", "original", "ratio",
        ],
        rows,
        notes: vec![
            "DCF counts idle slots only (IEEE 802.11-2020, 10.3.4.3), so after a busy time nobody but \
             the last sender can send at once: the refined model (Tinnirello, Bianchi and Xiao 2010). \
             EDCA also counts at the boundary that ends AIFS (10.23.2.4), so once for every busy time: \
             that is what Bianchi's original model (2000) assumes. Both have the retry limit of 7 and \
             the response timeout."
                .into(),
        ],
    }
}

/// ns-3's figures for one row.
struct Theirs {
    record: Record,
    /// All runs of 3.37.
    runs: Vec<f64>,
    /// The run of 3.48.
    newest: Option<f64>,
}

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
            let more = runs.iter().filter(|run| same(run, record)).map(goodput);
            Theirs {
                record: record.clone(),
                runs: more.chain([goodput(record)]).collect(),
                newest: of_build("optimised-3.48").find(|r| same(r, record)).map(goodput),
            }
        })
        .collect()
}

fn rows(with_ampdu: bool, target: f64) -> Vec<Row> {
    let row = |theirs: Theirs| {
        let Theirs { record, runs, newest } = theirs;
        let setting = Setting {
            stations: record.whole("n_sta") as u16,
            direction: Direction::Uplink,
            ampdu_bytes_max: record.whole("max_ampdu"),
            ..Setting::new(record.rate(false, Preamble::Long))
        };
        let ours = Estimate::of(&setting, |run| run.goodput_mbps);
        // The versions differ with A-MPDU; without it the newest is only shown.
        let judges: Vec<f64> = runs.iter().copied().chain(newest.filter(|_| with_ampdu)).collect();
        let mean = judges.iter().sum::<f64>() / judges.len() as f64;
        let listed: Vec<_> = runs.iter().map(|run| format!("{run:.2}")).collect();
        let mut cells = vec![
            setting.stations.to_string(),
            ours.cell(),
            listed.join(", "),
            ratio(ours.mean, mean),
            newest.map_or("-".into(), |newest| format!("{newest:.2}")),
        ];
        if !with_ampdu {
            let equal = Setting { place: EQUAL, ..setting };
            cells.push(format!("{:.2}", predicted_mbps(&equal, Counting::BusySlotsToo)));
        }
        (cells, Verdict::of(is_within(ours.mean, mean, target)))
    };
    theirs(with_ampdu).into_iter().map(row).collect()
}

pub(super) fn ns3() -> Table {
    Table {
        title: "Contention against ns-3",
        text: "n saturated stations on a circle of 1 m around the access point, HT MCS 7, 20 MHz, EDCA, \
               no aggregation. Target: within 2 % of the mean of the runs of ns-3 3.37."
            .into(),
        columns: vec!["stations", "ours", "ns-3 3.37", "ratio", "ns-3 3.48", "closed form"],
        rows: rows(false, TARGET),
        notes: vec![
            "The closed form (Bianchi's with a retry limit) knows neither beacons nor capture: on the \
             circle a bystander next to a colliding sender decodes its header and waits for EIFS, one \
             far from it does not."
                .into(),
        ],
    }
}

pub(super) fn ns3_ampdu() -> Table {
    Table {
        title: "Contention with A-MPDU against ns-3",
        text: "The same with A-MPDUs of up to 65 535 bytes. Target: within 5 % of the mean of all \
               runs of ns-3, 3.37 and 3.48: single runs of 10 s, which differ by up to 8.5 %."
            .into(),
        columns: vec!["stations", "ours", "ns-3 3.37", "ratio to mean", "ns-3 3.48"],
        rows: rows(true, TARGET_AMPDU),
        notes: vec![
            "ns-3's run of 3.37 with 50 stations that gave 29.49 Mb/s had 24.95 MPDUs in a PPDU, ours \
             have 28.0 as both have with up to 10 stations: some of its stations sent single MPDUs. \
             The first cause that offers itself, a Block Ack agreement that was not answered in \
             ns-3's time limit, was not proved."
                .into(),
        ],
    }
}

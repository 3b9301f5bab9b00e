//! APQ: known queues as `lasthop apq measure` finds them over real sockets; see
//! [`crate::validate::queues`]. Three tables: capacities, units and disciplines, and conditions
//! for which the method was not designed.

use crate::Verdict;
use crate::table::{Row, Table};
use crate::validate::queues::{FoundQueue, How, Queue, QueueCase, QueueGroup, QueueStore};

/// Largest accepted error of a capacity, in packets ..
const PACKETS_TARGET: f64 = 2.0;
/// .. or as a share of the capacity, with the exact method.
const EXACT_TARGET: f64 = 0.03;
/// The same with the fast method.
const FAST_TARGET: f64 = 0.05;
/// Longest time in seconds that the fast method may take, for queues up to the length
/// below.
const FAST_S_MAX: f64 = 60.0;
/// Longest queue in packets to which that limit applies.
const FAST_PACKETS_MAX: u32 = 350;

pub(super) fn capacities() -> Table {
    let rows = measured(QueueGroup::Capacity).into_iter().flat_map(|(case, found)| {
        found.into_iter().map(move |found| capacity_row(&case, &found)).collect::<Vec<_>>()
    });
    Table {
        title: "APQ, capacities over real sockets",
        text:
            "`lasthop apq measure` on a station and `lasthop apq serve` behind the access point, \
               real sockets over an emulated hop in real time; drop-tail queues with known limits. \
               802.11g at 11 Mb/s sends one packet at a time, 802.11n at MCS 7 sends A-MPDUs. \
               Targets: within 3 % or 2 packets with the exact method, within 5 % or 2 packets \
               with the fast one, in at most 60 s for both packet lengths together if the queue \
               has at most 350 packets. *Equation 1* is the paper's estimate, listed: it uses the \
               median delay. Where a whole A-MPDU leaves at once, the queue admits packets \
               anywhere in its upper part."
                .into(),
        columns: vec![
            "case",
            "bytes",
            "bound",
            "measured",
            "off by",
            "95 %",
            "equation 1",
            "Mb/s",
            "sessions",
            "took, s",
            "doubts",
        ],
        rows: rows.collect(),
        notes: vec![
            "For the exact method this table uses 6 s instead of 60 for each rate, 3 s in steps of \
             1 000 packets/s at MCS 7, and one session of 60 s instead of 30 of 120. `cargo run \
             --release -p lasthop-studies -- apq` measures the missing rows of \
             `crates/studies/data/queues.csv`."
                .into(),
        ],
    }
}

fn capacity_row(case: &QueueCase, found: &FoundQueue) -> Row {
    let Queue::Packets(bound) = case.queue else {
        unreachable!("capacities are of queues with a bound in packets")
    };
    let off = found.capacity_packets.map(|packets| packets - f64::from(bound));
    let share = if case.how == How::Exact { EXACT_TARGET } else { FAST_TARGET };
    let allowed = (share * f64::from(bound)).max(PACKETS_TARGET);
    let is_quick =
        case.how == How::Exact || bound > FAST_PACKETS_MAX || found.measured_s <= FAST_S_MAX;
    let is_right = off.is_some_and(|off| off.abs() <= allowed) && is_quick;
    let cells = vec![
        case.name(),
        found.packet_bytes.to_string(),
        bound.to_string(),
        number(found.capacity_packets, 1),
        off.map_or(String::new(), |off| format!("{off:+.1}")),
        number(found.half_width, 1),
        number(found.equation_1_packets, 1),
        number(found.throughput_mbps, 2),
        found.sessions.to_string(),
        format!("{:.0}", found.measured_s),
        found.doubts.clone(),
    ];
    (cells, Verdict::pass_if(is_right))
}

pub(super) fn kinds() -> Table {
    let rows = measured(QueueGroup::Kind).into_iter().filter_map(|(case, found)| {
        let first = found.into_iter().next()?;
        // A queue managed by delay has no visible limit, so no unit may be reported.
        let is_unit = match case.queue.unit() {
            Some(unit) => first.unit == unit,
            None => first.unit.is_empty() || first.unit == "cannot_tell",
        };
        let is_discipline = first.discipline == case.queue.discipline();
        Some((kind_cells(&case, &first), Verdict::pass_if(is_unit && is_discipline)))
    });
    Table {
        title: "APQ, packets or bytes, and which discipline",
        text: "As above, with the fast method and queues of four kinds. *light*: two other flows \
               of a twentieth of the hop's capacity each, one through the measured queue, one from \
               another station. Target: all right."
            .into(),
        columns: KIND_COLUMNS.to_vec(),
        rows: rows.collect(),
        notes: vec![
            "CoDel and FQ-CoDel limit the delay: the unit of their hard limit, packets or bytes, \
             is invisible, so *cannot tell* is right for them."
                .into(),
        ],
    }
}

pub(super) fn oddities() -> Table {
    let rows = measured(QueueGroup::Odd).into_iter().filter_map(|(case, found)| {
        let first = found.into_iter().next()?;
        let is_sure_of_wrong =
            |said: &str, right: &str| !(said.is_empty() || said == "cannot_tell" || said == right);
        // An odd condition is acceptable if the result is right nevertheless.
        let is_right = matches!((case.queue, first.capacity_packets), (Queue::Packets(bound), Some(packets))
            if (packets - f64::from(bound)).abs() <= FAST_TARGET * f64::from(bound));
        let is_honest = (is_right || !first.doubts.is_empty())
            && !is_sure_of_wrong(&first.unit, case.queue.unit().unwrap_or_default())
            && !is_sure_of_wrong(&first.discipline, case.queue.discipline());
        Some((kind_cells(&case, &first), Verdict::pass_if(is_honest)))
    });
    Table {
        title: "APQ, conditions outside its design",
        text:
            "As above, with a drop-tail queue of 300 packets and a disturbance: a wire of 4 Mb/s \
               with 100 packets before the access point, another flow of half the capacity in the \
               same queue, a station that leaves its channel for 0.1 s twice a second, or fading. \
               Target: the result is right or has a doubt, and unit and discipline are right or \
               *cannot tell*."
                .into(),
        columns: KIND_COLUMNS.to_vec(),
        rows: rows.collect(),
        notes: Vec::new(),
    }
}

const KIND_COLUMNS: [&str; 9] = [
    "case",
    "unit",
    "sure",
    "discipline",
    "sure",
    "driver queue",
    "capacity at the first length",
    "took, s",
    "doubts",
];

fn kind_cells(case: &QueueCase, found: &FoundQueue) -> Vec<String> {
    vec![
        case.name(),
        found.unit.replace('_', " "),
        number(found.unit_confidence, 2),
        found.discipline.replace('_', " "),
        number(found.discipline_confidence, 2),
        number(found.driver_queue_packets, 1),
        number(found.capacity_packets, 1),
        format!("{:.0}", found.measured_s),
        found.doubts.clone(),
    ]
}

/// Returns the cases of a group that were measured, with their results.
fn measured(group: QueueGroup) -> Vec<(QueueCase, Vec<FoundQueue>)> {
    let store = QueueStore::read();
    let cases = QueueCase::all().into_iter().filter(|case| case.group == group);
    cases.map(|case| (case, store.found(&case))).filter(|(_, found)| !found.is_empty()).collect()
}

fn number(value: Option<f64>, digits: usize) -> String {
    value.map_or(String::new(), |value| format!("{value:.digits$}"))
}

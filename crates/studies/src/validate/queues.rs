//! Known queues, measured from outside: the programs `lasthop apq serve` and
//! `lasthop apq measure` on both sides of an emulated hop, over real sockets in real
//! time. Results are stored in `data/queues.csv`.
//!
//! There are three groups of cases: the precision of the capacity; whether unit and
//! discipline are recognised; and conditions for which the method was not designed,
//! under which it must not be confident of a wrong result.

use crate::validate::data::Record;
use crate::validate::kept::Kept;
use lasthop_trace::{ApqDirection, ApqDiscipline, ApqDocument, ApqEstimate, ApqSize, ApqUnit};
use std::io;
use std::path::Path;

/// The columns of `data/queues.csv`, which has one row per case and packet length.
const KEPT: Kept = Kept {
    file: "queues.csv",
    header: "case,packet_bytes,capacity_packets,equation_1_packets,half_width,sessions,\
             throughput_mbps,unit,unit_confidence,discipline,discipline_confidence,\
             driver_queue_packets,measured_s,lateness_p99_9_us,doubts",
};

/// The queue under test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queue {
    /// Drop-tail, limited to a number of packets.
    Packets(u32),
    /// Drop-tail, limited to a number of bytes.
    Bytes(u32),
    /// CoDel with default parameters.
    CoDel,
    /// FQ-CoDel with default parameters.
    FqCoDel,
}

/// The rate of the Wi-Fi hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phy {
    /// 802.11g at 11 Mb/s, without aggregation.
    Cck11,
    /// 802.11n at this MCS, one stream in 20 MHz, with A-MPDUs.
    Ht(u32),
}

/// Other traffic in the cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OtherQueues {
    /// No other traffic.
    None,
    /// A twentieth of the hop's capacity through the queue under test, and as much from
    /// another station.
    Light,
}

/// A condition for which the method was not designed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Oddity {
    /// The bottleneck is a wire of 4 Mb/s with a queue of 100 packets, not the Wi-Fi
    /// hop.
    SlowWire,
    /// Another flow of half the hop's capacity shares the queue under test.
    HeavyTraffic,
    /// The station leaves its channel for about a tenth of a second, twice a second.
    Absences,
    /// The signal fades, and at HT rates Minstrel-HT adapts the rate.
    Fading,
}

/// The method of measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// The fast method: at most 60 s per direction, 120 s for a queue of 1 000 packets.
    Fast,
    /// The algorithms of the paper, shortened: each rate for 6 s at 11 Mb/s, and for
    /// 3 s in steps of 1 000 packets/s at MCS 7; one session, with times scaled by 0.5.
    Exact,
}

/// The purpose of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueGroup {
    /// Precision of the capacity.
    Capacity,
    /// Recognition of unit and discipline.
    Kind,
    /// Conditions for which the method was not designed.
    Odd,
}

/// One measurement of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueCase {
    /// Purpose of the case.
    pub group: QueueGroup,
    /// The queue of the access point and of the station.
    pub queue: Queue,
    /// The rate of the Wi-Fi hop.
    pub phy: Phy,
    /// Whether the station's queue is measured; otherwise the access point's.
    pub is_up: bool,
    /// Other traffic in the cell.
    pub others: OtherQueues,
    /// Condition for which the method was not designed, if any.
    pub oddity: Option<Oddity>,
    /// The method of measurement.
    pub how: How,
}

/// The results with packets of one length; `None` where there is no result.
#[derive(Clone, Debug, PartialEq)]
pub struct FoundQueue {
    /// Length of the IP packets in bytes.
    pub packet_bytes: u32,
    /// Capacity in packets, counted packet by packet.
    pub capacity_packets: Option<f64>,
    /// Capacity in packets by equation 1 of the paper.
    pub equation_1_packets: Option<f64>,
    /// Half the width of the 95 % confidence interval of the capacity, in packets.
    pub half_width: Option<f64>,
    /// Number of sessions.
    pub sessions: u32,
    /// Throughput with a full queue, in Mb/s.
    pub throughput_mbps: Option<f64>,
    /// Unit of the queue's limit: `packets`, `bytes`, `cannot_tell`, or empty if not
    /// determined. Like the discipline, it is a result of all lengths together.
    pub unit: String,
    /// Confidence in the unit, 0 to 1.
    pub unit_confidence: Option<f64>,
    /// The discipline, such as `drop_tail`; empty if not determined.
    pub discipline: String,
    /// Confidence in the discipline, 0 to 1.
    pub discipline_confidence: Option<f64>,
    /// Packets that a queue below the upper one holds.
    pub driver_queue_packets: Option<f64>,
    /// Duration of all phases in seconds, over all lengths.
    pub measured_s: f64,
    /// 99.9th percentile of the emulation's lateness, in microseconds.
    pub lateness_us: f64,
    /// Doubts about the result, in one word each, separated by spaces.
    pub doubts: String,
}

impl Phy {
    /// The name in `queues.csv`, such as `MCS7`.
    pub fn name(self) -> String {
        match self {
            Self::Cck11 => "11Mb/s".into(),
            Self::Ht(mcs) => format!("MCS{mcs}"),
        }
    }

    /// Approximate throughput in kb/s.
    fn capacity_kbps(self) -> u32 {
        match self {
            Self::Cck11 => 8_000,
            Self::Ht(mcs) => {
                [6_000, 12_000, 18_000, 24_000, 36_000, 46_000, 51_000, 57_000][mcs as usize % 8]
            }
        }
    }
}

impl Queue {
    /// The name in `queues.csv`, such as `50p` or `codel`.
    pub fn name(self) -> String {
        match self {
            Self::Packets(packets) => format!("{packets}p"),
            Self::Bytes(bytes) => format!("{bytes}B"),
            Self::CoDel => "codel".into(),
            Self::FqCoDel => "fq-codel".into(),
        }
    }

    fn toml(self) -> String {
        match self {
            Self::Packets(packets) => format!(r#"{{ kind = "drop-tail", packets = {packets} }}"#),
            Self::Bytes(bytes) => format!(r#"{{ kind = "drop-tail", bytes = "{bytes}B" }}"#),
            Self::CoDel => r#"{ kind = "codel" }"#.into(),
            Self::FqCoDel => r#"{ kind = "fq-codel" }"#.into(),
        }
    }

    /// The correct unit of the limit; `None` for CoDel and FQ-CoDel.
    pub fn unit(self) -> Option<&'static str> {
        match self {
            Self::Packets(_) => Some("packets"),
            Self::Bytes(_) => Some("bytes"),
            // A queue managed by delay has no limit that a measurement shows.
            Self::CoDel | Self::FqCoDel => None,
        }
    }

    /// The correct discipline.
    pub fn discipline(self) -> &'static str {
        match self {
            Self::Packets(_) | Self::Bytes(_) => "drop_tail",
            Self::CoDel => "codel",
            Self::FqCoDel => "fq_codel",
        }
    }
}

impl QueueCase {
    /// Returns all cases, group by group.
    pub fn all() -> Vec<Self> {
        let plain = Self {
            group: QueueGroup::Capacity,
            queue: Queue::Packets(50),
            phy: Phy::Cck11,
            is_up: false,
            others: OtherQueues::None,
            oddity: None,
            how: How::Fast,
        };
        let mut all = Vec::new();
        for how in [How::Fast, How::Exact] {
            for packets in [50, 100, 338, 1_000] {
                for phy in [Phy::Cck11, Phy::Ht(7)] {
                    for is_up in [false, true] {
                        all.push(Self { queue: Queue::Packets(packets), phy, is_up, how, ..plain });
                    }
                }
            }
        }
        let queues = [
            [Queue::Packets(80), Queue::Packets(200), Queue::Packets(300)],
            [Queue::Bytes(120_000), Queue::Bytes(300_000), Queue::Bytes(450_000)],
            [Queue::CoDel; 3],
            [Queue::FqCoDel; 3],
        ];
        for [small, middle, large] in queues {
            let hops = [
                (Phy::Cck11, false, small),
                (Phy::Cck11, true, middle),
                (Phy::Ht(7), false, large),
                (Phy::Ht(7), true, middle),
                (Phy::Ht(3), false, small),
            ];
            for (phy, is_up, queue) in hops {
                for others in [OtherQueues::None, OtherQueues::Light] {
                    all.push(Self { group: QueueGroup::Kind, queue, phy, is_up, others, ..plain });
                }
            }
        }
        let oddities = [Oddity::SlowWire, Oddity::HeavyTraffic, Oddity::Absences, Oddity::Fading];
        for oddity in oddities {
            for phy in [Phy::Cck11, Phy::Ht(7)] {
                let queue = Queue::Packets(300);
                all.push(Self {
                    group: QueueGroup::Odd,
                    queue,
                    phy,
                    oddity: Some(oddity),
                    ..plain
                });
            }
        }
        all
    }

    /// The name of the case in `queues.csv`.
    pub fn name(&self) -> String {
        let group = match (self.group, self.how) {
            (QueueGroup::Capacity, How::Fast) => "fast",
            (QueueGroup::Capacity, How::Exact) => "exact",
            (QueueGroup::Kind, _) => "kind",
            (QueueGroup::Odd, _) => "odd",
        };
        let way = if self.is_up { "up" } else { "down" };
        let others = match (self.others, self.oddity) {
            (OtherQueues::Light, _) => " light",
            (_, Some(Oddity::SlowWire)) => " slow-wire",
            (_, Some(Oddity::HeavyTraffic)) => " heavy-traffic",
            (_, Some(Oddity::Absences)) => " absences",
            (_, Some(Oddity::Fading)) => " fading",
            (OtherQueues::None, None) => "",
        };
        format!("{group} {} {} {way}{others}", self.queue.name(), self.phy.name())
    }

    /// Share of this machine that the measurement needs, 0 to 1.
    pub fn load(&self) -> f64 {
        match self.phy {
            Phy::Cck11 => 0.12,
            Phy::Ht(mcs) if mcs < 7 => 0.25,
            Phy::Ht(_) => 0.34,
        }
    }

    /// Arguments of `lasthop apq measure`.
    pub fn arguments(&self) -> Vec<String> {
        let way = if self.is_up { "up" } else { "down" };
        let mut words = vec!["--direction", way, "--yes"];
        match (self.how, self.phy, self.queue) {
            (How::Exact, Phy::Cck11, _) => words.extend(EXACT.iter().chain(&["--dwell", "6s"])),
            (How::Exact, Phy::Ht(_), _) => {
                words.extend(EXACT.iter().chain(&["--dwell", "3s", "--step", "1000"]));
            }
            (How::Fast, _, Queue::Packets(1_000)) => words.extend(["--duration", "120s"]),
            (How::Fast, ..) => {}
        }
        words.into_iter().map(str::to_owned).collect()
    }

    /// The scenario file; `lasthop` is the path of the program, which the server runs.
    pub fn toml(&self, lasthop: &Path) -> String {
        let (channel, rate) = match self.phy {
            Phy::Cck11 => (
                "standard = \"802.11g\"\npreamble = \"short\"",
                r#"{ kind = "fixed", rate = "11Mb/s" }"#.to_owned(),
            ),
            Phy::Ht(mcs) => (
                "standard = \"802.11n\"\nband = \"5GHz\"",
                format!(r#"{{ kind = "fixed", mcs = {mcs} }}"#),
            ),
        };
        let rate = match self.oddity {
            Some(Oddity::Fading) if matches!(self.phy, Phy::Ht(_)) => {
                r#"{ kind = "minstrel-ht" }"#.to_owned()
            }
            _ => rate,
        };
        let wire = match self.oddity {
            Some(Oddity::SlowWire) => "4Mb/s",
            _ => "1Gb/s",
        };
        let mut more = String::new();
        let mut station = String::new();
        if self.oddity == Some(Oddity::Absences) {
            station = "scan = { start = \"1s\", period = \"500ms\", channels = 1 }\n".into();
        }
        let fading = match self.oddity {
            Some(Oddity::Fading) => {
                station = "position = [\"35m\", \"0m\"]\n".into();
                "\n[channel.fading]\nkind = \"rayleigh\"\ndoppler = \"1Hz\"\n"
            }
            _ => "",
        };
        let (from, to) = if self.is_up { ("sta", "server") } else { ("server", "sta") };
        // Small compared with the delay of a queue of 50 packets, 72 ms and 10 ms.
        let lateness_max = match self.phy {
            Phy::Cck11 => "5ms",
            Phy::Ht(_) => "2ms",
        };
        let light_kbps = self.phy.capacity_kbps() / 20;
        let mut flow = |name: &str, from: &str, to: &str, kbps: u32| {
            more.push_str(&format!(
                "\n[[flow]]\nname = \"{name}\"\nfrom = \"{from}\"\nto = \"{to}\"\nkind = \"udp\"\n\
                 rate = \"{kbps}kb/s\"\npacket_bytes = 800\n"
            ));
        };
        if self.others == OtherQueues::Light {
            flow("through", from, to, light_kbps);
            flow("beside", "other", "server", light_kbps);
        }
        if self.oddity == Some(Oddity::HeavyTraffic) {
            flow("through", from, to, self.phy.capacity_kbps() / 2);
        }
        format!(
            r#"name = "queues"
duration = "1h"

[channel]
{channel}
{fading}
[node_defaults]
rate_control = {rate}
queue = {queue}

[[node]]
name = "ap"
role = "access-point"

[[node]]
name = "sta"
role = "station"
{station}
[[node]]
name = "other"
role = "station"
position = ["0m", "4m"]

[[node]]
name = "server"
role = "host"

[[wire]]
between = ["server", "ap"]
rate = "{wire}"
delay = "1ms"
queue = {{ kind = "drop-tail", packets = 100 }}
{more}
[[run]]
node = "server"
command = ["{lasthop}", "apq", "serve"]

[emulation]
lateness_max = "{lateness_max}"
"#,
            queue = self.queue.toml(),
            lasthop = lasthop.display(),
        )
    }
}

/// Arguments for the exact method with fewer sessions and shorter times than in the
/// paper. The rate is just below the default limit of a server.
const EXACT: [&str; 8] =
    ["--method", "exact", "--sessions", "1", "--time-scale", "0.5", "--max-rate", "198Mb/s"];

impl FoundQueue {
    /// Returns the results in a document of `lasthop apq measure`, one per packet
    /// length.
    pub fn all(document: &ApqDocument, lateness_us: f64) -> Vec<Self> {
        let of = |direction: &ApqDirection, size: &ApqSize| {
            let mean = |estimate: &Option<ApqEstimate>| estimate.as_ref().map(|e| e.mean);
            let doubts: Vec<&str> = direction.doubts.iter().map(|d| d.kind.as_str()).collect();
            Self {
                packet_bytes: u32::from(size.packet_bytes),
                capacity_packets: mean(&size.capacity_packets),
                equation_1_packets: mean(&size.equation_1_packets),
                half_width: size.capacity_packets.as_ref().and_then(|e| e.ci95),
                sessions: size.sessions.len() as u32,
                throughput_mbps: mean(&size.throughput_mbps),
                unit: direction.unit.as_ref().map_or("", |unit| word_of_unit(unit.verdict)).into(),
                unit_confidence: direction.unit.as_ref().map(|unit| unit.confidence),
                discipline: direction
                    .discipline
                    .as_ref()
                    .map_or("", |discipline| word_of_discipline(discipline.verdict))
                    .into(),
                discipline_confidence: direction.discipline.as_ref().map(|d| d.confidence),
                driver_queue_packets: mean(&direction.driver_queue_packets),
                measured_s: direction.measured_s,
                lateness_us,
                doubts: doubts.join(" "),
            }
        };
        let of_direction = |direction: &ApqDirection| -> Vec<Self> {
            direction.sizes.iter().map(|size| of(direction, size)).collect()
        };
        document.directions.iter().flat_map(of_direction).collect()
    }

    fn row(&self, case: &QueueCase) -> String {
        let number =
            |value: Option<f64>| value.map_or(String::new(), |value| format!("{value:.3}"));
        [
            case.name(),
            self.packet_bytes.to_string(),
            number(self.capacity_packets),
            number(self.equation_1_packets),
            number(self.half_width),
            self.sessions.to_string(),
            number(self.throughput_mbps),
            self.unit.clone(),
            number(self.unit_confidence),
            self.discipline.clone(),
            number(self.discipline_confidence),
            number(self.driver_queue_packets),
            number(Some(self.measured_s)),
            number(Some(self.lateness_us)),
            self.doubts.clone(),
        ]
        .join(",")
    }

    fn of_record(record: &Record) -> Self {
        let number =
            |name| Some(record.text(name)).filter(|t| !t.is_empty()).map(|_| record.number(name));
        Self {
            packet_bytes: record.whole("packet_bytes"),
            capacity_packets: number("capacity_packets"),
            equation_1_packets: number("equation_1_packets"),
            half_width: number("half_width"),
            sessions: record.whole("sessions"),
            throughput_mbps: number("throughput_mbps"),
            unit: record.text("unit").into(),
            unit_confidence: number("unit_confidence"),
            discipline: record.text("discipline").into(),
            discipline_confidence: number("discipline_confidence"),
            driver_queue_packets: number("driver_queue_packets"),
            measured_s: record.number("measured_s"),
            lateness_us: record.number("lateness_p99_9_us"),
            doubts: record.text("doubts").into(),
        }
    }
}

fn word_of_unit(unit: ApqUnit) -> &'static str {
    match unit {
        ApqUnit::Packets => "packets",
        ApqUnit::Bytes => "bytes",
        ApqUnit::CannotTell => "cannot_tell",
    }
}

fn word_of_discipline(discipline: ApqDiscipline) -> &'static str {
    match discipline {
        ApqDiscipline::DropTail => "drop_tail",
        ApqDiscipline::CoDel => "codel",
        ApqDiscipline::FairDropTail => "fair_drop_tail",
        ApqDiscipline::FqCoDel => "fq_codel",
        ApqDiscipline::CannotTell => "cannot_tell",
    }
}

/// The content of `data/queues.csv`.
#[derive(Clone, Debug)]
pub struct QueueStore {
    records: Vec<Record>,
}

impl QueueStore {
    /// Reads the file; no results if it does not exist.
    ///
    /// # Panics
    /// If the file has lines of a wrong format.
    pub fn read() -> Self {
        Self { records: KEPT.records() }
    }

    /// The results of a case, one per packet length; none if it was not measured.
    pub fn found(&self, case: &QueueCase) -> Vec<FoundQueue> {
        let name = case.name();
        let rows = self.records.iter().filter(|record| record.text("case") == name);
        rows.map(FoundQueue::of_record).collect()
    }

    /// Appends the results of a case.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn append(case: &QueueCase, found: &[FoundQueue]) -> io::Result<()> {
        KEPT.append(&found.iter().map(|found| found.row(case)).collect::<Vec<_>>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_case_has_a_name_and_a_scenario() {
        let all = QueueCase::all();
        let names: BTreeSet<String> = all.iter().map(QueueCase::name).collect();
        assert_eq!(names.len(), all.len());
        let kinds = all.iter().filter(|case| case.group == QueueGroup::Kind).count();
        assert_eq!(kinds, 40);
        for case in all {
            let text = case.toml(Path::new("/usr/bin/lasthop"));
            let scenario = lasthop_scenario::parse("queues.toml", &text, &[])
                .unwrap_or_else(|error| panic!("{}: {error}\n{text}", case.name()));
            assert_eq!(scenario.programs.len(), 1);
        }
    }

    #[test]
    fn what_is_kept_is_read_again() {
        let case = QueueCase::all()[0];
        let found = FoundQueue {
            packet_bytes: 1500,
            capacity_packets: Some(50.25),
            equation_1_packets: None,
            half_width: Some(0.5),
            sessions: 4,
            throughput_mbps: Some(8.125),
            unit: "packets".into(),
            unit_confidence: Some(0.75),
            discipline: "drop_tail".into(),
            discipline_confidence: None,
            driver_queue_packets: None,
            measured_s: 30.5,
            lateness_us: 80.0,
            doubts: "imprecise".into(),
        };
        let text = KEPT.with_header([found.row(&case)]);
        let store = QueueStore { records: crate::validate::data::records(text.leak()) };
        assert_eq!(store.found(&case), [found]);
    }
}

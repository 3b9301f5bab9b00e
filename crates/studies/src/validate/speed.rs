//! User CPU time of a simulated packet, ours and ns-3's, and the kept instructions.
//!
//! ns-3's times are those kept in `scale.csv`, of another machine. If its headers and a C++ compiler
//! are there (Debian: `libns3-dev`, `libgsl-dev`, `pkg-config`, `g++`), the system's ns-3 is measured
//! here, too, in turns with ours. Both leave out the start. Without a verdict: times depend on the
//! machine.

use crate::Verdict;
use crate::table::Table;
use crate::validate::data::{self, Record, SCALE};
use crate::validate::instructions;
use lasthop_fixtures::workloads;
use nix::sys::resource::{UsageWho, getrusage};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The workloads that `ns3/speed.cc` has, too.
pub const NS3_WORKLOADS: [&str; 5] = [
    workloads::UDP_AMPDU,
    workloads::UDP_SINGLE,
    workloads::UDP_FIFTY,
    workloads::UDP_FIFTY_AMPDU,
    workloads::TCP_DOWN,
];

/// Virtual time of our short run in ms: it covers the start.
const SHORT_MS: u64 = 1_000;

/// Virtual time of ns-3 in seconds.
const NS3_SECONDS: &str = "1";
const NS3_MODULES: [&str; 6] = [
    "ns3-wifi",
    "ns3-internet",
    "ns3-applications",
    "ns3-point-to-point",
    "ns3-mobility",
    "ns3-traffic-control",
];

/// Builds of ns-3 in `scale.csv`, in the order of their columns.
const NS3_BUILDS: [&str; 2] = ["optimised", "optimised-3.48"];

/// CPU time of a packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SpeedCost {
    /// Packets that reached the end of their flow in a second of virtual time.
    pub packets: f64,
    /// User CPU time of each of them in microseconds.
    pub us: f64,
}

/// One workload, measured in turns.
#[derive(Clone, Debug, PartialEq)]
pub struct Speed {
    /// Name of the workload.
    pub workload: &'static str,
    /// Times by run.
    pub ours: Vec<SpeedCost>,
    /// By run; none if there is no ns-3.
    pub ns3: Vec<SpeedCost>,
}

/// Virtual time of our long run in ms: long enough for clocks of user time that tick.
fn long_ms(workload: &str) -> u64 {
    if workload == workloads::UDP_TWENTY_SETS { 21_000 } else { 301_000 }
}

/// Compiles the workloads for the system's ns-3 into `folder`; returns the program and ns-3's
/// version.
///
/// # Errors
/// What the system lacks.
pub fn compile_ns3(folder: &Path) -> io::Result<(PathBuf, String)> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("ns3/speed.cc");
    let program = folder.join("ns3-speed");
    let said = |arguments: &[&str]| -> io::Result<String> {
        output(Command::new("pkg-config").args(arguments).args(NS3_MODULES))
    };
    let version = said(&["--modversion"])?.lines().next().unwrap_or_default().to_owned();
    let flags = said(&["--cflags", "--libs"])?;
    let mut compile = Command::new("c++");
    compile.args(["-O2", "-std=c++17", "-o"]).arg(&program).arg(source);
    output(compile.args(flags.split_whitespace()))?;
    Ok((program, version))
}

/// Returns the output of a command.
fn output(command: &mut Command) -> io::Result<String> {
    let output = command.stdin(Stdio::null()).output();
    let program = command.get_program().display();
    let output = output.map_err(|why| io::Error::other(format!("{program}: {why}")))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let line = said.lines().last().unwrap_or("it says nothing");
        return Err(io::Error::other(format!("{program}: {line}")));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// One run of ours, by `program`, this one.
///
/// # Errors
/// If it cannot be run.
pub fn run_ours(program: &Path, workload: &str) -> io::Result<SpeedCost> {
    let run = |ms: u64| -> io::Result<(f64, f64)> {
        let before = children_us();
        let packets = output(Command::new(program).args(["work", workload, &ms.to_string()]))?;
        let packets = packets.trim().parse().map_err(io::Error::other)?;
        Ok((packets, children_us() - before))
    };
    let long_ms = long_ms(workload);
    let [short, long] = [run(SHORT_MS)?, run(long_ms)?];
    let packets = long.0 - short.0;
    let seconds = (long_ms - SHORT_MS) as f64 / 1e3;
    Ok(SpeedCost { packets: packets / seconds, us: (long.1 - short.1) / packets })
}

/// One run of ns-3's, by what [`compile_ns3`] made.
///
/// # Errors
/// If it cannot be run, or says something else than expected.
pub fn run_ns3(program: &Path, workload: &str) -> io::Result<SpeedCost> {
    let said = output(Command::new(program).args([workload, NS3_SECONDS]))?;
    parse_ns3(&said).ok_or_else(|| io::Error::other(format!("ns-3 said {said:?}")))
}

/// Packets of a second and their user time in microseconds.
fn parse_ns3(said: &str) -> Option<SpeedCost> {
    let (packets, us) = said.trim().split_once(' ')?;
    let [packets, us]: [f64; 2] = [packets.parse().ok()?, us.parse().ok()?];
    (packets > 0.0).then(|| SpeedCost { packets, us: us / packets })
}

/// User time of the processes that ended, in microseconds.
fn children_us() -> f64 {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).expect("a process can always ask for it");
    let time = usage.user_time();
    time.tv_sec() as f64 * 1e6 + time.tv_usec() as f64
}

/// The workloads as a table; `ns3` is its version, or why there is none.
pub fn table(speeds: &[Speed], ns3: Result<&str, &str>) -> Table {
    let instructions = instructions::kept();
    let scale = data::records(SCALE);
    let is_measured = ns3.is_ok();
    let rows = speeds.iter().map(|speed| {
        let count = instructions.iter().find(|(workload, _)| workload == speed.workload);
        let [ours, here] = [&speed.ours, &speed.ns3].map(|runs| median(runs));
        let kept = NS3_BUILDS.map(|build| kept_us(&scale, speed.workload, build));
        let times = ours.zip(here.map(|cost| cost.us).or(kept[1]));
        let mut cells = vec![
            speed.workload.to_owned(),
            shown(ours.map(|cost| cost.packets), 0),
            shown(count.map(|(_, count)| *count), 0),
            shown(ours.map(|cost| cost.us), 3),
        ];
        cells.extend(is_measured.then(|| shown(here.map(|cost| cost.us), 1)));
        cells.extend(kept.map(|us| shown(us, 1)));
        cells.push(shown(times.map(|(ours, us)| us / ours.us), 0));
        (cells, Verdict::Listed)
    });
    let runs = speeds.iter().map(|speed| speed.ours.len()).max().unwrap_or_default();
    let (here, judge) = match ns3 {
        Ok(version) => {
            (format!("ns-3 {version} ran in turns with ours (\"here\"). "), "ns-3's here")
        }
        Err(_) => (String::new(), "3.48's"),
    };
    let mut columns = vec!["workload", "packets a second", "instructions", "us"];
    columns.extend(is_measured.then_some("ns-3 here, us"));
    columns.extend(["ns-3 3.37, us", "ns-3 3.48, us", "times faster"]);
    Table {
        title: "A packet",
        text: format!(
            "Cost of a packet that reached the end of its flow: instructions are the kept counts \
             by Valgrind, which depend on the compiler only. Times are user CPU time in \
             microseconds without the start, without records, medians of {runs} runs on one core; \
             {}. {here}ns-3's kept times are of builds with -O3 on one core of an AMD EPYC. \
             \"Times faster\" compares with {judge}.",
            machine()
        ),
        columns,
        rows: rows.collect(),
        notes: Vec::new(),
    }
}

fn shown(value: Option<f64>, digits: usize) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:.digits$}"))
}

/// ns-3's kept time of a packet for a workload, in microseconds.
fn kept_us(scale: &[Record], workload: &str, build: &str) -> Option<f64> {
    let (label, stations, mode, ampdu) = match workload {
        workloads::UDP_AMPDU => ("rate", "1", "HtMcs15", "65535"),
        workloads::UDP_SINGLE => ("rate", "1", "HtMcs15", "0"),
        workloads::UDP_FIFTY => ("stations", "50", "HtMcs7", "0"),
        workloads::UDP_FIFTY_AMPDU => ("stations", "50", "HtMcs7", "65535"),
        workloads::TCP_DOWN => ("tcp", "1", "HtMcs15", "65535"),
        _ => return None,
    };
    let wanted = [
        ("build", build),
        ("label", label),
        ("n_sta", stations),
        ("mode", mode),
        ("max_ampdu", ampdu),
    ];
    let is_wanted =
        |record: &&Record| wanted.iter().all(|(column, text)| record.text(column) == *text);
    scale.iter().find(is_wanted).map(|record| record.number("us_per_delivered_packet"))
}

/// The processor of this machine, and what else it computes.
fn machine() -> String {
    let said = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = said.lines().find_map(|line| line.strip_prefix("model name"));
    let name = name.map_or("unknown processor", |rest| rest.trim_start_matches([' ', '\t', ':']));
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split(' ').nth(1).unwrap_or("unknown").to_owned();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    format!("{name}, {cores} cores, mean load of the last five minutes {load}")
}

/// The run with the median cost.
fn median(runs: &[SpeedCost]) -> Option<SpeedCost> {
    let mut runs = runs.to_vec();
    runs.sort_by(|one, other| one.us.total_cmp(&other.us));
    runs.get(runs.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ns3_says() {
        let cost = parse_ns3("2067 3.1005e+06\n").expect("packets and time");
        assert_eq!(cost, SpeedCost { packets: 2067.0, us: 1500.0 });
        for nothing in ["", "0 12", "x 1", "12"] {
            assert_eq!(parse_ns3(nothing), None, "{nothing:?}");
        }
    }

    #[test]
    fn ns3s_kept_times_stand_beside_ours() {
        let cost = |us| SpeedCost { packets: 1_000.0, us };
        let alone = Speed {
            workload: workloads::UDP_SINGLE,
            ours: vec![cost(9.0), cost(2.0), cost(3.0)],
            ns3: Vec::new(),
        };
        let both = Speed { ns3: vec![cost(60.0)], ..alone.clone() };
        let cells = |speed: Speed, ns3| table(&[speed], ns3).rows[0].0.clone();
        let without = cells(alone.clone(), Err("none"));
        assert_eq!(without[1], "1000");
        assert_eq!(without[3..], ["3.000", "55.8", "86.2", "29"]);
        assert_eq!(cells(both, Ok("3.37"))[3..], ["3.000", "60.0", "55.8", "86.2", "20"]);
        let unknown = Speed { workload: workloads::UDP_TWO_HUNDRED, ..alone };
        assert_eq!(cells(unknown, Err("none"))[3..], ["3.000", "-", "-", "-"]);
    }

    #[test]
    fn ns3_has_each_of_its_workloads() {
        let scale = data::records(SCALE);
        for workload in NS3_WORKLOADS {
            for build in NS3_BUILDS {
                assert!(kept_us(&scale, workload, build).is_some(), "{workload} {build}");
            }
        }
    }

    #[test]
    fn our_workloads_are_counted_too() {
        let kept = instructions::kept();
        for workload in workloads::ALL {
            assert!(kept.iter().any(|(name, _)| name == workload), "{workload}");
        }
    }
}

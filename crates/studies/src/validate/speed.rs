//! User CPU time of a simulated packet, ours and ns-3's, measured in turns on this machine.
//! ns-3 is that of the system, if its headers and a C++ compiler are there (Debian:
//! `libns3-dev`, `libgsl-dev`, `pkg-config`, `g++`); without it ours stands alone, beside the
//! instructions that are kept. Both leave out the start. A measurement without a verdict: the
//! figures are of the machine and of the build of ns-3.

use crate::Verdict;
use crate::table::Table;
use crate::validate::instructions;
use lasthop_fixtures::workloads;
use nix::sys::resource::{UsageWho, getrusage};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The workloads that ns-3 has, too.
pub const WORKLOADS: [&str; 5] = [
    workloads::UDP_AMPDU,
    workloads::UDP_SINGLE,
    workloads::UDP_FIFTY,
    workloads::UDP_FIFTY_AMPDU,
    workloads::TCP_DOWN,
];

/// Virtual time of our short and of our long run in ms: the first covers the start, and
/// the difference is long enough for clocks of user time that tick.
const MS: [u64; 2] = [1_000, 301_000];
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
    let [short, long] = [run(MS[0])?, run(MS[1])?];
    let packets = long.0 - short.0;
    let seconds = (MS[1] - MS[0]) as f64 / 1e3;
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
    let kept = instructions::kept();
    let rows = speeds.iter().map(|speed| {
        let count = kept.iter().find(|(workload, _)| workload == speed.workload);
        let [ours, theirs] = [&speed.ours, &speed.ns3].map(|runs| median(runs));
        let times = ours.zip(theirs).map(|(ours, theirs)| theirs.us / ours.us);
        let shown = |value: Option<f64>, digits: usize| {
            value.map_or_else(|| "-".to_owned(), |value| format!("{value:.digits$}"))
        };
        let cells = vec![
            speed.workload.to_owned(),
            shown(ours.map(|cost| cost.packets), 0),
            shown(theirs.map(|cost| cost.packets), 0),
            shown(ours.map(|cost| cost.us), 3),
            shown(theirs.map(|cost| cost.us), 1),
            shown(times, 0),
            count.map_or_else(String::new, |(_, count)| format!("{count:.0}")),
        ];
        (cells, Verdict::Listed)
    });
    let runs = speeds.iter().map(|speed| speed.ours.len()).max().unwrap_or_default();
    let peer = match ns3 {
        Ok(version) => format!("ns-3 {version} as the system packages it, alternating with ours"),
        Err(why) => format!("ns-3 was not measured, because {why}"),
    };
    Table {
        title: "Speed",
        text: format!(
            "User CPU time of a delivered packet, in microseconds, without the start and without \
             records. Medians of {runs} runs on one core; {peer}."
        ),
        columns: vec![
            "workload",
            "packets a second",
            "ns-3's",
            "us a packet",
            "ns-3's",
            "times faster",
            "instructions",
        ],
        rows: rows.collect(),
        notes: vec![
            "`ampdu`, `single`: saturated, one station, HT MCS 15, 40 MHz, with and without \
             A-MPDUs. `fifty`, `fifty-ampdu`: uplink, MCS 7, 20 MHz. `down`: one TCP flow from a \
             server. Different packets a second mean different work, so the ratio says little, as \
             for A-MPDUs of fifty stations. Instructions are the kept counts of Valgrind; they \
             depend on the compiler only."
                .into(),
            "Others measured ns-3 on one core of an AMD EPYC. 3.37 as Debian packages it took \
             13.7, 86, 1486, 260 and 41 us in the order of the table; 3.48 with -O3 11.8, 86, \
             1808, 303 and 36. Here, beside our runs under other load, 3.37 took 24 to 35 us \
             (`ampdu`), 170 to 222 (`single`) and 5052 (`fifty`), and was 220, 140 and 1130 times \
             slower than ours. So 33.3 us for `single` is too little; nobody knows of which build \
             it was."
                .into(),
        ],
    }
}

/// Workloads of one saturated station, and how many MPDUs each of their PPDUs has: as many as fit
/// into 65 535 bytes, or the Block Ack window.
pub const AMPDUS: [(&str, u32); 3] =
    [(workloads::UDP_AMPDU, 42), (workloads::UDP_AC, 64), (workloads::UDP_AX, 256)];

/// Instructions for a packet of [`AMPDUS`] in November 2026, before MPDUs that are alike were
/// dealt with together.
const AMPDUS_BEFORE: [f64; 3] = [1_356.0, 1_269.0, 1_154.0];

/// Returns the table of a PPDU's cost by its MPDUs, from the kept instructions.
pub fn ampdu_table() -> Table {
    ampdus(&instructions::kept())
}

fn ampdus(kept: &[(String, f64)]) -> Table {
    let of =
        |workload: &str| kept.iter().find(|(name, _)| name == workload).map(|(_, count)| *count);
    let first = AMPDUS[0];
    let ht = of(first.0).map(|count| count * f64::from(first.1));
    let rows = AMPDUS.into_iter().zip(AMPDUS_BEFORE).map(|((workload, mpdus), before)| {
        let packet = of(workload);
        let ppdu = packet.map(|count| count * f64::from(mpdus));
        let times = ppdu.zip(ht).map(|(ppdu, ht)| ppdu / ht);
        let shown = |value: Option<f64>, digits: usize| {
            value.map_or_else(|| "-".to_owned(), |value| format!("{value:.digits$}"))
        };
        let cells = vec![
            workload.to_owned(),
            mpdus.to_string(),
            shown(packet, 0),
            shown(ppdu, 0),
            shown(times, 1),
            format!("{before:.0}"),
            format!("{:.0}", before * f64::from(mpdus)),
        ];
        (cells, Verdict::Listed)
    });
    Table {
        title: "Long A-MPDUs",
        text: "Instructions of a packet and of its PPDU with Block Ack and contention, by the \
               number of MPDUs: the kept counts, by Valgrind, as the difference of runs of 0.5 s \
               and 1.5 s."
            .into(),
        columns: vec![
            "workload",
            "MPDUs in a PPDU",
            "a packet",
            "a PPDU",
            "times 802.11n's PPDU",
            "a packet before",
            "a PPDU before",
        ],
        rows: rows.collect(),
        notes: vec![
            "`ampdu` is 802.11n as above; `ac` and `ax` are VHT MCS 9 and HE MCS 11, 80 MHz, two \
             streams, with Block Ack windows of 64 and 256. \"Before\" is November 2026, before \
             consecutive alike MPDUs were processed together."
                .into(),
            "About 10 000 instructions belong to the PPDU (access, building, preamble, \
             Block Ack), and 302 to each packet: 13 to enter the queue, 76 to leave it as an MPDU \
             (both in a run of alike packets), 24 for transmission, 137 for reception in order, \
             28 for the acknowledgement, and 24 at the end of the flow. A packet is copied twice, \
             112 bytes each time: into its MPDU, and out of it on delivery."
                .into(),
            "These workloads have a drop-tail queue. The default, FQ-CoDel, costs 500 more for \
             each packet (1 192 in `ax`). Lost MPDUs and those behind them are received one by \
             one: 1 300 for a packet if one of six MPDUs is lost. Both counts are older than the \
             queueing of alike packets as one."
                .into(),
        ],
    }
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
    use lasthop_hosts::sink::NoSink;
    use lasthop_units::Seed;

    #[test]
    fn what_ns3_says() {
        let cost = parse_ns3("2067 3.1005e+06\n").expect("packets and time");
        assert_eq!(cost, SpeedCost { packets: 2067.0, us: 1500.0 });
        for nothing in ["", "0 12", "x 1", "12"] {
            assert_eq!(parse_ns3(nothing), None, "{nothing:?}");
        }
    }

    #[test]
    fn a_missing_peer_leaves_its_cells_empty() {
        let cost = |us| SpeedCost { packets: 1_000.0, us };
        let alone = Speed {
            workload: workloads::UDP_AMPDU,
            ours: vec![cost(9.0), cost(2.0), cost(3.0)],
            ns3: Vec::new(),
        };
        let both = Speed { ns3: vec![cost(60.0)], ..alone.clone() };
        let cells = |speed: Speed| table(&[speed], Err("none")).rows[0].0.clone();
        assert_eq!(cells(alone)[1..6], ["1000", "-", "3.000", "-", "-"]);
        assert_eq!(cells(both)[1..6], ["1000", "1000", "3.000", "60.0", "20"]);
        let table = table(&[], Err("none"));
        assert!(table.text.ends_with("ns-3 was not measured, because none."), "{}", table.text);
    }

    /// By hand: 42 MPDUs of 1 538 bytes with their delimiters are 64 766 bytes, 43 are 66 310.
    #[test]
    fn a_ppdu_costs_what_its_packets_do() {
        let kept = [("ampdu", 1_000.0), ("ax", 500.0)];
        let kept = kept.map(|(workload, count)| (workload.to_owned(), count));
        let rows = ampdus(&kept).rows;
        assert_eq!(rows[0].0[1..5], ["42", "1000", "42000", "1.0"]);
        assert_eq!(rows[1].0[1..5], ["64", "-", "-", "-"]);
        assert_eq!(rows[2].0[1..5], ["256", "500", "128000", "3.0"]);
    }

    #[test]
    fn ampdus_are_as_long_as_the_table_says() {
        for (workload, mpdus) in AMPDUS {
            let text = workloads::scenario(workload, "300ms");
            let scenario = lasthop_scenario::parse("workload.toml", &text, &[]).expect(workload);
            let stats = lasthop_sim::simulate(
                &scenario,
                Seed::new(1, 0),
                &mut NoSink,
                &mut lasthop_sim::go_on,
            );
            let stats = stats.expect(workload);
            let (_, _, link) = &stats.links[0];
            let mean = link.mpdus_per_ppdu.mean().expect("it sends");
            // The first ones are shorter: there is an agreement to be made, and a queue to fill.
            assert!(mean > f64::from(mpdus) - 0.8 && mean <= f64::from(mpdus), "{workload} {mean}");
        }
    }

    #[test]
    fn our_workloads_are_counted_too() {
        let kept = instructions::kept();
        for workload in WORKLOADS.into_iter().chain(AMPDUS.map(|(workload, _)| workload)) {
            assert!(workloads::ALL.contains(&workload));
            assert!(kept.iter().any(|(name, _)| name == workload), "{workload}");
        }
    }
}

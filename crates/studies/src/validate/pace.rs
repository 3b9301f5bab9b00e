//! CPU time and lateness of an emulation: the kernel's TCP and UDP through wires and a
//! Wi-Fi cell that are as fast as they can be, in this process, in real time. CPU time is in
//! percent of a core: of the network's loop, which includes the kernel's work for the frames
//! that it reads and writes, and of the process, which includes the traffic's sockets. No
//! file is written: the figures are of the machine and its load.

use crate::Verdict;
use crate::table::{Row, Table};
use lasthop_emulate::{DeviceChoice, EmulateError, EmulateOptions, Scheduling, emulate};
use lasthop_fixtures::{access_point, flow, hop, host, station, two_hosts, wire};
use lasthop_hosts::Sink;
use lasthop_packet::{NodeId, Packet};
use lasthop_scenario::parse;
use lasthop_units::{Duration, Instant};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeVal;

/// Minimum goodput for a load of 1 Gb/s, in Mb/s of IP packets: of wires alone most of the 987
/// that 1 Gb/s carries.
const GIGABIT_MBPS_MIN: f64 = 950.0;
/// Largest CPU time of the process for traffic over the cell, in percent of a core.
const CELL_CPU_MAX: f64 = 40.0;

/// The emulated hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PaceCase {
    /// TCP from one host to another over 1 Gb/s.
    Wires,
    /// TCP to a station over 802.11n at 300 Mb/s.
    Down,
    /// TCP from the station.
    Up,
    /// UDP to the station at 250 Mb/s.
    Datagrams,
    /// UDP to a station over 802.11ax at 1 Gb/s.
    Gigabit,
}

impl PaceCase {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Wires, Self::Down, Self::Up, Self::Datagrams, Self::Gigabit];

    /// The name in the table and of the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Wires => "wires",
            Self::Down => "down",
            Self::Up => "up",
            Self::Datagrams => "udp",
            Self::Gigabit => "gigabit",
        }
    }

    /// Returns the scenario file of a run of `seconds`.
    fn toml(self, seconds: u32) -> String {
        let wires = two_hosts("rate = \"1Gb/s\"\ndelay = \"1ms\"\nqueue = { packets = 1000 }");
        let cell = "[channel]\nstandard = \"802.11n\"\nband = \"5GHz\"\nwidth = \"40MHz\"\n\
                    guard_interval = \"400ns\"\n[node_defaults]\n\
                    rate_control = { kind = \"fixed\", mcs = 15 }\n"
            .to_owned()
            + &hop("laptop", "position = [\"2m\", \"0m\"]", "1ms");
        let (network, ends, kind, keys) = match self {
            Self::Wires => (wires, ["left", "right"], "tcp", ""),
            Self::Down => (cell, ["server", "laptop"], "tcp", ""),
            Self::Up => (cell, ["laptop", "server"], "tcp", ""),
            Self::Datagrams => {
                (cell, ["server", "laptop"], "udp", "rate = \"250Mb/s\"\npacket_bytes = 1500")
            }
            Self::Gigabit => {
                let wide =
                    "[channel]\nstandard = \"802.11ax\"\nband = \"5GHz\"\nwidth = \"80MHz\"\n\
                            [node_defaults]\n\
                            rate_control = { kind = \"fixed\", mcs = 11, streams = 2 }\n"
                        .to_owned();
                let ends = ["server", "laptop"];
                let nodes = [
                    access_point("ap", ""),
                    station("laptop", "position = [\"2m\", \"0m\"]"),
                    host("server"),
                    wire(["server", "ap"], "rate = \"off\""),
                ];
                let keys = "rate = \"1Gb/s\"\npacket_bytes = 1500";
                (wide + &nodes.concat(), ends, "udp", keys)
            }
        };
        format!("duration = \"{seconds}s\"\n{network}{}", flow("flow", ends, kind, keys))
    }
}

/// Result of one run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pace {
    /// The emulated case.
    pub case: PaceCase,
    /// Whether TAP devices were used; veth pairs otherwise.
    is_tap: bool,
    scheduling: Scheduling,
    /// IP packets that arrived at the end of the flow, in Mb/s.
    mbps: f64,
    /// CPU time in percent of a core: of the loop's thread, and of the process.
    cpu: [f64; 2],
    /// Lateness in microseconds: p50, p99, p99.9.
    late_us: [f64; 3],
    /// Frames lost outside the model.
    lost: u64,
}

/// Counts arriving datagrams.
struct PaceArrivals {
    to: NodeId,
    bytes: u64,
}

impl Sink for PaceArrivals {
    fn arrived(&mut self, _now: Instant, node: NodeId, packet: &Packet) {
        if node == self.to {
            self.bytes += u64::from(packet.bytes);
        }
    }
}

/// Emulates `case` for `seconds`.
///
/// # Errors
/// What the system refuses.
///
/// # Panics
/// If the case is no scenario.
pub fn run(case: PaceCase, seconds: u32, device: DeviceChoice) -> Result<Pace, EmulateError> {
    let scenario = parse("pace.toml", &case.toml(seconds), &[]).expect("cases are scenarios");
    let mut arrivals = PaceArrivals { to: scenario.flows[0].to, bytes: 0 };
    let options = EmulateOptions { device, ..EmulateOptions::default() };
    let before = process_cpu();
    let outcome = emulate(&scenario, &options, &mut arrivals, &mut |_, _| {})?;
    let seconds = outcome.duration.as_secs_f64();
    let percent = |cpu: Duration| 100.0 * cpu.as_secs_f64() / seconds;
    let late_us = |share| f64::from(outcome.lateness_ns.quantile(share).unwrap_or(0)) / 1e3;
    Ok(Pace {
        case,
        is_tap: outcome.tap,
        scheduling: outcome.scheduling,
        mbps: arrivals.bytes as f64 * 8e-6 / seconds,
        cpu: [percent(outcome.cpu), percent(process_cpu().saturating_sub(before))],
        late_us: [0.5, 0.99, 0.999].map(late_us),
        lost: outcome.frames_lost_outside,
    })
}

/// The CPU time of this process so far, user and system.
fn process_cpu() -> Duration {
    let usage = getrusage(UsageWho::RUSAGE_SELF).expect("a process can always ask for its own");
    let nanos =
        |time: TimeVal| time.tv_sec() as u64 * 1_000_000_000 + time.tv_usec() as u64 * 1_000;
    Duration::from_nanos(nanos(usage.user_time()) + nanos(usage.system_time()))
}

/// The runs as a table.
pub fn table(runs: &[Pace]) -> Table {
    Table {
        title: "The emulator's pace",
        text: format!(
            "Mb/s of IP packets, CPU in percent of a core of the network's loop and of the whole \
             process, lateness in microseconds. Target: {GIGABIT_MBPS_MIN} Mb/s over wires of 1 \
             Gb/s and of UDP at 1 Gb/s over 802.11ax in 80 MHz at MCS 11, two streams, and under {CELL_CPU_MAX} % of the process for TCP, and UDP at 250 Mb/s, over \
             802.11n in 40 MHz at MCS 15; no frame lost outside the model."
        ),
        columns: vec![
            "case",
            "device",
            "scheduling",
            "Mb/s",
            "loop",
            "process",
            "late p50",
            "p99",
            "p99.9",
            "lost",
        ],
        rows: runs.iter().map(row).collect(),
        notes: Vec::new(),
    }
}

fn row(run: &Pace) -> Row {
    let is_right = match run.case {
        PaceCase::Wires | PaceCase::Gigabit => run.mbps >= GIGABIT_MBPS_MIN,
        PaceCase::Down | PaceCase::Up | PaceCase::Datagrams => run.cpu[1] < CELL_CPU_MAX,
    };
    let verdict = Verdict::pass_if(is_right && run.lost == 0);
    let scheduling = match run.scheduling {
        Scheduling::Realtime => "SCHED_FIFO",
        Scheduling::Nice => "nice",
        Scheduling::Ordinary => "ordinary",
    };
    let names = [run.case.name(), if run.is_tap { "tap" } else { "veth" }, scheduling];
    let cpu = run.cpu.map(|percent| format!("{percent:.1}"));
    let late = run.late_us.map(|us| format!("{us:.0}"));
    let cells = names.map(str::to_owned).into_iter().chain([format!("{:.1}", run.mbps)]);
    (cells.chain(cpu).chain(late).chain([run.lost.to_string()]).collect(), verdict)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUN: Pace = Pace {
        case: PaceCase::Down,
        is_tap: true,
        scheduling: Scheduling::Realtime,
        mbps: 227.0,
        cpu: [38.0, 39.9],
        late_us: [50.0, 200.0, 300.0],
        lost: 0,
    };

    #[test]
    fn cases_are_scenarios_with_one_flow() {
        for case in PaceCase::ALL {
            let scenario = parse("pace.toml", &case.toml(1), &[]);
            assert_eq!(scenario.map(|scenario| scenario.flows.len()).ok(), Some(1), "{case:?}");
        }
    }

    #[test]
    fn what_is_slow_or_costs_too_much_or_loses_fails() {
        let verdict = |run: Pace| row(&run).1;
        assert_eq!(verdict(RUN), Verdict::Pass);
        assert_eq!(verdict(Pace { cpu: [38.0, 40.1], ..RUN }), Verdict::Fail);
        assert_eq!(verdict(Pace { lost: 1, ..RUN }), Verdict::Fail);
        for case in [PaceCase::Wires, PaceCase::Gigabit] {
            assert_eq!(verdict(Pace { case, mbps: 949.0, ..RUN }), Verdict::Fail);
            assert_eq!(verdict(Pace { case, mbps: 951.0, ..RUN }), Verdict::Pass);
        }
        let datagrams = Pace { case: PaceCase::Datagrams, ..RUN };
        assert_eq!(verdict(datagrams), Verdict::Pass);
        assert_eq!(verdict(Pace { cpu: [90.0; 2], ..datagrams }), Verdict::Fail);
        assert_eq!(verdict(Pace { lost: 1, ..datagrams }), Verdict::Fail);
        assert_eq!(table(&[RUN]).columns.len(), row(&RUN).0.len());
    }
}

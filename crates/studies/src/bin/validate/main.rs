//! The program that compares lasthop with others:
//! `cargo run --release -p lasthop-studies -- ns3 [--write] [--check] [--full] [CHAPTER]..` compares
//! the model with ns-3, closed forms and the kernel, and on request writes `docs/validation.md`
//! and the tables beside it. `-- kernel` first makes the missing results of the kernel, in real
//! time or in guests; other subcommands do so for lossy wires, queues, coded links and tunnels. Progress is shown if standard error is a terminal.

mod measure;
mod roams;

use clap::{Args, Parser, Subcommand};
use indicatif::{ProgressBar, ProgressStyle};
use lasthop_fixtures::workloads;
use lasthop_linux::device::DeviceChoice;
use lasthop_studies::Verdict;
use lasthop_studies::table::Table;
use lasthop_studies::validate::chapters::links::{flood_of, hops_of, loaded_of, sparse_of};
use lasthop_studies::validate::chapters::{ALL, Chapter, SEED};
use lasthop_studies::validate::fq_codel;
use lasthop_studies::validate::l4s;
use lasthop_studies::validate::links::{LOSSES, LinkCase};
use lasthop_studies::validate::minstrel::{MinstrelComparison, MinstrelTrace, Share, TraceError};
use lasthop_studies::validate::pace::{self, PaceCase};
use lasthop_studies::validate::paths::{Half, PathCase, PathRun, grid, outcome};
use lasthop_studies::validate::places;
use lasthop_studies::validate::radios::{self, RadioRow, RadioStore};
use lasthop_studies::validate::recording::{self, Runner};
use lasthop_studies::validate::speed::{self, Speed};
use lasthop_studies::validate::{instructions, memory, summary};
use std::fs;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Compare the 802.11 model with what others measured and derived.
#[derive(Parser)]
struct Command {
    #[command(subcommand)]
    against: Against,
}

#[derive(Subcommand)]
enum Against {
    /// Figures of ns-3, and closed forms
    #[command(
        after_help = "Example: cargo run --release -p lasthop-studies -- ns3 --check contention"
    )]
    Ns3(Options),
    /// The kernel's TCP: emulates the cells without a result, then shows all
    #[command(after_help = "Examples: cargo run --release -p lasthop-studies -- kernel
          cargo run --release -p lasthop-studies -- kernel --guests 2
Results that are there are not made again: delete crates/studies/data/kernel.csv to make all anew.")]
    Kernel(KernelOptions),
    /// The kernel's TCP over a lossy wire: emulates the cases without a result, then shows all
    #[command(after_help = "Example: cargo run --release -p lasthop-studies -- losses")]
    Losses(LossesOptions),
    /// Known queues, measured from outside over real sockets: measures the cases without a
    /// result, then shows all
    #[command(after_help = "Needs the program: cargo build --release
Example: cargo run --release -p lasthop-studies -- apq kind")]
    Apq(ApqOptions),
    /// A coded link with the kernel's TCP, and its rivals: measures the cases without a result,
    /// then shows all
    #[command(after_help = "Needs the program, iperf3 and ping: cargo build --release
Examples: cargo run --release -p lasthop-studies -- franc --losses 0,20
          cargo run --release -p lasthop-studies -- franc --ways udp --daemon='--pace 8ms'")]
    Franc(FrancOptions),
    /// A coded link on paths of all kinds, in virtual time: a grid of wires and Wi-Fi cells
    #[command(
        after_help = "Examples: cargo run --release -p lasthop-studies -- paths --half tuned --threads 2
          cargo run --release -p lasthop-studies -- paths 'beside' 'two tunnels'"
    )]
    Paths(PathsOptions),
    /// The places, simulated and emulated: a download and a ping in each, in real time
    #[command(after_help = "Needs the program: cargo build --release
Example: cargo run --release -p lasthop-studies -- places --check cafe hotel")]
    Places(PlacesOptions),
    /// Real radios as others measured them: simulates all rows in virtual time, then shows them
    #[command(after_help = "Example: cargo run --release -p lasthop-studies -- radios 'MCS 7'")]
    Radios(RadiosOptions),
    /// Prague beside CUBIC at one access point, in virtual time
    #[command(after_help = "Example: cargo run --release -p lasthop-studies -- l4s --write")]
    L4s(L4sOptions),
    /// Roams of wpa_supplicant over mac80211 beside the model's, in virtual time
    #[command(after_help = "Example: cargo run --release -p lasthop-studies -- roams --write")]
    Roams(roams::RoamsOptions),
    /// CPU time of tunnels: measures the tunnels without a result, then shows all
    #[command(after_help = "Needs the program and iperf3: cargo build --release
Example: cargo run --release -p lasthop-studies -- tunnels --again udp")]
    Tunnels(TunnelsOptions),
    /// Instructions for a delivered packet, against the kept ones
    #[command(after_help = "Needs valgrind: apt-get install valgrind
Example: cargo run --release -p lasthop-studies -- instructions --check")]
    Instructions(InstructionsOptions),
    /// Memory of many stations, against the kept figure
    #[command(after_help = "Needs valgrind: apt-get install valgrind
Example: cargo run --release -p lasthop-studies -- memory --check")]
    Memory(MemoryOptions),
    /// CPU time of a simulated packet, beside ns-3 if it is installed
    #[command(after_help = "With ns-3: apt-get install libns3-dev libgsl-dev pkg-config g++
Example: cargo run --release -p lasthop-studies -- speed --write")]
    Speed(SpeedOptions),
    /// CPU time of recording, and the speed of runs on several cores
    #[command(after_help = "Needs the program: cargo build --release; counts instructions with
valgrind, if it is installed.
Example: cargo run --release -p lasthop-studies -- recording --write")]
    Recording(RecordingOptions),
    /// CPU time and lateness of an emulation, in real time
    #[command(after_help = "Examples: cargo run --release -p lasthop-studies -- pace --runs 3
          cargo run --release -p lasthop-studies -- pace --veth wires
Without SCHED_FIFO, as root: setpriv --bounding-set=-sys_nice --inh-caps=-sys_nice, before the
program. What else the machine does is in the figures.")]
    Pace(PaceOptions),
    /// Runs a workload; `instructions` and `memory` start this command
    #[command(hide = true)]
    Work {
        /// Name of the workload.
        workload: String,
        /// Virtual time in ms.
        ms: u64,
    },
    /// The kernel's Minstrel-HT: replays a trace of its reports; one line a property, as
    /// the checks of `tests/vm` print them
    Minstrel {
        /// Written by `tests/vm/checks/41-minstrel.host`.
        trace: PathBuf,
    },
    /// The kernel's FQ-CoDel: replays a trace of one of mac80211's queues; one line a
    /// property, as the checks of `tests/vm` print them
    FqCodel {
        /// Written by `tests/vm/checks/43-fq-codel.host`.
        trace: PathBuf,
    },
    /// Measures one queue and adds the result; `apq` starts this command
    #[command(hide = true)]
    Queue {
        /// Number of the queue among the cases.
        index: usize,
    },
    /// Emulates one lossy wire and adds its result; `losses` starts this command
    #[command(hide = true)]
    Wire {
        /// Number of the wire among the cases.
        index: usize,
        /// Number of the run.
        run: u64,
    },
    /// Emulates one cell of the grid and adds its result; `kernel` starts this command
    #[command(hide = true)]
    Cell {
        /// Number of the cell in the grid.
        index: usize,
        /// Number of the run.
        run: u64,
        /// In a QEMU guest.
        #[arg(long)]
        guest: bool,
        /// This is the guest: print the result.
        #[arg(long, conflicts_with = "guest")]
        print: bool,
    },
}

#[derive(Args)]
struct KernelOptions {
    /// Emulated runs of each cell; four times as many where chance matters much
    #[arg(long, default_value = "1")]
    runs: u64,
    /// Share of this machine to use, 1 for all of it
    #[arg(long, default_value = "1")]
    load: f64,
    /// Not in real time: in this many QEMU guests at a time, whose clocks count
    /// instructions (tests/vm/command lists the requirements)
    #[arg(long, conflicts_with = "load", value_parser = clap::value_parser!(u32).range(1..))]
    guests: Option<u32>,
    /// Write docs/validation.md, with all chapters
    #[arg(long)]
    write: bool,
}

#[derive(Args)]
struct LossesOptions {
    /// Share of this machine to use, 1 for all of it
    #[arg(long, default_value = "1")]
    load: f64,
    /// Write docs/validation.md, with all chapters
    #[arg(long)]
    write: bool,
}

#[derive(Args)]
struct ApqOptions {
    /// Share of this machine to use, 1 for all of it
    #[arg(long, default_value = "1")]
    load: f64,
    /// Write docs/validation.md, with all chapters
    #[arg(long)]
    write: bool,
    /// Only cases with this in their name
    #[arg(default_value = "")]
    word: String,
}

#[derive(Args)]
struct FrancOptions {
    /// Losses in percent, of 0, 1, 5, 10, 20 and 30
    #[arg(long, value_delimiter = ',', default_values_t = LOSSES)]
    losses: Vec<u32>,
    /// Ways: plain, udp, ethernet, recoders, forwarders, kcptun, kcptun-tuned [default: all but kcptun's]
    #[arg(long, value_delimiter = ',')]
    ways: Vec<String>,
    /// With kcptun
    #[arg(long)]
    peers: bool,
    /// Runs of each case
    #[arg(long, default_value = "1")]
    runs: u64,
    /// Measure the cases with results again
    #[arg(long)]
    again: bool,
    /// More flags for both daemons; the results are shown and not kept
    #[arg(long, default_value = "", allow_hyphen_values = true)]
    daemon: String,
    /// Write docs/validation.md, with all chapters
    #[arg(long)]
    write: bool,
}

#[derive(Args)]
struct PathsOptions {
    /// One half of the grid: constants are chosen with the tuned one only
    #[arg(long)]
    half: Option<Half>,
    /// Cases that are run at a time
    #[arg(long, default_value = "1")]
    threads: usize,
    /// Number of the run: other random numbers
    #[arg(long, default_value = "0")]
    run: u64,
    /// Print the names of the cases only
    #[arg(long)]
    list: bool,
    /// Print the scenario file of a run of each case instead of running it
    #[arg(long, value_name = "RUN")]
    show: Option<PathRun>,
    /// Exit with 1 if a target is missed
    #[arg(long)]
    check: bool,
    /// In real time: the reported paths that have no result yet
    #[arg(long, conflicts_with_all = ["half", "threads", "run", "list", "show", "check"])]
    real: bool,
    /// Measure the paths with results again, in real time
    #[arg(long, requires = "real")]
    again: bool,
    /// Only cases with one of these words in their name
    words: Vec<String>,
}

#[derive(Args)]
struct PlacesOptions {
    /// Runs of each place, simulated and emulated
    #[arg(long, default_value = "3", value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    /// Exit with 1 if a target is missed
    #[arg(long)]
    check: bool,
    /// Only these places
    places: Vec<String>,
}

#[derive(Args)]
struct RadiosOptions {
    /// Runs that are made at a time [default: one a core]
    #[arg(long)]
    threads: Option<usize>,
    /// Exit with 1 if a figure is out of its band
    #[arg(long)]
    check: bool,
    /// Write docs/validation.md, with all chapters
    #[arg(long, conflicts_with = "words")]
    write: bool,
    /// Only rows with one of these words in the name of their group or in their own; others keep
    /// their results
    words: Vec<String>,
}

#[derive(Args)]
struct TunnelsOptions {
    /// Only these: plain, udp, ethernet, wireguard, wireguard-go, kcptun
    tunnels: Vec<String>,
    /// Measure the cases with results again
    #[arg(long)]
    again: bool,
    /// Write docs/validation.md, with all chapters
    #[arg(long)]
    write: bool,
}

#[derive(Args)]
struct InstructionsOptions {
    /// Exit with 1 if one has grown by more than 1 %
    #[arg(long)]
    check: bool,
    /// Keep the counts, in crates/studies/data/instructions.csv
    #[arg(long)]
    write: bool,
}

#[derive(Args)]
struct MemoryOptions {
    /// Exit with 1 if it has grown by more than 3 %, or is above 80 MB
    #[arg(long)]
    check: bool,
    /// Keep the figures, in crates/studies/data/memory.csv
    #[arg(long)]
    write: bool,
}

#[derive(Args)]
struct SpeedOptions {
    /// Runs of each workload
    #[arg(long, default_value = "3", value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    /// Write docs/speed.md
    #[arg(long)]
    write: bool,
}

#[derive(Args)]
struct L4sOptions {
    /// Write docs/l4s.md and its figure
    #[arg(long)]
    write: bool,
}

#[derive(Args)]
struct RecordingOptions {
    /// Runs of each kind
    #[arg(long, default_value = "5", value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    /// Write docs/recording.md
    #[arg(long)]
    write: bool,
}

#[derive(Args)]
struct PaceOptions {
    /// Runs of each case
    #[arg(long, default_value = "1")]
    runs: u32,
    /// Length of a run in seconds
    #[arg(long, default_value = "10", value_parser = clap::value_parser!(u32).range(1..))]
    seconds: u32,
    /// veth pairs instead of TAP devices
    #[arg(long)]
    veth: bool,
    /// Exit with 1 if a target is missed
    #[arg(long)]
    check: bool,
    /// Only these: wires, down, up, udp, gigabit
    cases: Vec<String>,
}

#[derive(Args)]
struct Options {
    /// Write docs/validation.md
    #[arg(long, conflicts_with = "chapters")]
    write: bool,
    /// Exit with 1 if a figure is out of its band
    #[arg(long)]
    check: bool,
    /// Print every table with its text and notes, not the summary
    #[arg(long)]
    full: bool,
    /// Only chapters with one of these words in their name
    chapters: Vec<String>,
}

#[expect(clippy::print_stdout, reason = "the tables are what the program is for")]
fn main() -> ExitCode {
    let options = match Command::parse().against {
        Against::Ns3(options) => options,
        Against::Cell { index, run, guest: true, .. } => return measure::cell_by_guest(index, run),
        Against::Cell { index, run, print, .. } => return measure::cell(index, run, print),
        Against::Kernel(options) => {
            if !measure::kernel(options.runs, options.load, options.guests) {
                return ExitCode::FAILURE;
            }
            show("kernel", options.write)
        }
        Against::Wire { index, run } => return measure::wire(index, run),
        Against::Losses(options) => {
            if !measure::losses(options.load) {
                return ExitCode::FAILURE;
            }
            show("lossy wire", options.write)
        }
        Against::Franc(options) => {
            let wanted = measure::Links {
                losses: &options.losses,
                ways: &options.ways,
                peers: options.peers,
                runs: options.runs,
                again: options.again,
                flags: &options.daemon,
            };
            let (is_complete, store) = measure::links(&wanted);
            if !options.daemon.is_empty() {
                let runs =
                    |case: &LinkCase| store.runs(case).into_iter().map(|(_, run)| run).collect();
                for table in [loaded_of(&runs), sparse_of(&runs), hops_of(&runs), flood_of(&runs)] {
                    if !table.rows.is_empty() {
                        println!("{}", table.markdown());
                    }
                }
                return ExitCode::SUCCESS;
            }
            if !is_complete {
                return ExitCode::FAILURE;
            }
            show("franc", options.write)
        }
        Against::Paths(options) if options.real => {
            if !measure::real_paths(&options.words, options.again) {
                return ExitCode::FAILURE;
            }
            show("paths, real time", false)
        }
        Against::Paths(options) => return paths(&options),
        Against::Places(options) => return places(&options),
        Against::Radios(options) => {
            if let Err(error) = radios(&options) {
                eprintln!("error: crates/studies/data/radios.csv: {error}");
                return ExitCode::from(2);
            }
            Options { check: options.check, ..show("radios", options.write) }
        }
        Against::Tunnels(options) => {
            if !measure::tunnels(&options.tunnels, options.again) {
                return ExitCode::FAILURE;
            }
            show("tunnels", options.write)
        }
        Against::Minstrel { trace } => return minstrel(&trace),
        Against::Instructions(options) => return count(&options),
        Against::Memory(options) => return heap(&options),
        Against::Speed(options) => return speed(&options),
        Against::L4s(options) => return l4s(&options),
        Against::Roams(options) => return roams::roams(&options),
        Against::Recording(options) => return recording(&options),
        Against::Pace(options) => return pace(&options),
        Against::Work { workload, ms } => {
            println!("{}", instructions::run(&workload, ms));
            return ExitCode::SUCCESS;
        }
        Against::FqCodel { trace } => return fq_codel(&trace),
        Against::Queue { index } => return measure::queue(index),
        Against::Apq(options) => {
            if !measure::queues(&options.word, options.load) {
                return ExitCode::FAILURE;
            }
            show("apq", options.write)
        }
    };
    let wanted = |(name, _): &&Chapter| {
        options.chapters.is_empty() || options.chapters.iter().any(|word| name.contains(word))
    };
    let chapters: Vec<_> = ALL.iter().filter(wanted).collect();
    // Hidden if standard error is not a terminal.
    let progress = ProgressBar::new(chapters.len() as u64);
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} {msg} {elapsed}");
    progress.set_style(style.expect("a template that was tried"));
    let mut tables = Vec::new();
    for (name, make) in chapters {
        progress.set_message(*name);
        tables.push((*name, make()));
        progress.inc(1);
    }
    progress.finish_and_clear();
    let failed: usize = tables.iter().map(|(_, table)| table.count(Verdict::Fail)).sum();
    let page =
        summary::page(&tables, &format!("Seed {SEED}; runs 0 to 4 where several were made."));
    // Of a few chapters the tables are wanted.
    if options.full || !options.chapters.is_empty() {
        tables.iter().for_each(|(_, table)| println!("{}", table.markdown()));
        let passed: usize = tables.iter().map(|(_, table)| table.count(Verdict::Pass)).sum();
        println!("{passed} figures are in their bands, {failed} are out.");
    } else {
        print!("{page}")
    }
    if options.write
        && let Err(error) = write(&page, &summary::files(&tables))
    {
        eprintln!("error: docs/validation.md: {error}");
        return ExitCode::from(2);
    }
    if options.check && failed > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// Counts the instructions of all workloads and prints how they compare.
#[expect(clippy::print_stdout, reason = "the table is what the command is for")]
fn count(options: &InstructionsOptions) -> ExitCode {
    // Hidden if standard error is not a terminal.
    let progress = ProgressBar::new(workloads::ALL.len() as u64);
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} {msg} {elapsed}");
    progress.set_style(style.expect("a template that was tried"));
    let counted = std::env::current_exe().and_then(|program| {
        let count = |workload| {
            progress.set_message(workload);
            let cost = instructions::count(&program, workload);
            progress.inc(1);
            cost
        };
        workloads::ALL.into_iter().map(count).collect::<std::io::Result<Vec<_>>>()
    });
    progress.finish_and_clear();
    let costs = match counted {
        Ok(costs) => costs,
        Err(error) => return without(&error, options.write),
    };
    let table = instructions::table(&costs);
    print!("{}", table.markdown());
    if options.write
        && let Err(error) = instructions::keep(&costs)
    {
        eprintln!("error: crates/studies/data/instructions.csv: {error}");
        return ExitCode::from(2);
    }
    judge(&table, options.check, options.write)
}

/// Measures what many stations take and prints how it compares.
#[expect(clippy::print_stdout, reason = "the table is what the command is for")]
fn heap(options: &MemoryOptions) -> ExitCode {
    let measured = std::env::current_exe().and_then(|program| {
        let measure = |workload| memory::measure(&program, workload);
        memory::WORKLOADS.into_iter().map(measure).collect::<std::io::Result<Vec<_>>>()
    });
    let peaks = match measured {
        Ok(peaks) => peaks,
        Err(error) => return without(&error, options.write),
    };
    let table = memory::table(&peaks);
    print!("{}", table.markdown());
    if options.write
        && let Err(error) = memory::keep(&peaks)
    {
        eprintln!("error: crates/studies/data/memory.csv: {error}");
        return ExitCode::from(2);
    }
    judge(&table, options.check, options.write)
}

/// Reports that there is no count. A missing Valgrind is an error only with `--write`.
#[expect(clippy::print_stdout, reason = "what is skipped is said where the table would be")]
fn without(error: &std::io::Error, write: bool) -> ExitCode {
    if error.kind() != std::io::ErrorKind::NotFound {
        eprintln!("error: {error}");
        return ExitCode::from(2);
    }
    println!("skipped, because there is no valgrind: apt-get install valgrind");
    if write { ExitCode::from(2) } else { ExitCode::SUCCESS }
}

/// Returns the exit status for a table of Valgrind's counts.
#[expect(clippy::print_stdout, reason = "it is below the table")]
fn judge(table: &Table, check: bool, write: bool) -> ExitCode {
    if table.count(Verdict::Listed) > 0 && !write {
        println!("\nNot judged: the kept figures are of another compiler, or there are none.");
    }
    if check && table.count(Verdict::Fail) > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// The text above the table.
const SPEED_INTRODUCTION: &str = "\
# Speed

For users with large simulations: the cost of a packet in instructions and time, and the memory \
of many stations. `cargo run --release -p lasthop-studies -- speed --write` generates this page; do not \
edit it. See also the cost of [recording](recording.md), of \
[emulations](not-modelled.md#emulation-emulate-linux), and of [the codec](codec.md).

";

/// The text below the table, but for memory.
const SPEED_NOTES: &str = "
Saturated, packets of 1500 bytes. `ampdu`, `single`: one station, HT MCS 15, 40 MHz, with and \
without A-MPDUs. `ac`, `ax`, `be`: VHT MCS 9, HE MCS 11 and 80 MHz, EHT MCS 13 and 320 MHz, two \
streams. `fifty`, `fifty-ampdu`, `two-hundred`: uplink, MCS 7, 20 MHz. `twenty-sets`: twenty sets of \
five stations of 802.11ax with colours and OBSS-PD. `down`, `up`: one TCP flow. ns-3 delivers \
another number of packets in `fifty-ampdu`, so its ratio says little.

An A-MPDU costs about 10 000 instructions (access, building, preamble, Block Ack) and 302 for each \
of its packets, in a run of alike ones. FQ-CoDel, the default queue, costs more than the drop-tail \
queue of these workloads, and MPDUs behind a lost one are received one by one.

Beside other work on this kind of machine, ns-3 3.37 as Debian packages it took 24 to 35 us \
(`ampdu`), 170 to 222 (`single`), 5052 (`fifty`). The 33.3 us for `single` that this page once gave \
are of no known build.

";

/// Runs the workloads in turns with ns-3's and prints their CPU time.
#[expect(clippy::print_stdout, reason = "the table is what the command is for")]
fn speed(options: &SpeedOptions) -> ExitCode {
    let measured = std::env::current_exe().and_then(|program| {
        let ns3 = speed::compile_ns3(program.parent().unwrap_or(Path::new(".")));
        let ns3 = ns3.map_err(|why| why.to_string());
        // Hidden if standard error is not a terminal.
        let progress = ProgressBar::new(workloads::ALL.len() as u64);
        let style = ProgressStyle::with_template("{bar:30} {pos}/{len} {msg} {elapsed}");
        progress.set_style(style.expect("a template that was tried"));
        let mut speeds = Vec::new();
        for workload in workloads::ALL {
            progress.set_message(workload);
            let mut speed = Speed { workload, ours: Vec::new(), ns3: Vec::new() };
            for _ in 0..options.runs {
                speed.ours.push(speed::run_ours(&program, workload)?);
                if let (Ok((ns3, _)), true) = (&ns3, speed::NS3_WORKLOADS.contains(&workload)) {
                    speed.ns3.push(speed::run_ns3(ns3, workload)?);
                }
            }
            speeds.push(speed);
            progress.inc(1);
        }
        progress.finish_and_clear();
        let version = ns3.as_ref().map(|(_, version)| version.as_str());
        Ok(speed::table(&speeds, version.map_err(String::as_str)))
    });
    let page = match measured {
        Ok(table) => {
            let (table, memory) = (table.markdown(), memory::sentence());
            format!(
                "{SPEED_INTRODUCTION}{table}{SPEED_NOTES}Memory: the heap is at most {memory}, with \
                 the scenario, without records; `thousand-fair` has the default queues. A pair of \
                 stations needs 22 bytes, a run of alike packets that wait 64.\n"
            )
        }
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::from(2);
        }
    };
    print!("{page}");
    if options.write
        && let Err(error) = write_page("speed.md", &page)
    {
        eprintln!("error: docs/speed.md: {error}");
        return ExitCode::from(2);
    }
    ExitCode::SUCCESS
}

/// The text above the table.
const L4S_INTRODUCTION: &str = "\
# L4S over Wi-Fi

For engineers of access points and senders: delay and share of the air of Prague, the sender of \
L4S, beside CUBIC at one access point. `cargo run --release -p lasthop-studies -- l4s --write` \
generates this page; do not edit it. The scenario is built in: `lasthop simulate l4s`.

![99th percentile of Prague's delay, and its air over CUBIC's, for one to ten stations of each kind](pictures/l4s.svg)

An access point of 802.11ax with 80 MHz sends to stations of both kinds, in aggregates of at \
most 1 ms. Each flow has its queue (FQ-CoDel with airtime fairness, as mac80211 has it); an L4S \
queue marks packets that waited for longer than a threshold. A packet also waits for the \
aggregates of other stations. A threshold below that time marks packets of a queue that does not \
stand, and Prague gives up its share; a threshold above it keeps the share, and the delay is as \
long. In the access category \"video\" Prague's packets overtake CUBIC's, and wait for less than \
5 ms with up to ten stations of each kind. The shares then depend on the threshold: with 1.2 ms \
Prague has less air with few stations, with 2 ms CUBIC starves with many. None of the three is \
right for all numbers. DualPI2 has one pair of queues for all stations and balances the rates of \
both kinds, but L4S packets leave at once and thus in short aggregates: the air carries a sixth \
to a tenth.

";

/// Runs Prague beside CUBIC, prints the table and on request writes the page.
#[expect(clippy::print_stdout, reason = "the table is what the command is for")]
fn l4s(options: &L4sOptions) -> ExitCode {
    let runs = l4s::WAYS.len() as u64 * l4s::STATIONS.len() as u64 * l4s::RUNS;
    // Hidden if standard error is not a terminal.
    let progress = ProgressBar::new(runs);
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} {elapsed}");
    progress.set_style(style.expect("a template that was tried"));
    let cases: Vec<_> =
        l4s::WAYS.iter().map(|way| (*way, l4s::simulate(way, &|| progress.inc(1)))).collect();
    progress.finish_and_clear();
    let page = format!("{L4S_INTRODUCTION}{}", l4s::table(&cases).markdown());
    print!("{page}");
    if options.write {
        let written = write_page("l4s.md", &page)
            .and_then(|()| write_page("pictures/l4s.svg", &l4s::figure(&cases)));
        if let Err(error) = written {
            eprintln!("error: docs/l4s.md: {error}");
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}

/// The text above the tables.
const RECORDING_INTRODUCTION: &str = "\
# Recording, and runs on many cores

For users with many or long runs: the cost of a run's files, and the speed of runs on several \
cores. `cargo run --release -p lasthop-studies -- recording --write` generates this page; do not edit \
it. See also the cost of a packet [without records](speed.md), and [the files](files.md).

";

/// Records workloads and makes batches of runs, and prints their CPU time.
#[expect(clippy::print_stdout, reason = "the tables are what the command is for")]
fn recording(options: &RecordingOptions) -> ExitCode {
    let measured = measure::lasthop().and_then(|program| {
        let folder = measure::Scratch::new()?;
        let runner = Runner { program: &program, folder: folder.path() };
        // Hidden if standard error is not a terminal.
        let progress = ProgressBar::new(recording::WORKLOADS.len() as u64);
        let style = ProgressStyle::with_template("{bar:30} {pos}/{len} {msg} {elapsed}");
        progress.set_style(style.expect("a template that was tried"));
        let (mut cases, mut batches) = (Vec::new(), Vec::new());
        for workload in recording::WORKLOADS {
            progress.set_message(workload);
            let why = |error: std::io::Error| error.to_string();
            cases.extend(runner.record(workload, options.runs).map_err(why)?);
            batches.push(runner.batch(workload, options.runs).map_err(why)?);
            progress.inc(1);
        }
        progress.finish_and_clear();
        Ok([recording::table(&cases), recording::batch_table(&batches)])
    });
    let page = match measured {
        Ok(tables) => {
            format!("{RECORDING_INTRODUCTION}{}", tables.map(|table| table.markdown()).join("\n"))
        }
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::from(2);
        }
    };
    print!("{page}");
    if options.write
        && let Err(error) = write_page("recording.md", &page)
    {
        eprintln!("error: docs/recording.md: {error}");
        return ExitCode::from(2);
    }
    ExitCode::SUCCESS
}

/// Simulates and emulates places and prints how they compare.
#[expect(clippy::print_stdout, reason = "the table is what the command is for")]
fn places(options: &PlacesOptions) -> ExitCode {
    let compared = measure::lasthop().and_then(|program| {
        let names = if options.places.is_empty() {
            places::names(&program)?
        } else {
            options.places.clone()
        };
        // Hidden if standard error is not a terminal.
        let progress = ProgressBar::new(names.len() as u64);
        let style = ProgressStyle::with_template("{bar:30} {pos}/{len} {msg} {elapsed}");
        progress.set_style(style.expect("a template that was tried"));
        let mut compared = Vec::new();
        for name in names {
            progress.set_message(name.clone());
            compared.push(places::compare(&program, &name, options.runs)?);
            progress.inc(1);
        }
        progress.finish_and_clear();
        Ok(compared)
    });
    let table = match compared {
        Ok(compared) => places::table(&compared),
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::from(2);
        }
    };
    print!("{}", table.markdown());
    if options.check && table.count(Verdict::Fail) > 0 {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}

/// Emulates, and prints CPU time and lateness.
#[expect(clippy::print_stdout, reason = "the table is what the command is for")]
fn pace(options: &PaceOptions) -> ExitCode {
    let is_wanted = |case: &PaceCase| {
        options.cases.is_empty() || options.cases.iter().any(|name| name == case.name())
    };
    let device = if options.veth { DeviceChoice::Veth } else { DeviceChoice::Automatic };
    let mut runs = Vec::new();
    for case in PaceCase::ALL.into_iter().filter(is_wanted) {
        for _ in 0..options.runs {
            match pace::run(case, options.seconds, device) {
                Ok(run) => runs.push(run),
                Err(error) => {
                    eprintln!("error: {}: {error}", case.name());
                    return ExitCode::from(2);
                }
            }
        }
    }
    let table = pace::table(&runs);
    print!("{}", table.markdown());
    if options.check && table.count(Verdict::Fail) > 0 {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}

/// Replays a trace of Minstrel-HT and prints how ours compares.
#[expect(clippy::print_stdout, reason = "the lines are what the command is for")]
fn minstrel(path: &Path) -> ExitCode {
    let trace = match read(path, MinstrelTrace::parse) {
        Ok(trace) => trace,
        Err(code) => return code,
    };
    let comparison = MinstrelComparison::replay(&trace);
    println!("# {} statuses, {} snapshots", comparison.statuses, comparison.snapshots);
    for difference in &comparison.differences {
        println!("# {difference}");
    }
    print_shares(&comparison.shares().map(|(name, share)| (name, share, share.is_whole())))
}

/// Replays a trace of FQ-CoDel and prints how ours compares, and the first differences.
#[expect(clippy::print_stdout, reason = "the lines are what the command is for")]
fn fq_codel(path: &Path) -> ExitCode {
    let trace = match read(path, fq_codel::FqCodelTrace::parse) {
        Ok(trace) => trace,
        Err(code) => return code,
    };
    let comparison = fq_codel::FqCodelComparison::replay(&trace);
    println!("# {} packets of {} flows", comparison.arrivals, comparison.flows);
    for difference in comparison.differences.iter().take(20) {
        println!("# {difference}");
    }
    // A scene need not have drops of every kind.
    print_shares(&comparison.shares().map(|(name, share)| (name, share, share.equal == share.of)))
}

/// Reads a trace, or says why it cannot.
fn read<T>(path: &Path, parse: impl Fn(&str) -> Result<T, TraceError>) -> Result<T, ExitCode> {
    let text = fs::read_to_string(path).map_err(|error| error.to_string());
    text.and_then(|text| parse(&text).map_err(|error| error.to_string())).map_err(|error| {
        eprintln!("error: {}: {error}", path.display());
        ExitCode::from(2)
    })
}

/// Prints a line for each property, and whether it holds.
#[expect(clippy::print_stdout, reason = "the lines are what the command is for")]
fn print_shares(shares: &[(&str, Share, bool)]) -> ExitCode {
    for &(name, share, holds) in shares {
        println!("{} {name}: {share} are the kernel's", if holds { "ok" } else { "FAIL" });
    }
    if shares.iter().all(|&(_, _, holds)| holds) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Simulates rows of real radios and keeps their figures.
fn radios(options: &RadiosOptions) -> std::io::Result<()> {
    let is_wanted = |row: &RadioRow| {
        let is_in = |word: &String| row.group.name() == word || row.name.contains(word.as_str());
        options.words.is_empty() || options.words.iter().any(is_in)
    };
    let rows: Vec<_> = RadioRow::all().into_iter().filter(is_wanted).collect();
    let threads = options.threads.map_or_else(std::thread::available_parallelism, |threads| {
        Ok(NonZero::new(threads).unwrap_or(NonZero::<usize>::MIN))
    })?;
    // Hidden if standard error is not a terminal.
    let progress = ProgressBar::new(rows.len() as u64 * radios::RUNS);
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} {elapsed}");
    progress.set_style(style.expect("a template that was tried"));
    let figures = radios::simulate(&rows, threads.get(), &|| progress.inc(1));
    progress.finish_and_clear();
    let mut store = RadioStore::read();
    for (row, runs) in rows.iter().zip(&figures) {
        store.put(row, runs);
    }
    store.keep()
}

/// Runs cases of the grid of paths and prints their outcomes.
#[expect(clippy::print_stdout, reason = "the table is what the command is for")]
fn paths(options: &PathsOptions) -> ExitCode {
    let is_wanted = |case: &PathCase| {
        options.half.is_none_or(|half| case.half == half)
            && (options.words.is_empty()
                || options.words.iter().any(|word| case.name.contains(word.as_str())))
    };
    let cases: Vec<_> = grid::all().into_iter().filter(is_wanted).collect();
    if options.list || options.show.is_some() {
        for case in &cases {
            match options.show {
                None => println!("{}", case.name),
                Some(run) => println!("# {}\n{}", case.name, case.write(run).toml),
            }
        }
        return ExitCode::SUCCESS;
    }
    // Hidden if standard error is not a terminal.
    let progress = ProgressBar::new(cases.len() as u64);
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} {elapsed}");
    progress.set_style(style.expect("a template that was tried"));
    let outcomes = outcome::outcomes(&cases, options.run, options.threads, &|| progress.inc(1));
    progress.finish_and_clear();
    let table = outcome::table(&cases, &outcomes);
    let failed = table.count(Verdict::Fail);
    println!("{}", table.markdown());
    println!("{}", outcome::summary(&cases, &outcomes).markdown());
    println!("{} cases pass, {failed} fail.", table.count(Verdict::Pass));
    if options.check && failed > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// Options for the chapters with `word` in their names; for all if the page is to be
/// written.
fn show(word: &str, write: bool) -> Options {
    let chapters = if write { Vec::new() } else { vec![word.to_owned()] };
    Options { write, check: false, full: false, chapters }
}

/// Writes the page of the comparisons and the table of each chapter.
fn write(page: &str, files: &[(String, String)]) -> std::io::Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/validation");
    fs::create_dir_all(folder)?;
    for (name, text) in files {
        write_page(&format!("validation/{name}"), text)?;
    }
    write_page("validation.md", page)
}

/// Writes a page of the documentation, aside first.
fn write_page(name: &str, page: &str) -> std::io::Result<()> {
    let docs: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let aside = docs.join(format!("{name}.new"));
    fs::write(&aside, page)?;
    fs::rename(aside, docs.join(name))
}

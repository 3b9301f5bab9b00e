//! CPU time of recording, and the speed of runs on several cores: the program makes runs of a workload with
//! nothing recorded, with events and with captures, and batches of runs on one thread and on
//! two, in turns. Wall time is what a user waits for, CPU time is the work of all threads; both
//! are of the machine and of what else it does. Instructions, which Valgrind (callgrind) counts by
//! thread, are not. Leaves out emulations. A measurement without a verdict.

use crate::Verdict;
use crate::table::{Row, Table};
use lasthop_fixtures::workloads;
use lasthop_linux::clock::Clock;
use lasthop_units::Instant;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeVal;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The workloads that are recorded.
pub const WORKLOADS: [&str; 3] = [workloads::UDP_AMPDU, workloads::UDP_FIFTY, workloads::TCP_DOWN];
/// Virtual seconds of a run that is timed.
const SECONDS: u32 = 20;
/// Virtual seconds of the short and of the long run whose instructions are counted; the short run
/// covers the start.
const SECONDS_COUNTED: [u32; 2] = [1, 3];
/// Runs of a batch, and the virtual seconds of each.
const BATCH: (u32, u32) = (64, 1);
/// Numbers of cores for which Amdahl's law is evaluated.
const CORES: [f64; 3] = [2.0, 8.0, 64.0];

/// Records of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recorded {
    /// The summary alone.
    Nothing,
    /// Events and series.
    Events,
    /// Events and captures.
    Captures,
}

impl Recorded {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Nothing, Self::Events, Self::Captures];

    const fn name(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Events => "events",
            Self::Captures => "events, captures",
        }
    }
}

/// CPU and wall time of a process, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Took {
    wall: f64,
    /// User and system, of all threads.
    cpu: f64,
}

/// Runs of a workload of which the same is recorded.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordingCase {
    workload: &'static str,
    recorded: Recorded,
    /// Times by run.
    took: Vec<Took>,
    /// Instructions of a second of virtual time: of the thread of the model, and of all; `None`
    /// without Valgrind.
    instructions: Option<[f64; 2]>,
}

/// Batches of runs of a workload.
#[derive(Clone, Debug, PartialEq)]
pub struct Batch {
    workload: &'static str,
    /// By number of threads, 1 and 2, then by batch.
    took: [Vec<Took>; 2],
    /// Share of the main thread in the instructions, which no other thread can take over,
    /// or does not. `None` without Valgrind.
    serial: Option<f64>,
}

/// The program, and a folder for its files.
#[derive(Clone, Copy, Debug)]
pub struct Runner<'a> {
    /// `lasthop`.
    pub program: &'a Path,
    /// A folder of this process.
    pub folder: &'a Path,
}

impl Runner<'_> {
    /// Times `runs` runs of each kind of recording, in turns.
    ///
    /// # Errors
    /// If the program cannot be run, or fails.
    pub fn record(&self, workload: &'static str, runs: u32) -> io::Result<Vec<RecordingCase>> {
        let mut cases = Recorded::ALL.map(|recorded| (recorded, Vec::new()));
        for _ in 0..runs {
            for (recorded, took) in &mut cases {
                took.push(self.time(&self.arguments(workload, SECONDS, *recorded)?)?);
            }
        }
        let case = |(recorded, took)| {
            let instructions = self.count_recorded(workload, recorded)?;
            Ok(RecordingCase { workload, recorded, took, instructions })
        };
        cases.into_iter().map(case).collect()
    }

    /// Times `runs` batches on one thread and on two, in turns.
    ///
    /// # Errors
    /// The errors of [`record`](Self::record).
    pub fn batch(&self, workload: &'static str, runs: u32) -> io::Result<Batch> {
        let (number, seconds) = BATCH;
        let on = |threads: usize| -> io::Result<Vec<String>> {
            let mut arguments = self.arguments(workload, seconds, Recorded::Nothing)?;
            let threads = threads.to_string();
            arguments
                .extend(["--runs", &number.to_string(), "--threads", &threads].map(Into::into));
            Ok(arguments)
        };
        let mut took = [Vec::new(), Vec::new()];
        for _ in 0..runs {
            for (threads, took) in (1..).zip(&mut took) {
                took.push(self.time(&on(threads)?)?);
            }
        }
        let serial = self.count(&on(2)?)?.map(|threads| threads[0] / threads.iter().sum::<f64>());
        Ok(Batch { workload, took, serial })
    }

    /// The arguments for a run.
    fn arguments(
        &self,
        workload: &str,
        seconds: u32,
        recorded: Recorded,
    ) -> io::Result<Vec<String>> {
        let path = |name: &str| self.folder.join(name).display().to_string();
        let file = path(&format!("{workload}-{seconds}.toml"));
        fs::write(&file, workloads::scenario(workload, &format!("{seconds}s")))?;
        let mut arguments = vec!["simulate".to_owned(), file];
        if recorded != Recorded::Nothing {
            arguments.extend(["--out".to_owned(), path("out")]);
        }
        if recorded == Recorded::Captures {
            arguments.push("--pcap".to_owned());
        }
        Ok(arguments)
    }

    fn time(&self, arguments: &[String]) -> io::Result<Took> {
        let (clock, before) = (Clock::start(), children_cpu_s());
        run(Command::new(self.program).args(arguments))?;
        let wall = (clock.now() - Instant::ZERO).as_secs_f64();
        Ok(Took { wall, cpu: children_cpu_s() - before })
    }

    fn count_recorded(&self, workload: &str, recorded: Recorded) -> io::Result<Option<[f64; 2]>> {
        let mut counts = [[0.0; 2]; 2];
        for (seconds, count) in SECONDS_COUNTED.into_iter().zip(&mut counts) {
            match self.count(&self.arguments(workload, seconds, recorded)?)? {
                Some(threads) => *count = [threads[1], threads.iter().sum()],
                None => return Ok(None),
            }
        }
        let [short, long] = counts;
        let seconds = f64::from(SECONDS_COUNTED[1] - SECONDS_COUNTED[0]);
        Ok(Some([0, 1].map(|index| (long[index] - short[index]) / seconds)))
    }

    /// The instructions of the threads in the order of their start, two at least: the main thread,
    /// and that of the model, or of the first of them. `None` without Valgrind.
    fn count(&self, arguments: &[String]) -> io::Result<Option<Vec<f64>>> {
        let folder = self.folder.join("callgrind");
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir(&folder)?;
        let file = folder.join("thread");
        let mut command = Command::new("valgrind");
        command.args(["--tool=callgrind", "--separate-threads=yes"]);
        command.arg(format!("--callgrind-out-file={}", file.display()));
        match run(command.arg(self.program).args(arguments)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            other => other?,
        }
        let mut files: Vec<PathBuf> =
            fs::read_dir(&folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
        files.sort();
        let mut threads = Vec::new();
        for file in files {
            threads.extend(instructions(&fs::read_to_string(&file)?));
        }
        match threads.len() {
            0 | 1 => Err(io::Error::other("Valgrind counted fewer than two threads")),
            _ => Ok(Some(threads)),
        }
    }
}

/// Returns a thread's instructions from a file of callgrind; `None` without such a line.
fn instructions(text: &str) -> Option<f64> {
    text.lines().find_map(|line| line.strip_prefix("summary:")?.trim().parse().ok())
}

/// Runs a command without its output.
fn run(command: &mut Command) -> io::Result<()> {
    let output = command.stdin(Stdio::null()).stdout(Stdio::null()).output()?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    Err(io::Error::other(format!("{} says: {said}", command.get_program().display())))
}

/// CPU time of the processes that ended, user and system, in seconds.
fn children_cpu_s() -> f64 {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).expect("a process can always ask for it");
    let seconds = |time: TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 * 1e-6;
    seconds(usage.user_time()) + seconds(usage.system_time())
}

/// Medians of wall and of CPU time.
fn median(took: &[Took]) -> [f64; 2] {
    [|took: &Took| took.wall, |took: &Took| took.cpu].map(|part| {
        let mut values: Vec<f64> = took.iter().map(part).collect();
        values.sort_by(f64::total_cmp);
        values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
    })
}

fn shown(value: Option<f64>, digits: usize) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:.digits$}"))
}

/// Returns the table of the cost of recording. Cases of a workload begin with that of nothing recorded.
pub fn table(cases: &[RecordingCase]) -> Table {
    let row = |case: &RecordingCase| -> Row {
        let is_base = |base: &&RecordingCase| {
            base.workload == case.workload && base.recorded == Recorded::Nothing
        };
        let base = cases.iter().find(is_base).unwrap_or(case);
        let ([wall, cpu], [base_wall, base_cpu]) = (median(&case.took), median(&base.took));
        let counted = case.instructions.zip(base.instructions);
        let ratio = |index: usize| counted.map(|(counts, base)| counts[index] / base[1]);
        let cells = vec![
            case.workload.to_owned(),
            case.recorded.name().to_owned(),
            format!("{wall:.3}"),
            format!("{cpu:.3}"),
            format!("{:.1}", wall / base_wall),
            format!("{:.1}", cpu / base_cpu),
            shown(case.instructions.map(|counts| counts[1] / 1e6), 1),
            shown(ratio(0), 1),
            shown(ratio(1), 1),
        ];
        (cells, Verdict::Listed)
    };
    let runs = cases.iter().map(|case| case.took.len()).max().unwrap_or_default();
    Table {
        title: "Recording",
        text: format!(
            "Wall and CPU time of `lasthop simulate`, {SECONDS} s of virtual time, in seconds, \
             and as multiples of a run without records: medians of {runs} runs in turns. \
             Instructions: millions a second of virtual time, without the start; multiples \
             are for the model's thread and for all threads."
        ),
        columns: vec![
            "workload",
            "recorded",
            "wall",
            "CPU",
            "wall, times",
            "CPU, times",
            "instructions",
            "model's thread, times",
            "all, times",
        ],
        rows: cases.iter().map(row).collect(),
        notes: vec![
            "The model's thread notes events; a second thread encodes them, and a third writes \
             captures. The wall time on idle cores is that of the slowest thread. `ampdu`: \
             saturated, one station, A-MPDUs, four rows a packet and three frames in captures; \
             `fifty`: uplink, no A-MPDU; `down`: one TCP flow from a server."
                .into(),
        ],
    }
}

/// Returns the table of batches on several cores.
pub fn batch_table(batches: &[Batch]) -> Table {
    let row = |batch: &Batch| -> Row {
        let [[one, one_cpu], [two, two_cpu]] = [0, 1].map(|index| median(&batch.took[index]));
        let serial = batch.serial.map(|serial| format!("{:.3}", 100.0 * serial));
        let mut cells = vec![
            batch.workload.to_owned(),
            format!("{one:.3}"),
            format!("{two:.3}"),
            format!("{:.2}", one / two),
            format!("{:.2}", two_cpu / one_cpu),
            serial.unwrap_or_else(|| "-".to_owned()),
        ];
        let speed = |cores| batch.serial.map(|serial| amdahl(serial, cores));
        cells.extend(CORES.map(|cores| shown(speed(cores), 1)));
        (cells, Verdict::Listed)
    };
    let runs = batches.iter().map(|batch| batch.took[0].len()).max().unwrap_or_default();
    let (number, seconds) = BATCH;
    Table {
        title: "Runs on many cores",
        text: format!(
            "`--runs {number}`, {seconds} s of virtual time each, without records: wall time in \
             seconds on one thread and on two, their speed-up, and the ratio of CPU time; medians \
             of {runs} in turns. The serial part is the main thread's share of the instructions, \
             in percent: reading the scenario, joining documents, the report. The speed-up of 2, \
             8 and 64 cores is computed by Amdahl's law, not measured."
        ),
        columns: vec![
            "workload",
            "one thread",
            "two",
            "times faster",
            "CPU, times",
            "serial %",
            "2 cores, computed",
            "8",
            "64",
        ],
        rows: batches.iter().map(row).collect(),
        notes: vec![
            "Runs share only the scenario and a counter of progress. Amdahl's law ignores shared \
             caches, memory bandwidth, and a last run that is alone. All wall times depend on the \
             other load of the machine."
                .into(),
        ],
    }
}

/// Speed-up of `cores` against one core if the part `serial` of the work stays on one.
fn amdahl(serial: f64, cores: f64) -> f64 {
    1.0 / (serial + (1.0 - serial) / cores)
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn took(wall: f64, cpu: f64) -> Took {
        Took { wall, cpu }
    }

    #[test]
    fn ratios_are_of_medians() {
        let base = RecordingCase {
            workload: "ampdu",
            recorded: Recorded::Nothing,
            took: vec![took(9.0, 1.0), took(1.0, 1.0), took(2.0, 1.0)],
            instructions: Some([3e6, 4e6]),
        };
        let events = RecordingCase {
            recorded: Recorded::Events,
            took: vec![took(3.0, 5.0), took(30.0, 5.0), took(4.0, 5.0)],
            instructions: Some([8e6, 12e6]),
            ..base.clone()
        };
        let cells = &table(&[base.clone(), events]).rows[1].0;
        assert_eq!(cells[2..], ["4.000", "5.000", "2.0", "5.0", "12.0", "2.0", "3.0"]);
        let uncounted = RecordingCase { instructions: None, ..base };
        assert_eq!(table(&[uncounted]).rows[0].0[6..], ["-", "-", "-"]);
    }

    #[test]
    fn what_is_serial_bounds_many_cores() {
        let batch = Batch {
            workload: "ampdu",
            took: [vec![took(3.8, 3.6)], vec![took(2.0, 3.6)]],
            serial: Some(0.01),
        };
        let cells = &batch_table(&[batch]).rows[0].0;
        assert_eq!(cells[1..6], ["3.800", "2.000", "1.90", "1.00", "1.000"]);
        assert_eq!(cells[6..], ["2.0", "7.5", "39.3"]);
    }

    #[test]
    fn what_callgrind_says() {
        assert_eq!(instructions("version: 1\nsummary: 8586226\n\ntotals: 3\n"), Some(8_586_226.0));
        assert_eq!(instructions("version: 1\n"), None);
    }
}

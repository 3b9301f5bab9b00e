//! Makes results in real time. Each run is a separate process, and as many run at a
//! time as the machine can keep real time for; on request, each run against the
//! kernel's TCP is in a virtual machine (guest) instead. A run that was late is
//! discarded and repeated. Existing results are not made again, so an interrupted grid
//! continues where it stopped.

use indicatif::{ProgressBar, ProgressStyle};
use lasthop_studies::validate::kernel::{self, Clock, KernelCell};
use lasthop_studies::validate::links::{self, Load};
use lasthop_studies::validate::losses;
use lasthop_studies::validate::paths::real::{self, RealCase};
use lasthop_studies::validate::queues::{self, FoundQueue, QueueCase};
use lasthop_studies::validate::tunnels::{self, Tunnel};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};

/// Exit status of a process whose run was late.
const LATE: u8 = 3;
/// Number of attempts at a run that is late each time, the first one included.
const ATTEMPTS: u32 = 4;
/// Path of the script that runs a command in a guest.
const GUEST: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/vm/command");

/// A run that has to be made.
#[derive(Clone)]
struct Task {
    /// Arguments of this program with which it makes the run.
    arguments: Vec<String>,
    /// Description for messages.
    name: String,
    /// Share of this machine that the run needs, 0 to 1.
    load: f64,
    attempt: u32,
}

/// Emulates the runs that the grid of the kernel's TCP lacks, where each cell has
/// `runs` times as many as it needs. Uses `share` of the machine (0 to 1), or `guests`
/// guests at a time. Returns whether all results exist now.
pub fn kernel(runs: u64, share: f64, guests: Option<u32>) -> bool {
    let store = kernel::KernelStore::read();
    let mut tasks = Vec::new();
    for (index, cell) in KernelCell::all().into_iter().enumerate() {
        let there = store.numbers(&cell);
        let missing = (0..runs * cell.emulated_runs()).filter(|run| !there.contains(run));
        tasks.extend(missing.map(|run| {
            let mut arguments = vec!["cell".into(), index.to_string(), run.to_string()];
            arguments.extend(guests.map(|_| "--guest".into()));
            Task {
                arguments,
                name: describe(&cell, run),
                load: guests.map_or(cell.load(), |guests| 1.0 / f64::from(guests)),
                // Not repeated: a guest that was late would be late again.
                attempt: if guests.is_some() { ATTEMPTS } else { 1 },
            }
        }));
    }
    let clock = if guests.is_some() { Clock::Instructions } else { Clock::Real };
    if !tasks.is_empty() && store.has_others_than(clock) {
        eprintln!(
            "error: kernel.csv has runs of another clock, and one table is of one clock: delete it"
        );
        return false;
    }
    make(tasks, if guests.is_some() { 1.0 } else { share })
}

/// Emulates the missing runs over lossy wires with `share` of the machine (0 to 1).
/// Returns whether all results exist now.
pub fn losses(share: f64) -> bool {
    let store = losses::LossStore::read();
    let mut tasks = Vec::new();
    for (index, cell) in losses::LossCell::all().into_iter().enumerate() {
        let there = store.runs(&cell);
        let missing = (0..cell.emulated_runs()).filter(|run| !there.contains(run));
        tasks.extend(missing.map(|run| Task {
            arguments: vec!["wire".into(), index.to_string(), run.to_string()],
            name: format!(
                "{} {} ms, {} %, run {run}",
                cell.congestion_control, cell.delay_ms, cell.loss_percent
            ),
            load: cell.load(),
            attempt: 1,
        }));
    }
    make(tasks, share)
}

/// Measures the queues that have no result yet and `word` in their names, with `share`
/// of the machine (0 to 1). Returns whether all results exist now.
pub fn queues(word: &str, share: f64) -> bool {
    let store = queues::QueueStore::read();
    let is_missing =
        |(_, case): &(usize, QueueCase)| case.name().contains(word) && store.found(case).is_empty();
    let task = |(index, case): (usize, QueueCase)| Task {
        arguments: vec!["queue".into(), index.to_string()],
        name: case.name(),
        load: case.load(),
        attempt: 1,
    };
    make(QueueCase::all().into_iter().enumerate().filter(is_missing).map(task).collect(), share)
}

/// Emulates run `run` of cell `index` and stores its result; prints it instead if
/// `is_in_guest`.
#[expect(clippy::print_stdout, reason = "all that leaves a guest is what it prints")]
pub fn cell(index: usize, run: u64, is_in_guest: bool) -> ExitCode {
    let all = KernelCell::all();
    let Some(cell) = all.get(index) else {
        return refuse(&format!("the grid has {} cells", all.len()));
    };
    match cell.emulate(run) {
        Ok(emulated) if emulated.is_late => ExitCode::from(LATE),
        Ok(emulated) if is_in_guest => {
            println!("{}", cell.line(run, &emulated, Clock::Instructions));
            ExitCode::SUCCESS
        }
        Ok(emulated) => add(&cell.line(run, &emulated, Clock::Real)),
        Err(error) => refuse(&error.to_string()),
    }
}

/// Emulates run `run` of cell `index` in a guest, and stores its result.
pub fn cell_by_guest(index: usize, run: u64) -> ExitCode {
    let ours = match std::env::current_exe() {
        Ok(ours) => ours,
        Err(error) => return refuse(&error.to_string()),
    };
    let output = Command::new(GUEST)
        .arg(ours)
        .args(["cell", &index.to_string(), &run.to_string(), "--print"])
        .stdin(Stdio::null())
        .output();
    match output {
        Err(error) => refuse(&format!("{GUEST}: {error}")),
        Ok(output) if output.status.success() => {
            add(String::from_utf8_lossy(&output.stdout).trim_end())
        }
        Ok(output) if output.status.code() == Some(LATE.into()) => ExitCode::from(LATE),
        Ok(output) => refuse(String::from_utf8_lossy(&output.stderr).trim_end()),
    }
}

fn add(line: &str) -> ExitCode {
    match kernel::KernelStore::append(line) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => refuse(&format!("kernel.csv: {error}")),
    }
}

/// Emulates run `run` of lossy wire `index`, and stores its result.
pub fn wire(index: usize, run: u64) -> ExitCode {
    let all = losses::LossCell::all();
    let Some(cell) = all.get(index) else {
        return refuse(&format!("there are {} wires", all.len()));
    };
    match cell.emulate(run) {
        Ok(emulated) if emulated.is_late => ExitCode::from(LATE),
        Ok(emulated) => match losses::LossStore::append(cell, run, &emulated) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => refuse(&format!("tcp_losses.csv: {error}")),
        },
        Err(error) => refuse(&error.to_string()),
    }
}

/// Measures the queue of case `index`, and stores its result.
pub fn queue(index: usize) -> ExitCode {
    let all = QueueCase::all();
    let Some(case) = all.get(index) else {
        return refuse(&format!("there are {} cases", all.len()));
    };
    match measure(case) {
        Ok(Some(found)) => match queues::QueueStore::append(case, &found) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => refuse(&format!("queues.csv: {error}")),
        },
        Ok(None) => ExitCode::from(LATE),
        Err(why) => refuse(&format!("{}: {why}", case.name())),
    }
}

/// Returns what `lasthop` finds in a case; `None` if the emulation was late.
fn measure(case: &QueueCase) -> Result<Option<Vec<FoundQueue>>, String> {
    let lasthop = lasthop()?;
    let directory = Scratch::new()?;
    let (scenario, out) = (directory.0.join("scenario.toml"), directory.0.join("out"));
    fs::write(&scenario, case.toml(&lasthop)).map_err(|error| error.to_string())?;
    let output = Command::new(&lasthop)
        .arg("emulate")
        .arg(&scenario)
        .args(["--json", "--"])
        .arg(&lasthop)
        .args(["apq", "measure", "server", "--out"])
        .arg(&out)
        .args(case.arguments())
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("{}: {error}", lasthop.display()))?;
    if !output.status.success() {
        let words = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{}: {}", output.status, words.trim()));
    }
    let run: lasthop_trace::RunDocument =
        serde_json::from_slice(&output.stdout).map_err(|error| error.to_string())?;
    let emulation = run.emulation.ok_or("the emulation says nothing of itself")?;
    if emulation.late {
        return Ok(None);
    }
    let text = fs::read_to_string(out.join("apq.json")).map_err(|error| error.to_string())?;
    let document = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    let lateness_us = emulation.lateness_us.map_or(0.0, |lateness| lateness.p99_9);
    Ok(Some(FoundQueue::all(&document, lateness_us)))
}

/// Selection of the measurements of coded links.
pub struct Links<'a> {
    /// Losses in percent to measure.
    pub losses: &'a [u32],
    /// Ways to measure, by name; if empty, all, and peers only if `peers` is set.
    pub ways: &'a [String],
    /// Whether to measure the peers (kcptun) too.
    pub peers: bool,
    /// Number of runs of each case.
    pub runs: u64,
    /// Whether to measure cases again that have a result.
    pub again: bool,
    /// Additional arguments of the daemons. If there are any, results are not stored.
    pub flags: &'a str,
}

/// Measures coded links, their peers and plain links, one after another. Returns
/// whether all could be measured, and the results so far.
pub fn links(wanted: &Links<'_>) -> (bool, links::LinkStore) {
    // Raises the priority of this session, so that other processes do not delay the
    // emulator.
    let _ = fs::write("/proc/self/autogroup", "-18");
    let is_kept = wanted.flags.is_empty();
    let mut store = if is_kept { links::LinkStore::read() } else { links::LinkStore::default() };
    let is_wanted = |case: &links::LinkCase| {
        let is_named = match wanted.ways {
            [] => wanted.peers || !case.tunnel.is_peer(),
            ways => ways.iter().any(|way| way == case.tunnel.name()),
        };
        is_named && wanted.losses.contains(&case.loss_percent)
    };
    let mut tasks = Vec::new();
    for case in links::LinkCase::all().into_iter().filter(is_wanted) {
        if case.tunnel.is_peer() && !is_installed("kcptun-client") {
            eprintln!(
                "skipped: {}: kcptun is not here (Debian: apt-get install kcptun)",
                case.name()
            );
            continue;
        }
        let there = store.runs(&case);
        tasks.extend((0..wanted.runs).filter_map(|run| {
            (wanted.again || !there.iter().any(|(other, _)| *other == run)).then_some((case, run))
        }));
    }
    let progress = ProgressBar::new(tasks.len() as u64);
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} {msg} {elapsed}");
    progress.set_style(style.expect("a template that was tried"));
    let mut is_complete = true;
    for (case, run) in tasks {
        progress.set_message(case.name());
        // A run that was late is repeated once, and marked if it is late again.
        let first = link(&case, run, wanted.flags);
        let outcome = match first {
            Ok(outcome) if outcome.is_late => link(&case, run, wanted.flags),
            other => other,
        };
        progress.inc(1);
        match outcome {
            Ok(outcome) => store.put(&case, run, &outcome),
            Err(why) => {
                progress.println(format!("no result: {}: {why}", case.name()));
                is_complete = false;
            }
        }
        if is_kept && let Err(error) = store.write() {
            eprintln!("error: franc.csv: {error}");
            return (false, store);
        }
    }
    progress.finish_and_clear();
    (is_complete, store)
}

/// Makes one run over a link.
fn link(case: &links::LinkCase, run: u64, flags: &str) -> Result<links::LinkOutcome, String> {
    let lasthop = lasthop()?;
    let directory = Scratch::new()?;
    let path = directory.0.as_path();
    let say = |error: std::io::Error| error.to_string();
    let (scenario, script) = (path.join("scenario.toml"), path.join("script.sh"));
    fs::write(&scenario, case.toml(run, &lasthop, path, flags)).map_err(say)?;
    fs::write(&script, case.script(&lasthop, path)).map_err(say)?;
    if case.tunnel.is_ours() {
        let key = path.join("key");
        let made = Command::new(&lasthop).args(["franc", "key", "--out"]).arg(&key).status();
        if !made.map_err(say)?.success() {
            return Err("no key could be made".into());
        }
    }
    let run = emulate(&lasthop, &scenario, Some(&script))?;
    let outcome = case.outcome(&run, path)?;
    if outcome.ping_ms.is_none() && case.load != Load::Flood && case.tunnel.is_ours() {
        let logs =
            ["a.log", "b.log"].map(|log| fs::read_to_string(path.join(log)).unwrap_or_default());
        return Err(format!("nothing came through: {}", logs.concat().trim()));
    }
    Ok(outcome)
}

/// Measures the tunnels with these names (all if empty) that have no result, or all of
/// them with `again`. Returns whether every available tunnel could be measured.
pub fn tunnels(names: &[String], again: bool) -> bool {
    let _ = fs::write("/proc/self/autogroup", "-18");
    let mut store = tunnels::TunnelStore::read();
    let mut is_complete = true;
    for tunnel in Tunnel::ALL {
        let is_named = names.is_empty() || names.iter().any(|name| name == tunnel.name());
        if !is_named || (!again && store.outcome(tunnel).is_some()) {
            continue;
        }
        let name = tunnel.name();
        let missing = tunnel.programs().iter().find(|(program, _)| !is_installed(program));
        if let Some((program, place)) = missing {
            eprintln!("skipped: {name}: {program} is not here ({place})");
            continue;
        }
        let outcome = match measured(tunnel) {
            Ok(Some(outcome)) => outcome,
            Ok(None) => {
                eprintln!("skipped: {name}: this system has none, or lets nobody make one");
                continue;
            }
            Err(why) => {
                eprintln!("no result: {name}: {why}");
                is_complete = false;
                continue;
            }
        };
        if let Err(error) = store.put(tunnel, &outcome) {
            eprintln!("error: tunnels.csv: {error}");
            return false;
        }
    }
    is_complete
}

/// Measures paths in real time, one after another: those with one of `words` in their
/// names (all if empty) that have no result, or all of them with `again`. Returns
/// whether all could be measured.
pub fn real_paths(words: &[String], again: bool) -> bool {
    // As in `links`.
    let _ = fs::write("/proc/self/autogroup", "-18");
    let mut store = real::RealStore::read();
    let is_wanted = |case: &RealCase| {
        let is_named =
            words.is_empty() || words.iter().any(|word| case.case.name.contains(word.as_str()));
        is_named && (again || store.found(case).is_none())
    };
    let cases: Vec<_> = real::all().into_iter().filter(is_wanted).collect();
    let progress = ProgressBar::new(cases.len() as u64);
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} {msg} {elapsed}");
    progress.set_style(style.expect("a template that was tried"));
    let mut is_complete = true;
    for case in cases {
        progress.set_message(case.case.name.clone());
        let found = real_path(&case);
        progress.inc(1);
        let found = match found {
            Ok(found) => found,
            Err(why) => {
                eprintln!("no result: {}: {why}", case.case.name);
                is_complete = false;
                continue;
            }
        };
        if let Err(error) = store.put(&case, found) {
            eprintln!("error: paths.csv: {error}");
            return false;
        }
    }
    progress.finish_and_clear();
    is_complete
}

/// Makes all emulations of a path.
fn real_path(case: &RealCase) -> Result<real::Found, String> {
    let lasthop = lasthop()?;
    let mut found = real::Found::nothing();
    for &part in case.parts() {
        let directory = Scratch::new()?;
        let path = directory.0.as_path();
        let say = |error: std::io::Error| error.to_string();
        let (scenario, script) = (path.join("scenario.toml"), path.join("script.sh"));
        fs::write(&scenario, case.toml(part, &lasthop, path)).map_err(say)?;
        let text = case.script(part, path);
        let has_script = text.is_some();
        fs::write(&script, text.unwrap_or_default()).map_err(say)?;
        let key = path.join("key");
        let made = Command::new(&lasthop).args(["franc", "key", "--out"]).arg(key).status();
        if !made.map_err(say)?.success() {
            return Err("no key could be made".into());
        }
        let run = emulate(&lasthop, &scenario, has_script.then_some(script.as_path()))?;
        case.add(part, &run, path, &mut found)?;
    }
    Ok(found)
}

/// Emulates `scenario`, for as long as `script` runs in node a if there is one.
fn emulate(
    lasthop: &Path,
    scenario: &Path,
    script: Option<&Path>,
) -> Result<lasthop_trace::RunDocument, String> {
    let mut command = Command::new(lasthop);
    command.arg("emulate").arg(scenario).arg("--json");
    if let Some(script) = script {
        command.args(["--in", "a", "--", "sh"]).arg(script);
    }
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("{}: {error}", lasthop.display()))?;
    if !output.status.success() {
        let words = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{}: {}", output.status, words.trim()));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| error.to_string())
}

/// Makes one run through a tunnel; `None` if the system cannot make the tunnel.
fn measured(tunnel: Tunnel) -> Result<Option<tunnels::TunnelOutcome>, String> {
    let directory = Scratch::new()?;
    let script = directory.0.join("script.sh");
    fs::write(&script, tunnel.script(&lasthop()?)).map_err(|error| error.to_string())?;
    let output = Command::new("unshare")
        .args(["--map-root-user", "--net", "--mount", "--pid", "--fork", "--kill-child"])
        .args(["--mount-proc", "sh", "script.sh"])
        .current_dir(&directory.0)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("unshare: {error}"))?;
    let errors = String::from_utf8_lossy(&output.stderr);
    if output.status.code() == Some(77) || errors.starts_with("unshare: ") {
        return Ok(None);
    }
    let logs = ["a.log", "b.log", "iperf.json"]
        .map(|log| fs::read_to_string(directory.0.join(log)).unwrap_or_default());
    tunnel.outcome(&directory.0).map(Some).map_err(|why| {
        format!("{why}: {}: {}", output.status, [errors.trim(), logs.concat().trim()].join("; "))
    })
}

fn is_installed(program: &str) -> bool {
    let mut command = Command::new(program);
    command.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok()
}

/// The path of the program `lasthop` in the directory of this program.
pub fn lasthop() -> Result<PathBuf, String> {
    let ours = std::env::current_exe().map_err(|error| error.to_string())?;
    let lasthop = ours.with_file_name("lasthop");
    if lasthop.exists() {
        Ok(lasthop)
    } else {
        Err(format!("no {}; first: cargo build --release", lasthop.display()))
    }
}

/// A temporary directory, removed when dropped.
pub struct Scratch(PathBuf);

impl Scratch {
    /// A directory of this process.
    pub fn new() -> Result<Self, String> {
        let name = format!("lasthop-queue-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(Self(path))
    }

    /// Path of the folder.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn refuse(why: &str) -> ExitCode {
    eprintln!("error: {why}");
    ExitCode::from(2)
}

/// Runs all `tasks`, with loads of `share` in total. Returns whether all succeeded.
fn make(mut waiting: Vec<Task>, share: f64) -> bool {
    // Tasks are taken from the end.
    waiting.reverse();
    let progress = ProgressBar::new(waiting.len() as u64);
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} emulated {elapsed}");
    progress.set_style(style.expect("a template that was tried"));
    let mut working: Vec<(Task, Child)> = Vec::new();
    let mut is_complete = true;
    loop {
        while let Some(task) = waiting.last().cloned() {
            let used: f64 = working.iter().map(|(task, _)| task.load).sum();
            if used > 0.0 && used + task.load > share {
                break;
            }
            waiting.pop();
            match start(&task) {
                Ok(child) => working.push((task, child)),
                Err(error) => {
                    eprintln!("error: cannot start: {error}");
                    return false;
                }
            }
        }
        if working.is_empty() {
            break;
        }
        let (task, status) = first_to_end(&mut working);
        match status {
            Some(0) => progress.inc(1),
            Some(late) if late == i32::from(LATE) && task.attempt < ATTEMPTS => {
                waiting.insert(0, Task { attempt: task.attempt + 1, ..task });
            }
            _ => {
                let attempts = task.attempt;
                progress.println(format!(
                    "no result: {}: late {attempts} times, or refused",
                    task.name
                ));
                is_complete = false;
            }
        }
    }
    progress.finish_and_clear();
    is_complete
}

/// Waits until one of the processes ends; there must be at least one. Returns its task
/// and exit status, `None` if a signal ended it.
fn first_to_end(working: &mut Vec<(Task, Child)>) -> (Task, Option<i32>) {
    loop {
        for index in 0..working.len() {
            let status = working[index].1.try_wait();
            if !matches!(status, Ok(None)) {
                let status = status.ok().flatten().and_then(|status| status.code());
                return (working.remove(index).0, status);
            }
        }
        pause();
    }
}

#[expect(clippy::disallowed_methods, reason = "waits for processes that take seconds")]
fn pause() {
    std::thread::sleep(std::time::Duration::from_millis(100));
}

fn start(task: &Task) -> std::io::Result<Child> {
    Command::new(std::env::current_exe()?)
        .args(&task.arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
}

fn describe(cell: &KernelCell, run: u64) -> String {
    format!(
        "{} {}, MCS {}, queue {}, wire {} ms, run {run}",
        cell.congestion_control,
        cell.direction(),
        cell.mcs,
        cell.queue_packets,
        cell.wire_ms,
    )
}

//! Makes the kernel's results: emulates each cell of the grid in a process of its
//! own, as many at a time as the machine keeps real time for. A run that was
//! late is thrown away and made again; what is there is not made again, so
//! an interrupted grid goes on where it stopped.

use indicatif::{ProgressBar, ProgressStyle};
use std::process::{Child, Command, ExitCode, Stdio};
use validate::kernel::{Cell, Store};

/// Exit status of a cell whose run was late.
const LATE: u8 = 3;
/// How often a late run is made again.
const ATTEMPTS: u32 = 4;

/// Emulates cell `index` once and adds its result.
pub fn cell(index: usize, run: u64) -> ExitCode {
    let all = Cell::all();
    let Some(cell) = all.get(index) else {
        eprintln!("error: the grid has {} cells", all.len());
        return ExitCode::from(2);
    };
    match cell.emulate(run) {
        Ok(emulated) if emulated.is_late => ExitCode::from(LATE),
        Ok(emulated) => match Store::append(cell, run, &emulated) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("error: kernel.csv: {error}");
                ExitCode::from(2)
            }
        },
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

/// A run to be made.
#[derive(Clone, Copy)]
struct Task {
    index: usize,
    cell: Cell,
    run: u64,
    attempt: u32,
}

/// Emulates what the grid lacks, each cell `runs` times as often as it needs,
/// with `share` of the machine. Returns whether all is there now.
pub fn grid(runs: u64, share: f64) -> bool {
    let store = Store::read();
    let mut waiting: Vec<Task> = Vec::new();
    for (index, cell) in Cell::all().into_iter().enumerate() {
        let there = store.runs(&cell).len() as u64;
        waiting.extend((there..runs * cell.emulated_runs()).map(|run| Task {
            index,
            cell,
            run,
            attempt: 1,
        }));
    }
    // The last is begun first.
    waiting.reverse();
    let progress = ProgressBar::new(waiting.len() as u64);
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} emulated {elapsed}");
    progress.set_style(style.expect("a template that was tried"));
    let mut working: Vec<(Task, Child)> = Vec::new();
    let mut is_complete = true;
    loop {
        while let Some(task) = waiting.last().copied() {
            let used: f64 = working.iter().map(|(task, _)| task.cell.load()).sum();
            if used > 0.0 && used + task.cell.load() > share {
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
        // All of a kind last equally long, so waiting for the first loses little.
        let Some((task, mut child)) = (!working.is_empty()).then(|| working.remove(0)) else {
            break;
        };
        let status = child.wait().ok().and_then(|status| status.code());
        match status {
            Some(0) => progress.inc(1),
            Some(late) if late == i32::from(LATE) && task.attempt < ATTEMPTS => {
                waiting.insert(0, Task { attempt: task.attempt + 1, ..task });
            }
            _ => {
                progress.println(format!("no result: {}", describe(&task)));
                is_complete = false;
            }
        }
    }
    progress.finish_and_clear();
    is_complete
}

fn start(task: &Task) -> std::io::Result<Child> {
    Command::new(std::env::current_exe()?)
        .args(["cell", &task.index.to_string(), &task.run.to_string()])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
}

fn describe(task: &Task) -> String {
    let cell = &task.cell;
    format!(
        "{} {}, MCS {}, queue {}, wire {} ms, run {}: late {} times, or refused",
        cell.congestion_control,
        cell.direction(),
        cell.mcs,
        cell.queue_packets,
        cell.wire_ms,
        task.run,
        task.attempt
    )
}

//! `lasthop reproduce`: figures of papers, theirs beside ours; without a figure, a list. Prints
//! tables or JSON; writes plots and pages on request, all or none. Shows its progress: on a
//! terminal as a bar, elsewhere as occasional lines. Faults of a plot, such as a hidden series,
//! count as failures with `--check`.

use crate::args::Reproduce;
use crate::console::{self, Stream};
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::lab::simulate::{QUIET, lock};
use crate::lab::sweep::shown_duration;
use crate::table::{self, alone, counted, number, text};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use lasthop_figures::plot;
use lasthop_linux::clock::Clock;
use lasthop_studies::Verdict;
use lasthop_studies::reproduce::run::Progress;
use lasthop_studies::reproduce::words::figure_name;
use lasthop_studies::reproduce::{
    Cost, Outcome, Report, ReproduceError, costs, date, files, plot_name, select,
};
use lasthop_trace::OutputDir;
use lasthop_units::{Duration, Instant};
use std::fmt::Write;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::SystemTime;

/// Time between two lines of progress, without a bar.
const LINE_EVERY: Duration = Duration::from_secs(10);
/// Exit status if a figure fails, with `--check`.
const FAILED_STATUS: u8 = 1;

/// Longest name of a quantity in the table on a terminal, in characters; pipes, pages and JSON have
/// it whole.
const NAME_MAX: usize = 48;
/// Longest statement of a paper in the table on a terminal, in characters.
const WORDS_MAX: usize = 28;

/// Runs the command; returns the exit status.
pub fn reproduce(args: &Reproduce) -> Result<u8, Failure> {
    let is_listed = args.figures.is_none() && !args.all;
    if is_listed && (args.json || args.check || args.out.is_some()) {
        let message = "expected a paper or a figure, such as jumbo/fig4, or --all: \
                       lasthop reproduce lists them";
        return Err(Failure::Message(message.into()));
    }
    let interrupt = Interrupt::catch()?;
    if is_listed {
        console::print(&list(Stream::Output)?)?;
        return Ok(0);
    }
    let figures = select(args.figures.as_deref()).map_err(Failure::message)?;
    let epoch = std::env::var_os("SOURCE_DATE_EPOCH");
    let date = date(epoch.as_deref(), seconds_since_1970()).map_err(Failure::message)?;
    let _lock = lock(args.out.as_deref())?;
    let mut out = args.out.as_ref().map(OutputDir::create).transpose().map_err(Failure::message)?;
    let outcomes = make(&figures, args, &interrupt)?;
    let report = Report::new(&outcomes).dated(date);
    if let Some(mut directory) = out.take() {
        for (name, content) in files(&outcomes, &report) {
            directory.write(&name, &content).map_err(Failure::message)?;
        }
        interrupt.check()?;
        directory.commit().map_err(Failure::message)?;
    }
    if args.json {
        console::print(&report.to_json())?;
    } else {
        let mut text = tables(&outcomes, Stream::Output);
        if let Some(path) = &args.out {
            let _ = writeln!(text, "\nPages: {}", path.join("index.html").display());
        }
        console::print(&text)?;
    }
    let faults = faults(&outcomes);
    for fault in &faults {
        console::error(&format!("wrong plot: {fault}\n"));
    }
    let failed = report.figures.iter().any(|entry| entry.verdict == Verdict::Fail);
    let failed = failed || !faults.is_empty();
    Ok(if args.check && failed { FAILED_STATUS } else { 0 })
}

/// Returns the list of papers and figures, with the cost of each.
fn list(stream: Stream) -> Result<String, Failure> {
    let columns = [text("figure"), text("title"), number("", "runs"), number("simulated", "s")];
    let cells = |cost: Cost| [cost.runs.to_string(), alone(cost.simulated_ms as f64 / 1e3)];
    let figures = select(None).map_err(Failure::message)?;
    let costs = costs(&figures).map_err(failure)?;
    let mut each = figures.iter().zip(&costs.figures).peekable();
    let mut out = String::new();
    for (paper, all) in costs.papers {
        let heading = format!("{}: {}", paper.key, paper.title);
        let _ = writeln!(out, "{}", stream.bold(&heading));
        let mut rows = Vec::new();
        while let Some(((_, figure), cost)) = each.next_if(|((of, _), _)| of.key == paper.key) {
            let [runs, seconds] = cells(*cost);
            let title = if stream.is_terminal() {
                shortened(figure.title, NAME_MAX)
            } else {
                figure.title.to_owned()
            };
            rows.push(vec![format!("{}/{}", paper.key, figure.id), title, runs, seconds]);
        }
        let [runs, seconds] = cells(all);
        rows.push(vec![paper.key.to_owned(), "all of them".into(), runs, seconds]);
        out.push_str(&table::render_all(&columns, &rows, stream));
        out.push('\n');
    }
    let [runs, seconds] = cells(costs.all);
    let _ = writeln!(
        out,
        "lasthop reproduce KEY[/FIGURE] makes one of them, and says meanwhile how long is left;\n\
         --all makes every one: {runs} runs of {seconds} s in all, which take about ten minutes on two cores.",
    );
    Ok(out)
}

#[expect(clippy::disallowed_methods, reason = "the date of a report is that of its making")]
fn seconds_since_1970() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

/// Returns the faults of the plots, independent of the data.
fn faults(outcomes: &[Outcome]) -> Vec<String> {
    let of = |outcome: &Outcome| {
        let name = plot_name(outcome);
        let faults = plot::faults(&outcome.findings.panels).into_iter();
        faults.map(|fault| format!("{name}: {fault}")).collect::<Vec<_>>()
    };
    outcomes.iter().flat_map(of).collect()
}

/// Makes the figures, with a progress bar on a terminal.
fn make(
    figures: &[(
        &'static lasthop_studies::reproduce::Paper,
        &'static lasthop_studies::reproduce::Figure,
    )],
    args: &Reproduce,
    interrupt: &Interrupt,
) -> Result<Vec<Outcome>, Failure> {
    let cores = || thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let jobs = args.jobs.map_or_else(cores, |jobs| jobs as usize);
    let stop = AtomicBool::new(false);
    let clock = Clock::start();
    let bar = OnceLock::new();
    let said_ms = AtomicU64::new(0);
    let progress = |progress: Progress| {
        if interrupt.came() {
            stop.store(true, Ordering::Relaxed);
        }
        let passed = clock.now() - Instant::ZERO;
        if passed < QUIET {
            return;
        }
        if console::is_progress_wanted() {
            let bar = bar.get_or_init(|| new_bar(progress.total_ms, figures.len()));
            bar.set_position(progress.simulated_ms);
            return;
        }
        let passed_ms = passed.as_nanos() / 1_000_000;
        let next = said_ms.load(Ordering::Relaxed);
        let then = passed_ms + LINE_EVERY.as_nanos() / 1_000_000;
        let is_mine = || {
            let exchanged =
                said_ms.compare_exchange(next, then, Ordering::Relaxed, Ordering::Relaxed);
            exchanged.is_ok()
        };
        if passed_ms >= next && is_mine() {
            console::error(&line(progress, passed.as_secs_f64(), figures.len()));
        }
    };
    let outcomes = lasthop_studies::reproduce::reproduce(figures, jobs, &stop, &progress);
    if let Some(bar) = bar.get() {
        bar.finish_and_clear();
    }
    interrupt.check()?;
    outcomes.map_err(failure)
}

fn failure(why: ReproduceError) -> Failure {
    match why {
        ReproduceError::Scenario(error) => Failure::Config(error),
        ReproduceError::Stopped => Failure::Stopped,
        other => Failure::message(other),
    }
}

/// Returns the progress as a line for a log.
fn line(progress: Progress, passed_s: f64, figures: usize) -> String {
    let done = progress.simulated_ms as f64 / (progress.total_ms as f64).max(1.0);
    let left = match done {
        done if done > 0.0 => {
            format!(", about {} left", shown_duration(passed_s / done * (1.0 - done).max(0.0)))
        }
        _ => String::new(),
    };
    format!("{:.0} % of {}{left}\n", 100.0 * done, counted(figures, "figure"))
}

fn new_bar(total_ms: u64, figures: usize) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(total_ms), ProgressDrawTarget::stderr());
    let style = ProgressStyle::with_template("  {bar:40} {percent:>3} % of {msg}  {eta} left")
        .expect("the template is right")
        .progress_chars("=> ");
    bar.set_style(style);
    bar.set_message(counted(figures, "figure"));
    bar
}

/// Returns a table for each paper; below it, failures again with their reasons.
fn tables(outcomes: &[Outcome], stream: Stream) -> String {
    let columns = [
        text("figure"),
        text("quantity"),
        text("unit"),
        number("", "paper"),
        number("", "ours"),
        number("", "band"),
        text("verdict"),
    ];
    // A screen is narrow; what reads a pipe has all.
    let shortened = |text: &str, letters_max| {
        if stream.is_terminal() { shortened(text, letters_max) } else { text.to_owned() }
    };
    let mut out = String::new();
    let mut notes = String::new();
    let (mut passed, mut all) = (0, 0);
    for paper in outcomes.chunk_by(|one, other| one.paper.key == other.paper.key) {
        let mut rows = Vec::new();
        for outcome in paper {
            for (index, quantity) in outcome.findings.quantities.iter().enumerate() {
                let verdict = quantity.verdict();
                let is_pass = verdict == Verdict::Pass;
                all += 1;
                passed += usize::from(is_pass);
                rows.push(vec![
                    if index == 0 { outcome.figure.id.to_owned() } else { String::new() },
                    shortened(&quantity.name, NAME_MAX),
                    quantity.unit.to_owned(),
                    shortened(&quantity.paper_text(), WORDS_MAX),
                    quantity.ours_text(),
                    quantity.band_text(),
                    if is_pass { "pass".to_owned() } else { stream.red("FAIL") },
                ]);
                if verdict == Verdict::Fail {
                    let why = quantity.because.unwrap_or("unknown");
                    let figure = figure_name(outcome.figure.id);
                    let key = outcome.paper.key;
                    let _ = writeln!(notes, "  {key}, {figure}, {}: {why}", quantity.name);
                }
            }
        }
        let [first, ..] = paper else { continue };
        let heading = format!("{}: {}", first.paper.key, first.paper.title);
        let _ = writeln!(out, "{}", stream.bold(&heading));
        out.push_str(&table::render_all(&columns, &rows, stream));
        out.push('\n');
    }
    let mut seeds: Vec<u64> =
        outcomes.iter().flat_map(|outcome| &outcome.runs).map(|run| run.seed).collect();
    seeds.sort_unstable();
    seeds.dedup();
    let seeds: Vec<String> = seeds.iter().map(u64::to_string).collect();
    let _ = writeln!(out, "{passed} of {all} agree; seed {}", seeds.join(", "));
    if !notes.is_empty() {
        let _ = write!(out, "\n{}\n{notes}", stream.bold("Reasons of failures"));
    }
    out
}

/// Returns the first `letters_max` characters, with an ellipsis if there are more.
fn shortened(text: &str, letters_max: usize) -> String {
    if text.chars().count() <= letters_max {
        return text.to_owned();
    }
    let kept: String = text.chars().take(letters_max - 1).collect();
    format!("{}\u{2026}", kept.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_how_long_is_left() {
        let progress = Progress { simulated_ms: 25_000, total_ms: 100_000 };
        assert_eq!(line(progress, 30.0, 1), "25 % of 1 figure, about 90.0 s left\n");
        let begun = Progress { simulated_ms: 0, total_ms: 100_000 };
        assert_eq!(line(begun, 2.0, 12), "0 % of 12 figures\n");
    }

    #[test]
    fn long_texts_end_in_an_ellipsis() {
        assert_eq!(shortened("no loss", 7), "no loss");
        assert_eq!(shortened("no loss at all", 8), "no loss\u{2026}");
    }
}

//! `lasthop demo`: an upload of four connections and a ping over a weak link, before and after the
//! queue is repaired. Uses the kernel's TCP if namespaces are available, else simulates. Prints a
//! small table with the parts of the delay.

use super::{report, simulate};
use crate::console::{self, Stream};
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::lab::dashboard::Dashboard;
use crate::lab::emulate::{self, Show};
use crate::table::{self, number, text, value};
use lasthop_emulate::EmulateOptions;
use lasthop_scenario::Scenario;
use lasthop_trace::{DelayPartsSummary, FlowSummary, Recorder, RunDocument};
use std::fmt::Write;
use std::ops::ControlFlow;
use std::path::Path;

/// The scenario; comments in the file describe it.
const SCENARIO: &str = include_str!("../../../../scenarios/demo.toml");
/// Name of the scenario in errors.
const FILE: &str = "demo.toml";
/// Change that repairs the queue.
const MENDED: &str = "node.laptop.queue.kind=fq-codel";
/// Captions of the two runs.
const CAPTIONS: [&str; 2] = ["drop-tail", "FQ-CoDel"];

/// Runs the command; returns the exit status.
pub fn demo() -> Result<u8, Failure> {
    let interrupt = Interrupt::catch()?;
    let mut out = String::new();
    let (before, after) = match emulated(&interrupt) {
        Ok(documents) => documents,
        Err(Failure::System(why)) => {
            let _ = writeln!(
                out,
                "The kernel refuses what an emulation needs: {why}.\n\
                 So this is simulated, TCP included.\n"
            );
            simulated(&interrupt)?
        }
        Err(other) => return Err(other),
    };
    out.push_str(&story(&before, &after));
    console::print(&out)?;
    Ok(0)
}

/// Returns the scenarios before and after.
fn scenarios() -> Result<[Scenario; 2], Failure> {
    let read = |sets: &[&str]| {
        let sets: Vec<String> = sets.iter().map(|&set| set.to_owned()).collect();
        lasthop_scenario::parse(FILE, SCENARIO, &sets)
    };
    Ok([read(&[])?, read(&[MENDED])?])
}

fn emulated(interrupt: &Interrupt) -> Result<(RunDocument, RunDocument), Failure> {
    let scenarios = scenarios()?;
    let is_watched = console::is_view_wanted();
    if !is_watched && console::is_progress_wanted() {
        let both = scenarios.iter().map(|scenario| scenario.duration).sum();
        let both: lasthop_units::Duration = both;
        console::error(&format!("emulating for {} s ..\n", table::alone(both.as_secs_f64())));
    }
    let length = scenarios.iter().map(|scenario| scenario.duration).sum();
    let dashboard = Dashboard::new("demo", &lasthop_sim::names(&scenarios[0]), length);
    let mut show = Show::new(is_watched.then_some(dashboard));
    let mut one = |scenario: &Scenario, caption: &str| {
        interrupt.check()?;
        show.begin_phase(caption);
        let recording = emulate::recording(scenario, scenario.duration, is_watched);
        let recorder = Recorder::new(lasthop_sim::names(scenario), recording);
        let options =
            EmulateOptions { signal_noted: interrupt.noted(), ..EmulateOptions::default() };
        let (document, outcome) = emulate::run(scenario, &options, recorder, &mut show)?;
        match outcome.interrupted {
            Some(signal) => Err(Failure::Interrupted { signal: signal as u8 }),
            None => Ok(document),
        }
    };
    let before = one(&scenarios[0], CAPTIONS[0])?;
    Ok((before, one(&scenarios[1], CAPTIONS[1])?))
}

fn simulated(interrupt: &Interrupt) -> Result<(RunDocument, RunDocument), Failure> {
    let one = |scenario: &Scenario| {
        let recording = emulate::recording(scenario, scenario.duration, false);
        let recorder = Recorder::new(lasthop_sim::names(scenario), recording);
        simulate::run(Path::new(FILE), scenario, 0, recorder, &mut |_| {
            if interrupt.came() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })
    };
    let [before, after] = scenarios()?;
    let documents = one(&before).and_then(|before| Ok((before, one(&after)?)));
    interrupt.check()?;
    documents
}

/// Returns the tables, and a summary in words.
fn story(before: &RunDocument, after: &RunDocument) -> String {
    let stream = Stream::Output;
    let both = [before, after];
    let title = "The same upload over the same weak link, through two queues";
    let mut out = format!("{}\n{}", stream.bold(title), comparison(both, stream));
    let title = "Where a ping's packet was on its way from laptop to server, ms";
    let _ = write!(out, "\n{}\n{}\n", stream.bold(title), parts(both, stream));
    out.push_str(&words(before, after));
    for run in both {
        if let Some(emulation) = run.emulation.as_ref().filter(|emulation| emulation.late) {
            out.push_str(&report::lateness(emulation, stream));
        }
    }
    let _ = writeln!(
        out,
        "\nNext: lasthop emulate demo -- ping -c 20 server\n\
         \x20     lasthop simulate hello"
    );
    out
}

/// Reads a number from a summary.
type Read<T> = fn(&T) -> Option<f64>;

fn comparison(both: [&RunDocument; 2], stream: Stream) -> String {
    let rows: [(&str, Read<RunDocument>); 4] = [
        ("upload, Mb/s", |run| upload_mbps(run)),
        ("ping, ms: mean", |run| Some(ping(run)?.rtt_ms?.mean)),
        ("          95 %", |run| Some(ping(run)?.rtt_ms?.p95)),
        ("          longest", |run| Some(ping(run)?.rtt_ms?.max)),
    ];
    let rows: Vec<Vec<String>> =
        rows.iter().map(|(label, read)| row(label, both.map(read))).collect();
    table::render(&columns(), &rows, stream)
}

fn parts(both: [&RunDocument; 2], stream: Stream) -> String {
    let rows: [(&str, Read<DelayPartsSummary>); 6] = [
        ("in the laptop's queue, behind the upload", |parts| Some(parts.queue)),
        ("waiting for the channel to be free", |parts| Some(parts.contention)),
        ("sent again, because it did not get across", |parts| Some(parts.retries)),
        ("held back until packets before it had arrived", |parts| Some(parts.reorder)),
        ("on the air", |parts| Some(parts.air)),
        ("on the wire behind the access point", |parts| Some(parts.wire)),
    ];
    let mut rows: Vec<Vec<String>> = rows
        .iter()
        .map(|(label, read)| row(label, both.map(|run| read(&ping_parts(run)?))))
        .collect();
    let sum = both.map(|run| Some(ping(run)?.one_way_delay_ms?.mean));
    rows.push(row("all together", sum));
    table::render(&columns(), &rows, stream)
}

fn columns() -> [table::Column; 3] {
    [text(""), number("", CAPTIONS[0]), number("", CAPTIONS[1])]
}

fn row(label: &str, cells: [Option<f64>; 2]) -> Vec<String> {
    let cells = cells.map(|cell| cell.map_or_else(|| "-".to_owned(), value));
    std::iter::once(label.to_owned()).chain(cells).collect()
}

fn ping(run: &RunDocument) -> Option<&FlowSummary> {
    run.flows.get("ping")
}

fn ping_parts(run: &RunDocument) -> Option<DelayPartsSummary> {
    ping(run)?.delay_parts_ms
}

/// Returns the goodput of all connections of the upload together, in Mb/s.
fn upload_mbps(run: &RunDocument) -> Option<f64> {
    let uploads = run.flows.iter().filter(|(name, _)| name.starts_with("upload"));
    uploads.map(|(_, flow)| flow.goodput_mbps).sum()
}

fn words(before: &RunDocument, after: &RunDocument) -> String {
    let said = || {
        let rtt = |run: &RunDocument| Some(ping(run)?.rtt_ms?.mean);
        let queue = ping_parts(before)?.queue / ping(before)?.one_way_delay_ms?.mean;
        let (slow, fast) = (rtt(before)?, rtt(after)?);
        let cost = 100.0 * (1.0 - upload_mbps(after)? / upload_mbps(before)?);
        let cost = match cost {
            cost if cost.abs() < 2.0 => "at the same speed".to_owned(),
            cost if cost > 0.0 => format!("{cost:.0} % slower"),
            gain => format!("{:.0} % faster", -gain),
        };
        Some(format!(
            "During the upload a ping took {} ms; {:.0} % of its way up was waiting in the laptop's\n\
             own queue. With FQ-CoDel there it takes {} ms, and the upload goes on {cost}.\n\
             Nothing about the radio has changed.\n",
            value(slow),
            100.0 * queue,
            value(fast)
        ))
    };
    said().unwrap_or_else(|| "No ping was answered.\n".into())
}

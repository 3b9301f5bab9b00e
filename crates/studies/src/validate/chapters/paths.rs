//! A coded link on paths of all kinds in virtual time, and on some of them in real
//! time. Cases and their groups are those of [`crate::validate::paths`]; targets and units are in
//! [`outcome`].

use crate::table::Table;
use crate::validate::paths::outcome::{self, PathOutcome};
use crate::validate::paths::{Half, PathCase, PathFamily, grid, real};

/// Number of the run in these tables.
const RUN: u64 = 0;

fn outcomes(cases: &[PathCase]) -> Vec<PathOutcome> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    outcome::outcomes(cases, RUN, threads, &|| ())
}

/// The table of the reported paths, with which the work on other paths started.
pub(super) fn reported() -> Table {
    let is_reported = |case: &PathCase| case.family == PathFamily::Reported;
    let cases: Vec<PathCase> = grid::all().into_iter().filter(is_reported).collect();
    let mut table = outcome::table(&cases, &outcomes(&cases));
    table.notes.push(
        "A burst loses eight packets on average, whenever they are sent. A TCP connection with \
         growing timeouts needs as many timeouts to get past the burst."
            .into(),
    );
    table
}

/// The table of the reported paths under emulation, with the daemon and the kernel's
/// TCP.
pub(super) fn real_time() -> Table {
    let store = real::RealStore::read();
    let known = real::all().into_iter().filter_map(|case| {
        let found = store.found(&case)?.clone();
        Some((case.case, found))
    });
    let (cases, found): (Vec<_>, Vec<_>) = known.unzip();
    let lateness = found.iter().map(|found| found.lateness_us).fold(0.0, f64::max);
    let outcomes: Vec<_> = found.into_iter().map(|found| found.outcome).collect();
    let mut table = outcome::table(&cases, &outcomes);
    table.title = "FRANC, paths of all kinds, real time";
    table.text = "The same paths under `emulate`, with `lasthop franc run` at both ends; inside, \
                  the kernel's CUBIC (iperf3) and pings. Alone: 12 s after 3 s; beside others, \
                  which are the kernel's CUBIC or BBR: 20 s after 8 s. *Carries* is UDP without \
                  the tunnel, converted to TCP's payload. One run each. Targets as above."
        .into();
    table.notes = vec![format!(
        "`cargo run --release -p lasthop-studies -- paths --real` measures the missing rows of \
         `crates/studies/data/paths.csv`. In every emulation 99.9 % of the frames were at most \
         {:.1} ms late.",
        lateness / 1e3
    )];
    table
}

/// The table of the half of the grid with which no constant was chosen.
pub(super) fn judged() -> Table {
    let cases: Vec<PathCase> =
        grid::all().into_iter().filter(|case| case.half == Half::Judged).collect();
    let mut table = outcome::summary(&cases, &outcomes(&cases));
    table.text.push_str(
        " These cases are the half of the grid that was never used to choose a constant; `cargo \
         run --release -p lasthop-studies -- paths --half judged` shows each of them.",
    );
    table
}

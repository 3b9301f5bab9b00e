//! A coded link on paths of all kinds, in virtual time.

use crate::paths::outcome::{self, Outcome};
use crate::paths::{Case, Family, Half, grid};
use crate::table::Table;

/// Of the rows of this page.
const RUN: u64 = 0;

fn outcomes(cases: &[Case]) -> Vec<Outcome> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    outcome::outcomes(cases, RUN, threads, &|| ())
}

/// The rows of the reports that the work on other paths began with.
pub(super) fn reported() -> Table {
    let is_reported = |case: &Case| case.family == Family::Reported;
    let cases: Vec<Case> = grid::all().into_iter().filter(is_reported).collect();
    let mut table = outcome::table(&cases, &outcomes(&cases));
    table.notes.push(
        "In bursts packets are lost for eight packets in the mean, whenever those are sent: a TCP \
         connection that waits longer and longer for its timeouts learns of the end of a burst by as \
         many timeouts."
            .into(),
    );
    table
}

/// The half of the grid that no constant was chosen with.
pub(super) fn judged() -> Table {
    let cases: Vec<Case> =
        grid::all().into_iter().filter(|case| case.half() == Half::Judged).collect();
    let mut table = outcome::summary(&cases, &outcomes(&cases));
    table.text.push_str(
        " These are the cases of the half of the grid that is kept out of every choice of a constant; \
         `cargo run --release -p validate -- paths --half judged` shows each of them.",
    );
    table
}

//! `validate roams`: walks of a station between two access points, of Linux (kept) and of the model
//! (simulated), as tables.

use crate::write_page;
use clap::Args;
use lasthop_studies::Verdict;
use lasthop_studies::validate::roams::{self, CASES, WalkCompared};
use lasthop_studies::validate::summary;
use std::fs;
use std::path::Path;
use std::process::ExitCode;

#[derive(Args)]
pub struct RoamsOptions {
    /// Write docs/validation/vm-roam.csv and the table of docs/validation-vm.md
    #[arg(long)]
    write: bool,
    /// Exit with 1 if a median is out of its band
    #[arg(long)]
    check: bool,
}

/// Compares the roams, prints them, and on request writes them.
#[expect(clippy::print_stdout, reason = "the table is what the command is for")]
pub fn roams(options: &RoamsOptions) -> ExitCode {
    let compared: Vec<_> = CASES.iter().map(WalkCompared::make).collect();
    let table = roams::table(&compared);
    println!("{}", table.markdown());
    let failed = table.count(Verdict::Fail);
    println!("{} figures are in their bands, {failed} are out.", table.count(Verdict::Pass));
    if options.write {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/validation-vm.md");
        let written = fs::read_to_string(page)
            .and_then(|page| {
                let page =
                    roams::in_page(&page, &compared).ok_or(std::io::ErrorKind::InvalidData)?;
                write_page("validation-vm.md", &page)
            })
            .and_then(|()| write_page("validation/vm-roam.csv", &summary::csv(&table)));
        if let Err(error) = written {
            eprintln!("error: docs/validation-vm.md: {error}");
            return ExitCode::from(2);
        }
    }
    if options.check && failed > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

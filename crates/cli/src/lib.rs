//! The `lasthop` command: reads arguments and scenarios, drives `sim` or `emulate`, records with
//! `trace`, and prints the results. The models are in other crates. This is a library so that the
//! build of its tests can turn on its feature `studies`, which a default build leaves out.
//!
//! | module | content |
//! |---|---|
//! | `args` | every verb and flag |
//! | `lab` | all verbs but `franc`: runs, results, captures, measurements |
//! | `franc` | the coded link on real networks |
//! | `address`, `secret` | arguments for hosts, ports and files with keys |
//! | `table` | tables as text |
//! | `console`, `failure`, `interrupt` | the terminal, errors, signals |
//!
//! The feature `franc` is the coded link alone, for routers (`monitor`: with monitor interfaces);
//! `lab` is everything else but the papers, `studies` the papers.

#![forbid(unsafe_code)]

#[cfg(not(any(feature = "franc", feature = "lab")))]
compile_error!("a command without verbs: --features franc, or lab, or both");

#[cfg_attr(not(feature = "lab"), allow(dead_code, reason = "half of it is for measurements"))]
mod address;
mod args;
#[cfg_attr(not(feature = "lab"), allow(dead_code, reason = "without views and progress"))]
mod console;
#[cfg_attr(not(feature = "lab"), allow(dead_code, reason = "only runs end in these ways"))]
mod failure;
#[cfg(feature = "franc")]
mod franc;
#[cfg_attr(not(feature = "lab"), allow(dead_code, reason = "only runs hand it on"))]
mod interrupt;
#[cfg(feature = "lab")]
mod lab;
mod secret;
#[cfg(feature = "lab")]
mod table;

use args::{SchemaOf, Verb};
use console::Stream;
use failure::{ERROR_STATUS, Failure};
use std::process::ExitCode;

/// Runs the command: reads the arguments, prints results and errors.
pub fn main() -> ExitCode {
    #[cfg(feature = "lab")]
    lab::completions::answer();
    let status = match args::parse() {
        Ok(cli) => run(&cli.verb),
        Err(usage) => tell_usage(&usage),
    };
    ExitCode::from(status.unwrap_or_else(|failure| failure.report()))
}

fn run(verb: &Verb) -> Result<u8, Failure> {
    match verb {
        #[cfg(feature = "lab")]
        Verb::Lab(verb) => lab::run(verb),
        #[cfg(feature = "franc")]
        Verb::Franc(verb) => franc::franc(verb),
        Verb::Schema(args) => schema(args.of).map(|()| 0),
    }
}

fn schema(of: SchemaOf) -> Result<(), Failure> {
    let schema = match of {
        #[cfg(feature = "lab")]
        SchemaOf::Scenario => lasthop_scenario::schema(),
        #[cfg(feature = "lab")]
        SchemaOf::Run => lasthop_trace::run_schema(),
        #[cfg(feature = "lab")]
        SchemaOf::RunSet => lasthop_trace::run_set_schema(),
        #[cfg(feature = "lab")]
        SchemaOf::Sweep => lasthop_sweep::schema(),
        #[cfg(feature = "studies")]
        SchemaOf::Reproduce => lasthop_studies::reproduce::schema(),
        #[cfg(all(feature = "lab", not(feature = "studies")))]
        SchemaOf::Reproduce => return Err(lab::without_studies()),
        #[cfg(feature = "lab")]
        SchemaOf::Comparison => lasthop_trace::comparison_schema(),
        #[cfg(feature = "lab")]
        SchemaOf::MeasuredComparison => lasthop_trace::measured_comparison_schema(),
        #[cfg(feature = "lab")]
        SchemaOf::Capture => lasthop_capture::document::schema(),
        #[cfg(feature = "lab")]
        SchemaOf::Apq => lasthop_trace::apq_schema(),
        #[cfg(feature = "franc")]
        SchemaOf::Franc => lasthop_franc_node::document::franc_schema(),
        #[cfg(feature = "lab")]
        SchemaOf::Doctor => lasthop_doctor::schema(),
        #[cfg(feature = "lab")]
        SchemaOf::Medium => lasthop_trace::medium_schema(),
        #[cfg(feature = "franc")]
        SchemaOf::FrancToml => lasthop_franc_node::schema(),
    };
    console::print(&format!("{schema:#}\n"))
}

/// Prints help or version, with status 0, or a usage error, with [`ERROR_STATUS`].
fn tell_usage(usage: &clap::Error) -> Result<u8, Failure> {
    let (stream, status) =
        if usage.use_stderr() { (Stream::Error, ERROR_STATUS) } else { (Stream::Output, 0) };
    stream.write(&args::printed(usage, stream.is_plain()))?;
    Ok(status)
}

//! The `lasthop` command. It reads arguments and scenarios, drives `sim` or `live`,
//! records with `trace`, and prints the results; nothing is modelled here.
//!
//! | module | content |
//! |---|---|
//! | `args` | every verb and flag |
//! | `simulate`, `sweep`, `emulate`, `set`, `compare`, `reproduce`, `apq`, `franc`, `medium`, `capture`, `doctor`, `scenario`, `places`, `demo` | the verbs |
//! | `page` | the verb `report` |
//! | `serve` | the verb `serve` |
//! | `report`, `table` | a run as tables |
//! | `expect` | what runs shall be (`--expect`) |
//! | `dashboard`, `view`, `web` | the live view of a run: what it shows, in a terminal, in a browser |
//! | `console`, `failure`, `interrupt` | the terminal, errors, signals |

#![forbid(unsafe_code)]

mod apq;
mod args;
mod capture;
mod compare;
mod console;
mod dashboard;
mod demo;
mod doctor;
mod emulate;
mod expect;
mod failure;
mod franc;
mod interrupt;
mod medium;
mod page;
mod perfetto;
mod places;
mod report;
mod reproduce;
mod scenario;
mod serve;
mod set;
mod simulate;
mod sweep;
mod table;
mod view;
mod web;

use args::{SchemaOf, Verb};
use console::Stream;
use failure::{ERROR_STATUS, Failure};
use std::process::ExitCode;

fn main() -> ExitCode {
    let status = match args::parse() {
        Ok(cli) => run(&cli.verb),
        Err(usage) => tell_usage(&usage),
    };
    ExitCode::from(status.unwrap_or_else(|failure| failure.report()))
}

fn run(verb: &Verb) -> Result<u8, Failure> {
    match verb {
        Verb::Simulate(args) => simulate::simulate(args),
        Verb::Sweep(args) => sweep::sweep(args),
        Verb::Emulate(args) => emulate::emulate(args),
        Verb::Set(args) => set::set(args).map(|()| 0),
        Verb::Reproduce(args) => reproduce::reproduce(args),
        Verb::Report(args) => page::report(args).map(|()| 0),
        Verb::Serve(args) => serve::serve(args),
        Verb::Compare(args) => compare::compare(args).map(|()| 0),
        Verb::Apq(verb) => apq::apq(verb),
        Verb::Franc(verb) => franc::franc(verb),
        Verb::Medium(args) => medium::medium(args).map(|()| 0),
        Verb::Capture(args) => capture::capture(args).map(|()| 0),
        Verb::Doctor(args) => doctor::doctor(args),
        Verb::Scenario(verb) => scenario::scenario(verb).map(|()| 0),
        Verb::Places => places::places().map(|()| 0),
        Verb::Schema(args) => schema(args.of).map(|()| 0),
        Verb::Demo => demo::demo(),
    }
}

fn schema(of: SchemaOf) -> Result<(), Failure> {
    let schema = match of {
        SchemaOf::Scenario => lasthop_scenario::schema(),
        SchemaOf::Run => lasthop_trace::run_schema(),
        SchemaOf::RunSet => lasthop_trace::run_set_schema(),
        SchemaOf::Sweep => lasthop_sweep::schema(),
        SchemaOf::Reproduce => lasthop_reproduce::schema(),
        SchemaOf::Comparison => lasthop_trace::comparison_schema(),
        SchemaOf::Capture => lasthop_capture::document::schema(),
        SchemaOf::Apq => lasthop_trace::apq_schema(),
        SchemaOf::Franc => lasthop_trace::franc_schema(),
        SchemaOf::Medium => lasthop_trace::medium_schema(),
        SchemaOf::Doctor => lasthop_doctor::schema(),
        SchemaOf::FrancToml => lasthop_scenario::franc::schema(),
    };
    console::print(&format!("{schema:#}\n"))
}

/// Prints help or version, with status 0, or a usage error, with [`ERROR_STATUS`].
fn tell_usage(usage: &clap::Error) -> Result<u8, Failure> {
    let (stream, status) = match usage.use_stderr() {
        true => (Stream::Error, ERROR_STATUS),
        false => (Stream::Output, 0),
    };
    stream.write(&args::printed(usage, stream.is_plain()))?;
    Ok(status)
}

//! The `lasthop` command. It reads arguments and scenarios, drives `sim` or `live`,
//! records with `trace`, and prints the results; nothing is modelled here.
//!
//! | module | content |
//! |---|---|
//! | `args` | every verb and flag |
//! | `lab` | all verbs but `franc`: runs, results, captures, measurements |
//! | `franc` | the coded link on real networks |
//! | `address`, `secret` | arguments for hosts, ports and files with keys |
//! | `table` | tables as text |
//! | `console`, `failure`, `interrupt` | the terminal, errors, signals |

#![forbid(unsafe_code)]

mod address;
mod args;
mod console;
mod failure;
mod franc;
mod interrupt;
mod lab;
mod secret;
mod table;

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
        Verb::Lab(verb) => lab::run(verb),
        Verb::Franc(verb) => franc::franc(verb),
        Verb::Schema(args) => schema(args.of).map(|()| 0),
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

//! `lasthop apq`.

use super::values::{positive_duration, within};
use crate::address::{Host, parse_bind};
use clap::builder::ValueParser;
use clap::{Args, Subcommand, ValueEnum};
use lasthop_live::apq::Bind;
use lasthop_scenario::quantity::Quantity;
use lasthop_units::{Bitrate, Duration};
use std::path::PathBuf;
/// `lasthop apq`.
#[derive(Debug, Subcommand)]
#[command(after_help = "Example, with the access point between the two hosts:
  lasthop apq serve             # on one host
  lasthop apq measure HOST      # on the other")]
pub enum Apq {
    /// Take part in measurements: the far host
    Serve(ApqServe),
    /// Measure the queue between this host and one that serves
    Measure(ApqMeasure),
}

/// `lasthop apq serve`.
#[derive(Debug, Args)]
#[command(
    after_help = "Serves until it is interrupted. It sends only to clients that have proven their address and
go on proving that they receive. In no second is a rate passed by more than 1 %, or by one
packet. Without a key file anybody may measure.

Examples:
  lasthop apq serve
  lasthop apq serve --bind 192.0.2.1:4796 --key-file apq.key --max-rate 50Mb/s"
)]
pub struct ApqServe {
    /// Where, as ADDR, ADDR:PORT or :PORT [default: all addresses, port 4796]
    #[arg(long, value_name = "ADDR:PORT", value_parser = ValueParser::new(parse_bind))]
    pub bind: Option<Bind>,
    /// Serve only clients that have the same file: 16 bytes or more that nobody else may read
    #[arg(long, value_name = "FILE")]
    pub key_file: Option<PathBuf>,
    /// Measurements at a time; one IP address (of IPv6: 64 bits of it) gets half of them at most
    #[arg(long, value_name = "N", default_value = "4", value_parser = ValueParser::new(within(1..=64_u32)))]
    pub sessions: u32,
    /// Most that is sent to a client or to an IP address in any second, IP headers included
    #[arg(long, value_name = "RATE", default_value = "200Mb/s", value_parser = ValueParser::new(positive_rate))]
    pub max_rate: Bitrate,
    /// Most that is sent to all clients together in any second [default: that of --max-rate]
    #[arg(long, value_name = "RATE", value_parser = ValueParser::new(positive_rate))]
    pub max_total_rate: Option<Bitrate>,
    /// Longest measurement
    #[arg(long, value_name = "T", default_value = "6h", value_parser = ValueParser::new(positive_duration))]
    pub max_duration: Duration,
}

/// `lasthop apq measure`.
#[derive(Debug, Args)]
#[command(
    after_help = "HOST must run `lasthop apq serve`, and the access point must be the slowest hop between the two.
Fills the queue until it loses packets, so that other traffic suffers meanwhile: says how much it
will send at most, and asks. An interrupt ends it at once on both sides.

Examples:
  lasthop apq measure server
  lasthop apq measure server --direction both --out results
  lasthop apq measure 192.0.2.1:4796 --method exact --sessions 5 --yes --json"
)]
pub struct ApqMeasure {
    /// The far host; the port is 4796 unless given
    #[arg(value_name = "HOST[:PORT]", value_parser = ValueParser::new(Host::parse))]
    pub host: Host,
    /// Which queue: towards this machine, towards HOST, or both
    #[arg(long, value_enum, default_value = "down")]
    pub direction: ApqWay,
    /// Lengths of IP packets in bytes; two of them tell packets from bytes
    #[arg(long, value_name = "BYTES", default_value = "1500,750", value_delimiter = ',', value_parser = ValueParser::new(within(100..=9_000_u16)))]
    pub packet_size: Vec<u16>,
    /// How: the paper's algorithms to the letter, or bisection and short bursts
    #[arg(long, value_enum, default_value = "fast")]
    pub method: ApqMethodName,
    /// Exact: how many sessions for each length [default: 30]
    #[arg(long, value_name = "N", value_parser = ValueParser::new(within(1..=1_000_u32)))]
    pub sessions: Option<u32>,
    /// Exact: how long each rate is tried [default: 60s]
    #[arg(long, value_name = "T", value_parser = ValueParser::new(positive_duration))]
    pub dwell: Option<Duration>,
    /// Exact: from one rate to the next, in packets a second [default: 50]
    #[arg(long, value_name = "N", value_parser = ValueParser::new(positive_number))]
    pub step: Option<f64>,
    /// Exact: rate that fills the queue, in packets a second [default: searched for]
    #[arg(long, value_name = "N", value_parser = ValueParser::new(positive_number))]
    pub saturation_rate: Option<f64>,
    /// Exact: length of a session relative to the paper's 120 s, up to 1 [default: 1]
    #[arg(long, value_name = "X", value_parser = ValueParser::new(time_scale))]
    pub time_scale: Option<f64>,
    /// Fast: half the width of the confidence interval that is enough, relative to the mean [default: 0.01]
    #[arg(long, value_name = "P", value_parser = ValueParser::new(precision))]
    pub precision: Option<f64>,
    /// Fast: longest time for one direction [default: 60s]
    #[arg(long, value_name = "T", value_parser = ValueParser::new(positive_duration))]
    pub duration: Option<Duration>,
    /// Do not find out the discipline of the queue
    #[arg(long)]
    pub no_discipline: bool,
    /// Most that is sent, IP headers included
    #[arg(long, value_name = "RATE", default_value = "200Mb/s", value_parser = ValueParser::new(positive_rate))]
    pub max_rate: Bitrate,
    /// The key that HOST asks for: the same file as there
    #[arg(long, value_name = "FILE")]
    pub key_file: Option<PathBuf>,
    /// Agree to what will be sent, without being asked
    #[arg(long)]
    pub yes: bool,
    /// Write apq.json, samples.parquet, plots (SVG and PNG) and report.html to this directory
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Print one JSON document on standard output, and nothing else
    #[arg(long)]
    pub json: bool,
}

/// Which queues are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ApqWay {
    /// Towards this machine
    Down,
    /// Towards HOST
    Up,
    /// One after the other
    Both,
}

/// How a queue is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ApqMethodName {
    /// The paper's two algorithms: hours
    Exact,
    /// Bisection and short bursts: a minute
    Fast,
}

fn positive_rate(text: &str) -> Result<Bitrate, String> {
    let expected = |why: &dyn std::fmt::Display| {
        format!("expected a bit rate, such as 50Mb/s (units: {}): {why}", Bitrate::UNITS.join(", "))
    };
    match Bitrate::parse(text) {
        Ok(rate) if rate.as_bps() == 0 => Err(expected(&"it is zero")),
        Ok(rate) => Ok(rate),
        Err(why) => Err(expected(&why)),
    }
}

fn number_in(text: &str, is_allowed: fn(f64) -> bool, expected: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() && is_allowed(number) => Ok(number),
        _ => Err(format!("expected a number {expected}")),
    }
}

fn positive_number(text: &str) -> Result<f64, String> {
    number_in(text, |number| number > 0.0 && number <= 1e7, "above 0, up to 10000000")
}

fn time_scale(text: &str) -> Result<f64, String> {
    number_in(text, |number| (0.01..=1.0).contains(&number), "from 0.01 to 1")
}

fn precision(text: &str) -> Result<f64, String> {
    number_in(text, |number| number > 0.0 && number <= 0.5, "above 0, up to 0.5")
}

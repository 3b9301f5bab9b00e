//! `lasthop apq` and its subcommands.

use super::values::{positive_duration, within};
use crate::address::{Host, parse_bind};
use clap::builder::ValueParser;
use clap::{Args, Subcommand, ValueEnum};
use lasthop_daemon::apq::Bind;
use lasthop_scenario::quantity::Quantity;
use lasthop_units::{Bitrate, Duration};
use std::path::PathBuf;
/// Arguments of `lasthop apq`.
#[derive(Debug, Subcommand)]
#[command(after_help = "Example, with the access point between the two hosts:
  lasthop apq serve             # on one host
  lasthop apq measure HOST      # on the other")]
pub enum Apq {
    /// Answer measurements from other hosts
    Serve(ApqServe),
    /// Measure the queue between this host and one that runs apq serve
    Measure(ApqMeasure),
}

/// Arguments of `lasthop apq serve`.
#[derive(Debug, Args)]
#[command(
    after_help = "Serves until interrupted. Sends only to clients that have proved their address and keep proving
that they receive. In any second, a rate is exceeded by at most 1 %, or one packet. Without a key
file, every host may measure.

Examples:
  lasthop apq serve
  lasthop apq serve --bind 192.0.2.1:4796 --key-file apq.key --max-rate 50Mb/s"
)]
pub struct ApqServe {
    /// Local ADDR, ADDR:PORT or :PORT [default: port 4796 of all addresses]
    #[arg(long, value_name = "ADDR:PORT", value_parser = ValueParser::new(parse_bind))]
    pub bind: Option<Bind>,
    /// Serve only clients with the same key: 16 bytes or more, readable only by you
    #[arg(long, value_name = "FILE")]
    pub key_file: Option<PathBuf>,
    /// Parallel measurements; one IP address (IPv6: one /64) gets at most half
    #[arg(long, value_name = "N", default_value = "4", value_parser = ValueParser::new(within(1..=64_u32)))]
    pub sessions: u32,
    /// Highest rate to a client or IP address in any second, with IP headers
    #[arg(long, value_name = "RATE", default_value = "200Mb/s", value_parser = ValueParser::new(positive_rate))]
    pub max_rate: Bitrate,
    /// Highest rate to all clients together [default: that of --max-rate]
    #[arg(long, value_name = "RATE", value_parser = ValueParser::new(positive_rate))]
    pub max_total_rate: Option<Bitrate>,
    /// Longest duration of a measurement
    #[arg(long, value_name = "TIME", default_value = "6h", value_parser = ValueParser::new(positive_duration))]
    pub max_duration: Duration,
}

/// Arguments of `lasthop apq measure`.
#[derive(Debug, Args)]
#[command(
    after_help = "HOST must run `lasthop apq serve`, and the access point must be the slowest hop on the path. The
measurement fills the queue until it drops packets, which disturbs other traffic: the command shows
how much it will send at most, and asks first. An interrupt stops both hosts at once.

Examples:
  lasthop apq measure server
  lasthop apq measure server --direction both --out results
  lasthop apq measure 192.0.2.1:4796 --method exact --sessions 5 --yes --json"
)]
pub struct ApqMeasure {
    /// Host that runs apq serve; the default port is 4796
    #[arg(value_name = "HOST[:PORT]", value_parser = ValueParser::new(Host::parse))]
    pub host: Host,
    /// Direction of the queue
    #[arg(long, value_name = "WAY", value_enum, default_value = "down")]
    pub direction: ApqWay,
    /// Lengths of IP packets, in bytes; repeatable
    ///
    /// Two lengths show whether the queue's limit counts packets or bytes.
    #[arg(long, value_name = "BYTES", hide_short_help = true, default_value = "1500,750", value_delimiter = ',', value_parser = ValueParser::new(within(100..=9_000_u16)))]
    pub packet_size: Vec<u16>,
    /// Method of the measurement
    #[arg(long, value_name = "NAME", value_enum, default_value = "fast")]
    pub method: ApqMethodName,
    /// Exact: number of sessions for each length [default: 30]
    #[arg(long, hide_short_help = true, value_name = "N", value_parser = ValueParser::new(within(1..=1_000_u32)))]
    pub sessions: Option<u32>,
    /// Exact: time at each rate [default: 60s]
    #[arg(long, hide_short_help = true, value_name = "TIME", value_parser = ValueParser::new(positive_duration))]
    pub dwell: Option<Duration>,
    /// Exact: step from one rate to the next, in packets a second [default: 50]
    #[arg(long, hide_short_help = true, value_name = "N", value_parser = ValueParser::new(positive_number))]
    pub step: Option<f64>,
    /// Exact: rate that fills the queue, in packets a second [default: found by a search]
    #[arg(long, hide_short_help = true, value_name = "N", value_parser = ValueParser::new(positive_number))]
    pub saturation_rate: Option<f64>,
    /// Exact: duration of a session relative to the paper's 120 s, up to 1 [default: 1]
    #[arg(long, hide_short_help = true, value_name = "X", value_parser = ValueParser::new(time_scale))]
    pub time_scale: Option<f64>,
    /// Fast: half-width of the confidence interval at which to stop, relative to the mean
    /// [default: 0.01]
    #[arg(long, hide_short_help = true, value_name = "P", value_parser = ValueParser::new(precision))]
    pub precision: Option<f64>,
    /// Fast: longest time for a direction [default: 60s]
    #[arg(long, value_name = "TIME", value_parser = ValueParser::new(positive_duration))]
    pub duration: Option<Duration>,
    /// Skip the test for the queue's discipline
    #[arg(long, hide_short_help = true)]
    pub no_discipline: bool,
    /// Highest rate, with IP headers
    #[arg(long, value_name = "RATE", default_value = "200Mb/s", value_parser = ValueParser::new(positive_rate))]
    pub max_rate: Bitrate,
    /// Key file, the same as that of HOST
    #[arg(long, value_name = "FILE")]
    pub key_file: Option<PathBuf>,
    /// Start without asking
    #[arg(long)]
    pub yes: bool,
    /// Write results and a page (report.html) to DIR
    ///
    /// The files are apq.json, samples.parquet, plots (SVG and PNG) and report.html.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Print only one JSON document on standard output
    #[arg(long)]
    pub json: bool,
}

/// Directions of the measured queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ApqWay {
    /// The queue towards this machine
    Down,
    /// The queue towards HOST
    Up,
    /// Both queues, one after the other
    Both,
}

/// Methods of measuring a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ApqMethodName {
    /// The two algorithms of the paper, unchanged: hours
    Exact,
    /// Bisection and short bursts: one minute
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

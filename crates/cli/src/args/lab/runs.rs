//! Verbs that run scenarios, and the verb `scenario`.

use super::values::{count, port, port_or_free, positive_duration, seed, within};
use crate::lab::completions;
use clap::builder::ValueParser;
use clap::{Args, Subcommand, ValueEnum};
use lasthop_emulate::Published;
use lasthop_report::expectation::Expectation;
use lasthop_sweep::Shard;
use lasthop_units::Duration;
use std::borrow::Cow;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Folder of the built-in scenarios that are places.
pub const PLACES: &str = "places";

/// Arguments of `lasthop simulate`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  lasthop simulate hello
  lasthop simulate contention --set node.sta.count=50 --runs 10
  lasthop simulate hello --seed 7 --out results --pcap
  lasthop simulate upload --expect 'flow.ping.rtt_ms.p95 < 1000'")]
pub struct Simulate {
    /// The scenario and its changes.
    #[command(flatten)]
    pub scenario: ScenarioArgs,
    /// Number of independent runs
    ///
    /// Runs are numbered from 0, and each has independent random numbers.
    #[arg(long, value_name = "N", default_value = "1", value_parser = ValueParser::new(count))]
    pub runs: u32,
    /// Number of parallel runs [default: one per core]
    ///
    /// The results do not depend on it.
    #[arg(long, value_name = "N", hide_short_help = true, value_parser = ValueParser::new(count))]
    pub threads: Option<u32>,
    /// Destination of the results.
    #[command(flatten)]
    pub output: OutputArgs,
    /// Write events.parquet for each of several runs
    ///
    /// A single run always has it.
    #[arg(long, requires = "out", hide_short_help = true)]
    pub events: bool,
    /// Write the payload of packets to captures
    ///
    /// Without this flag, captures omit the payload, which is all zero.
    #[arg(long, requires = "pcap", hide_short_help = true)]
    pub payload: bool,
    /// Conditions of the runs.
    #[command(flatten)]
    pub expected: ExpectArgs,
}

/// Arguments of `lasthop sweep`.
#[derive(Debug, Args)]
#[command(
    after_help = "VALUES is a list (1,2,5), all integers of a range (1..20), equal steps (1ms..9ms:5), or equal
ratios (log:1ms..100ms:5). The same command resumes a sweep that was stopped.

Examples:
  lasthop sweep contention --vary node.sta.count=1,2,5,10,20 --runs 10 --out results
  lasthop sweep upload --vary wire.*.delay=log:1ms..100ms:5 --vary seed=1..3 --out results",
    after_long_help = "VALUES is a,b,c, or FROM..TO:COUNT (equal steps), or log:FROM..TO:COUNT (equal ratios), or
FROM..TO (all integers). The table [sweep] of a scenario file has the same forms.
The same command resumes a sweep that was stopped. With more values or more runs, it makes only
the missing ones. The exit status is 1 if a run failed; its row has the reason.

Examples:
  lasthop sweep contention --vary node.sta.count=1,2,5,10,20 --runs 10 --out results
  lasthop sweep upload --vary wire.*.delay=log:1ms..100ms:5 --vary seed=1..3 --out results
  lasthop sweep contention --vary node.sta.count=1..50 --shard 3/8 --out results
  lasthop sweep --merge results"
)]
pub struct Sweep {
    /// The scenario and its changes.
    #[command(flatten)]
    pub scenario: Option<ScenarioArgs>,
    /// A key and its values; repeatable
    ///
    /// Several keys give every combination of their values [default: those of the file]
    #[arg(long, value_name = "PATH=VALUES", add = completions::keys())]
    pub vary: Vec<String>,
    /// Combine the first values of all keys, then the second ones, and so on
    #[arg(long, requires = "vary", hide_short_help = true)]
    pub zip: bool,
    /// Independent runs of each combination [default: 1]
    #[arg(long, value_name = "N", value_parser = ValueParser::new(count))]
    pub runs: Option<u32>,
    /// Number of parallel runs [default: one per core]
    ///
    /// The results do not depend on it.
    #[arg(long, value_name = "N", hide_short_help = true, value_parser = ValueParser::new(within(1..=4_096_u32)))]
    pub threads: Option<u32>,
    /// Make only part I of N of the runs, to share a sweep between N machines
    ///
    /// Makes every Nth run, beginning with the Ith.
    #[arg(long, value_name = "I/N", hide_short_help = true, value_parser = ValueParser::new(Shard::parse))]
    pub shard: Option<Shard>,
    /// Also write the series of each run, to folders named KEY=VALUE/../run=N
    #[arg(long, hide_short_help = true)]
    pub series: bool,
    /// Directory for tables, index.html and the journal
    ///
    /// Tables are Parquet files. The journal is the list of finished runs, by which the sweep
    /// resumes.
    #[arg(long, value_name = "DIR", required_unless_present = "merge")]
    pub out: Option<PathBuf>,
    /// Merge the shards in DIR into one sweep; make no runs
    #[arg(long, value_name = "DIR", exclusive = true, hide_short_help = true)]
    pub merge: Option<PathBuf>,
    /// Print only one JSON document on standard output
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `lasthop emulate`.
#[derive(Debug, Args)]
#[command(
    after_help = "COMMAND reaches each node by its name. The exit status is COMMAND's.

Examples:
  lasthop emulate upload
  lasthop emulate --place cafe -- ping -c 10 server
  lasthop emulate upload --in server --out results -- bash
  lasthop emulate upload --reach 3000 -- curl http://host.lasthop:3000/
  lasthop emulate upload --web",
    after_long_help = "COMMAND reaches each node by its name (ping server); the variable LASTHOP_NAME_ADDR has the
node's address. COMMAND starts after the scenario's warm-up, with this terminal's standard input
and output; with --json its output goes to standard error.
The exit status is COMMAND's, also after an interrupt, which COMMAND receives, too. Without COMMAND
it is 130 after an interrupt. It is 0 if --duration ended COMMAND, 1 if a condition of --expect does
not hold, 2 after an error. An interrupt ends the emulation early and reports its measurements.

Examples:
  lasthop emulate upload
  lasthop emulate upload -- ping -c 10 server
  lasthop emulate --place cafe -- ping -c 10 server
  lasthop emulate upload --in server --out results -- bash
  lasthop emulate upload --expect 'flow.ping.rtt_ms.p95 < 1000' -- ping -c 10 server
  lasthop emulate upload --reach 3000 -- curl http://host.lasthop:3000/
  lasthop emulate upload --in server --publish 8000 -- python3 -m http.server 8000
  lasthop emulate upload --outside -- curl https://example.com/
  lasthop emulate upload --web"
)]
pub struct Emulate {
    /// The scenario and its changes.
    #[command(flatten)]
    pub scenario: ScenarioArgs,
    /// Time after which the emulation ends, such as 30s
    ///
    /// The time counts from the start of COMMAND, or without COMMAND from the start of the emulation
    /// [default: the end of COMMAND, else the scenario's duration]
    #[arg(long, value_name = "TIME", value_parser = ValueParser::new(positive_duration))]
    pub duration: Option<Duration>,
    /// Node that runs COMMAND [default: the first station]
    #[arg(long = "in", value_name = "NODE", requires = "command", add = completions::nodes())]
    pub in_node: Option<String>,
    /// Connect the nodes to this machine's network and DNS
    ///
    /// Requires the program slirp4netns.
    #[arg(long)]
    pub outside: bool,
    /// Let nodes reach localhost:PORT as host.lasthop:PORT
    ///
    /// Programs in the nodes then reach this port of this machine's loopback, TCP and UDP. The option
    /// may be repeated.
    #[arg(long, value_name = "PORT", value_parser = ValueParser::new(port))]
    pub reach: Vec<u16>,
    /// Open localhost:PORT to a node, through the hop
    ///
    /// Opens a port of 127.0.0.1, TCP and UDP. The full form is PORT:NODE:PORT, with the node and
    /// its port [default: the node of COMMAND, the same port]. The option may be repeated.
    #[arg(long, value_name = "PORT", value_parser = ValueParser::new(parse_published))]
    pub publish: Vec<Published>,
    /// Node that --outside, --reach and --publish are attached to
    ///
    /// [default: a host, else an access point, else a station, on the other side of the air]
    #[arg(long, value_name = "NODE", hide_short_help = true, add = completions::nodes())]
    pub outside_at: Option<String>,
    /// Show and change the running emulation in a browser
    ///
    /// Listens on a port of 127.0.0.1 [default: a free one].
    #[arg(
        long,
        value_name = "PORT",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "0",
        value_parser = ValueParser::new(port_or_free)
    )]
    pub web: Option<u16>,
    /// Destination of the results.
    #[command(flatten)]
    pub output: OutputArgs,
    /// Conditions of the run.
    #[command(flatten)]
    pub expected: ExpectArgs,
    /// Print only the programs' output and errors
    #[arg(short, long, conflicts_with = "json")]
    pub quiet: bool,
    /// Print all tables: other users' flows, and all nodes, links and wires
    #[arg(long, hide_short_help = true)]
    pub all: bool,
    /// Program behind the hop; the emulation ends with it
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

/// Arguments of `lasthop set`.
#[derive(Debug, Args)]
#[command(
    after_help = "The keys are those that a [[change]] of a scenario may have. emulate --out writes the changes
as [[change]] to scenario.toml, and simulate repeats them at the same times. COMMAND of emulate can
call lasthop set, too.

Examples, an outage of two seconds while `lasthop emulate hello` runs in another terminal:
  lasthop set
  lasthop set link.ap-laptop.loss=1
  sleep 2; lasthop set link.ap-laptop.loss=off"
)]
pub struct Set {
    /// Keys and their new values [default: list the keys]
    #[arg(value_name = "PATH=VALUE")]
    pub sets: Vec<String>,
    /// List the keys of all stations, not only of the first
    #[arg(long, conflicts_with = "sets")]
    pub all: bool,
    /// Process ID of the emulation [default: this user's only one]
    #[arg(long, value_name = "PID", value_parser = ValueParser::new(within(1..=i32::MAX)))]
    pub pid: Option<i32>,
}

/// Arguments of `lasthop compare`.
#[derive(Debug, Args)]
#[command(
    after_help = "Flows of kind tcp use lasthop's TCP in the simulation and the kernel's in the emulation. The
simulation runs without TCP small queues, because a TAP device takes the kernel's packets at once.

With --with nothing is emulated: FILE is .flent.gz of flent, JSON of iperf3 or irtt, or a capture, and
SCENARIO may be the folder that simulate --out wrote, whose runs are repeated.

Examples:
  lasthop compare upload
  lasthop compare upload --with mine.flent.gz --runs 5
  lasthop compare upload --set flow.upload.congestion_control=reno --runs 3 --out both"
)]
pub struct Compare {
    /// The scenario and its changes.
    #[command(flatten)]
    pub scenario: ScenarioArgs,
    /// Duration of a run, such as 30s [default: the scenario's]
    #[arg(long, value_name = "TIME", value_parser = ValueParser::new(positive_duration))]
    pub duration: Option<Duration>,
    /// Independent runs of each kind; the table has means
    #[arg(long, value_name = "N", default_value = "1", value_parser = ValueParser::new(count))]
    pub runs: u32,
    /// Compare with a measurement instead of an emulation
    #[arg(long, value_name = "FILE")]
    pub with: Option<PathBuf>,
    /// When FILE begins, in the scenario's time [default: 0s]
    #[arg(long, value_name = "TIME", requires = "with", value_parser = ValueParser::new(positive_duration))]
    pub at: Option<Duration>,
    /// Only these flows, such as my-* [default: all]
    #[arg(long, value_name = "NAME", requires = "with")]
    pub flow: Vec<String>,
    /// Write documents, files of runs and report.html to DIR
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Print only one JSON document on standard output
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `lasthop scenario`.
#[derive(Debug, Subcommand)]
#[command(after_help = "Examples:
  lasthop scenario list
  lasthop scenario show hello
  lasthop scenario init my.toml --from upload
  lasthop scenario from mine.flent.gz > my.toml")]
pub enum ScenarioVerb {
    /// List the built-in scenarios and their subjects
    #[command(after_help = "Example:
  lasthop scenario list")]
    List,
    /// Print a built-in scenario
    Show(ScenarioShow),
    /// Write a new scenario file to start from
    Init(ScenarioInit),
    /// Print a scenario that begins with the metadata of flent's results
    From(ScenarioFrom),
}

/// Arguments of `lasthop scenario from`.
#[derive(Debug, Args)]
#[command(after_help = "Comments say what the file has and what is assumed.

Example:
  lasthop scenario from mine.flent.gz > my.toml")]
pub struct ScenarioFrom {
    /// Results of flent (.flent.gz)
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
}

/// Arguments of `lasthop scenario show`.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  lasthop scenario show hello")]
pub struct ScenarioShow {
    /// Name of the scenario (see lasthop scenario list)
    #[arg(value_name = "NAME", add = completions::names())]
    pub name: String,
}

/// Arguments of `lasthop scenario init`.
#[derive(Debug, Args)]
#[command(after_help = "An existing FILE is an error (exit status 2) and stays unchanged.

Examples:
  lasthop scenario init my.toml
  lasthop scenario init my.toml --from upload")]
pub struct ScenarioInit {
    /// Path of the new file
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Copy a built-in scenario [default: a short one with comments]
    #[arg(long, value_name = "NAME", add = completions::names())]
    pub from: Option<String>,
}

/// A scenario and its changes.
#[derive(Debug, Args)]
pub struct ScenarioArgs {
    /// File, built-in name (lasthop scenario list), or - for stdin
    #[arg(value_name = "SCENARIO", required_unless_present = "place", add = completions::scenarios())]
    pub file: Option<PathBuf>,
    /// Run a built-in place, such as cafe (lasthop places)
    #[arg(long, value_name = "NAME", conflicts_with = "file", add = completions::places())]
    pub place: Option<String>,
    /// Change a key, as in node.laptop.queue.kind=fq-codel
    #[arg(long, value_name = "PATH=VALUE", add = completions::keys())]
    pub set: Vec<String>,
    /// Seed of the random numbers [default: the scenario's]
    #[arg(long, value_name = "N", value_parser = ValueParser::new(seed))]
    pub seed: Option<u64>,
}

impl ScenarioArgs {
    /// Returns the file, `-`, or the name of a built-in scenario.
    pub fn asked(&self) -> Cow<'_, Path> {
        match (&self.file, &self.place) {
            (Some(file), _) => file.into(),
            (None, place) => Path::new(PLACES).join(place.as_deref().unwrap_or_default()).into(),
        }
    }

    /// Returns the `--set` arguments; the seed is the last.
    pub fn sets(&self) -> Vec<String> {
        let seed = self.seed.map(|seed| format!("seed={seed}"));
        self.set.iter().cloned().chain(seed).collect()
    }
}

/// Destination of the results.
#[derive(Debug, Args)]
pub struct OutputArgs {
    /// Write results and a page (report.html) to DIR
    ///
    /// The files are run.json, scenario.toml, events.parquet, series.parquet and report.html.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Also write captures (pcapng) to the DIR of --out
    ///
    /// air.pcapng has the frames on the air, node-NAME.pcapng the packets of each node.
    #[arg(long, requires = "out")]
    pub pcap: bool,
    /// Write the air of a single run to FILE for the Perfetto viewer (ui.perfetto.dev)
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub perfetto: Option<PathBuf>,
    /// Print only one JSON document on standard output
    #[arg(long)]
    pub json: bool,
}

/// Conditions that runs must meet.
#[derive(Debug, Args)]
pub struct ExpectArgs {
    /// Exit with 1 unless this holds; repeatable
    ///
    /// CONDITION compares a number of run.json, without its unit, such as
    /// 'flow.ping.rtt_ms.p95 < 100'. The condition must hold in every run and for every name that a * matches.
    #[arg(long, value_name = "CONDITION", value_parser = ValueParser::new(Expectation::parse))]
    pub expect: Vec<Expectation>,
    /// Write conditions and measured values to FILE as JUnit XML
    #[arg(long, value_name = "FILE", requires = "expect", hide_short_help = true)]
    pub junit: Option<PathBuf>,
}

/// Arguments of `lasthop medium`.
#[derive(Debug, Args)]
#[command(
    after_help = "Makes a mac80211_hwsim radio for each access point and station, named as its node, and removes
the radios at the end. hostapd, wpa_supplicant and mac80211's rate control run above them as on
hardware; contention, fading, losses and retries are the scenario's. Needs CAP_NET_ADMIN in its
network namespace. Ends at an interrupt, with status 0.

Examples:
  modprobe mac80211_hwsim radios=0
  lasthop medium hello
  lasthop medium hello --radio laptop=phy0 --set link.ap-laptop.snr=12dB"
)]
pub struct Medium {
    /// The scenario and its changes.
    #[command(flatten)]
    pub scenario: ScenarioArgs,
    /// Use an existing radio, as in laptop=phy0; repeatable
    #[arg(long, value_name = "NODE=RADIO")]
    pub radio: Vec<String>,
    /// Layer that makes A-MPDUs
    #[arg(long, value_name = "LAYER", value_enum, default_value = "radio", hide_short_help = true)]
    pub aggregation: AggregationBy,
    /// Time after which the command ends [default: never]
    ///
    /// Such as 30s. Without it, an interrupt ends the command.
    #[arg(long, value_name = "TIME", value_parser = ValueParser::new(positive_duration))]
    pub duration: Option<Duration>,
    /// Print only one JSON document on standard output, at the end
    #[arg(long)]
    pub json: bool,
}

/// Layer that makes A-MPDUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum AggregationBy {
    /// The radio, as firmware does; the kernel's rate control gets the status of each MPDU
    Radio,
    /// mac80211; its rate control then does not adapt, because hwsim reports no status to it
    Kernel,
    /// No aggregation
    None,
}

/// Parses a published port: `8080`, `8080:server` or `8080:server:80`.
fn parse_published(text: &str) -> Result<Published, String> {
    let port = |word: &str| match word.parse() {
        Ok(0) | Err(_) => Err(format!("{word:?} is no port from 1 to 65535")),
        Ok(port) => Ok(port),
    };
    let words: Vec<&str> = text.split(':').collect();
    let (own, node, node_port) = match words[..] {
        [own] => (own, None, own),
        [own, node] => (own, Some(node), own),
        [own, node, node_port] => (own, Some(node), node_port),
        _ => return Err("expected PORT, PORT:NODE or PORT:NODE:PORT".into()),
    };
    if node == Some("") {
        return Err("the name of the node is empty".into());
    }
    Ok(Published { port: port(own)?, node: node.map(Into::into), node_port: port(node_port)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_published_port_has_up_to_three_parts() {
        let published = |port, node: Option<&str>, node_port| {
            Ok(Published { port, node: node.map(Into::into), node_port })
        };
        assert_eq!(parse_published("8080"), published(8080, None, 8080));
        assert_eq!(parse_published("8080:ap"), published(8080, Some("ap"), 8080));
        assert_eq!(parse_published("8080:ap:80"), published(8080, Some("ap"), 80));
        for wrong in ["", "0", "65536", "80:", "80:ap:", "80::80", "80:ap:80:1", "ap:80"] {
            assert!(parse_published(wrong).is_err(), "{wrong:?}");
        }
    }
}

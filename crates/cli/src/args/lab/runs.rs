//! Verbs that run scenarios, and scenarios themselves.

use super::values::{count, port, port_or_free, positive_duration, seed, within};
use crate::lab::completions;
use clap::builder::ValueParser;
use clap::{Args, Subcommand, ValueEnum};
use lasthop_live::Published;
use lasthop_report::expectation::Expectation;
use lasthop_sweep::Shard;
use lasthop_units::Duration;
use std::borrow::Cow;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
/// The folder of scenarios that are places.
pub const PLACES: &str = "places";

/// `lasthop simulate`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  lasthop simulate hello
  lasthop simulate contention --set node.sta.count=50 --runs 10
  lasthop simulate hello --seed 7 --out results --pcap
  lasthop simulate upload --expect 'flow.ping.rtt_ms.p95 < 1000' --junit upload.xml")]
pub struct Simulate {
    /// What to run.
    #[command(flatten)]
    pub scenario: ScenarioArgs,
    /// Runs with independent random numbers, numbered from 0
    #[arg(long, value_name = "N", default_value = "1", value_parser = ValueParser::new(count))]
    pub runs: u32,
    /// Runs at a time [default: one on every core]; the result is the same
    #[arg(long, value_name = "N", value_parser = ValueParser::new(count))]
    pub threads: Option<u32>,
    /// Where results go.
    #[command(flatten)]
    pub output: OutputArgs,
    /// With several runs, write events.parquet of each too (a single run always has it)
    #[arg(long, requires = "out")]
    pub events: bool,
    /// With --pcap, do not leave out the payload of packets, which is zero
    #[arg(long, requires = "pcap")]
    pub payload: bool,
    /// What the runs shall be.
    #[command(flatten)]
    pub expected: ExpectArgs,
}

/// `lasthop sweep`.
#[derive(Debug, Args)]
#[command(
    after_help = "VALUES are a,b,c, or FROM..TO:COUNT (equal distances), or log:FROM..TO:COUNT (equal ratios),
or FROM..TO (all whole numbers). The table [sweep] of a scenario file says the same.
The same command goes on where it was stopped, and makes only what is missing when there are
more values or more runs. The exit status is 1 if a run failed (its row says why).

Examples:
  lasthop sweep contention --vary node.sta.count=1,2,5,10,20 --runs 10 --out results
  lasthop sweep upload --vary wire.*.delay=log:1ms..100ms:5 --vary seed=1..3 --out results
  lasthop sweep contention --vary node.sta.count=1..50 --shard 3/8 --out results
  lasthop sweep --merge results"
)]
pub struct Sweep {
    /// What to run.
    #[command(flatten)]
    pub scenario: Option<ScenarioArgs>,
    /// A key and its values; several keys give every combination [default: those of the scenario's table sweep]
    #[arg(long, value_name = "PATH=VALUES", add = completions::keys())]
    pub vary: Vec<String>,
    /// Take the first values of all keys together, then the second ones, and so on
    #[arg(long, requires = "vary")]
    pub zip: bool,
    /// Runs of each combination, with independent random numbers [default: 1]
    #[arg(long, value_name = "N", value_parser = ValueParser::new(count))]
    pub runs: Option<u32>,
    /// Runs at a time [default: one on every core]; the results are the same
    #[arg(long, value_name = "N", value_parser = ValueParser::new(within(1..=4_096_u32)))]
    pub threads: Option<u32>,
    /// Make only every Nth run, beginning with the Ith: one of N machines with the same folder
    #[arg(long, value_name = "I/N", value_parser = ValueParser::new(Shard::parse))]
    pub shard: Option<Shard>,
    /// Also write the series of each run, to folders named KEY=VALUE/../run=N
    #[arg(long)]
    pub series: bool,
    /// Directory of the sweep: its tables (Parquet), its page (index.html), and its journal
    #[arg(long, value_name = "DIR", required_unless_present = "merge")]
    pub out: Option<PathBuf>,
    /// Make one sweep of the shards in DIR, and run nothing
    #[arg(long, value_name = "DIR", exclusive = true)]
    pub merge: Option<PathBuf>,
    /// Print one JSON document on standard output, and nothing else
    #[arg(long)]
    pub json: bool,
}

/// `lasthop emulate`.
#[derive(Debug, Args)]
#[command(
    after_help = "In COMMAND, every node has its name (ping server) and the variable LASTHOP_NAME_ADDR.
COMMAND begins after the scenario's warm-up, and has standard input and output; with --json its
output goes to standard error. The exit status is COMMAND's own, if it has one, also after an
interrupt, which is passed on to it; without one it is 130 then. It is 0 if --duration ended
COMMAND, 1 if something is not as expected (--expect), 2 after an error.
An interrupt ends the emulation early and reports the measurements until then.

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
    /// What to run.
    #[command(flatten)]
    pub scenario: ScenarioArgs,
    /// End after this long, such as 30s, of COMMAND or without one of the emulation [default: with
    /// COMMAND, else the scenario's duration]
    #[arg(long, value_name = "T", value_parser = ValueParser::new(positive_duration))]
    pub duration: Option<Duration>,
    /// Node to run COMMAND in [default: the first station]
    #[arg(long = "in", value_name = "NODE", requires = "command", add = completions::nodes())]
    pub in_node: Option<String>,
    /// Give the nodes a way to this machine's network and its DNS (takes slirp4netns)
    #[arg(long)]
    pub outside: bool,
    /// Let the nodes reach a port of this machine's loopback, TCP and UDP, at host.lasthop:PORT
    #[arg(long, value_name = "PORT", value_parser = ValueParser::new(port))]
    pub reach: Vec<u16>,
    /// Open a port of 127.0.0.1, TCP and UDP, that leads to a node through the Wi-Fi hop
    /// [default: COMMAND's, same port]
    #[arg(long, value_name = "PORT[:NODE[:PORT]]", value_parser = ValueParser::new(parse_published))]
    pub publish: Vec<Published>,
    /// Node where all that begins [default: a host, else an access point, else a station, on the
    /// other side of the air]
    #[arg(long, value_name = "NODE", add = completions::nodes())]
    pub outside_at: Option<String>,
    /// Show it in a browser while it runs, with what can be changed, at a port of 127.0.0.1
    /// [default: a free one]
    #[arg(
        long,
        value_name = "PORT",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "0",
        value_parser = ValueParser::new(port_or_free)
    )]
    pub web: Option<u16>,
    /// Where results go.
    #[command(flatten)]
    pub output: OutputArgs,
    /// What the run shall be.
    #[command(flatten)]
    pub expected: ExpectArgs,
    /// Print what the programs write and errors, and nothing else
    #[arg(short, long, conflicts_with = "json")]
    pub quiet: bool,
    /// Print all tables: other people's flows, and all nodes, links and wires
    #[arg(long)]
    pub all: bool,
    /// Program to run behind the hop, and its arguments; the emulation ends with it
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

/// `lasthop set`.
#[derive(Debug, Args)]
#[command(
    after_help = "What may change is what a [[change]] of a scenario may. In the folder of emulate --out,
scenario.toml has what was set as [[change]]: simulate makes the same changes at the same times.
COMMAND of emulate can call it, too.

Examples, an outage of two seconds while `lasthop emulate hello` runs in another terminal:
  lasthop set
  lasthop set link.ap-laptop.loss=1
  sleep 2; lasthop set link.ap-laptop.loss=off"
)]
pub struct Set {
    /// Keys and values; without any, what can be changed is listed
    #[arg(value_name = "PATH=VALUE")]
    pub sets: Vec<String>,
    /// List the keys of all nodes, not of the first station, access points and wires alone
    #[arg(long, conflicts_with = "sets")]
    pub all: bool,
    /// The process that runs the emulation [default: this user's only one]
    #[arg(long, value_name = "PID", value_parser = ValueParser::new(within(1..=i32::MAX)))]
    pub pid: Option<i32>,
}

/// `lasthop compare`.
#[derive(Debug, Args)]
#[command(
    after_help = "A flow of kind tcp is our TCP on one side and the kernel's on the other. The simulated side
runs without TCP small queues, because a TAP device takes packets from the kernel's at once.

Examples:
  lasthop compare upload
  lasthop compare upload --set flow.upload.congestion_control=reno --runs 3 --out both"
)]
pub struct Compare {
    /// What to run.
    #[command(flatten)]
    pub scenario: ScenarioArgs,
    /// Length of a run, such as 30s [default: the scenario's duration]
    #[arg(long, value_name = "T", value_parser = ValueParser::new(positive_duration))]
    pub duration: Option<Duration>,
    /// Runs of each kind with independent random numbers; their means are shown
    #[arg(long, value_name = "N", default_value = "1", value_parser = ValueParser::new(count))]
    pub runs: u32,
    /// Write comparison.json, the files of each run and report.html to this directory
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Print one JSON document on standard output, and nothing else
    #[arg(long)]
    pub json: bool,
}

/// `lasthop scenario`.
#[derive(Debug, Subcommand)]
#[command(after_help = "Examples:
  lasthop scenario list
  lasthop scenario show hello
  lasthop scenario init my.toml --from upload")]
pub enum ScenarioVerb {
    /// List the scenarios inside the program, each with what it shows
    #[command(after_help = "Example:
  lasthop scenario list")]
    List,
    /// Print one of them
    Show(ScenarioShow),
    /// Write a scenario to start from to a new file
    Init(ScenarioInit),
}

/// `lasthop scenario show`.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  lasthop scenario show hello")]
pub struct ScenarioShow {
    /// Its name, as lasthop scenario list has it
    #[arg(value_name = "NAME", add = completions::names())]
    pub name: String,
}

/// `lasthop scenario init`.
#[derive(Debug, Args)]
#[command(after_help = "A file that exists stays as it is, and the exit status is 2.

Examples:
  lasthop scenario init my.toml
  lasthop scenario init my.toml --from upload")]
pub struct ScenarioInit {
    /// The new file
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Copy this one, as lasthop scenario list has it [default: a commented one of its own]
    #[arg(long, value_name = "NAME", add = completions::names())]
    pub from: Option<String>,
}

/// Which scenario, and what to change in it.
#[derive(Debug, Args)]
pub struct ScenarioArgs {
    /// Scenario: a file, or the name of one inside the program (see lasthop scenario list), or
    /// - for standard input
    #[arg(value_name = "SCENARIO", required_unless_present = "place", add = completions::scenarios())]
    pub file: Option<PathBuf>,
    /// Take a place that people know, such as cafe, instead of SCENARIO (see lasthop places)
    #[arg(long, value_name = "NAME", conflicts_with = "file", add = completions::places())]
    pub place: Option<String>,
    /// Change a key of the scenario, such as node.laptop.queue.kind=fq-codel
    #[arg(long, value_name = "PATH=VALUE", add = completions::keys())]
    pub set: Vec<String>,
    /// Seed of all random numbers [default: the scenario's]
    #[arg(long, value_name = "N", value_parser = ValueParser::new(seed))]
    pub seed: Option<u64>,
}

impl ScenarioArgs {
    /// What is asked for: a file, `-`, or a name inside the program.
    pub fn asked(&self) -> Cow<'_, Path> {
        match (&self.file, &self.place) {
            (Some(file), _) => file.into(),
            (None, place) => Path::new(PLACES).join(place.as_deref().unwrap_or_default()).into(),
        }
    }

    /// The `--set` arguments, with the seed as the last.
    pub fn sets(&self) -> Vec<String> {
        let seed = self.seed.map(|seed| format!("seed={seed}"));
        self.set.iter().cloned().chain(seed).collect()
    }
}

/// Where results go.
#[derive(Debug, Args)]
pub struct OutputArgs {
    /// Write run.json, scenario.toml, events.parquet, series.parquet and report.html to this
    /// directory
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Also write captures: air.pcapng, and node-NAME.pcapng of every node
    #[arg(long, requires = "out")]
    pub pcap: bool,
    /// Write the air of a single run to this file, for the Perfetto viewer (ui.perfetto.dev)
    #[arg(long, value_name = "FILE")]
    pub perfetto: Option<PathBuf>,
    /// Print one JSON document on standard output, and nothing else
    #[arg(long)]
    pub json: bool,
}

/// What runs shall be.
#[derive(Debug, Args)]
pub struct ExpectArgs {
    /// Exit with 1 unless this holds, of every run and of all that * stands for; repeatable.
    /// Such as 'flow.ping.rtt_ms.p95 < 100': a number of run.json, without its unit
    #[arg(long, value_name = "QUANTITY<NUMBER", value_parser = ValueParser::new(Expectation::parse))]
    pub expect: Vec<Expectation>,
    /// Write what was expected and what it was to this file, as JUnit does
    #[arg(long, value_name = "FILE", requires = "expect")]
    pub junit: Option<PathBuf>,
}

/// `lasthop medium`.
#[derive(Debug, Args)]
#[command(
    after_help = "Every access point and station of the scenario is a radio of the kernel's module mac80211_hwsim,
made with the name of its node and gone with this command, or one that exists (--radio). hostapd,
wpa_supplicant, mac80211 and its rate control run above it as they would on hardware; contention,
fading, losses and retries are the scenario's. It takes CAP_NET_ADMIN in its network namespace.
An interrupt is its usual end, with status 0.

Examples:
  modprobe mac80211_hwsim radios=0
  lasthop medium hello
  lasthop medium hello --radio laptop=phy0 --set link.ap-laptop.snr=12dB"
)]
pub struct Medium {
    /// What to run.
    #[command(flatten)]
    pub scenario: ScenarioArgs,
    /// Use a radio that exists for this node, such as laptop=phy0; repeatable
    #[arg(long, value_name = "NODE=RADIO")]
    pub radio: Vec<String>,
    /// Who makes A-MPDUs
    #[arg(long, value_name = "BY", value_enum, default_value = "radio")]
    pub aggregation: AggregationBy,
    /// End after this long, such as 30s [default: at an interrupt]
    #[arg(long, value_name = "T", value_parser = ValueParser::new(positive_duration))]
    pub duration: Option<Duration>,
    /// Print one JSON document on standard output at the end, and nothing else there
    #[arg(long)]
    pub json: bool,
}

/// Who makes A-MPDUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum AggregationBy {
    /// The radio, as firmware does; the kernel's rate control hears of each MPDU
    Radio,
    /// mac80211; its rate control then does not adapt, as hwsim tells it nothing
    Kernel,
    /// Nobody
    None,
}

/// Reads a published port: `8080`, `8080:server` or `8080:server:80`.
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

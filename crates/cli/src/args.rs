//! The command line: every verb and every flag, declared once. Flags that verbs share
//! are flattened into them. Help texts end in examples that can be copied. The flags of
//! `franc run` that are keys of `franc.toml` are made elsewhere (`franc::flags`).

use crate::apq::address::{Host, parse_bind};
use crate::franc::flags::KeyFlags;
use clap::builder::ValueParser;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, Command, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use lasthop_doctor::document::Verb as DoctorVerb;
use lasthop_live::Published;
use lasthop_live::apq::Bind;
use lasthop_report::expectation::Expectation;
use lasthop_scenario::quantity::Quantity;
use lasthop_sweep::Shard;
use lasthop_units::{Bitrate, Duration};
use std::borrow::Cow;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The folder of scenarios that are places.
pub const PLACES: &str = "places";

/// Simulate, emulate, measure and mend the Wi-Fi hop.
#[derive(Debug, Parser)]
#[command(name = "lasthop", version, max_term_width = 96, subcommand_required = true)]
#[command(after_help = "Examples:
  lasthop demo
  lasthop simulate hello
  lasthop emulate upload -- ping -c 10 server")]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub verb: Verb,
}

/// The verbs.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Run a scenario in virtual time: fast, and the same result every time
    Simulate(Simulate),
    /// Run every combination of some keys of a scenario, many times, into tables
    Sweep(Sweep),
    /// Run real programs and the kernel's TCP over the scenario's hop, in real time
    Emulate(Emulate),
    /// Change a running emulation, or list what can be changed
    Set(Set),
    /// Say what is wrong with a run, and why: a folder with results as one HTML page
    Report(Report),
    /// Show runs in a browser: over time, side by side, and every frame on the air
    Serve(Serve),
    /// Reproduce the figures of papers: theirs, ours, verdict
    Reproduce(Reproduce),
    /// Run a scenario in virtual time and in real time, and show both side by side
    Compare(Compare),
    /// Measure the queue of an access point on a real network
    #[command(subcommand)]
    Apq(Apq),
    /// Make a lossy link reliable: a network-coded tunnel between two hosts
    #[command(subcommand)]
    Franc(Franc),
    /// Put the kernel's simulated radios (mac80211_hwsim) on a scenario's air
    Medium(Medium),
    /// Read a capture of the air, and say what is wrong with the link
    Capture(Capture),
    /// Say what this machine can do, what its Wi-Fi adds to delay, and what helps
    Doctor(Doctor),
    /// List, show and copy the scenarios that are inside the program
    #[command(subcommand)]
    Scenario(ScenarioVerb),
    /// List places that people know, and what to expect there: a café, a train, a conference
    #[command(
        after_help = "A place is a scenario inside the program: `lasthop scenario show places/cafe` has its reasons.
In all of them laptop is behind Wi-Fi, and server behind the line.

Examples:
  lasthop places
  lasthop emulate --place cafe -- ping -c 10 server"
    )]
    Places,
    /// Print a JSON Schema
    Schema(Schema),
    /// Watch a queue ruin a ping, and see it mended: half a minute of real TCP
    #[command(after_help = "Example:
  lasthop demo")]
    Demo,
}

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
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u32).range(1..))]
    pub runs: u32,
    /// Runs at a time [default: one on every core]; the result is the same
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
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
    #[arg(long, value_name = "PATH=VALUES")]
    pub vary: Vec<String>,
    /// Take the first values of all keys together, then the second ones, and so on
    #[arg(long, requires = "vary")]
    pub zip: bool,
    /// Runs of each combination, with independent random numbers [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub runs: Option<u32>,
    /// Runs at a time [default: one on every core]; the results are the same
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
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
COMMAND has standard input and output; with --json its output goes to standard error.
The exit status is that of COMMAND; 0 if it had none or --duration ended it, but 1 if something
is not as expected (--expect); 130 after an interrupt, 2 after an error.
An interrupt ends it early; what was measured until then is reported all the same.

Examples:
  lasthop emulate upload
  lasthop emulate upload -- ping -c 10 server
  lasthop emulate --place cafe -- ping -c 10 server
  lasthop emulate upload --in server --out results -- bash
  lasthop emulate upload --expect 'flow.ping.rtt_ms.p95 < 1000' -- ping -c 10 server
  lasthop emulate upload --reach 3000 -- curl http://host.lasthop:3000/
  lasthop emulate upload --outside -- curl https://example.com/
  lasthop emulate upload --web"
)]
pub struct Emulate {
    /// What to run.
    #[command(flatten)]
    pub scenario: ScenarioArgs,
    /// End after this long, such as 30s [default: with COMMAND, else the scenario's duration]
    #[arg(long, value_name = "T", value_parser = ValueParser::new(positive_duration))]
    pub duration: Option<Duration>,
    /// Node to run COMMAND in [default: the first station]
    #[arg(long = "in", value_name = "NODE", requires = "command")]
    pub in_node: Option<String>,
    /// Give the nodes a way to this machine's network and its DNS (takes slirp4netns)
    #[arg(long)]
    pub outside: bool,
    /// Let the nodes reach a TCP port of this machine's loopback, at host.lasthop:PORT
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    pub reach: Vec<u16>,
    /// Open a TCP port of this machine's loopback that leads to a node [default: COMMAND's, same port]
    #[arg(long, value_name = "PORT[:NODE[:PORT]]", value_parser = ValueParser::new(parse_published))]
    pub publish: Vec<Published>,
    /// Node where all that begins [default: the first host, else the access point]
    #[arg(long, value_name = "NODE")]
    pub outside_at: Option<String>,
    /// Show it in a browser while it runs, with what can be changed, at a port of 127.0.0.1
    /// [default: a free one]
    #[arg(
        long,
        value_name = "PORT",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "0"
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
    /// The process that runs the emulation [default: the only one]
    #[arg(long, value_name = "PID", value_parser = clap::value_parser!(i32).range(1..))]
    pub pid: Option<i32>,
}

/// `lasthop report`.
#[derive(Debug, Args)]
#[command(
    after_help = "The page has what is wrong and what may help, plots, and the scenario. It needs no network. DIR
is what simulate, emulate, compare, apq measure, sweep or capture wrote with --out. Several
folders of simulate or emulate are shown beside each other: what differs, and by how much.

Examples, a run and its page, and two beside each other:
  lasthop simulate upload --out before
  lasthop report before --output upload.html
  lasthop simulate upload --set node.laptop.queue.kind=fq-codel --out after
  lasthop report before after --output both.html"
)]
pub struct Report {
    /// Folder with results, which --out made
    #[arg(value_name = "DIR", required = true)]
    pub folders: Vec<PathBuf>,
    /// The page [default of a single DIR: DIR/report.html]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Do not try the remedies in virtual time
    #[arg(long)]
    pub no_trials: bool,
}

/// `lasthop serve`.
#[derive(Debug, Args)]
#[command(
    after_help = "Serves this machine's browsers only, at an address that nobody can guess, until it is
interrupted. It writes nothing, and needs no network.

Examples, a run with and without a remedy, side by side:
  lasthop simulate upload --out runs/before
  lasthop simulate upload --set node.laptop.queue.kind=fq-codel --out runs/after
  lasthop serve runs"
)]
pub struct Serve {
    /// Folder of a run, or of folders of runs, which --out made
    #[arg(value_name = "DIR", default_value = ".")]
    pub folder: PathBuf,
    /// Port on 127.0.0.1 [default: a free one]
    #[arg(long, value_name = "PORT", default_value = "0", hide_default_value = true)]
    pub port: u16,
}

/// `lasthop reproduce`.
#[derive(Debug, Args)]
#[command(
    after_help = "A figure that fails is shown as failing, and why; the exit status tells of it with --check only.

Examples:
  lasthop reproduce
  lasthop reproduce scan --out results
  lasthop reproduce jumbo/fig4 --json"
)]
pub struct Reproduce {
    /// A paper, or one figure of it [default: all]
    #[arg(value_name = "KEY[/FIGURE]")]
    pub figures: Option<String>,
    /// Write plots (SVG and PNG), a page for each paper (start at index.html) and
    /// reproduce.json to this directory
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Runs at a time [default: one on every core]; the result is the same
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub jobs: Option<u32>,
    /// Exit with 1 if a figure fails
    #[arg(long)]
    pub check: bool,
    /// Print one JSON document on standard output, and nothing else
    #[arg(long)]
    pub json: bool,
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
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u32).range(1..))]
    pub runs: u32,
    /// Write comparison.json, the files of each run and report.html to this directory
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Print one JSON document on standard output, and nothing else
    #[arg(long)]
    pub json: bool,
}

/// `lasthop apq`.
#[derive(Debug, Subcommand)]
#[command(after_help = "Example, with the access point between the two hosts:
  lasthop apq serve             on one host
  lasthop apq measure HOST      on the other")]
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
    #[arg(long, value_name = "N", default_value = "4", value_parser = clap::value_parser!(u32).range(1..=64))]
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
    #[arg(long, value_name = "BYTES", default_value = "1500,750", value_delimiter = ',', value_parser = clap::value_parser!(u16).range(100..=9000))]
    pub packet_size: Vec<u16>,
    /// How: the paper's algorithms to the letter, or bisection and short bursts
    #[arg(long, value_enum, default_value = "fast")]
    pub method: ApqMethodName,
    /// Exact: how many sessions for each length [default: 30]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
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

/// `lasthop franc`.
#[derive(Debug, Subcommand)]
#[command(after_help = "Example, on the two hosts of a link (HOST is the other one):
  lasthop franc key --out link.key       on one, then copy the file to the other
  lasthop franc run --id 1 --peer 2 --neighbours 2=HOST --key-file link.key --address 10.9.0.1/24
  lasthop franc run --id 2 --peer 1 --neighbours 1=HOST --key-file link.key --address 10.9.0.2/24
  ping 10.9.0.2")]
pub enum Franc {
    /// Run a node of a link: an end with its tunnel interface, a helper, a recoder, a forwarder
    Run(FrancRun),
    /// Show what a running node counted
    Stats(FrancStats),
    /// Make a shared key, or derive the key of nodes that must not read
    Key(FrancKey),
}

/// `lasthop franc run`.
#[derive(Debug, Args)]
#[command(
    after_help = "Runs until it is interrupted. Needs the capability CAP_NET_ADMIN for the tunnel interface, and
CAP_NET_RAW with ethernet: setcap cap_net_admin,cap_net_raw+ep lasthop, or a systemd unit.

Examples:
  lasthop franc run /etc/lasthop/franc0.toml
  lasthop franc run --id 1 --peer 2 --neighbours 2=192.0.2.2 --key-file link.key --address 10.9.0.1/24
  lasthop franc run --id 3 --role helper --between 1,2 --transport ethernet --interface wlan0 --key-file hop.key"
)]
pub struct FrancRun {
    /// File with the node's configuration; flags take precedence
    #[arg(value_name = "CONFIG.toml")]
    pub config: Option<PathBuf>,
    /// The keys of the file.
    #[command(flatten)]
    pub keys: KeyFlags,
}

/// `lasthop franc stats`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  lasthop franc stats
  lasthop franc stats --name franc1 --watch
  lasthop franc stats --json")]
pub struct FrancStats {
    /// Which link of this host
    #[arg(long, value_name = "NAME", default_value = "franc0")]
    pub name: String,
    /// The control socket, if it is not at the usual place
    #[arg(long, value_name = "PATH")]
    pub socket: Option<PathBuf>,
    /// Show it again every second, until interrupted
    #[arg(long)]
    pub watch: bool,
    /// Print one JSON document on standard output, and nothing else
    #[arg(long, conflicts_with = "prometheus")]
    pub json: bool,
    /// Print the text that Prometheus reads
    #[arg(long)]
    pub prometheus: bool,
}

/// `lasthop franc key`.
#[derive(Debug, Args)]
#[command(
    after_help = "Helpers, recoders and forwarders need the hop key only: with it they check and combine, but
cannot read what the ends send.

Examples:
  lasthop franc key --out link.key
  lasthop franc key --hop link.key --out hop.key"
)]
pub struct FrancKey {
    /// Derive the hop key from the shared key in this file
    #[arg(long, value_name = "FILE")]
    pub hop: Option<PathBuf>,
    /// Write it to this file, which nobody else may read, instead of standard output
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
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
    #[arg(value_name = "NAME")]
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
    #[arg(long, value_name = "NAME")]
    pub from: Option<String>,
}

/// Which scenario, and what to change in it.
#[derive(Debug, Args)]
pub struct ScenarioArgs {
    /// Scenario: a file, or the name of one inside the program (see lasthop scenario list), or
    /// - for standard input
    #[arg(value_name = "SCENARIO", required_unless_present = "place")]
    pub file: Option<PathBuf>,
    /// Take a place that people know, such as cafe, instead of SCENARIO (see lasthop places)
    #[arg(long, value_name = "NAME", conflicts_with = "file")]
    pub place: Option<String>,
    /// Change a key of the scenario, such as node.laptop.queue.kind=fq-codel
    #[arg(long, value_name = "PATH=VALUE")]
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
  lasthop medium hello --radio laptop=phy0 --set link.snr=12dB"
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

/// `lasthop capture`.
#[derive(Debug, Args)]
#[command(
    after_help = "A capture of an interface, or of a pipe, shows what is found so far on a terminal, until q, an
interrupt, or the end of the pipe; then the report follows. Keys: s orders stations otherwise,
d shows what they send or receive, the arrows and PgUp, PgDn scroll.

Examples:
  lasthop capture air.pcapng
  lasthop capture air.pcapng --out result   # then open result/capture.html
  lasthop capture monitor.pcap.gz --json
  lasthop capture air.pcapng --with laptop.pcap --with server.pcap
  lasthop capture air.pcapng --psk 'home:correct horse battery'
  lasthop capture --live mon0
  ssh ap tcpdump -i mon0 -U -w - | lasthop capture -"
)]
pub struct Capture {
    /// Capture file (pcap or pcapng, also compressed with gzip or zstd); - is the standard input
    #[arg(value_name = "FILE", required_unless_present = "live")]
    pub file: Option<PathBuf>,
    /// Capture what this interface receives until an interrupt; takes the capability CAP_NET_RAW
    #[arg(long, value_name = "IFACE", conflicts_with = "file")]
    pub live: Option<String>,
    /// Say what is found so far each second: on a terminal as a view, also of a file, otherwise
    /// as lines on standard error
    #[arg(long)]
    pub watch: bool,
    /// Write the result, series and absences as Parquet, and a page to this directory
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Another capture of the same minutes (the station's own, the server's): clocks are aligned,
    /// and segments of TCP followed through all files
    #[arg(long = "with", value_name = "FILE", requires = "file", conflicts_with_all = ["live", "watch"])]
    pub with: Vec<PathBuf>,
    /// What apq measure or franc stats printed as JSON in these minutes: shown beside
    #[arg(long, value_name = "FILE.json")]
    pub context: Vec<PathBuf>,
    /// Open WPA2-PSK: a passphrase or 64 hexadecimal digits, for this or every network; repeatable
    #[arg(long, value_name = "[SSID:]PASSPHRASE", allow_hyphen_values = true)]
    pub psk: Vec<String>,
    /// The same from a file, one on a line: it does not show in ps; repeatable
    #[arg(long, value_name = "FILE")]
    pub psk_file: Vec<PathBuf>,
    /// Print one JSON document on standard output, and nothing else
    #[arg(long)]
    pub json: bool,
}

/// `lasthop doctor`.
#[derive(Debug, Args)]
#[command(
    after_help = "It needs no root and changes nothing: a namespace that is made ends with the command, no module
is loaded, no packet is sent. Root reads more: mac80211's debugfs. Remedies are printed, not run.
The exit status is 0 whatever is found; with --require it is 1 if one of these does not work.

Examples:
  lasthop doctor
  lasthop doctor --json
  lasthop doctor --require emulate --require apq"
)]
pub struct Doctor {
    /// Exit with 1 if this does not work here; repeatable
    #[arg(long, value_name = "VERB", value_parser = crate::doctor::verbs())]
    pub require: Vec<DoctorVerb>,
    /// Print one JSON document on standard output, and nothing else
    #[arg(long)]
    pub json: bool,
}

/// `lasthop schema`.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  lasthop schema scenario > scenario.schema.json")]
pub struct Schema {
    /// What it is of
    #[arg(value_name = "WHAT")]
    pub of: SchemaOf,
}

/// What there is a schema of.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum SchemaOf {
    /// A scenario file (TOML)
    Scenario,
    /// run.json, a run in what `simulate --json` prints, and what `emulate --json` prints
    Run,
    /// What `simulate --json` prints, and runs.json
    RunSet,
    /// sweep.json, what was asked of a sweep
    Sweep,
    /// What `reproduce --json` prints, and reproduce.json
    Reproduce,
    /// What --json prints of a comparison
    Comparison,
    /// What `capture --json` prints
    Capture,
    /// What `apq measure --json` prints, and apq.json
    Apq,
    /// What `franc stats --json` prints
    Franc,
    /// What `medium --json` prints
    Medium,
    /// What `doctor --json` prints
    Doctor,
    /// What `franc run` reads (TOML)
    FrancToml,
}

fn positive_duration(text: &str) -> Result<Duration, String> {
    let expected = |why: &dyn std::fmt::Display| {
        format!("expected a time, such as 30s (units: {}): {why}", Duration::UNITS.join(", "))
    };
    match Duration::parse(text) {
        Ok(Duration::ZERO) => Err(expected(&"it is zero")),
        Ok(duration) => Ok(duration),
        Err(why) => Err(expected(&why)),
    }
}

fn seed(text: &str) -> Result<u64, String> {
    let seed = text.parse().ok().filter(|seed| *seed <= i64::MAX as u64);
    seed.ok_or_else(|| format!("expected a whole number from 0 to {}", i64::MAX))
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

/// Stands for a space of an example until the help is printed: no line is broken there.
const UNBROKEN: char = '\u{a0}';

/// The command with what holds for every verb: numbers may be negative, so that each flag says
/// itself what it allows; examples keep their lines, so that they can be pasted.
fn prepared(command: Command) -> Command {
    let command = command.mut_args(|arg| {
        let is_valued = !arg.is_positional() && arg.get_action().takes_values();
        if is_valued { arg.allow_negative_numbers(true) } else { arg }
    });
    let command = match command.get_after_help().map(ToString::to_string) {
        Some(help) => command.after_help(unbroken(&help)),
        None => command,
    };
    command.mut_subcommands(prepared)
}

/// The text with sentences on one line, which is wrapped as wide as the terminal is, and with
/// no place to break lines that are indented.
fn unbroken(help: &str) -> String {
    let mut out = String::new();
    let mut is_sentence = false;
    for line in help.lines() {
        let is_next = !line.is_empty() && !line.starts_with(' ');
        match (out.is_empty(), is_sentence && is_next) {
            (true, _) => {}
            (_, true) => out.push(' '),
            (_, false) => out.push('\n'),
        }
        is_sentence = is_next;
        match line.starts_with(' ') {
            true => out.extend(line.chars().map(|c| if c == ' ' { UNBROKEN } else { c })),
            false => out.push_str(line),
        }
    }
    out
}

/// Reads the command line.
///
/// # Errors
/// If it is wrong, or asks for help; [`printed`] has the text.
pub fn parse() -> Result<Cli, clap::Error> {
    let mut command = prepared(Cli::command());
    let matches =
        command.try_get_matches_from_mut(std::env::args_os()).map_err(without_wrong_tip)?;
    Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
}

/// Without the tip to put what looks like a negative quantity, as in `--duration -5s`, behind
/// `--`: there it would be another argument.
fn without_wrong_tip(mut usage: clap::Error) -> clap::Error {
    let is_quantity = match usage.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(text)) => text
            .strip_prefix('-')
            .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit())),
        _ => false,
    };
    if is_quantity {
        usage.remove(ContextKind::Suggested);
    }
    usage
}

/// A text of clap's as it is printed.
pub fn printed(usage: &clap::Error, is_plain: bool) -> String {
    let text = usage.render();
    let text = if is_plain { text.to_string() } else { text.ansi().to_string() };
    let is_help = matches!(
        usage.kind(),
        ErrorKind::DisplayHelp | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
    );
    if is_help { text.replace(UNBROKEN, " ") } else { text }
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
    fn the_command_line_is_consistent() {
        prepared(Cli::command()).debug_assert();
    }

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

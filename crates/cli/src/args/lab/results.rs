//! Verbs that read results and captures, and that reproduce figures.

use super::values::{count, port_or_free};
use crate::lab::completions;
use clap::Args;
use clap::builder::ValueParser;
use std::path::PathBuf;
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
    #[arg(long, value_name = "PORT", default_value = "0", hide_default_value = true, value_parser = ValueParser::new(port_or_free))]
    pub port: u16,
}

/// `lasthop reproduce`.
#[derive(Debug, Args)]
#[command(
    after_help = "Without a key it lists the papers and figures, with what their runs take. A figure that
fails is shown as failing, and why; the exit status tells of it with --check only.

Examples:
  lasthop reproduce
  lasthop reproduce scan --out results
  lasthop reproduce jumbo/fig4 --json
  lasthop reproduce --all"
)]
pub struct Reproduce {
    /// A paper, or one figure of it [default: list them]
    #[arg(value_name = "KEY[/FIGURE]", add = completions::figures())]
    pub figures: Option<String>,
    /// Make every figure of every paper
    #[arg(long, conflicts_with = "figures")]
    pub all: bool,
    /// Write plots (SVG and PNG), a page for each paper (start at index.html) and
    /// reproduce.json to this directory
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Runs at a time [default: one on every core]; the result is the same
    #[arg(long, value_name = "N", value_parser = ValueParser::new(count))]
    pub jobs: Option<u32>,
    /// Exit with 1 if a figure fails
    #[arg(long)]
    pub check: bool,
    /// Print one JSON document on standard output, and nothing else
    #[arg(long)]
    pub json: bool,
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

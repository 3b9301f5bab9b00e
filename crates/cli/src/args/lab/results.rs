//! Verbs that read results and captures, and the verb `reproduce`.

use super::values::{count, port_or_free};
use crate::lab::completions;
use clap::Args;
use clap::builder::ValueParser;
use std::path::PathBuf;

/// Arguments of `lasthop report`.
#[derive(Debug, Args)]
#[command(
    after_help = "DIR is a folder that simulate, emulate, compare, apq measure, sweep or capture wrote with --out.
The page has problems and remedies, plots, and the scenario, and works offline. With several
folders of simulate or emulate, it compares the runs.

Examples, a run and its page, and two beside each other:
  lasthop simulate upload --out before
  lasthop report before --output upload.html
  lasthop simulate upload --set node.laptop.queue.kind=fq-codel --out after
  lasthop report before after --output both.html"
)]
pub struct Report {
    /// Folder with results, written by --out
    #[arg(value_name = "DIR", required = true)]
    pub folders: Vec<PathBuf>,
    /// Page to write [default with one DIR: DIR/report.html]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Do not simulate the remedies
    #[arg(long)]
    pub no_trials: bool,
}

/// Arguments of `lasthop serve`.
#[derive(Debug, Args)]
#[command(
    after_help = "Serves browsers of this machine only, at an address with a random token, until interrupted.
Writes no files and needs no network.

Examples, a run with and without a remedy, side by side:
  lasthop simulate upload --out runs/before
  lasthop simulate upload --set node.laptop.queue.kind=fq-codel --out runs/after
  lasthop serve runs"
)]
pub struct Serve {
    /// Folder of a run, or of folders of runs, written by --out
    #[arg(value_name = "DIR", default_value = ".")]
    pub folder: PathBuf,
    /// Port of 127.0.0.1 [default: a free one]
    #[arg(long, value_name = "PORT", default_value = "0", hide_default_value = true, value_parser = ValueParser::new(port_or_free))]
    pub port: u16,
}

/// Arguments of `lasthop reproduce`.
#[derive(Debug, Args)]
#[command(
    after_help = "Without KEY, lists papers and figures with the duration of their runs. A failing figure is shown
with its reason; only --check changes the exit status.

Examples:
  lasthop reproduce
  lasthop reproduce scan --out results
  lasthop reproduce jumbo/fig4 --json
  lasthop reproduce --all"
)]
pub struct Reproduce {
    /// A paper, or one of its figures [default: list them]
    #[arg(value_name = "KEY[/FIGURE]", add = completions::figures())]
    pub figures: Option<String>,
    /// Make all figures of all papers
    #[arg(long, conflicts_with = "figures")]
    pub all: bool,
    /// Write plots (SVG and PNG), pages (start at index.html) and reproduce.json to DIR
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Number of parallel runs [default: one per core]
    #[arg(long, value_name = "N", value_parser = ValueParser::new(count))]
    pub jobs: Option<u32>,
    /// Exit with 1 if a figure fails
    #[arg(long)]
    pub check: bool,
    /// Print only one JSON document on standard output
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `lasthop capture`.
#[derive(Debug, Args)]
#[command(
    after_help = "An interface or a pipe is shown live on a terminal, until q, an interrupt or the end of the
pipe; then the report follows.

Examples:
  lasthop capture air.pcapng
  lasthop capture air.pcapng --out result   # then open result/capture.html
  lasthop capture air.pcapng --with laptop.pcap --with server.pcap
  lasthop capture --live mon0
  ssh ap tcpdump -i mon0 -U -w - | lasthop capture -",
    after_long_help = "An interface or a pipe is shown live on a terminal, until q, an interrupt or the end of the
pipe; then the report follows. Keys of the live view: s changes the order of stations, d switches
between sent and received traffic, arrows, PgUp and PgDn scroll.

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
    /// Capture (pcap or pcapng, also in gzip or zstd), or - for stdin
    #[arg(value_name = "FILE", required_unless_present = "live")]
    pub file: Option<PathBuf>,
    /// Capture from an interface (needs CAP_NET_RAW)
    #[arg(long, value_name = "IFACE", conflicts_with = "file")]
    pub live: Option<String>,
    /// Show the result so far every second
    ///
    /// On a terminal it shows a view, also of files; otherwise lines on standard error.
    #[arg(long)]
    pub watch: bool,
    /// Write Parquet files and a page (capture.html) to DIR
    ///
    /// The Parquet files have series and absences. The result itself is also written.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Add a capture of the same minutes from another host
    ///
    /// For example, a capture at the station or at the server. Clocks are aligned, and TCP segments
    /// are followed through all files. The option may be repeated.
    #[arg(long = "with", value_name = "FILE", requires = "file", conflicts_with_all = ["live", "watch"])]
    pub with: Vec<PathBuf>,
    /// JSON of apq measure or franc stats from the same minutes, shown beside the result
    #[arg(long, hide_short_help = true, value_name = "FILE.json")]
    pub context: Vec<PathBuf>,
    /// Decrypt WPA2-PSK with SSID:PASSPHRASE or a passphrase
    ///
    /// A passphrase, or 64 hexadecimal digits, for the network SSID or for all networks. The option
    /// may be repeated.
    #[arg(long, value_name = "PASSPHRASE", allow_hyphen_values = true)]
    pub psk: Vec<String>,
    /// Read passphrases from FILE, one on a line, so that ps does not show them; repeatable
    #[arg(long, hide_short_help = true, value_name = "FILE")]
    pub psk_file: Vec<PathBuf>,
    /// Print only one JSON document on standard output
    #[arg(long)]
    pub json: bool,
}

//! Coded links against alternatives: the kernel's TCP over an emulated link of 12 Mb/s
//! and 10 ms, with a drop-tail queue of 150 kB and independent losses after it in both
//! directions; directly, through `lasthop franc`, and through kcptun. Real programs run
//! in real time: iperf3 for 20 s, with ping beside it. Results are stored in
//! `data/franc.csv`; results of others on such a link are in `data/lossy_link.csv`.
//! Leaves out tunnels other than kcptun, which are not in Debian.

use crate::validate::data::{self, Record};
use crate::validate::kept::Kept;
use lasthop_franc_node::document::FrancDocument;
use lasthop_trace::RunDocument;
use std::fs;
use std::io;
use std::path::Path;

/// Goodput in Mb/s of TCP with no losses over 12 Mb/s of IP packets: 1 448 of
/// 1 500 bytes are payload.
pub const IDEAL_MBPS: f64 = 11.584;
/// The columns of `data/franc.csv`.
const KEPT: Kept = Kept {
    file: "franc.csv",
    header: "way,congestion_control,loss_percent,run,goodput_mbps,retransmissions,pings,\
             pings_lost,ping_p50_ms,ping_p95_ms,ping_p99_ms,lateness_p99_9_us,late,packets,\
             packets_lost,cpu_percent,memory_mib,lasthop,kernel",
};
/// The losses of the comparison, in percent.
pub const LOSSES: [u32; 6] = [0, 1, 5, 10, 20, 30];
/// The loss in percent with which sparse traffic is measured.
pub const SPARSE_LOSS: u32 = 20;

/// The loss in percent of each of three hops.
pub const HOPS_LOSS: u32 = 20;

/// Transport of packets over the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkTunnel {
    /// Without a tunnel.
    Plain,
    /// Through the daemon, in UDP datagrams.
    Udp,
    /// Through the daemon, in Ethernet frames.
    Ethernet,
    /// Over three hops with recoders between them, so that each hop is coded.
    Recoders,
    /// Over three hops with forwarders between them, coded from end to end only.
    Forwarders,
    /// Through kcptun with its default parameters: 10 data and 3 parity shards.
    Kcptun,
    /// Through kcptun, tuned by hand for this link.
    KcptunTuned,
}

impl LinkTunnel {
    /// The tunnels over a single hop.
    pub const ONE_HOP: [Self; 5] =
        [Self::Plain, Self::Udp, Self::Ethernet, Self::Kcptun, Self::KcptunTuned];

    /// The name in `franc.csv` and of the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Udp => "udp",
            Self::Ethernet => "ethernet",
            Self::Recoders => "recoders",
            Self::Forwarders => "forwarders",
            Self::Kcptun => "kcptun",
            Self::KcptunTuned => "kcptun-tuned",
        }
    }

    /// Whether packets pass through another project's program.
    pub const fn is_peer(self) -> bool {
        matches!(self, Self::Kcptun | Self::KcptunTuned)
    }

    /// Whether packets pass through lasthop's daemon.
    pub const fn is_ours(self) -> bool {
        !self.is_peer() && !matches!(self, Self::Plain)
    }

    /// The names of the nodes, from one end to the other.
    const fn nodes(self) -> &'static [&'static str] {
        match self {
            Self::Recoders | Self::Forwarders => &["a", "r", "s", "b"],
            _ => &["a", "b"],
        }
    }

    /// Arguments of the daemon on each node, without keys and tunnel addresses.
    const fn daemons(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Udp => &[
                ("a", "--id 1 --peer 4 --neighbours 4=b"),
                ("b", "--id 4 --peer 1 --neighbours 1=a"),
            ],
            Self::Ethernet => &[
                ("a", "--id 1 --peer 4 --transport ethernet --interface eth0"),
                ("b", "--id 4 --peer 1 --transport ethernet --interface eth0"),
            ],
            Self::Recoders => &[
                ("a", "--id 1 --peer 4 --via 2 --neighbours 2=r"),
                ("r", "--id 2 --role recoder --between 1,3 --neighbours 1=a,3=s"),
                ("s", "--id 3 --role recoder --between 2,4 --neighbours 2=r,4=b"),
                ("b", "--id 4 --peer 1 --via 3 --neighbours 3=s"),
            ],
            Self::Forwarders => &[
                ("a", "--id 1 --peer 4 --neighbours 4=r"),
                ("r", "--id 2 --role forwarder --between 1,4 --neighbours 1=a,4=s"),
                ("s", "--id 3 --role forwarder --between 1,4 --neighbours 1=r,4=b"),
                ("b", "--id 4 --peer 1 --neighbours 1=s"),
            ],
            Self::Plain | Self::Kcptun | Self::KcptunTuned => &[],
        }
    }

    /// The address at which programs reach the other end.
    const fn target(self) -> &'static str {
        if self.is_ours() { "10.9.0.2" } else { "b" }
    }
}

/// The traffic during a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Load {
    /// iperf3 for 20 s with this congestion control, and a ping ten times a second.
    Tcp(&'static str),
    /// A ping every 50 ms only.
    Sparse,
    /// UDP at 200 Mb/s for 10 s over a wire of 1 Gb/s and 1 ms, with each daemon on a separate CPU
    /// core.
    Flood,
}

/// One measurement of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkCase {
    /// Transport of packets over the link.
    pub tunnel: LinkTunnel,
    /// The traffic during the measurement.
    pub load: Load,
    /// Loss in each direction, in percent.
    pub loss_percent: u32,
}

/// The results of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkOutcome {
    /// Goodput at iperf3's receiver in Mb/s, over 20 s (10 s for a flood); `None` if
    /// iperf3 failed or did not run.
    pub goodput_mbps: Option<f64>,
    /// Number of segments that TCP retransmitted; `None` without TCP.
    pub retransmissions: Option<f64>,
    /// Number of pings sent.
    pub pings: u32,
    /// Number of pings that were not answered within 2 s.
    pub pings_lost: u32,
    /// Median, 95th and 99th percentile of the round-trip times in ms; `None` without
    /// answers.
    pub ping_ms: Option<[f64; 3]>,
    /// 99.9th percentile of the emulation's lateness, in microseconds.
    pub lateness_us: f64,
    /// Whether the emulation was too late for the result to be used.
    pub is_late: bool,
    /// The results of a flood; `None` for other traffic.
    pub flood: Option<Flood>,
}

/// The results of a flood of UDP.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Flood {
    /// Number of packets that entered the tunnel.
    pub packets: f64,
    /// Number of packets that entered the tunnel but did not leave it.
    pub packets_lost: f64,
    /// CPU time of the busier daemon, in percent of one core.
    pub cpu_percent: f64,
    /// Resident memory of the larger daemon, in MiB.
    pub memory_mib: f64,
}

impl LinkCase {
    /// Returns all cases.
    pub fn all() -> Vec<Self> {
        let mut all = Vec::new();
        for loss_percent in LOSSES {
            for tunnel in LinkTunnel::ONE_HOP {
                for congestion_control in ["cubic", "bbr"] {
                    // kcptun terminates TCP at both ends, so congestion control does
                    // not matter.
                    if !tunnel.is_peer() || congestion_control == "cubic" {
                        all.push(Self {
                            tunnel,
                            load: Load::Tcp(congestion_control),
                            loss_percent,
                        });
                    }
                }
            }
        }
        for tunnel in [LinkTunnel::Plain, LinkTunnel::Udp, LinkTunnel::Ethernet] {
            all.push(Self { tunnel, load: Load::Sparse, loss_percent: SPARSE_LOSS });
        }
        for tunnel in [LinkTunnel::Recoders, LinkTunnel::Forwarders] {
            for congestion_control in ["cubic", "bbr"] {
                let load = Load::Tcp(congestion_control);
                all.push(Self { tunnel, load, loss_percent: HOPS_LOSS });
            }
        }
        for tunnel in [LinkTunnel::Udp, LinkTunnel::Ethernet] {
            all.push(Self { tunnel, load: Load::Flood, loss_percent: 0 });
        }
        all
    }

    /// The traffic in the column `congestion_control` of `franc.csv`.
    pub const fn load_name(&self) -> &'static str {
        match self.load {
            Load::Tcp(name) => name,
            Load::Sparse => "none",
            Load::Flood => "udp",
        }
    }

    /// A description for messages, such as `udp cubic 20 %`.
    pub fn name(&self) -> String {
        format!("{} {} {} %", self.tunnel.name(), self.load_name(), self.loss_percent)
    }

    /// The scenario file. `lasthop` is the path of the program, `directory` is for
    /// keys, sockets and logs, `flags` are additional arguments of the daemons.
    pub fn toml(&self, run: u64, lasthop: &Path, directory: &Path, flags: &str) -> String {
        let nodes = self.tunnel.nodes();
        let mut text = format!(
            r#"name = "lossy-link"
duration = "1h"
seed = {seed}

[emulation]
lateness_max = "2ms"
"#,
            seed = run + 1,
        );
        for node in nodes {
            text.push_str(&format!("\n[[node]]\nname = \"{node}\"\nrole = \"host\"\n"));
        }
        // 12 Mb/s of IP packets of 1 500 bytes: a wire counts their Ethernet headers
        // too.
        let wire = match self.load {
            Load::Flood => "rate = \"1Gb/s\"\ndelay = \"1ms\"".to_owned(),
            Load::Tcp(_) | Load::Sparse => format!(
                "rate = \"12112kb/s\"\ndelay = \"10ms\"\nloss = \"{}%\"\n\
                 queue = {{ kind = \"drop-tail\", bytes = 150000 }}",
                self.loss_percent
            ),
        };
        for pair in nodes.windows(2) {
            let (one, other) = (pair[0], pair[1]);
            text.push_str(&format!("\n[[wire]]\nbetween = [\"{one}\", \"{other}\"]\n{wire}\n"));
        }
        let mut run = |node: &str, command: String| {
            text.push_str(&format!(
                "\n[[run]]\nnode = \"{node}\"\ncommand = \"\"\"{command}\"\"\"\n"
            ));
        };
        run("b", "exec iperf3 -s".to_owned());
        let place = |name: String| format!("'{}'", directory.join(name).display());
        for (core, (node, what)) in self.tunnel.daemons().iter().enumerate() {
            let address = match *node {
                "a" => "--address 10.9.0.1/24",
                "b" => "--address 10.9.0.2/24",
                _ => "",
            };
            let pin = if self.load == Load::Flood {
                format!("taskset -c {core} ")
            } else {
                String::new()
            };
            run(
                node,
                format!(
                    "echo $$ > {}; exec {pin}'{}' franc run {what} {address} --key-file {} --socket {} \
                     {flags} > {} 2>&1",
                    place(format!("{node}.pid")),
                    lasthop.display(),
                    place("key".into()),
                    place(format!("{node}.sock")),
                    place(format!("{node}.log")),
                ),
            );
        }
        if self.tunnel.is_peer() {
            let tuning = self.kcptun_tuning();
            run(
                "b",
                format!("exec kcptun-server -t 127.0.0.1:5201 -l :29900 {tuning} >/dev/null 2>&1"),
            );
            run(
                "a",
                format!("exec kcptun-client -r b:29900 -l 127.0.0.1:5201 {tuning} >/dev/null 2>&1"),
            );
        }
        text
    }

    /// Parameters as in the older comparison, so that its results can be verified.
    fn kcptun_tuning(&self) -> String {
        let parity = match self.loss_percent {
            0 => 0,
            1 => 1,
            2..=5 => 3,
            6..=10 => 5,
            11..=20 => 10,
            _ => 16,
        };
        match self.tunnel {
            LinkTunnel::KcptunTuned => {
                format!("-crypt none -nocomp -mode fast3 -mtu 1400 -sndwnd 64 -ds 20 -ps {parity}")
            }
            _ => String::new(),
        }
    }

    /// The script that runs in node a; it writes its results to `directory`.
    pub fn script(&self, lasthop: &Path, directory: &Path) -> String {
        let (target, out) = (self.tunnel.target(), directory.display());
        let wait = format!(
            "for i in 1 2 3 4 5 6 7 8 9 10; do ping -c 1 -W 1 {target} >/dev/null && break; done; sleep 1\n"
        );
        match self.load {
            Load::Sparse => format!("{wait}ping -c 400 -i 0.05 -W 2 {target} > '{out}/ping.txt'\n"),
            Load::Flood => {
                let stats = |when: &str| {
                    format!(
                        "for n in a b; do '{}' franc stats --json --socket $n.sock > $n.{when}.json; done\n\
                         for n in a b; do awk '{{print $14 + $15}}' /proc/$(cat $n.pid)/stat; done \
                         > {when}.txt\n",
                        lasthop.display()
                    )
                };
                let flood = |seconds: u32| {
                    format!("iperf3 -c {target} -u -b 200M -l 1350 -t {seconds} -J > iperf.json\n")
                };
                format!(
                    "{wait}cd '{out}'\n{}sleep 1\n{}{}sleep 1\n{}\
                     for n in a b; do awk '/VmRSS/ {{print $2}}' /proc/$(cat $n.pid)/status; done > memory.txt\n",
                    flood(2),
                    stats("before"),
                    flood(10),
                    stats("after"),
                )
            }
            Load::Tcp(congestion_control) => {
                let server = if self.tunnel.is_peer() { "127.0.0.1" } else { target };
                format!(
                    "{wait}ping -c 190 -i 0.1 -W 2 {target} > '{out}/ping.txt' &\n\
                     timeout 60 iperf3 -c {server} -t 20 -C {congestion_control} -J > '{out}/iperf.json'\n\
                     wait\ntrue\n"
                )
            }
        }
    }

    /// Reads the results that the programs wrote to `directory`; `run` is the document
    /// of the emulation.
    ///
    /// # Errors
    /// If a result is missing.
    pub fn outcome(&self, run: &RunDocument, directory: &Path) -> Result<LinkOutcome, String> {
        let read = |name: &str| {
            let path = directory.join(name);
            fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))
        };
        let emulation = run.emulation.as_ref().ok_or("the emulation says nothing of itself")?;
        let ping = if self.load == Load::Flood { String::new() } else { read("ping.txt")? };
        let (pings, mut times) = round_trips(&ping);
        times.sort_by(f64::total_cmp);
        let mut report = serde_json::Value::Null;
        if self.load != Load::Sparse {
            report = serde_json::from_str(&read("iperf.json")?).unwrap_or_default();
        }
        let number = |path| report.pointer(path).and_then(serde_json::Value::as_f64);
        let mut flood = None;
        if self.load == Load::Flood {
            let most = |values: Vec<f64>| values.into_iter().fold(0.0, f64::max);
            let (before, after) = (numbers(&read("before.txt")?), numbers(&read("after.txt")?));
            let ticks = after.iter().zip(&before).map(|(after, before)| after - before);
            let count = |name: &str, counter: &str| -> Result<f64, String> {
                let stats: FrancDocument =
                    serde_json::from_str(&read(name)?).map_err(|why| format!("{name}: {why}"))?;
                let counters = stats.counters;
                Ok(if counter == "in" { counters.packets_in } else { counters.packets_out } as f64)
            };
            let entered = count("a.after.json", "in")? - count("a.before.json", "in")?;
            let left = count("b.after.json", "out")? - count("b.before.json", "out")?;
            flood = Some(Flood {
                packets: entered,
                packets_lost: entered - left,
                // A tick is 10 ms (proc(5)), so 10 s have 1 000 ticks.
                cpu_percent: most(ticks.map(|ticks| ticks / 10.0).collect()),
                memory_mib: most(numbers(&read("memory.txt")?)) / 1_024.0,
            });
        }
        let goodput_mbps = number("/end/sum_received/bits_per_second").map(|bps| bps / 1e6);
        let retransmissions = number("/end/sum_sent/retransmits");
        Ok(LinkOutcome {
            goodput_mbps,
            retransmissions,
            pings,
            pings_lost: pings.saturating_sub(times.len() as u32),
            ping_ms: (!times.is_empty()).then(|| [0.5, 0.95, 0.99].map(|q| quantile(&times, q))),
            lateness_us: emulation.lateness_us.as_ref().map_or(0.0, |lateness| lateness.p99_9),
            is_late: emulation.late,
            flood,
        })
    }
}

/// Parses a text with one number per line; other lines are ignored.
fn numbers(text: &str) -> Vec<f64> {
    text.lines().filter_map(|line| line.trim().parse().ok()).collect()
}

/// Returns the number of requests that ping(8) sent, and the round-trip times in ms of
/// those that were answered.
pub(crate) fn round_trips(text: &str) -> (u32, Vec<f64>) {
    let time = |line: &str| {
        let (_, rest) = line.split_once("time=")?;
        // A duplicate of an answer is not counted.
        if line.contains("DUP") { None } else { rest.split(' ').next()?.parse().ok() }
    };
    let sent = text.lines().find_map(|line| {
        let (sent, _) = line.split_once(" packets transmitted")?;
        sent.trim().parse().ok()
    });
    (sent.unwrap_or(0), text.lines().filter_map(time).collect())
}

/// The quantile `share` (0 to 1) of sorted values, of which there is at least one.
pub(crate) fn quantile(sorted: &[f64], share: f64) -> f64 {
    let index = (share * (sorted.len() - 1) as f64).round() as usize;
    sorted[index]
}

impl LinkOutcome {
    fn row(&self, case: &LinkCase, run: u64) -> String {
        let number =
            |value: Option<f64>| value.map_or(String::new(), |value| format!("{value:.3}"));
        let ping = |index: usize| number(self.ping_ms.map(|ms| ms[index]));
        [
            case.tunnel.name().to_owned(),
            case.load_name().to_owned(),
            case.loss_percent.to_string(),
            run.to_string(),
            number(self.goodput_mbps),
            self.retransmissions.map_or(String::new(), |count| format!("{count:.0}")),
            self.pings.to_string(),
            self.pings_lost.to_string(),
            ping(0),
            ping(1),
            ping(2),
            format!("{:.1}", self.lateness_us),
            u32::from(self.is_late).to_string(),
            number(self.flood.map(|flood| flood.packets)),
            number(self.flood.map(|flood| flood.packets_lost)),
            number(self.flood.map(|flood| flood.cpu_percent)),
            number(self.flood.map(|flood| flood.memory_mib)),
            env!("CARGO_PKG_VERSION").to_owned(),
            kernel(),
        ]
        .join(",")
    }

    fn of_record(record: &Record) -> Self {
        let number =
            |name| Some(record.text(name)).filter(|t| !t.is_empty()).map(|_| record.number(name));
        let ping_ms =
            || Some([number("ping_p50_ms")?, number("ping_p95_ms")?, number("ping_p99_ms")?]);
        let flood = || {
            Some(Flood {
                packets: number("packets")?,
                packets_lost: number("packets_lost")?,
                cpu_percent: number("cpu_percent")?,
                memory_mib: number("memory_mib")?,
            })
        };
        Self {
            goodput_mbps: number("goodput_mbps"),
            retransmissions: number("retransmissions"),
            pings: record.whole("pings"),
            pings_lost: record.whole("pings_lost"),
            ping_ms: ping_ms(),
            lateness_us: record.number("lateness_p99_9_us"),
            is_late: record.flag("late"),
            flood: flood(),
        }
    }
}

pub(crate) fn kernel() -> String {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    release.trim().replace(',', " ")
}

/// The content of `data/franc.csv`.
#[derive(Clone, Debug, Default)]
pub struct LinkStore {
    rows: Vec<(Key, LinkOutcome)>,
    lines: Vec<(Key, String)>,
}

/// Tunnel, traffic, loss in percent, and number of the run.
type Key = (String, String, u32, u64);

impl LinkStore {
    /// Reads the file; no results if it does not exist.
    ///
    /// # Panics
    /// If the file has lines of a wrong format.
    pub fn read() -> Self {
        KEPT.text().map_or_else(Self::default, Self::parse)
    }

    fn parse(text: &'static str) -> Self {
        let key = |record: &Record| {
            let run = u64::from(record.whole("run"));
            let (tunnel, load) = (record.text("way"), record.text("congestion_control"));
            (tunnel.to_owned(), load.to_owned(), record.whole("loss_percent"), run)
        };
        let records = data::records(text);
        let lines = records.iter().map(key).zip(text.lines().skip(1).map(str::to_owned)).collect();
        let rows =
            records.iter().map(|record| (key(record), LinkOutcome::of_record(record))).collect();
        Self { rows, lines }
    }

    /// The runs of a case, each with its number.
    pub fn runs(&self, case: &LinkCase) -> Vec<(u64, LinkOutcome)> {
        let mine = |(tunnel, load, loss, _): &Key| {
            tunnel == case.tunnel.name() && load == case.load_name() && *loss == case.loss_percent
        };
        self.rows
            .iter()
            .filter(|(key, _)| mine(key))
            .map(|(key, outcome)| (key.3, outcome.clone()))
            .collect()
    }

    /// Stores a run, which replaces a run of that number.
    pub fn put(&mut self, case: &LinkCase, run: u64, outcome: &LinkOutcome) {
        let key =
            (case.tunnel.name().to_owned(), case.load_name().to_owned(), case.loss_percent, run);
        self.rows.retain(|(other, _)| *other != key);
        self.lines.retain(|(other, _)| *other != key);
        self.lines.push((key.clone(), outcome.row(case, run)));
        self.rows.push((key, outcome.clone()));
    }

    /// Writes the file, sorted in the order of the cases.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(&self) -> io::Result<()> {
        let mut lines = Vec::new();
        for case in LinkCase::all() {
            let mut mine: Vec<&(Key, String)> = self
                .lines
                .iter()
                .filter(|((tunnel, load, loss, _), _)| {
                    tunnel == case.tunnel.name()
                        && load == case.load_name()
                        && *loss == case.loss_percent
                })
                .collect();
            mine.sort_by_key(|(key, _)| key.3);
            lines.extend(mine.into_iter().map(|(_, line)| line.clone()));
        }
        KEPT.replace(lines)
    }
}

/// Mean goodput in Mb/s of the older comparison on such a link; `None` if it has no
/// such case.
pub fn earlier_mbps(tunnel: &str, congestion_control: &str, loss_percent: u32) -> Option<f64> {
    let mine: Vec<f64> = data::records(data::LOSSY_LINK)
        .iter()
        .filter(|record| {
            record.text("way") == tunnel
                && record.text("congestion_control") == congestion_control
                && record.whole("loss_percent") == loss_percent
                && !record.text("goodput_mbps").is_empty()
        })
        .map(|record| record.number("goodput_mbps"))
        .collect();
    (!mine.is_empty()).then(|| mine.iter().sum::<f64>() / mine.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_has_a_scenario() {
        let (lasthop, directory) = (Path::new("/usr/bin/lasthop"), Path::new("/tmp/x"));
        for case in LinkCase::all() {
            let text = case.toml(0, lasthop, directory, "--field gf2");
            let scenario = lasthop_scenario::parse("link.toml", &text, &[])
                .unwrap_or_else(|error| panic!("{}: {error}\n{text}", case.name()));
            let programs = match case.tunnel {
                LinkTunnel::Plain => 1,
                LinkTunnel::Recoders | LinkTunnel::Forwarders => 5,
                _ => 3,
            };
            assert_eq!(scenario.programs.len(), programs);
        }
    }

    #[test]
    fn ping_is_understood() {
        let text = "PING b (10.77.0.2) 56(84) bytes of data.\n\
                    64 bytes from b: icmp_seq=1 ttl=64 time=20.5 ms\n\
                    64 bytes from b: icmp_seq=3 ttl=64 time=1021 ms\n\
                    64 bytes from b: icmp_seq=3 ttl=64 time=1022 ms (DUP!)\n\n\
                    --- b ping statistics ---\n\
                    4 packets transmitted, 2 received, +1 duplicates, 50% packet loss, time 301ms\n";
        assert_eq!(round_trips(text), (4, vec![20.5, 1021.0]));
        assert_eq!(quantile(&[1.0, 2.0, 3.0], 0.5), 2.0);
        assert_eq!(quantile(&[1.0], 0.99), 1.0);
    }

    #[test]
    fn what_is_kept_is_read_again() {
        let case = LinkCase { tunnel: LinkTunnel::Udp, load: Load::Tcp("bbr"), loss_percent: 5 };
        let outcome = LinkOutcome {
            goodput_mbps: Some(10.5),
            retransmissions: Some(3.0),
            pings: 190,
            pings_lost: 2,
            ping_ms: Some([20.5, 30.25, 40.125]),
            lateness_us: 80.0,
            is_late: true,
            flood: None,
        };
        let flood = Flood { packets: 1e5, packets_lost: 3.0, cpu_percent: 20.5, memory_mib: 8.25 };
        let failed = LinkOutcome {
            goodput_mbps: None,
            retransmissions: None,
            flood: Some(flood),
            ..outcome.clone()
        };
        let text = KEPT.with_header([outcome.row(&case, 0), failed.row(&case, 1)]);
        let mut store = LinkStore::parse(text.leak());
        assert_eq!(store.runs(&case), [(0, outcome.clone()), (1, failed)]);
        store.put(&case, 1, &outcome);
        assert_eq!(store.runs(&case), [(0, outcome.clone()), (1, outcome)]);
    }

    /// The result of others with which the target of 93 % was compared.
    #[test]
    fn the_best_peer_reached_62_percent() {
        let best = earlier_mbps("tinyfecVPN-tuned", "bbr", 20).unwrap();
        assert!((best / (0.8 * IDEAL_MBPS) - 0.62).abs() < 0.005, "{best}");
    }
}

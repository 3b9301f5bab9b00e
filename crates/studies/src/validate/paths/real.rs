//! The reported paths in real time: the daemon, the kernel's TCP, iperf3 and ping over
//! an emulation of each scenario. Results are stored in `data/paths.csv`. A case takes
//! up to four emulations: pings on the empty path; UDP above capacity; a flow of CUBIC
//! without the tunnel, if the tunnel has the path to itself; and iperf3 and pings in
//! the tunnel, with the traffic beside it. The second and third use flows of the
//! scenario, because the control connection of iperf3 does not survive the losses of
//! some paths. Leaves out all other cases.

use super::{ASKED, Medium, PathBeside, PathCase, PathFamily, PathOutcome, grid};
use crate::validate::data::{self, Record};
use crate::validate::kept::Kept;
use crate::validate::links::{kernel, quantile, round_trips};
use lasthop_trace::RunDocument;
use lasthop_units::{Bitrate, MacAddr};
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::Path;

const KEPT: Kept = Kept {
    file: "paths.csv",
    header: "path,carries_mbps,plain_mbps,tunnel_mbps,others_mbps,empty_p50_ms,\
             empty_p95_ms,ping_p50_ms,ping_p95_ms,pings,pings_lost,lateness_p99_9_us,\
             lasthop,kernel",
};
/// UDP payload in bytes of an IP packet of 1 500 bytes.
const UDP_PAYLOAD: f64 = 1_472.0;
/// TCP payload in bytes of an IP packet of 1 500 bytes, with timestamps.
const TCP_PAYLOAD: f64 = 1_448.0;
/// The address of the far end in the tunnel.
const TUNNEL_END: &str = "10.9.0.2";
/// Seconds that are left out, and seconds that are measured: first for a path of the
/// tunnel alone, then for a shared one.
const SECONDS: [[u32; 2]; 2] = [[3, 12], [8, 20]];

/// A reported path, with the congestion control of the flows beside the tunnel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RealCase {
    /// The path and its traffic.
    pub case: PathCase,
    /// The kernel's name of the congestion control of the flows beside the tunnel.
    pub beside: &'static str,
}

/// Returns all cases. One with TCP beside the tunnel occurs twice, with CUBIC and BBR.
pub fn all() -> Vec<RealCase> {
    let mut all = Vec::new();
    for case in grid::all().into_iter().filter(|case| case.family == PathFamily::Reported) {
        if matches!(case.beside, PathBeside::Tcp(_)) {
            let named = PathCase { name: case.name.replace("CUBIC", "BBR"), ..case.clone() };
            all.push(RealCase { case, beside: "cubic" });
            all.push(RealCase { case: named, beside: "bbr" });
        } else {
            all.push(RealCase { case, beside: "cubic" });
        }
    }
    all
}

/// One of the emulations of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Pings on the path without tunnel and load.
    Empty,
    /// UDP above the capacity of the path.
    Udp,
    /// CUBIC without the tunnel.
    Plain,
    /// CUBIC and pings in the tunnel.
    Tunnel,
}

impl RealCase {
    /// The emulations of the case.
    pub const fn parts(&self) -> &'static [Part] {
        match self.case.beside {
            PathBeside::Alone => &[Part::Empty, Part::Udp, Part::Plain, Part::Tunnel],
            _ => &[Part::Empty, Part::Udp, Part::Tunnel],
        }
    }

    fn others(&self) -> u32 {
        match self.case.beside {
            PathBeside::Tcp(flows) => flows,
            PathBeside::Alone | PathBeside::Tunnel => 0,
        }
    }

    /// The scenario file of `part`. `lasthop` is the path of the program, `directory`
    /// is for keys, sockets, logs and results.
    pub fn toml(&self, part: Part, lasthop: &Path, directory: &Path) -> String {
        let [before, measured] = self.seconds();
        let seconds = match part {
            Part::Empty | Part::Tunnel => 3_600,
            Part::Udp | Part::Plain => before + measured,
        };
        let warmup = if seconds < 3_600 { before } else { 0 };
        let mut text = format!(
            "duration = \"{seconds}s\"\nwarmup = \"{warmup}s\"\n\
             [emulation]\nlateness_max = \"2ms\"\n"
        );
        match &self.case.medium {
            Medium::Line(line) => text.push_str(&line.toml(self.case.change_at())),
            Medium::Room(room) => {
                text.push_str(&room.toml());
                text.push_str(&room.others_toml());
            }
        }
        let mut run = |node: &str, command: String| {
            let _ = write!(text, "[[run]]\nnode = \"{node}\"\ncommand = \"\"\"{command}\"\"\"\n");
        };
        match part {
            Part::Empty | Part::Udp | Part::Plain => {
                run("a", self.pin("b"));
                run("b", self.pin("a"));
                if part == Part::Empty {
                    return text;
                }
                let kind = match part {
                    Part::Plain => "\"tcp\"\ncongestion_control = \"cubic\"".to_owned(),
                    _ => format!(
                        "\"udp\"\nrate = \"{:.0}b/s\"\npacket_bytes = 1500",
                        self.rate().as_bps() as f64 * ASKED
                    ),
                };
                let _ = write!(
                    text,
                    "[[flow]]\nname = \"load\"\nfrom = \"a\"\nto = \"b\"\nkind = {kind}\n"
                );
                return text;
            }
            Part::Tunnel => run("b", "exec iperf3 -s".into()),
        }
        let place = |name: String| format!("'{}'", directory.join(name).display());
        for (node, ids) in
            [("a", "--id 1 --peer 4 --neighbours 4=b"), ("b", "--id 4 --peer 1 --neighbours 1=a")]
        {
            let address = if node == "a" { "10.9.0.1" } else { TUNNEL_END };
            run(
                node,
                format!(
                    "exec '{}' franc run {ids} --address {address}/24 --key-file {} --socket {} > {} 2>&1",
                    lasthop.display(),
                    place("key".into()),
                    place(format!("{node}.sock")),
                    place(format!("{node}.log")),
                ),
            );
        }
        if self.others() > 0 {
            run("d", "exec iperf3 -s".into());
            run(
                "c",
                format!(
                    "while ! test -e {begin}; do sleep 0.1; done; \
                     iperf3 -c d -C {} -P {} -O {before} -t {measured} -J > {out}.new; \
                     mv {out}.new {out}",
                    self.beside,
                    self.others(),
                    begin = place("begin".into()),
                    out = place("others.json".into()),
                ),
            );
        }
        text
    }

    const fn seconds(&self) -> [u32; 2] {
        SECONDS[match self.case.beside {
            PathBeside::Alone => 0,
            _ => 1,
        }]
    }

    fn rate(&self) -> Bitrate {
        match self.case.medium {
            Medium::Line(line) => line.rate,
            Medium::Room(room) => room.phy_rate(),
        }
    }

    /// The command that gives a node a permanent ARP entry for `end`. Otherwise a lost
    /// reply would add to the delay of the path, or prevent all traffic.
    fn pin(&self, end: &str) -> String {
        let (number, interface) = match (end, &self.case.medium) {
            ("a", _) => (0, "eth0"),
            (_, Medium::Line(_)) => (1, "eth0"),
            (_, Medium::Room(_)) => (1, "wlan0"),
        };
        format!(
            "exec ip neigh replace $(getent hosts {end} | cut -d ' ' -f 1) lladdr {} \
             dev {interface} nud permanent",
            MacAddr::local(number)
        )
    }

    /// The script that runs at the near end and writes its results to `directory`;
    /// `None` if the scenario has all traffic.
    pub fn script(&self, part: Part, directory: &Path) -> Option<String> {
        let out = directory.display();
        let [before, measured] = self.seconds();
        let wait = |target: &str| {
            format!(
                "for i in 1 2 3 4 5 6 7 8 9 10; do \
                 ping -c 1 -W 1 {target} > /dev/null && break; done\n"
            )
        };
        match part {
            Part::Udp | Part::Plain => None,
            Part::Empty => {
                Some(format!("{}ping -c 100 -i 0.05 -W 2 b > '{out}/ping.txt'\ntrue\n", wait("b")))
            }
            Part::Tunnel => Some(format!(
                "{}touch '{out}/begin'\n\
                 (sleep {before}; exec ping -c {} -i 0.1 -W 2 {TUNNEL_END} > '{out}/ping.txt') &\n\
                 timeout 60 iperf3 -c {TUNNEL_END} -C cubic -O {before} -t {measured} -J \
                 > '{out}/iperf.json'\nwait\n{}true\n",
                wait(TUNNEL_END),
                (measured - 2) * 10,
                match self.others() {
                    0 => String::new(),
                    _ => format!(
                        "for i in 1 2 3 4 5 6 7 8 9 10; do test -e '{out}/others.json' && break; \
                         sleep 1; done\n"
                    ),
                },
            )),
        }
    }

    /// Reads the results that the programs wrote to `directory`, and adds them to
    /// `found`; `run` is the document of the emulation.
    ///
    /// # Errors
    /// If a result is missing.
    pub fn add(
        &self,
        part: Part,
        run: &RunDocument,
        directory: &Path,
        found: &mut Found,
    ) -> Result<(), String> {
        let read = |name: &str| {
            let path = directory.join(name);
            fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))
        };
        let mbps = |name: &str| -> Result<f64, String> {
            let report: serde_json::Value =
                serde_json::from_str(&read(name)?).map_err(|error| format!("{name}: {error}"))?;
            let received = report.pointer("/end/sum_received/bits_per_second");
            let received = received.and_then(serde_json::Value::as_f64);
            Ok(received.ok_or_else(|| format!("{name}: no end: {}", report["error"]))? / 1e6)
        };
        let flow = || {
            let load = run.flows.get("load").and_then(|flow| flow.goodput_mbps);
            load.ok_or("the flow \"load\" carried nothing")
        };
        let pings = || -> Result<(u32, Vec<f64>), String> {
            let (sent, mut times) = round_trips(&read("ping.txt")?);
            times.sort_by(f64::total_cmp);
            Ok((sent, times))
        };
        let quantiles = |times: &[f64]| match times {
            [] => [f64::NAN; 2],
            _ => [0.5, 0.95].map(|share| quantile(times, share)),
        };
        let emulation = run.emulation.as_ref().ok_or("the emulation says nothing of itself")?;
        let lateness = emulation.lateness_us.as_ref().map_or(0.0, |lateness| lateness.p99_9);
        found.lateness_us = found.lateness_us.max(lateness);
        let outcome = &mut found.outcome;
        match part {
            Part::Empty => outcome.empty_ms = quantiles(&pings()?.1),
            Part::Udp => outcome.carries_mbps = flow()? * TCP_PAYLOAD / UDP_PAYLOAD,
            Part::Plain => outcome.plain_mbps = Some(flow()?),
            Part::Tunnel => {
                let (sent, times) = pings()?;
                outcome.tunnel_mbps = mbps("iperf.json")?;
                outcome.ping_ms = quantiles(&times);
                outcome.pings = sent as usize;
                outcome.pings_lost = outcome.pings.saturating_sub(times.len());
                if self.others() > 0 {
                    // iperf3 gives the total of its flows; a fair share is computed
                    // from all of them.
                    let each = mbps("others.json")? / f64::from(self.others());
                    outcome.other_mbps = vec![each; self.others() as usize];
                }
            }
        }
        Ok(())
    }
}

/// The results of a case.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// The results that a case in virtual time has too.
    pub outcome: PathOutcome,
    /// 99.9th percentile of the lateness, in microseconds, of its worst emulation.
    pub lateness_us: f64,
}

impl Found {
    /// No results yet.
    pub fn nothing() -> Self {
        Self { outcome: PathOutcome::nothing(), lateness_us: 0.0 }
    }

    fn line(&self, case: &RealCase) -> String {
        let number =
            |value: f64| if value.is_nan() { String::new() } else { format!("{value:.3}") };
        let PathOutcome { carries_mbps, plain_mbps, tunnel_mbps, ref other_mbps, .. } =
            self.outcome;
        let others = other_mbps.iter().sum::<f64>();
        [
            // Names may contain commas, which separate columns.
            case.case.name.replace(',', ";"),
            number(carries_mbps),
            number(plain_mbps.unwrap_or(f64::NAN)),
            number(tunnel_mbps),
            number(if other_mbps.is_empty() { f64::NAN } else { others }),
            number(self.outcome.empty_ms[0]),
            number(self.outcome.empty_ms[1]),
            number(self.outcome.ping_ms[0]),
            number(self.outcome.ping_ms[1]),
            self.outcome.pings.to_string(),
            self.outcome.pings_lost.to_string(),
            format!("{:.1}", self.lateness_us),
            env!("CARGO_PKG_VERSION").to_owned(),
            kernel(),
        ]
        .join(",")
    }

    fn of_record(record: &Record, case: &RealCase) -> Self {
        let number = |name: &str| match record.text(name) {
            "" => f64::NAN,
            _ => record.number(name),
        };
        let given = |name: &str| Some(number(name)).filter(|value| !value.is_nan());
        let others = case.others();
        let each = given("others_mbps").map(|all| all / f64::from(others.max(1)));
        let outcome = PathOutcome {
            carries_mbps: number("carries_mbps"),
            plain_mbps: given("plain_mbps"),
            tunnel_mbps: number("tunnel_mbps"),
            other_mbps: each.map_or(Vec::new(), |each| vec![each; others as usize]),
            empty_ms: [number("empty_p50_ms"), number("empty_p95_ms")],
            ping_ms: [number("ping_p50_ms"), number("ping_p95_ms")],
            pings: record.whole("pings") as usize,
            pings_lost: record.whole("pings_lost") as usize,
            ..PathOutcome::nothing()
        };
        Self { outcome, lateness_us: record.number("lateness_p99_9_us") }
    }
}

/// The content of `data/paths.csv`: name and results of each case.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RealStore(Vec<(String, Found)>);

impl RealStore {
    /// Reads the file; no results if it does not exist.
    ///
    /// # Panics
    /// If the file has lines of a wrong format.
    pub fn read() -> Self {
        KEPT.text().map_or_else(Self::default, Self::parse)
    }

    fn parse(text: &'static str) -> Self {
        let cases = all();
        let found = |record: &Record| {
            let name = record.text("path").replace(';', ",");
            let case = cases.iter().find(|case| case.case.name == name)?;
            Some((name, Found::of_record(record, case)))
        };
        Self(data::records(text).iter().filter_map(found).collect())
    }

    /// The results of a case; `None` if it was not measured.
    pub fn found(&self, case: &RealCase) -> Option<&Found> {
        self.0.iter().find(|(name, _)| *name == case.case.name).map(|(_, found)| found)
    }

    /// Stores results, which replace earlier ones.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn put(&mut self, case: &RealCase, found: Found) -> io::Result<()> {
        self.0.retain(|(name, _)| *name != case.case.name);
        self.0.push((case.case.name.clone(), found));
        KEPT.replace(self.lines())
    }

    fn lines(&self) -> Vec<String> {
        let cases = all();
        cases.iter().filter_map(|case| Some(self.found(case)?.line(case))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_emulation_has_a_scenario() {
        let (lasthop, directory) = (Path::new("/usr/bin/lasthop"), Path::new("/tmp/x"));
        for case in all() {
            for &part in case.parts() {
                let text = case.toml(part, lasthop, directory);
                let scenario = lasthop_scenario::parse("path.toml", &text, &[])
                    .unwrap_or_else(|error| panic!("{}: {error}\n{text}", case.case.name));
                let programs = match (part, case.others()) {
                    (Part::Tunnel, 0) => 3,
                    (Part::Tunnel, _) => 5,
                    _ => 2,
                };
                assert_eq!(scenario.programs.len(), programs, "{}", case.case.name);
            }
        }
    }

    #[test]
    fn what_is_kept_is_read_again() {
        let mut store = RealStore::default();
        for (index, case) in all().into_iter().enumerate() {
            let mut found = Found::nothing();
            found.lateness_us = 1.5;
            found.outcome = PathOutcome {
                carries_mbps: 11.5,
                plain_mbps: (case.others() == 0).then_some(10.25),
                tunnel_mbps: index as f64,
                other_mbps: vec![2.5; case.others() as usize],
                empty_ms: [1.0, 2.0],
                ping_ms: [3.0, 4.0],
                pings: 100,
                pings_lost: index,
                ..PathOutcome::nothing()
            };
            store.0.push((case.case.name, found));
        }
        assert_eq!(RealStore::parse(KEPT.with_header(store.lines()).leak()), store);
    }
}

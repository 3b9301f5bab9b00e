//! The begin of a scenario from the metadata of flent's results: nodes, channel, queue, TCP and the
//! flows of the test. Comments say what the file has, and each key that is assumed says so. The
//! distance, rates and neighbours are in no file.

use lasthop_scenario::CongestionControlKind;
use lasthop_trace::{FlentMetadata, FlentWifi};
use std::fmt::Write;

/// Seconds from the first ping to the load: flent's `DELAY`.
const DELAY_S: f64 = 5.0;
/// Seconds of load that the window leaves out, in which slow start ends.
const SETTLING_S: f64 = 5.0;
/// Seconds of load of flent's default length.
const LENGTH_S: f64 = 60.0;
/// Seconds between two pings by default.
const STEP_S: f64 = 0.2;
/// Largest number of flows of a kind.
const FLOWS_MAX: usize = 256;

/// Returns the text of the scenario. `file` is the name of the results.
pub fn scenario(file: &str, metadata: &FlentMetadata) -> String {
    let mut out = String::new();
    let setup = Setup::new(metadata);
    comments(&mut out, file, metadata);
    let length = metadata.length_s.filter(|it| (1.0..=86_400.0).contains(it));
    let assumed = if length.is_some() { "" } else { "   # assumed: the file has no LENGTH" };
    let length = length.unwrap_or(LENGTH_S);
    let settling = SETTLING_S.min(length / 2.0);
    let _ = writeln!(
        out,
        "name = {}\nduration = \"{}\"{assumed}\nwarmup = \"{}\"   # assumed: load begins after \
         {DELAY_S} s, slow start ends {settling} s later\n",
        quoted(&word(&metadata.test, "measured")),
        time(DELAY_S + length),
        time(DELAY_S + settling)
    );
    channel(&mut out, metadata);
    setup.nodes(&mut out, metadata);
    flows(&mut out, metadata, &setup);
    out
}

fn comments(out: &mut String, file: &str, metadata: &FlentMetadata) {
    let _ = writeln!(out, "# Begun from {}: flent's test {}.", line(file), line(&metadata.test));
    let mut known = |what: &str, value: Option<String>| {
        let value = value.unwrap_or_else(|| "not in the file".into());
        let _ = writeln!(out, "# {what}: {}.", line(&value));
    };
    known("Title", metadata.title.clone());
    known("Ran on", metadata.local_host.clone());
    known("Other ends", (!metadata.hosts.is_empty()).then(|| metadata.hosts.join(", ")));
    known("Kernel", metadata.kernel.clone());
    let interface = metadata.interface.clone().map(|name| {
        let driver = metadata.driver.as_deref().unwrap_or("unknown driver");
        let speed = metadata.speed.as_ref().map_or(String::new(), |speed| format!(", {speed}"));
        format!("{name}, {driver}{speed}")
    });
    known("Interface", interface);
    let qdiscs: Vec<String> =
        metadata.qdiscs.iter().map(|(name, params)| format!("{name} {params}")).collect();
    known("Queue disciplines", (!qdiscs.is_empty()).then(|| qdiscs.join("; ")));
    let metrics = metadata.no_metrics_save.map(|it| format!("tcp_no_metrics_save = {it}"));
    known("Metrics of earlier connections", metrics);
    out.push_str(
        "# Assumed: the access point, distances (a strong link), rates, neighbours and everything \
         without a comment; all of it is to be checked.\n",
    );
}

fn channel(out: &mut String, metadata: &FlentMetadata) {
    let wifi = metadata.wifi.clone().unwrap_or_default();
    let (band, is_known) = match wifi.frequency_mhz {
        Some(mhz) if mhz < 3_000.0 => ("2.4GHz", true),
        Some(mhz) if mhz >= 5_925.0 => ("6GHz", true),
        Some(_) => ("5GHz", true),
        None => ("5GHz", false),
    };
    let (standard, why) = match metadata.driver.as_deref() {
        Some(driver) if driver.starts_with("ath9k") && band != "6GHz" => {
            ("802.11n", "# the driver's generation")
        }
        Some("ath10k_pci" | "ath10k_usb" | "mt76x2e") if band == "5GHz" => {
            ("802.11ac", "# the driver's generation")
        }
        _ if band == "6GHz" => ("802.11ax", "# the band's generation"),
        _ if band == "2.4GHz" => ("802.11n", "# assumed"),
        _ => ("802.11ac", "# assumed"),
    };
    let widths: &[u32] = match (standard, band) {
        (_, "2.4GHz") | ("802.11n", _) => &[20, 40],
        _ => &[20, 40, 80, 160],
    };
    let known = wifi.width_mhz.map(|it| it as u32).filter(|width| widths.contains(width));
    let mark = |is_known: bool| if is_known { "# of the file" } else { "# assumed" };
    let _ = writeln!(
        out,
        "[channel]\nstandard = \"{standard}\"   {why}\nband = \"{band}\"   {}\nwidth = \"{}MHz\"   \
         {}\n",
        mark(is_known),
        known.unwrap_or(20),
        mark(known.is_some())
    );
}

/// The nodes: the machine that ran the test and the other ends, one side of them on the air.
struct Setup {
    local: String,
    others: Vec<String>,
    /// Whether the machine is a station, or the access point.
    place: Place,
}

/// The place of the machine that ran the test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Station,
    AccessPoint,
    /// On a wire behind the access point.
    Wired,
}

impl Setup {
    fn new(metadata: &FlentMetadata) -> Self {
        let mut names: Vec<String> = vec!["ap".into()];
        let mut unique = |name: String| {
            let mut own = name.clone();
            let mut number = 2;
            while names.contains(&own) {
                own = format!("{name}-{number}");
                number += 1;
            }
            names.push(own.clone());
            own
        };
        let local = unique(word(metadata.local_host.as_deref().unwrap_or(""), "local"));
        let mut hosts: Vec<&String> = metadata.hosts.iter().collect();
        hosts.dedup();
        let mut others: Vec<String> =
            hosts.into_iter().take(FLOWS_MAX).map(|host| unique(word(host, "server"))).collect();
        if others.is_empty() {
            others.push(unique("server".into()));
        }
        let is_air = metadata.interface.as_deref().is_some_and(|name| name.starts_with("wl"));
        let used = |wifi: &FlentWifi| metadata.interface.as_ref() == Some(&wifi.interface);
        let role = metadata.wifi.as_ref().filter(|wifi| used(wifi));
        let place = match role.map(|wifi| wifi.role.as_deref().unwrap_or("managed")) {
            Some("AP") => Place::AccessPoint,
            Some(_) => Place::Station,
            None if is_air || metadata.interface.is_none() => Place::Station,
            None => Place::Wired,
        };
        Self { local, others, place }
    }

    /// The name of the node of the machine that ran the test.
    fn local(&self) -> &str {
        match self.place {
            Place::AccessPoint => "ap",
            _ => &self.local,
        }
    }

    fn nodes(&self, out: &mut String, metadata: &FlentMetadata) {
        let node = |out: &mut String, name: &str, role: &str, keys: &str| {
            let _ = writeln!(out, "[[node]]\nname = \"{name}\"\nrole = \"{role}\"\n{keys}");
        };
        let wire = |out: &mut String, name: &str| {
            let _ = writeln!(
                out,
                "[[wire]]   # assumed: neither a rate nor a delay of the path is in the file\n\
                 between = [\"{name}\", \"ap\"]\n"
            );
        };
        let queue = profile(metadata) + &queue(metadata);
        match self.place {
            Place::Station => {
                node(out, "ap", "access-point", "");
                node(out, &self.local, "station", &queue);
                for other in &self.others {
                    node(out, other, "host", "");
                    wire(out, other);
                }
            }
            Place::AccessPoint => {
                node(out, "ap", "access-point", &queue);
                for other in &self.others {
                    node(out, other, "station", "");
                }
            }
            Place::Wired => {
                out.push_str(
                    "# The machine sent over a wire: that the other ends are stations is assumed.\n",
                );
                node(out, &self.local, "host", "");
                node(out, "ap", "access-point", "");
                for other in &self.others {
                    node(out, other, "station", "");
                }
                wire(out, &self.local);
            }
        }
    }
}

/// The profile of the machine's radio: its driver, and whether mac80211 has its queues (no
/// discipline above them).
fn profile(metadata: &FlentMetadata) -> String {
    let is_queued_by_mac80211 =
        metadata.qdiscs.iter().filter(|(name, _)| name != "mq").all(|(name, _)| name == "noqueue");
    let profile = match (metadata.driver.as_deref().unwrap_or(""), is_queued_by_mac80211) {
        (driver, true) if driver.starts_with("ath9k") => "ath9k-4.8",
        (driver, false) if driver.starts_with("ath9k") => "ath9k-4.4",
        (driver, false) if driver.starts_with("ath10k") => "ath10k-firmware",
        (driver, true) if driver.starts_with("mt7") => "mt76",
        ("iwlwifi", _) => "iwlwifi",
        _ => return String::new(),
    };
    format!("profile = \"{profile}\"   # the driver and its queues\n")
}

/// Keys of the queue of the machine's radio.
fn queue(metadata: &FlentMetadata) -> String {
    let Some((name, params)) = metadata.qdiscs.iter().find(|(name, _)| name != "mq") else {
        return "# assumed: queues of mac80211, the default\n".into();
    };
    let param = |key: &str| {
        let mut words = params.split_whitespace();
        words.by_ref().find(|word| *word == key)?;
        words.next()
    };
    let packets = param("limit").and_then(|limit| limit.trim_end_matches('p').parse::<u32>().ok());
    let packets = packets.filter(|packets| *packets > 0);
    match name.as_str() {
        "pfifo" | "pfifo_fast" | "bfifo" => format!(
            "queue = {{ kind = \"drop-tail\", packets = {} }}   # {name}{}\n",
            packets.unwrap_or(1_000),
            if packets.is_some() { "" } else { "; its limit is assumed" }
        ),
        "fq_codel" => format!(
            "queue = {{ kind = \"fq-codel\", airtime_fairness = false, target = \"5ms\", packets = \
             {} }}   # fq_codel above the driver\n",
            packets.unwrap_or(10_240)
        ),
        "noqueue" => "# noqueue: queues of mac80211, the default\n".into(),
        _ => "# assumed: queues of mac80211, the default; the discipline above has no key\n".into(),
    }
}

fn flows(out: &mut String, metadata: &FlentMetadata, setup: &Setup) {
    let control = metadata.congestion_control.as_deref();
    let mut tcp = match control {
        Some(control) if CongestionControlKind::NAMES.contains(&control) => {
            format!("congestion_control = \"{control}\"   # the sysctl\n")
        }
        Some(control) => {
            format!("# {} of the sysctl has no key: CUBIC is assumed\n", line(control))
        }
        None => String::new(),
    };
    if metadata.tcp_ecn == Some(1.0) {
        tcp.push_str(
            "tcp = { ecn = true }   # tcp_ecn = 1; that the other end agreed is assumed\n",
        );
    }
    let step = metadata.step_s.filter(|it| (0.001..=60.0).contains(it)).unwrap_or(STEP_S);
    let local = setup.local();
    let mut number = 0;
    let mut flow = |series: &str, kind: &str, is_down: bool, keys: &str| {
        number += 1;
        let host = metadata.hosts.iter().position(|host| series.ends_with(host.as_str()));
        let other = &setup.others[host.unwrap_or(0).min(setup.others.len() - 1)];
        let (from, to) = if is_down { (other.as_str(), local) } else { (local, other.as_str()) };
        let _ = writeln!(
            out,
            "[[flow]]   # {}\nname = \"{kind}{number}\"\nfrom = \"{from}\"\nto = \"{to}\"\nkind = \
             \"{kind}\"\n{keys}",
            line(series)
        );
    };
    let load = |series: &str| format!("start = \"{DELAY_S}s\"\n{}{tcp}", category(series));
    for series in metadata.uploads.iter().take(FLOWS_MAX) {
        flow(series, "tcp", false, &load(series));
    }
    for series in metadata.downloads.iter().take(FLOWS_MAX) {
        flow(series, "tcp", true, &load(series));
    }
    for series in metadata.pings.iter().take(FLOWS_MAX) {
        flow(series, "ping", false, &format!("interval = \"{}ms\"\n", (step * 1e6).round() / 1e3));
    }
}

/// The access category of a series of `rrul`, by the mark in its name (Linux' `cfg80211_classify8021d`
/// takes the upper three bits of the DSCP).
fn category(series: &str) -> String {
    let has = |mark: &str| series.split_whitespace().any(|word| word == mark);
    let marks = [("BK", "background"), ("CS5", "video"), ("EF", "voice")];
    let Some((_, category)) = marks.into_iter().find(|(mark, _)| has(mark)) else {
        return String::new();
    };
    format!("access_category = \"{category}\"   # of the series' mark\n")
}

/// A time in whole units.
fn time(seconds: f64) -> String {
    if seconds.fract() == 0.0 {
        format!("{seconds}s")
    } else {
        format!("{}ms", (seconds * 1e3).round())
    }
}

/// A name of letters, digits and hyphens.
fn word(text: &str, otherwise: &str) -> String {
    let plain = |it: char| if it.is_ascii_alphanumeric() { it.to_ascii_lowercase() } else { '-' };
    let text: String = text.chars().map(plain).take(40).collect();
    let text = text.trim_matches('-');
    if text.starts_with(|it: char| it.is_ascii_alphabetic()) {
        text.to_owned()
    } else if text.is_empty() {
        otherwise.to_owned()
    } else {
        format!("{otherwise}-{text}")
    }
}

fn quoted(text: &str) -> String {
    format!("\"{text}\"")
}

/// A text as part of a comment: one line, without control characters.
fn line(text: &str) -> String {
    text.chars().map(|it| if it.is_control() { ' ' } else { it }).take(400).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(metadata: &FlentMetadata) -> lasthop_scenario::Scenario {
        let text = scenario("mine.flent.gz", metadata);
        lasthop_scenario::parse("mine.toml", &text, &[])
            .unwrap_or_else(|error| panic!("{error:?}\n{text}"))
    }

    #[test]
    fn a_laptop_that_uploads_becomes_a_station() {
        let metadata = FlentMetadata {
            test: "rrul".into(),
            title: Some("a title\nof two lines".into()),
            length_s: Some(60.0),
            step_s: Some(0.2),
            local_host: Some("My Laptop".into()),
            hosts: vec!["server.example".into()],
            congestion_control: Some("reno".into()),
            tcp_ecn: Some(1.0),
            interface: Some("wlan0".into()),
            driver: Some("ath9k".into()),
            qdiscs: vec![("pfifo_fast".into(), "bands 3".into())],
            wifi: Some(FlentWifi {
                interface: "wlan0".into(),
                role: Some("managed".into()),
                frequency_mhz: Some(5_180.0),
                width_mhz: Some(40.0),
                power_dbm: None,
            }),
            uploads: vec!["TCP upload BE".into(), "TCP upload EF".into()],
            downloads: vec!["TCP download BE".into()],
            pings: vec!["Ping (ms) ICMP".into()],
            ..FlentMetadata::default()
        };
        let scenario = parsed(&metadata);
        assert_eq!((scenario.name.as_str(), scenario.flows.len()), ("rrul", 4));
        assert_eq!(scenario.duration.as_secs_f64(), 65.0);
        let cell = scenario.network.cell.as_ref().expect("there is a cell");
        assert!(cell.stations.iter().any(|it| it.aggregation.built_ahead), "ath9k's profile");
        let node = |name: &str| scenario.node(name).expect("it is there");
        let [up, down] = [0, 2].map(|index: usize| scenario.flows[index].clone());
        assert_eq!((up.from, up.to), (node("my-laptop"), node("server-example")));
        assert_eq!((down.from, down.to), (node("server-example"), node("my-laptop")));
        assert_ne!(scenario.flows[1].access_category, scenario.flows[0].access_category);
        lasthop_sim::check(&scenario).expect("a run can begin");
    }

    #[test]
    fn every_place_and_every_lack_makes_a_sound_scenario() {
        let bare = FlentMetadata { test: "tcp_nup".into(), ..FlentMetadata::default() };
        parsed(&bare);
        let wired = FlentMetadata {
            interface: Some("eth0".into()),
            hosts: vec!["10.0.0.1".into(), "AP".into(), "ap".into()],
            congestion_control: Some("westwood".into()),
            uploads: vec!["TCP upload BE2 AP".into()],
            qdiscs: vec![("fq".into(), String::new())],
            ..bare.clone()
        };
        let scenario = parsed(&wired);
        assert!(scenario.node("server-10-0-0-1").is_some() && scenario.node("ap-2").is_some());
        let wifi = |role: &str, mhz, width| FlentMetadata {
            interface: Some("wlan0".into()),
            wifi: Some(FlentWifi {
                interface: "wlan0".into(),
                role: Some(role.into()),
                frequency_mhz: Some(mhz),
                width_mhz: Some(width),
                power_dbm: None,
            }),
            downloads: vec!["TCP download".into()],
            ..bare.clone()
        };
        for driver in ["ath9k", "ath10k_pci", "iwlwifi", "mt7921e"] {
            for role in ["AP", "managed"] {
                for (mhz, width) in [(2_412.0, 20.0), (5_180.0, 80.0), (5_955.0, 160.0)] {
                    let driver = Some(driver.to_owned());
                    for name in ["noqueue", "fq_codel", "pfifo_fast"] {
                        let qdiscs = vec![(name.to_owned(), "limit 1024p".to_owned())];
                        parsed(&FlentMetadata {
                            driver: driver.clone(),
                            qdiscs,
                            ..wifi(role, mhz, width)
                        });
                    }
                }
            }
        }
    }
}

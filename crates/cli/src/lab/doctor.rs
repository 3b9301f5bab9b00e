//! `lasthop doctor`: the state of this machine as tables and sentences, or as JSON. The crate
//! `doctor` has the facts and conclusions.

use crate::args::Doctor;
use crate::console::{self, Stream};
use crate::failure::Failure;
use crate::table::{self, counted as counted_of, number, text, value, wrapped};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use lasthop_doctor::DoctorDocument;
use lasthop_doctor::counter::{self, Share};
use lasthop_doctor::document::{
    Class, EmulationDevice, Facts, Finding, Interface, ModuleState, Severity, State, Station,
    StationQueue, Verb, Wifi,
};

/// Exit status if a required verb does not work.
const NOT_MET: u8 = 1;
/// Largest number of an interface's stations in the table.
const STATIONS_SHOWN: usize = 8;

/// Runs the command.
pub fn doctor(args: &Doctor) -> Result<u8, Failure> {
    let document = DoctorDocument::new(lasthop_doctor::gather());
    if args.json {
        console::print(&document.to_json())?
    } else {
        console::print(&report(&document, Stream::Output))?
    }
    let missing: Vec<&str> = args
        .require
        .iter()
        .filter(|verb| !works(&document, **verb))
        .map(|verb| verb.title())
        .collect();
    if missing.is_empty() {
        return Ok(0);
    }
    console::error(&format!("does not work here: {}\n", missing.join("; ")));
    Ok(NOT_MET)
}

/// Parses a required verb by its name in the document.
pub fn verbs() -> impl TypedValueParser<Value = Verb> {
    PossibleValuesParser::new(Verb::ALL.map(Verb::name)).map(|name| {
        let found = Verb::ALL.into_iter().find(|verb| verb.name() == name);
        found.expect("other names are refused")
    })
}

fn works(document: &DoctorDocument, verb: Verb) -> bool {
    let state = document.verbs.iter().find(|one| one.verb == verb).map(|one| one.state);
    matches!(state, Some(State::Works | State::Limited))
}

fn report(document: &DoctorDocument, stream: Stream) -> String {
    let width = if stream.is_terminal() { console::width() } else { usize::MAX };
    let facts = &document.facts;
    let mut out = format!("{}\n\n", machine(facts));
    out.push_str(&verb_table(document, stream));
    out.push('\n');
    for (head, line) in lines(facts) {
        out.push_str(&wrapped(&format!("  {head:<13}"), &line, width));
    }
    for interface in &facts.interfaces {
        out.push('\n');
        out.push_str(&about(interface, stream, width));
    }
    for finding in &document.findings {
        out.push('\n');
        out.push_str(&told(finding, stream, width));
    }
    if document.findings.is_empty() {
        out.push_str("\nNo problems found.\n");
    }
    out
}

fn machine(facts: &Facts) -> String {
    let machine = &facts.machine;
    let mut out = format!("Linux {} ({})", machine.kernel, machine.architecture);
    if let Some(name) = &machine.distribution {
        out += &format!(", {name}");
    }
    if let Some(name) = &machine.container {
        out += &format!(", in {name}");
    }
    if machine.virtual_machine {
        out += ", virtual machine";
    }
    out += &match machine.processors {
        1 => ", 1 processor".to_owned(),
        count => format!(", {count} processors"),
    };
    if let Some(load) = machine.load_1min {
        out += &format!(", load {load:.1}");
    }
    out
}

fn verb_table(document: &DoctorDocument, stream: Stream) -> String {
    let columns = [text("verb"), text("works here"), text("reasons")];
    let row = |one: &lasthop_doctor::document::VerbState| {
        let state = match one.state {
            State::Works => "yes",
            State::Limited => "in part",
            State::Fails => "no",
            State::Unknown => "unknown",
        };
        vec![one.verb.title().to_owned(), state.into(), one.because.join(", ")]
    };
    let rows: Vec<_> = document.verbs.iter().map(row).collect();
    table::render_all(&columns, &rows, stream)
}

/// Returns the facts as lines, each with a subject and a text.
fn lines(facts: &Facts) -> Vec<(&'static str, String)> {
    let namespaces = match (facts.namespaces.emulation.works(), facts.namespaces.device) {
        (true, Some(EmulationDevice::Tap)) => "made, with a TAP device".into(),
        (true, Some(EmulationDevice::Veth)) => "made, with a veth pair".into(),
        (true, None) => "made".into(),
        (false, _) => facts.namespaces.emulation.text(),
    };
    let or_works = |text: String, works: &str| if text.is_empty() { works.into() } else { text };
    let timer = &facts.timer;
    let class = match timer.scheduling {
        Class::Realtime => "real-time priority",
        Class::Nice => "the highest weight",
        Class::Ordinary => "ordinary priority",
    };
    let slack = timer.slack_ns.map_or(String::new(), |ns| {
        format!("; slack of ordinary threads {} us", value(ns as f64 / 1e3))
    });
    let clock = timer.clock_source.as_ref().map_or(String::new(), |name| format!("; clock {name}"));
    let capabilities = match facts.user.capabilities.as_slice() {
        [] => "none relevant here".into(),
        all => all.join(", "),
    };
    let programs = facts.programs.iter().map(|program| match &program.path {
        Some(path) => path.clone(),
        None => format!("no {}", program.name),
    });
    let modules = facts.modules.iter().map(|module| {
        let state = match module.state {
            ModuleState::Loaded => "loaded",
            ModuleState::BuiltIn => "built in",
            ModuleState::Loadable => "loadable",
            ModuleState::Absent => "absent",
            ModuleState::Unknown => "unknown",
        };
        format!("{} {state}", module.name)
    });
    let tcp = &facts.tcp;
    vec![
        ("namespaces", namespaces),
        ("TUN", or_works(facts.tun.permission.text(), "permitted")),
        ("packets", or_works(facts.packet_socket.text(), "packet sockets permitted")),
        ("outside", or_works(facts.way_out.text(), "by slirp4netns")),
        ("capabilities", capabilities),
        (
            "timers",
            format!(
                "late by {} us (median), {} us (99th percentile) in {} trials with {class}{slack}{clock}",
                value(timer.late_p50_us),
                value(timer.late_p99_us),
                timer.wakeups
            ),
        ),
        (
            "TCP",
            format!(
                "{}; available: {}; default qdisc {}",
                tcp.congestion_control.as_deref().unwrap_or("unknown"),
                tcp.available.join(", "),
                tcp.default_qdisc.as_deref().unwrap_or("unknown")
            ),
        ),
        ("modules", modules.collect::<Vec<_>>().join(", ")),
        ("programs", programs.collect::<Vec<_>>().join(", ")),
    ]
}

fn about(interface: &Interface, stream: Stream, width: usize) -> String {
    let mut parts: Vec<String> = Vec::new();
    parts.extend(interface.driver.as_ref().map(|name| format!("driver {name}")));
    parts.extend(interface.module.as_ref().map(|name| format!("module {name}")));
    parts.extend(interface.state.clone());
    let kinds: Vec<String> = interface
        .qdiscs
        .iter()
        .map(|one| {
            let waits = match one.backlog_packets {
                0 => String::new(),
                1 => " (1 packet queued)".into(),
                packets => format!(" ({packets} packets queued)"),
            };
            format!("{}{waits}", one.kind)
        })
        .collect();
    if kinds.is_empty() {
        parts.push("no queueing discipline".into())
    } else {
        parts.push(format!("queueing discipline {}", counted(&kinds)))
    }
    parts.extend(interface.queue_frames.map(|frames| format!("tx_queue_len {frames}")));
    let mut out = wrapped(&format!("{}: ", interface.name), &parts.join(", "), width);
    if let Some(wifi) = &interface.wifi {
        out.push_str(&wrapped("  ", &about_wifi(wifi), width));
        out.push_str(&stations(wifi, stream));
    }
    for unread in &interface.unread {
        let line = format!("unread: {}: {}", unread.what, unread.why);
        out.push_str(&stream.dim(wrapped("  ", &line, width).trim_end()));
        out.push('\n');
    }
    out
}

/// Lists names in order, with the number of each.
fn counted(names: &[String]) -> String {
    let mut counts: Vec<(&String, usize)> = Vec::new();
    for name in names {
        match counts.iter_mut().find(|(one, _)| *one == name) {
            Some((_, count)) => *count += 1,
            None => counts.push((name, 1)),
        }
    }
    let words = counts.iter().map(|(name, count)| match count {
        1 => (*name).clone(),
        count => format!("{count} {name}"),
    });
    words.collect::<Vec<_>>().join(", ")
}

fn about_wifi(wifi: &Wifi) -> String {
    let mut parts = vec![format!("{} on {}", wifi.kind, wifi.radio_name)];
    parts.extend(wifi.ssid.as_ref().map(|ssid| format!("network {ssid:?}")));
    parts.extend(wifi.frequency_mhz.map(|mhz| match wifi.width_mhz {
        Some(width) => format!("{mhz} MHz, {width} MHz wide"),
        None => format!("{mhz} MHz"),
    }));
    parts.extend(wifi.power_dbm.map(|dbm| format!("{dbm} dBm")));
    parts.extend(
        wifi.power_save
            .map(|is_on| format!("power save {}", if is_on { "on" } else { "set to off" })),
    );
    let queues = match (wifi.txqs, wifi.aql) {
        (true, true) => "FQ-CoDel in mac80211, with AQL",
        (true, false) => "FQ-CoDel in mac80211, without AQL",
        (false, _) => "without mac80211's queues",
    };
    parts.push(queues.into());
    if let Some(limits) = &wifi.aql_limits {
        let each = limits
            .limits
            .iter()
            .map(|one| format!("{} {} to {} us", one.category, one.low_us, one.high_us));
        let all = each.collect::<Vec<_>>().join(", ");
        let state = if limits.enabled == Some(false) { "off" } else { "on" };
        parts.push(format!("aql_enable {state} ({all})"));
    }
    if let Some(queue) = wifi.queue {
        parts.push(match queue.backlog_packets {
            1 => "1 packet queued".into(),
            packets => format!("{packets} packets queued"),
        });
    }
    parts.join(", ")
}

fn stations(wifi: &Wifi, stream: Stream) -> String {
    let columns = [
        text("station"),
        number("signal", "dBm"),
        number("Mb/s", "to it"),
        text(""),
        number("Mb/s", "from it"),
        number("packets", "to it"),
        number("packets", "retries"),
        number("packets", "given up"),
        number("CoDel", "dropped"),
        number("CoDel", "marked"),
        text("Block Ack TIDs"),
    ];
    let or_empty = |number: Option<u32>| number.map_or(String::new(), |number| number.to_string());
    let row = |station: &Station| {
        let signal = counter::signal_dbm(station);
        let rate = station.tx_rate.as_ref();
        let how = rate.and_then(|rate| {
            let width = rate.width_mhz.map_or(String::new(), |mhz| format!(", {mhz} MHz"));
            Some(format!("MCS {}{width}", rate.mcs?))
        });
        let tids = station
            .aggregation
            .as_ref()
            .map(|one| one.tx_tids.iter().map(u8::to_string).collect::<Vec<_>>().join(" "));
        let codel = |of: fn(&StationQueue) -> u64| {
            station.queue.as_ref().map_or(String::new(), |queue| of(queue).to_string())
        };
        vec![
            station.address.clone(),
            signal.map_or(String::new(), |dbm| dbm.to_string()),
            rate.map_or(String::new(), |rate| value(rate.mbps)),
            how.unwrap_or_default(),
            station.rx_rate.as_ref().map_or(String::new(), |rate| value(rate.mbps)),
            or_empty(station.tx_packets),
            counted_or_unknown(station.tx_retries, &counter::retries(station)),
            counted_or_unknown(station.tx_failed, &counter::failures(station)),
            codel(|queue| queue.drops),
            codel(|queue| queue.marks),
            tids.unwrap_or_default(),
        ]
    };
    let shown = wifi.stations.iter().take(STATIONS_SHOWN);
    let rows: Vec<_> = shown.map(row).collect();
    let mut out = table::render_all(&columns, &rows, stream);
    let beyond = wifi.stations.len() - rows.len() + wifi.stations_left_out as usize;
    if beyond > 0 {
        out.push_str(&format!("  and {} more\n", counted_of(beyond, "station")));
    }
    out
}

/// Formats a counter, or `unknown` for an implausible one.
fn counted_or_unknown(counter: Option<u32>, share: &Share) -> String {
    match (counter, share) {
        (_, Share::Unknown(_)) => "unknown".into(),
        (Some(counter), _) => counter.to_string(),
        (None, _) => String::new(),
    }
}

fn told(finding: &Finding, stream: Stream, width: usize) -> String {
    let label = match finding.severity {
        Severity::Problem => stream.red("problem"),
        Severity::Note => stream.yellow("note"),
    };
    let whose = finding.interface.as_ref().map_or(String::new(), |name| format!(", {name}"));
    let mut out = format!("{label} {}{whose}\n", stream.bold(&finding.key));
    out.push_str(&wrapped("  ", &finding.what, width));
    out.push_str(&wrapped("  ", &finding.means, width));
    if let Some(remedy) = &finding.remedy {
        // Never broken, so that it can be pasted.
        out.push_str(&format!("    {remedy}\n"));
    }
    out
}

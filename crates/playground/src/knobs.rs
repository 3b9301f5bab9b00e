//! The changes of a scenario by sliders and switches, each as an argument of `--set`: distance and
//! number of stations, queues, rates, the loss of a Wi-Fi link and of wires, seed. A knob exists
//! only if the scenario accepts another value of it and differs then. Present elements come from
//! the file's text; other keys have their default.
//!
//! Left out: nodes beyond the first [`NODES_MAX`], wires and links beyond [`WIRES_MAX`] and
//! [`LINKS_MAX`], and keys of few scenarios.

use crate::Request;
use lasthop_net::cable::CableConfig;
use lasthop_net::loss::Loss;
use lasthop_packet::queue::{Limit, QueueConfig};
use lasthop_scenario::{Role, Scenario, parse};
use lasthop_wifi::mac::rate::RateControlConfig;
use lasthop_wifi::phy::{Rate, Standard};
use serde::Serialize;
use toml_edit::{DocumentMut, Item, TableLike};

/// Largest number of Wi-Fi nodes with knobs, where a node with a `count` is one node.
pub const NODES_MAX: usize = 4;
/// Largest number of wires that get knobs.
pub const WIRES_MAX: usize = 2;
/// Largest number of links that get knobs.
pub const LINKS_MAX: usize = 2;
/// Largest number of stations with one name.
const COUNT_MAX: u32 = 50;
/// Longest distance in metres.
const DISTANCE_M_MAX: f64 = 100.0;

/// The knobs of a scenario.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Knobs {
    /// All knobs, those of a group together.
    pub knobs: Vec<Knob>,
}

/// A key that can be changed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Knob {
    /// Group of knobs: a node, a wire, or the run.
    pub group: String,
    /// Name of the quantity for users.
    pub label: &'static str,
    /// The argument of `--set` without its value; two knobs never share one.
    pub path: String,
    /// The value of that argument: every `$` in it stands for the chosen number or word, `$x`
    /// and `$y` for a place.
    pub value: String,
    /// Control with the current value.
    pub control: Control,
}

/// A control of a page, with its values.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Control {
    /// A number between two others.
    Range {
        /// Minimum value, in `unit`.
        min: f64,
        /// Largest value, in `unit`.
        max: f64,
        /// The distance between two values.
        step: f64,
        /// Current value, possibly outside of the range.
        now: f64,
        /// Whether equal distances of the slider are equal factors; `min` is above 0 then.
        logarithmic: bool,
        /// Unit of the value, for users.
        unit: &'static str,
        /// For `$x` and `$y`: origin x and y, and direction x and y, of a number in metres.
        #[serde(skip_serializing_if = "Option::is_none")]
        line: Option<[f64; 4]>,
    },
    /// One of several words.
    Choice {
        /// Words with their labels for users.
        options: Vec<(String, String)>,
        /// Current word; `None` for a value beside the options.
        now: Option<String>,
    },
}

/// Returns the knobs of the requested scenario.
///
/// # Errors
/// All faults of the scenario.
pub fn for_request(request: &Request) -> Result<Knobs, String> {
    let scenario = parse(&request.file, &request.text, &request.sets);
    let scenario = scenario.map_err(|error| error.to_string())?;
    let document: DocumentMut = scenario.source_text.parse().expect("what was parsed once is TOML");
    let known = Known { request, scenario: &scenario, document: &document };
    let knobs = known.all().into_iter().filter(|knob| known.takes(knob)).collect();
    Ok(Knobs { knobs })
}

impl Knobs {
    /// The knobs as JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("knobs have string keys")
    }
}

/// A scenario, parsed and as text.
struct Known<'a> {
    request: &'a Request,
    scenario: &'a Scenario,
    document: &'a DocumentMut,
}

/// A node in the file.
struct Written<'a> {
    name: &'a str,
    table: &'a dyn TableLike,
    /// Index of the first of its nodes.
    first: usize,
}

impl Known<'_> {
    fn all(&self) -> Vec<Knob> {
        let mut knobs = Vec::new();
        let radios = self.radios();
        let access_point = radios.iter().find(|it| self.role(it) == Some(Role::AccessPoint));
        let center = access_point.map_or([0.0; 2], |it| place(it.table).unwrap_or_default());
        for written in radios.iter().take(NODES_MAX) {
            if self.role(written) == Some(Role::Station) {
                knobs.extend(self.count(written));
                knobs.push(distance(written, center));
            }
            knobs.extend(self.rate(written));
            knobs.extend(self.queue(written));
        }
        knobs.extend(self.links(access_point.map(|it| it.name)));
        knobs.extend(self.wires());
        knobs.extend(self.run());
        knobs
    }

    /// Whether the scenario accepts another value, and differs with it.
    fn takes(&self, knob: &Knob) -> bool {
        let others: Vec<String> = match &knob.control {
            Control::Range { min, max, now, .. } => {
                let other = if (max - now).abs() > (now - min).abs() { max } else { min };
                vec![knob.argument_of(*other)]
            }
            Control::Choice { options, now } => {
                let others = options.iter().map(|(word, _)| word);
                others
                    .filter(|&word| Some(word) != now.as_ref())
                    .map(|word| knob.argument(word))
                    .collect()
            }
        };
        others.into_iter().any(|set| {
            let sets: Vec<String> = self.request.sets.iter().cloned().chain([set]).collect();
            let other = parse(&self.request.file, &self.request.text, &sets);
            other.is_ok_and(|other| {
                other.network != self.scenario.network
                    || other.flows != self.scenario.flows
                    || other.seed != self.scenario.seed
                    || other.duration != self.scenario.duration
            })
        })
    }

    /// The nodes with Wi-Fi in the file, stations before the access point.
    fn radios(&self) -> Vec<Written<'_>> {
        let tables = self.document.get("node").and_then(Item::as_array_of_tables);
        let mut all: Vec<Written<'_>> = Vec::new();
        for table in tables.into_iter().flatten() {
            let Some(name) = table.get("name").and_then(Item::as_str) else { continue };
            let first = match table.get("count") {
                Some(_) => format!("{name}1"),
                None => name.to_owned(),
            };
            let first = self.scenario.nodes.iter().position(|node| node.name == first);
            let Some(first) = first else { continue };
            if self.scenario.nodes[first].role.is_wifi() {
                all.push(Written { name, table, first });
            }
        }
        all.sort_by_key(|it| self.role(it) == Some(Role::AccessPoint));
        // What serves all stations is among those that are shown.
        if all.len() > NODES_MAX {
            all.drain(NODES_MAX - 1..all.len() - 1);
        }
        all
    }

    fn role(&self, written: &Written<'_>) -> Option<Role> {
        self.scenario.nodes.get(written.first).map(|node| node.role)
    }

    fn station(&self, written: &Written<'_>) -> Option<&lasthop_wifi::cell::StationConfig> {
        let station = self.scenario.network.nodes.get(written.first)?.station?;
        self.scenario.network.cell.as_ref()?.stations.get(station.index())
    }

    fn count(&self, written: &Written<'_>) -> Option<Knob> {
        let now = written.table.get("count")?.as_integer()? as f64;
        let path = format!("node.{}.count", written.name);
        // Flows may name one of them.
        let least = (1..=now as u32).find(|count| {
            let set = format!("{path}={count}");
            let sets: Vec<String> = self.request.sets.iter().cloned().chain([set]).collect();
            parse(&self.request.file, &self.request.text, &sets).is_ok()
        })?;
        Some(Knob {
            path,
            value: "$".to_owned(),
            ..range(
                written.name,
                "stations",
                "",
                [f64::from(least), f64::from(COUNT_MAX), 1.0],
                now,
            )
        })
    }

    /// The ratio or the path loss of links that have one in the file; without links in the
    /// file, the loss of all links of the access point.
    fn links(&self, access_point: Option<&str>) -> Vec<Knob> {
        let tables = self.document.get("link").and_then(Item::as_array_of_tables);
        let Some(tables) = tables else {
            return access_point.map(|ap| self.loss(ap)).into_iter().collect();
        };
        let knob = |(index, table): (usize, &toml_edit::Table)| {
            let ends = table.get("between").and_then(Item::as_array)?;
            let ends: Vec<&str> = ends.iter().filter_map(toml_edit::Value::as_str).collect();
            let group = format!("link {}", ends.join(" – "));
            let keys = [
                ("snr", "signal-to-noise ratio", 0.0, 50.0),
                ("path_loss", "path loss", 50.0, 120.0),
            ];
            keys.into_iter().find_map(|(key, label, min, max)| {
                let now = table.get(key)?.as_str()?.strip_suffix("dB")?.trim().parse().ok()?;
                Some(Knob {
                    path: format!("link.{index}.{key}"),
                    value: "$dB".to_owned(),
                    ..range(&group, label, "dB", [min, max, 1.0], now)
                })
            })
        };
        tables.iter().enumerate().filter_map(knob).take(LINKS_MAX).collect()
    }

    /// The loss of every link of the access point, an array that only this knob makes.
    fn loss(&self, access_point: &str) -> Knob {
        let made = self.document.get("link").and_then(Item::as_array).and_then(|it| it.get(0));
        let loss = made.and_then(|it| it.as_inline_table()?.get("loss"));
        let now = loss.and_then(|it| it.as_float().or_else(|| it.as_integer().map(|it| it as f64)));
        Knob {
            path: "link".to_owned(),
            value: format!("[{{ between = [\"{access_point}\", \"*\"], loss = $ }}]"),
            ..range(AIR, "loss of every MPDU", "", [0.0, 0.9, 0.01], now.unwrap_or(0.0))
        }
    }

    fn rate(&self, written: &Written<'_>) -> Option<Knob> {
        let station = self.station(written)?;
        let now = match station.rate_control {
            RateControlConfig::MinstrelHt { .. } => Some("{ kind = \"minstrel-ht\" }".to_owned()),
            RateControlConfig::Ath9k => Some("{ kind = \"ath9k\" }".to_owned()),
            RateControlConfig::Ideal { .. } => Some("{ kind = \"ideal\" }".to_owned()),
            RateControlConfig::Firmware { .. } => Some("{ kind = \"firmware\" }".to_owned()),
            RateControlConfig::Fixed { rate } => rate.mcs().map(fixed),
        };
        let standard = self.scenario.network.cell.as_ref()?.standard;
        let usual = match standard {
            Standard::Dot11ax | Standard::Dot11be => {
                ("{ kind = \"firmware\" }".to_owned(), "firmware".to_owned())
            }
            _ => ("{ kind = \"minstrel-ht\" }".to_owned(), "Minstrel-HT".to_owned()),
        };
        let mut options = vec![usual, ("{ kind = \"ideal\" }".to_owned(), "ideal".to_owned())];
        let mcs_max = match standard {
            Standard::Dot11ac => Rate::VHT_MCS_MAX,
            Standard::Dot11ax => Rate::HE_MCS_MAX,
            Standard::Dot11be => Rate::EHT_MCS_MAX,
            _ => 15,
        };
        options.extend((0..=mcs_max).map(|mcs| (fixed(mcs), format!("fixed, MCS {mcs}"))));
        Some(Knob {
            group: written.name.to_owned(),
            label: "rate control",
            path: format!("node.{}.rate_control", written.name),
            value: "$".to_owned(),
            control: Control::Choice { options, now },
        })
    }

    fn queue(&self, written: &Written<'_>) -> Vec<Knob> {
        let Some(station) = self.station(written) else { return Vec::new() };
        let path = format!("node.{}.queue", written.name);
        let (kinds, packets) = queue_kind(written.name, &path, &station.queue);
        let length = packets.map(|now| {
            let knob =
                range(written.name, "queue's limit", "packets", [1.0, 10_000.0, 1.0], now.into());
            Knob { path: format!("{path}.packets"), value: "$".to_owned(), ..knob.logarithmic() }
        });
        [kinds].into_iter().chain(length).collect()
    }

    fn wires(&self) -> Vec<Knob> {
        let mut knobs = Vec::new();
        for wire in self.scenario.network.wires.iter().take(WIRES_MAX) {
            let [from, to] = wire.ends.map(|end| self.scenario.nodes[end.index()].name.as_str());
            let path = |key: &str| format!("wire.{from}-{to}.{key}");
            // A direction that differs has a table of its own, which wins.
            if wire.directions[0] == wire.directions[1] {
                knobs.extend(cable(&format!("wire {from} – {to}"), &path, &wire.directions[0]));
                continue;
            }
            let both = [("up", from, to), ("down", to, from)].into_iter().zip(&wire.directions);
            for ((key, from, to), direction) in both {
                let path = |inner: &str| path(&format!("{key}.{inner}"));
                knobs.extend(cable(&format!("wire {from} → {to}"), &path, direction));
            }
        }
        knobs
    }

    fn run(&self) -> [Knob; 3] {
        let threshold = self.document.get("node_defaults").and_then(|it| it.get("rts_threshold"));
        let threshold = threshold.and_then(Item::as_integer);
        let word = |word: &str, label: &str| (word.to_owned(), label.to_owned());
        let rts = Knob {
            group: RUN.to_owned(),
            label: "RTS/CTS",
            path: "node_defaults.rts_threshold".to_owned(),
            value: "$".to_owned(),
            control: Control::Choice {
                options: vec![word("off", "off"), word("0", "before everything")],
                now: match threshold {
                    None => Some("off".to_owned()),
                    Some(0) => Some("0".to_owned()),
                    Some(_) => None,
                },
            },
        };
        let seed = Knob {
            path: "seed".to_owned(),
            value: "$".to_owned(),
            ..range(RUN, "seed", "", [1.0, 100.0, 1.0], self.scenario.seed as f64)
        };
        let duration_s = self.scenario.duration.as_secs_f64();
        let duration = Knob {
            path: "duration".to_owned(),
            value: "$s".to_owned(),
            ..range(RUN, "duration", "s", [1.0, 120.0, 1.0], duration_s).logarithmic()
        };
        [rts, seed, duration]
    }
}

/// Groups of the keys of the whole run, and of all links.
const RUN: &str = "run";
const AIR: &str = "air";

impl Knob {
    /// The argument of `--set` for a word.
    fn argument(&self, word: &str) -> String {
        format!("{}={}", self.path, self.value.replace('$', word))
    }

    /// The argument of `--set` for a number.
    fn argument_of(&self, number: f64) -> String {
        match self.control {
            Control::Range { line: Some([x, y, along_x, along_y]), .. } => {
                let at = |from: f64, along: f64| format!("{}", from + number * along);
                let value = self.value.replace("$x", &at(x, along_x));
                format!("{}={}", self.path, value.replace("$y", &at(y, along_y)))
            }
            _ => self.argument(&number.to_string()),
        }
    }

    fn logarithmic(mut self) -> Self {
        if let Control::Range { logarithmic, .. } = &mut self.control {
            *logarithmic = true;
        }
        self
    }
}

fn range(
    group: &str,
    label: &'static str,
    unit: &'static str,
    [min, max, step]: [f64; 3],
    now: f64,
) -> Knob {
    let control = Control::Range { min, max, step, now, logarithmic: false, unit, line: None };
    Knob { group: group.to_owned(), label, path: String::new(), value: String::new(), control }
}

/// The knobs of a wire or of one direction of it; `path` makes paths of keys.
fn cable(group: &str, path: &dyn Fn(&str) -> String, cable: &CableConfig) -> Vec<Knob> {
    let delay = Knob {
        path: path("delay"),
        value: "$ms".to_owned(),
        ..range(group, "delay, one way", "ms", [0.0, 200.0, 1.0], cable.delay.as_millis_f64())
    };
    let rate = cable.rate.map(|rate| {
        let knob = range(group, "rate", "Mb/s", [0.5, 1_000.0, 0.5], rate.as_mbps_f64());
        Knob { path: path("rate"), value: "$Mb/s".to_owned(), ..knob.logarithmic() }
    });
    let loss = match &cable.loss {
        Loss::None => Some(0.0),
        Loss::Random(loss) => Some(loss.as_f64()),
        Loss::GilbertElliott { .. } => None,
    };
    let loss = loss.map(|now| Knob {
        path: path("loss"),
        value: "$".to_owned(),
        ..range(group, "loss", "", [0.0, 0.2, 0.001], now)
    });
    let (queue, _) = queue_kind(group, &path("queue"), &cable.queue);
    [delay].into_iter().chain(rate).chain([queue]).chain(loss).collect()
}

/// The knob of the discipline of the queue at `path`, and the limit of the queue in packets, if
/// it has one.
fn queue_kind(group: &str, path: &str, queue: &QueueConfig) -> (Knob, Option<u32>) {
    let packets = |limit: &Limit| match limit {
        Limit::Packets(packets) => Some(*packets),
        Limit::Bytes(_) => None,
    };
    let (kind, packets) = match queue {
        QueueConfig::DropTail { limit } | QueueConfig::DropTailByPeer { limit, .. } => {
            ("drop-tail", packets(limit))
        }
        QueueConfig::CoDel { limit, .. } => ("codel", packets(limit)),
        QueueConfig::FqCodel { limit_packets, .. } => ("fq-codel", Some(*limit_packets)),
        QueueConfig::EmulatedBdp { limit_packets, .. } => ("ebdp", Some(*limit_packets)),
        QueueConfig::DualPi2 { limit_packets, .. } => ("dualpi2", Some(*limit_packets)),
        QueueConfig::Cake { .. } => ("cake", None),
    };
    let options = ["drop-tail", "codel", "fq-codel", "ebdp", "dualpi2", "cake"];
    let options = options.map(|word| (word.to_owned(), word.to_owned())).to_vec();
    let knob = Knob {
        group: group.to_owned(),
        label: "queue",
        path: format!("{path}.kind"),
        value: "$".to_owned(),
        control: Control::Choice { options, now: Some(kind.to_owned()) },
    };
    (knob, packets)
}

fn distance(written: &Written<'_>, center: [f64; 2]) -> Knob {
    let bounds = [0.5, DISTANCE_M_MAX, 0.5];
    let ring = written.table.get("ring").and_then(Item::as_str).and_then(metres);
    if let Some(now) = ring {
        return Knob {
            path: format!("node.{}.ring", written.name),
            value: "$m".to_owned(),
            ..range(written.name, "radius of their circle", "m", bounds, now).logarithmic()
        };
    }
    let [x, y] = place(written.table).unwrap_or([5.0, 0.0]);
    let [dx, dy] = [x - center[0], y - center[1]];
    let now = dx.hypot(dy);
    let [along_x, along_y] = if now > 0.0 { [dx / now, dy / now] } else { [1.0, 0.0] };
    let mut knob = Knob {
        path: format!("node.{}.position", written.name),
        value: "[\"$xm\", \"$ym\"]".to_owned(),
        ..range(written.name, "distance", "m", bounds, now).logarithmic()
    };
    if let Control::Range { line, .. } = &mut knob.control {
        *line = Some([center[0], center[1], along_x, along_y]);
    }
    knob
}

/// Position of a node in the file, in metres.
fn place(table: &dyn TableLike) -> Option<[f64; 2]> {
    let array = table.get("position")?.as_array()?;
    let at = |index: usize| array.get(index)?.as_str().and_then(metres);
    Some([at(0)?, at(1)?])
}

/// A distance like `10m`.
fn metres(text: &str) -> Option<f64> {
    match text.strip_suffix("km") {
        Some(number) => number.trim().parse::<f64>().ok().map(|number| number * 1e3),
        None => text.strip_suffix('m')?.trim().parse().ok(),
    }
}

fn fixed(mcs: u8) -> String {
    format!("{{ kind = \"fixed\", mcs = {mcs} }}")
}

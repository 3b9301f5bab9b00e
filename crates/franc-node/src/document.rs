//! The state and counters of a node of a coded link, as JSON (the output of
//! `lasthop franc stats --json`) and as text for Prometheus (exposition format 0.0.4).
//! Names carry units; a key that does not apply is absent, never null. The doc comments
//! of types are the descriptions in the JSON Schema; those of counters are also the
//! help texts of the metrics.

use lasthop_franc::config::Mode;
use lasthop_franc::stats::LinkStats;
use lasthop_franc::{Config, Role, Stats};
use lasthop_units::Duration;
use serde::{Deserialize, Serialize};
use std::fmt::Write;

/// A node of a coded link: its configuration, state and counters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FrancDocument {
    /// Version of the running lasthop.
    pub version: String,
    /// Name of the link on this host, and of an end's tunnel interface.
    pub name: String,
    /// Number of the node on the link.
    pub id: u8,
    /// Role of the node.
    pub role: FrancRole,
    /// Transport of the datagrams: udp or ethernet.
    pub transport: String,
    /// Coding mode: stream or paper.
    pub mode: String,
    /// Field of the coefficients: gf2, gf16 or gf256.
    pub field: String,
    /// Symbols of a block.
    pub block_symbols: u16,
    /// Length of a symbol in bytes.
    pub symbol_bytes: u16,
    /// Longest packet of the tunnel in bytes.
    pub tunnel_mtu_bytes: u32,
    /// Time since the node started, in seconds.
    pub up_s: f64,
    /// Whether there is a session with the other end.
    pub connected: bool,
    /// Packets in the backlog, waiting to be coded.
    pub backlog_packets: u64,
    /// Smoothed round-trip time in milliseconds, once known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub round_trip_ms: Option<f64>,
    /// Queueing delay of the path in milliseconds, once a round trip is known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub queue_delay_ms: Option<f64>,
    /// Longest datagram that the path is known to carry, in bytes without UDP's and IP's headers;
    /// absent without a session, in paper mode, and if a recoder is next.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub path_datagram_bytes: Option<u16>,
    /// Sending rate in Mb/s, if paced.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub pace_mbps: Option<f64>,
    /// Counters of the node.
    pub counters: FrancCounters,
    /// Neighbours of the node, by number.
    pub neighbours: Vec<FrancNeighbour>,
    /// The links to the other end, if there are two and there is a session.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub links: Vec<FrancLinkState>,
}

/// Roles of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum FrancRole {
    /// Encoder and decoder at an end of the link.
    End,
    /// Helper beside a hop.
    Helper,
    /// Node on the path that codes anew.
    Recoder,
    /// Node on the path that passes datagrams on unchanged.
    Forwarder,
}

/// A neighbour of the node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FrancNeighbour {
    /// Number of the neighbour.
    pub id: u8,
    /// Address of the neighbour, if known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub address: Option<String>,
    /// Datagrams heard from the neighbour.
    pub heard: u64,
    /// Share of the neighbour's datagrams lost on the way here, once known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub loss_in: Option<f64>,
    /// Share of this node's datagrams lost on the way to the neighbour, once known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub loss_out: Option<f64>,
}

/// One of two links to the other end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FrancLinkState {
    /// Number of the link, from 1 on, in the order of `neighbours` in the configuration.
    pub link: u8,
    /// Address of the other end on this link, if known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub address: Option<String>,
    /// Whether the link is in use; otherwise the node only tests it.
    pub alive: bool,
    /// Bytes of the datagrams sent on the link.
    pub datagram_bytes_sent: u64,
    /// Share of the datagram bytes of both links, once something was sent.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub share: Option<f64>,
    /// Datagrams heard on the link.
    pub heard: u64,
    /// Share of the other end's datagrams lost on the link, once known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub loss_in: Option<f64>,
    /// Share of this node's datagrams lost on the link, once known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub loss_out: Option<f64>,
    /// Smoothed round-trip time in milliseconds, once known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub round_trip_ms: Option<f64>,
    /// Sending rate in Mb/s.
    pub pace_mbps: f64,
}

/// A known address of a neighbour, on one of the links to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrancPlace {
    /// Number of the neighbour.
    pub id: u8,
    /// The link to it, from 0 on.
    pub link: u8,
    /// The address, as text.
    pub address: String,
}

/// Declares the counters of the document: those of the machine, then those of the daemon around it.
macro_rules! counters {
    (
        daemon { $($(#[doc = $daemon_docs:literal])* $daemon:ident;)* }
        $($(#[doc = $docs:literal])* $name:ident;)*
    ) => {
        /// Counters since the node started.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        pub struct FrancCounters {
            $($(#[doc = $docs])* pub $name: u64,)*
            $($(#[doc = $daemon_docs])* pub $daemon: u64,)*
        }

        impl FrancCounters {
            /// Joins the counters of the machine and of the daemon around it.
            pub fn new(machine: &Stats, daemon: &FrancDaemonCounts) -> Self {
                Self { $($name: machine.$name,)* $($daemon: daemon.$daemon,)* }
            }

            /// Returns the name, value and help text of each counter.
            fn each(&self) -> impl Iterator<Item = (&'static str, u64, &'static str)> {
                [
                    $((stringify!($name), self.$name, concat!($($docs),*).trim()),)*
                    $((stringify!($daemon), self.$daemon, concat!($($daemon_docs),*).trim()),)*
                ]
                .into_iter()
            }
        }

        /// The counters of the daemon around the machine.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct FrancDaemonCounts {
            $($(#[doc = $daemon_docs])* pub $daemon: u64,)*
        }
    };
}

lasthop_franc::franc_counters!(counters {
    daemon {
        /// Packets that the tunnel interface rejected.
        undelivered;
        /// Datagrams not sent because the neighbour's address was unknown.
        unplaced;
        /// Datagrams that the system rejected.
        unsent;
        /// Datagrams too long for the path.
        too_long;
        /// Times that the link was temporarily full.
        full;
        /// Datagrams of the link read from the monitor interface.
        overheard;
        /// Frames with such datagrams left out as retransmissions.
        overheard_again;
        /// Frames at the monitor interface with a wrong FCS.
        overheard_bad_fcs;
        /// Encrypted data frames at the monitor interface, which are unreadable.
        overheard_protected;
        /// Fragments and malformed frames at the monitor interface, which are ignored.
        overheard_unread;
        /// Data frames dropped by the kernel before the daemon read them at the monitor interface.
        overheard_drops;
    }
});

impl FrancDocument {
    /// Makes the document of a node that has run for `up`; `places` has the addresses of its
    /// neighbours.
    pub fn new(
        name: &str,
        transport: &str,
        config: &Config,
        up: Duration,
        stats: &Stats,
        daemon: &FrancDaemonCounts,
        places: &[FrancPlace],
    ) -> Self {
        let ms = |time: Duration| rounded(time.as_secs_f64() * 1e3, 3);
        let share = |share: f64| rounded(share, 4);
        let known = !stats.round_trip.is_zero();
        let address = |id: u8, link: u8| {
            let place = places.iter().find(|place| (place.id, place.link) == (id, link));
            place.map(|place| place.address.clone())
        };
        let mut neighbours: Vec<FrancNeighbour> = stats
            .neighbours
            .iter()
            .map(|neighbour| FrancNeighbour {
                id: neighbour.id.0,
                address: address(neighbour.id.0, 0),
                heard: neighbour.heard,
                loss_in: neighbour.loss_in.map(share),
                loss_out: neighbour.loss_out.map(share),
            })
            .collect();
        for FrancPlace { id, address, .. } in places {
            if !neighbours.iter().any(|neighbour| neighbour.id == *id) {
                let address = Some(address.clone());
                let silent =
                    FrancNeighbour { id: *id, address, heard: 0, loss_in: None, loss_out: None };
                neighbours.push(silent);
            }
        }
        let peer = match config.role {
            Role::End { peer, .. } => peer.0,
            _ => 0,
        };
        let link = |link: &LinkStats| FrancLinkState {
            link: link.link + 1,
            address: address(peer, link.link),
            alive: link.is_alive,
            datagram_bytes_sent: link.datagram_bytes_sent,
            share: stats.share_of(link).map(share),
            heard: link.heard,
            loss_in: link.loss_in.map(share),
            loss_out: link.loss_out.map(share),
            round_trip_ms: link.round_trip.map(ms),
            pace_mbps: rounded(link.pace_bps as f64 / 1e6, 3),
        };
        neighbours.sort_by_key(|neighbour| neighbour.id);
        Self {
            version: env!("CARGO_PKG_VERSION").into(),
            name: name.into(),
            id: config.id.0,
            role: match config.role {
                Role::End { .. } => FrancRole::End,
                Role::Helper { .. } => FrancRole::Helper,
                Role::Recoder { .. } => FrancRole::Recoder,
                Role::Forwarder { .. } => FrancRole::Forwarder,
            },
            transport: transport.into(),
            mode: match config.mode {
                Mode::Paper { .. } => "paper".into(),
                Mode::Stream { .. } => "stream".into(),
            },
            field: format!("{:?}", config.field).to_lowercase(),
            block_symbols: config.block_symbols,
            symbol_bytes: config.symbol_bytes,
            tunnel_mtu_bytes: config.inner_mtu() as u32,
            up_s: rounded(up.as_secs_f64(), 3),
            connected: stats.connected,
            backlog_packets: stats.backlog_packets,
            round_trip_ms: known.then(|| ms(stats.round_trip)),
            queue_delay_ms: known.then(|| ms(stats.queue_delay)),
            path_datagram_bytes: Some(stats.path_datagram_bytes).filter(|&bytes| bytes > 0),
            pace_mbps: (stats.pace_bps > 0).then(|| rounded(stats.pace_bps as f64 / 1e6, 3)),
            counters: FrancCounters::new(stats, daemon),
            neighbours,
            links: stats.links.iter().map(link).collect(),
        }
    }

    /// Returns the document as indented JSON, with a newline at its end.
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self)
            .expect("a document has string keys and no fallible serializer");
        text.push('\n');
        text
    }

    /// Returns the document as metrics in the text format of Prometheus.
    pub fn to_prometheus(&self) -> String {
        let mut out = String::new();
        let link = format!("name=\"{}\",id=\"{}\"", self.name, self.id);
        let mut metric = |name: &str, help: &str, kind: &str, lines: &[(String, f64)]| {
            if lines.is_empty() {
                return;
            }
            let _ = writeln!(out, "# HELP lasthop_franc_{name} {help}");
            let _ = writeln!(out, "# TYPE lasthop_franc_{name} {kind}");
            for (labels, value) in lines {
                let _ = writeln!(out, "lasthop_franc_{name}{{{link}{labels}}} {value}");
            }
        };
        let own = |value: f64| vec![(String::new(), value)];
        let seconds = |ms: Option<f64>| ms.map_or(Vec::new(), |ms| own(ms / 1e3));
        metric("up_seconds", "Seconds since the node began.", "gauge", &own(self.up_s));
        let connected = f64::from(u8::from(self.connected));
        metric("connected", "There is a session with the other end.", "gauge", &own(connected));
        let backlog = self.backlog_packets as f64;
        metric("backlog_packets", "Packets that wait to be coded.", "gauge", &own(backlog));
        metric("round_trip_seconds", "Smoothed round trip.", "gauge", &seconds(self.round_trip_ms));
        let queue = seconds(self.queue_delay_ms);
        metric("queue_delay_seconds", "Delay in queues of the way.", "gauge", &queue);
        let path = self.path_datagram_bytes.map_or(Vec::new(), |bytes| own(bytes.into()));
        let help = "Longest datagram that the path is known to carry.";
        metric("path_datagram_bytes", help, "gauge", &path);
        let pace = self.pace_mbps.map_or(Vec::new(), |mbps| own(mbps * 1e6));
        metric("pace_bits_per_second", "Rate of sending.", "gauge", &pace);
        for (name, value, help) in self.counters.each() {
            metric(&format!("{name}_total"), help, "counter", &own(value as f64));
        }
        let each = |value: &dyn Fn(&FrancNeighbour) -> Option<f64>| -> Vec<(String, f64)> {
            let line = |neighbour: &FrancNeighbour| {
                Some((format!(",neighbour=\"{}\"", neighbour.id), value(neighbour)?))
            };
            self.neighbours.iter().filter_map(line).collect()
        };
        let heard = each(&|neighbour| Some(neighbour.heard as f64));
        metric("heard_total", "Datagrams heard from a neighbour.", "counter", &heard);
        let help = "Share of a neighbour's datagrams that is lost on the way here.";
        metric("loss_in_ratio", help, "gauge", &each(&|neighbour| neighbour.loss_in));
        let help = "Share of our datagrams that is lost on the way to a neighbour.";
        metric("loss_out_ratio", help, "gauge", &each(&|neighbour| neighbour.loss_out));
        let each = |value: &dyn Fn(&FrancLinkState) -> Option<f64>| -> Vec<(String, f64)> {
            let line =
                |link: &FrancLinkState| Some((format!(",link=\"{}\"", link.link), value(link)?));
            self.links.iter().filter_map(line).collect()
        };
        let alive = each(&|link| Some(f64::from(u8::from(link.alive))));
        metric("link_alive", "The link is in use.", "gauge", &alive);
        let sent = each(&|link| Some(link.datagram_bytes_sent as f64));
        let help = "Bytes of the datagrams sent on the link.";
        metric("link_datagram_bytes_sent_total", help, "counter", &sent);
        let help = "Share of the other end's datagrams that is lost on the link.";
        metric("link_loss_in_ratio", help, "gauge", &each(&|link| link.loss_in));
        let help = "Share of our datagrams that is lost on the link.";
        metric("link_loss_out_ratio", help, "gauge", &each(&|link| link.loss_out));
        let round_trip = each(&|link| link.round_trip_ms.map(|ms| ms / 1e3));
        metric("link_round_trip_seconds", "Smoothed round trip.", "gauge", &round_trip);
        let pace = each(&|link| Some(link.pace_mbps * 1e6));
        metric("link_pace_bits_per_second", "Rate of sending.", "gauge", &pace);
        out
    }
}

/// Returns the JSON Schema of the output of `lasthop franc stats --json`.
pub fn franc_schema() -> serde_json::Value {
    serde_json::from_str(include_str!("../schemas/franc.json"))
        .expect("a test compares it with the one that schemars makes")
}

/// Rounds `value` to `decimals` decimal places.
fn rounded(value: f64, decimals: i32) -> f64 {
    let scale = 10f64.powi(decimals);
    (value * scale).round() / scale
}

#[cfg(test)]
mod tests {
    use super::*;
    use lasthop_franc::NodeId;
    use lasthop_franc::config::Keys;
    use lasthop_franc::stats::NeighbourStats;

    fn document() -> FrancDocument {
        let role = Role::End { peer: NodeId(2), via: NodeId(2), helpers: 0 };
        let config = Config::new(NodeId(1), role, Keys::Insecure, 1_472);
        let heard = NeighbourStats { id: NodeId(2), heard: 7, loss_in: Some(0.25), loss_out: None };
        let stats = Stats {
            packets_in: 5,
            connected: true,
            round_trip: Duration::from_millis(20),
            neighbours: vec![heard],
            ..Stats::default()
        };
        let daemon = FrancDaemonCounts { full: 3, ..FrancDaemonCounts::default() };
        let places =
            [2, 3].map(|id| FrancPlace { id, link: 0, address: format!("192.0.2.{id}:4797") });
        let up = Duration::from_millis(1_500);
        FrancDocument::new("franc0", "udp", &config, up, &stats, &daemon, &places)
    }

    #[test]
    fn the_document_is_as_its_schema_says() {
        let json = document().to_json();
        let value: serde_json::Value = serde_json::from_str(&json).unwrap();
        let schema = jsonschema::validator_for(&franc_schema()).unwrap();
        assert!(schema.is_valid(&value), "{json}");
        assert_eq!(serde_json::from_str::<FrancDocument>(&json).unwrap(), document());
        assert_eq!(value["counters"]["packets_in"], 5);
        assert_eq!(value["neighbours"][1]["address"], "192.0.2.3:4797");
    }

    /// In the format of Prometheus, a metric has a help line, a type line and its samples.
    #[test]
    fn every_metric_is_introduced_and_has_a_number() {
        let text = document().to_prometheus();
        let mut introduced = Vec::new();
        for line in text.lines() {
            if let Some(rest) = line.strip_prefix("# TYPE ") {
                introduced.push(rest.split(' ').next().unwrap().to_owned());
            } else if !line.starts_with('#') {
                let (name, rest) = line.split_once('{').unwrap();
                assert_eq!(introduced.last().map(String::as_str), Some(name));
                let (labels, value) = rest.split_once("} ").unwrap();
                assert!(labels.starts_with("name=\"franc0\",id=\"1\""), "{labels}");
                assert!(value.parse::<f64>().is_ok(), "{line}");
            }
        }
        assert!(text.contains("lasthop_franc_packets_in_total{name=\"franc0\",id=\"1\"} 5\n"));
        assert!(text.contains("lasthop_franc_full_total{name=\"franc0\",id=\"1\"} 3\n"));
        let loss = "lasthop_franc_loss_in_ratio{name=\"franc0\",id=\"1\",neighbour=\"2\"} 0.25\n";
        assert!(text.contains(loss), "{text}");
    }

    /// Finds counters that are missing from one of the outputs.
    #[test]
    fn every_counter_is_in_the_json_the_metrics_the_schema_and_the_docs() {
        let document = document();
        let json: serde_json::Value = serde_json::from_str(&document.to_json()).unwrap();
        let text = document.to_prometheus();
        let schema = &franc_schema()["$defs"]["FrancCounters"]["properties"];
        let docs = include_str!("../../../docs/franc.md");
        let machine: Vec<_> = Stats::default().counters().map(|(name, ..)| name).collect();
        let shown: Vec<_> = document.counters.each().map(|(name, ..)| name).collect();
        assert!(machine.iter().all(|name| shown.contains(name)));
        for (name, value, help) in document.counters.each() {
            assert_eq!(json["counters"][name], value, "{name}");
            assert!(text.contains(&format!("# HELP lasthop_franc_{name}_total {help}\n")));
            assert!(text.contains(&format!("# TYPE lasthop_franc_{name}_total counter\n")));
            assert_eq!(schema[name]["description"], help, "{name}");
            let row = format!("| `{name}` | {help} |\n");
            assert!(docs.contains(&row), "docs/franc.md lacks this row: {row}");
        }
    }
}

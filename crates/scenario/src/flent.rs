//! Expands `[[flent]]` to `[[flow]]` tables: the flows of flent's tests rrul, rrul_be, rtt_fair,
//! tcp_nup and tcp_ndown, with their names, times and priorities (flent/tests/*.conf). UDP pings are
//! those of irtt, which flent prefers to netperf's UDP_RR: one each step, whether or not the one
//! before was answered. Left out: other tests, netperf's control connections, and the time that its
//! programs take to start.

use crate::raw::{DscpMapping, FlentTest, RawFlent};
use lasthop_config::edit::{matches, with_origin};
use lasthop_config::error::{Place, Problems};
use lasthop_config::tree::{Entry, Node, Value};
use lasthop_units::Duration;

/// Time from the first ping to the TCP flows, and from their end to the last ping (flent's DELAY).
const DELAY: Duration = Duration::from_secs(5);

/// Length of irtt's packets: 60 bytes with all its fields, UDP and IPv4.
const IRTT_PACKET_BYTES: u32 = 88;

/// Number of servers of rtt_fair.
const SERVERS: usize = 4;

/// A DSCP that the tests use.
#[derive(Clone, Copy)]
enum Dscp {
    Cs0,
    Cs1,
    Cs5,
    Ef,
}

impl Dscp {
    /// The access category under a mapping (cfg80211_classify8021d and IEEE 802.1D's priorities).
    const fn category(self, mapping: DscpMapping) -> &'static str {
        match self {
            Self::Cs0 => "best-effort",
            Self::Cs1 => "background",
            Self::Cs5 => "video",
            Self::Ef => match mapping {
                DscpMapping::Precedence => "video",
                DscpMapping::Rfc8325 => "voice",
            },
        }
    }
}

/// A flow of a test: its name, its ends, and its other keys as TOML.
struct Made {
    name: String,
    ends: [String; 2],
    keys: String,
    is_tcp: bool,
}

/// Makes the flows of one test.
struct Maker<'a> {
    test: &'a RawFlent,
    made: Vec<Made>,
}

impl Maker<'_> {
    fn add(&mut self, name: &str, ends: [&str; 2], keys: String, is_tcp: bool) {
        let name = format!("{}-{name}", self.test.name.value.0);
        self.made.push(Made { name, ends: ends.map(str::to_owned), keys, is_tcp });
    }

    /// TCP flows between flent's node and a server, in both directions or one.
    fn tcp(&mut self, label: &str, server: &str, ways: &[&str], dscp: Dscp, count: Option<u32>) {
        let test = self.test;
        let start = test.start.value + DELAY;
        let keys = format!(
            "kind = \"tcp\"\nstart = \"{}ns\"\nstop = \"{}ns\"\naccess_category = \"{}\"\n{}",
            start.as_nanos(),
            (start + test.length.value).as_nanos(),
            dscp.category(test.dscp.value),
            count.map_or_else(String::new, |count| format!("count = {count}\n")),
        );
        let here = test.from.value.as_str();
        for &way in ways {
            let ends = if way == "up" { [here, server] } else { [server, here] };
            let label = if label.is_empty() { way.to_owned() } else { format!("{way}-{label}") };
            self.add(&label, ends, keys.clone(), true);
        }
    }

    /// A ping to a server, of ICMP without a length.
    fn ping(&mut self, label: &str, server: &str, dscp: Dscp, packet_bytes: Option<u32>) {
        let test = self.test;
        let keys = format!(
            "kind = \"ping\"\nstart = \"{}ns\"\nstop = \"{}ns\"\ninterval = \"{}ns\"\n\
             access_category = \"{}\"\n{}",
            test.start.value.as_nanos(),
            (test.start.value + test.length.value + DELAY * 2).as_nanos(),
            test.step.value.as_nanos(),
            dscp.category(test.dscp.value),
            packet_bytes.map_or_else(String::new, |bytes| format!("packet_bytes = {bytes}\n")),
        );
        let here = test.from.value.clone();
        self.add(&format!("ping-{label}"), [&here, server], keys, false);
    }

    /// All flows, for the nodes of the servers.
    fn make(&mut self, servers: &[String]) {
        const BOTH: &[&str] = &["up", "down"];
        let server = self.test.to.value.clone();
        let udp = Some(IRTT_PACKET_BYTES);
        match self.test.test.value {
            FlentTest::Rrul => {
                let classes =
                    [("be", Dscp::Cs0), ("bk", Dscp::Cs1), ("cs5", Dscp::Cs5), ("ef", Dscp::Ef)];
                for (label, dscp) in classes {
                    self.tcp(label, &server, BOTH, dscp, None);
                }
                self.ping("udp-ef", &server, Dscp::Ef, udp);
                self.ping("udp-bk", &server, Dscp::Cs1, udp);
                self.ping("udp-be", &server, Dscp::Cs0, udp);
                self.ping("icmp", &server, Dscp::Cs0, None);
            }
            FlentTest::RrulBe => {
                for label in ["be", "be2", "be3", "be4"] {
                    self.tcp(label, &server, BOTH, Dscp::Cs0, None);
                }
                for label in ["udp-be1", "udp-be2", "udp-be3"] {
                    self.ping(label, &server, Dscp::Cs0, udp);
                }
                self.ping("icmp", &server, Dscp::Cs0, None);
            }
            FlentTest::RttFair => {
                let classes = [
                    ("be1", Dscp::Cs0),
                    ("be2", Dscp::Cs0),
                    ("bk1", Dscp::Cs1),
                    ("bk2", Dscp::Cs1),
                ];
                for (number, (label, dscp)) in classes.into_iter().enumerate() {
                    let server = &servers[number % servers.len()];
                    self.tcp(label, server, BOTH, dscp, None);
                    self.ping(&format!("icmp{}", number + 1), server, Dscp::Cs0, None);
                }
            }
            FlentTest::TcpNup | FlentTest::TcpNdown => {
                let is_up = self.test.test.value == FlentTest::TcpNup;
                let way = if is_up { "up" } else { "down" };
                let streams = self.test.streams.as_ref().map_or(1, |at| at.value.get());
                self.tcp("", &server, &[way], Dscp::Cs0, Some(streams));
                self.ping("icmp", &server, Dscp::Cs0, None);
            }
        }
    }
}

/// Adds the flows of all tests to `tree`. Faults of their tables are reported later, when the tree
/// is typed.
pub(crate) fn expand(tree: &mut Node, problems: &mut Problems) {
    let Some(tests) = tree.child("flent").and_then(Node::elements) else { return };
    let names = node_names(tree);
    let mut flows = Vec::new();
    for node in tests {
        let place = Place::new("flent", node.origin.clone());
        let mut ignored = Problems::default();
        let test = lasthop_config::table::read::<RawFlent>(node, place.clone(), &mut ignored);
        let Some(test) = test.filter(|_| ignored.is_empty()) else { continue };
        let pattern = &test.to.value;
        let has_many = test.test.value == FlentTest::RttFair;
        let is_server =
            |name: &&String| *name == pattern || (has_many && matches(pattern, name.as_str()));
        let servers: Vec<String> = names.iter().filter(is_server).take(SERVERS).cloned().collect();
        if servers.is_empty() {
            problems.push(&test.to.place, format!("there is no node called {pattern:?}"));
            continue;
        }
        let is_counted = matches!(test.test.value, FlentTest::TcpNup | FlentTest::TcpNdown);
        if let Some(streams) = &test.streams
            && !is_counted
        {
            problems.push(&streams.place, "this key is for \"tcp_nup\" and \"tcp_ndown\" only");
        }
        let mut maker = Maker { test: &test, made: Vec::new() };
        maker.make(&servers);
        flows.extend(maker.made.into_iter().map(|made| flow(node, made)));
    }
    let Value::Table(entries) = &mut tree.value else { return };
    let given = entries.iter_mut().find(|entry| entry.key == "flow");
    match given.map(|entry| &mut entry.node.value) {
        Some(Value::Array(elements)) => elements.extend(flows),
        Some(_) => {}
        None if flows.is_empty() => {}
        None => {
            let origin = flows[0].origin.clone();
            let node = Node { value: Value::Array(flows), origin: origin.clone() };
            entries.push(Entry { key: "flow".into(), key_origin: origin, node });
        }
    }
}

/// The table of a flow, with the origin of its test.
fn flow(test: &Node, made: Made) -> Node {
    let Made { name, ends: [from, to], keys, is_tcp } = made;
    let text = format!("name = {name:?}\nfrom = {from:?}\nto = {to:?}\n{keys}");
    let node = Node::parse(&text).expect("names are words, and the rest is made here");
    let mut node = with_origin(node, &test.origin);
    if let (Value::Table(entries), true) = (&mut node.value, is_tcp) {
        for key in ["congestion_control", "tcp"] {
            let given = test.entries().into_iter().flatten().find(|entry| entry.key == key);
            entries.extend(given.cloned());
        }
    }
    node
}

/// Names of the nodes, in the order of the file, with counts expanded.
fn node_names(tree: &Node) -> Vec<String> {
    let mut names = Vec::new();
    for node in tree.child("node").and_then(Node::elements).into_iter().flatten() {
        let Some(name) = node.child("name").and_then(Node::as_str) else { continue };
        match node.child("count").map(|count| &count.value) {
            Some(Value::Integer(count)) => {
                // A fault of the count is reported when the tree is typed.
                names.extend((1..=(*count).clamp(0, 1_000)).map(|n| format!("{name}{n}")));
            }
            _ => names.push(name.to_owned()),
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use lasthop_packet::AccessCategory::{self, Background, BestEffort, Video, Voice};

    const NODES: &str = "duration = \"80s\"\n[channel]\n[[node]]\nname = \"ap\"\nrole = \
                         \"access-point\"\n[[node]]\nname = \"sta\"\nrole = \"station\"\ncount = 2\n\
                         [[node]]\nname = \"server\"\nrole = \"host\"\n[[wire]]\nbetween = [\"ap\", \
                         \"server\"]\n";

    type Row = (String, usize, usize, AccessCategory, f64, f64);

    /// Name, ends, category and times of each flow.
    fn rows(keys: &str) -> Vec<Row> {
        let text = format!("{NODES}[[flent]]\nname = \"it\"\n{keys}\n");
        let scenario = crate::parse("test.toml", &text, &[]).unwrap_or_else(|why| panic!("{why}"));
        let row = |flow: &lasthop_hosts::Flow| {
            let seconds = |at: lasthop_units::Instant| at.as_nanos() as f64 / 1e9;
            let stop = flow.stop.map_or(f64::NAN, seconds);
            let ends = [flow.from, flow.to].map(|node| node.index());
            (flow.name.clone(), ends[0], ends[1], flow.access_category, seconds(flow.start), stop)
        };
        scenario.flows.iter().map(row).collect()
    }

    /// flent/tests/rrul.conf: TCP from 5 s for the length, pings over all of it.
    #[test]
    fn rrul_has_eight_flows_in_four_classes() {
        let test = "test = \"rrul\"\nfrom = \"server\"\nto = \"sta1\"\nlength = \"30s\"";
        let rows = rows(test);
        let expected = [
            ("it-up-be", 3, 1, BestEffort, 5.0, 35.0),
            ("it-down-be", 1, 3, BestEffort, 5.0, 35.0),
            ("it-up-bk", 3, 1, Background, 5.0, 35.0),
            ("it-down-bk", 1, 3, Background, 5.0, 35.0),
            ("it-up-cs5", 3, 1, Video, 5.0, 35.0),
            ("it-down-cs5", 1, 3, Video, 5.0, 35.0),
            ("it-up-ef", 3, 1, Video, 5.0, 35.0),
            ("it-down-ef", 1, 3, Video, 5.0, 35.0),
            ("it-ping-udp-ef", 3, 1, Video, 0.0, 40.0),
            ("it-ping-udp-bk", 3, 1, Background, 0.0, 40.0),
            ("it-ping-udp-be", 3, 1, BestEffort, 0.0, 40.0),
            ("it-ping-icmp", 3, 1, BestEffort, 0.0, 40.0),
        ];
        let expected = expected.map(|(name, from, to, category, start, stop)| {
            (name.to_owned(), from, to, category, start, stop)
        });
        assert_eq!(rows, expected);
        let voice = self::rows(&format!("{test}\ndscp = \"rfc8325\""));
        assert_eq!((voice[6].3, voice[4].3, voice[8].3), (Voice, Video, Voice));
    }

    /// flent/tests/rtt_fair.conf: four hosts, repeated if there are fewer.
    #[test]
    fn the_other_tests_have_theirs() {
        let fair = rows("test = \"rtt_fair\"\nfrom = \"server\"\nto = \"sta*\"");
        let ups: Vec<_> = fair.iter().filter(|row| row.0.starts_with("it-up")).collect();
        assert_eq!(ups.iter().map(|row| row.2).collect::<Vec<_>>(), [1, 2, 1, 2]);
        let categories: Vec<_> = ups.iter().map(|row| row.3).collect();
        assert_eq!(categories, [BestEffort, BestEffort, Background, Background]);
        assert_eq!(fair.len(), 12);
        let be = rows("test = \"rrul_be\"\nfrom = \"server\"\nto = \"sta1\"");
        assert_eq!(be.len(), 12);
        assert!(be.iter().all(|row| row.3 == BestEffort));
        let ups = "test = \"tcp_nup\"\nfrom = \"server\"\nto = \"sta1\"\nstreams = 3\n\
                   congestion_control = \"reno\"\ntcp.ecn = true";
        let names: Vec<String> = rows(ups).into_iter().map(|row| row.0).collect();
        assert_eq!(names, ["it-up1", "it-up2", "it-up3", "it-ping-icmp"]);
        let downs = rows("test = \"tcp_ndown\"\nfrom = \"server\"\nto = \"sta2\"");
        assert_eq!((downs[0].0.as_str(), downs[0].1, downs[0].2), ("it-down1", 2, 3));
    }

    #[test]
    fn faults_are_found() {
        for (keys, part) in [
            ("test = \"rrul\"\nfrom = \"server\"\nto = \"sta3\"", "no node called"),
            ("test = \"rrul\"\nfrom = \"server\"\nto = \"sta1\"\nstreams = 3", "tcp_nup"),
            ("test = \"http\"\nfrom = \"server\"\nto = \"sta1\"", "rrul_be"),
            ("test = \"rrul\"\nfrom = \"server\"\nto = \"sta1\"\nlength = \"80s\"", "at most"),
        ] {
            let text = format!("{NODES}[[flent]]\nname = \"it\"\n{keys}\n");
            let why = crate::parse("test.toml", &text, &[]).expect_err("it is a fault");
            assert!(why.to_string().contains(part), "{keys}: {why}");
        }
    }
}

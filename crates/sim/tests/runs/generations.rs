//! Stations of older standards on a channel of a newer one. A single one behaves as on a channel of
//! its generation, idle ones change nothing, and in company stations gain the channel equally often
//! and take air by the length of their exchanges.

use lasthop_hosts::Sink;
use lasthop_net::network::NetworkStats;
use lasthop_packet::{NodeId, Packet};
use lasthop_scenario::{Scenario, parse};
use lasthop_sim::{go_on, simulate};
use lasthop_units::{Instant, Seed};

/// When each packet arrived, and of which flow it is.
#[derive(Debug, Default)]
struct Arrivals(Vec<(Instant, String)>, Vec<String>);

impl Sink for Arrivals {
    fn arrived(&mut self, now: Instant, _node: NodeId, packet: &Packet) {
        self.0.push((now, self.1[usize::from(packet.flow.0)].clone()));
    }
}

fn go(scenario: &Scenario) -> (Vec<(Instant, String)>, NetworkStats) {
    let names = scenario.flows.iter().map(|flow| flow.name.clone()).collect();
    let mut arrivals = Arrivals(Vec::new(), names);
    let stats =
        simulate(scenario, Seed::new(1, 0), &mut arrivals, &mut go_on).expect("it is sound");
    (arrivals.0, stats)
}

/// An access point, stations with these keys, and flows.
fn scenario(channel: &str, stations: &[(&str, &str)], flows: &[(&str, &str, &str)]) -> Scenario {
    with_access_point(channel, "", stations, flows)
}

/// The same, and keys of the access point.
fn with_access_point(
    channel: &str,
    access_point: &str,
    stations: &[(&str, &str)],
    flows: &[(&str, &str, &str)],
) -> Scenario {
    let mut text = format!(
        "duration = \"2s\"\n[channel]\nbeacon_interval = \"off\"\n\
         error_model = {{ kind = \"simulated\" }}\n{channel}\n\
         [[node]]\nname = \"ap\"\nrole = \"access-point\"\n{access_point}\n"
    );
    for (name, keys) in stations {
        text += &format!("[[node]]\nname = \"{name}\"\nrole = \"station\"\n{keys}\n");
        text += &format!("[[link]]\nbetween = [\"ap\", \"{name}\"]\nsnr = \"45dB\"\n");
    }
    for (name, from, to) in flows {
        text += &format!(
            "[[flow]]\nname = \"{name}\"\nfrom = \"{from}\"\nto = \"{to}\"\nkind = \"udp\"\n\
             rate = \"saturated\"\n"
        );
    }
    parse("generations.toml", &text, &[]).unwrap_or_else(|why| panic!("{why}\n{text}"))
}

const NEW: &str = "standard = \"802.11ax\"\nwidth = \"80MHz\"";

/// The channel of an older station, the station on its own channel and on a new one.
const OLDER: [(&str, &str, &str); 3] = [
    ("standard = \"802.11n\"\nwidth = \"40MHz\"", "", "standard = \"802.11n\""),
    (
        "standard = \"802.11ac\"\nwidth = \"40MHz\"",
        "",
        "standard = \"802.11ac\"\nwidth = \"40MHz\"",
    ),
    ("standard = \"802.11a\"", "", "standard = \"802.11a\""),
];

/// The station sends at its fixed rate, to the nanosecond.
#[test]
fn an_older_station_alone_does_what_it_always_did() {
    for (channel, own, keys) in OLDER {
        let fixed = if channel.contains("802.11a\"") {
            "rate_control = { kind = \"fixed\", rate = \"54Mb/s\" }"
        } else {
            "rate_control = { kind = \"fixed\", mcs = 7 }"
        };
        // The channel decides what an access point can do that says nothing.
        let of = |channel: &str, keys: &str| {
            scenario(channel, &[("old", &format!("{keys}\n{fixed}"))], &[("up", "old", "ap")])
        };
        let (before, after) = (go(&of(channel, own)).0, go(&of(NEW, keys)).0);
        assert!(before.len() > 2_000, "{}", before.len());
        assert_eq!(before, after, "{channel}");
    }
}

/// The downlink, and both directions at once, behave alike: frames and aggregates are those that
/// the station receives. Without QoS the access point waits for DIFS, too; in company it counts
/// slots as EDCA does, so that is left out.
#[test]
fn what_an_older_station_receives_is_what_it_always_was() {
    let (up, down) = (("up", "old", "ap"), ("down", "ap", "old"));
    for (channel, own, keys) in OLDER {
        let has_qos = !channel.contains("802.11a\"");
        let both = [up, down];
        let sets: &[&[_]] = if has_qos { &[&[down], &both] } else { &[&[down]] };
        for limits in [
            "",
            "ampdu_bytes_max = 0",
            "ampdu_bytes_max = 0, amsdu_bytes_max = 7000",
            "amsdu_bytes_max = 3839",
        ] {
            let aggregation = format!("aggregation = {{ {limits} }}");
            let of_old = if has_qos { aggregation.as_str() } else { "" };
            let difs = if has_qos { "" } else { "edca = { best_effort = { aifsn = 2 } }" };
            for flows in sets {
                let of = |channel: &str, access_point: &str, keys: &str| {
                    let channel = format!("{channel}\n[node_defaults]\nrate_control = \"ideal\"");
                    let keys = format!("{keys}\n{of_old}");
                    with_access_point(&channel, access_point, &[("old", &keys)], flows)
                };
                let before = go(&of(channel, of_old, own)).0;
                let after = go(&of(NEW, &format!("{difs}\n{aggregation}"), keys)).0;
                assert!(before.len() > 2_000, "{}", before.len());
                assert_eq!(before, after, "{channel}, {limits}");
            }
        }
    }
}

#[test]
fn an_idle_older_station_changes_nothing() {
    let flows = [("down", "ap", "new"), ("up", "new", "ap")];
    let alone = go(&scenario(NEW, &[("new", "")], &flows)).0;
    assert!(alone.len() > 5_000, "{}", alone.len());
    for (_, _, keys) in OLDER {
        assert_eq!(alone, go(&scenario(NEW, &[("new", ""), ("old", keys)], &flows)).0, "{keys}");
        assert_eq!(alone, go(&scenario(NEW, &[("old", keys), ("new", "")], &flows)).0, "{keys}");
    }
}

/// Two saturated stations gain the channel equally often, although the older one waits for EIFS
/// after PPDUs that it cannot decode: the acknowledgement that follows ends that wait. (10.3.2.3.7)
#[test]
fn opportunities_are_shared_evenly() {
    for (_, _, keys) in OLDER {
        let flows = [("fast", "new", "ap"), ("slow", "old", "ap")];
        // Single MPDUs: so many opportunities that chance does not matter.
        let single = "aggregation = { ampdu_bytes_max = 0 }";
        let old =
            if keys.contains("802.11a\"") { keys.to_owned() } else { format!("{keys}\n{single}") };
        let stations = [("new", single), ("old", old.as_str())];
        let (_, stats) = go(&scenario(NEW, &stations, &flows));
        let ppdus = stats.links.iter().map(|(.., link)| link.ppdus);
        let ppdus: Vec<u64> = ppdus.filter(|ppdus| *ppdus > 100).collect();
        let [new, old] = ppdus[..] else { panic!("{ppdus:?}") };
        let ratio = new as f64 / old as f64;
        assert!((0.93..=1.07).contains(&ratio), "{keys}: {new} and {old}");
    }
}

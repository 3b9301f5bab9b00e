//! `--set`, `[[change]]` and `lasthop set` treat a path alike, for any order of ends, with or
//! without a table of the link, and where a direction or a node has a separate value.

use lasthop_net::CableConfig;
use lasthop_net::network::Change;
use lasthop_packet::queue::QueueConfig;
use lasthop_scenario::{Evolving, Scenario, parse};
use lasthop_units::{Bitrate, Db, Duration, Seed};
use lasthop_wifi::StationId;
use lasthop_wifi::cell::PairConfig;

/// A place: an access point, two stations, a server behind a line with a buffer each way.
const PLACE: &str = r#"
name = "place"

[[node]]
name = "ap"
role = "access-point"
[[node]]
name = "laptop"
role = "station"
[[node]]
name = "phone.old"
role = "station"
[[node]]
name = "server"
role = "host"
[[wire]]
between = ["ap", "server"]
delay = "10ms"
[wire.up]
rate = "5Mb/s"
queue = { kind = "drop-tail", bytes = "100kB" }
[wire.down]
rate = "25Mb/s"
queue = { kind = "drop-tail", bytes = "500kB" }
[[flow]]
name = "pages"
from = "laptop"
to = "server"
kind = "tcp"
requests = {}
[[flow]]
name = "ping"
from = "laptop"
to = "server"
kind = "ping"
"#;

fn with(text: &str, sets: &[&str]) -> Scenario {
    let sets: Vec<String> = sets.iter().map(|&set| set.into()).collect();
    let scenario = parse("place.toml", text, &sets).unwrap_or_else(|why| panic!("{sets:?} {why}"));
    // What is kept is the same again.
    let again = parse("again.toml", &scenario.source_text, &[]);
    let mut again = again.unwrap_or_else(|why| panic!("{why}\n{}", scenario.source_text));
    again.set.clone_from(&scenario.set);
    assert_eq!(again, scenario, "{}", scenario.source_text);
    scenario
}

fn refused(set: &str) -> String {
    parse("place.toml", PLACE, &[set.into()]).expect_err(set).to_string()
}

/// The upload and the download.
fn directions(sets: &[&str]) -> [CableConfig; 2] {
    with(PLACE, sets).network.wires[0].directions.clone()
}

fn mbps(mbps: u64) -> Option<Bitrate> {
    Some(Bitrate::from_mbps(mbps))
}

#[test]
fn ends_are_in_either_order() {
    for (path, rates) in [
        ("wire.ap-server.up", [mbps(2), mbps(25)]),
        ("wire.server-ap.up", [mbps(2), mbps(25)]),
        ("wire.server-ap.down", [mbps(5), mbps(2)]),
        ("wire.ap->server", [mbps(2), mbps(25)]),
        ("wire.server->ap", [mbps(5), mbps(2)]),
        ("wire.*->ap", [mbps(5), mbps(2)]),
        ("wire.*->*", [mbps(2), mbps(2)]),
        ("wire.server-*.up", [mbps(2), mbps(25)]),
        ("wire.0.up", [mbps(2), mbps(25)]),
    ] {
        let set = format!("{path}.rate=2Mb/s");
        assert_eq!(directions(&[&set]).map(|it| it.rate), rates, "{set}");
        let change =
            format!("{PLACE}[[change]]\nat = \"1s\"\nset = {{ \"{path}.rate\" = \"2Mb/s\" }}");
        let changes = with(&change, &[]).changes;
        assert_eq!(changes, changes_of(&set, &[]), "{set}");
        assert_eq!(changes.len(), if path.ends_with("->*") { 2 } else { 1 }, "{set}");
    }
    for set in ["wire.laptop-ap.delay=1ms", "wire.server->phone.delay=1ms"] {
        assert!(refused(set).contains("there are: ap-server"), "{}", refused(set));
    }
}

/// Applies the arguments of `lasthop set` one after the other, at one second.
fn changes_of(last: &str, first: &[&str]) -> Vec<(lasthop_units::Instant, Change)> {
    let scenario = with(PLACE, first);
    let mut evolving =
        Evolving::new("place.toml", &scenario, Seed::new(1, 0)).expect("it is sound");
    evolving.set(Duration::from_secs(1), &[last.into()]).expect("it can change")
}

/// A key of the whole wire is of both directions, also of those that have their own.
#[test]
fn a_whole_wire_is_both_directions() {
    assert_eq!(directions(&["wire.*.rate=3Mb/s"]).map(|it| it.rate), [mbps(3); 2]);
    for set in [
        "wire.*.queue.kind=fq-codel",
        "wire.ap-server.queue.kind=fq-codel",
        "wire.server-ap.queue=fq-codel",
        "wire.0.queue={ kind = \"fq-codel\", packets = 500 }",
    ] {
        let queues = directions(&[set]).map(|it| it.queue);
        let is_fair = |queue: &QueueConfig| matches!(queue, QueueConfig::FqCodel { .. });
        assert!(queues.iter().all(is_fair), "{set}: {queues:?}");
        assert_eq!(changes_of(set, &[]).len(), 2, "{set}");
    }
    // Where only one has its own, and where a direction is set after the whole, or before.
    let one = PLACE.replace("[wire.down]", "[wire.down]\njitter = \"1ms\"");
    let jitter =
        |sets: &[&str]| with(&one, sets).network.wires[0].directions.clone().map(|it| it.jitter);
    let both = jitter(&["wire.*.jitter=2ms"]);
    assert_eq!(both[0], both[1]);
    let after = directions(&["wire.*.rate=3Mb/s", "wire.*.up.rate=1Mb/s"]);
    assert_eq!(after.map(|it| it.rate), [mbps(1), mbps(3)]);
    let before = directions(&["wire.*.up.rate=1Mb/s", "wire.*.rate=3Mb/s"]);
    assert_eq!(before.map(|it| it.rate), [mbps(3); 2]);
}

/// A pattern sets a key where it can be; a value that is wrong is wrong, and one name is meant.
#[test]
fn a_pattern_is_for_those_that_can_have_the_key() {
    let retries = |sets: &[&str]| -> Vec<u32> {
        let cell = with(PLACE, sets).network.cell.expect("there is one");
        cell.stations.iter().map(|station| u32::from(station.retry_limit)).collect()
    };
    assert_eq!(retries(&["node.*.retry_limit=4"]), [4; 3]);
    assert_eq!(retries(&["node.*e*.retry_limit=4", "node.ap.retry_limit=5"]), [5, 7, 4]);
    let dozing = with(PLACE, &["node.*.power_save.idle=9ms"]).network.cell.expect("there is one");
    let dozing: Vec<bool> = dozing.stations.iter().map(|it| it.power_save.is_some()).collect();
    assert_eq!(dozing, [false, true, true]);
    with(PLACE, &["flow.*.congestion_control=reno", "flow.*.tcp.sack=false"]);
    with(PLACE, &["flow.*.interval=20ms"]);
    with(PLACE, &["node.ap.queue=codel", "node.*.queue.flows=16"]);
    assert!(refused("node.*.retry_limit=0").contains("from 1 to 255"));
    assert!(refused("node.server.retry_limit=4").contains("a host has no radio"));
    assert!(refused("node.serv*.retry_limit=4").contains("a host has no radio"));
    assert!(refused("flow.*.pattern=poisson").contains("for udp flows only"));
    assert!(refused("node.*.ofdma={}").contains("OFDMA needs 802.11ax"));
    // While it runs, too.
    assert_eq!(changes_of("node.*.queue.kind=codel", &[]).len(), 3);
}

fn links(scenario: &Scenario) -> Vec<PairConfig> {
    scenario.network.cell.as_ref().expect("there is one").links.iter().collect()
}

fn snr(scenario: &Scenario, from: u16, to: u16) -> Db {
    let links = &scenario.network.cell.as_ref().expect("there is one").links;
    links.snr(StationId(from), StationId(to)).expect("they have a link")
}

/// A link without a `[[link]]` has a path by its ends.
#[test]
fn a_link_needs_no_table() {
    let table = |keys: &str| with(&format!("{PLACE}[[link]]\n{keys}\n"), &[]);
    for (sets, keys) in [
        (&["link.ap-laptop.snr=12dB"][..], "between = [\"ap\", \"laptop\"]\nsnr = \"12dB\""),
        (&["link.laptop-ap.snr=12dB"], "between = [\"ap\", \"laptop\"]\nsnr = \"12dB\""),
        (&["link.laptop-ap.loss=0.5"], "between = [\"ap\", \"laptop\"]\nloss = 0.5"),
        (
            &["link.ap-phone.old.path_loss=70dB"],
            "between = [\"ap\", \"phone.old\"]\npath_loss = \"70dB\"",
        ),
        (
            &["link.ap-phone.old.fading.kind=rayleigh"],
            "between = [\"ap\", \"phone.old\"]\nfading = \"rayleigh\"",
        ),
        (&["link.ap-*.snr=12dB"], "between = [\"ap\", \"*\"]\nsnr = \"12dB\""),
        (
            &["link.ap-laptop.loss=1", "link.ap-laptop.snr=20dB"],
            "between = [\"ap\", \"laptop\"]\nsnr = \"20dB\"",
        ),
        (
            &["link.ap-laptop.snr=20dB", "link.laptop-ap.loss=1", "link.ap-laptop.loss=off"],
            "between = [\"ap\", \"laptop\"]\nsnr = \"20dB\"",
        ),
    ] {
        assert_eq!(links(&with(PLACE, sets)), links(&table(keys)), "{sets:?}");
    }
    let both = with(PLACE, &["link.ap-laptop.snr=12dB", "link.ap-phone.old.snr=20dB"]);
    assert_eq!([snr(&both, 0, 1), snr(&both, 2, 0)], [Db(12.0), Db(20.0)]);
    // Beside one that has a table, and in its place.
    let text = format!(
        "{PLACE}[[link]]\nbetween = [\"laptop\", \"ap\"]\nsnr = \"30dB\"\nfading = \"rayleigh\"\n"
    );
    let lost = with(&text, &["link.ap-laptop.loss=0.1"]);
    assert!(links(&lost)[0].link.loss.is_some());
    assert_eq!(
        links(&with(&text, &["link.*.loss=0.1", "link.*.loss=off"])),
        links(&with(&text, &[]))
    );
    let beside = with(&text, &["link.ap-phone.old.snr=20dB"]);
    assert_eq!([snr(&beside, 1, 0), snr(&beside, 0, 2)], [Db(30.0), Db(20.0)]);
    // `lasthop set` gives the same.
    let changed = changes_of("link.ap-laptop.snr=12dB", &[]);
    assert_eq!(changed, changes_of("link.laptop-ap.snr=12dB", &["link.ap-laptop.snr=20dB"]));
    let is_12 = |(_, change): &(_, Change)| matches!(change, Change::Link { snr: Db(12.0), .. });
    assert!(changed.len() == 2 && changed.iter().all(is_12), "{changed:?}");

    for (set, told) in [
        (
            "link.snr=12dB",
            "there is no [[link]]; a link is called by the two nodes at its ends, such as link.ap-laptop.snr",
        ),
        ("link.ap-nobody.snr=12dB", "there is no [[link]]"),
        ("link.ap-server.snr=12dB", "\"server\" has no radio"),
        ("link.ap-laptop.snr=loud", "expected a power ratio"),
    ] {
        assert!(refused(set).contains(told), "{}", refused(set));
    }
}

/// A default is of the nodes that say nothing themselves; a default of none is an error.
#[test]
fn a_default_is_some_nodes() {
    let own = |text: &str, name: &str| {
        let from = format!("name = \"{name}\"");
        text.replace(&from, &format!("{from}\nretry_limit = 9\nqueue = \"codel\""))
    };
    let two = own(&own(PLACE, "ap"), "laptop");
    let set = "node_defaults.retry_limit=4";
    let cell = with(&two, &[set]).network.cell.expect("there is one");
    let limits: Vec<u32> = cell.stations.iter().map(|it| u32::from(it.retry_limit)).collect();
    assert_eq!(limits, [9, 9, 4]);
    let all = own(&two, "phone.old");
    for set in [set, "node_defaults.queue.kind=fq-codel"] {
        let why = parse("place.toml", &all, &[set.into()]).expect_err(set).to_string();
        assert!(why.contains("every node has its own"), "{why}");
    }
    with(&all, &["node_defaults.queue.packets=50", "node_defaults.mtu=1400"]);
}

/// "off" ends what a table began.
#[test]
fn off_takes_a_table_out() {
    let text = PLACE.replace("name = \"laptop\"", "name = \"laptop\"\npower_save = {}");
    let saves = |sets: &[&str]| {
        let cell = with(&text, sets).network.cell.expect("there is one");
        cell.stations[1].power_save.is_some()
    };
    assert!(saves(&[]));
    assert!(!saves(&["node.laptop.power_save=off"]));
    assert!(!saves(&["node.*.power_save=off"]));
    assert!(saves(&["node.laptop.power_save=off", "node.laptop.power_save.idle=1s"]));
}

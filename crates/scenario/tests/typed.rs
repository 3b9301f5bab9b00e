//! Valid scenarios as typed values: defaults, names, numbers.
//!
//! Long because its tests share some scenarios and the functions around them.

use lasthop_apq::survey::{ExactConfig, FastConfig, Method};
use lasthop_apq::{Direction, HostClock};
use lasthop_hosts::traffic::Sizes;
use lasthop_hosts::{Endpoints, FlowKind, SourceConfig};
use lasthop_net::{Jitter, Loss, RateChange};
use lasthop_packet::queue::{DriverLimit, Limit, QueueConfig};
use lasthop_packet::{AccessCategory, NodeId};
use lasthop_scenario::{Role, Scenario, parse};
use lasthop_units::{Bitrate, Bytes, Db, Dbm, Duration, Instant, Meters, Probability, Seed};
use lasthop_wifi::StationId;
use lasthop_wifi::cell::{CellConfig, EdcaParameters, PairConfig};
use lasthop_wifi::mac::beacon_clock::WakeClock;
use lasthop_wifi::mac::originator::LowRateRetry;
use lasthop_wifi::mac::power_save::{Busy, Retrieval, Sending};
use lasthop_wifi::mac::rate::RateControlConfig;
use lasthop_wifi::mac::retry_out::{RateStep, RateTable};
use lasthop_wifi::mac::service_period::{ServicePeriodConfig, TwtUplink};
use lasthop_wifi::phy::{
    Band, ChannelWidth, GuardInterval, HeGuardInterval, OfdmRate, Preamble, Propagation, Rate,
    SnrChange, Standard,
};

const CELL: &str = r#"
[[node]]
name = "ap"
role = "access-point"
[[node]]
name = "laptop"
role = "station"
"#;

fn scenario(text: &str) -> Scenario {
    with(text, &[])
}

fn with(text: &str, sets: &[&str]) -> Scenario {
    let sets: Vec<String> = sets.iter().map(|&set| set.into()).collect();
    parse("test.toml", text, &sets).unwrap_or_else(|why| panic!("{why}"))
}

fn cell(scenario: &Scenario) -> &CellConfig {
    scenario.network.cell.as_ref().expect("there is a cell")
}

fn link(scenario: &Scenario, from: u16, to: u16) -> PairConfig {
    let links = &cell(scenario).links;
    links.pair(StationId(from), StationId(to)).expect("every pair has a link")
}

#[test]
fn the_defaults_are_those_of_linux_and_80211n() {
    let scenario = scenario(CELL);
    assert_eq!(scenario.name, "test");
    assert_eq!(scenario.duration, Duration::from_secs(10));
    let cell = cell(&scenario);
    assert_eq!((cell.standard, cell.band), (Standard::Dot11n, Band::Ghz5));
    assert_eq!(cell.beacon_interval, Some(Duration::from_micros(102_400)));
    assert_eq!(cell.links.iter().count(), 2);
    // 20 dBm - 46.68 dB - 30 log10(5) dB over noise of -174 + 73.01 + 7 dBm.
    assert!((link(&scenario, 1, 0).link.snr.0 - 46.34).abs() < 0.01);
    for station in &cell.stations {
        assert_eq!(station.queue, QueueConfig::MAC80211);
        assert_eq!(station.driver_queue, DriverLimit::None);
        assert_eq!(station.rate_control, RateControlConfig::minstrel_ht());
        assert_eq!(station.capabilities.rates.len(), 16);
        assert!(station.capabilities.qos);
        assert_eq!(station.retry_limit, 7);
        assert_eq!((station.low_rate_retry, station.pseudo_retry_out), (None, None));
        assert_eq!(station.block_ack.window, 64);
        assert_eq!(station.block_ack.reorder_timeout, Duration::from_millis(100));
        assert_eq!(station.aggregation.ampdu_bytes_max, 65_535);
        assert_eq!(station.aggregation.ampdu_duration_max, Duration::from_micros(5_484));
        assert_eq!(station.aggregation.ampdu_frames_max, 64);
        assert_eq!(station.aggregation.amsdu_bytes_max, 0);
    }
}

/// Each generation has its own limits and its usual rate control.
#[test]
fn the_defaults_of_later_generations() {
    let wide = ["channel.width=80MHz"];
    for (standard, band, ampdu_bytes_max, window, rates, control) in [
        ("802.11ac", "5GHz", 1_048_575, 64, 2 * (9 + 10 + 10), RateControlConfig::minstrel_ht()),
        ("802.11ax", "5GHz", 6_500_631, 256, 2 * 3 * 12, RateControlConfig::firmware()),
        ("802.11ax", "6GHz", 6_500_631, 256, 2 * 3 * 12, RateControlConfig::firmware()),
        ("802.11ax", "2.4GHz", 524_287, 256, 2 * 12, RateControlConfig::firmware()),
    ] {
        let given = [format!("channel.standard={standard}"), format!("channel.band={band}")];
        let sets: Vec<&str> = given.iter().map(String::as_str).collect();
        let scenario = match band {
            "2.4GHz" => with(CELL, &sets),
            _ => with(CELL, &[&sets[..], &wide].concat()),
        };
        for station in &cell(&scenario).stations {
            assert_eq!(station.capabilities.rates.len(), rates, "{standard} at {band}");
            assert_eq!(station.capabilities.ampdu_mpdu_bytes_max, 11_454);
            assert_eq!(station.capabilities.ampdu_bytes_max, ampdu_bytes_max);
            assert_eq!(station.aggregation.ampdu_bytes_max, ampdu_bytes_max);
            assert_eq!(station.aggregation.ampdu_frames_max, window);
            assert_eq!(station.block_ack.window, window);
            assert_eq!(station.rate_control, control);
        }
    }
    let usual = with(CELL, &["channel.standard=802.11ac"]);
    assert_eq!(cell(&usual).band, Band::Ghz5);
}

#[test]
fn fixed_rates_of_later_generations() {
    let fixed = |sets: &[&str]| {
        let scenario = with(CELL, sets);
        match cell(&scenario).stations[1].rate_control {
            RateControlConfig::Fixed { rate } => rate,
            ref other => panic!("{other:?}"),
        }
    };
    let ac = "channel={ standard = \"802.11ac\", width = \"80MHz\", guard_interval = \"400ns\" }";
    let rate = "node.laptop.rate_control={ kind = \"fixed\", mcs = 9 }";
    let expected = Rate::vht(9, 2, ChannelWidth::Mhz80, GuardInterval::Short);
    assert_eq!(Some(fixed(&[ac, rate])), expected);
    let ax = "channel={ standard = \"802.11ax\", width = \"160MHz\", guard_interval = \"3200ns\" }";
    let rate = "node.laptop.rate_control={ kind = \"fixed\", mcs = 11, streams = 1 }";
    let expected = Rate::he(11, 1, ChannelWidth::Mhz160, HeGuardInterval::Ns3200Ltf4x, false);
    assert_eq!(Some(fixed(&[ax, rate])), expected);
    let slow = "node.laptop.rate_control={ kind = \"fixed\", rate = \"54Mb/s\" }";
    assert_eq!(fixed(&[ax, slow]), Rate::Ofdm(OfdmRate::Mbps54));
}

/// Rates towards single peers, beside any rate control; the last entry for a peer holds.
#[test]
fn fixed_rates_towards_single_peers() {
    let two = "node=[{ name = \"ap\", role = \"access-point\" }, { name = \"sta\", role = \"station\", count = 2 }]";
    let peers =
        "node.ap.rate_control.peers=[{ node = \"*\", mcs = 4 }, { node = \"sta2\", mcs = 0 }]";
    let scenario = with(CELL, &[two, peers]);
    let [ap, one, _] = &cell(&scenario).stations[..] else { panic!("three stations") };
    let ht =
        |mcs| Rate::Ht { mcs, width: ChannelWidth::Mhz20, guard_interval: GuardInterval::Long };
    assert_eq!(ap.peer_rates.iter().map(|it| it.peer.0).collect::<Vec<_>>(), [1, 2]);
    assert_eq!([1, 2].map(|peer| ap.peer_rate(StationId(peer))), [Some(ht(4)), Some(ht(0))]);
    assert_eq!(ap.rate_control, RateControlConfig::minstrel_ht());
    assert_eq!(one.peer_rate(StationId(0)), None);
    // In an independent cell all nodes are peers.
    let scenario = with(
        CELL,
        &[
            "channel.independent=true",
            two,
            "node.sta.rate_control.peers=[{ node = \"sta*\", mcs = 0 }]",
        ],
    );
    let [_, one, _] = &cell(&scenario).stations[..] else { panic!("three stations") };
    assert_eq!([0, 2].map(|peer| one.peer_rate(StationId(peer))), [None, Some(ht(0))]);
}

/// The octets of encryption, and the power of streams.
#[test]
fn data_may_be_encrypted_and_streams_share_power() {
    let overhead = |set: &str| {
        let scenario = with(CELL, &[set]);
        cell(&scenario).stations[1].capabilities.mpdu_overhead()
    };
    let open = overhead("channel.encryption=none");
    assert_eq!(
        ["ccmp", "gcmp"].map(|it| overhead(&format!("channel.encryption={it}")) - open),
        [16, 24]
    );
    let mcs_8 =
        Rate::Ht { mcs: 8, width: ChannelWidth::Mhz20, guard_interval: GuardInterval::Long };
    let needed =
        |set: &str| cell(&with(CELL, &[set])).error_model.sensitivity_snr(mcs_8, 0.1, 1_500).0;
    let [whole, shared] =
        ["whole", "shared"].map(|it| needed(&format!("channel.error_model.stream_power={it}")));
    assert!((shared - whole - 3.01).abs() < 0.005, "{whole} {shared}");
}

/// IEEE 802.11-2020, table 9-155.
#[test]
fn edca_parameters_are_the_standards() {
    let table = |standard: &str, expected: [(u8, u16, u16, u64); 4]| {
        let set = format!("channel.standard={standard}");
        let scenario = with(CELL, &[&set, "node.*.qos=true"]);
        let expected = expected.map(|(aifsn, cw_min, cw_max, txop_us)| EdcaParameters {
            aifsn,
            cw_min,
            cw_max,
            txop_limit: Duration::from_micros(txop_us),
        });
        assert_eq!(cell(&scenario).stations[1].access, expected, "{standard}");
    };
    table("802.11n", [(7, 15, 1023, 0), (3, 15, 1023, 0), (2, 7, 15, 3_008), (2, 3, 7, 1_504)]);
    table("802.11a", [(7, 15, 1023, 0), (3, 15, 1023, 0), (2, 7, 15, 3_008), (2, 3, 7, 1_504)]);
    table("802.11b", [(7, 31, 1023, 0), (3, 31, 1023, 0), (2, 15, 31, 6_016), (2, 7, 15, 3_264)]);
    let plain = with(CELL, &["channel.standard=802.11g"]);
    let dcf = EdcaParameters { aifsn: 2, cw_min: 15, cw_max: 1023, txop_limit: Duration::ZERO };
    assert_eq!(cell(&plain).stations[0].access, [dcf; 4]);
    assert!(!cell(&plain).stations[0].capabilities.qos);
    assert_eq!(cell(&plain).stations[0].aggregation.ampdu_bytes_max, 0);
}

/// The documented defaults are the values in force without the key.
#[test]
fn documented_defaults_are_in_force() {
    let text = format!(
        "{CELL}\n[[flow]]\nname = \"film\"\nfrom = \"ap\"\nto = \"laptop\"\nkind = \"video\"\n\
         [[flow]]\nname = \"up\"\nfrom = \"laptop\"\nto = \"ap\"\nkind = \"tcp\"\n\
         [[flow]]\nname = \"ping\"\nfrom = \"laptop\"\nto = \"ap\"\nkind = \"ping\"\n\
         [[flow]]\nname = \"burst\"\nfrom = \"laptop\"\nto = \"ap\"\nkind = \"udp\"\nrate = \"1Mb/s\"\npattern = \"on-off\"\n\
         [[node]]\nname = \"server\"\nrole = \"host\"\n[[wire]]\nbetween = [\"ap\", \"server\"]\n"
    );
    let plain = scenario(&text);
    for set in [
        "channel.band=5GHz",
        "channel.error_model=nist",
        "wire.ap-server.jitter.most=0s",
        "wire.ap-server.loss.probability=0",
        "channel.basic_rates=[\"6Mb/s\", \"12Mb/s\", \"24Mb/s\"]",
        "channel.path_loss.exponent=3",
        "node.ap.position=[\"0m\", \"0m\"]",
        "node.laptop.position=[\"5m\", \"0m\"]",
        "node.laptop.qos=true",
        "node.laptop.queue=fq-codel",
        "node.laptop.queue.packets=8192",
        "node.laptop.queue.bytes=4MiB",
        "node.laptop.queue.target=20ms",
        "node.laptop.queue.interval=100ms",
        "node.laptop.queue.flows=4096",
        "node.laptop.queue.quantum_bytes=300",
        "node.laptop.queue.ecn=true",
        "node.laptop.queue.airtime_fairness=true",
        "node.laptop.rate_control.update_interval=50ms",
        "node.laptop.rate_control.sample_interval=20ms",
        "node.laptop.aggregation.ampdu_bytes_max=65535",
        "node.laptop.aggregation.ampdu_frames_max=64",
        "node.laptop.edca.video.txop_limit=3.008ms",
        "wire.ap-server.queue=drop-tail",
        "wire.ap-server.queue.packets=1000",
        "flow.up.congestion_control=cubic",
        "flow.film.rate=5Mb/s",
        "flow.film.packet_bytes=1500",
        "flow.film.frame_rate=30",
        "flow.film.size_deviation=0.2",
        "flow.film.key_frame_interval=60",
        "flow.film.key_frame_factor=4",
        "flow.ping.interval=100ms",
        "flow.ping.packet_bytes=84",
        "flow.burst.on=1s",
        "flow.burst.off=1s",
        "flow.burst.packet_bytes=1500",
    ] {
        let mut changed = with(&text, &[set]);
        changed.source_text.clone_from(&plain.source_text);
        changed.set.clear();
        assert_eq!(changed, plain, "{set}");
    }
}

#[test]
fn counts_and_patterns_are_carried_out() {
    let scenario = scenario(
        r#"
        [[node]]
        name = "ap"
        role = "access-point"
        [[node]]
        name = "server"
        role = "host"
        [[node]]
        name = "sta"
        role = "station"
        count = 4
        position = ["10m", "0m"]
        ring = "2m"
        [[wire]]
        between = ["server", "ap"]
        [[link]]
        between = ["sta*", "sta*"]
        path_loss = "200dB"
        [[link]]
        from = "sta1"
        to = "ap"
        loss = "10%"
        [[flow]]
        name = "up"
        from = "sta*"
        to = "server"
        kind = "udp"
        "#,
    );
    let names: Vec<&str> = scenario.nodes.iter().map(|node| node.name.as_str()).collect();
    assert_eq!(names, ["ap", "server", "sta1", "sta2", "sta3", "sta4"]);
    assert_eq!(scenario.node("sta2"), Some(NodeId(3)));
    assert_eq!(scenario.nodes[1].role, Role::Host);
    let stations: Vec<Option<StationId>> =
        scenario.network.nodes.iter().map(|node| node.station).collect();
    let id = |index| Some(StationId(index));
    assert_eq!(stations, [id(0), None, id(1), id(2), id(3), id(4)]);
    let flows: Vec<(&str, NodeId)> =
        scenario.flows.iter().map(|flow| (flow.name.as_str(), flow.from)).collect();
    assert_eq!(
        flows,
        [
            ("up-sta1", NodeId(2)),
            ("up-sta2", NodeId(3)),
            ("up-sta3", NodeId(4)),
            ("up-sta4", NodeId(5))
        ]
    );
    assert_eq!(scenario.flows[0].kind, FlowKind::Udp(SourceConfig::Saturated { bytes: 1500 }));
    assert_eq!(cell(&scenario).links.iter().count(), 20);
    assert!(link(&scenario, 1, 2).link.snr < Db(-80.0));
    assert_eq!(link(&scenario, 1, 0).link.loss, Probability::new(0.1));
    assert_eq!(link(&scenario, 0, 1).link.loss, None);
    // The ring: the first station stands at 12 m, the third at 8 m.
    let nearer = link(&scenario, 3, 0).link.snr - link(&scenario, 0, 1).link.snr;
    assert!((nearer.0 - 30.0 * (12.0_f64 / 8.0).log10()).abs() < 1e-9);
}

/// A flow with a count is as many flows between each two nodes.
#[test]
fn a_count_of_flows_is_carried_out() {
    let nodes = format!("{CELL}\n[[node]]\nname = \"sta2\"\nrole = \"station\"\n");
    let names = |keys: &str| {
        let scenario =
            scenario(&format!("{nodes}[[flow]]\nname = \"tcp\"\nkind = \"tcp\"\n{keys}"));
        scenario.flows.iter().map(|flow| flow.name.clone()).collect::<Vec<_>>()
    };
    let one = "from = \"ap\"\nto = \"sta2\"\n";
    assert_eq!(names(one), ["tcp"]);
    assert_eq!(names(&format!("{one}count = 1")), ["tcp1"]);
    assert_eq!(names(&format!("{one}count = 3")), ["tcp1", "tcp2", "tcp3"]);
    let two = names("from = \"ap\"\nto = \"sta*\"\ncount = 2");
    assert!(two.contains(&"tcp1-sta2".to_owned()) && two.contains(&"tcp2-sta2".to_owned()));
}

#[test]
fn node_defaults_fill_what_nodes_leave_out() {
    let text = format!(
        r#"
        [node_defaults]
        tx_power = "10dBm"
        queue = {{ kind = "drop-tail", packets = 50 }}
        rate_control = {{ kind = "fixed", mcs = 3 }}
        host_cost = {{ per_packet = "10us" }}
        {CELL}
        queue = {{ bytes = "64KiB", kind = "codel" }}
        rate_control.mcs = 1
        tx_power = "17dBm"
        [[node]]
        name = "server"
        role = "host"
        [[wire]]
        between = ["ap", "server"]
        "#
    );
    let scenario = scenario(&text);
    let stations = &cell(&scenario).stations;
    assert_eq!(stations[0].queue, QueueConfig::DropTail { limit: Limit::Packets(50) });
    // Another kind takes nothing from the default's.
    assert!(matches!(
        stations[1].queue,
        QueueConfig::CoDel { limit: Limit::Bytes(bytes), .. } if bytes == Bytes::new(65_536)
    ));
    let fixed = |mcs| RateControlConfig::Fixed {
        rate: Rate::Ht { mcs, width: ChannelWidth::Mhz20, guard_interval: GuardInterval::Long },
    };
    assert_eq!((&stations[0].rate_control, &stations[1].rate_control), (&fixed(3), &fixed(1)));
    let stronger = link(&scenario, 1, 0).link.snr - link(&scenario, 0, 1).link.snr;
    assert!((stronger - (Dbm(17.0) - Dbm(10.0))).0.abs() < 1e-9);
    assert!(scenario.network.nodes.iter().all(|node| node.host_cost.is_some()));
}

#[test]
fn a_direction_of_a_wire_takes_the_rest_from_the_wire() {
    let scenario = scenario(include_str!("../../../scenarios/link.toml"));
    assert!(scenario.network.cell.is_none());
    let [up, down] = scenario.network.wires[0].directions.clone();
    assert_eq!(up.rate, Some(Bitrate::from_mbps(10)));
    assert_eq!(down.rate, Some(Bitrate::from_mbps(30)));
    for direction in [up, down] {
        assert_eq!(direction.delay, Duration::from_millis(20));
        assert_eq!(direction.jitter, Jitter::Uniform(Duration::from_millis(2)));
        assert_eq!(direction.loss, Loss::Random(Probability::new(0.002).expect("in range")));
        assert_eq!(direction.queue, QueueConfig::DropTail { limit: Limit::Packets(200) });
    }
}

const WIRE: &str = r#"
[[node]]
name = "a"
role = "host"
[[node]]
name = "b"
role = "host"
[[wire]]
between = ["a", "b"]
"#;

#[test]
fn wires_lose_in_bursts_and_vary() {
    let p = |p| Probability::new(p).expect("in range");
    let wire = |sets: &[&str]| with(WIRE, sets).network.wires[0].directions.clone();
    let bursts = Loss::GilbertElliott {
        p_good_to_bad: p(0.01),
        p_bad_to_good: p(0.25),
        loss_good: p(0.0),
        loss_bad: p(1.0),
    };
    let loss =
        "wire.0.loss={ kind = \"gilbert-elliott\", good_to_bad = \"1%\", bad_to_good = 0.25 }";
    assert_eq!(wire(&[loss])[0].loss, bursts);
    let Loss::GilbertElliott { loss_good, loss_bad, .. } =
        wire(&[loss, "wire.0.loss.loss_bad=0.5", "wire.0.loss.loss_good=0.001"])[1].loss
    else {
        panic!("it is bursty");
    };
    assert_eq!((loss_good, loss_bad), (p(0.001), p(0.5)));
    let spelt = "wire.0.loss={ probability = 0.002 }";
    assert_eq!(wire(&[spelt])[0].loss, wire(&["wire.0.loss=0.2%"])[0].loss);
    let normal = "wire.0.jitter={ kind = \"normal\", sd = \"2ms\" }";
    assert_eq!(wire(&[normal])[0].jitter, Jitter::Normal { sd: Duration::from_millis(2) });
    // A direction of another kind takes nothing from the wire's.
    let [up, down] = wire(&[normal, "wire.0.up={ jitter = \"1ms\" }"]);
    assert_eq!(up.jitter, Jitter::Uniform(Duration::from_millis(1)));
    assert_eq!(down.jitter, Jitter::Normal { sd: Duration::from_millis(2) });
    assert_eq!(wire(&[])[0].jitter, Jitter::None);
}

#[test]
fn the_ratio_of_a_link_changes() {
    let change =
        |seconds, db| SnrChange { at: Instant::ZERO + Duration::from_secs(seconds), snr: Db(db) };
    let changes =
        "snr_changes = [{ from = \"2s\", snr = \"12dB\" }, { from = \"5s\", snr = \"25dB\" }]";
    let both = format!("link=[{{ between = [\"ap\", \"laptop\"], snr = \"25dB\", {changes} }}]");
    let scenario = with(CELL, &[&both]);
    for (from, to) in [(0, 1), (1, 0)] {
        assert_eq!(link(&scenario, from, to).snr_changes, [change(2, 12.0), change(5, 25.0)]);
    }
    // Of several links of a pair the last one counts, with its changes or without.
    let one = format!(
        "link=[{{ between = [\"ap\", \"laptop\"], snr = \"25dB\", {changes} }}, {{ from = \"laptop\", to = \"ap\", snr = \"9dB\" }}]"
    );
    let scenario = with(CELL, &[&one]);
    assert_eq!(link(&scenario, 0, 1).snr_changes.len(), 2);
    assert_eq!(link(&scenario, 1, 0).snr_changes, []);
}

#[test]
fn a_wires_rate_changes() {
    let wire = |sets: &[&str]| with(WIRE, sets).network.wires[0].directions.clone();
    let change = |seconds, mbps| RateChange {
        at: Instant::ZERO + Duration::from_secs(seconds),
        rate: Bitrate::from_mbps(mbps),
    };
    let both = "wire.0.rate_changes=[{ from = \"2s\", rate = \"6Mb/s\" }, { from = \"5s\", rate = \"12Mb/s\" }]";
    let [up, down] = wire(&[both]);
    assert_eq!(up.rate_changes, [change(2, 6), change(5, 12)]);
    assert_eq!(down.rate_changes, up.rate_changes);
    let one = "wire.0.down={ rate_changes = [{ from = \"3s\", rate = \"1Mb/s\" }] }";
    let [up, down] = wire(&[both, one]);
    assert_eq!(up.rate_changes.len(), 2);
    assert_eq!(down.rate_changes, [change(3, 1)]);
    assert_eq!(wire(&[])[0].rate_changes, []);
    assert_eq!([up.rate_repeat, down.rate_repeat], [None; 2]);
    // Beyond the duration as well: an emulation may last longer.
    let [up, down] = wire(&[both, one, "wire.0.rate_repeat=1min", "duration=4s"]);
    assert_eq!([up.rate_repeat, down.rate_repeat], [Some(Duration::from_secs(60)); 2]);
    assert_eq!(up.rate_changes, [change(2, 6), change(5, 12)]);
}

/// A folder that is gone after the test.
struct Folder(std::path::PathBuf);

impl Folder {
    fn new(name: &str, files: &[(&str, &str)]) -> Self {
        let folder = std::env::temp_dir().join(format!("lasthop-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder can be made");
        for (file, text) in files {
            std::fs::write(folder.join(file), text).expect("a file can be written");
        }
        Self(folder)
    }

    /// Reads `text` as a scenario in this folder.
    fn parse(&self, text: &str) -> Result<Scenario, lasthop_scenario::ScenarioError> {
        parse(self.0.join("test.toml").to_str().expect("plain letters"), text, &[])
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).expect("it was made by the test");
    }
}

const PER: &str = "# Measured in the corridor.
mode,bytes,snr_db,per

MCS7, 1000, 20, 0.5
MCS7, 1000, 21, 0.1 # and better above
11Mb/s,1000,5,0.9
11Mb/s,1000,6,0.2
";

#[test]
fn packet_error_rates_come_from_a_file() {
    let folder = Folder::new("per", &[("per.csv", PER)]);
    let text = format!("[channel]\nerror_model = {{ table = \"per.csv\" }}\n{CELL}");
    let scenario = folder.parse(&text).unwrap_or_else(|why| panic!("{why}"));
    let success = |mcs, snr| {
        let rate = Rate::ht(mcs, ChannelWidth::Mhz40, GuardInterval::Short).expect("an MCS");
        cell(&scenario).error_model.success(rate, Db(snr), 1000).as_f64()
    };
    assert!((success(7, 20.0) - 0.5).abs() < 1e-9);
    // MCS 15 is MCS 7 on two streams; MCS 6 has no rows.
    assert!((success(15, 21.0) - 0.9).abs() < 1e-9);
    let plain = with(CELL, &[]);
    let rate = Rate::ht(6, ChannelWidth::Mhz20, GuardInterval::Long).expect("an MCS");
    let nist = cell(&plain).error_model.success(rate, Db(18.0), 1000);
    assert_eq!(cell(&scenario).error_model.success(rate, Db(18.0), 1000), nist);
    // What is kept can be run from anywhere.
    let again = parse("/elsewhere/again.toml", &scenario.source_text, &[]);
    let again = again.unwrap_or_else(|why| panic!("{why}"));
    assert_eq!((&again.source_text, &again.network), (&scenario.source_text, &scenario.network));
}

#[test]
fn a_bad_table_is_told_by_file_and_line() {
    let row = |row: &str| format!("mode,bytes,snr_db,per\n{row}\n");
    for (text, line, why) in [
        (String::new(), "", "expected the header mode,bytes,snr_db,per and rows, got nothing"),
        ("MCS7,1000,20,0.5".into(), ":1", "expected the header mode,bytes,snr_db,per"),
        (row("# nothing"), "", "there are no rows"),
        (row("MCS7,1000,20"), ":2", "expected four columns, mode,bytes,snr_db,per, got 3"),
        (
            row("MCS12,1000,20,1"),
            ":2",
            "expected a mode (MCS0 to MCS11, 6Mb/s to 54Mb/s, or 1Mb/s to 11Mb/s), got \"MCS12\"",
        ),
        (row("MCS7,-5,20,1"), ":2", "expected a length in bytes, got \"-5\""),
        (row("MCS7,1000,high,1"), ":2", "expected an SNR in dB, got \"high\""),
        (row("MCS7,1000,20,1.5"), ":2", "expected a packet error rate from 0 to 1, got \"1.5\""),
        (
            row("MCS7,1000,nan,0.5"),
            ":2",
            "MCS7/20MHz/LGI 1000 B at NaNdB: needs a length above 0 and an SNR of -20 to 60 dB",
        ),
        (
            row("MCS7,1000,20,0.5"),
            ":2",
            "MCS7/20MHz/LGI 1000 B: needs two falling rows with a PER between 0 and 1",
        ),
        (
            row("MCS7,1000,21,0.5\nMCS7,1000,20,0.4\nMCS7,1000,22,0"),
            ":2",
            "the PER rises at 21dB; it must fall or stay",
        ),
        (row("6Mb/s,1000,1,0.5\n\nMCS0,1000,1,0.4"), ":4", "two rows at 1dB"),
    ] {
        let folder = Folder::new("bad-per", &[("per.csv", &text)]);
        let scenario = format!("[channel]\nerror_model = {{ table = \"per.csv\" }}\n{CELL}");
        let error = folder.parse(&scenario).expect_err(why);
        let problem = &error.problems()[0];
        assert_eq!((problem.key.as_str(), problem.line), ("channel.error_model.table", Some(2)));
        let file = folder.0.join("per.csv");
        assert!(problem.message.starts_with(&format!("{}{line}: ", file.display())), "{error}");
        assert!(problem.message.ends_with(why), "{error}");
    }
}

#[test]
fn frame_sizes_come_from_a_file() {
    let folder = Folder::new(
        "sizes",
        &[("sizes.txt", "# bytes\n30000\n\n4000 # small\n4100\n"), ("bad.txt", "1\n0\n")],
    );
    let flow = "[[flow]]\nname = \"film\"\nfrom = \"a\"\nto = \"b\"\nkind = \"video\"\ntrace = ";
    let scenario = folder.parse(&format!("{WIRE}{flow}\"sizes.txt\"\n"));
    let scenario = scenario.unwrap_or_else(|why| panic!("{why}"));
    let FlowKind::Video(source) = &scenario.flows[0].kind else { panic!("it is a video") };
    let expected = SourceConfig::Video {
        frames_per_s: 30.0,
        sizes: Sizes::Trace([30_000, 4_000, 4_100].into()),
        key_frames: None,
        packet_bytes_max: 1500,
    };
    assert_eq!(*source, expected);
    let again =
        parse("again.toml", &scenario.source_text, &[]).unwrap_or_else(|why| panic!("{why}"));
    assert_eq!(again.flows, scenario.flows);
    let error = folder.parse(&format!("{WIRE}{flow}\"bad.txt\"\n")).expect_err("zero bytes");
    let why = "bad.txt:2: expected the bytes of one frame, 1 to 10000000, got \"0\"";
    assert!(error.to_string().ends_with(why), "{error}");
}

#[test]
fn a_program_may_be_a_line_for_the_shell() {
    let run = "run=[{ node = \"a\", command = \"ping -c 3 b | tail -1\" }]";
    assert_eq!(with(WIRE, &[run]).programs[0].command, ["sh", "-c", "ping -c 3 b | tail -1"]);
}

#[test]
fn the_cell_can_be_tuned() {
    let sets = [
        "channel={ standard = \"802.11g\", control_preamble = \"long\", group_rate = \"11Mb/s\" }",
        "channel.carrier_sense=-75dBm",
        "channel.capture_margin=off",
    ];
    let scenario = with(CELL, &sets);
    let tuned = cell(&scenario);
    assert_eq!(tuned.control_preamble, Some(Preamble::Long));
    assert_eq!(tuned.group_rate.map(Rate::bitrate), Some(Bitrate::from_mbps(11)));
    assert_eq!((tuned.carrier_sense, tuned.capture_margin), (Dbm(-75.0), None));
    let plain = with(CELL, &[]);
    assert_eq!((cell(&plain).control_preamble, cell(&plain).group_rate), (None, None));
    assert_eq!(cell(&plain).capture_margin, Some(Db(5.0)));
    assert_eq!(cell(&plain).carrier_sense, Dbm(-90.0));
}

#[test]
fn giving_up_early_is_the_papers_unless_told_otherwise() {
    let sets = [
        "node.ap.pseudo_retry_out=true",
        "node.laptop={ name = \"laptop\", role = \"station\", retry_limit = 11, low_rate_retry = true }",
    ];
    let stations = cell(&with(CELL, &sets)).stations.clone();
    assert_eq!(stations[0].pseudo_retry_out, Some(RateTable::PAPER));
    assert_eq!((stations[0].low_rate_retry, stations[1].pseudo_retry_out), (None, None));
    let low = LowRateRetry { table: RateTable::PAPER, all_traffic: false };
    assert_eq!(stations[1].low_rate_retry, Some(low));
    // With the usual retry limit of 7 the last step lowers nothing.
    let usual = cell(&with(CELL, &["node.laptop.low_rate_retry=true"])).stations[1].clone();
    assert_eq!((usual.retry_limit, usual.low_rate_retry), (7, Some(low)));
    let set = "node.ap.pseudo_retry_out={ enabled = true, rates = [\"30Mb/s\"], indices = [3], smoothing = 0.5 }";
    let table = cell(&with(CELL, &[set])).stations[0].pseudo_retry_out.expect("it is on");
    let none = RateStep { below_kbps: 0, retransmissions: 0 };
    let step = RateStep { below_kbps: 30_000, retransmissions: 3 };
    assert_eq!((table.steps, table.weight_256), ([step, none, none, none], 128));
}

/// The receiver's remedy is refused where no MPDU can arrive that it could give up, whatever the
/// flow, and accepted where one may.
#[test]
fn who_only_sends_gives_nothing_up_as_a_receiver() {
    let text = |kind: &str, from: &str, to: &str| {
        format!(
            "[[node]]\nname = \"ap\"\nrole = \"access-point\"\n\
             [[node]]\nname = \"laptop\"\nrole = \"station\"\npseudo_retry_out = true\n\
             [[node]]\nname = \"phone\"\nrole = \"station\"\n\
             [[flow]]\nname = \"flow\"\nkind = \"{kind}\"\nfrom = \"{from}\"\nto = \"{to}\"\n"
        )
    };
    for kind in ["tcp", "udp"] {
        let error = parse("cell.toml", &text(kind, "laptop", "ap"), &[]).expect_err(kind);
        assert!(error.to_string().contains("only sends it: set it at \"ap\""), "{error}");
    }
    for (kind, from, to) in
        [("udp", "ap", "laptop"), ("tcp", "phone", "laptop"), ("ping", "laptop", "ap")]
    {
        parse("cell.toml", &text(kind, from, to), &[]).expect("something comes");
    }
}

/// The links that no `[[link]]` is about are those of the channel, each power and place counted.
#[test]
fn links_follow_from_places_and_powers() {
    let sets = ["node.ap.tx_power=\"17dBm\"", "node.ap.position=[\"1m\", \"2m\"]"];
    let scenario = with(
        "[[node]]\nname = \"ap\"\nrole = \"access-point\"\n\
         [[node]]\nname = \"sta\"\nrole = \"station\"\ncount = 4\nring = \"30m\"\n",
        &sets,
    );
    let place = |station: u16| match station {
        0 => [1.0, 2.0],
        _ => {
            let angle = std::f64::consts::TAU * f64::from(station - 1) / 4.0;
            [5.0 + 30.0 * angle.cos(), 30.0 * angle.sin()]
        }
    };
    let propagation = Propagation::in_band(Band::Ghz5, ChannelWidth::Mhz20);
    for (from, to) in (0..5).flat_map(|from| (0..5).map(move |to| (from, to))) {
        if from != to {
            let ([x, y], [u, v]) = (place(from), place(to));
            let distance = Meters((x - u).hypot(y - v));
            let power = Dbm(if from == 0 { 17.0 } else { 20.0 });
            let expected = propagation.link(power, distance, Db(0.0));
            assert_eq!(link(&scenario, from, to).link, expected, "{from} to {to}");
        }
    }
}

#[test]
fn shadowing_is_drawn_for_each_run_and_pair() {
    let text = format!(
        "[channel.path_loss]\nshadowing = \"6dB\"\n{CELL}\n[[node]]\nname = \"phone\"\nrole = \"station\"\n[[link]]\nbetween = [\"phone\", \"ap\"]\nsnr = \"20dB\"\n"
    );
    let scenario = scenario(&text);
    let snr = |run, from, to| {
        let network = scenario.network_for(Seed::new(1, run));
        let links = network.cell.expect("there is a cell").links;
        links.snr(StationId(from), StationId(to)).expect("every pair has a link")
    };
    let mean = link(&scenario, 0, 1).link.snr;
    assert_eq!(snr(0, 0, 1), snr(0, 1, 0));
    assert_eq!(snr(0, 0, 1), snr(0, 0, 1));
    assert_ne!(snr(0, 0, 1), snr(1, 0, 1));
    assert_eq!(snr(0, 2, 0), Db(20.0));
    let runs = 2_000;
    let deviations: Vec<f64> = (0..runs).map(|run| (snr(run, 0, 1) - mean).0).collect();
    let variance = deviations.iter().map(|d| d * d).sum::<f64>() / runs as f64;
    assert!((variance.sqrt() - 6.0).abs() < 0.4, "{variance}");
}

#[test]
fn legacy_standards_have_their_rates() {
    let sets = [
        "channel={ standard = \"802.11b\", preamble = \"short\" }",
        "node.laptop.rate_control={ kind = \"fixed\", rate = \"11Mb/s\" }",
    ];
    let scenario = with(CELL, &sets);
    assert_eq!(cell(&scenario).band, Band::Ghz2_4);
    let rates: Vec<u64> = cell(&scenario).stations[0]
        .capabilities
        .rates
        .iter()
        .map(|rate| rate.bitrate().as_bps())
        .collect();
    assert_eq!(rates, [1_000_000, 2_000_000, 5_500_000, 11_000_000]);
    let RateControlConfig::Fixed { rate } = cell(&scenario).stations[1].rate_control else {
        panic!("the rate is fixed");
    };
    assert_eq!(rate.bitrate(), Bitrate::from_mbps(11));
}

#[test]
fn flows_have_times_and_priorities() {
    let text = format!(
        "{CELL}\n[[flow]]\nname = \"call\"\nfrom = \"laptop\"\nto = \"ap\"\nkind = \"udp\"\n\
         rate = \"64kb/s\"\npacket_bytes = 200\nstart = \"1s\"\nstop = \"2.5s\"\naccess_category = \"voice\"\n\
         [[run]]\nnode = \"laptop\"\ncommand = [\"ping\", \"ap\"]\nstart = \"1s\"\n"
    );
    let scenario = scenario(&text);
    let flow = &scenario.flows[0];
    assert_eq!(flow.start, Instant::from_nanos(1_000_000_000));
    assert_eq!(flow.stop, Some(Instant::from_nanos(2_500_000_000)));
    assert_eq!(flow.access_category, AccessCategory::Voice);
    let source = SourceConfig::Cbr { rate: Bitrate::from_kbps(64), bytes: 200 };
    assert_eq!(flow.kind, FlowKind::Udp(source));
    assert_eq!(scenario.programs[0].command, ["ping", "ap"]);
    assert_eq!(scenario.programs[0].node, NodeId(1));
}

#[test]
fn set_changes_the_text_where_it_stands() {
    let text = "# Why.\nduration = \"5s\" # short\n\n[[node]]\nname = \"ap\" # the box\nrole = \"access-point\"\nqueue = \"codel\"\n";
    let scenario = with(
        text,
        &[
            "duration=7s",
            "node.ap.queue.packets=5",
            "node.ap.aggregation.ampdu_frames_max=3",
            "channel.width=40MHz",
            "name=other",
        ],
    );
    insta::assert_snapshot!(scenario.source_text);
}

fn apq(keys: &str) -> lasthop_hosts::ApqFlow {
    let flow = "[[flow]]\nname = \"q\"\nfrom = \"ap\"\nto = \"laptop\"\nkind = \"apq\"\n";
    let scenario = scenario(&format!("{CELL}{flow}{keys}"));
    match &scenario.flows[0].kind {
        FlowKind::Apq(apq) => (**apq).clone(),
        other => panic!("{other:?}"),
    }
}

/// The paper's algorithms are the default, to the letter.
#[test]
fn a_measurement_is_the_papers_unless_it_says_otherwise() {
    let usual = apq("");
    assert_eq!(usual.survey.method, Method::Exact(ExactConfig::default()));
    assert_eq!(usual.survey.directions, [Direction::Down]);
    assert_eq!(usual.survey.packet_bytes, [1500, 750]);
    assert!(!usual.survey.discipline);
    assert!(!usual.measured_by_sender);
    assert_eq!(usual.far_clock, HostClock::default());
    assert_eq!(apq("apq = \"exact\""), usual);
    let fast = apq("apq = \"fast\"").survey.method;
    assert_eq!(fast, Method::Fast(FastConfig::default()));
}

#[test]
fn what_a_measurement_may_say() {
    let exact = apq(
        "[flow.apq]\npacket_bytes = [600]\nsessions = 4\ntime_scale = 0.25\nsaturation_rate = 700\n\
         discipline = true\nmeasured_by = \"from\"\nclock_offset = \"3h\"\nclock_drift = -200\n\
         rate_max = 5000",
    );
    let config = ExactConfig {
        sessions: 4,
        time_scale: 0.25,
        saturation_pps: Some(700.0),
        ..ExactConfig::default()
    };
    assert_eq!(exact.survey.method, Method::Exact(config));
    assert_eq!(exact.survey.directions, [Direction::Up]);
    assert_eq!((exact.survey.packet_bytes, exact.survey.rate_max_pps), (vec![600], 5_000.0));
    assert!(exact.survey.discipline && exact.measured_by_sender);
    let clock = HostClock { offset_ns: 3 * 3_600 * 1_000_000_000, drift_ppm: -200 };
    assert_eq!(exact.far_clock, clock);

    let fast = apq("apq = { method = \"fast\", duration = \"20s\", precision = \"2%\" }");
    let config = FastConfig { duration_max: Duration::from_secs(20), precision: 0.02 };
    assert_eq!(fast.survey.method, Method::Fast(config));
}

/// The paper's parameters are the default of its mode, and losses are what both ends
/// and the helper see of them.
#[test]
fn a_coded_link_is_the_papers_if_it_says_so() {
    let tables = r#"
[channel]
independent = true
[[node]]
name = "decoder"
role = "access-point"
[[node]]
name = "encoder"
role = "station"
[[node]]
name = "helper"
role = "station"
[[franc]]
name = "link"
ends = ["encoder", "decoder"]
helpers = ["helper"]
mode = "paper"
[[franc.loss]]
between = ["encoder", "decoder"]
loss = "30%"
[[franc.loss]]
from = "encoder"
to = "helper"
loss = "10%"
[[franc.loss]]
from = "helper"
to = "decoder"
loss = "20%"
"#;
    use lasthop_franc::NodeId as LinkNode;
    use lasthop_franc::config::{Losses, Mode, PaperRules, Role, SyntheticLoss};
    use lasthop_hosts::FrancMachine;
    let scenario = scenario(tables);
    let link = &scenario.francs[0];
    assert_eq!((link.path, link.interface_packets), (2, Some(2)));
    let nodes: Vec<NodeId> = link.nodes.iter().map(|node| node.node).collect();
    assert_eq!(nodes, [NodeId(1), NodeId(0), NodeId(2)]);
    let configs: Vec<_> = link
        .nodes
        .iter()
        .map(|node| match &node.machine {
            FrancMachine::Coded(config) => config,
            FrancMachine::Plain { .. } => panic!("it is coded"),
        })
        .collect();
    let [encoder, decoder, helper] = configs[..] else { panic!("there are three") };
    assert_eq!((encoder.block_symbols, encoder.symbol_bytes), (150, 1_450));
    assert_eq!(
        encoder.mode,
        Mode::Paper { overshoot: 1.05, systematic: true, rules: PaperRules::MARCH }
    );
    assert_eq!(encoder.encoder_timeout, Duration::from_millis(20));
    assert_eq!(encoder.backlog.target, None);
    let [one, two] = [LinkNode(1), LinkNode(2)];
    assert_eq!(encoder.role, Role::End { peer: two, via: two, helpers: 1 });
    assert_eq!(helper.role, Role::Helper { between: [one, two], helpers: 1 });
    let p = |value| Probability::new(value).expect("a probability");
    let there = Losses { e1: p(0.1), e2: p(0.2), e3: p(0.3) };
    assert_eq!((encoder.losses, helper.losses), (Some(there), Some(there)));
    let back = Losses { e1: p(0.0), e2: p(0.0), e3: p(0.3) };
    assert_eq!(decoder.losses, Some(back));
    let heard = |from: u8, loss| SyntheticLoss { from: LinkNode(from), loss: p(loss) };
    assert_eq!(decoder.synthetic, [heard(1, 0.3), heard(3, 0.2)]);
    assert_eq!(helper.synthetic, [heard(1, 0.1)]);
    let cell = scenario.network.cell.expect("there is one");
    let listens: Vec<bool> = cell.stations.iter().map(|station| station.promiscuous).collect();
    assert_eq!(listens, [false, false, true]);
    assert!(cell.independent);
}

/// The authors' programs of the FRANC paper differ from its text.
#[test]
fn rules_of_the_papers_programs() {
    use lasthop_franc::config::{AckRules, Mode, PaperRules, Reading};
    let text = format!(
        "{CELL}\n[[franc]]\nname = \"link\"\nends = [\"laptop\", \"ap\"]\nmode = \"paper\"\n"
    );
    let rules = |sets: &[&str]| {
        let scenario = with(&text, sets);
        match &scenario.francs[0].nodes[0].machine {
            lasthop_hosts::FrancMachine::Coded(config) => match config.mode {
                Mode::Paper { rules, systematic, .. } => (rules, systematic),
                Mode::Stream { .. } => panic!("it is the paper's"),
            },
            lasthop_hosts::FrancMachine::Plain { .. } => panic!("it is coded"),
        }
    };
    assert_eq!(rules(&[]), (PaperRules::MARCH, true));
    assert_eq!(rules(&["franc.link.rules=netmix-2014-01"]), (PaperRules::JANUARY, true));
    let strict = "franc.link.rules=paper";
    assert_eq!(rules(&[strict]), (PaperRules::TEXT, false));
    // Each key alone makes the text the program of March.
    let march = [
        strict,
        "franc.link.systematic=true",
        "franc.link.acknowledgements=netmix-2014-03",
        "franc.link.spending=netmix-2014-03",
        "franc.link.helping=netmix",
        "franc.link.waiting=netmix",
        "franc.link.timeout_packets=5",
    ];
    assert_eq!(rules(&march), (PaperRules::MARCH, true));
    // And the program of March the text.
    let text = [
        "franc.link.systematic=false",
        "franc.link.acknowledgements=paper",
        "franc.link.reading=packet",
        "franc.link.spending=paper",
        "franc.link.helping=paper",
        "franc.link.waiting=paper",
        "franc.link.timeout_packets=credit",
    ];
    assert_eq!(rules(&text), (PaperRules::TEXT, false));
    let burst =
        PaperRules { read: Reading::Burst, acknowledge: AckRules::Text, ..PaperRules::MARCH };
    let sets = ["franc.link.reading=burst", "franc.link.acknowledgements=paper"];
    assert_eq!(rules(&sets), (burst, true));
}

#[test]
fn the_kernel_of_a_flow_brings_its_window_rule_and_small_queues() {
    use lasthop_tcp::{DelayedAck, Recovery, SmallQueues, WindowValidation};

    let flow = "[[flow]]\nname = \"f\"\nfrom = \"laptop\"\nto = \"ap\"\nkind = \"tcp\"\n";
    let endpoint = |tcp: &str| {
        let scenario = scenario(&format!("{CELL}{flow}tcp = {{ {tcp} }}\n"));
        let FlowKind::Tcp(flow) = &scenario.flows[0].kind else { panic!("it is TCP") };
        flow.endpoints.expect("ours")[0]
    };
    let rules = |tcp| {
        let config = endpoint(tcp);
        (config.recovery, config.window_validation, config.small_queues)
    };
    let fixed = |limit| SmallQueues::Fixed { limit: Bytes::new(limit), overhead: Bytes::new(804) };
    let old = WindowValidation::Linux3;
    assert_eq!(rules("recovery = \"linux-3.2\""), (Recovery::Linux32, old, SmallQueues::Off));
    assert_eq!(rules("recovery = \"linux-3.13\""), (Recovery::Linux313, old, fixed(128 << 10)));
    let written = "recovery = \"linux-3.13\", small_queues = \"off\", window_validation = \"off\"";
    assert_eq!(rules(written), (Recovery::Linux313, WindowValidation::Off, SmallQueues::Off));
    let today = endpoint("");
    assert_eq!(
        (today.recovery, today.window_validation),
        (Recovery::Today, WindowValidation::Linux)
    );
    let pacing = |bytes| {
        let overhead = Bytes::new(bytes);
        SmallQueues::Pacing { limit: Bytes::new(4 << 20), shift: 7, overhead }
    };
    assert_eq!(today.small_queues, pacing(896), "above Wi-Fi");
    assert_eq!(endpoint("small_queues_overhead = \"2852B\"").small_queues, pacing(2852));
    // xnu-3248.60.10: tcp_delack, and no quick acknowledgements.
    let apple = endpoint("receiver = \"macos-10.11\"").delayed_ack;
    let delay = Duration::from_millis(100);
    assert_eq!(apple, DelayedAck { segments: 2, delay, quick_segments: 0, stretches: true });
}

/// The names spread the first target wake times, whatever else there is.
#[test]
fn kinds_of_power_save() {
    const TWT: &str = r#"
[channel]
standard = "802.11ax"
[[node]]
name = "ap"
role = "access-point"
[[node]]
name = "phone"
role = "station"
power_save = { kind = "twt" }
[[node]]
name = "watch"
role = "station"
power_save = { kind = "twt", wake_interval = "1s", first_wake = "7ms", uplink = "at-once" }
"#;
    let of = |sets: &[&str], station: usize| {
        let scenario = with(TWT, sets);
        let cell = cell(&scenario);
        assert_eq!(cell.stations[station].power_save, None);
        cell.stations[station].service_periods
    };
    let Some(ServicePeriodConfig::TargetWake(phone)) = of(&[], 1) else { panic!("it has TWT") };
    assert!(phone.first_wake < phone.wake_interval && phone.announced && phone.ends_early);
    assert_eq!(phone.wake_interval, Duration::from_micros(102_400));
    assert_eq!(of(&["node.watch.power_save.wake_interval=2s"], 1), of(&[], 1));
    let Some(ServicePeriodConfig::TargetWake(watch)) = of(&[], 2) else { panic!("it has TWT") };
    assert_eq!(watch.first_wake, Duration::from_millis(7));
    assert_eq!((watch.uplink, watch.listens_to_dtim), (TwtUplink::AtOnce, true));
    let apsd = "node.phone.power_save={ kind = \"u-apsd\", service_period = 4, \
                delivery_enabled = [\"voice\", \"video\"], trigger_enabled = [\"voice\"] }";
    let Some(ServicePeriodConfig::Unscheduled(phone)) = of(&[apsd], 1) else { panic!("U-APSD") };
    assert_eq!(phone.delivery_enabled, [false, false, true, true]);
    assert_eq!(phone.trigger_enabled, [false, false, false, true]);
    assert_eq!((phone.frames_max, phone.listen_interval), (Some(4), 1));
}

/// Each kind gives its configuration, and "off" gives none.
#[test]
fn power_save_in_firmware() {
    let of = |set: &str| {
        let scenario = with(CELL, &[&format!("node.laptop.power_save={set}")]);
        let station = &cell(&scenario).stations[1];
        assert_eq!(station.service_periods, None);
        station.power_save
    };
    let firmware = of("firmware").expect("it saves power");
    let busy = Busy { frames: 50, interval: Duration::from_secs(2) };
    assert_eq!(firmware.sending, Sending::InPowerSave(busy));
    assert_eq!((firmware.retrieval, firmware.listen_interval), (Retrieval::PsPoll, 1));
    assert_eq!(firmware.clock.jitter, Duration::ZERO);
    let often = of("{ kind = \"firmware\", busy_frames = 8, busy_interval = \"1s\", \
                    listen_interval = 3, wake_jitter = \"1ms\", wake_lead = \"2ms\", \
                    beacon_loss = \"10%\", beacons_missed_max = 20 }")
    .expect("it saves power");
    let busy = Busy { frames: 8, interval: Duration::from_secs(1) };
    assert_eq!((often.sending, often.listen_interval), (Sending::InPowerSave(busy), 3));
    let (lead, jitter) = (Duration::from_millis(2), Duration::from_millis(1));
    let loss = Probability::new(0.1).expect("a tenth");
    assert_eq!(often.clock, WakeClock { lead, jitter, loss, missed_max: 20 });
    assert_eq!(of("legacy").map(|it| it.sending), Some(Sending::Awake));
    assert_eq!(of("off"), None);
    let both = with(CELL, &["node.laptop.power_save=off", "node.laptop.scan={}"]);
    assert!(cell(&both).stations[1].scan.is_some());
}

/// An active scan of Europe's channels: 15 of 32 are passive, and take as long as in a passive scan.
#[test]
fn an_active_scan_has_passive_channels() {
    let set = "node.laptop.scan={ kind = \"active\", channels = 32, passive_channels = 15 }";
    let scan = cell(&with(CELL, &[set])).stations[1].scan.expect("it scans");
    let [active, passive] = [scan.away, scan.passive.away].map(|away| away.as_micros());
    assert_eq!((active, passive, scan.passive.count), (60_000, 111_000, 15));
    let all = cell(&with(CELL, &["node.laptop.scan={}"])).stations[1].scan.expect("it scans");
    assert_eq!((all.away, all.passive.count), (scan.passive.away, 0));
}

/// A table is one clock, a list several; without a start each name has its own.
#[test]
fn absences_by_a_clock() {
    let of = |node: &str, set: &str| {
        let scenario = with(CELL, &[&format!("node.{node}.absence={set}")]);
        cell(&scenario).stations[usize::from(node == "laptop")].absences.clone()
    };
    let ms = Duration::from_millis;
    let one = of("laptop", "{ away = \"90ms\", every = \"500ms\", channel = 44 }");
    let [one] = one[..] else { panic!("{one:?}") };
    assert_eq!(
        (one.away, one.every, one.announced, one.channel),
        (ms(90), Some(ms(500)), true, Some(44))
    );
    assert!(one.start > Duration::ZERO && one.start < ms(500), "{}", one.start);
    let two =
        of("laptop", "[{ away = \"5ms\", announced = false }, { away = \"2s\", start = \"3s\" }]");
    let kept: Vec<_> = two.iter().map(|it| (it.start, it.away, it.every, it.announced)).collect();
    let expected = [(Duration::ZERO, ms(5), None, false), (ms(3_000), ms(2_000), None, true)];
    assert_eq!(kept, expected);
    let radar = of("ap", "{ away = \"1s\", every = \"60s\" }");
    assert!(radar.len() == 1 && !radar[0].announced);
    for none in ["off", "[]"] {
        assert_eq!(of("laptop", none), []);
    }
    // On the own channel, 36 unless a cell says otherwise, there is nothing to leave.
    assert_eq!(of("laptop", "{ away = \"90ms\", every = \"500ms\", channel = 36 }"), []);
    let social =
        "node.laptop.absence=[{ away = \"9ms\", channel = 44 }, { away = \"9ms\", channel = 149 }]";
    let moved = with(CELL, &[social, "cell=[{ channel = 149 }]"]);
    let channels: Vec<_> = cell(&moved).stations[1].absences.iter().map(|it| it.channel).collect();
    assert_eq!(channels, [Some(44)]);
    let all = format!("[node_defaults]\nabsence = {{ away = \"1s\" }}\n{CELL}");
    let absences = |scenario: &Scenario| {
        cell(scenario).stations.iter().map(|it| it.absences.len()).collect::<Vec<_>>()
    };
    assert_eq!(absences(&with(&all, &[])), [1, 1]);
    assert_eq!(absences(&with(&all, &["node.laptop.absence=off"])), [1, 0]);
}

#[test]
fn an_access_point_may_scan() {
    let scenario = with(CELL, &["node.ap.scan={ channels = 2 }"]);
    assert_eq!(cell(&scenario).stations[0].scan.map(|scan| scan.channels), Some(2));
}

#[test]
fn rates_of_group_frames() {
    let of = |sets: &[&str]| cell(&with(CELL, sets)).group_rate;
    assert_eq!(of(&[]), None);
    let ht =
        |mcs| Rate::Ht { mcs, width: ChannelWidth::Mhz20, guard_interval: GuardInterval::Long };
    assert_eq!(of(&["channel.group_mcs=1"]), Some(ht(1)));
    assert_eq!(of(&["channel.group_mcs=8", "channel.width=40MHz"]), Some(ht(8)));
    // Who is older than the channel has to understand them.
    let ac = ["channel.standard=802.11ac", "channel.group_mcs=3"];
    let vht = Rate::vht(3, 1, ChannelWidth::Mhz20, GuardInterval::Long);
    assert_eq!(of(&ac), vht);
    assert_eq!(of(&[ac[0], ac[1], "node.laptop.standard=802.11n"]), Some(ht(3)));
}

/// A flow to the group has one sender, and a result for each node that it ends at.
#[test]
fn a_flow_to_the_group() {
    let flow = "[[flow]]\nname = \"news\"\nfrom = \"ap\"\nto = \"laptop*\"\nkind = \"udp\"\n\
                group = true\n";
    let scenario = with(&format!("{CELL}{flow}"), &["node.laptop.count=3"]);
    let flows: Vec<_> = scenario
        .flows
        .iter()
        .map(|flow| (flow.name.as_str(), flow.group, flow.endpoints))
        .collect();
    let model = Endpoints::Model;
    assert_eq!(
        flows,
        [
            ("news-laptop1", Some(0), model),
            ("news-laptop2", Some(0), model),
            ("news-laptop3", Some(0), model),
        ]
    );
}

/// A profile sets keys that the file lacks, and the kept text contains them.
#[test]
fn profiles_expand_to_keys() {
    let plain = with(CELL, &[]);
    assert_eq!(with(CELL, &["profile=bare"]).network, plain.network);
    let scenario = with(CELL, &["profile=iwlwifi"]);
    let of = |scenario: &Scenario, station: usize| {
        let cell = cell(scenario);
        let aggregation = cell.stations[station].aggregation;
        (cell.standard, aggregation.amsdu_bytes_max)
    };
    assert_eq!(of(&scenario, 0), (Standard::Dot11ac, 3_839));
    assert_eq!(of(&scenario, 1), (Standard::Dot11ac, 3_839));
    let cost = scenario.network.nodes[1].host_cost.expect("packets take time there");
    assert_eq!(cost.latency, Duration::from_micros(400));
    // The kept text is the same scenario, also without the profile's name.
    let text = scenario.source_text.replace("profile = \"iwlwifi\"", "");
    assert!(text.contains("amsdu_bytes_max") && text.contains("rician"), "{text}");
    assert_eq!(with(&text, &[]).network, scenario.network);
    // What the file, its defaults or a node says goes ahead.
    let own = ["profile=iwlwifi", "node.ap.aggregation.amsdu_bytes_max=0"];
    assert_eq!((of(&with(CELL, &own), 0).1, of(&with(CELL, &own), 1).1), (0, 3_839));
    let defaults = ["profile=iwlwifi", "node_defaults.aggregation.amsdu_bytes_max=7935"];
    assert_eq!(of(&with(CELL, &defaults), 1).1, 7_935);
    // A node of another class, and how stations save power.
    let mixed = with(CELL, &["profile=iwlwifi", "node.laptop.profile=small-computer"]);
    assert_eq!(cell(&mixed).standard, Standard::Dot11ac);
    let loss = |scenario: &Scenario| cell(scenario).stations[1].power_save.map(|it| it.clock.loss);
    assert_eq!(loss(&mixed), Probability::new(0.53));
    assert_eq!(cell(&mixed).stations[0].power_save, None);
    let awake = ["node.laptop.profile=small-computer", "node.laptop.power_save=off"];
    assert_eq!(loss(&with(CELL, &awake)), None);
    for name in ["ath9k-4.4", "ath9k-4.8", "ath10k-firmware", "mt76", "router-mips", "phone-ax"] {
        let scenario = with(CELL, &[&format!("profile={name}")]);
        assert_ne!(scenario.network, plain.network, "{name}");
        assert_eq!(with(&scenario.source_text, &[]).network, scenario.network);
    }
}
/// "off" is no table, whatever defaults have; a key behind it begins one anew, and the text that
/// is kept says the same.
#[test]
fn off_takes_a_table_of_the_defaults_away() {
    let text = |station: &str| {
        format!(
            "duration = \"1s\"\n[node_defaults]\npower_save = {{ idle = \"50ms\" }}\n\
             [[node]]\nname = \"ap\"\nrole = \"access-point\"\npower_save = \"off\"\n\
             [[node]]\nname = \"sta\"\nrole = \"station\"\n{station}\n"
        )
    };
    let idle = |text: &str, sets: &[&str]| {
        let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
        let scenario = lasthop_scenario::parse("test.toml", text, &sets)
            .unwrap_or_else(|why| panic!("{sets:?}: {why}"));
        let again = lasthop_scenario::parse("again.toml", &scenario.source_text, &[]);
        let again = again.unwrap_or_else(|why| panic!("{sets:?}: {why}"));
        assert_eq!(again.network, scenario.network, "{sets:?}");
        let cell = scenario.network.cell.expect("a cell");
        cell.stations[1].power_save.map(|it| it.idle.as_millis_f64())
    };
    assert_eq!(idle(&text(""), &[]), Some(50.0));
    assert_eq!(idle(&text("power_save = \"off\""), &[]), None);
    assert_eq!(idle(&text(""), &["node.sta.power_save=off"]), None);
    assert_eq!(idle(&text("power_save = { idle = \"9ms\" }"), &["node.sta.power_save=off"]), None);
    assert_eq!(
        idle(&text("power_save = \"off\""), &["node.sta.power_save.listen_interval=2"]),
        Some(50.0),
        "the rest is that of the defaults"
    );
}

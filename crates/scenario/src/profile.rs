//! Product classes: `profile` expands to keys that describe the radios and hosts of one kind of
//! device, unless the file gives these keys. Keys of the channel come from the scenario's profile,
//! those of a node from the profile of the node, of `[node_defaults]` or of the scenario. A TCP flow
//! takes what its source's kernel does with a burst, and what its destination's does.
//!
//! Sources stand beside the values: constants of Linux drivers, or a figure that others measured and
//! published. Values that no source gives say so. A test compares the tables of `docs/model.md` with
//! the values here.

use lasthop_config::choices;
use lasthop_config::edit::{Step, at, edit, insert, matches, with_origin};
use lasthop_config::error::Place;
use lasthop_config::error::Problems;
use lasthop_config::tree::{Node, Origin, Value, value};
use toml_edit::DocumentMut;

/// A product class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Profile {
    Bare,
    Ath9k44,
    Ath9k48,
    Ath10kFirmware,
    Mt76,
    Iwlwifi,
    PcLinux6,
    RouterMips,
    PhoneAx,
    SmallComputer,
}

choices! {
    Profile {
        "bare" => Self::Bare,
        "ath9k-4.4" => Self::Ath9k44,
        "ath9k-4.8" => Self::Ath9k48,
        "ath10k-firmware" => Self::Ath10kFirmware,
        "mt76" => Self::Mt76,
        "iwlwifi" => Self::Iwlwifi,
        "pc-linux-6" => Self::PcLinux6,
        "router-mips" => Self::RouterMips,
        "phone-ax" => Self::PhoneAx,
        "small-computer" => Self::SmallComputer,
    }
}

/// A key below its table, and its value as TOML.
type Key = (&'static str, &'static str);

/// Fading inside a building with people: a line of sight and walking pace.
const ROOM: Key = ("fading.kind", "rician");

impl Profile {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        use lasthop_config::scalar::Scalar;
        Self::read(&Value::String(text.to_owned())).ok()
    }

    /// Keys of `[channel]`.
    fn channel(self) -> &'static [Key] {
        const AC: [Key; 5] = [
            ("standard", "802.11ac"),
            ("band", "5GHz"),
            ("width", "80MHz"),
            ("guard_interval", "400ns"),
            ROOM,
        ];
        match self {
            Self::Bare | Self::PcLinux6 => &[],
            Self::Ath9k44 | Self::Ath9k48 | Self::RouterMips => &[("standard", "802.11n"), ROOM],
            Self::Ath10kFirmware | Self::Mt76 | Self::Iwlwifi => &AC,
            Self::PhoneAx => {
                &[("standard", "802.11ax"), ("band", "5GHz"), ("width", "80MHz"), ROOM]
            }
            Self::SmallComputer => &[("standard", "802.11n"), ("band", "2.4GHz"), ROOM],
        }
    }

    /// Keys of a node with a radio.
    fn node(self) -> &'static [Key] {
        // An idle hop of hardware has a round trip of 1.6 to 4 ms (measured): four times this, and
        // what the air takes.
        const LATENCY: Key = ("host_cost.latency", "400us");
        // ath9k: ATH_AGGR_MIN_QDEPTH, aggregates of 4096 us (ath_update_max_aggr_framelen) and of 32 frames
        // (ATH_AMPDU_SUBFRAME_DEFAULT), interrupts held by rimt_last and rimt_first.
        const AHEAD: Key = ("aggregation.built_ahead", "true");
        const HARDWARE: Key = ("aggregation.hardware_ampdus", "2");
        const DURATION: Key = ("aggregation.ampdu_duration_max", "4.096ms");
        const FRAMES: Key = ("aggregation.ampdu_frames_max", "32");
        const HELD: Key = ("rx_interrupt", "held");
        // Processors that wake up, tasklets: no source; with it an idle hop has 1.5 ms, and 1.3 to 1.8
        // were measured.
        const WAKE: Key = ("host_cost.latency", "100us");
        // mac80211's queues, with CoDel's target for Wi-Fi (Linux 4.8 with the patches that 4.10
        // and 4.11 took: queues of ath9k, airtime fairness).
        const FQ: Key = ("queue.kind", "fq-codel");
        match self {
            Self::Bare | Self::PcLinux6 => &[],
            // Linux before these: pfifo_fast of 1000 packets above ATH_MAX_QDEPTH of 123.
            Self::Ath9k44 => &[
                ("queue", "{ kind = \"drop-tail\", packets = 1000 }"),
                ("driver_queue", "{ packets = 123 }"),
                AHEAD,
                HARDWARE,
                DURATION,
                FRAMES,
                HELD,
                WAKE,
            ],
            Self::Ath9k48 => &[FQ, AHEAD, HARDWARE, DURATION, FRAMES, HELD, WAKE],
            // A processor of 25 000 packets a second, 300 Mb/s of long ones: no source.
            Self::RouterMips => &[
                FQ,
                AHEAD,
                HARDWARE,
                DURATION,
                FRAMES,
                HELD,
                WAKE,
                ("host_cost.per_packet", "40us"),
            ],
            // pfifo_fast above TARGET_10X_NUM_MSDU_DESC: the firmware was measured to hold 970.
            Self::Ath10kFirmware => &[
                ("queue", "{ kind = \"drop-tail\", packets = 1000 }"),
                ("driver_queue", "{ packets = 1424 }"),
                LATENCY,
            ],
            // An interrupt for each received MPDU; mac80211's queues.
            Self::Mt76 => &[FQ, ("streams", "2"), ("rx_interrupt", "mpdu"), LATENCY],
            // amsdu_size is 4K (3839 bytes) by default with 802.11ac; two streams.
            Self::Iwlwifi => &[("streams", "2"), ("aggregation.amsdu_bytes_max", "3839"), LATENCY],
            Self::PhoneAx => &[("streams", "2"), ("aggregation.amsdu_bytes_max", "3839"), LATENCY],
            Self::SmallComputer => &[("streams", "1"), LATENCY],
        }
    }

    /// Keys of a station.
    fn station(self) -> &'static [Key] {
        match self {
            Self::PhoneAx => &[("power_save", "{ kind = \"u-apsd\" }")],
            // brcmfmac: BRCMF_PS_MAX_TIMEOUT_MS, and BRCMF_DEFAULT_BCN_TIMEOUT_ROAM_ON of 2 s, 19 beacons.
            // Pings to such (raspberrypi/linux, issue 7533): a median of 6 ms awake, the bus and the
            // processor, and of 123 ms dozing (of five hours), by which 53 % of the beacons are missed.
            Self::SmallComputer => &[
                ("host_cost.latency", "2.4ms"),
                (
                    "power_save",
                    "{ kind = \"legacy\", idle = \"2s\", beacon_loss = 0.53, beacons_missed_max = 19 }",
                ),
            ],
            _ => &[],
        }
    }

    /// Keys of a node without a radio.
    fn host(self) -> &'static [Key] {
        match self {
            // GRO of a gigabit interface of Intel; the defaults of the key have the sources.
            Self::PcLinux6 => &[("receive_offload", "{}")],
            _ => &[],
        }
    }

    /// Whether nodes without a radio are of this class.
    pub(crate) fn is_of_hosts(self) -> bool {
        matches!(self, Self::Bare | Self::PcLinux6)
    }

    /// Keys of a TCP flow that starts at such a node, for classes that name a kernel: the length of
    /// the bursts that the kernel passes to the device.
    fn sender(self) -> &'static [Key] {
        match self {
            // mac80211 requests 8 ms since Linux 4.16. ath9k has no scatter-gather, so before 4.17 a
            // segment has a buffer of 4352 bytes and none is sent with others.
            Self::Ath9k44 | Self::Ath9k48 => {
                &[("tcp.pacing_shift", "10"), ("tcp.small_queues_overhead", "\"2852B\"")]
            }
            // Since 4.17 TCP makes buffers of several segments above every device.
            Self::PcLinux6 => &[("tcp.send_offload", "true")],
            _ => &[],
        }
    }

    /// Keys of a TCP flow that ends at such a node.
    fn receiver(self) -> &'static [Key] {
        match self {
            // GRO merges 64 KiB.
            Self::PcLinux6 => &[("tcp.receive_offload", "45")],
            _ => &[],
        }
    }
}

/// Adds the keys of profiles to `tree` and to `document`, its text, where the keys are missing.
/// Unknown names of profiles are reported later, when the tree is typed.
pub(crate) fn expand(tree: &mut Node, document: &mut DocumentMut, problems: &mut Problems) {
    let named = |node: Option<&Node>| {
        let name = node.and_then(|node| node.child("profile")).and_then(Node::as_str)?;
        Profile::parse(name)
    };
    let defaults = tree.child("node_defaults").cloned();
    let (of_all, of_nodes) = (named(Some(tree)), named(defaults.as_ref()));
    let profile_of = |node: &Node| named(Some(node)).or(of_nodes).or(of_all);
    let key = |key: &str| Step::Key(key.to_owned());
    let mut added: Vec<(Vec<Step>, &'static str)> = Vec::new();
    for (path, text) in of_all.map_or(&[][..], Profile::channel) {
        if !is_given(tree.child("channel"), path) {
            added.push((
                [key("channel")].into_iter().chain(path.split('.').map(key)).collect(),
                text,
            ));
        }
    }
    let nodes = match tree.child("node").map(|node| &node.value) {
        Some(Value::Array(nodes)) => &nodes[..],
        _ => &[],
    };
    for (index, node) in nodes.iter().enumerate() {
        let role = node.child("role").and_then(Node::as_str);
        let Some(profile) = profile_of(node) else { continue };
        let keys = match role {
            Some("access-point") => [profile.node(), &[]],
            Some("station") => [profile.node(), profile.station()],
            _ => [profile.host(), &[]],
        };
        for (path, text) in keys.into_iter().flatten() {
            if !is_given(Some(node), path) && !is_given(defaults.as_ref(), path) {
                let steps = [key("node"), Step::Index(index)].into_iter();
                added.push((steps.chain(path.split('.').map(key)).collect(), text));
            }
        }
    }
    let flows = match tree.child("flow").map(|flow| &flow.value) {
        Some(Value::Array(flows)) => &flows[..],
        _ => &[],
    };
    let end_of = |node: &Node| {
        let role = node.child("role").and_then(Node::as_str);
        let is_wifi = matches!(role, Some("access-point" | "station"));
        profile_of(node).filter(|profile| is_wifi || profile.is_of_hosts())
    };
    for (index, flow) in flows.iter().enumerate() {
        for (path, text) in flow_keys(flow, nodes, end_of) {
            let steps = [key("flow"), Step::Index(index)].into_iter();
            added.push((steps.chain(path.split('.').map(key)).collect(), text));
        }
    }
    for (steps, text) in added {
        let origin = Origin::Absent;
        let toml = text.parse().unwrap_or_else(|_| toml_edit::Value::from(text));
        match insert(tree, &steps, with_origin(value(&toml, &origin), &origin), &origin) {
            Ok(()) => edit(document.as_item_mut(), &steps, &toml),
            // Typing the tree reports that this is not a table.
            Err(_) if at(tree, &steps[..1]).is_some() => {}
            Err(message) => problems.push(&Place::new("profile", origin), message),
        }
    }
}

/// Returns the keys that profiles add to a flow. All nodes that an end's pattern names must have one
/// profile. A flow that sets its recovery or its small queues takes no key.
fn flow_keys(
    flow: &Node,
    nodes: &[Node],
    profile_of: impl Fn(&Node) -> Option<Profile>,
) -> Vec<Key> {
    let text = |key| flow.child(key).and_then(Node::as_str);
    let has_own_kernel = ["tcp.recovery", "tcp.small_queues"];
    if !matches!(text("kind"), Some("tcp" | "web" | "stream"))
        || has_own_kernel.iter().any(|path| is_given(Some(flow), path))
    {
        return Vec::new();
    }
    let only = |end| {
        let pattern = text(end)?;
        let mut profiles = nodes.iter().filter(|node| is_named(node, pattern)).map(&profile_of);
        let first = profiles.next()??;
        profiles.all(|other| other == Some(first)).then_some(first)
    };
    let sender = only("from").map_or(&[][..], Profile::sender);
    let receiver = only("to").map_or(&[][..], Profile::receiver);
    let keys = sender.iter().chain(receiver).copied();
    keys.filter(|(path, _)| !is_given(Some(flow), path)).collect()
}

/// Whether a `[[node]]` makes a node whose name matches `pattern`.
fn is_named(node: &Node, pattern: &str) -> bool {
    let Some(name) = node.child("name").and_then(Node::as_str) else { return false };
    match node.child("count").map(|count| &count.value) {
        // The most that a count may be.
        Some(Value::Integer(count)) => {
            (1..=(*count).min(1000)).any(|number| matches(pattern, &format!("{name}{number}")))
        }
        _ => matches(pattern, name),
    }
}

/// Whether a table has that key, or a value on its path that is not a table.
fn is_given(table: Option<&Node>, path: &str) -> bool {
    let Some(table) = table else { return false };
    let (first, rest) =
        path.split_once('.').map_or((path, None), |(first, rest)| (first, Some(rest)));
    match (table.child(first), rest) {
        (None, _) => false,
        (Some(_), None) => true,
        (Some(node), Some(rest)) => node.entries().is_none() || is_given(Some(node), rest),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lasthop_packet::queue::QueueConfig;

    const PROFILES: [(&str, Profile); 9] = [
        ("ath9k-4.4", Profile::Ath9k44),
        ("ath9k-4.8", Profile::Ath9k48),
        ("ath10k-firmware", Profile::Ath10kFirmware),
        ("mt76", Profile::Mt76),
        ("iwlwifi", Profile::Iwlwifi),
        ("pc-linux-6", Profile::PcLinux6),
        ("router-mips", Profile::RouterMips),
        ("phone-ax", Profile::PhoneAx),
        ("small-computer", Profile::SmallComputer),
    ];

    #[test]
    fn a_host_takes_the_keys_of_hosts() {
        let text = "profile = \"pc-linux-6\"\n[[node]]\nname = \"pc\"\nrole = \"host\"\n\
                    [[node]]\nname = \"ap\"\nrole = \"access-point\"\nprofile = \"ath9k-4.8\"\n\
                    [[wire]]\nbetween = [\"pc\", \"ap\"]\n";
        let scenario = crate::parse("test.toml", text, &[]).expect("it is sound");
        let nodes = &scenario.network.nodes;
        assert!(nodes[0].receive_offload.is_some() && nodes[1].receive_offload.is_none());
        let cell = scenario.network.cell.as_ref().expect("there is a cell");
        assert!(cell.stations[0].aggregation.built_ahead);
    }

    /// A flow takes the keys of its source's and its destination's profile, except those that it
    /// sets; a flow with an older kernel's recovery takes none.
    #[test]
    fn a_flow_takes_the_keys_of_its_ends() {
        let nodes = "[[node]]\nname = \"pc\"\nrole = \"host\"\nprofile = \"pc-linux-6\"\n\
                     [[node]]\nname = \"ap\"\nrole = \"access-point\"\n\
                     [[node]]\nname = \"sta\"\nrole = \"station\"\ncount = 2\n\
                     profile = \"ath9k-4.8\"\n[[wire]]\nbetween = [\"pc\", \"ap\"]\n";
        let shift = |small_queues| match small_queues {
            lasthop_tcp::SmallQueues::Pacing { shift, overhead, .. } => (shift, overhead.as_u64()),
            other => panic!("{other:?}"),
        };
        let flow = |ends: [&str; 2], keys: &str| {
            let [from, to] = ends;
            let text = format!(
                "{nodes}[[flow]]\nname = \"f\"\nfrom = {from:?}\nto = {to:?}\nkind = \"tcp\"\n{keys}\n"
            );
            let scenario = crate::parse("test.toml", &text, &[]).expect("it is sound");
            let lasthop_hosts::FlowKind::Tcp(tcp) = &scenario.flows[0].kind else {
                panic!("{:?}", scenario.flows[0].kind)
            };
            (tcp.endpoints.expect("it is modelled")[0], tcp.receive_offload.is_some())
        };
        let (up, is_merged) = flow(["sta*", "pc"], "");
        assert_eq!((shift(up.small_queues), up.send_offload, is_merged), ((10, 2852), false, true));
        let (down, is_merged) = flow(["pc", "sta2"], "");
        assert_eq!((shift(down.small_queues), down.send_offload), ((10, 896), true));
        assert!(!is_merged);
        let (own, _) = flow(["sta1", "pc"], "tcp = { pacing_shift = 8 }");
        assert_eq!(shift(own.small_queues), (8, 2852));
        let (old, _) = flow(["sta1", "pc"], "tcp = { recovery = \"linux-3.13\" }");
        assert!(matches!(old.small_queues, lasthop_tcp::SmallQueues::Fixed { .. }));
        let (bare, is_merged) = flow(["ap", "sta1"], "");
        assert_eq!((shift(bare.small_queues), is_merged), ((7, 896), false));
    }

    /// Returns the cells of the row of `docs/model.md` that begins with `first`.
    fn row(first: &str) -> Vec<String> {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/model.md");
        let page = std::fs::read_to_string(path).expect("the page is there");
        let begins = format!("| {first} |");
        let row = page.lines().find(|line| line.starts_with(&begins)).expect("the row is there");
        row.split(" | ").map(|cell| cell.trim_matches(['|', ' ']).to_owned()).collect()
    }

    #[test]
    fn the_page_has_the_keys_of_each_profile() {
        for (name, profile) in PROFILES {
            let groups = [
                ("channel", profile.channel()),
                ("nodes", profile.node()),
                ("stations", profile.station()),
                ("hosts", profile.host()),
                ("TCP from it", profile.sender()),
                ("TCP to it", profile.receiver()),
            ];
            let group = |(of, keys): (&str, &[Key])| {
                let keys: Vec<String> =
                    keys.iter().map(|(path, value)| format!("`{path} = {value}`")).collect();
                (!keys.is_empty()).then(|| format!("{of}: {}", keys.join(", ")))
            };
            let keys: Vec<String> = groups.into_iter().filter_map(group).collect();
            assert_eq!(row(&format!("`{name}`"))[2], keys.join("; "), "{name}");
        }
    }

    #[test]
    fn the_page_has_the_defaults_of_each_generation() {
        for (column, standard) in ["802.11n", "802.11ac", "802.11ax"].into_iter().enumerate() {
            let text = format!(
                "[channel]\nstandard = \"{standard}\"\n[[node]]\nname = \"ap\"\nrole = \
                 \"access-point\"\n[[node]]\nname = \"sta\"\nrole = \"station\"\n"
            );
            let scenario = crate::parse("test.toml", &text, &[]).expect("it is sound");
            let cell = scenario.network.cell.as_ref().expect("there is a cell");
            let station = &cell.stations[1];
            let QueueConfig::FqCodel { limit_packets, .. } = station.queue else {
                panic!("{:?}", station.queue)
            };
            let is_off = |off: bool| String::from(if off { "off" } else { "on" });
            let power_save = station.power_save.is_none() && station.service_periods.is_none();
            for (first, value) in [
                ("A-MPDU, bytes", station.aggregation.ampdu_bytes_max.to_string()),
                ("A-MSDU, bytes", station.aggregation.amsdu_bytes_max.to_string()),
                ("queue, packets", limit_packets.to_string()),
                ("host delay", is_off(scenario.network.nodes[1].host_cost.is_none())),
                ("power save", is_off(power_save)),
            ] {
                assert_eq!(row(first)[1 + column], value, "{standard}: {first}");
            }
            let [ap, sta] = [lasthop_wifi::StationId(0), lasthop_wifi::StationId(1)];
            let link = cell.links.pair(ap, sta).expect("they hear each other");
            assert_eq!(row("fading")[1 + column], "none");
            assert_eq!(link.link.fading, lasthop_wifi::phy::Fading::None);
        }
    }
}

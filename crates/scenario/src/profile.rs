//! Product classes: `profile` expands to keys that together describe the radios and hosts of one
//! kind of device, where the file does not give them itself. Keys of the channel are taken from the
//! scenario's profile, those of a node from its own, that of `[node_defaults]`, or the scenario's.
//!
//! Values are cited where they stand; "measured" is a figure that others published. Left out: what
//! no key says, such as interrupts that are held back for aggregates only.

use crate::error::Place;
use crate::error::Problems;
use crate::scalar::choices;
use crate::set::{Step, at, edit, insert, with_origin};
use crate::tree::{Node, Origin, Value, value};
use toml_edit::DocumentMut;

/// A product class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Profile {
    Bare,
    Ath9k2013,
    LaptopAc,
    PhoneAx,
    SmallComputer,
}

choices! {
    Profile {
        "bare" => Self::Bare,
        "ath9k-2013" => Self::Ath9k2013,
        "laptop-ac" => Self::LaptopAc,
        "phone-ax" => Self::PhoneAx,
        "small-computer" => Self::SmallComputer,
    }
}

/// A key below its table, and its value as TOML.
type Key = (&'static str, &'static str);

/// In a room with people in it: a line of sight and walking pace.
const ROOM: Key = ("fading.kind", "rician");

impl Profile {
    fn of(text: &str) -> Option<Self> {
        use crate::scalar::Scalar;
        Self::read(&Value::String(text.to_owned())).ok()
    }

    /// Keys of `[channel]`.
    fn channel(self) -> &'static [Key] {
        match self {
            Self::Bare => &[],
            Self::Ath9k2013 => &[("standard", "802.11n"), ROOM],
            Self::LaptopAc => &[
                ("standard", "802.11ac"),
                ("band", "5GHz"),
                ("width", "80MHz"),
                ("guard_interval", "400ns"),
                ROOM,
            ],
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
        match self {
            Self::Bare => &[],
            // Linux 4.4 and before: pfifo_fast of 1000 packets above ATH_MAX_QDEPTH of 123;
            // ATH_AGGR_MIN_QDEPTH of 2; aggregates of 4 ms, and of 32 frames.
            Self::Ath9k2013 => &[
                ("queue", "{ kind = \"drop-tail\", packets = 1000 }"),
                ("driver_queue", "{ packets = 123 }"),
                ("aggregation.built_ahead", "true"),
                ("aggregation.ampdu_duration_max", "4ms"),
                ("aggregation.ampdu_frames_max", "32"),
                LATENCY,
            ],
            // iwlwifi: amsdu_size is 4K (3839 bytes) by default with 802.11ac; two streams.
            Self::LaptopAc => &[("streams", "2"), ("aggregation.amsdu_bytes_max", "3839"), LATENCY],
            Self::PhoneAx => &[("streams", "2"), ("aggregation.amsdu_bytes_max", "3839"), LATENCY],
            Self::SmallComputer => &[("streams", "1"), LATENCY],
        }
    }

    /// Keys of a station.
    fn station(self) -> &'static [Key] {
        match self {
            Self::Bare | Self::Ath9k2013 | Self::LaptopAc => &[],
            Self::PhoneAx => &[("power_save", "{ kind = \"u-apsd\" }")],
            // Pings to such: p90 375 to 554 ms (measured).
            Self::SmallComputer => {
                &[("power_save", "{ kind = \"legacy\", wake_jitter = \"2.5ms\" }")]
            }
        }
    }
}

/// Adds what profiles say to `tree` and to `document`, its text, where there is nothing yet. Names
/// that are none are left to whoever types the tree.
pub(crate) fn expand(tree: &mut Node, document: &mut DocumentMut, problems: &mut Problems) {
    let named = |node: Option<&Node>| {
        let name = node.and_then(|node| node.child("profile")).and_then(Node::as_str)?;
        Profile::of(name)
    };
    let defaults = tree.child("node_defaults").cloned();
    let (of_all, of_nodes) = (named(Some(tree)), named(defaults.as_ref()));
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
        let Some(profile) = named(Some(node)).or(of_nodes).or(of_all) else { continue };
        let keys = match role {
            Some("access-point") => [profile.node(), &[]],
            Some("station") => [profile.node(), profile.station()],
            _ => continue,
        };
        for (path, text) in keys.into_iter().flatten() {
            if !is_given(Some(node), path) && !is_given(defaults.as_ref(), path) {
                let steps = [key("node"), Step::Index(index)].into_iter();
                added.push((steps.chain(path.split('.').map(key)).collect(), text));
            }
        }
    }
    for (steps, text) in added {
        let origin = Origin::Absent;
        let toml = text.parse().unwrap_or_else(|_| toml_edit::Value::from(text));
        match insert(tree, &steps, with_origin(value(&toml, &origin), &origin), &origin) {
            Ok(()) => edit(document.as_item_mut(), &steps, &toml),
            // It is no table, which whoever types it says.
            Err(_) if at(tree, &steps[..1]).is_some() => {}
            Err(message) => problems.push(&Place::new("profile", origin), message),
        }
    }
}

/// Whether a table has that key, or something on the way to it that is no table.
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

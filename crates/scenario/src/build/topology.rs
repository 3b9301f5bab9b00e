//! Wires, and who reaches whom: every node reaches every other on exactly one
//! way. The cell counts as one crossing that all Wi-Fi nodes are attached to.

use super::nodes::Expanded;
use super::{Names, node_id, queue};
use crate::error::Problems;
use crate::raw::{RawWire, RawWireDirection};
use lasthop_net::network::WiredLink;
use lasthop_net::{Jitter, Loss, WireConfig};
use lasthop_units::{Bitrate, Duration, Probability};

/// Sets of nodes that reach each other.
struct Islands(Vec<usize>);

impl Islands {
    fn find(&self, mut node: usize) -> usize {
        while self.0[node] != node {
            node = self.0[node];
        }
        node
    }

    /// Joins two sets; `false` if they were one already.
    fn join(&mut self, one: usize, other: usize) -> bool {
        let (one, other) = (self.find(one), self.find(other));
        self.0[one.max(other)] = one.min(other);
        one != other
    }
}

/// The wires; notes wires to nowhere, loops, and nodes out of reach.
pub(crate) fn wires(
    nodes: &[Expanded<'_>],
    wires: &[RawWire],
    names: &Names,
    problems: &mut Problems,
) -> Vec<WiredLink> {
    let mut links = Vec::new();
    let mut islands = Islands((0..nodes.len()).collect());
    let mut wifi = nodes.iter().enumerate().filter(|(_, node)| node.is_wifi());
    if let Some((first, _)) = wifi.next() {
        for (other, _) in wifi {
            islands.join(first, other);
        }
    }
    let mut complete = true;
    for wire in wires {
        let both = direction(&wire.both, problems);
        let mut other_than_both = |raw: &Option<RawWireDirection>| match raw {
            Some(raw) => direction(raw, problems),
            None => both,
        };
        let directions = [other_than_both(&wire.up), other_than_both(&wire.down)];
        let [one, other] = &wire.between.value;
        let place = &wire.between.place;
        let ends = (names.find(one, place, problems), names.find(other, place, problems));
        let (Some(one_end), Some(other_end)) = ends else {
            complete = false;
            continue;
        };
        if one_end == other_end {
            problems.push(place, format!("a wire needs two ends, and both are {one:?}"));
        } else if !islands.join(one_end, other_end) {
            let message = format!(
                "this wire closes a loop: {one:?} and {other:?} reach each other without it"
            );
            problems.push(place, message);
        }
        links.push(WiredLink { ends: [node_id(one_end), node_id(other_end)], directions });
    }
    if !complete {
        return links;
    }
    let mut told = vec![islands.find(0)];
    for (index, node) in nodes.iter().enumerate() {
        let island = islands.find(index);
        if !told.contains(&island) {
            told.push(island);
            let message = format!(
                "{:?} does not reach {:?}; a [[wire]] between their parts is missing",
                node.name, nodes[0].name
            );
            problems.push(&node.raw.name.place, message);
        }
    }
    links
}

fn direction(raw: &RawWireDirection, problems: &mut Problems) -> WireConfig {
    if raw.rate.value.0 == Some(Bitrate::default()) {
        problems.push(&raw.rate.place, "expected more than zero, or \"off\"");
    }
    if raw.reorder.value && raw.jitter.value.is_zero() {
        problems.push(&raw.reorder.place, "without jitter nothing is reordered");
    }
    let usual = WireConfig::default();
    WireConfig {
        rate: raw.rate.value.0,
        delay: raw.delay.value,
        jitter: match raw.jitter.value {
            Duration::ZERO => Jitter::None,
            most => Jitter::Uniform(most),
        },
        reorder: raw.reorder.value,
        queue: queue::config(&raw.queue, usual.queue, problems),
        loss: match raw.loss.value {
            Probability::ZERO => Loss::None,
            loss => Loss::Random(loss),
        },
    }
}

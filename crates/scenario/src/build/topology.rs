//! Wires, and who reaches whom: every node reaches every other on exactly one
//! way. The cell counts as one crossing that all Wi-Fi nodes are attached to.

use super::nodes::Expanded;
use super::{Names, positive};
use crate::error::Problems;
use crate::raw::{RawWire, RawWireDirection};

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

/// Notes wires to nowhere, loops, and nodes out of reach.
pub(crate) fn check(
    nodes: &[Expanded<'_>],
    wires: &[RawWire],
    names: &Names,
    problems: &mut Problems,
) {
    let mut islands = Islands((0..nodes.len()).collect());
    let mut wifi = nodes.iter().enumerate().filter(|(_, node)| node.is_wifi());
    if let Some((first, _)) = wifi.next() {
        for (other, _) in wifi {
            islands.join(first, other);
        }
    }
    let mut complete = true;
    for wire in wires {
        for direction in [Some(&wire.both), wire.up.as_ref(), wire.down.as_ref()] {
            direction.into_iter().for_each(|direction| check_direction(direction, problems));
        }
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
    }
    if !complete {
        return;
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
}

fn check_direction(direction: &RawWireDirection, problems: &mut Problems) {
    positive(&direction.rate, problems);
}

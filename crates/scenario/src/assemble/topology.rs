//! Wires, and reachability: a node reaches another one on one way, or not at all. A basic service
//! set counts as one crossing with all its nodes.

use super::nodes::Expanded;
use super::{Names, change_at, node_id, queue};
use crate::raw::{JitterKind, LossKind, RawJitter, RawLoss, RawWire, RawWireDirection};
use lasthop_config::error::{Place, Problems};
use lasthop_config::scalar::At;
use lasthop_net::network::WiredLink;
use lasthop_net::{CableConfig, Jitter, Loss, RateChange};
use lasthop_units::{Bitrate, Duration, Probability};
use std::collections::BTreeMap;

/// Sets of nodes that reach each other.
pub(crate) struct Islands(Vec<usize>);

impl Islands {
    fn find(&self, mut node: usize) -> usize {
        while self.0[node] != node {
            node = self.0[node];
        }
        node
    }

    /// Joins two sets; `false` if they were joined already.
    fn join(&mut self, one: usize, other: usize) -> bool {
        let (one, other) = (self.find(one), self.find(other));
        self.0[one.max(other)] = one.min(other);
        one != other
    }
}

impl Islands {
    /// Reports a missing path from one node to another.
    pub fn check(
        &self,
        from: usize,
        to: usize,
        nodes: &[Expanded<'_>],
        place: &Place,
        problems: &mut Problems,
    ) -> bool {
        let is_joined = self.find(from) == self.find(to);
        if !is_joined {
            problems.push_made(place, &|| self.out_of_reach(from, to, nodes));
        }
        is_joined
    }

    fn out_of_reach(&self, from: usize, to: usize, nodes: &[Expanded<'_>]) -> String {
        const SHOWN_MAX: usize = 12;
        let is_reached = |node: &usize| *node != from && self.find(*node) == self.find(from);
        let reached: Vec<usize> = (0..nodes.len()).filter(is_reached).collect();
        let name = |node: &usize| format!("{:?}", nodes[*node].name);
        let mut names: Vec<String> = reached.iter().take(SHOWN_MAX).map(name).collect();
        names.extend((reached.len() > SHOWN_MAX).then(|| "..".to_owned()));
        let (from, to) = (&nodes[from].name, &nodes[to].name);
        let reaches = if names.is_empty() { "nobody".to_owned() } else { names.join(", ") };
        format!("{from:?} does not reach {to:?}, but {reaches}; a [[wire]] would join them")
    }
}

/// Returns the wires, and the sets of nodes that reach each other by wires and over the air;
/// reports wires to unknown nodes and loops.
pub(crate) fn wires(
    nodes: &[Expanded<'_>],
    wires: &[RawWire],
    duration: Duration,
    names: &Names,
    problems: &mut Problems,
) -> (Vec<WiredLink>, Option<Islands>) {
    let mut links = Vec::new();
    let mut islands = Islands((0..nodes.len()).collect());
    let mut sets: BTreeMap<Option<&str>, usize> = BTreeMap::new();
    for (index, node) in nodes.iter().enumerate().filter(|(_, node)| node.is_wifi()) {
        islands.join(*sets.entry(node.bss()).or_insert(index), index);
    }
    let mut complete = true;
    for wire in wires {
        let both = direction(&wire.both, duration, problems);
        let mut other_than_both = |raw: &Option<RawWireDirection>| match raw {
            Some(raw) => direction(raw, duration, problems),
            None => both.clone(),
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
    (links, complete.then_some(islands))
}

fn direction(raw: &RawWireDirection, duration: Duration, problems: &mut Problems) -> CableConfig {
    if raw.rate.value.0 == Some(Bitrate::default()) {
        problems.push(&raw.rate.place, "expected more than zero, or \"off\"");
    }
    let jitter = jitter(&raw.jitter, problems);
    if raw.reorder.value && jitter == Jitter::None {
        problems.push(&raw.reorder.place, "without jitter nothing is reordered");
    }
    let usual = CableConfig::default();
    CableConfig {
        rate: raw.rate.value.0,
        rate_changes: rate_changes(raw, duration, problems),
        rate_repeat: raw.rate_repeat.as_ref().map(|repeat| repeat.value),
        delay: raw.delay.value,
        jitter,
        reorder: raw.reorder.value,
        queue: queue::config(&raw.queue, usual.queue, None, problems),
        loss: loss(&raw.loss, problems),
        adjustable: false,
        is_interface: raw.interface.value,
    }
}

/// Returns the changes of a rate; reports changes without effect, and a repeat without changes.
fn rate_changes(
    raw: &RawWireDirection,
    duration: Duration,
    problems: &mut Problems,
) -> Vec<RateChange> {
    let mut last = Duration::ZERO;
    let mut changes = Vec::new();
    for change in &raw.rate_changes {
        let rate = change.rate.value;
        if raw.rate.value.0.is_none() {
            problems.push(&change.rate.place, "rate = \"off\" has no rate to change");
        }
        if rate == Bitrate::default() {
            problems.push(&change.rate.place, "expected more than zero");
        }
        let at = match &raw.rate_repeat {
            None => change_at(&change.from, &mut last, duration, problems),
            Some(repeat) => {
                let (from, repeat) = (change.from.value, repeat.value);
                if from >= repeat {
                    let message = format!("expected less than rate_repeat, {repeat}, got {from}");
                    problems.push(&change.from.place, message);
                }
                change_at(&change.from, &mut last, Duration::MAX, problems)
            }
        };
        changes.push(RateChange { at, rate });
    }
    if let Some(repeat) = raw.rate_repeat.as_ref().filter(|_| changes.is_empty()) {
        problems.push(&repeat.place, "rate_repeat needs rate_changes");
    }
    changes
}

fn jitter(raw: &RawJitter, problems: &mut Problems) -> Jitter {
    let (most, sd) = (raw.most.as_ref(), raw.sd.as_ref());
    match (raw.kind.value, most, sd) {
        (JitterKind::Uniform, None, None) => Jitter::None,
        (JitterKind::Uniform, Some(most), None) if most.value.is_zero() => Jitter::None,
        (JitterKind::Uniform, Some(most), None) => Jitter::Uniform(most.value),
        (JitterKind::Normal, None, Some(sd)) if sd.value.is_zero() => Jitter::None,
        (JitterKind::Normal, None, Some(sd)) => Jitter::Normal { sd: sd.value },
        (JitterKind::Normal, None, None) => {
            problems.push(&raw.here, "how much? add for example sd = \"2ms\"");
            Jitter::None
        }
        (JitterKind::Uniform, _, Some(sd)) => {
            problems.push_unfit(&sd.place, "this key is for kind = \"normal\" only");
            Jitter::None
        }
        (JitterKind::Normal, Some(most), _) => {
            problems.push_unfit(&most.place, "this key is for kind = \"uniform\" only");
            Jitter::None
        }
    }
}

fn loss(raw: &RawLoss, problems: &mut Problems) -> Loss {
    let or = |at: &Option<At<Probability>>, usual| at.as_ref().map_or(usual, |at| at.value);
    if raw.kind.value == LossKind::Random {
        let bursty = [&raw.good_to_bad, &raw.bad_to_good, &raw.loss_good, &raw.loss_bad];
        for at in bursty.into_iter().flatten() {
            problems.push_unfit(&at.place, "this key is for kind = \"gilbert-elliott\" only");
        }
        return match or(&raw.probability, Probability::ZERO) {
            Probability::ZERO => Loss::None,
            probability => Loss::Random(probability),
        };
    }
    if let Some(at) = &raw.probability {
        problems.push_unfit(&at.place, "this key is for kind = \"random\" only");
    }
    let mut change = |at: &Option<At<Probability>>, name: &str| match at {
        Some(at) => {
            super::positive(at, problems);
            at.value
        }
        None => {
            problems.push(
                &raw.here,
                format!("bursts need the key \"{name}\", for example {name} = 0.1"),
            );
            Probability::ZERO
        }
    };
    Loss::GilbertElliott {
        p_good_to_bad: change(&raw.good_to_bad, "good_to_bad"),
        p_bad_to_good: change(&raw.bad_to_good, "bad_to_good"),
        loss_good: or(&raw.loss_good, Probability::ZERO),
        loss_bad: or(&raw.loss_bad, Probability::ONE),
    }
}

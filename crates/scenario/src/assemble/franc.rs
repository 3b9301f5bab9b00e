//! Coded links: their nodes, configuration and injected losses.

use super::mtu::NodeMtu;
use super::nodes::Expanded;
use super::topology::Islands;
use super::{Names, node_id};
use crate::raw::{FrancLosses, RawFranc, RawFrancOutage, RawScenario, Relaying};
use lasthop_config::error::{Place, Problems};
use lasthop_config::scalar::At;
use lasthop_franc::config::{Keys, Losses, Mode, Role, SyntheticLoss};
use lasthop_franc::{Config, NodeId as LinkNode};
use lasthop_franc_node::coding::CodingMode;
use lasthop_hosts::{
    Flow, FlowKind, FrancLink, FrancMachine, FrancNode, FrancOutage, FrancPart, SourceConfig,
};
use lasthop_units::{Duration, Instant, Probability};
use lasthop_wifi::cell::CellConfig;
use std::collections::BTreeSet;

/// Largest number of nodes of a link: a helper's share of the work is tuned for two, and a link
/// with many relays does not work.
const RELAYS_MAX: usize = 16;
const HELPERS_MAX: usize = 2;
/// Delay in queues that the pace of two links allows by default, as in `franc.toml`.
const QUEUE_TARGET: Duration = Duration::from_millis(5);

/// Assembles the coded links of the scenario.
pub(super) fn links(
    raw: &RawScenario,
    nodes: &[Expanded<'_>],
    mtus: &[NodeMtu],
    flows: &[Flow],
    names: &Names,
    islands: Option<&Islands>,
    problems: &mut Problems,
) -> Vec<FrancLink> {
    let mut links: Vec<FrancLink> = Vec::new();
    let (mut known, mut taken) = (BTreeSet::new(), BTreeSet::new());
    for franc in &raw.franc {
        if !known.insert(&franc.name.value.0) {
            let message = format!("there are two coded links called {:?}", franc.name.value.0);
            problems.push(&franc.name.place, message);
        }
        let Some(members) = Members::find(franc, names, problems) else { continue };
        for (&node, place) in members.nodes.iter().zip(&members.places) {
            if !taken.insert(node) {
                let message = format!(
                    "{:?} has a part in a coded link already, and a node has one",
                    nodes[node].name
                );
                problems.push(place, message);
            }
            saturated_at(node, flows, place, problems);
            if let Some(islands) = islands {
                islands.check(members.nodes[0], node, nodes, place, problems);
            }
        }
        if let Some(at) = &franc.helpers {
            let is_one = |node: usize| nodes[node].shares_bss(&nodes[members.nodes[0]]);
            if !members.on_hop().all(|node| nodes[node].is_wifi()) {
                let message = "a helper overhears, so it and both ends need a radio";
                problems.push(&at.place, message);
            } else if !members.on_hop().all(is_one) {
                let message = "a helper overhears nodes of its own bss only, as both ends";
                problems.push(&at.place, message);
            }
        }
        let before = problems.len();
        let second = second(franc, &members, names, problems);
        for &node in second.iter().flatten() {
            let place = franc.second.as_ref().map_or(&franc.here, |at| &at.place);
            if !taken.insert(node) {
                let message = format!(
                    "{:?} has a part in a coded link already, and a node has one",
                    nodes[node].name
                );
                problems.push(place, message);
            }
            if let (Some(islands), Some([one, _])) = (islands, second) {
                islands.check(one, node, nodes, place, problems);
            }
        }
        if before < problems.len() {
            continue;
        }
        if let Some(link) = link(franc, &members, second, nodes, mtus, problems) {
            let outages = outages(franc, &members, raw, names, problems);
            let second = second.map(|second| second.map(node_id));
            links.push(FrancLink { outages, second, ..link });
        }
    }
    links
}

/// Returns the cell with helpers that receive frames for others.
pub(super) fn listening(
    mut cell: CellConfig,
    links: &[FrancLink],
    nodes: &[Expanded<'_>],
) -> CellConfig {
    let helpers = links.iter().flat_map(|link| &link.nodes[link.path..]);
    for helper in helpers {
        let before = &nodes[..helper.node.index()];
        if nodes[helper.node.index()].is_wifi() {
            let station = before.iter().filter(|node| node.is_wifi()).count();
            cell.stations[station].promiscuous = true;
        }
    }
    cell
}

/// Returns the nodes of a link, the path first, with the places of their names.
struct Members<'a> {
    nodes: Vec<usize>,
    places: Vec<&'a Place>,
    path: usize,
}

impl<'a> Members<'a> {
    fn find(raw: &'a RawFranc, names: &Names, problems: &mut Problems) -> Option<Self> {
        let [first, last] = &raw.ends.value;
        let none = Vec::new();
        let relays = raw.relays.as_ref().map_or(&none, |at| &at.value);
        let helpers = raw.helpers.as_ref().map_or(&none, |at| &at.value);
        let place_of =
            |at: &'a Option<At<Vec<String>>>| at.as_ref().map_or(&raw.here, |at| &at.place);
        let (at_relays, at_helpers) = (place_of(&raw.relays), place_of(&raw.helpers));
        let mut all = vec![(first, &raw.ends.place)];
        all.extend(relays.iter().map(|name| (name, at_relays)));
        all.push((last, &raw.ends.place));
        all.extend(helpers.iter().map(|name| (name, at_helpers)));
        if relays.len() > RELAYS_MAX {
            problems.push(at_relays, format!("expected at most {RELAYS_MAX} relays"));
        }
        if helpers.len() > HELPERS_MAX {
            problems.push(at_helpers, format!("expected at most {HELPERS_MAX} helpers"));
        }
        if !relays.is_empty() && !helpers.is_empty() {
            problems.push(at_helpers, "helpers stand beside a link without relays");
        }
        if raw.coding.mode.value == CodingMode::Plain && !helpers.is_empty() {
            problems.push(at_helpers, "helpers need a coded link, and this mode codes nothing");
        }
        let found: Vec<Option<usize>> =
            all.iter().map(|(name, place)| names.find(name, place, problems)).collect();
        let nodes = found.into_iter().collect::<Option<Vec<usize>>>()?;
        let (mut seen, before) = (BTreeSet::new(), problems.len());
        for (node, (name, place)) in nodes.iter().zip(&all) {
            if !seen.insert(node) {
                problems.push(place, format!("{name:?} has two parts in this link"));
            }
        }
        let places = all.iter().map(|(_, place)| *place).collect();
        (before == problems.len()).then_some(Self { nodes, places, path: relays.len() + 2 })
    }

    fn index(&self, node: usize) -> Option<usize> {
        self.nodes.iter().position(|&other| other == node)
    }

    /// Returns the ends and the helpers.
    fn on_hop(&self) -> impl Iterator<Item = usize> {
        let ends = [self.nodes[0], self.nodes[self.path - 1]];
        ends.into_iter().chain(self.nodes[self.path..].iter().copied())
    }

    fn helpers(&self) -> usize {
        self.nodes.len() - self.path
    }
}

/// Returns the second interfaces of the ends, if the link has any and may have them.
fn second(
    raw: &RawFranc,
    members: &Members<'_>,
    names: &Names,
    problems: &mut Problems,
) -> Option<[usize; 2]> {
    let at = raw.second.as_ref()?;
    if members.nodes.len() > 2 {
        problems.push(&at.place, "two links have no relays and no helpers");
    }
    if raw.coding.mode.value != CodingMode::Stream {
        problems.push(&at.place, "two links need mode = \"stream\"");
    }
    let found = at.value.each_ref().map(|name| names.find(name, &at.place, problems));
    let [Some(one), Some(other)] = found else { return None };
    if one == other {
        problems.push(&at.place, format!("{:?} is the interface of both ends", at.value[0]));
    }
    for (node, name) in [one, other].iter().zip(&at.value) {
        if members.index(*node).is_some() {
            problems.push(&at.place, format!("{name:?} has two parts in this link"));
        }
    }
    Some([one, other])
}

/// Returns the number of the node with this index.
fn number(index: usize) -> LinkNode {
    LinkNode(u8::try_from(index + 1).expect("a link has few nodes"))
}

fn link(
    raw: &RawFranc,
    members: &Members<'_>,
    second: Option<[usize; 2]>,
    nodes: &[Expanded<'_>],
    mtus: &[NodeMtu],
    problems: &mut Problems,
) -> Option<FrancLink> {
    if let Some(losses) = &raw.losses
        && raw.coding.mode.value == CodingMode::Plain
    {
        let message = "this key is for mode = \"stream\" and \"paper\" only";
        problems.push(&losses.place, message);
    }
    raw.coding.check(raw.second.is_some(), problems);
    let loss = losses(raw, members, nodes, problems)?;
    let all = members.nodes.iter().chain(second.iter().flatten());
    let narrowest = all.map(|&node| mtus[node].bytes).min()?;
    let name = raw.name.value.0.clone();
    let path = members.path;
    let place = |node: usize, machine| FrancNode { node: node_id(node), machine };
    if raw.coding.mode.value == CodingMode::Plain {
        let packets_max = raw.coding.backlog_packets.value.get();
        let plain = |(index, &node): (usize, &usize)| {
            let loss_from = loss.iter().map(|row| row[index]).collect();
            place(node, FrancMachine::Plain { packets_max, loss_from })
        };
        return Some(FrancLink {
            name,
            nodes: members.nodes.iter().enumerate().map(plain).collect(),
            path,
            mtu: narrowest,
            interface_packets: Some(raw.interface_packets.value.get()),
            second: None,
            outages: Vec::new(),
        });
    }
    let machines: Vec<Config> = (0..members.nodes.len())
        .map(|index| config(raw, members, index, &loss, narrowest, problems))
        .collect();
    for config in &machines {
        if let (Some(at), Mode::Stream { pace: None, .. }) = (&raw.second, config.mode) {
            problems.push(&at.place, "two links need a pace, such as pace = \"5ms\"");
            return None;
        }
        if let Err(why) = config.check() {
            let place = raw.coding.symbol_bytes.as_ref().map_or(&raw.here, |at| &at.place);
            problems.push(place, why.to_string());
            return None;
        }
    }
    let paced = matches!(machines[0].mode, Mode::Stream { pace: Some(_), .. });
    let inner = machines[0].inner_mtu().min(usize::from(narrowest));
    let mtu = u16::try_from(inner).expect("an MTU has 16 bits");
    let both = members.nodes.iter().zip(machines);
    Some(FrancLink {
        name,
        nodes: both
            .map(|(&node, config)| place(node, FrancMachine::Coded(Box::new(config))))
            .collect(),
        path,
        mtu,
        interface_packets: (!paced).then(|| raw.interface_packets.value.get()),
        second: None,
        outages: Vec::new(),
    })
}

/// Losses by injection, by index of the sender and of the receiver.
fn losses(
    raw: &RawFranc,
    members: &Members<'_>,
    nodes: &[Expanded<'_>],
    problems: &mut Problems,
) -> Option<Vec<Vec<Probability>>> {
    let count = members.nodes.len();
    let mut losses = vec![vec![Probability::ZERO; count]; count];
    let mut sound = true;
    for loss in &raw.loss {
        let (from, to) = match (&loss.between, &loss.from, &loss.to) {
            (Some(between), None, None) => {
                let [one, other] = &between.value;
                ((one, &between.place), (other, &between.place))
            }
            (None, Some(from), Some(to)) => ((&from.value, &from.place), (&to.value, &to.place)),
            _ => {
                problems.push(&loss.here, "a loss needs between = [.., ..], or from and to");
                sound = false;
                continue;
            }
        };
        let mut member = |(name, place): (&String, &Place)| {
            let index = (0..count).find(|&index| nodes[members.nodes[index]].name == *name);
            if index.is_none() {
                problems.push(place, format!("{name:?} has no part in this link"));
            }
            index
        };
        let (Some(from), Some(to)) = (member(from), member(to)) else {
            sound = false;
            continue;
        };
        losses[from][to] = loss.loss.value;
        if loss.between.is_some() {
            losses[to][from] = loss.loss.value;
        }
    }
    sound.then_some(losses)
}

/// Returns the machine of the node with this index.
fn config(
    raw: &RawFranc,
    members: &Members<'_>,
    index: usize,
    loss: &[Vec<Probability>],
    mtu: u16,
    problems: &mut Problems,
) -> Config {
    let (path, last) = (members.path, members.path - 1);
    let helpers = members.helpers() as u8;
    let recodes = raw.relaying.value == Relaying::Recode;
    let role = match index {
        _ if index >= path => Role::Helper { between: [number(0), number(last)], helpers },
        0 => Role::End { peer: number(last), via: number(if recodes { 1 } else { last }), helpers },
        _ if index == last => {
            Role::End { peer: number(0), via: number(if recodes { last - 1 } else { 0 }), helpers }
        }
        _ if recodes => Role::Recoder { between: [number(index - 1), number(index + 1)] },
        _ => Role::Forwarder { between: [number(0), number(last)] },
    };
    let mut config = Config::new(number(index), role, Keys::Insecure, mtu);
    config.links = if raw.second.is_some() { 2 } else { 1 };
    raw.coding.configure(&mut config, raw.second.as_ref().map(|_| QUEUE_TARGET), problems);
    // Where somebody codes anew, all symbols leave room for it.
    let role = if helpers > 0 || path > 2 {
        Role::Helper { between: [number(0), number(last)], helpers: 1 }
    } else {
        config.role.clone()
    };
    let fits = Config { role, ..config.clone() }.symbol_bytes_max();
    config.symbol_bytes = raw.coding.symbol_bytes().within(fits);
    let usual = match raw.coding.mode.value {
        CodingMode::Paper => FrancLosses::Given,
        CodingMode::Stream | CodingMode::Plain => FrancLosses::Estimated,
    };
    let is_given = raw.losses.as_ref().map_or(usual, |at| at.value) == FrancLosses::Given;
    config.losses = is_given.then(|| given(members, index, loss));
    // A datagram names its author, not who passed it on.
    let author = |from: usize| {
        if recodes || from >= path {
            from
        } else if from < index {
            0
        } else {
            last
        }
    };
    let heard = (0..members.nodes.len()).filter(|&from| loss[from][index] > Probability::ZERO);
    config.synthetic = heard
        .map(|from| SyntheticLoss { from: number(author(from)), loss: loss[from][index] })
        .collect();
    config
}

/// Returns the losses as seen from a node: an end sends to the other one; a helper helps the first.
/// Two helpers get the mean of both.
fn given(members: &Members<'_>, index: usize, loss: &[Vec<Probability>]) -> Losses {
    let (path, last) = (members.path, members.path - 1);
    let (source, sink) = if index == last { (last, 0) } else { (0, last) };
    let mean = |values: Vec<Probability>| {
        let sum: f64 = values.iter().map(|p| p.as_f64()).sum();
        Probability::new(sum / values.len().max(1) as f64).unwrap_or(Probability::ZERO)
    };
    let helpers = || path..members.nodes.len();
    Losses {
        e1: mean(helpers().map(|helper| loss[source][helper]).collect()),
        e2: mean(helpers().map(|helper| loss[helper][sink]).collect()),
        // Along relays, what the neighbour on the way hears.
        e3: match index {
            _ if path == 2 => loss[source][sink],
            0 => loss[0][1],
            _ if index == last => loss[last][last - 1],
            _ => loss[index][index + 1],
        },
    }
}

fn outages(
    raw: &RawFranc,
    members: &Members<'_>,
    scenario: &RawScenario,
    names: &Names,
    problems: &mut Problems,
) -> Vec<FrancOutage> {
    let duration = scenario.duration.value;
    let mut outages = Vec::new();
    for outage in &raw.outage {
        let Some(part) = dead_part(raw, members, outage, names, problems) else { continue };
        let from = outage.from.value;
        if from >= duration {
            let message = format!("expected less than the duration of {duration}, got {from}");
            problems.push(&outage.from.place, message);
        }
        if let Some(until) = &outage.until
            && until.value <= from
        {
            let message = format!("expected more than {from}, got {}", until.value);
            problems.push(&until.place, message);
        }
        outages.push(FrancOutage {
            part,
            from: Instant::ZERO + from,
            until: outage.until.as_ref().map(|at| Instant::ZERO + at.value),
        });
    }
    outages
}

/// Returns the part of the link that is dead during an outage.
fn dead_part(
    raw: &RawFranc,
    members: &Members<'_>,
    outage: &RawFrancOutage,
    names: &Names,
    problems: &mut Problems,
) -> Option<FrancPart> {
    match (&outage.node, &outage.link) {
        (Some(at), None) => {
            let node = names.find(&at.value, &at.place, problems)?;
            let index = members.index(node);
            if index.is_none() {
                let message = format!("{:?} has no part in this link", at.value);
                problems.push(&at.place, message);
            }
            index.map(FrancPart::Node)
        }
        (None, Some(at)) => {
            if raw.second.is_none() {
                problems.push(&at.place, "there is one link; `second` adds another");
            }
            Some(FrancPart::Link(at.value.get::<u8>() - 1))
        }
        _ => {
            problems.push(&outage.here, "an outage needs either node or link");
            None
        }
    }
}

/// Reports saturated flows at an end: the backlog of a coded link has no interface queue to fill.
fn saturated_at(node: usize, flows: &[Flow], place: &Place, problems: &mut Problems) {
    let is_saturated = |flow: &&Flow| {
        flow.from == node_id(node)
            && matches!(flow.kind, FlowKind::Udp(SourceConfig::Saturated { .. }))
    };
    if let Some(flow) = flows.iter().find(is_saturated) {
        let message = format!(
            "the saturated flow {:?} begins at this node, and a coded link has no queue of an \
             interface to fill; give the flow a rate",
            flow.name
        );
        problems.push(place, message);
    }
}

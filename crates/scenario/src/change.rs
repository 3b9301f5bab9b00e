//! `[[change]]`: changes of a scenario while it runs. Keys are set as by `--set`, in the scenario
//! at that instant. The result is assembled like any scenario, so it is checked and defaults
//! follow; the machines receive the differences. Differences that they cannot apply during a run
//! are errors here.

mod moves;

use crate::assemble;
use crate::raw::{RawChange, RawScenario};
use crate::setting::{Edited, LeftOut, Setting};
use crate::{Scenario, assemble::node_id};
use lasthop_config::error::{Place, Problems};
use lasthop_config::scalar::{At, Scalar};
use lasthop_config::table;
use lasthop_config::tree::join;
use lasthop_config::tree::{Entry, Node, Origin, Value};
use lasthop_net::CableConfig;
use lasthop_net::network::{Change, NetworkConfig};
use lasthop_packet::NodeId;
use lasthop_packet::queue::QueueConfig;
use lasthop_units::Instant;
use lasthop_wifi::StationId;
use lasthop_wifi::cell::{Adjustment, CellConfig, StationConfig};
use lasthop_wifi::mac::rate::RateControlConfig;
use std::sync::Arc;

/// Largest number of keys that all changes of a scenario set; the scenario is assembled anew for
/// each.
pub(crate) const KEYS_MAX: usize = 10_000;

/// Largest number of pairs of radios compared; each key compares all of them.
const PAIRS_MAX: usize = 20_000_000;

/// Keys that may change while a scenario runs.
const ALLOWED: &str = "this cannot change during a run; these can: snr and loss of a [[link]], \
                       position and tx_power of a node, rate, delay, jitter, loss and queue of a \
                       [[wire]], failed of an access point, channel and channel_switch of a [[cell]], and link_use.on, queue, scan, operating_mode, a fixed rate, cw_min and cw_max of a \
                       node";

/// Keys and values of a `[[change]]`. A quoted key is a path as in `--set`, whose value is taken
/// whole; other tables contain further keys.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Settings(pub Vec<(String, Node)>);

impl Scalar for Settings {
    type Value = Self;

    fn allowed() -> String {
        "a table of keys as --set has them, like { \"wire.server-ap.delay\" = \"200ms\" }".into()
    }
    fn read(value: &Value) -> Result<Self, Option<String>> {
        let mut settings = Vec::new();
        match value {
            Value::Table(_) => flatten("", value, &Origin::Absent, &mut settings),
            _ => return Err(None),
        }
        if settings.is_empty() {
            return Err(Some("it sets nothing".into()));
        }
        Ok(Self(settings))
    }
    fn schema() -> schemars::Schema {
        schemars::json_schema!({ "type": "object", "minProperties": 1 })
    }
}

fn flatten(path: &str, value: &Value, origin: &Origin, to: &mut Vec<(String, Node)>) {
    match value {
        Value::Table(entries) => {
            for Entry { key, node, .. } in entries {
                let path = join(path, key);
                if key.contains('.') {
                    to.push((path, node.clone()))
                } else {
                    flatten(&path, &node.value, &node.origin, to)
                }
            }
        }
        plain => to.push((path.into(), Node { value: plain.clone(), origin: origin.clone() })),
    }
}

/// Adds the changes to a scenario that was read from `tree`, without inherited defaults.
pub(crate) fn add(
    scenario: &mut Scenario,
    changes: &[RawChange],
    tree: &Node,
    file: &str,
    problems: &mut Problems,
) {
    if changes.is_empty() || !is_bounded(scenario, changes, problems) {
        return;
    }
    let mut evolved = Evolved::new(scenario, tree, true);
    let mut in_order: Vec<(usize, &RawChange)> = changes.iter().enumerate().collect();
    in_order.sort_by_key(|(_, change)| change.at.value);
    for (index, change) in in_order {
        let At { value: at, place } = &change.at;
        if at.is_zero() || *at >= scenario.duration {
            let duration = scenario.duration;
            let message =
                format!("expected more than 0s and less than the duration of {duration}, got {at}");
            problems.push(place, message);
            continue;
        }
        let place_of = |path: &str, node: &Node| {
            Place::new(format!("change.{index}.set.{path}"), node.origin.clone())
        };
        let found = evolved.set(&change.set.value, &change.set.place, &place_of, file, problems);
        let at = Instant::ZERO + *at;
        scenario.changes.extend(found.into_iter().flatten().map(|change| (at, change)));
    }
    if let Some(cell) = &mut scenario.network.cell {
        cell.senses_vary = evolved.crossed;
    }
    for (_, change) in &scenario.changes {
        let Change::Wire { from, to, .. } = change else { continue };
        for wire in &mut scenario.network.wires {
            let [one, other] = wire.ends;
            let direction = [(one, other), (other, one)].iter().position(|it| it == &(*from, *to));
            if let Some(direction) = direction {
                wire.directions[direction].adjustable = true;
            }
        }
    }
}

impl Scenario {
    /// Returns the scenario with the queues, scans and wires that its changes set until `at`. Other
    /// changes are left out, and no change remains.
    pub fn by(&self, at: Instant) -> Self {
        let mut by = Self { changes: Vec::new(), ..self.clone() };
        for (_, change) in self.changes.iter().take_while(|(when, _)| *when <= at) {
            match change {
                Change::RadioQueue { node, queue, power_save_buffer } => {
                    if let Some(station) = by.station_mut(*node) {
                        (station.queue, station.power_save_buffer) = (*queue, *power_save_buffer);
                    }
                }
                Change::Scan { node, scan } => {
                    if let Some(station) = by.station_mut(*node) {
                        station.scan = *scan;
                    }
                }
                Change::Wire { from, to, config } => {
                    for wire in &mut by.network.wires {
                        let ends = [wire.ends, [wire.ends[1], wire.ends[0]]];
                        if let Some(index) = ends.iter().position(|it| *it == [*from, *to]) {
                            wire.directions[index] = (**config).clone();
                        }
                    }
                }
                Change::Radio { .. }
                | Change::Failure { .. }
                | Change::Links { .. }
                | Change::Channel { .. }
                | Change::OperatingMode { .. }
                | Change::Link { .. } => {}
            }
        }
        by
    }

    fn station_mut(&mut self, node: NodeId) -> Option<&mut StationConfig> {
        let station = self.network.nodes.get(node.index())?.station?;
        self.network.cell.as_mut()?.stations.get_mut(station.index())
    }
}

/// A scenario at some instant of its run.
#[derive(Clone, Debug)]
pub(crate) struct Evolved {
    now: Scenario,
    tree: Node,
    setting: Setting,
    /// Whether nodes may begin or cease to sense each other.
    may_cross: bool,
    /// Whether a change let nodes begin or cease to sense each other.
    crossed: bool,
}

impl Evolved {
    /// Returns the scenario at the beginning of its run, read from `tree`, which does not contain
    /// inherited defaults. Its nodes may begin or cease to sense each other if `may_cross`.
    pub fn new(scenario: &Scenario, tree: &Node, may_cross: bool) -> Self {
        let mut tree = tree.clone();
        if let Value::Table(entries) = &mut tree.value {
            entries.retain(|entry| entry.key != "change" && entry.key != "sweep");
        }
        // As it is assembled: without what is added to it then.
        let mut now = Scenario { changes: Vec::new(), ..scenario.clone() };
        (now.set, now.source_text) = (Vec::new(), String::new());
        let wires = now.network.wires.iter_mut().flat_map(|wire| &mut wire.directions);
        wires.for_each(|direction| direction.adjustable = false);
        if let Some(cell) = &mut now.network.cell {
            cell.senses_vary = false;
        }
        Self { now, tree, setting: Setting::default(), may_cross, crossed: false }
    }

    /// Returns the current scenario.
    pub fn scenario(&self) -> &Scenario {
        &self.now
    }

    /// Returns the current scenario as a file.
    pub fn tree(&self) -> &Node {
        &self.tree
    }

    /// Sets keys, and returns the differences; `None` with a problem. `whole` is the place of all
    /// keys together, `place_of` that of one.
    pub fn set(
        &mut self,
        settings: &Settings,
        whole: &Place,
        place_of: &dyn Fn(&str, &Node) -> Place,
        file: &str,
        problems: &mut Problems,
    ) -> Option<Vec<Change>> {
        let before = self.clone();
        let then = self.put(&settings.0, place_of, file, problems)?;
        let found = differences(&self.now, &then, self.may_cross);
        self.now = then;
        // Which key cannot change, if one alone says so.
        let culprit = |setting: &(String, Node)| {
            let mut alone = before.clone();
            let one = core::slice::from_ref(setting);
            let then = alone.put(one, place_of, file, &mut Problems::default())?;
            differences(&alone.now, &then, before.may_cross)
                .is_err()
                .then(|| place_of(&setting.0, &setting.1))
        };
        match found {
            Ok((found, crosses)) => {
                self.crossed |= crosses;
                Some(found)
            }
            Err(message) => {
                let place = settings.0.iter().find_map(culprit);
                problems.push(&place.unwrap_or_else(|| whole.clone()), message);
                None
            }
        }
    }

    /// Puts values into the current file, and returns the scenario in it; `None` with a problem.
    fn put(
        &mut self,
        settings: &[(String, Node)],
        place_of: &dyn Fn(&str, &Node) -> Place,
        file: &str,
        problems: &mut Problems,
    ) -> Option<Scenario> {
        let (tree, setting) = (self.tree.clone(), self.setting.clone());
        let mut left_out = LeftOut::default();
        loop {
            let mut found = Problems::default();
            let mut named = Vec::new();
            for (index, (path, node)) in settings.iter().enumerate() {
                let mut edited = Edited { tree: &mut self.tree, document: None };
                match self.setting.put(index, path, node, None, &left_out, &mut edited) {
                    Ok(pattern) => named.extend(pattern),
                    Err(message) => found.push(&place_of(path, node), message),
                }
            }
            let is_put = found.is_empty();
            let then = is_put.then(|| assembled(&self.tree, file, &mut found)).flatten();
            if !left_out.add(&named, &found) {
                problems.append(found);
                return then;
            }
            (self.tree, self.setting) = (tree.clone(), setting.clone());
        }
    }
}

fn is_bounded(scenario: &Scenario, changes: &[RawChange], problems: &mut Problems) -> bool {
    let keys: usize = changes.iter().map(|change| change.set.value.0.len()).sum();
    let radios = scenario.network.cell.as_ref().map_or(0, |cell| cell.stations.len());
    let is_bounded = keys <= KEYS_MAX && keys * radios * radios <= PAIRS_MAX;
    if !is_bounded {
        let message = format!(
            "expected at most {KEYS_MAX} keys in all, and {PAIRS_MAX} keys times pairs of radios; \
             got {keys} keys and {radios} radios"
        );
        problems.push(&changes[0].set.place, message);
    }
    is_bounded
}

/// Returns the scenario in `tree`; `None` with a problem.
pub(crate) fn assembled(tree: &Node, file: &str, problems: &mut Problems) -> Option<Scenario> {
    let mut tree = tree.clone();
    let before = problems.len();
    assemble::inherit_defaults(&mut tree, problems);
    let raw = table::read::<RawScenario>(&tree, Place::new("", Origin::Absent), problems);
    let raw = raw.filter(|_| problems.len() == before)?;
    assemble::scenario(&raw, file, problems).filter(|_| problems.len() == before)
}

/// Returns the changes that turn one scenario into the other, and whether nodes begin or cease to
/// sense each other with them.
fn differences(
    now: &Scenario,
    then: &Scenario,
    may_cross: bool,
) -> Result<(Vec<Change>, bool), String> {
    let mut changes = Vec::new();
    let mut crosses = false;
    let mut reached = now.network.clone();
    wires(&mut reached, &then.network, &mut changes)?;
    if let (Some(cell), Some(to)) = (&mut reached.cell, &then.network.cell) {
        devices(cell, to, then, &mut changes);
    }
    let has_devices = reached.cell.as_ref().is_some_and(|cell| !cell.devices.is_empty());
    if has_devices && reached.cell != then.network.cell {
        return Err("radios keep their settings and signals during a run in which nodes have \
                    several links, but for link_use.on"
            .into());
    }
    if !has_devices && let (Some(cell), Some(to)) = (&mut reached.cell, &then.network.cell) {
        let node_of = |station: StationId| node_of(then, station);
        // A station may send at once what a change gives it to send, before the next one is made.
        let mut in_order: Vec<usize> = (0..cell.stations.len().min(to.stations.len())).collect();
        in_order.sort_by_key(|&index| to.stations[index].identity);
        for index in in_order {
            let node = node_of(StationId(index as u16));
            if let (Some(is), Some(shall)) =
                (cell.stations[index].obss_pd, to.stations[index].obss_pd)
                && is.tx_power != shall.tx_power
            {
                return Err("tx_power of a node whose cell has spatial_reuse cannot change while \
                            it runs"
                    .into());
            }
            radio(node, &mut cell.stations[index], &to.stations[index], &mut changes);
        }
        moves::moves(now, then, cell, to, &node_of, &mut changes)?;
        crosses = links(cell, to, may_cross, &node_of, &mut changes)?;
    }
    // Whatever is not among the changes must be what it was.
    let reached = Scenario {
        network: reached,
        switches: then.switches.clone(),
        changes: then.changes.clone(),
        ..now.clone()
    };
    if reached == *then { Ok((changes, crosses)) } else { Err(ALLOWED.into()) }
}

fn node_of(scenario: &Scenario, station: StationId) -> NodeId {
    let nodes = &scenario.network.nodes;
    let index = nodes.iter().position(|node| node.station == Some(station));
    node_id(index.expect("stations are of nodes"))
}

/// Adds the changes of links that are switched off.
fn devices(now: &mut CellConfig, then: &CellConfig, of: &Scenario, changes: &mut Vec<Change>) {
    for (is, shall) in now.devices.iter_mut().zip(&then.devices) {
        if is.off != shall.off && is.links == shall.links {
            is.off = shall.off;
            changes.push(Change::Links { node: node_of(of, shall.links[0]), off: shall.off });
        }
    }
}

fn wires(
    now: &mut NetworkConfig,
    then: &NetworkConfig,
    changes: &mut Vec<Change>,
) -> Result<(), String> {
    for (wire, to) in now.wires.iter_mut().zip(&then.wires) {
        let [one, other] = wire.ends;
        for (direction, (from, at)) in [(one, other), (other, one)].into_iter().enumerate() {
            let (is, shall) = (&mut wire.directions[direction], &to.directions[direction]);
            if is == shall {
                continue;
            }
            if is.rate != shall.rate && !shall.rate_changes.is_empty() {
                return Err("its rate follows rate_changes already".into());
            }
            if is.rate.is_none() != shall.rate.is_none() {
                return Err("a rate stays a rate while it runs, and \"off\" stays off".into());
            }
            let CableConfig {
                rate,
                rate_changes: _,
                rate_repeat: _,
                delay,
                jitter,
                reorder: _,
                queue,
                loss,
                adjustable: _,
                is_interface: _,
            } = shall.clone();
            *is = CableConfig { rate, delay, jitter, queue, loss, ..is.clone() };
            let config = Box::new(shall.clone());
            changes.push(Change::Wire { from, to: at, config });
        }
    }
    Ok(())
}

/// Changes of a radio, except for its links.
fn radio(node: NodeId, now: &mut StationConfig, then: &StationConfig, changes: &mut Vec<Change>) {
    let power_save_buffer = then.power_save_buffer;
    if (now.queue, now.power_save_buffer) != (then.queue, power_save_buffer) {
        let adjusted = adjusted(now.queue, then.queue);
        changes.push(match adjusted.filter(|_| now.power_save_buffer == power_save_buffer) {
            Some(what) => Change::Radio { node, what },
            None => Change::RadioQueue { node, queue: then.queue, power_save_buffer },
        });
        (now.queue, now.power_save_buffer) = (then.queue, power_save_buffer);
    }
    if now.rate_control != then.rate_control
        && let RateControlConfig::Fixed { rate } = then.rate_control
    {
        changes.push(Change::Radio { node, what: Adjustment::Rate(rate) });
        now.rate_control = then.rate_control.clone();
    }
    if now.operating_mode != then.operating_mode {
        let mode = then.operating_mode.unwrap_or_else(|| then.capabilities.operating_mode());
        changes.push(Change::OperatingMode { node, mode });
        now.operating_mode = then.operating_mode;
    }
    if now.failed != then.failed {
        changes.push(Change::Failure { node, failed: then.failed });
        now.failed = then.failed;
    }
    if now.scan != then.scan {
        changes.push(Change::Scan { node, scan: then.scan });
        now.scan = then.scan;
    }
    for category in lasthop_packet::AccessCategory::ALL {
        let index = category.index();
        let (is, shall) = (&mut now.access[index], &then.access[index]);
        if (is.cw_min, is.cw_max) != (shall.cw_min, shall.cw_max) {
            (is.cw_min, is.cw_max) = (shall.cw_min, shall.cw_max);
            let what = Adjustment::ContentionWindow {
                access_category: category,
                cw_min: shall.cw_min,
                cw_max: shall.cw_max,
            };
            changes.push(Change::Radio { node, what });
        }
    }
}

/// Returns the change of a queue that disturbs it least, if there is one besides replacing it.
fn adjusted(now: QueueConfig, then: QueueConfig) -> Option<Adjustment> {
    let packets = then.packets_max(1);
    if now.with_packets_max(packets) == Some(then) {
        return Some(Adjustment::QueuePackets(packets));
    }
    let target = match then {
        QueueConfig::CoDel { target, .. } | QueueConfig::FqCodel { target, .. } => target,
        QueueConfig::DualPi2 { pi2, .. } => pi2.target,
        _ => return None,
    };
    (now.with_target(target) == Some(then)).then_some(Adjustment::QueueTarget(target))
}

/// Adds the changes of links; returns whether nodes begin or cease to sense each other with them.
fn links(
    now: &mut CellConfig,
    then: &CellConfig,
    may_cross: bool,
    node_of: &dyn Fn(StationId) -> NodeId,
    changes: &mut Vec<Change>,
) -> Result<bool, String> {
    if now.links == then.links && now.movement == then.movement {
        return Ok(false);
    }
    let are_same = match (&now.movement, &then.movement) {
        (None, None) => true,
        (Some(one), Some(other)) => one.tracks == other.tracks,
        _ => false,
    };
    if !are_same {
        return Err("a position cannot change during a run in which nodes move; give the node \
                    waypoints"
            .into());
    }
    let follows = |cell: &CellConfig, from: StationId, to: StationId| {
        cell.movement.as_ref().is_some_and(|movement| movement.follows(from, to))
    };
    let mut crosses = false;
    for pair in then.links.iter() {
        let (from, to) = (pair.from, pair.to);
        let Some(is) = now.links.pair(from, to) else { return Err(ALLOWED.into()) };
        let shall_follow = follows(then, from, to);
        if is == pair && follows(now, from, to) == shall_follow {
            continue;
        }
        let (snr, loss) = (pair.link.snr, pair.link.loss);
        if !pair.snr_changes.is_empty() || !is.snr_changes.is_empty() {
            return Err("its signal-to-noise ratio follows snr_changes already".into());
        }
        let reached = lasthop_wifi::phy::LinkConfig { snr, loss, ..is.link };
        if reached != pair.link {
            return Err(ALLOWED.into());
        }
        let sense = now.carrier_sense;
        if is.link.is_sensed(is.link.snr, sense) != is.link.is_sensed(snr, sense) {
            if !may_cross {
                return Err(format!(
                    "whether two nodes sense each other (channel.carrier_sense = \"{sense}\") \
                     cannot change in a run that began without such changes; for an outage give \
                     the link a loss of 1"
                ));
            }
            crosses = true;
        }
        let (from, to) = (node_of(from), node_of(to));
        changes.push(Change::Link { from, to, snr, loss, follows: shall_follow });
    }
    // Each link of it was looked at.
    (now.links, now.movement) = (Arc::clone(&then.links), then.movement.clone());
    Ok(crosses)
}

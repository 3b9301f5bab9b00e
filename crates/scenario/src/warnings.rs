//! Warnings about sound scenarios with likely mistakes: links of the cell without reception, and
//! nodes without a path. Shadowing and fading are left out: a link is judged at its mean, as in
//! [`Scenario::network`], at the best one if it changes or a node moves. In an independent cell only nodes at the
//! ends of a flow are checked.

use crate::Scenario;
use lasthop_packet::NodeId;
use lasthop_units::{Db, Instant};
use lasthop_wifi::StationId;
use lasthop_wifi::cell::{CellConfig, Movement, PairConfig, Role, StationConfig, distance};
use lasthop_wifi::mac::rate::RateControlConfig;
use lasthop_wifi::phy::Rate;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Length of a short packet, for which links are judged.
const MPDU_BYTES: u32 = 100;
/// Share of packets below which a link counts as missing.
const SUCCESS_MIN: f64 = 0.1;

impl Scenario {
    /// Returns warnings about surprising results, one sentence each.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = self.lonely();
        if let Some(cell) = &self.network.cell {
            let ends = self.ends_in_use(cell).into_iter();
            let pairs = ends.filter_map(|(from, to)| cell.links.pair(from, to));
            warnings.extend(pairs.filter_map(|pair| self.too_weak(cell, &pair)));
        }
        warnings
    }

    /// Returns nodes without a radio and without a wire, beside others.
    fn lonely(&self) -> Vec<String> {
        let wires = &self.network.wires;
        let is_wired =
            |node: usize| wires.iter().any(|wire| wire.ends.iter().any(|end| end.index() == node));
        let lonely = |(index, node): (usize, &crate::Node)| {
            let is_lonely = self.nodes.len() > 1 && !node.role.is_wifi() && !is_wired(index);
            is_lonely
                .then(|| format!("{} reaches no other node: no [[wire]] leads there", node.name))
        };
        self.nodes.iter().enumerate().filter_map(lonely).collect()
    }

    /// Pairs of sender and receiver with frames, in ascending order.
    fn ends_in_use(&self, cell: &CellConfig) -> BTreeSet<(StationId, StationId)> {
        let mut ends = BTreeSet::new();
        if cell.independent {
            let station = |node: NodeId| self.network.nodes[node.index()].station;
            for flow in &self.flows {
                if let Some((from, to)) = station(flow.from).zip(station(flow.to)) {
                    ends.extend([(from, to), (to, from)]);
                }
            }
        } else {
            let stations = || (0..).map(StationId).zip(&cell.stations);
            for (access_point, at) in
                stations().filter(|(_, station)| station.role == Role::AccessPoint)
            {
                let members = stations().filter(|(_, station)| station.bss == at.bss);
                ends.extend(members.flat_map(|(to, _)| [(access_point, to), (to, access_point)]));
            }
        }
        ends
    }

    fn node_of(&self, station: StationId) -> Option<usize> {
        self.network.nodes.iter().position(|node| node.station == Some(station))
    }

    fn too_weak(&self, cell: &CellConfig, pair: &PairConfig) -> Option<String> {
        if pair.link.loss.is_some() {
            return None;
        }
        let changes = pair.snr_changes.iter().map(|change| change.snr.0);
        let nearest = self.nearest(cell, pair).0;
        let (snr, rate) = (changes.fold(nearest, f64::max), lowest_rate(cell, pair)?);
        let success = cell.error_model.success(rate, Db(snr), MPDU_BYTES).as_f64();
        let name =
            |station| self.node_of(station).map_or("?", |node| self.nodes[node].name.as_str());
        let Db(needed) = cell.error_model.sensitivity_snr(rate, 0.1, MPDU_BYTES);
        (success < SUCCESS_MIN).then(|| {
            format!(
                "{} -> {}: almost no frame arrives: the signal-to-noise ratio is {snr:.1} dB, \
                 and the lowest rate in use, {} Mb/s, needs {needed:.1} dB",
                name(pair.from),
                name(pair.to),
                rate.bitrate().as_mbps_f64()
            )
        })
    }

    /// The best mean SNR of a link whose ends move, up to the time between two looks.
    fn nearest(&self, cell: &CellConfig, pair: &PairConfig) -> Db {
        const LOOKS: u64 = 1_000;
        let follows = |movement: &&Arc<Movement>| movement.follows(pair.from, pair.to);
        let Some(movement) = cell.movement.as_ref().filter(follows) else { return pair.link.snr };
        let [one, other] = [pair.from, pair.to].map(|id| &movement.tracks[id.index()]);
        let loss = |look: u64| {
            let at = Instant::ZERO + self.duration / LOOKS * look;
            movement.path_loss.at(distance(one.position(at), other.position(at)))
        };
        let least = (0..=LOOKS).map(|look| loss(look).0).fold(f64::INFINITY, f64::min);
        pair.link.snr + loss(0) - Db(least)
    }
}

/// Returns the lowest rate at which the sender may send to the receiver.
fn lowest_rate(cell: &CellConfig, pair: &PairConfig) -> Option<Rate> {
    let config = |station: StationId| -> &StationConfig { &cell.stations[station.index()] };
    let (from, to) = (config(pair.from), config(pair.to));
    match from.rate_control_towards(pair.to) {
        RateControlConfig::Fixed { rate } => Some(rate),
        _ => {
            let common =
                from.capabilities.rates.iter().filter(|rate| to.capabilities.rates.contains(rate));
            common.copied().min_by_key(|rate| rate.bitrate())
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::parse;

    const CELL: &str = r#"
[[node]]
name = "ap"
role = "access-point"
[[node]]
name = "near"
role = "station"
[[node]]
name = "far"
role = "station"
position = ["0m", "10m"]
"#;

    fn warnings(sets: &[&str]) -> Vec<String> {
        let sets: Vec<String> = sets.iter().map(|&set| set.into()).collect();
        parse("cell.toml", CELL, &sets).unwrap_or_else(|why| panic!("{why}")).warnings()
    }

    #[test]
    fn a_link_over_which_nothing_comes_is_named() {
        assert_eq!(warnings(&[]), [""; 0]);
        let far = warnings(&["node.far.position=[\"0m\", \"5km\"]"]);
        assert_eq!(far.len(), 2, "{far:?}");
        assert!(far[0].starts_with("ap -> far: almost no frame arrives"), "{far:?}");
        assert!(far[1].starts_with("far -> ap: "), "{far:?}");
        assert!(far[0].contains("the lowest rate in use, 6.5 Mb/s, needs"), "{far:?}");
    }

    #[test]
    fn a_host_without_a_wire_is_named() {
        let text = format!("{CELL}[[node]]\nname = \"server\"\nrole = \"host\"\n");
        let scenario = parse("cell.toml", &text, &[]).unwrap_or_else(|why| panic!("{why}"));
        assert_eq!(scenario.warnings(), ["server reaches no other node: no [[wire]] leads there"]);
        let wired = format!("{text}[[wire]]\nbetween = [\"server\", \"ap\"]\n");
        let scenario = parse("cell.toml", &wired, &[]).unwrap_or_else(|why| panic!("{why}"));
        assert_eq!(scenario.warnings(), [""; 0]);
    }

    #[test]
    fn a_fixed_rate_is_judged_by_itself() {
        let link = "link=[{ between = [\"ap\", \"far\"], snr = \"12dB\" }]";
        assert_eq!(warnings(&[link]), [""; 0]);
        let fixed = "node.far.rate_control={ kind = \"fixed\", mcs = 7 }";
        let weak = warnings(&[link, fixed]);
        assert!(weak.len() == 1 && weak[0].starts_with("far -> ap: "), "{weak:?}");
        let better = "link=[{ between = [\"ap\", \"far\"], snr = \"12dB\", snr_changes = \
                      [{ from = \"2s\", snr = \"30dB\" }, { from = \"4s\", snr = \"9dB\" }] }]";
        assert_eq!(warnings(&[better, fixed]), [""; 0]);
        // A given loss asks for no ratio.
        let lossy = "link=[{ between = [\"ap\", \"far\"], loss = 0.5 }]";
        assert_eq!(warnings(&[lossy, fixed]), [""; 0]);
    }
}

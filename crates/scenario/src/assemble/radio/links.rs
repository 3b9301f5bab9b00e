//! Links of all pairs of nodes: from the channel and positions, or from a `[[link]]`, whose SNR may
//! change during the run. Where nodes move, the links are those at the beginning, and all follow
//! the positions that neither a `[[link]]` nor a neighbour's level gives.

use super::{Common, Heard, Names, Place, Problems, RawScenario, WifiNode, fading, movement};
use crate::assemble::change_at;
use crate::raw::RawLink;
use lasthop_units::{Db, Dbm, Duration, Instant, Meters, Probability};
use lasthop_wifi::StationId;
use lasthop_wifi::cell::{Links, Movement, PairConfig};
use lasthop_wifi::phy::{Fading, LinkConfig, SnrChange};
use std::collections::BTreeSet;

/// Largest number of pairs that all links together may name, where each change of an SNR counts as
/// a pair: each of the 1024 nodes with a radio with each other, four times over.
const PAIRS_MAX: usize = 1 << 22;

/// Settings of a `[[link]]` for one direction.
#[derive(Clone, Copy)]
enum GivenSignal {
    Snr(Db),
    PathLoss(Db),
    Loss(Probability),
    Nothing,
}

/// Links of all pairs of stations.
pub(super) struct Pairs {
    /// The link of every ordered pair, from the channel or the last matching `[[link]]`.
    pub links: Links,
    /// Pairs with drawn shadowing.
    pub shadowed: Vec<(StationId, StationId)>,
    /// Movement of the stations, if any moves.
    pub movement: Option<Movement>,
}

/// Returns the links of all pairs.
pub(super) fn pairs(
    raw: &RawScenario,
    wifi: &[WifiNode<'_>],
    names: &Names,
    heard: &Heard,
    common: &Common,
    problems: &mut Problems,
) -> Pairs {
    let changes: Vec<Vec<SnrChange>> =
        raw.link.iter().map(|link| snr_changes(link, raw, problems)).collect();
    let given = given(&raw.link, wifi, names, problems);
    let tracks = movement::tracks(wifi, problems);
    let moves: Vec<bool> = tracks.iter().map(|track| track.moves()).collect();
    let places = tracks.iter().map(|track| track.position(Instant::ZERO).map(|it| it.0));
    let places: Vec<[f64; 2]> = places.collect();
    let powers: Vec<Dbm> = wifi.iter().map(|(_, node)| node.raw.settings.tx_power.value).collect();
    let propagation = common.propagation;
    let usual = propagation.link_with_snr(Db(0.0));
    let mut links = Links::none(wifi.len());
    let mut shadowed = Vec::new();
    let mut fixed = BTreeSet::new();
    let mut add = |from: usize, to: usize, path_loss: Db| {
        let mut fix = || {
            if moves[from] || moves[to] {
                fixed.insert((station_id(from), station_id(to)));
            }
        };
        if let Some(path_loss) = heard.path_loss(wifi[from].0, wifi[to].0) {
            fix();
            // What is known of a neighbour is a level: it does not vary.
            let snr = powers[from] - path_loss - usual.noise;
            let link = LinkConfig { snr, fading: Fading::None, ..usual };
            links.add_steady(station_id(from), station_id(to), &link);
            return;
        }
        let given = given.last(from, to);
        let ends = (station_id(from), station_id(to));
        if given.is_some_and(|given| !matches!(given.what, GivenSignal::Nothing)) {
            fix();
        }
        let snr = match given.map(|given| given.what) {
            Some(GivenSignal::Snr(snr)) => snr,
            Some(GivenSignal::PathLoss(loss)) => powers[from] - loss - usual.noise,
            Some(GivenSignal::Loss(_)) => usual.snr,
            Some(GivenSignal::Nothing) | None => {
                if propagation.shadowing != Db(0.0) {
                    shadowed.push(ends);
                }
                powers[from] - path_loss - usual.noise
            }
        };
        let link = match given {
            Some(GivenLink { what: GivenSignal::Loss(loss), .. }) => {
                propagation.link_with_loss(loss)
            }
            Some(GivenLink { fading: Some(fading), .. }) => LinkConfig { snr, fading, ..usual },
            _ => LinkConfig { snr, ..usual },
        };
        match given.map(|given| &changes[given.number]).filter(|changes| !changes.is_empty()) {
            None => links.add_steady(ends.0, ends.1, &link),
            Some(changes) => {
                let snr_changes = changes.clone();
                links.add(PairConfig { from: ends.0, to: ends.1, link, snr_changes });
            }
        }
    };
    for (one, here) in places.iter().enumerate() {
        for (other, there) in places.iter().enumerate().skip(one + 1) {
            let distance = Meters((here[0] - there[0]).hypot(here[1] - there[1]));
            let path_loss = propagation.path_loss.at(distance);
            add(one, other, path_loss);
            add(other, one, path_loss);
        }
    }
    let path_loss = propagation.path_loss;
    let movement = moves.contains(&true).then_some(Movement { path_loss, tracks, fixed });
    Pairs { links, shadowed, movement }
}

/// Returns the changes of a link's SNR; reports impossible ones.
fn snr_changes(link: &RawLink, raw: &RawScenario, problems: &mut Problems) -> Vec<SnrChange> {
    let mut last = Duration::ZERO;
    let mut changes = Vec::new();
    for change in &link.snr_changes {
        if link.snr.is_none() {
            problems.push(&change.snr.place, "which ratio changes? add snr to this link");
        }
        let at = change_at(&change.from, &mut last, raw.duration.value, problems);
        changes.push(SnrChange { at, snr: change.snr.value });
    }
    changes
}

fn station_id(index: usize) -> StationId {
    StationId(u16::try_from(index).expect("there are at most NODES_MAX stations"))
}

/// Settings of all `[[link]]`s by pair of stations.
struct GivenPairs {
    said: Vec<GivenLink>,
    stations: usize,
    /// By sender * stations + receiver: 1 + the index of the settings, or 0; empty without links.
    places: Vec<u32>,
}

/// Settings of a `[[link]]`, and its number.
#[derive(Clone, Copy)]
struct GivenLink {
    what: GivenSignal,
    fading: Option<Fading>,
    number: usize,
}

impl GivenPairs {
    /// Returns the last settings for a pair.
    fn last(&self, from: usize, to: usize) -> Option<GivenLink> {
        let place = self.places.get(from * self.stations + to)?.checked_sub(1)?;
        Some(self.said[place as usize])
    }

    /// Assigns the last settings to this pair.
    fn insert(&mut self, from: usize, to: usize) {
        self.places.resize(self.stations * self.stations, 0);
        self.places[from * self.stations + to] = self.said.len() as u32;
    }
}

fn given(
    links: &[RawLink],
    wifi: &[WifiNode<'_>],
    names: &Names,
    problems: &mut Problems,
) -> GivenPairs {
    let mut given = GivenPairs { said: Vec::new(), stations: wifi.len(), places: Vec::new() };
    let mut named = 0;
    for (number, link) in links.iter().enumerate() {
        let loss = link.loss.as_ref().map(|loss| loss.value.0);
        let is_off = loss == Some(None);
        let what = match (&link.snr, &link.path_loss, loss.flatten()) {
            (Some(snr), None, None) => GivenSignal::Snr(snr.value),
            (None, Some(path_loss), None) => GivenSignal::PathLoss(path_loss.value),
            (None, None, Some(loss)) => GivenSignal::Loss(loss),
            (None, None, None) if link.fading.is_some() || is_off => GivenSignal::Nothing,
            (None, None, None) => {
                problems.push(&link.here, "this link is empty: add snr, path_loss, loss or fading");
                continue;
            }
            _ => {
                problems.push(&link.here, "a link has one of snr, path_loss and loss, not several");
                continue;
            }
        };
        let fading = link.fading.as_ref().map(|raw| {
            if let GivenSignal::Loss(_) = what {
                problems.push(&raw.here, "a link with a fixed loss does not fade");
            }
            fading(raw, problems)
        });
        let ends = match (&link.between, &link.from, &link.to) {
            (Some(between), None, None) => {
                let [one, other] = &between.value;
                Some(((one, &between.place), (other, &between.place)))
            }
            (None, Some(from), Some(to)) => {
                Some(((&from.value, &from.place), (&to.value, &to.place)))
            }
            _ => None,
        };
        let Some((from, to)) = ends else {
            problems.push(&link.here, "a link needs between = [.., ..], or from and to");
            continue;
        };
        let from = stations(from.0, from.1, wifi, names, problems);
        let to_place = to.1;
        let to = stations(to.0, to.1, wifi, names, problems);
        named += from.len() * to.len() * (1 + link.snr_changes.len());
        if named > PAIRS_MAX {
            let message = format!(
                "expected at most {PAIRS_MAX} pairs of nodes and changes of theirs in all links, \
                 got more"
            );
            problems.push(&link.here, message);
            return given;
        }
        given.said.push(GivenLink { what, fading, number });
        let mut any = from.is_empty() || to.is_empty();
        for &from in &from {
            for &to in to.iter().filter(|&&to| to != from) {
                any = true;
                given.insert(from, to);
                if link.between.is_some() {
                    given.insert(to, from);
                }
            }
        }
        if !any {
            problems.push(to_place, "a link needs two different nodes");
        }
    }
    given
}

/// Returns the stations that match a name or pattern.
pub(super) fn stations(
    pattern: &str,
    place: &Place,
    wifi: &[WifiNode<'_>],
    names: &Names,
    problems: &mut Problems,
) -> Vec<usize> {
    let mut stations = Vec::new();
    for index in names.find_all(pattern, place, problems) {
        match wifi.iter().position(|(other, _)| *other == index) {
            Some(station) => stations.push(station),
            None if pattern.contains('*') => {}
            None => problems.push(place, format!("{pattern:?} has no radio")),
        }
    }
    stations
}

//! `[[cell]]`: common settings of the nodes of a basic service set: BSS colours, for sets without
//! one an unused colour, as access points choose it, and levels of spatial reuse (IEEE
//! 802.11ax-2021, 26.10.2), in dBm.

use super::{WifiNode, channels};
use crate::raw::{RawCell, RawScenario};
use lasthop_config::error::{Place, Problems};
use lasthop_config::scalar::{At, Whole};
use lasthop_units::Dbm;
use lasthop_wifi::BssId;
use lasthop_wifi::cell::{ObssPd, OperatingChannel, StationConfig};
use lasthop_wifi::phy::{Band, Standard};
use std::collections::{BTreeMap, BTreeSet};

/// Gives each node the settings of its set. Colours, by [`BssId`], are empty if no PPDU shows them;
/// channels are empty if the file has none.
pub(super) fn apply(
    raw: &RawScenario,
    wifi: &[WifiNode<'_>],
    sets: &[BssId],
    band: Band,
    stations: &mut [StationConfig],
    problems: &mut Problems,
) -> (Vec<u8>, Vec<OperatingChannel>) {
    let of_names: BTreeMap<Option<&str>, BssId> =
        wifi.iter().map(|(_, node)| node.bss()).zip(sets.iter().copied()).collect();
    let cells = cells(raw, &of_names, problems);
    let standard = raw.channel.standard.value;
    for cell in &raw.cell {
        check(cell, raw, problems);
    }
    if standard.is_he() {
        check_generation(&cells, stations, problems);
    }
    for (index, station) in stations.iter_mut().enumerate() {
        let level = cells.get(&sets[index]).and_then(|cell| level_of(cell));
        let settings = &wifi[index].1.raw.settings;
        // Older stations of the set know no colours.
        let can = standard.is_he() && station.capabilities.is_he_or_later();
        station.obss_pd = level.filter(|_| can).map(|level| ObssPd {
            level,
            tx_power: settings.tx_power.value,
            tx_power_reference: ObssPd::tx_power_reference(
                station.role,
                settings.streams.value.get(),
            ),
        });
    }
    for colour in raw.neighbour.iter().filter_map(|neighbour| neighbour.colour.as_ref()) {
        check_colours(&colour.place, "a BSS colour needs", raw, problems);
    }
    let is_said = raw.cell.iter().any(|cell| cell.colour.is_some() || level_of(cell).is_some())
        || raw.neighbour.iter().any(|neighbour| neighbour.colour.is_some());
    let colours = match standard {
        Standard::Dot11ax => colours(raw, &of_names, &cells),
        // Without a key none makes a difference.
        Standard::Dot11be if is_said => colours(raw, &of_names, &cells),
        _ => Vec::new(),
    };
    (colours, channels::of_sets(raw, &of_names, &cells, band, &*stations, problems))
}

/// Returns the cells of the file by set; reports those without a set, and second ones of a set.
fn cells<'a>(
    raw: &'a RawScenario,
    of_names: &BTreeMap<Option<&str>, BssId>,
    problems: &mut Problems,
) -> BTreeMap<BssId, &'a RawCell> {
    let mut seen = BTreeSet::new();
    let mut cells = BTreeMap::new();
    for cell in &raw.cell {
        let name = cell.name.as_ref().map(|at| at.value.0.as_str());
        let place = cell.name.as_ref().map_or(&cell.here, |at| &at.place);
        if !seen.insert(name) {
            let message = match name {
                Some(name) => format!("there are two cells called {name:?}"),
                None => "there are two cells without a name".to_owned(),
            };
            problems.push(place, message);
            continue;
        }
        match of_names.get(&name) {
            Some(&set) => _ = cells.insert(set, cell),
            None => {
                let known: Vec<String> = of_names
                    .keys()
                    // Those of neighbours have names that no node can have.
                    .filter(|name| !name.is_some_and(|name| name.contains(':')))
                    .map(|name| match name {
                        Some(name) => format!("{name:?}"),
                        None => "the one without a name".to_owned(),
                    })
                    .collect();
                let message = match name {
                    Some(name) => format!("no node has bss = {name:?}; there are bss = "),
                    None => "every node has a bss, so this cell needs a name: one of ".to_owned(),
                };
                problems.push(place, message + &known.join(", "));
            }
        }
    }
    cells
}

/// Reports keys that a cell cannot have.
fn check(cell: &RawCell, raw: &RawScenario, problems: &mut Problems) {
    let level = &cell.spatial_reuse.level;
    if let Some(colour) = &cell.colour {
        check_colours(&colour.place, "a BSS colour needs", raw, problems);
    }
    if level.value.0.is_some() {
        check_colours(&level.place, "spatial reuse needs", raw, problems);
    }
    let Some(dbm) = level.value.0 else { return };
    if !(ObssPd::LEVEL_MIN.0..=ObssPd::LEVEL_MAX.0).contains(&dbm.0) {
        let message = format!(
            "expected {} to {}, or \"off\", got {dbm}",
            ObssPd::LEVEL_MIN,
            ObssPd::LEVEL_MAX
        );
        problems.push(&level.place, message);
    }
    if cell.colour.as_ref().is_some_and(|colour| colour.value.0 == 0) {
        let message = "without a colour PPDUs of other sets are not recognised; \
                       take another colour than 0, or no spatial_reuse";
        problems.push(&level.place, message);
    }
    if raw.channel.independent.value {
        let message = "an independent cell has no other set whose PPDUs it could ignore";
        problems.push(&level.place, message);
    }
}

/// Reports a key about colours that the standard does not have, or that devices of several links
/// lack.
fn check_colours(place: &Place, needs: &str, raw: &RawScenario, problems: &mut Problems) {
    let standard = raw.channel.standard.value;
    if !standard.is_he() {
        problems.push(place, format!("{needs} 802.11ax or 802.11be, not {standard}"));
    } else if !raw.channel.link.is_empty() {
        let message = format!("{needs} one link: it is not modelled with a [[channel.link]]");
        problems.push(place, message);
    }
}

/// Reports keys of 802.11ax and 802.11be at sets without such nodes.
fn check_generation(
    cells: &BTreeMap<BssId, &RawCell>,
    stations: &[StationConfig],
    problems: &mut Problems,
) {
    for (&set, cell) in cells {
        let mut members = stations.iter().filter(|it| it.bss == set);
        if members.any(|it| it.capabilities.is_he_or_later()) {
            continue;
        }
        if let Some(colour) = cell.colour.as_ref().filter(|colour| colour.value.0 > 0) {
            let message = "a BSS colour needs 802.11ax or 802.11be, and no node of this set has it";
            problems.push(&colour.place, message);
        }
        if level_of(cell).is_some() {
            let message =
                "spatial reuse needs 802.11ax or 802.11be, and no node of this set has it";
            problems.push(&cell.spatial_reuse.level.place, message);
        }
    }
}

fn level_of(cell: &RawCell) -> Option<Dbm> {
    cell.spatial_reuse.level.value.0
}

/// Returns the colours of all sets: the given ones, and for the others, in the order of their
/// names, the lowest unused one. Neither a further set nor another order in the file gives two sets
/// the same colour.
fn colours(
    raw: &RawScenario,
    of_names: &BTreeMap<Option<&str>, BssId>,
    cells: &BTreeMap<BssId, &RawCell>,
) -> Vec<u8> {
    let whole = |at: &At<Whole<0, 63>>| at.value.get::<u8>();
    let neighbours: BTreeMap<String, Option<u8>> = raw
        .neighbour
        .iter()
        .map(|it| (format!("{}:", it.name.value.0), it.colour.as_ref().map(whole)))
        .collect();
    let given = |name: Option<&str>, set: BssId| match name.and_then(|it| neighbours.get(it)) {
        Some(colour) => *colour,
        None => cells.get(&set).and_then(|cell| cell.colour.as_ref().map(whole)),
    };
    let mut colours = vec![0; of_names.len()];
    let taken: BTreeSet<u8> =
        of_names.iter().filter_map(|(name, &set)| given(*name, set)).collect();
    let mut left: Vec<u8> = (1..=63).filter(|colour| !taken.contains(colour)).collect();
    if left.is_empty() {
        left = (1..=63).collect();
    }
    let mut left = left.into_iter().cycle();
    let is_neighbours = |name: &Option<&str>| name.is_some_and(|it| neighbours.contains_key(it));
    let mut in_order: Vec<(bool, Option<&str>, BssId)> =
        of_names.iter().map(|(name, &set)| (is_neighbours(name), *name, set)).collect();
    in_order.sort_unstable();
    for (_, name, set) in in_order {
        let colour = given(name, set).or_else(|| left.next());
        colours[set.index()] = colour.unwrap_or(0);
    }
    colours
}

//! `channel` and `bandwidth` of `[[cell]]` and `[[neighbour]]`: the place of each set in its band
//! (IEEE 802.11-2020, annex E). Numbers are those of primary channels of 20 MHz. Left out: partly
//! overlapping channels, which are common at 2.4 GHz.

use super::puncturing;
use crate::raw::{BandwidthKind, RawCell, RawScenario};
use lasthop_config::error::{Place, Problems};
use lasthop_config::scalar::{At, Whole};
use lasthop_wifi::BssId;
use lasthop_wifi::cell::{BandwidthAccess, OperatingChannel, StationConfig};
use lasthop_wifi::phy::{Band, ChannelWidth, Puncturing, Subchannel};
use std::collections::BTreeMap;

/// A channel number of the file.
pub(super) type Given = At<Whole<1, 233>>;

/// Returns the channels by [`BssId`]; empty if the file has none.
pub(super) fn of_sets(
    raw: &RawScenario,
    of_names: &BTreeMap<Option<&str>, BssId>,
    cells: &BTreeMap<BssId, &RawCell>,
    band: Band,
    stations: &[StationConfig],
    problems: &mut Problems,
) -> Vec<OperatingChannel> {
    let mut given: BTreeMap<BssId, &Given> = BTreeMap::new();
    for (&set, cell) in cells {
        let switch = cell.channel_switch.as_ref().filter(|switch| switch.radar.value);
        let fled = switch.map(|switch| &switch.radar_channel);
        given.extend(fled.or(cell.channel.as_ref()).map(|at| (set, at)));
    }
    for neighbour in &raw.neighbour {
        let name = format!("{}:", neighbour.name.value.0);
        let set = of_names.get(&Some(name.as_str()));
        match (set, &neighbour.channel) {
            (Some(&set), Some(at)) => _ = given.insert(set, at),
            // One that is off says what exists, too.
            (None, Some(at)) => _ = primary(at, band, problems),
            (_, None) => {}
        }
    }
    let is_said = |cell: &&RawCell| {
        cell.bandwidth.value != BandwidthKind::Dynamic
            || cell.channel_switch.is_some()
            || cell.punctured.is_some()
    };
    if given.is_empty() && !cells.values().any(is_said) {
        return Vec::new();
    }
    let mut found: BTreeMap<BssId, Subchannel> = BTreeMap::new();
    for (&set, at) in &given {
        let Some(primary) = primary(at, band, problems) else { continue };
        check_width(&at.place, band, primary, set, stations, problems);
        found.insert(set, primary);
    }
    if band == Band::Ghz2_4 {
        check_overlaps(&given, stations, problems);
    }
    // The nodes without a bss, or the first set by name.
    let first = of_names.iter().find(|(name, _)| !is_neighbour(name)).map(|(_, set)| set);
    let first = first.and_then(|set| found.get(set)).copied().unwrap_or_default();
    for neighbour in raw.neighbour.iter().filter(|neighbour| neighbour.channel.is_none()) {
        let name = format!("{}:", neighbour.name.value.0);
        if let Some(&set) = of_names.get(&Some(name.as_str())) {
            check_width(&neighbour.here, band, first, set, stations, problems);
        }
    }
    let mut channels = vec![OperatingChannel::default(); of_names.len()];
    for (name, &set) in of_names {
        let usual = if is_neighbour(name) { first } else { Subchannel::default() };
        let access = match cells.get(&set).map(|cell| cell.bandwidth.value) {
            None | Some(BandwidthKind::Dynamic) => BandwidthAccess::Dynamic,
            Some(BandwidthKind::Static) => BandwidthAccess::Static,
        };
        let primary = found.get(&set).copied().unwrap_or(usual);
        let puncturing = cells.get(&set).map_or(Puncturing::NONE, |cell| {
            puncturing::of_cell(cell, raw, band, primary, set, stations, problems)
        });
        channels[set.index()] = OperatingChannel { primary, access, puncturing };
    }
    channels
}

/// Whether a set of this name is a neighbour's: nodes of the file cannot have such a name.
pub(super) fn is_neighbour(name: &Option<&str>) -> bool {
    name.is_some_and(|name| name.ends_with(':'))
}

/// Reports a number that the band does not have.
pub(super) fn primary(at: &Given, band: Band, problems: &mut Problems) -> Option<Subchannel> {
    let number: u8 = at.value.get();
    let found = Subchannel::from_number(band, number);
    if found.is_none() {
        let known: Vec<String> = match band {
            Band::Ghz6 => ["1", "5", "9", ".. 233"].map(str::to_owned).to_vec(),
            _ => Subchannel::numbers(band).map(|number| number.to_string()).collect(),
        };
        let message = format!("{band} has the channels {}, not {number}", known.join(", "));
        problems.push(&at.place, message);
    }
    found
}

/// Reports a channel that is not part of one as wide as the nodes of its set.
fn check_width(
    place: &Place,
    band: Band,
    primary: Subchannel,
    set: BssId,
    stations: &[StationConfig],
    problems: &mut Problems,
) {
    let widths = stations.iter().filter(|it| it.bss == set).map(|it| it.capabilities.width());
    let most = primary.widest(band);
    if let Some(width) = widths.max().filter(|width| *width > most) {
        let is_fit = |number: &u8| {
            Subchannel::from_number(band, *number).is_some_and(|it| it.widest(band) >= width)
        };
        let fit: Vec<String> =
            Subchannel::numbers(band).filter(is_fit).map(|number| number.to_string()).collect();
        let message = format!(
            "channel {} is part of none that is wider than {most}, and nodes of this set have \
             {width}; give them less, or take one of {}",
            primary.number(band),
            fit.join(", ")
        );
        problems.push(place, message);
    }
}

/// Reports channels of 2.4 GHz that overlap in part.
fn check_overlaps(
    given: &BTreeMap<BssId, &Given>,
    stations: &[StationConfig],
    problems: &mut Problems,
) {
    let number = |at: &Given| at.value.get::<u8>();
    let is_wide = stations.iter().any(|it| it.capabilities.width() > ChannelWidth::Mhz20);
    let is_on_grid = |number: u8| matches!(number, 5 | 9 | 13);
    let other: Option<&Place> =
        given.values().find(|at| is_on_grid(number(at))).map(|at| &at.place);
    for at in given.values().filter(|at| matches!(number(at), 6 | 11)) {
        if is_wide || other.is_some() {
            let message = "channels that overlap in part are not modelled: take 1, 6 and 11, all \
                           of 20MHz, or 1, 5, 9 and 13";
            problems.push(&at.place, message);
        }
    }
}

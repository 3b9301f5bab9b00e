//! `punctured` of `[[cell]]`: channels of 20 MHz that an access point of 802.11be announces as
//! disabled (Disabled Subchannel Bitmap; IEEE 802.11be-2024, 9.4.2.321), so that no PPDU of its set
//! is there. Patterns are those of table 36-30. Left out: puncturing by what is busy.

use super::{Problems, WifiNode};
use crate::raw::{RawCell, RawScenario};
use lasthop_wifi::BssId;
use lasthop_wifi::cell::{CellConfig, Role, StationConfig};
use lasthop_wifi::mac::rate::RateControlConfig;
use lasthop_wifi::phy::{Band, ChannelWidth, Puncturing, Subchannel};

/// Returns the punctured part of the channel of this cell's set.
pub(super) fn of_cell(
    cell: &RawCell,
    raw: &RawScenario,
    band: Band,
    primary: Subchannel,
    set: BssId,
    stations: &[StationConfig],
    problems: &mut Problems,
) -> Puncturing {
    let Some(at) = &cell.punctured else { return Puncturing::NONE };
    let is_its = |it: &&StationConfig| it.bss == set && it.role == Role::AccessPoint;
    let Some(access_point) = stations.iter().find(is_its) else { return Puncturing::NONE };
    let capabilities = &access_point.capabilities;
    let place = &at.place;
    if !capabilities.is_eht() {
        let message = "punctured channels need 802.11be, and the access point of this set is older";
        problems.push(place, message);
        return Puncturing::NONE;
    }
    let is_elsewhere =
        !raw.channel.link.is_empty() || cell.channel_switch.is_some() || cell.network.is_some();
    if is_elsewhere {
        let message = "punctured channels are not modelled with a [[channel.link]], channel_switch \
                       or network";
        problems.push(place, message);
        return Puncturing::NONE;
    }
    let width = capabilities.width();
    if width < ChannelWidth::Mhz80 {
        let message =
            format!("80MHz, 160MHz and 320MHz can be punctured, and this set has {width}");
        problems.push(place, message);
        return Puncturing::NONE;
    }
    let mut bits = 0_u16;
    for number in &at.value {
        let number: u8 = number.get();
        let channel = Subchannel::from_number(band, number);
        match channel.filter(|it| it.shares(primary, width)) {
            Some(channel) => bits |= 1 << channel.place_in(width),
            None => {
                let all = 0..(width.as_hz() / 20_000_000) as u8;
                let all = all.map(|place| primary.at_place(place, width).number(band).to_string());
                let message = format!(
                    "expected channels of the set's {width}: {}; got {number}",
                    all.collect::<Vec<_>>().join(", ")
                );
                problems.push(place, message);
                return Puncturing::NONE;
            }
        }
    }
    let own = 1 << primary.place_in(width);
    match Puncturing::of_subchannels(bits, width) {
        Some(puncturing) if bits & own == 0 => puncturing,
        _ => {
            let all = (1..=24).filter_map(|value| Puncturing::new(value, width));
            let all = all.map(|it| it.subchannels(width)).filter(|bits| bits & own == 0);
            let names = all.map(|bits| pattern(bits, primary, width, band));
            let message = format!(
                "no PPDU of {width} with primary channel {} leaves this out; expected one of {}",
                primary.number(band),
                names.collect::<Vec<_>>().join(", ")
            );
            problems.push(place, message);
            Puncturing::NONE
        }
    }
}

/// A pattern as the file has it: `[44, 48]`.
fn pattern(bits: u16, primary: Subchannel, width: ChannelWidth, band: Band) -> String {
    let places = (0..16).filter(|place| bits >> place & 1 == 1);
    let numbers = places.map(|place| primary.at_place(place, width).number(band).to_string());
    format!("[{}]", numbers.collect::<Vec<_>>().join(", "))
}

/// Punctures the rates of all nodes; reports fixed rates that have no such form.
pub(super) fn apply(wifi: &[WifiNode<'_>], cell: &mut CellConfig, problems: &mut Problems) {
    if cell.channels.iter().all(|channel| channel.puncturing.is_none()) {
        return;
    }
    cell.puncture();
    for ((_, node), station) in wifi.iter().zip(&cell.stations) {
        let RateControlConfig::Fixed { rate } = station.rate_control else { continue };
        let is_its = !cell.channel_of(station.bss).puncturing.is_none();
        if !is_its || station.capabilities.rates.contains(&rate) {
            continue;
        }
        let older = cell.stations.iter().filter(|it| it.bss == station.bss);
        let older = older.flat_map(|it| &it.capabilities.rates).filter(|rate| !rate.is_eht());
        let width = older.map(|rate| rate.width()).max().unwrap_or(ChannelWidth::Mhz20);
        let message = format!(
            "no PPDU at this fixed rate leaves the punctured channels out; expected MCS 0 to 13 or \
             15 of 802.11be, or up to {width} of an older standard"
        );
        problems.push(&node.raw.settings.rate_control.here, message);
    }
}

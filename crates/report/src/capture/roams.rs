//! Changes of stations between access points as a table, with their phases in ms.

use crate::table::{Column, number, text, value};
use lasthop_capture::document::RoamSummary;

/// Columns of the table.
pub const COLUMNS: [Column; 11] = [
    text("station"),
    text("from"),
    text("to"),
    number("", "at s"),
    text("result"),
    number("without", "data, ms"),
    number("ms", "search"),
    number("ms", "authentication"),
    number("ms", "association"),
    number("ms", "keys"),
    number("ms", "first data"),
];

/// Number of columns before the first one with numbers only.
pub const NAMES: usize = 3;

/// Returns a row for each roam.
pub fn rows(roams: &[RoamSummary]) -> Vec<Vec<String>> {
    let place = |address: &str, channel: Option<u8>| match channel {
        Some(channel) => format!("{address} ({channel})"),
        None => address.to_owned(),
    };
    let ms = |time: Option<f64>| time.map_or(String::new(), value);
    let row = |roam: &RoamSummary| {
        let phases = &roam.phases;
        vec![
            roam.station.clone(),
            place(&roam.from, roam.from_channel),
            place(&roam.to, roam.to_channel),
            value(roam.from_s),
            roam.result.clone(),
            ms(roam.without_data_ms),
            ms(phases.search_ms),
            ms(phases.authentication_ms),
            ms(phases.association_ms),
            ms(phases.keys_ms),
            ms(phases.data_ms),
        ]
    };
    roams.iter().map(row).collect()
}

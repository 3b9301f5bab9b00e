//! Tables as text on a stream: those of `report`.

use crate::console::Stream;
pub use lasthop_report::table::{
    Column, alone, count, counted, many, number, percent, text, value, wrapped,
};

/// Formats the table with a limited number of rows; empty without rows. Columns in which every cell
/// is empty are left out.
pub fn render(columns: &[Column], rows: &[Vec<String>], stream: Stream) -> String {
    lasthop_report::table::render(columns, rows, stream.style())
}

/// Formats the table with all rows.
pub fn render_all(columns: &[Column], rows: &[Vec<String>], stream: Stream) -> String {
    lasthop_report::table::render_all(columns, rows, stream.style())
}

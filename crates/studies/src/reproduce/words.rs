//! Quantities as text, for terminals and pages. Numbers have about three significant
//! digits, whole ones all of theirs; units are left out, because tables have a column
//! for them.

use crate::reproduce::figure::{Ours, Quantity, Statement};
use crate::reproduce::number::number;
use lasthop_figures::plot::Span;

impl Quantity {
    /// Returns the paper's value, without the unit.
    pub fn paper_text(&self) -> String {
        match self.paper {
            Statement::Value(value) => number(value),
            Statement::Range(from, to) => range(from, to),
            Statement::Example(value) => format!("{}, once", number(value)),
            Statement::Text(text) => text.to_owned(),
        }
    }

    /// Returns our value, without the unit: with half the interval of its mean, or in square brackets
    /// with the least and the greatest of several seeds.
    pub fn ours_text(&self) -> String {
        match self.ours {
            Ours::Value(value) => match (self.interval, self.spread) {
                (Some(half), _) if half >= 0.0005 => {
                    format!("{} \u{b1} {}", number(value), number(half))
                }
                (_, Some(spread)) => {
                    format!("{} [{}]", number(value), range(spread.from, spread.to))
                }
                _ => number(value),
            },
            Ours::Range(from, to) => range(from, to),
            Ours::Shown(true) => "shown".to_owned(),
            Ours::Shown(false) => "not shown".to_owned(),
        }
    }

    /// The difference between ours and the paper in percent: from the number that the
    /// paper states, else, if ours is outside the band, from its nearer end. Empty in
    /// other cases.
    pub fn off_text(&self) -> String {
        let Ours::Value(ours) = self.ours else { return String::new() };
        let Span { from: least, to: most } = self.band;
        let from = match self.paper {
            Statement::Value(value) => value,
            _ if ours < least => least,
            _ if ours > most => most,
            _ => return String::new(),
        };
        let off = ours - from;
        if from == 0.0 { signed(off) } else { format!("{} %", signed(100.0 * off / from.abs())) }
    }

    /// The values that agree with the paper, without the unit; empty for
    /// [`Ours::Shown`].
    pub fn band_text(&self) -> String {
        let Span { from: least, to: most } = self.band;
        if matches!(self.paper, Statement::Example(_)) {
            return "among ours".to_owned();
        }
        match (least.is_finite(), most.is_finite()) {
            (true, true) => range(least, most),
            (true, false) => format!("\u{2265} {}", number(least)),
            (false, true) => format!("\u{2264} {}", number(most)),
            (false, false) => String::new(),
        }
    }
}

/// The name of a figure from its id: `fig3` is `Figure 3`, `table1` is `Table 1`, any
/// other id gets a capital.
pub fn figure_name(id: &str) -> String {
    for (short, long) in [("fig", "Figure"), ("table", "Table")] {
        if let Some(number) =
            id.strip_prefix(short).filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
        {
            return format!("{long} {number}");
        }
    }
    let mut letters = id.chars();
    letters.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(letters).collect()
}

/// Whether the id is that of a figure or table of the paper. Others go beyond it.
pub fn is_of_paper(id: &str) -> bool {
    ["fig", "table"].iter().any(|start| id.starts_with(start))
}

fn signed(value: f64) -> String {
    // Zero has no sign.
    let rounded = (10.0 * value).round() / 10.0 + 0.0;
    let sign = if rounded > 0.0 { "+" } else { "" };
    format!("{sign}{}", number(rounded))
}

fn range(from: f64, to: f64) -> String {
    format!("{}\u{2013}{}", number(from), number(to))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bands_have_one_or_two_sides() {
        let text = |band| Quantity::value("", "", Statement::Value(1.0), 1.0, band).band_text();
        assert_eq!(text((122.0, 150.0)), "122\u{2013}150");
        assert_eq!(text((850.0, f64::INFINITY)), "\u{2265} 850");
        assert_eq!(text((f64::NEG_INFINITY, 250.0)), "\u{2264} 250");
        assert_eq!(Quantity::shown("", "it falls", true).band_text(), "");
    }

    #[test]
    fn how_far_ours_is() {
        let of = |paper, ours, band| Quantity::value("", "", paper, ours, band).off_text();
        let open = f64::INFINITY;
        assert_eq!(of(Statement::Value(100.0), 98.0, (90.0, 110.0)), "\u{2212}2 %");
        assert_eq!(of(Statement::Value(120.0), 119.999, (90.0, 130.0)), "0 %");
        assert_eq!(of(Statement::Value(0.0), 3.0, (0.0, 0.0)), "+3");
        assert_eq!(of(Statement::Text("more than 66"), 65.34, (66.0, open)), "\u{2212}1 %");
        assert_eq!(of(Statement::Text("more than 66"), 70.0, (66.0, open)), "");
        assert_eq!(Quantity::example("", "", 1.8, (1.0, 2.0)).off_text(), "");
    }

    #[test]
    fn figures_have_long_names() {
        let names = ["fig3", "table1", "schedule", "fig8b"].map(figure_name);
        assert_eq!(names, ["Figure 3", "Table 1", "Schedule", "Figure 8b"]);
    }
}

//! Tables as text: words left-aligned, numbers right-aligned, two spaces between
//! columns. A header has two lines; the upper one, with quantity and unit, spans
//! neighbours that share it. Long tables are cut.

use crate::style::Style;

/// Largest number of rows in a table.
const ROWS_MAX: usize = 40;
/// Indentation of every line.
const INDENT: &str = "  ";

/// A column: its header and its alignment.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// Upper line of the header: quantity and unit.
    pub group: &'static str,
    /// Lower line of the header.
    pub name: &'static str,
    /// Whether the column has text, left-aligned, instead of numbers, right-aligned.
    pub is_text: bool,
}

/// Returns a column of text.
pub const fn text(name: &'static str) -> Column {
    Column { group: "", name, is_text: true }
}

/// Returns a column of numbers.
pub const fn number(group: &'static str, name: &'static str) -> Column {
    Column { group, name, is_text: false }
}

/// Formats the table with at most `ROWS_MAX` rows; empty without rows. Columns in which every cell
/// is empty are left out.
pub fn render(columns: &[Column], rows: &[Vec<String>], style: Style) -> String {
    let mut out = render_all(columns, &rows[..rows.len().min(ROWS_MAX)], style);
    if rows.len() > ROWS_MAX {
        let more = format!("and {} more; --json has all", rows.len() - ROWS_MAX);
        out.push_str(INDENT);
        out.push_str(&style.dim(&more));
        out.push('\n');
    }
    out
}

/// Formats the table with all rows.
pub fn render_all(columns: &[Column], rows: &[Vec<String>], style: Style) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let used: Vec<usize> = (0..columns.len())
        .filter(|&column| rows.iter().any(|row| !row[column].is_empty()))
        .collect();
    let mut widths: Vec<usize> = used
        .iter()
        .map(|&column| {
            let cells = rows.iter().map(|row| length(&row[column]));
            cells.max().unwrap_or(0).max(length(columns[column].name))
        })
        .collect();
    let groups = groups(columns, &used);
    for &(group, from, to) in &groups {
        let inside: usize = widths[from..to].iter().sum::<usize>() + 2 * (to - from - 1);
        widths[to - 1] += length(group).saturating_sub(inside);
    }

    let mut upper = String::new();
    for &(group, from, to) in &groups {
        let inside: usize = widths[from..to].iter().sum::<usize>() + 2 * (to - from - 1);
        // Over a single column of numbers it is right-aligned, as they are.
        let is_alone = to - from == 1 && !columns[used[from]].is_text;
        upper.push_str(&cell(group, inside, !is_alone));
        upper.push_str("  ");
    }
    let line = |values: &mut dyn Iterator<Item = (usize, &str)>| {
        let mut line = String::new();
        for (index, value) in values {
            line.push_str(&cell(value, widths[index], columns[used[index]].is_text));
            line.push_str("  ");
        }
        line
    };
    let mut out = String::new();
    let mut push = |line: &str, paint: &dyn Fn(&str) -> String| {
        out.push_str(INDENT);
        out.push_str(&paint(line.trim_end()));
        out.push('\n');
    };
    let header = |text: &str| style.dim(text);
    if !upper.trim().is_empty() {
        push(&upper, &header);
    }
    push(&line(&mut used.iter().map(|&column| columns[column].name).enumerate()), &header);
    for row in rows {
        push(
            &line(&mut used.iter().map(|&column| row[column].as_str()).enumerate()),
            &str::to_owned,
        );
    }
    out
}

/// Returns neighbouring columns with the same group: the group, its first column and the one after
/// its last.
fn groups(columns: &[Column], used: &[usize]) -> Vec<(&'static str, usize, usize)> {
    let mut groups: Vec<(&'static str, usize, usize)> = Vec::new();
    for (index, &column) in used.iter().enumerate() {
        let group = columns[column].group;
        match groups.last_mut() {
            Some((last, _, to)) if *last == group && !group.is_empty() => *to = index + 1,
            _ => groups.push((group, index, index + 1)),
        }
    }
    groups
}

fn cell(text: &str, width: usize, is_left: bool) -> String {
    let padding = " ".repeat(width.saturating_sub(length(text)));
    if is_left { format!("{text}{padding}") } else { format!("{padding}{text}") }
}

fn length(text: &str) -> usize {
    text.chars().count()
}

/// Breaks a text into lines of at most `width` columns, the first behind `head`, others indented as
/// far.
pub fn wrapped(head: &str, text: &str, width: usize) -> String {
    let mut out = head.to_owned();
    let mut column = head.len();
    for (index, word) in text.split_whitespace().enumerate() {
        let length = word.chars().count();
        if index > 0 && column + 1 + length > width {
            out.push('\n');
            out.push_str(&" ".repeat(head.len()));
            column = head.len();
        } else if index > 0 {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += length;
    }
    out.push('\n');
    out
}

/// Formats a number with about four digits.
pub fn value(number: f64) -> String {
    let bounds: &[f64] = if number == 0.0 { &[] } else { &[999.5, 99.95, 0.9995] };
    lasthop_figures::text::number(number, bounds)
}

/// Formats a number with about four digits, without decimals if it is whole.
pub fn alone(number: f64) -> String {
    if number.fract() == 0.0 { format!("{number:.0}") } else { value(number) }
}

/// Formats a fraction as percent, without the sign.
pub fn percent(fraction: f64) -> String {
    value(100.0 * fraction)
}

/// Formats a number of things, whose plural ends in an s.
pub fn counted(number: usize, one: &str) -> String {
    format!("{number} {one}{}", if number == 1 { "" } else { "s" })
}

/// Formats a number of things with its digits in groups of three.
pub fn many(number: u64, one: &str) -> String {
    format!("{} {one}{}", count(number), if number == 1 { "" } else { "s" })
}

/// Formats a whole number with its digits in groups of three.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(' ');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_no_plural() {
        assert_eq!([0, 1, 2].map(|n| counted(n, "run")), ["0 runs", "1 run", "2 runs"]);
        assert_eq!([1, 1_234].map(|n| many(n, "frame")), ["1 frame", "1 234 frames"]);
    }

    #[test]
    fn columns_are_aligned_and_empty_ones_left_out() {
        let columns = [
            text("flow"),
            number("goodput Mb/s", ""),
            number("delay ms", "p50"),
            number("delay ms", "p95"),
        ];
        let row = |cells: [&str; 4]| cells.map(str::to_owned).to_vec();
        let rows = [row(["up", "59.2", "1", "2"]), row(["a longer name", "1", "", "10"])];
        let table = render(&columns, &rows, Style::PLAIN);
        assert_eq!(
            table,
            "                 goodput Mb/s  delay ms\n\
             \x20 flow                         p50  p95\n\
             \x20 up                     59.2    1    2\n\
             \x20 a longer name             1        10\n"
        );
        let rows = [row(["up", "", "", "2"])];
        assert_eq!(
            render(&columns, &rows, Style::PLAIN),
            "        delay ms\n  flow       p95\n  up           2\n"
        );
    }

    #[test]
    fn numbers_are_short() {
        let all = [0.0, 0.01234, 1.5, 59.214, 123.45, 1893.2];
        assert_eq!(all.map(value), ["0", "0.012", "1.50", "59.21", "123.5", "1893"]);
        assert_eq!([12.0, 12.5].map(alone), ["12", "12.50"]);
        assert_eq!(count(1_234_567), "1 234 567");
        assert_eq!(count(12), "12");
    }
}

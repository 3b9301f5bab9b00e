//! Tables of figures with verdicts, as Markdown: a heading, a text, rows and notes.
//! Cells are text; their units are in the names of the columns. The last column is
//! always the verdict.

use crate::Verdict;
use std::fmt::Write as _;

/// A row: a cell for each column, and a verdict.
pub type Row = (Vec<String>, Verdict);

/// A table with its heading and notes.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// The heading, of the second level.
    pub title: &'static str,
    /// Description of the experiment and of the target.
    pub text: String,
    /// The names of the columns, without the last one, which has the verdicts.
    pub columns: Vec<&'static str>,
    /// The rows, from top to bottom.
    pub rows: Vec<Row>,
    /// Explanations below the table.
    pub notes: Vec<String>,
}

impl Table {
    /// The number of rows with `verdict`.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.rows.iter().filter(|row| row.1 == verdict).count()
    }

    /// Returns the table as Markdown, under a heading of the second level.
    pub fn markdown(&self) -> String {
        let mut out = format!("## {}\n\n{}\n\n", self.title, self.text);
        let mut header: Vec<String> = self.columns.iter().map(|&name| name.into()).collect();
        header.push("verdict".into());
        let rows = self.rows.iter().map(|(cells, verdict)| {
            let mut cells = cells.clone();
            cells.push(verdict.markdown().into());
            cells
        });
        let rows: Vec<_> = std::iter::once(header).chain(rows).collect();
        let width = |column: usize| {
            rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default()
        };
        let widths: Vec<_> = (0..rows[0].len()).map(width).collect();
        for (index, row) in rows.iter().enumerate() {
            line(&mut out, row, &widths);
            if index == 0 {
                let rules: Vec<_> = widths.iter().map(|&width| "-".repeat(width)).collect();
                line(&mut out, &rules, &widths);
            }
        }
        for note in &self.notes {
            let _ = write!(out, "\n{note}\n");
        }
        out
    }
}

fn line(out: &mut String, cells: &[String], widths: &[usize]) {
    out.push('|');
    for (cell, width) in cells.iter().zip(widths) {
        let _ = write!(out, " {cell:width$} |");
    }
    out.push('\n');
}

/// The ratio of `ours` to `theirs`, with four decimals.
pub fn ratio(ours: f64, theirs: f64) -> String {
    format!("{:.4}", ours / theirs)
}

/// Whether `ours` differs from `theirs` by at most `share` of it.
pub fn is_within(ours: f64, theirs: f64, share: f64) -> bool {
    (ours / theirs - 1.0).abs() <= share
}

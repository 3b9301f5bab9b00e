//! The files of a report, as `lasthop reproduce --out` writes them: plots, pages, JSON. Each
//! is made when it is asked for; who writes it decides where.

use crate::reproduce::report::Report;
use crate::reproduce::run::Outcome;
use crate::reproduce::{markdown, page, plot_name};
use lasthop_figures::plot;

/// Returns name and content of every file: `KEY-FIGURE.svg` and `KEY-FIGURE.png` of each
/// figure, `index.html`, `KEY.html`, `KEY.md` and `KEY.csv` of each paper, and `reproduce.json`,
/// which has `report`.
pub fn files(outcomes: &[Outcome], report: &Report) -> impl Iterator<Item = (String, Vec<u8>)> {
    type Make = fn(&[plot::Panel]) -> Vec<u8>;
    let kinds: [(&str, Make); 2] =
        [("svg", |panels| plot::svg(panels).into_bytes()), ("png", plot::png)];
    let plots = outcomes.iter().flat_map(move |outcome| {
        let name = plot_name(outcome);
        kinds.map(|(end, make)| (format!("{name}.{end}"), make(&outcome.findings.panels)))
    });
    let pages = [page::pages, markdown::pages].into_iter().flat_map(move |make| make(outcomes));
    let pages = pages.map(|(name, text)| (name, text.into_bytes()));
    let json =
        std::iter::once_with(|| ("reproduce.json".to_owned(), report.to_json().into_bytes()));
    plots.chain(pages).chain(json)
}

//! Markdown pages, one per paper: its statements and what tests them, the quantities of
//! each figure with the difference from ours and the reason, and the calibrated
//! parameters. Those in `docs/reproduce` are made here; a test compares everything that
//! needs no long runs.

use crate::figure::{Claim, Paper, Quantity, Tested};
use crate::page::Page;
use crate::papers::PAPERS;
use crate::run::Outcome;
use crate::words::figure_name;
use lasthop_evidence::Verdict;
use std::fmt::Write;

/// Returns the page `KEY.md` of every paper with outcomes.
pub fn pages(outcomes: &[Outcome]) -> Vec<Page> {
    let of = |paper: &Paper| -> Vec<&Outcome> {
        outcomes.iter().filter(|outcome| outcome.paper.key == paper.key).collect()
    };
    let papers = PAPERS.into_iter().map(|paper| (paper, of(paper)));
    let papers = papers.filter(|(_, outcomes)| !outcomes.is_empty());
    papers.map(|(paper, outcomes)| (format!("{}.md", paper.key), page(paper, &outcomes))).collect()
}

fn page(paper: &Paper, outcomes: &[&Outcome]) -> String {
    let mut out = format!("# {}\n\n", paper.title);
    let quantities = || outcomes.iter().flat_map(|outcome| &outcome.findings.quantities);
    let passed = quantities().filter(|quantity| quantity.verdict() == Verdict::Pass).count();
    let _ = write!(
        out,
        "{}\n\n{}\n\nMade by `lasthop reproduce {} --out DIR`, which writes it as `DIR/{}.md`; not \
         to be edited. {passed} of {} quantities agree.\n\n",
        paper.source,
        paper.setting,
        paper.key,
        paper.key,
        quantities().count()
    );
    out.push_str("## What the paper states\n\n| where | what | tested by |\n|---|---|---|\n");
    for claim in paper.claims {
        let _ = writeln!(out, "{} {} |", claim_row(claim), cell(&tested_by(claim, outcomes)));
    }
    for outcome in outcomes {
        let _ = write!(out, "\n{}", figure(outcome));
    }
    out.push_str("\n## Calibrated parameters\n\n");
    out.push_str("What the paper does not give. One set for all of its figures.\n\n");
    out.push_str("| key | value | why |\n|---|---|---|\n");
    for parameter in paper.calibrated {
        let [key, value, reason] = [parameter.key, parameter.value, parameter.reason].map(cell);
        let _ = writeln!(out, "| `{key}` | `{value}` | {reason} |");
    }
    out
}

/// The part of the row of a statement that needs no run.
fn claim_row(claim: &Claim) -> String {
    format!("| {} | {} |", cell(claim.place), cell(claim.says))
}

/// The quantities that test a statement, with their verdicts, or the reason why none
/// does.
fn tested_by(claim: &Claim, outcomes: &[&Outcome]) -> String {
    let by = match claim.tested {
        Tested::No(why) => return format!("nothing. {why}"),
        Tested::By(by) => by,
    };
    let named = |&(id, begin): &(&str, &str)| {
        let outcome = outcomes.iter().find(|outcome| outcome.figure.id == id);
        let Some(outcome) = outcome else { return format!("{}: not made", figure_name(id)) };
        let of = |quantity: &&Quantity| quantity.name.starts_with(begin);
        let matching = outcome.findings.quantities.iter().filter(of);
        let each = matching.map(|q| format!("{} ({})", q.name, verdict(q)));
        format!("{}: {}", figure_name(id), each.collect::<Vec<_>>().join(", "))
    };
    by.iter().map(named).collect::<Vec<_>>().join("; ")
}

/// The heading of a figure, what it shows, its table, and the reasons of failures.
fn figure(outcome: &Outcome) -> String {
    let figure = outcome.figure;
    let mut out = figure_head(figure);
    out.push_str("\n| quantity | unit | paper | ours | off by | band | verdict |\n");
    out.push_str("|---|---|---|---|---|---|---|\n");
    for quantity in &outcome.findings.quantities {
        let texts = [
            quantity.name.clone(),
            quantity.unit.to_owned(),
            quantity.paper_text(),
            quantity.ours_text(),
            quantity.off_text(),
            quantity.band_text(),
            verdict(quantity).to_owned(),
        ];
        let _ = writeln!(out, "| {} |", texts.map(|text| cell(&text)).join(" | "));
    }
    let failing =
        outcome.findings.quantities.iter().filter(|quantity| quantity.verdict() == Verdict::Fail);
    for (index, quantity) in failing.enumerate() {
        let why = quantity.because.unwrap_or("Why is unknown.");
        let blank = if index == 0 { "\n" } else { "" };
        let _ = writeln!(out, "{blank}- {}: {}", cell(&quantity.name), cell(why));
    }
    out
}

fn figure_head(figure: &crate::figure::Figure) -> String {
    format!("## {}: {}\n\n{}\n", figure_name(figure.id), cell(figure.title), cell(figure.shows))
}

fn verdict(quantity: &Quantity) -> &'static str {
    quantity.verdict().markdown()
}

/// Escapes text for the cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::papers::select;
    use crate::{LEFT_OPEN, Statement, reproduce};
    use std::collections::BTreeSet;
    use std::sync::atomic::AtomicBool;

    /// The page in `docs/reproduce`.
    fn documented(key: &str) -> String {
        let path = format!("{}/../../docs/reproduce/{key}.md", env!("CARGO_MANIFEST_DIR"));
        std::fs::read_to_string(&path).unwrap_or_else(|why| panic!("{path}: {why}"))
    }

    /// Name, unit and statement of the paper, from the rows of a figure.
    fn rows(page: &str, id: &str) -> Vec<[String; 3]> {
        let heading = format!("## {}: ", figure_name(id));
        let section = page.split("\n## ").find(|part| format!("## {part}").starts_with(&heading));
        let section = section.unwrap_or_else(|| panic!("no {heading}"));
        let table = section.lines().filter(|line| line.starts_with("| ")).skip(1);
        let cells = |line: &str| {
            let mut cells = line.trim_matches('|').split(" | ").map(|cell| cell.trim().to_owned());
            std::array::from_fn(|_| cells.next().unwrap_or_default())
        };
        table.map(cells).collect()
    }

    #[test]
    fn what_is_documented_is_what_the_program_says() {
        for paper in PAPERS {
            let page = documented(paper.key);
            for claim in paper.claims {
                assert!(page.contains(&claim_row(claim)), "{}: {}", paper.key, claim.says);
                if let Tested::No(why) = claim.tested {
                    assert!(page.contains(&cell(why)), "{}: {why}", paper.key);
                }
            }
            for figure in paper.figures {
                assert!(page.contains(&figure_head(figure)), "{}/{}", paper.key, figure.id);
            }
            for parameter in paper.calibrated {
                let row = format!("| `{}` | `{}` |", parameter.key, parameter.value);
                assert!(page.contains(&row), "{}: {row}", paper.key);
            }
            let headings = page.matches("\n## ").count();
            assert_eq!(headings, paper.figures.len() + 2, "{}: figures that are gone", paper.key);
            let table = page.split("\n## ").nth(1).expect("it is the first");
            let claims = table.lines().filter(|line| line.starts_with("| ")).count() - 1;
            assert_eq!(claims, paper.claims.len(), "{}: statements that are gone", paper.key);
        }
    }

    /// Every statement that names a quantity has one, and every quantity belongs to a
    /// statement unless the paper leaves it open.
    #[test]
    fn statements_and_quantities_belong_together() {
        for paper in PAPERS {
            let page = documented(paper.key);
            let mut named = BTreeSet::new();
            for claim in paper.claims {
                let Tested::By(by) = claim.tested else { continue };
                for (id, begin) in by {
                    let begin = cell(begin);
                    let rows = rows(&page, id);
                    let mut matching = rows.iter().filter(|[name, ..]| name.starts_with(&begin));
                    assert!(matching.clone().count() > 0, "{}/{id}: {begin}", paper.key);
                    named.extend(matching.by_ref().map(|[name, ..]| (*id, name.clone())));
                }
            }
            for figure in paper.figures {
                for [name, _, says] in rows(&page, figure.id) {
                    let is_open = matches!(LEFT_OPEN, Statement::Text(open) if open == says);
                    let is_named = named.contains(&(figure.id, name.clone()));
                    assert!(is_open || is_named, "{}/{}: {name}", paper.key, figure.id);
                }
            }
        }
    }

    /// Compares figures that take no time; the others are from the last time all were
    /// made.
    #[test]
    fn figures_are_as_documented() {
        for wanted in ["jumbo/fig7", "retryout/table1"] {
            let figures = select(Some(wanted)).expect("it is there");
            let stop = AtomicBool::new(false);
            let outcomes = reproduce(&figures, 2, &stop, &|_| {}).expect("scenarios are sound");
            let section = figure(&outcomes[0]);
            let page = documented(outcomes[0].paper.key);
            assert!(page.contains(&section), "{wanted} is now\n{section}");
        }
    }
}

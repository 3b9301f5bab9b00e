//! HTML pages: one per paper, and an index. A page needs no other file and no network:
//! plots and style sheet are inside it. The page is light or dark, as the browser
//! prefers.

use crate::Verdict;
use crate::reproduce::figure::{Paper, Quantity};
use crate::reproduce::kernels::{HEADING, HEADS, WORDS};
use crate::reproduce::papers::PAPERS;
use crate::reproduce::run::Outcome;
use crate::reproduce::words::{figure_name, is_of_paper};
use lasthop_figures::page::{document, preformatted, scroll, table as table_of_words};
use lasthop_figures::plot::inline_svg;
use lasthop_figures::text::escaped;
use std::collections::BTreeMap;
use std::fmt::Write;

/// The name of a file, and its text.
pub type Page = (String, String);

/// Returns the page of every paper with outcomes, and `index.html`.
pub fn pages(outcomes: &[Outcome]) -> Vec<Page> {
    let of = |paper: &Paper| -> Vec<&Outcome> {
        outcomes.iter().filter(|outcome| outcome.paper.key == paper.key).collect()
    };
    let papers: Vec<_> = PAPERS.into_iter().map(|paper| (paper, of(paper))).collect();
    let papers: Vec<_> = papers.into_iter().filter(|(_, outcomes)| !outcomes.is_empty()).collect();
    let mut pages = vec![("index.html".to_owned(), index(&papers))];
    for (paper, outcomes) in &papers {
        pages.push((format!("{}.html", paper.key), page(paper, outcomes)));
    }
    pages
}

fn index(papers: &[(&'static Paper, Vec<&Outcome>)]) -> String {
    let mut body = String::new();
    let _ = write!(
        body,
        "<header><h1>What papers report, and what lasthop gets</h1>\
         <p class=\"muted\">Each figure is a run of a shipped scenario. A quantity agrees if ours \
         lies in the band around what the paper states; where it does not, it is shown as \
         failing, and why.</p></header>"
    );
    for (paper, outcomes) in papers {
        let key = paper.key;
        let _ = write!(
            body,
            "<section><div class=\"head\"><h2><a href=\"{key}.html\">{}</a></h2>{}</div>\
             <p class=\"source\">{}</p>",
            escaped(paper.title),
            tally(outcomes),
            escaped(paper.source)
        );
        for outcome in outcomes {
            let id = outcome.figure.id;
            let _ = write!(
                body,
                "<h3><a href=\"{key}.html#{id}\">{}: {}</a></h3>{}",
                figure_name(id),
                escaped(outcome.figure.title),
                table(&figure_name(id), &outcome.findings.quantities)
            );
        }
        body.push_str("</section>");
    }
    document("What papers report, and what lasthop gets", &body)
}

fn page(paper: &Paper, outcomes: &[&Outcome]) -> String {
    let mut body = String::new();
    let confirmed = match paper.confirmed {
        "" => String::new(),
        text => format!("<p>{}</p>", escaped(text)),
    };
    let _ = write!(
        body,
        "<p class=\"crumb\"><a href=\"index.html\">All papers</a></p>\
         <header><h1>{}</h1><p class=\"source\">{}</p><p>{}</p>{confirmed}<p>{}</p></header>\
         <nav><ul>",
        escaped(paper.title),
        escaped(paper.source),
        escaped(paper.setting),
        tally(outcomes)
    );
    for outcome in outcomes {
        let is_bad = outcome.findings.verdict() == Verdict::Fail;
        let class = if is_bad { " class=\"bad\"" } else { "" };
        let id = outcome.figure.id;
        let _ = write!(body, "<li><a href=\"#{id}\"{class}>{}</a></li>", figure_name(id));
    }
    body.push_str("</ul></nav>");
    if outcomes.len() < paper.figures.len() {
        let (made, all) = (outcomes.len(), paper.figures.len());
        let _ = write!(body, "<p class=\"muted\">{made} of the {all} figures were made.</p>");
    }
    for outcome in outcomes {
        body.push_str(&figure(paper, outcome));
    }
    body.push_str(&calibrated(paper));
    body.push_str(&on_kernels(paper));
    document(&format!("{}: {}", paper.key, paper.title), &body)
}

fn figure(paper: &Paper, outcome: &Outcome) -> String {
    let figure = outcome.figure;
    let (name, file) = (figure_name(figure.id), crate::reproduce::plot_name(outcome));
    let label = format!("{name}: {}. {}", figure.title, figure.shows);
    let beyond = if is_of_paper(figure.id) { "" } else { "Beyond the paper. " };
    format!(
        "<section id=\"{}\"><div class=\"head\"><h2>{name}: {}</h2>{}</div><p>{beyond}{}</p>\
         <figure class=\"plot\">{}</figure>{}\
         <p class=\"muted\">Files: <a href=\"{file}.svg\">SVG</a>, <a href=\"{file}.png\">PNG</a>. \
         Again: <code>lasthop reproduce {}/{}</code></p>{}</section>",
        figure.id,
        escaped(figure.title),
        badge(outcome.findings.verdict()),
        escaped(figure.shows),
        inline_svg(&outcome.findings.panels, &label),
        table(&name, &outcome.findings.quantities),
        paper.key,
        figure.id,
        scenarios(outcome)
    )
}

/// The table of quantities: the paper's, ours, the band and the verdict.
fn table(of: &str, quantities: &[Quantity]) -> String {
    let mut out = String::from(
        "<table><thead><tr><th scope=\"col\">Quantity</th><th scope=\"col\">Unit</th>\
         <th scope=\"col\" class=\"number\">Paper</th><th scope=\"col\" class=\"number\">lasthop</th>\
         <th scope=\"col\" class=\"number\">Band</th><th scope=\"col\">Verdict</th>",
    );
    let beside = quantities.iter().find_map(|quantity| quantity.beside);
    if let Some(beside) = beside {
        let _ = write!(out, "<th scope=\"col\" class=\"number\">{}</th>", escaped(beside.reading));
    }
    out.push_str("</tr></thead><tbody>");
    for quantity in quantities {
        let verdict = quantity.verdict();
        let class = match quantity.paper {
            crate::reproduce::Statement::Text(_) => "words",
            _ => "number",
        };
        let _ = write!(
            out,
            "<tr><th scope=\"row\">{}</th><td>{}</td><td class=\"{class}\">{}</td><td class=\"number\">{}</td>\
             <td class=\"number\">{}</td><td>{}</td>",
            escaped(&quantity.name),
            escaped(quantity.unit),
            escaped(&quantity.paper_text()),
            quantity.ours_text(),
            quantity.band_text(),
            badge(verdict)
        );
        if beside.is_some() {
            let other = quantity.by_other_reading();
            let other = other.map_or_else(String::new, |other| other.ours_text());
            let _ = write!(out, "<td class=\"number\">{other}</td>");
        }
        out.push_str("</tr>");
        if verdict == Verdict::Fail {
            let why = quantity.because.unwrap_or("Why is unknown.");
            let _ = write!(
                out,
                "<tr class=\"note\"><td colspan=\"{}\">{}</td></tr>",
                6 + usize::from(beside.is_some()),
                escaped(why)
            );
        }
    }
    out.push_str("</tbody></table>");
    scroll(of, &out)
}

/// The list of runs and their scenario files, collapsed.
fn scenarios(outcome: &Outcome) -> String {
    let mut files: BTreeMap<&str, &str> = BTreeMap::new();
    let mut out = String::from("<details><summary>Runs</summary><ul>");
    for run in &outcome.runs {
        files.insert(run.path, run.text);
        let mut command = format!("lasthop simulate {}", run.path);
        for set in &run.sets {
            let _ = write!(command, " --set {set}");
        }
        let _ = write!(
            out,
            "<li>{}: <code>{}</code> (seed {}, run {})</li>",
            escaped(&run.name),
            escaped(&command),
            run.seed,
            run.number
        );
    }
    out.push_str("</ul></details>");
    for (path, text) in files {
        let _ =
            write!(out, "<details><summary>{path}</summary>{}</details>", preformatted(path, text));
    }
    out
}

/// The table of calibrated parameters, with the reasons.
fn calibrated(paper: &Paper) -> String {
    if paper.calibrated.is_empty() {
        return String::new();
    }
    let out = String::from(
        "<section id=\"calibrated\"><h2>Calibrated parameters</h2>\
         <p>What the paper does not give. One set for all of its figures.</p>",
    );
    let mut rows = String::from(
        "<table><thead><tr><th scope=\"col\">Key</th><th scope=\"col\">Value</th>\
         <th scope=\"col\">Why</th></tr></thead><tbody>",
    );
    for parameter in paper.calibrated {
        let [key, value, reason] = [parameter.key, parameter.value, parameter.reason].map(escaped);
        let _ = write!(
            rows,
            "<tr><th scope=\"row\"><code>{key}</code></th><td><code>{value}</code></td>\
             <td>{reason}</td></tr>"
        );
    }
    rows.push_str("</tbody></table>");
    out + &scroll("Calibrated parameters", &rows) + "</section>"
}

/// The measurements on real kernels; empty if there are none.
fn on_kernels(paper: &Paper) -> String {
    let Some(on_kernels) = &paper.on_kernels else { return String::new() };
    let rows: Vec<_> = on_kernels.cells().into_iter().map(Vec::from).collect();
    format!(
        "<section id=\"kernels\"><h2>{HEADING}</h2><p>{}</p>{}</section>",
        escaped(on_kernels.text),
        table_of_words(HEADING, &HEADS, WORDS, &rows)
    )
}

fn tally(outcomes: &[&Outcome]) -> String {
    let quantities = || {
        let all = outcomes.iter().flat_map(|outcome| &outcome.findings.quantities);
        all.filter(|quantity| !quantity.is_left_open())
    };
    let all = quantities().count();
    let passed = quantities().filter(|quantity| quantity.verdict() == Verdict::Pass).count();
    let class = if passed == all { "pass" } else { "fail" };
    format!("<span class=\"badge {class}\">{passed} of {all} agree</span>")
}

fn badge(verdict: Verdict) -> String {
    let word = verdict.as_str();
    format!("<span class=\"badge {word}\">{word}</span>")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::figure::{Findings, Statement};
    use crate::reproduce::papers::all;
    use lasthop_figures::plot::{Axis, Panel, Series};

    /// Every figure, with made-up findings.
    fn outcomes() -> Vec<Outcome> {
        let panel = Panel::new("a < b", Axis::new("time, s"), Axis::new("throughput, Mb/s"))
            .with(Series::line("throughput", vec![(0.0, 1.0), (1.0, 2.0)]));
        let findings = Findings {
            quantities: vec![
                Quantity::value("throughput", "Mb/s", Statement::Value(1.0), 1.0, (0.0, 2.0)),
                Quantity::shown("loss & delay", "more", false).because("it is <made up>"),
            ],
            panels: vec![panel],
        };
        let outcome = |(paper, figure)| {
            let (findings, runs) = (findings.clone(), Vec::new());
            Outcome { paper, figure, findings, runs }
        };
        all().map(outcome).collect()
    }

    fn attributes<'a>(page: &'a str, name: &str) -> Vec<&'a str> {
        let begin = format!(" {name}=\"");
        let parts = page.split(begin.as_str()).skip(1);
        parts.map(|rest| rest.split('"').next().unwrap_or_default()).collect()
    }

    #[test]
    fn every_figure_is_on_its_page() {
        let pages = pages(&outcomes());
        let page = |name: &str| {
            let found = pages.iter().find(|(file, _)| file == name);
            &found.unwrap_or_else(|| panic!("no {name}")).1
        };
        for (paper, figure) in all() {
            let html = page(&format!("{}.html", paper.key));
            assert!(attributes(html, "id").contains(&figure.id), "{}/{}", paper.key, figure.id);
            assert_eq!(html.matches("<svg class=\"wide\"").count(), paper.figures.len());
            let (half, all) = (paper.figures.len(), 2 * paper.figures.len());
            assert!(html.contains("it is &lt;made up&gt;"), "reasons are told");
            assert!(html.contains(&format!("{half} of {all} agree")), "verdicts are counted");
            let link = format!("{}.html#{}", paper.key, figure.id);
            assert!(attributes(page("index.html"), "href").contains(&link.as_str()), "{link}");
        }
    }

    #[test]
    fn a_page_needs_no_network_and_links_lead_to_files_beside_it() {
        let outcomes = outcomes();
        let pages = pages(&outcomes);
        let mut files: Vec<String> = pages.iter().map(|(file, _)| file.clone()).collect();
        for outcome in &outcomes {
            files.extend(
                ["svg", "png"].map(|end| format!("{}.{end}", crate::reproduce::plot_name(outcome))),
            );
        }
        for (file, html) in &pages {
            assert!(attributes(html, "src").is_empty() && !html.contains("@import"), "{file}");
            for link in attributes(html, "href") {
                let target = link.split('#').next().unwrap_or_default();
                assert!(target.is_empty() || files.iter().any(|f| f == target), "{file}: {link}");
            }
        }
    }

    #[test]
    fn what_is_opened_is_closed() {
        for (file, html) in pages(&outcomes()) {
            for tag in ["section", "table", "tr", "td", "svg", "text", "div", "p", "ul", "details"]
            {
                let opened = html.matches(&format!("<{tag}>")).count()
                    + html.matches(&format!("<{tag} ")).count();
                assert_eq!(opened, html.matches(&format!("</{tag}>")).count(), "{file}: {tag}");
            }
        }
    }
}

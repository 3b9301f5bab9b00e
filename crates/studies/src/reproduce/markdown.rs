//! Markdown pages, one per paper: its statements beside the quantities that test them, the
//! causes where a band is missed, and the calibrated parameters. A table
//! (CSV) beside each page has every quantity. Pages and tables in `docs/reproduce` are made
//! here; a test compares all parts that need no long run.

use crate::Verdict;
use crate::reproduce::figure::{Claim, Ours, Paper, Quantity, Statement, Tested};
use crate::reproduce::kernels::{HEADING, HEADS, WORDS};
use crate::reproduce::page::Page;
use crate::reproduce::papers::PAPERS;
use crate::reproduce::run::Outcome;
use crate::reproduce::words::is_of_paper;
use std::fmt::Write;

/// Returns the page `KEY.md` and the table `KEY.csv` of every paper with outcomes.
pub fn pages(outcomes: &[Outcome]) -> Vec<Page> {
    let of = |paper: &Paper| -> Vec<&Outcome> {
        outcomes.iter().filter(|outcome| outcome.paper.key == paper.key).collect()
    };
    let papers = PAPERS.into_iter().map(|paper| (paper, of(paper)));
    let papers = papers.filter(|(_, outcomes)| !outcomes.is_empty());
    let files = papers.flat_map(|(paper, outcomes)| {
        let key = paper.key;
        [(format!("{key}.md"), page(paper, &outcomes)), (format!("{key}.csv"), table(&outcomes))]
    });
    files.collect()
}

fn page(paper: &Paper, outcomes: &[&Outcome]) -> String {
    let Paper { key, title, source, setting, confirmed, .. } = paper;
    let mut out = format!("# {title}\n\n{source}\n\n{setting}\n\n");
    if !confirmed.is_empty() {
        let _ = write!(out, "{confirmed}\n\n");
    }
    let quantities = || outcomes.iter().flat_map(|outcome| &outcome.findings.quantities);
    let passes = quantities().map(|it| (it.is_left_open(), !is_failing(it)));
    let _ = write!(
        out,
        "```sh\nlasthop reproduce {key} --out results   # open results/{key}.html\n```\n\n\
         {}; [{key}.csv]({key}.csv) has all of them. `--out` writes both files.\n\n",
        count(passes)
    );
    out.push_str(
        "## Statements\n\nBold values miss their band, which is in brackets. In lists with several \
         bands, brackets have the paper's values.",
    );
    if paper.seeds > 1 {
        let _ = write!(
            out,
            " A value is the mean of {} seeds, with the least and the greatest in square brackets.",
            paper.seeds
        );
    }
    let beside = beside(outcomes);
    match beside {
        None => out.push_str("\n\n| statement | lasthop |\n|---|---|\n"),
        Some(reading) => {
            let _ = write!(
                out,
                " The last column is not judged.\n\n| statement | lasthop | {reading} |\n|---|---|---|\n"
            );
        }
    }
    let mut place = "";
    for claim in paper.claims {
        if let Tested::By(by) = claim.tested {
            let _ = write!(out, "{} {} |", claim_row(claim, place), tested_by(by, outcomes, false));
            if beside.is_some() {
                let _ = write!(out, " {} |", tested_by(by, outcomes, true));
            }
            out.push('\n');
            place = claim.place;
        }
    }
    out.push_str(&untested(paper));
    out.push_str(&causes(outcomes));
    out.push_str(&beyond(paper));
    if !paper.calibrated.is_empty() {
        let _ = write!(out, "\n{}", calibrated(paper));
    }
    out.push_str(&on_kernels(paper));
    out
}

/// The counts of quantities in their bands: those of the paper, and those that it leaves open.
/// Each item is whether a quantity is left open, and whether it is in its band.
fn count(quantities: impl Iterator<Item = (bool, bool)>) -> String {
    let (open, stated): (Vec<_>, Vec<_>) = quantities.partition(|(is_open, _)| *is_open);
    let passed = |all: &[(bool, bool)]| all.iter().filter(|(_, passes)| *passes).count();
    let of_paper = format!(
        "{} of {} quantities of the paper are in their bands",
        passed(&stated),
        stated.len()
    );
    match open.len() {
        0 => of_paper,
        all => format!("{of_paper}, and {} of {all} that it leaves open", passed(&open)),
    }
}

/// The part of the row of a statement that needs no run. The place is left out if it is that of
/// the row before.
fn claim_row(claim: &Claim, before: &str) -> String {
    if claim.place == before {
        format!("| {} |", cell(claim.says))
    } else {
        format!("| {}: {} |", cell(claim.place), cell(claim.says))
    }
}

/// The statements that nothing tests, by reason.
fn untested(paper: &Paper) -> String {
    let mut reasons: Vec<(&str, Vec<String>)> = Vec::new();
    for claim in paper.claims {
        let Tested::No(why) = claim.tested else { continue };
        let says = format!("{} ({})", cell(claim.says.trim_end_matches('.')), cell(claim.place));
        match reasons.iter_mut().find(|(reason, _)| *reason == why) {
            Some((_, statements)) => statements.push(says),
            None => reasons.push((why, vec![says])),
        }
    }
    let mut out = String::new();
    if !reasons.is_empty() {
        out.push_str("\nNot tested:\n\n");
    }
    for (why, statements) in reasons {
        let _ = writeln!(out, "- {}. *{}*", statements.join("; "), cell(why));
    }
    out
}

/// The name of the other reading that quantities have, if any have one.
fn beside(outcomes: &[&Outcome]) -> Option<&'static str> {
    let mut quantities = outcomes.iter().flat_map(|outcome| &outcome.findings.quantities);
    quantities.find_map(|quantity| quantity.beside).map(|beside| beside.reading)
}

/// The quantities that test a statement, by figure; those of the other reading if `is_beside`,
/// of which none is bold.
fn tested_by(by: &[(&str, &str)], outcomes: &[&Outcome], is_beside: bool) -> String {
    let mut ids: Vec<&str> = Vec::new();
    for &(id, _) in by {
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
    let of_figure = |id: &&str| {
        let outcome = outcomes.iter().find(|outcome| outcome.figure.id == *id);
        let Some(outcome) = outcome else { return format!("`{id}` not made") };
        let is_named = |quantity: &&Quantity| {
            by.iter().any(|(of, begin)| of == id && quantity.name.starts_with(begin))
        };
        let matching: Vec<_> = outcome.findings.quantities.iter().filter(is_named).collect();
        if is_beside {
            let others: Vec<_> =
                matching.into_iter().filter_map(Quantity::by_other_reading).collect();
            let others: Vec<_> = others.iter().collect();
            return if others.is_empty() { String::new() } else { values(&others) };
        }
        format!("`{id}` {}", values(&matching))
    };
    let each = ids.iter().map(of_figure).filter(|text| !text.is_empty());
    let text = each.collect::<Vec<_>>().join("; ");
    if is_beside { text.replace("**", "") } else { text }
}

/// Quantities whose names differ at their beginning only, such as `802.11n, 30 packets: found`.
struct Group<'a> {
    /// The common end of the names.
    name: &'a str,
    /// The beginnings, with the quantities; an empty beginning if there is only one quantity.
    members: Vec<(&'a str, &'a Quantity)>,
}

/// Ways to split a name into a beginning and an end.
fn splits(name: &str) -> impl Iterator<Item = (&str, &str)> {
    let marks = [": ", ", "].into_iter().flat_map(|mark| name.match_indices(mark));
    marks.map(|(at, mark)| (&name[..at], &name[at + mark.len()..]))
}

/// Groups quantities by the common ends of their names, in the order of the first of each. The
/// ends are those that save the most text.
fn groups<'a>(quantities: &[&'a Quantity]) -> Vec<Group<'a>> {
    let shared = |end: &str| {
        quantities.iter().filter(|other| splits(&other.name).any(|(_, rest)| rest == end)).count()
    };
    let mut groups: Vec<Group<'a>> = Vec::new();
    for &quantity in quantities {
        let ends = splits(&quantity.name).map(|(begin, end)| (shared(end), begin, end));
        let best = ends.max_by_key(|&(count, _, end)| count.min(6) * end.len());
        let (begin, end) = match best {
            Some((count, begin, end)) if count > 1 => (begin, end),
            _ => ("", quantity.name.as_str()),
        };
        match groups.iter_mut().find(|group| group.name == end) {
            Some(group) => group.members.push((begin, quantity)),
            None => groups.push(Group { name: end, members: vec![(begin, quantity)] }),
        }
    }
    groups
}

/// The values of quantities. Beginnings of names that several groups share are printed once.
fn values(quantities: &[&Quantity]) -> String {
    if let [one] = quantities {
        return value(one, true);
    }
    if quantities.len() > 2 && quantities.iter().all(|quantity| quantity.ours == Ours::Shown(true))
    {
        return format!("all {} shown", quantities.len());
    }
    let groups = groups(quantities);
    let mut parts: Vec<String> = Vec::new();
    let mut rest = groups.as_slice();
    while let Some(first) = rest.first() {
        let count = rest.iter().take_while(|group| group.begins() == first.begins()).count();
        let (same, others) = rest.split_at(count);
        let name = |group: &Group<'_>| group.short(&groups);
        if first.members.len() > 2 && count > 1 {
            let lists = same.iter().map(|group| group.list(&name(group)));
            let lists = lists.collect::<Vec<_>>().join(". ");
            parts.push(format!("{}: {lists}", first.begins().join("; ")));
        } else {
            parts.extend(same.iter().map(|group| group.values(&name(group))));
        }
        rest = others;
    }
    parts.join("; ")
}

impl Group<'_> {
    fn begins(&self) -> Vec<String> {
        self.members.iter().map(|(begin, _)| cell(begin)).collect()
    }

    /// The name up to the first comma, unless another group has the same beginning. The table has
    /// the whole name.
    fn short(&self, groups: &[Group<'_>]) -> String {
        let begin =
            |group: &Group<'_>| group.name.split(", ").next().unwrap_or_default().to_owned();
        let short = begin(self);
        let is_unique = groups.iter().filter(|other| begin(other) == short).count() == 1;
        let is_whole = short.matches('(').count() == short.matches(')').count();
        // Statements in words need all of theirs.
        let is_number = !matches!(self.members[0].1.ours, Ours::Shown(_));
        let is_said = short.contains(' ') && is_number;
        cell(if is_unique && is_whole && is_said { &short } else { self.name })
    }

    /// Whether all members have one band.
    fn is_uniform(&self) -> bool {
        let first = self.members[0].1.band_text();
        self.members.iter().all(|(_, quantity)| quantity.band_text() == first)
    }

    /// Our value, with the paper's value if the members have several bands.
    fn member(&self, quantity: &Quantity) -> String {
        match quantity.paper {
            _ if self.is_uniform() => value(quantity, false),
            Statement::Value(_) => {
                format!("{} ({})", value(quantity, false), quantity.paper_text())
            }
            _ if is_failing(quantity) => format!("{}{}", value(quantity, false), band(quantity)),
            _ => value(quantity, false),
        }
    }

    /// Name and unit, then `text`, then the band if there is only one.
    fn around(&self, name: &str, text: &str) -> String {
        let first = self.members[0].1;
        let unit = if first.unit.is_empty() { String::new() } else { format!(", {}", first.unit) };
        let is_shown = self.is_uniform() && self.members.iter().any(|(_, it)| is_failing(it));
        let band = if is_shown { band(first) } else { String::new() };
        format!("{name}{unit}: {text}{band}")
    }

    /// Name and values. A value of more than two members is printed once, as that of `others`.
    fn values(&self, name: &str) -> String {
        if let [(_, one)] = self.members[..] {
            return format!("{name} {}", value(one, true));
        }
        let texts: Vec<_> =
            self.members.iter().map(|(_, quantity)| self.member(quantity)).collect();
        let count = |text: &String| texts.iter().filter(|other| *other == text).count();
        let usual = texts.iter().max_by_key(|text| count(text)).filter(|text| count(text) > 2);
        let each = self.begins().into_iter().zip(&texts).filter(|(_, text)| usual != Some(*text));
        let mut each: Vec<String> = each.map(|(begin, text)| format!("{begin} {text}")).collect();
        if let Some(usual) = usual {
            each.push(format!("{} {usual}", if each.is_empty() { "all" } else { "others" }));
        }
        self.around(name, &each.join(", "))
    }

    /// Name and values without the beginnings of the names.
    fn list(&self, name: &str) -> String {
        let texts: Vec<_> =
            self.members.iter().map(|(_, quantity)| self.member(quantity)).collect();
        self.around(name, &texts.join(", "))
    }
}

/// The names of quantities, with different beginnings in brackets.
fn names(quantities: &[&Quantity]) -> String {
    let groups = groups(quantities);
    let named = |group: &Group<'_>| match group.members.len() {
        1 => group.short(&groups),
        // The bold values tell which.
        count @ 4.. => format!("{} ({count} cases)", group.short(&groups)),
        _ => format!("{} ({})", group.short(&groups), group.begins().join("; ")),
    };
    groups.iter().map(named).collect::<Vec<_>>().join("; ")
}

/// Our value of a quantity, bold if it fails; on request with its unit, and the band if it fails.
fn value(quantity: &Quantity, is_whole: bool) -> String {
    let mut text = quantity.ours_text();
    if is_failing(quantity) {
        text = format!("**{text}**");
    }
    if is_whole {
        if !quantity.unit.is_empty() {
            let _ = write!(text, " {}", quantity.unit);
        }
        if is_failing(quantity) {
            text.push_str(&band(quantity));
        }
    }
    text
}

/// The band in brackets, or the example of the paper; empty if there is none.
fn band(quantity: &Quantity) -> String {
    match (&quantity.ours, &quantity.paper) {
        (Ours::Shown(_), _) => String::new(),
        (_, Statement::Example(_)) => format!(" ({})", quantity.paper_text()),
        _ => format!(" ({})", cell(&quantity.band_text())),
    }
}

/// The causes of missed bands, each once.
fn causes(outcomes: &[&Outcome]) -> String {
    type Missed<'a> = Vec<(&'static str, Vec<&'a Quantity>)>;
    let mut causes: Vec<(&'static str, Missed<'_>)> = Vec::new();
    for outcome in outcomes {
        let id = outcome.figure.id;
        let quantities = &outcome.findings.quantities;
        for quantity in quantities.iter().filter(|quantity| is_failing(quantity)) {
            let why = quantity.because.unwrap_or(UNKNOWN);
            let at = causes.iter().position(|(cause, _)| *cause == why);
            let at = at.unwrap_or_else(|| {
                causes.push((why, Vec::new()));
                causes.len() - 1
            });
            let missed = &mut causes[at].1;
            match missed.iter_mut().find(|(figure, _)| *figure == id) {
                Some((_, quantities)) => quantities.push(quantity),
                None => missed.push((id, vec![quantity])),
            }
        }
    }
    let mut out = String::new();
    if !causes.is_empty() {
        out.push_str("\n## Causes of missed bands\n\n");
    }
    for (why, missed) in causes {
        // Figures that miss bands of the same names are together.
        let mut each: Vec<(String, String)> = Vec::new();
        for (id, quantities) in missed {
            let names = names(&quantities);
            match each.iter_mut().find(|(others, _)| *others == names) {
                Some((_, ids)) => ids.push_str(&format!(", `{id}`")),
                None => each.push((names, format!("`{id}`"))),
            }
        }
        let each = each.into_iter().map(|(names, ids)| format!("{ids} {names}"));
        let _ = writeln!(out, "- {}: {}", each.collect::<Vec<_>>().join("; "), cell(why));
    }
    out
}

/// The figures that no paper has.
fn beyond(paper: &Paper) -> String {
    let mut figures = paper.figures.iter().filter(|figure| !is_of_paper(figure.id)).peekable();
    let mut out = String::new();
    if figures.peek().is_some() {
        out.push_str("\n## Figures beyond the paper\n\n");
    }
    for figure in figures {
        let _ = writeln!(out, "- `{}`: {}", figure.id, cell(figure.shows));
    }
    out
}

/// The reason where none is known.
const UNKNOWN: &str = "Why is unknown.";

/// The calibrated parameters; parameters with one reason are together.
fn calibrated(paper: &Paper) -> String {
    let mut out = String::from(
        "## Calibrated parameters\n\nThe paper lacks these values; one set serves all of its \
         figures.\n\n",
    );
    for same in paper.calibrated.chunk_by(|one, other| one.reason == other.reason) {
        let sets = same.iter().map(|parameter| format!("`{}={}`", parameter.key, parameter.value));
        let _ = writeln!(out, "- {}: {}", sets.collect::<Vec<_>>().join(", "), same[0].reason);
    }
    out
}

/// The measurements on real kernels; empty if there are none.
fn on_kernels(paper: &Paper) -> String {
    let Some(on_kernels) = &paper.on_kernels else { return String::new() };
    let row = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let heads = HEADS.map(str::to_owned);
    let mark = |column| if column < WORDS { "---" } else { "--:" };
    let marks: Vec<_> = (0..HEADS.len()).map(|column| mark(column).to_owned()).collect();
    let rows: String = on_kernels.cells().iter().map(|cells| row(cells)).collect();
    format!("\n## {HEADING}\n\n{}\n\n{}{}{rows}", on_kernels.text, row(&heads), row(&marks))
}

fn is_failing(quantity: &Quantity) -> bool {
    quantity.verdict() == Verdict::Fail
}

/// Escapes text for the cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "&lt;")
}

/// The names of the columns of a table of quantities.
const COLUMNS: &str = "figure,quantity,unit,paper,ours,off_by,band,verdict";

/// Every quantity as CSV (RFC 4180), in the words of the pages. If quantities have another
/// reading, it has a column.
fn table(outcomes: &[&Outcome]) -> String {
    let beside = beside(outcomes);
    let mut out = match beside {
        None => format!("{COLUMNS}\n"),
        Some(reading) => format!("{COLUMNS},{}\n", reading.replace(' ', "_")),
    };
    for outcome in outcomes {
        for quantity in &outcome.findings.quantities {
            out.push_str(&csv_row(outcome.figure.id, quantity));
            if beside.is_some() {
                let other = quantity.by_other_reading();
                let _ = write!(out, ",{}", other.map_or_else(String::new, |it| it.ours_text()));
            }
            out.push('\n');
        }
    }
    out
}

fn csv_row(id: &str, quantity: &Quantity) -> String {
    let field = |text: &str| {
        if text.contains([',', '"']) {
            format!("\"{}\"", text.replace('"', "\"\""))
        } else {
            text.to_owned()
        }
    };
    let fields = [
        id,
        &quantity.name,
        quantity.unit,
        &quantity.paper_text(),
        &quantity.ours_text(),
        &quantity.off_text(),
        &quantity.band_text(),
        quantity.verdict().as_str(),
    ];
    fields.map(field).join(",")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::papers::select;
    use crate::reproduce::{LEFT_OPEN, reproduce};
    use std::collections::BTreeSet;
    use std::sync::atomic::AtomicBool;

    /// A file in `docs/reproduce`.
    fn documented(name: &str) -> String {
        let path = format!("{}/../../docs/reproduce/{name}", env!("CARGO_MANIFEST_DIR"));
        std::fs::read_to_string(&path).unwrap_or_else(|why| panic!("{path}: {why}"))
    }

    /// The fields of the rows of a table of quantities.
    fn rows(key: &str) -> Vec<Vec<String>> {
        let text = documented(&format!("{key}.csv"));
        let mut lines = text.lines();
        assert!(lines.next().is_some_and(|columns| columns.starts_with(COLUMNS)), "{key}");
        let fields = |line: &str| {
            let (mut fields, mut is_quoted) = (vec![String::new()], false);
            for character in line.chars() {
                match character {
                    '"' => is_quoted = !is_quoted,
                    ',' if !is_quoted => fields.push(String::new()),
                    other => fields.last_mut().expect("there is one").push(other),
                }
            }
            fields
        };
        lines.map(fields).collect()
    }

    #[test]
    fn the_pages_are_those_of_the_program() {
        for paper in PAPERS {
            let page = documented(&format!("{}.md", paper.key));
            assert!(page.contains(&cell(paper.setting)), "{}: {}", paper.key, paper.setting);
            assert!(page.contains(paper.confirmed), "{}: {}", paper.key, paper.confirmed);
            let mut place = "";
            for claim in paper.claims.iter().filter(|claim| matches!(claim.tested, Tested::By(_))) {
                let row = claim_row(claim, place);
                assert!(page.contains(&row), "{}: {row}", paper.key);
                place = claim.place;
            }
            assert!(page.contains(&untested(paper)), "{}", untested(paper));
            assert!(page.contains(&beyond(paper)), "{}", beyond(paper));
            let mut end = String::new();
            if !paper.calibrated.is_empty() {
                end.push_str(&calibrated(paper));
            }
            end.push_str(&on_kernels(paper));
            assert!(page.ends_with(&end), "{}: {end}", paper.key);
            let table = page.split("\n## ").nth(1).expect("it is the first");
            let claims = table.lines().filter(|line| line.starts_with("| ")).count() - 1;
            let tested = paper.claims.iter().filter(|claim| matches!(claim.tested, Tested::By(_)));
            assert_eq!(claims, tested.count(), "{}: statements that are gone", paper.key);
        }
    }

    /// The count of a page is that of its table, and values outside their bands are bold in the
    /// page.
    #[test]
    fn page_and_table_agree() {
        for paper in PAPERS {
            let page = documented(&format!("{}.md", paper.key));
            let rows = rows(paper.key);
            let open =
                |row: &Vec<String>| matches!(LEFT_OPEN, Statement::Text(open) if open == row[3]);
            let count = count(rows.iter().map(|row| (open(row), row[7] == "pass")));
            let count = format!("\n{count};");
            assert!(page.contains(&count), "{}: {count}", paper.key);
            for row in rows.iter().filter(|row| row[7] == "fail") {
                let bold = format!("**{}**", row[4]);
                assert!(page.contains(&bold), "{}: {row:?}", paper.key);
            }
        }
    }

    /// Every statement that names a quantity has one, and every quantity belongs to a
    /// statement unless the paper leaves it open.
    #[test]
    fn statements_and_quantities_belong_together() {
        for paper in PAPERS {
            let rows = rows(paper.key);
            let mut named = BTreeSet::new();
            for claim in paper.claims {
                let Tested::By(by) = claim.tested else { continue };
                for (id, begin) in by {
                    let matching = rows.iter().filter(|row| row[0] == *id);
                    let mut matching = matching.filter(|row| row[1].starts_with(begin));
                    assert!(matching.clone().count() > 0, "{}/{id}: {begin}", paper.key);
                    named.extend(matching.by_ref().map(|row| (row[0].clone(), row[1].clone())));
                }
            }
            for row in rows {
                let is_open = matches!(LEFT_OPEN, Statement::Text(open) if open == row[3]);
                let is_named = named.contains(&(row[0].clone(), row[1].clone()));
                assert!(is_open || is_named, "{}/{}: {}", paper.key, row[0], row[1]);
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
            let key = outcomes[0].paper.key;
            let page = documented(&format!("{key}.md"));
            let causes = causes(&[&outcomes[0]]);
            for cause in causes.lines().filter(|line| line.starts_with("- ")) {
                assert!(page.contains(cause), "{wanted} is now\n{cause}");
            }
            let kept = documented(&format!("{key}.csv"));
            for row in table(&[&outcomes[0]]).lines() {
                assert!(kept.lines().any(|line| line == row), "{wanted} is now\n{row}");
            }
        }
    }

    #[test]
    fn names_that_share_an_end_are_told_once() {
        let quantity = |name: &str, ours: f64| {
            Quantity::value(name, "%", Statement::Value(1.0), ours, (0.0, 10.0))
        };
        let text = |quantities: &[Quantity]| values(&quantities.iter().collect::<Vec<_>>());
        let some = ["802.11n, upload: least", "802.11ac, upload: least", "alone there, of all"];
        let some = some.map(|name| quantity(name, 5.0));
        let expected = "upload: least, %: 802.11n 5, 802.11ac 5; alone there 5 %";
        assert_eq!(text(&some), expected);
        assert_eq!(
            names(&some.iter().collect::<Vec<_>>()),
            "upload: least (802.11n; 802.11ac); alone there"
        );
        let mut many = ["a", "b", "c", "d"].map(|it| quantity(&format!("{it}: found"), 100.0));
        many[0].ours = Ours::Value(3.0);
        assert_eq!(text(&many), "found, %: a 3, others **100** (0\u{2013}10)");
        let both = ["a: most", "b: most", "c: most", "a: found", "b: found", "c: found"];
        let mut both = both.map(|name| quantity(name, 1.0));
        both[0].band.to = 2.0;
        let expected = "a; b; c: most, %: 1 (1), 1 (1), 1 (1). found, %: 1, 1, 1";
        assert_eq!(text(&both), expected);
        let shown = ["a", "b", "c"].map(|name| Quantity::shown(name, "it falls", true));
        assert_eq!(text(&shown), "all 3 shown");
    }
}

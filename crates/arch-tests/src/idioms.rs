//! Finds idioms of Rust that the project avoids, in the text of sources: no compiler is needed. The
//! search reads code outside of comments, literals and tests.

use crate::files::Text;
use std::collections::{BTreeMap, BTreeSet};

/// An idiom to avoid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Idiom {
    /// A parameter whose type is a tuple: a struct would name its parts.
    TupleParameter,
    /// An arm `true` or `false` of a `match`: `if` says the same.
    MatchOnBool,
    /// A function called only `of`: a name says the result.
    FnOf,
    /// A type that has the name of another one in the crate.
    SharedName,
}

/// A place where an idiom stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// Name of the crate's folder.
    pub package: String,
    /// Idiom that stands there.
    pub idiom: Idiom,
    /// File, line and name.
    pub text: String,
}

/// Returns all sites in the sources of crates, in the order of files. Types of `exceptions` may
/// share their name.
pub fn sites(texts: &[Text], exceptions: &[&str]) -> Vec<Site> {
    let mut sites = Vec::new();
    let mut types: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
    for Text { path, text } in texts {
        let Some(package) = package(path) else { continue };
        let code = code(text);
        let site = |idiom, at: usize, name: &str| {
            let line = code[..at].matches('\n').count() + 1;
            Site { package: package.to_owned(), idiom, text: format!("{path}:{line}: {name}") }
        };
        for function in functions(&code) {
            let tuples = function.parameters.iter().filter(|parameter| is_tuple(parameter));
            // The trait `From` gives its function's parameter.
            let tuples = tuples.filter(|_| function.name != "from");
            sites.extend(tuples.map(|_| site(Idiom::TupleParameter, function.at, function.name)));
            if function.name == "of" {
                sites.push(site(Idiom::FnOf, function.at, "of"));
            }
        }
        let mut at = 0;
        for line in code.split_inclusive('\n') {
            // One of the two arms stands for the `match`.
            if line.trim_start().starts_with("true =>") {
                sites.push(site(Idiom::MatchOnBool, at, "true =>"));
            }
            if let Some(name) = defined_type(line) {
                let text = site(Idiom::SharedName, at, name).text;
                types.entry((package.to_owned(), name.to_owned())).or_default().push(text);
            }
            at += line.len();
        }
    }
    for ((package, name), places) in types {
        let files: BTreeSet<_> = places.iter().map(|place| place.split(':').next()).collect();
        if files.len() > 1 && !exceptions.contains(&name.as_str()) {
            let idiom = Idiom::SharedName;
            sites.extend(places.into_iter().skip(1).map(|text| Site {
                package: package.clone(),
                idiom,
                text,
            }));
        }
    }
    sites
}

/// Returns the folder of the crate whose source a file is; `None` for tests and other files.
fn package(path: &str) -> Option<&str> {
    let (package, file) = path.strip_prefix("crates/")?.split_once("/src/")?;
    let is_test = file.split('/').any(|part| part.trim_end_matches(".rs") == "tests");
    (file.ends_with(".rs") && !is_test).then_some(package)
}

/// Replaces comments and the content of literals by spaces, and leaves out modules of tests. Lines
/// stay where they are.
fn code(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let skipped = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |at| at + 2)
        } else if first == '"' {
            string_len(rest)
        } else if let Some(hashes) = raw_hashes(rest) {
            let end = format!("\"{}", "#".repeat(hashes));
            let begin = hashes + 2;
            rest[begin..].find(&end).map_or(rest.len(), |at| begin + at + end.len())
        } else if first == '\'' {
            char_len(rest)
        } else {
            0
        };
        if skipped > 0 {
            out.extend(rest[..skipped].chars().map(|c| if c == '\n' { c } else { ' ' }));
            rest = &rest[skipped..];
        } else {
            out.push(first);
            rest = &rest[first.len_utf8()..];
        }
    }
    let end = out.find("#[cfg(test)]\nmod tests {").unwrap_or(out.len());
    out.truncate(end);
    out
}

/// Returns the length of a string literal at the start of `text`.
fn string_len(text: &str) -> usize {
    let mut is_escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        if c == '"' && !is_escaped {
            return at + 1;
        }
        is_escaped = c == '\\' && !is_escaped;
    }
    text.len()
}

/// Returns the number of hashes of a raw string at the start of `text`; `None` if there is none.
fn raw_hashes(text: &str) -> Option<usize> {
    let behind = text.strip_prefix('r')?;
    let hashes = behind.len() - behind.trim_start_matches('#').len();
    behind[hashes..].starts_with('"').then_some(hashes)
}

/// Returns the length of a character literal at the start of `text`; 0 for a lifetime.
fn char_len(text: &str) -> usize {
    let mut chars = text.char_indices().skip(1);
    match (chars.next(), chars.next()) {
        (Some((_, '\\')), Some((at, c))) => {
            let from = at + c.len_utf8();
            text[from..].find('\'').map_or(0, |end| from + end + 1)
        }
        (Some(_), Some((at, '\''))) => at + 1,
        _ => 0,
    }
}

/// A function with its parameters.
struct Function<'a> {
    at: usize,
    name: &'a str,
    parameters: Vec<&'a str>,
}

fn functions(code: &str) -> Vec<Function<'_>> {
    let mut functions = Vec::new();
    for (at, _) in code.match_indices("fn ") {
        let is_word = code[..at].chars().next_back().is_none_or(|c| !c.is_alphanumeric());
        let behind = &code[at + 3..];
        let name_len = behind.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(0);
        if !is_word || name_len == 0 {
            continue;
        }
        let Some(open) = parameters_at(&behind[name_len..]) else { continue };
        let inside = &behind[name_len + open + 1..];
        functions.push(Function { at, name: &behind[..name_len], parameters: split(inside) });
    }
    functions
}

/// Returns the offset of the parenthesis before parameters, behind generic parameters.
fn parameters_at(text: &str) -> Option<usize> {
    let mut depth = 0usize;
    let mut last = ' ';
    for (at, c) in text.char_indices() {
        match c {
            '<' => depth += 1,
            '>' if last != '-' => depth = depth.checked_sub(1)?,
            '(' if depth == 0 => return Some(at),
            '{' | ';' if depth == 0 => return None,
            _ => {}
        }
        last = c;
    }
    None
}

/// Splits parameters at commas outside of brackets, up to the closing parenthesis.
fn split(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut depth, mut begin, mut last) = (0usize, 0, ' ');
    for (at, c) in text.char_indices() {
        match c {
            ')' if depth == 0 => {
                parts.push(&text[begin..at]);
                break;
            }
            '(' | '[' | '<' | '{' => depth += 1,
            '>' if last == '-' => {}
            ')' | ']' | '>' | '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(&text[begin..at]);
                begin = at + 1;
            }
            _ => {}
        }
        last = c;
    }
    parts
}

/// Whether the type of a parameter is a tuple, or a reference to one.
fn is_tuple(parameter: &str) -> bool {
    let mut depth = 0usize;
    let colon = parameter.char_indices().find(|(at, c)| {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        *c == ':' && depth == 0 && !parameter[at + 1..].starts_with(':')
    });
    let Some((colon, _)) = colon else { return false };
    let kind = parameter[colon + 1..].trim_start_matches(['&', ' ', '\n']);
    let kind = kind.strip_prefix("mut ").unwrap_or(kind).trim();
    kind.strip_prefix('(').is_some_and(|inside| split(inside).len() > 1)
}

/// Returns the name of the type that a line defines, outside of functions by its indentation.
fn defined_type(line: &str) -> Option<&str> {
    let text = line.strip_prefix("pub").map_or(line, |text| {
        let text =
            text.strip_prefix('(').map_or(text, |text| &text[text.find(')').unwrap_or(0) + 1..]);
        text.trim_start()
    });
    let mut words =
        text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|w| !w.is_empty());
    let is_definition = ["struct ", "enum ", "union ", "trait ", "type "];
    if !is_definition.iter().any(|keyword| text.starts_with(keyword)) {
        return None;
    }
    words.nth(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLE: &str = r##"// fn of(a: (u8, u8))
pub(crate) struct Found<'a>(&'a str);
enum View { A }
fn plain<F: Fn((u8, u8)) -> u8>(f: F, none: (), (a): (u8), pair: Vec<(u8, u8)>) -> (u8, u8) {
fn tuple<'a>((a, b): &mut (u8, &'a [u8]), c: char) {
fn method(&self, pair: (
    u8, u8)) {
    match is { // an arm
        true => "fn of((a, b): (u8, u8))",
        false => '"',
    }
    const fn of(self) {
#[cfg(test)]
mod tests {
    fn of(a: (u8, u8)) {}
}
"##;

    /// Returns the lines of the sites in the sample, which stands beside other files.
    fn lines(idiom: Idiom) -> Vec<usize> {
        let text = |path: &str, text: &str| Text { path: path.to_owned(), text: text.to_owned() };
        let texts = [
            text("crates/a/src/a.rs", "struct Found;\nstruct View;\n"),
            text("crates/a/src/b.rs", SAMPLE),
            text("crates/a/src/b/tests.rs", "fn of(a: (u8, u8)) {}"),
            text("crates/c/src/lib.rs", "struct Found;"),
        ];
        let sites = sites(&texts, &["View"]);
        assert!(sites.iter().all(|site| site.text.starts_with("crates/a/src/b.rs")));
        let here = sites.iter().filter(|site| site.idiom == idiom);
        let line = |site: &Site| site.text.split(':').nth(1).and_then(|line| line.parse().ok());
        here.filter_map(line).collect()
    }

    #[test]
    fn idioms_are_found_where_they_stand() {
        assert_eq!(lines(Idiom::TupleParameter), [5, 6]);
        assert_eq!(lines(Idiom::MatchOnBool), [9]);
        assert_eq!(lines(Idiom::FnOf), [12]);
        assert_eq!(lines(Idiom::SharedName), [2]);
    }
}

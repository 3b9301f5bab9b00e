//! Bounds the share of weak sentences in documents, in the help of the command and in doc
//! comments. A failure lists file, line, rule and sentence of each; a sentence that is right
//! although a rule matches it belongs into `EXCEPTIONS`, with the reason.

use lasthop_arch_tests::files::{self, Text};
use lasthop_arch_tests::prose::{Prose, Sentence};

/// Greatest share of weak sentences in documents, in percent.
const DOCUMENTS_MAX: f64 = 2.5;

/// Greatest share of weak sentences in the help of the command, in percent.
const HELP_MAX: f64 = 2.5;

/// Greatest share of weak sentences in doc comments, in percent.
const DOC_COMMENTS_MAX: f64 = 2.5;

/// Greatest share of weak sentences on one page, in percent. One sentence is always allowed.
const PAGE_MAX: f64 = 5.0;

/// Source of the help of the command: the doc comments of its arguments.
const HELP: &str = "crates/cli/src/args";

/// Folders with data, whose texts are not sentences of the project.
const DATA: [&str; 4] = ["data", "snapshots", "seeds", "corpus"];

/// Sentences that are right: file, beginning of the sentence, reason.
const EXCEPTIONS: &[(&str, &str, &str)] = &[];

/// The sentences of some files, and what the rules found.
#[derive(Default)]
struct Area {
    sentences: usize,
    weak: Vec<String>,
}

impl Area {
    fn from_texts(texts: &[Text]) -> Self {
        let prose = Prose::default();
        let mut area = Self::default();
        for Text { path, text } in texts {
            let sentences = prose.sentences(path, text);
            area.sentences += sentences.len();
            let weak = sentences.iter().filter(|it| !it.rules.is_empty() && !is_excepted(path, it));
            area.weak.extend(weak.map(|Sentence { line, text, rules }| {
                format!("{path}:{line}: {}: {text}", rules.join(", "))
            }));
        }
        area
    }

    fn share(&self) -> f64 {
        100.0 * self.weak.len() as f64 / self.sentences.max(1) as f64
    }

    fn assert_within(&self, percent: f64) {
        assert!(self.sentences > 100, "{} sentences found, too few", self.sentences);
        assert!(
            self.share() <= percent,
            "{}\n{} of {} sentences are weak ({:.1} %, at most {percent} %)",
            self.weak.join("\n"),
            self.weak.len(),
            self.sentences,
            self.share(),
        );
    }
}

fn is_excepted(path: &str, sentence: &Sentence) -> bool {
    EXCEPTIONS.iter().any(|(file, begin, _)| *file == path && sentence.text.starts_with(begin))
}

fn texts(extensions: &[&str]) -> Vec<Text> {
    let mut texts = files::texts();
    texts.retain(|text| {
        let is_data = text.path.split('/').any(|folder| DATA.contains(&folder));
        let extension = text.path.rsplit('.').next().unwrap_or_default();
        !is_data && extensions.contains(&extension)
    });
    texts
}

#[test]
fn documents_read_well() {
    Area::from_texts(&texts(&["md"])).assert_within(DOCUMENTS_MAX);
}

#[test]
fn every_page_reads_well() {
    let mut faults = Vec::new();
    for page in texts(&["md"]) {
        let area = Area::from_texts(std::slice::from_ref(&page));
        if area.weak.len() > 1 && area.share() > PAGE_MAX {
            faults.push(format!("{}: {:.1} %\n{}", page.path, area.share(), area.weak.join("\n")));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n\n"));
}

#[test]
fn help_reads_well() {
    let mut help = texts(&["rs"]);
    help.retain(|text| text.path.starts_with(HELP));
    Area::from_texts(&help).assert_within(HELP_MAX);
}

#[test]
fn doc_comments_read_well() {
    let mut comments = texts(&["rs", "py", "ts"]);
    comments.retain(|text| !text.path.starts_with(HELP));
    Area::from_texts(&comments).assert_within(DOC_COMMENTS_MAX);
}

/// An exception without its sentence would hide the next one.
#[test]
fn exceptions_are_in_use() {
    let prose = Prose::default();
    for (file, begin, reason) in EXCEPTIONS {
        assert!(!reason.is_empty(), "{file}: {begin}: no reason");
        let sentences = prose.sentences(file, &files::read(file));
        let is_used = sentences.iter().any(|it| it.text.starts_with(begin) && !it.rules.is_empty());
        assert!(is_used, "{file} has no such weak sentence any more: {begin}");
    }
}

fn found(path: &str, text: &str) -> Vec<(usize, Vec<&'static str>)> {
    let sentences = Prose::default().sentences(path, text);
    sentences.into_iter().filter(|it| !it.rules.is_empty()).map(|it| (it.line, it.rules)).collect()
}

#[test]
fn weak_sentences_are_found() {
    let page = "# What\n\nThe queue holds what was sent. It\nwaits.\n\n- Which is so.\n\n\
                | key | meaning |\n| `a` | nobody asks for this |\n";
    let expected = [
        (3, vec!["clause as noun"]),
        (3, vec!["pronoun without a noun", "two words"]),
        (6, vec!["begins with a relative"]),
        (9, vec!["vague"]),
    ];
    assert_eq!(found("page.md", page), expected);
    let code = "fn f() {}\n/// Who sends.\n/// Idle time that it is told.\nstruct S;\n";
    assert_eq!(
        found("x.rs", code),
        [(2, vec!["begins with a relative", "two words"]), (2, vec!["tell"])]
    );
    assert_eq!(found("x.py", "#: The station for who sends.\n"), [(1, vec!["for who"])]);
    assert_eq!(found("x.ts", " * The page, says `x`.\n"), [(1, vec!["inverted"])]);
    assert_eq!(found("x.md", "A beacon, so many of them.\n"), [(1, vec!["so many"])]);
}

#[test]
fn plain_sentences_are_not_found() {
    let page = "What does the queue hold? The queue holds datagrams to the station.\n\n\
                ```\nIt is what it is.\n```\n\nThe key `what is told` has a [name](it-tells.md).\n";
    assert!(found("page.md", page).is_empty());
    let code = "/// Idle time after which the station dozes, in milliseconds.\nlet x = 1; // It is.\n\
                /// ```\n/// It is told.\n/// ```\n//// Who knows.\n";
    assert!(found("x.rs", code).is_empty());
    assert!(found("x.toml", "# It is told.\n").is_empty());
}

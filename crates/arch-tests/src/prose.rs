//! Finds sentences that a reader stumbles over, by a small table of patterns, in Markdown and in
//! doc comments of Rust, Python and TypeScript.
//!
//! Code blocks, headings and code spans are skipped. A match is a place to look at and no proof
//! of a fault: the test `prose` bounds the share of such sentences and lists the exceptions.

use regex::Regex;

/// A pattern of weak sentences.
struct Rule {
    name: &'static str,
    pattern: &'static str,
    /// Sentences with this pattern are exempt, such as questions.
    except: Option<&'static str>,
}

const RULES: [Rule; 9] = [
    Rule {
        name: "clause as noun",
        pattern: r"\b(what|who|whoever) (is|was|are|were|has|had|it|they|he|comes?|came|goes|went|follows|happens|can|cannot|does|did|becomes?|became|arrives?|waits?|remains?|begins?)\b",
        except: None,
    },
    Rule {
        name: "begins with a relative",
        pattern: r"^(What|Who|Whose|Whom|Which|Whoever|Where|How|Of what|In what)\b",
        except: Some(r"^[^.]*\?"),
    },
    Rule {
        name: "pronoun without a noun",
        pattern: r"^(It|Its|They|Their|Them|Those|Nobody|Nothing|Everybody)\b",
        except: None,
    },
    Rule { name: "for who", pattern: r"\b(for|to|of) (who|whom)\b", except: None },
    Rule { name: "tell", pattern: r"\b(tells?|told|telling)\b", except: None },
    Rule {
        name: "so many",
        pattern: r"\bso (many|long|much) (as|of|after|without|the|a|[a-z]+s)\b|\bone (beacon|packet|frame) of so many\b",
        except: None,
    },
    Rule {
        name: "inverted",
        pattern: r", (says|shows|tells|has|reads|gives) `|\b(is|are) (told of|sent to|waited for|let go of|given away|asked of)\b",
        except: None,
    },
    Rule {
        name: "vague",
        pattern: r"\b(nobody|somebody|everybody|by itself|of (its|their|his) own|in vain|for nothing|given away|under way|hands? up|inbox|rooms?|all that|as ever)\b",
        except: None,
    },
    Rule { name: "two words", pattern: r"^\S+(\s\S+)?\.$", except: None },
];

/// A sentence of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sentence {
    /// Number of the line on which the sentence's paragraph begins, from 1.
    pub line: usize,
    /// Text of the sentence, without markup; a code span is `` `code` ``.
    pub text: String,
    /// Names of the rules that match.
    pub rules: Vec<&'static str>,
}

/// The compiled table of rules.
#[derive(Clone, Debug)]
pub struct Prose {
    rules: Vec<(&'static str, Regex, Option<Regex>)>,
    code: Regex,
    link: Regex,
    emphasis: Regex,
    end: Regex,
    item: Regex,
}

impl Default for Prose {
    fn default() -> Self {
        // Boundaries of ASCII words, because those of Unicode are slow.
        let regex = |pattern: &str| {
            Regex::new(&pattern.replace(r"\b", r"(?-u:\b)")).expect("a pattern of the table")
        };
        let rules = RULES.iter().map(|it| (it.name, regex(it.pattern), it.except.map(regex)));
        Self {
            rules: rules.collect(),
            code: regex(r"`[^`]*`"),
            link: regex(r"\[([^\]]*)\]\([^)]*\)"),
            emphasis: regex(r"[*_]{1,2}"),
            end: regex(r"[.!?:]\s+[A-Z`]"),
            item: regex(r"^([-*]|\d+\.) "),
        }
    }
}

impl Prose {
    /// Returns the sentences of the file at `path`, whose name decides between Markdown and
    /// doc comments.
    pub fn sentences(&self, path: &str, text: &str) -> Vec<Sentence> {
        let blocks = match path.rsplit('.').next() {
            Some("md") => self.markdown(text),
            Some("rs") => comments(text, &["///", "//!"]),
            Some("py") => comments(text, &["#:"]),
            Some("ts") => comments(text, &["*"]),
            _ => Vec::new(),
        };
        blocks.iter().flat_map(|(line, block)| self.split(*line, block)).collect()
    }

    /// Returns the names of the rules that a sentence breaks.
    pub fn broken(&self, sentence: &str) -> Vec<&'static str> {
        let is_broken = |pattern: &Regex, except: &Option<Regex>| {
            pattern.is_match(sentence) && !except.as_ref().is_some_and(|it| it.is_match(sentence))
        };
        let broken = self.rules.iter().filter(|(_, pattern, except)| is_broken(pattern, except));
        broken.map(|(name, ..)| *name).collect()
    }

    fn split(&self, line: usize, block: &str) -> Vec<Sentence> {
        let text = self.code.replace_all(block, "`code`");
        let text = self.link.replace_all(&text, "$1");
        let text = self.emphasis.replace_all(&text, "");
        let mut begin = 0;
        let mut parts = Vec::new();
        for end in self.end.find_iter(&text) {
            parts.push(&text[begin..=end.start()]);
            begin = end.end() - 1;
        }
        parts.push(&text[begin..]);
        let has_word = |part: &str| {
            part.as_bytes().windows(2).any(|pair| pair.iter().all(u8::is_ascii_alphabetic))
        };
        let parts = parts.into_iter().map(str::trim).filter(|part| has_word(part));
        let sentence =
            |text: &str| Sentence { line, text: text.to_owned(), rules: self.broken(text) };
        parts.map(sentence).collect()
    }

    /// Paragraphs, list items, and table cells of more than three words, with their lines.
    fn markdown(&self, text: &str) -> Vec<(usize, String)> {
        let mut blocks = Blocks::default();
        let mut is_code = false;
        for (number, line) in (1..).zip(text.lines()) {
            let trimmed = line.trim();
            if trimmed.starts_with("```") {
                is_code = !is_code;
                blocks.end();
            } else if is_code || line.starts_with('#') || trimmed.is_empty() {
                blocks.end();
            } else if line.starts_with('|') {
                blocks.end();
                for cell in trimmed.trim_matches('|').split('|') {
                    if cell.split_whitespace().count() > 3 {
                        blocks.add(number, cell.trim());
                        blocks.end();
                    }
                }
            } else if let Some(item) = self.item.find(trimmed) {
                blocks.end();
                blocks.add(number, &trimmed[item.end()..]);
            } else {
                blocks.add(number, trimmed);
            }
        }
        blocks.finish()
    }
}

/// Paragraphs of comments that begin with one of `marks`, with their lines.
fn comments(text: &str, marks: &[&str]) -> Vec<(usize, String)> {
    let mut blocks = Blocks::default();
    let mut is_code = false;
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim_start();
        let comment = marks.iter().find_map(|mark| line.strip_prefix(mark));
        let Some(comment) = comment.filter(|rest| !rest.starts_with('/')).map(str::trim) else {
            is_code = false;
            blocks.end();
            continue;
        };
        if comment.starts_with("```") {
            is_code = !is_code;
            blocks.end();
            continue;
        }
        if is_code {
            continue;
        }
        let is_new = ["|", "#", "- ", "* "].iter().any(|mark| comment.starts_with(mark));
        if is_new || comment.is_empty() {
            blocks.end();
        }
        let comment =
            if is_new { comment.trim_start_matches(['#', '-', '*', '|', ' ']) } else { comment };
        if !comment.is_empty() {
            blocks.add(number, comment);
        }
    }
    blocks.finish()
}

/// Collects lines into paragraphs.
#[derive(Default)]
struct Blocks {
    done: Vec<(usize, String)>,
    open: Option<(usize, String)>,
}

impl Blocks {
    fn add(&mut self, line: usize, text: &str) {
        match &mut self.open {
            Some((_, open)) => {
                open.push(' ');
                open.push_str(text);
            }
            None => self.open = Some((line, text.to_owned())),
        }
    }

    fn end(&mut self) {
        self.done.extend(self.open.take());
    }

    fn finish(mut self) -> Vec<(usize, String)> {
        self.end();
        self.done
    }
}

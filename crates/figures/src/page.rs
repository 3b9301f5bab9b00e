//! HTML pages that need no other file and no network: plots and style sheet are inside. A page is
//! light or dark, as the reader's browser prefers, and fits a narrow screen.

use crate::plot::style;
use crate::text::escaped;
use std::fmt::Write;

const STYLE: &str = include_str!("page.css");

/// A table under a heading that `label` repeats for screen readers. Cells of the first `words`
/// columns are text, the others are numbers; the first cell of a row is its head. A table that
/// is wider than the screen scrolls, also by the keyboard. All texts are escaped here.
pub fn table(label: &str, heads: &[&str], words: usize, rows: &[Vec<String>]) -> String {
    let class = |index: usize| if index < words { "" } else { " class=\"number\"" };
    let mut out = String::from("<table><thead><tr>");
    for (index, head) in heads.iter().enumerate() {
        let _ = write!(out, "<th scope=\"col\"{}>{}</th>", class(index), escaped(head));
    }
    out.push_str("</tr></thead><tbody>");
    for row in rows {
        out.push_str("<tr>");
        for (index, cell) in row.iter().enumerate() {
            let (class, cell) = (class(index), escaped(cell));
            let _ = match index {
                0 if !cell.is_empty() => write!(out, "<th scope=\"row\"{class}>{cell}</th>"),
                _ => write!(out, "<td{class}>{cell}</td>"),
            };
        }
        out.push_str("</tr>");
    }
    out.push_str("</tbody></table>");
    scroll(label, &out)
}

/// HTML that may be wider than the screen, in an element that scrolls and can have the focus.
/// `label` is for screen readers.
pub fn scroll(label: &str, html: &str) -> String {
    format!(
        "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"{}\">{html}</div>",
        escaped(label)
    )
}

/// Text with its own lines and spaces, such as a file or a command.
pub fn preformatted(label: &str, text: &str) -> String {
    scroll(label, &format!("<pre>{}</pre>", escaped(text)))
}

/// A page with a title. `body` is HTML; plots in it (`plot::inline_svg`) stand in an element of
/// class `plot`.
pub fn document(title: &str, body: &str) -> String {
    let scope = ".plot ";
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{}</title>\n<style>\n{STYLE}{}\n\
         @media (prefers-color-scheme: dark) {{ {} }}\n</style>\n</head>\n<body>\n<main>\n{body}\n\
         <footer>Made by lasthop {}.</footer>\n</main>\n</body>\n</html>\n",
        escaped(title),
        style::sheet(scope, false),
        style::sheet(scope, true),
        env!("CARGO_PKG_VERSION")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_escaped_and_have_heads() {
        let rows = [vec!["<b> & \"c\"".to_owned(), "1".to_owned()]];
        let table = table("of <it>", &["a<", "b"], 1, &rows);
        assert!(table.contains("<th scope=\"row\">&lt;b&gt; &amp; &quot;c&quot;</th>"), "{table}");
        assert!(table.contains("<td class=\"number\">1</td>") && table.contains(">a&lt;</th>"));
        assert!(table.contains("tabindex=\"0\" aria-label=\"of &lt;it&gt;\""), "{table}");
        assert!(preformatted("", "a < b").contains("<pre>a &lt; b</pre>"));
    }
}

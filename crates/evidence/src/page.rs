//! HTML pages that need no other file and no network: plots and style sheet are inside. A page is
//! light or dark, as the reader's browser prefers, and fits a narrow screen.

use crate::plot::{escaped, style};

const STYLE: &str = include_str!("page.css");

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

//! The built-in scenarios: every file below `scenarios/` of the repository, unchanged (a test
//! compares). The name of a scenario is its path without the extension. All of them together are 90
//! kB, so they are not compressed.

use crate::args::PLACES;

/// A built-in scenario.
#[derive(Clone, Copy, Debug)]
pub struct Shipped {
    /// Name, such as `hello` or `apq/cisco`.
    pub name: &'static str,
    /// Text in TOML.
    pub text: &'static str,
}

macro_rules! shipped {
    ($name:literal) => {
        Shipped {
            name: $name,
            text: include_str!(concat!("../../../../../scenarios/", $name, ".toml")),
        }
    };
}

/// All built-in scenarios in the order of their names; static, so that their text is in the program
/// once.
pub static ALL: [Shipped; 75] = [
    shipped!("apartment"),
    shipped!("apq"),
    shipped!("apq/adapting"),
    shipped!("apq/capacity"),
    shipped!("apq/cisco"),
    shipped!("apq/d-link"),
    shipped!("apq/d-link-home"),
    shipped!("apq/linksys"),
    shipped!("apq/linksys-old"),
    shipped!("apq/linksys-old-busy"),
    shipped!("apq/netgear"),
    shipped!("apq/netgear-home"),
    shipped!("apq/validation"),
    shipped!("awdl"),
    shipped!("contention"),
    shipped!("demo"),
    shipped!("doze"),
    shipped!("edca"),
    shipped!("evening"),
    shipped!("fading"),
    shipped!("far-sensor"),
    shipped!("flent/rrul"),
    shipped!("franc"),
    shipped!("franc/backlog"),
    shipped!("franc/beyond"),
    shipped!("franc/corridor"),
    shipped!("franc/hops"),
    shipped!("franc/tcp"),
    shipped!("franc/udp"),
    shipped!("hello"),
    shipped!("hidden"),
    shipped!("jumbo"),
    shipped!("jumbo/adaptive"),
    shipped!("jumbo/fig4"),
    shipped!("jumbo/fig5"),
    shipped!("jumbo/fig7"),
    shipped!("l4s"),
    shipped!("link"),
    shipped!("office-walk"),
    shipped!("operating-mode"),
    shipped!("phone-call"),
    shipped!("places/apartment-block"),
    shipped!("places/cafe"),
    shipped!("places/cafe-chain"),
    shipped!("places/cafe-dsl"),
    shipped!("places/conference"),
    shipped!("places/edge-of-cell"),
    shipped!("places/home"),
    shipped!("places/hotel"),
    shipped!("places/mesh-home"),
    shipped!("places/metro"),
    shipped!("places/microwave"),
    shipped!("places/next-room"),
    shipped!("places/office"),
    shipped!("places/scan"),
    shipped!("places/train"),
    shipped!("places/walk"),
    shipped!("places/wifi7-house"),
    shipped!("retryout/upload"),
    shipped!("roaming/gap"),
    shipped!("roaming/ping-pong"),
    shipped!("roaming/refused"),
    shipped!("roaming/sticky"),
    shipped!("scan"),
    shipped!("scan/fig3"),
    shipped!("scan/fig6"),
    shipped!("scan/fig7"),
    shipped!("scan/fig9"),
    shipped!("spatial-reuse"),
    shipped!("twt"),
    shipped!("upload"),
    shipped!("video"),
    shipped!("wifi6"),
    shipped!("wifi7"),
    shipped!("wifi7/two-links"),
];

/// Returns the scenario `name`.
pub fn find(name: &str) -> Option<&'static Shipped> {
    ALL.iter().find(|shipped| shipped.name == name)
}

/// Returns the scenarios that are places, by their names without the folder.
pub fn places() -> impl Iterator<Item = (&'static str, &'static Shipped)> {
    ALL.iter().filter_map(|shipped| {
        let name = shipped.name.strip_prefix(PLACES)?.strip_prefix('/')?;
        Some((name, shipped))
    })
}

impl Shipped {
    /// Returns the first sentence of the comment at its beginning. A sentence ends at a full stop
    /// or question mark before a capital letter or a flag, or with its paragraph; so `Figs. 3 and
    /// 4` is inside one.
    pub fn first_sentence(&self) -> String {
        let comment = self.text.lines().map_while(|line| line.strip_prefix('#'));
        let paragraph: Vec<&str> =
            comment.map(str::trim).take_while(|line| !line.is_empty()).collect();
        let paragraph = paragraph.join(" ");
        let end = paragraph.match_indices(['.', '?']).map(|(stop, _)| stop + 1).find(|&end| {
            let next = paragraph[end..].strip_prefix(' ').unwrap_or_default();
            next.starts_with(char::is_uppercase) || next.starts_with("--")
        });
        paragraph[..end.unwrap_or(paragraph.len())].to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use std::fs;
    use std::path::{Path, PathBuf};

    fn files(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).expect("it is there") {
            let path = entry.expect("it can be read").path();
            if path.is_dir() { files(&path, found) } else { found.push(path) }
        }
    }

    #[test]
    fn every_file_is_inside() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
        let mut found = Vec::new();
        files(&folder, &mut found);
        let there: BTreeMap<String, String> = found
            .iter()
            .map(|path| {
                let name = path.strip_prefix(&folder).expect("below it").with_extension("");
                let text = fs::read_to_string(path).expect("text");
                (name.to_str().expect("ASCII").to_owned(), text)
            })
            .collect();
        let inside: Vec<_> =
            ALL.iter().map(|shipped| (shipped.name.to_owned(), shipped.text.to_owned())).collect();
        assert_eq!(inside, there.into_iter().collect::<Vec<_>>());
    }

    /// Each scenario is valid without other files, and begins with a description.
    #[test]
    fn each_needs_no_other_file() {
        for Shipped { name, text } in &ALL {
            lasthop_scenario::parse(name, text, &[]).unwrap_or_else(|why| panic!("{why}"));
            let base = lasthop_scenario::sweep_base(name, text, &[]).expect("it was just read");
            assert_eq!(base.attached, Vec::<PathBuf>::new(), "{name}");
        }
    }

    #[test]
    fn first_sentences() {
        for shipped in &ALL {
            let sentence = shipped.first_sentence();
            assert!(sentence.ends_with(['.', '?']), "{}: {sentence}", shipped.name);
        }
        let sentence = |name| find(name).expect("it is there").first_sentence();
        assert_eq!(
            sentence("scan/fig3"),
            "Upload with TCP small queues while the station scans (Figs. 3, 4 and 5)."
        );
        assert_eq!(sentence("apq"), "How many packets does an access point hold?");
        assert!(sentence("franc/backlog").ends_with("while it is loaded."));
        assert!(sentence("apq/cisco").ends_with("1500 bytes and 67.1 of 750."));
    }
}

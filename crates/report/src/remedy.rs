//! Which remedies a scenario takes: those that are valid there and change something. A node
//! that a `count` made has the key of all of them, so that the name without its number is
//! tried, too.

use crate::finding::Finding;
use lasthop_scenario::{Scenario, parse};

/// The remedy of `finding` as the arguments of `--set` that the scenario `text` takes;
/// empty if it takes none of it, or if it changes nothing.
pub fn applicable(text: &str, finding: &Finding) -> Vec<String> {
    let Some(before) = bare(text, &[]) else { return Vec::new() };
    let mut sets: Vec<String> = Vec::new();
    let mut last = before;
    for set in &finding.remedy {
        let taken =
            [Some(set.clone()), without_number(set)].into_iter().flatten().find_map(|set| {
                let tried: Vec<String> = sets.iter().cloned().chain([set.clone()]).collect();
                let after = bare(text, &tried)?;
                (after != last).then_some((set, after))
            });
        if let Some((set, after)) = taken {
            sets.push(set);
            last = after;
        }
    }
    sets
}

/// The scenario with `sets`, without what only says that they were set.
fn bare(text: &str, sets: &[String]) -> Option<Scenario> {
    let mut scenario = parse("scenario.toml", text, sets).ok()?;
    scenario.set.clear();
    scenario.source_text.clear();
    Some(scenario)
}

/// `node.sta7.queue=..` as `node.sta.queue=..`.
fn without_number(set: &str) -> Option<String> {
    let (name, rest) = set.strip_prefix("node.")?.split_once('.')?;
    let bare = name.trim_end_matches(|it: char| it.is_ascii_digit());
    (bare != name && !bare.is_empty()).then(|| format!("node.{bare}.{rest}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Kind;

    const TEXT: &str = "[[node]]\nname = \"ap\"\nrole = \"access-point\"\n\
        [[node]]\nname = \"sta\"\nrole = \"station\"\ncount = 3\nqueue = { kind = \"drop-tail\" }\n";

    fn remedy(sets: &[&str]) -> Finding {
        let remedy = sets.iter().map(|&set| set.to_owned()).collect();
        Finding { kind: Kind::OwnQueue, sentence: String::new(), weight: 1.0, remedy }
    }

    #[test]
    fn a_remedy_is_valid_and_changes_something() {
        let taken = |sets: &[&str]| applicable(TEXT, &remedy(sets));
        assert_eq!(taken(&["node.sta.queue.kind=fq-codel"]), ["node.sta.queue.kind=fq-codel"]);
        assert_eq!(taken(&["node.sta2.queue.kind=fq-codel"]), ["node.sta.queue.kind=fq-codel"]);
        assert_eq!(taken(&["node.ap.queue.kind=fq-codel"]), [""; 0], "it is so already");
        assert_eq!(taken(&["node.nobody.queue.kind=fq-codel"]), [""; 0]);
        assert_eq!(taken(&["flow.none.tcp.sack=true"]), [""; 0]);
        assert_eq!(applicable("no scenario", &remedy(&["seed=2"])), [""; 0]);
    }
}

//! The scenarios that are shipped: they load, and the text that is kept loads
//! to the same again, with and without `--set`.

use lasthop_scenario::{Scenario, load, parse};
use std::path::{Path, PathBuf};

fn shipped() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let entries =
        std::fs::read_dir(folder).expect("the folder is there").flatten().map(|entry| entry.path());
    let mut files: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|end| end == "toml")).collect();
    files.sort();
    assert!(files.len() >= 6);
    files
}

fn load_or_panic(path: &Path, sets: &[&str]) -> Scenario {
    let sets: Vec<String> = sets.iter().map(|&set| set.into()).collect();
    load(path, &sets).unwrap_or_else(|why| panic!("{why}"))
}

#[test]
fn they_load_and_say_what_they_show() {
    for path in shipped() {
        let scenario = load_or_panic(&path, &[]);
        assert_eq!(Some(scenario.name.as_str()), path.file_stem().and_then(|stem| stem.to_str()));
        assert!(scenario.source_text.starts_with("# "), "{}", path.display());
        let again = parse("again.toml", &scenario.source_text, &[]).expect("it was valid");
        assert_eq!(again, scenario);
    }
}

#[test]
fn what_was_set_is_in_the_text_that_is_kept() {
    for path in shipped() {
        let sets = [
            "duration=40s",
            "seed=7",
            "flow.0.start=1.5s",
            "node.0.mtu=1400",
            "emulation = { lateness_max = \"2ms\" }",
            "node.0.host_cost.per_packet=10us",
            "node_defaults.host_cost.per_byte=1ns",
        ];
        let scenario = load_or_panic(&path, &sets);
        assert_eq!(scenario.duration, lasthop_units::Duration::from_secs(40));
        assert_eq!(scenario.network.nodes[0].mtu, 1400);
        let mut again = parse("again.toml", &scenario.source_text, &[]).expect("it was valid");
        assert_eq!(std::mem::replace(&mut again.set, scenario.set.clone()), [""; 0]);
        assert_eq!(scenario.set, sets);
        assert_eq!(again, scenario, "{}", scenario.source_text);
    }
}

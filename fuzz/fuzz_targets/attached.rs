//! Any bytes as the files that a scenario names: a table of packet error rates, the sizes of
//! recorded frames, and a movement. An error names the file.
#![no_main]

use lasthop_fuzz::Folder;
use lasthop_scenario::{ScenarioError, parse};
use libfuzzer_sys::fuzz_target;
use std::fs;

const CELL: &str = r#"
duration = "20ms"
[[node]]
name = "ap"
role = "access-point"
[[node]]
name = "sta"
role = "station"
"#;

fuzz_target!(|bytes: &[u8]| {
    let folder = Folder::new();
    let file = folder.path().join("file");
    fs::write(&file, bytes).expect("there is room");
    let path = file.to_str().expect("text");
    named(
        parse("a.toml", &format!("{CELL}[channel]\nerror_model = {{ table = \"{path}\" }}\n"), &[]),
        path,
    );
    let flow = "[[flow]]\nname = \"film\"\nfrom = \"ap\"\nto = \"sta\"\nkind = \"video\"\ntrace";
    named(parse("a.toml", &format!("{CELL}{flow} = \"{path}\"\n"), &[]), path);
    for node in ["sta", "0"] {
        let trace = format!("trace = {{ file = \"{path}\", node = \"{node}\" }}\n");
        named(parse("a.toml", &format!("{CELL}{trace}"), &[]), path);
    }
});

fn named<T>(read: Result<T, ScenarioError>, path: &str) {
    if let Err(why) = read {
        assert!(why.problems().iter().all(|problem| problem.message.contains(path)), "{why}");
    }
}

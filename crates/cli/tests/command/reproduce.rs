//! `lasthop reproduce`: one figure from its scenario to the files, with any number of
//! jobs; and an interrupt, which leaves nothing.

use crate::lasthop::{Scratch, lasthop, output, run};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

/// A figure that takes little time.
const FIGURE: &str = "jumbo/fig7";

#[test]
fn a_figure_fills_a_directory() {
    let scratch = Scratch::new("reproduce");
    let dated = |arguments: &[&str]| {
        let output = lasthop(arguments).env("SOURCE_DATE_EPOCH", "951782400").output();
        let output = output.expect("the binary can be run");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("it prints text")
    };
    let text = dated(&["reproduce", FIGURE, "--out", scratch.text()]);
    assert!(text.starts_with("jumbo: Implementing"), "{text}");
    assert!(text.contains("seed 1"), "{text}");
    let expected = [
        "index.html",
        "jumbo-fig7.png",
        "jumbo-fig7.svg",
        "jumbo.csv",
        "jumbo.html",
        "jumbo.md",
        "reproduce.json",
    ];
    assert_eq!(scratch.names(), expected);

    let read = |name: &str| std::fs::read(scratch.path().join(name)).expect("it is there");
    let page = String::from_utf8(read("jumbo.html")).expect("a page is text");
    assert!(page.contains("id=\"fig7\"") && page.contains("<svg class=\"wide\" role=\"img\""));
    assert!(!page.contains("<script") && !page.contains("src="), "a page needs no other file");
    assert!(read("jumbo-fig7.png").starts_with(b"\x89PNG\r\n"));

    let json = dated(&["reproduce", FIGURE, "--json", "--jobs", "1"]);
    assert_eq!(json.as_bytes(), read("reproduce.json"), "jobs show in nothing");
    let document: Value = serde_json::from_str(&json).expect("one JSON document");
    let schema: Value =
        serde_json::from_str(&output(&["schema", "reproduce"])).expect("a JSON document");
    let validator = jsonschema::draft202012::new(&schema).expect("the schema is one");
    let errors: Vec<_> = validator.iter_errors(&document).map(|e| e.to_string()).collect();
    assert!(errors.is_empty(), "{errors:#?}");
    assert_eq!(document["figures"][0]["key"], "jumbo");
    assert_eq!(document["figures"][0]["figure"], "fig7");
    assert_eq!(document["date"], "2000-02-29");
    assert_eq!(document["version"], env!("CARGO_PKG_VERSION"));
    let curves = &document["curves"][0];
    assert_eq!((&curves["key"], &curves["figure"]), (&"jumbo".into(), &"fig7".into()));
    let points = &curves["panels"][0]["series"][0]["points"];
    assert!(points.as_array().is_some_and(|points| points.len() > 1), "{curves}");
    let refused = lasthop(&["reproduce", FIGURE]).env("SOURCE_DATE_EPOCH", "today").output();
    let refused = refused.expect("the binary can be run");
    assert_eq!(refused.status.code(), Some(2));
    let message = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(message.contains("SOURCE_DATE_EPOCH=today: expected whole seconds"), "{message}");
}

#[test]
fn a_pipe_has_the_table_in_full() {
    // Its quantities have long names.
    let figure = "jumbo/fig5";
    // On standard error it may say how far it is.
    let stdout = |arguments: &[&str]| {
        let output = run(arguments);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("it prints text")
    };
    let text = stdout(&["reproduce", figure]);
    let json: Value =
        serde_json::from_str(&stdout(&["reproduce", figure, "--json"])).expect("one JSON document");
    let rows = json["figures"].as_array().expect("a list");
    let names = rows.iter().map(|row| row["quantity"].as_str().expect("a name"));
    let long: Vec<&str> = names.filter(|name| name.len() > 48).collect();
    assert!(!long.is_empty() && long.iter().all(|name| text.contains(name)), "{text}");
    assert!(!text.contains('\u{2026}'), "{text}");
}

#[test]
fn what_there_is_is_told() {
    for (wanted, near) in
        [("jumbo/fig99", "mean \"jumbo/fig"), ("jumob", "mean \"jumbo\"?"), ("nonsense", "")]
    {
        let output = run(&["reproduce", wanted]);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{errors}");
        assert!(errors.contains(wanted) && errors.contains("jumbo (/fig4"), "{errors}");
        assert!(errors.contains(near), "{errors}");
    }
}

/// Without a key nothing is run.
#[test]
fn what_can_be_made_is_listed() {
    let text = output(&["reproduce"]);
    for paper in lasthop_studies::reproduce::PAPERS {
        assert!(text.contains(&format!("{}: {}", paper.key, paper.title)), "{text}");
        for figure in paper.figures {
            assert!(text.contains(&format!("  {}/{} ", paper.key, figure.id)), "{text}");
        }
    }
    assert!(text.contains("--all makes every one"), "{text}");
    for more in [&["--json"][..], &["--check"], &["--out", "/nonexistent"]] {
        let refused = run(&[&["reproduce"], more].concat());
        let errors = String::from_utf8_lossy(&refused.stderr);
        assert_eq!(refused.status.code(), Some(2), "{errors}");
        assert!(errors.contains("or --all"), "{errors}");
    }
    assert_eq!(run(&["reproduce", "scan", "--all"]).status.code(), Some(2));
}

#[test]
fn an_interrupt_leaves_nothing() {
    let scratch = Scratch::new("reproduce-interrupt");
    let child = lasthop(&["reproduce", "--all", "--jobs", "1", "--out", scratch.text()])
        .spawn()
        .expect("it can be run");
    kill(Pid::from_raw(child.id() as i32), Signal::SIGTERM).expect("it runs");
    let output = child.wait_with_output().expect("it ends");
    // It may have ended before it caught the signal.
    assert!(matches!(output.status.code(), Some(143) | None), "{:?}", output.status);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "");
    assert!(!scratch.path().exists());
}

//! The output of `--help`: that of every verb ends in an example.

use crate::lasthop::output;

#[test]
fn help_of_all_verbs() {
    let mut text = output(&["--help"]);
    let verbs = [
        "simulate",
        "sweep",
        "emulate",
        "compare",
        "report",
        "reproduce",
        "apq",
        "apq serve",
        "apq measure",
        "franc",
        "franc run",
        "franc stats",
        "franc key",
        "capture",
        "schema",
        "demo",
    ];
    for verb in verbs {
        let arguments: Vec<&str> = verb.split(' ').chain(["--help"]).collect();
        let help = output(&arguments);
        let (_, examples) = help.split_once("\nExample").expect("there is an example");
        assert!(examples.contains(&format!("  lasthop {verb}")), "{verb}");
        text += &format!("\n==> {verb}\n{help}");
    }
    insta::assert_snapshot!(text);
}

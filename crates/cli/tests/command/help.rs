//! What `--help` says. Every verb's ends in an example.

use crate::lasthop::output;

#[test]
fn help_of_all_verbs() {
    let mut text = output(&["--help"]);
    for verb in ["simulate", "emulate", "compare", "reproduce", "schema", "demo"] {
        let help = output(&[verb, "--help"]);
        let (_, examples) = help.split_once("\nExample").expect("there is an example");
        assert!(examples.contains(&format!("  lasthop {verb}")), "{verb}");
        text += &format!("\n==> {verb}\n{help}");
    }
    insta::assert_snapshot!(text);
}

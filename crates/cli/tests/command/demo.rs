//! `lasthop demo` shows the promised effect, emulated and simulated.

use crate::lasthop::{lasthop, output, skipped};
use std::process::Command;

/// The two numbers in the row that starts with `label`.
fn row(text: &str, label: &str) -> [f64; 2] {
    let row = text.lines().find_map(|line| line.trim_start().strip_prefix(label));
    let numbers: Vec<f64> = row
        .expect("the table has the row")
        .split_whitespace()
        .map(|cell| cell.parse().expect("a number"))
        .collect();
    numbers.try_into().expect("two columns")
}

/// Asserts that the queue made the ping slow, that mending it makes the ping fast, and
/// that this costs no goodput.
fn assert_shows_it(text: &str) {
    let [slow, fast] = row(text, "ping, ms: mean");
    assert!(slow > 5.0 * fast, "{text}");
    let [before, after] = row(text, "upload, Mb/s");
    assert!(after > 0.8 * before, "{text}");
    let [queue, _] = row(text, "in the laptop's queue, behind the upload");
    let [delay, _] = row(text, "all together");
    assert!(queue > 0.8 * delay, "{text}");
}

#[test]
fn with_real_tcp() {
    if skipped() {
        return;
    }
    let text = output(&["demo"]);
    assert!(text.starts_with("The same upload"), "{text}");
    assert_shows_it(&text);
}

#[test]
fn without_namespaces() {
    let refused = "echo 0 > /proc/sys/user/max_net_namespaces && exec \"$0\" demo";
    let binary = lasthop(&[]).get_program().to_owned();
    let tried = Command::new("unshare").args(["-Urn", "sh", "-c", refused]).arg(binary).output();
    let tried = match tried {
        Ok(tried) if tried.status.success() => tried,
        other => {
            eprintln!("skipped, because unshare -Urn does not do it: {other:?}");
            return;
        }
    };
    let text = String::from_utf8(tried.stdout).expect("it prints text");
    assert!(text.starts_with("The kernel refuses what an emulation needs: unshare"), "{text}");
    assert_shows_it(&text);
}

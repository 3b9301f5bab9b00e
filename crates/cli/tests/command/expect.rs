//! `--expect`: exit statuses, the table, and the JUnit file as read by Python's parser.

use crate::lasthop::{Scratch, lasthop, run, skipped};
use std::process::Command;

/// The ping waits for tens of ms behind the upload.
const UPLOAD: [&str; 4] = ["simulate", "upload", "--set", "duration=5s"];
/// Prints the content of a JUnit file by Python's parser: a line for each case, and the lines of
/// failures.
const READ: &str = "
import sys, xml.etree.ElementTree as tree
suites = tree.parse(sys.argv[1]).getroot()
print(suites.tag, suites.get('tests'), suites.get('failures'))
for case in suites.iter('testcase'):
    failures = case.findall('failure')
    print(case.get('name'), len(failures), *(len(failure.text.splitlines()) for failure in failures))
";

fn ended(arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = run(arguments);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn the_status_says_whether_all_is_as_expected() {
    let met = ["--expect", "flow.ping.rtt_ms.p50 > 1", "--expect", "node.*.queue_drops <= 0"];
    let (status, output, _) = ended(&[&UPLOAD[..], &met].concat());
    assert_eq!(status, Some(0), "{output}");
    assert_eq!(output.matches("  met ").count(), 2, "{output}");
    // One of two is enough, in one of several runs.
    let not_met = ["--runs", "3", "--expect", "flow.*.rtt_ms.p95 < 100"];
    let (status, output, _) = ended(&[&UPLOAD[..], &met, &not_met].concat());
    assert_eq!(status, Some(1), "{output}");
    let line = output.lines().find(|line| line.contains("not met")).expect("it is there");
    assert!(line.contains("flow.*.rtt_ms.p95 < 100") && line.contains("of 6 not met"), "{line}");
    // What has no value is not met: the ping starts too late for an echo.
    let never = ["--set", "flow.ping.start=4999ms", "--expect", "flow.ping.rtt_ms.max < 1000"];
    let (status, output, _) = ended(&[&UPLOAD[..], &never].concat());
    assert_eq!(status, Some(1), "{output}");
    assert!(output.contains("no value"), "{output}");
    // The document stays alone on standard output.
    let json = ["--json", "--expect", "flow.ping.rtt_ms.p95 < 1"];
    let (status, output, errors) = ended(&[&UPLOAD[..], &json].concat());
    assert_eq!(status, Some(1), "{errors}");
    let _: serde_json::Value = serde_json::from_str(&output).expect("one document");
    assert!(errors.contains("not met"), "{errors}");
}

#[test]
fn what_cannot_be_is_refused_before_anything_runs() {
    let scratch = Scratch::new("expect-wrong");
    for (expectation, words) in [
        ("flow.pong.rtt_ms.p95 < 100", "there is no flow \"pong\"; did you mean \"ping\"?"),
        ("flow.x.rtt_ms.p95 < 100", "the flows are upload, ping"),
        ("node.desktop.queue_drops < 1", "there is no node \"desktop\""),
        ("link.laptop->tv.mpdu_error_rate < 1", "there is no link \"laptop->tv\""),
        ("flow.ping.rtt_ms.p95 < fast", "\"fast\" is no number"),
        ("flow.ping.rtt < 1", "a flow has no number \"rtt\""),
        ("flow.ping.rtt_ms.p95", "expected QUANTITY < NUMBER"),
        ("program.*.packets_lost <= 0", "no program runs here"),
    ] {
        let asked = ["--out", scratch.text(), "--expect", expectation];
        let (status, output, errors) = ended(&[&UPLOAD[..], &asked].concat());
        assert_eq!((status, output.as_str()), (Some(2), ""), "{expectation}: {errors}");
        assert!(errors.contains(words), "{expectation}: {errors}");
    }
    let (status, _, errors) = ended(&[&UPLOAD[..], &["--junit", "x.xml"]].concat());
    assert_eq!(status, Some(2), "{errors}");
    assert!(!scratch.path().exists());
}

#[test]
fn a_junit_file_is_read_by_others() {
    let scratch = Scratch::new("expect-junit");
    std::fs::create_dir_all(scratch.path()).expect("a folder");
    let file = scratch.path().join("results & more.xml");
    let file = file.to_str().expect("text");
    let expected = ["--expect", "flow.*.rtt_ms.p95 < 1", "--expect", "link.laptop->ap.ppdus > 1"];
    let more = ["--runs", "2", "--junit", file];
    assert_eq!(ended(&[&UPLOAD[..], &expected, &more].concat()).0, Some(1));
    let read = Command::new("python3").args(["-c", READ, file]).output();
    let Ok(read) = read else {
        println!("skipped, because there is no python3 here");
        return;
    };
    assert_eq!(
        String::from_utf8_lossy(&read.stdout),
        "testsuites 2 1\nflow.*.rtt_ms.p95 < 1 1 4\nlink.laptop->ap.ppdus > 1 0\n",
        "{}",
        String::from_utf8_lossy(&read.stderr)
    );
    // A folder that is not there: the status of an error, whatever is met.
    let nowhere = scratch.path().join("no");
    std::fs::write(&nowhere, "a file").expect("written");
    let inside = nowhere.join("x.xml");
    let more = ["--expect", "duration_s > 1", "--junit", inside.to_str().expect("text")];
    assert_eq!(ended(&[&UPLOAD[..], &more].concat()).0, Some(2));
}

#[test]
fn an_emulation_ends_with_what_is_expected_unless_its_command_fails() {
    if skipped() {
        return;
    }
    // Less than the link carries: a queue that is always full may drop a ping.
    let emulate = ["emulate", "hello", "--set", "flow.up.rate=20Mb/s", "--expect"];
    let not_met = [&emulate[..], &["packets_never < 1"]].concat();
    assert_eq!(ended(&not_met).0, Some(2));
    for (expectation, command, status) in [
        ("duration_s < 1000", "exit 0", 0),
        ("duration_s > 1000", "exit 0", 1),
        ("program.icmp laptop -> *.packets_received >= 2", "ping -c 2 -i 0.2 ap", 0),
        ("program.icmp laptop -> *.packets_received >= 3", "ping -c 2 -i 0.2 ap", 1),
        ("program.tcp *.packets_received >= 0", "exit 0", 1),
        ("duration_s > 1000", "exit 7", 7),
    ] {
        let output = lasthop(&[&emulate[..], &[expectation, "--", "sh", "-c"]].concat())
            .arg(command)
            .output()
            .expect("it can be run");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(status), "{expectation}, {command}: {errors}");
        assert!(errors.contains("Expectations"), "{errors}");
    }
}

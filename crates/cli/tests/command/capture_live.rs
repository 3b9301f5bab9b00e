//! `lasthop capture` of live sources: a pipe that is fed slowly, or waits; a terminal; an
//! interface.

use crate::lasthop::{Scratch, interruptible, output, run};
use nix::sys::signal::{Signal, kill};
use nix::sys::stat::Mode;
use nix::unistd::{Pid, mkfifo};
use serde_json::Value;
use std::fs::{self, OpenOptions};
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

#[expect(clippy::disallowed_methods, reason = "a pipe that is slow")]
fn wait_ms(milliseconds: u64) {
    std::thread::sleep(Duration::from_millis(milliseconds));
}

/// The air of half a second.
fn air(scratch: &Scratch) -> Vec<u8> {
    let out = scratch.path().join("run");
    let sets = ["--set", "duration=500ms", "--pcap", "--out", out.to_str().expect("it is text")];
    output(&[&["simulate", "scenarios/hello.toml"][..], &sets].concat());
    fs::read(out.join("air.pcapng")).expect("it was written")
}

fn interrupt(child: &Child) {
    kill(Pid::from_raw(child.id() as i32), Signal::SIGINT).expect("it runs");
}

/// Half of a capture comes, then nothing, and the pipe stays open: an interrupt gives the report of
/// that half, with and without lines on the way.
#[test]
fn an_interrupt_gives_the_report_of_a_pipe_that_waits() {
    let scratch = Scratch::new("capture-waits");
    let bytes = air(&scratch);
    let half = bytes.len() / 2;
    for watched in [true, false] {
        let arguments = ["capture", "-", "--json", "--watch"];
        let arguments = if watched { &arguments[..] } else { &arguments[..3] };
        let mut child = interruptible(arguments).stdin(Stdio::piped()).spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        input.write_all(&bytes[..half]).unwrap();
        let mut errors = BufReader::new(child.stderr.take().unwrap());
        let mut lines = String::new();
        if watched {
            while !lines.contains("stations 2") {
                assert!(errors.read_line(&mut lines).unwrap() > 0, "{lines}");
            }
        } else {
            wait_ms(1_500);
        }
        interrupt(&child);
        let ended = child.wait_with_output().unwrap();
        drop(input);
        errors.read_to_string(&mut lines).unwrap();
        assert_eq!(ended.status.code(), Some(0), "{lines}");
        assert_eq!(watched, !lines.is_empty(), "{lines}");
        let document: Value = serde_json::from_slice(&ended.stdout).unwrap();
        assert!(document["frames"].as_u64().unwrap() > 1_000, "{document:#}");
        assert_eq!(document["errors"].as_array().unwrap().len(), 0);
    }
}

/// A source without any packet leaves nothing to report, which is an error as with a file.
#[test]
fn an_interrupt_before_anything_came_ends_with_130() {
    let mut child = interruptible(&["capture", "-"]).stdin(Stdio::piped()).spawn().unwrap();
    let input = child.stdin.take();
    wait_ms(300);
    interrupt(&child);
    let ended = child.wait_with_output().unwrap();
    drop(input);
    assert_eq!((ended.status.code(), ended.stdout.len()), (Some(130), 0));
    let errors = String::from_utf8(ended.stderr).unwrap();
    assert!(errors.contains("interrupted"), "{errors}");
}

/// On a terminal a pipe that is fed slowly is shown, keys come from the terminal, and the report
/// follows the view. `script` has the terminal.
#[test]
fn a_slow_pipe_is_shown_on_a_terminal() {
    if Command::new("script").arg("--version").stdout(Stdio::null()).status().is_err() {
        return eprintln!("skipped, because there is no `script`");
    }
    let scratch = Scratch::new("capture-terminal");
    let bytes = air(&scratch);
    let fifo = scratch.path().join("air");
    mkfifo(&fifo, Mode::S_IRWXU).unwrap();
    let command = format!(
        "stty cols 140 rows 30; exec {} capture - < {}",
        env!("CARGO_BIN_EXE_lasthop"),
        fifo.display()
    );
    let mut child = Command::new("script")
        .args(["-qec", &command, "/dev/null"])
        .env("TERM", "xterm-256color")
        .env("SHELL", "/bin/sh")
        .env_remove("NO_COLOR")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut keys = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || {
        let mut pipe = OpenOptions::new().write(true).open(fifo).unwrap();
        for part in bytes.chunks(bytes.len() / 40) {
            pipe.write_all(part).unwrap();
            pipe.flush().unwrap();
            wait_ms(80);
        }
        // The view is there, the pipe still open: only the key ends it.
        wait_ms(1_500);
        keys.write_all(b"sd").unwrap();
        keys.flush().unwrap();
        wait_ms(300);
        keys.write_all(b"q").unwrap();
        keys.flush().unwrap();
        wait_ms(3_000);
        drop(pipe);
        keys
    });
    let ended = child.wait_with_output().unwrap();
    drop(writer.join().unwrap());
    let text = String::from_utf8_lossy(&ended.stdout);
    let (begin, end) = ("\x1b[?1049h", "\x1b[?1049l");
    let shown = text.split_once(begin).unwrap_or_else(|| panic!("no view: {text}")).1;
    let (view, report) = shown.split_once(end).expect("the terminal is restored");
    for word in ["frames/s", "channel", "retry%", "02:1a:00:00:00:", "nothing found so far"] {
        assert!(view.contains(word), "{word}: {view}");
    }
    assert!(report.contains("What is wrong, worst first"), "{report}");
    assert!(report.contains("Network hello"), "{report}");
    assert!(ended.status.success());
}

#[test]
fn an_interface_that_is_not_there_is_refused() {
    let ended = run(&["capture", "--live", "nothing9"]);
    assert_eq!((ended.status.code(), ended.stdout.len()), (Some(2), 0));
    let errors = String::from_utf8(ended.stderr).unwrap();
    assert!(
        errors.contains("cannot capture from \"nothing9\": if_nametoindex(nothing9)"),
        "{errors}"
    );
    let ended = run(&["capture", "--live", "lo", "air.pcap"]);
    assert_eq!(ended.status.code(), Some(2));
    let ended = run(&["capture"]);
    assert_eq!(ended.status.code(), Some(2));
}

/// A veth pair in a namespace of an ordinary user: packets are those that were sent, also right
/// before an interrupt, or before the interface goes down.
#[test]
fn an_interface_is_captured() {
    let namespace = ["--user", "--map-root-user", "--net"];
    let is_there = |program: &str, arguments: &[&str]| {
        let mut command = Command::new(program);
        let status = command.args(arguments).stdout(Stdio::null()).stderr(Stdio::null()).status();
        status.is_ok_and(|status| status.success())
    };
    if !is_there("unshare", &[&namespace[..], &["ip", "link"]].concat()) {
        return eprintln!("skipped, because there is no namespace with `unshare`, or no `ip`");
    }
    let scratch = Scratch::new("capture-interface");
    fs::create_dir_all(scratch.path()).unwrap();
    for end in ["kill -INT $pid", "ip link set vb down"] {
        let script = format!(
            "set -e; cd {folder}; rm -f errors
             ip link add va type veth peer name vb
             ip address add 10.9.0.1/24 dev va
             ip link set va up; ip link set vb up
             ip neighbour add 10.9.0.2 lladdr 02:00:00:00:00:02 dev va
             env --default-signal=INT {lasthop} capture --live vb --json --watch \
                 2> errors > document & pid=$!
             until grep -q stations errors; do sleep 0.05; done
             for n in 1 2 3 4 5 6 7; do echo $n > /dev/udp/10.9.0.2/9999; done
             {end}; wait $pid",
            folder = scratch.text(),
            lasthop = env!("CARGO_BIN_EXE_lasthop"),
        );
        let ended =
            Command::new("unshare").args(namespace).args(["bash", "-c", &script]).output().unwrap();
        let errors = fs::read_to_string(scratch.path().join("errors")).unwrap_or_default();
        let trouble = String::from_utf8_lossy(&ended.stderr);
        assert!(ended.status.success(), "{end}: {trouble}; {errors}");
        assert!(errors.starts_with("vb: not a monitor interface: its packets are Ethernet"));
        let document = fs::read(scratch.path().join("document")).unwrap();
        let document: Value = serde_json::from_slice(&document).unwrap();
        assert_eq!(document["file"], "vb");
        assert_eq!(document["link_types"].as_object().unwrap().keys().next().unwrap(), "Ethernet");
        let packets = |port: &str| -> u64 {
            let flows = document["flows"].as_object().unwrap().iter();
            let flows = flows.filter(|(name, _)| name.contains(port));
            flows
                .map(|(_, flow)| flow["from"].as_object().unwrap())
                .flat_map(|from| from.values().map(|from| from["packets"].as_u64().unwrap()))
                .sum()
        };
        assert_eq!(packets("10.9.0.2:9999"), 7, "{document:#}");
        let down = errors.contains("packets: capture of vb: Network is down");
        assert_eq!(down, end.starts_with("ip"), "{errors}");
        assert_eq!(document["errors"].as_array().unwrap().len(), usize::from(down));
    }
}

//! No command changes the machine, however it ends: its mounts, links, sysctls and named network
//! namespaces stay the same, also for root, and with shared mounts, which systemd makes
//! (mount_namespaces(7)). Run as root, the test makes such a machine from new namespaces; the real
//! machine's mounts take no part in it.

#![expect(clippy::disallowed_methods, reason = "waits for other processes")]

use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, geteuid};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Named network namespaces of the machine.
const NAMED: [&str; 2] = ["blue", "green"];
/// Sysctls that change without a write.
const COUNTERS: [&str; 8] = [
    "/fs/dentry-state",
    "/fs/file-nr",
    "/fs/inode-",
    "/fs/quota",
    "/kernel/ns_last_pid",
    "/kernel/pty/nr",
    "/kernel/random",
    "/net/netfilter/nf_conntrack_count",
];
/// When each way of ending begins, in milliseconds after the start: while namespaces are made,
/// and while programs run in them.
const MOMENTS_MS: [u64; 2] = [15, 350];

/// State of the machine that a command could change for others.
#[derive(PartialEq, Eq)]
struct State(BTreeMap<String, String>);

impl State {
    fn read() -> Self {
        let mut all = BTreeMap::new();
        let mounts = fs::read_to_string("/proc/self/mountinfo").expect("procfs is mounted");
        all.extend(mounts.lines().map(|line| (format!("mount {line}"), String::new())));
        let links = fs::read_dir("/sys/class/net").expect("sysfs is mounted").flatten();
        all.extend(links.map(|link| (format!("link {}", link.path().display()), String::new())));
        sysctls(Path::new("/proc/sys"), &mut all);
        Self(all)
    }

    /// Returns the entries that only one of the two has, or that differ.
    fn difference(&self, other: &Self) -> Vec<String> {
        let of = |a: &Self, b: &Self| {
            let only = a.0.iter().filter(|(name, value)| b.0.get(*name) != Some(value));
            only.map(|(name, value)| format!("{name} {value}")).collect::<Vec<_>>()
        };
        [of(self, other), of(other, self)].concat()
    }
}

fn sysctls(folder: &Path, all: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let name = path.display().to_string();
        if COUNTERS.iter().any(|counter| name.starts_with(&format!("/proc/sys{counter}"))) {
            continue;
        }
        if path.is_dir() {
            sysctls(&path, all)
        } else if let Ok(value) = fs::read(&path) {
            all.insert(name, String::from_utf8_lossy(&value).into_owned());
        }
    }
}

fn run(line: &str) -> bool {
    Command::new("sh").args(["-c", line]).status().is_ok_and(|status| status.success())
}

fn start(folder: &Path, line: &str) -> Child {
    let program = env!("CARGO_BIN_EXE_lasthop");
    // With signals as in a terminal, also where the tests run in the background of a shell.
    let mut command = Command::new("env");
    command.args(["--default-signal=INT,TERM,HUP", program]).args(line.split(' '));
    command.current_dir(folder).env("RUNTIME_DIRECTORY", folder);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().expect("the binary can be run")
}

/// Waits until `child` ends, 30 s at most, and returns its status.
fn end(child: &mut Child, line: &str) -> Option<i32> {
    let begin = Instant::now();
    loop {
        if let Some(status) = child.try_wait().expect("it is a child") {
            return status.code();
        }
        assert!(begin.elapsed() < Duration::from_secs(30), "{line} does not end");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn every_command_leaves_the_machine_as_it_was() {
    if !geteuid().is_root() {
        eprintln!("skipped, because only root can change the machine's mounts");
        return;
    }
    // First private, so that no mount of the real machine is among those that are shared next.
    let inner = "mount -t tmpfs none /run && ip link set lo up && \
                 exec \"$0\" --exact on_a_shared_machine --ignored --nocapture --test-threads=1";
    let own = std::env::current_exe().expect("it has a name");
    let mut outer = Command::new("unshare");
    outer.args(["--mount", "--net", "--propagation", "private"]);
    outer.args(["unshare", "--mount", "--propagation", "shared", "sh", "-c", inner]).arg(own);
    let output = match outer.output() {
        Ok(output) => output,
        Err(error) => {
            eprintln!("skipped, because unshare cannot be run: {error}");
            return;
        }
    };
    let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    if text.contains("unshare failed") || text.contains("mount: ") {
        eprintln!("skipped, because namespaces are refused: {text}");
        return;
    }
    print!("{text}");
    assert!(output.status.success(), "{text}");
}

/// Part of the test above, in its namespaces.
#[test]
#[ignore = "run by the other test, where all mounts are shared"]
fn on_a_shared_machine() {
    let folder = std::env::temp_dir().join(format!("lasthop-machine-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("it can be made");
    let result = std::panic::catch_unwind(|| try_all(&folder));
    fs::remove_dir_all(&folder).expect("it can be removed");
    if let Err(panic) = result {
        std::panic::resume_unwind(panic);
    }
}

fn try_all(folder: &Path) {
    for name in NAMED {
        assert!(run(&format!("ip netns add {name}")), "ip is there");
    }
    let mounts = fs::read_to_string("/proc/self/mountinfo").expect("procfs is mounted");
    let of_root = mounts.lines().find(|line| line.split(' ').nth(4) == Some("/"));
    assert!(of_root.is_some_and(|line| line.contains(" shared:")), "{mounts}");
    for line in ["franc key --out link.key", "simulate hello --set duration=1s --out run"] {
        assert_eq!(end(&mut start(folder, line), line), Some(0), "{line}");
    }
    let before = State::read();
    let assert_unchanged = |line: &str| {
        let difference = before.difference(&State::read());
        assert!(difference.is_empty(), "{line} changed {difference:#?}");
        for name in NAMED {
            assert!(run(&format!("ip netns exec {name} true")), "{line} took {name} away");
        }
    };
    // Those that end by themselves do so first.
    for line in [
        "doctor",
        "doctor --json",
        "compare hello --duration 300ms",
        "emulate hello --duration 300ms",
        "emulate hello --duration 300ms --outside",
        "emulate hello --duration 300ms --reach 8000 --publish 18077",
        "emulate hello --outside -- true",
    ] {
        let status = end(&mut start(folder, line), line);
        let is_there = !line.contains("--outside") || run("command -v slirp4netns > /dev/null");
        assert!(status == Some(0) || !is_there, "{line}: {status:?}");
        assert_unchanged(line);
    }
    for line in [
        "doctor",
        "compare hello --duration 20s",
        "emulate hello --duration 20s",
        "emulate hello --duration 20s --outside",
        "emulate hello --outside --reach 8000 --publish 18077 -- sleep 20",
        "emulate hello --web --duration 20s",
        "apq serve --bind 127.0.0.1:19077",
        "serve run",
        "franc run --id 1 --peer 2 --neighbours 2=127.0.0.1 --key-file link.key --address 10.9.0.1/24",
    ] {
        for signal in [Signal::SIGKILL, Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
            for moment in MOMENTS_MS {
                let mut child = start(folder, line);
                std::thread::sleep(Duration::from_millis(moment));
                let pid = Pid::from_raw(i32::try_from(child.id()).expect("the kernel's numbers"));
                // It may have ended.
                let _ = kill(pid, signal);
                end(&mut child, line);
                // The kernel takes namespaces away soon after their last process.
                std::thread::sleep(Duration::from_millis(50));
                assert_unchanged(&format!("{line} ({signal} after {moment} ms)"));
            }
        }
    }
    for name in NAMED {
        assert!(run(&format!("ip netns del {name}")), "{name} can be deleted");
    }
}

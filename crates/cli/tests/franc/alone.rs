//! A single daemon: a helper, which needs no interface and no privilege, with invalid
//! datagrams, and its control socket.

use crate::stage::Stage;
use lasthop_franc::wire::VERSION;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use std::fs;
use std::net::UdpSocket;
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// A daemon without an interface, which needs no privilege.
pub struct Helper {
    child: Child,
    port: u16,
    /// Path of its control socket; `None` for the default one.
    socket: Option<String>,
}

impl Helper {
    pub fn new(stage: &Stage, more: &[&str]) -> Self {
        let free = UdpSocket::bind("127.0.0.1:0").expect("a free port");
        let port = free.local_addr().expect("it has one").port();
        drop(free);
        let listen = format!("127.0.0.1:{port}");
        let flags = ["franc", "run", "--id", "3", "--role", "helper", "--between", "1,2"];
        let flags = [&flags[..], &["--insecure", "--listen", &listen], more].concat();
        let child = stage.lasthop(&flags).spawn().expect("the binary can be run");
        let socket = more.iter().skip_while(|&&flag| flag != "--socket").nth(1);
        let helper = Self { child, port, socket: socket.map(|&at| at.to_owned()) };
        helper.wait_for_stats(stage);
        helper
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    pub fn wait_for_stats(&self, stage: &Stage) -> Value {
        let begin = Instant::now();
        let ask = ["franc", "stats", "--json"].into_iter();
        let ask: Vec<&str> =
            ask.chain(self.socket.iter().flat_map(|at| ["--socket", at])).collect();
        loop {
            let output = stage.run(&ask);
            if output.status.success() {
                return serde_json::from_slice(&output.stdout).expect("a document");
            }
            let errors = String::from_utf8_lossy(&output.stderr);
            assert!(begin.elapsed() < Duration::from_secs(10), "{errors}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn resident_kib(&self) -> u64 {
        let path = format!("/proc/{}/status", self.child.id());
        let status = fs::read_to_string(path).expect("it runs");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("it says so");
        line.split_whitespace().next().and_then(|n| n.parse().ok()).expect("a number of KiB")
    }

    pub fn end(mut self, signal: Signal) -> Option<i32> {
        kill(Pid::from_raw(self.child.id() as i32), signal).expect("it runs");
        self.child.wait().expect("it ends").code()
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A generator of random numbers (xorshift64).
struct Rubbish(u64);

impl Rubbish {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

/// LASTHOP_FUZZ_DATAGRAMS=1000000 sends a million.
#[test]
fn fuzzed_datagrams_do_nothing() {
    let datagrams = std::env::var("LASTHOP_FUZZ_DATAGRAMS").ok().and_then(|n| n.parse().ok());
    let datagrams: u64 = datagrams.unwrap_or(100_000);
    let stage = Stage::new("fuzz");
    let helper = Helper::new(&stage, &[]);
    let before = helper.resident_kib();
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a free port");
    let mut rubbish = Rubbish(7);
    let mut bytes = [0; 1_600];
    for number in 0..datagrams {
        let length = (rubbish.next() % 1_500) as usize;
        for part in bytes[..length].chunks_mut(8) {
            let word = rubbish.next().to_le_bytes();
            part.copy_from_slice(&word[..part.len()]);
        }
        if length > 9 && number % 8 != 0 {
            bytes[0] = VERSION << 4 | (bytes[0] % 12);
            (bytes[1], bytes[2]) = (1 + bytes[1] % 2, 1 + bytes[2] % 3);
        }
        let _ = socket.send_to(&bytes[..length], ("127.0.0.1", helper.port));
        if number % 256 == 0 {
            // So that they are read, and not dropped by the kernel.
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    let stats = helper.wait_for_stats(&stage);
    let counters = &stats["counters"];
    let count = |name: &str| counters[name].as_u64().expect("a number");
    let taken = count("malformed") + count("unauthentic") + count("replayed");
    assert!(taken >= datagrams / 2, "{counters:#}");
    assert!(count("unauthentic") > datagrams / 4, "{counters:#}");
    assert_eq!((count("innovative"), count("sessions")), (0, 0), "{counters:#}");
    let grown = helper.resident_kib().saturating_sub(before);
    assert!(grown < 16 * 1_024, "{grown} KiB more");
    assert_eq!(helper.end(Signal::SIGTERM), Some(143));
}

/// A recoder without neighbours, beside another node with its number.
#[test]
fn no_answer_is_explained_after_three_seconds() {
    let stage = Stage::new("unanswered");
    let free: Vec<UdpSocket> =
        (0..2).map(|_| UdpSocket::bind("127.0.0.1:0").expect("a free port")).collect();
    let at: Vec<String> =
        free.iter().map(|free| free.local_addr().expect("it has one").to_string()).collect();
    drop(free);
    let recoder = |name: &str, listen: &str, neighbour: &str| {
        let neighbours = format!("1={neighbour}");
        let flags = ["franc", "run", "--id", "3", "--role", "recoder", "--between", "1,2"];
        let more = ["--insecure", "--name", name, "--listen", listen, "--neighbours", &neighbours];
        let mut command = stage.lasthop(&[&flags[..], &more].concat());
        command.stdout(Stdio::piped()).spawn().expect("the binary can be run")
    };
    let alone = recoder("alone0", "127.0.0.1:0", "127.0.0.1:9");
    let twins = [recoder("twin1", &at[0], &at[1]), recoder("twin2", &at[1], &at[0])];
    std::thread::sleep(Duration::from_secs(4));
    let said = |child: Child| {
        kill(Pid::from_raw(child.id() as i32), Signal::SIGTERM).expect("it runs");
        let output = child.wait_with_output().expect("it ends");
        String::from_utf8(output.stdout).expect("text")
    };
    let alone = said(alone);
    let closed = "alone0: no answer from node 1: the host 127.0.0.1 is there, but no program listens \
                  to UDP port 9";
    assert!(alone.contains(closed), "{alone}");
    assert_eq!(alone.matches("no answer").count(), 1, "{alone}");
    for (twin, at) in twins.into_iter().zip([&at[1], &at[0]]) {
        let said = said(twin);
        assert!(said.contains(&format!("the node at {at} has --id 3")), "{said}");
    }
}

#[test]
fn a_control_socket_is_for_one_daemon_and_its_user() {
    let stage = Stage::new("control");
    let helper = Helper::new(&stage, &["--metrics", "127.0.0.1:0"]);
    let path = stage.path.join("franc-franc0.sock");
    assert_eq!(fs::metadata(&path).expect("it is there").permissions().mode() & 0o777, 0o600);
    let second = ["franc", "run", "--id", "3", "--role", "helper", "--between", "1,2"];
    let second = [&second[..], &["--insecure", "--listen", "127.0.0.1:0"]].concat();
    assert!(stage.complaint(&second).contains("a daemon answers at"));
    let port = helper.port.to_string();
    let third = ["franc", "run", "--id", "3", "--role", "helper", "--between", "1,2", "--insecure"];
    let third = [&third[..], &["--socket", "other", "--listen", &format!("127.0.0.1:{port}")]];
    assert!(stage.complaint(&third.concat()).contains("another program has that port"));
    // A killed daemon leaves its socket, which the next one replaces.
    kill(Pid::from_raw(helper.child.id() as i32), Signal::SIGKILL).expect("it runs");
    drop(helper);
    assert!(path.exists());
    assert!(stage.complaint(&["franc", "stats"]).contains("the daemon is gone"));
    let next = Helper::new(&stage, &[]);
    assert_eq!(next.end(Signal::SIGINT), Some(130));
    assert!(!path.exists());
    assert!(stage.complaint(&["franc", "stats"]).contains("there is none"));
}

//! Privileges of a running daemon, as reported by the kernel (proc_pid_status(5)): no capability,
//! no new privileges, a system call filter, and no core dump. The daemon works nevertheless:
//! packets pass, requests are answered, and its socket is removed at the end.

use crate::alone::Helper;
use crate::stage::{Stage, TRANSFER, daemon, served, stats};
use nix::sys::signal::Signal;
use nix::unistd::Uid;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;

/// The value of `field` in the status of a process.
fn field<'a>(status: &'a str, field: &str) -> &'a str {
    let line = status.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
    line.unwrap_or_else(|| panic!("no {field} in {status}")).trim()
}

/// Asserts that a daemon started by root has no privilege left.
fn check(status: &str) {
    for set in ["CapInh", "CapPrm", "CapEff", "CapAmb", "CapBnd"] {
        assert_eq!(u64::from_str_radix(field(status, set), 16), Ok(0), "{set}: {status}");
    }
    assert_eq!(field(status, "NoNewPrivs"), "1", "{status}");
    assert_eq!(field(status, "Seccomp"), "2", "{status}");
}

/// Root in a namespace, which has every capability there, as under sudo outside.
#[test]
fn a_confined_link_carries_restarts_and_answers() {
    let stage = Stage::new("confined");
    stage.keys();
    let end = |name: &str, id: u8, neighbour: &str, more: &str| {
        let flags = format!(
            "--id {id} --peer {} --neighbours {}={neighbour} --address 10.9.0.{id}/24 {more}",
            3 - id,
            3 - id
        );
        (if id == 1 { "a" } else { "b" }, daemon(name, &format!("{flags} --key-file key")))
    };
    let ethernet = "--transport ethernet --interface eth0 --rate-max 20Mb/s";
    let programs = [
        end("a", 1, "b", "--metrics 127.0.0.1:9797"),
        end("b", 2, "a", ""),
        // A second link between the same nodes, over Ethernet.
        ("a", daemon("c", &format!("--id 1 --peer 2 --name franc1 --insecure {ethernet}"))),
        ("b", daemon("d", &format!("--id 2 --peer 1 --name franc1 --insecure {ethernet}"))),
        served(),
    ];
    let script = format!(
        "until_passes 10.9.0.2\n{TRANSFER}\
         cat /proc/$(cat a.pid)/status > a.status; cat /proc/$(cat c.pid)/status > c.status\n\
         cat /proc/$(cat a.pid)/limits > a.limits\n\
         cat /proc/$(cat a.pid)/coredump_filter > /dev/null\n\
         curl --silent --show-error --max-time 5 http://127.0.0.1:9797/metrics > a.prom\n\
         {}{}first=$(cat a.pid); kill -INT $first\n\
         for i in $(seq 100); do [ -d /proc/$first ] || break; sleep 0.02; done\n\
         until_passes 10.9.0.2\n{}ip -o link show > links.txt\n",
        stats("a"),
        stats("c"),
        stats("b"),
    );
    let Some(()) = stage.emulate(&["a", "b"], "5%", &programs, &script) else { return };
    check(&stage.text("a.status"));
    check(&stage.text("c.status"));
    let limits = stage.text("a.limits");
    let core = limits.lines().find(|line| line.starts_with("Max core file size"));
    let core: Vec<&str> = core.expect("a limit").split_whitespace().skip(4).take(2).collect();
    assert_eq!(core, ["0", "0"], "{limits}");
    assert!(stage.text("a.prom").contains("franc_"), "{}{}", stage.text("a.prom"), stage.logs());
    assert_eq!(stage.stats("b.json")["counters"]["corrupt"], 0);
    let links = stage.text("links.txt");
    assert_eq!(links.matches("franc0").count(), 1, "{links}");
    // No operation that it needs was refused.
    assert!(!stage.logs().contains("not permitted"), "{}", stage.logs());
}

#[test]
fn a_daemon_that_was_root_has_nothing_left() {
    if !Uid::effective().is_root() {
        eprintln!("skipped, because only root has something to lose");
        return;
    }
    let stage = Stage::new("root");
    let port = free_port();
    let helper = Helper::new(&stage, &["--metrics", &format!("127.0.0.1:{port}")]);
    check(&fs::read_to_string(format!("/proc/{}/status", helper.id())).expect("it runs"));
    let mut guest = TcpStream::connect(("127.0.0.1", port)).expect("it listens");
    guest.write_all(b"GET /metrics HTTP/1.0\r\n\r\n").expect("it reads");
    let mut page = String::new();
    guest.read_to_string(&mut page).expect("it answers");
    assert!(page.starts_with("HTTP/1.0 200 OK"), "{page}");
    helper.wait_for_stats(&stage);
    let socket = stage.path.join("franc-franc0.sock");
    assert!(socket.exists());
    assert_eq!(helper.end(Signal::SIGINT), Some(130));
    assert!(!socket.exists());
}

/// Root without capabilities may not write to a directory of another user; the socket
/// in it is removed nevertheless.
#[test]
fn a_socket_in_a_folder_of_another_user_is_removed() {
    if !Uid::effective().is_root() {
        eprintln!("skipped, because only root can make a folder of another user");
        return;
    }
    let stage = Stage::new("folder");
    let folder = stage.path.join("theirs");
    fs::create_dir(&folder).expect("it can be made");
    std::os::unix::fs::chown(&folder, Some(65_534), Some(65_534)).expect("root may");
    let helper = Helper::new(&stage, &["--socket", "theirs/here.sock"]);
    let socket = folder.join("here.sock");
    assert!(socket.exists());
    let status = fs::read_to_string(format!("/proc/{}/status", helper.id())).expect("it runs");
    assert_eq!(field(&status, "Seccomp"), "2");
    assert_eq!(helper.end(Signal::SIGTERM), Some(143));
    assert!(!socket.exists());
}

fn free_port() -> u16 {
    let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    free.local_addr().expect("it has one").port()
}

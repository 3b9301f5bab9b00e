//! The ways between the nodes and the machine: what is reached through them, and that it has
//! crossed the modelled network. Judged by curl. Where user namespaces are refused, or a program
//! is missing, a test says that it is skipped.

#![allow(clippy::unwrap_used, reason = "a test that unwraps fails, which is its job")]
#![expect(clippy::disallowed_types, reason = "servers and clients on the machine itself")]
#![expect(clippy::disallowed_methods, reason = "clients wait in real time")]

use lasthop_fixtures::two_hosts;
use lasthop_hosts::Sink;
use lasthop_live::{
    EmulateError, EmulateOptions, EmulateOutcome, OutsideOptions, Published, emulate,
};
use lasthop_packet::{DropReason, NodeId, Packet};
use lasthop_units::Instant;
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// One way of the wire between the two hosts, in seconds.
const DELAY_S: f64 = 0.03;

fn hosts(loss: &str) -> String {
    "duration = \"4s\"\n".to_owned() + &two_hosts(&format!("delay = \"30ms\"\nloss = {loss}"))
}

/// Counts the packets that were lost.
#[derive(Default)]
struct Lost(u64);

impl Sink for Lost {
    fn dropped(&mut self, _now: Instant, _node: NodeId, _packet: &Packet, _reason: DropReason) {
        self.0 += 1;
    }
}

/// Runs a shell command in the left host; `None` if this machine does not allow that.
fn run(
    loss: &str,
    programs: &str,
    outside: OutsideOptions,
    command: &str,
) -> Option<(EmulateOutcome, u64)> {
    let scenario = lasthop_scenario::parse("test.toml", &(hosts(loss) + programs), &[]).unwrap();
    let command = Some(["/bin/sh", "-c", command].map(Into::into).to_vec());
    let in_node = Some("left".into());
    let options = EmulateOptions { command, in_node, outside, ..EmulateOptions::default() };
    let mut lost = Lost::default();
    match emulate(&scenario, &options, &mut lost, &mut |_, _| {}) {
        Ok(outcome) => Some((outcome, lost.0)),
        Err(EmulateError::Os(error)) if error.call.starts_with("unshare") => {
            eprintln!("skipped, because {error}");
            None
        }
        Err(EmulateError::HelperFailed { reason, .. }) if reason.contains("/dev/net/tun") => {
            eprintln!("skipped, because {reason}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

fn installed(program: &str) -> bool {
    let found = Command::new("sh").args(["-c", &format!("command -v {program}")]).output();
    let found = found.is_ok_and(|output| output.status.success());
    if !found {
        eprintln!("skipped, because {program} is not installed");
    }
    found
}

/// A file whose content is written by a command of the emulation.
struct Written(std::path::PathBuf);

impl Written {
    fn new(name: &str) -> Self {
        let name = format!("lasthop-outside-{}-{name}", std::process::id());
        Self(std::env::temp_dir().join(name))
    }

    fn lines(&self) -> Vec<String> {
        std::fs::read_to_string(&self.0).unwrap().lines().map(str::to_owned).collect()
    }
}

impl Drop for Written {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Serves `content` over HTTP at `address` without end; returns its port and how many clients it
/// has had.
fn serve(address: IpAddr, content: Vec<u8>) -> (u16, Arc<AtomicUsize>) {
    let listener = TcpListener::bind((address, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let clients = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&clients);
    std::thread::spawn(move || {
        for client in listener.incoming() {
            count.fetch_add(1, Ordering::Relaxed);
            let mut client = client.unwrap();
            let _ = client.read(&mut [0; 4096]);
            let length = content.len();
            let head = format!("HTTP/1.0 200 OK\r\nContent-Length: {length}\r\n\r\n");
            let _ = client.write_all(&[head.as_bytes(), &content].concat());
        }
    });
    (port, clients)
}

/// Times of two transfers in seconds: the connection, and all. The first one includes ARP.
fn curl_twice(url: &str, written: &Written) -> String {
    let file = written.0.display();
    let curl = format!(
        "curl -sS -m 20 -o /dev/null -w '%{{time_connect}} %{{size_download}}\\n' {url} >> {file} 2>&1"
    );
    format!("{curl}; {curl}")
}

/// The time in which the second connection was made, and what was transferred.
fn second(written: &Written) -> (f64, u64) {
    let lines = written.lines();
    let last = lines.last().unwrap();
    let (time, bytes) = last.split_once(' ').unwrap_or_else(|| panic!("{lines:?}"));
    (time.parse().unwrap_or_else(|_| panic!("{lines:?}")), bytes.parse().unwrap())
}

fn assert_crossed(connect_s: f64) {
    // What a busy machine adds is no matter of ours.
    assert!((2.0 * DELAY_S..2.0 * DELAY_S + 0.1).contains(&connect_s), "{connect_s} s");
}

#[test]
fn a_service_of_the_machine_is_reached_through_the_network() {
    if !installed("curl") {
        return;
    }
    let (port, clients) = serve(Ipv4Addr::LOCALHOST.into(), vec![7; 300_000]);
    let (hidden, hidden_clients) = serve(Ipv4Addr::LOCALHOST.into(), vec![7; 10]);
    let outside = OutsideOptions { reach: vec![port], ..OutsideOptions::default() };
    let written = Written::new("reach");
    let url = format!("http://host.lasthop:{port}/");
    let others = format!(
        "! curl -sm 2 http://host.lasthop:{hidden}/ && ! curl -sm 2 http://192.0.2.77/ && ! grep -q ^nameserver /etc/resolv.conf"
    );
    let command = format!("{}; {others}", curl_twice(&url, &written));
    let Some((outcome, lost)) = run("0.0", "", outside.clone(), &command) else { return };
    assert_eq!((outcome.exit_status, lost), (Some(0), 0), "{:?}", written.lines());
    let (connect_s, bytes) = second(&written);
    assert_crossed(connect_s);
    assert_eq!(bytes, 300_000);
    assert_eq!((clients.load(Ordering::Relaxed), hidden_clients.load(Ordering::Relaxed)), (2, 0));

    // What the network loses is lost to it, too, and TCP repairs it.
    let written = Written::new("lossy");
    let Some((outcome, lost)) = run("0.03", "", outside, &curl_twice(&url, &written)) else {
        return;
    };
    assert_eq!(second(&written).1, 300_000, "{outcome:?}");
    assert!(lost > 2, "{lost}");
}

#[test]
fn a_port_of_the_machine_leads_to_a_node() {
    if !installed("python3") {
        return;
    }
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let published = Published { port, node: Some("left".into()), node_port: 8000 };
    let outside = OutsideOptions { publish: vec![published], ..OutsideOptions::default() };
    let server = "[[run]]\nnode = \"left\"\ncommand = [\"python3\", \"-m\", \"http.server\", \"8000\"]\n\
                  ready = \"tcp:8000\"\n";
    let ask = move || {
        // Who listens goes on at once, whenever this thread hears that it is connected.
        let start = std::time::Instant::now();
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).ok()?;
        stream.write_all(b"HEAD / HTTP/1.0\r\n\r\n").ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        (!answer.is_empty()).then(|| (start.elapsed().as_secs_f64(), answer))
    };
    let client = std::thread::spawn(move || {
        // It listens from the first on, but before the server does nobody is there.
        for _ in 0..100 {
            std::thread::sleep(Duration::from_millis(50));
            if let Some(first) = ask() {
                // The others are for the time: a busy machine delays one of them.
                return Some([Some(first), ask(), ask()]);
            }
        }
        None
    });
    let Some((outcome, _)) = run("0.0", server, outside, "sleep 5") else { return };
    let answers = client.join().unwrap().expect("an answer").map(|answer| answer.expect("another"));
    for (time_s, answer) in &answers {
        assert!(answer.starts_with("HTTP/1.0 200 OK"), "{answer}");
        // The connection in the network, then the request.
        assert!(*time_s >= 4.0 * DELAY_S, "{time_s} s");
    }
    let fastest_s = answers.iter().map(|(time_s, _)| *time_s).fold(f64::INFINITY, f64::min);
    assert!(fastest_s < 4.0 * DELAY_S + 0.3, "{fastest_s} s");
    assert_eq!(outcome.exit_status, Some(0));
    assert!(TcpListener::bind(("127.0.0.1", port)).is_ok(), "the port is still open");
}

/// The address of the machine in its network; `None` without one.
fn address() -> Option<IpAddr> {
    let socket = UdpSocket::bind("0.0.0.0:0").ok()?;
    // Nothing is sent.
    socket.connect("203.0.113.1:9").ok()?;
    Some(socket.local_addr().ok()?.ip())
}

#[test]
fn the_machines_network_is_reached_through_the_network_of_the_nodes() {
    if !installed("curl") || !installed("slirp4netns") {
        return;
    }
    let Some(address) = address() else {
        return eprintln!("skipped, because this machine has no network");
    };
    let before = ["/etc/resolv.conf", "/etc/hosts"].map(|file| std::fs::read(file).ok());
    let (port, _) = serve(address, vec![7; 300_000]);
    let (hidden, hidden_clients) = serve(Ipv4Addr::LOCALHOST.into(), vec![7; 10]);
    let outside = OutsideOptions { network: true, ..OutsideOptions::default() };
    let written = Written::new("network");
    let others = format!(
        "! curl -sm 2 http://198.51.100.2:{hidden}/ && ! curl -sm 2 http://127.0.0.1:{hidden}/ && \
         ! getent hosts host.lasthop && grep -qx 'nameserver 198.51.100.3' /etc/resolv.conf"
    );
    let url = format!("http://{address}:{port}/");
    // Another node has its own way; two of them at a time are no trouble.
    let right = format!(
        "[[run]]\nnode = \"right\"\ncommand = \"curl -sm 3 -o /dev/null -w '%{{time_connect}}' {url}\"\n"
    );
    let command = format!("{}; {others}", curl_twice(&url, &written));
    let Some((outcome, _)) = run("0.0", &right, outside.clone(), &command) else { return };
    assert_eq!(outcome.exit_status, Some(0), "{:?}", written.lines());
    let (connect_s, bytes) = second(&written);
    assert_crossed(connect_s);
    assert_eq!(bytes, 300_000);
    assert_eq!(hidden_clients.load(Ordering::Relaxed), 0);
    // There is nothing between the node where the outside begins and the outside.
    let time_s = String::from_utf8_lossy(&outcome.programs[0].output).parse::<f64>().unwrap();
    assert!(time_s < DELAY_S, "{time_s}");
    let after = ["/etc/resolv.conf", "/etc/hosts"].map(|file| std::fs::read(file).ok());
    assert!(before == after);

    let written = Written::new("lossy-network");
    let Some((_, lost)) = run("0.03", "", outside, &curl_twice(&url, &written)) else { return };
    assert_eq!(second(&written).1, 300_000);
    assert!(lost > 2, "{lost}");
}

//! The ways between the nodes and the machine: connections through them, and their passage of the
//! modelled network. Judged by curl. Without user namespaces or a program, a test says that it is
//! skipped.

#![allow(clippy::unwrap_used, reason = "a test that unwraps fails, which is its job")]
#![expect(clippy::disallowed_types, reason = "servers and clients on the machine itself")]
#![expect(clippy::disallowed_methods, reason = "clients wait in real time")]

use lasthop_emulate::{
    EmulateError, EmulateOptions, EmulateOutcome, OutsideOptions, Passed, Published, Say, emulate,
};
use lasthop_fixtures::{hop, two_hosts};
use lasthop_hosts::{ProgramFlow, Sink};
use lasthop_packet::{DropReason, FlowId, NodeId, Packet};
use lasthop_units::Instant;
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// One way of the wire between the two hosts, in seconds.
const DELAY_S: f64 = 0.03;

fn hosts(loss: &str) -> String {
    "duration = \"4s\"\n".to_owned() + &two_hosts(&format!("delay = \"30ms\"\nloss = {loss}"))
}

/// Counts the packets that were lost, and notes the flows of programs.
#[derive(Default)]
struct Lost(u64, Vec<ProgramFlow>);

impl Sink for Lost {
    fn dropped(&mut self, _now: Instant, _node: NodeId, _packet: &Packet, _reason: DropReason) {
        self.0 += 1;
    }

    fn program_flow(&mut self, _now: Instant, _id: FlowId, flow: &ProgramFlow) {
        self.1.push(*flow);
    }
}

/// Runs a shell command in the left host; `None` if this machine does not allow that.
fn run(
    loss: &str,
    programs: &str,
    outside: OutsideOptions,
    command: &str,
) -> Option<(EmulateOutcome, u64)> {
    let in_node = Some("left".into());
    let options = EmulateOptions { in_node, outside, ..EmulateOptions::default() };
    let (outcome, lost) = emulated(&(hosts(loss) + programs), command, options)?;
    Some((outcome, lost.0))
}

/// Runs a shell command in an emulation; `None` if this machine does not allow that.
fn emulated(
    scenario: &str,
    command: &str,
    options: EmulateOptions,
) -> Option<(EmulateOutcome, Lost)> {
    let scenario = lasthop_scenario::parse("test.toml", scenario, &[]).unwrap();
    let command = Some(["/bin/sh", "-c", command].map(Into::into).to_vec());
    let options = EmulateOptions { command, ..options };
    let mut lost = Lost::default();
    match emulate(&scenario, &options, &mut lost, &mut |_, _| {}) {
        Ok(outcome) => Some((outcome, lost)),
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

/// A client outside. The emulation's command lasts as long as the client, because a server starts
/// late on a busy machine. Both give up after a minute.
struct Outside<T> {
    thread: std::thread::JoinHandle<Option<T>>,
    done: Written,
}

const PATIENCE: Duration = Duration::from_secs(60);

impl<T: Send + 'static> Outside<T> {
    /// Calls `ask` every 50 ms until it has an answer.
    fn asks(name: &str, mut ask: impl FnMut() -> Option<T> + Send + 'static) -> Self {
        let done = Written::new(name);
        let file = done.0.clone();
        let thread = std::thread::spawn(move || {
            let start = std::time::Instant::now();
            let mut answer = None;
            while answer.is_none() && start.elapsed() < PATIENCE {
                std::thread::sleep(Duration::from_millis(50));
                answer = ask();
            }
            std::fs::write(file, "").unwrap();
            answer
        });
        Self { thread, done }
    }

    fn command(&self) -> String {
        let turns = PATIENCE.as_millis() / 100;
        format!(
            "for turn in $(seq {turns}); do [ -e {} ] && exit 0; sleep 0.1; done; exit 1",
            self.done.0.display()
        )
    }

    fn answer(self) -> T {
        self.thread.join().unwrap().expect("an answer within a minute")
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

/// The duration of the second connection, and the bytes transferred.
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
    // It listens from the first on, but before the server does nobody is there. The second and
    // third are for the time: a busy machine delays one of them.
    let client = Outside::asks("port", move || ask().map(|first| [Some(first), ask(), ask()]));
    let Some((outcome, _)) = run("0.0", server, outside, &client.command()) else { return };
    let answers = client.answer().map(|answer| answer.expect("another"));
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
        "[[run]]\nnode = \"right\"\nstart = \"700ms\"\ncommand = \"curl -sm 3 -o /dev/null -w '%{{time_connect}}' {url}\"\n"
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

/// A laptop behind Wi-Fi, and a server behind a wire of 5 ms.
fn with_air() -> String {
    "duration = \"9s\"\n".to_owned() + &hop("laptop", "position = [\"3m\", \"0m\"]", "5ms")
}

/// A server at this port of its node that answers each datagram, and says hello to each
/// connection.
const SERVER: &str = r#"
import select, socket, sys
address = ("", int(sys.argv[1]))
stream = socket.create_server(address)
datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
datagrams.bind(address)
while True:
    for ready in select.select([stream, datagrams], [], [])[0]:
        if ready is stream:
            stream.accept()[0].sendall(b"hello")
        else:
            data, client = datagrams.recvfrom(65536)
            datagrams.sendto(data, client)
"#;

/// A free port of the loopback, for TCP and for UDP.
fn free_port() -> u16 {
    loop {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        if UdpSocket::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

/// The flows of `protocol` to port 8000, by the nodes where they begin and end.
fn ends(flows: &[ProgramFlow], protocol: u8) -> Vec<(u16, u16)> {
    let to_server = flows.iter().filter(|flow| {
        flow.protocol == protocol && flow.ports.is_some_and(|[_, port]| port == 8000)
    });
    to_server.map(|flow| (flow.from.0, flow.to.0)).collect()
}

const TCP: u8 = 6;
const UDP: u8 = 17;

/// Whichever node has the server: connections and datagrams cross the air.
#[test]
fn what_is_published_enters_on_the_other_side_of_the_air() {
    if !installed("python3") {
        return;
    }
    // The nodes in the order of the scenario.
    const AP: u16 = 0;
    const LAPTOP: u16 = 1;
    const FAR: u16 = 2;
    for (node, in_node, expected) in [
        ("server", None, (LAPTOP, FAR)),
        ("server", Some("server"), (LAPTOP, FAR)),
        ("laptop", None, (FAR, LAPTOP)),
        ("laptop", Some("server"), (FAR, LAPTOP)),
        ("ap", None, (LAPTOP, AP)),
    ] {
        let port = free_port();
        let published = Published { port, node: Some(node.into()), node_port: 8000 };
        let outside = OutsideOptions { publish: vec![published], ..OutsideOptions::default() };
        let server = format!(
            "[[run]]\nnode = \"{node}\"\ncommand = [\"python3\", \"-c\", {SERVER:?}, \"8000\"]\n\
             ready = \"tcp:8000\"\n"
        );
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
        let client = Outside::asks(&format!("{node}-{}", in_node.is_some()), move || {
            let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).ok()?;
            stream.read_exact(&mut [0; 5]).ok()?;
            socket.send_to(&[7; 1_200], (Ipv4Addr::LOCALHOST, port)).unwrap();
            socket.recv(&mut [0; 2_000]).ok()
        });
        let in_node = in_node.map(str::to_owned);
        let options = EmulateOptions { in_node, outside, ..EmulateOptions::default() };
        let command = client.command();
        let Some((outcome, seen)) = emulated(&(with_air() + &server), &command, options) else {
            return;
        };
        assert_eq!(client.answer(), 1_200, "{node}");
        for protocol in [TCP, UDP] {
            let ends = ends(&seen.1, protocol);
            assert!(!ends.is_empty() && ends.iter().all(|it| *it == expected), "{node}: {ends:?}");
        }
        let Passed { clients, sent, answers, refused, overflowed, .. } = outcome.ways[0].passed;
        assert_eq!((clients, refused, overflowed), (1, 0, 0), "{outcome:?}");
        assert!(sent >= 1 && answers >= 1, "{outcome:?}");
    }
}

/// An outside that begins at the node itself would cross no hop: that is refused, or reported.
#[test]
fn what_crosses_nothing_is_refused_or_said() {
    let said = Arc::new(Mutex::new(Vec::new()));
    let tell = Arc::clone(&said);
    let say = Say(Some(Arc::new(move |line: &str| tell.lock().unwrap().push(line.to_owned()))));
    let scenario = lasthop_scenario::parse("test.toml", &with_air(), &[]).unwrap();
    let run = |publish: &[(&str, u16)], reach: &[u16], at: Option<&str>| {
        let publish = publish.iter().map(|(node, port)| Published {
            port: *port,
            node: Some((*node).into()),
            node_port: 8000,
        });
        let outside = OutsideOptions {
            publish: publish.collect(),
            reach: reach.to_vec(),
            at: at.map(Into::into),
            network: false,
        };
        let command = Some(vec!["true".into()]);
        let say = say.clone();
        let options = EmulateOptions { command, outside, say, ..EmulateOptions::default() };
        emulate(&scenario, &options, &mut Lost::default(), &mut |_, _| {})
    };
    let port = free_port();
    let refused = run(&[("server", port)], &[], Some("server")).unwrap_err();
    assert!(matches!(&refused, EmulateError::NothingCrossed { other, .. } if other == "laptop"));
    let twice = run(&[("server", port), ("laptop", port)], &[], None).unwrap_err();
    assert_eq!(twice, EmulateError::PublishedTwice { port });
    match run(&[("server", port)], &[], Some("ap")) {
        Ok(_) => {}
        Err(EmulateError::Os(error)) if error.call.starts_with("unshare") => return,
        Err(error) => panic!("{error}"),
    }
    run(&[], &[port], Some("laptop")).unwrap();
    run(&[("server", port)], &[port], None).unwrap();
    let said = said.lock().unwrap();
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(said[0].contains("between ap and server no Wi-Fi is crossed"), "{said:?}");
    assert!(said[1].contains("begins at laptop itself"), "{said:?}");
}

/// Datagrams of several clients, as of name lookups, of media, and to services without an answer.
#[test]
fn datagrams_reach_a_service_of_the_machine() {
    if !installed("python3") {
        return;
    }
    let service = UdpSocket::bind("127.0.0.1:0").unwrap();
    let port = service.local_addr().unwrap().port();
    std::thread::spawn(move || {
        let mut buffer = [0; 65_536];
        while let Ok((bytes, client)) = service.recv_from(&mut buffer) {
            let _ = service.send_to(&buffer[..bytes], client);
        }
    });
    let nobody = free_port();
    let outside = OutsideOptions { reach: vec![port, nobody], ..OutsideOptions::default() };
    let said = Arc::new(Mutex::new(Vec::new()));
    let tell = Arc::clone(&said);
    let say = Say(Some(Arc::new(move |line: &str| tell.lock().unwrap().push(line.to_owned()))));
    let options = EmulateOptions { outside, say, ..EmulateOptions::default() };
    // Longer than a packet of the hop; small ones of many clients; and two that nobody takes.
    let script = format!(
        r#"
import socket
def client():
    it = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    it.settimeout(2)
    return it
for size in (5000, 1200, 0):
    it = client()
    it.sendto(b"x" * size, ("host.lasthop", {port}))
    assert len(it.recv(9000)) == size
many = [client() for _ in range(20)]
for number, it in enumerate(many):
    it.sendto(bytes([number]) * 60, ("host.lasthop", {port}))
for number, it in enumerate(many):
    assert it.recv(99) == bytes([number]) * 60
for _ in range(2):
    client().sendto(b"?", ("host.lasthop", {nobody}))
try:
    socket.create_connection(("host.lasthop", {nobody}), 2).recv(1)
except ConnectionResetError:
    pass
"#
    );
    let written = Written::new("datagrams");
    std::fs::write(&written.0, script).unwrap();
    let command = format!("python3 {}", written.0.display());
    let Some((outcome, _)) = emulated(&with_air(), &command, options) else { return };
    assert_eq!(outcome.exit_status, Some(0));
    let [service, nobody_there] = &outcome.ways[..] else { panic!("{outcome:?}") };
    let expected = Passed { clients: 23, sent: 23, answers: 23, ..Passed::default() };
    assert_eq!(service.passed, expected);
    let Passed { connections, connections_refused, sent, refused, .. } = nobody_there.passed;
    assert_eq!((connections, connections_refused, sent, refused), (1, 1, 0, 2));
    let said = said.lock().unwrap();
    let lines = [
        format!("--reach {nobody}: nobody listens at UDP port {nobody} of this machine"),
        format!("--reach {nobody}: nobody listens at TCP port {nobody} of this machine"),
    ];
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(lines.iter().all(|line| said.iter().any(|it| it.starts_with(line))), "{said:?}");
}

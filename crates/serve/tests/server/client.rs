//! A client that sends any bytes, and folders with runs.

use lasthop_scenario::Scenario;
use lasthop_serve::{Options, Server};
use lasthop_trace::{OutputDir, Recorder};
use std::io::{Read, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

#[expect(clippy::disallowed_types, reason = "tests are the browser")]
pub type Stream = std::net::TcpStream;

/// Longer than any answer takes.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// Address of a server: the host with its port, and the path with its secret.
pub fn parts(server: &Server) -> (String, String) {
    let rest = server.address().strip_prefix("http://").expect("an address");
    let (host, path) = rest.split_once('/').expect("a path");
    (host.to_owned(), format!("/{path}"))
}

pub fn connect(server: &Server) -> Stream {
    let stream = Stream::connect(parts(server).0).expect("it listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    stream
}

/// Sends bytes; returns the status, and the head and body that come back.
pub fn exchange(server: &Server, bytes: &[u8]) -> (u16, String, String) {
    let mut stream = connect(server);
    // It may be refused before it has been read.
    let _ = stream.write_all(bytes);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    let status = head.split(' ').nth(1).and_then(|it| it.parse().ok()).unwrap_or(0);
    (status, head.to_owned(), body.to_owned())
}

/// Gets a path below the secret.
pub fn get(server: &Server, path: &str) -> (u16, String, String) {
    let (host, base) = parts(server);
    exchange(server, format!("GET {base}{path} HTTP/1.1\r\nHost: {host}\r\n\r\n").as_bytes())
}

/// Requests a path and parses the JSON of its answer.
pub fn json(server: &Server, path: &str) -> serde_json::Value {
    let (status, _, body) = get(server, path);
    assert_eq!(status, 200, "{path}: {body}");
    serde_json::from_str(&body).expect("JSON")
}

/// A directory that is removed when the test ends.
pub struct Scratch(PathBuf);

impl Scratch {
    pub fn new(name: &str) -> Self {
        let name = format!("lasthop-serve-{}-{name}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).expect("a directory");
        Self(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// A server of this folder.
    pub fn served(&self) -> Server {
        let options = Options { folder: Some(self.0.clone()), ..Options::default() };
        Server::start(options).expect("it starts")
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The scenario of `simulated`: a station that sends more than the hop carries, and a ping.
fn scenario() -> Scenario {
    let text = [
        "name = \"hop\"\nduration = \"1s\"\n",
        &lasthop_fixtures::hop("laptop", "", "1ms"),
        &lasthop_fixtures::flow("up", ["laptop", "server"], "udp", "rate = \"200Mb/s\""),
        &lasthop_fixtures::flow("ping", ["laptop", "server"], "ping", "interval = \"50ms\""),
    ]
    .concat();
    lasthop_scenario::parse("hop.toml", &text, &[]).expect("a scenario")
}

/// A scenario of a laptop with two links and `keys`: a download and a ping.
fn two_links(keys: &str) -> Scenario {
    let text = [
        "name = \"links\"\nduration = \"1s\"\n[channel]\nstandard = \"802.11be\"\n",
        "band = \"5GHz\"\nwidth = \"80MHz\"\n[[channel.link]]\nband = \"6GHz\"\n",
        "[[node]]\nname = \"ap\"\nrole = \"access-point\"\n",
        "[[node]]\nname = \"laptop\"\nrole = \"station\"\n",
        keys,
        &lasthop_fixtures::flow("down", ["ap", "laptop"], "udp", "rate = \"100Mb/s\""),
        &lasthop_fixtures::flow("ping", ["laptop", "ap"], "ping", "interval = \"50ms\""),
    ]
    .concat();
    lasthop_scenario::parse("links.toml", &text, &[]).expect("a scenario")
}

/// Writes the files of a run to `folder`.
pub fn simulated(folder: &Path) {
    written(folder, &scenario());
}

/// Writes the files of a run with two links to `folder`.
pub fn simulated_on_two_links(folder: &Path, keys: &str) {
    written(folder, &two_links(keys));
}

fn written(folder: &Path, scenario: &Scenario) {
    let mut directory = OutputDir::create(folder).expect("a directory");
    let files = lasthop_sim::files(scenario, true, None);
    let (names, recording) = (lasthop_sim::names(scenario), lasthop_sim::recording(scenario));
    let recorder = Recorder::with_files(names, recording, &files, &mut directory);
    let recorder = recorder.expect("files");
    let go_on = &mut |_| ControlFlow::Continue(());
    let run = lasthop_sim::record(scenario, 0, recorder, go_on).expect("a run");
    directory.write("run.json", run.to_json().as_bytes()).expect("a file");
    directory.commit().expect("files");
}

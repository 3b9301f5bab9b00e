//! Access control, and requests that are too long, too slow or too many.

use crate::client::{Scratch, connect, exchange, get, parts, simulated};
use lasthop_serve::{Options, ServeError, Server};
use std::io::{Read, Write};
use std::time::Duration;

fn server(name: &str) -> (Scratch, Server) {
    let scratch = Scratch::new(name);
    simulated(&scratch.path().join("run"));
    let server = scratch.served();
    (scratch, server)
}

#[test]
fn only_who_has_the_address_is_answered() {
    let (_scratch, server) = server("secret");
    let (host, base) = parts(&server);
    assert!(base.len() >= 34, "a secret of 128 bits in hexadecimal digits");
    let ask = |path: &str, fields: &str| {
        exchange(&server, format!("GET {path} HTTP/1.1\r\n{fields}\r\n").as_bytes()).0
    };
    let own = format!("Host: {host}\r\n");
    let port = host.rsplit(':').next().expect("a port");
    assert_eq!(ask(&base, &own), 200);
    assert_eq!(ask(&base, &format!("Host: localhost:{port}\r\n")), 200);
    assert_eq!(ask(&base, &format!("{own}Origin: http://{host}\r\n")), 200);
    assert_eq!(ask("/", &own), 404);
    assert_eq!(ask(&base[..base.len() - 1], &own), 404);
    assert_eq!(ask("/00000000000000000000000000000000/", &own), 404);
    assert_eq!(ask(&base, &format!("{own}Origin: http://evil.example\r\n")), 403);
    assert_eq!(ask(&base, &format!("{own}Origin: null\r\n")), 403);
    assert_eq!(ask(&base, &format!("Host: evil.example:{port}\r\n")), 421);
    assert_eq!(ask(&base, ""), 421);
    let other = Scratch::new("secret-2");
    simulated(other.path());
    assert_ne!(parts(&other.served()).1, base, "each server has a secret of its own");
}

#[test]
fn no_path_leads_out_of_the_folder() {
    let (scratch, server) = server("paths");
    std::fs::write(scratch.path().join("private.json"), "private").expect("a file");
    for path in [
        "../private.json",
        "private.json",
        "run/../private.json",
        "run/0/../../private.json",
        "run/0/run.json",
        "run/%2e%2e/private.json",
        "run/0/%2e%2e%2fprivate.json",
        "run/0/..%2fprivate.json",
        "run/-1",
        "run/00000000000000000000000000000000000001",
        "run/0/report.html/../../private.json",
        "//etc/passwd",
        "run//etc/passwd",
        "run/0/\\..\\private.json",
        "run/0%00",
    ] {
        let (status, _, body) = get(&server, path);
        assert!((400..500).contains(&status), "{path}: {status}");
        assert!(!body.contains("private") || body.starts_with("{\"error\""), "{path}: {body}");
        assert!(!body.contains("root:"), "{path}");
    }
}

#[test]
fn parameters_are_numbers_and_no_others() {
    let (_scratch, server) = server("parameters");
    for query in [
        "",
        "?from_ns=0",
        "?from_ns=0&to_ns=1",
        "?from_ns=0&to_ns=1&width=0",
        "?from_ns=0&to_ns=1&width=5000",
        "?from_ns=1&to_ns=1&width=10",
        "?from_ns=0&to_ns=1e9&width=10",
        "?from_ns=0&to_ns=99999999999999999999&width=10",
        "?from_ns=0&to_ns=1&width=10&width=10",
        "?from_ns=0&to_ns=1&width=10&more=1",
        "?from_ns=0&to_ns=%31&width=10",
    ] {
        assert_eq!(get(&server, &format!("run/0/air{query}")).0, 400, "{query}");
    }
    let extreme = format!("run/0/air?from_ns={}&to_ns={}&width=4096", i64::MIN, i64::MAX);
    assert_eq!(get(&server, &extreme).0, 200, "what is beyond a run is empty");
    assert_eq!(get(&server, "run/0/packet?number=-1").0, 404);
    assert_eq!(get(&server, &format!("run/0/packet?number={}", i64::MAX)).0, 404);
}

#[test]
fn requests_that_are_too_large_are_refused() {
    let (_scratch, server) = server("large");
    let (host, base) = parts(&server);
    let head = format!("POST {base}set HTTP/1.1\r\nHost: {host}\r\n");
    let body = "x".repeat(70_000);
    let large = format!("{head}Content-Length: {}\r\n\r\n{body}", body.len());
    assert_eq!(exchange(&server, large.as_bytes()).0, 413);
    let fields = format!("{head}X: {}\r\n\r\n", "x".repeat(20_000));
    assert_eq!(exchange(&server, fields.as_bytes()).0, 431);
    assert_eq!(exchange(&server, b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n").0, 400, "TLS");
    let (status, head, _) =
        exchange(&server, format!("DELETE {base} HTTP/1.1\r\nHost: {host}\r\n\r\n").as_bytes());
    assert_eq!(status, 405);
    assert!(head.contains("Allow: GET, POST"), "{head}");
    assert_eq!(get(&server, "").0, 200, "it still answers");
}

#[test]
fn half_requests_keep_nobody_from_being_answered_and_the_server_from_no_end() {
    let (_scratch, server) = server("half");
    let (host, base) = parts(&server);
    let halves: Vec<_> = (0..60)
        .map(|number| {
            let mut stream = connect(&server);
            let text = format!("GET {base} HTTP/1.1\r\nHost: {host}\r\nX: ");
            stream.write_all(&text.as_bytes()[..number % text.len()]).expect("it takes it");
            stream
        })
        .collect();
    assert_eq!(get(&server, "runs").0, 200);
    let begin = now();
    drop(server);
    assert!(now() - begin < Duration::from_secs(5), "half requests do not hold up the end");
    drop(halves);
}

#[test]
fn of_too_many_connections_each_is_told() {
    let (_scratch, server) = server("many");
    let open: Vec<_> = (0..200).map(|_| connect(&server)).collect();
    let mut told = 0;
    for mut stream in open.iter().rev().take(60) {
        let mut answer = [0; 12];
        stream.read_exact(&mut answer).expect("an answer");
        told += usize::from(&answer == b"HTTP/1.1 503");
    }
    assert_eq!(told, 60, "those beyond 128 are told so");
    drop(open);
    // The threads of the others see that their clients are gone.
    let answered = (0..200).any(|_| get(&server, "runs").0 == 200);
    assert!(answered, "it answers again");
}

#[test]
fn a_port_that_is_taken_is_named() {
    let (scratch, server) = server("port");
    let port = parts(&server).0.rsplit(':').next().and_then(|it| it.parse().ok());
    let port: u16 = port.expect("a port");
    let folder = Some(scratch.path().to_owned());
    let error = Server::start(Options { port, folder, live: None }).err().expect("it is taken");
    assert!(matches!(error, ServeError::Listen { .. }));
    assert!(error.to_string().contains(&format!("port {port}")), "{error}");
}

#[expect(clippy::disallowed_methods, reason = "how long an end takes")]
fn now() -> std::time::Instant {
    std::time::Instant::now()
}

//! A running emulation for browsers that read, that do not, and that are gone.

use crate::client::{Stream, connect, exchange, get, json, parts};
use lasthop_serve::{Live, Options, Server, Session};
use std::io::{Read, Write};
use std::sync::Arc;
use std::time::Duration;

struct Two;

impl Session for Two {
    fn hello(&self) -> String {
        "{\"scenario\": \"two\"}".to_owned()
    }

    fn set(&self, sets: &[String]) -> Result<String, String> {
        match sets {
            [one] if one == "a=1" => Ok("{\"set\": {\"a\": 1}}".to_owned()),
            _ => Err(format!("{sets:?}: expected a=1")),
        }
    }
}

fn started() -> (Live, Server) {
    let live = Live::new(Arc::new(Two));
    let options = Options { live: Some(live.clone()), ..Options::default() };
    (live, Server::start(options).expect("it starts"))
}

fn follow(server: &Server) -> Stream {
    let (host, base) = parts(server);
    let mut stream = connect(server);
    let text = format!("GET {base}live HTTP/1.1\r\nHost: {host}\r\n\r\n");
    stream.write_all(text.as_bytes()).expect("it takes it");
    stream
}

/// Reads until `end` has come.
fn until(stream: &mut Stream, end: &str) -> String {
    let mut text = String::new();
    let mut part = [0; 4096];
    // A part that is long enough is read again for an end that came in two.
    while !text[text.len().saturating_sub(part.len() + end.len())..].contains(end) {
        let count = stream.read(&mut part).expect("it goes on");
        assert!(count > 0, "it ended: {text}");
        text += &String::from_utf8_lossy(&part[..count]);
    }
    text
}

#[test]
fn readings_come_as_they_are_published() {
    let (live, server) = started();
    assert_eq!(json(&server, "runs")["is_live"], true);
    live.publish("reading", "{\"at_s\": 0.1}".to_owned());
    let mut early = follow(&server);
    let text = until(&mut early, "0.1}\n\n");
    assert!(text.contains("Content-Type: text/event-stream\r\n"), "{text}");
    assert!(text.contains("event: hello\ndata: {\"scenario\": \"two\"}\n\n"), "{text}");
    live.publish("reading", "{\"at_s\": 0.2}".to_owned());
    assert_eq!(until(&mut early, "0.2}\n\n"), "event: reading\ndata: {\"at_s\": 0.2}\n\n");
    live.end("{\"at_s\": 0.3}".to_owned());
    let mut rest = String::new();
    early.read_to_string(&mut rest).expect("it ends");
    assert_eq!(rest, "event: end\ndata: {\"at_s\": 0.3}\n\n");
    let late = get(&server, "live").2;
    assert!(
        late.contains("0.1}") && late.contains("0.2}") && late.contains("event: end"),
        "{late}"
    );
}

#[test]
fn what_is_set_is_applied_or_told() {
    let (_live, server) = started();
    let (host, base) = parts(&server);
    let set = |body: &str, fields: &str| {
        let text = format!(
            "POST {base}set HTTP/1.1\r\nHost: {host}\r\n{fields}Content-Length: {}\r\n\r\n{body}",
            body.len()
        );
        let (status, _, answer) = exchange(&server, text.as_bytes());
        (status, answer)
    };
    assert_eq!(set("{\"set\": [\"a=1\"]}", ""), (200, "{\"set\": {\"a\": 1}}".to_owned()));
    let (status, why) = set("{\"set\": [\"a=2\"]}", "");
    assert_eq!((status, why.as_str()), (422, "{\"error\":\"[\\\"a=2\\\"]: expected a=1\"}"));
    for bad in
        ["", "{", "[]", "{\"set\": []}", "{\"set\": \"a=1\"}", "{\"set\": [1]}", "{\"sets\": []}"]
    {
        let (status, why) = set(bad, "");
        assert!(status == 400 && why.contains("PATH=VALUE"), "{bad}: {status} {why}");
    }
    let strange = "Origin: http://evil.example\r\n";
    assert_eq!(set("{\"set\": [\"a=1\"]}", strange).0, 403, "a page of somebody else");
    assert_eq!(get(&server, "set").0, 405);
}

#[test]
fn a_hundred_browsers_are_served_or_told_no() {
    let (live, server) = started();
    let mut streams: Vec<Stream> = (0..100).map(|_| follow(&server)).collect();
    let mut statuses: Vec<String> = Vec::new();
    for stream in &mut streams {
        statuses.push(until(stream, "\r\n\r\n")[9..12].to_owned());
    }
    let count = |status: &str| statuses.iter().filter(|it| *it == status).count();
    assert_eq!((count("200"), count("503")), (64, 36));
    live.publish("reading", "{\"at_s\": 7}".to_owned());
    let served = statuses.iter().position(|it| it == "200").expect("some are");
    until(&mut streams[served], "7}\n\n");
    assert_eq!(get(&server, "runs").0, 200, "it answers others as well");
}

/// Publishing takes the same time, whoever reads.
#[test]
fn who_does_not_read_costs_nothing_and_holds_up_no_end() {
    let (live, server) = started();
    let idle: Vec<Stream> = (0..60).map(|_| follow(&server)).collect();
    let mut reader = follow(&server);
    until(&mut reader, "event: hello");
    let gone = follow(&server);
    drop(gone);
    let reading = "x".repeat(2_000);
    let begin = now();
    for _ in 0..5_000 {
        live.publish("reading", reading.clone());
    }
    let took = now() - begin;
    assert!(took < Duration::from_secs(2), "10 MB for 61 browsers took {took:?} to publish");
    live.publish("reading", "last".to_owned());
    until(&mut reader, "data: last\n\n");
    let begin = now();
    drop(server);
    assert!(now() - begin < Duration::from_secs(5), "open streams do not hold up the end");
    drop(idle);
}

#[expect(clippy::disallowed_methods, reason = "how long it takes")]
fn now() -> std::time::Instant {
    std::time::Instant::now()
}

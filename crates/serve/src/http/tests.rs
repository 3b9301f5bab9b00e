//! Access control of requests.

use super::*;

const SECRET: &str = "00112233445566778899aabbccddeeff";

fn read(text: &str) -> Result<Request, Refusal> {
    let place = Place { port: 4000, secret: SECRET.to_owned() };
    place.read(&mut text.as_bytes())
}

fn status(text: &str) -> u16 {
    match read(text) {
        Ok(_) => 200,
        Err(Refusal::Status(status, _)) => status,
        Err(Refusal::Gone) => 0,
    }
}

fn get(path: &str, fields: &str) -> String {
    format!("GET {path} HTTP/1.1\r\n{fields}\r\n")
}

const HOST: &str = "Host: 127.0.0.1:4000\r\n";

#[test]
fn a_request_of_the_page_is_read() {
    let text =
        format!("GET /{SECRET}/run/3/air?from_ns=1 HTTP/1.1\r\nhost: LOCALHOST:4000\r\n\r\n");
    let request = read(&text).expect("a request");
    assert_eq!((request.method, request.path.as_str()), (Method::Get, "run/3/air"));
    assert_eq!(request.query, "from_ns=1");
    let text = format!(
        "POST /{SECRET}/set HTTP/1.1\r\n{HOST}Origin: http://127.0.0.1:4000\r\n\
         Content-Length: 3\r\n\r\nabcdef"
    );
    let request = read(&text).expect("a request");
    assert_eq!((request.method, request.body), (Method::Post, b"abc".to_vec()));
}

#[test]
fn without_the_secret_there_is_nothing() {
    for path in [
        "/",
        "/favicon.ico",
        &format!("/{SECRET}"),
        &format!("/{}/", &SECRET[1..]),
        &format!("/{SECRET}0/"),
        &format!("//{SECRET}/"),
        &format!("/{}/", SECRET.to_uppercase()),
        &format!("/x/../{SECRET}/"),
        "/%30%30112233445566778899aabbccddeeff/",
    ] {
        assert_eq!(status(&get(path, HOST)), 404, "{path}");
    }
    assert_eq!(status(&get(&format!("/{SECRET}/"), HOST)), 200);
}

#[test]
fn other_names_and_other_origins_are_refused() {
    let path = format!("/{SECRET}/");
    for host in ["evil.example", "127.0.0.1", "127.0.0.1:4001", "evil.example:4000", "[::1]:4000"] {
        assert_eq!(status(&get(&path, &format!("Host: {host}\r\n"))), 421, "{host}");
    }
    assert_eq!(status(&get(&path, "")), 421, "no host");
    assert_eq!(status(&get(&path, &format!("{HOST}{HOST}"))), 400, "two hosts");
    for origin in ["null", "http://evil.example", "https://127.0.0.1:4000", "http://127.0.0.1:40"] {
        let fields = format!("{HOST}Origin: {origin}\r\n");
        assert_eq!(status(&get(&path, &fields)), 403, "{origin}");
    }
}

#[test]
fn what_is_no_small_request_is_refused() {
    let path = format!("/{SECRET}/");
    assert_eq!(status(&format!("PUT {path} HTTP/1.1\r\n{HOST}\r\n")), 405);
    assert_eq!(status(&format!("HEAD {path} HTTP/1.1\r\n{HOST}\r\n")), 405);
    assert_eq!(status("nonsense\r\n\r\n"), 400);
    assert_eq!(status("\u{16}\u{3}\u{1}\r\n\r\n"), 400);
    assert_eq!(status(&get(&path, &format!("{HOST}Content-Length: 65537\r\n"))), 413);
    assert_eq!(status(&get(&path, &format!("{HOST}Content-Length: -1\r\n"))), 400);
    assert_eq!(
        status(&get(&path, &format!("{HOST}Content-Length: 99999999999999999999\r\n"))),
        413
    );
    assert_eq!(status(&get(&path, &format!("{HOST}Transfer-Encoding: chunked\r\n"))), 411);
    assert_eq!(status(&get(&path, &format!("{HOST}X: {}\r\n", "x".repeat(HEAD_MAX)))), 431);
    assert_eq!(status(&get(&path, &format!("{HOST}{}", "X: y\r\n".repeat(65)))), 400);
    assert_eq!(status(&format!("GET {path} HTTP/1.1\r\n{HOST}")), 0, "half a request");
    assert_eq!(status(&get(&path, &format!("{HOST}Content-Length: 5\r\n"))), 0, "half a body");
}

#[test]
fn a_head_in_small_parts_is_the_same() {
    struct Parts<'a>(&'a [u8]);
    impl Read for Parts<'_> {
        fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
            let count = self.0.len().min(1);
            bytes[..count].copy_from_slice(&self.0[..count]);
            self.0 = &self.0[count..];
            Ok(count)
        }
    }
    let text = format!("POST /{SECRET}/set HTTP/1.1\r\n{HOST}Content-Length: 2\r\n\r\nab");
    let place = Place { port: 4000, secret: SECRET.to_owned() };
    let request = place.read(&mut Parts(text.as_bytes())).expect("a request");
    assert_eq!(request, read(&text).expect("a request"));
}

#[test]
fn a_response_says_what_a_browser_may_do() {
    let text = String::from_utf8(Response::json("{}").bytes()).expect("text");
    for field in [
        "HTTP/1.1 200 OK\r\n",
        "Content-Length: 2\r\n",
        "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; ",
        "X-Content-Type-Options: nosniff\r\n",
        "Referrer-Policy: no-referrer\r\n",
        "Cache-Control: no-store\r\n",
        "Cross-Origin-Resource-Policy: same-origin\r\n",
    ] {
        assert!(text.contains(field), "{field}");
    }
    assert!(!text.contains("unsafe-inline"));
    let report = String::from_utf8(Response::report("").bytes()).expect("text");
    assert!(report.contains("; sandbox\r\n") && !report.contains("script-src"));
}

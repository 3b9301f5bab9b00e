//! Requests and responses of HTTP/1.1 as bytes (RFC 9112), and access control. A request has a head
//! of at most 16 KiB and a body of at most 64 KiB with a `Content-Length`; chunked bodies are
//! rejected. A connection has one request and ends with the response, so bytes after the request
//! are never read. `httparse` reads the head.

use std::io::{self, Read, Write};
use subtle::ConstantTimeEq;

/// Longest request line with its header fields, in bytes.
pub(crate) const HEAD_MAX: usize = 16 * 1024;
/// Longest body of a request, in bytes.
pub(crate) const BODY_MAX: usize = 64 * 1024;
/// Largest number of header fields.
const FIELDS_MAX: usize = 64;

/// Content Security Policy of pages: scripts, styles and data of this server only.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' \
                      data:; connect-src 'self'; base-uri 'none'; form-action 'none'; \
                      frame-ancestors 'none'";
/// Content Security Policy of a report, which has an inline style and no script.
const REPORT_POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; \
                             base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox";

/// Method of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// A request for a resource.
    Get,
    /// A request for a change.
    Post,
}

/// An accepted request: from a page of this server, or from a client that knows its address.
#[derive(Debug, PartialEq, Eq)]
pub struct Request {
    /// Method of the request.
    pub method: Method,
    /// Path after the secret, not percent-decoded: no resource needs it.
    pub path: String,
    /// Query after `?`.
    pub query: String,
    /// Body of the request, complete.
    pub body: Vec<u8>,
}

/// Reasons for rejecting a request.
#[derive(Debug)]
pub enum Refusal {
    /// The client is gone or too slow, and gets no answer.
    Gone,
    /// The client gets this status and text.
    Status(u16, String),
}

/// Address of a server, including the secret that clients must know.
#[derive(Clone, Debug)]
pub struct Place {
    /// Port on the loopback.
    pub port: u16,
    /// First part of every path, the secret.
    pub secret: String,
}

impl Place {
    /// Reads a request and checks its access.
    ///
    /// # Errors
    /// The reason for rejecting the request, before any resource is looked up.
    pub fn read(&self, stream: &mut impl Read) -> Result<Request, Refusal> {
        let mut bytes = Vec::new();
        let length = head(stream, &mut bytes)?;
        let mut fields = [httparse::EMPTY_HEADER; FIELDS_MAX];
        let mut parsed = httparse::Request::new(&mut fields);
        match parsed.parse(&bytes[..length]) {
            Ok(httparse::Status::Complete(_)) => {}
            Ok(httparse::Status::Partial) => {
                return Err(bad("the head of the request is not whole"));
            }
            Err(why) => return Err(bad(&format!("this is no request of HTTP/1.1: {why}"))),
        }
        let target = parsed.path.unwrap_or_default();
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let field = |name: &str| field(parsed.headers, name);
        // Access is checked before the resource, so that strangers learn nothing.
        self.host(field("host")?)?;
        if let Some(origin) = field("origin")? {
            self.origin(origin)?;
        }
        let path = self.inside(path)?.to_owned();
        let method = match parsed.method.unwrap_or_default() {
            "GET" => Method::Get,
            "POST" => Method::Post,
            _ => return Err(Refusal::Status(405, "expected GET or POST".to_owned())),
        };
        if field("transfer-encoding")?.is_some() {
            return Err(Refusal::Status(411, "expected Content-Length".to_owned()));
        }
        let expected = match field("content-length")? {
            None => 0,
            Some(text) if !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit()) => {
                text.parse::<usize>().unwrap_or(usize::MAX)
            }
            Some(_) => return Err(bad("Content-Length is no number")),
        };
        if expected > BODY_MAX {
            return Err(Refusal::Status(413, format!("expected at most {BODY_MAX} bytes")));
        }
        let query = query.to_owned();
        let mut body = bytes.split_off(length);
        body.truncate(expected);
        let begun = body.len();
        body.resize(expected, 0);
        stream.read_exact(&mut body[begun..]).map_err(|_| Refusal::Gone)?;
        Ok(Request { method, path, query, body })
    }

    /// Whether a host name is one of this server. Another name that resolves to the loopback (DNS
    /// rebinding) is rejected.
    fn is_own(&self, authority: &str) -> bool {
        let own = |host: &str| authority.eq_ignore_ascii_case(&format!("{host}:{}", self.port));
        own("127.0.0.1") || own("localhost")
    }

    fn host(&self, host: Option<&str>) -> Result<(), Refusal> {
        match host {
            Some(host) if self.is_own(host) => Ok(()),
            _ => Err(Refusal::Status(
                421,
                format!("expected the host 127.0.0.1:{} or localhost:{}", self.port, self.port),
            )),
        }
    }

    fn origin(&self, origin: &str) -> Result<(), Refusal> {
        match origin.strip_prefix("http://") {
            Some(host) if self.is_own(host) => Ok(()),
            _ => Err(Refusal::Status(403, "expected a request of this page".to_owned())),
        }
    }

    /// Returns the path after `/SECRET/`. The time of a rejection does not depend on the secret.
    fn inside<'a>(&self, path: &'a str) -> Result<&'a str, Refusal> {
        let missing = || Refusal::Status(404, NOT_FOUND.to_owned());
        let rest = path.strip_prefix('/').ok_or_else(missing)?;
        let (given, inside) = rest.split_once('/').ok_or_else(missing)?;
        if bool::from(given.as_bytes().ct_eq(self.secret.as_bytes())) {
            Ok(inside)
        } else {
            Err(missing())
        }
    }
}

/// Text for every missing resource, and for a missing secret.
pub(crate) const NOT_FOUND: &str = "nothing at this address; expected the one that lasthop printed";

fn bad(why: &str) -> Refusal {
    Refusal::Status(400, why.to_owned())
}

/// Reads to the end of the head; returns its length. Bytes after it belong to the body.
fn head(stream: &mut impl Read, bytes: &mut Vec<u8>) -> Result<usize, Refusal> {
    let mut part = [0; 4096];
    loop {
        let count = match stream.read(&mut part) {
            Ok(0) | Err(_) => return Err(Refusal::Gone),
            Ok(count) => count,
        };
        let before = bytes.len().saturating_sub(3);
        bytes.extend_from_slice(&part[..count]);
        let end = bytes[before..].windows(4).position(|four| four == b"\r\n\r\n");
        let length = end.map_or(bytes.len(), |end| before + end + 4);
        if length > HEAD_MAX {
            return Err(Refusal::Status(
                431,
                format!("expected a head of at most {HEAD_MAX} bytes"),
            ));
        }
        if end.is_some() {
            return Ok(length);
        }
    }
}

/// Returns the value of a header field that must not occur twice.
fn field<'a>(fields: &[httparse::Header<'a>], name: &str) -> Result<Option<&'a str>, Refusal> {
    let mut values = fields.iter().filter(|it| it.name.eq_ignore_ascii_case(name));
    let value = values.next().map(|it| std::str::from_utf8(it.value));
    match (value, values.next()) {
        (None, _) => Ok(None),
        (Some(Ok(value)), None) => Ok(Some(value.trim())),
        _ => Err(bad(&format!("expected one {name}"))),
    }
}

/// A complete response.
#[derive(Debug)]
pub struct Response {
    status: u16,
    kind: &'static str,
    body: Vec<u8>,
    policy: &'static str,
}

impl Response {
    /// Makes a response with a body of a media type.
    pub(crate) fn with_body(kind: &'static str, body: impl Into<Vec<u8>>) -> Self {
        Self { status: 200, kind, body: body.into(), policy: POLICY }
    }

    /// Makes a response with a JSON document.
    pub(crate) fn json(body: impl Into<Vec<u8>>) -> Self {
        Self::with_body("application/json", body)
    }

    /// Makes a response with a report as a page.
    pub(crate) fn report(body: impl Into<Vec<u8>>) -> Self {
        let page = Self::with_body("text/html; charset=utf-8", body);
        Self { policy: REPORT_POLICY, ..page }
    }

    /// Makes an error response with the body `{"error": WHY}`.
    pub(crate) fn error(status: u16, why: &str) -> Self {
        let body = serde_json::json!({ "error": why }).to_string();
        Self { status, ..Self::json(body) }
    }

    /// Returns the status, three digits.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// Returns the response as bytes.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut bytes = head_of(self.status, self.kind, self.policy, Some(self.body.len()));
        bytes.extend_from_slice(&self.body);
        bytes
    }
}

/// Begins a response that lasts as long as the connection.
pub(crate) fn begin_stream(stream: &mut impl Write) -> io::Result<()> {
    stream.write_all(&head_of(200, "text/event-stream", POLICY, None))
}

fn head_of(status: u16, kind: &str, policy: &str, length: Option<usize>) -> Vec<u8> {
    let reason = match status {
        200 => "OK",
        400 => "Bad Request",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        411 => "Length Required",
        413 => "Content Too Large",
        421 => "Misdirected Request",
        422 => "Unprocessable Content",
        431 => "Request Header Fields Too Large",
        503 => "Service Unavailable",
        _ => "Internal Server Error",
    };
    let length = length.map_or(String::new(), |length| format!("Content-Length: {length}\r\n"));
    let allow = if status == 405 { "Allow: GET, POST\r\n" } else { "" };
    format!(
        "HTTP/1.1 {status} {reason}\r\nContent-Type: {kind}\r\n{length}{allow}\
         Content-Security-Policy: {policy}\r\nX-Content-Type-Options: nosniff\r\n\
         Referrer-Policy: no-referrer\r\nCache-Control: no-store\r\n\
         Cross-Origin-Resource-Policy: same-origin\r\nCross-Origin-Opener-Policy: same-origin\r\n\
         Connection: close\r\n\r\n"
    )
    .into_bytes()
}

#[cfg(test)]
mod tests;

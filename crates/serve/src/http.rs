//! Requests and responses of HTTP/1.1 as bytes (RFC 9112), and who may ask. A request has a
//! head of at most 16 KiB and a body of at most 64 KiB with a `Content-Length`; a chunked body is
//! refused. One request a connection: a response always ends it, so that what follows a
//! request is never read. `httparse` reads the head.

use std::io::{self, Read, Write};
use subtle::ConstantTimeEq;

/// Most bytes of a request line and its header fields.
pub(crate) const HEAD_MAX: usize = 16 * 1024;
/// Most bytes of a request's body.
pub(crate) const BODY_MAX: usize = 64 * 1024;
/// Most header fields.
const FIELDS_MAX: usize = 64;

/// What pages may do: scripts, styles and data of this server, and nothing of anybody else.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' \
                      data:; connect-src 'self'; base-uri 'none'; form-action 'none'; \
                      frame-ancestors 'none'";
/// The same for a report, which has its style inside and no script.
const REPORT_POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; \
                             base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox";

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Read.
    Get,
    /// Change.
    Post,
}

/// A request that may be answered: of a page of this server, or of somebody who has its address.
#[derive(Debug, PartialEq, Eq)]
pub struct Request {
    /// How.
    pub method: Method,
    /// What follows the secret in the path, not decoded: nothing that is served needs decoding.
    pub path: String,
    /// What follows `?`.
    pub query: String,
    /// What came after the head, whole.
    pub body: Vec<u8>,
}

/// Why a request is not answered as it would like.
#[derive(Debug)]
pub enum Refusal {
    /// Its sender is gone, or sends nothing in time: there is nobody to answer.
    Gone,
    /// With this status and text.
    Status(u16, String),
}

/// Where a server is, and what its clients have to know.
#[derive(Clone, Debug)]
pub struct Place {
    /// The port of the loopback.
    pub port: u16,
    /// The first part of every path.
    pub secret: String,
}

impl Place {
    /// Reads a request and finds out whether it may be answered.
    ///
    /// # Errors
    /// Why not; nothing of what is asked for was looked at.
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
        // Who asks is settled before what is asked for, so that nobody else learns anything.
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

    /// Whether a name for this server is one of its own: another name that leads to the loopback
    /// (DNS rebinding) is refused.
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

    /// What follows `/SECRET/`. How long it takes to say no does not depend on the secret.
    fn inside<'a>(&self, path: &'a str) -> Result<&'a str, Refusal> {
        let missing = || Refusal::Status(404, NOT_FOUND.to_owned());
        let rest = path.strip_prefix('/').ok_or_else(missing)?;
        let (given, inside) = rest.split_once('/').ok_or_else(missing)?;
        match bool::from(given.as_bytes().ct_eq(self.secret.as_bytes())) {
            true => Ok(inside),
            false => Err(missing()),
        }
    }
}

/// What is said of everything that is not there, also for want of the secret.
pub(crate) const NOT_FOUND: &str =
    "there is nothing here; expected the address that lasthop printed";

fn bad(why: &str) -> Refusal {
    Refusal::Status(400, why.to_owned())
}

/// Reads until the end of the head; returns its length. What was read beyond is body.
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

/// The value of a header field that must not be there twice.
fn field<'a>(fields: &[httparse::Header<'a>], name: &str) -> Result<Option<&'a str>, Refusal> {
    let mut values = fields.iter().filter(|it| it.name.eq_ignore_ascii_case(name));
    let value = values.next().map(|it| std::str::from_utf8(it.value));
    match (value, values.next()) {
        (None, _) => Ok(None),
        (Some(Ok(value)), None) => Ok(Some(value.trim())),
        _ => Err(bad(&format!("expected one {name}"))),
    }
}

/// A whole response.
#[derive(Debug)]
pub struct Response {
    status: u16,
    kind: &'static str,
    body: Vec<u8>,
    policy: &'static str,
}

impl Response {
    /// What was asked for, of a media type.
    pub(crate) fn of(kind: &'static str, body: impl Into<Vec<u8>>) -> Self {
        Self { status: 200, kind, body: body.into(), policy: POLICY }
    }

    /// A document of JSON.
    pub(crate) fn json(body: impl Into<Vec<u8>>) -> Self {
        Self::of("application/json", body)
    }

    /// A report as a page of its own.
    pub(crate) fn report(body: impl Into<Vec<u8>>) -> Self {
        let page = Self::of("text/html; charset=utf-8", body);
        Self { policy: REPORT_POLICY, ..page }
    }

    /// Something other than what was asked for: `{"error": WHY}`.
    pub(crate) fn error(status: u16, why: &str) -> Self {
        let body = serde_json::json!({ "error": why }).to_string();
        Self { status, ..Self::json(body) }
    }

    /// Its status, three digits.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// The response as bytes.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut bytes = head_of(self.status, self.kind, self.policy, Some(self.body.len()));
        bytes.extend_from_slice(&self.body);
        bytes
    }
}

/// Begins a response that goes on until the connection ends.
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

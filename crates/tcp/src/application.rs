//! The application at either end of a connection: the time and size of its writes, and its answers
//! to the bytes that it reads. The application is a state machine without payload: its inputs are
//! the time and the number of bytes received, and it reports when it must be woken.
//!
//! The application writes like a program with a blocking socket: the sender takes as many bytes as
//! fit in its send buffer ([`Application::write`]), and the rest stays pending here. Quantities are
//! bytes of payload. Left out: processing time in the applications, except for the client's think
//! time.

use lasthop_units::{Bitrate, Bytes, Duration, Instant};

/// The traffic pattern of a connection. The client is the end that opened it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApplicationKind {
    /// The client always has data to send.
    Bulk,
    /// The client sends this many bytes, then closes.
    Transfer(Bytes),
    /// The client writes one chunk at a time at a constant rate. Chunks that do not fit in the send
    /// buffer wait and are not dropped: the source does not adapt to the path.
    Limited {
        /// Rate of the payload.
        rate: Bitrate,
        /// Bytes per write; more than 0.
        chunk: Bytes,
    },
    /// The client sends a request, the server responds without delay, and the
    /// client pauses for the think time before its next request.
    RequestResponse {
        /// Length of a request in bytes; more than 0.
        request: Bytes,
        /// Length of a response in bytes; more than 0.
        response: Bytes,
        /// Time from the last byte of a response to the next request.
        think: Duration,
        /// Number of exchanges after which the client closes; no limit if `None`.
        exchanges: Option<u64>,
    },
    /// The client sends a request when its owner calls [`Application::fetch`], one at a time and
    /// each with its own lengths; the server responds without delay.
    Fetches,
}

/// One end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The end that opened the connection (active open).
    Client,
    /// The end that accepted it (passive open).
    Server,
}

/// A completed request and its response, as seen by the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// Instant at which the client wrote the request.
    pub start: Instant,
    /// Instant at which the last byte of the response arrived at the client.
    pub end: Instant,
}

/// The application at one end.
///
/// ```
/// use lasthop_tcp::application::{Application, ApplicationKind, Side};
/// use lasthop_units::{Bytes, Duration, Instant};
///
/// let kind = ApplicationKind::RequestResponse {
///     request: Bytes::new(300),
///     response: Bytes::new(50_000),
///     think: Duration::from_millis(70),
///     exchanges: Some(1),
/// };
/// let start = Instant::ZERO;
/// let mut client = Application::new(kind, Side::Client, start);
/// let mut server = Application::new(kind, Side::Server, start);
/// client.handle_timeout(start);
/// let request = client.write(u64::MAX);
/// server.handle_received(start, request);
/// let response = server.write(u64::MAX);
/// client.handle_received(start + Duration::from_millis(40), response);
/// let exchange = client.poll_exchange().expect("the response is complete");
/// assert_eq!(exchange.end - exchange.start, Duration::from_millis(40));
/// assert!(client.is_finished());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Application {
    /// Bytes to write now; `u64::MAX` stands for an endless stream.
    pending: u64,
    /// Instant of its next write.
    next: Option<Instant>,
    role: Role,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Role {
    /// Writes pending bytes, and discards bytes that it reads.
    Plain,
    /// Writes one chunk per interval.
    Limited {
        chunk: u64,
        interval: Duration,
    },
    Client {
        request: u64,
        response: u64,
        think: Duration,
        /// Number of requests still to be made; no limit if `None`.
        left: Option<u64>,
        /// Number of bytes missing from the current response, and the instant at which its request
        /// was written.
        waiting: Option<(u64, Instant)>,
        completed: Option<Exchange>,
    },
    Fetcher {
        /// Number of bytes missing from the current response, and the instant at which its request
        /// was written.
        waiting: Option<(u64, Instant)>,
        completed: Option<Exchange>,
        is_open: bool,
    },
    Server {
        request: u64,
        response: u64,
        unread: u64,
    },
}

impl Application {
    /// Returns the application at `side`; a client starts at `start`.
    pub fn new(kind: ApplicationKind, side: Side, start: Instant) -> Self {
        let (pending, next, role) = match (side, kind) {
            (Side::Server, ApplicationKind::RequestResponse { request, response, .. }) => {
                let role = Role::Server {
                    request: request.as_u64().max(1),
                    response: response.as_u64(),
                    unread: 0,
                };
                (0, None, role)
            }
            (Side::Server, ApplicationKind::Fetches) => {
                (0, None, Role::Server { request: 1, response: 0, unread: 0 })
            }
            (Side::Server, _) => (0, None, Role::Plain),
            (Side::Client, ApplicationKind::Bulk) => (u64::MAX, None, Role::Plain),
            (Side::Client, ApplicationKind::Transfer(bytes)) => (bytes.as_u64(), None, Role::Plain),
            (Side::Client, ApplicationKind::Limited { rate, chunk }) => {
                let role = Role::Limited { chunk: chunk.as_u64().max(1), interval: chunk / rate };
                (0, Some(start), role)
            }
            (
                Side::Client,
                ApplicationKind::RequestResponse { request, response, think, exchanges },
            ) => {
                let role = Role::Client {
                    request: request.as_u64(),
                    response: response.as_u64(),
                    think,
                    left: exchanges,
                    waiting: None,
                    completed: None,
                };
                (0, (exchanges != Some(0)).then_some(start), role)
            }
            (Side::Client, ApplicationKind::Fetches) => {
                (0, None, Role::Fetcher { waiting: None, completed: None, is_open: true })
            }
        };
        Self { pending, next, role }
    }

    /// Begins an exchange of [`ApplicationKind::Fetches`], after the one before: the client writes
    /// the request, and the server learns the lengths. The call is for both ends, with lengths above
    /// zero.
    pub fn fetch(&mut self, now: Instant, request: Bytes, response: Bytes) {
        let (asked, answer) = (request.as_u64().max(1), response.as_u64());
        match &mut self.role {
            Role::Fetcher { waiting, .. } => {
                debug_assert!(waiting.is_none(), "one exchange at a time");
                *waiting = Some((answer, now));
                self.pending += asked;
            }
            Role::Server { request, response, .. } => (*request, *response) = (asked, answer),
            Role::Plain | Role::Limited { .. } | Role::Client { .. } => {}
        }
    }

    /// Lets the client of [`ApplicationKind::Fetches`] close the connection after the current
    /// exchange.
    pub fn close(&mut self) {
        if let Role::Fetcher { is_open, .. } = &mut self.role {
            *is_open = false;
        }
    }

    /// Instant of its next write, if that depends on time.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.next
    }

    /// Writes if the instant of [`Application::poll_timeout`] has come.
    pub fn handle_timeout(&mut self, now: Instant) {
        let Some(due) = self.next.filter(|due| *due <= now) else {
            return;
        };
        match &mut self.role {
            Role::Plain | Role::Fetcher { .. } | Role::Server { .. } => self.next = None,
            Role::Limited { chunk, interval } => {
                self.pending = self.pending.saturating_add(*chunk);
                self.next = Some(due + *interval);
            }
            Role::Client { request, response, left, waiting, .. } => {
                self.pending += *request;
                *waiting = Some((*response, now));
                if let Some(left) = left {
                    *left -= 1;
                }
                self.next = None;
            }
        }
    }

    /// Bytes that are ready for the sender.
    pub fn pending(&self) -> u64 {
        self.pending
    }

    /// Moves up to `space` bytes, the free space in the send buffer, to the sender. Returns their
    /// number.
    pub fn write(&mut self, space: u64) -> u64 {
        let bytes = self.pending.min(space);
        if self.pending != u64::MAX {
            self.pending -= bytes;
        }
        bytes
    }

    /// Reads `bytes` that arrived in order.
    pub fn handle_received(&mut self, now: Instant, bytes: u64) {
        match &mut self.role {
            Role::Plain | Role::Limited { .. } => {}
            Role::Server { request, response, unread } => {
                *unread += bytes;
                self.pending += *unread / *request * *response;
                *unread %= *request;
            }
            Role::Client { think, left, waiting, completed, .. } => {
                let Some((missing, start)) = waiting else {
                    return;
                };
                *missing = missing.saturating_sub(bytes);
                if *missing == 0 {
                    *completed = Some(Exchange { start: *start, end: now });
                    *waiting = None;
                    self.next = (*left != Some(0)).then_some(now + *think);
                }
            }
            Role::Fetcher { waiting, completed, .. } => {
                let Some((missing, start)) = waiting else {
                    return;
                };
                *missing = missing.saturating_sub(bytes);
                if *missing == 0 {
                    *completed = Some(Exchange { start: *start, end: now });
                    *waiting = None;
                }
            }
        }
    }

    /// The last completed exchange; each is returned once.
    pub fn poll_exchange(&mut self) -> Option<Exchange> {
        match &mut self.role {
            Role::Client { completed, .. } | Role::Fetcher { completed, .. } => completed.take(),
            _ => None,
        }
    }

    /// Whether it will never write again, so that its direction of the stream can be closed (FIN).
    /// A server never closes first.
    pub fn is_finished(&self) -> bool {
        let is_done = match &self.role {
            Role::Plain => true,
            Role::Limited { .. } | Role::Server { .. } => false,
            Role::Client { waiting, .. } => waiting.is_none(),
            Role::Fetcher { waiting, is_open, .. } => waiting.is_none() && !is_open,
        };
        is_done && self.pending == 0 && self.next.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    #[test]
    fn bulk_never_ends() {
        let mut client = Application::new(ApplicationKind::Bulk, Side::Client, at(0));
        for _ in 0..3 {
            assert_eq!(client.write(1 << 40), 1 << 40);
        }
        assert!(!client.is_finished());
    }

    #[test]
    fn a_transfer_ends_with_its_last_byte() {
        let kind = ApplicationKind::Transfer(Bytes::new(10_000));
        let mut client = Application::new(kind, Side::Client, at(0));
        assert_eq!(client.write(6_000), 6_000);
        assert!(!client.is_finished());
        assert_eq!(client.write(6_000), 4_000);
        assert!(client.is_finished());
    }

    /// 8 Mb/s in chunks of 10 000 bytes: one every 10 ms, 1 000 000 bytes in a second.
    #[test]
    fn a_limited_source_keeps_its_rate_whatever_the_space() {
        let kind = ApplicationKind::Limited {
            rate: Bitrate::from_bps(8_000_000),
            chunk: Bytes::new(10_000),
        };
        let mut client = Application::new(kind, Side::Client, at(0));
        let mut written = 0;
        while let Some(due) = client.poll_timeout().filter(|due| *due < at(1_000)) {
            client.handle_timeout(due);
            // No space in the first half second, then enough.
            written += client.write(if due < at(500) { 0 } else { u64::MAX });
        }
        assert_eq!(written, 1_000_000);
        assert!(!client.is_finished());
    }

    #[test]
    fn an_early_timeout_does_nothing() {
        let kind = ApplicationKind::Limited {
            rate: Bitrate::from_bps(8_000_000),
            chunk: Bytes::new(10_000),
        };
        let mut client = Application::new(kind, Side::Client, at(5));
        client.handle_timeout(at(4));
        assert_eq!((client.pending(), client.poll_timeout()), (0, Some(at(5))));
    }

    #[test]
    fn requests_are_answered_and_followed_by_a_pause() {
        let kind = ApplicationKind::RequestResponse {
            request: Bytes::new(300),
            response: Bytes::new(50_000),
            think: Duration::from_millis(70),
            exchanges: Some(2),
        };
        let mut client = Application::new(kind, Side::Client, at(10));
        let mut server = Application::new(kind, Side::Server, at(10));
        for start in [10, 10 + 40 + 70] {
            assert_eq!(client.poll_timeout(), Some(at(start)));
            client.handle_timeout(at(start));
            assert_eq!(client.write(u64::MAX), 300);
            // The request comes in two pieces, the response in three.
            server.handle_received(at(start + 20), 299);
            assert_eq!(server.pending(), 0);
            server.handle_received(at(start + 20), 1);
            assert_eq!(server.write(u64::MAX), 50_000);
            for (bytes, millis) in [(20_000, 30), (29_999, 35), (1, 40)] {
                assert!(!client.is_finished());
                assert_eq!(client.poll_exchange(), None);
                client.handle_received(at(start + millis), bytes);
            }
            let exchange = Exchange { start: at(start), end: at(start + 40) };
            assert_eq!(client.poll_exchange(), Some(exchange));
        }
        assert!(client.is_finished() && !server.is_finished());
    }

    /// Two exchanges of different lengths; the client stays open until `close`.
    #[test]
    fn a_fetcher_asks_when_it_is_told_to() {
        let kind = ApplicationKind::Fetches;
        let mut client = Application::new(kind, Side::Client, at(0));
        let mut server = Application::new(kind, Side::Server, at(0));
        for (start, response) in [(10, 5_000), (90, 70)] {
            assert_eq!((client.pending(), client.poll_timeout()), (0, None));
            for end in [&mut client, &mut server] {
                end.fetch(at(start), Bytes::new(350), Bytes::new(response));
            }
            assert_eq!(client.write(u64::MAX), 350);
            server.handle_received(at(start + 20), 350);
            assert_eq!(server.write(u64::MAX), response);
            client.handle_received(at(start + 30), response - 1);
            assert_eq!(client.poll_exchange(), None);
            client.handle_received(at(start + 40), 1);
            let exchange = Exchange { start: at(start), end: at(start + 40) };
            assert_eq!(client.poll_exchange(), Some(exchange));
            assert!(!client.is_finished());
        }
        client.close();
        assert!(client.is_finished() && !server.is_finished());
    }
}

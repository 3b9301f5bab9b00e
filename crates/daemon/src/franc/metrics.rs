//! The port for Prometheus: HTTP/1.0 (RFC 1945) as far as Prometheus needs it. Serves one page,
//! to [`GUESTS_MAX`] clients at a time, each for [`PATIENCE`] at most. Leaves out header fields,
//! other methods than GET, and a second request on a connection.

use super::source::Source;
use lasthop_linux::event_loop::Registry;
use lasthop_linux::listener::{Guest, Port};
use lasthop_units::{Duration, Instant};
use std::io;
use std::os::fd::AsFd;

/// Largest number of clients at a time.
const GUESTS_MAX: usize = 8;
/// Largest length of a request, in bytes; a longer one gets no answer.
const REQUEST_BYTES_MAX: usize = 4_096;
/// Longest time from the connection to the end of the request.
const PATIENCE: Duration = Duration::from_secs(2);

struct Asking {
    guest: Guest,
    request: Vec<u8>,
    until: Instant,
}

/// The port and its clients.
pub(super) struct Metrics {
    port: Port,
    guests: [Option<Asking>; GUESTS_MAX],
}

impl Metrics {
    /// Returns a server at `port` without clients.
    pub fn new(port: Port) -> Self {
        Self { port, guests: Default::default() }
    }

    pub fn port(&self) -> &Port {
        &self.port
    }

    /// Accepts a client, or closes its connection if there are too many.
    pub fn accept(&mut self, registry: &mut Registry<Source>, now: Instant) {
        let Some(guest) = self.port.accept() else { return };
        let Some(index) = self.guests.iter().position(Option::is_none) else { return };
        if registry.add_readable(guest.as_fd(), Source::Guest(index)).is_ok() {
            let asking = Asking { guest, request: Vec::new(), until: now + PATIENCE };
            self.guests[index] = Some(asking);
        }
    }

    /// Reads from the client at `index`, and answers once its request is complete.
    pub fn hear(
        &mut self,
        index: usize,
        registry: &mut Registry<Source>,
        page: &mut dyn FnMut() -> String,
    ) {
        let Some(asking) = self.guests.get_mut(index).and_then(Option::as_mut) else { return };
        let mut bytes = [0; 1_024];
        let is_over = loop {
            match asking.guest.read(&mut bytes) {
                Ok(0) => break true,
                Ok(count) => asking.request.extend(&bytes[..count]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break false,
                Err(_) => break true,
            }
            if asking.request.len() > REQUEST_BYTES_MAX {
                break true;
            }
        };
        let is_whole = asking.request.windows(4).any(|end| end == b"\r\n\r\n");
        if !is_over && !is_whole {
            return;
        }
        let asking = self.guests[index].take().expect("it was there");
        registry.remove(asking.guest.as_fd());
        if is_whole {
            asking.guest.finish(&answer(&asking.request, page));
        }
    }

    /// Closes the connections of clients that take too long.
    pub fn expire(&mut self, registry: &mut Registry<Source>, now: Instant) {
        for place in &mut self.guests {
            if place.as_ref().is_some_and(|asking| asking.until <= now)
                && let Some(asking) = place.take()
            {
                registry.remove(asking.guest.as_fd());
            }
        }
    }

    /// The instant at which the next client has taken too long.
    pub fn next_expiry(&self) -> Option<Instant> {
        self.guests.iter().flatten().map(|asking| asking.until).min()
    }
}

fn answer(request: &[u8], page: &mut dyn FnMut() -> String) -> String {
    let (status, body) = match request.split(|&byte| byte == b' ').take(2).collect::<Vec<_>>()[..] {
        [b"GET", b"/metrics" | b"/"] => ("200 OK", page()),
        [b"GET", _] => ("404 Not Found", "only /metrics is here\n".into()),
        _ => ("405 Method Not Allowed", "only GET is known here\n".into()),
    };
    format!(
        "HTTP/1.0 {status}\r\nContent-Type: text/plain; version=0.0.4\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_page_is_there() {
        let mut page = || "franc_up 1\n".to_owned();
        assert!(
            answer(b"GET /metrics HTTP/1.1\r\n\r\n", &mut page).ends_with("\r\n\r\nfranc_up 1\n")
        );
        assert!(answer(b"GET /x HTTP/1.1\r\n\r\n", &mut page).starts_with("HTTP/1.0 404"));
        assert!(answer(b"POST /metrics HTTP/1.1\r\n\r\n", &mut page).starts_with("HTTP/1.0 405"));
        assert!(answer(b"\r\n\r\n", &mut page).starts_with("HTTP/1.0 405"));
    }
}

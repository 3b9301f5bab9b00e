//! A reader of web pages: the "web browsing" model of 3GPP2 C.R1002, IEEE 802.16m-08/004 (10.1) and
//! IEEE 802.11-14/0571 (appendix 2). A page is a main object, which the browser parses, and the
//! objects embedded in it; the time to read it follows, then the next page.
//!
//! Lengths are bytes of payload: a truncated lognormal distribution, whose draws beyond the
//! truncation are repeated. The number of embedded objects is a Pareto variable that is cut off at 55
//! (larger ones count as 55), less 2; a fraction is rounded up as often as its size says, which keeps
//! the mean of 5.64. Times are exponential. The browser fetches as HTTP/1.1 does: each connection
//! carries one exchange at a time and stays open for the page. The model has no such rule; six
//! connections are those of today's browsers. Left out: caches, DNS, TLS, redirects, HTTP/2, and the
//! server's own time.

use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;
use lasthop_units::{Bytes, Duration, Instant, Stream};

/// Length of a request in bytes.
pub const REQUEST: Bytes = Bytes::new(350);

/// Mean time to parse the main object.
pub const PARSING: Duration = Duration::from_millis(130);

/// Lengths of main objects.
pub const MAIN: Lengths = Lengths { mean: 10_710.0, deviation: 25_032.0, min: 100.0, max: 2e6 };

/// Lengths of embedded objects.
pub const EMBEDDED: Lengths = Lengths { mean: 7_758.0, deviation: 126_168.0, min: 50.0, max: 2e6 };

/// Pareto distribution of the number of embedded objects: shape, smallest and largest value.
const SHAPE: f64 = 1.1;
const NUMBER_MIN: f64 = 2.0;
const NUMBER_MAX: f64 = 55.0;

/// A truncated lognormal distribution of lengths in bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lengths {
    /// Mean before the truncation.
    pub mean: f64,
    /// Standard deviation before the truncation.
    pub deviation: f64,
    /// Shortest length that is kept.
    pub min: f64,
    /// Longest length that is kept.
    pub max: f64,
}

impl Lengths {
    /// Returns the mean and the standard deviation of the logarithm.
    fn logarithm(&self) -> [f64; 2] {
        let variance = libm::log1p(libm::pow(self.deviation / self.mean, 2.0));
        [libm::log(self.mean) - variance / 2.0, libm::sqrt(variance)]
    }

    /// Draws a length.
    pub fn draw(&self, stream: &mut Stream) -> f64 {
        let [mean, deviation] = self.logarithm();
        loop {
            let length = libm::exp(mean + deviation * stream.normal());
            if (self.min..=self.max).contains(&length) {
                return length;
            }
        }
    }

    /// Returns the mean after the truncation.
    pub fn truncated_mean(&self) -> f64 {
        let [mean, deviation] = self.logarithm();
        let [low, high] = [self.min, self.max].map(|at| (libm::log(at) - mean) / deviation);
        let share = |shift: f64| below(high - shift) - below(low - shift);
        self.mean * share(deviation) / share(0.0)
    }
}

/// The standard normal distribution below `x`.
fn below(x: f64) -> f64 {
    0.5 * libm::erfc(-x * core::f64::consts::FRAC_1_SQRT_2)
}

/// Draws the number of objects embedded in a page, 0 to 53.
pub fn embedded_objects(stream: &mut Stream) -> u32 {
    let drawn = NUMBER_MIN * libm::pow(1.0 - stream.uniform(), -1.0 / SHAPE);
    (drawn.min(NUMBER_MAX) - NUMBER_MIN + stream.uniform()) as u32
}

/// Returns the mean length of a page in bytes, with all its objects.
pub fn mean_page_bytes() -> f64 {
    let tail = NUMBER_MAX * libm::pow(NUMBER_MIN / NUMBER_MAX, SHAPE);
    let objects = (SHAPE * NUMBER_MIN - tail) / (SHAPE - 1.0) - NUMBER_MIN;
    MAIN.truncated_mean() + objects * EMBEDDED.truncated_mean()
}

/// Properties of a reader.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WebConfig {
    /// Factor of all lengths but those of requests; 1 for the model's.
    pub scale: f64,
    /// Mean time to read a page.
    pub think: Duration,
    /// Most connections at a time, 1 to 64.
    pub connections: u8,
}

/// A page that was loaded, or that the end of the run interrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    /// Instant at which the reader asked for the page.
    pub begun: Instant,
    /// Time until the last byte arrived; `None` if the page is not complete.
    pub load: Option<Duration>,
}

/// A request for an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Number of the connection, from 0.
    pub connection: usize,
    /// Length of the answer.
    pub response: Bytes,
}

/// A reader of web pages.
#[derive(Clone, Debug, PartialEq)]
pub struct Reader {
    config: WebConfig,
    stream: Stream,
    state: State,
    /// Instant at which the reader asked for the current page.
    begun: Instant,
    /// Connections with an exchange.
    busy: Vec<bool>,
    /// Lengths of the objects for which no request was made.
    wanted: VecDeque<Bytes>,
    loaded: Option<Page>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Reads until then.
    Reads(Instant),
    /// Waits for the main object.
    Main,
    /// Parses the main object until then.
    Parses(Instant),
    /// Waits for embedded objects.
    Embedded,
}

impl Reader {
    /// Returns a reader who asks for the first page after a time to read: readers who start together
    /// then do not ask together.
    pub fn new(config: WebConfig, start: Instant, mut stream: Stream) -> Self {
        Self {
            state: State::Reads(start + stream.exponential_time(config.think)),
            begun: start,
            busy: vec![false; usize::from(config.connections.max(1))],
            wanted: VecDeque::new(),
            loaded: None,
            config,
            stream,
        }
    }

    /// Largest number of connections at a time.
    pub fn connections(&self) -> usize {
        self.busy.len()
    }

    /// Instant at which the reader acts next, unless an object arrives.
    pub fn poll_timeout(&self) -> Option<Instant> {
        match self.state {
            State::Reads(until) | State::Parses(until) => Some(until),
            State::Main | State::Embedded => None,
        }
    }

    /// Asks for a page, or for the embedded objects, if the time has come.
    pub fn handle_timeout(&mut self, now: Instant) {
        match self.state {
            State::Reads(until) if until <= now => {
                self.begun = now;
                self.want(MAIN);
                self.state = State::Main;
            }
            State::Parses(until) if until <= now => {
                for _ in 0..embedded_objects(&mut self.stream) {
                    self.want(EMBEDDED);
                }
                self.state = State::Embedded;
                self.complete(now);
            }
            _ => {}
        }
    }

    /// Handles the last byte of the object that the connection fetched.
    pub fn handle_object(&mut self, now: Instant, connection: usize) {
        self.busy[connection] = false;
        if self.state == State::Main {
            self.state = State::Parses(now + self.stream.exponential_time(PARSING));
        }
        self.complete(now);
    }

    /// Returns the next request; the lowest free connection carries it.
    pub fn poll_request(&mut self) -> Option<Request> {
        let connection = self.busy.iter().position(|busy| !busy)?;
        let response = self.wanted.pop_front()?;
        self.busy[connection] = true;
        Some(Request { connection, response })
    }

    /// Returns the page that was loaded, once; the caller closes the connections.
    pub fn poll_page(&mut self) -> Option<Page> {
        self.loaded.take()
    }

    /// Returns the page that is being loaded.
    pub fn page(&self) -> Option<Page> {
        let is_loading = !matches!(self.state, State::Reads(_));
        is_loading.then_some(Page { begun: self.begun, load: None })
    }

    fn want(&mut self, lengths: Lengths) {
        let bytes = libm::round(lengths.draw(&mut self.stream) * self.config.scale);
        self.wanted.push_back(Bytes::new((bytes as u64).max(1)));
    }

    /// Ends the page if all its objects are there.
    fn complete(&mut self, now: Instant) {
        if self.state != State::Embedded || !self.wanted.is_empty() || self.busy.contains(&true) {
            return;
        }
        self.loaded = Some(Page { begun: self.begun, load: Some(now - self.begun) });
        self.state = State::Reads(now + self.stream.exponential_time(self.config.think));
    }
}

#[cfg(test)]
mod tests;

//! The server: a socket on 127.0.0.1, a thread for each connection, and limits. A connection has
//! one request and an end: ten seconds for the request, thirty for the response, regardless of the
//! size of its pieces. Connections beyond the limit get a 503 and are closed. Dropping the
//! [`Server`] closes the socket and all connections, and waits for their threads, none of which can
//! hang.

use crate::error::ServeError;
use crate::http::{Place, Refusal, Response};
use crate::live::Live;
use crate::route::{self, Answer, Site};
use nix::sys::socket::{setsockopt, sockopt};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::Ipv4Addr;
use std::net::Shutdown;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

#[expect(clippy::disallowed_types, reason = "a server of the loopback, which no machine knows")]
type Listener = std::net::TcpListener;
#[expect(clippy::disallowed_types, reason = "a server of the loopback, which no machine knows")]
type Stream = std::net::TcpStream;

/// Largest number of connections at a time.
const CONNECTIONS_MAX: usize = 128;
/// Largest number of connections that follow a running emulation.
const STREAMS_MAX: usize = 64;
/// Longest time for receiving a request.
const REQUEST_TIME: Duration = Duration::from_secs(10);
/// Longest time for sending a response.
const RESPONSE_TIME: Duration = Duration::from_secs(30);
/// Longest time in which a browser accepts no event of a running emulation.
const STALL_TIME: Duration = Duration::from_secs(10);
/// Bytes that the kernel buffers for a browser that does not read.
const SEND_BUFFER: usize = 256 << 10;
/// Length of a secret in bytes: 128 bits.
const SECRET_BYTES: usize = 16;

/// Settings of a server.
#[derive(Default)]
pub struct Options {
    /// Port on 127.0.0.1; 0 selects a free one.
    pub port: u16,
    /// Folder with the runs to show.
    pub folder: Option<PathBuf>,
    /// Running emulation to show.
    pub live: Option<Live>,
}

/// A running server, which stops when dropped.
pub struct Server {
    address: String,
    shared: Arc<Shared>,
    listener: Option<JoinHandle<()>>,
}

struct Shared {
    place: Place,
    site: Site,
    is_over: AtomicBool,
    streams: AtomicUsize,
    connections: Mutex<Connections>,
}

#[derive(Default)]
struct Connections {
    next: u64,
    /// Open connections, which the server closes when it stops.
    open: BTreeMap<u64, Stream>,
    threads: Vec<JoinHandle<()>>,
}

impl Server {
    /// Starts the server.
    ///
    /// # Errors
    /// See [`ServeError`].
    pub fn start(options: Options) -> Result<Self, ServeError> {
        let Options { port, folder, live } = options;
        let site = Site::new(folder, live)?;
        let listener = Listener::bind((Ipv4Addr::LOCALHOST, port))
            .map_err(|source| ServeError::Listen { port, source })?;
        let port = listener.local_addr().map_err(ServeError::System)?.port();
        let secret = secret().map_err(ServeError::System)?;
        let address = format!("http://127.0.0.1:{port}/{secret}/");
        let shared = Arc::new(Shared {
            place: Place { port, secret },
            site,
            is_over: AtomicBool::new(false),
            streams: AtomicUsize::new(0),
            connections: Mutex::default(),
        });
        let of_listener = Arc::clone(&shared);
        let listener = thread::Builder::new()
            .name("serve".to_owned())
            .spawn(move || listen(&listener, &of_listener))
            .map_err(ServeError::System)?;
        Ok(Self { address, shared, listener: Some(listener) })
    }

    /// Returns the address of the page, including its secret.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Number of runs, and number of unreadable ones.
    pub fn runs(&self) -> (usize, usize) {
        self.shared.site.counts()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::SeqCst);
        // A connection of our own wakes the listener.
        let _ = Stream::connect((Ipv4Addr::LOCALHOST, self.shared.place.port));
        if let Some(listener) = self.listener.take() {
            let _ = listener.join();
        }
        let threads = {
            let mut connections = self.shared.connections();
            for stream in connections.open.values() {
                let _ = stream.shutdown(Shutdown::Both);
            }
            std::mem::take(&mut connections.threads)
        };
        if let Some(live) = &self.shared.site.live {
            live.wake();
        }
        for thread in threads {
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn connections(&self) -> MutexGuard<'_, Connections> {
        // A thread that panics leaves entries that are whole.
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::SeqCst)
    }
}

/// Returns a random secret as hexadecimal digits.
fn secret() -> io::Result<String> {
    let mut bytes = [0; SECRET_BYTES];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn listen(listener: &Listener, shared: &Arc<Shared>) {
    for stream in listener.incoming() {
        if shared.is_over() {
            return;
        }
        match stream {
            Ok(stream) => accept(stream, shared),
            // Out of descriptors, for example: those of connections become free again.
            Err(_) => wait_a_little(),
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "there is no event for free descriptors")]
fn wait_a_little() {
    thread::sleep(Duration::from_millis(50));
}

fn accept(stream: Stream, shared: &Arc<Shared>) {
    let mut connections = shared.connections();
    connections.threads.retain(|thread| !thread.is_finished());
    if connections.open.len() >= CONNECTIONS_MAX {
        drop(connections);
        busy(&stream);
        return;
    }
    let Ok(of_thread) = stream.try_clone() else { return };
    let number = connections.next;
    connections.next += 1;
    connections.open.insert(number, stream);
    let of_shared = Arc::clone(shared);
    let thread = thread::Builder::new().name("serve-connection".to_owned()).spawn(move || {
        let end = End { number, shared: &of_shared };
        converse(of_thread, &of_shared);
        drop(end);
    });
    match thread {
        Ok(thread) => connections.threads.push(thread),
        Err(_) => {
            if let Some(stream) = connections.open.remove(&number) {
                busy(&stream);
            }
        }
    }
}

/// Removes a connection when its thread ends, even by a panic.
struct End<'a> {
    number: u64,
    shared: &'a Shared,
}

impl Drop for End<'_> {
    fn drop(&mut self) {
        if let Some(stream) = self.shared.connections().open.remove(&self.number) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

/// Answers that there are too many connections, without waiting: the answer fits into the buffer of
/// a new socket.
fn busy(stream: &Stream) {
    let answer = Response::error(503, "too many connections; close some pages").bytes();
    if stream.set_nonblocking(true).is_ok() {
        let mut stream = stream;
        // The bytes received are read, because closing the socket earlier sends a reset, which
        // takes the answer with it.
        let _ = stream.read(&mut [0; 4096]);
        let _ = stream.write(&answer);
        let _ = stream.shutdown(Shutdown::Write);
    }
}

/// Answers the request of a connection.
fn converse(stream: Stream, shared: &Shared) {
    let _ = setsockopt(&stream, sockopt::SndBuf, &SEND_BUFFER);
    let mut timed = Timed::new(&stream, REQUEST_TIME);
    let answer = match shared.place.read(&mut timed) {
        Ok(request) => route::answer(&shared.site, &request),
        Err(Refusal::Status(status, why)) => Answer::Whole(Response::error(status, &why)),
        Err(Refusal::Gone) => return,
    };
    match answer {
        Answer::Whole(response) => {
            let _ = Timed::new(&stream, RESPONSE_TIME).write_all(&response.bytes());
            close(&stream);
        }
        Answer::Live(live) => follow(&stream, shared, &live),
    }
}

fn follow(stream: &Stream, shared: &Shared, live: &Live) {
    let count = shared.streams.fetch_add(1, Ordering::SeqCst);
    if count < STREAMS_MAX {
        let mut to = stream;
        if stream.set_write_timeout(Some(STALL_TIME)).is_ok() {
            let _ = live.stream(&mut to, &|| shared.is_over());
        }
    } else {
        let busy = Response::error(503, "too many pages follow the emulation; close some");
        let _ = Timed::new(stream, RESPONSE_TIME).write_all(&busy.bytes());
    }
    shared.streams.fetch_sub(1, Ordering::SeqCst);
    close(stream);
}

/// Closes a connection so that its last bytes arrive. Reads further bytes from the client, within
/// limits, because closing the socket earlier would send a reset.
fn close(stream: &Stream) {
    const LEFT_MAX: usize = 256 << 10;
    if stream.shutdown(Shutdown::Write).is_err() {
        return;
    }
    let mut timed = Timed::new(stream, Duration::from_secs(1));
    let (mut part, mut left) = ([0; 4096], LEFT_MAX);
    while let Ok(count) = timed.read(&mut part) {
        left = left.saturating_sub(count);
        if count == 0 || left == 0 {
            return;
        }
    }
}

/// A connection with a deadline for all its reads and writes together.
struct Timed<'a> {
    stream: &'a Stream,
    until: std::time::Instant,
}

impl<'a> Timed<'a> {
    fn new(stream: &'a Stream, time: Duration) -> Self {
        Self { stream, until: now() + time }
    }

    fn left(&self) -> io::Result<Option<Duration>> {
        match self.until.checked_duration_since(now()) {
            Some(left) if !left.is_zero() => Ok(Some(left)),
            _ => Err(io::ErrorKind::TimedOut.into()),
        }
    }
}

impl Read for Timed<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(self.left()?)?;
        self.stream.read(bytes)
    }
}

impl Write for Timed<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(self.left()?)?;
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[expect(clippy::disallowed_methods, reason = "how long a connection may take; no result has it")]
fn now() -> std::time::Instant {
    std::time::Instant::now()
}

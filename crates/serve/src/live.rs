//! Events of a running emulation for any number of browsers, as Server-Sent Events (WHATWG HTML,
//! 9.2). Publishing never waits for a browser. A ring of limited length and size keeps the events,
//! and each stream reads it at its pace. A stream that is too slow loses the oldest events and gets
//! their number (`missed`). A stream that joins later begins with the ring's content.

use crate::http;
use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Largest number of events kept.
const EVENTS_MAX: usize = 6_000;
/// Largest number of their bytes.
const BYTES_MAX: usize = 8 << 20;
/// Time after which a stream without events sends a comment, by which it also detects that its
/// browser is gone.
const IDLE: Duration = Duration::from_secs(5);

/// Longest time that the end waits for followers.
const FAREWELL: Duration = Duration::from_millis(500);

/// A running emulation as browsers see it. Several threads call its methods.
pub trait Session: Send + Sync {
    /// Returns the first message to a browser, as a JSON object: `scenario`, `seed`, `duration_s`,
    /// `interval_s`, `knobs`, and `changes` so far.
    fn hello(&self) -> String;

    /// Applies changes to the emulation, each as `PATH=VALUE`; all or none. Returns the applied
    /// changes as JSON.
    ///
    /// # Errors
    /// One message that names the wrong change and the expected values.
    fn set(&self, sets: &[String]) -> Result<String, String>;
}

/// Hub of an emulation, which publishes events here for a [`Server`](crate::Server) to show.
#[derive(Clone)]
pub struct Live {
    shared: Arc<LiveShared>,
}

struct LiveShared {
    session: Arc<dyn Session>,
    state: Mutex<State>,
    /// Signals a published event, or the stop of a server.
    news: Condvar,
}

#[derive(Default)]
struct State {
    events: VecDeque<Event>,
    bytes: usize,
    /// Number of the next event.
    next: u64,
    /// Number of open streams.
    streams: usize,
    has_ended: bool,
}

#[derive(Clone)]
struct Event {
    number: u64,
    kind: Arc<str>,
    json: Arc<str>,
}

impl Live {
    /// Makes a hub for an emulation, which needs a server to be shown.
    pub fn new(session: Arc<dyn Session>) -> Self {
        Self {
            shared: Arc::new(LiveShared { session, state: Mutex::default(), news: Condvar::new() }),
        }
    }

    /// Publishes an event of `kind` (`reading` or `change`) with the data `json`. Needs
    /// microseconds, regardless of browsers. No event may follow [`end`](Self::end).
    pub fn publish(&self, kind: &str, json: String) {
        let mut state = self.state();
        if !state.has_ended {
            state.push(kind, json);
            drop(state);
            self.shared.news.notify_all();
        }
    }

    /// Publishes `json` as the event `end`, after which streams end. A stream that joins later gets
    /// the kept events and the end. Waits until all followers have been written it, at most half a
    /// second.
    pub fn end(&self, json: String) {
        let mut state = self.state();
        if !state.has_ended {
            state.push("end", json);
            state.has_ended = true;
            self.shared.news.notify_all();
        }
        let is_told = |state: &mut State| state.streams > 0;
        drop(self.shared.news.wait_timeout_while(state, FAREWELL, is_told));
    }

    /// Applies changes from a browser.
    pub(crate) fn set(&self, sets: &[String]) -> Result<String, String> {
        if self.state().has_ended {
            return Err("the emulation has ended".to_owned());
        }
        self.shared.session.set(sets)
    }

    /// Writes events to a browser until the emulation ends, the browser is gone, or `is_over`.
    /// [`wake`](Self::wake) makes it check `is_over`.
    pub(crate) fn stream(&self, to: &mut impl Write, is_over: &dyn Fn() -> bool) -> io::Result<()> {
        let _open = Open::begin(self);
        http::begin_stream(to)?;
        // Later events may be in `hello`, too: a page applies a change once.
        let joined = self.state().next;
        write_event(to, "hello", &self.shared.session.hello())?;
        let mut next = 0;
        loop {
            let (missed, events, has_ended) = self.wait(next, is_over);
            if is_over() {
                return Ok(());
            }
            // Before it joined, nothing was missed.
            let missed = if next == 0 { 0 } else { missed };
            if missed > 0 {
                write_event(to, "missed", &format!("{{\"events\": {missed}}}"))?;
            }
            if events.is_empty() && !has_ended {
                to.write_all(b": alive\n\n")?;
            }
            for event in &events {
                // Changes before are in `hello`.
                if event.number >= joined || &*event.kind != "change" {
                    write_event(to, &event.kind, &event.json)?;
                }
                next = event.number + 1;
            }
            to.flush()?;
            if has_ended {
                return Ok(());
            }
        }
    }

    /// Makes all streams check whether they are over.
    pub(crate) fn wake(&self) {
        drop(self.state());
        self.shared.news.notify_all();
    }

    /// Returns the events from number `next` on, as many as are written at once, and the number of
    /// lost events before them. Waits for one event, at most [`IDLE`].
    fn wait(&self, next: u64, is_over: &dyn Fn() -> bool) -> (u64, Vec<Event>, bool) {
        const AT_ONCE: usize = 256;
        let is_idle = |state: &mut State| state.next <= next && !state.has_ended && !is_over();
        let waited = self.shared.news.wait_timeout_while(self.state(), IDLE, is_idle);
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let first = state.events.front().map_or(state.next, |event| event.number);
        let skipped = usize::try_from(next.saturating_sub(first)).unwrap_or(usize::MAX);
        let events: Vec<_> = state.events.iter().skip(skipped).take(AT_ONCE).cloned().collect();
        let last = events.last().map_or(state.next, |event| event.number + 1);
        (first.saturating_sub(next), events, state.has_ended && last >= state.next)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // No code panics while it holds the lock; even then the events would be whole.
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An open stream, counted until dropped.
struct Open<'a>(&'a Live);

impl<'a> Open<'a> {
    fn begin(live: &'a Live) -> Self {
        live.state().streams += 1;
        Self(live)
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.0.state().streams -= 1;
        self.0.shared.news.notify_all();
    }
}

impl State {
    fn push(&mut self, kind: &str, json: String) {
        self.bytes += json.len();
        self.events.push_back(Event { number: self.next, kind: kind.into(), json: json.into() });
        self.next += 1;
        while self.events.len() > EVENTS_MAX || (self.bytes > BYTES_MAX && self.events.len() > 1) {
            let first = self.events.pop_front();
            self.bytes -= first.map_or(0, |event| event.json.len());
        }
    }
}

/// Writes an event; each line of its data is a line of the stream.
fn write_event(to: &mut impl Write, kind: &str, json: &str) -> io::Result<()> {
    let mut text = format!("event: {}\n", kind.replace(['\r', '\n'], " "));
    for line in json.split(['\r', '\n']) {
        text.push_str("data: ");
        text.push_str(line);
        text.push('\n');
    }
    text.push('\n');
    to.write_all(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Nothing;

    impl Session for Nothing {
        fn hello(&self) -> String {
            "{}".to_owned()
        }
        fn set(&self, _: &[String]) -> Result<String, String> {
            Ok("{}".to_owned())
        }
    }

    fn written(live: &Live) -> String {
        let mut bytes = Vec::new();
        live.stream(&mut bytes, &|| false).expect("a vector takes everything");
        let text = String::from_utf8(bytes).expect("text");
        text.split_once("\r\n\r\n").expect("a head").1.to_owned()
    }

    #[test]
    fn who_joins_late_gets_the_readings_and_the_end_but_no_change_twice() {
        let live = Live::new(Arc::new(Nothing));
        live.publish("reading", "{\"a\":\n1}".to_owned());
        live.publish("change", "2".to_owned());
        live.end("3".to_owned());
        live.publish("reading", "4".to_owned());
        let expected = "event: hello\ndata: {}\n\nevent: reading\ndata: {\"a\":\ndata: 1}\n\n\
                        event: end\ndata: 3\n\n";
        assert_eq!(written(&live), expected);
        assert!(live.set(&[]).is_err(), "nothing is changed after the end");
    }

    #[test]
    fn what_is_kept_is_bounded_in_number_and_in_bytes() {
        let live = Live::new(Arc::new(Nothing));
        for _ in 0..2 * EVENTS_MAX {
            live.publish("reading", "1".to_owned());
        }
        assert_eq!(live.state().events.len(), EVENTS_MAX);
        for _ in 0..40 {
            live.publish("reading", "x".repeat(BYTES_MAX / 16));
        }
        let state = live.state();
        assert!(state.bytes <= BYTES_MAX, "{}", state.bytes);
        assert_eq!(state.bytes, state.events.iter().map(|event| event.json.len()).sum::<usize>());
    }

    /// A browser that reads nothing while more events are published than kept.
    struct Slow {
        live: Live,
        written: Vec<u8>,
    }

    impl Write for Slow {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if bytes.starts_with(b"event: reading\ndata: first\n") {
                for _ in 0..EVENTS_MAX + 7 {
                    self.live.publish("reading", "1".to_owned());
                }
                self.live.end("0".to_owned());
            }
            self.written.extend_from_slice(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn who_is_slow_is_told_what_was_lost() {
        let live = Live::new(Arc::new(Nothing));
        live.publish("reading", "first".to_owned());
        let mut slow = Slow { live: live.clone(), written: Vec::new() };
        live.stream(&mut slow, &|| false).expect("it takes everything");
        let text = String::from_utf8(slow.written).expect("text");
        assert!(text.contains("event: missed\ndata: {\"events\": 8}\n"), "the end counts, too");
        assert_eq!(text.matches("event: reading").count(), 1 + EVENTS_MAX - 1);
        assert!(text.ends_with("event: end\ndata: 0\n\n"));
    }
}

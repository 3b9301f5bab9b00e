//! A made-up emulation, for tests of the page: `live [DIR]` prints its address and serves, with
//! the runs in DIR if it is given, until its standard input ends. A line `end` ends the
//! emulation, a line `drop` the server. The numbers are drawn by a formula, whose values a browser may set.

use lasthop_serve::{Live, Options, Server, Session};
use serde_json::{Map, Value, json};
use std::io::{BufRead, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

/// A session whose knobs are these.
#[derive(Default)]
struct MadeUp {
    state: Mutex<State>,
    live: OnceLock<Live>,
}

#[derive(Default)]
struct State {
    at_s: f64,
    set: Map<String, Value>,
    changes: Vec<Value>,
}

const KNOBS: [(&str, &str); 4] = [
    ("wire.server-ap.delay", "ms"),
    ("node.laptop.queue.kind", ""),
    ("node.laptop.sleeps", ""),
    ("node.guest.queue.kind", ""),
];

impl Session for MadeUp {
    fn hello(&self) -> String {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let value =
            |path: &str, otherwise: Value| state.set.get(path).cloned().unwrap_or(otherwise);
        json!({
            "scenario": "made-up", "seed": 1, "duration_s": null, "interval_s": 0.1,
            "knobs": [
                {"path": KNOBS[0].0, "label": "delay of the wire server-ap", "kind": "number",
                 "unit": "ms", "value": value(KNOBS[0].0, 10.into()), "min": 0, "max": 200, "step": 1},
                {"path": KNOBS[1].0, "label": "queue of laptop", "kind": "choice",
                 "value": value(KNOBS[1].0, "drop-tail".into()), "choices": ["drop-tail", "fq-codel"]},
                {"path": KNOBS[2].0, "label": "laptop saves power", "kind": "switch",
                 "value": value(KNOBS[2].0, false.into())},
                {"path": KNOBS[3].0, "label": "queue of guest", "group": "guest", "first": false,
                 "kind": "choice", "value": value(KNOBS[3].0, "drop-tail".into()),
                 "choices": ["drop-tail", "fq-codel"]},
            ],
            "changes": state.changes,
        })
        .to_string()
    }

    fn set(&self, sets: &[String]) -> Result<String, String> {
        let mut applied = Map::new();
        for set in sets {
            let (path, value) =
                set.split_once('=').ok_or_else(|| format!("{set}: expected PATH=VALUE"))?;
            let known = KNOBS.iter().find(|(known, _)| *known == path);
            let (_, unit) = known.ok_or_else(|| format!("{path}: there is no such key"))?;
            let number = value.strip_suffix(unit).and_then(|it| it.parse::<f64>().ok());
            if *unit == "ms" && number.is_none_or(|number| number > 150.0) {
                return Err(format!("{path}: expected a delay of at most 150ms, got {value}"));
            }
            applied.insert(path.to_owned(), value.into());
        }
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let change = json!({"at_s": state.at_s, "set": applied.clone()});
        state.set.extend(applied);
        state.changes.push(change.clone());
        drop(state);
        if let Some(live) = self.live.get() {
            live.publish("change", change.to_string());
        }
        Ok(change.to_string())
    }
}

impl MadeUp {
    /// The reading of tenth `number` of a second.
    fn reading(&self, number: u32) -> Value {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let at_s = f64::from(number) / 10.0;
        state.at_s = at_s;
        let text = |path: &str| state.set.get(path).and_then(Value::as_str).unwrap_or("");
        let wire = text(KNOBS[0].0).trim_end_matches("ms").parse::<f64>().unwrap_or(10.0);
        let wave = (at_s / 2.0).sin() + 1.2;
        let queue = if text(KNOBS[1].0) == "fq-codel" { 4.0 * wave } else { 60.0 * wave };
        let delay = queue + wire + 4.0;
        json!({
            "at_s": at_s, "interval_s": 0.1,
            "flows": [
                {"name": "upload", "mbps": 5.0 + wave, "rtt_ms": delay + wire, "delay_ms": delay,
                 "parts_ms": {"queue": queue, "away": 0, "asleep": 0, "contention": 1.5, "retries": 0.5,
                              "reorder": 0, "air": 2.0, "wire": wire, "other": 0},
                 "lost": 0, "cwnd": 40.0 * wave},
                {"name": "ping", "mbps": 0.01, "rtt_ms": if number.is_multiple_of(2) { Some(delay) } else { None },
                 "delay_ms": null, "parts_ms": null, "lost": 0, "cwnd": null},
            ],
            "nodes": [
                {"name": "laptop", "queue_packets": (queue * 1.3) as u32, "airtime": 0.7},
                {"name": "ap", "queue_packets": null, "airtime": 0.06},
            ],
            "links": [{"name": "laptop->ap", "ppdus": 40, "mpdus_per_ppdu": 3.0 * wave,
                       "error_rate": 0.04, "rate_mbps": 6.5}],
        })
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let session = Arc::new(MadeUp::default());
    let live = Live::new(Arc::clone(&session) as Arc<dyn Session>);
    let _ = session.live.set(live.clone());
    let folder = std::env::args().nth(1).map(Into::into);
    let server = Server::start(Options { port: 0, folder, live: Some(live.clone()) })?;
    let mut out = std::io::stdout();
    writeln!(out, "{}", server.address())?;
    out.flush()?;
    let is_over = Arc::new(AtomicBool::new(false));
    let of_thread = Arc::clone(&is_over);
    let publisher = std::thread::spawn(move || {
        let mut number = 1;
        while !of_thread.load(Ordering::Relaxed) {
            live.publish("reading", session.reading(number).to_string());
            number += 1;
            #[expect(clippy::disallowed_methods, reason = "it makes up a pace")]
            std::thread::sleep(Duration::from_millis(100));
        }
        live.end("{}".to_owned());
    });
    let mut server = Some(server);
    for line in std::io::stdin().lock().lines() {
        match line?.as_str() {
            "end" => is_over.store(true, Ordering::Relaxed),
            "drop" => server = None,
            _ => {}
        }
    }
    is_over.store(true, Ordering::Relaxed);
    let _ = publisher.join();
    drop(server);
    Ok(())
}

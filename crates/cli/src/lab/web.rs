//! An emulation in a browser (`emulate --web`). Readings go to the hub of the crate `serve`, and
//! changes from browsers to the emulation's control. The loop of the emulation passes a copy of
//! each reading to a thread that makes the text. If that thread is slow, readings are lost, but the
//! emulation does not wait.

use crate::failure::Failure;
use crate::lab::report::Own;
use lasthop_emulate::control::Control;
use lasthop_scenario::{Knob, KnobKind, Recorded, Scenario};
use lasthop_serve::{Live, Options, ServeError, Server, Session};
use lasthop_trace::{FlowReading, Recorder, Snapshot};
use lasthop_units::{Duration, Instant};
use nix::sys::signal::SigSet;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

/// Largest number of readings that wait for their text.
const WAITING_MAX: usize = 32;

/// Names for browsers that do not change.
#[derive(Clone, Debug)]
struct Names {
    recorded: lasthop_trace::Names,
    own: Own,
    /// Number of the scenario's flows; flows of programs follow.
    flows: usize,
}

/// A reading, and the names of its new flows.
struct WebReading {
    snapshot: Snapshot,
    new_flows: Vec<String>,
}

/// A page that shows and changes a running emulation.
pub struct Web {
    server: Server,
    live: Live,
    sender: Option<SyncSender<WebReading>>,
    writer: Option<JoinHandle<()>>,
    shown: Instant,
    flows: usize,
}

struct WebPage {
    control: Control,
    scenario: String,
    seed: u64,
    /// Planned duration; `None` until COMMAND ends.
    duration: Option<Duration>,
    interval: Duration,
}

impl Web {
    /// Serves the page at `port` of the loopback; 0 selects a free one. `duration` is the planned
    /// duration of the emulation of `scenario`, if known.
    pub fn start(
        scenario: &Scenario,
        control: &Control,
        recorder: &Recorder,
        duration: Option<Duration>,
        port: u16,
        own: Own,
    ) -> Result<Self, Failure> {
        let page = WebPage {
            control: control.clone(),
            scenario: scenario.name.clone(),
            seed: scenario.seed,
            duration,
            interval: scenario.series_interval,
        };
        let live = Live::new(Arc::new(page));
        let names = Names { recorded: recorder.names().clone(), own, flows: scenario.flows.len() };
        let (sender, receiver) = sync_channel(WAITING_MAX);
        // Signals are the emulation's: its loop waits for them.
        let refused = |why: nix::Error| Failure::Message(format!("pthread_sigmask: {why}"));
        let mask = SigSet::all().thread_swap_mask(nix::sys::signal::SigmaskHow::SIG_SETMASK);
        let mask = mask.map_err(refused)?;
        let server = Server::start(Options { port, folder: None, live: Some(live.clone()) });
        let (of_writer, control) = (live.clone(), control.clone());
        let writer = thread::Builder::new()
            .name("web".into())
            .spawn(move || write(&receiver, &names, &of_writer, &control));
        mask.thread_set_mask().map_err(refused)?;
        Ok(Self {
            server: server.map_err(|why| match why {
                ServeError::Listen { port, source } => Failure::Message(format!(
                    "--web: cannot listen on 127.0.0.1, port {port}: {source}; --web alone takes a \
                     free one"
                )),
                why => Failure::message(why),
            })?,
            live,
            sender: Some(sender),
            writer: Some(writer.map_err(Failure::message)?),
            shown: Instant::ZERO,
            flows: 0,
        })
    }

    /// Returns the address of the page.
    pub fn address(&self) -> &str {
        self.server.address()
    }

    /// Passes the latest reading on, if it is new. Needs some microseconds.
    pub fn tick(&mut self, recorder: &Recorder) {
        let snapshot = recorder.snapshot();
        let Some(sender) = self.sender.as_ref().filter(|_| snapshot.at > self.shown) else {
            return;
        };
        let new_flows = (self.flows..snapshot.flows.len()).map(|flow| recorder.flow_name(flow));
        let reading = WebReading { snapshot: snapshot.clone(), new_flows: new_flows.collect() };
        let flows = snapshot.flows.len();
        self.shown = snapshot.at;
        if sender.try_send(reading).is_ok() {
            self.flows = flows;
        }
    }

    /// Publishes the end of the emulation to pages, with the exit status of COMMAND if there was
    /// one.
    pub fn end(mut self, duration: Duration, exit_status: Option<i32>) {
        self.sender = None;
        if let Some(writer) = self.writer.take() {
            // The panic's message was printed.
            let _ = writer.join();
        }
        let json = json!({ "at_s": duration.as_secs_f64(), "exit_status": exit_status });
        self.live.end(json.to_string());
    }
}

/// Publishes readings, and changes from any source.
fn write(receiver: &Receiver<WebReading>, names: &Names, live: &Live, control: &Control) {
    let mut flows = Vec::new();
    let mut changes = 0;
    for WebReading { snapshot, new_flows } in receiver {
        flows.extend(new_flows);
        let recorded = control.recorded();
        for change in &recorded[changes..] {
            live.publish("change", change_json(change).to_string());
        }
        changes = recorded.len();
        live.publish("reading", reading_json(&snapshot, &flows, names).to_string());
    }
}

impl Session for WebPage {
    fn hello(&self) -> String {
        json!({
            "scenario": self.scenario,
            "seed": self.seed,
            "duration_s": self.duration.map(Duration::as_secs_f64),
            "interval_s": self.interval.as_secs_f64(),
            "knobs": self.control.knobs().iter().map(knob_json).collect::<Vec<_>>(),
            "changes": self.control.recorded().iter().map(change_json).collect::<Vec<_>>(),
        })
        .to_string()
    }

    fn set(&self, sets: &[String]) -> Result<String, String> {
        let recorded = self.control.set(sets).map_err(|why| why.to_text())?;
        Ok(change_json(&recorded).to_string())
    }
}

fn change_json(change: &Recorded) -> Value {
    let set: Map<String, Value> =
        change.texts().map(|(path, value)| (path.to_owned(), value.into())).collect();
    json!({ "at_s": change.at.as_secs_f64(), "set": set })
}

fn knob_json(knob: &Knob) -> Value {
    let Knob { path, label, group, is_first, kind } = knob;
    match kind {
        KnobKind::Number { value, unit, min, max, step } => json!({
            "path": path, "label": label, "group": group, "first": is_first, "kind": "number", "value": value, "unit": unit,
            "min": min, "max": max, "step": step,
        }),
        KnobKind::Choice { value, choices } => json!({
            "path": path, "label": label, "group": group, "first": is_first, "kind": "choice", "value": value, "choices": choices,
        }),
    }
}

fn reading_json(snapshot: &Snapshot, flows: &[String], names: &Names) -> Value {
    let ms = |time: Option<Duration>| time.map(Duration::as_millis_f64);
    let interval = snapshot.interval.as_secs_f64();
    let Names { own, recorded, .. } = names;
    let flow = |(index, (reading, name)): (usize, (&FlowReading, &String))| {
        json!({
            "name": name,
            "own": index >= names.flows || own.flows.contains(name),
            "mbps": snapshot.throughput_mbps(reading),
            "rtt_ms": ms(reading.rtt.or(reading.smoothed_rtt)),
            "delay_ms": ms(reading.delay),
            "parts_ms": reading.parts,
            "lost": reading.lost,
            "cwnd": reading.cwnd_packets,
        })
    };
    let nodes = snapshot.nodes.iter().zip(&recorded.nodes).map(|(node, it)| {
        let name = &it.name;
        json!({
            "name": name,
            "own": own.nodes.contains(name),
            "queue_packets": node.queue_packets,
            "airtime": node.airtime.as_secs_f64() / interval,
        })
    });
    let links = snapshot.links.iter().map(|link| {
        let [from, to] = [link.from, link.to].map(|station| recorded.station(station));
        json!({
            "name": recorded.direction(link.from, link.to),
            "own": own.nodes.contains(from) || own.nodes.contains(to),
            "ppdus": link.ppdus,
            "mpdus_per_ppdu": link.mpdus as f64 / link.ppdus as f64,
            "error_rate": link.mpdus_failed as f64 / link.mpdus as f64,
            "rate_mbps": link.rate.bitrate().as_mbps_f64(),
        })
    });
    json!({
        "at_s": (snapshot.at - Instant::ZERO).as_secs_f64(),
        "interval_s": interval,
        "flows": snapshot.flows.iter().zip(flows).enumerate().map(flow).collect::<Vec<_>>(),
        "nodes": nodes.collect::<Vec<_>>(),
        "links": links.collect::<Vec<_>>(),
    })
}

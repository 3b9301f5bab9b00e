//! `lasthop apq measure`: shows the planned load and asks for consent, measures, and prints the
//! results. A progress bar is on standard error. Adds a doubt to the results if this machine was
//! too busy to read all packets.

use super::files::Files;
use crate::args::{ApqMeasure, ApqMethodName, ApqWay};
use crate::console::{self, Stream};
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::lab::page;
use crate::lab::simulate::lock;
use crate::secret;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use lasthop_apq::survey::{ExactConfig, FastConfig, Method};
use lasthop_apq::{Client, ClientEvent, Direction, PhaseRecord, StreamKind, Survey, SurveyConfig};
use lasthop_daemon::apq::{ApqError, MeasureOptions, Stopped, Update, measure as run};
use lasthop_report::apq::meaning;
use lasthop_report::apq::words::{self, duration, volume};
use lasthop_trace::{ApqDocument, ApqDoubt, ApqMethod, ApqWay as Way};
use lasthop_units::Duration;
use std::io::{self, BufRead, IsTerminal};
use std::net::SocketAddr;
use std::ops::ControlFlow;

/// Smallest share of a requested rate that a host must send.
const SENT_SHARE_MIN: f64 = 0.9;
/// Duration of a session of algorithm 2.
const SESSION: Duration = Duration::from_secs(120);

/// Runs the command.
pub fn measure(args: &ApqMeasure) -> Result<(), Failure> {
    let survey = survey(args)?;
    let key = args.key_file.as_deref().map(secret::read).transpose()?;
    let server = args.host.resolve()?;
    let _lock = lock(args.out.as_deref())?;
    let mut files = args.out.as_deref().map(Files::create).transpose()?;
    agree(args, &survey, server)?;

    let interrupt = Interrupt::catch()?;
    let options = MeasureOptions { server, key, survey };
    let mut watch = Watch::new(args, files.as_mut());
    let measured =
        run(&options, &mut |update, client, elapsed| match watch.update(update, client, elapsed) {
            Ok(()) => ControlFlow::Continue(()),
            Err(why) => {
                watch.failure = Some(why);
                ControlFlow::Break(())
            }
        });
    let shortest = watch.shortest;
    let failure = watch.end();
    let measured = measured.map_err(|why| Failure::Message(message(&why)))?;
    match measured.stopped {
        Some(Stopped::Signal(signal)) => return Err(Failure::Interrupted { signal: signal as u8 }),
        Some(Stopped::Caller) => return Err(failure.unwrap_or(Failure::Stopped)),
        None => {}
    }

    let method = match args.method {
        ApqMethodName::Exact => ApqMethod::Exact,
        ApqMethodName::Fast => ApqMethod::Fast,
    };
    let wall_s = measured.elapsed.as_secs_f64();
    let mut document = ApqDocument::new(&args.host.name, method, &measured.survey.report(), wall_s)
        .with_shortest(shortest);
    if measured.overflowed > 0 {
        doubt_receiver(&mut document, measured.overflowed);
    }
    let json = document.to_json();
    let page = files.map(|files| files.commit(&json, &args.host.name, &interrupt)).transpose()?;
    if args.json {
        return console::print(&json);
    }
    let named = page.map_or(String::new(), |page| page::named(&page, Stream::Output));
    console::print(&(words::document(&document, Stream::Output.style()) + &named))
}

/// Returns the error's message, with the flag that helps.
fn message(why: &ApqError) -> String {
    match why {
        // Two lengths distinguish a bound in packets from one in bytes: the longest that fits, and half of it.
        ApqError::TooLong { mtu, .. } => {
            format!("{why}; use shorter ones: --packet-size {mtu},{}", mtu / 2)
        }
        _ => why.to_string(),
    }
}

/// Adds a doubt to results in the downlink: datagrams that this machine did not read count as
/// dropped by the queue.
fn doubt_receiver(document: &mut ApqDocument, datagrams: u64) {
    let sentence = format!("this machine was too busy to read {datagrams} packets that arrived");
    let down = document.directions.iter_mut().filter(|way| way.direction == Way::Down);
    for direction in down {
        direction.trusted = false;
        let kind = "receiver_overflowed".to_owned();
        direction.doubts.push(ApqDoubt { kind, sentence: sentence.clone() });
    }
}

/// Makes the survey for these arguments.
fn survey(args: &ApqMeasure) -> Result<SurveyConfig, Failure> {
    let wrong = |why: String| Err(Failure::Message(why));
    let is_exact = args.method == ApqMethodName::Exact;
    let of_exact = [
        ("--sessions", args.sessions.is_some()),
        ("--dwell", args.dwell.is_some()),
        ("--step", args.step.is_some()),
        ("--saturation-rate", args.saturation_rate.is_some()),
        ("--time-scale", args.time_scale.is_some()),
    ];
    let of_fast =
        [("--precision", args.precision.is_some()), ("--duration", args.duration.is_some())];
    for (others, method, is_other) in
        [(&of_exact[..], "exact", !is_exact), (&of_fast[..], "fast", is_exact)]
    {
        if let Some((flag, _)) = others.iter().find(|(_, is_given)| is_other && *is_given) {
            return wrong(format!("{flag} is for --method {method}"));
        }
    }
    let longest = args.packet_size.iter().copied().max().unwrap_or(0);
    let rate_max_pps = args.max_rate.as_bps() as f64 / 8.0 / f64::from(longest);
    if let Some(rate) = args.saturation_rate.filter(|&rate| rate > rate_max_pps) {
        let mbps = rate * f64::from(longest) * 8.0 / 1e6;
        return wrong(format!(
            "--saturation-rate {rate}: with packets of {longest} bytes that is {mbps:.1} Mb/s, \
             more than --max-rate {} allows",
            args.max_rate
        ));
    }
    let (exact, fast) = (ExactConfig::default(), FastConfig::default());
    let method = match args.method {
        ApqMethodName::Exact => Method::Exact(ExactConfig {
            step_pps: args.step.unwrap_or(exact.step_pps),
            dwell: args.dwell.unwrap_or(exact.dwell),
            saturation_pps: args.saturation_rate,
            sessions: args.sessions.unwrap_or(exact.sessions),
            time_scale: args.time_scale.unwrap_or(exact.time_scale),
        }),
        ApqMethodName::Fast => Method::Fast(FastConfig {
            duration_max: args.duration.unwrap_or(fast.duration_max),
            precision: args.precision.unwrap_or(fast.precision),
        }),
    };
    let survey = SurveyConfig {
        directions: match args.direction {
            ApqWay::Down => vec![Direction::Down],
            ApqWay::Up => vec![Direction::Up],
            ApqWay::Both => vec![Direction::Down, Direction::Up],
        },
        packet_bytes: args.packet_size.clone(),
        method,
        discipline: !args.no_discipline,
        rate_max_pps,
    };
    survey.check().map_err(Failure::message)?;
    Ok(survey)
}

/// Prints the planned load, and asks for consent.
fn agree(args: &ApqMeasure, survey: &SurveyConfig, server: SocketAddr) -> Result<(), Failure> {
    let (packets, bytes, time) = Survey::new(survey.clone()).volume_max();
    let host = &args.host.name;
    let queues = match args.direction {
        ApqWay::Down => "The queue towards this machine (down) is".to_owned(),
        ApqWay::Up => format!("The queue towards {host} (up) is"),
        ApqWay::Both => {
            format!("The queues towards this machine (down) and towards {host} (up) are")
        }
    };
    let volume = volume(packets, bytes);
    let (rate, time) = (meaning::rate(args.max_rate), duration(time));
    console::error(&format!(
        "{queues} filled until packets are lost.\n\
         Between this machine and {server} will pass, at most: {volume}, {rate}, {time}.\n"
    ));
    if args.yes {
        return Ok(());
    }
    if !io::stdin().is_terminal() {
        return Err(Failure::Message(
            "this needs consent, and there is no terminal to ask: --yes gives it".into(),
        ));
    }
    console::error("Other traffic will suffer. Go on? [y/N] ");
    let mut answer = String::new();
    let read = io::stdin().lock().read_line(&mut answer);
    match (read, answer.trim()) {
        (Ok(_), "y" | "Y" | "yes" | "Yes") => Ok(()),
        _ => Err(Failure::Message("no consent: nothing was sent".into())),
    }
}

/// State that changes during the measurement: files and a progress bar.
struct Watch<'a> {
    args: &'a ApqMeasure,
    files: Option<&'a mut Files>,
    bar: ProgressBar,
    /// Start, duration and direction of the current phase.
    phase: Option<(Duration, Duration, Direction)>,
    /// Shortest delay down and up so far, in ns.
    shortest: [Option<i64>; 2],
    failure: Option<Failure>,
}

impl<'a> Watch<'a> {
    fn new(args: &'a ApqMeasure, files: Option<&'a mut Files>) -> Self {
        let target = if console::is_progress_wanted() {
            ProgressDrawTarget::stderr()
        } else {
            ProgressDrawTarget::hidden()
        };
        let bar = ProgressBar::with_draw_target(Some(1), target);
        let style = ProgressStyle::with_template("  {bar:40} {percent:>3} %  {msg}")
            .expect("the template is right")
            .progress_chars("=> ");
        bar.set_style(style);
        bar.set_message(format!("asks {}", args.host.name));
        Self { args, files, bar, phase: None, shortest: [None; 2], failure: None }
    }

    fn update(
        &mut self,
        update: Update<'_>,
        client: &Client,
        elapsed: Duration,
    ) -> Result<(), Failure> {
        match update {
            Update::Event(ClientEvent::Accepted) => self.check_limits(client)?,
            Update::Event(ClientEvent::PhaseBegan { phase, .. }) => {
                self.phase = Some((elapsed, phase.plan.duration(), phase.direction));
            }
            Update::Event(ClientEvent::PhaseDone { number, record }) => {
                self.phase = None;
                self.check_sent(record)?;
                self.note_delays(record);
                if let Some(files) = &mut self.files {
                    files.phase(*number, record)?;
                }
            }
            Update::Event(_) => {}
            Update::Tick => self.draw(client, elapsed),
        }
        Ok(())
    }

    fn draw(&self, client: &Client, elapsed: Duration) {
        let progress = client.survey().progress();
        let Some((began, lasts, direction)) = self.phase else { return };
        let within = elapsed.saturating_sub(began).min(lasts);
        let left = progress.left_max.saturating_sub(within);
        let milliseconds = |time: Duration| time.as_nanos() / 1_000_000;
        self.bar.set_length(milliseconds(progress.done + progress.left_max).max(1));
        self.bar.set_position(milliseconds(progress.done + within));
        let towards = match direction {
            Direction::Down => "down",
            Direction::Up => "up",
        };
        self.bar.set_message(format!("{towards}, at most {} left", duration(left)));
    }

    fn note_delays(&mut self, record: &PhaseRecord) {
        let shortest = &mut self.shortest[usize::from(record.direction == Direction::Up)];
        let delays = record.samples.iter().map(|sample| sample.delay_ns());
        *shortest = delays.chain(*shortest).min();
    }

    /// Fails if the measurement would certainly take longer than the server allows.
    fn check_limits(&self, client: &Client) -> Result<(), Failure> {
        let Some(limits) = client.limits() else { return Ok(()) };
        let args = self.args;
        if args.method != ApqMethodName::Exact {
            return Ok(());
        }
        let exact = ExactConfig::default();
        let directions = if args.direction == ApqWay::Both { 2 } else { 1 };
        let each = SESSION.mul_f64(args.time_scale.unwrap_or(exact.time_scale));
        let sessions = u64::from(args.sessions.unwrap_or(exact.sessions));
        let least = each * (sessions * args.packet_size.len() as u64 * directions);
        if least <= limits.duration_max {
            return Ok(());
        }
        Err(Failure::Message(format!(
            "the sessions alone take {}, and {} allows {}: ask for fewer, or have it serve with a \
             longer --max-duration",
            duration(least),
            args.host.name,
            duration(limits.duration_max)
        )))
    }

    /// Fails if the sender did not reach a requested rate.
    fn check_sent(&self, record: &PhaseRecord) -> Result<(), Failure> {
        let Some(rate) = self.args.saturation_rate else { return Ok(()) };
        let streams = record.plan.streams.iter().zip(&record.counts);
        let bulk: Vec<_> = streams.filter(|(stream, _)| stream.kind == StreamKind::Bulk).collect();
        let due: u64 = bulk.iter().map(|(stream, _)| stream.packets()).sum();
        let sent: u64 = bulk.iter().map(|(_, count)| u64::from(count.sent)).sum();
        let share = sent as f64 / due as f64;
        if due == 0 || share >= SENT_SHARE_MIN {
            return Ok(());
        }
        let sender = match record.direction {
            Direction::Down => self.args.host.name.as_str(),
            Direction::Up => "this machine",
        };
        Err(Failure::Message(format!(
            "{sender} cannot send {rate} packets a second: it managed {:.0} % of them",
            100.0 * share
        )))
    }

    /// Removes the bar; returns the failure, if any.
    fn end(self) -> Option<Failure> {
        self.bar.finish_and_clear();
        self.failure
    }
}

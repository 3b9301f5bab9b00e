//! Absences of `scan` on the air (Fig. 4), and their schedule (Fig. 5): Nulls with PM =
//! 1, retried until one is acknowledged, silence, and Nulls with PM = 0. Everything is
//! found in captures of the air by their analysis, not read from the model or the
//! scenario. Times are in seconds.

use super::{LAPTOP, RUN, UPLOAD};
use crate::reproduce::data::{RunData, Runs, greatest, least, mean};
use crate::reproduce::figure::{Figure, Findings, Quantity, Run, Statement, stated};
use crate::reproduce::heard::time_s;
use lasthop_capture::air::absence::Absence;
use lasthop_capture::air::bare::BareFrame;
use lasthop_capture::air::schedule::Period;
use lasthop_figures::plot::{Axis, Panel, Series};
use lasthop_wifi_wire::Kind;

/// Attempts of the Null in the trace of the paper: the first one and eight retries.
const ATTEMPTS: u32 = 9;
/// Attempts of the Null that ends the absence in the trace of the paper.
const RETURN_ATTEMPTS: u32 = 5;
/// Retries before the first RTS in the trace of the paper.
const RETRIES_BEFORE_RTS: u32 = 3;
/// Number of runs. The length of an exchange of Nulls has a long tail, and 77 absences
/// per run are few for its mean.
const RUNS: u64 = 6;

pub const FIG4: Figure = Figure {
    id: "fig4",
    title: "Frames of an absence",
    shows: "Ours are absences with as many attempts, found by `lasthop capture`.",
    runs,
    read: fig4,
};

pub const FIG5: Figure = Figure {
    id: "fig5",
    title: "Schedule of absences",
    shows: "Means of several runs, from captures of the air.",
    runs,
    read: fig5,
};

/// Returns a run with data, for the frames of an absence, and runs for absences only.
fn runs() -> Vec<Run> {
    let run = |n: u64| match n {
        0 => Run::new(RUN, UPLOAD).capturing_air(),
        n => Run::new(format!("{RUN} {n}"), UPLOAD).number(n).capturing_absences(),
    };
    (0..RUNS).map(run).collect()
}

/// The degraded periods of a run, each with its absences.
pub(super) fn periods(run: &RunData) -> Vec<(Period, &[Absence])> {
    let absences = run.absences(LAPTOP);
    let periods = run.schedule(LAPTOP).map(|schedule| schedule.periods).unwrap_or_default();
    let with_absences = |period: Period| {
        let (first, behind) = period.absences;
        (period, &absences[first..behind])
    };
    periods.into_iter().map(with_absences).collect()
}

/// Mean time from the start of a degraded period to that of the next, in seconds.
pub(super) fn period_s(run: &RunData) -> f64 {
    mean(&intervals(&periods(run)))
}

fn intervals(periods: &[(Period, &[Absence])]) -> Vec<f64> {
    let begin = |(period, _): &(Period, &[Absence])| time_s(period.from_ns);
    periods.windows(2).map(|pair| begin(&pair[1]) - begin(&pair[0])).collect()
}

/// The least and the greatest time, in ms.
fn range_ms(seconds: impl Iterator<Item = f64>) -> (f64, f64) {
    let all: Vec<f64> = seconds.map(|length| 1e3 * length).collect();
    (least(&all), greatest(&all))
}

/// The parts of an absence whose begin and end were both captured.
#[derive(Clone, Copy, Debug)]
struct AbsenceParts<'a> {
    absence: &'a Absence,
    /// Number of attempts of Nulls with PM = 1, and with PM = 0.
    attempts: [u32; 2],
    /// From the first Null with PM = 1, or its RTS, to the end of the exchange.
    leaving: (f64, f64),
    /// The same of the Null with PM = 0.
    returning: (f64, f64),
    /// Whether the Null with PM = 1 was acknowledged in the end.
    acknowledged: bool,
}

impl<'a> AbsenceParts<'a> {
    fn new(absence: &'a Absence) -> Option<Self> {
        let (leave, back) = (absence.leave.as_ref()?, absence.back.as_ref()?);
        let first = absence.bare.first()?;
        let returns = absence.bare.iter().position(|frame| is_null(frame, false))?;
        // Behind an RTS it begins with that.
        let protects = |frame: &&BareFrame| matches!(frame.kind, Kind::Rts | Kind::Cts);
        let protecting = absence.bare[..returns].iter().rev().take_while(protects).count();
        let returning = absence.bare[returns - protecting].from_ns;
        Some(Self {
            absence,
            attempts: [leave.frames, back.frames],
            leaving: (time_s(first.from_ns), time_s(leave.to_ns)),
            returning: (time_s(returning), time_s(absence.to_ns)),
            acknowledged: leave.acks > 0,
        })
    }

    /// Whether all Nulls with PM = 1 had one sequence number, and all but the first one
    /// the Retry bit.
    fn is_repeated(&self) -> bool {
        let mut nulls = self.absence.bare.iter().filter(|frame| is_null(frame, true));
        let first = nulls.next();
        first.is_some_and(|first| {
            !first.retry && nulls.all(|next| next.retry && next.sequence == first.sequence)
        })
    }

    /// Returns the time at which the first beacon came after the announcement.
    fn beacon(&self) -> Option<f64> {
        let mut silence = self.absence.bare.iter().filter(|frame| {
            time_s(frame.from_ns) >= self.leaving.1 && time_s(frame.to_ns) <= self.returning.0
        });
        silence.find(|frame| frame.kind == Kind::Beacon).map(|frame| time_s(frame.from_ns))
    }
}

fn is_null(frame: &BareFrame, is_away: bool) -> bool {
    matches!(frame.kind, Kind::Null | Kind::QosNull) && frame.power_management == is_away
}

/// The absences of the laptop in their order, except those without a return.
fn parts(run: &RunData) -> Vec<AbsenceParts<'_>> {
    run.absences(LAPTOP).iter().filter_map(AbsenceParts::new).collect()
}

fn fig4(runs: &Runs<'_>) -> Findings {
    let run = runs.get(RUN);
    let all = parts(run);
    // The absence most similar to that in the paper.
    let example = all
        .iter()
        .filter(|absence| absence.acknowledged)
        .min_by_key(|absence| absence.attempts[0].abs_diff(ATTEMPTS));
    let Some(example) = example else {
        return Findings {
            quantities: vec![Quantity::shown("an absence", "Null frames around it", false)],
            panels: vec![Panel::new("", Axis::new("time, ms"), Axis::new("").names(["frames"]))],
        };
    };
    let expected_rts = example.attempts[0].saturating_sub(1 + RETRIES_BEFORE_RTS);
    let rts = example.absence.leave.as_ref().map_or(0, |leave| leave.rts);
    // Data of the laptop would be with the Power Management bit, or end the absence.
    let data_silence = example.absence.sent_after_ack == 0 && example.absence.polls == 0;
    let everywhere: Vec<AbsenceParts<'_>> = runs.all().flat_map(|(_, run)| parts(run)).collect();
    // Absences announced as in the trace, with as many attempts.
    let like_it = || {
        everywhere.iter().filter(|absence| absence.acknowledged && absence.attempts[0] == ATTEMPTS)
    };
    let back_like_it = everywhere.iter().filter(|absence| absence.attempts[1] == RETURN_ATTEMPTS);
    let length = |(from, to): (f64, f64)| to - from;
    Findings {
        quantities: vec![
            Quantity::shown(
                "Null with PM = 1, one sequence number",
                "retried until acknowledged",
                example.attempts[0] > 1 && example.is_repeated(),
            ),
            Quantity::shown(
                "RTS before its 4th and later retries",
                "one before each",
                example.attempts[0] > 1 + RETRIES_BEFORE_RTS && rts >= expected_rts,
            ),
            Quantity::shown("Null with PM = 0", "retried", {
                all.iter().any(|absence| absence.attempts[1] > 1)
            }),
            Quantity::shown(
                "between them",
                "a beacon, no data",
                example.beacon().is_some() && data_silence,
            ),
            Quantity::example(
                "leaving, where the ninth Null was answered",
                "ms",
                1.8,
                range_ms(like_it().map(|absence| length(absence.leaving))),
            )
            .because(
                "At 6 Mb/s the nine Nulls and five RTS last 1.9 ms without any backoff, with \
                 contention windows of 3 slots 2.0 to 2.5 ms. No reading of the paper makes it 1.8 \
                 ms.",
            ),
            Quantity::example(
                "from there to the beacon",
                "ms",
                90.0,
                range_ms(
                    like_it()
                        .filter_map(|absence| absence.beacon().map(|at| at - absence.leaving.1)),
                ),
            ),
            Quantity::example(
                "from there to the Null that ends it",
                "ms",
                114.0,
                range_ms(like_it().map(|absence| absence.returning.0 - absence.leaving.1)),
            )
            .because(
                "All of our absences last as long as the paper's mean; its example is 7 ms \
                 longer.",
            ),
            Quantity::example(
                "returning, where the fifth Null was answered",
                "ms",
                1.3,
                range_ms(back_like_it.map(|absence| length(absence.returning))),
            )
            .because("The paper's time includes a second Null after the answered one."),
        ],
        panels: vec![
            lanes(run, "Leaving", example, example.leaving.0, example.leaving.1),
            lanes(run, "The absence", example, example.leaving.0, example.returning.1),
            lanes(run, "Returning", example, example.returning.0, example.returning.1),
        ],
    }
}

fn fig5(runs: &Runs<'_>) -> Findings {
    let runs: Vec<_> = runs.all().map(|(_, run)| (run, periods(run))).collect();
    let every: Vec<f64> = runs.iter().flat_map(|(_, periods)| intervals(periods)).collect();
    let normal = |pair: &[(Period, &[Absence])]| time_s(pair[1].0.from_ns - pair[0].0.to_ns);
    let normal: Vec<f64> =
        runs.iter().flat_map(|(_, periods)| periods.windows(2).map(normal)).collect();
    let periods: Vec<_> = runs.iter().flat_map(|(_, periods)| periods).collect();
    let length: Vec<f64> =
        periods.iter().map(|(period, _)| time_s(period.to_ns - period.from_ns)).collect();
    let pairs: Vec<f64> = periods.iter().map(|(_, absences)| absences.len() as f64).collect();
    let asleep: Vec<f64> = periods
        .iter()
        .flat_map(|(_, absences)| absences.iter().map(|absence| time_s(absence.asleep_ns())))
        .collect();
    // An absence may be found to end after the next one's begin.
    let between = |pair: &[Absence]| time_s(pair[1].from_ns) - time_s(pair[0].to_ns);
    let awake: Vec<f64> =
        periods.iter().flat_map(|(_, absences)| absences.windows(2).map(between)).collect();
    let within = |name: &str, unit, paper: f64, ours: f64| {
        Quantity::value(name, unit, Statement::Value(paper), ours, stated(paper))
    };
    let panels = runs.first().map(|(run, _)| schedule(run)).unwrap_or_default();
    Findings {
        quantities: vec![
            within("from one degraded period to the next", "s", 120.0, mean(&every)),
            within("a degraded period", "s", 10.0, mean(&length)),
            within("a normal period", "s", 110.0, mean(&normal)),
            within("absences in it", "", 26.0, mean(&pairs)),
            within("asleep", "ms", 110.0, 1e3 * mean(&asleep)),
            within("awake", "ms", 320.0, 1e3 * mean(&awake)),
        ],
        panels,
    }
}

/// Panels of the whole run, of one degraded period in it, and of its first absences.
fn schedule(run: &RunData) -> Vec<Panel> {
    let absences = run.absences(LAPTOP);
    let panel = |title: &str, (from, to): (f64, f64)| {
        let times = |absence: &Absence| (time_s(absence.from_ns), time_s(absence.to_ns), 0.0);
        let inside =
            absences.iter().map(times).filter(|(begin, end, _)| *begin >= from && *end <= to);
        Panel::new(title, Axis::new("time, s").range(from, to), Axis::new("").names(["laptop"]))
            .with(Series::intervals("asleep", inside))
    };
    let mut panels = vec![panel("The run", (0.0, run.document.duration_s))];
    if let Some((period, _)) = periods(run).first() {
        let from = time_s(period.from_ns).floor();
        panels.push(panel("A degraded period", (from, time_s(period.to_ns).ceil())));
        panels.push(panel("The first of it", (from, from + 1.5)));
    }
    panels
}

/// A panel of the frames without data of an absence in a part of it, with a row for each
/// kind.
fn lanes(run: &RunData, title: &str, parts: &AbsenceParts<'_>, from: f64, to: f64) -> Panel {
    const NAMES: [&str; 6] = ["Null, PM = 1", "Null, PM = 0", "RTS", "CTS", "Ack", "beacon"];
    let laptop = run.heard(LAPTOP);
    let around = 0.05 * (to - from);
    let is_near = move |frame: &&BareFrame| {
        time_s(frame.from_ns) >= from - around && time_s(frame.to_ns) <= to + around
    };
    let frames = |is_laptop: bool| {
        let chosen = parts
            .absence
            .bare
            .iter()
            .filter(is_near)
            .filter(move |frame| (frame.transmitter == Some(laptop)) == is_laptop);
        chosen.filter_map(move |frame| {
            let lane = lane(frame)?;
            let ms = |at_ns| 1e3 * (time_s(at_ns) - from);
            Some((ms(frame.from_ns), ms(frame.to_ns), lane as f64))
        })
    };
    let x = Axis::new("time, ms").range(-1e3 * around, 1e3 * (to - from + around));
    Panel::new(title, x, Axis::new("").names(NAMES))
        .with(Series::intervals("from the laptop", frames(true)))
        .with(Series::intervals("from the access point", frames(false)))
}

fn lane(frame: &BareFrame) -> Option<usize> {
    match frame.kind {
        Kind::Null | Kind::QosNull => Some(usize::from(!frame.power_management)),
        Kind::Rts => Some(2),
        Kind::Cts => Some(3),
        Kind::Ack => Some(4),
        Kind::Beacon => Some(5),
        _ => None,
    }
}

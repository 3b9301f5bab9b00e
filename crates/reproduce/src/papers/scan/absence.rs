//! Absences of `scan` on the air (Fig. 4), and their schedule (Fig. 5): Nulls with PM =
//! 1, retried until one is acknowledged, silence, and Nulls with PM = 0. Everything is
//! measured from the frames, not read from the scenario. Times are in seconds.

use super::{LAPTOP, RUN, UPLOAD};
use crate::data::{RunData, Runs, greatest, least, mean, seconds};
use crate::figure::{Figure, Findings, Quantity, Run, Statement, stated};
use crate::record::BareFrame;
use lasthop_evidence::plot::{Axis, Panel, Series};
use lasthop_units::SeqNo12;
use lasthop_wifi::event::FrameKind;

/// Time between absences from which they belong to two scans, in seconds.
const SCAN_GAP_S: f64 = 5.0;
/// Attempts of the Null in the trace of the paper: the first one and eight retries.
const ATTEMPTS: usize = 9;
/// Attempts of the Null that ends the absence in the trace of the paper.
const RETURN_ATTEMPTS: usize = 5;
/// Retries before the first RTS in the trace of the paper.
const RETRIES_BEFORE_RTS: usize = 3;
/// Number of runs. The length of an exchange of Nulls has a long tail, and 77 absences
/// per run are few for its mean.
const RUNS: u64 = 6;
/// Time before a frame beyond which an RTS belongs to another frame, in seconds.
const RTS_AHEAD_S: f64 = 0.001;
/// Time after a frame within which its acknowledgement follows, in seconds.
const ACK_AFTER_S: f64 = 50e-6;

pub const FIG4: Figure = Figure {
    id: "fig4",
    title: "Frames of an absence",
    shows: "The laptop announces with a Null frame that it will not listen, and repeats it until \
            the access point answers, from the fourth retry on behind an RTS. Then both are \
            silent, but for beacons, until it takes that back. The paper prints one absence; the \
            times of it are beside those of ours with as many attempts.",
    runs,
    read: fig4,
};

pub const FIG5: Figure = Figure {
    id: "fig5",
    title: "Schedule of absences",
    shows: "Every two minutes the laptop is away 26 times for a tenth of a second. How often the \
            access point leaves a Null unanswered is chance, so these are means of several runs.",
    runs,
    read: fig5,
};

fn runs() -> Vec<Run> {
    (0..RUNS).map(|n| Run::of(name(n), UPLOAD).number(n).watching_air()).collect()
}

/// Mean time from the start of a degraded period to that of the next, in seconds.
pub(super) fn period_s(run: &RunData) -> f64 {
    mean(&periods(&scans(run)))
}

fn periods(scans: &[Scan]) -> Vec<f64> {
    let begin = |scan: &Scan| scan.first().map_or(f64::NAN, |absence| absence.leaving.0);
    scans.windows(2).map(|pair| begin(&pair[1]) - begin(&pair[0])).collect()
}

/// The least and the greatest time, in ms.
fn range_ms(seconds: impl Iterator<Item = f64>) -> (f64, f64) {
    let all: Vec<f64> = seconds.map(|length| 1e3 * length).collect();
    (least(&all), greatest(&all))
}

/// An absence of the laptop: how it left and returned.
#[derive(Clone, Debug, PartialEq)]
struct Absence {
    /// Number of attempts of Nulls with PM = 1, and with PM = 0.
    attempts: [usize; 2],
    /// Whether all Nulls with PM = 1 had one sequence number, and all but the first one
    /// the Retry bit.
    repeated: bool,
    /// Number of RTSs before the Null with PM = 1.
    rts: usize,
    /// Start of the first Null with PM = 1, or of its RTS, and end of the exchange.
    leaving: (f64, f64),
    /// Start and end of the exchange of the Null with PM = 0.
    returning: (f64, f64),
    /// Whether the Null with PM = 1 was acknowledged in the end.
    acknowledged: bool,
}

fn fig4(runs: &Runs<'_>) -> Findings {
    let run = runs.get(RUN);
    let all = absences(run);
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
    let beacons = frames_between(run, example.leaving.1, example.returning.0)
        .filter(|frame| matches!(frame.kind, FrameKind::Beacon { .. }))
        .count();
    let data_silence = !frames_between(run, example.leaving.1, example.returning.0)
        .any(|frame| !matches!(frame.kind, FrameKind::Beacon { .. }));
    let everywhere: Vec<(&RunData, Absence)> = runs
        .all()
        .flat_map(|(_, run)| absences(run).into_iter().map(move |absence| (run, absence)))
        .collect();
    // Absences announced as in the trace, with as many attempts.
    let like_it = || {
        let is_like_it =
            |absence: &Absence| absence.acknowledged && absence.attempts[0] == ATTEMPTS;
        everywhere.iter().filter(move |(_, absence)| is_like_it(absence))
    };
    let back_like_it =
        everywhere.iter().filter(|(_, absence)| absence.attempts[1] == RETURN_ATTEMPTS);
    let length = |(from, to): (f64, f64)| to - from;
    let to_beacon = |(run, absence): &(&RunData, Absence)| {
        let mut silence = frames_between(run, absence.leaving.1, absence.returning.0);
        let beacon = silence.find(|frame| matches!(frame.kind, FrameKind::Beacon { .. }));
        beacon.map(|beacon| seconds(beacon.start) - absence.leaving.1)
    };
    Findings {
        quantities: vec![
            Quantity::shown(
                "Null with PM = 1, one sequence number",
                "retried until acknowledged",
                example.attempts[0] > 1 && example.repeated,
            ),
            Quantity::shown(
                "RTS before its 4th and later retries",
                "one before each",
                example.attempts[0] > 1 + RETRIES_BEFORE_RTS && example.rts >= expected_rts,
            ),
            Quantity::shown("Null with PM = 0", "retried", {
                all.iter().any(|absence| absence.attempts[1] > 1)
            }),
            Quantity::shown("between them", "a beacon, no data", beacons > 0 && data_silence),
            Quantity::example(
                "leaving, where the ninth Null was answered",
                "ms",
                1.8,
                range_ms(like_it().map(|(_, absence)| length(absence.leaving))),
            ),
            Quantity::example(
                "from there to the beacon",
                "ms",
                90.0,
                range_ms(like_it().filter_map(to_beacon)),
            ),
            Quantity::example(
                "from there to the Null that ends it",
                "ms",
                114.0,
                range_ms(like_it().map(|(_, absence)| absence.returning.0 - absence.leaving.1)),
            )
            .because(
                "All absences of ours last as long as the paper's mean, from the first frame to \
                 the last; its example is 7 ms longer than its mean.",
            ),
            Quantity::example(
                "returning, where the fifth Null was answered",
                "ms",
                1.3,
                range_ms(back_like_it.map(|(_, absence)| length(absence.returning))),
            )
            .because(
                "The paper's has a second Null after the one that was answered; ours ends with \
                 that.",
            ),
        ],
        panels: vec![
            lanes(run, "Leaving", example.leaving),
            lanes(run, "The absence", (example.leaving.0, example.returning.1)),
            lanes(run, "Returning", example.returning),
        ],
    }
}

fn name(run: u64) -> String {
    if run == 0 { RUN.into() } else { format!("{RUN} {run}") }
}

fn fig5(runs: &Runs<'_>) -> Findings {
    let scans: Vec<Vec<Scan>> = runs.all().map(|(_, run)| scans(run)).collect();
    let all: Vec<&Absence> = scans.iter().flatten().flatten().collect();
    let of_absences = |length: &dyn Fn(&Absence) -> f64| {
        mean(&all.iter().map(|absence| length(absence)).collect::<Vec<_>>())
    };
    let begin = |scan: &Scan| scan.first().map_or(f64::NAN, |absence| absence.leaving.0);
    let end = |scan: &Scan| scan.last().map_or(f64::NAN, |absence| absence.returning.1);
    let period: Vec<f64> = scans.iter().flat_map(|scans| periods(scans)).collect();
    let normal = |pair: &[Scan]| begin(&pair[1]) - end(&pair[0]);
    let normal: Vec<f64> = scans.iter().flat_map(|scans| scans.windows(2).map(normal)).collect();
    let scans: Vec<&Scan> = scans.iter().flatten().collect();
    let length: Vec<f64> = scans.iter().map(|scan| end(scan) - begin(scan)).collect();
    let between = |scan: &&Scan| {
        let pairs = scan.windows(2).map(|pair| pair[1].leaving.0 - pair[0].returning.1);
        pairs.collect::<Vec<_>>()
    };
    let awake: Vec<f64> = scans.iter().flat_map(between).collect();
    let pairs: Vec<f64> = scans.iter().map(|scan| scan.len() as f64).collect();
    let within = |name: &str, unit, paper: f64, ours: f64| {
        Quantity::value(name, unit, Statement::Value(paper), ours, stated(paper))
    };
    let asleep = |absence: &Absence| 1e3 * (absence.returning.1 - absence.leaving.0);
    Findings {
        quantities: vec![
            within("from one degraded period to the next", "s", 120.0, mean(&period)),
            within("a degraded period", "s", 10.0, mean(&length)),
            within("a normal period", "s", 110.0, mean(&normal)),
            within("absences in it", "", 26.0, mean(&pairs)),
            within("asleep", "ms", 110.0, of_absences(&asleep)),
            within("awake", "ms", 320.0, 1e3 * mean(&awake)),
        ],
        panels: schedule(runs.get(RUN)),
    }
}

/// Panels of the whole run, of one scan in it, and of the first absences of that scan.
fn schedule(run: &RunData) -> Vec<Panel> {
    let scans = scans(run);
    let panel = |title: &str, (from, to): (f64, f64)| {
        let inside = scans.iter().flatten().filter(|a| a.leaving.0 >= from && a.returning.1 <= to);
        let asleep = inside.map(|a| (a.leaving.0, a.returning.1, 0.0));
        Panel::new(title, Axis::new("time, s").range(from, to), Axis::new("").names(["laptop"]))
            .with(Series::intervals("asleep", asleep))
    };
    let mut panels = vec![panel("The run", (0.0, run.document.duration_s))];
    if let Some([first, .., last]) = scans.first().map(Vec::as_slice) {
        let from = first.leaving.0.floor();
        panels.push(panel("A degraded period", (from, last.returning.1.ceil())));
        panels.push(panel("The first of it", (from, from + 1.5)));
    }
    panels
}

/// A panel of the frames without data around a time, with a row for each kind.
fn lanes(run: &RunData, title: &str, (from, to): (f64, f64)) -> Panel {
    const NAMES: [&str; 6] = ["Null, PM = 1", "Null, PM = 0", "RTS", "CTS", "Ack", "beacon"];
    let laptop = run.station(LAPTOP);
    let around = 0.05 * (to - from);
    let frames = |is_laptop: bool| {
        let chosen = frames_between(run, from - around, to + around)
            .filter(move |frame| (frame.transmitter == laptop) == is_laptop);
        chosen.filter_map(move |frame| {
            let lane = lane(frame.kind)?;
            let ms = |at| 1e3 * (seconds(at) - from);
            Some((ms(frame.start), ms(frame.end), lane as f64))
        })
    };
    let x = Axis::new("time, ms").range(-1e3 * around, 1e3 * (to - from + around));
    Panel::new(title, x, Axis::new("").names(NAMES))
        .with(Series::intervals("from the laptop", frames(true)))
        .with(Series::intervals("from the access point", frames(false)))
}

fn lane(kind: FrameKind) -> Option<usize> {
    match kind {
        FrameKind::Null { power_management: true }
        | FrameKind::QosNull { power_management: true } => Some(0),
        FrameKind::Null { power_management: false }
        | FrameKind::QosNull { power_management: false } => Some(1),
        FrameKind::Rts => Some(2),
        FrameKind::Cts => Some(3),
        FrameKind::Ack => Some(4),
        FrameKind::Beacon { .. } => Some(5),
        _ => None,
    }
}

fn frames_between(run: &RunData, from: f64, to: f64) -> impl Iterator<Item = &BareFrame> {
    run.frames.iter().filter(move |frame| seconds(frame.start) >= from && seconds(frame.end) <= to)
}

/// The absences of a degraded period.
type Scan = Vec<Absence>;

/// The degraded periods of a run.
fn scans(run: &RunData) -> Vec<Scan> {
    let absences = absences(run);
    let scans = absences.chunk_by(|one, other| other.leaving.0 - one.returning.1 < SCAN_GAP_S);
    scans.map(<[Absence]>::to_vec).collect()
}

/// The absences of the laptop in order, except those without a return.
fn absences(run: &RunData) -> Vec<Absence> {
    let laptop = run.station(LAPTOP);
    let null = |frame: &BareFrame| match frame.kind {
        FrameKind::Null { power_management } | FrameKind::QosNull { power_management }
            if frame.transmitter == laptop =>
        {
            Some(power_management)
        }
        _ => None,
    };
    let mut absences = Vec::new();
    let mut leaving: Option<Exchange> = None;
    let mut returning: Option<Exchange> = None;
    // An RTS and what follows it up to a Null belong to the exchange of the Null.
    let mut rts: Option<f64> = None;
    for frame in &run.frames {
        let (start, end) = (seconds(frame.start), seconds(frame.end));
        match (null(frame), frame.kind) {
            (Some(is_away), _) => {
                if is_away {
                    absences.extend(put_together(&mut returning, &mut leaving));
                }
                let exchange = if is_away { &mut leaving } else { &mut returning };
                let begin = rts.take().filter(|begin| start - begin < RTS_AHEAD_S);
                let exchange =
                    exchange.get_or_insert_with(|| Exchange::new(begin.unwrap_or(start)));
                exchange.repeated &= match exchange.sequence {
                    None => !frame.retry,
                    Some(sequence) => frame.retry && frame.sequence == sequence,
                };
                exchange.sequence = Some(frame.sequence);
                exchange.attempts += 1;
                exchange.rts += usize::from(begin.is_some());
                exchange.end = end;
            }
            (None, FrameKind::Rts) if frame.transmitter == laptop => rts = rts.or(Some(start)),
            (None, FrameKind::Ack) => {
                // An Ack belongs to the Null that it follows by a SIFS.
                for exchange in [&mut leaving, &mut returning].into_iter().flatten() {
                    if (0.0..ACK_AFTER_S).contains(&(start - exchange.end)) {
                        (exchange.end, exchange.acknowledged) = (end, true);
                    }
                }
            }
            _ => {}
        }
    }
    absences.extend(put_together(&mut returning, &mut leaving));
    absences
}

/// The attempts of a Null.
#[derive(Clone, Copy, Debug)]
struct Exchange {
    begin: f64,
    end: f64,
    attempts: usize,
    rts: usize,
    sequence: Option<SeqNo12>,
    repeated: bool,
    acknowledged: bool,
}

impl Exchange {
    fn new(begin: f64) -> Self {
        Self {
            begin,
            end: begin,
            attempts: 0,
            rts: 0,
            sequence: None,
            repeated: true,
            acknowledged: false,
        }
    }
}

fn put_together(
    returning: &mut Option<Exchange>,
    leaving: &mut Option<Exchange>,
) -> Option<Absence> {
    let back = returning.take()?;
    let away = leaving.take()?;
    Some(Absence {
        attempts: [away.attempts, back.attempts],
        repeated: away.repeated,
        rts: away.rts,
        leaving: (away.begin, away.end),
        returning: (back.begin, back.end),
        acknowledged: away.acknowledged,
    })
}

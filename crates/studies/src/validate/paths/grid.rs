//! The cases of the grid: the rows of the reports by name, then families of paths, drawn
//! twice: constants may be chosen with the first draw, and the second judges. In a draw
//! each family is a Latin hypercube: every level of every dimension occurs equally often,
//! in an order shuffled with a random stream of the family. The cases are the same on
//! every machine; a change of a family's size changes all of its cases.

use super::{
    Half, Jitter, Line, Medium, Others, PathBeside, PathCase, PathFamily, PathLosses, Room,
};
use lasthop_units::{Bitrate, Duration, Seed, Stream};
use std::collections::BTreeSet;

/// Seeds of the shuffles: of the half that may be looked at, and of the judged one. The
/// second was written down when the control that it judges was done, and its cases were run
/// after that.
const SEEDS: [(Half, u64); 2] = [(Half::Tuned, 14), (Half::Judged, 20_261_217)];
/// Bytes that TCP keeps in flight with the default buffers of Linux. The rate of a path
/// that needs more is reduced.
const WINDOW_BYTES: u64 = 2_621_440;

const RATES_MBPS: [u64; 9] = [1, 2, 5, 12, 25, 50, 100, 200, 300];
const ROUND_TRIPS_MS: [u64; 8] = [1, 3, 10, 20, 40, 80, 150, 300];
const QUEUES_PACKETS: [u32; 5] = [10, 30, 100, 300, 1_000];
const LOSSES_PERCENT: [u32; 7] = [1, 3, 5, 10, 20, 30, 40];

/// Draws the levels of a family's dimensions in random order, each equally often.
struct Levels {
    half: Half,
    stream: Stream,
    cases: usize,
}

/// A draw of all families.
#[derive(Clone, Copy)]
struct Draw {
    half: Half,
    seed: u64,
}

impl Draw {
    /// The levels of a family: number of cases in the tuned half, and in the judged one.
    fn levels(self, family: &str, [tuned, judged]: [usize; 2]) -> Levels {
        let cases = match self.half {
            Half::Tuned => tuned,
            Half::Judged => judged,
        };
        Levels { half: self.half, stream: Seed::new(self.seed, 0).stream(family), cases }
    }
}

impl Levels {
    fn drawn<T: Copy>(&mut self, levels: &[T]) -> Vec<T> {
        let mut values: Vec<T> = levels.iter().copied().cycle().take(self.cases).collect();
        for last in (1..values.len()).rev() {
            values.swap(last, self.stream.up_to(last as u32) as usize);
        }
        values
    }

    /// Returns wires without losses, of all rates, round trips and queues.
    fn lines(&mut self) -> Vec<Line> {
        let (rates, round_trips) = (self.drawn(&RATES_MBPS), self.drawn(&ROUND_TRIPS_MS));
        let queues = self.drawn(&QUEUES_PACKETS);
        let line = |((mbps, milliseconds), queue)| line(mbps, milliseconds, queue);
        rates.into_iter().zip(round_trips).zip(queues).map(line).collect()
    }
}

/// A wire without losses, with a lower rate if TCP's window would not fill it.
fn line(mbps: u64, round_trip_ms: u64, queue_packets: u32) -> Line {
    let most_bps = WINDOW_BYTES * 8 * 1_000 / round_trip_ms;
    let slower = RATES_MBPS.into_iter().rev().find(|&mbps| mbps * 1_000_000 <= most_bps);
    let mbps = mbps.min(slower.unwrap_or(RATES_MBPS[0]));
    Line {
        rate: Bitrate::from_bps(mbps * 1_000_000),
        round_trip: Duration::from_millis(round_trip_ms),
        queue_packets,
        losses: PathLosses::None,
        jitter: None,
        changes_to: None,
    }
}

/// Returns all cases: those of the reports first, then the tuned half by family, then the
/// judged one. A case that occurs twice is left out once.
pub fn all() -> Vec<PathCase> {
    let mut seen = BTreeSet::new();
    let drawn = SEEDS.into_iter().flat_map(|(half, seed)| drawn(Draw { half, seed }));
    known().into_iter().chain(drawn).filter(|case| seen.insert(case.name.clone())).collect()
}

/// All families of a draw.
fn drawn(draw: Draw) -> impl Iterator<Item = PathCase> {
    let families = [clean, lossy, bursts, varying, cells, beside, tunnels, changes];
    families.into_iter().flat_map(move |family| family(draw))
}

fn alone(half: Half, family: PathFamily, lines: impl IntoIterator<Item = Line>) -> Vec<PathCase> {
    let case = |line| PathCase::new(half, family, Medium::Line(line), PathBeside::Alone);
    lines.into_iter().map(case).collect()
}

fn clean(draw: Draw) -> Vec<PathCase> {
    alone(draw.half, PathFamily::Clean, draw.levels("clean", [18, 14]).lines())
}

fn lossy(draw: Draw) -> Vec<PathCase> {
    let mut levels = draw.levels("lossy", [28, 25]);
    let (lines, losses) = (levels.lines(), levels.drawn(&LOSSES_PERCENT));
    alone(
        draw.half,
        PathFamily::Lossy,
        lines
            .into_iter()
            .zip(losses)
            .map(|(line, percent)| Line { losses: PathLosses::Alone(percent), ..line }),
    )
}

fn bursts(draw: Draw) -> Vec<PathCase> {
    let mut levels = draw.levels("bursts", [18, 12]);
    let (lines, percents) = (levels.lines(), levels.drawn(&[2, 5, 10, 20, 30]));
    let lengths = levels.drawn(&[3, 8, 20]);
    alone(
        draw.half,
        PathFamily::Bursts,
        lines.into_iter().zip(percents).zip(lengths).map(|((line, percent), packets)| Line {
            losses: PathLosses::Bursts { percent, packets },
            ..line
        }),
    )
}

/// Wires with varying delay, half of them with reordering and half with losses.
fn varying(draw: Draw) -> Vec<PathCase> {
    let mut levels = draw.levels("varying", [36, 18]);
    let (lines, sds) = (levels.lines(), levels.drawn(&[250, 500, 1_000, 2_000, 4_000, 8_000]));
    let (reorders, losses) = (levels.drawn(&[false, true]), levels.drawn(&[0, 0, 3, 10]));
    let each = lines.into_iter().zip(sds).zip(reorders.into_iter().zip(losses));
    alone(
        draw.half,
        PathFamily::Varying,
        each.map(|((line, sd_us), (reorders, percent))| {
            // A delay is never negative, so short ones vary less.
            let most = Duration::from_micros(line.round_trip.as_nanos() / 4_000);
            let sd = Duration::from_micros(sd_us).min(most);
            let losses = if percent == 0 { PathLosses::None } else { PathLosses::Alone(percent) };
            Line { jitter: Some(Jitter { sd, reorders }), losses, ..line }
        }),
    )
}

fn cells(draw: Draw) -> Vec<PathCase> {
    let mut levels = draw.levels("cells", [36, 20]);
    let (mcs, ampdu, attempts) =
        (levels.drawn(&[2, 7]), levels.drawn(&[true, false]), levels.drawn(&[1, 7]));
    let (losses, stations) = (levels.drawn(&[0, 10, 20, 30]), levels.drawn(&[0, 1, 2, 5, 10, 20]));
    let others = levels.drawn(&[
        Others::Idle,
        Others::Busy,
        Others::Busy,
        Others::SaturatedUp,
        Others::SaturatedBoth,
    ]);
    let queues = levels.drawn(&[None, None, Some(100), Some(1_000)]);
    let is_down = levels.drawn(&[false, true]);
    let case = |index: usize| {
        // A drop-tail queue that other stations keep full leaves no buffer space for
        // the tunnel: nothing would pass.
        let room = Room {
            mcs: mcs[index],
            ampdu: ampdu[index],
            attempts: attempts[index],
            loss_percent: losses[index],
            stations: stations[index],
            others: others[index],
            queue_packets: queues[index].filter(|_| others[index] != Others::SaturatedBoth),
            is_down: is_down[index],
        };
        PathCase::new(levels.half, PathFamily::Cells, Medium::Room(room), PathBeside::Alone)
    };
    (0..levels.cases).map(case).collect()
}

/// Wires shared with TCP flows. Queues have at least 30 packets: with a few packets for
/// each flow all of them would starve.
fn beside(draw: Draw) -> Vec<PathCase> {
    let mut levels = draw.levels("beside", [18, 8]);
    let rates = levels.drawn(&[2, 5, 12, 25, 50]);
    let (round_trips, queues) =
        (levels.drawn(&[3, 10, 20, 40, 80, 150]), levels.drawn(&[30, 100, 300, 1_000]));
    let flows = levels.drawn(&[1, 2, 4, 8]);
    let case = |index: usize| {
        let line = line(rates[index], round_trips[index], queues[index]);
        PathCase::new(
            levels.half,
            PathFamily::Beside,
            Medium::Line(line),
            PathBeside::Tcp(flows[index]),
        )
    };
    (0..levels.cases).map(case).collect()
}

fn tunnels(draw: Draw) -> Vec<PathCase> {
    let mut levels = draw.levels("tunnels", [10, 7]);
    let rates = levels.drawn(&[2, 5, 12, 25, 50]);
    let (round_trips, queues) =
        (levels.drawn(&[3, 10, 20, 40, 80, 150]), levels.drawn(&[30, 100, 300, 1_000]));
    let losses = levels.drawn(&[0, 0, 10]);
    let case = |index: usize| {
        let losses = match losses[index] {
            0 => PathLosses::None,
            percent => PathLosses::Alone(percent),
        };
        let line = Line { losses, ..line(rates[index], round_trips[index], queues[index]) };
        PathCase::new(levels.half, PathFamily::Tunnels, Medium::Line(line), PathBeside::Tunnel)
    };
    (0..levels.cases).map(case).collect()
}

/// Wires whose rate halves or doubles.
fn changes(draw: Draw) -> Vec<PathCase> {
    let mut levels = draw.levels("changes", [14, 12]);
    let (rates, halves) = (levels.drawn(&[4, 12, 24, 50, 100]), levels.drawn(&[true, false]));
    let (round_trips, queues) =
        (levels.drawn(&[3, 10, 20, 40, 80, 150]), levels.drawn(&[30, 100, 300, 1_000]));
    let losses = levels.drawn(&[0, 0, 10]);
    let line = |index: usize| {
        let line = line(rates[index], round_trips[index], queues[index]);
        let bps = line.rate.as_bps();
        let losses = match losses[index] {
            0 => PathLosses::None,
            percent => PathLosses::Alone(percent),
        };
        let to = if halves[index] { bps / 2 } else { bps * 2 };
        Line { changes_to: Some(Bitrate::from_bps(to)), losses, ..line }
    };
    alone(draw.half, PathFamily::Changes, (0..levels.cases).map(line))
}

/// The wire of most reports: 12 Mb/s of IP packets of 1 500 bytes, 10 ms in each
/// direction, 150 kB.
fn usual() -> Line {
    Line { rate: Bitrate::from_bps(12_112_000), ..line(12, 20, 100) }
}

/// The rows of the reports, with the parameters of their measurements in real time.
fn known() -> Vec<PathCase> {
    let jitter = |sd_us, reorders| Some(Jitter { sd: Duration::from_micros(sd_us), reorders });
    let bursts = |percent| PathLosses::Bursts { percent, packets: 8 };
    let fast = Line { queue_packets: 300, losses: PathLosses::Alone(20), ..line(50, 80, 300) };
    let lines = [
        ("delay varies", Line { jitter: jitter(5_000, false), ..usual() }, PathBeside::Alone),
        (
            "delay varies, 10 %",
            Line { jitter: jitter(5_000, false), losses: PathLosses::Alone(10), ..usual() },
            PathBeside::Alone,
        ),
        (
            "reordered, 10 %",
            Line { jitter: jitter(5_000, true), losses: PathLosses::Alone(10), ..usual() },
            PathBeside::Alone,
        ),
        ("reordered a little", Line { jitter: jitter(1_250, true), ..usual() }, PathBeside::Alone),
        ("bursts, 10 %", Line { losses: bursts(10), ..usual() }, PathBeside::Alone),
        ("bursts, 20 %", Line { losses: bursts(20), ..usual() }, PathBeside::Alone),
        ("50 Mb/s, 80 ms, 20 %", fast, PathBeside::Alone),
        (
            "2 Mb/s, 10 ms, 20 %",
            Line { losses: PathLosses::Alone(20), ..line(2, 10, 100) },
            PathBeside::Alone,
        ),
        ("beside one CUBIC flow", usual(), PathBeside::Tcp(1)),
    ];
    let cell = |mcs, ampdu, attempts, loss_percent, stations, others| Room {
        mcs,
        ampdu,
        attempts,
        loss_percent,
        stations,
        others,
        queue_packets: None,
        is_down: false,
    };
    let rooms = [
        ("wifi, one attempt, 30 %", cell(2, true, 1, 30, 0, Others::Idle)),
        ("wifi, the same, three others", cell(2, true, 1, 30, 3, Others::Busy)),
        ("wifi, A-MPDU, 20 %, one other", cell(7, true, 1, 20, 1, Others::Busy)),
        ("wifi, clean", cell(7, true, 7, 0, 0, Others::Idle)),
        ("wifi, five others", cell(7, true, 7, 0, 5, Others::Busy)),
        ("wifi, ten others ask for more", cell(7, true, 7, 0, 10, Others::SaturatedUp)),
    ];
    let lines = lines.into_iter().map(|(name, line, beside)| (name, Medium::Line(line), beside));
    let rooms = rooms.into_iter().map(|(name, room)| (name, Medium::Room(room), PathBeside::Alone));
    lines
        .chain(rooms)
        .map(|(name, medium, beside)| PathCase {
            name: name.into(),
            medium,
            beside,
            family: PathFamily::Reported,
            half: Half::Tuned,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::Half;
    use super::*;

    #[test]
    fn every_run_has_a_scenario() {
        for case in all() {
            for &run in case.runs() {
                let written = case.write(run);
                if let Err(why) = lasthop_scenario::parse("path.toml", &written.toml, &[]) {
                    panic!("{}: {why}\n{}", case.name, written.toml);
                }
            }
        }
    }

    #[test]
    fn names_tell_cases_apart_and_the_judged_half_is_drawn_once() {
        let cases = all();
        let names: BTreeSet<&str> = cases.iter().map(|case| case.name.as_str()).collect();
        assert_eq!(names.len(), cases.len());
        let judged = |is_alone: bool| {
            let is_alone = |case: &&PathCase| (case.beside == PathBeside::Alone) == is_alone;
            let judged = cases.iter().filter(|case| case.half == Half::Judged);
            judged.filter(is_alone).count()
        };
        // Some cases of the second draw occurred in the first one.
        assert_eq!((judged(true), judged(false)), (95, 14));
        let is_shown =
            |case: &PathCase| case.family != PathFamily::Reported || case.half == Half::Tuned;
        assert!(cases.iter().all(is_shown));
    }
}

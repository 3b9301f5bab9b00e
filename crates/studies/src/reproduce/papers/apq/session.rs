//! Single sessions of `apq`: throughput and delay over time, and the distribution of
//! delays with a full and with an empty queue (figures 6 to 9). Delays are in ms above
//! the shortest one, throughput is in Mb/s of IP packets.

use super::access_points::{CISCO, LINKSYS_OLD, NETGEAR};
use super::{FLOW, first_session, one_session};
use crate::reproduce::data::{Point, RunData, Runs, greatest, least, mean, quantile, values};
use crate::reproduce::figure::{Figure, Findings, Quantity, Run, ScenarioFile, Statement, about};
use crate::scenario_file;
use lasthop_apq::{PhaseRecord, Sample, StreamKind};
use lasthop_figures::plot::{Axis, Panel, Series};
use lasthop_hosts::ApqEnding;

const LINKSYS_OLD_BUSY: ScenarioFile = scenario_file!("apq/linksys-old-busy.toml");

/// Sets the length of packets to 1500 bytes only.
const ONE_LENGTH: &str = "flow.apq.apq.packet_bytes=[1500]";
/// Start and end of the times at which the queue counts as empty (Algorithm 2), in seconds of a
/// session.
const EMPTY_S: [(f64, f64); 2] = [(5.0, 25.0), (95.0, 115.0)];
/// Start and end of the time at which the queue counts as full (Algorithm 2), in seconds of a
/// session.
const FULL_S: (f64, f64) = (40.0, 80.0);
/// The access points of figures 6 and 7, with the throughput in Mb/s and the delay in
/// ms from the paper.
const PAIR: [(&str, f64, f64); 2] = [("Cisco", 8.2, 94.0), ("Netgear", 6.7, 584.0)];

fn pair() -> Vec<Run> {
    let run = |(name, file)| one_session(Run::new(name, file).set(ONE_LENGTH));
    [("Cisco", CISCO), ("Netgear", NETGEAR)].map(run).into()
}

/// The packets of a session, by seconds since its start.
struct Session<'a> {
    record: &'a PhaseRecord,
    shortest_ns: i64,
}

impl<'a> Session<'a> {
    /// Returns the last phase of the measurement in a run, which is its only session.
    ///
    /// # Panics
    /// If the phases were not watched, or the run was too short.
    fn new(run: &'a RunData) -> Self {
        let measurement = run.measurement(FLOW);
        assert_eq!(measurement.ending, ApqEnding::Done, "{}", run.scenario.name);
        let record = measurement.phases.last().expect("the run is watched");
        let shortest_ns = record.samples.iter().map(Sample::delay_ns).min();
        Self { record, shortest_ns: shortest_ns.expect("packets arrive") }
    }

    /// Start of the session in seconds of the run: the far clock is that of the run.
    fn began_s(&self) -> f64 {
        self.record.started_ns as f64 / 1e9
    }

    /// Of each packet: when it was sent, in s, and its delay above the shortest, in ms.
    fn delays_ms(&self, kind: Option<StreamKind>) -> Vec<Point> {
        let samples = self.record.samples.iter();
        samples
            .filter(|sample| kind.is_none_or(|kind| sample.kind == kind))
            .map(|sample| {
                let sent = sample.sent_ns.wrapping_sub(self.record.started_ns) as f64 / 1e9;
                (sent, (sample.delay_ns() - self.shortest_ns) as f64 / 1e6)
            })
            .collect()
    }

    /// Delays with an empty queue, in ms.
    fn empty_ms(&self) -> Vec<f64> {
        let delays = self.delays_ms(Some(StreamKind::Sparse));
        values(&delays, |time| EMPTY_S.iter().any(|(from, to)| (*from..*to).contains(&time)))
    }

    /// Delays with a full queue, in ms.
    fn full_ms(&self) -> Vec<f64> {
        values(&self.delays_ms(Some(StreamKind::Bulk)), |time| (FULL_S.0..FULL_S.1).contains(&time))
    }

    /// Throughput of IP packets in each second, in Mb/s.
    fn throughput_mbps(&self) -> Vec<Point> {
        let mut seconds = vec![0.0; 125];
        for sample in &self.record.samples {
            let at = sample.received_ns.wrapping_sub(self.record.started_ns) / 1_000_000_000;
            if let (Some(second), Some((stream, _))) = (
                seconds.get_mut(at as usize),
                self.record.plan.locate(sample.kind, sample.sequence),
            ) {
                *second += f64::from(self.record.plan.streams[stream].packet_bytes) * 8e-6;
            }
        }
        seconds.into_iter().enumerate().map(|(second, mb)| (second as f64 + 0.5, mb)).collect()
    }
}

/// The part of a series that is in the only session of the run, in seconds since its
/// start.
pub fn over_session(run: &RunData, series: Vec<Point>) -> Vec<Point> {
    let session = Session::new(run);
    let began = session.began_s();
    let ours = series.into_iter().filter(|(time, _)| (0.0..120.0).contains(&(time - began)));
    ours.map(|(time, value)| (time - began, value)).collect()
}

/// The median in each quarter of a second.
fn thinned(points: &[Point]) -> Vec<Point> {
    const STEP_S: f64 = 0.25;
    let last = points.iter().map(|(x, _)| *x).fold(0.0, f64::max);
    let mut steps = vec![Vec::new(); (last / STEP_S) as usize + 1];
    for &(x, y) in points {
        steps[(x / STEP_S) as usize].push(y);
    }
    let middle = |(step, values): (usize, Vec<f64>)| {
        let x = (step as f64 + 0.5) * STEP_S;
        (!values.is_empty()).then(|| (x, quantile(&values, 0.5)))
    };
    steps.into_iter().enumerate().filter_map(middle).collect()
}

/// The cumulative distribution of the values, at a hundred points.
fn distribution(values: &[f64]) -> Vec<Point> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let point = |step: usize| {
        let share = step as f64 / 200.0;
        let at = (share * sorted.len().saturating_sub(1) as f64) as usize;
        sorted.get(at).map(|&value| (value, share))
    };
    (0..=200).filter_map(point).collect()
}

fn within(value: f64, percent: f64) -> (f64, f64) {
    (value * (1.0 - percent / 100.0), value * (1.0 + percent / 100.0))
}

fn time() -> Axis {
    Axis::new("time of the session, s").range(0.0, 120.0)
}

pub const FIG6: Figure = Figure {
    id: "fig6",
    title: "Throughput during a session",
    shows: "Both access points run at 11 Mb/s.",
    runs: pair,
    read: |runs| {
        let mut quantities = Vec::new();
        let mut panel = Panel::new("", time(), Axis::new("throughput, Mb/s"));
        for (index, (name, mbps, _)) in PAIR.into_iter().enumerate() {
            let throughput = Session::new(runs.get(name)).throughput_mbps();
            let ours = mean(&values(&throughput, |time| (31.0..90.0).contains(&time)));
            let band = within(mbps, 5.0);
            quantities.push(Quantity::value(
                format!("{name}: mean while saturated"),
                "Mb/s",
                Statement::Value(mbps),
                ours,
                band,
            ));
            panel = panel.with(Series::line(name, throughput)).target_at(
                index,
                (30.0, 90.0),
                band,
                "paper, within 5 %",
            );
        }
        Findings { quantities, panels: vec![panel] }
    },
};

pub const FIG7: Figure = Figure {
    id: "fig7",
    title: "Delay during a session",
    shows: "The sessions are those of Figure 6.",
    runs: pair,
    read: |runs| {
        let mut quantities = Vec::new();
        let mut panel = Panel::new("", time(), Axis::new("delay beyond the shortest, ms"));
        let mut full_ms = Vec::new();
        for (index, (name, _, ms)) in PAIR.into_iter().enumerate() {
            let run = runs.get(name);
            let ours = first_session(run).map_or(f64::NAN, |it| it.queueing_delay_ns / 1e6);
            let band = within(ms, 5.0);
            full_ms.push(ours);
            quantities.push(Quantity::value(
                format!("{name}: with a full queue"),
                "ms",
                Statement::Value(ms),
                ours,
                band,
            ));
            let delays = Session::new(run).delays_ms(None);
            panel = panel.with(Series::line(name, thinned(&delays))).target_at(
                index,
                FULL_S,
                band,
                "paper, within 5 %",
            );
        }
        quantities.push(Quantity::value(
            "Netgear's above the Cisco's",
            "ms",
            Statement::Text("about half a second"),
            full_ms[1] - full_ms[0],
            about(500.0),
        ));
        Findings { quantities, panels: vec![panel] }
    },
};

/// The distributions of delays in a session, with an empty and with a full queue.
fn distributions(session: &Session<'_>) -> Panel {
    let share = Axis::new("share at or below").range(0.0, 1.0);
    Panel::new("", Axis::new("delay beyond the shortest, ms"), share)
        .with(Series::line("empty queue", distribution(&session.empty_ms())))
        .with(Series::line("full queue", distribution(&session.full_ms())))
}

pub const FIG8: Figure = Figure {
    id: "fig8",
    title: "Delays of the Netgear's session",
    shows: "Both distributions of delays are narrow.",
    runs: pair,
    read: |runs: &Runs<'_>| {
        let session = Session::new(runs.get("Netgear"));
        let (empty, full) = (session.empty_ms(), session.full_ms());
        let queueing = |q: f64| quantile(&full, q) - quantile(&empty, q);
        let spread = |q: f64| 100.0 * (queueing(q) / queueing(0.5) - 1.0).abs();
        let worst = greatest(&[0.1, 0.25, 0.75, 0.9].map(spread));
        Findings {
            quantities: vec![Quantity::value(
                "queue from the 10th to the 90th percentile, beside that of the median",
                "%",
                Statement::Text("the same"),
                worst,
                (0.0, 3.0),
            )],
            panels: vec![distributions(&session)],
        }
    },
};

/// Number of runs: the longest of about 20 000 delays varies by chance.
const BUSY_RUNS: u64 = 10;

fn busy(number: u64) -> String {
    format!("busy {number}")
}

pub const FIG9: Figure = Figure {
    id: "fig9",
    title: "Delays of an inconsistent session",
    shows: "A session at the old Linksys with steps in the delay. Their cause is not stated; in \
            ours one client uploads for a while, then two.",
    runs: || {
        let calm = one_session(Run::new("calm", LINKSYS_OLD).set(ONE_LENGTH));
        let busy =
            |number| Run::new(busy(number), LINKSYS_OLD_BUSY).number(number).watching_phases();
        (0..BUSY_RUNS).map(busy).chain([calm]).collect()
    },
    read: |runs: &Runs<'_>| {
        let session = |name: &str| Session::new(runs.get(name));
        let beyond = |number| {
            let full = session(&busy(number)).full_ms();
            greatest(&full) - quantile(&full, 0.5)
        };
        let beyond: Vec<f64> = (0..BUSY_RUNS).map(beyond).collect();
        let (first, calm) = (session(&busy(0)), session("calm"));
        let (median, usual) = (quantile(&first.full_ms(), 0.5), calm.full_ms());
        let empty = first.empty_ms();
        let spread = quantile(&empty, 0.95) - quantile(&empty, 0.05);
        Findings {
            quantities: vec![
                Quantity::example(
                    "longest delay beyond the median, in ten such sessions",
                    "ms",
                    300.0,
                    (least(&beyond), greatest(&beyond)),
                ),
                Quantity::value(
                    "empty queue: between 5 and 95 % of delays",
                    "ms",
                    Statement::Text("consistent"),
                    spread,
                    (0.0, 5.0),
                ),
                Quantity::value(
                    "median with a full queue, of that in a calm session",
                    "%",
                    Statement::Text("hardly moved by outliers"),
                    100.0 * median / quantile(&usual, 0.5),
                    (98.0, 102.0),
                ),
            ],
            panels: vec![distributions(&first)],
        }
    },
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Verdict;
    use crate::reproduce::{reproduce, select};
    use std::sync::atomic::AtomicBool;

    #[test]
    fn a_distribution_ends_at_the_longest() {
        let points = distribution(&[4.0, 1.0, 2.0, 3.0]);
        assert_eq!((points.first(), points.last()), (Some(&(1.0, 0.0)), Some(&(4.0, 1.0))));
        assert_eq!(distribution(&[]), []);
    }

    #[test]
    fn a_quarter_of_a_second_has_one_point() {
        let points = [(0.0, 1.0), (0.1, 9.0), (0.2, 2.0), (1.0, 5.0)];
        assert_eq!(thinned(&points), [(0.125, 2.0), (1.125, 5.0)]);
    }

    /// Tests everything from the scenarios to the verdicts; the other figures take
    /// longer.
    #[test]
    fn others_that_send_are_steps_in_the_delays() {
        let figures = select(Some("apq/fig9")).expect("it is there");
        let stop = AtomicBool::new(false);
        let outcomes = reproduce(&figures, 2, &stop, &|_| {}).expect("its scenarios are sound");
        let quantities = &outcomes[0].findings.quantities;
        assert_eq!(quantities.len(), 3);
        assert!(quantities.iter().all(|q| q.verdict() == Verdict::Pass), "{quantities:?}");
    }
}

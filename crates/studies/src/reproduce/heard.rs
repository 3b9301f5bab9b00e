//! Results of a capture of a run's air, by the names of the scenario: absences and their
//! schedule, links and flows by second. Everything is found in the frames by the analysis of
//! `lasthop capture`; of the scenario only the addresses of nodes are used. Times are in
//! seconds since the start of the run.

use crate::reproduce::data::{Point, RunData};
use lasthop_capture::air::absence::Absence;
use lasthop_capture::air::exchange::Link;
use lasthop_capture::air::schedule::Schedule;
use lasthop_capture::air::stations::StationId;
use lasthop_capture::analysis::Analysis;
use lasthop_capture::series::Seconds;
use lasthop_capture::transport::Direction;

impl RunData {
    /// The analysis of the capture.
    ///
    /// # Panics
    /// If the air was not captured. The other methods panic in the same way, and where there
    /// is no node of this name or nothing was heard of it.
    pub fn capture(&self) -> &Analysis {
        let lacks = || panic!("the air of {} was not captured", self.scenario.name);
        self.capture.as_ref().unwrap_or_else(lacks)
    }

    /// The number of a node in the capture.
    pub fn heard(&self, node: &str) -> StationId {
        let known = self.names.nodes.iter().find(|known| known.name == node);
        let id = known.and_then(|known| self.capture().main.air.stations.find(known.address));
        id.unwrap_or_else(|| panic!("nothing was heard of {node} in {}", self.scenario.name))
    }

    /// The absences of a station, in their order.
    pub fn absences(&self, node: &str) -> &[Absence] {
        let absences = self.capture().main.air.absences.get(&self.heard(node));
        absences.map_or(&[], |absences| absences.so_far())
    }

    /// Returns the schedule of a station's absences; `None` if it is never away.
    pub fn schedule(&self, node: &str) -> Option<Schedule> {
        Schedule::from_absences(&self.capture().main.air, self.heard(node), usize::MAX)
    }

    /// Data in one direction of a link, called `sender->receiver`.
    pub fn heard_link(&self, link: &str) -> &Link {
        let ends = link.split_once("->").map(|(from, to)| (self.heard(from), self.heard(to)));
        let found = ends.and_then(|ends| self.capture().main.air.links.get(&ends));
        found.unwrap_or_else(|| panic!("no data was heard on {link} in {}", self.scenario.name))
    }

    /// The direction of the flow that carries most payload.
    pub fn bulk(&self) -> &Direction {
        let directions = self.capture().main.flows.iter().flat_map(|(_, flow)| &flow.directions);
        let most = directions.max_by_key(|direction| direction.payload_bytes);
        most.unwrap_or_else(|| panic!("no flow was heard in {}", self.scenario.name))
    }

    /// A value of each whole second of the capture, at its middle; of a second in which
    /// nothing was counted, that of no counts.
    pub fn each_second<T: Default, const MAX: usize>(
        &self,
        series: &Seconds<T, MAX>,
        value: impl Fn(&T) -> f64,
    ) -> Vec<Point> {
        let begin = time_s(self.capture().main.air.begin_ns.unwrap_or_default());
        let whole = (self.document.duration_s - begin).floor().max(0.0) as usize;
        let nothing = T::default();
        let point = |second: usize| {
            (begin + second as f64 + 0.5, value(series.get(second).unwrap_or(&nothing)))
        };
        (0..whole).map(point).collect()
    }
}

/// A time of a capture, in seconds since the start of the run.
pub fn time_s(at_ns: u64) -> f64 {
    at_ns as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::air::{SNAP_BYTES, analyse, pipe};
    use crate::reproduce::data::{mean, values};
    use crate::reproduce::figure::Run;
    use crate::reproduce::run::{ReproduceError, alone, scenario};
    use crate::scenario_file;
    use lasthop_capture::air::bare::BareFrame;
    use lasthop_capture::document::CaptureDocument;
    use lasthop_trace::{AirStream, Recorder};
    use lasthop_units::Seed;
    use lasthop_wifi_wire::Kind;
    use std::sync::atomic::AtomicBool;
    use std::thread;

    /// A download of some seconds with four absences, which begin when they are due.
    fn download() -> Run {
        let sets = [
            "duration=6s",
            "node.sta1.scan.start=2s",
            "node.sta1.scan.channels=4",
            "node.sta1.scan.flush=4ms",
        ];
        sets.iter()
            .fold(Run::new("run", scenario_file!("scan/fig7.toml")), |run, set| run.set(*set))
    }

    fn made(run: &Run) -> RunData {
        alone(run, &AtomicBool::new(false)).expect("it runs")
    }

    /// The analysis finds what the model has counted, but for a PPDU that the end of the run
    /// cuts.
    #[test]
    fn what_is_heard_is_what_was() {
        let run = made(&download().capturing_air());
        for link in ["ap->sta1", "sta1->ap"] {
            let (heard, was) = (&run.heard_link(link).counts, &run.document.links[link]);
            let pairs = [
                (heard.ppdus, was.ppdus, 1),
                (heard.mpdus, was.mpdus, 32),
                (heard.retries, was.mpdu_retries, 32),
            ];
            for (heard, was, cut) in pairs {
                assert!(was > 100 && was - heard <= cut, "{link}: {heard} of {was}");
            }
        }
        let heard = run.each_second(&run.bulk().seconds, |s| s.payload_bytes as f64 * 8e-6);
        let was = run.throughput_mbps("download");
        assert_eq!(heard.len(), 5);
        for (at, mbps) in heard {
            let arrived = mean(&values(&was, |time| (time - at).abs() < 0.5));
            assert!((mbps / arrived - 1.0).abs() < 0.02, "{mbps} of {arrived} at {at} s");
        }
        assert_eq!(run.absences("sta1").len(), 4);
        let schedule = run.schedule("sta1").expect("it is away");
        assert!((time_s(schedule.periods[0].from_ns) - 2.0).abs() < 0.01);
    }

    /// A capture without data has the same absences.
    #[test]
    fn absences_need_no_data() {
        let [all, bare] = [download().capturing_air(), download().capturing_absences()];
        let [all, bare] = [made(&all), made(&bare)];
        assert!(bare.capture().packets < all.capture().packets / 10);
        let what = |run: &RunData| -> Vec<_> {
            let absences = run.absences("sta1").iter();
            absences
                .map(|absence| {
                    let notice = |notice: &Option<lasthop_capture::air::absence::Notice>| {
                        notice.as_ref().map(|n| (n.from_ns, n.to_ns, n.frames, n.acks, n.rts))
                    };
                    // An Ack of the station for data is no part of an absence then.
                    let ours = Some(run.heard("sta1"));
                    let is_ours =
                        |frame: &&BareFrame| frame.kind != Kind::Ack || frame.transmitter != ours;
                    let bare = absence.bare.iter().filter(is_ours);
                    let bare = bare.map(|frame| (frame.from_ns, frame.kind));
                    (notice(&absence.leave), notice(&absence.back), bare.collect::<Vec<_>>())
                })
                .collect()
        };
        assert_eq!(what(&bare), what(&all));
    }

    /// A snap length changes only the number of cut packets.
    #[test]
    fn the_first_bytes_are_enough() {
        let scenario = scenario(&download()).expect("it is one");
        let documents = [None, Some(SNAP_BYTES)].map(|snap_bytes| {
            let info = lasthop_sim::air(&scenario).expect("it has a cell");
            let (writer, reader) = pipe();
            let analysis = thread::spawn(move || analyse(reader));
            let mut recorder = Recorder::with_air_stream(
                lasthop_sim::names(&scenario),
                lasthop_sim::recording(&scenario),
                &AirStream { info, snap_bytes, data: true },
                Box::new(writer),
            )
            .expect("there is a reader");
            let seed = Seed::new(scenario.seed, 0);
            let on = &mut lasthop_sim::go_on;
            let stats = lasthop_sim::simulate(&scenario, seed, &mut recorder, on).expect("it runs");
            recorder.finish(&lasthop_sim::info(&scenario, 0, 0.0), &stats).expect("it is read");
            CaptureDocument::new("-", &analysis.join().expect("nothing panics"))
        });
        let [whole, mut snapped] = documents;
        assert!(snapped.unused.cut > 10_000 && snapped.unused.too_short == 0);
        snapped.unused.cut = 0;
        assert_eq!(snapped, whole);
    }

    /// A run that is stopped in the midst of its capture is no bug.
    #[test]
    fn a_run_may_be_stopped() {
        let stopped = alone(&download().capturing_air(), &AtomicBool::new(true));
        assert!(matches!(stopped, Err(ReproduceError::Stopped)), "{stopped:?}");
    }
}

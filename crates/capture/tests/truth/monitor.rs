//! Imperfect receivers: they miss frames, at random or in runs, and their drivers omit radiotap
//! fields as real ones do. Captures of simulated runs are passed through them.

use crate::scene::Scene;
use lasthop_capture::analysis::Analysis;
use lasthop_capture::file::{Capture, Packet};
use lasthop_units::{Seed, Stream};
use lasthop_wifi_wire::radiotap::{AmpduStatus, Repr, View};
use std::fs::File;

/// Properties of a receiver.
#[derive(Clone, Copy, Debug)]
pub struct Monitor {
    /// Share of frames that it misses, independently of each other.
    pub missing: f64,
    /// Mean length of runs of missed frames.
    pub burst: f64,
    /// A-MPDU status that its driver reports.
    pub reference: Reference,
    /// Whether it has a clock (TSFT).
    pub tsft: bool,
    /// Longest delay of its host, in us. The host reads packets from the receiver's queue, one in 1
    /// to 4 us, and stamps them with a clock of whole us. 0 means no delay.
    pub late_us: u64,
    /// Seed of missed frames and of the host's delays.
    pub seed: u64,
    /// Number of the last packet.
    pub until: u64,
}

/// A-MPDU status that a driver reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reference {
    /// A number for each A-MPDU, and which MPDU is the last.
    Right,
    /// A number for each A-MPDU.
    WithoutLast,
    /// 0 on every frame.
    Zero,
    /// The status is absent.
    Absent,
}

impl Monitor {
    /// A receiver that misses no frame and reports everything.
    pub const WHOLE: Self = Self {
        missing: 0.0,
        burst: 1.0,
        reference: Reference::Right,
        tsft: true,
        late_us: 0,
        seed: 1,
        until: u64::MAX,
    };

    /// Returns the analysis of its capture.
    pub fn hear(&self, scene: &Scene) -> Analysis {
        self.watch(scene, &mut |_, _| ())
    }

    /// Returns the analysis, and calls `seen` after each packet that it hears.
    pub fn watch(&self, scene: &Scene, seen: &mut dyn FnMut(&Analysis, &Packet<'_>)) -> Analysis {
        let file = File::open(scene.path.join("air.pcapng")).expect("it was written");
        let mut capture = Capture::open(file).expect("it is a capture");
        let mut analysis = Analysis::default();
        let mut draws = Seed::new(self.seed, 0).stream("monitor");
        let mut misses = Misses::new(self);
        let mut bytes = Vec::new();
        let mut number = 0;
        let mut host = Host::default();
        while let Some(packet) = capture.next_packet().expect("it is whole") {
            if packet.number > self.until {
                break;
            }
            if misses.next(&mut draws) {
                continue;
            }
            number += 1;
            self.rewrite(packet.bytes, &mut bytes);
            let shorter = packet.bytes.len() - bytes.len();
            let at_ns = packet.at_ns.map(|at_ns| match self.late_us {
                0 => at_ns,
                most => host.takes(at_ns, most, &mut draws),
            });
            let length = packet.length - shorter as u32;
            let packet = Packet { number, at_ns, bytes: &bytes, length, ..packet };
            analysis.handle_packet(&packet);
            seen(&analysis, &packet);
        }
        analysis.finish();
        analysis
    }

    /// The packet as this monitor's driver describes it.
    fn rewrite(&self, packet: &[u8], out: &mut Vec<u8>) {
        out.clear();
        if self.tsft && self.reference == Reference::Right {
            out.extend_from_slice(packet);
            return;
        }
        let view = View::new(packet).expect("it was written here");
        let mut header = Repr::parse(&view).expect("it was written here");
        if !self.tsft {
            header.tsft_us = None;
        }
        header.ampdu_status = header.ampdu_status.and_then(|status| match self.reference {
            Reference::Right => Some(status),
            Reference::WithoutLast => Some(AmpduStatus { flags: 0, ..status }),
            Reference::Zero => Some(AmpduStatus { reference: 0, flags: 0, ..status }),
            Reference::Absent => None,
        });
        header.emit(out);
        out.extend_from_slice(&packet[view.header_len()..]);
    }
}

/// Delays of a host.
#[derive(Default)]
struct Host {
    /// Times of the last packet at the receiver and at the host.
    last_ns: [u64; 2],
}

impl Host {
    fn takes(&mut self, at_ns: u64, late_us: u64, draws: &mut Stream) -> u64 {
        let [came, taken] = self.last_ns;
        let wakes = if came == at_ns {
            taken
        } else {
            at_ns + (draws.uniform() * late_us as f64 * 1e3) as u64
        };
        let taken = wakes.max(taken) + 1_000 + (draws.uniform() * 3e3) as u64;
        self.last_ns = [at_ns, taken];
        taken / 1_000 * 1_000
    }
}

/// Selection of missed frames: single ones, or runs of geometric length.
struct Misses {
    /// Probability that a run begins with a frame that is not in one, and that a run goes on.
    begins: f64,
    goes_on: f64,
    on: bool,
}

impl Misses {
    fn new(monitor: &Monitor) -> Self {
        let goes_on = 1.0 - 1.0 / monitor.burst;
        // In the long run the share that is missed is begins / (begins + 1 - goes_on).
        let begins = if monitor.burst > 1.0 {
            (1.0 - goes_on) * monitor.missing / (1.0 - monitor.missing)
        } else {
            monitor.missing
        };
        Self { begins, goes_on, on: false }
    }

    fn next(&mut self, draws: &mut Stream) -> bool {
        let likely = if self.on && self.goes_on > 0.0 { self.goes_on } else { self.begins };
        self.on = draws.uniform() < likely;
        self.on
    }
}

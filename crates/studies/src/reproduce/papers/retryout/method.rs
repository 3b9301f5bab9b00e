//! The method of `retryout` itself: its table of retry-out indices (table I), and its
//! example of seven A-MPDUs (figure 4), fed to the decisions and the reorder buffer of
//! an access point. No radio and no time are simulated.

use super::{LAPTOPS, POSITIONS, run};
use crate::reproduce::figure::{Figure, Findings, Quantity, Run, Statement};
use lasthop_figures::plot::{Axis, Panel, Series};
use lasthop_packet::Packet;
use lasthop_units::{Duration, Instant, SeqNo12};
use lasthop_wifi::mac::block_ack::Recipient;
use lasthop_wifi::mac::mpdu::Msdus;
use lasthop_wifi::mac::retry_out::{Decision, PseudoRetryOut, RateTable, SmoothedRate};

/// A run that nothing is read from: every figure has to have one.
fn a_run() -> Vec<Run> {
    let (laptop, sets) = LAPTOPS[0];
    vec![run(laptop, sets, POSITIONS[1], true)]
}

/// The index at a smoothed data rate in kb/s; infinite if no MPDU is given up.
fn index(kbps: u32) -> f64 {
    let mut rate = SmoothedRate::new(RateTable::PAPER);
    rate.update(kbps);
    rate.retransmissions().map_or(f64::INFINITY, f64::from)
}

pub(super) const TABLE1: Figure = Figure {
    id: "table1",
    title: "Retry-out index by smoothed data rate",
    shows: "Retransmissions before an access point gives an MPDU up, and the smoothing of the \
            data rate.",
    runs: a_run,
    read: |_| {
        let mut quantities = Vec::new();
        for (name, paper, ends) in [
            ("below 25 Mb/s", 2.0, [6_500, 24_999]),
            ("25 to 50 Mb/s", 5.0, [25_000, 49_999]),
            ("50 to 100 Mb/s", 8.0, [50_000, 99_999]),
        ] {
            let ours = ends.map(index);
            let ours = if ours[0] == ours[1] { ours[0] } else { f64::NAN };
            let paper_says = Statement::Value(paper);
            quantities.push(Quantity::value(name, "", paper_says, ours, (paper, paper)));
        }
        let none = index(100_000).is_infinite() && index(600_000).is_infinite();
        quantities.push(Quantity::shown("100 Mb/s and above", "out of scope", none));
        let mut rate = SmoothedRate::new(RateTable::PAPER);
        rate.update(100_000);
        rate.update(10_000);
        quantities.push(Quantity::value(
            "smoothed rate when 10 Mb/s follows 100 Mb/s",
            "Mb/s",
            Statement::Value(0.75 * 100.0 + 0.25 * 10.0),
            f64::from(rate.kbps()) / 1_000.0,
            (77.499, 77.501),
        ));
        let points = (1..1_000).map(|n| n * 100).map(|kbps| (f64::from(kbps) / 1e3, index(kbps)));
        let x = Axis::new("smoothed data rate, Mb/s").range(0.0, 120.0);
        let y = Axis::new("retry-out index").range(0.0, 10.0);
        let panel = Panel::new("", x, y).with(Series::line("index", points.collect()));
        Findings { quantities, panels: vec![panel] }
    },
};

/// The A-MPDUs of the example: number of each MPDU, and whether it is received without
/// error; then what the paper says about them. `up`: passed up; a number: its
/// retransmissions by the count of errors.
const EXAMPLE: [(&[(u16, bool)], &str); 7] = [
    (
        &[(1, true), (2, false), (3, true), (4, false), (5, true)],
        "1 up; 2: 0; 3 keep; 4: 0; 5 keep",
    ),
    (&[(6, false), (7, true), (8, true)], "6: 0; 7 keep; 8 keep"),
    (&[(2, false), (4, false), (9, false), (10, false)], "2: 1; 4: 1; 9: 0; 10: 0"),
    (
        &[(2, true), (4, false), (9, true), (10, false)],
        "2 up, 3 up; 4: 2 lost, 5 up; 9 keep; 10: 1",
    ),
    (&[(6, true)], "6 up, 7 up, 8 up, 9 up"),
    (&[(4, false), (10, true)], "4: 3; 10 up"),
    (&[(4, true)], "4 ignore"),
];

pub(super) const FIG4: Figure = Figure {
    id: "fig4",
    title: "Example of seven A-MPDUs",
    shows: "MPDU 4 fails three times and is given up; 5 goes up without it. The retry-out index \
            is 2.",
    runs: a_run,
    read: |_| {
        let mut receiver = Receiver::new();
        let mut quantities = Vec::new();
        for (number, (mpdus, paper)) in (1..).zip(EXAMPLE) {
            let ours: Vec<String> =
                mpdus.iter().map(|&(mpdu, is_good)| receiver.hear(mpdu, is_good)).collect();
            let name = format!("A-MPDU ({number})");
            quantities.push(Quantity::shown(name, paper, ours.join("; ") == paper));
        }
        let received = EXAMPLE.iter().flat_map(|(mpdus, _)| mpdus.iter().map(|(mpdu, _)| *mpdu));
        let label = |mpdu: u16| if mpdu == 0 { String::new() } else { mpdu.to_string() };
        let x = Axis::new("MPDUs as they come").names([0].into_iter().chain(received).map(label));
        let y = Axis::new("MPDU").names((0..=10).map(label));
        let names = ["up", "keep", "error", "lost", "ignore"];
        let panel = names
            .into_iter()
            .zip(receiver.marks)
            .fold(Panel::new("", x, y), |panel, (name, points)| {
                panel.with(Series::dots(name, points))
            });
        Findings { quantities, panels: vec![panel] }
    },
};

/// The decisions and the reorder buffer of an access point.
struct Receiver {
    decisions: PseudoRetryOut,
    buffer: Recipient,
    receptions: u16,
    /// MPDUs as points (reception, number), by what becomes of them: passed up, kept,
    /// erroneous, lost, ignored.
    marks: [Vec<(f64, f64)>; 5],
}

impl Receiver {
    /// The lowest rate, at which the index is 2, in kb/s.
    const KBPS: u32 = 6_500;

    fn new() -> Self {
        let first = SeqNo12::new(1);
        Self {
            decisions: PseudoRetryOut::new(RateTable::PAPER, first, 64),
            buffer: Recipient::new(first, 64, Duration::from_millis(100)),
            receptions: 0,
            marks: Default::default(),
        }
    }

    /// Handles an MPDU; returns its fate and those of the MPDUs passed up with it.
    fn hear(&mut self, number: u16, is_good: bool) -> String {
        self.receptions += 1;
        let at = f64::from(self.receptions);
        let sequence = SeqNo12::new(number);
        let head = self.buffer.head();
        let decision = if is_good {
            self.decisions.received(sequence, head, Self::KBPS)
        } else {
            self.decisions.errored(sequence, head, Self::KBPS, true)
        };
        let mut up = Vec::new();
        let collect = |msdus: Msdus| up.extend(msdus.packets().iter().map(|packet| packet.tag));
        match decision {
            Decision::Lost(_) => self.buffer.skip(sequence, collect),
            Decision::Ignore => self.buffer.ignore(sequence),
            Decision::CountOnly(_) => {}
            Decision::Deliver | Decision::Buffer | Decision::Old => {
                let packet = Packet::new(u64::from(number), 1_500, Instant::ZERO);
                self.buffer.receive(Instant::ZERO, sequence, Msdus::One(packet), collect);
            }
        }
        let (mark, own) = match decision {
            Decision::Deliver => (0, None),
            Decision::Buffer => (1, Some(format!("{number} keep"))),
            Decision::CountOnly(n) => (2, Some(format!("{number}: {n}"))),
            Decision::Lost(n) => (3, Some(format!("{number}: {n} lost"))),
            Decision::Ignore => (4, Some(format!("{number} ignore"))),
            Decision::Old => (4, Some(format!("{number} old"))),
        };
        if mark > 0 {
            self.marks[mark].push((at, f64::from(number)));
        }
        self.marks[0].extend(up.iter().map(|&tag| (at, tag as f64)));
        let up = up.iter().map(|tag| format!("{tag} up"));
        own.into_iter().chain(up).collect::<Vec<_>>().join(", ")
    }
}

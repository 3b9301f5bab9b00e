//! The paper `jumbo`: payloads above 1 500 bytes on 802.11n. UDP between two nodes of a
//! testbed on a roof, with frames as long as the payload, and with aggregation of
//! fragments. The scenarios are in `scenarios/jumbo/`.
//!
//! The conclusion of the paper asks for a frame size that follows the link: see
//! `ADAPTIVE`.

mod claims;

use crate::reproduce::data::{Point, RunData, Runs, mean, values};
use crate::reproduce::figure::{
    Calibrated, Figure, Findings, Paper, Quantity, Run, ScenarioFile, Statement,
};
use crate::reproduce::kernels::OnKernels;
use crate::scenario_file;
use lasthop_figures::plot::{Axis, Panel, Series};

/// The paper and its figures.
pub const PAPER: Paper = Paper {
    key: "jumbo",
    title: "Implementing and Evaluating Improved MAC Efficiency Through Payload Extension in \
            802.11n Networks",
    source: "E Rocha, D Corujo, R Aguiar",
    setting: "For driver engineers who weigh longer packets. Nodes with a 1 GHz processor and \
              ath9k cards on a roof among other networks; 40 MHz, short guard interval. iperf \
              sends UDP with payloads of up to 4 000 bytes (a page of memory): through extended \
              drivers in one frame (jumbo frames), through unchanged ones in fragments that share \
              an aggregate.",
    confirmed: "Confirmed: with processors of 1 GHz throughput grows from 100 to 173 Mb/s between \
                1500 and 4000 bytes, only jumbo frames do so, and they have less delay than \
                fragments. The saving of packets for a video follows from whole cells in full \
                packets. Not confirmed: more losses at 2000, 2500 and 3500 bytes, which the \
                abstract contradicts; the length of the interferer's bursts decides their sign, \
                and the paper does not state it. An adaptive length gains nothing over 4000 bytes \
                for the paper's video at 12 Mb/s: of 1887 packets 4.2 are lost, not 3.9, and the \
                mean delay is 0.76 ms, not 0.77 (ten seeds). The adaptive length pays at the \
                limit of a fixed rate (`adaptive`).",
    seeds: 10,
    calibrated: &[
        Calibrated {
            key: "node.ap.host_cost.per_packet",
            value: "80us",
            reason: "80 000 cycles at 1 GHz for iperf, socket, IP, mac80211, driver and \
                     interrupts: small boxes of that time send 8 000 to 12 000 packets a second. \
                     Each fragment costs the same.",
        },
        Calibrated {
            key: "node.ap.host_cost.per_byte",
            value: "26ns",
            reason: "Two copies and a checksum in slow memory, and a PCI bus below 100 MB/s.",
        },
        Calibrated {
            key: "node.ap.queue.packets",
            value: "128",
            reason: "More than an aggregate: throughput does not depend on the value.",
        },
        Calibrated {
            key: "link.2.snr",
            value: "35dB",
            reason: "8 m with obstacles; slower rates than MCS 15 would not carry the measured \
                     load.",
        },
        Calibrated {
            key: "node.other.rate_control.mcs",
            value: "3",
            reason: "The other networks are farther away than the nodes from each other.",
        },
        Calibrated {
            key: "flow.bursts.on",
            value: "5ms",
            reason: "Other networks send a page or a few video frames at a time; with the pause, \
                     a fifth of the frames is lost at the receiver.",
        },
        Calibrated {
            key: "flow.bursts.off",
            value: "25ms",
            reason: "Both together decide the number of losses, not their distribution.",
        },
        Calibrated {
            key: "flow.video.rate",
            value: "12Mb/s",
            reason: "High definition of 2012. The saving follows from the payloads: whole MPEG \
                     transport stream cells, 7 in 1 500 bytes and 21 in 4 000.",
        },
    ],
    claims: claims::CLAIMS,
    figures: &[FIG4, FIG5, FIG6, FIG7, ADAPTIVE],
    on_kernels: Some(ON_KERNELS),
};

const ON_KERNELS: OnKernels = OnKernels {
    text: "In virtual machines (`tests/vm/checks/53-jumbo-figure4.sh`), an access point sends \
           UDP to its station as fast as it can over Debian's kernels and simulated radios, and \
           then pings in packets of the same length; without `lasthop_jumbo` a payload of 4000 \
           bytes goes in fragments. The model's figures are means of five seeds \
           (`crates/studies/data/kernels/jumbo.toml`), and a ratio is the model's value over \
           the kernel's. Here the air is the bottleneck, so from 1500 to 4000 bytes the kernel \
           gains 2 to 4 % and the model 2 to 5 %; without any airtime the guest's processor is, \
           and the longer payload raises the 419 and 361 Mb/s of Linux 6.1 and 6.12 to 967 and \
           798. The model's pings are 14 to 47 % shorter: the guest's radios draw a backoff \
           before each frame, also on idle air, and the first of three fragments goes alone \
           (409 A-MPDUs for 200 packets), where the model has one A-MPDU. With 10 % losses at \
           150 Mb/s the model carries up to 6 % more; these radios double their contention \
           window for any lost MPDU, and whether that is all was not tried.",
    scenario: ScenarioFile {
        path: "crates/studies/data/kernels/jumbo.toml",
        text: include_str!("../../../data/kernels/jumbo.toml"),
    },
    table: include_str!("../../../data/kernels/jumbo.csv"),
};

const FIG4_FILE: ScenarioFile = scenario_file!("jumbo/fig4.toml");
const FIG5_FILE: ScenarioFile = scenario_file!("jumbo/fig5.toml");
const FIG7_FILE: ScenarioFile = scenario_file!("jumbo/fig7.toml");
const ADAPTIVE_FILE: ScenarioFile = scenario_file!("jumbo/adaptive.toml");

/// UDP payloads in bytes.
const PAYLOADS: [u16; 6] = [1500, 2000, 2500, 3000, 3500, 4000];
/// Bytes of the headers of IPv4 and UDP.
const HEADERS: u16 = 28;
/// Smallest UDP payload for which jumbo frames are compared with fragments, in bytes.
const CUT_FROM: u16 = 2000;

/// Frames as long as the payload, or fragments of the length of Ethernet.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Frames {
    Jumbo,
    Cut,
}

impl Frames {
    const ALL: [Self; 2] = [Self::Jumbo, Self::Cut];

    const fn name(self) -> &'static str {
        match self {
            Self::Jumbo => "jumbo frames",
            Self::Cut => "fragments in aggregates",
        }
    }

    fn run(self, payload: u16) -> String {
        format!("{} {payload}", self.name())
    }
}

fn by_payload(file: ScenarioFile) -> Vec<Run> {
    let mut runs = Vec::new();
    for frames in Frames::ALL {
        for payload in PAYLOADS {
            let set = format!("flow.down.packet_bytes={}", payload + HEADERS);
            let run = Run::new(frames.run(payload), file).set(set);
            match frames {
                Frames::Jumbo => runs.push(run),
                Frames::Cut if payload < CUT_FROM => {}
                Frames::Cut => runs.push(run.set("node.ap.mtu=1500").set("node.node.mtu=1500")),
            }
        }
    }
    runs
}

/// A value of every run, by payload.
fn curve(runs: &Runs<'_>, frames: Frames, read: impl Fn(&RunData) -> f64) -> Vec<Point> {
    let payloads = PAYLOADS.into_iter().filter(|p| frames == Frames::Jumbo || *p >= CUT_FROM);
    payloads.map(|payload| (payload.into(), read(runs.get(&frames.run(payload))))).collect()
}

/// Whether `more` is above `less` at every payload at which both were measured.
fn is_above(more: &[Point], less: &[Point]) -> bool {
    more.iter().all(|(x, y)| less.iter().any(|(other, low)| other == x && y > low))
}

fn panel(title: &str, y: &str, curves: [Vec<Point>; 2]) -> Panel {
    let x = Axis::new("payload, bytes").range(1250.0, 4250.0);
    let [jumbo, cut] = curves;
    Panel::new(title, x, Axis::new(y))
        .with(Series::dotted_line(Frames::Jumbo.name(), jumbo))
        .with(Series::dotted_line(Frames::Cut.name(), cut))
}

fn at(points: &[Point], payload: f64) -> f64 {
    mean(&values(points, |x| x == payload))
}

const FIG4: Figure = Figure {
    id: "fig4",
    title: "Throughput by payload",
    shows: "The processors are the bottleneck: longer frames share the cost of a packet.",
    runs: || by_payload(FIG4_FILE),
    read: |runs| {
        let goodput = |run: &RunData| run.flow("down").goodput_mbps.unwrap_or(f64::NAN);
        let [jumbo, cut] = Frames::ALL.map(|frames| curve(runs, frames, goodput));
        let all = values(&cut, |_| true);
        let spread = all.iter().fold(0.0, |most: f64, value| most.max(*value))
            / all.iter().fold(f64::INFINITY, |least: f64, value| least.min(*value));
        let growth = at(&jumbo, 4000.0) / at(&jumbo, 2000.0);
        Findings {
            quantities: vec![
                Quantity::value(
                    "throughput at 1500 bytes",
                    "Mb/s",
                    Statement::Value(100.0),
                    at(&jumbo, 1500.0),
                    (90.0, 110.0),
                ),
                Quantity::value(
                    "throughput at 4000 bytes",
                    "Mb/s",
                    Statement::Text("more than 170"),
                    at(&jumbo, 4000.0),
                    (170.0, f64::INFINITY),
                ),
                Quantity::shown(
                    "without jumbo frames it is flat: from 2000 to 4000 bytes it varies by less \
                     than it grows with them",
                    "no gain from the payload, with fluctuations",
                    spread < growth,
                ),
            ],
            panels: vec![
                panel("", "throughput, Mb/s", [jumbo, cut])
                    .target_at(0, (1400.0, 1600.0), (90.0, 110.0), "band around the paper's value")
                    .target_at(0, (3900.0, 4100.0), (170.0, 200.0), "at least the paper's value"),
            ],
        }
    },
};

const FIG5: Figure = Figure {
    id: "fig5",
    title: "Delay by payload",
    shows: "The load is not stated; 20 Mb/s leave hardly a queue.",
    runs: || by_payload(FIG5_FILE),
    read: |runs| {
        let of = |read: fn(&lasthop_trace::TimeSummary) -> f64| {
            Frames::ALL.map(|frames| {
                curve(runs, frames, |run| {
                    run.flow("down").one_way_delay_ms.as_ref().map_or(f64::NAN, read)
                })
            })
        };
        let (means, medians) = (of(|delay| delay.mean), of(|delay| delay.p50));
        let rises = |points: &[Point]| at(points, 4000.0) > 1.1 * at(points, 2000.0);
        Findings {
            quantities: vec![
                Quantity::shown(
                    "from 2000 to 4000 bytes the delay rises by a tenth and more, with jumbo \
                     frames and without",
                    "a clear increase with the payload",
                    means.iter().chain(&medians).all(|points| rises(points)),
                ),
                Quantity::shown(
                    "without jumbo frames the delay is longer at every payload",
                    "jumbo frames have less delay than fragments",
                    is_above(&means[1], &means[0]) && is_above(&medians[1], &medians[0]),
                )
                .because(
                    "Chance: in ten other seeds fragments take 0.08 to 0.31 ms more at every \
                     payload, of 0.7 to 0.9 ms in the mean. One of these ten is enough to fail.",
                ),
            ],
            panels: vec![panel("mean", "delay, ms", means), panel("median", "delay, ms", medians)],
        }
    },
};

const FIG6: Figure = Figure {
    id: "fig6",
    title: "Losses by payload",
    shows: "A packet is lost with any of its fragments.",
    runs: || {
        let mut runs = by_payload(FIG4_FILE);
        runs.extend(PAYLOADS.map(|payload| {
            // A burst of one microsecond sends almost nothing.
            let run = Run::new(quiet(payload), FIG4_FILE).set("flow.bursts.off=1s");
            run.set("flow.bursts.on=1us")
                .set(format!("flow.down.packet_bytes={}", payload + HEADERS))
        }));
        runs
    },
    read: |runs| {
        let percent = |run: &RunData| {
            let flow = run.flow("down");
            let ended = flow.packets_lost + flow.packets_received;
            100.0 * flow.packets_lost as f64 / ended as f64
        };
        let [jumbo, cut] = Frames::ALL.map(|frames| curve(runs, frames, percent));
        let quiet = PAYLOADS.map(|p| (f64::from(p), percent(runs.get(&quiet(p))))).to_vec();
        let mut quantities = vec![
            Quantity::shown(
                "without jumbo frames more packets are lost at every payload",
                "fragments in aggregates can lose significantly more",
                is_above(&cut, &jumbo),
            ),
            Quantity::shown(
                "jumbo frames on a link without interference lose less at every payload",
                "mitigated for good link conditions",
                is_above(&jumbo, &quiet),
            ),
        ];
        for payload in MORE_LOST {
            quantities.push(
                Quantity::value(
                    format!("jumbo frames: losses at {payload} bytes, of those at 1500"),
                    "",
                    Statement::Text("some increase"),
                    at(&jumbo, payload) / at(&jumbo, 1500.0),
                    (1.0, f64::INFINITY),
                )
                .because(
                    "A loss needs all attempts in one burst of the interferer, whose length \
                     decides: with bursts of 50 ms and pauses of 250 ms, the same share of time, \
                     the three lose 1.15, 1.11 and 1.17 times as much; with 1 and 5 ms 0.47, 0.41 \
                     and 0.34. The paper's interferer is unknown.",
                ),
            );
        }
        let panel = panel("", "packets lost, %", [jumbo, cut]);
        Findings {
            quantities,
            panels: vec![panel.with(Series::dotted_line("jumbo frames, no interference", quiet))],
        }
    },
};

/// Payloads at which the jumbo frames of the paper lost more, in bytes.
const MORE_LOST: [f64; 3] = [2000.0, 2500.0, 3500.0];

fn quiet(payload: u16) -> String {
    format!("no interference {payload}")
}

/// Bytes of a packet of an MPEG transport stream.
const CELL_BYTES: u16 = 188;

const FIG7: Figure = Figure {
    id: "fig7",
    title: "Packets for a video of five seconds",
    shows: "Whole cells of 188 bytes per packet: 7 in 1500 bytes, 21 in 4000.",
    runs: || {
        let run = |payload: u16| {
            let bytes = payload / CELL_BYTES * CELL_BYTES + HEADERS;
            // Ethernet carries 1500 bytes including headers.
            let bytes = if payload == 1500 { 7 * CELL_BYTES + HEADERS } else { bytes };
            let set = format!("flow.video.packet_bytes={bytes}");
            Run::new(payload.to_string(), FIG7_FILE).set(set)
        };
        PAYLOADS.into_iter().map(run).collect()
    },
    read: |runs| {
        let packets = |run: &RunData| run.flow("video").packets_sent as f64;
        let points = PAYLOADS.map(|p| (f64::from(p), packets(runs.get(&p.to_string()))));
        let saved = 100.0 * (1.0 - at(&points, 4000.0) / at(&points, 1500.0));
        let x = Axis::new("payload, bytes").range(1250.0, 4250.0);
        Findings {
            quantities: vec![Quantity::value(
                "fewer packets at 4000 bytes than at 1500",
                "%",
                Statement::Text("more than 66"),
                saved,
                (66.0, f64::INFINITY),
            )
            .because(
                "Cells alone save 66.7 %. With pictures that end their packets it is 65.3 % at 12 \
                 Mb/s and 66.0 % at 48.",
            )],
            panels: vec![
                Panel::new("", x, Axis::new("packets"))
                    .with(Series::bars("packets sent", points.to_vec())),
            ],
        }
    },
};

/// Packet lengths in bytes that do not follow the link.
const FIXED_BYTES: [u16; 5] = [500, 1000, 1500, 4000, 7900];
/// SNR of links on which rate control chooses, in dB.
const LINKS_DB: [f64; 14] =
    [3.0, 5.0, 7.0, 9.0, 11.0, 13.0, 15.0, 17.0, 19.0, 21.0, 23.0, 25.0, 27.0, 29.0];
/// SNR of links around the least that the fixed rate needs, in dB.
const FIXED_LINKS_DB: [f64; 9] = [22.5, 23.0, 23.25, 23.5, 23.75, 24.0, 24.5, 25.0, 26.0];

/// The kind of sender in [`ADAPTIVE`].
#[derive(Clone, Copy)]
enum Sender {
    /// Minstrel-HT with aggregates.
    Aggregates,
    /// Minstrel-HT with aggregates, and the processors of the testbed at both ends.
    Testbed,
    /// MCS 7 without aggregates.
    Single,
}

impl Sender {
    const ALL: [Self; 3] = [Self::Aggregates, Self::Testbed, Self::Single];

    const fn title(self) -> &'static str {
        match self {
            Self::Aggregates => "rate control and aggregates",
            Self::Testbed => "the same with processors of 1 GHz",
            Self::Single => "MCS 7, single frames",
        }
    }

    const fn links_db(self) -> &'static [f64] {
        match self {
            Self::Aggregates | Self::Testbed => &LINKS_DB,
            Self::Single => &FIXED_LINKS_DB,
        }
    }

    fn run(self, bytes: Option<u16>, snr_db: f64) -> Run {
        let mut run =
            Run::new(self.name(bytes, snr_db), ADAPTIVE_FILE).set(format!("link.0.snr={snr_db}dB"));
        match self {
            Self::Aggregates => {}
            Self::Testbed => {
                for node in ["sender", "receiver"] {
                    let cost = "{ per_packet = \"80us\", per_byte = \"26ns\" }";
                    run = run.set(format!("node.{node}.host_cost={cost}"));
                }
            }
            Self::Single => {
                run = run
                    .set("node.sender.rate_control={ kind = \"fixed\", mcs = 7 }")
                    .set("node.sender.aggregation={ ampdu_bytes_max = 0 }");
            }
        }
        if let Some(bytes) = bytes {
            run = run
                .set(format!("node.sender.mtu={bytes}"))
                .set(format!("flow.data.packet_bytes={bytes}"));
        }
        run
    }

    fn name(self, bytes: Option<u16>, snr_db: f64) -> String {
        format!("{} {bytes:?} {snr_db}", self.title())
    }

    fn curve(self, runs: &Runs<'_>, bytes: Option<u16>) -> Vec<Point> {
        let goodput = |snr_db: f64| {
            let run = runs.get(&self.name(bytes, snr_db));
            (snr_db, run.flow("data").goodput_mbps.unwrap_or(0.0))
        };
        self.links_db().iter().map(|snr_db| goodput(*snr_db)).collect()
    }
}

const ADAPTIVE: Figure = Figure {
    id: "adaptive",
    title: "A packet length that follows the link",
    shows: "The sender chooses the length by the fate of earlier frames.",
    runs: || {
        let mut runs = Vec::new();
        for sender in Sender::ALL {
            for &snr_db in sender.links_db() {
                let lengths = FIXED_BYTES.into_iter().map(Some).chain([None]);
                runs.extend(lengths.map(|bytes| sender.run(bytes, snr_db)));
            }
        }
        runs
    },
    read: |runs| {
        let mut findings = Findings::default();
        for sender in Sender::ALL {
            let adaptive = sender.curve(runs, None);
            let fixed = FIXED_BYTES.map(|bytes| sender.curve(runs, Some(bytes)));
            let total = |points: &[Point]| mean(&values(points, |_| true));
            let best = fixed.iter().map(|points| total(points)).fold(0.0, f64::max);
            findings.quantities.push(Quantity::value(
                format!("{}: mean over all links, against the best fixed length", sender.title()),
                "",
                Statement::Text("beats every fixed length"),
                total(&adaptive) / best,
                (1.0, f64::INFINITY),
            ));
            let x = Axis::new("signal-to-noise ratio, dB")
                .range(sender.links_db()[0], sender.links_db()[sender.links_db().len() - 1]);
            let mut panel = Panel::new(sender.title(), x, Axis::new("throughput, Mb/s"))
                .with(Series::dotted_line("adaptive", adaptive));
            for (bytes, points) in FIXED_BYTES.into_iter().zip(fixed) {
                panel = panel.with(Series::line(format!("{bytes} bytes"), points));
            }
            findings.panels.push(panel);
        }
        findings
    },
};

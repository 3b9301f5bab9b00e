//! The paper `scan`: what scanning for other access points does to TCP. A laptop in a 5
//! GHz cell of 40 MHz sends to a server or receives from it for 300 s. Every 120 s it
//! scans; that is the *degraded period*. The rest, without the first seconds, is the
//! *normal period*. The scenarios are in `scenarios/scan/`, one for each direction and
//! sender.
//!
//! As in the paper, degraded periods, absences (Figs. 4 and 5), A-MPDUs (Figs. 8 and 10)
//! and the throughput of Figs. 3, 7 and 9 are found in captures of the air, by the analysis
//! of `lasthop capture`; the congestion window is the sender's own.

mod absence;
mod claims;
mod growth;

use crate::reproduce::data::{Point, RunData, Runs, greatest, least, mean, quantile, values};
use crate::reproduce::figure::{
    Calibrated, Figure, Findings, Paper, Quantity, Run, ScenarioFile, Statement, about, stated,
};
use crate::reproduce::heard::time_s;
use crate::scenario_file;
use lasthop_capture::air::schedule::Period;
use lasthop_capture::transport::FlowSecond;
use lasthop_figures::plot::{Axis, Panel, Series, Span};

/// The paper and its figures.
pub const PAPER: Paper = Paper {
    key: "scan",
    title: "Experimental Analysis on How Access Point Scanning Impacts on TCP Throughput over \
            IEEE 802.11n Wireless LAN",
    source: "K Kobayashi, Y Hashimoto, M Nomoto, R Yamamoto, S Ohzahata, T Kato (ICWMC 2016)",
    setting: "Confirmed are uploads: small queues keep the window near 200 packets and lose nothing, \
              without them the window collapses, and both fall in every scan. Confirmed is also that \
              downloads fall in every scan while their window stays, and the shape of its growth. Not \
              confirmed is how deep they fall: ours lose what the laptop's absences take, the paper's \
              far more, and also for some time after the scan. ath9k's own rate control, \
              unannounced absences and a small buffer for a sleeping station do not change that. Nor \
              do uploads without small queues fall to a tenth, because the rest of their window \
              fills the link within milliseconds.\n\n\
              For engineers who see TCP stall every few minutes. A laptop beside an access point \
              (802.11n, 5 GHz, 40 MHz, up to 300 Mb/s) exchanges bulk TCP with a server behind \
              Gigabit Ethernet for 300 s; NetworkManager scans every two minutes. Ubuntu 14.04 \
              has TCP small queues, 12.04 has none.",
    confirmed: "",
    seeds: 5,
    calibrated: CALIBRATED,
    claims: claims::CLAIMS,
    figures: &[FIG3, absence::FIG4, absence::FIG5, FIG6, FIG7, FIG8, FIG9, FIG10],
    on_kernels: None,
};

const CALIBRATED: &[Calibrated] = &[
    Calibrated {
        key: "channel.fading.k",
        value: "10dB",
        reason: "With a fixed MCS 15 and no errors an upload has 195 Mb/s, not the paper's 174. \
                 Rate control probes rates, and some frames fail.",
    },
    Calibrated {
        key: "node_defaults.aggregation.ampdu_frames_max",
        value: "32",
        reason: "ath9k's own limit.",
    },
    Calibrated {
        key: "node_defaults.aggregation.ampdu_duration_max",
        value: "4ms",
        reason: "ath9k's own limit.",
    },
    Calibrated {
        key: "node_defaults.aggregation.built_ahead",
        value: "true",
        reason: "ath9k hands its hardware two A-MPDUs.",
    },
    Calibrated {
        key: "node.sta1.queue.packets",
        value: "1000",
        reason: "Linux' txqueuelen; windows in the paper reach 970 packets.",
    },
    Calibrated {
        key: "node.sta1.driver_queue.packets",
        value: "123",
        reason: "ath9k's ATH_MAX_QDEPTH.",
    },
    Calibrated {
        key: "node.ap.queue.packets",
        value: "500",
        reason: "Windows of the downloads end at 500 packets.",
    },
    Calibrated {
        key: "node.ap.power_save_buffer",
        value: "off",
        reason: "The window of the downloads stays in an absence: nothing is lost.",
    },
    Calibrated {
        key: "node.ap.edca.best_effort.cw_max",
        value: "63",
        reason: "hostapd's own (tx_queue_data2).",
    },
    Calibrated {
        key: "node.sta1.scan.away",
        value: "110ms",
        reason: "Measured in the paper; mac80211 listens for 111 ms.",
    },
    Calibrated {
        key: "node.sta1.scan.back",
        value: "320ms",
        reason: "Measured in the paper between two absences; mac80211 has 200 ms.",
    },
    Calibrated {
        key: "node.sta1.scan.null_attempts",
        value: "9",
        reason: "Atheros cards make eight retries, like the trace in the paper.",
    },
    Calibrated {
        key: "node.sta1.scan.null_loss",
        value: "0.89",
        reason: "In that trace, the only one, eight of nine Nulls had no answer: a third of the \
                 absences is not announced.",
    },
    Calibrated {
        key: "node.sta1.scan.return_null_loss",
        value: "0.67",
        reason: "In that trace four of the six last Nulls had no answer.",
    },
    Calibrated {
        key: "node.sta1.scan.flush",
        value: "200ms",
        reason: "ath9k_flush of Linux 3.2 and 3.13: until neither hardware nor driver has frames, \
                 at most 200 ms.",
    },
    Calibrated {
        key: "node_defaults.retry_limit",
        value: "255",
        reason: "ath9k repeats an MPDU 30 times, older kernels ten times, each time along the whole \
                 chain of rates; 255 is the most that the key allows.",
    },
    Calibrated {
        key: "node.sta1.rate_control",
        value: "ath9k",
        reason: "Without small queues (Fig. 6): the default of Linux 3.2 for ath9k. Linux 3.13 and \
                 OpenWrt use Minstrel-HT, like all others here; the paper does not name the access \
                 point's.",
    },
    Calibrated {
        key: "node.sta1.scan.leftover",
        value: "drop-driver",
        reason: "A change of the channel drops what ath9k still has.",
    },
    Calibrated {
        key: "flow.upload.tcp.small_queues_overhead",
        value: "2852B",
        reason: "Linux 3.13 counts 4352 bytes for a segment of 1448 without scatter-gather.",
    },
    Calibrated {
        key: "node.sta1.scan.return_drain",
        value: "640",
        reason: "Linux 3.2 loses the packets that its queue passes too early on return; the most \
                 that an interrupt can pass.",
    },
    Calibrated {
        key: "flow.upload.tcp.local_drop",
        value: "refused",
        reason: "A full queue refuses the packet, and TCP learns of it.",
    },
];

/// Upload with small queues.
const UPLOAD: ScenarioFile = scenario_file!("scan/fig3.toml");
/// Upload without small queues.
const UPLOAD_FREELY: ScenarioFile = scenario_file!("scan/fig6.toml");
/// Download from a CUBIC sender.
const DOWNLOAD_CUBIC: ScenarioFile = scenario_file!("scan/fig7.toml");
/// Download from a NewReno sender.
const DOWNLOAD_RENO: ScenarioFile = scenario_file!("scan/fig9.toml");

/// Name of the laptop in all scenarios.
const LAPTOP: &str = "sta1";
/// Name of the link of the download.
const DOWN: &str = "ap->sta1";
/// Name of the only run of a figure.
const RUN: &str = "run";
/// Name of the upload with small queues, where there are others.
const UPLOADED: &str = "upload with small queues";
/// Name of the upload without small queues.
const UPLOADED_FREELY: &str = "upload without small queues";
/// Name of the run with NewReno instead of CUBIC.
const RENO: &str = "NewReno";
/// Name of the download from a server that has small queues, too.
const SMALL_QUEUES: &str = "small queues at the server";
/// Cause of failures of Figure 6's lowest second.
const COLLAPSE: &str = "The window collapses as in the paper, but with round trips of milliseconds a \
                        small window fills the link. With seven attempts instead of 255 it is 31 \
                        %, with Minstrel-HT 40 %, with both 28 %. No reading of the paper makes it \
                        10 %.";
/// Cause of failures of Figure 6's throughput.
const CLEAN: &str = "The laptop has the rate control of its kernel, and hardly a frame fails at MCS \
                     15. With Minstrel-HT it has 183 Mb/s, 41.9 more than with small queues.";
/// Cause of failures of Figures 7 and 9's lowest second.
const SHARP: &str = "Absences pause both directions alike. With ath9k's own rate control at both \
                     ends 1.03, with no absence announced 0.94, with both 1.00, with mac80211's \
                     buffer of 64 packets for a sleeping station 0.97, with seven attempts instead \
                     of 255 1.11. No reading of the paper makes it 0.8.";
/// Cause of failures of the aggregates of Figures 8 and 10.
const FULL: &str = "Hundreds of packets wait, so A-MPDUs are full. In runs of Figure 8 with ath9k's own \
                    rate control, absences that were not announced, seven, 44 and 255 attempts, and \
                    a buffer of 64 packets for a sleeping station, alone and combined, the lowest \
                    were 78 % of the A-MPDUs, 88 % of their MPDUs, and 97 % of these after. No \
                    reading of the paper makes them half.";
/// Cause where quantities after a degraded period fail.
const AT_ONCE: &str = "The access point's queue fills within milliseconds of the last return. In the \
                       runs named for the lowest second throughput after is 98 % or more. No \
                       reading of the paper makes it lower.";
/// Time allowed for a connection to start, in seconds.
const BEGIN_S: f64 = 5.0;
/// Time that counts as just after a degraded period, in seconds.
const AFTER_S: f64 = 10.0;
/// Largest rest that counts as "decrease largely", in percent of the value before.
const LARGELY: f64 = 50.0;
/// The words of the paper for that.
const LESS: &str = "decrease largely";
/// Largest value that counts as "low", in percent of the usual one.
const LOW: f64 = 90.0;
/// An open end of a band.
const OPEN: f64 = f64::INFINITY;

const FIG3: Figure = Figure {
    id: "fig3",
    title: "Upload with TCP small queues",
    shows: "An absence pauses the sender and loses nothing.",
    runs: || {
        let reno = Run::new(RENO, UPLOAD).set("flow.upload.congestion_control=reno");
        vec![Run::new(RUN, UPLOAD).capturing_air(), reno.capturing_absences()]
    },
    read: |runs: &Runs<'_>| {
        let run = ScanTransfer::heard(runs.get(RUN), "upload");
        let [cubic, reno] =
            [RUN, RENO].map(|name| ScanTransfer::new(runs.get(name), "upload").normal_mbps());
        let (window, window_then) = (run.normal(&run.cwnd), run.degraded(&run.cwnd));
        let again = run.retransmitted();
        let stays = (mean(&window_then) / mean(&window) - 1.0).abs() < 0.1;
        Findings {
            quantities: vec![
                Quantity::value(
                    "throughput in a normal period",
                    "Mb/s",
                    Statement::Value(136.0),
                    run.normal_mbps(),
                    stated(136.0),
                ),
                Quantity::value(
                    "congestion window in a normal period",
                    "packets",
                    Statement::Value(200.0),
                    mean(&window),
                    about(200.0),
                ),
                Quantity::value(
                    "lowest second when degraded, of normal",
                    "%",
                    Statement::Value(57.0),
                    run.lowest(),
                    stated(57.0),
                )
                .because(
                    "No segment is lost in absences that were not announced. With seven attempts \
                     instead of 255 it is 60.7 %.",
                ),
                Quantity::value(
                    "segments retransmitted when degraded",
                    "",
                    Statement::Value(0.0),
                    again,
                    (0.0, 0.0),
                ),
                Quantity::shown("congestion window when degraded", "does not decrease", stays),
                Quantity::value(
                    "throughput in a normal period with NewReno, of that with CUBIC",
                    "",
                    Statement::Text("hardly another"),
                    reno / cubic,
                    stated(1.0),
                ),
            ],
            panels: vec![run.panel().target(0, stated(136.0), "band, normal period").target(
                1,
                about(200.0),
                "band",
            )],
        }
    },
};

const FIG6: Figure = Figure {
    id: "fig6",
    title: "Upload without TCP small queues",
    shows: "The driver's packets are lost at the start of an absence.",
    runs: || {
        let freely = Run::new(RUN, UPLOAD_FREELY).capturing_absences();
        vec![freely, Run::new(UPLOADED, UPLOAD).capturing_air()]
    },
    read: |runs: &Runs<'_>| {
        let run = ScanTransfer::new(runs.get(RUN), "upload");
        let small = ScanTransfer::new(runs.get(UPLOADED), "upload");
        Findings {
            quantities: vec![
                Quantity::value(
                    "throughput in a normal period",
                    "Mb/s",
                    Statement::Value(174.0),
                    run.normal_mbps(),
                    stated(174.0),
                )
                .because(CLEAN),
                Quantity::value(
                    "throughput in a normal period, above that with small queues",
                    "Mb/s",
                    Statement::Value(38.0),
                    run.normal_mbps() - small.normal_mbps(),
                    stated(38.0),
                )
                .because(CLEAN),
                Quantity::value(
                    "greatest congestion window",
                    "packets",
                    Statement::Value(970.0),
                    greatest(&run.normal(&run.cwnd)),
                    stated(970.0),
                )
                .because(
                    "Our window fills the queue of 1000 packets and the driver's 123. With a queue of \
                     850 packets it is 976; the text names no queue.",
                ),
                Quantity::value(
                    "lowest second when degraded, of normal",
                    "%",
                    Statement::Value(10.0),
                    run.lowest(),
                    about(10.0),
                )
                .because(COLLAPSE),
                Quantity::shown(
                    "congestion window in every degraded period, by more than half",
                    "decreases largely",
                    greatest(&run.least_windows()) < LARGELY,
                ),
            ],
            panels: vec![run.panel().target(0, stated(174.0), "band, normal period").target(
                1,
                stated(970.0),
                "band, greatest",
            )],
        }
    },
};

const FIG7: Figure = Figure {
    id: "fig7",
    title: "Download, CUBIC",
    shows: "The access point's queue overflows again and again.",
    runs: || {
        let mut runs = with_uploads(DOWNLOAD_CUBIC);
        let small = Run::new(SMALL_QUEUES, DOWNLOAD_CUBIC);
        runs.push(small.set("flow.download.tcp.small_queues=128KiB").capturing_absences());
        runs
    },
    read: |runs: &Runs<'_>| {
        let mut findings = download(runs, (350.0, 500.0).into(), growth::Shape::Cubic);
        let [small, usual] = [SMALL_QUEUES, RUN]
            .map(|name| ScanTransfer::new(runs.get(name), "download").normal_mbps());
        findings.quantities.push(Quantity::value(
            "throughput in a normal period with small queues, of that without",
            "",
            Statement::Text("not another"),
            small / usual,
            stated(1.0),
        ));
        findings
    },
};

const FIG8: Figure = Figure {
    id: "fig8",
    title: "Aggregates of the download, CUBIC",
    shows: "Aggregates are counted in a capture of the air; the paper counted them in the driver.",
    runs: || vec![Run::new(RUN, DOWNLOAD_CUBIC).capturing_air()],
    read: aggregates,
};

const FIG9: Figure = Figure {
    id: "fig9",
    title: "Download, NewReno",
    shows: "The teeth of the window are straight.",
    runs: || with_uploads(DOWNLOAD_RENO),
    read: |runs: &Runs<'_>| download(runs, (300.0, 500.0).into(), growth::Shape::Straight),
};

const FIG10: Figure = Figure {
    id: "fig10",
    title: "Aggregates of the download, NewReno",
    shows: "The method is that of Figure 8.",
    runs: || vec![Run::new(RUN, DOWNLOAD_RENO).capturing_air()],
    read: aggregates,
};

/// A download, and the uploads with which the paper compares it.
fn with_uploads(download: ScenarioFile) -> Vec<Run> {
    vec![
        Run::new(RUN, download).capturing_air(),
        Run::new(UPLOADED, UPLOAD).capturing_air(),
        Run::new(UPLOADED_FREELY, UPLOAD_FREELY).capturing_absences(),
    ]
}

/// Figures 7 and 9.
fn download(runs: &Runs<'_>, window: Span, shape: growth::Shape) -> Findings {
    let run = ScanTransfer::heard(runs.get(RUN), "download");
    let small = ScanTransfer::heard(runs.get(UPLOADED), "upload");
    let freely = ScanTransfer::new(runs.get(UPLOADED_FREELY), "upload");
    let ours = run.normal(&run.cwnd);
    let teeth = growth::teeth(&run.cwnd, |time| run.is_normal(time));
    let minutes = run.normal(&run.throughput).len() as f64 / 60.0;
    let long_normal = mean(&values(&run.throughput, |time| run.is_long_normal(time)));
    let after = mean(&values(&run.throughput, |time| run.is_after(time)));
    let stays = least(&run.least_windows());
    Findings {
        quantities: vec![
            Quantity::value(
                "from one exchange of Nulls to that of the next degraded period",
                "s",
                Statement::Value(120.0),
                absence::period_s(run.data),
                stated(120.0),
            ),
            Quantity::range(
                "congestion window, 5 % to 95 % of normal time",
                "packets",
                window,
                (quantile(&ours, 0.05), quantile(&ours, 0.95)),
            ),
            Quantity::value(
                "drops of the congestion window",
                "a minute",
                Statement::Text("frequent"),
                teeth.len() as f64 / minutes,
                (1.0, OPEN),
            ),
            Quantity::shown(shape.question(), shape.answer(), shape.is_seen(&teeth)),
            Quantity::value(
                "lowest second when degraded, of that of the upload with small queues",
                "",
                Statement::Text("drops sharply, in contrast"),
                run.lowest() / small.lowest(),
                (0.0, 0.8),
            )
            .because(SHARP),
            Quantity::value(
                "least congestion window when degraded, of that before",
                "%",
                Statement::Text("does not decrease largely"),
                stays,
                (LARGELY, OPEN),
            ),
            Quantity::shown(
                "less of the window goes than in the upload without small queues",
                "in contrast to the upload",
                stays > greatest(&freely.least_windows()),
            ),
            Quantity::value(
                "throughput in the 10 s after, of normal",
                "%",
                Statement::Text("rather low"),
                100.0 * after / long_normal,
                (0.0, LOW),
            )
            .because(AT_ONCE),
        ],
        panels: vec![run.panel().target(1, window, "the paper's range")],
    }
}

/// Figures 8 and 10.
fn aggregates(runs: &Runs<'_>) -> Findings {
    let run = ScanTransfer::heard(runs.get(RUN), "download");
    let seconds = &run.data.heard_link(DOWN).seconds;
    let ampdus = run.data.each_second(seconds, |second| f64::from(second.ampdus));
    let sizes = run.data.each_second(seconds, |second| match second.ampdus {
        0 => 0.0,
        ampdus => f64::from(second.ampdu_mpdus) / f64::from(ampdus),
    });
    let of_normal = |points: &[Point], part: &dyn Fn(f64) -> bool| {
        100.0 * mean(&values(points, part)) / mean(&values(points, |time| run.is_long_normal(time)))
    };
    let value = |name: &str, points: &[Point], part: &dyn Fn(f64) -> bool, paper, most| {
        Quantity::value(name, "%", Statement::Text(paper), of_normal(points, part), (0.0, most))
    };
    let degraded = |time: f64| run.is_degraded(time);
    let after = |time: f64| run.is_after(time);
    Findings {
        quantities: vec![
            value("A-MPDUs a second when degraded, of normal", &ampdus, &degraded, LESS, LARGELY)
                .because(FULL),
            value("MPDUs an A-MPDU when degraded, of normal", &sizes, &degraded, LESS, LARGELY)
                .because(FULL),
            value("MPDUs an A-MPDU in the 10 s after, of normal", &sizes, &after, "low", LOW)
                .because(FULL),
        ],
        panels: vec![
            run.shaded(
                Panel::new("", run.x_axis(), Axis::new("A-MPDUs a second"))
                    .right(Axis::new("MPDUs an A-MPDU"))
                    .with(Series::line("A-MPDUs", ampdus))
                    .with(Series::line("MPDUs an A-MPDU", sizes).on_right()),
            ),
        ],
    }
}

/// A bulk transfer with its normal and degraded periods. All times are in seconds.
struct ScanTransfer<'a> {
    data: &'a RunData,
    /// Degraded periods, each from and to: from the first absence to the end of the last.
    spans: Vec<(f64, f64)>,
    /// Mean throughput of each second, in Mb/s: as the flow's end has it, or as heard.
    throughput: Vec<Point>,
    cwnd: Vec<Point>,
}

impl<'a> ScanTransfer<'a> {
    /// A transfer with the throughput that arrives.
    fn new(data: &'a RunData, flow: &str) -> Self {
        let span = |(period, _): &(Period, _)| (time_s(period.from_ns), time_s(period.to_ns));
        Self {
            data,
            spans: absence::periods(data).iter().map(span).collect(),
            throughput: per_second(&data.throughput_mbps(flow)),
            cwnd: data.cwnd_packets(flow),
        }
    }

    /// A transfer with the throughput that the capture has.
    fn heard(data: &'a RunData, flow: &str) -> Self {
        let mbps = |second: &FlowSecond| second.payload_bytes as f64 * 8e-6;
        let throughput = data.each_second(&data.bulk().seconds, mbps);
        Self { throughput, ..Self::new(data, flow) }
    }

    /// Number of segments that are sent again in seconds of degraded periods, as the capture
    /// has it.
    fn retransmitted(&self) -> f64 {
        let seconds = &self.data.bulk().seconds;
        let again = self.data.each_second(seconds, |second| f64::from(second.retransmissions));
        let touches =
            |at: f64| self.spans.iter().any(|&(from, to)| at + 0.5 > from && at - 0.5 < to);
        values(&again, touches).iter().sum()
    }

    fn is_degraded(&self, time: f64) -> bool {
        self.spans.iter().any(|&(from, to)| (from..to).contains(&time))
    }

    fn is_normal(&self, time: f64) -> bool {
        time > BEGIN_S && !self.is_degraded(time)
    }

    fn is_after(&self, time: f64) -> bool {
        self.spans.iter().any(|&(_, to)| (to..to + AFTER_S).contains(&time))
    }

    /// Whether `time` is normal, and not just after a degraded period.
    fn is_long_normal(&self, time: f64) -> bool {
        self.is_normal(time) && !self.is_after(time)
    }

    fn normal(&self, points: &[Point]) -> Vec<f64> {
        values(points, |time| self.is_normal(time))
    }

    fn degraded(&self, points: &[Point]) -> Vec<f64> {
        values(points, |time| self.is_degraded(time))
    }

    /// Mean throughput in normal periods, in Mb/s.
    fn normal_mbps(&self) -> f64 {
        mean(&self.normal(&self.throughput))
    }

    /// The lowest throughput of any second in degraded periods, in percent of the
    /// normal one.
    fn lowest(&self) -> f64 {
        100.0 * least(&self.degraded(&self.throughput)) / self.normal_mbps()
    }

    /// The least congestion window of each degraded period, in percent of the mean in
    /// the ten seconds before.
    fn least_windows(&self) -> Vec<f64> {
        let of_span = |&(from, to): &(f64, f64)| {
            let within = |from: f64, to: f64| values(&self.cwnd, |at| (from..to).contains(&at));
            100.0 * least(&within(from, to)) / mean(&within(from - AFTER_S, from))
        };
        self.spans.iter().map(of_span).collect()
    }

    fn x_axis(&self) -> Axis {
        Axis::new("time, s").range(0.0, self.data.document.duration_s)
    }

    /// Throughput and congestion window over time, as in the paper.
    fn panel(&self) -> Panel {
        self.shaded(
            Panel::new("", self.x_axis(), Axis::new("throughput, Mb/s"))
                .right(Axis::new("congestion window, packets"))
                .with(Series::line("throughput", self.throughput.clone()))
                .with(Series::line("congestion window", self.cwnd.clone()).on_right()),
        )
    }

    fn shaded(&self, panel: Panel) -> Panel {
        self.spans.iter().fold(panel, |panel, &(from, to)| panel.shade(from, to, "degraded period"))
    }
}

/// The mean of each second.
fn per_second(points: &[Point]) -> Vec<Point> {
    let chunks = points.chunk_by(|one, other| one.0.floor() == other.0.floor());
    let second = |chunk: &[Point]| {
        let ys: Vec<f64> = chunk.iter().map(|&(_, y)| y).collect();
        Some((chunk.first()?.0.floor() + 0.5, mean(&ys)))
    };
    chunks.filter_map(second).collect()
}

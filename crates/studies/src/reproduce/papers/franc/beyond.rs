//! Beyond the paper `franc`: shorter queues, sparse traffic, redundancy that follows
//! the loss, several hops, two helpers, and a helper with an outage. Losses are in
//! percent. The bands are ours, because the paper states none of these quantities.

use super::tcp::LOADS;
use super::{Losses, goodput, node, ratios, ys};
use crate::reproduce::data::{Point, RunData, Runs, greatest, least, mean, seconds, values};
use crate::reproduce::figure::{
    Figure, Findings, LEFT_OPEN, Quantity, Run, ScenarioFile, Statement,
};
use crate::scenario_file;
use lasthop_figures::plot::{Axis, Panel, Series};
use lasthop_units::{Duration, Instant};

/// The scenario of one hop, without a helper unless a run adds one.
const BARE: ScenarioFile = scenario_file!("franc/beyond.toml");
const QUEUED: ScenarioFile = scenario_file!("franc/backlog.toml");
const HOPS_FILE: ScenarioFile = scenario_file!("franc/hops.toml");

fn open() -> Statement {
    LEFT_OPEN
}

/// Ways to queue packets: the paper's, its encoder with a managed backlog, and ours.
const QUEUES: [(&str, &[&str]); 3] = [
    ("the paper's buffer", &[]),
    ("the same with CoDel and flow queueing", &["franc.link.backlog_target=5ms"]),
    ("several blocks in flight, systematic", &["franc.link.mode=stream"]),
];

/// Loss e3 in percent.
const LOSS: f64 = 10.0;

fn queue_run(queue: &str, load: f64) -> String {
    format!("{queue} {load}")
}

pub const BACKLOG: Figure = Figure {
    id: "backlog",
    title: "A backlog that is kept short",
    shows: "Round trips of a ping (16 ms without load) beside TCP at 10 % loss, with managed \
            backlogs and overlapping blocks.",
    runs: || {
        let mut runs = Vec::new();
        for (queue, sets) in QUEUES {
            runs.extend(LOADS.map(|load| {
                let run = Run::new(queue_run(queue, load), QUEUED)
                    .set(format!("flow.tcp.rate={load}Mb/s"));
                let run = Losses::halves(LOSS).sets(&[], true).into_iter().fold(run, Run::set);
                sets.iter().fold(run, |run, &set| run.set(set))
            }));
        }
        runs
    },
    read: |runs| {
        let read = |of: &dyn Fn(&RunData) -> f64| {
            QUEUES.map(|(queue, _)| {
                LOADS.map(|load| (load, of(runs.get(&queue_run(queue, load))))).to_vec()
            })
        };
        let pings = |of: fn(&lasthop_trace::TimeSummary) -> f64| {
            read(&|run| run.flow("ping").rtt_ms.as_ref().map_or(f64::NAN, of))
        };
        let (means, medians, tails) = (pings(|t| t.mean), pings(|t| t.p50), pings(|t| t.p95));
        let goodputs = read(&|run| goodput(run, "tcp"));
        let most = |points: &[Point]| greatest(&ys(points));
        let ping = pings_lost(runs);
        let mut panel =
            Panel::new("", Axis::new("offered load, Mb/s"), Axis::new("round trip of a ping, ms"));
        for ((queue, _), points) in QUEUES.into_iter().zip(means.clone()) {
            panel = panel.with(Series::dotted_line(queue, points));
        }
        Findings {
            quantities: vec![
                Quantity::shown(
                    "with the paper's buffer a ping takes more than half a second",
                    "bufferbloat",
                    most(&means[0]) > 500.0,
                ),
                Quantity::value(
                    "mean at most with CoDel, against the paper's buffer",
                    "",
                    open(),
                    most(&means[1]) / most(&means[0]),
                    (0.0, 1.0 / 3.0),
                )
                .because(
                    "The backlog is short, but behind it each block of 150 symbols is taken in a \
                     burst and waits for the one before.",
                ),
                Quantity::value(
                    "ours: median at most, at any load",
                    "ms",
                    open(),
                    most(&medians[2]),
                    (0.0, 35.0),
                ),
                Quantity::value(
                    "ours: 95th percentile at most, at any load",
                    "ms",
                    open(),
                    most(&tails[2]),
                    (0.0, 60.0),
                ),
                Quantity::shown("ours loses no ping", "reliable", ping == 0),
                Quantity::value(
                    "most throughput of ours, against the paper's buffer",
                    "",
                    open(),
                    most(&goodputs[2]) / most(&goodputs[0]),
                    (1.0, f64::INFINITY),
                ),
            ],
            panels: vec![panel],
        }
    },
};

/// Number of pings that our way of queueing lost, over all loads.
fn pings_lost(runs: &Runs<'_>) -> u64 {
    let lost = |load| runs.get(&queue_run(QUEUES[2].0, load)).flow("ping").packets_lost;
    LOADS.map(lost).iter().sum()
}

/// Carrier of a sparse flow.
const SPARSE_LINKS: [(&str, &[&str]); 4] = [
    ("unreliable", &["franc.link.mode=plain"]),
    ("the paper's", &["franc.link.mode=paper", "franc.link.rules=paper"]),
    (
        "the paper's, systematic",
        &["franc.link.mode=paper", "franc.link.rules=paper", "franc.link.systematic=true"],
    ),
    ("ours", &[]),
];
const SPARSE_LOSSES: [f64; 4] = [0.0, 10.0, 20.0, 30.0];
/// A round trip over the idle hop and the timeout of the encoder, in ms.
const PATIENCE_MS: f64 = 1.0 + 20.0;

fn sparse_run(link: &str, e3: f64) -> String {
    format!("{link} {e3}")
}

pub const SPARSE: Figure = Figure {
    id: "sparse",
    title: "Sparse traffic: systematic first",
    shows: "One packet of 200 bytes in 50 ms; *systematic* sends it uncoded first.",
    runs: || {
        let mut runs = Vec::new();
        for (link, sets) in SPARSE_LINKS {
            for e3 in SPARSE_LOSSES {
                let run = Run::new(sparse_run(link, e3), BARE)
                    .set("flow.data.rate=32kb/s")
                    .set("flow.data.packet_bytes=200");
                let run = Losses::halves(e3).sets(&[], true).into_iter().fold(run, Run::set);
                runs.push(sets.iter().fold(run, |run, &set| run.set(set)));
            }
        }
        runs
    },
    read: |runs| {
        let curve = |link: &str, read: fn(&lasthop_trace::TimeSummary) -> f64| {
            let delay = |e3| runs.get(&sparse_run(link, e3)).flow("data").one_way_delay_ms;
            SPARSE_LOSSES.map(|e3| (e3, delay(e3).as_ref().map_or(f64::NAN, read))).to_vec()
        };
        let p99 = |link: &str| curve(link, |delay| delay.p99);
        let at = |points: &[Point], e3: f64| mean(&values(points, |x| x == e3));
        let beyond = at(&p99("ours"), 20.0) - at(&p99("unreliable"), 20.0);
        let x = || Axis::new("loss, %").range(0.0, 30.0);
        let mut panels = vec![
            Panel::new("mean", x(), Axis::new("one-way delay, ms")),
            Panel::new("99th percentile", x(), Axis::new("one-way delay, ms")),
        ];
        for (link, _) in SPARSE_LINKS {
            let mut with = |at: usize, points| {
                let panel = panels.remove(at);
                panels.insert(at, panel.with(Series::dotted_line(link, points)));
            };
            with(0, curve(link, |delay| delay.mean));
            with(1, p99(link));
        }
        let lost = |e3| {
            let flow = runs.get(&sparse_run("ours", e3)).flow("data");
            flow.packets_lost
        };
        Findings {
            quantities: vec![
                Quantity::value(
                    "ours at 20 %: 99th percentile above that of the bare link",
                    "ms",
                    open(),
                    beyond,
                    (f64::NEG_INFINITY, PATIENCE_MS),
                ),
                Quantity::value(
                    "mean of the paper's at 20 %, against the same systematic",
                    "",
                    open(),
                    at(&curve("the paper's", |d| d.mean), 20.0)
                        / at(&curve("the paper's, systematic", |d| d.mean), 20.0),
                    (1.0, f64::INFINITY),
                ),
                Quantity::shown(
                    "ours loses no packet",
                    "reliable",
                    SPARSE_LOSSES.into_iter().all(|e3| lost(e3) == 0),
                ),
            ],
            panels,
        }
    },
};

const REDUNDANCY_LOSSES: [f64; 7] = [0.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0];

fn told(e3: f64, estimated: bool) -> String {
    format!("{} {e3}", if estimated { "estimated" } else { "given" })
}

pub const REDUNDANCY: Figure = Figure {
    id: "redundancy",
    title: "Redundancy that follows the loss",
    shows: "A node estimates the losses.",
    runs: || {
        let mut runs = Vec::new();
        for e3 in REDUNDANCY_LOSSES {
            for estimated in [false, true] {
                let losses = if estimated { "estimated" } else { "given" };
                let run =
                    Run::new(told(e3, estimated), BARE).set(format!("franc.link.losses={losses}"));
                let sets = Losses::halves(e3).sets(&[], false);
                runs.push(sets.into_iter().fold(run, Run::set));
            }
        }
        runs
    },
    read: |runs| {
        // Innovative symbols, each of which raised the rank of the decoder: as many as
        // packets came out in.
        let sent = |run: &RunData| {
            let encoder = node(run, "encoder").map_or(0, |n| n.source_sent + n.coded_sent);
            let needed = node(run, "decoder").map_or(0, |n| n.innovative);
            encoder as f64 / needed as f64
        };
        let curve = |estimated: bool, read: &dyn Fn(&RunData) -> f64| {
            REDUNDANCY_LOSSES.map(|e3| (e3, read(runs.get(&told(e3, estimated))))).to_vec()
        };
        let ideal = REDUNDANCY_LOSSES.map(|e3| (e3, 100.0 / (100.0 - e3))).to_vec();
        let [given, estimated] = [false, true].map(|estimated| curve(estimated, &sent));
        let above = greatest(&ys(&ratios(&estimated, &ideal)));
        let throughput =
            [false, true].map(|estimated| curve(estimated, &|run| goodput(run, "data")));
        let against = ratios(&throughput[1], &throughput[0]);
        let least = -greatest(&ys(&against).iter().map(|ratio| -ratio).collect::<Vec<_>>());
        Findings {
            quantities: vec![
                Quantity::value(
                    "estimated: packets for each that is needed, against one over what gets \
                     through, at most",
                    "",
                    open(),
                    above,
                    (0.0, 1.05),
                ),
                Quantity::value(
                    "throughput with losses estimated, against losses given, at least",
                    "",
                    open(),
                    least,
                    (0.97, f64::INFINITY),
                ),
            ],
            panels: vec![
                Panel::new(
                    "",
                    Axis::new("loss, %").range(0.0, 50.0),
                    Axis::new("packets sent for each that is needed"),
                )
                .with(Series::dots("losses given", given))
                .with(Series::dots("losses estimated", estimated))
                .with(Series::line("one over what gets through", ideal)),
            ],
        }
    },
};

const HOP_LOSSES: [f64; 4] = [0.0, 10.0, 20.0, 30.0];

fn hop_run(relaying: &str, loss: f64) -> String {
    format!("{relaying} {loss}")
}

pub const HOPS: Figure = Figure {
    id: "hops",
    title: "Three hops, with relays that code anew",
    shows: "Relays that recode repair the losses of their hop.",
    runs: || {
        let mut runs = Vec::new();
        for relaying in ["recode", "forward"] {
            for loss in HOP_LOSSES {
                let hop = |from: &str, to: &str| {
                    format!("{{ between = [\"{from}\", \"{to}\"], loss = \"{loss}%\" }}")
                };
                let hops = [hop("a", "r1"), hop("r1", "r2"), hop("r2", "b")];
                runs.push(
                    Run::new(hop_run(relaying, loss), HOPS_FILE)
                        .set(format!("franc.path.relaying={relaying}"))
                        .set(format!("franc.path.loss=[{}]", hops.join(", "))),
                );
            }
        }
        runs
    },
    read: |runs| {
        let curve = |relaying: &str| {
            let read = |loss| goodput(runs.get(&hop_run(relaying, loss)), "data");
            HOP_LOSSES.map(|loss| (loss, read(loss))).to_vec()
        };
        let (recode, forward) = (curve("recode"), curve("forward"));
        let gain = ratios(&recode, &forward);
        let corrupt: u64 = runs.all().map(|(_, run)| run.coded("path").corrupt).sum();
        Findings {
            quantities: vec![
                Quantity::value(
                    "recoding against end to end, at 20 % a hop",
                    "",
                    open(),
                    mean(&values(&gain, |loss| loss == 20.0)),
                    (1.5, f64::INFINITY),
                ),
                Quantity::shown("nothing is corrupted or comes twice", "reliable", corrupt == 0),
            ],
            panels: vec![
                Panel::new(
                    "",
                    Axis::new("loss of each hop, %").range(0.0, 30.0),
                    Axis::new("throughput, Mb/s"),
                )
                .with(Series::dotted_line("relays code anew", recode))
                .with(Series::dotted_line("relays pass on", forward)),
            ],
        }
    },
};

const HELPER_LOSSES: [f64; 5] = [10.0, 30.0, 50.0, 70.0, 90.0];
const HELPER_SETS: [&[&str]; 3] = [&[], &["helper"], &["helper", "second"]];

fn helpers_run(e3: f64, helpers: usize) -> String {
    format!("{helpers} helpers {e3}")
}

pub const HELPERS: Figure = Figure {
    id: "helpers",
    title: "Two helpers",
    shows: "Two helpers, each with losses of half of e3, in our mode with estimated losses.",
    runs: || {
        let mut runs = Vec::new();
        for e3 in HELPER_LOSSES {
            for helpers in HELPER_SETS {
                let run = Run::new(helpers_run(e3, helpers.len()), BARE);
                let sets = Losses::halves(e3).sets(helpers, false);
                runs.push(sets.into_iter().fold(run, Run::set));
            }
        }
        runs
    },
    read: |runs| {
        let curve = |helpers: usize| {
            let read = |e3| goodput(runs.get(&helpers_run(e3, helpers)), "data");
            HELPER_LOSSES.map(|e3| (e3, read(e3))).to_vec()
        };
        let curves = [0, 1, 2].map(curve);
        let high = |points: &[Point]| mean(&values(points, |e3| e3 >= 70.0));
        let mut panel =
            Panel::new("", Axis::new("e3, %").range(0.0, 90.0), Axis::new("throughput, Mb/s"));
        for (label, points) in ["no helper", "one", "two"].into_iter().zip(curves.clone()) {
            panel = panel.with(Series::dotted_line(label, points));
        }
        let worst = (ratios(&curves[1], &curves[0]).into_iter())
            .chain(ratios(&curves[2], &curves[0]))
            .map(|(_, ratio)| ratio)
            .fold(f64::INFINITY, f64::min);
        Findings {
            quantities: vec![
                Quantity::value(
                    "one helper against none, from an e3 of 70 % on",
                    "",
                    open(),
                    high(&curves[1]) / high(&curves[0]),
                    (1.0, f64::INFINITY),
                ),
                Quantity::value(
                    "two helpers against one, from an e3 of 70 % on",
                    "",
                    open(),
                    high(&curves[2]) / high(&curves[1]),
                    (1.0, f64::INFINITY),
                ),
                Quantity::value(
                    "helpers against none at any e3, at least",
                    "",
                    open(),
                    worst,
                    (0.97, f64::INFINITY),
                ),
            ],
            panels: vec![panel],
        }
    },
};

const CORRIDOR_FILE: ScenarioFile = scenario_file!("franc/corridor.toml");
const CORRIDOR_HOPS: [&str; 3] = ["first", "second", "third"];
const CORRIDOR_E3: f64 = 50.0;

fn corridor_run(hops: usize, is_helped: bool) -> Run {
    let run = Run::new(corridor_name(hops, is_helped), CORRIDOR_FILE);
    CORRIDOR_HOPS.into_iter().enumerate().fold(run, |run, (index, hop)| {
        if index >= hops {
            return run.set(format!("flow.{hop}.rate=1kb/s"));
        }
        if !is_helped {
            return run;
        }
        let Losses { e1, e2, e3 } = Losses::halves(CORRIDOR_E3);
        let number = index + 1;
        let loss = |from: &str, to: &str, percent: f64| {
            format!("{{ from = \"{from}{number}\", to = \"{to}{number}\", loss = \"{percent}%\" }}")
        };
        let losses = [
            loss("encoder", "decoder", e3),
            loss("encoder", "helper", e1),
            loss("helper", "decoder", e2),
        ];
        run.set(format!("franc.{hop}.loss=[{}]", losses.join(", ")))
            .set(format!("franc.{hop}.helpers=[\"helper{number}\"]"))
    })
}

fn corridor_name(hops: usize, is_helped: bool) -> String {
    format!("{hops} hops, {}", if is_helped { "helped" } else { "alone" })
}

/// Cause if helpers save less over three hops.
const LATE: &str = "The encoder's 20 ms expire while other hops hold the channel, and each timeout \
                    sends five packets: 5.7 timeouts a block with helpers, 1.9 without (ten runs). \
                    With 100 ms (encoder_timeout) the three are 1.17, 1.15 and 2.7 in three runs, by \
                    the text alone 1.19, 1.26 and 2.9 in five.";

pub const CORRIDOR: Figure = Figure {
    id: "corridor",
    title: "Helpers over several hops",
    shows: "One, two and three hops share a channel and carry the same load, with or without a \
            helper each, at an e3 of 50 %.",
    runs: || {
        let with = |is_helped| (1..=CORRIDOR_HOPS.len()).map(move |n| corridor_run(n, is_helped));
        [false, true].into_iter().flat_map(with).collect()
    },
    read: |runs| {
        let of_hops = |run: &RunData, hops: usize, read: &dyn Fn(&RunData, usize) -> f64| {
            (0..hops).map(|hop| read(run, hop)).collect::<Vec<f64>>()
        };
        let carried = |is_helped: bool, hops: usize| {
            let run = runs.get(&corridor_name(hops, is_helped));
            least(&of_hops(run, hops, &|run, hop| goodput(run, CORRIDOR_HOPS[hop])))
        };
        // Packets of encoder and helper per decoded symbol, over all hops.
        let sent = |is_helped: bool, hops: usize| {
            let run = runs.get(&corridor_name(hops, is_helped));
            let of_hop = |run: &RunData, hop: usize| {
                let nodes = &run.coded(CORRIDOR_HOPS[hop]).nodes;
                let count = |name: &str| nodes.get(&format!("{name}{}", hop + 1));
                let sent = |name: &str| count(name).map_or(0, |node| node.coded_sent);
                let decoded = count("decoder").map_or(0, |node| node.innovative);
                (sent("encoder") + sent("helper")) as f64 / decoded as f64
            };
            of_hops(run, hops, &of_hop).iter().sum::<f64>()
        };
        let curve = |read: &dyn Fn(usize) -> f64| -> Vec<Point> {
            (1..=CORRIDOR_HOPS.len()).map(|hops| (hops as f64, read(hops))).collect()
        };
        let gain = |hops| carried(true, hops) / carried(false, hops);
        let saved = |hops| sent(false, hops) - sent(true, hops);
        let corrupt = |(_, run): (&str, &RunData)| {
            CORRIDOR_HOPS.map(|hop| run.coded(hop).corrupt).iter().sum::<u64>()
        };
        let x = || Axis::new("hops").range(0.5, 3.5);
        Findings {
            quantities: vec![
                Quantity::value(
                    "three hops: throughput with helpers, against none",
                    "",
                    open(),
                    gain(3),
                    (1.0, f64::INFINITY),
                )
                .because(LATE),
                Quantity::value(
                    "gain in throughput over three hops, against that over one",
                    "",
                    open(),
                    gain(3) / gain(1),
                    (1.0, f64::INFINITY),
                )
                .because(LATE),
                Quantity::value(
                    "packets saved for a symbol over three hops, against one",
                    "",
                    open(),
                    saved(3) / saved(1),
                    (2.5, f64::INFINITY),
                )
                .because(LATE),
                Quantity::shown(
                    "nothing is corrupted",
                    "reliable",
                    runs.all().map(corrupt).sum::<u64>() == 0,
                ),
            ],
            panels: vec![
                Panel::new("", x(), Axis::new("throughput of the path, Mb/s"))
                    .with(Series::dotted_line("no helpers", curve(&|hops| carried(false, hops))))
                    .with(Series::dotted_line(
                        "a helper a hop",
                        curve(&|hops| carried(true, hops)),
                    )),
                Panel::new("", x(), Axis::new("packets sent for a symbol"))
                    .with(Series::dotted_line("no helpers", curve(&|hops| sent(false, hops))))
                    .with(Series::dotted_line("a helper a hop", curve(&|hops| sent(true, hops)))),
            ],
        }
    },
};

/// Start and end of the outage of the helper, in seconds.
const DEAD: (f64, f64) = (16.0, 31.0);
const VANISH_E3: f64 = 70.0;
/// Interval over which throughput is read.
const SMOOTHED: Duration = Duration::from_secs(1);

pub const VANISH: Figure = Figure {
    id: "vanish",
    title: "A helper that dies and comes back",
    shows: "The helper dies and returns; e3 is 70 %.",
    runs: || {
        let with = |helpers: &[&str], name: &str| {
            let run = Run::new(name, BARE).set(format!("series_interval={SMOOTHED}"));
            Losses::halves(VANISH_E3).sets(helpers, false).into_iter().fold(run, Run::set)
        };
        let outage = format!(
            "franc.link.outage=[{{ node = \"helper\", from = \"{}s\", until = \"{}s\" }}]",
            DEAD.0, DEAD.1
        );
        vec![with(&["helper"], "dies").set(outage), with(&[], "never there")]
    },
    read: |runs| {
        let run = runs.get("dies");
        let throughput = run.throughput_mbps("data");
        let alone = mean(&values(&runs.get("never there").throughput_mbps("data"), |at| at > 10.0));
        let during =
            |from: f64, until: f64| mean(&values(&throughput, |at| from < at && at < until));
        let (died, back) = DEAD;
        let end = seconds(Instant::ZERO + run.scenario.duration);
        let before = during(8.0, died);
        let link = super::link(run);
        let given_up: u64 = link.nodes.values().map(|node| node.symbols_lost).sum();
        Findings {
            quantities: vec![
                Quantity::value(
                    "in the second after the helper's death, against a link that had none",
                    "",
                    open(),
                    during(died, died + 2.0) / alone,
                    (0.7, f64::INFINITY),
                ),
                Quantity::value(
                    "while it is dead, against a link that had none",
                    "",
                    open(),
                    during(died + 1.0, back) / alone,
                    (0.95, f64::INFINITY),
                ),
                Quantity::value(
                    "from two seconds after its return on, against before",
                    "",
                    open(),
                    during(back + 2.0, end) / before,
                    (0.95, f64::INFINITY),
                )
                .because(
                    "The encoder counts what the helper misses while it is dead, and believes \
                     again only little by little that it hears.",
                ),
                Quantity::shown(
                    "no symbol is given up, and nothing is corrupted",
                    "reliable",
                    given_up == 0 && link.corrupt == 0,
                ),
            ],
            panels: vec![
                Panel::new("", Axis::new("time, s"), Axis::new("throughput, Mb/s"))
                    .with(Series::line("throughput", throughput))
                    .shade(died, back, "the helper is dead"),
            ],
        }
    },
};

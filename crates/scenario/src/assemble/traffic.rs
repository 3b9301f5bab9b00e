//! Flows and programs.

use super::mtu::NodeMtu;
use super::nodes::Expanded;
use super::topology::Islands;
use super::{Names, apq, is_written, node_id, positive, tcp};
use crate::attached;
use crate::raw::{FlowKindName, Offered, Pattern, RawFlow, RawRun, RawScenario, RawStream, RawWeb};
use crate::{Program, Ready, Role};
use lasthop_config::error::{Place, Problems};
use lasthop_config::scalar::At;
use lasthop_hosts::traffic::{KeyFrames, Period, Sizes, UDP_OVERHEAD_BYTES};
use lasthop_hosts::web::mean_page_bytes;
use lasthop_hosts::{
    CallConfig, Endpoints, Flow, FlowKind, SourceConfig, StreamConfig, TcpApplication, TcpFlow,
    WebConfig,
};
use lasthop_units::{Bitrate, Duration, Instant};
use std::collections::BTreeSet;

/// Largest number of flows; a `FlowId` could hold a few more.
const FLOWS_MAX: usize = 10_000;

/// Returns the flows, with patterns expanded.
pub(crate) fn flows(
    raw: &RawScenario,
    nodes: &[Expanded<'_>],
    mtus: &[NodeMtu],
    names: &Names,
    islands: Option<&Islands>,
    problems: &mut Problems,
) -> Vec<Flow> {
    let mut flows = Vec::new();
    let mut seen = BTreeSet::new();
    for flow in &raw.flow {
        check_times(flow, raw.duration.value, problems);
        if let Some(count) = &flow.count
            && flow.group.value
        {
            problems.push(&count.place, "group flows have one flow for each node in `to`");
        }
        let kind = kind(flow, problems);
        let endpoints = endpoints(flow, &kind, problems);
        let sources = names.find_all(&flow.from.value, &flow.from.place, problems);
        let sinks = names.find_all(&flow.to.value, &flow.to.place, problems);
        relays(&sources, nodes, &flow.from.place, problems);
        relays(&sinks, nodes, &flow.to.place, problems);
        let patterns = [&flow.from, &flow.to].map(|end| end.value.contains('*'));
        if patterns == [true, true] {
            problems.push(&flow.to.place, "only one end of a flow may be a pattern");
            continue;
        }
        if let Some(islands) = islands {
            let mut pairs =
                sources.iter().flat_map(|&from| sinks.iter().map(move |&to| (from, to)));
            pairs.all(|(from, to)| islands.check(from, to, nodes, &flow.to.place, problems));
        }
        for &from in &sources {
            // The first of a group sends for all of it.
            let mut sender = None;
            for &to in &sinks {
                if from == to {
                    if patterns == [false, false] {
                        let message =
                            format!("a flow needs two nodes, and both are {:?}", flow.from.value);
                        problems.push(&flow.to.place, message);
                    }
                    continue;
                }
                if flow.group.value {
                    check_group(flow, mtus[from].bytes, problems);
                }
                if matches!(kind, FlowKind::Apq(_)) {
                    apq::check_lengths(&flow.apq, mtus[from].bytes.min(mtus[to].bytes), problems);
                }
                let is_several = patterns != [false, false] || flow.count.is_some();
                let count = flow.count.as_ref().map(|count| count.value.get());
                for copy in 1..=count.unwrap_or(1) {
                    let own = &flow.name.value.0;
                    let own = count.map_or_else(|| own.clone(), |_| format!("{own}{copy}"));
                    let name = match patterns {
                        [true, _] => format!("{own}-{}", nodes[from].name),
                        [_, true] => format!("{own}-{}", nodes[to].name),
                        _ => own,
                    };
                    let has_back =
                        matches!(flow.kind.value, FlowKindName::Call | FlowKindName::Game);
                    if !seen.insert(name.clone()) {
                        let message = format!("there are two flows called {name:?}");
                        problems.push(&flow.name.place, message);
                    }
                    if flows.len() + usize::from(has_back) >= FLOWS_MAX {
                        let message = format!("expected at most {FLOWS_MAX} flows, got more");
                        problems.push(&flow.here, message);
                        return flows;
                    }
                    if has_back && !seen.insert(format!("{name}-back")) {
                        let message = format!("there are two flows called \"{name}-back\"");
                        problems.push(&flow.name.place, message);
                    }
                    let group = flow.group.value.then(|| *sender.get_or_insert(flows.len()));
                    flows.push(Flow {
                        name,
                        table: (is_several || has_back).then(|| flow.name.value.0.clone()),
                        from: node_id(from),
                        to: node_id(to),
                        kind: match kind.clone() {
                            FlowKind::Tcp(tcp) => FlowKind::Tcp(tcp::between(
                                tcp,
                                &flow.tcp,
                                &nodes[from],
                                &nodes[to],
                            )),
                            FlowKind::Udp(SourceConfig::Saturated { .. })
                                if flow.packet_bytes.is_none()
                                    && mtus[from].adaptive_min.is_some() =>
                            {
                                FlowKind::Udp(SourceConfig::Saturated { bytes: mtus[from].bytes })
                            }
                            kind => kind,
                        },
                        start: instant(flow.start.value),
                        stop: flow.stop.as_ref().map(|stop| instant(stop.value)),
                        access_category: flow.access_category.value,
                        endpoints,
                        deadline: deadline(flow),
                        group,
                    });
                    if has_back {
                        let other = flows.last().map(|there| back(flow, there));
                        flows.extend(other);
                    }
                }
            }
        }
    }
    flows
}

/// Default time within which a program must be ready.
const READY_TIMEOUT: Duration = Duration::from_secs(30);

/// Assembles the programs of the scenario.
pub(crate) fn programs(
    runs: &[RawRun],
    duration: Duration,
    nodes: &[Expanded<'_>],
    names: &Names,
    problems: &mut Problems,
) -> Vec<Program> {
    let mut programs = Vec::new();
    for run in runs {
        let Some(node) = names.find(&run.node.value, &run.node.place, problems) else { continue };
        relays(&[node], nodes, &run.node.place, problems);
        check_start(&run.start, duration, problems);
        if let (None, Some(timeout)) = (&run.ready, &run.ready_timeout) {
            problems.push(&timeout.place, "this key is for programs with `ready` only");
        }
        let timeout = run.ready_timeout.as_ref().map_or(READY_TIMEOUT, |timeout| timeout.value);
        if let Some(At { value: Ready::After(after), place }) = &run.ready
            && *after >= timeout
        {
            let message = format!("expected less than ready_timeout, {timeout}, got {after}");
            problems.push(place, message);
        }
        programs.push(Program {
            node: node_id(node),
            command: run.command.value.0.clone(),
            start: instant(run.start.value),
            ready: run.ready.as_ref().map(|ready| ready.value.clone()),
            ready_timeout: timeout,
        });
    }
    programs
}

fn instant(since_start: Duration) -> Instant {
    Instant::ZERO + since_start
}

/// Reports a flow with a relay as an end.
fn relays(ends: &[usize], nodes: &[Expanded<'_>], place: &Place, problems: &mut Problems) {
    if let Some(&relay) = ends.iter().find(|&&end| nodes[end].role() == Role::Relay) {
        let message = format!("{:?} is a relay, where nothing begins or ends", nodes[relay].name);
        problems.push(place, message);
    }
}

fn check_start(start: &At<Duration>, duration: Duration, problems: &mut Problems) {
    if start.value >= duration && !duration.is_zero() {
        let message = format!("expected less than the duration of {duration}, got {}", start.value);
        problems.push(&start.place, message);
    }
}

fn check_times(flow: &RawFlow, duration: Duration, problems: &mut Problems) {
    check_start(&flow.start, duration, problems);
    let Some(At { value: stop, place }) = &flow.stop else { return };
    let start = flow.start.value;
    if *stop <= start {
        problems.push(place, format!("expected more than the start at {start}, got {stop}"));
    } else if *stop > duration && start < duration {
        problems.push(place, format!("expected at most the duration of {duration}, got {stop}"));
    }
}

/// Returns the kind of the flow, from the keys that belong to it.
fn kind(flow: &RawFlow, problems: &mut Problems) -> FlowKind {
    use FlowKindName::{Apq, Call, Game, Ping, Stream, Tcp, Udp, Video, Web};
    let kind = flow.kind.value;
    let mut only = |place: Option<&Place>, kinds: &[FlowKindName], text: &str| {
        if let Some(place) = place
            && !kinds.contains(&kind)
        {
            problems.push_unfit(place, format!("this key is for {text} flows only"));
        }
    };
    only(place(&flow.congestion_control), &[Tcp, Web, Stream], "tcp, web and stream");
    only(place(&flow.bytes), &[Tcp], "tcp");
    only(
        Some(&flow.tcp.here).filter(|place| is_written(place)),
        &[Tcp, Web, Stream],
        "tcp, web and stream",
    );
    only(Some(&flow.web.here).filter(|place| is_written(place)), &[Web], "web");
    only(Some(&flow.stream.here).filter(|place| is_written(place)), &[Stream], "stream");
    only(flow.requests.as_ref().map(|requests| &requests.here), &[Tcp], "tcp");
    only(place(&flow.rate), &[Tcp, Udp, Video], "tcp, udp and video");
    only(place(&flow.packet_bytes), &[Udp, Video, Ping, Call], "udp, video, ping and call");
    only(Some(&flow.group.place).filter(|_| flow.group.value), &[Udp, Video], "udp and video");
    only(place(&flow.deadline), &[Udp, Video, Game], "udp, video and game");
    only(Some(&flow.game.here).filter(|place| is_written(place)), &[Game], "game");
    only(place(&flow.pattern), &[Udp], "udp");
    only(place(&flow.on), &[Udp], "udp");
    only(place(&flow.off), &[Udp], "udp");
    only(place(&flow.frame_rate), &[Video], "video");
    only(place(&flow.size_deviation), &[Video], "video");
    only(place(&flow.key_frame_interval), &[Video], "video");
    only(place(&flow.key_frame_factor), &[Video], "video");
    only(place(&flow.trace), &[Video], "video");
    only(place(&flow.interval), &[Ping, Call], "ping and call");
    only(place(&flow.playout), &[Call], "call");
    only(Some(&flow.apq.here).filter(|place| is_written(place)), &[Apq], "apq");

    if let Some(rate) = &flow.rate
        && rate.value == Offered::Rate(Bitrate::default())
    {
        problems.push(&rate.place, "expected more than zero");
    }
    let packet_bytes = |default| flow.packet_bytes.as_ref().map_or(default, |at| at.value.get());
    match kind {
        Tcp => FlowKind::Tcp(tcp::flow(flow, problems)),
        Stream => FlowKind::Tcp(Box::new(TcpFlow {
            application: TcpApplication::Stream(stream(&flow.stream, problems)),
            ..*tcp::flow(flow, problems)
        })),
        Web => FlowKind::Tcp(Box::new(TcpFlow {
            application: TcpApplication::Web(web(&flow.web, problems)),
            ..*tcp::flow(flow, problems)
        })),
        Udp => FlowKind::Udp(udp(flow, packet_bytes(1500), problems)),
        Video => FlowKind::Video(video(flow, packet_bytes(1500), problems)),
        Game => FlowKind::Udp(ticks(
            flow.game.player_rate.value.get(),
            flow.game.player_bytes.value.get(),
        )),
        Ping => FlowKind::Ping {
            interval: interval(flow, Duration::from_millis(100), problems),
            bytes: packet_bytes(84),
        },
        Call => FlowKind::Call(CallConfig {
            interval: interval(flow, Duration::from_millis(20), problems),
            bytes: packet_bytes(200),
            buffer: flow.playout.as_ref().map_or(Duration::from_millis(60), |it| it.value),
        }),
        Apq => FlowKind::Apq(apq::flow(flow, problems)),
    }
}

fn stream(raw: &RawStream, problems: &mut Problems) -> StreamConfig {
    let ladder = &raw.ladder;
    let rises = ladder.value.windows(2).all(|pair| pair[0] < pair[1]);
    if ladder.value.first().is_none_or(|&lowest| lowest == Bitrate::default()) || !rises {
        problems.push(&ladder.place, "expected bit rates above zero, in rising order");
    }
    positive(&raw.segment, problems);
    let least = raw.segment.value * 2;
    if raw.buffer.value < least {
        let message = format!("expected at least two segments, {least}, got {}", raw.buffer.value);
        problems.push(&raw.buffer.place, message);
    }
    StreamConfig {
        ladder: ladder.value.clone(),
        segment: raw.segment.value,
        buffer: raw.buffer.value,
    }
}

fn web(raw: &RawWeb, problems: &mut Problems) -> WebConfig {
    positive(&raw.think, problems);
    if let Some(page) = &raw.page {
        positive(page, problems);
    }
    let page = raw.page.as_ref().map(|page| page.value.as_u64() as f64);
    WebConfig {
        scale: page.map_or(1.0, |bytes| bytes / mean_page_bytes()),
        think: raw.think.value,
        connections: raw.connections.value.get(),
    }
}

/// Returns the time between the packets of a flow.
fn interval(flow: &RawFlow, default: Duration, problems: &mut Problems) -> Duration {
    let Some(interval) = &flow.interval else { return default };
    positive(interval, problems);
    interval.value
}

/// Delay after which packets of a game are late by default.
const GAME_DEADLINE: Duration = Duration::from_millis(100);

/// Returns the delay after which packets of the flow are late.
fn deadline(flow: &RawFlow) -> Option<Duration> {
    let usual = (flow.kind.value == FlowKindName::Game).then_some(GAME_DEADLINE);
    flow.deadline.as_ref().map(|at| at.value).or(usual)
}

/// Returns a source of `rate` packets a second of constant length.
fn ticks(rate: u32, bytes: u16) -> SourceConfig {
    SourceConfig::Ping { interval: Duration::from_secs(1) / u64::from(rate), bytes }
}

/// Returns the other direction of a call or a game. The packets of both directions leave in turn,
/// half an interval apart, because the clocks of two machines do not agree.
fn back(flow: &RawFlow, there: &Flow) -> Flow {
    let (kind, interval) = match &there.kind {
        FlowKind::Call(call) => (there.kind.clone(), call.interval),
        _ => {
            let game = &flow.game;
            let interval = Duration::from_secs(1) / u64::from(game.player_rate.value.get::<u32>());
            let source = ticks(game.server_rate.value.get(), game.server_bytes.value.get());
            (FlowKind::Udp(source), interval)
        }
    };
    Flow {
        name: format!("{}-back", there.name),
        from: there.to,
        to: there.from,
        kind,
        start: there.start + interval / 2,
        ..there.clone()
    }
}

/// Reports group packets above the MTU, which are not fragmented.
fn check_group(flow: &RawFlow, mtu: u16, problems: &mut Problems) {
    if let Some(at) = &flow.packet_bytes
        && i64::from(mtu) < at.value.0
    {
        let message = format!(
            "expected at most {mtu}, the node's mtu: a packet to the group is not cut, got {}",
            at.value.0
        );
        problems.push(&at.place, message);
    }
}

/// Returns the flow's endpoints in real time.
fn endpoints(flow: &RawFlow, kind: &FlowKind, problems: &mut Problems) -> Endpoints {
    let is_kernels = match kind {
        FlowKind::Tcp(tcp) => tcp.application == TcpApplication::Bulk,
        FlowKind::Udp(_) | FlowKind::Video(_) => !flow.group.value,
        FlowKind::Ping { .. } => true,
        FlowKind::Call(_) | FlowKind::Apq(_) => false,
    };
    match &flow.endpoints {
        None if is_kernels => Endpoints::Kernel,
        None => Endpoints::Model,
        Some(At { value: Endpoints::Model, .. }) => Endpoints::Model,
        Some(At { value: Endpoints::Kernel, place }) => {
            if !is_kernels {
                let message = "the kernel has bulk transfers (tcp without `rate` and `requests`), \
                               udp and video without `group`, and ping; this flow's endpoints \
                               are the model's";
                problems.push(place, message);
            }
            Endpoints::Kernel
        }
    }
}

fn udp(flow: &RawFlow, bytes: u16, problems: &mut Problems) -> SourceConfig {
    let pattern = flow.pattern.as_ref().map_or(Pattern::Constant, |at| at.value);
    let is_on_off = matches!(pattern, Pattern::OnOff | Pattern::OnOffExponential);
    for at in [&flow.on, &flow.off].into_iter().flatten() {
        positive(at, problems);
        if !is_on_off {
            problems.push(&at.place, "this key is for pattern = \"on-off\" only");
        }
    }
    let rate = match flow.rate.as_ref().map(|rate| rate.value) {
        Some(Offered::Rate(rate)) => rate,
        Some(Offered::Saturated) | None => {
            if let Some(pattern) = &flow.pattern {
                problems.push(&pattern.place, "a saturated flow has no pattern; give it a rate");
            }
            return SourceConfig::Saturated { bytes };
        }
    };
    let or_second =
        |at: &Option<At<Duration>>| at.as_ref().map_or(Duration::from_secs(1), |at| at.value);
    let (on, off) = (or_second(&flow.on), or_second(&flow.off));
    match pattern {
        Pattern::Constant => SourceConfig::Cbr { rate, bytes },
        Pattern::Poisson => SourceConfig::Poisson { rate, bytes },
        Pattern::OnOff => {
            let (on, off) = (Period::Fixed(on), Period::Fixed(off));
            SourceConfig::OnOff { rate, bytes, on, off }
        }
        Pattern::OnOffExponential => {
            let (on, off) = (Period::Exponential(on), Period::Exponential(off));
            SourceConfig::OnOff { rate, bytes, on, off }
        }
    }
}

fn video(flow: &RawFlow, packet_bytes_max: u16, problems: &mut Problems) -> SourceConfig {
    let frames_per_s = flow.frame_rate.as_ref().map_or(30.0, |at| at.value.0 as f64);
    if let Some(trace) = &flow.trace {
        let drawn = [
            place(&flow.rate),
            place(&flow.size_deviation),
            place(&flow.key_frame_interval),
            place(&flow.key_frame_factor),
        ];
        for place in drawn.into_iter().flatten() {
            problems.push(place, "a trace has the size of every frame; leave this out");
        }
        let sizes = attached::frame_sizes(&trace.value.0).unwrap_or_else(|why| {
            problems.push(&trace.place, why);
            [1].into()
        });
        return SourceConfig::Video {
            frames_per_s,
            sizes: Sizes::Trace(sizes),
            key_frames: None,
            packet_bytes_max,
        };
    }
    let rate = match &flow.rate {
        None => Bitrate::from_mbps(5),
        Some(At { value: Offered::Rate(rate), .. }) => *rate,
        Some(At { value: Offered::Saturated, place }) => {
            problems.push(place, "expected a bit rate: a video cannot be saturated");
            Bitrate::default()
        }
    };
    // The rate counts the headers of full packets; the sizes of frames do not.
    let payload = f64::from(packet_bytes_max - UDP_OVERHEAD_BYTES) / f64::from(packet_bytes_max);
    let mean = rate.as_bps() as f64 / 8.0 / frames_per_s * payload;
    let deviation = flow.size_deviation.as_ref().map_or(0.2, |at| at.value.0);
    let interval_frames = flow.key_frame_interval.as_ref().map_or(60, |at| at.value.get());
    let factor = flow.key_frame_factor.as_ref().map_or(4.0, |at| at.value.0);
    if let Some(at) = &flow.key_frame_factor
        && factor == 0.0
    {
        problems.push(&at.place, "expected more than zero");
    }
    SourceConfig::Video {
        frames_per_s,
        sizes: match deviation {
            0.0 => Sizes::Constant(mean.round().clamp(1.0, f64::from(u32::MAX)) as u32),
            _ => Sizes::LogNormal { mean, sd: deviation * mean },
        },
        key_frames: (interval_frames > 1).then_some(KeyFrames { interval_frames, factor }),
        packet_bytes_max,
    }
}

fn place<T>(value: &Option<At<T>>) -> Option<&Place> {
    value.as_ref().map(|value| &value.place)
}

//! One emulation from beginning to end: makes namespaces, network, traffic and programs,
//! runs the loop, and ends all of them in order, also after a signal or an error.

use crate::error::EmulateError;
use crate::hop::{Ends, Hop};
use crate::jobs::{JobState, Jobs, ProgramOutcome};
use crate::layout::{Layout, MACHINE, MACHINE_NAME, ipv4};
use crate::options::EmulateOptions;
use crate::outside::{Counted, Open, Way, Ways};
use crate::saturation::Saturation;
use crate::session::{Session, TICK};
use crate::traffic::{FLOWS_MAX, FlowPlan, Kind, Traffic};
use lasthop_hosts::{Endpoints, FlowKind, Hosts, Sink};
use lasthop_linux::clock::{Clock, Priority, Scheduling, thread_cpu_nanos};
use lasthop_linux::device::DeviceChoice;
use lasthop_linux::door::{self, Door};
use lasthop_linux::port::{Devices, Ports};
use lasthop_linux::ready::Awaited;
use lasthop_linux::signal::Signals;
use lasthop_linux::supervisor::{Job, Plan, Socket, SocketKind, Supervisor};
use lasthop_linux::terminal::Terminal;
use lasthop_linux::{OsError, socket};
use lasthop_net::network::NetworkStats;
use lasthop_packet::FlowId;
use lasthop_scenario::{Ready, Scenario};
use lasthop_units::{Duration, Instant, Seed};
use lasthop_wifi::stats::Levels;
use nix::sys::signal::Signal;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::IpAddr;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};

/// Length of a frame without its packet, in bytes: the Ethernet header.
const FRAME_OVERHEAD_BYTES: usize = crate::frame::HEADER_BYTES;
/// Longest time that due work may wait to share a wake-up, as a divisor of the lateness that a
/// scenario allows; and the longest wait.
const REST_SHARE: u64 = 5;
const REST_MAX: Duration = Duration::from_micros(200);

/// The result of an emulation.
#[derive(Clone, Debug, PartialEq)]
pub struct EmulateOutcome {
    /// Exit status of the command, as a shell gives it: 128 and the number of a signal. `None`
    /// if the end of the emulation ended it.
    pub exit_status: Option<i32>,
    /// The number of the signal that ended the emulation, if one did.
    pub interrupted: Option<i32>,
    /// The duration of the emulation.
    pub duration: Duration,
    /// The lateness of deliveries in nanoseconds; weights are frames.
    pub lateness_ns: Levels,
    /// Whether more than one delivery in a thousand was later than the scenario allows
    /// (`emulation.lateness_max`).
    pub late: bool,
    /// The counters of the network.
    pub stats: NetworkStats,
    /// The outcomes of the `[[run]]` programs, in their order.
    pub programs: Vec<ProgramOutcome>,
    /// Frames that entered the network.
    pub frames_entered: u64,
    /// Frames handed over to nodes.
    pub frames_delivered: u64,
    /// Frames lost outside the model: those that the emulator did not read in time, and those
    /// that an interface refused. Zero in a valid run.
    pub frames_lost_outside: u64,
    /// Counters of the ways between the nodes and the machine's loopback, in their order.
    pub ways: Vec<Way>,
    /// Scheduling of the loop.
    pub scheduling: Scheduling,
    /// Whether TAP devices were used; veth pairs otherwise.
    pub tap: bool,
    /// The processor time of the loop's thread.
    pub cpu: Duration,
}

/// Held by the one emulation that a process can run at a time: signals and the terminal's
/// foreground belong to the process.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// Runs `scenario` in real time, and reports its events to `sink`.
///
/// `on_tick` is called every [`TICK`] from the loop itself, so it must return within
/// microseconds: pass a copy to another thread rather than draw.
///
/// Changes the calling thread's scheduling and the process's handling of SIGINT,
/// SIGTERM, SIGHUP and SIGQUIT while it runs.
///
/// # Errors
/// If the emulation cannot run; everything that it had set up is removed.
pub fn emulate<S: Sink>(
    scenario: &Scenario,
    options: &EmulateOptions,
    sink: &mut S,
    on_tick: &mut dyn FnMut(Instant, &mut S),
) -> Result<EmulateOutcome, EmulateError> {
    let _one = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    // As the interface of a tunnel would have it: what is longer would be cut at its end.
    let mtu_max = scenario.francs.iter().map(|link| link.mtu).min().unwrap_or(u16::MAX);
    let layout = Layout::new(&scenario.nodes, &scenario.network.nodes, mtu_max);
    let seed = Seed::new(scenario.seed, options.run);
    let mut config = scenario.network_for(seed);
    if let Some(cell) = &mut config.cell {
        cell.record_events = sink.wants_events();
    }
    if options.control.is_some() {
        let wires = config.wires.iter_mut().flat_map(|wire| &mut wire.directions);
        wires.for_each(|direction| direction.adjustable = true);
    }
    let mut jobs = Jobs::new(scenario, options, &layout)?;
    let end = match (options.duration, &options.command) {
        (Some(duration), Some(_)) => Instant::ZERO + scenario.warmup + duration,
        (Some(duration), None) => Instant::ZERO + duration,
        (None, Some(_)) => Instant::MAX,
        (None, None) => Instant::ZERO + scenario.duration,
    };
    let mut hosts_config = scenario.emulated_hosts(end, seed);
    // Those that somebody may change meanwhile are made here; they have to be possible all the same.
    let mut hosts = Hosts::new(&hosts_config, &config, seed)?;
    let mut own_changes = Vec::new();
    if options.control.is_some() && !hosts_config.changes.is_empty() {
        own_changes = std::mem::take(&mut hosts_config.changes);
        hosts = Hosts::new(&hosts_config, &config, seed)?;
    }
    let flows = flow_plans(scenario, seed, end)?;
    let signals = Signals::catch()?;
    // Since then `signals` has them; before, the caller's handler had.
    let noted_before = options.signal_noted.load(Ordering::Relaxed) as i32;
    let noted_before = Signal::try_from(noted_before).ok();
    let terminal = options.command.as_ref().and_then(|_| Terminal::foreground());
    let mut ways = Ways::new(scenario, options, &layout)?;
    ways.notes.iter().for_each(|note| options.say.line(note));
    let named = ways.take_names();
    let mut counted = Counted::new(ways.plan.as_ref(), named);
    let mut plan = plan(&layout, &flows, &mut jobs, options.device, terminal.is_some(), ways);
    let doors = match &options.control {
        Some(_) => doors(&jobs),
        None => Vec::new(),
    };
    plan.sockets.extend(doors.iter().cloned());
    let (supervisor, devices, mut sockets) =
        Supervisor::start(&plan).map_err(|error| explain(error, scenario))?;
    let mut listening = sockets.split_off(sockets.len() - doors.len());
    let door = match &options.control {
        Some(control) => {
            listening.push(door::listen_for_own()?);
            let control = control.clone();
            Some(Door::open(listening, Box::new(move |sets| control.answer(sets)))?)
        }
        None => None,
    };
    let reach = &options.outside.reach;
    let listeners = sockets.split_off(sockets.len() - 2 * reach.len());
    let open = match &plan.outside {
        Some(outside) => {
            let gateway = outside.gateway.map(|gateway| gateway.node);
            let mtu = gateway.map_or(0, |gateway| layout.nodes[gateway].interface.mtu);
            Some(Open::new(&supervisor, &outside.tally, listeners, reach, mtu)?)
        }
        None => None,
    };
    let tap = matches!(devices, Devices::Tap(_));
    let mtu_max = scenario.network.nodes.iter().map(|node| node.mtu).max().unwrap_or(0);
    let frame_bytes_max = usize::from(mtu_max) + FRAME_OVERHEAD_BYTES;
    let ports = Ports::new(devices, frame_bytes_max)?;
    let drops_before: u64 = supervisor.count_drops(layout.nodes.len())?.iter().sum();

    let mut sockets = sockets.into_iter();
    let mut with_sockets = Vec::new();
    for flow in flows {
        let second = flow.sockets().1.is_some();
        let source = sockets.next().expect("the supervisor made all that were asked for");
        with_sockets.push((flow, source, second.then(|| sockets.next()).flatten()));
    }
    let ends = |flow: &lasthop_hosts::Flow| {
        let ends = Ends { from: flow.from, to: flow.to };
        (flow.endpoints == Endpoints::Kernel).then_some(ends)
    };
    let ends = scenario.flows.iter().map(ends).collect();

    let clock = Clock::start();
    let rest_max = (scenario.emulation.lateness_max / REST_SHARE).min(REST_MAX);
    let mut traffic = Traffic::start(with_sockets, clock, scenario.series_interval, rest_max)?;
    let priority = Priority::raise();
    let saturation = Saturation::new(&scenario.flows);
    let mut hop = Hop::new(hosts, ports, layout.doors.clone(), ends, frame_bytes_max, clock, sink);
    hop.plan_changes(Instant::ZERO, own_changes);
    let cpu_before = thread_cpu_nanos();
    let mut session = Session {
        hop,
        supervisor: &supervisor,
        signals: &signals,
        terminal: terminal.as_ref(),
        traffic: &mut traffic,
        jobs: &mut jobs,
        control: options.control.as_ref(),
        counted: &mut counted,
        say: &options.say,
        saturation,
        saturated_start: None,
        on_tick,
        next_tick: Instant::ZERO + TICK,
        end,
        deadline: None,
        interrupted: None,
        unnamed: VecDeque::new(),
        is_asked: false,
        rest_max,
    };
    if let Some(signal) = noted_before {
        session.interrupt(signal)?;
    }
    let ran = session.run(clock);
    if let Some(control) = &options.control {
        control.end();
    }
    drop(door);
    ran?;
    let duration = clock.now() - Instant::ZERO;
    let interrupted = session.interrupted.map(|signal| signal as i32);
    let counts = session.hop.counts.clone();
    let unread = session.hop.unread_drops();
    let stats = session.hop.finish(Instant::ZERO + duration);
    let left_out = session.hop.programs_left_out();
    drop(session);
    counted.news().iter().for_each(|line| options.say.line(line));
    let ways = counted.ways();
    sink.programs_left_out(left_out);
    let cpu = Duration::from_nanos(thread_cpu_nanos() - cpu_before);
    let scheduling = priority.scheduling();
    drop(priority);
    drop(traffic);
    let drops_after: u64 = supervisor.count_drops(layout.nodes.len())?.iter().sum();
    drop(open);
    drop(supervisor);
    let worst = counts.lateness_ns.quantile(0.999).unwrap_or(0);
    Ok(EmulateOutcome {
        exit_status: jobs.command_status(),
        interrupted,
        duration,
        late: u64::from(worst) > scenario.emulation.lateness_max.as_nanos(),
        lateness_ns: counts.lateness_ns,
        stats,
        programs: jobs.outcomes(scenario),
        frames_entered: counts.entered,
        frames_delivered: counts.delivered,
        frames_lost_outside: unread + counts.refused + drops_after.saturating_sub(drops_before),
        ways,
        scheduling,
        tap,
        cpu,
    })
}

/// Names of the addresses in an emulation of `scenario`: NAME is the IPv4 address of a node,
/// `ip6-NAME` the IPv6 one; the machine is [`MACHINE_NAME`].
pub fn host_names(scenario: &Scenario) -> BTreeMap<IpAddr, String> {
    let mut names = Layout::new(&scenario.nodes, &scenario.network.nodes, u16::MAX).names();
    names.insert(IpAddr::V4(MACHINE), MACHINE_NAME.into());
    names
}

fn flow_plans(
    scenario: &Scenario,
    seed: Seed,
    end: Instant,
) -> Result<Vec<FlowPlan>, EmulateError> {
    let flows = scenario.flows.len();
    if flows > FLOWS_MAX {
        return Err(EmulateError::TooManyFlows { flows, max: FLOWS_MAX });
    }
    let plan = |(index, flow): (usize, &lasthop_hosts::Flow)| {
        let kind = match &flow.kind {
            FlowKind::Tcp(tcp) => {
                Kind::Tcp { congestion_control: tcp.congestion_control.clone(), bytes: tcp.bytes }
            }
            FlowKind::Udp(source) | FlowKind::Video(source) => Kind::Datagrams(source.clone()),
            FlowKind::Ping { interval, bytes } => Kind::Ping { interval: *interval, bytes: *bytes },
            FlowKind::Call(_) | FlowKind::Apq(_) => {
                unreachable!("the kernel has no such endpoints")
            }
        };
        FlowPlan {
            id: FlowId(index as u16),
            kind,
            from: ipv4(flow.from),
            to: ipv4(flow.to),
            start: flow.start,
            stop: flow.stop.map_or(end, |stop| stop.min(end)),
            access_category: flow.access_category,
            stream: seed.stream_of("flow/source", flow.identity()),
        }
    };
    let flows = scenario.flows.iter().enumerate();
    Ok(flows.filter(|(_, flow)| flow.endpoints == Endpoints::Kernel).map(plan).collect())
}

/// A [`door`](lasthop_linux::door) in each node with a program.
fn doors(jobs: &Jobs) -> Vec<Socket> {
    let nodes: BTreeSet<usize> = jobs.list.iter().map(|job| usize::from(job.port)).collect();
    let kind = SocketKind::Door(door::name(std::process::id()));
    nodes.into_iter().map(|node| Socket { node, kind: kind.clone() }).collect()
}

fn plan(
    layout: &Layout,
    flows: &[FlowPlan],
    jobs: &mut Jobs,
    device: DeviceChoice,
    foreground: bool,
    ways: Ways,
) -> Plan {
    let port = |address| {
        let at = layout.nodes.iter().position(|node| node.interface.ipv4 == address);
        at.expect("flows begin and end at nodes with an interface")
    };
    let mut sockets = Vec::new();
    for flow in flows {
        let (source, sink) = flow.sockets();
        sockets.push(Socket { node: port(flow.from), kind: source });
        sockets.extend(sink.map(|kind| Socket { node: port(flow.to), kind }));
    }
    let files = layout.files(ways.reaches_machine(), ways.name_server());
    if let Some(gateway) = ways.plan.as_ref().and_then(|outside| outside.gateway) {
        let kinds = ways
            .listeners
            .iter()
            .flat_map(|address| [SocketKind::Listener(*address), SocketKind::Datagrams(*address)]);
        sockets.extend(kinds.map(|kind| Socket { node: gateway.node, kind }));
    }
    let job = |job: &JobState| Job {
        node: usize::from(job.port),
        command: job.command.clone(),
        environment: job.environment.clone(),
        output: job.output.as_ref().map(|file| {
            file.try_clone().expect("a descriptor can be doubled while there are few").into()
        }),
        foreground,
        ready: job.ready.as_ref().and_then(awaited),
    };
    Plan {
        nodes: layout.nodes.clone(),
        device,
        sockets,
        jobs: jobs.list.iter().map(job).collect(),
        files,
        outside: ways.plan,
    }
}

/// Returns a refused congestion control as an error of the scenario, other errors as they are.
fn explain(error: OsError, scenario: &Scenario) -> EmulateError {
    let refused = |flow: &&lasthop_hosts::Flow| match &flow.kind {
        FlowKind::Tcp(tcp) => {
            error.call == format!("setsockopt(TCP_CONGESTION, {})", tcp.congestion_control)
        }
        _ => false,
    };
    match scenario.flows.iter().find(refused) {
        Some(flow) => match &flow.kind {
            FlowKind::Tcp(tcp) => EmulateError::CongestionControl {
                flow: flow.name.clone(),
                name: tcp.congestion_control.clone(),
                reason: error.reason().into(),
                available: socket::available_congestion_controls(),
            },
            _ => EmulateError::Os(error),
        },
        None => EmulateError::Os(error),
    }
}

/// Returns the condition that the supervisor checks; a time needs no check.
fn awaited(ready: &Ready) -> Option<Awaited> {
    match ready {
        Ready::Tcp(port) => Some(Awaited::Tcp(*port)),
        Ready::Udp(port) => Some(Awaited::Udp(*port)),
        Ready::File(path) => Some(Awaited::File(path.clone())),
        Ready::After(_) => None,
    }
}

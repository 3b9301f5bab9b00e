//! One emulation from beginning to end: namespaces, network, traffic, programs;
//! the loop; and the end in good order, whatever brings it about.

use crate::error::EmulateError;
use crate::hop::{Ends, Hop};
use crate::layout::{Layout, ipv4};
use crate::os::clock::{Clock, Priority, Scheduling, Timer, Waiter, thread_cpu_nanos};
use crate::os::device::DeviceChoice;
use crate::os::keeper::{Job, Keeper, KeeperOrder, KeeperReport, Plan, Socket};
use crate::os::port::{Devices, Ports};
use crate::os::signal::Signals;
use crate::os::terminal::{Terminal, stop_ourselves};
use crate::os::{OsError, output_file, read_output, socket};
use crate::traffic::{FLOWS_MAX, FlowPlan, Kind, Note, Traffic};
use lasthop_net::network::{Network, NetworkConfig, NetworkStats, WiredLink};
use lasthop_net::{NodeId, Sink, SourceConfig};
use lasthop_scenario::{FlowKind, Role, Scenario};
use lasthop_units::{Duration, Instant, Seed};
use lasthop_wifi::FlowId;
use lasthop_wifi::queue::{Limit, QueueConfig};
use lasthop_wifi::stats::Levels;
use std::ffi::{CString, OsString};
use std::fs::File;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStringExt;
use std::sync::{Mutex, PoisonError};

/// From one call of `on_tick` to the next.
pub const TICK: Duration = Duration::from_millis(100);
/// How long programs that were asked to end may take.
const GRACE: Duration = Duration::from_millis(500);
/// How long the command may take after a signal that was passed on to it.
const COMMAND_GRACE: Duration = Duration::from_secs(5);
/// A saturated flow keeps at most so many packets in a queue, however long the queue is.
const SATURATION_PACKETS_MAX: u32 = 2000;
/// What a packet counts for where a queue is bounded in bytes.
const PACKET_BYTES: u64 = 1500;
/// Ethernet header.
const FRAME_OVERHEAD_BYTES: usize = crate::frame::HEADER_BYTES;

/// What may be chosen.
#[derive(Clone, Debug, Default)]
pub struct EmulateOptions {
    /// Ends the emulation after this long, instead of after the scenario's
    /// duration or with the command.
    pub duration: Option<Duration>,
    /// A program to run behind the hop, on our terminal; the emulation ends with it.
    pub command: Option<Vec<OsString>>,
    /// The node to run it in; the first station if `None`.
    pub in_node: Option<String>,
    /// Number of the run under the scenario's seed.
    pub run: u64,
    /// The kind of devices to use.
    pub device: DeviceChoice,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq)]
pub struct EmulateOutcome {
    /// Exit status of the command, as a shell gives it: 128 and the number of a signal.
    pub exit_status: Option<i32>,
    /// A signal ended it.
    pub interrupted: bool,
    /// How long it lasted.
    pub duration: Duration,
    /// How late frames were handed over, in nanoseconds; weights are frames.
    pub lateness_ns: Levels,
    /// One delivery in a hundred was later than the scenario allows.
    pub late: bool,
    /// What the machines counted.
    pub stats: NetworkStats,
    /// What the `[[run]]` programs wrote, in their order.
    pub programs: Vec<ProgramOutcome>,
    /// Frames that entered the network.
    pub frames_entered: u64,
    /// Frames handed over to nodes.
    pub frames_delivered: u64,
    /// Frames lost outside the model, because the emulator did not read them in
    /// time or an interface refused them. Should be zero.
    pub frames_lost_outside: u64,
    /// How the loop was scheduled.
    pub scheduling: Scheduling,
    /// TAP devices were used; veth pairs otherwise.
    pub tap: bool,
    /// Processor time of the loop.
    pub cpu: Duration,
}

/// What came of a `[[run]]` program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramOutcome {
    /// Where it ran.
    pub node: NodeId,
    /// Program and arguments.
    pub command: Vec<String>,
    /// Exit status as a shell gives it; `None` if it had to be killed, or was never started.
    pub exit_status: Option<i32>,
    /// What it wrote to standard output and standard error.
    pub output: Vec<u8>,
}

/// There can be one emulation at a time in a process: signals and the foreground are one.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// Runs `scenario` in real time, telling `sink` what happens.
///
/// `on_tick` is called every [`TICK`] from the loop itself, so it must be done within
/// microseconds: hand a copy to another thread rather than draw.
///
/// Changes the calling thread's scheduling and the process's handling of SIGINT,
/// SIGTERM, SIGHUP and SIGQUIT while it runs.
///
/// # Errors
/// What could not be done; nothing is left behind then either.
pub fn emulate<S: Sink>(
    scenario: &Scenario,
    options: &EmulateOptions,
    sink: &mut S,
    on_tick: &mut dyn FnMut(Instant, &mut S),
) -> Result<EmulateOutcome, EmulateError> {
    let _one = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let layout = Layout::new(&scenario.nodes, scenario.emulation.mtu);
    let seed = Seed::new(scenario.seed, options.run);
    let mut config = scenario.network_for(seed);
    if let Some(cell) = &mut config.cell {
        cell.record_events = sink.wants_events();
    }
    let network = Network::new(&config, seed)?;
    let mut jobs = Jobs::new(scenario, options, &layout)?;
    let end = match (options.duration, &options.command) {
        (Some(duration), _) => Instant::ZERO + duration,
        (None, Some(_)) => Instant::MAX,
        (None, None) => Instant::ZERO + scenario.duration,
    };
    let flows = flow_plans(scenario, seed, end)?;
    let signals = Signals::catch()?;
    let terminal = options.command.as_ref().and_then(|_| Terminal::foreground());
    let plan = plan(&layout, &flows, &mut jobs, options.device, terminal.is_some());
    let (keeper, devices, sockets) =
        Keeper::start(&plan).map_err(|error| explain(error, scenario))?;
    let tap = matches!(devices, Devices::Tap(_));
    let frame_bytes_max = usize::from(scenario.emulation.mtu) + FRAME_OVERHEAD_BYTES;
    let ports = Ports::new(devices, frame_bytes_max)?;
    let drops_before: u64 = keeper.count_drops(layout.nodes.len())?.iter().sum();

    let mut sockets = sockets.into_iter();
    let mut with_sockets = Vec::new();
    let mut saturated = Vec::new();
    for (index, flow) in flows.into_iter().enumerate() {
        if let Kind::Datagrams(SourceConfig::Saturated { .. }) = flow.kind {
            let node = scenario.flows[index].from;
            saturated.push(Saturated::new(index, flow.id, node, &config));
        }
        let second = flow.sockets().1.is_some();
        let source = sockets.next().expect("the keeper made all that were asked for");
        with_sockets.push((flow, source, second.then(|| sockets.next()).flatten()));
    }
    let ends = scenario.flows.iter().map(|f| Ends { from: f.from, to: f.to }).collect();

    let clock = Clock::start();
    let traffic = Traffic::start(with_sockets, clock, scenario.series_interval)?;
    let priority = Priority::raise();
    let hop = Hop::new(network, ports, layout.doors.clone(), ends, frame_bytes_max, clock, sink);
    let cpu_before = thread_cpu_nanos();
    let mut session = Session {
        scenario,
        hop,
        keeper: &keeper,
        signals: &signals,
        terminal: terminal.as_ref(),
        traffic: &traffic,
        jobs: &mut jobs,
        saturated,
        end,
        deadline: None,
        interrupted: false,
    };
    session.run(clock, on_tick)?;
    let duration = clock.now() - Instant::ZERO;
    let interrupted = session.interrupted;
    let counts = session.hop.counts.clone();
    let unread = session.hop.unread_drops();
    let stats = session.hop.network.stats();
    drop(session);
    let cpu = Duration::from_nanos(thread_cpu_nanos() - cpu_before);
    let scheduling = priority.scheduling();
    drop(priority);
    drop(traffic);
    let drops_after: u64 = keeper.count_drops(layout.nodes.len())?.iter().sum();
    drop(keeper);
    let worst = counts.lateness_ns.quantile(0.99).unwrap_or(0);
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
        scheduling,
        tap,
        cpu,
    })
}

/// The programs and what is known of them.
#[derive(Debug)]
struct Jobs {
    /// The command behind the hop is the first, if there is one.
    has_command: bool,
    list: Vec<JobState>,
}

#[derive(Debug)]
struct JobState {
    port: u16,
    node_name: String,
    command: Vec<CString>,
    environment: Vec<CString>,
    output: Option<File>,
    start: Instant,
    life: Life,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Life {
    Waiting,
    Running,
    Ended(i32),
}

impl Jobs {
    fn new(
        scenario: &Scenario,
        options: &EmulateOptions,
        layout: &Layout,
    ) -> Result<Self, EmulateError> {
        let mut list = Vec::new();
        if let Some(command) = &options.command {
            let node = command_node(scenario, layout, options.in_node.as_deref())?;
            list.push(JobState::new(scenario, layout, node, command.clone(), Instant::ZERO, None)?);
        }
        for program in &scenario.programs {
            let words = program.command.iter().map(OsString::from).collect();
            let output = Some(output_file()?);
            let (node, start) = (program.node, program.start);
            list.push(JobState::new(scenario, layout, node, words, start, output)?);
        }
        Ok(Self { has_command: options.command.is_some(), list })
    }

    fn command_status(&self) -> Option<i32> {
        match self.list.first()?.life {
            Life::Ended(status) if self.has_command => Some(status),
            _ => None,
        }
    }

    fn running(&self) -> impl Iterator<Item = u32> {
        let running =
            |(index, job): (usize, &JobState)| (job.life == Life::Running).then_some(index as u32);
        self.list.iter().enumerate().filter_map(running)
    }

    fn outcomes(&mut self, scenario: &Scenario) -> Vec<ProgramOutcome> {
        let first = usize::from(self.has_command);
        let programs = scenario.programs.iter().zip(&mut self.list[first..]);
        let outcome =
            |(program, job): (&lasthop_scenario::Program, &mut JobState)| ProgramOutcome {
                node: program.node,
                command: program.command.clone(),
                exit_status: match job.life {
                    Life::Ended(status) => Some(status),
                    _ => None,
                },
                output: job.output.as_mut().map(read_output).unwrap_or_default(),
            };
        programs.map(outcome).collect()
    }
}

impl JobState {
    fn new(
        scenario: &Scenario,
        layout: &Layout,
        node: NodeId,
        words: Vec<OsString>,
        start: Instant,
        output: Option<File>,
    ) -> Result<Self, EmulateError> {
        let to_c = |word: OsString| {
            let text = word.to_string_lossy().into_owned();
            CString::new(word.into_vec()).map_err(|_| EmulateError::ZeroByte { word: text })
        };
        let node_name = scenario.nodes[node.index()].name.clone();
        let port = layout.doors.ports[node.index()].ok_or_else(|| EmulateError::UnknownNode {
            name: node_name.clone(),
            known: names(layout),
        })?;
        Ok(Self {
            port,
            node_name,
            command: words.into_iter().map(to_c).collect::<Result<_, _>>()?,
            environment: layout.environment(port),
            output,
            start,
            life: Life::Waiting,
        })
    }
}

/// The node that the command is to run in.
fn command_node(
    scenario: &Scenario,
    layout: &Layout,
    wanted: Option<&str>,
) -> Result<NodeId, EmulateError> {
    let known = || names(layout);
    match wanted {
        Some(name) => scenario
            .node(name)
            .ok_or_else(|| EmulateError::UnknownNode { name: name.into(), known: known() }),
        None => {
            let station = scenario.nodes.iter().position(|node| node.role == Role::Station);
            let node = station.map(|index| NodeId(index as u16));
            node.ok_or_else(|| EmulateError::NoStation { known: known() })
        }
    }
}

fn names(layout: &Layout) -> String {
    let names: Vec<&str> = layout.nodes.iter().map(|node| node.name.as_str()).collect();
    names.join(", ")
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
    let plan = |(index, flow): (usize, &lasthop_scenario::Flow)| FlowPlan {
        id: FlowId(index as u16),
        kind: match &flow.kind {
            FlowKind::Tcp(tcp) => {
                Kind::Tcp { congestion_control: tcp.congestion_control.clone(), bytes: tcp.bytes }
            }
            FlowKind::Udp(source) | FlowKind::Video(source) => Kind::Datagrams(source.clone()),
            FlowKind::Ping { interval, bytes } => Kind::Ping { interval: *interval, bytes: *bytes },
        },
        from: ipv4(flow.from),
        to: ipv4(flow.to),
        start: flow.start,
        stop: flow.stop.map_or(end, |stop| stop.min(end)),
        access_category: flow.access_category,
        stream: seed.indexed("flow", index as u64),
    };
    Ok(scenario.flows.iter().enumerate().map(plan).collect())
}

fn plan(
    layout: &Layout,
    flows: &[FlowPlan],
    jobs: &mut Jobs,
    device: DeviceChoice,
    foreground: bool,
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
    let job = |job: &JobState| Job {
        node: usize::from(job.port),
        command: job.command.clone(),
        environment: job.environment.clone(),
        output: job.output.as_ref().map(|file| {
            file.try_clone().expect("a descriptor can be doubled while there are few").into()
        }),
        foreground,
    };
    Plan {
        nodes: layout.nodes.clone(),
        device,
        sockets,
        jobs: jobs.list.iter().map(job).collect(),
        hosts: layout.hosts(),
        nsswitch: layout.nsswitch(),
    }
}

/// A refused congestion control is an error of the scenario, not of the system.
fn explain(error: OsError, scenario: &Scenario) -> EmulateError {
    let refused = |flow: &&lasthop_scenario::Flow| match &flow.kind {
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

/// A flow that keeps its queue full.
#[derive(Debug)]
struct Saturated {
    /// Index among the traffic's flows.
    index: usize,
    id: FlowId,
    node: NodeId,
    /// Packets that its queue shall hold.
    target: u32,
    /// Packets that it was allowed to send so far.
    granted: u64,
    /// What had entered at the last tick.
    entered_before: u64,
}

impl Saturated {
    fn new(index: usize, id: FlowId, node: NodeId, network: &NetworkConfig) -> Self {
        let target = queue_packets_max(node, network).min(SATURATION_PACKETS_MAX);
        Self { index, id, node, target, granted: 0, entered_before: 0 }
    }
}

/// Packets that the queue at the beginning of every path from `node` has room for.
fn queue_packets_max(node: NodeId, network: &NetworkConfig) -> u32 {
    let station = network.nodes[node.index()].station;
    let queue = match (station, &network.cell) {
        (Some(station), Some(cell)) => Some(cell.stations[station.index()].queue),
        _ => {
            let leaving = |link: &WiredLink| {
                let direction = link.ends.iter().position(|end| *end == node)?;
                Some(link.directions[direction].queue)
            };
            network.wires.iter().find_map(leaving)
        }
    };
    match queue {
        Some(QueueConfig::DropTail { limit } | QueueConfig::CoDel { limit, .. }) => match limit {
            Limit::Packets(packets) => packets,
            Limit::Bytes(bytes) => (bytes.as_u64() / PACKET_BYTES) as u32,
        },
        Some(QueueConfig::FqCodel { limit_packets, .. }) => limit_packets,
        None => 1,
    }
}

const DOORS: u64 = 1 << 32;
const KEEPER: u64 = 1;
const SIGNALS: u64 = 2;
const TIMER: u64 = 3;

/// The loop and what it works with.
struct Session<'a, S: Sink> {
    scenario: &'a Scenario,
    hop: Hop<'a, S>,
    keeper: &'a Keeper,
    signals: &'a Signals,
    terminal: Option<&'a Terminal>,
    traffic: &'a Traffic,
    jobs: &'a mut Jobs,
    saturated: Vec<Saturated>,
    /// When the run is over.
    end: Instant,
    /// Once it is ending: when to wait no longer.
    deadline: Option<Instant>,
    interrupted: bool,
}

impl<S: Sink> Session<'_, S> {
    fn run(
        &mut self,
        clock: Clock,
        on_tick: &mut dyn FnMut(Instant, &mut S),
    ) -> Result<(), EmulateError> {
        let waiter = Waiter::new()?;
        let mut timer = Timer::new()?;
        waiter.add_readable(timer.as_fd(), TIMER)?;
        waiter.add_readable(self.keeper.as_fd(), KEEPER)?;
        waiter.add_readable(self.signals.as_fd(), SIGNALS)?;
        for (door, fd) in self.hop.ports().doors().into_iter().enumerate() {
            waiter.add_readable(fd, DOORS + door as u64)?;
        }
        let mut next_tick = Instant::ZERO + TICK;
        let mut next_sample = Instant::ZERO + self.scenario.series_interval;
        let mut ready = Vec::new();
        loop {
            self.start_jobs(clock.now())?;
            if self.hop.take_room() {
                self.grant_room(false);
            }
            let wakeups = [self.hop.next_wakeup(), self.next_start(), self.deadline];
            let next = wakeups.into_iter().flatten().min();
            let next = next.unwrap_or(Instant::MAX).min(next_tick).min(next_sample).min(self.end);
            timer.set(clock, Some(next))?;
            waiter.wait(&mut ready)?;
            self.hop.advance(clock.now());
            for &token in &ready {
                match token {
                    TIMER => timer.expired(),
                    KEEPER => self.hear_keeper()?,
                    SIGNALS => self.hear_signals()?,
                    door => self.hop.take_frames((door - DOORS) as usize),
                }
            }
            self.pass_notes_on();
            let now = clock.now();
            self.hop.advance(now);
            if now >= next_sample {
                self.sample_queues(now);
                while next_sample <= now {
                    next_sample += self.scenario.series_interval;
                }
            }
            if now >= next_tick {
                self.grant_room(true);
                on_tick(now, self.hop.sink);
                while next_tick <= now {
                    next_tick += TICK;
                }
            }
            if now >= self.end {
                self.end = Instant::MAX;
                self.wind_up(now)?;
            }
            if self
                .deadline
                .is_some_and(|deadline| now >= deadline || self.jobs.running().next().is_none())
            {
                return Ok(());
            }
        }
    }

    /// When the next program is due.
    fn next_start(&self) -> Option<Instant> {
        let waiting = self.jobs.list.iter().filter(|job| job.life == Life::Waiting);
        waiting.map(|job| job.start).min().filter(|_| self.deadline.is_none())
    }

    fn start_jobs(&mut self, now: Instant) -> Result<(), EmulateError> {
        if self.deadline.is_some() {
            return Ok(());
        }
        for (index, job) in self.jobs.list.iter_mut().enumerate() {
            if job.life == Life::Waiting && job.start <= now {
                job.life = Life::Running;
                self.keeper.order(KeeperOrder::Start { job: index as u32 })?;
            }
        }
        Ok(())
    }

    fn hear_keeper(&mut self) -> Result<(), EmulateError> {
        while let Some(report) = self.keeper.report()? {
            match report {
                KeeperReport::Exited { job, status } => {
                    self.jobs.list[job as usize].life = Life::Ended(status);
                    if job == 0 && self.jobs.has_command {
                        self.wind_up(self.hop.now())?;
                    }
                }
                KeeperReport::Stopped { job } => {
                    if let Some(terminal) = self.terminal
                        && job == 0
                    {
                        // As a shell would: we stop as well, and go on with it.
                        terminal.take_back();
                        stop_ourselves();
                        self.keeper.order(KeeperOrder::Resume { job })?;
                    }
                }
                KeeperReport::NotStarted { job, errno } => {
                    let job = &self.jobs.list[job as usize];
                    let program = job.command.first().map(|word| word.to_string_lossy());
                    return Err(EmulateError::NotStarted {
                        command: program.unwrap_or_default().into_owned(),
                        node: job.node_name.clone(),
                        reason: nix::errno::Errno::from_raw(errno).desc().into(),
                    });
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The first signal ends the run, or goes to the command if there is one; the second ends all.
    fn hear_signals(&mut self) -> Result<(), EmulateError> {
        for signal in self.signals.take() {
            let now = self.hop.now();
            if self.interrupted {
                self.deadline = Some(now);
                continue;
            }
            self.interrupted = true;
            if self.jobs.has_command && self.jobs.list[0].life == Life::Running {
                self.keeper.order(KeeperOrder::Signal { job: 0, signal: signal as i32 })?;
                self.deadline = Some(now + COMMAND_GRACE);
            } else {
                self.wind_up(now)?;
            }
        }
        Ok(())
    }

    /// Asks the programs to end, and waits for them a while; the network goes on meanwhile.
    fn wind_up(&mut self, now: Instant) -> Result<(), EmulateError> {
        for job in self.jobs.running() {
            self.keeper.order(KeeperOrder::Signal { job, signal: libc::SIGTERM })?;
        }
        self.deadline = Some(self.deadline.unwrap_or(Instant::MAX).min(now + GRACE));
        Ok(())
    }

    fn pass_notes_on(&mut self) {
        while let Some(note) = self.traffic.note() {
            match note {
                Note::Tcp(at, flow, sample) => self.hop.sink.tcp(at, flow, &sample),
                Note::RoundTrip(at, flow, rtt) => self.hop.sink.round_trip(at, flow, rtt),
            }
        }
    }

    fn sample_queues(&mut self, now: Instant) {
        for (index, node) in self.scenario.nodes.iter().enumerate() {
            if node.role.is_wifi() {
                let node = NodeId(index as u16);
                let packets = self.hop.network.wifi_packets(node);
                self.hop.sink.queue(now, node, packets);
            }
        }
    }

    /// Keeps the queues of saturated flows full. A packet that was allowed and has
    /// not entered yet is on its way; if none came for a whole tick, they are
    /// lost (ARP was not answered), and allowed again.
    fn grant_room(&mut self, tick: bool) {
        for flow in &mut self.saturated {
            let entered = self.hop.entered(flow.id);
            if tick && entered == flow.entered_before {
                flow.granted = entered;
            }
            if tick {
                flow.entered_before = entered;
            }
            let coming = u32::try_from(flow.granted.saturating_sub(entered)).unwrap_or(u32::MAX);
            let queued = self.hop.network.queue_packets(flow.node);
            let room = flow.target.saturating_sub(queued.saturating_add(coming));
            if room > flow.target / 8 {
                flow.granted += u64::from(room);
                self.traffic.grant(flow.index, room);
            }
        }
    }
}

//! The supervisor: a child process, first of a new PID namespace, that holds the nodes' network
//! namespaces, makes devices and sockets in them, and runs the programs. The emulator stays in its
//! own namespaces and receives the descriptors.
//!
//! Between them is a guard, because a PID namespace begins with the next child of a
//! process. Each is killed when its parent dies (`PR_SET_PDEATHSIG`), and the kernel
//! kills all processes of a PID namespace whose first process dies. So no process,
//! namespace, device or file is left, whichever process is killed. An emulation that
//! ends in order waits for that: the guard kills the supervisor, which the kernel ends
//! after all other processes of its namespace, and then exits.

use super::device::{self, DeviceChoice, Interface};
use super::forward::{Route, Tally, datagrams_at, forward, listen_at};
use super::namespace::{self, NetNamespace};
use super::port::Devices;
use super::ready::{Awaited, Probe};
use super::report::{
    Order, Report, poll_report, receive_order, receive_report, send_order, send_report,
};
use super::ring::packet_socket;
use super::sender::program_at;
use super::slirp::{self, Namespaces};
use super::terminal::put_in_foreground;
use super::{Call, OsError};
use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sched::{CloneFlags, unshare};
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, kill, killpg, sigaction};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket, socketpair};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{ForkResult, Pid, dup2_stderr, dup2_stdout, execvpe, fork, pipe2, setpgid};
use std::collections::BTreeSet;
use std::ffi::CString;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

pub use super::report::Report as SupervisorReport;

/// Interval of the checks whether a job is ready, in milliseconds.
const PROBE_MS: u8 = 20;

/// Namespaces, devices and programs that the supervisor makes.
#[derive(Debug)]
pub struct Plan {
    /// Nodes of the emulation.
    pub nodes: Vec<Node>,
    /// Kind of the nodes' devices.
    pub device: DeviceChoice,
    /// The sockets to make in their namespaces.
    pub sockets: Vec<Socket>,
    /// The programs that may be started in them.
    pub jobs: Vec<Job>,
    /// The files of `/etc` that the programs see instead of the system's, by name.
    pub files: Vec<(&'static str, String)>,
    /// Ways between the nodes and the machine's own network; `None`: there are none.
    pub outside: Option<Outside>,
}

/// The ways between the nodes and the machine.
#[derive(Debug)]
pub struct Outside {
    /// The node in which the outside begins, for packets from the nodes.
    pub gateway: Option<Gateway>,
    /// Sockets of the machine, and the nodes that they lead to.
    pub published: Vec<Published>,
    /// Counters of the ways' traffic.
    pub tally: Arc<Tally>,
}

/// The node in which the outside begins.
#[derive(Clone, Copy, Debug)]
pub struct Gateway {
    /// Position of the node.
    pub node: usize,
    /// Another address of the node, which stands for the machine.
    pub machine: Ipv4Addr,
    /// Whether the node forwards packets with an unknown destination, which all others send to it.
    pub is_router: bool,
}

/// A port of the machine that leads to a node.
#[derive(Debug)]
pub struct Published {
    /// Position of the node in which its connections and datagrams enter the network.
    pub from: usize,
    /// The sockets of the machine, and the address of the other end.
    pub route: Route,
}

/// A node with an interface.
#[derive(Clone, Debug)]
pub struct Node {
    /// Host name of the node.
    pub name: String,
    /// Interface of the node.
    pub interface: Interface,
}

/// A socket to make.
#[derive(Clone, Debug)]
pub struct Socket {
    /// Position of the node in whose namespace it is.
    pub node: usize,
    /// The kind of socket.
    pub kind: SocketKind,
}

/// The kinds of sockets that traffic needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SocketKind {
    /// TCP, listening at this address.
    Listener(SocketAddr),
    /// UDP, at this address.
    Datagrams(SocketAddr),
    /// TCP, with a congestion control or the system's default.
    Tcp {
        /// Name as in `tcp_available_congestion_control`; `None`: the default.
        congestion_control: Option<String>,
    },
    /// A UDP socket.
    Udp,
    /// ICMP echo (icmp(7)).
    Ping,
    /// A UNIX socket that listens at this abstract name ([`door`](super::door)).
    Door(String),
}

/// A program to run.
#[derive(Debug)]
pub struct Job {
    /// Position of the node in whose namespace it runs.
    pub node: usize,
    /// The program and its arguments.
    pub command: Vec<CString>,
    /// Whole environment of the program, each variable as `NAME=value`.
    pub environment: Vec<CString>,
    /// The file for its output; `None`: it has the emulator's standard input, output and error.
    pub output: Option<OwnedFd>,
    /// Whether it runs in the foreground of the terminal.
    pub foreground: bool,
    /// Condition under which the program is ready, which is then reported.
    pub ready: Option<Awaited>,
}

/// The emulator's side of the supervisor. On drop, all processes of its namespaces end.
#[derive(Debug)]
pub struct Supervisor {
    control: Option<OwnedFd>,
    guard: Pid,
    /// Namespaces of the node in which the outside begins, if it is a router.
    outside: Option<Namespaces>,
}

impl Supervisor {
    /// Makes the namespaces, and the nodes of `plan` in them. Returns the devices by node, and the
    /// sockets in the order of the plan.
    ///
    /// # Errors
    /// The refused system call, with advice.
    #[expect(unsafe_code, reason = "fork")]
    pub fn start(plan: &Plan) -> Result<(Self, Devices, Vec<OwnedFd>), OsError> {
        let kind = SockType::SeqPacket;
        let (ours, theirs) = socketpair(AddressFamily::Unix, kind, None, SockFlag::SOCK_CLOEXEC)
            .call("socketpair")?;
        // SAFETY: the child has a single thread; the C library keeps its allocator usable in it.
        let guard = match unsafe { fork() }.call("fork")? {
            ForkResult::Child => guard_and_never_return(&theirs, plan),
            ForkResult::Parent { child } => child,
        };
        let mut supervisor = Self { control: Some(ours), guard, outside: None };
        drop(theirs);
        let (devices, sockets) = supervisor.collect()?;
        Ok((supervisor, devices, sockets))
    }

    /// Sends an order to the supervisor.
    pub fn order(&self, order: SupervisorOrder) -> Result<(), OsError> {
        send_order(self.control(), order).call("send(supervisor)")
    }

    /// Returns the next report; `Ok(None)` if none waits.
    ///
    /// # Errors
    /// If the supervisor is gone.
    pub fn report(&self) -> Result<Option<Report>, OsError> {
        match poll_report(self.control()) {
            Ok(Some(report)) => Ok(Some(report)),
            Ok(None) => {
                Err(OsError::new("the supervisor of the namespaces was killed", Errno::ESRCH))
            }
            Err(Errno::EAGAIN) => Ok(None),
            Err(errno) => Err(OsError::new("recv(supervisor)", errno)),
        }
    }

    /// The descriptor that is readable while a report waits.
    pub fn as_fd(&self) -> BorrowedFd<'_> {
        self.control().as_fd()
    }

    /// Returns for each node the number of frames that its interface dropped on sending, that is
    /// before they entered the model.
    pub fn count_drops(&self, nodes: usize) -> Result<Vec<u64>, OsError> {
        self.order(Order::CountDrops)?;
        let mut drops = Vec::new();
        while drops.len() < nodes {
            match receive_report(self.control()).call("recv(supervisor)")? {
                Some((Report::Drops { frames }, _)) => drops.push(u64::from(frames)),
                Some(_) => {}
                None => return Err(OsError::new("recv(supervisor)", Errno::ESRCH)),
            }
        }
        Ok(drops)
    }

    fn control(&self) -> &OwnedFd {
        self.control.as_ref().expect("it is taken in drop only")
    }

    /// The namespaces of the node in which the outside begins, if it is a router.
    pub fn outside(&self) -> Option<&Namespaces> {
        self.outside.as_ref()
    }

    /// Makes the node in which the outside begins forward packets to slirp4netns, whose interface
    /// is there.
    pub fn route(&self) -> Result<(), OsError> {
        self.order(Order::Route)?;
        loop {
            match receive_report(self.control()).call("recv(supervisor)")? {
                Some((Report::Ready, _)) => return Ok(()),
                Some((Report::Failed(error), _)) => return Err(error),
                Some(_) => {}
                None => return Err(OsError::new("recv(supervisor)", Errno::ESRCH)),
            }
        }
    }

    fn collect(&mut self) -> Result<(Devices, Vec<OwnedFd>), OsError> {
        let (mut taps, mut interfaces, mut sockets) = (Vec::new(), Vec::new(), Vec::new());
        let mut packet_socket = None;
        loop {
            match receive_report(self.control()).call("recv(supervisor)")? {
                Some((Report::Tap, Some(fd))) => taps.push(fd),
                Some((Report::Socket, Some(fd))) => sockets.push(fd),
                Some((Report::PacketSocket, Some(fd))) => packet_socket = Some(fd),
                Some((Report::NetNamespace, Some(net))) => {
                    self.outside = Some(Namespaces { net, user: None });
                }
                Some((Report::UserNamespace, Some(user))) => {
                    if let Some(outside) = &mut self.outside
                        && !namespace::is_own_user(&user)
                    {
                        outside.user = Some(user);
                    }
                }
                Some((Report::Interface(index), _)) => interfaces.push(index),
                Some((Report::Failed(error), _)) => return Err(error),
                Some((Report::Ready, _)) => break,
                Some(_) => return Err(OsError::new("recv(supervisor)", Errno::EBADMSG)),
                None => {
                    return Err(OsError::new("the supervisor died while starting", Errno::ESRCH));
                }
            }
        }
        let devices = match packet_socket {
            Some(socket) => Devices::Veth { socket, interfaces },
            None => Devices::Tap(taps),
        };
        Ok((devices, sockets))
    }
}

pub use super::report::Order as SupervisorOrder;

impl Drop for Supervisor {
    fn drop(&mut self) {
        self.control = None;
        // The guard ends when all others are dead.
        let _ = kill(self.guard, Signal::SIGTERM);
        while waitpid(self.guard, None) == Err(Errno::EINTR) {}
    }
}

/// Runs the guard.
fn guard_and_never_return(control: &OwnedFd, plan: &Plan) -> ! {
    let life = || -> Result<(), OsError> {
        // Signals from the terminal are for the emulator and its command only.
        setpgid(Pid::from_raw(0), Pid::from_raw(0)).call("setpgid")?;
        default_signals();
        close_others(control, plan);
        namespace::enter()?;
        die_with_parent();
        // From here on SIGTERM ends the supervisor first; not before its number is known.
        let ending = SigSet::from(Signal::SIGTERM);
        ending.thread_block().call("sigprocmask")?;
        #[expect(unsafe_code, reason = "fork")]
        // SAFETY: this process has a single thread.
        match unsafe { fork() }.call("fork")? {
            ForkResult::Child => {
                let _ = SigSet::empty().thread_set_mask();
                keep_and_never_return(control, plan)
            }
            ForkResult::Parent { child } => {
                end_before(child).and_then(|()| ending.thread_unblock()).call("sigaction")?;
                // The emulator is told of the supervisor's end by its socket, so ours must not hold it.
                close(control.as_raw_fd());
                while waitpid(child, None) == Err(Errno::EINTR) {}
                Ok(())
            }
        }
    };
    exit(std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        if let Err(error) = life() {
            let _ = send_report(control, &Report::Failed(error), None);
        }
    })))
}

/// The process ID of the supervisor, for the guard's signal handler.
static KEEPER: AtomicI32 = AtomicI32::new(0);

/// Makes SIGTERM kill `supervisor` from now on. The supervisor is reaped once all processes of its
/// namespace are dead.
#[expect(unsafe_code, reason = "installs a signal handler")]
fn end_before(supervisor: Pid) -> nix::Result<()> {
    KEEPER.store(supervisor.as_raw(), Ordering::Relaxed);
    let handler = SigHandler::Handler(kill_supervisor);
    let action = SigAction::new(handler, SaFlags::empty(), SigSet::empty());
    // SAFETY: the handler does only what signal-safety(7) allows.
    unsafe { sigaction(Signal::SIGTERM, &action) }.map(drop)
}

#[expect(unsafe_code, reason = "kill(2) in a signal handler")]
extern "C" fn kill_supervisor(_: libc::c_int) {
    let errno = Errno::last_raw();
    // SAFETY: takes numbers only; the supervisor is not reaped yet, or its number not used again,
    // since the guard ends as soon as it has reaped it.
    unsafe { libc::kill(KEEPER.load(Ordering::Relaxed), libc::SIGKILL) };
    Errno::set_raw(errno);
}

/// Runs the supervisor.
fn keep_and_never_return(control: &OwnedFd, plan: &Plan) -> ! {
    exit(std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        die_with_parent();
        match Inside::prepare(control, plan) {
            Ok(inside) => inside.serve(),
            Err(error) => {
                let _ = send_report(control, &Report::Failed(error), None);
            }
        }
    })))
}

/// The state of the supervisor.
struct Inside<'a> {
    control: &'a OwnedFd,
    plan: &'a Plan,
    namespaces: Vec<NetNamespace>,
    processes: Vec<Option<Pid>>,
    /// Probes of the jobs that were started and are not ready.
    probes: Vec<Option<Probe>>,
}

impl<'a> Inside<'a> {
    /// Makes the devices and sockets of the plan, and sends their descriptors to the emulator.
    fn prepare(control: &'a OwnedFd, plan: &'a Plan) -> Result<Self, OsError> {
        let send = |report: Report, fd: Option<&OwnedFd>| {
            send_report(control, &report, fd).call("send(emulator)")
        };
        namespace::prepare_mounts(&plan.files)?;
        let hub = NetNamespace::current()?;
        let tap = match plan.device {
            DeviceChoice::Tap => true,
            DeviceChoice::Veth => false,
            DeviceChoice::Automatic => device::tap_opens(),
        };
        if !tap {
            namespace::disable_ipv6();
            let socket = packet_socket().call("socket(AF_PACKET)")?;
            send(Report::PacketSocket, Some(&socket))?;
        }
        let mut namespaces = Vec::new();
        for (i, node) in plan.nodes.iter().enumerate() {
            let namespace = NetNamespace::create()?;
            namespace::quieten();
            if tap {
                send(Report::Tap, Some(&device::create_tap(&node.interface)?))?;
            } else {
                let peer = format!("node{i}");
                let index = device::create_veth(&node.interface, &peer, &namespace, &hub)?;
                send(Report::Interface(index), None)?;
            }
            namespaces.push(namespace);
        }
        if let Some(outside) = &plan.outside {
            if let Some(gateway) = &outside.gateway {
                open_outside(gateway, plan, &namespaces)?;
                if gateway.is_router {
                    send(Report::NetNamespace, Some(namespaces[gateway.node].fd()))?;
                    send(Report::UserNamespace, Some(&namespace::own_user()?))?;
                }
            }
            let entries: BTreeSet<usize> = outside.published.iter().map(|it| it.from).collect();
            for entry in entries {
                publish(outside, entry, &namespaces[entry])?;
            }
        }
        introduce(plan, &namespaces)?;
        for socket in &plan.sockets {
            namespaces[socket.node].enter()?;
            send(Report::Socket, Some(&open_socket(&socket.kind)?))?;
        }
        send(Report::Ready, None)?;
        let jobs = plan.jobs.len();
        let (processes, probes) = (vec![None; jobs], vec![None; jobs]);
        Ok(Self { control, plan, namespaces, processes, probes })
    }

    /// Executes orders until the emulator is gone.
    fn serve(mut self) {
        let mut mask = SigSet::empty();
        mask.add(Signal::SIGCHLD);
        let flags = SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK;
        let Ok(children) = mask.thread_block().and_then(|()| SignalFd::with_flags(&mask, flags))
        else {
            return;
        };
        loop {
            let mut waiting = [
                PollFd::new(self.control.as_fd(), PollFlags::POLLIN),
                PollFd::new(children.as_fd(), PollFlags::POLLIN),
            ];
            let is_asked = self.probes.iter().any(Option::is_some);
            let timeout = if is_asked { PROBE_MS.into() } else { PollTimeout::NONE };
            if poll(&mut waiting, timeout).is_err() {
                continue;
            }
            let [orders, ended] = waiting.map(|w| w.any().unwrap_or(false));
            (0..self.probes.len()).for_each(|job| self.probe(job));
            if ended {
                let _ = children.read_signal();
                self.reap();
            }
            if orders {
                match receive_order(self.control) {
                    Ok(Some(order)) => self.obey(order),
                    Ok(None) | Err(_) => return,
                }
            }
        }
    }

    fn obey(&mut self, order: Order) {
        match order {
            Order::Start { job } => {
                let probe = self.plan.jobs[job as usize].ready.as_ref().map(Probe::new);
                match self.start_job(job as usize) {
                    Ok(process) => {
                        self.processes[job as usize] = Some(process);
                        self.probes[job as usize] = probe;
                    }
                    Err(errno) => self.report(&Report::NotStarted { job, errno: errno as i32 }),
                }
            }
            Order::Signal { job, signal } => {
                if let (Some(process), Ok(signal)) =
                    (self.processes[job as usize], Signal::try_from(signal))
                {
                    let _ = killpg(process, signal);
                }
            }
            Order::Resume { job } => {
                if let Some(process) = self.processes[job as usize] {
                    put_in_foreground(process);
                    let _ = killpg(process, Signal::SIGCONT);
                }
            }
            Order::FindSender { flow, node, protocol, port } => {
                // A namespace that is held can be entered.
                let _ = self.namespaces[usize::from(node)].enter();
                let name = program_at(protocol, port).unwrap_or_default();
                self.report(&Report::Sender { flow: u32::from(flow), name });
            }
            Order::Route => {
                let gateway = self.plan.outside.as_ref().and_then(|outside| outside.gateway);
                let node = gateway.map_or(0, |gateway| gateway.node);
                let routed = self.namespaces[node].enter();
                let routed = routed.and_then(|()| namespace::become_router(slirp::INTERFACE));
                self.report(&routed.map_or_else(Report::Failed, |()| Report::Ready));
            }
            Order::CountDrops => {
                for (namespace, node) in self.namespaces.iter().zip(&self.plan.nodes) {
                    let drops = namespace.enter();
                    let drops = drops.and_then(|()| device::transmit_drops(node.interface.name));
                    let frames = drops.unwrap_or(0).try_into().unwrap_or(u32::MAX);
                    self.report(&Report::Drops { frames });
                }
            }
        }
    }

    /// Reports the job if it has become ready.
    fn probe(&mut self, job: usize) {
        let Some(probe) = &self.probes[job] else { return };
        // A namespace that is held can be entered.
        let _ = self.namespaces[self.plan.jobs[job].node].enter();
        if probe.is_ready() {
            self.probes[job] = None;
            self.report(&Report::JobReady { job: job as u32 });
        }
    }

    /// As the first process of its PID namespace the supervisor reaps all orphans as well.
    fn reap(&mut self) {
        let flags = WaitPidFlag::WNOHANG | WaitPidFlag::WUNTRACED;
        while let Ok(status) = waitpid(None, Some(flags)) {
            let Some(pid) = status.pid() else { return };
            let Some(job) = self.processes.iter().position(|p| *p == Some(pid)) else { continue };
            let (index, job) = (job, job as u32);
            let report = match status {
                WaitStatus::Exited(_, status) => Report::Exited { job, status },
                WaitStatus::Signaled(_, signal, _) => {
                    Report::Exited { job, status: 128 + signal as i32 }
                }
                WaitStatus::Stopped(..) => Report::Stopped { job },
                _ => continue,
            };
            if report != (Report::Stopped { job }) {
                self.processes[index] = None;
                // What it did last counts.
                self.probe(index);
                self.probes[index] = None;
            }
            self.report(&report);
        }
    }

    /// Starts a job and waits until it runs its program.
    #[expect(unsafe_code, reason = "fork")]
    fn start_job(&self, index: usize) -> nix::Result<Pid> {
        let job = &self.plan.jobs[index];
        let (read, write) = pipe2(OFlag::O_CLOEXEC)?;
        // SAFETY: this process has a single thread.
        match unsafe { fork() }? {
            ForkResult::Child => {
                let errno = self.run_job(job);
                let _ = nix::unistd::write(&write, &(errno as i32).to_ne_bytes());
                exit(Ok(()))
            }
            ForkResult::Parent { child } => {
                drop(write);
                let mut errno = [0; 4];
                // Nothing to read means that `exec` has closed the other end.
                match nix::unistd::read(&read, &mut errno) {
                    Ok(4) => {
                        let _ = waitpid(child, None);
                        Err(Errno::from_raw(i32::from_ne_bytes(errno)))
                    }
                    _ => Ok(child),
                }
            }
        }
    }

    /// Turns the calling process into the job's program; returns if that fails.
    fn run_job(&self, job: &Job) -> Errno {
        let run = || -> nix::Result<()> {
            let own = Pid::from_raw(0);
            setpgid(own, own)?;
            match &job.output {
                Some(output) => {
                    nix::unistd::dup2_stdin(std::fs::File::open("/dev/null").map_err(errno_of)?)?;
                    dup2_stdout(output)?;
                    dup2_stderr(output)?;
                }
                None if job.foreground => put_in_foreground(nix::unistd::getpid()),
                None => {}
            }
            self.namespaces[job.node].enter().map_err(|e| Errno::from_raw(e.errno))?;
            // Its own host name is for the prompt of a shell; failure does not matter.
            if unshare(CloneFlags::CLONE_NEWUTS).is_ok() {
                let _ = nix::unistd::sethostname(&self.plan.nodes[job.node].name);
            }
            SigSet::empty().thread_set_mask()?;
            default_signals();
            let program = job.command.first().ok_or(Errno::ENOENT)?;
            execvpe(program, &job.command, &job.environment).map(drop)
        };
        run().err().unwrap_or(Errno::ENOENT)
    }

    fn report(&self, report: &Report) {
        // If it cannot be sent, the emulator is gone, which the next wait notices.
        let _ = send_report(self.control, report, None);
    }
}

/// Makes nodes with programs and all others known to each other. A program in a real network meets
/// a router that its machine already knows; without this the first packet would wait for an ARP
/// reply from a server behind wires.
fn introduce(plan: &Plan, namespaces: &[NetNamespace]) -> Result<(), OsError> {
    let with_jobs: BTreeSet<usize> = plan.jobs.iter().map(|job| job.node).collect();
    let gateway = plan.outside.as_ref().and_then(|outside| outside.gateway);
    for (index, (namespace, node)) in namespaces.iter().zip(&plan.nodes).enumerate() {
        let is_met = |other: usize| {
            other != index && (with_jobs.contains(&index) || with_jobs.contains(&other))
        };
        let met = plan.nodes.iter().enumerate().filter(|(other, _)| is_met(*other));
        let mut neighbours: Vec<_> = met
            .map(|(_, Node { interface, .. })| {
                (interface.ipv4, Some(interface.ipv6), interface.address)
            })
            .collect();
        if let Some(gateway) = gateway.filter(|gateway| is_met(gateway.node)) {
            let address = plan.nodes[gateway.node].interface.address;
            neighbours.push((gateway.machine, None, address));
        }
        if !neighbours.is_empty() {
            namespace.enter()?;
            device::add_neighbours(node.interface.name, &neighbours)?;
        }
    }
    Ok(())
}

/// Gives the nodes their routes to the outside, and the node where it begins its address.
fn open_outside(
    gateway: &Gateway,
    plan: &Plan,
    namespaces: &[NetNamespace],
) -> Result<(), OsError> {
    let interface = &plan.nodes[gateway.node].interface;
    for (index, (namespace, node)) in namespaces.iter().zip(&plan.nodes).enumerate() {
        namespace.enter()?;
        if index == gateway.node {
            device::add_address(interface.name, gateway.machine)?;
        } else if gateway.is_router {
            device::add_default_route(node.interface.name, interface.ipv4)?;
        }
    }
    Ok(())
}

/// Starts the process that carries connections from the machine to the nodes; they enter the
/// network at the node `entry`. The process is in the supervisor's PID namespace and ends with it.
#[expect(unsafe_code, reason = "fork")]
fn publish(outside: &Outside, entry: usize, namespace: &NetNamespace) -> Result<(), OsError> {
    // SAFETY: this process has a single thread.
    match unsafe { fork() }.call("fork")? {
        ForkResult::Parent { .. } => Ok(()),
        ForkResult::Child => exit(std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            die_with_parent();
            let entering = outside.published.iter().filter(|it| it.from == entry);
            let routes: Vec<&Route> = entering.map(|it| &it.route).collect();
            if namespace.enter().is_ok() {
                forward(&routes, &outside.tally, None);
            }
        }))),
    }
}

fn open_socket(kind: &SocketKind) -> Result<OwnedFd, OsError> {
    let inet = AddressFamily::Inet;
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    match kind {
        SocketKind::Tcp { congestion_control } => {
            let socket = socket(inet, SockType::Stream, flags, None).call("socket(TCP)")?;
            if let Some(name) = congestion_control {
                super::socket::set_congestion_control(&socket, name)
                    .call(&format!("setsockopt(TCP_CONGESTION, {name})"))?;
            }
            Ok(socket)
        }
        SocketKind::Listener(address) => listen_at(*address),
        SocketKind::Datagrams(address) => datagrams_at(*address),
        SocketKind::Door(name) => super::door::listen(name),
        SocketKind::Udp => socket(inet, SockType::Datagram, flags, None).call("socket(UDP)"),
        SocketKind::Ping => {
            let icmp = nix::sys::socket::SockProtocol::Icmp;
            socket(inet, SockType::Datagram, flags, icmp).call("socket(ICMP)")
        }
    }
}

/// Sets the default action for every signal, and blocks none, as a new program expects.
fn default_signals() {
    let default = SigAction::new(SigHandler::SigDfl, SaFlags::empty(), SigSet::empty());
    for signal in Signal::iterator() {
        #[expect(unsafe_code, reason = "sets signal dispositions")]
        // SAFETY: the default action runs no code of ours. SIGKILL and SIGSTOP refuse.
        let _ = unsafe { sigaction(signal, &default) };
    }
    let _ = SigSet::empty().thread_set_mask();
}

/// Makes the kernel kill the calling process when its parent dies.
#[expect(unsafe_code, reason = "prctl, for a feature of nix less")]
fn die_with_parent() {
    // SAFETY: sets a property of the calling process.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
}

/// Closes descriptors that other parts of the program hold open: above all their ends of other
/// supervisors' sockets, whose closing ends those supervisors.
fn close_others(control: &OwnedFd, plan: &Plan) {
    let outputs = plan.jobs.iter().filter_map(|job| job.output.as_ref());
    let published = plan.outside.iter().flat_map(|outside| &outside.published);
    let mut keep: Vec<RawFd> = vec![0, 1, 2, control.as_raw_fd()];
    keep.extend(outputs.map(AsRawFd::as_raw_fd));
    keep.extend(
        published.flat_map(|it| [it.route.listener.as_raw_fd(), it.route.datagrams.as_raw_fd()]),
    );
    let Ok(entries) = std::fs::read_dir("/proc/self/fd") else { return };
    let open: Vec<RawFd> =
        entries.filter_map(|e| e.ok()?.file_name().to_str()?.parse().ok()).collect();
    for fd in open {
        if !keep.contains(&fd) {
            close(fd);
        }
    }
}

#[expect(unsafe_code, reason = "closes descriptors that values of the parent's own")]
fn close(fd: RawFd) {
    // SAFETY: in a forked child whose other values are never used or dropped again.
    unsafe { libc::close(fd) };
}

#[expect(unsafe_code, reason = "_exit")]
fn exit(result: std::thread::Result<()>) -> ! {
    // SAFETY: ends the process without running what the parent registered for its own end.
    unsafe { libc::_exit(if result.is_ok() { 0 } else { 101 }) }
}

fn errno_of(error: std::io::Error) -> Errno {
    Errno::from_raw(error.raw_os_error().unwrap_or(libc::EIO))
}

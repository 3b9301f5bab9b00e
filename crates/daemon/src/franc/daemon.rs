//! The driver of a node in the event loop: packets of the TUN device, datagrams of the link,
//! questions, and time.

use super::metrics::Metrics;
use super::monitored::Deaf;
use super::source::Source;
use super::transport::{Flow, NodeLink, Reach, Refusal};
use super::{Counts, FrancError, Options};
use lasthop_franc::config::INNER_MTU_MIN;
use lasthop_franc::{Entropy, Event, Node, NodeId, Reason, Role, Stats, Unanswered};
use lasthop_linux::clock::Clock;
use lasthop_linux::confine::{Needs, confine};
use lasthop_linux::device::{Tun, configure_tun};
use lasthop_linux::event_loop::{Driver, EventLoop, Progress, Registry, TURN_PACKETS};
use lasthop_linux::link::Address;
use lasthop_linux::listener::{ControlSocket, Port};
use lasthop_linux::offload::{self, Coalescer, segment};
use lasthop_linux::signal::Signals;
use lasthop_linux::{Call, OsError, entropy};
use lasthop_units::{Duration, Instant, MacAddr, Machine, Seed};
use nix::errno::Errno;
use nix::sys::signal::Signal;
use std::net::SocketAddr;
use std::ops::ControlFlow;
use std::os::fd::{AsFd, OwnedFd};

/// Largest number of bytes in one read from a TUN device.
const READ_BYTES_MAX: usize = offload::HEADER_BYTES + offload::PACKET_BYTES_MAX;
/// Interval at which an overdue machine is called while the link is full.
const FULL_RETRY: Duration = Duration::from_millis(1);
/// Datagrams that the rate allows within this time leave together, as Linux's TCP sends a
/// millisecond's worth at once: a wake-up for each would cost more than the datagram.
const PACE_GRAIN: Duration = Duration::from_micros(250);
/// Shortest interval of reports of one kind.
const TOLD_EVERY: Duration = Duration::from_secs(60);

/// A report of a daemon to its [`Host`].
#[derive(Clone, Copy, Debug)]
pub enum DaemonReport<'a> {
    /// The daemon runs.
    Ready {
        /// The configuration in effect.
        config: &'a lasthop_franc::Config,
        /// Address at which Prometheus may ask; `None` if there is none.
        metrics: Option<SocketAddr>,
        /// Neighbours whose address is known.
        reached: &'a [Reach],
    },
    /// The parts of the confinement that the kernel refused; the daemon runs without them.
    Unconfined(&'a [OsError]),
    /// Offloads that the kernel refused; the daemon runs more slowly without them.
    Slower(&'a [OsError]),
    /// An event of the machine.
    Event(Event),
    /// One of two links died, or works again.
    Link {
        /// The other end.
        peer: NodeId,
        /// Number of the link, from 0 on.
        link: u8,
        /// Address of the other end there, if known.
        address: Option<Address>,
        /// The network interface of the link, if it has one.
        interface: Option<&'a str>,
        /// Whether it works.
        is_alive: bool,
        /// Time since the newest datagram before was sent there that arrived.
        silent: Duration,
    },
    /// No session has existed for some seconds.
    Unanswered {
        /// The other end; between the ends, a neighbour.
        peer: NodeId,
        /// The likely reason.
        why: Unanswered,
        /// The options in effect.
        options: &'a Options,
        /// Neighbours whose address is known.
        reached: &'a [Reach],
        /// The last refusal of a datagram to a neighbour since the last report.
        refusal: Option<Refusal>,
    },
    /// A neighbour has the MAC address of this node's own interface, and is therefore
    /// reached by broadcast.
    SameMac {
        /// Number of the neighbour.
        neighbour: NodeId,
        /// The address of both.
        mac: MacAddr,
    },
    /// The monitor interface delivers no datagrams of the link.
    Deaf {
        /// Name of the interface.
        monitor: &'a str,
        /// Reason of the silence.
        why: Deaf,
    },
    /// The path refused a datagram of this length.
    TooLong {
        /// Length of the datagram in bytes.
        bytes: usize,
    },
}

/// The state of a daemon, from which questions are answered.
#[derive(Clone, Debug)]
pub struct Snapshot<'a> {
    /// The options in effect.
    pub options: &'a Options,
    /// Time since the start.
    pub up: Duration,
    /// Counters of the machine.
    pub stats: Stats,
    /// Counters of the daemon.
    pub counts: Counts,
    /// Neighbours whose address is known.
    pub reached: Vec<Reach>,
}

/// The program around a daemon: it formats answers and takes reports.
pub trait Host {
    /// Reports an event. [`ControlFlow::Break`] ends the daemon.
    fn report(&mut self, report: DaemonReport<'_>) -> ControlFlow<()>;
    /// Returns the answer of the control socket.
    fn stats(&mut self, snapshot: &Snapshot<'_>) -> String;
    /// Returns the page for Prometheus.
    fn metrics(&mut self, snapshot: &Snapshot<'_>) -> String;
}

/// A node of a coded link. Its TUN device is removed on drop.
pub struct Daemon {
    events: EventLoop<Source>,
    signals: Signals,
    driver: NodeDriver,
}

/// The machine between its TUN device and its link.
struct NodeDriver {
    options: Options,
    clock: Clock,
    node: Node,
    link: NodeLink,
    /// A duplicate of the link's descriptor, to wait until the link accepts datagrams again.
    writable: OwnedFd,
    tun: Option<Tun>,
    coalescer: Coalescer,
    /// Offloads that the kernel refused, until they are reported.
    refused: Vec<OsError>,
    control: ControlSocket,
    metrics: Option<Metrics>,
    flow: Flow,
    /// The last report of a missing node, if no refusal explained it.
    unexplained: Option<(NodeId, Unanswered)>,
    buffer: Vec<u8>,
    scratch: Vec<u8>,
    key_mismatch: Throttle,
    code_mismatch: Throttle,
    version_mismatch: Throttle,
    stalled: Throttle,
    too_long: Throttle,
    same_mac: Throttle,
    deaf: Throttle,
}

impl Daemon {
    /// Opens sockets and devices and configures the TUN device.
    ///
    /// # Errors
    /// If a part cannot be set up; the other parts are then removed.
    pub fn new(options: Options) -> Result<Self, FrancError> {
        let clock = Clock::start();
        let (mut events, signals) = (EventLoop::new(clock)?, Signals::catch()?);
        let [one, two, ..] = words(entropy::secret()?);
        let stream = Seed::new(one, two).stream("franc/node");
        let entropy = Entropy::new(entropy::secret()?);
        let node = Node::new(options.config.clone(), entropy, stream, clock.now())?;
        let inner_mtu = options.config.inner_mtu();
        if inner_mtu < IPV6_MTU_MIN && options.addresses.iter().any(|(ip, _)| ip.is_ipv6()) {
            return Err(FrancError::NoIpv6 { mtu: inner_mtu });
        }
        let mut link = NodeLink::open(
            &options.transport,
            &options.copies_to,
            options.config.datagram_bytes_max,
            clock.now(),
        )?;
        let control =
            ControlSocket::bind(&options.control).map_err(|error| {
                match Errno::from_raw(error.errno) {
                    Errno::EADDRINUSE => FrancError::Running { path: options.control.clone() },
                    _ => FrancError::Os(error),
                }
            })?;
        let metrics = options.metrics.map(Port::bind).transpose()?;
        let metrics = metrics.map(Metrics::new);
        let (tun, refused) = match options.config.role {
            Role::End { .. } => {
                let (tun, refused) = Tun::create(&options.name)?;
                configure_tun(&options.name, inner_mtu as u32, &options.addresses)?;
                (Some(tun), refused)
            }
            _ => (None, Vec::new()),
        };
        let kinds = tun.as_ref().map(Tun::kinds).unwrap_or_default();
        let registry = events.registry();
        for socket in link.descriptors() {
            registry.add_readable(socket, Source::Link)?;
        }
        if let Some(overhearing) = link.overhearing() {
            registry.add_readable(overhearing.as_fd(), Source::Monitor)?;
        }
        registry.add_readable(control.as_fd(), Source::Control)?;
        if let Some(tun) = &tun {
            registry.add_readable(tun.as_fd(), Source::Tun)?;
        }
        if let Some(metrics) = &metrics {
            registry.add_readable(metrics.port().as_fd(), Source::Metrics)?;
        }
        let driver = NodeDriver {
            options,
            clock,
            node,
            writable: link.as_fd().try_clone_to_owned().call("dup")?,
            link,
            tun,
            coalescer: Coalescer::new(kinds),
            refused,
            control,
            metrics,
            flow: Flow::Free,
            unexplained: None,
            buffer: vec![0; READ_BYTES_MAX],
            scratch: Vec::new(),
            key_mismatch: Throttle::default(),
            code_mismatch: Throttle::default(),
            version_mismatch: Throttle::default(),
            stalled: Throttle::default(),
            too_long: Throttle::default(),
            same_mac: Throttle::default(),
            deaf: Throttle::default(),
        };
        Ok(Self { events, signals, driver })
    }

    /// Runs until a signal comes, whose number it returns; `None` if `host` ended it. The
    /// calling thread can do little else from here on (see [`confine`]), also afterwards.
    ///
    /// # Errors
    /// If a descriptor that it needs fails, or the TUN device or the interface is removed.
    pub fn run(self, host: &mut dyn Host) -> Result<Option<i32>, FrancError> {
        let Self { events, signals, mut driver } = self;
        let metrics = driver.metrics.as_ref().map(|metrics| metrics.port().address());
        let metrics = metrics.transpose()?;
        let reached = driver.link.reached();
        let ready =
            DaemonReport::Ready { config: driver.node.config(), metrics, reached: &reached };
        let needs = Needs { removes: Some(&driver.options.control), ..Needs::default() };
        let refused = confine(needs);
        let unconfined = (!refused.is_empty()).then_some(DaemonReport::Unconfined(&refused));
        let slower = (!driver.refused.is_empty()).then_some(DaemonReport::Slower(&driver.refused));
        let reports = [Some(ready), unconfined, slower];
        if reports.into_iter().flatten().any(|report| host.report(report).is_break()) {
            return Ok(None);
        }
        driver.refused.clear();
        events.run(&mut Running { driver, host }, Some(&signals))
    }
}

/// A driver with the program around it.
struct Running<'a> {
    driver: NodeDriver,
    host: &'a mut dyn Host,
}

impl Driver for Running<'_> {
    type Source = Source;
    /// The signal that ended it; `None` if the host did.
    type Outcome = Option<i32>;
    type Error = FrancError;

    fn handle_timeout(&mut self, now: Instant, registry: &mut Registry<Source>) -> Progress<Self> {
        let node = &mut self.driver.node;
        if node.poll_timeout().is_some_and(|(at, _)| at <= now) {
            node.handle_timeout(now);
        }
        let is_over = self.driver.drain(now, registry, self.host)?;
        Ok(is_over.map_break(|()| None))
    }

    fn next_wakeup(&self) -> Option<Instant> {
        self.driver.next_wakeup()
    }

    fn handle_ready(
        &mut self,
        source: Source,
        registry: &mut Registry<Source>,
    ) -> Result<(), FrancError> {
        let driver = &mut self.driver;
        match source {
            Source::Tun => driver.take_packets()?,
            Source::Link => driver.link.receive(&mut driver.node, driver.clock),
            Source::Monitor => driver.link.overhear(&mut driver.node, driver.clock),
            Source::Writable => driver.unblock(registry),
            Source::Control => driver.answer(self.host),
            Source::Metrics => {
                if let Some(metrics) = &mut driver.metrics {
                    metrics.accept(registry, driver.clock.now());
                }
            }
            Source::Guest(index) => driver.hear(index, registry, self.host),
        }
        Ok(())
    }

    fn handle_signals(&mut self, signals: &[Signal]) -> Progress<Self> {
        Ok(ControlFlow::Break(signals.last().map(|&signal| signal as i32)))
    }
}

impl NodeDriver {
    /// Passes on all output of the machine: packets, datagrams, events.
    fn drain(
        &mut self,
        now: Instant,
        registry: &mut Registry<Source>,
        host: &mut dyn Host,
    ) -> Result<ControlFlow<()>, FrancError> {
        self.deliver();
        let mut too_long = None;
        if self.flow == Flow::Free {
            self.flow = self
                .link
                .transmit(&mut self.node, self.clock, &mut |bytes| too_long = Some(bytes))?;
            if self.flow == Flow::Full {
                registry.add_writable(self.writable.as_fd(), Source::Writable)?;
            }
        }
        if let Some(bytes) = too_long
            && self.too_long.is_due(now)
            && host.report(DaemonReport::TooLong { bytes }).is_break()
        {
            return Ok(ControlFlow::Break(()));
        }
        if let Some(refused) = self.link.take_refused()
            && host.report(DaemonReport::Slower(&[refused])).is_break()
        {
            return Ok(ControlFlow::Break(()));
        }
        if let Some((neighbour, mac)) = self.link.take_twin()
            && self.same_mac.is_due(now)
            && host.report(DaemonReport::SameMac { neighbour, mac }).is_break()
        {
            return Ok(ControlFlow::Break(()));
        }
        if let Some(overhearing) = self.link.overhearing()
            && let Some(why) = overhearing.take_deaf(now)?
            && self.deaf.is_due(now)
            && host.report(DaemonReport::Deaf { monitor: overhearing.name(), why }).is_break()
        {
            return Ok(ControlFlow::Break(()));
        }
        while let Some(event) = self.node.poll_event() {
            if let Event::Unanswered { peer, why } = event {
                let refusal = self.link.take_refusal();
                self.unexplained = refusal.is_none().then_some((peer, why));
                if self.report_unanswered(host, peer, why, refusal).is_break() {
                    return Ok(ControlFlow::Break(()));
                }
                continue;
            }
            if let Event::Link { peer, link, is_alive, silent } = event {
                let reached = self.link.reached();
                let reach = reached.iter().find(|reach| (reach.id, reach.link) == (peer, link));
                let address = reach.map(|reach| reach.address);
                let interface = self.options.transport.interface_of(peer, link);
                let report =
                    DaemonReport::Link { peer, link, address, interface, is_alive, silent };
                if host.report(report).is_break() {
                    return Ok(ControlFlow::Break(()));
                }
                continue;
            }
            let is_told = match event {
                Event::KeyMismatch { .. } => self.key_mismatch.is_due(now),
                Event::CodeMismatch { .. } => self.code_mismatch.is_due(now),
                Event::VersionMismatch { .. } => self.version_mismatch.is_due(now),
                Event::Stalled { .. } => self.stalled.is_due(now),
                Event::Connected { .. } => {
                    self.unexplained = None;
                    self.link.take_refusal();
                    self.key_mismatch = Throttle::default();
                    self.code_mismatch = Throttle::default();
                    true
                }
                Event::Disconnected { .. }
                | Event::PathMtu { .. }
                | Event::Link { .. }
                | Event::Unanswered { .. } => true,
            };
            if is_told && host.report(DaemonReport::Event(event)).is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        if let Some((peer, why)) = self.unexplained
            && let Some(refusal) = self.link.take_refusal()
        {
            self.unexplained = None;
            if self.report_unanswered(host, peer, why, Some(refusal)).is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        if let Some(metrics) = &mut self.metrics {
            metrics.expire(registry, now);
        }
        Ok(ControlFlow::Continue(()))
    }

    fn report_unanswered(
        &self,
        host: &mut dyn Host,
        peer: NodeId,
        why: Unanswered,
        refusal: Option<Refusal>,
    ) -> ControlFlow<()> {
        let (options, reached) = (&self.options, &self.link.reached());
        host.report(DaemonReport::Unanswered { peer, why, options, reached, refusal })
    }

    fn next_wakeup(&self) -> Option<Instant> {
        let machine = self.node.poll_timeout().map(|(at, reason)| match (self.flow, reason) {
            // It may be overdue because it has to send; the link says when it can.
            (Flow::Full, _) => at.max(self.clock.now() + FULL_RETRY),
            (Flow::Free, Reason::Pace) => at.max(self.clock.now() + PACE_GRAIN),
            (Flow::Free, _) => at,
        });
        let guests = self.metrics.as_ref().and_then(Metrics::next_expiry);
        machine.into_iter().chain(guests).chain(self.link.next_check()).min()
    }

    /// Handles a link that accepts datagrams again: the machine may send.
    fn unblock(&mut self, registry: &mut Registry<Source>) {
        registry.remove(self.writable.as_fd());
        self.flow = Flow::Free;
    }

    /// Takes packets from the TUN device: [`TURN_PACKETS`], or those of one read, if they are
    /// more.
    fn take_packets(&mut self) -> Result<(), FrancError> {
        let Some(tun) = &self.tun else { return Ok(()) };
        let mut taken = 0;
        while taken < TURN_PACKETS {
            match tun.read(&mut self.buffer) {
                Ok(length) => {
                    let (node, now) = (&mut self.node, self.clock.now());
                    let read = &mut self.buffer[..length];
                    let mut take = |packet: &[u8]| node.handle_packet(now, packet);
                    match segment(read, &mut self.scratch, &mut take) {
                        Ok(packets) => taken += packets,
                        // Not a packet: the machine refuses and counts an empty one.
                        Err(_) => {
                            node.handle_packet(now, &[]);
                            taken += 1;
                        }
                    }
                }
                Err(Errno::EAGAIN | Errno::EINTR) => break,
                Err(Errno::EBADFD | Errno::ENODEV) => {
                    return Err(FrancError::InterfaceGone { name: self.options.name.clone() });
                }
                Err(error) => return Err(OsError::new("read(TUN)", error).into()),
            }
        }
        Ok(())
    }

    /// Writes packets to the TUN device, segments of a flow together.
    fn deliver(&mut self) {
        let (tun, undelivered) = (&self.tun, &mut self.link.counts.undelivered);
        let mut write = |packet: &[u8], segments: usize| {
            if tun.as_ref().is_some_and(|tun| tun.write(packet).is_err()) {
                *undelivered += segments as u64;
            }
        };
        while let Some(packet) = self.node.poll_packet() {
            self.coalescer.push(&packet, &mut write);
        }
        self.coalescer.flush(&mut write);
    }

    fn answer(&mut self, host: &mut dyn Host) {
        let counts = self.link.counts();
        let (snapshot, control) = (self.snapshot(counts), &self.control);
        control.answer(&mut || host.stats(&snapshot));
    }

    fn hear(&mut self, guest: usize, registry: &mut Registry<Source>, host: &mut dyn Host) {
        let Some(mut metrics) = self.metrics.take() else { return };
        let counts = self.link.counts();
        let snapshot = self.snapshot(counts);
        metrics.hear(guest, registry, &mut || host.metrics(&snapshot));
        self.metrics = Some(metrics);
    }

    fn snapshot(&self, counts: Counts) -> Snapshot<'_> {
        let now = self.clock.now();
        Snapshot {
            options: &self.options,
            up: now - Instant::ZERO,
            stats: self.node.stats(now),
            counts,
            reached: self.link.reached(),
        }
    }
}

/// The least MTU of a link with IPv6 (RFC 8200, section 5).
const IPV6_MTU_MIN: usize = 1_280;
const _: () = assert!(IPV6_MTU_MIN > INNER_MTU_MIN);

/// Limits reports of one kind to one in [`TOLD_EVERY`].
#[derive(Clone, Copy, Debug, Default)]
struct Throttle {
    next: Instant,
}

impl Throttle {
    fn is_due(&mut self, now: Instant) -> bool {
        let is_due = now >= self.next;
        if is_due {
            self.next = now + TOLD_EVERY;
        }
        is_due
    }
}

/// Returns bytes as little-endian words.
fn words(bytes: [u8; 32]) -> [u64; 4] {
    let mut words = [0; 4];
    for (word, bytes) in words.iter_mut().zip(bytes.chunks_exact(8)) {
        *word = u64::from_le_bytes(bytes.try_into().expect("chunks of eight bytes"));
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_on_is_told_once_a_minute() {
        let mut throttle = Throttle::default();
        let told = (0..1_300)
            .filter(|&tenths| throttle.is_due(Instant::ZERO + Duration::from_millis(100 * tenths)));
        assert_eq!(told.collect::<Vec<_>>(), [0, 600, 1_200]);
    }
}

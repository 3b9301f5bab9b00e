//! The sockets of a host of a measurement: receives batches of datagrams with their age, and
//! sends those of a machine, each by its socket. Leaves out waiting, which is the event
//! loop's.

use lasthop_apq::{HEAD_BYTES_MAX, HostClock, StreamKind, Transmit, TransmitKind};
use lasthop_linux::OsError;
use lasthop_linux::clock::Clock;
use lasthop_linux::datagram::{self, BATCH, DatagramSocket, Incoming, Outgoing, StampedInbox};
use lasthop_linux::event_loop::Registry;
use lasthop_units::Instant;
use nix::errno::Errno;
use std::net::SocketAddr;
use std::os::fd::AsFd;

/// The clock and the sockets of a host.
pub(super) struct Io {
    pub clock: Clock,
    pub sockets: Vec<DatagramSocket>,
    inbox: StampedInbox,
    outgoing: Vec<Transmit>,
    /// By socket: datagrams dropped because its buffer was full, since it was opened.
    overflowed: Vec<u32>,
}

/// A packet of a measurement that the kernel refused to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unsent {
    pub to: SocketAddr,
    pub kind: StreamKind,
}

impl Io {
    pub fn new(clock: Clock, sockets: Vec<DatagramSocket>) -> Self {
        Self {
            clock,
            overflowed: vec![0; sockets.len()],
            sockets,
            inbox: StampedInbox::new(HEAD_BYTES_MAX),
            outgoing: Vec::new(),
        }
    }

    /// Adds the sockets to `registry`; the source of each is its position.
    pub fn register(&self, registry: &mut Registry<usize>) -> Result<(), OsError> {
        let mut sockets = self.sockets.iter().enumerate();
        sockets.try_for_each(|(index, socket)| registry.add_readable(socket.as_fd(), index))
    }

    /// Returns the host's clock for stamps, a clock that cannot be set.
    pub fn host_clock(&self) -> HostClock {
        let elapsed_ns = self.clock.now().as_nanos();
        let offset_ns = datagram::host_clock_ns().wrapping_sub(elapsed_ns);
        HostClock { offset_ns, drift_ppm: 0 }
    }

    /// Receives one batch from the socket at `index`, which is its turn: a flood delays packets
    /// that are due by no more than that.
    ///
    /// # Errors
    /// Errors that the network reports of earlier datagrams, such as `ECONNREFUSED`.
    pub fn receive(
        &mut self,
        index: usize,
        take: &mut dyn FnMut(Instant, Incoming<'_>),
    ) -> nix::Result<()> {
        self.inbox.receive(&self.sockets[index])?;
        self.overflowed[index] = self.inbox.overflowed().unwrap_or(self.overflowed[index]);
        let now = self.clock.now();
        self.inbox.datagrams().for_each(|datagram| take(now, datagram));
        Ok(())
    }

    /// Returns the number of datagrams that arrived and were never read, because this host was
    /// too busy.
    pub fn overflowed(&self) -> u64 {
        self.overflowed.iter().copied().map(u64::from).sum()
    }

    /// Sends the datagrams of `next` until it returns none. `place` returns the position of the
    /// socket; `is_connected` says that all sockets are. Returns the packets of measurements that
    /// the kernel refused, and whether the network reports that no process listens.
    pub fn send(
        &mut self,
        next: &mut dyn FnMut(Instant) -> Option<Transmit>,
        place: &dyn Fn(&Transmit) -> Option<usize>,
        is_connected: bool,
    ) -> (Vec<Unsent>, bool) {
        let (mut unsent, mut is_refused) = (Vec::new(), false);
        loop {
            self.outgoing.clear();
            let now = self.clock.now();
            self.outgoing.extend(std::iter::from_fn(|| next(now)).take(BATCH));
            if self.outgoing.is_empty() {
                return (unsent, is_refused);
            }
            let mut lost = |transmit: &Transmit, error: Errno| {
                // An ICMP message for an earlier packet; this one was not sent either.
                is_refused |= error == Errno::ECONNREFUSED;
                if let TransmitKind::Probe(kind) = transmit.kind {
                    unsent.push(Unsent { to: transmit.to, kind });
                }
            };
            for (index, socket) in self.sockets.iter().enumerate() {
                let mine = |transmit: &&Transmit| place(transmit) == Some(index);
                let mine: Vec<&Transmit> = self.outgoing.iter().filter(mine).collect();
                if mine.is_empty() {
                    continue;
                }
                let datagrams: Vec<Outgoing<'_>> = mine
                    .iter()
                    .map(|transmit| Outgoing {
                        to: (!is_connected).then_some(transmit.to),
                        head: &transmit.payload,
                        length: transmit.length,
                    })
                    .collect();
                datagram::send(socket, &datagrams, &mut |at, error| lost(mine[at], error));
            }
            let nowhere = |transmit: &&Transmit| place(transmit).is_none();
            self.outgoing.iter().filter(nowhere).for_each(|t| lost(t, Errno::EAFNOSUPPORT));
        }
    }
}

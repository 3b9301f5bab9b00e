//! The link of a node: its socket, the addresses of its neighbours, and the datagrams that wait for
//! space in the socket. Over UDP, or over Ethernet with a separate EtherType. An address changes
//! only by the machine's decision (`is_moved`). Two links to a neighbour share a socket, or have one
//! each, bound to a network interface. Leaves out two links over Ethernet.

use super::interface::interface_error;
use super::overhear::Overhearing;
use super::{Counts, FrancError};
use lasthop_franc::{self as franc, Heard, Node, NodeId, Transmit};
use lasthop_linux::OsError;
use lasthop_linux::batch::{BATCH, Inbox, Name, Sending, Sent};
use lasthop_linux::clock::Clock;
use lasthop_linux::link::{
    Address, Link, ethernet_datagram_bytes_max, interface_mtu, udp_datagram_bytes_max, udp_mtu,
};
use lasthop_linux::refusal as linux;
use lasthop_units::{Duration, Instant, MacAddr};
use nix::errno::Errno;
use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};

/// Bytes that may wait in the interface's queue before the socket is full. Paced senders
/// never reach it; for the others it is the length of the queue.
const SEND_BYTES: i32 = 256 << 10;
/// Batches of datagrams that a turn receives, each of one system call.
const BATCHES_MAX: usize = 4;

/// Carrier of the datagrams, with the addresses of neighbours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Transport {
    /// Datagrams in UDP.
    Udp {
        /// Address of this socket; any address and [`PORT`](super::PORT) if `None`.
        listen: Option<SocketAddr>,
        /// Addresses of neighbours; one that is missing has to send the first datagram.
        neighbours: Vec<UdpNeighbour>,
    },
    /// Datagrams in Ethernet frames.
    Ethernet {
        /// Name of the interface.
        interface: String,
        /// Whether frames between other nodes are received too, as helpers need.
        promiscuous: bool,
        /// A monitor interface through which frames between other nodes are received: a Wi-Fi
        /// interface in managed mode delivers none of them, not even in promiscuous mode.
        monitor: Option<String>,
        /// Addresses of neighbours; one that is missing is reached by broadcast until it
        /// has been heard.
        neighbours: Vec<(NodeId, MacAddr)>,
    },
}

/// A neighbour over UDP, or one of the links to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UdpNeighbour {
    /// Number of the neighbour.
    pub id: NodeId,
    /// The link to it, from 0 on.
    pub link: u8,
    /// Address of the neighbour.
    pub address: SocketAddr,
    /// The network interface through which the link goes; all links have one, or none.
    pub interface: Option<String>,
}

/// A neighbour and its address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reach {
    /// Number of the neighbour.
    pub id: NodeId,
    /// The link to it, from 0 on.
    pub link: u8,
    /// Address of the neighbour.
    pub address: Address,
}

impl Transport {
    /// Whether the transport is UDP over IPv6.
    fn is_v6(&self) -> bool {
        match self {
            Self::Udp { listen, neighbours } => listen
                .or(neighbours.first().map(|neighbour| neighbour.address))
                .is_some_and(|address| address.is_ipv6()),
            Self::Ethernet { .. } => false,
        }
    }

    fn listen(&self, listen: Option<SocketAddr>) -> SocketAddr {
        let any: IpAddr =
            if self.is_v6() { Ipv6Addr::UNSPECIFIED.into() } else { Ipv4Addr::UNSPECIFIED.into() };
        listen.unwrap_or((any, super::PORT).into())
    }

    fn known(&self) -> Vec<((NodeId, u8), Address)> {
        match self {
            Self::Udp { neighbours, .. } => {
                let known = |it: &UdpNeighbour| ((it.id, it.link), Address::Udp(it.address));
                neighbours.iter().map(known).collect()
            }
            Self::Ethernet { neighbours, .. } => {
                neighbours.iter().map(|&(id, mac)| ((id, 0), Address::Mac(mac))).collect()
            }
        }
    }

    /// The network interface of a link to a neighbour, if it was given one.
    pub(super) fn interface_of(&self, id: NodeId, link: u8) -> Option<&str> {
        let Self::Udp { neighbours, .. } = self else { return None };
        neighbours.iter().find(|it| (it.id, it.link) == (id, link))?.interface.as_deref()
    }

    /// The network interfaces of the links, by link; one if they share it, none without any.
    fn interfaces(&self) -> Vec<&str> {
        let Self::Udp { neighbours, .. } = self else { return Vec::new() };
        let mut named: Vec<(u8, &str)> =
            neighbours.iter().filter_map(|it| Some((it.link, it.interface.as_deref()?))).collect();
        named.sort_unstable();
        // Sockets at the same interface would have the same address.
        named.dedup_by_key(|(_, name)| *name);
        named.into_iter().map(|(_, name)| name).collect()
    }
}

/// The largest MTU, in bytes, that is accepted from an interface: larger ones are those of loopback
/// interfaces, and symbols of 64 KiB would only waste memory.
const MTU_FOUND_MAX: u32 = 9_000;

/// The MTU, in bytes, that is assumed towards a neighbour without a known address.
const ETHERNET_MTU: u32 = 1_500;

/// Returns the length in bytes of the longest datagram that the link carries. `mtu` is that of
/// the path; `None`: that of the own interface.
///
/// # Errors
/// If there is no such interface or no route to a neighbour, or if `mtu` is larger than that
/// of the own interface.
pub fn datagram_bytes_max(transport: &Transport, mtu: Option<u32>) -> Result<u16, FrancError> {
    let least = |own: u32, name: &dyn Fn() -> String| match mtu {
        Some(mtu) if mtu > own => Err(FrancError::TooWide { mtu, own, name: name() }),
        Some(mtu) => Ok(mtu),
        None => Ok(own.min(MTU_FOUND_MAX)),
    };
    let bytes_max = match transport {
        Transport::Udp { neighbours, .. } => {
            let mut narrowest = mtu.unwrap_or(ETHERNET_MTU);
            for &UdpNeighbour { id, address, ref interface, .. } in neighbours {
                let own = match interface {
                    Some(name) => {
                        Some(interface_mtu(name).map_err(|error| interface_error(name, error))?)
                    }
                    None => udp_mtu(address).map_err(|error| FrancError::NoRoute {
                        id,
                        address,
                        error,
                    })?,
                };
                if let Some(own) = own {
                    let towards = || format!("the interface towards neighbour {id}");
                    narrowest = narrowest.min(least(own, &towards)?);
                }
            }
            udp_datagram_bytes_max(narrowest, transport.is_v6())
        }
        Transport::Ethernet { interface, .. } => {
            let own =
                interface_mtu(interface).map_err(|error| interface_error(interface, error))?;
            ethernet_datagram_bytes_max(least(own, &|| interface.clone())?)
        }
    };
    Ok(u16::try_from(bytes_max).unwrap_or(u16::MAX))
}

/// The broadcast address of Ethernet.
const EVERYBODY: MacAddr = MacAddr([0xff; 6]);

/// Time for which a neighbour counts as reachable after a datagram, and the kernel gets a
/// confirmation of that. Otherwise the kernel asks for its MAC address again and again, and drops
/// datagrams when a lossy link loses the answers.
const HEARD_LATELY: Duration = Duration::from_secs(3);

/// The address of a neighbour.
struct Place {
    /// Index of the socket.
    socket: usize,
    address: Address,
    name: Name,
    heard_at: Option<Instant>,
}

/// A datagram that waits to be sent.
struct Leaving {
    /// Index of the socket.
    socket: usize,
    to: Target,
    datagram: Vec<u8>,
}

/// A refusal of a datagram to a neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Address of the neighbour.
    pub to: Address,
    /// The host that refused it by ICMP; `None`: this host did not send it.
    pub by: Option<IpAddr>,
    /// The reason, such as `ECONNREFUSED` for a port without a program.
    pub why: Errno,
}

/// The destination of a datagram.
enum Target {
    /// A neighbour on one of the links to it, by broadcast if its address is not known.
    Neighbour(NodeId, u8),
    /// The address from which a question came.
    Asker(Name),
}

/// The link of a node.
pub(super) struct NodeLink {
    /// The socket of all links, or that of each.
    sockets: Vec<Link>,
    inbox: Inbox,
    /// By neighbour and link.
    places: BTreeMap<(NodeId, u8), Place>,
    copies_to: Vec<NodeId>,
    waiting: VecDeque<Leaving>,
    /// Whether datagrams to one neighbour are sent as one message (`UDP_SEGMENT`).
    is_segmented: bool,
    /// The number of datagrams at the head of `waiting` that are sent as a message each, because
    /// the kernel refused them as one.
    alone: usize,
    /// Refusals of the kernel to send or receive many datagrams at once, until they are taken.
    refused: VecDeque<OsError>,
    broadcast: Option<Name>,
    /// The name of the interface, over Ethernet.
    interface: Option<String>,
    /// A neighbour that was heard from the MAC address of the own interface, until it is taken.
    twin: Option<(NodeId, MacAddr)>,
    overhearing: Option<Overhearing>,
    /// The last refusal of a datagram to a neighbour, until it is taken.
    refusal: Option<Refusal>,
    pub counts: Counts,
}

/// Changes by a received datagram.
struct Ear<'a> {
    places: &'a mut BTreeMap<(NodeId, u8), Place>,
    link: &'a Link,
    /// Index of the socket.
    socket: usize,
    twin: &'a mut Option<(NodeId, MacAddr)>,
}

impl Ear<'_> {
    /// Gives a datagram to `node`, and notes the address of its sender.
    fn hear(&mut self, node: &mut Node, now: Instant, from: Address, datagram: &[u8]) {
        let heard = node.handle_datagram(now, of_link(from), datagram);
        let Some(Heard { sender, link, is_moved }) = heard else { return };
        let socket = self.socket;
        match self.places.get_mut(&(sender, link)) {
            Some(place) if (place.address, place.socket) == (from, socket) => {
                place.heard_at = Some(now);
            }
            _ if is_moved => {
                let (address, is_twin) = reachable(self.link, from);
                if let (Address::Mac(mac), true) = (from, is_twin) {
                    *self.twin = Some((sender, mac));
                }
                let (name, heard_at) = (self.link.name(address), Some(now));
                self.places.insert((sender, link), Place { socket, address, name, heard_at });
            }
            Some(place) if place.address == Address::Mac(EVERYBODY) => {
                place.heard_at = Some(now);
                if let (Address::Mac(mac), (_, true)) = (from, reachable(self.link, from)) {
                    *self.twin = Some((sender, mac));
                }
            }
            _ => {}
        }
    }
}

/// Whether the link accepts datagrams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flow {
    /// Everything was sent.
    Free,
    /// The socket is full.
    Full,
}

impl NodeLink {
    pub fn open(
        transport: &Transport,
        copies_to: &[NodeId],
        datagram_bytes_max: u16,
        now: Instant,
    ) -> Result<Self, FrancError> {
        let mut overhearing = None;
        let (sockets, broadcast) = match transport {
            Transport::Udp { listen, .. } => {
                let listen = transport.listen(*listen);
                let names = transport.interfaces();
                let open = |name: &&str| {
                    Link::udp(listen, Some(name), SEND_BYTES)
                        .map_err(|error| interface_error(name, error))
                };
                let mut sockets = names.iter().map(open).collect::<Result<Vec<_>, _>>()?;
                if sockets.is_empty() {
                    sockets.push(Link::udp(listen, None, SEND_BYTES)?);
                }
                (sockets, None)
            }
            Transport::Ethernet { interface, promiscuous, monitor, .. } => {
                overhearing =
                    monitor.as_ref().map(|name| Overhearing::open(name, now)).transpose()?;
                let link = Link::ethernet(interface, *promiscuous, SEND_BYTES)
                    .map_err(|error| interface_error(interface, error))?;
                let all = link.name(Address::Mac(EVERYBODY));
                (vec![link], Some(all))
            }
        };
        let place = |(way, address): ((NodeId, u8), Address)| {
            let socket = socket_of(&sockets, way.1);
            let name = sockets[socket].name(address);
            (way, Place { socket, address, name, heard_at: None })
        };
        let places = transport.known().into_iter().map(place).collect();
        let mut merges = sockets.iter().map(Link::merge);
        let (merged, refused) = merges.next().unwrap_or_default();
        // The others refuse the same.
        merges.for_each(drop);
        // A frame has its length before the datagram, and its padding after it.
        let inbox = Inbox::new(usize::from(datagram_bytes_max) + 64, merged.received);
        Ok(Self {
            sockets,
            inbox,
            places,
            copies_to: copies_to.to_vec(),
            waiting: VecDeque::new(),
            is_segmented: merged.sent,
            alone: 0,
            refused: refused.into(),
            broadcast,
            interface: match transport {
                Transport::Udp { .. } => None,
                Transport::Ethernet { interface, .. } => Some(interface.clone()),
            },
            twin: None,
            overhearing,
            refusal: None,
            counts: Counts::default(),
        })
    }

    /// The neighbours whose addresses are known.
    pub fn reached(&self) -> Vec<Reach> {
        let reach = |(&(id, link), place): (&(NodeId, u8), &Place)| Reach {
            id,
            link,
            address: place.address,
        };
        self.places.iter().map(reach).collect()
    }

    /// Returns a neighbour that was heard from the MAC address of the own interface since the
    /// last call.
    pub fn take_twin(&mut self) -> Option<(NodeId, MacAddr)> {
        self.twin.take()
    }

    /// Returns the last refusal of a datagram to a neighbour since the last call.
    pub fn take_refusal(&mut self) -> Option<Refusal> {
        self.refusal.take()
    }

    /// Reads what the network refused. Returns whether it refused a datagram that was sent before:
    /// the kernel then fails the next call with the same error, whatever that call is about.
    fn hear_refusals(&mut self) -> bool {
        let mut is_late = false;
        for socket in &self.sockets {
            while let Some(linux::Refusal { to, by, why }) = socket.refusal() {
                is_late |= by.is_some();
                let to = Address::Udp(to);
                if by.is_some() && self.places.values().any(|place| place.address == to) {
                    self.refusal = Some(Refusal { to, by, why });
                }
            }
        }
        is_late
    }

    /// Returns each refusal of the kernel to send or receive many datagrams at once, one a call.
    pub fn take_refused(&mut self) -> Option<OsError> {
        self.refused.pop_front()
    }

    /// Receives datagrams for `node`, [`BATCHES_MAX`] batches at most.
    ///
    /// The clock is read after each batch: a datagram stamped earlier than it arrived would
    /// make the least delay of the path too small, and its queue seem longer ever after.
    pub fn receive(&mut self, node: &mut Node, clock: Clock) {
        let mut is_idle = false;
        let Self { sockets, places, twin, inbox, .. } = self;
        for (socket, link) in sockets.iter().enumerate() {
            for _ in 0..BATCHES_MAX {
                // An error is about an earlier datagram, and stands among the refusals.
                let is_more = link.receive(inbox).unwrap_or(false);
                is_idle |= inbox.is_empty();
                let now = clock.now();
                let mut ear = Ear { places, link, socket, twin };
                link.each(inbox, &mut |from, datagram| ear.hear(node, now, from, datagram));
                if !is_more {
                    break;
                }
            }
        }
        if is_idle {
            self.hear_refusals();
        }
    }

    /// The monitor interface, if there is one.
    pub fn overhearing(&mut self) -> Option<&mut Overhearing> {
        self.overhearing.as_mut()
    }

    /// Returns the time at which [`Overhearing::take_deaf`] is to be called again.
    pub fn next_check(&self) -> Option<Instant> {
        self.overhearing.as_ref().and_then(Overhearing::next_check)
    }

    /// Receives datagrams for `node` from the monitor interface.
    pub fn overhear(&mut self, node: &mut Node, clock: Clock) {
        let Some(overhearing) = &mut self.overhearing else { return };
        let link = &self.sockets[0];
        let mut ear = Ear { places: &mut self.places, link, socket: 0, twin: &mut self.twin };
        overhearing.receive(link.own_mac(), clock, &mut |now, from, datagram| {
            ear.hear(node, now, Address::Mac(from), datagram);
        });
    }

    /// The counters as of now.
    pub fn counts(&mut self) -> Counts {
        if let Some(overhearing) = &mut self.overhearing {
            (self.counts.monitor, self.counts.monitor_drops) = overhearing.counts();
        }
        self.counts
    }

    /// Sends datagrams of `node` until it has no more, or the link is full. `too_long` is
    /// called with the length in bytes of each datagram that the path refuses.
    ///
    /// # Errors
    /// If the interface is gone: a later one of that name is another interface.
    pub fn transmit(
        &mut self,
        node: &mut Node,
        clock: Clock,
        too_long: &mut dyn FnMut(usize),
    ) -> Result<Flow, FrancError> {
        loop {
            let now = clock.now();
            while self.waiting.len() < BATCH {
                let Some(transmit) = node.poll_transmit(now) else { break };
                self.enqueue(transmit);
            }
            if self.waiting.is_empty() {
                return Ok(Flow::Free);
            }
            if self.send(now, too_long)? == Flow::Full {
                self.counts.full += 1;
                return Ok(Flow::Full);
            }
        }
    }

    fn enqueue(&mut self, transmit: Transmit) {
        let Transmit { to, link, reply, datagram } = transmit;
        if let Some(asker) = reply.and_then(to_link) {
            // No copies of it: the question may be that of a stranger.
            let socket = socket_of(&self.sockets, link);
            let own = &self.sockets[socket];
            let (address, _) = reachable(own, asker);
            let to = Target::Asker(own.name(address));
            return self.waiting.push_back(Leaving { socket, to, datagram });
        }
        for &copy in self.copies_to.iter().filter(|&&copy| copy != to) {
            if self.places.contains_key(&(copy, 0)) {
                let (to, datagram) = (Target::Neighbour(copy, 0), datagram.clone());
                self.waiting.push_back(Leaving { socket: 0, to, datagram });
            }
        }
        let place = self.places.get(&(to, link));
        if place.is_some() || self.broadcast.is_some() {
            let socket = place.map_or(0, |place| place.socket);
            self.waiting.push_back(Leaving { socket, to: Target::Neighbour(to, link), datagram })
        } else {
            self.counts.unplaced += 1
        }
    }

    fn send(&mut self, now: Instant, too_long: &mut dyn FnMut(usize)) -> Result<Flow, FrancError> {
        let lately = |place: &Place| place.heard_at.is_some_and(|at| now < at + HEARD_LATELY);
        while let Some(&Leaving { socket, .. }) = self.waiting.front() {
            let is_heard = self.places.values().filter(|it| it.socket == socket).all(lately);
            let batch: Vec<(&Name, &[u8])> = self
                .waiting
                .iter()
                .take_while(|leaving| leaving.socket == socket)
                .take(BATCH)
                .map(|leaving| {
                    let name = match &leaving.to {
                        Target::Neighbour(to, link) => {
                            let place = self.places.get(&(*to, *link)).map(|place| &place.name);
                            place.or(self.broadcast.as_ref())
                        }
                        Target::Asker(name) => Some(name),
                    };
                    (name.expect("only those with a place wait"), &*leaving.datagram)
                })
                .collect();
            let is_segmented = self.is_segmented && self.alone == 0;
            let first = if self.alone > 0 { self.alone.min(batch.len()) } else { batch.len() };
            let sent =
                self.sockets[socket].send(&batch[..first], Sending { is_heard, is_segmented });
            let Sent { count, refused, unsegmented } = sent;
            self.waiting.drain(..count);
            self.alone = self.alone.saturating_sub(count);
            if let Some(error) = unsegmented {
                self.go_alone(error);
            }
            match refused {
                None => {}
                // One that is full for long, because its interface is down, must not stop the other.
                Some(Errno::EAGAIN) if self.sockets.len() > 1 => {
                    self.waiting.pop_front();
                    self.alone = self.alone.saturating_sub(1);
                    self.counts.unsent += 1;
                }
                Some(Errno::EAGAIN) => return Ok(Flow::Full),
                Some(Errno::ENXIO | Errno::ENODEV) if self.interface.is_some() => {
                    let name = self.interface.clone().unwrap_or_default();
                    return Err(FrancError::InterfaceGone { name });
                }
                Some(_) if self.hear_refusals() => {}
                Some(error) => {
                    let refused = self.waiting.pop_front().expect("it was sent from there");
                    self.alone = self.alone.saturating_sub(1);
                    if let Target::Neighbour(to, link) = refused.to
                        && let Some(&Place { address, .. }) = self.places.get(&(to, link))
                    {
                        self.refusal = Some(Refusal { to: address, by: None, why: error });
                    }
                    self.counts.unsent += 1;
                    if error == Errno::EMSGSIZE {
                        self.counts.too_long += 1;
                        too_long(refused.datagram.len());
                    }
                }
            }
        }
        Ok(Flow::Free)
    }
}

impl NodeLink {
    /// Sends the waiting datagrams as a message each, because the kernel refused the common message
    /// with `error`. `EIO` is about the interface, which cannot complete checksums, and holds for
    /// all later ones; other errors are about one of the datagrams.
    fn go_alone(&mut self, error: Errno) {
        self.alone = self.waiting.len().min(BATCH);
        if error == Errno::EIO {
            self.is_segmented = false;
            self.refused.push_back(OsError::new("sendmmsg(UDP_SEGMENT)", error));
        }
    }
}

/// Returns an address of the link as the machine has it.
fn of_link(address: Address) -> franc::Address {
    match address {
        Address::Udp(address) => franc::Address::Udp(address),
        Address::Mac(mac) => franc::Address::Mac(mac),
    }
}

/// Returns an address of the machine as the link has it; `None` for those of virtual time.
fn to_link(address: franc::Address) -> Option<Address> {
    match address {
        franc::Address::Udp(address) => Some(Address::Udp(address)),
        franc::Address::Mac(mac) => Some(Address::Mac(mac)),
        franc::Address::Node(_) => None,
    }
}

/// Returns the address for answers to `from`, and whether `from` is the own interface's: a
/// bridge would deliver frames to that address to this node, so answers are broadcast.
fn reachable(link: &Link, from: Address) -> (Address, bool) {
    match from {
        Address::Mac(mac) if link.own_mac() == Some(mac) => (Address::Mac(EVERYBODY), true),
        _ => (from, false),
    }
}

/// Index of the socket of a link.
fn socket_of(sockets: &[Link], link: u8) -> usize {
    usize::from(link).min(sockets.len() - 1)
}

impl NodeLink {
    /// The descriptors of its sockets.
    pub fn descriptors(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.sockets.iter().map(Link::as_fd)
    }
}

impl AsFd for NodeLink {
    /// The descriptor of its first socket: two are never full.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.sockets[0].as_fd()
    }
}

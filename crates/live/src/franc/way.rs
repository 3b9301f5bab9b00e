//! The link of a node: its socket, where its neighbours are, and datagrams that wait for
//! room.

use super::{Counts, FrancError};
use crate::os::OsError;
use crate::os::batch::{BATCH, Inbox, Name, Sending, Sent};
use crate::os::clock::Clock;
use crate::os::link::{Address, Link, ethernet_room, interface_mtu, udp_mtu, udp_room};
use lasthop_franc::{self as franc, Heard, Node, NodeId, Transmit};
use lasthop_units::{Duration, Instant, MacAddr};
use nix::errno::Errno;
use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};

/// What may wait in the interface's queue before it says that it is full. Paced senders
/// never come near; for the others it is the queue.
const SEND_BYTES: i32 = 256 << 10;
/// Batches of datagrams in a row before something else has its turn.
const BATCHES_MAX: usize = 4;

/// How neighbours are reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Transport {
    /// Over UDP.
    Udp {
        /// Where datagrams are expected; any address and [`PORT`](super::PORT) if `None`.
        listen: Option<SocketAddr>,
        /// Where neighbours are; those that are missing have to come first.
        neighbours: Vec<(NodeId, SocketAddr)>,
    },
    /// As Ethernet frames.
    Ethernet {
        /// The interface.
        interface: String,
        /// Also hear what others send to each other, as helpers must.
        promiscuous: bool,
        /// Where neighbours are; those that are missing are reached by broadcast until
        /// they have been heard.
        neighbours: Vec<(NodeId, MacAddr)>,
    },
}

/// Where a neighbour is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reach {
    /// Which.
    pub id: NodeId,
    /// Its address.
    pub address: Address,
}

impl Transport {
    /// Over IPv6.
    fn is_v6(&self) -> bool {
        match self {
            Self::Udp { listen, neighbours } => listen
                .or(neighbours.first().map(|&(_, address)| address))
                .is_some_and(|address| address.is_ipv6()),
            Self::Ethernet { .. } => false,
        }
    }

    fn listen(&self, listen: Option<SocketAddr>) -> SocketAddr {
        let any: IpAddr = match self.is_v6() {
            true => Ipv6Addr::UNSPECIFIED.into(),
            false => Ipv4Addr::UNSPECIFIED.into(),
        };
        listen.unwrap_or((any, super::PORT).into())
    }

    fn known(&self) -> BTreeMap<NodeId, Address> {
        match self {
            Self::Udp { neighbours, .. } => {
                neighbours.iter().map(|&(id, address)| (id, Address::Udp(address))).collect()
            }
            Self::Ethernet { neighbours, .. } => {
                neighbours.iter().map(|&(id, mac)| (id, Address::Mac(mac))).collect()
            }
        }
    }
}

/// An MTU that is found out is taken for no more than this: what is longer is a loopback
/// interface, and symbols of 64 KiB would only take memory.
const MTU_FOUND_MAX: u32 = 9_000;

/// The MTU of a way that nobody knows.
const ETHERNET_MTU: u32 = 1_500;

/// The longest datagram that the link carries, in bytes. `mtu` is that of the path, if it
/// is not to be found out.
///
/// # Errors
/// If there is no such interface, or no way to a neighbour, or if `mtu` is more than the
/// own interface takes.
pub fn room(transport: &Transport, mtu: Option<u32>) -> Result<u16, FrancError> {
    let least = |own: u32, name: &dyn Fn() -> String| match mtu {
        Some(mtu) if mtu > own => Err(FrancError::TooWide { mtu, own, name: name() }),
        Some(mtu) => Ok(mtu),
        None => Ok(own.min(MTU_FOUND_MAX)),
    };
    let room = match transport {
        Transport::Udp { neighbours, .. } => {
            let mut narrowest = mtu.unwrap_or(ETHERNET_MTU);
            for &(id, address) in neighbours {
                let own =
                    udp_mtu(address).map_err(|error| FrancError::NoRoute { id, address, error })?;
                if let Some(own) = own {
                    let towards = || format!("the interface towards neighbour {id}");
                    narrowest = narrowest.min(least(own, &towards)?);
                }
            }
            udp_room(narrowest, transport.is_v6())
        }
        Transport::Ethernet { interface, .. } => {
            let own =
                interface_mtu(interface).map_err(|error| interface_error(interface, error))?;
            ethernet_room(least(own, &|| interface.clone())?)
        }
    };
    Ok(u16::try_from(room).unwrap_or(u16::MAX))
}

fn interface_error(name: &str, error: crate::os::OsError) -> FrancError {
    match Errno::from_raw(error.errno) {
        Errno::ENODEV | Errno::ENXIO => FrancError::NoInterface { name: name.into() },
        _ => FrancError::Os(error),
    }
}

/// The MAC address that all take for theirs.
const EVERYBODY: MacAddr = MacAddr([0xff; 6]);

/// A neighbour that was heard this lately is there. Otherwise the kernel asks for its MAC
/// address again and again, and drops datagrams when a lossy link swallows the answers.
const HEARD_LATELY: Duration = Duration::from_secs(3);

/// Where a neighbour is.
struct Place {
    address: Address,
    name: Name,
    heard_at: Option<Instant>,
}

/// A datagram that leaves.
struct Leaving {
    to: Target,
    datagram: Vec<u8>,
}

/// Where a datagram goes.
enum Target {
    /// To where a neighbour is, or to everybody.
    Neighbour(NodeId),
    /// Back to where a question came from.
    Asker(Name),
}

/// The link of a node.
pub(super) struct Way {
    link: Link,
    inbox: Inbox,
    places: BTreeMap<NodeId, Place>,
    copies_to: Vec<NodeId>,
    waiting: VecDeque<Leaving>,
    /// Datagrams to one neighbour go together.
    is_segmented: bool,
    /// At the head of those that wait are so many that go alone, for together they did not.
    alone: usize,
    /// What the kernel refuses of that, until it is taken.
    refused: VecDeque<OsError>,
    broadcast: Option<Name>,
    /// Of Ethernet.
    interface: Option<String>,
    /// A neighbour that was heard from the address of our own interface.
    twin: Option<(NodeId, MacAddr)>,
    pub counts: Counts,
}

/// What became of what was to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flow {
    /// All is on its way.
    Free,
    /// The link takes no more now.
    Full,
}

impl Way {
    pub fn open(
        transport: &Transport,
        copies_to: &[NodeId],
        datagram_bytes_max: u16,
    ) -> Result<Self, FrancError> {
        let (link, broadcast) = match transport {
            Transport::Udp { listen, .. } => {
                (Link::udp(transport.listen(*listen), SEND_BYTES)?, None)
            }
            Transport::Ethernet { interface, promiscuous, .. } => {
                let link = Link::ethernet(interface, *promiscuous, SEND_BYTES)
                    .map_err(|error| interface_error(interface, error))?;
                let all = link.name(Address::Mac(EVERYBODY));
                (link, Some(all))
            }
        };
        let places = transport.known().into_iter();
        let place =
            |(id, address)| (id, Place { address, name: link.name(address), heard_at: None });
        let places = places.map(place).collect();
        let (merged, refused) = link.merge();
        // A frame has its length before the datagram, and its padding after it.
        let inbox = Inbox::new(usize::from(datagram_bytes_max) + 64, merged.received);
        Ok(Self {
            link,
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
            counts: Counts::default(),
        })
    }

    /// Where neighbours are, as far as that is known.
    pub fn reached(&self) -> Vec<Reach> {
        self.places.iter().map(|(&id, place)| Reach { id, address: place.address }).collect()
    }

    /// A neighbour that was heard lately from the MAC address of our own interface.
    pub fn take_twin(&mut self) -> Option<(NodeId, MacAddr)> {
        self.twin.take()
    }

    /// What the kernel refuses of sending and receiving many datagrams at once, once.
    pub fn take_refused(&mut self) -> Option<OsError> {
        self.refused.pop_front()
    }

    /// Takes what came and gives it to `node`, but no more than leaves others their turn.
    ///
    /// The clock is read behind each batch: a datagram that was said to have come before it
    /// did would make the way look shorter than it is, and its queue longer ever after.
    pub fn receive(&mut self, node: &mut Node, clock: Clock) {
        for _ in 0..BATCHES_MAX {
            // What the network reports of an earlier datagram is no news to the machine.
            let is_more = self.link.receive(&mut self.inbox).unwrap_or(false);
            let now = clock.now();
            let (places, link, twin) = (&mut self.places, &self.link, &mut self.twin);
            link.each(&self.inbox, &mut |from, datagram| {
                let heard = node.handle_datagram(now, of_link(from), datagram);
                let Some(Heard { sender, is_moved }) = heard else { return };
                match places.get_mut(&sender) {
                    Some(place) if place.address == from => place.heard_at = Some(now),
                    _ if is_moved => {
                        let (address, is_twin) = reachable(link, from);
                        if let (Address::Mac(mac), true) = (from, is_twin) {
                            *twin = Some((sender, mac));
                        }
                        let (name, heard_at) = (link.name(address), Some(now));
                        places.insert(sender, Place { address, name, heard_at });
                    }
                    Some(place) if place.address == Address::Mac(EVERYBODY) => {
                        place.heard_at = Some(now);
                        if let (Address::Mac(mac), (_, true)) = (from, reachable(link, from)) {
                            *twin = Some((sender, mac));
                        }
                    }
                    _ => {}
                }
            });
            if !is_more {
                return;
            }
        }
    }

    /// Sends what `node` has until it has nothing, or the link is full. `too_long` is told
    /// the length of what the path does not take.
    ///
    /// # Errors
    /// If the interface is gone: one of that name that comes later is another one.
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
        let Transmit { to, reply, datagram } = transmit;
        if let Some(asker) = reply.and_then(to_link) {
            // Nobody else is to have a copy: a stranger may have asked.
            let (address, _) = reachable(&self.link, asker);
            let to = Target::Asker(self.link.name(address));
            return self.waiting.push_back(Leaving { to, datagram });
        }
        for &copy in self.copies_to.iter().filter(|&&copy| copy != to) {
            if self.places.contains_key(&copy) {
                let (to, datagram) = (Target::Neighbour(copy), datagram.clone());
                self.waiting.push_back(Leaving { to, datagram });
            }
        }
        match self.places.contains_key(&to) || self.broadcast.is_some() {
            true => self.waiting.push_back(Leaving { to: Target::Neighbour(to), datagram }),
            false => self.counts.unplaced += 1,
        }
    }

    fn send(&mut self, now: Instant, too_long: &mut dyn FnMut(usize)) -> Result<Flow, FrancError> {
        let lately = |place: &Place| place.heard_at.is_some_and(|at| now < at + HEARD_LATELY);
        let is_heard = self.places.values().all(lately);
        while !self.waiting.is_empty() {
            let batch: Vec<(&Name, &[u8])> = self
                .waiting
                .iter()
                .take(BATCH)
                .map(|leaving| {
                    let name = match &leaving.to {
                        Target::Neighbour(to) => {
                            let place = self.places.get(to).map(|place| &place.name);
                            place.or(self.broadcast.as_ref())
                        }
                        Target::Asker(name) => Some(name),
                    };
                    (name.expect("only those with a place wait"), &*leaving.datagram)
                })
                .collect();
            let is_segmented = self.is_segmented && self.alone == 0;
            let first = if self.alone > 0 { self.alone.min(batch.len()) } else { batch.len() };
            let sent = self.link.send(&batch[..first], Sending { is_heard, is_segmented });
            let Sent { count, refused, unsegmented } = sent;
            self.waiting.drain(..count);
            self.alone = self.alone.saturating_sub(count);
            if let Some(error) = unsegmented {
                self.go_alone(error);
            }
            match refused {
                None => {}
                Some(Errno::EAGAIN) => return Ok(Flow::Full),
                Some(Errno::ENXIO | Errno::ENODEV) if self.interface.is_some() => {
                    let name = self.interface.clone().unwrap_or_default();
                    return Err(FrancError::InterfaceGone { name });
                }
                Some(error) => {
                    let refused = self.waiting.pop_front().expect("it was sent from there");
                    self.alone = self.alone.saturating_sub(1);
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

impl Way {
    /// What waits goes alone, for the system did not take it together, because of `error`.
    /// An interface that cannot complete checksums never will (`EIO`); otherwise it is one of
    /// the datagrams.
    fn go_alone(&mut self, error: Errno) {
        self.alone = self.waiting.len().min(BATCH);
        if error == Errno::EIO {
            self.is_segmented = false;
            self.refused.push_back(OsError::new("sendmmsg(UDP_SEGMENT)", error));
        }
    }
}

/// An address of the link as the machine knows it.
fn of_link(address: Address) -> franc::Address {
    match address {
        Address::Udp(address) => franc::Address::Udp(address),
        Address::Mac(mac) => franc::Address::Mac(mac),
    }
}

/// An address of the machine on the link.
fn to_link(address: franc::Address) -> Option<Address> {
    match address {
        franc::Address::Udp(address) => Some(Address::Udp(address)),
        franc::Address::Mac(mac) => Some(Address::Mac(mac)),
        franc::Address::Node(_) => None,
    }
}

/// How what came from `from` is answered, and whether it has the own interface's address:
/// a bridge would take frames to that for ours, so they go to everybody.
fn reachable(link: &Link, from: Address) -> (Address, bool) {
    match from {
        Address::Mac(mac) if link.own_mac() == Some(mac) => (Address::Mac(EVERYBODY), true),
        _ => (from, false),
    }
}

impl AsFd for Way {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.link.as_fd()
    }
}

//! Datagrams between neighbours: over UDP, or as Ethernet frames with an EtherType of
//! our own (packet(7)), whose Ethernet header the kernel writes and removes.
//!
//! Short frames are padded, so the length of a datagram (2 bytes, big-endian) is before it in
//! a frame. Leaves out VLAN tags, which the kernel adds and removes on its VLAN interfaces.

use super::batch::{self, Inbox, Name, Sending, Sent};
use super::datagram::{DatagramSocket, decode, encode};
use super::device::interface_index;
pub use super::device::interface_mtu;
use super::refusal::{self, Refusal};
use super::socket::set;
use super::{Call, OsError};
use lasthop_units::MacAddr;
use nix::errno::Errno;
use std::mem::{size_of, zeroed};
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// The first of the two EtherTypes for local experiments (IEEE 802, clause 9.2.4).
pub const ETHERTYPE: u16 = 0x88b5;
/// Bytes before a datagram in a frame, for its length.
pub const LENGTH_BYTES: usize = 2;
/// Buffer space of received datagrams in bytes: some thousand long packets.
const RECEIVE_BYTES: i32 = 8 << 20;

/// The address of a neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Address {
    /// An address and port of UDP.
    Udp(SocketAddr),
    /// An address of Ethernet.
    Mac(MacAddr),
}

/// The socket of a link, which never blocks.
#[derive(Debug)]
pub enum Link {
    /// A socket of UDP.
    Udp(DatagramSocket),
    /// A packet socket, for the frames of one interface.
    Ethernet {
        /// The packet socket.
        socket: OwnedFd,
        /// Index of the interface.
        index: u32,
    },
}

/// Whether a message may have several datagrams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Merged {
    /// Messages that are sent.
    pub sent: bool,
    /// Messages that are received.
    pub received: bool,
}

impl Link {
    /// Opens a UDP socket at `address`, with `send_bytes` of buffer space for sending. With
    /// `interface` it sends and receives only there.
    ///
    /// # Errors
    /// If the kernel refuses it, the address is taken or not this host's, or there is no such
    /// interface.
    pub fn udp(
        address: SocketAddr,
        interface: Option<&str>,
        send_bytes: i32,
    ) -> Result<Self, OsError> {
        let socket = DatagramSocket::bind_to(address, interface)?;
        // Time stamps and counts of lost datagrams are not used.
        for told in [libc::SO_TIMESTAMPNS, libc::SO_RXQ_OVFL] {
            set(&socket, libc::SOL_SOCKET, told, &0i32.to_ne_bytes()).call("setsockopt(UDP)")?;
        }
        refusal::keep(&socket, address.is_ipv6()).call("setsockopt(IP_RECVERR)")?;
        set_send_buffer(&socket, send_bytes)?;
        Ok(Self::Udp(socket))
    }

    /// Takes the oldest refusal of an earlier datagram; `None` if there is none, as always over
    /// Ethernet.
    pub fn refusal(&self) -> Option<Refusal> {
        match self {
            Self::Udp(socket) => refusal::take(socket),
            Self::Ethernet { .. } => None,
        }
    }

    /// Opens a packet socket of our EtherType at the interface called `name`; a promiscuous one
    /// also receives frames between other hosts, until it is closed.
    ///
    /// # Errors
    /// If there is no such interface, or the kernel refuses.
    #[expect(unsafe_code, reason = "a packet socket, bound")]
    pub fn ethernet(name: &str, promiscuous: bool, send_bytes: i32) -> Result<Self, OsError> {
        let index = interface_index(name)?;
        let kind = libc::SOCK_DGRAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        // SAFETY: the kernel makes a new descriptor, nobody else has it.
        let socket = unsafe {
            let fd = Errno::result(libc::socket(libc::AF_PACKET, kind, 0));
            OwnedFd::from_raw_fd(fd.call("socket(AF_PACKET)")?)
        };
        let room = RECEIVE_BYTES.to_ne_bytes();
        set(&socket, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, &room)
            .or_else(|_| set(&socket, libc::SOL_SOCKET, libc::SO_RCVBUF, &room))
            .call("setsockopt(SO_RCVBUF)")?;
        set_send_buffer(&socket, send_bytes)?;
        if promiscuous {
            // struct packet_mreq: interface, type, length and bytes of an address.
            let mut request = Vec::new();
            request.extend((index as i32).to_ne_bytes());
            request.extend((libc::PACKET_MR_PROMISC as u16).to_ne_bytes());
            request.extend([0; 10]);
            set(&socket, libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, &request)
                .call("setsockopt(PACKET_MR_PROMISC)")?;
        }
        let own = link_name(index, MacAddr([0; 6]));
        // SAFETY: the kernel reads `length` bytes of an address that lives.
        let bound =
            unsafe { libc::bind(socket.as_raw_fd(), (&raw const own.storage).cast(), own.length) };
        Errno::result(bound).call(&format!("bind(AF_PACKET, {name})"))?;
        Ok(Self::Ethernet { socket, index })
    }

    /// Returns an address as the kernel takes it.
    ///
    /// Panics if it is an address of the other kind of link.
    pub fn name(&self, address: Address) -> Name {
        match (self, address) {
            (Self::Udp(_), Address::Udp(address)) => {
                let (storage, length) = encode(address);
                Name { storage, length }
            }
            (Self::Ethernet { index, .. }, Address::Mac(mac)) => link_name(*index, mac),
            _ => panic!("an address of another kind of link"),
        }
    }

    /// Returns the present MAC address of the interface; `None` over UDP, or if the interface is
    /// gone.
    #[expect(unsafe_code, reason = "addresses as bytes")]
    pub fn own_mac(&self) -> Option<MacAddr> {
        let Self::Ethernet { socket, .. } = self else { return None };
        // SAFETY: zeros are an address of no family; the kernel writes up to `length` bytes, and
        // a struct sockaddr_ll fits.
        unsafe {
            let mut storage: libc::sockaddr_storage = zeroed();
            let mut length = size_of::<libc::sockaddr_storage>() as libc::socklen_t;
            let name = (&raw mut storage).cast();
            Errno::result(libc::getsockname(socket.as_raw_fd(), name, &raw mut length)).ok()?;
            let own = &*(&raw const storage).cast::<libc::sockaddr_ll>();
            (own.sll_halen == 6).then(|| own.sll_addr[..6].try_into().ok().map(MacAddr))?
        }
    }

    /// Allows messages with several datagrams. Returns the directions in which they are possible,
    /// and the kernel's refusals; frames never have several.
    pub fn merge(&self) -> (Merged, Vec<OsError>) {
        let Self::Udp(socket) = self else { return Default::default() };
        let (zero, one) = (0i32.to_ne_bytes(), 1i32.to_ne_bytes());
        // A length of 0 changes nothing, but fails if the kernel lacks the option.
        let sent =
            set(socket, libc::SOL_UDP, libc::UDP_SEGMENT, &zero).call("setsockopt(UDP_SEGMENT)");
        let received = set(socket, libc::SOL_UDP, libc::UDP_GRO, &one).call("setsockopt(UDP_GRO)");
        let merged = Merged { sent: sent.is_ok(), received: received.is_ok() };
        (merged, [sent, received].into_iter().filter_map(Result::err).collect())
    }

    /// Receives waiting datagrams into `inbox`, as many as fit. Returns whether more may wait.
    ///
    /// # Errors
    /// Errors that the network reports of an earlier datagram.
    pub fn receive(&self, inbox: &mut Inbox) -> nix::Result<bool> {
        inbox.receive(self.as_fd())
    }

    /// Calls `take` with each datagram in `inbox` and its sender.
    pub fn each(&self, inbox: &Inbox, take: &mut dyn FnMut(Address, &[u8])) {
        for (name, bytes) in inbox.datagrams() {
            match self {
                Self::Udp(_) => {
                    if let Some(from) = decode(name) {
                        take(Address::Udp(from), bytes);
                    }
                }
                Self::Ethernet { .. } => {
                    if let Some((from, datagram)) = framed(name, bytes) {
                        take(Address::Mac(from), datagram);
                    }
                }
            }
        }
    }

    /// Sends datagrams in order, up to [`batch::BATCH`] of them.
    pub fn send(&self, datagrams: &[(&Name, &[u8])], sending: Sending) -> Sent {
        let datagrams = &datagrams[..datagrams.len().min(batch::BATCH)];
        let mut lengths = [[0; LENGTH_BYTES]; batch::BATCH];
        for (length, (_, bytes)) in lengths.iter_mut().zip(datagrams) {
            *length = (bytes.len() as u16).to_be_bytes();
        }
        let pieces: Vec<(&Name, [&[u8]; 2])> = datagrams
            .iter()
            .zip(&lengths)
            .map(|(&(name, bytes), length)| match self {
                Self::Udp(_) => (name, [bytes, &[]]),
                Self::Ethernet { .. } => (name, [length, bytes]),
            })
            .collect();
        batch::send(self.as_fd(), &pieces, sending)
    }
}

impl AsFd for Link {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Udp(socket) => socket.as_fd(),
            Self::Ethernet { socket, .. } => socket.as_fd(),
        }
    }
}

/// Returns the MTU of the route to `peer`, in bytes, if the kernel knows it.
///
/// # Errors
/// If there is no route to the peer.
pub fn udp_mtu(peer: SocketAddr) -> Result<Option<u32>, OsError> {
    Ok(DatagramSocket::connect(peer)?.mtu())
}

/// Returns the length in bytes of the longest datagram in a UDP packet of `mtu` bytes.
pub const fn udp_datagram_bytes_max(mtu: u32, is_v6: bool) -> u32 {
    /// Headers of IP and UDP.
    const V4_BYTES: u32 = 28;
    const V6_BYTES: u32 = 48;
    mtu.saturating_sub(if is_v6 { V6_BYTES } else { V4_BYTES })
}

/// Returns the length in bytes of the longest datagram in a frame that carries `mtu` bytes.
pub const fn ethernet_datagram_bytes_max(mtu: u32) -> u32 {
    mtu.saturating_sub(LENGTH_BYTES as u32)
}

fn set_send_buffer(socket: &impl AsFd, bytes: i32) -> Result<(), OsError> {
    set(socket, libc::SOL_SOCKET, libc::SO_SNDBUF, &bytes.to_ne_bytes())
        .call("setsockopt(SO_SNDBUF)")
}

#[expect(unsafe_code, reason = "addresses as bytes")]
fn link_name(index: u32, mac: MacAddr) -> Name {
    // SAFETY: zeros are an address of no family, and a struct sockaddr_ll fits.
    unsafe {
        let mut storage: libc::sockaddr_storage = zeroed();
        let to = (&raw mut storage).cast::<libc::sockaddr_ll>();
        (*to).sll_family = libc::AF_PACKET as _;
        (*to).sll_protocol = ETHERTYPE.to_be();
        (*to).sll_ifindex = index as i32;
        (*to).sll_halen = 6;
        (&mut (*to).sll_addr)[..6].copy_from_slice(&mac.0);
        Name { storage, length: size_of::<libc::sockaddr_ll>() as _ }
    }
}

/// Returns the sender and the datagram of a frame; `None` if this host sent it, or it is not
/// valid.
#[expect(unsafe_code, reason = "addresses as bytes")]
fn framed<'a>(name: &libc::sockaddr_storage, bytes: &'a [u8]) -> Option<(MacAddr, &'a [u8])> {
    // SAFETY: the kernel filled in a struct sockaddr_ll, which fits.
    let from = unsafe { &*(&raw const *name).cast::<libc::sockaddr_ll>() };
    if from.sll_pkttype == libc::PACKET_OUTGOING {
        return None;
    }
    let mac = MacAddr(from.sll_addr[..6].try_into().ok()?);
    Some((mac, unframed(bytes)?))
}

/// Returns the datagram of a frame behind its EtherType, without its length and padding; `None`
/// if it is cut.
pub fn unframed(bytes: &[u8]) -> Option<&[u8]> {
    let (length, rest) = bytes.split_first_chunk::<LENGTH_BYTES>()?;
    rest.get(..usize::from(u16::from_be_bytes(*length)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn padding_is_no_part_of_a_datagram() {
        assert_eq!(unframed(&[0, 2, 7, 8, 0, 0, 0]), Some(&[7, 8][..]));
        assert_eq!(unframed(&[0, 0]), Some(&[][..]));
        for cut in [&[][..], &[0], &[0, 3, 7, 8], &[255, 255, 1]] {
            assert_eq!(unframed(cut), None, "{cut:?}");
        }
    }

    /// Two sockets, and the name of the second.
    fn pair() -> (Link, Link, Name) {
        let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
        let (one, other) =
            (Link::udp(any, None, 1 << 18).unwrap(), Link::udp(any, None, 1 << 18).unwrap());
        let Link::Udp(socket) = &other else { unreachable!() };
        let to = other.name(Address::Udp(socket.address().unwrap()));
        (one, other, to)
    }

    /// All datagrams that one call receives.
    fn heard(link: &Link, inbox: &mut Inbox) -> Vec<Vec<u8>> {
        let mut heard = Vec::new();
        assert_eq!(link.receive(inbox), Ok(false));
        link.each(inbox, &mut |_, bytes| heard.push(bytes.to_vec()));
        heard
    }

    const HEARD: Sending = Sending { is_heard: true, is_segmented: false };
    const SEGMENTED: Sending = Sending { is_heard: true, is_segmented: true };

    #[test]
    #[cfg_attr(miri, ignore = "the kernel's UDP")]
    fn datagrams_pass_over_udp_whole() {
        let (one, other, to) = pair();
        let long = vec![7; 1_400];
        let all: [(&Name, &[u8]); 3] = [(&to, &long), (&to, b"x"), (&to, &[])];
        let sent = Sent { count: 3, refused: None, unsegmented: None };
        assert_eq!(one.send(&all, HEARD), sent);
        // The long one had no room in the inbox, and nothing of it is given out.
        assert_eq!(heard(&other, &mut Inbox::new(1_000, false)), [b"x".to_vec(), Vec::new()]);
    }

    /// Lengths up and down, so that messages have one datagram or many; empty ones; those that
    /// exceed the receiver's buffer.
    #[test]
    #[cfg_attr(miri, ignore = "the kernel's UDP")]
    fn datagrams_are_the_same_one_by_one_and_together() {
        let lengths = [9, 9, 9, 8, 8, 9, 1, 0, 0, 900, 900, 900, 3, 1_100, 1_100, 5];
        let datagrams: Vec<Vec<u8>> = (1..).zip(lengths).map(|(i, n)| vec![i; n]).collect();
        let expected: Vec<Vec<u8>> =
            datagrams.iter().filter(|datagram| datagram.len() <= 1_000).cloned().collect();
        for is_received in [false, true] {
            let (one, other, to) = pair();
            let (merged, refused) = one.merge();
            if !merged.sent || !merged.received {
                return eprintln!("skipped, because {refused:?}");
            }
            if is_received {
                other.merge();
            }
            let all: Vec<(&Name, &[u8])> = datagrams.iter().map(|d| (&to, &**d)).collect();
            let sent = Sent { count: all.len(), refused: None, unsegmented: None };
            assert_eq!(one.send(&all, SEGMENTED), sent);
            assert_eq!(heard(&other, &mut Inbox::new(1_000, is_received)), expected);
        }
    }

    /// A message that is too long for the path is sent alone, and refused alone.
    #[test]
    #[cfg_attr(miri, ignore = "the kernel's UDP")]
    fn a_message_that_cannot_be_cut_says_so() {
        let (one, _open, to) = pair();
        if !one.merge().0.sent {
            return eprintln!("skipped, because the kernel has no UDP_SEGMENT");
        }
        let Link::Udp(socket) = &one else { unreachable!() };
        // Without checksums there is nothing that could cut them.
        set(socket, libc::SOL_SOCKET, libc::SO_NO_CHECK, &1i32.to_ne_bytes()).unwrap();
        let all: [(&Name, &[u8]); 2] = [(&to, b"ab"), (&to, b"cd")];
        let sent = one.send(&all, SEGMENTED);
        assert_eq!((sent.count, sent.refused), (0, None));
        assert!(sent.unsegmented.is_some());
        let sent = Sent { count: 2, refused: None, unsegmented: None };
        assert_eq!(one.send(&all, HEARD), sent);
    }

    /// A port whose socket is closed.
    #[test]
    #[cfg_attr(miri, ignore = "the kernel's UDP")]
    fn a_closed_port_is_told() {
        for own in ["127.0.0.1:0", "[::1]:0"] {
            let own: SocketAddr = own.parse().unwrap();
            let Ok(free) = DatagramSocket::bind(own) else { continue };
            let to = free.address().unwrap();
            drop(free);
            let link = Link::udp(own, None, 1 << 18).unwrap();
            assert_eq!(link.refusal(), None);
            let name = link.name(Address::Udp(to));
            let send = || link.send(&[(&name, b"x")], Sending::default());
            assert_eq!(send().count, 1);
            // The refusal stops one call, and then the next datagram is sent.
            assert_eq!(send().refused, Some(Errno::ECONNREFUSED));
            let told = Refusal { to, by: Some(to.ip()), why: Errno::ECONNREFUSED };
            assert_eq!(link.refusal(), Some(told));
            assert_eq!(link.refusal(), None);
            assert_eq!(send().count, 1);
        }
    }
}

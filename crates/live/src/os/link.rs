//! Datagrams between neighbours: over UDP, or as Ethernet frames with an EtherType of
//! our own (packet(7)), where the kernel writes and takes away the Ethernet header.
//!
//! A short frame is padded, so a datagram in a frame has its length (2 bytes, big-endian)
//! before it. Left out: VLAN tags, which the kernel adds and removes on its interfaces.

use super::batch::{self, Inbox, Name};
use super::datagram::{DatagramSocket, decode, encode};
use super::device::interface_index;
pub use super::device::interface_mtu;
use super::socket::set;
use super::{Call, OsError};
use lasthop_units::MacAddr;
use nix::errno::Errno;
use std::mem::{size_of, zeroed};
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// The first of the two EtherTypes for local experiments (IEEE 802, clause 9.2.4).
pub const ETHERTYPE: u16 = 0x88b5;
/// Bytes before a datagram in a frame: its length.
pub const LENGTH_BYTES: usize = 2;
/// What may wait to be read: some thousand long packets.
const RECEIVE_BYTES: i32 = 8 << 20;

/// Where a datagram comes from or goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Address {
    /// UDP.
    Udp(SocketAddr),
    /// On the link.
    Mac(MacAddr),
}

/// A socket that never blocks.
#[derive(Debug)]
pub enum Link {
    /// UDP.
    Udp(DatagramSocket),
    /// Frames of one interface.
    Ethernet {
        /// The packet socket.
        socket: OwnedFd,
        /// Index of the interface.
        index: u32,
    },
}

impl Link {
    /// A UDP socket at `address`.
    ///
    /// # Errors
    /// If the system refuses one, or the address is taken or not this host's.
    pub fn udp(address: SocketAddr, send_bytes: i32) -> Result<Self, OsError> {
        let socket = DatagramSocket::bind(address)?;
        set_send_buffer(&socket, send_bytes)?;
        Ok(Self::Udp(socket))
    }

    /// A packet socket of our EtherType at the interface called `name`; a promiscuous one
    /// hears what others send to each other. Both end when it is closed.
    ///
    /// # Errors
    /// If there is no such interface, or the system refuses.
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

    /// An address as the system takes it.
    ///
    /// Panics if it is of the other kind of link.
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

    /// The MAC address of the interface as it is now; `None` over UDP, or if it is gone.
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

    /// Takes what waits into `inbox`, up to [`batch::BATCH`] datagrams. Returns whether
    /// more may wait.
    ///
    /// # Errors
    /// What the network reports.
    pub fn receive(&self, inbox: &mut Inbox) -> nix::Result<bool> {
        inbox.receive(self.as_fd()).map(|count| count == batch::BATCH)
    }

    /// Gives each datagram that was taken into `inbox`, with its sender, to `take`.
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

    /// Sends datagrams in order, to hosts that all answer if `is_heard`. Gives how many are
    /// on their way, and why the next is not, if that is known.
    pub fn send(&self, datagrams: &[(&Name, &[u8])], is_heard: bool) -> (usize, Option<Errno>) {
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
        batch::send(self.as_fd(), &pieces, is_heard)
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

/// The MTU of the interface towards `peer`, in bytes, if the system knows it.
///
/// # Errors
/// If the system knows no way to the peer.
pub fn udp_mtu(peer: SocketAddr) -> Result<Option<u32>, OsError> {
    Ok(DatagramSocket::connect(peer)?.mtu())
}

/// The longest datagram in a packet of `mtu` bytes over UDP, in bytes.
pub const fn udp_room(mtu: u32, is_v6: bool) -> u32 {
    /// Headers of IP and UDP.
    const V4_BYTES: u32 = 28;
    const V6_BYTES: u32 = 48;
    mtu.saturating_sub(if is_v6 { V6_BYTES } else { V4_BYTES })
}

/// The longest datagram in a frame that carries `mtu` bytes.
pub const fn ethernet_room(mtu: u32) -> u32 {
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

/// The sender and the datagram of a frame that another host sent.
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

/// The datagram of a frame without its header: the padding goes.
fn unframed(bytes: &[u8]) -> Option<&[u8]> {
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

    #[test]
    #[cfg_attr(miri, ignore = "the kernel's UDP")]
    fn datagrams_pass_over_udp_whole() {
        let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
        let (one, other) = (Link::udp(any, 1 << 18).unwrap(), Link::udp(any, 1 << 18).unwrap());
        let Link::Udp(socket) = &other else { unreachable!() };
        let to = other.name(Address::Udp(socket.address().unwrap()));
        let long = vec![7; 1_400];
        assert_eq!(one.send(&[(&to, &long), (&to, b"x"), (&to, &[])], true), (3, None));
        let mut inbox = Inbox::new(1_000);
        let mut heard = Vec::new();
        assert_eq!(other.receive(&mut inbox), Ok(false));
        other.each(&inbox, &mut |_, bytes| heard.push(bytes.to_vec()));
        // The long one had no room in the inbox, and nothing of it is given out.
        assert_eq!(heard, [b"x".to_vec(), Vec::new()]);
    }
}

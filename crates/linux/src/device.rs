//! The network device of a node: a TAP device if `/dev/net/tun` opens, else a
//! veth pair whose other end is in the emulator's own namespace. Also the TUN
//! device of a tunnel.
//!
//! Segmentation and checksum offloads are off in the device of a node, so that every frame
//! it sends could be on the air: no longer than the MTU, with complete checksums. (A TAP
//! device without a vnet header has no offloads.) The TUN device of a tunnel has them: its
//! packets are segmented and coalesced by [`crate::offload`].

use super::namespace::NetNamespace;
use super::netlink::{LinkChange, Netlink};
use super::{Call, OsError};
use crate::offload::{HEADER_BYTES, Kinds};
use lasthop_units::MacAddr;
use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::net::if_::if_nametoindex;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};
use nix::sys::stat::Mode;
use nix::unistd::{read, write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Frames that a device holds while the emulator is busy. Ample, because a frame
/// dropped here would be a loss that is not in the model.
const DEVICE_QUEUE_FRAMES: u32 = 10_000;

/// The kind of devices to use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum DeviceChoice {
    /// TAP if `/dev/net/tun` opens, else veth.
    #[default]
    Automatic,
    /// TAP; an error if `/dev/net/tun` does not open.
    Tap,
    /// Pairs of veth devices.
    Veth,
}

/// The properties of a node's interface.
#[derive(Clone, Debug)]
pub struct Interface {
    /// Name of the interface: `wlan0` or `eth0`.
    pub name: &'static str,
    /// MAC address of the interface.
    pub address: MacAddr,
    /// Address in 10.77.0.0/16.
    pub ipv4: Ipv4Addr,
    /// Address in fd77::/64.
    pub ipv6: Ipv6Addr,
    /// MTU: the longest network-layer packet, in bytes.
    pub mtu: u16,
}

/// Whether `/dev/net/tun` opens, so that TAP devices can be made.
pub fn tap_opens() -> bool {
    open_tun().is_ok()
}

/// Whether a TUN device may be made in the calling thread's network namespace. The check makes
/// none: for a device that is neither TUN nor TAP the kernel checks the permission first, then
/// returns `EINVAL` (`tun_set_iff` in drivers/net/tun.c).
///
/// # Errors
/// `EPERM` without CAP_NET_ADMIN; errors of open(2).
pub fn may_make_tun() -> Result<(), OsError> {
    const NOBODYS: &str = "lasthop-trial";
    let tun = open_tun().call("open(/dev/net/tun)")?;
    let mut request = InterfaceRequest::new(NOBODYS);
    request.value.flags = libc::IFF_NO_PI as i16;
    match ioctls::tun_set_interface(tun.as_fd(), &mut request) {
        Err(Errno::EINVAL) => Ok(()),
        result => result.call("ioctl(TUNSETIFF)"),
    }
}

/// Makes a TAP device in the calling thread's network namespace.
pub fn create_tap(interface: &Interface) -> Result<OwnedFd, OsError> {
    let tun = open_tun().call("open(/dev/net/tun)")?;
    let mut request = InterfaceRequest::new(interface.name);
    request.value.flags = (libc::IFF_TAP | libc::IFF_NO_PI) as i16;
    ioctls::tun_set_interface(tun.as_fd(), &mut request).call("ioctl(TUNSETIFF)")?;
    configure(interface)?;
    Ok(tun)
}

/// Makes a veth pair: one end in the calling thread's namespace `here`, the
/// other, called `peer`, in `hub`. Returns the interface index of the other end.
pub fn create_veth(
    interface: &Interface,
    peer: &str,
    here: &NetNamespace,
    hub: &NetNamespace,
) -> Result<u32, OsError> {
    Netlink::open()
        .and_then(|mut n| n.create_veth(interface.name, interface.address, peer, hub.as_fd()))
        .call("rtnetlink(RTM_NEWLINK veth)")?;
    hub.enter()?;
    let index = if_nametoindex(peer).call("if_nametoindex")?;
    let change = LinkChange {
        mtu: Some(u32::from(interface.mtu)),
        no_link_local: true,
        no_arp: true,
        up: true,
        ..LinkChange::default()
    };
    switch_offloads_off(peer)?;
    set_link(index, change)?;
    here.enter()?;
    switch_offloads_off(interface.name)?;
    configure(interface)?;
    Ok(index)
}

/// A TUN device: whole IP packets, each after a header with the state of its checksum and the
/// number of segments in it (see [`crate::offload`]), if the kernel supports that.
#[derive(Debug)]
pub struct Tun {
    fd: OwnedFd,
    has_header: bool,
    kinds: Kinds,
}

impl Tun {
    /// Makes a device called `name` in the calling thread's network namespace, which is removed
    /// when it is dropped. Also returns the offloads that the kernel refused.
    ///
    /// # Errors
    /// If the device cannot be made.
    pub fn create(name: &str) -> Result<(Self, Vec<OsError>), OsError> {
        let fd = open_tun().call("open(/dev/net/tun)")?;
        let set = |flags: i32| {
            let mut request = InterfaceRequest::new(name);
            request.value.flags = (libc::IFF_TUN | libc::IFF_NO_PI | flags) as i16;
            ioctls::tun_set_interface(fd.as_fd(), &mut request)
        };
        let mut refused = Vec::new();
        let with_header = set(libc::IFF_VNET_HDR).call("ioctl(TUNSETIFF, IFF_VNET_HDR)");
        let has_header = with_header.is_ok();
        if let Err(error) = with_header {
            set(0).call(&format!("ioctl(TUNSETIFF) of {name:?}"))?;
            refused.push(error);
        }
        let mut kinds = Kinds::default();
        if has_header {
            let tcp = TUN_CHECKSUM | TUN_TCP;
            for (offers, offered) in [
                (tcp | TUN_UDP, Kinds { tcp: true, udp: true }),
                (tcp, Kinds { tcp: true, udp: false }),
            ] {
                let call = format!("ioctl(TUNSETOFFLOAD, {offers:#x})");
                match ioctls::tun_set_offload(fd.as_fd(), offers).call(&call) {
                    Ok(()) => {
                        kinds = offered;
                        break;
                    }
                    Err(error) => refused.push(error),
                }
            }
        }
        Ok((Self { fd, has_header, kinds }, refused))
    }

    /// The kinds of packets that may be written as many segments.
    pub fn kinds(&self) -> Kinds {
        self.kinds
    }

    /// Reads a packet with its header into `buffer`; returns the bytes of both.
    ///
    /// # Errors
    /// `EAGAIN` if none waits.
    pub fn read(&self, buffer: &mut [u8]) -> nix::Result<usize> {
        if self.has_header {
            return read(&self.fd, buffer);
        }
        let (header, packet) = buffer.split_at_mut(HEADER_BYTES);
        header.fill(0);
        read(&self.fd, packet).map(|bytes| HEADER_BYTES + bytes)
    }

    /// Writes a packet with its header.
    ///
    /// # Errors
    /// The error of write(2).
    pub fn write(&self, packet: &[u8]) -> nix::Result<()> {
        let packet = if self.has_header { packet } else { &packet[HEADER_BYTES..] };
        loop {
            match write(&self.fd, packet) {
                Err(Errno::EINTR) => {}
                written => return written.map(drop),
            }
        }
    }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// `TUN_F_CSUM`; `TUN_F_TSO4`, `TUN_F_TSO6` and `TUN_F_TSO_ECN`; `TUN_F_USO4` and `TUN_F_USO6`
/// (linux/if_tun.h).
const TUN_CHECKSUM: u32 = 0x01;
const TUN_TCP: u32 = 0x02 | 0x04 | 0x08;
const TUN_UDP: u32 = 0x20 | 0x40;

/// Sets up the TUN device called `name`: its MTU in bytes, and its addresses with the lengths
/// of their prefixes.
pub fn configure_tun(name: &str, mtu: u32, addresses: &[(IpAddr, u8)]) -> Result<(), OsError> {
    let index = interface_index(name)?;
    let change = LinkChange { mtu: Some(mtu), up: true, ..LinkChange::default() };
    set_link(index, change)?;
    let mut netlink = Netlink::open().call("socket(AF_NETLINK)")?;
    for &(address, prefix) in addresses {
        let call = format!("rtnetlink(RTM_NEWADDR {address}/{prefix})");
        netlink.add_address(index, address, prefix).call(&call)?;
    }
    Ok(())
}

/// Returns the index of the interface called `name`.
pub fn interface_index(name: &str) -> Result<u32, OsError> {
    if_nametoindex(name).call(&format!("if_nametoindex({name})"))
}

/// Returns the MTU of the interface called `name`, in bytes.
pub fn interface_mtu(name: &str) -> Result<u32, OsError> {
    let socket = socket(AddressFamily::Inet, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None)
        .call("socket(AF_INET)")?;
    ioctls::mtu(socket.as_fd(), name).call(&format!("ioctl(SIOCGIFMTU, {name})"))
}

/// Returns the number of frames that a node's interface dropped on sending, that is before they
/// entered the model.
pub fn transmit_drops(interface: &str) -> Result<u64, OsError> {
    let index = if_nametoindex(interface).call("if_nametoindex")?;
    Netlink::open().and_then(|mut n| n.transmit_drops(index)).call("rtnetlink(RTM_GETLINK)")
}

fn open_tun() -> nix::Result<OwnedFd> {
    let flags = OFlag::O_RDWR | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC;
    nix::fcntl::open("/dev/net/tun", flags, Mode::empty())
}

/// Sets up the interface and the loopback of a node, with addresses and without a queueing
/// discipline.
fn configure(interface: &Interface) -> Result<(), OsError> {
    let index = if_nametoindex(interface.name).call("if_nametoindex")?;
    let loopback = if_nametoindex("lo").call("if_nametoindex(lo)")?;
    set_link(loopback, LinkChange { up: true, ..LinkChange::default() })?;
    let change = LinkChange {
        address: Some(interface.address),
        mtu: Some(u32::from(interface.mtu)),
        queue_frames: Some(DEVICE_QUEUE_FRAMES),
        no_link_local: true,
        ..LinkChange::default()
    };
    set_link(index, change)?;
    let mut netlink = Netlink::open().call("socket(AF_NETLINK)")?;
    netlink.remove_queue(index).call("rtnetlink(RTM_NEWQDISC noqueue)")?;
    set_link(index, LinkChange { up: true, ..LinkChange::default() })?;
    netlink
        .add_address(index, IpAddr::V4(interface.ipv4), 16)
        .call("rtnetlink(RTM_NEWADDR ipv4)")?;
    for address in [link_local(interface.address), interface.ipv6] {
        match netlink.add_address(index, IpAddr::V6(address), 64) {
            // A kernel without IPv6, or with IPv6 switched off.
            Err(Errno::EOPNOTSUPP | Errno::EAFNOSUPPORT | Errno::EACCES) => {}
            result => result.call("rtnetlink(RTM_NEWADDR ipv6)")?,
        }
    }
    Ok(())
}

/// Gives a node's interface another address in the network of the nodes.
pub fn add_address(interface: &str, address: Ipv4Addr) -> Result<(), OsError> {
    let index = interface_index(interface)?;
    let mut netlink = Netlink::open().call("socket(AF_NETLINK)")?;
    netlink
        .add_address(index, IpAddr::V4(address), 16)
        .call(&format!("rtnetlink(RTM_NEWADDR {address})"))
}

/// Makes neighbours known to a node, each by its addresses, as if they had just answered; the
/// kernel verifies them later as usual.
pub fn add_neighbours(
    interface: &str,
    neighbours: &[(Ipv4Addr, Option<Ipv6Addr>, MacAddr)],
) -> Result<(), OsError> {
    let index = interface_index(interface)?;
    let mut netlink = Netlink::open().call("socket(AF_NETLINK)")?;
    for (ipv4, ipv6, mac) in neighbours {
        let call = || format!("rtnetlink(RTM_NEWNEIGH {ipv4})");
        netlink.add_neighbour(index, IpAddr::V4(*ipv4), *mac).call(&call())?;
        if let Some(ipv6) = ipv6 {
            // A kernel without IPv6 refuses.
            let _ = netlink.add_neighbour(index, IpAddr::V6(*ipv6), *mac);
        }
    }
    Ok(())
}

/// Makes `gateway` the default route of a node.
pub fn add_default_route(interface: &str, gateway: Ipv4Addr) -> Result<(), OsError> {
    let index = interface_index(interface)?;
    let mut netlink = Netlink::open().call("socket(AF_NETLINK)")?;
    netlink
        .add_default_route(index, gateway)
        .call(&format!("rtnetlink(RTM_NEWROUTE default via {gateway})"))
}

fn set_link(index: u32, change: LinkChange) -> Result<(), OsError> {
    let mut netlink = Netlink::open().call("socket(AF_NETLINK)")?;
    match netlink.set_link(index, change) {
        Err(_) if change.no_link_local => {
            // Without IPv6 the request is refused as a whole.
            netlink.set_link(index, LinkChange { no_link_local: false, ..change })
        }
        result => result,
    }
    .call("rtnetlink(RTM_NEWLINK)")
}

/// Returns the link-local address of a MAC address (RFC 4291, appendix A).
fn link_local(MacAddr([a, b, c, d, e, f]): MacAddr) -> Ipv6Addr {
    let pair = |x, y| u16::from_be_bytes([x, y]);
    Ipv6Addr::new(0xfe80, 0, 0, 0, pair(a ^ 2, b), pair(c, 0xff), pair(0xfe, d), pair(e, f))
}

/// The commands of linux/ethtool.h that set one flag each: segmentation and receive merging first,
/// because some kernels refuse to switch off checksums before them.
const ETHTOOL_SET: [u32; 6] = [
    0x2c, // ETHTOOL_SGRO
    0x24, // ETHTOOL_SGSO
    0x1f, // ETHTOOL_STSO
    0x19, // ETHTOOL_SSG
    0x17, // ETHTOOL_STXCSUM
    0x15, // ETHTOOL_SRXCSUM
];

fn switch_offloads_off(name: &str) -> Result<(), OsError> {
    let socket = socket(AddressFamily::Inet, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None)
        .call("socket(AF_INET)")?;
    for command in ETHTOOL_SET {
        let mut value = ioctls::EthtoolValue { command, data: 0 };
        match ioctls::ethtool(socket.as_fd(), name, &mut value) {
            // The kernel does not know the flag, so the device does not use it.
            Ok(()) | Err(Errno::EOPNOTSUPP | Errno::EINVAL) => {}
            result => result.call("ioctl(SIOCETHTOOL)")?,
        }
    }
    Ok(())
}

use ioctls::InterfaceRequest;

mod ioctls {
    //! The ioctls, with the structures of netdevice(7) and linux/ethtool.h.

    use nix::errno::Errno;
    use std::os::fd::{AsRawFd, BorrowedFd};

    /// The C structure `struct ifreq`.
    #[repr(C)]
    pub struct InterfaceRequest {
        name: [u8; libc::IFNAMSIZ],
        pub value: InterfaceValue,
    }

    /// The union in struct ifreq, 24 bytes in all.
    #[repr(C)]
    pub union InterfaceValue {
        pub flags: i16,
        pub mtu: i32,
        pub data: *mut EthtoolValue,
        whole: [u64; 3],
    }

    /// The C structure `struct ethtool_value`.
    #[repr(C)]
    pub struct EthtoolValue {
        pub command: u32,
        pub data: u32,
    }

    impl InterfaceRequest {
        /// A request about the interface `name`, which is cut to 15 bytes.
        pub fn new(name: &str) -> Self {
            let mut request =
                Self { name: [0; libc::IFNAMSIZ], value: InterfaceValue { whole: [0; 3] } };
            for (to, from) in request.name[..libc::IFNAMSIZ - 1].iter_mut().zip(name.bytes()) {
                *to = from;
            }
            request
        }
    }

    #[expect(unsafe_code, reason = "an ioctl")]
    pub fn tun_set_interface(
        tun: BorrowedFd<'_>,
        request: &mut InterfaceRequest,
    ) -> nix::Result<()> {
        // SAFETY: TUNSETIFF reads and writes a struct ifreq, which `request` is.
        let result =
            unsafe { libc::ioctl(tun.as_raw_fd(), libc::TUNSETIFF as _, &raw mut *request) };
        Errno::result(result).map(drop)
    }

    #[expect(unsafe_code, reason = "an ioctl")]
    pub fn tun_set_offload(tun: BorrowedFd<'_>, offers: u32) -> nix::Result<()> {
        // SAFETY: TUNSETOFFLOAD takes a number.
        let result = unsafe {
            libc::ioctl(tun.as_raw_fd(), libc::TUNSETOFFLOAD as _, libc::c_ulong::from(offers))
        };
        Errno::result(result).map(drop)
    }

    #[expect(unsafe_code, reason = "an ioctl")]
    pub fn mtu(socket: BorrowedFd<'_>, name: &str) -> nix::Result<u32> {
        let mut request = InterfaceRequest::new(name);
        // SAFETY: SIOCGIFMTU reads the name of a struct ifreq and writes its mtu.
        unsafe {
            let result = libc::ioctl(socket.as_raw_fd(), libc::SIOCGIFMTU as _, &raw mut request);
            Errno::result(result)?;
            u32::try_from(request.value.mtu).map_err(|_| Errno::EINVAL)
        }
    }

    #[expect(unsafe_code, reason = "an ioctl")]
    pub fn ethtool(
        socket: BorrowedFd<'_>,
        name: &str,
        value: &mut EthtoolValue,
    ) -> nix::Result<()> {
        let mut request = InterfaceRequest::new(name);
        request.value.data = value;
        // SAFETY: SIOCETHTOOL takes a struct ifreq whose data points to a struct
        // ethtool_value; both live across the call.
        let result =
            unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCETHTOOL as _, &raw mut request) };
        Errno::result(result).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_link_local_address_is_that_of_rfc_4291() {
        // The example of RFC 4291, appendix A, with its universal bit inverted.
        let mac = MacAddr([0x34, 0x56, 0x78, 0x9a, 0xbc, 0xde]);
        assert_eq!(link_local(mac).to_string(), "fe80::3656:78ff:fe9a:bcde");
    }
}

//! The few rtnetlink requests that the emulator needs: make a veth pair, set a
//! link up, give it addresses, neighbours and a default route, take its queueing discipline away, read its
//! counters. One request at a time, each acknowledged (netlink(7),
//! rtnetlink(7)). Leaves out everything else, multi-part dumps included.

use crate::message::{HEADER, Message, attributes, messages};
use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, recv, sendto,
    socket,
};
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};

use lasthop_units::MacAddr;

/// `VETH_INFO_PEER` of linux/veth.h.
const VETH_INFO_PEER: u16 = 1;
/// `IFLA_INET6_ADDR_GEN_MODE` of linux/if_link.h.
const IFLA_INET6_ADDR_GEN_MODE: u16 = 8;
/// Mode without a link-local address from the kernel, `IN6_ADDR_GEN_MODE_NONE`.
const IN6_ADDR_GEN_MODE_NONE: u8 = 1;
/// `TC_H_ROOT` of linux/pkt_sched.h.
const TC_H_ROOT: u32 = u32::MAX;
/// Length of `ifinfomsg`.
const IFINFO: usize = 16;
/// Offset of `tx_dropped` in `rtnl_link_stats64`: the eighth counter.
const TX_DROPPED: usize = 7 * 8;

/// An rtnetlink socket of the network namespace in which it was opened.
#[derive(Debug)]
pub struct Netlink {
    socket: OwnedFd,
    sequence: u32,
}

/// The changes of [`Netlink::set_link`]; `None` leaves a property alone.
#[derive(Clone, Copy, Debug, Default)]
pub struct LinkChange {
    /// The MAC address.
    pub address: Option<MacAddr>,
    /// The MTU in bytes.
    pub mtu: Option<u32>,
    /// The number of frames that the device's own buffer holds.
    pub queue_frames: Option<u32>,
    /// Whether the kernel is kept from making an IPv6 link-local address.
    pub no_link_local: bool,
    /// Whether ARP is switched off.
    pub no_arp: bool,
    /// Whether the link is set up.
    pub up: bool,
}

impl Netlink {
    /// Opens a socket in the calling thread's network namespace.
    pub fn open() -> nix::Result<Self> {
        let socket = socket(
            AddressFamily::Netlink,
            SockType::Raw,
            SockFlag::SOCK_CLOEXEC,
            SockProtocol::NetlinkRoute,
        )?;
        bind(socket.as_raw_fd(), &NetlinkAddr::new(0, 0))?;
        Ok(Self { socket, sequence: 0 })
    }

    /// Makes a veth pair: `name` with `address` here, `peer` in the namespace `peer_namespace`.
    pub fn create_veth(
        &mut self,
        name: &str,
        address: MacAddr,
        peer: &str,
        peer_namespace: BorrowedFd<'_>,
    ) -> nix::Result<()> {
        let mut m = request(libc::RTM_NEWLINK, libc::NLM_F_CREATE | libc::NLM_F_EXCL);
        link_info(&mut m, 0, 0, 0);
        m.text(libc::IFLA_IFNAME, name);
        m.bytes(libc::IFLA_ADDRESS, &address.0);
        m.nest(libc::IFLA_LINKINFO, |m| {
            m.text(libc::IFLA_INFO_KIND, "veth");
            m.nest(libc::IFLA_INFO_DATA, |m| {
                m.nest(VETH_INFO_PEER, |m| {
                    link_info(m, 0, 0, 0);
                    m.text(libc::IFLA_IFNAME, peer);
                    m.u32(libc::IFLA_NET_NS_FD, peer_namespace.as_raw_fd() as u32);
                });
            });
        });
        self.request(m).map(|_| ())
    }

    /// Changes the link `index`.
    pub fn set_link(&mut self, index: u32, change: LinkChange) -> nix::Result<()> {
        let mut flags = 0;
        if change.up {
            flags |= libc::IFF_UP as u32;
        }
        if change.no_arp {
            flags |= libc::IFF_NOARP as u32;
        }
        let mut m = request(libc::RTM_NEWLINK, 0);
        link_info(&mut m, index, flags, flags);
        if let Some(address) = change.address {
            m.bytes(libc::IFLA_ADDRESS, &address.0);
        }
        if let Some(mtu) = change.mtu {
            m.u32(libc::IFLA_MTU, mtu);
        }
        if let Some(frames) = change.queue_frames {
            m.u32(libc::IFLA_TXQLEN, frames);
        }
        if change.no_link_local {
            m.nest(libc::IFLA_AF_SPEC, |m| {
                m.nest(libc::AF_INET6 as u16, |m| {
                    m.bytes(IFLA_INET6_ADDR_GEN_MODE, &[IN6_ADDR_GEN_MODE_NONE]);
                });
            });
        }
        self.request(m).map(|_| ())
    }

    /// Adds an address with the length of its prefix to the link `index`, without duplicate
    /// address detection.
    pub fn add_address(&mut self, index: u32, address: IpAddr, prefix: u8) -> nix::Result<()> {
        let mut m = request(libc::RTM_NEWADDR, libc::NLM_F_CREATE | libc::NLM_F_EXCL);
        let family = if address.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 };
        // struct ifaddrmsg: family, prefix length, flags, scope, index.
        m.raw(&[family as u8, prefix, 0, 0]);
        m.raw(&index.to_ne_bytes());
        match address {
            IpAddr::V4(v4) => {
                m.bytes(libc::IFA_LOCAL, &v4.octets());
                m.bytes(libc::IFA_ADDRESS, &v4.octets());
                if prefix < 32 {
                    let host_bits = u32::MAX.checked_shr(u32::from(prefix)).unwrap_or(0);
                    m.bytes(libc::IFA_BROADCAST, &(v4.to_bits() | host_bits).to_be_bytes());
                }
            }
            IpAddr::V6(v6) => {
                m.bytes(libc::IFA_ADDRESS, &v6.octets());
                m.u32(libc::IFA_FLAGS, libc::IFA_F_NODAD);
            }
        }
        self.request(m).map(|_| ())
    }

    /// Makes `gateway`, by the link `index`, the default route.
    pub fn add_default_route(&mut self, index: u32, gateway: Ipv4Addr) -> nix::Result<()> {
        let mut m = request(libc::RTM_NEWROUTE, libc::NLM_F_CREATE | libc::NLM_F_EXCL);
        // struct rtmsg: family, lengths of both prefixes, type of service; table, protocol,
        // scope, type; flags.
        m.raw(&[libc::AF_INET as u8, 0, 0, 0]);
        m.raw(&[
            libc::RT_TABLE_MAIN,
            libc::RTPROT_STATIC,
            libc::RT_SCOPE_UNIVERSE,
            libc::RTN_UNICAST,
        ]);
        m.raw(&[0; 4]);
        m.bytes(libc::RTA_GATEWAY, &gateway.octets());
        m.u32(libc::RTA_OIF, index);
        self.request(m).map(|_| ())
    }

    /// Adds a neighbour with this address to the link `index`, as one that has just answered.
    pub fn add_neighbour(
        &mut self,
        index: u32,
        address: IpAddr,
        MacAddr(mac): MacAddr,
    ) -> nix::Result<()> {
        let mut m = request(libc::RTM_NEWNEIGH, libc::NLM_F_CREATE | libc::NLM_F_REPLACE);
        let family = if address.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 };
        // struct ndmsg: family, padding, index, state, flags, type.
        m.raw(&[family as u8, 0, 0, 0]);
        m.raw(&index.to_ne_bytes());
        let [a, b] = libc::NUD_REACHABLE.to_ne_bytes();
        m.raw(&[a, b, 0, 0]);
        match address {
            IpAddr::V4(v4) => m.bytes(libc::NDA_DST, &v4.octets()),
            IpAddr::V6(v6) => m.bytes(libc::NDA_DST, &v6.octets()),
        }
        m.bytes(libc::NDA_LLADDR, &mac);
        self.request(m).map(|_| ())
    }

    /// Replaces the queueing discipline of the link `index` by `noqueue`.
    pub fn remove_queue(&mut self, index: u32) -> nix::Result<()> {
        let mut m = request(libc::RTM_NEWQDISC, libc::NLM_F_CREATE | libc::NLM_F_REPLACE);
        // struct tcmsg: family, padding, index, handle, parent, info.
        for word in [0, index, 0, TC_H_ROOT, 0] {
            m.raw(&word.to_ne_bytes());
        }
        m.text(libc::TCA_KIND, "noqueue");
        self.request(m).map(|_| ())
    }

    /// Returns the number of frames that the link `index` dropped on sending.
    pub fn transmit_drops(&mut self, index: u32) -> nix::Result<u64> {
        let mut m = request(libc::RTM_GETLINK, 0);
        link_info(&mut m, index, 0, 0);
        let answer = self.request(m)?;
        let link = answer.get(HEADER + IFINFO..).ok_or(Errno::EBADMSG)?;
        let counters = attributes(link).find(|(kind, _)| *kind == libc::IFLA_STATS64);
        let counter = counters.and_then(|(_, all)| all.get(TX_DROPPED..)?.first_chunk());
        counter.map(|counter| u64::from_ne_bytes(*counter)).ok_or(Errno::EBADMSG)
    }

    /// Sends a request and waits for its acknowledgement or answer, which it returns.
    fn request(&mut self, message: Message) -> nix::Result<Vec<u8>> {
        self.sequence += 1;
        let request = message.finish(self.sequence);
        let kernel = NetlinkAddr::new(0, 0);
        sendto(self.socket.as_raw_fd(), &request, &kernel, MsgFlags::empty())?;
        let mut answer = vec![0; 32 * 1024];
        loop {
            let n = recv(self.socket.as_raw_fd(), &mut answer, MsgFlags::empty())?;
            let message = messages(&answer[..n]).next().ok_or(Errno::EBADMSG)?;
            if message.sequence != self.sequence {
                continue;
            }
            return match message.outcome() {
                Some(code) if code < 0 => Err(Errno::from_raw(-code)),
                Some(_) => Ok(Vec::new()),
                None => {
                    answer.truncate(n);
                    Ok(answer)
                }
            };
        }
    }
}

/// A request: a GET is answered by its object, everything else by an acknowledgement.
fn request(kind: u16, flags: i32) -> Message {
    Message::new(kind, if kind == libc::RTM_GETLINK { flags } else { flags | libc::NLM_F_ACK })
}

/// struct ifinfomsg: family, padding, type, index, flags, change mask.
fn link_info(m: &mut Message, index: u32, flags: u32, change: u32) {
    m.raw(&[0; 4]);
    for word in [index, flags, change] {
        m.raw(&word.to_ne_bytes());
    }
}

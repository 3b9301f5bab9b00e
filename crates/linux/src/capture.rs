//! All packets of one interface, as they come, each stamped by the kernel: a packet socket with a
//! receive ring of version 3 (packet(7), Documentation/networking/packet_mmap.rst), in which
//! packets of any length lie one behind the other. A monitor interface delivers MPDUs with radiotap
//! headers, unchanged.
//!
//! Needs CAP_NET_RAW in the network namespace of the interface. Leaves out filters, and tags of
//! VLANs, which the kernel takes off Ethernet frames.

use super::device::interface_index;
use super::ring::{EMPTY_ADDRESS, packet_socket, set_option};
use super::{Call, OsError};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{getsockopt, sockopt};
use std::mem::size_of;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// Bytes of a block, which the kernel gives to us when it is full, or old enough. No packet is
/// longer.
const BLOCK_BYTES: usize = 1 << 18;
/// Blocks of the ring: 16 MiB, a second of what a gigabit interface brings at least.
const BLOCKS: usize = 64;
/// Age of a block that is not full in ms.
const BLOCK_MS: u32 = 50;

/// Hardware types (linux/if_arp.h), which determine the first header of packets.
pub mod hardware {
    /// `ARPHRD_ETHER`: Ethernet, also a wireless interface that is no monitor.
    pub const ETHERNET: u16 = 1;
    /// Hardware type of raw IP packets, `ARPHRD_RAWIP`.
    pub const RAW_IP: u16 = 519;
    /// The loopback, `ARPHRD_LOOPBACK`: Ethernet, each packet once when sent and once when
    /// received.
    pub const LOOPBACK: u16 = 772;
    /// MPDUs of 802.11 without a header in front, `ARPHRD_IEEE80211`.
    pub const IEEE80211: u16 = 801;
    /// `ARPHRD_IEEE80211_RADIOTAP`: a monitor interface.
    pub const RADIOTAP: u16 = 803;
    /// `ARPHRD_NONE`: IP, of TUN devices and tunnels.
    pub const NONE: u16 = 0xfffe;
}

/// The packets of an interface.
#[derive(Debug)]
pub struct PacketCapture {
    socket: OwnedFd,
    blocks: Blocks,
    interface: String,
    hardware: u16,
    dropped: u64,
}

/// A packet that was captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Captured<'a> {
    /// Time of reception, in ns since 1970.
    pub at_ns: u64,
    /// Bytes of the packet, from its hardware header on.
    pub bytes: &'a [u8],
    /// Length of the packet in bytes; the copy may be shorter.
    pub length: u32,
}

impl PacketCapture {
    /// Starts a capture.
    ///
    /// # Errors
    /// If there is no such interface, it is down, or the kernel refuses a packet socket.
    pub fn open(interface: &str) -> Result<Self, OsError> {
        let index = interface_index(interface)?;
        let socket = packet_socket().call("socket(AF_PACKET, SOCK_RAW)")?;
        let request = libc::tpacket_req3 {
            tp_block_size: BLOCK_BYTES as u32,
            tp_block_nr: BLOCKS as u32,
            // Packets take what they need; the kernel wants a size that divides a block.
            tp_frame_size: BLOCK_BYTES as u32,
            tp_frame_nr: BLOCKS as u32,
            tp_retire_blk_tov: BLOCK_MS,
            tp_sizeof_priv: 0,
            tp_feature_req_word: 0,
        };
        let fd = socket.as_fd();
        set_option(fd, libc::PACKET_VERSION, &(libc::tpacket_versions::TPACKET_V3 as i32))
            .call("setsockopt(PACKET_VERSION)")?;
        set_option(fd, libc::PACKET_RX_RING, &request).call("setsockopt(PACKET_RX_RING)")?;
        let blocks = Blocks::map(&socket)?;
        let mut capture =
            Self { socket, blocks, interface: interface.to_owned(), hardware: 0, dropped: 0 };
        capture.hardware =
            bind(capture.socket.as_fd(), index).call(&format!("bind(AF_PACKET, {interface})"))?;
        check(&capture.socket, interface)?;
        // What this host sends is of interest on a wire. Of a monitor interface, and of the
        // loopback, it comes back as something that is received.
        let sees_sent = !matches!(capture.hardware, hardware::RADIOTAP | hardware::LOOPBACK);
        capture.blocks.sees_sent = sees_sent;
        if capture.hardware == hardware::ETHERNET {
            // Frames between others, as tcpdump asks for; a refusal does no harm.
            let request = libc::packet_mreq {
                mr_ifindex: index as i32,
                mr_type: libc::PACKET_MR_PROMISC as u16,
                mr_alen: 0,
                mr_address: [0; 8],
            };
            let _ = set_option(capture.socket.as_fd(), libc::PACKET_ADD_MEMBERSHIP, &request);
        }
        Ok(capture)
    }

    /// Type of the header that packets begin with: one of [`hardware`], or another type of Linux.
    pub const fn hardware(&self) -> u16 {
        self.hardware
    }

    /// The next packet; `None` if none waits. Packets come up to 50 ms late.
    pub fn next_packet(&mut self) -> Option<Captured<'_>> {
        self.blocks.next_packet()
    }

    /// Waits until there is a packet, for at most `timeout`.
    ///
    /// # Errors
    /// If the interface has gone down, or is gone.
    pub fn wait(&self, timeout: Duration) -> Result<(), OsError> {
        let mut waits = [PollFd::new(self.socket.as_fd(), PollFlags::POLLIN)];
        let timeout = PollTimeout::try_from(timeout).unwrap_or(PollTimeout::MAX);
        match poll(&mut waits, timeout) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(errno) => return Err(OsError::new("poll", errno)),
        }
        check(&self.socket, &self.interface)
    }

    /// Packets that the kernel dropped since the start, because the ring was full.
    #[expect(unsafe_code, reason = "getsockopt into a structure")]
    pub fn dropped(&mut self) -> u64 {
        let mut stats = libc::tpacket_stats_v3 { tp_packets: 0, tp_drops: 0, tp_freeze_q_cnt: 0 };
        let mut length = size_of::<libc::tpacket_stats_v3>() as libc::socklen_t;
        // SAFETY: PACKET_STATISTICS writes a struct tpacket_stats_v3, of the given length.
        let result = unsafe {
            libc::getsockopt(
                self.socket.as_raw_fd(),
                libc::SOL_PACKET,
                libc::PACKET_STATISTICS,
                (&raw mut stats).cast(),
                &raw mut length,
            )
        };
        // The kernel begins at 0 again.
        if result == 0 {
            self.dropped += u64::from(stats.tp_drops);
        }
        self.dropped
    }
}

/// Starts to receive all packets of an interface by a packet socket. Returns the interface's kind
/// of hardware.
#[expect(unsafe_code, reason = "bind and getsockname with a struct sockaddr_ll")]
pub(super) fn bind(socket: BorrowedFd<'_>, index: u32) -> nix::Result<u16> {
    let mut address = libc::sockaddr_ll {
        sll_protocol: (libc::ETH_P_ALL as u16).to_be(),
        sll_ifindex: index as i32,
        ..EMPTY_ADDRESS
    };
    let mut length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    let fd = socket.as_raw_fd();
    // SAFETY: the kernel reads, then writes, a struct sockaddr_ll of the given length.
    unsafe {
        Errno::result(libc::bind(fd, (&raw const address).cast(), length))?;
        Errno::result(libc::getsockname(fd, (&raw mut address).cast(), &raw mut length))?;
    }
    Ok(address.sll_hatype)
}

/// The error of the packet socket of an interface, which the kernel sets when that goes down.
pub(super) fn check(socket: &OwnedFd, interface: &str) -> Result<(), OsError> {
    let errno = getsockopt(socket, sockopt::SocketError).call("getsockopt(SO_ERROR)")?;
    match errno {
        0 => Ok(()),
        _ => Err(OsError::new(format!("capture of {interface}"), Errno::from_raw(errno))),
    }
}

/// The ring: blocks that are the kernel's or ours, in turn.
#[derive(Debug)]
struct Blocks {
    ring: NonNull<u8>,
    count: usize,
    /// The block whose turn it is.
    block: usize,
    /// That block is ours.
    is_ours: bool,
    /// Packets in it that have not been read, and where the next one begins in it.
    left: u32,
    offset: usize,
    /// Packets that this host sends are packets, too.
    sees_sent: bool,
}

// SAFETY: the mapping belongs to this value alone and goes where it goes.
#[expect(unsafe_code, reason = "a raw pointer to a mapping is not Send by itself")]
unsafe impl Send for Blocks {}

/// Offset of the kernel's address structure: behind the header, aligned to TPACKET_ALIGNMENT.
const ADDRESS_OFFSET: usize =
    size_of::<libc::tpacket3_hdr>().next_multiple_of(libc::TPACKET_ALIGNMENT);

impl Blocks {
    #[expect(unsafe_code, reason = "maps the ring")]
    fn map(socket: &OwnedFd) -> Result<Self, OsError> {
        // SAFETY: a new mapping of the socket's ring, whose size was just set.
        let ring = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                BLOCKS * BLOCK_BYTES,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                socket.as_raw_fd(),
                0,
            )
        };
        if ring == libc::MAP_FAILED {
            return Err(OsError::new("mmap(PACKET_RX_RING)", Errno::last()));
        }
        let ring = NonNull::new(ring.cast()).expect("mmap gives no null page unless asked to");
        Ok(Self::over(ring, BLOCKS))
    }

    const fn over(ring: NonNull<u8>, count: usize) -> Self {
        Self { ring, count, block: 0, is_ours: false, left: 0, offset: 0, sees_sent: false }
    }

    #[expect(unsafe_code, reason = "reads what the kernel wrote into the ring")]
    fn next_packet(&mut self) -> Option<Captured<'_>> {
        loop {
            // SAFETY: `block` is below `count`, so that the block lies in the mapping.
            let block = unsafe { self.ring.add(self.block * BLOCK_BYTES) };
            let head = block.cast::<libc::tpacket_block_desc>();
            // SAFETY: the block's head is at its begin. Its status is shared with the kernel, and
            // accessed atomically only.
            let status =
                unsafe { AtomicU32::from_ptr(&raw mut (*head.as_ptr()).hdr.bh1.block_status) };
            if !self.is_ours {
                if status.load(Ordering::Acquire) & libc::TP_STATUS_USER == 0 {
                    return None;
                }
                self.is_ours = true;
                // SAFETY: with TP_STATUS_USER set the block is ours until its status is given
                // back; the kernel wrote its head before.
                let bh1 = unsafe { (*head.as_ptr()).hdr.bh1 };
                (self.left, self.offset) = (bh1.num_pkts, bh1.offset_to_first_pkt as usize);
            }
            if self.left == 0 || self.offset + ADDRESS_OFFSET + ADDRESS_BYTES > BLOCK_BYTES {
                status.store(libc::TP_STATUS_KERNEL, Ordering::Release);
                self.is_ours = false;
                self.block = (self.block + 1) % self.count;
                continue;
            }
            // SAFETY: header and address behind it end within the block, which is ours; the
            // kernel aligns headers to 16 bytes.
            let (header, address) = unsafe {
                let at = block.add(self.offset);
                let address = at.add(ADDRESS_OFFSET).cast::<libc::sockaddr_ll>();
                (at.cast::<libc::tpacket3_hdr>().read(), address.read())
            };
            let begin = BLOCK_BYTES.min(self.offset + usize::from(header.tp_mac));
            let length = (header.tp_snaplen as usize).min(BLOCK_BYTES - begin);
            self.left -= 1;
            self.offset += header.tp_next_offset as usize;
            if address.sll_pkttype == libc::PACKET_OUTGOING && !self.sees_sent {
                continue;
            }
            // SAFETY: these bytes lie in the block, which stays ours until the next call, and
            // the packet borrows this value until then.
            let bytes = unsafe { std::slice::from_raw_parts(block.add(begin).as_ptr(), length) };
            let at_ns = u64::from(header.tp_sec) * 1_000_000_000 + u64::from(header.tp_nsec);
            return Some(Captured { at_ns, bytes, length: header.tp_len.max(length as u32) });
        }
    }
}

const ADDRESS_BYTES: usize = size_of::<libc::sockaddr_ll>();

impl Drop for Blocks {
    #[expect(unsafe_code, reason = "unmaps the ring")]
    fn drop(&mut self) {
        // SAFETY: the mapping of this length was made in `map`, and nothing refers to it any more.
        unsafe { libc::munmap(self.ring.as_ptr().cast(), self.count * BLOCK_BYTES) };
    }
}

#[cfg(test)]
pub(crate) mod tests;

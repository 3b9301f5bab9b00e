//! A packet socket that receives through a ring shared with the kernel and
//! sends in batches: packet(7), Documentation/networking/packet_mmap.rst,
//! version 2 of the ring, which delivers frame by frame (version 3 waits until a
//! block is full). One socket serves all devices of a namespace. Unlike a socket
//! buffer, the ring may be large without privilege.

use super::{Call, OsError};
use nix::errno::Errno;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

/// Bytes of the whole ring.
const RING_BYTES: usize = 16 << 20;
/// Bytes of a block, the unit that the kernel allocates.
const BLOCK_BYTES: usize = 1 << 16;
/// Bytes before a frame, for the ring's header and the kernel's alignment.
const FRAME_OVERHEAD: usize = 96;
/// Largest number of frames of one system call.
const BATCH: usize = 64;

/// The socket with its ring.
#[derive(Debug)]
pub struct PacketRing {
    socket: OwnedFd,
    ring: NonNull<u8>,
    frame_bytes: usize,
    frames: usize,
    next: usize,
}

// SAFETY: the mapping belongs to this value alone and goes where it goes.
#[expect(unsafe_code, reason = "a raw pointer to a mapping is not Send by itself")]
unsafe impl Send for PacketRing {}

impl PacketRing {
    /// Sets up the ring on `socket`, a raw packet socket that receives nothing
    /// yet, for frames of up to `frame_bytes_max` bytes, and starts to receive.
    #[expect(unsafe_code, reason = "maps the ring")]
    pub fn new(socket: OwnedFd, frame_bytes_max: usize) -> Result<Self, OsError> {
        let frame_bytes = (frame_bytes_max + FRAME_OVERHEAD).next_power_of_two();
        let request = libc::tpacket_req {
            tp_block_size: BLOCK_BYTES as u32,
            tp_block_nr: (RING_BYTES / BLOCK_BYTES) as u32,
            tp_frame_size: frame_bytes as u32,
            tp_frame_nr: (RING_BYTES / frame_bytes) as u32,
        };
        let fd = socket.as_fd();
        set_option(fd, libc::PACKET_VERSION, &(libc::tpacket_versions::TPACKET_V2 as i32))
            .call("setsockopt(PACKET_VERSION)")?;
        // Older kernels show what is sent as well; `next` passes over it there.
        let _ = set_option(fd, libc::PACKET_IGNORE_OUTGOING, &1);
        let _ = set_option(fd, libc::PACKET_QDISC_BYPASS, &1);
        set_option(fd, libc::PACKET_RX_RING, &request).call("setsockopt(PACKET_RX_RING)")?;
        // SAFETY: a new mapping of the socket's ring, whose size was just set.
        let ring = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                RING_BYTES,
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
        let ring = Self { socket, ring, frame_bytes, frames: RING_BYTES / frame_bytes, next: 0 };
        ring.bind().call("bind(AF_PACKET)")?;
        Ok(ring)
    }

    /// Copies the next frame into `buffer`. Returns the index of the interface that sent
    /// it, and its length in bytes; `None` if none waits.
    #[expect(unsafe_code, reason = "reads what the kernel wrote into the ring")]
    pub fn next(&mut self, buffer: &mut [u8]) -> Option<(u32, usize)> {
        loop {
            // SAFETY: `next` is below `frames`, so slot and header lie in the mapping;
            // the kernel aligns slots to 16 bytes.
            let slot = unsafe { self.ring.add(self.next * self.frame_bytes) };
            let header = slot.cast::<libc::tpacket2_hdr>();
            // SAFETY: the status word is shared with the kernel, and accessed atomically only.
            let status = unsafe { AtomicU32::from_ptr(&raw mut (*header.as_ptr()).tp_status) };
            if status.load(Ordering::Acquire) & libc::TP_STATUS_USER == 0 {
                return None;
            }
            // SAFETY: with TP_STATUS_USER set the slot is ours until the status is given
            // back: header, struct sockaddr_ll behind it, and frame were written before.
            let (head, address) = unsafe {
                let address = slot.add(ADDRESS_OFFSET).cast::<libc::sockaddr_ll>();
                (header.read(), address.read())
            };
            let length = (head.tp_snaplen as usize)
                .min(buffer.len())
                .min(self.frame_bytes - usize::from(head.tp_mac));
            // SAFETY: the frame lies at tp_mac and ends within the slot, see above; the pointer
            // to the buffer is one to all of it.
            unsafe {
                let from = slot.add(usize::from(head.tp_mac));
                from.as_ptr().copy_to_nonoverlapping(buffer.as_mut_ptr(), length);
            }
            status.store(libc::TP_STATUS_KERNEL, Ordering::Release);
            self.next = (self.next + 1) % self.frames;
            if address.sll_pkttype != libc::PACKET_OUTGOING {
                return Some((address.sll_ifindex as u32, length));
            }
        }
    }

    /// Sends each of `frames` by the interface of this index. Returns the number refused.
    #[expect(unsafe_code, reason = "sendmmsg with pointers to frames and addresses")]
    pub fn send(&mut self, frames: &[(u32, &[u8])]) -> usize {
        let mut refused = 0;
        for batch in frames.chunks(BATCH) {
            let mut addresses = [EMPTY_ADDRESS; BATCH];
            let mut pieces = [libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 }; BATCH];
            let mut messages = [EMPTY_MESSAGE; BATCH];
            for (i, (interface, frame)) in batch.iter().enumerate() {
                addresses[i].sll_ifindex = *interface as i32;
                pieces[i].iov_base = frame.as_ptr().cast_mut().cast();
                pieces[i].iov_len = frame.len();
                messages[i].msg_hdr.msg_name = (&raw mut addresses[i]).cast();
                messages[i].msg_hdr.msg_namelen = size_of::<libc::sockaddr_ll>() as u32;
                messages[i].msg_hdr.msg_iov = &raw mut pieces[i];
                messages[i].msg_hdr.msg_iovlen = 1;
            }
            let mut done = 0;
            while done < batch.len() {
                // SAFETY: messages point to addresses, pieces and frames that outlive the call,
                // and sending writes to none of them but msg_len.
                let sent = unsafe {
                    libc::sendmmsg(
                        self.socket.as_raw_fd(),
                        messages[done..].as_mut_ptr(),
                        (batch.len() - done) as u32,
                        libc::MSG_DONTWAIT as _,
                    )
                };
                match Errno::result(sent) {
                    Ok(n) => done += n as usize,
                    Err(Errno::EINTR) => {}
                    // This frame is refused, the next may not be.
                    Err(_) => {
                        refused += 1;
                        done += 1;
                    }
                }
            }
        }
        refused
    }

    /// Returns the number of frames dropped since the last call because the ring was full.
    pub fn drops(&self) -> u64 {
        take_drops(self.socket.as_fd())
    }

    /// Starts to receive whole frames of every protocol from every interface.
    #[expect(unsafe_code, reason = "bind with a struct sockaddr_ll")]
    fn bind(&self) -> nix::Result<()> {
        let address =
            libc::sockaddr_ll { sll_protocol: (libc::ETH_P_ALL as u16).to_be(), ..EMPTY_ADDRESS };
        // SAFETY: the address is a struct sockaddr_ll of the given length.
        let result = unsafe {
            libc::bind(
                self.socket.as_raw_fd(),
                (&raw const address).cast(),
                size_of::<libc::sockaddr_ll>() as u32,
            )
        };
        Errno::result(result).map(drop)
    }
}

impl AsFd for PacketRing {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Drop for PacketRing {
    #[expect(unsafe_code, reason = "unmaps the ring")]
    fn drop(&mut self) {
        // SAFETY: the mapping of this length was made in `new`, and nothing refers to it any more.
        unsafe { libc::munmap(self.ring.as_ptr().cast(), RING_BYTES) };
    }
}

/// A packet socket of the calling thread's network namespace that receives nothing yet.
#[expect(unsafe_code, reason = "socket with protocol 0, which nix does not offer")]
pub fn packet_socket() -> io::Result<OwnedFd> {
    use std::os::fd::FromRawFd;
    let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: makes a descriptor, which nobody else owns.
    unsafe {
        let fd = libc::socket(libc::AF_PACKET, kind, 0);
        if fd < 0 { Err(io::Error::last_os_error()) } else { Ok(OwnedFd::from_raw_fd(fd)) }
    }
}

/// Returns the number of packets that a packet socket, with a ring of version 2 or with none,
/// dropped since the last call because its ring or buffer was full.
#[expect(unsafe_code, reason = "getsockopt into a structure")]
pub(super) fn take_drops(socket: BorrowedFd<'_>) -> u64 {
    let mut stats = libc::tpacket_stats { tp_packets: 0, tp_drops: 0 };
    let mut length = size_of::<libc::tpacket_stats>() as libc::socklen_t;
    // SAFETY: PACKET_STATISTICS writes a struct tpacket_stats of the given length.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_PACKET,
            libc::PACKET_STATISTICS,
            (&raw mut stats).cast(),
            &raw mut length,
        )
    };
    if result == 0 { u64::from(stats.tp_drops) } else { 0 }
}

/// Offset of the kernel's address structure: behind the header, aligned to TPACKET_ALIGNMENT.
const ADDRESS_OFFSET: usize =
    size_of::<libc::tpacket2_hdr>().next_multiple_of(libc::TPACKET_ALIGNMENT);

pub(super) const EMPTY_ADDRESS: libc::sockaddr_ll = libc::sockaddr_ll {
    sll_family: libc::AF_PACKET as u16,
    sll_protocol: 0,
    sll_ifindex: 0,
    sll_hatype: 0,
    sll_pkttype: 0,
    sll_halen: 0,
    sll_addr: [0; 8],
};

#[expect(unsafe_code, reason = "struct msghdr has private padding on some targets")]
// SAFETY: null pointers, zero lengths and no flags are a valid struct mmsghdr.
const EMPTY_MESSAGE: libc::mmsghdr = unsafe { std::mem::zeroed() };

#[expect(unsafe_code, reason = "setsockopt with options that nix does not know")]
pub(super) fn set_option<T>(socket: BorrowedFd<'_>, option: i32, value: &T) -> nix::Result<()> {
    // SAFETY: the kernel reads as many bytes as the value has.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_PACKET,
            option,
            std::ptr::from_ref(value).cast(),
            size_of::<T>() as u32,
        )
    };
    Errno::result(result).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::ManuallyDrop;

    /// A slot's bytes, aligned as the kernel aligns them.
    #[repr(C, align(16))]
    struct Slots([u8; 2 * SLOT_BYTES]);
    const SLOT_BYTES: usize = 256;

    /// The ring over this test's memory, filled as the kernel fills it: also for miri, to which a
    /// pointer to the first byte of a buffer is one to no other.
    #[test]
    #[expect(unsafe_code, reason = "plays the kernel's part")]
    fn a_frame_is_copied_whole_and_its_slot_given_back() {
        let frame: Vec<u8> = (1..=90).collect();
        let mac = 100;
        let mut slots = Box::new(Slots([0; 2 * SLOT_BYTES]));
        slots.0[mac..][..frame.len()].copy_from_slice(&frame);
        let memory = NonNull::from(&mut *slots).cast::<u8>();
        let header = memory.cast::<libc::tpacket2_hdr>();
        // SAFETY: both structures lie in the first slot, which is aligned for them.
        unsafe {
            (*header.as_ptr()).tp_snaplen = frame.len() as u32;
            (*header.as_ptr()).tp_mac = mac as u16;
            (*header.as_ptr()).tp_status = libc::TP_STATUS_USER;
            let address = memory.add(ADDRESS_OFFSET).cast::<libc::sockaddr_ll>();
            address.write(libc::sockaddr_ll { sll_ifindex: 7, ..EMPTY_ADDRESS });
        }
        let socket = std::fs::File::open("/dev/null").unwrap().into();
        // It is not dropped, for the memory is no mapping.
        let mut ring = ManuallyDrop::new(PacketRing {
            socket,
            ring: memory,
            frame_bytes: SLOT_BYTES,
            frames: 2,
            next: 0,
        });
        let mut buffer = [0; 100];
        assert_eq!(ring.next(&mut buffer), Some((7, frame.len())));
        assert_eq!(buffer[..frame.len()], frame);
        assert_eq!(ring.next(&mut buffer), None);
        // SAFETY: as above.
        assert_eq!(unsafe { (*header.as_ptr()).tp_status }, libc::TP_STATUS_KERNEL);
    }
}

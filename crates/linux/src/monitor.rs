//! Data frames of a monitor interface, as they come: a packet socket (packet(7)) that delivers each
//! at once, where the ring of [`capture`](super::capture) waits up to 50 ms. A filter in the kernel
//! passes only data frames with a body (radiotap.org; IEEE 802.11-2020, table 9-1), so that beacons
//! and acknowledgements cause no wake-ups.
//!
//! Needs CAP_NET_RAW in the network namespace of the interface. Memory is that of the socket's
//! buffer; frames that find it full are counted. Leaves out sending.

use super::batch::Inbox;
use super::capture::{bind, check};
use super::device::interface_index;
use super::ring::{EMPTY_ADDRESS, packet_socket, set_option, take_drops};
use super::socket::set;
use super::{Call, OsError};
use libc::{sock_filter, sock_fprog};
use nix::errno::Errno;
use std::mem::size_of;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// Buffer space of captured frames in bytes: some thousand long ones.
const RECEIVE_BYTES: i32 = 8 << 20;

/// The data frames that an interface hears. The socket never blocks.
#[derive(Debug)]
pub struct MonitorSocket {
    socket: OwnedFd,
    hardware: u16,
    dropped: u64,
}

impl MonitorSocket {
    /// Starts to receive the data frames of the interface called `interface`. On other interfaces
    /// than monitors the filter's output is meaningless: see [`hardware`](Self::hardware).
    ///
    /// # Errors
    /// If there is no such interface, it is down, or the kernel refuses a packet socket.
    pub fn open(interface: &str) -> Result<Self, OsError> {
        let index = interface_index(interface)?;
        let socket = packet_socket().call("socket(AF_PACKET, SOCK_RAW)")?;
        let bytes = RECEIVE_BYTES.to_ne_bytes();
        set(&socket, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, &bytes)
            .or_else(|_| set(&socket, libc::SOL_SOCKET, libc::SO_RCVBUF, &bytes))
            .call("setsockopt(SO_RCVBUF)")?;
        attach(&socket).call("setsockopt(SO_ATTACH_FILTER)")?;
        // Kernels before 4.20 deliver what is sent as well; `each` leaves it out there.
        let _ = set_option(socket.as_fd(), libc::PACKET_IGNORE_OUTGOING, &1);
        let hardware =
            bind(socket.as_fd(), index).call(&format!("bind(AF_PACKET, {interface})"))?;
        check(&socket, interface)?;
        Ok(Self { socket, hardware, dropped: 0 })
    }

    /// The hardware type, one of [`hardware`](super::capture::hardware), which determines the first
    /// header.
    pub const fn hardware(&self) -> u16 {
        self.hardware
    }

    /// Receives waiting frames into `inbox`, as many as fit. Returns whether more may wait.
    ///
    /// # Errors
    /// `ENETDOWN`, once, if the interface has gone down; frames come again when it is up.
    pub fn receive(&self, inbox: &mut Inbox) -> nix::Result<bool> {
        inbox.receive(self.socket.as_fd())
    }

    /// Calls `take` with each frame in `inbox`, from its radiotap header on.
    #[expect(unsafe_code, reason = "addresses as bytes")]
    pub fn each(&self, inbox: &Inbox, take: &mut dyn FnMut(&[u8])) {
        for (name, captured) in inbox.datagrams() {
            // SAFETY: the kernel filled in a struct sockaddr_ll, which fits.
            let from = unsafe { &*(&raw const *name).cast::<libc::sockaddr_ll>() };
            if from.sll_pkttype != libc::PACKET_OUTGOING {
                take(captured);
            }
        }
    }

    /// Whether the interface still exists; a later one of the same name is another one.
    #[expect(unsafe_code, reason = "getsockname with a struct sockaddr_ll")]
    pub fn is_attached(&self) -> bool {
        let mut address = EMPTY_ADDRESS;
        let mut length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
        // SAFETY: the kernel writes a struct sockaddr_ll of the given length.
        let result = unsafe {
            let name = (&raw mut address).cast();
            libc::getsockname(self.socket.as_raw_fd(), name, &raw mut length)
        };
        result == 0 && address.sll_ifindex > 0
    }

    /// The number of data frames since the start that found the buffer full.
    pub fn dropped(&mut self) -> u64 {
        self.dropped += take_drops(self.socket.as_fd());
        self.dropped
    }
}

impl AsFd for MonitorSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// The type Data in the first octet of Frame Control, without the protocol version and the
/// irrelevant bit 7 of the subtype (QoS).
const DATA: u32 = 0x08;
/// The bits that are compared: version, type, and those of the subtypes with CF-Ack, CF-Poll and
/// without a body.
const COMPARED: u32 = 0x7f;

/// A bound above the bytes of any frame: the filter passes frames whole.
const WHOLE: u32 = 1 << 18;

/// The filter: the frame begins after the radiotap header, whose length is in octets 2 and 3,
/// little-endian. An access beyond the end of a packet makes the filter drop it (Documentation/
/// networking/filter.rst).
fn filter() -> [sock_filter; 11] {
    let step = |code: u32, k: u32| sock_filter { code: code as u16, jt: 0, jf: 0, k };
    let jump_if_equal = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    let octet = libc::BPF_LD | libc::BPF_B;
    [
        step(octet | libc::BPF_ABS, 3),
        step(libc::BPF_ALU | libc::BPF_LSH | libc::BPF_K, 8),
        step(libc::BPF_MISC | libc::BPF_TAX, 0),
        step(octet | libc::BPF_ABS, 2),
        step(libc::BPF_ALU | libc::BPF_OR | libc::BPF_X, 0),
        step(libc::BPF_MISC | libc::BPF_TAX, 0),
        step(octet | libc::BPF_IND, 0),
        step(libc::BPF_ALU | libc::BPF_AND | libc::BPF_K, COMPARED),
        sock_filter { code: jump_if_equal as u16, jt: 0, jf: 1, k: DATA },
        step(libc::BPF_RET | libc::BPF_K, WHOLE),
        step(libc::BPF_RET | libc::BPF_K, 0),
    ]
}

#[expect(unsafe_code, reason = "setsockopt with a pointer to a program")]
fn attach(socket: &OwnedFd) -> nix::Result<()> {
    let mut filter = filter();
    let program = sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    // SAFETY: the kernel copies the program, which lives and has this length.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_ATTACH_FILTER,
            (&raw const program).cast(),
            size_of::<sock_fprog>() as libc::socklen_t,
        )
    };
    Errno::result(result).map(drop)
}

#[cfg(test)]
mod tests;

//! Whole datagrams of a socket of any family, many for each system call (recvmmsg(2), sendmmsg(2)).
//! If a socket is full, the remaining datagrams stay with the caller, so that a slow interface
//! limits its rate.
//!
//! Over UDP, consecutive datagrams of equal length to one address, of which the last may be
//! shorter, are one message that the kernel or the interface cuts (`UDP_SEGMENT`, udp(7));
//! the kernel merges received ones in the same way (`UDP_GRO`).
//!
//! The crate quinn-udp is not used: it has UDP sockets only, and sends one such message a call.
//! Links over Ethernet and monitor interfaces use packet sockets.

use nix::errno::Errno;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsRawFd, BorrowedFd};

/// Largest number of datagrams of one system call, and of one message (`UDP_MAX_SEGMENTS` of older
/// kernels).
pub const BATCH: usize = 64;
/// Largest number of messages that one system call receives if they have several datagrams, and
/// their largest length in bytes.
const MERGED_BATCH: usize = 16;
const MERGED_BYTES: usize = 1 << 16;
/// Largest length of a message that is split, in bytes: with its headers it must fit into an IP
/// packet.
const SEGMENTED_BYTES_MAX: usize = 65_000;
/// `CMSG_SPACE` of an integer, in words of 8 bytes; and that of all reports that a socket can be
/// set to add: also a `timespec` and another integer.
const CONTROL_WORDS: usize = 3;
const TOLD_WORDS: usize = CONTROL_WORDS + 4 + 3;
const NOTHING: libc::iovec = libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 };

/// An address of any family, with its length, in the kernel's form.
#[derive(Clone, Copy)]
pub struct Name {
    pub(super) storage: libc::sockaddr_storage,
    pub(super) length: libc::socklen_t,
}

impl std::fmt::Debug for Name {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Name").field("family", &self.storage.ss_family).finish_non_exhaustive()
    }
}

impl Name {
    /// Whether both are the same address.
    fn is(&self, other: &Self) -> bool {
        std::ptr::eq(self, other) || self.bytes() == other.bytes()
    }

    #[expect(unsafe_code, reason = "addresses as bytes")]
    fn bytes(&self) -> &[u8] {
        // SAFETY: all of it was zeros before the address, so every byte is one, and no address
        // is longer.
        unsafe {
            let first = (&raw const self.storage).cast::<u8>();
            std::slice::from_raw_parts(first, self.length as usize)
        }
    }
}

/// The buffers for the datagrams of one system call.
pub struct Inbox {
    /// Largest length of a datagram, in bytes.
    datagram_bytes_max: usize,
    /// Buffer space of a message in bytes.
    message_bytes: usize,
    bytes: Vec<u8>,
    names: Vec<libc::sockaddr_storage>,
    messages: Vec<BatchMessage>,
    count: usize,
}

/// The lengths of a message and of its datagrams.
#[derive(Clone, Copy, Debug, Default)]
struct BatchMessage {
    /// Length in bytes; `None`: it was longer than its buffer, and is left out.
    bytes: Option<usize>,
    /// Length in bytes of each datagram but the last; `None`: it is one datagram.
    datagram_bytes: Option<usize>,
}

impl Inbox {
    /// Returns buffers for datagrams of up to `datagram_bytes_max` bytes; longer ones are left out. A
    /// message may have several of them if `is_merged`.
    #[expect(unsafe_code, reason = "addresses of zeros")]
    pub fn new(datagram_bytes_max: usize, is_merged: bool) -> Self {
        // SAFETY: zeros are an address of no family.
        let nowhere: libc::sockaddr_storage = unsafe { zeroed() };
        let (message_bytes, messages) =
            if is_merged { (MERGED_BYTES, MERGED_BATCH) } else { (datagram_bytes_max, BATCH) };
        Self {
            datagram_bytes_max,
            message_bytes,
            bytes: vec![0; message_bytes * messages],
            names: vec![nowhere; messages],
            messages: vec![BatchMessage::default(); messages],
            count: 0,
        }
    }

    /// Whether the last call received nothing.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Receives the waiting messages of `socket`, [`BATCH`] at most. Returns whether more may wait.
    ///
    /// # Errors
    /// Errors that the network reports of an earlier datagram. An empty socket is no error.
    #[expect(unsafe_code, reason = "recvmmsg")]
    pub fn receive(&mut self, socket: BorrowedFd<'_>) -> nix::Result<bool> {
        self.count = 0;
        let mut pieces = [NOTHING; BATCH];
        let mut controls = [[0u64; TOLD_WORDS]; BATCH];
        // SAFETY: zeros are headers without anything.
        let mut headers: [libc::mmsghdr; BATCH] = unsafe { zeroed() };
        let parts = self.bytes.chunks_exact_mut(self.message_bytes).zip(&mut self.names);
        let places = pieces.iter_mut().zip(&mut controls).zip(&mut headers);
        for ((bytes, name), ((piece, control), header)) in parts.zip(places) {
            piece.iov_base = bytes.as_mut_ptr().cast();
            piece.iov_len = bytes.len();
            header.msg_hdr.msg_name = (&raw mut *name).cast();
            header.msg_hdr.msg_namelen = size_of::<libc::sockaddr_storage>() as _;
            header.msg_hdr.msg_iov = piece;
            header.msg_hdr.msg_iovlen = 1;
            header.msg_hdr.msg_control = control.as_mut_ptr().cast();
            header.msg_hdr.msg_controllen = size_of::<[u64; TOLD_WORDS]>() as _;
        }
        let capacity = self.messages.len();
        // SAFETY: so many headers point to buffers that live, with their lengths.
        let count = unsafe {
            let (first, flags) = (headers.as_mut_ptr(), libc::MSG_DONTWAIT as _);
            libc::recvmmsg(socket.as_raw_fd(), first, capacity as _, flags, std::ptr::null_mut())
        };
        match Errno::result(count) {
            Ok(count) => self.count = count as usize,
            Err(Errno::EAGAIN | Errno::EINTR) => {}
            Err(error) => return Err(error),
        }
        for (message, header) in self.messages.iter_mut().zip(&headers[..self.count]) {
            let is_cut = header.msg_hdr.msg_flags & libc::MSG_TRUNC != 0;
            *message = BatchMessage {
                bytes: (!is_cut).then_some(header.msg_len as usize),
                // SAFETY: the kernel filled this header and its buffers.
                datagram_bytes: unsafe { merged_by(&header.msg_hdr) },
            };
        }
        Ok(self.count == capacity)
    }

    /// The datagrams of the last [`receive`](Self::receive), each with its sender.
    pub(super) fn datagrams(&self) -> impl Iterator<Item = (&libc::sockaddr_storage, &[u8])> {
        let all = self.bytes.chunks_exact(self.message_bytes).zip(&self.names).zip(&self.messages);
        all.take(self.count).flat_map(|((bytes, name), message)| {
            let bytes = message.bytes.map(|length| &bytes[..length]);
            let datagrams =
                bytes.into_iter().flat_map(|bytes| split(bytes, message.datagram_bytes));
            datagrams
                .filter(|datagram| datagram.len() <= self.datagram_bytes_max)
                .map(move |datagram| (name, datagram))
        })
    }
}

/// Returns the datagrams of a message, each of `datagram_bytes` but the last; `None`: one.
fn split(bytes: &[u8], datagram_bytes: Option<usize>) -> impl Iterator<Item = &[u8]> {
    let each = datagram_bytes.filter(|&each| each > 0).unwrap_or(bytes.len()).max(1);
    // An empty message is a datagram, too.
    let empty = bytes.is_empty().then_some(bytes);
    empty.into_iter().chain(bytes.chunks(each))
}

/// Returns the length of the datagrams that the kernel has merged into one message, if it has.
///
/// # Safety
/// The kernel has filled `header`, and its buffers live.
#[expect(unsafe_code, reason = "ancillary data")]
unsafe fn merged_by(header: &libc::msghdr) -> Option<usize> {
    // SAFETY: CMSG_* walk within msg_controllen; the data of this kind is an int.
    unsafe {
        let mut part = libc::CMSG_FIRSTHDR(header);
        while let Some(found) = part.as_ref() {
            if (found.cmsg_level, found.cmsg_type) == (libc::SOL_UDP, libc::UDP_GRO) {
                let bytes = libc::CMSG_DATA(part).cast::<i32>().read_unaligned();
                return usize::try_from(bytes).ok();
            }
            part = libc::CMSG_NXTHDR(header, part);
        }
    }
    None
}

impl std::fmt::Debug for Inbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inbox")
            .field("datagram_bytes_max", &self.datagram_bytes_max)
            .field("count", &self.count)
            .finish()
    }
}

/// Options of sending.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sending {
    /// Whether all recipients were heard lately, so that the kernel need not verify their
    /// addresses (`MSG_CONFIRM`, send(2)).
    pub is_heard: bool,
    /// Whether datagrams may be merged into messages that the kernel cuts.
    pub is_segmented: bool,
}

/// The result of sending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// The number of datagrams sent.
    pub count: usize,
    /// Why the next one was refused, if there is a next one and the reason is known.
    pub refused: Option<Errno>,
    /// Why the next ones were refused as one message; sent one by one they may not be.
    pub unsegmented: Option<Errno>,
}

/// Sends `datagrams`, each in two pieces, in order, up to [`BATCH`] of them.
#[expect(unsafe_code, reason = "sendmmsg")]
pub fn send(socket: BorrowedFd<'_>, datagrams: &[(&Name, [&[u8]; 2])], sending: Sending) -> Sent {
    let flags = libc::MSG_DONTWAIT | if sending.is_heard { libc::MSG_CONFIRM } else { 0 };
    let datagrams = &datagrams[..datagrams.len().min(BATCH)];
    let mut pieces = [[NOTHING; 2]; BATCH];
    let mut controls = [[0u64; CONTROL_WORDS]; BATCH];
    // SAFETY: zeros are headers without anything.
    let mut headers: [libc::mmsghdr; BATCH] = unsafe { zeroed() };
    let (mut runs, mut messages) = ([0; BATCH], 0);
    let (mut rest, mut pieces) = (datagrams, &mut pieces[..]);
    while let Some((name, first)) = rest.first() {
        let run = if sending.is_segmented { run(rest) } else { 1 };
        let (of_run, behind) = pieces.split_at_mut(run);
        for (pieces, (_, bytes)) in of_run.iter_mut().zip(rest) {
            *pieces = bytes.map(|bytes| libc::iovec {
                iov_base: bytes.as_ptr().cast_mut().cast(),
                iov_len: bytes.len(),
            });
        }
        let header = &mut headers[messages].msg_hdr;
        header.msg_name = (&raw const name.storage).cast_mut().cast();
        header.msg_namelen = name.length;
        header.msg_iov = of_run.as_mut_ptr().cast();
        header.msg_iovlen = (2 * run) as _;
        if run > 1 {
            header.msg_control = controls[messages].as_mut_ptr().cast();
            let bytes = first.iter().map(|piece| piece.len()).sum::<usize>() as u16;
            // SAFETY: the memory for ancillary data holds CMSG_SPACE of a number.
            unsafe { cut_into(header, bytes) };
        }
        runs[messages] = run;
        (rest, pieces, messages) = (&rest[run..], behind, messages + 1);
    }
    let mut result = Sent { count: 0, refused: None, unsegmented: None };
    loop {
        // SAFETY: every header points to buffers that live, and the kernel only reads them.
        let sent = unsafe {
            let first = headers.as_mut_ptr();
            libc::sendmmsg(socket.as_raw_fd(), first, messages as libc::c_uint, flags as _)
        };
        match Errno::result(sent) {
            // Fewer than asked for: the next call says why.
            Ok(sent) => result.count = runs[..sent as usize].iter().sum(),
            Err(Errno::EINTR) => continue,
            Err(error) if runs[0] > 1 && error != Errno::EAGAIN => {
                result.unsegmented = Some(error);
            }
            Err(error) => result.refused = Some(error),
        }
        return result;
    }
}

/// Returns how many of `datagrams` can be one message: those that are as long as the first
/// and have the same address, and a shorter one at the end.
fn run(datagrams: &[(&Name, [&[u8]; 2])]) -> usize {
    let length = |[one, other]: [&[u8]; 2]| one.len() + other.len();
    let Some(&(name, first)) = datagrams.first() else { return 0 };
    let (each, mut sum, mut run) = (length(first), length(first), 1);
    for &(other, bytes) in &datagrams[1..] {
        let bytes = length(bytes);
        sum += bytes;
        if !name.is(other) || bytes > each || bytes == 0 || sum > SEGMENTED_BYTES_MAX {
            break;
        }
        run += 1;
        if bytes < each {
            break;
        }
    }
    run
}

/// Has the kernel cut the message of `header` into datagrams of `bytes` bytes.
///
/// # Safety
/// `header.msg_control` points to [`CONTROL_WORDS`] words.
#[expect(unsafe_code, reason = "ancillary data")]
unsafe fn cut_into(header: &mut libc::msghdr, bytes: u16) {
    // SAFETY: a header and two bytes fit into the words.
    unsafe {
        header.msg_controllen = libc::CMSG_SPACE(size_of::<u16>() as _) as _;
        let part = libc::CMSG_FIRSTHDR(header);
        (*part).cmsg_level = libc::SOL_UDP;
        (*part).cmsg_type = libc::UDP_SEGMENT;
        (*part).cmsg_len = libc::CMSG_LEN(size_of::<u16>() as _) as _;
        libc::CMSG_DATA(part).cast::<u16>().write_unaligned(bytes);
    }
}

//! Whole datagrams of a socket of any family, many a system call (recvmmsg(2),
//! sendmmsg(2)). What the socket has no room for stays with the caller: that is how a
//! full interface says so.

use nix::errno::Errno;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsRawFd, BorrowedFd};

/// Datagrams in one system call.
pub const BATCH: usize = 64;

/// An address of any family and its length.
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

/// Room for the datagrams of one call.
pub struct Inbox {
    room: usize,
    bytes: Vec<u8>,
    names: Vec<libc::sockaddr_storage>,
    /// `None`: it was longer than the room for it.
    lengths: [Option<usize>; BATCH],
    count: usize,
}

impl Inbox {
    /// Room for datagrams of up to `room` bytes; longer ones are left out.
    #[expect(unsafe_code, reason = "addresses of zeros")]
    pub fn new(room: usize) -> Self {
        // SAFETY: zeros are an address of no family.
        let nowhere: libc::sockaddr_storage = unsafe { zeroed() };
        let bytes = vec![0; room * BATCH];
        Self { room, bytes, names: vec![nowhere; BATCH], lengths: [None; BATCH], count: 0 }
    }

    /// Takes what waits in `socket`, up to [`BATCH`] datagrams; gives their number.
    ///
    /// # Errors
    /// What the network reports; none if nothing waits.
    #[expect(unsafe_code, reason = "recvmmsg")]
    pub fn receive(&mut self, socket: BorrowedFd<'_>) -> nix::Result<usize> {
        self.count = 0;
        let mut pieces = [libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 }; BATCH];
        // SAFETY: zeros are headers without anything.
        let mut headers: [libc::mmsghdr; BATCH] = unsafe { zeroed() };
        let parts = self.bytes.chunks_exact_mut(self.room).zip(&mut self.names);
        for ((bytes, name), (piece, header)) in parts.zip(pieces.iter_mut().zip(&mut headers)) {
            piece.iov_base = bytes.as_mut_ptr().cast();
            piece.iov_len = bytes.len();
            header.msg_hdr.msg_name = (&raw mut *name).cast();
            header.msg_hdr.msg_namelen = size_of::<libc::sockaddr_storage>() as _;
            header.msg_hdr.msg_iov = piece;
            header.msg_hdr.msg_iovlen = 1;
        }
        // SAFETY: every header points to buffers that live, with their lengths.
        let count = unsafe {
            let (first, flags) = (headers.as_mut_ptr(), libc::MSG_DONTWAIT as _);
            libc::recvmmsg(socket.as_raw_fd(), first, BATCH as _, flags, std::ptr::null_mut())
        };
        match Errno::result(count) {
            Ok(count) => self.count = count as usize,
            Err(Errno::EAGAIN | Errno::EINTR) => {}
            Err(error) => return Err(error),
        }
        for (length, header) in self.lengths.iter_mut().zip(&headers[..self.count]) {
            let is_cut = header.msg_hdr.msg_flags & libc::MSG_TRUNC != 0;
            *length = (!is_cut).then_some(header.msg_len as usize);
        }
        Ok(self.count)
    }

    /// What [`receive`](Self::receive) took, and from whom.
    pub(super) fn datagrams(&self) -> impl Iterator<Item = (&libc::sockaddr_storage, &[u8])> {
        let all = self.bytes.chunks_exact(self.room).zip(&self.names).zip(self.lengths);
        all.take(self.count).filter_map(|((bytes, name), length)| Some((name, &bytes[..length?])))
    }
}

impl std::fmt::Debug for Inbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inbox").field("room", &self.room).field("count", &self.count).finish()
    }
}

/// Sends `datagrams`, each in two pieces, in order, up to [`BATCH`] of them. Gives how
/// many are on their way, and why the next one is not, if there is a next one.
/// `is_heard`: all of them go to hosts that answer, so that the kernel need not ask whether
/// they are there (`MSG_CONFIRM`, send(2)).
#[expect(unsafe_code, reason = "sendmmsg")]
pub fn send(
    socket: BorrowedFd<'_>,
    datagrams: &[(&Name, [&[u8]; 2])],
    is_heard: bool,
) -> (usize, Option<Errno>) {
    let flags = libc::MSG_DONTWAIT | if is_heard { libc::MSG_CONFIRM } else { 0 };
    let datagrams = &datagrams[..datagrams.len().min(BATCH)];
    let mut pieces = [[libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 }; 2]; BATCH];
    // SAFETY: zeros are headers without anything.
    let mut headers: [libc::mmsghdr; BATCH] = unsafe { zeroed() };
    for ((name, bytes), (pieces, header)) in
        datagrams.iter().zip(pieces.iter_mut().zip(&mut headers))
    {
        *pieces = bytes.map(|bytes| libc::iovec {
            iov_base: bytes.as_ptr().cast_mut().cast(),
            iov_len: bytes.len(),
        });
        header.msg_hdr.msg_name = (&raw const name.storage).cast_mut().cast();
        header.msg_hdr.msg_namelen = name.length;
        header.msg_hdr.msg_iov = pieces.as_mut_ptr();
        header.msg_hdr.msg_iovlen = pieces.len() as _;
    }
    loop {
        // SAFETY: every header points to buffers that live, and the kernel only reads them.
        let sent = unsafe {
            let (first, number) = (headers.as_mut_ptr(), datagrams.len() as libc::c_uint);
            libc::sendmmsg(socket.as_raw_fd(), first, number, flags as _)
        };
        match Errno::result(sent) {
            // Fewer than asked for: the next call says why.
            Ok(sent) => return (sent as usize, None),
            Err(Errno::EINTR) => {}
            Err(error) => return (0, Some(error)),
        }
    }
}

//! The monitor interface of a helper, beside the link's own: its socket, its reader, and its
//! problems. Frames are stamped with the clock's time after the batch that brought them, like those
//! of the link.
//!
//! Datagrams of this interface may come from any station, and are not authentic before the machine
//! has verified them. Leaves out the choice of a channel: a monitor interface on the radio of a
//! managed one follows that one's.

use super::FrancError;
use super::monitored::{Deaf, MonitorCounts};
use crate::monitor::Monitor;
use lasthop_linux::batch::Inbox;
use lasthop_linux::capture::hardware;
use lasthop_linux::clock::Clock;
use lasthop_linux::monitor::MonitorSocket;
use lasthop_units::{Duration, Instant, MacAddr};
use nix::errno::Errno;
use std::os::fd::{AsFd, BorrowedFd};

/// Largest length of a captured frame, in bytes: the longest MPDU (11 454 in VHT and HE, IEEE
/// 802.11-2020, table 9-25) and a generous radiotap header.
const FRAME_BYTES_MAX: usize = 11_454 + 546;
/// Batches of frames that a turn receives, each of one system call.
const BATCHES_MAX: usize = 4;
/// Time in which the present ends of a link send at least one datagram: HELLOs, or four pulses a
/// second. If none comes in this time, encrypted frames may be the reason.
const DEAF_AFTER: Duration = Duration::from_secs(5);
/// Interval at which an interface that is down is looked at: it may have been removed.
const DOWN_CHECK: Duration = Duration::from_secs(1);

/// The monitor interface of a helper.
pub(super) struct Overhearing {
    name: String,
    socket: MonitorSocket,
    inbox: Inbox,
    monitor: Monitor,
    /// Time at which the interface was seen to be down; `None` while it is up.
    down_check_at: Option<Instant>,
    /// The counts at `judge_at` less [`DEAF_AFTER`].
    before: MonitorCounts,
    judge_at: Instant,
    /// Problem of the interface, until it is taken.
    deaf: Option<Deaf>,
}

impl Overhearing {
    /// Opens the monitor interface called `name`.
    ///
    /// # Errors
    /// If there is none, it is another kind of interface or down, or the kernel refuses.
    pub fn open(name: &str, now: Instant) -> Result<Self, FrancError> {
        let socket = MonitorSocket::open(name)
            .map_err(|error| super::interface::interface_error(name, error))?;
        if socket.hardware() != hardware::RADIOTAP {
            return Err(FrancError::NotMonitor { name: name.into(), kind: socket.hardware() });
        }
        Ok(Self {
            name: name.into(),
            socket,
            inbox: Inbox::new(FRAME_BYTES_MAX, false),
            monitor: Monitor::default(),
            down_check_at: None,
            before: MonitorCounts::default(),
            judge_at: now + DEAF_AFTER,
            deaf: None,
        })
    }

    /// The name of the interface.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the counts so far, with the frames that the kernel dropped.
    pub fn counts(&mut self) -> (MonitorCounts, u64) {
        (self.monitor.counts(), self.socket.dropped())
    }

    /// Receives frames, [`BATCHES_MAX`] batches at most, and calls `each` with the time, the
    /// sender and the bytes of each datagram. `own` is the address of the link's own interface.
    pub fn receive(
        &mut self,
        own: Option<MacAddr>,
        clock: Clock,
        each: &mut dyn FnMut(Instant, MacAddr, &[u8]),
    ) {
        for _ in 0..BATCHES_MAX {
            let received = self.socket.receive(&mut self.inbox);
            let now = clock.now();
            if received == Err(Errno::ENETDOWN) {
                self.down_check_at = Some(now);
                self.deaf = Some(Deaf::Down);
            }
            let (socket, inbox, monitor) = (&self.socket, &self.inbox, &mut self.monitor);
            let mut is_heard = false;
            socket.each(inbox, &mut |captured| {
                is_heard = true;
                monitor.take(now, own, captured, &mut |from, datagram| each(now, from, datagram));
            });
            if is_heard {
                self.down_check_at = None;
            }
            if !received.unwrap_or(false) {
                break;
            }
        }
        self.judge(clock.now());
    }

    /// Judges whether any datagram of the link was readable lately.
    fn judge(&mut self, now: Instant) {
        if now < self.judge_at {
            return;
        }
        let counts = self.monitor.counts();
        let (before, protected) = (self.before, counts.protected - self.before.protected);
        if counts.datagrams + counts.retries == before.datagrams + before.retries && protected > 0 {
            self.deaf = Some(Deaf::Protected(protected));
        }
        (self.before, self.judge_at) = (counts, now + DEAF_AFTER);
    }

    /// Returns a problem of the interface, once.
    ///
    /// # Errors
    /// If the interface was removed: a later one of its name is another one.
    pub fn take_deaf(&mut self, now: Instant) -> Result<Option<Deaf>, FrancError> {
        if self.down_check_at.is_some_and(|at| at <= now) {
            if !self.socket.is_attached() {
                return Err(FrancError::InterfaceGone { name: self.name.clone() });
            }
            self.down_check_at = Some(now + DOWN_CHECK);
        }
        Ok(self.deaf.take())
    }

    /// Returns the time at which [`take_deaf`](Self::take_deaf) is to be called again.
    pub fn next_check(&self) -> Option<Instant> {
        self.down_check_at
    }
}

impl AsFd for Overhearing {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
